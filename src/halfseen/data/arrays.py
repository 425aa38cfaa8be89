"""Fast path for arrays of numbers, all columns at a time: the same results as column by column.

An array is stored row by row, so reading it column by column passes over all of its memory once for each column.
Here some rows are read at a time, all columns of them. Columns that this cannot decide are left to `columns`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halfseen.data.columns import CLOSE, MAX_DISTINCT, Block, Category, Column, is_quantity
from halfseen.data.frames import Source
from halfseen.kernels import active as kernels

SLICE = 1 << 14  # rows read at a time: enough to be worth a worker
HEAD = 1000  # rows read first: they identify most quantities, and the range of whole numbers
BELOW = 16  # how far below those of the head other whole numbers are expected
NEAR = 64  # how many distinct ones: a bit for each

Run = Callable[[Callable[[Any], Any], Sequence[Any]], Iterable[Any]]  # `map`, or one with workers
KnownColumns = dict[int, tuple[str, tuple[Category, ...] | None]]  # name of the kind, and categories, by column


class FastEncodingFailed(Exception):
    """A cell is invalid or of an unknown category: encode column by column, which names the cell."""


# ----------------------------------------------------------------------------------------------------------- the survey


def survey(source: Source, run: Run = map) -> KnownColumns:
    """Kind and categories of the columns that can be decided quickly: quantities, and whole numbers close together."""
    head = source.take(np.arange(min(source.n_rows, HEAD)))
    quantities = [j for j in range(len(source.names)) if is_quantity(head.column(j))]
    known: KnownColumns = dict.fromkeys(quantities, ("gaussian", None))
    rest = [j for j in range(len(source.names)) if j not in known]
    array = source.numbers()
    if not rest or array is None:
        return known
    values = _near(array, rest, run)
    far = [j for j in rest if j not in values]
    if far:
        values |= _close(array, far)
    for j, found in values.items():
        if 0 < len(found) <= MAX_DISTINCT:
            known[j] = ("categorical", tuple(found))
    return known


def _near(array: NDArray[Any], columns: Sequence[int], run: Run) -> dict[int, list[int]]:
    """The values of columns of whole numbers that are all among the NEAR that the first rows suggest."""
    head = _plain(array[:HEAD], columns)
    lowest = np.min(head, axis=0, initial=CLOSE, where=head == head)
    low = np.floor(np.clip(lowest, -CLOSE + BELOW, CLOSE)).astype(head.dtype) - head.dtype.type(BELOW)

    def inspect(rows: slice) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        seen, far = np.zeros((2, len(columns)), dtype=np.uint64)
        kernels.survey_near(_plain(array[rows], columns), low, seen, far)
        return seen, far

    seen, far = map(np.bitwise_or.reduce, zip(*run(inspect, _slices(len(array))), strict=True))
    bits = (seen[:, None] >> np.arange(NEAR, dtype=np.uint64)) & np.uint64(1)
    return {
        j: (np.flatnonzero(bits[i]) + int(low[i])).tolist()
        for i, j in enumerate(columns)
        if not far[i] and abs(int(low[i])) < CLOSE - NEAR
    }


def _close(array: NDArray[Any], columns: Sequence[int]) -> dict[int, list[int]]:
    """The values of columns of whole numbers that are all within CLOSE of 0."""
    seen = np.zeros((len(columns), 2 * CLOSE + 1), dtype=np.uint8)
    whole = np.ones(len(columns), dtype=np.uint8)
    for rows in _slices(len(array)):
        kernels.survey_cells(_plain(array[rows], columns), CLOSE, seen, whole)
    beyond = seen[:, 0] | seen[:, -1]
    settled = np.flatnonzero((whole == 1) & (beyond == 0)).tolist()
    return {columns[i]: (np.flatnonzero(seen[i]) - CLOSE).tolist() for i in settled}


def _plain(cells: NDArray[Any], columns: Sequence[int]) -> NDArray[Any]:
    """Some columns as int64 or float64, stored row by row; no copy where they are already."""
    part = cells if len(columns) == cells.shape[1] else cells[:, list(columns)]
    return np.ascontiguousarray(part, np.float64 if part.dtype.kind == "f" else np.int64)


def _slices(n_rows: int) -> list[slice]:
    """Some rows at a time."""
    return [slice(first, min(first + SLICE, n_rows)) for first in range(0, n_rows, SLICE)]


# ----------------------------------------------------------------------------------------------------------- the blocks


class Reader:
    """Encodes rows of one block directly from an array of numbers, all columns at once.

    Raises `FastEncodingFailed` if a cell is infinite or of an unknown category.
    """

    def __init__(self, array: NDArray[Any], block: Block) -> None:
        self.array = array
        self.columns = block.members
        self.dtype = block.kind.dtype(block)
        self.tables = _lookup(block.columns) if block.kind.has_categories else None
        whole = len(self.columns) == array.shape[1] and array.dtype == np.float64 and array.flags.c_contiguous
        self.shared = array.view() if whole and self.tables is None else None
        if self.shared is not None:
            self.shared.flags.writeable = False

    @classmethod
    def find(cls, source: Source, block: Block) -> Reader | None:
        """Return the reader of a block, or None if its cells have to be read one by one."""
        array = source.numbers()
        if array is None or not (block.kind.any_number or block.kind.has_categories):
            return None
        categories = [value for column in block.columns for value in column.categories or ()]
        settled = all(type(value) is int and abs(value) < CLOSE for value in categories)
        return cls(array, block) if settled else None

    def read(self, rows: slice) -> NDArray[Any]:
        """Some rows of the block; a view of the array, read-only and not checked for infinite cells, where possible."""
        if self.shared is not None:
            return self.shared[rows]
        cells = _plain(self.array[rows], self.columns)
        out = np.empty(cells.shape, self.dtype)
        self._write(cells, out)
        return out

    def whole(self) -> NDArray[Any]:
        """All rows of the block."""
        if self.shared is not None:
            self.check_finite(slice(None))
            return self.shared
        out = np.empty((len(self.array), len(self.columns)), self.dtype)
        for rows in _slices(len(out)):
            self._write(_plain(self.array[rows], self.columns), out[rows])
        return out

    def check_finite(self, rows: slice) -> None:
        """Check the rows that `read` returned as views for infinite cells."""
        if self.shared is not None and kernels.any_infinite(self.shared[rows]):
            raise FastEncodingFailed

    def _write(self, cells: NDArray[Any], out: NDArray[Any]) -> None:
        if self.tables is not None:
            if not kernels.encode_cells(cells, *self.tables, out):
                raise FastEncodingFailed
            return
        np.add(cells, 0.0, out=out)  # which turns -0.0 into 0.0
        if kernels.any_infinite(out):
            raise FastEncodingFailed


class LazyBlocks(Mapping[str, NDArray[Any]]):
    """The blocks of consecutive rows, encoded at each access and never kept: for a single pass.

    Numbers are not checked for infinite ones, which would need another pass: results computed from them are not finite
    either, and `check_finite` then finds them.
    """

    def __init__(self, readers: Mapping[str, Reader], rows: range) -> None:
        self.readers = readers
        self.rows = rows

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self.readers[name].read(slice(self.rows.start, self.rows.stop))

    def __iter__(self) -> Iterator[str]:
        return iter(self.readers)

    def __len__(self) -> int:
        return len(self.readers)

    def check_finite(self) -> None:
        """Raise `FastEncodingFailed` if a cell is infinite."""
        for reader in self.readers.values():
            reader.check_finite(slice(self.rows.start, self.rows.stop))

    def take(self, rows: Any) -> Mapping[str, NDArray[Any]]:
        """Some of the rows; still lazy where they are consecutive."""
        if isinstance(rows, slice) and rows.step is None:
            return LazyBlocks(self.readers, self.rows[rows])
        return {name: block[rows] for name, block in self.items()}


def _lookup(meaning: Sequence[Column]) -> tuple[NDArray[Any], ...]:
    """Smallest value, number of values, and offset in the look-up table of each column; and the table itself."""
    categories = [np.array(column.categories or (), dtype=np.int64) for column in meaning]
    low = np.array([values.min(initial=CLOSE) for values in categories])
    size = np.array([values.max(initial=CLOSE - 1) if not len(values) else values.max() for values in categories])
    size = size - low + 1
    starts = np.concatenate([[0], np.cumsum(size)[:-1]]).astype(np.int64)
    table = np.full(size.sum(), -1, dtype=np.int32)
    for values, first, start in zip(categories, low, starts, strict=True):
        table[start + values - first] = np.arange(len(values))
    return low, size, starts, table
