"""Threads over pieces of data that are read one after the other: results come in the order of the pieces."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from halfseen.stop_request import stoppable

Piece = TypeVar("Piece")
Result = TypeVar("Result")


def in_order(work: Callable[[Piece], Result], pieces: Iterable[Piece], workers: int) -> Iterator[Result]:
    """Yield `work(piece)` for each piece, in their order.

    The calling thread takes the pieces, one at a time; at most `workers` + 1 of them are in memory. The first error by
    the order of the pieces is raised. A stop that is asked for (`stop_request`) is raised between two pieces.

    Examples
    --------
    >>> list(in_order(str, range(3), workers=2))
    ['0', '1', '2']
    """
    source = iter(pieces)
    try:
        yield from map(work, stoppable(source)) if workers <= 1 else _by_threads(work, stoppable(source), workers)
    finally:
        if isinstance(source, Generator):  # else the traceback of an error would keep files open
            source.close()


def _by_threads(work: Callable[[Piece], Result], pieces: Iterator[Piece], workers: int) -> Iterator[Result]:
    waiting: deque[Future[Any]] = deque()
    with ThreadPoolExecutor(workers, thread_name_prefix="halfseen") as pool:
        try:
            for piece in pieces:
                waiting.append(pool.submit(work, piece))
                del piece
                if len(waiting) > workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()
