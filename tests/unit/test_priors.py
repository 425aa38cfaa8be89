"""Priors by default: what the structure can produce is never impossible under a fit; zeros of the structure stay."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import halfseen as hs

SEEN = pd.DataFrame({"rain": ["no", "no", "yes"] * 4, "grass": ["dry", "dry", "wet"] * 4})
UNSEEN = pd.DataFrame({"rain": ["yes"], "grass": ["dry"]})
GRAMMAR = "S -> A B [1.0]\nA -> 'a' [0.5] | 'b' [0.5]\nB -> 'c' [0.5] | 'd' [0.5]"


@pytest.mark.parametrize("hidden", [{}, {"season": 2}])
def test_a_network_gives_new_combinations_a_chance(hidden):
    edges = [("rain", "grass")] + [(name, "rain") for name in hidden]
    net = hs.BayesNet(edges, hidden=hidden or None, random_state=0)
    assert np.isfinite(net.fit(SEEN).score_samples(UNSEEN)).all()
    exact = hs.BayesNet(edges, hidden=hidden or None, prior=None, random_state=0).fit(SEEN)
    assert np.isneginf(exact.score_samples(UNSEEN)).all()


def test_the_prior_of_a_table_is_one_row_half_by_the_marginal():
    """One pseudo-row, split over the rows of the table; half of each by the marginal, half uniform."""
    net = hs.BayesNet([("rain", "grass")]).fit(SEEN)
    wet = SEEN["grass"].eq("wet").mean()
    n_yes = SEEN["rain"].eq("yes").sum()
    expected = (n_yes + 0.5 * (0.5 * wet + 0.5 * 0.5)) / (n_yes + 0.5)
    assert_allclose(net.query("grass", evidence={"rain": "yes"})["wet"], expected, rtol=1e-12)


def test_a_chain_gives_every_symbol_a_chance_in_every_state():
    symbols = np.array(list("aabbaabb" * 5))[:, None]
    start = {"startprob": [0.5, 0.5], "transmat": [[0.9, 0.1], [0.1, 0.9]]}
    model = hs.HMM(2, "categorical", start=start, random_state=0).fit(symbols)
    assert (model.emissionprob_ > 0).all()
    exact = hs.HMM(2, "categorical", start=start, prior=None, random_state=0).fit(symbols)
    assert exact.emissionprob_.min() < 1e-6 < model.emissionprob_.min()


def test_a_grammar_gives_every_rule_a_chance():
    grammar = hs.PCFG.from_string(GRAMMAR)
    assert np.isfinite(grammar.fit(["a c"] * 5).score_samples(["b d"])).all()
    exact = hs.PCFG.from_string(GRAMMAR, prior=None).fit(["a c"] * 5)
    assert np.isneginf(exact.score_samples(["b d"])).all()
    assert np.isneginf(grammar.score_samples(["c a"])).all()  # no derivation: the structure itself
