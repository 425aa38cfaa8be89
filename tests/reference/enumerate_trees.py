"""Grammars the slow way: every tree of a sentence, one after the other, in the rules as the user wrote them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from halfseen.structures.trees import Tree, Word


class Trees(NamedTuple):
    """What enumeration finds of one sentence: its trees, their probabilities, the expected uses of rules."""

    trees: list[Tree]
    probabilities: np.ndarray
    usage: np.ndarray

    @property
    def evidence(self) -> float:
        return float(self.probabilities.sum())

    @property
    def best(self) -> float:
        return float(self.probabilities.max(initial=0.0))


def all_trees(grammar, words, table, brackets=(), deepest=8) -> Trees:
    """Go through all trees with at most `deepest` unary rules in a row."""
    trees = list(_over(grammar, words, grammar.start, 0, len(words), brackets, deepest))
    uses = np.array([uses_of(grammar, tree) for tree in trees]).reshape(len(trees), grammar.n_cells)
    probabilities = np.array([np.prod(table[own.nonzero()[0]] ** own[own.nonzero()[0]]) for own in uses])
    usage = probabilities @ uses / probabilities.sum() if len(trees) else np.zeros(grammar.n_cells)
    return Trees(trees, probabilities, usage)


def uses_of(grammar, tree: Tree) -> np.ndarray:
    """How often a tree uses each rule."""
    uses = np.zeros(grammar.n_cells)
    for rule in tree.rules():
        uses[grammar.cell[rule]] += 1
    return uses


def _over(grammar, words, symbol, i, j, brackets, deepest) -> Iterator[Tree]:
    """Yield the trees of a symbol over the words i .. j - 1."""
    if any(a < i < b < j or i < a < j < b for a, b in brackets):
        return
    for left, right in grammar.rules:
        if left != symbol:
            continue
        if len(right) == 1 and isinstance(right[0], str):
            if deepest:
                for below in _over(grammar, words, right[0], i, j, brackets, deepest - 1):
                    yield Tree(symbol, [below])
            continue
        for children in _row(grammar, words, right, i, j, brackets):
            yield Tree(symbol, children)


def _row(grammar, words, right, i, j, brackets) -> Iterator[list]:
    """Yield the ways to lay a right-hand side over the words i .. j - 1."""
    if not right:
        if i == j:
            yield []
        return
    first, rest = right[0], right[1:]
    if isinstance(first, Word):
        if i < j and words[i] in (first.text, None):
            for others in _row(grammar, words, rest, i + 1, j, brackets):
                yield [first.text, *others]
        return
    for k in range(i + 1, j - len(rest) + 1):
        for tree in _over(grammar, words, first, i, k, brackets, 8):
            for others in _row(grammar, words, rest, k, j, brackets):
                yield [tree, *others]
