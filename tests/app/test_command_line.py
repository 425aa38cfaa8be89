"""The command line from end to end: files in, answers out, mistakes explained, nothing half-written."""

import contextlib
import csv
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import halfseen as hs
from halfseen.app import signals
from halfseen.app.cli import app
from halfseen.datasets import path_of
from halfseen.engine.services.interrupt import deferred_interrupt

ROOT = Path(__file__).parents[2]
SCRIPT = Path(sys.executable).with_name("halfseen")
COMMAND = [str(SCRIPT)] if SCRIPT.exists() else [sys.executable, "-m", "halfseen"]


def shell(*arguments, code=0, stdin=None, cwd=None):
    """Run the installed command in a process of its own."""
    done = subprocess.run([*COMMAND, *map(str, arguments)], capture_output=True, text=True, input=stdin, cwd=cwd)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return done


def halfseen(*arguments, code=0, stdin=None):
    """Run the command in this process: quicker."""
    done = CliRunner().invoke(app, list(map(str, arguments)), input=stdin, catch_exceptions=False)
    assert done.exit_code == code, done.output
    return done


def table(text):
    return list(csv.DictReader(io.StringIO(text)))


@pytest.fixture(scope="module")
def votes(tmp_path_factory):
    """A model of the votes in three classes, and the file it was made from."""
    folder = tmp_path_factory.mktemp("votes")
    data = folder / "votes.csv"
    shutil.copy(path_of("votes"), data)
    halfseen("fit", data, "--ignore", "party", "-k", 3, "-o", folder / "votes.halfseen")
    return folder / "votes.halfseen", data


@pytest.fixture(scope="module")
def parties(tmp_path_factory):
    """A classifier of the party."""
    folder = tmp_path_factory.mktemp("parties")
    halfseen("fit", "example:votes", "--target", "party", "-o", folder / "party.halfseen")
    return folder / "party.halfseen", path_of("votes")


# ---- fit -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "posterior mode"),
        (["--ml"], "maximum likelihood"),
        (["--ml", "--assign", "hard"], "hard assignment"),
        (["--assign", "sample", "--max-iter", "20"], "sampled assignment"),
    ],
)
def test_a_fit_names_its_estimate_and_the_n_of_bic(options, said):
    done = halfseen("fit", "example:votes", "--ignore", "party", "-k", 2, *options)
    assert f"({said}), BIC " in done.stderr
    assert "(N = 434)" in done.stderr  # of 435 members one never voted
    assert json.loads(halfseen("fit", "example:votes", "-k", 2, "--json", *options).stdout)["estimate"] == said


def test_ml_is_refused_where_there_are_no_probabilities():
    done = halfseen("fit", "example:penguins", "--model", "kmeans", "-k", 3, "--ml", code=2)
    assert "--ml cannot be used with --model kmeans: it has no probabilities" in done.stderr


@pytest.mark.parametrize(("weight", "shown"), [("2000000", "12,000,000"), ("0.25", "1.50")])
def test_the_n_of_bic_is_shown_in_full(tmp_path, weight, shown):
    cells = [f"{value},{weight}" for value in "aababb"]
    (tmp_path / "few.csv").write_text("\n".join(["v,w", *cells]) + "\n")
    model = tmp_path / "m.halfseen"
    assert f"(N = {shown})" in halfseen("fit", tmp_path / "few.csv", "--weight", "w", "-k", 1, "-o", model).stderr
    assert re.search(rf"\nN +{shown}\n", halfseen("info", model).stdout)  # six rows, so not "rows"


def test_rows_without_any_value_do_not_count(tmp_path):
    rows = ["a,1.5", "a,2.25", "b,", "a,0.5", "b,7.1", "b,6.3", "a,7.7", "b,"]
    few, more = tmp_path / "few.csv", tmp_path / "more.csv"
    few.write_text("\n".join(["v,w", *rows]) + "\n")
    more.write_text("\n".join(["v,w", *[","] * 20, *rows]) + "\n")
    model = tmp_path / "m.halfseen"
    done = halfseen("fit", more, "-k", 2, "-o", model)
    assert "(N = 8)" in done.stderr
    assert "note: 20 rows have no observed cell: they carry no information, and N does not count them" in done.stderr
    short, long = (json.loads(halfseen("score", model, path, "--json").stdout) for path in (few, more))
    assert (short["rows"], long["rows"], short["n"], long["n"]) == (8, 28, 8, 8)
    assert long["bic"] == pytest.approx(short["bic"])
    assert "N of BIC        8\n" in halfseen("score", model, more).stdout


def test_a_panel_has_bic_by_steps_and_by_sequences(tmp_path):
    panel, model = tmp_path / "panel.csv", tmp_path / "m.halfseen"
    steps = [f"{who},{(who + step) % 3 > 0:d}" for who in range(5) for step in range(4)]
    panel.write_text("\n".join(["who,well", *steps]) + "\n")
    done = halfseen("fit", panel, "--model", "hmm", "--group", "who", "-k", 1, "-o", model)
    found = re.search(r"BIC (.*) \(N = 20 steps\), (.*) \(N = 5 sequences\);", done.stderr)
    assert float(found[1]) - float(found[2]) == pytest.approx(np.log(4), abs=0.11)
    assert f"{found[1]} (N = 20 steps), {found[2]} (N = 5 sequences)\n" in halfseen("info", model).stdout
    scores = json.loads(halfseen("score", model, panel, "--json").stdout)
    assert (scores["n"], scores["n_sequences"]) == (20, 5)
    assert scores["bic"] - scores["bic_sequences"] == pytest.approx(np.log(4))


