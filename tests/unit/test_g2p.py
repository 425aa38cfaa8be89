"""Models of pronunciation: fits, words that are pronounced, errors of use."""

import pickle

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import halfseen as hs
from halfseen.datasets import path_of
from halfseen.errors import DataError, ImpossibleRowWarning, ParameterError, UnknownLetterWarning

CATS = {
    word: [phones.split()]
    for word, phones in {
        "cat": "K AE T",
        "back": "B AE K",
        "tack": "T AE K",
        "bat": "B AE T",
        "cab": "K AE B",
        "act": "AE K T",
        "phat": "F AE T",
        "alpha": "AE L F AE",
        "tax": "T AE K S",
    }.items()
}


@pytest.fixture(scope="module")
def cats():
    return hs.G2P(order=3).fit(CATS)


@pytest.fixture(scope="module")
def english():
    """A model of two thirds of the words of the example, and the others."""
    read = hs.read_dictionary(path_of("english.dict"))
    kept = {word: ways for n, (word, ways) in enumerate(read.items()) if n % 3}
    return hs.G2P().fit(kept), {word: ways for word, ways in read.items() if word not in kept}


def test_known_and_new_words_are_pronounced(cats):
    assert cats.pronounce(["tact", "cat"]) == {"tact": [["T", "AE", "K", "T"]], "cat": [["K", "AE", "T"]]}
    assert cats.pronounce("Cat") == {"Cat": [["K", "AE", "T"]]}
    assert cats.letters_ == tuple("abchklptx")
    assert cats.phones_ == ("AE", "B", "F", "K", "L", "S", "T")


def test_units_are_found(cats):
    assert cats.segment({"back": [["B", "AE", "K"]]}) == {
        "back": [[("b", ("B",)), ("a", ("AE",)), ("c", ("K",)), ("k", ())]]
    }
    [[units]] = hs.G2P(order=1, max_letters=2, max_phones=2).fit(CATS).segment({"phat": [["F", "AE", "T"]]}).values()
    assert ("ph", ("F",)) in units


def test_other_words_than_those_of_the_fit_are_mostly_right(english):
    model, others = english
    errors = model.error_rates(others)
    assert errors.phone_error_rate < 0.35
    assert errors.word_error_rate < 0.8
    shuffled = dict(zip(others, [*others.values()][::-1], strict=True))
    assert model.error_rates(shuffled).phone_error_rate > 2 * errors.phone_error_rate


def test_higher_orders_are_better(english):
    model, others = english
    read = hs.read_dictionary(path_of("english.dict"))
    low = hs.G2P(order=1).fit({word: ways for word, ways in read.items() if word not in others})
    assert low.error_rates(others).phone_error_rate > 1.2 * model.error_rates(others).phone_error_rate
    assert low.score(others) < model.score(others)
    orders = [stage["order"] for stage in model.stages_]
    assert orders == list(range(1, len(orders) + 1))


def test_the_first_stage_is_that_of_order_1():
    """Its log-probability is of the best segmentations, all of which are new."""
    words = {"cat": [["K", "AE", "T"]], "tab": [["T", "AE", "B"]], "back": [["B", "AE", "K"]]}
    alone, first = hs.G2P(order=1).fit(words), hs.G2P(order=2).fit(words)
    assert alone.stages_ == first.stages_[:1]
    assert alone.stages_[0]["changed"] == len(words)
    assert alone.stages_[0]["log_joint"] <= alone.loglik_


def test_n_best_come_with_probabilities(cats):
    found = cats.pronounce_proba(["cat", "tab"], n_best=3)
    for own in found.values():
        probabilities = [one.probability for one in own]
        assert probabilities == sorted(probabilities, reverse=True)
        assert 0 < sum(probabilities) <= 1 + 1e-12
        assert len({tuple(one.phones) for one in own}) == len(own) == 3
    assert cats.pronounce(["cat"], n_best=3)["cat"] == [one.phones for one in found["cat"]]


def test_what_the_search_sums_is_what_a_score_is(cats):
    best = hs.G2P(order=3, beam=5000).fit(CATS).pronounce_proba(["tab"])["tab"][0]
    np.testing.assert_allclose(best.log_joint, cats.score_samples({"tab": [best.phones]})[0], rtol=1e-6)


def test_the_fit_is_described(cats):
    assert cats.loglik_ == pytest.approx(cats.score(CATS), rel=1e-12)
    assert cats.converged_
    assert cats._estimate == "smoothed by Kneser-Ney"
    assert hs.G2P(order=1).fit(CATS)._estimate == "maximum likelihood"
    assert np.all(np.diff(cats.trace_) >= -1e-9)
    assert cats.objective_ == cats.trace_[-1]
    assert "9 words in" in cats.describe()
    assert "silent letters: h:- 2, k:- 2" in cats.describe()
    table = cats.to_frame()
    assert list(table.columns) == ["letters", "phones", "count", "share"]
    assert table["count"].sum() == pytest.approx(sum(cats._counts[1:]))


