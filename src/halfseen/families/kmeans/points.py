"""What a fit of k-means reads of its rows: sweeps about a pivot, a sample to draw starts from, and a few sums.

`Here` are rows in this process; `lanes.Elsewhere` are rows that other processes hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from halfseen.data import Source
from halfseen.engine.tables import seeding
from halfseen.engine.tables.lloyd import Held, Rows, Sweeps, move, parts
from halfseen.engine.tables.seeding import Sample
from halfseen.errors import DataError
from halfseen.estimators.table import numeric_schema
from halfseen.estimators.table.column_events import number_doubts
from halfseen.leaves.leaf import Floats
from halfseen.sums import Parts, Runner, serial

HEAD = 1024  # rows whose mean is the first guess of all rows' mean
FEW = 4096  # rows whose distances to all centres are computed at once


class Points(Protocol):
    """Rows of numbers with weights."""

    @property
    def names(self) -> Sequence[str]:
        """The names of the columns."""

    @property
    def dtype(self) -> str:
        """The name of the type of the numbers."""

    @property
    def n_used(self) -> int:
        """How many rows have a weight."""

    @property
    def mass(self) -> float:
        """The weight of all rows."""

    def head(self) -> NDArray[Any]:
        """Some rows, for a first guess of the means."""

    def about(self, pivot: Floats) -> Sweeps:
        """The rows less a pivot, to be swept over."""

    def sample(self) -> Sample:
        """Distinct rows to draw starts from, and to race them on."""

    def few(self, some: Sample) -> Here:
        """Some of the rows, in this process."""

    def vary(self) -> bool:
        """Whether any column has two different numbers."""

    def deviations(self, pivot: Floats) -> Parts:
        """The squares of each column about a pivot, and the weight of its cells."""

    def assigned(self, pivot: Floats, centres: Floats) -> tuple[NDArray[np.int32] | None, Floats]:
        """The nearest centre of each row, None where the rows are elsewhere; the weight of the rows of each centre."""

    def doubts(self) -> list[str]:
        """What the numbers make one doubt."""

    def find_infinity(self) -> None:
        """Name an infinite cell, or say that numbers are too large."""


@dataclass(frozen=True, eq=False)
class Here:
    """Rows in this process.

    Parameters
    ----------
    source : Source           the table, or the one that the rows are a sample of
    values : (N, D) array
    weight : (N,) array
    run : Runner
    """

    source: Source
    values: NDArray[Any]
    weight: Floats
    run: Runner = serial

    @property
    def names(self) -> Sequence[str]:
        """The names of the columns."""
        return self.source.names

    @property
    def dtype(self) -> str:
        """The name of the type of the numbers."""
        return self.values.dtype.name

    @property
    def n_used(self) -> int:
        """How many rows have a weight."""
        return int(np.count_nonzero(self.weight))

    @property
    def mass(self) -> float:
        """The weight of all rows."""
        return float(self.weight.sum())

    def head(self) -> NDArray[Any]:
        """Return the first rows."""
        return self.values[:HEAD]

    def about(self, pivot: Floats) -> Held:
        """Return the rows less a pivot."""
        return Held(Rows(self.values, self.weight, pivot))

    def sample(self) -> Sample:
        """Return distinct rows."""
        return seeding.sample(self.values, self.weight, runner=self.run)

    def few(self, some: Sample) -> Here:
        """Return some of the rows."""
        return Here(self.source, some.values, some.weight, self.run)

    def vary(self) -> bool:
        """Whether any column has two different numbers."""
        values = self.values[self.weight > 0]
        first = values[np.isfinite(values).argmax(axis=0), np.arange(values.shape[1])]
        filled = np.where(np.isnan(values), first, values)
        return bool((filled != filled[0]).any())

    def deviations(self, pivot: Floats) -> Parts:
        """Return the squares of each column about a pivot, and the weight of its cells."""
        rows = Rows(self.values, self.weight, pivot)
        found = self.run(lambda part: deviations(rows, part), parts(len(self.values)))
        return Parts(sum(each) for each in zip(*found, strict=True))

    def assigned(self, pivot: Floats, centres: Floats) -> tuple[NDArray[np.int32], Floats]:
        """Return the nearest centre of each row, and the weight of the rows of each centre."""
        rows = self.about(pivot)
        rows.sweep(centres, self.run)
        return rows.labels, rows.sizes()

    def doubts(self) -> list[str]:
        """Return what the first rows make one doubt."""
        return number_doubts(self.names, self.values, self.weight)

    def find_infinity(self) -> None:
        """Name the infinite cell; finite numbers whose squares overflow are too large."""
        if not self.source.elsewhere:  # else it was refused where it was read
            for batch in self.source.batches():
                for j in range(len(batch.names)):
                    batch.column(j)
        raise DataError("X has numbers whose squares are beyond float64. Divide the large columns by a constant.")


def deviations(rows: Rows, part: slice) -> Parts:
    """Return the squares of each column of some rows about the pivot, and the weight of its cells."""
    squares, mass = np.zeros(len(rows.pivot)), np.zeros(len(rows.pivot))
    for first in range(part.start, min(part.stop, len(rows.values)), FEW):
        few = slice(first, min(first + FEW, part.stop))
        cells, weight = rows.centred(few), rows.weight[few]
        squares += weight @ cells.values**2
        mass += weight.sum() if cells.seen is None else weight @ cells.seen
    return Parts((squares, mass))


def centred(points: Points, run: Runner) -> tuple[Floats, float]:
    """Return the means of the columns, for a pivot, and the mean variance of the columns.

    Two sweeps with a single centre at the pivot: the first finds the mean, the second the squares about it.
    """
    head = points.head().astype(np.float64)
    seen = np.isfinite(head)
    head, count = np.where(seen, head, 0.0), np.maximum(seen.sum(axis=0), 1)
    with np.errstate(over="ignore"):
        pivot = head.sum(axis=0) / count
    pivot = np.where(np.isinf(pivot), (head / count).sum(axis=0), pivot)
    centre = np.zeros((1, len(pivot)))
    for _ in range(2):
        rows = points.about(pivot)
        swept = rows.sweep(centre, run)
        if not np.isfinite(swept.inertia):
            points.find_infinity()
        numeric_schema.check_seen(
            [name for name, mass in zip(points.names, swept.mass[0], strict=True) if not mass > 0]
        )
        pivot = rows.pivot + move(centre, swept)[0]
    if not swept.inertia > 0 and points.vary():
        raise DataError("X has numbers whose squares are too small for float64. Multiply the columns by a constant.")
    return rows.pivot, swept.inertia / points.mass / len(pivot)


def spread(points: Points, pivot: Floats) -> Floats:
    """Return the standard deviation of each column about a pivot."""
    squares, mass = points.deviations(pivot)
    return np.sqrt(squares / mass)
