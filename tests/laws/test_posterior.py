"""The laws of the posterior: draws, means and quantiles belong to the density exp(complete(stats, about, .)).

Every leaf's closed forms are checked against numerical integration of that density, written here from `complete`
alone, and its draws against its closed forms.
"""

from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as distributions
from scipy.integrate import quad

from halfseen.engine.loop.gibbs import gibbs
from halfseen.engine.loop.model import Model
from halfseen.errors import FitError, ParameterError
from halfseen.leaves import (
    Binomial,
    Categorical,
    Cells,
    Floored,
    Frozen,
    Gaussian,
    GaussianParams,
    Leaf,
    Normal,
    NormalParams,
    Poisson,
    Spherical,
    Tied,
)
from halfseen.leaves.leaf import arrays
from tests.laws.closeness import close, same_bits
from tests.laws.models import Case, every_model, mixtures
from tests.strategies import anywhere, examples, generators

pytestmark = pytest.mark.thorough
N_DRAWS = 20_000
SIGMAS = 5.0  # standard errors that a mean of draws may be off: one in a million


def drawn(leaf, stats, about, n=N_DRAWS, seed=0):
    """Return arrays of draws, one for each array of the parameters."""
    rng = np.random.default_rng(seed)
    draws = [arrays(leaf.draw(stats, about, rng)) for _ in range(n)]
    return [np.stack(each) for each in zip(*draws, strict=True)]


def assert_means(draws, expected):
    error = draws.std(axis=0) / np.sqrt(len(draws))
    assert np.all(np.abs(draws.mean(axis=0) - expected) <= SIGMAS * error + 1e-12)


def assert_quantiles(leaf, stats, about, draws):
    """The share of draws below a quantile is that quantile, up to its binomial error."""
    for q in (0.025, 0.3, 0.5, 0.975):
        found = arrays(leaf.quantile(stats, about, q))
        for one, cut in zip(draws, found, strict=True):
            free = np.ptp(one, axis=0) > 0
            share = (one <= cut).mean(axis=0)
            off = np.abs(share - q) / np.sqrt(q * (1 - q) / len(one))
            assert np.all(off[free] < SIGMAS)
            close(one[0][~free], cut[~free], 1e-12)


# ---- tables ---------------------------------------------------------------------------------------------------------

COUNTS = np.array([[3.0, 1.0, 0.5, 7.0, 2.0], [0.0, 0.0, 2.5, 1.0, 0.2]])
HALF = Categorical(2, [3, 2]).blank()


def test_rows_of_a_table_are_dirichlet():
    leaf = Categorical(2, [3, 2])
    [draws] = drawn(leaf, COUNTS, HALF)
    for k in range(2):
        for row in (slice(0, 3), slice(3, 5)):
            known = distributions.dirichlet(COUNTS[k, row] + 1)
            assert_means(draws[:, k, row], known.mean())
            np.testing.assert_allclose(draws[:, k, row].var(axis=0), known.var(), rtol=0.1)
            close(leaf.average(COUNTS, HALF)[k, row], known.mean())
    assert_quantiles(leaf, COUNTS, HALF, [draws])


def test_quantiles_of_a_table_are_those_of_beta():
    found = Categorical(2, [3, 2]).quantile(COUNTS, HALF, 0.1)
    close(found[0, 0], distributions.beta(4.0, 3.5).ppf(0.1))
    close(found[1, 4], distributions.beta(1.2, 2.0).ppf(0.1))


def test_fixed_cells_stay_and_the_others_share_the_rest():
    fixed = np.zeros((2, 5), dtype=bool)
    fixed[0, 0] = fixed[1, 3:] = True
    leaf, about = Frozen(Categorical(2, [3, 2]), fixed), anywhere(Categorical(2, [3, 2]), np.random.default_rng(1))
    [draws] = drawn(leaf, COUNTS, about, 4000)
    assert np.all(draws[:, fixed] == about[fixed])
    left = 1 - about[0, 0]
    assert_means(draws[:, 0, 1:3], left * np.array([2.0, 1.5]) / 3.5)
    assert_quantiles(leaf, COUNTS, about, [draws])


def test_tied_cells_are_drawn_once():
    """p_0 = p_1 = q / 2 with (q, p_2) ~ Dirichlet(n_0 + n_1 + 1, n_2 + 1)."""
    leaf = Tied(Categorical(2, [3, 2]), cells=[[0, 1]])
    [draws] = drawn(leaf, COUNTS, HALF, 4000)
    assert np.all(draws[:, :, 0] == draws[:, :, 1])
    assert_means(draws[:, 0, 0], 0.5 * 5.0 / 6.5)
    close(leaf.average(COUNTS, HALF)[0, :3], np.array([2.5, 2.5, 1.5]) / 6.5)
    close(leaf.quantile(COUNTS, HALF, 0.2)[0, 1], 0.5 * distributions.beta(5.0, 1.5).ppf(0.2))
    assert_quantiles(leaf, COUNTS, HALF, [draws])


