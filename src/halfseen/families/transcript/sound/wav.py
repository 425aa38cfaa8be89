"""WAV files, read without other libraries."""

from __future__ import annotations

import os
import struct
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from halfseen.errors import DataError

__all__ = ["read_wav"]

Floats = NDArray[np.float64]

PCM, FLOAT, EXTENSIBLE = 1, 3, 0xFFFE  # formats of WAV; EXTENSIBLE gives the format later in the header
FORM = 40  # bytes of a format that mean something; a damaged file may declare 4 GB
FASTEST = 10_000_000  # samples per second; sound has 768,000 at most, and windows take memory in proportion
KINDS = {(PCM, 8), (PCM, 16), (PCM, 24), (PCM, 32), (FLOAT, 32), (FLOAT, 64)}  # (format, bits per sample)


def read_wav(path: str | os.PathLike[str]) -> tuple[Floats, int]:
    """Return the samples of a WAV file, between -1 and 1, channels averaged, and their rate in Hz.

    PCM of 8, 16, 24 or 32 bits, or floating point. Other formats raise an error that says how to convert them.
    """
    try:
        with open(path, "rb") as file:
            kind, n_channels, rate, width, raw = _opened(file)
    except FileNotFoundError:
        raise DataError(f"{os.fspath(path)}: there is no such file.") from None
    except ValueError as error:
        raise DataError(
            f"{os.fspath(path)}: this is not an uncompressed WAV file ({error}). Convert it, for example: "
            "ffmpeg -i IN -c:a pcm_s16le OUT.wav"
        ) from None
    samples = _samples(raw[: len(raw) // (width * n_channels) * width * n_channels], kind, width)
    if not len(samples):
        raise DataError(f"{os.fspath(path)}: the file has no samples.")
    if not np.isfinite(samples).all():
        raise DataError(f"{os.fspath(path)}: sample {np.flatnonzero(~np.isfinite(samples))[0]} is not a finite number.")
    return np.asarray(samples.reshape(-1, n_channels).mean(axis=1), dtype=np.float64), rate


def _opened(file: BinaryIO) -> tuple[int, int, int, int, bytes]:
    """Return kind, channels, rate, bytes of a sample, and samples of a WAV file; raise ValueError if it is not one.

    The file is a row of chunks, each with a name and a size; programs that stream
    sound write a size larger than the file.
    """
    if file.read(4) != b"RIFF" or file.read(8)[4:] != b"WAVE":
        raise ValueError("it does not begin with RIFF and WAVE")
    form: tuple[int, int, int, int] | None = None
    while len(head := file.read(8)) == 8:
        name, size = struct.unpack("<4sI", head)
        if name == b"fmt ":
            raw = file.read(min(size, FORM))
            form = _form(raw)
            file.seek(size - len(raw), os.SEEK_CUR)
        elif name == b"data":
            if form is None:
                raise ValueError("samples come before the header that describes them")
            return *form, file.read(min(size, os.fstat(file.fileno()).st_size))
        else:
            file.seek(size, os.SEEK_CUR)
        file.seek(size % 2, os.SEEK_CUR)
    raise ValueError("it ends before its samples")


def _form(raw: bytes) -> tuple[int, int, int, int]:
    """Return kind, channels, rate and bytes of a sample from the format chunk."""
    if len(raw) < 16:
        raise ValueError("it ends before its samples")
    kind, n_channels, rate, _, _, bits = struct.unpack("<HHIIHH", raw[:16])
    if kind == EXTENSIBLE and len(raw) >= 26:
        kind = struct.unpack("<H", raw[24:26])[0]
    if (kind, bits) not in KINDS:
        raise ValueError(f"format {kind} with {bits} bits")
    if not n_channels or not 0 < rate <= FASTEST:
        raise ValueError(f"{n_channels} channels, {rate:,} samples per second")
    return kind, n_channels, rate, bits // 8


def _samples(raw: bytes, kind: int, width: int) -> Floats:
    """Return numbers between -1 and 1 from little-endian samples of `width` bytes."""
    if kind == FLOAT:
        with np.errstate(invalid="ignore"):  # a signalling NaN, which is refused with the others
            return np.frombuffer(raw, dtype=f"<f{width}").astype(np.float64)
    if width == 1:
        return np.frombuffer(raw, dtype=np.uint8).astype(np.float64) / 128.0 - 1.0
    if width == 3:
        bytes_of = np.frombuffer(raw, dtype=np.uint8).reshape(-1, 3)
        padded = np.concatenate([np.zeros((len(bytes_of), 1), np.uint8), bytes_of], axis=1)
        return padded.view("<i4")[:, 0].astype(np.float64) / 2.0**31
    numbers: Floats = np.frombuffer(raw, dtype=f"<i{width}").astype(np.float64)
    return numbers / 2.0 ** (8 * width - 1)
