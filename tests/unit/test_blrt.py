"""The bootstrap likelihood ratio test of the number of classes: the statistic, p, starts, resuming, and refusals."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import halfseen as hs
from halfseen.engine.services.progress import Draws, watching
from halfseen.errors import BootstrapWarning, CheckpointError, ParameterError
from halfseen.inference import blrt as blrt_module

FINE = {"prior": None, "random_state": 0}


def answers(n_rows=150, n_classes=2, seed=0):
    """Yes or no to five questions, some without an answer."""
    rng = np.random.default_rng(seed)
    z = rng.integers(0, n_classes, n_rows)
    chances = np.linspace(0.15, 0.85, n_classes)[z]
    frame = pd.DataFrame({f"q{d}": np.where(rng.random(n_rows) < chances, "yes", "no") for d in range(5)})
    return frame.where(rng.random(frame.shape) > 0.05)


X = answers()
ONE, TWO = (hs.LatentClass(k, **FINE).fit(X) for k in (1, 2))


def test_the_statistic_is_twice_the_gain_of_one_class_more():
    found = hs.blrt(ONE, X, draws=9, random_state=0)
    assert_allclose(found.statistic, 2 * (TWO.loglik_ - ONE.loglik_), atol=1e-5)
    assert_allclose([found.loglik, found.loglik_more], [ONE.loglik_, TWO.loglik_], atol=1e-5)
    assert found.p == 0.1
    assert len(found.draws) == 9
    assert found.critical() < found.statistic
    assert "1 class against 2: LR" in str(found)
    assert "20 starts of the larger model" in str(found)
    assert found.to_dict()["n_draws"] == 9


def test_p_counts_the_draws_that_are_as_large():
    found = hs.blrt(TWO, X, draws=19, random_state=0)
    assert found.p == (np.sum(found.draws >= found.statistic) + 1) / 20
    assert found.p > 0.05
    assert (found.draws >= 0).all()


def test_the_same_bits_for_any_number_of_workers():
    one, two = (hs.blrt(ONE, X, draws=6, starts=4, random_state=1, n_jobs=jobs) for jobs in (1, 2))
    assert_array_equal(one.draws, two.draws)


def test_a_posterior_mode_is_tested_by_maximum_likelihood():
    found = hs.blrt(hs.LatentClass(2, prior=5.0, random_state=0).fit(X), X, draws=2, starts=4, random_state=0)
    assert_allclose(found.loglik, TWO.loglik_, atol=1e-5)


def test_normal_classes():
    rng = np.random.default_rng(0)
    numbers = pd.DataFrame({"x": np.r_[rng.normal(0, 1, 60), rng.normal(5, 1, 60)], "y": rng.normal(size=120)})
    for shape in ("diag", "full"):
        one = hs.GaussianMixture(1, covariance_type=shape).fit(numbers)
        assert hs.blrt(one, numbers, draws=4, starts=4, random_state=0).p == 0.2


def test_weights_are_frequencies():
    frame, number = np.unique(X.fillna("none").to_numpy(str), axis=0, return_counts=True)
    short = pd.DataFrame(frame, columns=X.columns).replace("none", None)
    model = hs.LatentClass(1, **FINE).fit(short, sample_weight=number)
    found = hs.blrt(model, short, draws=3, starts=4, random_state=0, sample_weight=number)
    assert_array_equal(found.draws, hs.blrt(ONE, X, draws=3, starts=4, random_state=0).draws)


def test_local_maxima_of_the_larger_model_are_said(monkeypatch):
    tried = []

    def stuck(pair, sample, near, n_starts, rng):
        tried.append(n_starts)
        blank = pair.larger.blank()  # all classes alike and uniform: EM moves them to the whole table and no further
        return [blank]

    monkeypatch.setattr(blrt_module, "_starts", stuck)
    with pytest.warns(BootstrapWarning, match=r"no start of the larger model .* local maxima\. LR counts as 0"):
        found = hs.blrt(TWO, X, draws=2, starts=4, random_state=0)
    assert found.statistic == 0
    assert found.p == 1.0
    assert found.n_local > 0
    assert f"in {found.n_local} tables the larger model ended at local maxima" in str(found)
    assert tried[:2] == [4, 16]  # four times as many before it gives up


def test_an_interrupted_test_resumes_to_the_same_bits(tmp_path, monkeypatch):
    monkeypatch.setattr("halfseen.inference.refits.ROUND", 2)
    monkeypatch.setattr(blrt_module.each_draw, "__defaults__", (2,))
    whole = hs.blrt(ONE, X, draws=6, starts=4, random_state=0)
    seen = []

    def stop(progress):
        seen.append(progress)
        if progress.done == 4:
            raise KeyboardInterrupt

    path = tmp_path / "test.checkpoint"
    with pytest.raises(KeyboardInterrupt), hs.checkpoint(path), watching(stop):
        hs.blrt(ONE, X, draws=6, starts=4, random_state=0)
    assert seen[0] == Draws("test of 1 classes, 4 starts", 2, 6)
    with pytest.raises(CheckpointError, match="its draws are of other data"), hs.checkpoint(path):
        hs.blrt(TWO, X, draws=6, starts=4, random_state=0)
    with hs.checkpoint(path) as record:
        again = hs.blrt(ONE, X, draws=6, starts=4, random_state=0)
    assert (record.n_replayed, record.n_recorded) == (2, 1)
    assert_array_equal(again.draws, whole.draws)
    assert not path.exists()


def test_what_is_refused():
    with pytest.raises(ParameterError, match="NaiveBayes: the number of classes cannot be tested"):
        hs.blrt(hs.NaiveBayes().fit(X, np.arange(len(X)) % 2), X)
    with pytest.raises(ParameterError, match="HMM: the number of classes cannot be tested"):
        hs.blrt(hs.HMM(2, emission="categorical", n_init=1).fit(X), X)
    with pytest.raises(ParameterError, match="draws=1 is not a whole number of at least 2"):
        hs.blrt(ONE, X, draws=1)
    with pytest.raises(ParameterError, match="starts=0 is not"):
        hs.blrt(ONE, X, starts=0)
    with pytest.raises(ParameterError, match="rows without labels"):
        hs.blrt(TWO, X, labels=np.arange(len(X)) % 2)
    fixed = hs.LatentClass(2, start={"weights": [0.5, 0.5]}, fixed=["weights"], **FINE).fit(X)
    with pytest.raises(ParameterError, match="parameters are fixed or given by class"):
        hs.blrt(fixed, X)
