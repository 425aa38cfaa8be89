"""The section on the uncertainty of parameters: estimates with standard errors and intervals."""

from __future__ import annotations

from typing import Any

from halfseen.app.report.material import MOST_ROWS, Material
from halfseen.app.report.parts import Grid, Section, Text
from halfseen.data import Source
from halfseen.errors import DataError, FitError, ParameterError
from halfseen.inference.standard_errors import StandardErrors, standard_errors

MOST = 200  # free parameters whose errors are computed and shown

TITLE = "How sure are the parameters?"


def errors(model: Any, material: Material) -> Section | None:
    """All parameters with standard errors, or why there are none; nothing where a model has no likelihood."""
    if not hasattr(model, "_named_parameters") or not hasattr(model, "loglik_"):
        return None
    if model.n_parameters_ > MOST or (isinstance(material.X, Source) and material.X.n_rows > MOST_ROWS):
        return _without("Too many rows or parameters for this page; hs.standard_errors(model, X) computes them.")
    try:
        found = standard_errors(model, material.data, **material.reading())
    except (DataError, FitError, ParameterError) as error:
        return _without(f"There are none: {error}")
    lead = (
        f"Every parameter with its standard error and a {100 * found.level:g} % interval, from the curvature of the "
        f"objective at the {model._estimate} estimate. They hold for large samples, and if the model is right."
    )
    return Section("errors", TITLE, lead, [_grid(found)])


def _without(reason: str) -> Section:
    return Section("errors", TITLE, "Standard errors of the parameters.", [Text(reason)])


def _grid(found: StandardErrors) -> Grid:
    header, *rows = found.cells()
    caption = "An estimate on a boundary (0 or 1) has no standard error."
    return Grid(caption, header, rows, "Estimates with standard errors", frozenset(range(1, len(found.labels) + 1)))
