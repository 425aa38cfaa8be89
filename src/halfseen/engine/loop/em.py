"""The primitive and the loop.

    chunk --leaf.score--> scores --structure.infer--> usage --leaf.expect--> statistics
    statistics of all chunks added --leaf.maximise--> new parameters --> next step

`evaluate` is one pass over the data for all candidates. `em` repeats it and lets every chain move. Stopping, racing,
acceleration, annealing and progress wrap the loop; none lives inside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from halfseen.assign import SOFT, Assign
from halfseen.engine.loop.expected import Expected, Step
from halfseen.engine.loop.model import Model, Reduced
from halfseen.engine.loop.paths import Path, ThreeStep
from halfseen.engine.loop.run import Chain
from halfseen.engine.services.checkpoint import current
from halfseen.leaves.limits import Params

Runner = Callable[[Callable[[Any], Any], Sequence[Any]], Iterable[Any]]


def serial(task: Callable[[Any], Any], chunks: Sequence[Any]) -> Iterable[Any]:
    """Run the task chunk by chunk, in order."""
    return map(task, chunks)


def evaluate(
    model: Model,
    data: Reduced,
    candidates: Sequence[Params],
    assign: Assign = SOFT,
    runner: Runner = serial,
    seed: np.random.SeedSequence | None = None,
    keys: Sequence[tuple[int, ...]] | None = None,
) -> list[Step]:
    """Evaluate every candidate in one pass over the data.

    Parameters
    ----------
    model : Model
    data : Reduced                the chunks, and what was counted once
    candidates : list of params
    assign : Assign
    runner : callable             maps a task over chunks, results in their order
    seed, keys :                  sample mode: candidate i draws from the generator of ``(*keys[i], chunk)``

    Returns
    -------
    list of Step
        For each candidate its statistics and the objective that belongs to it.

    Inside `checkpoint` what the pass finds is recorded, or taken from the record.
    """
    keys = keys or [(i,) for i in range(len(candidates))]
    seed = seed or np.random.SeedSequence(0)

    def one_pass() -> list[Expected]:
        return _pass(model, data, candidates, assign, runner, seed, keys)

    journal = current()
    found = one_pass() if journal is None else journal.expected(model, data, candidates, assign, (seed, keys), one_pass)
    return [Step(params, expected, model.log_prior(params)) for params, expected in zip(candidates, found, strict=True)]


def _pass(
    model: Model,
    data: Reduced,
    candidates: Sequence[Params],
    assign: Assign,
    runner: Runner,
    seed: np.random.SeedSequence,
    keys: Sequence[tuple[int, ...]],
) -> list[Expected]:
    """Return the statistics of every candidate: score, infer and expect every chunk, and add."""
    path: Path = data.path if data.path is not None and assign == SOFT else ThreeStep(model)
    if not data.chunks:  # nothing is hidden, and nothing has to be prepared
        return [_known(model, data, params) for params in candidates]
    prepared = [path.prepare(params) for params in candidates]

    def task(chunk: Any) -> list[Expected]:
        return [
            path.expected(ready, chunk, assign.seeded(seed, (*key, chunk.index)))
            for ready, key in zip(prepared, keys, strict=True)
        ]

    zero = [path.zero() for _ in candidates]
    totals = reduce(lambda sums, parts: list(map(add, sums, parts)), runner(task, data.chunks), zero)
    finished = [path.finish(total) for total in totals]
    if data.known is None:
        return finished
    return [total + _known(model, data, params) for params, total in zip(candidates, finished, strict=True)]


def _known(model: Model, data: Reduced, params: Params) -> Expected:
    """Return what needs no pass: the statistics of completely known data, restated for these parameters."""
    if data.known is None:
        return Expected.zero(model.stats_shape[0])
    stats = data.known.stats
    loglik = model.complete(stats, data.about, params)
    return Expected(model.recentre(stats, data.about, params), loglik)


def em(evaluate: Callable[[Sequence[Chain]], list[Step]], chains: Sequence[Chain]) -> Iterator[list[Chain]]:
    """The loop: one pass evaluates all chains that still run, then each moves. Ends when none runs."""
    while running := [chain for chain in chains if chain.running]:
        for chain, step in zip(running, evaluate(running), strict=True):
            chain.move(step)
        yield running


def steps(model: Model, data: Reduced, params: Params, assign: Assign = SOFT, **how: Any) -> Iterator[Step]:
    """Plain EM from `params`, step by step and without end."""
    chain = Chain(model, params, assign)

    def one_pass(running: Sequence[Chain]) -> list[Step]:
        return evaluate(model, data, [chain.params], assign, keys=[(chain.key, chain.n_passes)], **how)

    for _ in em(one_pass, [chain]):
        yield chain.accepted
