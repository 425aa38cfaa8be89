"""``halfseen query``: ask a Bayesian network."""

from __future__ import annotations

from typing import Any

from halfseen.app import console, families
from halfseen.app.model_file import load
from halfseen.errors import ParameterError


def run(model: str, variables: list[str], given: list[str] | None, json: bool) -> None:
    """Load the network, from a model file or a BIF file, and print the distribution."""
    if families.is_network_file(model):
        from halfseen.families.network.files import read_bif

        loaded: Any = read_bif(model)
    else:
        loaded = load(model)
    if not variables:
        raise ParameterError("name at least one variable to ask for.")
    found = families.verb_of(loaded, "query")(loaded, variables, given or [])
    if json:
        rows = [
            {**dict(zip(found.variables, key if isinstance(key, tuple) else (key,), strict=True)), "probability": p}
            for key, p in found.to_dict().items()
        ]
        console.show_json({"variables": list(found.variables), "given": list(given or []), "rows": rows})
        return
    listed = [(*(key if isinstance(key, tuple) else (key,)), f"{p:.6f}") for key, p in found.to_dict().items()]
    console.show_table((*found.variables, "probability"), listed, left=len(found.variables))
