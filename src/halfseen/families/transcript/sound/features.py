"""Sound as features: mel-frequency cepstra of overlapping windows, minus their mean over speech.

The usual steps: pre-emphasis, cut into overlapping windows, power spectrum, sums over bands that are equally wide on
the mel scale, a floor for each band, logs, cosine transform. Any sample rate; times of frames are in seconds.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.fft import dct, rfft

from halfseen.errors import DataError, ParameterError
from halfseen.families.transcript.sound.level import is_speech

__all__ = ["DELTAS", "N_CEPSTRA", "STEP", "mfcc", "read_normalise", "spectrogram"]

Floats = NDArray[np.float64]

N_CEPSTRA = 13
STEP = 0.01  # seconds from one frame to the next
DELTAS = 1  # slopes help most with speech that a model has not heard
WINDOW = 0.025  # seconds
RAISED = 0.97  # pre-emphasis: this share of each sample is subtracted from the next
HIGHEST = 8000.0  # Hz; above there is little speech
QUIET = 1e-10  # floor of the spectrogram, for digital silence
FLOOR = 0.001  # of the level of a band, that is added to it
FAINT = 1e-6  # of the levels of all bands, that is added to each: a band above the highest frequency has nothing
SILENT = 1e-20  # of a recording of digital silence
NORMALISE = ("speech", "window", "none")
AROUND = 1.5  # seconds on both sides of a frame, for normalise="window"
LIFTER = 22.0  # cepstra are weighted to have spreads of one order
BANDS = 26


def mfcc(
    samples: Any,
    rate: float,
    n_cepstra: int = N_CEPSTRA,
    deltas: int = DELTAS,
    normalise: str | bool = "speech",
    step: float = STEP,
) -> Floats:
    """Return features of sound, (T, n_cepstra * (1 + deltas)): a frame every `step` seconds.

    Every band of frequencies is raised by a thousandth (30 dB less) of its own level in loud frames. So silence, faint
    noise and digital silence look alike, in recordings of any loudness and colour.

    Parameters
    ----------
    samples : (n,) array          one channel, between -1 and 1
    rate : float                  samples per second
    n_cepstra : int, default 13   the first is the log of the energy; 26 at most
    deltas : {0, 1, 2}            1, the default, adds slopes over two frames on both sides, 2 also slopes of slopes
    normalise : {"speech", "window", "none"}
        "speech": subtract the mean of each cepstrum over the frames that are speech (see `is_speech`), so that silence
        around the speech changes nothing. "window": over those within 1.5 s, for channels that change. True and False
        are "speech" and "none".
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
    found = _cepstra(_energies(samples, float(rate), step), n_cepstra)
    found -= _centre(found, normalise, step)
    parts = [found]
    for _ in range(deltas):
        parts.append(_slope(parts[-1]))
    return np.concatenate(parts, axis=1)


def read_normalise(normalise: str | bool) -> str:
    """Return the name of a normalisation."""
    way = {True: "speech", False: "none"}[normalise] if isinstance(normalise, bool) else normalise
    if way not in NORMALISE:
        raise ParameterError(f"normalise={normalise!r} is not one of {', '.join(map(repr, NORMALISE))}.")
    return way


def _centre(cepstra: Floats, normalise: str | bool, step: float) -> Floats:
    """Return what normalisation subtracts from the cepstra (T, D) of a recording, (D,) or (T, D)."""
    way = read_normalise(normalise)
    if way == "none":
        return np.zeros(cepstra.shape[1])
    speech = is_speech(cepstra[:, 0])
    mean: Floats = cepstra[speech].mean(axis=0)
    return mean if way == "speech" else _nearby(cepstra, speech, mean, round(AROUND / step))


def _nearby(cepstra: Floats, speech: NDArray[np.bool_], mean: Floats, reach: int) -> Floats:
    """Return the mean over the frames of speech within `reach` of each; few of them are shrunk to that of all."""
    sums = np.concatenate([np.zeros((1, cepstra.shape[1])), np.cumsum(np.where(speech[:, None], cepstra, 0.0), axis=0)])
    counts = np.concatenate([[0], np.cumsum(speech)])
    at = np.arange(len(cepstra))
    low, high = np.maximum(at - reach, 0), np.minimum(at + reach + 1, len(cepstra))
    about = reach / 2
    found: Floats = (sums[high] - sums[low] + about * mean) / (counts[high] - counts[low] + about)[:, None]
    return found


def _energies(samples: Floats, rate: float, step: float) -> Floats:
    """Return the energy of every band at every frame, (T, BANDS)."""
    size, n_frames = max(2, round(WINDOW * rate)), max(1, int(len(samples) / (rate * step)))
    spectrum_size = 1 << (size - 1).bit_length()
    centres = np.floor((np.arange(n_frames) + 0.5) * step * rate).astype(np.int64)
    padded = np.pad(samples - RAISED * np.concatenate([[0.0], samples[:-1]]), (size, 2 * size))
    firsts = centres + size - size // 2
    found = np.empty((n_frames, BANDS))
    for begin in range(0, n_frames, 4096):  # so that the spectrogram of an hour of sound is never in memory
        rows = firsts[begin : begin + 4096, None] + np.arange(size)
        power = np.abs(rfft(padded[rows] * np.hamming(size), spectrum_size)) ** 2
        found[begin : begin + 4096] = power @ _bands(rate, spectrum_size).T
    return found


def _cepstra(bands: Floats, n_cepstra: int) -> Floats:
    """Return the cepstra of bands, each raised by a share of its level, with the log-energy in the place of the first.

    The level of a band is its energy in the frames, weighted by itself: sum_t b[t]^2 / sum_t b[t].
    """
    levels = (bands**2).sum(axis=0) / np.maximum(bands.sum(axis=0), SILENT)
    raised = bands + np.maximum(FLOOR * levels, max(SILENT, FAINT * levels.sum()))
    cepstra: Floats = dct(np.log(raised), type=2, axis=1, norm="ortho")[:, :n_cepstra]
    cepstra *= 1 + LIFTER / 2 * np.sin(np.pi * np.arange(n_cepstra) / LIFTER)
    cepstra[:, 0] = np.log(raised.sum(axis=1))
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
