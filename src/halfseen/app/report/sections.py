"""The sections that the reports of all families share: methods for a paper, and how to reproduce the result."""

from __future__ import annotations

import re
from typing import Any

from halfseen.app.code import HEAD, call, data_of, python_of
from halfseen.app.report.material import Material
from halfseen.app.report.parts import Beside, Code, Grid, Part, Section, Text
from halfseen.app.versions import versions
from halfseen.estimators.publication import methods_paragraph
from halfseen.estimators.publication.facts import has_likelihood
from halfseen.estimators.publication.methods import citation
from halfseen.kinds.wording import number

MOST_PARAMETERS = 300  # rows of the table of parameters


def methods(model: Any, material: Material) -> Section | None:
    """A paragraph for the section on methods of a paper, and what to cite; None where there is no likelihood."""
    if not hasattr(model, "_paper_name") or not has_likelihood(model):
        return None
    lead = "A paragraph for the section on methods, with the figures of this fit, and what to cite."
    parts = [Text(methods_paragraph(model), copied=True), Text(citation(), "To cite", copied=True)]
    return Section("methods", "For a paper", lead, parts)


def reproduce(model: Any, material: Material) -> Section:
    """How to reproduce the result: command, versions, options, parameters."""
    parts: list[Part] = []
    if material.command:
        parts.append(Code("Command", material.command))
    parts.append(Code("Python", _python(model, material)))
    options = [[name, _placeless(repr(value))] for name, value in sorted(model.get_params(deep=False).items())]
    named = [[name, value] for name, value in versions().items()]
    left = Grid("Options of the model", ["option", "value"], options, "Options", frozenset({1}))
    right = Grid("Versions of what was used", ["library", "version"], named, "Versions", frozenset({1}))
    parts.append(Beside([left, right]))
    if not material.shows_errors:
        parts.extend(_parameters(model))
    seed = getattr(model, "random_state", None)
    lead = "The same data, options, seed and versions on the same type of machine give the same result, bit for bit."
    if seed is None and getattr(model, "restarts_", {"n_init": 0})["n_init"] > 1:
        lead = (
            "No seed was given, so another fit may differ slightly: set random_state to a number to repeat it exactly."
        )
    return Section("reproduce", "Reproduce", lead, parts)


def _python(model: Any, material: Material) -> str:
    """Return the code that fits the model again and writes this page."""
    cost = ", cost=cost" if material.cost is not None else ""
    if model._origin.reading is not None:
        return f'{python_of(model)}\nhs.report(model, {data_of(model)}, "report.html"{cost})'
    if not hasattr(model, "loglik_") and not hasattr(model, "inertia_"):
        built = f"model = hs.{type(model).__name__}.from_params(...)  # or fitted in pieces; the parameters are below"
    else:
        labels = ", y" if hasattr(model, "classes_") else ""
        marks = zip(("groups", "time"), getattr(model, "_marks", ()), strict=False)
        labels += "".join(f", {option}={name!r}" for option, name in marks if name is not None)
        built = f"model = hs.{_placeless(call(model))}\nmodel.fit(X{labels})"
    extra = ", y=y" if material.y is not None and hasattr(model, "classes_") else ""
    return f'{HEAD}\n{built}\nhs.report(model, X, "report.html"{extra}{cost})'


def _placeless(text: str) -> str:
    """Remove the memory addresses of objects, which differ each time."""
    return re.sub(r" at 0x[0-9A-Fa-f]+", "", text)


def _parameters(model: Any) -> list[Part]:
    """Return all parameters as one table, up to a number of rows."""
    import narwhals as nw

    frame = nw.from_native(model.to_frame())
    rows = [[_cell(cell) for cell in row] for row in frame.head(MOST_PARAMETERS).iter_rows()]
    left_out = len(frame) - len(rows)
    note = f"{left_out:,} further rows are left out; model.to_frame() has them all." if left_out else ""
    head = list(frame.columns)
    return [Grid("All parameters: one column per class or state", head, rows, "Parameters", frozenset({1, 2}), note)]


def _cell(cell: Any) -> str:
    return number(cell, 4) if isinstance(cell, float) else str(cell)
