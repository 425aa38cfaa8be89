"""Sums that are the same bits in any order of the rows: statistics of rows whose component is known.

Floating sums depend on the order in which they are added up. Here addends are cut into slices, whose sums have no
rounding (`kernels.exact`), chunk by chunk; `total` rounds once, at the end.

Vocabulary
----------
Moments   sums of numbers of any size: per cell the bin of its largest number, and the sums of three slices
Shares    sums of weights: as many bins as the weights need, the same for all cells; nothing is dropped
Weights   row weights in slices
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halfseen.kernels import active as kernels
from halfseen.kernels.exact import BITS, FOLDS, ROUNDER

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Moments:
    """Sums of powers of deviations, as `kernels.exact_moments` gives them: tops (P, K, D) and folds (P, F, K, D)."""

    tops: Ints
    folds: Floats

    @classmethod
    def of(cls, values: Any, mean: Floats, component: Ints, weight: Floats, n_components: int, order: int) -> Moments:
        """Return the moments up to `order` of the rows of each component about `mean` (D,)."""
        shape = (n_components, values.shape[1])
        tops, folds = np.empty((order + 1, *shape), dtype=np.int64), np.empty(((order + 1) * FOLDS, *shape))
        values, weight = np.ascontiguousarray(values), np.ascontiguousarray(weight)
        kernels.exact_moments(values, np.ascontiguousarray(mean), component, weight, tops, folds)
        return cls(tops, folds.reshape(order + 1, FOLDS, *shape))

    def __add__(self, other: Moments) -> Moments:
        tops = np.maximum(self.tops, other.tops)
        return Moments(tops, self._raised(tops) + other._raised(tops))

    def _raised(self, tops: Ints) -> Floats:
        """Return the folds from higher bins on."""
        by = (tops - self.tops)[:, None]
        if not by.any():
            return self.folds
        wanted = np.arange(FOLDS)[None, :, None, None] - by
        found = np.take_along_axis(self.folds, np.clip(wanted, 0, FOLDS - 1), axis=1)
        return np.where(wanted >= 0, found, 0.0)

    def total(self) -> Floats:
        """Return the sums, rounded: (P, K, D).

        A number may be 1 in a bin and -0.4 in the next, or 0.6 in the next: which, depends on the numbers before it.
        Carried upwards, what is left in a bin is from 0 to 1 of the unit above. A sum of numbers too large is infinite.
        """
        high, middle, low = self.folds[:, 0], self.folds[:, 1], self.folds[:, 2]
        with np.errstate(invalid="ignore"):  # of numbers too large for their squares
            unit = np.ldexp(1.0, (BITS * self.tops).astype(np.int32))
            carried = np.floor(low / unit * 2.0**BITS) * (unit * 2.0**-BITS)
            middle, low = middle + carried, low - carried
            carried = np.floor(middle / unit) * unit
            found = (low + (middle - carried)) + (high + carried)
        return np.where(np.isnan(found), np.inf, found)


@dataclass(frozen=True)
class Shares:
    """Sums of weights: folds (B, ...), one for each bin of the weights, lowest first."""

    folds: Floats

    def __add__(self, other: Shares) -> Shares:
        return Shares(self.folds + other.folds)

    def total(self) -> Floats:
        """Return the sums, rounded: each bin has one sum, whatever the order of the rows."""
        return self.folds.sum(axis=0)


@dataclass(frozen=True)
class Joined:
    """Several sums, one after the other: of the leaves of a product, or of the parts of a leaf's statistics."""

    parts: Sequence[Any]

    def __add__(self, other: Joined) -> Joined:
        return Joined([own + its for own, its in zip(self.parts, other.parts, strict=True)])

    def total(self) -> Floats:
        """Return all sums in one vector."""
        return np.concatenate([np.ravel(part.total()) for part in self.parts])


def unit_of(weight: Floats) -> float:
    """Return the power of two just below the largest weight."""
    return float(np.ldexp(0.5, int(np.frexp(weight.max())[1])))


class Weights:
    """The bins that the weights of a table need: weights of 1 one, others as many as they have bits for.

    Examples
    --------
    >>> Weights(np.array([1.0, 2.0, 3.0])).bins
    [0]
    >>> import math
    >>> cut = Weights(np.array([0.1, 1e9]))
    >>> sum(float(part[0]) for _, part in cut.slices(np.array([0.1]))) == 0.1
    True
    """

    def __init__(self, weight: Floats, unit: float = 1.0) -> None:
        weight = weight / unit
        if weight.max() < 2.0**BITS and (weight == np.rint(weight)).all():
            self.bins = [0]
            return
        some = weight[weight > 0]
        _, (low, high) = np.frexp([some.min(), some.max()])
        first, last = (int(low) - 53) // BITS, -(-int(high) // BITS) - 1
        self.bins = list(range(max(first, -41), max(last, first) + 1))

    def slices(self, weight: Floats) -> Iterator[tuple[int, Floats]]:
        """Cut weights: yield the place of each bin and their slices, without those that are all 0."""
        if self.bins == [0]:
            yield 0, weight
            return
        left = weight
        for place in reversed(range(len(self.bins))):
            rounder = np.ldexp(ROUNDER, BITS * self.bins[place])
            piece = (left + rounder) - rounder
            left = left - piece
            if piece.any():
                yield place, piece

    def sums(self, weight: Floats, shape: tuple[int, ...], add: Callable[[Floats, Floats], None]) -> Shares:
        """Return sums that `add` makes of weights: it adds those of the weights it is given to an array of `shape`."""
        folds = np.zeros((len(self.bins), *shape))
        for place, piece in self.slices(weight):
            add(piece, folds[place])
        return Shares(folds)
