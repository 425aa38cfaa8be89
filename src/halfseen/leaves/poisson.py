"""Columns of counts, Poisson within a component.

Statistics, (3, K, D): mass, events, and log-densities at the unit of the column, its mean count,

    stats[:, k, d] = sum_n usage[n, k] seen[n, d] (1, x[n, d], log Poisson(x[n, d]; unit[d])).

Log-densities are taken from there and not from log x!: rates and counts near 1e15 differ in their last digits only, and
x log rate, rate and log x! are all large.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincc, gammainccinv

from halfseen.assign import Assign
from halfseen.kernels import active as kernels
from halfseen.leaves.exact import Joined, Moments, Weights
from halfseen.leaves.leaf import AT_FLOOR, NO_MASS, ROUNDING, Floats, Leaf, Slopes, Stats, frozen, refuse_improper
from halfseen.leaves.limits import FREE, Limits

LARGEST = 1e18  # rate that NumPy can draw whole numbers for
SERIES = 0.1  # below this d - log(1 + d) comes from its series
TERMS = [(-1.0) ** n / n for n in range(2, 19)]  # of it: right to the last digit


def excess(d: Any) -> Floats:
    """Return d - log(1 + d), without loss of digits near 0."""
    d = np.asarray(d, dtype=np.float64)
    small = np.abs(d) < SERIES
    near = np.where(small, d, 0.0)
    with np.errstate(divide="ignore"):  # d = -1: no event where one was seen
        return np.where(
            small, near**2 * np.polynomial.polynomial.polyval(near, TERMS), d - np.log1p(np.maximum(d, -1.0))
        )


def excess_at(d: Floats, ratio: Floats) -> Floats:
    """Return excess(d), given 1 + d as well: close to 0 it has no digits in d."""
    with np.errstate(divide="ignore"):
        return np.where(d < -0.5, d - np.log(ratio), excess(d))


@dataclass(frozen=True, eq=False)
class Poisson(Leaf):
    """A block of D count columns; params is the (K, D) array of rates.

    Parameters
    ----------
    n_components : int
    scale : (D,) array
        Mean count of each column over all rows: the unit of floors, of acceleration and of log-densities.
    pseudo : (K,) array, optional
        Prior: this many pseudo-rows per component, each with the column's mean count.

    Examples
    --------
    >>> import numpy as np
    >>> leaf = Poisson(1, np.ones(1))
    >>> stats = np.zeros(leaf.stats_shape)
    >>> _ = leaf.expect(np.ones((3, 1)), np.ones((1, 1)), np.array([[1.0], [4.0], [np.nan]]), None, stats)
    >>> leaf.maximise(stats, np.ones((1, 1)))
    array([[2.5]])
    """

    n_components: int
    scale: Floats
    pseudo: Floats | None = None
    stats_axis = 1

    @property
    def stats_shape(self) -> tuple[int, ...]:
        """Mass, events, log-densities at the unit: (3, K, D)."""
        return (3, self.n_components, len(self.scale))

    def blank(self) -> Floats:
        """Return the mean count of the columns, alike in all components."""
        return frozen(np.broadcast_to(self.scale, (self.n_components, len(self.scale))).copy())

    def score(self, prepared: Floats, data: Any, assign: Assign | None) -> Floats:
        """scores[n, k] = sum over observed d of log Poisson(x[n, d]; rate[k, d])."""
        scores = np.zeros((len(data), self.n_components))
        kernels.poisson_score(np.ascontiguousarray(data), prepared, scores)
        return scores

    def expect(self, usage: Floats, prepared: Floats, data: Any, assign: Assign | None, out: Stats) -> int:
        """Add mass, events and log-densities at the unit."""
        kernels.poisson_expect(np.ascontiguousarray(data), np.ascontiguousarray(self.scale), usage, out)
        return 0

    def tally(
        self, component: NDArray[np.int64], weight: Floats, cut: Weights, prepared: Floats, data: Any
    ) -> Joined | None:
        """Return the statistics of rows of a known component without rounding."""
        counts, zero = np.ascontiguousarray(data), np.zeros(len(self.scale))
        constants = np.empty(counts.shape)
        kernels.poisson_constants(counts, np.ascontiguousarray(self.scale), constants)
        events = Moments.of(counts, zero, component, weight, self.n_components, 1)
        logs = Moments.of(constants, zero, component, weight, self.n_components, 1)
        return Joined([events, Moments(logs.tops[1:], logs.folds[1:])])

    def maximise(self, stats: Stats, params: Floats, limits: Limits = FREE) -> Floats:
        """rate = events / mass, at least the floor times the column's mean; no mass keeps the old rate."""
        mass = np.where(stats[0] > NO_MASS, stats[0], np.nan)
        rate = np.maximum(stats[1] / mass, (limits.floor or 0.0) * self.scale)
        keep = np.isnan(mass) if limits.fixed is None else np.isnan(mass) | limits.fixed
        return frozen(np.where(keep, params, rate))

    def complete(self, stats: Stats, about: Floats, params: Floats) -> float:
        """Return sum of (constant + (events - mass unit) log(rate / unit) - mass unit e(rate / unit - 1)).

        e(d) = d - log(1 + d). A rate of zero gives constant + mass unit, and -inf if there are events.
        """
        mass, events, constant = stats
        some = np.where(params > 0, params, self.scale)
        above = (some - self.scale) / self.scale
        far = above < -0.5  # where the rate beside the unit is lost in above, from which excess takes its log
        near = np.where(far, 0.0, above)
        logs = np.where(far, np.log(some / self.scale), np.log1p(near))
        found = (events - mass * self.scale) * logs - mass * self.scale * np.where(far, above - logs, excess(near))
        none = np.where(events > 0, -np.inf, mass * self.scale)
        return float(np.sum(constant + np.where(params > 0, found, none)))

    def rounding(self, stats: Stats, params: Floats) -> float:
        """As the mass: log-densities have their digits, whatever the size of the counts."""
        return ROUNDING * float(stats[0].sum())

    def free(self, params: Floats, limits: Limits = FREE) -> Floats:
        """Return the log-rates; a rate of zero, which will not move, gets the coordinate 0."""
        return np.log(np.where(params > 0, params, 1.0)).ravel()

    def freed(self, vector: Floats, like: Floats, limits: Limits = FREE) -> Floats:
        """Return exp(vector), at least the floor; zero stays zero."""
        with np.errstate(over="ignore"):  # a rate of inf makes the data impossible, and the step is refused
            rate = np.where(like > 0, np.exp(vector.reshape(like.shape)), like)
        return self.conform(rate, like, limits)

    def slope(self, stats: Stats, params: Floats, limits: Limits = FREE) -> Floats:
        """slope = events - mass * rate."""
        slope = stats[1] - stats[0] * params
        at_floor = params <= (limits.floor or 0.0) * self.scale * (1 + AT_FLOOR)
        moves = (params > 0) & ~(at_floor & (slope < 0))
        if limits.fixed is not None:
            moves &= ~np.asarray(limits.fixed)
        return np.where(moves, slope, 0.0).ravel()

    def slopes(self, params: Floats, data: Any, component: int, limits: Limits = FREE) -> Slopes | None:
        """Return x - rate of the cells that are observed; zero for a rate of exactly zero."""
        if limits.fixed is not None:
            return None
        rate = params[component]
        values = np.where(rate > 0, np.nan_to_num(np.asarray(data, dtype=np.float64) - rate), 0.0)
        return Slopes(component * len(rate) + np.arange(len(rate)), values)

    def coupled(self, params: Floats, limits: Limits = FREE) -> NDArray[np.intp]:
        """Return a number for each rate."""
        return np.arange(params.size)

    def draw(self, stats: Stats, about: Floats, rng: np.random.Generator, limits: Limits = FREE) -> Floats:
        """Draw rates from Gamma(events + 1) / mass, cut off at the floor."""
        return self.quantile(stats, about, rng.random(about.shape), limits)

    def average(self, stats: Stats, about: Floats, limits: Limits = FREE) -> Floats:
        """mean = (events + 1) / mass * P(Gamma(events + 2) above the floor) / P(Gamma(events + 1) above the floor)."""
        shape, mass, lowest = self._posterior(stats, limits)
        mean = shape / mass * gammaincc(shape + 1, mass * lowest) / gammaincc(shape, mass * lowest)
        return frozen(mean if limits.fixed is None else np.where(limits.fixed, about, mean))

    def quantile(self, stats: Stats, about: Floats, q: Any, limits: Limits = FREE) -> Floats:
        """Return quantiles of Gamma(events + 1) / mass, given that it is above the floor."""
        shape, mass, lowest = self._posterior(stats, limits)
        above = gammaincc(shape, mass * lowest)
        rate = np.maximum(gammainccinv(shape, (1 - q) * above) / mass, lowest)
        return frozen(rate if limits.fixed is None else np.where(limits.fixed, about, rate))

    def _posterior(self, stats: Stats, limits: Limits) -> tuple[Floats, Floats, Floats]:
        """Return shape and mass of every rate's gamma density, and the floor; refuse a density without integral."""
        fixed = np.zeros(stats[0].shape, dtype=bool) if limits.fixed is None else np.asarray(limits.fixed)
        refuse_improper("poisson: rate", ~fixed & (stats[0] <= NO_MASS), stats[0], "more than 0 rows")
        return stats[1] + 1, np.where(fixed, 1.0, stats[0]), (limits.floor or 0.0) * self.scale

    def prior(self, params: Floats) -> Stats | None:
        """Return mass and events of the pseudo-rows."""
        if self.pseudo is None:
            return None
        mass = np.repeat(self.pseudo[:, None], len(self.scale), axis=1)
        return np.stack([mass, mass * self.scale, np.zeros_like(mass)])

    def jitter(self, params: Floats, amount: float, rng: np.random.Generator) -> Floats:
        """Multiply each rate by exp(amount z)."""
        return frozen(params * np.exp(amount * rng.standard_normal(params.shape)))

    def conform(self, params: Floats, like: Floats, limits: Limits = FREE) -> Floats:
        """Lift rates to the floor and take fixed entries from `like`."""
        rate = np.maximum(params, (limits.floor or 0.0) * self.scale)
        return frozen(rate if limits.fixed is None else np.where(limits.fixed, like, rate))

    def sample(self, params: Floats, components: NDArray[np.int64], rng: np.random.Generator) -> Any:
        """Draw counts, (N, D)."""
        return rng.poisson(params[components]).astype(np.float64)

    def impute(self, params: Floats, data: Any, resp: Floats, rng: np.random.Generator | None) -> Any:
        """Fill NaN with the expected count sum_k resp[n, k] rate[k, d], or a draw."""
        filling = resp @ params
        if rng is not None:
            filling = rng.poisson(filling).astype(np.float64)
        return np.where(np.isnan(data), filling, data)

    def n_free(self, limits: Limits = FREE) -> int:
        """Return K D, less what is fixed."""
        fixed = 0 if limits.fixed is None else int(np.sum(limits.fixed))
        return self.n_components * len(self.scale) - fixed

    def affinity(self, params: Floats, other: Floats) -> Floats:
        """Return -1/2 sum_d (sqrt rate - sqrt rate')^2."""
        return -0.5 * ((np.sqrt(params)[:, None] - np.sqrt(other)) ** 2).sum(axis=-1)

    def flaw(self, params: Floats) -> str | None:
        """Rates must be at least 0, and such as counts can be drawn from."""
        legal = np.all((params >= 0) & (params <= LARGEST))
        return super().flaw(params) or (None if legal else f"a rate is below 0 or above {LARGEST:g}.")

    def feasible(self, params: Floats, limits: Limits = FREE) -> bool:
        """Whether all rates are at least zero, or the floor."""
        return bool(np.all(params >= (limits.floor or 0.0) * self.scale))

    def pack(self, params: Floats) -> Floats:
        """Return the rates in units of the columns' mean."""
        return (params / self.scale).ravel()

    def unpack(self, vector: Floats, like: Floats) -> Floats:
        """Invert `pack`."""
        return frozen(vector.reshape(like.shape) * self.scale)
