"""Numbers above 0, gamma within a component: a mean and a shape, variance mean^2 / shape."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from halfseen.data.columns import Block, Column
from halfseen.export.formula import Formula, Language, observed
from halfseen.export.series import excess
from halfseen.kinds.arithmetic import figure
from halfseen.kinds.records import POSITIVE, Build, Figures, Fitted, Mask
from halfseen.kinds.resolved import Resolved, floors
from halfseen.leaves import Floored, Leaf
from halfseen.leaves.gamma import Gamma
from halfseen.leaves.leaf import Floats, Stats

NEAR_ONE = 0.1  # relative: shapes that are next to that of an exponential distribution


class GammaKind(Resolved):
    """Numbers above 0 with a mean and a shape."""

    name = "gamma"
    parameters = {"mean": POSITIVE, "shape": POSITIVE}  # noqa: RUF012
    statistics: ClassVar[tuple[str, ...]] = ("mass", "relative deviations", "deviances")
    domain = "a number above 0"

    def legal(self, values: Floats) -> Mask:
        """Which numbers are above 0."""
        return (values > 0) & np.isfinite(values)

    def legal_summary(self, summary: Figures) -> bool:
        """Whether means and variances are above 0, and no step is below."""
        return bool((summary["mean"] > 0).all() and (summary["var"] > 0).all()) and not (summary["step"] < 0).any()

    def unit_summary(self, block: Block) -> Figures:
        """Return mean 1, variance 1, and no resolution."""
        return {**super().unit_summary(block), "mean": np.ones(len(block.members))}

    def filled(self, summary: Figures) -> Figures:
        """Return a summary that can be used as it is: mean 1 where nothing is known."""
        found = super().filled(summary)
        return {**found, "mean": np.where(found["mean"] > 0, found["mean"], 1.0)}

    def leaf(self, block: Block, summary: Figures, build: Build) -> Leaf:
        """Return the leaf; variances are in units of the squared mean, where they are 1 / shape."""
        mean = summary["mean"]
        spread = (np.sqrt(summary["var"]) / mean) ** 2
        floor, least = (
            (0.0, None) if block.treatment == "fixed" else floors(build, spread, (summary["step"] / mean) ** 2)
        )
        most = None if least is None else np.divide(1.0, least, out=np.full(len(mean), np.inf), where=least > 0)
        inside = Gamma(build.n_components, mean, 1 / spread, build.pseudo_rows, most)
        return Floored(inside, floor) if floor > 0 else inside

    def moments(self, **parameters: Floats) -> tuple[Floats, Floats]:
        """var = mean^2 / shape."""
        mean, shape = parameters["mean"], parameters["shape"]
        return mean, mean**2 / shape

    def whole(self, values: Mapping[str, Floats], weights: Floats, mean: float, var: float) -> Floats:
        """shape = mean^2 / var: the gamma distribution with the moments of the whole table."""
        return np.array([mean, mean**2 / max(var, 1e-300)])

    def notes(self, block: Block, summary: Figures, params: Any) -> Iterator[str]:
        """Name the columns whose shapes are next to 1: an exponential column has one parameter less."""
        for column, shape in zip(block.columns, params.shape.T, strict=True):
            if (np.abs(shape - 1) < NEAR_ONE).all():
                yield (
                    f"column {column.name!r}: all shapes are near 1, as of exponential numbers; "
                    f"columns={{{column.name!r}: 'exponential'}} needs no shape"
                )

    def counted(self, block: Block, leaf: Leaf, stats: Stats, about: Any) -> Iterator[dict[Any, Floats]]:
        """Name the statistics: deviations and deviances are about the current mean."""
        for d in range(len(block.members)):
            yield dict(zip(self.statistics, stats[:, :, d], strict=True))

    def density(self, column: Column, value: Any, parameters: Mapping[Any, float], who: str) -> str:
        """Return Gamma(x; mean, shape)."""
        return f"Gamma({column.name} = {value}; mean {figure(parameters['mean'])}, shape {figure(parameters['shape'])})"

    def exported_scores(self, fitted: Fitted, cells: Sequence[Formula], language: Language) -> Iterator[Formula]:
        """Yield peak - shape e(x / mean - 1) - log x of each column, e(d) = d - log(1 + d)."""
        mean, shape = fitted.params
        peak = Gamma(1, mean[0], shape[0]).peak(mean, shape)
        for x, centre, conc, top in zip(cells, mean.T, shape.T, peak.T, strict=True):
            log = x.log()
            deviance = excess((x - centre) / centre, log - np.log(centre))
            yield observed(x, x.finite() & (x > 0.0), top - conc * deviance - log)
