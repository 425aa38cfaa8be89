"""The section on missing values: where they are, what is assumed about them, how well they are imputed."""

from __future__ import annotations

from typing import Any

import numpy as np

from halfseen.app.report.material import TableMaterial
from halfseen.app.report.parts import Beside, Grid, Part, Section, Text
from halfseen.app.report.words import chance, count, cut, listed, number, percent, plural

MOST_GRID_ROWS = 30
MOST_PATTERNS = 8
MOST_BESIDE = 4  # classes whose table fits beside another


def missing_values(model: Any, material: TableMaterial) -> Section:
    """Where values are missing, what is assumed about them, and how well they can be imputed."""
    found = material.missing_values
    parts: list[Part] = []
    if found.n_missing:
        parts += [patterns_and_classes(material), Text(ASSUMED)]
    parts.append(hidden_grid(material))
    if found.n_missing:
        lead = f"{percent(found.total_share)} of the cells are missing ({count(found.n_missing)})."
    else:
        lead = "The table has no missing values."
    return Section("missing", "Missing values", lead, parts)


def patterns_and_classes(material: Any, word: str = "class") -> Part:
    """Return where values are missing, and beside it in which classes, where there are several."""
    first = missing_patterns(material)
    return (
        first
        if material.seen.proba.shape[1] < 2
        else Beside([first, missing_grid(material, word)], stacked=len(material.seen.class_names) > MOST_BESIDE)
    )


ASSUMED = (
    "Assumption: values are missing at random. Given the observed cells of the row, whether a cell is missing does not "
    "depend on its value. Then nothing needs to be imputed, and estimates are not biased. If absence itself is "
    "informative, as when people with a high income do not state it, make it a category of its own. The data cannot "
    "prove this assumption."
)


def missing_patterns(material: Any) -> Grid:
    """Return the patterns of missing cells: a row for each column that has any, a column for each pattern."""
    found = material.missing_values
    columns = sorted(np.flatnonzero(found.share > 0).tolist(), key=lambda d: -found.share[d])
    shown = columns[:MOST_GRID_ROWS]
    patterns = [pattern for pattern in found.patterns if pattern.missing][:MOST_PATTERNS]
    rows = [
        [found.names[d], percent(float(found.share[d])), *(_mark(found.names[d], p.missing) for p in patterns)]
        for d in shown
    ]
    complete = sum(pattern.n_rows for pattern in found.patterns if not pattern.missing)
    caption = (
        f"{percent(complete / found.n_rows)} of the rows are complete. Cells that are missing together are marked × "
        "below the number of rows that miss them."
    )
    rest = sum(1 for pattern in found.patterns if pattern.missing) - len(patterns)
    notes = [f"{plural(rest, 'rarer pattern')} not shown."] if rest else []
    notes += [f"{len(columns) - len(shown)} other columns with missing values are left out."] * (
        len(columns) > len(shown)
    )
    head = ["column", "missing", *(plural(pattern.n_rows, "row") for pattern in patterns)]
    return Grid(caption, head, rows, "Where values are missing", note=" ".join(notes))


def _mark(name: str, missing: Any) -> str:
    return "×" if name in missing else ""


def missing_grid(material: Any, word: str = "class") -> Grid:
    """Return the share of missing values in each class; `word` is what a class is called."""
    found = material.missing_by_class[:MOST_GRID_ROWS]
    rows = [[column.column, *map(percent, column.share.tolist()), chance(column.p)] for column in found]
    left_out = len(material.missing_by_class) - len(found)
    level = 0.05 / len(material.missing_by_class)  # as many comparisons as columns
    differ = [cut(column.column) for column in material.missing_by_class if column.p < level]
    note = (
        f"Missing more often in one {word} than in another: {listed(differ)}."
        if differ
        else f"No column is missing much more often in one {word} than in another."
    )
    note += f" {left_out} other columns with missing values are left out." if left_out else ""
    caption = f"Share of missing values in each {word}, and the probability of a difference this large by chance"
    return Grid(
        caption,
        ["column", *material.each_tagged(material.seen.class_names), "by chance"],
        rows,
        f"Missing values by {word}",
        note=note,
    )


def hidden_grid(material: Any) -> Part:
    """Return how well known cells are imputed when they are hidden."""
    found = material.hidden
    if not found.columns:
        return Text("No column has enough known cells to hide some of them and impute them.")
    rows = []
    for column in found.columns[:MOST_GRID_ROWS]:
        shown = [percent(e) if column.unit == "wrong" else number(e) for e in (column.error, column.plain)]
        gain = "no better" if column.gain <= 0.005 else f"{column.gain:.0%} smaller"
        unit = column.unit if column.exact is None else f"{column.unit} ({percent(column.exact)} exact)"
        rows.append([column.column, unit, str(column.n_cells), *shown, gain])
    left_out = len(found.columns) - len(rows)
    note = f"{left_out} other columns are left out." if left_out else ""
    head = ["column", "error", "cells hidden", "the model", "mean or mode", "the model's error is"]
    return Grid(found.note, head, rows, "How well are hidden cells imputed?", frozenset({1, 5}), note)
