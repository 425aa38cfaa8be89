"""Sums over chunks of data, in a tree that depends on the number of chunks alone.

Floating-point sums depend on the order in which they are added up. Results of chunks are added in pairs, pairs in
pairs of pairs, and so on: the sum has the same bits for any workers and any order in which results arrive. Few
partial sums exist at a time, and workers add up their own.

- *runner*: maps a task over chunks, or sums its results; `serial` does both in the calling thread. It stops between
  chunks where that is asked for (`stop_request`).
- *chunk*: some data, the unit of work; *lane*: the chunks that one worker of a cluster holds together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from threading import Lock
from typing import Any, Protocol

from halfseen import stop_request

Task = Callable[[Any], Any]


class Runner(Protocol):
    """What the engine asks of workers."""

    def __call__(self, task: Task, chunks: Sequence[Any]) -> Iterable[Any]:
        """Yield the result of each chunk, in the order of the chunks."""

    def total(self, task: Task, chunks: Sequence[Any]) -> Any:
        """Return the sum of the results of all chunks, as `PairwiseSum` adds them; there must be a chunk."""


class Nothing:
    """The sum of no chunks: what is added to it stays."""


NOTHING = Nothing()


class PairwiseSum:
    """The sum of numbered values, which may arrive in any order and from several threads.

    Parameters
    ----------
    n_values : int

    Examples
    --------
    >>> found = PairwiseSum(3)
    >>> for number in (2, 0, 1):
    ...     found.add(number, f"({number})")
    >>> found.total
    '(0)(1)(2)'
    """

    def __init__(self, n_values: int) -> None:
        self._n_values = n_values
        self._waiting: dict[tuple[int, int], Any] = {}
        self._lock = Lock()
        self.total: Any = None

    def add(self, number: int, value: Any) -> None:
        """Add a value; sums whose two parts are there are computed by the calling thread."""
        level = 0
        while 1 << level < self._n_values:
            beside = number ^ 1
            if beside << level < self._n_values:  # otherwise it goes up alone
                with self._lock:
                    if (level, beside) not in self._waiting:
                        self._waiting[level, number] = value
                        return
                    other = self._waiting.pop((level, beside))
                value = _added(other, value) if beside < number else _added(value, other)
            number, level = number >> 1, level + 1
        self.total = value


def _added(one: Any, other: Any) -> Any:
    if isinstance(one, Nothing) or isinstance(other, Nothing):
        return other if isinstance(one, Nothing) else one
    return one + other


class Serial:
    """The runner without workers."""

    def __call__(self, task: Task, chunks: Sequence[Any]) -> Iterator[Any]:
        """Run the task chunk by chunk."""
        for chunk in chunks:
            stop_request.check()
            yield task(chunk)

    def total(self, task: Task, chunks: Sequence[Any]) -> Any:
        """Run the task chunk by chunk, and add."""
        found = PairwiseSum(len(chunks))
        for number, chunk in enumerate(chunks):
            stop_request.check()
            found.add(number, task(chunk))
        return found.total


serial = Serial()


class Parts(tuple[Any, ...]):
    """Several values that are added one by one.

    Examples
    --------
    >>> Parts([1, 2.5]) + Parts([10, 20.0])
    (11, 22.5)
    """

    def __add__(self, other: tuple[Any, ...]) -> Parts:
        return Parts(own + its for own, its in zip(self, other, strict=True))
