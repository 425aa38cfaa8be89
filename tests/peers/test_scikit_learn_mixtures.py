"""Equality with scikit-learn: mixtures from the same start after the same iterations, and linear discriminants."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn import mixture
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning

import halfseen as hs

pytestmark = pytest.mark.thorough
SHAPES = ("full", "tied", "diag", "spherical")
K, D = 3, 4


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    roots = rng.normal(size=(K, D, D)) / 2 + np.eye(D)
    hidden = rng.integers(0, K, 400)
    return 3 * rng.normal(size=(K, D))[hidden] + np.einsum("nde,ne->nd", roots[hidden], rng.normal(size=(400, D)))


def start(X, shape):
    X, rng = X.astype(np.float64), np.random.default_rng(1)
    spread = {
        "full": np.tile(np.linalg.inv(np.cov(X.T)), (K, 1, 1)),
        "tied": np.linalg.inv(np.cov(X.T)),
        "diag": np.tile(1 / X.var(axis=0), (K, 1)),
        "spherical": np.full(K, 1 / X.var()),
    }
    return {
        "weights_init": np.array([0.2, 0.5, 0.3]),
        "means_init": X[rng.choice(len(X), K, replace=False)],
        "precisions_init": spread[shape],
    }


def both(X, shape, n_iter, reg_covar=0.0):
    theirs = mixture.GaussianMixture(
        K, covariance_type=shape, tol=0, max_iter=n_iter, reg_covar=reg_covar, random_state=0, **start(X, shape)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        theirs.fit(X)
    ours = hs.GaussianMixture(
        K,
        covariance_type=shape,
        stop="iterations",
        max_iter=n_iter + 1,
        accelerate=False,
        reg_covar=reg_covar,
        **start(X, shape),
    )
    return ours.fit(X), theirs


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("n_iter", [1, 2, 20])
@pytest.mark.parametrize("reg_covar", [0.0, 1e-2])
def test_the_same_parameters_after_the_same_iterations(table, shape, n_iter, reg_covar):
    ours, theirs = both(table, shape, n_iter, reg_covar)
    for name in ("weights_", "means_", "covariances_", "precisions_", "precisions_cholesky_"):
        assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-8, atol=1e-8, err_msg=name)
    assert_allclose(ours.lower_bound_, theirs.score(table), rtol=1e-10)
    if hasattr(theirs, "lower_bounds_"):  # since 1.7
        assert_allclose(ours.lower_bounds_[:n_iter], theirs.lower_bounds_, rtol=1e-9)
    assert_allclose(ours.predict_proba(table), theirs.predict_proba(table), atol=1e-9)
    assert_allclose(ours.score_samples(table), theirs.score_samples(table), rtol=1e-9, atol=1e-9)
    assert_allclose(ours.bic(table), theirs.bic(table), rtol=1e-10)
    assert_allclose(ours.aic(table), theirs.aic(table), rtol=1e-10)


@pytest.mark.parametrize("shape", SHAPES)
def test_float32_gives_the_answer_of_float64(table, shape):
    single = table.astype(np.float32)
    ours, theirs = both(single, shape, 5)
    again, _ = both(single.astype(np.float64), shape, 5)
    assert_allclose(ours.covariances_, again.covariances_, rtol=1e-12)
    assert_allclose(ours.means_, theirs.means_, rtol=1e-3)
    holes = single.copy()
    holes[0, 1] = np.nan
    assert ours.impute(holes).dtype == np.float32


def test_tied_covariance_and_labels_are_linear_discriminant_analysis(table):
    y = np.random.default_rng(2).integers(0, 3, len(table))
    theirs = LinearDiscriminantAnalysis(solver="lsqr", store_covariance=True).fit(table, y)
    ours = hs.GaussianClassifier(covariance_type="tied").fit(table, y)
    assert_allclose(ours.means_, theirs.means_, rtol=1e-10, atol=1e-12)
    assert_allclose(ours.covariances_, theirs.covariance_, rtol=1e-8, atol=1e-10)
    assert_allclose(ours.predict_proba(table), theirs.predict_proba(table), atol=1e-9)
    assert ours.n_iter_ <= 3  # count, estimate, see that nothing moves
