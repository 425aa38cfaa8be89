"""Edges of leaves: what is refused, what is drawn, what is filled in, and how alike two components are."""

import numpy as np
import pytest
from scipy import integrate
from scipy import stats as distributions

from halfseen.assign import SOFT
from halfseen.errors import ParameterError
from halfseen.leaves import (
    Categorical,
    Cells,
    Floored,
    Frozen,
    Gaussian,
    GaussianParams,
    Limits,
    Normal,
    Poisson,
    Product,
    PseudoRows,
    Spherical,
    Tied,
)
from halfseen.leaves.categorical import draw, read_table
from halfseen.leaves.leaf import arrays, map_arrays
from halfseen.leaves.limits import either
from halfseen.leaves.normal import NormalParams

TABLE = np.array([[0.5, 0.5, 0.2, 0.3, 0.5], [0.1, 0.9, 0.6, 0.2, 0.2]])
NORMAL = GaussianParams(np.array([[0.0, 1.0], [2.0, -1.0]]), np.array([[1.0, 4.0], [0.25, 1.0]]))
RATES = np.array([[1.0, 6.0], [0.0, 2.0]])
N = 20_000
SIGMAS = 5.0


@pytest.fixture
def rng():
    return np.random.default_rng(0)


# ---- draws ----------------------------------------------------------------------------------------------------------


def test_drawn_categories_have_their_probabilities(rng):
    leaf = Categorical(2, [2, 0, 3])
    codes = leaf.sample(TABLE, np.repeat([0, 1], N), rng)
    assert np.all(codes[:, 1] == -1)  # a column without categories is missing
    for k in range(2):
        mine = codes[k * N : (k + 1) * N]
        seen = np.concatenate([np.bincount(mine[:, 0], minlength=2), np.bincount(mine[:, 2], minlength=3)]) / N
        assert np.all(np.abs(seen - TABLE[k]) < SIGMAS * np.sqrt(TABLE[k] * (1 - TABLE[k]) / N))


def test_drawn_numbers_have_their_moments(rng):
    leaf = Gaussian(2, np.zeros(2), np.ones(2))
    values = leaf.sample(NORMAL, np.full(N, 1), rng)
    assert np.all(np.abs(values.mean(axis=0) - NORMAL.mean[1]) < SIGMAS * np.sqrt(NORMAL.var[1] / N))
    assert np.all(np.abs(values.var(axis=0) / NORMAL.var[1] - 1) < SIGMAS * np.sqrt(2 / N))


def test_drawn_counts_have_their_rates(rng):
    counts = Poisson(2, np.ones(2)).sample(RATES, np.repeat([0, 1], N), rng)
    assert counts.dtype == np.float64
    assert np.all(counts[N:, 0] == 0)
    assert np.all(np.abs(counts[:N].mean(axis=0) - RATES[0]) < SIGMAS * np.sqrt(RATES[0] / N))


def test_draw_never_takes_what_has_no_chance(rng):
    chances = np.array([[0.0, 1.0, 0.0], [2.0, 0.0, 0.0], [0.0, 0.0, 5.0]])
    for _ in range(50):
        assert draw(chances, rng).tolist() == [1, 0, 2]


# ---- holes ----------------------------------------------------------------------------------------------------------


def test_holes_get_the_likeliest_category_and_observed_cells_stay():
    leaf = Categorical(2, [2, 3])
    codes = np.array([[-1, 0], [1, -1], [-1, -1]])
    resp = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])
    filled = leaf.impute(TABLE, codes, resp, None)
    assert filled.tolist() == [[0, 0], [1, 0], [1, 0]]  # 0.5 = 0.5: the lowest; 0.3, 0.7; 0.4, 0.25, 0.35
    assert codes.tolist() == [[-1, 0], [1, -1], [-1, -1]]


