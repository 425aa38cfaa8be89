"""Bayesian networks in use: questions, predictions, fillings, draws; options; what is said about mistakes."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow.csv
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

import halfseen as hs
from halfseen.data import read
from halfseen.errors import DataError, FitError, ImpossibleRowWarning, ParameterError, UnknownCategoryWarning
from halfseen.structures import elimination
from halfseen.structures.graph import Graph
from tests.reference.enumerate_network import network_row

RAIN = {
    "season": [0.6, 0.4],
    "rain": [[0.9, 0.1], [0.3, 0.7]],
    "sprinkler": [[0.2, 0.8], [0.95, 0.05]],
    "wet": [[[0.99, 0.01], [0.1, 0.9]], [[0.2, 0.8], [0.01, 0.99]]],
}
EDGES = "season -> rain; season -> sprinkler; rain -> wet; sprinkler -> wet"
STATES = {"season": ["dry", "damp"], **{name: ["no", "yes"] for name in ("rain", "sprinkler", "wet")}}


@pytest.fixture
def lawn():
    return hs.BayesNet.from_params(RAIN, EDGES, STATES)


def joint(net):
    """The joint distribution over all variables of the lawn."""
    p = net.params_
    return np.einsum("s,sr,sk,rkw->srkw", p["season"], p["rain"], p["sprinkler"], p["wet"])


# ---- questions -----------------------------------------------------------------------------------------------------


def test_queries_are_those_of_the_joint_table(lawn):
    full = joint(lawn)
    assert_allclose(lawn.query(["rain", "season"]), full.sum(axis=(2, 3)).T, rtol=1e-12)
    given = full[:, :, :, 1]
    assert_allclose(lawn.query(["sprinkler", "rain"], {"wet": "yes"}), (given.sum(axis=0) / given.sum()).T, rtol=1e-12)
    assert_allclose(lawn.probability({"wet": "yes", "season": "damp"}), full[1, :, :, 1].sum(), rtol=1e-12)
    assert lawn.probability({}) == 1.0
    assert_allclose(np.asarray(lawn.query(list(STATES))), full, rtol=1e-12)


def test_sets_of_states_and_likelihoods_are_soft_evidence(lawn):
    full = joint(lawn)
    soft = np.einsum("srkw,w->r", full, [0.3, 0.9])
    for given in ([0.3, 0.9], {"no": 0.3, "yes": 0.9}, np.array([0.3, 0.9])):
        assert_allclose(lawn.query("rain", {"wet": given}), soft / soft.sum(), rtol=1e-12)
    assert_allclose(lawn.query("rain", {"wet": {"yes"}}), lawn.query("rain", {"wet": "yes"}), rtol=1e-12)
    assert_allclose(
        lawn.query("wet", {"wet": [0.5, 1.0]})["yes"], 1 / (1 + 0.5 * 1 / (1 / lawn.query("wet")["no"] - 1))
    )


def test_a_labelled_table_by_its_states(lawn):
    found = lawn.query(["season", "wet"])
    assert found["dry", "yes"] == found["dry"]["yes"] == np.asarray(found)[0, 1]
    assert found.shape == (2, 2)
    assert_allclose(sum(found.to_dict().values()), 1.0)
    assert list(found.to_frame()["probability"]) == found.values.ravel().tolist()
    with pytest.raises(ParameterError, match=r"wet has no state 'maybe'\. States: 'no', 'yes'"):
        found["dry", "maybe"]
    assert lawn.table("wet")["no", "yes", "yes"] == 0.9


def test_the_best_explanation_is_joint_and_not_per_variable():
    tables = {"A": [0.4, 0.3, 0.3], "B": [[0.34, 0.33, 0.33], [1, 0, 0], [0, 1, 0]]}
    net = hs.BayesNet.from_params(tables, "A -> B")
    assert np.asarray(net.query("A")).argmax() == 0
    assert net.mpe({}) == {"A": 1, "B": 0}
    frame = net.mpe(pd.DataFrame({"A": [None, 0.0], "B": [None, None]}))
    assert frame["A"].tolist() == [1, 0]
    assert frame["B"].tolist() == [0, 0]


def test_the_graph_alone(lawn):
    assert lawn.d_separated("rain", "sprinkler", "season")
    assert not lawn.d_separated("rain", "sprinkler", ["season", "wet"])
    assert not lawn.d_separated(["rain"], ["season"])
    assert lawn.markov_blanket("rain") == ["season", "sprinkler", "wet"]
    assert lawn.parents_["wet"] == ("rain", "sprinkler")
    assert ("season", "rain") in lawn.edges_


@pytest.mark.parametrize("seed", range(12))
def test_d_separation_holds_in_random_tables(seed):
    """What the graph calls independent is independent in the joint table; what it does not, hardly ever is."""
    rng = np.random.default_rng(seed)
    parents = tuple(tuple(rng.permutation(v)[: rng.integers(0, min(v, 2) + 1)].tolist()) for v in range(5))
    names = tuple("ABCDE")
    edges = [*names, *[(names[p], names[v]) for v, own in enumerate(parents) for p in own]]
    graph = Graph(names, (2,) * 5, parents)
    net = hs.BayesNet.from_params(
        {names[v]: rng.dirichlet([1, 1], shape[:-1]) for v, shape in enumerate(graph.shapes)}, edges
    )
    for _ in range(10):
        one, two, *given = rng.permutation(5)[: rng.integers(2, 6)]
        evidence = {names[v]: 1 for v in given}
        pair = np.asarray(net.query([names[one], names[two]], evidence))
        apart = np.outer(pair.sum(axis=1), pair.sum(axis=0))
        assert net.d_separated(names[one], names[two], list(evidence)) == np.allclose(pair, apart, atol=1e-9)


# ---- rows ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def rows(lawn):
    frame, hidden = lawn.sample(500, random_state=1)
    assert hidden == {}
    return frame.astype(object).mask(np.random.default_rng(0).random(frame.shape) < 0.3, None)


def test_scores_and_posteriors_are_those_of_enumeration(lawn, rows):
    codes = lawn._codes(read(rows.head(20)))
    slow = [network_row(lawn._graph, lawn._params["tables"][0], row) for row in codes]
    assert_allclose(lawn.score_samples(rows.head(20)), [np.log(row.evidence) for row in slow], atol=1e-12)
    codes[:, 3] = -1
    slow = [network_row(lawn._graph, lawn._params["tables"][0], row) for row in codes]
    assert_allclose(lawn.predict_proba(rows.head(20), "wet"), [row.marginals[3] for row in slow], atol=1e-12)
    guess = lawn.predict(rows.head(20), "wet")
    assert_array_equal(guess, np.array(["no", "yes"])[[row.marginals[3].argmax() for row in slow]])


def test_columns_may_be_absent_or_stand_in_another_order(lawn):
    frame = pd.DataFrame({"wet": ["yes", "no"], "season": ["dry", None]})
    assert_allclose(lawn.predict_proba(frame, "rain")[0], lawn.query("rain", {"wet": "yes", "season": "dry"}))
    with pytest.raises(DataError, match="column 'id' is not in the network"):
        lawn.score(frame.assign(id=1))


@pytest.mark.parametrize("draw", [False, True])
def test_holes_are_filled_and_nothing_else_is_touched(lawn, rows, draw):
    filled = lawn.impute(rows, draw=draw, random_state=0)
    assert not filled.isna().to_numpy().any()
    seen = rows.notna().to_numpy()
    assert (filled.to_numpy()[seen] == rows.to_numpy()[seen]).all()
    if not draw:
        one = rows.index[rows["wet"].isna()][0]
        evidence = {name: value for name, value in rows.loc[one].items() if value is not None}
        expected = np.asarray(lawn.query("wet", evidence)).argmax()
        assert filled.loc[one, "wet"] == STATES["wet"][expected]


@pytest.mark.parametrize("container", ["file", "arrow", "polars", "pandas"])
def test_a_column_without_any_value_may_have_states_of_text(lawn, tmp_path, container):
    """To a reader it is a column of numbers, or of nothing; results have the states."""
    path = tmp_path / "rows.csv"
    lawn.sample(40, random_state=0)[0].assign(rain=None).to_csv(path, index=False)
    X = {
        "file": hs.open_table,
        "arrow": pyarrow.csv.read_csv,
        "polars": lambda path: pl.read_csv(path, schema_overrides={"rain": pl.Float64}),
        "pandas": lambda path: pd.read_csv(path).set_axis(range(100, 140)),
    }[container](path)
    model = hs.BayesNet(lawn.edges, states=STATES, n_init=1, random_state=0).fit(X)
    hs.save(model, tmp_path / "net.halfseen")
    for found in (model.impute(X), model.sample(20, random_state=0)[0]):
        column = found["rain"]
        assert set(column.to_pylist() if hasattr(column, "to_pylist") else column.to_list()) <= set(STATES["rain"])
    if container == "pandas":
        assert model.impute(X).index.tolist() == list(range(100, 140))


def test_drawn_rows_have_the_network_s_frequencies(lawn):
    frame, _ = lawn.sample(20000, random_state=0)
    assert_allclose((frame["wet"] == "yes").mean(), lawn.query("wet")["yes"], atol=0.015)
    some, _ = lawn.sample(4000, random_state=0, evidence={"wet": "yes"})
    assert (some["wet"] == "yes").all()
    assert_allclose((some["rain"] == "yes").mean(), lawn.query("rain", {"wet": "yes"})["yes"], atol=0.03)


def test_impossible_rows_and_unknown_states_are_told(lawn):
    net = hs.BayesNet.from_params({"A": [0.5, 0.5], "B": [[1, 0], [1, 0]], "C": [[1, 0], [0, 1]]}, "A -> B; A -> C")
    with pytest.warns(ImpossibleRowWarning, match="1 rows are impossible"):
        assert_allclose(net.predict_proba(pd.DataFrame({"B": [1, 0]}), "A"), 0.5)
    with pytest.raises(ParameterError, match="evidence is impossible"):
        net.query("A", {"B": 1})
    with pytest.warns(UnknownCategoryWarning, match="maybe"):
        lawn.score(pd.DataFrame({"wet": ["maybe"]}))


# ---- fitting -------------------------------------------------------------------------------------------------------


def test_priors_are_added_counts():
    frame = pd.DataFrame({"A": [0, 0, 0, 1], "B": [0, 1, 1, 0]})
    one = hs.BayesNet("A -> B", prior=1.0).fit(frame)
    assert_allclose(one.params_["B"], [[2 / 5, 3 / 5], [2 / 3, 1 / 3]])
    spread = hs.BayesNet("A -> B", prior="bdeu", equivalent_sample_size=8).fit(frame)
    assert_allclose(spread.params_["A"], [7 / 12, 5 / 12])
    assert_allclose(spread.params_["B"], [[3 / 7, 4 / 7], [3 / 5, 2 / 5]])


def test_tables_are_kept_or_shared(rows):
    tables = {"season": [0.5, 0.5]}
    net = hs.BayesNet(EDGES, states=STATES, start=tables, fixed=["season"], random_state=0, n_init=2).fit(rows)
    assert net.params_["season"].tolist() == [0.5, 0.5]
    shared = hs.BayesNet(EDGES, states=STATES, tied=[("rain", "sprinkler")], random_state=0, n_init=2).fit(rows)
    assert_array_equal(shared.params_["rain"], shared.params_["sprinkler"])
    free = hs.BayesNet(EDGES, states=STATES, random_state=0, n_init=2).fit(rows)
    assert (net.n_parameters_, shared.n_parameters_, free.n_parameters_) == (8, 7, 9)
    assert free.loglik_ > max(net.loglik_, shared.loglik_)
    climbed = hs.BayesNet(EDGES, states=STATES, tied=[("rain", "sprinkler")], method="lbfgs", random_state=0, n_init=2)
    assert_allclose(climbed.fit(rows).loglik_, shared.loglik_, atol=1e-3)


def test_soft_evidence_on_rows_is_a_child_with_known_table(rows):
    """A likelihood for the states of `wet` says the same as a child of `wet` with that table, seen in the row."""
    told = rows.drop(columns="wet")
    table = np.array([[0.9, 0.1], [0.2, 0.8]])
    child = np.random.default_rng(0).integers(0, 2, len(rows))
    how = {"random_state": 0, "n_init": 1, "max_iter": 20, "stop": "iterations", "accelerate": False}
    start = {"wet": RAIN["wet"]}
    net = hs.BayesNet(EDGES, states=STATES, start=start, **how).fit(told, evidence={"wet": table.T[child]})
    other = hs.BayesNet(f"{EDGES}; wet -> seen", states=STATES, start=start | {"seen": table}, fixed=["seen"], **how)
    other.fit(told.assign(seen=child))
    assert_allclose(net.loglik_, other.loglik_, rtol=1e-9)
    assert_allclose(net.params_["wet"], other.params_["wet"], atol=1e-6)


def test_the_number_of_hidden_states_is_chosen_by_bic():
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 3, 1500)
    table = rng.dirichlet([0.5] * 4, (5, 3))
    frame = pd.DataFrame({f"d{j}": [rng.choice(4, p=table[j, k]) for k in kind] for j in range(5)})
    net = hs.BayesNet([("C", name) for name in frame], hidden={"C": range(2, 5)}, random_state=0, n_init=6).fit(frame)
    assert len(net.states_["C"]) == 3
    assert net.selection_["C"].tolist() == [2, 3, 4]
    assert net.selection_["bic"].idxmin() == net.selection_["chosen"].idxmax()
    assert (np.diff(net.params_["C"]) <= 0).all()
    assert_allclose(net.bic(), net.selection_["bic"].min())
    assert_allclose(net.bic(frame), net.bic(), rtol=1e-9)


@pytest.mark.parametrize("container", ["array", "polars"])
def test_containers(container, lawn, rows):
    if container == "polars":
        polars = pytest.importorskip("polars")
        table = polars.from_pandas(rows)
        found = hs.BayesNet(EDGES, states=STATES, random_state=0, n_init=2).fit(table)
        assert type(found.impute(table)).__module__.startswith("polars")
    else:
        table = rows.to_numpy()
        edges = "x0 -> x1; x0 -> x2; x1 -> x3; x2 -> x3"
        found = hs.BayesNet(edges, random_state=0, n_init=2).fit(table)
        assert found.impute(table).shape == table.shape
    expected = hs.BayesNet(EDGES, states=STATES, random_state=0, n_init=2).fit(rows)
    assert_allclose(found.loglik_, expected.loglik_, rtol=1e-7)  # other states first: another random start


def test_an_estimator_can_be_cloned_pickled_and_fitted_again(rows):
    net = hs.BayesNet(EDGES, states=STATES, random_state=0, n_init=2)
    again = clone(net).fit(rows)
    loaded = pickle.loads(pickle.dumps(again))
    assert_array_equal(loaded.params_["wet"], again.params_["wet"])
    assert_array_equal(net.fit(rows).params_["wet"], again.params_["wet"])
    with pytest.raises(DataError):
        net.fit(rows.assign(other=1))
    assert_array_equal(net.params_["wet"], again.params_["wet"])


@pytest.mark.parametrize("seed", range(4))
def test_tables_and_counts_of_a_hidden_variable_stand_in_one_order(rows, seed):
    seen = rows.drop(columns="wet").assign(slippery=np.where(rows["rain"].eq("yes"), "yes", "no"))
    edges = f"{EDGES}; wet -> slippery"
    net = hs.BayesNet(edges, hidden={"wet": 2}, random_state=seed, n_init=1, max_iter=30, stop="iterations").fit(seen)
    again = net.expected_counts(seen)
    for name, counts in net.counts_.items():
        assert_allclose(counts, again[name], rtol=1e-6, atol=1e-6)
    assert_allclose(net.score(seen) * len(seen), net.loglik_, rtol=1e-9)
    shares = net.counts_["wet"].sum(axis=(0, 1))
    assert shares[0] >= shares[1]


def test_expected_counts_of_other_rows(lawn, rows):
    weight = np.arange(len(rows)) % 3
    counts = lawn.expected_counts(rows, sample_weight=weight)
    for table in counts.values():
        assert_allclose(table.sum(), weight.sum(), rtol=1e-12)


# ---- what is said about mistakes -----------------------------------------------------------------------------------

FRAME = pd.DataFrame({"A": [0, 1, 0], "B": [1, 1, 0]})


@pytest.mark.parametrize(
    ("options", "error", "what"),
    [
        ({"edges": "A -> B -> A"}, ParameterError, "go round in a circle: .*A -> B|B -> A"),
        ({"edges": "A -> "}, ParameterError, "arrow without a name"),
        ({"edges": [("A", "B"), ("A", "B")]}, ParameterError, "'A' -> 'B' is given twice"),
        ({"edges": [("A", "A")]}, ParameterError, "its own parent"),
        ({"edges": 3}, ParameterError, "not a list of pairs"),
        ({"edges": None}, ParameterError, "at least one variable"),
        ({"edges": ["A"]}, DataError, "column 'B' is not in the network"),
        ({"edges": "A -> B -> C"}, DataError, r"'C' is not a column .* hidden=\{'C': 2\}"),
        ({"edges": "A -> B", "hidden": {"A": 2}}, ParameterError, "'A' is a column"),
        ({"edges": "A -> B", "hidden": {"C": 0}}, ParameterError, "whole number of at least 1"),
        ({"edges": "A -> B", "states": {"A": [0]}}, DataError, "column 'A' holds 1, which is not one of its states: 0"),
        ({"edges": "A -> B", "states": {"A": "01"}}, ParameterError, "not a list of states"),
        ({"edges": "A -> B", "prior": "flat"}, ParameterError, "not 'row', 'bdeu', None or a number"),
        ({"edges": "A -> B", "start": {"B": [0.5, 0.5]}}, ParameterError, r"P\(B \| A\): expected shape \(2, 2\)"),
        ({"edges": "A -> B", "start": {"C": [1]}}, ParameterError, "no variable 'C'"),
        ({"edges": "A -> B", "fixed": ["B"]}, ParameterError, "needs a table in start="),
        ({"edges": "A -> B", "tied": [("A", "B")]}, ParameterError, "tables of one shape"),
        ({"edges": "A -> B", "assign": "firm"}, ParameterError, "assign='firm'"),
        ({"edges": "A -> B", "criterion": "icl"}, ParameterError, "criterion"),
    ],
)
def test_mistakes_in_options(options, error, what):
    with pytest.raises(error, match=what):
        hs.BayesNet(**options).fit(FRAME)


def test_mistakes_in_tables():
    with pytest.raises(DataError, match="'A' has numbers, but networks need categories"):
        hs.BayesNet(["A"]).fit(pd.DataFrame({"A": [0.5, 1.5, 2.5]}))
    with pytest.raises(DataError, match="'A' has no observed cell: give its states"):
        hs.BayesNet(["A", "B"]).fit(pd.DataFrame({"A": [None, None], "B": [0, 1]}))
    with pytest.raises(FitError, match="row 1 has probability zero"):
        hs.BayesNet("A -> B", start={"A": [1, 0]}, fixed=["A"]).fit(FRAME)
    with pytest.raises(DataError, match=r"evidence.*row 0 has a value and soft evidence"):
        hs.BayesNet("A -> B").fit(FRAME, evidence={"A": [[0.1, 0.9]] * 3})
    with pytest.raises(DataError, match=r"evidence.*shape"):
        hs.BayesNet("A -> B").fit(FRAME, evidence={"A": [[0.1, 0.9]] * 2})


def test_mistakes_in_questions(lawn):
    for call, what in [
        (lambda: lawn.query("snow"), "no variable 'snow'"),
        (lambda: lawn.query("rain", {"rain": "yes"}), "asked for and given"),
        (lambda: lawn.query("rain", {"wet": "maybe"}), "wet has no state 'maybe'"),
        (lambda: lawn.query("rain", {"wet": [1, 2, 3]}), "each of its states"),
        (lambda: lawn.query("rain", {"wet": [0, 0]}), "rules out every state"),
        (lambda: lawn.query([]), "does not name some variables"),
        (lambda: lawn.predict(pd.DataFrame({"wet": ["yes"]})), "say which of"),
        (lambda: lawn.bic(), "built without data"),
        (lambda: lawn.counts_, "built without data"),
        (lambda: lawn.d_separated("rain", "rain"), "in common"),
    ]:
        with pytest.raises(ParameterError, match=what):
            call()


@pytest.mark.parametrize("analysis", [hs.hidden_cells, hs.explain, hs.bound])
def test_analyses_of_mixtures_say_that_a_network_is_none(analysis, lawn, rows):
    with pytest.raises(ParameterError, match=r"(?s)BayesNet.* is not a|got BayesNet"):
        analysis(lawn, rows)


def test_a_clique_too_large_is_refused_by_name(monkeypatch):
    monkeypatch.setattr(elimination, "LARGEST", 1000)
    names = [f"v{i}" for i in range(8)]
    edges = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
    graph = Graph(tuple(names), (3,) * 8, tuple(tuple(range(i)) for i in range(8)))
    tables = {name: np.full(shape, 1 / 3) for name, shape in zip(names, graph.shapes, strict=True)}
    net = hs.BayesNet.from_params(tables, edges)
    with pytest.raises(FitError, match=r"table of 2,187 entries over v0, v1, .*v6"):
        net.query("v0", {"v7": 0})


def test_states_name_those_of_hidden_variables():
    X = pd.DataFrame({"a": ["x", "y"] * 20, "b": ["x", "y"] * 20})
    net = hs.BayesNet("a <- C -> b", hidden=["C"], states={"C": ["low", "high"]}, random_state=0).fit(X)
    assert set(net.query("C").to_dict()) == {"low", "high"}
    with pytest.raises(ParameterError, match="names 3 states"):
        hs.BayesNet("a <- C -> b", hidden={"C": 2}, states={"C": ["a", "b", "c"]}).fit(X)


def test_an_unknown_state_is_warned_of_once_per_fit():
    net = hs.BayesNet("x0 -> x1").fit([["a", "b"], ["c", "d"]] * 5)
    with pytest.warns(UnknownCategoryWarning, match="'z'"):
        net.score([["z", "b"]])
    net.score([["z", "b"]])  # a warning would be an error
    net.fit([["a", "b"], ["c", "d"]] * 5)
    with pytest.warns(UnknownCategoryWarning, match="'z'"):
        net.score([["z", "b"]])
