"""Columns of ordered categories, with proportional odds: classes share the thresholds, and each has one shift.

    P(x <= v | k) = expit(threshold[v] - shift[k]),   v = 0, ..., V - 2

A larger shift means higher categories; all odds of being above any category change by the same factor. A constant added
to all thresholds and shifts changes nothing: of V - 1 thresholds and K shifts, V - 2 + K parameters are free.

Parameters are the probabilities of the categories, (K, S), laid out as those of `Categorical`, of which this is a
constrained maximiser: scores, statistics (expected counts) and kernels are the same. Thresholds and shifts are read off
them where they are needed (`cuts`), and stand in `free`. So parameters have no constraint of identification, and
relabelled components keep theirs.

`leaves.proportional_odds` maximises. Where categories separate components the maximum is at a bound, with probabilities
of exactly 0 and infinite shifts; so it is where a category has no count.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from halfseen.errors import ParameterError
from halfseen.leaves.categorical import Categorical, draw
from halfseen.leaves.leaf import NO_MASS, Floats, Leaf, Slopes, Stats, frozen, lacking
from halfseen.leaves.limits import FREE, Limits
from halfseen.leaves.proportional_odds import Problem, cuts, maxima, problems, shares_at, slopes_at, thresholds_of

ALIKE = 1e-7  # how far log odds may be from proportional ones: the rounding of what a long run adds up
INFINITE = 800.0  # log odds of a probability that is 0 in floats
LOG_LEAST_GAP = -29.0  # of thresholds: smaller ones are lost beside thresholds of 30
HALF = 0.5 * (1 - 1e-12)  # half of the mass, but for rounding


class Group(NamedTuple):
    """Components of a column that have the same categories: one set of thresholds.

    Attributes
    ----------
    levels : (L,) array        its categories with a probability above 0, in the whole table
    slots : (L - 1,) array     coordinates of the thresholds
    members : (M,) array       components
    shifts : (M,) array        coordinates of their shifts; that of the first does not move
    """

    levels: NDArray[np.intp]
    slots: NDArray[np.intp]
    members: NDArray[np.intp]
    shifts: NDArray[np.intp]


class Ordinal(Categorical):
    """Columns of ordered categories; component k draws v of column d with probability params[k, offsets[d] + v].

    Examples
    --------
    >>> import numpy as np
    >>> leaf = Ordinal(2, [3])
    >>> counts = np.array([[6.0, 3.0, 1.0], [1.0, 3.0, 6.0]])
    >>> table = leaf.maximise(counts, leaf.blank())
    >>> table.round(3)
    array([[0.6, 0.3, 0.1],
           [0.1, 0.3, 0.6]])
    >>> odds = np.log(table.cumsum(axis=1)[:, :2] / (1 - table.cumsum(axis=1)[:, :2]))
    >>> (odds[0] - odds[1]).round(3)
    array([2.603, 2.603])
    """

    shares_parameters = True

    # ---- the M-step ----------------------------------------------------------------------------------------------

    def maximise(self, stats: Stats, params: Floats, limits: Limits = FREE) -> Floats:
        """Return the best probabilities with proportional odds.

        A component without mass keeps its shift, at the cut where it is most certain.
        """
        _refuse(limits)
        table = np.array(params)
        places: list[tuple[int, NDArray[np.intp], Problem]] = []
        for start, stop in self._columns():
            counts = np.asarray(stats[:, start:stop])
            if not (counts.sum(axis=1) > NO_MASS).any():
                continue
            certain, open_ones = problems(counts)
            for k, v in certain:
                table[k, start:stop] = 0.0
                table[k, start + v] = 1.0
            for problem in open_ones:
                now = thresholds_of(params[np.ix_(problem.members, start + problem.levels)])
                places.append((start, np.arange(start, stop), problem._replace(now=now)))
        for (start, cells, problem), shares in zip(places, maxima([place[2] for place in places]), strict=True):
            rows = problem.members
            table[np.ix_(rows, cells)] = 0.0
            table[np.ix_(rows, start + problem.levels)] = shares
        for start, stop in self._columns():
            without = stats[:, start:stop].sum(axis=1) <= NO_MASS
            if without.any() and not without.all():
                _follow(table[:, start:stop], params[:, start:stop], without)
        return frozen(table)

    def _columns(self) -> Iterator[tuple[int, int]]:
        """Yield where the cells of each column begin and end, of columns with two categories or more."""
        for start, stop in zip(self.offsets.tolist(), self.offsets[1:].tolist(), strict=False):
            if stop > start + 1:
                yield start, stop

    def conform(self, params: Floats, like: Floats, limits: Limits = FREE) -> Floats:
        """Return the nearest probabilities with proportional odds, by relative entropy; `params` if they have them."""
        _refuse(limits)
        if all(departure(params[:, start:stop]) <= ALIKE for start, stop in self._columns()):
            return frozen(params)
        return self.maximise(params, params, limits)

    # ---- coordinates ---------------------------------------------------------------------------------------------

    def _groups(self, params: Floats) -> Iterator[Group]:
        """Yield the components that share thresholds; coordinates of a column are its thresholds, then its shifts."""
        first = 0
        for start, stop in self._columns():
            seen = params[:, start:stop] > 0
            left = np.ones(len(params), dtype=bool)
            while left.any():
                own = left & (seen == seen[left.argmax()]).all(axis=1)
                left &= ~own
                levels, members = np.flatnonzero(seen[own.argmax()]), np.flatnonzero(own)
                if len(levels) > 1:
                    yield Group(start + levels, first + levels[:-1], members, first + stop - start - 1 + members)
            first += stop - start - 1 + self.n_components

    @property
    def _n_coordinates(self) -> int:
        return sum(stop - start - 1 + self.n_components for start, stop in self._columns())

    def free(self, params: Floats, limits: Limits = FREE) -> Floats:
        """Return by column: the first threshold, logs of the gaps to the following ones, and the shifts.

        The first component has shift 0. What is at a bound has the coordinate 0, and does not move.
        """
        vector = np.zeros(self._n_coordinates)
        for group in self._groups(params):
            thresholds, shifts = thresholds_of(params[np.ix_(group.members, group.levels)])
            vector[group.slots] = np.append(thresholds[0], np.log(np.diff(thresholds)))
            vector[group.shifts] = shifts
        return vector

    def freed(self, vector: Floats, like: Floats, limits: Limits = FREE) -> Floats:
        """Return the probabilities at these thresholds and shifts."""
        _refuse(limits)
        table = np.array(like)
        for group in self._groups(like):
            gaps = np.exp(np.clip(vector[group.slots[1:]], LOG_LEAST_GAP, 6.0))
            thresholds = vector[group.slots[0]] + np.append(0.0, np.cumsum(gaps))
            shifts = np.append(0.0, vector[group.shifts[1:]])
            table[np.ix_(group.members, group.levels)] = shares_at(thresholds, shifts)
        return frozen(table)

    def slope(self, stats: Stats, params: Floats, limits: Limits = FREE) -> Floats:
        """Return the gradient in thresholds and shifts, by the chain rule in the coordinates of `free`."""
        _refuse(limits)
        slope = np.zeros(self._n_coordinates)
        for group in self._groups(params):
            cells = np.ix_(group.members, group.levels)
            thresholds, shifts = thresholds_of(params[cells])
            by_threshold, by_shift = slopes_at(np.asarray(stats[cells]), thresholds, shifts)
            above = np.cumsum(by_threshold[::-1])[::-1]
            slope[group.slots] = above * np.append(1.0, np.diff(thresholds))
            slope[group.shifts[1:]] = by_shift[1:]
        return slope

    def slopes(self, params: Floats, data: Any, component: int, limits: Limits = FREE) -> Slopes | None:
        """Return None: a threshold is a coordinate of several components."""
        return None

    def coupled(self, params: Floats, limits: Limits = FREE) -> NDArray[np.intp]:
        """Return the column of each coordinate."""
        sizes = [stop - start - 1 + self.n_components for start, stop in self._columns()]
        return np.repeat(np.arange(len(sizes)), sizes)

    # ---- for the rest of the library -----------------------------------------------------------------------------

    def pack(self, params: Floats) -> Floats:
        """Return the log odds of the cuts: they are threshold[v] - shift[k], linear in both."""
        parts = [cuts(params[:, start:stop]).ravel() for start, stop in self._columns()]
        return np.clip(np.concatenate(parts or [np.zeros(0)]), -INFINITE, INFINITE)

    def unpack(self, vector: Floats, like: Floats) -> Floats:
        """Invert `pack`; a probability is negative where cuts are out of order."""
        table, at = np.array(like), 0
        for start, stop in self._columns():
            size = self.n_components * (stop - start - 1)
            table[:, start:stop] = _shares_of(vector[at : at + size].reshape(self.n_components, -1))
            at += size
        return frozen(table)

    def jitter(self, params: Floats, amount: float, rng: np.random.Generator) -> Floats:
        """Move thresholds, log gaps and shifts by amount z; a first shift moves all thresholds instead."""
        vector = self.free(params)
        moved = self.freed(vector + amount * rng.standard_normal(vector.shape), params)
        return frozen(moved / self._spread(moved))

    def impute(self, params: Floats, data: Any, resp: Floats, rng: np.random.Generator | None) -> Any:
        """Fill missing codes with the median category of sum_k resp[n, k] params[k, v], or a draw."""
        codes = data.copy()
        for d, (start, stop) in enumerate(zip(self.offsets, self.offsets[1:], strict=False)):
            missing = np.flatnonzero(codes[:, d] < 0)
            if stop > start and len(missing):
                predictive = resp[missing] @ params[:, start:stop]
                codes[missing, d] = median_of(predictive) if rng is None else draw(predictive, rng)
        return codes

    def n_free(self, limits: Limits = FREE) -> int:
        """Return (V - 1) + (K - 1) for each column of two categories or more."""
        _refuse(limits)
        return sum(stop - start - 1 + self.n_components - 1 for start, stop in self._columns())

    def n_tied(self, n_groups: int, limits: Limits = FREE) -> int:
        """Return (V - 1) + (n_groups - 1) for each column of two categories or more."""
        return self.n_free(limits) - (self.n_components - n_groups) * sum(1 for _ in self._columns())

    def draw(self, stats: Stats, about: Floats, rng: np.random.Generator, limits: Limits = FREE) -> Floats:
        """Refuse: the posterior of thresholds and shifts has no closed form."""
        raise _no_posterior(self, "draw")

    def average(self, stats: Stats, about: Floats, limits: Limits = FREE) -> Floats:
        """Refuse, as `draw` does."""
        raise _no_posterior(self, "average")

    def quantile(self, stats: Stats, about: Floats, q: float, limits: Limits = FREE) -> Floats:
        """Refuse, as `draw` does."""
        raise _no_posterior(self, "quantile")


def median_of(shares: NDArray[Any]) -> NDArray[np.intp]:
    """Return the lowest category up to which at least half of the mass lies, for each row of (N, V).

    Examples
    --------
    >>> median_of(np.array([[0.4, 0.2, 0.4], [0.5, 0.0, 0.5]]))
    array([1, 0])
    """
    below = np.cumsum(shares, axis=1)
    found: NDArray[np.intp] = (below >= HALF * below[:, -1:]).argmax(axis=1)
    return found


def departure(shares: Floats) -> float:
    """Return how far a table (K, V) is from proportional odds: the largest difference in log odds.

    Infinite where one of two components that share thresholds has a probability of 0, and the other has none.

    Examples
    --------
    >>> departure(np.array([[0.2, 0.3, 0.5], [0.2, 0.3, 0.5]]))
    0.0
    >>> departure(np.array([[0.2, 0.3, 0.5], [0.0, 0.5, 0.5]]))
    inf
    """
    worst = 0.0
    for problem in problems(shares)[1]:
        if not (problem.counts > 0).all():
            return np.inf
        odds = cuts(problem.counts)
        away = odds - odds[0]
        worst = max(worst, float((away.max(axis=1) - away.min(axis=1)).max()))
    return worst


def _shares_of(odds: Floats) -> Floats:
    """Return the probabilities between cuts of each row, (K, V - 1); negative where cuts are out of order."""
    upper = np.concatenate([odds, np.full((len(odds), 1), np.inf)], axis=1)
    lower = np.concatenate([np.full((len(odds), 1), -np.inf), odds], axis=1)
    with np.errstate(over="ignore"):  # of cuts far out of order
        found: Floats = -np.expm1(lower - upper) * expit(upper) * expit(-lower)
    return np.where(np.isnan(found), -1.0, found) + 0.0  # no -0.0


def _follow(table: Floats, before: Floats, without: NDArray[np.bool_]) -> None:
    """Give components without mass the thresholds of the others; each keeps its log odds at its most certain cut."""
    seen = table[~without] > 0
    whole = seen.sum(axis=1)
    base = table[~without][whole.argmax()]
    levels = np.flatnonzero(base > 0)
    if len(levels) < 2:
        return
    new = cuts(base[None, levels])[0]
    for k in np.flatnonzero(without):
        if (before[k] > 0).sum() < 2:
            continue
        old = cuts(before[k][None])[0][levels[:-1]]
        v = int(np.abs(old).argmin())
        if np.isfinite(old[v]):
            table[k] = 0.0
            table[k, levels] = shares_at(new, np.array([new[v] - old[v]]))[0]


def _refuse(limits: Limits) -> None:
    if limits.fixed is not None or limits.floor:
        what = "single probabilities cannot be fixed" if limits.fixed is not None else "probabilities have no floor"
        raise ParameterError(
            f"ordinal: {what}, because thresholds are shared by all components. Fix the whole column, or use a prior."
        )


def _no_posterior(leaf: Leaf, method: str) -> ParameterError:
    return lacking(leaf, method, "Thresholds and shifts have no posterior in closed form: use the bootstrap.")
