"""The binomial leaf: its density, statistics, M-step, gradients and draws, against other ways to compute them."""

from decimal import Decimal, localcontext
from math import comb

import numpy as np
import pytest
from scipy.stats import beta, binom

from halfseen.assign import SOFT
from halfseen.errors import FitError
from halfseen.leaves import Floored, Frozen
from halfseen.leaves.binomial import LEAST, MOST, Binomial, log_density
from halfseen.leaves.exact import Weights

TRIALS = 9
CHANCES = np.array([[0.2, 0.7], [0.5, 0.9]])


def leaf_of(n_components=2, trials=TRIALS, rate=(0.4, 0.6), **how):
    return Binomial(n_components, trials, np.array(rate), **how)


def gathered(leaf, rows, usage):
    stats = np.zeros(leaf.stats_shape)
    leaf.expect(usage, leaf.blank(), rows, SOFT, stats)
    return stats


def some_rows(rng, trials=TRIALS, n_rows=12):
    rows = np.floor(rng.random((n_rows, 2)) * (trials + 1))
    rows[rng.random(rows.shape) < 0.2] = np.nan
    return rows


# ---- the density ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("trials", [1, 2, 10, 300, 5000])
@pytest.mark.parametrize("p", [0.0, 1e-6, 0.2, 0.5, 0.9, 1 - 1e-6, 1.0])
def test_scores_are_those_of_scipy(trials, p):
    x = np.arange(trials + 1.0)
    np.testing.assert_allclose(log_density(x, trials, p), binom.logpmf(x, trials, p), rtol=1e-10, atol=1e-10)


def exact_log_density(x, trials, p):
    """Return log(comb(trials, x) p^x (1 - p)^(trials - x)) to 60 digits, of all digits of p."""
    with localcontext(prec=60):
        chance, ways = Decimal(p), Decimal(comb(trials, min(x, trials - x)))
        return float(ways.ln() + x * chance.ln() + (trials - x) * (1 - chance).ln())


@pytest.mark.parametrize("p", [1e-250, 1e-13, 3e-9, 0.013, 0.4, 0.99, 1 - 1e-9, MOST])
@pytest.mark.parametrize("trials", [1, 3, 16, 33, 400, 10**6, 10**15])
@pytest.mark.parametrize("x", [0, 1, 2, 17, 150])
def test_scores_are_right_to_the_last_digits(x, trials, p):
    few = min(x, trials)
    for successes in (few, trials - few):
        exact = exact_log_density(successes, trials, p)
        assert float(log_density(float(successes), trials, p)) == pytest.approx(exact, rel=2e-14, abs=1e-14)


def test_many_successes_of_many_trials_keep_their_digits():
    """log P(x + 1) - log P(x) = log((trials - x) p / ((x + 1) (1 - p))), though logs of their parts are near 1e16."""
    trials, p = 10**15, 0.3
    x = 3e14 + np.arange(-3e8, 3e8, 1e7)
    ratio = np.log1p((trials * p - x - (1 - p)) / ((x + 1) * (1 - p)))
    found = log_density(x + 1, trials, p) - log_density(x, trials, p)
    np.testing.assert_allclose(found, ratio, atol=1e-11)


def test_what_cannot_be_is_impossible_and_what_must_be_is_certain():
    x = np.array([0.0, 1.0, 8.0, 9.0])
    assert log_density(x, TRIALS, 0.0).tolist() == [0.0, -np.inf, -np.inf, -np.inf]
    assert log_density(x, TRIALS, 1.0).tolist() == [-np.inf, -np.inf, -np.inf, 0.0]


# ---- statistics -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("trials", [1, 9, 10**6, 10**12])
@pytest.mark.parametrize("rate", [(0.4, 0.6), (1e-5, 1 - 1e-5)])
def test_complete_is_the_sum_of_the_scores(trials, rate):
    rng = np.random.default_rng(0)
    leaf, rows, usage = leaf_of(trials=trials, rate=rate), some_rows(rng, trials), rng.dirichlet([1.0, 1.0], 12)
    stats = gathered(leaf, rows, usage)
    for p in (CHANCES, CHANCES**30, 1 - CHANCES**9, np.array([[1e-200, MOST], [rate[0], rate[1]]])):
        total = np.sum(usage * leaf.score(p, rows, SOFT))
        assert leaf.complete(stats, leaf.blank(), p) == pytest.approx(total, rel=1e-11)


def test_complete_at_the_ends():
    leaf, rows = leaf_of(1), np.array([[0.0, 9.0], [0.0, 9.0]])
    stats, ends = gathered(leaf, rows, np.ones((2, 1))), np.array([[0.0, 1.0]])
    np.testing.assert_array_equal(leaf.maximise(stats, leaf.blank()), ends)
    assert leaf.complete(stats, ends, ends) == pytest.approx(0.0, abs=1e-14)
    assert leaf.complete(stats, ends, 1 - ends) == -np.inf


