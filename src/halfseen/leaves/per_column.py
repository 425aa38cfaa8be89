"""Base class of leaves of D independent columns with a mean and a concentration: `Gamma`, `Beta`.

The log-density is its peak less a deviance from the mean, which keeps its digits however concentrated a column is:

    log p(x; mean, conc) = peak(mean, conc) - conc deviance(x; mean) - jacobian(x)

Statistics, (3, K, D), are about the current mean, as those of `Gaussian` are, of which `first` and the deviance are
linear functions for every other mean, and so is the Jacobian:

    stats[:, k, d] = sum_n usage[n, k] seen[n, d] (1, first(x[n, d]; mean[k, d]), deviance(x[n, d]; mean[k, d]))

Most cells are summed about the mean of their column, in one product of matrices for all components, and the sums are
restated; where a component is so concentrated that digits would be lost, about its own mean.

A subclass implements what it calls mean and concentration: `pair`, `restated`, `jacobian`, `peak`, `expected`,
`best`, `link`, `unlink`, `steepness`, `noise`, and `affinity`, `_drawn`.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from halfseen.assign import Assign
from halfseen.leaves.exact import Joined, Moments, Weights
from halfseen.leaves.leaf import AT_FLOOR, NO_MASS, ROUNDING, Floats, Leaf, Slopes, Stats, frozen
from halfseen.leaves.limits import FREE, Limits

LEAST = 1e-8  # concentration: cells from 1e-300 to 1e300 have one of 1e-3
MOST = 1e32  # of numbers that differ in their last digits
SHARP = 1e4  # concentration, times distances, from which a component's cells are summed about its own mean
EPS = 4 * float(np.finfo(np.float64).eps)


class Restated(NamedTuple):
    """How statistics about another mean follow: first' = a first + b mass, deviance' = deviance + c first + e mass."""

    a: Floats
    b: Floats
    c: Floats
    e: Floats


@dataclass(frozen=True, eq=False)
class PerColumn(Leaf):
    """A block of D columns with a mean and a concentration per component and column.

    Parameters
    ----------
    n_components : int
    centre : (D,) array
        Mean of each column over all rows.
    conc : (D,) array
        Concentration of each column over all rows, by its moments; a floor f allows up to 1 / f times as much.
    pseudo : (K,) array, optional
        Prior: this many pseudo-rows per component, each with the statistics expected at `centre` and `conc`.
    most : (D,) array, optional
        Largest concentration of each column by the resolution of its numbers. A component that has it is no collapse.
    """

    n_components: int
    centre: Floats
    conc: Floats
    pseudo: Floats | None = None
    most: Floats | None = None
    stats_axis = 1

    Params: ClassVar[Any]  # named tuple of means and concentrations, (K, D) each
    what: ClassVar[str]  # the name of the distribution
    largest_mean: ClassVar[float]

    # ---- the distribution ----------------------------------------------------------------------------------------

    @abstractmethod
    def pair(self, x: Floats, mean: Any, exact: bool) -> tuple[Floats, Floats]:
        """Return first and deviance of cells about a mean; not `exact`, their errors are absolute, as of log x."""

    @abstractmethod
    def restated(self, old: Any, new: Any) -> Restated:
        """Return how statistics about one mean become those about another."""

    @abstractmethod
    def jacobian(self, mean: Any) -> tuple[Floats, Floats, Floats]:
        """Return factors of mass, first and deviance about this mean, whose sum is the Jacobian."""

    @abstractmethod
    def peak(self, mean: Any, conc: Any) -> Floats:
        """Return the largest log-density, without the Jacobian."""

    @abstractmethod
    def expected(self, mean: Any, conc: Any) -> tuple[Floats, Floats]:
        """Return the expected first and deviance of a cell, about its mean."""

    @abstractmethod
    def best(self, stats: Stats, mean: Floats, conc: Floats, moves: Any, most: Floats) -> tuple[Floats, Floats]:
        """Return the best means and concentrations for flat statistics (3, M); `moves` has masks of both, (M,)."""

    @abstractmethod
    def link(self, mean: Any) -> Floats:
        """Return a coordinate of means without bounds."""

    @abstractmethod
    def unlink(self, coordinate: Any) -> Floats:
        """Invert `link`."""

    @abstractmethod
    def steepness(self, mean: Any, conc: Any) -> Floats:
        """Return d log p / d link(mean), over first - its expectation."""

    @abstractmethod
    def noise(self, mean: Any, conc: Any) -> Floats:
        """Return about the standard deviation of link(x)."""

    @abstractmethod
    def _drawn(self, mean: Floats, conc: Floats, rng: np.random.Generator) -> Floats:
        """Draw cells."""

    # ---- the E-step ----------------------------------------------------------------------------------------------

    @property
    def stats_shape(self) -> tuple[int, ...]:
        """Mass, first, deviance: (3, K, D)."""
        return (3, self.n_components, len(self.centre))

    def blank(self) -> Any:
        """Return mean and concentration of the columns, alike in all components."""
        shape = (self.n_components, len(self.centre))
        return self.Params(*(frozen(np.broadcast_to(part, shape).copy()) for part in (self.centre, self.conc)))

    def score(self, prepared: Any, data: Any, assign: Assign | None) -> Floats:
        """scores[n, k] = sum over observed d of peak - conc deviance - jacobian."""
        mean, conc = prepared
        cells = np.asarray(data, dtype=np.float64)
        seen, first, second = self._about_centre(cells)
        by_centre, far = self._far(mean, conc)
        near = np.where(far, 0.0, conc)
        j0, j1, j2 = self.jacobian(self.centre)
        level = self.peak(mean, conc) - near * by_centre.e - j0
        scores = level.sum(axis=1) if seen is None else seen @ level.T
        scores = scores - first @ (near * by_centre.c + j1).T - second @ (near + j2).T
        for k, d in np.argwhere(far):
            scores[:, k] -= conc[k, d] * self._about(cells[:, d], float(mean[k, d]))[1]
        return scores

    def expect(self, usage: Floats, prepared: Any, data: Any, assign: Assign | None, out: Stats) -> int:
        """Add mass, first and deviance about the current mean."""
        mean, conc = prepared
        cells = np.asarray(data, dtype=np.float64)
        seen, first, second = self._about_centre(cells)
        by_centre, far = self._far(mean, conc)
        mass = np.repeat(usage.sum(axis=0)[:, None], len(self.centre), axis=1) if seen is None else usage.T @ seen
        stats = np.stack([mass, usage.T @ first, usage.T @ second])
        found = _restate(stats, by_centre)
        for k, d in np.argwhere(far):
            found[1, k, d], found[2, k, d] = (usage[:, k] @ part for part in self._about(cells[:, d], mean[k, d]))
        out += found
        return 0

    def tally(
        self, component: NDArray[np.int64], weight: Floats, cut: Weights, prepared: Any, data: Any
    ) -> Joined | None:
        """Return the statistics of rows of a known component without rounding."""
        zero = np.zeros(len(self.centre))
        parts = self.pair(np.asarray(data, dtype=np.float64), prepared.mean[0], True)
        first, second = (Moments.of(part, zero, component, weight, self.n_components, 1) for part in parts)
        return Joined([first, Moments(second.tops[1:], second.folds[1:])])

    def _about_centre(self, cells: Floats) -> tuple[Floats | None, Floats, Floats]:
        """Return who is observed (None: all), and the pair about the mean of the column; 0 where missing."""
        missing = np.isnan(cells)
        if not missing.any():
            return None, *self.pair(cells, self.centre, False)
        return (~missing).astype(np.float64), *self.pair(np.where(missing, self.centre, cells), self.centre, False)

    def _about(self, cells: Floats, mean: float) -> tuple[Floats, Floats]:
        """Return the pair of one column about a mean, with all digits; 0 where missing."""
        return self.pair(np.where(np.isnan(cells), mean, cells), mean, True)

    def _far(self, mean: Floats, conc: Floats) -> tuple[Restated, NDArray[np.bool_]]:
        """Return how sums about the centre are restated, and where that would lose digits."""
        by_centre = self.restated(self.centre, mean)
        with np.errstate(over="ignore", invalid="ignore"):
            size = conc * (1 + np.abs(by_centre.c) + np.abs(by_centre.e))
        return by_centre, ~(size <= SHARP)

    # ---- the M-step ----------------------------------------------------------------------------------------------

    def maximise(self, stats: Stats, params: Any, limits: Limits = FREE) -> Any:
        """Return the best mean and concentration, within the largest; no mass keeps the old parameters."""
        fixed = self._fixed(limits)
        known = stats[0] > NO_MASS
        moves = [known & ~mask for mask in fixed]
        some = moves[0] | moves[1]
        mean, conc = np.array(params[0]), np.array(params[1])
        if some.any():
            most = np.broadcast_to(self._most(limits), some.shape)[some]
            chosen = [move[some] for move in moves]
            mean[some], conc[some] = self.best(stats[:, some], mean[some], conc[some], chosen, most)
        return self.Params(frozen(mean), frozen(conc))

    def complete(self, stats: Stats, about: Any, params: Any) -> float:
        """Return sum of mass peak - conc deviance - jacobian, the deviance restated about the mean."""
        mean, conc = params
        deviance = _restate(stats, self.restated(about[0], mean))[2]
        factors = self.jacobian(about[0])
        jacobian = sum(factor * part for factor, part in zip(factors, stats, strict=True))
        with np.errstate(over="ignore", invalid="ignore"):
            return float(np.sum(stats[0] * self.peak(mean, conc) - conc * deviance - jacobian))

    def rounding(self, stats: Stats, params: Any) -> float:
        """As the terms that are added up; deviances about the centre are known to so many digits."""
        mean, conc = params
        by_centre, far = self._far(mean, conc)
        lost = np.where(far, 0.0, conc * (1 + np.abs(by_centre.c) + np.abs(by_centre.e)))
        factors = zip(self.jacobian(mean), stats, strict=True)
        terms = stats[0] * (1 + np.abs(self.peak(mean, conc))) + conc * np.abs(stats[2])
        terms = terms + sum(np.abs(factor * part) for factor, part in factors)
        return float(ROUNDING * terms.sum() + EPS * np.sum(lost * stats[0]))

    def recentre(self, stats: Stats, about: Any, onto: Any) -> Stats:
        """Return statistics about onto.mean instead of about.mean."""
        return _restate(stats, self.restated(about[0], onto[0]))

    def prior(self, params: Any) -> Stats | None:
        """Return the statistics of the pseudo-rows, about the current mean."""
        if self.pseudo is None:
            return None
        mass = np.repeat(self.pseudo[:, None], len(self.centre), axis=1)
        first, second = self.expected(self.centre, self.conc)
        return _restate(np.stack([mass, mass * first, mass * second]), self.restated(self.centre, params[0]))

    # ---- gradient methods ----------------------------------------------------------------------------------------

    @property
    def unit(self) -> Floats:
        """The unit of the coordinates of means, (D,)."""
        return np.clip(self.noise(self.centre, self.conc), 1e-300, 1.0)

    def free(self, params: Any, limits: Limits = FREE) -> Floats:
        """Return (link(mean) - link(centre)) / unit, and log conc."""
        mean = (self.link(params[0]) - self.link(self.centre)) / self.unit
        return np.concatenate([mean.ravel(), np.log(params[1]).ravel()])

    def freed(self, vector: Floats, like: Any, limits: Limits = FREE) -> Any:
        """Invert `free`, within the largest concentration."""
        mean, log_conc = vector.reshape(2, *like[0].shape)
        with np.errstate(over="ignore"):
            found = self.Params(self.unlink(self.link(self.centre) + self.unit * mean), np.exp(log_conc))
        return self.conform(found, like, limits)

    def _pull(self, mass: Any, first: Floats, second: Floats, mean: Floats, conc: Floats) -> tuple[Floats, Floats]:
        """Return the derivatives in the coordinates of `free`, of statistics about the mean."""
        usual = self.expected(mean, conc)
        by_mean = self.unit * self.steepness(mean, conc) * (first - mass * usual[0])
        return by_mean, conc * (mass * usual[1] - second)

    def slope(self, stats: Stats, params: Any, limits: Limits = FREE) -> Floats:
        """Return the derivatives; 0 for what is fixed and for a concentration that would pass its largest."""
        fixed, (mean, conc) = self._fixed(limits), params
        by_mean, by_conc = self._pull(stats[0], stats[1], stats[2], mean, conc)
        at_end = (by_conc > 0) & (conc >= self._most(limits) * (1 - AT_FLOOR))
        at_end |= (by_conc < 0) & (conc <= LEAST * (1 + AT_FLOOR))
        found = np.where(fixed[0], 0.0, by_mean), np.where(fixed[1] | at_end, 0.0, by_conc)
        return np.concatenate([part.ravel() for part in found])

    def slopes(self, params: Any, data: Any, component: int, limits: Limits = FREE) -> Slopes | None:
        """Return the derivatives of the log-density of each row, of the cells that are observed."""
        if limits.fixed is not None:
            return None
        mean, conc = (part[component] for part in params)
        cells = np.asarray(data, dtype=np.float64)
        seen = ~np.isnan(cells)
        first, second = self.pair(np.where(seen, cells, mean), mean, True)
        pulls = self._pull(seen * 1.0, first, second, mean, conc)
        fixed = [mask[component] for mask in self._fixed(limits)]
        values = np.concatenate([np.where(*part) for part in zip(fixed, (0.0, 0.0), pulls, strict=True)], axis=1)
        at = component * len(mean) + np.arange(len(mean))
        return Slopes(np.concatenate([at, self.n_components * len(mean) + at]), values)

    def coupled(self, params: Any, limits: Limits = FREE) -> NDArray[np.intp]:
        """Return the (component, column) of each mean and concentration."""
        return np.tile(np.arange(params[0].size), 2)

    # ---- for the rest of the library -----------------------------------------------------------------------------

    def jitter(self, params: Any, amount: float, rng: np.random.Generator) -> Any:
        """Move each mean by `amount` standard deviations of its component, each concentration by exp(amount z)."""
        mean, conc = params
        noise = np.minimum(self.noise(mean, conc), 2.0)
        moved = self.unlink(self.link(mean) + amount * noise * rng.standard_normal(mean.shape))
        conc = conc * np.exp(amount * rng.standard_normal(conc.shape))
        return self.conform(self.Params(moved, conc), params)

    def conform(self, params: Any, like: Any, limits: Limits = FREE) -> Any:
        """Keep concentrations within their range, and take fixed entries from `like`."""
        fixed = self._fixed(limits)
        conc = np.clip(params[1], LEAST, self._most(limits))
        return self.Params(*(frozen(np.where(*part)) for part in zip(fixed, like, (params[0], conc), strict=True)))

    def sample(self, params: Any, components: NDArray[np.int64], rng: np.random.Generator) -> Any:
        """Draw cells, (N, D)."""
        return self._drawn(params[0][components], params[1][components], rng)

    def impute(self, params: Any, data: Any, resp: Floats, rng: np.random.Generator | None) -> Any:
        """Fill NaN with the mean sum_k resp[n, k] mean[k, d], or a draw."""
        filling = resp @ params[0]
        if rng is not None:
            filling = self._drawn(filling, resp @ params[1], rng)
        return np.where(np.isnan(data), filling, data)

    def n_free(self, limits: Limits = FREE) -> int:
        """Return 2 K D, less what is fixed."""
        return int(sum((~mask).sum() for mask in self._fixed(limits)))

    def collapsed(self, params: Any, limits: Limits = FREE) -> list[int]:
        """Return components with a free concentration at the floor's, unless that is the resolution of the column."""
        if limits.floor is None:
            return []
        highest = self._most(limits)
        plain = highest < (MOST if self.most is None else np.minimum(self.most, MOST))
        at_end = (params[1] >= highest * (1 - AT_FLOOR)) & plain & ~self._fixed(limits)[1]
        return np.flatnonzero(at_end.any(axis=1)).tolist()

    def feasible(self, params: Any, limits: Limits = FREE) -> bool:
        """Whether means and concentrations are in their range, but for what is fixed."""
        mean, conc = params
        inside = (conc >= LEAST) & (conc <= self._most(limits) * (1 + AT_FLOOR)) | self._fixed(limits)[1]
        return bool(inside.all() and np.all((mean > 0) & (mean < self.largest_mean)))

    def flaw(self, params: Any) -> str | None:
        """Means and concentrations must be in their range."""
        if (flaw := super().flaw(params)) is not None:
            return flaw
        if not np.all((params[0] > 0) & (params[0] < self.largest_mean)):
            upper = "" if np.isinf(self.largest_mean) else f" and below {self.largest_mean:g}"
            return f"{self.what}: a mean is not above 0{upper}."
        legal = np.all((params[1] >= LEAST) & (params[1] <= MOST))
        name = self.Params._fields[1]
        return None if legal else f"{self.what}: a {name} is below {LEAST:g} or above {MOST:g}."

    def pack(self, params: Any) -> Floats:
        """Return the coordinates of `free`: steps towards a bound do not cross it."""
        return self.free(params)

    def unpack(self, vector: Floats, like: Any) -> Any:
        """Invert `pack`."""
        mean, log_conc = vector.reshape(2, *like[0].shape)
        with np.errstate(over="ignore", under="ignore"):
            found = self.unlink(self.link(self.centre) + self.unit * mean), np.exp(log_conc)
        return self.Params(*map(frozen, found))

    def _fixed(self, limits: Limits) -> Any:
        """Return masks of what is fixed."""
        none = np.zeros((self.n_components, len(self.centre)), dtype=bool)
        return self.Params(none, none) if limits.fixed is None else limits.fixed

    def _most(self, limits: Limits) -> Floats:
        """Return the largest concentration of each column, (D,)."""
        most = np.full(len(self.centre), MOST) if self.most is None else np.minimum(self.most, MOST)
        return most if not limits.floor else np.minimum(most, self.conc / limits.floor)


def _restate(stats: Stats, by: Restated) -> Stats:
    """Return statistics about another mean."""
    mass, first, second = stats
    with np.errstate(over="ignore", invalid="ignore"):  # of a step too far, which is refused
        return np.stack([mass, by.a * first + by.b * mass, second + by.c * first + by.e * mass])
