"""Numbers, normal within a component, that were rounded or put into bands before they were recorded.

"rounded"                 rounded to a step that is found from the values
"rounded(500)"            to multiples of 500
"rounded(1 from 0.5)"     to 0.5, 1.5, 2.5, ...
"rounded(0, 1000, 5000)"  in bands between these cuts: below 0, 0 to 1000, 1000 to 5000, from 5000 on

The plain kind learns the step and gives the column the kind that says it.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Sequence
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from halfseen.data.columns import Block, Column, distinct_numbers, numbers_of
from halfseen.data.frames import RawColumn
from halfseen.data.resolution import MOST, common_step
from halfseen.errors import DataError, ParameterError
from halfseen.export.formula import Formula, Language, observed
from halfseen.kinds.coarse import CoarseKind, interval_scores
from halfseen.kinds.kind import Kind
from halfseen.kinds.numbers import number_in, said
from halfseen.kinds.records import Build, Figures, Fitted, Mask
from halfseen.kinds.resolved import LARGEST_FLOOR, PLAIN_FLOOR, RESOLUTION
from halfseen.leaves.coarse import Bands, Coarsening, Grid
from halfseen.leaves.leaf import Floats

WITHIN = 0.1  # sd in units of the step at the floor: the step about the mean then has all but 6e-7 of the numbers
OFF = 1e-6  # steps that a cell may lie off its grid
DIGITS = 12  # of a step that was found
FEW, OFTEN = 20, 5  # distinct values, and rows for each, from which gaps between them mean bands
EXAMPLE = "as in 'rounded(500)', 'rounded(1 from 0.5)' or, for bands, 'rounded(0, 10000, 20000)'"
FORM = re.compile(r"(?P<step>\S+)(\s+from\s+(?P<start>\S+))?")


class RoundedKind(CoarseKind):
    """Rounded numbers; `how` is None in the kind that only makes others."""

    name = "rounded"
    scanned: ClassVar[tuple[str, ...]] = ()  # the step is in the name
    any_number = False

    def __init__(self, how: Grid | Bands | None = None) -> None:
        self.how = how
        if isinstance(how, Grid):
            start = f" from {said(how.start)}" if how.start else ""
            self.name = f"rounded({said(how.step)}{start})"
            self.domain = f"a multiple of {said(how.step)}" + (f" from {said(how.start)} on" if how.start else "")
        elif how is not None:
            self.name = f"rounded({', '.join(map(said, how.cuts))})"
            self.domain = "a finite number"

    @property
    def coarsening(self) -> Coarsening:
        """The grid or the bands."""
        if self.how is None:
            raise ParameterError(f"a rounded column without data needs its step or cuts in brackets, {EXAMPLE}.")
        return self.how

    def with_argument(self, argument: str) -> Kind:
        """Return the kind of columns with this step, or these cuts."""
        parts = argument.split(",")
        if len(parts) > 1:
            cuts = tuple(map(number_in, parts))
            if not (np.isfinite(cuts).all() and (np.diff(cuts) > 0).all()):
                raise ParameterError(
                    f"'rounded({argument:.60})': cuts are finite numbers in ascending order, {EXAMPLE}."
                )
            return RoundedKind(Bands(cuts))
        form = FORM.fullmatch(argument)
        step, start = (number_in(form[part] or "0") if form else np.nan for part in ("step", "start"))
        if not (np.isfinite([step, start]).all() and step > 0):
            raise ParameterError(f"'rounded({argument:.60})': the step is a finite number above 0, {EXAMPLE}.")
        return RoundedKind(Grid(step, start % step))

    def column_of(self, name: str, given: Any) -> Column:
        """Refuse a column without data of which the step is not known."""
        if self.how is None:
            raise ParameterError(
                f"columns[{name!r}]: a rounded column without data needs its step or cuts in brackets, {EXAMPLE}."
            )
        return super().column_of(name, given)

    def legal(self, values: Floats) -> Mask:
        """Which numbers lie on the grid; bands hold all."""
        finite = np.isfinite(values)
        if not isinstance(self.how, Grid):
            return finite
        with np.errstate(invalid="ignore", over="ignore"):
            off = np.abs(self.how.recorded(values) - values)
            return np.asarray(finite & (off <= OFF * self.how.step + 8 * np.spacing(np.abs(values))))

    def learn(self, raw: RawColumn, name: str) -> Column:
        """Refuse a column that never varies; find the step if the name does not say it."""
        column = super().learn(raw, name)
        if self.how is not None:
            return column
        values = distinct_numbers(RawColumn(numbers_of(raw, name, self.name), raw.missing, raw.type))
        step = common_step(values) if len(values) <= MOST else 0.0
        if not step > 0:
            raise DataError(
                f"column {name!r} cannot be rounded: its {len(values):,} distinct numbers lie on no grid of equal "
                f"steps. Give the step or, for bands, the cuts in brackets, {EXAMPLE}; or fit it as kind 'gaussian'."
            )
        step = float(f"{step:.{DIGITS}g}")
        start = float(f"{values[0] - np.floor(values[0] / step) * step:.{DIGITS}g}")
        start = 0.0 if min(start, step - start) < OFF * step else start
        return Column(name, RoundedKind(Grid(step, start)))

    # ---- the whole table, and the leaf ---------------------------------------------------------------------------

    def unit_summary(self, block: Block) -> Figures:
        """Return a summary that knows nothing: mean 0, variance 1."""
        return Kind.unit_summary(self, block)

    def filled(self, summary: Figures) -> Figures:
        """Return a summary that can be used as it is."""
        return Kind.filled(self, summary)

    def joined(self, before: Figures, scanned: Figures) -> Figures:
        """Nothing is scanned."""
        return scanned

    def legal_summary(self, summary: Figures) -> bool:
        """Whether all variances are above 0."""
        return bool((summary["var"] > 0).all())

    def few_values(self, block: Block, summary: Figures) -> dict[str, int]:
        """None: classes cannot gain by settling on one value."""
        return {}

    def floors(self, build: Build, summary: Figures) -> tuple[float, Floats | None]:
        """A tenth of the step, or of the narrowest band, is the smallest sd: less would fit no better."""
        if build.variance_floor != RESOLUTION:
            return float(build.variance_floor), None
        width = (
            self.how.step if isinstance(self.how, Grid) else float(np.diff(self.how.cuts).min()) if self.how else 0.0
        )
        return PLAIN_FLOOR, np.minimum((WITHIN * width) ** 2, LARGEST_FLOOR * summary["var"])

    def doubts(self, block: Block, cells: Any, weight: Floats, inferred: Container[str]) -> Iterator[str]:
        """Name codes that may mean missing, and columns that look like bands of different width."""
        yield from Kind.doubts(self, block, cells, weight, inferred)
        if not isinstance(self.how, Grid):
            return
        for column, values in zip(block.columns, np.asarray(cells).T, strict=True):
            seen = ~np.isnan(values)
            known = np.unique(values[seen])
            if not 2 < len(known) <= FEW or weight[seen].sum() < OFTEN * len(known):
                continue
            gaps = np.rint(np.diff(known) / self.how.step)
            if np.median(gaps) > 1 and gaps.min() < gaps.max():
                yield (
                    f"column {column.name!r}: its {len(known)} values are {gaps.min():.0f} to {gaps.max():.0f} steps "
                    f"of {said(self.how.step)} apart, as bands of different width are; if so, give their cuts, "
                    f"columns={{{column.name!r}: 'rounded(cut, cut, ...)'}}"
                )

    # ---- in other languages --------------------------------------------------------------------------------------

    def exported_scores(self, fitted: Fitted, cells: Sequence[Formula], language: Language) -> Iterator[Formula]:
        """Yield the log-probability of each band; a grid has too many cells for a table."""
        if not isinstance(self.how, Bands):
            names = ", ".join(repr(column.name) for column in fitted.block.columns)
            raise ParameterError(
                f"{names}: columns of kind {self.name!r} cannot be written in {language.name}, which has no normal "
                "distribution function; bands, 'rounded(cut, cut, ...)', can."
            )
        edges = (-np.inf, *self.how.cuts, np.inf)
        for d, cell in enumerate(cells):
            logs = [interval_scores(fitted.params, d, low, high) for low, high in pairwise(edges)]
            cases = [(cell < cut, log) for cut, log in zip(self.how.cuts, logs[:-1], strict=True)]
            yield observed(cell, cell.finite(), language.choose(*cases, otherwise=logs[-1]))
