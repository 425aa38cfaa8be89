"""The law of many draws: a unit of any weight is drawn at the cost of few, and its counts are those of single draws.

Means of the counts are the soft usage, and their variances those of as many independent draws. A weight of 1e9 or 1e25
would take days and memory without end if its draws were made one by one.
"""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import halfseen as hs
from halfseen.assign import SOFT, Assign
from halfseen.structures import tree
from halfseen.structures.draws import MOST, SEVERAL, Draws, spread
from halfseen.structures.links import Links
from tests.laws.models import every_model
from tests.laws.test_links import KINDS, corpus, place_of
from tests.laws.test_network import Case as NetworkCase
from tests.laws.test_tree import ROUND, pack
from tests.laws.test_tree import Case as TreeCase
from tests.laws.test_weights import weighted
from tests.strategies import examples


def by_draws():
    """Return sampled assignment with a generator of its own."""
    return Assign("sample", rng=np.random.default_rng(0))


FAR = 6.0  # standard deviations that no draw of a test is from its mean


def test_draws_cover_every_use():
    uses = np.array([0.0, 0.3, 1.0, 2.5, SEVERAL, SEVERAL + 0.5, 1e9, 1e9 + 0.25, 1e19, 1e300])
    draws = Draws.of(uses)
    unit, share = draws.listed()
    np.testing.assert_array_equal(np.bincount(unit, share, minlength=len(uses)) + draws.many * draws.each, uses)
    assert len(unit) <= (SEVERAL + 1) * len(uses)
    assert draws.many.max() == MOST


def test_counts_are_spread_as_a_multinomial_spreads_them():
    rng = np.random.default_rng(0)
    chances = np.array([[0.1, 0.0, 0.3], [2.0, 2.0, 4.0]])
    drawn = np.array([spread(np.array([1000, 10**12]), chances, rng) for _ in range(400)])
    shares = chances / chances.sum(axis=1, keepdims=True)
    mean = np.array([[1000], [10**12]]) * shares
    np.testing.assert_array_equal(drawn.sum(axis=2), np.broadcast_to([1000, 10**12], (400, 2)))
    var = mean * (1 - shares)
    assert (np.abs(drawn.mean(axis=0) - mean) <= FAR * np.sqrt(var / 400)).all()
    np.testing.assert_allclose(drawn.var(axis=0), var, rtol=0.5)


def usage_of(case, assign):
    """Return the mixing weights, or starts and transitions, that a pass uses: sums of counts of states."""
    parts = case.model.view(case.step(assign, seed=np.random.SeedSequence(1)).expected.stats)
    return np.concatenate(
        [np.ravel(parts[name][: 1 if name == "mix" else None]) for name in ("mix", "start", "trans") if name in parts]
    )


@every_model()
@pytest.mark.parametrize("weight", [1e6, 1e9 + 0.5, 1e25])
@examples(2)
@given(data=st.data())
def test_the_counts_of_many_draws_are_about_the_soft_usage(entry, weight, data):
    case = data.draw(entry.cases)
    often = case.but(table=weighted(case.table, np.full(len(case.table.weight), weight)))
    soft, drawn = usage_of(often, SOFT), usage_of(often, Assign("sample"))
    total, draws = soft.sum(), min(weight, 2.0**53)
    np.testing.assert_allclose(drawn, soft, atol=FAR * total / np.sqrt(draws), rtol=0)
    np.testing.assert_allclose(drawn.sum(), total, rtol=1e-9)


# ---- structures in which a draw is a whole configuration -----------------------------------------------------------


@pytest.mark.parametrize("weight", [1e4, 1e9 + 0.5, 1e25])
@pytest.mark.parametrize("kind", KINDS)
def test_links(kind, weight):
    rng = np.random.default_rng(5)
    sides, table = corpus(rng)
    parts = {"lexicon": table[None], "place": place_of(kind, rng)}
    outer = weight * np.array([[1.0], [2.0], [0.5], [1.0]])
    soft = Links(kind).infer(parts, outer, SOFT, data=sides.block())
    drawn = Links(kind).infer(parts, outer, by_draws(), data=sides.block())
    np.testing.assert_allclose(drawn.log_evidence, soft.log_evidence, rtol=1e-10)
    for name, expected in soft.usage.items():
        atol = FAR * outer.sum() * 5 / np.sqrt(min(weight, 2.0**53))  # words of a pair
        np.testing.assert_allclose(drawn.usage[name], expected, atol=atol, rtol=1e-9)
        np.testing.assert_allclose(drawn.usage[name][..., 0].sum(), expected[..., 0].sum(), atol=atol)


