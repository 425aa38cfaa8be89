"""Word alignment over a corpus: one or a few blocks of pairs, processed in turn, that add to the same statistics.

A lexicon is nearly as large as the corpus, so its counts are the memory of a pass: there is one array of them, and
workers share the work inside a block (`structures.links`). The link probabilities of a block take about as much
memory as the lexicon, with any number of workers: the sums have the same bits.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from halfseen.assign import SOFT, Assign
from halfseen.engine.loop.expected import WORD, Expected
from halfseen.engine.loop.model import Model, weighted_sum
from halfseen.engine.loop.paths import ThreeStep
from halfseen.engine.services.interrupt import Interrupts
from halfseen.leaves.leaf import Floats, Stats, frozen
from halfseen.leaves.limits import Params
from halfseen.leaves.translations import Translations
from halfseen.structures.links import Agreed, Block, Both, BothBlocks, Links, Runner, Sides, cut

LEAST = 1 << 22  # links of a block, if there are as many
PIECE = 1 << 18  # statistics cleared at once
TURNS = 2  # arrays: statistics, and the parameters they belong to


class WordModel(Model):
    """A model over the structure `Links` or `Agreed`."""

    structure: Links | Agreed

    @property
    def exact(self) -> bool:  # type: ignore[override]
        """False for directions that must agree: they have no common objective."""
        return isinstance(self.structure, Links)

    @property
    def spends(self) -> bool:
        """Whether lexicons are computed in the memory of statistics."""
        return any(isinstance(leaf, Translations) and leaf.spend for leaf in self.leaves.values())

    def expected(self, prepared: Any, chunk: Any, assign: Assign = SOFT, out: Stats | None = None) -> Expected:
        """Return the statistics of a chunk, added to `out` (by default zeros)."""
        stats = np.zeros(self.stats_shape) if out is None else out
        log_evidence, found = self.structure.add(prepared, chunk.weight, assign, chunk.blocks, self.view(stats))
        digest = hash((chunk.index, found)) & WORD if assign.mode == "hard" else 0
        return Expected(stats, weighted_sum(chunk.weight, log_evidence), digest)


@dataclass(frozen=True, eq=False)
class PairChunk:
    """Some pairs: the unit of work of the engine."""

    index: int
    blocks: Block | BothBlocks
    weight: Floats
    log_evidence: None = None

    @property
    def fingerprinted(self) -> Block | BothBlocks:
        """What is fingerprinted: not the cells of links, which are kept only if memory allows and change no result."""
        return self.blocks.without_steps if isinstance(self.blocks, Block) else self.blocks

    @property
    def overwrites(self) -> bool:
        """Whether statistics are written, not added to."""
        return isinstance(self.blocks, Block) and not self.blocks.has_matrix


class Pooled(Expected):
    """Statistics of chunks that are already added to one array: their sum is that array."""

    def __add__(self, other: Expected) -> Expected:
        return Pooled(other.stats, self.loglik + other.loglik, (self.digest + other.digest) & WORD)


class PooledPath(ThreeStep):
    """The three steps, with one array for the statistics of all chunks, which are processed in turn.

    Parameters
    ----------
    model : WordModel
    spend : bool       whether parameters are computed in the memory of statistics, and a pass may write over those that
                       were accepted before it: then two arrays serve in turn
    asked : Interrupts whether the user interrupted: then no further pass begins

    Attributes
    ----------
    begun : params     those of the last pass that began; what was accepted before them may be written over
    """

    model: WordModel

    def __init__(self, model: WordModel, spend: bool = False, asked: Interrupts | None = None) -> None:
        super().__init__(model)
        self._turns: deque[Stats] | None = deque(maxlen=TURNS) if spend else None
        self._asked = asked
        self.begun: Params | None = None

    def held(self, params: Params) -> Params:
        """Return start parameters in memory that a pass may overwrite."""
        if self._turns is None:
            return params
        parts = self.model.view(self._empty())
        own = [name for name, leaf in self.model.leaves.items() if isinstance(leaf, Translations)]
        for name in own:
            parts[name][...] = params[name]
        return params | {name: frozen(parts[name]) for name in own}

    def prepare(self, params: Any) -> Any:
        """Prepare every leaf, and the array."""
        if self._asked is not None and self._asked.times:
            raise KeyboardInterrupt
        self.begun = params
        return self.model.prepare(params), self._empty()

    def _empty(self) -> Stats:
        if self._turns is None:
            return np.empty(self.model.stats_shape)
        self._turns.append(np.empty(self.model.stats_shape) if len(self._turns) < TURNS else self._turns[0])
        return self._turns[-1]

    def expected(self, prepared: Any, chunk: Any, assign: Assign) -> Expected:
        """Add the statistics of a chunk to those before it."""
        parts, stats = prepared
        if chunk.index == 0 and not chunk.overwrites:
            self._clear(stats)
        found = self.model.expected(parts, chunk, assign, stats)
        return Pooled(found.stats, found.loglik, found.digest)

    def _clear(self, stats: Stats) -> None:
        def clear(first: int) -> None:
            stats[first : first + PIECE] = 0.0

        for _ in self.model.structure.run(clear, range(0, len(stats), PIECE)):
            pass

    def finish(self, total: Expected) -> Expected:
        """Return the statistics."""
        return Expected(total.stats, total.loglik, total.digest)


def n_blocks(n_links: int, n_cells: int) -> int:
    """Return how many blocks a corpus with `n_links` links has if link probabilities are kept."""
    return -(-n_links // max(n_cells, LEAST))


def one_chunk(sides: Sides, weight: Floats, steps: Runner | None = None) -> list[PairChunk]:
    """Return a corpus in one block without a matrix; cells of links are kept if `steps`, a runner, is given."""
    block = sides.block(matrix=False)
    return [PairChunk(0, block if steps is None else block.with_steps(steps), weight)]


def pair_chunks(data: Sides | Both, weight: Floats, n_chunks: int = 1) -> list[PairChunk]:
    """Cut a corpus into neighbouring pairs with about as many links each."""
    pairs = (data if isinstance(data, Sides) else data.ahead).pairs
    bounds = cut(np.concatenate([[0], np.cumsum(pairs[:, 1] * pairs[:, 3])]), n_chunks).tolist()
    return [
        PairChunk(index, data.block(first, last), weight[first:last])
        for index, (first, last) in enumerate(pairwise(bounds))
    ]
