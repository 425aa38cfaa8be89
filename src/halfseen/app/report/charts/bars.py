"""Bars cut into grades: how certain the rows of each class are."""

from __future__ import annotations

from collections.abc import Sequence

from halfseen.app.report.charts.svg import LETTER, WIDTH, class_colour, drawing, element, text, title
from halfseen.app.report.words import cut, percent
from halfseen.leaves.leaf import Floats

BAR, STEP, TOP = 15.0, 38.0, 22.0  # height of a bar; from one to the next; room for the legend
INKS = ("#10151b", "#10151b", "#10151b", "var(--on-grade3)")  # text on each grade
LEAST = 0.08  # share of a bar that has room for its text


def graded(counts: Floats, words: Sequence[str], names: Sequence[str], unit: str, label: str) -> str:
    """Draw a bar for each class, cut into the shares of its rows in each grade.

    Parameters
    ----------
    counts : (C, 4) array     rows of each class in each grade, the least certain first
    words : sequence of str   names of the grades
    names : sequence of str   names of the classes
    unit : str                what is counted: "row"
    label : str               for screen readers
    """
    parts = _legend(words)
    for k, (name, own) in enumerate(zip(names, counts.tolist(), strict=True)):
        top, total = TOP + k * STEP, sum(own)
        parts.append(element("circle", cx=5, cy=top + 9, r=4.5, fill=class_colour(k)))
        parts.append(text(14, top + 13, f"{cut(name, 40)} ({total:,.0f} {unit}{'' if round(total) == 1 else 's'})"))
        parts += _bar(own, words, top + 17)
    return drawing(parts, WIDTH, TOP + STEP * len(names) + 2, label)


def _bar(own: list[float], words: Sequence[str], top: float) -> list[str]:
    parts, left, total = [], 0.0, sum(own) or 1.0
    for g in reversed(range(len(own))):
        share = own[g] / total
        if not share:
            continue
        box = {"x": left, "y": top, "width": share * WIDTH, "height": BAR, "fill": f"var(--grade{g})"}
        parts.append(element("rect", title(f"{words[g]}: {percent(share)}"), **box))
        if share >= LEAST:
            middle = left + share * WIDTH / 2
            parts.append(text(middle, top + 11.5, percent(share), text_anchor="middle", fill=INKS[g]))
        left += share * WIDTH
    return parts


def _legend(words: Sequence[str]) -> list[str]:
    parts, left = [], 0.0
    for g in reversed(range(len(words))):
        parts.append(element("rect", x=left, y=2.0, width=11, height=11, fill=f"var(--grade{g})"))
        parts.append(text(left + 15, 12, words[g]))
        left += 26 + LETTER * len(words[g])
    return parts
