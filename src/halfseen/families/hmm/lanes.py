"""Hidden Markov models over sequences that other processes hold: each lane has whole sequences."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halfseen.data import Chunk, SequenceChunk, Sequences
from halfseen.engine.loop.model import Reduced
from halfseen.engine.tables.lane_source import SequenceSource
from halfseen.engine.tables.lanes import Lane, LaneChunks, LaneTable, first_numbers
from halfseen.families.hmm.by_pattern import ArrangedChain
from halfseen.families.hmm.fused import FusedChain
from halfseen.families.hmm.model import HiddenMarkov, chunk_entropy
from halfseen.families.hmm.panel import AddLabelled, AddSegments, Mask
from halfseen.leaves.leaf import Stats
from halfseen.leaves.limits import Params
from halfseen.seeds import child
from halfseen.sums import Parts


@dataclass(frozen=True)
class RawElsewhere:
    """Sequences before they are encoded."""

    source: SequenceSource

    @property
    def n_steps(self) -> int:
        """The number of steps."""
        return self.source.n_rows

    @property
    def mark(self) -> NDArray[Any]:
        """What is remembered of the lengths, in a fingerprint."""
        return np.array([self.source.n_sequences, self.source.n_rows])


def _sequences(lane: Lane) -> Sequences:
    assert lane.sequences is not None
    return lane.sequences


@dataclass(frozen=True)
class SizesOfSequences:
    """Steps, their weight, those observed, sequences observed, and chunks of a lane."""

    def __call__(self, lane: Lane) -> tuple[Any, ...]:
        """Return them, as a tuple in a tuple: sums keep them apart."""
        found = _sequences(lane)
        observed = (found.n_observed, found.n_observed_sequences)
        return ((found.steps.n_rows, float(found.steps.weight.sum()), *observed, len(found.chunks())),)


@dataclass(frozen=True)
class PrefersOrder:
    """Whether the emission prefers an order of the steps of a lane."""

    model: HiddenMarkov

    def __call__(self, lane: Lane) -> bool:
        """Return whether it does; the sum of booleans is 'or'."""
        return ArrangedChain.find(self.model, _sequences(lane)) is not None


@dataclass(frozen=True)
class PackSequences:
    """The chunks of whole sequences of a lane, packed for a path."""

    path: Any = None

    def __call__(self, lane: Lane) -> list[Any]:
        """Return the chunks."""
        chunks = [replace(chunk, index=lane.first_chunk + chunk.index) for chunk in _sequences(lane).chunks()]
        return chunks if self.path is None else [self.path.pack(chunk) for chunk in chunks]


@dataclass(frozen=True)
class SegmentsOfChunk:
    """The statistics that `add` adds for a chunk, whose draws are its own."""

    add: AddSegments
    shape: tuple[int, ...]
    seed: np.random.SeedSequence

    def __call__(self, chunk: SequenceChunk) -> Stats:
        """Return the statistics."""
        stats = np.zeros(self.shape)
        self.add(chunk, stats, np.random.default_rng(child(self.seed, chunk.index)))
        return stats


@dataclass(frozen=True)
class LabelsOfChunk:
    """The statistics that `add` adds for the labelled steps of a chunk, and which components have any."""

    add: AddLabelled
    shape: tuple[int, ...]

    def __call__(self, chunk: Chunk) -> Parts:
        """Return both; the sum of booleans is 'or'."""
        stats = np.zeros(self.shape)
        found = self.add(chunk, stats)
        return Parts((stats, found))


class Elsewhere:
    """Sequences that other processes hold, as a `Panel`."""

    def __init__(self, table: LaneTable) -> None:
        sizes = table.ask(SizesOfSequences())
        steps, masses, observed, sequences, chunks = zip(*sizes, strict=True)
        self.rows = table.seen()
        self.n_steps, self.mass = sum(steps), float(sum(masses))
        self.n_observed, self.n_observed_sequences = float(sum(observed)), float(sum(sequences))
        self.labelled = table.evidence is not None
        self._n_chunks = sum(chunks)
        self._first_chunks = first_numbers(chunks)

    @property
    def steps(self) -> LaneTable:
        """All steps, as the fused path reads them."""
        return self.rows

    def _packed(self, path: Any = None) -> LaneChunks:
        return LaneChunks(self.rows, PackSequences(path), self._n_chunks, self._first_chunks)

    def reduced(self, model: HiddenMarkov) -> Reduced:
        """Return the chunks, which stay where they are, packed for the fastest path."""
        path: FusedChain | ArrangedChain | None = None
        if not self.labelled:
            path = FusedChain.find(model, self)
        if path is None and self.rows.ask(PrefersOrder(model)):
            path = ArrangedChain(model)
        return Reduced(self._packed(path), path=path)

    def entropy_inside(self, model: HiddenMarkov, params: Params) -> float:
        """Return the entropy of the latent variables inside the emissions."""
        if model.leaves["emit"].settled(self.rows.first().blocks) is None:
            return 0.0
        return float(self._packed().total(partial(chunk_entropy, model=model, prepared=model.prepare(params))))

    def segments(self, add: AddSegments, stats: Stats, rng: np.random.Generator) -> Stats:
        """Return statistics with those that `add` adds for all sequences."""
        [own] = rng.spawn(1)  # which draws nothing from it
        task = SegmentsOfChunk(add, stats.shape, own.bit_generator.seed_seq)  # type: ignore[arg-type]
        return stats + self._packed().total(task)

    def labels(self, add: AddLabelled, stats: Stats) -> tuple[Stats, Mask]:
        """Return statistics with those that `add` adds for all labelled steps, and which components have any."""
        more, found = self.rows.total(LabelsOfChunk(add, stats.shape))
        return stats + more, found

    def impossible(self, model: HiddenMarkov, params: Params, data: Reduced) -> str | None:
        """Say that a sequence has probability zero, if one has: those that other processes hold are not named."""
        lost = self._packed().total(partial(_impossible, model=model, params=params))
        return f"{lost} sequences have probability zero at the start of the fit: at some step" if lost else None


def _impossible(chunk: SequenceChunk, model: HiddenMarkov, params: Params) -> int:
    prepared = model.prepare(params)
    _, log_evidence = model.filter(prepared, chunk.blocks, chunk.blocks.lengths, chunk.log_evidence)
    return int(np.isneginf(log_evidence).sum())
