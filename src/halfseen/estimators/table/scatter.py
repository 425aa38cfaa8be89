"""Rows as points, each with the probabilities of its classes: what plots of pairs of columns need of any model.

    separation[d] = sum_k shares[k] KL(class k || whole)     in column d, nats: how much the column tells of the class

Columns of text are left out, as a text is no point.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from halfseen.data import Schema, Table
from halfseen.estimators.table.profile import profiles_of
from halfseen.kinds.records import Fitted
from halfseen.leaves import GaussianParams, NormalParams
from halfseen.leaves.leaf import Floats


class Scatter(NamedTuple):
    """Rows as points.

    Attributes
    ----------
    names : list of str                 columns
    levels : list of tuple or None      categories of a column; None for numbers
    values : (N, D) array               numbers, or positions of categories; NaN where missing
    proba : (N, C) array                probability of each class
    class_names : sequence of str
    shares : (C,) array or None         None where the shares of the classes are not known
    separation : (D,) array             how much each column tells of the class
    means : (K, D) array                of the components; NaN where a column has none
    covariances : (K, D, D) array       NaN where the model has none
    owner : (K,) array                  the class of each component
    n_given : int                       rows in the table given; more than N if a sample was drawn
    rows : (N,) array                   positions of the rows in the table given
    """

    names: list[str]
    levels: list[tuple[str, ...] | None]
    values: Floats
    proba: Floats
    class_names: Sequence[str]
    shares: Floats | None
    separation: Floats
    means: Floats
    covariances: Floats
    owner: list[int]
    n_given: int
    rows: NDArray[np.int64]

    def best(self, top: int) -> list[int]:
        """Return the columns that separate the classes most, that with the most first."""
        return np.argsort(-self.separation, kind="stable")[:top].tolist()


def places(table: Table) -> tuple[list[int], Floats]:
    """Return the columns of a table that are points on an axis, and their values, (N, D), NaN where missing."""
    found: dict[int, Floats] = {}
    for block in table.schema.each_block():
        if block.kind.of_words:
            continue
        cells = table.blocks[block.name]
        values = np.where(block.kind.missing(block, cells), np.nan, cells.astype(np.float64))
        found |= dict(zip(block.members, values.T, strict=True))
    columns = places_of(table.schema)
    return columns, np.stack([found[j] for j in columns], axis=1) if columns else np.empty((table.n_rows, 0))


def places_of(schema: Schema) -> list[int]:
    """Return the columns that are points on an axis: all but text."""
    return [j for j, column in enumerate(schema.columns) if not column.kind.of_words]


def levels_of(schema: Schema, columns: Sequence[int]) -> list[tuple[str, ...] | None]:
    """Return the categories of some columns as text; None for numbers."""
    chosen = [schema.columns[j] for j in columns]
    return [tuple(map(str, c.categories or ())) if c.kind.has_categories else None for c in chosen]


def separations(blocks: Iterable[Fitted], weights: Floats, columns: Sequence[int]) -> Floats:
    """Return how much each of some columns tells of the component."""
    found = profiles_of(iter(blocks))
    return np.array([float(weights @ np.nan_to_num(found[j].distance)) for j in columns])


def ellipses(blocks: Iterable[Fitted], columns: Sequence[int]) -> tuple[Floats, Floats]:
    """Return means (K, D) and covariances (K, D, D) of the columns that are normal in each component, others NaN."""
    listed = list(blocks)
    size, width = len(listed[0].weights), 1 + max((j for fitted in listed for j in fitted.block.members), default=0)
    means, covs = np.full((size, width), np.nan), np.full((size, width, width), np.nan)
    normal = [fitted for fitted in listed if isinstance(fitted.params, GaussianParams | NormalParams)]
    every = [j for fitted in normal for j in fitted.block.members]
    covs[np.ix_(range(size), every, every)] = 0.0  # columns of different blocks are independent given the component
    for fitted in normal:
        members = list(fitted.block.members)
        means[:, members] = fitted.params.mean
        cov = getattr(fitted.params, "cov", None)
        inside = fitted.params.var[:, :, None] * np.eye(len(members)) if cov is None else cov
        covs[np.ix_(range(size), members, members)] = inside
    chosen = list(columns)
    return means[:, chosen], covs[:, chosen][:, :, chosen]