def test_holes_get_the_expected_number():
    x = np.array([[np.nan, 3.0], [np.nan, np.nan]])
    resp = np.array([[0.25, 0.75], [1.0, 0.0]])
    gaussian = Gaussian(2, np.zeros(2), np.ones(2)).impute(NORMAL, x, resp, None)
    assert gaussian.tolist() == [[1.5, 3.0], [0.0, 1.0]]
    poisson = Poisson(2, np.ones(2)).impute(RATES, x, resp, None)
    assert poisson.tolist() == [[0.25, 3.0], [1.0, 6.0]]


def test_drawn_fillings_vary_as_the_model_says(rng):
    holes = np.full((N, 2), np.nan)
    resp = np.tile([0.0, 1.0], (N, 1))
    filled = Gaussian(2, np.zeros(2), np.ones(2)).impute(NORMAL, holes, resp, rng)
    assert np.all(np.abs(filled.var(axis=0) / NORMAL.var[1] - 1) < SIGMAS * np.sqrt(2 / N))
    filled = Poisson(2, np.ones(2)).impute(RATES, holes, resp, rng)
    assert set(filled[:, 0]) == {0.0}
    codes = Categorical(2, [2]).impute(TABLE[:, :2], np.full((N, 1), -1), resp, rng)
    assert abs(codes.mean() - 0.9) < SIGMAS * np.sqrt(0.09 / N)


# ---- overlap --------------------------------------------------------------------------------------------------------


def test_affinity_is_the_bhattacharyya_coefficient():
    """log of the integral of sqrt(p q), by the sum or by quadrature."""
    table = Categorical(2, [2, 3]).affinity(TABLE, TABLE)
    roots = np.sqrt(TABLE[0] * TABLE[1])
    assert table[0, 1] == pytest.approx(np.log(roots[:2].sum()) + np.log(roots[2:].sum()), rel=1e-12)

    normal = Gaussian(2, np.zeros(2), np.ones(2)).affinity(NORMAL, NORMAL)
    expected = 0.0
    for d in range(2):
        p, q = (distributions.norm(NORMAL.mean[k, d], np.sqrt(NORMAL.var[k, d])) for k in range(2))
        overlap, _ = integrate.quad(lambda x, p=p, q=q: np.sqrt(p.pdf(x) * q.pdf(x)), -20, 20, epsabs=1e-12)
        expected += np.log(overlap)
    assert normal[0, 1] == pytest.approx(expected, rel=1e-8)

    rates = np.array([[1.0, 6.0], [3.0, 2.0]])
    poisson = Poisson(2, np.ones(2)).affinity(rates, rates)
    x = np.arange(100)
    expected = sum(
        np.log(np.sqrt(distributions.poisson.pmf(x, rates[0, d]) * distributions.poisson.pmf(x, rates[1, d])).sum())
        for d in range(2)
    )
    assert poisson[0, 1] == pytest.approx(expected, rel=1e-10)
    for own in (table, normal, poisson):
        np.testing.assert_allclose(np.diag(own), 0.0, atol=1e-12)
        np.testing.assert_allclose(own, own.T, atol=1e-12)


# ---- how many parameters --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("leaf", "n_free"),
    [
        (Categorical(2, [2, 0, 3]), 6),
        (Categorical(2, [1, 1]), 0),
        (Cells(1, [4], axes=(1,)), 3),
        (Gaussian(2, np.zeros(3), np.ones(3)), 12),
        (Poisson(2, np.ones(3)), 6),
        (Frozen(Poisson(2, np.ones(3))), 0),
        (Frozen(Cells(1, [4]), np.array([[True, True, False, False]])), 1),
        (Frozen(Cells(1, [4]), np.array([[True, True, True, False]])), 0),
        (Tied(Categorical(2, [2, 3]), components=[0, 0]), 3),
        (Tied(Categorical(2, [2, 3]), cells=[[2, 4]]), 4),
        (Tied(Categorical(4, [3]), components=[0, 0, 1, 1], cells=[[0, 1]]), 2),
        (Floored(Gaussian(2, np.zeros(3), np.ones(3)), 0.1), 12),
        (Product(2, {"a": Categorical(2, [3]), "b": Poisson(2, np.ones(1))}), 6),
    ],
)
def test_number_of_free_parameters(leaf, n_free):
    assert leaf.n_free() == n_free


