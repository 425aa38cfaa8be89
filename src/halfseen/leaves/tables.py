"""Tables of conditional probabilities of a network, with rows that may be tied."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from halfseen.leaves.categorical import Cells
from halfseen.leaves.leaf import Floats, Stats, frozen
from halfseen.leaves.limits import FREE, Limits


class Tables(Cells):
    """Rows of probabilities, one after the other in one row of cells, of which some may be the same.

    Parameters
    ----------
    rows : sequence of int        the length of every row
    pseudo : (1, S) array, optional
    shared : (S,) array, optional
        The first cell among those that are tied to each cell; whole rows are tied.

    Examples
    --------
    >>> import numpy as np
    >>> leaf = Tables([2, 2], shared=np.array([0, 1, 0, 1]))
    >>> leaf.maximise(np.array([[3.0, 1.0, 1.0, 3.0]]), leaf.blank())
    array([[0.5, 0.5, 0.5, 0.5]])
    """

    _shared: NDArray[np.int64] | None

    def __init__(
        self, rows: Sequence[int], pseudo: Floats | None = None, shared: NDArray[np.int64] | None = None
    ) -> None:
        super().__init__(1, rows, pseudo, axes=(1,))
        object.__setattr__(self, "_shared", shared)

    def maximise(self, stats: Stats, params: Floats, limits: Limits = FREE) -> Floats:
        """Pool the counts of tied rows, then share out each row."""
        if self._shared is None:
            return super().maximise(stats, params, limits)
        return super().maximise(self._pooled(stats), params, limits)

    def _pooled(self, stats: Stats) -> Stats:
        assert self._shared is not None
        pooled = np.bincount(self._shared, stats[0], minlength=stats.shape[1]).astype(np.float64, copy=False)
        return pooled[self._shared][None]

    def _first(self, params: Floats) -> Floats:
        """Give tied rows the values of the first of them."""
        return params if self._shared is None else frozen(params[:, self._shared])

    def jitter(self, params: Floats, amount: float, rng: np.random.Generator) -> Floats:
        """Move tied rows alike."""
        return self._first(super().jitter(params, amount, rng))

    def conform(self, params: Floats, like: Floats, limits: Limits = FREE) -> Floats:
        """Tied rows get the values of the first of them."""
        return super().maximise(self._first(params), like, limits)

    def freed(self, vector: Floats, like: Floats, limits: Limits = FREE) -> Floats:
        """Move inside by the mean of the coordinates of tied rows, which are then equal to the last bit."""
        if self._shared is None:
            return super().freed(vector, like, limits)
        logits = self._pooled(vector.reshape(like.shape)) / self._pooled(np.ones_like(like))
        parts = np.exp(logits - logits.max(axis=1, initial=0.0, keepdims=True))
        return super().maximise(parts, like, limits.with_fixed(like <= 0))

    def slope(self, stats: Stats, params: Floats, limits: Limits = FREE) -> Floats:
        """Return the mean slope of tied rows: the gradient among parameters that are equal."""
        if self._shared is None:
            return super().slope(stats, params, limits)
        return super().slope(self._pooled(stats) / self._pooled(np.ones_like(stats)), params, limits)

    def coupled(self, params: Floats, limits: Limits = FREE) -> NDArray[np.intp]:
        """Return the row of each cell; with tied rows all belong together."""
        found = super().coupled(params, limits)
        return found if self._shared is None else np.zeros_like(found)

    def n_free(self, limits: Limits = FREE) -> int:
        """Count tied rows once."""
        if self._shared is None:
            return super().n_free(limits)
        again = self._shared != np.arange(len(self._shared))
        return super().n_free(limits.with_fixed(again[None]))
