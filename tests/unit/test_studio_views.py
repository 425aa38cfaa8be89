"""Views of families for the studio: equal to what the library itself says, thinned without loss, refused in words."""

import json

import numpy as np
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import halfseen as hs
from halfseen.app import views
from halfseen.errors import DataError, ParameterError
from halfseen.families.grammar import studio as grammar
from halfseen.families.hmm import studio as hmm
from halfseen.families.hmm.thinning import Points
from halfseen.families.network import cli as network_cli
from halfseen.families.network import studio as network
from halfseen.families.transcript import studio as transcript
from halfseen.families.words import studio as words


def is_json(answer):
    """An answer is made of values that JSON has, without NaN, and comes back as it is."""
    return json.loads(json.dumps(answer, allow_nan=False)) == answer


# ---- what they share -------------------------------------------------------------------------------------------------


def test_a_memo_keeps_the_latest_results():
    memo = {}
    for key in [*range(views.KEPT), 0, "new"]:
        views.remembered(memo, key, lambda key=key: key)
    assert list(memo) == [2, 3, 0, "new"]
    assert views.remembered(memo, 0, lambda: "made again") == 0
    assert views.remembered(memo, 1, lambda: "made again") == "made again"


@pytest.mark.parametrize(
    ("read", "message"),
    [
        (lambda ask: views.whole(ask, "a", 1), "a='x' is not a whole number of at least 0"),
        (lambda ask: views.whole(ask, "b", None), "b=None is not a whole number"),
        (lambda ask: views.whole(ask, "yes", 1), "yes=True is not a whole number"),
        (lambda ask: views.text(ask, "five"), "five=5 is not a text"),
        (lambda ask: views.text(ask, "a", longest=0), "a: the text has 1 letters; at most 0"),
        (lambda ask: views.word(ask, "a", ("y", "z"), "y"), "a='x' is not one of y, z"),
        (lambda ask: views.flag(ask, "five"), "five=5 is not true or false"),
        (lambda ask: views.page(ask | {"count": 21}, most=20), "count=21 is not a whole number from 1 to 20"),
        (lambda ask: views.check_ask([1]), r"the question \[1\] is not a mapping"),
    ],
)
def test_values_of_a_question_are_checked(read, message):
    with pytest.raises(ParameterError, match=message):
        read({"a": "x", "yes": True, "five": 5})


@pytest.mark.parametrize(
    "module", [hmm, network, words, grammar, transcript], ids=lambda module: module.__name__.split(".")[-2]
)
def test_every_view_refuses_what_it_does_not_know(module):
    assert [len(screen) for screen in module.SCREENS] == [2]
    for view in module.VIEWS.values():
        with pytest.raises(ParameterError, match="'strange' is no part of this question"):
            view(None, None, {"strange": 1})


# ---- sequences -------------------------------------------------------------------------------------------------------


def panel():
    """Two sequences with dates, a column of numbers with a missing cell and one of categories."""
    days = np.arange("2026-01-30", "2026-02-07", dtype="datetime64[D]")
    rng = np.random.default_rng(0)
    heat = [*rng.normal(0, 1, 4), *rng.normal(5, 1, 4), *rng.normal(5, 1, 3), *rng.normal(0, 1, 5)]
    heat[2] = float("nan")
    return pa.table(
        {
            "city": ["Oslo"] * 8 + ["Lima"] * 8,
            "day": pa.array(np.concatenate([days, days])),
            "heat": pa.array(heat, from_pandas=True),
            "sky": list("aaababbb" + "bbbaaaba"),
        }
    )


@pytest.fixture(scope="module")
def weather():
    table = panel()
    return hs.HMM(2, emission="auto", random_state=0).fit(table, groups="city", time="day"), table


def test_a_list_of_sequences(weather):
    model, table = weather
    found = hmm.sequences(model, table, {})
    assert is_json(found)
    assert (found["total"], found["matching"], found["steps"], found["longest"]) == (2, 2, 16, 8)
    assert found["sequences"][1] == {
        "number": 1, "name": "Lima", "steps": 8, "first": "2026-01-30", "last": "2026-02-06",
    }  # fmt: skip
    assert (found["group"], found["time"]) == ("city", "day")
    assert found["columns"][1] == {"name": "sky", "kind": "categorical", "levels": ["a", "b"]}
    assert_array_equal([state["share"] for state in found["states"]], model.occupancy_)
    assert [one["name"] for one in hmm.sequences(model, table, {"find": "lIm"})["sequences"]] == ["Lima"]
    assert hmm.sequences(model, table, {"start": 1, "count": 5})["sequences"] == found["sequences"][1:]


