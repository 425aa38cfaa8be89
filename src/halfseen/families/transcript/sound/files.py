"""Sound files: WAV without other libraries; FLAC, OGG, MP3 and others by the library soundfile."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halfseen.errors import DataError
from halfseen.families.transcript.sound.endings import FILMS
from halfseen.families.transcript.sound.wav import read_wav
from halfseen.optional import optional

BLOCK = 1 << 20  # frames that are read at a time, whose channels are averaged at once


def read_sound(path: str | os.PathLike[str]) -> tuple[NDArray[np.float64], int]:
    """Return the samples of a sound file, between -1 and 1, channels averaged, and their rate in Hz.

    WAV is read by `read_wav`, other files by the library soundfile (extra `speech`): FLAC, OGG, Opus, MP3 and others.

    Examples
    --------
    >>> samples, rate = read_sound("talk.mp3")  # doctest: +SKIP
    """
    name = os.fspath(path)
    ending = os.path.splitext(name)[1].lower()
    if ending == ".wav":
        return read_wav(path)
    if not os.path.exists(name):
        raise DataError(f"{name}: there is no such file.")
    if ending in FILMS:
        raise DataError(f"{name}: {ending} cannot be read. Take the sound out of it, for example: {_ffmpeg(name)}")
    soundfile = optional("soundfile", f"{name}: to read {ending or 'this'} files", "speech")
    try:
        with soundfile.SoundFile(name) as file:
            samples, rate = _mono(file), int(file.samplerate)
    except soundfile.LibsndfileError as error:
        raise DataError(
            f"{name}: this is not sound that the library soundfile can read, or it is damaged. If it is sound, convert "
            f"it, for example: {_ffmpeg(name)}"
        ) from error
    if not len(samples):
        raise DataError(f"{name}: the file has no samples.")
    if not np.isfinite(samples).all():
        raise DataError(f"{name}: sample {np.flatnonzero(~np.isfinite(samples))[0]} is not a finite number.")
    return samples, rate


def _mono(file: Any) -> NDArray[np.float64]:
    """Return the mean of all channels, read in blocks: a header may declare more samples than there are."""
    parts = [block.mean(axis=1) for block in file.blocks(blocksize=BLOCK, dtype="float64", always_2d=True)]
    return np.concatenate([np.zeros(0), *parts])


def _ffmpeg(name: str) -> str:
    return f"ffmpeg -i {os.path.basename(name)} {os.path.splitext(os.path.basename(name))[0]}.wav"
