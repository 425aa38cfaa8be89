"""A leaf with latent content, for tests: a negative binomial through the gamma behind it, without optional methods.

    rate ~ Gamma(size, size / mean),  x | rate ~ Poisson(rate):   E[x] = mean,  Var[x] = mean + mean^2 / size

Given x the rate is Gamma(size + x, size / mean + 1). Statistics, (4, K, D): mass, sum E[rate], sum E[log rate], and the
sum of E[log p(x | rate)], which does not depend on the parameters.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import digamma, gammaln

from halfseen.leaves.leaf import NO_MASS, Latent, Leaf, frozen

LARGEST = 1e6  # size: practically Poisson


class Rates(NamedTuple):
    """Means and sizes, (K, D)."""

    mean: np.ndarray
    size: np.ndarray


def _size(gap):
    """The size at which log(size) - digamma(size) = gap."""
    return brentq(lambda a: np.log(a) - digamma(a) - gap, 1e-6, LARGEST) if gap > 1 / LARGEST else LARGEST


@dataclass(frozen=True, eq=False)
class NegativeBinomial(Leaf):
    n_components: int
    n_columns: int
    has_latent = True
    stats_axis = 1

    @property
    def stats_shape(self):
        return (4, self.n_components, self.n_columns)

    def blank(self):
        ones = np.ones((self.n_components, self.n_columns))
        return Rates(frozen(ones), frozen(ones))

    def score(self, prepared, data, assign):
        x, (mean, size) = np.asarray(data, dtype=np.float64)[:, None, :], prepared
        logs = gammaln(size + x) - gammaln(size) - gammaln(x + 1)
        logs = logs + size * np.log(size / (size + mean)) + x * np.log(mean / (size + mean))
        return np.nansum(logs, axis=2)

    @staticmethod
    def _posterior(prepared, data):
        """Shape and rate of the latent gammas, (N, K, D); NaN for a missing cell."""
        x = np.asarray(data, dtype=np.float64)[:, None, :]
        return x, prepared.size + x, np.where(np.isnan(x), np.nan, prepared.size / prepared.mean + 1)

    def expect(self, usage, prepared, data, assign, out):
        x, shape, rate = self._posterior(prepared, data)
        mean, log = shape / rate, digamma(shape) - np.log(rate)
        for s, part in enumerate((np.ones_like(mean), mean, log, x * log - mean - gammaln(x + 1))):
            out[s] += np.nansum(usage[:, :, None] * np.where(np.isnan(x), np.nan, part), axis=0)
        return 0

    def maximise(self, stats, params, limits=None):
        mean, size = np.array(params.mean), np.array(params.size)
        for place in zip(*np.nonzero(stats[0] > NO_MASS), strict=True):
            mass, total, logs, _ = stats[(slice(None), *place)]
            mean[place] = total / mass
            size[place] = _size(np.log(total / mass) - logs / mass)
        return Rates(frozen(mean), frozen(size))

    def complete(self, stats, about, params):
        mass, total, logs, poisson = stats
        mean, size = params
        gamma = mass * (size * np.log(size / mean) - gammaln(size)) + (size - 1) * logs - size / mean * total
        return float(np.sum(gamma + poisson))

    def latent(self, about, params, data, usage):
        _, a, b = self._posterior(about, data)
        _, c, d = self._posterior(params, data)
        entropy = a - np.log(b) + gammaln(a) + (1 - a) * digamma(a)
        kl = (a - c) * digamma(a) - gammaln(a) + gammaln(c) + c * (np.log(b) - np.log(d)) + a * (d - b) / b
        return Latent(*(float(np.nansum(usage[:, :, None] * part)) for part in (entropy, kl)))

    def jitter(self, params, amount, rng):
        return Rates(*(frozen(part * np.exp(amount * rng.standard_normal(part.shape))) for part in params))

    def feasible(self, params, limits=None):
        return all((part > 0).all() for part in params)

    def conform(self, params, like, limits=None):
        return params

    def sample(self, params, components, rng):
        rate = rng.gamma(params.size[components], params.mean[components] / params.size[components])
        return rng.poisson(rate).astype(np.float64)

    def impute(self, params, data, resp, rng):
        return np.where(np.isnan(data), resp @ params.mean, data)

    def n_free(self, limits=None):
        return 2 * self.n_components * self.n_columns

    def affinity(self, params, other):
        return -np.abs(np.log(params.mean)[:, None] - np.log(other.mean)).sum(axis=2)
