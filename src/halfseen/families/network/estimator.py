"""Bayesian networks of categories, learned by EM from tables with missing values and hidden variables."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from halfseen.data import Column, Schema, Source, Table, frame_from_dict, read
from halfseen.engine.services.checkpoint import lasting_seed
from halfseen.errors import DataError, ParameterError
from halfseen.estimators import convergence, options, selection
from halfseen.estimators.rollback import rollback_on_error
from halfseen.estimators.state import Origin
from halfseen.estimators.table.state import digested
from halfseen.families.network import reading, state
from halfseen.families.network.fit import (
    FittedNetwork,
    NetworkFit,
    NetworkRecipe,
    NetworkRows,
    WeightedRows,
    compared,
    read_soft,
)
from halfseen.families.network.latent_classes import latent_class_edges
from halfseen.families.network.model import Likelihoods, distinct
from halfseen.leaves.leaf import frozen
from halfseen.runners.frames import rows_of
from halfseen.seeds import child


@options.with_hints
@dataclass(eq=False, repr=False)
class BayesNet(NetworkFit):
    """Learn the tables of a Bayesian network from rows with missing values and hidden variables.

    Every variable has a few states and a table of probabilities given its parents. What is not observed is summed out
    exactly, in fitting and in queries:

        p(row) = sum over the states of unobserved variables of prod over variables v of P(v | parents of v)

    Parameters
    ----------
    edges : list of (parent, child), or text
        The graph. A name alone is a variable without edges. As text: ``"smoke -> lung -> xray; asia -> tub"``, with
        ``->``, ``<-`` and ``;``. Parents of a variable are the axes of its table in the order given here.
    states : mapping, optional
        The states of some variables in their order, also of states that no row has: {"smoke": ["yes", "no"]}. By
        default the values of the column, sorted.
    hidden : mapping or list, optional
        Variables without a column, and how many states they have: {"C": 3}. Of a range (range(2, 6)) the best number by
        `criterion` is kept. A list of texts names the states. They are shown with the most frequent state first.
    criterion : {"bic", "aic"}, default "bic"
        Information criterion that chooses among several models; lower is better.
    assign : {"soft", "hard", "sample"}, default "soft"
        How the E-step completes hidden values: in expectation, by the most probable completion, or by a draw. Hidden is
        all that is unobserved in a row, jointly.
    draws : int, default 1
        With assign="sample": use the mean of this many draws (Monte Carlo EM).
    prior : float, "row", "bdeu" or None, default "row"
        Pseudo-counts added to the expected counts. A number: as many for each cell of every table. "row": one row in
        every table, spread evenly over the states of the parents, and within each half as the values of the variable
        are and half evenly. "bdeu": `equivalent_sample_size` rows in all, spread evenly over the cells of each table.
        None: maximum likelihood. 1.0 is add one. Zeros in a table of `start` stay.
    equivalent_sample_size : float, default 10
    start : mapping, optional
        Parameters to start from, by name, any subset. Tables by variable: an axis for each parent, the last for the
        states, as in `params_`.
    fixed : list of str, or mapping, optional
        Parameters that keep their start value exactly, by name. Variables whose table is in `start`. A mapping gives
        the tables themselves, with None or NaN in cells that are free; the free cells of a row share what is left.
    tied : list of groups of str, optional
        Variables that share one table. For example [("xray1", "xray2")]. Their tables must have one shape.
    n_init : int or "auto", default "auto"
        Number of starts, each run on its own; those that clearly end below the best are dropped. "auto": 16, doubled up
        to 128 until three of them reach the best log-likelihood (within 0.001). Without hidden variables the first
        start is what the fully observed rows give.
    stop : {"gain", "counts", "parameters", "assignments", "iterations"}, default "gain"
        When to stop: when the estimated remaining gain of the objective, the largest change of an expected count, or
        the largest change of a parameter is below `tol`; when no assignment changed (hard); or after `max_iter`
        iterations. Sampled fits always make `max_iter` iterations, and estimate from the mean statistics of the second
        half.
    tol : float, default 1e-8
        Convergence threshold: of the estimated remaining gain of the total log-likelihood (not per row), unless another
        rule is chosen to stop by. It holds for the best start; starts are compared at 1e-4.
    max_iter : int, default 1000
        Maximum number of iterations (passes over the data) for each start.
    method : {"em", "gradient", "lbfgs"}, default "em"
        How the objective is maximised: by EM, by its gradient with an adaptive rate, or by L-BFGS (the last two need
        assign="soft"). All have the same optima.
    accelerate : bool, default True
        Accelerate soft EM by squared extrapolation (SQUAREM); the objective still never falls.
    anneal : sequence of float, optional
        Deterministic annealing: rising inverse temperatures in (0, 1), such as (0.4, 0.6, 0.8), with 10 iterations at
        each before the fit.
    n_jobs : int, optional
        Number of threads; -1 is all cores. Results are the same, bit for bit, with any number.
    random_state : int, RandomState or Generator, optional
        Seed. The same seed gives the same bits on the same machine.

    Attributes
    ----------
    params_ : dict                   tables by variable
    counts_ : dict                   expected counts of families; each table sums to the number of rows
    nodes_, edges_, parents_, states_, hidden_ :  the graph
    loglik_ : float                  log-likelihood of the rows under the returned tables
    objective_, trace_, n_iter_, converged_, stop_reason_, restarts_, events_, selection_ : as in `LatentClass`

    Examples
    --------
    >>> import halfseen as hs
    >>> rows = [["yes", "wet"], ["yes", None], ["no", "dry"], ["no", "dry"], [None, "wet"]]
    >>> net = hs.BayesNet([("x0", "x1")], random_state=0).fit(rows)
    >>> net.query("x0", {"x1": "wet"})["yes"].__round__(3)
    0.896
    >>> net.counts_["x0"].round(2).tolist()
    [2.1, 2.9]

    A hidden variable behind three columns:

    >>> rows = [[1, 1, 1]] * 6 + [[0, 0, 0]] * 3 + [[1, 0, 1]]
    >>> net = hs.BayesNet("C -> x0; C -> x1; C -> x2", hidden={"C": 2}, random_state=0).fit(rows)
    >>> net.predict([[1, 1, None], [0, None, 0]]).tolist()
    [0, 1]
    """

    edges: Any = None
    _: KW_ONLY
    states: Mapping[str, Sequence[Any]] | None = None
    hidden: Any = None
    criterion: str = "bic"
    assign: str = "soft"
    draws: int = 1
    prior: str | float | None = "row"
    equivalent_sample_size: float = 10.0
    start: Mapping[str, Any] | None = None
    fixed: Collection[str] | Mapping[str, Any] | None = ()
    tied: Collection[Collection[str]] | None = ()
    n_init: int | str = "auto"
    stop: str = "gain"
    tol: float = 1e-8
    max_iter: int = 1000
    method: str = "em"
    accelerate: bool = True
    anneal: Sequence[float] = ()
    n_jobs: int | None = None
    random_state: Any = None

    _state_module = state
    _deviations: ClassVar[options.Deviations] = {
        "criterion": options.Deviation(
            "ICL would need the entropy of all hidden variables together",
            text="Information criterion that chooses among several models; lower is better.",
            **options.words("bic", "aic"),
        ),
        "prior": options.Deviation(
            "a row in every table, so that what was not seen is not impossible",
            default="row",
            type='float, "row", "bdeu" or None',
            text='Pseudo-counts added to the expected counts. A number: as many for each cell of every table. "row": '
            "one row in every table, spread evenly over the states of the parents, and within each half as the values "
            'of the variable are and half evenly. "bdeu": `equivalent_sample_size` rows in all, spread evenly over the '
            "cells of each table. None: maximum likelihood.",
            check=partial(options.pseudo_counts, words=("row", "bdeu")),
        ),
        "fixed": options.Deviation(
            "single cells of tables can be fixed too", type="list of str, or mapping", check=options.listed_or_mapping
        ),
        "tied": options.Deviation(
            "variables share a table with each other, not among the components of one hidden variable",
            type="list of groups of str",
            text="Variables that share one table.",
        ),
    }

    @rollback_on_error
    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        sample_weight: ArrayLike | None = None,
        evidence: Mapping[str, ArrayLike] | None = None,
    ) -> Self:
        """Fit to a table.

        Parameters
        ----------
        X : table
            Array, list of rows, pandas, Polars, Arrow, Dask or Spark frame, or a file (`open_table`). NaN, None and
            nulls are missing. Its columns are variables of the network; without names they are "x0", "x1", ...
        y : ignored
        sample_weight : (N,) array, optional
            Of a Dask or Spark frame the name of a column.
        evidence : mapping, optional
            Soft evidence: for a variable an (N, states) array of likelihoods P(observation | state), for rows in
            which it has no value. Rows of ones, or of NaN, carry no information.
        """
        self._check_options()
        states = reading.read_states(self.states)
        hidden = reading.named_hidden(reading.read_hidden(self.hidden), states)
        plan = self._plan(states, hidden)
        source = read(rows_of(X, sample_weight))
        schema = self._learned(source, plan, states, hidden)
        table = schema.encode(source, None if source.elsewhere else sample_weight)
        seed = lasting_seed(self.random_state)
        choices = list(self._candidates(plan, schema, states, hidden))
        rows = self._rows(source, table, evidence, choices)

        def fitted(i: int) -> FittedNetwork:
            return self._fitted(plan, choices[i], rows, child(seed, i) if len(choices) > 1 else seed)

        tried, interrupted = selection.search_each(range(len(choices)), fitted)
        figures = [selection.information(one)[self.criterion] for one in tried]
        chosen = figures.index(min(figures))
        best = tried[chosen]
        self._template, self._schema = source.template(), schema
        self.columns_ = schema.kind_names
        self._remember_features(source)
        self.__dict__.pop("_tried", None)
        several = [name for name in plan.parents if name not in schema.names]
        if several:
            self._tried = compared(tried, chosen, several)
        self._publish(best)
        self._origin = Origin.now(digested(schema, np.array([best.n_rows]), np.concatenate(rows.frequencies())), seed)
        if interrupted and not best.search.interrupted:
            convergence.warn_search_interrupted(self, "before all numbers of hidden states were tried")
        return self

    def _rows(self, source: Source, table: Any, evidence: Any, choices: Sequence[dict[str, Any]]) -> NetworkRows:
        """Return the rows to fit to, with soft evidence."""
        if evidence is not None and source.elsewhere:
            raise ParameterError(
                "evidence=: arrays on this machine cannot be matched to rows that other processes hold. Fit to rows of "
                "this process, or leave it out."
            )
        if evidence is not None and len(choices) > 1:
            raise ParameterError("evidence= needs one number of states for each hidden variable.")
        soft = read_soft(evidence, source.n_rows, choices[0])
        self._softened = tuple(soft)
        if source.elsewhere:
            from halfseen.families.network.lanes import NetworkLanes

            return NetworkLanes(table)
        return _merged_rows(table, soft)

    @classmethod
    def latent_classes(
        cls,
        n_classes: Any,
        items: Sequence[str],
        *,
        group: str | None = None,
        vary: Collection[str] | str = (),
        depend: Collection[tuple[str, str]] = (),
        name: str = "class",
        **others: Any,
    ) -> Self:
        """Return a network of latent classes, to be fitted: with groups to compare, or items that depend on each other.

        A hidden variable is the parent of every item. Without group and dependence this is `LatentClass` for columns of
        categories.

        Parameters
        ----------
        n_classes : int, range, list of int or list of str
            Number of classes, as in `hidden`: of a range the best by `criterion` is kept; texts name the classes.
        items : list of str
            Columns that the classes explain.
        group : str, optional
            Column with the groups (populations) to compare. The shares of the classes differ between groups; given the
            class, items are distributed alike in all (measurement invariance), unless `vary` says otherwise. A row
            with a missing group is summed over the groups. The log-likelihood is that of items and group together.
        vary : list of str, or "all"
            Items that are distributed differently in the groups, given the class.
        depend : list of pairs of items
            Pairs that are not independent given the class: local dependence.
        name : str, default "class"
            Name of the hidden variable.
        **others : options of the constructor
            Such as prior=None, n_init or random_state.

        Examples
        --------
        >>> import halfseen as hs
        >>> net = hs.BayesNet.latent_classes(2, ["q1", "q2", "q3"], group="country", vary=["q3"])
        >>> net.edges
        [('country', 'class'), ('class', 'q1'), ('class', 'q2'), ('class', 'q3'), ('country', 'q3')]
        """
        for given in ("edges", "hidden"):
            if given in others:
                raise ParameterError(f"{given}= follows from items, group, vary, depend and n_classes: leave it out.")
        edges = latent_class_edges(items, name, group, vary, depend)
        return cls(edges, hidden={name: n_classes}, **others)

    @classmethod
    def from_params(
        cls,
        tables: Mapping[str, ArrayLike],
        edges: Any = None,
        states: Mapping[str, Sequence[Any]] | None = None,
    ) -> Self:
        """Build a network without data.

        Parameters
        ----------
        tables : mapping of names to P(variable | parents)
            An axis for each parent in the order of the edges, the last for the states.
        edges : as in the constructor
        states : mapping, optional
            The states of variables in their order; 0, 1, ... by default.

        Examples
        --------
        >>> import halfseen as hs
        >>> net = hs.BayesNet.from_params(
        ...     {"Y": [0.6, 0.4], "X": [[0.9, 0.1], [0.3, 0.7]], "Z": [[0.8, 0.2], [0.5, 0.5]]},
        ...     "X <- Y -> Z",
        ...     states={"Y": ["low", "high"]},
        ... )
        >>> net.query("Y", {"X": 1, "Z": 0})["high"].__round__(4)
        0.7447
        """
        named = reading.read_states(states)
        plan = reading.read_edges(edges, options.mapping("tables", tables))
        known: dict[str, tuple[Any, ...]] = {}
        for name in plan.parents:
            if name not in tables:
                raise ParameterError(f"tables: {name!r} has no table.")
            known[name] = named.get(name) or tuple(range(np.shape(tables[name])[-1]))
        graph = reading.graph_of(plan, known)
        model = cls([*plan.parents, *plan.edges], states=known)
        built = reading.read_tables("tables", tables, graph)
        cells = np.concatenate([built[v].ravel() for v in range(len(graph))])[None]
        model._graph, model._states = graph, known
        model._recipe = NetworkRecipe(None, 10.0, (), ())
        model._model, model._params = model._recipe.model(graph), {"tables": frozen(cells)}
        columns = tuple(Column(name, "categorical", known[name]) for name in graph.names)
        model._schema = Schema(columns, {"categorical": tuple(range(len(columns)))}, True)
        model._template = _template(known)
        model.columns_ = dict.fromkeys(graph.names, "categorical")
        model.n_features_in_ = len(graph)
        return model


def _template(states: Mapping[str, Sequence[Any]]) -> Any:
    """Return a table of one row, in a data frame if a library is installed."""
    try:
        return read(frame_from_dict({name: [own[0]] for name, own in states.items()}))
    except ImportError:
        return read(np.zeros((1, len(states))))


def _merged_rows(table: Table, soft: dict[str, Likelihoods]) -> WeightedRows:
    """Return the rows of weight above 0 with any observation, in an order of their own.

    Equal ones are merged where there is no soft evidence.
    """
    schema, weight, blank = table.schema, table.weight, table.blank.copy()
    codes = np.ascontiguousarray(table.blocks["categorical"])
    for name, one in soft.items():
        has_evidence = np.logical_or.reduce(one.patterns != 0, axis=1)[one.index]
        blank &= ~has_evidence
        if name not in schema.names:
            continue
        both = np.flatnonzero(has_evidence & (codes[:, schema.names.index(name)] >= 0))
        if len(both):
            raise DataError(
                f"evidence[{name!r}]: row {both[0]} has a value and soft evidence; make one of them missing."
            )
    used = np.flatnonzero(weight > 0)
    if not len(used):
        raise DataError("all rows have weight 0: there is nothing to fit.")
    used, n_blank = used[~blank[used]], float(weight[blank].sum())
    if not len(used):
        raise DataError("no row of weight above 0 has an observed cell: there is nothing to fit.")
    if soft:  # patterns are numbered by their content
        marks = [one.index[used] for one in soft.values()]
        used = used[np.lexsort((weight[used], *marks, *codes[used].T))]
        part = {name: one._replace(index=one.index[used]) for name, one in soft.items()}
        return WeightedRows(schema, codes[used].astype(np.int64), weight[used], part, used, n_blank)
    merged, which = distinct(codes[used])
    first = np.full(len(merged), len(used))
    np.minimum.at(first, which, np.arange(len(used)))
    light = np.argsort(weight[used], kind="stable")  # sums in the order of the weights, whatever that of the rows
    mass = np.bincount(which[light], weight[used][light]).astype(np.float64)
    return WeightedRows(schema, merged.astype(np.int64), mass, {}, used[first], n_blank)
