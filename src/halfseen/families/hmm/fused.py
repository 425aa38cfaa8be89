"""The fused path of chains: emissions, forward, backward and sums of a sequence in one kernel.

An optimisation, never a second model: its sums equal those of the three-step path, which handles sequences that
underflow, and everything else (labels, other leaves, hard and sampled assignment, annealing, the NumPy kernels).
Nothing of the size of the data times the states is stored. Columns are read as by the fused path of mixtures.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from math import prod
from typing import Any, Protocol

import numpy as np

from halfseen.assign import SOFT, Assign
from halfseen.data import Chunk, SequenceChunk, Steps, rows_of
from halfseen.data.rows import Rows
from halfseen.engine.loop.expected import Expected
from halfseen.engine.loop.model import Model, weighted_sum
from halfseen.engine.tables.fused import FusedMixture, servable
from halfseen.kernels import active as kernels
from halfseen.kernels import plain
from halfseen.leaves import Product
from halfseen.leaves.leaf import Floats
from halfseen.leaves.limits import Params
from halfseen.structures.chain import LEAST, MarkovChain

SMALL = 1e-36  # probabilities whose product over the columns of a group, eight at most, may be below LEAST


@dataclass(frozen=True)
class PackedSequences:
    """A chunk with the arrays that the kernel reads (`rows`); still a chunk for every other path."""

    index: int
    blocks: Steps
    weight: Floats
    rows: tuple[Any, ...]
    first: int = 0
    log_evidence: None = None


class WithSteps(Protocol):
    """Sequences whose steps can be summed over."""

    @property
    def steps(self) -> Rows:
        """All steps."""


class FusedChain:
    """The fused E-step of one model.

    Sums of a chunk are one vector: start (W), trans (W, W), usage of groups (R, W), moments (3, D, W), Poisson sums
    (3, P, W), and the model's own statistics for the sequences that the kernel skipped.
    """

    def __init__(self, model: Model, emit: Product, sequences: WithSteps) -> None:
        self.model = model
        self.emit = emit
        self.columns = FusedMixture(model, emit, sequences.steps)
        self.n_states, self.width = emit.n_components, self.columns.width

    @classmethod
    def find(cls, model: Model, sequences: WithSteps) -> FusedChain | None:
        """Return the fused path for a model and its data, or None if the kernel does not support them."""
        emit = model.leaves["emit"]
        if kernels is plain or model.structure != MarkovChain() or not isinstance(emit, Product):
            return None
        if not all(servable(leaf) for leaf in emit.leaves.values()):
            return None
        plan = cls(model, emit, sequences)
        return plan if plan.columns.groups.n_rows < 2**16 else None

    @cached_property
    def _layout(self) -> list[tuple[slice, tuple[int, ...]]]:
        """The slices of the parts of the sums, and their shapes."""
        width, columns = self.width, self.columns
        shapes: list[tuple[int, ...]] = [(width,), (width, width), (columns.groups.n_rows, width)]
        shapes += [(3, columns.n_numbers, width), (3, columns.n_counts, width), self.model.stats_shape]
        stops = list(accumulate(prod(shape) for shape in shapes))
        return [(slice(stop - prod(shape), stop), shape) for stop, shape in zip(stops, shapes, strict=True)]

    def _views(self, sums: Floats) -> list[Floats]:
        return [sums[part].reshape(shape) for part, shape in self._layout]

    def pack(self, chunk: SequenceChunk) -> PackedSequences:
        """Return the chunk with its columns as the kernel reads them: done once per fit."""
        steps = Chunk(chunk.index, dict(chunk.blocks), np.ones(int(chunk.blocks.lengths.sum())))
        rows = tuple(np.ascontiguousarray(part) for part in self.columns._read(steps))
        return PackedSequences(chunk.index, chunk.blocks, chunk.weight, rows, chunk.first)

    def prepare(self, params: Params) -> tuple[Any, tuple[Floats, ...]]:
        """Return the prepared leaves, and starts, transitions and emissions as the kernel reads them, padded."""
        start, table, *numbers = self.columns.prepare({"mix": params["start"], "emit": params["emit"]})
        self._raise_possible(table, params["emit"])
        trans = np.zeros((self.width, self.width))
        trans[: self.n_states, : self.n_states] = params["trans"]
        return self.model.prepare(params), (start, trans, table, *numbers)

    def _raise_possible(self, table: Floats, emit: Params) -> None:
        """Write LEAST where a product of small probabilities underflowed: the state may still be the most probable."""
        columns, groups = self.columns, self.columns.groups
        chances = columns._padded([emit[name] for name in columns.categorical], 0.0)
        if np.any((chances > 0) & (chances < SMALL)):
            possible = np.ones(table.shape)
            kernels.multiply_cells(groups.rows, groups.of_cells, np.sign(chances), possible)
            table[(table < LEAST) & (possible > 0)] = LEAST

    def zero(self) -> Expected:
        """Return the sums of no data."""
        return Expected.zero(self._layout[-1][0].stop)

    def expected(self, prepared: Any, chunk: PackedSequences, assign: Assign) -> Expected:
        """Return the kernel's sums for a chunk; sequences that the kernel skipped use the three steps."""
        total = self.zero().stats
        *sums, rest = self._views(total)
        lengths, log_evidence = chunk.blocks.lengths, np.empty(len(chunk.weight))
        room = np.empty(kernels.chain_room(lengths, self.width))
        kernels.chain_fused(*prepared[1], lengths, chunk.weight, *chunk.rows, room, *sums, log_evidence)
        left = np.flatnonzero(np.isnan(log_evidence))
        if len(left):
            rows = rows_of(lengths, left)
            part = Steps({name: block[rows] for name, block in chunk.blocks.items()}, lengths[left])
            found = self.model.gather(prepared[0], part, chunk.weight[left][:, None], SOFT, rest)
            log_evidence[left] = found.log_evidence[:, 0]
        return Expected(total, weighted_sum(chunk.weight, log_evidence))

    def finish(self, total: Expected) -> Expected:
        """Return the model's statistics from the kernel's sums."""
        start, trans, usage, moments, sums, rest = self._views(total.stats)
        counts = np.zeros((self.columns.groups.n_cells, self.width))
        kernels.add_cells(self.columns.groups.rows, self.columns.groups.of_cells, usage, counts)
        stats = np.zeros(self.model.stats_shape)
        parts = self.model.view(stats)
        parts["start"][0] = start[: self.n_states]
        parts["trans"][:] = trans[: self.n_states, : self.n_states]
        emit = self.emit.view(parts["emit"])
        self.columns._scatter(emit, self.columns.categorical, counts[None])
        self.columns._scatter(emit, self.columns.gaussian, moments)
        self.columns._scatter(emit, self.columns.poisson, sums)
        return Expected(stats + rest, total.loglik)
