"""Rows in an order that their content alone decides.

Rows are hashed twice with 64 bits, ordered by the hashes, and compared in full before any two are taken for equal.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halfseen import stop_request
from halfseen.data.counts import Counts
from halfseen.kernels import active as kernels

SEEDS = np.array([0x9E3779B97F4A7C15, 0xD1B54A32D192ED03], dtype=np.uint64)  # of two independent hashes
SLICE = 1 << 15  # rows hashed at a time, so that temporaries stay small
AT_ONCE = 1 << 25  # bytes reordered at a time, if a column has no more


def content_order(hashes: NDArray[np.uint64], weight: NDArray[np.float64]) -> NDArray[np.intp]:
    """An order of the rows by their hashes, the weights of equal rows ascending."""
    order = np.argsort(hashes[0])
    ordered = hashes[0][order]
    if (ordered[1:] != ordered[:-1]).all():
        return order  # the one there is
    return np.lexsort((weight, hashes[1], hashes[0]))


def hash_rows(columns: Sequence[NDArray[Any]], n_rows: int, n_hashes: int = 2) -> NDArray[np.uint64]:
    """Two 64-bit hashes of each row, (2, N), or the first of them."""
    hashes = np.repeat(SEEDS[:n_hashes, None], n_rows, axis=1)
    for start in range(0, n_rows, SLICE):
        stop_request.check()
        part = slice(start, start + SLICE)
        for column in columns:
            cells = _plain(column[part])
            for h in hashes[:, part]:
                kernels.hash_cells(cells, h)
    return hashes


def hash_sequences(hashes: NDArray[np.uint64], lengths: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Two 64-bit hashes of each sequence, (2, B), from those of its rows: sums of hashes of (row, place)."""
    firsts = np.cumsum(lengths) - lengths
    place = np.arange(hashes.shape[1]) - np.repeat(firsts, lengths)
    placed = hash_rows([*hashes.view(np.int64), place], hashes.shape[1])
    return np.add.reduceat(placed, firsts, axis=1)


def _plain(cells: NDArray[Any]) -> NDArray[Any]:
    """Cells side by side, of a type that can be hashed."""
    if cells.dtype.kind == "f":
        return np.ascontiguousarray(cells, np.float64)
    signed = cells.dtype.kind == "i" and cells.dtype.isnative
    return np.ascontiguousarray(cells) if signed else np.ascontiguousarray(cells).astype(np.int64)


def _tidy_in_place(cells: NDArray[Any]) -> None:
    if cells.dtype.kind == "f":
        cells += 0.0
        cells[np.isnan(cells)] = np.nan


def first_of_equals(
    columns: Sequence[NDArray[Any]], hashes: NDArray[np.uint64], order: NDArray[np.intp]
) -> NDArray[np.bool_]:
    """Which of the ordered rows differ from the one before: those with other hashes, and what else does."""
    first = np.zeros(len(order), dtype=bool)
    first[:1] = True
    for own in hashes:
        ordered = own[order]
        first[1:] |= ordered[1:] != ordered[:-1]
    alike = np.flatnonzero(~first)
    differ = np.zeros(len(alike), dtype=bool)
    for column in columns if len(alike) else ():
        cells, before = column[order[alike]], column[order[alike - 1]]
        unlike = cells != before
        differ |= unlike & ~(np.isnan(cells) & np.isnan(before)) if cells.dtype.kind == "f" else unlike
    first[alike] = differ
    return first


def gather(block: Any, rows: NDArray[np.intp], overwrite: bool) -> Any:
    """Some rows of a block, tidied."""
    if isinstance(block, Counts):
        return block[rows]
    if overwrite and block.flags.writeable:
        return _gather_in_place(block, rows)
    out = np.empty((len(rows), block.shape[1]), dtype=block.dtype)
    for start in range(0, len(rows), SLICE):
        part = slice(start, start + SLICE)
        block.take(rows[part], axis=0, out=out[part], mode="clip")  # which does not buffer; all rows are there
        _tidy_in_place(out[part])
    return out


def _gather_in_place(block: NDArray[Any], rows: NDArray[np.intp]) -> NDArray[Any]:
    """The same, written over the block: some columns at a time."""
    out = block[: len(rows)]
    together = max(AT_ONCE // max(len(rows) * block.itemsize, 1), 1)
    for d in range(0, block.shape[1], together):
        wanted = block[:, d : d + together]
        out[:, d : d + together] = wanted.take(rows, axis=0) if wanted.flags.c_contiguous else wanted[rows]
    for start in range(0, len(rows), SLICE):
        _tidy_in_place(out[start : start + SLICE])
    return out
