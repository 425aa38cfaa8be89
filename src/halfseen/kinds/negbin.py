"""Counts, negative binomial within a component: a mean and a size, variance mean + mean^2 / size."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from halfseen.data.columns import Block
from halfseen.kinds.kind import NOT_NEGATIVE, POSITIVE, Build, Counting, Figures
from halfseen.leaves.leaf import Floats, Leaf
from halfseen.leaves.negbin import NegBin, equidispersed, moment_size


class NegBinKind(Counting):
    """Counts with a mean and a size."""

    name = "negbin"
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
