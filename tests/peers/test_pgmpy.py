"""Bayesian networks as in pgmpy: answers, estimates, EM of a hidden variable step by step, and files both ways."""

import itertools
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose

import halfseen as hs
from tests.peers.clinic import EVIDENCE, HIDDEN, NET, PARENTS, START, STATES, family, ours, rows

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it warns of parts of its own when it is imported
    pgmpy = pytest.importorskip("pgmpy")
    discrete = pytest.importorskip("pgmpy.factors.discrete")
    inference = pytest.importorskip("pgmpy.inference")
    models = pytest.importorskip("pgmpy.models")
    estimation = pytest.importorskip("pgmpy.parameter_estimator")
    files = pytest.importorskip("pgmpy.readwrite")

pytestmark = pytest.mark.slow

TOLERANCE = 1e-10
EDGES = [(parent, child) for child, own in PARENTS.items() for parent in own]


def cpd(name, table, states):
    """Return a table as the peer has it: the variable's own states first, then its parents'."""
    values = np.moveaxis(np.asarray(table), -1, 0).reshape(len(states[name]), -1)
    cards = [len(states[parent]) for parent in PARENTS[name]]
    named = {member: states[member] for member in family(name)}
    return discrete.TabularCPD(name, len(states[name]), values, PARENTS[name], cards, state_names=named)


def network(tables=None, states=STATES, latents=()):
    """Return the peer's network, with tables or without."""
    net = models.DiscreteBayesianNetwork(EDGES, latents=set(latents))
    if tables is not None:
        net.add_cpds(*(cpd(name, tables[name], states) for name in STATES))
    return net


def array(factor, variables):
    """Return the peer's factor with its axes in this order."""
    return np.transpose(np.asarray(factor.values), [list(factor.variables).index(name) for name in variables])


def same_tables(mine, found, seen=True):
    """The tables are the same, in rows that are `seen`: {variable: mask}, by default all."""
    found = {own.variable: own for own in found}
    for name in STATES:
        own = seen if seen is True else seen[name]
        assert_allclose(mine.params_[name][own], array(found[name], family(name))[own], atol=TOLERANCE)


# ---- answers ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("evidence", EVIDENCE)
def test_posteriors(evidence):
    peer = inference.VariableElimination(network(NET.params_))
    free = [name for name in STATES if name not in evidence]
    for asked in [*itertools.combinations(free, 1), *itertools.combinations(free, 2), tuple(free)]:
        found = peer.query(list(asked), evidence, show_progress=False)
        assert_allclose(NET.query(asked, evidence), array(found, asked), atol=TOLERANCE)


def test_soft_evidence():
    peer = inference.VariableElimination(network(NET.params_))
    likelihoods = [0.3, 0.9]
    told = discrete.TabularCPD("lung", 2, [[own] for own in likelihoods], state_names={"lung": STATES["lung"]})
    found = peer.query(["smoke", "bronc"], {"dysp": "yes"}, virtual_evidence=[told], show_progress=False)
    mine = NET.query(["smoke", "bronc"], {"dysp": "yes", "lung": likelihoods})
    assert_allclose(mine, array(found, ["smoke", "bronc"]), atol=TOLERANCE)


@pytest.mark.parametrize("evidence", EVIDENCE)
def test_the_most_probable_explanation(evidence):
    peer = inference.VariableElimination(network(NET.params_))
    free = [name for name in STATES if name not in evidence]
    assert NET.mpe(evidence) == {**evidence, **peer.map_query(free, evidence, show_progress=False)}


def test_rows_with_holes():
    frame, net = rows(30, missing=0.3), network(NET.params_)
    seen = [{name: state for name, state in row.items() if state is not None} for row in frame.to_dict("records")]
    assert_allclose(NET.score_samples(frame), [np.log(net.get_state_probability(row)) for row in seen], atol=TOLERANCE)


def test_what_the_graph_says():
    net = network()
    for name in STATES:
        assert set(NET.markov_blanket(name)) == set(net.get_markov_blanket(name))
    for one, two in itertools.combinations(STATES, 2):
        for given in ([], ["dysp"], ["smoke"], ["tub", "lung"]):
            if not {one, two} & set(given):
                assert NET.d_separated(one, two, given) == (not net.is_dconnected(one, two, given))


# ---- estimates -------------------------------------------------------------------------------------------------------

PRIORS = {  # ours, and theirs
    "none": (None, {}),
    "dirichlet": (2.5, {"prior_type": "dirichlet", "pseudo_counts": 2.5}),
    "bdeu": ("bdeu", {"prior_type": "BDeu", "equivalent_sample_size": 10}),
}


