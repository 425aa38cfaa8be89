"""Sentences, drawn again or from the grammar, for the bootstrap of its rules."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from halfseen.data import check_sequence_weight
from halfseen.errors import DataError
from halfseen.estimators.resampled import Resampled, Sample, frequencies, naming, refused
from halfseen.families.grammar.model import reduce_sentences
from halfseen.families.grammar.reading import Corpus
from halfseen.leaves.leaf import Floats
from halfseen.leaves.limits import Params

MISSING = "sentences are drawn as a whole, without the missing words, brackets or tags that yours have."


def resampled_sentences(estimator: Any, corpus: Corpus, sample_weight: ArrayLike | None) -> Resampled:
    """Return the sentences that have a parse, for the bootstrap; symbols keep their places."""
    packed = estimator._packed(corpus)
    weight = check_sequence_weight(sample_weight, len(corpus))
    used = np.flatnonzero((weight > 0) & np.isfinite(estimator._logliks(packed)))
    if not len(used):
        raise DataError("no sentence has a parse: there is nothing to draw from.")
    sentences, frequency = packed.taken(used), frequencies(weight[used], "sentences")
    partly = any(map(_partly_known, corpus.words, corpus.brackets, corpus.tags))
    grammar, recipe = estimator._grammar, estimator._recipe

    def weighted(wanted: Floats) -> Sample:
        chosen = np.flatnonzero(wanted)
        return Sample(lambda model: reduce_sentences(sentences.taken(chosen), np.asarray(wanted[chosen])))

    def drawn(params: Params, rng: np.random.Generator) -> Sample:
        other = copy(estimator)
        other._params = params
        found, _ = other.sample(int(frequency.sum()), random_state=rng)
        packed = other._packed(other._corpus(found, None, None))
        return Sample(lambda model: reduce_sentences(packed, np.ones(len(found))))

    return Resampled(
        model=recipe._replace(prior=None).model(grammar),
        pulled=recipe._replace(prior="lhs").model(grammar),
        params=estimator._params,
        frequency=frequency,
        weighted=weighted,
        drawn=refused(MISSING) if partly else drawn,
        matched=lambda params, like: params,
        named=naming(estimator),
        unit="sentences",
    )


def _partly_known(words: Any, brackets: Any, tags: Any) -> bool:
    return None in words or brackets is not None or tags is not None
