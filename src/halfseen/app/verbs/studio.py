"""``halfseen studio``: a page on this machine."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any


def run(request: Mapping[str, Any]) -> None:
    """Start the studio, which is above the command line: it is found by name."""
    import_module("halfseen.studio.start").run(request)