def test_sizes_are_compared_by_the_criterion_asked_for_with_the_starts_that_agree():
    done = halfseen("fit", "example:votes", "--ignore", "party", "-k", "1..2", "--criterion", "icl")
    head, *rows = done.stdout.splitlines()[:3]
    assert head.split()[2:5] == ["BIC", "ICL", "entropy"]
    assert rows[1].endswith("<- preferred by ICL")
    assert [row.split("  ")[-2 if "preferred" in row else -1].strip() for row in rows] == ["1 of 1", "16 of 16"]


def test_fit_as_installed(tmp_path):
    done = shell("fit", "example:penguins", "--ignore", "species,year", "-k", "1..4", "-o", tmp_path / "p.halfseen")
    assert "class 3 (" in done.stdout
    assert "<- preferred by BIC" in done.stdout
    assert "body_mass_g" in done.stderr  # the kinds of the columns
    model = hs.load(tmp_path / "p.halfseen")
    assert model.n_components_ == 4
    assert sorted(path.name for path in tmp_path.iterdir()) == ["p.halfseen"]  # no checkpoint left


@pytest.mark.thorough
def test_fit_is_the_fit_of_the_library(votes):
    import pandas as pd

    model = hs.LatentClass(3, random_state=0).fit(pd.read_csv(votes[1]).drop(columns="party"))
    loaded = hs.load(votes[0])
    np.testing.assert_array_equal(loaded.weights_, model.weights_)
    assert loaded.loglik_ == model.loglik_


@pytest.mark.thorough
@pytest.mark.parametrize("suffix", [".tsv", ".parquet", ".jsonl", ".sqlite", ".duckdb"])
def test_every_format_gives_the_same_model(votes, tmp_path, suffix):
    import duckdb
    import pandas as pd

    path = tmp_path / f"votes{suffix}"
    frame = pd.read_csv(votes[1])
    more = []
    if suffix == ".tsv":
        frame.to_csv(path, sep="\t", index=False)
    elif suffix == ".parquet":
        frame.to_parquet(path)
    elif suffix == ".jsonl":
        frame.to_json(path, orient="records", lines=True)
    elif suffix == ".sqlite":
        import sqlite3

        with sqlite3.connect(path) as connection:
            frame.to_sql("votes", connection, index=False)
        connection.close()
        more = ["--sql", "SELECT * FROM votes"]
    else:
        with duckdb.connect(str(path)) as connection:
            connection.execute("CREATE TABLE votes AS SELECT * FROM frame")
        more = ["--sql", "votes"]
    halfseen("fit", path, *more, "--ignore", "party", "-k", 3, "-o", tmp_path / "m.halfseen")
    np.testing.assert_array_equal(hs.load(tmp_path / "m.halfseen").weights_, hs.load(votes[0]).weights_)


def test_fit_from_a_query_alone(votes, tmp_path):
    query = f"SELECT * EXCLUDE (party) FROM '{votes[1]}'"
    halfseen("fit", "--sql", query, "-k", 3, "-o", tmp_path / "m.halfseen")
    np.testing.assert_array_equal(hs.load(tmp_path / "m.halfseen").weights_, hs.load(votes[0]).weights_)


def test_fit_from_standard_input(votes):
    done = halfseen(
        "fit", "-", "--ignore", "party", "-k", 3, "--json", stdin=Path(votes[1]).read_text(encoding="utf-8")
    )
    found = json.loads(done.stdout)
    assert found["loglik"] == hs.load(votes[0]).loglik_
    assert len(found["classes"]) == 3


@pytest.mark.thorough
def test_a_table_kept_in_files_gives_the_same_model(votes, tmp_path):
    halfseen("fit", votes[1], "--ignore", "party", "-k", 3, "--memory", "1kB", "-o", tmp_path / "m.halfseen")
    np.testing.assert_array_equal(hs.load(tmp_path / "m.halfseen").weights_, hs.load(votes[0]).weights_)
    assert "memory" in halfseen("fit", votes[1], "-k", 3, "--memory", "much", code=2).stderr


def test_missing_markers_kinds_and_weights(tmp_path):
    data = tmp_path / "x.csv"
    rows = [
        f"{i},{'?' if i % 5 == 0 else 'ab'[i % 2]},{-99 if i % 7 == 0 else i % 2 * 5 + i % 3},{i % 4}"
        for i in range(60)
    ]
    data.write_text("id,letter,visits,n\n" + "\n".join(rows) + "\n")
    done = halfseen(
        *("fit", data, "-k", 2, "--missing", "?,-99", "--columns", "visits=poisson", "--weight", "n"),
        *("--json", "--restarts", 4),
    )
    found = json.loads(done.stdout)
    assert found["columns"] == {"letter": "categorical", "visits": "poisson"}
    assert "id" in done.stderr
    assert "left out" in done.stderr


def test_a_target_makes_a_classifier(parties):
    model = hs.load(parties[0])
    assert isinstance(model, hs.NaiveBayes)
    assert model.classes_.tolist() == ["democrat", "republican"]


