"""Rows of counts, most of which are zero: documents as bags of words.

- *counts*: a block of a table in compressed rows. It is cut, taken from and measured as an array of rows is.
- *sparse source*: a SciPy matrix as a source: one column of kind ``text`` whose words are the matrix's columns.

Counts are observed, zeros included: they cannot be missing. A document without words carries no information.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from halfseen.data.frames import Cells, RawColumn, Source
from halfseen.errors import DataError, DataTypeError

__all__ = ["Counts", "SparseSource", "TokenizedSource", "joined"]

Options = tuple[tuple[str, Any], ...]

NAME = "words"  # of the one column that a sparse matrix is
PIECE = 65_536  # values read twice while they are in the cache


@dataclass(frozen=True, eq=False)
class Counts:
    """Some rows of counts: row n holds words[i] values[i] times, for i from ends[n] to ends[n + 1].

    Consecutive rows are a view: `ends` is cut, `words` and `values` are shared.

    Parameters
    ----------
    ends : (N + 1,) int64 array
    words : (M,) int32 array        ascending in each row, none twice
    values : (M,) array             float64 or int64, all above 0
    n_words : int                   V

    Examples
    --------
    >>> counts = Counts.of(sparse.csr_array([[2, 0, 1], [0, 0, 0], [0, 3, 0]]))
    >>> counts.shape, counts[1:].lengths
    ((3, 3), array([0., 3.]))
    """

    ends: NDArray[np.int64]
    words: NDArray[np.int32]
    values: NDArray[Any]
    n_words: int

    @classmethod
    def of(cls, matrix: Any) -> Counts:
        """Return the counts in a SciPy matrix, which is not changed; values that cannot be counts are refused."""
        rows = sparse.csr_array(matrix)
        if rows.dtype.kind not in "iufb":
            raise DataTypeError(f"a sparse matrix of {rows.dtype} holds no counts. Pass numbers of at least 0.")
        if getattr(matrix, "format", "") == "csr":
            rows.has_canonical_format = matrix.has_canonical_format  # SciPy caches it: checked once for many calls
        if not rows.has_canonical_format:
            rows = rows.copy()
            rows.sum_duplicates()
        low, high = _range(rows.data)
        if not (low > 0 and high < np.inf):
            _check_values(rows)
            rows = rows.copy()
            rows.eliminate_zeros()
        values = rows.data if rows.dtype in (np.float64, np.int64) else rows.data.astype(np.float64)
        return cls(rows.indptr.astype(np.int64), rows.indices.astype(np.int32, copy=False), values, rows.shape[1])

    @property
    def shape(self) -> tuple[int, int]:
        """(N, V)."""
        return len(self), self.n_words

    @property
    def dtype(self) -> np.dtype[Any]:
        """That of the values; not float, so that callers do not check them for NaN."""
        return np.dtype(object)

    def __len__(self) -> int:
        return len(self.ends) - 1

    @property
    def n_entries(self) -> int:
        """How many counts are above zero."""
        return int(self.ends[-1] - self.ends[0])

    @property
    def lengths(self) -> NDArray[np.float64]:
        """The sum of each row, (N,): how many words the document has."""
        return np.asarray(self.matrix().sum(axis=1), dtype=np.float64)

    @property
    def arrays(self) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[Any]]:
        """Ends, words and values: what kernels take."""
        return self.ends, self.words, self.values

    def matrix(self) -> Any:
        """The rows as a SciPy array, (N, V)."""
        held = slice(int(self.ends[0]), int(self.ends[-1]))
        return sparse.csr_array((self.values[held], self.words[held], self.ends - self.ends[0]), shape=self.shape)

    def __getitem__(self, rows: Any) -> Counts:
        """Some rows: a slice without a step (a view), an index array or a mask."""
        if isinstance(rows, slice):
            first, last, step = rows.indices(len(self))
            if step == 1:
                return Counts(self.ends[first : max(first, last) + 1], self.words, self.values, self.n_words)
            rows = np.arange(first, last, step)
        rows = np.atleast_1d(np.asarray(rows))
        rows = np.flatnonzero(rows) if rows.dtype == bool else rows.astype(np.int64)
        sizes = np.diff(self.ends)[rows]
        ends = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        places = np.arange(ends[-1]) + np.repeat(self.ends[:-1][rows] - ends[:-1], sizes)
        return Counts(ends, self.words[places], self.values[places], self.n_words)

    def presence(self) -> Counts:
        """The same rows with every count above zero made 1."""
        return Counts(self.ends, self.words, np.ones(len(self.words)), self.n_words)

    def scaled(self, length: float) -> Counts:
        """The same rows with counts that sum to `length` in each; one without words stays so."""
        sums = self.lengths
        factor = np.divide(length, sums, out=np.zeros(len(self)), where=sums > 0)
        held = self.matrix()
        values = held.data * np.repeat(factor, np.diff(held.indptr))
        return Counts(self.ends - self.ends[0], held.indices.astype(np.int32, copy=False), values, self.n_words)

    def hashes(self) -> list[NDArray[np.int64]]:
        """Two independent 64-bit hashes of each row, each (N,), whatever the type of its values."""
        held = self.matrix()
        bits = (held.data.astype(np.float64) + 0.0).view(np.uint64)
        found = []
        for seed in (0x9E3779B97F4A7C15, 0xD1B54A32D192ED03):
            cells = bits ^ ((held.indices.astype(np.uint64) + np.uint64(1)) * np.uint64(seed))
            for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1)):  # as in splitmix64
                cells ^= cells >> np.uint64(shift)
                cells *= np.uint64(factor)
            summed = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(cells, dtype=np.uint64)])
            found.append((summed[held.indptr[1:]] - summed[held.indptr[:-1]]).view(np.int64))  # wraps around, as wanted
        return found

    def unlike(self, rows: NDArray[np.intp], others: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Whether row rows[i] differs from row others[i], for each i."""
        sizes = np.diff(self.ends)
        differ = sizes[rows] != sizes[others]
        same = np.flatnonzero(~differ)
        ours, theirs = self[rows[same]], self[others[same]]
        cells = (ours.words != theirs.words) | (ours.values != theirs.values)
        summed = np.concatenate([[0], np.cumsum(cells)])
        differ[same] = summed[ours.ends[1:]] > summed[ours.ends[:-1]]
        return differ


