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

from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from scipy.special import logsumexp
from sklearn.base import clone

from halfseen.analysis.worked_numbers import Grid, Section, Worked
from halfseen.assign import SOFT, Assign
from halfseen.data import Table, read_labels
from halfseen.engine.loop.em import evaluate
from halfseen.engine.loop.expected import Step
from halfseen.engine.loop.model import Chunk, Reduced
from halfseen.engine.tables.mixture import Mixture
from halfseen.errors import DataError, FitError, ParameterError
from halfseen.estimators import options
from halfseen.estimators.table.profile import fitted_blocks
from halfseen.families.mixture.unsupervised import UnsupervisedMixture
from halfseen.kinds.kind import Kind
from halfseen.leaves.leaf import Floats, Stats
from halfseen.leaves.limits import Params
from halfseen.seeds import child, seed_of

MOST_ROWS = 30  # more are too many to read
MOST_HIDDEN, MOST_COMPLETIONS = 12, 4096  # the largest joint table: rows, and lines
SHOWN = 16  # lines of the joint table in text and page; `joint` has them all
AGREE = 1e-9  # marginals of the joint table and responsibilities differ by rounding only

HOW = {
    "soft": "every row is split over the classes by their probability given the row",
    "hard": "every row is given in full to its most probable class",
    "sample": "every row is given to a class drawn by its probability given the row",
}

Columns = dict[str, dict[Any, Floats]]


class Augmented(NamedTuple):
    """A row of the augmented data: an original row, a class, and how much of the row counts there."""

    row: int
    component: int
    weight: float


