"""How well a model imputes: hide some known cells, guess them from the rest of their rows, compare with the truth.

The baseline is the column's mean or its most frequent value. The model is fitted again to the table without the hidden
cells. Where that would take long the model as it is, which was fitted to these cells, makes the guesses, and the result
says so.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from halfseen.analysis.scored_table import Mask
from halfseen.data import Table, frame_from_dict
from halfseen.errors import ParameterError
from halfseen.estimators import options
from halfseen.kinds.wording import number
from halfseen.leaves.leaf import Floats
from halfseen.seeds import seed_of

SMALL = 20_000  # rows up to which a refit takes a second or so
ELSEWHERE = "which was fitted to another table"
LEAST = 10  # observed cells below which a column has none to spare


class HiddenColumn(NamedTuple):
    """One column of the check.

    Attributes
    ----------
    column, kind : str
    n_cells : int         cells hidden
    unit : str            "mean error" of numbers, in the column's own unit; "wrong", a share, of categories;
                          "rank error", the mean difference in ranks, of ordered categories
    error : float         of the model's guesses
    plain : float         of the column's mean or most frequent value; of ordered categories, of their median
    exact : float or None    of ordered categories, the share of guesses that are the category itself
    """

    column: str
    kind: str
    n_cells: int
    unit: str
    error: float
    plain: float
    exact: float | None = None

    @property
    def gain(self) -> float:
        """How much smaller the model's error is, as a share of the plain one."""
        return 1 - self.error / self.plain if self.plain > 0 else 0.0


@dataclass(frozen=True)
class HiddenCells:
    """Known cells hidden and guessed, column by column. Prints as a table.

    Attributes
    ----------
    columns : tuple of HiddenColumn
    refitted : bool      whether the model was fitted again without the hidden cells
    note : str           how the check was made
    """

    columns: tuple[HiddenColumn, ...]
    refitted: bool
    note: str

    @property
    def n_cells(self) -> int:
        """Cells hidden in all."""
        return sum(column.n_cells for column in self.columns)

    def __str__(self) -> str:
        width = max([len(column.column) for column in self.columns] + [6])
        if not self.columns:
            return textwrap.fill(self.note, 100)
        lines = [textwrap.fill(self.note, 100), ""]
        lines.append(f"{'column':{width}}   cells              by the model   by mean or mode")
        for column in self.columns:
            shown = [f"{e:.0%}" if column.unit == "wrong" else number(e) for e in (column.error, column.plain)]
            exact = "" if column.exact is None else f"   {column.exact:.0%} exact"
            lines.append(
                f"{column.column:{width}}  {column.n_cells:6}   {column.unit:>10} {shown[0]:>12} {shown[1]:>17}{exact}"
            )
        return "\n".join(lines)

    def to_frame(self) -> Any:
        """Return the columns of the check as a table."""
        return frame_from_dict({name: [getattr(c, name) for c in self.columns] for name in HiddenColumn._fields})


def hidden_cells(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    share: float = 0.1,
    refit: bool | str = "auto",
    n_init: int = 4,
    sample_weight: ArrayLike | None = None,
    random_state: Any = 0,
) -> HiddenCells:
    """Hide known cells at random, guess them with the model, and compare with the column's mean or mode.

    Text is neither hidden nor guessed; its words help to guess the cells beside it. `KMeans` guesses as it
    imputes: from the centre that is nearest over the cells that are left.

    Parameters
    ----------
    model : fitted LatentClass, GaussianMixture, NaiveBayes, GaussianClassifier, KMeans or HMM
    X : table
        The one it was fitted to, or any with its columns. Sequences come in a list, or in a data frame with the columns
        of group and time that the fit had; an HMM guesses from the steps around a cell too, and is not fitted again.
    y : labels, optional
        Of a classifier; needed to fit it again.
    share : float, default 0.1
        Share of the known cells to hide.
    refit : bool or "auto"
        Fit again without the hidden cells, with the number of classes that the model has. "auto": for up to 20,000
        rows, if the model came from a fit to a table with as many.
    n_init : int, default 4
        Starts of the refit.
    sample_weight : (N,) array, optional
    random_state : seed of what is hidden, and of the refit

    Returns
    -------
    HiddenCells

    Examples
    --------
    >>> import halfseen as hs
    >>> X = [["a", 1.0 + i / 50] for i in range(40)] + [["b", 7.0 + i / 50] for i in range(40)]
    >>> model = hs.LatentClass(2, random_state=0).fit(X)
    >>> check = hs.hidden_cells(model, X, share=0.2)
    >>> [(column.column, column.error < column.plain) for column in check.columns]
    [('x0', True), ('x1', True)]
    """
    if not options.number("share", share, 0, 1) > 0:
        raise ParameterError(f"share={share!r} is not a share between 0 and 1, both excluded.")
    options.whole("n_init", n_init)
    if refit != "auto":
        options.flag("refit", refit)
    imputer = getattr(model, "_cell_imputer", None)
    if imputer is None:
        raise ParameterError(f"{type(model).__name__} is not a fitted mixture over a table, KMeans or HMM.")
    check_is_fitted(model)
    cells: CellImputer = imputer(X, y, sample_weight)
    if refit is True and cells.no_refit:
        raise ParameterError(f"refit=True: the model cannot be fitted again, {cells.no_refit}. Use refit=False.")
    reason = None if refit == "auto" else ("" if refit else "as asked")
    return check_imputation(cells, share, reason, n_init, random_state)


