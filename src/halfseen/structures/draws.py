"""How often a unit of some weight is drawn: `assign="sample"` at a cost that does not grow with the weight.

A unit of weight w draws w completions; a fraction of a use is one more draw that counts as much as the fraction. Up to
SEVERAL draws are made one by one. More are made all at once, as counts: where the completions of a unit are reached
step by step, the draws that have reached a state are spread over the next ones by a multinomial draw. The counts are
distributed as those of single draws. Beyond MOST draws, the largest number whose neighbours are floats, a unit makes
MOST draws, each of which counts for weight / MOST uses.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SEVERAL = 32  # draws of one unit that are made one by one
MOST = 1 << 53


class Draws(NamedTuple):
    """The draws of some units, (N,) each.

    Attributes
    ----------
    single : int array      draws to make one by one
    share : float array     what the last of them counts as; the others count as 1
    many : int array        draws to make at once; 0 for units whose draws are made one by one
    each : float array      what each of these counts as
    """

    single: Ints
    share: Floats
    many: Ints
    each: Floats

    @classmethod
    def of(cls, uses: Floats) -> Draws:
        """Return the draws of units that are used so often.

        Examples
        --------
        >>> found = Draws.of(np.array([2.5, 1e6 + 0.25, 2.0**60]))
        >>> found.single.tolist(), found.share.tolist(), found.many.tolist(), found.each.tolist()
        ([3, 1, 0], [0.5, 0.25, 1.0], [0, 1000000, 9007199254740992], [1.0, 1.0, 128.0])
        """
        whole = np.floor(uses)
        rest = uses - whole
        at_once = whole > SEVERAL
        many = np.where(at_once, np.minimum(whole, MOST), 0.0)
        each = np.divide(whole, many, out=np.ones_like(uses), where=at_once)
        single = np.where(at_once, 0.0, whole) + (rest > 0)
        return cls(single.astype(np.int64), np.where(rest > 0, rest, 1.0), many.astype(np.int64), each)

    def listed(self) -> tuple[Ints, Floats]:
        """Return the unit of every draw that is made by itself, and what it counts as."""
        unit = np.repeat(np.arange(len(self.single)), self.single)
        share = np.ones(len(unit))
        drawn = self.single > 0
        share[(np.cumsum(self.single) - 1)[drawn]] = self.share[drawn]
        return unit, share


def spread_by(rng: np.random.Generator) -> Callable[[Ints, Floats], Ints]:
    """Return `spread` with this generator, for kernels, which have none."""
    return lambda counts, chances: spread(counts, chances, rng)


def spread(counts: Ints, chances: Floats, rng: np.random.Generator) -> Ints:
    """Spread counts (...) over K ways each by multinomial draws, (..., K); `chances` need not be normalised.

    Examples
    --------
    >>> spread(np.array([5, 0]), np.array([[0.0, 2.0], [1.0, 1.0]]), np.random.default_rng(0)).tolist()
    [[0, 5], [0, 0]]
    """
    total = chances.sum(axis=-1, keepdims=True)
    shares = np.divide(chances, total, out=np.full(chances.shape, 1 / chances.shape[-1]), where=total > 0)
    # NumPy gives what is left to the last way, also by rounding: to one that is possible
    order = np.argsort(shares, axis=-1)
    drawn = rng.multinomial(counts, np.take_along_axis(shares, order, axis=-1))
    out = np.empty_like(drawn)
    np.put_along_axis(out, order, drawn, axis=-1)
    return out