def joined(parts: Sequence[Any]) -> Any:
    """Return blocks of rows, arrays or counts, one below the other."""
    if not isinstance(parts[0], Counts):
        return np.concatenate(parts)
    return Counts.of(sparse.vstack([part.matrix() for part in parts], format="csr"))


def _range(values: NDArray[Any]) -> tuple[float, float]:
    """Return the lowest and the highest value, NaN if there is one, reading memory once."""
    parts = [values[start : start + PIECE] for start in range(0, len(values), PIECE)]
    ends = [(part.min(), part.max()) for part in parts] or [(1, 1)]
    return float(np.min([low for low, _ in ends])), float(np.max([high for _, high in ends]))


def _check_values(rows: Any) -> None:
    refused = np.flatnonzero(~((rows.data >= 0) & (rows.data < np.inf)))
    if not len(refused):
        return
    wrong = int(refused[0])
    row = int(np.searchsorted(rows.indptr, wrong, side="right")) - 1
    raise DataError(
        f"sparse counts: Negative values or NaN: row {row}, column {rows.indices[wrong]} is {rows.data[wrong]}. Counts "
        "are finite and at least 0; counts cannot be missing. Pass X.toarray() if these are other numbers."
    )


# ------------------------------------------------------------------------------------------------------------- sources


class SparseSource(Source):
    """A SciPy matrix of counts: one column of kind ``text``, its words are numbers from 0."""

    def __init__(self, matrix: Any, counts: Counts | None = None, options: Options = ()) -> None:
        shape = matrix.shape if counts is None else counts.shape
        if len(shape) != 2 or not shape[0] or not shape[1]:
            what = "feature" if len(shape) == 2 and shape[0] else "sample"
            raise DataError(f"Found array with 0 {what}(s) (shape={shape}) while a minimum of 1 is required.")
        self.counts = Counts.of(matrix) if counts is None else counts
        self.names, self.named, self.backend = (NAME,), False, None
        self.n_rows = shape[0]
        self._options = options

    def words(self, j: int) -> tuple[tuple[Any, ...], Counts]:
        return _numbers(self.counts.n_words), self.counts

    def options(self, j: int) -> Options:
        return self._options

    def column(self, j: int) -> RawColumn:
        raise DataTypeError(f"sparse data of shape {self.counts.shape} has no columns to read one by one.")

    def for_sklearn(self, X: Any) -> Any:
        return self.counts.matrix() if isinstance(X, Source) else X

    def take(self, rows: NDArray[np.intp]) -> Source:
        return SparseSource(None, self.counts[rows], self._options)

    def like(self, columns: Sequence[Sequence[Any] | NDArray[Any]]) -> Any:
        """Return a CSR matrix; rows come as {word: count}."""
        rows = list(columns[0])
        cells = [(n, word, count) for n, row in enumerate(rows) for word, count in row.items()]
        n, word, count = (list(part) for part in zip(*cells, strict=True)) if cells else ([], [], [])
        return sparse.csr_array((count, (n, word)), shape=(len(rows), self.counts.n_words))

    def fill(self, cells: Mapping[int, Cells]) -> Any:
        """Return a copy: there is nothing to fill."""
        return self.counts.matrix().copy()


@cache
def _numbers(n_words: int) -> tuple[int, ...]:
    """The words of a matrix; the same object each time, so that comparing costs nothing."""
    return tuple(range(n_words))


class TokenizedSource(Source):
    """A source some of whose columns have been tokenized once, for all uses of its rows.

    Parameters
    ----------
    source : Source
    found : dict of int to (words, counts, options)
        The tokenized columns.
    """

    def __init__(self, source: Source, found: Mapping[int, tuple[tuple[str, ...], Counts, Options]]) -> None:
        self._source, self._found = source, dict(found)
        self.names, self.named, self.backend = source.names, source.named, source.backend
        self.n_rows, self.weight, self.target = source.n_rows, source.weight, source.target

    @property
    def frame(self) -> Any:
        return self._source.frame

    def column(self, j: int) -> RawColumn:
        return self._source.column(j)

    def words(self, j: int) -> tuple[tuple[Any, ...], Counts] | None:
        return self._found[j][:2] if j in self._found else None

    def options(self, j: int) -> Options:
        return self._found[j][2] if j in self._found else ()

    def for_sklearn(self, X: Any) -> Any:
        return self._source.for_sklearn(X)

    def keep_codes(self) -> Source:
        return TokenizedSource(self._source.keep_codes(), self._found)

    def take(self, rows: NDArray[np.intp]) -> Source:
        found = {j: (words, counts[rows], how) for j, (words, counts, how) in self._found.items()}
        return TokenizedSource(self._source.take(rows), found)

    def template(self) -> Source:
        return self._source.template()

    def like(self, columns: Sequence[Sequence[Any] | NDArray[Any]]) -> Any:
        return self._source.like(columns)

    def fill(self, cells: Mapping[int, Cells]) -> Any:
        return self._source.fill(cells)
