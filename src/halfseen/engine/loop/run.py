"""One run of EM: where it stands, how it moves, when and why it stops.

A chain asks for its `params` to be evaluated and is told the resulting `Step` (`move`). It walks by plain EM and, when
accelerated, leaps now and then (SQUAREM). Its state is plain values.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from halfseen.assign import SOFT, Assign
from halfseen.engine.loop.em_pair import Walk
from halfseen.engine.loop.expected import Expected, Step
from halfseen.engine.loop.model import Model
from halfseen.engine.loop.squarem import Squarem
from halfseen.engine.loop.stopping import Rule, never
from halfseen.errors import FitError, ObjectiveFell
from halfseen.leaves.leaf import arrays
from halfseen.leaves.limits import Params

ON_FLOOR = 1e-6  # the same where a covariance leans on its floor, which its entries tell to a few digits only
MEMORY = 10  # rates remembered: a leap hides the slowest direction for a while
ROUNDING = 1e-9  # relative fall of the objective that rounding explains; a larger one is a bug


@dataclass
class Chain:
    """One run of EM from given parameters.

    Attributes
    ----------
    params : the parameters to evaluate next
    step : the last accepted step; its objective belongs to its parameters
    trace : objectives of the accepted steps
    n_passes : passes over the data so far
    reason : why it stopped; None while it may go on
    pause : it also rests after this many passes, until told to go on
    leaping : whether `params` are the end of a leap, not of a plain step
    landed : whether the last accepted step was a leap; rates are measured on plain steps only
    rates : the last few rates of convergence
    """

    model: Model
    params: Params
    assign: Assign = SOFT
    rule: Rule = never
    max_iter: int | None = None
    squarem: Squarem | None = None
    key: int = 0
    step: Step | None = None
    trace: list[float] = field(default_factory=list)
    n_passes: int = 0
    reason: str | None = None
    pause: int | None = None
    leaping: bool = False
    landed: bool = False
    rates: list[float] = field(default_factory=list)

    @property
    def running(self) -> bool:
        """Whether the chain wants its parameters evaluated."""
        return self.reason is None and (self.pause is None or self.n_passes < self.pause)

    @property
    def accepted(self) -> Step:
        """The last accepted step, once there is one."""
        assert self.step is not None, "no pass was made yet"
        return self.step

    @property
    def objective(self) -> float:
        """Objective of the last accepted step."""
        return -np.inf if self.step is None else self.step.objective

    @property
    def healthy(self) -> bool:
        """Whether no component leans on a variance floor."""
        return self.step is not None and not self.model.collapsed(self.step.params)

    @property
    def rank(self) -> tuple[bool, float]:
        """Chains compare by health first, then by objective."""
        return (self.healthy, self.objective)

    def move(self, step: Step) -> None:
        """Take the evaluation of `params` and choose the next ones."""
        self.n_passes += 1
        if self.leaping:
            self._land(step)
        else:
            self._check_finite(step)
            self._walk(step)
        self._stop_at_cap()

    def _check_finite(self, step: Step) -> None:
        hidden = self.assign.mode == "hard" and any(np.isnan(array).any() for array in arrays(step.params))
        if hidden or not np.isfinite(step.objective):  # the best of several scores may pass over one that is NaN
            raise FitError(_not_finite(step, self))

    def _stop_at_cap(self) -> None:
        if self.reason is None and self.max_iter is not None and self.n_passes >= self.max_iter:
            self.reason = "iterations" if self.rule is never else "max_iter"

    def _walk(self, step: Step) -> None:
        """Accept a plain EM step; stop, leap, or walk on."""
        before, self.step = self.step, step
        if before is not None and self.assign.climbs and self.model.exact:
            _check_climb(before, step, self)
        self.trace.append(step.objective)
        first = before is None
        if self.rule is never and self.squarem is None:
            before = None  # nothing looks back: its memory is free for the M-step
        self.params = self.model.improved(step)
        if self._stands_still(step):
            self.reason = "parameters stable"
            return
        if first or self.landed:
            self.landed = False
            return
        if before is None:
            return
        walk = self._remember(Walk.of(self.model, before, step, self.params))
        self.reason = self.rule(self.model, walk)
        if self.reason is None and self.squarem is not None:
            leap = self.squarem.propose(self.model, walk, self.n_passes)
            if leap is not None:
                self.leaping, self.params = True, leap

    def _stands_still(self, step: Step) -> bool:
        """Whether a step leads to where it began, bit by bit: the second one where nothing is hidden."""
        if self.rule is never or self.assign.mode != "soft":
            return False
        return all(map(np.array_equal, arrays(self.params), arrays(step.params)))

    def _remember(self, walk: Walk) -> Walk:
        """Return the walk with the slowest rate of the last few."""
        self.rates = [*self.rates[1 - MEMORY :], walk.rate]
        return walk._replace(slowest=max(self.rates))

    def _land(self, step: Step) -> None:
        """Keep the end of a leap if it is no lower than where it began; else walk on from there."""
        assert self.squarem is not None, "only SQUAREM leaps"
        self.leaping = False
        kept = step.objective >= self.accepted.objective
        self.squarem.learn(kept)
        if kept:
            self.trace.append(step.objective)
            self.step, self.landed = step, True
        self.params = self.model.improved(self.accepted)


@dataclass
class Average:
    """Statistics averaged over the second half of a sampled run: the noise of single draws cancels.

    Statistics of different steps are restated about the parameters of the latest one before they are added.
    """

    total: Expected | None = None
    about: Params = None
    n_steps: int = 0

    def add(self, model: Model, step: Step) -> None:
        """Take in the statistics of one more step."""
        if self.total is None:
            self.total = step.expected
        else:
            restated = model.recentre(self.total.stats, self.about, step.params)
            self.total = Expected(restated, self.total.loglik) + step.expected
        self.about = step.params
        self.n_steps += 1

    def params(self, model: Model) -> Params:
        """Return the parameters that maximise the mean statistics."""
        assert self.total is not None
        return model.improved(Step(self.about, (1 / self.n_steps) * self.total))


def _check_climb(before: Step, after: Step, chain: Chain) -> None:
    fall = (before.objective - after.objective) / max(1.0, abs(before.objective))
    if fall <= ROUNDING:
        return
    if not (fall <= ON_FLOOR and chain.model.collapsed(after.params)):
        raise ObjectiveFell(chain.n_passes, before.objective, after.objective)


def _not_finite(step: Step, chain: Chain) -> str:
    where = f"restart {chain.key}, pass {chain.n_passes}: the objective is {step.objective}: "
    if step.objective == -np.inf:
        start = "the start makes" if chain.n_passes == 1 else "the parameters make"
        return where + f"{start} some row impossible. Use a start without zeros, a prior, or a wider given covariance."
    return where + "a component collapsed onto a single value. Use a variance floor, a prior or fewer components."