def test_tied_components_pool():
    leaf = Tied(Categorical(2, [3, 2]), components=[0, 0])
    [draws] = drawn(leaf, COUNTS, HALF, 4000)
    assert np.all(draws[:, 0] == draws[:, 1])
    pooled = COUNTS.sum(axis=0)[:3] + 1
    assert_means(draws[:, 0, :3], pooled / pooled.sum())
    assert_quantiles(leaf, COUNTS, HALF, [draws])


def test_a_floor_under_probabilities_is_refused():
    with pytest.raises(ParameterError, match=r"floor=0\.1.*Use a prior"):
        Floored(Categorical(2, [3, 2]), 0.1).draw(COUNTS, HALF, np.random.default_rng(0))


# ---- numbers --------------------------------------------------------------------------------------------------------

X = np.array([[1.0, -3.0], [2.5, -2.0], [0.5, -6.0], [3.0, np.nan], [2.0, -4.5], [1.2, -1.0], [1.9, -2.5]])


def numbers(pseudo=0.0):
    """Return a Gaussian block of one component, moments of X about some mean, and the parameters with that mean."""
    leaf = Gaussian(1, np.zeros(2), np.ones(2))
    about = GaussianParams(np.array([[1.0, -2.0]]), np.array([[2.0, 0.7]]))
    stats = np.zeros(leaf.stats_shape)
    leaf.expect(np.ones((len(X), 1)), about, X, None, stats)
    stats[2] += pseudo * 1.5
    stats[3] += pseudo
    return leaf, stats, about


@pytest.mark.parametrize("pseudo", [0.0, 2.0])
def test_moments_of_numbers_are_those_of_their_density(pseudo):
    """Posterior means by integrating exp(complete) over a grid of the parameters themselves."""
    leaf, stats, about = numbers(pseudo)
    found = leaf.average(stats, about)
    for d in range(2):
        mean, log_var = np.linspace(-40, 40, 4001)[:, None], np.linspace(-6, 12, 1801)[None]
        var = np.exp(log_var)
        shift = mean - about.mean[0, d]
        squares = stats[2, 0, d] - 2 * shift * stats[1, 0, d] + shift**2 * stats[0, 0, d]
        log_density = -0.5 * ((stats[0, 0, d] + stats[3, 0, d]) * np.log(var) + squares / var) + log_var
        density = np.exp(log_density - log_density.max())
        close(found.mean[0, d], (density * mean).sum() / density.sum(), 1e-3)
        close(found.var[0, d], (density * var).sum() / density.sum(), 2e-2 if pseudo == 0 else 1e-3)  # a heavy tail


@pytest.mark.parametrize("pseudo", [0.0, 2.0])
def test_quantiles_of_numbers_are_those_of_student_and_inverse_gamma(pseudo):
    leaf, stats, about = numbers(pseudo)
    found = leaf.quantile(stats, about, 0.9)
    seen = X[:, 0]
    shape, rate = (len(seen) + pseudo - 3) / 2, (((seen - seen.mean()) ** 2).sum() + pseudo * 1.5) / 2
    close(found.var[0, 0], distributions.invgamma(shape, scale=rate).ppf(0.9))
    scale = np.sqrt(rate / (shape * len(seen)))
    close(found.mean[0, 0], distributions.t(2 * shape, seen.mean(), scale).ppf(0.9))


def test_draws_of_numbers_follow_their_quantiles():
    leaf, stats, about = numbers()
    draws = drawn(leaf, stats, about)
    assert_quantiles(leaf, stats, about, draws)


@pytest.mark.parametrize("which", ["mean", "var"])
def test_draws_beside_a_fixed_mean_or_variance(which):
    leaf, stats, about = numbers()
    masks = GaussianParams(*(np.full((1, 2), name == which) for name in ("mean", "var")))
    leaf = Frozen(leaf, masks)
    draws = drawn(leaf, stats, about, 5000)
    assert_quantiles(leaf, stats, about, draws)
    seen = X[:, 0]
    if which == "mean":  # the variance about it: var^(-n/2), squares about the fixed mean
        known = distributions.invgamma(len(seen) / 2 - 1, scale=((seen - 1.0) ** 2).sum() / 2)
        close(leaf.quantile(stats, about, 0.3).var[0, 0], known.ppf(0.3))
    else:
        known = distributions.norm(seen.mean(), np.sqrt(2.0 / len(seen)))
        close(leaf.quantile(stats, about, 0.3).mean[0, 0], known.ppf(0.3))


