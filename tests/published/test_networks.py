"""Published networks: marginals, posteriors, log-likelihoods and criteria of asia and learning.test.

Figures are those of bnlearn, pgmpy and pyAgrum, named in each data set's SOURCE.md.
"""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import halfseen as hs
from tests.shared_data import shared_data

ASIA = "A -> T; S -> L; S -> B; T -> E; L -> E; E -> X; B -> D; E -> D"
PRINTED = 6e-5  # a figure printed with four digits


@pytest.fixture(scope="module")
def asia():
    return pd.read_csv(shared_data("asia/asia.csv"))


def test_asia_complete(asia):
    net = hs.BayesNet(ASIA).fit(asia)
    assert_allclose(net.loglik_, -11033.0871, atol=PRINTED)
    assert net.n_parameters_ == 18
    assert_allclose(net.bic() / -2, -11109.7419, atol=PRINTED)


def test_asia_with_holes():
    frame = pd.read_csv(shared_data("asia/asia_holes.csv"), na_values="?")
    assert frame.isna().to_numpy().sum() == 4000
    net = hs.BayesNet(ASIA, states={name: ["no", "yes"] for name in "ASTLBEXD"}, tol=1e-9, random_state=0).fit(frame)
    assert_allclose(net.loglik_, -10254.46167, atol=6e-6)
    found = net.params_
    figures = [found["S"][1], found["L"][1, 1], found["D"][1, 1, 1], found["T"][1, 1], found["X"][0, 1]]
    assert_allclose(figures, [0.503618, 0.116937, 0.846925, 0.050712, 0.042696], atol=6e-7)
    for counts in net.counts_.values():
        assert_allclose(counts.sum(), 5000, rtol=1e-12)


def test_asia_with_a_hidden_node(asia):
    net = hs.BayesNet(ASIA, hidden={"B": 2}, tol=1e-7, random_state=0).fit(asia.drop(columns="B"))
    assert_allclose(net.loglik_, -9043.7349, atol=PRINTED)
    assert net.restarts_["n_reached_best"] == net.restarts_["n_finalists"]


def test_learning_test():
    frame = pd.read_csv(shared_data("learning_test/learning.test.csv"))
    net = hs.BayesNet("A -> B; A -> D; C -> D; B -> E; F -> E").fit(frame)
    assert_allclose(net.loglik_, -23832.1318, atol=PRINTED)
    assert net.n_parameters_ == 41
    assert_allclose([net.bic() / -2, net.aic() / -2], [-24006.7342, -23873.1318], atol=PRINTED)
    assert np.isclose(net.score(frame) * len(frame), net.loglik_)
