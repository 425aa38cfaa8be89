"""A block of numbers, jointly normal within a component: full covariance, one for each component or one for all.

Statistics, (K, 2 + D + D D): of each component, about its current mean,

    mass, pseudo-mass, first[d] = sum_n usage[n] e[n, d], second[d, e] = sum_n usage[n] (e[n, d] e[n, e] + c[n, d, e])

where e[n] = E[x[n] | observed] - mean and c[n] is the conditional covariance of the missing cells, zero elsewhere.
The pseudo-mass, zero in data, counts for the covariance alone. A row without any observed cell adds nothing.

Missing cells are worked out on the precision side: with P = cov^-1, missing cells m and observed cells o,

    e[m] = -P[m, m]^-1 P[m, o] e[o],   c[m, m] = P[m, m]^-1,   log |cov[o, o]| = log |cov| + log |P[m, m]|

so that few missing cells cost little. The quadratic form of the observed cells is that of the completed row: a sum of
squares, in which nothing cancels.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dtrtri
from scipy.special import gammaincinv, ndtri, stdtrit

from halfseen.assign import Assign
from halfseen.errors import FitError, ParameterError
from halfseen.kernels import active as kernels
from halfseen.kernels.missing_cells import complete_rows, patterns
from halfseen.leaves.gaussian import PseudoRows, lowest_variances, plain_columns
from halfseen.leaves.leaf import NO_MASS, ROUNDING, Floats, Latent, Leaf, Slopes, Stats, frozen
from halfseen.leaves.limits import FREE, Limits

LOG_2PI = float(np.log(2 * np.pi))
NEAR_FLOOR = 1e-7  # an eigenvalue this close to its floor, relatively, is on it
DIGITS = 1e-14  # of the largest eigenvalue: what rounding moves the smallest by
TRIES = 1000  # draws before a floor that cuts nearly all of them off is reported
SEVERAL = 1000  # draws of the missing cells of a row that are made one by one
EPS = 100 * np.finfo(np.float64).eps  # of sums of a few entries
COARSE = 1e-9  # distance of a mean from the nearest float, in units of the scale, that matters
LEAST_FREEDOM = 0.1  # beyond D - 1 of an inverse Wishart density: at 0 it has no integral
FARTHEST = 1e150  # distance of a mean from 0, in units of its covariance, whose square is finite


class NormalParams(NamedTuple):
    """Means, (K, D), and covariances, (K, D, D)."""

    mean: Floats
    cov: Floats

    @property
    def var(self) -> Floats:
        """Variances, (K, D)."""
        return np.diagonal(self.cov, axis1=-2, axis2=-1)


class Factors(NamedTuple):
    """What scores and expectations need of the parameters.

    Attributes
    ----------
    mean : (K, D) array
    factor : (K, D, D) array       upper triangular U with cov^-1 = U U'; NaN where the covariance is singular
    precision : (K, D, D) array    cov^-1
    offset : (K,) array            log-density at the mean
    """

    mean: Floats
    factor: Floats
    precision: Floats
    offset: Floats


class Parts(NamedTuple):
    """Views of the statistics by component."""

    mass: Floats  # (K,)
    pseudo: Floats  # (K,)
    first: Floats  # (K, D)
    second: Floats  # (K, D, D)


class _Fixed(NamedTuple):
    """Which components keep their mean, and which their covariance, (K,)."""

    mean: NDArray[np.bool_]
    cov: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Normal(Leaf):
    """A block of D columns with a mean and a covariance per component.

    Parameters
    ----------
    n_components : int
    centre, scale : (D,) arrays
        Mean and standard deviation of each column over all rows: where to start, and the unit of floors and of
        acceleration. A floor f keeps every covariance at least diag(lowest), lowest = max(f scale^2, least): all
        eigenvalues in units of sqrt(lowest) are at least 1.
    pseudo : PseudoRows, optional
        Prior: pseudo-rows about the component's own mean, uncorrelated, with these variances (inverse Wishart).
    tied : bool
        Whether all components share one covariance.
    least : (D,) array, optional
        Smallest variance of each column by the resolution of its numbers, 0 where they have none. An eigenvalue at this
        floor is no collapse.

    Means and covariances are fixed for whole components, a tied covariance for all of them.

    Examples
    --------
    >>> import numpy as np
    >>> leaf = Normal(1, np.zeros(2), np.ones(2))
    >>> start = leaf.blank()
    >>> stats = np.zeros(leaf.stats_shape)
    >>> rows = np.array([[1.0, 2.0], [3.0, 6.0], [np.nan, np.nan]])
    >>> _ = leaf.expect(np.ones((3, 1)), leaf.prepare(start), rows, None, stats)
    >>> leaf.maximise(stats, start)
    NormalParams(mean=array([[2., 4.]]), cov=array([[[1., 2.], [2., 4.]]]))
    """

    has_latent = True  # missing cells

    n_components: int
    centre: Floats
    scale: Floats
    pseudo: PseudoRows | None = None
    tied: bool = False
    least: Floats | None = None

    @property
    def stats_shape(self) -> tuple[int, ...]:
        """Mass, pseudo-mass, first and second moments: (K, 2 + D + D D)."""
        return (self.n_components, 2 + self._width + self._width**2)

    @property
    def _width(self) -> int:
        return len(self.scale)

    @cached_property
    def _unit(self) -> Floats:
        """The unit of every covariance, (D, D)."""
        return np.outer(self.scale, self.scale)

    def parts(self, stats: Stats) -> Parts:
        """Return views of the statistics."""
        width = self._width
        return Parts(
            stats[:, 0], stats[:, 1], stats[:, 2 : 2 + width], stats[:, 2 + width :].reshape(len(stats), width, width)
        )

    def blank(self) -> NormalParams:
        """Return the centre and scale of the columns, alike in all components, without correlation."""
        mean = np.tile(self.centre, (self.n_components, 1))
        return NormalParams(frozen(mean), frozen(np.tile(np.diag(self.scale**2), (self.n_components, 1, 1))))

    def prepare(self, params: NormalParams) -> Factors:
        """Factor every covariance."""
        factor = self._spread(_factors(self._covs(params)))
        precision = factor @ factor.transpose(0, 2, 1)
        offset = np.log(np.diagonal(factor, axis1=1, axis2=2)).sum(axis=1) - 0.5 * self._width * LOG_2PI
        return Factors(np.ascontiguousarray(params.mean), factor, precision, offset)

    def score(self, prepared: Factors, data: Any, assign: Assign | None) -> Floats:
        """scores[n, k] = log Normal(observed cells of x[n]; mean[k], cov[k])."""
        scores = np.zeros((len(data), self.n_components))
        kernels.normal_score(np.ascontiguousarray(data), *prepared, scores)
        return scores

    def expect(self, usage: Floats, prepared: Factors, data: Any, assign: Assign | None, out: Stats) -> int:
        """Add the moments of completed rows about the current mean; missing cells are drawn with `assign.latent`."""
        if assign is not None and assign.latent:
            assert assign.rng is not None
            self._expect_drawn(usage, prepared, data, assign.rng, out)
        else:
            kernels.normal_expect(np.ascontiguousarray(data), prepared.mean, prepared.precision, usage, out)
        return 0

    def _expect_drawn(self, usage: Floats, prepared: Factors, data: Any, rng: np.random.Generator, out: Stats) -> None:
        """Add the moments of rows whose missing cells are drawn anew for each of their uses.

        Up to SEVERAL uses are drawn one by one, a fraction of a use as one more draw. Of many the sums are drawn: their
        mean is normal, and what they scatter about it Wishart.
        """
        hidden = np.isnan(data).any(axis=1)
        for k in range(self.n_components):
            one, many = slice(k, k + 1), hidden & (usage[:, k] > max(SEVERAL, 2 * self._width))
            seen = np.where(hidden, 0.0, usage[:, k])
            kernels.normal_expect(
                np.ascontiguousarray(data), prepared.mean[one], prepared.precision[one], seen[:, None], out[one]
            )
            single = np.where(many, 0.0, usage[:, k] - seen)
            whole = np.ceil(single).astype(np.int64)
            rows = np.repeat(np.arange(len(data)), whole)
            share = np.minimum(single[rows] - _places(whole), 1.0)
            drawn = self._filled(prepared, data[rows], k, rng)
            kernels.normal_expect(drawn, prepared.mean[one], prepared.precision[one], share[:, None], out[one])
            for n in np.flatnonzero(many):
                self._add_drawn(float(usage[n, k]), prepared, data[n : n + 1], k, rng, out[one])

    def _add_drawn(
        self, used: float, prepared: Factors, row: Any, k: int, rng: np.random.Generator, out: Stats
    ) -> None:
        """Add the moments of one row whose missing cells are drawn many times."""
        missing = np.isnan(row[0])
        if missing.all():
            return
        deviation, inner = complete_rows(row, missing, prepared.mean[k], prepared.precision[k])
        parts, middle = self.parts(out), deviation[0]
        if missing.any():  # with inner inner' the precision of the missing cells, inner'^-1 z has their covariance
            spread = np.linalg.inv(inner).T
            middle = middle.copy()
            middle[missing] += spread @ rng.standard_normal(len(inner)) / np.sqrt(used)
            triangle = np.tril(rng.standard_normal(inner.shape), -1)
            triangle += np.diag(np.sqrt(rng.chisquare(used - 1 - np.arange(len(inner)))))
            parts.second[0][np.ix_(missing, missing)] += spread @ triangle @ triangle.T @ spread.T
        parts.mass[0] += used
        parts.first[0] += used * middle
        parts.second[0] += used * np.outer(middle, middle)

    def count(self, component: NDArray[np.int64], weight: Floats, prepared: Factors, data: Any, out: Stats) -> None:
        """Add the moments of rows of a known component."""
        for k in range(self.n_components):
            one, rows = slice(k, k + 1), np.flatnonzero(component == k)
            if len(rows):
                kernels.normal_expect(
                    np.ascontiguousarray(data[rows]),
                    prepared.mean[one],
                    prepared.precision[one],
                    weight[rows, None],
                    out[one],
                )

    def settled(self, data: Any) -> NDArray[np.bool_] | None:
        """Rows in which all cells are observed, or none: others are completed anew in every iteration."""
        missing = np.isnan(data)
        return missing.all(axis=1) | ~missing.any(axis=1) if missing.any() else None

    def latent(self, about: Factors, params: Factors, data: Any, usage: Floats) -> Latent:
        """Return entropy and divergence of the missing cells, which are normal given the observed ones."""
        entropy = kl = 0.0
        for rows, missing in patterns(data):
            if missing.all() or not missing.any():
                continue
            for k, used in enumerate(usage[rows].T):
                (here, inner), (there, other) = (
                    complete_rows(data[rows], missing, ready.mean[k], ready.precision[k]) for ready in (about, params)
                )
                entropy += used.sum() * (0.5 * len(inner) * (LOG_2PI + 1) - np.log(np.diagonal(inner)).sum())
                moved = (here - there + (about.mean[k] - params.mean[k]))[:, missing] @ other
                if not moved.any() and np.array_equal(inner, other):
                    continue  # the divergence is 0, not rounding
                ratio = np.linalg.solve(inner, other)
                logs = np.log(np.diagonal(inner)).sum() - np.log(np.diagonal(other)).sum()
                kl += 0.5 * used @ (moved**2).sum(axis=1) + used.sum() * (logs + 0.5 * ((ratio**2).sum() - len(inner)))
        return Latent(entropy, kl)

    def arrange(self, data: Any) -> NDArray[np.intp] | None:
        """Rows with the same cells missing one after the other, complete ones first."""
        missing = np.isnan(data)
        return np.lexsort(np.packbits(missing, axis=1).T[::-1]) if missing.any() else None

    # ---- estimation ----------------------------------------------------------------------------------------------

    def maximise(self, stats: Stats, params: NormalParams, limits: Limits = FREE) -> NormalParams:
        """mean + first / mass, and the second moment about that / (mass + pseudo-mass); no mass keeps the old.

        A tied covariance is the sum of the second moments over the sum of the masses. A floor lifts the eigenvalues
        of the covariance, in units of the smallest variances, to 1: the exact maximiser under that constraint. With a
        fixed mean the second moment is about that mean.
        """
        fixed = self._fixed(limits)
        parts = self.parts(stats)
        shift = self._representable(self._shift(parts, fixed), params)
        scatter = self._scatter(parts, shift)
        total = parts.mass + parts.pseudo
        if self.tied:
            scatter, total = scatter.sum(axis=0, keepdims=True), total.sum(keepdims=True)
        known = total > NO_MASS
        cov = np.array(params.cov[: len(total)])
        cov[known] = self._lifted(scatter[known] / total[known, None, None], limits)
        cov = np.where(fixed.cov[:, None, None], params.cov, cov)
        return NormalParams(frozen(params.mean + shift), frozen(cov))

    def _shift(self, parts: Parts, fixed: _Fixed) -> Floats:
        """Return how far the best mean lies from the current one, (K, D)."""
        mass = parts.mass[:, None]
        shift = np.divide(parts.first, mass, out=np.zeros_like(parts.first), where=mass > NO_MASS)
        return np.where(fixed.mean[:, None], 0.0, shift)

    def _representable(self, shift: Floats, params: NormalParams) -> Floats:
        """Return shifts that lead to floats; 0 where the nearest float is farther from the best mean than the old mean.

        Numbers near 1e18 are 128 apart. Distances are those under the current covariance, so that a step to the mean
        and then one to the best covariance about it do not lower the objective.
        """
        moved = (params.mean + shift) - params.mean
        for k in np.flatnonzero((np.abs(moved - shift) > COARSE * self.scale).any(axis=1)):
            own = params.cov[k] / self._unit
            off, before = ((moved[k] - shift[k]) / self.scale, shift[k] / self.scale)
            if off @ np.linalg.lstsq(own, off)[0] > before @ np.linalg.lstsq(own, before)[0]:
                moved[k] = 0.0
        return moved

    def _scatter(self, parts: Parts, shift: Floats) -> Floats:
        """Return the second moments about a mean `shift` away from the current one, (K, D, D)."""
        crossed = shift[:, :, None] * parts.first[:, None]
        moved = parts.mass[:, None, None] * shift[:, :, None] * shift[:, None]
        scatter = parts.second - crossed - crossed.transpose(0, 2, 1) + moved
        return 0.5 * (scatter + scatter.transpose(0, 2, 1))

    def _lifted(self, cov: Floats, limits: Limits) -> Floats:
        """Return covariances with eigenvalues, in units of the smallest variances, of at least 1."""
        unit = self._floor_unit(limits)
        if unit is None or not len(cov) or not np.isfinite(cov).all() or self._above(cov, limits):
            return cov
        values, vectors = np.linalg.eigh(cov / unit)
        whole = (vectors * np.maximum(values, 1.0)[:, None]) @ vectors.transpose(0, 2, 1)
        low = values.min(axis=1) < 1
        return np.where(low[:, None, None], 0.5 * (whole + whole.transpose(0, 2, 1)) * unit, cov)

    def _floor_unit(self, limits: Limits) -> Floats | None:
        """Return the unit in which eigenvalues are at least 1, (D, D); None without a floor."""
        lowest = np.sqrt(lowest_variances(self, limits))
        return np.outer(lowest, lowest) if (lowest > 0).all() else None

    def _above(self, cov: Floats, limits: Limits) -> bool:
        """Whether all eigenvalues are above the floor: a factor exists of what is beyond it."""
        unit = self._floor_unit(limits)
        return _has_factor(cov / self._unit if unit is None else cov / unit - np.eye(self._width))

    def complete(self, stats: Stats, about: NormalParams, params: NormalParams) -> float:
        """-1/2 sum_k ((mass + pseudo-mass) log |2 pi cov| + trace(cov^-1 second moment about params.mean))."""
        parts = self.parts(stats)
        scatter = self._scatter(parts, params.mean - about.mean)
        prepared = self.prepare(params)
        traces = np.einsum("kde,kde->k", prepared.precision, scatter)
        return float(np.sum((parts.mass + parts.pseudo) * prepared.offset - 0.5 * traces))

    def rounding(self, stats: Stats, params: NormalParams) -> float:
        """As the terms of `complete`; entries of a covariance near singular say its inverse to a few digits only.

        Moments of known rows are gathered about the centre: what they lose is a share of these squares.
        """
        parts, prepared = self.parts(stats), self.prepare(params)
        mass = parts.mass + parts.pseudo
        traces = np.einsum("kde,kde->k", np.abs(prepared.precision), np.abs(parts.second))
        far = np.abs(params.mean - self.centre)
        moments = np.abs(params.cov) + far[:, :, None] * far[:, None]
        lost = np.einsum("kde,kde->k", np.abs(prepared.precision), moments)
        own = ROUNDING * np.sum(mass * (1 + np.abs(prepared.offset)) + 0.5 * traces)
        return float(own + EPS * np.sum(mass * lost))

    def _fixed(self, limits: Limits) -> _Fixed:
        """Return what is fixed, by component; refuse parts of a mean or of a covariance."""
        if limits.fixed is None:
            none = np.zeros(self.n_components, dtype=bool)
            return _Fixed(none, none)
        masks = [np.asarray(mask).reshape(self.n_components, -1) for mask in limits.fixed]
        for mask, what in zip(masks, ("mean", "covariance"), strict=True):
            if np.any(mask != mask[:, :1]):
                raise ParameterError(
                    f"Normal: a part of a {what} cannot be fixed exactly; fix all of it, or use a diagonal covariance."
                )
        fixed = _Fixed(masks[0][:, 0], masks[1][:, 0])
        if self.tied and fixed.cov.any() and not fixed.cov.all():
            raise ParameterError("Normal: a tied covariance is fixed for all components or for none.")
        return fixed

    def prior(self, params: NormalParams) -> Stats | None:
        """Return second moment and pseudo-mass of the pseudo-rows."""
        if self.pseudo is None:
            return None
        stats = np.zeros(self.stats_shape)
        parts = self.parts(stats)
        parts.pseudo[:] = self.pseudo.weight
        parts.second[:] = self.pseudo.weight[:, None, None] * np.diag(self.pseudo.var)
        return stats

    def recentre(self, stats: Stats, about: NormalParams, onto: NormalParams) -> Stats:
        """Return moments about onto.mean instead of about.mean."""
        moved = np.array(stats)
        parts = self.parts(moved)
        shift = onto.mean - about.mean
        parts.second[:] = self._scatter(parts, shift)
        parts.first[:] -= parts.mass[:, None] * shift
        return moved

    def pool(self, stats: Stats, groups: NDArray[np.int64]) -> Stats:
        """Return statistics in which each component has the sum over its group; tied ones make one group."""
        if self.tied and len(set(groups.tolist())) > 1:
            raise ParameterError("Tied: components that share a covariance can be tied all together, not in groups.")
        return super().pool(stats, groups)

    def widened(self, params: NormalParams, amount: float) -> NormalParams:
        """Return the parameters with `amount` added to every variance."""
        return NormalParams(params.mean, frozen(params.cov + amount * np.eye(self._width)))

    # ---- gradient methods ----------------------------------------------------------------------------------------

    def free(self, params: NormalParams, limits: Limits = FREE) -> Floats:
        """Return (mean - centre) / scale; and of the lower factor of cov / unit its rows, the diagonal in logs."""
        factor = np.array(np.linalg.cholesky(self._covs(params) / self._unit), dtype=np.float64)
        diagonal = np.arange(self._width)
        factor[:, diagonal, diagonal] = np.log(factor[:, diagonal, diagonal])
        return np.concatenate([((params.mean - self.centre) / self.scale).ravel(), self._triangle(factor).ravel()])

    def freed(self, vector: Floats, like: NormalParams, limits: Limits = FREE) -> NormalParams:
        """Invert `free`; eigenvalues below the floor are lifted to it."""
        mean, factor = self._cut(vector)
        diagonal = np.arange(self._width)
        with np.errstate(over="ignore", invalid="ignore"):  # what is infinite makes the data impossible: refused
            factor[:, diagonal, diagonal] = np.exp(factor[:, diagonal, diagonal])
            cov = factor @ factor.transpose(0, 2, 1) * self._unit
        return self.conform(NormalParams(self.centre + self.scale * mean, self._spread(cov)), like, limits)

    def slope(self, stats: Stats, params: NormalParams, limits: Limits = FREE) -> Floats:
        """Return scale * cov^-1 first, and 2 G L on the factor L of cov / unit, where G is the slope in cov / unit.

        G = 1/2 (P S P - (mass + pseudo-mass) P), P the precision and S the second moments in units of the scale. On a
        floor the part of G that would go below is left out.
        """
        fixed = self._fixed(limits)
        parts = self.parts(stats)
        precision = self.prepare(params).precision * self._unit
        mean = np.einsum("kde,ke->kd", precision, parts.first / self.scale)
        total = (parts.mass + parts.pseudo)[:, None, None]
        inside = 0.5 * (precision @ (parts.second / self._unit) @ precision - total * precision)
        covs = self._covs(params) / self._unit
        inside = inside.sum(axis=0, keepdims=True) if self.tied else inside
        inside = self._upward(inside, self._covs(params), limits)
        factor = np.linalg.cholesky(covs)
        slope = np.tril(2 * inside @ factor)
        diagonal = np.arange(self._width)
        slope[:, diagonal, diagonal] *= factor[:, diagonal, diagonal]
        slope[fixed.cov[: len(slope)]] = 0.0
        mean[fixed.mean] = 0.0
        return np.concatenate([mean.ravel(), self._triangle(slope).ravel()])

    def slopes(self, params: NormalParams, data: Any, component: int, limits: Limits = FREE) -> Slopes | None:
        """Return y and y (y' L) - P L on the factor L, with y = P away: `slope` of every complete row.

        Rows with some cells missing have latent content, and covariances on a floor do not move freely: None.
        """
        missing = np.isnan(data)
        gone = missing.all(axis=1)
        if limits.fixed is not None or (missing.any(axis=1) & ~gone).any() or self.collapsed(params, limits):
            return None
        precision = self.prepare(params).precision[component] * self._unit
        factor = np.linalg.cholesky(params.cov[component] / self._unit)
        away = np.where(missing, 0.0, (data - params.mean[component]) / self.scale)
        pulled = away @ precision
        inside = pulled[:, :, None] * (pulled @ factor)[:, None] - precision @ factor
        diagonal = np.arange(self._width)
        inside[:, diagonal, diagonal] *= np.diagonal(factor)
        inside[gone] = 0.0
        triangles = self._triangle(np.tril(inside)).reshape(len(inside), -1)
        means, first = self.n_components * self._width, 0 if self.tied else component * triangles.shape[1]
        at = [component * self._width + np.arange(self._width), means + first + np.arange(triangles.shape[1])]
        return Slopes(np.concatenate(at), np.concatenate([pulled, triangles], axis=1))

    def coupled(self, params: NormalParams, limits: Limits = FREE) -> NDArray[np.intp]:
        """Return the component of each coordinate; with a tied covariance all belong together."""
        if self.tied:
            return super().coupled(params, limits)
        component = np.arange(self.n_components)
        triangle = self._width * (self._width + 1) // 2
        return np.concatenate([np.repeat(component, self._width), np.repeat(component, triangle)])

    def _upward(self, slope: Floats, covs: Floats, limits: Limits) -> Floats:
        """Leave out what would push eigenvalues on the floor below it; `slope` is that in cov / unit."""
        unit = self._floor_unit(limits)
        if unit is None:
            return slope
        covs, change = covs / unit, unit / self._unit  # the slope in covs is that in cov / unit, times their ratio
        if _has_factor(covs - _on_floor(covs)[:, None, None] * np.eye(self._width)):
            return slope
        values, vectors = np.linalg.eigh(covs)
        turned = vectors.transpose(0, 2, 1) @ (slope * change) @ vectors
        for one, low in zip(turned, values <= _on_floor(covs)[:, None], strict=True):
            if low.any():
                block = np.ix_(low, low)
                inner, axes = np.linalg.eigh(one[block])
                one[block] = (axes * np.maximum(inner, 0.0)) @ axes.T
        return vectors @ turned @ vectors.transpose(0, 2, 1) / change

    # ---- the posterior of the parameters -------------------------------------------------------------------------

    def draw(self, stats: Stats, about: NormalParams, rng: np.random.Generator, limits: Limits = FREE) -> NormalParams:
        """Draw cov from the inverse Wishart density, above the floor, and mean | cov from Normal(centre, cov / mass).

        Degrees of freedom: mass + pseudo-mass - D - 2 and the second moment about the centre; with a fixed mean
        mass + pseudo-mass - D - 1 and the second moment about it.
        """
        known = self._posterior(stats, about, limits)
        cov = np.array(self._covs(about))
        for k in np.flatnonzero(~known.fixed.cov[: len(cov)]):
            cov[k] = self._drawn_cov(known.freedom[k], known.scatter[k], rng, limits)
        cov = self._spread(cov)
        noise = rng.standard_normal(about.mean.shape)
        spread = np.linalg.cholesky(cov) / np.sqrt(known.mass)[:, None, None]
        mean = known.centre + np.einsum("kde,ke->kd", spread, noise)
        return NormalParams(frozen(np.where(known.fixed.mean[:, None], about.mean, mean)), frozen(cov))

    def _drawn_cov(self, freedom: float, scatter: Floats, rng: np.random.Generator, limits: Limits) -> Floats:
        """Draw from the inverse Wishart density (Bartlett 1933), again and again until it is above the floor."""
        width = self._width
        root = np.linalg.cholesky(scatter)
        for _ in range(TRIES):
            triangle = np.tril(rng.standard_normal((width, width)), -1)
            triangle += np.diag(np.sqrt(rng.chisquare(freedom - np.arange(width))))
            half = np.linalg.solve(triangle, root.T)
            cov = half.T @ half
            if self._above(cov[None], limits):
                return cov
        raise FitError(
            f"normal: the variance floor cuts off nearly all of a covariance's posterior ({TRIES} draws in a row). "
            "Lower the floor, use a prior, or fewer components."
        )

    def average(self, stats: Stats, about: NormalParams, limits: Limits = FREE) -> NormalParams:
        """Return the centre, and scatter / (degrees of freedom - D - 1): infinite where these are too few."""
        known = self._posterior(stats, about, limits)
        left = known.freedom - self._width - 1
        cov = np.where(left[:, None, None] > 0, known.scatter / np.where(left > 0, left, 1.0)[:, None, None], np.inf)
        return self._fixing(known, about, known.centre, self._spread(cov))

    def quantile(self, stats: Stats, about: NormalParams, q: float, limits: Limits = FREE) -> NormalParams:
        """Return quantiles of means (Student's t) and of variances (inverse gamma); of covariances NaN, no closed form.

        Both have freedom - D + 1 degrees of freedom; a mean is normal about a fixed covariance. The floor is not seen.
        """
        known = self._posterior(stats, about, limits)
        freedom = (known.freedom - self._width + 1)[:, None]
        squares = np.diagonal(known.scatter, axis1=1, axis2=2)
        width = np.sqrt(squares / (freedom * known.mass[:, None]))
        student = known.centre + stdtrit(freedom, q) * width
        normal = known.centre + ndtri(q) * np.sqrt(about.var / known.mass[:, None])
        var = 0.5 * squares / gammaincinv(freedom / 2, 1 - q)
        cov = np.where(np.eye(self._width, dtype=bool), var[:, None], np.nan)
        mean = np.where(known.fixed.cov[:, None], normal, student)
        return self._fixing(known, about, mean, self._spread(cov))

    def _fixing(self, known: _Posterior, about: NormalParams, mean: Floats, cov: Floats) -> NormalParams:
        return NormalParams(
            frozen(np.where(known.fixed.mean[:, None], about.mean, mean)),
            frozen(np.where(known.fixed.cov[:, None, None], about.cov, cov)),
        )

    def _posterior(self, stats: Stats, about: NormalParams, limits: Limits) -> _Posterior:
        """Return the densities of all means and covariances; refuse one without integral."""
        fixed, parts = self._fixed(limits), self.parts(stats)
        lost = np.flatnonzero(~fixed.mean & (parts.mass <= NO_MASS))
        if len(lost):
            raise FitError(f"normal: mean of component {lost[0]} has no posterior: no row. Use a prior on the classes.")
        shift = self._shift(parts, fixed)
        scatter = self._scatter(parts, shift)
        freedom = parts.mass + parts.pseudo - ~fixed.mean
        if self.tied:
            scatter, freedom = scatter.sum(axis=0, keepdims=True), freedom.sum(keepdims=True)
        freedom = freedom - self._width - 1
        for k in np.flatnonzero(~fixed.cov[: len(freedom)]):
            if freedom[k] < self._width - 1 + LEAST_FREEDOM or not _has_factor(scatter[k] / self._unit):
                raise FitError(
                    f"normal: covariance of component {k} has no posterior: it rests on a mass of "
                    f"{parts.mass[k] + parts.pseudo[k]:.4g} (prior included) and needs more than "
                    f"{2 * self._width + 1} rows that differ in all columns. Use a prior or fewer components."
                )
        mass = np.where(fixed.mean, 1.0, parts.mass)
        repeats = self.n_components // len(freedom)
        return _Posterior(
            fixed, about.mean + shift, mass, np.repeat(freedom, repeats), np.repeat(scatter, repeats, axis=0)
        )

    # ---- for the rest of the library -----------------------------------------------------------------------------

    def jitter(self, params: NormalParams, amount: float, rng: np.random.Generator) -> NormalParams:
        """Move each mean by `amount` standard deviations of its component, and turn and stretch each covariance."""
        root = np.linalg.cholesky(params.cov)
        noise = rng.standard_normal(params.mean.shape)
        mean = params.mean + amount * np.einsum("kde,ke->kd", root, noise)
        count, width = (1 if self.tied else self.n_components), self._width
        stretch = 0.5 * amount * rng.standard_normal((count, width, width))
        turn = np.tril(stretch / np.sqrt(width), -1)
        turn[:, np.arange(width), np.arange(width)] = np.exp(np.diagonal(stretch, axis1=1, axis2=2))
        half = root @ turn
        cov = half @ half.transpose(0, 2, 1)
        return NormalParams(frozen(mean), frozen(self._spread(cov[:count])))

    def conform(self, params: NormalParams, like: NormalParams, limits: Limits = FREE) -> NormalParams:
        """Lift eigenvalues to the floor, share a tied covariance and take what is fixed from `like`."""
        fixed = self._fixed(limits)
        covs = params.cov.mean(axis=0, keepdims=True) if self.tied else params.cov
        cov = self._spread(self._lifted(covs, limits))
        return NormalParams(
            frozen(np.where(fixed.mean[:, None], like.mean, params.mean)),
            frozen(np.where(fixed.cov[:, None, None], like.cov, cov)),
        )

    def sample(self, params: NormalParams, components: NDArray[np.int64], rng: np.random.Generator) -> Any:
        """Draw values, (N, D)."""
        root = np.linalg.cholesky(params.cov)
        noise = rng.standard_normal((len(components), self._width))
        out = np.empty_like(noise)
        for k in np.unique(components):
            rows = components == k
            out[rows] = params.mean[k] + noise[rows] @ root[k].T
        return out

    def impute(self, params: NormalParams, data: Any, resp: Floats, rng: np.random.Generator | None) -> Any:
        """Fill NaN with sum_k resp[n, k] E[x[n, d] | observed, k], or a draw given the component."""
        missing = np.isnan(data)
        if not missing.any():
            return np.array(data)
        prepared = self.prepare(params)
        filled = np.zeros(data.shape)
        for k in range(self.n_components):
            rows = np.flatnonzero(missing.any(axis=1) & (resp[:, k] > 0))
            filled[rows] += resp[rows, k, None] * self._filled(prepared, data[rows], k, rng)
        return np.where(missing, filled, data)

    def _filled(self, prepared: Factors, data: Any, k: int, rng: np.random.Generator | None) -> Floats:
        """Return rows with missing cells imputed under component k: expected, or drawn."""
        out = np.array(data, dtype=np.float64)
        for rows, missing in patterns(out):
            if not missing.any():
                continue
            deviation, inner = complete_rows(out[rows], missing, prepared.mean[k], prepared.precision[k])
            if rng is not None:
                noise = rng.standard_normal((len(deviation), len(inner)))
                deviation[:, missing] += np.linalg.solve(inner.T, noise.T).T  # covariance (inner inner')^-1
            out[rows] = prepared.mean[k] + deviation
        return np.where(np.isnan(data), out, data)

    def n_free(self, limits: Limits = FREE) -> int:
        """Return K D + K D (D + 1) / 2 (once if tied), less what is fixed."""
        fixed, width = self._fixed(limits), self._width
        covs = int((~fixed.cov[: 1 if self.tied else None]).sum())
        return int((~fixed.mean).sum()) * width + covs * (width * (width + 1) // 2)

    def affinity(self, params: NormalParams, other: NormalParams) -> Floats:
        """Return the log Bhattacharyya coefficients of normal distributions."""
        own, its = (self._half_log(each.cov) for each in (params, other))
        found = np.empty((len(params.mean), len(other.mean)))
        for k, (mean, cov) in enumerate(zip(params.mean, params.cov, strict=True)):
            factor = _factors(0.5 * (cov + other.cov))
            deviation = np.einsum("kd,kde->ke", other.mean - mean, factor)
            middle = -np.log(np.diagonal(factor, axis1=1, axis2=2)).sum(axis=1)
            found[k] = 0.5 * (own[k] + its) - middle - 0.125 * (deviation**2).sum(axis=1)
        return found

    def _half_log(self, cov: Floats) -> Floats:
        """Return log |cov| / 2, (K,)."""
        return np.asarray(-np.log(np.diagonal(_factors(cov), axis1=1, axis2=2)).sum(axis=1))

    def collapsed(self, params: NormalParams, limits: Limits = FREE) -> list[int]:
        """Return components with a free covariance that has an eigenvalue at the floor; all, if it is tied.

        An eigenvalue counts if its direction is mostly that of columns without a resolution.
        """
        unit, plain = self._floor_unit(limits), plain_columns(self, limits)
        if unit is None or not plain.any():
            return []
        covs = self._covs(params) / unit
        free = ~self._fixed(limits).cov[: len(covs)]
        values, vectors = np.linalg.eigh(covs)
        on_floor = values <= _on_floor(covs)[:, None]
        mostly_plain = (vectors[:, plain] ** 2).sum(axis=1) >= 0.5
        low = np.flatnonzero(free & (on_floor & mostly_plain).any(axis=1)).tolist()
        return list(range(self.n_components)) if self.tied and low else low

    def feasible(self, params: NormalParams, limits: Limits = FREE) -> bool:
        """Whether all covariances are positive definite and those that may move not below the floor."""
        covs, fixed = self._covs(params), self._fixed(limits).cov
        free = covs[~fixed[: len(covs)]]
        return self._above(covs, FREE) and (not len(free) or self._above(free, limits))

    def flaw(self, params: NormalParams) -> str | None:
        """Covariances must be symmetric and positive definite, squared distances of means from 0 finite."""
        if (flaw := super().flaw(params)) is not None:
            return flaw
        if not np.array_equal(params.cov, params.cov.transpose(0, 2, 1)):
            return "a covariance is not symmetric."
        lowest = min(np.linalg.eigvalsh(cov / np.outer(self.scale, self.scale)).min(initial=1.0) for cov in params.cov)
        with np.errstate(all="ignore"):  # eigenvalues of one that is singular may be above zero by rounding
            prepared = self.prepare(params) if lowest > 0 else None
        if prepared is None or not (np.isfinite(prepared.factor).all() and np.isfinite(prepared.offset).all()):
            return "a covariance is not positive definite."
        with np.errstate(all="ignore"):
            distance = np.einsum("kd,kde->ke", params.mean, prepared.factor)
        return None if np.all(np.abs(distance) <= FARTHEST) else "a mean is too large for its covariance."

    def pack(self, params: NormalParams) -> Floats:
        """Return means and lower triangles of covariances in units of the columns' scale; a tied one once."""
        covs = self._triangle(self._covs(params) / self._unit)
        return np.concatenate([(params.mean / self.scale).ravel(), covs.ravel()])

    def unpack(self, vector: Floats, like: NormalParams) -> NormalParams:
        """Invert `pack`."""
        mean, lower = self._cut(vector)
        cov = (lower + np.tril(lower, -1).transpose(0, 2, 1)) * self._unit
        return NormalParams(frozen(mean * self.scale), frozen(self._spread(cov)))

    def _covs(self, params: NormalParams) -> Floats:
        """Return the covariances, a tied one once."""
        return params.cov[:1] if self.tied else params.cov

    def _spread(self, cov: Floats) -> Floats:
        """Return a covariance for every component."""
        return np.repeat(cov, self.n_components, axis=0) if len(cov) == 1 < self.n_components else cov

    def _triangle(self, square: Floats) -> Floats:
        return square[:, *np.tril_indices(self._width)]

    def _cut(self, vector: Floats) -> tuple[Floats, Floats]:
        """Return (K, D) numbers and the lower triangles that follow them."""
        size = self.n_components * self._width
        count = 1 if self.tied else self.n_components
        lower = np.zeros((count, self._width, self._width))
        lower[:, *np.tril_indices(self._width)] = vector[size:].reshape(count, -1)
        return vector[:size].reshape(self.n_components, self._width), lower


class _Posterior(NamedTuple):
    """Densities: cov ~ inverse Wishart(freedom, scatter), mean | cov ~ Normal(centre, cov / mass)."""

    fixed: _Fixed
    centre: Floats
    mass: Floats
    freedom: Floats
    scatter: Floats


def _factors(cov: Floats) -> Floats:
    """Return U with cov^-1 = U U', upper triangular, for each covariance; NaN where it is singular."""
    out = np.empty(cov.shape)
    for k, root in enumerate(_roots(cov)):
        inverse, info = dtrtri(root, lower=1)  # which leaves the zeros above the diagonal as they are
        out[k] = inverse.T if info == 0 else np.nan
    return out


def _roots(cov: Floats) -> Floats:
    """Return L with cov = L L', lower triangular, for each covariance; NaN where it is singular."""
    try:
        return np.asarray(np.linalg.cholesky(cov), dtype=np.float64)
    except np.linalg.LinAlgError:
        if len(cov) == 1:
            return np.full(cov.shape, np.nan)
        return np.concatenate([_roots(one[None]) for one in cov])


def _has_factor(cov: Floats) -> bool:
    try:
        return bool(np.isfinite(np.linalg.cholesky(cov)).all())
    except np.linalg.LinAlgError:
        return False


def _on_floor(covs: Floats) -> Floats:
    """Return the largest eigenvalue that counts as on the floor of 1, for each covariance, rounding included."""
    return 1 + NEAR_FLOOR + DIGITS * np.trace(covs, axis1=1, axis2=2)


def _places(counts: NDArray[np.int64]) -> Floats:
    """Return 0, 1, ..., counts[n] - 1 for every n, one after the other."""
    return np.asarray(np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts), dtype=np.float64)
