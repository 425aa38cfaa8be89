"""Kernels of word alignment in plain NumPy, written from the formulas.

A pair of sentences has n source words and m target words; every target word j comes from one source word i, or from
none: NULL, i = 0, which is source word 0 of every pair, once. Quantities of the links of a pair, such as translation
probabilities t(f_j | e_i) (`chance`) and their posterior, are an (n + 1, m) matrix, NULL first.

    pairs[p] = (first source word, n, first target word, m, where its matrix begins)

A lexicon has a cell for each two words that co-occur in some pair. Source word e has the cells firsts[e] ..
firsts[e + 1]; their target words `columns` ascend, their probabilities are in `table`. It is read source word by source
word: in lane l, neighbouring pairs, e has the occurrences ends[l, e] .. ends[l, e + 1],

    spans[o] = (first target word << 24) + m        the target sentence
    places[o] = where its row of the matrix begins, (pair's begin) + i m

so that the row of e, which fits the caches, serves all of its links in turn. Which cell of its row a link is may be
kept: those of e in lane l are steps[step_ends[l, e] .. step_ends[l, e + 1]], if the row is short (65,536 cells).

The source position of target word j has one of three distributions, `place` (h = -|i/n - j/m|, i and j from 1 there):

    0  uniform    p(i | j) = 1 / (n + 1), or 1 / n without NULL
    1  diagonal   place = (p0, tension): p(0 | j) = p0, p(i | j) = (1 - p0) exp(tension h) / sum over i of the same
    2  jumps      place = (p0, c_-w .. c_w): p(0 | .) = p0, p(i | i') = (1 - p0) c_(i - i') / sum over k of c_(k - i'),
                  i' the last source word that was not NULL, 0 at the beginning; jumps beyond w count as w

Model 1, which is uniform, needs no matrix: with z_j = sum over i of t(f_j | e_i) a cell is used
t(f | e) sum over links of weight / z_j.

Statistics of the place: kind 1: (NULLs, sum of h, then for each cell (m, n, j) the words that are not NULL); kind 2:
(NULLs, jumps -w .. w, then for each cell (n, i') the departures from i'). cells[p] is the pair's first cell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Words = NDArray[np.int32]
Steps = NDArray[np.uint16]

UNIFORM, DIAGONAL, JUMPS = 0, 1, 2
GONE = 1e-100  # a source word that is used less is not used
WHOLE = 1 - 1e-9  # a row that sums to less is not made of counts
LOW = 1e-200  # probabilities of a target word that are all lower are scaled up: products would underflow
LIFT = 2.0**600
MOST = 1e300  # by which a chance is multiplied

SPAN_BITS = 24  # of a span that hold its length
SHORT = 1 << 16  # cells of a row that 16 bits can tell apart
Allowed = NDArray[np.uint8]


class _Opened(NamedTuple):
    """The chances of a pair, (n + 1, m), and the log of what low ones were lifted by."""

    chance: Floats
    lifted: float


def _each(null: bool, pairs: Ints, allowed: Allowed, chance: Floats) -> Iterator[_Opened]:
    """Yield the translation probabilities of each pair, 0 where a link is impossible: a copy."""
    for _, n, _, m, at in pairs.tolist():
        inside = slice(at, at + (n + 1) * m)
        own = chance[inside].reshape(n + 1, m).copy()
        if not null:
            own[0] = 0.0
        if len(allowed):
            own[allowed[inside].reshape(n + 1, m) == 0] = 0.0
        low = own.max(axis=0) < LOW
        own[:, low] *= LIFT
        yield _Opened(own, float(low.sum() * np.log(LIFT)))


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


def links_posterior(
    kind: int,
    null: bool,
    pairs: Ints,  # (P, 5)  in
    cells: Ints,  # (P,)  in
    allowed: Allowed,  # in, (n + 1, m) of every pair: 0 where a link cannot be; or empty
    place: Floats,  # in
    weight: Floats,  # (P,)  in
    chance: Floats,  # in, out: (n + 1, m) of every pair
    stats: Floats,  # added to, or empty
    log_evidence: Floats,  # (P,)  out
) -> None:
    """chance[(i, j) of p] = weight[p] p(link (i, j) | pair p)."""
    into = stats if len(stats) else None
    for p, (own, lifted) in enumerate(_each(null, pairs, allowed, chance)):
        post, found = _posterior(kind, own, place, null, weight[p], int(cells[p]), into)
        log_evidence[p] = found - lifted
        chance[pairs[p, 4] : pairs[p, 4] + post.size] = weight[p] * post.ravel()


def links_agree(
    kind: int,
    null: bool,
    pairs: Ints,
    cells: Ints,
    allowed: Allowed,
    place: Floats,
    back_pairs: Ints,  # the same of the other direction
    back_cells: Ints,
    back_allowed: Allowed,
    back_place: Floats,
    weight: Floats,  # (P,)  in
    chance: Floats,  # in, out
    stats: Floats,  # added to
    back_chance: Floats,  # in, out
    back_stats: Floats,  # added to
    log_evidence: Floats,  # (P,)  out, the sum of both directions
) -> None:
    """Both directions count every link by the product of their posteriors; residual posterior mass goes to NULL."""
    ahead = _each(null, pairs, allowed, chance)
    back = _each(null, back_pairs, back_allowed, back_chance)
    into, back_into = (one if len(one) else None for one in (stats, back_stats))
    for p, (one, two) in enumerate(zip(ahead, back, strict=True)):
        post, first = _posterior(kind, one.chance, place, null, weight[p], int(cells[p]), into)
        other, second = _posterior(kind, two.chance, back_place, null, weight[p], int(back_cells[p]), back_into)
        log_evidence[p] = (first - one.lifted) + (second - two.lifted)
        both = post[1:] * other[1:].T
        for at, agreed, out in ((pairs[p, 4], both, chance), (back_pairs[p, 4], both.T, back_chance)):
            rest = np.maximum(1 - agreed.sum(axis=0), 0.0) * np.isfinite(log_evidence[p])
            used = weight[p] * np.concatenate([rest, agreed.ravel()])
            out[at : at + used.size] = used


def links_best(
    kind: int,
    null: bool,
    pairs: Ints,
    cells: Ints,
    allowed: Allowed,
    place: Floats,
    chance: Floats,  # in
    chosen: Words,  # out, the source word of every target word of the pairs; 0 is NULL
    log_joint: Floats,  # (P,)  out
) -> None:
    """The most probable links of every pair; the first source word among equals, NULL last."""
    at = 0
    for p, (own, lifted) in enumerate(_each(null, pairs, allowed, chance)):
        n, m = own.shape[0] - 1, own.shape[1]
        if kind == JUMPS:
            found, log_joint[p] = _best_way(own, place)
        else:
            joint = own * _places(kind, place, n, m, null)
            found = (np.roll(joint, -1, axis=0).argmax(axis=0) + 1) % (n + 1)
            with np.errstate(divide="ignore"):
                log_joint[p] = np.log(joint.max(axis=0)).sum()
        log_joint[p] -= lifted
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
    allowed: Allowed,
    place: Floats,
    chance: Floats,  # in
    uniforms: Floats,  # in, one for every target word of the pairs
    chosen: Words,  # out
    log_evidence: Floats,  # (P,)  out
) -> None:
    """Links of every pair drawn from their posterior."""
    at = 0
    for p, (one, lifted) in enumerate(_each(null, pairs, allowed, chance)):
        n, m = one.shape[0] - 1, one.shape[1]
        own = uniforms[at : at + m]
        if kind == JUMPS:
            found, log_evidence[p] = _drawn_way(one, place, own)
        else:
            joint = np.cumsum(one * _places(kind, place, n, m, null), axis=0)
            found = (own * joint[-1] >= joint[:-1]).sum(axis=0)
            with np.errstate(divide="ignore"):
                log_evidence[p] = np.log(joint[-1]).sum()
        log_evidence[p] -= lifted
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


def links_draws(
    kind: int,
    null: bool,
    pairs: Ints,
    cells: Ints,
    allowed: Allowed,
    place: Floats,
    chance: Floats,  # in
    times: Ints,  # (P,)  in, how many links to draw of each pair
    each: Floats,  # (P,)  in, what each of them counts as
    spread: Callable[[Ints, Floats], Ints],  # multinomial draws: counts (...) over ways with chances (..., K)
    usage: Floats,  # added to: uses of links, shaped as `chance`
    stats: Floats,  # added to: statistics of places
) -> None:
    """Draw the links of every pair many times at once."""
    for p, (one, _) in enumerate(_each(null, pairs, allowed, chance)):
        n, m, at = one.shape[0] - 1, one.shape[1], int(pairs[p, 4])
        if kind == JUMPS:
            counts, moved = _drawn_ways(one, place, int(times[p]), spread)
        else:
            counts = spread(np.full(m, times[p]), (one * _places(kind, place, n, m, null)).T).T
        used = counts * each[p]
        usage[at : at + (n + 1) * m] += used.ravel()
        if kind != UNIFORM:
            stats[0] += used[0].sum()
        if kind == DIAGONAL:
            off = np.abs(np.arange(1, n + 1)[:, None] / n - np.arange(1, m + 1) / m)
            stats[1] -= (used[1:] * off).sum()
            stats[2 + cells[p] : 2 + cells[p] + m] += used[1:].sum(axis=0)
        elif kind == JUMPS:
            n_jumps = len(place) - 1
            before, after = np.indices(moved.shape)
            jump = np.clip(after + 1 - before, -(n_jumps // 2), n_jumps // 2) + n_jumps // 2
            stats[1 : 1 + n_jumps] += np.bincount(jump.ravel(), (moved * each[p]).ravel(), minlength=n_jumps)
            first = 1 + n_jumps + int(cells[p])
            stats[first : first + n + 1] += moved.sum(axis=1) * each[p]


def _drawn_ways(chance: Floats, place: Floats, times: int, spread: Callable[[Ints, Floats], Ints]) -> tuple[Ints, Ints]:
    """Draw many ways backwards: return uses of links (n + 1, m), and moves from word i, 0 none, to word w + 1.

    What is known of the words before place j groups the ways: nothing, at the end; that the last one is word s, after
    a NULL; or that word w + 1 follows.
    """
    n, m = chance.shape[0] - 1, chance.shape[1]
    moves, _ = _moves(place, n)
    words, nulls, _ = _forward(chance, moves, place[0])
    counts, moved = np.zeros((n + 1, m), dtype=np.int64), np.zeros((n + 1, n), dtype=np.int64)
    into = np.concatenate([np.ones((1, n + 1)), np.eye(n + 1), moves.T])  # by group: how probable what follows is
    groups = np.zeros(len(into), dtype=np.int64)
    groups[0] = times
    for j in range(m - 1, -1, -1):
        drawn = spread(groups, np.concatenate([nulls[j] * into, words[j] * into], axis=1))
        stay, new = drawn[:, : n + 1], drawn[:, n + 1 :]
        moved += (stay + new)[n + 2 :].T
        counts[0, j], counts[1:, j] = stay.sum(), new.sum(axis=0)[1:]
        groups = np.concatenate([[0], stay.sum(axis=0), new.sum(axis=0)[1:]])
    moved[0] += groups[n + 2 :]
    return counts, moved


# ---- the lexicon -----------------------------------------------------------------------------------------------------


class _Occurrence(NamedTuple):
    """One occurrence of a source word: the cells of its links, and where their values are."""

    cells: Ints
    inside: slice


def _standing(
    firsts: Ints,
    columns: Words,
    ends: Ints,
    spans: Ints,
    places: Ints,
    target: Words,
    words: range,
) -> Iterator[_Occurrence]:
    for e in words:
        row = columns[firsts[e] : firsts[e + 1]]
        for lane in ends:
            for o in range(lane[e], lane[e + 1]):
                first, m = int(spans[o]) >> SPAN_BITS, int(spans[o]) & ((1 << SPAN_BITS) - 1)
                begin = int(places[o]) if len(places) else first
                cells = firsts[e] + np.searchsorted(row, target[first : first + m])
                yield _Occurrence(cells, slice(begin, begin + m))


def links_chances(
    firsts: Ints,  # (V + 1,)  in
    columns: Words,  # (S,)  in
    ends: Ints,  # (L, V + 1)  in
    spans: Ints,  # (O,)  in
    places: Ints,  # (O,)  in
    step_ends: Ints,  # (L, V + 1)  in
    steps: Steps,  # in, or empty; here cells are looked up instead
    target: Words,  # in
    n_target: int,
    begin: int,  # of the source words
    end: int,
    table: Floats,  # (S,)  in
    chance: Floats,  # out, the rows of these source words
) -> None:
    """chance[link] = table[cell of the link]."""
    for cells, inside in _standing(firsts, columns, ends, spans, places, target, range(begin, end)):
        chance[inside] = table[cells]


def links_counts(
    firsts: Ints,
    columns: Words,
    ends: Ints,
    spans: Ints,
    places: Ints,
    step_ends: Ints,
    steps: Steps,
    target: Words,
    n_target: int,
    begin: int,
    end: int,
    usage: Floats,  # in, like chance
    counts: Floats,  # (S,)  added to, the cells of these source words
) -> None:
    """counts[cell of the link] += usage[link]."""
    for cells, inside in _standing(firsts, columns, ends, spans, places, target, range(begin, end)):
        np.add.at(counts, cells, usage[inside])


def links_sums(
    firsts: Ints,
    columns: Words,
    ends: Ints,
    spans: Ints,
    places: Ints,  # empty: values lie as the target words do
    step_ends: Ints,
    steps: Steps,
    target: Words,
    n_target: int,
    begin: int,
    end: int,
    table: Floats,  # (S,)  in
    sums: Floats,  # (N,)  added to, one for each target word
) -> None:
    """sums[j] += sum over the source words beside target word j, of these, of t(f_j | e)."""
    for cells, inside in _standing(firsts, columns, ends, spans, places, target, range(begin, end)):
        sums[inside] += table[cells]


def links_uniform(
    null: bool,
    pairs: Ints,  # (P, 5)  in
    weight: Floats,  # (P,)  in
    sums: Floats,  # (N,)  in, out
    log_evidence: Floats,  # (P,)  out
) -> None:
    """Log-evidence of every pair under Model 1; then sums[j] = weight[p] / z_j."""
    for p, (_, n, t, m, _) in enumerate(pairs.tolist()):
        total = sums[t : t + m].copy()
        with np.errstate(divide="ignore"):
            log_evidence[p] = np.log(total).sum() - m * np.log(n + null)
        possible = np.isfinite(log_evidence[p])
        with np.errstate(over="ignore"):
            sums[t : t + m] = np.minimum(weight[p] / total, MOST) if possible else 0.0


def links_shares(
    firsts: Ints,
    columns: Words,
    ends: Ints,
    spans: Ints,
    places: Ints,
    step_ends: Ints,
    steps: Steps,
    target: Words,
    n_target: int,
    begin: int,
    end: int,
    table: Floats,  # (S,)  in
    shares: Floats,  # (N,)  in
    counts: Floats,  # (S,)  out, the cells of these source words
) -> None:
    """counts[s] = table[s] * sum over the links of s of shares[j]."""
    counts[firsts[begin] : firsts[end]] = 0.0
    for cells, inside in _standing(firsts, columns, ends, spans, places, target, range(begin, end)):
        np.add.at(counts, cells, table[cells] * shares[inside])


def links_divide(
    firsts: Ints,  # (V + 1,)  in
    begin: int,  # of the source words
    end: int,
    before: Floats,  # (S,)  in
    counts: Floats,  # (S,)  in
    table: Floats,  # (S,)  out; may be `counts`
) -> None:
    """table[s] = counts[s] / sum over the row of s; what was `before` in a row without counts.

    Before the first counts all target words are alike, also those without a cell: then it is made to sum to one.
    """
    for e in range(begin, end):
        row = slice(firsts[e], firsts[e + 1])
        total = counts[row].sum()
        if total > GONE:
            table[row] = counts[row] * (1 / total)
        else:
            total = before[row].sum()
            table[row] = before[row] * (1 / total) if GONE < total < WHOLE else before[row]


def links_find(
    null: bool,
    pairs: Ints,  # (P, 5)  in
    source: Words,  # in
    ends: Ints,  # (V + 1,)  out
    spans: Ints,  # (O,)  out
    places: Ints,  # (O,)  out, or empty
) -> None:
    """Occurrences of each source word, in the order of the pairs; NULL in every pair."""
    _, n, t, m, at = pairs.T
    own = np.repeat(np.arange(len(pairs)), n + null)
    i = np.arange(len(own)) - np.repeat(np.cumsum(n + null) - (n + null), n + null) + (not null)
    words = np.where(i == 0, 0, source[np.minimum(pairs[own, 0] + np.maximum(i - 1, 0), len(source) - 1)])
    order = np.argsort(words, kind="stable")
    ends[:] = np.concatenate([[0], np.cumsum(np.bincount(words, minlength=len(ends) - 1))])
    spans[:] = ((t << SPAN_BITS) + m)[own[order]]
    if len(places):
        places[:] = (at[own] + i * m[own])[order]


def links_steps(
    firsts: Ints,
    columns: Words,
    ends: Ints,
    spans: Ints,
    places: Ints,
    step_ends: Ints,
    steps: Steps,  # empty
    target: Words,
    n_target: int,
    begin: int,
    end: int,
    out: Steps,  # those of these source words
) -> None:
    """out[step_ends[l, e] ...] = which cells of its row the links of e are, lane by lane."""
    for e in range(begin, end):
        if firsts[e + 1] - firsts[e] > SHORT:
            continue
        for lane, place in zip(ends, step_ends, strict=True):
            at = int(place[e])
            for cells, _ in _standing(firsts, columns, lane[None], spans, places, target, range(e, e + 1)):
                out[at : at + len(cells)] = cells - firsts[e]
                at += len(cells)


def links_rows(
    pairs: Ints,  # (P, 5)  in
    source: Words,  # in
    target: Words,  # in
    n_target: int,
    firsts: Ints,  # (V + 1,)  in where `columns` is not empty; else out: firsts[e + 1] is the size of row e
    columns: Words,  # (S,) out, or empty
) -> None:
    """columns[firsts[e] .. firsts[e + 1]] = the target words that co-occur with source word e, ascending."""
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


def links_turn(
    firsts: Ints,  # (V + 1,)  in
    begin: int,  # of the source words
    end: int,
    number: Words,  # in
    columns: Words,  # (S,)  in
    table: Floats,  # (S,)  in
    turned_columns: Words,  # (S,)  out
    turned_table: Floats,  # (S,)  out
) -> None:
    """The same lexicon where target word f is called number[f]; its rows ascend again."""
    for e in range(begin, end):
        row = slice(firsts[e], firsts[e + 1])
        order = np.argsort(number[columns[row]])
        turned_columns[row] = number[columns[row]][order]
        turned_table[row] = table[row][order]
