"""The screen Classes: what the report says, rows as points, reasons, names, labels; all of it that of the library."""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose

import halfseen as hs
from tests.studio.served import studio

LEFT_OUT = "species,island,sex,year"
PENGUINS = ("example:penguins", "--model", "gaussian", "-k", "3", "--ignore", LEFT_OUT)
UNSURE = json.dumps({"sort": {"column": "(certainty)", "descending": False}})


@pytest.fixture(scope="module")
def birds():
    frame = hs.load_penguins()
    return frame.drop(columns=LEFT_OUT.split(","))


@pytest.fixture(scope="module")
def seen():
    """A fitted session that no test changes."""
    with studio(*PENGUINS) as found:
        found.run()
        yield found


@pytest.fixture
def page():
    with studio(*PENGUINS) as found:
        found.post("spec", changes={"options": {"restarts": "2"}})
        found.run()
        yield found


def model_of(page):
    return page.session.version().model


def kinds_of(part):
    inner = [kind for one in part.get("parts", ()) for kind in kinds_of(one)]
    return [part["kind"], *inner]


# ---- what the report says --------------------------------------------------------------------------------------------


def test_cards_are_the_classes_of_the_model(seen):
    found, model = seen.get("classes"), model_of(seen)
    assert [card["name"] for card in found["cards"]] == found["names"] == ["class 0", "class 1", "class 2"]
    assert [card["share"] for card in found["cards"]] == model.weights_.tolist()
    assert [card["k"] for card in found["cards"]] == [0, 1, 2]
    assert all(found[name] for name in ("labels", "can_rename", "can_say_why", "has_errors"))


def test_the_heat_map_is_that_of_the_report(seen):
    heat = seen.get("classes")["heat"]
    page = seen.file("report").decode()
    assert [row["group"] for row in heat["rows"]] == list(model_of(seen).columns_)
    assert heat["head"][3:] == [{"text": f"class {k}", "k": k} for k in range(3)]
    for row in heat["rows"]:
        for cell in row["cells"]:
            assert f'title="{cell["note"]}"' in page
            assert -1 <= cell["tone"] <= 1
    assert heat["lead"] in page


def test_summary_and_checks_are_those_of_the_report(seen):
    found, page = seen.get("classes"), seen.file("report").decode()
    assert found["summary"] in page
    assert all(check["name"] in page for check in found["checks"])
    assert [check["fine"] for check in found["checks"]] == sorted(check["fine"] for check in found["checks"])


def test_other_sections_come_without_pictures_and_without_what_other_screens_show(seen):
    sections = seen.get("sections")["sections"]
    assert [section["key"] for section in sections] == ["trust", "missing", "rows", "methods"]
    kinds = {kind for section in sections for part in section["parts"] for kind in kinds_of(part)}
    assert kinds <= {"text", "grid", "beside"}


def test_standard_errors_are_those_of_the_library(seen, birds):
    found = seen.get("errors")
    expected = hs.standard_errors(model_of(seen), birds).to_frame().to_pandas()
    assert found["head"] == list(expected)
    assert len(found["rows"]) == len(expected)
    place = found["head"].index("se")
    assert_allclose(
        [np.nan if row[place] is None else row[place] for row in found["rows"]], expected["se"].to_numpy(), rtol=1e-9
    )


def test_a_classifier_is_shown_with_its_classes_and_takes_no_labels():
    with studio("example:penguins", "--ignore", "year") as page:
        page.post("spec", changes={"options": {"target": "species"}})
        page.run()
        found = page.get("classes")
        assert [card["name"] for card in found["cards"]] == ["Adelie", "Chinstrap", "Gentoo"]
        assert found["labels"] is False
        assert "classifier" in [section["key"] for section in page.get("sections")["sections"]]
        assert page.refused("labels", row=1, label="Adelie")[0] == 422


