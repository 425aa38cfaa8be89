"""Counts with structural zeros, the others Poisson: p(0) = zero + (1 - zero) exp(-rate)."""

from __future__ import annotations

from halfseen.kinds.inflated import Inflated
from halfseen.kinds.poisson import PoissonKind
from halfseen.kinds.records import NOT_NEGATIVE, SHARE
from halfseen.leaves.leaf import Floats


class ZipKind(Inflated):
    """Zero-inflated Poisson counts: a share of structural zeros, and the rate of the others."""

    name = "zip"
    title = "ZIP"
    counts = PoissonKind()
    parameters = {"zero": SHARE, "rate": NOT_NEGATIVE}  # noqa: RUF012
    statistics = ("mass", "structural zeros", "others", "events")

    def within(self, mean: Floats, var: Floats, zero: Floats) -> Floats:
        """var = mean."""
        return mean / (1 - zero)
