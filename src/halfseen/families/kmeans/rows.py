"""Rows and centres of k-means: the two nearest centres, and rows far from their centre.

    gap[n] = 1 - distance[n] / second_distance[n]

is 1 for a row at its centre and 0 for one halfway between two: the silhouette with centres in place of rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from halfseen.analysis.scored_table import Mask
from halfseen.data import Table, check_weight
from halfseen.data.matrix import as_matrix
from halfseen.errors import DataError
from halfseen.families.kmeans.centers import names_of
from halfseen.families.kmeans.estimator import KMeans
from halfseen.kinds.wording import number
from halfseen.leaves.leaf import Floats


class Nearest(NamedTuple):
    """The two nearest centres of each row.

    Attributes
    ----------
    cluster, second : (N,) int arrays              `second` equals `cluster` if there is one centre
    distance, second_distance : (N,) arrays        over the observed cells, scaled to all columns
    """

    cluster: NDArray[np.int64]
    second: NDArray[np.int64]
    distance: Floats
    second_distance: Floats

    @property
    def gap(self) -> Floats:
        """How clearly the nearest centre is nearer than the next, from 0 to 1; 0 for a row without any cell."""
        far = self.second_distance > 0
        return 1 - np.divide(self.distance, self.second_distance, out=np.ones(len(far)), where=far)


def nearest(model: KMeans, X: Any) -> Nearest:
    """Return the two nearest centres of each row.

    Examples
    --------
    >>> import halfseen as hs
    >>> found = nearest(hs.KMeans.from_params([[0.0], [4.0], [9.0]]), [[1.0], [7.0]])
    >>> found.cluster.tolist(), found.second.tolist(), found.distance.tolist(), found.gap.round(2).tolist()
    ([0, 2], [1, 1], [1.0, 2.0], [0.67, 0.33])
    """
    distances = model.transform(X).astype(np.float64)
    rows, cluster = np.arange(len(distances)), model.predict(X).astype(np.int64)
    own = distances[rows, cluster]
    if distances.shape[1] == 1:
        return Nearest(cluster, cluster, own, own)
    distances[rows, cluster] = np.inf
    second = distances.argmin(axis=1)
    return Nearest(cluster, second, own, distances[rows, second])


@dataclass(frozen=True, eq=False)
class ScoredRows:
    """The rows of a table with their nearest centres.

    Attributes
    ----------
    model : KMeans
    table : Table                the rows used, with their weights
    rows : (N,) array            positions of the rows in the table given
    n_given : int                rows in the table given; more than N if a sample was drawn
    nearest : Nearest
    """

    model: KMeans
    table: Table
    rows: NDArray[np.int64]
    n_given: int
    nearest: Nearest

    @property
    def is_sample(self) -> bool:
        """Whether some rows were left out."""
        return len(self.rows) < self.n_given

    @property
    def values(self) -> Floats:
        """The cells, (N, D), NaN where missing."""
        cells: Floats = self.table.blocks["gaussian"]
        return cells

    @property
    def class_names(self) -> list[str]:
        """Names of the clusters."""
        return names_of(self.model)

    @property
    def missing(self) -> Mask:
        """Which cells are missing, (N, D)."""
        return np.isnan(self.values)

    @property
    def proba(self) -> Floats:
        """One for the cluster of each row, (N, K)."""
        return np.eye(len(self.model.cluster_centers_))[self.nearest.cluster]


def score_rows(
    model: KMeans, X: Any, sample_weight: ArrayLike | None = None, most: int | None = None, random_state: int = 0
) -> ScoredRows:
    """Find the nearest centres of the rows of a table, or of a random sample of `most` rows."""
    check_is_fitted(model, "_centred")
    source = model._read(X)
    weight = check_weight(sample_weight, source.n_rows)
    rows = np.arange(source.n_rows)
    n_given = len(rows)
    if most is not None and n_given > most:
        rows = np.sort(np.random.default_rng(random_state).choice(n_given, most, replace=False))
        source, weight = source.take(rows), weight[rows]
        if not weight.any():
            raise DataError(f"all of the {most} rows drawn from {n_given} have weight 0. Leave such rows out of X.")
    return ScoredRows(model, _table(model, as_matrix(source), weight), rows, n_given, nearest(model, source))


def _table(model: KMeans, values: NDArray[Any], weight: Floats) -> Table:
    return Table(model._schema, {"gaussian": values.astype(np.float64)}, weight)


class Far(NamedTuple):
    """A row far from its centre.

    Attributes
    ----------
    row : int               its position in the table given
    cluster : int
    distance : float
    times : float           distance divided by the median distance in its cluster
    why : str               the columns that make most of the distance
    """

    row: int
    cluster: int
    distance: float
    times: float
    why: str


def farthest(seen: ScoredRows, top: int) -> list[Far]:
    """Return the rows farthest from their centres, relative to the median in their cluster.

    Examples
    --------
    >>> import halfseen as hs
    >>> model = hs.KMeans.from_params([[0.0, 0.0], [10.0, 10.0]])
    >>> [far] = farthest(score_rows(model, [[1.0, 0.0], [-1.0, 0.0], [0.0, 4.0], [10.0, 10.0]]), 1)
    >>> far.row, far.times, far.why
    (2, 4.0, 'x1 4 (centre 0)')
    """
    found = seen.nearest
    usual = np.zeros(len(seen.model.cluster_centers_))
    for k in np.unique(found.cluster):
        usual[k] = np.median(found.distance[found.cluster == k])
    units = usual[found.cluster]
    times = np.divide(found.distance, units, out=np.where(found.distance > 0, np.inf, 0.0), where=units > 0)
    times[seen.table.weight == 0] = 0.0
    order = np.lexsort((-found.distance, -times))[:top]
    return [
        Far(int(seen.rows[n]), int(found.cluster[n]), float(found.distance[n]), float(times[n]), _why(seen, n))
        for n in order.tolist()
        if times[n] > 0
    ]


def _why(seen: ScoredRows, n: int, most: int = 2) -> str:
    """Name the columns that make most of a row's distance from its centre."""
    centre = seen.model.cluster_centers_[seen.nearest.cluster[n]]
    squares = np.nan_to_num((seen.values[n] - centre) ** 2)
    order = [d for d in np.argsort(-squares, kind="stable")[:most].tolist() if squares[d] > 0.1 * squares.sum()]
    names = seen.model._schema.names
    shown = [f"{names[d]} {number(float(seen.values[n, d]))} (centre {number(float(centre[d]))})" for d in order]
    return ", ".join(shown)
