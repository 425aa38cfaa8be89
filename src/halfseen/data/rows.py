"""Rows of a table as fits read them: in chunks that are summed over, and a first chunk to draw starts from.

A `Table` is on this machine; rows that workers hold have the same methods. What a fit must know of all rows, such as
the moments of their columns, is a sum over chunks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from halfseen.data.arrays import LazyBlocks
from halfseen.data.labels import Evidence
from halfseen.kernels import active as kernels
from halfseen.sums import Task

if TYPE_CHECKING:
    from halfseen.data.schema import Schema

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Chunk:
    """Some consecutive rows of a table: views, no copies.

    Parameters
    ----------
    index : int
        The chunk's number, which selects its random generator and its place in the sum.
    blocks : dict of str to (n, D) array or Counts
    weight : (n,) array
    evidence : Evidence or None
    """

    index: int
    blocks: Mapping[str, Any]
    weight: NDArray[np.float64]
    evidence: Evidence | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows, n."""
        return len(self.weight)

    def check_finite(self) -> None:
        """Raise `FastEncodingFailed` if the rows are encoded lazily and a cell is infinite."""
        if isinstance(self.blocks, LazyBlocks):
            self.blocks.check_finite()

    @property
    def log_evidence(self) -> NDArray[np.float64] | None:
        """What the labels say about each row, (n, K); None when there are no labels. Built at each access."""
        return None if self.evidence is None else self.evidence.log_evidence


class Rows:
    """Rows with a schema that can be summed over.

    Attributes
    ----------
    schema : Schema
    """

    schema: Schema

    def total(self, task: Task, light: bool = False) -> Any:
        """Return the sum of a task over all chunks; `light`: without scores for each component."""
        raise NotImplementedError

    def first(self) -> Chunk:
        """Return some rows, a fair sample that depends on the content of the rows alone."""
        raise NotImplementedError

    def moments(self, block: str, of: Any = None) -> tuple[Floats, Floats, Floats]:
        """Weighted mean and variance of each column of a block over its observed cells, and the weight of these.

        With `of`, such as ``np.log``, those of a function of the cells.

        mean[d] = sum_n weight[n] x[n, d] / sum_n weight[n];  var[d] likewise of (x[n, d] - mean[d])**2, in a second
        pass, so that it is accurate for numbers near 1e8 too.

        Returns
        -------
        mean, var, mass : (D,) arrays
            Mean and variance are NaN for a column without an observed cell.

        Examples
        --------
        >>> from halfseen.data import Schema, read
        >>> source = read([[1e8 + 0.5], [None], [1e8 + 2.5]])
        >>> Schema.learn(source).encode(source).moments("gaussian")
        (array([1.00000002e+08]), array([1.]), array([2.]))
        """
        first = self.first()
        pivot = np.nan_to_num(_moments(_add_moments(first, block, np.zeros(first.blocks[block].shape[1]), of))[0])
        mean, var, mass = self._moments_about(block, pivot, of)
        if np.any((mean - pivot) ** 2 > 100 * var):  # the first rows differ much from the others: digits were lost
            mean, var, mass = self._moments_about(block, np.nan_to_num(mean), of)
        return mean, var, mass

    def _moments_about(self, block: str, pivot: Floats, of: Any) -> tuple[Floats, Floats, Floats]:
        shift, var, mass = _moments(self.total(partial(_add_moments, block=block, pivot=pivot, of=of)))
        return pivot + shift, var, mass

    def frequencies(self, block: str) -> Floats:
        """Weighted counts of all categories of a categorical block, its columns one after the other.

        Returns
        -------
        (sum of cardinalities,) array

        Examples
        --------
        >>> from halfseen.data import Schema, read
        >>> source = read([["a", 1], ["b", None], ["a", 1]])
        >>> Schema.learn(source).encode(source, weight=[1, 1, 5]).frequencies("categorical")
        array([6., 1., 6.])
        """
        sizes = self.schema.cardinalities(block)
        starts = np.cumsum([0, *sizes[:-1]])
        counts: Floats = self.total(partial(_add_categories, block=block, starts=starts, n_cells=sum(sizes)))
        return counts

    def word_frequencies(self, block: str) -> Floats:
        """Weighted counts of all words of a block of text, then the weight of all rows: (sum of cardinalities + 1,)."""
        counts: Floats = self.total(partial(_add_words, block=block, n_words=sum(self.schema.cardinalities(block))))
        return counts

    def n_incomplete(self) -> float:
        """Sum of the weights of rows with a missing cell; a text without words is none.

        Examples
        --------
        >>> from halfseen.data import Schema, read
        >>> source = read([["a", 1.5], ["b", None], [None, None]])
        >>> Schema.learn(source).encode(source, weight=[1, 1, 5]).n_incomplete()
        6.0
        """
        [found] = self.total(partial(_add_incomplete, schema=self.schema), light=True)
        return float(found)

    def holes(self, block: str) -> NDArray[np.bool_]:
        """Which columns of a categorical block have a missing cell, (D,)."""
        found: NDArray[np.bool_] = self.total(partial(_holes, block=block))
        return found


def _together(chunk: Chunk) -> NDArray[np.int64]:
    """All rows of a chunk in one component."""
    return np.zeros(chunk.n_rows, dtype=np.int64)


def _add_moments(chunk: Chunk, block: str, pivot: Floats, of: Any) -> Floats:
    """Return sums of weight, deviation from `pivot` and its square over the observed cells of a chunk, (3, D)."""
    moments = np.zeros((3, 1, len(pivot)))
    cells = chunk.blocks[block] if of is None else of(chunk.blocks[block])
    cells = np.ascontiguousarray(cells)
    kernels.gaussian_count(cells, pivot[None], _together(chunk), chunk.weight, moments)
    return moments[:, 0]


def _moments(sums: Floats) -> tuple[Floats, Floats, Floats]:
    """Return mean deviation, variance and weight of each column; NaN where nothing was observed."""
    mass, first, second = sums
    with np.errstate(invalid="ignore", divide="ignore"):
        shift = first / mass
        return shift, np.where(np.isinf(second), np.inf, np.maximum(second / mass - shift**2, 0.0)), mass


def _add_categories(chunk: Chunk, block: str, starts: NDArray[np.int64], n_cells: int) -> Floats:
    counts = np.zeros((1, n_cells))
    cells = np.ascontiguousarray(chunk.blocks[block])
    kernels.categorical_count(cells, starts, _together(chunk), chunk.weight, counts)
    return counts[0]


def _add_words(chunk: Chunk, block: str, n_words: int) -> Floats:
    counts = np.zeros((1, n_words))
    weight = np.array(chunk.weight)
    kernels.counts_count(*chunk.blocks[block].arrays, _together(chunk), weight, counts)
    return np.append(counts[0], weight.sum())


def _add_incomplete(chunk: Chunk, schema: Schema) -> Floats:
    incomplete = np.zeros(chunk.n_rows, dtype=bool)
    for block in schema.each_block():
        if not block.kind.of_words:
            incomplete |= block.kind.missing(block, chunk.blocks[block.name]).any(axis=1)
    return np.array([chunk.weight[incomplete].sum()])


def _holes(chunk: Chunk, block: str) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = (chunk.blocks[block] < 0).any(axis=0)
    return found  # the sum of booleans is 'or'
