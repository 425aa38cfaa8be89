"""Parse trees of sentences are hidden: probabilistic context-free grammars, by inside-outside.

    log_evidence[s] = log sum over trees of sentence s of prod over its nodes of p(rule)
    usage[rule]     = expected number of times that the rule is used

Charts over all spans sum over all trees at once: `kernels.tree` has the recursions. Spans that brackets rule out, and
symbols that a known tag rules out, are left out of the sums.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halfseen.assign import Assign
from halfseen.kernels import active as kernels
from halfseen.kernels import tree as in_logs
from halfseen.structures.draws import Draws, spread_by
from halfseen.structures.grammar import Grammar, Ints, Shorts, Slots
from halfseen.structures.structure import Floats, Inference

Bytes = NDArray[np.uint8]

EXACT = 2.0**53  # numbers of trees up to which sums of doubles are exact


@dataclass(frozen=True, eq=False)
class Sentences:
    """Sentences as the kernels read them.

    Attributes
    ----------
    grammar : Grammar
    slots : Slots                what may stand at a place
    tokens, ends :               the slots of all sentences, one sentence after the other, and where each ends
    allowed, allowed_first :     which spans full symbols may stand over: see `kernels.tree`
    """

    grammar: Grammar
    slots: Slots
    tokens: Shorts
    ends: Ints
    allowed: Bytes
    allowed_first: Ints

    def __len__(self) -> int:
        return len(self.ends) - 1

    @property
    def lengths(self) -> Ints:
        """Number of words of each sentence."""
        return np.diff(self.ends)

    @property
    def arrays(self) -> tuple[Any, ...]:
        """What every kernel takes."""
        own = (self.tokens, self.ends, self.allowed, self.allowed_first, self.grammar.is_dense)
        return (*self.grammar.forms, *self.slots, *own)

    def taken(self, chosen: Sequence[int] | Ints) -> Sentences:
        """Return some of the sentences, in the order given."""
        bounds = [(int(self.ends[s]), int(self.ends[s + 1])) for s in chosen]
        tokens = np.concatenate([np.zeros(0, np.int32), *(self.tokens[a:b] for a, b in bounds)]).astype(np.int32)
        ends = np.concatenate([[0], np.cumsum([b - a for a, b in bounds])]).astype(np.int64)
        parts, firsts, at = [np.zeros(0, np.uint8)], [], 0
        for s, (a, b) in zip(chosen, bounds, strict=True):
            first, size = int(self.allowed_first[s]), (b - a) * (b - a + 1)
            firsts.append(at if first >= 0 else -1)
            if first >= 0:
                parts.append(self.allowed[first : first + size])
                at += size
        allowed = np.concatenate(parts)
        return replace(self, tokens=tokens, ends=ends, allowed=allowed, allowed_first=np.array(firsts, dtype=np.int64))


@dataclass(frozen=True)
class Derivations:
    """Trees: part `rules` (1, C), the logs of the probabilities of all rules.

    Examples
    --------
    >>> import numpy as np
    >>> from halfseen.assign import SOFT
    >>> from halfseen.structures.trees import Word
    >>> grammar = Grammar.of("S", [("S", ("S", "S")), ("S", (Word("a"),))])
    >>> sentences = pack(grammar, [["a", "a", "a"]])
    >>> found = Derivations().infer({"rules": np.log([[0.4, 0.6]])}, np.ones((1, 1)), SOFT, data=sentences)
    >>> np.exp(found.log_evidence).round(6), found.usage["rules"].round(6)  # two trees
    (array([[0.06912]]), array([[2., 3.]]))
    """

    n_groups: int = 1

    @property
    def parts(self) -> tuple[str, ...]:
        """The rules."""
        return ("rules",)

    def infer(
        self,
        scores: Mapping[str, Floats],
        outer: Floats,
        assign: Assign,
        log_labels: Floats | None = None,
        data: Any = None,
    ) -> Inference:
        """Return the uses of all rules, and the log-evidence of every sentence."""
        log_table = np.append(scores["rules"][0], 0.0)
        if assign.beta != 1.0:
            log_table = log_table * assign.beta
        weight, digest = np.ravel(outer), 0
        if assign.mode == "soft":
            counts, log_evidence = soft(log_table, data, weight)
        elif assign.mode == "hard":
            steps, ends, log_evidence = best(log_table, data)
            digest = zlib.crc32(steps.tobytes())
            counts = counted(data, steps, ends, weight)
        else:
            assert assign.rng is not None, "sample mode needs a seeded generator"
            counts, log_evidence = drawn(log_table, data, weight, assign.draws, assign.rng)
        return Inference({"rules": counts[None, :-1]}, (log_evidence / assign.beta)[:, None], digest)


def pack(
    grammar: Grammar,
    sentences: Sequence[Sequence[str | None]],
    brackets: Sequence[Sequence[tuple[int, int]] | None] | None = None,
    tags: Sequence[Sequence[frozenset[str] | None] | None] | None = None,
) -> Sentences:
    """Return sentences for the kernels.

    Parameters
    ----------
    grammar : Grammar
    sentences : lists of words; None is a word that was not seen
    brackets : for each sentence spans (start, end) that no other span may cross, or None
    tags : for each sentence and word the symbols that may stand directly above it, or None
    """
    number: dict[tuple[str | None, frozenset[str] | None], int] = {}
    tokens, firsts, parts, at = [], [], [np.zeros(0, np.uint8)], 0
    for s, words in enumerate(sentences):
        own = None if tags is None else tags[s]
        for t, word in enumerate(words):
            tokens.append(number.setdefault((word, None if own is None else own[t]), len(number)))
        given = None if brackets is None else brackets[s]
        firsts.append(at if given else -1)
        if given:
            parts.append(uncrossed(len(words), given).ravel())
            at += parts[-1].size
    entries = [grammar.entries(*key) for key in number]
    slots = Slots(
        np.concatenate([[0], np.cumsum([len(own) for own in entries])]).astype(np.int64),
        np.array([one for own in entries for one in own], dtype=np.int32).reshape(-1, 2),
    )
    ends = np.concatenate([[0], np.cumsum([len(words) for words in sentences])]).astype(np.int64)
    return Sentences(
        grammar, slots, np.array(tokens, np.int32), ends, np.concatenate(parts), np.array(firsts, dtype=np.int64)
    )


def uncrossed(n: int, brackets: Sequence[tuple[int, int]]) -> Bytes:
    """Return which spans of n words cross none of the brackets, (n, n + 1).

    Examples
    --------
    >>> [(i, j) for i in range(3) for j in range(i + 1, 4) if not uncrossed(3, [(0, 2)])[i, j]]
    [(1, 3)]
    """
    start, end = np.arange(n)[:, None], np.arange(n + 1)[None]
    crossing = np.zeros((n, n + 1), dtype=bool)
    for a, b in brackets:
        crossing |= ((start < a) & (a < end) & (end < b)) | ((a < start) & (start < b) & (b < end))
    return (~crossing).astype(np.uint8)


def soft(log_table: Floats, data: Sentences, weight: Floats) -> tuple[Floats, Floats]:
    """Return expected uses of all cells, and the log-evidence of every sentence."""
    table, counts, log_evidence = np.exp(log_table), np.zeros(len(log_table)), np.empty(len(data))
    closure, weight = data.grammar.closure(table), np.ascontiguousarray(weight, dtype=np.float64)
    kernels.tree_soft(table, closure, *data.arrays, weight, counts, log_evidence)
    left = np.flatnonzero(np.isnan(log_evidence))
    if len(left):
        possible = parsable(table > 0, data.taken(left))
        log_evidence[left[~possible]] = -np.inf
        rescued = left[possible]
        evidence = np.empty(len(rescued))
        own = data.taken(rescued)
        in_logs.tree_soft(table, closure, *own.arrays, weight[rescued], counts, evidence)
        log_evidence[rescued] = evidence
    return counts, log_evidence


def parsable(possible: NDArray[np.bool_], data: Sentences) -> NDArray[np.bool_]:
    """Return which sentences have a tree of possible rules, (C + 1,)."""
    found = np.zeros(len(data), dtype=np.uint8)
    kernels.tree_parsable(possible.astype(np.float64), data.grammar.reach(possible), *data.arrays, found)
    return found.astype(bool)


def best(log_table: Floats, data: Sentences) -> tuple[Ints, Ints, Floats]:
    """Return the best derivation of each sentence, one after the other, where each ends, and its log-probability."""
    ends, log_evidence = np.zeros(len(data) + 1, dtype=np.int64), np.empty(len(data))
    size = 4 * int(data.ends[-1])
    while True:
        steps = np.empty(size, dtype=np.int64)
        size = int(kernels.tree_best(log_table, *data.arrays, steps, ends, log_evidence))
        if size <= len(steps):
            return steps[:size], ends, log_evidence


def draw(log_table: Floats, data: Sentences, times: Ints, rng: np.random.Generator) -> tuple[Ints, Ints, Floats]:
    """Return derivations drawn from their posterior, times[s] for sentence s, where each ends, and the log-evidence."""
    uniforms = rng.random(int((times * np.maximum(2 * data.lengths - 1, 0)).sum()))
    table = np.exp(log_table)
    closure = data.grammar.closure(table)
    steps, ends, log_evidence = _draw(kernels, table, closure, data, times, uniforms)
    left = np.flatnonzero(np.isnan(log_evidence))
    if len(left):
        possible = parsable(table > 0, data.taken(left))
        log_evidence[left[~possible]] = -np.inf
    if len(left) and possible.any():
        steps, ends, log_evidence = _draw(in_logs, table, closure, data, times, uniforms)
    return steps, ends, log_evidence


def _draw(
    by: Any, table: Floats, closure: Floats, data: Sentences, times: Ints, uniforms: Floats
) -> tuple[Ints, Ints, Floats]:
    ends, log_evidence = np.zeros(int(times.sum()) + 1, dtype=np.int64), np.empty(len(data))
    size = 4 * int(times @ data.lengths)
    while True:
        steps = np.empty(size, dtype=np.int64)
        size = int(by.tree_draw(table, closure, *data.arrays, times, uniforms, steps, ends, log_evidence))
        if size <= len(steps):
            return steps[:size], ends, log_evidence


def drawn(
    log_table: Floats, data: Sentences, weight: Floats, draws: int, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Return uses of all cells in trees drawn for sentences used `weight` times; the mean of `draws` repetitions.

    A sentence of weight 3 draws three trees; see `structures.draws` for fractions and for many.
    """
    found = Draws.of(weight * draws)
    _, share = found.listed()
    steps, ends, log_evidence = draw(log_table, data, found.single, rng)
    counts = counted(data, steps, ends, share / draws)
    often = np.flatnonzero((found.many > 0) & (log_evidence > -np.inf))
    if len(often):
        own, table = data.taken(often), np.exp(log_table)
        uses = np.zeros(len(_cells(data)))
        each = found.each[often] / draws
        in_logs.tree_draws(
            table, data.grammar.closure(table), *own.arrays, found.many[often], each, spread_by(rng), uses
        )
        counts += np.bincount(_cells(data), uses, minlength=len(counts))
    return counts, log_evidence


