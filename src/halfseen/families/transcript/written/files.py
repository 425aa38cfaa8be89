"""Alignments of a recording, written to a file whose extension selects the format."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Sequence
from io import StringIO
from typing import TYPE_CHECKING, Any

from halfseen.errors import ParameterError
from halfseen.families.transcript.written.captions import Caption, write_captions
from halfseen.families.transcript.written.textgrid import write_textgrid
from halfseen.whole_file import whole_file

if TYPE_CHECKING:
    from halfseen.families.transcript.alignment import Alignment, Segment

SEGMENT = ("name", "start", "end", "log_probability", "confidence", "start_sd", "end_sd", "word")
FORMATS = (".TextGrid", ".json", ".csv", ".srt", ".vtt")
LINE = 42  # characters in a line of a caption, two lines at most
PAUSE = 0.5  # seconds after which a new caption begins


def write(path: str | os.PathLike[str], alignments: Sequence[Alignment], texts: Sequence[str] | None = None) -> None:
    """Write the alignments of one recording, in the order of time, to a file whose extension selects the format.

    `texts` are the texts of captions, one for each alignment; by default captions are made of the words.
    """
    ending = os.path.splitext(os.fspath(path))[1].lower()
    words, units = ([part for one in alignments for part in one.tier(level)] for level in ("words", "units"))
    if ending == ".textgrid":
        tiers = {"words": [part[1:3] + part[:1] for part in words], "phones": [part[1:3] + part[:1] for part in units]}
        write_textgrid(path, tiers, max((one.duration for one in alignments), default=0.0))
    elif ending in (".srt", ".vtt"):
        write_captions(path, _captions(alignments, texts))
    elif ending == ".json":
        found = [one.to_dict() for one in alignments]
        with whole_file(path) as file:
            file.write(json.dumps(found[0] if len(found) == 1 else found, indent=1, ensure_ascii=False).encode())
    elif ending == ".csv":
        rows: list[Sequence[Any]] = [("level", *SEGMENT)]
        rows += [("word", *_rounded(part)) for part in words] + [("unit", *_rounded(part)) for part in units]
        text = StringIO(newline="")
        csv.writer(text, lineterminator="\n").writerows(rows)
        with whole_file(path) as file:
            file.write(text.getvalue().encode())
    else:
        raise ParameterError(f"{os.fspath(path)}: alignments are written as one of {', '.join(FORMATS)}.")


def _rounded(part: Segment) -> list[Any]:
    return [f"{value:.8g}" if isinstance(value, float) else value for value in part]


def _captions(alignments: Sequence[Alignment], texts: Sequence[str] | None) -> list[Caption]:
    """Return a caption for each text, or as many words as fit in two lines, up to a pause."""
    if texts is not None:
        pairs = [(one, text) for one, text in zip(alignments, texts, strict=True) if one.words]
        return [Caption(one.words[0].start, one.words[-1].end, text) for one, text in pairs]
    found: list[Caption] = []
    for one in alignments:
        shown: list[Segment] = []
        for word in one.words:
            text = " ".join(part.name for part in [*shown, word])
            if shown and (len(text) > 2 * LINE or word.start - shown[-1].end > PAUSE):
                found.append(_caption(shown))
                shown = []
            shown.append(word)
        found += [_caption(shown)] if shown else []
    return found


def _caption(words: Sequence[Segment]) -> Caption:
    return Caption(words[0].start, words[-1].end, " ".join(part.name for part in words))
