"""The same Baum-Welch as hmmlearn, from the same start, step by step; only public functions of both are used."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import halfseen as hs

hmm = pytest.importorskip("hmmlearn.hmm")

START = np.array([0.5, 0.3, 0.2])
TRANS = np.array([[0.8, 0.1, 0.1], [0.2, 0.6, 0.2], [0.1, 0.3, 0.6]])
LENGTHS = [60, 1, 39, 100]
STEPS = (1, 5, 30)
TOLERANCE = 1e-8


def ours(kind, X, columns, n_steps, **how):
    start = {"startprob": START, "transmat": TRANS, **columns}
    model = hs.HMM(3, kind, start=start, n_init=1, max_iter=n_steps + 1, stop="iterations", accelerate=False, **how)
    return model.fit(X, LENGTHS)


def theirs(model, X, n_steps, **params):
    """Fit the peer for exactly so many iterations, without its default priors."""
    model.startprob_, model.transmat_ = START, TRANS
    for name, value in params.items():
        setattr(model, name, value)
    model.n_iter, model.tol = n_steps, -np.inf
    model.monitor_.n_iter, model.monitor_.tol = n_steps, -np.inf  # which were taken over when it was made
    return model.fit(X, LENGTHS)


@pytest.mark.parametrize("n_steps", STEPS)
def test_categorical(n_steps):
    X = np.random.default_rng(0).integers(0, 4, (200, 1))
    table = np.array([[0.4, 0.3, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4], [0.25, 0.25, 0.4, 0.1]])
    peer = theirs(hmm.CategoricalHMM(3, init_params=""), X, n_steps, emissionprob_=table)
    mine = ours("categorical", X, {"x0": table}, n_steps)
    assert_allclose(mine.transmat_, peer.transmat_, rtol=TOLERANCE)
    assert_allclose(mine.startprob_, peer.startprob_, rtol=TOLERANCE, atol=1e-12)
    assert_allclose(mine.emissionprob_, peer.emissionprob_, rtol=TOLERANCE)
    assert_allclose(mine.loglik_, peer.score(X, LENGTHS), rtol=1e-10)
    assert_allclose(mine.predict_proba(X, LENGTHS), peer.predict_proba(X, LENGTHS), atol=1e-8)
    logprob, states = peer.decode(X, LENGTHS)
    assert mine.predict(X, LENGTHS).tolist() == states.tolist()
    assert_allclose(mine.decode(X, LENGTHS).log_probability.sum(), logprob)


@pytest.mark.parametrize("n_steps", STEPS)
def test_gaussian_diagonal(n_steps):
    rng = np.random.default_rng(0)
    X = rng.normal(3.0 * rng.integers(0, 3, (200, 1)), 1.0, (200, 2))
    means, variances = np.array([[0.0, 0.0], [3.0, 2.0], [6.0, 7.0]]), np.ones((3, 2))
    options = {"covars_prior": 0.0, "covars_weight": 0.0, "min_covar": 0.0, "init_params": ""}
    model = hmm.GaussianHMM(3, "diag", **options)
    peer = theirs(model, X, n_steps, means_=means, covars_=variances)
    columns = {f"x{d}": {"mean": means[:, d], "var": variances[:, d]} for d in range(2)}
    mine = ours("gaussian", X, columns, n_steps)
    assert_allclose(mine.means_, peer.means_, rtol=TOLERANCE)
    assert_allclose(mine.transmat_, peer.transmat_, rtol=1e-7)
    assert_allclose(mine.loglik_, peer.score(X, LENGTHS), rtol=1e-8)


@pytest.mark.parametrize("n_steps", STEPS)
def test_poisson(n_steps):
    rng = np.random.default_rng(0)
    X = rng.poisson(1 + 4 * rng.integers(0, 3, (200, 1)))
    rates = np.array([1.0, 4.0, 9.0])
    peer = theirs(hmm.PoissonHMM(3, init_params=""), X, n_steps, lambdas_=rates[:, None])
    mine = ours("poisson", X, {"x0": rates}, n_steps)
    assert_allclose(mine.lambdas_, peer.lambdas_, rtol=TOLERANCE)
    assert_allclose(mine.transmat_, peer.transmat_, rtol=TOLERANCE)
    assert_allclose(mine.loglik_, peer.score(X, LENGTHS), rtol=1e-10)
