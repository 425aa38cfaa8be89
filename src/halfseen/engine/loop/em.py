"""Expectation-maximization: one pass over the data, and the loop.

    E-step   chunk --leaf.score--> scores --structure.infer--> usage --leaf.expect--> sufficient statistics
             which are summed over chunks: `evaluate`
    M-step   statistics --leaf.maximise--> new parameters: `EMRun.move`

until the objective converges. `evaluate` serves any number of candidate parameters in one pass over the data, and `em`
repeats it until every run has stopped. Stopping rules, restarts, acceleration, annealing, progress and checkpoints use
or wrap these two; none is inside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from halfseen.assign import SOFT, Assign
from halfseen.engine.loop.expected import Expected, Step
from halfseen.engine.loop.model import Model, Reduced
from halfseen.engine.loop.paths import Path, ThreeStep
from halfseen.engine.loop.run import EMRun
from halfseen.leaves.limits import Params
from halfseen.sums import Parts, Runner, serial


def em(evaluate: Callable[[Sequence[EMRun]], list[Step]], runs: Sequence[EMRun]) -> Iterator[list[EMRun]]:
    """Iterate EM: one E-step for all runs that have not stopped, then the M-step of each. Ends when all have."""
    while active := [run for run in runs if run.running]:
        for run, step in zip(active, evaluate(active), strict=True):
            run.move(step)
        yield active


def steps(model: Model, data: Reduced, params: Params, assign: Assign = SOFT, **how: Any) -> Iterator[Step]:
    """Plain EM from `params`, step by step and without end."""
    run = EMRun(model, params, assign)

    def e_step(active: Sequence[EMRun]) -> list[Step]:
        return evaluate(model, data, [run.params], assign, keys=[(run.key, run.n_passes)], **how)

    for _ in em(e_step, [run]):
        yield run.accepted


def evaluate(
    model: Model,
    data: Reduced,
    candidates: Sequence[Params],
    assign: Assign = SOFT,
    runner: Runner = serial,
    seed: np.random.SeedSequence | None = None,
    keys: Sequence[tuple[int, ...]] | None = None,
) -> list[Step]:
    """The E-step: return expected statistics and objective of every candidate, in one pass over the data.

    Parameters
    ----------
    model : Model
    data : Reduced                the chunks, and the statistics of rows in which nothing is hidden
    candidates : list of params
    assign : Assign
    runner : Runner               sums a task over chunks
    seed, keys :                  sample mode: candidate i draws from the generator of ``(*keys[i], chunk)``

    Returns
    -------
    list of Step
        For each candidate its statistics and the objective that belongs to it.
    """
    keys = keys or [(i,) for i in range(len(candidates))]
    seed = seed or np.random.SeedSequence(0)
    found = _pass(model, data, candidates, assign, runner, seed, keys)
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
    task = Gather(path, [path.prepare(params) for params in candidates], assign, seed, keys)
    finished = [path.finish(total) for total in data.total(task, runner)]
    if data.known is None:
        return finished
    return [total + _known(model, data, params) for params, total in zip(candidates, finished, strict=True)]


@dataclass(frozen=True)
class Gather:
    """The task of a pass: the sums of a chunk for every candidate."""

    path: Path
    prepared: Sequence[Any]
    assign: Assign
    seed: np.random.SeedSequence
    keys: Sequence[tuple[int, ...]]

    def __call__(self, chunk: Any) -> Parts:
        """Return the sums of a chunk."""
        return Parts(
            self.path.expected(ready, chunk, self.assign.seeded(self.seed, (*key, chunk.index)))
            for ready, key in zip(self.prepared, self.keys, strict=True)
        )


def _known(model: Model, data: Reduced, params: Params) -> Expected:
    """Return the statistics of rows in which nothing is hidden, restated for these parameters: they need no pass.

    Without latent content the expected complete-data log-likelihood is the log-likelihood itself.
    """
    if data.known is None:
        return Expected.zero(model.stats_shape[0])
    stats = data.known.stats
    loglik = model.complete(stats, data.about, params)
    return Expected(model.recentre(stats, data.about, params), loglik)
