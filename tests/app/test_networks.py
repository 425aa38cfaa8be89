"""Bayesian networks at the command line, in model files and in reports."""

import io
import json

import numpy as np
import pandas as pd
import pytest

import halfseen as hs
from halfseen.errors import ModelFileError
from halfseen.families.network.report_graph import drawn
from tests.app.in_process import run
from tests.app.test_command_line import halfseen, table

pytestmark = pytest.mark.thorough
TABLES = {
    "season": [0.6, 0.4],
    "rain": [[0.9, 0.1], [0.3, 0.7]],
    "sprinkler": [[0.2, 0.8], [0.95, 0.05]],
    "wet": [[[0.99, 0.01], [0.1, 0.9]], [[0.2, 0.8], [0.01, 0.99]]],
    "slippery": [[0.95, 0.05], [0.2, 0.8]],
}
EDGES = "season -> rain; season -> sprinkler; rain -> wet; sprinkler -> wet; wet -> slippery"
STATES = {"season": ["dry", "damp"], **{name: ["no", "yes"] for name in ("rain", "sprinkler", "wet", "slippery")}}
LAWN = hs.BayesNet.from_params(TABLES, EDGES, STATES)


@pytest.fixture(scope="module")
def lawn(tmp_path_factory):
    """A BIF file, a file of rows with holes and a column that is no variable, and a model file made from both."""
    folder = tmp_path_factory.mktemp("lawn")
    hs.write_bif(LAWN, folder / "lawn.bif")
    frame, _ = LAWN.sample(300, random_state=0)
    frame = frame.mask(np.random.default_rng(0).random(frame.shape) < 0.1).assign(remark="x")
    frame.to_csv(folder / "lawn.csv", index=False)
    done = halfseen("fit", folder / "lawn.csv", "--model", folder / "lawn.bif", "-o", folder / "m.halfseen")
    assert "left out: remark: not in the network" in done.stderr
    assert "wet <- rain, sprinkler: no" in done.stdout
    return folder


def test_fit_is_the_fit_of_the_library(lawn):
    frame = pd.read_csv(lawn / "lawn.csv").drop(columns="remark")
    net = hs.BayesNet(hs.read_bif(lawn / "lawn.bif").edges, states=STATES, random_state=0).fit(frame)
    loaded = hs.load(lawn / "m.halfseen")
    assert loaded.loglik_ == net.loglik_
    for name, own in net.params_.items():
        np.testing.assert_array_equal(loaded.params_[name], own)


def test_ml_is_the_fit_without_a_prior(lawn, tmp_path):
    how = ("fit", lawn / "lawn.csv", "--model", lawn / "lawn.bif")
    done = json.loads(halfseen(*how, "--ml", "--json", "-o", tmp_path / "m.halfseen").stdout)
    assert done["estimate"] == "maximum likelihood"
    assert hs.load(tmp_path / "m.halfseen").prior is None
    assert done["loglik"] > hs.load(lawn / "m.halfseen").loglik_
    wrong = halfseen(*how, "--ml", "--prior", "bdeu", code=2).stderr
    assert "--ml means no prior: leave out --prior bdeu, or --ml" in wrong


def test_query_of_model_files_and_bif_files(lawn):
    asked = ("rain", "--given", "wet=yes", "--given", "season=damp")
    found = json.loads(halfseen("query", lawn / "lawn.bif", *asked, "--json").stdout)
    expected = LAWN.query("rain", {"wet": "yes", "season": "damp"})
    assert [row["probability"] for row in found["rows"]] == pytest.approx(np.asarray(expected).tolist())
    hs.write_bif(LAWN, lawn / "lawn.xmlbif")
    assert json.loads(halfseen("query", lawn / "lawn.xmlbif", *asked, "--json").stdout) == found
    shown = halfseen("query", lawn / "m.halfseen", "rain", "wet").stdout
    assert len(shown.splitlines()) == 5
    assert "probability" in shown
    for words, what in [
        (("snow",), "there is no variable 'snow'"),
        (("rain", "--given", "wet"), "not of the form NAME=STATE"),
        (("rain", "--given", "wet=maybe"), "wet has no state 'maybe'"),
    ]:
        assert what in halfseen("query", lawn / "m.halfseen", *words, code=2).stderr