class Completion(NamedTuple):
    """A line of the joint table: a class for every row, P(rows, classes) and P(classes given the rows)."""

    components: tuple[int, ...]
    joint: float
    posterior: float


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
    """

    steps: list[Iteration]
    columns: dict[str, list[Any]]
    row_weight: Floats
    class_names: tuple[str, ...]
    assign: str
    quantities: frozenset[str] = frozenset()

    @property
    def heading(self) -> str:
        """How many rows and classes, and how rows are assigned."""
        return f"{len(self.row_weight)} rows, {len(self.class_names)} classes, {self.assign} assignment"

    def sections(self) -> list[Section]:
        """What text and page show."""
        return _sections(self)

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
    begun = model if hasattr(model, "_params") else _begin(model, X, sample_weight, labels)
    table = _table(begun, X, sample_weight, labels)
    steps = list(_iterations(begun, table, assign, n_iter))
    cells = dict(zip(table.schema.names, begun._decoded(table.blocks), strict=True))
    quantities = frozenset(column.name for column in table.schema.columns if is_quantity(column.kind))
    return Explanation(steps, cells, table.weight, begun.class_names_, assign.mode, quantities)


def is_quantity(kind: Kind) -> bool:
    """Whether columns of a kind have parameters with names; others have categories or words with probabilities."""
    return not kind.has_categories and not kind.of_words


def _begin(model: UnsupervisedMixture, X: Any, sample_weight: Any, labels: Any) -> UnsupervisedMixture:
    """Return a model that stands where a fit with one start would begin: a single pass leaves the start as it is.

    How rows are completed has no say in that, and a sampled pass would already move.
    """
    plain = {"assign": "soft", "draws": 1, "accelerate": False, "anneal": ()}
    begun: UnsupervisedMixture = clone(model).set_params(n_init=1, stop="iterations", max_iter=1, **plain)
    return begun.fit(X, sample_weight=sample_weight, labels=labels)


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
            _joint_table(engine, chunk, step.params),
        )
        step = following


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


# ---- the joint table ---------------------------------------------------------------------------------------------


def _joint_table(model: Mixture, chunk: Chunk, params: Params) -> list[Completion] | None:
    """Return every completion of all rows with its probability; None where there are too many, or rows have weights.

    joint(z) = prod_n p(x[n], z[n]);  posterior(z) = joint(z) / sum over z of joint(z)
    """
    log_p = model.joint(model.prepare(params), chunk.blocks, chunk.log_evidence)
    n_rows, n_components = log_p.shape
    if n_rows > MOST_HIDDEN or n_components**n_rows > MOST_COMPLETIONS or not np.all(chunk.weight == 1):
        return None
    completions = np.array(list(product(range(n_components), repeat=n_rows)))
    logs = log_p[np.arange(n_rows), completions].sum(axis=1)
    posterior = np.exp(logs - logsumexp(logs))
    _check_marginals(model, chunk, params, completions, posterior)
    lines = zip(completions.tolist(), np.exp(logs).tolist(), posterior.tolist(), strict=True)
    return [Completion(tuple(components), joint, share) for components, joint, share in lines]


def _check_marginals(model: Mixture, chunk: Chunk, params: Params, completions: Any, posterior: Floats) -> None:
    """Compare what the joint table says of each row with the responsibilities that EM uses."""
    outer = np.ones((len(chunk.weight), 1))
    resp = model.infer(model.prepare(params), chunk.blocks, outer, SOFT, chunk.log_evidence).usage["emit"]
    marginals = np.stack([posterior @ (completions == k) for k in range(resp.shape[1])], axis=1)
    if not np.allclose(marginals, resp, rtol=0, atol=AGREE):
        row = int(np.abs(marginals - resp).max(axis=1).argmax())
        raise FitError(
            f"row {row}: the joint table gives {marginals[row]}, the E-step {resp[row]}. This is a bug: please report "
            "it with the data and the parameters."
        )


# ---- what is shown -----------------------------------------------------------------------------------------------


def _sections(explanation: Explanation) -> list[Section]:
    """Return what text and page show, so that they show the same."""
    begin = Section("Data and initial parameters", [_rows_grid(explanation), _params_grid(explanation)], "")
    return [begin, *(_section(explanation, step) for step in explanation.steps)]


def _section(explanation: Explanation, step: Iteration) -> Section:
    grids = [_augmented_grid(explanation, step)]
    if step.joint is not None and step.number == 1:
        grids.insert(0, _joint_grid(explanation, step.joint))
    grids += [_counts_grid(explanation, step), _after_grid(explanation, step)]
    result = f"{explanation.quantity}: {step.objective:.7f} before, {step.reached:.7f} after"
    return Section(f"Iteration {step.number}", grids, result)


def _rows_grid(explanation: Explanation) -> Grid:
    names = list(explanation.columns)
    weighted = not np.all(explanation.row_weight == 1)
    head = ["row", *names, *(["weight"] if weighted else [])]
    rows = [
        [str(n), *_cells(explanation, n), *([f"{weight:g}"] if weighted else [])]
        for n, weight in enumerate(explanation.row_weight.tolist())
    ]
    return Grid("The rows; their classes are hidden.", head, rows, len(names) + 1)


def _cells(explanation: Explanation, n: int) -> list[str]:
    """Return the cells of a row, a dot for a missing one."""
    return ["·" if column[n] is None else _value(column[n]) for column in explanation.columns.values()]


def _value(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _params_grid(explanation: Explanation) -> Grid:
    rows = [[name, *map(_number, values)] for name, values in _params_rows(explanation, explanation.steps[0].before)]
    return Grid("The initial parameters.", ["", *explanation.class_names], rows)


def _params_rows(explanation: Explanation, params: Mapping[str, Any]) -> Iterator[tuple[str, Floats]]:
    """Yield each parameter with its name: P(class), P(column = value), or mean, sd, rate of a column."""
    yield "P(class)", params["weights"]
    for column, values in params.items():
        if column != "weights":
            for value, numbers in values.items():
                named = column in explanation.quantities
                yield f"{value} of {column}" if named else f"P({column} = {value})", numbers


def _joint_grid(explanation: Explanation, joint: list[Completion]) -> Grid:
    n_rows = len(explanation.row_weight)
    head = [*(f"row {n}" for n in range(n_rows)), "P(rows, classes)", "P(classes | rows)"]
    rows = [
        [*(explanation.class_names[k] for k in line.components), f"{line.joint:.6g}", f"{line.posterior:.6f}"]
        for line in _likeliest(joint)
    ]
    more = "" if len(joint) <= SHOWN else f" The {SHOWN} most probable are shown."
    caption = (
        f"The joint table: all {len(joint)} ways to complete the rows at once. EM never builds it; summed over the "
        f"other rows it gives the probabilities that the E-step works with.{more}"
    )
    return Grid(caption, head, rows, n_rows)


def _likeliest(joint: list[Completion]) -> list[Completion]:
    """Return the lines to show: all of them in their order, or the most probable."""
    return joint if len(joint) <= SHOWN else sorted(joint, key=lambda line: -line.posterior)[:SHOWN]


def _augmented_grid(explanation: Explanation, step: Iteration) -> Grid:
    head = ["row", *explanation.columns, "class", "weight"]
    rows = [
        [str(line.row), *_cells(explanation, line.row), explanation.class_names[line.component], _number(line.weight)]
        for line in step.augmented
    ]
    caption = f"E-step: the augmented data; {HOW[explanation.assign]}."
    return Grid(caption, head, rows, len(head) - 1)


def _counts_grid(explanation: Explanation, step: Iteration) -> Grid:
    added = dict(_counts_rows(step.prior)) if step.prior is not None else {}
    rows = []
    for name, values in _counts_rows(step.counts):
        pseudo = added.get(name, np.zeros(len(values)))
        rows.append([name, *(_sum(value, more) for value, more in zip(values, pseudo, strict=True))])
    plus = "" if step.prior is None else " The prior adds what stands after the plus"
    if plus:  # a prior on the variance does not move the mean
        numbers = any("squares" in values for values in step.counts.sums.values())
        plus += " (to numbers: for their variance, not for their mean)." if numbers else "."
    caption = f"Counting: the sums of the weights in each class, and of those with each value.{plus}"
    return Grid(caption, _head(explanation), rows)


def _counts_rows(counts: Counts) -> Iterator[tuple[str, Floats]]:
    yield "rows", counts.classes
    for column, values in counts.values.items():
        for value, numbers in values.items():
            yield f"count of {column} = {value}", numbers
    for column, values in counts.sums.items():
        for what, numbers in values.items():
            yield f"{what} of {column}", numbers


def _after_grid(explanation: Explanation, step: Iteration) -> Grid:
    rows = [[name, *map(_number, values)] for name, values in _params_rows(explanation, step.after)]
    return Grid("M-step: the parameters, from the counts by division.", _head(explanation), rows)


def _head(explanation: Explanation) -> list[str]:
    return ["", *explanation.class_names]


def _sum(value: float, pseudo: float) -> str:
    return _number(value) + (f" + {pseudo:.4g}" if pseudo else "")


def _number(value: float) -> str:
    return f"{value:.6f}"
