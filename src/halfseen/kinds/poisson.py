"""Counts, Poisson within a component: p(x) = rate^x exp(-rate) / x!, whose mean and variance are the rate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.special import gammaln, rel_entr, xlogy

from halfseen.data.columns import Block, Column
from halfseen.export.formula import Formula, Language
from halfseen.export.series import excess, stirling_series
from halfseen.kinds.arithmetic import figure
from halfseen.kinds.counting import Counting
from halfseen.kinds.numbers import check_moments
from halfseen.kinds.records import NOT_NEGATIVE, Build, ColumnProfile, Figures, Fitted
from halfseen.kinds.wording import cut, number, shown
from halfseen.leaves.leaf import Floats, Leaf, Stats
from halfseen.leaves.poisson import Poisson

MANY_EVENTS = 1000.0  # a rate from which counts are as good as normal


class PoissonKind(Counting):
    """Counts with a rate."""

    name = "poisson"
    with_zeros = "zip"
    parameters = {"rate": NOT_NEGATIVE}  # noqa: RUF012
    statistics = ("mass", "events")

    def leaf(self, block: Block, summary: Figures, build: Build) -> Leaf:
        """Return the leaf; a column of zeros has no unit of its own."""
        mean = summary["mean"]
        return Poisson(build.n_components, np.where(mean > 0, mean, 1.0), build.pseudo_rows)

    def chance_of_zero(self, values: Mapping[str, Floats]) -> Floats:
        """p(0) = exp(-rate)."""
        return np.exp(-values["rate"])

    def density(self, column: Column, value: Any, parameters: Mapping[Any, float], who: str) -> str:
        """Return Poisson(x; rate)."""
        return f"Poisson({column.name} = {value}; rate {figure(parameters['rate'])})"

    def summary_from(self, block: Block, leaf: Leaf, stats: Stats, about: Any, mass: float) -> Figures:
        """Return mean = events / mass; the variance is taken as large."""
        seen, events = stats[:2].sum(axis=1)
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            mean = events / seen
        return check_moments({"mean": mean, "var": mean}, block, seen)

    def moments(self, **parameters: Floats) -> tuple[Floats, Floats]:
        """mean = var = rate."""
        return parameters["rate"], parameters["rate"]

    def profile(self, column: Column, values: Mapping[str, Floats], weights: Floats) -> ColumnProfile:
        """distance[k] = rate[k] log(rate[k] / rate) - rate[k] + rate, where rate = sum_k weights[k] rate[k]."""
        rate = values["rate"]
        overall = float(weights @ rate)
        sd = float(np.sqrt(overall + weights @ (rate - overall) ** 2))
        distance = rel_entr(rate, overall) - rate + overall
        return ColumnProfile(column.name, self, ["rate"], rate[None], np.array([overall]), distance, (overall, sd))

    def trait(self, column: ColumnProfile, k: int) -> str:
        """Say the mean count."""
        own, whole = self.card(column, k)
        return f"{column.name} {own} (all {whole})"

    def card(self, column: ColumnProfile, k: int) -> tuple[str, str]:
        """Return the mean counts."""
        return f"{number(column.values[0, k])} on average", number(column.overall[0])

    def odd_cell(self, column: ColumnProfile, k: int, value: Any, who: str) -> str:
        """Say the count, and the mean count of the component."""
        mean = number(column.values[0, k])
        return f"{cut(column.name)} = {shown(float(value))}, where {who} has {mean} on average"

    def unit(self, column: ColumnProfile) -> float:
        """Return the mean count."""
        return max(abs(float(column.overall[0])), 1e-300)

    def expected_log_density(self, fitted: Fitted) -> tuple[Floats, Floats]:
        """Return sum_x p(x) log p(x), and the variance likewise."""
        found = np.array([[_expected(rate) for rate in rates] for rates in fitted.params.tolist()])
        return found[..., 0], found[..., 1]

    def exported_tail(self, count: Formula, values: Mapping[str, Floats], language: Language) -> Formula:
        """Return log Poisson(x; x) - x e((rate - x) / x), e(d) = d - log(1 + d)."""
        rate = values["rate"]
        some = np.where(rate > 0, rate, 1.0)
        peak = -0.5 * (2 * np.pi * count).log() - stirling_series(count)
        tail = peak - count * excess((some - count) / count, np.log(some) - count.log())
        return tail if (rate > 0).all() else tail + np.where(rate > 0, 0.0, -np.inf)


def _expected(rate: float) -> tuple[float, float]:
    """Return mean and variance of log Poisson(x; rate) for x of that rate."""
    if rate > MANY_EVENTS:
        return -0.5 * float(np.log(2 * np.pi * np.e * rate)), 0.5
    events = np.arange(np.ceil(rate + 10 * np.sqrt(rate) + 20))
    logs = xlogy(events, rate) - rate - gammaln(events + 1)
    mean = float(np.sum(np.where(np.isfinite(logs), np.exp(logs) * logs, 0.0)))
    return mean, max(float(np.sum(np.where(np.isfinite(logs), np.exp(logs) * logs**2, 0.0))) - mean**2, 0.0)
