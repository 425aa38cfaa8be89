"""From blocks of numbers back to cells: decoded columns, and holes filled in the container they came in."""

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


def holes_filled(source: Source, schema: Schema, blocks: Mapping[str, Any]) -> Iterator[Filled]:
    """Yield column, rows and new values of the holes of a table, taken from blocks without holes."""
    for j, column in enumerate(decoded(schema, blocks)):
        if schema.columns[j].kind.of_words:  # which has no holes
            continue
        holes = np.flatnonzero(source.column(j).missing)  # a category unknown to the model is no hole
        if len(holes) and column[holes[0]] is not None:
            yield j, holes, [column[n] for n in holes]
