"""``halfseen table``: the parameters of a model as a table for a paper."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from halfseen.app import console, dispatch
from halfseen.errors import ParameterError
from halfseen.estimators.publication import paper_table

NO_ERRORS = "none"


def table(model: Any, reading: Mapping[str, Any], request: Mapping[str, Any]) -> None:
    """Write the table; with data, with standard errors and figures of fit."""
    for name in ("error_kind", "strata", "cluster"):
        if request["data"] is None and request[name] is not None:
            raise ParameterError(f"{request['flags'][name]} is about standard errors: it needs DATA, those of the fit.")
    more = {} if request["data"] is None else _from_data(model, reading, request)
    found = paper_table(model, digits=request["digits"], **more)
    if request["output"] == "-":
        console.show(str(found))
        return
    found.save(request["output"])
    console.wrote("table", request["output"])


def _from_data(model: Any, reading: Mapping[str, Any], request: Mapping[str, Any]) -> dict[str, Any]:
    """Return standard errors, figures of fit, and labels of columns, as far as there are any."""
    verbs = dispatch.family_of(model).verbs
    asked = {**request, "target": None, "weight": None, "bootstrap": None}
    more: dict[str, Any] = {}
    if request["error_kind"] != NO_ERRORS:
        more["errors"] = dispatch.command(model, "errors")(model, reading, asked)
    if "details" in verbs:
        more["diagnostics"] = dispatch.command(model, "details")(model, reading, asked)
    labels = getattr(dispatch.command(model, "data")(model, reading, asked).X, "labels", {})
    known = set(model._schema.names) if hasattr(model, "_schema") else set()
    return more | {"labels": {name: text for name, text in labels.items() if name in known}}
