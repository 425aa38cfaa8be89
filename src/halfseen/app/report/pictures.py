"""The section with pictures of the rows: the pairs of columns that separate the classes most."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from halfseen.app.report.charts.scatter import scatter
from halfseen.app.report.parts import Beside, Figure, Section
from halfseen.app.report.words import count, cut, listed
from halfseen.estimators.table.scatter import Scatter

MOST_POINTS = 400  # in each picture: more overlap, and make the page large
TOP = 3  # columns, so that there are three pairs


def pictures(seen: Scatter, many: str = "classes") -> Section | None:
    """Return rows as points over pairs of the columns of numbers that separate the classes most; None without a pair.

    `many` is what classes are called.
    """
    numbers = [d for d in seen.best(len(seen.names)) if seen.levels[d] is None and np.isfinite(seen.values[:, d]).any()]
    chosen = numbers[:TOP]
    if len(chosen) < 2 or len(seen.class_names) < 2:
        return None
    shown = _some(seen)
    figures = []
    for x, y in combinations(chosen, 2):
        label = f"Rows as points by {seen.names[x]} and {seen.names[y]}, in the colours of their {many}."
        figures.append(Figure(scatter(shown, (x, y), label), ""))
    spread = np.isfinite(seen.covariances[:, chosen][:, :, chosen]).all()
    drawn = "Ellipses are at one and two standard deviations of a class." if spread else "Crosses are the means."
    lead = (
        f"Rows over the columns that separate the {many} most, {listed([cut(seen.names[d]) for d in chosen])}, in the "
        f"colour of their most likely {'cluster' if many == 'clusters' else 'class'}. {drawn}"
    )
    if len(shown.values) < seen.n_given:
        lead += f" A random sample of {count(len(shown.values))} of {count(seen.n_given)} rows is drawn."
    return Section("pictures", "Pictures", lead, [Beside(figures)])


def _some(seen: Scatter) -> Scatter:
    """Return at most so many of the points, drawn at random with a fixed seed."""
    if len(seen.rows) <= MOST_POINTS:
        return seen
    chosen = np.sort(np.random.default_rng(0).choice(len(seen.rows), MOST_POINTS, replace=False))
    return seen._replace(values=seen.values[chosen], proba=seen.proba[chosen], rows=seen.rows[chosen])
