"""The kernels of transcripts in plain NumPy, written from their formulas; `plain` offers them with the others.

A call is a block of frames of one utterance. Index letters: r row of R, j node of L, a arc of A, e emission of E. Arcs
are sorted by the node that they lead to: those into node j are ``firsts[j] .. firsts[j + 1]``, those into L end the
utterance; an arc from -1 begins it. Every node, and the end, has an arc.

An utterance of T frames has T + 2 rows: the beginning, where the only node is -1, the frames, and the end, where the
only node is L. A block is some consecutive rows; the first is given, as the last of the block before. Row r has the
nodes ``band[r, 0] .. band[r, 1]``, of which both ends never fall with r; node j of row r is in column j - band[r, 0].
Arcs that leave the band are not there: with a band of all nodes nothing is left out. All sums are in logs and over
every arc of the band: a node far below the best one may be the only one from which the end can still be reached.

    value[r, j] = scores[r - 1, owner[j]] + log sum over arcs a into j of exp(value[r - 1, source[a]] + logs[a])

No backward recursion is needed: given that node j is used in row r, its arcs are used in proportion to their terms in
that sum. So expected uses are propagated back along the arcs; all have the same sign and are at most one.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def _brought(firsts: Ints, source: Ints, logs: Floats, band: Ints, values: Floats, r: int) -> tuple[Floats, Ints, Ints]:
    """Return what each arc into the nodes of row r brings, where it comes from in row r - 1, and first arcs of nodes.

    An arc from outside the band brings -inf; its place is 0.
    """
    (from_low, from_high), (low, high) = band[r - 1].tolist(), band[r].tolist()
    arcs = slice(firsts[low], firsts[high])
    inside = (source[arcs] >= from_low) & (source[arcs] < from_high)
    place = np.where(inside, source[arcs] - from_low, 0)
    return np.where(inside, values[r - 1, place] + logs[arcs], -np.inf), place, firsts[low : high + 1] - firsts[low]


def _shares(brought: Floats, starts: Ints) -> Floats:
    """Return the share of each arc in what reaches its target; 0 where nothing does."""
    target = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    top = np.maximum.reduceat(brought, starts[:-1])[target]
    with np.errstate(invalid="ignore"):
        part = np.where(top > -np.inf, np.exp(brought - top), 0.0)
    total = np.add.reduceat(part, starts[:-1])[target]
    return np.divide(part, total, out=np.zeros_like(part), where=total > 0)


def align_forward(
    firsts: Ints,  # (L + 2,)  in
    source: Ints,  # (A,)    in
    logs: Floats,  # (A,)    in
    owner: Ints,  # (L,)    in, column of `scores` that each node reads
    band: Ints,  # (R, 2)  in
    scores: Floats,  # (R - 1, E)  in; (R - 2, E) if the last row is the end
    best: bool,  # the largest instead of the sum
    level: float,  # what the rows up to the first were lowered by
    values: Floats,  # (R, W)  in: the first row; out: the others, each lowered by its largest
) -> float:
    """Return `level` plus what these rows were lowered by: at the end the log-evidence, or the best joint.

    It ends where nothing is possible, with -inf, or at a score that is NaN, with NaN.
    """
    gather = np.maximum if best else np.logaddexp
    for r in range(1, len(band)):
        low, high = band[r].tolist()
        brought, _, starts = _brought(firsts, source, logs, band, values, r)
        row = gather.reduceat(brought, starts[:-1])
        if r <= len(scores):
            row = row + scores[r - 1, owner[low:high]]
        top = row.max()
        level += float(top)
        if not level > -np.inf:
            return level
        values[r, : high - low] = row - top
    return level


def align_back(
    firsts: Ints,  # (L + 2,)  in
    source: Ints,  # (A,)    in
    logs: Floats,  # (A,)    in
    owner: Ints,  # (L,)    in
    band: Ints,  # (R, 2)  in
    values: Floats,  # (R, W)  in
    outer: float,  # how often the utterance is used
    first: int,  # number of the frame of the second row
    now: Floats,  # (W,)  in: use of the nodes of the last row; out: of the first
    usage: Floats,  # (frames, E)  out: use of emissions; (0, 0): not wanted
    arc_usage: Floats,  # (A,)    added to
    times: Floats,  # (2, L)  added to: sums over t of p(j at t) and (2 t + 1) p(j at t)
    spans: Ints,  # (Q, frames, 2)  in, first and last + 1 of some nodes at each frame
    held: Floats,  # (Q, frames)  out: p(one of these nodes at t)
) -> None:
    """Use of emissions and arcs, back through a block: 1.0 at the end is where it begins."""
    at = now[: band[-1, 1] - band[-1, 0]].copy()
    for r in range(len(band) - 1, 0, -1):
        low, high = band[r].tolist()
        at /= at.sum()
        if low < len(owner):
            if len(usage):
                usage[r - 1] = outer * np.bincount(owner[low:high], at, minlength=usage.shape[1])
            times[:, low:high] += np.array([[1.0], [2 * (first + r) - 1]]) * at
            for q, (begin, end) in enumerate(spans[:, r - 1]):
                held[q, r - 1] = at[max(0, begin - low) : max(0, end - low)].sum()
        brought, place, starts = _brought(firsts, source, logs, band, values, r)
        flow = _shares(brought, starts) * np.repeat(at, np.diff(starts))
        arc_usage[firsts[low] : firsts[high]] += outer * flow
        at = np.asarray(np.bincount(place, flow, minlength=band[r - 1, 1] - band[r - 1, 0]), dtype=np.float64)
    now[: len(at)] = at


def align_trace(
    firsts: Ints,  # (L + 2,)  in
    source: Ints,  # (A,)    in
    logs: Floats,  # (A,)    in
    band: Ints,  # (R, 2)  in
    values: Floats,  # (R, W)  in, of the best ways
    node: int,  # node in the last row
    arcs: Ints,  # (R - 1,)  out: the arc that leads to each row but the first
) -> int:
    """Viterbi, back through a block: return the node in the first row; of equal arcs the first is taken."""
    for r in range(len(band) - 1, 0, -1):
        brought, _, starts = _brought(firsts, source, logs, band, values, r)
        j = node - int(band[r, 0])
        arcs[r - 1] = firsts[node] + int(np.argmax(brought[starts[j] : starts[j + 1]]))
        node = int(source[arcs[r - 1]])
    return node


def align_draw(
    firsts: Ints,  # (L + 2,)  in
    source: Ints,  # (A,)    in
    logs: Floats,  # (A,)    in
    band: Ints,  # (R, 2)  in
    values: Floats,  # (R, W)  in
    uniforms: Floats,  # (N, R - 1)  in
    nodes: Ints,  # (N,)  in: nodes in the last row; out: in the first
    arcs: Ints,  # (N, R - 1)  out
) -> None:
    """Draw N ways from the posterior, back through a block."""
    for r in range(len(band) - 1, 0, -1):
        brought, _, starts = _brought(firsts, source, logs, band, values, r)
        shares, low = _shares(brought, starts), int(band[r, 0])
        for n, j in enumerate(nodes.tolist()):
            passed = np.cumsum(shares[starts[j - low] : starts[j - low + 1]])
            place = int(np.searchsorted(passed, uniforms[n, r - 1] * passed[-1], side="right"))
            arcs[n, r - 1] = firsts[j] + min(place, len(passed) - 1)
        nodes[:] = source[arcs[:, r - 1]]


def align_draws(
    firsts: Ints,
    source: Ints,
    logs: Floats,
    band: Ints,  # (T + 2, 2)  in, the whole utterance
    values: Floats,  # (T + 2, W)  in
    times: int,  # how many ways to draw
    spread: Callable[[Ints, Floats], Ints],  # multinomial draws: counts (...) over arcs with chances (..., K)
) -> tuple[Ints, Ints]:
    """Draw many ways at once: return how many take each arc, (A,), and are at each node at each frame, (T, L).

    Backwards, those at a node are spread over the arcs that lead there.
    """
    n_nodes = len(firsts) - 2
    taken, at = np.zeros(len(source), dtype=np.int64), np.zeros((len(band) - 2, n_nodes), dtype=np.int64)
    now = np.append(np.zeros(n_nodes, dtype=np.int64), times)
    for r in range(len(band) - 1, 0, -1):
        brought, _, starts = _brought(firsts, source, logs, band, values, r)
        shares, low, flow = _shares(brought, starts), int(band[r, 0]), np.zeros(len(source), dtype=np.int64)
        for j in np.flatnonzero(now):
            arcs = slice(starts[j - low], starts[j - low + 1])
            flow[firsts[j] : firsts[j + 1]] = spread(now[j], shares[arcs])
        taken += flow
        if r > 1:
            now = np.zeros(n_nodes + 1, dtype=np.int64)
            np.add.at(now, source, flow)
            at[r - 2] = now[:-1]
    return taken, at