# ---- what cannot be honoured is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize("floor", [-0.1, 1.0, float("nan")])
def test_a_floor_outside_its_range_is_refused(floor):
    with pytest.raises(ParameterError, match=r"floor=.* is not in \[0, 1\)"):
        Floored(Cells(1, [2]), floor)


def test_a_floor_that_leaves_no_room_is_refused():
    with pytest.raises(ParameterError, match=r"floor=0.4 times the free cells of a row exceeds"):
        Floored(Cells(1, [3]), 0.4).maximise(np.ones((1, 3)), np.full((1, 3), 1 / 3))


def test_a_floor_that_leaves_just_enough_room_gives_equal_shares():
    table = Floored(Cells(1, [4]), 0.25).maximise(np.array([[0.0, 1.0, 2.0, 30.0]]), np.full((1, 4), 0.25))
    np.testing.assert_allclose(table, 0.25, rtol=1e-12)


def test_ties_that_make_no_sense_are_refused():
    with pytest.raises(ParameterError, match="3 groups for 2 components"):
        Tied(Categorical(2, [2]), components=[0, 0, 1])
    with pytest.raises(ParameterError, match="a cell stands in two groups"):
        Tied(Categorical(2, [3]), cells=[[0, 1], [1, 2]])
    with pytest.raises(ParameterError, match=r"cells \[1, 2\] stand in different rows"):
        Tied(Categorical(2, [2, 2]), cells=[[1, 2]])
    with pytest.raises(ParameterError, match="not in Poisson"):
        Tied(Poisson(2, np.ones(2)), cells=[[0, 1]])


@pytest.mark.parametrize(
    "build",
    [
        lambda: Tied(Frozen(Poisson(2, np.ones(1)), np.array([[True], [False]])), components=[0, 0]),
        lambda: Frozen(Tied(Poisson(2, np.ones(1)), components=[0, 0]), np.array([[True], [False]])),
        lambda: Frozen(Tied(Cells(1, [4]), cells=[[0, 1]]), np.array([[True, False, False, False]])),
        lambda: Tied(Frozen(Cells(1, [4]), np.array([[True, False, False, False]])), cells=[[0, 1]]),
    ],
)
def test_a_fixed_entry_in_a_tied_group_is_refused(build):
    with pytest.raises(ParameterError, match="holds a fixed entry"):
        build()


# ---- limits and wrappers --------------------------------------------------------------------------------------------


def test_limits_add_up():
    first, second = np.array([True, False]), np.array([False, True])
    assert Limits(first).with_fixed(second).fixed.all()
    assert Limits(floor=0.1).with_floor(0.05).floor == 0.1
    assert Limits(floor=0.1).with_floor(0.2).floor == 0.2
    assert Limits({"a": first}).of("b").fixed is None
    joined = either({"a": first}, {"b": second})
    assert set(joined) == {"a", "b"}


def test_floors_inside_floors_keep_the_higher():
    leaf = Floored(Floored(Cells(1, [3]), 0.2), 0.1)
    assert leaf.maximise(np.array([[0.0, 0.0, 1.0]]), np.full((1, 3), 1 / 3)).min() == 0.2


def test_some_parts_of_a_product_can_be_frozen():
    product = Product(2, {"a": Categorical(2, [2]), "b": Poisson(2, np.ones(1))})
    leaf = Frozen(product, {"b": np.array([[True], [False]])})
    params = {"a": np.array([[0.5, 0.5], [0.2, 0.8]]), "b": np.array([[1.0], [2.0]])}
    moved = leaf.maximise(np.arange(1.0, 11.0), params)
    assert moved["b"][0] == params["b"][0]
    assert moved["b"][1] != params["b"][1]
    again = leaf.unpack(leaf.pack(moved), params)
    np.testing.assert_allclose(leaf.pack(again), leaf.pack(moved), rtol=1e-15)


