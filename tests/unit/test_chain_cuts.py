"""Shares of states that are too small for a float may win yet: all verbs of chains against the kernels in logs.

Where transitions do not lead everywhere a state's share may fall by hundreds of nats and come back: identity, blocks,
left to right, transitions too small for a float. Scaled kernels find the truth there, or leave the sequence to those in
logs.
"""

from functools import cache

import numpy as np
import pytest

import halfseen as hs
from halfseen.assign import HARD, Assign
from halfseen.kernels import plain
from halfseen.structures.chain import MarkovChain, Potentials, filtered, soft
from tests.unit.test_chain_kernels import filtered as scaled_filter
from tests.unit.test_chain_kernels import logs
from tests.unit.test_chain_kernels import soft as scaled_soft


@pytest.fixture(params=["plain", "compiled"])
def kernels(request, monkeypatch):
    """The NumPy kernels, and the C++ ones where they were built, in use."""
    found = plain if request.param == "plain" else pytest.importorskip("halfseen.kernels.compiled")
    monkeypatch.setattr("halfseen.structures.chain.kernels", found)
    return found


def log_sum(values, axis):
    best = values.max(axis=axis)
    best = np.where(best > -np.inf, best, 0.0)
    return best + logs(np.exp(values - np.expand_dims(best, axis)).sum(axis=axis))


def truth(given):
    """Return usage, evidence and filtered logs in log space, sequence by sequence."""
    usage, filters, evidence = [], [], []
    for rows in np.split(np.arange(len(given.emit)), np.cumsum(given.lengths)[:-1]):
        joint = [given.start + given.emit[rows[0]]]
        for t in rows[1:]:
            joint.append(log_sum(joint[-1][:, None] + given.trans, axis=0) + given.emit[t])
        ahead = [np.zeros(len(given.start))]
        for t in rows[:0:-1]:
            ahead.append(log_sum(given.trans + given.emit[t] + ahead[-1], axis=1))
        evidence.append(log_sum(joint[-1], axis=0))
        usage.append(np.exp(np.array(joint) + ahead[::-1] - evidence[-1]))
        filters.append(joint - log_sum(np.array(joint), axis=1)[:, None])
    return np.concatenate(usage), np.array(evidence), np.concatenate(filters)


def identity(rng, size):
    return np.eye(size)


def blocks(rng, size):
    inside = np.arange(size)[:, None] % 2 == np.arange(size) % 2
    table = rng.random((size, size)) * inside
    return table / table.sum(axis=1, keepdims=True)


def left_right(rng, size):
    table = np.triu(rng.random((size, size)) + 0.1)
    table[np.triu_indices(size, 2)] = 0.0
    return table / table.sum(axis=1, keepdims=True)


def tiny(rng, size):
    """Return transitions from one to 1e-300, far from each other."""
    table = 10.0 ** -rng.choice([0, 20, 90, 120, 200, 300], (size, size)) + np.eye(size)
    return table / table.sum(axis=1, keepdims=True)


KINDS = [identity, blocks, left_right, tiny]


@cache
def reversals_and_truth(*how):
    given = reversals(*how)
    return given, truth(given)


