"""SQUAREM: squared extrapolation of EM (Varadhan and Roland 2008, scheme S3), on the raw parameters and monotone.

From three parameters v0, v1 = F(v0), v2 = F(v1) of plain EM,

    r = v1 - v0,   d = (v2 - v1) - r,   a = clip(|r| / |d|, 1, longest),   v' = v0 + 2 a r + a^2 d.

a = 1 gives v2 itself. The coefficients of v0, v1, v2 add up to one, so rows that sum to one still do; only
positivity can fail, and that costs no pass to see. A leap is kept if its objective is no lower than that of v1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from halfseen.engine.loop.em_pair import Walk
from halfseen.engine.loop.model import Model
from halfseen.leaves.limits import Params

BURN_IN = 5  # plain steps first: early steps are large and bent, and extrapolate badly
SLOW = 0.5  # leap only where a plain step covers less than half of what is left
GROWTH = 4.0  # longest leap: times this after a full one was kept, divided by it after one was rejected
SHRINKS = 6  # how often an illegal leap is shortened towards a plain step before it is given up


@dataclass
class Squarem:
    """How far a chain may leap; learns from leaps kept and rejected."""

    longest: float = 1.0
    length: float = 1.0

    def propose(self, model: Model, walk: Walk, n_passes: int) -> Params | None:
        """Return the parameters to leap to, or None where a plain step is better."""
        v0, v1, v2 = walk.vectors
        r = v1 - v0
        d = (v2 - v1) - r
        if n_passes <= BURN_IN or not walk.rate > SLOW or not np.any(d):
            return None
        self.length = float(np.clip(np.linalg.norm(r) / np.linalg.norm(d), 1.0, self.longest))
        if self.length == 1.0:  # v' = v2: nothing gained over a plain step, but it counts as a full leap
            self.longest = max(self.longest, GROWTH)
            return None
        length = self.length
        for _ in range(SHRINKS):
            leap = model.unpack(v0 + 2 * length * r + length**2 * d, walk.following)
            if model.feasible(leap):
                return leap
            length = (length + 1) / 2
        self.learn(False)
        return None

    def learn(self, kept: bool) -> None:
        """Lengthen after a full leap that was kept, shorten after one that was not."""
        if self.length == self.longest:
            self.longest = self.longest * GROWTH if kept else max(1.0, self.longest / GROWTH)
