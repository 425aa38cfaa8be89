"""The fused path of Gaussian mixtures: score, infer and expect of one block of numbers in one kernel.

As every fused path an optimisation, never a second model: its sums equal those of the three steps, used wherever
it does not apply (labels, hard and sampled assignment, annealing, several blocks, the NumPy kernels).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from halfseen.assign import Assign
from halfseen.engine.loop.expected import Expected
from halfseen.engine.loop.model import Chunk, Model
from halfseen.engine.loop.paths import ThreeStep
from halfseen.kernels import active as kernels
from halfseen.kernels import plain
from halfseen.leaves import Cells, Gaussian, Leaf, Normal, Product, Spherical
from halfseen.leaves.limits import Params
from halfseen.leaves.wrappers import unwrapped
from halfseen.structures.independent import Independent

LOG_ZERO = -1e300  # stands for log 0 in arithmetic, where infinity less infinity would be NaN

SERVED = (Gaussian, Spherical, Normal)  # not what is derived from them, which scores in its own way


class FusedNormal(ThreeStep):
    """The way through one block of numbers; sums and statistics are the same thing."""

    def __init__(self, model: Model, emit: Product, name: str, leaf: Leaf) -> None:
        super().__init__(model)
        self.emit, self.name, self.leaf = emit, name, leaf

    @classmethod
    def find(cls, model: Model) -> FusedNormal | None:
        """Return the path for a model, or None where no kernel can serve it."""
        emit = model.leaves["emit"]
        if kernels is plain or model.structure != Independent() or not isinstance(emit, Product):
            return None
        if len(emit.leaves) != 1 or not isinstance(unwrapped(model.leaves["mix"]), Cells):
            return None
        [(name, leaf)] = emit.leaves.items()
        inside = unwrapped(leaf)
        return cls(model, emit, name, inside) if type(inside) in SERVED else None

    def pack(self, chunk: Chunk) -> Chunk:
        """Return the chunk: the kernels read rows as they are."""
        return chunk

    def prepare(self, params: Params) -> Any:
        """Return the mixing weights in logs, and what the kernel reads of the block's parameters."""
        with np.errstate(divide="ignore", invalid="ignore"):  # a variance of 0 gives NaN, which the run reports
            log_mix = np.maximum(np.log(params["mix"][0]), LOG_ZERO)
            block = self.leaf.prepare(params["emit"][self.name])
            if isinstance(self.leaf, Gaussian):
                block = (block.mean, 0.5 / block.var, 0.5 * np.log(2 * np.pi * block.var))
        return log_mix, *block

    def expected(self, prepared: Any, chunk: Chunk, assign: Assign) -> Expected:
        """Return the statistics of a chunk."""
        stats = np.zeros(self.model.stats_shape)
        parts = self.model.view(stats)
        sums = self.emit.view(parts["emit"])[self.name]
        values = np.ascontiguousarray(chunk.blocks[self.name])
        if isinstance(self.leaf, Gaussian):
            loglik = kernels.diagonal_soft(values, chunk.weight, *prepared, parts["mix"][0], sums[:3])
        else:
            loglik = kernels.normal_soft(values, chunk.weight, *prepared, parts["mix"][0], sums)
        return Expected(stats, loglik)
