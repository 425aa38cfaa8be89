"""Every kernel, in NumPy and in C++, against a loop over its formula.

Missing cells, impossible parts, no rows, one row, no columns.
"""

import math
import os
import subprocess
import sys
from decimal import Decimal, localcontext
from types import ModuleType

import numpy as np
import pytest
from scipy import stats as distributions
from scipy.special import gammaln, logsumexp

import halfseen.kernels
from halfseen.app.versions import versions
from halfseen.kernels import _merged, plain
from halfseen.kernels.exact import FOLDS
from halfseen.leaves.exact import Moments

SIZES = (3, 1, 2)
STARTS = np.array([0, 3, 4])
K = 3


def some_codes(n_rows, rng):
    codes = np.stack([rng.integers(-1, size, n_rows) for size in SIZES], axis=1)
    return codes.astype(np.int8)


def some_numbers(n_rows, rng, whole=False):
    values = rng.integers(0, 6, (n_rows, 2)).astype(float) if whole else rng.normal(size=(n_rows, 2))
    values[rng.random((n_rows, 2)) < 0.3] = np.nan
    return values


@pytest.fixture(params=[0, 1, 7], ids=lambda n: f"{n} rows")
def n_rows(request):
    return request.param


@pytest.fixture(params=["plain", "compiled"])
def kernels(request):
    """The NumPy kernels, and the C++ ones where they were built."""
    return plain if request.param == "plain" else pytest.importorskip("halfseen.kernels.compiled")


def numpy_only(values, out):
    """A kernel that is not compiled yet."""
    out += values


def test_a_kernel_without_a_compiled_version_falls_back_on_numpy():
    compiled = pytest.importorskip("halfseen.kernels.compiled")
    numpy_only.__module__ = "halfseen.kernels.plain"
    with_one_more = ModuleType("halfseen.kernels.plain")
    vars(with_one_more).update(vars(plain) | {"numpy_only": numpy_only})
    merged, fallbacks = _merged(compiled, with_one_more)
    assert fallbacks == ("numpy_only",)
    out = np.zeros(2)
    merged.numpy_only(np.ones(2), out)
    assert out.tolist() == [1, 1]
    assert merged.gaussian_score is compiled.gaussian_score  # resolved once: nothing is looked up on the way
    assert merged.instruction_set is compiled.instruction_set


def test_versions_name_the_kernels_that_fall_back(monkeypatch):
    monkeypatch.setattr(halfseen.kernels, "fallbacks", ("numpy_only", "other"))
    assert versions()["kernels"].endswith("; in NumPy: numpy_only, other")


@pytest.mark.parametrize("wanted", ["plain", "compiled"])
def test_the_environment_chooses_the_kernels(wanted):
    code = "from halfseen import kernels; print(kernels.backend, kernels.active is kernels.plain, kernels.fallbacks)"
    if wanted == "compiled":
        pytest.importorskip("halfseen.kernels.compiled")
    said = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "HALFSEEN_KERNELS": wanted},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert said.split(maxsplit=2) == [wanted, str(wanted == "plain"), "()\n"]


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_categorical_score_adds_the_log_table_of_observed_cells(kernels, n_rows, rng):
    codes = some_codes(n_rows, rng)
    log_table = np.log(rng.random((sum(SIZES), K)))
    log_table[1, 0] = -np.inf
    scores = rng.normal(size=(n_rows, K))
    expected = scores.copy()
    for n, row in enumerate(codes):
        for start, code in zip(STARTS, row, strict=True):
            if code >= 0:
                expected[n] += log_table[start + code]
    kernels.categorical_score(codes, STARTS, np.insert(log_table, STARTS, 0.0, axis=0), scores)
    np.testing.assert_allclose(scores, expected, rtol=1e-12)


def test_categorical_expect_adds_usage_to_the_cells_of_a_row(kernels, n_rows, rng):
    codes, usage = some_codes(n_rows, rng), rng.random((n_rows, K))
    counts = rng.random((K, sum(SIZES)))
    expected = counts.copy()
    for n, row in enumerate(codes):
        for start, code in zip(STARTS, row, strict=True):
            if code >= 0:
                expected[:, start + code] += usage[n]
    kernels.categorical_expect(codes, STARTS, usage, counts)
    np.testing.assert_allclose(counts, expected, rtol=1e-12)


def test_categorical_kernels_accept_a_block_without_columns(kernels):
    codes, none = np.zeros((4, 0), dtype=np.int8), np.zeros(0, dtype=np.int64)
    scores, counts = np.ones((4, K)), np.zeros((K, 0))
    kernels.categorical_score(codes, none, np.zeros((0, K)), scores)
    kernels.categorical_expect(codes, none, np.ones((4, K)), counts)
    assert np.all(scores == 1)


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64])
def test_categorical_kernels_accept_every_width_of_codes(kernels, dtype, rng):
    codes = np.array([[2, 0, 1], [-1, -1, -1]], dtype=dtype)
    counts = np.zeros((K, sum(SIZES)))
    kernels.categorical_expect(codes, STARTS, np.ones((2, K)), counts)
    assert counts.tolist() == [[0, 0, 1, 1, 0, 1]] * K


def test_the_smallest_codes_do_not_overflow(kernels):
    """127 categories fit into int8; the position of a cell among all cells does not."""
    codes = np.full((1, 3), 126, dtype=np.int8)
    counts = np.zeros((1, 3 * 127))
    kernels.categorical_expect(codes, np.array([0, 127, 254]), np.ones((1, 1)), counts)
    assert np.flatnonzero(counts[0]).tolist() == [126, 253, 380]


@pytest.mark.parametrize("offset", [0.0, 1e8])
def test_gaussian_score_is_the_log_density_of_observed_cells(kernels, n_rows, rng, offset):
    values = some_numbers(n_rows, rng) + offset
    mean, var = rng.normal(size=(K, 2)) + offset, rng.gamma(2.0, size=(K, 2))
    scores = rng.normal(size=(n_rows, K))
    log_density = distributions.norm.logpdf(values[:, None], mean, np.sqrt(var))
    expected = scores + np.nansum(log_density, axis=-1)
    kernels.gaussian_score(values, mean, var, scores)
    np.testing.assert_allclose(scores, expected, rtol=1e-12, atol=1e-12)


def test_gaussian_expect_adds_moments_about_the_mean(kernels, n_rows, rng):
    values, usage, mean = some_numbers(n_rows, rng), rng.random((n_rows, K)), rng.normal(size=(K, 2))
    moments = rng.random((3, K, 2))
    deviation = values[:, None] - mean
    powers = np.stack([np.where(np.isnan(deviation), np.nan, 1.0), deviation, deviation**2])
    expected = moments + np.nansum(usage[:, :, None] * powers, axis=1)
    kernels.gaussian_expect(values, mean, usage, moments)
    np.testing.assert_allclose(moments, expected, rtol=1e-12)


def test_moments_of_numbers_near_1e8_keep_their_digits(kernels):
    values = 1e8 + np.array([[-1.0], [1.0]] * 50)
    moments = np.zeros((3, 1, 1))
    kernels.gaussian_expect(values, np.array([[1e8]]), np.ones((100, 1)), moments)
    assert moments.ravel().tolist() == [100.0, 0.0, 100.0]


def test_poisson_score_is_the_log_probability_of_observed_cells(kernels, n_rows, rng):
    counts, rate = some_numbers(n_rows, rng, whole=True), rng.gamma(2.0, size=(K, 2))
    rate[0, 0] = 0.0
    scores = rng.normal(size=(n_rows, K))
    log_mass = distributions.poisson.logpmf(counts[:, None], rate)
    expected = scores + np.nansum(log_mass, axis=-1)
    kernels.poisson_score(counts, rate, scores)
    np.testing.assert_allclose(scores, expected, rtol=1e-11, atol=1e-11)


def test_a_rate_of_zero_allows_no_event_and_is_sure_of_none(kernels):
    scores = np.zeros((3, 1))
    kernels.poisson_score(np.array([[0.0], [1.0], [np.nan]]), np.array([[0.0]]), scores)
    assert scores.ravel().tolist() == [0.0, -np.inf, 0.0]


