"""Hidden Markov models as `halfseen.analysis.imputation_check` asks for them: cells guessed from their sequences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from halfseen.data import Sequences, Table
from halfseen.families.hmm.impute import full_blocks

if TYPE_CHECKING:
    from halfseen.families.hmm.methods import HMMMethods


@dataclass(frozen=True, eq=False)
class SequenceCells:
    """A fitted HMM with encoded sequences: a `CellImputer`. It is not fitted again."""

    model: HMMMethods
    sequences: Sequences
    unit: ClassVar[str] = "sequences"
    no_refit: ClassVar[str] = "as an HMM is not fitted again"

    @property
    def table(self) -> Table:
        """The steps of all sequences."""
        return self.sequences.steps

    @property
    def n_rows(self) -> float:
        """Steps of all sequences."""
        return float(self.table.n_rows)

    @property
    def n_fitted(self) -> float:
        """The same: nothing is fitted that would depend on it."""
        return self.n_rows

    def refitted(self, table: Table, n_init: int, seed: np.random.SeedSequence) -> Self:
        """Refuse."""
        raise NotImplementedError(self.no_refit)

    def filled(self, table: Table, rows: NDArray[np.int64]) -> Table:
        """Return these steps with their missing cells filled, given the states of their whole sequences."""
        sequences = Sequences.of(table, self.sequences.lengths, self.sequences.weight)
        full, _ = full_blocks(self.model._model, self.model._params, sequences, None)
        return Table(table.schema, full, table.weight).take(rows)
