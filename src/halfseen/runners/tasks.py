"""Tasks for the workers of a cluster: each keeps BLAS to one thread."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from halfseen.engine.tables.lanes import Lane
from halfseen.runners.threads import one_blas_thread


def alone(task: Callable[[Any], Any], of: Any) -> Any:
    """Return the result of a task on a partition or a lane."""
    with one_blas_thread():
        return task(of)


def lane(task: Callable[[Any], Any], partition: Any) -> Lane:
    """Return the lane of a partition that a task encodes."""
    return Lane.of(alone(task, partition))


def answered(job: Callable[[Lane], Any], of: Lane, number: int, first_chunk: int) -> tuple[int, int, Any]:
    """Return what a lane answers to a job: the fields of an `Answer`."""
    of.first_chunk = first_chunk
    return number, of.digest, alone(job, of)