@pytest.mark.parametrize("weight", [1e4, 1e9 + 0.5, 1e25])
@pytest.mark.parametrize("seed", range(4))
def test_trees(seed, weight):
    case = TreeCase(seed)
    outer = np.full(len(case.data), weight)
    soft, logs = tree.soft(case.log_table, case.data, outer)
    drawn, evidence = tree.drawn(case.log_table, case.data, outer, 1, np.random.default_rng(0))
    np.testing.assert_allclose(evidence, logs, rtol=1e-10)
    atol = FAR * weight * len(case.data) * 10 / np.sqrt(min(weight, 2.0**53))  # uses of a rule in a sentence
    np.testing.assert_allclose(drawn[:-1], soft[:-1], atol=atol, rtol=0)


def test_trees_through_cycles_of_unary_rules():
    grammar = hs.PCFG.from_string(ROUND)
    data = pack(grammar._grammar, [["b"], ["a", "b"]])
    log_table = np.log(np.append(grammar._params["rules"][0], 1.0))
    soft, _ = tree.soft(log_table, data, np.full(2, 1e8))
    drawn, _ = tree.drawn(log_table, data, np.full(2, 1e8), 1, np.random.default_rng(0))
    np.testing.assert_allclose(drawn[:-1], soft[:-1], atol=FAR * 1e5)


@pytest.mark.parametrize("weight", [1e4, 1e9 + 0.5, 1e25])
@pytest.mark.parametrize("seed", range(4))
def test_networks(seed, weight):
    case = NetworkCase(seed)
    case.weight = np.full(len(case.weight), weight)
    soft, drawn = case.step(SOFT).expected.stats, case.step(Assign("sample")).expected.stats
    atol = FAR * weight * len(case.weight) / np.sqrt(min(weight, 2.0**53))
    np.testing.assert_allclose(drawn, soft, atol=atol, rtol=0)
    np.testing.assert_allclose(drawn.sum(), soft.sum(), rtol=1e-9)


# ---- whole fits -----------------------------------------------------------------------------------------------------

ROWS = [["a", None], ["b", "x"], ["a", "y"], ["b", None]]
SAID = [["a", "b", "a"], ["b", "b"]]
HOW = {"assign": "sample", "max_iter": 3, "random_state": 0}
FITS = {
    "BayesNet": lambda w: hs.BayesNet([("H", "x0"), ("H", "x1")], hidden={"H": 2}, n_init=2, **HOW).fit(
        ROWS, sample_weight=np.full(4, w)
    ),
    "LatentClass": lambda w: hs.LatentClass(2, n_init=2, **HOW).fit(ROWS, sample_weight=np.full(4, w)),
    "HMM": lambda w: hs.HMM(2, emission="categorical", n_init=2, **HOW).fit(
        [np.array(one)[:, None] for one in SAID], sample_weight=np.full(2, w)
    ),
    "PCFG": lambda w: (
        hs.PCFG.from_string("S -> S S [0.4] | 'a' [0.3] | 'b' [0.3]")
        .set_params(**HOW)
        .fit(SAID, sample_weight=np.full(2, w))
    ),
    "WordAligner": lambda w: hs.WordAligner("hmm", assign="sample", random_state=0).fit(
        [("a b", "x y"), ("b", "y")], sample_weight=np.full(2, w)
    ),
}


@pytest.mark.parametrize("weight", [1e6, 1e12, 1e19])
@pytest.mark.parametrize("name", FITS)
def test_a_fit_by_draws_takes_any_weight(name, weight):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", hs.errors.HalfseenWarning)
        assert np.isfinite(FITS[name](weight).loglik_)
