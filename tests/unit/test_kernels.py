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


# ---- k-means ---------------------------------------------------------------------------------------------------------


def packed(centres, dtype):
    """Centres side by side as the C++ kernel takes them, cell by cell."""
    n_centres, n_columns = centres.shape
    width = 64 // np.dtype(dtype).itemsize
    n_panels = -(-n_centres // width)
    panels = np.zeros((n_panels, 2 * n_columns, width), dtype)
    half = np.full((2, n_panels * width), -np.inf, dtype)
    for k, centre in enumerate(centres):
        panels[k // width, :n_columns, k % width] = centre
        panels[k // width, n_columns:, k % width] = -(centre**2) / 2
        half[:, k] = -(centre @ centre) / 2, 0.0
    return panels, half


class Swept:
    """One sweep; the sums begin at 1, to see that they are added to."""

    def __init__(self, kernels, values, centres, weight=None, pivot=None, labels=None, bounds=None, drift=None):
        n_rows, n_columns = values.shape
        weight = np.ones(n_rows) if weight is None else np.asarray(weight, dtype=float)
        pivot = np.zeros(n_columns, values.dtype) if pivot is None else pivot
        self.labels = np.full(n_rows, -1, dtype=np.int32) if labels is None else labels
        self.sums, self.cell_mass = np.ones((2, *centres.shape))
        self.mass, self.totals = np.ones(len(centres)), np.ones(2)
        workspace = np.full((36, n_columns), np.nan, values.dtype)
        self.bounds = np.zeros(n_rows) if bounds is None else bounds
        drift = np.zeros(len(centres)) if drift is None else drift
        out = self.labels, self.bounds, self.sums, self.mass, self.cell_mass, self.totals
        kernels.lloyd(values, weight, pivot, centres, *packed(centres, values.dtype), drift, workspace, *out)


def slowly(values, centres, weight, pivot):
    """The same by loops over rows and centres; sums begin at 0."""
    sums, cell_mass = np.zeros((2, *centres.shape))
    labels, mass, inertia = [], np.zeros(len(centres)), 0.0
    for row, w in zip(values - pivot, weight, strict=True):
        seen = ~np.isnan(row)
        row = row.astype(float)
        scale = len(row) / seen.sum() if seen.any() else 0.0
        apart = [((row - centre)[seen] ** 2).sum() for centre in centres]
        k = int(np.argmin(apart))
        labels.append(k)
        inertia += w * scale * apart[k]
        sums[k, seen] += w * scale * row[seen]
        if seen.all():
            mass[k] += w
        else:
            cell_mass[k, seen] += w * scale
    return np.array(labels, dtype=np.int32), sums, mass, cell_mass, inertia


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("missing", [0.0, 0.3, 1.0])
@pytest.mark.parametrize(
    ("size", "n_centres"), [((0, 3), 2), ((1, 3), 9), ((50, 1), 1), ((101, 11), 17), ((40, 8), 64)]
)
def test_lloyd_sums_the_rows_of_the_nearest_centre(kernels, rng, dtype, missing, size, n_centres):
    values = rng.normal(size=size).astype(dtype)
    values[rng.random(size) < missing] = np.nan
    centres, weight = rng.normal(size=(n_centres, size[1])), rng.integers(0, 3, size[0]) / 2
    pivot = rng.normal(size=size[1]).astype(dtype)
    found = Swept(kernels, values, centres, weight, pivot)
    labels, sums, mass, cell_mass, inertia = slowly(values, centres, weight, pivot)
    np.testing.assert_array_equal(found.labels, labels)
    np.testing.assert_allclose(found.sums, 1 + sums, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(found.mass, 1 + mass, rtol=1e-12)
    np.testing.assert_allclose(found.cell_mass, 1 + cell_mass, rtol=1e-12)
    np.testing.assert_allclose(found.totals, [1 + inertia, 1 + len(labels)], rtol=1e-12)


def test_lloyd_counts_the_labels_that_changed(kernels, rng):
    values, centres = rng.normal(size=(30, 4)), rng.normal(size=(5, 4))
    labels = Swept(kernels, values, centres).labels
    assert Swept(kernels, values, centres, labels=labels.copy()).totals[1] == 1
    labels[[3, 17]] += 1
    assert Swept(kernels, values, centres, labels=labels).totals[1] == 3


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
    assert found.totals[0] == 1  # every row is at a centre


def test_lloyd_puts_a_row_of_nothing_into_the_first_centre_without_weight(kernels):
    found = Swept(kernels, np.full((1, 2), np.nan), np.array([[1.0, 1.0], [0.0, 0.0]]))
    assert found.labels.tolist() == [0]
    assert found.totals[0] == 1
    assert (found.sums == 1).all()
    assert (found.cell_mass == 1).all()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_lloyd_gives_bounds_that_hold_and_the_same_answer_with_them(kernels, rng, dtype, missing):
    """No other centre is nearer than the bound; after all moved a little, rows that stay are not looked at again."""
    values = (3 * rng.integers(-1, 2, (200, 5)) + rng.normal(size=(200, 5))).astype(dtype)
    values[rng.random(values.shape) < missing] = np.nan
    centres = 3.0 * rng.integers(-1, 2, (9, 5)) + rng.normal(size=(9, 5))
    first = Swept(kernels, values, centres)
    apart = np.sqrt(np.nansum((values[:, None].astype(float) - centres) ** 2, axis=2))
    apart[np.arange(200), first.labels] = np.inf
    assert (first.bounds <= apart.min(axis=1)).all()
    for size in (1e-3, 0.3, 3.0):
        steps = size * rng.normal(size=centres.shape)
        ways = np.linalg.norm(steps, axis=1)
        drift = np.array([np.delete(ways, k).max() for k in range(9)])
        fresh = Swept(kernels, values, centres + steps)
        again = Swept(
            kernels, values, centres + steps, labels=first.labels.copy(), bounds=first.bounds.copy(), drift=drift
        )
        np.testing.assert_array_equal(again.labels, fresh.labels)
        np.testing.assert_allclose(again.sums, fresh.sums, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(again.totals[0], fresh.totals[0], rtol=1e-12)
        assert again.totals[1] == 1 + np.count_nonzero(first.labels != fresh.labels)
        apart = np.sqrt(np.nansum((values[:, None].astype(float) - centres - steps) ** 2, axis=2))
        apart[np.arange(200), again.labels] = np.inf
        assert (again.bounds <= apart.min(axis=1) * (1 + 1e-15)).all()


def test_lloyd_never_points_outside_the_centres(kernels):
    """Infinities are refused at the door by what comes out of here: it must come out."""
    with np.errstate(invalid="ignore"):
        found = Swept(kernels, np.array([[np.inf, 1.0]] * 7), np.zeros((3, 2)))
    assert set(found.labels.tolist()) <= {0, 1, 2}
    assert not np.isfinite(found.totals[0])
