"""Two plain EM steps and the parameters that follow: what acceleration and stopping look at."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from halfseen.engine.loop.expected import Step
from halfseen.engine.loop.model import Model
from halfseen.leaves.leaf import Floats
from halfseen.leaves.limits import Params

QUICKEST = 0.75  # lower rates are replaced by this one: two steps are too few to trust them
SLOWEST = 1 - 1e-6  # larger squared rates are replaced by this one: gains would have to be below rounding


class EMPair(NamedTuple):
    """Two consecutive plain EM steps, and the parameters that follow.

    Attributes
    ----------
    before, after : Step                 two consecutive plain steps
    following : params                   what the next plain step would evaluate
    vectors : three raw vectors          the parameters of the three, packed
    rate : float                         rate of convergence: see `rate_of`
    slowest : float                      the largest of the last few rates, this one included
    estimate : float or None             remaining gain as a gradient method estimates it; None: EM
    """

    before: Step
    after: Step
    following: Params
    vectors: tuple[Floats, Floats, Floats]
    rate: float
    slowest: float
    estimate: float | None = None

    @classmethod
    def of(cls, model: Model, before: Step, after: Step, following: Params, last: EMPair | None = None) -> EMPair:
        """Return the pair, with its own rate as the slowest one; vectors that the `last` pair has are taken from it."""
        known = {} if last is None else {id(last.after.params): last.vectors[1], id(last.following): last.vectors[2]}

        def packed(params: Params) -> Floats:
            return known[id(params)] if id(params) in known else model.pack(params)

        vectors = (packed(before.params), packed(after.params), model.pack(following))
        rate = rate_of(vectors)
        return cls(before, after, following, vectors, rate, slowest=rate)

    @property
    def gain(self) -> float:
        """Increase of the objective."""
        return self.after.objective - self.before.objective

    @property
    def left(self) -> float:
        """Estimate of the remaining gain of the objective; infinite while steps grow, as they do on leaving a saddle.

        If the steps of EM shrink by the factor `rate` the gains shrink by its square, and the remaining gains are a
        geometric series: left = gain * rate^2 / (1 - rate^2). The slowest of the last few rates is used: just after an
        extrapolation the fast directions hide the slow one. Steps of gradient methods have different lengths and no
        rate; they make their own estimate.
        """
        if self.estimate is not None:
            return self.estimate
        if self.rate >= 1:
            return np.inf
        squared = min(max(QUICKEST, self.slowest) ** 2, SLOWEST)
        return max(self.gain, 0.0) * squared / (1 - squared)


def rate_of(vectors: tuple[Floats, Floats, Floats]) -> float:
    """Return <v2 - v1, v1 - v0> / |v1 - v0|^2: the rate of convergence.

    It tends to the largest fraction of missing information: 0.99 means hundreds of steps.
    """
    v0, v1, v2 = vectors
    with np.errstate(over="ignore", invalid="ignore"):  # steps too long to be squared: they do not shrink
        first = v1 - v0
        squared, product = float(first @ first), float((v2 - v1) @ first)
    if not np.isfinite(squared):
        return np.inf
    return product / squared if squared > 0 else 0.0