@pytest.mark.thorough
def test_a_gaussian_mixture_and_its_classifier(tmp_path):
    birds = ("fit", "example:penguins", "--model", "gaussian", "--restarts", 4)
    left_out = "--ignore", "year,island,sex"
    mixture, classifier = tmp_path / "m.halfseen", tmp_path / "c.halfseen"
    shown = halfseen(
        *birds, "--ignore", "species,year,island,sex", "-k", "2..3", "--covariance", "full,tied", "-o", mixture
    )
    assert "tied" in shown.stdout
    assert hs.load(mixture).covariance_type_ in ("full", "tied")
    halfseen(*birds, *left_out, "--target", "species", "-o", classifier, "--report", tmp_path / "r.html")
    assert json.loads(halfseen("score", classifier, "example:penguins", "--json").stdout)["accuracy"] > 0.98
    filled = table(halfseen("impute", mixture, "example:penguins").stdout)
    assert all(row["bill_length_mm"] for row in filled)
    assert "species" in halfseen(*birds, "-k", 2, code=1).stderr  # not a number
    assert "--model gaussian" in halfseen("fit", "example:votes", "--covariance", "full", code=2).stderr
    assert "only Python takes" in halfseen(*birds, "-k", "2", "--covariance", "fixed", code=2).stderr


# ---- k-means -------------------------------------------------------------------------------------------------------

BIRDS = ("fit", "example:penguins", "--model", "kmeans")
NUMBERS = ("--ignore", "species,island,sex,year")


@pytest.fixture(scope="module")
def centres(tmp_path_factory):
    """A model of the penguins by k-means, and what the fit printed."""
    path = tmp_path_factory.mktemp("centres") / "k.halfseen"
    return path, halfseen(*BIRDS, *NUMBERS, "-k", 3, "-o", path, "--report", path.with_suffix(".html"))


def test_k_means(centres):
    model = hs.load(centres[0])
    X = hs.load_penguins().select_dtypes("number").drop(columns="year")
    same = hs.KMeans(3, random_state=0).fit(X)
    np.testing.assert_array_equal(model.cluster_centers_, same.cluster_centers_)
    assert (model.n_init, model.max_iter) == (4, 300)  # its own defaults
    assert "cluster 2 (20%): body_mass_g 5,450" in centres[1].stdout
    assert "body_mass_g accounts for over 99% of all distances" in centres[1].stderr
    assert "iterations (assignments unchanged)" in centres[1].stderr
    assert "<h1>Clusters: " in centres[0].with_suffix(".html").read_text(encoding="utf-8")
    assert sorted(path.name for path in centres[0].parent.iterdir()) == ["k.halfseen", "k.html"]


def test_k_means_options(tmp_path):
    data = tmp_path / "x.csv"
    data.write_text("id,x,n\n" + "".join(f"row{i},{i % 3 * 10 + i / 100},{i % 4}\n" for i in range(60)))
    more = "--restarts", 1, "--max-iter", 7, "--seed", 5, "--jobs", 2, "--weight", "n"
    halfseen("fit", data, "--model", "kmeans", "-k", 3, *more, "-o", tmp_path / "k.halfseen")
    model = hs.load(tmp_path / "k.halfseen")
    assert (model.n_init, model.max_iter, model.random_state, model.n_jobs) == (1, 7, 5, 2)
    assert model._schema.names == ("x",)
    assert model.cluster_sizes_.sum() == 15 * (0 + 1 + 2 + 3)
    found = json.loads(halfseen("score", tmp_path / "k.halfseen", data, "--json").stdout)
    assert found["rows"] == 90
    assert found["inertia"] == pytest.approx(model.inertia_)


def test_k_means_predicts_and_fills(centres):
    rows = table(halfseen("predict", centres[0], "example:penguins").stdout)
    model = hs.load(centres[0])
    X = hs.load_penguins()[list(model.feature_names_in_)]
    assert [int(row["cluster"]) for row in rows] == model.predict(X).tolist()
    distances = np.sort(model.transform(X), axis=1)
    np.testing.assert_allclose([float(row["distance"]) for row in rows], distances[:, 0])
    np.testing.assert_allclose([float(row["second_distance"]) for row in rows], distances[:, 1])
    filled = table(halfseen("impute", centres[0], "example:penguins").stdout)
    assert all(row["body_mass_g"] for row in filled)
    assert "fitted again without them" in " ".join(
        halfseen("impute", centres[0], "example:penguins", "--check").stdout.split()
    )


@pytest.mark.thorough
def test_k_means_is_shown_and_compared(centres, tmp_path):
    shown = halfseen("info", centres[0]).stdout
    assert "clusters     3" in shown
    assert "inertia" in shown
    assert "centre" in halfseen("info", centres[0], "--parameters").stdout
    code = halfseen("info", centres[0], "--code").stdout
    namespace = {}
    exec(code, namespace)
    assert namespace["model"].trace_ == hs.load(centres[0]).trace_
    other = tmp_path / "o.halfseen"
    halfseen(*BIRDS, *NUMBERS, "-k", 2, "-o", other)
    assert f"only in {centres[0]}: cluster 1" in halfseen("compare", centres[0], other).stdout
    assert "no changes: the clusters are the same" in halfseen("compare", other, other).stdout
    shown = halfseen("compare", centres[0], "example:penguins", "--truth", "species").stdout
    assert "have the most frequent species of their cluster" in shown
    found = json.loads(halfseen("compare", centres[0], "example:penguins", "--truth", "species", "--json").stdout)
    assert found["classes"] == ["cluster 0", "cluster 1", "cluster 2"]
    halfseen("report", other, "example:penguins", "-o", tmp_path / "r.html")
    assert "fall into 2 clusters" in (tmp_path / "r.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], ["--classes auto", "one number", "--model gaussian"]),
        (["-k", "2..4"], ["--classes 2..4", "one number"]),
        (["-k", "3", "--covariance", "full"], ["--covariance", "no covariances"]),
        (["-k", "3", "--prior", "none"], ["--prior"]),
        (["-k", "3", "--criterion", "bic"], ["--criterion"]),
        (["-k", "3", "--assign", "soft"], ["--assign", "nearest"]),
        (["-k", "3", "--target", "species"], ["--target"]),
        (["-k", "3", "--columns", "year=gaussian"], ["--columns", "numbers"]),
        (["-k", "3", "--resume", "-o", "k.halfseen"], ["--resume", "no checkpoint"]),
        (["-k", "3", "-o", "no/such/folder/k.halfseen"], ["no/such/folder"]),
        (["-k", "400"], ["--classes 400"]),
    ],
)
def test_what_has_no_meaning_for_k_means_is_refused(arguments, words):
    done = halfseen(*BIRDS, *NUMBERS, *arguments, code=2)
    assert all(word in done.stderr for word in words), done.stderr


