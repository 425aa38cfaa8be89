"""Alignments: the time of each word, unit and state, and its uncertainty."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from halfseen.data import Source, frame_from_dict
from halfseen.families.transcript.written import files
from halfseen.families.transcript.written.cues import Rules
from halfseen.families.transcript.written.tokens import Token, text_of

if TYPE_CHECKING:
    from halfseen.families.transcript.adaptation import Adaptation

TIERS = ("words", "units", "states", "left_out", "inserted")


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
    surprise : float             of a word: how far it fits worse than words of the training data, in robust standard
                                 deviations; see `surprise.DOUBTFUL`. 0.0 of units and states
    spoken : float               of a word: probability that it was spoken; below 1 only where words may be left out
    text : str                   of a word: as it is written, with its punctuation; "" where that is not known
    """

    name: str
    start: float
    end: float
    log_probability: float
    confidence: float
    start_sd: float
    end_sd: float
    word: int
    surprise: float = 0.0
    spoken: float = 1.0
    text: str = ""

    @property
    def written(self) -> str:
        """A word as it is written in its transcript; the name where that is not known."""
        return self.text or self.name


class Band(NamedTuple):
    """How a long recording was searched: each frame among the words near a coarse alignment.

    Attributes
    ----------
    n_nodes : int        states of the transcript, with those of all pauses and pronunciations
    width : float        mean number of them at a frame that were summed over
    widened : int        how often the band was made wider, because the best path came to its edge
    """

    n_nodes: int
    width: float
    widened: int


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
    tokens : tuple of Token      the words as they are written, with their lines and sentences; empty if not known
    band : Band or None          how a long recording was searched; None: all segmentations were
    adapted : Adaptation or None how features were transformed for their speaker; None: they were not. Log-probabilities
                                 and surprise are of the transformed features, as those of the training data
    left_out : tuple of Segment  words of the transcript that are not spoken on the best path, of no length
    inserted : tuple of Segment  what is spoken there and not in the transcript, each named "<other>"; also among units
    """

    name: str
    words: tuple[Segment, ...]
    units: tuple[Segment, ...]
    states: tuple[Segment, ...]
    duration: float
    log_probability: float
    loglik: float
    surprise: float
    tokens: tuple[Token, ...] = ()
    band: Band | None = None
    adapted: Adaptation | None = None
    left_out: tuple[Segment, ...] = ()
    inserted: tuple[Segment, ...] = ()

    @property
    def text(self) -> str:
        """The transcript as it is written; its words if that is not known."""
        return text_of(self.tokens) if self.tokens else " ".join(part.name for part in self.words)

    def with_text(self, tokens: Sequence[Token], name: str) -> Alignment:
        """Return the alignment under another name, with the text of its words if it is of these."""
        if any(
            part.word >= len(tokens) or tokens[part.word].word != part.name
            for part in (*self.words, *self.left_out)
            if part.word >= 0
        ):
            return replace(self, name=name)
        words, left_out = (
            tuple(part._replace(text=tokens[part.word].text) if part.word >= 0 else part for part in parts)
            for parts in (self.words, self.left_out)
        )
        return replace(self, name=name, words=words, left_out=left_out, tokens=tuple(tokens))

    def tier(self, level: str) -> tuple[Segment, ...]:
        """Return the segments of one of `TIERS`."""
        tiers = (self.words, self.units, self.states, self.left_out, self.inserted)
        return dict(zip(TIERS, tiers, strict=True))[level]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values: what a JSON file holds."""
        own = {
            name: getattr(self, name) for name in ("name", "duration", "log_probability", "loglik", "surprise", "text")
        }
        words = [self._placed(part) for part in self.words]
        found = {**own, "words": words, "units": [_bare(part) for part in self.units]}
        if self.left_out:
            found["left_out"] = [self._placed(part) for part in self.left_out]
        if self.inserted:
            found["inserted"] = [_bare(part) for part in self.inserted]
        return found

    def _placed(self, part: Segment) -> dict[str, Any]:
        """Return a word as plain values, with its line and sentence if they are known."""
        if not self.tokens or part.word < 0:
            return part._asdict()
        token = self.tokens[part.word]
        return {**part._asdict(), "line": token.line, "sentence": token.sentence}

    def shifted(self, offset: float) -> Alignment:
        """Return the alignment with `offset` added to all times: for an utterance that begins later in a recording."""
        if not offset:
            return self
        tiers = {
            level: tuple(part._replace(start=part.start + offset, end=part.end + offset) for part in self.tier(level))
            for level in TIERS
        }
        return replace(self, **tiers, duration=self.duration + offset)  # type: ignore[arg-type]

    def write(self, path: str | os.PathLike[str], **rules: Any) -> None:
        """Write a file by its extension.

        Extensions are .srt, .vtt, .words.vtt (with the time of each word), .TextGrid, .eaf (ELAN), .json, .csv and
        .ctm. `rules` are those of captions: line_length, lines, speed, shortest, longest, gap, pause; see `Rules`.
        """
        files.write(path, [self], rules=Rules(**rules))


def _bare(part: Segment) -> dict[str, Any]:
    """Return what a unit has: the rest is of words."""
    return {name: value for name, value in part._asdict().items() if name not in ("surprise", "spoken", "text")}


def table_of(alignments: Sequence[Alignment], level: str, like: Source | None) -> Any:
    """Return segments of all utterances as a table, in the container of the training data."""
    rows = [(found.name, *part) for found in alignments for part in found.tier(level)]
    columns = ("utterance", *(field for field in Segment._fields if field != "text" or any(row[-1] for row in rows)))
    return frame_from_dict({name: [row[i] for row in rows] for i, name in enumerate(columns)}, like)


class Aligned(NamedTuple):
    """Recordings, their transcripts, and what `align` has found: for a report on it."""

    features: Any
    transcripts: Sequence[Any]
    alignments: Sequence[Alignment | None]
