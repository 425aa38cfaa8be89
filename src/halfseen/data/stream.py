"""Tables that do not fit into memory: a source that is read batch by batch, and the inference of its columns.

Estimators do not depend on it: `Schema.learn` calls `learn_columns`, `Schema.encode` writes the batches into temporary
files, and the result is an ordinary `Table`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, TypeVar

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from halfseen.data.columns import MAX_DISTINCT, Column, check_numbers, distinct_numbers, is_whole, read_kind
from halfseen.data.counts import TokenizedSource
from halfseen.data.duckdb_reader import BATCH, COUNT, Scan
from halfseen.data.frames import Cells, CodedColumn, RawColumn, Source, read
from halfseen.data.in_order import in_order
from halfseen.data.nearly_numbers import OtherCells
from halfseen.data.text import TextLengths, WordCounts, count_words
from halfseen.errors import DataError
from halfseen.registry import kinds as registry
from halfseen.sums import Parts

Result = TypeVar("Result")

MOST_TEXTS = 1_000_000  # the most distinct texts of a categorical column
COPIES = 3  # of a table in memory: as it is read, its encoded blocks, and a copy of them
PART = 4  # 1 / PART of the memory is for reading
LEAST = 1 << 13  # rows of a batch; with fewer, calls take more time than rows
LEAST_CELLS = 1 << 20  # cells of a batch of a wide table, for the same reason
OF_WORKER = 32 << 20  # bytes for each thread; with less, fewer are used
OF_TEXT = 256  # bytes of the texts of a row, until some have been read
FEW = 1 << 16  # rows that may be loaded into memory when selected by number


class StreamSource(Source):
    """A scan as a source.

    Parameters
    ----------
    scan : Scan
    names : sequence of str
        Its columns that are features.
    memory_limit : int
        Bytes of memory to use.
    n_rows : int
    rows : (N,) bool array, optional
        Which rows of the scan to use; by default all.
    keep : object, optional
        An object to keep alive with the source, such as the copy of standard input.
    """

    streams = True

    def __init__(
        self,
        scan: Scan,
        names: Sequence[str],
        memory_limit: int,
        n_rows: int,
        rows: NDArray[np.bool_] | None = None,
        keep: Any = None,
    ) -> None:
        self._scan = scan
        self._rows = rows
        self._keep = keep
        self._head: Source | None = None
        self._texts: dict[str, Column] = {}
        self._text_cells = 0  # as many cells take the memory of the texts of a row
        self.memory_limit = memory_limit
        self.names = tuple(names)
        self.named = True
        self.n_rows = n_rows
        self.backend = nw.Implementation.PYARROW
        self.line_of = scan.line_of if rows is None else None
        self.as_text = scan.text

    def batches(self) -> Generator[Source, None, None]:
        for table in self._tables(self.names):
            yield read(table)

    def _tables(self, names: Sequence[str]) -> Iterator[Any]:
        """The rows in use, as Arrow tables."""
        wide = max(1, len(names) + self._text_cells)
        least = max(1, min(LEAST, LEAST_CELLS // wide))
        size = int(np.clip(self.memory_limit // (32 * 8 * wide), least, BATCH))  # a batch and copies: a small part
        first = 0
        for table in self._scan.batches(names, size, self.memory_limit // PART):
            last = first + table.num_rows
            if self._rows is not None:
                table = table.filter(self._rows[first:last])
            if table.num_rows:
                yield table
            first = last

    def head(self) -> Source:
        batches = self.batches()
        try:
            head = next(batches)
        finally:
            batches.close()
        head.as_text = self.as_text
        return head

    def learn(self, kinds: Mapping[int, str], by_choice: bool) -> tuple[Column, ...]:
        head = self.head()
        learners = learners_of(self, {j: kind for j, kind in kinds.items() if self.names[j] not in self._texts})
        known = {j: self._texts[name] for j, name in enumerate(self.names) if name in self._texts}
        for j, learner in enumerate(learners):
            if j not in known:
                learner.add(head.column(j), 0)
        known |= {j: learner.column() for j, learner in enumerate(learners) if learner.settled}
        rest = [j for j in range(len(self.names)) if j not in known]
        if rest:  # only their cells are read
            found = learn_columns(self.only(rest), {i: kinds[j] for i, j in enumerate(rest) if j in kinds}, by_choice)
            known |= dict(zip(rest, found, strict=True))
        return tuple(known[j] for j in range(len(self.names)))

    def only(self, columns: Sequence[int]) -> StreamSource:
        """Some of the columns."""
        part = copy(self)
        part.names, part._head = tuple(self.names[j] for j in columns), None
        part._text_cells = self._text_cells if set(part.names) & set(self._texts) else 0
        return part

    def tokenised(self, columns: Sequence[int], options: Any, length: float | str | None) -> StreamSource:
        """Take columns as text: one pass counts their words, another the mean length where it is asked for."""
        texts = self.only(columns)
        texts._text_cells = OF_TEXT
        head = texts.head().frame
        assert head is not None
        texts._text_cells = int(head.estimated_size()) // len(head) + 1  # a byte: words are objects, 8 times as large
        counts = _summed(texts, lambda raw, name: WordCounts.of(raw, name, options))
        words = [found.chosen(name, options) for name, found in zip(texts.names, counts, strict=True)]
        found = {name: Column(name, "text", own, options) for name, own in zip(texts.names, words, strict=True)}
        means: Sequence[Any] = [length] * len(found)
        if length == "mean":
            means = [total.mean for total in _summed(texts, lambda raw, name: TextLengths.of(raw, name, found[name]))]
        own = copy(self)
        own._text_cells = texts._text_cells
        own.n_entries = sum(int(each.documents.sum()) for each in counts)
        own._texts = {
            name: column if mean is None else replace(column, options=(*options, ("document_length", float(mean))))
            for (name, column), mean in zip(found.items(), means, strict=True)
        }
        return own

    def grouped(self) -> Source | None:
        """The same rows with equal ones merged, with their numbers as weights; None if some rows are not used."""
        if self._rows is not None:
            return None
        scan = self._scan.grouped(self.names)
        if scan is None:
            return None
        source = loaded(scan, self.names, self.memory_limit, COUNT, None, self._keep, self.memory_limit // 2)
        source.workers = self.workers
        return source

    def column(self, j: int) -> RawColumn:
        import pyarrow as pa

        return read(pa.concat_tables(self._tables([self.names[j]]))).column(0)

    def take(self, rows: NDArray[np.intp]) -> Source:
        rows = np.asarray(rows)
        if len(rows) > FEW and (np.diff(rows) > 0).all():
            chosen = np.zeros(self.n_rows if self._rows is None else len(self._rows), dtype=bool)
            chosen[rows if self._rows is None else np.flatnonzero(self._rows)[rows]] = True
            taken = copy(self)
            taken._rows, taken.n_rows, taken.line_of, taken._head = chosen, len(rows), None, None
            taken.weight = taken.target = None
            return taken
        return self._worded(self._picked(rows))

    def _worded(self, source: Source) -> Source:
        """Some rows in memory, with the words of the whole table."""
        found = {}
        for j, name in enumerate(self.names):
            if name in self._texts:
                words: Any = self._texts[name].categories
                how = self._texts[name].options
                found[j] = (words, count_words(source.column(j), name, words, how)[0], how)
        return TokenizedSource(source, found) if found else source

    def _picked(self, rows: NDArray[np.intp]) -> Source:
        """Some rows, in memory."""
        import pyarrow as pa

        wanted, place = np.unique(rows, return_inverse=True)
        found, first = [], 0
        for table in self._tables(self.names):
            inside = wanted[(wanted >= first) & (wanted < first + table.num_rows)] - first
            found.append(table.take(inside))
            first += table.num_rows
            if first > wanted[-1]:
                break
        return read(pa.concat_tables(found)).take(place)

    def template(self) -> Source:
        if self._head is None:
            self._head = self._picked(np.zeros(1, dtype=np.intp))
        return self._head

    def for_sklearn(self, X: Any) -> Any:
        return self.template().for_sklearn(X)

    def like(self, columns: Sequence[Sequence[Any] | NDArray[Any]]) -> Any:
        return self.template().like(columns)

    def fill(self, cells: Mapping[int, Cells]) -> Any:
        import pyarrow as pa

        return read(pa.concat_tables(self._tables(self.names))).fill(cells)


def _summed(source: StreamSource, count: Callable[[RawColumn, str], Any]) -> list[Any]:
    """Return the sum over all batches of what `count` makes of each column and its name."""
    sums: list[tuple[int, Parts]] = []  # of 1, 2, 4, ... batches: sums of like sizes are added, as they grow
    for found in in_pieces(source, lambda batch, _: Parts(map(count, _columns(batch), batch.names))):
        sums.append((1, found))
        while len(sums) > 1 and sums[-1][0] == sums[-2][0]:
            size, last = sums.pop()
            sums[-1] = (2 * size, sums[-1][1] + last)
    total = sums.pop()[1]
    while sums:
        total = sums.pop()[1] + total
    return list(total)


def _columns(source: Source) -> Iterator[RawColumn]:
    return (source.column(j) for j in range(len(source.names)))


def no_rows(scan: Scan) -> DataError:
    """The error for a table without rows."""
    return DataError(f"{scan.title} has no rows: there is nothing to fit or predict.")


def loaded(
    scan: Scan,
    names: Sequence[str],
    memory: int,
    weight: str | None = None,
    target: str | None = None,
    keep: Any = None,
    memory_limit: int | None = None,
) -> Source:
    """Return a scan as a source: in memory if it fits, else a stream; `memory_limit` is the memory for reading it."""
    import pyarrow as pa

    if scan.size > memory:
        return _stream(scan, names, memory, weight, target, keep)
    own = [name for name in (weight, target) if name is not None]
    tables, size = [], 0
    for table in scan.batches([*names, *own], memory_limit=memory_limit):
        tables.append(table)
        size += table.nbytes
        if COPIES * size > memory:
            tables.clear()
            return _stream(scan, names, memory, weight, target, keep)
    if not sum(table.num_rows for table in tables):
        raise no_rows(scan)
    everything = pa.concat_tables(tables)
    source = read(everything.select(list(names))).keep_codes()
    source.line_of, source.as_text = scan.line_of, scan.text
    return _with_own(source, read(everything.select(own)) if own else None, weight, target)


def _stream(scan: Scan, names: Sequence[str], memory: int, weight: str | None, target: str | None, keep: Any) -> Source:
    part = memory // PART
    source = StreamSource(scan.settled(part), names, memory, scan.count(part), keep=keep)
    own = [name for name in (weight, target) if name is not None]
    return _with_own(source, StreamSource(scan, own, memory, source.n_rows) if own else None, weight, target)


def _with_own(source: Source, own: Source | None, weight: str | None, target: str | None) -> Source:
    """Add the weights and labels, which are columns of the table, to its source."""
    if own is not None and weight is not None:
        raw = own.column(own.names.index(weight))
        if raw.type != "number":
            raise DataError(f"weight={weight!r}: the column holds {raw.type}, not numbers.")
        source.weight = raw.values
    if own is not None and target is not None:
        source.target = labels_of(own.column(own.names.index(target)))
    return source


def labels_of(raw: RawColumn) -> NDArray[Any]:
    """Labels from a column; whole numbers without missing values as integers, which are quicker to read."""
    if raw.type == "number" and not raw.missing.any() and is_whole(raw.values).all():
        return raw.values.astype(np.int64)
    if raw.type == "bool":
        return np.array([None if gone else bool(cell) for cell, gone in zip(raw.values, raw.missing, strict=True)])
    return raw.values


# ------------------------------------------------------------------------------------------------ inference of columns


def learn_columns(source: Source, kinds: Mapping[int, str], by_choice: bool = True) -> tuple[Column, ...]:
    """Infer kind and categories of all columns in one pass; equal to `learn_column` on the whole columns."""
    learners = learners_of(source, kinds)

    def learn(batch: Source, first: int) -> list[ColumnLearner]:
        found = [learner.empty() for learner in learners]
        for j, learner in enumerate(found):
            learner.add(batch.column(j), first)
        return found

    for batch in in_pieces(source, learn):
        for learner, found in zip(learners, batch, strict=True):
            learner.join(found)
    return learned(learners, source, by_choice)


def learners_of(source: Source, kinds: Mapping[int, str]) -> list[ColumnLearner]:
    """Return what learns each column of a source."""
    return [ColumnLearner(name, kinds.get(j)) for j, name in enumerate(source.names)]


def learned(learners: Sequence[ColumnLearner], source: Source, by_choice: bool = True) -> tuple[Column, ...]:
    """Return the inferred columns; refuse text that is nearly all numbers, with its place in the source."""
    for learner in learners:
        learner.check(source, by_choice)
    return tuple(learner.column() for learner in learners)


def in_pieces(source: Source, use: Callable[[Source, int], Result]) -> Iterator[Result]:
    """Yield what `use` makes of each batch and the number of its first row, in order; errors name the rows.

    The workers of the source call it, for several batches at a time.
    """

    def used(numbered: tuple[Source, int]) -> Result:
        batch, first = numbered
        try:
            return use(batch, first)
        except DataError as error:
            where = f"in rows {first} to {first + batch.n_rows - 1} (counted from the first of these)"
            raise type(error)(f"{where}: {error}") from None

    return in_order(used, _numbered(source.batches()), threads(source))


def threads(source: Source) -> int:
    """Return the number of threads that read a source: its workers, as far as its memory is enough for them."""
    return max(1, min(source.workers, source.memory_limit // OF_WORKER))


def _numbered(batches: Iterable[Source]) -> Iterator[tuple[Source, int]]:
    """Yield batches with the numbers of their first rows."""
    first = 0
    for batch in batches:
        n_rows = batch.n_rows
        yield batch, first
        first += n_rows


class ColumnLearner:
    """State of one column while it is read: the distinct cells that `learn_column` needs. Those of two parts add."""

    def __init__(self, name: str, kind: str | None) -> None:
        self.name = name
        self.kind = None if kind is None else read_kind(kind, f"column {name!r}")
        self.type: Any = None
        self.texts: set[str] = set()
        self.numbers = np.zeros(0)
        self.levels: dict[Any, None] | None = None
        self.ordered = False
        self.settled = False
        self.cells = OtherCells()

    def add(self, raw: RawColumn, first: int) -> None:
        """Add the cells of a batch that begins with row `first`."""
        if raw.levels is not None:
            self.levels = (self.levels or {}) | dict.fromkeys(raw.levels)
            self.ordered = raw.ordered
        if raw.missing.all():
            return
        if self.type not in (None, raw.type):
            raise self._mixed(raw.type)
        self.type = raw.type
        if raw.type == "text":
            self.texts.update(raw.seen if isinstance(raw, CodedColumn) else raw.values[~raw.missing])
            if self.kind is None and self.levels is None:
                self.cells.add(raw, first)
            self._check_few(len(self.texts), "texts")
            return
        if self.kind is not None:
            self.kind.read(raw, self.name)
        if not self.settled:
            self._add_numbers(distinct_numbers(raw))

    def empty(self) -> ColumnLearner:
        """A learner of the same column that has not seen a cell."""
        return ColumnLearner(self.name, None if self.kind is None else self.kind.name)

    def __add__(self, other: ColumnLearner) -> ColumnLearner:
        both = self.empty()
        both.join(self)
        both.join(other)
        return both

    def join(self, other: ColumnLearner) -> None:
        """Add what another learner has seen in later rows."""
        if None not in (self.type, other.type) and self.type != other.type:
            raise self._mixed(other.type)
        self.type = self.type or other.type
        self.texts |= other.texts
        self._check_few(len(self.texts), "texts")
        if other.levels is not None:
            self.levels = (self.levels or {}) | other.levels
        self.ordered = self.ordered or other.ordered
        self.cells.join(other.cells)
        if not self.settled:
            self.settled = other.settled
            self._add_numbers(other.numbers)

    def _mixed(self, other: Any) -> DataError:
        return DataError(f"column {self.name!r} mixes {self.type} and {other}. Make all its cells of one type.")

    def _add_numbers(self, numbers: NDArray[np.float64]) -> None:
        self.numbers = np.union1d(self.numbers, numbers)
        if self.kind is not None and self.kind.has_categories:
            self._check_few(len(self.numbers), "numbers")
            return
        several = len(self.numbers) > 1
        many = len(self.numbers) > MAX_DISTINCT or not is_whole(self.numbers).all()
        if several and (many or self.kind is not None):
            fraction = self.numbers[~is_whole(self.numbers)][:1]
            self.numbers = np.union1d(self.numbers[: MAX_DISTINCT + 1], fraction)
            self.settled = True

    def _check_few(self, n_distinct: int, what: str) -> None:
        if n_distinct > MOST_TEXTS:
            raise DataError(
                f"column {self.name!r} holds more than {MOST_TEXTS:,} distinct {what}, too many for categories. "
                f"Leave it out: ignore=[{self.name!r}]."
            )

    def check(self, source: Source, by_choice: bool) -> None:
        """Refuse text that is nearly all numbers."""
        if self.kind is None and self.levels is None:
            check_numbers(self.name, self.cells, self.texts, source, by_choice)

    def column(self) -> Column:
        """The inferred column."""
        cells: Any = np.array(sorted(self.texts), dtype=object) if self.type == "text" else self.numbers
        kind = self.type
        levels = None if self.levels is None else tuple(self.levels)
        if not len(cells):
            cells = np.full(1, np.nan)
            kind = "text" if levels and isinstance(levels[0], str) else "number"
            missing = np.ones(1, dtype=bool)
        else:
            missing = np.zeros(len(cells), dtype=bool)
        raw = RawColumn(cells, missing, kind, levels, self.ordered)
        if self.kind is not None:
            return self.kind.learn(raw, self.name)
        return next(known for known in registry if known.recognises(raw)).learn(raw, self.name)
