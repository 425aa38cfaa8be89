"""The report's section on covariates: coefficients with errors, and shares of the classes over each covariate."""

from __future__ import annotations

from functools import partial
from typing import Any

import narwhals as nw

from halfseen.app.report.figures import svg
from halfseen.app.report.material import TableMaterial
from halfseen.app.report.parts import Figure, Grid, Part, Section
from halfseen.errors import FitError, HalfseenError
from halfseen.inference.coefficients import Coefficients, coefficients, shown_p
from halfseen.plots.shares import plot_shares

MOST_PLOTS = 6  # covariates


def covariates(model: Any, material: TableMaterial) -> Section | None:
    """Return how class membership depends on covariates; None for a model without any."""
    member = getattr(model, "_membership", None)
    if member is None or len(model.class_names_) < 2:
        return None
    lead = (
        f"Class membership depends on {', '.join(member.design.variables)}, by a multinomial logit. Coefficients are "
        f"log-odds against {model.class_names_[0]}; an odds ratio above 1 makes the class more likely as the covariate "
        "grows."
    )
    parts: list[Part] = [_table(model, material)]
    for i, name in enumerate(member.design.variables[:MOST_PLOTS]):
        draw = partial(_draw, model, name)
        drawing = svg(draw, f"shares{i}", (6.4, 3.4), f"shares of classes over {name}")
        caption = "Other covariates are at their mean, or at their most frequent level."
        parts.append(Figure(drawing, caption, f"Shares of the classes over {name}"))
    return Section("covariates", "Covariates", lead, parts)


def _draw(model: Any, name: str, ax: Any) -> Any:
    return plot_shares(model, name, ax)


def _table(model: Any, material: TableMaterial) -> Grid:
    found = _with_errors(model, material)
    if isinstance(found, str):
        rows = [
            [str(row["class"]), str(row["covariate"]), f"{row['estimate']:.4f}", f"{row['odds_ratio']:.4g}"]
            for row in nw.from_native(model.coefficients_, eager_only=True).rows(named=True)
        ]
        return Grid("Coefficients", ["class", "covariate", "estimate", "odds ratio"], rows, "", frozenset({1}), found)
    rows = [
        [
            str(row["class"]),
            str(row["covariate"]),
            *(f"{row[name]:.4f}" for name in ("estimate", "se")),
            f"{row['z']:.2f}",
            shown_p(row["p"]),
            *(f"{row[name]:.4g}" for name in ("odds_ratio", "low", "high")),
        ]
        for row in nw.from_native(found.to_frame(), eager_only=True).rows(named=True)
    ]
    head = ["class", "covariate", "estimate", "se", "z", "p", "odds ratio", "low", "high"]
    note = "; ".join(map(str, found.tests)) + "."
    return Grid("Coefficients", head, rows, "", frozenset({1}), f"{note} {found.note}".strip())


def _with_errors(model: Any, material: TableMaterial) -> Coefficients | str:
    """Return coefficients with errors, or why there are none."""
    if model._membership.design.formula is None:
        return "Standard errors: hs.coefficients(model, X, covariates=...)."
    try:
        return coefficients(model, material.X, missing="drop", sample_weight=material.sample_weight)
    except (FitError, HalfseenError) as error:
        return f"There are no standard errors: {error}"
