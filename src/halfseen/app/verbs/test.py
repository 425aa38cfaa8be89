"""``halfseen test``: whether the number of classes of a model is too small."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from halfseen.app import console, dispatch
from halfseen.engine.services.progress import watching


def run(request: Mapping[str, Any]) -> None:
    """Load the model, test it on its data, print the result."""
    loaded = dispatch.model_to_use(request["model"])
    test = dispatch.command(loaded, "test")
    dispatch.check_use(loaded, "test", request)
    with console.progress(dispatch.family_of(loaded).component[1]) as watch, watching(watch):
        found = test(loaded, dispatch.reading_of(loaded), request)
    if request["json"]:
        console.show_json(found.to_dict())
    else:
        console.show(str(found))
