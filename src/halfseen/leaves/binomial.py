"""Columns of successes among a number of trials, binomial within a component.

    P(x | k) = C(trials, x) p[k]^x (1 - p[k])^(trials - x)

The log-likelihood includes the binomial coefficient, as that of Poisson columns includes log x!. So a column of one
trial has the log-likelihood of a column of two categories.

Statistics, (4, K, D): mass, successes, failures, and log-densities at the rate of the column,

    stats[:, k, d] = sum_n usage[n, k] seen[n, d] (1, x[n, d], trials - x[n, d], log Binomial(x[n, d]; rate[d])).

Successes and failures are both counted, although they add up to trials mass, because of digits: three failures in 1e15
trials are not to be found in mass and successes. Log-densities are taken from the rate of the column as in
`leaves.poisson`: log C(trials, x), x log p and (trials - x) log(1 - p) are all large, and their sum is not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, betaincinv, expit, logit, ndtr, ndtri

from halfseen.assign import Assign
from halfseen.errors import FitError
from halfseen.leaves.distinct import added, distinct
from halfseen.leaves.exact import Joined, Moments, Weights
from halfseen.leaves.leaf import AT_FLOOR, NO_MASS, ROUNDING, Floats, Leaf, Slopes, Stats, frozen
from halfseen.leaves.limits import FREE, Limits
from halfseen.leaves.negbin import stirling_error
from halfseen.leaves.poisson import excess_at

MOST_TRIALS = 10**15  # whole numbers up to there, and sums of many, are exact in floats
LEAST, MOST = float(np.finfo(np.float64).tiny), 1 - 2.0**-53  # probabilities next to 0 and 1
LOST = 1e-6  # log-likelihood that the rounding of a probability next to 1 may cost
NORMAL = 1e10  # successes and failures from which a posterior is as good as normal, and its quantiles need it
SPLIT = 2.0**27 + 1  # of a float into halves whose products are exact


@dataclass(frozen=True, eq=False)
class Binomial(Leaf):
    """A block of D columns of successes among so many trials; params is the (K, D) array of probabilities.

    Parameters
    ----------
    n_components : int
    trials : float
        Of each cell: a whole number up to `MOST_TRIALS`.
    rate : (D,) array
        Share of successes in each column over all rows, between 0 and 1: log-densities are measured from there.
    pseudo : (K,) array, optional
        Prior: this many pseudo-rows per component, each with successes at the column's rate.

    A floor f keeps probabilities above f rate, and below 1 - f (1 - rate).

    Examples
    --------
    >>> import numpy as np
    >>> leaf = Binomial(1, 10, np.array([0.5]))
    >>> stats = np.zeros(leaf.stats_shape)
    >>> _ = leaf.expect(np.ones((3, 1)), leaf.blank(), np.array([[7.0], [8.0], [np.nan]]), None, stats)
    >>> leaf.maximise(stats, leaf.blank())
    array([[0.75]])
    """

    n_components: int
    trials: float
    rate: Floats
    pseudo: Floats | None = None
    stats_axis = 1

    @property
    def stats_shape(self) -> tuple[int, ...]:
        """Mass, successes, failures, log-densities at the rate of the column: (4, K, D)."""
        return (4, self.n_components, len(self.rate))

    def blank(self) -> Floats:
        """Return the rate of the columns, alike in all components."""
        return frozen(np.broadcast_to(self.rate, (self.n_components, len(self.rate))).copy())

    # ---- the E-step ----------------------------------------------------------------------------------------------

    def score(self, prepared: Floats, data: Any, assign: Assign | None) -> Floats:
        """scores[n, k] = sum over observed d of log Binomial(x[n, d]; trials, p[k, d])."""
        scores = np.zeros((len(data), self.n_components))
        for d, counts, place, seen in distinct(data):
            scores[seen] += log_density(counts[:, None], self.trials, prepared[:, d])[place]
        return scores

    def expect(self, usage: Floats, prepared: Floats, data: Any, assign: Assign | None, out: Stats) -> int:
        """Add mass, successes, failures and log-densities at the rate of the column."""
        for d, counts, place, seen in distinct(data):
            used = added(usage[seen], place, len(counts))
            out[0, :, d] += used.sum(axis=0)
            out[1, :, d] += counts @ used
            out[2, :, d] += (self.trials - counts) @ used
            out[3, :, d] += log_density(counts, self.trials, self.rate[d]) @ used
        return 0

    def tally(
        self, component: NDArray[np.int64], weight: Floats, cut: Weights, prepared: Floats, data: Any
    ) -> Joined | None:
        """Return the statistics of rows of a known component without rounding."""
        counts, zero = np.asarray(data, dtype=np.float64), np.zeros(len(self.rate))
        constants = np.zeros(counts.shape)
        for d, some, place, seen in distinct(counts):
            constants[seen, d] = log_density(some, self.trials, self.rate[d])[place]
        successes = Moments.of(counts, zero, component, weight, self.n_components, 1)
        others = (
            Moments.of(values, zero, component, weight, self.n_components, 1)
            for values in (self.trials - counts, constants)
        )
        return Joined([successes, *(Moments(sums.tops[1:], sums.folds[1:]) for sums in others)])

    # ---- the M-step ----------------------------------------------------------------------------------------------

    def maximise(self, stats: Stats, params: Floats, limits: Limits = FREE) -> Floats:
        """p = successes / (successes + failures), within the limits; no mass keeps the old probability."""
        mass, successes, failures, _ = stats
        known = mass > NO_MASS
        trials = np.where(known, successes + failures, 1.0)
        p = np.where(known, successes, 0.5) / trials
        p = np.clip(p, np.where(successes > 0, LEAST, 0.0), np.where(failures > 0, MOST, 1.0))
        p = np.clip(p, *self._range(limits))
        keep = ~known if limits.fixed is None else ~known | limits.fixed
        lost = np.where(keep, 0.0, _lost(stats, p))
        if (lost > LOST).any():
            k, d = np.argwhere(lost > LOST)[0]
            raise FitError(
                f"binomial: {failures[k, d]:.4g} of {trials[k, d]:.4g} trials fail in component {k}, column {d} of its "
                "block: a probability so close to 1 has no digits left. Count failures instead of successes."
            )
        return frozen(np.where(keep, params, p))

    def complete(self, stats: Stats, about: Floats, params: Floats) -> float:
        """Return sum of (constant + more (log(p / rate) - log((1 - p) / (1 - rate))) - trials KL(rate || p)).

        more = successes - trials rate,  KL(rate || p) = rate e(p / rate - 1) + (1 - rate) e((1 - p) / (1 - rate) - 1),
        e(d) = d - log(1 + d). A probability of 0 gives constant - failures log(1 - rate), and -inf if there are
        successes; likewise one of 1.
        """
        _, successes, failures, constant = stats
        rate, left = self.rate, 1 - self.rate
        inside = (params > 0) & (params < 1)
        p = np.where(inside, params, rate)
        up, down = (p - rate) / rate, (rate - p) / left
        odds = _log_at(up, p / rate) - _log_at(down, (1 - p) / left)
        divergence = rate * excess_at(up, p / rate) + left * excess_at(down, (1 - p) / left)
        found = (successes * left - failures * rate) * odds - (successes + failures) * divergence
        none = np.where(successes > 0, -np.inf, -failures * np.log1p(-rate))
        every = np.where(failures > 0, -np.inf, -successes * np.log(rate))
        return float(np.sum(constant + np.where(inside, found, np.where(params > 0, every, none))))

    def rounding(self, stats: Stats, params: Floats) -> float:
        """As the mass, as log-densities have their digits; and what the rounding of probabilities may cost."""
        return ROUNDING * float(stats[0].sum()) + float(_lost(stats, params).sum())

    def prior(self, params: Floats) -> Stats | None:
        """Return mass, successes and failures of the pseudo-rows."""
        if self.pseudo is None:
            return None
        mass = np.repeat(self.pseudo[:, None], len(self.rate), axis=1)
        trials = mass * self.trials
        return np.stack([mass, trials * self.rate, trials * (1 - self.rate), np.zeros_like(mass)])

    # ---- gradient methods ----------------------------------------------------------------------------------------

    def free(self, params: Floats, limits: Limits = FREE) -> Floats:
        """Return the logits; probabilities of 0 and 1, which will not move, get the coordinate 0."""
        return logit(np.where(_moves(params), params, 0.5)).ravel()

    def freed(self, vector: Floats, like: Floats, limits: Limits = FREE) -> Floats:
        """Return 1 / (1 + exp(-vector)), within the limits; 0 and 1 stay what they are."""
        p = np.clip(expit(vector.reshape(like.shape)), LEAST, MOST)
        return self.conform(np.where(_moves(like), p, like), like, limits)

    def slope(self, stats: Stats, params: Floats, limits: Limits = FREE) -> Floats:
        """slope = successes (1 - p) - failures p."""
        slope = stats[1] * (1 - params) - stats[2] * params
        low, high = self._range(limits)
        at_low = params <= low * (1 + AT_FLOOR)
        at_high = 1 - params <= (1 - high) * (1 + AT_FLOOR)
        moves = _moves(params) & ~(at_low & (slope < 0)) & ~(at_high & (slope > 0))
        if limits.fixed is not None:
            moves &= ~np.asarray(limits.fixed)
        return np.where(moves, slope, 0.0).ravel()

    def slopes(self, params: Floats, data: Any, component: int, limits: Limits = FREE) -> Slopes | None:
        """Return x - trials p of the cells that are observed; zero for probabilities of exactly 0 and 1."""
        if limits.fixed is not None:
            return None
        p = params[component]
        cells = np.asarray(data, dtype=np.float64)
        values = np.where(_moves(p), np.nan_to_num(-_short(cells, self.trials, p)), 0.0)
        return Slopes(component * len(p) + np.arange(len(p)), values)

    def coupled(self, params: Floats, limits: Limits = FREE) -> NDArray[np.intp]:
        """Return a number for each probability."""
        return np.arange(params.size)

    # ---- draws ---------------------------------------------------------------------------------------------------

    def draw(self, stats: Stats, about: Floats, rng: np.random.Generator, limits: Limits = FREE) -> Floats:
        """Draw probabilities from Beta(successes + 1, failures + 1), cut off at the limits."""
        return self.quantile(stats, about, rng.random(about.shape), limits)

    def average(self, stats: Stats, about: Floats, limits: Limits = FREE) -> Floats:
        """mean = (successes + 1) / (successes + failures + 2), times a ratio of what is within the limits."""
        a, b = self._posterior(stats, limits)
        low, high = self._range(limits)
        inside = _below(high, a, b) - _below(low, a, b)
        mean = a / (a + b) * ((_below(high, a + 1, b) - _below(low, a + 1, b)) / inside)
        return frozen(mean if limits.fixed is None else np.where(limits.fixed, about, mean))

    def quantile(self, stats: Stats, about: Floats, q: Any, limits: Limits = FREE) -> Floats:
        """Return quantiles of Beta(successes + 1, failures + 1), given that it is within the limits."""
        a, b = self._posterior(stats, limits)
        low, high = self._range(limits)
        first, last = _below(low, a, b), _below(high, a, b)
        p = np.clip(_quantile(first + q * (last - first), a, b), low, high)
        return frozen(p if limits.fixed is None else np.where(limits.fixed, about, p))

    def _posterior(self, stats: Stats, limits: Limits) -> tuple[Floats, Floats]:
        """Return the two shapes of every probability's beta density."""
        fixed = np.zeros(stats[0].shape, dtype=bool) if limits.fixed is None else np.asarray(limits.fixed)
        a, b = (np.where(fixed, 1.0, sums + 1) for sums in stats[1:3])
        return a, b

    def _range(self, limits: Limits) -> tuple[Floats, Floats]:
        """Return the lowest and the highest probability of each column, (D,)."""
        floor = limits.floor or 0.0
        return floor * self.rate, 1 - floor * (1 - self.rate)

    # ---- for the rest of the library -----------------------------------------------------------------------------

    def jitter(self, params: Floats, amount: float, rng: np.random.Generator) -> Floats:
        """Move each logit by amount z."""
        moved = logit(np.where(_moves(params), params, 0.5)) + amount * rng.standard_normal(params.shape)
        return frozen(np.where(_moves(params), np.clip(expit(moved), LEAST, MOST), params))

    def conform(self, params: Floats, like: Floats, limits: Limits = FREE) -> Floats:
        """Bring probabilities within the limits and take fixed entries from `like`."""
        p = np.clip(params, *self._range(limits))
        return frozen(p if limits.fixed is None else np.where(limits.fixed, like, p))

    def sample(self, params: Floats, components: NDArray[np.int64], rng: np.random.Generator) -> Any:
        """Draw successes, (N, D)."""
        return rng.binomial(int(self.trials), params[components]).astype(np.float64)

    def impute(self, params: Floats, data: Any, resp: Floats, rng: np.random.Generator | None) -> Any:
        """Fill NaN with the expected successes trials sum_k resp[n, k] p[k, d], or a draw."""
        p = np.clip(resp @ params, 0.0, 1.0)  # responsibilities add up to 1 but for rounding
        filling = self.trials * p if rng is None else rng.binomial(int(self.trials), p).astype(np.float64)
        return np.where(np.isnan(data), filling, data)

    def n_free(self, limits: Limits = FREE) -> int:
        """Return K D, less what is fixed."""
        fixed = 0 if limits.fixed is None else int(np.sum(limits.fixed))
        return self.n_components * len(self.rate) - fixed

    def affinity(self, params: Floats, other: Floats) -> Floats:
        """Return trials sum_d log(sqrt(p p') + sqrt((1 - p) (1 - p'))), from the squares of differences of roots."""
        apart = sum(
            (np.sqrt(one)[:, None] - np.sqrt(two)) ** 2 for one, two in ((params, other), (1 - params, 1 - other))
        )
        with np.errstate(divide="ignore"):  # 0 and 1 have nothing in common
            return self.trials * np.log1p(-0.5 * apart).sum(axis=-1)

    def flaw(self, params: Floats) -> str | None:
        """Probabilities must be between 0 and 1."""
        legal = np.all((params >= 0) & (params <= 1))
        return super().flaw(params) or (None if legal else "a probability is below 0 or above 1.")

    def feasible(self, params: Floats, limits: Limits = FREE) -> bool:
        """Whether all probabilities are within the limits."""
        low, high = self._range(limits)
        return bool(np.all((params >= low) & (params <= high)))


