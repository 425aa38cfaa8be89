"""Rows, drawn again or from the network, for the bootstrap of a Bayesian network."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from halfseen.errors import DataError
from halfseen.estimators.resampled import Resampled, Sample, frequencies, naming
from halfseen.families.network.hidden_order import in_order_of
from halfseen.families.network.model import distinct, reduce_network, split
from halfseen.leaves.categorical import draw
from halfseen.leaves.leaf import Floats, frozen
from halfseen.leaves.limits import Params
from halfseen.structures.graph import Graph

Ints = NDArray[np.int64]


def resampled_cases(estimator: Any, codes: Ints, weight: Floats) -> Resampled:
    """Return rows of codes (N, V), -1 unobserved, for the bootstrap."""
    graph: Graph = estimator._graph
    seen = (codes >= 0).any(axis=1) & (weight > 0)
    if not seen.any():
        raise DataError("nothing is observed in these data: there is nothing to draw from.")
    merged, number = distinct(codes[seen])
    frequency = frequencies(np.bincount(number, weight[seen], minlength=len(merged)).astype(np.float64))
    model = estimator._recipe._replace(prior=None, pseudo=None).model(graph)
    cases = split(graph, merged)
    hidden = estimator._relabelled(graph, estimator._schema)

    def weighted(wanted: Floats) -> Sample:
        return Sample(lambda own_model: reduce_network(own_model, graph, cases, wanted))

    def drawn(params: Params, rng: np.random.Generator) -> Sample:
        rows = np.repeat(np.arange(len(merged)), frequency.astype(np.int64))
        states = np.where(merged[rows] >= 0, drawn_states(graph, params, len(rows), rng), -1)
        own, which = distinct(states)
        mass = np.bincount(which, minlength=len(own)).astype(np.float64)
        return Sample(lambda own_model: reduce_network(own_model, graph, split(graph, own), mass))

    def matched(params: Params, like: Params) -> Params:
        return {"tables": frozen(in_order_of(graph, params["tables"], like["tables"], hidden))}

    return Resampled(
        model=model,
        pulled=estimator._recipe._replace(prior="bdeu", sample_size=1.0, pseudo=None).model(graph),
        params=estimator._params,
        frequency=frequency,
        weighted=weighted,
        drawn=drawn,
        matched=matched,
        named=naming(estimator),
    )


def drawn_states(graph: Graph, params: Params, n_rows: int, rng: np.random.Generator) -> Ints:
    """Draw the states of all variables, (N, V), parents before children."""
    states = np.zeros((n_rows, len(graph)), dtype=np.int64)
    for v in graph.order:
        cells = graph.cells(v, states)
        states[:, v] = draw(params["tables"][0][cells[:, None] + np.arange(graph.cards[v])], rng)
    return states
