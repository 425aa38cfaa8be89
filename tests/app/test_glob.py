"""`--glob`: files that match a pattern are one table, at the command line as in Python."""

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import halfseen as hs
from halfseen.app.cli import app


def halfseen(*arguments, code=0):
    done = CliRunner().invoke(app, list(map(str, arguments)), catch_exceptions=False)
    assert done.exit_code == code, done.output
    return done


@pytest.fixture(scope="module")
def visits(tmp_path_factory):
    """Two files of one table, and one that no pattern names."""
    folder = tmp_path_factory.mktemp("visits")
    rng = np.random.default_rng(0)
    hidden = rng.integers(0, 2, 90)
    frame = pd.DataFrame({"who": np.arange(90) // 10, "x": rng.normal(6 * hidden), "y": rng.normal(4 * hidden)})
    frame[:40].to_csv(folder / "2026-01.csv", index=False)
    frame[40:].to_csv(folder / "2026-02.csv", index=False)
    frame.to_csv(folder.parent / "all.csv", index=False)
    (folder / "2025-12.csv").write_text("other\n1\n")
    return folder


@pytest.mark.parametrize(
    "options",
    [
        ["-k", 2, "--ignore", "who"],
        ["-k", 2, "--ignore", "who", "--model", "kmeans"],
        ["-k", 2, "--model", "hmm", "--group", "who"],
    ],
)
def test_a_pattern_stands_in_place_of_a_file(visits, tmp_path, options):
    pattern, model = visits / "2026-*.csv", tmp_path / "m.halfseen"
    halfseen("fit", "--glob", pattern, *options, "--restarts", 2, "-o", model)
    assert f"glob='{pattern}'" in halfseen("info", model, "--code").output
    halfseen("predict", model, "--glob", pattern, "-o", tmp_path / "out.csv")
    assert len(pd.read_csv(tmp_path / "out.csv")) == 90
    scored = json.loads(halfseen("score", model, "--glob", pattern, "--json").output)
    whole = json.loads(halfseen("score", model, visits.parent / "all.csv", "--json").output)
    numbers = {name: value for name, value in whole.items() if isinstance(value, float)}
    assert {name: scored[name] for name in numbers} == pytest.approx(numbers, rel=1e-12)
    halfseen("impute", model, "--glob", pattern, "-o", tmp_path / "filled.csv")
    assert len(pd.read_csv(tmp_path / "filled.csv")) == 90


def test_the_fit_is_that_of_python(visits, tmp_path):
    pattern, model = visits / "2026-*.csv", tmp_path / "m.halfseen"
    halfseen("fit", "--glob", pattern, "-k", 2, "--ignore", "who", "--restarts", 2, "-o", model)
    table = hs.open_table(glob=str(pattern), ignore=["who"])
    assert hs.load(model).loglik_ == hs.LatentClass(2, n_init=2, random_state=0).fit(table).loglik_


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["fit", "a.csv", "--glob", "b*.csv"], "--glob b*.csv stands in place of a file: leave out a.csv, or --glob"),
        (["fit", "--glob", "b*.txt", "--model", "words"], "--glob"),
        (["fit", "--glob", "b*.txt", "--model", "transcript"], "give a folder of audio"),
    ],
)
def test_what_a_pattern_cannot_be_used_with_is_refused(arguments, words):
    assert words in " ".join(halfseen(*arguments, code=2).output.split())


def test_a_pattern_that_no_file_matches(tmp_path):
    assert "no-such" in halfseen("fit", "--glob", tmp_path / "no-such-*.csv", code=1).output.replace("\n", "")
