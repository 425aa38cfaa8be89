"""Gaussian mixtures whose components lie apart: float32 leaves most of them out, and nothing shows of it.

Many rows, so that whole batches of them are sifted; the compiled kernels against those in NumPy, which leave nothing
out.
"""

import numpy as np
import pytest

from halfseen.kernels import plain

N, K = 1100, 12  # several batches, and a rest


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def compiled():
    return pytest.importorskip("halfseen.kernels.compiled")


def apart(rng, width, distance=25.0):
    """Rows of components so many standard deviations apart, their means and (independent) variances."""
    mean = rng.normal(size=(K, width)) * distance / np.sqrt(2 * width)
    var = rng.uniform(0.5, 1.5, (K, width))
    hidden = rng.integers(0, K, N)
    return mean[hidden] + np.sqrt(var[hidden]) * rng.normal(size=(N, width)), mean, var


def sheared(rng, width, thin):
    """Joint normals with one direction `thin` times as wide as the others, another in each component."""
    turn = np.linalg.qr(rng.normal(size=(K, width, width)))[0]
    scale = np.ones((K, 1, width))
    scale[:, :, 0] = thin
    root = turn * scale
    return root @ root.transpose(0, 2, 1)


def joint(cov):
    """Return factors, precisions and offsets of covariances."""
    factor = np.linalg.inv(np.linalg.cholesky(cov)).transpose(0, 2, 1).copy()
    return factor, factor @ factor.transpose(0, 2, 1), -0.5 * np.linalg.slogdet(2 * np.pi * cov)[1]


def assert_close(got, expected):
    """To a few units in the last place of the largest number of each component."""
    scale = np.abs(expected).max(axis=-1, keepdims=True)
    np.testing.assert_allclose(got / (scale + (scale == 0)), expected / (scale + (scale == 0)), atol=1e-11)


def assert_same_full(compiled, values, weight, log_mix, mean, cov, rtol=1e-13):
    """Compare log-likelihoods, usage and sums of the joint normal kernels."""
    results = []
    for kernels in (compiled, plain):
        used, sums = np.zeros(K), np.zeros((K, 2 + values.shape[1] + values.shape[1] ** 2))
        loglik = kernels.normal_soft(values, weight, log_mix, mean, *joint(cov), used, sums)
        results.append((loglik, used, sums))
    (loglik, used, sums), (expected_loglik, expected_used, expected_sums) = results
    np.testing.assert_allclose(loglik, expected_loglik, rtol=rtol)
    np.testing.assert_allclose(used, expected_used, rtol=1e-11)
    assert_close(sums[:, 2 + values.shape[1] :], expected_sums[:, 2 + values.shape[1] :])


def assert_same_diagonal(compiled, values, weight, log_mix, mean, var):
    """Compare log-likelihoods, usage and moments of the kernels of independent columns."""
    half = 0.5 / var, 0.5 * np.log(2 * np.pi * var)
    results = []
    for kernels in (compiled, plain):
        used, moments = np.zeros(K), np.zeros((3, K, values.shape[1]))
        results.append((kernels.diagonal_soft(values, weight, log_mix, mean, *half, used, moments), used, moments))
    (loglik, used, moments), (expected_loglik, expected_used, expected_moments) = results
    np.testing.assert_allclose(loglik, expected_loglik, rtol=1e-13)
    np.testing.assert_allclose(used, expected_used, rtol=1e-11)
    assert_close(moments[2], expected_moments[2])


def some_weights(rng):
    weight, mix = rng.uniform(0.5, 2.0, N), rng.dirichlet(np.ones(K))
    weight[5:9] = 0.0
    return weight, np.log(mix)


@pytest.mark.parametrize("width", [1, 2, 3, 7, 16, 33])
@pytest.mark.parametrize("distance", [4.0, 12.0, 17.0, 25.0, 60.0])
def test_components_apart(compiled, rng, width, distance):
    values, mean, var = apart(rng, width, distance)
    weight, log_mix = some_weights(rng)
    assert_same_diagonal(compiled, values, weight, log_mix, mean, var)
    assert_same_full(compiled, values, weight, log_mix, mean, np.einsum("kd,de->kde", var, np.eye(width)))


