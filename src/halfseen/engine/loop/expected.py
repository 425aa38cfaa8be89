"""Sufficient statistics are additive, so they can be streamed, threaded and distributed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from halfseen.leaves.leaf import Stats
from halfseen.leaves.limits import Params

WORD = (1 << 64) - 1


@dataclass(frozen=True)
class Expected:
    """Statistics of all leaves for some data, with the data's share of the objective.

    Attributes
    ----------
    stats : 1-D array      all leaves' statistics, one after the other; `model.view(stats)` names them
    loglik : float         sum of the log-evidence (soft, sample) or of the best joint (hard)
    digest : int           hard only: fingerprint of the best completions

    Examples
    --------
    >>> import numpy as np
    >>> half = Expected(np.array([1.0, 2.0]), -3.0)
    >>> (half + 2 * half).stats
    array([3., 6.])
    """

    stats: Stats
    loglik: float
    digest: int = 0

    @classmethod
    def zero(cls, size: int) -> Expected:
        """Return the statistics of no data."""
        return cls(np.zeros(size), 0.0)

    def __add__(self, other: Expected) -> Expected:
        return Expected(self.stats + other.stats, self.loglik + other.loglik, (self.digest + other.digest) & WORD)

    def __mul__(self, factor: float) -> Expected:
        return Expected(self.stats * factor, self.loglik * factor, self.digest)

    __rmul__ = __mul__


@dataclass(frozen=True)
class Step:
    """Parameters, the expected statistics under them, and the objective of exactly these parameters."""

    params: Params
    expected: Expected
    log_prior: float = 0.0

    @property
    def loglik(self) -> float:
        """Log-likelihood (soft, sample) or best joint log-probability (hard) of the data, summed over rows."""
        return self.expected.loglik

    @property
    def objective(self) -> float:
        """What EM maximises: loglik + log_prior."""
        return self.expected.loglik + self.log_prior
