"""The same Baum-Welch as hmmlearn, from the same start, step by step; only public functions of both are used."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import halfseen as hs

hmm = pytest.importorskip("hmmlearn.hmm")
pytestmark = pytest.mark.slow

START = np.array([0.5, 0.3, 0.2])
TRANS = np.array([[0.8, 0.1, 0.1], [0.2, 0.6, 0.2], [0.1, 0.3, 0.6]])
LENGTHS = [60, 1, 39, 100]
STEPS = (1, 5, 30)
TOLERANCE = 1e-8
NO_PRIOR = {"covars_prior": 0.0, "covars_weight": 0.0, "min_covar": 0.0, "init_params": ""}


def ours(kind, X, start, n_steps, **how):
    start = {"startprob": START, "transmat": TRANS, **start}
    how = {"n_init": 1, "max_iter": n_steps + 1, "stop": "iterations", "accelerate": False, **how}
    return hs.HMM(3, kind, start=start, **how).fit(X, LENGTHS)


def theirs(model, X, n_steps, **params):
    """Fit the peer for exactly so many iterations, without its default priors."""
    model.startprob_, model.transmat_ = START, TRANS
    for name, value in params.items():
        setattr(model, name, value)
    model.n_iter, model.tol = n_steps, -np.inf
    model.monitor_.n_iter, model.monitor_.tol = n_steps, -np.inf  # which were taken over when it was made
    return model.fit(X, LENGTHS)


def same_chain(mine, peer, X):
    """The chain, the evidence, smoothed states and the best path are the peer's."""
    assert_allclose(mine.transmat_, peer.transmat_, rtol=TOLERANCE)
    assert_allclose(mine.startprob_, peer.startprob_, rtol=TOLERANCE, atol=1e-12)
    assert_allclose(mine.loglik_, peer.score(X, LENGTHS), rtol=1e-10)
    assert_allclose(mine.predict_proba(X, LENGTHS), peer.predict_proba(X, LENGTHS), atol=1e-8)
    logprob, states = peer.decode(X, LENGTHS)
    assert mine.predict(X, LENGTHS).tolist() == states.tolist()
    assert_allclose(mine.decode(X, LENGTHS).log_probability.sum(), logprob)


@pytest.mark.parametrize("n_steps", STEPS)
def test_categorical(n_steps):
    X = np.random.default_rng(0).integers(0, 4, (200, 1))
    table = np.array([[0.4, 0.3, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4], [0.25, 0.25, 0.4, 0.1]])
    peer = theirs(hmm.CategoricalHMM(3, init_params=""), X, n_steps, emissionprob_=table)
    mine = ours("categorical", X, {"x0": table}, n_steps, prior=None)
    assert_allclose(mine.emissionprob_, peer.emissionprob_, rtol=TOLERANCE)
    same_chain(mine, peer, X)


@pytest.mark.parametrize("n_steps", STEPS)
def test_poisson(n_steps):
    rng = np.random.default_rng(0)
    X = rng.poisson(1 + 4 * rng.integers(0, 3, (200, 1)))
    rates = np.array([1.0, 4.0, 9.0])
    peer = theirs(hmm.PoissonHMM(3, init_params=""), X, n_steps, lambdas_=rates[:, None])
    mine = ours("poisson", X, {"x0": rates}, n_steps)
    assert_allclose(mine.lambdas_, peer.lambdas_, rtol=TOLERANCE)
    same_chain(mine, peer, X)


# ---- numbers --------------------------------------------------------------------------------------------------------

MEANS = np.array([[0.0, 0.0], [3.0, 2.0], [6.0, 7.0]])
SQUARES = np.array([[[1.0, 0.3], [0.3, 1.5]], [[2.0, -0.5], [-0.5, 1.0]], [[1.0, 0.0], [0.0, 1.0]]])
VARIANCES = {
    "full": SQUARES,
    "tied": SQUARES[0],
    "diag": np.diagonal(SQUARES, axis1=1, axis2=2),
    "spherical": np.array([1.0, 1.5, 2.0]),
}


