"""Columns of counts, negative binomial within a component: a mean and a size, variance mean + mean^2 / size.

With a gamma distribution behind every rate,

    rate ~ Gamma(size, size / mean),   x | rate ~ Poisson(rate),

events come in clusters, a Poisson number of them. With t = mean / size and the rate integrated,

    p(x, clusters) ~ size^clusters (1 + t)^-size (t / (1 + t))^x,
    E[clusters | x] = sum_{j<x} size / (size + j),   shared(x) = x - E[clusters | x] = sum_{j<x} j / (size + j)

so that what is latent is the number of clusters among x events, and statistics have a fixed shape, (5, K, D): mass,
events, shared events, what does not depend on the parameters, and clusters,

    stats[:, k, d] = sum_n usage[n, k] seen[n, d] (1, x, shared(x), constant(x), E[clusters | x])         x = x[n, d].

Why clusters and not the rate itself: completed by rates, EM moves the mean by a share mean / (mean + size) of its way
and hardly moves a large size at all (rates of convergence of 0.93 at mean 1, size 1, and 0.99999 at size 30; by
clusters 0.57 and 0.97). Here the mean is exact in one step, and a size that grows without bound grows by a factor.

Shared events and clusters are both counted, although they add up to the events, because of digits: close to Poisson
there is a cluster for nearly every event, far from it events are nearly all shared.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln, digamma, expit, gammaincinv, gammaln, logsumexp, xlogy

from halfseen.assign import Assign
from halfseen.errors import FitError
from halfseen.leaves.distinct import added, distinct
from halfseen.leaves.leaf import AT_FLOOR, NO_MASS, ROUNDING, Floats, Latent, Leaf, Stats, frozen
from halfseen.leaves.limits import FREE, Limits
from halfseen.leaves.poisson import LARGEST, excess, excess_at

LEAST_SIZE = 1e-10  # one count of 1e15 among a million zeros has a size of 3e-8
MOST_SIZE = 1e6  # in units of the column's mean (if above 1): a variance within a millionth of Poisson's
STARTING_SIZES = (0.01, 100.0)  # the second in the same units: between these EM moves quickly
SLIGHT = 1e-3  # a variance so little above Poisson's, relatively, is none
LARGE = 16.0  # arguments from which Stirling's series is right to the last digit
ENOUGH_STEPS = 200  # of a root finder that halves at worst
DIGITS = 1e-15  # of log size
EACH = 1000  # counts that are summed one by one
SHARES = expit(np.linspace(-30, 30, 1000))  # of a distribution, tails included
MANY_EVENTS = 10_000.0  # from here shared events are as good as binomial
MOST_DRAWS = 1 << 40  # beyond, each draw counts for more
CELLS = 1000  # of a grid over log size
FAR = 40.0  # log-density below its peak that no draw comes from
RARE = 1e200  # sizes in units of the mean beyond which log(1 + t) is nothing beside log t
NEGLIGIBLE = 10.0  # the same at a size without a posterior mean: no more than 5e-5 of the peak


class NegBinParams(NamedTuple):
    """Means and sizes, (K, D) each."""

    mean: Floats
    size: Floats


def moment_size(mean: Floats, var: Floats) -> Floats:
    """Return mean^2 / (var - mean), the size that goes with a mean and a variance, (D,), within `STARTING_SIZES`."""
    low, high = STARTING_SIZES[0], STARTING_SIZES[1] * np.maximum(mean, 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        size = np.where(var > mean, mean**2 / (var - mean), high)
    return np.clip(np.where(np.isnan(size), high, size), low, high)


def equidispersed(params: NegBinParams) -> NDArray[np.bool_]:
    """Which distributions, (K, D), have no more variance than Poisson counts: mean / size is next to nothing."""
    return (params.mean > 0) & (params.mean < SLIGHT * params.size)


@dataclass(frozen=True, eq=False)
class NegBin(Leaf):
    """A block of D count columns with a mean and a size per component and column.

    Sizes are at most `MOST_SIZE` times the column's mean (or 1, if that is larger): there the column has no more
    variance than Poisson counts. `log_prior` and `complete` include the entropy of the clusters.

    Parameters
    ----------
    n_components : int
    scale : (D,) array
        Mean count of each column over all rows: the unit of floors and of acceleration.
    size : (D,) array
        Where sizes start, see `moment_size`.
    pseudo : (K,) array, optional
        Prior: this many pseudo-rows per component, each with the events and clusters expected at `scale` and `size`.

    Examples
    --------
    >>> import numpy as np
    >>> leaf = NegBin(1, np.ones(1), np.ones(1))
    >>> start = leaf.blank()
    >>> stats = np.zeros(leaf.stats_shape)
    >>> _ = leaf.expect(np.ones((3, 1)), start, np.array([[1.0], [4.0], [np.nan]]), None, stats)
    >>> leaf.maximise(stats, start).mean
    array([[2.5]])
    """

    has_latent = True  # clusters

    n_components: int
    scale: Floats
    size: Floats
    pseudo: Floats | None = None
    stats_axis = 1

    @property
    def stats_shape(self) -> tuple[int, ...]:
        """Mass, events, shared events, constants, clusters: (5, K, D)."""
        return (5, self.n_components, len(self.scale))

    @property
    def most(self) -> Floats:
        """The largest size of each column, (D,)."""
        return MOST_SIZE * np.maximum(self.scale, 1.0)

    def blank(self) -> NegBinParams:
        """Return the mean of the columns and the size to start from, alike in all components."""
        shape = (self.n_components, len(self.scale))
        return NegBinParams(*(frozen(np.broadcast_to(part, shape).copy()) for part in (self.scale, self.size)))

    # ---- the E-step ----------------------------------------------------------------------------------------------

    def score(self, prepared: NegBinParams, data: Any, assign: Assign | None) -> Floats:
        """scores[n, k] = sum over observed d of log NegBin(x[n, d]; mean[k, d], size[k, d])."""
        scores = np.zeros((len(data), self.n_components))
        for d, counts, place, seen in distinct(data):
            scores[seen] += log_density(counts[:, None], prepared.mean[:, d], prepared.size[:, d])[place]
        return scores

    def expect(self, usage: Floats, prepared: NegBinParams, data: Any, assign: Assign | None, out: Stats) -> int:
        """Add mass, events, shared events, constants and clusters, which are drawn if `assign` says so."""
        for d, counts, place, seen in distinct(data):
            x, size = counts[:, None], prepared.size[:, d]
            used = added(usage[seen], place, len(counts))
            joined, apart = used * shared(x, size), used * clusters(x, size)
            out[0, :, d] += used.sum(axis=0)
            out[1, :, d] += counts @ used
            out[3, :, d] += (used * _coefficient(x, size) + joined * np.log(size)).sum(axis=0)
            if assign is not None and assign.latent:
                assert assign.rng is not None
                joined = _drawn(used, counts, size, assign.rng)
                apart = used * x - joined
            out[2, :, d] += joined.sum(axis=0)
            out[4, :, d] += apart.sum(axis=0)
        return 0

    def settled(self, data: Any) -> NDArray[np.bool_] | None:
        """Rows without a count above 1: there the number of clusters is the number of events."""
        unsettled = np.asarray(data) > 1  # NaN is not
        return np.asarray(~unsettled.any(axis=1)) if unsettled.any() else None

    def latent(self, about: NegBinParams, params: NegBinParams, data: Any, usage: Floats) -> Latent:
        """Return the divergence of the clusters; their entropy, which has no closed form, is within `complete`.

        kl = coefficient(x; size) - coefficient(x; size') - shared(x; size') log(size' / size),   size' of `about`
        """
        kl = 0.0
        for d, counts, place, seen in distinct(data):
            x, used = counts[:, None], added(usage[seen], place, len(counts))
            here, there = about.size[:, d], params.size[:, d]
            gap = _coefficient(x, there) - _coefficient(x, here) - shared(x, here) * np.log(here / there)
            kl += float((used * gap).sum())
        return Latent(0.0, kl)

    # ---- the M-step ----------------------------------------------------------------------------------------------

    def maximise(self, stats: Stats, params: NegBinParams, limits: Limits = FREE) -> NegBinParams:
        """mean = events / mass, at least the floor times the column's mean; no mass keeps the old parameters.

        The size has one best value given the mean: where `_pull` is zero, or the end of its range. Without events it
        keeps its old value, unless the mean cannot be 0.
        """
        known, fixed = stats[0] > NO_MASS, self._fixed(limits)
        mean = np.divide(stats[1], stats[0], out=np.array(params.mean), where=known)
        mean = np.where(fixed.mean | ~known, params.mean, np.maximum(mean, self._lowest(limits)))
        open_size = known & ~fixed.size & (mean > 0)
        size = np.array(params.size)
        if open_size.any():
            size[open_size] = self._best_size(stats[:, open_size], mean[open_size], self._most(open_size))
        return NegBinParams(frozen(mean), frozen(size))

    def _best_size(self, stats: Stats, mean: Floats, most: Floats) -> Floats:
        """Return the sizes between the least and the most at which the pull is zero, by Newton's method in log size.

        The pull goes from above to below zero once; a step that would leave the interval known to hold it is replaced
        by half of that interval.
        """
        low, high = np.full(mean.shape, np.log(LEAST_SIZE)), np.log(most)
        lowest, largest = (_pull(stats, mean, end)[0] for end in (LEAST_SIZE, most))
        with np.errstate(over="ignore"):  # of much mass that varies as Poisson counts do: the largest size
            spread = np.log(stats[0] / np.maximum(2 * stats[2], 1e-300))
        at = np.clip(2 * np.log(mean) + spread, low + 1, high - 1)
        for _ in range(ENOUGH_STEPS):
            pull, slope = _pull(stats, mean, np.exp(at))
            low, high = np.where(pull > 0, at, low), np.where(pull > 0, high, at)
            with np.errstate(divide="ignore", invalid="ignore"):
                newton = at - pull / slope
            moved = np.where((newton > low) & (newton < high), newton, (low + high) / 2)
            still = np.abs(moved - at) <= DIGITS
            at = moved
            if still.all():
                break
        size = np.where(largest >= 0, most, np.exp(at))
        return np.where(lowest <= 0, LEAST_SIZE, size)

    def complete(self, stats: Stats, about: NegBinParams, params: NegBinParams) -> float:
        """events log(t / (1 + t)) + clusters log size - mass size log(1 + t) + constants,  t = mean / size."""
        mass, events, _, constant, apart = stats
        mean, size = params
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):  # of a mean of 0
            logs = np.where(mean * RARE < size, np.log(mean) - np.log(size), -np.log1p(size / mean))
            each = np.where(events == 0, 0.0, events * logs)
        return float(np.sum(each + apart * np.log(size) - mass * size * np.log1p(mean / size) + constant))

    def prior(self, params: NegBinParams) -> Stats | None:
        """Return mass, events, shared events and clusters of the pseudo-rows."""
        if self.pseudo is None:
            return None
        mass = np.repeat(self.pseudo[:, None], len(self.scale), axis=1)
        joined = self.size * excess(self.scale / self.size)
        apart = self.size * np.log1p(self.scale / self.size)
        return np.stack([mass, mass * self.scale, mass * joined, np.zeros_like(mass), mass * apart])

    # ---- gradient methods ----------------------------------------------------------------------------------------

    def rounding(self, stats: Stats, params: NegBinParams) -> float:
        """As the mass: log-densities have their digits, whatever the size of the counts."""
        return ROUNDING * float(stats[0].sum())

    def free(self, params: NegBinParams, limits: Limits = FREE) -> Floats:
        """Return log mean and log size; a mean of zero, which will not move, gets the coordinate 0."""
        mean = np.log(np.where(params.mean > 0, params.mean, 1.0))
        return np.concatenate([mean.ravel(), np.log(params.size).ravel()])

    def freed(self, vector: Floats, like: NegBinParams, limits: Limits = FREE) -> NegBinParams:
        """Return exp(vector), within floor and range; a mean of zero stays zero."""
        log_mean, log_size = vector.reshape(2, *like.mean.shape)
        with np.errstate(over="ignore"):  # a mean of inf makes the data impossible, and the step is refused
            mean = np.where(like.mean > 0, np.exp(log_mean), like.mean)
            return self.conform(NegBinParams(mean, np.exp(log_size)), like, limits)

    def slope(self, stats: Stats, params: NegBinParams, limits: Limits = FREE) -> Floats:
        """Return (events - mass mean) size / (size + mean), and the pull on the size."""
        fixed, (mean, size) = self._fixed(limits), params
        by_mean = (stats[1] - stats[0] * mean) * (size / (size + mean))
        by_size = _pull(stats, mean, size)[0]
        on_floor = mean <= self._lowest(limits) * (1 + AT_FLOOR)
        at_end = (by_size > 0) & (size >= self.most * (1 - AT_FLOOR))
        at_end |= (by_size < 0) & (size <= LEAST_SIZE * (1 + AT_FLOOR))
        by_mean = np.where(fixed.mean | (mean == 0) | (on_floor & (by_mean < 0)), 0.0, by_mean)
        by_size = np.where(fixed.size | at_end, 0.0, by_size)
        return np.concatenate([by_mean.ravel(), by_size.ravel()])

    def coupled(self, params: NegBinParams, limits: Limits = FREE) -> NDArray[np.intp]:
        """Return the (component, column) of each mean and size."""
        return np.tile(np.arange(params.mean.size), 2)

    # ---- draws ---------------------------------------------------------------------------------------------------

    def draw(self, stats: Stats, about: NegBinParams, rng: np.random.Generator, limits: Limits = FREE) -> NegBinParams:
        """Draw the size on a fine grid, then mean / (mean + size) | size from Beta(events + 1, mass size - 1).

        The density is with respect to the mean and 1 / size: nothing tells large sizes apart, and with respect to the
        size itself most of it would lie where they end. A size below 3 / mass leaves the mean without expectation; a
        posterior that reaches so low is refused.
        """
        fixed, floor = self._fixed(limits), self._lowest(limits)
        if np.any(~fixed.mean & (np.broadcast_to(floor, fixed.mean.shape) > 0)):
            raise FitError(
                "negbin: a floor under means leaves their posterior without a closed form. Use a prior instead of it."
            )
        mean, size = np.array(about.mean), np.array(about.size)
        for k, d in np.argwhere(~fixed.mean | ~fixed.size):
            known = None if not fixed.mean[k, d] else float(mean[k, d])
            place = f"component {k}, column {d} of its block,"
            if not fixed.size[k, d]:
                size[k, d] = _draw_size(stats[:3, k, d], known, float(self.most[d]), place, rng)
            if known is None:
                mean[k, d] = _draw_mean(stats[:3, k, d], float(size[k, d]), place, rng)
        return NegBinParams(frozen(mean), frozen(size))

    # ---- for the rest of the library -----------------------------------------------------------------------------

    def jitter(self, params: NegBinParams, amount: float, rng: np.random.Generator) -> NegBinParams:
        """Multiply each mean and each size by exp(amount z), within the range of sizes."""
        mean, size = (part * np.exp(amount * rng.standard_normal(part.shape)) for part in params)
        return NegBinParams(frozen(mean), frozen(np.clip(size, LEAST_SIZE, self.most)))

    def conform(self, params: NegBinParams, like: NegBinParams, limits: Limits = FREE) -> NegBinParams:
        """Lift means to the floor, keep sizes within their range and take fixed entries from `like`."""
        fixed = self._fixed(limits)
        mean = np.maximum(params.mean, self._lowest(limits))
        size = np.clip(params.size, LEAST_SIZE, self.most)
        return NegBinParams(
            frozen(np.where(fixed.mean, like.mean, mean)), frozen(np.where(fixed.size, like.size, size))
        )

    def sample(self, params: NegBinParams, components: NDArray[np.int64], rng: np.random.Generator) -> Any:
        """Draw counts, (N, D)."""
        return _sampled(params.mean[components], params.size[components], rng)

    def impute(self, params: NegBinParams, data: Any, resp: Floats, rng: np.random.Generator | None) -> Any:
        """Fill NaN with the expected count sum_k resp[n, k] mean[k, d], or a draw."""
        filling = resp @ params.mean
        if rng is not None:
            filling = _sampled(filling, resp @ params.size, rng)
        return np.where(np.isnan(data), filling, data)

    def n_free(self, limits: Limits = FREE) -> int:
        """Return 2 K D, less what is fixed."""
        fixed = self._fixed(limits)
        return int((~fixed.mean).sum() + (~fixed.size).sum())

    def affinity(self, params: NegBinParams, other: NegBinParams) -> Floats:
        """Return sum_d log sum_x sqrt(p(x) p'(x)), which has no closed form: the sum itself, see `_overlap`."""
        ours, theirs = (np.stack(part, axis=-1).tolist() for part in (params, other))  # [k][d] = [mean, size]
        return np.array([[sum(map(_overlap, one, another)) for another in theirs] for one in ours], dtype=np.float64)

    def flaw(self, params: NegBinParams) -> str | None:
        """Means must be at least 0 and such as counts can be drawn from, sizes above 0 and such as a fit may find."""
        if (flaw := super().flaw(params)) is not None:
            return flaw
        if not np.all((params.mean >= 0) & (params.mean <= LARGEST)):
            return f"a mean is below 0 or above {LARGEST:g}."
        most = MOST_SIZE * LARGEST
        legal = np.all((params.size >= LEAST_SIZE) & (params.size <= most))
        return None if legal else f"a size is below {LEAST_SIZE:g} or above {most:g}."

    def feasible(self, params: NegBinParams, limits: Limits = FREE) -> bool:
        """Whether all means are at least zero, or the floor, and all sizes above zero."""
        return bool(np.all(params.mean >= self._lowest(limits)) and np.all(params.size >= LEAST_SIZE))

    def pack(self, params: NegBinParams) -> Floats:
        """Return means in units of the columns' mean, and 1 / size, in which steps towards Poisson shrink evenly."""
        return np.concatenate([(params.mean / self.scale).ravel(), (1 / params.size).ravel()])

    def unpack(self, vector: Floats, like: NegBinParams) -> NegBinParams:
        """Invert `pack`; a leap beyond the largest size ends there."""
        mean, inverse = vector.reshape(2, *like.mean.shape)
        most = np.maximum(self.most, like.size)  # a fixed one may be larger
        return NegBinParams(frozen(mean * self.scale), frozen(1 / np.maximum(inverse, 1 / most)))

    def _fixed(self, limits: Limits) -> Any:
        """Return masks of what is fixed."""
        none = np.zeros((self.n_components, len(self.scale)), dtype=bool)
        return NegBinParams(none, none) if limits.fixed is None else limits.fixed

    def _lowest(self, limits: Limits) -> Floats:
        return (limits.floor or 0.0) * self.scale

    def _most(self, chosen: NDArray[np.bool_]) -> Floats:
        return np.broadcast_to(self.most, chosen.shape)[chosen]


# ---- the distribution -----------------------------------------------------------------------------------------------


def log_density(x: Any, mean: Any, size: Any) -> Floats:
    """Return log NegBin(x; mean, size), as its peak at mean = x less the deviance: both keep their digits.

    log p = peak(x) - x e(size (mean - x) / ((size + mean) x)) - size e((x - mean) / (size + mean)),
    e(d) = d - log(1 + d)
    """
    some = np.maximum(x, 1.0)
    above = size * (mean - some) / ((size + mean) * some)  # exactly -1 at mean 0: a count there is impossible
    below = (some - mean) / (size + mean)
    ratio = (size + some) / (size + mean)
    density = _peak(some, size) - some * excess_at(above, ratio * (mean / some)) - size * excess_at(below, ratio)
    return np.where(x > 0, density, -size * np.log1p(mean / size))


def shared(x: Any, size: Any) -> Floats:
    """Return sum_{j<x} j / (size + j): events less the expected number of clusters they come in."""
    large = np.maximum(size, LARGE)
    tail = [_digamma_tail(y) for y in (large + x, large)]
    series = large * excess(x / large) - 0.5 * x / (large + x) - large * (tail[0] - tail[1])
    small = np.minimum(size, LARGE)
    return np.where(x > 1, np.where(size < LARGE, x - small * (digamma(small + x) - digamma(small)), series), 0.0)


def clusters(x: Any, size: Any) -> Floats:
    """Return sum_{j<x} size / (size + j): the expected number of clusters among x events."""
    small = np.minimum(size, LARGE)
    few = small * (digamma(small + x) - digamma(small))
    large = np.maximum(size, LARGE)
    tail = [_digamma_tail(y) for y in (large + x, large)]
    many = large * np.log1p(x / large) + 0.5 * x / (large + x) + large * (tail[0] - tail[1])
    return np.where(x > 1, np.where(size < LARGE, few, many), np.asarray(x, dtype=np.float64))


def _coefficient(x: Floats, size: Floats) -> Floats:
    """Return log(Gamma(size + x) / (Gamma(size) size^x x!))."""
    some = np.maximum(x, 1.0)
    return np.where(x > 1, _peak(some, size) - xlogy(some, some) + (some + size) * np.log1p(some / size), 0.0)


def _peak(x: Floats, size: Floats) -> Floats:
    """Return log NegBin(x; x, size) for x > 0: Stirling's formula and its errors."""
    errors = stirling_error(x + size) - stirling_error(x) - stirling_error(size)
    return errors - 0.5 * np.log1p(x / size) - 0.5 * np.log(2 * np.pi * x)


def stirling_error(y: Any) -> Floats:
    """Return log y! - (y + 1/2) log y + y - log(2 pi) / 2."""
    large, small = np.maximum(y, LARGE), np.minimum(y, LARGE)
    w = 1 / large**2
    series = (1 / 12 - w * (1 / 360 - w * (1 / 1260 - w * (1 / 1680 - w / 1188)))) / large
    direct = gammaln(small + 1) - (small + 0.5) * np.log(small) + small - 0.5 * np.log(2 * np.pi)
    return np.where(y < LARGE, direct, series)


def _digamma_tail(y: Floats) -> Floats:
    """Return digamma(y) - log y + 1 / (2 y), for large y."""
    w = 1 / y**2
    return -w * (1 / 12 - w * (1 / 120 - w * (1 / 252 - w * (1 / 240 - w / 132))))


def _pull(stats: Stats, mean: Floats, size: Any) -> tuple[Floats, Floats]:
    """Return first and second derivative of `complete` in log size.

    pull = mass size e(t) - shared - (mass mean - events) t / (1 + t),   t = mean / size,  e(t) = t - log(1 + t)
         = clusters - mass size log(1 + t) + (mass mean - events) / (1 + t),   where most events are shared
    """
    mass, events, joined, _, apart = stats
    t = mean / size
    share = t / (1 + t)
    short = mass * mean - events
    near = mass * size * excess(t) - joined - short * share
    far = apart - mass * size * np.log1p(t) + short / (1 + t)
    return np.where(t > 1, far, near), short * share / (1 + t) - mass * size * excess(-share)


def _sampled(mean: Floats, size: Floats, rng: np.random.Generator) -> Floats:
    """Draw counts through their rates."""
    rate = rng.gamma(size, mean / size)
    return rng.poisson(np.minimum(rate, LARGEST)).astype(np.float64)


def _overlap(one: list[float], other: list[float]) -> float:
    """Return log sum_x sqrt(p(x) p'(x)) of two distributions, [mean, size] each.

    The first `EACH` counts are summed one by one. Beyond, the sum is the integral of the same function, by trapezia
    between quantiles of the gamma distributions that have the two means and variances: right to four digits or so.
    """
    if one == other:
        return 0.0
    means, sizes = np.array([one, other]).T
    unit = 1 + means / sizes  # variance / mean
    quantiles = unit[:, None] * gammaincinv(np.maximum(means / unit, 1e-300)[:, None], SHARES)
    beyond = np.unique(np.append(quantiles[quantiles > EACH], EACH - 0.5))
    x = np.concatenate([np.arange(EACH), beyond])
    width = np.concatenate([np.ones(EACH), np.gradient(beyond) if len(beyond) > 1 else [0.0]])
    width[EACH] /= 2
    width[-1] /= 2
    roots = 0.5 * (log_density(x, *one) + log_density(x, *other))
    return min(float(logsumexp(roots, b=width)), 0.0)


# ---- draws ----------------------------------------------------------------------------------------------------------


def _drawn(used: Floats, counts: Floats, size: Floats, rng: np.random.Generator) -> Floats:
    """Draw the shared events of all uses of each count, (V, K); see `structures.draws` for fractions and for many."""
    out = np.zeros(used.shape)
    for v, k in np.argwhere((used > 0) & (counts > 1)[:, None]):
        whole = float(np.floor(used[v, k]))
        times, one = int(min(whole, MOST_DRAWS)), float(size[k])
        if times:
            out[v, k] = whole / times * _draw_sum(float(counts[v]), one, times, rng)
        if used[v, k] > whole:
            out[v, k] += (used[v, k] - whole) * _draw_sum(float(counts[v]), one, 1, rng)
    return out


def _draw_sum(x: float, size: float, times: int, rng: np.random.Generator) -> float:
    """Draw the shared events of a count, many times, and add them up.

    They are a sum of independent draws of 0 or 1, event j with probability j / (size + j). So are all of `times` draws;
    in a large count they are drawn as a binomial of the same mean and variance.
    """
    if x <= MANY_EVENTS:
        j = np.arange(1, x)
        return float(rng.binomial(times, j / (size + j)).sum(dtype=np.float64))
    trials, chance = _as_binomial(x, size)
    return float(sum(rng.binomial(part, chance) for part in _parts(trials, times)))


def _parts(trials: int, times: int) -> list[int]:
    """Return trials * times as numbers that NumPy can draw for; beyond 2^62 in equal parts."""
    total = trials * times
    n_parts = -(-total // (1 << 62))
    return [total // n_parts] * n_parts


def _as_binomial(x: float, size: float) -> tuple[int, float]:
    """Return trials and chance of a binomial like a large count's shared events: 1 - variance / mean is the chance."""
    expected, step = float(shared(x, size)), 1e-4  # relative
    above, below = (float(shared(x, size * factor)) for factor in (1 + step, 1 - step))
    squares = expected + (above - below) / (2 * step)
    trials = max(round(expected / np.clip(squares / max(expected, 1e-300), 1e-9, 1.0)), 1)
    return trials, min(expected / trials, 1.0)


def _draw_size(stats: Stats, mean: float | None, most: float, place: str, rng: np.random.Generator) -> float:
    """Draw a size from its density given the statistics, with the mean integrated, or given.

    density of log size ~ size^(events - shared) B(events + 1, mass size - 1), from 3 / mass on
    """
    mass, events, joined = stats

    def log_density(log_size: Floats) -> Floats:
        size = np.exp(log_size)
        if mean is None:
            return (events - joined) * log_size + betaln(events + 1, mass * size - 1)
        return -(events + mass * size) * np.log1p(mean / size) - (joined + 1) * log_size

    low, high = np.log(LEAST_SIZE if mean is not None else 3 / max(mass, 1e-300)), np.log(most)
    if low >= high:
        raise _no_posterior("size", place, mass)
    first, peak = float(log_density(np.array([low]))[0]), -np.inf
    for _ in range(8):  # until the grid covers what is within reach, and no more
        grid = np.linspace(low, high, CELLS)
        logs = log_density(grid)
        peak = float(logs.max())
        near = np.flatnonzero(logs > peak - FAR)
        low, high = grid[max(near[0] - 1, 0)], grid[min(near[-1] + 1, CELLS - 1)]
    if not first < peak - NEGLIGIBLE:
        raise _no_posterior("size", place, mass)
    density = np.exp(logs - peak)
    shares = np.concatenate([[0.0], np.cumsum(density[1:] + density[:-1])])
    return float(np.exp(np.interp(rng.random() * shares[-1], shares, grid)))


def _draw_mean(stats: Stats, size: float, place: str, rng: np.random.Generator) -> float:
    """Draw a mean given its size: size b / (1 - b), b ~ Beta(events + 1, mass size - 1)."""
    mass, events, _ = stats
    if mass * size <= 2:
        raise _no_posterior("mean", place, mass)
    return float(size * rng.standard_gamma(events + 1) / rng.standard_gamma(mass * size - 1))


def _no_posterior(what: str, place: str, mass: float) -> FitError:
    return FitError(
        f"negbin: {what} of {place} has no posterior: it rests on a mass of {mass:.4g} (prior included), in which "
        "there are too few events to tell how they vary. Use a prior, fewer components or more rows."
    )
