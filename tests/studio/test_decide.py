"""The screen Decide: decisions, counts and costs as the library has them; the file as the command line writes it."""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose

import halfseen as hs
from halfseen.studio.export import costs_csv
from tests.app.in_process import run
from tests.studio.served import studio

LEFT_OUT = "species,island,sex,year"
DATA = "example:penguins"
COST = [[0, 3.5, 1], [1, 0, 2.25], [1, 1, 0], [0.3, 0.3, 0.3]]
DECISIONS = ["class 0", "class 1", "class 2", "look, again"]
COSTS = {"cost": COST, "decisions": DECISIONS}


@pytest.fixture(scope="module")
def page():
    """A fitted session that no test changes."""
    with studio(DATA, "--model", "gaussian", "-k", "3", "--ignore", LEFT_OUT) as found:
        found.post("spec", changes={"options": {"restarts": "2"}})
        found.run()
        yield found


@pytest.fixture(scope="module")
def proba(page):
    return page.session.version().model.predict_proba(hs.load_penguins().drop(columns=LEFT_OUT.split(",")))


@pytest.fixture(scope="module")
def model_file(page, tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "m.halfseen"
    path.write_bytes(page.file("model"))
    return path


@pytest.mark.parametrize("reject", [None, 0.0, 0.1, 0.3, 1.0])
@pytest.mark.parametrize("costs", [{}, COSTS], ids=["0 and 1", "own"])
def test_decisions_are_those_of_the_library(page, proba, costs, reject):
    found = page.post("decide", **costs, reject=reject)
    decision, risk = hs.decide(proba, costs.get("cost"), reject, return_risk=True)
    n = len(costs.get("decisions", "abc"))
    assert found["counts"] == [int((decision == i).sum()) for i in range(n)] + [int((decision == -1).sum())]
    assert found["decisions"] == [*costs.get("decisions", page.get("state")["components"]), "reject"]
    assert sum(found["counts"]) == found["rows"] == len(proba)
    assert_allclose(found["risk"], risk.mean(), rtol=1e-12)
    assert_allclose(found["risk_without"], hs.bayes_risk(proba, costs.get("cost")), rtol=1e-12)
    assert found["most"] == (3.5 if costs else 1.0)


@pytest.mark.parametrize("costs", [{}, COSTS], ids=["0 and 1", "own"])
def test_the_curve_is_what_each_cost_of_not_deciding_leads_to(page, proba, costs):
    curve = page.post("decide", **costs, reject=0.2)["curve"]
    assert curve[0]["reject"] == 0
    assert curve[-1]["rejected"] == 0
    for point in curve[::9]:
        decision, risk = hs.decide(proba, costs.get("cost"), point["reject"], return_risk=True)
        assert point["rejected"] == (decision == -1).mean()
        assert_allclose(point["risk"], risk.mean(), rtol=1e-12)


@pytest.mark.parametrize("reject", [None, *np.linspace(0, 1, 6).tolist()])
@pytest.mark.parametrize("costs", [{}, COSTS], ids=["0 and 1", "own"])
def test_the_file_is_that_of_the_command_line(page, model_file, tmp_path, costs, reject):
    words = []
    if costs:
        (tmp_path / "costs.csv").write_text(costs_csv(["class 0", "class 1", "class 2"], (DECISIONS, COST)))
        words += ["--cost", tmp_path / "costs.csv"]
    if reject is not None:
        words += ["--reject", repr(reject)]
    run("predict", model_file, DATA, *words, "-o", tmp_path / "rows.csv")
    expected = (tmp_path / "rows.csv").read_bytes()
    posted = page.client.post("/api/download/decisions", json={**costs, "reject": reject})
    assert posted.content == expected
    assert posted.headers["content-disposition"] == "attachment; filename*=UTF-8''penguins%20decisions.csv"
    asked = {name: json.dumps(value) for name, value in {**costs, "reject": reject}.items() if value is not None}
    assert page.file("decisions", **asked) == expected


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({"cost": [[0, 1]], "decisions": ["a"]}, "a number for each of class 0, class 1, class 2"),
        ({"cost": [[0, 1, True]], "decisions": ["a"]}, "a number for each of"),
        ({"cost": [[0, 1, "x"]], "decisions": ["a"]}, "a number for each of"),
        ({"cost": [[0, 1, 1e301]], "decisions": ["a"]}, "a number for each of"),
        ({"cost": [], "decisions": []}, "a row of costs for each decision"),
        ({"cost": [[0, 1, 2]], "decisions": ["a", "b"]}, "a row of costs for each decision"),
        ({"cost": [[0, 1, 2]] * 2, "decisions": ["a", "a"]}, "a name of its own"),
        ({"cost": [[0, 1, 2]], "decisions": [" "]}, "a name of its own"),
        ({"cost": [[0, 1, 2]], "decisions": ["reject"]}, "give the decision another name"),
        ({"cost": "costs.csv"}, "a row of costs for each decision"),
        ({"reject": "0.3"}, "reject='0.3' is not a number"),
        ({"reject": True}, "reject=True is not a number"),
        ({"version": 9}, "no model number 9"),
    ],
)
def test_costs_that_cannot_be_are_refused(page, body, told):
    for path in ("decide", "download/decisions"):
        status, words = page.refused(path, **body)
        assert (status, told in words) == (404 if "version" in body else 422, True), words


def test_costs_in_the_address_must_be_json(page):
    assert page.refused("download/decisions", "GET", {"cost": "[[1"}) == (422, "cost='[[1' is not JSON.")


def test_steps_are_decided_by_their_states():
    words = ("example:earthquakes", "--model", "hmm", "--time", "year", "--columns", "count=poisson", "-k", "2")
    with studio(*words) as page:
        page.run()
        found = page.post("decide", reject=0.2)
        model = page.session.version().model
        proba = model.predict_proba(hs.load_earthquakes()[["count"]])
        assert found["counts"][-1] == int((hs.decide(proba, reject=0.2) == -1).sum()) > 0


def test_there_are_no_decisions_without_probabilities():
    with studio(DATA, "--model", "kmeans", "-k", "2", "--ignore", LEFT_OUT) as page:
        page.run()
        assert "decide" not in [screen["key"] for screen in page.get("state")["screens"]]
        assert page.refused("decide")[0] == 422
