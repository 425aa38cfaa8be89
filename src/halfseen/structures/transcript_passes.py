"""Passes over one utterance, forward and back, in blocks of frames.

Forward values that fit in `CELLS` numbers are kept. Of longer utterances the first row of each block is, and blocks are
computed a second time on the way back: with blocks of sqrt(T) frames, 2 sqrt(T) rows are in memory. Scores are asked
for a block at a time, so that those of an hour need not be in memory either.

- *row*: the beginning, each frame, the end; see `kernels.align`.
- *band*: first and last + 1 of the nodes that a frame may have. None: all nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from halfseen.kernels import active
from halfseen.kernels.align import align_draws
from halfseen.structures.structure import Floats

if TYPE_CHECKING:
    from halfseen.structures.transcript import Graph

Ints = NDArray[np.int64]

CELLS = 1 << 25  # forward values kept at once, 256 MB


class Scored(NamedTuple):
    """Scores of the frames of an utterance, as many at a time as are asked for.

    Attributes
    ----------
    n_frames : int
    rows : function      from first and last + 1 of some frames to their scores, (n, E)
    """

    n_frames: int
    rows: Callable[[int, int], Floats]

    @classmethod
    def of(cls, scores: Floats | Scored) -> Scored:
        """Return those of an array, (T, E)."""
        if isinstance(scores, Scored):
            return scores
        return cls(len(scores), lambda first, last: scores[first:last])

    def scaled(self, scale: float) -> Scored:
        """Return these scores times a number."""
        return Scored(self.n_frames, lambda first, last: scale * self.rows(first, last))


class Passes:
    """Passes over one utterance: `forward` first, then one way back.

    Parameters
    ----------
    graph : Graph
    logs : (A,) array             log-probabilities of its arcs
    scored : Scored
    band : (T, 2) ints or None    nodes of each frame; both columns never fall
    cells : int or None           forward values to keep, if that can be; by default `CELLS`
    """

    def __init__(
        self, graph: Graph, logs: Floats, scored: Scored, band: Ints | None = None, cells: int | None = None
    ) -> None:
        self.graph, self.logs, self.scored, self.kernels = graph, logs, scored, active
        n_frames = scored.n_frames
        self.band = np.empty((n_frames + 2, 2), dtype=np.int64)
        self.band[0], self.band[-1] = (-1, 0), (graph.n_nodes, graph.n_nodes + 1)
        self.band[1:-1] = (0, graph.n_nodes) if band is None else band
        self.width = int((self.band[:, 1] - self.band[:, 0]).max())
        n_steps = n_frames + 1
        self.size = (
            n_steps if n_steps * self.width <= (CELLS if cells is None else cells) else int(np.ceil(np.sqrt(n_steps)))
        )
        self.n_blocks = -(-n_steps // self.size)
        self.kept = np.zeros((self.n_blocks, self.width))  # row 0 of the first block is the beginning: log 1
        self.values = np.empty((self.size + 1, self.width))
        self.filled, self.scores = -1, np.empty((0, 0))

    def forward(self, best: bool = False) -> float:
        """Return the log-evidence, or the log-probability of the best way; -inf or NaN where there is none."""
        level = 0.0
        for block in range(self.n_blocks):
            level = self._fill(block, best, level)
            if not level > -np.inf:
                return level
            if block + 1 < self.n_blocks:
                self.kept[block + 1] = self.values[self.size]
        return level

    def soft(self, outer: float, arc_usage: Floats, usage: Floats | None, spans: Ints) -> tuple[Floats, Floats]:
        """Return probabilities of spans of nodes, (Q, T), and the sums over frames of nodes, (2, L).

        Usage of arcs is added to; that of emissions, (T, E), is written, if wanted: it may be the array of the scores.
        """
        held, times = np.empty(spans.shape[:2]), np.zeros((2, self.graph.n_nodes))
        now = np.zeros(self.width)
        now[0] = 1.0
        for rows, frames in self._back(best=False):
            own = np.empty((0, 0)) if usage is None else usage[frames]
            part = np.empty((len(spans), frames.stop - frames.start))
            asked = np.ascontiguousarray(spans[:, frames])
            how = (self.band[rows], self._values(rows), outer, frames.start, now, own, arc_usage, times, asked, part)
            self.kernels.align_back(self.graph.firsts, self.graph.source, self.logs, self.graph.owner, *how)
            held[:, frames] = part
        return held, times

    def trace(self) -> tuple[Ints, Floats]:
        """Return the arcs of the best way, (T + 1,), and the score of its node at each frame, (T,)."""
        arcs, found = np.zeros(self.scored.n_frames + 1, dtype=np.int64), np.empty(self.scored.n_frames)
        node = self.graph.n_nodes
        for rows, frames in self._back(best=True):
            part = arcs[rows.start : rows.stop - 1]
            how = (self.band[rows], self._values(rows), node, part)
            node = self.kernels.align_trace(self.graph.firsts, self.graph.source, self.logs, *how)
            nodes = self.graph.target[arcs[frames]]
            found[frames] = self.scores[np.arange(len(nodes)), self.graph.owner[nodes]]
        return arcs, found

    def draw(self, uniforms: Floats) -> Ints:
        """Return the arcs of ways drawn from the posterior, (N, T + 1), by as many uniform numbers."""
        arcs = np.empty(uniforms.shape, dtype=np.int64)
        nodes = np.full(len(uniforms), self.graph.n_nodes)
        for rows, _ in self._back(best=False):
            steps = slice(rows.start, rows.stop - 1)
            part, own = np.ascontiguousarray(arcs[:, steps]), np.ascontiguousarray(uniforms[:, steps])
            how = (self.band[rows], self._values(rows), own, nodes, part)
            self.kernels.align_draw(self.graph.firsts, self.graph.source, self.logs, *how)
            arcs[:, steps] = part
        return arcs

    def draw_many(self, times: int, spread: Callable[[Ints, Floats], Ints]) -> tuple[Ints, Ints]:
        """Return how many of so many ways take each arc, (A,), and are at each node at each frame, (T, L)."""
        whole = Passes(self.graph, self.logs, self.scored, self.band[1:-1], self.band.size * self.width)
        whole.forward()
        graph = self.graph
        return align_draws(graph.firsts, graph.source, self.logs, whole.band, whole.values, times, spread)

    def _fill(self, block: int, best: bool, level: float) -> float:
        """Compute the forward values of a block from its first row; return `level` plus what they were lowered by."""
        rows, frames = self._ends(block)
        self.values[0], self.filled = self.kept[block], block
        self.scores = self.scored.rows(frames.start, frames.stop)
        how = (self.band[rows], self.scores, best, level, self._values(rows))
        return float(
            self.kernels.align_forward(self.graph.firsts, self.graph.source, self.logs, self.graph.owner, *how)
        )

    def _back(self, best: bool) -> Iterator[tuple[slice, slice]]:
        """Yield the rows and the frames of each block, from the last, with their forward values in `values`."""
        for block in reversed(range(self.n_blocks)):
            if block != self.filled:
                self._fill(block, best, 0.0)
            yield self._ends(block)

    def _ends(self, block: int) -> tuple[slice, slice]:
        """Return the rows of a block, of which the first is the last of the block before, and the frames it adds."""
        first, last = block * self.size, min((block + 1) * self.size, self.scored.n_frames + 1)
        return slice(first, last + 1), slice(first, min(last, self.scored.n_frames))

    def _values(self, rows: slice) -> Floats:
        return self.values[: rows.stop - rows.start]
