"""Settings shared by all tests: how hypothesis searches; and a fixture of several.

Every run looks at the same examples. ``make explore`` looks at new ones, many more of them.
No profile has a deadline: the time of one example says more about the machine than about the code.
"""

import os

import pytest
from hypothesis import settings

MORE = float(os.environ.get("HALFSEEN_EXAMPLES", "1"))  # times as many examples as usual

settings.register_profile("same", deadline=None, derandomize=True, max_examples=max(1, round(100 * MORE)))
settings.register_profile("new", settings.get_profile("same"), derandomize=False, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))


@pytest.fixture
def pictures_unwritten(monkeypatch):
    """Draw the pictures of a report, but do not write them out: for tests of what else is on the page."""
    figures = pytest.importorskip("matplotlib.figure")
    monkeypatch.setattr(figures.Figure, "savefig", lambda self, out, **how: out.write('<svg viewBox="0 0 1 1"></svg>'))
