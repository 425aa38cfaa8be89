"""The screen Export: files as the command line writes them; code that makes the model on the screen again."""

import shlex

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import halfseen as hs
from tests.app.in_process import run
from tests.studio.served import studio

LEFT_OUT = "species,island,sex,year"
PENGUINS = ("example:penguins", "--model", "gaussian", "--ignore", LEFT_OUT)
QUAKES = ("example:earthquakes", "--model", "hmm", "--time", "year", "--columns", "count=poisson", "-k", "2")


def shares(model):
    """The sizes of classes, states or clusters."""
    for name in ("weights_", "occupancy_"):
        if hasattr(model, name):
            return getattr(model, name)
    return np.bincount(model.labels_) / len(model.labels_) if hasattr(model, "labels_") else None


def score(model):
    return model.loglik_ if hasattr(model, "loglik_") else model.inertia_


def check_code(page, folder, file_of_model="model.halfseen"):
    """Run the Python and the commands; both must lead to the model of the version that is shown."""
    expected = page.session.version().model
    code = page.get("code")
    for file in code["files"]:
        (folder / file["name"]).write_bytes(page.file(file["what"], version=file["version"]))
    there = {}
    exec(code["python"], there)
    for line in code["command"].splitlines():
        words = shlex.split(line)
        assert words[0] == "halfseen"
        run(*words[1:])
    for model in (there["model"], hs.load(folder / file_of_model)):
        assert score(model) == pytest.approx(score(expected), rel=1e-12)
        assert page.session.version().names == [str(name) for name in names_of(model)]
        if shares(expected) is not None and shares(model) is not None:
            assert_allclose(shares(model), shares(expected), rtol=1e-9)


def names_of(model):
    named = ("classes_", "class_names_", "state_names_", "cluster_names_")
    return next((getattr(model, name) for name in named if hasattr(model, name)), [])


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


# ---- code ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "changes"),
    [
        (("example:penguins", "--ignore", "species"), {"classes": "2", "columns": {"year": "gaussian"}}),
        (PENGUINS, {"classes": "2..3", "options": {"restarts": "3", "seed": "5", "prior": "1"}}),
        (("example:penguins", "--ignore", "year"), {"options": {"target": "species"}}),
        (QUAKES, {}),
        (("example:penguins", "--model", "kmeans", "-k", "3", "--ignore", LEFT_OUT), {}),
        (("example:votes", "--ignore", "party", "-k", "2"), {"missing": ["y"]}),
    ],
    ids=["classes", "gaussian", "classifier", "hmm", "kmeans", "missing"],
)
def test_the_code_of_a_fit_makes_it_again(folder, words, changes):
    with studio(*words) as page:
        if changes:
            page.post("spec", changes=changes)
        page.run()
        check_code(page, folder)


@pytest.mark.parametrize("names", [["Adelie", "Gen too", "it's"], ["-a", "b=c", "d"]])
def test_the_code_gives_names(folder, names):
    with studio(*PENGUINS, "-k", "3") as page:
        page.post("spec", changes={"options": {"restarts": "2"}})
        page.run()
        page.post("names", names=["x", "y", "z"])
        page.post("names", names=names)
        check_code(page, folder)


def test_the_code_uses_another_number_of_classes(folder):
    with studio(*PENGUINS, "-k", "1..4") as page:
        page.post("spec", changes={"options": {"restarts": "2"}})
        page.run()
        page.post("use", n_components=4)
        assert "--choose 4" in page.get("code")["command"]
        check_code(page, folder)
        page.post("names", names=["a", "b", "c", "d"])
        check_code(page, folder)
        assert ".choose(4)" in page.file("report").decode()


@pytest.mark.parametrize("data", ["example", "file"])
def test_the_code_knows_labels(folder, data):
    words = [*PENGUINS, "-k", "3"]
    if data == "file":
        hs.load_penguins().to_csv("a b.csv", index=False)
        words[0] = "a b.csv"
    with studio(*words) as page:
        page.post("spec", changes={"options": {"restarts": "2"}})
        page.run()
        page.post("names", names=["Adelie", "Gentoo", "Chinstrap"])
        for row, name in {308: "Adelie", 3: "Gentoo", 73: "Adelie"}.items():
            page.post("labels", row=row, label=name)
        page.run("refit")
        check_code(page, folder)
        page.post("labels", row=284, label="Adelie")
        page.post("labels", row=3, label=None)
        page.run("refit")
        page.post("names", names=["a", "b", "c"])
        assert len(page.get("code")["files"]) == 2
        check_code(page, folder)