def test_frozen_inside_frozen_fixes_both():
    inner = Frozen(Cells(1, [4]), np.array([[True, False, False, False]]))
    leaf = Frozen(inner, np.array([[False, True, False, False]]))
    start = np.array([[0.1, 0.2, 0.3, 0.4]])
    table = leaf.maximise(np.array([[9.0, 9.0, 1.0, 3.0]]), start)
    np.testing.assert_allclose(table, [[0.1, 0.2, 0.175, 0.525]], rtol=1e-12)
    np.testing.assert_allclose(leaf.unpack(leaf.pack(table), start), table, rtol=1e-15)


def test_fixed_cells_that_hold_all_the_mass_leave_none():
    """1 - (0.1 + 0.7 + 0.2) may come out just below zero; a probability never does."""
    for shares in ([0.1, 0.7, 0.2], [0.15, 0.35, 0.5], [0.7, 0.2, 0.1], [1 / 3, 1 / 3, 1 / 3]):
        fixed = np.array([[True, True, True, False]])
        for fuzz in (-1e-16, 0.0, 2.3e-16):
            start = np.array([[*shares[:2], shares[2] + fuzz, 0.0]])
            table = Frozen(Cells(1, [4]), fixed).maximise(np.ones((1, 4)), start)
            assert table[0, 3] >= 0
            assert np.isfinite(Cells(1, [4]).prepare(table)[0, :3]).all()


def test_only_a_free_variance_at_its_floor_has_collapsed():
    floored = Floored(Gaussian(2, np.zeros(1), np.full(1, 2.0)), 0.01)
    params = GaussianParams(np.zeros((2, 1)), np.array([[0.04], [1.0]]))
    assert floored.collapsed(params) == [0]
    assert Gaussian(2, np.zeros(1), np.ones(1)).collapsed(params) == []
    fixed = GaussianParams(np.zeros((2, 1), dtype=bool), np.ones((2, 1), dtype=bool))
    assert Frozen(floored, fixed).collapsed(params) == []
    assert Frozen(floored).collapsed(params) == []
    assert Product(2, {"x": floored}).collapsed({"x": params}) == [0]


def test_extrapolated_parameters_are_legal_or_not():
    assert Categorical(1, [2]).feasible(np.array([[0.0, 1.0]]))
    assert not Categorical(1, [2]).feasible(np.array([[-1e-9, 1.0]]))
    assert not Floored(Categorical(1, [2]), 0.1).feasible(np.array([[0.05, 0.95]]))
    gaussian = Gaussian(1, np.zeros(1), np.ones(1))
    assert not gaussian.feasible(GaussianParams(np.zeros((1, 1)), np.zeros((1, 1))))
    assert not Floored(gaussian, 0.1).feasible(GaussianParams(np.zeros((1, 1)), np.full((1, 1), 0.05)))
    assert not Poisson(1, np.ones(1)).feasible(np.array([[-0.1]]))
    fixed = Frozen(Categorical(1, [3]), np.array([[True, False, False]]))
    assert Floored(fixed, 0.1).feasible(np.array([[0.01, 0.5, 0.49]]))  # the floor binds what is free


# ---- priors ---------------------------------------------------------------------------------------------------------


def test_priors_are_data_that_was_not_seen():
    """With no data at all the estimate is the prior's own variance, shares and rate."""
    poisson = Poisson(2, np.array([2.5]), np.array([0.5, 1.0]))
    np.testing.assert_allclose(poisson.maximise(poisson.prior(poisson.blank()), poisson.blank()), 2.5)
    table = Categorical(1, [2], np.array([[1.0, 3.0]]))
    np.testing.assert_allclose(table.maximise(table.prior(table.blank()), table.blank()), [[0.25, 0.75]])
    assert table.prior(np.array([[0.0, 1.0]])).tolist() == [[0.0, 3.0]]  # what a start rules out stays so


