"""The negative binomial leaf: its density, its clusters, its M-step and draws, against other ways to compute them."""

from decimal import Decimal, localcontext
from fractions import Fraction
from math import lgamma

import numpy as np
import pytest
from scipy.special import digamma, polygamma
from scipy.stats import nbinom, poisson

from halfseen.assign import SOFT, Assign
from halfseen.data import Schema, Table
from halfseen.engine.loop.em import em, evaluate
from halfseen.engine.loop.model import Reduced
from halfseen.engine.loop.run import EMRun
from halfseen.engine.loop.squarem import Squarem
from halfseen.engine.loop.stopping import gain
from halfseen.engine.tables.mixture import Mixture
from halfseen.errors import FitError
from halfseen.leaves import Cells, Floored, Frozen, Product
from halfseen.leaves.negbin import (
    LEAST_SIZE,
    MOST_SIZE,
    NegBin,
    NegBinParams,
    _draw_sum,
    equidispersed,
    excess,
    log_density,
    moment_size,
    shared,
)
from halfseen.structures.independent import Independent

PLACES = [(1.0, 1.0), (3.0, 0.05), (0.01, 1e-3), (1000.0, 5.0), (40.0, 200.0)]


def leaf_for(rows, n_components=1, **how):
    mean = np.nanmean(rows, axis=0)
    return NegBin(n_components, mean, moment_size(mean, np.nanvar(rows, axis=0)), **how)


def gathered(leaf, rows, params, usage=None, assign=SOFT):
    stats = np.zeros(leaf.stats_shape)
    leaf.expect(np.ones((len(rows), leaf.n_components)) if usage is None else usage, params, rows, assign, stats)
    return stats


def fitted(rows, weight=None, tol=1e-10):
    """Return the run of EM of one component to its end."""
    leaf = leaf_for(rows)
    model = Mixture(Independent(), {"mix": Cells(1, [1], axes=(1,)), "emit": Product(1, {"x": leaf})})
    table = Table(Schema((), {}), {"x": rows}, np.ones(len(rows)) if weight is None else weight)
    chain = EMRun(model, model.blank(), rule=gain(tol), squarem=Squarem(), max_iter=200)
    for _ in em(lambda chains: evaluate(model, Reduced(table.chunks()), [chains[0].params]), [chain]):
        pass
    return chain


# ---- the density ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("mean", "size"), PLACES)
def test_scores_are_those_of_scipy(mean, size):
    x = np.arange(300.0)
    np.testing.assert_allclose(
        log_density(x, mean, size), nbinom.logpmf(x, size, size / (size + mean)), rtol=1e-12, atol=1e-12
    )


def exact_log_density(x, mean, size):
    """Return log NegBin for a whole size, with whole numbers: (size + x - 1 over x) size^size mean^x / (...)^(...)."""
    mean, chance = Fraction(mean), Fraction(1)
    for j in range(int(x)):
        chance *= Fraction(size + j, j + 1) * mean / (mean + size)
    chance *= (Fraction(size) / (mean + size)) ** size
    with localcontext(prec=50):
        return float(Decimal(chance.numerator).ln() - Decimal(chance.denominator).ln())


@pytest.mark.parametrize("mean", [2.5, 1e-3, 1e-13, 1e-20, 1e-250, 1e5, 1e15])
@pytest.mark.parametrize("size", [1, 7, 16, 300])
@pytest.mark.parametrize("x", [0, 1, 2, 17, 150])
def test_scores_are_right_to_the_last_digits(x, size, mean):
    found = float(log_density(np.float64(x), np.float64(mean), np.float64(size)))
    assert found == pytest.approx(exact_log_density(x, mean, size), rel=3e-14, abs=1e-15)


def test_a_count_is_impossible_at_a_mean_of_zero_whatever_the_size():
    size = np.append(10.0 ** np.random.default_rng(0).uniform(-10, 20, 1000), 210466.71859986)
    for x in (1.0, 3.0, 1e15):
        assert (log_density(x, 0.0, size) == -np.inf).all()


def test_events_that_are_next_to_impossible_have_a_finite_log():
    """One event of weight 1e-308 at a mean of 1e-308: the mean of a component that has nothing else."""
    leaf, params = NegBin(1, np.ones(1), np.ones(1)), NegBinParams(np.full((1, 1), 1e-308), np.full((1, 1), 1e5))
    stats = gathered(leaf, np.array([[1.0]]), params, np.full((1, 1), 1e-308))
    assert leaf.complete(stats, params, params) == pytest.approx(1e-308 * np.log(1e-308), rel=1e-6)


