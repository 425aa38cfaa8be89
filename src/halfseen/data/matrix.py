"""A table of numbers as one matrix: float32 or float64 as given, NaN where missing."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from halfseen.data import spill
from halfseen.data.columns import no_number
from halfseen.data.frames import RawColumn, Source
from halfseen.data.stream import in_pieces
from halfseen.errors import DataError

__all__ = ["as_matrix"]


def as_matrix(source: Source) -> NDArray[Any]:
    """Return the cells of a source as numbers, row by row.

    Arrays of float32 and float64 are neither copied nor checked: they may hold infinities. True and False are 1
    and 0. A table that is not in memory comes as an array in a temporary file.

    Raises
    ------
    DataError
        A cell is text; the message names column and row.

    Examples
    --------
    >>> from halfseen.data import read
    >>> as_matrix(read([[1, True], [None, False]]))
    array([[ 1.,  1.],
           [nan,  0.]])
    >>> as_matrix(read(np.zeros((1, 2), dtype=np.float32))).dtype
    dtype('float32')
    """
    array = source.numbers()
    if array is not None:
        small = array.dtype in (np.float32, np.float16)
        return np.ascontiguousarray(array, np.float32 if small else np.float64)
    shape = (source.n_rows, len(source.names))
    out = spill.scratch(shape, np.float64) if source.streams else np.empty(shape)

    def write(batch: Source, first: int) -> None:
        for j, name in enumerate(batch.names):
            out[first : first + batch.n_rows, j] = _numbers(batch.column(j), name)

    if source.streams:
        for _ in in_pieces(source, write):
            pass
    else:
        write(source, 0)
    return out


def numbers_only(raw: RawColumn, name: str) -> str:
    """The message for a column with cells that are not numbers: where, and what to do."""
    return (
        f"column {name!r}, {no_number(raw)}. This model takes numbers only: convert the column to numbers, drop it, or "
        "use LatentClass or NaiveBayes, which take categories too."
    )


def _numbers(raw: RawColumn, name: str) -> NDArray[np.float64]:
    if raw.type == "text" and not raw.missing.all():
        raise DataError(numbers_only(raw, name))
    return np.where(raw.missing, np.nan, raw.values).astype(np.float64)
