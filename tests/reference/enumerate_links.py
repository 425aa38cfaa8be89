"""Word alignment by enumeration: every way to link the words of a pair, straight from the definition."""

from __future__ import annotations

import itertools

import numpy as np


def place_probability(kind, place, i, before, j, n, m, null):
    """p(i | .): i = 0 is NULL, `before` the last source word that was not NULL, j counted from 1."""
    if kind == 0:
        return 1 / (n + null)
    p0 = place[0]
    if i == 0:
        return p0
    if kind == 1:
        parts = [np.exp(-place[1] * abs(k / n - j / m)) for k in range(1, n + 1)]
        return (1 - p0) * parts[i - 1] / sum(parts)
    jumps, w = place[1:], len(place[1:]) // 2

    def chance(k):
        return jumps[max(-w, min(w, k - before)) + w]

    return (1 - p0) * chance(i) / sum(chance(k) for k in range(1, n + 1))


def all_links(kind, place, table, null):
    """Yield (links, joint probability) for a pair with t(f_j | e_i) = table[i, j], NULL first, (n + 1, m)."""
    n, m = table.shape[0] - 1, table.shape[1]
    for links in itertools.product(range(0 if null else 1, n + 1), repeat=m):
        joint, before = 1.0, 0
        for j, i in enumerate(links):
            joint *= place_probability(kind, place, i, before, j + 1, n, m, null) * table[i, j]
            before = i or before
        yield links, joint


def posterior_slow(kind, place, table, null):
    """Return the posterior of every link, (n + 1, m), and the log-evidence."""
    total, usage = 0.0, np.zeros(table.shape)
    for links, joint in all_links(kind, place, table, null):
        total += joint
        usage[list(links), np.arange(len(links))] += joint
    return usage / total, np.log(total)


def place_stats_slow(kind, place, table, null):
    """Return expected statistics of the place: layout of `kernels.links`, for one pair whose cells begin at 0."""
    n, m = table.shape[0] - 1, table.shape[1]
    w = len(place[1:]) // 2
    stats = np.zeros(2 + m if kind == 1 else 1 + len(place) - 1 + n + 1)
    total = 0.0
    for links, joint in all_links(kind, place, table, null):
        total += joint
        before = 0
        for j, i in enumerate(links):
            if i == 0:
                stats[0] += joint
            elif kind == 1:
                stats[1] -= joint * abs(i / n - (j + 1) / m)
                stats[2 + j] += joint
            else:
                stats[1 + max(-w, min(w, i - before)) + w] += joint
                stats[len(place) + before] += joint
            before = i or before
    return stats / total
