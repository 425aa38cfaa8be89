"""k-means over rows that other processes hold: every sweep is a job for each lane.

A lane keeps nothing from one sweep to the next, so that one that is lost and encoded again gives the same sums. Whether
an assignment changed is seen in a digest of the labels.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halfseen.data import Schema, Table
from halfseen.data.matrix import as_matrix
from halfseen.data.partition import Part
from halfseen.engine.tables import seeding
from halfseen.engine.tables.lane_source import LaneSource
from halfseen.engine.tables.lanes import Lane, LaneTable
from halfseen.engine.tables.lloyd import Rows, Swept, gaps, sweep
from halfseen.engine.tables.seeding import LIMIT, Sample
from halfseen.estimators.table.column_events import column_doubts
from halfseen.families.kmeans import points
from halfseen.families.kmeans.points import HEAD, Here
from halfseen.leaves.leaf import Floats
from halfseen.sums import Parts, Runner, serial


@dataclass(frozen=True)
class Numbers:
    """Encode a partition of numbers."""

    schema: Schema

    def __call__(self, part: Part) -> Table:
        """Return its canonical table."""
        values = as_matrix(part.source).astype(np.float64)
        return Table(self.schema, {"gaussian": values}, part.weight).canonical(overwrite=True)


def _rows(lane: Lane, pivot: Floats) -> Rows:
    return Rows(np.ascontiguousarray(lane.table.blocks["gaussian"]), lane.table.weight, pivot)


def _labelled(lane: Lane, pivot: Floats, centres: Floats) -> tuple[Rows, NDArray[np.int32], Swept]:
    """Return the rows of a lane, the nearest centre of each, and their sums."""
    rows = _rows(lane, pivot)
    labels = np.full(len(rows.values), -1, dtype=np.int32)
    return rows, labels, sweep(rows, centres, labels)


@dataclass(frozen=True)
class SweepLane:
    """The sums of a sweep over a lane, and a digest of its labels."""

    pivot: Floats
    centres: Floats

    def __call__(self, lane: Lane) -> Parts:
        """Return the sums."""
        _, labels, swept = _labelled(lane, self.pivot, self.centres)
        digest = hashlib.blake2b(labels.tobytes(), digest_size=8, salt=lane.first_chunk.to_bytes(8, "big")).digest()
        return Parts((swept.sums, swept.mass, swept.inertia, int.from_bytes(digest, "big")))


@dataclass(frozen=True)
class FarthestOfLane:
    """The row of a lane that is farthest from its centre and from some places, and how far it is."""

    pivot: Floats
    swept: Floats
    centres: Floats
    places: tuple[Floats, ...]

    def __call__(self, lane: Lane) -> tuple[tuple[float, Floats], ...]:
        """Return distance and row, as a tuple in a tuple."""
        rows, labels, _ = _labelled(lane, self.pivot, self.swept)
        if not len(labels):
            return ()
        far = gaps(rows, labels, self.centres, self.places)
        row = int(far.argmax())
        return ((float(far[row]), rows.centred(slice(row, row + 1)).filled(0, self.centres[labels[row]])),)


@dataclass(frozen=True)
class SizesOfLane:
    """The weight of the rows of each centre."""

    pivot: Floats
    centres: Floats

    def __call__(self, lane: Lane) -> Floats:
        """Return the weights."""
        rows, labels, _ = _labelled(lane, self.pivot, self.centres)
        return np.bincount(labels, rows.weight, minlength=len(self.centres)).astype(np.float64)


@dataclass(frozen=True)
class DistinctOfLane:
    """The distinct rows of a lane with the smallest hashes."""

    limit: int

    def __call__(self, lane: Lane) -> tuple[Sample, ...]:
        """Return the sample, in a tuple."""
        if not lane.table.n_rows:
            return ()
        return (seeding.sample(lane.table.blocks["gaussian"], lane.table.weight, self.limit),)


@dataclass(frozen=True)
class DeviationsOfLane:
    """The squares of each column about a pivot, and the weight of its cells."""

    pivot: Floats

    def __call__(self, lane: Lane) -> Parts:
        """Return both."""
        return points.deviations(_rows(lane, self.pivot), slice(0, lane.table.n_rows))


class SweptLanes:
    """All lanes less a pivot, to be swept over."""

    def __init__(self, table: LaneTable, pivot: Floats) -> None:
        self._table = table
        self._digest: int | None = None
        self._swept = np.zeros((0, len(pivot)))
        self.pivot = pivot
        self.mass = table.mass

    def begin(self, n_centres: int, variance: float) -> None:
        """Forget the labels of earlier sweeps."""
        self._digest = None

    def sweep(self, centres: Floats, runner: Runner = serial, anew: bool = False) -> Swept:
        """Return the sums of a sweep; `n_changed` is 1 if any label changed."""
        sums, mass, inertia, digest = self._table.ask(SweepLane(self.pivot, centres))
        changed = int(digest != self._digest)
        self._digest, self._swept = digest, centres
        return Swept(sums, mass, inertia, changed, None)

    def went(self, moved: Floats) -> None:
        """Do nothing: no bounds are kept."""

    def farthest(self, centres: Floats, n_wanted: int) -> list[Floats]:
        """Return rows far from their own centre and from each other, less the pivot, farthest first."""
        found: list[Floats] = []
        while len(found) < n_wanted:
            gap, place = max(
                self._table.ask(FarthestOfLane(self.pivot, self._swept, centres, tuple(found))), key=lambda far: far[0]
            )
            if not gap > 0:
                break
            found.append(place)
        return found

    def sizes(self) -> Floats:
        """Return the weight of the rows of each centre."""
        found: Floats = self._table.ask(SizesOfLane(self.pivot, self._swept))
        return found


class Elsewhere:
    """Rows that other processes hold, as `Points`."""

    dtype = "float64"

    def __init__(self, source: LaneSource, schema: Schema) -> None:
        self._source = source
        self._table = source.held(Numbers(schema), schema)
        self._sample: Sample | None = None
        self.names: Sequence[str] = source.names
        self.n_used = source.n_rows
        self.mass = self._table.mass

    def head(self) -> NDArray[Any]:
        """Return rows with small hashes."""
        return self.sample().values[:HEAD]

    def about(self, pivot: Floats) -> SweptLanes:
        """Return the rows less a pivot."""
        return SweptLanes(self._table, pivot)

    def sample(self) -> Sample:
        """Return distinct rows of all lanes."""
        if self._sample is None:
            each = self._table.ask(DistinctOfLane(LIMIT))
            values, weight, whole = zip(*each, strict=True)
            found = seeding.sample(np.concatenate(values), np.concatenate(weight), LIMIT)
            self._sample = found._replace(whole=found.whole and all(whole))
        return self._sample

    def few(self, some: Sample) -> Here:
        """Return some of the rows, in this process."""
        return Here(self._source, some.values, some.weight)

    def vary(self) -> bool:
        """Whether any column of the sample has two different numbers."""
        return self.few(self.sample()).vary()

    def deviations(self, pivot: Floats) -> Parts:
        """Return the squares of each column about a pivot, and the weight of its cells."""
        found: Parts = self._table.ask(DeviationsOfLane(pivot))
        return found

    def assigned(self, pivot: Floats, centres: Floats) -> tuple[None, Floats]:
        """Return the weight of the rows of each centre; rows without any cell belong to the first."""
        found: Floats = self._table.ask(SizesOfLane(pivot, centres))
        found[0] += self._table.mass - self._table.seen().mass
        return None, found

    def doubts(self) -> list[str]:
        """Return what a sample makes one doubt."""
        return column_doubts(self._table, None)

    def find_infinity(self) -> None:
        """Say that numbers are too large."""
        self.few(self.sample()).find_infinity()
