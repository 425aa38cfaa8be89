"""Restarts: runs from many starts, raced by successive halving, all in the same passes over the data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import ceil, sqrt

import numpy as np

from halfseen.assign import SOFT, Assign
from halfseen.engine.loop.em import Runner, em, serial
from halfseen.engine.loop.expected import Step
from halfseen.engine.loop.gradient import METHODS, GradientRun
from halfseen.engine.loop.model import Model, Reduced
from halfseen.engine.loop.run import Average, EMRun
from halfseen.engine.loop.squarem import Squarem
from halfseen.engine.loop.stopping import Rule, never
from halfseen.engine.services.checkpoint import current, evaluate, stop_recording
from halfseen.engine.services.progress import report
from halfseen.errors import ParameterError
from halfseen.leaves.limits import Params
from halfseen.seeds import child

FIRST_ROUND = 5  # passes before the first half is dropped; doubled in every round
STAGE = 10  # passes at each temperature of annealing
JITTER = 0.1  # of components after each temperature: identical ones would stay identical


@dataclass(frozen=True)
class Plan:
    """How to search: what a fit needs to know beside the model, the data and the starts.

    Attributes
    ----------
    assign : Assign
    rule : Rule             when a run has converged; `never` makes exactly `max_iter` passes
    max_iter : int          most passes over the data per run
    accelerate : bool       extrapolate by SQUAREM (soft mode)
    method : str            "em", or a gradient method: "gradient", "lbfgs" (soft mode)
    learning_rate : float   "gradient": first multiple of the gradient to move by; None: chosen
    anneal : sequence       rising inverse temperatures of deterministic annealing
    runner : Runner         maps tasks over chunks
    seed : SeedSequence     of annealing and of sampled completions
    """

    assign: Assign = SOFT
    rule: Rule = never
    max_iter: int = 1000
    accelerate: bool = True
    method: str = "em"
    learning_rate: float | None = None
    anneal: Sequence[float] = ()
    runner: Runner = serial
    seed: np.random.SeedSequence = field(default_factory=lambda: np.random.SeedSequence(0))

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise ParameterError(f"method={self.method!r} is not one of {', '.join(map(repr, METHODS))}.")
        if self.method != "em" and self.assign.mode != "soft":
            raise ParameterError(
                f"method={self.method!r} maximises the log-likelihood and needs assign='soft', got "
                f"assign={self.assign.mode!r}. Use method='em'."
            )

    @property
    def plain(self) -> bool:
        """Whether runs make `max_iter` plain soft iterations, each of which needs the last parameters only."""
        return self.rule is never and self.assign.mode == "soft" and not (self.accelerate or self.anneal)

    def run(self, model: Model, params: Params, key: int) -> EMRun:
        """Return a run that follows this plan."""
        passed = STAGE * len(self.anneal)
        if self.method != "em":
            return GradientRun(
                model,
                params,
                self.assign,
                self.rule,
                self.max_iter,
                key=key,
                n_passes=passed,
                method=self.method,
                rate=self.learning_rate,
            )
        squarem = Squarem() if self.accelerate and self.assign.mode == "soft" else None
        return EMRun(model, params, self.assign, self.rule, self.max_iter, squarem, key, n_passes=passed)


@dataclass(frozen=True)
class Search:
    """The result of a search.

    Attributes
    ----------
    best : EMRun            the winner; `best.step` has the parameters and their objective
    finalists : list        the runs that were run to the end, best first
    n_starts : int
    interrupted : bool
    """

    best: EMRun
    finalists: list[EMRun]
    n_starts: int
    interrupted: bool = False

    def n_best(self, within: float) -> int:
        """Return how many finalists are as healthy as the best and reached its objective."""
        healthy, objective = self.best.rank
        return sum(run.rank >= (healthy, objective - within) for run in self.finalists)


def fit(
    model: Model, data: Reduced, starts: Sequence[Params], plan: Plan, trace: Sequence[float] | None = None
) -> Search:
    """Run EM from every start, drop the worse half again and again, and finish the rest.

    A keyboard interrupt ends the search with the best run so far, once every start was evaluated. With a `trace`, the
    objectives of iterations already made, the one start is the position of a run that is resumed.
    """
    starts = _anneal(model, data, starts, plan)
    runs = [plan.run(model, params, key) for key, params in enumerate(starts)]
    if trace is not None:
        assert plan.plain, "only a run of plain iterations can be resumed from its parameters"
        [run] = runs
        run.trace, run.n_passes = list(trace), len(trace)
    n_starts = len(starts)
    del starts  # they may be large, and the runs replace them
    interrupted = False
    try:
        runs = _race(model, data, runs, plan)
        _finish(model, data, runs, plan, n_starts)
    except KeyboardInterrupt:
        if any(run.step is None for run in runs):
            raise
        interrupted = True
        stop_recording()
    finalists = sorted(runs, key=lambda run: run.rank, reverse=True)
    for run in finalists:
        run.reason = run.reason or "interrupted"
    return Search(finalists[0], finalists, n_starts, interrupted)


def _passes(model: Model, data: Reduced, assign: Assign, plan: Plan) -> Callable[[Sequence[EMRun]], list[Step]]:
    """Return the E-step of all active runs, in one pass over the data, each with its own generators."""

    def one_pass(running: Sequence[EMRun]) -> list[Step]:
        params = [run.params for run in running]
        keys = [(run.key, run.n_passes) for run in running]
        if plan.plain and (checkpoint := current()):
            checkpoint.save_position(data, running[0].trace, params[0])
        return evaluate(model, data, params, assign, plan.runner, plan.seed, keys)

    return one_pass


def _anneal(model: Model, data: Reduced, starts: Sequence[Params], plan: Plan) -> Sequence[Params]:
    """Deterministic annealing of the starts: iterations at rising inverse temperatures, with a jitter after each."""
    for stage, beta in enumerate(plan.anneal):
        hot = plan.assign.cooled(beta)
        runs = [
            EMRun(model, params, hot, key=key, n_passes=stage * STAGE, pause=(stage + 1) * STAGE)
            for key, params in enumerate(starts)
        ]
        for _ in em(_passes(model, data, hot, plan), runs):
            report(runs, len(starts), plan.max_iter, warm=True)
        rngs = [np.random.default_rng(child(plan.seed, run.key, stage)) for run in runs]
        starts = [model.jitter(run.params, JITTER, rng) for run, rng in zip(runs, rngs, strict=True)]
    return starts


def _race(model: Model, data: Reduced, runs: list[EMRun], plan: Plan) -> list[EMRun]:
    """Successive halving: drop the worse half, give the rest twice as many iterations, until the finalists are left.

    Sampled runs race for one finalist within the first half of their passes: the second half is averaged.
    """
    sampled = plan.assign.mode == "sample"
    n_finalists = 1 if sampled else ceil(sqrt(len(runs)))
    last = plan.max_iter // 2 if sampled else plan.max_iter
    extra, n_starts = FIRST_ROUND, len(runs)
    while len(runs) > n_finalists:
        for run in runs:
            run.pause = min(run.n_passes + extra, max(last, 1))
        for _ in em(_passes(model, data, plan.assign, plan), runs):
            report(runs, n_starts, plan.max_iter)
        runs = sorted(runs, key=lambda run: run.rank, reverse=True)
        runs = runs[: max(n_finalists, ceil(len(runs) / 2))]
        extra *= 2
    return runs


def _finish(model: Model, data: Reduced, runs: Sequence[EMRun], plan: Plan, n_starts: int) -> None:
    """Run the finalists until they stop; a sampled run ends with the mean statistics of its second half."""
    for run in runs:
        run.pause = None
    average = Average()
    for running in em(_passes(model, data, plan.assign, plan), runs):
        if plan.assign.mode == "sample" and running[0].n_passes > plan.max_iter // 2:
            average.add(model, running[0].accepted)
        report(runs, n_starts, plan.max_iter)
    if average.n_steps:
        params = average.params(model)
        [runs[0].step] = evaluate(model, data, [params], SOFT, plan.runner)
