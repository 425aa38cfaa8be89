"""Columns of numbers above 0 whose logarithm is normal within a component.

    log p(x) = log Normal(log x; mean, var) - log x

The last term, the Jacobian, puts log-likelihoods on the scale of the cells themselves, so that kinds can be compared.
It does not depend on the parameters. Statistics are those of `Gaussian` for log x, which hold the sum of log x as well:

    sum_n usage[n, k] seen[n, d] log x[n, d] = stats[1, k, d] + mean[k, d] stats[0, k, d]
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from halfseen.assign import Assign
from halfseen.leaves.exact import Joined, Weights
from halfseen.leaves.gaussian import Gaussian, GaussianParams
from halfseen.leaves.leaf import ROUNDING, Floats, Slopes, Stats
from halfseen.leaves.limits import FREE, Limits

LARGEST_LOG = 709.0  # of a number that a float can hold
SMALLEST_LOG = -708.0


class LogNormal(Gaussian):
    """A block of D columns of numbers above 0; means and variances are those of the logarithms.

    The arguments are those of `Gaussian`, for the logarithms.

    Examples
    --------
    >>> import numpy as np
    >>> leaf = LogNormal(1, np.zeros(1), np.ones(1))
    >>> start = leaf.blank()
    >>> stats = np.zeros(leaf.stats_shape)
    >>> _ = leaf.expect(np.ones((3, 1)), start, np.array([[1.0], [np.e**2], [np.nan]]), None, stats)
    >>> leaf.maximise(stats, start)
    GaussianParams(mean=array([[1.]]), var=array([[1.]]))
    """

    def score(self, prepared: GaussianParams, data: Any, assign: Assign | None) -> Floats:
        """scores[n, k] = sum over observed d of log Normal(log x[n, d]; mean[k, d], var[k, d]) - log x[n, d]."""
        logs = np.log(data)
        return super().score(prepared, logs, assign) - np.nansum(logs, axis=1)[:, None]

    def expect(self, usage: Floats, prepared: GaussianParams, data: Any, assign: Assign | None, out: Stats) -> int:
        """Add the moments of the logarithms about the current mean."""
        return super().expect(usage, prepared, np.log(data), assign, out)

    def count(self, component: NDArray[np.int64], weight: Floats, prepared: Any, data: Any, out: Stats) -> None:
        """Add the moments of the logarithms of rows of a known component."""
        super().count(component, weight, prepared, np.log(data), out)

    def tally(
        self, component: NDArray[np.int64], weight: Floats, cut: Weights, prepared: Any, data: Any
    ) -> Joined | None:
        """Return the moments of the logarithms without rounding."""
        return super().tally(component, weight, cut, prepared, np.log(data))

    def complete(self, stats: Stats, about: GaussianParams, params: GaussianParams) -> float:
        """As of the logarithms, less their sum."""
        return super().complete(stats, about, params) - float(np.sum(stats[1] + about.mean * stats[0]))

    def rounding(self, stats: Stats, params: GaussianParams) -> float:
        """As of the logarithms, and of their sum."""
        return super().rounding(stats, params) + ROUNDING * float(np.sum(np.abs(params.mean) * stats[0]))

    def slopes(self, params: GaussianParams, data: Any, component: int, limits: Limits = FREE) -> Slopes | None:
        """As of the logarithms."""
        return super().slopes(params, np.log(data), component, limits)

    def sample(self, params: GaussianParams, components: NDArray[np.int64], rng: np.random.Generator) -> Any:
        """Draw numbers, (N, D)."""
        return _number(super().sample(params, components, rng))

    def impute(self, params: GaussianParams, data: Any, resp: Floats, rng: np.random.Generator | None) -> Any:
        """Fill NaN with the mean sum_k resp[n, k] exp(mean[k, d] + var[k, d] / 2), or a draw."""
        if rng is None:
            filling = resp @ _number(params.mean + params.var / 2)
        else:
            noise = rng.standard_normal((len(resp), len(self.scale)))
            filling = _number(resp @ params.mean + np.sqrt(resp @ params.var) * noise)
        return np.where(np.isnan(data), filling, data)


def _number(logs: Floats) -> Floats:
    """Return exp(logs), a number above 0."""
    return np.exp(np.clip(logs, SMALLEST_LOG, LARGEST_LOG))
