"""In what steps the numbers of a column were recorded.

- *resolution*: the step h of the grid on which all numbers of a column lie (whole numbers: 1; prices: 0.01; years in
  fives: 5); 0 for a column without such a grid, or with more than `MOST` distinct numbers.
- *few values*: at most `FEW` distinct numbers, such as incomes in bands. Bands differ in width, so that their largest
  common step is much smaller than the distance between them; their mean distance counts instead, times `WIDER`.
  Densities of 1 / h at n values, in equal shares, then give n bands that are h wide on average a probability of 1 in
  all; with the median distance, bands that grow wider would get more. Distances above `FAR` times the median do not
  count: they lie between groups of values, or before a code such as 99.

Both depend on which numbers occur, not on how often or in what order. A number that was recorded in steps of h has a
probability rather than a density: 1 / h is the largest density that says anything about it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from halfseen.data.columns import CLOSE, is_whole

Floats = NDArray[np.float64]

MOST = 4096  # distinct numbers of a column on a grid; with more, no component comes to rest on one of them
FEW = 20  # distinct numbers that are rather categories
FAR = 4.0  # times the median distance; one further is not that of neighbouring bands
WIDER = 1.25  # normal densities so wide, summed over values h apart, exceed 1 / h by 1.5 % at most; of width 1 by 9 %
FINEST = 1 << 22  # steps between the smallest and the largest number; a finer grid cannot be told from none
ULPS = 8  # rounding of a number that was computed, such as a standardised one, in units of its last place
HEAD = 1024  # rows that show of most columns that they have no grid


class Resolution(NamedTuple):
    """Of each column, (D,) arrays: the step, 0 where there is none, and how many numbers are distinct."""

    step: Floats
    distinct: Floats  # at most MOST + 1: there may be more


class Seen:
    """The distinct numbers seen of each column; None for a column that is known to have no grid. They add.

    Examples
    --------
    >>> seen = Seen.of(np.array([[0.5, 1.0], [2.0, 1.0]])) + Seen.of(np.array([[3.5, np.nan]]))
    >>> seen.resolution
    Resolution(step=array([1.875, 0.   ]), distinct=array([3., 1.]))
    """

    def __init__(self, values: Sequence[Floats | None]) -> None:
        self.values = values

    @classmethod
    def of(cls, cells: Floats, known: Seen | None = None) -> Seen:
        """Return what is seen in cells, (N, D), NaN where missing; not of columns that are `known` to have no grid."""
        gone = [False] * cells.shape[1] if known is None else [values is None for values in known.values]
        seen = cls([None if none else np.zeros(0) for none in gone])
        for rows in (slice(0, HEAD), slice(HEAD, None)):
            seen = seen + cls(
                [None if values is None else _distinct(cells[rows, d]) for d, values in enumerate(seen.values)]
            )
        return seen

    def __add__(self, other: Seen) -> Seen:
        return Seen([_joined(own, its) for own, its in zip(self.values, other.values, strict=True)])

    @property
    def settled(self) -> bool:
        """Whether more rows change nothing: no column has a grid."""
        return all(values is None for values in self.values)

    @property
    def resolution(self) -> Resolution:
        """The resolution of the columns."""
        steps = [0.0 if values is None else step_of(values) for values in self.values]
        return Resolution(np.array(steps), np.array([float(MOST + 1 if v is None else len(v)) for v in self.values]))


def _joined(own: Floats | None, its: Floats | None) -> Floats | None:
    """Return the numbers of two parts of a column; None if one of them, or both together, have no grid."""
    if own is None or its is None:
        return None
    values = np.union1d(own, its) if len(own) and len(its) else np.concatenate([own, its])
    return values if len(values) <= FEW or (len(values) <= MOST and step_of(values) > 0) else None


def _distinct(cells: NDArray[np.float64]) -> Floats:
    """Return the distinct finite numbers, ascending; whole numbers close together are looked up, not sorted."""
    values = cells[np.isfinite(cells)]
    if len(values) > CLOSE:
        low, high = values.min(), values.max()
        if high < low + CLOSE and is_whole(values).all():
            held = np.zeros(int(high - low) + 1, dtype=bool)
            held[(values - low).astype(np.int64)] = True
            return np.flatnonzero(held) + low
    return np.unique(values)


def step_of(values: Floats) -> float:
    """Return the resolution of distinct numbers, ascending; 0 where there is none.

    Examples
    --------
    >>> round(step_of(np.array([1.0, 3.5, 4.5, 6.5, 19.0])), 4)  # few: 1.25 times their mean distance, without 12.5
    2.2917
    >>> round(step_of(np.arange(100) / 10), 12)
    0.1
    >>> step_of(np.sqrt(np.arange(100.0)))
    0.0
    """
    if len(values) < 2:
        return 0.0
    if len(values) <= FEW:
        distances = np.diff(values)
        return WIDER * float(distances[distances <= FAR * np.median(distances)].mean())
    return common_step(values)


def common_step(values: Floats) -> float:
    """Return the largest step of which all distances between distinct numbers, ascending, are multiples; 0 for none.

    Examples
    --------
    >>> common_step(np.array([7500.0, 20000.0, 30000.0]))
    2500.0
    """
    if len(values) < 2:
        return 0.0
    step = _common_step(values, np.finfo(np.float64))
    if step == 0:
        with np.errstate(over="ignore"):
            single = bool((values.astype(np.float32) == values).all())
        step = _common_step(values, np.finfo(np.float32)) if single else step
    return step


def _common_step(values: Floats, precision: np.finfo[Any]) -> float:
    """Return the largest step of which all distances are multiples, by Euclid's algorithm on numbers with rounding."""
    low, span = values[0], values[-1] - values[0]
    rounding = ULPS * float(precision.eps) * max(abs(values[0]), abs(values[-1]))
    if not np.isfinite(span):
        return 0.0
    gaps = np.diff(values)
    step, error = float(gaps.min()), rounding
    while step * FINEST >= span and step > 4 * error:
        times = np.rint(gaps / step)
        rest = np.abs(gaps - times * step)
        within = rounding + times * error  # what rounding leaves of multiples
        left = rest > within
        if not left.any():
            return _on_grid(values - low, span / np.rint(span / step), rounding)
        place = int(np.argmin(np.where(left, rest, np.inf)))
        step, error = float(rest[place]), float(within[place])
    return 0.0


def _on_grid(distances: Floats, step: float, rounding: float) -> float:
    """Return the step if all distances are multiples of it, else 0."""
    off = np.abs(distances - np.rint(distances / step) * step)
    return float(step) if bool((off <= 2 * rounding).all()) else 0.0
