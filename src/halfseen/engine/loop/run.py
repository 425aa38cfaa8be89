"""One run of EM: its current parameters, the M-step, acceleration, and when and why it stops.

The loop evaluates the `params` of a run (E-step) and passes the resulting `Step` to `move` (M-step). An accelerated run
also tries extrapolated parameters now and then (SQUAREM). Its state is plain values.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from halfseen.assign import SOFT, Assign
from halfseen.engine.loop.em_pair import EMPair
from halfseen.engine.loop.expected import Expected, Step
from halfseen.engine.loop.model import Model
from halfseen.engine.loop.squarem import Squarem
from halfseen.engine.loop.stopping import Rule, never
from halfseen.errors import FitError, ObjectiveFell
from halfseen.leaves.leaf import ROUNDING, arrays
from halfseen.leaves.limits import Params

MEMORY = 10  # rates remembered: after an extrapolation the slowest direction is hidden for a while


@dataclass
class EMRun:
    """One run of EM from given parameters.

    Attributes
    ----------
    params : the parameters to evaluate next
    step : the last accepted step; its objective belongs to its parameters
    last : the last step, from which the run goes on; not accepted where rounding made its objective lower
    trace : objective of the accepted step after every pass, but for extrapolations that were rejected
    n_passes : passes over the data so far
    reason : why it stopped; None while it may go on
    pause : it also pauses after this many passes, until this is changed
    extrapolating : whether `params` are extrapolated, not the result of a plain M-step
    extrapolated : whether the last accepted step was; rates are measured on plain steps only
    rates : the last few rates of convergence
    left : estimate of the remaining gain of the objective; infinite while there is none
    pair : the last two plain steps
    health : the last step whose health was asked for, and whether it is healthy
    """

    model: Model
    params: Params
    assign: Assign = SOFT
    rule: Rule = never
    max_iter: int | None = None
    squarem: Squarem | None = None
    key: int = 0
    step: Step | None = None
    last: Step | None = None
    trace: list[float] = field(default_factory=list)
    n_passes: int = 0
    reason: str | None = None
    pause: int | None = None
    extrapolating: bool = False
    extrapolated: bool = False
    rates: list[float] = field(default_factory=list)
    left: float = np.inf
    pair: EMPair | None = field(default=None, repr=False)
    health: tuple[Step, bool] | None = field(default=None, repr=False)

    @property
    def running(self) -> bool:
        """Whether the run has neither stopped nor paused."""
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
        """Whether no component has a variance at its floor."""
        if self.step is None:
            return False
        if self.health is None or self.health[0] is not self.step:  # runs are compared in every iteration
            self.health = self.step, not self.model.collapsed(self.step.params)
        return self.health[1]

    @property
    def rank(self) -> tuple[bool, float]:
        """Runs compare by health first, then by objective."""
        return (self.healthy, self.objective)

    def move(self, step: Step) -> None:
        """Take the evaluation of `params` and choose the next ones: the M-step, or an extrapolation."""
        self.n_passes += 1
        if self.extrapolating:
            self._accept_or_reject(step)
        else:
            self._check_finite(step)
            self._accept(step)
        self._stop_at_cap()

    def _check_finite(self, step: Step) -> None:
        hidden = self.assign.mode == "hard" and any(np.isnan(array).any() for array in arrays(step.params))
        if hidden or not np.isfinite(step.objective):  # the best of several scores may pass over one that is NaN
            raise FitError(_not_finite(step, self))

    def _stop_at_cap(self) -> None:
        if self.reason is None and self.max_iter is not None and self.n_passes >= self.max_iter:
            self.reason = "iterations" if self.rule is never else "max_iter"

    def _accept(self, step: Step) -> None:
        """Take a plain EM step and make the M-step; stop, extrapolate, or go on."""
        before, self.last = self.last, step
        if before is not None and self._climbs:
            _check_monotone(before, step, self)
        self._keep(step)
        first = before is None
        if self.rule is never and self.squarem is None:
            before = None  # not needed any more: its memory is free for the M-step
        self.params = self.model.improved(step)
        if self._unchanged(step):
            self.reason = "parameters stable"
            return
        if first or self.extrapolated:
            self.extrapolated = False
            return
        if before is None:
            return
        pair = self._remember(EMPair.of(self.model, before, step, self.params, self.pair))
        self.left = pair.left
        self.reason = self.rule(self.model, pair)
        if self.reason is None and self.squarem is not None:
            proposed = self.squarem.propose(self.model, pair, self.n_passes)
            if proposed is not None:
                self.extrapolating, self.params = True, proposed

    @property
    def _climbs(self) -> bool:
        """Whether the objective never falls but for rounding."""
        return self.assign.monotone and self.model.exact

    def _keep(self, step: Step) -> None:
        """Accept a step, unless rounding made its objective lower: what is returned is the best that was seen.

        The run goes on from it all the same: at a saddle the objective is flat, and parameters move. A model that
        spends its parameters has no others to return.
        """
        if not self._climbs or step.objective >= self.objective or self.model.spends:
            self.step = step
        self.trace.append(self.objective)

    def _unchanged(self, step: Step) -> bool:
        """Whether the M-step returned the same parameters, bit for bit: the second one does where nothing is hidden."""
        if self.rule is never or self.assign.mode != "soft":
            return False
        return all(map(np.array_equal, arrays(self.params), arrays(step.params)))

    def _remember(self, pair: EMPair) -> EMPair:
        """Return the pair with the slowest of the last few rates."""
        self.pair = pair
        self.rates = [*self.rates[1 - MEMORY :], pair.rate]
        return pair._replace(slowest=max(self.rates))

    def _accept_or_reject(self, step: Step) -> None:
        """Keep extrapolated parameters if their objective is no lower; else go on from the last plain step."""
        assert self.squarem is not None, "only SQUAREM extrapolates"
        assert self.last is not None, "it extrapolates from plain steps"
        self.extrapolating = False
        kept = step.objective >= self.accepted.objective
        self.squarem.learn(kept)
        if kept:
            self.trace.append(step.objective)
            self.step, self.last, self.extrapolated = step, step, True
        self.params = self.model.improved(self.last)


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


def _check_monotone(before: Step, after: Step, run: EMRun) -> None:
    """Raise where the objective fell by more than the rounding of the terms that it is the sum of.

    These may be larger than their sum: log-densities of both signs cancel, and so do data and prior.
    """
    fall = before.objective - after.objective
    if fall > 0 and fall > 2 * _rounding(after, run.model):  # a model that spends has spent the arrays of `before`
        raise ObjectiveFell(run.n_passes, before.objective, after.objective)


def _rounding(step: Step, model: Model) -> float:
    own = ROUNDING * (abs(step.loglik) + abs(step.log_prior))
    return own + model.rounding(model.with_prior(step), step.params)


def _not_finite(step: Step, run: EMRun) -> str:
    where = f"start {run.key}, iteration {run.n_passes}: the objective is {step.objective}: "
    if step.objective == -np.inf:
        start = "the start makes" if run.n_passes == 1 else "the parameters make"
        return where + f"{start} some row impossible. Use a start without zeros, a prior, or a wider given covariance."
    return where + "a component collapsed onto a single value. Use a variance floor, a prior or fewer components."
