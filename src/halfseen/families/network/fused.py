"""The fused path of Bayesian networks: from tables to counts, without logs.

Its sums equal those of the three steps, which are used for other modes of assignment and temperatures: for a
small network most of an iteration is overhead between kernel calls.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from halfseen.assign import Assign
from halfseen.engine.loop.expected import Expected
from halfseen.leaves.leaf import Floats
from halfseen.leaves.limits import Params
from halfseen.structures.network import sums


class _Prepared(NamedTuple):
    """All cells of the tables, then the likelihoods of soft evidence; and these as logs, which can be smaller."""

    table: Floats
    log_soft: Floats

    def log_table(self) -> Floats:
        """Return the logs of all cells."""
        with np.errstate(divide="ignore"):
            return np.concatenate([np.log(self.table[: len(self.table) - len(self.log_soft)]), self.log_soft])


class FusedNetwork:
    """The fused E-step of a network with `n_cells` cells, over cases with this soft evidence (logs)."""

    def __init__(self, n_cells: int, log_soft: Floats) -> None:
        self.n_cells = n_cells
        self.log_soft = log_soft
        self.soft = np.exp(log_soft)

    def prepare(self, params: Params) -> _Prepared:
        """Return the cells of all tables."""
        cells = params["tables"][0]
        return _Prepared(np.concatenate([cells, self.soft]) if len(self.soft) else cells, self.log_soft)

    def zero(self) -> Expected:
        """Return the counts of no data."""
        return Expected.zero(self.n_cells)

    def expected(self, prepared: _Prepared, chunk: Any, assign: Assign) -> Expected:
        """Return the counts of a chunk; all its cases have weight above 0."""
        counts, log_evidence = sums(prepared.table, prepared.log_table, chunk.blocks, chunk.weight)
        return Expected(counts[: self.n_cells], float(chunk.weight @ log_evidence))

    def finish(self, total: Expected) -> Expected:
        """Return the counts unchanged."""
        return total