def test_sums_without_rounding_are_the_statistics():
    rng = np.random.default_rng(1)
    leaf, rows, component, weight = leaf_of(), some_rows(rng), rng.integers(0, 2, 12), rng.random(12)
    tallied = leaf.tally(component, weight, Weights(weight), leaf.blank(), rows).total().reshape(leaf.stats_shape)
    stats = np.zeros(leaf.stats_shape)
    leaf.count(component, weight, leaf.blank(), rows, stats)
    np.testing.assert_allclose(tallied, stats, rtol=1e-14)


# ---- the M-step -----------------------------------------------------------------------------------------------------


def test_one_component_has_the_share_of_successes():
    rows = some_rows(np.random.default_rng(2))
    stats = gathered(leaf_of(1), rows, np.ones((12, 1)))
    np.testing.assert_allclose(leaf_of(1).maximise(stats, leaf_of(1).blank())[0], np.nanmean(rows, axis=0) / TRIALS)


def test_the_prior_is_pseudo_rows_of_the_rate():
    leaf = leaf_of(pseudo=np.array([0.5, 2.0]))
    np.testing.assert_allclose(leaf.maximise(leaf.prior(CHANCES), CHANCES), leaf.blank(), rtol=1e-15)
    np.testing.assert_array_equal(leaf.prior(CHANCES)[0], [[0.5, 0.5], [2.0, 2.0]])
    np.testing.assert_allclose(leaf.prior(CHANCES)[1:3].sum(axis=0), TRIALS * leaf.prior(CHANCES)[0])


def test_next_to_no_failures_are_not_impossible():
    """Less than rounding of 1, as of a row that hardly belongs to a component: its log-density stays a number."""
    stats = np.array([[[50.0]], [[450.0]], [[1e-30]], [[0.0]]])
    leaf = leaf_of(1, rate=(0.5,))
    assert leaf.maximise(stats, leaf.blank())[0, 0] == MOST
    assert np.isfinite(leaf.complete(stats, leaf.blank(), np.array([[MOST]])))
    few = np.array([[[1e300]], [[1e-30]], [[9e300]], [[0.0]]])
    assert leaf.maximise(few, leaf.blank())[0, 0] == LEAST


def test_a_floor_is_a_share_of_the_way_to_both_ends():
    leaf = Floored(leaf_of(1), 0.5)
    stats = gathered(leaf.leaf, np.array([[0.0, 9.0]]), np.ones((1, 1)))
    np.testing.assert_allclose(leaf.maximise(stats, leaf.blank()), [[0.2, 0.8]])
    assert leaf.feasible(np.array([[0.2, 0.8]]))
    assert not leaf.feasible(np.array([[0.19, 0.8]]))
    assert not leaf.feasible(np.array([[0.2, 0.81]]))


def test_many_trials_that_nearly_all_succeed_are_refused():
    leaf = leaf_of(1, trials=10**15, rate=(0.5,))
    stats = np.array([[[2.0]], [[2e15 - 3]], [[3.0]], [[0.0]]])
    with pytest.raises(FitError, match=r"3 of 2e\+15 trials fail in component 0, column 0.*Count failures instead"):
        leaf.maximise(stats, leaf.blank())
    leaf.maximise(stats[[0, 2, 1, 3]], leaf.blank())
    np.testing.assert_array_equal(Frozen(leaf).maximise(stats, leaf.blank()), leaf.blank())


def test_rounding_covers_what_few_digits_cost():
    """Of a trillion trials few fail, and the nearest float is not the share of those that succeed."""
    trials, leaf = 10**12, leaf_of(1, 10**12, rate=(1 - 1e-11,))
    for few in range(1, 40):
        stats = np.array([2.0, 2.0 * trials - few, few, 0.0]).reshape(4, 1, 1)
        p = leaf.maximise(stats, leaf.blank())
        with localcontext(prec=40):
            best, found = 1 - Decimal(few) / (2 * trials), Decimal(p.item())
            lost = (2 * trials - few) * (best / found).ln() + few * ((1 - best) / (1 - found)).ln()
        assert 0 <= lost <= leaf.rounding(stats, p)


# ---- gradients, draws, and what the rest of the library asks --------------------------------------------------------


def test_rows_have_the_slope_of_their_score():
    rng = np.random.default_rng(3)
    leaf, rows, h = leaf_of(), some_rows(rng), 1e-6
    for k in range(2):
        found = leaf.slopes(CHANCES, rows, k)
        for d in range(2):
            moved = [leaf.free(CHANCES) + sign * h * np.eye(4)[found.at[d]] for sign in (1, -1)]
            up, down = (leaf.score(leaf.freed(at, CHANCES), rows, SOFT)[:, k] for at in moved)
            np.testing.assert_allclose(found.values[:, d], (up - down) / (2 * h), atol=1e-7)


