"""Bayesian networks over rows that other processes hold: each lane splits its own rows into cases."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from halfseen.data import Schema
from halfseen.engine.loop.expected import Expected
from halfseen.engine.loop.model import Reduced
from halfseen.engine.tables.lanes import Lane, LaneChunks, LaneTable
from halfseen.errors import DataError
from halfseen.families.network.fused import FusedNetwork
from halfseen.families.network.model import (
    BayesianNetwork,
    Ints,
    NetworkChunk,
    case_chunks,
    log_table,
    logliks,
    observed_counts,
    placed,
    split,
)
from halfseen.leaves.leaf import Floats
from halfseen.leaves.limits import Params
from halfseen.structures.graph import Graph
from halfseen.sums import Parts


def _codes(lane: Lane, graph: Graph) -> Ints:
    """Return the codes of all variables, (N, V)."""
    return placed(graph, lane.table.schema.names, lane.table.blocks["categorical"])


@dataclass(frozen=True)
class ObservedOfLane:
    """The counts of families that are fully observed, and how many cells are not observed."""

    graph: Graph

    def __call__(self, lane: Lane) -> Parts:
        """Return both."""
        codes = _codes(lane, self.graph)
        return Parts((observed_counts(self.graph, codes, lane.table.weight), int(np.count_nonzero(codes < 0))))


@dataclass(frozen=True)
class PackNetwork:
    """The cases of a lane, in chunks."""

    graph: Graph

    def __call__(self, lane: Lane) -> list[NetworkChunk]:
        """Return the chunks."""
        return case_chunks(split(self.graph, _codes(lane, self.graph)), lane.table.weight, lane.first_chunk)


@dataclass(frozen=True)
class ImpossibleInLane:
    """The weight of the rows that have probability zero."""

    model: BayesianNetwork
    graph: Graph
    params: Params

    def __call__(self, lane: Lane) -> float:
        """Return the weight."""
        found = split(self.graph, _codes(lane, self.graph))
        lost = np.isneginf(logliks(log_table(self.model, self.params, found), found))
        return float(lane.table.weight[lost].sum())


class NetworkLanes:
    """Rows that other processes hold, as a fit reads them."""

    def __init__(self, table: LaneTable) -> None:
        self._table = table.seen()
        self.schema: Schema = table.schema
        self.mass: float = self._table.mass
        self.n_blank = table.mass - self._table.mass
        if not self._table.n_rows:
            raise DataError("no row of weight above 0 has an observed cell: there is nothing to fit.")

    def n_incomplete(self) -> float:
        """Return the weight of the rows with a missing cell."""
        return self._table.n_incomplete()

    def frequencies(self) -> list[Floats]:
        """Return the weighted counts of all categories of each column."""
        counts = self._table.frequencies("categorical")
        return np.split(counts, np.cumsum(self.schema.cardinalities("categorical"))[:-1])

    def reduced(self, model: BayesianNetwork, graph: Graph) -> Reduced:
        """Return the cases, which stay where they are, and the counts of families that are fully observed."""
        known, n_hidden = self._table.ask(ObservedOfLane(graph))
        first_chunks = self._table.numbered(len(graph))  # a row has at most one case for each variable
        chunks = LaneChunks(self._table, PackNetwork(graph), self._table.n_chunks if n_hidden else 0, first_chunks)
        return Reduced(chunks, Expected(known, 0.0), model.blank(), FusedNetwork(graph.n_cells, np.zeros(0)))

    def impossible(self, model: BayesianNetwork, graph: Graph, params: Params) -> str | None:
        """Say how many rows have probability zero, if any has: rows that other processes hold cannot be named."""
        lost = self._table.ask(ImpossibleInLane(model, graph, params))
        return f"a row ({lost:,.10g} of {self.mass:,.10g})" if lost else None
