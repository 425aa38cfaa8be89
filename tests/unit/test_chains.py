"""R-hat and effective sample sizes equal those of arviz, and mean what they say."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose

from halfseen.analysis.chains import ess_bulk, ess_tail, rhat


def series(kind, n_chains, n_draws, rng):
    noise = rng.normal(size=(n_chains, n_draws))
    if kind == "independent":
        return noise
    if kind == "heavy tails":
        return rng.standard_cauchy(size=(n_chains, n_draws))
    if kind == "apart":
        return noise + 3 * np.arange(n_chains)[:, None]
    if kind == "wider":
        return noise * (1 + 4 * (np.arange(n_chains) == 0))[:, None]
    if kind == "drift":
        return noise + np.linspace(0, 3, n_draws)
    if kind == "ties":
        return np.round(noise)
    if kind == "alternating":
        return noise + 5 * (-1.0) ** np.arange(n_draws)
    slow = np.zeros((n_chains, n_draws))
    for t in range(1, n_draws):
        slow[:, t] = {"slow": 0.95, "turning": -0.8}[kind] * slow[:, t - 1] + noise[:, t]
    return slow


KINDS = ("independent", "slow", "turning", "heavy tails", "apart", "wider", "drift", "ties", "alternating")


@pytest.fixture(scope="module")
def arviz():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # arviz announces its next version
        return pytest.importorskip("arviz")


@pytest.mark.parametrize("shape", [(4, 100), (4, 101), (2, 17), (1, 50), (4, 8), (3, 5)])
@pytest.mark.parametrize("kind", KINDS)
def test_equal_to_arviz(arviz, kind, shape):
    draws = series(kind, *shape, np.random.default_rng(0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if shape[0] > 1:
            assert_allclose(rhat(draws), arviz.rhat(draws, method="rank"), rtol=1e-6)
        assert_allclose(ess_bulk(draws), arviz.ess(draws, method="bulk"), rtol=1e-6)
        assert_allclose(ess_tail(draws), arviz.ess(draws, method="tail"), rtol=1e-6)


def test_many_parameters_at_once_are_each_alone(monkeypatch):
    rng = np.random.default_rng(1)
    draws = np.stack([series(kind, 4, 60, rng) for kind in KINDS], axis=2)
    monkeypatch.setattr("halfseen.analysis.chains.AT_ONCE", 4 * 60 * 2)
    for measure in (rhat, ess_bulk, ess_tail):
        together = measure(draws.reshape(4, 60, 3, 3))
        assert together.shape == (3, 3)
        assert_allclose(together.ravel(), [measure(draws[:, :, q]) for q in range(len(KINDS))], rtol=1e-12)


def test_an_autoregression_has_as_many_draws_as_it_should():
    """x' = 0.9 x + noise has n (1 - 0.9) / (1 + 0.9) effective draws."""
    rng = np.random.default_rng(0)
    draws = np.zeros((4, 10_000))
    noise = rng.normal(size=draws.shape)
    for t in range(1, draws.shape[1]):
        draws[:, t] = 0.9 * draws[:, t - 1] + noise[:, t]
    assert ess_bulk(draws) == pytest.approx(40_000 * 0.1 / 1.9, rel=0.15)


def test_what_never_changes_has_all_its_draws():
    assert ess_bulk(np.ones((4, 50, 2))).tolist() == [200, 200]
    assert ess_tail(np.ones((4, 50))) == 200
    assert np.isnan(rhat(np.ones((4, 50))))


def test_chains_that_are_too_short():
    with pytest.raises(ValueError, match="chain of 3 draws is too short"):
        rhat(np.zeros((4, 3)))
