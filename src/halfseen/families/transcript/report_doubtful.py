"""Words to listen to: those that are uncertain, have a vague start, or fit badly, or are in such an utterance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from halfseen.families.transcript.alignment import Alignment, Segment
from halfseen.families.transcript.surprise import DOUBTFUL

SURE = 0.5  # confidence below which a word is worth a look
VAGUE = 0.05  # standard deviation of a start, in seconds, above which it is: half a syllable
ODD = 5.0  # surprise above which a transcript is probably wrong
AROUND = 3  # words before and after, as the context


class Doubtful(NamedTuple):
    """A word that is worth a look.

    Attributes
    ----------
    b : int             number of its utterance
    at : int            number of the word among the aligned words
    degree : float      1 where it begins to be doubtful; the worst have the most
    reasons : tuple of str
    """

    b: int
    at: int
    degree: float
    reasons: tuple[str, ...]


def doubtful_words(found: Sequence[tuple[int, Alignment]], seconds: float, top: int) -> list[Doubtful]:
    """Return the most doubtful words, the worst first.

    degree = max((1 - confidence) / (1 - SURE), start_sd / VAGUE, surprise / DOUBTFUL, surprise / ODD of the utterance)

    Of an utterance that fits badly only the least certain word is listed for that reason.

    Parameters
    ----------
    found : sequence of (number, Alignment)
    seconds : float     one unit of the times of the alignments
    top : int
    """
    listed = [_judged(b, one, at, seconds) for b, one in found for at in range(len(one.words))]
    ranked = sorted((word for word in listed if word.degree > 1), key=lambda word: -word.degree)
    return ranked[:top]


def _judged(b: int, one: Alignment, at: int, seconds: float) -> Doubtful:
    part = one.words[at]
    vague = part.start_sd * seconds
    least = min(range(len(one.words)), key=lambda i: one.words[i].confidence)
    odd = one.surprise if at == least else 0.0
    degrees = {
        f"confidence {part.confidence:.2f}": (1 - part.confidence) / (1 - SURE),
        f"start ± {1000 * vague:.0f} ms": vague / VAGUE,
        f"does not sound like it: surprise {part.surprise:.1f}": part.surprise / DOUBTFUL,
        f"the utterance fits badly: surprise {one.surprise:.1f}": odd / ODD,
    }
    reasons = sorted((words for words, degree in degrees.items() if degree > 1), key=lambda words: -degrees[words])
    return Doubtful(b, at, max(degrees.values()), tuple(reasons))


def is_doubtful(part: Segment, seconds: float) -> bool:
    """Whether a word or unit has a low confidence or a vague start, or fits badly."""
    return part.confidence < SURE or part.start_sd * seconds > VAGUE or part.surprise > DOUBTFUL


def in_context(one: Alignment, at: int) -> str:
    """Return a word in brackets between its neighbours."""
    first, last = max(0, at - AROUND), min(len(one.words), at + AROUND + 1)
    words = [part.written for part in one.words[first:last]]
    words[at - first] = f"[{words[at - first]}]"
    return " ".join([*(["…"] if first else []), *words, *(["…"] if last < len(one.words) else [])])