def test_impute_sample_score_and_info(lawn):
    model, data = lawn / "m.halfseen", lawn / "lawn.csv"
    filled = pd.read_csv(io.StringIO(halfseen("impute", model, data).stdout))
    original = pd.read_csv(data)
    assert list(filled.columns) == list(original.columns)
    assert not filled.isna().to_numpy().any()
    pd.testing.assert_frame_equal(filled.where(original.notna()), original)
    assert len(table(halfseen("impute", model, data, "--draws", 2).stdout)) == 600
    rows = table(halfseen("sample", model, "-n", 4, "--seed", 3).stdout)
    assert [set(row) for row in rows] == [set(STATES)] * 4
    scored = json.loads(halfseen("score", model, data, "--json").stdout)
    loaded = hs.load(model)
    assert scored["loglik"] == pytest.approx(loaded.loglik_)
    assert scored["bic"] == pytest.approx(loaded.bic())
    info = halfseen("info", model).stdout
    assert "variables" in info
    assert "wet <- rain, sprinkler" in info
    assert "hs.BayesNet(" in halfseen("info", model, "--code").stdout
    assert "sprinkler" in halfseen("info", model, "--parameters").stdout


def test_hidden_variables_and_edges_at_the_command_line(lawn, tmp_path):
    out = tmp_path / "h.halfseen"
    how = ("--ignore", "remark,wet", "--hidden", "wet=2..3", "--restarts", 2, "--prior", "bdeu")
    shown = halfseen("fit", lawn / "lawn.csv", "--model", EDGES, *how, "-o", out, "--report", tmp_path / "r.html")
    head, *rows = shown.stdout.splitlines()[:3]
    assert head.split("  ")[0].strip() == "wet"
    assert head.split()[1:] == ["log-likelihood", "BIC", "starts", "that", "agree"]
    assert sum(row.endswith("<- preferred by BIC") for row in rows) == 1
    assert "wet (hidden) <- rain, sprinkler" in shown.stdout
    rows = table(halfseen("predict", out, lawn / "lawn.csv").stdout)
    assert {"p_0", "p_1", "certainty"} <= set(rows[0])
    assert "<h1>A Bayesian network: " in (tmp_path / "r.html").read_text(encoding="utf-8")
    wrong = halfseen("fit", lawn / "lawn.csv", "--hidden", "wet=2", code=2)
    assert (
        "--hidden is an option of Bayesian networks: add --model class-network or --model net.bif or --model 'A -> B'"
        in wrong.stderr
    )
    wrong = halfseen("fit", lawn / "lawn.csv", "--model", EDGES, "-k", 3, code=2)
    assert "--hidden C=3" in wrong.stderr
    wrong = halfseen("fit", lawn / "lawn.csv", "--model", "A -> B", code=1)
    assert "no column of" in wrong.stderr
    wrong = halfseen("predict", lawn / "m.halfseen", lawn / "lawn.csv", code=2)
    assert "one hidden variable" in wrong.stderr


