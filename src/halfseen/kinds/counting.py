"""Kinds whose cells are whole numbers from 0."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

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
from halfseen.kinds.wording import small_percent
from halfseen.leaves.leaf import Floats

FAR = 5.0  # standard deviations from which zeros are too many
MORE = 1.25  # and times as many as expected
NEAR = 2.0  # standard deviations within which zeros are as many as expected


class Zeros(NamedTuple):
    """Zeros of a column: their share of its cells, the share that is expected, and how far apart these are.

    `apart` is (zeros - n expected) / sqrt(n expected (1 - expected)) of n cells.
    """

    seen: float
    expected: float
    apart: float

    @classmethod
    def of(cls, cells: Floats, weight: Floats, expected: float) -> Zeros:
        """Return those of the cells of a column, (n,)."""
        mass = float(weight[~np.isnan(cells)].sum())
        seen = float(weight[cells == 0].sum()) / mass if mass > 0 else expected
        spread = max(expected * (1 - expected), 1e-300)
        return cls(seen, expected, float((seen - expected) * np.sqrt(mass) / np.sqrt(spread)))

    def __str__(self) -> str:
        return f"{small_percent(self.seen)} of its cells are 0, and {small_percent(self.expected)} are expected"


class Counting(Kind):
    """A kind whose cells are whole numbers from 0.

    To be exported, it implements `exported_tail`: the log-density of counts from `FEW_COUNTS` on. That of smaller ones
    is a table, read off the leaf.
    """

    domain = "a whole number from 0"
    with_zeros: ClassVar[str] = ""  # the kind of the same counts with structural zeros

    def legal(self, values: Floats) -> Mask:
        """Which numbers are counts."""
        return (values >= 0) & is_whole(values)

    def chance_of_zero(self, values: Mapping[str, Floats]) -> Floats:
        """Return p(0) given the parameters of a column, (K,)."""
        raise NotImplementedError(f"the kind {self.name} does not implement `chance_of_zero`.")

    def misfits(self, fitted: Fitted, cells: Any, weight: Floats) -> Iterator[str]:
        """Name the columns with far more zeros than their parameters give them."""
        if not self.with_zeros:
            return
        prepared = fitted.leaf.prepare(fitted.params)
        for d, column in enumerate(fitted.block.columns):
            zero = np.where(np.arange(len(fitted.block.columns)) == d, 0.0, np.nan)[None]
            chance = np.exp(fitted.leaf.score(prepared, zero, SOFT)[0])
            zeros = Zeros.of(cells[:, d], weight, float(fitted.weights @ chance))
            if zeros.apart > FAR and zeros.seen > MORE * zeros.expected:
                name = column.name
                yield (
                    f"column {name!r} has more zeros than {self.name} counts: {zeros}; "
                    f"columns={{{name!r}: {self.with_zeros!r}}} may fit better"
                )

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
