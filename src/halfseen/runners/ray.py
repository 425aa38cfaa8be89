"""Ray: the blocks of a Ray dataset become lanes in its object store, and its processes sum over them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any
from uuid import uuid4

from halfseen.engine.tables.lanes import Answer, Job, Lane
from halfseen.optional import optional
from halfseen.runners import tasks
from halfseen.runners.environment import check_alike, environment


class RayCluster:
    """The blocks of a Ray dataset, and the processes of Ray that work on them.

    Parameters
    ----------
    dataset : ray.data.Dataset
    """

    title = "the Ray dataset"

    def __init__(self, dataset: Any) -> None:
        self._ray = optional("ray", "Ray datasets", "ray")
        kept = dataset.materialize()
        self.names = list(kept.columns() or ())
        self._blocks = kept.to_arrow_refs()
        self._lanes: list[Any] = []
        self._fit = uuid4().hex  # not id(self), which a later object may have again
        check_alike({node["NodeManagerAddress"]: self._on(node) for node in self._ray.nodes() if node["Alive"]})

    def _on(self, node: Any) -> dict[str, str]:
        """Return the versions and kernels of a node."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        there = NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
        found: dict[str, str] = self._got(self._ray.remote(environment).options(scheduling_strategy=there).remote())
        return found

    def learned(self, task: Callable[[Any], Any]) -> Iterator[tuple[int, Any]]:
        """Yield the result of a task on every block."""
        yield from enumerate(map(self._got, self._each(tasks.alone, task, self._blocks)))

    def encode(self, task: Callable[[Any], Any], numbers: Sequence[int]) -> None:
        """Let the numbered blocks become lanes in the object store."""
        self._lanes = self._each(tasks.lane, task, [self._blocks[number] for number in numbers])

    def answers(self, job: Job, first_chunks: Sequence[int] | None) -> Iterator[Answer]:
        """Yield the answers of all lanes, as they arrive."""
        firsts = [0] * len(self._lanes) if first_chunks is None else first_chunks
        run, sent = self._ray.remote(_answer), self._ray.put(job)
        lanes = enumerate(zip(self._lanes, firsts, strict=True))
        left = [run.remote(sent, lane, self._fit, number, first) for number, (lane, first) in lanes]
        while left:
            done, left = self._ray.wait(left)
            yield from (Answer(*self._got(one)) for one in done)

    def _each(self, run: Callable[..., Any], task: Any, refs: Sequence[Any]) -> list[Any]:
        sent = self._ray.put(task)
        return [self._ray.remote(run).remote(sent, ref) for ref in refs]

    def _got(self, ref: Any) -> Any:
        """Return a result; an error of a task is raised as it was there."""
        try:
            return self._ray.get(ref)
        except self._ray.exceptions.RayTaskError as error:
            raise error.cause from None


_held: dict[Any, Any] = {}  # the lanes of the last fit that this process worked on, with what they packed for its model


def _answer(job: Job, lane: Lane, fit: str, number: int, first_chunk: int) -> tuple[int, int, Any]:
    if _held.get("fit") != fit:
        _held.clear()
        _held["fit"] = fit
    return tasks.answered(job, _held.setdefault(number, lane), number, first_chunk)
