"""``halfseen query``: query a Bayesian network."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from halfseen import families
from halfseen.app import console, dispatch
from halfseen.errors import ParameterError


def run(request: Mapping[str, Any]) -> None:
    """Load the network, from a model file or a BIF file, and print the distribution."""
    path, variables, known = request["model"], request["variables"], request["known"] or []
    readers = [family for family in families.offering("read") if family.reads(path)]
    loaded = readers[0].module("cli").read(path) if readers else dispatch.model_to_use(path)
    ask = dispatch.command(loaded, "query")
    if not variables:
        raise ParameterError("name at least one variable.")
    found = ask(loaded, variables, known)
    if request["json"]:
        rows = [
            {**dict(zip(found.variables, key if isinstance(key, tuple) else (key,), strict=True)), "probability": p}
            for key, p in found.to_dict().items()
        ]
        console.show_json({"variables": list(found.variables), "given": known, "rows": rows})
        return
    listed = [(*(key if isinstance(key, tuple) else (key,)), f"{p:.6f}") for key, p in found.to_dict().items()]
    console.show_table((*found.variables, "probability"), listed, left=len(found.variables))
