"""Lines with markers: information criteria against numbers of classes, the objective by iteration."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from halfseen.app.report.charts.svg import LETTER, RIGHT, TOP, WIDTH, Frame, Tick, drawing, element, padded, text, title

HEIGHT = 250.0
CRITERIA = {"bic": ("var(--blue)", ""), "aic": ("var(--red)", "5 3"), "icl": ("var(--gold)", "1.5 3")}
SHAPES = ("var(--blue)", "var(--red)", "var(--gold)", "var(--good)", "var(--c3)", "var(--c5)")
DASHES = ("", "5 3", "1.5 3", "8 3 2 3")
MOST_MARKERS = 40


class Line(NamedTuple):
    """A line: its name, points (x, y), colour, and dashes as SVG has them."""

    name: str
    points: Sequence[tuple[float, float]]
    colour: str
    dashes: str = ""


def selection(tried: dict[str, list[Any]], criterion: str, what: str, label: str) -> str:
    """Draw the criteria of the numbers of classes tried, or of the shapes of covariance; the chosen one is ringed."""
    sizes, shapes = tried["n_components"], tried.get("covariance")
    one_size = len(set(sizes)) == 1
    places = list(range(len(sizes))) if one_size else sizes
    if shapes is None or one_size:
        lines = [
            Line(name.upper(), list(zip(places, tried[name], strict=True)), *style) for name, style in CRITERIA.items()
        ]
    else:
        own = {shape: [i for i, other in enumerate(shapes) if other == shape] for shape in dict.fromkeys(shapes)}
        lines = [
            Line(shape, [(sizes[i], tried[criterion][i]) for i in at], SHAPES[n % len(SHAPES)], DASHES[n % len(DASHES)])
            for n, (shape, at) in enumerate(own.items())
        ]
    chosen = tried["chosen"].index(True)
    named = [(float(p), str(shapes[p]) if one_size and shapes else str(p)) for p in _some(sorted(set(places)))]
    ring = (places[chosen], tried[criterion][chosen])
    y_label = "lower is better" if shapes is None or one_size else f"{criterion.upper()}, lower is better"
    return chart(lines, "covariance" if one_size else f"number of {what}", y_label, label, named, ring)


def _some(places: list[int]) -> list[int]:
    """Return at most twelve of the places, evenly."""
    return places[:: 1 + (len(places) - 1) // 12]


def trace(values: Sequence[float], x_label: str, y_label: str, label: str) -> str:
    """Draw values step by step."""
    line = Line("", list(enumerate(values, start=1)), "var(--blue)")
    return chart([line], x_label, y_label, label)


def chart(
    lines: Sequence[Line],
    x_label: str,
    y_label: str,
    label: str,
    x_ticks: Sequence[Tick] = (),
    ring: tuple[float, float] | None = None,
) -> str:
    """Draw lines over one pair of axes; `ring` is a point to mark."""
    points = [point for line in lines for point in line.points]
    frame = Frame.of(padded((x for x, _ in points), 0.04), padded((y for _, y in points), 0.1), WIDTH, HEIGHT)
    parts = frame.axes(x_label, y_label, x_ticks)
    for line in lines:
        parts += _drawn(line, frame, x_label)
    if ring is not None:
        at = {"cx": frame.x(ring[0]), "cy": frame.y(ring[1])}
        parts.append(element("circle", r=8, fill="none", stroke="currentColor", stroke_width=1.5, **at))
    return drawing([*parts, *_legend([line for line in lines if line.name])], WIDTH, HEIGHT, label)


def _drawn(line: Line, frame: Frame, x_label: str) -> list[str]:
    places = [(frame.x(x), frame.y(y)) for x, y in line.points]
    path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
    dashes = {"stroke_dasharray": line.dashes} if line.dashes else {}
    parts = [element("path", d=path, fill="none", stroke=line.colour, stroke_width=1.8, **dashes)]
    if len(places) > MOST_MARKERS:
        return parts
    name = f"{line.name}, " if line.name else ""
    for (x, y), (at, value) in zip(places, line.points, strict=True):
        words = title(f"{name}{x_label} {at:g}: {value:,.2f}")
        parts.append(element("circle", words, cx=x, cy=y, r=3, fill=line.colour))
    return parts


def _legend(lines: Sequence[Line]) -> list[str]:
    """Return names with samples of their lines, above the axes on the right."""
    parts, right = [], WIDTH - RIGHT
    for line in reversed(lines):
        right -= LETTER * len(line.name) + 4
        parts.append(text(right, TOP - 16, line.name))
        dashes = {"stroke_dasharray": line.dashes} if line.dashes else {}
        path = f"M{right - 24:.1f} {TOP - 20:.1f}h19"
        parts.append(element("path", d=path, stroke=line.colour, stroke_width=2, fill="none", **dashes))
        right -= 36
    return parts
