"""Pictures of Gaussian mixtures."""

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from numpy.testing import assert_allclose
from sklearn.exceptions import NotFittedError

import halfseen as hs
from halfseen.errors import ParameterError

mpl.use("Agg")


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


def birds():
    table = hs.load_penguins()
    return table[["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"]]


@pytest.mark.parametrize("shape", ["full", "tied", "diag", "spherical"])
def test_every_shape_is_drawn_with_its_rows(shape):
    X = birds()
    model = hs.GaussianMixture(3, covariance_type=shape, random_state=0, n_init=2).fit(X)
    ax = hs.plot_mixture(model, X)
    assert len(ax.patches) == 6
    assert [len(points.get_offsets()) for points in ax.collections] == [342, 2]  # two birds have holes
    assert "of the variance" in ax.get_xlabel()


def test_an_ellipse_is_where_the_normal_says():
    cov = np.array([[4.0, 0.0], [0.0, 1.0]])
    ax = hs.plot_mixture(hs.GaussianMixture.from_params([1.0], [[3.0, 5.0]], [cov]))
    inner, outer = ax.patches
    assert_allclose(inner.center, [3, 5])
    assert_allclose([inner.width, inner.height, inner.angle % 180], [4, 2, 0], atol=1e-12)
    assert_allclose([outer.width, outer.height], [8, 4])


def test_columns_by_name_and_given_axes():
    X = birds()
    model = hs.GaussianClassifier().fit(X, hs.load_penguins()["species"])
    _, ax = plt.subplots()
    assert hs.plot_mixture(model, X, ax, columns=["body_mass_g", "bill_length_mm"]) is ax
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("body_mass_g", "bill_length_mm")
    assert "Adelie (4" in ax.get_legend().get_texts()[0].get_text()
    assert not ax.texts  # names stand beside the plot, where none is on another
    with pytest.raises(ParameterError, match=r"mass.* are not one or two of the columns: bill_length_mm"):
        hs.plot_mixture(model, columns=["mass", "body_mass_g"])


def test_rows_lie_at_the_value_of_a_constant_column():
    X = np.column_stack([np.random.default_rng(0).normal(size=20), np.full(20, 7.0)])
    ax = hs.plot_mixture(hs.GaussianMixture(1).fit(X), X)
    assert_allclose(ax.collections[0].get_offsets(), X)
    assert hs.plot_mixture(hs.GaussianMixture(1).fit(np.ones((5, 3)))).get_xlabel().endswith(": 0% of the variance")
    still = np.full((5, 2), 7.0)
    assert_allclose(hs.plot_mixture(hs.GaussianMixture(1).fit(still), still).collections[0].get_offsets(), still)


def test_one_column_is_drawn_as_densities_that_add_up():
    X = np.concatenate(
        [np.random.default_rng(0).normal(0, 1, 200), np.random.default_rng(1).normal(5, 1, 100), [np.nan]]
    )
    table = pd.DataFrame({"size": X, "city": ["a", "b", "c"] * 100 + ["a"]})
    model = hs.LatentClass(2, n_init=2, random_state=0).fit(table)
    ax = hs.plot_mixture(model, table)
    assert ax.get_xlabel() == "size"
    first, second, whole = ax.lines
    assert_allclose(first.get_ydata() + second.get_ydata(), whole.get_ydata(), rtol=1e-12)
    assert np.trapezoid(whole.get_ydata(), whole.get_xdata()) == pytest.approx(1, abs=2e-3)
    at = float(first.get_xdata()[100])
    params = model.params_["size"]
    z = (at - params["mean"][0]) / params["sd"][0]
    assert first.get_ydata()[100] == pytest.approx(
        model.weights_[0] * np.exp(-(z**2) / 2) / params["sd"][0] / np.sqrt(2 * np.pi), rel=1e-9
    )
    assert sum(bar.get_height() * bar.get_width() for bar in ax.patches) == pytest.approx(1)
    assert "1 missing value left out" in [text.get_text() for text in ax.get_legend().get_texts()]


def test_counts_are_shares_of_whole_numbers():
    X = pd.DataFrame({"calls": [0, 1, 1, 2, 9, 10, 12, 15, 11, 1] * 4})
    model = hs.LatentClass(2, columns={"calls": "poisson"}, n_init=2, random_state=0).fit(X)
    ax = hs.plot_mixture(model, X)
    assert ax.get_ylabel() == "share"
    assert_allclose(ax.lines[0].get_xdata(), np.arange(len(ax.lines[0].get_xdata())))
    assert ax.lines[-1].get_ydata().sum() == pytest.approx(1, abs=1e-3)


def test_normal_columns_of_mixed_tables_have_ellipses():
    table = hs.load_penguins().drop(columns=["species", "year"])
    model = hs.LatentClass(2, n_init=1, random_state=0).fit(table)
    ax = hs.plot_mixture(model, table, columns=["bill_length_mm", "body_mass_g"])
    assert_allclose(ax.patches[0].center, [model.params_[c]["mean"][0] for c in ("bill_length_mm", "body_mass_g")])
    assert len(hs.plot_mixture(model, table).patches) == 4  # all four numbers, in a plane
    assert hs.plot_mixture(model, table, columns="body_mass_g").get_xlabel() == "body_mass_g"
    with pytest.raises(ParameterError, match=r"'island' is not normal in each class.* Use plot_pairs"):
        hs.plot_mixture(model, columns=["island", "body_mass_g"])
    with pytest.raises(ParameterError, match=r"'island' is a column of kind categorical. Use plot_profiles"):
        hs.plot_mixture(model, columns="island")


def test_what_cannot_be_drawn():
    with pytest.raises(NotFittedError, match="GaussianMixture"):
        hs.plot_mixture(hs.GaussianMixture(2))
    with pytest.raises(ParameterError, match="got KMeans"):
        hs.plot_mixture(hs.KMeans())
    with pytest.raises(ParameterError, match="no column of numbers"):
        hs.plot_mixture(hs.LatentClass.from_params([1.0], {"x": {"a": [1.0]}}))