@pytest.mark.parametrize("which", [1, "Lima"])
def test_a_timeline_has_what_the_library_says(weather, which):
    model, table = weather
    found = hmm.timeline(model, table, {"sequence": which, "from": 2, "to": 7})
    assert is_json(found)
    rows, lima = slice(8 + 2, 8 + 7), table.slice(8)  # beside other sequences, matrix products may round otherwise
    assert_array_equal(found["probabilities"], model.predict_proba(lima)[2:7])
    assert_allclose(found["probabilities"], model.predict_proba(table)[rows], rtol=1e-12)
    assert_array_equal(found["path"], model.predict(table)[rows])
    assert found["loglik"] == model.score_samples(lima)[0]
    assert (found["thinned"], found["steps"], found["length"], found["axis"]) == (1, [2, 3, 4, 5, 6], 8, "date")
    assert (found["times"][0], found["last_time"]) == ("2026-02-01", "2026-02-05")
    heat, sky = found["columns"]
    assert heat["values"] == table["heat"].to_pylist()[rows]
    assert [sky["levels"][code] for code in sky["codes"]] == table["sky"].to_pylist()[rows]
    params = model.params_
    assert_array_equal(heat["means"], params["heat"]["mean"])
    assert_allclose(heat["sds"], params["heat"]["sd"], rtol=1e-12)
    assert_array_equal(sky["shares"], np.stack([params["sky"]["a"], params["sky"]["b"]], axis=1))


def test_missing_cells_are_none(weather):
    model, table = weather
    assert hmm.timeline(model, table, {})["columns"][0]["values"][2] is None
    cells = hs.HMM.from_params([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], {"x": {"a": [0.9, 0.2], "b": [0.1, 0.8]}})
    assert hmm.timeline(cells, ["a", None, "b"], {})["columns"][0]["codes"] == [0, None, 1]


def test_columns_are_those_asked_for(weather):
    model, table = weather
    for view in (hmm.timeline, hmm.forecast):
        assert [one["name"] for one in view(model, table, {"columns": ["sky"]})["columns"]] == ["sky"]
        assert view(model, table, {"columns": []})["columns"] == []
        with pytest.raises(ParameterError, match=r"'cold' is not a column of the model\. Columns: heat, sky"):
            view(model, table, {"columns": ["cold"]})
        with pytest.raises(ParameterError, match="columns='sky' is not a list"):
            view(model, table, {"columns": "sky"})


def spiky(n=10_000):
    """A long sequence with one high and one low step, which also visits the second state once."""
    values = np.zeros(n)
    values[[4321, 8765]] = 50.0, -50.0
    values[1234] = np.nan
    model = hs.HMM.from_params([0.9, 0.1], [[0.9, 0.1], [0.9, 0.1]], {"x": {"mean": [0, 50], "sd": [30, 1]}})
    return model, values


def test_a_thinned_timeline_keeps_every_spike():
    model, values = spiky()
    found = hmm.timeline(model, values, {"points": 400})
    assert is_json(found)
    assert found["thinned"] == 32
    assert len(found["steps"]) <= 400
    [column] = found["columns"]
    assert (max(column["high"]), min(column["low"])) == (50.0, -50.0)
    resp = model.predict_proba(values)
    assert_array_equal(np.max(found["highest"], axis=0), resp.max(axis=0))
    assert_allclose(found["probabilities"][3], resp[96:128].mean(axis=0), rtol=1e-12)
    assert_allclose(np.sum(found["probabilities"], axis=1), 1.0, rtol=1e-12)
    point = 4321 // 32
    assert (found["path"][point], found["path_states"][point], sum(found["path_states"])) == (
        0,
        2,
        len(found["path"]) + 1,
    )


