"""Checks and traits that the reports of several families share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from halfseen.app.fits import is_rule
from halfseen.app.report.parts import Check, Trait
from halfseen.app.report.words import percent, plural
from halfseen.estimators import outcome
from halfseen.estimators.table.profile import most_apart
from halfseen.kinds.kind import ColumnProfile

MOST_HEAT_ROWS = 40
MANY_MISSING = 0.2  # of all cells
FAR = 2.0  # standard deviations from the whole that get the full colour
OVERLAP = 0.8  # mean probability of the most likely class below which classes overlap much
N_TRAITS = 3


def converged(model: Any) -> Check:
    """Return whether the fit converged."""
    if not hasattr(model, "stop_reason_"):
        return Check(
            True,
            "Convergence",
            "The model was built from parameters, or fitted in pieces: there is no single fit to check.",
        )
    iterations = plural(model.n_iter_, "iteration")
    if model.converged_:
        return Check(True, "Convergence", f"The fit converged after {iterations} ({model.stop_reason_}).")
    return Check(
        False,
        "Convergence",
        f"The fit stopped after {iterations} without converging ({model.stop_reason_}). {advice(model)}",
    )


def likelihood(model: Any) -> Iterator[Check]:
    """Return the log-likelihood of the fit, which estimate it belongs to, and BIC with its N."""
    if not hasattr(model, "loglik_") or is_rule(model):
        return
    text = outcome.likelihood(model) + (f", {outcome.criteria(model)}" if hasattr(model, "bic") else "")
    yield Check(True, "Likelihood", f"{text[:1].upper()}{text[1:]}.")


def advice(model: Any) -> str:
    """Return what to do about a fit that has not converged."""
    return "Run it to the end." if model.stop_reason_ == "interrupted" else "Raise max_iter."


def starts(model: Any) -> Iterator[Check]:
    """Return whether several starts reached the same solution."""
    found = getattr(model, "restarts_", None)
    if found is None or found["n_init"] < 2:
        return
    reached, finalists = found["n_reached_best"], found["n_finalists"]
    text = f"{reached} of {found['n_init']} random starts reached the same best solution."
    if reached > 1 or finalists < 2:
        yield Check(True, "Starts agree", text)
    else:
        yield Check(False, "Starts agree", f"Only {text} There may be a better one: raise n_init.")


def events(model: Any) -> Iterator[Check]:
    """Return the events that the fit recorded."""
    for event in getattr(model, "events_", ()):
        yield Check(False, "Event", f"{event[:1].upper()}{event[1:]}.")


def missing_check(material: Any) -> Check:
    """Return how many cells are missing."""
    share = material.missing_values.total_share
    if not material.missing_values.n_missing:
        return Check(True, "Missing values", "No cell is missing.")
    text = f"{percent(share)} of the cells are missing."
    if share > MANY_MISSING:
        return Check(
            False,
            "Missing values",
            f"{text} That is a large share: check whether the assumption about missing values is plausible.",
        )
    return Check(True, "Missing values", text)


def traits(columns: list[ColumnProfile], k: int) -> list[Trait]:
    """Return the columns in which a component differs most from the whole."""
    return [Trait(column.name, *column.kind.card(column, k)) for column in most_apart(columns, k, N_TRAITS)]
