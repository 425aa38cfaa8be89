"""The fused path of chains over categories: look-up, forward, backward and counts of a sequence in one kernel.

An optimisation, never a second model: its sums equal those of the three-step path, which does the sequences that run
out of range, and everything else (labels, numbers, hard and sampled assignment, annealing, the NumPy kernels).
Nothing of the size of the data times the states is stored.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halfseen.assign import SOFT, Assign
from halfseen.data import SequenceChunk, Sequences, Steps, rows_of
from halfseen.engine.expected import Expected
from halfseen.engine.fused import WIDTH, _Groups
from halfseen.engine.model import Model, weighted_sum
from halfseen.kernels import active as kernels
from halfseen.kernels import plain
from halfseen.leaves import Categorical, Product
from halfseen.leaves.leaf import Floats
from halfseen.leaves.limits import Params
from halfseen.leaves.wrappers import unwrapped
from halfseen.structures import MarkovChain


@dataclass(frozen=True)
class PackedSequences:
    """A chunk with what the kernel reads: a chunk still, for every other path."""

    index: int
    blocks: Steps
    weight: Floats
    cells: NDArray[np.uint16]
    first: int = 0
    log_evidence: None = None


class FusedChain:
    """The plan of one model.

    Sums of a chunk are one vector: start (W), trans (W, W), usage of groups (R, W), and the model's own statistics for
    the sequences that the kernel left.
    """

    def __init__(self, model: Model, emit: Product, sequences: Sequences) -> None:
        self.model = model
        self.emit = emit
        self.n_states = emit.n_components
        self.width = -(-self.n_states // WIDTH) * WIDTH
        leaves = [unwrapped(leaf) for leaf in emit.leaves.values()]
        sizes = [size for leaf in leaves if isinstance(leaf, Categorical) for size in leaf.cardinalities]
        blocks = [sequences.steps.blocks[name] for name in emit.leaves]
        self.groups = _Groups(sizes, [bool((column < 0).any()) for block in blocks for column in block.T])

    @classmethod
    def find(cls, model: Model, sequences: Sequences) -> FusedChain | None:
        """Return the plan for a model and its data, or None where the kernel cannot serve it."""
        emit = model.leaves["emit"]
        if kernels is plain or model.structure != MarkovChain() or not isinstance(emit, Product):
            return None
        if not all(type(unwrapped(leaf)) is Categorical for leaf in emit.leaves.values()):
            return None
        plan = cls(model, emit, sequences)
        return plan if plan.groups.n_rows < 2**16 else None

    @cached_property
    def _layout(self) -> list[tuple[slice, tuple[int, ...]]]:
        """Where the parts of the sums lie, and their shapes."""
        width = self.width
        shapes = [(width,), (width, width), (self.groups.n_rows, width), self.model.stats_shape]
        stops = list(accumulate(prod(shape) for shape in shapes))
        return [(slice(stop - prod(shape), stop), shape) for stop, shape in zip(stops, shapes, strict=True)]

    def _views(self, sums: Floats) -> list[Floats]:
        return [sums[part].reshape(shape) for part, shape in self._layout]

    def pack(self, chunk: SequenceChunk) -> PackedSequences:
        """Return the chunk with its columns as the kernel reads them: done once per fit."""
        cells = self.groups.cells([chunk.blocks[name] for name in self.emit.leaves], len(_any_block(chunk.blocks)))
        return PackedSequences(chunk.index, chunk.blocks, chunk.weight, cells, chunk.first)

    def prepare(self, params: Params) -> tuple[Any, tuple[Floats, Floats, Floats]]:
        """Return the prepared leaves, and starts, transitions and the groups' table, padded."""
        table = np.ones((self.groups.n_rows, self.width))
        cells = np.concatenate([params["emit"][name].T for name in self.emit.leaves])
        probabilities = np.zeros((self.groups.n_cells, self.width))
        probabilities[:, : self.n_states] = cells
        kernels.multiply_cells(self.groups.rows, self.groups.of_cells, probabilities, table)
        start, trans = np.zeros(self.width), np.zeros((self.width, self.width))
        start[: self.n_states] = params["start"][0]
        trans[: self.n_states, : self.n_states] = params["trans"]
        return self.model.prepare(params), (start, trans, table)

    def zero(self) -> Expected:
        """Return the sums of no data."""
        return Expected.zero(self._layout[-1][0].stop)

    def expected(self, prepared: Any, chunk: PackedSequences, assign: Assign) -> Expected:
        """Return the kernel's sums for a chunk; what the kernel left is done in three steps."""
        sums = self.zero().stats
        start, trans, usage, rest = self._views(sums)
        lengths, log_evidence = chunk.blocks.lengths, np.empty(len(chunk.weight))
        room = np.empty(kernels.chain_room(lengths, self.width))
        kernels.chain_counts(*prepared[1], lengths, chunk.weight, chunk.cells, room, start, trans, usage, log_evidence)
        left = np.flatnonzero(np.isnan(log_evidence))
        if len(left):
            rows = rows_of(lengths, left)
            part = Steps({name: block[rows] for name, block in chunk.blocks.items()}, lengths[left])
            found = self.model.gather(prepared[0], part, chunk.weight[left][:, None], SOFT, rest)
            log_evidence[left] = found.log_evidence[:, 0]
        return Expected(sums, weighted_sum(chunk.weight, log_evidence))

    def finish(self, total: Expected) -> Expected:
        """Return the model's statistics from the kernel's sums."""
        start, trans, usage, rest = self._views(total.stats)
        counts = np.zeros((self.groups.n_cells, self.width))
        kernels.add_cells(self.groups.rows, self.groups.of_cells, usage, counts)
        stats = rest.copy()
        parts = self.model.view(stats)
        parts["start"][0] += start[: self.n_states]
        parts["trans"] += trans[: self.n_states, : self.n_states]
        first = 0
        for block in self.emit.view(parts["emit"]).values():
            block += counts[first : first + block.shape[1], : self.n_states].T
            first += block.shape[1]
        return Expected(stats, total.loglik)


def _any_block(blocks: Steps) -> NDArray[Any]:
    return next(iter(blocks.values()))
