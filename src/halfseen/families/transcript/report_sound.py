"""Excerpts of recordings as figures that can be played."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil, floor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from halfseen.app.report import audio
from halfseen.app.report.charts.sound import EVERY, Clip, Mark, tiles
from halfseen.app.report.parts import Sound
from halfseen.app.report.words import cut, number
from halfseen.families.transcript.alignment import Alignment, Segment
from halfseen.families.transcript.report_doubtful import is_doubtful
from halfseen.families.transcript.report_excerpts import Excerpt
from halfseen.families.transcript.sound.features import RAISED, spectrogram

MOST_SOUND = 2_000_000  # letters of all embedded sounds: about 90 seconds
TOP_FREQUENCY = 8000.0  # Hz


class Heard(NamedTuple):
    """The sound of an excerpt: samples (n,), their rate, and the second at which it begins in its file."""

    samples: NDArray[np.float64]
    rate: int
    begin: float


class Gallery:
    """The figures of a page, each made once; their sounds together have at most `MOST_SOUND` letters.

    Parameters
    ----------
    corpus : AudioFolder
    seconds : float           one unit of the times of the alignments
    """

    def __init__(self, corpus: Any, seconds: float) -> None:
        self.corpus, self.seconds = corpus, seconds
        self.made: dict[Excerpt, Sound] = {}
        self.n_silent, self._size = 0, 0

    def figures(self, found: Sequence[tuple[str, Excerpt, Alignment]]) -> list[Sound]:
        """Return figures of (what it is, excerpt, alignment) that have none yet."""
        new = [one for one in found if one[1] not in self.made]
        return [self._figure(*one) for one in {one[1]: one for one in new}.values()]

    def key(self, excerpt: Excerpt) -> str:
        """Return the key of a figure that was made."""
        return self.made[excerpt].key

    def _figure(self, what: str, excerpt: Excerpt, one: Alignment) -> Sound:
        heard, key = self._heard(excerpt), f"sound-{len(self.made) + 1}"
        uri = audio.data_uri(heard.samples, heard.rate)
        if self._size + len(uri) > MOST_SOUND:
            self.n_silent, uri = self.n_silent + 1, ""
        self._size += len(uri)
        clip = self._clip(key, heard, excerpt, one)
        times = f"{clock(heard.begin)} to {clock(heard.begin + clip.seconds)}"
        name = f"{cut(self.corpus.names[excerpt.b])}, {times}"
        said = " ".join(mark.name for mark in clip.words)
        top = min(TOP_FREQUENCY, heard.rate / 2) / 1000
        caption = f"Mean confidence of the words {excerpt.confidence(one.words):.2f}. Frequencies up to {top:g} kHz."
        if not uri:
            caption += " Its sound is left out: the page has as much sound as it may."
        self.made[excerpt] = Sound(
            key,
            f"{what}: {name}" if what else name,
            f"Waveform, spectrogram, words and units of {name}: {said}",
            tiles(clip, list(_ticks(heard.begin, clip.seconds))),
            caption,
            uri,
        )
        return self.made[excerpt]

    def _heard(self, excerpt: Excerpt) -> Heard:
        """Return the sound of an excerpt, copied so that the recording need not stay in memory."""
        samples, rate = self.corpus.samples(excerpt.b)
        part = samples[floor(excerpt.low * rate) : ceil(excerpt.high * rate)].copy()
        return Heard(part, rate, self.corpus.recordings[excerpt.b].start + excerpt.low)

    def _clip(self, key: str, heard: Heard, excerpt: Excerpt, one: Alignment) -> Clip:
        power = _power(heard)
        words, units = (self._marks(one.tier(level), heard, excerpt) for level in ("words", "units"))
        if [part.name for part in one.units if part.word >= 0] == [part.name for part in one.words]:
            units = []  # they are the words
        return Clip(key, heard.samples, heard.rate, power, words, units)

    def _marks(self, parts: Sequence[Segment], heard: Heard, excerpt: Excerpt) -> list[Mark]:
        """Return words or units that begin or end in an excerpt, with their times in it."""
        found, length = [], len(heard.samples) / heard.rate
        for part in parts:
            start, end = (time * self.seconds - excerpt.low for time in (part.start, part.end))
            if end <= 0 or start >= length:
                continue
            when = f"{clock(heard.begin + start)} to {clock(heard.begin + end)}"
            spread = f"start ± {number(1000 * part.start_sd * self.seconds, 2)} ms"
            note = f"{part.written}, {when}, confidence {part.confidence:.2f}, {spread}"
            sds = (part.start_sd * self.seconds, part.end_sd * self.seconds)
            sure = part.word < 0 or not is_doubtful(part, self.seconds)
            found.append(Mark(part.written, start, end, *sds, part.confidence, sure, note))
        return found


def _power(heard: Heard) -> NDArray[np.float64]:
    """Return a spectrogram up to 8 kHz, of sound whose high frequencies are raised as for the features."""
    raised = heard.samples - RAISED * np.concatenate([heard.samples[:1], heard.samples[:-1]])
    _, frequencies, logs = spectrogram(raised, heard.rate)
    logs = logs[frequencies <= TOP_FREQUENCY]
    even = logs[: len(logs) // 2 * 2]
    return np.logaddexp(even[::2], even[1::2])  # 80 bands of 80 Hz are as fine as the picture


def _ticks(begin: float, seconds: float) -> Iterator[tuple[float, str]]:
    """Yield the times to show, in seconds from the start of a clip, and how they are written."""
    for i in range(ceil(begin / EVERY), floor((begin + seconds) / EVERY) + 1):
        yield i * EVERY - begin, clock(i * EVERY, 1)


def clock(seconds: float, digits: int = 2) -> str:
    """Return a time within a recording: seconds, or minutes and hours before them.

    Examples
    --------
    >>> clock(1.5), clock(75.25), clock(3675.25), clock(62.5, 1)
    ('1.50 s', '1:15.25', '1:01:15.25', '1:02.5')
    """
    seconds = round(seconds, digits)
    if seconds < 60:
        return f"{seconds:.{digits}f} s"
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(int(minutes), 60)
    head = f"{hours}:{minutes:02d}" if hours else f"{minutes}"
    return f"{head}:{rest:0{digits + 3}.{digits}f}"
