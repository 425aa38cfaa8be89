"""A table as the models see it: blocks of columns, row weights, label evidence; equal rows merged, cut into chunks.

- *schema*: the columns (name, kind, categories) and how they are grouped into blocks; fixed when fitting.
- *block*: the columns that one leaf treats together, as one array (N, D): codes in the smallest integers that hold
  them (-1 missing), or float64 (NaN missing); columns of text are `Counts`, their words one column after the other.
  Its name is the kind of its columns, or ``kind.treatment``.
- *weight*: how much each row counts.
- *chunk*: some consecutive rows, the unit of work. Chunks depend on the data alone, never on the number of workers.
- *canonical*: a table that depends only on the multiset of its (row, weight) pairs.
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from halfseen.data import canonical, counts_file, spill
from halfseen.data.arrays import HEAD, FastEncodingFailed, LazyBlocks, Reader, Run, survey
from halfseen.data.buckets import Buckets, Dealt
from halfseen.data.columns import Block, Column, learn_column
from halfseen.data.counts import Counts
from halfseen.data.counts_file import CountsFile
from halfseen.data.frames import Source
from halfseen.data.labels import Evidence
from halfseen.data.named_columns import check_columns
from halfseen.data.rows import Chunk, Rows
from halfseen.data.stream import in_pieces, threads
from halfseen.errors import DataError, LightRowWarning, ParameterError, UnknownCategoryWarning, warn
from halfseen.sums import Runner, Task, serial

__all__ = ["CHUNK", "Chunk", "Schema", "Table", "check_weight", "row_weight"]

WEIGHTS = (1e-100, 1e100)  # between these must lie the largest weight
NO_WEIGHT = 1e-30  # of the largest: rows that weigh less add less to a variance than the rounding of its mean, squared
CHUNK = 4096  # rows; with K = 8 doubles each their scores take 256 KB and stay in L2
READ = 16  # uses of the statistics of a chunk of text for each time they are added to the others
LARGEST = 16384  # rows; larger chunks save little in scheduling, and their scores no longer fit into the cache
LIGHT = 65536  # rows of a chunk without scores, whose work is so short that scheduling costs count
ENTRY = 12  # bytes of a count of a word: its number and the count
MOST_SAID = 10_000  # unknown categories that are remembered; later ones are warned of each time
CELLS = 1 << 21  # of such a chunk: 16 MB if they have to be encoded


@dataclass(frozen=True)
class Schema:
    """The columns of a table and their blocks.

    Parameters
    ----------
    columns : tuple of Column
    blocks : dict of str to tuple of int
        The columns of each block, in the order of the table.
    named : bool
        Whether the names of the columns are the user's, and are to be checked.
    said : set of (column, category)
        Unknown categories that were warned of: each is warned of once.

    Examples
    --------
    >>> from halfseen.data import read
    >>> schema = Schema.learn(read([["a", 1.5, True], ["b", 2.5, False]]))
    >>> schema.blocks
    {'categorical': (0, 2), 'gaussian': (1,)}
    >>> schema.cardinalities("categorical")
    (2, 2)
    """

    columns: tuple[Column, ...]
    blocks: dict[str, tuple[int, ...]]
    named: bool = field(default=False, compare=False)
    said: set[tuple[str, Any]] = field(default_factory=set, compare=False, repr=False)  # warned of, to do it once

    @classmethod
    def learn(
        cls, source: Source, kinds: Mapping[str | int, str] | None = None, run: Run = map, by_choice: bool = True
    ) -> Schema:
        """Infer kind and categories of each column.

        Parameters
        ----------
        source : Source
        kinds : mapping, optional
            The kind of some columns, by name or position, instead of the inference of `learn_column`.
        run : callable
            Maps a task over slices of rows: `map`, or one with workers.
        by_choice : bool
            Whether the user can name kinds, for messages.
        """
        chosen = {_position(key, source.names, "columns"): kind for key, kind in (kinds or {}).items()}
        for j, name in enumerate(source.names):
            if name in source.as_text:
                chosen.setdefault(j, "categorical")
        if source.streams:
            found = source.learn(chosen, by_choice)
            return cls(found, _group(column.kind.name for column in found), source.named)
        worded = [j for j in range(len(source.names)) if source.words(j) is not None]
        known = survey(source, run) if len(worded) < len(source.names) else {}

        def learned(j: int, name: str) -> Column:
            if j in worded:
                words, _ = source.words(j) or ((), None)
                return Column(name, "text", words, source.options(j))
            if j not in chosen and j in known:
                return Column(name, *known[j])
            return learn_column(source.column(j), name, chosen.get(j), source, by_choice)

        columns = tuple(learned(j, name) for j, name in enumerate(source.names))
        return cls(columns, _group(column.kind.name for column in columns), source.named)

    @classmethod
    def guess(cls, source: Source, kinds: Mapping[str | int, str] | None = None) -> Schema | None:
        """Infer the columns from the first rows, if encoding all rows can verify the result; else None.

        It is right if all cells can be encoded by it: a column with enough distinct numbers to be a quantity remains
        one, and a categorical column has no further category if every cell is known.
        """
        if source.numbers() is None:
            return None
        try:
            schema = cls.learn(source.take(np.arange(min(source.n_rows, HEAD))), kinds)
        except DataError:  # more rows may resolve it
            return None
        return None if any(schema._reader(source, name) is None for name in schema.blocks) else schema

    @classmethod
    def of(cls, columns: Iterable[Column]) -> Schema:
        """Return the schema of columns known without data."""
        known = tuple(columns)
        return cls(known, _group(column.kind.name for column in known))

    @classmethod
    def of_named(cls, columns: Iterable[Column]) -> Schema:
        """Return the schema of columns whose names are the user's."""
        return replace(cls.of(columns), named=True)

    def arrange(self, treatment: Mapping[str, str]) -> Schema:
        """Put some columns into blocks of their own.

        Parameters
        ----------
        treatment : mapping of column name to str
            Columns of one kind and treatment share a block, called ``kind.treatment``.

        Examples
        --------
        >>> from halfseen.data import read
        >>> Schema.learn(read([[0, 1.5, 1], [1, 2.5, 0]])).arrange({"x2": "frozen"}).blocks
        {'categorical': (0,), 'gaussian': (1,), 'categorical.frozen': (2,)}
        """
        words = {_position(name, self.names, "treatment"): word for name, word in treatment.items()}
        blocks = _group(f"{c.kind}.{words[j]}" if j in words else c.kind.name for j, c in enumerate(self.columns))
        return replace(self, blocks=blocks)

    def block(self, name: str) -> Block:
        """A block: its columns, their kind and their treatment."""
        return Block(name, self.block_columns(name), self.blocks[name], name.partition(".")[2])

    def each_block(self) -> Iterator[Block]:
        """All blocks, in their order."""
        return map(self.block, self.blocks)

    @property
    def kind_names(self) -> dict[str, str]:
        """The name of the kind of each column, by column."""
        return {column.name: column.kind.name for column in self.columns}

    @property
    def texts(self) -> list[str]:
        """The names of the columns of text."""
        return [column.name for column in self.columns if column.kind.of_words]

    @property
    def rule(self) -> str | None:
        """The option that makes a block a rule without probabilities; None where all have them."""
        return next((block.kind.rule for block in self.each_block() if block.kind.rule), None)

    @property
    def is_sparse(self) -> bool:
        """Whether the data is a sparse matrix: one column of text whose words are numbers."""
        return len(self.texts) == len(self.columns) == 1 and (self.columns[0].categories or ())[:1] == (0,)

    @property
    def n_features(self) -> int:
        """The number of columns of the container: a sparse matrix has one for each word."""
        return len(self.columns[0].categories or ()) if self.is_sparse else len(self.columns)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(column.name for column in self.columns)

    def block_columns(self, block: str) -> tuple[Column, ...]:
        """The columns of a block."""
        return tuple(self.columns[j] for j in self.blocks[block])

    def cardinalities(self, block: str) -> tuple[int, ...]:
        """The number of categories of each column of a categorical block, of words of a block of text."""
        return self.block(block).sizes

    def encode(
        self,
        source: Source,
        weight: ArrayLike | None = None,
        evidence: Evidence | None = None,
        once: bool = False,
    ) -> Table:
        """Turn a source into a table, one column at a time.

        Parameters
        ----------
        source : Source
            Its columns must be those of the schema.
        weight : (N,) array-like, optional
            Row weights; ones by default.
        evidence : Evidence, optional
        once : bool
            For a single pass over the chunks: where possible, each is encoded at its access, by the worker that uses
            it, and not kept. An invalid cell then raises `FastEncodingFailed`; an infinite one only when
            `check_finite` is called, which is necessary if results are not finite. Without `once` the error names it.

        Warns
        -----
        UnknownCategoryWarning
            One warning for all categories unknown to the schema; they are treated as missing.

        Examples
        --------
        >>> from halfseen.data import read
        >>> source = read([["a", 1.5], ["b", None]])
        >>> Schema.learn(source, kinds={"x1": "categorical"}).encode(source).blocks
        {'categorical': array([[ 0,  0],
               [ 1, -1]], dtype=int8)}
        """
        self._check_names(source)
        if source.elsewhere:
            encoded: Table = source.encoded(self, evidence)
            return encoded
        _check_length(evidence, source)
        if source.streams:
            return self._encode_batches(source, row_weight(source, weight), evidence)
        checked = row_weight(source, weight)
        if once:
            readers = {name: self._reader(source, name) for name in self.blocks}
            if None not in readers.values():
                unread = LazyBlocks(readers, range(source.n_rows))  # type: ignore[arg-type]
                return Table(self, unread, checked, evidence)
        blocks, unknown = self._encoded(source)
        self._warn_unknown(unknown)
        return Table(self, blocks, checked, evidence)

    def gather(
        self,
        source: Source,
        weight: ArrayLike | None = None,
        evidence: Evidence | None = None,
        guessed: bool = False,
    ) -> Table:
        """Turn a source into a canonical table: `encode`, then `Table.canonical`.

        Rows of a table outside memory are ordered as they are encoded, and equal ones merged by its reader where
        possible. If the schema is `guessed`, `FastEncodingFailed` is raised where a cell contradicts it.

        Examples
        --------
        >>> from halfseen.data import read
        >>> source = read([["a"], ["b"], ["a"]])
        >>> sorted(Schema.learn(source).gather(source).weight.tolist())
        [1.0, 2.0]
        """
        discrete = all(column.kind.has_categories for column in self.columns)
        if source.streams and discrete and evidence is None and weight is None and source.weight is None:
            source = source.grouped() or source
        if not source.streams or source.elsewhere:
            return self.encode(source, weight, evidence).canonical(overwrite=True)
        self._check_names(source)
        _check_length(evidence, source)
        return self._gather_batches(source, row_weight(source, weight), evidence, guessed)

    def _reader(self, source: Source, name: str) -> Reader | None:
        return Reader.find(source, self.block(name))

    def _block(self, source: Source, name: str, reader: Reader | None, unknown: Counter[tuple[str, Any]]) -> Any:
        """Encode a block, all columns at once if possible; count the unknown categories by column."""
        if reader is not None:
            try:
                return reader.whole()
            except FastEncodingFailed:
                pass
        block = self.block(name)
        cells, others = block.kind.encode_block(source, block)
        unknown += others
        return cells

    def _encode_batches(self, source: Source, weight: NDArray[np.float64], evidence: Evidence | None) -> Table:
        """Turn a source into a table in temporary files, batch by batch."""
        blocks: dict[str, Any] = {
            block.name: CountsFile()
            if block.kind.of_words
            else spill.scratch((source.n_rows, len(block.members)), block.kind.dtype(block))
            for block in self.each_block()
        }
        texts = {name: block for name, block in blocks.items() if isinstance(block, CountsFile)}

        def encode(batch: Source, first: int) -> tuple[dict[str, Counts], Counter[tuple[str, Any]]]:
            encoded, unknown = self._encoded(batch)
            for name in blocks.keys() - texts.keys():
                blocks[name][first : first + batch.n_rows] = encoded[name]
            return {name: encoded[name] for name in texts}, unknown

        others: Counter[tuple[str, Any]] = Counter()
        with ExitStack() as stack:
            for file in texts.values():
                stack.enter_context(file)
            for counts, unknown in in_pieces(source, encode):
                others += unknown
                for name, rows in counts.items():
                    texts[name].append(rows)
            blocks |= {name: file.mapped() for name, file in texts.items()}
        self._warn_unknown(others)
        return Table(self, blocks, spill.copied_to_file(weight, source.memory_limit), evidence, source.memory_limit)

    def _gather_batches(
        self, source: Source, weight: NDArray[np.float64], evidence: Evidence | None, guessed: bool
    ) -> Table:
        """Turn a source into a canonical table in temporary files; rows are dealt to buckets as they are encoded."""
        evidence = None if evidence is None else evidence.canonical()
        packing = _Packing(self, weight, evidence)
        others: Counter[tuple[str, Any]] = Counter()

        def deal(batch: Source, first: int) -> tuple[tuple[Dealt, list[Counts]], Counter[tuple[str, Any]]]:
            blocks, unknown = self._encoded(batch)
            if guessed and unknown:
                raise FastEncodingFailed
            part = slice(first, first + batch.n_rows)
            table = Table(self, blocks, weight[part], None if evidence is None else evidence.take(part))
            if not table.weight.all():
                table = table.take(np.flatnonzero(table.weight))
            return packing.dealt(table, found), unknown

        with packing.buckets(source.n_rows, source.memory_limit, threads(source), source.n_entries) as found:
            for dealt, unknown in in_pieces(source, deal):
                packing.add(dealt, found)
                others += unknown
            self._warn_unknown(others)
            return packing.merged(found, source.memory_limit)

    def _encoded(self, source: Source) -> tuple[dict[str, Any], Counter[tuple[str, Any]]]:
        """Return the blocks of a source in memory, and the unknown categories."""
        unknown: Counter[tuple[str, Any]] = Counter()
        return {name: self._block(source, name, self._reader(source, name), unknown) for name in self.blocks}, unknown

    def decode(self, block: str, array: NDArray[Any]) -> list[list[Any]]:
        """Turn rows of a block back into columns of values.

        Parameters
        ----------
        block : str
        array : (M, D) array
            Encoded as in a table.

        Returns
        -------
        list of D lists
            Categories, floats or (counts) ints; None where missing.

        Examples
        --------
        >>> from halfseen.data import read
        >>> Schema.learn(read([["a", 7], ["b", 7]])).decode("categorical", np.array([[1, 0], [-1, 0]]))
        [['b', None], [7, 7]]
        """
        found = self.block(block)
        return found.kind.decode_block(found, array)

    def _warn_unknown(self, unknown: Counter[tuple[str, Any]]) -> None:
        """Warn of categories that the schema does not know, of each once."""
        new = {cause: count for cause, count in unknown.items() if cause not in self.said}
        if not new:
            return
        if len(self.said) < MOST_SAID:
            self.said.update(new)
        by_column: dict[str, Counter[Any]] = {}
        for (name, value), count in new.items():
            by_column.setdefault(name, Counter())[value] = count
        lines = []
        for name, counts in by_column.items():
            shown = ", ".join(f"{value!r:.40} ({count}x)" for value, count in counts.most_common(5))
            more = f" and {len(counts) - 5} others" if len(counts) > 5 else ""
            lines.append(f"column {name!r}: {shown}{more}")
        warn(
            "categories not seen when fitting are treated as missing. " + "; ".join(lines) + ".",
            UnknownCategoryWarning,
        )

    def _check_names(self, source: Source) -> None:
        """Refuse a source with other columns."""
        if self.named and source.named:
            check_columns(source.names, self.names)
        if len(source.names) != len(self.columns):
            raise DataError(
                f"X has {len(source.names)} features, but model is expecting {len(self.columns)} features as input: "
                f"{', '.join(self.names[:8])}{', ...' if len(self.names) > 8 else ''}."
            )


