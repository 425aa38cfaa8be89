"""Outcomes of classes that were found before: means or shares in each class, with errors.

`bch`        means weighted by the assigned classes times the inverse of their errors
`ml`         the outcome is normal, or has its own probabilities, in each class; the assigned class has known errors
`two-step`   the same, with the indicators of the class, as they were fitted, in place of the assigned class
`naive`      means of the assigned classes, as if these were the true ones

Errors are in `assignment`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from halfseen.assign import SOFT
from halfseen.data import Evidence, Schema, Source, Table
from halfseen.engine.loop.em import em, evaluate
from halfseen.engine.loop.run import EMRun
from halfseen.engine.loop.squarem import Squarem
from halfseen.engine.loop.stopping import gain
from halfseen.engine.tables.mixture import Mixture
from halfseen.engine.tables.preprocess import reduce
from halfseen.errors import DataError, FitError
from halfseen.estimators.observed import observed_rows
from halfseen.estimators.table.emission_builder import Recipe, summarise
from halfseen.inference.assignment import KNOWN, StepOne, propagated, sandwich
from halfseen.inference.information import information
from halfseen.inference.relate_covariates import pieces
from halfseen.leaves.leaf import Floats, frozen
from halfseen.leaves.limits import Params

TOL = 1e-10  # estimated gain that is left
FLOOR = 1e-8  # smallest variance, as a share of that of the outcome
PASSES = 5000
KINDS = ("gaussian", "categorical")


class Measured(NamedTuple):
    """Estimates of one outcome in every class.

    Attributes
    ----------
    name : str
    levels : tuple or None         categories; None for a mean
    estimate : (K, V) array        shares of the categories, or means (V = 1)
    covariance : (K V, K V) array
    n_rows : float                 rows with the outcome, weighted
    note : str
    """

    name: str
    levels: tuple[Any, ...] | None
    estimate: Floats
    covariance: Floats
    n_rows: float
    note: str


class Outcome(NamedTuple):
    """One outcome as read: a table of one column, and which rows have it."""

    name: str
    schema: Schema
    block: Any
    weight: Floats

    @property
    def levels(self) -> tuple[Any, ...] | None:
        """Categories; None for numbers."""
        return self.schema.columns[0].categories

    @property
    def indicators(self) -> Floats:
        """Columns whose means are the estimates, (N, V): the numbers, or an indicator of each category."""
        cells = np.asarray(self.block)[:, 0]
        if self.levels is None:
            return np.where(self.weight > 0, cells, 0.0)[:, None]
        return (cells[:, None] == np.arange(len(self.levels))).astype(np.float64)


def read_outcomes(source: Source, weight: Floats, kinds: Any) -> list[Outcome]:
    """Return the outcomes of a table, each with the weights of the rows that have it."""
    schema = Schema.learn(source, kinds)
    table = schema.encode(source, weight)
    found = []
    for j, column in enumerate(schema.columns):
        if column.kind.name not in KINDS:
            raise DataError(f"outcomes: {column.name} is {column.kind.name}; outcomes are numbers or categories.")
        one = Schema.of([column])
        block = next(own for own in schema.each_block() if j in own.members)
        cells = np.asarray(table.blocks[block.name])[:, [block.members.index(j)]]
        own_weight = np.where(table.missing[:, j], 0.0, weight)
        used = cells[own_weight > 0, 0]
        if not len(used):
            raise DataError(f"outcomes: {column.name} is missing in all rows.")
        if (used == used[0]).all():
            value = used[0] if column.categories is None else column.categories[int(used[0])]
            raise DataError(f"outcomes: {column.name} is {value} in all rows: classes cannot differ in it.")
        found.append(Outcome(column.name, one, cells, own_weight))
    return found


def measure(step: StepOne, outcome: Outcome, method: str, propagate: bool) -> Measured:
    """Return the estimates of an outcome in every class, with their covariance."""
    if method in ("bch", "naive"):
        return _by_weights(step, outcome, method, propagate)
    return _by_likelihood(step, outcome, method, propagate)


# ---- weighted means --------------------------------------------------------------------------------------------------


def _by_weights(step: StepOne, outcome: Outcome, method: str, propagate: bool) -> Measured:
    weight, y = outcome.weight, outcome.indicators
    used = pieces(step, method, weight).usage
    assert used is not None
    mass = weight @ used
    if (mass <= 0).any():
        raise FitError(_negative(outcome, f"class {int(mass.argmin())} has no positive weight"))
    estimate = (used * weight[:, None]).T @ y / mass[:, None]
    _check_possible(outcome, weight[:, None] * used, y, estimate, mass)
    scores = (used[:, :, None] * (y[:, None, :] - estimate)).reshape(len(y), -1)
    inverse = np.diag(1 / np.repeat(mass, y.shape[1]))
    n_rows = float(weight.sum())
    if method == "naive" or not propagate:
        return Measured(outcome.name, outcome.levels, estimate, sandwich(inverse, scores, weight), n_rows, KNOWN)

    def slope(params: Params, table: Floats | None) -> Floats:
        moved = pieces(step, method, weight, params, table).usage
        assert moved is not None
        total: Floats = np.einsum("n,nk,nkv->kv", weight, moved, y[:, None, :] - estimate).ravel()
        return total

    covariance, note = propagated(inverse, scores, weight, step, slope, True)
    return Measured(outcome.name, outcome.levels, estimate, covariance, n_rows, note)


def _check_possible(outcome: Outcome, weighted: Floats, y: Floats, estimate: Floats, mass: Floats) -> None:
    """Refuse shares and variances that negative weights make negative."""
    if outcome.levels is not None:
        if estimate.min() < -1e-9 or estimate.max() > 1 + 1e-9:
            raise FitError(_negative(outcome, f"a share is {estimate.min():.3g}"))
        return
    spread = np.einsum("nk,nk->k", weighted, (y - estimate[:, 0]) ** 2) / mass
    if (spread <= 0).any():
        raise FitError(_negative(outcome, f"the variance in class {int(spread.argmin())} is {spread.min():.3g}"))


def _negative(outcome: Outcome, what: str) -> str:
    return f"outcomes: {outcome.name}: {what}, because some BCH weights are negative. Use method='ml'."


# ---- likelihoods -----------------------------------------------------------------------------------------------------


class _Read(NamedTuple):
    """Rows with an outcome and what is known of their class; `row` is the row that each belongs to."""

    table: Table
    row: NDArray[np.intp]


def _read(
    step: StepOne, outcome: Outcome, method: str, params: Params | None = None, table: Floats | None = None
) -> _Read:
    found = pieces(step, method, outcome.weight, params, table)
    assert found.evidence is not None
    none = np.zeros((1, found.evidence.shape[1]))
    evidence = Evidence(np.vstack([none, found.evidence]), np.arange(1, len(found.row) + 1, dtype=np.int32))
    name = next(iter(outcome.schema.blocks))
    rows = Table(outcome.schema, {name: np.asarray(outcome.block)[found.row]}, found.weight, evidence)
    kept = np.flatnonzero(found.weight > 0)
    return _Read(rows.take(kept), found.row[kept])


def _by_likelihood(step: StepOne, outcome: Outcome, method: str, propagate: bool) -> Measured:
    read = _read(step, outcome, method)
    n_classes = len(step.model.weights_)
    model = Recipe(outcome.schema, summarise(replace(read.table, evidence=None)), n_classes, None, FLOOR).model()
    params = _fitted(model, step, outcome, read, method)
    observed = observed_rows(model, read.table, apart=True)

    def shown(each: Params) -> Floats:
        [block] = each["emit"].values()
        return np.ravel(block.mean if outcome.levels is None else block)

    found = information(model, params, observed, shown)
    inverse = np.asarray(np.linalg.inv(_positive(found.curvature, outcome, method)), dtype=np.float64)
    scores = np.concatenate(list(observed.scores(params))) @ found.basis
    by_row = np.zeros((len(outcome.weight), scores.shape[1]))
    np.add.at(by_row, read.row, read.table.weight[:, None] * scores)
    used = outcome.weight > 0
    by_row[used] /= outcome.weight[used, None]

    def slope(other: Params, table: Floats | None) -> Floats:
        moved = _read(step, outcome, method, other, table).table
        [each] = evaluate(model, reduce(model, moved), [params])
        total: Floats = model.slope(each.expected.stats, params) @ found.basis
        return total

    if propagate:
        covariance, note = propagated(inverse, by_row, outcome.weight, step, slope, method != "two-step")
    else:
        covariance, note = sandwich(inverse, by_row, outcome.weight), KNOWN
    into = found.jacobian @ found.basis
    estimate = shown(params).reshape(n_classes, -1)
    n_rows = float(outcome.weight.sum())
    return Measured(outcome.name, outcome.levels, estimate, into @ covariance @ into.T, n_rows, note)


def _fitted(model: Mixture, step: StepOne, outcome: Outcome, read: _Read, method: str) -> Params:
    """Return the maximum of the likelihood, from the means of rows by their posteriors."""
    posterior = np.exp(step.joint()[1])[read.row]
    leaf = model.leaves["emit"]
    blank = leaf.blank()
    stats = np.zeros(leaf.stats_shape)
    leaf.expect(read.table.weight[:, None] * posterior, leaf.prepare(blank), read.table.blocks, SOFT, stats)
    start = {"mix": frozen(step.model.weights_[None]), "emit": leaf.maximise(stats, blank)}
    data = reduce(model, read.table.canonical())
    run = EMRun(model, start, rule=gain(TOL), max_iter=PASSES, squarem=Squarem())
    for _ in em(lambda runs: evaluate(model, data, [runs[0].params]), [run]):
        pass
    if run.reason == "max_iter":
        raise FitError(f"outcomes: {outcome.name}: method={method!r} did not converge. Use method='bch'.")
    if not run.healthy:
        raise FitError(f"outcomes: {outcome.name}: a class collapsed onto few rows. Use method='bch'.")
    return run.accepted.params


def _positive(curvature: Floats, outcome: Outcome, method: str) -> Floats:
    try:
        np.linalg.cholesky(curvature)
    except np.linalg.LinAlgError:
        other = "bch" if method == "ml" else "ml"
        raise FitError(
            f"outcomes: {outcome.name}: method={method!r} has no maximum with a positive curvature, so that there are "
            f"no errors. Use method={other!r}."
        ) from None
    return curvature
