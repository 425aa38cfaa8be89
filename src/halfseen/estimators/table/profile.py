"""Classes in tables and in words: what each looks like, and what sets it apart from the whole."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from halfseen.data import Schema, frame_from_dict
from halfseen.kinds.records import ColumnProfile, Fitted
from halfseen.leaves.leaf import Floats, Leaf, Stats
from halfseen.leaves.limits import Params
from halfseen.leaves.product import Product
from halfseen.leaves.wrappers import unwrapped

if TYPE_CHECKING:
    from halfseen.estimators.table.table_mixture import TableMixture


def fitted_blocks(model: TableMixture) -> Iterator[Fitted]:
    """Yield the blocks of a fitted model, in their order."""
    stats = model._model.view(model._stats)["emit"] if hasattr(model, "_stats") else None
    return blocks_of(model._schema, model._model.leaves["emit"], model._params["emit"], model.weights_, stats)


def blocks_of(
    schema: Schema, emit: Leaf, params: Params, weights: Floats, stats: Stats | None = None
) -> Iterator[Fitted]:
    """Yield the blocks of an emission with these parameters, in their order."""
    assert isinstance(emit, Product)
    counted = {} if stats is None else emit.view(stats)
    for block in schema.each_block():
        leaf = unwrapped(emit.leaves[block.name])
        yield Fitted(block, params[block.name], weights, leaf, counted.get(block.name))


def profiles(model: TableMixture) -> list[ColumnProfile]:
    """Return the profile of every column, in the order of the table."""
    return profiles_of(fitted_blocks(model))


def profiles_of(blocks: Iterator[Fitted]) -> list[ColumnProfile]:
    """Return the profile of every column of some blocks, in the order of the table."""
    found: dict[int, ColumnProfile] = {}
    for fitted in blocks:
        found |= dict(zip(fitted.block.members, fitted.block.kind.profiles(fitted), strict=True))
    return [found[j] for j in sorted(found)]


def parameters(columns: list[ColumnProfile]) -> dict[str, dict[Any, Floats]]:
    """Return the parameters of every column: {category: (K,)}, {"mean": (K,), "sd": (K,)}, {"rate": (K,)}, ..."""
    return {column.name: dict(zip(column.rows, column.values, strict=True)) for column in columns}


def to_frame(model: TableMixture) -> Any:
    """Return shares and parameters as a table with a column per class."""
    columns = profiles(model)
    labels: dict[str, list[Any]] = {
        "column": ["(share)"] + [column.name for column in columns for _ in column.rows],
        "kind": ["share"] + [column.kind.name for column in columns for _ in column.rows],
        "value": [""] + [str(row) for column in columns for row in column.rows],
    }
    values = np.concatenate([model.weights_[None], *[column.values for column in columns]])
    overall = np.concatenate([[1.0], *[column.overall for column in columns]])
    numbers = {"overall": overall} | dict(zip(model.class_names_, values.T, strict=True))
    return frame_from_dict({**labels, **{name: column.tolist() for name, column in numbers.items()}}, model._template)


def describe(model: TableMixture, top: int) -> str:
    """Return a paragraph per class: its share, and the columns that set it apart most."""
    parts = zip(model.class_names_, model.weights_, in_words(profiles(model), top), strict=True)
    return "\n".join(f"{name} ({share:.0%}): {words}" for name, share, words in parts)


def in_words(columns: list[ColumnProfile], top: int) -> list[str]:
    """Return for each component the columns that set it apart most; if none does, what it looks like all the same."""
    found = []
    for k in range(columns[0].values.shape[1]):
        told = [column.kind.trait(column, k) for column in most_apart(columns, k, top)]
        alike = [column.kind.trait(column, k) for column in most_apart(columns, k, top, least=-np.inf)]
        found.append("; ".join(told) or ": ".join(["like the whole table", *filter(None, ["; ".join(alike)])]))
    return found


def most_apart(columns: list[ColumnProfile], k: int, top: int, least: float = 0.01) -> list[ColumnProfile]:
    """Return the columns that set component k apart most, and enough to be worth a word."""
    ranked = sorted((column for column in columns if len(column.rows)), key=lambda column: -column.distance[k])
    return [column for column in ranked[:top] if column.distance[k] > least]
