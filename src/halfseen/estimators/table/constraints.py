"""Constraints on the columns of a table: parameters that keep their value, and classes that share theirs.

Vocabulary
----------
fixed        a list of columns (and "weights") that keep what `start` gives, or {column: parameters} of which only those
             given are kept: None or NaN is free
tied         a list of columns alike in all classes, or {column: [[0, 1], [2]]}: groups of classes with equal parameters
treatment    what a block of columns says of it: "fixed", "tied", "cells" (some entries are fixed), or "tied 0 0 1" (the
             group of each class)
masks        trees in the shape of the parameters, True where an entry is fixed
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from halfseen.data import Schema
from halfseen.errors import ParameterError
from halfseen.estimators import options
from halfseen.estimators.table import emission_builder
from halfseen.leaves.categorical import read_fixed_table
from halfseen.leaves.leaf import frozen, map_arrays
from halfseen.leaves.limits import Params


def treatments(
    fixed: Any, tied: Any, start: Mapping[str, Any], schema: Schema, n_components: int | None
) -> dict[str, str]:
    """Return the treatment of every column that is fixed or tied, by name; refuse what cannot be honoured."""
    whole = emission_builder.read_names(whole_columns(fixed), schema, "fixed")
    cells = emission_builder.read_names(list(fixed_cells(fixed)), schema, "fixed")
    groups = tied if isinstance(tied, Mapping) else {}
    tied_names = emission_builder.read_names(
        list(groups) if groups else options.listed("tied", tied or None), schema, "tied"
    )
    if "weights" in tied_names or {*whole, *cells} & set(tied_names):
        raise ParameterError("tied: 'weights' cannot be tied, and a column cannot be both fixed and tied.")
    emission_builder.check_fixed(whole, start, schema)
    found = (
        dict.fromkeys(whole, "fixed")
        | dict.fromkeys(cells, emission_builder.CELLS)
        | dict.fromkeys(tied_names, emission_builder.TIED)
    )
    if groups:
        assert n_components is not None
        found |= {name: _grouped(name, own, n_components) for name, own in groups.items()}
    found.pop("weights", None)
    for column in schema.columns:
        if found.get(column.name) == emission_builder.CELLS and emission_builder.CELLS not in column.kind.treatments:
            raise ParameterError(
                f"fixed[{column.name!r}]: single parameters of a column of {column.kind.name} cannot be fixed. Fix the "
                f"whole column: start={{{column.name!r}: ...}} and fixed=[{column.name!r}]."
            )
    return found


def whole_columns(fixed: Any) -> tuple[str, ...]:
    """Return the names of a list of columns; none where entries are given by column."""
    return () if isinstance(fixed, Mapping) else options.listed("fixed", fixed)


def fixed_cells(fixed: Any) -> Mapping[str, Any]:
    """Return the entries that are given by column; none where there is a list of columns."""
    return fixed if isinstance(fixed, Mapping) else {}


def _grouped(name: str, groups: Any, n_components: int) -> str:
    """Return the treatment of a column whose classes are tied in groups; a class in none stands alone.

    Examples
    --------
    >>> _grouped("q1", [[0, 2]], 4)
    'tied 0 1 0 3'
    """
    what = f"tied[{name!r}]={groups!r:.80}"
    listed = isinstance(groups, Collection) and not isinstance(groups, str | Mapping)
    if not listed or not all(isinstance(group, Collection) and not isinstance(group, str) for group in groups):
        raise ParameterError(f"{what} is not a list of groups of classes, such as [[0, 1], [2]].")
    first = list(range(n_components))
    seen: set[int] = set()
    for group in groups:
        for k in group:
            if isinstance(k, bool) or not isinstance(k, int | np.integer) or not 0 <= k < n_components:
                raise ParameterError(f"{what}: {k!r} is not the number of a class, 0 to {n_components - 1}.")
            if k in seen:
                raise ParameterError(f"{what}: class {k} is in two groups, or twice in one.")
            seen.add(int(k))
            first[k] = int(min(group))
    return " ".join([emission_builder.TIED, *map(str, first)])


def with_fixed(params: Params, fixed: Mapping[str, Any], schema: Schema, n_components: int) -> tuple[Params, Params]:
    """Return the parameters with the entries that a user fixed in their place, and the masks of these."""
    emit = {name: map_arrays(np.array, block) for name, block in params["emit"].items()}
    masks: dict[str, Any] = {"emit": {}}
    mix = params["mix"]
    for name, given in fixed.items():
        if name == "weights":
            table = read_fixed_table(given, (n_components,), "fixed['weights']")[None]
            masks["mix"] = ~np.isnan(table)
            mix = frozen(np.where(masks["mix"], table, mix))
            continue
        block, d = emission_builder.where(schema, name)
        if block.name not in masks["emit"]:
            masks["emit"][block.name] = map_arrays(lambda part: np.zeros(part.shape, dtype=bool), emit[block.name])
        block.kind.fix(emit[block.name], masks["emit"][block.name], block, d, given, n_components)
    return {"mix": mix, "emit": map_arrays(frozen, emit)}, masks
