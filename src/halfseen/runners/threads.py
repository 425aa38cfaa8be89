"""Threads: kernels and BLAS release the interpreter lock, so plain threads are enough."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any, TypeVar

import numpy as np
from threadpoolctl import ThreadpoolController

from halfseen.engine.em import Runner, serial
from halfseen.errors import ParameterError

Result = TypeVar("Result")


@contextmanager
def runner(n_jobs: int | None, n_chunks: int) -> Iterator[Runner]:
    """Give the runner for `n_jobs` workers (None or 1: none; -1: all cores) and hold BLAS to one thread meanwhile."""
    workers = min(read_jobs(n_jobs), n_chunks)
    with one_blas_thread():
        if workers <= 1:
            yield serial
            return
        with ThreadPoolExecutor(workers - 1, thread_name_prefix="halfseen") as pool:
            yield lambda task, chunks: _in_order(pool, task, chunks, workers)


def read_jobs(n_jobs: int | None) -> int:
    """Return the number of workers: joblib's convention, -1 = all cores, -2 = all but one."""
    if n_jobs is None:
        return 1
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, int | np.integer) or n_jobs == 0:
        raise ParameterError(f"n_jobs={n_jobs!r} is not a whole number other than 0 (-1 means all cores).")
    cores = os.cpu_count() or 1
    return int(n_jobs) if n_jobs > 0 else max(1, cores + 1 + int(n_jobs))


def _in_order(
    pool: ThreadPoolExecutor, task: Callable[[Any], Result], chunks: Sequence[Any], workers: int
) -> Iterator[Result]:
    """Yield results in the order of the chunks.

    Each worker takes one lane of neighbouring chunks, the calling thread the first: handing work over and waking a
    thread costs as much as a small chunk.
    """
    if not chunks:
        return
    size = -(-len(chunks) // workers)
    lanes = [chunks[first : first + size] for first in range(0, len(chunks), size)]
    waiting = [pool.submit(lambda lane: [task(chunk) for chunk in lane], lane) for lane in lanes[1:]]
    try:
        yield from [task(chunk) for chunk in lanes[0]]
        for future in waiting:
            yield from future.result()
    finally:
        for future in waiting:
            future.cancel()


class _Guard:
    """Counts the fits under way, so that the first limits BLAS and the last gives it back."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.users = 0
        self.limits: Any = None


_guard = _Guard()


@cache
def _blas() -> ThreadpoolController:
    """Find the BLAS libraries: once, for it takes milliseconds, and NumPy's and SciPy's are there before any fit."""
    return ThreadpoolController()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Hold BLAS to one thread; BLAS threads inside our threads make a step 2-3 times slower, and sums unrepeatable."""
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
