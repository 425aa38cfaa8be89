"""Captions that were given with rough times, and get the times at which their words were said."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from halfseen.families.transcript.written.captions import read_captions
from halfseen.families.transcript.written.cues import Cue, Piece, Rules, pieces_of, shown_until

if TYPE_CHECKING:
    from halfseen.families.transcript.alignment import Alignment
    from halfseen.families.transcript.recordings import Recording


def retimed(pairs: Sequence[tuple[Recording, Alignment | None]], rules: Rules | None = None) -> list[Cue] | None:
    """Return the captions of one recording, each with its lines; None if its transcript is not of captions.

    They begin when their first word is said, and stay until the last was said and all can be read. Those without words,
    such as "[music]", and those that could not be aligned keep their times, as far as the others leave room.
    """
    first = pairs[0][0]
    if first.end is None or first.transcript is None:
        return None
    rough = sorted(read_captions(first.transcript))
    aligned = {int(recording.name.rpartition("#")[2]) - 1: one for recording, one in pairs if one is not None}
    found: list[Cue] = []
    sure = set()
    for number, (start, end, text) in enumerate(rough):
        one = aligned.get(number)
        if one is None or not one.words:
            found.append(Cue(start, end, _lines(text, [Piece(text, start, end)])))
            continue
        sure.add(number)
        found.append(Cue(one.words[0].start, one.words[-1].end, _lines(text, pieces_of([one]))))
    rules = Rules() if rules is None else rules
    placed = [one if i in sure else _between(found, i) for i, one in enumerate(found)]
    return [_readable(placed, i, rules) if i in sure else one for i, one in enumerate(placed)]


def _readable(cues: Sequence[Cue], i: int, rules: Rules) -> Cue:
    """Return a caption that stays until it is said, and until it is read if the next leaves room."""
    one = cues[i]
    following = cues[i + 1].start if i + 1 < len(cues) else None
    end = shown_until(one.start, one.end, len(one.caption.text), rules, following)
    return one._replace(end=max(end, min(one.end, one.end if following is None else following)))


def _lines(text: str, pieces: Sequence[Piece]) -> tuple[tuple[Piece, ...], ...]:
    """Return the lines of a caption, each piece of the text with its time."""
    words = text.split()
    timed = pieces if len(pieces) == len(words) else [pieces[0]] * len(words)
    left = iter([piece._replace(text=word) for piece, word in zip(timed, words, strict=True)])
    return tuple(tuple(next(left) for _ in line.split()) for line in text.splitlines())


def _between(cues: Sequence[Cue], i: int) -> Cue:
    """Return a caption with its rough times, cut where the captions beside it begin and end."""
    before = cues[i - 1].end if i else 0.0
    after = cues[i + 1].start if i + 1 < len(cues) else cues[i].end
    start = max(cues[i].start, before)
    return cues[i]._replace(start=start, end=max(start, min(cues[i].end, after)))
