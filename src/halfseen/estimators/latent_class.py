"""Hidden classes behind a table: latent class analysis, latent profiles, mixtures over mixed columns with holes."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags

from halfseen.assign import SOFT, Assign, child
from halfseen.data import Schema, Table, check_weight, read, read_labels
from halfseen.engine import Model, Search, evaluate, fit
from halfseen.engine.ascent import METHODS
from halfseen.engine.model import Reduced
from halfseen.engine.reduce import reduce
from halfseen.engine.search import STAGE, Plan
from halfseen.engine.starts import STARTS, Start, from_known, whole
from halfseen.engine.stopping import read_rule
from halfseen.errors import CollapseWarning, InterruptedWarning, ParameterError, warn
from halfseen.estimators import blocks, options
from halfseen.estimators.notes import column_notes
from halfseen.estimators.table_mixture import TableMixture, default_name, measure, seed_of
from halfseen.leaves.leaf import NO_MASS, Floats
from halfseen.leaves.limits import Params
from halfseen.runners import runner

log = logging.getLogger("halfseen")

CONVERGED = ("tolerance", "rounding", "counts stable", "parameters stable", "assignments unchanged")


class LatentClass(TableMixture):
    """Find hidden classes in a table with mixed columns and holes, by expectation-maximization.

    Each row belongs to one of K classes that nobody recorded. Given the class the columns are independent: categories
    with their own probabilities, numbers normal, counts Poisson. Missing cells of any column are summed out, in fitting
    and in use.

        log p(row) = log sum_k weights[k] prod over observed columns d of p(x[d] | k)

    Parameters
    ----------
    n_components : int, default 2
        Number of classes.
    columns : mapping, optional
        Kinds of columns by name, where the rule is not what you want: {"visits": "poisson", "grade": "gaussian"}.
        The rule: text, True/False, declared categories, constants and whole numbers with at most 12 distinct values
        are "categorical"; other numbers are "gaussian".
    assign : {"soft", "hard", "sample"}, default "soft"
        How the hidden class is completed: in expectation, by the best class, or by a draw.
    draws : int, default 1
        With assign="sample": use the mean of this many draws (Monte Carlo EM).
    prior : "row", float or None, default "row"
        "row": one pseudo-row in all, 1 / K of it in each class: categories and counts as in the whole table, numbers
        about the class's own mean with the column's variance. It keeps estimates off the boundary.
        A number: so many pseudo-counts added to each cell and class (1.0 = add one), and so many such pseudo-rows for
        numbers and counts. None: maximum likelihood.
    init : {"mixed", "rows", "spread", "parameters", "posteriors"}, default "mixed"
        How random starts are made: see `halfseen.engine.starts`.
    start : mapping, optional
        Parameters to start from, any subset: {"weights": [...], "color": {"red": [p, q], "blue": [...]},
        "age": {"mean": [...], "sd": [...]}, "visits": [rate, rate]}, one number per class in each list.
    fixed : list of str, optional
        Columns, or "weights", that keep their `start` exactly.
    tied : list of str, optional
        Columns with the same parameters in all classes.
    n_init : int, default 16
        Number of starts. They are raced: after 5 passes the worse half is dropped, and again after 10 more, until
        4 of 16 are left and run to the end. (scikit-learn's mixtures make one.)
    stop : {"gain", "counts", "parameters", "assignments", "iterations"}, default "gain"
        When to stop: the estimated remaining gain, the largest change of an expected count or of a parameter is below
        `tol`; no row changed its class (hard); or after exactly `max_iter` passes. Sampled fits make `max_iter` passes
        and take the mean statistics of the second half.
    tol : float, default 1e-4
        For "gain": in units of the total log-likelihood, not per row.
    max_iter : int, default 1000
        Most passes over the data for one start.
    method : {"em", "gradient", "lbfgs"}, default "em"
        How the objective is climbed: by EM, or by its gradient, with an adaptive rate or L-BFGS (assign="soft" only).
        All end at the same optima. L-BFGS may be there before EM where classes overlap, and after it where they do not.
    accelerate : bool, default True
        Speed up soft EM by squared extrapolation (SQUAREM); it never lowers the objective.
    anneal : sequence of float, optional
        Rising inverse temperatures in (0, 1) to warm up at, ten passes each, for instance (0.4, 0.6, 0.8).
    variance_floor : float, default 1e-8
        Smallest variance, as a share of the column's own. A run that ends on the floor has collapsed onto single rows;
        it ranks behind every other run, and warns if there is no other.
    n_jobs : int, optional
        Number of threads; -1 is all cores. The result is the same, bit for bit.
    random_state : int, RandomState or Generator, optional
        Seed. Same seed, same machine: same bits.

    Attributes
    ----------
    weights_ : (K,) array            shares of the classes, largest first after a fit from random starts
    loglik_ : float                  log-likelihood of the data under the returned parameters, summed over rows
    objective_ : float               what was climbed: `loglik_` (hard: best joint) plus the log-prior
    trace_ : list of float           the objective after each accepted step
    n_iter_ : int                    passes over the data of the winning start
    converged_ : bool
    stop_reason_ : str               "tolerance", "rounding", "counts stable", "parameters stable",
                                     "assignments unchanged", "iterations", "max_iter" or "interrupted"
    restarts_ : dict                 n_init, n_finalists, n_reached_best, and the finalists' objectives, best first
    events_ : list of str            what else happened: empty classes, collapses, columns without information
    columns_ : dict                  the kind of each column
    class_names_ : tuple of str
    n_features_in_, feature_names_in_

    Examples
    --------
    >>> import halfseen as hs
    >>> X = [["a", 1.1], ["a", 0.9], ["b", 5.2], ["b", None], ["a", 1.0], [None, 4.9]]
    >>> model = hs.LatentClass(2, random_state=0).fit(X)
    >>> model.predict(X).tolist()
    [0, 0, 1, 1, 0, 1]
    >>> model.stop_reason_
    'tolerance'
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        columns: Mapping[str | int, str] | None = None,
        assign: str = "soft",
        draws: int = 1,
        prior: str | float | None = "row",
        init: str = "mixed",
        start: Mapping[str, Any] | None = None,
        fixed: Collection[str] = (),
        tied: Collection[str] = (),
        n_init: int = 16,
        stop: str = "gain",
        tol: float = 1e-4,
        max_iter: int = 1000,
        method: str = "em",
        accelerate: bool = True,
        anneal: Sequence[float] = (),
        variance_floor: float = 1e-8,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.columns = columns
        self.assign = assign
        self.draws = draws
        self.prior = prior
        self.init = init
        self.start = start
        self.fixed = fixed
        self.tied = tied
        self.n_init = n_init
        self.stop = stop
        self.tol = tol
        self.max_iter = max_iter
        self.method = method
        self.accelerate = accelerate
        self.anneal = anneal
        self.variance_floor = variance_floor
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        *,
        labels: Any = None,
        classes: Sequence[Any] | None = None,
        unlabeled: Any = None,
    ) -> Self:
        """Fit to a table.

        Parameters
        ----------
        X : array, pandas, Polars or Arrow table, or list of rows; NaN, None and nulls are holes
        y : ignored; Pipelines pass it
        sample_weight : (N,) array, optional
            How often each row counts.
        labels : array, optional
            What is known of the rows' classes: a label or None for each row, a set of candidates, or an (N, K) array of
            evidence that multiplies the model.
        classes : sequence, optional
            The labels in the order of the classes; sorted by default. Whole numbers from 0 to K - 1 are classes.
        unlabeled : optional
            The value that means 'no label'; by default None, NaN, and -1 among at least two other numbers.
        """
        self._check_options()
        source = self._read(X, reset=True)
        weight = check_weight(sample_weight, source.n_rows)
        if labels is None and (classes is not None or unlabeled is not None):
            raise ParameterError("classes= and unlabeled= say how to read labels=; give labels= too.")
        evidence, names = read_labels(labels, source.n_rows, self.n_components, classes, unlabeled)
        if not weight.all():  # a row of weight 0 is absent: it must not decide kinds or categories either
            used = np.flatnonzero(weight)
            source, weight = source.take(used), weight[used]
            evidence = None if evidence is None else evidence.take(used)
        schema = self._learn_schema(source)
        table = schema.encode(source, weight, evidence).canonical(overwrite=True)
        self._check_rows(table)
        self._template = source.template()
        self._schema = schema
        self.columns_ = {column.name: column.kind for column in schema.columns}
        self.events_ = column_notes(table)
        self._model = blocks.mixture(
            schema,
            blocks.summarise(table),
            self.n_components,
            blocks.read_prior(self.prior),
            self.variance_floor,
            self.fixed,
        )
        search = self._search(table)
        self._publish(search, table, names)
        return self

    def fit_predict(
        self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None, **labels: Any
    ) -> NDArray[np.int64]:
        """Fit (arguments as there), then return the most probable class of each row."""
        return self.fit(X, y, sample_weight, **labels).predict(X)

    @classmethod
    def from_params(cls, weights: Sequence[float], columns: Mapping[str, Any]) -> Self:
        """Build a model without data.

        Parameters
        ----------
        weights : (K,) shares of the classes
        columns : mapping from a column's name to its parameters
            {category: (K,) probabilities} for categories, {"mean": (K,), "sd": (K,)} (or "var") for numbers,
            {"rate": (K,)} for counts.

        Examples
        --------
        >>> import halfseen as hs
        >>> model = hs.LatentClass.from_params(
        ...     weights=[0.3, 0.7],
        ...     columns={"x1": {0: [0.7, 0.1], 1: [0.3, 0.9]}, "x2": {0: [0.8, 0.4], 1: [0.2, 0.6]}},
        ... )
        >>> model.predict_proba([[0, 1], [1, 1]]).round(4)
        array([[0.5   , 0.5   ],
               [0.0455, 0.9545]])
        """
        model = cls(len(weights))
        model._schema = blocks.read_columns(options.mapping("columns", columns))
        model._model = blocks.mixture(model._schema, blocks.unit_summary(model._schema), len(weights))
        given = {"weights": weights, **columns}
        model._params = blocks.overlay(model._model.blank(), given, model._schema, len(weights))
        model._template = read(np.zeros((1, len(columns))))
        model.class_names_ = tuple(map(default_name, range(len(weights))))
        model.columns_ = {column.name: column.kind for column in model._schema.columns}
        model.n_features_in_ = len(columns)
        model._n_rows = 0.0
        return model

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.estimator_type = "density_estimator"
        return tags

    # ---- inside a fit --------------------------------------------------------------------------------------------

    def _check_options(self) -> None:
        options.whole("n_components", self.n_components)
        options.whole("n_init", self.n_init)
        options.whole("max_iter", self.max_iter)
        options.one_of("init", self.init, STARTS)
        options.number("tol", self.tol)
        options.number("variance_floor", self.variance_floor, 0, 1)
        options.one_of("method", self.method, METHODS)
        options.flag("accelerate", self.accelerate)
        options.mapping("start", self.start)
        options.mapping("columns", self.columns)
        warm = STAGE * len(options.temperatures("anneal", self.anneal))
        if warm and self.assign == "hard":
            raise ParameterError(
                "anneal has no meaning with assign='hard': the best class is the same at any temperature."
            )
        if warm >= self.max_iter:
            raise ParameterError(f"anneal={self.anneal!r} makes {warm} passes: max_iter={self.max_iter} is too few.")

    def _learn_schema(self, source: Any) -> Schema:
        schema = Schema.learn(source, self.columns)
        blocks.read_names(list(self.start or ()), schema, "start")
        fixed = blocks.read_names(self.fixed, schema, "fixed")
        tied = blocks.read_names(self.tied, schema, "tied")
        if "weights" in tied or set(fixed) & set(tied):
            raise ParameterError("tied: 'weights' cannot be tied, and a column cannot be both fixed and tied.")
        blocks.check_fixed(fixed, self.start or {}, schema)
        treatment = {name: "fixed" for name in fixed if name != "weights"} | dict.fromkeys(tied, "tied")
        return schema.arrange(treatment)

    def _check_rows(self, table: Table) -> None:
        n_rows = max(table.n_rows, int(table.weight.sum()))
        if n_rows < self.n_components:
            raise ParameterError(
                f"n_samples={n_rows} is fewer than n_components={self.n_components}. Use fewer classes or more rows."
            )

    def _search(self, table: Table) -> Search:
        seed = seed_of(self.random_state)
        assign = Assign.read(self.assign, self.draws)
        data = reduce(self._model, table)
        with runner(self.n_jobs, len(data.chunks)) as run:
            plan = Plan(
                assign=assign,
                rule=read_rule(self.stop, self.tol, self.assign),
                max_iter=self.max_iter,
                accelerate=self.accelerate,
                method=self.method,
                anneal=tuple(self.anneal),
                runner=run,
                seed=child(seed, 1),
            )
            search = fit(self._model, data, self._starts(table, data, child(seed, 0)), plan)
            if assign.mode != "soft":
                [soft] = evaluate(self._model, data, [search.best.accepted.params], SOFT, run)
                self.loglik_ = soft.loglik
            else:
                self.loglik_ = search.best.accepted.loglik
        return search

    def _starts(self, table: Table, data: Reduced, seed: np.random.SeedSequence) -> list[Params]:
        """Return the parameters that the restarts begin with."""
        chunks = table.chunks()
        given = self.start or {}
        begin = Start(self._model, whole(self._model.leaves["emit"], chunks), chunks)
        starts = []
        for i in range(self.n_init):
            rng = np.random.default_rng(child(seed, i))
            emit = from_known(begin, data, STARTS[self.init](begin, rng))
            params = {"mix": self._model.leaves["mix"].blank(), "emit": emit}
            params = blocks.overlay(params, given, self._schema, self.n_components)
            starts.append(self._model.conform(params, params))
        return _distinct(self._model, starts)

    def _publish(self, search: Search, table: Table, names: tuple[Any, ...] | None) -> None:
        """Set the fitted attributes."""
        best = search.best
        self._params = best.accepted.params
        if names is None and not (self.start or self.fixed or self.tied or table.evidence is not None):
            self._params = self._model.relabel(self._params, np.argsort(-self._params["mix"][0], kind="stable"))
        _, self._entropy, self._n_rows = measure(self._model, self._params, table.chunks())
        known = names or (None,) * self.n_components
        self.class_names_ = tuple(default_name(k) if name is None else str(name) for k, name in enumerate(known))
        self.objective_ = best.objective
        self.trace_ = list(best.trace)
        self.n_iter_ = best.n_passes
        self.stop_reason_ = best.reason
        self.converged_ = best.reason in CONVERGED
        self.restarts_ = {
            "n_init": search.n_starts,
            "n_finalists": len(search.finalists),
            "n_reached_best": search.n_best(within=max(10 * self.tol, 1e-9 * abs(best.objective))),
            "objectives": [chain.objective for chain in search.finalists],
        }
        self._note_events(search)

    def _note_events(self, search: Search) -> None:
        best = search.best
        mass = self._model.view(best.accepted.expected.stats)["mix"][0]
        empty = np.flatnonzero(mass < NO_MASS).tolist()
        if empty:
            self.events_.append(f"classes without any mass kept their last parameters: {len(empty)} of {len(mass)}")
        self.events_ += _twins(self._model.overlap(self._params, self._params))
        if not best.healthy:
            self.events_.append("a class collapsed onto single rows: its variance is on the floor")
            warn(
                f"every start ended with a variance on its floor ({self.variance_floor:g} of the column's variance): a "
                f"class collapsed onto single rows, and loglik_={self.loglik_:.6g} says little. Use prior='row' or "
                "fewer classes.",
                CollapseWarning,
            )
        if search.interrupted:
            warn("the fit was interrupted; the best model so far is kept.", InterruptedWarning)
        elif self.stop_reason_ == "max_iter":
            warn(
                f"no convergence after max_iter={self.max_iter} passes (objective {self.objective_:.6f}). "
                "Raise max_iter or tol.",
                ConvergenceWarning,
            )
        log.info("fitted %d classes: %s after %d passes", self.n_components, self.stop_reason_, self.n_iter_)


def _twins(overlap: Floats) -> list[str]:
    """Name pairs of classes that are the same: a start that does not tell them apart never will."""
    same = np.argwhere(np.triu(overlap > -1e-12, k=1))
    return [f"classes {i} and {j} are identical; start them apart, or use fewer classes" for i, j in same.tolist()]


def _distinct(model: Model, starts: Sequence[Params]) -> list[Params]:
    """Drop starts that repeat an earlier one, as when labels or the user leave nothing to chance."""
    return list({model.pack(params).tobytes(): params for params in starts}.values())
