"""Inside-outside over sentences, in logs throughout: the formulas, the fallback, and the kernel for extreme values.

For words i .. j - 1 of a sentence, symbols a, b, c, binary forms a -> b c, unary forms a -> b, entries a -> word:

    base[i, j, a]   = sum over splits k and forms of p(a -> b c) * inside[i, k, b] * inside[k, j, c],
                      or p(a -> word) where j = i + 1
    inside[i, j, a] = base[i, j, a] + sum over unary forms of p(a -> b) * inside[i, j, b]
                    = sum over b of closure[a, b] * base[i, j, b],  closure = (I - U)^-1
    evidence        = inside[0, n, start]
    outside         = the gradient of log evidence in `inside`, closure included: the same sums from the top down
    count of a form = p * outside[parent] * product of inside[children]: what it adds to the gradient, times p

Arrays of a grammar are those of `structures.grammar.Forms` and `Slots`. Sentence s has the slots
tokens[ends[s]:ends[s + 1]]. `allowed` tells for each of its spans, row by row of an (n, n + 1) table from
allowed[allowed_first[s]] on, whether full symbols are possible there; allowed_first -1: everywhere. A derivation is a
list of forms from left to right, each before what is below it: binary forms, then unary ones (+ R), then entries
(+ R + U).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

Floats = NDArray[np.float64]

NEVER = -np.inf


class _Chart:
    """The arrays of a grammar and of one sentence, with the sums over its spans."""

    def __init__(self, log_table: Floats, log_closure: Floats, forms: tuple[Any, ...], slots: tuple[Any, ...]) -> None:
        self.log_table, self.log_closure = log_table, log_closure
        self.binary, self.first, self.by_parent, self.parent_first = forms[:4]
        self.unary, self.unary_first, self.unary_by_parent, self.stages, self.members = forms[4:9]
        self.n_full, self.n_symbols, self.start = forms[9].tolist()
        self.slot_first, self.entries = slots
        self.log_binary = log_table[self.binary[:, 3]]
        self.by_left = self.binary[self.by_parent]
        self.parents, self.parent_starts = np.unique(self.by_left[:, 2], return_index=True)

    def open(self, tokens: Any, allowed: Any) -> None:
        """Make the chart of one sentence empty."""
        self.tokens, self.n = tokens, len(tokens)
        self.allowed = None if allowed is None else allowed.reshape(self.n, self.n + 1)
        self.inside = np.full((self.n, self.n + 1, self.n_symbols), NEVER)

    def spans(self) -> Iterator[tuple[int, int]]:
        """Yield all spans, the short ones first."""
        for width in range(1, self.n + 1):
            for i in range(self.n - width + 1):
                yield i, i + width

    def barred(self, i: int, j: int) -> bool:
        """Whether full symbols may not stand over a span."""
        return self.allowed is not None and not self.allowed[i, j]

    def own_entries(self, i: int) -> range:
        """Return the entries of the slot at a place."""
        return range(int(self.slot_first[self.tokens[i]]), int(self.slot_first[self.tokens[i] + 1]))

    def terms(self, i: int, j: int, forms: Any = slice(None)) -> Floats:
        """Return the logs of what each split and form adds, (splits, forms)."""
        left, right = self.binary[forms, 0], self.binary[forms, 1]
        return self.inside[i, i + 1 : j][:, left] + self.inside[i + 1 : j, j][:, right] + self.log_binary[forms]

    def members_of(self, stage: list[int]) -> tuple[Any, Floats]:
        """Return the members of a stage that reaches itself, and the logs of its closure."""
        _, _, _, member, size, entry = stage
        return self.members[member : member + size], self.log_closure[entry : entry + size * size].reshape(size, size)

    def close(self, value: Floats) -> None:
        """Add the contributions of unary forms, stage by stage."""
        for stage in self.stages.tolist():
            for parent, child, cell in self.unary[stage[0] : stage[0] + stage[1]].tolist():
                value[parent] = np.logaddexp(value[parent], self.log_table[cell] + value[child])
            if stage[4]:
                own, closure = self.members_of(stage)
                value[own] = _total(closure + value[own], axis=1)

    def fill(self) -> float:
        """Sum from the words up; return the log-evidence."""
        for i, j in self.spans():
            value = self.inside[i, j]
            if j == i + 1:
                for e in self.own_entries(i):
                    symbol, cell = self.entries[e].tolist()
                    value[symbol] = np.logaddexp(value[symbol], self.log_table[cell])
            elif len(self.binary):
                each = _total(self.terms(i, j, self.by_parent), axis=0)
                value[self.parents] = np.logaddexp.reduceat(each, self.parent_starts)
            if self.barred(i, j):
                value[: self.n_full] = NEVER
            else:
                self.close(value)
        return float(self.inside[0, self.n, self.start])

    def add_expected(self, log_weight: float, counts: Floats) -> None:
        """Add the expected uses of all cells, times the weight."""
        outside = np.full_like(self.inside, NEVER)
        outside[0, self.n, self.start] = log_weight - self.inside[0, self.n, self.start]
        for i, j in reversed(list(self.spans())):
            above, value = outside[i, j], self.inside[i, j]
            if self.barred(i, j):
                above[: self.n_full] = NEVER
            self._open_up(above)
            for parent, child, cell in self.unary.tolist():
                counts[cell] += np.exp(self.log_table[cell] + above[parent] + value[child])
            if j == i + 1:
                for e in self.own_entries(i):
                    symbol, cell = self.entries[e].tolist()
                    counts[cell] += np.exp(self.log_table[cell] + above[symbol])
            elif len(self.binary):
                self._hand_down(outside, i, j, counts)

    def _open_up(self, above: Floats) -> None:
        """Turn the gradient in `inside` into the one in `base`: the closure from above."""
        for stage in reversed(self.stages.tolist()):
            if stage[4]:
                own, closure = self.members_of(stage)
                above[own] = _total(closure.T + above[own], axis=1)
            for parent, child, cell in self.unary[stage[0] : stage[0] + stage[1]].tolist():
                above[child] = np.logaddexp(above[child], self.log_table[cell] + above[parent])

    def _hand_down(self, outside: Floats, i: int, j: int, counts: Floats) -> None:
        left, right, parent, cell = self.binary.T
        each = self.terms(i, j) + outside[i, j, parent]
        used = np.flatnonzero((each > NEVER).any(axis=0))
        np.add.at(counts, cell[used], np.exp(each[:, used]).sum(axis=0))
        shared = self.log_binary[used] + outside[i, j, parent[used]]
        for k in range(i + 1, j):
            np.logaddexp.at(outside[i, k], left[used], shared + self.inside[k, j, right[used]])
            np.logaddexp.at(outside[k, j], right[used], shared + self.inside[i, k, left[used]])

    # ---- the best derivation -------------------------------------------------------------------------------------

    def fill_best(self) -> float:
        """Take the best from the words up, and record which form it was; return the log of the best."""
        shape = self.inside.shape
        self.form, self.split = np.full(shape, -1), np.zeros(shape, dtype=np.int64)
        for i, j in self.spans():
            value = self.inside[i, j]
            if j == i + 1:
                for e in self.own_entries(i):
                    symbol, cell = self.entries[e].tolist()
                    self._take(i, j, symbol, self.log_table[cell], len(self.binary) + len(self.unary) + e)
            else:
                self._take_binary(i, j)
            if self.barred(i, j):
                value[: self.n_full] = NEVER
            else:
                self._take_unary(i, j)
        return float(self.inside[0, self.n, self.start])

    def _take(self, i: int, j: int, symbol: int, log_probability: float, form: int, split: int = 0) -> bool:
        better = log_probability > self.inside[i, j, symbol]
        if better:
            self.inside[i, j, symbol], self.form[i, j, symbol] = log_probability, form
            self.split[i, j, symbol] = split
        return bool(better)

    def _take_binary(self, i: int, j: int) -> None:
        for parent, start in zip(self.parents.tolist(), self.parent_starts.tolist(), strict=True):
            forms = self.by_parent[start : int(self.parent_first[parent + 1])]
            each = self.terms(i, j, forms)
            k, r = np.unravel_index(int(each.argmax()), each.shape)
            self._take(i, j, parent, float(each[k, r]), int(forms[r]), i + 1 + int(k))

    def _take_unary(self, i: int, j: int) -> None:
        for first, n_cross, n_inside, *_ in self.stages.tolist():
            forms = range(first, first + n_cross)
            inside = range(first + n_cross, first + n_cross + n_inside)
            self._relax(i, j, forms)
            while self._relax(i, j, inside):
                pass

    def _relax(self, i: int, j: int, forms: range) -> bool:
        changed = False
        for u in forms:
            parent, child, cell = self.unary[u].tolist()
            found = self.log_table[cell] + self.inside[i, j, child]
            changed |= self._take(i, j, parent, found, len(self.binary) + u)
        return changed

    def best_steps(self) -> Iterator[int]:
        """Yield the forms of the best derivation."""
        waiting = [(0, self.n, self.start)]
        while waiting:
            i, j, symbol = waiting.pop()
            form, k = int(self.form[i, j, symbol]), int(self.split[i, j, symbol])
            yield form
            if form < len(self.binary):
                left, right = self.binary[form, :2].tolist()
                waiting += [(k, j, right), (i, k, left)]
            elif form < len(self.binary) + len(self.unary):
                waiting.append((i, j, int(self.unary[form - len(self.binary), 1])))

    # ---- drawn derivations ---------------------------------------------------------------------------------------

    def drawn_steps(self, uniforms: Floats) -> Iterator[int]:
        """Yield the forms of a derivation drawn from its posterior; each node that is not unary takes one uniform."""
        waiting, node = [(0, self.n, self.start)], 0
        n_binary = len(self.binary)
        while waiting:
            i, j, symbol = waiting.pop()
            u, node = float(uniforms[node]), node + 1
            while True:
                ways = self.unary_by_parent[int(self.unary_first[symbol]) : int(self.unary_first[symbol + 1])]
                chains = self.log_table[self.unary[ways, 2]] + self.inside[i, j, self.unary[ways, 1]]
                own, logs = self._own(i, j, symbol)
                chosen, u = _pick(np.concatenate([chains, logs]) - self.inside[i, j, symbol], u)
                if chosen >= len(ways):
                    break
                yield n_binary + int(ways[chosen])
                symbol = int(self.unary[ways[chosen], 1])
            form, k = own[chosen - len(ways)]
            yield form
            if form < n_binary:
                left, right = self.binary[form, :2].tolist()
                waiting += [(k, j, right), (i, k, left)]

    def drawn_uses(self, times: int, spread: Any, n_steps: int) -> Any:
        """Return how often each form is used in so many derivations, drawn at once from the widest span down.

        Derivations that have a symbol over a span are spread over the ways to make it; a unary form leads back to a
        symbol over the same span.
        """
        n_binary, uses = len(self.binary), np.zeros(n_steps, dtype=np.int64)
        reached = np.zeros(self.inside.shape, dtype=np.int64)
        reached[0, self.n, self.start] = times
        for i, j in reversed(list(self.spans())):
            here = reached[i, j]
            while here.any():
                symbol = int(np.flatnonzero(here)[0])
                count, here[symbol] = here[symbol], 0
                ways = self.unary_by_parent[int(self.unary_first[symbol]) : int(self.unary_first[symbol + 1])]
                chains = self.log_table[self.unary[ways, 2]] + self.inside[i, j, self.unary[ways, 1]]
                own, logs = self._own(i, j, symbol)
                drawn = spread(count, np.exp(np.concatenate([chains, logs]) - self.inside[i, j, symbol]))
                np.add.at(uses, n_binary + ways, drawn[: len(ways)])
                np.add.at(here, self.unary[ways, 1], drawn[: len(ways)])
                for (form, k), used in zip(own, drawn[len(ways) :].tolist(), strict=True):
                    if not used:
                        continue
                    uses[form] += used
                    if form < n_binary:
                        left, right = self.binary[form, :2].tolist()
                        reached[i, k, left] += used
                        reached[k, j, right] += used
        return uses

    def _own(self, i: int, j: int, symbol: int) -> tuple[list[tuple[int, int]], Floats]:
        """Return the ways to make a symbol over a span without a unary form, (form, split), and their logs."""
        if j == i + 1:
            n_before = len(self.binary) + len(self.unary)
            mine = [e for e in self.own_entries(i) if self.entries[e, 0] == symbol]
            return [(n_before + e, 0) for e in mine], self.log_table[self.entries[mine, 1]]
        forms = self.by_parent[int(self.parent_first[symbol]) : int(self.parent_first[symbol + 1])]
        own = [(int(form), k) for k in range(i + 1, j) for form in forms]
        return own, self.terms(i, j, forms).ravel()


def _total(logs: Floats, axis: int) -> Floats:
    return logsumexp(logs, axis=axis)


def _pick(logs: Floats, u: float) -> tuple[int, float]:
    """Return which part of one a number in [0, 1) falls in, and where in it; parts are given by their logs."""
    below = np.cumsum(np.exp(logs))
    u = u * below[-1]
    chosen = min(int(np.searchsorted(below, u, side="right")), int(np.flatnonzero(np.isfinite(logs))[-1]))
    low = below[chosen - 1] if chosen else 0.0
    return chosen, min(max((u - low) / (below[chosen] - low), 0.0), 1.0 - 2.0**-53)


def _log(table: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        return np.log(table)


def _sentences(tokens: Any, ends: Any, allowed: Any, allowed_first: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the tokens of each sentence, and where its full symbols may stand."""
    for s in range(len(ends) - 1):
        own, first = tokens[ends[s] : ends[s + 1]], int(allowed_first[s])
        yield own, None if first < 0 else allowed[first : first + len(own) * (len(own) + 1)]


