"""Starting centres of k-means: rows drawn at random, or far from each other (k-means++).

Starts depend on the multiset of (row, weight) and never on the order of the rows. Rows are ordered by a hash of their
content, and equal rows are merged. Of a large table the rows with the smallest hashes are taken: a fair sample that is
the same in any order. Starts are drawn, and raced, on these rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from halfseen.engine.tables.lloyd import Cells, Rows, parts
from halfseen.leaves.leaf import Floats
from halfseen.sums import Runner, serial

LIMIT = 1 << 15  # distinct rows that starts are raced on
ENOUGH = 1 << 12  # distinct rows that k-means++ draws from, or
ROWS_EACH = 64  # so many for each centre, if that is more: its cost grows with the rows, what it finds hardly
_ODD = 0x9E3779B97F4A7C15


class Sample(NamedTuple):
    """Distinct rows in the order of their content.

    Attributes
    ----------
    values : (M, D) array
    weight : (M,) array
    whole : bool             whether these are all distinct rows of the table
    """

    values: NDArray[Any]
    weight: Floats
    whole: bool


def sample(values: NDArray[Any], weight: Floats, limit: int = LIMIT, runner: Runner = serial) -> Sample:
    """Return at most `limit` distinct rows, the weights of equal ones added; rows of weight 0 are left out.

    Examples
    --------
    >>> values, weight, whole = sample(np.array([[1.0], [2.0], [1.0]]), np.array([1.0, 1.0, 3.0]))
    >>> sorted(zip(values[:, 0].tolist(), weight.tolist())), whole
    ([(1.0, 4.0), (2.0, 1.0)], True)
    """
    hashes = np.concatenate(list(runner(lambda part: hash_rows(values[part]), parts(len(values)))))
    used = weight > 0
    distinct = np.unique(hashes[used])
    last = distinct[min(limit, len(distinct)) - 1]
    chosen = np.flatnonzero(used & (hashes <= last))
    chosen = chosen[np.lexsort((weight[chosen], hashes[chosen]))]
    ordered = values[chosen]
    different = (ordered[1:] != ordered[:-1]) & ~(np.isnan(ordered[1:]) & np.isnan(ordered[:-1]))
    first = np.flatnonzero(np.append(True, different.any(axis=1)))
    added = np.add.reduceat(weight[chosen], first)
    return Sample(np.ascontiguousarray(ordered[first]), added, len(distinct) <= limit)


def hash_rows(values: NDArray[Any]) -> NDArray[np.uint64]:
    """Return a 64-bit hash of each row; equal rows have equal hashes (-0.0 is 0.0, and every NaN the same)."""
    factors = _mixed(np.arange(1, values.shape[1] + 1, dtype=np.uint64) * np.uint64(_ODD)) | np.uint64(1)
    out = np.empty(len(values), dtype=np.uint64)
    for start in range(0, len(values), 1 << 12):
        cells = values[start : start + (1 << 12)].astype(np.float64) + 0.0  # float32 has the hash of its float64
        cells[np.isnan(cells)] = np.nan
        bits = cells.view(np.uint64)
        bits ^= bits >> np.uint64(32)  # whole numbers have zeros in their lower half
        bits *= factors
        out[start : start + len(cells)] = _mixed(bits.sum(axis=1, dtype=np.uint64))
    return out


def _mixed(bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Spread every bit over all bits (the finaliser of splitmix64)."""
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1)):
        bits = (bits ^ (bits >> np.uint64(shift))) * np.uint64(factor)
    return bits


def spread(drawn_from: Rows, n_centres: int, rng: np.random.Generator) -> Floats:
    """Return centres at rows far from each other: greedy k-means++.

    Each next row is drawn with chances weight * distance to the nearest centre so far; of 2 + log(K) such rows the one
    that leaves the smallest inertia is kept. Missing cells of the rows drawn are filled with the column's mean.
    """
    size = max(ENOUGH, ROWS_EACH * n_centres)  # the first rows are a fair sample
    cells, weight = drawn_from.centred(slice(size)), drawn_from.weight[:size]
    mean = _means(cells, weight)
    n_tried = 2 + int(np.log(n_centres))
    centres = np.empty((n_centres, len(mean)))
    centres[0] = cells.filled(_drawn(weight, 1, rng), mean)[0]
    [nearest] = cells.distances(centres[:1])
    for k in range(1, n_centres):
        potential = weight * nearest
        candidates = cells.filled(_drawn(potential if potential.any() else weight, n_tried, rng), mean)
        left = np.minimum(cells.distances(candidates), nearest)
        best = int((left @ weight).argmin())
        centres[k], nearest = candidates[best], left[best]
    return centres


def random(drawn_from: Rows, n_centres: int, rng: np.random.Generator) -> Floats:
    """Return centres at different rows drawn by weight, with missing cells filled with the column's mean."""
    weight = drawn_from.weight
    picked = rng.choice(len(weight), n_centres, replace=len(weight) < n_centres, p=weight / weight.sum())
    cells = drawn_from.centred(slice(None))
    return cells.filled(picked, _means(cells, weight))


STARTS: dict[str, Callable[[Rows, int, np.random.Generator], Floats]] = {"k-means++": spread, "random": random}


def _means(cells: Cells, weight: Floats) -> Floats:
    """Return the mean of the observed cells of each column; 0, the pivot, where there is none."""
    mass = weight.sum() if cells.seen is None else weight @ cells.seen
    return np.where(mass > 0, (weight @ cells.values) / np.where(mass > 0, mass, 1.0), 0.0)


def _drawn(chances: Floats, size: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Return rows drawn with these chances, not scaled to a sum of 1."""
    edges = np.cumsum(chances)
    last = int(np.flatnonzero(chances)[-1])  # where rounding would step over the edge
    return np.minimum(np.searchsorted(edges, rng.random(size) * edges[-1], side="right"), last)
