"""Tables of numbers: their schema, and means, covariances and precisions in scikit-learn's shapes.

A column that never varies has no density: it is kept as a constant, carries no information, and is returned as it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from halfseen.data import Schema, Source
from halfseen.data.columns import Column
from halfseen.data.matrix import numbers_only
from halfseen.errors import DataError, ParameterError
from halfseen.leaves import GaussianParams, NormalParams
from halfseen.leaves.leaf import Floats
from halfseen.leaves.limits import Params

BLOCK = "gaussian"
LARGEST = 1 << 28  # numbers in all covariances: 2 GB, and a fit holds several of them


def number_schema(source: Source, keep_constants: bool = False) -> Schema:
    """Return the schema in which every column that varies is a number.

    Parameters
    ----------
    keep_constants : bool
        Treat columns that never vary as numbers too: their variance is given, not estimated.
    """
    schema = Schema.learn(source, by_choice=False)
    for j, column in enumerate(schema.columns):
        if not source.streams and any(isinstance(value, str | bool) for value in column.categories or ()):
            raise DataError(numbers_only(source.column(j), column.name))
    codes = {j: len(c.categories or ()) for j, c in enumerate(schema.columns) if c.kind.has_categories}
    if any(n > 1 for n in codes.values()):
        schema = Schema.learn(source, {j: "gaussian" for j, n in codes.items() if n > 1})
    for column in schema.columns:  # text that never varies is no number either
        if column.kind.has_categories and any(isinstance(value, str) for value in column.categories or ()):
            schema = Schema.learn(source, {column.name: "gaussian"})
    if keep_constants:
        columns = [Column(c.name, "gaussian") if c.categories else c for c in schema.columns]
        schema = replace(Schema.of(columns), named=schema.named)
    return schema


def check_seen(empty: Sequence[str]) -> None:
    """Refuse columns without any observed cell, given by name: their means cannot be estimated."""
    if empty:
        others = f" ({len(empty)} such columns)" if len(empty) > 1 else ""
        raise DataError(
            f"column {empty[0]!r} has no observed cell{others}: no mean can be learned in it. Drop it; at the command "
            f"line: --ignore {empty[0]}."
        )


def check_size(covariance: str, n_components: int, n_columns: int) -> None:
    """Refuse covariances that do not fit into memory."""
    if covariance in ("full", "tied", "fixed") and n_components * n_columns**2 > LARGEST:
        gigabytes = n_components * n_columns**2 / 2**27
        raise ParameterError(
            f"covariance_type={covariance!r}: {n_components} covariances of {n_columns} columns take "
            f"{gigabytes:.0f} GB. Use covariance_type='diag', or fewer columns."
        )


# ---- what was fitted ---------------------------------------------------------------------------------------------


def all_means(params: Params, schema: Schema) -> Floats:
    """Return the means of all columns, constants included, (K, D)."""
    n_components = params["mix"].shape[1]
    means = np.full((n_components, len(schema.columns)), np.nan)
    for j, column in enumerate(schema.columns):
        if column.categories:
            means[:, j] = float(column.categories[0])
    if BLOCK in schema.blocks:
        means[:, list(schema.blocks[BLOCK])] = params["emit"][BLOCK].mean
    return means


def all_covariances(params: Params, schema: Schema, covariance: str) -> Floats:
    """Return covariances in scikit-learn's shape; 0 for constants.

    full, fixed (K, D, D); tied (D, D); diag (K, D); spherical, identity (K,).
    """
    n_components, width = params["mix"].shape[1], len(schema.columns)
    members = list(schema.blocks.get(BLOCK, ()))
    block = params["emit"].get(BLOCK)
    if covariance in ("spherical", "identity"):
        return np.array(block.var[:, 0]) if members else np.zeros(n_components)
    if covariance == "diag":
        out = np.zeros((n_components, width))
        if members:
            out[:, members] = block.var
        return out
    out = np.zeros((n_components, width, width))
    if members:
        out[np.ix_(range(n_components), members, members)] = block.cov
    return out[0] if covariance == "tied" else out


def cholesky_of_precisions(covariances: Floats, covariance: str) -> Floats:
    """Return U with precision = U U', upper triangular (full, tied, fixed), or 1 / sd; inf for constants."""
    if covariance in ("diag", "spherical", "identity"):
        with np.errstate(divide="ignore"):
            return 1 / np.sqrt(covariances)
    if covariances.ndim == 2:
        return _cholesky_of_precision(covariances)
    return np.stack([_cholesky_of_precision(one) for one in covariances])


