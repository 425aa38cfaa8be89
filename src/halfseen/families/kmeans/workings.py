"""The arithmetic of k-means number by number: for every number that `explain` shows, what it was computed from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from halfseen.kinds.arithmetic import Term, beside, figure, minus, ratio, times, total
from halfseen.leaves.leaf import Floats


def number(value: float) -> str:
    """Return a number as it is shown."""
    return f"{value:.6f}"


@dataclass(frozen=True, eq=False)
class Workings:
    """The arithmetic of sweeps over some rows, a line for each number.

    Attributes
    ----------
    values : (N, D) array        the rows; NaN where missing
    row_weight : (N,) array
    class_names : list of str
    """

    values: Floats
    row_weight: Floats
    class_names: Sequence[str]

    def distances(self, n: int, centres: Floats, squares: Sequence[float]) -> list[str]:
        """Return the squared distance of a row to every centre; of missing cells, scaled to all columns."""
        return [
            f"{self._distance(n, centre)} = {number(square)}" for centre, square in zip(centres, squares, strict=True)
        ]

    def _distance(self, n: int, centre: Floats) -> str:
        seen, unit = np.flatnonzero(~np.isnan(self.values[n])), float(np.nanstd(self.values)) or 1.0
        if not len(seen):
            return "no cell is observed"
        terms = []
        for d in seen.tolist():
            x, middle = float(self.values[n, d]), float(centre[d])
            terms.append(Term(f"({minus(beside(x, unit), beside(middle, unit))})^2", (x - middle) ** 2))
        width = self.values.shape[1]
        said = total(terms)
        if len(seen) == width:
            return said
        return f"{width}/{len(seen)} × {f'({said})' if len(terms) > 1 else said}"

    def nearest(self, squares: Sequence[float], k: int) -> str:
        """Return why a row is in a cluster."""
        tie = ", the first of equal ones" if list(squares).count(squares[k]) > 1 else ""
        return f"the smallest of {', '.join(map(number, squares))}: {self.class_names[k]}{tie}"

    def size(self, own: Any) -> str:
        """Return how many rows a cluster has; `own` says which, (N,)."""
        weights = self.row_weight[own].tolist()
        return f"{total([Term(figure(weight), weight) for weight in weights])} = {figure(sum(weights))}"

    def centre(self, own: Any, after: Floats) -> list[str]:
        """Return how the coordinates of a centre follow from its rows; `own` says which these are, (N,)."""
        return [self._coordinate(own, d, float(place)) for d, place in enumerate(after)]

    def _coordinate(self, own: Any, d: int, after: float) -> str:
        seen = ~np.isnan(self.values)
        rows = np.flatnonzero(own & seen[:, d] & (self.row_weight > 0)).tolist()
        if not (own & seen.any(axis=1) & (self.row_weight > 0)).any():
            return f"the cluster has no rows: moved to the row farthest from its centre, {number(after)}"
        if not rows:
            return f"no row of the cluster has this cell: it stays {number(after)}"
        unit = float(np.nanstd(self.values[:, d])) or 1.0
        top, bottom = [], []
        for n in rows:
            weight = float(self.row_weight[n]) * self.values.shape[1] / seen[n].sum()
            x = float(self.values[n, d])
            top.append(Term(times(weight, beside(x, unit)), weight * x))
            bottom.append(Term(figure(weight), weight))
        return f"{ratio(top, bottom)} = {number(after)}"

    def inertia(self, squares: Floats) -> str:
        """Return the sum of the distances to the nearest centres."""
        least = squares.min(axis=1)
        terms = [
            Term(times(weight, figure(square)), weight * square)
            for weight, square in zip(self.row_weight.tolist(), least.tolist(), strict=True)
            if weight * square != 0
        ]
        return f"{total(terms)} = {float(self.row_weight @ least):.7f}"
