"""Every kernel, in NumPy and in C++, against a loop over its formula.

Missing cells, impossible parts, no rows, one row, no columns.
"""

import numpy as np
import pytest
from scipy import stats as distributions
from scipy.special import gammaln, logsumexp

from halfseen.kernels import plain

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


def test_poisson_expect_adds_mass_events_and_log_factorials(kernels, n_rows, rng):
    counts, usage = some_numbers(n_rows, rng, whole=True), rng.random((n_rows, K))
    sums = rng.random((3, K, 2))
    terms = np.stack([np.where(np.isnan(counts), np.nan, 1.0), counts, gammaln(counts + 1)])
    expected = sums + np.nansum(usage[:, :, None] * terms[:, :, None], axis=1)
    kernels.poisson_expect(counts, usage, sums)
    np.testing.assert_allclose(sums, expected, rtol=1e-12)


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
    kernels.independent_hard(np.empty((0, K)), np.empty(0), np.empty(0, dtype=np.int64), np.empty(0))


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
