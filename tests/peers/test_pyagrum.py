"""Bayesian networks as in pyAgrum: answers, estimates, EM from the same start step by step, and files both ways."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose

import halfseen as hs
from halfseen.errors import DataError
from tests.peers.clinic import EVIDENCE, NET, PARENTS, START, STATES, family, ours, rows

gum = pytest.importorskip("pyagrum")
pytestmark = pytest.mark.slow

TOLERANCE = 1e-10
SOFT = {"lung": [0.3, 0.9], "bronc": [0.5, 0.1, 1.0]}
PRIORS = {  # ours, and how theirs is told
    "none": (None, lambda learner: learner.useNoPrior()),
    "smoothing": (2.5, lambda learner: learner.useSmoothingPrior(2.5)),
    "bdeu": ("bdeu", lambda learner: learner.useBDeuPrior(10.0)),
}


def network(tables):
    """Return the peer's network with these tables."""
    net = gum.BayesNet()
    for name, own in STATES.items():
        net.add(gum.LabelizedVariable(name, name, own))
    for child, own in PARENTS.items():
        for parent in own:
            net.addArc(parent, child)
    for name, table in tables.items():
        axes = [family(name).index(member) for member in reversed(net.cpt(name).names)]
        net.cpt(name)[:] = np.ascontiguousarray(np.transpose(table, axes))
    return net


def array(tensor, variables):
    """Return the peer's table with its axes in this order; its array has them backwards."""
    axes = list(reversed(tensor.names))
    return np.transpose(tensor.toarray(), [axes.index(name) for name in variables])


def same_tables(mine, net, **tolerance):
    for name in STATES:
        assert_allclose(mine.params_[name], array(net.cpt(name), family(name)), **(tolerance or {"atol": TOLERANCE}))


# ---- answers ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("evidence", [*EVIDENCE, SOFT, {**SOFT, "dysp": "no"}])
def test_posteriors_and_the_probability_of_evidence(evidence):
    peer = gum.LazyPropagation(network(NET.params_))
    free = [name for name in STATES if not isinstance(evidence.get(name), str)]
    for pair in itertools.combinations(free, 2):
        peer.addJointTarget(set(pair))
    peer.setEvidence(evidence)
    peer.makeInference()
    assert_allclose(NET.probability(evidence), peer.evidenceProbability(), rtol=TOLERANCE)
    for name in free:
        assert_allclose(NET.query(name, evidence), array(peer.posterior(name), [name]), atol=TOLERANCE)
    for pair in itertools.combinations(free, 2):
        assert_allclose(NET.query(pair, evidence), array(peer.jointPosterior(set(pair)), pair), atol=TOLERANCE)


@pytest.mark.parametrize("evidence", EVIDENCE)
def test_the_most_probable_explanation(evidence):
    peer = gum.LazyPropagation(network(NET.params_))
    peer.setEvidence(evidence)
    best, log2 = peer.mpeLog2Posterior()
    found = NET.mpe(evidence)
    assert found == {name: best.variable(name).label(best[name]) for name in STATES}
    assert_allclose(NET.probability(found) / NET.probability(evidence), 2**log2, rtol=TOLERANCE)


def test_rows_with_holes():
    """The peer has no log-likelihood of a table with holes: its evidence is asked row by row."""
    frame = rows(60, missing=0.3).drop(columns="lung")
    peer = gum.LazyPropagation(network(NET.params_))
    logs, posteriors = [], []
    for row in frame.to_dict("records"):
        peer.setEvidence({name: state for name, state in row.items() if state is not None})
        peer.makeInference()
        logs.append(np.log(peer.evidenceProbability()))
        posteriors.append(array(peer.posterior("lung"), ["lung"]))
    assert_allclose(NET.score_samples(frame), logs, atol=TOLERANCE)
    assert_allclose(NET.predict_proba(frame, "lung"), posteriors, atol=TOLERANCE)


def test_what_the_graph_says():
    net = network(NET.params_)
    for name in STATES:
        blanket = gum.MarkovBlanket(net, name)
        names = {net.variable(node).name() for node in blanket.nodes()} - {name}
        assert set(NET.markov_blanket(name)) == names
    for one, two in itertools.combinations(STATES, 2):
        for given in ([], ["dysp"], ["smoke"], ["tub", "lung"]):
            if not {one, two} & set(given):
                assert NET.d_separated(one, two, given) == net.isIndependent(one, two, given)


# ---- estimates -------------------------------------------------------------------------------------------------------


def learner(frame, prior, n_steps=None, weight=None):
    """Return a learner for a table; a hidden variable is a column of holes to it."""
    told = frame.reindex(columns=list(STATES)).astype(object)
    found = gum.BNLearner(told.where(told.notna(), "?").astype(str), network(START), ["?"])
    PRIORS[prior][1](found)
    if n_steps is not None:
        found.useEMWithDiffCriterion(1e-300, 0.0)  # without noise: the tables of the network are the start
        found.EMdisableEpsilon()
        found.EMsetMaxIter(n_steps)
    for i, own in enumerate([] if weight is None else weight):
        found.setRecordWeight(i, float(own))
    return found


