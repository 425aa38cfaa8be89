"""From blocks of numbers back to cells: decoded columns, and missing values filled in the container they came in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halfseen.data import Schema, Source

Filled = tuple[int, NDArray[np.intp], list[Any]]


def decoded(schema: Schema, blocks: Mapping[str, Any]) -> list[Any]:
    """Return blocks as columns of values, in the order of the table."""
    columns: dict[int, Any] = {}
    for name, members in schema.blocks.items():
        columns |= dict(zip(members, schema.decode(name, blocks[name]), strict=True))
    return [columns[j] for j in sorted(columns)]


def filled_cells(source: Source, schema: Schema, blocks: Mapping[str, Any]) -> Iterator[Filled]:
    """Yield column, rows and new values of the missing cells of a table, taken from complete blocks."""
    for j, column in enumerate(decoded(schema, blocks)):
        if schema.columns[j].kind.of_words:  # which is never missing
            continue
        missing = np.flatnonzero(source.column(j).missing)  # a category unknown to the model is not
        if len(missing) and column[missing[0]] is not None:
            yield j, missing, [column[n] for n in missing]