def estimator(prior, states=None):
    how = PRIORS[prior][1]
    if not how:
        return estimation.DiscreteMLE(state_names=states)
    return estimation.DiscreteBayesianEstimator(state_names=states, **how)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("prior", PRIORS)
def test_complete_rows(prior, weighted):
    frame = rows(2000)
    weight = np.random.default_rng(2).integers(1, 5, len(frame)) / 2 if weighted else None
    found = estimator(prior, STATES).fit(network(), frame, sample_weight=weight)
    same_tables(ours(frame, 1, weight, prior=PRIORS[prior][0]), found.parameters_)


NUMBERED = STATES | {HIDDEN: list(range(len(STATES[HIDDEN])))}  # the peer's hidden states have no other names


def theirs(frame, prior, n_steps):
    """Fit the peer's EM from the same start for so many steps; it warns about nothing that matters here."""
    return estimation.DiscreteEM(
        state_names=NUMBERED,
        latent_card={HIDDEN: len(STATES[HIDDEN])},
        m_step_estimator=estimator(prior),
        init_cpds={name: cpd(name, START[name], NUMBERED) for name in STATES},
        max_iter=n_steps,
        atol=0.0,
        show_progress=False,
    ).fit(network(latents=[HIDDEN]), frame)


@pytest.mark.parametrize("n_steps", [1, 3])
@pytest.mark.parametrize("prior", PRIORS)
def test_em_of_a_hidden_variable(prior, n_steps):
    frame = rows(hidden=True)
    found = theirs(frame, prior, n_steps).parameters_
    mine = ours(frame, n_steps, prior=PRIORS[prior][0])
    # without a prior a row of a table that never occurs stays as it was; the peer makes it uniform
    same_tables(mine, found, {name: own.sum(axis=-1) > 0 for name, own in mine.counts_.items()})
    tables = {own.variable: array(own, family(own.variable)) for own in found}
    its = hs.BayesNet.from_params(tables, NET.edges, STATES).score_samples(frame.assign(**{HIDDEN: None})).sum()
    assert_allclose(mine.loglik_, its, rtol=1e-12)


def test_rows_with_holes_are_dropped_by_it():
    """So a fit to a table with holes is ours to the rows without any: the others tell it nothing."""
    frame = rows(200, missing=0.1, hidden=True)
    complete = frame.dropna()
    assert 0 < len(complete) < len(frame)
    found = theirs(frame, "bdeu", 2).parameters_
    same_tables(ours(complete, 2, prior="bdeu"), found)


# ---- files -----------------------------------------------------------------------------------------------------------

READERS = {"bif": files.BIFReader, "xmlbif": files.XMLBIFReader}
WRITERS = {"bif": files.BIFWriter, "xmlbif": files.XMLBIFWriter}


@pytest.mark.parametrize("ending", READERS)
def test_files_there_and_back(tmp_path, ending):
    first, second, third = (tmp_path / f"{name}.{ending}" for name in ("first", "second", "third"))
    WRITERS[ending](network(NET.params_)).write(str(first))
    mine = hs.read_bif(first)
    assert mine.states_ == NET.states_
    assert mine.parents_ == NET.parents_
    for name in STATES:
        assert_allclose(mine.params_[name], NET.params_[name], rtol=1e-15)
    hs.write_bif(mine, second)
    net = READERS[ending](str(second)).get_model()
    same_tables(mine, net.get_cpds())
    assert net.states == STATES
    WRITERS[ending](net).write(str(third))
    assert hs.read_bif(third).parents_ == NET.parents_


ODD = {"x": ["<5", ">=7.5", "Asy/Patchy"], "the y": ["größe", "a & b"]}


@pytest.mark.parametrize("ending", READERS)
def test_odd_labels_reach_it(tmp_path, ending):
    """Its BIF writer gives them back as they are; its XML writer makes underscores of all odd signs."""
    net = hs.BayesNet.from_params({"x": [0.1, 0.2, 0.7], "the y": [[0.5, 0.5]] * 3}, [("x", "the y")], ODD)
    hs.write_bif(net, tmp_path / f"odd.{ending}")
    peer = READERS[ending](str(tmp_path / f"odd.{ending}")).get_model()
    assert peer.states == ODD
    if ending == "bif":
        WRITERS[ending](peer).write(str(tmp_path / "again.bif"))
        assert hs.read_bif(tmp_path / "again.bif").states_ == net.states_
