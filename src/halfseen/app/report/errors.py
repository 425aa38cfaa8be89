"""The section on the uncertainty of parameters: estimates with standard errors and intervals."""

from __future__ import annotations

from math import floor, log10
from typing import Any

from halfseen.app.report.material import Material
from halfseen.app.report.parts import Grid, Section, Text
from halfseen.app.report.words import number, spread
from halfseen.inference.standard_errors import StandardErrors

MOST_DECIMALS = 6
MOST_ACROSS = 4  # classes beside each other
TITLE = "How sure are the parameters?"


def errors(model: Any, material: Material) -> Section | None:
    """All parameters with standard errors, or why there are none; nothing where a model has no likelihood."""
    found = material.standard_errors
    if found is None:
        return None
    if isinstance(found, str):
        return _without(found)
    lead = (
        f"Every parameter with its standard error and a {100 * found.level:g} % interval, from the curvature of the "
        f"objective at the {model._estimate} estimate. They hold for large samples, and if the model is right."
    )
    return Section("errors", TITLE, lead, [_grid(found, material)])


def _without(reason: str) -> Section:
    return Section("errors", TITLE, "Standard errors of the parameters.", [Text(reason)])


def _grid(found: StandardErrors, material: Material) -> Grid:
    """Return a row for each parameter; where few classes have the same ones, a row for all of them."""
    full = found.cells()
    across = _across(found, full, material)
    title, caption = "Estimates with standard errors", "An estimate on a boundary (0 or 1) has no standard error."
    if across is None:
        return Grid(caption, full[0], full[1:], title, frozenset(range(1, len(found.labels) + 1)))
    caption = f"Estimate ± standard error (interval). {caption} The CSV has a line for each parameter."
    return Grid(caption, across[0], across[1:], title, frozenset({1}), full=full)


def _across(found: StandardErrors, full: list[list[str]], material: Material) -> list[list[str]] | None:
    """Return the cells with a column for each class; None where that is too wide, or a parameter has no class."""
    names = list(found.labels)
    if len(names) != 3:
        return None
    classes = list(dict.fromkeys(map(str, found.labels[names[2]])))
    rows: dict[tuple[str, str], dict[str, str]] = {}
    for i, (first, second, owner, *_) in enumerate(full[1:]):
        rows.setdefault((first, second), {})[owner] = _cell(found, i)
    if len(classes) > MOST_ACROSS or any(owner not in material.colours for owner in classes):
        return None
    body = [[*key, *(own.get(owner, "") for owner in classes)] for key, own in rows.items()]
    return [[*names[:2], *material.each_tagged(classes)], *body]


def _cell(found: StandardErrors, i: int) -> str:
    """Return an estimate with its error and interval, in as many digits as the error warrants."""
    estimate, se = float(found.estimate[i]), float(found.se[i])
    if found.note[i]:
        return f"{number(estimate)} ({found.note[i]})"
    decimals = min(max(1 - floor(log10(se)), 0), MOST_DECIMALS) if se > 0 else 0
    low, high = (f"{float(end[i]):,.{decimals}f}".replace("-", "−") for end in (found.low, found.high))
    return f"{spread(estimate, se)} ({low} to {high})".replace("-", "−")
