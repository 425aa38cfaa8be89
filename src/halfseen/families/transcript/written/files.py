"""Alignments of a recording, written to a file whose extension selects the format."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from io import StringIO
from itertools import groupby
from typing import TYPE_CHECKING, Any

from halfseen.errors import ParameterError
from halfseen.families.transcript.written.captions import Caption, write_captions
from halfseen.families.transcript.written.cues import Cue, Rules, cues_of, pieces_of
from halfseen.families.transcript.written.elan import write_elan
from halfseen.families.transcript.written.textgrid import write_textgrid
from halfseen.families.transcript.written.tokens import text_of
from halfseen.whole_file import whole_file

if TYPE_CHECKING:
    from halfseen.families.transcript.alignment import Alignment, Segment

SEGMENT = (
    *("name", "start", "end", "log_probability", "confidence", "start_sd", "end_sd", "word"),
    *("surprise", "spoken", "text"),
)
FORMATS = (".TextGrid", ".json", ".csv", ".srt", ".vtt", ".words.vtt", ".eaf", ".ctm")
Span = tuple[float, float, str]


@dataclass(frozen=True)
class Content:
    """What is written: the alignments of one recording, in the order of time.

    Attributes
    ----------
    alignments : sequence of Alignment
    given : sequence of Cue or None     captions, if they are given and not made by the rules
    rules : Rules                       of captions
    media : path or None                the sound file
    """

    alignments: Sequence[Alignment]
    given: Sequence[Cue] | None = None
    rules: Rules = field(default_factory=Rules)
    media: str | os.PathLike[str] | None = None

    @property
    def cues(self) -> Sequence[Cue]:
        """The captions."""
        if self.given is not None:
            return self.given
        return cues_of(pieces_of(self.alignments), self.rules, self.duration)

    @property
    def duration(self) -> float:
        """The end of the last alignment."""
        return max((one.duration for one in self.alignments), default=0.0)

    @property
    def words(self) -> list[Segment]:
        """The words of all alignments."""
        return [part for one in self.alignments for part in one.words]

    @property
    def spoken(self) -> list[Segment]:
        """The words of all alignments, and what is not in the transcript, by time."""
        found = [part for one in self.alignments for part in (*one.words, *one.inserted)]
        return sorted(found, key=lambda part: part.start)

    @property
    def units(self) -> list[Segment]:
        """The units of all alignments."""
        return [part for one in self.alignments for part in one.units]


def write(
    path: str | os.PathLike[str],
    alignments: Sequence[Alignment],
    given: Sequence[Cue] | None = None,
    *,
    rules: Rules | None = None,
    media: str | os.PathLike[str] | None = None,
) -> None:
    """Write the alignments of one recording, in the order of time, to a file whose extension selects the format."""
    ending = ending_of(path)
    if ending is None:
        raise ParameterError(f"{os.fspath(path)}: alignments are written as one of {', '.join(FORMATS)}.")
    WRITERS[ending](path, Content(alignments, given, Rules() if rules is None else rules, media))


def ending_of(path: str | os.PathLike[str]) -> str | None:
    """Return the format that the name of a file asks for; None if there is none.

    Examples
    --------
    >>> ending_of("talk.textgrid"), ending_of("talk.words.vtt"), ending_of("talk.doc")
    ('.TextGrid', '.words.vtt', None)
    """
    name = os.fspath(path).lower()
    return max((known for known in FORMATS if name.endswith(known.lower())), key=len, default=None)


def _write_textgrid(path: str | os.PathLike[str], content: Content) -> None:
    tiers = {**_sentences(content), "words": _spans(content.spoken), "phones": _spans(content.units)}
    write_textgrid(path, tiers, max((one.duration for one in content.alignments), default=0.0))


def _write_elan(path: str | os.PathLike[str], content: Content) -> None:
    spoken = [part for part in content.units if part.word >= 0]
    shown = [(part.start, part.end, part.written) for part in content.words]
    write_elan(path, {**_sentences(content), "words": shown, "phones": _spans(spoken)}, content.media)


def _write_captions(path: str | os.PathLike[str], content: Content) -> None:
    write_captions(path, [cue.caption for cue in content.cues])


def _write_timed_captions(path: str | os.PathLike[str], content: Content) -> None:
    write_captions(path, [Caption(cue.start, cue.end, cue.timed_text) for cue in content.cues], marked=True)


def _write_json(path: str | os.PathLike[str], content: Content) -> None:
    found = [one.to_dict() for one in content.alignments]
    with whole_file(path) as file:
        file.write(json.dumps(found[0] if len(found) == 1 else found, indent=1, ensure_ascii=False).encode())


def _write_csv(path: str | os.PathLike[str], content: Content) -> None:
    rows: list[Sequence[Any]] = [("level", *SEGMENT)]
    for level, tier in (("word", "words"), ("left out", "left_out"), ("unit", "units")):
        rows += [(level, *_rounded(part)) for one in content.alignments for part in one.tier(tier)]
    text = StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows(rows)
    with whole_file(path) as file:
        file.write(text.getvalue().encode())


def _write_ctm(path: str | os.PathLike[str], content: Content) -> None:
    """Write lines of NIST's format: recording, channel, start, duration, word, confidence."""
    name = content.alignments[0].name.partition("#")[0] if content.alignments else ""
    name = "_".join(name.split()) or "recording"
    rows = [
        f"{name} 1 {part.start:.3f} {part.end - part.start:.3f} {part.name} {part.confidence:.3f}"
        for part in content.words
    ]
    with whole_file(path) as file:
        file.write("".join(f"{row}\n" for row in rows).encode())


WRITERS: dict[str, Callable[[str | os.PathLike[str], Content], None]] = {
    ".TextGrid": _write_textgrid,
    ".json": _write_json,
    ".csv": _write_csv,
    ".srt": _write_captions,
    ".vtt": _write_captions,
    ".words.vtt": _write_timed_captions,
    ".eaf": _write_elan,
    ".ctm": _write_ctm,
}


def _spans(parts: Sequence[Segment]) -> list[Span]:
    return [(part.start, part.end, part.name) for part in parts]


def _sentences(content: Content) -> dict[str, list[Span]]:
    """Return the tier of sentences; of several utterances, as of captions, they are the tier. Without text: none."""
    if len(content.alignments) > 1:
        spoken = [one for one in content.alignments if one.words]
        return {"utterances": [(one.words[0].start, one.words[-1].end, _line(one.text)) for one in spoken]}
    found: list[Span] = []
    for one in content.alignments:
        times: dict[int, tuple[float, float]] = {}
        for part in one.words if one.tokens else ():
            if part.word >= 0:
                number = one.tokens[part.word].sentence
                times[number] = (times.get(number, (part.start, part.end))[0], part.end)
        for number, group in groupby(one.tokens, key=lambda token: token.sentence):
            if number in times:
                found.append((*times[number], _line(text_of(list(group)))))
    return {"sentences": found} if found else {}


def _line(text: str) -> str:
    return " ".join(text.split())


def _rounded(part: Segment) -> list[Any]:
    return [f"{value:.8g}" if isinstance(value, float) else value for value in part]
