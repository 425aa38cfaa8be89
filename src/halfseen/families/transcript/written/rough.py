"""Captions that were given with rough times, and get the times at which their words were said."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from halfseen.families.transcript.written.captions import Caption, read_captions

if TYPE_CHECKING:
    from halfseen.families.transcript.alignment import Alignment
    from halfseen.families.transcript.recordings import Recording


def retimed(pairs: Sequence[tuple[Recording, Alignment | None]]) -> list[Caption] | None:
    """Return the captions of one recording, each with its text; None if its transcript is not of captions.

    Those without words, such as "[music]", and those that could not be aligned keep their times, as far as the others
    leave room.
    """
    first = pairs[0][0]
    if first.end is None or first.transcript is None:
        return None
    found = sorted(read_captions(first.transcript))
    sure = set()
    for recording, one in pairs:
        if one is not None and one.words:
            number = int(recording.name.rpartition("#")[2]) - 1
            found[number] = Caption(one.words[0].start, one.words[-1].end, found[number].text)
            sure.add(number)
    return [one if i in sure else _between(found, i) for i, one in enumerate(found)]


def _between(captions: Sequence[Caption], i: int) -> Caption:
    """Return a caption with its rough times, cut where the captions beside it begin and end."""
    before = captions[i - 1].end if i else 0.0
    after = captions[i + 1].start if i + 1 < len(captions) else captions[i].end
    start = max(captions[i].start, before)
    return captions[i]._replace(start=start, end=max(start, min(captions[i].end, after)))
