"""Sequences at the command line: files of steps in, answers in the order of their rows out, mistakes explained."""

import io
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import halfseen as hs
from tests.app.test_command_line import halfseen, killed, table
from tests.shared_data import shared_data

pytestmark = pytest.mark.thorough
COLUMNS = {
    "heat": {"mean": [60, 35, 80], "sd": [4, 3, 5]},
    "sound": {"hum": [0.8, 0.1, 0.1], "quiet": [0.15, 0.9, 0.0], "rattle": [0.05, 0, 0.9]},
    "faults": {"rate": [1.0, 0.2, 6.0]},
}
PUMP = hs.HMM.from_params([0.6, 0.4, 0], [[0.9, 0.06, 0.04], [0.08, 0.92, 0], [0.1, 0, 0.9]], COLUMNS)
FIT = ("--model", "hmm", "--group", "pump", "--time", "hour", "--ignore", "truth", "--prior", "1.0", "--restarts", 2)


@pytest.fixture(scope="module")
def pumps(tmp_path_factory):
    """A model of three states, and the file of shuffled steps that it was made from."""
    folder = tmp_path_factory.mktemp("pumps")
    X, states = PUMP.sample(lengths=[50] * 4, random_state=1)
    frame = pd.DataFrame(X, columns=list(COLUMNS)).astype({"heat": float, "faults": int}).round({"heat": 2})
    frame = frame.mask(np.random.default_rng(0).random(frame.shape) < 0.1).astype({"faults": "Int64"})
    frame["pump"], frame["hour"] = np.repeat(["A", "B", "C", "D"], 50), np.tile(np.arange(50), 4)
    frame["truth"] = np.array(["run", "idle", "labour"])[states]
    frame.sample(frac=1, random_state=0).to_csv(folder / "pumps.csv", index=False)
    halfseen("fit", folder / "pumps.csv", *FIT, "-k", 3, "-o", folder / "pumps.halfseen")
    return folder / "pumps.halfseen", folder / "pumps.csv"


def test_fit_is_the_fit_of_the_library(pumps):
    frame = pd.read_csv(pumps[1]).drop(columns="truth")
    model = hs.HMM(3, "auto", prior=1.0, n_init=2, random_state=0).fit(frame, groups="pump", time="hour")
    loaded = hs.load(pumps[0])
    assert loaded.loglik_ == model.loglik_
    np.testing.assert_array_equal(loaded.transmat_, model.transmat_)
    assert loaded._origin.reading["group"] == "pump"


def test_ml_is_the_fit_without_a_prior(pumps, tmp_path):
    how = [word for word in FIT if word not in ("--prior", "1.0")]
    done = json.loads(halfseen("fit", pumps[1], *how, "-k", 3, "--ml", "--json", "-o", tmp_path / "m.halfseen").stdout)
    assert done["estimate"] == "maximum likelihood"
    assert hs.load(tmp_path / "m.halfseen").prior is None
    assert done["loglik"] > hs.load(pumps[0]).loglik_
    assert "leave out --prior 1.0, or --ml" in halfseen("fit", pumps[1], *FIT, "-k", 3, "--ml", code=2).stderr


@pytest.mark.usefixtures("pictures_unwritten")
def test_fit_says_what_it_found(pumps, tmp_path):
    shown = halfseen("fit", pumps[1], *FIT, "-k", "2..3", "--report", tmp_path / "r.html")
    assert "<- preferred by BIC" in shown.stdout
    assert "of steps, " in shown.stdout
    assert "states" in shown.stdout.splitlines()[0]
    assert "heat" in shown.stderr
    assert "<h1>Hidden states: " in (tmp_path / "r.html").read_text(encoding="utf-8")
    found = json.loads(halfseen("fit", pumps[1], *FIT, "-k", 2, "--transitions", "left-right", "--json").stdout)
    assert found["transmat"][1] == [0.0, 1.0]
    assert list(found["dwell"].values())[1] is None  # never left
    assert found["columns"] == {"heat": "gaussian", "sound": "categorical", "faults": "categorical"}


