"""Kinds whose cells are whole numbers from 0."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halfseen.assign import SOFT
from halfseen.data.columns import Column, is_whole
from halfseen.errors import ParameterError
from halfseen.export.formula import Formula, Language, observed
from halfseen.export.series import FEW_COUNTS
from halfseen.kinds.kind import Kind
from halfseen.kinds.records import (
    Figures,
    Fitted,
    Mask,
)
from halfseen.leaves.leaf import Floats


class Counting(Kind):
    """A kind whose cells are whole numbers from 0.

    To be exported, it implements `exported_tail`: the log-density of counts from `FEW_COUNTS` on. That of smaller ones
    is a table, read off the leaf.
    """

    domain = "a whole number from 0"

    def legal(self, values: Floats) -> Mask:
        """Which numbers are counts."""
        return (values >= 0) & is_whole(values)

    def decode(self, column: Column, cells: NDArray[Any]) -> list[Any]:
        """Return counts as ints; an expected count between two stays a float."""
        return [None if value != value else int(value) if value.is_integer() else value for value in cells.tolist()]

    def exported_scores(self, fitted: Fitted, cells: Sequence[Formula], language: Language) -> Iterator[Formula]:
        """Yield the log-density of each column."""
        for d, (count, values) in enumerate(zip(cells, self.named(fitted.block, fitted.params), strict=True)):
            tail = self.exported_tail(count, values, language)
            score = language.lookup(count, range(FEW_COUNTS), self._few(fitted, d), tail)
            legal = count.finite() & count.floor().equals(count) & (count > -1.0)
            yield observed(count, legal, score)

    def exported_tail(self, count: Formula, values: Mapping[str, Floats], language: Language) -> Formula:
        """Return the log-density of a count of at least `FEW_COUNTS`, wide, given the parameters of its column."""
        raise ParameterError(
            f"columns of kind {self.name!r} cannot be written in {language.name}: it has no `exported_tail`."
        )

    def _few(self, fitted: Fitted, d: int) -> Floats:
        """Return the log-density of the counts below `FEW_COUNTS` in column d, (V, K)."""
        cells = np.full((FEW_COUNTS, len(fitted.block.members)), np.nan)
        cells[:, d] = np.arange(FEW_COUNTS)
        return fitted.leaf.score(fitted.leaf.prepare(fitted.params), cells, SOFT)

    def legal_summary(self, summary: Figures) -> bool:
        """Whether means and variances are at least 0."""
        return super().legal_summary(summary) and bool((summary["mean"] >= 0).all())
