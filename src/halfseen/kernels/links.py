"""Kernels of word alignment in plain NumPy, written from the formulas.

A pair of sentences has n source words and m target words; every target word j comes from one source word i, or from
none: NULL, i = 0. `table` holds the probabilities t(target | source) of words that stand together somewhere, cell by
cell: with NULL first its own, one for every target word, then the others in the order in which they are met. So what a
pair has to itself lies side by side, and what many pairs share lies near the front.

    pairs[p] = (first source word, n, first target word, m, first link)
    t(f_j | e_i) = table[slots[first link + (i - 1) m + j]],   t(f_j | NULL) = table[f_j]

Where target word j looks, `place`, is of one of three kinds (h = -|i/n - j/m|, i and j counted from 1 there):

    0  uniform    p(i | j) = 1 / (n + 1), or 1 / n without NULL
    1  diagonal   place = (p0, tension): p(0 | j) = p0, p(i | j) = (1 - p0) exp(tension h) / sum over i of the same
    2  jumps      place = (p0, c_-w .. c_w): p(0 | .) = p0, p(i | i') = (1 - p0) c_(i - i') / sum over k of c_(k - i'),
                  i' the last source word that was not NULL, 0 at the beginning; jumps beyond w count as w

Statistics of the place: kind 1: (NULLs, sum of h, then for each cell (m, n, j) the words that are not NULL); kind 2:
(NULLs, jumps -w .. w, then for each cell (n, i') the departures from i'). cells[p] is the pair's first cell.
Matrices of a pair, such as its posterior, are (n + 1, m), NULL first; they lie at first link + first target word.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Words = NDArray[np.int32]

UNIFORM, DIAGONAL, JUMPS = 0, 1, 2
GONE = 1e-100  # a source word that is used less is not used


class _Pair(NamedTuple):
    """One pair: its slots in the table, (n + 1, m) with -1 where there are none, and its probabilities."""

    slots: Ints
    chance: Floats


def _each(null: bool, pairs: Ints, target: Words, slots: Words, allowed: Any, table: Floats) -> Iterator[_Pair]:
    for _, n, t, m, link in pairs.tolist():
        own = np.full((n + 1, m), -1, dtype=np.int64)
        if null:
            own[0] = target[t : t + m]
        own[1:] = slots[link : link + n * m].reshape(n, m)
        chance = np.where(own >= 0, table[own] if len(table) else 0.0, 0.0)
        if len(allowed):
            chance = chance * (allowed[link + t : link + t + (n + 1) * m].reshape(n + 1, m) != 0)
        yield _Pair(own, chance)


def diagonal_feature(n: int, m: int) -> Floats:
    """Return h, (n, m): minus the distance of each link from the diagonal."""
    return -np.abs(np.arange(1, n + 1)[:, None] / n - np.arange(1, m + 1) / m)


def _places(kind: int, place: Floats, n: int, m: int, null: bool) -> Floats:
    """Return p(i | j), (n + 1, m), of kinds without memory."""
    if kind == UNIFORM:
        share = np.full((n + 1, m), 1.0 / (n + null))
        share[0] *= null
        return share
    share = np.empty((n + 1, m))
    share[0] = place[0]
    parts = np.exp(place[1] * diagonal_feature(n, m))
    share[1:] = (1 - place[0]) * parts / parts.sum(axis=0)
    return share


def _moves(place: Floats, n: int) -> tuple[Floats, Ints]:
    """Return p(i | i'), (n + 1, n), not NULL, and the number of the jump in each."""
    jumps = place[1:]
    width = len(jumps) // 2
    number = np.clip(np.arange(1, n + 1) - np.arange(n + 1)[:, None], -width, width) + width
    parts = jumps[number]
    return (1 - place[0]) * parts / parts.sum(axis=1, keepdims=True), number


class _Forward(NamedTuple):
    """Scaled sums over what came before: words[j, i], nulls[j, i'] and scale[j]."""

    words: Floats
    nulls: Floats
    scale: Floats


def _forward(chance: Floats, moves: Floats, p0: float, best: bool = False) -> _Forward:
    n, m = chance.shape[0] - 1, chance.shape[1]
    words, nulls, scale = np.zeros((m, n + 1)), np.zeros((m, n + 1)), np.zeros(m)
    last = np.zeros(n + 1)
    last[0] = 1.0
    for j in range(m):
        words[j, 1:] = chance[1:, j] * ((last[:, None] * moves).max(axis=0) if best else last @ moves)
        nulls[j] = chance[0, j] * p0 * last
        scale[j] = max(words[j].max(), nulls[j].max()) if best else words[j].sum() + nulls[j].sum()
        if not scale[j] > 0:
            break
        words[j] /= scale[j]
        nulls[j] /= scale[j]
        last = np.maximum(words[j], nulls[j]) if best else words[j] + nulls[j]
    return _Forward(words, nulls, scale)


def _chain_posterior(
    chance: Floats, place: Floats, weight: float, cell: int, stats: Floats | None
) -> tuple[Floats, float]:
    """Return the posterior of one pair under jumps and its log-evidence; add to `stats`, if any."""
    n, m = chance.shape[0] - 1, chance.shape[1]
    moves, number = _moves(place, n)
    words, nulls, scale = _forward(chance, moves, place[0])
    if not np.all(scale > 0):
        return np.zeros_like(chance), -np.inf
    post, after = np.empty((n + 1, m)), np.ones(n + 1)
    for j in range(m - 1, -1, -1):
        post[1:, j] = words[j, 1:] * after[1:]
        post[0, j] = nulls[j] @ after
        before = words[j - 1] + nulls[j - 1] if j else np.eye(n + 1)[0]
        onward = chance[1:, j] * after[1:] / scale[j]
        if stats is not None:
            used = weight * before[:, None] * moves * onward
            n_jumps = len(place) - 1
            stats[1 : 1 + n_jumps] += np.bincount(number.ravel(), used.ravel(), minlength=n_jumps)
            stats[1 + n_jumps + cell : 1 + n_jumps + cell + n + 1] += used.sum(axis=1)
        after = moves @ onward + place[0] * chance[0, j] / scale[j] * after
    if stats is not None:
        stats[0] += weight * post[0].sum()
    return post, float(np.log(scale).sum())


def _posterior(
    kind: int, chance: Floats, place: Floats, null: bool, weight: float, cell: int, stats: Floats | None
) -> tuple[Floats, float]:
    """Return the posterior of one pair, (n + 1, m), and its log-evidence; add to the place's statistics, if any."""
    if kind == JUMPS:
        return _chain_posterior(chance, place, weight, cell, stats)
    n, m = chance.shape[0] - 1, chance.shape[1]
    joint = chance * _places(kind, place, n, m, null)
    total = joint.sum(axis=0)
    if not np.all(total > 0):
        return np.zeros_like(chance), -np.inf
    post = joint / total
    if kind == DIAGONAL and stats is not None:
        stats[0] += weight * post[0].sum()
        stats[1] += weight * (post[1:] * diagonal_feature(n, m)).sum()
        stats[2 + cell : 2 + cell + m] += weight * post[1:].sum(axis=0)
    return post, float(np.log(total).sum())


def links_soft(
    kind: int,
    null: bool,
    pairs: Ints,  # (P, 5)  in
    cells: Ints,  # (P,)  in
    target: Words,  # in
    slots: Words,  # (M,)  in
    allowed: NDArray[np.uint8],  # in, (n + 1, m) of every pair: 0 where a link cannot be; or empty
    table: Floats,  # (S,)  in
    place: Floats,  # in
    weight: Floats,  # (P,)  in
    counts: Floats,  # (S,)  added to
    stats: Floats,  # added to
    log_evidence: Floats,  # (P,)  out
) -> None:
    """counts[slot of (i, j)] += weight[p] p(link (i, j) | pair p)."""
    for p, (own, chance) in enumerate(_each(null, pairs, target, slots, allowed, table)):
        post, log_evidence[p] = _posterior(kind, chance, place, null, weight[p], int(cells[p]), stats)
        used = own >= 0
        np.add.at(counts, own[used], weight[p] * post[used])


def links_posterior(
    kind: int,
    null: bool,
    pairs: Ints,
    cells: Ints,
    target: Words,
    slots: Words,
    allowed: NDArray[np.uint8],
    table: Floats,
    place: Floats,
    posterior: Floats,  # out, (n + 1, m) of every pair, one after the other
    log_evidence: Floats,  # (P,)  out
) -> None:
    """posterior[(i, j) of p] = p(link (i, j) | pair p)."""
    at = 0
    for p, (_, chance) in enumerate(_each(null, pairs, target, slots, allowed, table)):
        post, log_evidence[p] = _posterior(kind, chance, place, null, 1.0, 0, None)
        posterior[at : at + post.size] = post.ravel()
        at += post.size


def links_agree(
    kind: int,
    null: bool,
    pairs: Ints,
    cells: Ints,
    target: Words,
    slots: Words,
    allowed: NDArray[np.uint8],
    table: Floats,
    place: Floats,
    back_pairs: Ints,  # the same of the other direction
    back_cells: Ints,
    back_target: Words,
    back_slots: Words,
    back_allowed: NDArray[np.uint8],
    back_table: Floats,
    back_place: Floats,
    weight: Floats,  # (P,)  in
    counts: Floats,  # (S,)  added to
    stats: Floats,  # added to
    back_counts: Floats,  # added to
    back_stats: Floats,  # added to
    log_evidence: Floats,  # (P,)  out, the sum of both directions
) -> None:
    """Both directions count every link by the product of their posteriors; what is left of a word is NULL's."""
    ahead = _each(null, pairs, target, slots, allowed, table)
    back = _each(null, back_pairs, back_target, back_slots, back_allowed, back_table)
    for p, (one, two) in enumerate(zip(ahead, back, strict=True)):
        post, first = _posterior(kind, one.chance, place, null, weight[p], int(cells[p]), stats)
        other, second = _posterior(kind, two.chance, back_place, null, weight[p], int(back_cells[p]), back_stats)
        log_evidence[p] = first + second
        if not np.isfinite(log_evidence[p]):
            continue
        both = post[1:] * other[1:].T
        for own, agreed, into in ((one.slots, both, counts), (two.slots, both.T, back_counts)):
            np.add.at(into, own[1:], weight[p] * agreed)
            if null:
                np.add.at(into, own[0], weight[p] * np.maximum(1 - agreed.sum(axis=0), 0.0))


def links_best(
    kind: int,
    null: bool,
    pairs: Ints,
    cells: Ints,
    target: Words,
    slots: Words,
    allowed: NDArray[np.uint8],
    table: Floats,
    place: Floats,
    chosen: Words,  # out, the source word of every target word of the pairs; 0 is NULL
    log_joint: Floats,  # (P,)  out
) -> None:
    """The most probable links of every pair; the first source word among equals, NULL last."""
    at = 0
    for p, (_, chance) in enumerate(_each(null, pairs, target, slots, allowed, table)):
        n, m = chance.shape[0] - 1, chance.shape[1]
        if kind == JUMPS:
            found, log_joint[p] = _best_way(chance, place)
        else:
            joint = chance * _places(kind, place, n, m, null)
            found = (np.roll(joint, -1, axis=0).argmax(axis=0) + 1) % (n + 1)
            with np.errstate(divide="ignore"):
                log_joint[p] = np.log(joint.max(axis=0)).sum()
        chosen[at : at + m] = found
        at += m


def _best_way(chance: Floats, place: Floats) -> tuple[Ints, float]:
    n, m = chance.shape[0] - 1, chance.shape[1]
    moves, _ = _moves(place, n)
    words, nulls, scale = _forward(chance, moves, place[0], best=True)
    found = np.zeros(m, dtype=np.int64)
    if not np.all(scale > 0):
        return found, -np.inf
    ends = np.maximum(words[-1], nulls[-1])
    last = int(ends.argmax())
    for j in range(m - 1, -1, -1):
        if last and words[j, last] >= nulls[j, last]:
            found[j] = last
            before = np.maximum(words[j - 1], nulls[j - 1]) if j else np.eye(n + 1)[0]
            last = int((before * moves[:, last - 1]).argmax())
    return found, float(np.log(scale).sum() + np.log(ends.max()))


def links_draw(
    kind: int,
    null: bool,
    pairs: Ints,
    cells: Ints,
    target: Words,
    slots: Words,
    allowed: NDArray[np.uint8],
    table: Floats,
    place: Floats,
    uniforms: Floats,  # in, one for every target word of the pairs
    chosen: Words,  # out
    log_evidence: Floats,  # (P,)  out
) -> None:
    """Links of every pair drawn from their posterior."""
    at = 0
    for p, (_, chance) in enumerate(_each(null, pairs, target, slots, allowed, table)):
        n, m = chance.shape[0] - 1, chance.shape[1]
        own = uniforms[at : at + m]
        if kind == JUMPS:
            found, log_evidence[p] = _drawn_way(chance, place, own)
        else:
            joint = np.cumsum(chance * _places(kind, place, n, m, null), axis=0)
            found = (own * joint[-1] >= joint[:-1]).sum(axis=0)
            with np.errstate(divide="ignore"):
                log_evidence[p] = np.log(joint[-1]).sum()
        chosen[at : at + m] = found
        at += m


def _drawn_way(chance: Floats, place: Floats, uniforms: Floats) -> tuple[Ints, float]:
    """Draw backwards: the last word, then what came before it, given what came after."""
    n, m = chance.shape[0] - 1, chance.shape[1]
    moves, _ = _moves(place, n)
    words, nulls, scale = _forward(chance, moves, place[0])
    found = np.zeros(m, dtype=np.int64)
    if not np.all(scale > 0):
        return found, -np.inf
    into = np.ones(n + 1)  # how probable what comes after is, from each last word
    for j in range(m - 1, -1, -1):
        parts = np.cumsum(np.concatenate([nulls[j] * into, words[j] * into]))
        state = int((uniforms[j] * parts[-1] >= parts[:-1]).sum())
        if state <= n:  # NULL, and the last word stays
            into = np.eye(n + 1)[state]
        else:
            found[j] = state - (n + 1)
            into = moves[:, found[j] - 1]
    return found, float(np.log(scale).sum())


def links_share(
    owner: Words,  # (S,)  in, the source word of each cell
    counts: Floats,  # (S,)  in
    sums: Floats,  # (V,)  out, counts of each source word
    table: Floats,  # (S,)  out, shares; 0 of a word without counts
) -> None:
    """table[s] = counts[s] / sums[owner[s]]."""
    sums[:] = np.bincount(owner, counts, minlength=len(sums))
    factor = np.divide(1.0, sums, out=np.zeros(len(sums)), where=sums > GONE)
    table[:] = counts * factor[owner]


def links_rows(
    pairs: Ints,  # (P, 5)  in
    source: Words,  # in
    target: Words,  # in
    n_target: int,
    firsts: Ints,  # (V + 1,)  in where `columns` is not empty; else out: firsts[e + 1] is the size of row e
    columns: Words,  # (S,) out, or empty
) -> None:
    """columns[firsts[e] .. firsts[e + 1]] = the target words that stand in a pair with source word e, ascending."""
    keys = [np.zeros(0, dtype=np.int64)]
    for s, n, t, m, _ in pairs.tolist():
        keys.append((source[s : s + n].astype(np.int64)[:, None] * n_target + target[t : t + m]).ravel())
        if len(keys) > 4096:
            keys = [np.unique(np.concatenate(keys))]
    together = np.unique(np.concatenate(keys))
    if len(columns):
        columns[:] = together % max(n_target, 1)
    else:
        firsts[1:] = np.bincount(together // max(n_target, 1), minlength=len(firsts) - 1)


def links_number(
    pairs: Ints,  # (P, 5)  in, one after the other
    source: Words,  # in
    target: Words,  # in
    firsts: Ints,  # (V + 1,)  in
    columns: Words,  # (S,)  in, the target word of each entry, ascending in each row
    next: int,  # the next number
    order: Words,  # (S,)  in, out: the number of each entry, -1 before it is met
    slots: Words,  # out, links of these pairs
) -> int:
    """slots[link (i, j)] = order[entry of f_j in the row of e_i]; return the next number."""
    at = 0
    for s, n, t, m, _ in pairs.tolist():
        for e in source[s : s + n].tolist():
            row = columns[firsts[e] : firsts[e + 1]]
            entries = firsts[e] + np.searchsorted(row, target[t : t + m])
            for entry in entries[order[entries] < 0].tolist():
                if order[entry] < 0:
                    order[entry] = next
                    next += 1
            slots[at : at + m] = order[entries]
            at += m
    return next