def test_points_do_not_depend_on_the_window():
    model, values = spiky()
    memo = {}
    whole = hmm.timeline(model, values, {"from": 0, "to": 9_000, "points": 300}, memo)
    moved = hmm.timeline(model, values, {"from": 17, "to": 9_017, "points": 300}, memo)
    assert whole["thinned"] == moved["thinned"]
    assert moved["steps"][0] == 17
    assert moved["steps"][1:200] == whole["steps"][1:200]
    assert moved["columns"][0]["high"][1:200] == whole["columns"][0]["high"][1:200]
    assert (whole["from"], whole["to"], moved["from"], moved["to"]) == (0, 9_000, 17, 9_017)


@pytest.mark.parametrize(("first", "last", "most"), [(0, 1, 2), (0, 7, 2), (5, 1000, 10), (1023, 1025, 2), (3, 4, 2)])
def test_points_cover_all_steps_once(first, last, most):
    points = Points(first, last, most)
    covered = np.concatenate([np.arange(s, s + n) for s, n in zip(points.steps, points.sizes, strict=True)])
    assert_array_equal(covered, np.arange(first, last))
    assert len(points.steps) <= most
    assert points.sizes.max() <= points.width


def test_the_commonest_category_of_points_of_which_one_has_none():
    found = Points(0, 6, 2).commonest(np.array([1, 0, 1, 2, -1, -1]), 3)
    assert (found.code.tolist(), found.n_different.tolist()) == ([1, -1], [3, 0])


def test_a_forecast_is_that_of_the_library(weather):
    model, table = weather
    found = hmm.forecast(model, table, {"sequence": "Lima", "steps": 3})
    assert is_json(found)
    ahead = model.forecast(table.slice(8), 3)
    assert_array_equal(found["probabilities"], ahead.states[0])
    assert found["times"] == ["2026-02-07", "2026-02-08", "2026-02-09"]
    heat, sky = found["columns"]
    assert_array_equal(heat["mean"], ahead.observations["heat"]["mean"][0])
    assert_array_equal(heat["sd"], ahead.observations["heat"]["sd"][0])
    assert_array_equal(np.array(sky["shares"])[:, 1], ahead.observations["sky"]["b"][0])
    assert sky["levels"] == ["a", "b"]


def test_a_memo_changes_no_answer_and_spares_the_work(weather, monkeypatch):
    model, table = weather
    memo = {}
    first = hmm.timeline(model, table, {"sequence": 1}, memo)
    monkeypatch.setattr(hmm, "scored", lambda *_: pytest.fail("scored again"))
    assert hmm.timeline(model, table, {"sequence": 1}, memo) == first
    assert hmm.timeline(model, table, {"sequence": 1, "from": 3}, memo)["path"] == first["path"][3:]


@pytest.mark.parametrize(
    ("times", "axis", "said"),
    [
        (np.array(["2026-01-05T10", "2026-01-05T11"], dtype="datetime64[us]"), "date", "2026-01-05T11:00:00"),
        (np.array(["2026-01-05T10:00:00.25", "2026-01-06"], dtype="datetime64[us]"), "date", "2026-01-06T00:00:00.000"),
        (np.array(["2026-01-05", "2026-01-06"], dtype=object), "date", "2026-01-06"),
        (np.array([3, 4]), "number", 4.0),
        (np.array(["first", "second"], dtype=object), "text", "second"),
    ],
)
def test_times_of_every_sort(times, axis, said):
    model = hs.HMM.from_params([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], {"x": {"mean": [0, 5], "sd": [1, 1]}})
    model._marks = (None, "when")
    found = hmm.timeline(model, pa.table({"x": [0.1, 5.0], "when": pa.array(times)}), {})
    assert (found["axis"], found["times"][1], found["last_time"]) == (axis, said, said)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        ({"sequence": 2}, "sequence=2 is not a whole number from 0 to 1"),
        ({"sequence": -1}, "sequence=-1 is not"),
        ({"sequence": True}, "sequence=True is not"),
        ({"sequence": "Rome"}, r"sequence='Rome': there are 2 sequences.*Names: Oslo, Lima"),
        ({"from": 8}, "from=8 is not a whole number from 0 to 7"),
        ({"from": 3, "to": 3}, "to=3 is not a whole number from 4 to 8"),
        ({"to": 9}, "to=9 is not a whole number from 1 to 8"),
        ({"points": 1}, "points=1 is not a whole number from 2 to 1,500"),
        ({"points": 1e9}, r"points=1000000000\.0 is not"),
    ],
)
def test_a_timeline_that_there_is_not(weather, ask, message):
    with pytest.raises(ParameterError, match=message):
        hmm.timeline(*weather, ask)


