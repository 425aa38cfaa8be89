"""Grammars prepared for charts: rules of any length binarised, unary rules ordered, words numbered.

- *rule*: as the user wrote it, ``NP -> Det 'big' N``; its *cell* is its place among all rules, those of one left-hand
  side together: they are one row of probabilities.
- *symbol*: of the chart. First the symbols of the user (*full*); then one for each word that stands among others on
  a right-hand side; then the *prefixes* of long right-hand sides, ``Det 'big'``, shared by all rules that begin so.
- *form*: a rule of the chart. Binary: left, right, parent, cell. A form that is no rule by itself has the cell behind
  the last, whose probability is one.
- *stage*: some symbols, and the unary rules that lead to them; a stage comes after those it draws on. Symbols that
  reach each other by unary rules are one stage, closed by a matrix: all chains of any length at once.
- *slot*: what may stand at a place of a sentence: the symbols that have its word below them, with their cells.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from halfseen.errors import ParameterError
from halfseen.structures.rules import MOST_PARTS, Right, rule_text
from halfseen.structures.trees import Tree, Word

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Shorts = NDArray[np.int32]

DENSE = 0.25  # share of all triples of symbols that are binary rules, from which on matrix products are quicker
WIDEST = 128  # symbols, at most, for matrix products


class Forms(NamedTuple):
    """The rules of a chart as the kernels read them; M symbols, of which N are full.

    Attributes
    ----------
    binary : (R, 4)         left, right, parent, cell; sorted by left, then right
    first : (M + 1,)        forms with left child m are first[m] .. first[m + 1]
    by_parent : (R,)        the forms sorted by parent
    parent_first : (M + 1,)
    unary : (U, 3)          parent, child, cell; in the order of the stages
    unary_first : (M + 1,)  into `unary_by_parent`
    unary_by_parent : (U,)
    stages : (Q, 6)         first unary form; how many come from other stages, how many from inside; first member,
                            number of members (0: nothing reaches itself), first entry of its closure
    members : symbols of stages that reach themselves
    sizes : (3,)            N, M, start
    """

    binary: Shorts
    first: Ints
    by_parent: Shorts
    parent_first: Ints
    unary: Shorts
    unary_first: Ints
    unary_by_parent: Shorts
    stages: Ints
    members: Shorts
    sizes: Ints

    @property
    def n_full(self) -> int:
        """Number of the user's symbols."""
        return int(self.sizes[0])

    @property
    def n_symbols(self) -> int:
        """Number of symbols of the chart."""
        return int(self.sizes[1])

    @property
    def start(self) -> int:
        """The symbol at the top."""
        return int(self.sizes[2])


class Slots(NamedTuple):
    """What may stand at places of sentences: for slot s the entries first[s] .. first[s + 1], (symbol, cell) each."""

    first: Ints
    entries: Shorts


