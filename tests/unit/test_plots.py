"""Plots: what is drawn is what was found, in words as well as in colour; errors where there is nothing to draw."""

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

import halfseen as hs
from halfseen.analysis.validation import cross_validate
from halfseen.errors import ParameterError

pytest.importorskip("matplotlib")
from matplotlib.backends.backend_agg import FigureCanvasAgg
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


def test_long_names_that_end_differently_stay_apart(ax):
    X = pd.DataFrame({"do_you_agree_with_the_statement_on_the_last_page": ["n", "y"] * 10, "z": [1.5, 2.5] * 10})
    hs.plot_profiles(hs.LatentClass(2, random_state=0, n_init=1).fit(X), ax=ax)
    labels = [tick.get_text() for tick in ax.get_yticklabels()]
    assert len(set(labels)) == 3
    assert labels[0].split("  ")[0].endswith("= n")
    assert labels[1].split("  ")[0].endswith("= y")
    assert all(len(label.split("  ")[0]) <= 34 for label in labels)


def test_profiles_of_clusters_and_states(birds):
    numbers = birds[["bill_length_mm", "body_mass_g"]]
    clusters = hs.KMeans(2, random_state=0).fit(numbers)
    shown = hs.plot_profiles(clusters, ax=Figure().subplots())
    assert texts(shown)[2:] == [f"{mass:,.0f}" for mass in clusters.cluster_centers_[:, 1]]
    assert shown.get_title() == "Profiles of the clusters"
    states = hs.HMM(2, n_init=1, random_state=0).fit(numbers)
    assert texts(hs.plot_profiles(states, ax=Figure().subplots()))[2:] == [
        f"{mass:,.0f}" for mass in states.params_["body_mass_g"]["mean"]
    ]


@pytest.fixture(scope="module")
def votes():
    return hs.load_votes().drop(columns="party").iloc[:, 3:8]


def test_profile_lines_are_probabilities_with_intervals(votes, ax):
    model = hs.LatentClass(2, n_init=2, random_state=0).fit(votes)
    errors = hs.standard_errors(model, votes)
    assert hs.plot_profile_lines(model, ax=ax, errors=errors) is ax
    assert ax.get_ylabel() == "probability in each class"
    assert [tick.get_text()[-3:] for tick in ax.get_xticklabels()] == ["= y"] * 5
    lines = [line for line in ax.lines if str(line.get_label()).startswith("class")]
    for k, line in enumerate(lines):
        np.testing.assert_allclose(line.get_ydata(), [model.params_[name]["y"][k] for name in votes])
    table = errors.to_frame()
    table = table[(table["value"] == "y") & (table["column"] == votes.columns[2])].set_index("class")
    ends = [part.get_segments()[0][:, 1] for part in ax.collections]
    np.testing.assert_allclose(ends[2], table.loc["class 0", ["low", "high"]].to_numpy(dtype=float))
    assert len(ends) == 10


def test_profile_lines_of_numbers_are_in_standard_deviations(birds, ax):
    model = hs.LatentClass(2, n_init=2, random_state=0).fit(birds)
    errors = hs.standard_errors(model, birds).to_frame()
    hs.plot_profile_lines(model, ax=ax, errors=errors, top=30)
    assert "standard deviations" in ax.get_ylabel()
    at = [tick.get_text() for tick in ax.get_xticklabels()].index("body_mass_g")
    low, high = next(
        part.get_segments()[0][:, 1] for part in ax.collections if abs(part.get_segments()[0][0, 0] - at) < 0.2
    )
    row = errors[(errors["column"] == "body_mass_g") & (errors["value"] == "mean")].iloc[0]
    height = ax.lines[1].get_ydata()[at]
    assert low < height < high
    assert (high - height) / (height - low) == pytest.approx(
        (row["high"] - row["estimate"]) / (row["estimate"] - row["low"])
    )


def test_intervals_of_another_model_are_refused(votes, ax):
    model = hs.LatentClass(2, n_init=1, random_state=0).fit(votes)
    with pytest.raises(ParameterError, match=r"intervals of 'class 0', but the model has left, right"):
        hs.plot_profile_lines(model.rename(["left", "right"]), ax=ax, errors=hs.standard_errors(model, votes))
    with pytest.raises(ParameterError, match="has no intervals"):
        hs.plot_profile_lines(model, ax=ax, errors=[1, 2])


