"""Excerpts of recordings: the few seconds that the report shows and plays.

An utterance is an excerpt, a long one is cut between words into several. So neither an hour of speech nor a word that
was stretched over a minute makes a large page.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from halfseen.families.transcript.alignment import Alignment, Segment

LONGEST = 4.4  # seconds of an excerpt: a window 1280 pixels wide shows it in one line
ROOM = 0.25  # seconds before the first word and after the last, where an utterance is cut
PLACES = (("Best tenth", 0.9), ("Middle", 0.5), ("Worst tenth", 0.1))  # among excerpts by confidence


class Excerpt(NamedTuple):
    """Seconds `low` to `high` of utterance `b`, with words `first` to `last`, which is excluded."""

    b: int
    low: float
    high: float
    first: int
    last: int

    def confidence(self, words: Sequence[Segment]) -> float:
        """Return the mean confidence of its words."""
        return float(np.mean([part.confidence for part in words[self.first : self.last]] or [0.0]))


def excerpts_of(b: int, one: Alignment, seconds: float) -> Iterator[Excerpt]:
    """Yield the excerpts of an utterance, in order; `seconds` is one unit of its times."""
    length = one.duration * seconds
    if length <= LONGEST:
        yield Excerpt(b, 0.0, length, 0, len(one.words))
        return
    times = [(part.start * seconds, part.end * seconds) for part in one.words]
    first = 0
    while first < len(times):
        low = max(times[first][0] - ROOM, 0.0)
        last = first + 1
        while last < len(times) and times[last][1] + ROOM - low <= LONGEST:
            last += 1
        yield Excerpt(b, low, min(times[last - 1][1] + ROOM, length, low + LONGEST), first, last)
        first = last


def with_word(b: int, one: Alignment, at: int, seconds: float) -> Excerpt:
    """Return the excerpt that has a word."""
    return next(found for found in excerpts_of(b, one, seconds) if found.first <= at < found.last)


def examples(found: Sequence[tuple[int, Alignment]], seconds: float) -> list[tuple[str, Excerpt]]:
    """Return an excerpt from the best tenth, the middle and the worst tenth, by the mean confidence of their words."""
    known = dict(found)
    listed = [part for b, one in found for part in excerpts_of(b, one, seconds) if part.last > part.first]
    listed.sort(key=lambda part: part.confidence(known[part.b].words))
    chosen: dict[Excerpt, str] = {}
    for word, place in PLACES:
        if listed:
            chosen.setdefault(listed[round(place * (len(listed) - 1))], word)
    return [(word, part) for part, word in chosen.items()]
