"""Rows as points in the colours of their classes, classes as ellipses or centres."""

from __future__ import annotations

import numpy as np

from halfseen.app.report.charts.svg import LEFT, WIDTH, Frame, class_colour, drawing, element, padded, text, title
from halfseen.app.report.words import cut, number
from halfseen.estimators.table.scatter import Scatter
from halfseen.leaves.leaf import Floats

HEIGHT = 330.0
TURNS = np.linspace(0, 2 * np.pi, 49)
LEVELS = (1.0, 2.0)  # standard deviations at which ellipses are drawn


def scatter(seen: Scatter, pair: tuple[int, int], label: str) -> str:
    """Draw rows in two columns as points, and components as ellipses, or as crosses where they have no spread.

    Parameters
    ----------
    seen : Scatter
    pair : two columns, by number
    label : str               for screen readers
    """
    x, y = pair
    places, centres = seen.values[:, [x, y]], seen.means[:, [x, y]]
    covs = seen.covariances[:, [[x, x], [y, y]], [[x, y], [x, y]]]
    known = np.flatnonzero(np.isfinite(places).all(axis=1))
    reach = 2 * np.sqrt(np.nan_to_num(np.maximum(covs[:, [0, 1], [0, 1]], 0.0)))
    every = np.concatenate([places[known], centres - reach, centres + reach])
    across, up = (padded(axis[np.isfinite(axis)].tolist() or [0.0], 0.03) for axis in every.T)
    frame = Frame.of(across, up, WIDTH, HEIGHT)
    parts = frame.axes(cut(seen.names[x], 50), cut(seen.names[y], 50))
    owner = seen.proba.argmax(axis=1)
    for k, name in enumerate(seen.class_names):
        own = known[owner[known] == k].tolist()
        dots = [_dot(frame, places[n], f"row {seen.rows[n]}", name) for n in own]
        parts += [element("g", "".join(dots), fill=class_colour(k), fill_opacity=0.55)] if dots else []
    drawn = [k for k in range(len(centres)) if np.isfinite(centres[k]).all()]
    for k in drawn:
        parts += _outline(frame, centres[k], covs[k], seen.owner[k])
    parts += [_name(frame, centres[k], seen.class_names[seen.owner[k]]) for k in drawn]
    return drawing(parts, WIDTH, HEIGHT, label)


def _dot(frame: Frame, place: Floats, row: str, name: str) -> str:
    x, y = place.tolist()
    words = f"{row}: {number(x)}, {number(y)}; {cut(name, 30)}"
    return element("circle", title(words), cx=frame.x(x), cy=frame.y(y), r=2.4)


def _outline(frame: Frame, centre: Floats, cov: Floats, k: int) -> list[str]:
    """Return the ellipses of a component, or a cross at its centre."""
    x, y = centre.tolist()
    line = {"fill": "none", "stroke": class_colour(k)}
    if not np.isfinite(cov).all():
        path = f"M{frame.x(x) - 6:.1f} {frame.y(y):.1f}h12m-6 -6v12"
        return [element("path", d=path, stroke_width=3, **line)]
    values, vectors = np.linalg.eigh(cov)
    around = (vectors * np.sqrt(np.maximum(values, 0.0))) @ np.stack([np.cos(TURNS), np.sin(TURNS)])
    paths = [
        "L".join(f"{frame.x(x + level * dx):.1f} {frame.y(y + level * dy):.1f}" for dx, dy in around.T)
        for level in LEVELS
    ]
    return [element("path", d=f"M{path}Z", stroke_width=1.8, **line) for path in paths]


def _name(frame: Frame, centre: Floats, name: str) -> str:
    """Return the name of a class at its centre, on a halo of the page's own colour."""
    words = cut(name, 22)
    halo = {"paint_order": "stroke", "stroke": "var(--paper)", "stroke_width": 3.5, "stroke_linejoin": "round"}
    place = min(max(frame.x(centre[0]), LEFT + 3.0 * len(words)), WIDTH - 3.2 * len(words))
    return text(place, frame.y(centre[1]) - 8, words, text_anchor="middle", font_weight=600, **halo)
