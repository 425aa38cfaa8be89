"""The columns of a table (name, kind, categories) and how they are grouped into blocks; fixed when fitting."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from halfseen import stop_request
from halfseen.data import spill
from halfseen.data.arrays import HEAD, FastEncodingFailed, LazyBlocks, Reader, Run, survey
from halfseen.data.buckets import Dealt
from halfseen.data.columns import Block, Column, learn_column
from halfseen.data.counts import Counts
from halfseen.data.counts_file import CountsFile
from halfseen.data.frames import Source
from halfseen.data.labels import Evidence
from halfseen.data.named_columns import check_columns
from halfseen.data.row_weights import row_weight
from halfseen.data.stream import in_pieces, threads
from halfseen.data.table import Packing, Table
from halfseen.errors import DataError, ParameterError, UnknownCategoryWarning, warn

MOST_SAID = 10_000  # unknown categories that are remembered; later ones are warned of each time


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
        columns = self.block_columns(name)
        treatment = name[len(columns[0].kind.name) + 1 :]  # the name of a kind may have a point, "censored(0.5)"
        return Block(name, columns, self.blocks[name], treatment)

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
        stop_request.check()
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
        packing = Packing(self, weight, evidence)
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


def _check_length(evidence: Evidence | None, source: Source) -> None:
    if evidence is not None and len(evidence.index) != source.n_rows:
        raise DataError(f"evidence is about {len(evidence.index)} rows, but X has {source.n_rows}.")


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
