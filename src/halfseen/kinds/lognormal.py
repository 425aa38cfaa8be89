"""Numbers above 0 whose logarithm is normal within a component: incomes, sizes, concentrations, times."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from halfseen.data.columns import Block, Column
from halfseen.data.rows import Rows
from halfseen.export.formula import Formula, Language, observed
from halfseen.kinds.arithmetic import figure
from halfseen.kinds.numbers import HUGE, check_moments
from halfseen.kinds.records import POSITIVE, REAL, Build, Figures, Fitted, Mask
from halfseen.kinds.resolved import Resolved, floors
from halfseen.leaves import Floored, Leaf, PseudoRows
from halfseen.leaves.leaf import Floats, Stats
from halfseen.leaves.lognormal import LogNormal

LARGEST_LOG = 330.0  # of a mean that has a square


class LogNormalKind(Resolved):
    """Numbers above 0, with mean and standard deviation of their logarithm; the summary is that of the logarithms."""

    name = "lognormal"
    parameters = {"log_mean": REAL, "log_sd": POSITIVE}  # noqa: RUF012
    statistics = ("mass", "logs", "squares")
    domain = "a number above 0"

    def legal(self, values: Floats) -> Mask:
        """Which numbers have a logarithm."""
        return (values > 0) & np.isfinite(values)

    def summarise(self, table: Rows, block: Block) -> Figures:
        """Return mean and variance of the logarithms of each column, and its resolution."""
        mean, var, mass = table.moments(block.name, np.log)
        return {**check_moments({"mean": mean, "var": var}, block, mass), **self.scan(table, block)}

    def summary_from(self, block: Block, leaf: Leaf, stats: Stats, about: Any, mass: float) -> Figures:
        """mean = about + first / mass,  var = second / mass - (first / mass)^2, of logarithms."""
        seen, first, second = stats[:3].sum(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            shift = first / seen
            var = np.maximum(second / seen - shift**2, 0.0)
        return check_moments({"mean": about.mean[0] + shift, "var": var}, block, seen)

    def lost_digits(self, summary: Figures, rough: Figures) -> bool:
        """Whether a mean is more than ten standard deviations from its pivot."""
        return bool(np.any((summary["mean"] - rough["mean"]) ** 2 > 100 * summary["var"]))

    def legal_summary(self, summary: Figures) -> bool:
        """Whether all variances are above 0, and no step is below."""
        return bool((summary["var"] > 0).all()) and not (summary["step"] < 0).any()

    def leaf(self, block: Block, summary: Figures, build: Build) -> Leaf:
        """Return the leaf; a step of the numbers is one of the logarithms at the geometric mean."""
        mean, var = summary["mean"], summary["var"]
        pseudo = None if build.pseudo_rows is None else PseudoRows(build.pseudo_rows, var)
        known = np.where(summary["step"] > 0, summary["step"], 1.0)
        with np.errstate(over="ignore"):
            square = np.where(summary["step"] > 0, np.exp(2 * (np.log(known) - mean)), 0.0)
        floor, least = (0.0, None) if block.treatment == "fixed" else floors(build, var, square)
        inside = LogNormal(build.n_components, mean, np.sqrt(var), pseudo, least)
        return Floored(inside, floor) if floor > 0 else inside

    def arrays(self, params: Any) -> dict[str, Floats]:
        """Return means and variances of the logarithms."""
        return {"log_mean": params.mean, "log_var": params.var}

    def named(self, block: Block, params: Any) -> Iterator[dict[Any, Floats]]:
        """Yield means and standard deviations of the logarithms."""
        for d in range(len(block.members)):
            yield {"log_mean": params.mean[..., d], "log_sd": np.sqrt(params.var[..., d])}

    def read_parameters(self, column: str, given: Any, n_components: int) -> dict[str, Floats]:
        """Return means and variances, from standard deviations."""
        found = super().read_parameters(column, given, n_components)
        if "log_sd" in found:
            found["log_var"] = found.pop("log_sd") ** 2
        return found

    def moments(self, **parameters: Floats) -> tuple[Floats, Floats]:
        """mean = exp(log_mean + log_sd^2 / 2),  var = mean^2 (exp(log_sd^2) - 1)."""
        var = parameters["log_sd"] ** 2
        with np.errstate(over="ignore"):
            mean = np.exp(np.minimum(parameters["log_mean"] + var / 2, LARGEST_LOG))
            return mean, np.minimum(mean**2 * np.expm1(var), HUGE)

    def whole(self, values: Mapping[str, Floats], weights: Floats, mean: float, var: float) -> Floats:
        """Return mean and standard deviation of the logarithm in the whole table."""
        log_mean, log_sd = values["log_mean"], values["log_sd"]
        centre = float(weights @ log_mean)
        return np.array([centre, np.sqrt(weights @ (log_sd**2 + (log_mean - centre) ** 2))])

    def expected_log_density(self, fitted: Fitted) -> tuple[Floats, Floats]:
        """mean[k, d] = -1/2 log(2 pi e var[k, d]) - mean[k, d],  var = 1/2 + var[k, d]."""
        mean, var = fitted.params
        return -0.5 * np.log(2 * np.pi * np.e * var) - mean, 0.5 + var

    def exported_scores(self, fitted: Fitted, cells: Sequence[Formula], language: Language) -> Iterator[Formula]:
        """Yield log Normal(log x; mean, var) - log x of each column."""
        for x, mean, var in zip(cells, fitted.params.mean.T, fitted.params.var.T, strict=True):
            log = x.log()
            z = (log - mean) / np.sqrt(var)
            yield observed(x, x.finite() & (x > 0.0), -0.5 * np.log(2 * np.pi * var) - 0.5 * (z * z) - log)

    # ---- number by number ----------------------------------------------------------------------------------------

    def counted(self, block: Block, leaf: Leaf, stats: Stats, about: Any) -> Iterator[dict[Any, Floats]]:
        """Return mass, the plain sum of the logarithms, and their squares about the old mean."""
        mass, first, second, pseudo = stats
        total = first + about.mean * mass
        for d in range(len(block.members)):
            yield {"mass": (mass + pseudo)[:, d], "logs": total[:, d], "squares": second[:, d]}

    def density(self, column: Column, value: Any, parameters: Mapping[Any, float], who: str) -> str:
        """Return LogNormal(x; log_mean, log_sd)."""
        mean, sd = figure(parameters["log_mean"]), figure(parameters["log_sd"])
        return f"LogNormal({column.name} = {value}; {mean}, {sd})"