def test_clusters_have_rows_but_neither_certainty_nor_reasons():
    with studio("example:penguins", "--model", "kmeans", "-k", "3", "--ignore", LEFT_OUT) as page:
        page.run()
        found = page.get("classes")
        assert [card["name"] for card in found["cards"]] == [f"cluster {k}" for k in range(3)]
        assert not any(found[name] for name in ("labels", "can_say_why", "has_errors"))
        assert found["heat"]["caption"].startswith("Centre of each cluster")
        rows = page.get("rows", view=json.dumps({"class": "cluster 1"}))
        assert {row["class"] for row in rows["rows"]} == {"cluster 1"}
        assert {row["certainty"] for row in rows["rows"]} == {None}
        for path in ("why", "errors"):
            assert page.refused(path, "GET", {"row": 1})[0] == 422


def test_states_have_profiles_though_their_report_has_none():
    words = ("example:earthquakes", "--model", "hmm", "--time", "year", "--columns", "count=poisson", "-k", "2")
    with studio(*words) as page:
        page.run()
        heat = page.get("classes")["heat"]
        assert heat["caption"] == "Profile of each state beside the whole table"
        assert [row["group"] for row in heat["rows"]] == ["count"]
        assert page.get("scatter") == {"columns": ["count"], "points": []}
        assert page.refused("why", "GET", {"row": 1}) == (422, "hidden Markov models do not say why.")


# ---- points ----------------------------------------------------------------------------------------------------------


def test_points_are_the_rows_of_the_file_in_their_classes(seen, birds):
    found = seen.get("scatter", x="body_mass_g", y="bill_depth_mm")
    rows = [row for *_, row in found["points"]]
    assert_allclose([point[:2] for point in found["points"]], birds.loc[rows, ["body_mass_g", "bill_depth_mm"]])
    assert [point[2] for point in found["points"]] == model_of(seen).predict(birds)[rows].tolist()
    assert (len(rows), found["left_out"], found["n_given"]) == (342, 2, 344)


def test_a_sample_of_points_keeps_the_numbers_of_its_rows(page, birds, monkeypatch):
    monkeypatch.setattr("halfseen.studio.views.classes.MOST_POINTS", 50)
    found = page.get("scatter", x="body_mass_g", y="bill_depth_mm")
    rows = [row for *_, row in found["points"]]
    assert len(rows) <= 50 < found["n_given"]
    assert_allclose([point[0] for point in found["points"]], birds.loc[rows, "body_mass_g"])


def test_outlines_are_at_one_and_two_standard_deviations(seen):
    found, model = seen.get("scatter", x="body_mass_g", y="bill_depth_mm"), model_of(seen)
    places = [list(model.columns_).index(name) for name in ("body_mass_g", "bill_depth_mm")]
    for outline in found["outlines"]:
        k = outline["component"]
        assert_allclose(outline["centre"], model.means_[k][places])
        inverse = np.linalg.inv(model.covariances_[k][np.ix_(places, places)])
        for path, far in zip(outline["paths"], (1, 2), strict=True):
            apart = np.array(path) - outline["centre"]
            assert_allclose(np.einsum("ni,ij,nj->n", apart, inverse, apart), far**2, rtol=1e-9)


def test_the_columns_that_tell_most_come_first(seen):
    found = seen.get("scatter")
    assert {found["x"], found["y"]} == {"flipper_length_mm", "bill_length_mm"}
    assert seen.get("scatter", x="bill_length_mm")["y"] != "bill_length_mm"
    assert seen.refused("scatter", "GET", {"x": "wings"}) == (422, "'wings' cannot be drawn.")


# ---- rows and reasons ------------------------------------------------------------------------------------------------