def test_a_large_size_is_poisson_without_noise():
    x = np.arange(40.0)
    size = 1e12
    first_order = ((x - 3.0) ** 2 - x) / (2 * size)  # of log NegBin - log Poisson in 1 / size
    np.testing.assert_allclose(log_density(x, 3.0, size), poisson.logpmf(x, 3.0) + first_order, rtol=1e-14)


def test_counts_of_1e15_keep_their_digits():
    """Of size 1 the density is geometric, of which the logs are simple."""
    x, mean = 1e15, 3e15
    geometric = -np.log1p(mean) - x * np.log1p(1 / mean)
    assert float(log_density(np.float64(x), np.float64(mean), np.float64(1.0))) == pytest.approx(geometric, rel=1e-14)


def test_zeros_and_columns_without_events():
    assert log_density(np.array([0.0, 2.0]), 0.0, 3.0).tolist() == [0.0, -np.inf]
    leaf = NegBin(1, np.ones(1), np.ones(1))
    rows = np.zeros((5, 1))
    params = leaf.maximise(gathered(leaf, rows, leaf.blank()), leaf.blank())
    assert (params.mean[0, 0], params.size[0, 0]) == (0.0, 1.0)
    assert leaf.score(params, rows, SOFT).tolist() == [[0.0]] * 5
    assert np.isfinite(gathered(leaf, rows, params)).all()
    assert not equidispersed(params).any()


def test_d_minus_log_joins_its_series():
    for d in (0.0999999, -0.0999999, 1e-8, 0.1000001, 2.0, -0.9):
        exact = sum((-1) ** n * Fraction(d) ** n / n for n in range(2, 400)) if abs(d) < 0.5 else d - np.log1p(d)
        assert float(excess(d)) == pytest.approx(float(exact), rel=1e-14)


# ---- clusters -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1e-9, 0.3, 15.99, 16.01, 1e6])
def test_shared_events_are_sums_over_events(size):
    for x in (0, 1, 2, 9, 400):
        exact = sum(Fraction(j) / (Fraction(size) + j) for j in range(x))
        assert float(shared(np.float64(x), np.float64(size))) == pytest.approx(float(exact), rel=1e-12, abs=0)


def test_rows_without_a_count_above_one_have_nothing_latent():
    leaf = leaf_for(np.ones((2, 2)))
    rows = np.array([[0.0, 1.0], [1.0, np.nan], [2.0, 0.0], [np.nan, np.nan]])
    assert leaf.settled(rows).tolist() == [True, True, False, True]
    assert leaf.settled(rows[:2]) is None
    here, there = (NegBinParams(np.ones((1, 2)), np.full((1, 2), size)) for size in (0.5, 4.0))
    assert leaf.latent(here, there, rows[:2], np.ones((2, 1))).kl == 0
    assert leaf.latent(here, there, rows, np.ones((4, 1))).kl > 0


@pytest.mark.parametrize(("x", "size"), [(7.0, 1.3), (40.0, 30.0), (1e6, 0.4), (3e7, 5e3)])
def test_drawn_clusters_have_their_mean_and_variance(x, size):
    rng = np.random.default_rng(0)
    drawn = np.array([_draw_sum(x, size, 1, rng) for _ in range(2000)])
    clusters = size * (digamma(size + x) - digamma(size))
    var = clusters - size**2 * (polygamma(1, size) - polygamma(1, size + x))
    assert abs((x - drawn).mean() - clusters) < 5 * np.sqrt(var / len(drawn))
    assert drawn.var() == pytest.approx(var, rel=0.15)


@pytest.mark.parametrize(("x", "size"), [(7.0, 1.3), (1e6, 0.4)])
@pytest.mark.parametrize("times", [50, 10**9])
def test_many_draws_at_once_are_like_as_many_single_ones(x, size, times):
    rng = np.random.default_rng(0)
    drawn = np.array([_draw_sum(x, size, times, rng) for _ in range(500)])
    clusters = size * (digamma(size + x) - digamma(size))
    var = times * (clusters - size**2 * (polygamma(1, size) - polygamma(1, size + x)))
    assert abs((times * x - drawn).mean() - times * clusters) < 5 * np.sqrt(var / len(drawn))
    assert drawn.var() == pytest.approx(var, rel=0.3)


def test_drawn_statistics_tend_to_expected_ones():
    rows = np.repeat([[0.0], [1.0], [5.0], [12.0], [np.nan]], 4000, axis=0)
    leaf = leaf_for(rows)
    drawn = gathered(leaf, rows, leaf.blank(), assign=Assign("sample", rng=np.random.default_rng(0), latent=True))
    np.testing.assert_allclose(drawn, gathered(leaf, rows, leaf.blank()), rtol=0.01)


# ---- the M-step -----------------------------------------------------------------------------------------------------