def test_sequences_without_data_and_forecasts_too_far(weather):
    model, table = weather
    with pytest.raises(ParameterError, match="open the data too"):
        hmm.timeline(model, None, {})
    with pytest.raises(ParameterError, match="steps=501 is not a whole number from 1 to 500"):
        hmm.forecast(model, table, {"steps": 501})


def test_an_impossible_sequence_is_named_by_its_own_number():
    model = hs.HMM.from_params([1.0], [[1.0]], {"x": {"a": [1.0], "b": [0.0]}})
    with pytest.raises(DataError, match="sequence 1 is impossible under the model: at step 1"):
        hmm.timeline(model, [np.array(["a", "a"]), np.array(["a", "b"])], {"sequence": 1})


def test_states_with_a_least_duration_and_several_components():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(0, 1, 40), rng.normal(6, 1, 40)])[:, None]
    model = hs.HMM(2, min_dwell=3, n_mix=2, n_init=1, tol=1.0, random_state=0).fit(X)
    found = hmm.timeline(model, X, {})
    assert_array_equal(found["path"], model.predict(X))
    assert np.shape(found["probabilities"]) == (80, 2)
    assert len(found["columns"][0]["means"]) == 2
    assert_array_equal(hmm.forecast(model, X, {"steps": 2})["probabilities"], model.forecast(X, 2).states[0])


# ---- networks --------------------------------------------------------------------------------------------------------

SPRINKLER = {
    "rain": [0.8, 0.2],
    "sprinkler": [[0.6, 0.4], [0.99, 0.01]],
    "wet": [[[1.0, 0.0], [0.1, 0.9]], [[0.2, 0.8], [0.01, 0.99]]],
}
EDGES = [("rain", "sprinkler"), ("rain", "wet"), ("sprinkler", "wet")]


def garden():
    return hs.BayesNet.from_params(SPRINKLER, EDGES, states={name: ["no", "yes"] for name in SPRINKLER})


def test_a_graph_has_every_variable_and_edge():
    found = network.graph(garden(), None, {})
    assert is_json(found)
    assert [one["name"] for one in found["variables"]] == ["rain", "sprinkler", "wet"]
    assert [(edge["from"], edge["to"]) for edge in found["edges"]] == EDGES
    boxes = {one["name"]: one for one in found["variables"]}
    assert boxes["wet"]["parents"] == ["rain", "sprinkler"]
    for edge in found["edges"]:  # from the bottom of the parent's box to the top of the child's
        start, end = boxes[edge["from"]], boxes[edge["to"]]
        assert edge["points"][0] == [start["x"] + start["width"] / 2, start["y"] + start["height"]]
        assert edge["points"][-1] == [end["x"] + end["width"] / 2, end["y"]]
    for box in boxes.values():
        assert box["rows"] == 2
        assert 0 <= box["x"] <= box["x"] + box["width"] <= found["width"]
        assert 0 <= box["y"] <= box["y"] + box["height"] <= found["height"]


def test_boxes_without_states():
    narrow, wide = (network.graph(garden(), None, {"states": n}) for n in (0, 6))
    assert narrow["height"] < wide["height"]
    assert {one["rows"] for one in narrow["variables"]} == {0}
    with pytest.raises(ParameterError, match="states=-1"):
        network.graph(garden(), None, {"states": -1})


def test_hidden_variables_are_marked():
    rng = np.random.default_rng(0)
    table = pa.table({name: rng.integers(0, 2, 60).astype(str) for name in ("A", "B", "C")})
    model = hs.BayesNet([("H", "A"), ("H", "B"), ("H", "C")], hidden={"H": 2}, random_state=0, n_init=2).fit(table)
    found = network.graph(model, None, {})
    assert [one["name"] for one in found["variables"] if one["hidden"]] == ["H"]


