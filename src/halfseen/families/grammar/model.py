"""Grammars over sentences: chunks of whole sentences, each of about the same amount of work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from halfseen.engine.loop.model import Model, Reduced
from halfseen.leaves.leaf import Floats
from halfseen.structures.grammar import Grammar
from halfseen.structures.tree import Derivations, Sentences

DENSE_WORK = 1 << 27  # products in a chunk of a dense grammar: enough sentences to fill tiles with their longest spans
WORK = 1 << 23  # look-ups in a chunk of any other grammar: some milliseconds
FEW = 2000  # estimate of the most rules that apply at a split


class ContextFree(Model):
    """A model over the structure `Derivations`, with the one leaf `rules` (1, C)."""

    structure: Derivations


@dataclass(frozen=True, eq=False)
class SentenceChunk:
    """Some sentences: the unit of work of the engine."""

    index: int
    blocks: Sentences
    weight: Floats
    log_evidence: None = None


def cut_sentences(data: Sentences, weight: Floats) -> list[SentenceChunk]:
    """Return the sentences in chunks, which depend on them alone."""
    work, size = work_of(data.lengths.astype(np.float64), data.grammar)
    number = (np.cumsum(work) - work) // size
    found: list[SentenceChunk] = []
    for own in np.split(np.arange(len(data)), np.flatnonzero(np.diff(number)) + 1):
        if len(own):
            found.append(SentenceChunk(len(found), data.taken(own), weight[own]))
    return found


def work_of(lengths: Floats, grammar: Grammar) -> tuple[Floats, int]:
    """Return how much work sentences of some lengths are, (S,), and how much a chunk is."""
    forms = grammar.forms
    splits, n = lengths**3 / 6, float(forms.n_symbols)
    if grammar.is_dense:
        return splits * n**2 + lengths**2 / 2 * n**3, DENSE_WORK
    return splits * min(len(forms.binary), FEW), WORK


def reduce_sentences(data: Sentences, weight: Floats) -> Reduced:
    """Return sentences ready for many passes."""
    chunks: list[Any] = list(cut_sentences(data, weight))
    return Reduced(chunks)
