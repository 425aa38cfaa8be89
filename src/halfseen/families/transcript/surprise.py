"""How far an utterance, or a word, is from what is typical of the training data.

The fit of a word is the mean over its units, on the best path, of

    mean over the frames of the unit of   log p'(x_t | state_t) - log p(x_t | filler)

with the density of all states together, and those of states with a share of outliers (see `departures`): what is said
there speaks for the word, or against it. In the mean over units a wrong phone counts as much as a long right one. The
*surprise* of a word is how far its fit is below that of the training words, in robust standard deviations. Where a
recording with enough words fits worse as a whole, as that of another voice, its words are compared with each other: its
own median and spread stand for those of the training words.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from halfseen.families.transcript.departures import Background
from halfseen.families.transcript.lexicon import Layout
from halfseen.leaves.leaf import Floats
from halfseen.structures.transcript import best
from halfseen.structures.transcript_passes import Scored

FRAMES = 20_000  # of the training data from which the typical fit of words is estimated
MANY = 20  # words needed for a median and spread that a wrong one does not change
LEAST_SPREAD = 0.5  # of fits, in nats per frame: where units are clearly apart, smaller differences mean nothing
DOUBTFUL = 4.0  # surprise of a word above which it is marked


class Typical(NamedTuple):
    """Of some values: median, and 1.4826 times the median distance from it; 0 and 0 where they are not known."""

    centre: float = 0.0
    spread: float = 0.0

    @classmethod
    def of(cls, values: Floats) -> Typical:
        """Return the median and spread of some values."""
        centre = float(np.median(values))
        return cls(centre, 1.4826 * float(np.median(np.abs(values - centre))))

    def surprise(self, value: float) -> float:
        """Return how far a value is below the centre, in spreads."""
        return (self.centre - value) / self.spread if self.spread > 0 else 0.0

    def beside(self, own: Floats) -> Typical:
        """Return what values are compared with: their own median and spread if there are many and these are worse.

        Examples
        --------
        >>> Typical(3.0, 1.0).beside(np.array([-9.0, 2.0]))
        Typical(centre=3.0, spread=1.0)
        >>> Typical(3.0, 1.0).beside(np.linspace(0.0, 2.0, 21))
        Typical(centre=1.0, spread=1.0)
        """
        if len(own) < MANY:
            return self
        found = Typical.of(own)
        if self == Typical():
            return found
        return Typical(min(self.centre, found.centre), max(self.spread, found.spread))


def word_fits(layout: Layout, units: Sequence[tuple[int, int, int]], margins: Floats) -> dict[int, float]:
    """Return the fit of each word on the best path, given its units as (number of the piece, first frame, last + 1)."""
    sums = np.concatenate([[0.0], np.cumsum(margins)])
    found: dict[int, list[float]] = {}
    for piece, first, last in units:
        word = layout.pieces[piece].word
        if word >= 0:
            found.setdefault(word, []).append(float(sums[last] - sums[first]) / (last - first))
    return {word: sum(values) / len(values) for word, values in found.items()}


def word_surprises(fits: dict[int, float], typical: Typical) -> dict[int, float]:
    """Return the surprise of each word of an utterance; 0 where nothing is known of other words."""
    about = typical.beside(np.array(list(fits.values())))
    if about == Typical():
        return dict.fromkeys(fits, 0.0)
    about = about._replace(spread=max(about.spread, LEAST_SPREAD))
    return {word: about.surprise(fit) for word, fit in fits.items()}


def typical_words(moves: Floats, background: Background, utterances: Iterable[tuple[Layout, Scored]]) -> Typical:
    """Return the typical fit of the words of the first utterances, up to `FRAMES` frames."""
    fits: list[float] = []
    seen = 0
    for layout, scored in utterances:
        way = best(layout.graph, moves, scored)
        seen += scored.n_frames
        if way.log_joint > -np.inf:
            margins = background.margins(scored, layout.graph.owner[way.nodes])
            fits += word_fits(layout, layout.units_along(way.nodes), margins).values()
        if seen >= FRAMES:
            break
    known = np.array(fits)
    known = known[np.isfinite(known)]
    return Typical.of(known) if len(known) else Typical()
