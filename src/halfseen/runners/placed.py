"""Tables in files that the workers of a cluster read: each of them some parts, which become lanes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from halfseen.data.files import FileTable
from halfseen.data.sequence_partition import NamesIn
from halfseen.data.whole_sequences import readers
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
def placed(
    table: FileTable, on: str, n_jobs: int | None = None, groups: str | None = None, time: str | None = None
) -> Iterator[PlacedTable]:
    """Let the workers of a cluster read the parts of a table, as long as the context lasts.

    Parameters
    ----------
    table : FileTable
    on : str               "dask": a cluster on this machine; "dask://host:port": the scheduler of a cluster
    n_jobs : int or None   workers of a cluster on this machine
    groups, time : str, optional    columns of sequences: rows of one are then read by one worker
    """
    engine, _, address = on.partition("://")
    if engine != "dask" or (on != "dask" and not address):
        raise ParameterError(f"on={on!r} is not 'dask' (a cluster on this machine) or 'dask://host:port'.")
    from halfseen.runners import dask

    with dask.connected(address, n_jobs) as client:
        parts = table.parts([name for name in (groups, time) if name is not None])
        cluster = dask.cluster_of_files(parts, client)
        if groups is not None and len(parts) > 1:
            hashes = [own for _, own in sorted(cluster.learned(NamesIn(groups)), key=lambda found: found[0])]
            cluster = dask.cluster_of_files(parts, client, readers(parts, groups, hashes))
        yield PlacedTable(table, cluster)
