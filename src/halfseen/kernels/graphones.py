"""The kernels of joint units of letters and phones (graphones) in plain NumPy; `plain` offers them with the others.

A pair is a word of I letters and a pronunciation of J phones. Node (i, j) stands after i letters and j phones; the
nodes of pair b are rows ``firsts[b] ..`` of `units`, (0, 0) first and i before j. Step s makes ``steps[s]`` letters and
phones, and ``units[node, s]`` is the unit that it is on its way into that node, -1 where there is none. Unit 0 ends
every word; as a context it stands for the beginning. A segmentation is a way from node (0, 0) to node (I, J).

One unit at a time, order 1:      p(segmentation) = p(0) * prod over its units u of p(u)
With contexts, order n:           p(segmentation) = prod over its units u, and 0, of p(u | up to n - 1 units before u)

Contexts are nodes m of a tree, the empty one is 0. The children of m, ``children[m] .. children[m + 1]``, are the units
seen after it, sorted by `unit`. Other units are looked for in a shorter context, at a cost:

    log p(u | m) = log_p[child of m with u]                        where there is one
                 = log_back[m] + log p(u | shorter[m])             else

After unit u the context is the longest node that any unit follows. Two ways into a node with the same context go on
alike, and are added up or the better one is kept: so sums over segmentations are exact.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Codes = NDArray[np.int32]

END = 0  # the unit at the end of every word; as a context, its beginning


def _of_equal_size(sizes: Ints, firsts: Ints) -> Iterator[tuple[Ints, Ints, int]]:
    """Yield the pairs of each size: which they are, their nodes (pairs, nodes), and J + 1."""
    for n_letters, n_phones in np.unique(sizes, axis=0).tolist():
        own = np.flatnonzero((sizes == (n_letters, n_phones)).all(axis=1))
        yield own, firsts[own][:, None] + np.arange((n_letters + 1) * (n_phones + 1)), n_phones + 1


def _origin(node: int, step: Ints, width: int) -> int:
    """Return the node that a step into `node` comes from; -1 if it would lie outside."""
    i, j = node // width - int(step[0]), node % width - int(step[1])
    return -1 if i < 0 or j < 0 else i * width + j


def _arrivals(values: Floats, node: int, units: Codes, steps: Ints, logs: Floats, width: int) -> tuple[Floats, Ints]:
    """Return what each step brings into a node of some pairs, (pairs, S), and where it comes from, (S,)."""
    brought = np.full((len(values), len(steps)), -np.inf)
    origin = np.array([_origin(node, step, width) for step in steps])
    for s in np.flatnonzero(origin >= 0):
        there = units[:, s] >= 0
        brought[there, s] = values[there, origin[s]] + logs[units[there, s]]
    return brought, origin


def graphone_soft(
    sizes: Ints,  # (B, 2)  in, letters and phones
    firsts: Ints,  # (B + 1,)  in
    units: Codes,  # (nodes, S)  in
    steps: Ints,  # (S, 2)  in
    logs: Floats,  # (U,)  in
    weight: Floats,  # (B,)  in
    usage: Floats,  # (U,)  added to: expected uses of units
    log_evidence: Floats,  # (B,)  out: log of the sum over segmentations
) -> None:
    """Order 1, by forward-backward: a node's steps are used in proportion to what they bring."""
    for own, nodes, width in _of_equal_size(sizes, firsts):
        alpha, shares = np.full(nodes.shape, -np.inf), np.zeros((*nodes.shape, len(steps)))
        alpha[:, 0] = 0.0
        for node in range(1, nodes.shape[1]):
            brought, _ = _arrivals(alpha, node, units[nodes[:, node]], steps, logs, width)
            top = brought.max(axis=1)
            part = np.exp(brought - np.where(top > -np.inf, top, 0.0)[:, None])
            total = part.sum(axis=1)
            reached = total > 0
            alpha[reached, node] = top[reached] + np.log(total[reached])
            shares[reached, node] = part[reached] / total[reached, None]
        log_evidence[own] = alpha[:, -1] + logs[END]
        flow = np.zeros(nodes.shape)
        flow[:, -1] = np.where(log_evidence[own] > -np.inf, weight[own], 0.0)
        usage[END] += flow[:, -1].sum()
        for node in range(nodes.shape[1] - 1, 0, -1):
            for s, step in enumerate(steps):
                origin, there = _origin(node, step, width), units[nodes[:, node], s] >= 0
                if origin >= 0:
                    used = np.where(there, shares[:, node, s] * flow[:, node], 0.0)
                    flow[:, origin] += used
                    np.add.at(usage, units[nodes[there, node], s], used[there])


