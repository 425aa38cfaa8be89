"""Columns of numbers above 0, gamma within a component: a mean and a shape, variance mean^2 / shape.

    log p(x) = peak(shape) - shape e(x / mean - 1) - log x,   e(d) = d - log(1 + d)
    peak(shape) = shape log shape - shape - log Gamma(shape) = 1/2 log(shape / (2 pi)) - stirling_error(shape)

Statistics are those of `PerColumn` with first(x) = x / mean - 1 and deviance(x) = e(x / mean - 1). The best mean is
that of the cells; the best shape is where

    log shape - digamma(shape) = deviance / mass

An exponential distribution is a gamma distribution of shape 1, see `Exponential`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import digamma, gammaln, polygamma

from halfseen.leaves.leaf import Floats, Stats
from halfseen.leaves.limits import Limits
from halfseen.leaves.negbin import stirling_error
from halfseen.leaves.per_column import LEAST, PerColumn, Restated
from halfseen.leaves.poisson import excess_at

LARGE = 16.0  # arguments from which the series are right to the last digit
ENOUGH_STEPS = 30
DIGITS = 1e-15  # of log shape
TINY = float(np.finfo(np.float64).tiny)
HUGE = float(np.finfo(np.float64).max)


class GammaParams(NamedTuple):
    """Means and shapes, (K, D) each."""

    mean: Floats
    shape: Floats


class Gamma(PerColumn):
    """A block of D columns of numbers above 0, with a mean and a shape per component; see `PerColumn`.

    Examples
    --------
    >>> import numpy as np
    >>> leaf = Gamma(1, np.ones(1), np.ones(1))
    >>> start = leaf.blank()
    >>> stats = np.zeros(leaf.stats_shape)
    >>> _ = leaf.expect(np.ones((3, 1)), start, np.array([[1.0], [4.0], [np.nan]]), None, stats)
    >>> leaf.maximise(stats, start).mean
    array([[2.5]])
    """

    Params = GammaParams
    what = "gamma"
    largest_mean = np.inf

    def pair(self, x: Floats, mean: Any, exact: bool) -> tuple[Floats, Floats]:
        """Return x / mean - 1 and e of that."""
        ratio = x / mean
        first = (x - mean) / mean
        return first, excess_at(first, ratio) if exact else first - np.log(ratio)

    def restated(self, old: Any, new: Any) -> Restated:
        """With t = old / new: first' = t first + (t - 1), deviance' = deviance + (t - 1) first + e(t - 1)."""
        ratio, off = old / new, (old - new) / new
        return Restated(ratio, off, off, excess_at(off, ratio))

    def jacobian(self, mean: Any) -> tuple[Floats, Floats, Floats]:
        """Log x = log mean + first - deviance."""
        return np.log(mean), np.ones_like(mean), -np.ones_like(mean)

    def peak(self, mean: Any, conc: Any) -> Floats:
        """Return 1/2 log(shape / (2 pi)) - stirling_error(shape)."""
        return 0.5 * np.log(conc / (2 * np.pi)) - stirling_error(conc)

    def expected(self, mean: Any, conc: Any) -> tuple[Floats, Floats]:
        """Return 0 and log shape - digamma(shape)."""
        return np.zeros_like(conc), log_less_digamma(conc)

    def best(self, stats: Stats, mean: Floats, conc: Floats, moves: Any, most: Floats) -> tuple[Floats, Floats]:
        """mean (1 + first / mass), and the shape by Newton's method."""
        mass, first, second = stats
        found = np.where(moves[0], mean + mean * np.divide(first, mass, out=np.zeros_like(mean), where=mass > 0), mean)
        by = self.restated(mean, found)
        deviance = second + by.c * first + by.e * mass
        shape = shape_of(np.divide(deviance, mass, out=np.ones_like(mean), where=mass > 0), most)
        return found, np.where(moves[1], shape, conc)

    def link(self, mean: Any) -> Floats:
        """Return log mean."""
        return np.log(mean)

    def unlink(self, coordinate: Any) -> Floats:
        """Return exp(coordinate), a number."""
        return np.clip(np.exp(coordinate), TINY, HUGE)

    def steepness(self, mean: Any, conc: Any) -> Floats:
        """Return the shape."""
        return np.asarray(conc)

    def noise(self, mean: Any, conc: Any) -> Floats:
        """Return sqrt(log(1 + 1 / shape))."""
        return np.sqrt(np.log1p(1 / conc))

    def affinity(self, params: GammaParams, other: GammaParams) -> Floats:
        """Return the log Bhattacharyya coefficient of products of gamma distributions."""
        parts = [(shape, shape / mean) for mean, shape in params_of(params, other)]
        shape, rate = ((one + two) / 2 for one, two in zip(*parts, strict=True))
        own = sum(0.5 * (a * np.log(r) - gammaln(a)) for a, r in parts)
        return np.minimum(gammaln(shape) - shape * np.log(rate) + own, 0.0).sum(axis=-1)

    def _drawn(self, mean: Floats, conc: Floats, rng: np.random.Generator) -> Floats:
        """Draw numbers above 0."""
        return np.clip(mean * (rng.standard_gamma(conc) / conc), TINY, HUGE)