def reversals(kind, size, lengths, seed):
    """Return a chain whose states win and lose some hundred nats in turn, and now and then many at once."""
    rng = np.random.default_rng(seed)
    start = 10.0 ** -rng.choice([0, 1, 50, 281, 300], size)
    start[rng.integers(size)] = 1.0
    n_steps = sum(lengths)
    slopes = 6 * rng.normal(size=(n_steps // 60 + 1, size))
    scores = np.repeat(slopes, 60, axis=0)[:n_steps] + rng.normal(size=(n_steps, size))
    if seed % 2:
        scores[rng.random(scores.shape) < 2 / n_steps] -= 900.0
    trans = kind(rng, size)
    return Potentials(logs(start / start.sum()), logs(trans), scores, np.array(lengths, dtype=np.int64))


SHAPES = [(2, (1, 300, 250, 310, 2, 260)), (5, (1, 300, 250, 310, 2, 260)), (5, (4200,))]


@pytest.mark.thorough
@pytest.mark.parametrize(("size", "lengths"), SHAPES, ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_states_come_back_from_below_the_range_of_floats(kernels, kind, size, lengths):
    for seed in range(1 if max(lengths) > 4096 else 2):
        given, (usage, evidence, filters) = reversals_and_truth(kind, size, lengths, seed)
        found = np.empty(len(lengths))
        own = given._replace(emit=given.emit.copy())
        start, trans, weight = np.zeros(size), np.zeros((size, size)), np.ones(len(lengths))
        soft(own, weight, start, trans, found)
        np.testing.assert_allclose(found, evidence, rtol=1e-11)
        np.testing.assert_allclose(own.emit, usage, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(start, usage[np.cumsum(lengths) - lengths].sum(axis=0), atol=1e-9)
        np.testing.assert_allclose(trans.sum(), sum(lengths) - len(lengths))
        seen = filtered(given, found)
        np.testing.assert_allclose(found, evidence, rtol=1e-11)
        np.testing.assert_allclose(np.exp(seen), np.exp(filters), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_hard_and_drawn_paths_know_states_that_come_back(kernels, kind):
    """In the last steps one state has all but the whole probability: paths end in it."""
    given = reversals(kind, 4, [500], 3)
    given.emit[-150:] = [-70.0, -70.0, -70.0, 0.0]
    usage, evidence, _ = truth(given)
    sure = usage.max(axis=1) > 1 - 1e-12
    assert sure.sum() > 100
    scores = {"start": given.start[None], "trans": given.trans}
    for assign in (HARD, Assign("sample", rng=np.random.default_rng(0))):
        data = type("Data", (), {"lengths": given.lengths})
        found = MarkovChain().infer(scores | {"emit": given.emit.copy()}, np.ones((1, 1)), assign, data=data)
        np.testing.assert_array_equal(found.usage["emit"][sure].argmax(axis=1), usage[sure].argmax(axis=1))
        assert found.log_evidence[0, 0] == pytest.approx(evidence[0], rel=0.1 if assign is HARD else 1e-12)


def test_sequences_without_reversals_stay_with_the_scaled_kernels(kernels):
    """Left to right, the states that were left long ago are cut, and nothing is lost by it."""
    size, length = 8, 1600
    trans = 0.98 * np.eye(size) + 0.02 * np.eye(size, k=1)
    trans[-1, -1] = 1.0
    trans[0, 3] = 1e-140  # too small to matter
    scores = np.where(np.arange(length)[:, None] * size // length == np.arange(size), 0.0, -8.0)
    case = (np.eye(size)[0], trans, np.array([length]), np.ones(1), scores)
    assert np.isfinite(scaled_soft(kernels, *case)[3]).all()
    assert np.isfinite(scaled_filter(kernels, *case)[1]).all()


def test_a_share_of_a_state_that_is_cut_for_good_is_given_to_the_kernel_in_logs(kernels):
    start, lengths = np.array([1.0, 1e-281]), np.array([400])
    scores = np.zeros((400, 2))
    scores[20:, 0] = -5.0
    case = (start, np.eye(2), lengths, np.ones(1), scores)
    assert np.isnan(scaled_soft(kernels, *case)[3]).all()
    kept, log_evidence = scaled_filter(kernels, *case)
    assert np.isnan(log_evidence).all()
    np.testing.assert_array_equal(kept, scores)


def test_a_state_that_wins_in_the_middle_only_is_seen_by_the_filter(kernels):
    """At the end nothing is left of it: what was observed as a whole does not tell."""
    scores = np.zeros((300, 2))
    scores[:100, 1], scores[100:200, 0], scores[200:, 1] = -10.0, -20.0, -30.0
    given = Potentials(logs(np.array([0.5, 0.5])), logs(np.eye(2)), scores, np.array([300]))
    seen = filtered(given, np.empty(1))
    assert np.exp(seen[[99, 199, 299], 1]).round(6).tolist() == [0.0, 1.0, 0.0]


def test_a_model_finds_the_state_that_explains_the_rest():
    """Whole models: columns of categories (alone and several), numbers and counts, likelihood and posteriors."""
    table = {"a": [1.0 - 1e-9, 0.5], "b": [1e-9, 0.5]}
    numbers = {"mean": [0.0, 9.0], "sd": [1.0, 1.0]}
    steps = [("a", 0.25)] * 40 + [("b", 9.5)] * 60
    for kinds in ([table], [numbers], [table, numbers], [table] * 3):
        columns = {f"x{d}": kind for d, kind in enumerate(kinds)}
        model = hs.HMM.from_params([1.0 - 1e-200, 1e-200], np.eye(2).tolist(), columns)
        rows = [[row[0] if "a" in column else row[1] for column in columns.values()] for row in steps]
        log_joint = logs(np.array([1.0, 1e-200]))
        for k in range(2):
            for column in columns.values():
                for label, number in steps:
                    off = (number - numbers["mean"][k]) ** 2 / 2 + np.log(2 * np.pi) / 2
                    log_joint[k] += np.log(column[label][k]) if label in column else -off
        assert log_joint[1] > log_joint[0] + 50
        assert model.score(rows) == pytest.approx(log_joint[1], rel=1e-12)
        np.testing.assert_allclose(model.predict_proba(rows)[:, 1], 1.0)
        np.testing.assert_allclose(model.forecast(rows).states[0, 0], [0.0, 1.0], atol=1e-12)
        how = {"covariance_type": "diag", "max_iter": 1, "stop": "iterations", "n_init": 1, "variance_floor": 1e-8}
        again = hs.HMM(2, "auto", start=model.params_, **how).fit(rows)
        assert again.loglik_ == pytest.approx(log_joint[1], rel=1e-12)


def test_small_probabilities_of_several_columns_are_not_zero_together():
    """1e-120 in each of three columns is no float; for two thousand steps that state is the better one."""
    faint = {"a": [0.5, 1e-120], "b": [0.5, 1.0]}
    columns = {f"x{d}": faint for d in range(3)}
    rows = [["a"] * 3] + [["b"] * 3] * 2000
    model = hs.HMM.from_params([0.5, 0.5], np.eye(2).tolist(), columns)
    again = hs.HMM(2, "auto", start=model.params_, max_iter=1, stop="iterations", n_init=1).fit(rows)
    assert again.loglik_ == pytest.approx(np.log(0.5) + 3 * np.log(1e-120), rel=1e-12)


def test_a_long_sequence_may_be_lost_early(kernels):
    scores = np.zeros((9000, 2))
    scores[10, 0] = -1000.0
    case = (np.array([1.0, 0.0]), np.eye(2), np.array([9000]), np.ones(1), scores)
    usage, *_, log_evidence = scaled_soft(kernels, *case)
    assert np.isnan(log_evidence).all()
    np.testing.assert_array_equal(usage, scores)
