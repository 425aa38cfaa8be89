"""The kernels of chains, in NumPy and in C++, against sums over all paths and against each other.

Impossible states, NaN, no sequence, one step, sequences longer than the kernels keep, more states than a register.
"""

import itertools

import numpy as np
import pytest
from scipy.special import gammaln, logsumexp

from halfseen.kernels import plain


@pytest.fixture(params=["plain", "compiled"])
def kernels(request):
    """The NumPy kernels, and the C++ ones where they were built."""
    return plain if request.param == "plain" else pytest.importorskip("halfseen.kernels.compiled")


def some_chain(n_states, lengths, seed=0, forbid=False):
    rng = np.random.default_rng(seed)
    start, trans = rng.dirichlet(np.ones(n_states)), rng.dirichlet(np.ones(n_states), n_states)
    if forbid:
        trans = np.triu(trans) / np.triu(trans).sum(axis=1, keepdims=True)
        start = np.eye(n_states)[0]
    scores = 3 * rng.normal(size=(sum(lengths), n_states))
    return start, trans, np.array(lengths, dtype=np.int64), rng.random(len(lengths)) + 0.5, scores


def logs(table):
    with np.errstate(divide="ignore"):
        return np.log(table)


def soft(kernels, start, trans, lengths, outer, scores):
    """Return usage, usage of starts and of transitions, and log-evidence."""
    size = len(start)
    out = (scores.copy(), np.zeros(size), np.zeros((size, size)), np.empty(len(lengths)))
    kernels.chain_soft(start, trans, lengths, outer, out[0], np.empty(kernels.chain_room(lengths, size)), *out[1:])
    return out


def soft_log(kernels, start, trans, lengths, outer, scores):
    size = len(start)
    out = (scores.copy(), np.zeros(size), np.zeros((size, size)), np.empty(len(lengths)))
    work = np.empty((lengths.max(initial=0) + 2, size))
    kernels.chain_soft_log(logs(start), logs(trans), lengths, outer, out[0], work, *out[1:])
    return out


def hard(kernels, start, trans, lengths, outer, scores):
    size = len(start)
    out = (scores.copy(), np.zeros(size), np.zeros((size, size)), np.empty(len(lengths)))
    path = np.empty(len(scores), dtype=np.int64)
    back = np.empty(scores.shape, dtype=np.int32)
    kernels.chain_hard(logs(start), logs(trans), lengths, outer, out[0], back, path, *out[1:])
    return (*out, path)


def filtered(kernels, start, trans, lengths, outer, scores):
    out = (scores.copy(), np.empty(len(lengths)))
    kernels.chain_filter(start, trans, lengths, out[0], np.empty(kernels.chain_room(lengths, len(start))), out[1])
    return out


def filtered_log(kernels, start, trans, lengths, outer, scores):
    out = (scores.copy(), np.empty(len(lengths)))
    kernels.chain_filter_log(logs(start), logs(trans), lengths, *out)
    return out


def same(found, expected, rtol=1e-9):
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=rtol, atol=1e-11)


def all_paths(start, trans, scores):
    """Return every path of one sequence and its log-probability."""
    paths = list(itertools.product(range(len(start)), repeat=len(scores)))
    joint = [
        logs(start)[path[0]]
        + sum(scores[t, k] for t, k in enumerate(path))
        + sum(logs(trans)[i, j] for i, j in itertools.pairwise(path))
        for path in paths
    ]
    return np.array(paths), np.array(joint)


@pytest.mark.parametrize("forbid", [False, True], ids=["free", "forbidden"])
@pytest.mark.parametrize("length", [1, 2, 5])
@pytest.mark.parametrize("how", [soft, soft_log])
def test_usage_is_the_mean_over_all_paths(kernels, how, length, forbid):
    start, trans, lengths, outer, scores = some_chain(3, [length], forbid=forbid)
    paths, joint = all_paths(start, trans, scores)
    chances = outer[0] * np.exp(joint - logsumexp(joint))
    usage, starts, moves, log_evidence = how(kernels, start, trans, lengths, outer, scores)
    np.testing.assert_allclose(log_evidence, logsumexp(joint))
    for t, k in np.ndindex(usage.shape):
        np.testing.assert_allclose(usage[t, k], chances[paths[:, t] == k].sum(), atol=1e-14)
    np.testing.assert_allclose(starts, usage[0])
    for i, j in np.ndindex(moves.shape):
        often = ((paths[:, :-1] == i) & (paths[:, 1:] == j)).sum(axis=1)
        np.testing.assert_allclose(moves[i, j], chances @ often, atol=1e-14)
    assert np.all(moves[trans == 0] == 0)


