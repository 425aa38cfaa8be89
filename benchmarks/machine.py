"""What this machine can do at best: arithmetic, logarithms and memory, on two cores."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.workloads import Workload

CORES = 2


def _rate(work: Callable[[], Any], amount: float, repeats: int = 20) -> float:
    """Return the most of `amount` done in a second by as many threads as there are cores, each doing all of it."""
    best = np.inf
    with threadpool_limits(1), ThreadPoolExecutor(CORES) as pool:
        for _ in range(repeats):
            begin = time.perf_counter()
            list(pool.map(lambda _: work(), range(CORES)))
            best = min(best, time.perf_counter() - begin)
    return CORES * amount / best


def rates() -> dict[str, float]:
    """Measure floating-point operations, logarithms and bytes read in a second."""
    rng = np.random.default_rng(0)
    square, positive, long = rng.random((768, 768)), rng.random(1 << 15) + 0.5, rng.random(1 << 22)
    out = np.empty_like(positive)
    return {
        "flops": _rate(lambda: square @ square, 2.0 * 768**3),
        "logs": _rate(lambda: [np.log(positive, out=out) for _ in range(20)], 20.0 * len(positive)),
        "bytes": _rate(long.sum, 8.0 * len(long)),
    }


def limit(work: Workload) -> dict[str, float]:
    """Return the least time of an iteration over categories: arithmetic or memory, whichever takes longer.

    Arithmetic: one multiplication and one addition for each cell and class, one logarithm a row. Memory: each cell, one
    byte, read once.
    """
    measured = rates()
    cells = work.n_rows * work.n_categorical
    arithmetic = 2.0 * cells * work.n_components / measured["flops"] + work.n_rows / measured["logs"]
    return {"seconds": max(arithmetic, cells / measured["bytes"]), **measured}
