"""Arrays in temporary files.

A *scratch* array is mapped into memory from a file without a name: the system loads the pages that are accessed and
evicts them when memory is short; the file is deleted with the last array that refers to it, also after a crash.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halfseen.disk import enough_space, reserve, size_text
from halfseen.temporary import ADVICE, PREFIX

Arrays = list[NDArray[Any]]  # (N, ...) each

PART = 32  # rows copied at a time take 1 / PART of the memory


def scratch(shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
    """Return an array of zeros in a temporary file (in the folder that TMPDIR names).

    Its space is reserved: `DiskFullError` is raised here, or not at all.
    """
    if 0 in shape:
        return np.zeros(shape, dtype)
    size = math.prod(shape) * np.dtype(dtype).itemsize
    with enough_space(tempfile.gettempdir(), needing(size), ADVICE), tempfile.TemporaryFile(prefix=PREFIX) as file:
        reserve(file.fileno(), size)
        return np.asarray(np.memmap(file, dtype=dtype, mode="w+", shape=shape))


def needing(size: int) -> Callable[[], str]:
    """Return what says how much space temporary files need."""
    return lambda: f"temporary files need {size_text(size)} more"


def scratch_like(array: NDArray[Any], n_rows: int | None = None) -> NDArray[Any]:
    """Return a scratch array for `n_rows` rows like those of `array`."""
    return scratch((len(array) if n_rows is None else n_rows, *array.shape[1:]), array.dtype)


def copied_to_file(array: NDArray[Any], memory_limit: int) -> NDArray[Any]:
    """Return a copy in a temporary file."""
    out = scratch_like(array)
    for part in slices(len(array), memory_limit, [array]):
        out[part] = array[part]
    return out


def take(arrays: Sequence[NDArray[Any]], rows: NDArray[np.intp], memory_limit: int) -> Arrays:
    """Return some rows of arrays, in temporary files."""
    out = [scratch_like(array, len(rows)) for array in arrays]
    for part in slices(len(rows), memory_limit, arrays):
        for array, target in zip(arrays, out, strict=True):
            target[part] = array[rows[part]]
    return out


def slices(n_rows: int, memory_limit: int, arrays: Sequence[NDArray[Any]]) -> Iterator[slice]:
    """Cut rows into pieces that take a small part of the memory."""
    size = int(np.clip(memory_limit // (PART * max(1, row_bytes(arrays))), 1 << 10, 1 << 16))
    return (slice(first, first + size) for first in range(0, n_rows, size))


def row_bytes(arrays: Sequence[NDArray[Any]]) -> int:
    """Return the size of one row of all arrays."""
    return sum(array.dtype.itemsize * int(np.prod(array.shape[1:])) for array in arrays)
