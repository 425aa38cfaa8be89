"""The sequences of a fit of a hidden Markov model: what the fit reads of them.

`Here` are sequences in this process; `lanes.Elsewhere` are sequences that other processes hold.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from halfseen.data import Chunk, Cut, SequenceChunk, Sequences, Source, Steps, Table
from halfseen.engine.loop.model import Reduced
from halfseen.families.hmm.model import HiddenMarkov, entropy_inside, reduce_sequences
from halfseen.leaves.leaf import Floats, Stats
from halfseen.leaves.limits import Params

Mask = NDArray[np.bool_]
AddSegments = Callable[[SequenceChunk, Stats, np.random.Generator], None]
AddLabelled = Callable[[Chunk, Stats], Mask]


class RawSequences(NamedTuple):
    """Sequences before they are encoded: the source, where they begin and end, their weights."""

    source: Source
    cut: Cut
    weight: Floats
    numbers: NDArray[np.int64]  # of the sequences in the user's data

    @property
    def n_steps(self) -> int:
        """The number of steps."""
        return int(self.cut.lengths.sum())

    @property
    def mark(self) -> NDArray[Any]:
        """What is remembered of the lengths, in a fingerprint."""
        return self.cut.lengths


class Panel(Protocol):
    """Encoded sequences with their weights."""

    @property
    def rows(self) -> Any:
        """All steps, in any order: a `Table`, or one of lanes."""

    @property
    def n_steps(self) -> int:
        """The number of steps."""

    @property
    def labelled(self) -> bool:
        """Whether there are labels."""

    @property
    def n_observed(self) -> float:
        """Weighted number of steps of which something was observed."""

    @property
    def n_observed_sequences(self) -> float:
        """Weighted number of sequences of which something was observed."""

    @property
    def mass(self) -> float:
        """The weight of all steps."""

    def reduced(self, model: HiddenMarkov) -> Reduced:
        """Return the chunks, packed for the fastest path."""

    def entropy_inside(self, model: HiddenMarkov, params: Params) -> float:
        """Return the entropy of the latent variables inside the emissions."""

    def segments(self, add: AddSegments, stats: Stats, rng: np.random.Generator) -> Stats:
        """Return statistics with those that `add` adds for all sequences."""

    def labels(self, add: AddLabelled, stats: Stats) -> tuple[Stats, Mask]:
        """Return statistics with those that `add` adds for all labelled steps, and which components have any."""

    def impossible(self, model: HiddenMarkov, params: Params, data: Reduced) -> str | None:
        """Say which sequence has probability zero and at which step, if one has."""


class Here:
    """Sequences in this process.

    Parameters
    ----------
    sequences : Sequences
    raw : RawSequences
    """

    def __init__(self, sequences: Sequences, raw: RawSequences) -> None:
        self.sequences = sequences
        self._raw = raw

    @cached_property
    def rows(self) -> Table:
        """All steps, in the order of their content."""
        return self.sequences.steps.canonical()

    @property
    def n_steps(self) -> int:
        """The number of steps."""
        return self.sequences.steps.n_rows

    @property
    def labelled(self) -> bool:
        """Whether there are labels."""
        return self.sequences.evidence is not None

    @property
    def n_observed(self) -> float:
        """Weighted number of steps of which something was observed."""
        return self.sequences.n_observed

    @property
    def n_observed_sequences(self) -> float:
        """Weighted number of sequences of which something was observed."""
        return self.sequences.n_observed_sequences

    @property
    def mass(self) -> float:
        """The weight of all steps."""
        return float(self.sequences.steps.weight.sum())

    def reduced(self, model: HiddenMarkov) -> Reduced:
        """Return the chunks, packed for the fastest path."""
        return reduce_sequences(model, self.sequences)

    def entropy_inside(self, model: HiddenMarkov, params: Params) -> float:
        """Return the entropy of the latent variables inside the emissions."""
        return entropy_inside(model, params, self.sequences)

    def segments(self, add: AddSegments, stats: Stats, rng: np.random.Generator) -> Stats:
        """Return statistics with those that `add` adds for all sequences."""
        add(SequenceChunk(0, Steps(self.sequences.blocks, self.sequences.lengths), self.sequences.weight), stats, rng)
        return stats

    def labels(self, add: AddLabelled, stats: Stats) -> tuple[Stats, Mask]:
        """Return statistics with those that `add` adds for all labelled steps, and which components have any."""
        return stats, add(Chunk(0, self.rows.blocks, self.rows.weight, self.rows.evidence), stats)

    def impossible(self, model: HiddenMarkov, params: Params, data: Reduced) -> str | None:
        """Name the first sequence that has probability zero and the step at which it does, if there is one."""
        found = model.impossible(params, data.chunks)
        if found is None:
            return None
        cut = self._raw.cut
        b = int(np.argsort(-cut.lengths, kind="stable")[found[0]])
        name = cut.name(b) if cut.names else f"sequence {self._raw.numbers[b]}"
        return f"{name} has probability zero at the start of the fit: at {cut.step(b, found[1])}"
