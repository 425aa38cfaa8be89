"""``halfseen explain``: EM number by number."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from halfseen import families
from halfseen.app import console, options
from halfseen.app.tables import open_rows
from halfseen.errors import ParameterError

NUMBERS = ("gaussian", "kmeans")


def run(request: Mapping[str, Any]) -> None:
    """Read a small table and show every number of a few iterations."""
    found = _of_numbers(request) if request["model"] in NUMBERS else _of_classes(request)
    if request["output"] == "-":
        console.show(str(found))
        return
    found.save(request["output"])
    console.wrote("page", request["output"])


def _of_classes(request: Mapping[str, Any]) -> Any:
    if request["model"] != "classes":
        raise ParameterError(f"--model {request['model']!r} is not classes, gaussian or kmeans.")
    [family] = families.offering("explain")
    return family.module("cli").explain(request)


def _of_numbers(request: Mapping[str, Any]) -> Any:
    """Explain a model of numbers."""
    if request["columns"] is not None:
        raise ParameterError(f"--columns cannot be used with --model {request['model']}: all columns are numbers.")
    if request["model"] == "kmeans" and request["assign"] == "sample":
        raise ParameterError("--assign sample cannot be used with --model kmeans: each row is in its nearest cluster.")
    import halfseen as hs

    missing, ignore = (options.names(request[name]) for name in ("missing", "ignore"))
    rows = open_rows(request["data"], request["sql"], missing, ignore=ignore)
    model: Any
    if request["model"] == "gaussian":
        model = hs.GaussianMixture(request["classes"], assign=request["assign"], random_state=request["seed"])
    else:
        model = hs.KMeans(request["classes"], random_state=request["seed"])
    return hs.explain(model, rows, n_iter=request["steps"])
