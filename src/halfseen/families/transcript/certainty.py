"""How far a posterior over segmentations can be believed: frames are not independent, and times are known to a frame.

The model counts frames as independent given their states. Those of speech are not: a vowel that is spoken a little
higher is higher in all of its frames, and windows overlap. The likelihood of T such frames is that of fewer independent
ones, so that its logarithm, and the posterior with it, is too sharp. The *acoustic scale* kappa makes up for this: the
posterior of segmentations is taken of kappa times the scores (the magnitude adjustment of composite likelihoods).

    z[t, d]  = (x[t, d] - mean[s(t), d]) / sd[s(t), d]         residuals along the best path, 0 in pauses
    omega    = sum over |h| < H of (1 - |h| / H) mean_t z[t + h] z[t]'      long-run covariance (Bartlett's window)
    delta    = (mean[s'] - mean[s]) / sd                       for each change of state s -> s' on the best path
    kappa    = min(1, sum delta' delta / sum delta' omega delta)

The sums are the variance of the log-likelihood ratio of neighbouring states as the model has it, and as it is. Frames
that are independent given their states have kappa = 1. The scale does not enter `fit`, `score` or `loglik_`.

No scale makes up for what is wrong in the same way each time: where a model has a boundary between two sounds, and
where a person or a synthesiser has it. `HEARD` does. It was fitted to boundaries of 40 sentences that several synthetic
voices said (`benchmarks.spoken.DEVELOPMENT`): about nine in ten are within two standard deviations and 5 ms.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from halfseen.leaves.leaf import Floats

FRAMES = 20_000  # of the training data from which the scale is estimated: enough for two digits
ROUNDED = 12**-0.5  # standard deviation of rounding to whole frames, in frames
HEARD = 0.0145  # seconds: standard deviation of a boundary of speech of which the posterior is sure
LEAST = 1e-3  # scale below which a posterior would be nothing but the durations


class Certainty(NamedTuple):
    """What is known of the uncertainty of boundaries beside the model's own posterior.

    Attributes
    ----------
    scale : float      kappa, which multiplies all scores in the posterior of `align`
    jitter : float     standard deviation, in frames, of a boundary of which the posterior is sure
    """

    scale: float = 1.0
    jitter: float = 0.0

    @staticmethod
    def heard(step: float) -> float:
        """Return the jitter of speech with a frame every `step` seconds: what was heard, rounded to frames."""
        return math.hypot(HEARD / step, ROUNDED)

    def spread(self, sd: float) -> float:
        """Return the standard deviation of a boundary from that of the posterior, in frames."""
        return math.hypot(sd, self.jitter)

    @property
    def weights(self) -> Floats:
        """Probabilities of a jitter of so many frames, (2 R + 1,), with mean 0 and the variance of the jitter."""
        n_steps = max(1, math.ceil(2 * self.jitter**2))
        share = self.jitter**2 / (2 * n_steps)
        found = np.ones(1)
        for _ in range(n_steps):
            found = np.convolve(found, [share, 1 - 2 * share, share])
        return found


class Residuals(NamedTuple):
    """Standardised residuals of an utterance and the steps between neighbouring states along its best path.

    Attributes
    ----------
    z : (T, D) array          0 where a feature is missing and in pauses
    steps : (C, D) array      distance of the means of the states at each change, in standard deviations
    """

    z: Floats
    steps: Floats

    @classmethod
    def along(
        cls, frames: Floats, states: NDArray[np.int64], mean: Floats, var: Floats, pause: NDArray[np.bool_]
    ) -> Residuals:
        """Return the residuals of frames (T, D) whose states are known; `pause` says which states are pauses."""
        z = np.nan_to_num((frames - mean[states]) / np.sqrt(var[states]))
        z[pause[states]] = 0.0
        at = np.flatnonzero(np.diff(states))
        before, after = states[at], states[at + 1]
        return cls(z, (mean[after] - mean[before]) / np.sqrt((var[before] + var[after]) / 2))


def acoustic_scale(found: Iterable[Residuals]) -> float:
    """Return kappa of some utterances; 1 where no state changes.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> independent = Residuals(rng.normal(size=(4000, 1)), np.ones((1, 1)))
    >>> acoustic_scale([independent]) > 0.9
    True
    >>> repeated = Residuals(np.repeat(rng.normal(size=(1000, 1)), 4, axis=0), np.ones((1, 1)))  # each frame four times
    >>> 0.2 < acoustic_scale([repeated]) < 0.35
    True
    """
    pieces = list(found)
    n_frames = sum(len(piece.z) for piece in pieces)
    steps = np.concatenate([piece.steps for piece in pieces]) if pieces else np.zeros((0, 0))
    if not len(steps) or not n_frames:
        return 1.0
    omega = _long_run(pieces, n_frames, _window(n_frames))
    expected, actual = float((steps**2).sum()), float(np.einsum("cd,de,ce->", steps, omega, steps))
    return min(1.0, max(LEAST, expected / actual)) if actual > 0 else 1.0


def _window(n_frames: int) -> int:
    """Return the width of Bartlett's window, after Newey and West: 4 (T / 100)^(2/9), at most a third of a second."""
    return min(32, max(2, 1 + int(4 * (n_frames / 100) ** (2 / 9))))


def _long_run(pieces: list[Residuals], n_frames: int, width: int) -> Floats:
    """Return omega."""
    total = _lagged(pieces, 0)
    for lag in range(1, width):
        lagged = _lagged(pieces, lag)
        total = total + (1 - lag / width) * (lagged + lagged.T)
    return total / n_frames


def _lagged(pieces: list[Residuals], lag: int) -> Floats:
    """Return sum_t z[t + lag] z[t]' over the utterances with more frames than the lag."""
    total = np.zeros((pieces[0].z.shape[1],) * 2)
    for piece in pieces:
        if len(piece.z) > lag:
            total += piece.z[lag:].T @ piece.z[: len(piece.z) - lag]
    return total
