"""The fused path: score, infer and expect of a wabsent mixture over a table in one kernel.

An optimisation, never a second model: its sums equal those of the three-step path, which is used wherever this one does
not apply (labels, hard and sampled assignment, annealing, many components, the NumPy kernels).

Categorical columns are grouped, so that four columns of four categories are one look-up in a table of 4^4 rows (in a
column with missing cells 'missing' is one more value, with factor 1). Usage of groups is summed back to counts of
columns once per pass.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halfseen.assign import Assign
from halfseen.data.rows import Rows
from halfseen.engine.loop.expected import Expected
from halfseen.engine.loop.model import Chunk, Model
from halfseen.engine.tables.groups import Groups
from halfseen.kernels import active as kernels
from halfseen.kernels import plain
from halfseen.leaves import Categorical, Cells, Gaussian, Ordinal, Poisson, Product
from halfseen.leaves.leaf import Floats, Leaf
from halfseen.leaves.limits import Params
from halfseen.leaves.wrappers import unwrapped
from halfseen.structures.independent import Independent
from halfseen.structures.structure import Inference

WIDTH = 8 if getattr(kernels, "instruction_set", lambda: "")() == "avx512" else 4  # components are padded to it
MOST = 32  # components; beyond, registers run out and matrix products win
GROUP = 256  # most rows in the table of a group: fewer look-ups win as long as tables and their usage stay in L2
LARGE_COUNTS = 1 << 16  # mean of a column from which its counts need the leaf's own formula
NEVER = 1e300  # stands for -log 0 in arithmetic, where infinity times zero would be NaN


@dataclass(frozen=True)
class Packed:
    """A chunk with what the kernel reads (`rows`, in an order of their own): a chunk still, for every other path."""

    index: int
    blocks: Any
    weight: Floats
    rows: tuple[Any, ...]
    log_evidence: None = None


class FusedMixture:
    """The plan of one model: how its columns are grouped, and where its statistics lie in the kernel's sums.

    Sums of a chunk are one vector: mix (W), usage of groups (R, W), moments (3, D, W), Poisson sums (3, P, W).
    """

    def __init__(self, model: Model, emit: Product, table: Rows | None) -> None:
        self.model = model
        self.emit = emit
        self.n_components = emit.n_components
        self.width = -(-self.n_components // WIDTH) * WIDTH
        blocks = {name: unwrapped(leaf) for name, leaf in emit.leaves.items()}
        self.categorical = {name: leaf for name, leaf in blocks.items() if isinstance(leaf, Categorical)}
        self.gaussian = {name: leaf for name, leaf in blocks.items() if isinstance(leaf, Gaussian)}
        self.poisson = {name: leaf for name, leaf in blocks.items() if isinstance(leaf, Poisson)}
        sizes = [size for leaf in self.categorical.values() for size in leaf.cardinalities]
        missing = [True] * len(sizes)
        if table is not None:
            missing = [absent for name in self.categorical for absent in table.holes(name).tolist()]
        self.sizes = sizes
        self.groups = Groups(sizes, missing, GROUP)
        self.n_numbers = sum(len(leaf.scale) for leaf in self.gaussian.values())
        self.n_counts = sum(len(leaf.scale) for leaf in self.poisson.values())

    @classmethod
    def find(cls, model: Model, table: Rows | None = None) -> FusedMixture | None:
        """Return the plan for a model and its data, or None where the kernel cannot serve it.

        Without the data, for a single pass over new rows, any column may have missing cells.
        """
        if kernels is plain or model.structure != Independent():
            return None
        mix, emit = model.leaves["mix"], model.leaves["emit"]
        if not isinstance(emit, Product) or emit.n_components > MOST or not isinstance(unwrapped(mix), Cells):
            return None
        if not all(servable(leaf) for leaf in emit.leaves.values()):
            return None
        plan = cls(model, emit, table)
        return plan if plan.groups.n_rows < 2**16 else None

    @cached_property
    def _layout(self) -> list[tuple[slice, tuple[int, ...]]]:
        """Where the parts of the sums lie, and their shapes."""
        width = self.width
        shapes = [(width,), (self.groups.n_rows, width), (3, self.n_numbers, width), (3, self.n_counts, width)]
        stops = list(accumulate(prod(shape) for shape in shapes))
        return [(slice(stop - prod(shape), stop), shape) for stop, shape in zip(stops, shapes, strict=True)]

    def _views(self, sums: Floats) -> list[Floats]:
        return [sums[part].reshape(shape) for part, shape in self._layout]

    def pack(self, chunk: Chunk) -> Packed:
        """Return the chunk with its columns as the kernel reads them: done once per fit."""
        cells, values, counts, constants = self._read(chunk)
        weight, in_order = chunk.weight, False
        if cells.shape[1] and not self.n_numbers + self.n_counts:  # with numbers the gain is small, the copy large
            order = np.lexsort(cells[:, 1::-1].T)
            cells, weight, in_order = cells[order], weight[order], True
        rows = (cells, values, counts, constants, weight, in_order)
        return Packed(chunk.index, chunk.blocks, chunk.weight, rows)

    def _read(self, chunk: Chunk) -> tuple[Any, ...]:
        """Return groups of categories, numbers, counts and their constants."""
        return self.groups.cells(self._codes(chunk)), *self._numbers(chunk)

    def _codes(self, chunk: Chunk) -> NDArray[Any]:
        """Return the codes of all categorical columns."""
        if not self.categorical:
            return np.zeros((len(chunk.weight), 0), dtype=np.int8)
        return _beside([chunk.blocks[name] for name in self.categorical], len(chunk.weight))

    def _numbers(self, chunk: Chunk) -> tuple[Floats, Floats, Floats]:
        """Return numbers, counts and log Poisson(counts; unit)."""
        n_rows = len(chunk.weight)
        counts = _beside([chunk.blocks[name] for name in self.poisson], n_rows)
        values = _beside([chunk.blocks[name] for name in self.gaussian], n_rows)
        if not self.poisson:
            return values, counts, counts
        constants = np.empty(counts.shape)
        kernels.poisson_constants(counts, self._units, constants)
        return values, counts, constants

    @cached_property
    def _units(self) -> Floats:
        """The units of the columns of counts, (P,): rates and log-rates are measured from there, and keep digits."""
        return np.concatenate([leaf.scale for leaf in self.poisson.values()])

    def prepare(self, params: Params) -> tuple[Floats, ...]:
        """Return the parameters as the kernel reads them, components last and padded."""
        emit = params["emit"]
        probabilities = self._padded([emit[name] for name in self.categorical], 0.0)
        table = np.ones((self.groups.n_rows, self.width))
        kernels.multiply_cells(self.groups.rows, self.groups.of_cells, probabilities, table)
        mix = self._padded([params["mix"].T], 0.0)[0]
        if not self.gaussian and not self.poisson:
            none = np.empty((0, self.width))
            return mix, table, none, none, none, none, none
        mean = self._padded([emit[name].mean for name in self.gaussian], 0.0)
        with np.errstate(divide="ignore"):
            half_precision = self._padded([0.5 / emit[name].var for name in self.gaussian], 0.0)
            half_log = self._padded([0.5 * np.log(2 * np.pi * emit[name].var) for name in self.gaussian], NEVER)
            units = {name: leaf.scale for name, leaf in self.poisson.items()}
            rate = self._padded([emit[name] - unit for name, unit in units.items()], NEVER)
            log_rate = self._padded([np.log(emit[name] / unit) for name, unit in units.items()], 0.0)
            log_rate = np.maximum(log_rate, -NEVER)
        return mix, table, mean, half_precision, half_log, rate, log_rate

    def _padded(self, blocks: Sequence[Floats], padding: float) -> Floats:
        """Return (K, D) blocks side by side as (D, W), padded with components that are never used."""
        n_columns = sum(block.shape[1] for block in blocks)
        out = np.full((n_columns, self.width), padding)
        if blocks:
            out[:, : self.n_components] = np.concatenate(blocks, axis=1).T
        return out

    def zero(self) -> Expected:
        """Return the sums of no data."""
        return Expected.zero(self._layout[-1][0].stop)

    def expected(self, prepared: tuple[Floats, ...], chunk: Packed, assign: Assign) -> Expected:
        """Return the kernel's sums for a chunk."""
        sums = self.zero().stats
        loglik = kernels.mixture_soft(*chunk.rows, *prepared, *self._views(sums))
        return Expected(sums, loglik)

    def infer(self, prepared: tuple[Floats, ...], chunk: Chunk) -> Inference:
        """Return responsibilities and log-evidence of the rows of a chunk, whatever they weigh."""
        n_rows = len(chunk.weight)
        cells, values, counts, constants = self._read(chunk)
        usage, log_evidence = np.empty((n_rows, self.n_components)), np.empty(n_rows)
        rows = (cells, values, counts, constants, np.ones(n_rows), False)
        kernels.mixture_posterior(*rows, *prepared, usage, log_evidence)
        return Inference({"emit": usage}, log_evidence[:, None])

    def prepare_best(self, params: Params) -> tuple[Floats, ...]:
        """Return the parameters as `best` needs them: weights and probabilities, column by column, as logs."""
        mix, _, *numbers = self.prepare(params)
        with np.errstate(divide="ignore"):
            log_probabilities = np.log(self._padded([params["emit"][name] for name in self.categorical], 1.0))
            return np.log(mix), np.insert(log_probabilities, self._starts, 0.0, axis=0), *numbers

    @cached_property
    def _starts(self) -> NDArray[np.int64]:
        """First category of each column."""
        return np.cumsum([0, *self.sizes])[:-1]

    def best(self, prepared: tuple[Floats, ...], chunk: Chunk) -> NDArray[np.int64]:
        """Return the most probable component of each row of a chunk, the first among equals; -1 where none can be."""
        best = np.empty(len(chunk.weight), dtype=np.int64)
        kernels.mixture_best(self._codes(chunk), self._starts, *self._numbers(chunk), *prepared, best)
        return best

    def finish(self, total: Expected) -> Expected:
        """Return the model's statistics from the kernel's sums."""
        mix, usage, moments, sums = self._views(total.stats)
        counts = np.zeros((self.groups.n_cells, self.width))
        kernels.add_cells(self.groups.rows, self.groups.of_cells, usage, counts)
        stats = np.zeros(self.model.stats_shape)
        parts = self.model.view(stats)
        parts["mix"][0] = mix[: self.n_components]
        emit = self.emit.view(parts["emit"])
        self._scatter(emit, self.categorical, counts[None])
        self._scatter(emit, self.gaussian, moments)
        self._scatter(emit, self.poisson, sums)
        return Expected(stats, total.loglik)

    def _scatter(self, emit: dict[str, Floats], names: Iterable[str], sums: Floats) -> None:
        """Write (L, D, W) sums into the first L layers of the blocks they belong to."""
        first = 0
        for name in names:
            block = emit[name] if emit[name].ndim == 3 else emit[name][None]
            last = first + block.shape[2]
            block[: len(sums)] = sums[:, first:last, : self.n_components].transpose(0, 2, 1)
            first = last


def servable(leaf: Leaf) -> bool:
    """Whether the kernels can serve a block: its kind, and for counts their size.

    Differences of x log rate and rate lose digits in large counts. The leaf itself keeps them.
    """
    inside = unwrapped(leaf)
    if isinstance(inside, Poisson):
        return bool((inside.scale <= LARGE_COUNTS).all())
    return type(inside) in (Categorical, Ordinal, Gaussian)


def _beside(blocks: Sequence[NDArray[Any]], n_rows: int) -> NDArray[Any]:
    """Return blocks side by side; a single one is not copied, unless its rows do not follow each other."""
    if len(blocks) == 1:
        return np.ascontiguousarray(blocks[0])
    return np.concatenate(blocks, axis=1) if blocks else np.zeros((n_rows, 0))
