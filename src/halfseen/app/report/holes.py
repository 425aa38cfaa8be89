"""The section on holes: where they are, what is assumed of them, how well cells are guessed."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from halfseen.app.report.figures import svg
from halfseen.app.report.material import TableMaterial
from halfseen.app.report.parts import Figure, Grid, Part, Section, Text
from halfseen.app.report.words import chance, count, cut, listed, number, percent, plural
from halfseen.plots import tables as table_plots

MOST_GRID_ROWS = 30


def holes(model: Any, material: TableMaterial) -> Section:
    """Where the holes are, what is assumed of them, and how well they can be filled."""
    found = material.holes
    parts: list[Part] = []
    if found.n_missing:
        parts += [holes_figure(material), Text(ASSUMED)]
        if material.seen.proba.shape[1] > 1:
            parts.append(holes_grid(material))
    parts.append(hidden_grid(material))
    if found.n_missing:
        lead = f"{percent(found.total_share)} of the cells are missing ({count(found.n_missing)})."
    else:
        lead = "The table has no missing values."
    return Section("holes", "Missing values", lead, parts)


ASSUMED = (
    "Assumed: a cell is missing for reasons that have nothing to do with its value, beyond what the rest of the row "
    "tells (missing at random). Then holes need no filling, and nothing is biased. If being missing is itself telling, "
    "as when the rich do not state their income, make it a category of its own. The data cannot prove this assumption."
)


def holes_figure(material: Any) -> Figure:
    """Return the map of the holes."""
    found = material.holes
    n_columns, n_patterns = (
        min(len(found.names), table_plots.MOST_COLUMNS),
        min(len(found.patterns), table_plots.MOST_PATTERNS),
    )
    size = (min(max(4.5, 2.2 + 0.62 * n_columns), 11.0), 1.7 + 0.3 * n_patterns)
    worst = int(np.argmax(found.share))
    label = (
        f"Map of {len(found.patterns)} patterns of missing cells; {found.names[worst]} is missing most often, in "
        f"{percent(float(found.share[worst]))} of the rows."
    )
    drawing = svg(partial(table_plots.draw_missing, found), "missing", size, label)
    complete = sum(pattern.n_rows for pattern in found.patterns if not pattern.missing)
    share = percent(complete / found.n_rows)
    caption = f"{plural(len(found.patterns), 'pattern')} of missing cells. {share} of the rows are complete."
    return Figure(drawing, caption, "Where the holes are")


def holes_grid(material: Any, word: str = "class") -> Grid:
    """Return the share of holes in each class, or whatever `word` says that rows belong to."""
    found = material.holes_by_class[:MOST_GRID_ROWS]
    rows = [[column.column, *map(percent, column.share.tolist()), chance(column.p)] for column in found]
    left_out = len(material.holes_by_class) - len(found)
    level = 0.05 / len(material.holes_by_class)  # as many comparisons as columns
    differ = [cut(column.column) for column in material.holes_by_class if column.p < level]
    note = (
        f"Missing more often in one {word} than in another: {listed(differ)}."
        if differ
        else f"No column is missing much more often in one {word} than in another."
    )
    note += f" {left_out} other columns with holes are left out." if left_out else ""
    caption = f"Share of holes in each {word}, and how probable such a difference is by chance"
    return Grid(
        caption, ["column", *material.seen.class_names, "by chance"], rows, f"Do holes differ by {word}?", note=note
    )


def hidden_grid(material: Any) -> Part:
    """Return how well known cells are guessed when hidden."""
    found = material.hidden
    if not found.columns:
        return Text("No column has enough known cells to hide some of them and see how well they are guessed.")
    rows = []
    for column in found.columns[:MOST_GRID_ROWS]:
        shown = [percent(e) if column.unit == "wrong" else number(e) for e in (column.error, column.plain)]
        gain = "no better" if column.gain <= 0.005 else f"{column.gain:.0%} smaller"
        rows.append([column.column, column.unit, str(column.n_cells), *shown, gain])
    left_out = len(found.columns) - len(rows)
    note = f"{left_out} other columns are left out." if left_out else ""
    head = ["column", "error", "cells hidden", "the model", "mean or mode", "the model's error is"]
    return Grid(found.note, head, rows, "Can the model guess what it does not see?", frozenset({1, 5}), note)
