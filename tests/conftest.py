"""Settings shared by all tests: how hypothesis searches; and a fixture of several.

``HYPOTHESIS_PROFILE=ci`` draws the same examples in every run; the default explores new ones.
No profile has a deadline: the time of one example says more about the machine than about the code.
"""

import os

import pytest
from hypothesis import settings

settings.register_profile("default", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "default"))


@pytest.fixture
def pictures_unwritten(monkeypatch):
    """Draw the pictures of a report, but do not write them out: for tests of what else is on the page."""
    figures = pytest.importorskip("matplotlib.figure")
    monkeypatch.setattr(figures.Figure, "savefig", lambda self, out, **how: out.write('<svg viewBox="0 0 1 1"></svg>'))