def graphone_hard(
    sizes: Ints,  # (B, 2)  in
    firsts: Ints,  # (B + 1,)  in
    units: Codes,  # (nodes, S)  in
    steps: Ints,  # (S, 2)  in
    logs: Floats,  # (U,)  in
    log_joint: Floats,  # (B,)  out: of the best segmentation
    taken: Codes,  # (nodes,)  out: its unit into each node; -1 elsewhere
) -> None:
    """Order 1, best segmentation; of equal ones that with the first step, from the end."""
    for own, nodes, width in _of_equal_size(sizes, firsts):
        best, by = np.full(nodes.shape, -np.inf), np.zeros(nodes.shape, dtype=np.int64)
        best[:, 0] = 0.0
        for node in range(1, nodes.shape[1]):
            brought, _ = _arrivals(best, node, units[nodes[:, node]], steps, logs, width)
            best[:, node], by[:, node] = brought.max(axis=1), brought.argmax(axis=1)
        log_joint[own] = best[:, -1] + logs[END]
        taken[nodes] = -1
        for b in np.flatnonzero(log_joint[own] > -np.inf):
            node = nodes.shape[1] - 1
            while node > 0:
                s = by[b, node]
                taken[nodes[b, node]] = units[nodes[b, node], s]
                node = _origin(node, steps[s], width)


class Tree(NamedTuple):
    """The arrays of contexts."""

    unit: Codes
    children: Ints
    log_p: Floats
    log_back: Floats
    shorter: Ints

    def child(self, node: int, unit: int) -> int:
        """Return the child of a node with a unit; -1: none."""
        first, last = int(self.children[node]), int(self.children[node + 1])
        found = first + int(np.searchsorted(self.unit[first:last], unit))
        return found if found < last and self.unit[found] == unit else -1

    def settled(self, node: int) -> int:
        """Return the longest context at the end of a node that any unit follows."""
        while self.children[node] == self.children[node + 1]:
            node = int(self.shorter[node])
        return node

    def start(self) -> int:
        """Return the context at the beginning of a word."""
        return self.settled(self.child(0, END))

    def step(self, node: int, unit: int) -> tuple[int, float]:
        """Return the context after a unit, and the unit's log-probability; -1 where no context has it."""
        log_p = 0.0
        while (found := self.child(node, unit)) < 0:
            if node == 0:
                return -1, -np.inf
            log_p += float(self.log_back[node])
            node = int(self.shorter[node])
        return found if unit == END else self.settled(found), log_p + float(self.log_p[found])


Arrived = dict[int, tuple[float, int, int]]  # context -> log-probability, step, context before


def _trellis(b: int, sizes: Ints, firsts: Ints, units: Codes, steps: Ints, tree: Tree, best: bool) -> list[Arrived]:
    """Return for every node of a pair the contexts in which it is reached, in their order."""
    width = int(sizes[b, 1]) + 1
    at: list[Arrived] = [{tree.start(): (0.0, 0, 0)}]
    for node in range(1, (int(sizes[b, 0]) + 1) * width):
        here: Arrived = {}
        for s, step in enumerate(steps):
            unit = int(units[firsts[b] + node, s])
            if unit < 0:
                continue
            for context, (before, _, _) in at[_origin(node, step, width)].items():
                following, log_p = tree.step(context, unit)
                if following < 0:
                    continue
                value, known = before + log_p, here.get(following)
                if known is None or (best and value > known[0]):
                    here[following] = (value, s, context)
                elif not best:
                    here[following] = (float(np.logaddexp(known[0], value)), *known[1:])
        at.append(dict(sorted(here.items())))
    return at


def ngram_sum(
    sizes: Ints,  # (B, 2)  in
    firsts: Ints,  # (B + 1,)  in
    units: Codes,  # (nodes, S)  in
    steps: Ints,  # (S, 2)  in
    unit: Codes,  # (M,)  in, and the other arrays of contexts
    children: Ints,  # (M + 1,)  in
    log_p: Floats,  # (M,)  in
    log_back: Floats,  # (M,)  in
    shorter: Ints,  # (M,)  in
    log_evidence: Floats,  # (B,)  out
) -> None:
    """Order n: the log of the sum over all segmentations of each pair."""
    tree = Tree(unit, children, log_p, log_back, shorter)
    for b in range(len(sizes)):
        last = _trellis(b, sizes, firsts, units, steps, tree, best=False)[-1]
        ends = [value + tree.step(context, END)[1] for context, (value, _, _) in last.items()]
        log_evidence[b] = np.logaddexp.reduce(ends) if ends else -np.inf


