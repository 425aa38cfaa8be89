"""The parameters of a model one by one: how they are called, their values, and between which bounds they are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from halfseen.data import Schema
from halfseen.kinds.records import ColumnProfile, Fitted
from halfseen.leaves.leaf import Floats
from halfseen.leaves.limits import Params

Bounds = tuple[float, float]
SHARE: Bounds = (0.0, 1.0)


class NamedParameters(NamedTuple):
    """Parameters of a model.

    Attributes
    ----------
    labels : dict of str to list     columns that name each of them
    values : (Q,) array
    bounds : list of (low, high)
    """

    labels: dict[str, list[Any]]
    values: Floats
    bounds: list[Bounds]

    def __add__(self, other: NamedParameters) -> NamedParameters:  # type: ignore[override]
        labels = {name: listed + other.labels[name] for name, listed in self.labels.items()}
        return NamedParameters(labels, np.concatenate([self.values, other.values]), self.bounds + other.bounds)


class Row(NamedTuple):
    """A parameter in every component.

    Attributes
    ----------
    column, value : str     the column, and which of its parameters this is
    numbers : (K,) array
    bounds : (low, high)
    """

    column: str
    value: str
    numbers: Floats
    bounds: Bounds


def rows_of_columns(columns: list[ColumnProfile]) -> list[Row]:
    """Return the parameters of all columns."""
    return [
        Row(column.name, str(row), numbers, column.kind.bounds(row))
        for column in columns
        for row, numbers in zip(column.rows, column.values, strict=True)
    ]


def correlations(blocks: Iterable[Fitted]) -> Iterator[Row]:
    """Yield the correlations of columns with a joint covariance."""
    for fitted in blocks:
        cov = getattr(fitted.params, "cov", None)
        if cov is None:
            continue
        names = [column.name for column in fitted.block.columns]
        sd = np.sqrt(fitted.params.var)
        for d, e in combinations(range(len(names)), 2):
            numbers = cov[:, d, e] / (sd[:, d] * sd[:, e])
            yield Row(names[d], f"correlation with {names[e]}", numbers, (-1.0, 1.0))


def by_component(rows: list[Row], components: tuple[str, ...], called: str) -> NamedParameters:
    """Return rows as single parameters, those of one row after each other; `called` names the components' column."""
    n = len(components)
    return NamedParameters(
        {
            "column": [row.column for row in rows for _ in range(n)],
            "value": [row.value for row in rows for _ in range(n)],
            called: [name for _ in rows for name in components],
        },
        np.concatenate([row.numbers for row in rows]),
        [row.bounds for row in rows for _ in range(n)],
    )


# ---- draws of parameters ---------------------------------------------------------------------------------------------


class DrawnRow(NamedTuple):
    """A parameter in every component, in many draws.

    Attributes
    ----------
    column, value :             as of `Row`
    numbers : (..., K) array    the axes before the last are those of the draws
    components : tuple of str
    """

    column: str
    value: Any
    numbers: Floats
    components: tuple[str, ...]


def drawn_columns(schema: Schema, emit: Params, components: tuple[str, ...]) -> Iterator[DrawnRow]:
    """Yield the parameters of all columns in the order of the table, then covariances of those with a joint one."""
    found: dict[int, list[DrawnRow]] = {}
    for block in schema.each_block():
        named = block.kind.named(block, emit[block.name])
        for j, column, values in zip(block.members, block.columns, named, strict=True):
            found[j] = [DrawnRow(column.name, value, numbers, components) for value, numbers in values.items()]
    for j in sorted(found):
        yield from found[j]
    for block in schema.each_block():
        cov = getattr(emit[block.name], "cov", None)
        if cov is not None:
            for d, e in combinations(range(len(block.columns)), 2):
                value = f"covariance with {block.columns[e].name}"
                yield DrawnRow(block.columns[d].name, value, cov[..., d, e], components)