@pytest.mark.parametrize("thin", [1e-4, 1e-2, 1e2])
def test_correlated_columns(compiled, rng, thin):
    """A loss that comes from the difference of large numbers."""
    values, mean, _ = apart(rng, 6)
    cov = sheared(rng, 6, thin)
    assert_same_full(compiled, values, *some_weights(rng), mean, cov, rtol=1e-10)


@pytest.mark.parametrize("far", [1e2, 1e4, 1e8, 1e30])
def test_outliers(compiled, rng, far):
    """Rows so far from all components that float32 does not know their differences."""
    values, mean, var = apart(rng, 6)
    values[::50] *= far
    weight, log_mix = some_weights(rng)
    assert_same_diagonal(compiled, values, weight, log_mix, mean, var)
    if far < 1e8:  # beyond, the NumPy kernel overflows a product first
        assert_same_full(compiled, values, weight, log_mix, mean, sheared(rng, 6, 1e-2), rtol=1e-10)


@pytest.mark.parametrize("unit", [1e-50, 1e-41, 1e-38, 1e38, 1e41, 1e50])
def test_units_that_float32_does_not_hold(compiled, rng, unit):
    values, mean, var = apart(rng, 5)
    values[:, 1] *= unit
    mean[:, 1] *= unit
    var[:, 1] *= unit**2
    assert_same_diagonal(compiled, values, *some_weights(rng), mean, var)


def test_components_of_no_weight_and_of_hardly_any(compiled, rng):
    values, mean, var = apart(rng, 4)
    weight, log_mix = some_weights(rng)
    log_mix[0], log_mix[1], log_mix[2] = -1e300, -700.0, -60.0
    assert_same_diagonal(compiled, values, weight, log_mix, mean, var)
    assert_same_full(compiled, values, weight, log_mix, mean, np.einsum("kd,de->kde", var, np.eye(4)))


def test_a_component_that_hardly_any_row_uses_keeps_its_digits(compiled, rng):
    """It may grow again: what counts is its own mass, not that of the rows."""
    values, mean, var = apart(rng, 4)
    mean[0] += [25.0, 0.0, 0.0, 0.0]
    weight, log_mix = some_weights(rng)
    used, moments = np.zeros(K), np.zeros((3, K, 4))
    plain.diagonal_soft(values, weight, log_mix, mean, 0.5 / var, 0.5 * np.log(2 * np.pi * var), used, moments)
    assert 1e-200 < used[0] < 1e-40
    assert_same_diagonal(compiled, values, weight, log_mix, mean, var)


def test_a_row_heavier_than_all_before_it(compiled, rng):
    """1e-17 of it is more than rounding to a component of a hundred rows."""
    values, mean, var = apart(rng, 4)
    var[:] = 1.0
    gap = mean[1] - mean[0]
    values[900] = mean[0] + (0.5 - 40 / (gap @ gap)) * gap  # a log-ratio of -40
    weight, log_mix = np.ones(N), np.full(K, -np.log(K))
    weight[900] = 1e12
    assert_same_diagonal(compiled, values, weight, log_mix, mean, var)


def test_one_component_in_a_unit_that_float32_does_not_hold(compiled, rng):
    values, mean, var = apart(rng, 3)
    near = np.square(values - mean[0]).sum(axis=1) < 16
    values[:, 2], mean[:, 2] = rng.normal(size=N), 0.0
    values[near, 2] *= 1e-40
    var[0, 2] = 1e-80
    assert_same_diagonal(compiled, values, *some_weights(rng), mean, var)


def test_holes_among_whole_rows(compiled, rng):
    values, mean, var = apart(rng, 5)
    values[700:720, 2] = np.nan
    weight, log_mix = some_weights(rng)
    assert_same_diagonal(compiled, values, weight, log_mix, mean, var)
    assert_same_full(compiled, values, weight, log_mix, mean, sheared(rng, 5, 0.5))


def test_a_component_that_became_nan_shows(compiled, rng):
    values, mean, var = apart(rng, 5)
    weight, log_mix = some_weights(rng)
    half = 0.5 / var, 0.5 * np.log(2 * np.pi * var)
    half[1][3, 2] = np.nan
    loglik = compiled.diagonal_soft(values, weight, log_mix, mean, *half, np.zeros(K), np.zeros((3, K, 5)))
    assert np.isnan(loglik)
