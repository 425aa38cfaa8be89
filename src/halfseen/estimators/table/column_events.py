"""What a fit records about the columns of a table, beside its result."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from halfseen.data import Schema
from halfseen.errors import DataError
from halfseen.kinds.kind import Figures, Fitted
from halfseen.leaves.limits import Params


REPEATED = 2  # rows for each distinct value, on average, from which values are few: otherwise only rows are


def column_notes(schema: Schema, summary: Mapping[str, Figures], emit: Params, n_rows: float) -> list[str]:
    """Return the notes of the kinds about their columns; `emit` are the parameters by block."""
    found = [
        note
        for block in schema.each_block()
        for note in block.kind.notes(block, summary[block.name], emit[block.name])
    ]
    return found + [
        f"column {name!r} holds only {count} distinct values but is taken as a quantity ({schema.kind_names[name]}): "
        f"classes may settle on single values; columns={{{name!r}: 'categorical'}} takes them as categories"
        for name, count in few_values(schema, summary, n_rows).items()
    ]


def few_values(schema: Schema, summary: Mapping[str, Figures], n_rows: float) -> dict[str, int]:
    """Return the columns of numbers with so few distinct values that they may be categories, and how many values."""
    return {
        name: count
        for block in schema.each_block()
        for name, count in block.kind.few_values(block, summary[block.name]).items()
        if n_rows > REPEATED * count
    }


def degenerate_notes(blocks: Iterable[Fitted], names: Sequence[str], fewer: str) -> list[str]:
    """Name the components that rest on next to nothing.

    `names` is what to call each component, `fewer` what there should be less of.
    """
    return [
        f"{names[k]}: {words}: it may be spurious, an accident of a few rows rather than a group; use fewer {fewer}, "
        "or a prior"
        for fitted in blocks
        for k, words in fitted.block.kind.degenerate(fitted)
    ]


def unseen(schema: Schema) -> list[str]:
    """Name the columns without any observed cell."""
    return [column.name for column in schema.columns if column.categories == ()]


def check_seen(schema: Schema) -> None:
    """Refuse a table without any observed cell."""
    if len(unseen(schema)) == len(schema.columns):
        raise DataError("no cell of the table is observed: there is nothing to learn from it.")
