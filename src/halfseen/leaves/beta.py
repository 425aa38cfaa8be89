"""Columns of shares between 0 and 1, beta within a component: a mean and a precision.

With a = mean precision and b = (1 - mean) precision the variance is mean (1 - mean) / (1 + precision), and

    log p(x) = peak(mean, precision) - precision KL(mean | x) - log x - log(1 - x)
    KL(mean | x) = mean e(x / mean - 1) + (1 - mean) e((1 - x) / (1 - mean) - 1),   e(d) = d - log(1 + d)
    peak = 1/2 log(precision mean (1 - mean) / (2 pi)) + error(precision) - error(a) - error(b)

with the errors of Stirling's formula. Statistics are those of `PerColumn` with first(x) = logit x - logit mean and
deviance(x) = KL(mean | x). The log-likelihood is concave in (a, b); its maximum is where the expected first and
deviance are those of the cells, and is found by Fisher's scoring in logit mean and log precision.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import betaln, expit

from halfseen.leaves.gamma import log_less_digamma, params_of, trigamma_excess
from halfseen.leaves.leaf import Floats, Stats
from halfseen.leaves.negbin import stirling_error
from halfseen.leaves.per_column import LEAST, PerColumn, Restated
from halfseen.leaves.poisson import excess_at

LONGEST_STEP = 3.0  # in logit mean and log precision
ENOUGH_STEPS = 100
DIGITS = 1e-20  # of the expected gain of a step, per unit of mass
SURE = 1e-10  # an expected gain so small that the step is right, although rounding hides it
HALVES = 30
TINY = float(np.finfo(np.float64).tiny)
BELOW_ONE = 1 - float(np.finfo(np.float64).epsneg)


class BetaParams(NamedTuple):
    """Means and precisions, (K, D) each."""

    mean: Floats
    precision: Floats


class Beta(PerColumn):
    """A block of D columns of shares, with a mean and a precision per component; see `PerColumn`.

    Examples
    --------
    >>> import numpy as np
    >>> leaf = Beta(1, np.array([0.5]), np.array([2.0]))
    >>> leaf.score(leaf.blank(), np.array([[0.3], [np.nan]]), None).round(9) + 0.0  # 0: uniform
    array([[0.],
           [0.]])
    """

    Params = BetaParams
    what = "beta"
    largest_mean = 1.0

    def pair(self, x: Floats, mean: Any, exact: bool) -> tuple[Floats, Floats]:
        """Return logit x - logit mean, and the divergence of x from the mean."""
        up, down = x / mean, (1 - x) / (1 - mean)
        if not exact:
            logs = np.log(up), np.log(down)
            return logs[0] - logs[1], -mean * logs[0] - (1 - mean) * logs[1]
        rise, fall = (x - mean) / mean, (mean - x) / (1 - mean)
        parts = excess_at(rise, up), excess_at(fall, down)
        return (rise - fall) - (parts[0] - parts[1]), mean * parts[0] + (1 - mean) * parts[1]

    def restated(self, old: Any, new: Any) -> Restated:
        """first' = first + logit old - logit new,  deviance' = deviance - (new - old) first + KL(new | old)."""
        shift, divergence = self.pair(old, new, True)
        return Restated(np.ones_like(shift), shift, old - new, divergence)

    def jacobian(self, mean: Any) -> tuple[Floats, Floats, Floats]:
        """Log x + log(1 - x) = log mean + log(1 - mean) + (1 - 2 mean) first - 2 deviance."""
        return np.log(mean) + np.log1p(-mean), 1 - 2 * mean, np.full_like(mean, -2.0)

    def peak(self, mean: Any, conc: Any) -> Floats:
        """Return the log-density at the mean times mean (1 - mean)."""
        a, b = mean * conc, (1 - mean) * conc
        errors = stirling_error(conc) - stirling_error(a) - stirling_error(b)
        return 0.5 * (np.log(a) + np.log1p(-mean) - np.log(2 * np.pi)) + errors

    def expected(self, mean: Any, conc: Any) -> tuple[Floats, Floats]:
        """Return f(b) - f(a) and mean f(a) + (1 - mean) f(b) - f(precision),  f(y) = log y - digamma(y)."""
        up, down = (log_less_digamma(part * conc) for part in (mean, 1 - mean))
        return down - up, mean * up + (1 - mean) * down - log_less_digamma(conc)

    def best(self, stats: Stats, mean: Floats, conc: Floats, moves: Any, most: Floats) -> tuple[Floats, Floats]:
        """Climb by Fisher's scoring; a step that does not gain is halved."""
        start, about = np.array(mean), np.clip(conc, LEAST, np.where(moves[1], most, np.inf))
        own = stats / stats[0]
        mean, conc = start, about
        value = self._value(own, start, mean, conc)
        going = np.ones(len(mean), dtype=bool)
        for _ in range(ENOUGH_STEPS):
            step, gain = self._step(own, start, mean, conc, moves, most)
            going &= gain > DIGITS
            if not going.any():
                break
            for _ in range(HALVES):
                moved = self.unlink(self.link(mean) + step[0]), np.clip(conc * np.exp(step[1]), LEAST, most)
                there = [np.where(going & moves[i], moved[i], (mean, conc)[i]) for i in (0, 1)]
                found = self._value(own, start, *there)
                good = (found >= value) | (gain < SURE)
                if good[going].all():
                    break
                step = [np.where(good, part, part / 4) for part in step]
            mean, conc = (np.where(going & good, new, old) for new, old in zip(there, (mean, conc), strict=True))
            going, value = going & good, np.where(good, found, value)
        return mean, conc

    def _value(self, stats: Stats, about: Floats, mean: Floats, conc: Floats) -> Floats:
        """Return the mean log-density, without the Jacobian."""
        by = self.restated(about, mean)
        with np.errstate(all="ignore"):  # of a step too far, which is taken back
            return self.peak(mean, conc) - conc * (stats[2] + by.c * stats[1] + by.e)

    def _step(
        self, stats: Stats, about: Floats, mean: Floats, conc: Floats, moves: Any, most: Floats
    ) -> tuple[list[Floats], Floats]:
        """Return Fisher's scoring step in logit mean and log precision, and twice the gain that it promises."""
        by, usual, away = self.restated(about, mean), self.expected(mean, conc), mean * (1 - mean)
        slope_mean = away * conc * (stats[1] + by.b - usual[0])
        slope_conc = conc * (usual[1] - (stats[2] + by.c * stats[1] + by.e))
        up, down, whole = (trigamma_excess(part * conc) for part in (mean, 1 - mean, np.ones_like(mean)))
        first = away**2 * conc**2 * (up + down) + away * conc
        cross = away * conc**2 * (mean * up - (1 - mean) * down)
        second = conc**2 * (mean**2 * up + (1 - mean) ** 2 * down - whole)
        at_end = ((slope_conc > 0) & (conc >= most)) | ((slope_conc < 0) & (conc <= LEAST))
        free = [moves[0], moves[1] & ~at_end]
        slope_mean, slope_conc = np.where(free[0], slope_mean, 0.0), np.where(free[1], slope_conc, 0.0)
        cross = np.where(free[0] & free[1], cross, 0.0)
        determinant = first * second - cross**2
        step = [
            np.where(free[0], (second * slope_mean - cross * slope_conc) / determinant, 0.0),
            np.where(free[1], (first * slope_conc - cross * slope_mean) / determinant, 0.0),
        ]
        gain = step[0] * slope_mean + step[1] * slope_conc
        return [np.clip(part, -LONGEST_STEP, LONGEST_STEP) for part in step], gain

    def link(self, mean: Any) -> Floats:
        """Return logit mean."""
        return np.log(mean) - np.log1p(-mean)

    def unlink(self, coordinate: Any) -> Floats:
        """Return expit(coordinate), between 0 and 1."""
        return np.clip(expit(coordinate), TINY, BELOW_ONE)

    def steepness(self, mean: Any, conc: Any) -> Floats:
        """Return mean (1 - mean) precision."""
        return mean * (1 - mean) * conc

    def noise(self, mean: Any, conc: Any) -> Floats:
        """Return 1 / sqrt(mean (1 - mean) (1 + precision))."""
        return 1 / np.sqrt(mean * (1 - mean) * (1 + conc))

    def affinity(self, params: BetaParams, other: BetaParams) -> Floats:
        """Return the log Bhattacharyya coefficient of products of beta distributions."""
        parts = [(mean * conc, (1 - mean) * conc) for mean, conc in params_of(params, other)]
        a, b = ((one + two) / 2 for one, two in zip(*parts, strict=True))
        own = sum(0.5 * betaln(*part) for part in parts)
        return np.minimum(betaln(a, b) - own, 0.0).sum(axis=-1)

    def _drawn(self, mean: Floats, conc: Floats, rng: np.random.Generator) -> Floats:
        """Draw shares between 0 and 1."""
        return np.clip(rng.beta(mean * conc, (1 - mean) * conc), TINY, BELOW_ONE)