def test_a_floor_cuts_variances_off_exactly():
    """Draws above a floor are draws of the rest: the share below any value is that of the uncut law, rescaled."""
    leaf, stats, about = numbers()
    draws = drawn(Floored(leaf, 0.9), stats, about, 5000)[1]
    seen = X[:, 0]
    known = distributions.invgamma((len(seen) - 3) / 2, scale=((seen - seen.mean()) ** 2).sum() / 2)
    assert draws.min() >= 0.9
    for value in (1.0, 1.5, 3.0):
        share = (known.cdf(value) - known.cdf(0.9)) / known.sf(0.9)
        assert abs((draws[:, 0, 0] <= value).mean() - share) < SIGMAS * np.sqrt(share * (1 - share) / 5000)


def test_closed_forms_that_a_floor_spoils_are_refused():
    leaf, stats, about = numbers()
    with pytest.raises(FitError, match=r"cuts off 0\.\d+ of the posterior.*component 0, column 0"):
        Floored(leaf, 0.9).quantile(stats, about, 0.5)
    close(Floored(leaf, 1e-8).quantile(stats, about, 0.5), leaf.quantile(stats, about, 0.5), 1e-8)


def test_too_few_rows_have_no_posterior():
    leaf, stats, about = numbers()
    with pytest.raises(FitError, match=r"variance of component 0, column 1 .* mass of 2\.7 .*needs 3\.1 rows"):
        leaf.draw(stats * 0.45, about, np.random.default_rng(0))
    with pytest.raises(FitError, match=r"variance of component 0, column 0 .* mass of 3\.003 "):
        leaf.draw(stats * 0.429, about, np.random.default_rng(0))  # proper, but no variance drawn would be a number
    with pytest.raises(FitError, match=r"mean of component 0, column 0 .* mass of 0 "):
        leaf.draw(np.zeros_like(stats), about, np.random.default_rng(0))


# ---- counts ---------------------------------------------------------------------------------------------------------

EVENTS = np.stack([[[4.0], [2.0]], [[9.0], [1.0]], [[0.0], [0.0]]])  # mass, events, constants
RATES = np.array([[1.0], [2.0]])


@pytest.mark.parametrize("floor", [0.0, 0.6])
def test_rates_are_gamma_above_the_floor(floor):
    leaf = Floored(Poisson(2, np.ones(1)), floor)
    [draws] = drawn(leaf, EVENTS, RATES)
    assert draws.min() >= floor
    for k in range(2):
        known = distributions.gamma(EVENTS[1, k, 0] + 1, scale=1 / EVENTS[0, k, 0])
        mean = quad(lambda rate, known=known: rate * known.pdf(rate), floor, np.inf)[0] / known.sf(floor)
        close(leaf.average(EVENTS, RATES)[k, 0], mean, 1e-7)
        cut = known.ppf(known.cdf(floor) + 0.3 * known.sf(floor))
        close(leaf.quantile(EVENTS, RATES, 0.3)[k, 0], cut, 1e-9)
    assert_means(draws, leaf.average(EVENTS, RATES))
    assert_quantiles(leaf, EVENTS, RATES, [draws])


SUCCESSES = np.stack([[[1.0], [3.0]], [[4.0], [0.0]], [[5.0], [27.0]], [[0.0], [0.0]]])  # of 9 trials each
CHANCES = np.array([[0.4], [0.1]])


@pytest.mark.parametrize("floor", [0.0, 0.5])
def test_probabilities_of_successes_are_beta_within_the_floor(floor):
    leaf = Floored(Binomial(2, 9, np.full(1, 0.3)), floor)
    [draws] = drawn(leaf, SUCCESSES, CHANCES)
    low, high = floor * 0.3, 1 - floor * 0.7
    assert low <= draws.min() <= draws.max() <= high
    for k in range(2):
        known = distributions.beta(SUCCESSES[1, k, 0] + 1, SUCCESSES[2, k, 0] + 1)
        inside = known.cdf(high) - known.cdf(low)
        mean = quad(lambda p, known=known: p * known.pdf(p), low, high)[0] / inside
        close(leaf.average(SUCCESSES, CHANCES)[k, 0], mean, 1e-7)
        close(leaf.quantile(SUCCESSES, CHANCES, 0.3)[k, 0], known.ppf(known.cdf(low) + 0.3 * inside), 1e-9)
    assert_means(draws, leaf.average(SUCCESSES, CHANCES))
    assert_quantiles(leaf, SUCCESSES, CHANCES, [draws])