@pytest.mark.parametrize("length", [1, 2, 5])
def test_the_best_path_is_the_best_of_all(kernels, length):
    start, trans, lengths, outer, scores = some_chain(3, [length], forbid=True)
    paths, joint = all_paths(start, trans, scores)
    usage, starts, moves, log_evidence, path = hard(kernels, start, trans, lengths, outer, scores)
    assert path.tolist() == paths[joint.argmax()].tolist()
    np.testing.assert_allclose(log_evidence, joint.max())
    np.testing.assert_array_equal(usage, outer[0] * np.eye(3)[path])
    assert starts.sum() == outer[0]
    np.testing.assert_allclose(moves.sum(), outer[0] * (length - 1))


def test_among_equal_paths_the_lowest_states_win(kernels):
    lengths = np.array([4], dtype=np.int64)
    even = np.full((3, 3), 1 / 3)
    *_, path = hard(kernels, even[0], even, lengths, np.ones(1), np.zeros((4, 3)))
    assert path.tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize("how", [filtered, filtered_log])
def test_filtering_sums_over_paths_up_to_each_step(kernels, how):
    start, trans, lengths, outer, scores = some_chain(3, [4])
    found, log_evidence = how(kernels, start, trans, lengths, outer, scores)
    for t in range(4):
        paths, joint = all_paths(start, trans, scores[: t + 1])
        expected = [logsumexp(joint[paths[:, t] == k]) - logsumexp(joint) for k in range(3)]
        np.testing.assert_allclose(found[t], expected if how is filtered_log else np.exp(expected), atol=1e-12)
    np.testing.assert_allclose(log_evidence, logsumexp(joint))


SHAPES = [[], [1], [5, 5, 5, 5], [8, 25, 17], [9, 16], [1, 7, 3, 20, 2, 9], [5000, 3, 4100], [4097, 9, 3, 8, 2]]


LONG_ONES = (2, 16, 33)  # numbers of states that long sequences are tried with


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("n_states", "lengths"),
    [
        (n_states, lengths)
        for n_states in (1, 2, 4, 7, 12, 16, 33, 40)
        for lengths in SHAPES
        if sum(lengths) < 100 or n_states in LONG_ONES
    ],
    ids=str,
)
def test_both_sets_of_kernels_agree(n_states, lengths):
    compiled = pytest.importorskip("halfseen.kernels.compiled")
    for forbid in (False, True):
        case = some_chain(n_states, lengths, forbid=forbid)
        for how in (soft, hard, filtered):
            same(how(compiled, *case), how(plain, *case))
        if sum(lengths) < 100:
            for how in (soft_log, filtered_log):
                same(how(compiled, *case), how(plain, *case))


@pytest.mark.parametrize("n_states", [2, 5, 16])
@pytest.mark.parametrize("lengths", [[3], [7, 9, 8, 30, 2], [4097, 5]], ids=str)
def test_scratch_may_begin_anywhere_and_is_large_enough(n_states, lengths):
    """Kernels begin with a cache line of it: the same bits wherever it begins, and nothing around it is touched."""
    kernels = pytest.importorskip("halfseen.kernels.compiled")
    start, trans, lengths, outer, scores = some_chain(n_states, lengths)
    size = kernels.chain_room(lengths, n_states)
    for how in ("soft", "filter"):
        first = None
        for offset in range(9):
            memory = np.full(size + 32, -7.0)
            work = memory[8 + offset : 8 + offset + size]
            out = [scores.copy(), np.zeros(n_states), np.zeros((n_states, n_states)), np.empty(len(lengths))]
            if how == "soft":
                kernels.chain_soft(start, trans, lengths, outer, out[0], work, *out[1:])
            else:
                kernels.chain_filter(start, trans, lengths, out[0], work, out[3])
            assert np.all(memory[: 8 + offset] == -7)
            assert np.all(memory[8 + offset + size :] == -7)
            first = first or out
            for one, other in zip(out, first, strict=True):
                np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("how", [soft_log, filtered_log, hard])
