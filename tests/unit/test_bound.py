"""The bound of a fitted model: worked numbers, what may be given as params, the picture."""

import json
import sys

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError

import halfseen as hs
from halfseen.analysis.bound_line import bound_line
from halfseen.errors import DataError, ParameterError

POINTS = [[0, 1], [1, 1]]
COLUMNS = {"x1": {0: [0.7, 0.1], 1: [0.3, 0.9]}, "x2": {0: [0.8, 0.4], 1: [0.2, 0.6]}}
NEXT = {
    "weights": [0.545455 / 2, 1 - 0.545455 / 2],
    "x1": {0: [1 - 1 / 12, 1 - 0.65625], 1: [1 / 12, 0.65625]},
    "x2": {0: [0, 0], 1: [1, 1]},
}


def two_points():
    return hs.LatentClass.from_params([0.3, 0.7], COLUMNS)


def penguins(**options):
    return hs.LatentClass(3, random_state=0, n_init=1, stop="iterations", **options).fit(hs.load_penguins())


# ---------------------------------------------------------------------------------------------------------- the numbers


def test_two_points_by_hand():
    """The joint of each row and class from source 000: 0.042 and 0.042, 0.378 and 0.018."""
    resp = np.array([[0.5, 0.5], [0.018 / 0.396, 0.378 / 0.396]])
    joint = np.array([[0.042, 0.042], [0.018, 0.378]])
    parts = hs.bound(two_points(), POINTS)
    assert_allclose(parts.q, np.sum(resp * np.log(joint)), rtol=1e-12)
    assert_allclose(parts.entropy, -np.sum(resp * np.log(resp)), rtol=1e-12)
    assert_allclose(parts.bound, -3.4032795, atol=5e-8)
    assert_allclose(parts.loglik, -3.4032795, atol=5e-8)
    assert (parts.kl, parts.log_prior) == (0.0, 0.0)


def test_the_step_of_two_points_raises_the_bound_to_the_top():
    here, step = (hs.bound(two_points(), POINTS, params) for params in (None, NEXT))
    assert_allclose(step.loglik, 2 * np.log(0.5), rtol=1e-9)
    assert step.q > here.q
    assert step.bound > here.bound
    assert_allclose(step.bound + step.kl, step.loglik, rtol=1e-12)


def test_kl_is_computed_from_the_posteriors():
    model = two_points()
    other = hs.LatentClass.from_params([0.6, 0.4], COLUMNS)
    q, p = model.predict_proba(POINTS), other.predict_proba(POINTS)
    assert_allclose(hs.bound(model, POINTS, other).kl, np.sum(q * np.log(q / p)), rtol=1e-12)


def test_classes_too_far_apart_for_a_float_still_have_a_divergence():
    """exp(-1e4) is 0 as a float64; the divergence between two such posteriors is not infinite."""
    model = hs.LatentClass.from_params([0.5, 0.5], {"x": {"mean": [0, 38], "sd": [1, 1]}})
    parts = hs.bound(model, [[0.0], [38.0]], {"x": {"mean": [0, 141], "sd": [1, 1]}})
    assert np.isfinite(parts.kl)
    assert_allclose(parts.bound + parts.kl, parts.loglik, rtol=1e-12)


def test_a_class_ruled_out_makes_the_bound_useless():
    parts = hs.bound(two_points(), POINTS, {"weights": [0, 1]})
    assert (parts.bound, parts.kl) == (-np.inf, np.inf)
    assert np.isfinite(parts.loglik)


def test_weights_are_repetitions_and_holes_are_summed_out():
    model = two_points()
    weighted = hs.bound(model, [[0, 1], [1, None]], NEXT, sample_weight=[2, 1])
    repeated = hs.bound(model, [[0, 1], [0, 1], [1, None]], NEXT)
    for name in ("q", "entropy", "bound", "kl", "loglik"):
        assert_allclose(getattr(weighted, name), getattr(repeated, name), rtol=1e-12)


def test_a_row_of_weight_zero_is_absent_even_if_impossible():
    model = hs.LatentClass.from_params([0.5, 0.5], {"x": {0: [0.3, 0.6], 1: [0.7, 0.4], 2: [0, 0]}})
    parts = hs.bound(model, [[0], [2]], {"weights": [0.2, 0.8]}, sample_weight=[1, 0])
    alone = hs.bound(model, [[0]], {"weights": [0.2, 0.8]})
    assert parts == alone


def test_a_fitted_model_with_holes_and_prior():
    X = hs.load_penguins()
    early, late = penguins(max_iter=3), penguins(max_iter=4)
    here, step = hs.bound(early, X), hs.bound(early, X, late)
    assert_allclose(here.loglik, early.loglik_, rtol=1e-12)
    assert_allclose(here.loglik + here.log_prior, early.objective_, rtol=1e-12)
    assert_allclose(step.loglik, late.loglik_, rtol=1e-9)
    assert_allclose(step.bound + step.kl, step.loglik, rtol=1e-12)
    assert step.bound + step.log_prior > here.bound + here.log_prior