def test_uses_without_meaning_for_k_means_are_refused(centres, votes):
    for arguments in (
        ["sample", centres[0]],
        ["predict", centres[0], "example:penguins", "--why"],
        ["predict", centres[0], "example:penguins", "--reject", "0.1"],
        ["impute", centres[0], "example:penguins", "--draws", "2"],
        ["report", centres[0], "example:penguins", "--cost", "costs.csv"],
    ):
        assert "cannot be used with a KMeans model" in halfseen(*arguments, code=2).stderr
    assert (
        "a KMeans and a LatentClass have no classes of one kind"
        in halfseen("compare", centres[0], votes[0], code=2).stderr
    )
    assert "species" in halfseen(*BIRDS, "-k", 3, code=1).stderr  # not a number


@pytest.mark.thorough
def test_report_beside_the_model(tmp_path):
    shell("fit", "example:votes", "--ignore", "party", "-k", 2, "--restarts", 2, "--report", tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert "halfseen fit" in page


# ---- rows in, answers out --------------------------------------------------------------------------------------------


def test_predict_keeps_the_input_and_adds_answers(votes):
    rows = table(shell("predict", *votes).stdout)
    original = table(Path(votes[1]).read_text(encoding="utf-8"))
    assert [row["party"] for row in rows] == [row["party"] for row in original]
    assert list(rows[0])[17:] == ["class", "p_class 0", "p_class 1", "p_class 2", "certainty"]
    for row in rows:
        proba = {name: float(row[f"p_{name}"]) for name in ("class 0", "class 1", "class 2")}
        assert row["class"] == max(proba, key=proba.get)
        assert float(row["certainty"]) == max(proba.values())


def test_predict_costs_reasons_and_formats(parties, tmp_path):
    costs = tmp_path / "costs.csv"
    costs.write_text("decision,democrat,republican\ndemocrat,0,1\nrepublican,10,0\n")
    out = tmp_path / "out.parquet"
    halfseen("predict", *parties, "--cost", costs, "--reject", 0.2, "--why", "-o", out)
    found = pq.read_table(out).to_pylist()
    assert {row["decision"] for row in found} == {"democrat", "republican", "reject"}
    assert all(row["risk"] <= 0.2 for row in found)
    assert found[0]["why"].startswith("republican (")


def test_a_column_that_is_called_class_is_kept(parties, tmp_path):
    data = tmp_path / "x.csv"
    text = Path(parties[1]).read_text(encoding="utf-8").replace("party,", "class,", 1)
    data.write_text(text)
    rows = table(halfseen("predict", parties[0], data, "-o", tmp_path / "o.csv") and (tmp_path / "o.csv").read_text())
    assert rows[0]["class"] == "republican"
    assert "class_" in rows[0]


def test_impute_fills_holes_only(votes):
    filled = table(halfseen("impute", *votes).stdout)
    original = table(Path(votes[1]).read_text(encoding="utf-8"))
    for before, after in zip(original, filled, strict=True):
        assert all(after[name] == value for name, value in before.items() if value)
    assert sum(value == "" for row in filled for value in row.values()) == 0


@pytest.mark.thorough
def test_multiple_imputation(votes):
    one = table(halfseen("impute", *votes, "--draws", 3, "--seed", 1).stdout)
    two = table(halfseen("impute", *votes, "--draws", 3, "--seed", 1).stdout)
    assert one == two
    assert [row["draw"] for row in one] == ["1"] * 435 + ["2"] * 435 + ["3"] * 435
    assert [{**row, "draw": ""} for row in one[:435]] != [{**row, "draw": ""} for row in one[435:870]]


def test_impute_says_what_one_class_means_and_check_writes_nothing(tmp_path):
    pd.DataFrame({"a": [1.5, 2.5, None, 4.5] * 5, "b": ["x", "y", "x", None] * 5}).to_csv(
        tmp_path / "t.csv", index=False
    )
    model = tmp_path / "m.halfseen"
    halfseen("fit", tmp_path / "t.csv", "-k", 1, "-o", model)
    done = halfseen("impute", model, tmp_path / "t.csv", "-o", tmp_path / "filled.csv")
    assert "every cell was filled with the mean or the most frequent value" in done.stderr
    halfseen("fit", tmp_path / "t.csv", "-k", 2, "-o", model)
    assert "one class" not in halfseen("impute", model, tmp_path / "t.csv", "-o", tmp_path / "filled.csv").stderr
    refused = halfseen("impute", model, tmp_path / "t.csv", "--check", "-o", tmp_path / "check.csv", code=2)
    assert "--check prints the errors and fills no table" in refused.stderr
    assert not (tmp_path / "check.csv").exists()


def test_impute_check(votes):
    done = halfseen("impute", *votes, "--check")
    assert "by mean or mode" in done.stdout
    assert "crime" in done.stdout


def test_sample(votes, tmp_path):
    rows = table(halfseen("sample", votes[0], "-n", 50, "--seed", 3).stdout)
    assert len(rows) == 50
    assert set(rows[0]) == {*hs.load(votes[0]).columns_, "drawn_class"}
    assert rows == table(halfseen("sample", votes[0], "-n", 50, "--seed", 3).stdout)


def test_score(votes, parties):
    found = json.loads(halfseen("score", *votes, "--json").stdout)
    model = hs.load(votes[0])
    assert found["loglik"] == pytest.approx(model.loglik_, rel=1e-12)
    assert found["bic"] == pytest.approx(model.bic(), rel=1e-12)
    assert json.loads(halfseen("score", *parties, "--json").stdout)["accuracy"] == pytest.approx(393 / 435)
    assert "log-likelihood" in halfseen("score", *votes).stdout


@pytest.mark.thorough
def test_report_of_a_model(votes, tmp_path):
    halfseen("report", *votes, "-o", tmp_path / "r.html")
    assert "<h1" in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_info(votes):
    shown = halfseen("info", votes[0]).stdout
    assert "LatentClass" in shown
    assert "crime" in shown
    assert json.loads(halfseen("info", votes[0], "--json").stdout)["class"] == "LatentClass"
    assert "(share)" in halfseen("info", votes[0], "--parameters").stdout


def test_info_code_reproduces_the_fit(votes, parties, tmp_path):
    for path in (votes[0], parties[0]):
        code = halfseen("info", path, "--code").stdout
        namespace = {}
        exec(compile(code, "info --code", "exec"), namespace)
        np.testing.assert_array_equal(namespace["model"].weights_, hs.load(path).weights_)


def test_explain(tmp_path):
    data = tmp_path / "toy.csv"
    data.write_text("a,b\nx,1\ny,0\nx,0\ny,1\n")
    assert "count of a = x" in halfseen("explain", data, "-k", 2).stdout
    halfseen("explain", data, "-o", tmp_path / "em.html")
    assert (tmp_path / "em.html").read_text(encoding="utf-8").startswith("<!doctype html>")


def test_compare_models(votes, tmp_path):
    other = tmp_path / "o.halfseen"
    halfseen("fit", votes[1], "--ignore", "party", "-k", 4, "--seed", 1, "-o", other)
    shown = halfseen("compare", votes[0], other).stdout
    assert "largest changes" in shown
    assert f"only in {other}" in shown
    assert "no changes" in halfseen("compare", votes[0], votes[0]).stdout


def test_compare_with_truth(votes):
    found = json.loads(halfseen("compare", *votes, "--truth", "party", "--json").stdout)
    assert np.sum(found["counts"]) == 435
    assert found["majority"] > 0.85
    assert "Adjusted Rand" in halfseen("compare", *votes, "--truth", "party").stdout


def test_doctor():
    assert "kernels" in halfseen("doctor").stdout
    assert json.loads(halfseen("doctor", "--json").stdout)["halfseen"] == hs.__version__


def test_version_and_help():
    assert shell("--version").stdout.strip() == hs.__version__
    for verb in ("fit", "predict", "impute", "sample", "score", "report", "info", "explain", "compare"):
        assert "Example" in halfseen(verb, "--help").stdout


# ---- mistakes --------------------------------------------------------------------------------------------------------


def bad_files(folder):
    """Files that cannot be fitted, and a word of the message each must give."""
    contents = {
        "empty.csv": (b"", "empty"),
        "header.csv": (b"a,b\n", "no row"),
        "ragged.csv": (b"a,b\n1,2\n1,2,3\n4,5\n", "line 3"),
        "binary.csv": (bytes(range(256)) * 40, "binary.csv"),
        "latin.csv": ("name,n\ncaf\u00e9,1\n".encode("latin-1") * 3, "encod"),
        "binary.parquet": (b"PAR1 but not really", "binary.parquet"),
        "what.xyz": (b"a,b\n1,2\n", "xyz"),
    }
    for name, (content, word) in contents.items():
        (folder / name).write_bytes(content)
        yield folder / name, word


def test_bad_files_are_explained(tmp_path):
    for path, word in bad_files(tmp_path):
        done = halfseen("fit", path, "-k", 2, "-o", tmp_path / "m.halfseen", code=1)
        assert word in done.stderr, (path, done.stderr)
        assert not (tmp_path / "m.halfseen").exists()
    done = halfseen("fit", tmp_path / "nowhere.csv", code=1)
    assert "nowhere.csv" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--ignore", "partie"], 1, ["partie", "party"]),
        (["--columns", "crim=gaussian"], 2, ["crim"]),
        (["--columns", "crime=normal"], 2, ["normal", "gaussian"]),
        (["--columns", "crime"], 2, ["column=kind"]),
        (["--target", "parti"], 1, ["parti"]),
        (["--weight", "parti"], 1, ["parti"]),
        (["--weight", "party"], 1, ["party"]),
        (["-k", "two"], 2, ["two", "2..8"]),
        (["-k", "0"], 2, ["0"]),
        (["--target", "party", "-k", "3"], 2, ["--target"]),
        (["--prior", "strong"], 2, ["strong"]),
        (["--assign", "firm"], 2, ["firm"]),
        (["--model", "gausian"], 2, ["gausian"]),
        (["--resume"], 2, ["-o"]),
        (["-o", "no/such/folder/m.halfseen"], 2, ["no/such/folder"]),
        (["--seed", "-1"], 2, ["--seed"]),
    ],
)
def test_bad_options_are_explained(arguments, code, words):
    done = halfseen("fit", "example:votes", *arguments, code=code)
    assert all(word in done.stderr for word in words), done.stderr


