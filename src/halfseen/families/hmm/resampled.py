"""Sequences, drawn again or from the model, for the bootstrap of a hidden Markov model. A unit is a sequence."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np

from halfseen.data import Sequences, Table
from halfseen.errors import DataError, ParameterError
from halfseen.estimators.base import matching
from halfseen.estimators.resampled import Resampled, Sample, naming
from halfseen.families.hmm.model import HiddenMarkov, reduce_sequences
from halfseen.leaves.leaf import Floats
from halfseen.leaves.limits import Params

if TYPE_CHECKING:
    from halfseen.families.hmm.fit import HMMFit


def resampled_sequences(estimator: Any, given: Sequences) -> Resampled:
    """Return sequences for the bootstrap."""
    sequences = given.canonical()
    if sequences.steps.blank.all():
        raise DataError("nothing is observed in these data: there is nothing to draw from.")
    if sequences.schema.texts:
        raise ParameterError("the bootstrap of sequences does not take text as an emission.")
    model, missing = _model(estimator, None), sequences.steps.missing

    def weighted(frequency: Floats) -> Sample:
        used = np.flatnonzero(frequency)
        own = sequences.take(used)
        return _sample(Sequences.of(own.steps, own.lengths, np.asarray(frequency[used])))

    def drawn(params: Params, rng: np.random.Generator) -> Sample:
        states = model.draw_states(params, sequences.lengths, rng)
        owner = estimator._topology.owner
        states = states if owner is None else np.array(owner)[states]
        blocks = model.leaves["emit"].sample(params["emit"], states, rng)
        steps = Table(sequences.schema, blocks, np.ones(len(states))).hide(missing)
        return _sample(Sequences.of(steps, sequences.lengths))

    def matched(params: Params, like: Params) -> Params:
        if not estimator._topology.free or estimator._recipe.built["fixed"]:
            return params
        return model.relabel(params, matching(model.overlap(params, like)))

    return Resampled(
        model=model,
        pulled=_model(estimator, "row"),
        params=estimator._params,
        frequency=np.ones(len(sequences.lengths)),
        weighted=weighted,
        drawn=drawn,
        matched=matched,
        named=naming(estimator),
        unit="sequences",
    )


def _sample(sequences: Sequences) -> Sample:
    return Sample(lambda model: reduce_sequences(model, sequences))


def _model(estimator: HMMFit, prior: str | None) -> HiddenMarkov:
    """Return the model as it was built, with another prior."""
    builder = copy(estimator)
    for name, value in estimator._recipe.built.items():
        setattr(builder, name, value)
    builder.prior = prior
    return builder._build(estimator._recipe.summary, estimator._topology, estimator._covariance)
