"""Paths: how a pass processes a chunk, in three steps or fused into one kernel.

A path prepares parameters, gathers the sums of a chunk, and finishes added sums into statistics. Sums of one path add.
"""

from __future__ import annotations

from typing import Any, Protocol

from halfseen.assign import Assign
from halfseen.engine.loop.expected import Expected
from halfseen.engine.loop.model import Chunk, Model
from halfseen.leaves.limits import Params


class Path(Protocol):
    """What `evaluate` needs of a path."""

    def prepare(self, params: Params) -> Any:
        """Derive what the pass needs of one candidate's parameters."""

    def expected(self, prepared: Any, chunk: Any, assign: Assign) -> Expected:
        """Return the sums of a chunk."""

    def finish(self, total: Expected) -> Expected:
        """Return the model's statistics from added sums."""


class ThreeStep:
    """Score, infer, expect: serves every model in every mode; its sums are the statistics themselves."""

    def __init__(self, model: Model) -> None:
        self.model = model

    def prepare(self, params: Params) -> Any:
        """Prepare every leaf."""
        return self.model.prepare(params)

    def expected(self, prepared: Any, chunk: Chunk, assign: Assign) -> Expected:
        """Return the statistics of a chunk."""
        return self.model.expected(prepared, chunk, assign)

    def finish(self, total: Expected) -> Expected:
        """Return them as they are."""
        return total