# ---- the distribution -----------------------------------------------------------------------------------------------


def log_density(x: Any, trials: float, p: Any) -> Floats:
    """Return log Binomial(x; trials, p), as its peak at p = x / trials less the deviance: both keep their digits.

    log P = peak(x) - x e(trials p / x - 1) - y e(trials (1 - p) / y - 1),   y = trials - x,  e(d) = d - log(1 + d),
    peak(x) = errors of Stirling's formula - log(2 pi x y / trials) / 2;  log P(0) = trials log(1 - p),
    log P(trials) = trials log p

    Examples
    --------
    >>> np.exp(log_density(np.array([0.0, 1.0, 2.0]), 2, 0.25)).round(4)
    array([0.5625, 0.375 , 0.0625])
    """
    x, p = np.asarray(x, dtype=np.float64), np.asarray(p, dtype=np.float64)
    none, every = x == 0, x == trials
    some = np.where(none | every, 0.5 * trials, x)
    others = trials - some
    errors = stirling_error(np.float64(trials)) - stirling_error(some) - stirling_error(others)
    peak = errors - 0.5 * np.log(2 * np.pi * (some / trials) * others)
    short = _short(some, trials, p)
    with np.errstate(divide="ignore", invalid="ignore"):  # of p = 0 and 1, where what was seen is impossible
        deviance = some * excess_at(short / some, trials * p / some)
        deviance += others * excess_at(-short / others, trials * (1 - p) / others)
        ends = np.where(none, trials * np.log1p(-p), trials * np.log(p))
    return np.where(none | every, ends, peak - deviance)


