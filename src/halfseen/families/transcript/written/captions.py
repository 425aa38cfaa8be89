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
BREAK = re.compile(r"<br\s*+/?>")
MARKUP = re.compile(r"<[^<>]*+>|\{\\[^{}]*+\}")  # each letter is looked at once
ENTITIES = (("&nbsp;", " "), ("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&"))


class Caption(NamedTuple):
    """A text that is shown from `start` to `end`, in seconds; it may have several lines."""

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
        found.append(Caption(start, end, _plain("\n".join(lines[at + 1 :]))))
    if not found:
        raise DataError(f"{os.fspath(path)}: there is no caption in it: no line with -->.")
    return found


def _plain(shown: str) -> str:
    """Return a text without markup and entities; its lines are kept, those without text left out."""
    shown = MARKUP.sub("", BREAK.sub("\n", shown))
    for entity, character in ENTITIES:
        shown = shown.replace(entity, character)
    return "\n".join(" ".join(line.split()) for line in shown.splitlines() if line.strip())


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
    whole = int(hours or 0) * 3600 + int(minutes or 0) * 60 + int(seconds or 0)
    return (1000 * whole + int((fraction or "").ljust(3, "0"))) / 1000  # rounded once


def write_captions(path: str | os.PathLike[str], captions: Sequence[Caption], marked: bool = False) -> None:
    """Write captions: WebVTT to a name that ends in .vtt, else SRT. Text of WebVTT with markup is `marked`."""
    vtt = os.fspath(path).lower().endswith(".vtt")
    blocks = ["WEBVTT"] if vtt else []
    for number, (start, end, text) in enumerate(captions, start=1):
        times = f"{clock(start, vtt)} --> {clock(end, vtt)}"
        shown = escaped(text) if vtt and not marked else text
        blocks.append(f"{times}\n{shown}" if vtt else f"{number}\n{times}\n{shown}")
    with whole_file(Path(path)) as file:
        file.write(("\n\n".join(blocks) + "\n").encode())


def escaped(text: str) -> str:
    """Return a text as WebVTT has it."""
    for entity, character in reversed(ENTITIES[1:]):
        text = text.replace(character, entity)
    return text


def clock(seconds: float, vtt: bool) -> str:
    """Return a time as captions have it."""
    thousandths = round(seconds * 1000)
    hours, rest = divmod(thousandths, 3_600_000)
    minutes, rest = divmod(rest, 60_000)
    return f"{hours:02d}:{minutes:02d}:{rest // 1000:02d}{'.' if vtt else ','}{rest % 1000:03d}"
