"""Arrays of numbers, many columns at a time: the same answers as column by column, sooner.

An array is stored row by row, so that reading it column by column walks through all of its memory once for each column.
Here some rows are read at a time, all columns of them. What cannot be settled like this is left to `columns`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halfseen.data.columns import CLOSE, MAX_DISTINCT, Category, Column, Kind, is_quantity
from halfseen.data.frames import Source

HEAD = 1000  # rows looked at first: they settle most quantities


def survey(source: Source) -> dict[int, tuple[Kind, tuple[Category, ...] | None]]:
    """Kind and categories of the columns that can be settled: quantities, and whole numbers close together."""
    head = source.take(np.arange(min(source.n_rows, HEAD)))
    quantities = [j for j in range(len(source.names)) if is_quantity(head.column(j))]
    known: dict[int, tuple[Kind, tuple[Category, ...] | None]] = dict.fromkeys(quantities, ("gaussian", None))
    rest = [j for j in range(len(source.names)) if j not in known]
    slices = source.slices()
    if not rest or slices is None:
        return known
    seen = np.zeros((len(rest), 2 * CLOSE + 2), dtype=bool)  # -CLOSE to CLOSE, the ends for all beyond; and missing
    whole = np.ones(len(rest), dtype=bool)
    for _, cells in slices:
        part = cells if len(rest) == cells.shape[1] else cells[:, rest]
        place = np.clip(part if part.dtype.kind == "f" else part.astype(np.int64), -CLOSE, CLOSE)
        if part.dtype.kind == "f":
            missing = np.isnan(part)
            whole &= ((part == np.rint(part)) | missing).all(axis=0)
            place = np.where(missing, CLOSE + 1, place).astype(np.int64)
        place += np.arange(len(rest)) * seen.shape[1] + CLOSE
        seen.ravel()[place] = True
    for i in np.flatnonzero(whole):
        values = np.flatnonzero(seen[i, :-1]) - CLOSE
        if 0 < len(values) <= MAX_DISTINCT and np.abs(values).max() < CLOSE:
            known[rest[i]] = ("categorical", tuple(int(value) for value in values))
    return known


def encode_block(source: Source, columns: Sequence[int], meaning: Sequence[Column], out: NDArray[Any]) -> bool:
    """Write columns into a block all at once, if they are cells of an array of numbers; False if that cannot be done.

    It cannot where a cell has to be complained about: infinite, or a category that is not known.
    """
    if meaning[0].kind == "poisson":
        return False
    write = _write_numbers if meaning[0].kind == "gaussian" else _lookup(meaning)
    slices = source.slices()
    if write is None or slices is None:
        return False
    whole = tuple(columns) == tuple(range(len(source.names)))
    return all(write(cells if whole else cells[:, list(columns)], out[rows]) for rows, cells in slices)


def _write_numbers(cells: NDArray[Any], out: NDArray[np.float64]) -> bool:
    np.add(cells, 0.0, out=out)  # which turns -0.0 into 0.0
    return not np.isinf(out).any()


def _lookup(meaning: Sequence[Column]) -> Any:
    """A function that writes the codes of whole numbers, by look-up; None where the categories are something else."""
    categories = [column.categories or () for column in meaning]
    if not all(type(value) is int and abs(value) < CLOSE for values in categories for value in values):
        return None
    low = np.array([min(values, default=0) for values in categories])
    size = np.array([max(values, default=0) for values in categories]) - low + 3  # with a place below and one above
    starts = np.concatenate([[0], np.cumsum(size)[:-1]])
    table = np.full(size.sum(), -1, dtype=np.int32)
    for values, first, start in zip(categories, low, starts, strict=True):
        table[start + 1 + np.array(values, dtype=np.int64) - first] = np.arange(len(values))

    def write(cells: NDArray[Any], out: NDArray[Any]) -> bool:
        missing = np.isnan(cells) if cells.dtype.kind == "f" else None
        place = np.clip((cells if missing is not None else cells.astype(np.int64)) - low + 1, 0, size - 1)
        if missing is not None:
            place = np.where(missing, 0.0, place)
            if (place != np.rint(place)).any():
                return False
        out[:] = table[place.astype(np.int64) + starts]
        unknown = out < 0
        return not (unknown if missing is None else unknown & ~missing).any()

    return write
