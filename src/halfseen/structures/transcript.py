"""Forced alignment: the transcript is known, the timing is hidden. A chain over its states with tied emissions.

Every utterance has its own graph. Its nodes are the states of its units, in order; each has the emission that it
shares with the same state of the same unit elsewhere. A path through the graph has one node for each frame:

    p(path, x) = prod over its arcs a of exp(sum of the moves of a)  *  prod_t emit[t, owner[node_t]]

- *moves*: the choices that have probabilities, in rows that sum to one: to stay in a state or to leave it, to pause
  between two words or not, which of its pronunciations a word has. An arc makes several of them at once.
- *arc*: from one node to the next, from the beginning (-1) or to the end (L).
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from halfseen.assign import Assign
from halfseen.structures.draws import Draws, spread_by
from halfseen.structures.structure import Floats, Inference
from halfseen.structures.transcript_passes import Passes, Scored

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Graph:
    """The paths through a transcript.

    Attributes
    ----------
    owner : (L,) ints         emission that each node reads
    firsts : (L + 2,) ints    arcs into node j are firsts[j] .. firsts[j + 1]; L is the end
    source : (A,) ints        where each arc comes from; -1 is the beginning
    bounds : (A + 1,) ints    moves of arc a are moves[bounds[a]] .. moves[bounds[a + 1]]
    moves : ints              cells of the leaf `moves`

    Examples
    --------
    >>> word = Graph.of([0, 1], [(-1, 0, ()), (0, 0, (0,)), (0, 1, (1,)), (1, 1, (2,)), (1, 2, (3,))])
    >>> word.source.tolist(), word.target.tolist(), word.n_least
    ([-1, 0, 0, 1, 1], [0, 0, 1, 1, 2], 2)
    """

    owner: Ints
    firsts: Ints
    source: Ints
    bounds: Ints
    moves: Ints

    @classmethod
    def of(cls, owner: Sequence[int], arcs: Sequence[tuple[int, int, tuple[int, ...]]]) -> Graph:
        """Return a graph from its arcs (source, target, moves), in any order; nodes are numbered along every path."""
        ordered = sorted(arcs, key=lambda arc: arc[1])
        source, target = (np.array([arc[i] for arc in ordered], dtype=np.int64) for i in (0, 1))
        sizes = [len(arc[2]) for arc in ordered]
        firsts = np.searchsorted(target, np.arange(len(owner) + 2))
        assert np.diff(firsts).min() > 0, "every node, and the end, needs an arc that leads to it"
        assert (source <= target).all(), "arcs lead on"
        return cls(
            np.array(owner, dtype=np.int64),
            firsts.astype(np.int64),
            source,
            np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
            np.array([move for arc in ordered for move in arc[2]], dtype=np.int64),
        )

    @property
    def arrays(self) -> tuple[Ints, ...]:
        """All that this graph is defined by."""
        return (self.owner, self.firsts, self.source, self.bounds, self.moves)

    @property
    def n_nodes(self) -> int:
        """Number of nodes, L."""
        return len(self.owner)

    @cached_property
    def target(self) -> Ints:
        """Node that each arc leads to, (A,)."""
        return np.repeat(np.arange(self.n_nodes + 1), np.diff(self.firsts))

    @cached_property
    def n_least(self) -> int:
        """Fewest frames of a path."""
        least = np.zeros(self.n_nodes + 1, dtype=np.int64)
        for j in range(self.n_nodes + 1):
            arcs = self.source[self.firsts[j] : self.firsts[j + 1]]
            least[j] = 1 + min((least[i] if i >= 0 else 0) for i in arcs[arcs != j].tolist())
        return int(least[-1]) - 1

    def logs(self, moves: Floats) -> Floats:
        """Return the log-probability of each arc, (A,), from those of all moves."""
        with_none = np.append(moves, 0.0)
        return np.add.reduceat(with_none[self._padded], self.bounds[:-1] + np.arange(len(self.source)))

    @cached_property
    def _padded(self) -> Ints:
        """Moves of all arcs, each arc's after one that is none, -1: `reduceat` knows no empty pieces."""
        return np.insert(self.moves, self.bounds[:-1], -1)

    def add_moves(self, arc_usage: Floats, out: Floats) -> None:
        """Add the usage of arcs to that of the moves they make."""
        out += np.bincount(self.moves, np.repeat(arc_usage, np.diff(self.bounds)), minlength=len(out))


