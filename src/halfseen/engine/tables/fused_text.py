"""The fused path of text: score, infer and expect of a mixture over documents in one pass over their words.

As `fused` for tables: its sums equal those of the three steps, which serve labels, other modes of assignment, more
components, other columns beside the text, and the NumPy kernels. Tables have a row per word, padded to whole registers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from halfseen.assign import Assign
from halfseen.engine.loop.expected import Expected
from halfseen.engine.loop.model import Chunk, Model
from halfseen.kernels import active as kernels
from halfseen.kernels import plain
from halfseen.leaves import Cells, Multinomial, Product
from halfseen.leaves.leaf import Floats
from halfseen.leaves.limits import Params
from halfseen.leaves.wrappers import unwrapped
from halfseen.structures.independent import Independent

WIDTH = 8  # components are padded to it: whole registers of every instruction set
MOST = 64  # components; beyond, the scores of a document leave the registers
NEVER = -1e300  # stands for log 0


class FusedText:
    """The plan of one model over one block of text.

    Sums of a chunk are one vector: mix (W), then words (V, W).
    """

    def __init__(self, model: Model, block: str) -> None:
        self.model = model
        self.block = block
        emit = model.leaves["emit"]
        assert isinstance(emit, Product)
        self.n_components = emit.n_components
        self.width = -(-self.n_components // WIDTH) * WIDTH
        self.n_words = emit.leaves[block].stats_shape[1]

    @classmethod
    def find(cls, model: Model) -> FusedText | None:
        """Return the plan for a model, or None where the kernel cannot serve it."""
        if kernels is plain or model.structure != Independent():
            return None
        mix, emit = model.leaves["mix"], model.leaves["emit"]
        if not isinstance(emit, Product) or emit.n_components > MOST or not isinstance(unwrapped(mix), Cells):
            return None
        if len(emit.leaves) != 1 or type(unwrapped(next(iter(emit.leaves.values())))) is not Multinomial:
            return None
        return cls(model, next(iter(emit.leaves)))

    def pack(self, chunk: Chunk) -> Chunk:
        """Return the chunk as it is."""
        return chunk

    def prepare(self, params: Params) -> tuple[Floats, Floats]:
        """Return logs of the mixing weights, (W,), and of the words, (V, W)."""
        size = self.n_components
        mix = np.full(self.width, NEVER)
        table = np.empty((self.n_words, self.width))
        with np.errstate(divide="ignore"):
            np.log(params["mix"][0], out=mix[:size])
        kernels.log_turned(np.ascontiguousarray(params["emit"][self.block]), table)
        return np.maximum(mix, NEVER), table

    def zero(self) -> Expected:
        """Return the sums of no data."""
        return Expected.zero(self.width * (1 + self.n_words))

    def expected(self, prepared: Any, chunk: Chunk, assign: Assign) -> Expected:
        """Return the sums of a chunk."""
        total = self.zero()
        mix_usage, words = total.stats[: self.width], total.stats[self.width :].reshape(self.n_words, self.width)
        weight = np.ascontiguousarray(chunk.weight)
        loglik = kernels.counts_soft(*chunk.blocks[self.block].arrays, weight, *prepared, mix_usage, words)
        return Expected(total.stats, loglik)

    def finish(self, total: Expected) -> Expected:
        """Return the model's statistics."""
        stats = np.empty(self.model.stats_shape)
        parts = self.model.view(stats)
        parts["mix"][0] = total.stats[: self.n_components]
        words = total.stats[self.width :].reshape(self.n_words, self.width)
        parts["emit"].reshape(self.n_components, self.n_words)[:] = words[:, : self.n_components].T
        return Expected(stats, total.loglik)

    def best(self, prepared: Any, chunk: Chunk) -> NDArray[np.int64]:
        """Return the most probable component of each row, the first among equals; -1 where all are impossible."""
        found = np.empty(len(chunk.weight), dtype=np.int64)
        kernels.counts_best(*chunk.blocks[self.block].arrays, *prepared, found)
        return found

    prepare_best = prepare
