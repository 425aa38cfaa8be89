"""``halfseen test`` and ``fit --blrt``: tests of the number of classes at the command line."""

import json
import re

import narwhals as nw
import pytest

import halfseen as hs
from tests.app.in_process import run

pytestmark = pytest.mark.thorough


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("classes")
    votes = folder / "votes.csv"
    hs.load_votes()[["el_salvador_aid", "mx_missile", "education_spending", "crime"]].to_csv(votes, index=False)
    path = folder / "votes.halfseen"
    asked = ("-k", "1..2", "--ml", "--blrt", 9, "--restarts", 4, "-o", path, "--report", folder / "votes.html")
    return votes, path, run("fit", votes, *asked)


def test_tests_stand_beside_the_criteria(fitted):
    _votes, path, done = fitted
    header, one, two, *_ = done.stdout.splitlines()
    assert re.search(r"LR, one more +p +starts that agree", header)
    found = nw.from_native(hs.load(path).selection_).to_dict(as_series=False)
    assert found["lr_draws"] == [9, 9]
    assert found["lr_p"][0] == 0.1
    assert f"{found['lr'][0]:,.2f}" in one
    assert f"{found['lr_p'][1]:.3g}" in two
    page = (path.parent / "votes.html").read_text()
    assert "Is one class more justified?" in page
    assert "1 against 2" in page


def test_a_model_file_is_tested(fitted):
    votes, path, _ = fitted
    done = run("test", path, votes, "--draws", 4, "--starts", 4)
    assert re.match(r"2 classes against 3: LR [\d.]+, p = ", done.stdout)
    again = json.loads(run("test", path, votes, "--draws", 4, "--starts", 4, "--json").stdout)
    assert again["n_draws"] == 4
    assert again["n_classes"] == 2
    assert f"LR {again['statistic']:,.2f}" in done.stdout


def test_one_number_of_classes_is_tested_too(fitted):
    votes, _, _ = fitted
    done = run("fit", votes, "-k", 1, "--blrt", 4)
    assert re.search(r"LR, one more +p", done.stdout)


def test_what_is_refused(fitted):
    votes, _, _ = fitted
    done = run("fit", votes, "--target", "crime", "--blrt", 9, code=2)
    assert "--blrt cannot be used with --target" in done.stderr
    done = run("fit", votes, "--model", "kmeans", "--blrt", 9, code=2)
    assert "--blrt is an option of latent classes and classifiers" in done.stderr