def test_kinds_and_shapes_reach_the_model(pumps, tmp_path):
    out = tmp_path / "m.halfseen"
    more = ("--columns", "faults=poisson", "--min-dwell", 2, "--covariance", "diag", "--assign", "hard")
    halfseen("fit", pumps[1], *FIT, *more, "-k", 2, "-o", out)
    model = hs.load(out)
    assert model.columns_["faults"] == "poisson"
    assert (model.min_dwell, model.assign, model.covariance_type) == (2, "hard", "diag")
    halfseen("fit", pumps[1], *FIT, "--emission", "gaussian", "--ignore", "truth,sound", "-k", 1, "-o", out)
    assert set(hs.load(out).columns_.values()) == {"gaussian"}


def test_without_group_and_time_a_file_is_one_sequence(tmp_path):
    X, _ = PUMP.sample(40, random_state=2)
    data = tmp_path / "x.csv"
    pd.DataFrame(X, columns=list(COLUMNS)).assign(n=np.arange(40)).to_csv(data, index=False)
    done = halfseen(
        "fit", data, "--model", "hmm", "-k", 2, "--prior", 1, "--restarts", 2, "-o", tmp_path / "m.halfseen"
    )
    assert "left out: n (counts the rows)" in done.stderr
    assert json.loads(halfseen("score", tmp_path / "m.halfseen", data, "--json").stdout)["sequences"] == 1
    rows = table(halfseen("sample", tmp_path / "m.halfseen", "-n", 3).stdout)
    assert [row["step"] for row in rows] == ["0", "1", "2"]
    assert list(table(halfseen("forecast", tmp_path / "m.halfseen", data).stdout)[0])[:2] == ["sequence", "steps_ahead"]


# ---- steps in, answers out -------------------------------------------------------------------------------------------


def test_predict_keeps_rows_and_columns(pumps):
    rows = table(halfseen("predict", *pumps, "--path").stdout)
    original = table(Path(pumps[1]).read_text(encoding="utf-8"))
    model, frame = hs.load(pumps[0]), pd.read_csv(pumps[1]).drop(columns="truth")
    assert [(row["pump"], row["hour"], row["truth"]) for row in rows] == [
        (row["pump"], row["hour"], row["truth"]) for row in original
    ]
    names = [f"p_{name}" for name in model.state_names_]
    assert list(rows[0])[len(original[0]) :] == ["state", *names, "certainty", "path"]
    proba = np.array([[float(row[name]) for name in names] for row in rows])
    np.testing.assert_allclose(proba, model.predict_proba(frame), atol=0.51e-9)  # nine decimals in text
    assert [row["path"] for row in rows] == [model.state_names_[k] for k in model.predict(frame)]
    assert [row["state"] for row in rows] == [model.state_names_[k] for k in proba.argmax(axis=1)]
    assert "path" not in table(halfseen("predict", *pumps).stdout)[0]
    assert "Example" in halfseen("forecast", "--help").stdout


def test_predict_with_costs(pumps, tmp_path):
    costs = tmp_path / "costs.csv"
    costs.write_text("decision,state 0,state 1,state 2\ngo,0,0,9\nstop,1,1,0\n")
    rows = table(halfseen("predict", *pumps, "--cost", costs).stdout)
    assert {row["decision"] for row in rows} == {"go", "stop"}


def test_impute_fills_holes_only(pumps):
    filled = pd.read_csv(io.StringIO(halfseen("impute", *pumps).stdout))
    original = pd.read_csv(pumps[1])
    assert list(filled.columns) == list(original.columns)
    assert not filled.isna().any().any()
    pd.testing.assert_frame_equal(filled.where(original.notna()), original, check_dtype=False)
    drawn = table(halfseen("impute", *pumps, "--draws", 2, "--seed", 1).stdout)
    assert [row["draw"] for row in drawn] == ["1"] * 200 + ["2"] * 200
    assert drawn == table(halfseen("impute", *pumps, "--draws", 2, "--seed", 1).stdout)
    assert [row["heat"] for row in drawn[:200]] != [row["heat"] for row in drawn[200:]]


