"""A negative binomial column in the library: right numbers, events, labels, sequences, files."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.stats import nbinom

import halfseen as hs

RNG = np.random.default_rng(4)
GROUP = np.repeat([0, 1], 400)
MEAN, SIZE = np.array([2.0, 14.0]), np.array([0.8, 6.0])
VISITS = RNG.negative_binomial(SIZE[GROUP], SIZE[GROUP] / (SIZE + MEAN)[GROUP]).astype(float)
BESIDE = np.where(RNG.random(800) < 0.1 + 0.8 * GROUP, "yes", "no")
X = pd.DataFrame({"visits": VISITS, "answer": BESIDE})
KIND = {"visits": "negbin"}
LABELS = np.array(["few", "many"])[GROUP]


def log_density(x, mean, size):
    return nbinom.logpmf(x, size, size / (size + mean))


def maximum_likelihood(x):
    """Mean and size by a numerical optimiser."""
    start = np.log([x.mean(), 1.0])
    found = minimize(lambda u: -log_density(x, *np.exp(u)).sum(), start, method="Nelder-Mead", options={"fatol": 1e-11})
    return np.exp(found.x)


@pytest.mark.parametrize("group", [0, 1])
def test_one_class_with_default_settings_is_the_maximum_of_statsmodels(group):
    statsmodels = pytest.importorskip("statsmodels.api")
    x = VISITS[group == GROUP]
    peer = statsmodels.NegativeBinomial(x, np.ones(len(x)), loglike_method="nb2")
    peer = peer.fit(disp=0, method="bfgs", maxiter=500, gtol=1e-8)
    model = hs.LatentClass(1, columns={"x0": "negbin"}, prior=None, random_state=0).fit(x[:, None])
    assert model.loglik_ == pytest.approx(peer.llf, abs=1e-6)
    assert model.params_["x0"]["mean"][0] == pytest.approx(np.exp(peer.params[0]), rel=1e-4)
    assert model.params_["x0"]["size"][0] == pytest.approx(1 / peer.params[1], rel=1e-4)
    assert model.n_iter_ < 40


@pytest.mark.parametrize("how", [{}, {"assign": "hard"}, {"method": "lbfgs"}, {"prior": None}])
def test_classes_are_found_with_missing_cells(how):
    holes = X.copy()
    holes.loc[::9, "visits"] = np.nan
    model = hs.LatentClass(2, columns=KIND, random_state=0, n_init=4, **how).fit(holes)
    order = np.argsort(model.params_["visits"]["mean"])
    np.testing.assert_allclose(model.params_["visits"]["mean"][order], MEAN, rtol=0.25)
    if how != {"assign": "hard"}:  # which cuts off tails, and takes them for the other class's
        np.testing.assert_allclose(model.params_["visits"]["size"][order], SIZE, rtol=0.6)
    agree = (model.predict(holes) == order[GROUP]).mean()
    assert agree > 0.85


def test_the_bound_holds_and_touches():
    model = hs.LatentClass(2, columns=KIND, random_state=0, n_init=2, prior=None).fit(X)
    parts = hs.bound(model, X)
    assert parts.bound == pytest.approx(model.loglik_, rel=1e-9)


def test_counts_that_do_not_vary_more_are_an_event():
    counts = RNG.binomial(20, 0.3, 300).astype(float)[:, None]
    with_event = hs.LatentClass(1, columns={"x0": "negbin"}, prior=None, random_state=0).fit(counts)
    assert any("'x0': no overdispersion" in event for event in with_event.events_)
    without = hs.LatentClass(1, columns=KIND, prior=None, random_state=0).fit(X)
    assert not any("no overdispersion" in event for event in without.events_)


def test_labels_for_all_rows_give_maximum_likelihood_by_class():
    model = hs.NaiveBayes(columns=KIND, prior=None, tol=1e-9).fit(X, LABELS)
    for k in (0, 1):
        found = [model.params_["visits"][name][k] for name in ("mean", "size")]
        np.testing.assert_allclose(found, maximum_likelihood(VISITS[k == GROUP]), rtol=1e-3)
    with pytest.raises(ValueError, match=r"partial_fit: row \d+ .* latent values in the columns visits.*Use fit"):
        hs.NaiveBayes(columns=KIND).partial_fit(X, LABELS)


def test_states_emit_counts():
    states = np.repeat(np.arange(20) % 2, 40)
    x = RNG.negative_binomial(SIZE[states], SIZE[states] / (SIZE + MEAN)[states]).astype(float)[:, None]
    x[::11] = np.nan
    model = hs.HMM(2, "negbin", random_state=0, n_init=4).fit(x, lengths=[400, 400])
    order = np.argsort(model.params_["x0"]["mean"])
    np.testing.assert_allclose(model.params_["x0"]["mean"][order], MEAN, rtol=0.25)
    assert (model.predict(x, lengths=[400, 400]) == order[states]).mean() > 0.9


@pytest.mark.thorough
def test_posterior_draws_cover_the_truth():
    model = hs.LatentClass(2, columns=KIND, random_state=0, n_init=2).fit(X)
    found = hs.posterior(model, X, n_draws=200, burn_in=50, min_ess=0, random_state=0)
    order = np.argsort(model.params_["visits"]["mean"])
    for name, truth in (("mean", MEAN), ("size", SIZE)):
        low, high = (bound["visits"][name][order] for bound in (found.low, found.high))
        assert np.all((low < truth * 1.2) & (truth * 0.8 < high))
        assert np.all(found.draws["visits"][name].std(axis=0) > 0)


def test_a_model_file_keeps_it(tmp_path):
    model = hs.LatentClass(2, columns=KIND, random_state=0, n_init=2).fit(X)
    hs.save(model, tmp_path / "m.halfseen")
    again = hs.load(tmp_path / "m.halfseen")
    assert again.columns_["visits"] == "negbin"
    assert (again.predict_proba(X) == model.predict_proba(X)).all()


def test_what_is_no_count_is_refused():
    with pytest.raises(ValueError, match=r"column 'visits' cannot be negbin: row 0 is 0\.5, not a whole number from 0"):
        hs.LatentClass(1, columns=KIND).fit(pd.DataFrame({"visits": [0.5, 2.0]}))


def test_the_whole_table_has_the_size_of_its_own_moments():
    """A mean of the sizes of classes is the size of nothing."""
    model = hs.LatentClass.from_params([0.5, 0.5], {"v": {"mean": [2.0, 14.0], "size": [0.8, 6.0]}})
    whole = model.to_frame().query("column == 'v'").set_index("value")["overall"]
    drawn = model.sample(400_000, random_state=0)[0].ravel()
    assert whole["mean"] == pytest.approx(drawn.mean(), rel=0.01)
    assert whole["mean"] + whole["mean"] ** 2 / whole["size"] == pytest.approx(drawn.var(), rel=0.02)


@pytest.mark.parametrize("prior", ["row", None, 1.0])
@pytest.mark.parametrize("largest", [1e6, 1e9, 1e12, 1e15])
def test_large_counts_are_fitted_without_a_fall(prior, largest):
    """One count beyond all others: sums of events times logs would have no digits left."""
    model = hs.LatentClass(1, columns={"x0": "negbin"}, prior=prior).fit([[largest], [3], [0], [7]])
    assert model.converged_
    assert model.params_["x0"]["mean"][0] == pytest.approx((largest + 10) / 4)
    assert 0.02 < model.params_["x0"]["size"][0] < 0.2
