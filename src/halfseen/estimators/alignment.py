"""What an alignment says: when each word, unit and state was, and how sure that is."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from io import StringIO
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from halfseen.data import Source, frame_from_dict
from halfseen.data.captions import Caption, write_captions
from halfseen.data.textgrid import write_textgrid
from halfseen.errors import ParameterError
from halfseen.estimators.lexicon import Layout, Lexicon
from halfseen.leaves.leaf import Floats
from halfseen.structures.transcript import Held, Way, best, posterior
from halfseen.whole_file import whole_file


class Segment(NamedTuple):
    """A word, unit or state with its time.

    Attributes
    ----------
    name : str
    start, end : float           on the best way, in frames times `step`
    log_probability : float      what its frames add to the log-probability of the best way
    confidence : float           mean over its frames of the probability that they belong to it
    start_sd, end_sd : float     standard deviation of when it began and ended, given all that was heard
    word : int                   place of its word in the transcript; -1 for a pause
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
    """When everything of one utterance was said.

    Attributes
    ----------
    name : str                   what the utterance is called
    words, units, states : tuples of Segment     pauses stand among units and states
    duration : float             frames times `step`
    log_probability : float      of the best way together with the features
    loglik : float               of the features, over all ways
    surprise : float             how far its log-likelihood per frame lies below that of the training data, in robust
                                 standard deviations: above 5 the transcript hardly fits
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
        """Return the same with `offset` added to all times: of an utterance that begins later in a recording."""
        if not offset:
            return self
        words, units, states = (
            tuple(part._replace(start=part.start + offset, end=part.end + offset) for part in self.tier(level))
            for level in ("words", "units", "states")
        )
        return replace(self, words=words, units=units, states=states, duration=self.duration + offset)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write a file by its ending: .TextGrid (tiers words and phones), .json, .csv, .srt or .vtt."""
        write(path, [self])


FORMATS = (".TextGrid", ".json", ".csv", ".srt", ".vtt")
LINE = 42  # letters of a caption, twice at most
PAUSE = 0.5  # seconds after which a new caption begins


def write(path: str | os.PathLike[str], alignments: Sequence[Alignment], texts: Sequence[str] | None = None) -> None:
    """Write the alignments of one recording, in the order of time, to a file whose ending says how.

    `texts` are what to show in captions, one for each alignment; by default captions are made of the words.
    """
    ending = os.path.splitext(os.fspath(path))[1]
    words, units = ([part for one in alignments for part in one.tier(level)] for level in ("words", "units"))
    if ending.lower() == ".textgrid":
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
        """Return what is typical of some utterances."""
        centre = float(np.median(by_frame))
        return cls(centre, 1.4826 * float(np.median(np.abs(by_frame - centre))))

    def surprise(self, by_frame: float) -> float:
        """Return how far below the centre a value lies, in spreads."""
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
        linear = self._linear(layout, piece, scores) if self._varies(layout) else None
        spans = np.stack([_word_spans(layout, piece), _spans(layout, piece), np.stack([way.nodes, way.nodes + 1], 1)])
        held = posterior(layout.graph, self.moves, scores, np.ascontiguousarray(spans))
        sd = _spread(held)
        words, units, states = [], [], []
        for number, (first, last) in enumerate(_runs(piece)):
            found = layout.pieces[piece[first]]
            own = sd if linear is None else linear[1]
            nodes = (found.first, found.last) if linear is None else linear[0][number]
            units.append(self._segment(found.unit, nodes, first, last, way, held.held[1], own, found.word))
            for a, b in _runs(way.nodes[first:last]):
                place = nodes[0] + int(way.nodes[first + a]) - found.first
                label = (found.unit, int(way.nodes[first + a]) - found.first)
                ends = (place, place + 1)
                states.append(self._segment(label, ends, first + a, first + b, way, held.held[2], own, found.word))
        word = np.array([layout.pieces[p].word for p in piece])
        for first, last in _runs(word):
            if word[first] >= 0:
                ends = tuple(spans[0, first].tolist())
                name_of = layout.words[word[first]]
                words.append(self._segment(name_of, ends, first, last, way, held.held[0], sd, int(word[first])))
        n_frames = len(scores)
        surprise = self.typical.surprise(held.log_evidence / n_frames)
        return Alignment(
            name,
            tuple(words),
            tuple(units),
            tuple(states),
            n_frames * self.step,
            way.log_joint,
            held.log_evidence,
            surprise,
        )

    def _segment(
        self, label: Any, nodes: Any, first: int, last: int, way: Way, held: Floats, sd: Floats, word: int
    ) -> Segment:
        units = self.lexicon.units
        name = label if isinstance(label, str) else units[label] if isinstance(label, int) else _state(units, *label)
        return Segment(
            name,
            first * self.step,
            last * self.step,
            float(way.log_probability[first:last].sum()),
            float(min(1.0, held[first:last].mean())),
            float(sd[nodes[0]]) * self.step,
            float(sd[nodes[1]]) * self.step,
            word,
        )

    def _varies(self, layout: Layout) -> bool:
        return any(word in self.lexicon._first_way for word in layout.words)

    def _linear(self, layout: Layout, piece: NDArray[np.int64], scores: Floats) -> tuple[list[tuple[int, int]], Floats]:
        """Return nodes of the units, and the spread of their bounds, given the pronunciations on the best way."""
        taken = [layout.pieces[piece[first]] for first, _ in _runs(piece)]
        plain = Lexicon(self.lexicon.units, self.lexicon.n_states)
        only = plain.layout([self.lexicon.units[part.unit] for part in taken])
        held = posterior(only.graph, self.moves, scores.copy(), np.zeros((0, len(scores), 2), dtype=np.int64))
        return [(part.first, part.last) for part in only.pieces], _spread(held)


def _state(units: Sequence[str], unit: int, state: int) -> str:
    return f"{units[unit]}.{state}"


def _runs(values: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Return first and last + 1 of the runs of equal values."""
    cuts = (np.flatnonzero(np.diff(values)) + 1).tolist()
    return list(zip([0, *cuts], [*cuts, len(values)], strict=True))


def _spans(layout: Layout, piece: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the nodes of the unit at each frame, (T, 2)."""
    return np.array([(part.first, part.last) for part in layout.pieces], dtype=np.int64)[piece]


def _word_spans(layout: Layout, piece: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the nodes of the word at each frame, of all its pronunciations; a pause stands for itself, (T, 2)."""
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
    """Return the standard deviation, in frames, of when node j or a later one was first reached, (L + 1,).

    The number of frames before it is B = sum_t [node_t < j]. Nodes only rise, so that E B = sum_t p(node_t < j) and
    E B^2 = sum_t (2 t + 1) p(node_t < j).
    """
    mean, square = (np.concatenate([[0.0], np.cumsum(sums)]) for sums in (held.frames, held.squares))
    variance = square - mean**2
    return np.sqrt(np.where(variance > 1e-9 * np.maximum(1.0, square), variance, 0.0))  # the rest is rounding
