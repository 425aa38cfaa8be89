"""Shares strictly between 0 and 1, beta within a component: a mean and a precision."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from halfseen.data.columns import Block, Column
from halfseen.data.rows import Rows
from halfseen.errors import DataError
from halfseen.export.formula import Formula, Language, observed
from halfseen.export.series import excess
from halfseen.kinds.arithmetic import figure
from halfseen.kinds.records import POSITIVE, Bound, Build, Figures, Fitted, Mask
from halfseen.kinds.resolved import Resolved, floors
from halfseen.leaves import Floored, Leaf
from halfseen.leaves.beta import Beta
from halfseen.leaves.leaf import Floats, Stats

INSIDE = Bound(0.0, high=1.0, open=True)
SPREAD = (1e-30, 1e4)  # of 1 / precision by moments: of nothing but numbers next to 0 and 1 they have no digits
NEAREST = 1e-12  # a mean so close to 0 that the precision has no digits left


class BetaKind(Resolved):
    """Shares with a mean and a precision, variance mean (1 - mean) / (1 + precision)."""

    name = "beta"
    parameters = {"mean": INSIDE, "precision": POSITIVE}  # noqa: RUF012
    statistics = ("mass", "logit deviations", "divergences")
    domain = "a number strictly between 0 and 1"

    def legal(self, values: Floats) -> Mask:
        """Which numbers are strictly between 0 and 1."""
        return (values > 0) & (values < 1)

    def summarise(self, table: Rows, block: Block) -> Figures:
        """Refuse numbers that are all next to 0: as parts of 1 they have no digits."""
        summary = super().summarise(table, block)
        for column, mean in zip(block.columns, summary["mean"], strict=True):
            if mean < NEAREST:
                raise DataError(
                    f"column {column.name!r} cannot be beta: its mean is {mean:.3g}, and as shares of 1 such numbers "
                    "have no digits. Fit it as kind 'gamma'."
                )
        return summary

    def legal_summary(self, summary: Figures) -> bool:
        """Whether means are between 0 and 1, variances above 0, and no step is below."""
        mean, var = summary["mean"], summary["var"]
        return bool(((mean > 0) & (mean < 1) & (var > 0)).all()) and not (summary["step"] < 0).any()

    def unit_summary(self, block: Block) -> Figures:
        """Return the moments of the uniform distribution, and no resolution."""
        unit = super().unit_summary(block)
        return {**unit, "mean": np.full_like(unit["mean"], 1 / 2), "var": np.full_like(unit["var"], 1 / 12)}

    def filled(self, summary: Figures) -> Figures:
        """Return a summary that can be used as it is: that of the uniform distribution where nothing is known."""
        mean, var = (
            np.where(summary["var"] > 0, summary[name], unit) for name, unit in (("mean", 1 / 2), ("var", 1 / 12))
        )
        return {**summary, "mean": mean, "var": var}

    def leaf(self, block: Block, summary: Figures, build: Build) -> Leaf:
        """Return the leaf; variances are in units of mean (1 - mean), where they are 1 / (1 + precision)."""
        mean = summary["mean"]
        share = summary["var"] / (mean * (1 - mean))
        spread = np.clip(share / np.maximum(1 - share, 1e-300), *SPREAD)
        square = summary["step"] ** 2 / (mean * (1 - mean))
        floor, least = (0.0, None) if block.treatment == "fixed" else floors(build, spread, square)
        most = None if least is None else np.divide(1.0, least, out=np.full(len(mean), np.inf), where=least > 0)
        inside = Beta(build.n_components, mean, 1 / spread, build.pseudo_rows, most)
        return Floored(inside, floor) if floor > 0 else inside

    def moments(self, **parameters: Floats) -> tuple[Floats, Floats]:
        """var = mean (1 - mean) / (1 + precision)."""
        mean, precision = parameters["mean"], parameters["precision"]
        return mean, mean * (1 - mean) / (1 + precision)

    def whole(self, values: Mapping[str, Floats], weights: Floats, mean: float, var: float) -> Floats:
        """precision = mean (1 - mean) / var - 1: the beta distribution with the moments of the whole table."""
        return np.array([mean, max(mean * (1 - mean) / max(var, 1e-300) - 1, 0.0)])

    def counted(self, block: Block, leaf: Leaf, stats: Stats, about: Any) -> Iterator[dict[Any, Floats]]:
        """Name the statistics: deviations and divergences are from the current mean."""
        for d in range(len(block.members)):
            yield dict(zip(self.statistics, stats[:, :, d], strict=True))

    def density(self, column: Column, value: Any, parameters: Mapping[Any, float], who: str) -> str:
        """Return Beta(x; mean, precision)."""
        mean, precision = figure(parameters["mean"]), figure(parameters["precision"])
        return f"Beta({column.name} = {value}; mean {mean}, precision {precision})"

    def exported_scores(self, fitted: Fitted, cells: Sequence[Formula], language: Language) -> Iterator[Formula]:
        """Yield peak - precision KL(mean | x) - log x - log(1 - x) of each column; KL as in `leaves.beta`."""
        mean, precision = fitted.params
        peak = Beta(1, mean[0], precision[0]).peak(mean, precision)
        for x, centre, conc, top in zip(cells, mean.T, precision.T, peak.T, strict=True):
            log, other = x.log(), (1.0 - x).log()
            up = excess((x - centre) / centre, log - np.log(centre))
            down = excess((centre - x) / (1 - centre), other - np.log1p(-centre))
            score = top - conc * (centre * up + (1 - centre) * down) - log - other
            yield observed(x, x.finite() & (x > 0.0) & (x < 1.0), score)
