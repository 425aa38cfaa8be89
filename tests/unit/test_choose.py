"""Another number of classes that was tried, in place of the one that the criterion chose, without fitting again."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import halfseen as hs
from halfseen.app import fits
from halfseen.errors import CollapseWarning, ParameterError
from tests.app.in_process import run

COLUMNS = ["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"]
FIT = ("fit", "example:penguins", "--model", "gaussian", "--ignore", "species,island,sex,year", "--restarts", "2")


@pytest.fixture(scope="module")
def birds():
    return hs.load_penguins()[COLUMNS]


@pytest.fixture(scope="module")
def model(birds):
    return hs.GaussianMixture(range(1, 5), n_init=2, random_state=0).fit(birds)


def test_the_other_fit_has_all_figures_of_its_own(model, birds):
    tried = model.selection_
    for i, size in enumerate(tried["n_components"]):
        other = model.choose(int(size))
        assert other.n_components_ == len(other.weights_) == len(other.class_names_) == size
        assert other.loglik_ == tried["loglik"][i]
        assert other.bic() == tried["bic"][i]
        assert other.n_parameters_ == tried["n_parameters"][i]
        assert other.restarts_["n_reached_best"] == tried["n_reached_best"][i]
        assert other.trace_[-1] == other.objective_
        assert len(other.trace_) <= other.n_iter_ + 1
        assert other.score_samples(birds).sum() == pytest.approx(other.loglik_, rel=1e-12)
        assert other.predict_proba(birds).shape == (344, size)
        assert other.events_[0].startswith("2 rows have no observed cell")


def test_it_is_the_fit_of_the_range_that_ends_there(model, birds):
    other = hs.GaussianMixture(range(1, 3), n_init=2, random_state=0).fit(birds)
    assert other.n_components_ == 2
    assert_array_equal(model.choose(2).means_, other.means_)
    assert model.choose(2)._origin.seed == other._origin.seed


def test_the_model_itself_does_not_change(model):
    before = (model.loglik_, model.n_iter_, list(model.selection_["chosen"]))
    model.choose(1)
    assert (model.loglik_, model.n_iter_, list(model.selection_["chosen"])) == before
    assert "preferred" not in model.selection_


def test_both_choices_are_told(model):
    other = model.choose(2)
    assert list(other.selection_["chosen"]) == [False, True, False, False]
    assert list(other.selection_["preferred"]) == list(model.selection_["chosen"])
    back = other.choose(model.n_components_)
    assert "preferred" not in back.selection_
    assert back.loglik_ == model.loglik_
    lines = str(fits.selection(other))
    assert "<- preferred by BIC" in lines
    assert "<- chosen" in lines


def test_only_what_was_tried_can_be_chosen(model, tmp_path):
    with pytest.raises(ParameterError, match=r"choose: 9 is not among the numbers that were tried: 1, 2, 3, 4\."):
        model.choose(9)
    hs.save(model, tmp_path / "m.halfseen")
    with pytest.raises(ParameterError, match="was not fitted in this process"):
        hs.load(tmp_path / "m.halfseen").choose(2)


def test_the_choice_is_kept_in_a_file(model, tmp_path):
    hs.save(model.choose(2), tmp_path / "m.halfseen")
    found = hs.load(tmp_path / "m.halfseen")
    assert found.n_components_ == 2
    assert found.loglik_ == model.choose(2).loglik_
    assert np.flatnonzero(found.selection_["preferred"]).tolist() == np.flatnonzero(model.selection_["chosen"]).tolist()


def test_labels_name_the_classes_of_every_number():
    table = [["a", 0.0], ["a", 0.2], ["b", 5.0], ["b", 5.1], ["c", 9.0], ["c", 9.4]] * 6
    labels = ["low", None, "high", None, None, None] * 6
    model = hs.LatentClass([2, 3], n_init=2, random_state=0).fit(table, labels=labels)
    assert model.choose(2).class_names_ == ("high", "low")
    assert model.choose(3).class_names_ == ("high", "low", "class 2")


def test_a_choice_that_collapsed_warns_again():
    X = np.concatenate([np.zeros(30), np.random.default_rng(0).normal(5, 1, 30)])[:, None]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CollapseWarning)
        model = hs.GaussianMixture([1, 2], n_init=2, random_state=0, variance_floor=1e-9).fit(X)
    assert model.n_components_ == 1
    with pytest.warns(CollapseWarning):
        model.choose(2)


# ---- on the command line ---------------------------------------------------------------------------------------------


def test_choose_is_an_option_of_fit(tmp_path, model):
    path, page = tmp_path / "m.halfseen", tmp_path / "r.html"
    run(*FIT, "-k", "1..4", "--choose", "2", "-o", path, "--report", page)
    found = hs.load(path)
    assert found.loglik_ == pytest.approx(model.choose(2).loglik_, rel=1e-12)
    words = page.read_text()
    assert ".choose(2)" in words
    assert "the one chosen is 2 classes; the lowest BIC is at 3 classes" in words
    assert "BIC prefers 3 classes: that of the number chosen is" in words
    assert "BIC prefers 3." in words


@pytest.mark.parametrize(
    ("words", "told", "code"),
    [
        (("-k", "1..3", "--choose", "4"), "--choose 4 is not among the numbers of --classes 1..3: 1, 2, 3.", 2),
        (("--choose", "40"), "--choose 40 is not among the numbers of --classes auto: 1, 2, 3", 2),
        (("--choose", "0"), "--choose", 2),
    ],
)
def test_what_was_not_tried_is_refused(words, told, code):
    assert told in run(*FIT, *words, code=code).output


def test_other_models_have_no_choice():
    words = ("fit", "example:penguins", "--choose", "2")
    assert "--choose is an option of latent classes" in run(*words, "--model", "kmeans", "-k", "2", code=2).output
    assert "--choose cannot be used with --target" in run(*words, "--target", "species", code=2).output
