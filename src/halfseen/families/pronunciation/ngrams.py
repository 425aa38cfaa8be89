"""N-grams of joint units from segmented words, smoothed by interpolated Kneser-Ney with three discounts.

    p(u | h) = max(c(h u) - D[c(h u)], 0) / c(h)  +  back(h) p(u | h without its first unit)
    back(h)  = sum over units u after h of D[c(h u)] / c(h)

c are counts of segmentations at the highest order, and where h begins a word; below it the number of different units
seen before h u. Without any unit, p is the same for all. The discounts of counts 1, 2 and more are those of Chen and
Goodman (1999): D[i] = i - (i + 1) Y n[i + 1] / n[i], Y = n[1] / (n[1] + 2 n[2]), where n[i] n-grams have count i.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from halfseen.leaves.leaf import Floats
from halfseen.structures.joint_units import END, Codes, Contexts, Ints

NEAR = 0.05  # of a discount to nothing and to the whole count


class Level(NamedTuple):
    """All n-grams of one length, sorted by the (n-1)-gram they begin with and by their last unit.

    Attributes
    ----------
    unit : ints         the last unit
    parent : ints       the (n-1)-gram before it
    shorter : ints      the (n-1)-gram without the first unit
    begins : bools      whether the n-gram begins a word
    times : ints        how often it is in the segmentations
    """

    unit: Ints
    parent: Ints
    shorter: Ints
    begins: NDArray[np.bool_]
    times: Ints


def contexts_of(segments: Codes, order: int, n_units: int) -> Contexts:
    """Return the n-gram model of segmented words.

    Parameters
    ----------
    segments : ints      the units of one word after the other, each word with the end, 0
    order : int          2 or more
    n_units : int

    Examples
    --------
    >>> tree = contexts_of(np.array([1, 2, 0, 1, 0], dtype=np.int32), 2, 3)
    >>> np.exp(tree.log_p[1:4]).round(3).tolist()  # without context: the end, 1, 2
    [0.5, 0.25, 0.25]
    """
    levels = _levels(segments, order, n_units)
    sizes = [1, *(len(level.unit) for level in levels)]
    firsts = np.concatenate([[0], np.cumsum(sizes)])
    log_p, log_back = np.zeros(firsts[-1]), np.zeros(firsts[-1])
    children = np.full(firsts[-1] + 1, firsts[-1], dtype=np.int64)
    lower = np.array([1.0 / n_units])
    for n, (level, counts) in enumerate(zip(levels, _counts(levels), strict=True)):
        own = np.array([0.0, *discounts(counts)])[np.minimum(counts, 3)]
        total = np.bincount(level.parent, counts, minlength=sizes[n])
        taken = np.bincount(level.parent, own, minlength=sizes[n])
        back = np.divide(taken, total, out=np.ones(sizes[n]), where=total > 0)
        lower = (counts - own) / total[level.parent] + back[level.parent] * lower[level.shorter]
        log_p[firsts[n + 1] : firsts[n + 2]] = np.log(lower)
        log_back[firsts[n] : firsts[n + 1]] = np.log(back)
        children[firsts[n] : firsts[n + 1]] = firsts[n + 1] + np.searchsorted(level.parent, np.arange(sizes[n]))
    return Contexts(
        np.concatenate([[0], *(level.unit for level in levels)]).astype(np.int32),
        children,
        log_p,
        log_back,
        np.concatenate([[0], *(firsts[n] + level.shorter for n, level in enumerate(levels))]).astype(np.int64),
    )


def _levels(segments: Codes, order: int, n_units: int) -> list[Level]:
    """Return the n-grams of every length up to `order`, or to the longest word."""
    ends = np.flatnonzero(segments == END)
    stream = np.insert(segments, np.concatenate([[0], ends[:-1] + 1]), END).astype(np.int64)  # both ends are there
    lengths = np.diff(np.concatenate([[-1], ends])) + 1
    place = np.arange(len(stream)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    none = np.zeros(n_units, dtype=np.int64)
    levels = [Level(np.arange(n_units), none, none, none > 0, none)]
    shorter = stream
    for n in range(2, order + 1):
        where = np.flatnonzero(place >= n - 1)
        if not len(where):
            break
        keys = shorter[where - 1] * n_units + stream[where]
        distinct, number = np.unique(keys, return_inverse=True)
        end = np.empty(len(distinct), dtype=np.int64)
        end[number] = shorter[where]
        begins = np.zeros(len(distinct), dtype=bool)
        begins[number[place[where] == n - 1]] = True
        parent, unit = np.divmod(distinct, n_units)
        levels.append(Level(unit, parent, end, begins, np.bincount(number, minlength=len(distinct))))
        shorter = np.full(len(stream), -1, dtype=np.int64)
        shorter[where] = number
    return levels


def _counts(levels: list[Level]) -> list[Ints]:
    """Return the counts from which each level is estimated."""
    found = [levels[-1].times]
    for level, longer in zip(levels[-2::-1], levels[:0:-1], strict=True):
        before = np.bincount(longer.shorter, minlength=len(level.unit))
        found.append(np.where(level.begins, level.times, before))
    return found[::-1]


def discounts(counts: Ints) -> Floats:
    """Return what is taken from counts of 1, 2 and more, (3,); halves where there are too few n-grams to tell.

    Examples
    --------
    >>> discounts(np.repeat([1, 2, 3, 4], [40, 10, 6, 3])).round(3).tolist()
    [0.667, 0.8, 1.667]
    """
    n = np.bincount(np.minimum(counts, 5), minlength=6)[1:5].astype(np.float64)
    if not n.all():
        return np.array([0.5, 0.5, 0.5])
    i = np.arange(1, 4)
    own = i - (i + 1) * n[0] / (n[0] + 2 * n[1]) * n[1:] / n[:3]
    return np.clip(own, NEAR, i - NEAR)
