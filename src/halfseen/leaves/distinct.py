"""The distinct counts of each column: log-densities and latent content are computed once for all equal cells."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halfseen.leaves.leaf import Floats


def distinct(data: Any) -> Iterator[tuple[int, Floats, NDArray[np.intp], NDArray[np.bool_]]]:
    """Yield each column's number, its distinct counts, the place of each observed cell among them, and who has one."""
    for d, column in enumerate(np.asarray(data).T):
        seen = ~np.isnan(column)
        counts, place = np.unique(column[seen], return_inverse=True)
        if len(counts):
            yield d, counts, place, seen


def added(usage: Floats, place: NDArray[np.intp], n_counts: int) -> Floats:
    """Return the usage of each distinct count, (V, K)."""
    return np.stack([np.bincount(place, used, n_counts) for used in usage.T], axis=1)
