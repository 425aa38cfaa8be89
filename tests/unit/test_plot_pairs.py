"""plot_pairs: rows over pairs of columns in the colours of their classes."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import halfseen as hs
from halfseen.errors import ParameterError

pytest.importorskip("matplotlib")
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from halfseen.plots.style import class_colours

COLUMNS = ["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"]


@pytest.fixture
def ax():
    return Figure(layout="constrained").subplots()


@pytest.fixture(scope="module")
def birds():
    return hs.load_penguins()[COLUMNS]


@pytest.fixture(scope="module")
def mixture(birds):
    return hs.GaussianMixture(3, n_init=2, random_state=0).fit(birds)


def points(ax, k):
    """Return the places of the rows of class k in a panel, certain and uncertain ones."""
    return np.concatenate([part.get_offsets() for part in ax.collections[2 * k : 2 * k + 2]])


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_two_columns_fill_the_axes(mixture, birds, ax):
    assert hs.plot_pairs(mixture, birds, ax, columns=["body_mass_g", "bill_length_mm"]) is ax
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("body_mass_g", "bill_length_mm")
    classes, whole = mixture.predict(birds), birds.notna().all(axis=1)
    for k in range(3):
        own = birds[["body_mass_g", "bill_length_mm"]][(classes == k) & whole]
        assert sorted(map(tuple, points(ax, k))) == sorted(map(tuple, own.to_numpy()))
        shown = {to_hex(part.get_facecolor()[0]) for part in ax.collections[2 * k : 2 * k + 1]}
        assert shown == {class_colours(3)[k]}
    assert len(ax.patches) == 6
    assert_allclose(ax.patches[0].center, mixture.means_[0, [3, 0]])
    assert legend(ax)[0] == f"class 0 ({mixture.weights_[0]:.0%})"


def test_panels_are_pairs_of_the_columns_that_separate_most(mixture, birds, ax):
    hs.plot_pairs(mixture, birds, ax)
    last = [panel for panel in ax.child_axes if panel.get_xlabel()]
    first = [panel for panel in ax.child_axes if panel.get_ylabel()]
    assert len(ax.child_axes) == 3
    assert [panel.get_xlabel() for panel in last] == ["flipper_length_mm", "bill_length_mm"]
    assert [panel.get_ylabel() for panel in first] == ["bill_length_mm", "bill_depth_mm"]
    ax.figure.canvas.draw()
    hs.plot_pairs(mixture, birds, many := Figure().subplots(), top=4)
    assert len(many.child_axes) == 6


def test_rows_with_missing_values_are_marks_at_the_edge_and_counted(mixture, birds, ax):
    some = birds.iloc[:40].reset_index(drop=True)
    some.loc[0, "body_mass_g"] = np.nan
    some.loc[1, "bill_length_mm"] = np.nan
    some.loc[2, ["body_mass_g", "bill_length_mm"]] = np.nan
    hs.plot_pairs(mixture, some, ax, columns=["body_mass_g", "bill_length_mm"])
    marks = [(line.get_marker(), *line.get_xydata()[0]) for line in ax.lines]
    assert ("_", 0.0, some.loc[0, "bill_length_mm"]) in marks
    assert ("|", some.loc[1, "body_mass_g"], 0.0) in marks
    drawn = sum(len(points(ax, k)) for k in range(3))
    assert drawn == 36  # bird 3 of the data has no measurement at all
    assert legend(ax)[-2:] == ["4 rows with missing values:", "marks at the edges, 2 left out"]


def test_uncertain_rows_are_hollow(ax):
    model = hs.LatentClass.from_params(
        [0.5, 0.5], {"x": {"mean": [0, 4], "sd": [1, 1]}, "y": {"mean": [0, 0], "sd": [1, 1]}}
    )
    hs.plot_pairs(model, pd.DataFrame({"x": [0.0, 2.0, 4.0], "y": [0.0, 0.5, 0.0]}), ax)
    assert [len(part.get_offsets()) for part in ax.collections] == [1, 1, 1, 0]
    assert not len(ax.collections[1].get_facecolor())
    assert "hollow: probability below 0.7" in legend(ax)


def test_categories_have_their_names_and_no_ellipse(ax):
    votes = hs.load_votes().drop(columns="party").iloc[:, :5]
    hs.plot_pairs(hs.LatentClass(2, n_init=1, random_state=0).fit(votes), votes, ax, columns=list(votes)[:2])
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["n", "y"]
    places = points(ax, 0)
    assert np.abs(places - places.round()).max() < 0.3
    assert not ax.patches


def test_clusters_have_centres_and_states_their_steps(birds):
    clusters = hs.KMeans(3, random_state=0).fit(birds)
    ax = hs.plot_pairs(clusters, birds, Figure().subplots(), columns=COLUMNS[:2])
    centres = [line.get_xydata()[0] for line in ax.lines if line.get_marker() == "X"]
    assert_allclose(centres, clusters.cluster_centers_[:, :2])
    X = np.random.default_rng(0).normal(size=(60, 2)) + np.repeat([[0, 0], [5, 5]], 30, axis=0)
    states = hs.HMM(2, n_init=1, random_state=0).fit(X)
    ax = hs.plot_pairs(states, [X[:20], X[20:]], Figure().subplots())
    assert sum(len(points(ax, k)) for k in range(2)) == 60
    assert legend(ax)[0].startswith("state 0")


def test_classifiers_show_their_labels(birds):
    species = hs.load_penguins()["species"]
    ax = hs.plot_pairs(hs.GaussianClassifier().fit(birds, species), birds, Figure().subplots(), top=2)
    assert [text.partition(" (")[0] for text in legend(ax)[:3]] == ["Adelie", "Chinstrap", "Gentoo"]


def test_a_sample_of_many_rows_is_said(ax):
    model = hs.KMeans.from_params([[0.0, 0.0], [5.0, 5.0]])
    X = np.random.default_rng(0).normal(size=(4000, 2))
    hs.plot_pairs(model, X, ax)
    assert sum(len(part.get_offsets()) for part in ax.collections) == 3000
    assert "3,000 of 4,000 rows, at random" in legend(ax)


def test_what_cannot_be_drawn(mixture, birds, ax):
    with pytest.raises(ParameterError, match=r"'mass'.* are not two or more of the columns: bill_length_mm"):
        hs.plot_pairs(mixture, birds, ax, columns=["mass", "body_mass_g"])
    one = hs.LatentClass.from_params([1.0], {"x": {"mean": [0], "sd": [1]}})
    with pytest.raises(ParameterError, match="needs two columns"):
        hs.plot_pairs(one, [[1.0]], ax)
    with pytest.raises(ParameterError, match="PCFG is not a fitted mixture"):
        hs.plot_pairs(hs.PCFG.from_string("S -> 'a' [1.0]"), birds, ax)