def test_a_model_file_holds_the_network_to_the_last_bit(tmp_path):
    frame, _ = LAWN.sample(200, random_state=1)
    frame = frame.drop(columns="wet").mask(np.random.default_rng(1).random((200, 4)) < 0.2)
    net = hs.BayesNet(EDGES, hidden={"wet": [2, 3]}, prior=0.5, tied=[("rain", "sprinkler")], random_state=0, n_init=2)
    net.fit(frame)
    hs.save(net, tmp_path / "net.halfseen")
    loaded = hs.load(tmp_path / "net.halfseen")
    for name, own in net.params_.items():
        np.testing.assert_array_equal(loaded.params_[name], own)
        np.testing.assert_array_equal(loaded.counts_[name], net.counts_[name])
    assert (loaded.states_, loaded.edges_, loaded.hidden_) == (net.states_, net.edges_, net.hidden_)
    assert (loaded.bic(), loaded.n_parameters_, loaded.trace_) == (net.bic(), net.n_parameters_, net.trace_)
    pd.testing.assert_frame_equal(loaded.impute(frame), net.impute(frame))
    pd.testing.assert_frame_equal(loaded.selection_, net.selection_)
    hs.save(loaded, tmp_path / "again.halfseen")
    assert (tmp_path / "again.halfseen").read_bytes() == (tmp_path / "net.halfseen").read_bytes()
    hs.save(LAWN, tmp_path / "given.halfseen")
    assert hs.load(tmp_path / "given.halfseen").query("wet")["yes"] == LAWN.query("wet")["yes"]


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda state: state.record["model"]["variables"][1]["parents"].append("snow"), "parent 'snow' is no variable"),
        (lambda state: state.record["model"]["variables"][0]["parents"].append("wet"), "circle|shape"),
        (lambda state: state.record["model"]["variables"][0]["states"].append("x"), "shape|states|fit the variable"),
        (lambda state: state.record["model"].update(fixed=["snow"]), "fixed and tied"),
        (lambda state: state.tensors.update({"params/tables": state.tensors["params/tables"] * 2}), "off its sum"),
        (lambda state: state.tensors.pop("params/tables"), "params/tables"),
        (lambda state: state.record["model"].update(variables=[]), "no variables"),
    ],
)
def test_a_state_that_cannot_be_is_refused(change, what, monkeypatch, tmp_path):
    state = LAWN._state()
    state = type(state)(json.loads(json.dumps(state.record, default=list)), dict(state.tensors))
    change(state)
    with pytest.raises(ValueError, match=what):
        hs.BayesNet._from_state(state)
    monkeypatch.setattr(hs.BayesNet, "_state", lambda self: state)
    with pytest.raises(ModelFileError):
        hs.save(LAWN, tmp_path / "wrong.halfseen")


def test_the_report_draws_the_network_and_escapes_names():
    odd = hs.BayesNet.from_params({"<a&b>": [0.5, 0.5], "y": [[0.9, 0.1], [0.2, 0.8]]}, [("<a&b>", "y")])
    frame, _ = odd.sample(50, random_state=0)
    page = hs.report(odd, frame)
    assert "&lt;a&amp;b&gt;" in page
    assert "<a&b>" not in page
    assert "uncertainty removed" in page
    assert hs.report(odd, frame) == page


def test_children_stand_below_their_parents():
    picture = drawn(LAWN._graph, hidden=["wet"])
    assert picture.count("<rect") == 5
    assert picture.count('class="edge"') == 5
    assert picture.count("stroke-dasharray") == 1
    height = {v: depth for depth, layer in enumerate(LAWN._graph.layers()) for v in layer}
    assert all(height[p] < height[v] for v, parents in enumerate(LAWN._graph.parents) for p in parents)


# ---- latent classes as a network ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def votes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("votes")
    frame = hs.load_votes()[["party", "el_salvador_aid", "mx_missile", "crime", "education_spending"]]
    frame.assign(id=range(len(frame))).to_csv(folder / "votes.csv", index=False)
    return folder


OPTIONS = ("--group", "party", "--vary", "crime", "--depend", "crime:mx_missile", "--ml")


