"""Covariates as columns of numbers: a design matrix.

- *variable*: a column of covariates as it came: numbers, or text and declared categories with their *levels*.
- *column* of the design: a number as it is, one of the levels of a variable but the first (the reference), or what a
  formula makes of variables.
- *units*: inside a model, columns are centred and divided by their spread; the first column is ones, the intercept.

Formulas are in `covariate_formula`.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from halfseen.data.covariate_formula import categories, frame_of, modelled, variables_of
from halfseen.data.frames import RawColumn, Source, read
from halfseen.errors import DataError, ParameterError
from halfseen.optional import optional

Floats = NDArray[np.float64]
LEVEL = re.compile(r"\[[^\[\]]*\]")  # in the name of a column
DEPENDENT = 1e-8  # of its own length, what is left of a column that follows from the others


@dataclass(frozen=True)
class Design:
    """How covariates become columns: all that is needed to read those of other rows.

    Attributes
    ----------
    variables : tuple of str         columns that are read
    levels : dict of str to tuple    levels of the variables that are categories, the first is the reference
    formula : str or None            None: every variable as it is
    state : dict                     what functions of the formula remember of the data, such as the mean in `center`
    names : tuple of str             columns of the design but for the intercept
    centre, spread : (P - 1,) arrays
    largest : (P,) array             largest absolute value of each column, ones first, in units of the spread
    typical : dict of str to tuple   of a number lowest, mean and highest value; of categories the most frequent one
    named : bool                     whether the names of the variables are the user's
    """

    variables: tuple[str, ...]
    levels: Mapping[str, tuple[Any, ...]]
    formula: str | None
    state: Mapping[str, Mapping[str, float]]
    names: tuple[str, ...]
    centre: Floats
    spread: Floats
    largest: Floats
    typical: Mapping[str, tuple[Any, ...]]
    named: bool = True
    _cache: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def learn(cls, source: Source, weight: Floats, formula: str | None = None) -> Design:
        """Return the design of covariates, whose rows of weight 0 do not count."""
        used = np.flatnonzero(weight)
        kept = source.take(used)
        coded = variables_of(formula)[1] if formula is not None else ()
        columns = {name: kept.column(j) for j, name in enumerate(source.names)}
        levels = {
            name: _levels(column)
            for name, column in columns.items()
            if column.type == "text" or column.levels is not None or name in coded
        }
        typical = {name: _typical(column, levels.get(name), weight[used]) for name, column in columns.items()}
        if formula is None:
            names, state = _plain_names(source.names, levels), {}
        else:
            matrix = modelled(formula, frame_of(kept, levels, source.names))
            state = {
                name: {key: float(value) for key, value in own.items() if value is not None}
                for name, own in matrix.model_spec.transform_state.items()
            }
            names = tuple(str(name) for name in matrix.columns if name != "Intercept")
        none = np.zeros(0)
        rough = cls(source.names, levels, formula, state, names, none, none, none, typical, source.named)
        raw = rough._raw(kept)
        centre, spread = _moments(raw, weight[used])
        _check_columns(raw, rough.names, centre, spread)
        inside = np.abs((raw - centre) / spread).max(axis=0)
        largest = np.append(1.0, np.maximum(inside, math.sqrt(len(inside))))
        return replace(rough, centre=centre, spread=spread, largest=largest)

    @property
    def n_columns(self) -> int:
        """Number of columns with the intercept, P."""
        return len(self.names) + 1

    @property
    def terms(self) -> dict[str, list[int]]:
        """The columns, counted with the intercept, of each term: those of all levels of a category together."""
        found: dict[str, list[int]] = {}
        for j, name in enumerate(self.names):
            found.setdefault(LEVEL.sub("", name), []).append(j + 1)
        return found

    def matrix(self, source: Source, skip: NDArray[np.bool_] | None = None) -> Floats:
        """Return the columns of some rows, (N, P), in units of their spread, ones first.

        Rows to `skip` may have missing cells; theirs are zeros.
        """
        self._check_variables(source)
        out = np.zeros((source.n_rows, self.n_columns))
        wanted = np.arange(source.n_rows) if skip is None else np.flatnonzero(~skip)
        rows = source if len(wanted) == source.n_rows else source.take(wanted)
        out[wanted, 0] = 1.0
        out[wanted, 1:] = (self._raw(rows) - self.centre) / self.spread
        return out

    def coefficients(self, params: Floats, reference: int = 0) -> Floats:
        """Return coefficients (P, K) in the units of the data, as differences from a reference class."""
        slopes = params[1:] / self.spread[:, None]
        intercepts = params[0] - self.centre @ slopes
        found: Floats = np.concatenate([intercepts[None], slopes])
        return found - found[:, [reference]]

    def record(self) -> dict[str, Any]:
        """Return the design as plain values; its arrays are `centre`, `spread`, `largest`."""
        return {
            "variables": list(self.variables),
            "levels": {name: list(own) for name, own in self.levels.items()},
            "formula": self.formula,
            "state": {name: dict(own) for name, own in self.state.items()},
            "names": list(self.names),
            "typical": {name: list(own) for name, own in self.typical.items()},
            "named": self.named,
        }

    @classmethod
    def read(cls, record: Mapping[str, Any], centre: Floats, spread: Floats, largest: Floats) -> Design:
        """Return the design of a record; refuse one that cannot be one."""
        formula = record["formula"]
        levels = {str(name): tuple(own) for name, own in record["levels"].items()}
        state = {str(name): {key: float(v) for key, v in own.items()} for name, own in record["state"].items()}
        if formula is not None:
            variables_of(formula)
        found = cls(
            tuple(map(str, record["variables"])), levels, formula, state, tuple(map(str, record["names"])),
            centre, spread, largest, {str(name): tuple(own) for name, own in record["typical"].items()},
            record["named"] is True,
        )  # fmt: skip
        if not (len(centre) == len(spread) == len(largest) - 1 == len(found.names)) or not (spread > 0).all():
            raise ParameterError(
                "covariates: the numbers of names, means and spreads differ, or a spread is not positive."
            )
        return found

    def rows(self, values: Mapping[str, Any]) -> Source:
        """Return rows of variables: given values, one for each row, and typical ones for the others.

        Typical is the mean of a number, and the most frequent level.
        """
        n_rows = len(next(iter(values.values())))
        cells = [
            list(values[name]) if name in values else [self.typical[name][1 if name not in self.levels else 0]] * n_rows
            for name in self.variables
        ]
        table = np.empty((n_rows, len(cells)), dtype=object)
        for j, column in enumerate(cells):
            table[:, j] = column
        return read(table)

    def _check_variables(self, source: Source) -> None:
        if self.named and source.named and source.names != self.variables:
            lost = [name for name in self.variables if name not in source.names]
            what = f"lacks {', '.join(lost)}" if lost else f"has {', '.join(source.names)}"
            raise DataError(f"covariates: the table {what}; the fit had {', '.join(self.variables)}, in this order.")
        if len(source.names) != len(self.variables):
            raise DataError(f"covariates: {len(source.names)} columns, but the fit had {len(self.variables)}.")

    def _raw(self, source: Source) -> Floats:
        """Return the columns but for the intercept, in the units of the data."""
        if self.formula is None:
            parts = [self._plain(name, source.column(j), source) for j, name in enumerate(self.variables)]
            found: Floats = np.column_stack(parts)
        else:
            found = self._by_formula(source)
        bad = ~np.isfinite(found)
        if bad.any():
            row, j = np.argwhere(bad)[0]
            raise DataError(
                f"covariates: {self.names[j]} is {found[row, j]:g} in {source.where(int(row))} "
                f"({bad.any(axis=1).sum()} such rows). Covariates must be finite."
            )
        return found

    def _plain(self, name: str, column: RawColumn, source: Source) -> Floats:
        """Return the columns of one variable: itself, or an indicator of each level but the first."""
        if name not in self.levels:
            if column.type == "text":
                raise DataError(f"covariates: {name} held numbers in the fit, and holds text now.")
            return column.values.astype(np.float64)[:, None]
        codes = self._codes(name, column, source)
        return np.eye(len(self.levels[name]))[codes][:, 1:]

    def _codes(self, name: str, column: RawColumn, source: Source) -> NDArray[np.intp]:
        place = {level: i for i, level in enumerate(self.levels[name])}
        cells = column.values.tolist()
        unknown = next((n for n, cell in enumerate(cells) if cell not in place), None)
        if unknown is not None:
            raise DataError(
                f"covariates: {name} is {cells[unknown]!r:.60} in {source.where(unknown)}, which the fit did not see. "
                f"Known: {', '.join(map(str, self.levels[name][:12]))}."
            )
        return np.array([place[cell] for cell in cells], dtype=np.intp)

    def _by_formula(self, source: Source) -> Floats:
        assert self.formula is not None
        for j, name in enumerate(self.variables):
            if name in self.levels:
                self._codes(name, source.column(j), source)
        spec = self._spec()
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what is not finite is named later
            matrix = spec.get_model_matrix(frame_of(source, self.levels, self.variables), context={})
        return np.asarray(matrix.drop(columns="Intercept"), dtype=np.float64)

    def _spec(self) -> Any:
        """Return formulaic's specification of the columns, made from rows in which every level occurs."""
        if "spec" not in self._cache:
            n_rows = max([len(own) for own in self.levels.values()] + [2])
            cells = {
                name: [self.levels[name][i % len(self.levels[name])] for i in range(n_rows)]
                if name in self.levels
                else [float(i + 1) for i in range(n_rows)]
                for name in self.variables
            }
            frame = optional("pandas", "covariates=: a formula", "stats").DataFrame(
                {name: categories(values, self.levels.get(name)) for name, values in cells.items()}
            )
            spec = modelled(str(self.formula), frame).model_spec
            spec.transform_state.clear()
            spec.transform_state.update({name: dict(own) for name, own in self.state.items()})
            self._cache["spec"] = spec
        return self._cache["spec"]

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_cache": {}}


