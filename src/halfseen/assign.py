"""How hidden parts are completed: in expectation, by the best completion, or by a draw.

Vocabulary
----------
assign   "soft" (expected uses), "hard" (uses of the best completion) or "sample" (uses of a draw)
draws    sample only: the mean of this many independent draws (Monte Carlo EM)
beta     inverse temperature of annealing; scores are multiplied by it; 1 is plain EM
rng      sample only: the generator of one chunk of one iteration of one restart
latent   sample only: draw the latent content of leaves too, such as missing cells, instead of integrating it (Gibbs)
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from halfseen.errors import ParameterError
from halfseen.seeds import child

MODES = ("soft", "hard", "sample")


@dataclass(frozen=True)
class Assign:
    """One value that says how the E-step completes the data.

    Examples
    --------
    >>> Assign.read("hard").monotone
    True
    >>> Assign("sample", draws=5).monotone
    False
    """

    mode: str = "soft"
    draws: int = 1
    beta: float = 1.0
    rng: np.random.Generator | None = None
    latent: bool = False

    @classmethod
    def read(cls, mode: str, draws: int = 1) -> Assign:
        """Check what a user typed."""
        if mode not in MODES:
            raise ParameterError(f"assign={mode!r} is not one of 'soft', 'hard', 'sample'.")
        if isinstance(draws, bool) or not isinstance(draws, int | np.integer) or draws < 1:
            raise ParameterError(f"draws={draws!r} is not a whole number of at least 1.")
        if draws != 1 and mode != "sample":
            raise ParameterError(f"draws={draws} has no meaning with assign={mode!r}. Use assign='sample'.")
        return cls(mode, int(draws))

    @property
    def monotone(self) -> bool:
        """Whether the objective may never fall from step to step."""
        return self.mode != "sample" and self.beta == 1.0

    def cooled(self, beta: float) -> Assign:
        """Return the same way of completing at inverse temperature `beta`."""
        return replace(self, beta=beta)

    def seeded(self, seed: np.random.SeedSequence, key: tuple[int, ...]) -> Assign:
        """Return a copy with the generator of `key` = (restart, iteration, chunk); only draws need one."""
        if self.mode != "sample":
            return self
        return replace(self, rng=np.random.default_rng(child(seed, *key)))


SOFT = Assign("soft")
HARD = Assign("hard")
