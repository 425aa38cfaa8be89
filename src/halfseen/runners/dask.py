"""Dask: the partitions of a Dask data frame, or parts of files, become lanes that stay on the workers.

Lanes are results of tasks that the scheduler keeps in the memory of the workers. One that is lost with its worker is
computed again from its partition. A pass sends one small task to each lane.
"""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from halfseen.data import Table
from halfseen.engine.tables.lanes import Answer, Job, Lane
from halfseen.errors import DataError, FitError
from halfseen.optional import optional
from halfseen.runners import tasks
from halfseen.runners.environment import check_alike, environment
from halfseen.runners.threads import read_jobs

FRAME = "the Dask frame"
LARGE = 1 << 20  # bytes of a job from which on it is sent to each worker once, not to each lane
WAIT = 10  # seconds for a scheduler to answer


class DaskCluster:
    """The partitions of a table on the workers of a cluster.

    Parameters
    ----------
    parts : sequence of delayed     the partitions, data frames or Arrow tables
    names : sequence                the columns
    client : distributed.Client
    title : str                     what the table is called in messages
    """

    def __init__(self, parts: Sequence[Any], names: Sequence[Any], client: Any, title: str = FRAME) -> None:
        self._client = client
        self._parts = parts
        self._lanes: list[Any] = []
        self._settled = False  # whether all lanes have been encoded once
        self._groups: list[tuple[list[str] | None, list[int]]] | None = None
        self.names = list(names)
        self.title = title
        self._check_workers()

    def _check_workers(self) -> None:
        """Refuse workers with another version of halfseen, other kernels or another instruction set."""
        try:
            found = self._client.run(environment)
        except ModuleNotFoundError as error:
            raise FitError(
                f"the workers of Dask cannot import halfseen ({error}). Install the same version on every worker."
            ) from None
        if not found:
            raise FitError("the Dask cluster has no workers. Start some, and fit again.")
        check_alike(found)

    def learned(self, task: Callable[[Any], Any]) -> Iterator[tuple[int, Any]]:
        """Yield the result of a task on every partition."""
        delayed = optional("dask", "Dask frames", "dask").delayed
        once = delayed(task, traverse=False)  # sent once, not with each partition
        futures = self._client.compute([delayed(tasks.alone)(once, part) for part in self._parts])
        yield from enumerate(self._client.gather(futures))

    def encode(self, task: Callable[[Any], Table | None], numbers: Sequence[int]) -> None:
        """Let the numbered partitions become lanes in the memory of the workers."""
        delayed = optional("dask", "Dask frames", "dask").delayed
        once = delayed(task, traverse=False)
        lanes = [delayed(tasks.lane)(once, self._parts[number]) for number in numbers]
        self._lanes = self._client.compute(lanes)
        self._settled, self._groups = False, None

    def answers(self, job: Job, first_chunks: Sequence[int] | None) -> Iterator[Answer]:
        """Yield the answers of all lanes, as they arrive: one task for each thread that holds some."""
        from distributed import as_completed

        firsts = [0] * len(self._lanes) if first_chunks is None else first_chunks
        sent, groups = self._sent(job), self._together()
        futures = [
            self._client.submit(
                _answers,
                sent,
                [self._lanes[number] for number in numbers],
                numbers,
                [firsts[number] for number in numbers],
                pure=False,
                workers=where,
                allow_other_workers=where is not None,
            )
            for where, numbers in groups
        ]
        asked = {future.key: where for future, (where, _) in zip(futures, groups, strict=True)}
        try:
            for future, (worker, answers) in as_completed(futures, with_results=True):
                if asked[future.key] != [worker]:  # its lanes were elsewhere before: look for them again
                    self._groups = None
                yield from (Answer(*answer) for answer in answers)
        finally:
            for future in futures:
                future.release()

    def _together(self) -> list[tuple[list[str] | None, list[int]]]:
        """Return the numbers of the lanes that each thread of each worker holds; lanes on no worker one by one.

        A task costs the scheduler a millisecond, whatever it does: with one for each lane, many lanes would take longer
        to ask than to sum over. Which lanes are asked together does not change their answers.
        """
        if self._groups is None:
            self._groups = self._found()
        return self._groups

    def _found(self) -> list[tuple[list[str] | None, list[int]]]:
        """Ask the scheduler where the lanes are."""
        from distributed import wait

        if not self._settled:
            wait(self._lanes)
            self._settled = True
        threads = self._client.nthreads()
        holders = self._client.who_has(self._lanes)
        held: dict[str | None, list[int]] = {}
        for number, lane in enumerate(self._lanes):
            held.setdefault(min(holders.get(lane.key) or (), default=None), []).append(number)
        groups: list[tuple[list[str] | None, list[int]]] = [(None, [number]) for number in held.pop(None, [])]
        for worker, numbers in held.items():
            n_threads = max(1, threads.get(worker, 1))
            groups += [([str(worker)], numbers[first::n_threads]) for first in range(min(n_threads, len(numbers)))]
        return groups

    def _sent(self, job: Job) -> Any:
        """Return the job as an argument of tasks: a large one is sent to every worker beforehand."""
        blob = optional("cloudpickle", "Dask frames", "dask").dumps(job)
        return self._client.scatter(blob, broadcast=True, hash=False) if len(blob) > LARGE else blob


