"""A table as the models see it: blocks of columns, row weights, label evidence; equal rows merged, cut into chunks.

- *schema*: the columns and how they are grouped into blocks (`data/schema.py`).
- *block*: the columns that one leaf treats together, as one array (N, D): codes in the smallest integers that hold
  them (-1 missing), or float64 (NaN missing); columns of text are `Counts`, their words one column after the other.
  Its name is the kind of its columns, or ``kind.treatment``.
- *weight*: how much each row counts.
- *chunk*: some consecutive rows, the unit of work. Chunks depend on the data alone, never on the number of workers.
- *canonical*: a table that depends only on the multiset of its (row, weight) pairs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from halfseen.data import canonical, counts_file, spill
from halfseen.data.arrays import LazyBlocks
from halfseen.data.buckets import Buckets, Dealt
from halfseen.data.counts import Counts
from halfseen.data.counts_file import CountsFile
from halfseen.data.labels import Evidence
from halfseen.data.rows import Chunk, Rows
from halfseen.sums import Runner, Task, serial

if TYPE_CHECKING:
    from halfseen.data.schema import Schema

CHUNK = 4096  # rows; with K = 8 doubles each their scores take 256 KB and stay in L2
READ = 16  # uses of the statistics of a chunk of text for each time they are added to the others
LARGEST = 16384  # rows; larger chunks save little in scheduling, and their scores no longer fit into the cache
LIGHT = 65536  # rows of a chunk without scores, whose work is so short that scheduling costs count
CELLS = 1 << 21  # of such a chunk: 16 MB if they have to be encoded
ENTRY = 12  # bytes of a count of a word: its number and the count


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
        >>> from halfseen.data import Schema, read
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
        packing = Packing(self.schema, self.weight, evidence)
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


# -------------------------------------------------------------------------------------------------------- rows in files


class Packing:
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


def _numbers_of(rows: Any) -> NDArray[np.intp]:
    """The numbers of the rows that an index array or a mask selects."""
    rows = np.asarray(rows)
    return np.flatnonzero(rows) if rows.dtype == bool else rows


def _key_columns(block: Any) -> list[NDArray[Any]]:
    """The columns by which the rows of a block are compared; for counts their hashes."""
    return block.hashes() if isinstance(block, Counts) else [block[:, d] for d in range(block.shape[1])]