def test_poisson_expect_adds_mass_events_and_log_probabilities_at_the_unit(kernels, n_rows, rng):
    counts, usage = some_numbers(n_rows, rng, whole=True), rng.random((n_rows, K))
    sums, unit = rng.random((3, K, 2)), np.array([0.7, 20.0])
    terms = np.stack([np.where(np.isnan(counts), np.nan, 1.0), counts, distributions.poisson.logpmf(counts, unit)])
    expected = sums + np.nansum(usage[:, :, None] * terms[:, :, None], axis=1)
    kernels.poisson_expect(counts, unit, usage, sums)
    np.testing.assert_allclose(sums, expected, rtol=1e-12)
    constants = np.full(counts.shape, 7.0)
    kernels.poisson_constants(counts, unit, constants)
    np.testing.assert_allclose(constants, np.nan_to_num(terms[2]), rtol=1e-12, atol=1e-13)


def log_factorial(x):
    """Stirling's series from 4096 on, where its fifth term is below 1e-35; before, the sum of logs."""
    if x < 4096:
        return sum((Decimal(i).ln() for i in range(2, int(x) + 1)), Decimal(0))
    pi = Decimal("3.14159265358979323846264338327950288419716939937510582097494")
    series = 1 / (12 * x) - 1 / (360 * x**3) + 1 / (1260 * x**5) - 1 / (1680 * x**7)
    return x * x.ln() - x + (2 * pi * x).ln() / 2 + series


@pytest.mark.parametrize("x", [0.0, 1.0, 300.0, 4096.0, 1e6, 1e9, 1e12, 1e15])
@pytest.mark.parametrize("off", [-0.5, -1e-3, -1e-7, 0.0, 1e-7, 1e-3, 0.099, 0.101, 3.0])
def test_poisson_scores_of_large_counts_keep_their_digits(kernels, x, off):
    """Against 60 digits: x log rate, rate and log x! of 1e15 are 3e16, and differ from each other by 10."""
    rate = np.array([[max(x, 1.0) * (1 + off)]])
    with localcontext(prec=60):
        exact = Decimal(x) * Decimal(float(rate[0, 0])).ln() - Decimal(float(rate[0, 0])) - log_factorial(Decimal(x))
    scores, constants = np.zeros((1, 1)), np.zeros((1, 1))
    kernels.poisson_score(np.array([[x]]), rate, scores)
    kernels.poisson_constants(np.array([[x]]), rate[0], constants)
    assert float(scores[0, 0]) == pytest.approx(float(exact), rel=1e-13, abs=2e-11)
    assert constants[0, 0] == pytest.approx(scores[0, 0], rel=1e-13, abs=2e-11)


@pytest.mark.parametrize("beta", [1.0, 0.25, 3.0])
def test_independent_soft_is_the_softmax(kernels, n_rows, rng, beta):
    scores = 5 * rng.normal(size=(n_rows, K)) - 1000  # exp of these is 0: the best must be taken out first
    outer, log_evidence = rng.random(n_rows), np.empty(n_rows)
    total = logsumexp(beta * scores, axis=1) if n_rows else np.empty(0)
    usage = outer[:, None] * np.exp(beta * scores - total[:, None])
    kernels.independent_soft(scores, outer, beta, log_evidence)
    np.testing.assert_allclose(scores, usage, rtol=1e-11)
    np.testing.assert_allclose(log_evidence, total / beta, rtol=1e-13)


def test_impossible_parts_have_no_usage(kernels):
    scores = np.array([[-np.inf, 0.0, -np.inf], [-np.inf] * 3])
    log_evidence = np.empty(2)
    kernels.independent_soft(scores, np.ones(2), 1.0, log_evidence)
    assert scores.tolist() == [[0.0, 1.0, 0.0], [0.0, 0.0, 0.0]]
    assert log_evidence.tolist() == [0.0, -np.inf]


def test_independent_hard_picks_the_best_and_the_lowest_among_equals(kernels):
    scores = np.array([[1.0, 3.0, 2.0], [2.0, 2.0, 2.0], [-np.inf, 0.0, 0.0], [-np.inf] * 3])
    best, log_evidence = np.empty(4, dtype=np.int64), np.empty(4)
    kernels.independent_hard(scores, np.array([1.0, 2.0, 0.5, 1.0]), best, log_evidence)
    assert best[:3].tolist() == [1, 0, 1]
    assert log_evidence.tolist() == [3.0, 2.0, 0.0, -np.inf]
    assert scores.tolist() == [[0, 1, 0], [2, 0, 0], [0, 0.5, 0], [0, 0, 0]]


def test_independent_hard_accepts_no_rows(kernels):
    scores, best, log_evidence = np.empty((0, K)), np.empty(0, dtype=np.int64), np.empty(0)
    kernels.independent_hard(scores, np.empty(0), best, log_evidence)
    assert (scores.shape, best.shape, log_evidence.shape) == ((0, K), (0,), (0,))


# ---- jointly normal columns ------------------------------------------------------------------------------------------


def some_normals(width, rng, n_components=K):
    """Return means, factors, precisions, offsets and covariances."""
    root = rng.normal(size=(n_components, width, width)) + 2 * np.eye(width)
    cov = root @ root.transpose(0, 2, 1)
    precision = np.linalg.inv(cov)
    factor = np.linalg.inv(np.linalg.cholesky(cov)).transpose(0, 2, 1).copy()
    offset = -0.5 * np.linalg.slogdet(2 * np.pi * cov)[1]
    return rng.normal(size=(n_components, width)), factor, precision, offset, cov


def holed_rows(n_rows, width, rng):
    """Rows with holes, some without any observed cell, some patterns several times in a row."""
    values = rng.normal(size=(n_rows, width))
    values[np.repeat(rng.random((n_rows, width)) < 0.3, 2, axis=0)[:n_rows]] = np.nan
    values[2::7] = np.nan
    return values


