"""Words of an utterance along its time, in lines as wide as a phone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from halfseen.app.report.charts.svg import LETTER, WIDTH, class_colour, drawing, element, text, title
from halfseen.app.report.words import cut

LINE, BAR = 46.0, 20.0  # from one line to the next; height of a bar
PALE, SOLID = 0.2, 0.5  # opacity of uncertain and of certain words
WORDS = 7  # of a line


class Piece(NamedTuple):
    """A word: its name, start and end, confidence, and the number of its colour."""

    name: str
    start: float
    end: float
    confidence: float
    k: int


def segments(pieces: Sequence[Piece], shown: Sequence[tuple[str, str]], sure: float, label: str) -> str:
    """Draw words as bars as long as they last; those with a confidence below `sure` are pale.

    `shown` are start and end of each word in words.
    """
    parts = []
    lines = [range(first, min(first + WORDS, len(pieces))) for first in range(0, len(pieces), WORDS)]
    for row, line in enumerate(lines):
        low, high = pieces[line[0]].start, pieces[line[-1]].end
        scale = (WIDTH - 2) / max(high - low, 1e-9)
        top = 4 + row * LINE
        for i in line:
            x, width = 1 + (pieces[i].start - low) * scale, (pieces[i].end - pieces[i].start) * scale
            parts += _bar(pieces[i], x, width, top, sure, f"{shown[i][0]} to {shown[i][1]}")
        parts.append(text(1, top + BAR + 14, shown[line[0]][0], fill="var(--soft)"))
        parts.append(text(WIDTH - 1, top + BAR + 14, shown[line[-1]][1], text_anchor="end", fill="var(--soft)"))
    return drawing(parts, WIDTH, 4 + LINE * len(lines), label)


def _bar(piece: Piece, x: float, width: float, top: float, sure: float, when: str) -> list[str]:
    words = title(f"{piece.name}, {when}, confidence {piece.confidence:.2f}")
    opacity = SOLID if piece.confidence >= sure else PALE
    box = {"x": x, "y": top, "width": max(width, 0.5), "height": BAR, "stroke": "var(--paper)"}
    parts = [element("rect", words, fill=class_colour(piece.k), fill_opacity=opacity, **box)]
    letters = int((width - 4) / LETTER)
    if letters >= min(len(piece.name), 2):
        name = piece.name if len(piece.name) <= letters else cut(piece.name, letters)
        parts.append(text(x + width / 2, top + 14, name, text_anchor="middle"))
    return parts