def tree_soft(
    table: Floats,  # (C + 1,)  in
    closure: Floats,
    *arrays: Any,  # 10 of the forms, 2 of the slots, tokens, ends, allowed, allowed_first, dense, weight
    # counts (C + 1,) added to, log_evidence (S,) out: NaN where nothing came out
) -> None:
    """Sum over all trees of each sentence; add expected uses of cells where the weight is above 0."""
    forms, slots, sentences, (_, weight, counts, log_evidence) = arrays[:10], arrays[10:12], arrays[12:16], arrays[16:]
    chart = _Chart(_log(table), _log(closure), forms, slots)
    for s, (tokens, allowed) in enumerate(_sentences(*sentences)):
        chart.open(tokens, allowed)
        log_evidence[s] = chart.fill()
        if np.isfinite(log_evidence[s]) and weight[s] > 0:
            chart.add_expected(float(np.log(weight[s])), counts)


def tree_parsable(
    table: Floats,  # (C + 1,)  in, 1 for what is possible, 0 for what is not
    closure: Floats,
    *arrays: Any,  # 10 of the forms, 2 of the slots, tokens, ends, allowed, allowed_first, dense; found (S,) out
) -> None:
    """Find which sentences have a tree."""
    forms, slots, sentences, found = arrays[:10], arrays[10:12], arrays[12:16], arrays[17]
    chart = _Chart(_log(table), _log(closure), forms, slots)
    for s, (tokens, allowed) in enumerate(_sentences(*sentences)):
        chart.open(tokens, allowed)
        found[s] = np.isfinite(chart.fill())