WIDTHS = [1, 2, 3, 5, 8, 11]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("n", [0, 1, 7, 150])
def test_normal_score_is_the_log_density_of_observed_cells(kernels, n, width, rng):
    values = holed_rows(n, width, rng)
    mean, factor, precision, offset, cov = some_normals(width, rng)
    scores = rng.normal(size=(n, K))
    expected = scores.copy()
    for row, out in zip(values, expected, strict=True):
        o = ~np.isnan(row)
        if o.any():
            out += [
                distributions.multivariate_normal.logpdf(row[o], m[o], c[np.ix_(o, o)])
                for m, c in zip(mean, cov, strict=True)
            ]
    kernels.normal_score(values, mean, factor, precision, offset, scores)
    np.testing.assert_allclose(scores, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("n", [0, 1, 7, 150])
def test_normal_expect_adds_moments_of_completed_rows(kernels, n, width, rng):
    """By regression on the observed cells, from the covariance."""
    values, usage = holed_rows(n, width, rng), rng.random((n, K))
    mean, _, precision, _, cov = some_normals(width, rng)
    sums = rng.random((K, 2 + width + width**2))
    expected = sums.copy()
    for n, row in enumerate(values):
        o, m = np.flatnonzero(~np.isnan(row)), np.flatnonzero(np.isnan(row))
        for k in range(K) if len(o) else ():
            e = np.where(np.isnan(row), 0.0, row - mean[k])
            slopes = np.linalg.solve(cov[k][np.ix_(o, o)], cov[k][np.ix_(o, m)])
            e[m] = e[o] @ slopes
            second = np.outer(e, e)
            second[np.ix_(m, m)] += cov[k][np.ix_(m, m)] - cov[k][np.ix_(m, o)] @ slopes
            expected[k] += usage[n, k] * np.array([1, 0, *e, *second.ravel()])
    kernels.normal_expect(values, mean, precision, usage, sums)
    np.testing.assert_allclose(sums, expected, rtol=1e-8, atol=1e-8 * max(1, n))


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("n_components", [1, 3, 9])
@pytest.mark.parametrize("holes", [False, True])
def test_normal_soft_is_score_infer_expect(kernels, holes, n_components, width, rng):
    values = holed_rows(150, width, rng) if holes else rng.normal(size=(150, width))
    *normals, _ = some_normals(width, rng, n_components)
    weight, mix = rng.random(150), rng.dirichlet(np.ones(n_components))
    weight[3] = 0.0
    scores, log_evidence = np.tile(np.log(mix), (150, 1)), np.empty(150)
    plain.normal_score(values, *normals, scores)
    plain.independent_soft(scores, weight, 1.0, log_evidence)
    expected = np.zeros((n_components, 2 + width + width**2))
    plain.normal_expect(values, normals[0], normals[2], scores, expected)
    used, sums = np.zeros(n_components), np.zeros_like(expected)
    loglik = kernels.normal_soft(values, weight, np.log(mix), *normals, used, sums)
    np.testing.assert_allclose(loglik, weight @ log_evidence, rtol=1e-11)
    np.testing.assert_allclose(used, scores.sum(axis=0), rtol=1e-11)
    np.testing.assert_allclose(sums, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("n_components", [1, 3, 40])
@pytest.mark.parametrize("holes", [False, True])
def test_diagonal_soft_is_score_infer_expect(kernels, holes, n_components, width, rng):
    values = holed_rows(150, width, rng) if holes else rng.normal(size=(150, width))
    mean, var = rng.normal(size=(n_components, width)), rng.gamma(2.0, size=(n_components, width))
    weight, mix = rng.random(150), rng.dirichlet(np.ones(n_components))
    scores, log_evidence = np.tile(np.log(mix), (150, 1)), np.empty(150)
    plain.gaussian_score(values, mean, var, scores)
    plain.independent_soft(scores, weight, 1.0, log_evidence)
    expected = np.zeros((3, n_components, width))
    plain.gaussian_expect(values, mean, scores, expected)
    used, moments = np.zeros(n_components), np.zeros_like(expected)
    loglik = kernels.diagonal_soft(
        values, weight, np.log(mix), mean, 0.5 / var, 0.5 * np.log(2 * np.pi * var), used, moments
    )
    np.testing.assert_allclose(loglik, weight @ log_evidence, rtol=1e-11)
    np.testing.assert_allclose(used, scores.sum(axis=0), rtol=1e-11)
    np.testing.assert_allclose(moments, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("unit", [1e-60, 1e60])
def test_normal_score_of_rows_with_many_holes_in_any_unit(kernels, unit, rng):
    """Nine columns in another unit: every observed cell moves the log-density by the log of the unit, no more."""
    values = rng.normal(size=(60, 9))
    values[:, 1:][rng.random((60, 8)) < 0.7] = np.nan
    mean, factor, precision, offset, _ = some_normals(9, rng)
    scores, moved = np.zeros((60, K)), np.zeros((60, K))
    kernels.normal_score(values, mean, factor, precision, offset, scores)
    log_unit = np.log(unit)
    kernels.normal_score(values * unit, mean * unit, factor / unit, precision / unit**2, offset - 9 * log_unit, moved)
    np.testing.assert_allclose(moved + (~np.isnan(values)).sum(axis=1)[:, None] * log_unit, scores, atol=1e-9)


def test_a_component_without_weight_and_a_far_row_in_the_normal_kernels(kernels):
    """log 0 stands as -1e300; a row a million standard deviations away has a most probable component all the same."""
    values, weight = np.array([[0.0, 0.0], [1e6, 1e6], [np.nan, np.nan]]), np.array([1.0, 2.0, 1.0])
    mean, eye = np.array([[0.0, 0.0], [1.0, 1.0]]), np.tile(np.eye(2), (2, 1, 1))
    offset = np.full(2, -np.log(2 * np.pi))
    for log_mix, mass in (([-1e300, 0.0], [0, 4]), (np.log([0.25, 0.75]), [0.475 + 0.25, 2.525 + 0.75])):
        used, sums = np.zeros(2), np.zeros((2, 8))
        loglik = kernels.normal_soft(values, weight, np.array(log_mix), mean, eye, eye, offset, used, sums)
        assert np.isfinite(loglik)
        np.testing.assert_allclose(used, mass, atol=1e-3)
        assert used.sum() == pytest.approx(4.0)
        moments = np.zeros((3, 2, 2))
        half = np.full((2, 2), 0.5), np.full((2, 2), 0.5 * np.log(2 * np.pi))
        again = kernels.diagonal_soft(values, weight, np.array(log_mix), mean, *half, np.zeros(2), moments)
        np.testing.assert_allclose(again, loglik, rtol=1e-13)


def test_components_far_from_each_other_lose_no_digits_in_the_normal_kernels(kernels, rng):
    """Means a hundred million standard deviations apart: deviations are taken before anything is multiplied."""
    width, component = 5, np.arange(90) % 3
    mean = 1e8 * np.array([[0.0], [1.0], [-1.0]]) + rng.integers(-3, 3, (3, width))
    values = mean[component] + rng.integers(-4, 5, (90, width)) / 2  # exact in binary
    eye, log_mix, weight = np.tile(np.eye(width), (3, 1, 1)), np.log(np.full(3, 1 / 3)), np.ones(90)
    offset = np.full(3, -0.5 * width * np.log(2 * np.pi))
    exact = 90 * (log_mix[0] + offset[0]) - 0.5 * ((values - mean[component]) ** 2).sum()
    used, sums = np.zeros(3), np.zeros((3, 2 + width + width**2))
    assert kernels.normal_soft(values, weight, log_mix, mean, eye, eye, offset, used, sums) == pytest.approx(
        exact, 1e-14
    )
    half = np.full((3, width), 0.5), np.full((3, width), 0.5 * np.log(2 * np.pi))
    moments = np.zeros((3, 3, width))
    assert kernels.diagonal_soft(values, weight, log_mix, mean, *half, used, moments) == pytest.approx(exact, 1e-14)


@pytest.mark.parametrize("apart", [0.0, 3.0, 25.0, 40.0, 200.0, 5000.0])
def test_sums_about_the_middle_of_the_means_keep_their_digits(kernels, apart, rng):
    """Whatever the distance between correlated components in standard deviations, and the way that is taken for it."""
    width, n_components, component = 6, 3, np.arange(300) % 3
    _, factor, precision, offset, cov = some_normals(width, rng, n_components)
    spread = np.sqrt(np.diagonal(cov, axis1=1, axis2=2))
    mean = apart * np.array([[0.0], [1.0], [-1.0]]) * spread
    values = mean[component] + rng.normal(size=(300, width)) * spread[component]
    weight, log_mix = rng.random(300), np.log([0.5, 0.3, 0.2])
    scores, log_evidence = np.tile(log_mix, (300, 1)), np.empty(300)
    plain.normal_score(values, mean, factor, precision, offset, scores)
    plain.independent_soft(scores, weight, 1.0, log_evidence)
    expected = np.zeros((n_components, 2 + width + width**2))
    plain.normal_expect(values, mean, precision, scores, expected)
    used, sums = np.zeros(n_components), np.zeros_like(expected)
    kernels.normal_soft(values, weight, log_mix, mean, factor, precision, offset, used, sums)
    products = np.s_[:, 2 + width :]
    scale = (spread[:, :, None] * spread[:, None, :]).reshape(n_components, -1)
    np.testing.assert_allclose(sums[products] / scale, expected[products] / scale, rtol=0, atol=1e-10)
    np.testing.assert_allclose(sums[:, 2 : 2 + width] / spread, expected[:, 2 : 2 + width] / spread, rtol=0, atol=1e-10)


def test_responsibilities_are_exponentials_to_the_last_digits(kernels, rng):
    half = np.full((2, 1), 0.5), np.zeros((2, 1))
    for less in (*-(10.0 ** rng.uniform(-18, 2.8, 300)), 0.0, -np.log(2) / 2, -708.0, -709.0, -1e300):
        used = np.zeros(2)
        kernels.diagonal_soft(
            np.zeros((1, 1)), np.ones(1), np.array([0.0, less]), np.zeros((2, 1)), *half, used, np.zeros((3, 2, 1))
        )
        ratio = np.exp(less) if less >= -708 else 0.0
        np.testing.assert_allclose(used, np.array([1, ratio]) / (1 + ratio), rtol=8e-16, atol=1e-307)


def test_a_component_that_became_nan_is_not_hidden(kernels):
    """Likelihood or usage says it, so that a fit can tell; the component does not just end without rows."""
    values, weight, log_mix, used = np.zeros((3, 1)), np.ones(3), np.log([0.5, 0.5]), np.zeros(2)
    factor, offset = np.array([1.0, np.nan]).reshape(2, 1, 1), np.array([0.0, np.nan])
    loglik = kernels.normal_soft(
        values, weight, log_mix, np.zeros((2, 1)), factor, factor, offset, used, np.zeros((2, 4))
    )
    assert not np.isfinite([loglik, *used]).all()


@pytest.mark.parametrize("wrong", ["mean", "variance"])
@pytest.mark.parametrize("holes", [False, True])
def test_a_parameter_that_is_nan_shows_in_rows_that_meet_it(kernels, wrong, holes):
    """A cell that is NaN is missing, a parameter that is NaN is not: the likelihood says so."""
    values = np.array([[0.0, 1.0], [1.0, np.nan], [np.nan, np.nan]] if holes else [[0.0, 1.0], [2.0, 2.0]])
    n, weight, log_mix = len(values), np.ones(len(values)), np.log([0.5, 0.5])
    mean, var = np.zeros((2, 2)), np.ones((2, 2))
    (mean if wrong == "mean" else var)[1, 1] = np.nan
    scores, log_evidence = np.zeros((n, 2)), np.empty(n)
    kernels.gaussian_score(values, mean, var, scores)
    np.testing.assert_array_equal(np.isnan(scores), ~np.isnan(values[:, 1:]) * [False, True])
    kernels.independent_soft(scores, weight, 1.0, log_evidence)
    np.testing.assert_array_equal(np.isnan(log_evidence), ~np.isnan(values[:, 1]))
    half, used = (0.5 / var, 0.5 * np.log(2 * np.pi * var)), np.zeros(2)
    assert np.isnan(kernels.diagonal_soft(values, weight, log_mix, mean, *half, used, np.zeros((3, 2, 2))))
    factor, precision = np.tile(np.eye(2), (2, 1, 1)), np.tile(np.eye(2), (2, 1, 1))
    factor[1, 1, 1], precision[1, 1, 1] = var[1, 1] ** -0.5, 1 / var[1, 1]
    offset, sums = -half[1].sum(axis=1), np.zeros((2, 8))
    assert np.isnan(kernels.normal_soft(values, weight, log_mix, mean, factor, precision, offset, used, sums))


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
@pytest.mark.parametrize("beta", [1.0, 0.5])
def test_evidence_passes_on_scores_that_are_no_numbers(kernels, wrong, beta):
    scores, log_evidence = np.array([[wrong, 0.0], [0.0, wrong], [wrong, wrong], [0.0, 0.0]]), np.empty(4)
    kernels.independent_soft(scores, np.ones(4), beta, log_evidence)
    np.testing.assert_array_equal(log_evidence[:3], wrong)
    np.testing.assert_allclose(log_evidence[3], np.log(2) / beta)


# ---- rows of a known component ---------------------------------------------------------------------------------------


def one_hot(component, weight):
    usage = np.zeros((len(component), K))
    usage[np.arange(len(component)), component] = weight
    return usage


def test_categorical_count_is_expect_with_one_component_a_row(kernels, n_rows, rng):
    codes, component, weight = some_codes(n_rows, rng), rng.integers(0, K, n_rows), rng.random(n_rows)
    counts, expected = np.ones((2, K, sum(SIZES)))
    kernels.categorical_count(codes, STARTS, component, weight, counts)
    plain.categorical_expect(codes, STARTS, one_hot(component, weight), expected)
    np.testing.assert_allclose(counts, expected, rtol=1e-12)


def test_gaussian_count_is_expect_with_one_component_a_row(kernels, n_rows, rng):
    values, component, weight = some_numbers(n_rows, rng), rng.integers(0, K, n_rows), rng.random(n_rows)
    mean = rng.normal(size=(K, 2))
    moments, expected = np.ones((2, 3, K, 2))
    kernels.gaussian_count(values, mean, component, weight, moments)
    plain.gaussian_expect(values, mean, one_hot(component, weight), expected)
    np.testing.assert_allclose(moments, expected, rtol=1e-12)


@pytest.mark.parametrize(("n_components", "n_columns"), [(2, 1), (3, 6), (10, 20), (40, 30)])
@pytest.mark.parametrize("hole", [None, 0, 1500, 2999], ids=str)
def test_gaussian_count_of_rows_of_which_one_has_a_hole(kernels, n_components, n_columns, hole, rng):
    """Some rows at a time are counted as if there was none."""
    values, weight = rng.normal(size=(3000, n_columns)), rng.random(3000)
    component, mean = rng.integers(0, n_components, 3000), rng.normal(size=(n_components, n_columns))
    if hole is not None:
        values[hole, -1] = np.nan
    moments = np.ones((3, n_components, n_columns))
    kernels.gaussian_count(values, mean, component, weight, moments)
    used = np.eye(n_components)[component] * weight[:, None]
    for power in range(3):
        terms = np.einsum("nk,ndk->kd", used, np.nan_to_num(values[:, :, None] - mean.T) ** power)
        if hole is not None and power == 0:
            terms[component[hole], -1] -= weight[hole]
        np.testing.assert_allclose(moments[power], 1 + terms, rtol=1e-10)


# ---- arrays of numbers that may be categories ------------------------------------------------------------------------

CELLS = np.array([[0.0, 7.0, np.nan], [2.0, -3.0, 1.0], [9.0, 7.5, -50.0]])


def test_survey_marks_the_whole_numbers_of_each_column(kernels):
    seen, whole = np.zeros((3, 21), dtype=np.uint8), np.ones(3, dtype=np.uint8)
    kernels.survey_cells(CELLS, 10, seen, whole)
    assert whole.tolist() == [1, 0, 1]
    assert (np.flatnonzero(seen[0]) - 10).tolist() == [0, 2, 9]
    assert (np.flatnonzero(seen[2]) - 10).tolist() == [-10, 1]  # -50 is beyond: it stands at the end
    seen[:] = 0
    kernels.survey_cells(np.nan_to_num(CELLS).astype(np.int64), 10, seen, whole)
    assert (np.flatnonzero(seen[2]) - 10).tolist() == [-10, 0, 1]


@pytest.mark.parametrize("code", [np.int8, np.int16, np.int32])
@pytest.mark.parametrize("cell", [np.int64, np.float64])
def test_encode_looks_codes_up(kernels, code, cell):
    low, size, starts = np.array([0, -3, 0]), np.array([3, 11, 0]), np.array([0, 3, 14])
    lookup = np.array([0, -1, 1, 0, *[-1] * 9, 1], dtype=np.int32)  # 0 and 2; -3 and 7; a column without categories
    cells = np.array([[0, 7, 0], [2, -3, 1], [1, 100, -5]]).astype(cell)
    out = np.empty((3, 3), dtype=code)
    assert not kernels.encode_cells(cells, low, size, starts, lookup, out)
    assert out.tolist() == [[0, 1, -1], [1, 0, -1], [-1, -1, -1]]
    assert kernels.encode_cells(cells[:2, :2].copy(), low[:2], size[:2], starts[:2], lookup, out[:2, :2].copy())
    if cell is np.float64:
        holes = np.array([[np.nan, 7.0], [2.0, np.nan]])
        coded = np.empty((2, 2), dtype=code)
        assert kernels.encode_cells(holes, low[:2], size[:2], starts[:2], lookup, coded)  # a hole is no complaint
        assert coded.tolist() == [[-1, 1], [1, -1]]
        assert not kernels.encode_cells(holes + 0.5, low[:2], size[:2], starts[:2], lookup, coded)


@pytest.mark.parametrize("cell", [np.int64, np.float64])
def test_survey_near_marks_the_whole_numbers_from_low_on(kernels, cell):
    low = np.array([0, -3, -20]).astype(cell)
    cells = np.array([[0, 7, 43], [63, -3, -20], [9, 60, -19]]).astype(cell)
    seen, far = np.zeros((2, 3), dtype=np.uint64)
    kernels.survey_near(cells, low, seen, far)
    bits = [[i for i in range(64) if int(mask) >> i & 1] for mask in seen]
    assert bits == [[0, 9, 63], [0, 10, 63], [0, 1, 63]]
    assert far.tolist() == [0, 0, 0]
    for x in (64, -1, 2**53):
        far[:] = 0
        kernels.survey_near(np.array([[x, 0, 0]]).astype(cell), low, seen, far)
        assert (far != 0).tolist() == [True, False, False]
    kernels.survey_near(np.zeros((0, 3), dtype=cell), low, seen, far)


def test_survey_near_passes_over_holes_and_finds_fractions(kernels):
    """1e-20 is lost when 4000 is added to it, and is no whole number all the same."""
    low = np.array([-4000.0, 0.0, 0.0, 0.0])
    seen, far = np.zeros((2, 4), dtype=np.uint64)
    kernels.survey_near(np.array([[np.nan, np.nan, 3.0, -0.0]]), low, seen, far)
    assert (seen.tolist(), far.tolist()) == ([0, 0, 8, 1], [0, 0, 0, 0])
    kernels.survey_near(np.array([[-3960 + 1e-12, 2.5, np.inf, -np.inf]]), low, seen, far)
    assert (far != 0).tolist() == [True] * 4
    far[:] = 0
    kernels.survey_near(np.array([[-4000.0, 1e-20, 63.0, 0.0]]), low, seen, far)
    assert (far != 0).tolist() == [False, True, False, False]


@pytest.mark.parametrize("cell", [np.int64, np.float64])
@pytest.mark.parametrize("n_columns", [1, 3, 20, 1025])
def test_consecutive_categories_are_encoded_as_any_others(kernels, cell, n_columns, rng):
    low, size = rng.integers(-5, 5, n_columns), rng.integers(1, 5, n_columns)
    cells = low + rng.integers(0, size, (70, n_columns))
    starts = np.cumsum(size) - size
    lookup = np.concatenate([np.arange(n, dtype=np.int32) for n in size])
    out = np.empty((70, n_columns), dtype=np.int8)
    assert kernels.encode_cells(cells.astype(cell), low, size, starts, lookup, out)
    assert np.array_equal(out, cells - low)
    for row, wrong in ((0, low[0] - 1), (69, low[0] + size[0]), (40, 10**6)):
        changed = cells.astype(cell)
        changed[row, 0] = wrong
        assert not kernels.encode_cells(changed, low, size, starts, lookup, out)
        assert (out[row, 0], out[:, 1:].min(initial=0)) == (-1, 0)
    if cell is np.float64:
        changed = cells.astype(cell)
        changed[3] = np.nan
        assert kernels.encode_cells(changed, low, size, starts, lookup, out)
        assert (out[3] == -1).all()
        assert not kernels.encode_cells(cells + 1e-3, low, size, starts, lookup, out)


@pytest.mark.parametrize("cell", [np.int8, np.int16, np.int32, np.int64, np.float64])
def test_hashes_are_those_of_splitmix64_whatever_the_type_of_a_cell(kernels, cell):
    """A canonical order that changed would change the results of all fits."""
    cells = np.array([0, 1, -1, 100, 3] * 7).astype(cell)
    hashes = np.full(len(cells), 0x9E3779B97F4A7C15, dtype=np.uint64)
    kernels.hash_cells(cells, hashes)
    if cell is np.float64:
        assert hashes[:2].tolist() == [0xE220A8397B1DCDAF, 0xBCABCB2A8DAE6591]
    else:
        assert hashes[:3].tolist() == [0xE220A8397B1DCDAF, 0xE4D971771B652C20, 0xDE0A564CBCD060C4]
    assert hashes[30:].tolist() == hashes[:5].tolist()
    kernels.hash_cells(np.zeros(0, dtype=cell), np.zeros(0, dtype=np.uint64))


def test_hashes_know_one_zero_and_one_missing_number(kernels):
    other = np.array([0x7FF8000000000001, 0xFFF8000000000000], dtype=np.uint64).view(np.float64)
    hashes = np.full(5, 7, dtype=np.uint64)
    kernels.hash_cells(np.array([0.0, -0.0, np.nan, *other]), hashes)
    assert len(set(hashes[:2].tolist())) == len(set(hashes[2:].tolist())) == 1
    assert hashes[0] != hashes[2]


def test_any_infinite_takes_no_hole_for_one(kernels, n_rows):
    cells = np.full((n_rows, 3), 1e308)
    cells[:, 1] = np.nan
    assert not kernels.any_infinite(cells)
    for infinity in (np.inf, -np.inf):
        assert kernels.any_infinite(np.vstack([cells, [[0.0, 0.0, infinity]]]))


@pytest.mark.parametrize("n_components", [1, 3, 64, 65])
def test_rows_are_tallied_by_component(kernels, n_components, rng):
    owner = rng.integers(0, n_components, 5)
    pattern, weight = rng.integers(0, 5, 1001).astype(np.int32), rng.random(1001)
    component, mass = np.empty(1001, dtype=np.int64), np.ones(n_components)
    kernels.components_of(owner, pattern, component)
    np.testing.assert_array_equal(component, owner[pattern])
    kernels.tally(component, weight, mass)
    np.testing.assert_allclose(mass, 1 + weight @ np.eye(n_components)[component], rtol=1e-12)


def test_first_rows_of_labels(kernels):
    first = np.full(4, 5)
    kernels.first_rows(np.array([7, 9, 7, 9, 6]), 6, first)
    assert first.tolist() == [4, 0, 5, 1]
    kernels.first_rows(np.zeros(0, dtype=np.int64), 6, first)


# ---- the most probable component -------------------------------------------------------------------------------------


def test_cell_pairs_sum_over_the_rows_with_two_cells(kernels, n_rows, rng):
    """The sums of groups g <= h stand at places[g, h] + cell of g * sizes[h] + cell of h; of one group at its cell."""
    sizes, usage = np.array([3, 2, 4]), rng.random((n_rows, 5))
    cells = rng.integers(0, sizes, (n_rows, 3)) + np.array([0, 3, 5])  # numbered as one
    places = np.array([[0, 3, 9], [0, 21, 23], [0, 0, 31]]) - np.array([[0, 3, 5], [0, 3, 17], [0, 0, 5]])
    sums = np.ones((35, 5))
    kernels.cell_pairs(cells.astype(np.uint16), sizes, places, usage, sums)
    expected = np.ones_like(sums)
    for (a, b, c), used in zip(cells - [0, 3, 5], usage, strict=True):
        for at in (a, 3 + 2 * a + b, 9 + 4 * a + c, 21 + b, 23 + 4 * b + c, 31 + c):
            expected[at] += used
    np.testing.assert_allclose(sums, expected, rtol=1e-12)


def test_group_codes_numbers_the_combinations_of_neighbouring_columns(kernels, n_rows, rng):
    codes = some_codes(n_rows, rng)
    cells = np.full((n_rows, 2), 999, dtype=np.uint16)
    kernels.group_codes(codes, np.array([1, 4, 1]), np.array([2, 3]), np.array([5, 9]), cells)
    assert cells.tolist() == [[5 + row[0] + 4 * row[1], 9 + row[2]] for row in codes.tolist()]


def test_group_codes_accepts_no_columns(kernels):
    none, around = np.zeros(0, dtype=np.int64), np.full((4, 2), 7, dtype=np.uint16)
    kernels.group_codes(np.zeros((4, 0), dtype=np.int8), none, none, none, around[:, :0])
    assert (around == 7).all()


PADDED = 8  # components: a multiple of the lanes of every instruction set


def padded(values, padding=0.0):
    """Return rows of values with as many components as the widest instruction set takes at once."""
    values = np.atleast_2d(values)
    return np.pad(values, ((0, 0), (0, PADDED - values.shape[1])), constant_values=padding)


def log_parameters(rng, n_components=K, n_numbers=2, n_counts=2, width=PADDED):
    """Parameters of a mixture as `mixture_best` reads them; some cells and events are impossible in some components."""
    logs = np.log(rng.random((sum(SIZES), n_components)))
    logs[1, 0] = -np.inf
    wide = {
        "log_mix": np.full((1, width), -np.inf),
        "log_table": np.zeros((sum(SIZES), width)),
        "mean": np.zeros((n_numbers, width)),
        "half_precision": np.zeros((n_numbers, width)),
        "half_log": np.full((n_numbers, width), 1e300),
        "rate": np.full((n_counts, width), 1e300),
        "log_rate": np.full((n_counts, width), 300 * np.log(10)),
    }
    rate = rng.gamma(2.0, size=(n_counts, n_components))
    rate[:1, :1] = 0.0
    var = rng.gamma(2.0, size=(n_numbers, n_components))
    own = {
        "log_mix": np.log(rng.dirichlet(np.ones(n_components)))[None],
        "log_table": logs,
        "mean": rng.normal(size=(n_numbers, n_components)),
        "half_precision": 0.5 / var,
        "half_log": 0.5 * np.log(2 * np.pi * var),
        "rate": rate,
        "log_rate": np.log(np.where(rate > 0, rate, 1.0)) - 1e300 * (rate == 0),
    }
    for name, values in own.items():
        wide[name][:, :n_components] = values
    wide["log_table"] = np.insert(wide["log_table"], STARTS, 0.0, axis=0)
    wide["log_mix"] = wide["log_mix"][0]
    return wide, own


def joint_by_hand(codes, values, counts, own):
    """log p(row, component), cell by cell."""
    joint = np.tile(own["log_mix"][0], (len(codes), 1))
    for n in range(len(codes)):
        for start, code in zip(STARTS, codes[n], strict=True):
            joint[n] += own["log_table"][start + code] if code >= 0 else 0.0
        for d in np.flatnonzero(~np.isnan(values[n])):
            joint[n] -= own["half_log"][d] + own["half_precision"][d] * (values[n, d] - own["mean"][d]) ** 2
        for p in np.flatnonzero(~np.isnan(counts[n])):
            joint[n] += distributions.poisson.logpmf(counts[n, p], own["rate"][p])
    return joint


@pytest.mark.parametrize("rows", [0, 1, 7, 32, 33, 100])
@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64])
def test_mixture_best_is_the_largest_log_joint(kernels, rng, rows, dtype):
    params, own = log_parameters(rng)
    codes, values = some_codes(rows, rng).astype(dtype), some_numbers(rows, rng)
    values[: rows // 2] = np.nan_to_num(values[: rows // 2])  # some tiles with holes, some without
    counts = some_numbers(rows, rng, whole=True)
    constants = np.where(np.isnan(counts), 0.0, -gammaln(counts + 1))
    best = np.full(rows, 99)
    kernels.mixture_best(codes, STARTS, values, counts, constants, *params.values(), best)
    assert best.tolist() == joint_by_hand(codes, values, counts, own).argmax(axis=1).tolist()


@pytest.mark.parametrize("n_numbers", [1, 31, 32, 33, 70])
def test_mixture_best_accepts_any_number_of_numbers(kernels, rng, n_numbers):
    params, own = log_parameters(rng, 5, n_numbers, 0)
    none, empty = np.zeros((50, 3), dtype=np.int8) - 1, np.zeros((50, 0))
    values = rng.normal(size=(50, n_numbers)) / n_numbers
    values[7, 0] = np.nan
    best = np.empty(50, dtype=np.int64)
    kernels.mixture_best(none, STARTS, values, empty, empty, *params.values(), best)
    assert best.tolist() == joint_by_hand(none, values, empty, own).argmax(axis=1).tolist()


def test_mixture_best_takes_the_first_among_equals_and_none_where_none_is_possible(kernels):
    """Categories alone; components from 3 on are padding."""
    with np.errstate(divide="ignore"):
        log_mix = np.log(padded([0.25, 0.5, 0.25]))[0]
        log_table = np.log(padded([[1, 1, 1], [0.5, 0.2, 0.5], [0.5, 0.8, 0.5], [0, 0, 0]]))
    codes = np.array([[-1], [0], [1], [2]], dtype=np.int8)
    best, empty, unused = np.full(4, 99), np.zeros((4, 0)), np.zeros((0, PADDED))
    kernels.mixture_best(codes, np.array([0]), empty, empty, empty, log_mix, log_table, *[unused] * 5, best)
    assert best.tolist() == [1, 0, 1, -1]


@pytest.mark.parametrize("sizes", [(2, 3), (2, 3, 4), (40, 40), (2000, 2), (3,) * 70])
def test_mixture_best_of_few_and_of_very_many_categories(kernels, rng, sizes):
    """Pairs of columns are looked up at once where all their cells have room."""
    logs, log_mix = np.log(rng.random((sum(sizes), PADDED))), padded([-0.5, -0.1, -0.3], -np.inf)[0]
    starts = np.cumsum([0, *sizes])[:-1]
    codes = np.stack([rng.integers(-1, size, 60) for size in sizes], axis=1).astype(np.int16)
    seen = [[logs[start + code] for start, code in zip(starts, row, strict=True) if code >= 0] for row in codes]
    joint = np.array([log_mix + np.sum(row, axis=0) for row in seen])
    best, empty, unused = np.full(60, 99), np.zeros((60, 0)), np.zeros((0, PADDED))
    table = np.insert(logs, starts, 0.0, axis=0)
    kernels.mixture_best(codes, starts, empty, empty, empty, log_mix, table, *[unused] * 5, best)
    assert best.tolist() == joint.argmax(axis=1).tolist()


def test_mixture_best_of_numbers_near_1e8_keeps_its_digits(kernels):
    mean, half = 1e8 + padded([0.0, 1.0, 3.0]), padded([0.5, 0.5, 0.5])
    log_mix = padded([0.0, 0.0, 0.0], -np.inf)[0]
    values = 1e8 + np.array([[0.4], [0.6], [1.9], [2.1]])
    best, empty = np.full(4, 99), np.zeros((4, 0))
    codes, starts, unused = np.zeros((4, 0), dtype=np.int8), np.zeros(0, dtype=np.int64), np.zeros((0, PADDED))
    kernels.mixture_best(
        codes, starts, values, empty, empty, log_mix, unused, mean, half, 0 * half, unused, unused, best
    )
    assert best.tolist() == [0, 1, 1, 2]


# ---- k-means ---------------------------------------------------------------------------------------------------------


def packed(centres, unit):
    """Centres side by side as the C++ kernel takes them, cell by cell."""
    n_centres, n_columns = centres.shape
    n_padded = -(-n_centres // 16) * 16
    rounded, panels = (centres * unit).astype(np.float32), np.zeros((n_padded // 16, 2 * n_columns, 16), np.float32)
    half = np.full((2, n_padded), -np.inf, np.float32)
    for k, centre in enumerate(centres * unit):
        panels[k // 16, :n_columns, k % 16] = centre
        panels[k // 16, n_columns:, k % 16] = -(centre**2) / 2
        half[:, k] = -(centre @ centre) / 2, 0.0
    return rounded, panels, half


def n_groups_of(n_centres):
    return next((n for n in (1, 2, 4) if 16 * n >= n_centres), 8)


class Swept:
    """One sweep; the sums begin at 1, to see that they are added to, or where those of an earlier sweep ended."""

    def __init__(
        self,
        kernels,
        values,
        centres,
        weight=None,
        pivot=None,
        labels=None,
        moved=None,
        went=None,
        unit=1,
        anchors=None,
        after=None,
    ):
        n_rows, n_columns = values.shape
        shape, n_groups = centres.shape, n_groups_of(len(centres))
        weight = np.ones(n_rows) if weight is None else np.asarray(weight, dtype=float)
        pivot = np.zeros(n_columns) if pivot is None else pivot
        anchors = np.zeros(shape) if anchors is None else anchors
        told = ("labels", "sums", "mass") if moved is None else ("labels", "sums", "mass", "bounds", "own")
        moved = np.zeros((len(centres), n_groups), np.float32) if moved is None else moved
        went = np.zeros(len(centres), np.float32) if went is None else went
        near = pivot.astype(values.dtype)
        panels = packed(centres + (pivot - near), unit)
        workspace = np.full((96, 3 * n_columns + panels[-1].shape[1]), np.nan, np.float32)
        self.labels = np.full(n_rows, -1, dtype=np.int32) if labels is None else labels.copy()
        self.bounds, self.own = np.zeros((n_rows, n_groups), np.float32), np.full(n_rows, np.inf, np.float32)
        self.sums, self.mass, self.totals = np.ones(shape), np.ones((2, len(centres))), np.ones(3)
        self.cell_sums, self.cell_mass = np.ones((2, *shape))
        if after is not None:
            for name in told:
                setattr(self, name, getattr(after, name).copy())
            self.totals[0] = after.totals[0]
        inputs = values, weight, pivot, centres, anchors, after is None, float(unit), near, *panels, moved, went
        sums = self.sums, self.mass, self.cell_sums, self.cell_mass, self.totals
        kernels.lloyd(*inputs, workspace, self.labels, self.bounds, self.own, *sums)


def slowly(values, centres, weight, pivot, anchors):
    """The same by loops over rows and centres; sums begin at 0."""
    sums, cell_sums, cell_mass = np.zeros((3, *centres.shape))
    labels, mass, squares, inertia = [], np.zeros((2, len(centres))), 0.0, 0.0
    for row, w in zip(values.astype(float) - pivot, weight, strict=True):
        seen = ~np.isnan(row)
        scale = len(row) / seen.sum() if seen.any() else 0.0
        apart = [((row - centre)[seen] ** 2).sum() for centre in centres]
        k = int(np.argmin(apart))
        labels.append(k)
        if seen.all():
            sums[k] += w * (row - anchors[k])
            mass[:, k] += w, w > 0
            squares += w * ((row - anchors[k]) ** 2).sum()
        else:
            cell_sums[k, seen] += w * scale * (row - anchors[k])[seen]
            cell_mass[k, seen] += w * scale
            inertia += w * scale * apart[k]
    return np.array(labels, dtype=np.int32), sums, mass, cell_sums, cell_mass, [squares, inertia]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("missing", [0.0, 0.3, 1.0])
@pytest.mark.parametrize(
    ("size", "n_centres"), [((0, 3), 2), ((1, 3), 9), ((50, 1), 1), ((201, 11), 17), ((40, 8), 64), ((130, 3), 150)]
)
def test_lloyd_sums_the_rows_of_the_nearest_centre(kernels, rng, dtype, missing, size, n_centres):
    values = rng.normal(size=size).astype(dtype)
    values[rng.random(size) < missing] = np.nan
    centres, weight = rng.normal(size=(n_centres, size[1])), rng.integers(0, 3, size[0]) / 2
    pivot = rng.normal(size=size[1])
    anchors = rng.normal(size=centres.shape)
    found = Swept(kernels, values, centres, weight, pivot, anchors=anchors)
    labels, sums, mass, cell_sums, cell_mass, totals = slowly(values, centres, weight, pivot, anchors)
    np.testing.assert_array_equal(found.labels, labels)
    np.testing.assert_allclose(found.sums, 1 + sums, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(found.mass, 1 + mass, rtol=1e-12)
    np.testing.assert_allclose(found.cell_sums, 1 + cell_sums, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(found.cell_mass, 1 + cell_mass, rtol=1e-12)
    np.testing.assert_allclose(found.totals - 1, [*totals, len(labels)], rtol=1e-12)


def test_lloyd_counts_the_labels_that_changed(kernels, rng):
    values, centres = rng.normal(size=(30, 4)), rng.normal(size=(5, 4))
    labels = Swept(kernels, values, centres).labels
    assert Swept(kernels, values, centres, labels=labels).totals[2] == 1
    labels[[3, 17]] += 1
    assert Swept(kernels, values, centres, labels=labels).totals[2] == 3


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("missing", [0.0, 0.05, 1.0])
@pytest.mark.parametrize("n_centres", [2, 5, 70])
def test_lloyd_changes_sums_by_the_rows_that_change_their_centre(kernels, rng, dtype, missing, n_centres):
    """After any sweeps they are those of all rows; how many rows there are is exact. One centre loses all its rows."""
    values = rng.normal(size=(400, 3)).astype(dtype)
    values[rng.random(values.shape) < missing] = np.nan
    centres, anchors = rng.normal(size=(2, n_centres, 3))
    weight, found = rng.integers(0, 3, 400) / 10, None
    for step in range(4):
        centres = centres + 0.3 * rng.normal(size=centres.shape)
        centres[1] += 100 * (step == 3)
        found = Swept(kernels, values, centres, weight, anchors=anchors, after=found)
        fresh = Swept(kernels, values, centres, weight, anchors=anchors)
        np.testing.assert_array_equal(found.labels, fresh.labels)
        np.testing.assert_array_equal(found.mass[1], fresh.mass[1])
        np.testing.assert_array_equal(found.cell_mass, fresh.cell_mass)
        for name in ("sums", "mass", "cell_sums"):
            np.testing.assert_allclose(getattr(found, name), getattr(fresh, name), rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(found.totals[:2], fresh.totals[:2], rtol=1e-12)
    assert found.mass[1, 1] == 1  # none but the 1 that sums begin with


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("hole", [False, True])
def test_lloyd_gives_ties_to_the_lowest_index(kernels, dtype, hole):
    values = np.array([[0.0, 0.0, 5.0], [3.0, 0.0, 5.0]] * 20, dtype=dtype)
    if hole:
        values[:, 2] = np.nan
    centres = np.array([[9.0, 9.0, 5.0], *[[1.0, 0.0, 5.0], [-1.0, 0.0, 5.0]] * 12, [3.0, 0.0, 5.0], [3.0, 0.0, 5.0]])
    assert Swept(kernels, values, centres).labels.tolist() == [1, 25] * 20


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_lloyd_finds_the_nearest_where_the_expanded_square_has_no_digits_left(kernels, dtype, rng):
    """Centres 0.5 apart, numbers of 1e4 (float32) or 1e8 (float64): squares of these round to more than 0.5."""
    far = 1e8 if dtype is np.float64 else 1e4
    close = rng.integers(0, 8, 200)
    values = np.stack([np.where(rng.random(200) < 0.5, far, -far), close / 2], axis=1).astype(dtype)
    centres = np.stack([np.repeat([far, -far], 8), np.tile(np.arange(8) / 2, 2)], axis=1)
    found = Swept(kernels, values, centres)
    assert found.labels.tolist() == np.where(values[:, 0] > 0, close, close + 8).tolist()
    here = Swept(kernels, values, centres, anchors=centres)
    np.testing.assert_array_equal(here.labels, found.labels)
    assert here.totals[0] == 1  # every row is at a centre


def test_lloyd_puts_a_row_of_nothing_into_the_first_centre_without_weight(kernels):
    found = Swept(kernels, np.full((1, 2), np.nan), np.array([[1.0, 1.0], [0.0, 0.0]]))
    assert found.labels.tolist() == [0]
    assert found.totals[:2].tolist() == [1, 1]
    for sums in (found.sums, found.mass, found.cell_sums, found.cell_mass):
        assert (sums == 1).all()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("n_centres", [9, 40, 150])
def test_lloyd_gives_bounds_that_hold_and_the_same_answer_with_them(kernels, rng, dtype, missing, n_centres):
    """No other centre of a group is nearer than its bound; after all moved, some rows are not looked at again."""
    values = (3 * rng.integers(-1, 2, (300, 5)) + rng.normal(size=(300, 5))).astype(dtype)
    values[rng.random(values.shape) < missing] = np.nan
    centres = 3.0 * rng.integers(-1, 2, (n_centres, 5)) + rng.normal(size=(n_centres, 5))
    n_groups = n_groups_of(n_centres)
    group = np.arange(n_centres) // (16 * -(-n_centres // (16 * n_groups)))
    moved, went, again = np.zeros((n_centres, n_groups), np.float32), np.zeros(n_centres, np.float32), None

    def check(found):
        apart = np.sqrt(np.nansum((values[:, None].astype(float) - centres) ** 2, axis=2))
        assert (apart[np.arange(300), found.labels] <= found.own.astype(float) + went[found.labels]).all()
        apart[np.arange(300), found.labels] = np.inf
        for g in range(n_groups):
            least = found.bounds[:, g].astype(float) - moved[found.labels, g]
            assert (least <= apart[:, group == g].min(axis=1, initial=np.inf)).all()

    for size in (0.0, 1e-3, 0.05, 0.3, 3.0, 0.01):
        steps = size * rng.normal(size=centres.shape) * (rng.random((n_centres, 1)) < 0.3)
        centres = centres + steps
        ways = np.linalg.norm(steps, axis=1)
        far = np.where(group == np.arange(n_groups)[:, None], ways, 0.0)
        longest = np.array([np.delete(far, k, axis=1).max(axis=1) for k in range(n_centres)])
        moved = ((moved + longest) * (1 + 1e-6)).astype(np.float32)
        went = ((went + ways) * (1 + 1e-6)).astype(np.float32)
        fresh = Swept(kernels, values, centres)
        again = Swept(kernels, values, centres, moved=moved, went=went, after=again)
        np.testing.assert_array_equal(again.labels, fresh.labels)
        np.testing.assert_allclose(again.sums, fresh.sums, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(again.totals[:2], fresh.totals[:2], rtol=1e-12)
        check(again)


def close_rows(rng, name, n_columns=6, n_centres=20):
    """Rows and centres that float32 can hardly tell apart, or not at all."""
    centres = rng.normal(size=(n_centres, n_columns))
    pairs = rng.integers(0, n_centres, (2, 400))
    halfway = centres[pairs].mean(axis=0)  # as far from one centre as from another, but for rounding
    wiggled = halfway + 10.0 ** rng.integers(-17, -2, (400, 1)) * rng.normal(size=(400, n_columns))
    if name == "twins":
        centres[1::2] = centres[::2] * (1 + 1e-12 * rng.integers(-1, 2, (n_centres // 2, 1)))
    elif name == "far off":
        return wiggled + 1e8, centres + 1e8
    elif name == "scales":
        factors = 10.0 ** rng.integers(-12, 13, n_columns)
        return wiggled * factors, centres * factors
    elif name == "clumps":  # all within 1e-7 of places that are 1 apart
        centres = rng.integers(-3, 4, centres.shape) + 1e-7 * centres
        return centres[pairs[0]] + 1e-7 * rng.normal(size=wiggled.shape), centres
    elif name == "outlier":
        centres[3], wiggled[5], wiggled[9] = 1e9, 1e9, 1e20
    elif name == "zeros":
        centres[[2, 5]], wiggled[::3], wiggled[1::7] = 0.0, 0.0, -0.0
    elif name == "grid":
        return rng.integers(-2, 3, wiggled.shape).astype(float), rng.integers(-2, 3, centres.shape).astype(float)
    return wiggled, centres


@pytest.mark.parametrize("power", [0, 100, -100, -140, 330, -460])
@pytest.mark.parametrize("name", ["twins", "far off", "scales", "clumps", "outlier", "zeros", "grid"])
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_lloyd_is_exact_where_float32_is_not(kernels, rng, name, power, missing):
    """The label has the least distance in float64, whatever unit the numbers are taken in; a tie, the lowest index."""
    values, centres = close_rows(rng, name)
    values[rng.random(values.shape) < missing] = np.nan
    pivot, scale = (name != "grid") * centres.mean(axis=0), 2.0**power
    values, centres, pivot = values * scale, (centres - pivot) * scale, pivot * scale
    gaps = (values - pivot)[:, None] - centres
    truth = np.nansum((gaps / scale) ** 2, axis=2)
    best = truth.min(axis=1)
    size = float(np.abs(centres).max())
    labels = None
    for unit in (2.0 ** -np.frexp(size)[1], 1.0, 2.0 ** (8 - np.frexp(size)[1])):
        if not 1e-30 < size * unit < 1e11:
            continue  # the caller leaves float32 alone where a centre is beyond it
        found = Swept(kernels, values, centres, pivot=pivot, unit=unit, labels=labels)
        chosen = truth[np.arange(len(values)), found.labels]
        assert (chosen <= best * (1 + 1e-14)).all()
        first = (truth <= best[:, None]).argmax(axis=1)
        equal = (np.sort(truth, axis=1)[:, 1] == best) & (name == "grid")  # whole numbers: nothing is rounded
        np.testing.assert_array_equal(found.labels[equal], first[equal])
        labels = rng.integers(0, len(centres), len(values)).astype(np.int32)  # and from any label before


@pytest.mark.parametrize("name", ["twins", "far off", "scales", "clumps", "outlier", "zeros", "grid"])
def test_lloyd_of_float32_rows_is_that_of_the_same_numbers(kernels, rng, name):
    values, centres = close_rows(rng, name)
    values, pivot = values.astype(np.float32), centres.mean(axis=0)
    one, two = (Swept(kernels, given, centres - pivot, pivot=pivot) for given in (values, values.astype(float)))
    for what in ("labels", "sums", "mass", "totals"):
        np.testing.assert_array_equal(getattr(one, what), getattr(two, what))


def test_lloyd_never_points_outside_the_centres(kernels):
    """Infinities are refused at the door by what comes out of here: it must come out."""
    with np.errstate(invalid="ignore"):
        found = Swept(kernels, np.array([[np.inf, 1.0]] * 7), np.zeros((3, 2)))
    assert set(found.labels.tolist()) <= {0, 1, 2}
    assert not np.isfinite(found.totals[0])


# ---- sums without rounding ------------------------------------------------------------------------------------------

SPREADS = {
    "near": lambda rng, shape: np.ones(shape),
    "anywhere": lambda rng, shape: 2.0 ** rng.uniform(-400, 400, shape),
    "rising": lambda rng, shape: 2.0 ** np.linspace(-300, 300, shape[0])[:, None],
    "falling": lambda rng, shape: 2.0 ** np.linspace(300, -300, shape[0])[:, None],
    "too large": lambda rng, shape: 2.0 ** rng.uniform(-1000, 1000, shape),
    "ties": lambda rng, shape: 2.0 ** (26 * rng.integers(-2, 3, shape) - rng.integers(0, 2, shape)),
}


def exact_moments(kernels, values, mean, component, weight, order):
    shape = (K, values.shape[1])
    tops, folds = np.empty((order + 1, *shape), dtype=np.int64), np.empty(((order + 1) * FOLDS, *shape))
    kernels.exact_moments(values, mean, component, weight, tops, folds)
    return Moments(tops, folds.reshape(order + 1, FOLDS, *shape))


@pytest.mark.parametrize("weights", ["ones", "of a kind", "of all sizes"])
@pytest.mark.parametrize("missing", [0.0, 0.1])
@pytest.mark.parametrize("spread", SPREADS)
def test_exact_moments_are_the_same_bits_in_both_kernels(rng, spread, missing, weights):
    compiled = pytest.importorskip("halfseen.kernels.compiled")
    for n_rows, width, order in ((0, 2, 2), (4, 0, 1), (1, 3, 2), (5, 1, 1), (2500, 9, 2), (1025, 8, 1)):
        values = np.round(rng.standard_t(2, (n_rows, width)), 2) * SPREADS[spread](rng, (n_rows, width))
        values[rng.random(values.shape) < missing] = np.nan
        weight = {"ones": np.ones, "of a kind": rng.random, "of all sizes": lambda n: 10.0 ** rng.uniform(-20, 12, n)}
        given = (values, rng.normal(size=width), rng.integers(0, K, n_rows), weight[weights](n_rows))
        one, two = (exact_moments(kernels, *given, order) for kernels in (plain, compiled))
        np.testing.assert_array_equal(one.tops, two.tops)
        np.testing.assert_array_equal(one.total(), two.total())


@pytest.mark.parametrize("large", [2.0**78, 1.5 * 2.0**78, 2.0**100])
@pytest.mark.parametrize("small", [2.0**25, 1.5 * 2.0**25, 2.0**26 - 1])
def test_exact_moments_drop_the_same_of_small_numbers_before_and_after_a_large_one(kernels, small, large):
    """Numbers of more than half a unit of the last bin count one each, in whatever block or chunk they are added."""
    values = np.array([[small]] * 3000 + [[large]])
    rows = (np.zeros(1), np.zeros(3001, dtype=np.int64), np.ones(3001))
    late, early = (exact_moments(kernels, order, *rows, 1).total() for order in (values, values[::-1].copy()))
    np.testing.assert_array_equal(late, early)
    one, other = (
        exact_moments(kernels, part, rows[0], *(r[: len(part)] for r in rows[1:]), 1)
        for part in (values[:-1], values[-1:])
    )
    np.testing.assert_array_equal((one + other).total(), early)


def test_exact_moments_are_sums_to_the_last_digits(kernels, rng):
    values, weight, component = rng.normal(size=(3000, 9)), rng.random(3000), rng.integers(0, K, 3000)
    found = exact_moments(kernels, values, np.zeros(9), component, weight, 2).total()
    for p in range(3):
        for k in range(K):
            own = component == k
            parts = weight[own, None] * values[own] ** p
            truth = [math.fsum(column) for column in parts.T]
            np.testing.assert_allclose(found[p, k], truth, rtol=0, atol=1e-15 * np.abs(parts).sum(axis=0).max())
