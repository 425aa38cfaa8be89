"""Numbers above 0, exponential within a component: a gamma distribution of shape 1."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from halfseen.data.columns import Block, Column
from halfseen.data.frames import RawColumn
from halfseen.kinds.arithmetic import figure
from halfseen.kinds.gamma import GammaKind
from halfseen.kinds.kind import Kind
from halfseen.kinds.records import POSITIVE, Build, Figures, Fitted
from halfseen.leaves import Leaf
from halfseen.leaves.gamma import Exponential, GammaParams
from halfseen.leaves.leaf import Floats, Stats

EVEN = 0.5  # variance over squared mean from which down numbers vary less than any mixture of exponential ones


class ExponentialKind(GammaKind):
    """Numbers above 0 with a mean, which is their standard deviation too; no density grows without bound."""

    name = "exponential"
    parameters = {"mean": POSITIVE}  # noqa: RUF012
    statistics = ("mass", "sum")
    scanned = ()

    def learn(self, raw: RawColumn, name: str) -> Column:
        """Take a column that never varies too."""
        return Kind.learn(self, raw, name)

    def unit_summary(self, block: Block) -> Figures:
        """Return mean 1, variance 1."""
        return {name: np.ones(len(block.members)) for name in ("mean", "var")}

    def filled(self, summary: Figures) -> Figures:
        """Return a summary that can be used as it is: 1 where nothing is known."""
        return {name: np.where(summary[name] > 0, summary[name], 1.0) for name in ("mean", "var")}

    def few_values(self, block: Block, summary: Figures) -> dict[str, int]:
        """Return none: classes cannot settle on single values."""
        return {}

    def legal_summary(self, summary: Figures) -> bool:
        """Whether means are above 0 and variances at least 0."""
        return bool((summary["mean"] > 0).all() and (summary["var"] >= 0).all())

    def leaf(self, block: Block, summary: Figures, build: Build) -> Leaf:
        """Return the leaf: a gamma whose shape is 1."""
        return Exponential(build.n_components, summary["mean"], build.pseudo_rows)

    def arrays(self, params: Any) -> dict[str, Floats]:
        """Return the means."""
        return {"mean": params.mean}

    def moments(self, **parameters: Floats) -> tuple[Floats, Floats]:
        """var = mean^2."""
        return parameters["mean"], parameters["mean"] ** 2

    def whole(self, values: Mapping[str, Floats], weights: Floats, mean: float, var: float) -> Floats:
        """Return the mean."""
        return np.array([mean])

    def notes(self, block: Block, summary: Figures, params: Any) -> Iterator[str]:
        """Name the columns that vary less than any mixture of exponential numbers."""
        for column, mean, var in zip(block.columns, summary["mean"], summary["var"], strict=True):
            if var < EVEN * mean**2:
                yield (
                    f"column {column.name!r}: its standard deviation is {np.sqrt(var) / mean:.2g} times its mean, and "
                    f"of exponential numbers at least as large; columns={{{column.name!r}: 'gamma'}} may fit better"
                )

    def expected_log_density(self, fitted: Fitted) -> tuple[Floats, Floats]:
        """mean[k, d] = -1 - log mean[k, d],  var = 1."""
        mean = fitted.params.mean
        return -1 - np.log(mean), np.ones_like(mean)

    def counted(self, block: Block, leaf: Leaf, stats: Stats, about: GammaParams) -> Iterator[dict[Any, Floats]]:
        """Return mass and plain sum."""
        for d in range(len(block.members)):
            yield {"mass": stats[0, :, d], "sum": about.mean[:, d] * (stats[0] + stats[1])[:, d]}

    def density(self, column: Column, value: Any, parameters: Mapping[Any, float], who: str) -> str:
        """Return Exponential(x; mean)."""
        return f"Exponential({column.name} = {value}; mean {figure(parameters['mean'])})"
