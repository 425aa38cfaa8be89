"""Plots: what is drawn is what was found, in words as well as in colour; errors where there is nothing to draw."""

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

import halfseen as hs
from halfseen.analysis.validation import cross_validate
from halfseen.errors import ParameterError

pytest.importorskip("matplotlib")
from matplotlib.figure import Figure

from halfseen.plots.validation import plot_calibration, plot_cost, plot_reject


@pytest.fixture
def ax():
    return Figure(layout="constrained").subplots()


@pytest.fixture(scope="module")
def birds():
    return hs.load_penguins().drop(columns=["species", "year"])


@pytest.fixture(scope="module")
def model(birds):
    return hs.LatentClass(range(1, 4), random_state=0, n_init=2).fit(birds)


def texts(ax):
    return [text.get_text() for text in ax.texts]


def labelled(ax):
    return ax.get_title() and ax.get_xlabel() and ax.get_ylabel()


def test_profiles_show_values_in_their_own_units(model, ax):
    assert hs.plot_profiles(model, ax=ax) is ax
    assert labelled(ax)
    means = model.params_["body_mass_g"]["mean"]
    assert [f"{mean:,.0f}" for mean in means] == [text for text in texts(ax) if "," in text]
    assert [tick.get_text().partition("\n")[0] for tick in ax.get_xticklabels()] == list(model.class_names_)
    assert len(ax.get_yticklabels()) == 3 + 4 + 2


def test_profiles_of_many_columns_show_the_strongest(model, ax):
    hs.plot_profiles(model, ax=ax, top=4)
    assert len(ax.get_yticklabels()) == 4
    assert "5 weaker rows left out" in ax.get_title()


def test_selection_draws_the_criteria_and_rings_the_choice(model, ax):
    assert hs.plot_selection(model, ax=ax) is ax
    assert labelled(ax)
    lines = {line.get_label(): line.get_ydata() for line in ax.lines}
    np.testing.assert_allclose(lines["BIC"], model.selection_["bic"])
    np.testing.assert_allclose(lines["ICL"], model.selection_["icl"])
    assert texts(ax) == [f"{model.n_components_} chosen"]
    assert len({line.get_marker() for line in ax.lines[:3]}) == 3  # told apart without colour


def test_selection_of_several_shapes_has_a_line_for_each(ax):
    X = np.random.default_rng(0).normal(size=(60, 2)) + np.repeat([[0, 0], [5, 5]], 30, axis=0)
    model = hs.GaussianMixture([1, 2], covariance_type=["full", "diag"], n_init=2, random_state=0).fit(X)
    hs.plot_selection(model, ax=ax)
    lines = {line.get_label(): line.get_xydata() for line in ax.lines}
    table = model.selection_
    for shape in ("full", "diag"):
        own = table[table["covariance"] == shape]
        np.testing.assert_array_equal(lines[shape], own[["n_components", "bic"]])
    assert f"{model.covariance_type_}, 2 chosen" in [text.get_text() for text in ax.texts]


def test_chains_have_a_selection_and_a_climb():
    from matplotlib.figure import Figure

    X = np.random.default_rng(0).normal(size=(60, 2)) + np.repeat([[0, 0], [5, 5]], 30, axis=0)
    model = hs.HMM(2, covariance_type=["full", "diag"], n_init=2, random_state=0, prior=1.0).fit(X)
    ax = hs.plot_selection(model, ax=Figure().subplots())
    assert [label.get_text() for label in ax.get_xticklabels()] == ["full", "diag"]
    assert ax.get_title() == "Which covariance?"
    ax = hs.plot_trace(model, ax=Figure().subplots())
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), model.trace_)


def test_selection_needs_several_numbers_of_classes(birds, ax):
    one = hs.LatentClass(2, random_state=0, n_init=1).fit(birds)
    with pytest.raises(ParameterError, match=r"n_components=range\(1, 9\)"):
        hs.plot_selection(one, ax=ax)


def test_trace_is_the_trace(model, ax):
    assert hs.plot_trace(model, ax=ax) is ax
    assert labelled(ax)
    np.testing.assert_allclose(ax.lines[0].get_ydata(), model.trace_)


def test_trace_needs_a_fit(ax):
    built = hs.LatentClass.from_params([1.0], {"x": {"mean": [0], "sd": [1]}})
    with pytest.raises(ParameterError, match="no trace"):
        hs.plot_trace(built, ax=ax)


