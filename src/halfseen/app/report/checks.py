"""Checks and traits that the reports of several families share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from halfseen.app.report.parts import Check, Trait
from halfseen.app.report.words import percent, plural
from halfseen.estimators.table.profile import most_apart
from halfseen.kinds.kind import ColumnProfile

MOST_HEAT_ROWS = 40
MANY_HOLES = 0.2  # of all cells
FAR = 2.0  # standard deviations from the whole that get the full colour
OVERLAP = 0.8  # mean certainty below which classes overlap much
N_TRAITS = 3


def converged(model: Any) -> Check:
    """Say whether the fit converged."""
    if not hasattr(model, "stop_reason_"):
        return Check(
            True, "Convergence", "The model was given by its parameters, or learned in pieces: no fit to judge."
        )
    passes = plural(model.n_iter_, "pass", "passes")
    if model.converged_:
        return Check(True, "Convergence", f"The fit converged after {passes} over the data ({model.stop_reason_}).")
    return Check(
        False,
        "Convergence",
        f"The fit stopped after {passes} without converging ({model.stop_reason_}). Raise max_iter.",
    )


def starts(model: Any) -> Iterator[Check]:
    """Say whether the starts agree."""
    found = getattr(model, "restarts_", None)
    if found is None or found["n_init"] < 2:
        return
    reached, finalists = found["n_reached_best"], found["n_finalists"]
    text = f"{reached} of the last {finalists} of {found['n_init']} random starts reached the same best solution."
    if reached > 1 or finalists < 2:
        yield Check(True, "Starts agree", text)
    else:
        yield Check(False, "Starts agree", f"Only {text} There may be a better one: raise n_init.")


def events(model: Any) -> Iterator[Check]:
    """Give what happened in the fit that deserves a look."""
    for event in getattr(model, "events_", ()):
        yield Check(False, "Event", f"{event[:1].upper()}{event[1:]}.")


def holes_check(material: Any) -> Check:
    """Say how many cells are missing."""
    share = material.holes.total_share
    if not material.holes.n_missing:
        return Check(True, "Missing values", "No value is missing.")
    text = f"{percent(share)} of the cells are missing."
    if share > MANY_HOLES:
        return Check(False, "Missing values", f"{text} That is a large share: check the assumption about them.")
    return Check(True, "Missing values", text)


def traits(columns: list[ColumnProfile], k: int) -> list[Trait]:
    """Return the columns that set a component apart most."""
    return [Trait(column.name, *column.kind.card(column, k)) for column in most_apart(columns, k, N_TRAITS)]