@dataclass(frozen=True, eq=False)
class Table(Rows):
    """Encoded rows with their weights.

    Parameters
    ----------
    schema : Schema
    blocks : dict of str to (N, D) array or Counts
    weight : (N,) float64 array
    evidence : Evidence or None
        What the labels say about the rows.
    memory_limit : int or None
        For a table whose arrays are in files, the bytes of memory to use; None: in memory.
    runner : Runner
        Who sums over the chunks.
    """

    schema: Schema
    blocks: Mapping[str, Any]
    weight: NDArray[np.float64]
    evidence: Evidence | None = None
    memory_limit: int | None = None
    runner: Runner = field(default=serial, repr=False)

    def total(self, task: Task, light: bool = False) -> Any:
        """Return the sum of a task over all chunks; `light` as in `chunks`."""
        return self.runner.total(task, self.chunks(light=light))

    def run_by(self, runner: Runner) -> Table:
        """Return the table with sums over its chunks computed by a runner."""
        return replace(self, runner=runner)

    def sample(self, n_rows: int) -> Table:
        """Return the first rows: in canonical order a fair sample."""
        return self.take(slice(0, n_rows))

    def first(self) -> Chunk:
        """Return the first chunk: in canonical order a fair sample of the rows."""
        size = self._chunk_rows(light=False)
        return self._cut(0, slice(0, size), self._same_weight(size))

    @property
    def n_rows(self) -> int:
        """Number of rows, N."""
        return len(self.weight)

    def check_finite(self) -> None:
        """Raise `FastEncodingFailed` if the rows are encoded lazily and a cell is infinite."""
        if isinstance(self.blocks, LazyBlocks):
            self.blocks.check_finite()

    @cached_property
    def mass(self) -> float:
        """Sum of the weights."""
        if self.n_rows and self.weight.strides == (0,):  # one number for all rows
            return float(self.weight[0]) * self.n_rows
        return float(self.weight.sum())

    @cached_property
    def blank(self) -> NDArray[np.bool_]:
        """Rows of which nothing was observed, neither a cell nor a label, (N,)."""
        found = np.zeros(self.n_rows, bool) if self.memory_limit is None else spill.scratch((self.n_rows,), bool)
        if self.evidence is not None and self.evidence.complete:
            return found
        first = 0
        for chunk in self.chunks(light=True):
            rows = slice(first, first + chunk.n_rows)
            found[rows] = True if chunk.evidence is None else chunk.evidence.index == 0
            for block in self.schema.each_block():
                if not found[rows].any():
                    break
                found[rows] &= ~(block.kind.observed(block, chunk.blocks[block.name]) > 0).any(axis=1)
            first += chunk.n_rows
        return found

    @property
    def n_observed(self) -> float:
        """Sum of the weights of rows of which something was observed: the N of information criteria."""
        return self.seen().mass

    def seen(self) -> Table:
        """The rows of which something was observed: the others carry no information on any parameter."""
        return self.take(np.flatnonzero(~self.blank)) if self.blank.any() else self

    @property
    def n_chunks(self) -> int:
        """Number of chunks of the size that the table chooses."""
        return -(-self.n_rows // self._chunk_rows(light=False))

    @property
    def missing(self) -> NDArray[np.bool_]:
        """Which cells are missing, (N, D), columns in the order of the table."""
        found = np.zeros((self.n_rows, len(self.schema.columns)), dtype=bool)
        for block in self.schema.each_block():
            found[:, list(block.members)] = block.kind.missing(block, self.blocks[block.name])
        return found

    @property
    def observed(self) -> NDArray[np.float64]:
        """How much of each cell was observed, (N, D): 0 or 1; for text the number of words."""
        found = np.zeros((self.n_rows, len(self.schema.columns)))
        for block in self.schema.each_block():
            found[:, list(block.members)] = block.kind.observed(block, self.blocks[block.name])
        return found

    def hide(self, hidden: NDArray[np.bool_]) -> Table:
        """The same rows with some cells, (N, D), made missing; texts stay as they are."""
        blocks = {
            block.name: block.kind.hide(self.blocks[block.name], hidden[:, list(block.members)])
            for block in self.schema.each_block()
        }
        return replace(self, blocks=blocks)

    def take(self, rows: Any) -> Table:
        """Some of the rows: an index array, a mask, or a slice (views, then)."""
        evidence = None if self.evidence is None else self.evidence.take(rows)
        if self.memory_limit is not None and not isinstance(rows, slice):
            return self._take_in_files(_numbers_of(rows), evidence, self.memory_limit)
        if isinstance(self.blocks, LazyBlocks):
            return Table(self.schema, self.blocks.take(rows), self.weight[rows], evidence)
        blocks = {name: block[rows] for name, block in self.blocks.items()}
        return Table(self.schema, blocks, self.weight[rows], evidence, self.memory_limit)

    def _take_in_files(self, rows: NDArray[np.intp], evidence: Evidence | None, memory_limit: int) -> Table:
        """Some of the rows, in temporary files."""
        *taken, weight = spill.take(self._arrays(), rows, memory_limit)
        blocks = {
            name: counts_file.taken(block, rows, CHUNK) if isinstance(block, Counts) else taken.pop(0)
            for name, block in self.blocks.items()
        }
        return Table(self.schema, blocks, weight, evidence, memory_limit)

    def chunks(self, size: int | None = None, light: bool = False) -> list[Chunk]:
        """Cut the table into chunks of `size` rows (the last may be shorter).

        By default into 16 chunks where that makes them neither too small nor too large: this depends on the table
        alone. `light`: for work without scores for each component, which is as fast on larger chunks.
        """
        if size is None:
            size = self._chunk_rows(light)
        same = self._same_weight(size)
        return [self._cut(i, slice(start, start + size), same) for i, start in enumerate(range(0, self.n_rows, size))]

    def _same_weight(self, size: int) -> NDArray[np.float64] | None:
        """Return one array for all chunks if all rows have the same weight."""
        return self.weight[:size].copy() if self.weight.strides == (0,) else None

    def _cut(self, index: int, rows: slice, same: NDArray[np.float64] | None) -> Chunk:
        part = self.take(rows)
        weight = part.weight if same is None else same[: part.n_rows]
        return Chunk(index, part.blocks, weight, part.evidence)

    def _chunk_rows(self, light: bool) -> int:
        unread = isinstance(self.blocks, LazyBlocks)  # accessing such a block encodes it
        texts = [] if unread else [block for block in self.blocks.values() if isinstance(block, Counts)]
        if not texts:
            largest = max(LARGEST, min(LIGHT, CELLS // max(len(self.schema.columns), 1))) if light else LARGEST
            return chunk_rows(self.n_rows, largest)
        # a chunk of text has as many statistics as there are words: it needs enough rows
        worth = min(block.n_entries // (READ * max(block.n_words, 1)) for block in texts)
        n_chunks = min(max(worth, 2 if self.n_rows > CHUNK else 1), 16)
        n_chunks = 1 << (n_chunks.bit_length() - 1)  # so that two or four workers have equal shares
        return max(-(-self.n_rows // n_chunks), 1)

    def canonical(self, overwrite: bool = False) -> Table:
        """Merge equal rows and order the rest by content.

        The result depends only on the multiset of (row, weight): a row twice is a row of weight 2, a row of weight 0
        is no row, and the order does not matter, to the last bit. Rows are sorted by two 64-bit hashes of their
        content and compared in full before they are merged.

        Parameters
        ----------
        overwrite : bool
            Reorder the blocks in place to save memory. The table must not be used afterwards.

        Examples
        --------
        >>> from halfseen.data import read
        >>> source = read([["a"], ["b"], ["a"]])
        >>> table = Schema.learn(source).encode(source, weight=[1, 2, 3]).canonical()
        >>> sorted(zip(table.schema.decode("categorical", table.blocks["categorical"])[0], table.weight.tolist()))
        [('a', 4.0), ('b', 2.0)]
        """
        if not self.weight.all():
            return self.take(np.flatnonzero(self.weight)).canonical(overwrite=True)
        evidence = None if self.evidence is None else self.evidence.canonical()
        if self.memory_limit is not None:
            return self._canonical_in_files(evidence, self.memory_limit)
        return self._merged(evidence, overwrite)

    def content(self) -> list[NDArray[Any]]:
        """The columns by which rows are compared, with the patterns of canonical evidence."""
        return self._content(self.evidence)

    def content_order(self) -> NDArray[np.intp]:
        """An order of the rows that their content, labels and weights alone decide."""
        evidence = None if self.evidence is None else self.evidence.canonical()
        return canonical.content_order(canonical.hash_rows(self._content(evidence), self.n_rows), self.weight)

    def _content(self, evidence: Evidence | None) -> list[NDArray[Any]]:
        columns = [column for block in self.blocks.values() for column in _key_columns(block)]
        return columns if evidence is None else [*columns, evidence.index]  # canonical: equal numbers, equal patterns

    def _merged(self, evidence: Evidence | None, overwrite: bool) -> Table:
        columns = self._content(evidence)
        hashes = canonical.hash_rows(columns, len(self.weight))
        order = canonical.content_order(hashes, self.weight)
        first = canonical.first_of_equals(columns, hashes, order)
        del hashes
        for block in self.blocks.values():
            if isinstance(block, Counts):  # so far only their hashes were compared
                alike = np.flatnonzero(~first)
                first[alike] = block.unlike(order[alike], order[alike - 1])
        weight = np.add.reduceat(self.weight[order], np.flatnonzero(first))
        rows = order[first]
        del order, first
        blocks = {name: canonical.gather(block, rows, overwrite) for name, block in self.blocks.items()}
        return Table(self.schema, blocks, weight, None if evidence is None else evidence.take(rows))

    def _canonical_in_files(self, evidence: Evidence | None, memory_limit: int) -> Table:
        """The same, some rows in memory at a time."""
        packing = _Packing(self.schema, self.weight, evidence)
        table = replace(self, evidence=evidence)
        n_entries = sum(block.n_entries for block in self.blocks.values() if isinstance(block, Counts))
        with packing.buckets(self.n_rows, memory_limit, 1, n_entries) as found:
            for part in spill.slices(self.n_rows, memory_limit, self._arrays()):
                packing.add(packing.dealt(table.take(part), found), found)
            return packing.merged(found, memory_limit)

    def _arrays(self) -> spill.Arrays:
        """The blocks that are plain arrays, and the weights."""
        return [*(block for block in self.blocks.values() if not isinstance(block, Counts)), self.weight]


def chunk_rows(n_rows: int, largest: int = LARGEST) -> int:
    """Return the rows of a chunk: 16 chunks where that makes them neither too small nor too large."""
    return min(max(CHUNK, -(-n_rows // (16 * 64)) * 64), largest)


def check_weight(weight: ArrayLike | None, n_rows: int) -> NDArray[np.float64]:
    """Check row weights and return them as a new float64 array, or a view of one number if all weights are equal.

    Parameters
    ----------
    weight : (N,) array-like, number or None
        Finite, not negative, the largest from 1e-100 to 1e100. A number counts for every row; None is 1. Weights below
        1e-30 of the largest are taken as 0, with a warning: no sum would show them.
    n_rows : int
        N.

    Examples
    --------
    >>> check_weight([1, 0.5], 2)
    array([1. , 0.5])
    """
    if weight is None:
        return np.broadcast_to(np.float64(1), n_rows)
    if isinstance(weight, np.ndarray) and weight.strides == (0,) and len(weight) == n_rows:
        return np.broadcast_to(check_weight(weight[:1].copy(), 1)[0], n_rows)
    try:
        values = np.array(weight, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"sample_weight must be numbers: {error}") from None
    if values.ndim == 0:
        values = np.full(n_rows, values)
    if values.ndim != 1:
        raise DataError(
            f"Sample weights must be 1D array or scalar, got {values.ndim}D array of shape {values.shape}. "
            f"Expected a number or {n_rows} of them."
        )
    if values.shape != (n_rows,):
        raise DataError(f"sample_weight.shape == {values.shape}, expected {(n_rows,)}! Give one weight per row of X.")
    for wrong, advice in ((~np.isfinite(values), "be finite"), (values < 0, "not be negative")):
        if wrong.any():
            row = int(wrong.argmax())
            raise DataError(
                f"sample_weight: row {row} is {values[row]:g} ({wrong.sum()} such rows); weights must {advice}. "
                "Use 0 to leave a row out."
            )
    if not values.any():
        raise DataError("Sample weights must contain at least one non-zero number.")
    largest = values.max()
    if not WEIGHTS[0] <= largest <= WEIGHTS[1]:
        raise DataError(
            f"sample_weight: the largest weight is {largest:g}. It must lie between {WEIGHTS[0]:g} and {WEIGHTS[1]:g}: "
            "sums of other weights would not be numbers. Multiply all weights by one factor."
        )
    light = (values < NO_WEIGHT * largest) & (values > 0)
    if light.any():
        _warn_light(values, light)
        values[light] = 0.0
    return values


def _warn_light(values: NDArray[np.float64], light: NDArray[np.bool_]) -> None:
    row = int(light.argmax())
    warn(
        f"sample_weight: row {row} weighs {values[row]:g}, less than {NO_WEIGHT:g} of the largest weight, "
        f"{values.max():g} ({light.sum()} such rows). Next to it they cannot be told from 0, and count as 0.",
        LightRowWarning,
    )


def row_weight(source: Source, weight: ArrayLike | None) -> NDArray[np.float64]:
    """Return the weights of the rows of a source: those given, else those that came with it, else ones."""
    given = source.weight if weight is None else weight
    if given is None and source.streams:
        return np.broadcast_to(np.float64(1), source.n_rows)  # without taking any memory
    return check_weight(given, source.n_rows)


def _check_length(evidence: Evidence | None, source: Source) -> None:
    if evidence is not None and len(evidence.index) != source.n_rows:
        raise DataError(f"evidence is about {len(evidence.index)} rows, but X has {source.n_rows}.")


# -------------------------------------------------------------------------------------------------------- rows in files


class _Packing:
    """Rows of a table as plain arrays and back: blocks, weights if they differ, patterns of labels if there are any.

    Rows of text are in files of their own (`CountsFile`), in the order in which they came; their array says where.

    Parameters
    ----------
    schema : Schema
    weight : (N,) array
    evidence : Evidence or None     canonical
    """

    def __init__(self, schema: Schema, weight: NDArray[np.float64], evidence: Evidence | None) -> None:
        self._schema = schema
        self._weight = float(weight[0]) if len(weight) and weight.strides == (0,) else None  # of every row
        self._patterns = None if evidence is None else evidence.patterns
        self._texts = {block.name: CountsFile() for block in schema.each_block() if block.kind.of_words}

    @contextmanager
    def buckets(self, n_rows: int, memory_limit: int, workers: int, n_entries: int) -> Iterator[Buckets]:
        """Yield buckets for the rows."""
        with ExitStack() as stack:
            for file in self._texts.values():
                stack.enter_context(file)
            yield stack.enter_context(Buckets(self._like(), n_rows, memory_limit, workers, ENTRY * n_entries))

    def _like(self) -> spill.Arrays:
        blocks = [
            np.empty((0, 2), np.int64)
            if block.kind.of_words
            else np.empty((0, len(block.members)), block.kind.dtype(block))
            for block in self._schema.each_block()
        ]
        weight = [np.empty(0)] if self._weight is None else []
        return [*blocks, *weight, *([] if self._patterns is None else [np.empty(0, np.int32)])]

    def dealt(self, table: Table, buckets: Buckets) -> tuple[Dealt, list[Counts]]:
        """Return some rows as `add` takes them; any thread may do it."""
        blocks = [
            np.column_stack([block.ends[:-1] - block.ends[0], np.diff(block.ends)])
            if isinstance(block, Counts)
            else block
            for block in table.blocks.values()
        ]
        weight = [table.weight] if self._weight is None else []
        arrays = [*blocks, *weight, *([] if table.evidence is None else [table.evidence.index])]
        hashes = canonical.hash_rows(table.content(), table.n_rows, 1)[0]
        return buckets.deal(arrays, hashes), [table.blocks[name] for name in self._texts]

    def add(self, rows: tuple[Dealt, list[Counts]], buckets: Buckets) -> None:
        """Write rows to the files."""
        dealt, texts = rows
        for (name, file), counts in zip(self._texts.items(), texts, strict=True):
            dealt.records[str(list(self._schema.blocks).index(name))][:, 0] += file.n_entries
            file.append(counts)
        buckets.add(dealt)

    def merged(self, buckets: Buckets, memory_limit: int) -> Table:
        """Return all rows of the buckets, sorted, equal ones merged."""
        entries = {name: file.entries() for name, file in self._texts.items()}

        def merge(arrays: spill.Arrays) -> spill.Arrays:
            rest = list(arrays)
            evidence = None if self._patterns is None else Evidence(self._patterns, rest.pop())
            weight = rest.pop() if self._weight is None else np.broadcast_to(np.float64(self._weight), len(rest[0]))
            blocks: dict[str, Any] = dict(zip(self._schema.blocks, rest, strict=True))
            blocks |= {name: counts_file.picked(own, *blocks[name].T) for name, own in entries.items()}
            found = Table(self._schema, blocks, weight, evidence)._merged(evidence, overwrite=False)
            flat = [
                array
                for block in found.blocks.values()
                for array in (counts_file.parts(block) if isinstance(block, Counts) else [block])
            ]
            return [*flat, found.weight, *([] if found.evidence is None else [found.evidence.index])]

        rest = buckets.merged(merge)
        evidence = None if self._patterns is None else Evidence(self._patterns, rest.pop())
        weight = rest.pop()
        blocks: dict[str, Any] = {}
        for name in self._schema.blocks:
            if name in entries:
                blocks[name] = counts_file.stacked([rest.pop(0) for _ in range(3)], entries[name].n_words)
            else:
                blocks[name] = rest.pop(0)
        return Table(self._schema, blocks, weight, evidence, memory_limit)


# -------------------------------------------------------------------------------------------------------------- columns


def _numbers_of(rows: Any) -> NDArray[np.intp]:
    """The numbers of the rows that an index array or a mask selects."""
    rows = np.asarray(rows)
    return np.flatnonzero(rows) if rows.dtype == bool else rows


def _position(key: str | int, names: Sequence[str], what: str) -> int:
    """The position of a column given by name or position."""
    if key in names:
        return list(names).index(str(key))
    if isinstance(key, int) and 0 <= key < len(names):
        return key
    nearest = difflib.get_close_matches(str(key), names, n=1, cutoff=0.0)
    raise ParameterError(f"{what}: there is no column {key!r} among the {len(names)}. Did you mean {nearest[0]!r}?")


def _group(keys: Iterable[str]) -> dict[str, tuple[int, ...]]:
    """Which positions hold each key, in the order of their first appearance."""
    groups: dict[str, list[int]] = {}
    for j, key in enumerate(keys):
        groups.setdefault(key, []).append(j)
    return {key: tuple(group) for key, group in groups.items()}


def _key_columns(block: Any) -> list[NDArray[Any]]:
    """The columns by which the rows of a block are compared; for counts their hashes."""
    return block.hashes() if isinstance(block, Counts) else [block[:, d] for d in range(block.shape[1])]
