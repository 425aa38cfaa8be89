"""The sentences of a fit: what the fit reads of them.

`Here` are sentences in this process; `lanes.Elsewhere` are sentences that other processes hold.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from halfseen.engine.loop.model import Reduced
from halfseen.errors import DataError
from halfseen.families.grammar import reading
from halfseen.families.grammar.model import reduce_sentences
from halfseen.families.grammar.reading import Corpus
from halfseen.leaves.leaf import Floats
from halfseen.structures.grammar import Grammar
from halfseen.structures.tree import Sentences, pack, parsable

Mask = NDArray[np.bool_]


class WeightedSentences(NamedTuple):
    """Distinct sentences with their weights, and which of them each of the user's is; -1 for those of weight 0."""

    data: Sentences
    weight: Floats
    which: NDArray[np.int64]

    def without(self, lost: Mask) -> WeightedSentences:
        """Return them without those that are lost; `which` is as before."""
        kept = np.flatnonzero(~lost)
        return self if not lost.any() else WeightedSentences(self.data.taken(kept), self.weight[kept], self.which)


class Parsable(NamedTuple):
    """The sentences that have a parse, ready for many passes, and what is said of those that have none.

    Attributes
    ----------
    data : Reduced
    mass : float           the weight of those that have a parse
    lost : list of int     numbers of those that have none
    told : str             how many they are, the first ones, and why; empty where there is none
    """

    data: Reduced
    mass: float
    lost: list[int]
    told: str = ""


class Training(Protocol):
    """Sentences with their weights."""

    def __len__(self) -> int:
        """The number of sentences."""

    @property
    def fingerprint(self) -> str:
        """A fingerprint of rules and sentences, independent of the order of the sentences."""

    def parsable(self, possible: Mask) -> Parsable:
        """Return the sentences that have a tree of possible rules, (C + 1,)."""


class Here:
    """Sentences in this process, as `Training`."""

    def __init__(self, grammar: Grammar, corpus: Corpus, weight: Floats) -> None:
        self._grammar, self._corpus, self._weight = grammar, corpus, weight

    def __len__(self) -> int:
        return len(self._corpus)

    @cached_property
    def fingerprint(self) -> str:
        """A fingerprint of rules and sentences."""
        return reading.fingerprint(self._grammar, reading.content_hash(self._corpus, self._weight))

    def parsable(self, possible: Mask) -> Parsable:
        """Return the sentences that have a tree of possible rules."""
        merged = merged_sentences(self._grammar, self._corpus, self._weight)
        if merged is None:
            raise DataError("all sentences have weight 0: there is nothing to fit.")
        lost = ~parsable(possible, merged.data)
        used, numbers = merged.without(lost), numbers_of(merged, lost)
        told = reading.unparsable_message(self._grammar, self._corpus, numbers) if numbers else ""
        return Parsable(reduce_sentences(used.data, used.weight), float(used.weight.sum()), numbers, told)


def numbers_of(merged: WeightedSentences, chosen: Mask) -> list[int]:
    """Return the numbers of the user's sentences that are among the chosen ones."""
    found: list[int] = np.flatnonzero((merged.which >= 0) & chosen[merged.which]).tolist()
    return found


def merged_sentences(grammar: Grammar, corpus: Corpus, weight: Floats) -> WeightedSentences | None:
    """Merge equal sentences, drop those of weight 0, and order the rest by their content; None if none is left."""
    number: dict[tuple[Any, ...], list[int]] = {}
    for s in np.flatnonzero(weight > 0).tolist():
        number.setdefault(corpus.key(s), []).append(s)
    if not number:
        return None
    which = np.full(len(corpus), -1)
    own = [number[key] for key in sorted(number)]
    for place, members in enumerate(own):
        which[members] = place
    first = [members[0] for members in own]
    data = pack(
        grammar,
        [corpus.tokens[s] for s in first],
        [corpus.brackets[s] for s in first],
        [corpus.tags[s] for s in first],
    )
    return WeightedSentences(data, np.array([np.sort(weight[members]).sum() for members in own]), which)
