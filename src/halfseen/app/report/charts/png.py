"""Images of grey levels as PNG in a data URI, without an imaging library."""

from __future__ import annotations

import struct
import zlib
from base64 import b64encode

import numpy as np
from numpy.typing import NDArray

SIGNATURE = b"\x89PNG\r\n\x1a\n"
GREY, DEPTH = 0, 8  # colour type, and bits of a pixel


def png(levels: NDArray[np.uint8]) -> bytes:
    """Return an image of grey levels, (height, width), as a PNG file.

    Examples
    --------
    >>> png(np.zeros((2, 3), np.uint8))[1:4]
    b'PNG'
    """
    height, width = levels.shape
    rows = np.zeros((height, width + 1), dtype=np.uint8)  # each row begins with its filter: 0, none
    rows[:, 1:] = levels
    head = struct.pack(">IIBBBBB", width, height, DEPTH, GREY, 0, 0, 0)
    parts = ((b"IHDR", head), (b"IDAT", zlib.compress(rows.tobytes(), 9)), (b"IEND", b""))
    return SIGNATURE + b"".join(_chunk(name, body) for name, body in parts)


def _chunk(name: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))


def data_uri(levels: NDArray[np.uint8]) -> str:
    """Return an image of grey levels as a data URI."""
    return "data:image/png;base64," + b64encode(png(levels)).decode()
