"""Frames whose rows other processes hold: which cluster holds them."""

from __future__ import annotations

from typing import Any

from halfseen.engine.tables.lane_source import LaneSource
from halfseen.errors import ParameterError


def is_elsewhere(X: Any) -> bool:
    """Whether other processes hold the rows of a table."""
    return _is_dask(X)


def rows_of(X: Any, weight: Any = None, target: Any = None) -> Any:
    """Return a table to fit to: a source for rows that other processes hold, anything else as it is."""
    if _is_dask(X):
        from halfseen.runners.dask import cluster_of

        return LaneSource(cluster_of(X), weight, target)
    for what, given in (("sample_weight", weight), ("labels", target)):
        if isinstance(given, str):
            raise ParameterError(
                f"{what}={given!r}: only of a Dask frame this is the name of a column. Give one value for each row."
            )
    return X


def _is_dask(X: Any) -> bool:
    return type(X).__module__.startswith(("dask.dataframe", "dask_expr")) and hasattr(X, "map_partitions")
