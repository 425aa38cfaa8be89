"""Estimates of fits: sizes are exact where they can be, and nothing is written."""

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from halfseen.app import dry_run
from halfseen.app.cli import app


@pytest.fixture(autouse=True)
def few_rows(monkeypatch):
    monkeypatch.setattr(dry_run, "FIRST", 500)


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    rng = np.random.default_rng(0)
    n_rows = 4000
    frame = pd.DataFrame({"x": rng.normal(size=n_rows), "color": rng.choice(["red", "blue"], n_rows)})
    frame["who"] = np.repeat(np.arange(400), 10)
    frame["note"] = rng.choice(["some good words", "other bad words"], n_rows)
    frame["often"] = rng.integers(0, 3, n_rows)
    path = tmp_path_factory.mktemp("rows") / "rows.parquet"
    frame.to_parquet(path)
    return path


def run(*arguments, code=0):
    done = CliRunner().invoke(app, ["fit", *map(str, arguments), "--dry-run"], catch_exceptions=False)
    assert done.exit_code == code, done.output
    return done


def estimate(*arguments):
    return json.loads(run(*arguments, "--json").stdout)


def test_rows_columns_and_sizes(rows):
    found = estimate(rows, "-k", 2, "--ignore", "who,note,often", "--restarts", 1)
    assert (found["rows"], found["fitted_rows"]) == (4000, 500)
    assert found["columns"] == {"gaussian": 1, "categorical": 1}
    assert found["encoded"] == 4000 * (8 + 1 + 8)  # a number, a code, the weight
    assert found["disk"] == 0
    assert found["fitting"] > 0


def test_a_table_larger_than_memory_goes_to_disk(rows):
    found = estimate(rows, "-k", 2, "--ignore", "who,note,often", "--restarts", 1, "--memory", "50kB")
    assert found["memory"] == 50_000
    assert found["disk"] == found["encoded"]


def test_what_is_printed(rows, tmp_path):
    printed = run(rows, "-k", 2, "--ignore", "who,note,often", "--restarts", 1, "-o", tmp_path / "m.halfseen")
    names = [line.split()[0] for line in printed.stdout.splitlines()]
    assert names == ["rows", "columns", "encoded", "memory", "disk", "reading", "fit"]
    assert "first 500 rows" in printed.stderr
    assert "No model was written" in printed.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "options",
    [
        ["--model", "kmeans", "-k", "2", "--ignore", "color,note,who"],
        ["--model", "hmm", "-k", "2", "--group", "who", "--ignore", "note", "--restarts", "1"],
        ["--target", "color", "--text", "note", "--weight", "often"],
        ["--model", "color <- C; often <- C", "--hidden", "C=2", "--restarts", "1"],
    ],
    ids=["k-means", "sequences", "text", "network"],
)
def test_other_models_of_tables(rows, options):
    found = estimate(rows, *options)
    assert found["rows"] == 4000
    assert found["encoded"] > 0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--model", "words"], "it estimates fits to tables"),
        (["-k", "2", "--on", "dask"], "leave out --on"),
    ],
)
def test_what_cannot_be_estimated(rows, options, said):
    assert said in run(rows, *options, code=2).stderr
