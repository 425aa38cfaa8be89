"""Tables in files that the workers of a cluster read: each of them some parts, which become lanes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from halfseen.data.files import FileTable
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

    @property
    def __halfseen_cluster__(self) -> Cluster:
        return self.cluster

    @property
    def roles(self) -> dict[str, str | None]:
        """The columns with weights and labels."""
        return self.table.roles


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
