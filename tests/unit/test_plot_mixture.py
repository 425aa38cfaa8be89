"""Pictures of Gaussian mixtures."""

import matplotlib as mpl
import numpy as np
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
    assert "Adelie (4" in ax.texts[0].get_text()
    with pytest.raises(ParameterError, match=r"mass.* are not two of the columns: bill_length_mm"):
        hs.plot_mixture(model, columns=["mass", "body_mass_g"])


def test_rows_lie_at_the_value_of_a_constant_column():
    X = np.column_stack([np.random.default_rng(0).normal(size=20), np.full(20, 7.0)])
    ax = hs.plot_mixture(hs.GaussianMixture(1).fit(X), X)
    assert_allclose(ax.collections[0].get_offsets(), X)
    assert hs.plot_mixture(hs.GaussianMixture(1).fit(np.ones((5, 3)))).get_xlabel().endswith(": 0% of the variance")
    still = np.full((5, 2), 7.0)
    assert_allclose(hs.plot_mixture(hs.GaussianMixture(1).fit(still), still).collections[0].get_offsets(), still)


def test_what_cannot_be_drawn():
    with pytest.raises(NotFittedError, match="GaussianMixture"):
        hs.plot_mixture(hs.GaussianMixture(2))
    with pytest.raises(ParameterError, match="got LatentClass"):
        hs.plot_mixture(hs.LatentClass())
    with pytest.raises(ParameterError, match="this model has one"):
        hs.plot_mixture(hs.GaussianMixture.from_params([1.0], [[3.0]], [[[1.0]]]))
