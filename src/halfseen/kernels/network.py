"""The kernels of Bayesian networks in plain NumPy: sums over the unobserved variables of many small components.

A *case* is a component of a row: unobserved variables with what was observed around them. Cases of one component are
adjacent and summed over in the same way, bucket by bucket (see `structures.elimination`).

=========  =====================================================================================================
schemes    (P, 6): first case, number of cases, first base, number of families, first bucket, number of buckets
buckets    (B, 6): states sent, states summed over, first factor, number of factors, first entry, first message
factors    (Q, 3): family (-1: a message), first message, first place in `local`
local      (L,): for each entry of a bucket what it adds to the cell of a family, or the place in a message
base       (A,): for each case and family the first cell that the observed members lead to
=========  =====================================================================================================

entry[e]     = product over factors of table[base[f] + local[e]] or message[local[e]]
message[s]   = sum over the entries that send s
usage[e]     = entry[e] / message[s] * usage of message[s];   the last bucket sends one sum, used `weight` times
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Shorts = NDArray[np.int32]

BLOCK = 1 << 21  # numbers in the entries of a block of cases: 16 MB


class _Block(NamedTuple):
    """Some cases of one scheme: (n, F) bases, the buckets, and which cases they are."""

    base: Ints
    buckets: list[_Bucket]
    cases: slice
    places: slice


class _Bucket(NamedTuple):
    n_sent: int
    n_summed: int
    factors: list[tuple[int, int, Shorts]]  # family or -1, bucket that sent the message, local


def network_soft(
    table: Floats,  # (S,)    in, probabilities
    schemes: Ints,  # (P, 6)  in
    buckets: Ints,  # (B, 6)  in
    factors: Ints,  # (Q, 3)  in
    local: Shorts,  # (L,)    in
    base: Shorts,  # (A,)    in
    weight: Floats,  # (N,)    in, how often each case is used
    room: Floats,  # (network_room,)  work
    counts: Floats,  # (S,)    added to: expected uses of each cell
    log_evidence: Floats,  # (N,)    out; NaN where numbers became too small: to be done again in logs
) -> None:
    """Sum over all states of every case; add up how often each cell is used."""
    with np.errstate(divide="ignore"):
        log_table = np.log(table)
    network_soft_log(log_table, schemes, buckets, factors, local, base, weight, counts, log_evidence)


def network_room(schemes: Ints, buckets: Ints) -> int:
    """Return how many numbers `network_soft` needs to work: entries, messages and their usage, of one case."""
    if not len(buckets):
        return 0
    entries = buckets[:, 4] + buckets[:, 0] * buckets[:, 1]
    messages = buckets[:, 5] + buckets[:, 0]
    return int(entries.max() + 2 * messages.max() + schemes[:, 5].max())


def network_soft_log(
    log_table: Floats,
    schemes: Ints,
    buckets: Ints,
    factors: Ints,
    local: Shorts,
    base: Shorts,
    weight: Floats,
    counts: Floats,
    log_evidence: Floats,
) -> None:
    """Do the same in logs throughout."""
    for block in _blocks(schemes, buckets, factors, local, base):
        entries, messages = _forward(log_table, block, np.logaddexp.reduce)
        log_evidence[block.cases] = messages[-1][:, 0]
        own = np.where(np.isfinite(messages[-1]), weight[block.cases, None], 0.0)
        usage = [np.zeros_like(message) for message in messages[:-1]] + [own]
        for b in reversed(range(len(block.buckets))):
            bucket = block.buckets[b]
            shape = (-1, bucket.n_sent, bucket.n_summed)
            low = np.where(np.isfinite(messages[b]), messages[b], 0.0)
            used = np.exp(entries[b].reshape(shape) - low[..., None]) * usage[b][..., None]
            _spread(used.reshape(len(used), -1), bucket, block.base, counts, usage)


def _spread(used: Floats, bucket: _Bucket, base: Ints, counts: Floats, usage: list[Floats]) -> None:
    """Add the usage of a bucket's entries to the cells and messages that they multiply."""
    for family, sender, places in bucket.factors:
        if family >= 0:
            cells = base[:, family, None] + places
            counts += np.bincount(cells.ravel(), used.ravel(), minlength=len(counts))
        else:
            width = usage[sender].shape[1]
            rows = np.arange(len(used))[:, None] * width + places
            usage[sender] += np.bincount(rows.ravel(), used.ravel(), minlength=usage[sender].size).reshape(-1, width)


def network_best(
    log_table: Floats,
    schemes: Ints,
    buckets: Ints,
    factors: Ints,
    local: Shorts,
    base: Shorts,
    cells: Ints,  # (A,)  out: the cell of each family in the best state of each case
    log_evidence: Floats,  # (N,)  out: log-probability of that state
) -> None:
    """Find the most probable joint state of every case: maxima instead of sums, then back from the last bucket."""
    for block in _blocks(schemes, buckets, factors, local, base):
        entries, messages = _forward(log_table, block, np.maximum.reduce)
        log_evidence[block.cases] = messages[-1][:, 0]

        def choose(b: int, own: Floats) -> Ints:
            return own.argmax(axis=1)

        cells[block.places] = _traced(block, entries, choose).ravel()


