"""Closed captions: SubRip (.srt) and WebVTT (.vtt), read and written."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from halfseen.data.encodings import read_text
from halfseen.errors import DataError
from halfseen.whole_file import whole_file

__all__ = ["Caption", "read_captions", "write_captions"]

TIME = r"(?:(\d{1,6}):)?(\d{1,2}):(\d{1,2})[,.](\d{1,3})"
TIMES = re.compile(rf"(?<![\d:]){TIME}\s*+-->\s*+{TIME}(?!\d)")
MARKUP = re.compile(r"<[^<>]*+>|\{\\[^{}]*+\}|&nbsp;")  # each letter is looked at once
ENTITIES = (("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&"))


class Caption(NamedTuple):
    """A text that is shown from `start` to `end`, in seconds."""

    start: float
    end: float
    text: str


def read_captions(path: str | os.PathLike[str]) -> list[Caption]:
    """Return the captions of an SRT or WebVTT file, without markup; numbers, notes and styles are left out.

    Examples
    --------
    >>> import tempfile, os
    >>> path = os.path.join(tempfile.mkdtemp(), "a.srt")
    >>> write_captions(path, [Caption(1.5, 2.25, "Hello there.")])
    >>> read_captions(path)
    [Caption(start=1.5, end=2.25, text='Hello there.')]
    """
    found: list[Caption] = []
    for number, lines in _blocks(read_text(path)):
        at = next((i for i, line in enumerate(lines) if "-->" in line), None)
        if at is None:
            continue
        where, times = f"{os.fspath(path)}, line {number + at}", TIMES.search(lines[at])
        if times is None:
            raise DataError(f"{where}: {lines[at]!r:.80} is not of the form 00:00:01,000 --> 00:00:02,500.")
        start, end = _seconds(times.groups()[:4]), _seconds(times.groups()[4:])
        if end < start:
            raise DataError(f"{where}: a caption ends before it begins: {lines[at]!r:.80}.")
        words = MARKUP.sub(" ", " ".join(lines[at + 1 :]))
        for entity, character in ENTITIES:
            words = words.replace(entity, character)
        found.append(Caption(start, end, " ".join(words.split())))
    if not found:
        raise DataError(f"{os.fspath(path)}: there is no caption in it: no line with -->.")
    return found


def _blocks(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the lines between empty ones, with the number of the first."""
    block: list[str] = []
    for number, line in enumerate([*text.splitlines(), ""], start=1):
        if line.strip(" \t"):
            block.append(line)
        elif block:
            yield number - len(block), block
            block = []


def _seconds(parts: Sequence[str | None]) -> float:
    hours, minutes, seconds, fraction = parts
    return int(hours or 0) * 3600 + int(minutes or 0) * 60 + int(seconds or 0) + float(f"0.{fraction}")


def write_captions(path: str | os.PathLike[str], captions: Sequence[Caption]) -> None:
    """Write captions: WebVTT to a name that ends in .vtt, else SRT."""
    vtt = os.fspath(path).lower().endswith(".vtt")
    blocks = ["WEBVTT"] if vtt else []
    for number, (start, end, text) in enumerate(captions, start=1):
        times = f"{_clock(start, vtt)} --> {_clock(end, vtt)}"
        shown = text
        for entity, character in reversed(ENTITIES) if vtt else ():
            shown = shown.replace(character, entity)
        blocks.append(f"{times}\n{shown}" if vtt else f"{number}\n{times}\n{shown}")
    with whole_file(Path(path)) as file:
        file.write(("\n\n".join(blocks) + "\n").encode())


def _clock(seconds: float, vtt: bool) -> str:
    thousandths = round(seconds * 1000)
    hours, rest = divmod(thousandths, 3_600_000)
    minutes, rest = divmod(rest, 60_000)
    return f"{hours:02d}:{minutes:02d}:{rest // 1000:02d}{'.' if vtt else ','}{rest % 1000:03d}"
