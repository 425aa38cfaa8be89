"""Utterances: sequences of frames, each with its transcript, without times.

- *frame*: one row of features, at one time.
- *graph*: the possible orders of the states of a transcript; built by the lexicon.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halfseen.data.sequences import SequenceChunk, Sequences, Steps

__all__ = ["TranscriptSteps", "Utterances"]


class TranscriptSteps(Steps):
    """Blocks of columns with the lengths of their utterances and the graphs of their transcripts."""

    def __init__(self, blocks: Mapping[str, NDArray[Any]], lengths: NDArray[np.int64], graphs: Sequence[Any]) -> None:
        super().__init__(blocks, lengths)
        self.graphs = graphs


@dataclass(frozen=True, eq=False)
class Utterances:
    """Sequences with a graph for each.

    Parameters
    ----------
    frames : Sequences
    graphs : tuple of graphs, one for each sequence
    """

    frames: Sequences
    graphs: tuple[Any, ...]

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Number of frames of each."""
        return self.frames.lengths

    @property
    def weight(self) -> NDArray[np.float64]:
        """How much each counts."""
        return self.frames.weight

    def take(self, chosen: Any) -> Utterances:
        """Some of the utterances: an index array, a mask or a slice."""
        numbers = np.arange(len(self.graphs))[chosen]
        return Utterances(self.frames.take(numbers), tuple(self.graphs[b] for b in numbers))

    def chunks(self, size: int | None = None) -> list[SequenceChunk]:
        """Cut into chunks of whole utterances, as sequences are."""
        return [
            SequenceChunk(
                chunk.index,
                TranscriptSteps(
                    chunk.blocks, chunk.blocks.lengths, self.graphs[chunk.first : chunk.first + len(chunk.weight)]
                ),
                chunk.weight,
                chunk.evidence,
                chunk.first,
            )
            for chunk in self.frames.chunks(size)
        ]
