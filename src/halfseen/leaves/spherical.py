"""Columns of numbers with one variance for all columns of a component (spherical covariance)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from halfseen.errors import ParameterError
from halfseen.leaves.gaussian import Gaussian, GaussianParams
from halfseen.leaves.leaf import Floats, Stats
from halfseen.leaves.limits import FREE, Limits


@dataclass(frozen=True, eq=False)
class Spherical(Gaussian):
    """A block of D columns with a mean per component and column, and one variance per component.

    The parameters are those of `Gaussian`, with equal columns of `var`; the unit of its floor is the mean variance of
    the columns. The geometric mean of `least` is its smallest variance, so that no density exceeds the product of those
    of the columns; a column without a resolution leaves it without one. A variance is fixed for a whole component.

    Examples
    --------
    >>> import numpy as np
    >>> leaf = Spherical(1, np.zeros(2), np.ones(2))
    >>> stats = np.zeros(leaf.stats_shape)
    >>> _ = leaf.expect(np.ones((2, 1)), leaf.blank(), np.array([[1.0, 2.0], [3.0, 8.0]]), None, stats)
    >>> leaf.maximise(stats, leaf.blank())
    GaussianParams(mean=array([[2., 5.]]), var=array([[5., 5.]]))
    """

    def _even(self, by_column: Floats) -> Floats:
        """Return the mean over columns, for every column."""
        return np.repeat(by_column.mean(axis=1, keepdims=True), by_column.shape[1], axis=1)

    def _lowest(self, limits: Limits) -> Floats:
        return np.full(len(self.scale), max(self._plain_floor(limits), self._resolved))

    def _plain(self, limits: Limits) -> NDArray[np.bool_]:
        return np.full(len(self.scale), self._plain_floor(limits) > self._resolved)

    def _plain_floor(self, limits: Limits) -> float:
        return (limits.floor or 0.0) * float(np.mean(self.scale**2))

    @property
    def _resolved(self) -> float:
        """The smallest variance by the resolution of the columns; 0 where one has none."""
        if self.least is None or not (self.least > 0).all():
            return 0.0
        return float(np.exp(np.log(self.least).mean()))

    def blank(self) -> GaussianParams:
        """Return the centre of the columns and their mean variance, alike in all components."""
        return self.conform(super().blank(), super().blank())

    def maximise(self, stats: Stats, params: GaussianParams, limits: Limits = FREE) -> GaussianParams:
        """As for one variance per column, from the sums over columns."""
        _refuse_parts(limits)
        return super().maximise(stats, params, limits)

    def _uniforms(self, rng: np.random.Generator) -> Floats:
        return np.repeat(rng.random((self.n_components, 1)), len(self.scale), axis=1)

    def _spread(self, freedom: Floats, squares: Floats) -> tuple[Floats, Floats]:
        width = len(self.scale)
        return (width * self._even(freedom) - 2) / 2, width * self._even(squares) / 2

    def coupled(self, params: GaussianParams, limits: Limits = FREE) -> NDArray[np.intp]:
        """Return the component of each mean and variance: its columns share the variance."""
        return np.tile(np.repeat(np.arange(self.n_components), len(self.scale)), 2)

    def n_free(self, limits: Limits = FREE) -> int:
        """Return K D + K, less what is fixed."""
        _refuse_parts(limits)
        means = self.n_components * len(self.scale)
        if limits.fixed is None:
            return means + self.n_components
        return means - int(np.sum(limits.fixed.mean)) + int(np.sum(~np.asarray(limits.fixed.var)[:, 0]))


def _refuse_parts(limits: Limits) -> None:
    """Refuse a variance that is fixed for some columns and free for others: there is only one."""
    if limits.fixed is not None and np.any(limits.fixed.var != np.asarray(limits.fixed.var)[:, :1]):
        raise ParameterError("Spherical: a component has one variance; fix it for all its columns or for none.")