def numbers():
    """Steps of two columns that go together, around one of three places."""
    rng = np.random.default_rng(0)
    states = rng.integers(0, 3, 200)
    return 3.0 * states[:, None] + rng.normal(size=(200, 2)) @ np.array([[1.0, 0.6], [0.0, 0.8]])


def squares(covars, shape):
    """Return covariances of any shape as (3, 2, 2), which is how the peer gives them back."""
    if shape == "diag":
        return covars[..., None] * np.eye(2)
    return covars[:, None, None] * np.eye(2) if shape == "spherical" else np.broadcast_to(covars, (3, 2, 2))


@pytest.mark.parametrize("n_steps", STEPS)
@pytest.mark.parametrize("shape", VARIANCES)
def test_gaussian(shape, n_steps):
    X, variances = numbers(), VARIANCES[shape]
    peer = theirs(hmm.GaussianHMM(3, shape, **NO_PRIOR), X, n_steps, means_=MEANS, covars_=variances)
    start = {"means": MEANS, "covariances": variances}
    mine = ours("gaussian", X, start, n_steps, covariance_type=shape)
    assert mine.covars_.shape == variances.shape
    assert_allclose(mine.means_, peer.means_, rtol=TOLERANCE)
    its = peer.covars_[:: len(peer.covars_) // 3]  # a fitted spherical one comes once for each column
    assert_allclose(squares(mine.covars_, shape), its, rtol=TOLERANCE, atol=1e-9)
    same_chain(mine, peer, X)


@pytest.mark.parametrize("n_steps", [1, 15])
@pytest.mark.parametrize("shape", ["full", "diag"])
def test_mixtures_with_given_covariances(shape, n_steps):
    X, (means, weights, variances) = numbers(), mixture(shape)
    peer = hmm.GMMHMM(3, 2, covariance_type=shape, params="stmw", init_params="")
    peer = theirs(peer, X, n_steps, means_=means, weights_=weights, covars_=variances)
    start = {"means": means, "covariances": variances, "mixture": weights}
    mine = ours("gaussian", X, start, n_steps, covariance_type=shape, n_mix=2, fixed=["covariances"])
    assert_allclose(mine.means_, peer.means_, rtol=TOLERANCE)
    assert_allclose(mine.params_["mixture"], peer.weights_, rtol=TOLERANCE)
    np.testing.assert_array_equal(mine.covars_, variances)
    same_chain(mine, peer, X)


@pytest.mark.parametrize("shape", ["full", "diag"])
def test_one_step_of_mixtures(shape):
    """The peer's covariances are about the means before the step: too large by the square of how far these move."""
    X, (means, weights, variances) = numbers(), mixture(shape)
    peer = hmm.GMMHMM(3, 2, covariance_type=shape, min_covar=0, init_params="")
    peer = theirs(peer, X, 1, means_=means, weights_=weights, covars_=variances)
    start = {"means": means, "covariances": variances, "mixture": weights}
    mine = ours("gaussian", X, start, 1, covariance_type=shape, n_mix=2)
    assert_allclose(mine.means_, peer.means_, rtol=TOLERANCE)
    assert_allclose(mine.params_["mixture"], peer.weights_, rtol=TOLERANCE)
    moved = mine.means_ - means
    excess = moved[..., None] * moved[..., None, :] if shape == "full" else moved**2
    assert_allclose(mine.covars_, peer.covars_ - excess, rtol=TOLERANCE, atol=1e-9)
    assert_allclose(mine.transmat_, peer.transmat_, rtol=TOLERANCE)


def mixture(shape):
    """Means (3, 2, 2), shares (3, 2) and covariances of three states with two components each."""
    means = np.stack([MEANS - 0.7, MEANS + np.array([0.9, 0.4])], axis=1)
    weights = np.array([[0.5, 0.5], [0.3, 0.7], [0.6, 0.4]])
    return means, weights, np.stack([VARIANCES[shape], 1.2 * VARIANCES[shape]], axis=1)
