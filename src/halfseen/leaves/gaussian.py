"""Columns of numbers, normal within a component, independent of each other given it (diagonal covariance).

Statistics, (4, K, D): mass, first and second moment of each column about the current mean,

    stats[p, k, d] = sum_n usage[n, k] seen[n, d] (x[n, d] - mean[k, d])^p    for p = 0, 1, 2,

and a pseudo-mass, zero in data, that counts for the variance alone: a prior on the variance does not move the mean.

Moments about the mean that every worker knows add exactly and keep their digits: raw second moments of data near 1e8
with variance 1 come out as 2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammainc, gammaincinv, ndtri, stdtrit

from halfseen.assign import Assign
from halfseen.errors import FitError
from halfseen.kernels import active as kernels
from halfseen.leaves.exact import Joined, Moments, Shares, Weights
from halfseen.leaves.leaf import AT_FLOOR, NO_MASS, ROUNDING, Floats, Leaf, Slopes, Stats, frozen, refuse_improper
from halfseen.leaves.limits import FREE, Limits

EPS = 10 * float(np.finfo(np.float64).eps)  # of sums of a few terms
LEAST_SHAPE = 0.05  # of a variance's inverse gamma density: at 0 it has no integral, just above no draw fits a float
CUT = 1e-9  # share of a posterior that a floor may cut off and still leave its closed form right to nine digits


class GaussianParams(NamedTuple):
    """Means and variances, (K, D) each."""

    mean: Floats
    var: Floats


class _Posterior(NamedTuple):
    """Densities of means and variances: 1 / var ~ Gamma(shape) / rate, mean | var ~ Normal(centre, var / mass)."""

    about: GaussianParams
    fixed: Any  # masks, shaped as the params, of what keeps the value it has in `about`
    centre: Floats
    mass: Floats
    shape: Floats
    rate: Floats
    lowest: Floats  # (D,)

    def var(self, q: Any) -> Floats:
        """Return q-quantiles of the variance, given that it is above the floor."""
        within = self._within()
        return np.maximum(self.rate / gammaincinv(self.shape, (1 - q) * within), self.lowest)

    def fixing(self, mean: Floats, var: Floats) -> GaussianParams:
        """Return what was found, with fixed entries as they were."""
        about, fixed = self.about, self.fixed
        return GaussianParams(
            frozen(np.where(fixed.mean, about.mean, mean)), frozen(np.where(fixed.var, about.var, var))
        )

    def refuse_cut(self) -> None:
        """Refuse closed forms where the floor cuts off more than rounding: they would not be exact."""
        cut = np.where(self.fixed.var, 0.0, 1 - self._within())
        if cut.max(initial=0.0) > CUT:
            k, d = np.unravel_index(np.argmax(cut), cut.shape)
            raise FitError(
                f"gaussian: the variance floor cuts off {cut[k, d]:.2g} of the posterior of component {k}, column {d} "
                "of its block, so that it has no closed form. Lower the floor, or use a prior."
            )

    def _within(self) -> Floats:
        """Return the probability of a variance above the floor."""
        with np.errstate(divide="ignore"):
            return gammainc(self.shape, np.where(self.lowest > 0, self.rate / self.lowest, np.inf))


class PseudoRows(NamedTuple):
    """A prior as data: `weight` rows per component that lie about its own mean with this variance."""

    weight: Floats  # (K,)
    var: Floats  # (D,)


def lowest_variances(leaf: Any, limits: Limits) -> Floats:
    """Return the smallest variance of each column of a normal leaf, (D,): max(floor * scale^2, least)."""
    plain = (limits.floor or 0.0) * leaf.scale**2
    return plain if leaf.least is None else np.maximum(plain, leaf.least)


def plain_columns(leaf: Any, limits: Limits) -> NDArray[np.bool_]:
    """Return which columns have floor * scale^2 as their smallest variance, (D,)."""
    plain: Floats = (limits.floor or 0.0) * leaf.scale**2
    return np.ones(len(plain), dtype=bool) if leaf.least is None else plain > leaf.least


@dataclass(frozen=True, eq=False)
class Gaussian(Leaf):
    """A block of D columns with a mean and a variance per component and column.

    Parameters
    ----------
    n_components : int
    centre, scale : (D,) arrays
        Mean and standard deviation of each column over all rows: where to start, and the unit of floors and of
        acceleration.
    pseudo : PseudoRows, optional
        Prior.
    least : (D,) array, optional
        Smallest variance of each column by the resolution of its numbers, 0 where they have none. A variance at this
        floor is no collapse: a component that lies on one recorded number has it.

    Examples
    --------
    >>> import numpy as np
    >>> leaf = Gaussian(1, np.zeros(1), np.ones(1))
    >>> start = leaf.blank()
    >>> stats = np.zeros(leaf.stats_shape)
    >>> _ = leaf.expect(np.ones((3, 1)), start, np.array([[1.0], [3.0], [np.nan]]), None, stats)
    >>> leaf.maximise(stats, start)
    GaussianParams(mean=array([[2.]]), var=array([[1.]]))
    """

    n_components: int
    centre: Floats
    scale: Floats
    pseudo: PseudoRows | None = None
    least: Floats | None = None
    stats_axis = 1

    @property
    def stats_shape(self) -> tuple[int, ...]:
        """Moments of order 0, 1, 2, and pseudo-mass: (4, K, D)."""
        return (4, self.n_components, len(self.scale))

    def blank(self) -> GaussianParams:
        """Return the centre and scale of the columns, alike in all components."""
        shape = (self.n_components, len(self.scale))
        return GaussianParams(
            frozen(np.broadcast_to(self.centre, shape).copy()), frozen(np.broadcast_to(self.scale**2, shape).copy())
        )

    def score(self, prepared: GaussianParams, data: Any, assign: Assign | None) -> Floats:
        """scores[n, k] = sum over observed d of log Normal(x[n, d]; mean[k, d], var[k, d])."""
        scores = np.zeros((len(data), self.n_components))
        with np.errstate(divide="ignore", invalid="ignore"):  # a variance of 0 gives inf or NaN, which the run reports
            kernels.gaussian_score(np.ascontiguousarray(data), prepared.mean, prepared.var, scores)
        return scores

    def expect(self, usage: Floats, prepared: GaussianParams, data: Any, assign: Assign | None, out: Stats) -> int:
        """Add the moments about the current mean."""
        kernels.gaussian_expect(np.ascontiguousarray(data), prepared.mean, usage, out[:3])
        return 0

    def count(self, component: NDArray[np.int64], weight: Floats, prepared: Any, data: Any, out: Stats) -> None:
        """Add the moments of rows of a known component."""
        kernels.gaussian_count(np.ascontiguousarray(data), prepared.mean, component, weight, out[:3])

    def tally(
        self, component: NDArray[np.int64], weight: Floats, cut: Weights, prepared: Any, data: Any
    ) -> Joined | None:
        """Return the moments without rounding; there is no pseudo-mass in data."""
        shape = (1, self.n_components, len(self.scale))
        moments = Moments.of(data, prepared.mean[0], component, weight, self.n_components, 2)
        return Joined([moments, Shares(np.zeros((1, *shape)))])

    def maximise(self, stats: Stats, params: GaussianParams, limits: Limits = FREE) -> GaussianParams:
        """mean + stats[1] / stats[0], and the second moment about that / (stats[0] + stats[3]); no mass keeps the old.

        A floor f gives max(f * scale^2, least, variance), the exact maximiser under that constraint. With a fixed mean
        the variance is the second moment about it. So it is about the float nearest to the best mean: numbers near 1e18
        are 128 apart.
        """
        shift = np.divide(stats[1], stats[0], out=np.zeros_like(stats[1]), where=stats[0] > NO_MASS)
        if limits.fixed is not None:
            shift = np.where(limits.fixed.mean, 0.0, shift)
        mean = params.mean + shift
        shift = mean - params.mean
        squares = stats[2] - 2 * shift * stats[1] + shift**2 * stats[0]
        squares, mass = self._even(squares), self._even(stats[0] + stats[3])
        var = np.divide(squares, mass, out=np.array(params.var), where=mass > NO_MASS)
        var = np.maximum(var, self._lowest(limits))
        if limits.fixed is not None:
            var = np.where(limits.fixed.var, params.var, var)
        return GaussianParams(frozen(mean), frozen(var))

    def _lowest(self, limits: Limits) -> Floats:
        """Return the smallest variance of each column, (D,)."""
        return lowest_variances(self, limits)

    def _plain(self, limits: Limits) -> NDArray[np.bool_]:
        """Return which columns have a floor other than that of their resolution, (D,)."""
        return plain_columns(self, limits)

    def _even(self, by_column: Floats) -> Floats:
        """Return the values of each column; a leaf whose columns share a variance takes the mean over them."""
        return by_column

    def complete(self, stats: Stats, about: GaussianParams, params: GaussianParams) -> float:
        """-1/2 sum ((mass + pseudo-mass) log(2 pi var) + squares / var), squares = second moment about params.mean."""
        shift = params.mean - about.mean
        squares = stats[2] - 2 * shift * stats[1] + shift**2 * stats[0]
        mass = stats[0] + stats[3]
        with np.errstate(divide="ignore", invalid="ignore"):  # as in `score`: the run reports a variance of 0
            return float(-0.5 * np.sum(mass * np.log(2 * np.pi * params.var) + squares / params.var))

    def rounding(self, stats: Stats, params: GaussianParams) -> float:
        """As the terms -1/2 (mass + pseudo-mass) log(2 pi var) and -1/2 squares / var: they may cancel each other.

        Moments of known rows are gathered about the centre of the column: what they lose is a share of these squares.
        """
        mass, logs = stats[0] + stats[3], np.abs(np.log(2 * np.pi * params.var))
        own = ROUNDING * np.sum(mass * (1 + 0.5 * logs) + 0.5 * stats[2] / params.var)
        return float(own + EPS * np.sum(stats[0] * (params.mean - self.centre) ** 2 / params.var))

    def free(self, params: GaussianParams, limits: Limits = FREE) -> Floats:
        """Return (mean - centre) / scale, and log var."""
        mean = (params.mean - self.centre) / self.scale
        return np.concatenate([mean.ravel(), np.log(params.var).ravel()])

    def freed(self, vector: Floats, like: GaussianParams, limits: Limits = FREE) -> GaussianParams:
        """Return centre + scale * vector and exp(vector), at least the floor."""
        mean, log_var = vector.reshape(2, *like.mean.shape)
        with np.errstate(over="ignore"):  # a variance of inf makes the data impossible, and the step is refused
            moved = GaussianParams(self.centre + self.scale * mean, np.exp(self._even(log_var)))
        return self.conform(moved, like, limits)

    def slope(self, stats: Stats, params: GaussianParams, limits: Limits = FREE) -> Floats:
        """Return scale * stats[1] / var and (stats[2] / var - mass - pseudo-mass) / 2."""
        mean = self.scale * stats[1] / params.var
        log_var = self._even(0.5 * (stats[2] / params.var - stats[0] - stats[3]))
        at_floor = params.var <= self._lowest(limits) * (1 + AT_FLOOR)
        log_var = np.where(at_floor & (log_var < 0), 0.0, log_var)
        if limits.fixed is not None:
            mean, log_var = np.where(limits.fixed.mean, 0.0, mean), np.where(limits.fixed.var, 0.0, log_var)
        return np.concatenate([mean.ravel(), log_var.ravel()])

    def slopes(self, params: GaussianParams, data: Any, component: int, limits: Limits = FREE) -> Slopes | None:
        """Return scale * away / var and (away^2 / var - 1) / 2, away = x - mean, of the cells that are observed."""
        if limits.fixed is not None:
            return None
        mean, var = params.mean[component], params.var[component]
        away = np.asarray(data, dtype=np.float64) - mean
        first = np.nan_to_num(self.scale * away / var)
        second = self._even(np.nan_to_num(0.5 * (away**2 / var - 1)))
        width = len(mean)
        at = component * width + np.arange(width)
        return Slopes(np.concatenate([at, self.n_components * width + at]), np.concatenate([first, second], axis=1))

    def coupled(self, params: GaussianParams, limits: Limits = FREE) -> NDArray[np.intp]:
        """Return the (component, column) of each mean and variance."""
        return np.tile(np.arange(params.mean.size), 2)

    def draw(
        self, stats: Stats, about: GaussianParams, rng: np.random.Generator, limits: Limits = FREE
    ) -> GaussianParams:
        """Draw 1 / var from Gamma(shape) / rate, cut off at the floor, and mean | var from Normal(centre, var / mass).

        shape = (mass + pseudo-mass - 3) / 2 and rate = squares / 2, squares the second moment about the centre; with
        a fixed mean shape = (mass + pseudo-mass) / 2 - 1 and squares is about that mean.
        """
        known = self._posterior(stats, about, limits)
        var = np.where(known.fixed.var, about.var, known.var(self._uniforms(rng)))
        mean = known.centre + np.sqrt(var / known.mass) * rng.standard_normal(about.mean.shape)
        return known.fixing(mean, var)

    def _uniforms(self, rng: np.random.Generator) -> Floats:
        """Return the shares at which variances are drawn."""
        return rng.random((self.n_components, len(self.scale)))

    def average(self, stats: Stats, about: GaussianParams, limits: Limits = FREE) -> GaussianParams:
        """Return the centre, and rate / (shape - 1): infinite where shape is at most 1."""
        known = self._posterior(stats, about, limits)
        known.refuse_cut()
        above_one = np.where(known.shape > 1, known.shape - 1, np.nan)
        return known.fixing(known.centre, np.where(known.shape > 1, known.rate / above_one, np.inf))

    def quantile(self, stats: Stats, about: GaussianParams, q: float, limits: Limits = FREE) -> GaussianParams:
        """Return quantiles of the mean, Student's t with 2 shape degrees of freedom (normal about a fixed variance).

        mean = centre + t sqrt(rate / (shape mass));  var = rate / Gamma(shape).
        """
        known = self._posterior(stats, about, limits)
        known.refuse_cut()
        student = known.centre + stdtrit(2 * known.shape, q) * np.sqrt(known.rate / (known.shape * known.mass))
        normal = known.centre + ndtri(q) * np.sqrt(about.var / known.mass)
        return known.fixing(np.where(known.fixed.var, normal, student), known.var(q))

    def _posterior(self, stats: Stats, about: GaussianParams, limits: Limits) -> _Posterior:
        """Return the densities of all means and variances; refuse one without integral."""
        none = np.zeros(about.mean.shape, dtype=bool)
        fixed: Any = GaussianParams(none, none) if limits.fixed is None else limits.fixed
        refuse_improper("gaussian: mean", ~fixed.mean & (stats[0] <= NO_MASS), stats[0], "more than 0 rows")
        mass = np.where(fixed.mean, 1.0, stats[0])
        shift = np.where(fixed.mean, 0.0, stats[1] / mass)
        total = stats[0] + stats[3]
        shape, rate = self._spread(total - np.where(fixed.mean, 0.0, 1.0), stats[2] - stats[1] * shift)
        flat = ~fixed.var & ((shape < LEAST_SHAPE) | (rate <= NO_MASS))
        refuse_improper("gaussian: variance", flat, total, "3.1 rows that differ (2.1 about a fixed mean)")
        shape, rate = np.where(fixed.var, 1.0, shape), np.where(fixed.var, 1.0, rate)
        return _Posterior(about, fixed, about.mean + shift, mass, shape, rate, self._lowest(limits))

    def _spread(self, freedom: Floats, squares: Floats) -> tuple[Floats, Floats]:
        """Return shape and rate of the inverse gamma density of every variance."""
        return (freedom - 2) / 2, squares / 2

    def prior(self, params: GaussianParams) -> Stats | None:
        """Return second moment and pseudo-mass of the pseudo-rows."""
        if self.pseudo is None:
            return None
        stats = np.zeros(self.stats_shape)
        stats[2] = self.pseudo.weight[:, None] * self.pseudo.var
        stats[3] = self.pseudo.weight[:, None]
        return stats

    def recentre(self, stats: Stats, about: GaussianParams, onto: GaussianParams) -> Stats:
        """Return moments about onto.mean instead of about.mean."""
        shift = about.mean - onto.mean
        first = stats[1] + shift * stats[0]
        return np.stack([stats[0], first, stats[2] + shift * (stats[1] + first), stats[3]])

    def widened(self, params: GaussianParams, amount: float) -> GaussianParams:
        """Return the parameters with `amount` added to every variance."""
        return GaussianParams(params.mean, frozen(params.var + amount))

    def jitter(self, params: GaussianParams, amount: float, rng: np.random.Generator) -> GaussianParams:
        """Move each mean by `amount` standard deviations of its component, each variance by a factor exp(amount z)."""
        mean = params.mean + amount * np.sqrt(params.var) * rng.standard_normal(params.mean.shape)
        var = params.var * np.exp(amount * self._even(rng.standard_normal(params.var.shape)))
        return GaussianParams(frozen(mean), frozen(var))

    def conform(self, params: GaussianParams, like: GaussianParams, limits: Limits = FREE) -> GaussianParams:
        """Lift variances to the floor and take fixed entries from `like`."""
        mean, var = params.mean, np.maximum(self._even(params.var), self._lowest(limits))
        if limits.fixed is not None:
            mean = np.where(limits.fixed.mean, like.mean, mean)
            var = np.where(limits.fixed.var, like.var, var)
        return GaussianParams(frozen(mean), frozen(var))

    def sample(self, params: GaussianParams, components: NDArray[np.int64], rng: np.random.Generator) -> Any:
        """Draw values, (N, D)."""
        noise = rng.standard_normal((len(components), len(self.scale)))
        return params.mean[components] + np.sqrt(params.var[components]) * noise

    def impute(self, params: GaussianParams, data: Any, resp: Floats, rng: np.random.Generator | None) -> Any:
        """Fill NaN with sum_k resp[n, k] mean[k, d], or a draw."""
        filling = resp @ params.mean
        if rng is not None:
            filling = filling + np.sqrt(resp @ params.var) * rng.standard_normal(filling.shape)
        return np.where(np.isnan(data), filling, data)

    def n_free(self, limits: Limits = FREE) -> int:
        """Return 2 K D, less what is fixed."""
        fixed = 0 if limits.fixed is None else int(np.sum(limits.fixed.mean) + np.sum(limits.fixed.var))
        return 2 * self.n_components * len(self.scale) - fixed

    def affinity(self, params: GaussianParams, other: GaussianParams) -> Floats:
        """Return the log Bhattacharyya coefficient of products of normals."""
        pooled = params.var[:, None] + other.var
        with np.errstate(divide="ignore", invalid="ignore"):  # variances of 0, which are refused elsewhere
            squares = (params.mean[:, None] - other.mean) ** 2 / (4 * pooled)
            spread = 0.5 * np.log(2 * np.sqrt(params.var)[:, None] * np.sqrt(other.var) / pooled)
        return (spread - squares).sum(axis=-1)

    def collapsed(self, params: GaussianParams, limits: Limits = FREE) -> list[int]:
        """Return components with a free variance at the floor, unless that is the resolution of the column."""
        if limits.floor is None:
            return []
        at_floor = (params.var <= self._lowest(limits) * (1 + 1e-9)) & self._plain(limits)
        if limits.fixed is not None:
            at_floor &= ~limits.fixed.var
        return np.flatnonzero(at_floor.any(axis=1)).tolist()

    def feasible(self, params: GaussianParams, limits: Limits = FREE) -> bool:
        """Whether all variances are positive and those that may move not below the floor."""
        above = params.var >= self._lowest(limits)
        if limits.fixed is not None:
            above = above | limits.fixed.var
        return bool(np.all(params.var > 0) and np.all(above))

    def flaw(self, params: GaussianParams) -> str | None:
        """Variances must be above 0, by so much that they have an inverse."""
        if (flaw := super().flaw(params)) is not None:
            return flaw
        return None if np.all(params.var >= np.finfo(np.float64).tiny) else "a variance is not above 0."

    def pack(self, params: GaussianParams) -> Floats:
        """Return means and variances in units of the columns' scale."""
        return np.concatenate([(params.mean / self.scale).ravel(), (params.var / self.scale**2).ravel()])

    def unpack(self, vector: Floats, like: GaussianParams) -> GaussianParams:
        """Invert `pack`."""
        mean, var = vector.reshape(2, *like.mean.shape)
        return GaussianParams(frozen(mean * self.scale), frozen(self._even(var * self.scale**2)))
