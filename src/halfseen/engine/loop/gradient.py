"""Gradient methods on the same likelihood: steepest ascent with an adaptive rate, and L-BFGS.

Soft statistics are the gradient: d objective = slope(stats + prior, params), by Fisher's identity, in the coordinates
of `Leaf.free` (logits, logs, means in units of their column). So one pass over the data gives objective and gradient at
once, and a gradient method is a run that follows the gradient instead of making an M-step:

    params' = freed(at + length * direction),   at = free(params),

    gradient   direction = slope
    lbfgs      direction = H slope, H the inverse curvature learnt from the last few steps (two loops, Nocedal 1980)

A step is accepted if the objective rises by a share of the increase that the gradient predicts (Armijo); otherwise it
is shortened.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from halfseen.engine.loop.em_pair import EMPair
from halfseen.engine.loop.expected import Step
from halfseen.engine.loop.model import Model
from halfseen.engine.loop.run import EMRun
from halfseen.engine.loop.stopping import NOISE, never
from halfseen.leaves.leaf import Floats, Stats
from halfseen.leaves.limits import Params

METHODS = ("em", "gradient", "lbfgs")

SUFFICIENT = 1e-4  # share of the predicted increase that a step must reach (Armijo)
GROWTH = 1.5  # factor of the learning rate of steepest ascent after a step that was accepted at once
SHORTEST, LONGEST = 0.1, 0.5  # a rejected step is shortened to a share between these
FIRST_MOVE = 0.5  # largest change of a coordinate in the first step: logits, logs or units of a column
FARTHEST = 3.0  # largest change in any step: probabilities by a factor of twenty
REMEMBERED = 10  # steps from which L-BFGS estimates the curvature
CURVED = 1e-10  # least cosine of a step and the change of gradient along it: others are no use for the curvature
TRIES = 12  # rejected steps in a row before the direction is given up: at most 1/4096 of it is left
WINDOW = 10  # steps whose gains are added before they are compared: single steps zigzag


@dataclass
class GradientRun(EMRun):
    """One run of a gradient method from given parameters, in the place of a run of EM.

    Attributes
    ----------
    method : "gradient" or "lbfgs"
    rate : steepest ascent: multiple of the slope to try next; None until the first slope is known
    at, slope : coordinates and slope of the accepted step
    direction, length : the step being tried is `length * direction`
    memory : pairs (step, fall of the slope) of the last accepted steps
    n_rejected : steps rejected since the last accepted one
    """

    method: str = "lbfgs"
    rate: float | None = None
    at: Floats = field(default_factory=lambda: np.zeros(0))
    slope: Floats = field(default_factory=lambda: np.zeros(0))
    direction: Floats = field(default_factory=lambda: np.zeros(0))
    length: float = 0.0
    memory: list[tuple[Floats, Floats]] = field(default_factory=list)
    n_rejected: int = 0

    def move(self, step: Step) -> None:
        """Accept the step that was tried, or shorten it."""
        self.n_passes += 1
        if self.step is None:
            self._check_finite(step)
            self._accept(step)
        elif step.objective >= self.objective + max(SUFFICIENT * self._predicted(), 0.0):
            self._accept(step)
        else:
            self._shorten(step)
        self._stop_at_cap()

    def _accept(self, step: Step) -> None:
        """Accept the step, update curvature and rate, then stop or choose the next step."""
        before, self.step = self.step, step
        self.trace.append(step.objective)
        stats = self.model.with_prior(step)
        at, slope = self.model.free(step.params), self.model.slope(stats, step.params)
        if before is not None:
            self._learn(at - self.at, self.slope - slope)
        self.at, self.slope = at, slope
        self.n_rejected = 0
        if not slope.any():
            self.reason = "tolerance"
            return
        self._aim()
        if before is not None and self.reason is None and self.rule is not never:
            pair = EMPair.of(self.model, before, step, self.params)
            self.left = max(remaining(self.trace), sure_gain(self.model, stats, step.params))
            self.reason = self.rule(self.model, pair._replace(estimate=self.left))

    def _learn(self, moved: Floats, fall: Floats) -> None:
        """Remember a step and the fall of the slope along it; adapt the rate."""
        if moved @ fall > CURVED * np.linalg.norm(moved) * np.linalg.norm(fall):
            self.memory = [*self.memory[1 - REMEMBERED :], (moved, fall)]
        if self.method == "gradient":
            self.rate = self.length * (1.0 if self.n_rejected else GROWTH)

    def _aim(self) -> None:
        """Choose direction and length of the next step."""
        newton = self.method == "lbfgs" and bool(self.memory)
        self.direction = two_loops(self.slope, self.memory) if newton else self.slope
        farthest = float(np.abs(self.direction).max())
        first = FIRST_MOVE / farthest if self.rate is None else self.rate
        self.length = min(1.0 if newton else first, FARTHEST / farthest)
        self._try()
        if self._predicted() <= NOISE * abs(self.objective):
            self._give_up()

    def _give_up(self) -> None:
        """Restart from steepest ascent; if that was it, stop: the predicted increase is within rounding."""
        self.n_rejected = 0
        if self.method == "lbfgs" and self.memory:
            self.memory = []
            self._aim()
        else:
            self.reason = "rounding"
            self.params = self.accepted.params

    def _try(self) -> None:
        self.params = self.model.freed(self.at + self.length * self.direction, self.accepted.params)

    def _predicted(self) -> float:
        """Return the increase that the gradient predicts for the step as it came out, floors included."""
        return float(self.slope @ (self.model.free(self.params) - self.at))

    def _shorten(self, step: Step) -> None:
        """Try a shorter step, up to `TRIES` times."""
        self.n_rejected += 1
        if self.n_rejected > TRIES:
            self._give_up()
        else:
            self.length *= self._share(step)
            self._try()

    def _share(self, step: Step) -> float:
        """Return the maximum of the parabola through both objectives and the slope, as a share of the step tried."""
        predicted = self._predicted()
        short = predicted - (step.objective - self.objective)
        if not np.isfinite(short) or short <= 0:
            return SHORTEST
        return float(np.clip(predicted / (2 * short), SHORTEST, LONGEST))


def two_loops(slope: Floats, memory: list[tuple[Floats, Floats]]) -> Floats:
    """Return H slope, H the inverse curvature that agrees with every remembered (moved, fall): moved = H fall.

    Where the slope is zero the parameter is fixed or on a bound, and the direction is set to zero there.

    Examples
    --------
    >>> import numpy as np
    >>> curvature = np.array([4.0, 1.0])  # the slope of a parabola falls by curvature * moved
    >>> steps = [np.array([1.0, 0.0]), np.array([0.0, 1.0])]
    >>> two_loops(np.array([8.0, 3.0]), [(moved, curvature * moved) for moved in steps])
    array([2., 3.])
    """
    direction = slope.copy()
    weights = []
    for moved, fall in reversed(memory):
        weights.append(moved @ direction / (moved @ fall))
        direction -= weights[-1] * fall
    moved, fall = memory[-1]
    direction *= (moved @ fall) / (fall @ fall)
    for (moved, fall), weight in zip(memory, reversed(weights), strict=True):
        direction += (weight - fall @ direction / (moved @ fall)) * moved
    return np.where(slope == 0, 0.0, direction)


def sure_gain(model: Model, stats: Stats, params: Params) -> float:
    """Return a lower bound of the gain of an EM step: complete(stats, params, .) at its maximum minus its value here.

    It takes no pass, and detects what a small gradient hides: a direction in which the curvature is small too.
    """
    with np.errstate(divide="ignore", invalid="ignore"):  # a maximum on the boundary may be infinite
        best, here = (model.complete(stats, params, each) for each in (model.maximise(stats, params), params))
    return best - here if np.isfinite(best) else np.inf


def remaining(trace: list[float]) -> float:
    """Estimate the remaining gain from those of the last two windows of steps.

    If gains shrink by the factor `ratio` from window to window, the rest is a geometric series:
    left = late * ratio / (1 - ratio), the ratio at least 1/2. With fewer than two steps a window it is infinite.

    Examples
    --------
    >>> remaining([-1.0, -0.5])
    inf
    >>> round(remaining([-(0.99**t) for t in range(500)]), 4), round(0.99**499, 4)
    (0.0066, 0.0066)
    """
    window = min(WINDOW, (len(trace) - 1) // 2)
    if window < 2:
        return np.inf
    early, late = np.diff(trace[-2 * window - 1 :]).reshape(2, window).sum(axis=1).tolist()
    if late >= early:
        return np.inf if late > 0 else 0.0
    ratio = max(late / early, 0.5)
    return late * ratio / (1 - ratio)
