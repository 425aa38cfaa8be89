"""Alignments: the time of each word, unit and state, and its uncertainty."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from io import StringIO
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from halfseen.data import Source, frame_from_dict
from halfseen.errors import ParameterError
from halfseen.families.transcript.captions import Caption, write_captions
from halfseen.families.transcript.lexicon import Layout, Lexicon
from halfseen.families.transcript.textgrid import write_textgrid
from halfseen.leaves.leaf import Floats
from halfseen.structures.transcript import Held, Way, best, posterior
from halfseen.whole_file import whole_file


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
        write(path, [self])


FORMATS = (".TextGrid", ".json", ".csv", ".srt", ".vtt")
LINE = 42  # characters in a line of a caption, two lines at most
PAUSE = 0.5  # seconds after which a new caption begins


def write(path: str | os.PathLike[str], alignments: Sequence[Alignment], texts: Sequence[str] | None = None) -> None:
    """Write the alignments of one recording, in the order of time, to a file whose extension selects the format.

    `texts` are the texts of captions, one for each alignment; by default captions are made of the words.
    """
    ending = os.path.splitext(os.fspath(path))[1].lower()
    words, units = ([part for one in alignments for part in one.tier(level)] for level in ("words", "units"))
    if ending == ".textgrid":
        tiers = {"words": [part[1:3] + part[:1] for part in words], "phones": [part[1:3] + part[:1] for part in units]}
        write_textgrid(path, tiers, max((one.duration for one in alignments), default=0.0))
    elif ending in (".srt", ".vtt"):
        write_captions(path, _captions(alignments, texts))
    elif ending == ".json":
        found = [one.to_dict() for one in alignments]
        with whole_file(path) as file:
            file.write(json.dumps(found[0] if len(found) == 1 else found, indent=1, ensure_ascii=False).encode())
    elif ending == ".csv":
        rows = [("level", *Segment._fields)]
        rows += [("word", *_rounded(part)) for part in words] + [("unit", *_rounded(part)) for part in units]
        text = StringIO(newline="")
        csv.writer(text, lineterminator="\n").writerows(rows)
        with whole_file(path) as file:
            file.write(text.getvalue().encode())
    else:
        raise ParameterError(f"{os.fspath(path)}: alignments are written as one of {', '.join(FORMATS)}.")


def _rounded(part: Segment) -> list[Any]:
    return [f"{value:.8g}" if isinstance(value, float) else value for value in part]


def _captions(alignments: Sequence[Alignment], texts: Sequence[str] | None) -> list[Caption]:
    """Return a caption for each text, or as many words as fit in two lines, up to a pause."""
    if texts is not None:
        pairs = [(one, text) for one, text in zip(alignments, texts, strict=True) if one.words]
        return [Caption(one.words[0].start, one.words[-1].end, text) for one, text in pairs]
    found: list[Caption] = []
    for one in alignments:
        shown: list[Segment] = []
        for word in one.words:
            text = " ".join(part.name for part in [*shown, word])
            if shown and (len(text) > 2 * LINE or word.start - shown[-1].end > PAUSE):
                found.append(_caption(shown))
                shown = []
            shown.append(word)
        found += [_caption(shown)] if shown else []
    return found


def _caption(words: Sequence[Segment]) -> Caption:
    return Caption(words[0].start, words[-1].end, " ".join(part.name for part in words))


def table_of(alignments: Sequence[Alignment], level: str, like: Source | None) -> Any:
    """Return segments of all utterances as a table, in the container of the training data."""
    rows = [(found.name, *part) for found in alignments for part in found.tier(level)]
    columns = ("utterance", *Segment._fields)
    return frame_from_dict({name: [row[i] for row in rows] for i, name in enumerate(columns)}, like)


class Typical(NamedTuple):
    """Log-likelihood per frame of the training utterances: median, and 1.4826 times the median distance from it."""

    centre: float
    spread: float

    @classmethod
    def of(cls, by_frame: Floats) -> Typical:
        """Return the median and spread of some utterances."""
        centre = float(np.median(by_frame))
        return cls(centre, 1.4826 * float(np.median(np.abs(by_frame - centre))))

    def surprise(self, by_frame: float) -> float:
        """Return how far a value is below the centre, in spreads."""
        return (self.centre - by_frame) / self.spread if self.spread > 0 else 0.0


class Aligner:
    """Aligns one utterance after the other, given the log-probabilities of moves, (S,)."""

    def __init__(self, lexicon: Lexicon, moves: Floats, step: float, typical: Typical) -> None:
        self.lexicon, self.moves, self.step, self.typical = lexicon, moves, step, typical

    def __call__(self, name: str, layout: Layout, scores: Floats) -> Alignment | None:
        """Return the alignment of an utterance with these scores, (T, E), which are overwritten; None: impossible."""
        way = best(layout.graph, self.moves, scores)
        if not way.log_joint > -np.inf:
            return None
        piece = layout.piece_of[way.nodes]
        units = _runs(piece)
        linear = self._linear(layout, piece, scores) if self._varies(layout) else None
        spans = np.stack([_word_spans(layout, piece), _spans(layout, piece), np.stack([way.nodes, way.nodes + 1], 1)])
        held = posterior(layout.graph, self.moves, scores, np.ascontiguousarray(spans))
        sums = [_cumulative(way.log_probability), *(_cumulative(row) for row in held.held)]
        sd = _spread(held)
        inner, firsts = (sd, None) if linear is None else linear
        return Alignment(
            name,
            tuple(self._words(layout, piece, spans[0], _Measured(self.step, sums[0], sums[1], sd))),
            tuple(self._units(layout, piece, units, firsts, _Measured(self.step, sums[0], sums[2], inner))),
            tuple(self._states(layout, piece, units, firsts, way, _Measured(self.step, sums[0], sums[3], inner))),
            len(scores) * self.step,
            way.log_joint,
            held.log_evidence,
            self.typical.surprise(held.log_evidence / len(scores)),
        )

    def _words(
        self, layout: Layout, piece: NDArray[np.int64], spans: NDArray[np.int64], measured: _Measured
    ) -> Iterator[Segment]:
        word = np.array([part.word for part in layout.pieces])[piece]
        for first, last in _runs(word):
            if word[first] >= 0:
                ends = spans[first].tolist()
                yield measured.segment(layout.words[word[first]], first, last, ends[0], ends[1], int(word[first]))

    def _units(
        self,
        layout: Layout,
        piece: NDArray[np.int64],
        runs: Sequence[tuple[int, int]],
        firsts: Sequence[int] | None,
        measured: _Measured,
    ) -> Iterator[Segment]:
        for number, (first, last) in enumerate(runs):
            part = layout.pieces[piece[first]]
            node = part.first if firsts is None else firsts[number]
            name = self.lexicon.units[part.unit]
            yield measured.segment(name, first, last, node, node + part.last - part.first, part.word)

    def _states(
        self,
        layout: Layout,
        piece: NDArray[np.int64],
        runs: Sequence[tuple[int, int]],
        firsts: Sequence[int] | None,
        way: Way,
        measured: _Measured,
    ) -> Iterator[Segment]:
        nodes, number = way.nodes.tolist(), 0
        for first, last in _runs(way.nodes):
            while runs[number][1] <= first:
                number += 1
            part = layout.pieces[piece[first]]
            state = nodes[first] - part.first
            node = (part.first if firsts is None else firsts[number]) + state
            name = f"{self.lexicon.units[part.unit]}.{state}"
            yield measured.segment(name, first, last, node, node + 1, part.word)

    def _varies(self, layout: Layout) -> bool:
        return any(word in self.lexicon.first_way for word in layout.words)

    def _linear(self, layout: Layout, piece: NDArray[np.int64], scores: Floats) -> tuple[Floats, list[int]]:
        """Return the spread of the bounds of nodes given the pronunciations on the best path, and each unit's first."""
        taken = [layout.pieces[piece[first]] for first, _ in _runs(piece)]
        plain = Lexicon(self.lexicon.units, self.lexicon.n_states)
        only = plain.layout([self.lexicon.units[part.unit] for part in taken])
        held = posterior(only.graph, self.moves, scores.copy(), np.zeros((0, len(scores), 2), dtype=np.int64))
        return _spread(held), [part.first for part in only.pieces]


