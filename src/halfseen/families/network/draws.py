"""Draws of the parameters of a Bayesian network by name, for `hs.posterior`."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import TYPE_CHECKING

from halfseen.estimators.named_parameters import DrawnRow
from halfseen.leaves.limits import Params

if TYPE_CHECKING:
    from halfseen.families.network.methods import NetworkMethods


def drawn_rows(model: NetworkMethods, params: Params) -> Iterator[DrawnRow]:
    """Yield the rows of all tables of draws (N, 1, S), or of one set of parameters."""
    graph, cells = model._graph, params["tables"][..., 0, :]
    for name in model.nodes_:
        v = graph.names.index(name)
        *parents, _ = (graph.names[m] for m in graph.members[v])
        states = tuple(map(str, model._states[name]))
        rows = cells[..., graph.slice(v)].reshape(*cells.shape[:-1], -1, len(states))
        for number, given in enumerate(product(*(model._states[parent] for parent in parents))):
            said = ", ".join(f"{parent}={state}" for parent, state in zip(parents, given, strict=True))
            yield DrawnRow(name, said, rows[..., number, :], states)
