"""Sound as features: mel-frequency cepstra every 10 ms, with their slopes, minus their mean.

The usual steps: pre-emphasis, cut into overlapping windows, power spectrum, sums over
bands that are equally wide on the mel scale, logs, cosine transform. Any sample rate; times of frames are in seconds.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.fft import dct, rfft

from halfseen.errors import DataError, ParameterError

__all__ = ["STEP", "mfcc", "spectrogram"]

Floats = NDArray[np.float64]

STEP = 0.01  # seconds from one frame to the next
WINDOW = 0.025  # seconds
RAISED = 0.97  # pre-emphasis: this share of each sample is subtracted from the next
HIGHEST = 8000.0  # Hz; above there is little speech
QUIET = 1e-10  # of the loudest band: floor for digital silence
LIFTER = 22.0  # cepstra are weighted to have spreads of one order
BANDS = 26


def mfcc(
    samples: Any, rate: float, n_cepstra: int = 13, deltas: int = 1, normalise: bool = True, step: float = STEP
) -> Floats:
    """Return features of sound, (T, n_cepstra * (1 + deltas)): a frame every `step` seconds.

    Parameters
    ----------
    samples : (n,) array          one channel, between -1 and 1
    rate : float                  samples per second
    n_cepstra : int, default 13   the first is the log of the energy; 26 at most
    deltas : {0, 1, 2}            1 adds slopes over two frames on both sides, 2 also slopes of slopes
    normalise : bool              subtract the mean of each cepstrum over the recording
    step : float, default 0.01

    Frame t is the sound around (t + 1/2) step.

    Examples
    --------
    >>> tone = np.sin(2 * np.pi * 440 * np.arange(16000) / 16000)
    >>> mfcc(tone, 16000).shape
    (100, 26)
    """
    samples = np.asarray(samples, dtype=np.float64)
    if samples.ndim != 1 or not len(samples) or not np.isfinite(samples).all():
        raise DataError(f"samples have shape {samples.shape}, expected one row of finite numbers.")
    if not (rate > 0 and step > 0 and rate * step >= 1):
        raise ParameterError(f"rate={rate!r}, step={step!r}: a step must have at least one sample.")
    if not 1 <= n_cepstra <= BANDS or deltas not in (0, 1, 2):
        raise ParameterError(
            f"n_cepstra={n_cepstra!r}, deltas={deltas!r}: n_cepstra is from 1 to {BANDS}, deltas 0, 1 or 2."
        )
    size, n_frames = max(2, round(WINDOW * rate)), max(1, int(len(samples) / (rate * step)))
    spectrum_size = 1 << (size - 1).bit_length()
    centres = np.floor((np.arange(n_frames) + 0.5) * step * rate).astype(np.int64)
    padded = np.pad(samples - RAISED * np.concatenate([[0.0], samples[:-1]]), (size, 2 * size))
    firsts = centres + size - size // 2
    found = np.empty((n_frames, n_cepstra))
    for begin in range(0, n_frames, 4096):  # so that the spectrogram of an hour of sound is never in memory
        rows = firsts[begin : begin + 4096, None] + np.arange(size)
        power = np.abs(rfft(padded[rows] * np.hamming(size), spectrum_size)) ** 2
        found[begin : begin + 4096] = _cepstra(power, float(rate), spectrum_size, n_cepstra)
    if normalise:
        found -= found.mean(axis=0)
    parts = [found]
    for _ in range(deltas):
        parts.append(_slope(parts[-1]))
    return np.concatenate(parts, axis=1)


def _cepstra(power: Floats, rate: float, size: int, n_cepstra: int) -> Floats:
    bands = power @ _bands(rate, size).T
    logs = np.log(np.maximum(bands, QUIET * size))
    cepstra = dct(logs, type=2, axis=1, norm="ortho")[:, :n_cepstra]
    lifter = 1 + LIFTER / 2 * np.sin(np.pi * np.arange(n_cepstra) / LIFTER)
    cepstra = cepstra * lifter
    cepstra[:, 0] = np.log(np.maximum(power.sum(axis=1), QUIET * size))
    return cepstra


@cache
def _bands(rate: float, size: int, n_bands: int = BANDS) -> Floats:
    """Return the weights of triangular bands, equally wide on the mel scale, (n_bands, size / 2 + 1)."""
    top = min(rate / 2, HIGHEST)
    mel = np.linspace(_mel(20.0), _mel(top), n_bands + 2)
    edges = 700 * (np.exp(mel / 1127) - 1)
    frequency = np.arange(size // 2 + 1) * rate / size
    rising = (frequency - edges[:-2, None]) / (edges[1:-1] - edges[:-2])[:, None]
    falling = (edges[2:, None] - frequency) / (edges[2:] - edges[1:-1])[:, None]
    return np.maximum(0.0, np.minimum(rising, falling))


def _mel(frequency: float) -> float:
    return float(1127 * np.log1p(frequency / 700))


def _slope(values: Floats) -> Floats:
    """Return the slope of a line through five frames, sum_i i (x[t+i] - x[t-i]) / (2 sum_i i^2)."""
    padded = np.pad(values, ((2, 2), (0, 0)), mode="edge")
    n = len(values)
    return ((padded[3 : 3 + n] - padded[1 : 1 + n]) + 2 * (padded[4 : 4 + n] - padded[:n])) / 10


def spectrogram(samples: Any, rate: float, step: float = STEP) -> tuple[Floats, Floats, Floats]:
    """Return times (T,), frequencies (F,) and the log of the power, (F, T), of sound: for plots."""
    samples = np.asarray(samples, dtype=np.float64)
    size, n_frames = max(2, round(WINDOW * rate)), max(1, int(len(samples) / (rate * step)))
    times: Floats = (np.arange(n_frames, dtype=np.float64) + 0.5) * step
    rows = np.floor(times * rate).astype(np.int64)[:, None] + size - size // 2 + np.arange(size)
    power = np.abs(rfft(np.pad(samples, (size, 2 * size))[rows] * np.hamming(size))) ** 2
    logs: Floats = np.log(np.maximum(power.T, QUIET * size))
    return times, np.arange(len(logs)) * rate / size, logs