def _short(x: Floats, trials: float, p: Floats) -> Floats:
    """Return trials p - x with the digits that the product alone would lose, by Dekker's method."""
    product = trials * p
    (high, low), (upper, lower) = _halves(np.asarray(p)), _halves(np.float64(trials))
    error = ((high * upper - product) + high * lower + low * upper) + low * lower
    short: Floats = (product - x) + error
    return short


def _halves(number: Any) -> tuple[Any, Any]:
    """Return two floats of half the digits that add up to a number."""
    spread = SPLIT * number
    high = spread - (spread - number)
    return high, number - high


def _log_at(d: Floats, ratio: Floats) -> Floats:
    """Return log(1 + d), given 1 + d as well: close to 0 it has no digits in d."""
    return np.where(d < -0.5, np.log(ratio), np.log1p(np.maximum(d, -0.5)))


def _moves(params: Floats) -> NDArray[np.bool_]:
    """Return which probabilities are neither 0 nor 1."""
    return np.asarray((params > 0) & (params < 1))


def _lost(stats: Stats, params: Floats) -> Floats:
    """Return how much of the log-likelihood the rounding of a probability may cost: next to 1 few digits are left.

    lost = trials step^2 / (2 p (1 - p)), where probabilities are 2 step apart
    """
    p = np.where(_moves(params), params, 0.5)
    return np.asarray((stats[1] + stats[2]) * (0.5 * np.spacing(p)) ** 2 / (2 * p * (1 - p)))


# ---- the posterior --------------------------------------------------------------------------------------------------


def _below(p: Floats, a: Floats, b: Floats) -> Floats:
    """Return the share of Beta(a, b) below p."""
    mean, sd = a / (a + b), np.sqrt(a) / (a + b) * np.sqrt(b / (a + b + 1))
    return np.where(np.minimum(a, b) > NORMAL, ndtr((p - mean) / sd), betainc(a, b, p))


def _quantile(q: Floats, a: Floats, b: Floats) -> Floats:
    """Return the q-quantile of Beta(a, b); of shapes near 1e15 SciPy has none."""
    mean, sd = a / (a + b), np.sqrt(a) / (a + b) * np.sqrt(b / (a + b + 1))
    many = np.minimum(a, b) > NORMAL
    with np.errstate(invalid="ignore"):
        return np.where(many, mean + sd * ndtri(q), betaincinv(np.where(many, 1.0, a), np.where(many, 1.0, b), q))