class _Measured(NamedTuple):
    """Quantities of frames and nodes from which segments are built.

    Attributes
    ----------
    step : float
    log_probability, held : lists     sums over the frames before t, t = 0 .. T
    sd : (L + 1,) array               standard deviation of the time at which each node was reached, in frames
    """

    step: float
    log_probability: list[float]
    held: list[float]
    sd: Floats

    def segment(self, name: str, first: int, last: int, node: int, end: int, word: int) -> Segment:
        """Return a segment of frames `first` to `last` whose nodes are `node` to `end`."""
        return Segment(
            name,
            first * self.step,
            last * self.step,
            self.log_probability[last] - self.log_probability[first],
            min(1.0, (self.held[last] - self.held[first]) / (last - first)),
            float(self.sd[node]) * self.step,
            float(self.sd[end]) * self.step,
            word,
        )


def _cumulative(values: Floats) -> list[float]:
    """Return the cumulative sums before each frame, and the total."""
    return [0.0, *np.cumsum(values).tolist()]


def _runs(values: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Return first and last + 1 of the runs of equal values."""
    cuts = (np.flatnonzero(np.diff(values)) + 1).tolist()
    return list(zip([0, *cuts], [*cuts, len(values)], strict=True))


def _spans(layout: Layout, piece: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the nodes of the unit at each frame, (T, 2)."""
    return np.array([(part.first, part.last) for part in layout.pieces], dtype=np.int64)[piece]


def _word_spans(layout: Layout, piece: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the nodes of the word at each frame, of all its pronunciations; a pause has its own, (T, 2)."""
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    for part in layout.pieces:
        first.setdefault(part.word, part.first)
        last[part.word] = part.last
    bounds = [
        (part.first, part.last) if part.word < 0 else (first[part.word], last[part.word]) for part in layout.pieces
    ]
    return np.array(bounds, dtype=np.int64)[piece]


def _spread(held: Held) -> Floats:
    """Return the standard deviation, in frames, of the time when node j or a later one was first reached, (L + 1,).

    The number of frames before it is B = sum_t [node_t < j]. Nodes only rise, so that E B = sum_t p(node_t < j) and
    E B^2 = sum_t (2 t + 1) p(node_t < j).
    """
    mean, square = (np.concatenate([[0.0], np.cumsum(sums)]) for sums in (held.frames, held.squares))
    variance = square - mean**2
    return np.sqrt(
        np.where(variance > 1e-9 * np.maximum(1.0, square), variance, 0.0)
    )  # smaller values are rounding errors
