"""Which frames of a recording are speech, by their energy.

    level   = log(sum_t e[t]^2 / sum_t e[t])        energy of the frames, weighted by itself: that of loud vowels
    quiet   = 5 % quantile of log e[t]
    speech  = log e[t] >= quiet + 6 dB, at least level - 30 dB, at most level - 10 dB

Frames of little energy hardly count in the level: minutes of silence before or after speech do not change it. Without
noise everything down to 30 dB below the level is speech; with noise, what is 6 dB above it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

DECIBEL = np.log(10) / 10
RANGE, CLEAR, LOUD = 30 * DECIBEL, 6 * DECIBEL, 10 * DECIBEL
QUIETEST = 0.05  # quantile of the log-energy


def level(log_energy: Floats) -> float:
    """Return the log-energy of the loud frames.

    Examples
    --------
    >>> speech = np.log([1.0, 4.0, 4.0, 1.0])
    >>> bool(level(np.concatenate([speech, np.full(1000, -20.0)])) - level(speech) < 1e-3)
    True
    """
    top = float(log_energy.max())
    energy = np.exp(log_energy - top)
    return top + float(np.log((energy**2).sum() / energy.sum()))


def is_speech(log_energy: Floats) -> NDArray[np.bool_]:
    """Return which frames are speech, (T,); all if the sound is constant."""
    loud, quiet = level(log_energy), float(np.quantile(log_energy, QUIETEST))
    found: NDArray[np.bool_] = log_energy >= min(max(quiet + CLEAR, loud - RANGE), loud - LOUD)
    return found
