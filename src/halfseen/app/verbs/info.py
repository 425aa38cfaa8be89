"""``halfseen info``: what is in a model file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import narwhals as nw

from halfseen.app import console, dispatch
from halfseen.app.code import python_of
from halfseen.app.description import blocks_of
from halfseen.app.model_file import read_model, read_record
from halfseen.engine.services.progress import watching
from halfseen.errors import ParameterError
from halfseen.estimators.publication import methods_paragraph
from halfseen.kinds.wording import number


def run(request: Mapping[str, Any]) -> None:
    """Print the header, the classes, the translations of a word, or the code that reproduces the model."""
    record = read_record(request["model"])
    loaded = read_model(request["model"])
    dispatch.check_use(loaded, "info", request)
    for name in ("error_kind", "strata", "cluster"):
        if request[name] is not None and request["errors"] is None:
            raise ParameterError(f"{request['flags'][name]} is about standard errors: it needs --errors DATA.")
    if request["word"] is not None:
        _show_word(dispatch.command(loaded, "show_word")(loaded, request["word"]), request["json"])
    elif request["code"]:
        console.show(python_of(loaded))
    elif request["methods"]:
        console.show(methods_paragraph(loaded))
    elif request["errors"] is not None:
        _show_errors(loaded, request)
    elif request["json"]:
        console.show_json(record)
    elif request["parameters"]:
        _show_parameters(loaded)
    else:
        console.show_blocks(blocks_of(loaded, record))


def _show_parameters(model: Any) -> None:
    frame = nw.from_native(model.to_frame())
    rows = [[number(cell, 6) if isinstance(cell, float) else cell for cell in row] for row in frame.iter_rows()]
    console.show_table(frame.columns, rows, left=3)


def _show_errors(model: Any, request: Mapping[str, Any]) -> None:
    reading = dispatch.reading_of(model)
    asked = {**request, "data": request["errors"], "sql": None, "missing": None, "target": None}
    with console.progress(dispatch.family_of(model).component[1]) as watch, watching(watch):
        found = dispatch.command(model, "errors")(model, reading, asked)
    if request["json"]:
        console.show_json(nw.from_native(found.to_frame(), eager_only=True).rows(named=True))
        return
    console.show(str(found))
    sample = "" if found.design is None else f", sample of {found.design}"
    estimate = {"bootstrap": "maximum likelihood"}.get(found.kind, model._estimate)  # it refits by that
    console.note(f"{found.kind} standard errors of {estimate} estimates{sample}; {100 * found.level:g} % intervals")


def _show_word(found: list[dict[str, Any]], json: bool) -> None:
    if json:
        console.show_json(found)
        return
    rows = [(one["word"], one["side"], one["translation"], f"{one['probability']:.4f}") for one in found]
    console.show_table(("word", "side", "translation", "probability"), rows, left=3)
