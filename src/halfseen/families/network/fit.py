"""Fitting a Bayesian network: from a table to the best of several EM runs."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from halfseen.assign import SOFT
from halfseen.data import Column, Schema, Source
from halfseen.engine.loop.model import Reduced
from halfseen.engine.loop.search import Plan as SearchPlan
from halfseen.engine.loop.search import Search, Starts, fit
from halfseen.engine.services.checkpoint import evaluate
from halfseen.errors import DataError, FitError, ParameterError
from halfseen.estimators import convergence, options, selection
from halfseen.estimators.table.column_events import blank_notes
from halfseen.families.network import reading
from halfseen.families.network.hidden_order import in_order_of, permuted
from halfseen.families.network.methods import NetworkMethods
from halfseen.families.network.model import (
    BayesianNetwork,
    Likelihoods,
    Split,
    log_table,
    logliks,
    most_workers,
    placed,
    reduce_network,
    split,
)
from halfseen.families.network.reading import Plan
from halfseen.kinds.categorical import half_even_shares
from halfseen.kinds.doubts import marks_notes
from halfseen.leaves import Frozen, Leaf, Tables
from halfseen.leaves.leaf import NO_MASS, Floats, frozen
from halfseen.leaves.limits import Params
from halfseen.runners import runner
from halfseen.seeds import child
from halfseen.structures.graph import Graph
from halfseen.structures.network import Network

log = logging.getLogger("halfseen")

STRENGTH = 1.0  # how far random starts move the tables of families with missing values, in logs


class NetworkRecipe(NamedTuple):
    """All that a model is built from beside its graph: options changed later do not change it.

    `pseudo` are the pseudo-counts (1, S) where they do not follow from the options alone; `cells` is True for single
    cells (1, S) that are fixed.
    """

    prior: Any
    sample_size: float
    fixed: tuple[str, ...]
    tied: tuple[tuple[str, ...], ...]
    pseudo: Floats | None = None
    cells: NDArray[np.bool_] | None = None

    def model(self, graph: Graph) -> BayesianNetwork:
        """Return the model."""
        pseudo = self.pseudo
        if pseudo is None:
            pseudo = reading.read_prior(self.prior, self.sample_size, graph)
        leaf: Leaf = Tables(graph.rows, pseudo, reading.read_shared(self.tied, graph))
        if self.fixed or self.cells is not None:
            mask = np.zeros((1, graph.n_cells), dtype=bool) if self.cells is None else self.cells.copy()
            for name in self.fixed:
                mask[0, graph.slice(graph.names.index(name))] = True
            leaf = Frozen(leaf, mask)
        return BayesianNetwork(Network(), {"tables": leaf})


class NetworkRows(Protocol):
    """What a fit reads of its rows: those of weight above 0 with any observation."""

    @property
    def schema(self) -> Schema:
        """The columns."""

    @property
    def mass(self) -> float:
        """The sum of their weights."""

    @property
    def n_blank(self) -> float:
        """The weight of the rows without any observation, which are left out."""

    def n_incomplete(self) -> float:
        """Return the weight of the rows with a missing cell."""

    def frequencies(self) -> list[Floats]:
        """Return the weighted counts of all categories of each column."""

    def reduced(self, model: BayesianNetwork, graph: Graph) -> Reduced:
        """Return the rows as cases, and the counts of families that are fully observed."""

    def impossible(self, model: BayesianNetwork, graph: Graph, params: Params) -> str | None:
        """Name a row that has probability zero, if there is one and it can be named."""


class WeightedRows(NamedTuple):
    """Rows in this process, equal ones merged.

    Codes of the columns (N, D), weights, and soft evidence by variable.
    """

    schema: Schema
    codes: NDArray[np.int64]
    weight: Floats
    likelihoods: dict[str, Likelihoods]
    first: NDArray[np.int64]  # the first row of the user's table that each of these stands for
    n_blank: float

    @property
    def mass(self) -> float:
        """The sum of the weights."""
        return float(self.weight.sum())

    def n_incomplete(self) -> float:
        """Return the weight of the rows with a missing cell."""
        return float(self.weight[(self.codes < 0).any(axis=1)].sum())

    def frequencies(self) -> list[Floats]:
        """Return the weighted counts of all categories of each column."""
        return [
            _counts(self.codes[:, d], self.weight, len(column.categories or ()))
            for d, column in enumerate(self.schema.columns)
        ]

    def reduced(self, model: BayesianNetwork, graph: Graph) -> Reduced:
        """Return the rows as cases, and the counts of families that are fully observed."""
        return reduce_network(model, graph, self._split(graph), self.weight)

    def impossible(self, model: BayesianNetwork, graph: Graph, params: Params) -> str | None:
        """Name the first row that has probability zero, if there is one."""
        parts = self._split(graph)
        lost = np.flatnonzero(np.isneginf(logliks(log_table(model, params, parts), parts)))
        return f"row {self.first[lost].min()}" if len(lost) else None

    def _split(self, graph: Graph) -> Split:
        likelihoods = {graph.names.index(name): one for name, one in self.likelihoods.items()}
        return split(graph, placed(graph, self.schema.names, self.codes), likelihoods)


@dataclass(frozen=True, kw_only=True)
class FittedNetwork(selection.FittedModel):
    """A network fitted to a table."""

    graph: Graph
    states: dict[str, tuple[Any, ...]]
    recipe: NetworkRecipe


class NetworkFit(NetworkMethods):
    """A Bayesian network that is fitted by EM."""

    edges: Any
    states: Mapping[str, Sequence[Any]] | None
    hidden: Any
    assign: str
    prior: str | float | None
    equivalent_sample_size: float
    start: Mapping[str, Any] | None
    fixed: Collection[str] | Mapping[str, Any] | None
    tied: Collection[Collection[str]] | None
    n_init: int | str

    def _check_options(self) -> None:
        super()._check_options()
        options.number("equivalent_sample_size", self.equivalent_sample_size)

    def _make_recipe(self) -> NetworkRecipe:
        """Return what the options say of the tables."""
        fixed = tuple(map(str, self.fixed or ()))
        groups = options.listed("tied", self.tied)
        tied = tuple(tuple(group) if not isinstance(group, str) else (group,) for group in groups)
        both = set(fixed) & {name for group in tied for name in group}
        if both:
            raise ParameterError(
                f"{sorted(both)[0]!r} cannot be both fixed and tied: a fixed table keeps its start values."
            )
        if isinstance(self.fixed, Mapping):  # the values are given there, for some cells or all
            fixed = ()
        absent = [name for name in fixed if name not in (self.start or {})]
        if absent:
            raise ParameterError(f"fixed: {absent[0]!r} needs a table in start= to keep.")
        return NetworkRecipe(self.prior, float(self.equivalent_sample_size), fixed, tied)

    # ---- reading -------------------------------------------------------------------------------------------------

    def _plan(self, states: Mapping[str, Any], hidden: Mapping[str, Any]) -> Plan:
        return reading.read_edges(self.edges, [*states, *hidden])

    def _learned(
        self, source: Source, plan: Plan, states: Mapping[str, tuple[Any, ...]], hidden: Collection[str]
    ) -> Schema:
        """Return the columns with their states in order."""
        for name in source.names:
            if name not in plan.parents:
                raise DataError(
                    f"column {name!r} is not in the network: drop it, or add it to edges= as a variable of its own, "
                    f"edges=[..., {name!r}]. Variables: {', '.join(plan.parents)}."
                )
            if name in hidden:
                raise ParameterError(
                    f"hidden: {name!r} is a column of the table. Drop the column, or leave it out of hidden=."
                )
        learned = Schema.learn(
            source, {name: "categorical" for name in source.names if name in states}, by_choice=False
        )
        columns = []
        for column in learned.columns:
            if not column.kind.has_categories:
                raise DataError(
                    f"column {column.name!r} has numbers, but networks need categories: cut it into intervals, or "
                    "list its values in states=."
                )
            categories = column.categories or ()
            if column.name in states:
                categories = matched(column.name, states[column.name], categories)
            if not categories:
                raise DataError(
                    f"column {column.name!r} has no observed cell: give its states, states={{{column.name!r}: [...]}}."
                )
            columns.append(Column(column.name, "categorical", categories))
        return Schema(tuple(columns), {"categorical": tuple(range(len(columns)))}, source.named)

    def _candidates(
        self, plan: Plan, schema: Schema, states: Mapping[str, tuple[Any, ...]], hidden: Mapping[str, Any]
    ) -> Iterator[dict[str, tuple[Any, ...]]]:
        """Yield the states of all variables, once for each choice of numbers of hidden states."""
        known = {column.name: states.get(column.name, column.categories or ()) for column in schema.columns}
        several: dict[str, list[tuple[Any, ...]]] = {}
        for name in plan.parents:
            if name in known:
                continue
            if name in hidden:
                several[name] = hidden[name]
            elif name in states:
                several[name] = [states[name]]
            else:
                raise DataError(
                    f"variable {name!r} is not a column of the table. If it is hidden, give its number of states: "
                    f"hidden={{{name!r}: 2}}. Columns: {', '.join(schema.names[:12])}."
                )
        for chosen in product(*several.values()):
            own = {**known, **dict(zip(several, chosen, strict=True))}
            yield {name: tuple(own[name]) for name in plan.parents}

    # ---- one fit -------------------------------------------------------------------------------------------------

    def _fitted(
        self, plan: Plan, states: dict[str, tuple[Any, ...]], rows: NetworkRows, seed: np.random.SeedSequence
    ) -> FittedNetwork:
        """Fit a network whose variables have these states."""
        graph = reading.graph_of(plan, states)
        recipe = self._make_recipe()
        for name in recipe.fixed:
            if name not in graph.names:
                raise ParameterError(f"fixed: there is no variable {name!r}. Variables: {', '.join(graph.names)}.")
        given = reading.read_tables("start", self.start, graph)
        cells = reading.read_fixed(self.fixed, graph)
        if cells is not None:
            recipe = recipe._replace(cells=~np.isnan(cells))
        by_column = dict(zip(rows.schema.names, rows.frequencies(), strict=True))
        counts = [by_column.get(name, np.zeros(card)) for name, card in zip(graph.names, graph.cards, strict=True)]
        recipe = _with_prior(recipe, graph, counts)
        model = recipe.model(graph)
        data = rows.reduced(model, graph)
        with runner(self.n_jobs, most_workers(data)) as run:
            starts = self._starts(model, graph, counts, data, rows.mass, given, cells, child(seed, 0))
            search = _searched(model, data, starts, options.plan(self, seed, run), graph, rows)
            best = search.best.accepted
            [step] = evaluate(model, data, [best.params], SOFT, run)
        loglik = best.loglik if self.assign == "soft" else step.loglik
        params, stats = best.params["tables"], step.expected.stats[None]
        for v in self._relabelled(graph, rows.schema):
            order = np.argsort(
                -stats[0][graph.slice(v)].reshape(graph.shapes[v]).reshape(-1, graph.cards[v]).sum(axis=0),
                kind="stable",
            )
            params, stats = (permuted(graph, cells, v, order) for cells in (params, stats))
        return FittedNetwork(
            model=model,
            params={"tables": frozen(params)},
            search=search,
            stats=stats[0],
            loglik=loglik,
            n_rows=rows.mass,
            n_blank=rows.n_blank,
            n_incomplete=rows.n_incomplete(),
            graph=graph,
            states=states,
            recipe=recipe,
        )

    def _in_fitted_order(self, params: Params) -> Params:
        """Return a draw of the parameters with exchangeable hidden states in the order of the fit."""
        hidden = self._relabelled(self._graph, self._schema)
        return {"tables": frozen(in_order_of(self._graph, params["tables"], self._params["tables"], hidden))}

    def _relabelled(self, graph: Graph, schema: Schema) -> list[int]:
        """Return hidden variables whose states are exchangeable: they are sorted, the most frequent first."""
        if self.start or self.fixed or self.tied:
            return []
        named = {*schema.names, *(self.states or {})}
        named |= {name for name, own in reading.read_hidden(self.hidden).items() if isinstance(own[0][0], str)}
        return [v for v, name in enumerate(graph.names) if name not in named and name not in self._softened]

    _softened: Collection[str] = ()  # variables with soft evidence

    def _starts(
        self,
        model: BayesianNetwork,
        graph: Graph,
        counts: Sequence[Floats],
        data: Reduced,
        mass: float,
        given: Mapping[int, Floats],
        cells: Floats | None,
        seed: np.random.SeedSequence,
    ) -> Starts:
        """Return the tables that the restarts begin with: estimates from observed families, perturbed at random."""
        assert data.known is not None
        leaf = Tables(graph.rows)
        first, amount = np.array(leaf.blank()), np.zeros((1, graph.n_cells))
        never = [not own.any() for own in counts]
        for v in range(len(graph)):
            own, shape = graph.slice(v), graph.shapes[v]
            known = data.known.stats[own].reshape(shape)
            shares = _shares(counts[v])
            first[0, own] = (known + shares / known.reshape(-1, shape[-1]).shape[0]).ravel()
            if known.sum() < mass * (1 - 1e-12):
                amount[0, own] = STRENGTH
        first = leaf.maximise(first, leaf.blank())

        def drawn(i: int) -> Params:
            rng = np.random.default_rng(child(seed, i))
            moves = amount if i or any(never) else 0.0
            table = np.array(leaf.maximise(first * np.exp(moves * rng.standard_normal(first.shape)), first))
            for v, own_table in given.items():
                table[0, graph.slice(v)] = own_table.ravel()
            if cells is not None:
                table = np.where(np.isnan(cells), table, cells)
            params = {"tables": frozen(table)}
            return model.conform(params, params)

        return options.starts(self, drawn, only_one=not data.chunks)

    # ---- results -------------------------------------------------------------------------------------------------

    def _publish(self, found: FittedNetwork) -> None:
        """Set the fitted attributes."""
        self._graph, self._states, self._model = found.graph, found.states, found.model
        self._params, self._stats = found.params, found.stats
        self.loglik_, self._n_rows = found.loglik, found.n_rows
        self._n_blank, self._n_incomplete = found.n_blank, found.n_incomplete
        self._recipe = found.recipe
        self.events_ = self._notes(found)
        convergence.record(self, found.search)
        convergence.warn_of_end(self, found.search.interrupted)
        log.info("fitted %d variables: %s after %d iterations", len(found.graph), self.stop_reason_, self.n_iter_)

    def _notes(self, found: FittedNetwork) -> list[str]:
        """Name variables with a single state, rows of tables without any count, and rows without any observation."""
        notes = blank_notes(found.n_blank) + marks_notes(found.states.items())
        for v, name in enumerate(found.graph.names):
            if found.graph.cards[v] == 1:
                notes.append(f"variable {name!r} has one state: it carries no information")
            counts = found.stats[found.graph.slice(v)].reshape(-1, found.graph.cards[v]).sum(axis=1)
            empty = int((counts < NO_MASS).sum())
            if empty and self.prior is None and found.graph.parents[v]:
                notes.append(
                    f"P({name} | ...): {empty} of {len(counts)} states of its parents never occur and keep their start "
                    "values; a prior gives them defined values"
                )
        return notes


def _searched(
    model: BayesianNetwork, data: Reduced, starts: Starts, plan: SearchPlan, graph: Graph, rows: NetworkRows
) -> Search:
    """Run the search; if a start gives a row probability zero, name the row."""
    try:
        return fit(model, data, starts, plan)
    except FitError as error:
        for params in starts.first():
            where = rows.impossible(model, graph, params)
            if where is not None:
                raise FitError(
                    f"{where} has probability zero at the start of the fit: check the zeros in start= and fixed=."
                ) from error
        raise


def matched(name: str, states: Sequence[Any], categories: Sequence[Any]) -> tuple[Any, ...]:
    """Return the states as in the column; states given as text match numbers and True/False."""
    found = list(states)
    for category in categories:
        if any(state == category and isinstance(state, str) == isinstance(category, str) for state in states):
            continue
        printed = [str(state).lower() if isinstance(category, bool) else str(state) for state in states]
        text = str(category).lower() if isinstance(category, bool) else str(category)
        if printed.count(text) != 1:
            raise DataError(
                f"column {name!r} holds {category!r}, which is not one of its states: {', '.join(map(repr, states))}. "
                "Add it to states=, or declare it as missing."
            )
        found[printed.index(text)] = category
    return tuple(found)


def _with_prior(recipe: NetworkRecipe, graph: Graph, counts: Sequence[Floats]) -> NetworkRecipe:
    """Return the recipe with pseudo-counts that depend on the values of the variables; tied tables share one row."""
    if recipe.prior != "row":
        return recipe
    shares = [half_even_shares(own, [len(own)]) for own in counts]
    pseudo = reading.read_prior(recipe.prior, recipe.sample_size, graph, shares)
    assert pseudo is not None
    shared = reading.read_shared(recipe.tied, graph)
    if shared is not None:
        pseudo /= np.bincount(shared, minlength=len(shared))[shared]
    return recipe._replace(pseudo=frozen(pseudo))


def _counts(codes: NDArray[np.int64], weight: Floats, card: int) -> Floats:
    """Return how often each state was observed."""
    seen = codes >= 0
    return np.bincount(codes[seen], weight[seen], minlength=card).astype(np.float64)


def _shares(counts: Floats) -> Floats:
    """Return the shares of the states in the observed cells of a column, none of them 0."""
    some = counts + 1.0 / len(counts)
    return some / some.sum()


def compared(tried: Sequence[FittedNetwork], chosen: int, hidden: Sequence[str]) -> dict[str, list[Any]]:
    """Return the figures of all that was tried, with an entry for each choice of numbers of states."""
    rows = [
        {name: len(one.states[name]) for name in hidden} | selection.information(one) | selection.starts(one)
        for one in tried
    ]
    return selection.by_name(rows, chosen)


def read_soft(evidence: Any, n_rows: int, states: Mapping[str, Sequence[Any]]) -> dict[str, Likelihoods]:
    """Read soft evidence on rows: for a variable an (N, states) array of likelihoods; ones or NaN: nothing known."""
    found = {}
    for name, given in options.mapping("evidence", evidence).items():
        if name not in states:
            raise ParameterError(f"evidence: there is no variable {name!r}. Variables: {', '.join(states)}.")
        values = np.array(given, dtype=np.float64)
        if values.shape != (n_rows, len(states[name])):
            raise DataError(
                f"evidence[{name!r}] has shape {values.shape}; expected a likelihood for each of {n_rows} rows and "
                f"{len(states[name])} states."
            )
        values[np.isnan(values).all(axis=1)] = 1.0
        wrong = np.flatnonzero(~(np.isfinite(values) & (values >= 0)).all(axis=1) | ~values.any(axis=1))
        if len(wrong):
            raise DataError(
                f"evidence[{name!r}]: row {wrong[0]} is {values[wrong[0]].tolist()}; likelihoods are finite, at least "
                "0 and not all 0."
            )
        with np.errstate(divide="ignore"):
            patterns, index = np.unique(np.log(values), axis=0, return_inverse=True)
        found[str(name)] = Likelihoods(patterns, index.ravel().astype(np.int64))
    return found