@dataclass(frozen=True, eq=False)
class Grammar:
    """Rules grouped by their left-hand sides, and what charts need.

    Examples
    --------
    >>> grammar = Grammar.of("S", [("S", ("A", "B", "A")), ("A", (Word("a"),)), ("B", ("A",)), ("A", (Word("x"), "A"))])
    >>> [grammar.text(cell) for cell in range(len(grammar.rules))]
    ['S -> A B A', "A -> 'a'", "A -> 'x' A", 'B -> A']
    >>> grammar.rows
    [1, 2, 1]
    >>> grammar.symbols
    ('S', 'A', 'B', "'x'", 'A B')
    """

    start: str
    rules: tuple[tuple[str, Right], ...]

    @classmethod
    def of(cls, start: str, rules: Iterable[tuple[str, Right]]) -> Grammar:
        """Group rules by their left-hand sides, in the order in which these come first."""
        by_left: dict[str, dict[Right, None]] = {}
        for left, right in rules:
            by_left.setdefault(left, {})[tuple(right)] = None
        for left, right in ((left, right) for left, own in by_left.items() for right in own if len(right) > MOST_PARTS):
            raise ParameterError(
                f"a right-hand side of {left} has {len(right):,} symbols; at most {MOST_PARTS:,} are possible."
            )
        unknown = sorted(
            {
                part
                for own in by_left.values()
                for right in own
                for part in right
                if part not in by_left and isinstance(part, str)
            }
        )
        if unknown:
            listed = ", ".join(f"{name!r:.40}" for name in unknown[:5]) + (" ..." if len(unknown) > 5 else "")
            raise ParameterError(
                f"{len(unknown)} of the symbols of the grammar stand on the right of rules and never on the left: "
                f"{listed}. Words are quoted: N -> 'dog'."
            )
        return cls(start, tuple((left, right) for left, own in by_left.items() for right in own))

    @cached_property
    def full(self) -> tuple[str, ...]:
        """The left-hand sides: the symbols of the user."""
        return tuple(dict.fromkeys(left for left, _ in self.rules))

    @cached_property
    def number(self) -> dict[str, int]:
        """The place of each of the user's symbols."""
        return {name: m for m, name in enumerate(self.full)}

    @cached_property
    def cell(self) -> dict[tuple[str, Right], int]:
        """The place of each rule."""
        return {rule: c for c, rule in enumerate(self.rules)}

    @cached_property
    def rows(self) -> list[int]:
        """Number of rules of each left-hand side."""
        return np.bincount([self.number[left] for left, _ in self.rules], minlength=len(self.full)).tolist()

    @cached_property
    def owner(self) -> Ints:
        """The left-hand side of each rule."""
        return np.array([self.number[left] for left, _ in self.rules], dtype=np.int64)

    @property
    def n_cells(self) -> int:
        """Number of rules."""
        return len(self.rules)

    def text(self, cell: int) -> str:
        """Return a rule as text."""
        return rule_text(*self.rules[cell])

    @cached_property
    def words(self) -> dict[str, list[int]]:
        """The rules of every word that stands alone on a right-hand side; a word among others has none of its own."""
        found: dict[str, list[int]] = {}
        for c, (_, right) in enumerate(self.rules):
            for part in right:
                if isinstance(part, Word):
                    found.setdefault(part.text, []).extend([c] if len(right) == 1 else [])
        return found

    # ---- the chart -----------------------------------------------------------------------------------------------

    @cached_property
    def _binarised(self) -> tuple[tuple[Right, ...], list[tuple[int, int, int, int]]]:
        """Return the right-hand sides that symbols beyond the full ones stand for, and the binary forms."""
        more: dict[Right, int] = {}
        forms: dict[tuple[int, int, int, int], None] = {}
        long = [(c, right) for c, (_, right) in enumerate(self.rules) if len(right) > 1]
        for _, right in long:
            for part in right:
                if isinstance(part, Word):
                    more.setdefault((part,), len(self.full) + len(more))

        def symbol(part: str | Word) -> int:
            return more[part,] if isinstance(part, Word) else self.number[part]

        for c, right in long:
            left = symbol(right[0])
            for stop in range(2, len(right)):
                parent = more.setdefault(right[:stop], len(self.full) + len(more))
                forms[left, symbol(right[stop - 1]), parent, self.n_cells] = None
                left = parent
            forms[left, symbol(right[-1]), int(self.owner[c]), c] = None
        return tuple(more), sorted(forms)

    @cached_property
    def symbols(self) -> tuple[str, ...]:
        """Names of all symbols of the chart."""
        return (*self.full, *(" ".join(map(str, right)) for right in self._binarised[0]))

    @cached_property
    def forms(self) -> Forms:
        """The rules of the chart."""
        more, listed = self._binarised
        n_full, n_symbols = len(self.full), len(self.full) + len(more)
        binary = np.array(listed, dtype=np.int32).reshape(-1, 4)
        by_parent = np.argsort(binary[:, 2], kind="stable").astype(np.int32)
        unary = [
            (int(self.owner[c]), self.number[right[0]], c)
            for c, (_, right) in enumerate(self.rules)
            if len(right) == 1 and isinstance(right[0], str)
        ]
        ordered, stages, members = _staged(n_full, unary)
        unary_by_parent = np.argsort(ordered[:, 0], kind="stable").astype(np.int32)
        return Forms(
            binary,
            _firsts(binary[:, 0], n_symbols),
            by_parent,
            _firsts(binary[by_parent, 2], n_symbols),
            ordered,
            _firsts(ordered[unary_by_parent, 0], n_symbols),
            unary_by_parent,
            stages,
            members,
            np.array([n_full, n_symbols, self.number[self.start]], dtype=np.int64),
        )

    @cached_property
    def is_dense(self) -> bool:
        """Whether so many triples of symbols are rules that matrix products pay."""
        n = self.forms.n_symbols
        return n == self.forms.n_full and n <= WIDEST and len(self.forms.binary) >= DENSE * n**3 and n >= 8

    @property
    def is_cyclic(self) -> bool:
        """Whether unary rules lead from a symbol back to itself."""
        return len(self.forms.members) > 0

    def closure(self, table: Floats) -> Floats:
        """Return the closures of all stages that reach themselves, (I - U)^-1 each, one after the other.

        Entry (a, b) is the sum over all chains of unary rules from a to b of the product of their probabilities.
        """
        found = [np.zeros(0)]
        for inside, size in self._loops():
            steps = np.zeros((size, size))
            np.add.at(steps, (inside[:, 0], inside[:, 1]), table[inside[:, 2]])
            found.append(self._solved(steps, inside).ravel())
        return np.concatenate(found)

    def _loops(self) -> Iterable[tuple[Ints, int]]:
        """Yield the unary forms inside each stage that reaches itself, in the numbers of its members, and its size."""
        forms = self.forms
        for first, n_cross, n_inside, member, n_members, _ in forms.stages.tolist():
            if n_members:
                own = forms.unary[first + n_cross : first + n_cross + n_inside].astype(np.int64)
                place = {int(m): i for i, m in enumerate(forms.members[member : member + n_members])}
                for column in (0, 1):
                    own[:, column] = [place[m] for m in own[:, column].tolist()]
                yield own, n_members

    def _solved(self, steps: Floats, inside: Ints) -> Floats:
        try:
            found = np.linalg.inv(np.eye(len(steps)) - steps)
        except np.linalg.LinAlgError:
            found = np.full(steps.shape, np.nan)
        if not np.isfinite(found).all() or found.min() < -1e-9:
            cells = ", ".join(self.text(int(c)) for c in inside[:4, 2])
            raise ParameterError(
                f"unary rules that lead back to where they came from have a probability of 1 in all: {cells}. Such a "
                "chain never ends; give another rule of these symbols a probability."
            )
        return np.maximum(found, 0.0)

    def reach(self, possible: NDArray[np.bool_]) -> Floats:
        """Return closures with 1 where a chain of possible unary rules leads, in place of sums."""
        found = [np.zeros(0)]
        for inside, size in self._loops():
            one = np.eye(size, dtype=bool)
            used = inside[possible[inside[:, 2]]]
            one[used[:, 0], used[:, 1]] = True
            for middle in range(size):
                one |= np.outer(one[:, middle], one[middle])
            found.append(one.astype(np.float64).ravel())
        return np.concatenate(found)

    # ---- words ---------------------------------------------------------------------------------------------------

    def entries(self, word: str | None, tags: frozenset[str] | None = None) -> list[tuple[int, int]]:
        """Return what may stand above a word, (symbol, cell) each; None is a word that was not seen.

        `tags` are the symbols that may stand directly above it.
        """
        found: list[tuple[int, int]] = []
        for own, cells in self.words.items() if word is None else [(word, self.words.get(word, []))]:
            found += [(int(self.owner[c]), c) for c in cells if tags is None or self.rules[c][0] in tags]
            bare = (Word(own),)
            if tags is None and bare in self._places:
                found.append((self._places[bare], self.n_cells))
        return found

    @cached_property
    def _places(self) -> dict[Right, int]:
        return {right: len(self.full) + i for i, right in enumerate(self._binarised[0])}

    # ---- trees ---------------------------------------------------------------------------------------------------

    def tree(self, steps: Sequence[int], slots: Slots, words: Sequence[str | None]) -> Tree:
        """Return the tree that a derivation makes, in the user's own rules.

        `steps` are forms in the order of a leftmost derivation: binary ones, then unary ones, then entries of slots.
        """
        forms = self.forms
        n_binary, n_unary = len(forms.binary), len(forms.unary)
        done: list[list[Tree | str]] = []
        at = len(words)
        for step in reversed(steps):  # from right to left: what is below is there before what is above
            if step >= n_binary + n_unary:
                symbol, cell = slots.entries[step - n_binary - n_unary].tolist()
                at -= 1
                word = self._word(symbol, cell) if words[at] is None else words[at]
                assert word is not None
                done.append([word] if cell == self.n_cells else [Tree(self.full[symbol], [word])])
            elif step >= n_binary:
                parent = int(forms.unary[step - n_binary, 0])
                done.append([Tree(self.full[parent], done.pop())])
            else:
                parent = int(forms.binary[step, 2])
                children = [*done.pop(), *done.pop()]
                done.append([Tree(self.full[parent], children)] if parent < forms.n_full else children)
        [[top]] = done
        assert isinstance(top, Tree)
        assert at == 0
        return top

    def _word(self, symbol: int, cell: int) -> str:
        [part] = self.rules[cell][1] if cell < self.n_cells else self._binarised[0][symbol - len(self.full)]
        assert isinstance(part, Word)
        return part.text

    @cached_property
    def cells_of_steps(self) -> Ints:
        """The cell of each binary and unary form."""
        return np.concatenate([self.forms.binary[:, 3], self.forms.unary[:, 2]]).astype(np.int64)


