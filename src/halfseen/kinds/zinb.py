"""Counts with structural zeros, the others negative binomial: p(0) = zero + (1 - zero) (1 + mean / size)^-size."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from halfseen.data.columns import Block
from halfseen.kinds.inflated import Inflated
from halfseen.kinds.negbin import NegBinKind
from halfseen.kinds.records import NOT_NEGATIVE, POSITIVE, SHARE, Figures
from halfseen.leaves.leaf import Floats
from halfseen.leaves.negbin import equidispersed


class ZinbKind(Inflated):
    """Zero-inflated negative binomial counts: a share of structural zeros, mean and size of the others."""

    name = "zinb"
    title = "ZINB"
    counts = NegBinKind()
    parameters = {"zero": SHARE, "mean": NOT_NEGATIVE, "size": POSITIVE}  # noqa: RUF012
    statistics = ("mass", "structural zeros", "others", "events", "shared events")

    def within(self, mean: Floats, var: Floats, zero: Floats) -> Floats:
        """var = (var of all + mean of all^2) / (1 - zero) - (mean of all / (1 - zero))^2."""
        left = np.maximum(1 - zero, 1e-300)
        return (var - mean**2 * (zero / left)) / left

    def notes(self, block: Block, summary: Figures, params: Any) -> Iterator[str]:
        """Name the columns whose counts, without the structural zeros, vary no more than Poisson counts."""
        for column, alike in zip(block.columns, equidispersed(params.counts).T, strict=True):
            if alike.any():
                where = "" if alike.all() else f" in component {', '.join(map(str, np.flatnonzero(alike)))}"
                yield (
                    f"column {column.name!r}: no overdispersion{where} beside its structural zeros: the other counts "
                    f"vary no more than Poisson counts, and their size has no upper limit; "
                    f"columns={{{column.name!r}: 'zip'}} needs no size"
                )
