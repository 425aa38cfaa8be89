"""The order of the states of hidden variables, which the data do not know: changed, or made that of other tables."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from halfseen.estimators.base import matching
from halfseen.leaves.leaf import Floats
from halfseen.structures.graph import Graph

SWEEPS = 2  # over several hidden variables: the order of one depends on that of others


def in_order_of(graph: Graph, cells: Floats, other: Floats, hidden: Sequence[int]) -> Floats:
    """Return cells (1, S) with the states of hidden variables in the order of those of `other` that they resemble."""
    for _ in range(SWEEPS if len(hidden) > 1 else 1):
        for v in hidden:
            cells = permuted(graph, cells, v, matching(resemblance(graph, cells, other, v)))
    return cells


def permuted(graph: Graph, cells: Floats, v: int, order: NDArray[np.int64]) -> Floats:
    """Return cells (1, S) with the states of a variable in another order, in its own table and its children's."""
    out = np.array(cells)
    for family in (v, *graph.children[v]):
        axis = graph.members[family].index(v)
        table = cells[0, graph.slice(family)].reshape(graph.shapes[family])
        out[0, graph.slice(family)] = np.take(table, order, axis=axis).ravel()
    return out


def resemblance(graph: Graph, cells: Floats, other: Floats, v: int) -> Floats:
    """Return how much each state of a variable resembles each one of another network, in all tables it is in.

    resemblance[i, j] = sum over the tables of v and of its children of sqrt(p q), p with state i and q with state j.
    """
    size = graph.cards[v]
    total = np.zeros((size, size))
    for family in (v, *graph.children[v]):
        axis = graph.members[family].index(v)
        own, its = (
            np.moveaxis(np.sqrt(table[0, graph.slice(family)].reshape(graph.shapes[family])), axis, 0).reshape(size, -1)
            for table in (cells, other)
        )
        total += own @ its.T
    return total