def test_rows_of_a_class_come_with_the_least_certain_first(seen, birds):
    proba = model_of(seen).predict_proba(birds)
    view = {**json.loads(UNSURE), "class": "class 2"}
    found = seen.get("rows", view=json.dumps(view))
    own = np.flatnonzero(proba.argmax(axis=1) == 2)
    assert found["total"] == len(own)
    assert [row["row"] for row in found["rows"]] == sorted(own.tolist(), key=lambda row: (proba[row].max(), row))
    assert_allclose([row["certainty"] for row in found["rows"]], [proba[row["row"]].max() for row in found["rows"]])
    assert found["types"][found["names"].index("species")] == "text"


def test_reasons_add_up_to_the_log_odds(seen, birds):
    found, proba = seen.get("why", row=308), model_of(seen).predict_proba(birds)[308]
    assert_allclose([one["p"] for one in found["proba"]], proba)
    first, second = np.argsort(-proba)[:2]
    assert (found["target"], found["against"]) == (f"class {first}", f"class {second}")
    assert_allclose(found["log_odds"], np.log(proba[first] / proba[second]), rtol=1e-9)
    assert_allclose(sum(part["part"] for part in found["parts"]) + found["together"], found["log_odds"])
    assert found["label"] is None


def test_reasons_are_against_any_other_class(seen):
    (other,) = {"class 0", "class 1", "class 2"} - {seen.get("why", row=308)[side] for side in ("target", "against")}
    assert seen.get("why", row=308, against=other)["against"] == other
    status, words = seen.refused("why", "GET", {"row": 308, "against": "nobody"})
    assert (status, "not one of the classes" in words) == (422, True)


def test_missing_cells_give_no_reason(seen):
    found = seen.get("why", row=3)
    assert found["missing"] == list(model_of(seen).columns_)
    assert [part["column"] for part in found["parts"]] == ["(share)"]


@pytest.mark.parametrize("row", ["344", "-1", "x", ""])
def test_reasons_need_a_row_of_the_file(seen, row):
    assert seen.refused("why", "GET", {"row": row})[0] == 422


def test_reasons_name_the_words_of_a_text(tmp_path):
    path = tmp_path / "t.csv"
    lines = ["good sun,a", "good warm sun,a", "bad rain,b", "bad cold rain,b"] * 10
    path.write_text("text,letter\n" + "\n".join(lines) + "\n")
    with studio(path, "-k", "2", "--columns", "text=text") as page:
        page.run()
        words = dict(page.get("why", row=1)["words"]["text"])
        assert set(words) == {"good", "warm", "sun"}
        assert words["sun"] > 0


# ---- names -----------------------------------------------------------------------------------------------------------


def test_names_are_seen_everywhere(page, tmp_path):
    names = ["Adelie", "Gentoo", "<img src=x onerror=alert(1)>"]
    state = page.post("names", names=[f" {name} " for name in names])
    assert state["components"] == names
    found = page.get("classes")
    assert [card["name"] for card in found["cards"]] == names
    assert [cell["text"] for cell in found["heat"]["head"][3:]] == names
    assert page.get("scatter")["classes"] == names
    assert {row["class"] for row in page.get("rows")["rows"]} <= set(names)
    report = page.file("report").decode()
    assert "Gentoo" in report
    assert "<img src=x" not in report
    path = tmp_path / "m.halfseen"
    path.write_bytes(page.file("model"))
    assert list(hs.load(path).class_names_) == names


@pytest.mark.parametrize("names", [["a", "b"], ["a", "a", "b"], ["a", "", "b"], [1, 2, 3], "abc", None])
def test_names_that_cannot_be_change_nothing(page, names):
    assert page.refused("names", names=names)[0] == 422
    assert page.get("state")["components"] == ["class 0", "class 1", "class 2"]


def test_names_keep_labels_that_were_not_fitted_yet(page):
    page.post("labels", row=308, label="class 0")
    state = page.post("names", names=["a", "b", "c"])
    assert (state["labels"], state["pending"]) == ({"308": "a"}, True)


# ---- labels ----------------------------------------------------------------------------------------------------------

