"""What may differ between a transcript and what is said: words that were left out, and something else in a gap.

Each word of the transcript is spoken with probability 1 - left_out; otherwise it is passed over with the gap before it.
In each gap, after the optional pause, something that is not in the transcript is said with probability `inserted`: a
*filler*, one state whose density is that of all states together, and after it another optional pause may follow.

    p(x | filler)    = sum_e w_e p(x | state e),      w_e = (frames_e + 1) / sum_e' (frames_e' + 1)
    p'(x | state e)  = (1 - OUTLIERS) p(x | state e) + OUTLIERS p(x | filler)

`frames_e` is the expected number of training frames of a state. The filler lasts as long as `LASTS` units on average.
States have the densities p' where departures are allowed: a frame speaks against a word by log(1 / OUTLIERS) at most,
so that a phone that is not as in the dictionary does not make a word one that was left out.

In the posterior of `align` scores count by the acoustic scale kappa (see `certainty`), and these two probabilities as
they are: they are prior knowledge and no sum over frames. The best path is that of the same posterior.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from halfseen.errors import ParameterError
from halfseen.leaves.leaf import Floats
from halfseen.structures.transcript_passes import Scored

OTHER = "<other>"  # the name of what is not in the transcript
OUTLIERS = 0.01  # share of the frames of a state that may be anything, so that no single phone decides
LASTS = 4  # units: a short word
MOST_LEFT_OUT, LEAST_LEFT_OUT = 20, 3  # words in a row that can be left out, of short and of long transcripts
PASSES = 100_000  # ways past words in a graph: more would need gigabytes


class Rows(NamedTuple):
    """Numbers of the first moves of the rows that departures add to those of a lexicon."""

    spoken: int  # spoken, left out
    nothing: int  # nothing, something that is not in the transcript
    stay: int  # the filler: stay, leave

    @classmethod
    def after(cls, n_moves: int) -> Rows:
        """Return the rows that follow so many moves."""
        return cls(n_moves, n_moves + 2, n_moves + 4)


@dataclass(frozen=True)
class Departures:
    """Prior probabilities that a word was left out, and that something else is said in a gap; 0: never."""

    left_out: float = 0.0
    inserted: float = 0.0

    @classmethod
    def read(cls, left_out: Any, inserted: Any) -> Departures | None:
        """Return the departures that options allow; None: none."""
        found = cls(_probability("left_out", left_out), _probability("inserted", inserted))
        return None if found == cls() else found

    def moves(self, lexicon_moves: Floats, leave: float, scale: float = 1.0) -> Floats:
        """Return log-probabilities of all moves for scores times `scale`: those of the lexicon, then of `Rows`."""
        with np.errstate(divide="ignore"):
            rows = np.log([1 - self.left_out, self.left_out, 1 - self.inserted, self.inserted])
        return np.concatenate([scale * lexicon_moves, rows, scale * np.log([1 - leave, leave])])


class Background:
    """The density of all states together: of fillers, and what words are compared with.

    Parameters
    ----------
    frames : (E,) array       expected training frames of each state
    """

    def __init__(self, frames: Floats) -> None:
        weights = np.asarray(frames, dtype=np.float64) + 1.0
        self.log_weights = np.log(weights / weights.sum())

    def log_density(self, scores: Floats) -> Floats:
        """Return log p(x | any state) of frames with these scores, (n, E)."""
        weighted = scores + self.log_weights
        top = weighted.max(axis=1)
        finite = np.where(np.isfinite(top), top, 0.0)
        with np.errstate(divide="ignore"):
            return np.asarray(finite + np.log(np.exp(weighted - finite[:, None]).sum(axis=1)))

    def beside(self, scored: Scored, outliers: float = 0.0) -> Scored:
        """Return scores with one more column, the filler's; this share of the frames of a state are as the filler's."""

        def rows(first: int, last: int) -> Floats:
            scores = scored.rows(first, last)
            own = self.log_density(scores)[:, None]
            if outliers > 0:
                scores = np.logaddexp(scores + np.log1p(-outliers), own + np.log(outliers))
            return np.concatenate([scores, own], axis=1)

        return Scored(scored.n_frames, rows)

    def margins(self, scored: Scored, states: NDArray[np.int64], block: int = 4096) -> Floats:
        """Return log p'(x_t | states[t]) - log p(x_t | any state) of each frame, (T,); a filler has 0."""
        found = np.zeros(scored.n_frames)
        for first in range(0, scored.n_frames, block):
            last = min(first + block, scored.n_frames)
            scores, own = scored.rows(first, last), states[first:last]
            at = np.flatnonzero(own < len(self.log_weights))
            ratio = scores[at, own[at]] - self.log_density(scores)[at]
            found[first + at] = np.logaddexp(np.log1p(-OUTLIERS) + ratio, np.log(OUTLIERS))
        return found


def most_left_out(n_words: int) -> int:
    """Return how many words in a row can be left out of a transcript of so many.

    Examples
    --------
    >>> most_left_out(300), most_left_out(10_000), most_left_out(100_000)
    (20, 10, 3)
    """
    return max(LEAST_LEFT_OUT, min(MOST_LEFT_OUT, PASSES // max(n_words, 1)))


def filler_leaves(leave: Floats, frames: Floats, n_states: int) -> float:
    """Return the probability of leaving a filler at a frame, given those of all states and their training frames."""
    lasts = (1 / np.maximum(leave, 1e-6)).reshape(-1, n_states).sum(axis=1)
    times = (np.asarray(frames).reshape(-1, n_states).sum(axis=1) + 1.0) / lasts  # how often each unit occurred
    return float(min(0.5, times.sum() / (LASTS * (times * lasts).sum())))


def _probability(name: str, value: Any) -> float:
    if value is None:
        return 0.0
    try:
        found = float(value)
    except (TypeError, ValueError):
        found = np.nan
    if not 0 <= found < 1 or isinstance(value, bool):
        raise ParameterError(f"{name}={value!r} is not a probability: a number of at least 0, below 1, such as 0.01.")
    return found
