"""What is done to the sound of synthesisers, so that a model hears speech as it is recorded.

Rooms that ring, breath in pauses, microphones and telephones, noise, and all levels.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.signal import butter, fftconvolve, resample_poly, sosfilt

Floats = np.ndarray
TELEPHONE = 8000  # samples per second
ON_TELEPHONE, FILTERED, RINGING, BREATHING, QUIET = 0.15, 0.5, 0.5, 0.5, 0.15  # shares of recordings
SPEECH_ABOVE_NOISE = (12.0, 45.0)  # dB, least and most
SPEECH_ABOVE_BREATH = (8.0, 35.0)
RING = (0.08, 0.5)  # seconds in which the sound of a room falls by 60 dB
DIRECT = (0.0, 12.0)  # dB of the direct sound above that of the room


def recorded(
    samples: Floats, rate: int, pauses: Sequence[tuple[float, float]], rng: np.random.Generator
) -> tuple[Floats, int]:
    """Return sound as recorded somewhere, and its rate; `pauses` are the seconds in which there may be breath."""
    sound = samples / np.abs(samples).max()
    level = np.std(sound)
    if rng.uniform() < BREATHING:
        for start, end in pauses:
            _breathe(sound, rate, start, end, level, rng)
    if rng.uniform() < RINGING:
        sound = _in_room(sound, rate, rng)
    kind = rng.uniform()
    if kind < ON_TELEPHONE:
        sound, rate = resample_poly(sound, TELEPHONE, rate), TELEPHONE
        sound = sosfilt(butter(2, [250, 3500], "bandpass", fs=rate, output="sos"), sound)
    elif kind < FILTERED:  # a microphone that is deaf to the lowest and highest tones
        low, high = rng.uniform(40, 150), min(rng.uniform(4000, 10000), 0.48 * rate)
        sound = sosfilt(butter(1, [low, high], "bandpass", fs=rate, output="sos"), sound)
    if rng.uniform() > QUIET:
        sound = sound + noise(len(sound), rng) * np.std(sound) * 10 ** (-rng.uniform(*SPEECH_ABOVE_NOISE) / 20)
    return sound / np.abs(sound).max() * rng.uniform(0.05, 0.95), rate


def noise(size: int, rng: np.random.Generator) -> Floats:
    """Return noise of standard deviation 1, between white and brown."""
    keep = rng.uniform(0.0, 0.95)
    coloured = sosfilt(np.array([[1.0, 0.0, 0.0, 1.0, -keep, 0.0]]), rng.normal(size=size))
    return np.asarray(coloured / coloured.std())


def _breathe(sound: Floats, rate: int, start: float, end: float, level: float, rng: np.random.Generator) -> None:
    """Add breath, or a short knock, to a pause of some length."""
    first, last = int(start * rate), int(end * rate)
    size = last - first
    if size < 0.12 * rate or rng.uniform() < 0.3:
        return
    length = int(size * rng.uniform(0.3, 0.9)) if rng.uniform() < 0.8 else int(0.03 * rate)
    at = first + int(rng.uniform(0, size - length))
    low, high = rng.uniform(150, 900), rng.uniform(1500, min(6000, 0.45 * rate))
    air = sosfilt(butter(2, [low, high], "bandpass", fs=rate, output="sos"), rng.normal(size=length))
    shape = np.sin(np.pi * (np.arange(length) + 0.5) / length) ** rng.uniform(0.5, 2)
    loud = level * 10 ** (-rng.uniform(*SPEECH_ABOVE_BREATH) / 20)
    sound[at : at + length] += loud * shape * air / max(np.std(air), 1e-12)


def _in_room(sound: Floats, rate: int, rng: np.random.Generator) -> Floats:
    """Return sound with the echoes of a room: noise that dies away."""
    ring = rng.uniform(*RING)
    times = np.arange(int(ring * rate)) / rate
    echo = rng.normal(size=len(times)) * 10 ** (-3 * times / ring)
    echo[: int(0.003 * rate)] = 0.0
    echo *= 10 ** (-rng.uniform(*DIRECT) / 20) / np.sqrt((echo**2).sum())
    echo[0] = 1.0
    return np.asarray(fftconvolve(sound, echo)[: len(sound)])
