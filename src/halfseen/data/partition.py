"""Partitions of a table that several processes hold: which columns they have, and what is learned of them first.

A partition is a data frame or an Arrow table with some of the rows, and with weights and labels as columns. Nothing
here depends on the engine that holds the partitions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from halfseen.data.columns import Column
from halfseen.data.counts import Options
from halfseen.data.frames import RawColumn, Source, read
from halfseen.data.labels import Evidence
from halfseen.data.row_weights import NO_WEIGHT, check_weight
from halfseen.data.schema import Schema
from halfseen.data.stream import ColumnLearner, labels_of, learned
from halfseen.data.table import Table
from halfseen.data.text import TextLengths, WordCounts
from halfseen.errors import DataError, ParameterError
from halfseen.sums import Parts

MOST_LABELS = 10_000  # distinct labels; a column with more is hardly one of classes


@dataclass(frozen=True)
class Layout:
    """The columns of a distributed table: features, and the columns of weights and labels, if there are any.

    Examples
    --------
    >>> Layout.of(["a", "b", "w"], weight="w").features
    ('a', 'b')
    """

    features: tuple[str, ...]
    weight: str | None = None
    target: str | None = None

    @classmethod
    def of(cls, names: Sequence[Any], weight: Any = None, target: Any = None) -> Layout:
        """Return the layout of a frame with the named columns."""
        odd = next((name for name in names if not isinstance(name, str)), None)
        if odd is not None:
            raise DataError(f"column {odd!r}: columns of a distributed table need names of text. Rename it.")
        if len(set(names)) < len(names):
            twice = next(name for name in names if list(names).count(name) > 1)
            raise DataError(f"two columns are called {twice!r}. Rename or drop all but one.")
        for what, column in (("sample_weight", weight), ("labels", target)):
            if column is None:
                continue
            if not isinstance(column, str):
                raise ParameterError(
                    f"{what}: of rows that other processes hold, give the name of a column, not a "
                    f"{type(column).__name__}: an array on this machine cannot be matched to them."
                )
            if column not in names:
                raise ParameterError(
                    f"{what}={column!r}: there is no such column. Columns: {', '.join(map(str, names))}."
                )
        features = tuple(name for name in names if name not in (weight, target))
        if not features:
            raise DataError("the table has no columns beside weights and labels: there is nothing to fit to.")
        return cls(features, weight, target)

    def read(self, frame: Any) -> Part | None:
        """Return the rows of a partition that count; None if there are none."""
        table = nw.from_native(frame, eager_only=True)
        if not len(table):
            return None
        weight = np.ones(len(table)) if self.weight is None else read_weight(table, self.weight)
        used = np.flatnonzero(weight)
        if not len(used):
            return None
        source = read(nw.to_native(table.select(list(self.features))))
        labels = None if self.target is None else labels_of(read(nw.to_native(table.select(self.target))).column(0))
        if len(used) < len(weight):
            source, weight = source.take(used), weight[used]
            labels = None if labels is None else labels[used]
        return Part(source, weight, labels)


def read_weight(table: nw.DataFrame[Any], name: str) -> NDArray[np.float64]:
    """Return the weights of a partition, which may all be 0."""
    raw = read(nw.to_native(table.select(name))).column(0)
    if raw.type != "number":
        raise DataError(f"sample_weight={name!r}: the column holds {raw.type}, not numbers.")
    if not raw.values.any():
        return np.zeros(len(raw.values))
    some = raw.values[raw.values > 0]
    if len(some):
        check_span(float(some.min()), float(some.max()), name)
    return check_weight(raw.values, len(raw.values))


def check_span(lightest: float, heaviest: float, name: str) -> None:
    """Refuse weights beside which others cannot be told from 0: rows that other processes hold cannot be named."""
    if lightest < NO_WEIGHT * heaviest:
        raise DataError(
            f"sample_weight={name!r}: weights from {lightest:g} to {heaviest:g}. Next to the largest, those below "
            f"{NO_WEIGHT:g} of it cannot be told from 0. Set them to 0."
        )


class Part(NamedTuple):
    """The rows of a partition: features, weights, and the labels as they are."""

    source: Source
    weight: NDArray[np.float64]
    labels: NDArray[Any] | None

    @property
    def given(self) -> tuple[Any, ...]:
        """What methods that sum over rows take."""
        return self.source, self.labels, self.weight


@dataclass(frozen=True)
class Learn:
    """Learn the columns of a partition: a task for those who hold it.

    Parameters
    ----------
    layout : Layout
    kinds : mapping of str to str     kinds of columns that were given
    texts : set of str                columns of text, which are learned by `LearnWords`
    """

    layout: Layout
    kinds: Mapping[str, str]
    texts: frozenset[str] = frozenset()

    def __call__(self, frame: Any) -> Learned | None:
        """Return what is learned; None if no row counts."""
        part = self.layout.read(frame)
        if part is None:
            return None
        places = [j for j, name in enumerate(part.source.names) if name not in self.texts]
        learners = [ColumnLearner(part.source.names[j], self.kinds.get(part.source.names[j])) for j in places]
        for j, learner in zip(places, learners, strict=True):
            learner.add(part.source.column(j), 0)
        labels: set[Any] = set() if part.labels is None else set(_plain(part.labels))
        head = part.source.take(np.zeros(1, dtype=np.intp))
        span = (float(part.weight.min()), float(part.weight.max()))
        return Learned(Parts(learners), part.source.n_rows, labels, head, span, getattr(part, "hashes", None))


@dataclass(frozen=True)
class Learned:
    """What is learned of some partitions. It adds.

    Attributes
    ----------
    learners : Parts of ColumnLearner
    n_rows : int          rows that count
    labels : set          distinct labels, None where there is none
    head : Source         one row of the first partition
    span : tuple          the smallest and the largest weight
    sequences : array     hashes of the names of sequences, where rows are steps of some
    """

    learners: Parts
    n_rows: int
    labels: set[Any]
    head: Source
    span: tuple[float, float]
    sequences: NDArray[np.uint64] | None = None

    def __add__(self, other: Learned) -> Learned:
        labels = self.labels | other.labels
        if len(labels) > MOST_LABELS:
            raise DataError(f"there are more than {MOST_LABELS:,} distinct labels. Is this the column of classes?")
        span = (min(self.span[0], other.span[0]), max(self.span[1], other.span[1]))
        names = None
        if self.sequences is not None and other.sequences is not None:
            names = np.concatenate([self.sequences, other.sequences])
        return Learned(self.learners + other.learners, self.n_rows + other.n_rows, labels, self.head, span, names)

    def schema(self, by_choice: bool = True) -> Schema:
        """Return the schema of all partitions."""
        columns: tuple[Column, ...] = learned(list(self.learners), _Place(), by_choice)  # type: ignore[arg-type]
        return Schema.of_named(columns)


class _Place:
    """Where a cell is: a partition is not a place that a user knows."""

    line_of = None

    def where(self, row: int) -> str:
        return f"row {row} of its partition"


@dataclass(frozen=True)
class LearnWords:
    """Count the words of columns of text in a partition: a task for those who hold it.

    Parameters
    ----------
    layout : Layout
    names : sequence of str
    options : pairs              how text is cut into words
    """

    layout: Layout
    names: Sequence[str]
    options: Options

    def __call__(self, frame: Any) -> Parts | None:
        """Return the counts of each column; None if no row counts."""
        part = self.layout.read(frame)
        if part is None:
            return None
        return Parts(WordCounts.of(*_column(part, name), self.options) for name in self.names)


@dataclass(frozen=True)
class LearnLengths:
    """Measure the texts of a partition in words that are known: a task for those who hold it.

    Parameters
    ----------
    layout : Layout
    columns : sequence of Column     of text
    """

    layout: Layout
    columns: Sequence[Column]

    def __call__(self, frame: Any) -> Parts | None:
        """Return the sums of each column; None if no row counts."""
        part = self.layout.read(frame)
        if part is None:
            return None
        return Parts(TextLengths.of(*_column(part, column.name), column) for column in self.columns)


def _column(part: Part, name: str) -> tuple[RawColumn, str]:
    return part.source.column(part.source.names.index(name)), name


@dataclass(frozen=True)
class Encode:
    """Encode a partition: a task for those who hold it.

    Parameters
    ----------
    layout : Layout
    schema : Schema
    patterns : (P, K) array or None    evidence of labels, see `Evidence`
    pattern_of : mapping               the pattern of each label
    unlabeled : float                  what rows without a label count
    """

    layout: Layout
    schema: Schema
    patterns: NDArray[np.float64] | None = None
    pattern_of: Mapping[Any, int] | None = None
    unlabeled: float = 1.0

    def __call__(self, frame: Any) -> Table | None:
        """Return the partition as a canonical table; None if no row counts."""
        part = self.layout.read(frame)
        if part is None:
            return None
        weight, evidence = part.weight, self._evidence(part.labels)
        if evidence is not None and self.unlabeled != 1:
            weight = np.where(evidence.index == 0, self.unlabeled * weight, weight)
            if not weight.any():
                return None
        table = self.schema.encode(part.source, weight, evidence)
        return table.canonical(overwrite=True)

    def _evidence(self, labels: NDArray[Any] | None) -> Evidence | None:
        if labels is None or self.patterns is None or self.pattern_of is None:
            return None
        return Evidence(self.patterns, patterns_of(labels, self.pattern_of))


@dataclass(frozen=True)
class EncodePart:
    """Encode a partition in the way of a family: a task for those who hold it.

    Parameters
    ----------
    layout : Layout
    encode : callable     makes a canonical table of a `Part`
    """

    layout: Layout
    encode: Callable[[Part], Any]

    def __call__(self, frame: Any) -> Any:
        """Return the table; None if no row counts."""
        part = self.layout.read(frame)
        return None if part is None else self.encode(part)


def patterns_of(labels: NDArray[Any], pattern_of: Mapping[Any, int]) -> NDArray[np.int32]:
    """Return the pattern of evidence of each label."""
    return np.array([pattern_of[label] for label in _plain(labels)], dtype=np.int32)


def _plain(labels: NDArray[Any]) -> list[Any]:
    """Return labels as plain values, None where there is none."""
    return [None if label is None or label != label else label for label in labels.tolist()]
