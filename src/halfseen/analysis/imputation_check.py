"""How well a model fills holes: hide some known cells, guess them from the rest of their rows, compare with the truth.

The rival is the usual quick repair, the column's mean or its most frequent value. An honest check fits the model again
to the table without the hidden cells. Where that would take long the model as it is, which has seen them, makes the
guesses, and the result says so.
"""

from __future__ import annotations

import textwrap
import warnings
from copy import copy
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from halfseen.analysis.scored_table import Mask, check_mixture
from halfseen.data import Sequences, Source, Table, frame_from_dict, read_target, row_weight
from halfseen.data.matrix import as_matrix
from halfseen.errors import ParameterError
from halfseen.estimators import options
from halfseen.estimators.table.table_mixture import TableMixture
from halfseen.families.hmm.impute import full_blocks
from halfseen.families.hmm.methods import HMMMethods
from halfseen.families.kmeans.estimator import KMeans
from halfseen.families.mixture.fit import MixtureFit
from halfseen.families.mixture.supervised import MixtureClassifier, target_of
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
    unit : str            "mean error" of numbers, in the column's own unit; "wrong", a share, of categories
    error : float         of the model's guesses
    plain : float         of the column's mean or most frequent value
    """

    column: str
    kind: str
    n_cells: int
    unit: str
    error: float
    plain: float

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
            lines.append(
                f"{column.column:{width}}  {column.n_cells:6}   {column.unit:>10} {shown[0]:>12} {shown[1]:>17}"
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
    if isinstance(model, HMMMethods):
        if refit is True or y is not None or sample_weight is not None:
            raise ParameterError("refit=True, y= and sample_weight= have no meaning for an HMM.")
        return hidden_along(model, model._sequences(X, None, None, None)[0], share, random_state)
    if isinstance(model, KMeans):
        if y is not None:
            raise ParameterError("y= has no meaning for KMeans, which has no labels to learn from.")
        cells = model._read(X)
        known = Table(
            model._schema, {"gaussian": as_matrix(cells).astype(np.float64)}, row_weight(cells, sample_weight)
        )
        unfit = None if refit == "auto" else ("" if refit else "as asked")
        return hidden_by_centres(model, known, share, unfit, n_init, random_state)
    check_mixture(model)
    source: Source = model._read(X, reset=False)
    y = source.target if y is None else y
    if refit is True and isinstance(model, MixtureClassifier) and y is None:
        raise ParameterError("refit=True needs the labels: pass y, or use refit=False.")
    table = model._schema.encode(source, row_weight(source, sample_weight))
    reason = _why_not(model, y, table) if refit == "auto" else ("" if refit else "as asked")
    return hidden_in(model, table, y, share, reason, n_init, random_state)


def hidden_in(
    model: TableMixture,
    table: Table,
    y: Any = None,
    share: float = 0.1,
    reason: str | None = None,
    n_init: int = 4,
    random_state: Any = 0,
) -> HiddenCells:
    """Return the check of an encoded table; `reason` says why the model is not fitted again, None to find out."""
    reason = _why_not(model, y, table) if reason is None else reason
    hidden = _hide(table, share, np.random.default_rng(seed_of(random_state)))
    if not hidden.any():
        texts = len(table.schema.texts) == len(table.schema.columns)
        note = "There is nothing but text, whose words are not guessed: no cell can be hidden."
        return HiddenCells((), False, note if texts else "No column has enough known cells to hide some.")
    holed = _without(table, hidden)
    guesser = model if reason else _refitted(model, holed, y, n_init, seed_of(random_state))
    columns = _compare(guesser, table, holed, hidden)
    n_cells = sum(column.n_cells for column in columns)
    return HiddenCells(columns, not reason, _note(n_cells, share, reason))


def hidden_by_centres(
    model: KMeans,
    table: Table,
    share: float = 0.1,
    reason: str | None = None,
    n_init: int = 4,
    random_state: Any = 0,
) -> HiddenCells:
    """Return the check of a table of numbers: each hidden cell is that of the nearest centre.

    `reason` says why the model is not fitted again, None to find out.
    """
    reason = _why_no_centres(model, table) if reason is None else reason
    hidden = _hide(table, share, np.random.default_rng(seed_of(random_state)))
    if not hidden.any():
        return HiddenCells((), False, "No column has enough known cells to hide some.")
    holed = _without(table, hidden)
    guesser = model if reason else _centres_again(model, holed, n_init)
    rows = np.flatnonzero(hidden.any(axis=1))
    labels, _ = guesser._assigned(np.ascontiguousarray(holed.blocks["gaussian"][rows]))
    guessed = Table(table.schema, {"gaussian": guesser.cluster_centers_[labels]}, table.weight[rows])
    columns = _judged_all(table.take(rows), holed, guessed, hidden[rows])
    return HiddenCells(columns, not reason, _note(sum(column.n_cells for column in columns), share, reason))


def _centres_again(model: KMeans, holed: Table, n_init: int) -> KMeans:
    """Fit a copy, quietly: the fit proper has already said what there is to say."""
    other = clone(model).set_params(n_clusters=len(model.cluster_centers_), n_init=n_init)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted: KMeans = other.fit(holed.blocks["gaussian"], sample_weight=holed.weight)
    return fitted


def _why_no_centres(model: KMeans, table: Table) -> str:
    if not hasattr(model, "inertia_"):
        return "which was not fitted to this table as a whole"
    n_rows = model.cluster_sizes_.sum()
    if abs(table.weight.sum() - n_rows) > 1e-6 * n_rows:
        return ELSEWHERE
    return f"as {table.n_rows:,} rows are many to fit again" if table.n_rows > SMALL else ""


def hidden_along(model: HMMMethods, sequences: Sequences, share: float = 0.1, random_state: Any = 0) -> HiddenCells:
    """Return the check of encoded sequences, by the model as it is."""
    table = sequences.steps
    hidden = _hide(table, share, np.random.default_rng(seed_of(random_state)))
    if not hidden.any():
        return HiddenCells((), False, "No column has enough known cells to hide some.")
    holed = _without(table, hidden)
    full, _ = full_blocks(model._model, model._params, Sequences.of(holed, sequences.lengths, sequences.weight), None)
    columns = _judged_all(table, holed, Table(table.schema, full, table.weight), hidden)
    n_cells = sum(column.n_cells for column in columns)
    note = (
        f"{n_cells:,} known cells ({share:.0%}) were hidden at random and guessed from the rest of their sequences, by "
        "the model as it is; where it was fitted to these cells, its errors may be too small."
    )
    return HiddenCells(columns, False, note)


def _why_not(model: TableMixture, y: Any, table: Table) -> str:
    """Return why a refit is not made; empty if it is."""
    if not hasattr(model, "loglik_"):
        return "which was not fitted to this table as a whole"
    if isinstance(model, MixtureClassifier) and y is None:
        return "as no labels were given to fit it again"
    weight = _known(model, table, y).weight if isinstance(model, MixtureClassifier) else table.weight
    if abs(weight.sum() - model._n_rows) > 1e-6 * model._n_rows:
        return ELSEWHERE
    return f"as {table.n_rows:,} rows are many to fit again" if table.n_rows > SMALL else ""


def _note(n_cells: int, share: float, reason: str) -> str:
    start = f"{n_cells:,} known cells ({share:.0%}) were hidden at random and guessed from the rest of their rows"
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


def _refitted(model: TableMixture, holed: Table, y: Any, n_init: int, seed: np.random.SeedSequence) -> TableMixture:
    """Fit a copy of the model to a table with more holes: same columns, categories and number of classes."""
    assert isinstance(model, MixtureFit)
    other = copy(model)
    other.n_init = n_init
    if isinstance(model, MixtureClassifier):
        holed = _known(model, holed, y)
    found = other._search(holed.canonical(), len(model.weights_), seed, covariance=model._recipe.covariance)
    other._model, other._params = found.model, found.params
    return other


def _known(model: MixtureClassifier, table: Table, y: Any) -> Table:
    """Return a table with the evidence of its labels, its rows weighted as in a fit."""
    evidence, _ = read_target(target_of(y), table.n_rows, model.classes_.tolist())
    weight = np.where(evidence.index == 0, model.unlabeled_weight_ * table.weight, table.weight)
    return Table(table.schema, table.blocks, weight, evidence.repeated(int(model.components_per_class)))


def _compare(model: TableMixture, table: Table, holed: Table, hidden: Mask) -> tuple[HiddenColumn, ...]:
    rows = np.flatnonzero(hidden.any(axis=1))
    gone = holed.take(rows)
    resp = np.concatenate(model._infer(gone, lambda part: part.usage["emit"]))
    filled = Table(table.schema, model._filled(gone.chunks(size=len(rows))[0], resp, None), gone.weight)
    return _judged_all(table.take(rows), holed, filled, hidden[rows])


def _judged_all(table: Table, holed: Table, filled: Table, hidden: Mask) -> tuple[HiddenColumn, ...]:
    """Compare hidden cells of a table with what they were filled with; what was left of all rows is in `holed`."""
    found = []
    for d, column in enumerate(table.schema.columns):
        own = hidden[:, d]
        if not own.any():
            continue
        truth, guess = _column(table, d)[own], _column(filled, d)[own]
        left = ~holed.missing[:, d]
        found.append(_judged(column, truth, guess, table.weight[own], _column(holed, d)[left], holed.weight[left]))
    return tuple(found)


def _judged(column: Any, truth: Any, guess: Any, weight: Floats, left: Any, left_weight: Floats) -> HiddenColumn:
    weight = weight / weight.sum() if weight.any() else np.full(len(weight), 1 / len(weight))
    error = column.kind.error(truth, guess, weight, left, left_weight)
    return HiddenColumn(column.name, column.kind.name, len(truth), *error)
