"""Row weights: how much each row counts."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from halfseen.data.frames import Source
from halfseen.errors import DataError, LightRowWarning, warn

WEIGHTS = (1e-100, 1e100)  # between these must lie the largest weight
NO_WEIGHT = 1e-30  # of the largest: rows that weigh less add less to a variance than the rounding of its mean, squared


def check_weight(weight: ArrayLike | None, n_rows: int) -> NDArray[np.float64]:
    """Check row weights and return them as a new float64 array, or a view of one number if all weights are equal.

    Parameters
    ----------
    weight : (N,) array-like, number or None
        Finite, not negative, the largest from 1e-100 to 1e100. A number counts for every row; None is 1. Weights below
        1e-30 of the largest are taken as 0, with a warning: no sum would show them.
    n_rows : int
        N.

    Examples
    --------
    >>> check_weight([1, 0.5], 2)
    array([1. , 0.5])
    """
    if weight is None:
        return np.broadcast_to(np.float64(1), n_rows)
    if isinstance(weight, np.ndarray) and weight.strides == (0,) and len(weight) == n_rows:
        return np.broadcast_to(check_weight(weight[:1].copy(), 1)[0], n_rows)
    try:
        values = np.array(weight, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"sample_weight must be numbers: {error}") from None
    if values.ndim == 0:
        values = np.full(n_rows, values)
    if values.ndim != 1:
        raise DataError(
            f"Sample weights must be 1D array or scalar, got {values.ndim}D array of shape {values.shape}. "
            f"Expected a number or {n_rows} of them."
        )
    if values.shape != (n_rows,):
        raise DataError(f"sample_weight.shape == {values.shape}, expected {(n_rows,)}! Give one weight per row of X.")
    for wrong, advice in ((~np.isfinite(values), "be finite"), (values < 0, "not be negative")):
        if wrong.any():
            row = int(wrong.argmax())
            raise DataError(
                f"sample_weight: row {row} is {values[row]:g} ({wrong.sum()} such rows); weights must {advice}. "
                "Use 0 to leave a row out."
            )
    if not values.any():
        raise DataError("Sample weights must contain at least one non-zero number.")
    largest = values.max()
    if not WEIGHTS[0] <= largest <= WEIGHTS[1]:
        raise DataError(
            f"sample_weight: the largest weight is {largest:g}. It must lie between {WEIGHTS[0]:g} and {WEIGHTS[1]:g}: "
            "sums of other weights would not be numbers. Multiply all weights by one factor."
        )
    light = (values < NO_WEIGHT * largest) & (values > 0)
    if light.any():
        _warn_light(values, light)
        values[light] = 0.0
    return values


def _warn_light(values: NDArray[np.float64], light: NDArray[np.bool_]) -> None:
    row = int(light.argmax())
    warn(
        f"sample_weight: row {row} weighs {values[row]:g}, less than {NO_WEIGHT:g} of the largest weight, "
        f"{values.max():g} ({light.sum()} such rows). Next to it they cannot be told from 0, and count as 0.",
        LightRowWarning,
    )


def row_weight(source: Source, weight: ArrayLike | None) -> NDArray[np.float64]:
    """Return the weights of the rows of a source: those given, else those that came with it, else ones."""
    given = source.weight if weight is None else weight
    if given is None and source.streams:
        return np.broadcast_to(np.float64(1), source.n_rows)  # without taking any memory
    return check_weight(given, source.n_rows)
