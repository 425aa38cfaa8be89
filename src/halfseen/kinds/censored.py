"""Numbers, normal within a component, with limits of detection: "censored(0.5)", "censored(0.5, 100)".

A cell at the lower limit or below says that the number is below it, one at the upper limit or above that it is above;
"censored(-inf, 100)" has an upper limit alone. The kind `censored` itself has no columns: its name needs the limits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from halfseen.data.columns import Block
from halfseen.errors import ParameterError
from halfseen.export.formula import LARGEST, Formula, Language, observed
from halfseen.kinds.coarse import CoarseKind, interval_scores
from halfseen.kinds.gaussian import FARTHEST, GaussianKind
from halfseen.kinds.kind import Kind
from halfseen.kinds.numbers import number_in, said
from halfseen.kinds.records import Build, Figures, Fitted
from halfseen.kinds.resolved import floors
from halfseen.leaves.coarse import Coarsening, Limits
from halfseen.leaves.leaf import Floats

EXAMPLE = "as in 'censored(0.5)', 'censored(0.5, 100)' or 'censored(-inf, 100)'"


class CensoredKind(CoarseKind):
    """Numbers between limits; `how` is None in the kind that only makes others."""

    name = "censored"

    def __init__(self, how: Limits | None = None) -> None:
        self.how = how
        if how is None:
            self.lacks = f"a censored column needs its limits of detection in brackets, {EXAMPLE}."
            return
        high = "" if how.high == np.inf else f", {said(how.high)}"
        self.name = f"censored({said(how.low)}{high})"

    @property
    def coarsening(self) -> Coarsening:
        """The limits."""
        if self.how is None:
            raise ParameterError(self.lacks)
        return self.how

    def with_argument(self, argument: str) -> Kind:
        """Return the kind of columns with these limits."""
        limits = [number_in(part) for part in argument.split(",")]
        low, high = (*limits, np.inf)[:2]
        if len(limits) > 2 or not low < high or (np.isinf([low, high])).all():
            raise ParameterError(
                f"'censored({argument:.60})': the limits of detection are a lower one, or a lower one and an upper one "
                f"above it, {EXAMPLE}."
            )
        return CensoredKind(Limits(low, high))

    def floors(self, build: Build, summary: Figures) -> tuple[float, Floats | None]:
        """As for gaussian columns: numbers between the limits have a density."""
        return floors(build, summary["var"], summary["step"] ** 2)

    def few_values(self, block: Block, summary: Figures) -> dict[str, int]:
        """As for gaussian columns."""
        return GaussianKind.few_values(self, block, summary)

    def exported_scores(self, fitted: Fitted, cells: Sequence[Formula], language: Language) -> Iterator[Formula]:
        """Yield log-probabilities at the limits, and log Normal(x; mean, var) between them."""
        assert self.how is not None
        low, high = self.how.low, self.how.high
        for d, (x, mean, var) in enumerate(zip(cells, fitted.params.mean.T, fitted.params.var.T, strict=True)):
            sd = np.sqrt(var)
            with np.errstate(over="ignore"):
                first, last = (np.clip(mean + side * FARTHEST * sd, -LARGEST, LARGEST) for side in (-1, 1))
            z = (x - mean) / sd
            density = -0.5 * np.log(2 * np.pi * var) - 0.5 * (z * z)
            score: Formula = language.choose((x < first, -np.inf), (x > last, -np.inf), otherwise=density)
            if np.isfinite(high):
                score = language.choose((x < high, score), otherwise=interval_scores(fitted.params, d, high, np.inf))
            if np.isfinite(low):
                score = language.choose((x > low, score), otherwise=interval_scores(fitted.params, d, -np.inf, low))
            yield observed(x, x.finite(), score)
