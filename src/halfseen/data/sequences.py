"""Sequences: tables cut into pieces whose rows follow each other in time.

Three forms are accepted: one table with `lengths`, a list of tables, or a table with a column that says which sequence
a row belongs to and one that says when. All become one table of steps, sequence after sequence.

- *step*: one row, at one time.
- *cut*: where the sequences begin and end, and which row of the user's table each step is.
- *chunk*: some whole sequences; a sequence is never cut.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray

from halfseen.data.canonical import hash_rows, hash_sequences
from halfseen.data.frames import Source, read
from halfseen.data.growing import GrowingArray
from halfseen.data.labels import Evidence
from halfseen.data.named_columns import taken_out
from halfseen.data.row_weights import check_weight
from halfseen.data.schema import Schema
from halfseen.data.spill import PART, row_bytes, scratch
from halfseen.data.table import CHUNK, LARGEST, Table
from halfseen.errors import DataError, ParameterError

__all__ = ["Cut", "SequenceChunk", "Sequences", "Steps", "check_sequence_weight", "read_sequences", "rows_of"]

Ints = NDArray[np.int64]
ISO = re.compile(r"\d{4}-\d\d(-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?)?)?$")  # a month, a day, or a time of a day


class Steps(dict[str, NDArray[Any]]):
    """Blocks of columns, as leaves read them, with the lengths of their sequences, which structures read."""

    def __init__(self, blocks: Mapping[str, NDArray[Any]], lengths: Ints) -> None:
        super().__init__(blocks)
        self.lengths = lengths


@dataclass(frozen=True, eq=False)
class SequenceChunk:
    """Some whole sequences: views, no copies.

    Parameters
    ----------
    index : int                the chunk's number, which selects its random generator and its place in the sum
    blocks : Steps             the steps of all its sequences, and their lengths
    weight : (B,) array        how much each sequence counts
    evidence : Evidence or None    what labels say about each step
    first : int                number of its first sequence
    """

    index: int
    blocks: Steps
    weight: NDArray[np.float64]
    evidence: Evidence | None = None
    first: int = 0

    @property
    def log_evidence(self) -> NDArray[np.float64] | None:
        """What the labels say about each step, (N, K); None when there are no labels."""
        return None if self.evidence is None else self.evidence.log_evidence


@dataclass(frozen=True, eq=False)
class Sequences:
    """Encoded sequences with their weights.

    Parameters
    ----------
    steps : Table              all steps, sequence after sequence, each with the weight of its sequence
    lengths : (B,) array
    weight : (B,) array        how much each sequence counts

    Examples
    --------
    >>> source, cut = read_sequences([["a"], ["b"], ["a"], ["a"]], lengths=[3, 1])
    >>> found = Sequences.of(Schema.learn(source).encode(source), cut.lengths)
    >>> [chunk.blocks.lengths.tolist() for chunk in found.chunks(size=2)]
    [[3], [1]]
    """

    steps: Table
    lengths: Ints
    weight: NDArray[np.float64]

    @classmethod
    def of(cls, steps: Table, lengths: Ints, weight: NDArray[np.float64] | None = None) -> Sequences:
        """Return sequences from their stacked steps; the weights of the steps become those of their sequences."""
        weight = np.ones(len(lengths)) if weight is None else np.ascontiguousarray(weight)
        each = np.repeat(weight, lengths) if steps.memory_limit is None else _repeated_in_file(weight, lengths)
        table = Table(steps.schema, steps.blocks, each, steps.evidence, steps.memory_limit)
        return cls(table, lengths, weight)

    @property
    def schema(self) -> Schema:
        """The columns."""
        return self.steps.schema

    @property
    def blocks(self) -> Mapping[str, NDArray[Any]]:
        """The steps' cells."""
        return self.steps.blocks

    @property
    def evidence(self) -> Evidence | None:
        """What labels say about each step."""
        return self.steps.evidence

    @property
    def n_observed(self) -> float:
        """Weighted number of steps of which something was observed."""
        return self.steps.n_observed

    @property
    def observed(self) -> NDArray[np.bool_]:
        """Whether something was observed of each sequence, (B,)."""
        firsts = np.cumsum(self.lengths) - self.lengths
        return np.logical_or.reduceat(~self.steps.blank, firsts)

    @property
    def n_observed_sequences(self) -> float:
        """Weighted number of sequences of which something was observed."""
        return float(self.weight[self.observed].sum())

    def take(self, chosen: Any) -> Sequences:
        """Some of the sequences: an index array, a mask or a slice."""
        numbers = np.arange(len(self.lengths))[chosen]
        if self.steps.memory_limit is not None:
            return self._take_in_files(numbers, self.steps.memory_limit)
        return Sequences(self.steps.take(rows_of(self.lengths, numbers)), self.lengths[numbers], self.weight[numbers])

    def _take_in_files(self, numbers: NDArray[np.intp], memory_limit: int) -> Sequences:
        """The same, some sequences in memory at a time."""
        lengths, steps = self.lengths[numbers], self.steps
        rows = row_bytes([*steps.blocks.values()]) + 8
        near = np.cumsum(lengths) // max(memory_limit // (PART * rows), 1)
        out: list[GrowingArray] = []
        try:
            for part in np.split(numbers, np.flatnonzero(np.diff(near)) + 1):
                own = rows_of(self.lengths, part)
                found = [block[own] for block in steps.blocks.values()]
                out = out or [GrowingArray(block) for block in found]
                for target, block in zip(out, found, strict=True):
                    target.append(block)
            blocks = dict(zip(steps.blocks, [target.mapped() for target in out], strict=True))
        finally:
            for target in out:
                target.close()
        evidence = None if steps.evidence is None else steps.evidence.take(rows_of(self.lengths, numbers))
        ones = np.broadcast_to(np.float64(1), int(lengths.sum()))
        return Sequences.of(Table(steps.schema, blocks, ones, evidence, memory_limit), lengths, self.weight[numbers])

    def canonical(self) -> Sequences:
        """The same sequences in an order that their content and weights decide, the longest first.

        Examples
        --------
        >>> source, cut = read_sequences([["a"], ["b"], ["a"], ["a"]], lengths=[1, 2, 1])
        >>> table = Schema.learn(source).encode(source)
        >>> Sequences.of(table, cut.lengths).canonical().lengths.tolist()
        [2, 1, 1]
        """
        evidence = None if self.evidence is None else self.evidence.canonical()
        sequences = replace(self, steps=replace(self.steps, evidence=evidence))
        if len(self.lengths) == 1:
            return sequences
        keys = np.concatenate([_hashes(chunk, sequences.schema) for chunk in sequences.chunks()], axis=1)
        order = np.lexsort((self.weight, keys[1], keys[0], -self.lengths))
        return sequences if (np.diff(order) == 1).all() else sequences.take(order)

    def chunks(self, size: int | None = None) -> list[SequenceChunk]:
        """Cut into chunks of whole sequences, each of about `size` steps; at least one, of any length.

        By default into 16 chunks where that makes them neither too small nor too large: this depends on the data alone.
        """
        if size is None:
            size = min(max(CHUNK, -(-self.steps.n_rows // 16)), LARGEST)
        ends = np.cumsum(self.lengths)
        chunks: list[SequenceChunk] = []
        first = 0
        while first < len(ends):
            begin = int(ends[first] - self.lengths[first])
            last = max(int(np.searchsorted(ends, begin + size, side="right")), first + 1)
            part = self.steps.take(slice(begin, int(ends[last - 1])))
            blocks = Steps(part.blocks, self.lengths[first:last])
            chunks.append(SequenceChunk(len(chunks), blocks, self.weight[first:last], part.evidence, first))
            first = last
        return chunks


def _repeated_in_file(weight: NDArray[np.float64], lengths: Ints) -> NDArray[np.float64]:
    """The weight of each step, in a temporary file."""
    out, stops = scratch((int(lengths.sum()),), np.float64), np.cumsum(lengths)
    for first in range(0, len(lengths), CHUNK):
        part = slice(first, first + CHUNK)
        rows = slice(stops[first] - lengths[first], stops[part][-1])
        out[rows] = np.repeat(weight[part], lengths[part])
    return out


def _hashes(chunk: SequenceChunk, schema: Schema) -> NDArray[np.uint64]:
    """Two hashes of each sequence of a chunk."""
    n_rows = int(chunk.blocks.lengths.sum())
    part = Table(schema, chunk.blocks, np.broadcast_to(np.float64(1), n_rows), chunk.evidence)
    return hash_sequences(hash_rows(part.content(), n_rows), chunk.blocks.lengths)


@dataclass(frozen=True, eq=False)
class Cut:
    """Where sequences begin and end, and how to return results in the user's form.

    Parameters
    ----------
    lengths : (B,) array
    order : (N,) array or None     row of the user's table of each step; None: in the given order
    listed : bool                  whether sequences came as a list, so that results are lists
    names : tuple or None          names of the sequences, if a column has them
    times : (N,) array or None     time of each step, if a column has it
    first : int                    number of the first sequence, where they are part of the user's

    Examples
    --------
    >>> cut = Cut(np.array([2, 1]), names=("a", "b"), times=np.array([1, 2, 1]))
    >>> cut.only(1).names, cut.only(1).times.tolist(), cut.only(1).name(0)
    (('b',), [1], "sequence 1 ('b')")
    """

    lengths: Ints
    order: NDArray[np.intp] | None = None
    listed: bool = False
    names: tuple[Any, ...] | None = None
    times: NDArray[Any] | None = None
    first: int = 0

    def only(self, b: int) -> Cut:
        """The cut of sequence b alone."""
        steps = slice(int(self.lengths[:b].sum()), int(self.lengths[: b + 1].sum()))
        names = None if self.names is None else (self.names[b],)
        times = None if self.times is None else self.times[steps]
        return Cut(self.lengths[[b]], names=names, times=times, first=self.first + b)

    def name(self, b: int) -> str:
        """The name of sequence b in messages."""
        number = self.first + b
        return f"sequence {number}" if self.names is None else f"sequence {number} ({plainly(self.names[b])!r})"

    def step(self, b: int, t: int) -> str:
        """The name of step t of sequence b in messages."""
        if self.times is None:
            return f"step {t}"
        return f"step {t} ({plainly(self.times[int(self.lengths[:b].sum()) + t])})"

    def number(self, chosen: Any) -> int:
        """The number of a sequence that is chosen by its name, or by number from 0."""
        names = list(self.names or ())
        plain = [plainly(name) for name in names]
        for known in (names, plain, list(map(str, plain)) if isinstance(chosen, str) else []):
            if chosen in known:
                return known.index(chosen)
        if isinstance(chosen, int | np.integer) and 0 <= chosen < len(self.lengths):
            return int(chosen)
        told = f" Names: {', '.join(map(str, plain[:8]))}{', ...' if len(plain) > 8 else ''}." if names else ""
        raise ParameterError(f"sequence={chosen!r}: there are {len(self.lengths)} sequences, counted from 0.{told}")

    def clock(self) -> NDArray[Any] | None:
        """The times of the steps as numbers or dates, (N,); None where there are none, or where they are other text."""
        return None if self.times is None else as_clock(self.times)

    def back(self, answers: NDArray[Any]) -> Any:
        """Return results for steps in the order of the user's rows, or as a list of arrays."""
        if self.order is not None:
            placed = np.empty_like(answers)
            placed[self.order] = answers
            return placed
        return np.split(answers, np.cumsum(self.lengths)[:-1]) if self.listed else answers

    def stacked(self, labels: Any) -> Any:
        """Put labels, given in the form of the data, into one list of N."""
        if not self.listed or labels is None:
            return labels
        parts = list(labels)
        if len(parts) != len(self.lengths):
            raise DataError(f"labels: {len(parts)} parts, but X has {len(self.lengths)} sequences.")
        for b, (part, length) in enumerate(zip(parts, self.lengths.tolist(), strict=True)):
            if part is not None and len(part) != length:
                raise DataError(f"labels: sequence {b} has {len(part)} labels for {length} steps.")
        widths = {part.shape[1] for part in parts if getattr(part, "ndim", 1) == 2}
        if widths:
            ones = max(widths)  # a row of ones: no evidence for a sequence without labels
            return np.concatenate(
                [np.ones((n, ones)) if part is None else part for part, n in zip(parts, self.lengths, strict=True)]
            )
        filled = [[None] * n if part is None else part for part, n in zip(parts, self.lengths.tolist(), strict=True)]
        return [label for part in filled for label in part]


def as_clock(times: NDArray[Any]) -> NDArray[Any] | None:
    """Return times as numbers or dates, also where these came as text (2026-01-05); None where they are neither.

    Examples
    --------
    >>> as_clock(np.array(["2026-01-05", "2026-01-06"], dtype=object))
    array(['2026-01-05T00:00:00.000000', '2026-01-06T00:00:00.000000'],
          dtype='datetime64[us]')
    >>> as_clock(np.array(["first", "second"])) is None
    True
    """
    if times.dtype.kind in "iufM":
        return times
    plain = [value.replace(tzinfo=None) if getattr(value, "tzinfo", None) else value for value in times.tolist()]
    if not all(isinstance(value, date) or (isinstance(value, str) and ISO.match(value)) for value in plain):
        return None
    try:
        return np.array(plain, dtype="datetime64[us]")
    except ValueError:
        return None


def plainly(value: Any) -> Any:
    """Return a group or a time in its usual notation: whole numbers without a fraction, days without hours.

    Examples
    --------
    >>> plainly(37.0), plainly(np.datetime64("2026-01-05T00:00:00")), plainly("a")
    (37, '2026-01-05', 'a')
    """
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return int(value)
    if isinstance(value, np.datetime64):
        text = np.datetime_as_string(value, unit="s")
        return text.removesuffix("T00:00:00").replace("T", " ")
    return value


def read_sequences(
    X: Any, lengths: ArrayLike | None = None, groups: Any = None, time: Any = None
) -> tuple[Source, Cut]:
    """Read sequences in any of their forms.

    Parameters
    ----------
    X : table, list of tables, or 1-D array (one column)
    lengths : sequence of int, optional
        How many rows of the table each sequence has, in their order.
    groups : str or (N,) array, optional
        Which sequence each row belongs to: a column of the data frame, or values of their own. Sequences are in the
        order of their first rows.
    time : str or (N,) array, optional
        The time of each row: the rows of a sequence are sorted by it. By default they keep their order.

    Returns
    -------
    source : Source
        All steps, sequence after sequence, without the columns of group and time.
    cut : Cut

    Examples
    --------
    >>> source, cut = read_sequences([np.array([1.5, 2.5]), np.array([3.5])])
    >>> source.n_rows, cut.lengths.tolist()
    (3, [2, 1])
    >>> source, cut = read_sequences(np.array([7.0, 8.0, 9.0]), groups=["b", "a", "b"], time=[2, 1, 1])
    >>> source.column(0).values.tolist(), cut.names
    ([9.0, 7.0, 8.0], ('b', 'a'))
    """
    given = [name for name, value in (("lengths", lengths), ("groups", groups), ("time", time)) if value is not None]
    if _is_list_of_tables(X):
        if given:
            raise ParameterError(f"{given[0]}= does not apply to a list of sequences: each item is one sequence.")
        tables = [_as_table(part) for part in X]
        _check_nonempty(np.array([len(part) for part in tables]))
        return read(_concatenated(tables)), Cut(np.array([len(part) for part in tables], dtype=np.int64), listed=True)
    if groups is None and time is None:
        source = read(_as_table(X))
        return source, Cut(_read_lengths(lengths, source.n_rows))
    if lengths is not None:
        raise ParameterError("lengths= and groups= both define the sequences; give one of them.")
    rest, marks, times = apart(_as_frame(X, [mark for mark in (groups, time) if isinstance(mark, str)]), groups, time)
    source = read(rest)
    cut = _grouped(marks, times, source.n_rows)
    assert cut.order is not None
    return source.take(cut.order), cut


def _is_list_of_tables(X: Any) -> bool:
    """Whether a list holds tables or columns, not rows: arrays, frames, or lists of lists."""
    if not isinstance(X, list | tuple) or not X:
        return False
    first = X[0]
    if isinstance(first, list | tuple):
        return bool(first) and isinstance(first[0], list | tuple | np.ndarray)
    return hasattr(first, "shape") and getattr(first, "ndim", 2) >= 1


def _as_table(X: Any) -> Any:
    """Return a 1-D array or a flat list as a table of one column."""
    if isinstance(X, list | tuple) and X and not isinstance(X[0], list | tuple | np.ndarray | dict):
        cells = np.empty((len(X), 1), dtype=object)
        cells[:, 0] = X
        return cells
    return X.reshape(-1, 1) if isinstance(X, np.ndarray) and X.ndim == 1 else X


def _as_frame(X: Any, marks: Sequence[str]) -> Any:
    """Return a table that may have columns of group and time; one in a file is read."""
    return X.__halfseen_frame__(marks) if hasattr(X, "__halfseen_frame__") else _as_table(X)


def _concatenated(tables: Sequence[Any]) -> Any:
    frames = [nw.from_native(part, pass_through=True) for part in tables]
    if all(isinstance(frame, nw.DataFrame) for frame in frames):
        return nw.concat(frames, how="vertical").to_native()
    arrays = [np.asarray(part, dtype=object if isinstance(part, list | tuple) else None) for part in tables]
    widths = {array.shape[1:] for array in arrays}
    if len(widths) > 1:
        raise DataError(f"sequences must have the same columns, got shapes {sorted(map(str, widths))}.")
    return np.concatenate(arrays)


def _read_lengths(lengths: ArrayLike | None, n_rows: int) -> Ints:
    if lengths is None:
        return np.array([n_rows], dtype=np.int64)
    found = np.asarray(lengths)
    if found.ndim != 1 or found.dtype.kind not in "iu":
        raise DataError(f"lengths={lengths!r:.80} is not a list of whole numbers, one for each sequence.")
    _check_nonempty(found)
    if found.sum() != n_rows:
        raise DataError(f"lengths sum to {int(found.sum())}, but X has {n_rows} rows. Give the rows of each sequence.")
    return found.astype(np.int64)


def _check_nonempty(lengths: NDArray[Any]) -> None:
    if not len(lengths) or lengths.min() < 1:
        which = f"sequence {int(np.argmin(lengths))} has {int(lengths.min())} steps" if len(lengths) else "no sequences"
        raise DataError(f"{which}: every sequence needs at least one step. Leave empty ones out.")


def apart(X: Any, groups: Any, time: Any) -> tuple[Any, NDArray[Any] | None, NDArray[Any] | None]:
    """Return the table without its columns of group and time, and their values."""
    rest, found = taken_out(X, {"groups": groups, "time": time})
    return rest, found["groups"], found["time"]


def column_names(X: Any) -> tuple[str, ...]:
    """Return the names of the columns of a data frame or a file; none where X is something else."""
    if hasattr(X, "__halfseen_frame__"):
        return tuple(X.columns)
    frame = nw.from_native(X, pass_through=True)
    return tuple(map(str, frame.columns)) if isinstance(frame, nw.DataFrame) else ()


def check_marks(groups: NDArray[Any] | None, time: NDArray[Any] | None, n_rows: int, first: int = 0) -> None:
    """Refuse rows, of which the first is row `first`, without a sequence or a time."""
    for option, values in (("groups", groups), ("time", time)):
        if values is not None and values.shape != (n_rows,):
            raise DataError(f"{option} has shape {values.shape}, but X has {n_rows} rows.")
        if values is not None and _missing(values).any():
            row = first + int(_missing(values).argmax())
            raise DataError(
                f"{option}: row {row} is missing. Every row needs a sequence and a time; drop it or fill it."
            )


def _grouped(groups: NDArray[Any] | None, time: NDArray[Any] | None, n_rows: int) -> Cut:
    check_marks(groups, time, n_rows)
    rank, names = (np.zeros(n_rows, dtype=np.int64), None) if groups is None else _ranked(groups)
    when = np.arange(n_rows) if time is None else _placed(time)
    order = np.lexsort((when, rank))
    same = (np.diff(rank[order]) == 0) & (np.diff(when[order]) == 0)
    if time is not None and same.any():
        row, other = (int(order[int(same.argmax()) + i]) for i in (0, 1))
        whose = "one sequence" if names is None else f"sequence {plainly(names[rank[row]])!r}"
        raise DataError(f"time: rows {row} and {other} of {whose} are both at {plainly(time[row])}. Leave one out.")
    times = None if time is None else time[order]
    return Cut(np.bincount(rank).astype(np.int64), order, names=names, times=times)


def _ranked(groups: NDArray[Any]) -> tuple[Ints, tuple[Any, ...]]:
    """Number groups by their first row."""
    if groups.dtype == object:  # names of different types cannot be sorted
        number: dict[Any, int] = {}
        rank = np.array([number.setdefault(name, len(number)) for name in groups.tolist()], dtype=np.int64)
        return rank, tuple(number)
    distinct, first, inverse = np.unique(groups, return_index=True, return_inverse=True)
    order = np.argsort(first)
    return np.argsort(order)[inverse.reshape(-1)], tuple(distinct[order].tolist())


def _placed(time: NDArray[Any]) -> Ints:
    """Rank the times."""
    try:
        return np.unique(time, return_inverse=True)[1].reshape(-1)
    except TypeError as error:
        raise DataError(f"time: its values cannot be sorted ({error}). Convert them to one type.") from None


def _missing(values: NDArray[Any]) -> NDArray[np.bool_]:
    if values.dtype == object:
        return np.array([value is None or value != value for value in values])
    return values != values  # NaN and NaT


def fill_sequences(
    X: Any, cut: Cut, marks: Sequence[str], cells: Iterable[tuple[int, NDArray[np.intp], list[Any]]]
) -> Any:
    """Copy sequences, in the form they came in, with some cells filled.

    Parameters
    ----------
    X : what `read_sequences` read
    cut : Cut
    marks : columns of group and time in it
    cells : (column, steps, values) of the source that `read_sequences` returned

    Examples
    --------
    >>> X = [np.array([1.5, np.nan]), np.array([np.nan])]
    >>> fill_sequences(X, read_sequences(X)[1], [], [(0, np.array([1, 2]), [7.0, 8.0])])
    [array([1.5, 7. ]), array([8.])]
    """
    if not cut.listed:
        whole = read(_as_frame(X, marks) if marks else _as_table(X))
        places = [j for j, name in enumerate(whole.names) if name not in marks]
        order = np.arange(whole.n_rows) if cut.order is None else cut.order
        return _like(X, whole.fill({places[j]: (order[steps], values) for j, steps, values in cells}))
    listed, filled, first = list(cells), [], 0
    for table, length in zip(X, cut.lengths.tolist(), strict=True):
        inside = {}
        for j, steps, values in listed:
            low, high = np.searchsorted(steps, [first, first + length])
            inside[j] = (steps[low:high] - first, values[low:high])
        filled.append(_like(table, read(_as_table(table)).fill(inside)))
        first += length
    return filled


def _like(X: Any, filled: Any) -> Any:
    """Return a table of one column as a flat array if it was one."""
    flat = getattr(X, "ndim", 2) == 1 or (isinstance(X, list | tuple) and np.ndim(X[0]) == 0)
    return filled[:, 0] if flat else filled


def check_sequence_weight(weight: ArrayLike | None, n_sequences: int) -> NDArray[np.float64]:
    """Check the weights of sequences, one for each."""
    if weight is not None and np.ndim(weight) == 1 and len(np.asarray(weight)) != n_sequences:
        raise DataError(
            f"sample_weight has {len(np.asarray(weight))} values, but X has {n_sequences} sequences. "
            "Give one weight per sequence."
        )
    return check_weight(weight, n_sequences)


def rows_of(lengths: NDArray[np.int64], chosen: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the rows of the chosen sequences, in their order.

    Examples
    --------
    >>> import numpy as np
    >>> rows_of(np.array([2, 3, 1]), np.array([2, 0])).tolist()
    [5, 0, 1]
    """
    firsts, sizes = (np.cumsum(lengths) - lengths)[chosen], lengths[chosen]
    within = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return np.repeat(firsts, sizes) + within