def test_worked_numbers():
    """Counts 0, 1, 3 at size 1: shared = 1/2 + 2/3 of the 3; mean 4/3; size log(1 + mean / size) = (4 - 7/6) / 3."""
    rows = np.array([[0.0], [1.0], [3.0]])
    leaf = NegBin(1, np.ones(1), np.ones(1))
    stats = gathered(leaf, rows, leaf.blank())
    np.testing.assert_allclose(stats[:3, 0, 0], [3, 4, 7 / 6])
    params = leaf.maximise(stats, leaf.blank())
    mean, size = params.mean[0, 0], params.size[0, 0]
    assert mean == pytest.approx(4 / 3)
    assert size * np.log1p(mean / size) == pytest.approx((4 - 7 / 6) / 3, rel=1e-13)
    constant = stats[3, 0, 0]  # at size 1: log (3!/3!), and shared log 1
    assert constant == pytest.approx(lgamma(4) - lgamma(4), abs=1e-13)


@pytest.mark.parametrize(("mean", "size"), [(1.0, 1.0), (3.0, 1.3), (10.0, 5.0), (100.0, 30.0), (1000.0, 30.0)])
def test_one_component_is_maximum_likelihood(mean, size):
    statsmodels = pytest.importorskip("statsmodels.api")
    x = np.random.default_rng(0).negative_binomial(size, size / (size + mean), 2000).astype(float)
    peer = statsmodels.NegativeBinomial(x, np.ones(len(x)), loglike_method="nb2")
    peer = peer.fit(disp=0, method="bfgs", maxiter=500, gtol=1e-8)
    chain = fitted(x[:, None])
    params = chain.accepted.params["emit"]["x"]
    assert chain.accepted.loglik == pytest.approx(peer.llf, abs=1e-6)
    assert params.mean[0, 0] == pytest.approx(np.exp(peer.params[0]), rel=1e-4)
    assert params.size[0, 0] == pytest.approx(1 / peer.params[1], rel=1e-4)
    assert chain.n_passes < 60


def test_missing_cells_and_weights_are_rows_absent_and_repeated():
    x = np.random.default_rng(1).negative_binomial(2, 0.3, 300).astype(float)
    x[::5] = np.nan
    weight = np.tile([1.0, 2.0, 0.0], 100)
    repeated = np.repeat(x, weight.astype(int))
    found = fitted(x[:, None], weight).accepted.params["emit"]["x"]
    again = fitted(repeated[~np.isnan(repeated)][:, None]).accepted.params["emit"]["x"]
    np.testing.assert_allclose(found, again, rtol=1e-4)


def test_without_overdispersion_the_size_goes_to_its_bound():
    rows = np.tile([[2.0], [3.0]], (50, 1))
    params = fitted(rows).accepted.params["emit"]["x"]
    assert equidispersed(params).all()
    assert params.size[0, 0] <= MOST_SIZE * 2.5
    leaf = leaf_for(rows)
    stats = gathered(leaf, np.ones((9, 1)), leaf.blank())
    assert leaf.maximise(stats, leaf.blank()).size[0, 0] == leaf.most[0]  # no shared event: nothing but Poisson


def test_zeros_under_a_fixed_mean_leave_the_least_size():
    """With a mean above 0 that may not move, zeros are likeliest where all events come at once."""
    leaf = NegBin(1, np.ones(1), np.ones(1))
    fixed = Frozen(leaf, NegBinParams(np.array([[True]]), np.array([[False]])))
    params = fixed.maximise(gathered(leaf, np.zeros((5, 1)), leaf.blank()), leaf.blank())
    assert (params.mean[0, 0], params.size[0, 0]) == (1.0, LEAST_SIZE)


def test_a_prior_alone_gives_its_own_mean_and_size():
    leaf = NegBin(2, np.array([3.0, 20.0]), np.array([0.7, 40.0]), np.array([0.5, 2.0]))
    params = leaf.maximise(leaf.prior(leaf.blank()), leaf.jitter(leaf.blank(), 1.0, np.random.default_rng(0)))
    np.testing.assert_allclose(params, leaf.blank(), rtol=1e-12)


# ---- draws ----------------------------------------------------------------------------------------------------------


@pytest.mark.thorough
def test_draws_follow_their_density():
    """Means of draws, and by integration of exp(complete) over a grid of mean and 1 / size."""
    x = np.random.default_rng(2).negative_binomial(1.5, 1.5 / 5.5, 60).astype(float)[:, None]
    leaf = leaf_for(x)
    about = leaf.blank()
    stats = gathered(leaf, x, about)
    rng = np.random.default_rng(3)
    draws = np.array([np.ravel(leaf.draw(stats, about, rng)) for _ in range(4000)])
    mean, size = np.exp(np.linspace(-1, 5, 601))[:, None], np.exp(np.linspace(-2.5, 5, 901))[None]
    mass, events, joined = stats[:3, 0, 0]
    log_density = events * np.log(mean) - (events + mass * size) * np.log1p(mean / size) - joined * np.log(size)
    density = np.exp(log_density - log_density.max()) * mean / size  # d mean d (1 / size) on a grid of logs
    for found, value in zip(draws.T, (mean, size), strict=True):
        expected = (density * value).sum() / density.sum()
        assert abs(found.mean() - expected) < 5 * found.std() / np.sqrt(len(found))


