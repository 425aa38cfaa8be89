"""Counts with structural zeros: leaf and kinds, against SciPy, statsmodels and other ways to compute them."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.stats import beta, nbinom, poisson

import halfseen as hs
from halfseen.assign import SOFT, Assign
from halfseen.errors import ParameterError
from halfseen.kinds.counting import Zeros
from halfseen.leaves import Frozen, Poisson
from halfseen.leaves.inflated import LEAP, LEAST_SHARE, InflatedParams, ZeroInflated, moment_share
from halfseen.leaves.negbin import NegBin, NegBinParams

RNG = np.random.default_rng(5)
GROUP = np.repeat([0, 1], 400)
ZERO, RATE, SIZE = np.array([0.5, 0.2]), np.array([2.0, 9.0]), np.array([2.0, 5.0])
FLAG = RNG.random(800) < ZERO[GROUP]
VISITS = np.where(FLAG, 0, RNG.poisson(RATE[GROUP])).astype(float)
CLUSTERED = np.where(FLAG, 0, RNG.negative_binomial(SIZE[GROUP], (SIZE / (SIZE + RATE))[GROUP])).astype(float)
X = pd.DataFrame({"visits": VISITS, "answer": np.where(RNG.random(800) < 0.1 + 0.8 * GROUP, "yes", "no")})
KIND = {"visits": "zip"}


def around_poisson(zero=0.3, rate=2.0, n_components=1):
    leaf = ZeroInflated(Poisson(n_components, np.array([2.0])), np.array([0.3]))
    shape = (n_components, 1)
    return leaf, InflatedParams(np.full(shape, zero), np.full(shape, rate))


def gathered(leaf, params, rows, assign=SOFT, usage=None):
    stats = np.zeros(leaf.stats_shape)
    usage = np.ones((len(rows), leaf.n_components)) if usage is None else usage
    leaf.expect(usage, leaf.prepare(params), rows, assign, stats)
    return stats


# ---- the density ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("zero", [0.0, 1e-300, 1e-9, 0.3, 1 - 1e-12, 1.0])
@pytest.mark.parametrize("mean", [0.0, 1e-100, 1e-12, 0.7, 40.0, 1e15])
def test_scores_are_those_of_the_definition(zero, mean):
    """log p(0) has its digits near 0 too: 1 - p(0) = (1 - zero) (1 - f(0))."""
    x = np.array([[0.0], [1.0], [3.0], [np.nan]])
    clustered = ZeroInflated(NegBin(1, np.ones(1), np.ones(1)), np.array([0.3]))
    counts = NegBinParams(np.array([[mean]]), np.array([[1.5]]))
    for leaf, params in (around_poisson(zero, mean), (clustered, InflatedParams(np.array([[zero]]), counts))):
        plain = leaf.inner.score(leaf.inner.prepare(params.counts), x[:3], SOFT)[:, 0]
        left = (1 - zero) * -np.expm1(plain[0])
        with np.errstate(divide="ignore"):
            log_zero, log_some = np.log(zero), np.log1p(-zero)
            expected = np.logaddexp(log_zero, log_some + plain[0]) if left > 0.5 else np.log1p(-left)
        found = leaf.score(leaf.prepare(params), x, SOFT)[:, 0]
        np.testing.assert_allclose(found, [expected, *(log_some + plain[1:]), 0.0], rtol=1e-13)


def test_a_zero_that_is_impossible_to_the_counts_is_structural():
    leaf, params = around_poisson(0.25, 1e15)
    stats = gathered(leaf, params, np.array([[0.0], [1e15], [np.nan]]))
    assert stats[:4, 0, 0].tolist() == [2, 1, 1, 1e15]


def test_worked_numbers():
    """Zeros at zero 1/2 and f(0) = exp(-rate) = 1/3 are structural with 3/4; the others of 0, 0, 2 have mass 3/2."""
    leaf, params = around_poisson(0.5, np.log(3.0))
    stats = gathered(leaf, params, np.array([[0.0], [0.0], [2.0]]))
    np.testing.assert_allclose(stats[:4, 0, 0], [3, 1.5, 1.5, 2])
    found = leaf.maximise(stats, params)
    np.testing.assert_allclose([found.zero[0, 0], found.counts[0, 0]], [0.5, 4 / 3])


def test_rows_without_a_zero_have_nothing_latent():
    leaf, params = around_poisson()
    rows = np.array([[0.0], [1.0], [np.nan]])
    assert leaf.settled(rows).tolist() == [False, True, True]
    assert leaf.settled(rows[1:]) is None
    clustered = ZeroInflated(NegBin(1, np.ones(1), np.ones(1)), np.array([0.3]))
    assert clustered.settled(np.array([[0.0], [1.0], [2.0]])).tolist() == [False, True, False]
    here, there = (leaf.prepare(params._replace(zero=np.array([[zero]]))) for zero in (0.3, 0.6))
    assert leaf.latent(here, there, rows[1:], np.ones((2, 1))) == (0, 0)
    q, other = (prepared.structural[0, 0] for prepared in (here, there))
    found = leaf.latent(here, there, rows, np.full((3, 1), 2.0))
    assert found.entropy == pytest.approx(-2 * (q * np.log(q) + (1 - q) * np.log(1 - q)))
    assert found.kl == pytest.approx(2 * (q * np.log(q / other) + (1 - q) * np.log((1 - q) / (1 - other))))


def test_drawn_flags_have_their_mean_and_variance():
    leaf, params = around_poisson()
    q = leaf.prepare(params).structural[0, 0]
    rng = np.random.default_rng(0)
    assign = Assign("sample", rng=rng, latent=True)
    rows = np.zeros((1, 1))
    for uses in (60.0, 2.5, 2.0**60):
        drawn = np.array([gathered(leaf, params, rows, assign, np.full((1, 1), uses)) for _ in range(1500)])[
            :, :3, 0, 0
        ]
        np.testing.assert_allclose(drawn[:, 0], uses)
        np.testing.assert_allclose(drawn[:, 1] + drawn[:, 2], uses)
        several = 2**40 * (2.0**20) ** 2 if uses > 100 else np.floor(uses) + (uses % 1) ** 2
        sd = np.sqrt(several * q * (1 - q))
        assert abs(drawn[:, 1].mean() - uses * q) < 5 * sd / np.sqrt(1500)
        assert drawn[:, 1].std() == pytest.approx(sd, rel=0.12)


def test_draws_and_quantiles_are_those_of_a_beta():
    leaf, params = around_poisson()
    stats = gathered(leaf, params, VISITS[:60, None])
    truth = beta(stats[1, 0, 0] + 1, stats[2, 0, 0] + 1)
    rng = np.random.default_rng(1)
    drawn = np.array([leaf.draw(stats, params, rng).zero[0, 0] for _ in range(2000)])
    assert drawn.mean() == pytest.approx(truth.mean(), abs=5 * truth.std() / np.sqrt(2000))
    assert leaf.average(stats, params).zero[0, 0] == pytest.approx(truth.mean())
    assert leaf.quantile(stats, params, 0.9).zero[0, 0] == pytest.approx(truth.ppf(0.9))
    fixed = Frozen(leaf, InflatedParams(np.ones((1, 1), dtype=bool), np.zeros((1, 1), dtype=bool)))
    assert fixed.draw(stats, params, rng).zero[0, 0] == params.zero[0, 0]
    assert fixed.average(stats, params).zero[0, 0] == params.zero[0, 0]


@pytest.mark.parametrize("inner", [Poisson(2, np.ones(2)), NegBin(2, np.ones(2), np.ones(2))], ids=["zip", "zinb"])
def test_affinity_is_the_sum_over_counts(inner):
    leaf = ZeroInflated(inner, np.array([0.2, 0.4]))
    params = leaf.jitter(leaf.blank(), 1.0, np.random.default_rng(0))
    x, found = np.arange(400.0), leaf.affinity(params, params)
    prepared = leaf.prepare(params)
    halves = 0.0
    for d in range(2):
        rows = np.full((400, 2), np.nan)
        rows[:, d] = x
        p = np.exp(0.5 * leaf.score(prepared, rows, SOFT))
        halves = halves + np.log(p.T @ p)
    np.testing.assert_allclose(found, halves, atol=1e-4)
    assert np.all(found <= 0)


def test_drawn_and_imputed_counts_have_their_moments():
    leaf = ZeroInflated(Poisson(2, np.ones(1)), np.array([0.5]))
    params = InflatedParams(np.array([[0.25], [0.75]]), np.array([[2.0], [8.0]]))
    components = np.repeat([0, 1], 20_000)
    rows = leaf.sample(params, components, np.random.default_rng(0))
    filled = leaf.impute(params, np.full_like(rows, np.nan), np.eye(2)[components], np.random.default_rng(1))
    for drawn in (rows, filled):
        for k, (mean, var) in enumerate([(1.5, 1.5 * (1 + 0.25 * 2)), (2.0, 2.0 * (1 + 0.75 * 8))]):
            assert abs(drawn[components == k].mean() - mean) < 5 * np.sqrt(var / 20_000)
            assert drawn[components == k].var() == pytest.approx(var, rel=0.05)
    expected = leaf.impute(params, np.array([[np.nan], [4.0]]), np.array([[0.5, 0.5], [1.0, 0.0]]), None)
    assert expected.ravel().tolist() == [1.75, 4.0]


def test_a_leap_beyond_zero_does_not_end_there():
    leaf, params = around_poisson(0.2)
    assert leaf.unpack(np.array([-0.5, 1.0]), params).zero[0, 0] == pytest.approx(0.2 * LEAP)
    assert leaf.unpack(np.array([1.5, 1.0]), params).zero[0, 0] == pytest.approx(1 - 0.8 * LEAP)
    assert leaf.unpack(leaf.pack(params), leaf.blank()) == params
    assert not leaf.feasible(params._replace(zero=np.array([[1.1]])))


def test_illegal_parameters_are_named():
    leaf, params = around_poisson()
    for zero in (-0.1, 1.1, np.nan):
        assert "share of structural zeros" in leaf.flaw(params._replace(zero=np.array([[zero]])))
    assert "rate" in leaf.flaw(params._replace(counts=np.array([[-1.0]])))
    assert leaf.flaw(params) is None


def test_moments_give_the_share_to_start_from():
    assert moment_share(np.array([1.5]), np.array([1.5 * 1.5]))[0] == pytest.approx(0.25)
    assert moment_share(np.array([2.0, 0.0]), np.array([1.0, 0.0])).tolist() == [LEAST_SHARE, LEAST_SHARE]


# ---- the kinds ------------------------------------------------------------------------------------------------------


def log_density(x, kind, zero, mean, size=1.0):
    plain = poisson.logpmf(x, mean) if kind == "zip" else nbinom.logpmf(x, size, size / (size + mean))
    return np.where(x == 0, np.logaddexp(np.log(zero), np.log1p(-zero) + plain), np.log1p(-zero) + plain)


def maximum_likelihood(x, kind):
    """Share, mean and size by a numerical optimiser."""

    def loss(u):
        return -log_density(x, kind, 1 / (1 + np.exp(-u[0])), *np.exp(u[1:])).sum()

    start = [0.0, np.log(x[x > 0].mean()), 0.5][: 2 + (kind == "zinb")]
    how = {"fatol": 1e-11, "xatol": 1e-8, "maxiter": 4000, "maxfev": 4000}
    found = minimize(loss, start, method="Nelder-Mead", options=how)
    return -found.fun, [1 / (1 + np.exp(-found.x[0])), *np.exp(found.x[1:])]


@pytest.mark.parametrize("group", [0, 1])
@pytest.mark.parametrize("kind", ["zip", "zinb"])
def test_one_class_with_default_settings_is_maximum_likelihood(kind, group):
    x = (VISITS if kind == "zip" else CLUSTERED)[group == GROUP]
    model = hs.LatentClass(1, columns={"x0": kind}, prior=None, random_state=0).fit(x[:, None])
    loglik, params = maximum_likelihood(x, kind)
    assert model.loglik_ == pytest.approx(loglik, abs=1e-6)
    np.testing.assert_allclose([values[0] for values in model.params_["x0"].values()], params, rtol=2e-4)
    n_free = 2 if kind == "zip" else 3
    assert model.bic() == pytest.approx(n_free * np.log(400) - 2 * model.loglik_)
    assert not any("no zero inflation" in event for event in model.events_)


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore:Maximum Likelihood optimization failed")
@pytest.mark.parametrize("kind", ["zip", "zinb"])
def test_one_class_is_that_of_statsmodels(kind):
    counts = pytest.importorskip("statsmodels.discrete.count_model")
    x = (VISITS if kind == "zip" else CLUSTERED)[GROUP == 1]
    peer = {"zip": counts.ZeroInflatedPoisson, "zinb": counts.ZeroInflatedNegativeBinomialP}[kind]
    start = [-1.0, np.log(9.0), 0.2][: 2 + (kind == "zinb")]
    peer = peer(x, np.ones(len(x))).fit(start, disp=0, method="bfgs", maxiter=500, gtol=1e-8)
    model = hs.LatentClass(1, columns={"x0": kind}, prior=None, random_state=0).fit(x[:, None])
    assert model.loglik_ == pytest.approx(peer.llf, abs=1e-6)
    zero, mean, *size = (values[0] for values in model.params_["x0"].values())
    assert zero == pytest.approx(1 / (1 + np.exp(-peer.params[0])), rel=1e-4)
    assert mean == pytest.approx(np.exp(peer.params[1]), rel=1e-4)
    if size:
        assert size[0] == pytest.approx(1 / peer.params[2], rel=1e-3)


@pytest.mark.parametrize("kind", ["zip", "zinb"])
def test_labels_for_all_rows_give_maximum_likelihood_by_class(kind):
    x = VISITS if kind == "zip" else CLUSTERED
    table, labels = pd.DataFrame({"visits": x}), np.array(["few", "many"])[GROUP]
    model = hs.NaiveBayes(columns={"visits": kind}, prior=None, tol=1e-9).fit(table, labels)
    for k in (0, 1):
        found = [values[k] for values in model.params_["visits"].values()]
        np.testing.assert_allclose(found, maximum_likelihood(x[k == GROUP], kind)[1], rtol=1e-3)


@pytest.mark.parametrize("how", [{}, {"assign": "hard"}, {"method": "lbfgs"}, {"prior": None}], ids=str)
def test_classes_are_found_with_missing_cells(how):
    holes = X.copy()
    holes.loc[::9, "visits"] = np.nan
    model = hs.LatentClass(2, columns=KIND, random_state=0, n_init=4, **how).fit(holes)
    order = np.argsort(model.params_["visits"]["rate"])
    np.testing.assert_allclose(model.params_["visits"]["rate"][order], RATE, rtol=0.25)
    np.testing.assert_allclose(model.params_["visits"]["zero"][order], ZERO, atol=0.2)
    assert (model.predict(holes) == order[GROUP]).mean() > 0.85


def test_entries_are_fixed_and_columns_tied():
    fixed = {"visits": {"zero": [0.4, None]}}
    model = hs.LatentClass(2, columns=KIND, fixed=fixed, random_state=0, n_init=2).fit(X)
    assert model.params_["visits"]["zero"][0] == 0.4
    assert model.params_["visits"]["zero"][1] != 0.4
    tied = hs.LatentClass(2, columns=KIND, tied=["visits"], random_state=0, n_init=2).fit(X)
    assert np.ptp(tied.params_["visits"]["zero"]) == 0


def test_the_bound_holds_and_touches():
    model = hs.LatentClass(2, columns=KIND, random_state=0, n_init=2, prior=None).fit(X)
    assert hs.bound(model, X).bound == pytest.approx(model.loglik_, rel=1e-9)


def test_states_emit_counts():
    states = np.repeat(np.arange(20) % 2, 40)
    rng = np.random.default_rng(1)
    x = np.where(rng.random(800) < ZERO[states], 0, rng.poisson(RATE[states])).astype(float)[:, None]
    x[::11] = np.nan
    model = hs.HMM(2, "zip", random_state=0, n_init=4).fit(x, lengths=[400, 400])
    order = np.argsort(model.params_["x0"]["rate"])
    np.testing.assert_allclose(model.params_["x0"]["rate"][order], RATE, rtol=0.25)
    assert (model.predict(x, lengths=[400, 400]) == order[states]).mean() > 0.9


@pytest.mark.thorough
def test_posterior_draws_cover_the_truth():
    model = hs.LatentClass(2, columns=KIND, random_state=0, n_init=2).fit(X)
    found = hs.posterior(model, X, n_draws=200, burn_in=50, min_ess=0, random_state=0)
    order = np.argsort(model.params_["visits"]["rate"])
    for name, truth in (("zero", ZERO), ("rate", RATE)):
        low, high = (bound["visits"][name][order] for bound in (found.low, found.high))
        assert np.all((low < truth * 1.2) & (truth * 0.8 < high))
        assert np.all(found.draws["visits"][name].std(axis=0) > 0)


@pytest.mark.parametrize("prior", ["row", None])
def test_counts_without_more_zeros_suggest_the_plain_kind(prior):
    counts = np.random.default_rng(0).binomial(12, 0.2, 500).astype(float)[:, None]
    model = hs.LatentClass(1, columns={"x0": "zip"}, prior=prior, random_state=0).fit(counts)
    assert any("'x0': no zero inflation found" in event and "'poisson'" in event for event in model.events_)
    model = hs.LatentClass(1, columns={"x0": "zinb"}, prior=prior, random_state=0).fit(counts)
    assert any("'x0': no zero inflation found" in event and "'negbin'" in event for event in model.events_)


@pytest.mark.parametrize(("kind", "better"), [("poisson", "zip"), ("negbin", "zinb")])
def test_more_zeros_than_fitted_suggest_a_share_of_structural_ones(kind, better):
    x = np.where(RNG.random(600) < 0.4, 0, 5 + RNG.poisson(3, 600)).astype(float)[:, None]
    model = hs.LatentClass(1, columns={"x0": kind}, random_state=0).fit(x)
    assert any("'x0' has more zeros" in event and f"'{better}'" in event for event in model.events_)
    plain = hs.LatentClass(1, columns={"x0": kind}, random_state=0).fit(RNG.negative_binomial(2, 0.3, 600)[:, None])
    assert any("more zeros" in event for event in plain.events_) == (kind == "poisson")
    labelled = hs.NaiveBayes(columns={"x0": kind}).fit(x, np.repeat(["a", "b"], 300))
    assert any("'x0' has more zeros" in event for event in labelled.events_)
    chain = hs.HMM(1, kind, random_state=0).fit(x)
    assert any("'x0' has more zeros" in event for event in chain.events_)


def test_zeros_that_are_certain_are_as_many_as_expected_whatever_their_weight():
    """A mass over a variance of 0 would be infinite, and no distance times it no number."""
    assert Zeros.of(np.zeros(3), np.full(3, 1e300), 1.0).apart == 0
    assert Zeros.of(np.ones(3), np.full(3, 1e300), 0.0).apart == 0


def test_the_whole_table_has_its_own_moments():
    given = {"v": {"zero": [0.2, 0.6], "mean": [2.0, 14.0], "size": [0.8, 6.0]}}
    model = hs.LatentClass.from_params([0.5, 0.5], given)
    assert model.columns_["v"] == "zinb"
    whole = model.to_frame().query("column == 'v'").set_index("value")["overall"]
    drawn = model.sample(200_000, random_state=0)[0].ravel()
    left = 1 - whole["zero"]
    assert left * whole["mean"] == pytest.approx(drawn.mean(), rel=0.02)
    within = whole["mean"] + whole["mean"] ** 2 / whole["size"]
    assert left * (within + whole["zero"] * whole["mean"] ** 2) == pytest.approx(drawn.var(), rel=0.03)


@pytest.mark.parametrize("kind", ["zip", "zinb"])
def test_large_counts_are_exported_with_their_share(kind):
    """Small counts are a table in SQL, large ones a formula."""
    duckdb = pytest.importorskip("duckdb")
    rng = np.random.default_rng(2)
    counted = pd.DataFrame({"v": np.where(rng.random(300) < 0.4, 0, rng.negative_binomial(5, 0.01, 300)).astype(float)})
    model = hs.LatentClass(1, columns={"v": kind}, random_state=0).fit(counted)
    scored = duckdb.sql(hs.to_sql(model, "counted")).fetchnumpy()
    np.testing.assert_allclose(scored["loglik"], model.score_samples(counted), rtol=1e-9)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"zero": [0.5, 1.5], "rate": [1, 2]}, "zero: .*at most 1"),
        ({"zero": [0.5, 0.5], "mean": [1, 2]}, r"is a zip column: expected {'zero': \.\.\., 'rate': \.\.\.}"),
    ],
)
def test_wrong_parameters_are_refused(given, said):
    with pytest.raises(ParameterError, match=said):
        hs.LatentClass(2, columns=KIND, start={"visits": given}).fit(X)


def test_what_is_no_count_is_refused():
    with pytest.raises(ValueError, match=r"column 'visits' cannot be zip: row 0 is 0\.5, not a whole number from 0"):
        hs.LatentClass(1, columns=KIND).fit(pd.DataFrame({"visits": [0.5, 2.0]}))


@pytest.mark.parametrize("kind", ["zip", "zinb"])
@pytest.mark.parametrize("x", [np.zeros(9), np.array([3.0]), np.full(9, 4.0), np.array([0, 0, 0, 1e15])], ids=str)
def test_extreme_columns_are_fitted(kind, x):
    for prior in (None, "row"):
        model = hs.LatentClass(1, columns={"x0": kind}, prior=prior, random_state=0).fit(x[:, None])
        assert model.converged_
        assert np.isfinite(model.loglik_)
        if prior is None and (x == 0).all():
            assert model.loglik_ == 0
        if prior is None and (x == 4).all():
            assert model.loglik_ == pytest.approx(9 * poisson.logpmf(4, 4.0), abs=1e-5)
