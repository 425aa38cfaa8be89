"""Checks and traits that the reports of several families share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import narwhals as nw
import numpy as np

from halfseen.app.fits import is_rule
from halfseen.app.report.parts import Check, Trait
from halfseen.app.report.words import cut, listed, percent, plural
from halfseen.estimators import outcome
from halfseen.estimators.table.profile import most_apart
from halfseen.kinds.records import ColumnProfile
from halfseen.leaves.leaf import Floats

CLEAR_GAP, HARDLY = 10.0, 2.0  # of a criterion to the runner-up: clear above, next to nothing below
LIKE_COUNTS = (0.6, 1.7)  # variance over mean within classes that whole numbers have if they may be Poisson counts
MOST_HEAT_ROWS = 40
MANY_MISSING = 0.2  # of all cells
FAR = 2.0  # standard deviations from the whole that get the full colour
OVERLAP = 0.8  # mean probability of the most likely class below which classes overlap much
N_TRAITS = 3
SAME = 0.2  # standard deviations within which a mean is neither higher nor lower


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


def tried_sizes(model: Any) -> dict[str, list[Any]]:
    """Return the figures of the numbers of classes tried, by name; empty where there are none."""
    found = getattr(model, "selection_", None)
    return {} if found is None else nw.from_native(found).to_dict(as_series=False)


def runner_up(tried: dict[str, list[Any]], criterion: str) -> tuple[int, float]:
    """Return which of those tried comes next to the chosen one, and by how much its criterion is higher.

    Examples
    --------
    >>> runner_up({"chosen": [False, True, False], "bic": [9.0, 5.0, 6.5]}, "bic")
    (2, 1.5)
    """
    chosen, values = tried["chosen"].index(True), tried[criterion]
    second = min((i for i in range(len(values)) if i != chosen), key=values.__getitem__)
    return second, values[second] - values[chosen]


def preferred(tried: dict[str, list[Any]]) -> int | None:
    """Return which of those tried the criterion prefers, where another one was chosen by hand."""
    return tried["preferred"].index(True) if "preferred" in tried else None


def close_call(model: Any, what: tuple[str, str] = ("class", "classes")) -> Iterator[Check]:
    """Return whether the number of classes chosen is clearly better than the next."""
    tried = tried_sizes(model)
    if len(tried.get("n_components", ())) < 2:
        return
    name, by_criterion = f"Number of {what[1]}", preferred(tried)
    second, gap = runner_up(tried, model.criterion)
    second = second if by_criterion is None else by_criterion
    other = plural(tried["n_components"][second], *what)
    if "covariance" in tried:
        other += f" of {tried['covariance'][second]} covariance"
    if by_criterion is not None:
        values = tried[model.criterion]
        more = values[tried["chosen"].index(True)] - values[second]
        text = f"{model.criterion.upper()} prefers {other}: that of the number chosen is {more:,.1f} higher."
        yield Check(False, name, text)
        return
    if gap < 0:  # the lower one collapsed, which an event says
        return
    text = f"{model.criterion.upper()} is {gap:,.1f} lower than that of the next best, {other}"
    if gap > CLEAR_GAP:
        yield Check(True, name, f"{text}: a clear difference.")
        return
    strong = "next to nothing" if gap <= HARDLY else "a small difference"
    yield Check(False, name, f"{text}: {strong}. Look at that model too, and choose the one that you can use.")


def like_counts(columns: list[ColumnProfile], values: Floats, shares: Floats, events: Any = ()) -> Iterator[Check]:
    """Return the columns of whole numbers that are taken as continuous but vary as counts do within the classes.

    `values` are the cells, (N, D), of the columns in their order.
    """
    found = []
    for column, cells in zip(columns, values.T, strict=True):
        known = cells[np.isfinite(cells)]
        if not column.kind.any_number or not len(known) or known.min() < 0 or (known % 1 != 0).any():
            continue
        mean, var = column.moments
        ratio = float(shares @ (var / np.maximum(mean, 1e-300)))
        said = any(repr(column.name) in event and "poisson" in event for event in events)
        if LIKE_COUNTS[0] <= ratio <= LIKE_COUNTS[1] and not said:
            found.append(column.name)
    if found:
        name = cut(found[0])
        text = (
            f"{listed([cut(name) for name in found])}: whole numbers from 0 on, fitted as continuous. Within the "
            "classes the variance is about as large as the mean, as of counts. Try "
            f"columns={{{name!r}: 'poisson'}} (--columns {name}=poisson) and compare BIC."
        )
        yield Check(False, "Counts", text)


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
        yield Check(False, "Event", f"{event[:1].upper()}{event[1:].removesuffix('.')}.")


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


def traits(columns: list[ColumnProfile], k: int, least: float = 0.01) -> list[Trait]:
    """Return the columns in which a component differs most from the whole, those with a distance above `least`."""
    ranked = most_apart(columns, k, N_TRAITS)
    if least == 0.0:
        ranked = sorted((c for c in columns if len(c.rows)), key=lambda column: -column.distance[k])[:N_TRAITS]
    return [Trait(column.name, *column.kind.card(column, k), way(column, k)) for column in ranked]


def way(column: ColumnProfile, k: int) -> str:
    """Return whether a number is higher or lower in a component than in the whole; nothing for categories."""
    if column.whole is None:
        return ""
    far = (float(column.moments[0][k]) - column.whole[0]) / (column.whole[1] or 1.0)
    return "higher" if far > SAME else "lower" if far < -SAME else ""
