"""Kinds of numbers with a density that may grow without bound: the resolution of the cells bounds it.

What they share: a column must vary, its resolution and its distinct values are read off the cells, and a component that
comes to rest on one recorded number has the floor that `floors` gives.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from halfseen.data.columns import Block, Column, numbers_of
from halfseen.data.frames import RawColumn
from halfseen.data.resolution import FEW, Seen
from halfseen.errors import DataError
from halfseen.kinds.kind import Kind
from halfseen.kinds.records import Build, Figures
from halfseen.leaves.leaf import Floats

PLAIN_FLOOR = 1e-8  # share of a column's variance, where its resolution says nothing
RESOLUTION = "resolution"
LARGEST_FLOOR = 0.25  # share of a column's variance: of two values it is all that distinguishes the components


class Resolved(Kind):
    """A kind of numbers that have a resolution."""

    scanned: ClassVar[tuple[str, ...]] = ("step", "distinct")

    def learn(self, raw: RawColumn, name: str) -> Column:
        """Refuse a column that never varies: its density has no bound."""
        column = super().learn(raw, name)
        observed = numbers_of(raw, name, self.name)[~raw.missing]
        if (observed == observed[0]).all():
            raise DataError(
                f"column {name!r} cannot be {self.name}: it is {observed[0]:g} in all observed rows "
                f"(n_samples={len(observed)}), so its variance is 0. Drop the column, or leave its kind open."
            )
        return column

    def seen(self, cells: Any, known: Any = None) -> Seen:
        """Return the distinct numbers."""
        return Seen.of(cells, known)

    def scan_figures(self, seen: Seen) -> Figures:
        """Return the resolution of each column and the number of its distinct values, (D,) each."""
        return seen.resolution._asdict()

    def joined(self, before: Figures, scanned: Figures) -> Figures:
        """Return the finer resolution; none once a piece has none. Values are counted in the piece with most.

        A piece with less than two distinct values has no say in it.
        """
        old, new = (np.where(part["distinct"] < 2, np.inf, part["step"]) for part in (before, scanned))
        step = np.minimum(old, new)
        distinct = np.maximum(before["distinct"], scanned["distinct"])
        return {"step": np.where(np.isfinite(step), step, 0.0), "distinct": distinct}

    def unit_summary(self, block: Block) -> Figures:
        """Return mean 0, variance 1, and no resolution."""
        none = np.zeros(len(block.members))
        return {**super().unit_summary(block), "step": none, "distinct": none}

    def filled(self, summary: Figures) -> Figures:
        """Return a summary that can be used as it is: the resolution always can."""
        return {**super().filled(summary), "step": summary["step"], "distinct": summary["distinct"]}

    def few_values(self, block: Block, summary: Figures) -> dict[str, int]:
        """Return the columns with at most 20 distinct values."""
        counts = zip(block.columns, summary["distinct"].tolist(), strict=True)
        return {column.name: int(count) for column, count in counts if 1 < count <= FEW}


def floors(build: Build, var: Floats, square: Floats) -> tuple[float, Floats | None]:
    """Return the smallest variance as a share of that of the column, and that by the resolution, (D,).

    square / (2 pi), with the square of the step in the unit of `var`, is the variance of a normal density that is
    nowhere above 1 / step; never more than a quarter of the variance of the column. A grid so fine that the plain floor
    is higher is as good as none. A single component takes the whole table and cannot come to rest on one number.
    """
    if build.variance_floor != RESOLUTION:
        return float(build.variance_floor), None
    if build.n_components == 1:
        return PLAIN_FLOOR, None
    least = np.minimum(square / (2 * np.pi), LARGEST_FLOOR * var)
    least = np.where(least > PLAIN_FLOOR * var, least, 0.0)
    return PLAIN_FLOOR, least if least.any() else None
