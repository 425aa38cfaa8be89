"""``halfseen explain``: EM number by number."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from halfseen.analysis.explain import explain
from halfseen.app import console, options
from halfseen.app.tables import open_rows, without_identifiers
from halfseen.families.mixture.latent_class import LatentClass


def run(request: Mapping[str, Any]) -> None:
    """Read a small table and show every number of a few iterations."""
    kinds = options.kinds(request["columns"]) | dict.fromkeys(options.names(request["text"]), "text")
    missing, ignore = (options.names(request[name]) for name in ("missing", "ignore"))
    table, _ = without_identifiers(open_rows(request["data"], request["sql"], missing, ignore=ignore), kinds)
    model = LatentClass(
        request["classes"], columns=kinds or None, assign=request["assign"], random_state=request["seed"]
    )
    found = explain(model, table, n_iter=request["steps"])
    if request["output"] == "-":
        console.show(str(found))
        return
    found.save(request["output"])
    console.note(f"page: {request['output']}")
