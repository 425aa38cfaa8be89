"""``halfseen forecast``: what comes next."""

from __future__ import annotations

from typing import Any

from halfseen.app import families
from halfseen.app.model_file import load


def run(model: str, **request: Any) -> None:
    """Load the model and let its family do it."""
    loaded = load(model)
    reading = families.reading_of(loaded)
    families.verb_of(loaded, "forecast")(loaded, reading, request)