@pytest.mark.parametrize("evidence", [{}, {"wet": "yes"}, {"wet": "yes", "rain": "no"}, {"rain": "no"}])
def test_marginals_are_those_of_query(evidence):
    model = garden()
    found = network.marginals(model, None, {"evidence": evidence})
    assert is_json(found)
    for name in model.nodes_:
        if name in evidence:
            expected = [float(state == evidence[name]) for state in model.states_[name]]
        else:
            given = [f"{variable}={state}" for variable, state in evidence.items()]
            expected = np.asarray(network_cli.query(model, [name], given)).tolist()  # halfseen query --given
        assert found["marginals"][name] == expected
    assert found["evidence"] == evidence
    assert_allclose(np.exp(found["log_probability"]), model.probability(evidence), rtol=1e-15)


def test_the_probability_of_much_evidence_is_finite_in_logs():
    """Of 400 variables with probability 0.1 each: the product is below the smallest float."""
    names = [f"v{i}" for i in range(400)]
    model = hs.BayesNet.from_params({name: [0.9, 0.1] for name in names}, [], states=dict.fromkeys(names, ("a", "b")))
    evidence = dict.fromkeys(names, "b")
    assert model.probability(evidence) == 0.0
    assert_allclose(network.marginals(model, None, {"evidence": evidence})["log_probability"], 400 * np.log(0.1))


def test_states_that_are_no_texts_are_named_by_their_text():
    model = hs.BayesNet.from_params({"rain": [0.8, 0.2], "wet": [[0.9, 0.1], [0.2, 0.8]]}, [("rain", "wet")])
    as_text, as_number = (network.marginals(model, None, {"evidence": {"wet": state}}) for state in ("1", 1))
    assert as_text == as_number
    assert as_text["marginals"]["wet"] == [0.0, 1.0]


@pytest.mark.parametrize(
    ("evidence", "message"),
    [
        ({"wet": "yes", "rain": "no", "sprinkler": "no"}, "evidence is impossible under the network: wet=yes, rain=no"),
        ({"snow": "yes"}, "'snow' is not a variable"),
        ({"wet": "damp"}, r"wet has no state 'damp'\. States: no, yes"),
        ({"wet": ["no", "yes"]}, "wet has no state"),
        ({"wet": None}, "wet has no state None"),
        ("wet=yes", "evidence='wet=yes' is not a mapping"),
    ],
)
def test_evidence_that_cannot_be(evidence, message):
    with pytest.raises(ParameterError, match=message):
        network.marginals(garden(), None, {"evidence": evidence})


# ---- word alignment --------------------------------------------------------------------------------------------------

LINES = ["das Haus ||| the house", "das Buch ||| the book", "ein Buch ||| a book", "ein Haus ||| a house"]


@pytest.fixture(scope="module")
def aligner():
    return hs.WordAligner("hmm", max_iter=5, random_state=0).fit(LINES)


def test_pairs_have_the_links_of_the_library(aligner):
    found = words.pairs(aligner, LINES, {"count": 3})
    assert is_json(found)
    assert (found["next"], found["total"], found["fitted"]) == (3, None, 4)
    links, proba = aligner.align(LINES), aligner.align_proba(LINES)
    for pair in found["pairs"]:
        p = pair["number"]
        assert [(i, j) for i, j, _, best in pair["links"] if best] == links[p]
        assert all(share == proba[p][i, j] for i, j, share, _ in pair["links"])
        assert all(best or share >= words.LEAST for *_, share, best in pair["links"])
        assert pair["why"] == ""


def test_links_beside_the_best_ones_are_marked(aligner, monkeypatch):
    monkeypatch.setattr(words, "LEAST", 0.0)
    [pair] = words.pairs(aligner, LINES[:1], {})["pairs"]
    assert {(i, j) for i, j, _, best in pair["links"] if best} == set(aligner.align(LINES[:1])[0])
    assert len(pair["links"]) > len(aligner.align(LINES[:1])[0])