def test_maximum_likelihood_is_above_other_probabilities():
    model = hs.G2P(order=1).fit(CATS)
    assert model.loglik_ == pytest.approx(model.objective_)
    hard = hs.G2P(order=1, assign="hard").fit(CATS)
    assert hard.loglik_ <= model.loglik_
    assert hard._estimate == "hard assignment"


def test_case_and_stress_are_kept_or_not():
    said = {"Polish": [["P", "OW1", "L", "IH0", "SH"]], "polish": [["P", "AA1", "L", "IH0", "SH"]]}
    assert hs.G2P(order=2).fit(said).phones_ == ("AA1", "IH0", "L", "OW1", "P", "SH")
    model = hs.G2P(lowercase=False, stress=False).fit(said)
    assert model.phones_ == ("AA", "IH", "L", "OW", "P", "SH")
    assert model.pronounce(["Polish", "polish"])["Polish"][0][1] == "OW"
    assert model.error_rates(said).word_error_rate == 0
    with pytest.raises(DataError, match="'a': '1' is a digit of stress alone"):
        hs.G2P(stress=False).fit({"a": [["1"]]})


def test_letters_are_composed_characters():
    model = hs.G2P(order=2).fit({"e\u0301te\u0301": [["e", "t", "e"]]})
    assert model.letters_ == ("t", "\u00e9")
    assert model.pronounce("\u00c9T\u00c9") == {"\u00c9T\u00c9": [["e", "t", "e"]]}


def test_unknown_letters_are_named_or_replaced(cats):
    with pytest.raises(DataError, match=r"letters that the dictionary did not have: 'z' \(zac\), '4' \(4at\)\. Add"):
        cats.pronounce(["zac", "4at", "cat"])
    model = hs.G2P(order=3, on_unknown="replace").fit(CATS)
    with pytest.warns(UnknownLetterWarning, match="read '\u00e2' as 'a'; left out 'z'"):
        assert model.pronounce(["c\u00e2tz"]) == {"c\u00e2tz": [["K", "AE", "T"]]}
    with pytest.raises(DataError, match="'zz' has no letter that the dictionary had"):
        model.pronounce("zz")
    model.set_params(on_unknown="skip")
    with pytest.warns(UnknownLetterWarning, match=r"1 words left out: .* 'z' \(zac\)"):
        assert model.pronounce(["zac", "cat"]) == {"cat": [["K", "AE", "T"]]}
    with pytest.warns(UnknownLetterWarning, match="1 words left out"):
        assert model.score({"zac": [["K"]], **CATS}) == model.score(CATS)
    with pytest.raises(DataError, match="no word has known letters only"), pytest.warns(UnknownLetterWarning):
        model.error_rates({"zac": [["K"]]})


def test_unknown_phones_and_impossible_pronunciations_are_named(cats):
    with pytest.raises(DataError, match=r"phones that the model does not have: 'ZH' \(cat\)\. It has AE B F K L S T"):
        cats.score({"cat": [["ZH"]]})
    model = hs.G2P(order=1).fit({"a": [["X"]]})
    impossible = np.array([unit != ("a", ("X",)) for unit in model.units_])
    model._params["units"] = np.where(np.append(False, impossible), 0.0, model._params["units"])
    del model._counted  # the logs of them
    with pytest.warns(ImpossibleRowWarning, match="1 pronunciations have probability 0"):
        assert model.score({"a": [["X", "X"]]}) == -np.inf


@pytest.mark.parametrize(
    ("dictionary", "said"),
    [
        ({}, "the dictionary has no words"),
        ([("a", "b")], "is not a dictionary"),
        (3, "dictionary=3 is not a dictionary"),
        ({"cat": "K AE T"}, "'cat': 'K AE T' is not a list of pronunciations"),
        ({"cat": ["K AE T"]}, "'cat': 'K AE T' is not a list of phones"),
        ({"cat": [["K", 3]]}, "'cat': 3 is not a phone"),
        ({"cat": [["K AE"]]}, "'cat': 'K AE' is not a phone"),
        ({"cat": [[]]}, "'cat' has a pronunciation without phones"),
        ({"cat": []}, "'cat' has no pronunciation"),
        ({"": [["K"]]}, "the dictionary has '' where a word belongs"),
        ({"a\nb": [["K"]]}, r"the dictionary has 'a\\nb' where a word belongs"),
        ({3: [["K"]]}, "the dictionary has 3 where a word belongs"),
    ],
)
def test_what_is_no_dictionary_is_refused(dictionary, said):
    with pytest.raises(DataError, match=said):
        hs.G2P().fit(dictionary)


