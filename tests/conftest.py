"""Settings shared by all tests: how hypothesis searches.

``HYPOTHESIS_PROFILE=ci`` draws the same examples in every run; the default explores new ones.
No profile has a deadline: the time of one example says more about the machine than about the code.
"""

import os

from hypothesis import settings

settings.register_profile("default", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "default"))
