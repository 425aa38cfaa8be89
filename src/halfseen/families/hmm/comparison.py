"""States of hidden Markov models, as they are compared with those of another model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from halfseen.errors import ParameterError
from halfseen.estimators.table.components import LEAST, Components, Move
from halfseen.estimators.table.profile import blocks_of, profiles_of
from halfseen.leaves.leaf import Floats

if TYPE_CHECKING:
    from halfseen.families.hmm.methods import HMMMethods


@dataclass(frozen=True, eq=False)
class States(Components):
    """States with a distribution over the columns, and the probability that state j follows state i, (K, K)."""

    transmat: Floats

    def moves(self, other: Components, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> list[Move]:
        """Return the parameters and transitions of matched states that differ."""
        found = super().moves(other, rows, columns)
        return found + (self._transitions(other, rows, columns) if isinstance(other, States) else [])

    def _transitions(self, other: States, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> list[Move]:
        before, after = self.transmat[np.ix_(rows, rows)], other.transmat[np.ix_(columns, columns)]
        names = [self.names[i] for i in rows]
        return [
            Move(names[i], "(next)", f"to {names[j]}", float(before[i, j]), float(after[i, j]), float(size))
            for (i, j), size in np.ndenumerate(np.abs(after - before))
            if size > LEAST
        ]


def states_of(model: HMMMethods) -> States:
    """Return the states of a fitted model."""
    if model._inside is not None:
        raise ParameterError("states whose emissions are mixtures (n_mix above 1) cannot be compared one by one.")
    shares = model.occupancy_
    blocks = blocks_of(model._schema, model._model.leaves["emit"], model._params["emit"], shares)
    columns = profiles_of(blocks)
    return States(model.state_names_, shares, model._model, model._params, columns, model.transmat_)