# ---- reading ---------------------------------------------------------------------------------------------------------


def read_covariates(covariates: Any, n_rows: int) -> Source:
    """Return a table of covariates with as many rows as there are data; a column alone is a table of one."""
    if getattr(covariates, "ndim", 0) == 1 or (isinstance(covariates, list) and not _nested(covariates)):
        covariates = _as_column(covariates)
    source = read(covariates)
    if source.streams or source.elsewhere:
        raise DataError("covariates: they must be in memory. Load them first, or give more memory.")
    if source.n_rows != n_rows:
        raise DataError(
            f"covariates: {source.n_rows} rows, but X has {n_rows}. Give one row of covariates per row of X."
        )
    return source


def _nested(rows: list[Any]) -> bool:
    return bool(rows) and isinstance(rows[0], (list, tuple, np.ndarray))


def _as_column(values: Any) -> Any:
    series = nw.from_native(values, series_only=True, pass_through=True)
    if isinstance(series, nw.Series):
        return series.to_frame().to_native()
    return np.asarray(values).reshape(-1, 1)


def missing_rows(source: Source) -> NDArray[np.bool_]:
    """Return which rows have a missing covariate."""
    found = np.zeros(source.n_rows, dtype=bool)
    for j in range(len(source.names)):
        try:
            found |= source.column(j).missing
        except DataError as error:  # an infinite cell, or one that cannot be read
            raise DataError(str(error).replace("Input X contains", "covariates contain")) from None
    return found


