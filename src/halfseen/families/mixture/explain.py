"""EM number by number, for data small enough to read.

Each iteration completes the data, counts, and divides:

    augmented   every row once for each class, with a weight: the class's probability given the row
    count[c]    the sum of these weights in class c
    count[column, value, c]    the sum over the rows that hold the value; for numbers what mean and variance need
    parameters  P(c) = count[c] / N,   P(value | c) = count[column, value, c] / its sum over values

For tiny data there is also the joint table: every way to complete all rows at once, with its probability. EM never
builds it, and agrees with it: the rows are independent, so its marginals are the weights above.

All numbers come from the engine's own `evaluate` and `improved`; nothing is computed twice in another way, but for the
joint table, which is there to be compared.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from halfseen.analysis.beginning import begun
from halfseen.analysis.worked_numbers import Objective, Section, Worked
from halfseen.assign import Assign
from halfseen.data import Table, read_labels
from halfseen.engine.loop.em import evaluate
from halfseen.engine.loop.expected import Step
from halfseen.engine.loop.model import Chunk, Reduced
from halfseen.engine.tables.mixture import Mixture
from halfseen.errors import DataError, FitError, ParameterError
from halfseen.estimators import options
from halfseen.estimators.table.profile import fitted_blocks
from halfseen.families.mixture import explain_grids as grids
from halfseen.families.mixture.completions import Completion, joint_table
from halfseen.families.mixture.unsupervised import UnsupervisedMixture
from halfseen.families.mixture.workings import Pass, Workings
from halfseen.kinds.kind import Kind
from halfseen.leaves.leaf import Floats, Stats
from halfseen.leaves.limits import Params
from halfseen.seeds import child, seed_of

MOST_ROWS = 30  # more are too many to read
AGREE = 1e-9  # relative: the rows of an iteration add up to its counts

Columns = dict[str, dict[Any, Floats]]


class Augmented(NamedTuple):
    """A row of the augmented data: an original row, a class, and how much of the row counts there."""

    row: int
    component: int
    weight: float


@dataclass(frozen=True)
class Counts:
    """Expected counts.

    Attributes
    ----------
    classes : (K,) array     the sum of the weights in each class
    values : dict       column -> {value: (K,) array}, for columns of categories, and of text by word
    sums : dict         column -> {"mass", "sum", "squares": (K,) arrays} for numbers: how much of the column was seen,
                        the weighted sum, and the weighted squares about the new mean; {"mass", "events"} for counts
    """

    classes: Floats
    values: Columns
    sums: Columns


@dataclass(frozen=True)
class Iteration:
    """One iteration of EM.

    Attributes
    ----------
    number : int                counted from 1
    before, after : dict        the parameters, in the form of `params_`
    usage : (N, K) array        how much of each row counts in each class
    counts : Counts             what the completed data add up to
    prior : Counts or None      pseudo-counts that the prior adds to them
    loglik, log_prior, objective : float        of the parameters before the step; hard: loglik is the best joint
    reached : float             the objective of the parameters after the step
    joint : list of Completion or None      the joint table, where it is small enough
    done : Pass                 what the arithmetic of the numbers is written from
    """

    number: int
    before: dict[str, Any]
    usage: Floats
    counts: Counts
    prior: Counts | None
    after: dict[str, Any]
    loglik: float
    log_prior: float
    reached: float
    joint: list[Completion] | None = field(repr=False)
    done: Pass = field(repr=False)

    @property
    def log_joint(self) -> Floats:
        """Log P(row, class) under the parameters before the step, (N, K); labels multiply it."""
        return self.done.log_joint

    @property
    def log_joint_after(self) -> Floats:
        """Log P(row, class) under the parameters after the step, (N, K)."""
        return self.done.log_joint_after

    @property
    def objective(self) -> float:
        """What the loop climbs, before the step."""
        return self.loglik + self.log_prior

    @property
    def augmented(self) -> list[Augmented]:
        """Every row once for each class."""
        return [Augmented(n, k, float(weight)) for (n, k), weight in np.ndenumerate(self.usage)]

    @property
    def class_counts(self) -> Floats:
        """The expected number of rows in each class, (K,)."""
        return self.counts.classes

    @property
    def value_counts(self) -> Columns:
        """The expected number of rows with each value: column -> {value: (K,) array}."""
        return self.counts.values


@dataclass(frozen=True, repr=False)
class Explanation(Worked):
    """EM number by number: `print` it, show it in a notebook, or `save` it as a page.

    Attributes
    ----------
    steps : list of Iteration
    columns : dict              the rows' cells by column; None where missing
    row_weight : (N,) array
    class_names : tuple of str
    assign : str                "soft", "hard" or "sample"
    quantities : set of str     the columns of numbers and counts
    workings : Workings         the arithmetic of the numbers
    """

    steps: list[Iteration]
    columns: dict[str, list[Any]]
    row_weight: Floats
    class_names: tuple[str, ...]
    assign: str
    quantities: frozenset[str]
    workings: Workings

    @property
    def heading(self) -> str:
        """How many rows and classes, and how rows are assigned."""
        return f"{len(self.row_weight)} rows, {len(self.class_names)} classes, {self.assign} assignment"

    def sections(self) -> list[Section]:
        """What text and page show."""
        return grids.sections(self)

    @property
    def objective(self) -> Objective:
        """The log-likelihood, or of hard assignment the best joint; with the log-prior, if there is one."""
        before, after = [step.objective for step in self.steps], [step.reached for step in self.steps]
        return Objective(self.quantity, list(map(float, before)), list(map(float, after)))

    @cached_property
    def quantity(self) -> str:
        """The name of what each step raises."""
        name = "best joint log-probability" if self.assign == "hard" else "log-likelihood"
        return name + (" + log-prior" if any(step.log_prior for step in self.steps) else "")


def explain(
    model: UnsupervisedMixture, X: Any, n_iter: int = 3, sample_weight: Any = None, labels: Any = None
) -> Explanation:
    """Show a mixture at work on a few rows, number by number; see `halfseen.explain`."""
    options.whole("n_iter", n_iter)
    if not isinstance(model, UnsupervisedMixture):
        raise ParameterError(f"explain shows LatentClass, GaussianMixture and KMeans, got {type(model).__name__}.")
    assign = Assign.read(model.assign, model.draws)
    stands = model if hasattr(model, "_params") else begun(model, X, sample_weight, labels)
    stands._check_marginal("explain")
    table = _table(stands, X, sample_weight, labels)
    steps = list(_iterations(stands, table, assign, n_iter))
    cells = dict(zip(table.schema.names, stands._decoded(table.blocks), strict=True))
    quantities = frozenset(column.name for column in table.schema.columns if is_quantity(column.kind))
    workings = Workings(stands, table.chunks()[0], assign)
    return Explanation(steps, cells, table.weight, stands.class_names_, assign.mode, quantities, workings)


def is_quantity(kind: Kind) -> bool:
    """Whether columns of a kind have parameters with names; others have categories or words with probabilities."""
    return not kind.has_categories and not kind.of_words


def _table(model: UnsupervisedMixture, X: Any, sample_weight: Any, labels: Any) -> Table:
    """Return the rows in the order of the user: nothing is merged, every row is seen."""
    source = model._read(X, reset=False)
    if source.n_rows > MOST_ROWS:
        raise DataError(
            f"X has {source.n_rows} rows; EM number by number is readable for at most {MOST_ROWS}. Pass a few rows."
        )
    n_components = len(model.weights_)
    named = any(name != model._default_name(k) for k, name in enumerate(model.class_names_))
    evidence, _ = read_labels(labels, source.n_rows, n_components, model.class_names_ if named else None)
    return model._schema.encode(source, sample_weight, evidence)


# ---- the iterations ----------------------------------------------------------------------------------------------


def _iterations(model: UnsupervisedMixture, table: Table, assign: Assign, n_iter: int) -> Iterator[Iteration]:
    """Evaluate, show, improve; the objective reached belongs to the parameters of the next pass."""
    engine, [chunk] = model._model, table.chunks()
    seed = child(seed_of(model.random_state), 1)
    step = _pass(engine, chunk, model._params, assign, seed, 0)
    for number in range(1, n_iter + 1):
        usage = _usage(engine, chunk, step, assign.seeded(seed, (0, number - 1, chunk.index)))
        following = _pass(engine, chunk, engine.improved(step), assign, seed, number)
        pseudo = engine.prior(step.params)
        here, there = (_log_joint(engine, chunk, each.params) for each in (step, following))
        priors = step.log_prior, following.log_prior
        yield Iteration(
            number,
            _shown(model, step.params),
            usage,
            _counts(model, step.expected.stats, step.params),
            None if pseudo is None else _counts(model, pseudo, step.params),
            _shown(model, following.params),
            step.loglik,
            step.log_prior,
            following.objective,
            joint_table(engine, chunk, step.params),
            Pass(step.params, following.params, step.expected.stats, pseudo, here, there, usage, *priors),
        )
        step = following


def _log_joint(model: Mixture, chunk: Chunk, params: Params) -> Floats:
    return model.joint(model.prepare(params), chunk.blocks, chunk.log_evidence)


def _pass(
    model: Mixture, chunk: Chunk, params: Params, assign: Assign, seed: np.random.SeedSequence, number: int
) -> Step:
    [step] = evaluate(model, Reduced([chunk]), [params], assign, seed=seed, keys=[(0, number)])
    if not np.isfinite(step.objective):
        raise FitError(
            f"iteration {number + 1}: the objective is {step.objective}: some row is impossible, or a class has "
            "collapsed onto a single value. Use other rows, a start without zeros, or a prior."
        )
    return step


def _usage(model: Mixture, chunk: Chunk, step: Step, assign: Assign) -> Floats:
    """Return the usage of each row: that which the statistics of the step were gathered with."""
    prepared = model.prepare(step.params)
    found = model.infer(prepared, chunk.blocks, chunk.weight[:, None], assign, chunk.log_evidence)
    counted = model.view(step.expected.stats)["mix"]
    if not np.allclose(found.usage["mix"], counted, rtol=AGREE, atol=AGREE):
        raise FitError(f"the rows add up to {found.usage['mix']}, but {counted} was counted. This is a bug.")
    return found.usage["emit"]


def _shown(model: UnsupervisedMixture, params: Params) -> dict[str, Any]:
    """Return parameters in the form of `params_`."""
    there = copy(model)
    there._params = params
    return there.params_


def _counts(model: UnsupervisedMixture, stats: Stats, about: Params) -> Counts:
    """Return statistics column by column, as a person would count them."""
    parts = model._model.view(stats)
    emit = model._model.leaves["emit"].view(parts["emit"])  # type: ignore[attr-defined]
    values: dict[int, Any] = {}
    sums: dict[int, Any] = {}
    for fitted in fitted_blocks(model):
        block = fitted.block
        counted = block.kind.counted(block, fitted.leaf, emit[block.name], about["emit"][block.name])
        into = sums if is_quantity(block.kind) else values
        into |= zip(block.members, counted, strict=True)
    names = model._schema.names
    return Counts(parts["mix"][0], *({names[j]: found[j] for j in sorted(found)} for found in (values, sums)))
