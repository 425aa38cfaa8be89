"""What the sections of a report share: the rows as the model sees them, and what the analyses find, each computed once.

Where a table has very many rows, what goes row by row looks at a random sample of them, and the page says so. What was
gathered while fitting (shares, parameters, criteria) is always of all rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from halfseen.analysis.contrast import contrasts
from halfseen.analysis.missing_values import Holes, HolesByClass, count, holes_by_class_of
from halfseen.analysis.residuals import Residual, residuals_of, telling
from halfseen.analysis.rows import Surprising, Typical, Uncertain, surprising_of, typical_of, uncertain_of
from halfseen.analysis.scored_table import Seen, look
from halfseen.analysis.validation import Validated, cross_validate
from halfseen.data import read
from halfseen.errors import DataError
from halfseen.estimators.table.profile import profiles
from halfseen.kinds.kind import ColumnProfile, Contrast

MOST_ROWS = 50_000  # looked at one by one: a second or two
MOST_FOLD_ROWS = 20_000  # of a cross-validation, which fits five times
MOST_PAIRED = 60  # columns whose pairs are looked at; 1770 pairs
TOP_ROWS = 8  # rows shown
TOP_TYPICAL = 3  # of each class


@dataclass(frozen=True, eq=False)
class Material:
    """What a report is given. A family adds what it finds in it, as cached properties of a subclass."""

    model: Any
    X: Any
    y: Any = None
    sample_weight: ArrayLike | None = None
    cost: ArrayLike | None = None
    command: str | None = None


class TableMaterial(Material):
    """A mixture over a table, and what was found in them."""

    @classmethod
    def gathered(cls, model: Any, X: Any, y: Any, sample_weight: ArrayLike | None, *more: Any) -> Self:
        """Read the table once; a file may bring its labels and weights."""
        source = read(X, counts=model._takes_text)
        y = source.target if y is None else y
        return cls(model, source, y, source.weight if sample_weight is None else sample_weight, *more)

    @cached_property
    def seen(self) -> Seen:
        """The rows, or a sample of them."""
        return look(self.model, self.X, self.sample_weight, most=MOST_ROWS)

    @cached_property
    def profiles(self) -> list[ColumnProfile]:
        """Every column in every component."""
        return profiles(self.model)

    @cached_property
    def telling_columns(self) -> list[str]:
        """The columns, those that tell the classes apart best first."""
        weights = self.model.weights_
        return [p.name for p in sorted(self.profiles, key=lambda p: -float(weights @ p.distance))]

    @cached_property
    def contrasts(self) -> list[Contrast]:
        """Every number and category in every component."""
        return contrasts(self.model)

    @cached_property
    def residuals(self) -> list[Residual]:
        """What is left between columns, among those that tell most where there are very many."""
        if self.is_rule:
            return []
        many = len(self.telling_columns) > MOST_PAIRED
        return residuals_of(self.seen, self.telling_columns[:MOST_PAIRED] if many else None)

    @cached_property
    def related(self) -> list[Residual]:
        """The pairs that stay related inside the classes."""
        return list(telling(self.residuals))

    @cached_property
    def holes(self) -> Holes:
        """The holes of the rows looked at."""
        return count(self.seen.missing, self.seen.table.schema.names, self.seen.table.weight)

    @cached_property
    def holes_by_class(self) -> list[HolesByClass]:
        """Holes by class."""
        return holes_by_class_of(self.seen)

    @cached_property
    def uncertain(self) -> list[Uncertain]:
        """The rows least sure of their class."""
        return uncertain_of(self.seen, TOP_ROWS)

    @cached_property
    def surprising(self) -> list[Surprising]:
        """The rows least like the others; a rule has no say in that."""
        return [] if self.is_rule else surprising_of(self.seen, TOP_ROWS)

    @cached_property
    def typical(self) -> list[Typical]:
        """The documents most surely of each class."""
        return typical_of(self.seen, TOP_TYPICAL)

    @property
    def is_rule(self) -> bool:
        """Whether the model gives rows no probability."""
        return self.model._schema.rule is not None

    @cached_property
    def validated(self) -> Validated | str:
        """The classifier on rows it was not fitted to; or why there is no saying."""
        if self.y is None:
            return "No labels were given to the report, so that there is nothing to compare predictions with."
        try:
            return cross_validate(self.model, self.X, self.y, self.sample_weight, max_rows=MOST_FOLD_ROWS)
        except DataError as error:
            return str(error)

    @cached_property
    def class_mass(self) -> Any:
        """Rows in each component, as far as their posteriors tell; of all rows, also where a sample is looked at."""
        mass = self.seen.table.weight @ self.seen.resp
        return mass * (self.seen.n_given / len(self.seen.rows))

    @property
    def mean_certainty(self) -> float:
        """How sure rows are of their class on average."""
        return float(np.average(self.seen.proba.max(axis=1), weights=self.seen.table.weight))