def _cholesky_of_precision(cov: Floats) -> Floats:
    varies = np.flatnonzero(np.diagonal(cov) > 0)
    out = np.diag(np.where(np.diagonal(cov) > 0, 0.0, np.inf))
    inside = np.ix_(varies, varies)
    root = np.linalg.cholesky(cov[inside])
    out[inside] = solve_triangular(root, np.eye(len(varies)), lower=True).T
    return out


def precisions(factor: Floats, covariance: str) -> Floats:
    """Return precisions from their factors."""
    if covariance in ("diag", "spherical", "identity"):
        return factor**2
    with np.errstate(invalid="ignore"):
        return np.nan_to_num(factor @ np.swapaxes(factor, -1, -2), nan=0.0, posinf=np.inf)


# ---- what the user gave ------------------------------------------------------------------------------------------


def read_array(name: str, value: Any, shapes: Sequence[tuple[int, ...]]) -> Floats:
    """Return an array of finite numbers in one of the shapes."""
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError(f"{name}={value!r} is not an array of numbers.") from None
    if array.shape not in shapes:
        wanted = " or ".join(map(str, shapes))
        raise ParameterError(f"{name}: expected shape {wanted}, got {array.shape}.")
    if not np.isfinite(array).all():
        raise ParameterError(f"{name}: all numbers must be finite.")
    return array


def read_covariances(name: str, value: Any, covariance: str, n_components: int, width: int) -> Floats:
    """Return covariances (or precisions) given in scikit-learn's shape as (K, D, D); refuse what is not one."""
    shapes: dict[str, list[tuple[int, ...]]] = {
        "full": [(n_components, width, width)],
        "fixed": [(width, width), (n_components, width, width)],
        "tied": [(width, width)],
        "diag": [(n_components, width)],
        "spherical": [(n_components,)],
    }
    array = read_array(name, value, shapes[covariance])
    if covariance in ("diag", "spherical"):
        array = array if covariance == "diag" else np.repeat(array[:, None], width, axis=1)
        array = array[:, :, None] * np.eye(width)
    array = np.broadcast_to(array, (n_components, width, width))
    for k, one in enumerate(array):
        symmetric = np.allclose(one, one.T, rtol=1e-8, atol=1e-12 * np.abs(one).max())
        try:
            np.linalg.cholesky(one)
        except np.linalg.LinAlgError:
            symmetric = False
        if not symmetric:
            raise ParameterError(f"{name}: that of component {k} is not symmetric and positive definite.")
    return 0.5 * (array + array.transpose(0, 2, 1))


def set_means(block: Params, means: Floats) -> Params:
    """Return the parameters of a block with these means."""
    return type(block)(np.ascontiguousarray(means), block[1])


def set_covariances(block: Params, covariances: NDArray[Any]) -> Params:
    """Return the parameters of a block with these covariances, (K, D, D)."""
    if isinstance(block, GaussianParams):
        return GaussianParams(block.mean, np.diagonal(covariances, axis1=1, axis2=2).copy())
    return NormalParams(block.mean, np.array(covariances))


def inner(array: Floats, members: NDArray[np.intp]) -> Floats:
    """Return the part of (K, D, D) arrays that belongs to some columns."""
    return array[:, members[:, None], members]
