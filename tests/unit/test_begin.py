"""A fit that begins at an earlier one: the same classes, with the same names, held by a few labels."""

import numpy as np
import pytest

import halfseen as hs
from halfseen.errors import DataError, ParameterError

BIRDS = hs.load_penguins()
NUMBERS = ["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"]
ROWS = BIRDS[[*NUMBERS, "sex"]]
NAMES = ("Adelie", "Gentoo", "Chinstrap")
THREE = {0: "Adelie", 200: "Gentoo", 300: "Chinstrap"}
MODELS = {
    "LatentClass": (lambda **more: hs.LatentClass(3, random_state=0, n_init=4, **more), ROWS),
    "correlated": (lambda **more: hs.LatentClass(3, covariance="full", random_state=0, n_init=4, **more), ROWS),
    "GaussianMixture": (lambda **more: hs.GaussianMixture(3, random_state=0, n_init=4, **more), ROWS[NUMBERS]),
}


def labels_of(known):
    return [known.get(row) for row in range(len(ROWS))]


@pytest.fixture(params=MODELS)
def earlier(request):
    make, rows = MODELS[request.param]
    return make, rows, make().fit(rows).rename(NAMES)


def test_a_fit_that_begins_at_its_end_stays_there(earlier):
    make, rows, first = earlier
    again = make().fit(rows, begin=first)
    assert again.class_names_ == NAMES
    assert again.restarts_["n_init"] == 1
    assert again.n_iter_ <= 5
    assert again.objective_ == pytest.approx(first.objective_, abs=1e-6)
    np.testing.assert_allclose(again.weights_, first.weights_, atol=1e-4)


def test_another_order_of_the_classes_is_kept(earlier):
    make, rows, first = earlier
    again = make().fit(rows, begin=first.relabel([2, 0, 1]))
    assert again.class_names_ == ("Chinstrap", "Adelie", "Gentoo")
    np.testing.assert_allclose(again.weights_, first.weights_[[2, 0, 1]], atol=1e-4)


def test_three_labels_hold_their_rows_and_the_classes_keep_names_and_order(earlier):
    make, rows, first = earlier
    again = make().fit(rows, labels=labels_of(THREE), begin=first)
    assert again.class_names_ == NAMES
    np.testing.assert_allclose(again.weights_, first.weights_, atol=0.05)
    observed = again._observed(rows.iloc[list(THREE)], labels=list(THREE.values()))
    known = again._model.view(observed.data.known.stats)["mix"][0]
    np.testing.assert_array_equal(known, [1.0, 1.0, 1.0])
    assert again.converged_
    repeated = make().fit(rows, labels=labels_of(THREE), begin=first)
    assert repeated.loglik_ == again.loglik_
    assert repeated.trace_ == again.trace_


def test_a_wrong_label_moves_its_row(earlier):
    make, rows, first = earlier
    least_likely = first.class_names_[first.predict_proba(rows)[0].argmin()]
    again = make().fit(rows, labels=labels_of({0: least_likely}), begin=first)
    assert again.class_names_ == NAMES
    assert again.loglik_ < first.loglik_ - 1


def test_classes_given_rename_those_of_the_model(earlier):
    make, rows, first = earlier
    again = make().fit(rows, labels=labels_of({0: "a"}), classes=["a", "b"], begin=first)
    assert again.class_names_ == ("a", "b", "Chinstrap")


def test_labels_are_names_of_the_classes_or_their_numbers(earlier):
    make, rows, first = earlier
    with pytest.raises(DataError, match="unknown label 'Emperor'"):
        make().fit(rows, labels=labels_of({0: "Emperor"}), begin=first)
    by_number = make().fit(rows, labels=labels_of({0: 0, 200: 1}), begin=first)
    by_name = make().fit(rows, labels=labels_of({0: "Adelie", 200: "Gentoo"}), begin=first)
    assert by_number.loglik_ == by_name.loglik_
    assert by_number.class_names_ == NAMES
    codes = make().fit(rows, labels=labels_of({0: 1, 200: 2, 300: 3}), classes=[1, 2, 3])
    assert codes.class_names_ == ("1", "2", "3")
    again = make().fit(rows, labels=labels_of({0: 1.0, 200: 2.0, 300: float("nan")}), begin=codes)
    assert again.class_names_ == ("1", "2", "3")


def test_a_begun_fit_can_be_saved_and_begun_again(earlier, tmp_path):
    make, rows, first = earlier
    hs.save(first, tmp_path / "m.halfseen")
    loaded = make().fit(rows, begin=hs.load(tmp_path / "m.halfseen"))
    assert loaded.trace_ == make().fit(rows, begin=first).trace_
    hs.save(loaded, tmp_path / "again.halfseen")
    assert hs.load(tmp_path / "again.halfseen").class_names_ == NAMES


@pytest.mark.parametrize(
    ("make", "rows", "told"),
    [
        (lambda: hs.LatentClass(4), ROWS, "has 3 classes: set n_components=3"),
        (lambda: hs.LatentClass(range(2, 4)), ROWS, "has 3 classes: set n_components=3"),
        (lambda: hs.LatentClass("auto"), ROWS, "has 3 classes: set n_components=3"),
        (lambda: hs.LatentClass(3), ROWS[NUMBERS], r"other columns, kinds or categories: sex \(categorical\)"),
        (lambda: hs.LatentClass(3), ROWS[ROWS.sex != "male"], "other columns, kinds or categories: their categories"),
        (lambda: hs.LatentClass(3, covariance="full"), ROWS, "has another covariance"),
        (lambda: hs.GaussianMixture(3), ROWS[NUMBERS], "can begin at a fitted GaussianMixture; this is a LatentClass"),
    ],
)
def test_what_a_fit_cannot_begin_at_is_refused(make, rows, told):
    first = hs.LatentClass(3, random_state=0, n_init=1).fit(ROWS)
    with pytest.raises(ParameterError, match=told):
        make().fit(rows, begin=first)


def test_a_model_that_was_not_fitted_is_refused():
    with pytest.raises(ParameterError, match="can begin at a fitted LatentClass"):
        hs.LatentClass(3).fit(ROWS, begin=hs.LatentClass(3))


def test_nothing_of_the_start_is_left_for_the_next_fit():
    first = hs.LatentClass(3, random_state=0, n_init=2).fit(ROWS)
    model = hs.LatentClass(3, random_state=0, n_init=2)
    assert model.fit(ROWS, begin=first).restarts_["n_init"] == 1
    assert "_begins_at" not in vars(model)
    assert model.fit(ROWS).restarts_["n_init"] == 2


def test_a_fit_with_covariates_begins_at_the_shares():
    first = hs.LatentClass(3, random_state=0, n_init=2).fit(ROWS).rename(NAMES)
    years = BIRDS[["year"]].astype(float)
    model = hs.LatentClass(3, random_state=0).fit(ROWS, covariates=years, begin=first)
    assert model.class_names_ == NAMES
    assert model.restarts_["n_init"] == 1