def test_uncertainty_falls_within_each_class(model, birds, ax):
    assert hs.plot_uncertainty(model, birds, ax=ax) is ax
    assert labelled(ax)
    best, owner = model.predict_proba(birds).max(axis=1), model.predict(birds)
    for k in range(model.n_components_):
        drawn = ax.lines[k].get_ydata()[1:]
        np.testing.assert_allclose(drawn, np.sort(best[owner == k])[::-1])
        assert ax.lines[k].get_xdata()[-1] == pytest.approx(1)
    unsure = int((best < 0.7).sum())
    told = sum(
        int(text.get_text().split(", ")[1].split()[0])
        for text in ax.get_legend().get_texts()
        if "below" in text.get_text()
    )
    assert told == unsure


def test_every_family_has_a_trace():
    fits = {
        "k-means": hs.KMeans(2, random_state=0).fit([[0.0], [1.0], [5.0], [6.0]]),
        "network": hs.BayesNet("C -> x0; C -> x1", hidden={"C": 2}, random_state=0).fit([["a", "b"], ["c", "d"]] * 4),
        "grammar": hs.PCFG.from_string("S -> S S [0.5] | 'a' [0.5]").fit(["a a a", "a a"]),
        "words": hs.WordAligner(max_iter=2).fit([("das Haus", "the house"), ("das Buch", "the book")]),
    }
    for name, fitted in fits.items():
        ax = hs.plot_trace(fitted, ax=Figure().subplots())
        assert list(ax.lines[0].get_ydata()) == list(fitted.trace_), name
    assert "inertia" in hs.plot_trace(fits["k-means"], ax=Figure().subplots()).get_ylabel()


def test_a_tree_is_drawn_with_its_words_below(ax):
    grammar = hs.PCFG.from_string("S -> NP VP [1.0]\nNP -> 'we' [1.0]\nVP -> 'see' [1.0]")
    assert hs.plot_tree(grammar.parse("we see"), ax=ax) is ax
    places = {text.get_text(): text.get_position() for text in ax.texts}
    assert places["we"][1] == places["see"][1] > places["NP"][1] > places["S"][1]
    assert places["we"][0] < places["see"][0]
    assert len(ax.lines) == 4
    ax.figure.canvas.draw()
    with pytest.raises(ParameterError, match="draws a Tree, got NoneType"):
        hs.plot_tree(None)


def test_every_plot_leaves_ink_on_given_axes_and_no_figure_behind(model, birds):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.close("all")
    numbers = birds[["bill_length_mm", "body_mass_g"]]
    mixture = hs.GaussianMixture(2, n_init=1, random_state=0).fit(numbers)
    chain = hs.HMM.from_params([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], {"x": {"mean": [0, 5], "sd": [1, 1]}})
    net = hs.BayesNet.from_params({"rain": [0.8, 0.2], "wet": [[0.9, 0.1], [0.2, 0.8]]}, [("rain", "wet")])
    drawn = {
        "bound": lambda ax: hs.plot_bound(model, birds, ax=ax),
        "certainty": lambda ax: hs.plot_certainty(model, birds, ax),
        "links": lambda ax: hs.plot_links("das Haus", "the house", [(0, 0), (1, 1)], ax=ax),
        "missing": lambda ax: hs.plot_missing(birds, ax),
        "mixture": lambda ax: hs.plot_mixture(mixture, numbers, ax),
        "network": lambda ax: hs.plot_network(net, ax),
        "pairs": lambda ax: hs.plot_pairs(mixture, numbers, ax),
        "paths": lambda ax: hs.plot_paths(chain, [0.1, 5.0], ax=ax),
        "profile_lines": lambda ax: hs.plot_profile_lines(model, ax),
        "profiles": lambda ax: hs.plot_profiles(model, ax),
        "selection": lambda ax: hs.plot_selection(model, ax),
        "timeline": lambda ax: hs.plot_timeline(chain, [0.1, 5.0], ax=ax),
        "trace": lambda ax: hs.plot_trace(model, ax),
        "transitions": lambda ax: hs.plot_transitions(chain, ax),
        "tree": lambda ax: hs.plot_tree("(S (NP we) (VP see))", ax),
        "uncertainty": lambda ax: hs.plot_uncertainty(model, birds, ax),
    }
    elsewhere = {"plot_alignment", "plot_shares"}  # in test_audio and test_covariates
    assert {f"plot_{name}" for name in drawn} | elsewhere == {name for name in hs.__all__ if name.startswith("plot_")}
    for name, draw in drawn.items():
        figure = Figure(figsize=(6, 5), dpi=40, layout="constrained")
        ax = figure.subplots()
        assert draw(ax) is ax, name
        canvas = FigureCanvasAgg(figure)
        canvas.draw()
        pixels = np.asarray(canvas.buffer_rgba())[..., :3]
        assert (pixels < 250).any(axis=2).mean() > 0.01, name
    assert not pyplot.get_fignums()


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
