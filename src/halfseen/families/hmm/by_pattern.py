"""Chains over steps with missing values: emissions are computed by pattern of missing cells, states by time.

A leaf that completes missing cells from observed ones (a joint normal) computes one regression for all neighbouring
rows with the same cells missing. Steps are ordered by time, so neighbours rarely agree: here every chunk keeps a copy
of its cells in the order that the leaf prefers. An optimisation, never a second model: its sums equal those of three
steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halfseen.assign import Assign
from halfseen.data import SequenceChunk, Sequences
from halfseen.engine.loop.expected import Expected
from halfseen.engine.loop.model import Model, weighted_sum
from halfseen.engine.loop.paths import ThreeStep
from halfseen.leaves import Leaf


@dataclass(frozen=True, eq=False, kw_only=True)
class ArrangedSequences(SequenceChunk):
    """A chunk with a copy of its cells in another order: row n of `cells` is step order[n]."""

    cells: dict[str, NDArray[Any]]
    order: NDArray[np.intp]


class ArrangedChain(ThreeStep):
    """Score and expect in the order of the leaf, infer in the order of time; sums are the statistics themselves."""

    @classmethod
    def find(cls, model: Model, sequences: Sequences) -> ArrangedChain | None:
        """Return the path if the emission prefers an order of rows; None if it does not."""
        found = any(_preferred_order(model, chunk.blocks) is not None for chunk in sequences.chunks())
        return cls(model) if found else None

    def pack(self, chunk: SequenceChunk) -> ArrangedSequences:
        """Return the chunk with its cells arranged: done once per fit."""
        order = _preferred_order(self.model, chunk.blocks)
        if order is None:
            order = np.arange(int(chunk.blocks.lengths.sum()))
        cells = {name: np.ascontiguousarray(block[order]) for name, block in chunk.blocks.items()}
        whole = (chunk.index, chunk.blocks, chunk.weight, chunk.evidence, chunk.first)
        return ArrangedSequences(*whole, cells=cells, order=order)

    def expected(self, prepared: Any, chunk: Any, assign: Assign) -> Expected:
        """Return the statistics of a chunk."""
        model, data = self.model, chunk.blocks
        stats = np.zeros(model.stats_shape)
        parts = model.view(stats)
        emit, chain = model.leaves["emit"], [name for name in model.leaves if name != "emit"]
        scores = {name: model.leaves[name].score(prepared[name], data, assign) for name in chain}
        arranged = emit.score(prepared["emit"], chunk.cells, assign)
        scores["emit"] = np.empty_like(arranged)
        scores["emit"][chunk.order] = arranged
        found = model.structure.infer(scores, chunk.weight[:, None], assign, chunk.log_evidence, data)
        for name in chain:
            model.leaves[name].expect(found.usage[name], prepared[name], data, assign, parts[name])
        emit.expect(found.usage["emit"][chunk.order], prepared["emit"], chunk.cells, assign, parts["emit"])
        return Expected(stats, weighted_sum(chunk.weight, found.log_evidence[:, 0]))


def _preferred_order(model: Model, blocks: Any) -> NDArray[np.intp] | None:
    """Return the order of rows that the emission prefers, mixtures inside included."""
    emit: Leaf = model.leaves["emit"]
    return (emit.leaves["emit"] if isinstance(emit, Model) else emit).arrange(blocks)