def test_pages_of_pairs_and_a_search(aligner):
    found = words.pairs(aligner, LINES, {"start": 2, "count": 50})
    assert ([pair["number"] for pair in found["pairs"]], found["next"], found["total"]) == ([2, 3], None, 4)
    found = words.pairs(aligner, LINES, {"find": "BUCH", "count": 1})
    assert ([pair["number"] for pair in found["pairs"]], found["next"]) == ([1], 2)
    found = words.pairs(aligner, LINES, {"find": "the house"})
    assert ([pair["source"] for pair in found["pairs"]], found["next"]) == ([["das", "Haus"]], None)
    assert words.pairs(aligner, LINES, {"start": 9})["pairs"] == []


def test_a_long_search_says_where_to_go_on(aligner, monkeypatch):
    monkeypatch.setattr(words, "MOST_SEARCHED", 2)
    found = words.pairs(aligner, LINES, {"find": "a house"})
    assert (found["pairs"], found["next"], found["searched"]) == ([], 2, 2)
    assert [pair["number"] for pair in words.pairs(aligner, LINES, {"find": "a house", "start": 2})["pairs"]] == [3]


def test_pairs_of_two_files(aligner, tmp_path):
    paths = tmp_path / "source", tmp_path / "target"
    for path, side in zip(paths, zip(*(line.split(" ||| ") for line in LINES), strict=True), strict=True):
        path.write_text("\n".join(side))
    assert words.pairs(aligner, tuple(map(str, paths)), {}) == words.pairs(aligner, LINES, {})


def test_unseen_words_and_long_and_empty_pairs(aligner, monkeypatch):
    monkeypatch.setattr(words, "LONGEST", 3)
    given = [("das Auto", "the car"), ("das das das das", "the"), ("", "the")]
    auto, long, empty = words.pairs(aligner, given, {})["pairs"]
    assert auto["unseen"] == {"source": [1], "target": [1]}
    assert (long["links"], "more than 3 words" in long["why"]) == (None, True)
    assert (empty["links"], empty["source"]) == ([], [])


def test_translations_of_a_word(aligner):
    found = words.word(aligner, None, {"word": "Buch"})
    assert is_json(found)
    assert [side["side"] for side in found["sides"]] == ["source"]
    expected = [list(one) for one in aligner.translations("Buch") if one[1] >= 5e-4]
    assert found["sides"][0]["translations"] == expected


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        ({"word": "Bach"}, "'Bach' was not seen when fitting.*Did you mean 'Buch'"),
        ({}, "word: name a word"),
        ({"word": 3}, "word=3 is not a text"),
    ],
)
def test_words_that_there_are_not(aligner, ask, message):
    with pytest.raises(ParameterError, match=message):
        words.word(aligner, None, ask)


def test_pairs_without_data(aligner):
    with pytest.raises(ParameterError, match="open the data too"):
        words.pairs(aligner, None, {})


# ---- grammars --------------------------------------------------------------------------------------------------------

RULES = """
S -> NP VP [1.0]
NP -> Det N [0.6] | NP PP [0.4]
VP -> V NP [0.7] | VP PP [0.3]
PP -> P NP [1.0]
Det -> 'the' [1.0]
N -> 'dog' [0.5] | 'park' [0.3] | 'cat' [0.2]
V -> 'saw' [1.0]
P -> 'in' [1.0]
"""
SENTENCES = ["the dog saw the cat", "the dog saw the cat in the park", "dog the saw", "the bird saw the cat"]


@pytest.fixture(scope="module")
def english():
    return hs.PCFG.from_string(RULES)


def test_a_page_of_sentences(english):
    found = grammar.sentences(english, SENTENCES, {"start": 1, "count": 2})
    assert is_json(found)
    assert (found["total"], found["matching"], [one["number"] for one in found["sentences"]]) == (4, 4, [1, 2])
    assert found["sentences"][0]["log_probability"] == english.score_samples(SENTENCES)[1]
    assert (found["sentences"][1]["log_probability"], found["sentences"][1]["parsed"]) == (None, False)
    found = grammar.sentences(english, SENTENCES, {"find": "PARK"})
    assert [one["text"] for one in found["sentences"]] == [SENTENCES[1]]


def test_a_long_sentence_is_listed_without_a_parse(english, monkeypatch):
    monkeypatch.setattr(grammar, "LONGEST", 5)
    short, long, *_ = grammar.sentences(english, SENTENCES, {})["sentences"]
    assert (short["parsed"], long["parsed"], long["log_probability"]) == (True, None, None)
    with pytest.raises(ParameterError, match="the sentence has 8 words; here at most 5"):
        grammar.tree(english, SENTENCES, {"number": 1})