def test_class_network_is_that_of_the_library(votes):
    how = ("fit", votes / "votes.csv", "--model", "class-network", "-k", "1..3", *OPTIONS)
    done = halfseen(*how, "-o", votes / "m.halfseen")
    assert "left out: id" in done.stderr
    assert "crime <- class, party" in done.stdout
    assert "preferred by BIC" in done.stdout
    frame = pd.read_csv(votes / "votes.csv").drop(columns="id")
    net = hs.BayesNet.latent_classes(
        [1, 2, 3],
        [name for name in frame if name != "party"],
        group="party",
        vary=["crime"],
        depend=[("crime", "mx_missile")],
        prior=None,
        random_state=0,
    ).fit(frame)
    loaded = hs.load(votes / "m.halfseen")
    assert loaded.loglik_ == net.loglik_
    done = halfseen("predict", votes / "m.halfseen", votes / "votes.csv", "-o", "-")
    assert pd.read_csv(io.StringIO(done.stdout))["class"].tolist() == net.predict(frame).tolist()
    assert "crime" in halfseen("info", votes / "m.halfseen", "--errors", votes / "votes.csv").stdout


def test_the_hidden_variable_gets_a_name_that_no_column_has(votes, tmp_path):
    frame = pd.read_csv(votes / "votes.csv").rename(columns={"crime": "class"})
    frame.to_csv(tmp_path / "t.csv", index=False)
    done = halfseen("fit", tmp_path / "t.csv", "--model", "class-network", "-k", "2", "--json")
    assert json.loads(done.stdout)["hidden"] == ["latent class"]
    done = halfseen("fit", tmp_path / "t.csv", "--model", "class-network", "--hidden", "bloc=2", "--json")
    assert json.loads(done.stdout)["hidden"] == ["bloc"]


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ((), "needs numbers of classes to try: --classes 2"),
        (("-k", "2", "--hidden", "C=2"), "give --classes K, or --hidden NAME=K"),
        (("--hidden", "C=2,D=3"), "has one hidden variable"),
        (("-k", "2", "--group", "county"), "--group county: there is no such column"),
        (("-k", "2", "--vary", "crime"), "--vary crime needs groups in which the items vary: give --group 'column'"),
        (("-k", "2", "--group", "party", "--vary", "tax"), "vary: 'tax' is not one of the items"),
        (("-k", "2", "--depend", "crime"), "--depend 'crime' is not of the form ITEM:ITEM"),
        (("-k", "2", "--depend", "crime:tax"), "depend: 'tax' is not one of the items"),
        (("-k", "2", "--target", "party"), "--target cannot be used"),
    ],
)
def test_options_of_a_class_network_that_cannot_be_honoured(votes, how, message):
    done = halfseen("fit", votes / "votes.csv", "--model", "class-network", *how, code=2)
    assert message in done.stderr


def test_options_of_a_class_network_are_refused_for_others(votes):
    for flag, value in (("--vary", "crime"), ("--depend", "crime:mx_missile")):
        done = halfseen("fit", votes / "votes.csv", flag, value, code=2)
        assert "add --model class-network" in done.stderr
    done = halfseen("fit", votes / "votes.csv", "--model", "A -> B", "-k", "3", code=2)
    assert "--hidden C=3, or use --model class-network" in done.stderr


def test_states_in_a_given_order(tmp_path):
    rows = ["size,weight", *["low,a", "high,b", "mid,a", "mid,b", "low,a", "high,b"] * 4]
    (tmp_path / "rows.csv").write_text("\n".join(rows))
    model = tmp_path / "net.halfseen"
    fit = ("fit", tmp_path / "rows.csv", "--model", "size -> weight", "-o", model)
    run(*fit)
    assert hs.load(model).states_["size"] == ("high", "low", "mid")
    run(*fit, "--order", "size=low/mid/high")
    assert hs.load(model).states_["size"] == ("low", "mid", "high")
    shown = run("query", model, "size").stdout
    assert shown.index("low") < shown.index("mid") < shown.index("high")
    assert "--order 'size' is not of the form" in run(*fit, "--order", "size", code=2).stderr
    assert "high" in run(*fit, "--order", "size=low/mid", code=1).stderr