def test_an_impossible_sequence_has_no_usage(kernels, how):
    start, trans, lengths, outer, scores = some_chain(2, [3, 2])
    scores[1] = -np.inf
    found = how(kernels, start, trans, lengths, outer, scores)
    log_evidence = found[1] if how is filtered_log else found[3]
    assert log_evidence[0] == -np.inf
    assert np.isfinite(log_evidence[1])
    if how is filtered_log:
        assert np.isneginf(found[0][1:3]).all()
        assert np.isfinite(found[0][0]).all()
    else:
        assert not found[0][:3].any()


@pytest.mark.parametrize("spoil", [np.nan, -np.inf, -1000.0], ids=["nan", "impossible", "out of range"])
def test_scaled_kernels_leave_what_they_cannot_do(kernels, spoil):
    """Evidence NaN, scores as they were, nothing added; the other sequences are done."""
    trans = np.array([[1.0, 0.0], [0.0, 1.0]])
    start, lengths, outer = np.array([1.0, 0.0]), np.array([3, 3, 3, 3, 2], dtype=np.int64), np.ones(5)
    scores = np.zeros((14, 2))
    scores[4, 0] = spoil
    if np.isneginf(spoil):
        scores[4, 1] = spoil
    usage, starts, moves, log_evidence = soft(kernels, start, trans, lengths, outer, scores)
    assert np.isnan(log_evidence).tolist() == [False, True, False, False, False]
    np.testing.assert_array_equal(usage[3:6], scores[3:6])
    np.testing.assert_allclose(starts, [4.0, 0.0])
    np.testing.assert_allclose(moves, [[7.0, 0.0], [0.0, 0.0]])
    kept, log_evidence = filtered(kernels, start, trans, lengths, outer, scores)
    np.testing.assert_array_equal(kept[3:6], scores[3:6])
    assert np.isnan(log_evidence[1])


@pytest.mark.parametrize("length", [900, 5000])
def test_states_that_cannot_be_reached_do_not_overflow(kernels, length):
    """They would explain the rest of the sequence better and better, the longer it is: beyond the range of floats."""
    scores = np.tile([-1.0, 0.0], (length, 1))
    lengths = np.array([length], dtype=np.int64)
    usage, starts, moves, log_evidence = soft(kernels, np.array([1.0, 0.0]), np.eye(2), lengths, np.ones(1), scores)
    np.testing.assert_allclose(log_evidence, -length)
    np.testing.assert_allclose(usage, np.tile([1.0, 0.0], (length, 1)))
    np.testing.assert_allclose(starts, [1.0, 0.0])
    np.testing.assert_allclose(moves, [[length - 1, 0], [0, 0]])


def test_nan_scores_give_nan_evidence_in_logs(kernels):
    start, trans, lengths, outer, scores = some_chain(3, [4])
    scores[2, 1] = np.nan
    for how, place in ((soft_log, 3), (filtered_log, 1), (hard, 3)):
        with np.errstate(invalid="ignore"):
            found = how(kernels, start, trans, lengths, outer, scores)
        assert np.isnan(found[place][0]), how
        assert how is not hard or not any(used.any() for used in found[:3])