@pytest.mark.parametrize("ask", [{"number": 1}, {"text": SENTENCES[1]}])
def test_the_best_tree_is_that_of_parse(english, ask):
    found = grammar.tree(english, SENTENCES, ask)
    assert is_json(found)
    best = english.parse(SENTENCES[1])
    assert found["log_probability"] == best.log_probability
    assert found["loglik"] == english.score_samples([SENTENCES[1]])[0]
    assert (found["brackets"], found["n_trees"], found["why"]) == (str(best.tree), "2", "")
    assert found["tree"][0] == "S"
    assert found["tree"][1] == ["NP", ["Det", "the"], ["N", "dog"]]
    assert found["number"] == ask.get("number")


def test_a_drawing_has_the_spans_and_rules_of_its_labels(english):
    found = grammar.tree(english, SENTENCES, {"number": 0})["drawing"]
    nodes = [(node["text"], node["start"], node["end"], node["rule"], node["probability"]) for node in found["nodes"]]
    assert nodes[-1] == ("S", 0, 5, "S -> NP VP", 1.0)
    assert ("N", 4, 5, "N -> 'cat'", 0.2) in nodes
    assert ("NP", 3, 5, "NP -> Det N", 0.6) in nodes
    assert [node["text"] for node in found["nodes"] if node["word"]] == SENTENCES[0].split()
    best = english.parse(SENTENCES[0])
    logs = [np.log(probability) for *_, probability in nodes if probability is not None]
    assert_allclose(sum(logs), best.log_probability, rtol=1e-12)
    assert len(found["branches"]) == len(nodes) - 1


def test_why_there_is_no_tree(english):
    unknown = grammar.tree(english, SENTENCES, {"number": 3})
    assert is_json(unknown)
    assert (unknown["tree"], unknown["log_probability"], unknown["unknown"]) == (None, None, ["bird"])
    assert unknown["why"] == "no tree for 'the bird saw the cat' (not in the grammar: 'bird')."
    assert "no tree has them in this order" in grammar.tree(english, SENTENCES, {"number": 2})["why"]


def test_known_phrases_are_kept(english):
    text = "the dog (saw the cat) in the park"
    found = grammar.tree(english, None, {"text": text, "brackets": True})
    assert found["words"] == SENTENCES[1].split()
    assert found["tree"][2][0] == "VP"
    assert found["n_trees"] == "1"
    rows = hs.PCFG.from_string(RULES)  # any object with sentences and brackets, as the command line makes it
    rows.sentences, rows.brackets = [SENTENCES[1].split()], [[(2, 5)]]
    assert grammar.tree(english, rows, {"number": 0})["tree"] == found["tree"]
    [listed] = grammar.sentences(english, rows, {})["sentences"]
    assert listed["log_probability"] == found["loglik"] < english.score_samples(rows.sentences)[0]


def test_trees_that_are_too_high_for_a_picture_are_written(monkeypatch):
    monkeypatch.setattr("halfseen.structures.trees.HIGHEST", 3)
    found = grammar.tree(hs.PCFG.from_string("S -> 'a' S [0.4] | 'a' [0.6]"), None, {"text": "a a a a"})
    assert (found["tree"], found["brackets"]) == (None, "(S a (S a (S a (S a))))")
    assert "4 levels; a picture has at most 3" in found["why"]


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        ({}, "give a text, or the number of a sentence"),
        ({"text": "a", "number": 1}, "not both"),
        ({"number": 4}, "number=4 is not a whole number from 0 to 3"),
        ({"number": "1"}, "number='1' is not"),
        ({"text": "(the dog", "brackets": True}, "1 brackets are not closed"),
        ({"text": "()", "brackets": True}, "the text has no words"),
        ({"text": "dog " * 1001}, "the text has 4,004 letters"),
    ],
)
def test_a_tree_that_cannot_be(english, ask, message):
    with pytest.raises(ParameterError, match=message):
        grammar.tree(english, SENTENCES, ask)