def test_what_has_no_posterior_is_refused():
    leaf = NegBin(1, np.ones(1), np.ones(1))
    for rows in (np.zeros((30, 1)), np.array([[4.0], [0.0]])):
        with pytest.raises(FitError, match=r"negbin: size of component 0, column 0 .* no posterior.*Use a prior"):
            leaf.draw(gathered(leaf, rows, leaf.blank()), leaf.blank(), np.random.default_rng(0))
    with pytest.raises(FitError, match="floor"):
        Floored(leaf, 0.5).draw(gathered(leaf, np.ones((9, 1)), leaf.blank()), leaf.blank(), np.random.default_rng(0))


def test_fixed_entries_are_not_drawn():
    rows = np.random.default_rng(0).negative_binomial(2, 0.3, 200).astype(float)[:, None]
    leaf = leaf_for(rows)
    stats, rng = gathered(leaf, rows, leaf.blank()), np.random.default_rng(1)
    for masks in ((True, False), (False, True)):
        drawn = Frozen(leaf, NegBinParams(*(np.array([[mask]]) for mask in masks))).draw(stats, leaf.blank(), rng)
        same = [new[0, 0] == old[0, 0] for new, old in zip(drawn, leaf.blank(), strict=True)]
        assert tuple(same) == masks


# ---- the rest -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("other", [(5.0, 2.0), (0.0, 1.0), (300.0, 0.5), (9000.0, 1e5)])
def test_affinity_is_the_sum_over_counts(other):
    leaf = NegBin(1, np.ones(1), np.ones(1))
    one, another = (NegBinParams(np.array([[mean]]), np.array([[size]])) for mean, size in ((400.0, 1.0), other))
    x = np.arange(200_000.0)
    halves = [0.5 * log_density(x, params.mean[0, 0], params.size[0, 0]) for params in (one, another)]
    assert leaf.affinity(one, another)[0, 0] == pytest.approx(np.log(np.exp(sum(halves)).sum()), rel=1e-3)
    assert leaf.affinity(one, one)[0, 0] == 0


def test_drawn_counts_have_their_moments():
    leaf = NegBin(2, np.ones(2), np.ones(2))
    params = NegBinParams(np.array([[2.0, 50.0], [0.0, 7.0]]), np.array([[0.5, 1e6], [1.0, 3.0]]))
    components = np.repeat([0, 1], 40_000)
    rows = leaf.sample(params, components, np.random.default_rng(0))
    filled = leaf.impute(params, np.full_like(rows, np.nan), np.eye(2)[components], np.random.default_rng(1))
    for drawn in (rows, filled):
        for k in (0, 1):
            some = drawn[components == k]
            var = params.mean[k] + params.mean[k] ** 2 / params.size[k]
            assert np.all(np.abs(some.mean(axis=0) - params.mean[k]) <= 5 * np.sqrt(var / 40_000))
            np.testing.assert_allclose(some.var(axis=0), var, rtol=0.1)
    expected = leaf.impute(params, np.array([[np.nan, 4.0]]), np.array([[0.25, 0.75]]), None)
    assert expected.tolist() == [[0.5, 4.0]]


@pytest.mark.parametrize(
    ("mean", "size", "said"),
    [(-1.0, 1.0, "mean"), (1e19, 1.0, "mean"), (1.0, 0.0, "size"), (1.0, 1e300, "size"), (np.nan, 1.0, "finite")],
)
def test_illegal_parameters_are_named(mean, size, said):
    leaf = NegBin(1, np.ones(1), np.ones(1))
    assert said in leaf.flaw(NegBinParams(np.array([[mean]]), np.array([[size]])))
    assert leaf.flaw(leaf.blank()) is None


def test_a_leap_beyond_the_largest_size_ends_there():
    leaf = NegBin(1, np.array([4.0]), np.ones(1))
    found = leaf.unpack(np.array([0.5, -3.0]), leaf.blank())
    assert (found.mean[0, 0], found.size[0, 0]) == (2.0, 4 * MOST_SIZE)
    assert leaf.feasible(found)
    assert not leaf.feasible(leaf.unpack(np.array([-0.5, 1.0]), leaf.blank()))
