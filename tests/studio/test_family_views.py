"""Views of families as the server answers them: with the data of the session, kept between questions; rows of it."""

import numpy as np
import pytest

import halfseen as hs
from halfseen.errors import ParameterError
from halfseen.families.hmm import studio as hmm
from halfseen.studio.refusal import NotThere
from halfseen.studio.routes import Ask, answer
from halfseen.studio.session import Session
from halfseen.studio.spec import Spec
from tests.studio.served import studio


def asked(session, name, **ask):
    return answer("POST", "view", Ask(session, {}, {"name": name, "ask": ask}))


@pytest.fixture
def pump(tmp_path):
    """A session with a hidden Markov model of two pumps, and the file of their steps, which is in another order."""
    rng = np.random.default_rng(0)
    heat = {"a": [*rng.normal(0, 1, 6), *rng.normal(5, 1, 4)], "b": [*rng.normal(5, 1, 5), *rng.normal(0, 1, 5)]}
    rows = [(t, name, heat[name][t]) for t in range(10) for name in ("a", "b")]
    path = tmp_path / "pumps.csv"
    path.write_text("\n".join(["t,pump,heat", *(",".join(map(str, row)) for row in rows)]))
    table = hs.open_table(str(path))
    model = hs.HMM(2, random_state=0, n_init=2).fit(table, groups="pump", time="t")
    with_data = Session(Spec((str(path),), "hmm", "2", options={"group": "pump", "time": "t"}), model)
    yield with_data
    with_data.close()


def test_a_timeline_of_the_file_of_the_session(pump):
    model, [path] = pump.version().model, pump.spec.data
    found = asked(pump, "timeline", sequence="b")
    proba = model.predict_proba(hs.open_table(path), groups="pump", time="t")
    np.testing.assert_allclose(found["probabilities"], proba[1::2], rtol=1e-12)  # rows of the file take turns
    assert found["times"] == list(range(10))
    assert pump.state()["components"] == [str(name) for name in model.state_names_]
    assert {"key": "timeline", "title": "Timeline"} in pump.state()["screens"]


def test_what_a_view_found_is_kept_between_questions(pump, monkeypatch):
    first = asked(pump, "timeline")
    monkeypatch.setattr(hmm, "scored", lambda *_: pytest.fail("scored again"))
    assert asked(pump, "timeline") == first


def test_rows_of_the_file_have_their_states(pump):
    model, [path] = pump.version().model, pump.spec.data
    [table] = pump.version().answers(pump.request("predict", pump.version()))
    proba = model.predict_proba(hs.open_table(path), groups="pump", time="t")
    assert table["class"].to_pylist() == [model.state_names_[k] for k in proba.argmax(axis=1)]
    np.testing.assert_array_equal(table["certainty"], proba.max(axis=1))
    np.testing.assert_array_equal(table["p1"], proba[:, 1])


def test_views_that_there_are_not_and_questions_that_cannot_be(pump):
    with pytest.raises(NotThere, match="hidden Markov models have no view 'graph'"):
        asked(pump, "graph")
    with pytest.raises(ParameterError, match="sequence=9"):
        asked(pump, "timeline", sequence=9)


def test_a_network_without_data():
    net = hs.BayesNet.from_params({"rain": [0.8, 0.2], "wet": [[0.9, 0.1], [0.2, 0.8]]}, [("rain", "wet")])
    session = Session(Spec(()), net)
    assert asked(session, "marginals", evidence={"wet": "1"})["marginals"]["wet"] == [0.0, 1.0]
    assert (session.state()["components"], session.version().has_answers) == ([], False)
    session.close()


def test_the_hidden_variable_of_a_network_names_the_rows(tmp_path):
    rng = np.random.default_rng(0)
    hidden = rng.integers(0, 2, 200)
    items = {name: np.where(rng.random(200) < 0.9, hidden, 1 - hidden) for name in "ABC"}
    path = tmp_path / "items.csv"
    path.write_text(
        "\n".join([",".join(items), *(",".join(map(str, row)) for row in zip(*items.values(), strict=True))])
    )
    edges = [("H", name) for name in items]
    model = hs.BayesNet(edges, hidden={"H": 2}, n_init=2, random_state=0).fit(hs.open_table(str(path)))
    session = Session(Spec((str(path),), "class-network", ""), model)
    assert session.state()["components"] == [str(state) for state in model.states_["H"]]
    [table] = session.version().answers(session.request("predict", session.version()))
    proba = model.predict_proba(hs.open_table(str(path)))
    np.testing.assert_array_equal(table["p0"], proba[:, 0])
    assert table["class"].to_pylist() == [str(model.states_["H"][k]) for k in proba.argmax(axis=1)]
    session.close()


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("words", "screen"),
    [
        (["example:votes", "--model", "party -> crime; party -> immigration"], "network"),
        (["example:pairs.de", "example:pairs.en", "--model", "words"], "links"),
        (["example:english.txt", "--model", "example:english.cfg"], "trees"),
    ],
    ids=["network", "words", "grammar"],
)
def test_models_without_a_number_of_classes_are_fitted(words, screen):
    with studio(*words) as page:
        state = page.run()
        assert state["version"] == 1
        assert screen in [one["key"] for one in state["screens"]]
        assert "--classes" not in page.get("code")["command"]


@pytest.mark.thorough
@pytest.mark.parametrize("words", [["class-network", "-k", "2"], ["party -> crime; party -> immigration"]])
def test_screens_of_networks_that_are_of_classes_too(words):
    with studio("example:votes", "--model", *words) as page:
        page.run()
        assert page.get("scatter") == {"columns": [], "points": []}
        assert page.get("compare")["tried"] == []
        for path in ("classes", "sections", "columns", "code"):
            page.get(path)
