"""Weights of a sample survey: how many of the population a row stands for, not how often it was seen."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def effective(weight: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return weights that sum to the effective number of rows, (sum w)^2 / sum w^2 (Kish 1965).

    Their scale does not matter. Equal weights become ones.

    Examples
    --------
    >>> effective(np.array([10.0, 10.0, 20.0])).round(3)  # worth 16 / 6 = 2.667 rows
    array([0.667, 0.667, 1.333])
    """
    shares = weight / weight.max()
    return np.asarray(shares * (shares.sum() / (shares**2).sum()))
