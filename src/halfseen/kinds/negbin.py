"""Counts, negative binomial within a component: a mean and a size, variance mean + mean^2 / size."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from halfseen.data.columns import Block, Column
from halfseen.export.formula import Formula, Language
from halfseen.export.series import excess, stirling_series
from halfseen.kinds import by_numbers
from halfseen.kinds.arithmetic import figure
from halfseen.kinds.counting import Counting
from halfseen.kinds.records import NOT_NEGATIVE, POSITIVE, Build, Estimate, Figures, MStep
from halfseen.leaves.leaf import Floats, Leaf
from halfseen.leaves.negbin import NegBin, equidispersed, moment_size, stirling_error


class NegBinKind(Counting):
    """Counts with a mean and a size."""

    name = "negbin"
    with_zeros = "zinb"
    parameters = {"mean": NOT_NEGATIVE, "size": POSITIVE}  # noqa: RUF012
    statistics = ("mass", "events", "shared events")

    def leaf(self, block: Block, summary: Figures, build: Build) -> Leaf:
        """Return the leaf; a column of zeros has no unit of its own."""
        mean = np.where(summary["mean"] > 0, summary["mean"], 1.0)
        return NegBin(build.n_components, mean, moment_size(mean, summary["var"]), build.pseudo_rows)

    def moments(self, **parameters: Floats) -> tuple[Floats, Floats]:
        """var = mean + mean^2 / size."""
        mean, size = parameters["mean"], parameters["size"]
        return mean, mean + mean**2 / size

    def chance_of_zero(self, values: Mapping[str, Floats]) -> Floats:
        """p(0) = (1 + mean / size)^-size."""
        return np.exp(-values["size"] * np.log1p(values["mean"] / values["size"]))

    def density(self, column: Column, value: Any, parameters: Mapping[Any, float], who: str) -> str:
        """Return NegBin(x; mean, size)."""
        mean, size = figure(parameters["mean"]), figure(parameters["size"])
        return f"NegBin({column.name} = {value}; mean {mean}, size {size})"

    def estimates(self, step: MStep) -> Iterator[dict[Any, Estimate]]:
        """mean = events / mass;  the size has no formula."""
        for own, pseudo in by_numbers.counted(self, step):
            yield {"mean": by_numbers.quotient((own["events"], pseudo["events"]), (own["mass"], pseudo["mass"]))}

    def whole(self, values: Mapping[str, Floats], weights: Floats, mean: float, var: float) -> Floats:
        """size = mean^2 / (var - mean): the negative binomial with the moments of the whole table."""
        return np.array([mean, mean**2 / max(var - mean, 1e-300)])

    def notes(self, block: Block, summary: Figures, params: Any) -> Iterator[str]:
        """Name the columns that vary no more than Poisson counts."""
        for column, alike in zip(block.columns, equidispersed(params).T, strict=True):
            if alike.any():
                where = "" if alike.all() else f" in component {', '.join(map(str, np.flatnonzero(alike)))}"
                yield (
                    f"column {column.name!r}: no overdispersion{where}: its counts vary no more than Poisson counts, "
                    f"and its size has no upper limit; columns={{{column.name!r}: 'poisson'}} needs no size"
                )

    def exported_tail(self, count: Formula, values: Mapping[str, Floats], language: Language) -> Formula:
        """Return log NegBin(x; mean, size) as `leaves.negbin.log_density` does, for counts alone.

        log p = peak(x) - x e(size (mean - x) / ((size + mean) x)) - size e((x - mean) / (size + mean)),
        e(d) = d - log(1 + d)
        """
        mean, size = values["mean"], values["size"]
        some = np.where(mean > 0, mean, 1.0)
        more, off = (count + size).log(), (some - count) / (size + some)
        errors = stirling_series(count + size) - stirling_series(count) - stirling_error(size)
        peak = errors - 0.5 * (more - np.log(size)) - 0.5 * (2 * np.pi * count).log()
        events = count * excess(size * off / count, np.log(some) - np.log(size + some) + more - count.log())
        tail = peak - events - size * excess(-1.0 * off, more - np.log(size + some))
        return tail if (mean > 0).all() else tail + np.where(mean > 0, 0.0, -np.inf)
