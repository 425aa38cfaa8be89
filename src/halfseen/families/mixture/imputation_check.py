"""Mixtures as `halfseen.analysis.imputation_check` asks for them: cells of a table, guessed by the classes."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from halfseen.data import Table

if TYPE_CHECKING:
    from halfseen.families.mixture.fit import MixtureFit


@dataclass(frozen=True, eq=False)
class MixtureCells:
    """A fitted mixture with an encoded table, and the labels of a classifier: a `CellImputer`."""

    model: MixtureFit
    table: Table
    y: Any = None
    unit: ClassVar[str] = "rows"

    @cached_property
    def n_rows(self) -> float:
        """Rows of the table with any observation, as a fit weights them."""
        return self.model._labelled(self.table, self.y).n_observed

    @property
    def n_fitted(self) -> float | None:
        """Rows that the model was fitted to; None if it was not fitted to a table as a whole."""
        return self.model._n_rows if hasattr(self.model, "loglik_") else None

    @property
    def no_refit(self) -> str:
        """Why the model cannot be fitted again."""
        lacking = self.y is None and hasattr(self.model, "classes_")
        return "as no labels were given to fit it again: it needs the labels, y=" if lacking else ""

    def refitted(self, table: Table, n_init: int, seed: np.random.SeedSequence) -> Self:
        """Fit a copy to a table with more missing cells: same columns, categories and number of classes."""
        other = copy(self.model)
        other.n_init = n_init
        rows = other._labelled(table, self.y).canonical()
        found = other._search(rows, len(other.weights_), seed, covariance=other._recipe.covariance)
        other._model, other._params = found.model, found.params
        return type(self)(other, table, self.y)

    def filled(self, table: Table, rows: NDArray[np.int64]) -> Table:
        """Return these rows with their missing cells filled, given the posterior of their classes."""
        own = table.take(rows)
        resp = np.concatenate(self.model._infer(own, lambda part: part.usage["emit"]))
        return Table(own.schema, self.model._filled(own.chunks(size=len(rows))[0], resp, None), own.weight)
