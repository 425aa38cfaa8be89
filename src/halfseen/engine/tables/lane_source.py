"""A table that other processes hold, as a source: what estimators read in place of a container with all rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from halfseen.data import Evidence, Schema
from halfseen.data.columns import Column
from halfseen.data.counts import Options
from halfseen.data.frames import Cells, RawColumn, Source, frame_from_dict
from halfseen.data.partition import (
    Encode,
    EncodePart,
    Layout,
    Learn,
    Learned,
    LearnLengths,
    LearnWords,
    Part,
    check_span,
)
from halfseen.data.sequence_partition import EncodeSequences, NameOf, SequenceLayout, repeated, split_error
from halfseen.engine.tables.lanes import Cluster, LaneTable, added
from halfseen.errors import DataError, DataTypeError
from halfseen.sums import Parts


class LaneSource(Source):
    """The rows of a cluster as a source.

    Parameters
    ----------
    cluster : Cluster
    weight, target : str, optional     columns of weights and labels

    """

    streams = True
    elsewhere = True

    def __init__(self, cluster: Cluster, weight: Any = None, target: Any = None, layout: Layout | None = None) -> None:
        self._cluster = cluster
        self._layout = Layout.of(cluster.names, weight, target) if layout is None else layout
        self._numbers: list[int] = []
        self._unlabeled = 1.0
        self._known: dict[tuple[tuple[str, str], ...], Learned] = {}
        self._texts: dict[str, Column] = {}
        self.names = self._layout.features
        self.named = True

    @cached_property
    def _found(self) -> Learned:
        """What is learned of all partitions, once it is known which columns are text."""
        found = self._learned({})
        check_span(*found.span, str(self._layout.weight))
        return found

    @cached_property
    def _head(self) -> Source:
        """One row, in the library that results are shown with; engines whose own is not for that say which is."""
        as_local = getattr(self._cluster, "as_local", None)
        return self._found.head if as_local is None else as_local(self._found.head)

    @property
    def n_rows(self) -> int:  # type: ignore[override]
        """The number of rows that count."""
        return self._found.n_rows

    @property
    def backend(self) -> nw.Implementation | None:  # type: ignore[override]
        """The library of the partitions."""
        return self._head.backend

    @cached_property
    def target(self) -> list[Any] | None:
        """The distinct labels, None first where a row has none."""
        if self._layout.target is None:
            return None
        return sorted(self._found.labels, key=lambda label: (label is not None, type(label).__name__, label))

    @property
    def n_labels(self) -> int:
        """The number of entries of `target`."""
        return self.n_rows if self.target is None else len(self.target)

    def _learned(self, kinds: Mapping[str, str]) -> Learned:
        """Return what is learned of all partitions."""
        key = tuple(sorted(kinds.items()))
        if key not in self._known:
            self._known[key] = self._summed(Learn(self._layout, kinds, frozenset(self._texts)))
        return self._known[key]

    def _summed(self, task: Callable[[Any], Any]) -> Any:
        """Return the sum of a task over all partitions in which a row counts; note which these are."""
        answers = [(number, found) for number, found in self._cluster.learned(task) if found is not None]
        if not answers:
            raise DataError(f"{self._cluster.title} has no rows that count: there is nothing to fit to.")
        self._numbers = [number for number, _ in answers]
        return added(enumerate(found for _, found in answers), len(answers))

    def tokenised(self, columns: Sequence[int], options: Options, length: float | str | None) -> LaneSource:
        """Take columns as text: their words are found where the rows are."""
        texts = [self.names[j] for j in columns]
        counts: Parts = self._summed(LearnWords(self._layout, texts, options))
        words = [found.chosen(name, options) for name, found in zip(texts, counts, strict=True)]
        found = [Column(name, "text", own, options) for name, own in zip(texts, words, strict=True)]
        means: Sequence[Any] = [length] * len(texts)
        if length == "mean":
            means = [total.mean for total in self._summed(LearnLengths(self._layout, found))]
        for column, mean in zip(found, means, strict=True):
            own = options if mean is None else (*options, ("document_length", float(mean)))
            self._texts[column.name] = Column(column.name, "text", column.categories, own)
        return self

    def learn(self, kinds: Mapping[int, str], by_choice: bool) -> tuple[Column, ...]:
        """Infer the columns; those of text are known."""
        given = {self.names[j]: kind for j, kind in kinds.items() if self.names[j] not in self._texts}
        others = {column.name: column for column in self._learned(given).schema(by_choice).columns}
        return tuple((self._texts | others)[name] for name in self.names)

    def encoded(self, schema: Schema, evidence: Evidence | None) -> LaneTable:
        """Let the partitions be encoded where they are; `evidence` is that of `target`."""
        return self._lanes(Encode(self._layout, schema, *self._patterns(evidence), self._unlabeled), schema, evidence)

    def _patterns(self, evidence: Evidence | None) -> tuple[Any, Any]:
        """Return the patterns of evidence, and the pattern of each label."""
        if evidence is None or self.target is None:
            return None, None
        return evidence.patterns, dict(zip(self.target, evidence.index.tolist(), strict=True))

    def held(self, encode: Callable[[Part], Any], schema: Schema) -> LaneTable:
        """Let the partitions become lanes in a family's own way: `encode` makes a table of a part."""
        return self._lanes(EncodePart(self._layout, encode), schema, None)

    def _lanes(self, task: Callable[[Any], Any], schema: Schema, evidence: Evidence | None) -> LaneTable:
        if not self._numbers:
            self._learned({})
        self._cluster.encode(task, self._numbers)
        return LaneTable(self._cluster, schema, evidence, len(self._numbers))

    def weighing(self, unlabeled: float) -> LaneSource:
        """Return the source with rows without a label counting so much."""
        self._unlabeled = unlabeled
        return self

    def template(self) -> Source:
        """Return one row."""
        return self._head

    def for_sklearn(self, X: Any) -> Any:
        """Return a data frame without rows: names and number of columns are in it."""
        return frame_from_dict({name: [] for name in self.names})

    def column(self, j: int) -> RawColumn:
        """Refuse: the rows are elsewhere."""
        raise self._stays("columns of it")

    def take(self, rows: NDArray[np.intp]) -> Source:
        """Refuse: the rows are elsewhere."""
        raise self._stays("some of its rows")

    def like(self, columns: Sequence[Sequence[Any] | NDArray[Any]]) -> Any:
        """Build a table like a partition."""
        return self._head.like(columns)

    def fill(self, cells: Mapping[int, Cells]) -> Any:
        """Refuse: the rows are elsewhere."""
        raise self._stays("a copy of it")

    def _stays(self, what: str) -> DataTypeError:
        return DataTypeError(
            f"{self._cluster.title} stays where it is: this needs {what} in this process. Pass some of the rows as a "
            "data frame, such as frame.head(10_000)."
        )