def test_probabilities_of_0_and_1_do_not_move():
    leaf, ends = leaf_of(1), np.array([[0.0, 1.0]])
    stats = gathered(leaf, np.array([[3.0, 4.0]]), np.ones((1, 1)))
    assert leaf.slope(stats, ends).tolist() == [0.0, 0.0]
    assert leaf.slopes(ends, np.array([[3.0, 4.0]]), 0).values.tolist() == [[0.0, 0.0]]
    np.testing.assert_array_equal(leaf.freed(leaf.free(ends) + 3.0, ends), ends)
    np.testing.assert_array_equal(leaf.jitter(ends, 1.0, np.random.default_rng(0)), ends)
    away = leaf.freed(np.array([-2000.0, 2000.0]), leaf.blank())
    assert away.tolist() == [[LEAST, MOST]]


@pytest.mark.parametrize("many", [1e3, 1e9, 1e15, 1e20])
def test_quantiles_of_many_trials(many):
    stats = np.array([[[1.0]], [[0.3 * many]], [[0.7 * many]], [[0.0]]])
    leaf = leaf_of(1, trials=1000, rate=(0.5,))
    sd = np.sqrt(0.21 / many)
    for q in (0.025, 0.5, 0.975):
        known = beta.ppf(q, 0.3 * many + 1, 0.7 * many + 1) if many < 1e10 else binom_quantile(q, sd)
        assert leaf.quantile(stats, leaf.blank(), q)[0, 0] == pytest.approx(known, abs=1e-4 * sd + 1e-16)
    assert leaf.average(stats, leaf.blank())[0, 0] == pytest.approx((0.3 * many + 1) / (many + 2), rel=1e-12)


def binom_quantile(q, sd):
    """The normal one, which is that of a beta of so many trials."""
    return 0.3 + sd * {0.025: -1.959963984540054, 0.5: 0.0, 0.975: 1.959963984540054}[q]


def test_what_is_fixed_is_not_drawn():
    leaf = Frozen(leaf_of(), np.array([[True, False], [False, True]]))
    stats = gathered(leaf.leaf, some_rows(np.random.default_rng(4)), np.ones((12, 2)))
    for found in (leaf.draw(stats, CHANCES, np.random.default_rng(0)), leaf.average(stats, CHANCES)):
        assert ((found == CHANCES) == leaf.fixed).all()


def test_overlap_is_that_of_the_sums():
    x = np.arange(TRIALS + 1)
    found, p = leaf_of().affinity(CHANCES, CHANCES[::-1]), binom.pmf(x, TRIALS, CHANCES[..., None])
    sums = np.log(np.sqrt(p[:, None] * p[::-1]).sum(axis=-1)).sum(axis=-1)
    np.testing.assert_allclose(found, sums, rtol=1e-12, atol=1e-14)
    ends = np.array([[0.0, 0.5], [1.0, 0.5]])
    assert leaf_of().affinity(ends, ends).tolist() == [[0.0, -np.inf], [-np.inf, 0.0]]


def test_drawn_rows_have_their_moments_and_missing_cells_their_expectation():
    rng, n = np.random.default_rng(5), 40_000
    drawn = leaf_of().sample(CHANCES, np.repeat([0, 1], n), rng).reshape(2, n, 2)
    np.testing.assert_allclose(drawn.mean(axis=1), TRIALS * CHANCES, atol=5 * 1.5 / np.sqrt(n))
    np.testing.assert_allclose(drawn.var(axis=1), TRIALS * CHANCES * (1 - CHANCES), rtol=0.05)
    rows, resp = np.array([[np.nan, 4.0], [2.0, np.nan]]), np.array([[0.25, 0.75], [1.0, 0.0]])
    expected = TRIALS * resp @ CHANCES
    np.testing.assert_allclose(leaf_of().impute(CHANCES, rows, resp, None), [[expected[0, 0], 4], [2, expected[1, 1]]])
    filled = leaf_of().impute(CHANCES, np.full((n, 2), np.nan), np.tile([0.0, 1.0], (n, 1)), rng)
    np.testing.assert_allclose(filled.mean(axis=0), TRIALS * CHANCES[1], atol=5 * 1.5 / np.sqrt(n))


def test_flaws():
    leaf = leaf_of(1)
    assert leaf.flaw(np.array([[0.0, 1.0]])) is None
    assert "below 0 or above 1" in leaf.flaw(np.array([[0.5, 1.1]]))
    assert "finite" in leaf.flaw(np.array([[np.nan, 0.5]]))