@pytest.mark.thorough
def test_columns_without_information(tmp_path):
    data = tmp_path / "x.csv"
    data.write_text("a,b,empty\n" + "".join(f"{'xy'[i % 2]},{'uv'[i // 2 % 2]},\n" for i in range(20)))
    done = halfseen("fit", data, "-k", 2, "--json")
    assert "empty" in json.loads(done.stdout)["events"][0]
    assert "'empty' has no observed cell" in done.stderr
    data.write_text("a,b,empty\n" + "".join(f"{i % 7}.5,{i % 3}.5,\n" for i in range(20)))
    for model in ("gaussian", "kmeans"):
        assert "--ignore empty" in halfseen("fit", data, "-k", 2, "--model", model, code=1).stderr
    data.write_text("a,b\n" + 20 * ",\n")
    assert "no cell of the table is observed" in halfseen("fit", data, "-k", 2, code=1).stderr
    data.write_text("a,y\nx,1\nz,1\nx,1\n")
    assert "nothing to learn" in halfseen("fit", data, "--target", "y", code=1).stderr
    data.write_text("a,y\n1.5,1\n2.5,1\n3.5,1\n")
    assert "nothing to learn" in halfseen("fit", data, "--target", "y", "--model", "gaussian", code=1).stderr


def test_model_and_data_that_do_not_fit(votes, tmp_path):
    done = halfseen("predict", votes[0], path_of("penguins"), "-o", tmp_path / "o.csv", code=1)
    assert "mx_missile" not in done.stderr  # five of the columns that are not there are enough
    assert "handicapped_infants" in done.stderr
    assert not (tmp_path / "o.csv").exists()
    done = halfseen("predict", votes[1], votes[1], code=1)
    assert "not a model file of halfseen" in done.stderr
    done = halfseen("predict", tmp_path / "none.halfseen", votes[1], code=1)
    assert "none.halfseen" in done.stderr


