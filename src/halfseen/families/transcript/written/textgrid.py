"""Praat's TextGrid: tiers of named intervals, read in its long and short forms, written in the short one.

Like Praat, the reader uses only free-standing tokens: quoted texts, numbers and flags. Names of fields and
numbers in brackets are ignored.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from halfseen.data.encodings import read_text
from halfseen.errors import DataError
from halfseen.whole_file import whole_file

__all__ = ["Interval", "read_textgrid", "write_textgrid"]

NUMBER = r"(?<![\w\[.+-])[-+]?\d++(?:\.\d*+)?(?:[eE][-+]?\d++)?(?![\w\]])"  # each digit is looked at once
TOKEN = re.compile(rf'"(?:[^"]|"")*+"|<\w++>|{NUMBER}')


class Interval(NamedTuple):
    """A piece of time with a text; a point has no length."""

    start: float
    end: float
    text: str


def read_textgrid(path: str | os.PathLike[str]) -> dict[str, list[Interval]]:
    """Return the intervals of every tier by its name.

    Examples
    --------
    >>> import tempfile, os
    >>> path = os.path.join(tempfile.mkdtemp(), "a.TextGrid")
    >>> write_textgrid(path, {"words": [Interval(0.25, 0.5, 'say "a"')]}, 1.0)
    >>> [tuple(interval) for interval in read_textgrid(path)["words"]]
    [(0.0, 0.25, ''), (0.25, 0.5, 'say "a"'), (0.5, 1.0, '')]
    """
    name = os.fspath(path)
    text = read_text(name)
    at = 0

    def read() -> Iterator[str]:
        nonlocal at
        for match in TOKEN.finditer(text):
            at = match.start()
            yield match[0]
        at = len(text)

    tokens = read()
    try:
        if (next(tokens), next(tokens)) != ('"ooTextFile"', '"TextGrid"'):
            raise DataError(f"{name}: this is not a TextGrid file: it does not begin with ooTextFile and TextGrid.")
        next(tokens), next(tokens)
        if next(tokens) != "<exists>":
            return {}
        return dict(_tier(tokens) for _ in range(int(next(tokens))))
    except (StopIteration, RuntimeError, ValueError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(
            f"{name}, line {text.count(chr(10), 0, at) + 1}: the TextGrid ends too early, or has another token where a "
            "number or a text is expected."
        ) from None


def _tier(tokens: Iterator[str]) -> tuple[str, list[Interval]]:
    kind, name = _unquoted(next(tokens)), _unquoted(next(tokens))
    next(tokens), next(tokens)
    found = []
    for _ in range(int(next(tokens))):
        start = float(next(tokens))
        end = float(next(tokens)) if kind == "IntervalTier" else start
        found.append(Interval(start, end, _unquoted(next(tokens))))
    return name, found


def _unquoted(token: str) -> str:
    if not token.startswith('"'):
        raise ValueError(token)
    return token[1:-1].replace('""', '"')


def write_textgrid(
    path: str | os.PathLike[str], tiers: Mapping[str, Sequence[tuple[float, float, str]]], duration: float
) -> None:
    """Write tiers of intervals in their order; gaps are filled with empty ones, as Praat requires.

    An interval that overlaps the previous one is shortened; if nothing remains, it is left out.
    """
    lines = ['File type = "ooTextFile"', 'Object class = "TextGrid"', "", "0", _number(duration), "<exists>"]
    lines.append(str(len(tiers)))
    for name, intervals in tiers.items():
        filled = list(_filled(intervals, duration))
        lines += ['"IntervalTier"', _quoted(name), "0", _number(duration), str(len(filled))]
        for start, end, text in filled:
            lines += [_number(start), _number(end), _quoted(text)]
    with whole_file(Path(path)) as file:
        file.write(("\n".join(lines) + "\n").encode())


def _filled(intervals: Sequence[tuple[float, float, str]], duration: float) -> Iterator[tuple[float, float, str]]:
    at = 0.0
    for start, end, text in intervals:
        if start > at + 1e-9:
            yield at, start, ""
        if end > at + 1e-9:
            yield max(start, at), end, text
            at = end
    if at < duration - 1e-9 or not intervals:
        yield at, duration, ""


def _number(value: float) -> str:
    return f"{round(value, 9):.10g}"


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'
