"""Columns of numbers that are normal within a component, but were recorded coarsely: a cell says where the number lies.

Latent is the number itself. Given a cell that is an interval it has a truncated normal distribution, and statistics are
those of `Gaussian`, (4, K, D), with moments in place of powers:

    stats[p, k, d] = sum_n usage[n, k] seen[n, d] E[(x[n, d] - mean[k, d])^p | cell]    for p = 0, 1, 2,

and the pseudo-mass. The M-step, gradients and posterior densities are those of `Gaussian`. A cell scores the logarithm
of the probability of its interval, or of the density where it is a number.

Vocabulary
----------
Coarsening   which interval a cell is
Grid         numbers rounded to multiples of a step
Bands        numbers between cuts
Limits       numbers, of which those beyond limits of detection are only known to be there
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from threading import get_ident
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from halfseen.assign import Assign
from halfseen.leaves.exact import Joined, Moments, Shares, Weights
from halfseen.leaves.gaussian import Gaussian, GaussianParams
from halfseen.leaves.leaf import Floats, Latent, Leaf, Slopes, Stats
from halfseen.leaves.limits import FREE
from halfseen.leaves.limits import Limits as Constraints
from halfseen.leaves.truncated import LOG_ROOT, Truncated, drawn, truncated

LOOKED_UP = 1 << 16  # steps between the lowest and the highest cell up to which they are looked up, not sorted
MOST_DRAWS = 1 << 20  # of one interval in one component and chunk; beyond, each draw counts for more


class Intervals(NamedTuple):
    """The cells of one column: the distinct intervals, and which of them each cell is; V for one that is none."""

    low: Floats  # (V,)
    high: Floats  # (V,)
    place: NDArray[np.intp]  # (N,)


class Read(NamedTuple):
    """One column of a chunk under some parameters: its number, its intervals, their moments in each component."""

    d: int
    known: Intervals
    moments: Truncated  # (V, K) each


class Prepared(NamedTuple):
    """Means and variances, and the chunk that each thread read last: `score` reads it, and `expect` follows."""

    mean: Floats
    var: Floats
    last: dict[int, tuple[Any, Floats | None, list[Read]]]


class Coarsening(ABC):
    """How numbers were recorded."""

    @abstractmethod
    def intervals(self, cells: Floats) -> Intervals:
        """Return the intervals of a column of cells, (N,), NaN where missing."""

    def numbers(self, cells: Floats) -> Floats | None:
        """Return the cells that are numbers, NaN elsewhere, of a block (N, D); None where all are intervals."""
        return None

    @abstractmethod
    def recorded(self, numbers: Floats) -> Floats:
        """Return the cells that stand for numbers."""


@dataclass(frozen=True)
class Grid(Coarsening):
    """Numbers rounded to start + i step: a cell is half a step to both sides."""

    step: float
    start: float = 0.0

    def intervals(self, cells: Floats) -> Intervals:
        """Return a step about each point of the grid."""
        index = np.rint((cells - self.start) / self.step)
        seen = ~np.isnan(index)
        if not seen.any():
            return Intervals(np.zeros(0), np.zeros(0), np.zeros(len(cells), dtype=np.intp))
        known, place = _numbered(index, seen)
        return Intervals(self.start + (known - 0.5) * self.step, self.start + (known + 0.5) * self.step, place)

    def recorded(self, numbers: Floats) -> Floats:
        """Round."""
        return np.asarray(self.start + np.rint((numbers - self.start) / self.step) * self.step)


def _numbered(index: Floats, seen: NDArray[np.bool_]) -> tuple[Floats, NDArray[np.intp]]:
    """Return distinct whole numbers, ascending, and the place of each among them; as many as they are where unseen."""
    low, high = np.nanmin(index), np.nanmax(index)
    if high - low >= LOOKED_UP:
        known, found = np.unique(index[seen], return_inverse=True)
        place = np.full(len(index), len(known), dtype=np.intp)
        place[seen] = found
        return known, place
    steps = int(high - low) + 1
    away = np.where(seen, index - low, steps).astype(np.intp)
    held = np.zeros(steps + 1, dtype=bool)
    held[away] = True
    held[steps] = False
    order = np.cumsum(held) - 1
    order[steps] = order[-1] + 1
    return np.flatnonzero(held) + low, order[away]


@dataclass(frozen=True)
class Bands(Coarsening):
    """Numbers between cuts: below the first, from one to below the next, from the last on."""

    cuts: tuple[float, ...]

    def intervals(self, cells: Floats) -> Intervals:
        """Return all bands; a cell is any number in its band."""
        cuts = np.array(self.cuts)
        place = np.searchsorted(cuts, cells, side="right")
        place[np.isnan(cells)] = len(cuts) + 1
        return Intervals(np.append(-np.inf, cuts), np.append(cuts, np.inf), place)

    @property
    def middles(self) -> Floats:
        """The middles of the bands; those at the ends are taken as wide as their neighbours."""
        cuts = np.array(self.cuts)
        ends = [2 * cuts[0] - cuts[1], *cuts, 2 * cuts[-1] - cuts[-2]]
        return np.asarray((np.array(ends[1:]) + np.array(ends[:-1])) / 2)

    def recorded(self, numbers: Floats) -> Floats:
        """Return the middle of the band."""
        return np.asarray(self.middles[np.searchsorted(np.array(self.cuts), numbers, side="right")])


@dataclass(frozen=True)
class Limits(Coarsening):
    """Numbers between limits of detection; at a limit or beyond, a cell says no more than that."""

    low: float = -np.inf
    high: float = np.inf

    def intervals(self, cells: Floats) -> Intervals:
        """Return what is below the lower limit, and what is above the upper one."""
        inside = 2 - (cells >= self.high)  # NaN is in no interval
        place = np.where(cells <= self.low, 0, inside)
        return Intervals(np.array([-np.inf, self.high]), np.array([self.low, np.inf]), place)

    def numbers(self, cells: Floats) -> Floats | None:
        """Return the cells between the limits."""
        return np.where((cells > self.low) & (cells < self.high), cells, np.nan)

    def recorded(self, numbers: Floats) -> Floats:
        """Move numbers beyond the limits to them."""
        return np.clip(numbers, self.low, self.high)


@dataclass(frozen=True, eq=False)
class Coarse(Gaussian):
    """A block of D columns, normal within a component and recorded coarsely, all in one way.

    Parameters
    ----------
    n_components, centre, scale, pseudo, least
        As in `Gaussian`.
    coarsening : Coarsening

    Examples
    --------
    >>> import numpy as np
    >>> leaf = Coarse(1, np.zeros(1), np.ones(1), coarsening=Bands((0.0, 1.0)))
    >>> leaf.score(leaf.blank(), np.array([[-5.0], [0.5], [np.nan]]), None).round(4)
    array([[-0.6931],
           [-1.0749],
           [ 0.    ]])
    """

    has_latent = True  # the numbers behind the cells

    coarsening: Coarsening = Grid(1.0)

    # ---- the E-step ----------------------------------------------------------------------------------------------

    def prepare(self, params: GaussianParams) -> Prepared:
        """Return the parameters, with a place for what is read under them."""
        return Prepared(params.mean, params.var, {})

    def score(self, prepared: Any, data: Any, assign: Assign | None) -> Floats:
        """scores[n, k] = sum over observed d of log P(cell[n, d]; mean[k, d], var[k, d])."""
        numbers, read = self._read(prepared, data)
        scores = (
            np.zeros((len(data), self.n_components)) if numbers is None else super().score(prepared, numbers, assign)
        )
        for _, known, moments in read:
            logs = np.zeros((len(known.low) + 1, self.n_components))
            logs[:-1] = moments.log
            scores += np.take(logs, known.place, axis=0)
        return scores

    def expect(self, usage: Floats, prepared: Any, data: Any, assign: Assign | None, out: Stats) -> int:
        """Add mass and expected moments about the current mean; numbers are drawn if `assign` says so."""
        numbers, read = self._read(prepared, data)
        if numbers is not None:
            super().expect(usage, prepared, numbers, assign, out)
        columns = np.ascontiguousarray(usage.T)
        for d, known, (_, first, second) in read:
            used = _used(columns, known)
            out[0, :, d] += used.sum(axis=0)
            if assign is not None and assign.latent:
                assert assign.rng is not None
                out[1:3, :, d] += _drawn_sums(prepared, d, known, used, assign.rng)
                continue
            for p, moment in ((1, first), (2, second)):
                out[p, :, d] += np.where(used > 0, used * moment, 0.0).sum(axis=0)
        return 0

    def count(self, component: NDArray[np.int64], weight: Floats, prepared: Any, data: Any, out: Stats) -> None:
        """Add the expected moments of rows of a known component."""
        Leaf.count(self, component, weight, prepared, data, out)

    def tally(
        self, component: NDArray[np.int64], weight: Floats, cut: Weights, prepared: Any, data: Any
    ) -> Joined | None:
        """Return the expected moments without rounding; all components of `prepared` are alike."""
        away = np.asarray(data, dtype=np.float64) - prepared.mean[0]
        first, second = away.copy(), away**2
        for d, known in self._intervals(data):
            one = GaussianParams(prepared.mean[:1], prepared.var[:1])
            _, *moments = _moments(one, d, known)
            held = known.place < len(known.low)
            for values, moment in zip((first, second), moments, strict=True):
                values[held, d] = moment[known.place[held], 0]
        zero, n_components = np.zeros(len(self.scale)), self.n_components
        once = Moments.of(first, zero, component, weight, n_components, 1)
        squares = Moments.of(second, zero, component, weight, n_components, 1)
        none = Shares(np.zeros((1, 1, n_components, len(self.scale))))
        return Joined([once, Moments(squares.tops[1:], squares.folds[1:]), none])

    def settled(self, data: Any) -> NDArray[np.bool_] | None:
        """Rows all of whose cells are numbers."""
        settled = np.ones(len(data), dtype=bool)
        for _, known in self._intervals(data):
            settled &= known.place == len(known.low)
        return None if settled.all() else settled

    def latent(self, about: Any, params: Any, data: Any, usage: Floats) -> Latent:
        """Return entropy and divergence of the numbers behind intervals.

        entropy = log P + log(sd sqrt(2 pi)) + E[(x - mean)^2] / (2 var)
        kl = -entropy - E[log p(x | interval; params)]
        """
        found = Latent()
        for d, known in self._intervals(data):
            used, here, there = _used(usage.T, known), _moments(about, d, known), _moments(params, d, known)
            var, others = about.var[:, d], params.var[:, d]
            entropy = here.log + 0.5 * np.log(var) + LOG_ROOT + here.second / (2 * var)
            shift = about.mean[:, d] - params.mean[:, d]
            squares = here.second + shift * (2 * here.first + shift)
            cross = there.log + 0.5 * np.log(others) + LOG_ROOT + squares / (2 * others)
            entropy, kl = (float(np.where(used > 0, used * part, 0.0).sum()) for part in (entropy, cross - entropy))
            found = found.plus(Latent(entropy, kl))
        return found

    def slopes(self, params: GaussianParams, data: Any, component: int, limits: Constraints = FREE) -> Slopes | None:
        """Return None: numbers are latent given the component too."""
        return None

    # ---- for the rest of the library -----------------------------------------------------------------------------

    def sample(self, params: GaussianParams, components: NDArray[np.int64], rng: np.random.Generator) -> Any:
        """Draw numbers, and record them."""
        return self.coarsening.recorded(super().sample(params, components, rng))

    def impute(self, params: GaussianParams, data: Any, resp: Floats, rng: np.random.Generator | None) -> Any:
        """Fill NaN with sum_k resp[n, k] mean[k, d], or a draw as it would be recorded."""
        filled = super().impute(params, data, resp, rng)
        return filled if rng is None else np.where(np.isnan(data), self.coarsening.recorded(filled), data)

    def _read(self, prepared: Any, data: Any) -> tuple[Floats | None, list[Read]]:
        """Return cells that are numbers, and columns of intervals with moments; what this thread read last is kept."""
        last = prepared.last if isinstance(prepared, Prepared) else {}
        own, numbers, found = last.get(get_ident(), (None, None, []))
        if own is not data:
            numbers = self.coarsening.numbers(np.asarray(data, dtype=np.float64))
            found = [Read(d, known, _moments(prepared, d, known)) for d, known in self._intervals(data)]
            last[get_ident()] = data, numbers, found
        return numbers, found

    def _intervals(self, data: Any) -> Iterator[tuple[int, Intervals]]:
        """Yield each column that has intervals, and these."""
        for d, cells in enumerate(np.asarray(data, dtype=np.float64).T):
            known = self.coarsening.intervals(cells)
            if (known.place < len(known.low)).any():
                yield d, known


def _moments(params: Any, d: int, known: Intervals) -> Truncated:
    """Return log-probability and moments of the intervals of column d in each component, (V, K) each."""
    return truncated(known.low[:, None], known.high[:, None], params.mean[:, d], np.sqrt(params.var[:, d]))


def _used(usage: Floats, known: Intervals) -> Floats:
    """Return the usage of each interval, (V, K), of usage (K, N)."""
    n_intervals, out = len(known.low), np.empty((len(known.low), len(usage)))
    for k, used in enumerate(usage):
        out[:, k] = np.bincount(known.place, used, n_intervals + 1)[:n_intervals]
    return out


def _drawn_sums(params: GaussianParams, d: int, known: Intervals, used: Floats, rng: np.random.Generator) -> Floats:
    """Draw the number behind every use of an interval; return sums and squares about the mean, (2, K).

    A fractional use is one more draw, which counts for the fraction.
    """
    out = np.zeros((2, used.shape[1]))
    for v, k in np.argwhere(used > 0):
        whole = np.floor(used[v, k])
        times = int(min(whole, MOST_DRAWS))
        share = np.full(times, whole / max(times, 1))
        if used[v, k] > whole:
            share = np.append(share, used[v, k] - whole)
        mean = params.mean[k, d]
        away = drawn(known.low[v], known.high[v], mean, np.sqrt(params.var[k, d]), rng.random(len(share))) - mean
        out[:, k] += share @ away, share @ away**2
    return out