def test_rules_of_a_symbol(english):
    found = grammar.rules(english, None, {"symbol": "N", "count": 2})
    assert is_json(found)
    assert [(one["rule"], one["probability"]) for one in found["rules"]] == [("N -> 'dog'", 0.5), ("N -> 'park'", 0.3)]
    assert (found["total"], found["rules"][0]["right"], found["rules"][0]["count"]) == (3, [["dog", True]], None)
    assert found["symbols"][0] == ["S", 1]
    assert grammar.rules(english, None, {})["symbol"] == "S"
    fitted = hs.PCFG.from_string(RULES).fit(SENTENCES[:2])
    listed = {one["rule"]: one["count"] for one in grammar.rules(fitted, None, {"symbol": "VP"})["rules"]}
    assert listed == {rule: count for rule, count in fitted.counts_.items() if rule.startswith("VP ")}
    with pytest.raises(ParameterError, match=r"symbol='XP' is not a symbol of the grammar\. Its first: S, NP"):
        grammar.rules(english, None, {"symbol": "XP"})


def test_sentences_without_data(english):
    for view, ask in ((grammar.sentences, {}), (grammar.tree, {"number": 0})):
        with pytest.raises(ParameterError, match="open the data too"):
            view(english, None, ask)


# ---- transcripts -----------------------------------------------------------------------------------------------------


def said():
    """Three utterances of units that are far apart."""
    rng, places = np.random.default_rng(0), {"a": 0.0, "b": 6.0, "c": 12.0}
    transcripts = ["a b c", "c a", "b a b"]
    frames = [np.concatenate([rng.normal(places[u], 1, 5) for u in one.split()])[:, None] for one in transcripts]
    return frames, transcripts


@pytest.fixture(scope="module")
def speaker():
    return hs.TranscriptAligner(1, random_state=0).fit(*said())


def test_words_of_an_utterance_are_those_of_align(speaker):
    rows = said()
    listed = transcript.utterances(speaker, rows, {"find": "A B"})
    assert is_json(listed)
    assert [one["text"] for one in listed["utterances"]] == ["a b c", "b a b"]
    found = transcript.utterance(speaker, rows, {"number": 2})
    assert is_json(found)
    expected = speaker.align(*rows)[2]
    assert [tuple(part.values()) for part in found["words"]] == list(expected.words)
    assert [part["name"] for part in found["units"]] == ["b", "a", "b"]
    assert (found["duration"], found["loglik"], found["seconds"]) == (15.0, expected.loglik, False)


def test_utterances_of_a_table_are_aligned_once(monkeypatch):
    frames, transcripts = said()
    names = [name for name, own in zip(["x", "y", "z"], frames, strict=True) for _ in own]
    table = pa.table({"who": names, "f": np.concatenate(frames)[:, 0]})
    spoken = dict(zip("xyz", transcripts, strict=True))
    model, memo = hs.TranscriptAligner(1, random_state=0).fit(table, spoken, groups="who"), {}
    assert [one["name"] for one in transcript.utterances(model, (table, spoken), {}, memo)["utterances"]] == list("xyz")
    first = transcript.utterance(model, (table, spoken), {"number": 1}, memo)
    assert [part["name"] for part in first["words"]] == ["c", "a"]
    monkeypatch.setattr(type(model), "align", lambda *_, **how: pytest.fail("aligned again"))
    assert transcript.utterance(model, (table, spoken), {"number": 2}, memo)["text"] == "b a b"
    assert transcript.utterance(model, (table, spoken), {"number": 1}, memo) == first


def test_an_utterance_that_is_too_short_has_no_words():
    frames, transcripts = said()
    model = hs.TranscriptAligner(1, too_short="skip", random_state=0).fit(frames, transcripts)
    found = transcript.utterance(model, ([frames[0][:2]], ["a b c"]), {})
    assert is_json(found)
    assert (found["words"], found["why"]) == (None, "it is too short for its transcript.")


def test_utterances_that_there_are_not(speaker):
    with pytest.raises(ParameterError, match="number=3 is not a whole number from 0 to 2"):
        transcript.utterance(speaker, said(), {"number": 3})
    with pytest.raises(ParameterError, match="open the data too"):
        transcript.utterances(speaker, None, {})