@pytest.mark.thorough
@pytest.mark.parametrize("n_states", [3, 11])
@pytest.mark.parametrize(("n_groups", "n_numbers", "n_counts"), [(1, 0, 0), (2, 0, 0), (6, 0, 0), (0, 3, 0), (1, 1, 1)])
def test_fused_sums_are_those_of_three_steps(kernels, n_states, n_groups, n_numbers, n_counts):
    """Padded by states that never happen; cells may be missing."""
    rng = np.random.default_rng(0)
    start, trans, lengths, outer, _ = some_chain(n_states, [4, 1, 9, 4, 4, 5000])
    n_steps, wide = lengths.sum(), -(-n_states // 8) * 8

    def padded(array, padding=0.0):
        return np.concatenate([array, np.full((*array.shape[:-1], wide - n_states), padding)], axis=-1)

    table = rng.random((5 * n_groups, n_states)) + 0.1
    mean, var, rate = (rng.random((n, n_states)) + 0.5 for n in (n_numbers, n_numbers, n_counts))
    cells = (rng.integers(0, 5, (n_steps, n_groups)) + 5 * np.arange(n_groups)).astype(np.uint16)
    values, counts = rng.normal(size=(n_steps, n_numbers)), rng.integers(0, 4, (n_steps, n_counts)).astype(float)
    values[rng.random(values.shape) < 0.2] = np.nan
    counts[rng.random(counts.shape) < 0.2] = np.nan
    constants = -gammaln(np.nan_to_num(counts) + 1)
    deviation = np.nan_to_num(values)[:, :, None] - mean
    seen, counted = ~np.isnan(values), ~np.isnan(counts)
    scores = np.log(table)[cells].sum(axis=1) if n_groups else np.zeros((n_steps, n_states))
    scores -= 0.5 * (seen[:, :, None] * (np.log(2 * np.pi * var) + deviation**2 / var)).sum(axis=1)
    scores += np.nan_to_num(counts) @ np.log(rate) - counted @ rate + constants.sum(axis=1)[:, None]
    usage, used_starts, used_moves, expected = soft(plain, start, trans, lengths, outer, scores)
    out = [np.zeros(shape) for shape in ((wide,), (wide, wide), (len(table), wide))]
    out += [np.zeros((3, n_numbers, wide)), np.zeros((3, n_counts, wide)), np.empty(len(lengths))]
    moves = np.zeros((wide, wide))
    moves[:n_states, :n_states] = trans
    emissions = (
        *(padded(table), padded(mean), padded(0.5 / var), padded(0.5 * np.log(2 * np.pi * var), 1e300)),
        *(padded(rate, 1e300), padded(np.log(rate), 690.0)),
    )
    work = np.empty(kernels.chain_room(lengths, wide))
    columns = (lengths, outer, cells, values, counts, constants)
    kernels.chain_fused(padded(start), moves, *emissions, *columns, work, *out)
    by_cell = np.zeros((len(table), n_states))
    np.add.at(by_cell, cells, usage[:, None, :])
    moments = [np.einsum("nw,nd,ndw->dw", usage, seen, deviation**power) for power in range(3)]
    sums = [factor.T @ usage for factor in (counted, np.nan_to_num(counts), constants * counted)]
    found = [part[..., :n_states] for part in out[:-1]]
    found[1] = found[1][:n_states]
    same((*found, out[-1]), (used_starts, used_moves, by_cell, np.array(moments), np.array(sums), expected))
    assert all(not part[..., n_states:].any() for part in out[:-1])


def test_paths_are_drawn_by_the_uniforms(kernels):
    """The first uniform below the cumulated chances chooses the last state, and so on back."""
    trans = np.array([[0.5, 0.5], [1.0, 0.0]])
    lengths = np.array([2, 1], dtype=np.int64)
    log_filtered = np.log([[0.4, 0.6], [0.3, 0.7], [0.5, 0.5]])
    path = np.empty(3, dtype=np.int64)
    # last step: 0.31 >= 0.3 is state 1; into state 1 only state 0 leads; the other sequence: 0.49 < 0.5 is state 0
    kernels.chain_draw(logs(trans), lengths, log_filtered, np.array([0.9, 0.31, 0.49]), path)
    assert path.tolist() == [0, 1, 0]
    # into state 0: chances 0.4 * 0.5 and 0.6 * 1, cumulated 0.25 and 1
    kernels.chain_draw(logs(trans), lengths, log_filtered, np.array([0.26, 0.29, 0.51]), path)
    assert path.tolist() == [1, 0, 1]
