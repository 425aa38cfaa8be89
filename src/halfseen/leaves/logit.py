"""Mixing weights that depend on covariates: a multinomial logit, as the leaf `mix` of a mixture.

    p[n, k] = exp(z[n] . b[:, k]) / sum_j exp(z[n] . b[:, j])

`b` is the (P, K) array of coefficients, the first row the intercepts. Adding a number to a row changes no probability:
every row sums to 0, so that no class is special; tables show differences from a reference class.

The M-step has no closed form, and statistics must add up over chunks. They are the value, gradient g and curvature H of
the expected log-likelihood Q at the current coefficients. Along a direction d, with r the largest difference of z . d
between two classes over all rows, the third derivative of log sum exp is at most r times the second, so that

    Q(b + d) >= Q(b) + g . d - d' H d (exp(r) - r - 1) / r^2                                (the bound, `complete`)

The step is that of Newton's method, d = H^-1 g, times log(1 + r) / r, where the bound along it is largest: the
objective never falls, and near the maximum the step is Newton's own. r is bounded by the largest absolute value of each
column of z, which the leaf knows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from halfseen.assign import Assign
from halfseen.leaves.leaf import NO_MASS, ROUNDING, Floats, Leaf, Slopes, Stats, frozen, lacking, n_rows
from halfseen.leaves.limits import FREE, Limits

BLOCK = "(covariates)"  # the block of a table that has them: (N, P), ones first, the others in units of their spread
FLAT = 1e-10  # of a row's curvature, for each row: directions in which nothing changes any more


@dataclass(frozen=True, eq=False)
class Logit(Leaf):
    """Probabilities of K components given P covariates; the parameters are the (P, K) coefficients.

    Statistics, (2 + P + P K P, K): expected counts of the components; value, gradient and curvature of the expected
    log-likelihood under the parameters that the usage was inferred with.

        stats[0, k]                    sum_n usage[n, k]
        stats[1, k]                    sum_n usage[n, k] log p[n, k]
        stats[2 + p, k]                sum_n z[n, p] (usage[n, k] - w[n] p[n, k]),     w[n] = sum_k usage[n, k]
        stats[2 + P:, k] as (P, K, P)  sum_n w[n] z[n, p] z[n, q] p[n, k] ([k = l] - p[n, l]),    index p, l, q

    Parameters
    ----------
    n_components : int
    largest : (P,) array              largest absolute value of each column of the covariates
    pseudo : (K,) array, optional     prior: pseudo-rows of each component, at points with the spread of the covariates

    Examples
    --------
    >>> import numpy as np
    >>> from halfseen.assign import SOFT
    >>> leaf = Logit(2, np.ones(2))
    >>> b = np.array([[0.0, 0.0], [-1.0, 1.0]])
    >>> np.exp(leaf.score(b, {BLOCK: np.array([[1.0, 0.0], [1.0, 1.0]])}, SOFT)).round(3)
    array([[0.5  , 0.5  ],
           [0.119, 0.881]])
    """

    n_components: int
    largest: Floats
    pseudo: Floats | None = None
    axes = (1,)
    stats_axis = 1

    @property
    def n_covariates(self) -> int:
        """Number of columns, P, the intercept included."""
        return len(self.largest)

    @property
    def integrates(self) -> bool:
        """One M-step is one Newton step: EM goes on when assignments are unchanged."""
        return True

    @property
    def stats_shape(self) -> tuple[int, ...]:
        """Counts, value, gradient and curvature."""
        return (2 + self.n_covariates * (1 + self.n_components * self.n_covariates), self.n_components)

    def blank(self) -> Floats:
        """Return equal probabilities for all rows."""
        return frozen(np.zeros((self.n_covariates, self.n_components)))

    def from_shares(self, shares: Floats) -> Floats:
        """Return coefficients of the same probabilities, (K,), for all rows."""
        params = np.zeros((self.n_covariates, self.n_components))
        params[0] = np.log(np.maximum(shares, np.finfo(np.float64).tiny))
        return _centred(params)

    def shares(self, stats: Stats) -> Floats:
        """Return the mean probabilities of the components over the rows of some statistics, (K,)."""
        total: Floats = stats[0] - stats[2]
        total = np.maximum(total, 0.0)
        return total / total.sum()

    def score(self, prepared: Floats, data: Any, assign: Assign) -> Floats:
        """Return the log-probabilities, (N, K)."""
        found: Floats = log_softmax(data[BLOCK] @ prepared, axis=1)
        return found

    def expect(self, usage: Floats, prepared: Floats, data: Any, assign: Assign, out: Stats) -> int:
        """Add the statistics of a chunk."""
        self._add(usage, prepared, data[BLOCK], out)
        return 0

    def _add(self, usage: Floats, params: Floats, z: Floats, out: Stats) -> None:
        log_p = log_softmax(z @ params, axis=1)
        p = np.exp(log_p)
        mass = usage.sum(axis=1, keepdims=True)
        n_covariates = self.n_covariates
        out[0] += usage.sum(axis=0)
        out[1] += np.where(usage > 0, usage * log_p, 0.0).sum(axis=0)
        out[2 : 2 + n_covariates] += z.T @ (usage - mass * p)
        curvature = self._curvature(out)
        each = (z[:, :, None] * p[:, None, :]).reshape(len(z), -1)  # (N, P K)
        cross = (each.T @ (mass * each)).reshape(n_covariates, self.n_components, n_covariates, self.n_components)
        curvature -= cross.transpose(0, 3, 2, 1)
        own = each.T @ (mass * z)  # (P K, P)
        for k in range(self.n_components):
            curvature[:, k, :, k] += own.reshape(n_covariates, self.n_components, n_covariates)[:, k]

    def _curvature(self, stats: Stats) -> Floats:
        """Return the curvature as a view, (P, K, P, K): covariate, other component, covariate, component."""
        size, k = self.n_covariates, self.n_components
        return stats[2 + size :].reshape(size, k, size, k)

    def curvature(self, stats: Stats) -> Floats:
        """Return the curvature of the expected log-likelihood, (P K, P K)."""
        return self._quadratic(stats)[1]

    def _quadratic(self, stats: Stats) -> tuple[Floats, Floats]:
        """Return gradient (P K,) and curvature (P K, P K)."""
        size = self.n_covariates * self.n_components
        curvature = self._curvature(stats).transpose(0, 3, 2, 1).reshape(size, size)
        return stats[2 : 2 + self.n_covariates].ravel(), curvature

    def _range(self, move: Floats) -> float:
        """Return a bound of the largest difference that a move makes between two components in any row."""
        apart = np.abs(move[:, :, None] - move[:, None, :])
        return float(np.tensordot(self.largest, apart, 1).max(initial=0.0))

    def settled(self, data: Any) -> NDArray[np.bool_]:
        """No row is: statistics depend on the parameters, also of rows of a known component."""
        return np.zeros(n_rows(data), dtype=bool)

    def maximise(self, stats: Stats, params: Floats, limits: Limits = FREE) -> Floats:
        """Return the coefficients after a Newton step, shortened so that the objective cannot fall."""
        gradient, curvature = self._quadratic(stats)
        sizes, directions = np.linalg.eigh(curvature)
        used = sizes > FLAT * max(stats[0].sum(), NO_MASS)
        inside = directions[:, used]
        move = _centred((inside @ ((inside.T @ gradient) / sizes[used])).reshape(params.shape))
        far = self._range(move)
        return _centred(params + move * (np.log1p(far) / far if far > 1e-8 else 1.0))

    def complete(self, stats: Stats, about: Floats, params: Floats) -> float:
        """Return the lower bound of the expected log-likelihood at `params`; exact where these are `about`."""
        gradient, curvature = self._quadratic(stats)
        move = (params - about).ravel()
        value = float(stats[1].sum())
        if not move.any():
            return value
        bend = float(move @ curvature @ move)
        return value + float(gradient @ move) - (bend * _growth(self._range(params - about)) if bend > 0 else 0.0)

    def recentre(self, stats: Stats, about: Floats, onto: Floats) -> Stats:
        """Return value and gradient restated for parameters nearby: to second and first order."""
        move = (onto - about).ravel()
        if not move.any():
            return stats
        gradient, curvature = self._quadratic(stats)
        found = stats.copy()
        found[1] += (gradient @ move - 0.5 * move @ curvature @ move) / self.n_components
        found[2 : 2 + self.n_covariates] -= (curvature @ move).reshape(onto.shape)
        return found

    def prior(self, params: Floats) -> Stats | None:
        """Return pseudo-rows, spread over points with the mean and the variances of the covariates.

        They are at a distance of sqrt(P - 1) standard deviations along each covariate, to both sides.
        """
        if self.pseudo is None:
            return None
        stats = np.zeros(self.stats_shape)
        points = self._points()
        self._add(np.tile(self.pseudo / len(points), (len(points), 1)), params, points, stats)
        return stats

    def _points(self) -> Floats:
        n_others = self.n_covariates - 1
        far = np.sqrt(n_others) * np.eye(n_others)
        apart = np.concatenate([far, -far]) if n_others else np.zeros((1, 0))
        return np.column_stack([np.ones(len(apart)), apart])

    def rounding(self, stats: Stats, params: Floats) -> float:
        """Return a share of the value and of the counts; gradients and curvatures are no terms of the objective."""
        return ROUNDING * float(np.abs(stats[:2]).sum())

    def jitter(self, params: Floats, amount: float, rng: np.random.Generator) -> Floats:
        """Return coefficients moved at random."""
        return _centred(params + amount * rng.standard_normal(params.shape))

    def conform(self, params: Floats, like: Floats, limits: Limits = FREE) -> Floats:
        """Return coefficients whose rows sum to 0."""
        return _centred(params)

    def n_free(self, limits: Limits = FREE) -> int:
        """Return P (K - 1)."""
        return self.n_covariates * (self.n_components - 1)

    def pack(self, params: Floats) -> Floats:
        """Return the coefficients as one vector; their units are those of the standardised covariates."""
        return _centred(params).ravel()

    def unpack(self, vector: Floats, like: Floats) -> Floats:
        """Invert `pack`."""
        return _centred(vector.reshape(like.shape))

    def free(self, params: Floats, limits: Limits = FREE) -> Floats:
        """Return the coefficients: they are not constrained."""
        return params.ravel()

    def freed(self, vector: Floats, like: Floats, limits: Limits = FREE) -> Floats:
        """Invert `free`."""
        return _centred(vector.reshape(like.shape))

    def slope(self, stats: Stats, params: Floats, limits: Limits = FREE) -> Floats:
        """Return the gradient."""
        return _centred(stats[2 : 2 + self.n_covariates]).ravel()

    def slopes(self, params: Floats, data: Any, component: int, limits: Limits = FREE) -> Slopes:
        """values[n, (p, j)] = z[n, p] ([j = component] - p[n, j])."""
        z = data[BLOCK]
        apart = np.eye(self.n_components)[component] - np.exp(log_softmax(z @ params, axis=1))
        values = (z[:, :, None] * apart[:, None, :]).reshape(len(z), -1)
        return Slopes(np.arange(values.shape[1]), values)

    def reorder(self, stats: Stats, order: NDArray[np.int64]) -> Stats:
        """Return the statistics with components in another order, along both axes of the curvature."""
        found = np.take(stats, order, axis=1)
        self._curvature(found)[:] = np.take(self._curvature(found), order, axis=1)
        return found

    def sample(self, params: Floats, components: NDArray[np.int64], rng: np.random.Generator) -> Any:
        """Refuse: components are drawn given covariates."""
        raise lacking(self, "sample", "Draw components from its probabilities, given covariates.")

    def impute(self, params: Floats, data: Any, resp: Floats, rng: np.random.Generator | None) -> Any:
        """Refuse: covariates are not imputed."""
        raise lacking(self, "impute", "Covariates are not imputed.")

    def affinity(self, params: Floats, other: Floats) -> Floats:
        """Refuse: it has no distribution over rows."""
        raise lacking(self, "affinity", "Mixing weights do not overlap.")


def _growth(far: float) -> float:
    """Return (exp(r) - r - 1) / r^2, which is 1/2 at 0."""
    if far < 1e-4:
        return 0.5 + far / 6
    return float((np.expm1(min(far, 700.0)) - far) / far**2)


def _centred(params: Floats) -> Floats:
    """Return coefficients whose rows sum to 0."""
    return frozen(params - params.mean(axis=1, keepdims=True))
