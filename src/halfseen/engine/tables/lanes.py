"""Rows that other processes hold: each partition of a table is a *lane* of chunks, summed where it is.

The driver asks all lanes for the sum of a task over their chunks, and adds the results by the number of the lane: the
sum has the same bits for any workers and any order in which results arrive. Rows do not leave their process, with the
exception of a sample to draw starts from.

Vocabulary
----------
Cluster     what holds the lanes: workers of Dask, Spark or Ray, or threads of this process
Lane        a partition as a canonical `Table`, with the number of its first chunk among all chunks
Units       what a lane holds where a family has no tables, such as sentences
Job         a function of a lane, sent to the process that holds it
Pack        a function of a lane that returns its chunks as a model reads them; a family may have its own
Lanes       all lanes of a cluster, which answer jobs
LaneTable   the same as `Rows`; what a fit to a table reads
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any, NamedTuple, Protocol

import numpy as np

from halfseen import stop_request
from halfseen.data import Chunk, Evidence, Sequences, Table
from halfseen.data.canonical import hash_rows
from halfseen.data.counts import joined
from halfseen.data.rows import Rows
from halfseen.data.schema import Schema
from halfseen.data.sequence_partition import EncodedSequences
from halfseen.data.table import chunk_rows
from halfseen.engine.loop.expected import Expected
from halfseen.engine.loop.model import Reduced
from halfseen.engine.tables.mixture import Mixture
from halfseen.engine.tables.preprocess import apart, arranged, path_of
from halfseen.errors import DataError
from halfseen.sums import NOTHING, PairwiseSum, Parts, Runner, Task, serial

Job = Callable[["Lane"], Any]
Pack = Callable[["Lane"], Sequence[Any]]
_tokens = count()


class Units(Protocol):
    """A partition as a family keeps it that has no tables."""

    @property
    def n_rows(self) -> int:
        """The number of units."""

    @property
    def n_chunks(self) -> int:
        """The number of chunks, or as many as there may be."""

    @property
    def mass(self) -> float:
        """Their weight."""

    @property
    def digest(self) -> int:
        """A digest of the content."""


@dataclass
class Lane:
    """A partition, as the process that holds it keeps it.

    Attributes
    ----------
    table : Table         its rows in canonical order; but for steps, without those in which nothing was observed;
                          `Units` where a family has no tables
    given : float         weight of all rows
    first_chunk : int     the number of its first chunk among the chunks of all lanes
    digest : int          of the content: the same partition, read again, must have the same
    sequences : Sequences or None     the rows as whole sequences, where they are steps of some
    packed : tuple        the chunks of the last model, and which model that was
    """

    table: Any
    given: float
    first_chunk: int = 0
    digest: int = 0
    sequences: Sequences | None = None
    packed: tuple[Any, Sequence[Any]] | None = field(default=None, repr=False)

    @classmethod
    def of(cls, encoded: Table | EncodedSequences | Units | None) -> Lane:
        """Return the lane of a partition, encoded."""
        if encoded is None:
            raise DataError("a partition had rows when it was read first, and has none now: write the table to files.")
        if isinstance(encoded, EncodedSequences):
            table, sequences = encoded  # a step without any observed cell has a state too
            return cls(table, table.mass, digest=encoded.digest, sequences=sequences)
        if not isinstance(encoded, Table):
            return cls(encoded, encoded.mass, digest=encoded.digest)
        table = encoded
        seen = table.seen()
        hashes = hash_rows([*seen.content(), seen.weight], seen.n_rows)
        return cls(seen, table.mass, digest=int(np.bitwise_xor.reduce(hashes[0] + hashes[1])))

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"packed": None}  # packed again where it arrives

    def chunks(self, table: Table | None = None, light: bool = False) -> list[Chunk]:
        """Return the chunks of the lane, or of some of its rows, with their numbers among all chunks."""
        found = (self.table if table is None else table).chunks(light=light)
        return [replace(chunk, index=self.first_chunk + chunk.index) for chunk in found]


class Answer(NamedTuple):
    """What a lane answers to a job."""

    number: int
    digest: int
    value: Any


class Cluster(Protocol):
    """What is asked of an engine that holds partitions; lanes go when it is no longer referred to."""

    @property
    def title(self) -> str:
        """What the table is called in messages."""

    @property
    def names(self) -> Sequence[str]:
        """The names of its columns."""

    def learned(self, task: Callable[[Any], Any]) -> Iterable[tuple[int, Any]]:
        """Yield the result of a task on every partition, a data frame, with the number of the partition."""

    def encode(self, task: Callable[[Any], Any], numbers: Sequence[int]) -> None:
        """Let each of the numbered partitions become a lane, `Lane.of` the result of a task; keep them."""

    def answers(self, job: Job, first_chunks: Sequence[int] | None) -> Iterable[Answer]:
        """Yield the answers of all lanes, in any order, with the place of each among the numbers of `encode`."""


def added(answers: Iterable[tuple[int, Any]], n_lanes: int) -> Any:
    """Return the sum of what lanes sent, by their numbers."""
    found = PairwiseSum(n_lanes)
    for number, value in answers:
        found.add(number, value)
    return found.total


@dataclass(frozen=True)
class OverChunks:
    """The sum of a task over the chunks of a lane."""

    task: Task
    light: bool = False

    def __call__(self, lane: Lane) -> Any:
        """Return the sum."""
        chunks = lane.chunks(light=self.light)
        return serial.total(self.task, chunks) if chunks else NOTHING


@dataclass(frozen=True)
class Sizes:
    """Rows, their weight, that of all rows given, chunks and digest of a lane."""

    def __call__(self, lane: Lane) -> tuple[Any, ...]:
        """Return them, as a tuple in a tuple: sums keep them apart."""
        table = lane.table
        return ((table.n_rows, table.mass, lane.given, table.n_chunks, lane.digest),)


@dataclass(frozen=True)
class Sample:
    """The rows of a lane with the smallest hashes."""

    n_rows: int

    def __call__(self, lane: Lane) -> tuple[Table, ...]:
        """Return the rows, which are the first, as a tuple."""
        return (replace(lane.table.sample(self.n_rows), evidence=None),)


@dataclass(frozen=True)
class Known:
    """The statistics of rows in which nothing is hidden; how many rows are left, and how many of these have labels."""

    model: Mixture

    def __call__(self, lane: Lane) -> Parts:
        """Return the sums of a lane."""
        known, rest = apart(self.model, arranged(self.model, lane.table))
        counted = Expected.zero(self.model.stats_shape[0])
        if known is not None:
            about = self.model.prepare(self.model.blank())
            counted = serial.total(lambda chunk: self._counted(about, chunk), known.chunks(light=True))
        labelled = 0 if rest is None or rest.evidence is None else int(np.count_nonzero(rest.evidence.index))
        return Parts((counted, 0 if rest is None else rest.n_rows, labelled))

    def _counted(self, about: Any, chunk: Chunk) -> Expected:
        assert chunk.evidence is not None
        component = chunk.evidence.patterns.argmax(axis=1)[chunk.evidence.index]
        return self.model.known(about, chunk, component.astype(np.int64))


@dataclass(frozen=True)
class OverReduced:
    """The sum of a task over the chunks of a lane as a model reads them, packed once for each model."""

    token: int
    pack: Pack
    task: Task

    def __call__(self, lane: Lane) -> Any:
        """Return the sum."""
        if lane.packed is None or lane.packed[0] != self.token:
            lane.packed = (self.token, self.pack(lane))
        chunks = lane.packed[1]
        return serial.total(self.task, chunks) if chunks else NOTHING


@dataclass(frozen=True)
class PackMixture:
    """The chunks of a lane in which something is hidden, packed for the path of a mixture."""

    model: Mixture
    path: Any
    labelled: bool

    def __call__(self, lane: Lane) -> list[Any]:
        """Return the chunks."""
        table = arranged(self.model, lane.table)
        rest = table if table.evidence is None else apart(self.model, table)[1]
        if rest is None:
            return []
        if not self.labelled:
            rest = replace(rest, evidence=None)
        chunks = lane.chunks(rest)
        return chunks if self.path is None else [self.path.pack(chunk) for chunk in chunks]


class Lanes:
    """All lanes of a cluster.

    Attributes
    ----------
    n_rows, n_chunks : int
    mass : float                  sum of the weights
    """

    def __init__(self, cluster: Cluster, n_lanes: int) -> None:
        self.cluster = cluster
        self.n_lanes = n_lanes
        self._digests: list[int] | None = None
        self._first_chunks: list[int] | None = None
        rows, seen, given, chunks, digests = zip(*self.ask(Sizes()), strict=True)
        self.n_rows, self.n_chunks = sum(rows), sum(chunks)
        self.mass, self._seen = float(sum(given)), float(sum(seen))
        self._first_chunks = first_numbers(chunks)
        self._first_rows = first_numbers(rows)
        self._digests = list(digests)

    def ask(self, job: Job, first_chunks: Sequence[int] | None = None) -> Any:
        """Return the sum of the answers of all lanes; `first_chunks` are other numbers for their first chunks."""
        firsts = self._first_chunks if first_chunks is None else first_chunks
        return added(self._answers(job, firsts), self.n_lanes)

    def _answers(self, job: Job, firsts: Sequence[int] | None) -> Iterator[tuple[int, Any]]:
        for answer in self.cluster.answers(job, firsts):
            stop_request.check()
            yield self._checked(answer)

    def numbered(self, most: int) -> list[int]:
        """Return numbers for the first chunks of the lanes if a lane may have up to `most` chunks for each row."""
        return [most * first for first in self._first_rows]

    def _checked(self, answer: Answer) -> tuple[int, Any]:
        if self._digests is not None and answer.digest != self._digests[answer.number]:
            raise DataError(
                f"{self.cluster.title}: partition {answer.number} was read again, after a worker was lost, and holds "
                "other rows than before. Results would depend on chance. Write the table to files, or persist it, and "
                "fit to that."
            )
        return answer.number, answer.value


class LaneTable(Lanes, Rows):
    """All lanes of a cluster as the rows of a fit.

    Attributes
    ----------
    mass : float                  after `seen` without that of rows in which nothing was observed
    evidence : Evidence or None   one row for each label that occurs
    """

    def __init__(self, cluster: Cluster, schema: Schema, evidence: Evidence | None, n_lanes: int) -> None:
        self.schema = schema
        self.evidence = evidence
        super().__init__(cluster, n_lanes)

    def seen(self) -> LaneTable:
        """Return the rows in which something was observed: lanes have no others."""
        found = copy(self)
        found.mass = self._seen
        return found

    def total(self, task: Task, light: bool = False) -> Any:
        """Return the sum of a task over all chunks."""
        return self.ask(OverChunks(task, light))

    def run_by(self, runner: Runner) -> LaneTable:
        """Return itself: those who hold the rows sum over them."""
        return self

    def canonical(self, overwrite: bool = False) -> LaneTable:
        """Return itself: rows are in canonical order within their lane."""
        return self

    def sample(self, n_rows: int) -> Table:
        """Return the rows with the smallest hashes, merged from those of each lane: the same for any partitions."""
        parts = self.ask(Sample(n_rows))
        blocks = {name: joined([part.blocks[name] for part in parts]) for name in parts[0].blocks}
        weight = np.concatenate([part.weight for part in parts])
        return Table(self.schema, blocks, weight).canonical().take(slice(0, n_rows))

    def first(self) -> Chunk:
        """Return a sample of as many rows as a chunk has."""
        sample = self.sample(chunk_rows(self.n_rows))
        return Chunk(0, sample.blocks, sample.weight)

    def reduced(self, model: Mixture) -> Reduced:
        """Return the chunks in which something is hidden, and the statistics of the rows in which nothing is."""
        known, n_rest, n_labelled = None, self.n_rows, 0
        if self.evidence is not None:
            known, n_rest, n_labelled = self.ask(Known(model))
        path = None if n_labelled else path_of(model, self)
        chunks = LaneChunks(self, PackMixture(model, path, n_labelled > 0), self.n_chunks if n_rest else 0)
        return Reduced(chunks, known, None if known is None else model.blank(), path)


def first_numbers(counts: Sequence[int]) -> list[int]:
    """Return how many come before each."""
    found: list[int] = np.cumsum([0, *counts])[:-1].tolist()
    return found


class LaneChunks(Sequence[Any]):
    """The chunks of all lanes, packed for a model: they can be summed over, and stay where they are.

    Parameters
    ----------
    lanes : Lanes
    pack : Pack
    n_chunks : int                           0: there is nothing to sum over
    first_chunks : sequence of int, optional
        For each lane a number from which its chunks are numbered; by default as those of the table.
    """

    def __init__(self, lanes: Lanes, pack: Pack, n_chunks: int, first_chunks: Sequence[int] | None = None) -> None:
        self._lanes = lanes
        self._of = (next(_tokens), pack)
        self._n_chunks = n_chunks
        self._first_chunks = first_chunks

    def __len__(self) -> int:
        return self._n_chunks

    def __getitem__(self, i: Any) -> Any:
        raise TypeError("the chunks of a distributed table stay with those who hold them: sum over them.")

    def total(self, task: Task) -> Any:
        """Return the sum of a task over all chunks."""
        return self._lanes.ask(OverReduced(*self._of, task), self._first_chunks)