class SequenceSource(LaneSource):
    """The sequences of a cluster as a source of their steps.

    Parameters
    ----------
    cluster : Cluster
    layout : SequenceLayout
    """

    _layout: SequenceLayout

    def __init__(self, cluster: Cluster, layout: SequenceLayout) -> None:
        super().__init__(cluster, layout=layout)

    def check_whole(self) -> None:
        """Refuse sequences that are in several partitions."""
        assert self._found.sequences is not None
        refuse_split(self._cluster, self._layout.group, self._found.sequences)

    @property
    def n_sequences(self) -> int:
        """The number of sequences that count."""
        assert self._found.sequences is not None
        return len(self._found.sequences)

    def encoded(self, schema: Schema, evidence: Evidence | None) -> LaneTable:
        """Let the partitions become lanes of sequences."""
        return self._lanes(EncodeSequences(self._layout, schema, *self._patterns(evidence)), schema, evidence)


def refuse_split(cluster: Cluster, group: str, hashes: NDArray[np.uint64]) -> None:
    """Refuse sequences that are in several partitions; `hashes` are those of the names in each, one after the other."""
    twice = repeated(hashes)
    if twice is None:
        return
    found = [(number, name) for number, name in cluster.learned(NameOf(group, twice)) if name is not None]
    numbers = sorted(number for number, _ in found)
    raise split_error(cluster.title, group, found[0][1][0], numbers)
