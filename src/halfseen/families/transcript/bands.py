"""Bands for long recordings: which words of the transcript each frame may belong to.

The exact passes cost frames times nodes: for an hour, 360,000 times 100,000. A coarse pass tells about where each word
is, and the exact ones then work between the words nearby. The band is no beam: it does not depend on scores, and where
the best path comes to its edge it is made twice as wide, until the path is inside everywhere. Where the transcript is
not that of the recording, so that the coarse pass is far off, another path may be better than the one inside.

The coarse pass cuts the recording into segments, those of the best sequence of units of any number and order, and
matches them with the units of the transcript (`kernels.align_coarse`). A segment may also be something that is not in
the transcript, so that minutes of silence or music before the first word do no harm.

- *segment*: some consecutive frames that sound like one unit.
- *reach*: how many segments before and after a frame have their words in the band.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from halfseen.families.transcript.alignment import Band
from halfseen.families.transcript.lexicon import Layout, Lexicon
from halfseen.kernels import active as kernels
from halfseen.leaves.leaf import Floats
from halfseen.structures.transcript import Way, best
from halfseen.structures.transcript_passes import Scored

Ints = NDArray[np.int64]

LONG = 1 << 26  # frames times nodes above which a band pays: two minutes of speech, and 0.5 GB of forward values
BLOCK = 4096  # frames cut at once: scores of a few MB
LEAST = -100.0  # log-likelihood of a frame that counts: impossible frames, and those far from all, are no evidence
REACH = 25  # segments: about 2.5 s of speech, six words


@dataclass(frozen=True, eq=False)
class Words:
    """First and last word that each frame may belong to, (T,); both never fall."""

    low: Ints
    high: Ints

    def nodes(self, layout: Layout) -> Ints:
        """Return the band of nodes, (T, 2): those of the words and of all gaps beside them."""
        return self.within(*_words_beside(layout), [(piece.first, piece.last) for piece in layout.pieces])

    def within(self, before: Ints, after: Ints, ends: Sequence[tuple[int, int]]) -> Ints:
        """Return the band of nodes of pieces with these ends, that have the words `before` and `after` them."""
        first, last = np.array(ends, dtype=np.int64).T
        n_words = np.arange(int(self.high[-1]) + 1)
        begins = np.minimum(np.searchsorted(after, n_words), len(after) - 1)
        stops = np.maximum(np.searchsorted(before, n_words, side="right"), 1)  # a word may have no pieces
        return np.stack([first[begins[self.low]], last[stops[self.high] - 1]], axis=1)


@dataclass(frozen=True, eq=False)
class Coarse:
    """Where words are, about.

    Attributes
    ----------
    segment : (T,) ints      number of the segment of each frame
    word : (N,) ints         word that a segment belongs to or comes after; the first word is also before itself
    n_words : int
    """

    segment: Ints
    word: Ints
    n_words: int

    def words(self, reach: Ints) -> Words:
        """Return the words within so many segments of each, (N,), and one more."""
        at, last = np.arange(len(reach)), len(reach) - 1
        first, final = self.word.copy(), self.word.copy()
        first[0], final[last] = 0, self.n_words - 1  # whatever the coarse pass left out at the ends
        low, high = first[np.maximum(at - reach, 0)] - 1, final[np.minimum(at + reach, last)] + 1
        low, high = np.minimum.accumulate(low[::-1])[::-1], np.maximum.accumulate(high)
        low, high = np.clip(low, 0, self.n_words - 1), np.clip(high, 0, self.n_words - 1)
        return Words(low[self.segment], high[self.segment])


def coarse(lexicon: Lexicon, words: Sequence[str], moves: Floats, scored: Scored) -> Coarse:
    """Return about where the words of a transcript are."""
    cuts, scores = _segments(lexicon, moves, scored)
    lengths = np.diff(cuts)
    wrong = 0.5 * float(np.mean(scores.mean(axis=1) / lengths))  # half of what a wrong unit costs in a frame
    extra = (wrong * lengths).astype(np.float32)
    scores = np.maximum(scores, 2 * extra[:, None])
    ways = [lexicon.ways(word)[0] for word in words]
    units = np.array([lexicon.number[unit] for way in ways for unit in way], dtype=np.int64)
    word_of = np.repeat(np.arange(len(ways)), [len(way) for way in ways])
    places = np.zeros(len(lengths), dtype=np.int64)
    kernels.align_match(units, scores.astype(np.float32), extra, wrong * float(lengths.mean()), places)
    return Coarse(np.repeat(np.arange(len(lengths)), lengths), word_of[np.maximum(places - 1, 0)], len(ways))


def _segments(lexicon: Lexicon, moves: Floats, scored: Scored) -> tuple[Ints, Floats]:
    """Return the first frames of segments, and T, and the score of each as each unit, (N, U), less that of the best.

    Units may be in any order here: frames count as what they are most like among the states of a unit.
    """
    n_states, n_units = lexicon.n_states, len(lexicon.units)
    logs = np.ascontiguousarray(moves[: 2 * lexicon.n_emissions].reshape(-1, 2))
    cuts, found = [], []
    for first in range(0, scored.n_frames, BLOCK):
        scores = scored.rows(first, min(first + BLOCK, scored.n_frames))
        states = np.zeros(len(scores), dtype=np.int64)
        kernels.align_free(n_states, logs, -np.log(n_units), scores, states)
        begins = np.concatenate([[True], (np.diff(states // n_states) != 0) | (np.diff(states) < 0)])
        by_unit = scores.reshape(len(scores), n_units, n_states).max(axis=2)
        by_unit = np.fmax(by_unit - by_unit.max(axis=1, keepdims=True), LEAST)
        cuts.append(first + np.flatnonzero(begins))
        found.append(np.add.reduceat(by_unit, np.flatnonzero(begins)))
    return np.concatenate([*cuts, [scored.n_frames]]), np.concatenate(found)


def best_inside(layout: Layout, moves: Floats, scored: Scored, about: Coarse) -> tuple[Way, Words, Band]:
    """Return the best path, which is within its band everywhere, and the band."""
    graph, reach = layout.graph, np.full(len(about.word), REACH)
    before, after = (beside[layout.piece_of] for beside in _words_beside(layout))
    widened = 0
    while True:
        words = about.words(reach)
        band = words.nodes(layout)
        way = best(graph, moves, scored, band)
        last = len(layout.words) - 1
        if (words.low == 0).all() and (words.high == last).all():
            break
        if way.log_joint > -np.inf:
            at = (after[way.nodes] <= words.low) & (words.low > 0)
            at |= (before[way.nodes] >= words.high) & (words.high < last)
            if not at.any():
                break
            touched = np.unique(about.segment[at])
        else:  # there is no path: the words must go faster somewhere than the band lets them
            touched = np.arange(len(reach))
        reach = _wider(reach, touched)
        widened += 1
    return way, words, Band(graph.n_nodes, float((band[:, 1] - band[:, 0]).mean()), widened)


def _words_beside(layout: Layout) -> tuple[Ints, Ints]:
    """Return the word before or at each piece, and that after or at it."""
    return words_beside([piece.word for piece in layout.pieces], len(layout.words))


def words_beside(words: Sequence[int], n_words: int) -> tuple[Ints, Ints]:
    """Return the word before or at each place, and that after or at it; where there is none, -1 and `n_words`."""
    word = np.array(words, dtype=np.int64)
    before = np.maximum.accumulate(word)
    after = np.minimum.accumulate(np.where(word < 0, n_words, word)[::-1])[::-1]
    return before, after


def _wider(reach: Ints, touched: Ints) -> Ints:
    """Return the reach of segments, twice as far for those within reach of the ones that were touched."""
    change, last = np.zeros(len(reach) + 1, dtype=np.int64), len(reach)
    np.add.at(change, np.maximum(touched - reach[touched], 0), 1)
    np.add.at(change, np.minimum(touched + reach[touched] + 1, last), -1)
    near = np.cumsum(change[:-1]) > 0
    return np.where(near, np.minimum(2 * reach, last), reach)