def test_unwritable_output(votes, tmp_path):
    done = halfseen("predict", *votes, "-o", tmp_path / "no" / "out.csv", code=1)
    assert str(tmp_path / "no") in done.stderr
    done = halfseen("predict", *votes, "-o", tmp_path, code=1)
    assert str(tmp_path) in done.stderr
    assert "xyz" in halfseen("predict", *votes, "-o", tmp_path / "o.xyz", code=1).stderr


@pytest.mark.thorough
def test_a_closed_pipe_is_no_mistake(votes):
    done = subprocess.run(
        f"{' '.join(COMMAND)} predict {votes[0]} {votes[1]} | head -n 1", shell=True, capture_output=True, text=True
    )
    assert "Traceback" not in done.stderr
    assert done.stdout.startswith("party,")


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("-k", "1..1000000000000", "at most 10,000 numbers of classes"),
        ("-k", "1" * 5000, "is not a number of classes"),
        ("--missing", "a\nb", "is not a list of names"),
        ("--ignore", "a" * 200_000, "is not a list of names"),
    ],
)
def test_options_that_would_fill_the_memory_or_cannot_be_read(votes, option, value, words):
    done = CliRunner().invoke(app, ["fit", str(votes[1]), option, value])
    assert done.exit_code == 2, done.output[:500]
    assert words in done.stderr
    assert len(done.stderr) < 300


# ---- interruption ----------------------------------------------------------------------------------------------------

SEVERAL = ["--ignore", "party", "--restarts", "2", "-k", "1..4", "--jobs", "1"]


def held(n_passes, *arguments, background=False, environment=None):
    """Start the command in a process of its own; return the process once it has made so many passes and waits."""
    command = [sys.executable, "-m", "tests.app.held", str(n_passes), *map(str, arguments)]
    if background:  # as a shell starts them there: with SIGINT ignored
        command = ["sh", "-c", "trap '' INT; exec \"$@\"", "sh", *command]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env=os.environ | (environment or {}),
    )
    assert process.stdout.readline() == "held\n", process.communicate()[1]
    return process


def killed(n_passes, *arguments):
    with held(n_passes, *arguments) as process:
        process.kill()
        process.communicate()


@pytest.mark.thorough
def test_killed_and_resumed_to_the_identical_model(votes, tmp_path):
    """kill -9 in the middle, --resume: the same parameters as a fit that nobody disturbed."""
    whole, broken = tmp_path / "whole.halfseen", tmp_path / "broken.halfseen"
    halfseen("fit", votes[1], *SEVERAL, "-o", whole)
    killed(20, "fit", votes[1], *SEVERAL, "-o", broken)
    checkpoint = Path(f"{broken}.checkpoint")
    assert checkpoint.stat().st_size > 10_000
    assert not broken.exists()
    assert "--resume" in halfseen("fit", votes[1], *SEVERAL, "-o", broken, code=2).stderr
    halfseen("fit", votes[1], *SEVERAL, "-o", broken, "--resume")
    assert not checkpoint.exists()
    one, two = hs.load(whole), hs.load(broken)
    np.testing.assert_array_equal(one.weights_, two.weights_)
    assert one.trace_ == two.trace_
    assert one.to_frame().equals(two.to_frame())


