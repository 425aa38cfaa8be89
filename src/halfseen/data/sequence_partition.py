"""Partitions of a table of sequences: each holds whole sequences, with their name in a column.

A sequence is never cut: the steps of a sequence that is spread over two partitions could not follow each other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from halfseen.data.canonical import hash_rows, hash_sequences
from halfseen.data.frames import Source, read
from halfseen.data.labels import Evidence
from halfseen.data.partition import Layout, patterns_of, read_weight
from halfseen.data.schema import Schema
from halfseen.data.sequences import Sequences, plainly, read_sequences, rows_of
from halfseen.data.stream import labels_of
from halfseen.data.table import Table
from halfseen.errors import DataError, ParameterError


class SequencePart(NamedTuple):
    """The sequences of a partition.

    Attributes
    ----------
    source : Source             all steps, sequence after sequence
    weight : (N,) array         of each step: that of its sequence
    labels : (N,) array or None
    lengths : (B,) array
    names : tuple               of the sequences
    """

    source: Source
    weight: NDArray[np.float64]
    labels: NDArray[Any] | None
    lengths: NDArray[np.int64]
    names: tuple[Any, ...]

    @property
    def given(self) -> tuple[Any, ...]:
        """What methods that sum over sequences take."""
        return self.source, self.lengths

    @property
    def sequence_weight(self) -> NDArray[np.float64]:
        """The weight of each sequence, (B,)."""
        return self.weight[np.cumsum(self.lengths) - self.lengths]

    @property
    def hashes(self) -> NDArray[np.uint64]:
        """A hash of the name of each sequence, (B,)."""
        return np.array([name_hash(name) for name in self.names], dtype=np.uint64)


@dataclass(frozen=True)
class SequenceLayout(Layout):
    """The columns of a distributed table of sequences.

    Examples
    --------
    >>> SequenceLayout.of_sequences(["id", "day", "x"], "id", "day").features
    ('x',)
    """

    group: str = ""
    time: str | None = None

    @classmethod
    def of_sequences(
        cls, names: Sequence[Any], group: Any, time: Any = None, weight: Any = None, target: Any = None
    ) -> SequenceLayout:
        """Return the layout of a frame with the named columns."""
        for what, column in (("groups", group), ("time", time)):
            if column is None and what == "time":
                continue
            if not isinstance(column, str):
                given = "nothing" if column is None else f"a {type(column).__name__}"
                raise ParameterError(
                    f"{what}: of rows that other processes hold, give the name of a column, not {given}: it says which "
                    "rows are a sequence."
                )
            if column not in names:
                raise ParameterError(
                    f"{what}={column!r}: there is no such column. Columns: {', '.join(map(str, names))}."
                )
        rest = [name for name in names if name not in (group, time)]
        plain = Layout.of(rest, weight, target)
        return cls(plain.features, plain.weight, plain.target, group, time)

    def read(self, frame: Any) -> SequencePart | None:  # type: ignore[override]
        """Return the sequences of a partition that count; None if there are none."""
        table = nw.from_native(frame, eager_only=True)
        if not len(table):
            return None
        weight = np.ones(len(table)) if self.weight is None else read_weight(table, self.weight)
        marks = [self.group] if self.time is None else [self.group, self.time]
        source, cut = read_sequences(nw.to_native(table.select([*self.features, *marks])), None, self.group, self.time)
        assert cut.names is not None
        weight = weight[cut.order]
        self._check_one_weight(weight, cut.lengths, cut.names)
        labels = None
        if self.target is not None:
            labels = labels_of(read(nw.to_native(table.select(self.target))).column(0))[cut.order]
        used = np.flatnonzero(weight[np.cumsum(cut.lengths) - cut.lengths])
        if not len(used):
            return None
        steps = rows_of(cut.lengths, used)
        if len(used) < len(cut.lengths):
            source, weight = source.take(steps), weight[steps]
            labels = None if labels is None else labels[steps]
        return SequencePart(source, weight, labels, cut.lengths[used], tuple(cut.names[b] for b in used))

    def _check_one_weight(
        self, weight: NDArray[np.float64], lengths: NDArray[np.int64], names: tuple[Any, ...]
    ) -> None:
        first = np.repeat(weight[np.cumsum(lengths) - lengths], lengths)
        if (weight != first).any():
            step = int((weight != first).argmax())
            b = int(np.searchsorted(np.cumsum(lengths), step, side="right"))
            raise DataError(
                f"sample_weight={self.weight!r}: sequence {plainly(names[b])!r} has steps of weight {first[step]:g} "
                f"and {weight[step]:g}. A sequence counts as a whole: give all its steps one weight."
            )


def name_hash(name: Any) -> int:
    """Return a 64-bit hash of the name of a sequence, the same in all processes."""
    plain = name.item() if isinstance(name, np.generic) else name
    return int.from_bytes(blake2b(repr(plain).encode(), digest_size=8).digest(), "big")


@dataclass(frozen=True)
class NamesIn:
    """Hashes of the names in a column of a partition: a task for those who hold it."""

    group: str

    def __call__(self, frame: Any) -> NDArray[np.uint64] | None:
        """Return the hashes; None if there are no rows."""
        table = nw.from_native(frame, eager_only=True)
        if not len(table):
            return None
        names = dict.fromkeys(np.asarray(table[self.group].to_numpy()).tolist())
        return np.array([name_hash(name) for name in names], dtype=np.uint64)


@dataclass(frozen=True)
class NameOf:
    """The name in a column of a partition that has some hash: a task for those who hold it."""

    group: str
    hashed: int

    def __call__(self, frame: Any) -> tuple[Any] | None:
        """Return the name, in a tuple; None if it is not there."""
        table = nw.from_native(frame, eager_only=True)
        names = dict.fromkeys(np.asarray(table[self.group].to_numpy()).tolist())
        return next(((name,) for name in names if name_hash(name) == self.hashed), None)


def repeated(hashes: NDArray[np.uint64]) -> int | None:
    """Return a hash that occurs twice; None if there is none."""
    ordered = np.sort(hashes)
    twice = ordered[:-1][ordered[1:] == ordered[:-1]]
    return int(twice[0]) if len(twice) else None


def split_error(title: str, group: str, name: Any, numbers: Sequence[int]) -> DataError:
    """Return the error for a sequence that is in several partitions."""
    return DataError(
        f"{title}: sequence {plainly(name)!r} is in partitions {numbers[0]} and {numbers[1]}. All steps of a sequence "
        f"must be in one: frame.shuffle({group!r}) of Dask, frame.repartition(8, {group!r}) of Spark and "
        f"dataset.sort({group!r}) of Ray put them there; time= keeps their order."
    )


class EncodedSequences(NamedTuple):
    """A partition as the sequences of a lane.

    Attributes
    ----------
    table : Table              all steps in canonical order, for sums over rows
    sequences : Sequences      in canonical order
    """

    table: Table
    sequences: Sequences

    @property
    def digest(self) -> int:
        """A digest of the content."""
        steps = self.sequences.steps
        rows = hash_rows([*steps.content(), steps.weight], steps.n_rows)
        hashes = hash_sequences(rows, self.sequences.lengths)
        return int(np.bitwise_xor.reduce(hashes[0] + hashes[1]))


@dataclass(frozen=True)
class EncodeSequences:
    """Encode a partition of sequences: a task for those who hold it; parameters as of `partition.Encode`."""

    layout: SequenceLayout
    schema: Schema
    patterns: NDArray[np.float64] | None = None
    pattern_of: Mapping[Any, int] | None = None

    def __call__(self, frame: Any) -> EncodedSequences | None:
        """Return the sequences; None if none counts."""
        part = self.layout.read(frame)
        if part is None:
            return None
        evidence = None
        if part.labels is not None and self.patterns is not None and self.pattern_of is not None:
            evidence = Evidence(self.patterns, patterns_of(part.labels, self.pattern_of))
        steps = self.schema.encode(part.source, evidence=evidence)
        sequences = Sequences.of(steps, part.lengths, part.sequence_weight).canonical()
        return EncodedSequences(sequences.steps.canonical(), sequences)
