"""``halfseen report``: a model and its data on one page."""

from __future__ import annotations

from typing import Any

from halfseen.app import console, families
from halfseen.app.model_file import load
from halfseen.app.report.page import report
from halfseen.errors import ParameterError


def run(model: str, output: str, cost: str | None, **request: Any) -> None:
    """Load the model, read the data, write the page."""
    loaded = load(model)
    families.check_use(loaded, request)
    reading = families.reading_of(loaded)
    found = families.verb_of(loaded, "data")(loaded, reading, request | {"cost": cost})
    costs = None
    if cost is not None:
        if not hasattr(loaded, "predict_proba"):
            raise ParameterError(f"--cost has no meaning for a {type(loaded).__name__} model: it has no probabilities.")
        from halfseen.app.tables import class_names, read_costs

        costs = read_costs(cost, class_names(loaded))[1]
    report(loaded, found.X, output, cost=costs, command=loaded._origin.command)
    console.note(f"report: {output}")
