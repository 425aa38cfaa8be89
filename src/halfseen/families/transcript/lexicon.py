"""Words, pronunciations, units and their states, and the graph of a transcript.

- *unit*: a phone, a word, an activity. It has `n_states` consecutive states, each with emissions.
- *word*: an entry of a transcript. It is a unit itself, or a word of the dictionary with one or more pronunciations.
- *pause*: optional silence at the ends and between words.
- *move*: a choice with a probability: stay or leave (every state), pause or not (ends, between), which pronunciation.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from halfseen.errors import DataError, ParameterError
from halfseen.families.transcript.departures import OTHER, Departures, Rows, most_left_out
from halfseen.structures.transcript import Graph

Pronunciations = Mapping[str, tuple[tuple[str, ...], ...]]
Ends = list[tuple[int, tuple[int, ...]]]  # ends of paths: a node, and the moves since


class Piece(NamedTuple):
    """A unit in a transcript: its number (U: a filler), the word it belongs to (-1: none), its nodes."""

    unit: int
    word: int
    first: int
    last: int


@dataclass(frozen=True, eq=False)
class Layout:
    """The graph of a transcript, and the units that its nodes belong to.

    Attributes
    ----------
    graph : Graph
    pieces : tuple of Piece       units, those of all pronunciations, in the order of their nodes
    words : tuple of str          the transcript
    departures : Departures or None       what may differ from it
    """

    graph: Graph
    pieces: tuple[Piece, ...]
    words: tuple[str, ...]
    departures: Departures | None = None

    @cached_property
    def piece_of(self) -> NDArray[np.int64]:
        """Number of the piece of each node, (L,)."""
        return np.repeat(np.arange(len(self.pieces)), [piece.last - piece.first for piece in self.pieces])

    def units_along(self, nodes: NDArray[np.int64]) -> list[tuple[int, int, int]]:
        """Return the numbers of the pieces on a path, with first frame and last + 1."""
        piece = self.piece_of[nodes]
        return [(int(piece[first]), first, last) for first, last in runs(piece)]

    @cached_property
    def word_of(self) -> NDArray[np.int64]:
        """Number of the word of each node, (L,); -1: none."""
        return np.array([piece.word for piece in self.pieces], dtype=np.int64)[self.piece_of]


@dataclass(frozen=True, eq=False)
class Lexicon:
    """Units, words, and how a transcript becomes a graph.

    Parameters
    ----------
    units : tuple of str
    n_states : int                  states of each unit
    silence : str or None           the unit of optional pauses; one of `units`
    pronunciations : mapping        word -> tuples of units; empty: words are units
    unknown : str or None           unit for words that are not in the dictionary

    Examples
    --------
    >>> words = Lexicon(("a", "b", "sil"), 2, "sil", {"ab": (("a", "b"), ("b",))})
    >>> words.n_emissions, words.cardinalities
    (6, (2, 2, 2, 2, 2, 2, 2, 2, 2))
    >>> layout = words.layout(["ab"])
    >>> [words.units[piece.unit] for piece in layout.pieces]
    ['sil', 'a', 'b', 'b', 'sil']
    >>> layout.graph.n_least
    2
    """

    units: tuple[str, ...]
    n_states: int = 3
    silence: str | None = None
    pronunciations: Pronunciations = field(default_factory=dict)
    unknown: str | None = None

    @cached_property
    def number(self) -> dict[str, int]:
        """Number of each unit."""
        return {unit: i for i, unit in enumerate(self.units)}

    @property
    def n_emissions(self) -> int:
        """Number of states of all units, E."""
        return len(self.units) * self.n_states

    @cached_property
    def various(self) -> tuple[str, ...]:
        """Words with more than one pronunciation."""
        return tuple(word for word, ways in self.pronunciations.items() if len(ways) > 1)

    @property
    def cardinalities(self) -> tuple[int, ...]:
        """Number of moves in every row: stay or leave, pause at the ends, pause between, pronunciations of words."""
        pauses = (2, 2) if self.silence is not None else ()
        return (2,) * self.n_emissions + pauses + tuple(len(self.pronunciations[word]) for word in self.various)

    @cached_property
    def first_way(self) -> dict[str, int]:
        """First move of the row of each word with several pronunciations."""
        offsets = np.concatenate([[0], np.cumsum(self.cardinalities)])[-len(self.various) - 1 : -1]
        return dict(zip(self.various, offsets.tolist(), strict=True)) if self.various else {}

    def ways(self, word: str) -> tuple[tuple[str, ...], ...]:
        """Return the pronunciations of a word."""
        if word in self.pronunciations:
            return self.pronunciations[word]
        if word != self.silence and self.unknown is not None:
            return ((self.unknown,),)
        if word != self.silence and self.pronunciations:
            return ()
        return ((word,),) if word in self.number else ()

    def unknown_words(self, words: Iterable[str]) -> list[str]:
        """Return the words that have no pronunciation, or one with a unit that was never seen."""
        found = {word: all(unit in self.number for way in self.ways(word) for unit in way) for word in words}
        return [word for word, known in found.items() if not known or not self.ways(word)]

    def name_of(self, unit: int) -> str:
        """Return the name of a unit, or of a filler."""
        return self.units[unit] if unit < len(self.units) else OTHER

    def layout(self, words: Sequence[str], departures: Departures | None = None) -> Layout:
        """Return the graph of a transcript."""
        build = _Build(self, departures)
        ends: Ends = [(-1, ())]
        if not words and not build.may_insert:
            assert self.silence is not None, "an empty transcript needs a unit for silence"
            return build.finish(build.unit(ends, self.number[self.silence], -1), words)
        most = most_left_out(len(words))
        for i, word in enumerate(words):
            passed = build.passed(ends, most)
            ends = build.word(build.gap(ends, inside=i > 0), word, i) + passed
        return build.finish(build.gap(ends, inside=False), words)

    def chain(self, units: Sequence[int]) -> Layout:
        """Return the graph of these units, and fillers, in order, with no choice but their times."""
        build = _Build(self, Departures())
        ends: Ends = [(-1, ())]
        for i, unit in enumerate(units):
            ends = build.unit(ends, unit, i)
        return build.finish(ends, [self.name_of(unit) for unit in units])


class _Build:
    """Builds a graph: keeps the open ends of all paths, which each addition extends."""

    def __init__(self, lexicon: Lexicon, departures: Departures | None) -> None:
        self.lexicon, self.departures = lexicon, departures
        self.rows = Rows.after(sum(lexicon.cardinalities))
        self.may_pass = departures is not None and departures.left_out > 0
        self.may_insert = departures is not None and departures.inserted > 0
        self.owner: list[int] = []
        self.arcs: list[tuple[int, int, tuple[int, ...]]] = []
        self.pieces: list[Piece] = []

    def unit(self, ends: Ends, number: int, word: int) -> Ends:
        """Extend all paths by a unit, or by a filler, which has one state."""
        first, n_states = len(self.owner), self.lexicon.n_states
        filler = number == len(self.lexicon.units)
        for state in range(number * n_states, number * n_states + (1 if filler else n_states)):
            node, stay = len(self.owner), self.rows.stay if filler else 2 * state
            self.owner.append(state)
            self.arcs += [(source, node, moves) for source, moves in ends]
            self.arcs.append((node, node, (stay,)))
            ends = [(node, (stay + 1,))]
        self.pieces.append(Piece(number, word, first, len(self.owner)))
        return ends

    def gap(self, ends: Ends, *, inside: bool) -> Ends:
        """Extend paths by what may be between words, or at an end: a pause, a filler."""
        n_stays = 2 * self.lexicon.n_emissions
        ends = self.optional_pause(ends, n_stays + 2 * inside)
        if not self.may_insert:
            return ends
        nothing = self.rows.nothing
        begun = [(node, (*moves, nothing + 1)) for node, moves in ends]
        filled = self.unit(begun, len(self.lexicon.units), -1)
        return [(node, (*moves, nothing)) for node, moves in ends] + self.optional_pause(filled, n_stays + 2)

    def optional_pause(self, ends: Ends, row: int) -> Ends:
        """Extend paths with and without a pause; the moves of `row` are no, yes."""
        if self.lexicon.silence is None:
            return ends
        silence = self.lexicon.number[self.lexicon.silence]
        paused = self.unit([(node, (*moves, row + 1)) for node, moves in ends], silence, -1)
        return [(node, (*moves, row)) for node, moves in ends] + paused

    def passed(self, ends: Ends, most: int) -> Ends:
        """Return the paths that leave out the next word and the gap before it, with at most so many in a row."""
        left_out = self.rows.spoken + 1
        if not self.may_pass:
            return []
        return [(node, (*moves, left_out)) for node, moves in ends if moves.count(left_out) < most]

    def word(self, ends: Ends, word: str, i: int) -> Ends:
        """Extend paths by each pronunciation of a word."""
        first, found = self.lexicon.first_way.get(word), []
        if self.may_pass:
            ends = [(node, (*moves, self.rows.spoken)) for node, moves in ends]
        for number, way in enumerate(self.lexicon.ways(word)):
            own = ends if first is None else [(node, (*moves, first + number)) for node, moves in ends]
            for unit in way:
                own = self.unit(own, self.lexicon.number[unit], i)
            found += own
        return found

    def finish(self, ends: Ends, words: Sequence[str]) -> Layout:
        """Close all paths and return the graph."""
        self.arcs += [(node, len(self.owner), moves) for node, moves in ends]
        return Layout(Graph.of(self.owner, self.arcs), tuple(self.pieces), tuple(words), self.departures)


def runs(values: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Return first and last + 1 of the runs of equal values.

    Examples
    --------
    >>> runs(np.array([7, 7, 2, 7]))
    [(0, 2), (2, 3), (3, 4)]
    """
    cuts = (np.flatnonzero(np.diff(values)) + 1).tolist()
    return list(zip([0, *cuts], [*cuts, len(values)], strict=True)) if len(values) else []