def ngram_best(
    sizes: Ints,  # (B, 2)  in
    firsts: Ints,  # (B + 1,)  in
    units: Codes,  # (nodes, S)  in
    steps: Ints,  # (S, 2)  in
    unit: Codes,  # (M,)  in, and the other arrays of contexts
    children: Ints,  # (M + 1,)  in
    log_p: Floats,  # (M,)  in
    log_back: Floats,  # (M,)  in
    shorter: Ints,  # (M,)  in
    log_joint: Floats,  # (B,)  out
    taken: Codes,  # (nodes,)  out: unit into each node of the best segmentation; -1 elsewhere
) -> None:
    """Order n: the best segmentation of each pair."""
    tree = Tree(unit, children, log_p, log_back, shorter)
    taken[:] = -1
    for b in range(len(sizes)):
        at = _trellis(b, sizes, firsts, units, steps, tree, best=True)
        ends = {context: value + tree.step(context, END)[1] for context, (value, _, _) in at[-1].items()}
        log_joint[b] = max(ends.values(), default=-np.inf)
        if not log_joint[b] > -np.inf:
            continue
        context, node = max(ends, key=lambda each: ends[each]), len(at) - 1
        while node > 0:
            _, s, context = at[node][context]
            taken[firsts[b] + node] = units[firsts[b] + node, s]
            node = _origin(node, steps[s], int(sizes[b, 1]) + 1)


Partials = dict[tuple[tuple[int, ...], int], float]  # phones so far and context -> log of the sum of the ways there


def _add(partials: Partials, key: tuple[tuple[int, ...], int], value: float) -> None:
    """Add the log-probability of one more way to a hypothesis."""
    partials[key] = float(np.logaddexp(partials[key], value)) if key in partials else value


def _pruned(partials: Partials, beam: int, order: dict[tuple[int, ...], int]) -> Partials:
    """Keep the best; of equal ones those whose phones, and then context, came first."""
    ranked = sorted(partials.items(), key=lambda item: (-item[1], order[item[0][0]], item[0][1]))
    return dict(ranked[:beam])


def ngram_search(
    unit: Codes,  # (M,)  in, and the other arrays of contexts
    children: Ints,  # (M + 1,)  in
    log_p: Floats,  # (M,)  in
    log_back: Floats,  # (M,)  in
    shorter: Ints,  # (M,)  in
    ranges: Ints,  # (Q, 2)  in, the units of each piece of letters: first, last + 1; piece 0 has no letters
    pieces: Ints,  # (I, L)  in, the piece of 1 .. L letters from letter i on; -1: it is in no unit
    phone_firsts: Ints,  # (U + 1,)  in, the phones of unit u are phones[phone_firsts[u]] .. phones[phone_firsts[u + 1]]
    phones: Codes,  # in
    beam: int,  # hypotheses kept after every letter
    inserted: int,  # most units without letters in a row
    log_joint: Floats,  # (R + 1,)  out: of word and pronunciation, best first; the last is the log of the sum of all
    found: Codes,  # (R, T)  out: the pronunciations, then -1
) -> int:
    """Beam search for the pronunciations of a word; return how many were found.

    A hypothesis is a sequence of phones and a context, after i letters; its probability is the sum over the
    segmentations that lead there and were not pruned. Two with the same phones and context are one.
    """
    tree = Tree(unit, children, log_p, log_back, shorter)
    order: dict[tuple[int, ...], int] = {(): 0}  # sequences of phones by when they were first seen

    def extended(sequence: tuple[int, ...], u: int) -> tuple[int, ...]:
        for phone in phones[phone_firsts[u] : phone_firsts[u + 1]].tolist():
            sequence = (*sequence, phone)
            order.setdefault(sequence, len(order))
        return sequence

    def expand(partials: Partials, piece: int, floor: float, out: Partials) -> None:
        for (sequence, context), value in partials.items():
            for u in range(*ranges[piece].tolist()):
                following, log_p = tree.step(context, u)
                if following >= 0 and value + log_p > floor:
                    _add(out, (extended(sequence, u), following), value + log_p)

    at: list[Partials] = [{((), tree.start()): 0.0}, *({} for _ in pieces)]
    for i in range(len(at)):
        at[i] = layer = _pruned(at[i], beam, order)
        for _ in range(inserted):
            floor = -np.inf if len(at[i]) < beam else min(at[i].values())
            following: Partials = {}
            expand(layer, 0, floor, following)
            layer = _pruned(following, beam, order)
            both = dict(at[i])
            for key, value in layer.items():
                _add(both, key, value)
            at[i] = _pruned(both, beam, order)
        for k, piece in enumerate(pieces[i].tolist() if i < len(pieces) else []):
            if piece >= 0:
                expand(at[i], piece, -np.inf, at[i + k + 1])
    done: Partials = {}
    for (sequence, context), value in at[-1].items():
        last, log_end = tree.step(context, END)
        if last >= 0:
            _add(done, (sequence, 0), value + log_end)
    log_joint[-1] = np.logaddexp.reduce(list(done.values())) if done else -np.inf
    kept = list(_pruned(done, len(found), order).items())
    for n, ((sequence, _), value) in enumerate(kept):
        log_joint[n] = value
        found[n] = -1
        found[n, : len(sequence)] = sequence[: found.shape[1]]
    return len(kept)