class CellImputer(Protocol):
    """A model with a table whose missing cells it fills: what `hidden_cells` asks of a model.

    A model has a method ``_cell_imputer(X, y, sample_weight)``, which reads a table and returns one of these.

    Attributes
    ----------
    table : Table               the cells, encoded
    unit : str                  what a cell is guessed from: "rows" or "sequences"
    n_rows : float              rows of the table, as a fit weights them
    n_fitted : float or None    rows that the model was fitted to; None if it was not fitted to a table as a whole
    no_refit : str              why it cannot be fitted again to any table; empty if it can
    """

    @property
    def table(self) -> Table: ...
    @property
    def unit(self) -> str: ...
    @property
    def n_rows(self) -> float: ...
    @property
    def n_fitted(self) -> float | None: ...
    @property
    def no_refit(self) -> str: ...

    def refitted(self, table: Table, n_init: int, seed: np.random.SeedSequence) -> CellImputer:
        """Return a copy fitted to a table of the same rows with more missing cells, without warnings."""
        ...

    def filled(self, table: Table, rows: NDArray[np.int64]) -> Table:
        """Return these rows of a table with their missing cells filled."""
        ...


def check_imputation(
    cells: CellImputer, share: float = 0.1, reason: str | None = None, n_init: int = 4, random_state: Any = 0
) -> HiddenCells:
    """Return the check of an encoded table; `reason` says why the model is not fitted again, None to find out."""
    reason = _why_not(cells) if reason is None else reason
    table = cells.table
    hidden = _hide(table, share, np.random.default_rng(seed_of(random_state)))
    if not hidden.any():
        texts = len(table.schema.texts) == len(table.schema.columns)
        note = "There is nothing but text, whose words are not guessed: no cell can be hidden."
        return HiddenCells((), False, note if texts else "No column has enough known cells to hide some.")
    masked = _without(table, hidden)
    guesser = cells if reason else cells.refitted(masked, n_init, seed_of(random_state))
    rows = np.flatnonzero(hidden.any(axis=1))
    columns = _judged_all(table.take(rows), masked, guesser.filled(masked, rows), hidden[rows])
    n_cells = sum(column.n_cells for column in columns)
    return HiddenCells(columns, not reason, _note(n_cells, share, cells.unit, reason))


def _why_not(cells: CellImputer) -> str:
    """Return why a refit is not made; empty if it is."""
    if cells.n_fitted is None:
        return "which was not fitted to this table as a whole"
    if cells.no_refit:
        return cells.no_refit
    if abs(cells.n_rows - cells.n_fitted) > 1e-6 * cells.n_fitted:
        return ELSEWHERE
    return f"as {cells.table.n_rows:,} rows are many to fit again" if cells.table.n_rows > SMALL else ""


def _note(n_cells: int, share: float, unit: str, reason: str) -> str:
    start = f"{n_cells:,} known cells ({share:.0%}) were hidden at random and guessed from the rest of their {unit}"
    if not reason:
        return f"{start}, by a model fitted again without them."
    if reason == ELSEWHERE:
        return f"{start}, by the model as it is, {reason}."
    return f"{start}, by the model as it is, {reason}; it may have seen these cells, so its errors may be too small."


def _hide(table: Table, share: float, rng: np.random.Generator) -> Mask:
    """Choose cells to hide, (N, D): each known one with probability `share`, where its column can spare it."""
    hidden = table.missing
    for d, column in enumerate(table.schema.columns):
        if column.kind.of_words:  # which is not guessed
            continue
        known = np.flatnonzero(~hidden[:, d])
        chosen = known[rng.random(len(known)) < share]
        hidden[:, d] = False
        if _can_spare(table, d, np.setdiff1d(known, chosen)):
            hidden[chosen, d] = True
    return hidden


def _can_spare(table: Table, d: int, left: Any) -> bool:
    cells = _column(table, d)[left]
    return len(left) >= LEAST and bool(np.any(cells != cells[0]))


def _column(table: Table, d: int) -> Any:
    for name, members in table.schema.blocks.items():
        if d in members:
            return table.blocks[name][:, members.index(d)]
    raise KeyError(d)


def _without(table: Table, hidden: Mask) -> Table:
    """Return the table with more missing cells, without its labels."""
    return Table(table.schema, table.hide(hidden).blocks, table.weight)


def _judged_all(table: Table, masked: Table, filled: Table, hidden: Mask) -> tuple[HiddenColumn, ...]:
    """Compare hidden cells of a table with what they were filled with; what was left of all rows is in `masked`."""
    found = []
    for d, column in enumerate(table.schema.columns):
        own = hidden[:, d]
        if not own.any():
            continue
        truth, guess = _column(table, d)[own], _column(filled, d)[own]
        left = ~masked.missing[:, d]
        found.append(_judged(column, truth, guess, table.weight[own], _column(masked, d)[left], masked.weight[left]))
    return tuple(found)


def _judged(column: Any, truth: Any, guess: Any, weight: Floats, left: Any, left_weight: Floats) -> HiddenColumn:
    weight = weight / weight.sum() if weight.any() else np.full(len(weight), 1 / len(weight))
    unit, error, plain = column.kind.error(truth, guess, weight, left, left_weight)
    exact = column.kind.exact(truth, guess, weight)
    return HiddenColumn(column.name, column.kind.name, len(truth), unit, error, plain, exact)
