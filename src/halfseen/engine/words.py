"""Word alignment over a corpus: few large chunks, each with counts of its own for the whole lexicon.

A lexicon is nearly as large as the corpus, so counts are the memory of a pass. There are as many chunks as counts for
them take about half a word of memory per link, whatever the number of workers: the sums have the same bits. What chunks
give is added in place.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halfseen.assign import SOFT, Assign
from halfseen.engine.expected import Expected
from halfseen.engine.model import Model, weighted_sum
from halfseen.engine.paths import ThreeStep
from halfseen.leaves.leaf import Floats, Stats
from halfseen.structures.links import Agreed, Both, Links, Sides

MOST = 16  # chunks
LEAST = 2


class WordModel(Model):
    """A model over the structure `Links` or `Agreed`."""

    structure: Links | Agreed

    @property
    def exact(self) -> bool:  # type: ignore[override]
        """Directions that must agree climb no common objective."""
        return isinstance(self.structure, Links)

    def expected(self, prepared: Any, chunk: Any, assign: Assign = SOFT, out: Stats | None = None) -> Expected:
        """Return the statistics of a chunk: what the structure finds, written where it stays (zeros, or `out`)."""
        stats = np.zeros(self.stats_shape) if out is None else out
        log_evidence, found = self.structure.add(prepared, chunk.weight, assign, chunk.blocks, self.view(stats))
        digest = hash((chunk.index, found)) if assign.mode == "hard" else 0
        return Expected(stats, weighted_sum(chunk.weight, log_evidence), digest)


@dataclass(frozen=True, eq=False)
class PairChunk:
    """Some pairs: what the engine maps over."""

    index: int
    blocks: Sides | Both
    weight: Floats
    log_evidence: None = None


class Pooled(Expected):
    """Statistics that are added in place; what was added is given back for the next pass."""

    spare: list[Stats]

    @classmethod
    def over(cls, stats: Stats, loglik: float, spare: list[Stats]) -> Pooled:
        """Return a sum that gives arrays back to `spare`."""
        made = cls(stats, loglik)
        object.__setattr__(made, "spare", spare)
        return made

    def __add__(self, other: Expected) -> Expected:
        loglik = self.loglik + other.loglik
        if not len(self.stats):
            return Pooled.over(other.stats, loglik, self.spare)
        self.stats.__iadd__(other.stats)
        self.spare.append(other.stats)
        return Pooled.over(self.stats, loglik, self.spare)


class PooledPath(ThreeStep):
    """The three steps, with sums that take no memory beside the chunks' own; fresh memory is dear.

    The arrays of all chunks but one come back with every pass, and serve the next.
    """

    model: WordModel

    def __init__(self, model: WordModel) -> None:
        super().__init__(model)
        self._spare: list[Stats] = []

    def zero(self) -> Expected:
        """Return nothing, to which anything is added."""
        return Pooled.over(np.zeros(0), 0.0, self._spare)

    def expected(self, prepared: Any, chunk: Any, assign: Assign) -> Expected:
        """Return the statistics of a chunk, in an array that came back if there is one."""
        try:
            stats = self._spare.pop()
        except IndexError:  # another thread may have taken the last one
            stats = np.empty(self.model.stats_shape)
        stats.fill(0.0)
        return self.model.expected(prepared, chunk, assign, stats)

    def finish(self, total: Expected) -> Expected:
        """Return the statistics."""
        return Expected(total.stats, total.loglik) if len(total.stats) else super().zero()


def cut_pairs(n_links: NDArray[np.int64], n_cells: int) -> list[NDArray[np.int64]]:
    """Cut pairs into neighbours with about as many links each; `n_cells` is the size of the lexicon."""
    total = int(n_links.sum())
    n_chunks = int(np.clip(total // max(2 * n_cells, 1), LEAST, MOST))
    bounds = np.searchsorted(np.cumsum(n_links), total * np.arange(1, n_chunks) / n_chunks)
    return [part for part in np.split(np.arange(len(n_links)), bounds) if len(part)]


def pair_chunks(data: Sides | Both, weight: Floats, n_cells: int) -> list[PairChunk]:
    """Return the chunks of a corpus."""
    pairs = (data if isinstance(data, Sides) else data.ahead).pairs
    parts = cut_pairs(pairs[:, 1] * pairs[:, 3], n_cells)
    return [
        PairChunk(
            index,
            data.taken(part) if isinstance(data, Sides) else Both(data.ahead.taken(part), data.back.taken(part)),
            weight[part],
        )
        for index, part in enumerate(parts)
    ]