@pytest.mark.parametrize("prior", PRIORS)
def test_complete_rows(prior):
    frame = rows(2000)
    mine = ours(frame, 1, prior=PRIORS[prior][0])
    same_tables(mine, learner(frame, prior).learnParameters(network(START)))


@pytest.mark.parametrize("n_steps", [1, 3])
@pytest.mark.parametrize("hidden", [False, True])
@pytest.mark.parametrize("prior", PRIORS)
def test_em(prior, hidden, n_steps):
    same_em(rows(missing=0.1, hidden=hidden), prior, n_steps)


def test_em_of_more_steps():
    same_em(rows(300, missing=0.1, hidden=True), "none", 12)


def same_em(frame, prior, n_steps):
    """Tables after so many steps are the same, and so is the log-likelihood of the rows."""
    peer = learner(frame, prior, n_steps)
    net = peer.learnParameters(network(START))
    assert peer.EMnbrIterations() == n_steps
    mine = ours(frame, n_steps, prior=PRIORS[prior][0])
    same_tables(mine, net)
    assert_allclose(mine.loglik_, loglik(net, frame), rtol=1e-12)


def loglik(net, frame):
    """Return the log-likelihood of rows under the peer's tables."""
    tables = {name: array(net.cpt(name), family(name)) for name in STATES}
    return hs.BayesNet.from_params(tables, NET.edges, STATES).score_samples(frame.reindex(columns=list(STATES))).sum()


def test_it_stops_before_the_top():
    """What the peer watches can fall while the log-likelihood rises: it then stops, and gives tables of a step before.

    What is compared is that these are ours after one of the steps, and that the steps after it lead higher.
    """
    frame = rows(missing=0.1, hidden=True)
    peer = learner(frame, "none", 25)
    with pytest.warns(UserWarning, match="completed prematurely due to a likelihood divergence"):
        net = peer.learnParameters(network(START))
    assert peer.EMnbrIterations() < 25
    trace = [ours(frame, n_steps, prior=None).loglik_ for n_steps in range(26)]
    assert (np.diff(trace) > 0).all()
    assert np.abs(np.array(trace) - loglik(net, frame)).min() < 1e-9
    assert trace[-1] > loglik(net, frame) + 1e-3


def test_weights():
    frame = rows(missing=0.1, hidden=True)
    weight = np.random.default_rng(2).integers(1, 5, len(frame)) / 2
    net = learner(frame, "smoothing", 3, weight).learnParameters(network(START))
    same_tables(ours(frame, 3, weight, prior=2.5), net)


# ---- files -----------------------------------------------------------------------------------------------------------

DIGITS = {"bif": 3e-7, "bifxml": 1e-12}  # the peer reads numbers of BIF files as float32
WRITTEN = 2e-6  # and writes six digits to both, so that rows do not quite sum to one


@pytest.mark.parametrize("ending", DIGITS)
def test_files_there_and_back(tmp_path, ending):
    first, second, third = (tmp_path / f"{name}.{ending}" for name in ("first", "second", "third"))
    gum.saveBN(network(NET.params_), str(first))
    mine = hs.read_bif(first)
    assert mine.states_ == NET.states_
    assert mine.parents_ == NET.parents_
    for name in STATES:
        assert_allclose(mine.params_[name], NET.params_[name], atol=WRITTEN)
    hs.write_bif(mine, second)
    net = gum.loadBN(str(second))
    same_tables(mine, net, rtol=0, atol=DIGITS[ending])
    assert {name: list(net.variable(name).labels()) for name in STATES} == STATES
    gum.saveBN(net, str(third))
    assert {name: set(own) for name, own in hs.read_bif(third).parents_.items()} == {
        name: set(own) for name, own in PARENTS.items()
    }


ODD = {"x": ["<5", ">=7.5", "Asy/Patchy"], "größe, m": ["a & b", 'say "hi"']}


def test_odd_labels_reach_it_as_xml(tmp_path):
    """Its BIF files have letters, digits and underscores only; it reads any label from XML but does not escape any."""
    net = hs.BayesNet.from_params({"x": [0.1, 0.2, 0.7], "größe, m": [[0.5, 0.5]] * 3}, [("x", "größe, m")], ODD)
    hs.write_bif(net, tmp_path / "odd.bifxml")
    peer = gum.loadBN(str(tmp_path / "odd.bifxml"))
    assert {name: list(peer.variable(name).labels()) for name in ODD} == ODD
    hs.write_bif(net, tmp_path / "odd.bif")
    with pytest.raises(gum.FatalError, match="Syntax error"):
        gum.loadBN(str(tmp_path / "odd.bif"))
    gum.saveBN(peer, str(tmp_path / "broken.bifxml"))
    with pytest.raises(DataError, match="not well-formed XML"):
        hs.read_bif(tmp_path / "broken.bifxml")
