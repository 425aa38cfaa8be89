"""What a fit notes about the columns of a table, beside its result."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from halfseen.data import Column, Table

FEW = 4  # whole numbers with more distinct values than this, hardly ever repeated, may be a quantity


def column_notes(table: Table) -> list[str]:
    """Name columns that cannot tell classes apart, and quantities that may have been taken for categories."""
    notes = []
    for column, counts in _categorical(table):
        if len(counts) == 0:
            notes.append(f"column {column.name!r} has no observed cell: it says nothing")
        elif len(counts) == 1:
            notes.append(f"column {column.name!r} is constant: it says nothing")
        elif _whole(column) and len(counts) > FEW and counts.sum() < 2 * len(counts):
            notes.append(
                f"column {column.name!r}: its {len(counts)} whole numbers count as categories, most of them seen once; "
                f"columns={{{column.name!r}: 'gaussian'}} makes it a quantity"
            )
    return notes


def _categorical(table: Table) -> Iterator[tuple[Column, np.ndarray]]:
    """Yield each categorical column with the weighted counts of its categories."""
    schema = table.schema
    for block in (name for name in schema.blocks if name.startswith("categorical")):
        counts = np.split(table.frequencies(block), np.cumsum(schema.cardinalities(block))[:-1])
        yield from zip(schema.block_columns(block), counts, strict=True)


def _whole(column: Column) -> bool:
    return all(type(category) is int for category in column.categories or ())
