"""``halfseen report``: a report on a model and its data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from halfseen.app import console, dispatch
from halfseen.app.report.page import report


def run(request: Mapping[str, Any]) -> None:
    """Load the model, read the data, write the report."""
    loaded = dispatch.model_to_use(request["model"])
    read = dispatch.command(loaded, "data")
    dispatch.check_use(loaded, "report", request)
    found = read(loaded, dispatch.reading_of(loaded), request)
    costs = None
    if request["cost"] is not None:
        from halfseen.app.tables import class_names, read_costs

        costs = read_costs(request["cost"], class_names(loaded))[1]
    output = request["output"]
    report(loaded, found.X, output, cost=costs, command=loaded._origin.command)
    console.wrote("report", output)
