"""The section on rows: those between classes, and those unlike the others."""

from __future__ import annotations

from typing import Any

import numpy as np

from halfseen.analysis.rows import DRAWS
from halfseen.app.report.material import TableMaterial
from halfseen.app.report.parts import Grid, Part, Section, Text
from halfseen.app.report.text import has_text
from halfseen.app.report.words import cut, one_in, percent

MOST_LETTERS = 80  # of a text


def rows(model: Any, material: TableMaterial) -> Section:
    """Rows that are uncertain, and rows that are surprising; of text also those typical of each class."""
    parts: list[Part] = []
    if material.seen.proba.shape[1] > 1:
        if has_text(model):
            parts.append(_typical_grid(material))
        parts.append(_uncertain_grid(material))
    if material.surprising:
        parts.append(_surprising_grid(material))
    return Section("rows", "Rows worth a look", "Rows are counted from 0, in the order of the table.", parts)


def _typical_grid(material: TableMaterial) -> Part:
    found = [
        [_class(material, r.class_name), f"row {r.row}", r.why, *_quoted(material, r.row)] for r in material.typical
    ]
    caption = "The documents whose class is most certain, and the words that favour it; long documents are more certain"
    head = ["class", "row", "by", *_quoted_head(material)]
    return Grid(caption, head, found, "Typical of each class", frozenset({1, 2, 3}))


def _uncertain_grid(material: TableMaterial) -> Part:
    if not material.uncertain:
        return Text("For every row the most likely class has a probability of at least 0.95.")
    found = [
        [
            f"row {r.row}",
            *(
                material.tagged(name, f"{cut(name)} {percent(p)}")
                for name, p in zip(r.classes, r.probability, strict=True)
            ),
            r.why,
            *_quoted(material, r.row),
        ]
        for r in material.uncertain
    ]
    head = ["row", "most likely", "or", "why", *_quoted_head(material)]
    caption = "The rows whose class is least certain, and the cells that favour each of the two classes"
    return Grid(caption, head, found, "Between classes", frozenset({1, 2, 3, 4}))


def _surprising_grid(material: TableMaterial) -> Part:
    found = [
        [
            f"row {r.row}",
            _class(material, r.class_name),
            one_in(r.tail, 1 / DRAWS),
            r.why,
            *_quoted(material, r.row),
        ]
        for r in material.surprising
    ]
    alike = ", and texts as long," if has_text(material.model) else ","
    caption = (
        "The rows that are least probable under the model: the share of rows drawn from it, with the same missing cells"
        f"{alike} that are as improbable. Data entry errors are often among them."
    )
    head = ["row", "class", "as improbable", "why", *_quoted_head(material)]
    return Grid(caption, head, found, "Improbable rows", frozenset({1, 2, 3, 4}))


def _class(material: TableMaterial, name: str) -> str:
    return material.tagged(name, cut(name))


def _quoted_head(material: TableMaterial) -> list[str]:
    """Return the columns of text whose beginnings are shown: the first, if the table has the texts themselves."""
    schema = material.seen.table.schema
    return [] if schema.is_sparse else schema.texts[:1]


def _quoted(material: TableMaterial, row: int) -> list[str]:
    """Return the beginning of the text of a row, by its place in the table."""
    seen = material.seen
    places = [seen.table.schema.names.index(name) for name in _quoted_head(material)]
    raw = [seen.source.column(j) for j in places]
    n = int(np.searchsorted(seen.rows, row))
    return ["" if column.missing[n] else cut(str(column.values[n]), MOST_LETTERS) for column in raw]
