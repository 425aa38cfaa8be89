"""Sequences of a file that does not fit into memory: whole sequences, in temporary files.

The columns of group and time are read first. Where all rows of a sequence follow each other, in the order of time,
steps are encoded as they come. Otherwise they are dealt to buckets of neighbouring sequences, each of which is sorted
in memory. What stays in memory is name and length of each sequence, and the distinct times where these are text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from halfseen.data.buckets import MOST_BITS, Buckets, Dealt
from halfseen.data.frames import Source, read
from halfseen.data.schema import Schema
from halfseen.data.sequences import Cut, apart, check_marks, plainly, read_sequences
from halfseen.data.spill import Arrays
from halfseen.data.stream import MOST_TEXTS, StreamSource, in_pieces, threads
from halfseen.data.table import Table
from halfseen.errors import DataError, ParameterError

__all__ = ["UnsortedSteps", "read_large_sequences"]


def read_large_sequences(X: Any, lengths: Any, groups: Any, time: Any) -> tuple[Source, Cut]:
    """Read sequences as `read_sequences` does; those of a file that does not fit into memory as a stream.

    Returns
    -------
    source : Source
        All steps: a stream in their order, or `UnsortedSteps`, or in memory.
    cut : Cut
        Without the row of each step where the source is a stream.
    """
    if lengths is not None or (groups is None and time is None) or not hasattr(X, "__halfseen_frame__"):
        return read_sequences(X, lengths, groups, time)
    marks = [mark for mark in (groups, time) if isinstance(mark, str)]
    frame = X.__halfseen_frame__(marks, within_memory=True)
    if frame is not None:
        return read_sequences(frame, None, groups, time)
    for option, mark in (("groups", groups), ("time", time)):
        if mark is not None and not isinstance(mark, str):
            raise ParameterError(f"{option}: of a table that does not fit into memory, give the name of a column.")
    found = _Marks(groups, time)
    for batch in X.__halfseen_stream__(marks, only=True).batches():
        found.add(batch)
    cut = Cut(found.lengths(), names=None if groups is None else tuple(found.number))
    marked = X.__halfseen_stream__(marks)
    return (_features(marked, found) if found.in_order else UnsortedSteps(marked, found)), cut


def _features(marked: StreamSource, marks: _Marks) -> StreamSource:
    """Return a stream without the columns of group and time."""
    return marked.only([j for j, name in enumerate(marked.names) if name not in (marks.groups, marks.time)])


@dataclass
class _Marks:
    """The columns of group and time, read batch by batch.

    Attributes
    ----------
    number : dict             number of each sequence, by its name, in the order of first rows
    counts : list of int      length of each
    in_order : bool           whether every sequence is in one piece, its steps in the order of time
    texts : set of str        distinct times, where these are text
    """

    groups: str | None
    time: str | None
    number: dict[Any, int] = field(default_factory=dict)
    counts: list[int] = field(default_factory=list)
    in_order: bool = True
    texts: set[Any] = field(default_factory=set)
    n_rows: int = 0
    _last: tuple[int, Any] | None = None  # sequence and time of the last row

    def add(self, batch: Source) -> None:
        """Add the rows of a batch."""
        _, groups, time = self.split(batch)
        check_marks(groups, time, batch.n_rows, self.n_rows)
        rank = self.ranks(groups, batch.n_rows)
        counts = np.bincount(rank, minlength=len(self.number) or 1)
        self.counts += [0] * (len(counts) - len(self.counts))
        self.counts = (np.array(self.counts) + counts).tolist()
        if time is not None and time.dtype == object:
            self.texts.update(time.tolist())
            if len(self.texts) > MOST_TEXTS:
                raise DataError(
                    f"time: column {self.time!r} holds more than {MOST_TEXTS:,} distinct texts. Make it a column of "
                    "dates or numbers."
                )
        if self.in_order:
            self._look(rank, time)
        self.n_rows += batch.n_rows

    def split(self, batch: Source) -> tuple[Any, NDArray[Any] | None, NDArray[Any] | None]:
        """Return a batch without the columns of group and time, and these."""
        assert batch.frame is not None
        return apart(nw.to_native(batch.frame), self.groups, self.time)

    def ranks(self, groups: NDArray[Any] | None, n_rows: int) -> NDArray[np.int64]:
        """Return the number of the sequence of each row; new ones are numbered in the order of their first rows."""
        if groups is None:
            return np.zeros(n_rows, dtype=np.int64)
        if groups.dtype == object:
            return np.array([self.number.setdefault(name, len(self.number)) for name in groups.tolist()], np.int64)
        distinct, first, inverse = np.unique(groups, return_index=True, return_inverse=True)
        names = distinct.tolist()
        for i in np.argsort(first).tolist():
            self.number.setdefault(names[i], len(self.number))
        return np.array([self.number[name] for name in names], dtype=np.int64)[inverse.reshape(-1)]

    def _look(self, rank: NDArray[np.int64], time: NDArray[Any] | None) -> None:
        """Find out whether the rows go on in order."""
        when: Any = np.zeros(len(rank)) if time is None else time
        before, earlier = (-1, None) if self._last is None else self._last
        held = np.concatenate([[before], rank])
        steps = np.diff(held)
        new = np.maximum.accumulate(held)[:-1] < rank  # a sequence that has not been met before
        same = steps == 0
        self.in_order = bool((same | new).all())
        if time is not None and self.in_order:
            inside = same[1:]
            self.in_order = bool((when[1:][inside] > when[:-1][inside]).all())
            self.in_order &= bool(not same[0] or when[0] > earlier)
        self._last = (int(rank.max(initial=before)), when[-1])

    def check_times(self, rank: NDArray[np.int64], when: NDArray[np.int64], rows: NDArray[np.int64]) -> None:
        """Refuse two steps of a sequence at one time; the steps are sorted."""
        same = (np.diff(rank) == 0) & (np.diff(when) == 0)
        if same.any():
            i = int(same.argmax())
            whose = f"sequence {plainly(list(self.number)[rank[i]])!r}" if self.number else "one sequence"
            raise DataError(f"time: rows {rows[i]} and {rows[i + 1]} of {whose} are at the same time. Leave one out.")

    def lengths(self) -> NDArray[np.int64]:
        """Return the length of each sequence."""
        return np.array(self.counts, dtype=np.int64)


class UnsortedSteps(StreamSource):
    """Steps of a file in which sequences are mixed, or not in the order of time.

    As a source it has the columns of the steps, in the order of the file.
    """

    def __init__(self, marked: StreamSource, marks: _Marks) -> None:
        self.__dict__.update(_features(marked, marks).__dict__)
        self._marked, self._marks = marked, marks

    def steps(self, schema: Schema) -> Table:
        """Return the encoded steps, sequence after sequence, in the order of time."""
        marks, lengths = self._marks, self._marks.lengths()
        firsts = (np.cumsum(lengths) - lengths) / max(self.n_rows, 1)
        places = {text: i for i, text in enumerate(_ordered(marks.texts))}
        self._marked.workers = self.workers
        blocks = [np.empty((0, len(block.members)), block.kind.dtype(block)) for block in schema.each_block()]
        like = [*blocks, np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.int64)]

        def deal(batch: Source, first: int) -> Dealt:
            rest, groups, time = marks.split(batch)
            rank = marks.ranks(groups, batch.n_rows)
            rows = np.arange(first, first + batch.n_rows)
            cells = schema.encode(read(rest)).blocks
            near = (firsts[rank] * (1 << MOST_BITS)).astype(np.uint64) << np.uint64(64 - MOST_BITS)
            return buckets.deal([*cells.values(), rank, rows if time is None else _keys(time, places), rows], near)

        def by_time(arrays: Arrays) -> Arrays:
            *cells, rank, when, rows = arrays
            order = np.lexsort((rows, when, rank))
            marks.check_times(rank[order], when[order], rows[order])
            return [block[order] for block in cells]

        with Buckets(like, self.n_rows, self.memory_limit, threads(self)) as buckets:
            for dealt in in_pieces(self._marked, deal):
                buckets.add(dealt)
            found = buckets.merged(by_time)
        weight = np.broadcast_to(np.float64(1), self.n_rows)
        return Table(schema, dict(zip(schema.blocks, found, strict=True)), weight, None, self.memory_limit)


def _keys(time: NDArray[Any], places: dict[Any, int]) -> NDArray[np.int64]:
    """Return whole numbers in the order of times."""
    if time.dtype == object:
        return np.array([places[text] for text in time.tolist()], dtype=np.int64)
    if time.dtype.kind in "mMiub":
        return time.astype(np.int64)
    bits = (time.astype(np.float64) + 0.0).view(np.int64)  # of positive numbers they are in order; of others reversed
    return np.where(bits < 0, np.int64(-(2**63)) - bits, bits)


def _ordered(texts: Sequence[Any] | set[Any]) -> list[Any]:
    try:
        return sorted(texts)
    except TypeError as error:
        raise DataError(f"time: its values cannot be sorted ({error}). Convert them to one type.") from None
