"""The kernels of transcripts, in NumPy and in C++, against sums over all ways and against each other."""

import itertools

import numpy as np
import pytest
from scipy.special import logsumexp

from halfseen.families.transcript.lexicon import Lexicon
from halfseen.kernels import plain
from halfseen.kernels.align import align_rows
from halfseen.structures.transcript import Graph


@pytest.fixture(params=["plain", "compiled"])
def kernels(request):
    """The NumPy kernels, and the C++ ones where they were built."""
    return plain if request.param == "plain" else pytest.importorskip("halfseen.kernels.compiled")


def some(said="ab c", n_frames=6, n_states=1, seed=0, spread=3.0):
    """Return a graph with pauses and pronunciations, logs of its arcs, and scores."""
    words = Lexicon(("a", "b", "c", "sil"), n_states, "sil", {"ab": (("a", "b"), ("b",)), "c": (("c",),)})
    graph, rng = words.layout(said.split()).graph, np.random.default_rng(seed)
    return graph, np.log(rng.random(len(graph.source))), spread * rng.normal(size=(n_frames, words.n_emissions))


def all_ways(graph, logs, scores):
    """Yield the arcs of every way, and the log of its joint probability."""
    leaving = {node: np.flatnonzero(graph.source == node).tolist() for node in range(-1, graph.n_nodes)}

    def onward(node, t, arcs, total):
        for a in leaving[node]:
            target = graph.target[a]
            if t == len(scores):
                if target == graph.n_nodes:
                    yield [*arcs, a], total + logs[a]
            elif target < graph.n_nodes:
                yield from onward(target, t + 1, [*arcs, a], total + logs[a] + scores[t, graph.owner[target]])

    yield from onward(-1, 0, [], 0.0)


def soft(kernels, graph, logs, scores, outer=1.0, rows=None, spans=None):
    usage, arc_usage, times = scores.copy(), np.zeros(len(logs)), np.zeros((2, graph.n_nodes))
    spans = np.zeros((0, len(scores), 2), dtype=np.int64) if spans is None else spans
    held = np.empty(spans.shape[:2])
    work = np.empty((len(scores) + 1 if rows is None else rows, graph.n_nodes))
    how = (graph.firsts, graph.source, logs, graph.owner, outer, usage, work, arc_usage, times, spans, held)
    return kernels.align_soft(*how), usage, arc_usage, times, held


def hard(kernels, graph, logs, scores, rows=None):
    arcs = np.full(len(scores) + 1, -9)
    work = np.empty((len(scores) + 1 if rows is None else rows, graph.n_nodes))
    return kernels.align_hard(graph.firsts, graph.source, logs, graph.owner, scores, work, arcs), arcs


def draw(kernels, graph, logs, scores, uniforms, rows=None):
    arcs = np.full(uniforms.shape, -9)
    work = np.empty((len(scores) + 1 if rows is None else rows, graph.n_nodes))
    return kernels.align_draw(graph.firsts, graph.source, logs, graph.owner, scores, uniforms, work, arcs), arcs


@pytest.mark.parametrize("said", ["ab", "ab c", "c ab ab"])
def test_soft_sums_over_all_ways(kernels, said):
    graph, logs, scores = some(said)
    ways = list(all_ways(graph, logs, scores))
    evidence = logsumexp([total for _, total in ways])
    usage, arc_usage, times = np.zeros_like(scores), np.zeros(len(logs)), np.zeros((2, graph.n_nodes))
    spans = np.array([[[0, 2]] * len(scores), [[1, graph.n_nodes]] * len(scores)])
    held = np.zeros((2, len(scores)))
    for arcs, total in ways:
        p = np.exp(total - evidence)
        np.add.at(arc_usage, arcs, 2.0 * p)
        for t, node in enumerate(graph.target[arcs[:-1]]):
            usage[t, graph.owner[node]] += 2.0 * p
            times[:, node] += p, p * (2 * t + 1)
            held[:, t] += p * (node < 2), p * (node >= 1)
    found = soft(kernels, graph, logs, scores, 2.0, spans=spans)
    for one, other in zip(found, (evidence, usage, arc_usage, times, held), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-13)


def test_hard_is_the_best_of_all_ways(kernels):
    for seed in range(5):
        graph, logs, scores = some(seed=seed)
        arcs, total = max(all_ways(graph, logs, scores), key=lambda way: way[1])
        joint, found = hard(kernels, graph, logs, scores)
        np.testing.assert_allclose(joint, total, rtol=1e-12)
        assert found.tolist() == arcs


