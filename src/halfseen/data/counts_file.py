"""Counts of words in temporary files: rows are appended, then mapped into memory."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from halfseen.data.counts import Counts
from halfseen.data.growing import GrowingArray

__all__ = ["CountsFile", "parts", "picked", "stacked", "taken"]


class CountsFile:
    """Rows of counts to which others are appended.

    Attributes
    ----------
    n_entries : int        counts above zero so far
    """

    def __init__(self) -> None:
        self.n_entries = 0
        self._n_words = 0
        self._arrays: list[GrowingArray] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for array in self._arrays:
            array.close()

    def append(self, counts: Counts) -> None:
        """Write some rows."""
        found = parts(counts)
        self._arrays = self._arrays or [GrowingArray(part) for part in found]
        for array, part in zip(self._arrays, found, strict=True):
            array.append(part)
        self.n_entries += counts.n_entries
        self._n_words = counts.n_words

    def mapped(self) -> Counts:
        """Return all rows."""
        return stacked([array.mapped() for array in self._arrays], self._n_words)

    def entries(self) -> Counts:
        """Return the entries of all rows as those of one row."""
        words, values = (array.mapped() for array in self._arrays[1:])
        return Counts(np.array([0, len(words)]), words, values, self._n_words)


def parts(counts: Counts) -> list[NDArray[Any]]:
    """Return rows of counts as plain arrays, those of several parts to be concatenated: sizes, words, values."""
    held = slice(int(counts.ends[0]), int(counts.ends[-1]))
    return [np.diff(counts.ends), counts.words[held], counts.values[held]]


def stacked(arrays: Sequence[NDArray[Any]], n_words: int) -> Counts:
    """Return rows of counts from their `parts`."""
    sizes, words, values = arrays
    return Counts(np.concatenate([[0], np.cumsum(sizes)]), words, values, n_words)


def taken(counts: Counts, rows: NDArray[np.intp], size: int) -> Counts:
    """Return some rows of counts in temporary files, so many at a time."""
    with CountsFile() as out:
        for first in range(0, max(len(rows), 1), size):
            out.append(counts[rows[first : first + size]])
        return out.mapped()


def picked(counts: Counts, starts: NDArray[np.int64], sizes: NDArray[np.int64]) -> Counts:
    """Return the rows whose entries begin at `starts`."""
    ends = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    places = np.arange(ends[-1]) + np.repeat(starts - ends[:-1], sizes)
    return Counts(ends, counts.words[places], counts.values[places], counts.n_words)
