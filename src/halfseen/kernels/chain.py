"""The kernels of hidden Markov chains in plain NumPy, written from their formulas; `plain` has them with the others.

Index letters: t time of T, i and j hidden states of K, b sequence of B. Sequences are complete and concatenated:
the first `lengths[0]` of the N rows are the first sequence, and so on. The NumPy kernels step through all
sequences of a call at once.

Scaled kernels normalise probabilities at every step (forward-backward with scaling). A sequence in which that would
lose digits (a step leaves less than `LEAST` of what the best state alone would have) gets the evidence NaN and is left
as it was: it must be recomputed by the kernel of the same name that ends in `_log`.

Shares too small for a float are cut to zero, though the rest of the sequence may favour their states again. Where all
states lead to all others this has no effect (`_mixes`). Elsewhere forward values are computed twice, the second time
from above: what would be cut is raised to FLOOR. The truth lies between the two; where they differ the evidence is NaN.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

LEAST = 1e-100  # of a step's probability: below, states that were rounded to zero might have mattered
GONE = 1e-280  # a state this improbable has probability zero: its reciprocal must not overflow
FLOOR = 1e-200  # or, from above, this one: FLOOR LEAST, into the next state, is a float still
TINY = 1e-307  # stands for emissions that are smaller, but possible: any share of it is cut
SAME = 1e-12  # bounds that differ by this part are the same but for rounding


class _Sweep:
    """The rows of all sequences at time t, longest sequences first."""

    def __init__(self, lengths: Ints, chosen: Ints) -> None:
        self.order = chosen[np.argsort(-lengths[chosen], kind="stable")]
        self.firsts = (np.cumsum(lengths) - lengths)[self.order]
        self.lengths = lengths[self.order]
        self.longest = int(self.lengths.max(initial=0))

    def at(self, t: int) -> Ints:
        return self.firsts[: np.count_nonzero(self.lengths > t)] + t


class _Forward:
    """Forward values of all sequences: filtered probabilities, emissions, scales.

    `log_evidence` is NaN where a sequence lost digits, at its end or, with `throughout`, at any of its steps.
    """

    def __init__(self, start: Floats, trans: Floats, lengths: Ints, scores: Floats, throughout: bool = False) -> None:
        best = scores.max(axis=1, initial=-np.inf)
        with np.errstate(invalid="ignore"):
            self.emit = np.exp(scores - best[:, None])
        self.emit[(self.emit < TINY) & (scores > -np.inf)] = TINY
        self.filtered, self.scale = _share(start, trans, lengths, self.emit, above=False)
        firsts = np.cumsum(lengths) - lengths
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.where(self.scale >= LEAST, np.log(self.scale) + best, np.nan)
        self.log_evidence = np.add.reduceat(logs, firsts) if len(firsts) else np.zeros(0)
        if not _mixes(start, trans):
            _, above = _share(start, trans, lengths, self.emit, above=True)
            for b, rows in enumerate(_rows(lengths, np.arange(len(lengths)))):
                with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                    apart = np.abs(np.cumprod(above[rows] / self.scale[rows]) - 1.0)
                if not (apart.max() if throughout else apart[-1]) <= SAME:
                    self.log_evidence[b] = np.nan
        self.done = np.flatnonzero(np.isfinite(self.log_evidence))
        self.log_evidence[~np.isfinite(self.log_evidence)] = np.nan


def _share(start: Floats, trans: Floats, lengths: Ints, emit: Floats, above: bool) -> tuple[Floats, Floats]:
    """Return filtered probabilities and the scale of each step: bounds of them from below, or from above."""
    filtered, scale = np.zeros_like(emit), np.ones(len(emit))
    if above:
        trans = np.where(trans > 0, np.maximum(trans, LEAST), trans)
    sweep = _Sweep(lengths, np.arange(len(lengths)))
    for t in range(sweep.longest):
        rows = sweep.at(t)
        prior = start if t == 0 else filtered[rows - 1] @ trans
        joint = prior * emit[rows]
        total = joint.sum(axis=1)
        scale[rows] = total
        if above:
            joint[(joint < FLOOR) & (prior > 0) & (emit[rows] > 0)] = FLOOR
        else:
            joint[~(joint >= GONE)] = 0.0
        with np.errstate(invalid="ignore", divide="ignore"):
            filtered[rows] = joint / total[:, None]
    return filtered, scale


def _mixes(start: Floats, trans: Floats) -> bool:
    """Return whether states that can be entered can be entered from everywhere, and not with probabilities below LEAST.

    Then cuts have no effect: a share that is cut is at most GONE / LEAST of the whole, and where it would have led, a
    state with at least one K-th of the whole leads too, by a factor of LEAST or more. Whatever follows, the cut share
    is at most K GONE / LEAST^2 = K 1e-80.
    """
    entered = (trans > 0).any(axis=0)
    live = entered | (start > 0)
    return bool((trans[np.ix_(live, entered)] >= LEAST).all())


def chain_soft(
    start: Floats,  # (K,)    in, probabilities
    trans: Floats,  # (K, K)  in, probabilities, row i: from state i
    lengths: Ints,  # (B,)    in
    outer: Floats,  # (B,)    in, how often each sequence is used
    scores: Floats,  # (N, K)  in; out: usage
    work: Floats,  # scratch, see `chain_room`
    start_usage: Floats,  # (K,)    added to
    trans_usage: Floats,  # (K, K)  added to
    log_evidence: Floats,  # (B,)    out; NaN: the sequence was left as it was
) -> None:
    """Forward and backward: usage of states, of starts and of transitions.

    filtered[t, j] = p(z_t = j | x_1..t),  ahead[t, i] = p(x_t+1..T | z_t = i) / p(x_t+1..T | x_1..t)
    usage[t, j] = outer filtered[t, j] ahead[t, j]
    trans_usage[i, j] = outer sum_t filtered[t - 1, i] trans[i, j] emit[t, j] ahead[t, j] / scale[t]
    """
    forward = _Forward(start, trans, lengths, scores)
    filtered, emit, scale = forward.filtered, forward.emit, forward.scale
    log_evidence[:] = forward.log_evidence
    sweep = _Sweep(lengths, forward.done)
    ahead = np.repeat(outer[sweep.order][:, None], len(start), axis=1)
    total = np.zeros_like(trans)
    for t in range(sweep.longest - 1, -1, -1):
        rows = sweep.at(t)
        ahead[: len(rows)][filtered[rows] == 0] = 0.0  # it may be infinite where the state is impossible
        scores[rows] = filtered[rows] * ahead[: len(rows)]
        if t:
            used = emit[rows] * ahead[: len(rows)] / scale[rows][:, None]
            total += filtered[rows - 1].T @ used
            ahead[: len(rows)] = used @ trans.T
    start_usage += scores[sweep.at(0)].sum(axis=0)
    trans_usage += trans * total


def chain_filter(
    start: Floats,  # (K,)    in, probabilities
    trans: Floats,  # (K, K)  in
    lengths: Ints,  # (B,)    in
    scores: Floats,  # (N, K)  in; out: p(state at t | observed up to t)
    work: Floats,  # scratch, see `chain_room`
    log_evidence: Floats,  # (B,)    out; NaN: the sequence was left as it was
) -> None:
    """Forward only: filtered[t, j] ~ emit[t, j] sum_i filtered[t - 1, i] trans[i, j]."""
    forward = _Forward(start, trans, lengths, scores, throughout=True)
    log_evidence[:] = forward.log_evidence
    for rows in _rows(lengths, forward.done):
        scores[rows] = forward.filtered[rows]


def _rows(lengths: Ints, chosen: Ints) -> list[slice]:
    ends = np.cumsum(lengths)
    return [slice(int(ends[b] - lengths[b]), int(ends[b])) for b in chosen]


def _log_sum(values: Floats, axis: int) -> Floats:
    """Return log sum exp; -inf where all are."""
    best = values.max(axis=axis)
    safe = np.where(np.isneginf(best), 0.0, best)
    with np.errstate(divide="ignore"):
        return safe + np.log(np.exp(values - np.expand_dims(safe, axis)).sum(axis=axis))


def _log_forward(log_start: Floats, log_trans: Floats, scores: Floats, out: Floats) -> float:
    """out[t] = log p(z_t, x_1..t) - log p(x_1..t); return log p(x_1..T). After an impossible step all is -inf."""
    total = 0.0
    for t, row in enumerate(scores):
        prior = log_start if t == 0 else _log_sum(out[t - 1][:, None] + log_trans, axis=0)
        joint = prior + row
        step = float(_log_sum(joint, axis=0))
        total += step
        out[t] = joint if step == -np.inf else joint - step
    return total


def chain_soft_log(
    log_start: Floats,  # (K,)    in
    log_trans: Floats,  # (K, K)  in
    lengths: Ints,  # (B,)    in
    outer: Floats,  # (B,)    in
    scores: Floats,  # (N, K)  in; out: usage
    work: Floats,  # (T + 2, K)  scratch, T the longest sequence
    start_usage: Floats,  # (K,)    added to
    trans_usage: Floats,  # (K, K)  added to
    log_evidence: Floats,  # (B,)    out; -inf for an impossible sequence, which has no usage
) -> None:
    """The same as `chain_soft` in logs throughout: slow, and safe for any scores."""
    for b, rows in enumerate(_rows(lengths, np.arange(len(lengths)))):
        own, filtered = scores[rows], work[: lengths[b]]
        log_evidence[b] = _log_forward(log_start, log_trans, own, filtered)
        if log_evidence[b] == -np.inf:
            own[:] = 0.0
            continue
        ahead = np.zeros(len(log_start))
        for t in range(len(own) - 1, -1, -1):
            use = filtered[t] + ahead
            use = outer[b] * np.exp(use - _log_sum(use, axis=0))
            if t:
                after = own[t] + ahead
                pairs = filtered[t - 1][:, None] + log_trans + after
                trans_usage += outer[b] * np.exp(pairs - _log_sum(pairs.ravel(), axis=0))
                ahead = _log_sum(log_trans + after, axis=1)
                ahead = ahead - (0.0 if ahead.max() == -np.inf else ahead.max())
            own[t] = use
        start_usage += own[0]


def chain_filter_log(
    log_start: Floats,  # (K,)    in
    log_trans: Floats,  # (K, K)  in
    lengths: Ints,  # (B,)    in
    scores: Floats,  # (N, K)  in; out: log p(state at t | observed up to t); -inf from an impossible step on
    log_evidence: Floats,  # (B,)    out
) -> None:
    """The same as `chain_filter` in logs throughout, and its result in logs too."""
    for b, rows in enumerate(_rows(lengths, np.arange(len(lengths)))):
        log_evidence[b] = _log_forward(log_start, log_trans, scores[rows].copy(), scores[rows])


def chain_hard(
    log_start: Floats,  # (K,)    in
    log_trans: Floats,  # (K, K)  in
    lengths: Ints,  # (B,)    in
    outer: Floats,  # (B,)    in
    scores: Floats,  # (N, K)  in; out: usage
    back: NDArray[np.int32],  # (N, K)  scratch, the best state before
    path: Ints,  # (N,)    out, the best state; the lowest index among equals
    start_usage: Floats,  # (K,)    added to
    trans_usage: Floats,  # (K, K)  added to
    log_evidence: Floats,  # (B,)    out, log-probability of the best path together with what was seen
) -> None:
    """Viterbi: best[t, j] = scores[t, j] + max_i best[t - 1, i] + log_trans[i, j]; then back from the last step."""
    sweep = _Sweep(lengths, np.arange(len(lengths)))
    for t in range(sweep.longest):
        rows = sweep.at(t)
        if t == 0:
            scores[rows] += log_start
            continue
        ways = scores[rows - 1][:, :, None] + log_trans
        back[rows] = ways.argmax(axis=1)
        scores[rows] += ways.max(axis=1)
    for b, part in enumerate(_rows(lengths, np.arange(len(lengths)))):
        own, states = scores[part], path[part]
        states[-1] = own[-1].argmax()
        log_evidence[b] = own[-1, states[-1]]
        for t in range(len(own) - 1, 0, -1):
            states[t - 1] = back[part][t, states[t]]
        possible = log_evidence[b] > -np.inf
        own[:] = 0.0
        if possible:
            own[np.arange(len(own)), states] = outer[b]
            start_usage[states[0]] += outer[b]
            np.add.at(trans_usage, (states[:-1], states[1:]), outer[b])


def chain_draw(
    log_trans: Floats,  # (K, K)  in
    lengths: Ints,  # (B,)    in
    log_filtered: Floats,  # (N, K)  in, from `chain_filter` or `chain_filter_log`
    uniforms: Floats,  # (N,)    in, one number in [0, 1) for each step
    path: Ints,  # (N,)    out
) -> None:
    """Draw a path from the last step back: p(z_t | z_t+1, x) ~ filtered[t, z_t] trans[z_t, z_t+1]."""
    for rows in _rows(lengths, np.arange(len(lengths))):
        logs, uniform, states = log_filtered[rows], uniforms[rows], path[rows]
        for t in range(len(logs) - 1, -1, -1):
            chances = logs[t] if t == len(logs) - 1 else logs[t] + log_trans[:, states[t + 1]]
            best = chances.max()
            cumulated = np.cumsum(np.exp(chances - (0.0 if best == -np.inf else best)))
            states[t] = min(int((uniform[t] * cumulated[-1] >= cumulated).sum()), len(chances) - 1)


def chain_fused(
    start: Floats,  # (W,)    in, probabilities; 0 in the padding
    trans: Floats,  # (W, W)  in
    table: Floats,  # (R, W)  in, probabilities of groups of categories
    mean: Floats,  # (D, W)  in
    half_precision: Floats,  # (D, W)  in, 1 / (2 var)
    half_log: Floats,  # (D, W)  in, log(2 pi var) / 2
    rate: Floats,  # (P, W)  in
    log_rate: Floats,  # (P, W)  in, -1e300 for log 0
    lengths: Ints,  # (B,)    in
    outer: Floats,  # (B,)    in
    cells: NDArray[np.uint16],  # (N, G)  in, row of `table` for each group of columns
    values: Floats,  # (N, D)  in, NaN = missing
    counts: Floats,  # (N, P)  in, NaN = missing
    constants: Floats,  # (N, P)  in, log Poisson(counts; unit), 0 where missing
    work: Floats,  # scratch, see `chain_room`
    start_usage: Floats,  # (W,)    added to
    trans_usage: Floats,  # (W, W)  added to
    table_usage: Floats,  # (R, W)  added to
    moments: Floats,  # (3, D, W)  added to, about `mean`
    sums: Floats,  # (3, P, W)  added to: mass, events, constants
    log_evidence: Floats,  # (B,)    out; NaN: the sequence added nothing
) -> None:
    """Score, infer and expect a chain over columns at once.

    emit[t] = prod_g table[cells[t, g]] prod_d Normal(values[t, d]) prod_p Poisson(counts[t, p])
    """
    seen, counted = ~np.isnan(values), ~np.isnan(counts)
    events, deviation = np.where(counted, counts, 0.0), np.where(seen, values, 0.0)[:, :, None] - mean
    with np.errstate(divide="ignore"):
        usage = np.log(table)[cells].sum(axis=1)
    usage -= (seen[:, :, None] * (half_log + half_precision * deviation**2)).sum(axis=1)
    usage += events @ log_rate - counted @ rate + constants.sum(axis=1)[:, None]
    usage[usage < -1e299] = -np.inf
    chain_soft(start, trans, lengths, outer, usage, work, start_usage, trans_usage, log_evidence)
    usage[np.repeat(np.isnan(log_evidence), lengths)] = 0.0
    np.add.at(table_usage, cells, usage[:, None, :])
    for power in range(3):
        moments[power] += np.einsum("nw,nd,ndw->dw", usage, seen, deviation**power)
    for sum_, factor in zip(sums, (counted, events, constants), strict=True):
        sum_ += factor.T @ usage


def chain_room(lengths: Ints, n_states: int) -> int:
    """Return how many numbers of scratch the scaled kernels need: none in NumPy."""
    return 0
