"""What a fit records about the columns of a table, beside its result."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from halfseen.data import Column, Schema, Table
from halfseen.errors import DataError
from halfseen.kinds.doubts import MOST
from halfseen.kinds.kind import Figures
from halfseen.leaves.leaf import Floats
from halfseen.leaves.limits import Params


def column_notes(schema: Schema, summary: Mapping[str, Figures], emit: Params) -> list[str]:
    """Return the notes of the kinds about their columns; `emit` are the parameters by block."""
    blocks = schema.each_block()
    return [note for block in blocks for note in block.kind.notes(block, summary[block.name], emit[block.name])]


def column_doubts(table: Table, declared: Iterable[str | int] | None) -> list[str]:
    """Return what the cells of a table make one doubt; `declared`: columns of a given kind, None where none can be."""
    schema = table.schema
    part, keys = table.take(slice(0, MOST)), set(declared or ())
    inferred = {name for j, name in enumerate(schema.names) if declared is not None and not {name, j} & keys}
    return [
        doubt
        for block in schema.each_block()
        for doubt in block.kind.doubts(block, part.blocks[block.name], part.weight, inferred)
    ]


def number_doubts(names: Iterable[str], values: Floats, weight: Floats) -> list[str]:
    """Return the same of a matrix of numbers, (N, D)."""
    schema = Schema.of(Column(name, "gaussian") for name in names)
    return column_doubts(Table(schema, {"gaussian": values[:MOST]}, weight[:MOST]), None)


def unseen(schema: Schema) -> list[str]:
    """Name the columns without any observed cell."""
    return [column.name for column in schema.columns if column.categories == ()]


def check_seen(schema: Schema) -> None:
    """Refuse a table without any observed cell."""
    if len(unseen(schema)) == len(schema.columns):
        raise DataError("no cell of the table is observed: there is nothing to learn from it.")
