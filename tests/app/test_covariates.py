"""Covariates at the command line: fit, predict, score, errors, report, and what is refused in its own words."""

import csv

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import halfseen as hs
from halfseen.app.cli import app
from tests.app.in_process import run

pytestmark = pytest.mark.thorough


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("covariates")
    rng = np.random.default_rng(0)
    age = rng.integers(18, 80, 500)
    k = rng.random(500) < 1 / (1 + np.exp(-(age - 45) / 10))
    table = pd.DataFrame({f"q{j}": (rng.random(500) < np.where(k, 0.85, 0.15)).astype(int) for j in range(5)})
    table.assign(age=age).to_csv(folder / "rows.csv", index=False)
    holes = table.assign(age=age.astype(object))
    holes.loc[3, "age"] = None
    holes.to_csv(folder / "holes.csv", index=False)
    table.to_csv(folder / "without.csv", index=False)
    return folder


@pytest.fixture(scope="module")
def fitted(files):
    path = files / "m.halfseen"
    done = run("fit", files / "rows.csv", "-k", 2, "--ml", "--covariates", "age", "-o", path)
    return path, done


def test_predictions_use_the_covariates_of_the_file(fitted, files):
    path, _ = fitted
    rows = list(csv.DictReader(run("predict", path, files / "rows.csv").stdout.splitlines()))
    frame = pd.read_csv(files / "rows.csv")
    expected = hs.load(path).predict_proba(frame)
    assert np.allclose([float(row["p_class 1"]) for row in rows], expected[:, 1])
    without = run("predict", path, files / "without.csv")
    assert "covariates (age) are not given; the average shares" in without.stderr


def test_score_errors_and_report(fitted, files):
    path, _ = fitted
    model = hs.load(path)
    assert f"{model.loglik_:,.6f}"[:9] in run("score", path, files / "rows.csv").stdout
    assert "log-likelihood" in run("score", path, files / "rows.csv", "--details").stdout
    assert "(membership)" in run("info", path, "--errors", files / "rows.csv").stdout
    run("report", path, files / "rows.csv", "-o", files / "r.html")
    page = (files / "r.html").read_text()
    assert "Class membership depends on age" in page
    assert "covariates=&#39;age&#39;" in page or "covariates='age'" in page


def test_missing_covariates(files):
    refused = run("fit", files / "holes.csv", "--covariates", "age", code=1)
    assert "age is missing in line 5 (1 such rows)" in refused.stderr
    assert "use --drop-missing" in refused.stderr
    done = run("fit", files / "holes.csv", "--covariates", "age", "--drop-missing", "-o", files / "h.halfseen")
    assert "1 rows with a missing covariate were left out" in done.stderr
    assert "(membership)" in run("info", files / "h.halfseen", "--errors", files / "holes.csv").stdout


def test_what_is_refused(files):
    for arguments, code, said in (
        (["--covariates", "height"], 1, "no column 'height'"),
        (["--covariates", "age", "--target", "q0"], 1, "--covariates cannot be used with --target"),
        (["--drop-missing"], 1, "it needs --covariates"),
        (["--covariates", "bs(age)"], 1, "not allowed"),
        (["--covariates", "age", "--model", "kmeans"], 2, "--covariates"),
    ):
        done = run("fit", files / "rows.csv", *arguments, code=None) if code is None else None
        done = CliRunner().invoke(app, ["fit", str(files / "rows.csv"), *arguments])
        assert done.exit_code in (1, 2), arguments
        assert said in done.stderr, (arguments, done.stderr)


def test_dry_run(files):
    assert "5 categorical" in run("fit", files / "rows.csv", "--covariates", "age", "--dry-run").stdout
