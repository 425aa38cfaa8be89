"""``halfseen doctor``: versions and kernels in use."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from halfseen.app import console
from halfseen.app.versions import versions


def run(request: Mapping[str, Any]) -> None:
    """Print versions, kernels and cores, with advice."""
    found: dict[str, Any] = versions()
    if request["json"]:
        console.show_json(found)
        return
    console.show_facts(list(found.items()))
    for advice in _advice(found):
        console.note(advice)


def _advice(found: dict[str, Any]) -> list[str]:
    advice = []
    if found["kernels"] == "plain":
        why = (
            "set by HALFSEEN_KERNELS=plain"
            if os.environ.get("HALFSEEN_KERNELS")
            else "the compiled kernels are not installed"
        )
        advice.append(f"the kernels are the NumPy ones ({why}): correct, but slower. Reinstall with a C++ compiler.")
    absent = [name for name, version in found.items() if version == "not installed"]
    if absent:
        advice.append(f"not installed, and needed only for some file formats and reports: {', '.join(absent)}")
    return advice
