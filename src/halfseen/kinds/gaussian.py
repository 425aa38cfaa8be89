"""Numbers, normal within a component; independent of each other given it, or with a covariance.

The shape of the covariance belongs to the leaf that is built: "diag", "spherical", "full", "tied", or given as "fixed"
or "identity". Columns that are fixed or tied one by one are independent.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from halfseen.assign import SOFT
from halfseen.data.columns import Block, Column, numbers_of
from halfseen.data.frames import RawColumn
from halfseen.data.resolution import FEW, Seen
from halfseen.errors import DataError, ParameterError
from halfseen.export.formula import LARGEST, Formula, Language, observed
from halfseen.kinds import gaussian_numbers
from halfseen.kinds.arithmetic import beside, figure
from halfseen.kinds.doubts import count_kind
from halfseen.kinds.kind import Kind
from halfseen.kinds.numbers import HUGE, apart, check_moments, read_numbers
from halfseen.kinds.records import (
    POSITIVE,
    REAL,
    Addends,
    Build,
    ColumnProfile,
    Density,
    Estimate,
    Figures,
    Fitted,
    MStep,
)
from halfseen.kinds.wording import number
from halfseen.leaves import Floored, Frozen, Gaussian, GaussianParams, Leaf, Normal, PseudoRows, Ridged, Spherical
from halfseen.leaves.leaf import NO_MASS, Floats, Stats

COVARIANCES = ("full", "tied", "diag", "spherical", "fixed", "identity")
PLAIN_FLOOR = 1e-8  # share of a column's variance, where its resolution says nothing
RESOLUTION = "resolution"
LARGEST_FLOOR = 0.25  # share of a column's variance: of two values it is all that distinguishes the components
FARTHEST = float(np.sqrt(LARGEST))  # standard deviations from a mean: the square of more is beyond float64
SMALL_RATIO = 1e-3  # of variances of two components of one column, from which the smaller is suspect


class GaussianKind(Kind):
    """Numbers with a mean and a standard deviation."""

    name = "gaussian"
    parameters = {"mean": REAL, "sd": POSITIVE}  # noqa: RUF012
    any_number = True
    scanned: ClassVar[tuple[str, ...]] = ("step", "distinct")

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

    def seen(self, cells: Any, known: Any = None) -> Seen:
        """Return the distinct numbers."""
        return Seen.of(cells, known)

    def scan_figures(self, seen: Seen) -> Figures:
        """Return the resolution of each column and the number of its distinct values, (D,) each."""
        return seen.resolution._asdict()

    def joined(self, before: Figures, scanned: Figures) -> Figures:
        """Return the finer resolution; none once a piece has none. Values are counted in the piece with most.

        A piece with less than two distinct values has no say in it.
        """
        old, new = (np.where(part["distinct"] < 2, np.inf, part["step"]) for part in (before, scanned))
        step = np.minimum(old, new)
        distinct = np.maximum(before["distinct"], scanned["distinct"])
        return {"step": np.where(np.isfinite(step), step, 0.0), "distinct": distinct}

    def unit_summary(self, block: Block) -> Figures:
        """Return mean 0, variance 1, and no resolution."""
        none = np.zeros(len(block.members))
        return {**super().unit_summary(block), "step": none, "distinct": none}

    def filled(self, summary: Figures) -> Figures:
        """Return a summary that can be used as it is: the resolution always can."""
        return {**super().filled(summary), "step": summary["step"], "distinct": summary["distinct"]}

    def few_values(self, block: Block, summary: Figures) -> dict[str, int]:
        """Return the columns with at most 20 distinct values."""
        counts = zip(block.columns, summary["distinct"].tolist(), strict=True)
        return {column.name: int(count) for column, count in counts if 1 < count <= FEW}

    def summary_from(self, block: Block, leaf: Leaf, stats: Stats, about: Any, mass: float) -> Figures:
        """mean = about + first / mass,  var = second / mass - (first / mass)^2, from moments about `about`."""
        seen, first, second = _sums(leaf, stats)
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            shift = first / seen
            var = np.where(np.isinf(second), np.inf, np.maximum(second / seen - shift**2, 0.0))
        return check_moments({"mean": about.mean[0] + shift, "var": var}, block, seen)

    def lost_digits(self, summary: Figures, rough: Figures) -> bool:
        """Whether a mean is more than ten standard deviations from its pivot."""
        with np.errstate(over="ignore"):  # numbers too large, which are named elsewhere
            return bool(np.any((summary["mean"] - rough["mean"]) ** 2 > 100 * summary["var"]))

    def legal_summary(self, summary: Figures) -> bool:
        """Whether all variances are above 0, and no step is below."""
        return bool((summary["var"] > 0).all()) and not (summary["step"] < 0).any()

    def doubts(self, block: Block, cells: Any, weight: Floats, inferred: Container[str]) -> Iterator[str]:
        """Name codes that may mean missing, and counts."""
        yield from super().doubts(block, cells, weight, inferred)
        low = np.fmin.reduce(cells, axis=0)
        for d in np.flatnonzero((low == 0) | (low == 1)).tolist():
            column = block.columns[d]
            kind = count_kind(np.asarray(cells[:, d]), weight) if column.name in inferred else None
            if kind is not None:
                yield (
                    f"column {column.name!r} holds whole numbers from {low[d]:.0f}, as counts do: "
                    f"columns={{{column.name!r}: {kind!r}}} may fit better than normal distributions"
                )

    # ---- the leaf, and parameters given by the user --------------------------------------------------------------

    def leaf(self, block: Block, summary: Figures, build: Build) -> Leaf:
        """Return the leaf by the shape of the covariance."""
        mean, var, shape = summary["mean"], summary["var"], "diag" if block.treatment else build.covariance
        pseudo = None if build.pseudo_rows is None else PseudoRows(build.pseudo_rows, var)
        given = shape in ("fixed", "identity") or block.treatment == "fixed"
        floor, least = (0.0, None) if given else variance_floors(build, summary)
        inside: Gaussian | Normal
        if shape in ("full", "tied", "fixed"):
            inside = Normal(build.n_components, mean, np.sqrt(var), pseudo, shape == "tied", least)
        else:
            if shape == "spherical":
                _refuse_unlike(block, var)
            leaf = Spherical if shape == "spherical" else Gaussian
            inside = leaf(build.n_components, mean, np.sqrt(var), pseudo, least)
        ridged: Leaf = Ridged(inside, build.ridge) if build.ridge > 0 else inside
        if shape in ("fixed", "identity"):
            blank = inside.blank()
            mask = [np.full(part.shape, fixed) for part, fixed in zip(blank, (False, True), strict=True)]
            return Frozen(ridged, type(blank)(*mask))
        return Floored(ridged, floor) if floor > 0 else ridged

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

    def degenerate(self, fitted: Fitted) -> Iterator[tuple[int, str]]:
        """Yield components with at most D + 1 rows, or with a variance far below that of another component.

        D is the number of columns of a covariance, 1 where columns are independent. Of covariances the smallest
        eigenvalue in units of the columns' scale is compared.
        """
        leaf, params = fitted.leaf, fitted.params
        n_columns = len(fitted.block.members) if isinstance(leaf, Normal) else 1
        if fitted.stats is None or len(params.mean) < 2 or (np.ptp(params.var, axis=0) == 0).all():
            return  # a variance that all components share is not that of a few rows
        rows, spread = _rows(leaf, fitted.stats), _spreads(leaf, params)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.nan_to_num(spread / spread.max(axis=0), nan=1.0)
        for k in range(len(rows)):
            d = int(ratio[k].argmin())
            healthy = rows[k] > n_columns + 1 and ratio[k, d] >= SMALL_RATIO
            if healthy or rows[k] < NO_MASS:  # one without rows is noted elsewhere
                continue
            few = f"on {number(rows[k])} {'row' if number(rows[k]) == '1' else 'rows'}"
            few += f" for {n_columns} columns" if n_columns > 1 else ""
            yield k, f"{_spread_in_words(fitted, k, d)} {few}" + _relative(float(ratio[k, d]))

    def exported_scores(self, fitted: Fitted, cells: Sequence[Formula], language: Language) -> Iterator[Formula]:
        """Yield log Normal(x; mean, var) of each column, or of all together where they have a covariance."""
        if isinstance(fitted.leaf, Normal):
            yield _joint(fitted, cells, language)
            return
        for x, mean, var in zip(cells, fitted.params.mean.T, fitted.params.var.T, strict=True):
            sd = np.sqrt(var)
            with np.errstate(over="ignore"):
                low, high = (np.clip(mean + side * FARTHEST * sd, -LARGEST, LARGEST) for side in (-1, 1))
            z = (x - mean) / sd
            density = -0.5 * np.log(2 * np.pi * var) - 0.5 * (z * z)
            far = language.choose((x < low, -np.inf), (x > high, -np.inf), otherwise=density)
            yield observed(x, x.finite(), far)

    # ---- number by number ----------------------------------------------------------------------------------------

    def counted(self, block: Block, leaf: Leaf, stats: Stats, about: Any) -> Iterator[dict[Any, Floats]]:
        """Restate moments about the old mean: mass, the plain sum, and squares about the new mean."""
        if isinstance(leaf, Normal):
            yield from _counted_together(block, leaf, stats, about)
            return
        mass, first, second, pseudo = stats
        shift = np.divide(first, mass, out=np.zeros_like(first), where=mass > 0)
        squares = second - shift * first
        for d in range(len(block.members)):
            total = first + about.mean * mass
            yield {"mass": (mass + pseudo)[:, d], "sum": total[:, d], "squares": squares[:, d]}

    def density(self, column: Column, value: Any, parameters: Mapping[Any, float], who: str) -> str:
        """Return N(x; mean, sd)."""
        mean, sd = parameters["mean"], float(np.sqrt(parameters["var"]))
        return f"N({column.name} = {beside(value, sd)}; {beside(mean, sd)}, {figure(sd)})"

    def densities(self, fitted: Fitted, cells: Any, classes: Sequence[str]) -> list[list[Density]]:
        """Return the density of every cell, or of every row where its cells have a covariance."""
        if not isinstance(fitted.leaf, Normal):
            return super().densities(fitted, cells, classes)
        logs = fitted.leaf.score(fitted.leaf.prepare(fitted.params), cells, SOFT)
        found = []
        for row, log in zip(cells, logs, strict=True):
            names = [f"density of the row ({who}{_integrated(fitted.block, row)})" for who in classes]
            found.append([] if np.isnan(row).all() else [Density(min(fitted.block.members), names, log)])
        return found

    def addends(self, fitted: Fitted, cells: Any, stats: Stats) -> Iterator[dict[Any, Addends]]:
        """Yield 1, x and the square about the new mean for each cell that is observed."""
        return gaussian_numbers.addends(self, fitted, cells, stats)

    def estimates(self, step: MStep) -> Iterator[dict[Any, Estimate]]:
        """mean = sum / mass,  sd = sqrt(squares / mass)."""
        return gaussian_numbers.estimates(self, step)


def _integrated(block: Block, row: Floats) -> str:
    """Say which cells of a row are missing."""
    missing = [column.name for column, value in zip(block.columns, row, strict=True) if np.isnan(value)]
    return f"; missing {', '.join(missing)} integrated out" if missing else ""


def _counted_together(block: Block, leaf: Normal, stats: Stats, about: Any) -> Iterator[dict[Any, Floats]]:
    """The same of columns with a joint covariance, and their products; missing cells are completed in expectation."""
    mass, pseudo, first, second = leaf.parts(stats)
    shift = np.divide(first, mass[:, None], out=np.zeros_like(first), where=mass[:, None] > 0)
    products = second - shift[:, :, None] * first[:, None]
    total = first + about.mean * mass[:, None]
    for d in range(len(block.members)):
        found = {"mass": mass + pseudo, "sum": total[:, d], "squares": products[:, d, d]}
        others = {f"products with {block.columns[e].name}": products[:, d, e] for e in range(d)}
        yield {**found, **others}


def _refuse_unlike(block: Block, var: Floats) -> None:
    """Refuse columns whose variances cannot be one: in the unit of the smallest, that would be no number."""
    low, high = int(np.argmin(var)), int(np.argmax(var))
    if var[low] < var[high] / HUGE:
        names = block.columns[low].name, block.columns[high].name
        raise DataError(
            f"columns {names[0]!r} and {names[1]!r}: their variances, {var[low]:.3g} and {var[high]:.3g}, are too far "
            "apart to share one, as covariance_type='spherical' has it. Rescale them, or use 'diag'."
        )


def _joint(fitted: Fitted, cells: Sequence[Formula], language: Language) -> Formula:
    """Return log Normal(x; mean, cov) = offset - |(x - mean) U|^2 / 2, cov^-1 = U U', of rows without missing cells.

    Rows without any cell score 0. Where some cells are missing, their covariance with the others would be needed for
    every set of them: such rows are undefined. So are numbers so far away that their squares are beyond float64.
    """
    leaf = fitted.leaf
    assert isinstance(leaf, Normal)
    mean, factor, _, offset = leaf.prepare(fitted.params)
    near = FARTHEST / len(cells) / np.abs(factor).max(axis=(0, 2))  # (D,)
    apart = [x - centre for x, centre in zip(cells, mean.T, strict=True)]
    within = [abs(x - centre) < reach for x, centre, reach in zip(cells, mean.mean(axis=0), near, strict=True)]
    squares = []
    for e in range(len(cells)):
        whitened = language.total([apart[d] * factor[:, d, e] for d in range(e + 1)])
        squares.append(whitened * whitened)
    return language.choose(
        (language.all([x.missing() for x in cells]), 0.0),
        (language.all(within), offset - 0.5 * language.total(squares)),
        otherwise=language.undefined,
    )


def variance_floors(build: Build, summary: Figures) -> tuple[float, Floats | None]:
    """Return the smallest variance as a share of that of the column, and that by the resolution, (D,).

    step^2 / (2 pi) is the variance of a normal density that is nowhere above 1 / step; never more than a quarter of the
    variance of the column. A grid so fine that the plain floor is higher is as good as none. A single component takes
    the whole table and cannot come to rest on one number.
    """
    if build.variance_floor != RESOLUTION:
        return float(build.variance_floor), None
    if build.n_components == 1:
        return PLAIN_FLOOR, None
    var = summary["var"]
    least = np.minimum(summary["step"] ** 2 / (2 * np.pi), LARGEST_FLOOR * var)
    least = np.where(least > PLAIN_FLOOR * var, least, 0.0)
    return PLAIN_FLOOR, least if least.any() else None


def _rows(leaf: Leaf, stats: Stats) -> Floats:
    """Return the expected number of rows of each component in which some column of the block is observed, (K,)."""
    return leaf.parts(stats).mass if isinstance(leaf, Normal) else np.asarray(stats[0].max(axis=1))


def _spreads(leaf: Leaf, params: Any) -> Floats:
    """Return what is compared between components: variances (K, D), or smallest eigenvalues (K, 1)."""
    if not isinstance(leaf, Normal):
        return np.asarray(params.var)
    return np.linalg.eigvalsh(params.cov / np.outer(leaf.scale, leaf.scale))[:, :1]


def _spread_in_words(fitted: Fitted, k: int, d: int) -> str:
    """Return the smallest variance of a component, as the beginning of a sentence."""
    if isinstance(fitted.leaf, Normal) and len(fitted.block.members) > 1:
        smallest = float(_spreads(fitted.leaf, fitted.params)[k, 0])
        return f"smallest eigenvalue {number(smallest)} (columns in units of their standard deviation)"
    return f"variance {number(float(fitted.params.var[k, d]))} in column {fitted.block.columns[d].name!r}"


def _relative(ratio: float) -> str:
    return f" ({ratio:.1g} times the largest)" if ratio < SMALL_RATIO else ""


def _sums(leaf: Leaf, stats: Stats) -> tuple[Floats, ...]:
    """Return mass and sums of a block of numbers by column, over all components."""
    if not isinstance(leaf, Normal):
        return tuple(stats[:3].sum(axis=1))
    parts = leaf.parts(stats.sum(axis=0, keepdims=True))
    return np.repeat(parts.mass, len(leaf.scale)), parts.first[0], np.diagonal(parts.second[0])
