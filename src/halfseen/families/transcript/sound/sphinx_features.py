"""The front end of CMU Sphinx: cepstra as its acoustic models expect them, every 10 ms, from sound at 16 kHz.

    samples * 32768 -> pre-emphasis 0.97 -> Hamming windows of 410 samples, one every 160 -> power spectrum, 512 points
    -> triangular bands of equal area, edges equally spaced on the mel scale and rounded to points of the spectrum
    -> logs -> orthonormal cosine transform -> lifter -> c0 .. c12
    -> with c[t+2] - c[t-2] and with the differences of these between t+1 and t-1: 39 numbers (`1s_c_d_dd`)

Noise removal and dither are off. Sphinx counts time from the first sample of a window; here, as in `mfcc`, frame t is
the sound around (t + 1/2) step, so that boundaries need no correction.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from functools import cache
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.fft import dct, rfft

from halfseen.errors import DataError, ParameterError
from halfseen.families.transcript.sound.features import N_CEPSTRA, RAISED

__all__ = ["SphinxFrontEnd", "sphinx_features"]

Floats = NDArray[np.float64]

NAME = "sphinx"
RATE, SHIFT, WINDOW, POINTS = 16000, 160, 410, 512  # samples per second, per frame, per window; of the spectrum
SPHINX_STEP = SHIFT / RATE
FULL_SCALE = 32768.0  # Sphinx reads 16-bit integers
FLOOR = 1e-4  # added to the power in each band before the log
EARLIER = WINDOW // 2 - SHIFT // 2  # samples by which a window begins before its frame
BLOCK = 4096  # frames computed at once, so that the spectrogram of an hour of sound is never in memory
LONGEST = 1 << 12  # of the integers by which rates are converted: 44100 Hz has 441


@dataclass(frozen=True)
class SphinxFrontEnd:
    """Settings of the front end, with the names that Sphinx has for them; the defaults are those of its model en-us.

    Parameters
    ----------
    nfilt : int            bands
    lowerf, upperf : float     lowest and highest frequency, in Hz
    lifter : int           0: none

    Examples
    --------
    >>> str(SphinxFrontEnd()), str(SphinxFrontEnd(nfilt=20, upperf=3500.0))
    ('sphinx', 'sphinx -nfilt 20 -upperf 3500')
    >>> SphinxFrontEnd.parse("sphinx -nfilt 20").nfilt
    20
    """

    nfilt: int = 25
    lowerf: float = 130.0
    upperf: float = 6800.0
    lifter: int = 22

    def __post_init__(self) -> None:
        if not N_CEPSTRA <= self.nfilt <= POINTS // 2 or not 0 <= self.lifter <= 1000:
            raise ParameterError(
                f"-nfilt {self.nfilt} -lifter {self.lifter}: expected {N_CEPSTRA} to {POINTS // 2} bands."
            )
        if not 0 <= self.lowerf < self.upperf <= RATE / 2:
            raise ParameterError(
                f"-lowerf {self.lowerf:g} -upperf {self.upperf:g}: expected rising frequencies up to {RATE // 2} Hz."
            )
        if (np.diff(_edges(self)) < RATE / POINTS / 2).any():
            raise ParameterError(f"{self}: bands are narrower than the points of the spectrum. Use fewer.")

    def __str__(self) -> str:
        """Return the settings as text, which `parse` reads: "sphinx", and what is not as by default."""
        changed = {name: value for name, value in asdict(self).items() if value != getattr(SphinxFrontEnd, name)}
        return " ".join([NAME, *(f"-{name} {value:.10g}" for name, value in changed.items())])

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the front end that `str` has written."""
        name, *words = text.split()
        if name != NAME or len(words) % 2:
            raise ParameterError(f"features={text!r} is not the front end of Sphinx, such as {str(cls())!r}.")
        return cls.of({key.removeprefix("-"): value for key, value in zip(words[::2], words[1::2], strict=True)})

    @classmethod
    def of(cls, given: Mapping[str, str]) -> Self:
        """Return a front end from settings as text."""
        types = {field.name: int if field.type == "int" else float for field in fields(cls)}
        found: dict[str, Any] = {}
        for name, value in given.items():
            if name not in types:
                raise ParameterError(f"-{name} is not a setting of the front end: {', '.join(types)}.")
            try:
                found[name] = types[name](value)
            except ValueError:
                raise ParameterError(f"-{name} {value!r:.40} is not a number.") from None
        return cls(**found)

    def __call__(self, samples: Any, rate: float, normalise: bool = True, step: float = SPHINX_STEP) -> Floats:
        """Return features of sound; see `sphinx_features`."""
        if step != SPHINX_STEP:
            raise ParameterError(f"step={step!r}: models of Sphinx have a frame every {SPHINX_STEP} s.")
        sound = at_16_khz(samples, rate)
        cepstra = self.cepstra(sound, -EARLIER, max(1, len(sound) // SHIFT))
        if normalise:
            cepstra -= cepstra.mean(axis=0)
        return with_differences(cepstra)

    def cepstra(self, sound: Floats, first: int, n_frames: int) -> Floats:
        """Return (n_frames, 13) cepstra of sound at 16 kHz; the window of frame t begins at sample first + 160 t."""
        raised = FULL_SCALE * (sound - RAISED * np.concatenate([[0.0], sound[:-1]]))
        last = first + SHIFT * (n_frames - 1) + WINDOW
        padded = np.pad(raised, (max(0, -first), max(0, last - len(raised))))
        windows = np.lib.stride_tricks.sliding_window_view(padded, WINDOW)[max(0, first) :: SHIFT][:n_frames]
        found = np.empty((n_frames, N_CEPSTRA))
        for begin in range(0, n_frames, BLOCK):
            power = np.abs(rfft(windows[begin : begin + BLOCK] * np.hamming(WINDOW), POINTS)) ** 2
            logs = np.log(power @ _bands(self).T + FLOOR)
            found[begin : begin + BLOCK] = dct(logs, type=2, axis=1, norm="ortho")[:, :N_CEPSTRA]
        if self.lifter:
            found *= 1 + self.lifter / 2 * np.sin(np.pi * np.arange(N_CEPSTRA) / self.lifter)
        return found


def sphinx_features(samples: Any, rate: float, normalise: bool = True) -> Floats:
    """Return the features that acoustic models of CMU Sphinx expect, (T, 39): a frame every 10 ms.

    Parameters
    ----------
    samples : (n,) array          one channel, between -1 and 1
    rate : float                  samples per second; converted to 16,000
    normalise : bool              subtract the mean of each cepstrum over the recording

    Frame t is the sound around (t + 1/2) 10 ms.

    Examples
    --------
    >>> tone = np.sin(2 * np.pi * 440 * np.arange(44100) / 44100)
    >>> sphinx_features(tone, 44100).shape
    (100, 39)
    """
    return SphinxFrontEnd()(samples, rate, normalise)


def at_16_khz(samples: Any, rate: float) -> Floats:
    """Return sound at 16 kHz, converted by a polyphase filter."""
    sound = np.asarray(samples, dtype=np.float64)
    if sound.ndim != 1 or not len(sound) or not np.isfinite(sound).all():
        raise DataError(f"samples have shape {sound.shape}, expected one row of finite numbers.")
    if rate == RATE:
        return sound
    if not rate >= 2 * RATE / SHIFT or rate != int(rate):
        raise ParameterError(f"rate={rate!r} is not a whole number of samples per second, at least 200.")
    common = math.gcd(int(rate), RATE)
    up, down = RATE // common, int(rate) // common
    if max(up, down) > LONGEST:
        raise ParameterError(f"rate={rate!r} cannot be converted to {RATE}. Convert the sound to {RATE} Hz first.")
    from scipy.signal import resample_poly  # a slow import

    return np.asarray(resample_poly(sound, up, down), dtype=np.float64)


def with_differences(cepstra: Floats) -> Floats:
    """Return cepstra, their differences over two frames on both sides, and the differences of those over one."""
    n = len(cepstra)
    padded = np.pad(cepstra, ((3, 3), (0, 0)), mode="edge")
    slopes = padded[4:] - padded[:-4]  # of frames -1 to n
    return np.concatenate([cepstra, slopes[1 : 1 + n], slopes[2:] - slopes[:-2]], axis=1)


def _edges(front: SphinxFrontEnd) -> Floats:
    """Return the edges of the bands in Hz: equally spaced in mel = 2595 log10(1 + f / 700), rounded to points."""
    low, high = (2595 * math.log10(1 + frequency / 700) for frequency in (front.lowerf, front.upperf))
    edges = 700 * (10 ** (np.linspace(low, high, front.nfilt + 2) / 2595) - 1)
    point = RATE / POINTS
    rounded: Floats = np.floor(edges / point + 0.5) * point
    return rounded


@cache
def _bands(front: SphinxFrontEnd) -> Floats:
    """Return the weights of triangular bands, (nfilt, 257), each with area 1 Hz."""
    edges = _edges(front)
    left, centre, right = edges[:-2, None], edges[1:-1, None], edges[2:, None]
    frequency = np.arange(POINTS // 2 + 1) * RATE / POINTS
    shape = np.minimum((frequency - left) / (centre - left), (right - frequency) / (right - centre))
    return np.maximum(0.0, shape) * 2 / (right - left)