def refuse_missing(source: Source, skip: NDArray[np.bool_], weight: Floats | None, advice: str) -> None:
    """Refuse missing covariates, with the first of them."""
    wrong = skip if weight is None else skip & (weight > 0)
    if not wrong.any():
        return
    row = int(wrong.argmax())
    name = next(name for j, name in enumerate(source.names) if source.column(j).missing[row])
    raise DataError(f"covariates: {name} is missing in {source.where(row)} ({int(wrong.sum())} such rows). {advice}")


def part(X: Any, names: Sequence[str], required: bool = True) -> tuple[Any, Source | None]:
    """Return a table without some columns, and these columns; None for the columns if it has not all of them.

    Raises `ParameterError` for a table without names; with `required`, also where a column is not there.
    """
    if hasattr(X, "__halfseen_frame__"):  # in a file
        if not set(names) <= set(X.names):
            return _absent(X, names, X.names, required)
        return X.without(names), read(X.without([name for name in X.names if name not in names]))
    frame = X.frame if isinstance(X, Source) else nw.from_native(X, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        if not required:
            return X, None
        raise ParameterError(
            "covariates: a formula names columns of X, and X has no names. Give a data frame, or covariates as a table."
        )
    if not set(names) <= set(map(str, frame.columns)):
        return _absent(X, names, frame.columns, required)
    rest = [name for name in frame.columns if name not in names]
    columns, others = read(frame.select(list(names)).to_native()), frame.select(rest).to_native()
    if not isinstance(X, Source):
        return others, columns
    kept = read(others)
    kept.weight, kept.target, kept.line_of = X.weight, X.target, X.line_of
    return kept, columns


def _absent(X: Any, names: Sequence[str], known: Sequence[str], required: bool) -> tuple[Any, None]:
    lost = [name for name in names if name not in known]
    if required or len(lost) < len(names):
        raise DataError(
            f"covariates: there is no column {lost[0]!r}. Columns: {', '.join(map(str, known))}. A column that is left "
            "out by ignore= is not there; covariates need not be, they are no columns of the model anyway."
        )
    return X, None


def _levels(column: RawColumn) -> tuple[Any, ...]:
    """Return the levels of a variable: those that occur, in the declared order, else sorted."""
    seen = set(column.values[~column.missing].tolist())
    if column.type != "text":
        return tuple(int(value) if value == int(value) else value for value in sorted(seen))
    declared = [level for level in column.levels or () if level in seen]
    return tuple(declared) if len(declared) == len(seen) else tuple(sorted(seen))


# ---- checks ----------------------------------------------------------------------------------------------------------


def _plain_names(variables: Sequence[str], levels: Mapping[str, tuple[Any, ...]]) -> tuple[str, ...]:
    return tuple(
        name
        for variable in variables
        for name in ([f"{variable}[T.{level}]" for level in levels[variable][1:]] if variable in levels else [variable])
    )


def _typical(column: RawColumn, levels: tuple[Any, ...] | None, weight: Floats) -> tuple[Any, ...]:
    """Return lowest, mean and highest value of a number, or the most frequent level (the first among equals)."""
    cells = column.values
    if levels is not None:
        mass = [float(weight[cells == level].sum()) for level in levels]
        return (levels[int(np.argmax(mass))],) if levels else ()
    values, total = cells.astype(np.float64), math.fsum(weight)
    return (float(values.min()), math.fsum(weight * values) / total, float(values.max()))


def _moments(raw: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """Return weighted means and standard deviations, the same bits in any order of the rows."""
    total = math.fsum(weight)
    centre = np.array([math.fsum(weight * column) / total for column in raw.T])
    squares = [math.fsum(weight * (column - c) ** 2) / total for column, c in zip(raw.T, centre, strict=True)]
    return centre, np.sqrt(squares)


def _check_columns(raw: Floats, names: Sequence[str], centre: Floats, spread: Floats) -> None:
    """Refuse columns that never vary, or that follow from others."""
    if not len(names):
        raise DataError("covariates: they have one value in all rows. Leave them out.")
    for name, column in zip(names, raw.T, strict=True):
        if (column == column[:1]).all():
            raise DataError(f"covariates: {name} is {column[0]:g} in all rows: it explains nothing. Leave it out.")
    inside = (raw - centre) / spread
    left = np.abs(np.diagonal(np.linalg.qr(np.column_stack([np.ones(len(raw)), inside]), mode="r")))
    lengths = np.append(np.sqrt(len(raw)), np.linalg.norm(inside, axis=0))
    dependent = np.flatnonzero(left[1:] <= DEPENDENT * lengths[1 : len(left)])
    if len(dependent) or len(left) < len(lengths):
        name = names[dependent[0]] if len(dependent) else names[len(left) - 1]
        raise DataError(f"covariates: {name} follows from the others (it is collinear). Leave it out.")
