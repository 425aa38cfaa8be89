"""What every Bayesian network can do once it has tables: queries, predictions, fillings, draws, scores.

All of it comes from the structure that training uses.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from halfseen.data import Column, Schema, Source, Table, frame_from_dict, read, row_weight
from halfseen.engine.loop.model import weighted_sum
from halfseen.errors import AbsentError, DataError, ImpossibleRowWarning, ParameterError, warn
from halfseen.estimators import convergence, options
from halfseen.estimators.base import InformationCriteria, SelectsModels, new_names
from halfseen.estimators.by_partition import by_partition, summed
from halfseen.estimators.named_parameters import SHARE, DrawnRow, NamedParameters
from halfseen.estimators.observed import Observed, observed_units
from halfseen.estimators.resampled import Resampled
from halfseen.families.network import draws
from halfseen.families.network.model import (
    BayesianNetwork,
    Likelihoods,
    Split,
    completed,
    log_table,
    logliks,
    marginals,
    placed,
    posterior,
    split,
)
from halfseen.families.network.probability_table import Labelled, position
from halfseen.leaves.categorical import draw as draw_states
from halfseen.leaves.leaf import Floats, Stats
from halfseen.leaves.limits import Params
from halfseen.runners.frames import is_elsewhere
from halfseen.structures.elimination import LARGEST
from halfseen.structures.graph import Graph, read_names
from halfseen.sums import Parts

Ints = NDArray[np.int64]


class NetworkMethods(SelectsModels, InformationCriteria):
    """A Bayesian network, once it has a graph, states and tables."""

    _graph: Graph
    _states: dict[str, tuple[Any, ...]]
    _schema: Schema
    _template: Source
    _model: BayesianNetwork
    _params: Params
    _stats: Stats
    _n_rows: float = 0.0
    _paper_name = "Bayesian network"
    _drawn_labels = ("variable", "given", "state")
    _paper_priors = MappingProxyType(
        {"row": "one pseudo-row in every table", "bdeu": "Bayesian Dirichlet equivalent uniform"}
    )
    loglik_: float

    # ---- what is in it -------------------------------------------------------------------------------------------

    @property
    def nodes_(self) -> tuple[str, ...]:
        """The variables."""
        check_is_fitted(self)
        return self._graph.names

    @property
    def edges_(self) -> list[tuple[str, str]]:
        """The edges, (parent, child)."""
        names = self.nodes_
        return [(names[p], names[v]) for v, parents in enumerate(self._graph.parents) for p in parents]

    @property
    def parents_(self) -> dict[str, tuple[str, ...]]:
        """The parents of each variable, in the order of the axes of its table."""
        names = self.nodes_
        return {names[v]: tuple(names[p] for p in parents) for v, parents in enumerate(self._graph.parents)}

    @property
    def states_(self) -> dict[str, tuple[Any, ...]]:
        """The states of each variable, in the order of the axes of tables."""
        check_is_fitted(self)
        return dict(self._states)

    @property
    def hidden_(self) -> tuple[str, ...]:
        """The variables that have no column."""
        seen = set(self._schema.names)
        return tuple(name for name in self.nodes_ if name not in seen)

    def rename(self, names: Sequence[Any] | Mapping[Any, Any], variable: str | None = None) -> Self:
        """Return a copy in which the states of a hidden variable have these names.

        Parameters
        ----------
        names : list or dict      all names in order; or by number or present name, {0: "mild", 2: "severe"}
        variable : str, optional  the hidden variable; not needed where there is one
        """
        hidden = self.hidden_
        if variable is None and len(hidden) == 1:
            variable = hidden[0]
        if variable not in hidden:
            told = "its name is needed" if variable is None else f"{variable!r} is none"
            raise ParameterError(
                f"rename is for the states of a hidden variable: {told}. Hidden: {', '.join(hidden) or 'none'}."
            )
        renamed = copy(self)
        renamed._states = {**self._states, variable: new_names(names, self._states[variable], "state")}
        return renamed

    @property
    def params_(self) -> dict[str, Floats]:
        """P(variable | parents) by variable: an axis for each parent, the last for the states; `start=` takes the same.

        Examples
        --------
        >>> import halfseen as hs
        >>> net = hs.BayesNet.from_params({"rain": [0.8, 0.2], "wet": [[0.9, 0.1], [0.2, 0.8]]}, [("rain", "wet")])
        >>> net.params_["wet"].tolist()
        [[0.9, 0.1], [0.2, 0.8]]
        """
        return self._by_family(self._params["tables"][0]) if self.nodes_ else {}

    @property
    def counts_(self) -> dict[str, Floats]:
        """Expected counts of every family in the data it was fitted to, in the shapes of `params_`."""
        check_is_fitted(self)
        if not hasattr(self, "_stats"):
            raise AbsentError("this network was built without data: it has no counts.")
        return self._by_family(self._stats)

    def _by_family(self, cells: Floats) -> dict[str, Floats]:
        graph = self._graph
        return {name: cells[graph.slice(v)].reshape(graph.shapes[v]) for v, name in enumerate(graph.names)}

    def table(self, variable: str) -> Labelled:
        """Return P(variable | parents) with its labels."""
        [v] = self._numbers("variable", [variable])
        members = [self._graph.names[m] for m in self._graph.members[v]]
        return Labelled({name: self._states[name] for name in members}, self.params_[self._graph.names[v]])

    def to_frame(self) -> Any:
        """Return all tables as one table: a row for each state of each variable and its parents."""
        named = self._named_parameters()
        return frame_from_dict({**named.labels, "probability": named.values.tolist()}, self._template)

    def _named_parameters(self) -> NamedParameters:
        """Return all tables, one probability after the other."""
        rows: dict[str, list[Any]] = {"variable": [], "given": [], "state": []}
        values: list[float] = []
        for name in self.nodes_:
            found = self.table(name)
            parents = found.variables[:-1]
            for key, p in found.to_dict().items():
                listed = key if isinstance(key, tuple) else (key,)
                rows["variable"].append(name)
                rows["given"].append(", ".join(f"{a}={b}" for a, b in zip(parents, listed[:-1], strict=True)))
                rows["state"].append(str(listed[-1]))
                values.append(p)
        return NamedParameters(rows, np.array(values), [SHARE] * len(values))

    def _drawn_rows(self, params: Params) -> list[DrawnRow]:
        """Return draws of the parameters by name."""
        return list(draws.drawn_rows(self, params))

    def _observed(self, X: Any, sample_weight: ArrayLike | None = None) -> Observed:
        """Return rows as inference reads them, equal ones merged."""
        from halfseen.families.network.model import distinct, reduce_network

        source = read(X)
        codes, number = distinct(self._codes(source))
        given = row_weight(source, sample_weight)
        weight = np.bincount(number, given, minlength=len(codes)).astype(np.float64)

        def reduced(some: Any, mass: Floats) -> Any:
            return reduce_network(self._model, self._graph, split(self._graph, some), mass)

        def unit(m: int) -> Any:
            return reduced(codes[m : m + 1], np.ones(1))

        return observed_units(self._model, reduced(codes, weight), unit, weight, number, given)

    def _resampled(self, X: Any, sample_weight: ArrayLike | None = None) -> Resampled:
        """Return rows as the bootstrap reads them."""
        from halfseen.families.network.resampled import resampled_cases

        source = read(X)
        return resampled_cases(self, self._codes(source), row_weight(source, sample_weight))

    def describe(self) -> str:
        """Return the network in words: a line for each variable, with its parents and how probable its states are.

        Examples
        --------
        >>> import halfseen as hs
        >>> net = hs.BayesNet.from_params({"rain": [0.8, 0.2], "wet": [[0.9, 0.1], [0.2, 0.8]]}, [("rain", "wet")])
        >>> print(net.describe())
        rain: 0 80%, 1 20%
        wet <- rain: 0 76%, 1 24%
        """
        lines = []
        hidden = set(self.hidden_)
        for v in self._graph.order:
            name = self._graph.names[v]
            shares = np.asarray(self.query([name]))
            words = [f"{state} {p:.0%}" for state, p in zip(self._states[name], shares, strict=True)]
            shown = ", ".join(words[:6]) + (f", ... {len(words)} states" if len(words) > 6 else "")
            parents = "" if not self.parents_[name] else f" <- {', '.join(self.parents_[name])}"
            lines.append(f"{name}{' (hidden)' if name in hidden else ''}{parents}: {shown}")
        return convergence.described(self, "\n".join(lines))

    # ---- what follows from the graph ---------------------------------------------------------------------------------

    def d_separated(self, one: str | Sequence[str], two: str | Sequence[str], given: Sequence[str] | str = ()) -> bool:
        """Whether `one` and `two` are independent by the graph alone, given `given`.

        Examples
        --------
        >>> import halfseen as hs
        >>> copy = [[1, 0], [0, 1]]
        >>> net = hs.BayesNet.from_params({"Y": [0.5, 0.5], "X": copy, "Z": copy}, "X <- Y -> Z")
        >>> net.d_separated("X", "Z"), net.d_separated("X", "Z", ["Y"])
        (False, True)
        """
        first, second, known = self._numbers("one", one), self._numbers("two", two), self._numbers("given", given)
        if set(first) & set(second):
            raise ParameterError("one and two have a variable in common: nothing is independent of itself.")
        return self._graph.separated(set(first) - set(known), set(second) - set(known), known)

    def markov_blanket(self, variable: str) -> list[str]:
        """Return parents, children and other parents of children: given these, it is independent of the rest."""
        [v] = self._numbers("variable", [variable])
        return [self._graph.names[u] for u in sorted(self._graph.blanket(v))]

    # ---- questions -----------------------------------------------------------------------------------------------

    def query(self, variables: str | Sequence[str], evidence: Mapping[str, Any] | None = None) -> Labelled:
        """Return the joint distribution of some variables, given evidence.

        Parameters
        ----------
        variables : name or list of names
        evidence : mapping of names to what is known
            A state; a set of states of which it is one; or soft evidence, a likelihood for each state in their order
            (a list) or by name (a dict, 0 for those not there).

        Returns
        -------
        Labelled
            NumPy reads it as an array with an axis for each variable, in the order of `states_`.

        Examples
        --------
        >>> import halfseen as hs
        >>> net = hs.BayesNet.from_params({"rain": [0.8, 0.2], "wet": [[0.9, 0.1], [0.2, 0.8]]}, [("rain", "wet")])
        >>> net.query("rain", {"wet": 1})
        rain
        0     0.333333
        1     0.666667
        """
        targets = self._numbers("variables", variables)
        codes, likelihoods = self._evidence(evidence)
        names = [self._graph.names[v] for v in targets]
        for v, name in zip(targets, names, strict=True):
            if codes[0, v] >= 0:
                raise ParameterError(f"query: {name!r} is asked for and given. Leave it out of one of the two.")
        if not targets or len(set(targets)) < len(targets):
            raise ParameterError(f"variables={variables!r} does not name some variables, each once.")
        cards = [self._graph.cards[v] for v in targets]
        if float(np.prod(np.array(cards, dtype=np.float64))) > LARGEST:
            raise ParameterError(
                f"query: a table over {', '.join(names)} would have over {LARGEST:,} cells. Ask for fewer."
            )
        found, table, places = self._cut(codes, likelihoods, targets)
        if np.isneginf(logliks(table, found)[0]):
            raise ParameterError(f"the evidence is impossible under the network: {dict(evidence or {})!r}.")
        values = np.ones(1)
        order: list[int] = []
        for one in found.components:
            own = [v for v in targets if places[v] in one.scheme.variables]
            if own:
                values = np.multiply.outer(values, posterior(table, found, one, [places[v] for v in own])[0])
                order += own
        values = values.reshape([self._graph.cards[v] for v in order])
        values = np.transpose(values, [order.index(v) for v in targets])
        return Labelled({name: self._states[name] for name in names}, values)

    def _cut(
        self, codes: Ints, likelihoods: Mapping[int, Likelihoods], targets: Iterable[int]
    ) -> tuple[Split, Floats, dict[int, int]]:
        """Return evidence split on the part of the graph that matters, its logs of cells, and where variables are."""
        graph = self._graph
        known = [v for v in range(len(graph)) if codes[0, v] >= 0]
        keep = sorted(graph.ancestors([*targets, *known, *likelihoods]))
        places = {v: i for i, v in enumerate(keep)}
        part = Graph(
            tuple(graph.names[v] for v in keep),
            tuple(graph.cards[v] for v in keep),
            tuple(tuple(places[p] for p in graph.parents[v]) for v in keep),
        )
        found = split(part, codes[:, keep], {places[v]: one for v, one in likelihoods.items()})
        cells = np.concatenate([np.arange(graph.slice(v).start, graph.slice(v).stop) for v in keep])
        with np.errstate(divide="ignore"):
            logs = np.log(self._params["tables"][0][cells])
        return found, np.concatenate([logs, found.soft]), places

    def probability(self, evidence: Mapping[str, Any]) -> float:
        """Return the probability of evidence (with soft evidence, its expected likelihood)."""
        return float(np.exp(self._log_probability(evidence)))

    def _log_probability(self, evidence: Mapping[str, Any]) -> float:
        """Return its log, which is finite where the probability itself is too small for a float."""
        codes, likelihoods = self._evidence(evidence)
        if not likelihoods and (codes < 0).all():
            return 0.0
        found, table, _ = self._cut(codes, likelihoods, ())
        return float(logliks(table, found)[0])

    def mpe(self, X: Any) -> Any:
        """Return the most probable joint state of all that is unknown.

        Parameters
        ----------
        X : table, or mapping of names to what is known, as in `query`

        Returns
        -------
        For a mapping a dict with the state of every variable; for a table a table with all variables as columns, the
        hidden ones too. It is the best completion as a whole; `impute` looks at one cell at a time.

        Examples
        --------
        >>> import halfseen as hs
        >>> net = hs.BayesNet.from_params({"rain": [0.6, 0.4], "wet": [[0.5, 0.5], [0.1, 0.9]]}, [("rain", "wet")])
        >>> net.mpe({"rain": 0}), net.mpe({})
        ({'rain': 0, 'wet': 0}, {'rain': 1, 'wet': 1})
        """
        single = isinstance(X, Mapping) and not hasattr(X, "columns") and all(not _listed(v) for v in X.values())
        if single:
            codes, likelihoods = self._evidence(X)
        else:
            codes, likelihoods = self._codes(read(X)), {}
        found = split(self._graph, codes, likelihoods)
        states, logs = completed(self._logs(found), found)
        self._warn_impossible(int(np.isneginf(logs).sum()), "their unknown cells are filled at random")
        if single:
            return {name: self._states[name][states[0, v]] for v, name in enumerate(self._graph.names)}
        return frame_from_dict(self._named(states), self._template)

    def _named(self, codes: Ints) -> dict[str, list[Any]]:
        """Return codes (N, V) as columns of states."""
        out = {}
        for v, name in enumerate(self._graph.names):
            own = self._values(name)
            out[name] = [own[code] for code in codes[:, v].tolist()]
        return out

    def _values(self, name: str) -> tuple[Any, ...]:
        """Return the states of a variable as they stand in tables."""
        for column in self._schema.columns:
            if column.name == name:
                return tuple(column.categories or ())
        return self._states[name]

    # ---- rows in, answers out ------------------------------------------------------------------------------------

    @by_partition("state", names="_answer_names")
    def predict_proba(self, X: Any, variable: str | None = None) -> Floats:
        """Return the posterior of one variable in each row, (N, states); a column of it in `X` is not looked at.

        Parameters
        ----------
        X : table         columns may be absent: they are unobserved
        variable : name; by default the one hidden variable
        """
        v = self._target(variable)
        codes = self._codes(read(X))
        codes[:, v] = -1
        found = split(self._graph, codes)
        return self._possible(marginals(self._logs(found), found, v), v)

    @by_partition("state")
    def predict(self, X: Any, variable: str | None = None) -> NDArray[Any]:
        """Return the most probable state of one variable in each row; the first among equals."""
        v = self._target(variable)
        name = self._graph.names[v]
        return np.array(self._values(name))[self.predict_proba(X, name).argmax(axis=1)]

    def _answer_names(self, variable: str | None = None) -> list[str]:
        """Return the names of the columns of `predict_proba`."""
        return [str(state) for state in self._values(self._graph.names[self._target(variable)])]

    def _target(self, variable: str | None) -> int:
        check_is_fitted(self)
        if variable is None:
            if len(self.hidden_) != 1:
                raise ParameterError(f"variable: say which of {', '.join(self._graph.names)} to predict.")
            variable = self.hidden_[0]
        return self._numbers("variable", [variable])[0]

    def _possible(self, shares: Floats, v: int) -> Floats:
        """Give rows that are impossible the overall shares, with a warning."""
        lost = np.isnan(shares).any(axis=1)
        if lost.any():
            shares[lost] = np.asarray(self.query([self._graph.names[v]]))
            self._warn_impossible(int(lost.sum()), "they get the overall shares")
        return shares

    def _warn_impossible(self, impossible: int, so: str) -> None:
        if impossible:
            warn(
                f"{impossible} rows are impossible under the network; {so}. Fit with a prior to leave no probability "
                "at zero.",
                ImpossibleRowWarning,
            )

    @by_partition("")
    def impute(self, X: Any, draw: bool = False, random_state: Any = None) -> Any:
        """Fill the missing values of `X` from the observed values of the same row.

        Parameters
        ----------
        X : table
        draw : bool
            False: every missing value gets its own most probable state. True: a joint draw given the row, so that
            relations between columns are kept. (`mpe` gives the most probable joint state.)
        random_state : seed of the draws; by default the estimator's

        Returns
        -------
        The same container, columns and dtypes; observed cells are untouched.
        """
        check_is_fitted(self)
        source = read(X)
        codes = self._codes(source)
        found = split(self._graph, codes)
        table = self._logs(found)
        if draw:
            rng = self._generator(random_state)
            filled, logs = completed(table, found, rng)
            self._warn_impossible(int(np.isneginf(logs).sum()), "their missing values are filled at random")
        else:
            filled = np.array(codes, dtype=np.int64)
            for v, name in enumerate(self._graph.names):
                if name in source.names and (codes[:, v] < 0).any():
                    filled[:, v] = self._possible(marginals(table, found, v), v).argmax(axis=1)
        cells = {}
        for j, name in enumerate(self._columns_of(source)):
            missing = np.flatnonzero(source.column(j).missing)  # a category unknown to the model is not
            own = self._values(name)
            v = self._graph.names.index(name)
            cells[j] = (missing, [own[code] for code in filled[missing, v].tolist()])
        return source.fill({j: one for j, one in cells.items() if len(one[0])})

    def sample(self, n_samples: int = 1, random_state: Any = None, evidence: Mapping[str, Any] | None = None) -> Any:
        """Draw rows from the network, given evidence if there is any.

        Returns
        -------
        X : container like the one fitted
        hidden : dict     the states drawn for variables without a column
        """
        check_is_fitted(self)
        options.whole("n_samples", n_samples)
        rng = self._generator(random_state)
        if evidence:
            codes, likelihoods = self._evidence(evidence)
            many = np.zeros(n_samples, dtype=np.int64)
            wide = {v: one._replace(index=one.index[many]) for v, one in likelihoods.items()}
            found = split(self._graph, codes[many], wide)
            states, logs = completed(self._logs(found), found, rng)
            if np.isneginf(logs[0]):
                raise ParameterError(f"the evidence is impossible under the network: {dict(evidence)!r}.")
        else:
            states = np.empty((n_samples, len(self._graph)), dtype=np.int64)
            for v in self._graph.order:
                states[:, v] = 0
                cells = self._graph.cells(v, states)
                rows = cells[:, None] + np.arange(self._graph.cards[v])
                states[:, v] = draw_states(self._params["tables"][0][rows], rng)
        named = self._named(states)
        hidden = {name: np.array(named[name]) for name in self.hidden_}
        return self._template.like([named[name] for name in self._schema.names]), hidden

    @by_partition("loglik")
    def score_samples(self, X: Any) -> Floats:
        """Return log p(observed cells) of each row; 0 for a row in which nothing was observed."""
        check_is_fitted(self)
        found = split(self._graph, self._codes(read(X)))
        return logliks(self._logs(found), found)

    def score(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> float:
        """Return the mean log-likelihood per row."""
        if is_elsewhere(X):
            loglik, _, mass = summed(self, "_sums", X, sample_weight)
            return float(loglik / mass)
        table = self._table(read(X), sample_weight)
        return self._loglik(table) / table.mass

    def expected_counts(self, X: Any, sample_weight: ArrayLike | None = None) -> dict[str, Floats]:
        """Return expected counts of every family in a table, in the shapes of `params_`; each sums to the weights."""
        from halfseen.engine.loop.em import evaluate
        from halfseen.families.network.model import reduce_network

        check_is_fitted(self)
        source = read(X)
        found = split(self._graph, self._codes(source))
        data = reduce_network(self._model, self._graph, found, row_weight(source, sample_weight))
        [step] = evaluate(self._model, data, [self._params])
        return self._by_family(step.expected.stats)

    def _measured(self, X: Any, sample_weight: ArrayLike | None = None) -> tuple[float, float]:
        check_is_fitted(self)
        if X is None:
            if self._n_rows == 0:
                raise ParameterError("this network was built without data; give the data to measure it on, as X.")
            return self.loglik_, self._n_rows
        if is_elsewhere(X):
            loglik, n_rows, _ = summed(self, "_sums", X, sample_weight)
            return loglik, n_rows
        table = self._table(read(X), sample_weight)
        return self._loglik(table), table.n_observed

    def _sums(self, X: Any, y: Any, sample_weight: ArrayLike | None) -> Parts:
        """Return the log-likelihood of some rows, and the weights of rows with any observed cell and of all."""
        table = self._table(read(X), sample_weight)
        return Parts((self._loglik(table), table.n_observed, table.mass))

    def _loglik(self, table: Table) -> float:
        """Return the weighted sum of the log-likelihoods of the rows."""
        found = split(self._graph, self._placed(table))
        return weighted_sum(table.weight, logliks(self._logs(found), found))

    # ---- reading -------------------------------------------------------------------------------------------------

    def _logs(self, found: Split) -> Floats:
        return log_table(self._model, self._params, found)

    def _numbers(self, what: str, names: str | Sequence[str]) -> list[int]:
        check_is_fitted(self)
        return read_names(what, names, self._graph.names)

    def _columns_of(self, source: Source) -> list[str]:
        """Return the variable of each column of a table: by name, or by place where the columns have no names."""
        known = self._schema.names
        if not source.named:
            if len(source.names) != len(known):
                raise DataError(
                    f"X has {len(source.names)} columns without names; the network has {len(known)}: "
                    f"{', '.join(known[:8])}{', ...' if len(known) > 8 else ''}."
                )
            return list(known)
        for name in source.names:
            if name not in self._graph.names:
                raise DataError(
                    f"column {name!r} is not in the network. Drop it. Variables: {', '.join(self._graph.names)}."
                )
        return list(source.names)

    def _codes(self, source: Source) -> Ints:
        """Return a table as codes (N, V) of all variables; -1 where unobserved."""
        return self._placed(self._table(source))

    def _table(self, source: Source, weight: ArrayLike | None = None) -> Table:
        """Return a table encoded by the states of the variables that are its columns."""
        check_is_fitted(self)
        names = self._columns_of(source)
        schema = Schema.of(Column(name, "categorical", self._values(name)) for name in names)
        return replace(schema, said=self._schema.said).encode(source, weight)

    def _placed(self, table: Table) -> Ints:
        """Return the codes of a table, (N, V), with a column for every variable."""
        return placed(self._graph, table.schema.names, table.blocks["categorical"])

    def _evidence(self, evidence: Mapping[str, Any] | None) -> tuple[Ints, dict[int, Likelihoods]]:
        """Read what is known as one row of codes, and soft evidence."""
        codes = np.full((1, len(self.nodes_)), -1, dtype=np.int64)
        likelihoods = {}
        for name, given in options.mapping("evidence", evidence).items():
            [v] = self._numbers("evidence", [name])
            states = self._states[name]
            if given is None:
                continue
            if not _listed(given):
                codes[0, v] = position(name, states, given)
                continue
            values = read_likelihood(name, states, given)
            likelihoods[v] = Likelihoods(values[None], np.zeros(1, dtype=np.int64))
        return codes, likelihoods

    # ---- scikit-learn --------------------------------------------------------------------------------------------

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_params")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        return tags


def _listed(given: Any) -> bool:
    """Whether evidence is more than one state."""
    return isinstance(given, Mapping | Collection | np.ndarray) and not isinstance(given, str)


def read_likelihood(name: str, states: Sequence[Any], given: Any) -> Floats:
    """Return logs of the likelihoods of the states in a set, a dict or a list."""
    values = np.zeros(len(states))
    if isinstance(given, set | frozenset):
        for state in given:
            values[position(name, states, state)] = 1.0
    elif isinstance(given, Mapping):
        for state, likelihood in given.items():
            values[position(name, states, state)] = options.number(f"evidence[{name!r}][{state!r}]", likelihood)
    else:
        values = np.asarray(given, dtype=np.float64)
        if values.shape != (len(states),) or not np.isfinite(values).all() or values.min() < 0:
            raise ParameterError(
                f"evidence[{name!r}]={given!r:.80} is not a likelihood of at least 0 for each of its states: "
                f"{', '.join(map(repr, states))}. Name a set of states in braces."
            )
    if not values.any():
        raise ParameterError(f"evidence[{name!r}]={given!r:.80} rules out every state.")
    with np.errstate(divide="ignore"):
        return np.log(values)