def mapped(frame: Any, model: Any, ask: Any) -> Any:
    """Return the answers for all partitions as a lazy frame or series; columns are checked now."""
    delayed = optional("dask", "Dask frames", "dask").delayed
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about invented cells
        meta = ask(frame._meta_nonempty, model).iloc[:0]
    return frame.map_partitions(ask, delayed(model), meta, meta=meta)


def cluster_of_files(
    parts: Sequence[Any], client: Any, readers: Sequence[Callable[[], Any]] | None = None
) -> DaskCluster:
    """Return the cluster of parts of files, which its workers read; `readers` read them in other pieces.

    A part is called to be read, and has `names` of columns, a `title` and `files`, as a `FilePart` has.
    """
    delayed = optional("dask", "on='dask'", "dask").delayed
    pieces = [delayed(read)() for read in (parts if readers is None else readers)]
    cluster = DaskCluster(pieces, parts[0].names, client, parts[0].title)
    files = sorted({os.path.abspath(file) for part in parts for file in part.files})
    for worker, unseen in client.run(_unseen, files).items():
        if unseen:
            raise DataError(
                f"worker {worker} sees no file {unseen}. The files of a table must be at the same place on every "
                "worker: use a folder that all of them share."
            )
    return cluster


def _unseen(files: Sequence[str]) -> str | None:
    """Return the first of some files that this process cannot read."""
    return next((file for file in files if not os.access(file, os.R_OK)), None)


@contextmanager
def connected(address: str, n_jobs: int | None = None) -> Iterator[Any]:
    """Yield a client: of the scheduler at an address, or of a cluster on this machine that ends with the context."""
    distributed = optional("distributed", "on='dask'", "dask")
    if address:
        try:
            client = distributed.Client(f"tcp://{address}", timeout=WAIT)
        except (OSError, TimeoutError, ValueError) as error:
            raise FitError(f"no Dask scheduler answers at {address} ({error}). Start one: dask scheduler.") from None
        with client:
            yield client
        return
    workers = {"n_workers": read_jobs(-1 if n_jobs is None else n_jobs), "threads_per_worker": 1}
    with (
        distributed.LocalCluster(**workers, processes=True, dashboard_address=":0", silence_logs=logging.ERROR) as here,
        distributed.Client(here) as client,
    ):
        yield client


def default_client() -> Any:
    """Return the client of this process; None where there is none."""
    try:
        from distributed import get_client
    except ImportError:
        return None
    try:
        return get_client()
    except ValueError:
        return None


def _answers(
    blob: bytes, lanes: Sequence[Lane], numbers: Sequence[int], firsts: Sequence[int]
) -> tuple[str, list[Any]]:
    """Return the answers of some lanes, and who gave them: the task of the workers."""
    import pickle

    from distributed import get_worker

    job = pickle.loads(blob)
    return get_worker().address, [tasks.answered(job, *one) for one in zip(lanes, numbers, firsts, strict=True)]


def cluster_of(frame: Any) -> Any:
    """Return the cluster of a Dask frame: that of the client of this process, else threads of this process."""
    if not hasattr(frame, "columns") or getattr(frame, "ndim", 2) != 2:
        raise DataError(f"a Dask {type(frame).__name__} is not a table. Pass a dask.dataframe.DataFrame.")
    client = default_client()
    if client is not None:
        return DaskCluster(frame.to_delayed(), frame.columns, client)
    from halfseen.runners.local import LocalCluster

    (parts,) = optional("dask", "Dask frames", "dask").compute(frame.to_delayed())
    return LocalCluster(parts, title=FRAME)
