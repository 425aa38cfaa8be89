"""What the sections of a report share: the scored rows and the results of the analyses, each computed once.

Of a very large table, analyses of single rows use a random sample, and the page says so. What was computed in the fit
(shares, parameters, criteria) always refers to all rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from halfseen.analysis.contrast import contrasts
from halfseen.analysis.missing_values import MissingByClass, MissingValues, missing_by_class_of
from halfseen.analysis.missing_values import count as count_missing
from halfseen.analysis.residuals import Residual, residuals_of, telling
from halfseen.analysis.rows import Surprising, Typical, Uncertain, surprising_of, typical_of, uncertain_of
from halfseen.analysis.scored_table import Seen, look
from halfseen.analysis.validation import Validated, cross_validate
from halfseen.app.report.parts import ClassName
from halfseen.app.report.words import count
from halfseen.data import Source, read
from halfseen.errors import DataError, FitError, ParameterError
from halfseen.estimators.table.profile import profiles
from halfseen.inference.standard_errors import StandardErrors, standard_errors
from halfseen.kinds.records import ColumnProfile, Contrast

MOST_ROWS = 50_000  # scored one by one: a second or two
MOST_ERRORS = 200  # free parameters whose errors are computed and shown
MOST_FOLD_ROWS = 20_000  # of a cross-validation, which fits five times
MOST_PAIRED = 60  # columns that are paired: 1770 pairs
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

    @property
    def data(self) -> Any:
        """The data as estimators take them."""
        return self.X

    def facts(self) -> list[tuple[str, str]]:
        """Return what the head of the page says about the data, as (name, value)."""
        return []

    @cached_property
    def colours(self) -> dict[str, int]:
        """The number of the colour of each class, by name; none by default."""
        return {}

    def tagged(self, name: str, words: str | None = None) -> str:
        """Return the name of a class, or words that begin with it, to be shown in the colour of the class."""
        k = self.colours.get(name)
        return (words or name) if k is None else ClassName.of(words or name, k)

    def each_tagged(self, names: Iterable[str]) -> list[str]:
        """Return the names of classes, to be shown in their colours."""
        return [self.tagged(name) for name in names]

    def reading(self) -> dict[str, Any]:
        """Return how the data are read, as `standard_errors` takes it."""
        return {} if self.sample_weight is None else {"sample_weight": self.sample_weight}

    @cached_property
    def standard_errors(self) -> StandardErrors | str | None:
        """The errors of all parameters, why there are none, or None where a model has no likelihood."""
        if not hasattr(self.model, "_named_parameters") or not hasattr(self.model, "loglik_"):
            return None
        if self.model.n_parameters_ > MOST_ERRORS or (isinstance(self.X, Source) and self.X.n_rows > MOST_ROWS):
            return "Too many rows or parameters for this page; hs.standard_errors(model, X) computes them."
        try:
            return standard_errors(self.model, self.data, **self.reading())
        except (DataError, FitError, ParameterError) as error:
            return f"There are none: {error}"

    @property
    def shows_errors(self) -> bool:
        """Whether the page has a table of all parameters with their errors."""
        return isinstance(self.standard_errors, StandardErrors)


class TableMaterial(Material):
    """A mixture over a table, and what was found in them."""

    @classmethod
    def gathered(cls, model: Any, X: Any, y: Any, sample_weight: ArrayLike | None, *more: Any) -> Self:
        """Read the table once; a file may bring its labels and weights."""
        source = read(X, counts=model._takes_text)
        y = source.target if y is None else y
        return cls(model, source, y, source.weight if sample_weight is None else sample_weight, *more)

    def facts(self) -> list[tuple[str, str]]:
        """Return rows and columns."""
        return [("Rows", count(self.X.n_rows)), ("Columns", count(len(self.model._schema.columns)))]

    @cached_property
    def colours(self) -> dict[str, int]:
        """The colour of each class; the components of a class have that of their class."""
        owner = self.model._by_class(np.eye(len(self.model.weights_))).argmax(axis=1).tolist()
        classes = {name: k for k, name in enumerate(self.seen.class_names)}
        return classes | dict(zip(self.model.class_names_, owner, strict=True))

    def reading(self) -> dict[str, Any]:
        """Return weights, and the labels of a classifier."""
        labels = {"labels": self.y} if self.y is not None and hasattr(self.model, "classes_") else {}
        dropped = {"missing": "drop"} if getattr(self.model, "_membership", None) is not None else {}
        return super().reading() | labels | dropped

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
        """The columns, those that differ most between the classes first."""
        weights = self.model.weights_
        return [p.name for p in sorted(self.profiles, key=lambda p: -float(weights @ p.distance))]

    @cached_property
    def contrasts(self) -> list[Contrast]:
        """Every number and category in every component."""
        return contrasts(self.model)

    @cached_property
    def residuals(self) -> list[Residual]:
        """Residuals between columns; of very many columns, of those that differ most between the classes."""
        if self.is_rule:
            return []
        many = len(self.telling_columns) > MOST_PAIRED
        return residuals_of(self.seen, self.telling_columns[:MOST_PAIRED] if many else None)

    @cached_property
    def related(self) -> list[Residual]:
        """The pairs that stay related inside the classes."""
        return list(telling(self.residuals))

    @cached_property
    def missing_values(self) -> MissingValues:
        """The missing values of the scored rows."""
        return count_missing(self.seen.missing, self.seen.table.schema.names, self.seen.table.weight)

    @cached_property
    def missing_by_class(self) -> list[MissingByClass]:
        """Missing values by class."""
        return missing_by_class_of(self.seen)

    @cached_property
    def uncertain(self) -> list[Uncertain]:
        """The rows whose class is least certain."""
        return uncertain_of(self.seen, TOP_ROWS)

    @cached_property
    def surprising(self) -> list[Surprising]:
        """The rows that are least probable; a rule gives rows no probability."""
        return [] if self.is_rule else surprising_of(self.seen, TOP_ROWS)

    @cached_property
    def typical(self) -> list[Typical]:
        """The documents whose class is most certain, for each class."""
        return typical_of(self.seen, TOP_TYPICAL)

    @property
    def is_rule(self) -> bool:
        """Whether the model gives rows no probability."""
        return self.model._schema.rule is not None

    @cached_property
    def validated(self) -> Validated | str:
        """The cross-validation of a classifier, or why there is none."""
        if self.y is None:
            return "The report was given no labels to compare predictions with."
        try:
            return cross_validate(self.model, self.X, self.y, self.sample_weight, max_rows=MOST_FOLD_ROWS)
        except DataError as error:
            return str(error)

    @cached_property
    def class_mass(self) -> Any:
        """Expected rows of each component, among all rows also where a sample is scored."""
        mass = self.seen.table.weight @ self.seen.resp
        return mass * (self.seen.n_given / len(self.seen.rows))

    @property
    def mean_certainty(self) -> float:
        """Mean probability of the most likely class."""
        return float(np.average(self.seen.proba.max(axis=1), weights=self.seen.table.weight))
