"""The links of a pair of sentences as a matrix: source words down, target words across."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from halfseen.app.report.charts.svg import LETTER, drawing, element, text, title
from halfseen.app.report.words import cut
from halfseen.leaves.leaf import Floats

CELL = 19.0
LONGEST = 16  # letters of a word
FAINTEST = 0.02  # probability below which a cell stays empty


def links(
    source: Sequence[str], target: Sequence[str], found: Iterable[tuple[int, int]], proba: Floats, label: str
) -> str:
    """Draw a matrix: shades are the probabilities of links, dots the links."""
    down, across = ([cut(word, LONGEST) for word in words] for words in (source, target))
    left = 8 + LETTER * max(map(len, down), default=0)
    top = 10 + 0.9 * LETTER * max(map(len, across), default=0)
    parts = [text(left - 5, top + CELL * (i + 0.68), word, text_anchor="end") for i, word in enumerate(down)]
    for j, word in enumerate(across):
        x, y = left + CELL * (j + 0.62), top - 5
        parts.append(text(x, y, word, transform=f"rotate(-60 {x:.1f} {y:.1f})"))
    parts += [
        _cell(left + CELL * j, top + CELL * i, float(proba[i, j]), f"{source[i]} – {target[j]}")
        for i in range(len(down))
        for j in range(len(across))
    ]
    parts += [element("circle", cx=left + CELL * (j + 0.5), cy=top + CELL * (i + 0.5), r=4.2) for i, j in found]
    width = left + CELL * len(across) + 0.6 * LETTER * max(map(len, across), default=0) + 4
    return drawing(parts, width, top + CELL * len(down) + 4, label, natural=True)


def _cell(x: float, y: float, p: float, words: str) -> str:
    box = {"x": x, "y": y, "width": CELL, "height": CELL, "stroke": "var(--line)"}
    if p < FAINTEST:
        return element("rect", fill="none", **box)
    return element("rect", title(f"{words}: {p:.2f}"), fill="var(--blue)", fill_opacity=f"{0.75 * p:.2f}", **box)