def test_certainty_bars_add_up_to_one(model, birds, ax):
    assert hs.plot_certainty(model, birds, ax=ax) is ax
    assert labelled(ax)
    widths = np.array([[bar.get_width() for bar in grade] for grade in ax.containers])
    np.testing.assert_allclose(widths.sum(axis=0), 1.0)
    counts = np.bincount(model.predict(birds), minlength=model.n_components_)
    shown = [tick.get_text() for tick in ax.get_yticklabels()]
    assert shown == [f"{name} ({n} rows)" for name, n in zip(model.class_names_, counts, strict=True)]


def test_missing_marks_every_hole_of_every_pattern(birds, ax):
    assert hs.plot_missing(birds, ax=ax) is ax
    assert texts(ax) == ["×"] * 6
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["333 rows, 97%", "9 rows, 3%", "2 rows, 1%"]
    assert ax.get_title() == "Missing values: 1% of the cells, in 3 patterns"


def test_missing_as_the_model_sees_it(ax):
    fitted = hs.LatentClass(1).fit([["a"], ["b"]] * 5)
    with pytest.warns(UserWarning, match="'c'"):
        hs.plot_missing([["a"], ["c"]], ax=ax, model=fitted)
    assert texts(ax) == ["×"]


def test_missing_without_holes_says_so(ax):
    assert hs.plot_missing([[1.5, 2.0]] * 3, ax=ax).get_title() == "No missing values"


def test_missing_with_hardly_a_pattern_twice_draws_shares(ax):
    X = np.random.default_rng(0).normal(size=(300, 40))
    X[np.random.default_rng(1).random(X.shape) < 0.3] = np.nan
    hs.plot_missing(X, ax=ax)
    shares = sorted(np.isnan(X).mean(axis=0))[10:]
    np.testing.assert_allclose(sorted(bar.get_height() for bar in ax.containers[0]), shares)
    assert "10 with fewer missing values left out" in ax.get_xlabel()


def test_dollars_in_names_are_dollars(ax):
    X = pd.DataFrame({"$x_{1$": ["$\\frac{$", "b"] * 10, "y": [1.5, 2.5] * 10})
    hs.plot_profiles(hs.LatentClass(2, random_state=0).fit(X).rename(["$", "$$^"]), ax=ax)
    ax.figure.canvas.draw()
    names = [text.get_text() for text in (*ax.get_xticklabels(), *ax.get_yticklabels()) if not text.get_parse_math()]
    assert {name.split()[0] for name in names} == {"$", "$$^", "$x_{1$", "y"}


def test_classifier_plots(birds):
    y = hs.load_penguins()["species"] == "Adelie"
    found = cross_validate(hs.NaiveBayes().fit(birds, y), birds, y)
    for plot in (plot_calibration, plot_reject, plot_cost):
        ax = plot(found, ax=Figure().subplots())
        assert labelled(ax)
    assert plot_reject(found, ax=Figure().subplots()).lines[0].get_ydata()[-1] == pytest.approx(found.accuracy)


@pytest.mark.parametrize(
    "plot", [hs.plot_profiles, hs.plot_selection, hs.plot_trace, lambda m: hs.plot_certainty(m, [[0]])]
)
def test_unfitted_models_are_refused(plot):
    with pytest.raises(NotFittedError):
        plot(hs.LatentClass(2))


def test_a_new_figure_without_ax(model):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("Agg")
    before = pyplot.get_fignums()
    ax = hs.plot_selection(model)
    assert len(pyplot.get_fignums()) == len(before) + 1
    pyplot.close(ax.figure)


# ------------------------------------------------------------------------------------------------------------ notebooks


def test_a_fitted_model_shows_its_classes(model):
    html = model._repr_html_()
    assert "body_mass_g" in html
    assert html.count("<tr>") == model.n_components_
    assert model._repr_mimebundle_()["text/html"] == html


def test_the_card_escapes_what_comes_from_data():
    X = pd.DataFrame({"<script>": ["<b>", "c"] * 10})
    html = hs.LatentClass(2, random_state=0).fit(X).rename(["<i>", "&"])._repr_html_()
    assert "<script>" not in html
    assert "<b>" not in html
    assert "&lt;i&gt;" in html


def test_before_the_fit_there_is_scikit_learns_diagram():
    unfitted = hs.LatentClass(2)
    assert "sk-" in unfitted._repr_html_()
    assert "sk-" in unfitted._repr_mimebundle_()["text/html"]