def test_impute_check(pumps):
    shown = halfseen("impute", *pumps, "--check").stdout
    assert "by mean or mode" in shown
    assert "heat" in shown


def test_score_in_all_and_one_by_one(pumps):
    found = json.loads(halfseen("score", *pumps, "--json").stdout)
    model = hs.load(pumps[0])
    assert found["loglik"] == pytest.approx(model.loglik_, rel=1e-12)
    assert found["bic"] == pytest.approx(model.bic(), rel=1e-12)
    assert found["steps"] == 200
    assert {one["sequence"] for one in found["each"]} == {"A", "B", "C", "D"}
    assert sum(one["loglik"] for one in found["each"]) == pytest.approx(found["loglik"])
    shown = halfseen("score", *pumps).stdout.splitlines()
    worst = min(found["each"], key=lambda one: one["loglik_per_step"])
    assert shown[shown.index("") + 2].startswith(worst["sequence"])


def test_sample_has_group_and_time(pumps):
    rows = table(halfseen("sample", pumps[0], "-n", 5, "--sequences", 3, "--seed", 3).stdout)
    assert list(rows[0]) == ["pump", "hour", *COLUMNS, "drawn_state"]
    assert [(row["pump"], row["hour"]) for row in rows[4:7]] == [("0", "4"), ("1", "0"), ("1", "1")]
    assert len(rows) == 15


def test_forecast(pumps, tmp_path):
    halfseen("forecast", *pumps, "--steps", 2, "-o", tmp_path / "next.csv")
    rows = table((tmp_path / "next.csv").read_text())
    model, frame = hs.load(pumps[0]), pd.read_csv(pumps[1]).drop(columns="truth")
    ahead = model.forecast(frame, 2)
    assert [(row["pump"], row["steps_ahead"]) for row in rows[:3]] == [
        (rows[0]["pump"], "1"),
        (rows[0]["pump"], "2"),
        (rows[2]["pump"], "1"),
    ]
    assert {row["pump"] for row in rows} == set("ABCD")
    assert [float(row["heat mean"]) for row in rows] == pytest.approx(ahead.observations["heat"]["mean"].ravel())
    assert [float(row["p_state 1"]) for row in rows] == pytest.approx(ahead.states[:, :, 1].ravel())


def test_compare(pumps, tmp_path):
    found = json.loads(halfseen("compare", *pumps, "--truth", "truth", "--json").stdout)
    assert np.sum(found["counts"]) == 200
    assert found["majority"] > 0.95
    assert "One state for each truth: " in halfseen("compare", *pumps, "--truth", "truth").stdout
    assert "no changes: the states are the same" in halfseen("compare", pumps[0], pumps[0]).stdout
    other = tmp_path / "o.halfseen"
    halfseen("fit", pumps[1], *FIT, "-k", 3, "--seed", 1, "--max-iter", 2, "-o", other)
    assert "(next)" in halfseen("compare", pumps[0], other).stdout


@pytest.mark.usefixtures("pictures_unwritten")
def test_report_and_info(pumps, tmp_path):
    halfseen("report", *pumps, "-o", tmp_path / "r.html")
    assert "Transition probabilities" in (tmp_path / "r.html").read_text(encoding="utf-8")
    shown = halfseen("info", pumps[0]).stdout
    assert "sequences by     pump" in shown
    assert "in the order of  hour" in shown
    code, namespace = halfseen("info", pumps[0], "--code").stdout, {}
    exec(compile(code, "info --code", "exec"), namespace)
    np.testing.assert_array_equal(namespace["model"].transmat_, hs.load(pumps[0]).transmat_)


