"""The canonical order of rows that do not fit into memory.

Rows are dealt to buckets by the leading bits of a hash of their content; each bucket is sorted and its equal rows
merged in memory; the concatenated buckets equal the result of sorting all rows, bit for bit, whatever the order in
which the rows came and the number of buckets.

The buckets are in a few temporary files without names. A file is closed, and its space free again, as soon as its
buckets have been merged: rows take their space on disk about once.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from types import TracebackType
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from halfseen.data.growing import GrowingArray, temporary_file
from halfseen.data.in_order import in_order
from halfseen.data.spill import Arrays, needing
from halfseen.disk import enough_space
from halfseen.temporary import ADVICE

SHARE = 8  # the bucket of a worker takes 1/SHARE of its memory: its rows, their order and copies are there together
MOST_BITS = 12  # of the hash, for 4096 buckets at most
FILES = 16  # temporary files for all buckets: the space of 1 / FILES of the rows is taken twice


class Dealt(NamedTuple):
    """Some rows bucket by bucket, and the number of rows of each."""

    records: NDArray[Any]
    sizes: NDArray[np.int64]


class Buckets:
    """Rows in temporary files, by the leading bits of their hashes.

    Parameters
    ----------
    like : list of (0, ...) arrays
        Empty arrays of the types and widths of the arrays that hold the rows.
    n_rows : int
        How many rows there will be, roughly.
    memory_limit : int
        Bytes of memory to use, roughly.
    workers : int
        Threads that merge buckets. No result depends on it.
    beside : int
        Bytes of what `merge` will read for the rows from elsewhere.
    """

    def __init__(self, like: Arrays, n_rows: int, memory_limit: int, workers: int = 1, beside: int = 0) -> None:
        fields = [(str(i), array.dtype, array.shape[1:]) for i, array in enumerate(like)]
        self._record = np.dtype(fields, align=True)  # so that no number straddles two words
        self._workers = workers
        self._bits = _bits(n_rows * self._record.itemsize + beside, memory_limit // workers)
        self._together = max(1, self.n_buckets // FILES)  # buckets of a file
        with enough_space(tempfile.gettempdir(), needing(0), ADVICE):
            self._files = [temporary_file() for _ in range(0, self.n_buckets, self._together)]
        self._sizes: list[NDArray[np.int32]] = []  # rows of each bucket, of each time that rows were added
        self._left = n_rows * self._record.itemsize  # bytes that are still to come

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for file in self._files:
            with suppress(OSError):  # what a full disk kept from being written is not needed any more
                file.close()

    @property
    def n_buckets(self) -> int:
        """Number of buckets."""
        return 1 << self._bits

    def deal(self, arrays: Arrays, hashes: NDArray[np.uint64]) -> Dealt:
        """Return rows, given by their arrays and hashes, bucket by bucket; any thread may do it."""
        leading = hashes >> np.uint64(64 - MOST_BITS)  # shifting by 64 is undefined
        place = (leading >> np.uint64(MOST_BITS - self._bits)).astype(np.uint16)
        records = np.empty(len(hashes), self._record)
        for name, array in zip(self._record.names or (), arrays, strict=True):
            records[name] = array
        return Dealt(records.take(np.argsort(place, kind="stable")), np.bincount(place, minlength=self.n_buckets))

    def add(self, dealt: Dealt) -> None:
        """Write rows to the files."""
        stops = np.cumsum(dealt.sizes)
        with enough_space(tempfile.gettempdir(), needing(self._left), ADVICE):
            for f, file in enumerate(self._files):
                first, last = f * self._together, (f + 1) * self._together - 1
                rows = dealt.records[stops[first] - dealt.sizes[first] : stops[last]]
                file.write(rows.view(np.uint8).data)
            self._left -= dealt.records.nbytes
        self._sizes.append(dealt.sizes.astype(np.int32))

    def merged(self, merge: Callable[[Arrays], Arrays]) -> Arrays:
        """Return all rows, in temporary files: the buckets as `merge` returns them, one after the other."""
        out: list[GrowingArray] = []
        try:
            for arrays in in_order(lambda bucket: merge(bucket()), self._each_bucket(), self._workers):
                out = out or [GrowingArray(array) for array in arrays]
                for target, rows in zip(out, arrays, strict=True):
                    target.append(rows)
            return [target.mapped() for target in out]
        finally:
            for target in out:
                target.close()

    def _each_bucket(self) -> Iterator[Callable[[], Arrays]]:
        """Yield what reads each bucket that has rows; files are closed once all their buckets are taken."""
        sizes = np.array(self._sizes)
        for f, file in enumerate(self._files):
            inside = sizes[:, f * self._together : (f + 1) * self._together]
            stops = np.cumsum(inside, dtype=np.int64).reshape(inside.shape)
            with enough_space(tempfile.gettempdir(), needing(0), ADVICE):
                file.flush()
            records = np.memmap(file, self._record, "r", shape=(int(stops[-1, -1]),)) if inside.any() else None
            file.close()  # its space is free when its last bucket has been read
            for b in np.flatnonzero(inside.any(axis=0)).tolist():
                yield _Bucket(records, (stops - inside)[:, b], stops[:, b])
            del records


class _Bucket:
    """The rows of a bucket, in a mapped file."""

    def __init__(self, records: Any, starts: NDArray[np.int64], stops: NDArray[np.int64]) -> None:
        self._records, self._starts, self._stops = records, starts, stops

    def __call__(self) -> Arrays:
        pieces = zip(self._starts.tolist(), self._stops.tolist(), strict=True)
        rows = np.concatenate([self._records[start:stop] for start, stop in pieces if start < stop])
        del self._records
        return [np.ascontiguousarray(rows[name]) for name in rows.dtype.names or ()]


def _bits(size: int, memory_limit: int) -> int:
    """Return the number of leading bits that make buckets small enough."""
    wanted = -(-size * SHARE // max(memory_limit, 1))
    return min(max(0, int(wanted - 1).bit_length()), MOST_BITS)
