"""The laws for Bayesian networks, against enumeration of all joint states: units are components of rows."""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import halfseen as hs
from halfseen.assign import HARD, SOFT, Assign
from halfseen.engine.loop.em import evaluate, steps
from halfseen.families.network import model as engine
from halfseen.families.network.model import (
    BayesianNetwork,
    Likelihoods,
    completed,
    log_table,
    logliks,
    marginals,
    most_workers,
    reduce_network,
    split,
)
from halfseen.kernels import plain
from halfseen.leaves import Tables
from halfseen.structures import elimination
from halfseen.structures import network as structure
from halfseen.structures.graph import Graph
from halfseen.structures.network import Network
from tests.reference.enumerate_network import network_row
from tests.strategies import examples

TIGHT = {"rtol": 1e-10, "atol": 1e-12}
AT_ONCE, ONE_BY_ONE = 64, 2  # states up to which a component is gone through at once

seeds = st.integers(0, 2**32 - 1)


class Case:
    """A random network with random tables, and rows with holes, weights and sometimes soft evidence."""

    def __init__(self, seed, n_rows=8, soft=True):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 7))
        cards = tuple(rng.integers(1, 4, n).tolist())
        parents = [tuple(rng.permutation(v)[: rng.integers(0, min(v, 3) + 1)].tolist()) for v in range(n)]
        shuffled = rng.permutation(n)  # so that parents may come after their children
        own = {int(shuffled[v]): tuple(int(shuffled[p]) for p in parents[v]) for v in range(n)}
        self.graph = Graph(tuple("ABCDEF"[:n]), cards, tuple(own[v] for v in range(n)))
        leaf = Tables(self.graph.rows)
        self.model = BayesianNetwork(Network(), {"tables": leaf})
        self.params = {"tables": leaf.jitter(leaf.blank(), 1.5, rng)}
        self.codes = np.stack([rng.integers(0, card, n_rows) for card in cards], axis=1)
        self.codes[rng.random(self.codes.shape) < rng.choice([0.2, 0.6, 1.0])] = -1
        self.weight = rng.integers(1, 4, n_rows).astype(float)
        self.likelihoods = {}
        if soft and seed % 2:
            v = int(rng.integers(n))
            self.codes[:, v] = -1
            patterns = np.log(rng.random((3, cards[v])) + 0.01)
            self.likelihoods = {v: Likelihoods(patterns, rng.integers(0, 3, n_rows))}

    @property
    def parts(self):
        return split(self.graph, self.codes, self.likelihoods)

    @property
    def data(self):
        return reduce_network(self.model, self.graph, self.parts, self.weight)

    @property
    def slow(self):
        """All rows by enumeration."""
        return [
            network_row(
                self.graph,
                self.params["tables"][0],
                row,
                {v: np.exp(own.patterns[own.index[n]]) for v, own in self.likelihoods.items()},
            )
            for n, row in enumerate(self.codes)
        ]

    def step(self, assign=SOFT, params=None):
        [step] = evaluate(self.model, self.data, [params or self.params], assign)
        return step


@pytest.fixture(params=["plain", "active"])
def kernels(request, monkeypatch):
    if request.param == "plain":
        monkeypatch.setattr(structure, "kernels", plain)


@pytest.fixture(params=[AT_ONCE, ONE_BY_ONE], ids=["at once", "one by one"])
def small(request, monkeypatch):
    monkeypatch.setattr(elimination, "SMALL", request.param)
    monkeypatch.setattr(elimination, "_cost", lambda *_: 0)


# ---- enumerates, conserves, gradient -------------------------------------------------------------------------------


@pytest.mark.usefixtures("kernels", "small")
@pytest.mark.parametrize("seed", range(24))
def test_evidence_usage_best_and_marginals_are_those_of_enumeration(seed):
    case = Case(seed)
    slow, parts = case.slow, case.parts
    found = case.step()
    assert_allclose(found.expected.stats, sum(w * row.usage for w, row in zip(case.weight, slow, strict=True)), **TIGHT)
    assert_allclose(found.loglik, case.weight @ [np.log(row.evidence) for row in slow], **TIGHT)
    logs = log_table(case.model, case.params, parts)
    assert_allclose(logliks(logs, parts), [np.log(row.evidence) for row in slow], **TIGHT)
    for v in range(len(case.graph)):
        assert_allclose(marginals(logs, parts, v), [row.marginals[v] for row in slow], **TIGHT)
    best, joint = completed(logs, parts)
    assert_array_equal(best, [row.best for row in slow])
    assert_allclose(joint, [np.log(row.best_joint) for row in slow], **TIGHT)
    hard = case.step(HARD)
    assert_allclose(hard.loglik, case.weight @ joint, **TIGHT)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("seed", range(6))