def test_params_in_part_leave_the_rest_as_it_is():
    model = two_points()
    whole = {**model.params_, "weights": [0.5, 0.5]}
    assert hs.bound(model, POINTS, {"weights": [0.5, 0.5]}) == hs.bound(model, POINTS, whole)


def test_a_column_without_categories_is_no_obstacle():
    X = [["a", None], ["b", None], ["a", None]]
    model = hs.LatentClass(2, random_state=0).fit(X)
    assert hs.bound(model, X, model.params_).kl == pytest.approx(0, abs=1e-12)


def test_it_reads_as_a_sum():
    text = str(hs.bound(two_points(), POINTS, NEXT))
    assert [line[:9].strip() for line in text.splitlines()] == ["q", "+ entropy", "= bound", "+ kl", "= loglik"]
    assert "-1.3862944" in text
    assert "bound + log_prior" in str(hs.bound(penguins(max_iter=2), hs.load_penguins()))


# --------------------------------------------------------------------------------------------------------------- errors


def test_what_is_not_a_fitted_mixture_is_refused():
    with pytest.raises(ParameterError, match="not a mixture"):
        hs.bound("model", POINTS)
    with pytest.raises(NotFittedError):
        hs.bound(hs.LatentClass(2), POINTS)


@pytest.mark.parametrize(
    ("params", "match"),
    [
        ({"x3": {0: [1, 1]}}, "no column 'x3'"),
        ({"weights": [0.5, 0.6]}, "sums to 1.1"),
        ([0.5, 0.5], "neither a mapping"),
        (hs.LatentClass.from_params([1.0], COLUMNS | {"x1": {0: [0.5], 1: [0.5]}, "x2": {0: [1], 1: [0]}}), "differ"),
    ],
)
def test_params_that_do_not_fit_are_refused(params, match):
    with pytest.raises(ParameterError, match=match):
        hs.bound(two_points(), POINTS, params)


def test_a_row_without_posterior_is_named():
    model = hs.LatentClass.from_params([0.5, 0.5], {"x": {0: [0, 0], 1: [1, 1]}})
    with pytest.raises(DataError, match="row 2 is impossible"):
        hs.bound(model, [[1], [1], [0]])


# ------------------------------------------------------------------------------------------------------------- the line

FAR = {"x": {"mean": [0, 2.5], "sd": [1, 1]}}
VALUES = [[-2.1], [-1.7], [-1.4], [0.3], [1.9], [2.5], [3.1]]


def test_the_line_goes_through_the_parameters_and_their_m_step():
    model = hs.LatentClass.from_params([0.5, 0.5], FAR)
    line = bound_line(model, VALUES)
    after = hs.explain(model, VALUES, n_iter=1).steps[0].after
    end = hs.bound(model, VALUES, after)
    assert_allclose(line.touching, hs.bound(model, VALUES).loglik, rtol=1e-12)
    assert_allclose(line.reached, [end.bound, end.loglik], rtol=1e-12)
    assert line.places[np.argmax(line.bound)] == 1.0
    assert np.all(line.bound <= line.objective + 1e-12)
    assert (line.is_step, line.with_prior, line.restarted) == (True, False, False)


def test_the_line_of_a_later_step_touches_where_the_one_before_ended():
    model = hs.LatentClass.from_params([0.5, 0.5], FAR)
    first, second = (bound_line(model, VALUES, step=step) for step in (0, 1))
    assert_allclose(second.touching, first.reached[1], rtol=1e-12)
    assert second.reached[1] > second.touching
    with pytest.raises(ParameterError, match="step=-1"):
        bound_line(model, VALUES, step=-1)


def test_the_line_of_a_model_that_is_not_fitted_begins_at_its_start():
    start = {"weights": [0.5, 0.5], **FAR}
    options = {"columns": {"x": "gaussian"}, "prior": None}
    X = pd.DataFrame(VALUES, columns=["x"])
    begun, given = hs.LatentClass(2, start=start, **options), hs.LatentClass.from_params([0.5, 0.5], FAR)
    one, other = bound_line(begun, X), bound_line(given, VALUES)
    assert_allclose([one.touching, *one.reached], [other.touching, *other.reached], rtol=1e-9)
    with pytest.raises(NotFittedError):
        bound_line(hs.NaiveBayes(), X)
    with pytest.raises(ParameterError, match="not a mixture"):
        bound_line("model", X)