def tree_best(
    log_table: Floats,  # (C + 1,)  in
    *arrays: Any,  # 10 of the forms, 2 of the slots, tokens, ends, allowed, allowed_first, dense
    # steps out, step_ends (S + 1,) out, log_evidence (S,) out
) -> int:
    """Write the best derivation of each sentence; return how many steps there are, also those that did not fit."""
    forms, slots, sentences, (steps, step_ends, log_evidence) = arrays[:10], arrays[10:12], arrays[12:16], arrays[17:]
    chart, at = _Chart(log_table, np.zeros(0), forms, slots), 0
    step_ends[0] = 0
    for s, (tokens, allowed) in enumerate(_sentences(*sentences)):
        chart.open(tokens, allowed)
        log_evidence[s] = chart.fill_best()
        if np.isfinite(log_evidence[s]):
            at = _write(chart.best_steps(), steps, at)
        step_ends[s + 1] = at
    return at


def tree_draw(
    table: Floats,  # (C + 1,)  in
    closure: Floats,
    *arrays: Any,  # 10 of the forms, 2 of the slots, tokens, ends, allowed, allowed_first, dense, times (S,), uniforms
    # steps out, step_ends (sum of times + 1,) out, log_evidence (S,) out
) -> int:
    """Write derivations drawn from their posterior, times[s] for sentence s; return how many steps there are.

    A derivation of n words takes 2 n - 1 uniforms. One of an impossible sentence has no steps.
    """
    forms, slots, sentences = arrays[:10], arrays[10:12], arrays[12:16]
    times, uniforms, steps, step_ends, log_evidence = arrays[17:]
    chart, at, drawn, used = _Chart(_log(table), _log(closure), forms, slots), 0, 0, 0
    step_ends[0] = 0
    for s, (tokens, allowed) in enumerate(_sentences(*sentences)):
        chart.open(tokens, allowed)
        log_evidence[s] = chart.fill()
        for _ in range(int(times[s])):
            if np.isfinite(log_evidence[s]):
                at = _write(chart.drawn_steps(uniforms[used : used + 2 * chart.n - 1]), steps, at)
            drawn, used = drawn + 1, used + 2 * chart.n - 1
            step_ends[drawn] = at
    return at


def tree_draws(
    table: Floats,  # (C + 1,)  in
    closure: Floats,
    *arrays: Any,  # 10 of the forms, 2 of the slots, tokens, ends, allowed, allowed_first, dense, times (S,), each (S,)
    # spread: multinomial draws; uses (R + U + E,) added to: how often forms and entries are used
) -> None:
    """Draw times[s] derivations of sentence s at once, each of which counts as each[s]."""
    forms, slots, sentences, (times, each, spread, uses) = arrays[:10], arrays[10:12], arrays[12:16], arrays[17:]
    chart = _Chart(_log(table), _log(closure), forms, slots)
    for s, (tokens, allowed) in enumerate(_sentences(*sentences)):
        chart.open(tokens, allowed)
        if np.isfinite(chart.fill()):
            uses += each[s] * chart.drawn_uses(int(times[s]), spread, len(uses))


def _write(found: Iterator[int], steps: Any, at: int) -> int:
    for step in found:
        if at < len(steps):
            steps[at] = step
        at += 1
    return at
