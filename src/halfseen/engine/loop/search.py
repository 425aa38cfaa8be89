"""Many starts, one winner: restarts raced by successive halving, all in the same passes over the data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import ceil, sqrt

import numpy as np

from halfseen.assign import SOFT, Assign
from halfseen.engine.loop.em import Runner, em, evaluate, serial
from halfseen.engine.loop.expected import Step
from halfseen.engine.loop.gradient import METHODS, Ascent
from halfseen.engine.loop.model import Model, Reduced
from halfseen.engine.loop.run import Average, Chain
from halfseen.engine.loop.squarem import Squarem
from halfseen.engine.loop.stopping import Rule, never
from halfseen.engine.services.checkpoint import current
from halfseen.engine.services.progress import tell
from halfseen.errors import ParameterError
from halfseen.leaves.limits import Params
from halfseen.seeds import child

FIRST_ROUND = 5  # passes before the first half is dropped; doubled in every round
STAGE = 10  # passes at each temperature of annealing
JITTER = 0.1  # moves components apart after each temperature: those that coincide would coincide for ever


@dataclass(frozen=True)
class Plan:
    """How to search: what a fit needs to know beside the model, the data and the starts.

    Attributes
    ----------
    assign : Assign
    rule : Rule             when a chain has converged; `never` makes exactly `max_iter` passes
    max_iter : int          most passes over the data per chain
    accelerate : bool       leap by SQUAREM (soft mode)
    method : str            "em", or a gradient method: "gradient", "lbfgs" (soft mode)
    learning_rate : float   "gradient": first multiple of the slope to move by; None finds one
    anneal : sequence       rising inverse temperatures to warm up at
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
                f"method={self.method!r} climbs the log-likelihood and needs assign='soft', got "
                f"assign={self.assign.mode!r}. Use method='em'."
            )

    @property
    def plain(self) -> bool:
        """Whether chains make so many soft steps and never look back."""
        return self.rule is never and self.assign.mode == "soft" and not (self.accelerate or self.anneal)

    def chain(self, model: Model, params: Params, key: int) -> Chain:
        """Return a chain that follows this plan."""
        passed = STAGE * len(self.anneal)
        if self.method != "em":
            return Ascent(
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
        leaps = Squarem() if self.accelerate and self.assign.mode == "soft" else None
        return Chain(model, params, self.assign, self.rule, self.max_iter, leaps, key, n_passes=passed)


@dataclass(frozen=True)
class Search:
    """What came out.

    Attributes
    ----------
    best : Chain            the winner; `best.step` has the parameters and their objective
    finalists : list        the chains that were run to the end, best first
    n_starts : int
    interrupted : bool
    """

    best: Chain
    finalists: list[Chain]
    n_starts: int
    interrupted: bool = False

    def n_best(self, within: float) -> int:
        """Return how many finalists are as healthy as the best and reached its objective."""
        healthy, objective = self.best.rank
        return sum(chain.rank >= (healthy, objective - within) for chain in self.finalists)


def fit(
    model: Model, data: Reduced, starts: Sequence[Params], plan: Plan, trace: Sequence[float] | None = None
) -> Search:
    """Run EM from every start, drop the worse half again and again, and finish the rest.

    A keyboard interrupt ends the search with the best chain so far, once every start was evaluated. With a `trace` the
    one start is where a chain stood after passes that found these objectives, and where it stands is kept.
    """
    starts = _anneal(model, data, starts, plan)
    chains = [plan.chain(model, params, key) for key, params in enumerate(starts)]
    if trace is not None:
        assert plan.plain, "only a chain that never looks back can go on from where it stood"
        [chain] = chains
        chain.trace, chain.n_passes = list(trace), len(trace)
    n_starts = len(starts)
    del starts  # they may be large, and the chains move on
    interrupted = False
    try:
        chains = _race(model, data, chains, plan)
        _finish(model, data, chains, plan, n_starts)
    except KeyboardInterrupt:
        if any(chain.step is None for chain in chains):
            raise
        interrupted = True
        if journal := current():
            journal.stop()
    finalists = sorted(chains, key=lambda chain: chain.rank, reverse=True)
    for chain in finalists:
        chain.reason = chain.reason or "interrupted"
    return Search(finalists[0], finalists, n_starts, interrupted)


def _passes(model: Model, data: Reduced, assign: Assign, plan: Plan) -> Callable[[Sequence[Chain]], list[Step]]:
    """Return the function that evaluates running chains in one pass, each with its own generators."""

    def one_pass(running: Sequence[Chain]) -> list[Step]:
        params = [chain.params for chain in running]
        keys = [(chain.key, chain.n_passes) for chain in running]
        if plan.plain and (journal := current()):
            journal.keep(data, running[0].trace, params[0])
        return evaluate(model, data, params, assign, plan.runner, plan.seed, keys)

    return one_pass


def _anneal(model: Model, data: Reduced, starts: Sequence[Params], plan: Plan) -> Sequence[Params]:
    """Warm the starts up at rising inverse temperatures, moving components apart after each."""
    for stage, beta in enumerate(plan.anneal):
        hot = plan.assign.cooled(beta)
        chains = [
            Chain(model, params, hot, key=key, n_passes=stage * STAGE, pause=(stage + 1) * STAGE)
            for key, params in enumerate(starts)
        ]
        for _ in em(_passes(model, data, hot, plan), chains):
            tell(chains, len(starts), plan.max_iter, warm=True)
        rngs = [np.random.default_rng(child(plan.seed, chain.key, stage)) for chain in chains]
        starts = [model.jitter(chain.params, JITTER, rng) for chain, rng in zip(chains, rngs, strict=True)]
    return starts


def _race(model: Model, data: Reduced, chains: list[Chain], plan: Plan) -> list[Chain]:
    """Drop the worse half, give the rest twice as long, until the finalists are left.

    Sampled chains race for one finalist within the first half of their passes: the second half is averaged.
    """
    sampled = plan.assign.mode == "sample"
    n_finalists = 1 if sampled else ceil(sqrt(len(chains)))
    last = plan.max_iter // 2 if sampled else plan.max_iter
    extra, n_starts = FIRST_ROUND, len(chains)
    while len(chains) > n_finalists:
        for chain in chains:
            chain.pause = min(chain.n_passes + extra, max(last, 1))
        for _ in em(_passes(model, data, plan.assign, plan), chains):
            tell(chains, n_starts, plan.max_iter)
        chains = sorted(chains, key=lambda chain: chain.rank, reverse=True)
        chains = chains[: max(n_finalists, ceil(len(chains) / 2))]
        extra *= 2
    return chains


def _finish(model: Model, data: Reduced, chains: Sequence[Chain], plan: Plan, n_starts: int) -> None:
    """Run the finalists to their end; a sampled chain ends with the mean statistics of its second half."""
    for chain in chains:
        chain.pause = None
    average = Average()
    for running in em(_passes(model, data, plan.assign, plan), chains):
        if plan.assign.mode == "sample" and running[0].n_passes > plan.max_iter // 2:
            average.add(model, running[0].accepted)
        tell(chains, n_starts, plan.max_iter)
    if average.n_steps:
        params = average.params(model)
        [chains[0].step] = evaluate(model, data, [params], SOFT, plan.runner)