@pytest.mark.usefixtures("pictures_unwritten")
def test_numbers_and_dates_as_group_and_time(tmp_path):
    data = tmp_path / "x.csv"
    days = pd.date_range("2026-01-01", periods=20).astype(str)
    frame = pd.DataFrame({"id": np.repeat([7, 8], 20), "day": [*days, *days], "x": np.tile([0.5, 5.5, 0.1, 5.2], 10)})
    frame.to_csv(data, index=False)
    out = tmp_path / "m.halfseen"
    halfseen("fit", data, "--model", "hmm", "--group", "id", "--time", "day", "-k", 2, "--restarts", 2, "-o", out)
    assert [row["id"] for row in table(halfseen("forecast", out, data).stdout)] == ["7", "8"]
    halfseen("report", out, data, "-o", tmp_path / "r.html")
    pd.concat([frame, frame.tail(1)]).to_csv(data, index=False)
    assert "rows 39 and 40 of sequence 8 are both at 2026-01-20" in halfseen("predict", out, data, code=1).stderr


def test_a_model_made_in_python(tmp_path):
    """It has no reading: the columns of group and time are those of the fit."""
    frame = pd.DataFrame({"who": ["a"] * 6 + ["b"] * 6, "x": [0.1, 0.2, 5.1, 5.2, 0.0, 5.0] * 2})
    hs.save(hs.HMM(2, random_state=0, n_init=2, prior=1.0).fit(frame, groups="who"), tmp_path / "m.halfseen")
    frame.to_csv(tmp_path / "x.csv", index=False)
    score = json.loads(halfseen("score", tmp_path / "m.halfseen", tmp_path / "x.csv", "--json").stdout)
    assert score["sequences"] == 2


# ---- mistakes --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--group", "pum"], 1, ["--group pum", "pumps.csv", "pump, hour"]),
        (["--time", "pump"], 2, ["--group and --time", "pump"]),
        (["--target", "truth"], 2, ["--target", "labels="]),
        (["--weight", "hour"], 2, ["--weight", "sample_weight="]),
        (["--memory", "much"], 2, ["--memory"]),
        (["--emission", "normal"], 2, ["normal", "gaussian"]),
        (["--transitions", "circle"], 2, ["circle", "left-right"]),
        (["--covariance", "round"], 2, ["round"]),
        (["--min-dwell", "0"], 2, ["--min-dwell"]),
    ],
)
def test_bad_options_are_explained(pumps, arguments, code, words):
    done = halfseen("fit", pumps[1], *FIT, "-k", 2, *arguments, code=code)
    assert all(word in done.stderr for word in words), done.stderr


def test_options_of_other_models_are_refused(pumps, tmp_path):
    for option, value in (("--emission", "auto"), ("--min-dwell", 2)):
        said = halfseen("fit", "example:votes", option, value, code=2).stderr
        assert f"{option} is an option of hidden Markov models: add --model hmm." in said
    said = halfseen("fit", "example:votes", "--model", "kmeans", "--group", "x", code=2).stderr
    assert "--group is an option of hidden Markov models, transcripts and latent classes with groups" in said
    assert "use --model hmm or --model transcript or --model class-network" in said
    assert "--why" in halfseen("predict", *pumps, "--why", code=2).stderr
    assert "--cost" in halfseen("report", *pumps, "--cost", "c.csv", "-o", tmp_path / "r.html", code=2).stderr
    assert "--weight" in halfseen("score", *pumps, "--weight", "hour", code=2).stderr
    votes = tmp_path / "v.halfseen"
    halfseen("fit", "example:votes", "-k", 2, "--restarts", 1, "-o", votes)
    assert (
        "--path cannot be used with a LatentClass model"
        in halfseen("predict", votes, "example:votes", "--path", code=2).stderr
    )
    assert "--sequences cannot be used" in halfseen("sample", votes, "--sequences", 2, code=2).stderr
    assert "forecast cannot be used" in halfseen("forecast", votes, "example:votes", code=2).stderr


