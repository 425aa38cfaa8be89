"""Labels of some rows, and a model to begin with, on the command line and from a caller in the process."""

import contextlib
import io
import re

import numpy as np
import pandas as pd
import pytest

import halfseen as hs
from halfseen.app import console
from halfseen.app.requests import request_of
from halfseen.app.verbs.fit import fitted
from halfseen.errors import DataError, ParameterError
from tests.app.in_process import run

LEFT_OUT = ("--ignore", "species,island,year,sex")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The penguins with a column in which one bird of each species is named."""
    path = tmp_path_factory.mktemp("labels")
    birds = hs.load_penguins()
    birds["seen"] = birds["species"].where(birds.groupby("species").cumcount() == 0)
    birds.to_csv(path / "birds.csv", index=False)
    run("fit", path / "birds.csv", *LEFT_OUT, "--labels", "seen", "-k", 3, "-o", path / "birds.halfseen")
    return path


def ran(code):
    """Run Python, and return what it defines."""
    found = {}
    with contextlib.redirect_stdout(io.StringIO()):
        exec(code, found)
    return found


def test_labels_name_hidden_classes(folder):
    model = hs.load(folder / "birds.halfseen")
    assert type(model) is hs.LatentClass
    assert model.class_names_ == ("Adelie", "Chinstrap", "Gentoo")
    assert "seen" not in model.columns_
    birds = pd.read_csv(folder / "birds.csv")
    labels = birds["seen"].astype(object).where(birds["seen"].notna(), None).tolist()
    again = hs.LatentClass(3, random_state=0).fit(birds[list(model.columns_)], labels=labels)
    assert again.loglik_ == model.loglik_


def test_more_classes_than_labels_have_no_names(folder):
    run("fit", folder / "birds.csv", *LEFT_OUT, "--labels", "seen", "-k", 4, "-o", folder / "four.halfseen")
    assert hs.load(folder / "four.halfseen").class_names_ == ("Adelie", "Chinstrap", "Gentoo", "class 3")
    chosen = run("fit", folder / "birds.csv", *LEFT_OUT, "--labels", "seen", "-k", "3..4", "--json")
    assert '"Adelie"' in chosen.stdout


def test_labels_of_joint_normals(folder):
    path = folder / "joint.halfseen"
    run("fit", folder / "birds.csv", *LEFT_OUT, "--labels", "seen", "--model", "gaussian", "-k", 3, "-o", path)
    assert hs.load(path).class_names_ == ("Adelie", "Chinstrap", "Gentoo")


def test_the_python_of_a_fit_with_labels_reproduces_it(folder):
    code = run("info", folder / "birds.halfseen", "--code").stdout
    assert "target='seen'" in code
    assert ran(code)["model"].loglik_ == hs.load(folder / "birds.halfseen").loglik_


def test_other_verbs_know_the_labels(folder):
    model, birds = folder / "birds.halfseen", folder / "birds.csv"
    run("predict", model, birds, "-o", folder / "classes.csv")
    found = pd.read_csv(folder / "classes.csv")
    assert set(found["class"]) == {"Adelie", "Chinstrap", "Gentoo"}
    assert "seen" in found
    run("report", model, birds, "-o", folder / "report.html")
    assert "Chinstrap" in (folder / "report.html").read_text()
    scored = run("score", model, birds).stdout
    assert scored.splitlines()[-1].split() == ["on", "labelled", "rows", "3"]
    assert scored.splitlines()[-2].split()[0] == "accuracy"
    assert run("info", model, "--errors", birds).stdout


def test_a_fit_begins_at_a_model_file(folder):
    run("rename", folder / "birds.halfseen", "one", "two", "three", "-o", folder / "renamed.halfseen")
    left_out, start = ("--ignore", "species,island,year,sex,seen"), ("--start", folder / "renamed.halfseen")
    run("fit", folder / "birds.csv", *left_out, *start, "-o", folder / "begun.halfseen")
    begun = hs.load(folder / "begun.halfseen")
    assert begun.class_names_ == ("one", "two", "three")
    assert begun.restarts_["n_init"] == 1
    code = run("info", folder / "begun.halfseen", "--code").stdout
    assert f"begin=hs.load('{folder / 'renamed.halfseen'}')" in code
    assert ran(code)["model"].trace_ == begun.trace_


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["--labels", "seen"], 2, "--labels: give the number of classes, -k"),
        (["--labels", "seen", "--target", "species"], 2, "--labels cannot be used with --target"),
        (["--labels", "seen", "-k", "2..4"], 1, "has 3 distinct labels .* Use --classes 3 or more"),
        (["--labels", "seen", "-k", "3", "--blrt", "9"], 2, "--labels cannot be used with --blrt"),
        (["--labels", "seen", "-k", "3", "--names", "a,b,c"], 2, "--names cannot be used with --labels"),
        (["--labels", "sen", "-k", "3"], 1, "--labels: .*birds.csv has no column 'sen'. Did you mean 'seen'?"),
        (["--labels", "seen", "-k", "3", "--model", "hmm"], 2, "--labels is an option of latent classes"),
        (["--start", "birds.halfseen", "--restarts", "3"], 2, "--restarts cannot be used with --start"),
        (["--start", "birds.halfseen", "--target", "species"], 2, "--start cannot be used with --target"),
        (["--start", "birds.halfseen"], 2, r"other columns, kinds or categories: seen \(categorical\)"),
        (["--start", "birds.halfseen", "--labels", "seen", "-k", "4"], 2, "has 3 classes: set --classes 3"),
        (["--start", "none.halfseen"], 1, "none.halfseen"),
    ],
)
def test_what_cannot_be_is_refused(folder, words, code, told):
    words = [folder / word if word == "birds.halfseen" else word for word in words]
    done = run("fit", folder / "birds.csv", *LEFT_OUT, *words, code=code)
    assert re.search(told, done.stderr), done.stderr


def asked(folder, *words, **more):
    request = request_of("fit", [str(folder / "birds.csv"), "--ignore", "species,island,year,sex,seen", *words])
    with console.collected():
        return fitted({**request, **more}).model


NAMES = ["Adelie", "Gentoo", "Chinstrap"]


def test_a_caller_gives_the_classes_of_some_rows(folder):
    first = asked(folder, "-k", "3").rename(NAMES)
    known = {0: "Adelie", 200: "Gentoo", 300: "Chinstrap"}
    again = asked(folder, "-k", "3", known=(NAMES, known), begin=first)
    assert list(again.class_names_) == NAMES
    np.testing.assert_allclose(again.weights_, first.weights_, atol=0.05)
    assert again.restarts_["n_init"] == 1
    birds = pd.read_csv(folder / "birds.csv")[list(again.columns_)]
    labels = [known.get(row) for row in range(len(birds))]
    directly = hs.LatentClass(3, random_state=0).fit(birds, labels=labels, classes=NAMES, begin=first)
    assert directly.loglik_ == again.loglik_
    without_model = asked(folder, "-k", "3", known=(NAMES, known))
    assert list(without_model.class_names_) == NAMES


def test_the_number_of_classes_is_that_of_the_model_to_begin_with(folder):
    first = asked(folder, "-k", "2")
    assert len(asked(folder, begin=first).class_names_) == 2


def test_classes_that_a_caller_gives_are_checked(folder):
    with pytest.raises(DataError, match="row 344 has a known class, but there are 344 rows"):
        asked(folder, "-k", "3", known=(NAMES, {344: "Adelie"}))
    with pytest.raises(DataError, match="unknown label 'Emperor'"):
        asked(folder, "-k", "3", known=(NAMES, {3: "Emperor"}))
    with pytest.raises(ParameterError, match="known classes: give the number of classes"):
        asked(folder, known=(NAMES, {3: "Adelie"}))
    with pytest.raises(ParameterError, match="known classes of rows: leave out --labels"):
        asked(folder, "-k", "3", "--labels", "seen", known=(NAMES, {3: "Adelie"}))
