"""Numbers of a hidden state, jointly: what their covariance types mean, and their arrays in the shapes of hmmlearn.

Only columns that are neither fixed nor tied one by one belong to it: those are independent given the state, always.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from halfseen.data import Schema
from halfseen.errors import ParameterError
from halfseen.estimators.table import numeric_schema
from halfseen.leaves import Frozen, Leaf, Product
from halfseen.leaves.leaf import Floats, frozen, map_arrays
from halfseen.leaves.limits import Params

WHOLE = ("means", "covariances")  # names of all numbers together, in `start` and `fixed`


def names(schema: Schema) -> tuple[str, ...]:
    """Return "means" and "covariances", without those that a column is called by: the column wins."""
    columns = {column.name for column in schema.columns}
    return tuple(name for name in WHOLE if name not in columns)


def of_leaf(schema: Schema, covariance: str, n_components: int) -> str:
    """Return the shape that the leaf needs: one column alone has no covariances, and the quick leaf will do."""
    width = len(schema.blocks.get(numeric_schema.BLOCK, ()))
    numeric_schema.check_size(covariance, n_components, width)
    return "diag" if width == 1 and covariance != "tied" else covariance


def keep(emit: Leaf, fixed: Collection[str]) -> Leaf:
    """Return the emission with all means, all covariances or both fixed."""
    assert isinstance(emit, Product)
    if not fixed:
        return emit
    leaf = emit.leaves[numeric_schema.BLOCK]
    blank = leaf.blank()
    masks = [np.full(part.shape, name in fixed) for part, name in zip(blank, WHOLE, strict=True)]
    return replace(emit, leaves={**emit.leaves, numeric_schema.BLOCK: Frozen(leaf, type(blank)(*masks))})


# ---- arrays in the shapes of hmmlearn -----------------------------------------------------------------------------


def place(emit: Params, given: Mapping[str, Any], covariance: str, sizes: tuple[int, int]) -> Params:
    """Return the emissions with means and covariances that the user gave; `sizes` are states, and components in each.

    means (K, D) or (K, M, D); covariances full (K, D, D), tied (D, D), diag (K, D), spherical (K,), or with M after K.
    """
    if not given:
        return emit
    if numeric_schema.BLOCK not in emit:
        raise ParameterError(f"start: {next(iter(given))!r} has no meaning: no column of numbers is free.")
    block, size = emit[numeric_schema.BLOCK], sizes[0] * sizes[1]
    width = block.mean.shape[1]
    if "means" in given:
        means = numeric_schema.read_array("start: means", _flat(given["means"], 2, sizes), [(size, width)])
        block = numeric_schema.set_means(block, means)
    if "covariances" in given:
        n_axes = {"full": 3, "tied": 2, "diag": 2, "spherical": 1}[covariance]
        value = given["covariances"] if covariance == "tied" else _flat(given["covariances"], n_axes, sizes)
        found = numeric_schema.read_covariances("start: covariances", value, covariance, size, width)
        block = numeric_schema.set_covariances(block, found)
    return {**emit, numeric_schema.BLOCK: map_arrays(frozen, block)}


def _flat(value: Any, n_axes: int, sizes: tuple[int, int]) -> Any:
    """Return an array with states and their components in one axis."""
    shape = np.shape(value)
    return np.reshape(value, (-1, *shape[2:])) if len(shape) == n_axes + 1 and shape[:2] == sizes else value


def means(block: Params, n_inside: int) -> Floats:
    """Return the means, (K, D), or (K, M, D) of states with several components."""
    return _apart(block.mean, n_inside)


def covariances(block: Params, covariance: str, n_inside: int) -> Floats:
    """Return the covariances in the shape that hmmlearn documents for their type.

    full (K, D, D), diag (K, D), spherical (K,), with M after K of states with several components; tied (D, D).
    """
    if covariance == "diag":
        return _apart(block.var, n_inside)
    if covariance == "spherical":
        return _apart(block.var[:, 0], n_inside)
    cov = block.cov if hasattr(block, "cov") else block.var[:, :, None] * np.eye(block.var.shape[1])
    return cov[0] if covariance == "tied" else _apart(cov, n_inside)


def _apart(array: Floats, n_inside: int) -> Floats:
    return array if n_inside == 1 else array.reshape(-1, n_inside, *array.shape[1:])
