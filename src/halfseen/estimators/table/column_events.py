"""What a fit notes about the columns of a table, beside its result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from halfseen.data import Column, Schema
from halfseen.errors import DataError
from halfseen.leaves.leaf import Floats

MANY_SPACES = 2  # in what may be a sentence
HEAD = 20  # categories looked at
FEW = 4  # whole numbers with more distinct values than this, hardly ever repeated, may be a quantity


def column_notes(schema: Schema, frequencies: Mapping[str, Floats]) -> list[str]:
    """Name columns that cannot tell classes apart, and quantities or texts that may have been taken for categories."""
    notes = []
    for column, counts in _categorical(schema, frequencies):
        if len(counts) == 0:
            notes.append(f"column {column.name!r} has no observed cell: it says nothing")
        elif len(counts) == 1:
            notes.append(f"column {column.name!r} is constant: it says nothing")
        elif _whole(column) and len(counts) > FEW and counts.sum() < 2 * len(counts):
            notes.append(
                f"column {column.name!r}: its {len(counts)} whole numbers count as categories, most of them seen once; "
                f"columns={{{column.name!r}: 'gaussian'}} makes it a quantity"
            )
        elif _sentences(column) and counts.sum() < 2 * len(counts):
            notes.append(
                f"column {column.name!r}: its {len(counts)} texts count as categories, most of them seen once; "
                f"NaiveBayes and LatentClass count their words with columns={{{column.name!r}: 'text'}}"
            )
    return notes


def unseen(schema: Schema) -> list[str]:
    """Name the columns without any observed cell."""
    return [column.name for column in schema.columns if column.categories == ()]


def check_seen(schema: Schema) -> None:
    """Refuse a table without any observed cell."""
    if len(unseen(schema)) == len(schema.columns):
        raise DataError("no cell of the table is observed: there is nothing to learn from it.")


def _categorical(schema: Schema, frequencies: Mapping[str, Floats]) -> Iterator[tuple[Column, Floats]]:
    """Yield each categorical column with the weighted counts of its categories."""
    for block, counts in frequencies.items():
        if not block.startswith("categorical"):
            continue
        columns = np.split(counts, np.cumsum(schema.cardinalities(block))[:-1])
        yield from zip(schema.block_columns(block), columns, strict=True)


def _sentences(column: Column) -> bool:
    """Whether the categories are texts of several words, and more than a few."""
    texts = column.categories or ()
    return len(texts) > FEW and all(isinstance(text, str) and text.count(" ") >= MANY_SPACES for text in texts[:HEAD])


def _whole(column: Column) -> bool:
    return all(type(category) is int for category in column.categories or ())