def test_draws_have_the_frequencies_of_ways(kernels):
    graph, logs, scores = some("ab", 4, spread=0.5)
    ways = {tuple(arcs): total for arcs, total in all_ways(graph, logs, scores)}
    evidence = logsumexp(list(ways.values()))
    n_draws = 20_000
    found, arcs = draw(kernels, graph, logs, scores, np.random.default_rng(1).random((n_draws, len(scores) + 1)))
    np.testing.assert_allclose(found, evidence, rtol=1e-12)
    distinct, counts = np.unique(arcs, axis=0, return_counts=True)
    seen = dict(zip(map(tuple, distinct.tolist()), counts.tolist(), strict=True))
    assert set(seen) <= set(ways)
    for way, total in ways.items():
        p = np.exp(total - evidence)
        assert abs(seen.get(way, 0) - n_draws * p) < 6 * np.sqrt(n_draws * p) + 1


@pytest.mark.parametrize("n_states", [1, 3])
@pytest.mark.parametrize("rows", [None, "few"])
def test_the_two_agree_also_in_blocks(n_states, rows):
    compiled = pytest.importorskip("halfseen.kernels.compiled")
    graph, logs, scores = some("ab c c ab", 67, n_states, seed=3, spread=30.0)
    rows = align_rows(len(scores), graph.n_nodes, 1) if rows else None
    assert rows is None or rows < 20
    spans = np.array([[[j % graph.n_nodes, graph.n_nodes] for j in range(len(scores))]])
    for one, other in zip(
        soft(compiled, graph, logs, scores, 1.5, rows, spans),
        soft(plain, graph, logs, scores, 1.5, None, spans),
        strict=True,
    ):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)
    (joint, arcs), (again, same) = hard(compiled, graph, logs, scores, rows), hard(plain, graph, logs, scores)
    np.testing.assert_allclose(joint, again, rtol=1e-12)
    assert arcs.tolist() == same.tolist()
    uniforms = np.random.default_rng(0).random((3, len(scores) + 1))
    (level, arcs), (again, same) = (
        draw(k, graph, logs, scores, uniforms, r) for k, r in ((compiled, rows), (plain, None))
    )
    np.testing.assert_allclose(level, again, rtol=1e-12)
    assert arcs.tolist() == same.tolist()


def test_the_only_way_counts_however_far_below_it_lies(kernels):
    """Frames that look like the end from the start on: the first state is left a thousand nats below, and needed."""
    graph, logs, _ = some("ab", 4)
    scores = np.full((4, 4), -1000.0)
    scores[:, 1] = 0.0  # b
    scores[0] = [-5000.0, -np.inf, -np.inf, -np.inf]
    evidence, usage, *_ = soft(kernels, graph, logs, scores)
    assert np.isfinite(evidence)
    np.testing.assert_allclose(usage.argmax(axis=1), [0, 1, 1, 1])
    np.testing.assert_allclose(usage.sum(axis=1), 1.0)


@pytest.mark.parametrize("bad", [-np.inf, np.nan])
def test_impossible_and_undefined_frames(kernels, bad):
    graph, logs, scores = some()
    scores[2] = bad
    evidence, usage, arc_usage, *_ = soft(kernels, graph, logs, scores)
    np.testing.assert_equal([evidence, hard(kernels, graph, logs, scores)[0]], [bad, bad])
    assert not usage.any()
    assert not arc_usage.any()


def test_one_frame_and_one_state(kernels):
    words = Lexicon(("a",), 1)
    graph = words.layout(["a"]).graph
    evidence, usage, arc_usage, *_ = soft(kernels, graph, np.log([1.0, 0.5, 0.5]), np.array([[-2.0]]))
    np.testing.assert_allclose(evidence, -2.0 + np.log(0.5))
    assert usage.tolist() == [[1.0]]
    assert sorted(arc_usage.tolist()) == [0.0, 1.0, 1.0]


def test_no_frame_at_all(kernels):
    """Nothing can be said in it, unless the graph has a way past everything."""
    graph, logs, scores = some(n_frames=0)
    evidence, _, arc_usage, *_ = soft(kernels, graph, logs, scores)
    assert evidence == hard(kernels, graph, logs, scores)[0] == -np.inf
    assert not arc_usage.any()
    graph = Graph.of([0], [(-1, 0, ()), (0, 0, ()), (0, 1, ()), (-1, 1, ())])
    logs = np.log([0.5, 0.5, 0.5, 0.5])
    past = int(np.flatnonzero((graph.source == -1) & (graph.target == 1))[0])
    evidence, _, arc_usage, *_ = soft(kernels, graph, logs, np.zeros((0, 1)))
    np.testing.assert_allclose(evidence, np.log(0.5))
    assert np.flatnonzero(arc_usage).tolist() == [past]
    assert hard(kernels, graph, logs, np.zeros((0, 1)))[1].tolist() == [past]
    assert draw(kernels, graph, logs, np.zeros((0, 1)), np.array([[0.3]]))[1].tolist() == [[past]]


def test_rows_of_scratch():
    for n_frames, n_nodes in itertools.product([1, 15, 16, 17, 100, 10_007], [1, 50]):
        assert align_rows(n_frames, n_nodes, 10**9) == n_frames + 1
        assert align_rows(n_frames, n_nodes, 1) <= max(16, 2 * np.sqrt(n_frames) + 2)
