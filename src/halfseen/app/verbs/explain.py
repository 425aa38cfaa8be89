"""``halfseen explain``: EM number by number."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from halfseen import families
from halfseen.app import console


def run(request: Mapping[str, Any]) -> None:
    """Read a small table and show every number of a few iterations."""
    [family] = families.offering("explain")
    found = family.module("cli").explain(request)
    if request["output"] == "-":
        console.show(str(found))
        return
    found.save(request["output"])
    console.wrote("page", request["output"])
