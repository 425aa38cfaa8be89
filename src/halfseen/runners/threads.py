"""Threads: kernels and BLAS release the interpreter lock, so plain threads are enough."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

import numpy as np
from threadpoolctl import ThreadpoolController

from halfseen import stop_request
from halfseen.errors import ParameterError
from halfseen.sums import PairwiseSum, Runner, Task, serial


@contextmanager
def runner(n_jobs: int | None, n_chunks: int) -> Iterator[Runner]:
    """Yield a runner with `n_jobs` workers (None or 1: serial; -1: all cores); BLAS has one thread meanwhile."""
    workers = min(read_jobs(n_jobs), n_chunks)
    with one_blas_thread():
        if workers <= 1:
            yield serial
            return
        with ThreadPoolExecutor(workers - 1, thread_name_prefix="halfseen") as pool:
            yield Threads(pool, workers)


def read_jobs(n_jobs: int | None) -> int:
    """Return the number of workers: joblib's convention, -1 = all cores, -2 = all but one."""
    if n_jobs is None:
        return 1
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, int | np.integer) or n_jobs == 0:
        raise ParameterError(f"n_jobs={n_jobs!r} is not a whole number other than 0 (-1 means all cores).")
    cores = os.cpu_count() or 1
    return int(n_jobs) if n_jobs > 0 else max(1, cores + 1 + int(n_jobs))


def reading_jobs(n_jobs: int | None) -> int:
    """Return the number of threads that read and order a table outside memory: `n_jobs`; None: all cores."""
    return read_jobs(-1 if n_jobs is None else n_jobs)


class Threads:
    """A runner with a pool of threads and the calling one.

    Each worker has neighbouring chunks, the calling thread the first: submitting work and waking a thread costs as much
    as a small chunk. Idle workers steal chunks from the tail of others, so that a slow or busy core does not delay the
    result.
    """

    def __init__(self, pool: ThreadPoolExecutor, workers: int) -> None:
        self._pool = pool
        self._workers = workers

    def __call__(self, task: Task, chunks: Sequence[Any]) -> Iterator[Any]:
        """Yield results in the order of the chunks."""
        results: dict[int, Any] = {}
        try:
            self._each(lambda at: results.__setitem__(at, task(chunks[at])), len(chunks))
            for at in range(len(chunks)):
                yield results.pop(at)
        finally:
            results.clear()  # the traceback of an error would keep them alive

    def total(self, task: Task, chunks: Sequence[Any]) -> Any:
        """Return the sum of the results."""
        found = PairwiseSum(len(chunks))
        self._each(lambda at: found.add(at, task(chunks[at])), len(chunks))
        return found.total

    def _each(self, do: Callable[[int], None], n_chunks: int) -> None:
        """Call `do` with the number of every chunk; the calling thread raises a stop, the others leave their work."""
        stop_request.check()
        if not n_chunks:
            return
        asked = stop_request.current()
        size = -(-n_chunks // self._workers)
        shares = [deque(range(first, min(first + size, n_chunks))) for first in range(0, n_chunks, size)]

        def stop() -> None:
            for share in shares:
                share.clear()

        def work(own: int) -> None:
            try:
                while not (asked and asked.is_set()) and (at := _take(shares, own)) is not None:
                    do(at)
            except BaseException:
                stop()  # cancel the remaining workers
                raise

        def assist(own: int) -> None:
            with stop_request.shared(asked):
                work(own)

        waiting: list[Future[None]] = []
        try:
            waiting += [self._pool.submit(assist, own) for own in range(1, len(shares))]
            work(0)
            for future in waiting:
                if not future.cancel():  # a share not begun has nothing left; its thread may be waiting for ours
                    future.result()
            stop_request.check()
        finally:
            stop()
            for future in waiting:
                future.cancel()


def _take(shares: Sequence[deque[int]], own: int) -> int | None:
    """Return the next chunk of the worker's own share, else the last of another; None when all are empty."""
    order = [shares[own].popleft, *(one.pop for one in shares[own + 1 :]), *(one.pop for one in shares[:own])]
    for take in order:
        try:
            return take()  # popping from a deque is atomic: no chunk is taken twice
        except IndexError:
            continue
    return None


class _Guard:
    """Reference count of running fits: the first limits BLAS to one thread, the last restores it."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.users = 0
        self.limits: Any = None


_guard = _Guard()


@cache
def _blas() -> ThreadpoolController:
    """Find the BLAS libraries once: it takes milliseconds, and NumPy's and SciPy's are loaded before any fit."""
    return ThreadpoolController()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread: nested threads make a pass 2-3 times slower, and sums not reproducible."""
    with _guard.lock:
        _guard.users += 1
        if _guard.users == 1:
            _guard.limits = _blas().limit(limits=1, user_api="blas")
    try:
        yield
    finally:
        with _guard.lock:
            _guard.users -= 1
            if _guard.users == 0 and _guard.limits is not None:
                _guard.limits.restore_original_limits()
                _guard.limits = None