def test_a_rate_without_rows_has_no_posterior():
    with pytest.raises(FitError, match=r"rate of component 1, column 0 .* mass of 0 .*Use a prior"):
        Poisson(2, np.ones(1)).draw(EVENTS * np.array([1.0, 0.0])[:, None], RATES, np.random.default_rng(0))


# ---- every model ----------------------------------------------------------------------------------------------------


@every_model("closed")
@examples(3)
@given(data=st.data(), rng=generators)
def test_draws_are_legal_and_obey_or_are_refused(entry, data, rng):
    case: Case = data.draw(entry.cases)
    stats = case.model.with_prior(case.step())
    try:
        found = case.model.draw(stats, case.params, rng)
    except (FitError, ParameterError) as error:
        refused = str(error)
        assert "Use a prior" in refused or "Ordinal does not implement `draw`" in refused
        return
    assert case.model.feasible(found)
    close(case.model.conform(found, case.params), found)
    assert np.isfinite(case.step(params=found).objective)


def test_a_leaf_without_draws_says_so():
    class Plain(Gaussian):
        draw = Leaf.draw

    leaf, stats, about = numbers()
    plain = Plain(1, leaf.centre, leaf.scale)
    with pytest.raises(ValueError, match="Plain does not implement `draw`"):
        plain.draw(stats, about, np.random.default_rng(0))


@examples(5)
@given(data=st.data())
def test_same_seed_same_bits(data):
    case = data.draw(mixtures("c", labels=True))
    first, again = (
        list(islice(gibbs(case.model, case.data(), case.params, np.random.SeedSequence(3)), 3)) for _ in "ab"
    )
    same_bits(tuple(first), tuple(again))


def test_cells_draw_like_any_table():
    leaf = Cells(1, [2], np.array([[1.0, 1.0]]), axes=(1,))
    assert isinstance(leaf, Categorical)
    [draws] = drawn(leaf, np.array([[4.0, 0.0]]), leaf.blank(), 4000)
    assert_means(draws[:, 0, 0], 5 / 6)
    assert Model.draw is not Leaf.draw


# ---- jointly normal columns -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("leaf", [Normal(1, np.zeros(1), np.ones(1)), Spherical(1, np.zeros(1), np.ones(1))])
def test_one_column_has_the_posterior_of_a_gaussian_column(leaf):
    plain, about = Gaussian(1, np.zeros(1), np.ones(1)), GaussianParams(np.array([[1.0]]), np.array([[2.0]]))
    known = NormalParams(about.mean, about.var[:, :, None]) if isinstance(leaf, Normal) else about
    stats, own = np.zeros(plain.stats_shape), np.zeros(leaf.stats_shape)
    plain.expect(np.ones((7, 1)), about, X[:, :1], None, stats)
    leaf.expect(np.ones((7, 1)), leaf.prepare(known), X[:, :1], None, own)
    for found, expected in (
        (leaf.average(own, known), plain.average(stats, about)),
        (leaf.quantile(own, known, 0.1), plain.quantile(stats, about, 0.1)),
    ):
        close(np.ravel(found[0]), np.ravel(expected.mean))
        close(np.ravel(found[1]), np.ravel(expected.var))


@pytest.mark.parametrize("tied", [False, True])
def test_draws_of_covariances_have_their_mean(tied):
    rng = np.random.default_rng(0)
    leaf = Normal(2, np.zeros(2), np.ones(2), tied=tied)
    rows = rng.normal(size=(40, 2)) @ np.array([[1.0, 0.6], [0.0, 0.5]])
    about, stats = leaf.blank(), np.zeros(leaf.stats_shape)
    leaf.expect(np.repeat([[0.7, 0.3]], 40, axis=0), leaf.prepare(about), rows, None, stats)
    mean, cov = drawn(leaf, stats, about, 4000)
    expected = leaf.average(stats, about)
    assert_means(mean, expected.mean)
    assert_means(cov, expected.cov)
    for q in (0.1, 0.5, 0.9):
        cut = leaf.quantile(stats, about, q)
        shares = [(mean <= cut.mean).mean(axis=0), (np.diagonal(cov, axis1=2, axis2=3) <= cut.var).mean(axis=0)]
        assert np.all(np.abs(np.array(shares) - q) < SIGMAS * np.sqrt(q * (1 - q) / 4000))


def test_a_covariance_on_too_few_rows_has_no_posterior():
    leaf = Normal(1, np.zeros(3), np.ones(3))
    stats = np.zeros(leaf.stats_shape)
    leaf.expect(np.ones((5, 1)), leaf.prepare(leaf.blank()), np.random.default_rng(0).normal(size=(5, 3)), None, stats)
    with pytest.raises(FitError, match=r"covariance of component 0.*mass of 5.*Use a prior"):
        leaf.draw(stats, leaf.blank(), np.random.default_rng(0))
