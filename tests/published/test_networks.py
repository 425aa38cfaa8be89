"""Published networks: marginals, posteriors, log-likelihoods and criteria of asia and learning.test.

Figures are those of bnlearn, pgmpy and pyAgrum, named in each data set's SOURCE.md.
"""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import halfseen as hs
from tests.shared_data import shared_data

pytestmark = pytest.mark.thorough
ASIA = "A -> T; S -> L; S -> B; T -> E; L -> E; E -> X; B -> D; E -> D"
PRINTED = 6e-5  # a figure printed with four digits


@pytest.fixture(scope="module")
def asia():
    return pd.read_csv(shared_data("asia/asia.csv"))


def test_asia_complete(asia):
    net = hs.BayesNet(ASIA, prior=None).fit(asia)
    assert_allclose(net.loglik_, -11033.0871, atol=PRINTED)
    assert net.n_parameters_ == 18
    assert_allclose(net.bic() / -2, -11109.7419, atol=PRINTED)


def test_asia_with_holes():
    frame = pd.read_csv(shared_data("asia/asia_holes.csv"), na_values="?")
    assert frame.isna().to_numpy().sum() == 4000
    states = {name: ["no", "yes"] for name in "ASTLBEXD"}
    net = hs.BayesNet(ASIA, states=states, prior=None, tol=1e-9, random_state=0).fit(frame)
    assert_allclose(net.loglik_, -10254.46167, atol=6e-6)
    found = net.params_
    figures = [found["S"][1], found["L"][1, 1], found["D"][1, 1, 1], found["T"][1, 1], found["X"][0, 1]]
    assert_allclose(figures, [0.503618, 0.116937, 0.846925, 0.050712, 0.042696], atol=6e-7)
    for counts in net.counts_.values():
        assert_allclose(counts.sum(), 5000, rtol=1e-12)


def test_asia_with_a_hidden_node(asia):
    net = hs.BayesNet(ASIA, hidden={"B": 2}, prior=None, random_state=0).fit(asia.drop(columns="B"))
    assert_allclose(net.loglik_, -9043.7349, atol=PRINTED)
    assert net.restarts_["n_reached_best"] == net.restarts_["n_finalists"]


def test_learning_test():
    frame = pd.read_csv(shared_data("learning_test/learning.test.csv"))
    net = hs.BayesNet("A -> B; A -> D; C -> D; B -> E; F -> E", prior=None).fit(frame)
    assert_allclose(net.loglik_, -23832.1318, atol=PRINTED)
    assert net.n_parameters_ == 41
    assert_allclose([net.bic() / -2, net.aic() / -2], [-24006.7342, -23873.1318], atol=PRINTED)
    assert np.isclose(net.score(frame) * len(frame), net.loglik_)


# ---- networks with known tables, from BIF files ----------------------------------------------------------------------

PEERS = 1e-7  # peers print P(evidence) with ten digits, of which the last two are not those of the file's own decimals


@pytest.mark.parametrize(
    ("file", "evidence", "posteriors", "probability"),
    [
        (
            "asia/asia.bif",
            {"asia": "yes", "xray": "yes", "dysp": "yes"},
            {"tub": [0.39171172], "lung": [0.444270051], "bronc": [0.62882178]},
            0.0009882267542,
        ),
        (
            "bif/alarm.bif",
            {"HRBP": "HIGH", "CVP": "HIGH", "BP": "LOW"},
            {
                "LVFAILURE": [0.00791373],
                "HYPOVOLEMIA": [0.83769137],
                "INTUBATION": [0.91984903, 0.03033016, 0.04982081],
            },
            0.05808098923,
        ),
        (
            "bif/sachs.bif",
            {"Erk": "HIGH", "Mek": "LOW"},
            {"Akt": [0.17419013, 0.81235776, 0.01345211], "PKA": [0.00735195, 0.75401321, 0.23863484]},
            0.1016684057,
        ),
    ],
)
def test_posteriors_of_published_networks(file, evidence, posteriors, probability):
    net = hs.read_bif(shared_data(file))
    for name, shares in posteriors.items():
        assert_allclose(np.asarray(net.query(name, evidence))[: len(shares)], shares, atol=6e-7)
    assert_allclose(net.probability(evidence), probability, rtol=PEERS)


def test_asia_marginals():
    net = hs.read_bif(shared_data("asia/asia.bif"))
    figures = {"tub": 0.0104, "lung": 0.055, "bronc": 0.45, "either": 0.064828, "xray": 0.11029, "dysp": 0.4359706}
    for name, share in figures.items():
        assert_allclose(net.query(name)["yes"], share, rtol=1e-6)  # printed with up to seven digits


@pytest.mark.parametrize(("file", "sizes"), [("alarm", (37, 46, 509)), ("sachs", (11, 17, 178))])
def test_sizes_of_published_networks(file, sizes):
    net = hs.read_bif(shared_data(f"bif/{file}.bif"))
    assert (len(net.nodes_), len(net.edges_), net.n_parameters_) == sizes


@pytest.mark.parametrize("file", ["asia/asia", "bif/alarm", "bif/sachs", "bif/cancer", "bif/earthquake"])
def test_published_files_are_written_as_they_were_read(file, tmp_path):
    net = hs.read_bif(shared_data(f"{file}.bif"))
    hs.write_bif(net, tmp_path / "again.bif")
    again = hs.read_bif(tmp_path / "again.bif")
    assert (net.states_, net.parents_, net.nodes_) == (again.states_, again.parents_, again.nodes_)
    for name, table in net.params_.items():
        assert (again.params_[name] == table).all()


def test_alarm_is_learned_from_rows_with_holes_and_hidden_nodes():
    truth = hs.read_bif(shared_data("bif/alarm.bif"))
    frame, _ = truth.sample(2000, random_state=0)
    frame = frame.astype(object).mask(np.random.default_rng(0).random(frame.shape) < 0.1)
    frame = frame.drop(columns=["LVFAILURE", "VENTLUNG"])
    net = hs.BayesNet(truth.edges, states=truth.states, prior=1.0, n_init=1, max_iter=25, stop="iterations")
    net.fit(frame)
    assert set(net.hidden_) == {"LVFAILURE", "VENTLUNG"}
    assert (np.diff(net.trace_) >= -1e-6).all()
    for counts in net.counts_.values():
        assert_allclose(counts.sum(), 2000, rtol=1e-10)
    assert net.loglik_ > 2000 * truth.score(frame) - 500


def test_starts_of_their_own_find_what_the_true_tables_lead_to():
    """Scattered missing values, maximum likelihood: starts that differ little all end at -4390.93."""
    net = hs.read_bif(shared_data("bif/alarm.bif"))
    frame = net.sample(500, random_state=1)[0].astype(object)
    frame = frame.mask(np.random.default_rng(0).random(frame.shape) < 0.2)
    how = {"states": net.states_, "prior": None, "tol": 1e-4, "random_state": 0}
    informed = hs.BayesNet(net.edges, start=dict(net.params_), n_init=1, **how).fit(frame)
    assert hs.BayesNet(net.edges, n_init=16, **how).fit(frame).loglik_ > informed.loglik_ - 1e-2
