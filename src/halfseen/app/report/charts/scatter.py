"""Rows as points in the colours of their classes, classes as ellipses or centres."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from halfseen.app.report.charts.svg import LEFT, WIDTH, Frame, class_colour, drawing, element, padded, text, title
from halfseen.app.report.words import cut, number
from halfseen.leaves.leaf import Floats

HEIGHT = 330.0
TURNS = np.linspace(0, 2 * np.pi, 49)
LEVELS = (1.0, 2.0)  # standard deviations at which ellipses are drawn


class Points(NamedTuple):
    """Rows in two columns.

    Attributes
    ----------
    names : two names of columns
    places : (N, 2) array          NaN where missing: such rows are left out
    owner : (N,) array             the most likely class of each row
    rows : (N,) array              positions of the rows in the table
    centres : (K, 2) array         means of the classes
    covariances : (K, 2, 2) array or None
    class_names : sequence of str
    """

    names: tuple[str, str]
    places: Floats
    owner: np.ndarray
    rows: np.ndarray
    centres: Floats
    covariances: Floats | None
    class_names: Sequence[str]


def scatter(points: Points, label: str) -> str:
    """Draw rows as points, and classes as ellipses around their means."""
    seen = np.isfinite(points.places).all(axis=1)
    shown = points.places[seen] if seen.any() else points.centres
    frame = Frame.of(*(padded(axis.tolist(), 0.05) for axis in shown.T), WIDTH, HEIGHT)
    parts = frame.axes(cut(points.names[0], 50), cut(points.names[1], 50))
    for k, name in enumerate(points.class_names):
        own = np.flatnonzero(seen & (points.owner == k))
        dots = [_dot(frame, points, n, name) for n in own.tolist()]
        parts.append(element("g", "".join(dots), fill=class_colour(k), fill_opacity=0.55) if dots else "")
    for k in range(len(points.class_names)):
        parts += _outline(frame, points, k)
    parts += [_name(frame, points, k) for k in range(len(points.class_names))]
    return drawing(parts, WIDTH, HEIGHT, label)


def _dot(frame: Frame, points: Points, n: int, name: str) -> str:
    x, y = points.places[n].tolist()
    words = f"row {points.rows[n]}: {number(x)}, {number(y)}; {cut(name, 30)}"
    return element("circle", title(words), cx=frame.x(x), cy=frame.y(y), r=2.4)


def _outline(frame: Frame, points: Points, k: int) -> list[str]:
    """Return the ellipses of a class, or a cross at its centre."""
    x, y = points.centres[k].tolist()
    line = {"fill": "none", "stroke": class_colour(k), "stroke_width": 1.8}
    if points.covariances is None:
        return [element("path", d=f"M{frame.x(x) - 6:.1f} {frame.y(y):.1f}h12m-6 -6v12", **(line | {"stroke_width": 3}))]
    values, vectors = np.linalg.eigh(points.covariances[k])
    around = (vectors * np.sqrt(np.maximum(values, 0.0))) @ np.stack([np.cos(TURNS), np.sin(TURNS)])
    parts = []
    for level in LEVELS:
        path = "L".join(f"{frame.x(x + level * dx):.1f} {frame.y(y + level * dy):.1f}" for dx, dy in around.T)
        parts.append(element("path", d=f"M{path}Z", **line))
    return parts


def _name(frame: Frame, points: Points, k: int) -> str:
    """Return the name of a class at its centre, on a halo of the page's own colour."""
    x, y = points.centres[k].tolist()
    words = cut(points.class_names[k], 22)
    halo = {"paint_order": "stroke", "stroke": "var(--paper)", "stroke_width": 3.5, "stroke_linejoin": "round"}
    place = min(max(frame.x(x), LEFT + 3.0 * len(words)), WIDTH - 3.2 * len(words))
    return text(place, frame.y(y) - 8, words, text_anchor="middle", font_weight=600, **halo)