@pytest.mark.parametrize("words", [3, ["cat", 3], [""], ["cat "]])
def test_what_is_no_word_is_refused(cats, words):
    with pytest.raises(DataError, match="is not a"):
        cats.pronounce(words)


@pytest.mark.parametrize(
    "how", [{"order": 0}, {"order": 2.5}, {"max_letters": 0}, {"beam": 0}, {"lowercase": 1}, {"on_unknown": "guess"}]
)
def test_wrong_options_are_refused(how):
    with pytest.raises(ParameterError, match=next(iter(how))):
        hs.G2P(**how).fit(CATS)


def test_wrong_numbers_of_pronunciations_are_refused(cats):
    with pytest.raises(ParameterError, match="n_best=0"):
        cats.pronounce("cat", n_best=0)
    with pytest.raises(NotFittedError):
        hs.G2P().pronounce("cat")


def test_units_that_are_too_many_are_refused():
    with pytest.raises(ParameterError, match="max_letters=12 and max_phones=12 are too many"):
        hs.G2P(max_letters=12, max_phones=12).fit(CATS)


def test_words_and_pronunciations_that_come_twice_count_once():
    twice = {**CATS, "CAT": [["K", "AE", "T"]] * 2}
    assert hs.G2P(order=2).fit(twice).loglik_ == hs.G2P(order=2).fit(CATS).loglik_


def test_a_failed_fit_leaves_the_model_as_it_was(cats):
    model = pickle.loads(pickle.dumps(cats))
    with pytest.raises(DataError):
        model.fit({})
    assert model.pronounce("cat") == {"cat": [["K", "AE", "T"]]}


def test_a_word_far_longer_than_those_of_the_fit_is_pronounced(cats):
    assert len(cats.pronounce("cat" * 200)["cat" * 200][0]) == 600
    [log] = cats.score_samples({"cat": [["K", "AE", "T"] * 30]})
    assert np.isfinite(log)


@pytest.mark.parametrize("order", [1, 3])
def test_a_model_file_gives_the_same_model(tmp_path, order):
    model = hs.G2P(order=order).fit(CATS)
    hs.save(model, tmp_path / "m.halfseen")
    loaded = hs.load(tmp_path / "m.halfseen")
    assert loaded.pronounce_proba(["tact", "cab"], 3) == model.pronounce_proba(["tact", "cab"], 3)
    assert loaded.score(CATS) == model.score(CATS)
    assert loaded.describe() == model.describe()
    for name in ("loglik_", "trace_", "n_iter_", "stop_reason_", "stages_", "units_"):
        assert getattr(loaded, name) == getattr(model, name)


def test_options_that_change_after_the_fit_do_not_change_what_was_learned(cats, tmp_path):
    model = pickle.loads(pickle.dumps(cats)).set_params(order=7, lowercase=False, stress=False)
    assert model.pronounce("CAT") == {"CAT": [["K", "AE", "T"]]}
    hs.save(model, tmp_path / "m.halfseen")
    assert hs.load(tmp_path / "m.halfseen").score(CATS) == cats.score(CATS)


@pytest.mark.parametrize(
    ("name", "wrong", "said"),
    [
        ("summary/segments", lambda array: array + 0.5, "whole numbers"),
        ("summary/segments", lambda array: array * 99, "outside of 0"),
        ("summary/segments", lambda array: array[:-1], "words, each with its end"),
        ("summary/units", lambda array: array[::-1], "do not rise"),
        ("summary/units", lambda array: array * np.nan, "whole numbers"),
    ],
)
def test_states_that_cannot_be_are_refused(cats, name, wrong, said):
    state = cats._state()
    with pytest.raises(ParameterError, match=said):
        hs.G2P._from_state(state._replace(tensors={**state.tensors, name: wrong(state.tensors[name])}))


def test_scores_count_edits_to_the_nearest_reference():
    found = {"the": [["DH", "IY"]], "cat": [["K", "AA"], ["K", "AE", "T"]]}
    scores = hs.score_pronunciations(found, {"the": [["DH", "AH"], ["DH", "IY"]], "cat": [["K", "AE", "T"]]})
    assert (scores.word_errors, scores.phone_errors, scores.n_words, scores.n_phones) == (1, 2, 2, 5)
    with pytest.raises(DataError, match="1 words found are not in the dictionary, the first is 'the'"):
        hs.score_pronunciations(found, {"cat": [["K"]]})


def test_comments_of_cmudict_are_no_phones(tmp_path):
    (tmp_path / "cmu.dict").write_text("aalborg AO1 L B AO0 R G # place, danish\naalborg(2) AA1 L B # x\n")
    assert hs.read_dictionary(tmp_path / "cmu.dict") == {
        "aalborg": [["AO1", "L", "B", "AO0", "R", "G"], ["AA1", "L", "B"]]
    }
