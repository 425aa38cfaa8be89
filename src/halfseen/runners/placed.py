"""Tables in files that the workers of a cluster read: each of them some parts, which become lanes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from halfseen.data.files import FileTable
from halfseen.data.sequence_partition import NamesIn
from halfseen.data.whole_sequences import readers
from halfseen.engine.tables.lanes import Cluster
from halfseen.errors import ParameterError


@dataclass(frozen=True)
class PlacedTable:
    """Data in files, and the cluster that reads them; estimators fit to it.

    Attributes
    ----------
    cluster : Cluster
    roles : mapping       the columns with weights and labels
    """

    cluster: Cluster
    roles: Mapping[str, str | None] = field(default_factory=dict)

    @property
    def __halfseen_cluster__(self) -> Cluster:
        return self.cluster


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
    with _connected(on, n_jobs) as (dask, client):
        parts = table.parts([name for name in (groups, time) if name is not None])
        cluster = dask.cluster_of_files(parts, client)
        if groups is not None and len(parts) > 1:
            hashes = [own for _, own in sorted(cluster.learned(NamesIn(groups)), key=lambda found: found[0])]
            cluster = dask.cluster_of_files(parts, client, readers(parts, groups, hashes))
        yield PlacedTable(cluster, table.roles)


@contextmanager
def placed_parts(parts: Sequence[Any], on: str, n_jobs: int | None = None) -> Iterator[PlacedTable]:
    """Let the workers of a cluster read parts of files that a family knows to read; other arguments as of `placed`."""
    with _connected(on, n_jobs) as (dask, client):
        yield PlacedTable(dask.cluster_of_files(parts, client))


@contextmanager
def _connected(on: str, n_jobs: int | None) -> Iterator[tuple[Any, Any]]:
    """Yield the module of an engine, and its client."""
    engine, _, address = on.partition("://")
    if engine != "dask" or (on != "dask" and not address):
        raise ParameterError(f"on={on!r} is not 'dask' (a cluster on this machine) or 'dask://host:port'.")
    from halfseen.runners import dask

    with dask.connected(address, n_jobs) as client:
        yield dask, client
