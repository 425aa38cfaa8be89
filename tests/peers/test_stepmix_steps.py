"""The same coefficients as StepMix's three-step and two-step methods, on the cheating data."""

import warnings

import numpy as np
import pandas as pd
import pytest

import halfseen as hs
from tests.shared_data import shared_data

StepMix = pytest.importorskip("stepmix").StepMix
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def cheating():
    X = pd.read_csv(shared_data("cheating/cheating.csv")).dropna()
    return X.drop(columns="GPA"), X[["GPA"]]


@pytest.mark.parametrize(
    ("method", "steps", "correction"),
    [("naive", 3, None), ("bch", 3, "BCH"), ("ml", 3, "ML"), ("two-step", 2, None)],
)
def test_slopes(cheating, method, steps, correction):
    X, z = cheating
    how = {"method": "newton-raphson", "max_iter": 500, "intercept": True}
    peer = StepMix(
        n_components=2,
        measurement="binary",
        structural="covariate",
        structural_params=how,
        n_steps=steps,
        assignment="modal",
        correction=correction,
        n_init=10,
        max_iter=5000,
        abs_tol=1e-12,
        rel_tol=1e-12,
        random_state=0,
        progress_bar=0,
        verbose=0,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peer.fit(X - 1, z)
        beta = np.asarray(peer.get_parameters()["structural"]["beta"])
        model = hs.LatentClass(2, prior=None, random_state=0, tol=1e-10).fit(X)
        found = hs.relate(model, X, covariates=z, method=method).coefficients.estimate[0, 1]
    theirs = abs(float(beta[1, -1] - beta[0, -1]))
    assert abs(found) == pytest.approx(theirs, abs=2e-3)  # their steps stop earlier