def test_draws_are_those_of_the_posterior(seed):
    case = Case(seed)
    expected, draws = case.step().expected.stats, 2000
    found = case.step(Assign("sample", draws=draws)).expected.stats
    assert_allclose(found, expected, atol=5 * np.sqrt(case.weight.sum() / draws))  # five standard errors at most
    assert_allclose(found.sum(), expected.sum(), rtol=1e-12)


@examples(25)
@given(seed=seeds)
def test_every_family_is_counted_once_per_row(seed):
    case = Case(seed)
    for assign in (SOFT, HARD, Assign("sample")):
        stats = case.step(assign).expected.stats
        for v in range(len(case.graph)):
            assert_allclose(stats[case.graph.slice(v)].sum(), case.weight.sum(), rtol=1e-12)


@examples(10)
@given(seed=seeds)
def test_a_fraction_of_a_row_is_drawn_as_a_fraction(seed):
    case = Case(seed)
    case.weight = case.weight * 0.75
    stats = case.step(Assign("sample", draws=3)).expected.stats
    for v in range(len(case.graph)):
        assert_allclose(stats[case.graph.slice(v)].sum(), case.weight.sum(), rtol=1e-12)


@examples(10)
@given(seed=seeds)
def test_usage_is_the_gradient_of_the_log_evidence(seed):
    case = Case(seed)
    base, step = case.params["tables"], 1e-6

    def loglik(cells):
        return evaluate(case.model, case.data, [{"tables": cells}])[0].loglik

    usage = case.step().expected.stats
    for cell in range(0, case.graph.n_cells, 5):
        up, down = np.array(base), np.array(base)
        up[0, cell] *= np.exp(step)
        down[0, cell] *= np.exp(-step)
        slope = (loglik(up) - loglik(down)) / (2 * step)
        assert_allclose(usage[cell], slope, rtol=1e-5, atol=1e-5)


# ---- climbs, adds, weights, missing, permutes -----------------------------------------------------------------------


@examples(15)
@given(seed=seeds)
def test_soft_and_hard_objectives_never_fall(seed):
    case = Case(seed)
    for assign in (SOFT, HARD):
        run = steps(case.model, case.data, case.params, assign)
        trace = [next(run).objective for _ in range(8)]  # `EMRun` raises where it falls, too
        assert (np.diff(trace) >= -1e-9 * np.maximum(1, np.abs(trace[:-1]))).all()


@examples(10)
@given(seed=seeds)
def test_any_chunks_and_any_order_of_rows_give_the_same_statistics(seed):
    case = Case(seed, n_rows=20)
    expected = case.step().expected
    work, engine.WORK = engine.WORK, 16
    try:
        assert len(case.data.chunks) >= len(case.data.chunks[:1])
        cut = case.step().expected
    finally:
        engine.WORK = work
    assert_allclose(cut.stats, expected.stats, **TIGHT)
    order = np.random.default_rng(seed).permutation(20)
    case.codes, case.weight = case.codes[order], case.weight[order]
    case.likelihoods = {v: own._replace(index=own.index[order]) for v, own in case.likelihoods.items()}
    assert_allclose(case.step().expected.stats, expected.stats, **TIGHT)


@examples(10)
@given(seed=seeds)
def test_a_weight_is_a_repeated_row(seed):
    case = Case(seed)
    expected = case.step().expected
    again = np.repeat(np.arange(len(case.codes)), case.weight.astype(int))
    case.codes, case.weight = case.codes[again], np.ones(len(again))
    case.likelihoods = {v: own._replace(index=own.index[again]) for v, own in case.likelihoods.items()}
    found = case.step().expected
    assert_allclose(found.stats, expected.stats, **TIGHT)
    assert_allclose(found.loglik, expected.loglik, **TIGHT)