class Exponential(Gamma):
    """A block of D columns of numbers above 0 with a mean per component: a gamma whose shape is fixed at 1."""

    def __init__(self, n_components: int, mean: Floats, pseudo: Floats | None = None) -> None:
        super().__init__(n_components, mean, np.ones(len(mean)), pseudo)

    def _fixed(self, limits: Limits) -> GammaParams:
        """Return masks of what is fixed: every shape is."""
        none = np.zeros((self.n_components, len(self.centre)), dtype=bool)
        return GammaParams(none if limits.fixed is None else limits.fixed.mean, ~none)


def params_of(params: Any, other: Any) -> list[tuple[Floats, Floats]]:
    """Return means and concentrations of two sets of components, (K, 1, D) and (1, K', D)."""
    return [(params[0][:, None], params[1][:, None]), (other[0][None], other[1][None])]


def log_less_digamma(y: Any) -> Floats:
    """Return log y - digamma(y), which is about 1 / (2 y) for large y."""
    large, small = np.maximum(y, LARGE), np.minimum(y, LARGE)
    w = 1 / large**2
    series = 0.5 / large + w * (1 / 12 - w * (1 / 120 - w * (1 / 252 - w * (1 / 240 - w / 132))))
    return np.where(y < LARGE, np.log(small) - digamma(small), series)


def trigamma_excess(y: Any) -> Floats:
    """Return trigamma(y) - 1 / y, which is about 1 / (2 y^2) for large y."""
    large, small = np.maximum(y, LARGE), np.minimum(y, LARGE)
    w = 1 / large**2
    series = w * (0.5 + (1 / 6 - w * (1 / 30 - w * (1 / 42 - w * (1 / 30 - w * 5 / 66)))) / large)
    return np.where(y < LARGE, polygamma(1, small) - 1 / small, series)


def shape_of(deviance: Floats, most: Floats) -> Floats:
    """Return the shape at which log shape - digamma(shape) is the mean deviance, within its range.

    Newton's method for the logarithm of both sides, which is nearly linear in the logarithm of the shape, from a start
    that is right to some percent.
    """
    with np.errstate(divide="ignore", over="ignore"):
        target = np.maximum(deviance, 1e-300)
        shape = (3 - target + np.sqrt((target - 3) ** 2 + 24 * target)) / (12 * target)
    at = np.log(np.clip(shape, LEAST, most))
    for _ in range(ENOUGH_STEPS):
        shape = np.exp(at)
        value = log_less_digamma(shape)
        step = (np.log(value) - np.log(target)) * value / (shape * trigamma_excess(shape))
        moved = np.clip(at + step, np.log(LEAST), np.log(most))
        still = np.abs(moved - at) <= DIGITS * np.maximum(np.abs(at), 1.0)
        at = moved
        if still.all():
            break
    return np.clip(np.exp(at), LEAST, most)
