"""Arrays that lie in temporary files, and the canonical order of rows that do not fit into memory.

A *scratch* array is mapped into memory from a file without a name: the system brings in the pages that are looked at,
takes them back when memory is short, and the file is gone with the last array that looks at it, whatever happens.

The canonical order is that of `table`: by two hashes of the content of a row. Rows are dealt into buckets by the
leading bits of the first hash; each bucket is sorted and its equal rows merged in memory; the buckets one after the
other are what sorting all rows would have given, bit for bit.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = list[NDArray[Any]]  # (N, ...) each

SHARE = 8  # a bucket takes this part of the memory: its rows, their order and their copies are there at once
MOST_BITS = 12  # of the hash, for 4096 buckets at most


def scratch(shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
    """Return an array of zeros in a temporary file (in the folder that TMPDIR names)."""
    if 0 in shape:
        return np.zeros(shape, dtype)
    with tempfile.TemporaryFile(prefix="halfseen-") as file:
        return np.asarray(np.memmap(file, dtype=dtype, mode="w+", shape=shape))


def scratch_like(array: NDArray[Any], n_rows: int | None = None) -> NDArray[Any]:
    """Return a scratch array for so many rows like those of `array`."""
    return scratch((len(array) if n_rows is None else n_rows, *array.shape[1:]), array.dtype)


def moved(array: NDArray[Any], room: int) -> NDArray[Any]:
    """Return a copy in a temporary file."""
    out = scratch_like(array)
    for part in slices(len(array), room, [array]):
        out[part] = array[part]
    return out


def take(arrays: Sequence[NDArray[Any]], rows: NDArray[np.intp], room: int) -> Arrays:
    """Return some rows of arrays, in temporary files."""
    out = [scratch_like(array, len(rows)) for array in arrays]
    for part in slices(len(rows), room, arrays):
        for array, target in zip(arrays, out, strict=True):
            target[part] = array[rows[part]]
    return out


def slices(n_rows: int, room: int, arrays: Sequence[NDArray[Any]]) -> Iterator[slice]:
    """Cut rows into pieces that take a small part of the memory."""
    size = int(np.clip(room // (4 * SHARE * max(1, row_bytes(arrays))), 1 << 10, 1 << 16))
    return (slice(first, first + size) for first in range(0, n_rows, size))


def row_bytes(arrays: Sequence[NDArray[Any]]) -> int:
    """Return the size of one row of all arrays."""
    return sum(array.dtype.itemsize * int(np.prod(array.shape[1:])) for array in arrays)


def sorted_and_merged(
    arrays: Sequence[NDArray[Any]],
    hashed: Callable[[Arrays], NDArray[np.uint64]],
    merged: Callable[[Arrays], Arrays],
    room: int,
) -> Arrays:
    """Return rows in the order of their hashes, a bucket at a time.

    Parameters
    ----------
    arrays : sequence of (N, ...) arrays
    hashed : callable
        The first hash of each row.
    merged : callable
        Arrays with the rows of a bucket, sorted and merged.
    room : int
        Bytes of memory to use, roughly.
    """
    n_rows = len(arrays[0])
    bits = _bits(n_rows * row_bytes(arrays), room)
    place = scratch((n_rows,), np.uint16)  # the bucket of each row
    sizes = np.zeros(1 << bits, dtype=np.int64)
    for part in slices(n_rows, room, arrays):
        leading = hashed([array[part] for array in arrays]) >> np.uint64(64 - MOST_BITS)  # shifting by 64 is undefined
        place[part] = leading >> np.uint64(MOST_BITS - bits)
        sizes += np.bincount(place[part], minlength=len(sizes))
    stops = np.cumsum(sizes)
    dealt = _dealt(arrays, place, stops - sizes, room)
    last = 0
    for start, stop in zip((stops - sizes).tolist(), stops.tolist(), strict=True):
        if start == stop:
            continue
        bucket = merged([np.array(array[start:stop]) for array in dealt])
        first, last = last, last + len(bucket[0])
        for array, rows in zip(dealt, bucket, strict=True):
            array[first:last] = rows  # never beyond the bucket that was just read
    return [array[:last] for array in dealt]


def _bits(size: int, room: int) -> int:
    """Return the number of leading bits that make buckets small enough."""
    wanted = -(-size * SHARE // max(room, 1))
    return min(max(0, int(wanted - 1).bit_length()), MOST_BITS)


def _dealt(arrays: Sequence[NDArray[Any]], place: NDArray[np.uint16], starts: NDArray[np.int64], room: int) -> Arrays:
    """Return the rows bucket by bucket, in their old order within each."""
    out = [scratch_like(array) for array in arrays]
    next_row = starts.copy()
    for part in slices(len(place), room, arrays):
        bucket = place[part]
        order = np.argsort(bucket, kind="stable")
        rows = [array[part][order] for array in arrays]
        used, begins, counts = np.unique(bucket[order], return_index=True, return_counts=True)
        for b, begin, count in zip(used.tolist(), begins.tolist(), counts.tolist(), strict=True):
            for target, values in zip(out, rows, strict=True):
                target[next_row[b] : next_row[b] + count] = values[begin : begin + count]
            next_row[b] += count
    return out