def counted(data: Sentences, steps: Ints, ends: Ints, weight: Floats) -> Floats:
    """Return uses of all cells in derivations that count `weight` times each."""
    cells = _cells(data)[steps]
    counts = np.bincount(cells, np.repeat(weight, np.diff(ends)), minlength=data.grammar.n_cells + 1)
    return counts.astype(np.float64, copy=False)


def _cells(data: Sentences) -> Ints:
    """Return the cell of every form and entry."""
    return np.concatenate([data.grammar.cells_of_steps, data.slots.entries[:, 1]])


# ---- numbers of trees --------------------------------------------------------------------------------------------


def n_trees(data: Sentences) -> list[int | float]:
    """Return how many trees each sentence has, exactly; infinite where a cycle of unary rules can stand in one."""
    if data.grammar.is_cyclic:
        return [_n_trees(data, s) for s in range(len(data))]
    counts = np.zeros(data.grammar.n_cells + 1)
    _, logs = soft(counts, data, np.zeros(len(data)))  # with a probability of one for every rule
    found = np.exp(logs)
    return [_n_trees(data, s) if number > EXACT / 8 else round(number) for s, number in enumerate(found.tolist())]


def _n_trees(data: Sentences, s: int) -> int | float:
    """Count the trees of one sentence with whole numbers of any size."""
    forms, slots = data.grammar.forms, data.slots
    tokens = data.tokens[data.ends[s] : data.ends[s + 1]].tolist()
    n, first = len(tokens), int(data.allowed_first[s])
    by_left = [forms.binary[a:b, 1:3].tolist() for a, b in zip(forms.first, forms.first[1:], strict=False)]
    chart: dict[tuple[int, int], dict[int, int | float]] = {}
    for width in range(1, n + 1):
        for i in range(n - width + 1):
            cell: dict[int, int | float] = {}
            if width == 1:
                for symbol, _ in slots.entries[slots.first[tokens[i]] : slots.first[tokens[i] + 1]].tolist():
                    cell[symbol] = cell.get(symbol, 0) + 1
            for k in range(i + 1, i + width):
                other = chart[k, i + width]
                for left, ways in chart[i, k].items():
                    for right, parent in by_left[left]:
                        if right in other:
                            cell[parent] = cell.get(parent, 0) + ways * other[right]
            if first >= 0 and not data.allowed[first + i * (n + 1) + i + width]:
                cell = {symbol: ways for symbol, ways in cell.items() if symbol >= forms.n_full}
            chart[i, i + width] = _chained(data.grammar, cell)
    return chart[0, n].get(forms.start, 0) if n else 0


def _chained(grammar: Grammar, cell: dict[int, int | float]) -> dict[int, int | float]:
    """Add the trees that unary rules put on top."""
    forms = grammar.forms
    for first, n_cross, n_inside, member, n_members, _ in forms.stages.tolist():
        for parent, child, _ in forms.unary[first : first + n_cross].tolist():
            if child in cell:
                cell[parent] = cell.get(parent, 0) + cell[child]
        members = forms.members[member : member + n_members].tolist()
        if n_inside and any(symbol in cell for symbol in members):
            cell |= dict.fromkeys(members, inf)
    return cell
