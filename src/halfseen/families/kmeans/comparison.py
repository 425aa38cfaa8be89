"""Clusters of k-means, as they are compared with those of another model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from halfseen.errors import ParameterError
from halfseen.estimators.table.components import LEAST, Move
from halfseen.families.kmeans.centers import names_of
from halfseen.leaves.leaf import Floats

if TYPE_CHECKING:
    from halfseen.families.kmeans.estimator import KMeans


@dataclass(frozen=True, eq=False)
class Clusters:
    """The clusters of a fitted `KMeans`."""

    model: KMeans
    kind: ClassVar[str] = "centres"

    def __post_init__(self) -> None:
        if not hasattr(self.model, "inertia_"):
            raise ParameterError("a KMeans model that was never fitted has no sizes and no spread to compare.")

    @property
    def names(self) -> list[str]:
        """Names of the clusters."""
        return names_of(self.model)

    @property
    def shares(self) -> Floats:
        """Share of the rows in each cluster, (K,)."""
        return np.asarray(self.model.cluster_sizes_ / self.model.cluster_sizes_.sum())

    def overlap(self, other: Clusters) -> tuple[Floats, Floats]:
        """Return the overlap with each of the other clusters, (K, L), and their squared distances, negated.

        The overlap is that of the mixtures that the models stand for: normal, with one variance for all. Centres are
        matched with the nearest, also where all are too far apart for any overlap.
        """
        models = self.model, other.model
        gaps = models[0].cluster_centers_[:, None].astype(np.float64) - models[1].cluster_centers_.astype(np.float64)
        squared = (gaps**2).sum(axis=2)
        variance = sum(m.inertia_ / m.cluster_sizes_.sum() for m in models) / (2 * models[0].n_features_in_)
        overlap = np.exp(-squared / (8 * variance)) if variance > 0 else (squared == 0).astype(np.float64)
        return overlap, -squared

    def moves(self, other: Clusters, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> list[Move]:
        """Return the coordinates of matched centres that differ."""
        moves = []
        for i, j in zip(rows.tolist(), columns.tolist(), strict=True):
            before, after = self.model.cluster_centers_[i].tolist(), other.model.cluster_centers_[j].tolist()
            for d, name in enumerate(self.model._schema.names):
                size = abs(after[d] - before[d]) / max(float(self.model._spread[d]), 1e-300)
                if size > LEAST:
                    moves.append(Move(self.names[i], name, "centre", before[d], after[d], size))
        return moves