@pytest.mark.thorough
def test_another_fit_does_not_resume(votes, tmp_path):
    out = tmp_path / "m.halfseen"
    killed(20, "fit", votes[1], *SEVERAL, "-o", out)
    done = halfseen("fit", votes[1], *SEVERAL, "--seed", 5, "-o", out, "--resume", code=1)
    assert "checkpoint" in done.stderr
    assert Path(f"{out}.checkpoint").exists()


@pytest.mark.thorough
@pytest.mark.skipif(os.name == "nt", reason="no SIGTERM to a process on Windows")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["SIGINT", "SIGTERM"])
def test_an_interrupted_fit_says_so_first_and_is_no_result(votes, tmp_path, number):
    """Its model is written and can be continued; it is not described as if it were final."""
    out, page = tmp_path / "m.halfseen", tmp_path / "r.html"
    arguments = ["--ignore", "party", "--restarts", "2", "-k", "3", "--jobs", "1", "-o", out, "--report", page]
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    with held(1, "fit", votes[1], *arguments, environment={"TMPDIR": str(temporary)}) as process:
        process.send_signal(number)
        stdout, stderr = process.communicate()
    assert process.returncode == 128 + number, stderr
    assert list(temporary.iterdir()) == []
    assert stdout.startswith("Interrupted after ")
    assert "not converged." in stdout
    assert "class 0" not in stdout + stderr
    assert f"unfinished model: {out}" in stderr
    assert "--resume" in stderr
    shown = halfseen("info", out).stdout
    assert shown.startswith(stdout)
    assert "class 0" not in shown
    for verb in ("score", "predict"):
        assert f"note: {out}: {stdout.strip()}" in halfseen(verb, out, votes[1]).stderr
    text = re.sub("<[^>]*>", "", page.read_text().split("<body>")[1])
    assert text.lstrip().startswith(stdout.strip())
    done = halfseen("fit", votes[1], *arguments, "--resume")
    assert done.stdout.startswith("class 0")
    assert hs.load(out).converged_


@pytest.mark.thorough
@pytest.mark.skipif(os.name == "nt", reason="no SIGINT to a process on Windows")
@pytest.mark.parametrize("sizes", [["-k", "3"], ["-k", "1..4"]], ids=["in a run", "between sizes"])
def test_an_interrupted_fit_says_so_in_json(votes, sizes):
    """Also where the size that is kept has converged and only others were not tried."""
    with held(1 if len(sizes[1]) == 1 else 20, "fit", votes[1], "--ignore", "party", *sizes, "--json") as process:
        process.send_signal(signal.SIGINT)
        stdout, _ = process.communicate()
    assert json.loads(stdout)["interrupted"] is True


