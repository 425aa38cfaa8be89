"""What a fit records about the columns of a table, beside its result."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from halfseen.data import Column, Schema, Table
from halfseen.errors import DataError
from halfseen.kinds.doubts import MOST
from halfseen.kinds.records import Figures, Fitted
from halfseen.leaves.leaf import Floats
from halfseen.leaves.limits import Params

SHOWN = 5  # columns named
REPEATED = 2  # rows for each distinct value, on average, from which values are few: otherwise only rows are


class Sampled(Protocol):
    """Rows of which a sample can be taken."""

    @property
    def schema(self) -> Schema:
        """The columns."""

    def sample(self, n_rows: int) -> Table:
        """Return some rows."""


def column_notes(schema: Schema, summary: Mapping[str, Figures], emit: Params, n_rows: float) -> list[str]:
    """Return the notes of the kinds about their columns; `emit` are the parameters by block."""
    found = [
        note for block in schema.each_block() for note in block.kind.notes(block, summary[block.name], emit[block.name])
    ]
    few = few_values(schema, summary, n_rows)
    return found if not few else [*found, _few_values_note(schema, few)]


def blank_notes(n_rows: float) -> list[str]:
    """Say how many rows (the sum of their weights) were left out because nothing was observed of them."""
    if not n_rows:
        return []
    if n_rows == 1:
        return ["1 row has no observed cell: it carries no information, and N does not count it"]
    return [f"{n_rows:,.10g} rows have no observed cell: they carry no information, and N does not count them"]


def _few_values_note(schema: Schema, few: Mapping[str, int]) -> str:
    """Name the columns of numbers with few distinct values, and say what to do."""
    first = next(iter(few))
    if len(few) == 1:
        what = f"column {first!r} holds only {few[first]} distinct values but is taken as a quantity"
    else:
        shown = ", ".join(map(repr, list(few)[:SHOWN])) + (" ..." if len(few) > SHOWN else "")
        what = (
            f"{len(few)} columns hold at most {max(few.values())} distinct values but are taken as quantities: {shown}"
        )
    return (
        f"{what} ({schema.kind_names[first]}), and classes may settle on single values; "
        f"columns={{{first!r}: 'categorical'}} takes them as categories"
    )


def few_values(schema: Schema, summary: Mapping[str, Figures], n_rows: float) -> dict[str, int]:
    """Return the columns of numbers with so few distinct values that they may be categories, and how many values."""
    return {
        name: count
        for block in schema.each_block()
        for name, count in block.kind.few_values(block, summary[block.name]).items()
        if n_rows > REPEATED * count
    }


def degenerate_notes(blocks: Iterable[Fitted], names: Sequence[str], advice: str) -> list[str]:
    """Name the components that rest on next to nothing; `names` is what to call each, `advice` what to do."""
    return [
        f"{names[k]}: {words}: it may be spurious, an accident of a few rows; {advice}"
        for fitted in blocks
        for k, words in fitted.block.kind.degenerate(fitted)
    ]


def column_doubts(table: Sampled, declared: Iterable[str | int] | None) -> list[str]:
    """Return what the cells of a table make one doubt; `declared`: columns of a given kind, None where none can be."""
    schema = table.schema
    part, keys = table.sample(MOST), set(declared or ())
    inferred = {name for j, name in enumerate(schema.names) if declared is not None and not {name, j} & keys}
    return [
        doubt
        for block in schema.each_block()
        for doubt in block.kind.doubts(block, part.blocks[block.name], part.weight, inferred)
    ]


def misfit_notes(table: Sampled, blocks: Iterable[Fitted]) -> list[str]:
    """Return what in the cells of a table the fitted parameters do not describe, and which kind may."""
    part = table.sample(MOST)
    return [
        note
        for fitted in blocks
        for note in fitted.block.kind.misfits(fitted, part.blocks[fitted.block.name], part.weight)
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
