"""Missing cells of jointly normal rows, in NumPy: no kernels, but what the plain ones and the leaf share."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve

Floats = NDArray[np.float64]


def patterns(values: Floats) -> Iterator[tuple[NDArray[np.intp], NDArray[np.bool_]]]:
    """Yield the rows that have the same cells missing, and which these are, (D,)."""
    missing = np.isnan(values)
    if not missing.any():
        yield np.arange(len(values)), np.zeros(values.shape[1], dtype=bool)
        return
    kinds, kind = np.unique(missing, axis=0, return_inverse=True)
    order = np.argsort(kind.ravel(), kind="stable")
    yield from zip(np.split(order, np.cumsum(np.bincount(kind.ravel()))[:-1]), kinds, strict=True)


def complete_rows(
    values: Floats,  # (N, D)  in, NaN where `missing`
    missing: NDArray[np.bool_],  # (D,)  in
    mean: Floats,  # (D,)  in
    precision: Floats,  # (D, D)  in
) -> tuple[Floats, Floats]:
    """Return deviations from the mean, expected where missing, and L with L L' = precision of the missing cells."""
    deviation = np.where(missing, 0.0, values - mean)
    inner = precision[np.ix_(missing, missing)]
    try:
        factor = np.asarray(np.linalg.cholesky(inner), dtype=np.float64)
    except np.linalg.LinAlgError:  # a singular covariance
        factor = np.full(inner.shape, np.nan)
    if not np.isfinite(factor).all():
        return np.full(values.shape, np.nan), factor
    if missing.any():
        known = (deviation @ precision[:, missing]).T
        deviation[:, missing] = -cho_solve((factor, True), known, check_finite=False).T  # NaN must come out as NaN
    return deviation, factor
