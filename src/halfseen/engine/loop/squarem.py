"""SQUAREM: squared extrapolation of EM (Varadhan and Roland 2008, scheme S3), on the raw parameters and monotone.

From three parameters v0, v1 = F(v0), v2 = F(v1) of plain EM,

    r = v1 - v0,   d = (v2 - v1) - r,   a = clip(|r| / |d|, 1, longest),   v' = v0 + 2 a r + a^2 d.

a = 1 gives v2 itself. The coefficients of v0, v1, v2 add up to one, so rows that sum to one still do, but for rounding,
which a^2 magnifies: they are made to. Only positivity can fail, which is checked without a pass. v' is kept if its
objective is no lower than that of v1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from halfseen.engine.loop.em_pair import EMPair
from halfseen.engine.loop.model import Model
from halfseen.leaves.limits import Params

BURN_IN = 5  # plain steps first: early steps are large and curved, and extrapolate badly
SLOW = 0.5  # extrapolate only where a plain step covers less than half of the remaining distance
GROWTH = 4.0  # `longest` is multiplied by this after a step of that length was kept, divided after it was rejected
SHRINKS = 6  # how often an infeasible step is shortened towards a plain one before it is given up


@dataclass
class Squarem:
    """The step length of the extrapolation, adapted to those that were kept and rejected."""

    longest: float = 1.0
    length: float = 1.0

    def propose(self, model: Model, pair: EMPair, n_passes: int) -> Params | None:
        """Return extrapolated parameters, or None where a plain step is better."""
        v0, v1, v2 = pair.vectors
        r = v1 - v0
        d = (v2 - v1) - r
        if n_passes <= BURN_IN or not pair.rate > SLOW or not np.any(d):
            return None
        self.length = float(np.clip(np.linalg.norm(r) / np.linalg.norm(d), 1.0, self.longest))
        if self.length == 1.0:  # v' = v2, a plain step, which counts as one of full length
            self.longest = max(self.longest, GROWTH)
            return None
        length = self.length
        for _ in range(SHRINKS):
            proposed = model.unpack(v0 + 2 * length * r + length**2 * d, pair.following)
            if model.feasible(proposed):
                return model.conform(proposed, pair.following)
            length = (length + 1) / 2
        self.learn(False)
        return None

    def learn(self, kept: bool) -> None:
        """Adapt the longest step: raise it after one of full length was kept, lower it after one was rejected."""
        if self.length == self.longest:
            self.longest = self.longest * GROWTH if kept else max(1.0, self.longest / GROWTH)