class Way(NamedTuple):
    """The best path through a graph.

    Attributes
    ----------
    nodes : (T,) ints          node at each frame
    log_probability : (T,) array      what each frame adds to the log of the joint; the last includes the end
    log_joint : float
    arcs : (T + 1,) ints       arc to the node of each frame, and to the end
    """

    nodes: Ints
    log_probability: Floats
    log_joint: float
    arcs: Ints


class Held(NamedTuple):
    """Posterior probabilities of nodes.

    Attributes
    ----------
    log_evidence : float
    held : (Q, T) array        probability of each requested span of nodes, at each frame
    frames, squares : (L,)     sums over frames of p(node at t) and of (2 t + 1) p(node at t)
    arcs : (A,) array          expected number of times that each arc is used
    """

    log_evidence: float
    held: Floats
    frames: Floats
    squares: Floats
    arcs: Floats


@dataclass(frozen=True)
class LeftRight:
    """Transcripts: parts `moves` (1, S) and `emit` (N, E), N the frames of all utterances of a chunk.

    The chunk's data have the lengths and graphs of utterances (`data.lengths`, `data.graphs`); labels are about frames
    and emissions. Evidence and weights are per utterance.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from halfseen.assign import SOFT
    >>> word = Graph.of([0, 1], [(-1, 0, ()), (0, 0, (0,)), (0, 1, (1,)), (1, 1, (2,)), (1, 2, (3,))])
    >>> scores = {"moves": np.log([[0.5, 0.5, 0.5, 0.5]]), "emit": np.log([[0.9, 0.1], [0.6, 0.3], [0.2, 0.8]])}
    >>> said = SimpleNamespace(lengths=np.array([3]), graphs=[word])
    >>> LeftRight().infer(scores, np.ones((1, 1)), SOFT, data=said).usage["emit"].round(3)
    array([[1.   , 0.   ],
           [0.667, 0.333],
           [0.   , 1.   ]])
    """

    @property
    def parts(self) -> tuple[str, ...]:
        """Moves and emissions."""
        return ("moves", "emit")

    @property
    def n_groups(self) -> int:
        """One evidence for each utterance."""
        return 1

    def infer(
        self,
        scores: Mapping[str, Floats],
        outer: Floats,
        assign: Assign,
        log_labels: Floats | None = None,
        data: Any = None,
    ) -> Inference:
        """Return usage of moves, and of emissions at frames; `scores["emit"]` is overwritten."""
        emit, moves = scores["emit"], np.ravel(scores["moves"])
        if log_labels is not None:
            emit += log_labels
        if assign.beta != 1.0:
            emit, moves = emit * assign.beta, moves * assign.beta
        usage, log_evidence, digest = np.zeros(len(moves)), np.empty(len(data.graphs)), 0
        last = np.cumsum(data.lengths)
        for b, (graph, weight) in enumerate(zip(data.graphs, np.ravel(outer).tolist(), strict=True)):
            own = np.ascontiguousarray(emit[last[b] - data.lengths[b] : last[b]])
            arc_usage = np.zeros(len(graph.source))
            log_evidence[b], found = _complete(graph, graph.logs(moves), own, weight, assign, arc_usage)
            emit[last[b] - data.lengths[b] : last[b]] = own
            graph.add_moves(arc_usage, usage)
            digest = hash((digest, found))
        return Inference(
            {"moves": usage.reshape(scores["moves"].shape), "emit": emit},
            (log_evidence / assign.beta)[:, None],
            digest if assign.mode == "hard" else 0,
        )


