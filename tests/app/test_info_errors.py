"""``halfseen info --errors``: standard errors at the command line."""

import json

import numpy as np
import pytest

import halfseen as hs
from tests.app.in_process import run

pytestmark = pytest.mark.thorough


@pytest.fixture(scope="module")
def penguins(tmp_path_factory):
    path = tmp_path_factory.mktemp("errors") / "penguins.halfseen"
    run("fit", "example:penguins", "--ignore", "species,year", "-k", 2, "-o", path)
    return path


def test_a_table_of_errors(penguins):
    done = run("info", penguins, "--errors", "example:penguins")
    header, *rows = done.stdout.splitlines()
    assert header.split() == ["column", "value", "class", "estimate", "se", "low", "high"]
    model = hs.load(penguins)
    data = hs.load_penguins().drop(columns=["species", "year"])
    assert rows == str(hs.standard_errors(model, data)).splitlines()[1:]
    assert "hessian standard errors of posterior mode estimates" in done.stderr


def test_errors_as_json(penguins):
    rows = json.loads(run("info", penguins, "--errors", "example:penguins", "--error-kind", "robust", "--json").stdout)
    assert rows[0]["column"] == "(share)"
    assert rows[0]["low"] < rows[0]["estimate"] < rows[0]["high"]


def test_sequences_and_sentences(tmp_path):
    steps = tmp_path / "steps.csv"
    steps.write_text("who,x\n" + "".join(f"{i // 20},{(i * 7) % 11 + 5 * (i // 5 % 2)}\n" for i in range(200)))
    run("fit", steps, "--model", "hmm", "--group", "who", "-k", 2, "-o", tmp_path / "states.halfseen")
    assert "(next)" in run("info", tmp_path / "states.halfseen", "--errors", steps).stdout
    grammar, corpus = tmp_path / "toy.cfg", tmp_path / "corpus.txt"
    grammar.write_text("S -> S S | 'a' | 'b'\n")
    corpus.write_text("a b\na\nb a a\n" * 5)
    run("fit", corpus, "--model", grammar, "-o", tmp_path / "rules.halfseen")
    assert run("info", tmp_path / "rules.halfseen", "--errors", corpus).stdout.splitlines()[0].startswith("left")


def test_what_has_no_errors(tmp_path, penguins):
    path = tmp_path / "k.halfseen"
    run("fit", "example:penguins", "--ignore", "species,year,sex,island", "--model", "kmeans", "-k", 2, "-o", path)
    assert "cannot be used with a KMeans" in run("info", path, "--errors", "example:penguins", code=2).stderr
    done = run("info", penguins, "--errors", "example:penguins", "--error-kind", "x", code=2)
    assert "--error-kind 'x'" in done.stderr
    (tmp_path / "other.csv").write_text("a,b\nx,1\n")
    assert "lacks columns" in run("info", penguins, "--errors", tmp_path / "other.csv", code=1).stderr
    assert "no file" in run("info", penguins, "--errors", tmp_path / "no.csv", code=1).stderr


def test_a_designed_sample(tmp_path):
    data, path = tmp_path / "pupils.csv", tmp_path / "pupils.halfseen"
    lines = [
        f"{'yes' if (i * 7) % 10 < 3 + i % 4 else 'no'},{i % 12},{'ns'[i % 12 < 5]},{1 + i % 3}" for i in range(240)
    ]
    data.write_text("\n".join(["answer,school,region,w", *lines]))
    run(
        "fit",
        data,
        "-k",
        1,
        "--ml",
        "--weight",
        "w",
        "--weight-kind",
        "survey",
        "--ignore",
        "school,region",
        "-o",
        path,
    )
    done = run("info", path, "--errors", data, "--strata", "region", "--cluster", "school")
    assert "deff" in done.stdout
    assert "robust standard errors" in done.stderr
    assert "2 strata, 12 clusters" in done.stderr
    assert "no such column" in run("info", path, "--errors", data, "--cluster", "class", code=2).stderr
    assert "--error-kind 'hessian' takes units" in run(
        "info", path, "--errors", data, "--error-kind", "hessian", code=2
    ).stderr.replace("\n", " ")
    scored = json.loads(run("score", path, data, "--weight", "w", "--json").stdout)
    model = hs.load(path)
    assert scored["loglik"] == pytest.approx(model.loglik_)
    assert scored["bic"] == pytest.approx(model.bic())
    w = 1.0 + np.arange(240) % 3
    assert scored["rows"] == pytest.approx(w.sum() ** 2 / (w**2).sum())
    assert scored["loglik_per_row"] == pytest.approx(model.loglik_ / scored["rows"])
    assert "effective rows" in run("info", path).stdout
    assert "needs --errors" in run("info", path, "--cluster", "school", code=2).stderr
    assert "needs --weight" in run("fit", data, "--weight-kind", "survey", "-o", path, code=2).stderr


def test_errors_by_the_bootstrap(tmp_path):
    path, data = tmp_path / "votes.halfseen", tmp_path / "votes.csv"
    hs.load_votes()[["el_salvador_aid", "mx_missile", "crime"]].to_csv(data, index=False)
    run("fit", data, "-k", 1, "-o", path)
    done = run("info", path, "--errors", data, "--error-kind", "bootstrap")
    assert "bootstrap standard errors of maximum likelihood estimates; 95 % intervals" in done.stderr
    assert len(done.stdout.splitlines()) == 8
    assert run("info", path, "--errors", data, "--error-kind", "bootstrap").stdout == done.stdout
