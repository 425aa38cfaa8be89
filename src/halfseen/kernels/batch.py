"""Many fits of one small table in one call: EM of mixtures of categories, normal and Poisson columns.

The runs are those of `engine.loop.run.EMRun` with `engine.loop.squarem.Squarem` and the stopping rule `gain`, each from
its own start and with its own weighting of the rows.

Parameters are one vector, components last: mix (K,), table (S, K) of all categories of all columns, mean (G, K),
var (G, K), rate (P, K).

    score     s[n, k] = log mix[k] + sum over observed cells of log p(cell | k)
    infer     usage[n, k] = weight[n] exp(s[n, k]) / sum_k exp(s[n, k])
    expect    sums of usage by category; of usage (1, x - mean, (x - mean)^2); of usage (1, x)
    maximise  shares; mean, variance of at least `lowest`; rate
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

__all__ = ["batch_em"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

NO_MASS = 1e-100  # as in leaves/leaf.py
QUICKEST, SLOWEST = 0.75, 1 - 1e-6  # as in engine/loop/em_pair.py
NOISE = 4 * np.finfo(np.float64).eps  # as in engine/loop/stopping.py
FALL = 1e-9  # share of log-likelihood and mass that rounding may take: more is left to the engine
BURN_IN, SLOW, GROWTH, SHRINKS = 5, 0.5, 4.0, 6  # as in engine/loop/squarem.py
MEMORY = 10  # as in engine/loop/run.py
CONVERGED, CAPPED, NOT_FINITE, FELL = range(4)


def batch_em(
    codes: NDArray[np.int32],  # (N, D)    in, -1 = missing
    starts: Ints,  # (D + 1,)              in, first cell of each column; the last is the number of cells
    values: Floats,  # (N, G)              in, NaN = missing
    counts: Floats,  # (N, P)              in, NaN = missing
    constants: Floats,  # (N,)             in, what counts add to the log-likelihood whatever the rates
    weights: Floats,  # (W, N)             in
    which: Ints,  # (B,)                   in, the weighting of each run
    units: Floats,  # (V,)                 in, the unit of each parameter, in which steps are measured
    lowest: Floats,  # (G,)                in, smallest variances
    tol: float,  #                         in, estimated remaining gain at which a run stops
    max_iter: int,  #                      in
    params: Floats,  # (B, V)              in: starts, out: where runs ended
    found: Floats,  # (B, 3)               out: log-likelihood, number of passes, how it ended
) -> None:
    """Run EM from every start until it has converged."""
    each = 1 + int(starts[-1]) + 2 * values.shape[1] + counts.shape[1]
    rows = _Rows(codes, starts, values, counts, constants, lowest, params.shape[1] // each)
    for b, number in enumerate(which.tolist()):
        run = _Run(rows, weights[number], units, params[b].copy())
        ended = run.climb(tol, max_iter)
        params[b] = run.best
        found[b] = run.objective, run.passes, ended


class _Parts(NamedTuple):
    """Views of a vector of parameters or statistics."""

    mix: Floats
    table: Floats
    mean: Floats
    var: Floats
    rate: Floats


class _Rows:
    """A table, with E-step and M-step."""

    def __init__(
        self, codes: NDArray[np.int32], starts: Ints, values: Floats, counts: Floats, constants: Floats, lowest: Floats,
        size: int,
    ) -> None:  # fmt: skip
        self.size, self.starts, self.lowest, self.constants = size, starts, lowest, constants
        self.holds = np.zeros((len(codes), int(starts[-1])))  # 1 where row n holds cell s
        for d, first in enumerate(starts[:-1].tolist()):
            seen = np.flatnonzero(codes[:, d] >= 0)
            self.holds[seen, first + codes[seen, d]] = 1.0
        self.owner = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        self.known, self.counted = ~np.isnan(values), ~np.isnan(counts)
        self.values, self.counts = np.where(self.known, values, 0.0), np.where(self.counted, counts, 0.0)

    def parts(self, vector: Floats) -> _Parts:
        """Return views of a vector."""
        k, g, p = self.size, self.known.shape[1], self.counted.shape[1]
        stops = np.cumsum([k, self.holds.shape[1] * k, g * k, g * k, p * k])[:-1]
        mix, *others = np.split(vector, stops)
        return _Parts(mix, *(part.reshape(-1, k) for part in others))

    def expect(self, vector: Floats, weight: Floats) -> tuple[float, Floats, Floats, Floats]:
        """Return log-likelihood, statistics, and the masses of numbers (G, K) and counts (P, K)."""
        params = self.parts(vector)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            logs = np.where(params.table > 0, np.log(params.table), 0.0)
            scores = np.log(params.mix) + self.holds @ logs
            scores[(self.holds @ (params.table <= 0)) > 0] = -np.inf
            far = self.values[:, :, None] - params.mean
            spread = 0.5 * (np.log(2 * np.pi * params.var) + far**2 / params.var)
            scores -= np.where(self.known[:, :, None], spread, 0.0).sum(axis=1)
            some = self.counts[:, :, None]
            events = np.where(some > 0, some * np.log(params.rate), 0.0) - params.rate
            scores += np.where(self.counted[:, :, None], events, 0.0).sum(axis=1)
            log_evidence = logsumexp(scores, axis=1) if len(scores) else np.zeros(0)
            usage = np.where(np.isfinite(log_evidence), weight, 0.0)[:, None] * np.exp(scores - log_evidence[:, None])
        usage = np.where(np.isnan(usage), 0.0, usage)
        used = weight > 0
        loglik = float(weight[used] @ (log_evidence + self.constants)[used])
        by_number = [np.einsum("nk,ng,ngk->gk", usage, self.known, far**power) for power in (0, 1, 2)]
        by_count = [usage.T @ part for part in (self.counted, self.counts)]
        sums = [usage.sum(axis=0), self.holds.T @ usage, by_number[1], by_number[2], by_count[1].T]
        return loglik, np.concatenate([np.ravel(part) for part in sums]), by_number[0], by_count[0].T

    def maximise(self, vector: Floats, sums: Floats, by_number: Floats, by_count: Floats) -> Floats:
        """Return the parameters that maximise statistics; what has no mass keeps its value."""
        old, stats = self.parts(vector), self.parts(sums)
        table = _ratio(stats.table, self.totals(stats.table), old.table)
        mean = old.mean + _ratio(stats.mean, by_number, np.zeros_like(old.mean))
        shift = mean - old.mean
        squares = stats.var - 2 * shift * stats.mean + shift**2 * by_number
        var = np.maximum(_ratio(squares, by_number, old.var), self.lowest[:, None])
        mix = _ratio(stats.mix, np.full(self.size, stats.mix.sum()), old.mix)
        new = [mix, table, mean, var, _ratio(stats.rate, by_count, old.rate)]
        return np.concatenate([np.ravel(part) for part in new])

    def totals(self, table: Floats) -> Floats:
        """Return, for every cell (S, K), the sum over its column."""
        sums = np.zeros((len(self.starts) - 1, self.size))
        np.add.at(sums, self.owner, table)
        return sums[self.owner]

    def feasible(self, vector: Floats) -> bool:
        """Whether probabilities and rates are at least 0, and variances above it and not below the smallest."""
        mix, table, _, var, rate = self.parts(vector)
        above = [mix, table, rate, var - self.lowest[:, None]]
        return all(bool((part >= 0).all()) for part in above) and bool((var > 0).all())

    def normalised(self, vector: Floats) -> Floats:
        """Return the parameters with rows of probabilities that sum to one."""
        mix, table, *rest = self.parts(vector)
        new = [mix / mix.sum(), table / self.totals(table), *rest]
        return np.concatenate([np.ravel(part) for part in new])


def _ratio(part: Floats, whole: Floats, otherwise: Floats) -> Floats:
    return np.divide(part, whole, out=np.array(otherwise), where=whole > NO_MASS)


class _Run:
    """One run; `best` are its best parameters and `objective` their log-likelihood."""

    def __init__(self, rows: _Rows, weight: Floats, units: Floats, start: Floats) -> None:
        self.rows, self.weight, self.units, self.params = rows, weight, units, start
        self.best, self.objective, self.passes = start, -np.inf, 0
        self.longest = self.length = 1.0
        self.rates: list[float] = []

    def climb(self, tol: float, max_iter: int) -> int:
        """Iterate until the estimated remaining gain is below `tol`; return how it ended."""
        last, last_objective, following = self.best, -np.inf, self.best
        proposed: Floats | None = None
        first, extrapolated = True, False
        while True:
            tried = self.params if proposed is None else proposed
            found, *stats = self.rows.expect(tried, self.weight)
            self.passes += 1
            if proposed is not None:
                kept = found >= self.objective
                self._learn(kept)
                if kept:
                    self.best, self.objective = tried, found
                    last, last_objective, extrapolated = tried, found, True
                    following = self.rows.maximise(tried, *stats)
                self.params, proposed = following, None
            else:
                if not np.isfinite(found):
                    return NOT_FINITE
                if not first and last_objective - found > FALL * (self.weight.sum() + abs(found)):
                    return FELL
                before, gain, last, last_objective = last, found - last_objective, tried, found
                if found >= self.objective:
                    self.best, self.objective = tried, found
                following = self.rows.maximise(tried, *stats)
                if np.array_equal(following, tried):
                    return CONVERGED
                if not (first or extrapolated):
                    rate = self._rate(before, last, following)
                    left = self._left(gain, rate)
                    if left < tol or (np.isfinite(left) and gain <= NOISE * abs(found)):
                        return CONVERGED
                    proposed = self._propose(before, last, following, rate)
                first = extrapolated = False
                self.params = following
            if self.passes >= max_iter:
                return CAPPED

    def _rate(self, v0: Floats, v1: Floats, v2: Floats) -> float:
        r, s = (v1 - v0) / self.units, (v2 - v1) / self.units
        squared = float(r @ r)
        rate = float(s @ r) / squared if squared > 0 else 0.0
        self.rates = [*self.rates[1 - MEMORY :], rate]
        return rate

    def _left(self, gain: float, rate: float) -> float:
        if rate >= 1:
            return np.inf
        squared = min(max(QUICKEST, *self.rates) ** 2, SLOWEST)
        return max(gain, 0.0) * squared / (1 - squared)

    def _propose(self, v0: Floats, v1: Floats, v2: Floats, rate: float) -> Floats | None:
        r = v1 - v0
        d = (v2 - v1) - r
        if self.passes <= BURN_IN or not rate > SLOW or not np.any(d):
            return None
        sizes = [float(np.linalg.norm(step / self.units)) for step in (r, d)]
        self.length = float(np.clip(sizes[0] / sizes[1], 1.0, self.longest))
        if self.length == 1.0:
            self.longest = max(self.longest, GROWTH)
            return None
        length = self.length
        for _ in range(SHRINKS):
            proposed = v0 + 2 * length * r + length**2 * d
            if self.rows.feasible(proposed):
                return self.rows.normalised(proposed)
            length = (length + 1) / 2
        self._learn(False)
        return None

    def _learn(self, kept: bool) -> None:
        if self.length == self.longest:
            self.longest = self.longest * GROWTH if kept else max(1.0, self.longest / GROWTH)