def _firsts(sorted_keys: NDArray[np.integer], size: int) -> Ints:
    return np.searchsorted(sorted_keys, np.arange(size + 1)).astype(np.int64)


def _staged(n_full: int, unary: Sequence[tuple[int, int, int]]) -> tuple[Shorts, Ints, Shorts]:
    """Return unary forms in the order of their stages, the stages, and the members of those that reach themselves."""
    if not unary:
        return np.zeros((0, 3), np.int32), np.zeros((0, 6), np.int64), np.zeros(0, np.int32)
    given = np.array(unary, dtype=np.int64)
    arrows = coo_array((np.ones(len(given)), (given[:, 0], given[:, 1])), shape=(n_full, n_full)).tocsr()
    _, label = connected_components(arrows, directed=True, connection="strong")
    order = _after(given, label)
    ordered: list[tuple[int, int, int]] = []
    stages: list[tuple[int, ...]] = []
    members: list[int] = []
    size = 0
    for component in order:
        own = given[label[given[:, 0]] == component]
        within = label[own[:, 1]] == component
        cross, inside = own[~within].tolist(), own[within].tolist()
        if not len(own):
            continue
        reach = np.flatnonzero(label == component).tolist() if inside else []
        stages.append((len(ordered), len(cross), len(inside), len(members), len(reach), size))
        ordered += [*cross, *inside]
        members += reach
        size += len(reach) ** 2
    return np.array(ordered, np.int32).reshape(-1, 3), np.array(stages, np.int64), np.array(members, np.int32)


def _after(unary: Ints, label: NDArray[np.integer]) -> list[int]:
    """Return the components in an order in which each comes after those that its unary rules lead down to."""
    below: Mapping[int, set[int]] = {int(c): set() for c in np.unique(label)}
    for parent, child in zip(label[unary[:, 0]].tolist(), label[unary[:, 1]].tolist(), strict=True):
        if parent != child:
            below[parent].add(child)
    found: dict[int, None] = {}
    for first in below:
        waiting = [(first, False)]
        while waiting:
            component, ready = waiting.pop()
            if ready:
                found[component] = None
            elif component not in found:
                waiting.append((component, True))
                waiting += [(child, False) for child in sorted(below[component]) if child not in found]
    return list(found)
