"""Long stretches of a sequence in few points, in which no spike is lost.

A point stands for `width` neighbouring steps. Numbers keep the lowest and the highest of them, probabilities their mean
and the highest, categories and states the most frequent one. Points begin at multiples of their width, which is a power
of two: a window that is moved along a sequence shows the same points.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from halfseen.leaves.leaf import Floats

Ints = NDArray[np.int64]


class Points:
    """The steps `first` to `last` (excluded) of a sequence, in at most `most` points.

    Examples
    --------
    >>> points = Points(3, 12, most=4)
    >>> points.width, points.steps.tolist(), points.sizes.tolist()
    (4, [3, 4, 8], [1, 4, 4])
    >>> low, high = points.extremes(np.array([0.0, 5, 1, 9, 1, np.nan, np.nan, np.nan, np.nan]))
    >>> low.tolist(), high.tolist()
    ([0.0, 1.0, nan], [0.0, 9.0, nan])
    """

    def __init__(self, first: int, last: int, most: int) -> None:
        self.width = 1
        while _n_points(first, last, self.width) > most:
            self.width *= 2
        inner = np.arange(first // self.width + 1, -(-last // self.width), dtype=np.int64) * self.width
        self.steps: Ints = np.concatenate([[first], inner])
        self.sizes: Ints = np.diff(np.append(self.steps, last))
        self._starts = self.steps - first

    @cached_property
    def _point(self) -> Ints:
        """The point of each step."""
        return np.repeat(np.arange(len(self.steps)), self.sizes)

    def extremes(self, values: Floats) -> tuple[Floats, Floats]:
        """Return the lowest and the highest number of each point, of (T,) or (T, D); NaN where all are missing."""
        return np.fmin.reduceat(values, self._starts), np.fmax.reduceat(values, self._starts)

    def shares(self, probabilities: Floats) -> tuple[Floats, Floats]:
        """Return the mean probabilities of each point and the highest, of (T, K)."""
        total = np.add.reduceat(probabilities, self._starts)
        return total / self.sizes[:, None], np.maximum.reduceat(probabilities, self._starts)

    def commonest(self, codes: Ints, n_codes: int) -> Common:
        """Return the most frequent code of each point, the smallest among equals; negative codes are missing."""
        known, n_codes = codes >= 0, max(n_codes, 1)
        cells = self._point[known] * n_codes + codes[known]
        counts = np.bincount(cells, minlength=len(self.steps) * n_codes).reshape(-1, n_codes)
        code = np.where(counts.any(axis=1), counts.argmax(axis=1), -1)
        return Common(code, (counts > 0).sum(axis=1))


class Common(NamedTuple):
    """Codes of points.

    Attributes
    ----------
    code : (P,) array          the most frequent one; -1 where all are missing
    n_different : (P,) array   how many different ones a point has
    """

    code: Ints
    n_different: Ints


def _n_points(first: int, last: int, width: int) -> int:
    return -(-last // width) - first // width
