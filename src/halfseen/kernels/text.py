"""Kernels of sparse counts in plain NumPy and SciPy, written from the formula.

Rows are documents, cells are words. Row n holds the entries i from ends[n] to ends[n + 1]: word words[i],
values[i] times. The arrays may hold more entries than the rows at hand point to, before and behind:
rows are cut without a copy.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import xlogy

Floats = NDArray[np.float64]
Ends = NDArray[np.int64]
Words = NDArray[np.int32]

NEVER = -1e300  # stands for log 0
IMPOSSIBLE = -1e200  # a score below this is that of a word of probability 0, whose log stands as -1e300


def counts_matrix(ends: Ends, words: Words, values: NDArray[Any], n_words: int) -> csr_array:
    """Return the rows as a SciPy matrix, (N, V)."""
    held = slice(int(ends[0]), int(ends[-1]))
    entries = (values[held].astype(np.float64), words[held], ends - ends[0])
    return csr_array(entries, shape=(len(ends) - 1, n_words))


def counts_score(
    ends: Ends,  # (N + 1,)  in
    words: Words,  # (M,)  in
    values: NDArray[Any],  # (M,)  in
    table: Floats,  # (V, K)  in, log-probabilities; -inf only where a twin may meet it
    scores: Floats,  # (N, K)  added to
) -> None:
    """scores[n, k] += sum over entries i of row n of values[i] table[words[i], k]."""
    scores += counts_matrix(ends, words, values, len(table)) @ table


def counts_expect(
    ends: Ends,  # (N + 1,)  in
    words: Words,  # (M,)  in
    values: NDArray[Any],  # (M,)  in
    usage: Floats,  # (N, K)  in
    sums: Floats,  # (V, K)  added to
) -> None:
    """sums[v, k] += sum over entries i of rows n with words[i] = v of values[i] usage[n, k]."""
    sums += counts_matrix(ends, words, values, len(sums)).T @ usage


def counts_count(
    ends: Ends,  # (N + 1,)  in
    words: Words,  # (M,)  in
    values: NDArray[Any],  # (M,)  in
    component: NDArray[np.int64],  # (N,)  in, the one component that uses the row
    weight: Floats,  # (N,)  in
    counts: Floats,  # (K, V)  added to
) -> None:
    """counts[component[n], words[i]] += weight[n] values[i] for every entry i of row n."""
    n_components, n_words = counts.shape
    member = csr_array((weight, component, np.arange(len(component) + 1)), shape=(len(component), n_components))
    counts += (member.T @ counts_matrix(ends, words, values, n_words)).toarray()


def log_inner(
    counts: Floats,  # (K, V)  in
    shares: Floats,  # (K, V)  in, at least 0
) -> float:
    """Return the sum of counts times log shares, 0 log 0 = 0; -inf where a count meets a share of 0."""
    return float(xlogy(counts, shares).sum())


def log_turned(
    shares: Floats,  # (K, V)  in, at least 0
    table: Floats,  # (V, W)  out
) -> None:
    """table[v, k] = log shares[k, v], -1e300 for log 0 and in the padding."""
    n_components = len(shares)
    table[:, n_components:] = NEVER
    with np.errstate(divide="ignore"):
        np.log(shares.T, out=table[:, :n_components])
    np.maximum(table, NEVER, out=table)


def counts_soft(
    ends: Ends,  # (N + 1,)  in
    words: Words,  # (M,)  in
    values: NDArray[Any],  # (M,)  in
    weight: Floats,  # (N,)  in
    log_mix: Floats,  # (W,)  in, -1e300 for log 0 and in the padding
    table: Floats,  # (V, W)  in, -1e300 for log 0
    mix_usage: Floats,  # (W,)  added to
    sums: Floats,  # (V, W)  added to
) -> float:
    """Score, infer and expect at once; return the log-likelihood, -inf when a row of positive weight is impossible.

    usage[n, k] = weight[n] exp(score[n, k]) / sum over k of exp(score[n, k]), score = log_mix + counts_score.
    """
    scores = np.tile(log_mix, (len(weight), 1))
    counts_score(ends, words, values, table, scores)
    best = scores.max(axis=1, initial=-np.inf)
    possible = best > IMPOSSIBLE
    parts = np.exp(scores - best[:, None])
    total = parts.sum(axis=1)
    usage = parts * np.where(possible, weight / total, 0.0)[:, None]
    mix_usage += usage.sum(axis=0)
    counts_expect(ends, words, values, usage, sums)
    if np.any(~possible & (weight > 0)):
        return -np.inf
    return float(weight[possible] @ (best + np.log(total))[possible])


def counts_best(
    ends: Ends,  # (N + 1,)  in
    words: Words,  # (M,)  in
    values: NDArray[Any],  # (M,)  in
    log_mix: Floats,  # (W,)  in, as in counts_soft
    table: Floats,  # (V, W)  in
    best: NDArray[np.int64],  # (N,)  out, the first among equals; -1 in impossible rows
) -> None:
    """best[n] = argmax over k of log_mix[k] + counts_score[n, k]."""
    scores = np.tile(log_mix, (len(best), 1))
    counts_score(ends, words, values, table, scores)
    best[:] = np.where(scores.max(axis=1, initial=-np.inf) > IMPOSSIBLE, scores.argmax(axis=1), -1)
