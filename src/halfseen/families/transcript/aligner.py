"""Align one utterance: best path, posterior of its nodes, and what is reported of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from halfseen.data import SequenceChunk
from halfseen.families.transcript import bands
from halfseen.families.transcript.alignment import Alignment, Band, Segment
from halfseen.families.transcript.bands import Words, words_beside
from halfseen.families.transcript.certainty import Certainty
from halfseen.families.transcript.departures import OTHER, OUTLIERS, Background, filler_leaves
from halfseen.families.transcript.lexicon import Layout, Lexicon, runs
from halfseen.families.transcript.surprise import Typical, word_fits, word_surprises
from halfseen.leaves.leaf import Floats
from halfseen.structures.transcript import Held, Way, best, evidence, posterior
from halfseen.structures.transcript_passes import Scored

IN_MEMORY = 1 << 24  # scores of a chunk, 128 MB; those of longer recordings are computed as they are needed


class Moves(NamedTuple):
    """Log-probabilities of moves: of the model, those of the best path, and those of the scaled posterior."""

    plain: Floats
    best: Floats
    scaled: Floats


class Typicals(NamedTuple):
    """What is typical of the training data: log-likelihood per frame of an utterance, and the fit of a word."""

    utterance: Typical
    word: Typical


class Found(NamedTuple):
    """What the passes over an utterance give.

    Attributes
    ----------
    way : Way                     the best path
    band : Band or None           how it was searched
    log_evidence : float
    held : Held                   posterior of nodes, and of spans near each frame
    spans : (3, T, 2) ints        nodes of the word, the unit and the state of each frame on the best path
    linear : (sd, firsts) or None     spread given the units of the best path, and the first node of each
    """

    way: Way
    band: Band | None
    log_evidence: float
    held: Held
    spans: NDArray[np.int64]
    linear: tuple[Floats, list[int]] | None


class Aligner:
    """Aligns one utterance after the other.

    Parameters
    ----------
    lexicon : Lexicon
    moves : (S,) array        log-probabilities of moves
    step : float
    typical : Typicals
    certainty : Certainty
    frames : (E,) array       expected training frames of each state
    """

    def __init__(
        self, lexicon: Lexicon, moves: Floats, step: float, typical: Typicals, certainty: Certainty, frames: Floats
    ) -> None:
        self.lexicon, self.moves, self.step, self.typical = lexicon, moves, step, typical
        self.certainty, self.background = certainty, Background(frames)
        leave = np.exp(moves[1 : 2 * lexicon.n_emissions : 2])
        self.filler_leaves = filler_leaves(leave, frames, lexicon.n_states)

    def __call__(self, name: str, layout: Layout, scored: Scored) -> Alignment | None:
        """Return the alignment of an utterance with these scores; None: impossible."""
        found = self._passes(layout, scored)
        if found is None:
            return None
        way, mean = found.way, self._shifted(found.spans)[1]
        units = layout.units_along(way.nodes)
        sums = [_cumulative(way.log_probability), *(_cumulative(row) for row in mean(found.held.held))]
        sd = _spread(found.held)
        inner, firsts = (sd, None) if found.linear is None else found.linear
        words, parts, states = (
            _Measured(self.step, self.certainty, sums[0], own, spread)
            for own, spread in zip(sums[1:], (sd, inner, inner), strict=True)
        )
        listed = tuple(self._units(layout, units, firsts, parts))
        margins = self.background.margins(scored, layout.graph.owner[way.nodes])
        surprises = word_surprises(word_fits(layout, units, margins), self.typical.word)
        spoken = _entered(layout, found.held.arcs)
        said = tuple(
            part._replace(surprise=surprises[part.word], spoken=spoken[part.word])
            for part in self._words(layout, found.spans[0], way, words)
        )
        return Alignment(
            name,
            said,
            listed,
            tuple(self._states(layout, units, firsts, way, states)),
            scored.n_frames * self.step,
            way.log_joint,
            found.log_evidence,
            self.typical.utterance.surprise(found.log_evidence / scored.n_frames),
            band=found.band,
            left_out=tuple(self._left_out(layout, said, spoken)),
            inserted=tuple(part for part in listed if part.name == OTHER and part.word < 0),
        )

    def _passes(self, layout: Layout, scored: Scored) -> Found | None:
        """Return what all passes over an utterance give; None: it is impossible."""
        moves = self._moves(layout)
        filled = scored if layout.departures is None else self.background.beside(scored, OUTLIERS)
        way, words, band = self._best(layout, moves, scored, filled)
        if not way.log_joint > -np.inf:
            return None
        way = _as_the_model_has_it(layout, way, moves)
        piece = layout.piece_of[way.nodes]
        inside = None if words is None else words.nodes(layout)
        log_evidence = evidence(layout.graph, moves.plain, filled, inside)
        scaled = filled.scaled(self.certainty.scale)
        linear = self._linear(layout, piece, moves, scaled, words) if self._varies(layout) else None
        spans = np.stack([_word_spans(layout, piece), _spans(layout, piece), np.stack([way.nodes, way.nodes + 1], 1)])
        held = posterior(layout.graph, moves.scaled, scaled, self._shifted(spans)[0], inside)
        return Found(way, band, log_evidence, held, spans, linear)

    def _moves(self, layout: Layout) -> Moves:
        """Return log-probabilities of moves; see `departures` for those of the best path."""
        scale, allowed = self.certainty.scale, layout.departures
        if allowed is None:
            return Moves(self.moves, self.moves, scale * self.moves)
        plain, scaled = (allowed.moves(self.moves, self.filler_leaves, factor) for factor in (1.0, scale))
        return Moves(plain, scaled / scale, scaled)

    def _best(
        self, layout: Layout, moves: Moves, scored: Scored, filled: Scored
    ) -> tuple[Way, Words | None, Band | None]:
        """Return the best path, and for a long recording the words that each frame may belong to."""
        if scored.n_frames * layout.graph.n_nodes <= bands.LONG or not layout.words:
            return best(layout.graph, moves.best, filled), None, None
        about = bands.coarse(self.lexicon, layout.words, self.moves, scored)
        return bands.best_inside(layout, moves.best, filled, about)

    def _shifted(self, spans: NDArray[np.int64]) -> tuple[NDArray[np.int64], Callable[[Floats], Floats]]:
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

    def _words(self, layout: Layout, spans: NDArray[np.int64], way: Way, measured: _Measured) -> Iterator[Segment]:
        word = layout.word_of[way.nodes]
        for first, last in runs(word):
            if word[first] >= 0:
                ends = spans[first].tolist()
                yield measured.segment(layout.words[word[first]], first, last, ends[0], ends[1], int(word[first]))

    def _left_out(self, layout: Layout, said: Sequence[Segment], spoken: Floats) -> Iterator[Segment]:
        """Yield the words that the best path passes over, of no length, where the word before them ends."""
        ends = {part.word: part.end for part in said}
        at = 0.0
        for word, name in enumerate(layout.words):
            if word not in ends:
                probability = float(spoken[word])
                yield Segment(name, at, at, 0.0, 1 - probability, 0.0, 0.0, word, spoken=probability)
            at = ends.get(word, at)

    def _units(
        self, layout: Layout, units: Sequence[tuple[int, int, int]], firsts: Sequence[int] | None, measured: _Measured
    ) -> Iterator[Segment]:
        for number, (piece, first, last) in enumerate(units):
            part = layout.pieces[piece]
            node = part.first if firsts is None else firsts[number]
            name = self.lexicon.name_of(part.unit)
            yield measured.segment(name, first, last, node, node + part.last - part.first, part.word)

    def _states(
        self,
        layout: Layout,
        units: Sequence[tuple[int, int, int]],
        firsts: Sequence[int] | None,
        way: Way,
        measured: _Measured,
    ) -> Iterator[Segment]:
        nodes, number = way.nodes.tolist(), 0
        for first, last in runs(way.nodes):
            while units[number][2] <= first:
                number += 1
            part = layout.pieces[units[number][0]]
            state = nodes[first] - part.first
            node = (part.first if firsts is None else firsts[number]) + state
            name = f"{self.lexicon.name_of(part.unit)}.{state}"
            yield measured.segment(name, first, last, node, node + 1, part.word)

    def _varies(self, layout: Layout) -> bool:
        return layout.departures is not None or any(word in self.lexicon.first_way for word in layout.words)

    def _linear(
        self, layout: Layout, piece: NDArray[np.int64], moves: Moves, scored: Scored, words: Words | None
    ) -> tuple[Floats, list[int]]:
        """Return the spread of the bounds of nodes given the units on the best path, and the first node of each."""
        taken = [layout.pieces[piece[first]] for first, _ in runs(piece)]
        only = self.lexicon.chain([part.unit for part in taken])
        ends = [(part.first, part.last) for part in only.pieces]
        beside = words_beside([part.word for part in taken], len(layout.words))
        band = None if words is None else words.within(*beside, ends)
        held = posterior(only.graph, moves.scaled, scored, band=band)
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


def _as_the_model_has_it(layout: Layout, way: Way, moves: Moves) -> Way:
    """Return a path with its log-probability under the model: it may have been found by other ones of moves."""
    if moves.best is moves.plain:
        return way
    change = layout.graph.logs(moves.plain)[way.arcs] - layout.graph.logs(moves.best)[way.arcs]
    by_frame = way.log_probability + change[:-1]
    by_frame[-1:] += change[-1]
    return way._replace(log_probability=by_frame, log_joint=way.log_joint + float(change.sum()))


def _entered(layout: Layout, usage: Floats) -> Floats:
    """Return the probability that each word is spoken: that its first state is entered."""
    if layout.departures is None:
        return np.ones(len(layout.words))
    graph, word = layout.graph, np.append(layout.word_of, -1)  # the beginning, -1, and the end belong to no word
    to, by = word[graph.target], word[graph.source]
    entering = (to >= 0) & (to != by)
    return np.minimum(np.bincount(to[entering], usage[entering], minlength=len(layout.words)), 1.0)


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
