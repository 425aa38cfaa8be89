"""Numbers, normal within a component; independent of each other given it, or with a covariance.

The shape of the covariance belongs to the leaf that is built: "diag", "spherical", "full", "tied", or given as "fixed"
or "identity". Columns that are fixed or tied one by one are independent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from halfseen.data.columns import Block, Column, numbers_of
from halfseen.data.frames import RawColumn
from halfseen.errors import DataError, ParameterError
from halfseen.kinds.kind import (
    POSITIVE,
    REAL,
    Build,
    ColumnProfile,
    Figures,
    Fitted,
    Kind,
    apart,
    check_moments,
    read_numbers,
)
from halfseen.leaves import Floored, Frozen, Gaussian, GaussianParams, Leaf, Normal, PseudoRows, Ridged, Spherical
from halfseen.leaves.leaf import Floats, Stats

COVARIANCES = ("full", "tied", "diag", "spherical", "fixed", "identity")


class GaussianKind(Kind):
    """Numbers with a mean and a standard deviation."""

    name = "gaussian"
    parameters = {"mean": REAL, "sd": POSITIVE}  # noqa: RUF012
    any_number = True

    def recognises(self, raw: RawColumn) -> bool:
        """Numbers that are no categories."""
        return raw.type == "number"

    def learn(self, raw: RawColumn, name: str) -> Column:
        """Refuse a column that never varies: it has no density."""
        column = super().learn(raw, name)
        observed = numbers_of(raw, name, self.name)[~raw.missing]
        if (observed == observed[0]).all():
            raise DataError(
                f"column {name!r} cannot be gaussian: it is {observed[0]:g} in all observed rows "
                f"(n_samples={len(observed)}), so its variance is 0. Drop the column, or leave its kind open."
            )
        return column

    # ---- the whole table -----------------------------------------------------------------------------------------

    def summary_from(self, block: Block, leaf: Leaf, stats: Stats, about: Any, mass: float) -> Figures:
        """mean = about + first / mass,  var = second / mass - (first / mass)^2, from moments about `about`."""
        seen, first, second = _sums(leaf, stats)
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            shift = first / seen
            var = np.where(np.isinf(second), np.inf, np.maximum(second / seen - shift**2, 0.0))
        return check_moments({"mean": about.mean[0] + shift, "var": var}, block)

    def lost_digits(self, summary: Figures, rough: Figures) -> bool:
        """Whether a mean is more than ten standard deviations from its pivot."""
        with np.errstate(over="ignore"):  # numbers too large, which are named elsewhere
            return bool(np.any((summary["mean"] - rough["mean"]) ** 2 > 100 * summary["var"]))

    def legal_summary(self, summary: Figures) -> bool:
        """Whether all variances are above 0."""
        return bool((summary["var"] > 0).all())

    # ---- the leaf, and parameters given by the user --------------------------------------------------------------

    def leaf(self, block: Block, summary: Figures, build: Build) -> Leaf:
        """Return the leaf by the shape of the covariance."""
        mean, var, shape = summary["mean"], summary["var"], "diag" if block.treatment else build.covariance
        pseudo = None if build.pseudo_rows is None else PseudoRows(build.pseudo_rows, var)
        inside: Gaussian | Normal
        if shape in ("full", "tied", "fixed"):
            inside = Normal(build.n_components, mean, np.sqrt(var), pseudo, tied=shape == "tied")
        else:
            leaf = Spherical if shape == "spherical" else Gaussian
            inside = leaf(build.n_components, mean, np.sqrt(var), pseudo)
        ridged: Leaf = Ridged(inside, build.ridge) if build.ridge > 0 else inside
        if shape in ("fixed", "identity"):
            blank = inside.blank()
            mask = [np.full(part.shape, fixed) for part, fixed in zip(blank, (False, True), strict=True)]
            return Frozen(ridged, type(blank)(*mask))
        return Floored(ridged, build.variance_floor) if build.variance_floor > 0 else ridged

    def claims(self, given: Mapping[Any, Any]) -> bool:
        """Whether a mean is given with a standard deviation or a variance."""
        return set(given) in ({"mean", "sd"}, {"mean", "var"})

    def arrays(self, params: Any) -> dict[str, Floats]:
        """Return means and variances."""
        return {"mean": params.mean, "var": params.var}

    def place(self, params: Any, block: Block, d: int, given: Any, n_components: int) -> None:
        """Write means or variances of one column; a covariance keeps its correlations."""
        found = self.read_parameters(block.columns[d].name, given, n_components)
        if "mean" in found:
            params.mean[:, d] = found["mean"]
        if "var" not in found:
            return
        if isinstance(params, GaussianParams):
            params.var[:, d] = found["var"]
            return
        factor = np.sqrt(found["var"] / params.cov[:, d, d])[:, None]
        params.cov[:, d] *= factor
        params.cov[:, :, d] *= factor

    def read_parameters(self, column: str, given: Any, n_components: int) -> dict[str, Floats]:
        """Return means and variances; a standard deviation may be given instead of a variance."""
        what = f"{column!r}"
        names = set(given) if isinstance(given, Mapping) else set()
        if not names or not names <= {"mean", "var", "sd"} or {"var", "sd"} <= names:
            raise ParameterError(
                f"{what}: expected {{'mean': ..., 'var': ...}} ('sd' instead of 'var', or one of them)."
            )
        found = {}
        if "mean" in given:
            found["mean"] = read_numbers(given["mean"], f"{what}: mean", n_components, REAL)
        if "var" in given:
            found["var"] = read_numbers(given["var"], f"{what}: var", n_components, POSITIVE)
        if "sd" in given:
            found["var"] = read_numbers(given["sd"], f"{what}: sd", n_components, POSITIVE) ** 2
        return found

    # ---- what a component looks like -----------------------------------------------------------------------------

    def moments(self, **parameters: Floats) -> tuple[Floats, Floats]:
        """var = sd^2."""
        return parameters["mean"], parameters["sd"] ** 2

    def profile(self, column: Column, values: Mapping[str, Floats], weights: Floats) -> ColumnProfile:
        """Return means and standard deviations, of the whole too."""
        mean, var = values["mean"], values["var"]
        centre, total, distance = apart(mean, var, weights)
        whole = (centre, total**0.5)
        table = np.stack([mean, np.sqrt(var)])
        return ColumnProfile(column.name, self, ["mean", "sd"], table, np.array(whole), distance, whole)

    def expected_log_density(self, fitted: Fitted) -> tuple[Floats, Floats]:
        """mean[k, d] = -1/2 log(2 pi e var[k, d]),  var = 1/2."""
        var = fitted.params.var
        return -0.5 * np.log(2 * np.pi * np.e * var), np.full(var.shape, 0.5)

    def counted(self, block: Block, leaf: Leaf, stats: Stats, about: Any) -> Iterator[dict[Any, Floats]]:
        """Restate moments about the old mean: mass, the plain sum, and squares about the new mean."""
        if isinstance(leaf, Normal):
            raise ParameterError("columns of numbers that vary together are not shown: use covariance='diag'.")
        mass, first, second, pseudo = stats
        shift = np.divide(first, mass, out=np.zeros_like(first), where=mass > 0)
        squares = second - shift * first
        for d in range(len(block.members)):
            total = first + about.mean * mass
            yield {"mass": (mass + pseudo)[:, d], "sum": total[:, d], "squares": squares[:, d]}


def _sums(leaf: Leaf, stats: Stats) -> tuple[Floats, ...]:
    """Return mass and sums of a block of numbers by column, over all components."""
    if not isinstance(leaf, Normal):
        return tuple(stats[:3].sum(axis=1))
    parts = leaf.parts(stats.sum(axis=0, keepdims=True))
    return np.repeat(parts.mass, len(leaf.scale)), parts.first[0], np.diagonal(parts.second[0])