def network_draw(
    log_table: Floats,
    schemes: Ints,
    buckets: Ints,
    factors: Ints,
    local: Shorts,
    base: Shorts,
    uniforms: Floats,  # (N, most buckets)  in
    cells: Ints,  # (A,)  out: the cell of each family in the state drawn for each case
    log_evidence: Floats,  # (N,)  out
) -> None:
    """Draw a joint state of every case, back from the last bucket."""
    for block in _blocks(schemes, buckets, factors, local, base):
        entries, messages = _forward(log_table, block, np.logaddexp.reduce)
        log_evidence[block.cases] = messages[-1][:, 0]
        chance = uniforms[block.cases]

        def choose(b: int, own: Floats, chance: Floats = chance) -> Ints:
            high = own.max(axis=1, keepdims=True)
            total = np.cumsum(np.exp(own - np.where(np.isfinite(high), high, 0.0)), axis=1)
            return (chance[:, b, None] * total[:, -1:] >= total[:, :-1]).sum(axis=1)

        cells[block.places] = _traced(block, entries, choose).ravel()


def network_draws(
    log_table: Floats,
    schemes: Ints,
    buckets: Ints,
    factors: Ints,
    local: Shorts,
    base: Shorts,
    times: Ints,  # (N,)  in, how many joint states to draw of each case
    each: Floats,  # (N,)  in, what each of them counts as
    spread: Callable[[Ints, Floats], Ints],  # multinomial draws: counts (...) over ways with chances (..., K)
    counts: Floats,  # (S,)  added to
) -> None:
    """Draw many joint states of every case at once: those that send the same are spread over what was summed over."""
    for block in _blocks(schemes, buckets, factors, local, base):
        entries, messages = _forward(log_table, block, np.logaddexp.reduce)
        reached = [np.zeros(message.shape, dtype=np.int64) for message in messages]
        reached[-1] += times[block.cases, None]
        for b in reversed(range(len(block.buckets))):
            bucket = block.buckets[b]
            shape = (-1, bucket.n_sent, bucket.n_summed)
            low = np.where(np.isfinite(messages[b]), messages[b], 0.0)
            drawn = spread(reached[b], np.exp(entries[b].reshape(shape) - low[..., None])).reshape(len(low), -1)
            for family, sender, places in bucket.factors:
                if family >= 0:
                    used = drawn * each[block.cases, None]
                    cells = block.base[:, family, None] + places
                    counts += np.bincount(cells.ravel(), used.ravel(), minlength=len(counts))
                else:
                    rows = np.broadcast_to(np.arange(len(drawn))[:, None], drawn.shape)
                    np.add.at(reached[sender], (rows, np.broadcast_to(places, drawn.shape)), drawn)


def _forward(log_table: Floats, block: _Block, add_up: Callable[..., Floats]) -> tuple[list[Floats], list[Floats]]:
    """Return entries (n, E) and messages (n, S) of every bucket, in logs."""
    entries: list[Floats] = []
    messages: list[Floats] = []
    for bucket in block.buckets:
        logs = np.zeros((len(block.base), bucket.n_sent * bucket.n_summed))
        for family, sender, places in bucket.factors:
            logs += log_table[block.base[:, family, None] + places] if family >= 0 else messages[sender][:, places]
        entries.append(logs)
        messages.append(add_up(logs.reshape(-1, bucket.n_sent, bucket.n_summed), axis=2))
    return entries, messages


def _traced(block: _Block, entries: list[Floats], choose: Callable[[int, Floats], Ints]) -> Ints:
    """Return the cell of each family (n, F), choosing in each bucket among the entries that send what was chosen."""
    n = len(block.base)
    rows = np.arange(n)
    cells = np.zeros(block.base.shape, dtype=np.int64)
    sent: list[Ints] = [np.zeros(n, dtype=np.int64) for _ in block.buckets]
    for b in reversed(range(len(block.buckets))):
        bucket = block.buckets[b]
        own = entries[b].reshape(n, bucket.n_sent, bucket.n_summed)[rows, sent[b]]
        entry = sent[b] * bucket.n_summed + choose(b, own)
        for family, sender, places in bucket.factors:
            if family >= 0:
                cells[:, family] = block.base[:, family] + places[entry]
            else:
                sent[sender] = places[entry].astype(np.int64)
    return cells


def _blocks(schemes: Ints, buckets: Ints, factors: Ints, local: Shorts, base: Shorts) -> Iterator[_Block]:
    """Yield the cases of every scheme, in blocks whose entries fit into memory."""
    for first, n_cases, first_base, n_families, first_bucket, n_buckets in schemes.tolist():
        own = buckets[first_bucket : first_bucket + n_buckets]
        steps = _read_buckets(own, factors, local)
        bases = base[first_base : first_base + n_cases * n_families].reshape(n_cases, n_families).astype(np.int64)
        size = max(1, BLOCK // int((own[:, 0] * own[:, 1]).sum()))
        for start in range(0, n_cases, size):
            stop = min(start + size, n_cases)
            places = slice(first_base + start * n_families, first_base + stop * n_families)
            yield _Block(bases[start:stop], steps, slice(first + start, first + stop), places)


def _read_buckets(own: Ints, factors: Ints, local: Shorts) -> list[_Bucket]:
    sender = {int(first): b for b, first in enumerate(own[:, 5])}
    found = []
    for n_sent, n_summed, first, n_factors, _, _ in own.tolist():
        listed = [
            (family, sender[message] if family < 0 else -1, local[at : at + n_sent * n_summed])
            for family, message, at in factors[first : first + n_factors].tolist()
        ]
        found.append(_Bucket(n_sent, n_summed, listed))
    return found