def test_the_line_is_plain_data():
    X = hs.load_penguins()
    found = bound_line(penguins(max_iter=3), X).to_dict()
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert len(found["places"]) == len(found["objective"]) == len(found["bound"])
    assert found["name"] == "log-likelihood + log-prior"
    assert found["end"]["bound"] < found["end"]["objective"]
    ruled_out = bound_line(two_points(), POINTS, {"weights": [0, 1]}).to_dict()
    assert None in ruled_out["bound"]
    json.dumps(ruled_out, allow_nan=False)


# ---------------------------------------------------------------------------------------------------------- the picture


@pytest.fixture
def ax():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, ax = pyplot.subplots()
    yield ax
    pyplot.close(figure)


def curves(ax):
    likelihood, bound = ax.get_lines()[:2]
    assert likelihood.get_label().startswith("log-likelihood")
    return likelihood.get_xdata(), likelihood.get_ydata(), bound.get_ydata()


@pytest.mark.parametrize("prior", [None, "row"])
def test_the_picture_shows_the_bound_touching_and_its_top(ax, prior):
    X = hs.load_penguins()
    early = penguins(max_iter=3, prior=prior, accelerate=False)
    late = penguins(max_iter=4, prior=prior, accelerate=False)
    assert hs.plot_bound(early, X, ax=ax) is ax
    places, likelihood, bound = curves(ax)
    line = bound_line(early, X)
    for drawn, computed in zip((places, likelihood, bound), (line.places, line.objective, line.bound), strict=True):
        assert_array_equal(drawn, computed)
    start, end = np.flatnonzero(places == 0), np.flatnonzero(places == 1)
    assert_allclose(bound[start], likelihood[start], rtol=1e-12)
    assert_allclose(likelihood[start], early.objective_, rtol=1e-12)
    assert_allclose(likelihood[end], late.objective_, rtol=1e-9)
    assert np.all(bound <= likelihood + 1e-9 * np.abs(likelihood))
    assert np.argmax(bound) == end[0]
    assert ("log-prior" in ax.get_ylabel()) == (prior is not None)


def test_the_picture_of_a_line_to_given_params(ax):
    model = hs.LatentClass.from_params([0.5, 0.5], {"x": {"mean": [-1, 2], "sd": [1, 1]}})
    hs.plot_bound(model, [[-2.1], [-1.4], [0.3], [2.5]], {"weights": [0.1, 0.9]}, ax=ax)
    places, likelihood, bound = curves(ax)
    assert {0.0, 1.0} <= set(places)
    assert np.all(bound <= likelihood + 1e-12)
    assert [label.get_text() for label in ax.get_xticklabels()] == ["parameters now", "params"]


def test_a_line_of_no_length_is_refused(ax):
    with pytest.raises(ParameterError, match=r"no length.*EM has arrived"):
        hs.plot_bound(hs.LatentClass.from_params([1.0], {"x": {0: [0.5], 1: [0.5]}}), [[0], [1]], ax=ax)
    with pytest.raises(ParameterError, match="no length"):
        hs.plot_bound(two_points(), POINTS, two_points(), ax=ax)


def test_without_matplotlib_the_error_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r'plot_bound needs matplotlib.*pip install "halfseen\[app\]"'):
        hs.plot_bound(two_points(), POINTS)


def test_missing_cells_of_numbers_far_from_zero_keep_their_divergence():
    """What is added to conditional means and taken off again near 1e8 costs half of all digits."""
    parts = []
    for middle in (0.0, 1e8):
        means = middle + np.array([[0.0, 0.0], [4.0, 1.0]])
        model = hs.GaussianMixture.from_params([0.4, 0.6], means, [[[1.0, 0.9], [0.9, 1.0]]] * 2)
        X = middle + np.array([[0.5, np.nan], [np.nan, 1.5], [3.0, 2.0], [4.5, np.nan]])
        moved = {"x0": {"mean": middle + np.array([5.0, -3.0])}}
        parts.append(hs.bound(model, X, moved))
    near, far = parts
    assert near.kl > 1
    assert_allclose(far.kl, near.kl, rtol=1e-12)
    assert_allclose(far.bound + far.kl, far.loglik, rtol=1e-12)


def test_a_converged_fit_is_drawn_from_its_start(ax):
    X = hs.load_penguins()[["bill_length_mm", "body_mass_g"]]
    for model in (
        hs.LatentClass(range(1, 3), n_init=1, random_state=0),
        hs.GaussianMixture(2, n_init=1, random_state=0),
    ):
        ax.clear()
        assert hs.plot_bound(model.fit(X), X, ax=ax) is ax
        places, likelihood, bound = curves(ax)
        start, end = (int(np.flatnonzero(places == place)[0]) for place in (0, 1))
        assert likelihood[end] - likelihood[start] > 1  # a step that can be seen
        assert np.argmax(bound) == end
        assert "another start" in ax.get_title()