def test_labels_of_a_mixed_table_come_as_they_were(folder):
    lines = [f"{'xyz'[i % 3]},{i % 4},{'' if i % 5 == 0 else i / 8},00{i % 2},label" for i in range(60)]
    (folder / "mixed.csv").write_text("\n".join(["a,b,c,code,label", *lines]) + "\n")
    with studio("mixed.csv", "-k", "2", "--ignore", "label") as page:
        page.run()
        page.post("labels", row=1, label="class 1")
        page.run("refit")
        [file] = page.get("code")["files"]
        assert file["name"] == "mixed labels 2.parquet"
        (folder / file["name"]).write_bytes(page.file("labels", version=2))
        frame = pd.read_parquet(folder / file["name"])
        assert frame["label_"].dropna().to_dict() == {1: "class 1"}
        assert frame["code"].tolist()[:2] == ["000", "001"]
        check_code(page, folder)


def test_the_code_of_a_model_that_was_opened_is_that_of_its_fit(folder, monkeypatch):
    words = ("fit", *PENGUINS, "-k", "2", "--restarts", "2", "-o", "my model.halfseen")
    monkeypatch.setattr("sys.argv", ["halfseen", *words])
    run(*words)
    with studio("my model.halfseen", "example:penguins") as page:
        page.post("names", names=["a", "b"])
        check_code(page, folder, "my model.halfseen")
        page.post("labels", row=3, label="a")
        page.run("refit")
        check_code(page, folder)


def test_a_model_that_was_fitted_in_python_says_so(folder):
    frame = hs.load_penguins()[["bill_length_mm", "bill_depth_mm"]]
    hs.save(hs.GaussianMixture(2, n_init=2, random_state=0).fit(frame), "m.halfseen")
    with studio("m.halfseen", "example:penguins") as page:
        found = page.get("code")
        assert found["command"] == "# This model was fitted in Python; model.halfseen is its file."
        assert found["notes"] == ["The model file does not say how its data were read: name them in place of the dots."]


def test_a_fit_that_was_stopped_says_so():
    with studio(*PENGUINS, "-k", "2") as page:
        page.run()
        version = page.session.version()
        version.model.stop_reason_ = "interrupted"
        vars(version).pop("summary")  # it was computed before
        assert page.get("code")["notes"] == ["The fit was stopped: run to its end, it may lead to another result."]


# ---- files -----------------------------------------------------------------------------------------------------------


def test_files_are_those_of_the_version_that_is_asked_for(folder):
    with studio(*PENGUINS, "-k", "2") as page:
        page.run()
        page.post("names", names=["small", "large"])
        for number, names in ((1, ["class 0", "class 1"]), (2, ["small", "large"])):
            (folder / "m.halfseen").write_bytes(page.file("model", version=number))
            model = hs.load(folder / "m.halfseen")
            assert list(model.class_names_) == names
            assert model.loglik_ == page.session.version().model.loglik_
            run("predict", "m.halfseen", "example:penguins", "-o", "rows.csv")
            assert page.file("rows", version=number) == (folder / "rows.csv").read_bytes()
            assert f"<h4>{names[0]}</h4>" in page.file("report", version=number).decode()
        assert page.refused("download/model", "GET", {"version": 3})[0] == 404


def test_names_of_files_are_plain():
    with studio(*QUAKES) as page:
        page.run()
        for what, name in {"rows": "earthquakes%20classes.csv", "report": "earthquakes.html"}.items():
            answer = page.client.get(f"/api/download/{what}")
            assert answer.headers["content-disposition"] == f"attachment; filename*=UTF-8''{name}"
            assert answer.headers["x-content-type-options"] == "nosniff"


def test_formulas_are_guarded_in_files_for_spreadsheets(folder):
    cells = ["=1+1", "+2+3", "-x", "@sum", "plain", "-3"]
    lines = [f"{cells[i % 6]},{i % 3},{i % 2 * 5 + i / 7}" for i in range(48)]
    (folder / "t.csv").write_text("\n".join(["=name,b,c", *lines]) + "\n")
    with studio("t.csv", "-k", "2", "--ignore", "=name") as page:
        page.run()
        page.post("names", names=["=cmd", "fine"])
        for content in (page.file("rows"), page.file("decisions", reject="0.1")):
            found = [line.split(",") for line in content.decode().splitlines()]
            assert found[0][0] == "'=name"
            assert [line[0] for line in found[1:7]] == ["'=1+1", "'+2+3", "'-x", "'@sum", "plain", "'-3"]
            assert {line[3] for line in found[1:]} == {"'=cmd", "fine"}
        run("fit", "t.csv", "-k", "2", "--ignore", "=name", "-o", "m.halfseen")
        run("rename", "m.halfseen", "0==cmd", "1=fine")
        run("predict", "m.halfseen", "t.csv", "--safe-csv", "-o", "rows.csv")
        assert page.file("rows") == (folder / "rows.csv").read_bytes()