def test_what_is_wrong_is_named(pumps, tmp_path):
    data = tmp_path / "bad.csv"
    frame = pd.read_csv(pumps[1])
    frame.drop(columns="pump").to_csv(data, index=False)
    assert "--group pump" in halfseen("predict", pumps[0], data, code=1).stderr
    frame.drop(columns="heat").to_csv(data, index=False)
    assert "heat" in halfseen("predict", pumps[0], data, code=1).stderr
    frame.assign(hour=frame["hour"].where(frame.index != 5)).to_csv(data, index=False)
    done = halfseen("fit", data, *FIT, "-k", 2, code=1)
    assert "bad.csv: time: row 5 is missing" in done.stderr
    frame[["pump", "hour"]].to_csv(data, index=False)
    assert "bad.csv has no column left to fit to" in halfseen("fit", data, *FIT[:6], "-k", 2, code=1).stderr
    frame.assign(hour=1).to_csv(data, index=False)
    assert "are both at 1" in halfseen("fit", data, *FIT, "-k", 2, code=1).stderr


def test_an_impossible_step_is_named(tmp_path):
    model = hs.HMM.from_params([1, 0], [[0.5, 0.5], [0, 1]], {"x": {"a": [1, 0], "b": [0, 1]}})
    model._marks = ("who", "day")
    hs.save(model, tmp_path / "m.halfseen")
    data = tmp_path / "x.csv"
    data.write_text("who,day,x\nann,1,a\nann,2,b\nbob,1,a\nbob,4,b\nbob,9,a\n")
    for verb in ("predict", "score", "impute", "forecast"):
        error = halfseen(verb, tmp_path / "m.halfseen", data, code=1).stderr
        assert "x.csv: sequence 1 ('bob') is impossible" in error, verb
        assert "step 2 (9)" in error, verb


# ---- interruption ----------------------------------------------------------------------------------------------------


def test_killed_and_resumed_to_the_identical_model(tmp_path):
    X, _ = PUMP.sample(lengths=[500] * 2, random_state=1)
    frame = pd.DataFrame(X, columns=list(COLUMNS)).assign(pump=np.repeat(["A", "B"], 500), hour=np.arange(1000))
    frame.to_csv(tmp_path / "long.csv", index=False)
    whole, broken = tmp_path / "whole.halfseen", tmp_path / "broken.halfseen"
    passes = ("--assign", "sample", "--max-iter", 30)
    command = ["fit", tmp_path / "long.csv", *FIT[:6], "--restarts", 2, "-k", 3, "--prior", 1, "--jobs", 1, *passes]
    killed(20, *command, "-o", broken)
    checkpoint = Path(f"{broken}.checkpoint")
    assert checkpoint.exists()
    assert not broken.exists()
    assert "--resume" in halfseen(*command, "-o", broken, code=2).stderr
    halfseen(*command, "-o", broken, "--resume")
    halfseen(*command, "-o", whole)
    assert not checkpoint.exists()
    one, two = hs.load(whole), hs.load(broken)
    assert one.trace_ == two.trace_
    np.testing.assert_array_equal(one.transmat_, two.transmat_)


# ---- real tables -----------------------------------------------------------------------------------------------------


def test_earthquakes(tmp_path):
    """Poisson chains with a free first step, by EM: log-likelihoods and rates as published."""
    path = shared_data("earthquakes/earthquakes.csv")
    found = [
        json.loads(
            halfseen(
                *("fit", path, "--model", "hmm", "--time", "year", "--emission", "poisson"),
                *("-k", k, "--json"),
            ).stdout
        )["loglik"]
        for k in (2, 3)
    ]
    assert found == pytest.approx([-341.8787, -328.5275], abs=2e-4)


def test_sequences_larger_than_memory_are_fitted_with_the_same_bits(tmp_path):
    rng = np.random.default_rng(0)
    steps = pd.DataFrame({"who": rng.integers(0, 40, 4000), "when": rng.permutation(4000), "x": rng.normal(size=4000)})
    steps.to_csv(tmp_path / "steps.csv", index=False)
    options = ["--model", "hmm", "-k", 2, "--group", "who", "--time", "when", "--restarts", 2, "--max-iter", 5]
    found = []
    for memory in ("1GB", "20kB"):
        halfseen("fit", tmp_path / "steps.csv", *options, "--memory", memory, "-o", tmp_path / "m.halfseen")
        found.append(hs.load(tmp_path / "m.halfseen").loglik_)
    assert found[0] == found[1]
