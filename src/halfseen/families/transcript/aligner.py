"""Align one utterance: best path, posterior of its nodes, and what is reported of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from halfseen.data import SequenceChunk
from halfseen.families.transcript.alignment import Alignment, Band, Segment
from halfseen.families.transcript.bands import LONG, Words, best_inside, coarse, words_beside
from halfseen.families.transcript.certainty import Certainty
from halfseen.families.transcript.lexicon import Layout, Lexicon
from halfseen.leaves.leaf import Floats
from halfseen.structures.transcript import Held, Way, best, evidence, posterior
from halfseen.structures.transcript_passes import Scored


IN_MEMORY = 1 << 24  # scores of a chunk, 128 MB; those of longer recordings are computed as they are needed


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

    def __init__(self, lexicon: Lexicon, moves: Floats, step: float, typical: Typical, certainty: Certainty) -> None:
        self.lexicon, self.moves, self.step, self.typical = lexicon, moves, step, typical
        self.certainty = certainty

    def __call__(self, name: str, layout: Layout, scored: Scored) -> Alignment | None:
        """Return the alignment of an utterance with these scores; None: impossible."""
        way, words, band = self._best(layout, scored)
        if not way.log_joint > -np.inf:
            return None
        piece = layout.piece_of[way.nodes]
        units = _runs(piece)
        inside = None if words is None else words.nodes(layout)
        log_evidence = evidence(layout.graph, self.moves, scored, inside)
        scaled = scored.scaled(self.certainty.scale)
        linear = self._linear(layout, piece, scaled, words) if self._varies(layout) else None
        spans = np.stack([_word_spans(layout, piece), _spans(layout, piece), np.stack([way.nodes, way.nodes + 1], 1)])
        shifted, mean = self._shifts(spans)
        held = posterior(layout.graph, self.certainty.scale * self.moves, scaled, shifted, inside)
        sums = [_cumulative(way.log_probability), *(_cumulative(row) for row in mean(held.held))]
        sd = _spread(held)
        inner, firsts = (sd, None) if linear is None else linear
        words, parts, states = (
            _Measured(self.step, self.certainty, sums[0], own, spread)
            for own, spread in zip(sums[1:], (sd, inner, inner), strict=True)
        )
        return Alignment(
            name,
            tuple(self._words(layout, piece, spans[0], words)),
            tuple(self._units(layout, piece, units, firsts, parts)),
            tuple(self._states(layout, piece, units, firsts, way, states)),
            scored.n_frames * self.step,
            way.log_joint,
            log_evidence,
            self.typical.surprise(log_evidence / scored.n_frames),
            band=band,
        )

    def _best(self, layout: Layout, scored: Scored) -> tuple[Way, Words | None, Band | None]:
        """Return the best path, and for a long recording the words that each frame may belong to."""
        if scored.n_frames * layout.graph.n_nodes <= LONG or not layout.words:
            return best(layout.graph, self.moves, scored), None, None
        about = coarse(self.lexicon, layout.words, self.moves, scored)
        return best_inside(layout, self.moves, scored, about)

    def _shifts(self, spans: NDArray[np.int64]) -> tuple[NDArray[np.int64], Callable[[Floats], Floats]]:
        """Return the spans (Q, T, 2) with those of the frames nearby, and how to sum the posteriors of all of them.

        A boundary is where the model puts it, plus a jitter. So a frame is in a segment with the mean probability, over
        the jitter, of the frames nearby: sum_h weight[h] p(span[t] at t + h).
        """
        weights = self.certainty.weights
        reach, n_frames = len(weights) // 2, spans.shape[1]
        at = np.arange(n_frames)
        near = [np.clip(at + h, 0, n_frames - 1) for h in range(-reach, reach + 1)]

        def mean(held: Floats) -> Floats:
            found = held.reshape(len(weights), len(spans), n_frames)
            parts = [w * row[:, t] for w, row, t in zip(weights, found[::-1], near, strict=True)]
            return np.asarray(sum(parts[1:], parts[0]))

        return np.ascontiguousarray(np.concatenate([spans[:, t] for t in near])), mean

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

    def _linear(
        self, layout: Layout, piece: NDArray[np.int64], scored: Scored, words: Words | None
    ) -> tuple[Floats, list[int]]:
        """Return the spread of the bounds of nodes given the pronunciations on the best path, and each unit's first."""
        taken = [layout.pieces[piece[first]] for first, _ in _runs(piece)]
        plain = Lexicon(self.lexicon.units, self.lexicon.n_states)
        only = plain.layout([self.lexicon.units[part.unit] for part in taken])
        ends = [(part.first, part.last) for part in only.pieces]
        beside = words_beside([part.word for part in taken], len(layout.words))
        band = None if words is None else words.within(*beside, ends)
        held = posterior(only.graph, self.certainty.scale * self.moves, scored, band=band)
        return _spread(held), [part.first for part in only.pieces]


class _Measured(NamedTuple):
    """Quantities of frames and nodes from which segments are built.

    Attributes
    ----------
    step : float
    certainty : Certainty
    log_probability, held : lists     sums over the frames before t, t = 0 .. T
    sd : (L + 1,) array               standard deviation of the time at which each node was reached, in frames
    """

    step: float
    certainty: Certainty
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
            self._spread(node, first > 0) * self.step,
            self._spread(end, last < len(self.held) - 1) * self.step,
            word,
        )

    def _spread(self, node: int, inside: bool) -> float:
        """Return the standard deviation of a boundary, in frames; the ends of a recording are known."""
        sd = float(self.sd[node])
        return self.certainty.spread(sd) if inside else sd


def scored_by(score: Callable[[Mapping[str, Any]], Floats], chunk: SequenceChunk) -> Iterator[Scored]:
    """Yield the scores of the utterances of a chunk, given how frames are scored."""
    blocks, lengths = chunk.blocks, chunk.blocks.lengths
    n_scores = score({name: cells[:1] for name, cells in blocks.items()}).shape[1]
    scores = score(blocks) if lengths.sum() * n_scores <= IN_MEMORY else None
    for end, length in zip(np.cumsum(lengths).tolist(), lengths.tolist(), strict=True):
        begin = end - length
        if scores is not None:
            yield Scored.of(np.ascontiguousarray(scores[begin:end]))
            continue

        def rows(first: int, last: int, begin: int = begin) -> Floats:
            return score({name: cells[begin + first : begin + last] for name, cells in blocks.items()})

        yield Scored(length, rows)


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
