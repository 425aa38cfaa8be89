"""The parameters of a fitted model as a table for a paper: a column for each class, a line for each parameter."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from math import floor, isfinite, log10
from typing import Any, NamedTuple, Protocol

import numpy as np
from sklearn.utils.validation import check_is_fitted

from halfseen.errors import ParameterError
from halfseen.estimators import options
from halfseen.estimators.named_parameters import NamedParameters
from halfseen.estimators.publication.facts import facts_of, has_likelihood
from halfseen.estimators.publication.paper_table import Line, Panel, PaperTable
from halfseen.leaves.leaf import Floats

NO_ERROR = "–"  # in the place of a standard error
SPECIAL = {"(share)": "Share", "(start)": "First state", "(next)": "Transition", "(mixture)": "Share in the state"}
SPECIAL |= {"(membership)": "Class membership, logits"}
CORRELATION = "correlation with "
MOST_DECIMALS = 8


class Errors(Protocol):
    """Standard errors of a model: `StandardErrors`."""

    kind: str
    labels: dict[str, list[Any]]
    estimate: Floats
    se: Floats
    note: list[str]


class Tabulated:
    """A model whose parameters make a table for a paper."""

    def table(
        self,
        errors: Errors | None = None,
        *,
        diagnostics: Any = None,
        labels: Mapping[str, str] | None = None,
        digits: int = 3,
    ) -> PaperTable:
        """Return the model as a table for a paper, with `to_latex()`, `to_html()`, `to_markdown()` and `to_docx(path)`.

        A column for each class or state; shares, probabilities of categories, means with standard deviations; below
        them N, log-likelihood, criteria and entropy. Of a column with two categories only the second is shown.

        Parameters
        ----------
        errors : StandardErrors, optional
            Of this model, by `hs.standard_errors`: they stand in parentheses behind the estimates.
        diagnostics : Diagnostics, optional
            By `hs.diagnostics`: further figures on the fit are added.
        labels : mapping, optional
            What to call columns: {"q1": "Trust in parliament"}; `open_table("x.sav").labels` has those of a file.
        digits : int, default 3
            Decimals of shares and probabilities; significant digits of other numbers.

        Examples
        --------
        >>> import halfseen as hs
        >>> model = hs.LatentClass.from_params([0.3, 0.7], {"vote": {"no": [0.1, 0.8], "yes": [0.9, 0.2]}})
        >>> print(model.table().to_markdown().splitlines()[4])
        | Share | 0.300 | 0.700 |
        """
        return paper_table(self, errors, diagnostics=diagnostics, labels=labels, digits=digits)


def paper_table(
    model: Any,
    errors: Errors | None = None,
    *,
    diagnostics: Any = None,
    labels: Mapping[str, str] | None = None,
    digits: int = 3,
) -> PaperTable:
    """Return a fitted model as a table for a paper; arguments as of `LatentClass.table`.

    Of a `BayesNet`, whose `table` is something else, each variable has a line for each state of its parents.

    Examples
    --------
    >>> import halfseen as hs
    >>> net = hs.BayesNet.from_params({"C": [0.4, 0.6], "X": [[0.9, 0.1], [0.2, 0.8]]}, [("C", "X")])
    >>> print(hs.paper_table(net).panels[0].lines[0].cells)
    ('0.400', '0.600')
    """
    if not hasattr(model, "_named_parameters") and not hasattr(model, "_paper_parameters"):
        raise ParameterError(f"a {type(model).__name__} has no table of parameters by class.")
    check_is_fitted(model)
    options.whole("digits", digits, 1)
    named = getattr(model, "_paper_parameters", None) or model._named_parameters
    table = _Writer(model, _with_coefficients(model, named(), errors), errors, dict(labels or {}), digits)
    panels = tuple(table.panels())
    facts = facts_of(model, diagnostics)
    return PaperTable(_caption(model), panels, tuple(facts), tuple(table.notes()))


def _with_coefficients(model: Any, named: NamedParameters, errors: Errors | None) -> NamedParameters:
    """Return the parameters that standard errors are of: those of a model with covariates have coefficients too."""
    if errors is None or getattr(model, "_membership", None) is None or list(errors.labels) != list(named.labels):
        return named
    keys, known = (list(zip(*labels.values(), strict=True)) for labels in (errors.labels, named.labels))
    own = dict(zip(known, zip(named.values, named.bounds, strict=True), strict=True))
    found = [own.get(key, (value, (-np.inf, np.inf))) for key, value in zip(keys, errors.estimate, strict=True)]
    return NamedParameters(errors.labels, np.array([value for value, _ in found]), [bounds for _, bounds in found])


def _caption(model: Any) -> str:
    name = getattr(model, "_paper_name", type(model).__name__)
    names = getattr(model, "_names", ())
    return f"{name[0].upper()}{name[1:]}" + (f" with {_components(model, len(names))}" if len(names) else "")


def _components(model: Any, n: int) -> str:
    word = getattr(model, "_component_word", "class")
    plural = f"{word}es" if word.endswith("s") else f"{word}s"
    return f"{n} {word if n == 1 else plural}"


class _Row(NamedTuple):
    """A parameter in every column of a panel: the numbers of its values in `NamedParameters`."""

    group: str
    label: str
    at: list[int]


class _Writer:
    """Writes the cells of a table, and remembers what has to be said below it."""

    def __init__(
        self, model: Any, named: NamedParameters, errors: Errors | None, labels: dict[str, str], digits: int
    ) -> None:
        self._model, self._named, self._errors, self._digits = model, named, errors, digits
        schema = getattr(model, "_schema", None)
        by_column = next(iter(named.labels)) == "column"  # of a network rows are states of parents
        columns = () if schema is None or not by_column else schema.columns
        self._kinds = {column.name: column.kind for column in columns}
        self._labels = labels
        self._said: dict[str, None] = {}
        self._one_of_two = self._spread = False
        known = set(self._kinds) | set(next(iter(named.labels.values())))
        for name in labels:
            if name not in known:
                raise ParameterError(f"labels: the model has no column {name!r}.")
        if errors is not None:
            self._check_errors(errors)

    def _check_errors(self, errors: Errors) -> None:
        same = errors.labels == self._named.labels and np.array_equal(errors.estimate, self._named.values)
        if not same:
            raise ParameterError("errors: these are the standard errors of another model.")

    # ---- rows and panels ---------------------------------------------------------------------------------------------

    def panels(self) -> Iterator[Panel]:
        """Yield the panels: rows with the same column heads after each other."""
        for heads, rows in groupby(self._rows(), key=lambda row: self._heads(row.at)):
            yield Panel(heads, tuple(self._lines(list(rows))))

    def _rows(self) -> Iterator[_Row]:
        first, second, *_ = self._named.labels.values()
        number = 0
        for (group, label), places in groupby(zip(first, second, strict=True)):
            n = len(list(places))
            yield _Row(str(group), str(label), list(range(number, number + n)))
            number += n

    def _heads(self, at: Sequence[int]) -> tuple[str, ...]:
        columns = list(self._named.labels.values())
        return tuple(str(columns[2][i]) for i in at) if len(columns) > 2 else ("Probability",)

    def _lines(self, rows: list[_Row]) -> Iterator[Line]:
        for group, own in groupby(rows, key=self._group):
            yield from self._of_group(group, list(own))

    def _group(self, row: _Row) -> str:
        return "Correlation" if self._correlates(row) else row.group

    def _correlates(self, row: _Row) -> bool:
        return row.group in self._kinds and row.label.startswith(CORRELATION)

    def _of_group(self, group: str, rows: list[_Row]) -> Iterator[Line]:
        kind = self._kinds.get(group)
        title = self._labels.get(group, SPECIAL.get(group, group))
        if kind is not None and kind.of_words:
            self._said[f"The words of {title} are left out; top_words() lists them."] = None
        elif [row.label for row in rows] == ["mean", "sd"] and self._errors is None:
            self._spread = True
            yield Line(f"{title}, M (SD)", tuple(self._with_sd(rows)))
        elif kind is not None and kind.has_categories and len(rows) == 2:
            self._one_of_two = True
            yield Line(f"{title}: {rows[1].label}", tuple(self._cells(rows[1], rows)))
        elif len(rows) == 1 and (not rows[0].label or kind is not None):
            label = f"{title}, {rows[0].label}" if rows[0].label else title
            yield Line(label, tuple(self._cells(rows[0], rows)))
        else:
            yield Line(title)
            yield from (Line(self._inside(row), tuple(self._cells(row, rows)), True) for row in rows)

    def _inside(self, row: _Row) -> str:
        """Return the label of a row below a heading."""
        if not self._correlates(row):
            return row.label or "all"
        other = row.label.removeprefix(CORRELATION)
        return " and ".join(self._labels.get(name, name) for name in (row.group, other))

    # ---- cells -------------------------------------------------------------------------------------------------------

    def _with_sd(self, rows: list[_Row]) -> Iterator[str]:
        means, sds = (self._named.values[row.at] for row in rows)
        decimals = self._decimals(rows[0], rows)
        return (f"{number(m, decimals)} ({number(s, decimals)})" for m, s in zip(means, sds, strict=True))

    def _cells(self, row: _Row, group: list[_Row]) -> Iterator[str]:
        decimals = self._decimals(row, group)
        for i in row.at:
            shown = number(float(self._named.values[i]), decimals)
            yield shown if self._errors is None else f"{shown} ({self._error(i, decimals)})"

    def _error(self, i: int, decimals: int) -> str:
        assert self._errors is not None
        if not self._errors.note[i]:
            return number(float(self._errors.se[i]), decimals)
        self._said[f"{NO_ERROR}: no standard error, as the parameter is {_why(self._errors.note[i])}."] = None
        return NO_ERROR

    def _decimals(self, row: _Row, group: list[_Row]) -> int:
        """Return how many decimals a row has; those of a mean are as many as its standard deviation deserves."""
        if all(isfinite(bound) for bound in self._named.bounds[row.at[0]]):
            return self._digits
        scale = next((other for other in group if other.label == "sd"), row) if row.label in ("mean", "sd") else row
        size = np.abs(self._named.values[scale.at])
        size = size[(size > 0) & np.isfinite(size)]
        largest = float(size.min() if scale.label == "sd" else size.max()) if len(size) else 1.0
        return min(max(self._digits - 1 - floor(log10(largest)), 0), MOST_DECIMALS)

    # ---- below the table ---------------------------------------------------------------------------------------------

    def notes(self) -> Iterator[str]:
        """Yield what has to be said about the cells."""
        if has_likelihood(self._model):
            yield f"Estimates: {self._model._estimate}."
        if self._errors is not None:
            kinds = {
                "hessian": "by the Hessian",
                "opg": "by outer products of scores",
                "robust": "robust (sandwich)",
                "bootstrap": "by the bootstrap",
            }
            yield f"Standard errors in parentheses, {kinds.get(self._errors.kind, self._errors.kind)}."
        elif self._spread:
            yield "Numbers: mean, with the standard deviation in parentheses."
        if getattr(self._model, "_membership", None) is not None and self._errors is None:
            yield "Shares are means over the covariates; the coefficients are shown with their standard errors."
        if self._one_of_two:
            yield "Of columns with two categories one is shown."
        yield from self._said


def _why(note: str) -> str:
    return "on a boundary" if note == "boundary" else note


def number(value: float, decimals: int) -> str:
    """Return a number with so many decimals, without a minus before zero.

    Examples
    --------
    >>> number(-0.0004, 3), number(1234.5, 1)
    ('0.000', '1,234.5')
    """
    return f"{round(value, decimals) + 0.0:,.{decimals}f}"
