"""``halfseen align``: when was what said, or which word translates which."""

from __future__ import annotations

from typing import Any

from halfseen.app import families
from halfseen.app.model_file import load


def run(model: str, **request: Any) -> None:
    """Load the model and let its family do it."""
    loaded = load(model)
    families.check_use(loaded, request)
    families.verb_of(loaded, "align")(loaded, families.reading_of(loaded), request)
