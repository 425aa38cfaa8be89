"""Starts of a fit, whatever the family."""

from __future__ import annotations

from collections.abc import Sequence

from halfseen.engine.loop.model import Model
from halfseen.leaves.limits import Params


def distinct(model: Model, starts: Sequence[Params]) -> list[Params]:
    """Drop starts that repeat an earlier one, as when labels or the user leave nothing to chance."""
    return list({model.pack(params).tobytes(): params for params in starts}.values())