def _complete(
    graph: Graph, logs: Floats, scores: Floats, weight: float, assign: Assign, arc_usage: Floats
) -> tuple[float, int]:
    """Overwrite the scores of one utterance with usage, in any mode; return its evidence and the digest."""
    if graph.n_least > len(scores):
        scores[:] = 0.0
        return -np.inf, 0
    passes = Passes(graph, logs, Scored.of(scores))
    log_evidence = passes.forward(best=assign.mode == "hard")
    if not log_evidence > -np.inf:
        scores[:] = 0.0
        return log_evidence, 0
    if assign.mode == "soft":
        passes.soft(weight, arc_usage, scores, _no_spans(len(scores)))
        return log_evidence, 0
    if assign.mode == "hard":
        arcs = passes.trace()[0][None]
        _add_ways(graph, arcs, np.array([weight]), scores, arc_usage)
        return log_evidence, zlib.crc32(arcs.tobytes())
    assert assign.rng is not None, "sample mode needs a seeded generator"
    draws = Draws.of(np.array([weight * assign.draws]))
    share = draws.listed()[1] / assign.draws
    ways = passes.draw(assign.rng.random((len(share), len(scores) + 1)))
    many = passes.draw_many(int(draws.many[0]), spread_by(assign.rng)) if draws.many[0] else None
    _add_ways(graph, ways, share, scores, arc_usage)
    if many is not None:
        by_frame = np.array([np.bincount(graph.owner, nodes, minlength=scores.shape[1]) for nodes in many[1]])
        scores += by_frame * (draws.each[0] / assign.draws)
        arc_usage += many[0] * (draws.each[0] / assign.draws)
    return log_evidence, 0


def _no_spans(n_frames: int) -> Ints:
    return np.zeros((0, n_frames, 2), dtype=np.int64)


def _add_ways(graph: Graph, ways: Ints, share: Floats, scores: Floats, arc_usage: Floats) -> None:
    """Overwrite scores with the usage of paths, given by their arcs, and add to that of arcs."""
    scores[:] = 0.0
    for arcs, used in zip(ways, share, strict=True):
        np.add.at(arc_usage, arcs, used)
        scores[np.arange(len(scores)), graph.owner[graph.target[arcs[:-1]]]] += used


def best(graph: Graph, moves: Floats, scores: Floats | Scored, band: Ints | None = None) -> Way:
    """Return the best path through a graph, given log-probabilities of moves (S,) and scores of frames."""
    logs, scored = graph.logs(moves), Scored.of(scores)
    n_frames, passes = scored.n_frames, Passes(graph, logs, scored, band)
    log_joint = passes.forward(best=True)
    if not log_joint > -np.inf:
        nowhere = np.zeros(n_frames + 1, dtype=np.int64)
        return Way(nowhere[:-1], np.full(n_frames, log_joint), log_joint, nowhere)
    arcs, by_frame = passes.trace()
    by_frame += logs[arcs[:-1]]
    by_frame[-1:] += logs[arcs[-1]]
    return Way(graph.target[arcs[:-1]], by_frame, log_joint, arcs)


def evidence(graph: Graph, moves: Floats, scores: Floats | Scored, band: Ints | None = None) -> float:
    """Return the log-probability of the frames, over all paths."""
    return Passes(graph, graph.logs(moves), Scored.of(scores), band).forward()


def posterior(
    graph: Graph, moves: Floats, scores: Floats | Scored, spans: Ints | None = None, band: Ints | None = None
) -> Held:
    """Return the probability of spans of nodes, (Q, T, 2), at each frame."""
    scored = Scored.of(scores)
    passes = Passes(graph, graph.logs(moves), scored, band)
    log_evidence = passes.forward()
    asked = _no_spans(scored.n_frames) if spans is None else spans
    arc_usage = np.zeros(len(graph.source))
    held, times = passes.soft(1.0, arc_usage, None, asked)
    return Held(log_evidence, held, times[0], times[1], arc_usage)