def test_an_unobserved_row_has_loglik_zero_and_moves_nothing():
    case = Case(4, soft=False)
    case.codes[:] = -1
    step = case.step()
    assert_allclose(step.loglik, 0.0, atol=1e-12)
    assert_allclose(case.model.improved(step)["tables"], case.params["tables"], rtol=1e-12)


def test_numbers_too_small_for_products_are_done_again_in_logs():
    """A hidden root with many children: the product of all their probabilities is below the smallest double."""
    n = 400
    graph = Graph(tuple(f"v{v}" for v in range(n)), (2,) * n, ((), *[(0,)] * (n - 1)))
    cells = np.tile([1e-3, 1 - 1e-3], (1, (graph.n_cells) // 2))
    cells[0, 2:4] = [2e-3, 1 - 2e-3]  # one child tells the two states of the root apart
    model = BayesianNetwork(Network(), {"tables": Tables(graph.rows)})
    codes = np.zeros((1, n), dtype=np.int64)
    codes[0, 0] = -1
    data = reduce_network(model, graph, split(graph, codes), np.ones(1))
    [step] = evaluate(model, data, [{"tables": cells}])
    total = np.logaddexp(np.log(1e-3) + np.log(2e-3), np.log(1 - 1e-3) + np.log(1e-3))
    assert_allclose(step.loglik, total + (n - 2) * np.log(1e-3), rtol=1e-12)
    assert_allclose(step.expected.stats[:2].sum(), 1.0, rtol=1e-12)


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("seed", range(12))
def test_the_fused_path_gives_the_sums_of_the_three_steps(seed):
    """Also where a likelihood is 0 as a number and not in logs."""
    case = Case(seed)
    for v, own in case.likelihoods.items():
        case.likelihoods[v] = own._replace(patterns=own.patterns - np.array([[0.0], [800.0], [1600.0]]))
    [fused] = evaluate(case.model, case.data, [case.params])
    [apart] = evaluate(case.model, replace(case.data, path=None), [case.params])
    assert_allclose(fused.expected.stats, apart.expected.stats, **TIGHT)
    assert_allclose(fused.loglik, apart.loglik, rtol=1e-12)


# ---- meets ---------------------------------------------------------------------------------------------------------


def survey(rng, n_rows=300, holes=0.0):
    kind = rng.random(n_rows) < 0.4
    p = np.where(kind[:, None], [0.9, 0.8, 0.7, 0.85], [0.2, 0.1, 0.3, 0.25])
    frame = pd.DataFrame(np.where(rng.random(p.shape) < p, "yes", "no"), columns=list("abcd")).astype(object)
    return frame.mask(rng.random(p.shape) < holes)


@pytest.mark.parametrize("assign", ["soft", "hard"])
def test_naive_bayes_with_a_hidden_class_is_a_latent_class_model_step_by_step(assign):
    frame = survey(np.random.default_rng(1))
    tables = {name: np.random.default_rng(d).dirichlet([2, 2], 2) for d, name in enumerate("abcd")}
    own = {name: {"no": table[:, 0], "yes": table[:, 1]} for name, table in tables.items()}
    how = {"assign": assign, "n_init": 1, "max_iter": 7, "stop": "iterations", "accelerate": False, "prior": None}
    classes = hs.LatentClass(2, start={"weights": [0.5, 0.5], **own}, **how).fit(frame)
    edges = [("C", name) for name in "abcd"]
    net = hs.BayesNet(edges, hidden={"C": 2}, start={"C": [0.5, 0.5], **tables}, **how).fit(frame)
    assert_allclose(net.trace_, classes.trace_, rtol=1e-12)
    assert_allclose(net.params_["C"], classes.weights_, rtol=1e-9)
    assert_allclose(net.predict_proba(frame), classes.predict_proba(frame), rtol=1e-9, atol=1e-12)


def test_naive_bayes_with_a_hidden_class_and_holes_ends_at_the_same_point():
    frame = survey(np.random.default_rng(2), holes=0.2)
    classes = hs.LatentClass(2, prior=None, tol=1e-9, random_state=0).fit(frame)
    net = hs.BayesNet([("C", d) for d in "abcd"], hidden={"C": 2}, prior=None, tol=1e-9, random_state=0).fit(frame)
    assert_allclose(net.loglik_, classes.loglik_, atol=1e-7)
    assert_allclose(net.params_["C"], classes.weights_, atol=1e-4)
    assert net.n_parameters_ == classes.n_parameters_


@pytest.mark.parametrize("assign", ["soft", "hard", "sample"])
def test_the_network_of_two_children_by_its_own_equations(assign):
    """X <- Y -> Z with Y hidden: one step equals P(y | x, z) proportional to Pi[y] R[x, y] L[z, y], then counting."""
    rng = np.random.default_rng(3)
    pairs = rng.integers(0, 3, (200, 2))
    pi, r, ell = rng.dirichlet([3, 3]), rng.dirichlet([2, 2, 2], 2), rng.dirichlet([2, 2, 2], 2)
    joint = pi * r.T[pairs[:, 0]] * ell.T[pairs[:, 1]]
    resp = joint / joint.sum(axis=1, keepdims=True)
    start = {"Y": pi, "X": r, "Z": ell}
    frame = pd.DataFrame(pairs, columns=["X", "Z"])
    draws = {"draws": 4000} if assign == "sample" else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        how = {"n_init": 1, "max_iter": 2, "stop": "iterations", "accelerate": False, "random_state": 0, "prior": None}
        net = hs.BayesNet("X <- Y -> Z", hidden={"Y": 2}, start=start, assign=assign, **draws, **how).fit(frame)
    usage = np.eye(2)[resp.argmax(axis=1)] if assign == "hard" else resp
    counts = np.stack([np.bincount(pairs[:, 0], usage[:, y], minlength=3) for y in range(2)])
    loose = {"atol": 0.05} if assign == "sample" else {"rtol": 1e-9}  # a mean of draws, and of later steps
    assert_allclose(net.params_["Y"], usage.mean(axis=0), **loose)
    assert_allclose(net.params_["X"], counts / counts.sum(axis=1, keepdims=True), **loose)


def test_a_complete_table_is_counted():
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(rng.integers(0, 3, (100, 3)), columns=list("ABC"))
    net = hs.BayesNet("A -> C <- B", prior=None).fit(frame)
    counts = frame.groupby(["A", "B", "C"]).size().unstack(fill_value=0)
    shares = counts.div(counts.sum(axis=1), axis=0).to_numpy().reshape(3, 3, 3)
    assert_allclose(net.params_["C"], shares, rtol=1e-12)
    assert net.converged_


def test_any_number_of_workers_gives_the_same_bits(monkeypatch):
    monkeypatch.setattr(engine, "WORK", 64)
    frame = survey(np.random.default_rng(6), holes=0.3)
    edges = "C -> a; C -> b; C -> c; C -> d; a -> b"
    fits = [hs.BayesNet(edges, hidden={"C": 2}, random_state=0, n_init=4, n_jobs=n).fit(frame) for n in (1, 3)]
    assert_array_equal(*[net.params_["b"] for net in fits])


def test_a_second_worker_needs_a_second_chunk_of_work(monkeypatch):
    case = Case(2, n_rows=200)
    total = sum(chunk.work for chunk in case.data.chunks)
    assert most_workers(case.data) == 0
    monkeypatch.setattr(engine, "WORK", total // 2 + 1)
    assert len(case.data.chunks) == 2
    assert most_workers(case.data) == 1  # the second chunk is a rest: it is sooner done than handed over
    monkeypatch.setattr(engine, "WORK", total // 4)
    assert most_workers(case.data) >= 4


def test_known_tables_are_recovered_with_holes():
    truth = hs.BayesNet.from_params(
        {"A": [0.3, 0.7], "B": [[0.9, 0.1], [0.2, 0.8]], "C": [[[0.8, 0.2], [0.4, 0.6]], [[0.3, 0.7], [0.1, 0.9]]]},
        "A -> B; A -> C; B -> C",
    )
    frame, _ = truth.sample(20000, random_state=0)
    frame = frame.astype(object).mask(np.random.default_rng(0).random(frame.shape) < 0.2)
    net = hs.BayesNet(truth.edges, random_state=0, n_init=2).fit(frame)
    for name, table in truth.params_.items():
        assert_allclose(net.params_[name], table, atol=0.03)
