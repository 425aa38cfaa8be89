"""What a fit records about the columns of a table, beside its result."""

from __future__ import annotations

from collections.abc import Mapping

from halfseen.data import Schema
from halfseen.errors import DataError
from halfseen.kinds.kind import Figures
from halfseen.leaves.limits import Params


def column_notes(schema: Schema, summary: Mapping[str, Figures], emit: Params) -> list[str]:
    """Return the notes of the kinds about their columns; `emit` are the parameters by block."""
    blocks = schema.each_block()
    return [note for block in blocks for note in block.kind.notes(block, summary[block.name], emit[block.name])]


def unseen(schema: Schema) -> list[str]:
    """Name the columns without any observed cell."""
    return [column.name for column in schema.columns if column.categories == ()]


def check_seen(schema: Schema) -> None:
    """Refuse a table without any observed cell."""
    if len(unseen(schema)) == len(schema.columns):
        raise DataError("no cell of the table is observed: there is nothing to learn from it.")