def read_transcripts(transcripts: Any) -> list[tuple[str, ...]]:
    """Return the words of each utterance: a sequence of names, or one text of names with blanks between."""
    if isinstance(transcripts, str | bytes) or not hasattr(transcripts, "__len__"):
        raise DataError(
            f"transcripts={transcripts!r:.80} is not a list with a transcript for each utterance: names in a list, or "
            "in one text with blanks between."
        )
    found = []
    for b, transcript in enumerate(transcripts):
        if isinstance(transcript, str):
            found.append(tuple(transcript.split()))
        elif hasattr(transcript, "__iter__") and not isinstance(transcript, bytes | dict):
            found.append(tuple(map(str, transcript)))
            if not all(isinstance(name, str | int | np.integer | np.str_) for name in transcript):
                raise DataError(
                    f"transcripts: that of utterance {b}, {transcript!r:.80}, contains an item that is not a name."
                )
        else:
            raise DataError(f"transcripts: that of utterance {b} is {transcript!r:.80}, not a list of names or a text.")
    return found


def read_pronunciations(dictionary: Any) -> dict[str, tuple[tuple[str, ...], ...]]:
    """Check a dictionary: {word: "units with blanks"}, {word: [units]} or {word: [pronunciation, ...]}.

    Examples
    --------
    >>> read_pronunciations({"the": ["dh ah", "dh iy"], "a": "ah", "on": ["aa", "n"]})
    {'the': (('dh', 'ah'), ('dh', 'iy')), 'a': (('ah',),), 'on': (('aa', 'n'),)}
    """
    if dictionary is None:
        return {}
    if not isinstance(dictionary, Mapping):
        raise ParameterError(f"dictionary={dictionary!r:.80} is not a mapping from words to their units.")
    return {str(word): _read_ways(word, ways) for word, ways in dictionary.items()}


def _read_ways(word: Any, ways: Any) -> tuple[tuple[str, ...], ...]:
    listed = [ways] if isinstance(ways, str) else list(ways) if isinstance(ways, list | tuple | set) else None
    if listed and all(isinstance(way, str) for way in listed) and not any(" " in way.strip() for way in listed):
        listed = [listed]  # one pronunciation, as a list of its units
    found = [tuple(way.split()) if isinstance(way, str) else tuple(map(str, way)) for way in listed or ()]
    if not found or not all(way and all(way) for way in found):
        raise ParameterError(
            f"dictionary: {word!r} has {ways!r:.80}; give its units as a text with blanks between, or a list of such "
            "texts, one for each pronunciation."
        )
    return tuple(dict.fromkeys(found))
