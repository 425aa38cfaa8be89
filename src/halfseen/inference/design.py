"""How the units of a sample were drawn: strata, and clusters within them.

The variance of a sum of scores under such a design, first clusters drawn with replacement within each stratum:

    g[c] = sum over units n of cluster c of weight[n] s[n]
    V = sum_h C_h / (C_h - 1) sum over clusters c of stratum h of (g[c] - mean_h g) (g[c] - mean_h g)'

Without clusters every unit is its own; without strata there is one. Multiplied on both sides by the inverse curvature
this is the linearised (Taylor) variance of the estimates.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halfseen.data import read
from halfseen.errors import DataError
from halfseen.estimators.observed import Observed
from halfseen.leaves.leaf import Floats
from halfseen.leaves.limits import Params

Ints = NDArray[np.intp]


@dataclass(frozen=True)
class Design:
    """Strata and clusters of a sample.

    Attributes
    ----------
    stratum : (C,) array    stratum of each cluster
    cluster : (N,) array    cluster of each unit
    names : what was given: "strata", "cluster"
    """

    stratum: Ints
    cluster: Ints
    names: tuple[str, ...]

    @property
    def freedom(self) -> int:
        """Degrees of freedom: clusters less strata."""
        return len(self.stratum) - int(self.stratum.max()) - 1

    def variance(self, observed: Observed, params: Params, basis: Floats) -> Floats:
        """Return V of the scores in a basis, (R, R)."""
        scores = np.concatenate([each @ basis for each in observed.scores(params)])
        used = np.flatnonzero(observed.place >= 0)
        sums = np.zeros((len(self.stratum), basis.shape[1]))
        np.add.at(sums, self.cluster[used], observed.given[used, None] * scores[observed.place[used]])
        total = np.zeros((basis.shape[1], basis.shape[1]))
        for h in range(int(self.stratum.max()) + 1):
            own = sums[self.stratum == h]
            away = own - own.mean(axis=0)
            total += len(own) / (len(own) - 1) * away.T @ away
        return total

    def __str__(self) -> str:
        parts = []
        if "strata" in self.names:
            parts.append(f"{int(self.stratum.max()) + 1:,} strata")
        parts.append(f"{len(self.stratum):,} {'clusters' if 'cluster' in self.names else 'units'}")
        return ", ".join(parts)


def read_design(strata: Any, cluster: Any, weight: Floats) -> Design:
    """Return the design of units with these weights; those of weight 0 were not drawn."""
    n_units = len(weight)
    drawn = weight > 0
    names = tuple(name for name, given in (("strata", strata), ("cluster", cluster)) if given is not None)
    strata_of, strata_names = _numbered("strata", strata, n_units, drawn)
    if cluster is None:
        cluster_of = np.where(drawn, np.cumsum(drawn) - 1, 0)
        cluster_names: NDArray[Any] = np.arange(int(drawn.sum()))
    else:
        cluster_of, cluster_names = _numbered("cluster", cluster, n_units, drawn)
    stratum = np.zeros(len(cluster_names), dtype=np.intp)
    stratum[cluster_of[drawn]] = strata_of[drawn]
    crossing = drawn & (stratum[cluster_of] != strata_of)
    if crossing.any():
        name = cluster_names[cluster_of[crossing][0]]
        raise DataError(
            f"cluster {name!r} has units of several strata. Number the clusters of each stratum apart, for example "
            "by joining the names of stratum and cluster."
        )
    sizes = np.bincount(stratum, minlength=len(strata_names))
    if (sizes < 2).any():
        if len(sizes) == 1:
            raise DataError("there is one cluster: the variance between clusters cannot be estimated.")
        raise DataError(
            f"stratum {strata_names[int(sizes.argmin())]!r} has one cluster: its variance cannot be estimated. Merge "
            "it with another stratum."
        )
    return Design(stratum, cluster_of, names)


def _numbered(name: str, values: Any, n_units: int, drawn: NDArray[np.bool_]) -> tuple[Ints, NDArray[Any]]:
    """Return the number of each unit's value among the distinct ones of those drawn, and these values."""
    if values is None:
        return np.zeros(n_units, dtype=np.intp), np.zeros(1)
    given = np.asarray(values)
    if given.ndim != 1 or len(given) != n_units:
        raise DataError(f"{name} has shape {given.shape}; give one value for each of the {n_units:,} units.")
    column = read(given.reshape(-1, 1)).column(0)
    if (column.missing & drawn).any():
        raise DataError(f"{name}: unit {int(np.flatnonzero(column.missing & drawn)[0])} has a missing value.")
    numbers: dict[Any, int] = {}
    pairs = zip(given.tolist(), drawn, strict=True)
    found = [numbers.setdefault(value, len(numbers)) if used else 0 for value, used in pairs]
    return np.array(found, dtype=np.intp), np.array(list(numbers), dtype=object)
