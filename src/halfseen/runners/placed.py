"""Tables in files that the workers of a cluster read: each of them some parts, which become lanes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from halfseen.data.files import FileTable
from halfseen.engine.tables.lane_source import LaneSource
from halfseen.engine.tables.lanes import Cluster
from halfseen.errors import ParameterError


@dataclass(frozen=True)
class PlacedTable:
    """A table in files, and the cluster that reads it; estimators fit to it.

    Attributes
    ----------
    table : FileTable
    cluster : Cluster
    """

    table: FileTable
    cluster: Cluster

    def __halfseen_lanes__(self, weight: Any, target: Any) -> LaneSource:
        """Return the source that a fit reads; weights and labels are the columns given, else those of the table."""
        own = {**self.table.roles, **{k: v for k, v in (("weight", weight), ("target", target)) if v is not None}}
        return LaneSource(self.cluster, **own)


@contextmanager
def placed(table: FileTable, on: str, n_jobs: int | None = None) -> Iterator[PlacedTable]:
    """Let the workers of a cluster read the parts of a table, as long as the context lasts.

    Parameters
    ----------
    table : FileTable
    on : str               "dask": a cluster on this machine; "dask://host:port": the scheduler of a cluster
    n_jobs : int or None   workers of a cluster on this machine
    """
    engine, _, address = on.partition("://")
    if engine != "dask" or (on != "dask" and not address):
        raise ParameterError(f"on={on!r} is not 'dask' (a cluster on this machine) or 'dask://host:port'.")
    from halfseen.runners import dask

    with dask.connected(address, n_jobs) as client:
        yield PlacedTable(table, dask.cluster_of_files(table.parts(), client))
