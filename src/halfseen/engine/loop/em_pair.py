"""Two plain EM steps and the parameters that follow: what acceleration and stopping look at."""

from __future__ import annotations

from typing import NamedTuple

from halfseen.engine.loop.expected import Step
from halfseen.engine.loop.model import Model
from halfseen.leaves.leaf import Floats
from halfseen.leaves.limits import Params


class EMPair(NamedTuple):
    """Two consecutive plain EM steps, and the parameters that follow.

    Attributes
    ----------
    before, after : Step                 two consecutive plain steps
    following : params                   what the next plain step would evaluate
    vectors : three raw vectors          the parameters of the three, packed
    slowest : float                      the largest of the last few rates, this one included
    left : float or None                 remaining gain as the method itself estimates it; None: EM, see `stopping.gain`
    """

    before: Step
    after: Step
    following: Params
    vectors: tuple[Floats, Floats, Floats]
    slowest: float
    left: float | None = None

    @classmethod
    def of(cls, model: Model, before: Step, after: Step, following: Params) -> EMPair:
        """Return the pair, with its own rate as the slowest one."""
        vectors = (model.pack(before.params), model.pack(after.params), model.pack(following))
        pair = cls(before, after, following, vectors, 0.0)
        return pair._replace(slowest=pair.rate)

    @property
    def gain(self) -> float:
        """Increase of the objective."""
        return self.after.objective - self.before.objective

    @property
    def rate(self) -> float:
        """<v2 - v1, v1 - v0> / |v1 - v0|^2: the rate of convergence.

        It tends to the largest fraction of missing information: 0.99 means hundreds of steps.
        """
        v0, v1, v2 = self.vectors
        first = v1 - v0
        squared = float(first @ first)
        return float((v2 - v1) @ first) / squared if squared > 0 else 0.0
