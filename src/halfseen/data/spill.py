"""Arrays in temporary files, and the canonical order of rows that do not fit into memory.

A *scratch* array is mapped into memory from a file without a name: the system loads the pages that are accessed and
evicts them when memory is short; the file is deleted with the last array that refers to it, also after a crash.

The canonical order is that of `table`: by two hashes of the content of a row. Rows are distributed over buckets by the
leading bits of the first hash; each bucket is sorted and its equal rows merged in memory; the concatenated
buckets equal the result of sorting all rows, bit for bit.
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

SHARE = 8  # a bucket takes 1/SHARE of the memory: its rows, their order and their copies are in memory together
MOST_BITS = 12  # of the hash, for 4096 buckets at most


def scratch(shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
    """Return an array of zeros in a temporary file (in the folder that TMPDIR names).

    Its space is reserved: `DiskFullError` is raised here, or not at all.
    """
    if 0 in shape:
        return np.zeros(shape, dtype)
    size = math.prod(shape) * np.dtype(dtype).itemsize

    def needed() -> str:
        return f"temporary files need {size_text(size)} more"

    with enough_space(tempfile.gettempdir(), needed, ADVICE), tempfile.TemporaryFile(prefix=PREFIX) as file:
        reserve(file.fileno(), size)
        return np.asarray(np.memmap(file, dtype=dtype, mode="w+", shape=shape))


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
    size = int(np.clip(memory_limit // (4 * SHARE * max(1, row_bytes(arrays))), 1 << 10, 1 << 16))
    return (slice(first, first + size) for first in range(0, n_rows, size))


def row_bytes(arrays: Sequence[NDArray[Any]]) -> int:
    """Return the size of one row of all arrays."""
    return sum(array.dtype.itemsize * int(np.prod(array.shape[1:])) for array in arrays)


def sorted_and_merged(
    arrays: Sequence[NDArray[Any]],
    hashed: Callable[[Arrays], NDArray[np.uint64]],
    merged: Callable[[Arrays], Arrays],
    memory_limit: int,
) -> Arrays:
    """Return rows in the order of their hashes, a bucket at a time.

    Parameters
    ----------
    arrays : sequence of (N, ...) arrays
    hashed : callable
        The first hash of each row.
    merged : callable
        Arrays with the rows of a bucket, sorted and merged.
    memory_limit : int
        Bytes of memory to use, roughly.
    """
    n_rows = len(arrays[0])
    bits = _bits(n_rows * row_bytes(arrays), memory_limit)
    place = scratch((n_rows,), np.uint16)  # the bucket of each row
    sizes = np.zeros(1 << bits, dtype=np.int64)
    for part in slices(n_rows, memory_limit, arrays):
        leading = hashed([array[part] for array in arrays]) >> np.uint64(64 - MOST_BITS)  # shifting by 64 is undefined
        place[part] = leading >> np.uint64(MOST_BITS - bits)
        sizes += np.bincount(place[part], minlength=len(sizes))
    stops = np.cumsum(sizes)
    dealt = _by_bucket(arrays, place, stops - sizes, memory_limit)
    last = 0
    for start, stop in zip((stops - sizes).tolist(), stops.tolist(), strict=True):
        if start == stop:
            continue
        bucket = merged([np.array(array[start:stop]) for array in dealt])
        first, last = last, last + len(bucket[0])
        for array, rows in zip(dealt, bucket, strict=True):
            array[first:last] = rows  # never beyond the bucket that was just read
    return [array[:last] for array in dealt]


def _bits(size: int, memory_limit: int) -> int:
    """Return the number of leading bits that make buckets small enough."""
    wanted = -(-size * SHARE // max(memory_limit, 1))
    return min(max(0, int(wanted - 1).bit_length()), MOST_BITS)


def _by_bucket(
    arrays: Sequence[NDArray[Any]], place: NDArray[np.uint16], starts: NDArray[np.int64], memory_limit: int
) -> Arrays:
    """Return the rows bucket by bucket, in their old order within each."""
    out = [scratch_like(array) for array in arrays]
    next_row = starts.copy()
    for part in slices(len(place), memory_limit, arrays):
        bucket = place[part]
        order = np.argsort(bucket, kind="stable")
        rows = [array[part][order] for array in arrays]
        used, begins, counts = np.unique(bucket[order], return_index=True, return_counts=True)
        for b, begin, count in zip(used.tolist(), begins.tolist(), counts.tolist(), strict=True):
            for target, values in zip(out, rows, strict=True):
                target[next_row[b] : next_row[b] + count] = values[begin : begin + count]
            next_row[b] += count
    return out
