"""Rows of a table, drawn again or from the model, for the bootstrap of a mixture."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from halfseen.data import Evidence, Table
from halfseen.engine.tables.mixture import Mixture
from halfseen.engine.tables.preprocess import certain, reduce
from halfseen.errors import DataError, ParameterError
from halfseen.estimators.base import matching
from halfseen.estimators.resampled import Resampled, Sample, frequencies, naming
from halfseen.estimators.table.emission_builder import Recipe
from halfseen.leaves.leaf import Floats
from halfseen.leaves.limits import Params


def resampled_rows(
    estimator: Any, recipe: Recipe, table: Table, params: Params, unlabelled: float = 1.0, identified: bool = False
) -> Resampled:
    """Return the rows of a table for the bootstrap of a mixture.

    Parameters
    ----------
    estimator : fitted estimator over a table
    recipe : Recipe          what its model was built from
    table : Table            weights are frequencies
    params : params
    unlabelled : float       what a row without a label counts
    identified : bool        whether components cannot change places: they have labels or fixed parameters
    """
    if not isinstance(table, Table):
        raise ParameterError("the bootstrap needs the rows in this process. Give a sample of them.")
    merged = table.seen().canonical()
    frequency = frequencies(merged.weight)
    if not frequency.sum():
        raise DataError("nothing is observed in these data: there is nothing to draw from.")
    evidence = merged.evidence
    factor = 1.0 if evidence is None else np.where(evidence.index == 0, unlabelled, 1.0)
    model = recipe._replace(prior=None).model()

    def weighted(wanted: Floats) -> Sample:
        weight = wanted * factor
        used = np.flatnonzero(weight)
        own = replace(merged.take(used), weight=weight[used])
        return Sample(lambda own_model: reduce(own_model, own), own)

    def drawn(params: Params, rng: np.random.Generator) -> Sample:
        own = drawn_rows(model, params, merged, frequency, rng)
        index = None if own.evidence is None else own.evidence.index
        if index is not None and unlabelled != 1:
            own = replace(own, weight=np.where(index == 0, unlabelled, 1.0) * own.weight)
        return Sample(lambda own_model: reduce(own_model, own), own)

    def matched(params: Params, like: Params) -> Params:
        return params if identified or evidence is not None else in_order_of(model, params, like)

    return Resampled(
        model=model,
        pulled=recipe._replace(prior="row").model(),
        params=params,
        frequency=frequency,
        weighted=weighted,
        drawn=drawn,
        matched=matched,
        named=naming(estimator),
        table=None if evidence is not None else merged,
    )


def in_order_of(model: Mixture, params: Params, like: Params) -> Params:
    """Return parameters with the components in the order of those that they resemble most."""
    return model.relabel(params, matching(model.overlap(params, like)))


def drawn_rows(model: Mixture, params: Params, table: Table, frequency: Floats, rng: np.random.Generator) -> Table:
    """Return as many rows as there are, drawn from the model, each with the values missing that one row lacks.

    Of rows with a label, the component that is drawn is known in turn.
    """
    texts = table.schema.texts
    if texts:
        raise ParameterError(
            f'kind="parametric": texts are not drawn, and column {texts[0]!r} has some. Use kind="nonparametric".'
        )
    rows = np.repeat(np.arange(table.n_rows), frequency.astype(np.int64))
    component = model.draw_components(params, np.zeros(len(rows), dtype=np.int64), rng)
    blocks = model.leaves["emit"].sample(params["emit"], component, rng)
    evidence = _drawn_labels(table.evidence, rows, component)
    found = Table(table.schema, blocks, np.ones(len(rows)), evidence).hide(table.missing[rows])
    return found.canonical()


def _drawn_labels(evidence: Evidence | None, rows: Any, component: Any) -> Evidence | None:
    """Return the labels of drawn rows: known where that of the original row is."""
    if evidence is None:
        return None
    labelled = evidence.index > 0
    if not certain(evidence)[labelled].all():
        raise ParameterError(
            'kind="parametric": of some rows several classes are possible, or a class has several components, so that '
            'labels cannot be drawn. Use kind="nonparametric".'
        )
    n_components = evidence.n_components
    patterns = np.full((n_components + 1, n_components), -np.inf)
    patterns[0] = 0.0
    np.fill_diagonal(patterns[1:], 0.0)
    return Evidence(patterns, np.where(labelled[rows], component + 1, 0).astype(np.int32))