def ended(process, number):
    """Send a signal until a process ends: one that comes just before a blocking read is noticed with the next."""
    while process.poll() is None:
        process.send_signal(number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(5)


@pytest.mark.thorough
@pytest.mark.skipif(os.name == "nt", reason="no SIGTERM to a process on Windows")
def test_terminated_while_it_reads(tmp_path):
    """There is no model yet; the temporary folder is removed all the same."""
    line = [sys.executable, "-m", "halfseen", "fit", "-", "-o", tmp_path / "m.halfseen"]
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    environment = {**os.environ, "TMPDIR": str(temporary)}
    with subprocess.Popen(
        line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
    ) as process:
        process.stdin.write(b"a,b\n1,2\n" * 20_000)
        process.stdin.flush()
        while not list(temporary.glob("halfseen-*/data.csv")):
            assert process.poll() is None
            time.sleep(0.01)
        ended(process, signal.SIGTERM)
    assert process.returncode == 143
    assert sorted(path.name for path in tmp_path.iterdir()) == ["tmp"]
    assert list(temporary.iterdir()) == []


def test_sigterm_waits_for_the_end_of_a_pass_where_ctrl_c_does(monkeypatch):
    monkeypatch.setattr(signals, "_received", [])
    before = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        signals.handle()
        with deferred_interrupt() as asked:
            signal.raise_signal(signal.SIGTERM)
            assert asked.times == 1
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(signal.SIGTERM)
        assert signals.exit_code() == 143
    finally:
        signal.signal(signal.SIGTERM, before)


def test_the_library_handles_no_sigterm():
    code = (
        "import signal, halfseen as hs\nhs.LatentClass(2, random_state=0).fit([['a', 1]] * 5 + [['b', 0]] * 4)\n"
        "assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.thorough
@pytest.mark.parametrize("resume", [False, True])
def test_two_commands_on_one_checkpoint(votes, tmp_path, resume):
    out = tmp_path / "m.halfseen"
    with held(5, "fit", votes[1], *SEVERAL, "-o", out) as process:
        more = ["--resume"] if resume else []
        done = halfseen("fit", votes[1], *SEVERAL, "-o", out, *more, code=1)
        process.kill()
        process.communicate()
    assert f"{out}.checkpoint: another fit that is still running" in done.stderr
    halfseen("fit", votes[1], *SEVERAL, "-o", out, "--resume")  # the lock has ended with the process


@pytest.mark.thorough
def test_a_model_that_cannot_be_written_leaves_the_checkpoint(votes, tmp_path):
    """Hours of fitting are not lost because the folder went away meanwhile."""
    out = tmp_path / "m.halfseen"
    out.mkdir()
    halfseen("fit", votes[1], *SEVERAL, "-o", out, code=1)
    assert Path(f"{out}.checkpoint").exists()
    out.rmdir()
    halfseen("fit", votes[1], *SEVERAL, "-o", out, "--resume")
    assert not Path(f"{out}.checkpoint").exists()


@pytest.mark.thorough
@pytest.mark.skipif(os.name == "nt", reason="no SIGINT to a process on Windows")
@pytest.mark.parametrize("background", [False, True], ids=["foreground", "background"])
def test_interrupted_keeps_the_best_so_far(votes, tmp_path, background):
    """Also in the background of a script, where a shell starts commands with SIGINT ignored."""
    out = tmp_path / "m.halfseen"
    with held(20, "fit", votes[1], *SEVERAL, "-o", out, background=background) as process:
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate()
    assert process.returncode == 130, stderr
    assert "interrupted" in stderr
    assert "best model so far" in stderr
    assert hs.load(out).n_components_ < 4  # larger ones were not tried any more


# ---- data that are not what they seem --------------------------------------------------------------------------------


@pytest.fixture
def survey(tmp_path):
    """A table with a mistake, codes for missing values, counts and a formula."""
    rng = np.random.default_rng(0)
    rows = [
        [20 + i % 60, rng.lognormal(10, 0.5), rng.negative_binomial(1, 0.1), ["x", "=1+1"][i % 2]] for i in range(400)
    ]
    for i in range(0, 400, 40):
        rows[i][1] = -99
    rows[15][0] = "n.a."
    with (tmp_path / "-survey[1].csv").open("w", newline="") as file:
        csv.writer(file).writerows([["age", "income", "visits", "=note"], *rows])
    (tmp_path / "-survey1.csv").write_text("other\n1\n2\n")
    return tmp_path / "-survey[1].csv"


def test_a_column_that_is_nearly_all_numbers_is_refused_in_flags(survey):
    done = halfseen("fit", survey, "-k", 1, code=1)
    said = "age: 1 of 400 cells is not a number ('n.a.', line 17). Add --missing n.a., or --columns age=categorical."
    assert said in done.stderr
    assert "age          categorical" not in done.stderr
    halfseen("fit", survey, "-k", 1, "--columns", "age=categorical")


def test_codes_and_counts_are_noted_in_flags(survey, tmp_path):
    page = tmp_path / "page.html"
    done = halfseen("fit", survey, "-k", 1, "--missing", "n.a.", "--report", page)
    assert "note: column 'income': -99 (10 cells) lies far" in done.stderr
    assert "if so, set --missing -99\n" in done.stderr
    assert "--columns visits=negbin may fit better" in done.stderr
    assert "Column &#39;income&#39;: -99 (10 cells) lies far" in page.read_text()
    done = halfseen("fit", survey, "-k", 1, "--missing", "-99,n.a.", "--columns", "visits=negbin")
    assert "lies far" not in done.stderr
    assert "may fit better" not in done.stderr


def test_a_name_with_a_dash_first_is_a_file_after_two_dashes(survey, monkeypatch):
    monkeypatch.chdir(survey.parent)
    halfseen("fit", "-k", 1, "--missing", "n.a.", "-o", "m.halfseen", "--", survey.name)
    assert hs.load("m.halfseen").columns_["age"] == "gaussian"


def test_safe_csv_guards_texts_of_every_verb_that_writes_rows(survey, tmp_path):
    model = tmp_path / "m.halfseen"
    halfseen("fit", survey, "-k", 1, "--missing", "n.a.", "-o", model)
    verbs = (("predict", model, survey), ("impute", model, survey), ("sample", model, "-n", 20))
    for verb in verbs:
        plain, safe = (table(halfseen(*verb, *more).stdout) for more in ((), ("--safe-csv",)))
        assert {row["=note"] for row in plain} == {"x", "=1+1"}
        assert {row["'=note"] for row in safe} == {"x", "'=1+1"}
        assert [row["income"] for row in safe] == [row["income"] for row in plain]
    assert "drawn_class: the class that each row was drawn from" in halfseen("sample", model).stderr


def test_quotes_as_characters(tmp_path):
    path, model = tmp_path / "says.csv", tmp_path / "m.halfseen"
    path.write_text("said,n\n" + 'x,1\n"y,2\nx,3\n"y,2\n' * 4)
    assert (
        'a quote (") is opened and never closed. Correct the line, or add --no-quotes.'
        in halfseen("fit", path, code=1).stderr
    )
    done = halfseen("fit", path, "-k", 1, "--no-quotes", "-o", model)
    assert '"y' in done.stderr
    assert halfseen("predict", model, path).stdout.count("class 0") == 17
    assert "quotes=False" in halfseen("info", model, "--code").stdout


def test_tables_of_a_model_fitted_to_a_file_are_in_pandas_in_python(tmp_path):
    from tests.app.in_process import run

    run("fit", "example:votes", "--ignore", "party", "-k", "1..2", "--restarts", 1, "-o", tmp_path / "v.halfseen")
    model = hs.load(tmp_path / "v.halfseen")
    assert isinstance(model.selection_, pd.DataFrame)
    assert len(model.selection_.round(2)) == 2
    assert isinstance(model.to_frame(), pd.DataFrame)
    hs.save(model, tmp_path / "again.halfseen")
    assert (tmp_path / "again.halfseen").read_bytes() == (tmp_path / "v.halfseen").read_bytes()
