"""The screen Compare: figures side by side, numbers of classes that were tried, agreement of versions, the test."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics import adjusted_rand_score

import halfseen as hs
from tests.studio.served import studio

LEFT_OUT = "species,island,sex,year"
PENGUINS = ("example:penguins", "--model", "gaussian", "-k", "1..3", "--ignore", LEFT_OUT)


@pytest.fixture(scope="module")
def birds():
    return hs.load_penguins().drop(columns=LEFT_OUT.split(","))


@pytest.fixture
def page():
    with studio(*PENGUINS) as found:
        found.post("spec", changes={"options": {"restarts": "2"}})
        found.run()
        yield found


def test_numbers_of_classes_are_those_that_were_tried(page):
    found = page.get("compare")
    tried = page.session.version().model.selection_.to_pandas()
    assert [row["n_components"] for row in found["tried"]] == [1, 2, 3]
    for name in ("loglik", "bic", "aic", "icl", "entropy", "n_starts", "n_reached_best", "chosen"):
        assert [row[name] for row in found["tried"]] == tried[name].tolist()
    assert [row["usable"] for row in found["tried"]] == [not row["chosen"] for row in found["tried"]]
    assert (found["criterion"], found["can_test"], found["test"]) == ("bic", True, None)


def test_another_number_is_used_without_a_fit(page, birds):
    first = page.session.version().model
    state = page.post("use", n_components=2)
    assert (state["version"], state["job"], len(state["components"])) == (2, None, 2)
    version = page.session.version()
    assert version.model.loglik_ == first.choose(2).loglik_ == state["versions"][-1]["loglik"]
    assert (version.parent, version.how) == (1, "number of classes")
    row = page.get("compare")["tried"][1]
    assert (row["chosen"], row["usable"]) == (True, False)
    assert (state["versions"][-1]["starts"], state["versions"][-1]["agree"]) == (row["n_starts"], row["n_reached_best"])
    assert [one["preferred"] for one in page.get("compare")["tried"]] == [False, False, True]
    assert page.post("undo")["version"] == 1
    assert page.session.version().model is first


@pytest.mark.parametrize("size", [7, 0, "x", None])
def test_only_numbers_that_were_tried_can_be_used(page, size):
    assert page.refused("use", n_components=size)[0] == 422
    assert len(page.session.versions) == 1


def test_a_model_from_a_file_has_no_other_numbers(page, tmp_path):
    path = tmp_path / "m.halfseen"
    path.write_bytes(page.file("model"))
    with studio(path, "example:penguins") as other:
        assert not any(row["usable"] for row in other.get("compare")["tried"])
        assert other.refused("use", n_components=2)[0] == 422


def test_versions_stand_side_by_side(page):
    page.post("use", n_components=2)
    found = page.get("compare", versions="2,1")
    assert (found["versions"], found["head"]) == ([2, 1], ["", "2: 2 classes", "1: 3 classes"])
    figures = {title: cells for title, *cells in found["rows"]}
    assert figures["Log-likelihood"] == [version.summary["loglik"] for version in reversed(page.session.versions)]
    assert page.get("compare")["versions"] == [1, 2]
    assert page.refused("compare", "GET", {"versions": "1,9"}) == (404, "There is no model number 9.")
    assert page.refused("compare", "GET", {"versions": "1;2"})[0] == 422
    assert page.refused("compare", "GET", {"versions": "1,2,3,4,5,6,7"})[0] == 422


def test_clusters_have_inertia_and_no_likelihood():
    with studio("example:penguins", "--model", "kmeans", "-k", "3", "--ignore", LEFT_OUT) as page:
        page.run()
        figures = dict(page.get("compare")["rows"])
        assert figures["Inertia"] == page.session.version().model.inertia_
        assert "BIC" not in figures
        assert page.get("compare")["tried"] == []
        assert page.refused("test", draws=9)[0] == 422


def test_agreement_is_counted_row_by_row(page, birds):
    page.post("use", n_components=2)
    [pair] = page.get("compare")["agreement"]
    first, second = (version.model.predict(birds) for version in page.session.versions)
    counts = np.zeros((3, 2), dtype=int)
    np.add.at(counts, (first, second), 1)
    assert (pair["a"], pair["b"], pair["counts"]) == (1, 2, counts.tolist())
    assert_allclose(pair["rand"], adjusted_rand_score(first, second))
    assert (pair["rows"], pair["columns"], pair["same"]) == (
        ["class 0", "class 1", "class 2"],
        ["class 0", "class 1"],
        None,
    )


def test_the_test_is_that_of_the_library(page, birds):
    revision = page.get("state")["revision"]
    page.post("use", n_components=2)
    state = page.run("test", draws=4)
    expected = hs.blrt(page.session.version().model, birds, 4, random_state=0)
    found = page.get("compare")["test"]
    assert (found["p"], found["draws"]) == (expected.p, 4)
    assert found["lr"] == pytest.approx(expected.statistic, rel=1e-9)
    assert state["revision"] > revision + 1  # pages ask anew
    page.post("show", version=1)
    assert page.get("compare")["test"] is None


@pytest.mark.parametrize("draws", [1, 0, 10**6, "9", True, 2.5])
def test_a_number_of_draws_that_cannot_be_is_refused(page, draws):
    assert page.refused("test", draws=draws)[0] == 422


def test_nothing_is_compared_before_there_is_a_model():
    with studio("example:penguins") as page:
        assert page.refused("compare", "GET")[0] == 404
