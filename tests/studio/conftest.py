"""Fixtures of the tests in a browser."""

from tests.studio.browser import chromium, open_studio

__all__ = ["chromium", "open_studio"]