def test_a_prior_on_the_variance_leaves_the_mean():
    """Two rows at 1 and 3 and half a pseudo-row of variance 4: mean 2, variance (2 + 0.5 * 4) / 2.5."""
    leaf = Gaussian(1, np.zeros(1), np.ones(1), PseudoRows(np.array([0.5]), np.array([4.0])))
    stats = leaf.prior(leaf.blank())
    leaf.expect(np.ones((2, 1)), leaf.blank(), np.array([[1.0], [3.0]]), SOFT, stats)
    fitted = leaf.maximise(stats, leaf.blank())
    np.testing.assert_allclose(fitted, [[[2.0]], [[1.6]]], rtol=1e-12)


def test_without_a_prior_there_is_no_log_prior():
    assert Categorical(1, [2]).log_prior(np.array([[0.0, 1.0]])) == 0.0
    assert Product(1, {"a": Poisson(1, np.ones(1))}).prior({"a": np.ones((1, 1))}) is None


# ---- tables typed by a user -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ([[0.5, 0.6], [0.5, 0.5]], r"row 0 sums to 1.1, not 1 \(1 of 2 rows are off\)"),
        ([[0.5, 0.5]], r"expected shape \(2, 2\), got \(1, 2\)"),
        ([[1.5, -0.5], [0.5, 0.5]], "at least 0"),
        ([[np.nan, 1.0], [0.5, 0.5]], "finite"),
    ],
)
def test_a_table_that_is_none_is_refused(value, said):
    with pytest.raises(ParameterError, match=said):
        read_table(value, (2, 2), "trans")


# ---- trees of arrays ------------------------------------------------------------------------------------------------


def test_trees_of_arrays_keep_their_shape_and_order():
    tree = {"a": np.zeros(2), "b": GaussianParams(np.ones(1), np.full(1, 2.0))}
    assert [array.tolist() for array in arrays(tree)] == [[0, 0], [1], [2]]
    doubled = map_arrays(lambda array: 2 * array, tree)
    assert isinstance(doubled["b"], GaussianParams)
    assert doubled["b"].var.tolist() == [4]


def test_a_column_without_categories_or_rows_without_columns_say_nothing():
    leaf = Categorical(2, [0, 0])
    params = leaf.blank()
    assert params.shape == (2, 0)
    assert leaf.score(leaf.prepare(params), np.full((3, 2), -1), SOFT).tolist() == [[0.0, 0.0]] * 3
    assert leaf.maximise(np.zeros((2, 0)), params).shape == (2, 0)
    assert leaf.n_free() == 0


def gathered(leaf, about, rows, usage):
    stats = np.zeros(leaf.stats_shape)
    leaf.expect(usage, leaf.prepare(about), rows, SOFT, stats)
    return stats


@pytest.mark.parametrize("kind", [Gaussian, Spherical, Normal])
def test_rounding_covers_moments_of_known_rows_that_are_restated_far_from_the_centre(kind):
    """Of a component on equal rows, its variance on the floor: moments are about the centre of the column."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        row, usage = rng.normal(size=(1, 2)), rng.random((3, 1))
        rows = np.repeat(row, 3, axis=0)
        leaf = kind(1, np.zeros(2), np.ones(2))
        var = 10.0 ** rng.uniform(-9, -3)
        diagonal = GaussianParams(row, np.full((1, 2), var))
        there = NormalParams(row, var * np.eye(2)[None]) if kind is Normal else diagonal
        known, exact = (gathered(leaf, about, rows, usage) for about in (leaf.blank(), there))
        restated = leaf.recentre(known, leaf.blank(), there)
        gap = leaf.complete(restated, there, there) - leaf.complete(exact, there, there)
        assert abs(gap) <= leaf.rounding(restated, there)
