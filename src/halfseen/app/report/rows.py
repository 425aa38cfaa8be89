"""The section on rows: those between classes, and those unlike the others."""

from __future__ import annotations

from typing import Any

from halfseen.analysis.rows import DRAWS
from halfseen.app.report.material import TableMaterial
from halfseen.app.report.parts import Grid, Part, Section, Text
from halfseen.app.report.words import cut, one_in, percent


def rows(model: Any, material: TableMaterial) -> Section:
    """Rows that are uncertain, and rows that are surprising."""
    parts: list[Part] = []
    if material.seen.proba.shape[1] > 1:
        parts.append(_uncertain_grid(material))
    parts.append(_surprising_grid(material))
    return Section("rows", "Rows worth a look", "Rows are counted from 0, in the order of the table.", parts)


def _uncertain_grid(material: TableMaterial) -> Part:
    if not material.uncertain:
        return Text("Every row is at least 95% sure of its class.")
    found = [
        [
            f"row {r.row}",
            f"{cut(r.classes[0])} {percent(r.probability[0])}",
            f"{cut(r.classes[1])} {percent(r.probability[1])}",
            r.why,
        ]
        for r in material.uncertain
    ]
    head = ["row", "most probable", "or", "why"]
    caption = "The rows least sure of their class, and which cells pull which way"
    return Grid(caption, head, found, "Between classes", frozenset({1, 2, 3}))


def _surprising_grid(material: TableMaterial) -> Part:
    found = [[f"row {r.row}", cut(r.class_name), one_in(r.tail, 1 / DRAWS), r.why] for r in material.surprising]
    caption = (
        "The rows least like what the model expects: how many rows drawn from the model, with the same cells missing, "
        "are as improbable. Errors in the data are often among them."
    )
    return Grid(caption, ["row", "class", "as improbable", "why"], found, "Unlike the others", frozenset({1, 2, 3}))
