"""k-means as `halfseen.analysis.imputation_check` asks for it: cells of a table, guessed by the nearest centre."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from halfseen.data import Table

if TYPE_CHECKING:
    from halfseen.families.kmeans.estimator import KMeans


@dataclass(frozen=True, eq=False)
class ClusterCells:
    """A fitted `KMeans` with a table of numbers: a `CellImputer`."""

    model: KMeans
    table: Table
    unit: ClassVar[str] = "rows"
    no_refit: ClassVar[str] = ""

    @property
    def n_rows(self) -> float:
        """Rows of the table, by weight."""
        return float(self.table.weight.sum())

    @property
    def n_fitted(self) -> float | None:
        """Rows that the model was fitted to; None if it was not fitted to a table as a whole."""
        return float(self.model.cluster_sizes_.sum()) if hasattr(self.model, "inertia_") else None

    def refitted(self, table: Table, n_init: int, seed: np.random.SeedSequence) -> Self:
        """Fit a copy with the same number of clusters and its own seed, without warnings: the first fit gave them."""
        other = clone(self.model).set_params(n_clusters=len(self.model.cluster_centers_), n_init=n_init)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return type(self)(other.fit(table.blocks["gaussian"], sample_weight=table.weight), table)

    def filled(self, table: Table, rows: NDArray[np.int64]) -> Table:
        """Return for these rows the centre that is nearest over their observed cells."""
        labels, _ = self.model._assigned(np.ascontiguousarray(table.blocks["gaussian"][rows]))
        return Table(table.schema, {"gaussian": self.model.cluster_centers_[labels]}, table.weight[rows])