LABELS = {308: "class 0", 3: "class 1", 73: "class 0"}


@pytest.fixture
def labelled(page):
    for row, name in LABELS.items():
        page.post("labels", row=row, label=name)
    page.run("refit")
    return page


def test_a_fit_with_labels_is_that_of_python(labelled, birds):
    first, second = labelled.session.versions
    labels = [LABELS.get(row) for row in range(len(birds))]
    expected = hs.GaussianMixture(3, random_state=0).fit(
        birds, labels=labels, classes=list(first.model.class_names_), begin=first.model
    )
    assert second.model.loglik_ == pytest.approx(expected.loglik_, rel=1e-12)
    assert_allclose(second.model.weights_, expected.weights_, rtol=1e-9)
    assert second.summary["labels"] == 3


def test_labelled_rows_are_certain_of_their_class(labelled):
    found = labelled.get("rows", view=json.dumps({"labelled": True}))
    assert {row["row"]: row["class"] for row in found["rows"]} == LABELS
    assert {row["certainty"] for row in found["rows"]} == {1.0}
    view = {**json.loads(UNSURE), "class": "class 1"}
    own = {row["row"]: row["certainty"] for row in labelled.get("rows", view=json.dumps(view))["rows"]}
    assert own[3] == 1.0  # it is found in the class that it was given


def test_undo_brings_back_the_model_before_the_labels(labelled):
    before = labelled.session.versions[0].summary["loglik"]
    state = labelled.post("undo")
    assert (state["version"], state["pending"], len(state["labels"])) == (1, True, 3)
    assert state["versions"][0]["loglik"] == before
    for left in (2, 1, 0):
        assert len(labelled.post("undo")["labels"]) == left
    state = labelled.get("state")
    assert (state["pending"], state["undo"]) == (False, "fit")
    for _ in range(4):
        state = labelled.post("redo")
    assert (state["version"], len(state["labels"]), state["redo"]) == (2, 3, None)


def test_labels_are_taken_away_by_another_fit(labelled):
    for row in LABELS:
        state = labelled.post("labels", row=row, label=None)
    assert state["pending"]
    state = labelled.run("refit")
    assert (state["labels"], state["pending"]) == ({}, False)
    assert state["versions"][-1]["loglik"] == pytest.approx(state["versions"][0]["loglik"], abs=1e-5)


def test_labels_set_while_a_fit_runs_are_kept(page):
    page.post("labels", row=308, label="class 0")
    page.post("refit", 202)
    page.post("labels", row=3, label="class 1")
    assert page.session.jobs.wait(60)
    state = page.get("state")
    assert state["labels"] == {"308": "class 0", "3": "class 1"}
    assert state["versions"][-1]["labels"] in (1, 2)  # by which was first
    assert state["versions"][-1]["parent"] == 1


def test_labels_work_whatever_the_search_was(birds):
    with studio(*PENGUINS) as page:
        page.post("spec", changes={"classes": "1..3", "options": {"restarts": "4", "criterion": "aic"}})
        page.run()
        page.post("labels", row=308, label="class 0")
        assert page.run("refit")["versions"][-1]["labels"] == 1


def test_refitting_needs_labels_that_are_new(labelled):
    status, words = labelled.refused("refit")
    assert (status, "set or change one first" in words) == (422, True)


# ---- codes for missing values ----------------------------------------------------------------------------------------


def test_what_is_shown_follows_the_codes_for_missing_values(page):
    before = page.get("scatter")["left_out"], page.post("decide")["counts"], page.get("classes")["checks"]
    page.post("spec", changes={"missing": ["39.1", "181"]})
    after = page.get("scatter")["left_out"], page.post("decide")["counts"], page.get("classes")["checks"]
    assert after[0] > before[0]
    assert after[2] != before[2]
    page.post("undo")
    again = page.get("scatter")["left_out"], page.post("decide")["counts"], page.get("classes")["checks"]
    assert again == before
