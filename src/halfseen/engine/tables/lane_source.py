"""A table that other processes hold, as a source: what estimators read in place of a container with all rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halfseen.data import Evidence, Schema
from halfseen.data.columns import Column
from halfseen.data.frames import Cells, RawColumn, Source
from halfseen.data.partition import Encode, EncodePart, Layout, Learn, Learned, Part, check_span
from halfseen.engine.tables.lanes import Cluster, LaneTable, added
from halfseen.errors import DataError, DataTypeError


class LaneSource(Source):
    """The rows of a cluster as a source.

    Parameters
    ----------
    cluster : Cluster
    weight, target : str, optional     columns of weights and labels

    Attributes
    ----------
    target : list or None              the distinct labels, None among them where a row has none
    """

    streams = True
    elsewhere = True

    def __init__(self, cluster: Cluster, weight: Any = None, target: Any = None) -> None:
        self._cluster = cluster
        self._layout = Layout.of(cluster.names, weight, target)
        self._numbers: list[int] = []
        self._unlabeled = 1.0
        self._known: dict[tuple[tuple[str, str], ...], Learned] = {}
        self.names = self._layout.features
        self.named = True
        found = self._learned({})
        check_span(*found.span, str(weight))
        self.n_rows = found.n_rows
        self.backend = found.head.backend
        self._head = found.head
        if target is not None:
            self.target = sorted(found.labels, key=lambda label: (label is not None, type(label).__name__, label))

    @property
    def n_labels(self) -> int:
        """The number of entries of `target`."""
        return self.n_rows if self.target is None else len(self.target)

    def _learned(self, kinds: Mapping[str, str]) -> Learned:
        """Return what is learned of all partitions."""
        key = tuple(sorted(kinds.items()))
        if key not in self._known:
            answers = [(number, found) for number, found in self._cluster.learned(Learn(self._layout, kinds)) if found]
            if not answers:
                raise DataError(f"{self._cluster.title} has no rows that count: there is nothing to fit to.")
            self._numbers = [number for number, _ in answers]
            self._known[key] = added(enumerate(found for _, found in answers), len(answers))
        return self._known[key]

    def learn(self, kinds: Mapping[int, str], by_choice: bool) -> tuple[Column, ...]:
        """Infer the columns."""
        found = self._learned({self.names[j]: kind for j, kind in kinds.items()})
        return found.schema(by_choice).columns

    def encoded(self, schema: Schema, evidence: Evidence | None) -> LaneTable:
        """Let the partitions be encoded where they are; `evidence` is that of `target`."""
        encode = Encode(self._layout, schema)
        if evidence is not None and self.target is not None:
            pattern_of = dict(zip(self.target, evidence.index.tolist(), strict=True))
            encode = Encode(self._layout, schema, evidence.patterns, pattern_of, self._unlabeled)
        return self._lanes(encode, schema, evidence)

    def held(self, encode: Callable[[Part], Any], schema: Schema) -> LaneTable:
        """Let the partitions become lanes in a family's own way: `encode` makes a table of a part."""
        return self._lanes(EncodePart(self._layout, encode), schema, None)

    def _lanes(self, task: Callable[[Any], Any], schema: Schema, evidence: Evidence | None) -> LaneTable:
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
        """Return one row as a data frame: names and number of columns are in it."""
        frame = self._head.frame
        return X if frame is None else frame.to_native()

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
