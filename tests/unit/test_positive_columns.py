"""Columns of numbers above 0 and of shares: against scipy.stats, digits, magnitudes, what is refused and noted."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from scipy.optimize import minimize
from scipy.special import digamma, polygamma

import halfseen as hs
from halfseen.errors import DataError, ParameterError
from halfseen.leaves.beta import Beta
from halfseen.leaves.gamma import Exponential, Gamma, log_less_digamma, shape_of, trigamma_excess
from halfseen.leaves.lognormal import LogNormal
from halfseen.registry import kinds

KINDS = ("lognormal", "gamma", "exponential", "beta")
RNG = np.random.default_rng(3)
CELLS = {
    "lognormal": RNG.lognormal(1.0, 0.8, 400),
    "gamma": RNG.gamma(2.5, 3.0, 400),
    "exponential": RNG.exponential(3.0, 400),
    "beta": RNG.beta(2.0, 5.0, 400),
}
FITS = {  # scipy's distribution, what it fits, and its parameters in our words
    "lognormal": (stats.lognorm, {"floc": 0}, lambda s, _, scale: {"log_mean": np.log(scale), "log_sd": s}),
    "gamma": (stats.gamma, {"floc": 0}, lambda a, _, scale: {"mean": a * scale, "shape": a}),
    "exponential": (stats.expon, {"floc": 0}, lambda _, scale: {"mean": scale}),
    "beta": (
        stats.beta,
        {"floc": 0, "fscale": 1},
        lambda a, b, *_: {"mean": a / (a + b), "precision": a + b},
    ),
}


def fit(kind, cells, n_components=1, **how):
    model = hs.LatentClass(n_components, columns={"x": kind}, prior=how.pop("prior", None), random_state=0, **how)
    return model.fit(pd.DataFrame({"x": cells}))


# ---- against scipy ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_one_class_is_the_fit_of_scipy(kind):
    cells, (family, how, words) = CELLS[kind], FITS[kind]
    theirs, model = family.fit(cells, **how), fit(kind, cells, tol=1e-12)
    found = model.params_["x"]
    for name, value in words(*theirs).items():
        assert_allclose(found[name], value, rtol=1e-4)
    at_theirs = family.logpdf(cells, *theirs).sum()
    assert at_theirs - 1e-9 * abs(at_theirs) <= model.loglik_
    assert_allclose(model.loglik_, at_theirs, rtol=1e-6)
    assert_allclose(model.score_samples(pd.DataFrame({"x": cells})), family.logpdf(cells, *theirs), atol=1e-3)


@pytest.mark.parametrize("kind", KINDS)
def test_labelled_classes_are_fitted_one_by_one_without_missing_cells(kind):
    cells, labels = np.array(CELLS[kind]), np.repeat(["a", "b"], 200)
    cells[::5] = np.nan
    model = hs.NaiveBayes(columns={"x": kind}, prior=None).fit(pd.DataFrame({"x": cells}), labels)
    family, how, words = FITS[kind]
    for k, name in enumerate("ab"):
        own = cells[(labels == name) & ~np.isnan(cells)]
        for parameter, value in words(*family.fit(own, **how)).items():
            assert_allclose(model.params_["x"][parameter][k], value, rtol=1e-4)


def test_weights_and_an_optimiser():
    rng = np.random.default_rng(0)
    weight = rng.choice([0.0, 0.5, 2.0], 400)
    densities = {
        "gamma": lambda x, u: stats.gamma.logpdf(x, np.exp(u[1]), scale=np.exp(u[0] - u[1])),
        "beta": lambda x, u: stats.beta.logpdf(x, np.exp(u[0]), np.exp(u[1])),
    }
    for kind, density in densities.items():
        cells = CELLS[kind]
        model = hs.LatentClass(1, columns={"x": kind}, prior=None, tol=1e-12)
        model.fit(pd.DataFrame({"x": cells}), sample_weight=weight)
        best = minimize(lambda u: -weight @ density(cells, u), np.zeros(2), tol=1e-10)  # noqa: B023
        assert -best.fun <= model.loglik_ + 1e-9
        assert_allclose(model.loglik_, -best.fun, rtol=1e-9)


# ---- digits and magnitudes -------------------------------------------------------------------------------------------


def test_functions_of_the_shape_keep_their_digits():
    for y in (1e-3, 0.5, 3.0, 15.9, 16.1, 400.0):
        assert_allclose(log_less_digamma(y), np.log(y) - digamma(y), rtol=1e-12)
        assert_allclose(trigamma_excess(y), polygamma(1, y) - 1 / y, rtol=1e-10)
    for y in (1e6, 1e12, 1e30):
        assert_allclose(log_less_digamma(y), 1 / (2 * y) + 1 / (12 * y**2), rtol=1e-14)
        assert_allclose(trigamma_excess(y), 1 / (2 * y**2), rtol=1e-5)
    shapes = 10.0 ** np.arange(-3, 31)
    assert_allclose(shape_of(log_less_digamma(shapes), np.full(34, 1e32)), shapes, rtol=1e-12)


@pytest.mark.parametrize("kind", ["gamma", "lognormal", "beta"])
@pytest.mark.parametrize("spread", [1e-3, 1e-7, 1e-12])
def test_numbers_that_are_nearly_equal_are_nearly_normal(kind, spread):
    """Up to the third moment, which is a share of the spread: nothing is lost on the way from 0.5 to its digits."""
    cells = 0.5 + spread * np.random.default_rng(1).standard_normal(300)
    model = fit(kind, cells, variance_floor=0.0)
    normal = stats.norm.logpdf(cells - 0.5, (cells - 0.5).mean(), (cells - 0.5).std()).sum()
    assert_allclose(model.loglik_, normal, atol=1e-3 + 30 * 300 * spread)
    mean, var = moments(kind, model.params_["x"])
    assert_allclose([mean[0], var[0]], [cells.mean(), cells.var()], rtol=1e-3)


def moments(kind, parameters):
    return kinds[kind].moments(**parameters)


@pytest.mark.parametrize("kind", ["lognormal", "gamma", "exponential"])
@pytest.mark.parametrize("unit", [1e-100, 1e-6, 1e6, 1e100])
def test_another_unit_moves_the_log_likelihood_by_its_logarithm(kind, unit):
    cells = CELLS[kind][:100]
    plain, scaled = fit(kind, cells), fit(kind, cells * unit)
    assert_allclose(scaled.loglik_, plain.loglik_ - 100 * np.log(unit), rtol=1e-12)
    ours, theirs = (moments(kind, model.params_["x"]) for model in (plain, scaled))
    assert_allclose([theirs[0] / unit, np.sqrt(theirs[1]) / unit], [ours[0], np.sqrt(ours[1])], rtol=1e-6)
    assert np.isfinite(fit(kind, cells * unit, 2, n_init=1, max_iter=2000).loglik_)


def test_kinds_can_be_compared():
    """The log-likelihood is on the scale of the cells: the true kind has the smallest BIC."""
    X = pd.DataFrame({"x": np.random.default_rng(5).lognormal(0.0, 1.0, 2000)})
    bic = {kind: fit(kind, X["x"]).bic(X) for kind in ("gaussian", "lognormal", "gamma", "exponential")}
    assert min(bic, key=bic.get) == "lognormal"


# ---- what is refused, and what is noted ------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_cells_that_cannot_be(kind):
    for wrong in (0.0, -1.0):
        with pytest.raises(DataError, match=rf"'x' cannot be {kind}: row 1 is {wrong:g}, not a number"):
            fit(kind, [0.5, wrong, 0.3])
    with pytest.raises(DataError, match="infin"):
        fit(kind, [0.5, np.inf, 0.3])
    with pytest.raises(DataError, match="all its 3 cells are missing"):
        fit(kind, [np.nan] * 3)


def test_a_share_of_all_and_shares_without_digits_are_refused():
    with pytest.raises(DataError, match="row 2 is 1, not a number strictly between 0 and 1"):
        fit("beta", [0.5, 0.3, 1.0])
    with pytest.raises(DataError, match=r"its mean is 2e-20.*kind 'gamma'"):
        fit("beta", [1e-20, 3e-20])
    with pytest.raises(ParameterError, match="above 0 and below 1"):
        fit("beta", CELLS["beta"], 2, start={"x": {"mean": [0.5, 1.0]}})


def test_a_constant_has_a_density_without_bound_unless_it_is_exponential():
    for kind in ("lognormal", "gamma", "beta"):
        with pytest.raises(DataError, match=rf"cannot be {kind}: it is 0.5 in all observed rows"):
            fit(kind, [0.5, np.nan, 0.5])
    assert_allclose(fit("exponential", [0.5, np.nan, 0.5]).params_["x"]["mean"], 0.5)


@pytest.mark.parametrize("kind", ["lognormal", "gamma", "beta"])
def test_a_class_gains_no_more_by_one_value_than_a_category_would(kind):
    cells = np.repeat([0.2, 0.4, 0.6, 0.8], 25)
    model = fit(kind, cells, 4, n_init=4)
    assert model.loglik_ < 100 * np.log(1 / (4 * 0.2)) + 60  # log of 1 / 4 in steps of 0.2, and what narrow classes add
    assert "few" in str(model.events_) or "distinct values" in str(model.events_)


def test_notes_about_another_kind():
    waits = np.random.default_rng(0).exponential(2.0, 3000)
    assert "'exponential'} needs no shape" in str(fit("gamma", waits).events_)
    assert not fit("gamma", CELLS["gamma"]).events_
    assert "'gamma'} may fit better" in str(fit("exponential", CELLS["gamma"]).events_)
    assert not fit("exponential", CELLS["exponential"]).events_


# ---- the rest of the library -----------------------------------------------------------------------------------------


def test_fixed_and_tied_columns():
    model = fit("gamma", CELLS["gamma"], fixed={"x": {"shape": [2.0]}})
    assert model.params_["x"]["shape"][0] == 2.0
    assert_allclose(model.params_["x"]["mean"], CELLS["gamma"].mean())
    assert_allclose(np.ptp(fit("exponential", CELLS["gamma"], 2, tied=["x"]).params_["x"]["mean"]), 0)
    model = fit("beta", CELLS["beta"], fixed={"x": {"mean": [0.4]}})
    assert model.params_["x"]["mean"][0] == 0.4
    best = stats.beta.logpdf(CELLS["beta"], 0.4 * (grid := np.linspace(1, 20, 500)[:, None]), 0.6 * grid).sum(axis=1)
    assert best.max() <= model.loglik_ < best.max() + 0.01


def test_standard_errors_are_those_of_the_textbook():
    n = 400
    for kind, name, error in (
        ("exponential", "mean", lambda found: found["mean"] / np.sqrt(n)),
        ("gamma", "mean", lambda found: found["mean"] / np.sqrt(n * found["shape"])),
        ("lognormal", "log_mean", lambda found: found["log_sd"] / np.sqrt(n)),
    ):
        model = fit(kind, CELLS[kind], tol=1e-12)
        frame = hs.standard_errors(model, pd.DataFrame({"x": CELLS[kind]})).to_frame()
        [se] = frame[(frame["column"] == "x") & (frame["value"] == name)]["se"]
        assert_allclose(se, error(model.params_["x"]), rtol=1e-3)


def test_missing_cells_get_the_mean_and_draws_have_the_distribution():
    model = hs.LatentClass.from_params([1.0], {"x": {"log_mean": [0.3], "log_sd": [0.5]}})
    assert_allclose(model.impute(pd.DataFrame({"x": [np.nan]})), np.exp(0.3 + 0.125))
    for leaf, params in (
        (Gamma(1, np.ones(1), np.ones(1)), (2.0, 0.7)),
        (Exponential(1, np.ones(1)), (2.0, 1.0)),
        (Beta(1, np.full(1, 0.5), np.ones(1)), (0.3, 4.0)),
        (LogNormal(1, np.zeros(1), np.ones(1)), (0.2, 0.25)),
    ):
        params = type(leaf.blank())(*(np.full((1, 1), value) for value in params))
        drawn = leaf.sample(params, np.zeros(20_000, dtype=np.int64), np.random.default_rng(0))
        filled = leaf.impute(params, np.full((20_000, 1), np.nan), np.ones((20_000, 1)), np.random.default_rng(1))
        for cells in (drawn, filled):
            score = leaf.score(params, cells, None)[:, 0]
            mean = leaf.impute(params, np.full((1, 1), np.nan), np.ones((1, 1)), None)
            assert abs(cells.mean() - mean[0, 0]) < 5 * cells.std() / np.sqrt(20_000)
            assert np.isfinite(score).all()
