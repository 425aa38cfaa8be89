"""The kernels of transcripts in plain NumPy, written from their formulas; `plain` offers them with the others.

A call is one utterance. Index letters: t frame of T, j node of L, a arc of A, e emission of E. Arcs are sorted by the
node that they lead to: those into node j are ``firsts[j] .. firsts[j + 1]``, those into L end the utterance; an arc
from -1 begins it. Every node, and the end, has an arc. All sums are in logs and over every arc: a node far below the
best one may be the only one from which the end can still be reached.

    alpha[t, j] = scores[t, owner[j]] + log sum over arcs a into j of exp(alpha[t - 1, source[a]] + logs[a])

No backward recursion is needed: given that node j is used at t, its arcs are used in proportion to their terms in that
sum. So expected uses are propagated back along the arcs; all have the same sign and are at most one.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def align_rows(n_frames: int, n_nodes: int, cells: int) -> int:
    """Return how many rows of `work` an utterance needs, of at most about `cells` numbers in all if that can be.

    With a row for each frame and one more, every forward value is kept. With r rows for a block and one for the first
    of every block, blocks are computed a second time on the way back: about 2 sqrt(T) rows do.
    """
    if (n_frames + 1) * n_nodes <= cells or n_frames < 16:
        return n_frames + 1
    stride = int(np.ceil(np.sqrt(n_frames)))
    return stride + -(-n_frames // stride)


def _forward(
    firsts: Ints, source: Ints, logs: Floats, owner: Ints, scores: Floats, best: bool
) -> tuple[list[Floats], float]:
    """Return what each arc brings before every frame and at the end, and the log-evidence or the best joint."""
    gather = np.maximum if best else np.logaddexp
    values = np.append(np.full(len(owner), -np.inf), 0.0)  # source -1, the beginning, is last
    brought, level = [], 0.0
    for t in range(len(scores) + 1):
        brought.append(values[source] + logs)
        into = gather.reduceat(brought[-1], firsts[:-1])
        if t == len(scores):
            return brought, level + float(into[-1])
        values = np.append(into[:-1] + scores[t, owner], -np.inf)
        top = values.max()
        level += float(top)
        if not top > -np.inf:  # nothing is possible, or a score is NaN
            return brought, level
        values -= top
    raise AssertionError


def _shares(firsts: Ints, brought: list[Floats]) -> Floats:
    """Return the share of each arc in what reaches its target, at every frame and the end; 0 where nothing does."""
    values = np.array(brought)
    target = np.repeat(np.arange(len(firsts) - 1), np.diff(firsts))
    top = np.maximum.reduceat(values, firsts[:-1], axis=1)[:, target]
    with np.errstate(invalid="ignore"):
        part = np.where(top > -np.inf, np.exp(values - top), 0.0)
    total = np.add.reduceat(part, firsts[:-1], axis=1)[:, target]
    return np.divide(part, total, out=np.zeros_like(part), where=total > 0)


def align_soft(
    firsts: Ints,  # (L + 2,)  in
    source: Ints,  # (A,)    in
    logs: Floats,  # (A,)    in
    owner: Ints,  # (L,)    in, column of `scores` that each node reads
    outer: float,  # how often the utterance is used
    scores: Floats,  # (T, E)  in; out: usage
    work: Floats,  # (align_rows, L)  scratch
    arc_usage: Floats,  # (A,)    added to
    times: Floats,  # (2, L)  added to: sums over t of p(j at t) and (2 t + 1) p(j at t)
    spans: Ints,  # (Q, T, 2)  in, first and last + 1 of some nodes at each frame
    held: Floats,  # (Q, T)  out: p(one of these nodes at t)
) -> float:
    """Return the log-evidence; usage of emissions and arcs."""
    brought, evidence = _forward(firsts, source, logs, owner, scores, best=False)
    if not evidence > -np.inf:
        scores[:] = 0.0
        return evidence
    n_nodes = len(owner)
    target = np.repeat(np.arange(n_nodes + 1), np.diff(firsts))
    now, shares = np.append(np.zeros(n_nodes), 1.0), _shares(firsts, brought)
    for t in range(len(scores), -1, -1):
        flow = shares[t] * now[target]
        arc_usage += outer * flow
        if t == 0:
            return evidence
        now = np.bincount(source + 1, flow, minlength=n_nodes + 2)[1:]  # without the beginning; the end has none
        now = now / now.sum()
        scores[t - 1] = outer * np.bincount(owner, now[:-1], minlength=scores.shape[1])
        times += np.array([[1.0], [2 * t - 1]]) * now[:-1]
        for q, (first, last) in enumerate(spans[:, t - 1]):
            held[q, t - 1] = now[first:last].sum()
    raise AssertionError


def align_hard(
    firsts: Ints,  # (L + 2,)  in
    source: Ints,  # (A,)    in
    logs: Floats,  # (A,)    in
    owner: Ints,  # (L,)    in
    scores: Floats,  # (T, E)  in
    work: Floats,  # (align_rows, L)  scratch
    arcs: Ints,  # (T + 1,)  out: the arc that leads to frame t, and the one that ends
) -> float:
    """Viterbi: return the log-probability of the best path and the frames; of equal arcs the first is taken."""
    brought, joint = _forward(firsts, source, logs, owner, scores, best=True)
    if not joint > -np.inf:
        return joint
    node = len(owner)
    for t in range(len(scores), -1, -1):
        arcs[t] = firsts[node] + int(np.argmax(brought[t][firsts[node] : firsts[node + 1]]))
        node = source[arcs[t]]
    return joint


def align_draw(
    firsts: Ints,  # (L + 2,)  in
    source: Ints,  # (A,)    in
    logs: Floats,  # (A,)    in
    owner: Ints,  # (L,)    in
    scores: Floats,  # (T, E)  in
    uniforms: Floats,  # (R, T + 1)  in
    work: Floats,  # (align_rows, L)  scratch
    arcs: Ints,  # (R, T + 1)  out
) -> float:
    """Return the log-evidence; draw R paths backwards from the posterior."""
    brought, evidence = _forward(firsts, source, logs, owner, scores, best=False)
    if not evidence > -np.inf:
        return evidence
    node, shares = np.full(len(uniforms), len(owner)), _shares(firsts, brought)
    for t in range(len(scores), -1, -1):
        for r, j in enumerate(node):
            passed = np.cumsum(shares[t, firsts[j] : firsts[j + 1]])
            place = int(np.searchsorted(passed, uniforms[r, t] * passed[-1], side="right"))
            arcs[r, t] = firsts[j] + min(place, len(passed) - 1)
        node = source[arcs[:, t]]
    return evidence


def align_draws(
    firsts: Ints,
    source: Ints,
    logs: Floats,
    owner: Ints,
    scores: Floats,
    times: int,  # how many paths to draw
    spread: Callable[[Ints, Floats], Ints],  # multinomial draws: counts (...) over ways with chances (..., K)
) -> tuple[Ints, Ints]:
    """Draw many paths at once: return how many take each arc, (A,), and are at each node at each frame, (T, L).

    Backwards, those at a node are spread over the arcs that lead there.
    """
    brought, evidence = _forward(firsts, source, logs, owner, scores, best=False)
    n_nodes = len(owner)
    taken, at = np.zeros(len(source), dtype=np.int64), np.zeros((len(scores), n_nodes), dtype=np.int64)
    if not evidence > -np.inf:
        return taken, at
    shares, now = _shares(firsts, brought), np.append(np.zeros(n_nodes, dtype=np.int64), times)
    for t in range(len(scores), -1, -1):
        flow = np.zeros(len(source), dtype=np.int64)
        for j in np.flatnonzero(now):
            arcs = slice(firsts[j], firsts[j + 1])
            flow[arcs] = spread(now[j], shares[t, arcs])
        taken += flow
        if t:
            now = np.zeros(n_nodes + 1, dtype=np.int64)
            np.add.at(now, source, flow)
            at[t - 1] = now[:-1]
    return taken, at
