"""Partitions in this process, as a cluster without workers: what the others must equal, bit for bit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from halfseen.data import Table
from halfseen.engine.tables.lanes import Answer, Job, Lane
from halfseen.runners.threads import one_blas_thread, runner


class LocalCluster:
    """Partitions that are data frames of this process, and threads that work on them.

    Parameters
    ----------
    partitions : sequence of data frames or Arrow tables
    n_jobs : int, optional    number of threads; None: one
    title : str
    """

    def __init__(self, partitions: Sequence[Any], n_jobs: int | None = None, title: str = "the table") -> None:
        self._partitions = partitions
        self._n_jobs = n_jobs
        self._lanes: list[Lane] = []
        self.title = title

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        first = self._partitions[0]
        return list(getattr(first, "column_names", None) or first.columns)

    def learned(self, task: Callable[[Any], Any]) -> Iterator[tuple[int, Any]]:
        """Yield the result of a task on every partition."""
        yield from enumerate(self._each(task, self._partitions))

    def encode(self, task: Callable[[Any], Table | None], numbers: Sequence[int]) -> None:
        """Keep the numbered partitions as lanes."""
        self._lanes = list(self._each(lambda n: Lane.of(task(self._partitions[n])), numbers))

    def answers(self, job: Job, first_chunks: Sequence[int] | None) -> Iterator[Answer]:
        """Yield the answers of all lanes."""
        if first_chunks is not None:
            for lane, first in zip(self._lanes, first_chunks, strict=True):
                lane.first_chunk = first
        found = self._each(job, self._lanes)
        for number, (lane, value) in enumerate(zip(self._lanes, found, strict=True)):
            yield Answer(number, lane.digest, value)

    def _each(self, task: Callable[[Any], Any], of: Sequence[Any]) -> Iterable[Any]:
        with runner(self._n_jobs, len(of)) as run, one_blas_thread():
            yield from run(task, of)
