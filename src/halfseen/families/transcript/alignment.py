"""Alignments: the time of each word, unit and state, and its uncertainty."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from halfseen.data import Source, frame_from_dict
from halfseen.families.transcript.written import files


class Segment(NamedTuple):
    """A word, unit or state with its time.

    Attributes
    ----------
    name : str
    start, end : float           on the best path, in frames times `step`
    log_probability : float      share of its frames in the log-probability of the best path
    confidence : float           mean over its frames of the probability that they belong to it
    start_sd, end_sd : float     posterior standard deviation of its start and end
    word : int                   index of its word in the transcript; -1 for a pause
    """

    name: str
    start: float
    end: float
    log_probability: float
    confidence: float
    start_sd: float
    end_sd: float
    word: int


@dataclass(frozen=True, eq=False)
class Alignment:
    """The aligned words, units and states of one utterance.

    Attributes
    ----------
    name : str                   name of the utterance
    words, units, states : tuples of Segment     pauses are among units and states
    duration : float             frames times `step`
    log_probability : float      of the best path together with the features
    loglik : float               of the features, over all paths
    surprise : float             how far its log-likelihood per frame is below that of the training data, in robust
                                 standard deviations: above 5 the transcript is probably wrong
    """

    name: str
    words: tuple[Segment, ...]
    units: tuple[Segment, ...]
    states: tuple[Segment, ...]
    duration: float
    log_probability: float
    loglik: float
    surprise: float

    def tier(self, level: str) -> tuple[Segment, ...]:
        """Return the segments of "words", "units" or "states"."""
        return {"words": self.words, "units": self.units, "states": self.states}[level]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values: what a JSON file holds."""
        own = {name: getattr(self, name) for name in ("name", "duration", "log_probability", "loglik", "surprise")}
        levels = {level: [part._asdict() for part in self.tier(level)] for level in ("words", "units")}
        return {**own, **levels}

    def shifted(self, offset: float) -> Alignment:
        """Return the alignment with `offset` added to all times: for an utterance that begins later in a recording."""
        if not offset:
            return self
        words, units, states = (
            tuple(part._replace(start=part.start + offset, end=part.end + offset) for part in self.tier(level))
            for level in ("words", "units", "states")
        )
        return replace(self, words=words, units=units, states=states, duration=self.duration + offset)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write a file by its extension: .TextGrid (tiers words and phones), .json, .csv, .srt or .vtt."""
        files.write(path, [self])


def table_of(alignments: Sequence[Alignment], level: str, like: Source | None) -> Any:
    """Return segments of all utterances as a table, in the container of the training data."""
    rows = [(found.name, *part) for found in alignments for part in found.tier(level)]
    columns = ("utterance", *Segment._fields)
    return frame_from_dict({name: [row[i] for row in rows] for i, name in enumerate(columns)}, like)
