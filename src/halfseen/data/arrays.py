"""Arrays of numbers, many columns at a time: the same answers as column by column, sooner.

An array is stored row by row, so that reading it column by column walks through all of its memory once for each column.
Here some rows are read at a time, all columns of them. What cannot be settled like this is left to `columns`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halfseen.data.columns import CLOSE, MAX_DISTINCT, Category, Column, Kind, is_quantity
from halfseen.data.frames import Source
from halfseen.kernels import active as kernels

SLICE = 1 << 12  # rows read at a time
HEAD = 1000  # rows looked at first: they settle most quantities


def survey(source: Source) -> dict[int, tuple[Kind, tuple[Category, ...] | None]]:
    """Kind and categories of the columns that can be settled: quantities, and whole numbers close together."""
    head = source.take(np.arange(min(source.n_rows, HEAD)))
    quantities = [j for j in range(len(source.names)) if is_quantity(head.column(j))]
    known: dict[int, tuple[Kind, tuple[Category, ...] | None]] = dict.fromkeys(quantities, ("gaussian", None))
    rest = [j for j in range(len(source.names)) if j not in known]
    array = source.numbers()
    if not rest or array is None:
        return known
    seen = np.zeros((len(rest), 2 * CLOSE + 1), dtype=np.uint8)
    whole = np.ones(len(rest), dtype=np.uint8)
    for _, cells in _slices(array):
        kernels.survey_cells(_plain(cells, rest), CLOSE, seen, whole)
    for i in np.flatnonzero(whole):
        values = np.flatnonzero(seen[i]) - CLOSE
        if 0 < len(values) <= MAX_DISTINCT and np.abs(values).max() < CLOSE:
            known[rest[i]] = ("categorical", tuple(int(value) for value in values))
    return known


def _plain(cells: NDArray[Any], columns: Sequence[int]) -> NDArray[Any]:
    """Some columns as int64 or float64, stored row by row; no copy where they are already."""
    part = cells if len(columns) == cells.shape[1] else cells[:, list(columns)]
    return np.ascontiguousarray(part, np.float64 if part.dtype.kind == "f" else np.int64)


def _slices(array: NDArray[Any]) -> Iterator[tuple[slice, NDArray[Any]]]:
    """Some rows at a time, so that they stay in the cache while they are looked at."""
    for first in range(0, len(array), SLICE):
        rows = slice(first, first + SLICE)
        yield rows, array[rows]


def share_block(source: Source, columns: Sequence[int], meaning: Sequence[Column]) -> NDArray[np.float64] | None:
    """The source's own array, to be read only, if that is all the columns of a gaussian block; None if not."""
    array = source.numbers()
    if array is None or meaning[0].kind != "gaussian" or len(columns) < len(source.names):
        return None
    if array.dtype != np.float64 or not array.flags.c_contiguous:
        return None
    if any(np.isinf(cells).any() for _, cells in _slices(array)):
        return None
    shared = array.view()
    shared.flags.writeable = False
    return shared


def encode_block(source: Source, columns: Sequence[int], meaning: Sequence[Column], out: NDArray[Any]) -> bool:
    """Write columns into a block all at once, if they are cells of an array of numbers; False if that cannot be done.

    It cannot where a cell has to be complained about: infinite, or a category that is not known.
    """
    array = source.numbers()
    if array is None or meaning[0].kind == "poisson":
        return False
    if meaning[0].kind == "gaussian":
        return all(_write_numbers(_plain(cells, columns), out[rows]) for rows, cells in _slices(array))
    if not all(type(value) is int and abs(value) < CLOSE for column in meaning for value in column.categories or ()):
        return False
    tables = _lookup(meaning)
    return all(kernels.encode_cells(_plain(cells, columns), *tables, out[rows]) for rows, cells in _slices(array))


def _write_numbers(cells: NDArray[Any], out: NDArray[np.float64]) -> bool:
    np.add(cells, 0.0, out=out)  # which turns -0.0 into 0.0
    return not np.isinf(out).any()


def _lookup(meaning: Sequence[Column]) -> tuple[NDArray[Any], ...]:
    """Smallest value, number of values, and place in the look-up of each column; and the look-up of all."""
    categories = [np.array(column.categories or (), dtype=np.int64) for column in meaning]
    low = np.array([values.min(initial=CLOSE) for values in categories])
    size = np.array([values.max(initial=CLOSE - 1) if not len(values) else values.max() for values in categories])
    size = size - low + 1
    starts = np.concatenate([[0], np.cumsum(size)[:-1]]).astype(np.int64)
    table = np.full(size.sum(), -1, dtype=np.int32)
    for values, first, start in zip(categories, low, starts, strict=True):
        table[start + values - first] = np.arange(len(values))
    return low, size, starts, table
