"""``halfseen rename``: names of classes, states and clusters in a model file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from halfseen.app import console, dispatch
from halfseen.app.description import described
from halfseen.app.model_file import save
from halfseen.app.renaming import read_names


def run(request: Mapping[str, Any]) -> None:
    """Load the model, name its classes, and write it to its file or to another one."""
    loaded = dispatch.model_to_use(request["model"])
    act = dispatch.command(loaded, "rename")
    dispatch.check_use(loaded, "rename", request)
    renamed = act(loaded, read_names(request["names"]), request)
    output = request["output"] or request["model"]
    save(renamed, output)
    console.show_blocks(described(renamed))
    console.wrote("model", output)
