"""The kernels of transcripts, in NumPy and in C++, against sums over all ways and against each other."""

import numpy as np
import pytest
from scipy.special import logsumexp

from halfseen.assign import SOFT
from halfseen.families.transcript.chunks import TranscriptSteps
from halfseen.families.transcript.lexicon import Lexicon
from halfseen.kernels import plain
from halfseen.structures import transcript_passes
from halfseen.structures.transcript import Graph, LeftRight
from halfseen.structures.transcript_passes import CELLS, Scored


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


def passes(kernels, graph, logs, scores, band=None, cells=CELLS):
    """Return passes by these kernels instead of those in use."""
    found = transcript_passes.Passes(graph, logs, Scored.of(scores), band, cells)
    found.kernels = kernels
    return found


def soft(kernels, graph, logs, scores, outer=1.0, cells=CELLS, spans=None, band=None):
    """Return the log-evidence, usage of emissions and arcs, times of nodes, and the probability of spans."""
    usage, arc_usage = scores.copy(), np.zeros(len(logs))
    spans = np.zeros((0, len(scores), 2), dtype=np.int64) if spans is None else spans
    found = passes(kernels, graph, logs, usage, band, cells)
    evidence = found.forward()
    held, times = found.soft(outer, arc_usage, usage, spans) if evidence > -np.inf else (0.0, 0.0)
    return evidence, usage, arc_usage, times, held


def hard(kernels, graph, logs, scores, cells=CELLS, band=None):
    """Return the log of the best joint, and the arcs and the scores of the best way."""
    found = passes(kernels, graph, logs, scores, band, cells)
    joint = found.forward(best=True)
    return joint, *(found.trace() if joint > -np.inf else (None, None))


def draw(kernels, graph, logs, scores, uniforms, cells=CELLS, band=None):
    """Return the log-evidence and the arcs of ways that were drawn."""
    found = passes(kernels, graph, logs, scores, band, cells)
    return found.forward(), found.draw(uniforms)


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
        joint, found, own = hard(kernels, graph, logs, scores)
        np.testing.assert_allclose(joint, total, rtol=1e-12)
        assert found.tolist() == arcs
        np.testing.assert_allclose(own.sum() + logs[found].sum(), total, rtol=1e-12)


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


def sloping(graph, n_frames, width):
    """Return a band of so many nodes that goes from the first to the last."""
    low = np.arange(n_frames) * (graph.n_nodes - width) // (n_frames - 1)
    return np.stack([low, low + width], axis=1)


@pytest.mark.parametrize("n_states", [1, 3])
@pytest.mark.parametrize("cells", [CELLS, 1], ids=["one block", "blocks"])
@pytest.mark.parametrize("width", [None, 20, 9])
def test_the_two_agree_also_in_blocks_and_bands(n_states, cells, width):
    compiled = pytest.importorskip("halfseen.kernels.compiled")
    graph, logs, scores = some("ab c c ab", 67, n_states, seed=3, spread=30.0)
    band = None if width is None else sloping(graph, len(scores), min(width, graph.n_nodes))
    assert passes(plain, graph, logs, scores, band, cells).n_blocks == (1 if cells == CELLS else 8)
    spans = np.array([[[j % graph.n_nodes, graph.n_nodes] for j in range(len(scores))]])
    for one, other in zip(
        soft(compiled, graph, logs, scores, 1.5, cells, spans, band),
        soft(plain, graph, logs, scores, 1.5, CELLS, spans, band),
        strict=True,
    ):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)
    (joint, arcs, own), (again, same, _) = (
        hard(k, graph, logs, scores, c, band) for k, c in ((compiled, cells), (plain, CELLS))
    )
    np.testing.assert_allclose(joint, again, rtol=1e-12)
    assert arcs.tolist() == same.tolist()
    np.testing.assert_array_equal(own, scores[np.arange(67), graph.owner[graph.target[arcs[:-1]]]])
    uniforms = np.random.default_rng(0).random((3, len(scores) + 1))
    (level, arcs), (again, same) = (
        draw(k, graph, logs, scores, uniforms, c, band) for k, c in ((compiled, cells), (plain, CELLS))
    )
    np.testing.assert_allclose(level, again, rtol=1e-12)
    assert arcs.tolist() == same.tolist()


@pytest.mark.parametrize("said", ["ab c", "c ab ab"])
@pytest.mark.parametrize("cells", [CELLS, 1], ids=["one block", "blocks"])
def test_a_band_leaves_out_the_ways_outside_it_and_no_others(kernels, said, cells):
    graph, logs, scores = some(said, 7)
    rng = np.random.default_rng(len(said))
    for _ in range(10):
        low, high = (np.sort(rng.integers(0, graph.n_nodes, len(scores))) for _ in "lh")
        band = np.stack([np.minimum(low, high), np.maximum(low, high) + 1], axis=1)
        band[0, 0], band[-1, 1] = 0, graph.n_nodes
        ways = [
            (arcs, total)
            for arcs, total in all_ways(graph, logs, scores)
            if ((band[:, 0] <= graph.target[arcs[:-1]]) & (graph.target[arcs[:-1]] < band[:, 1])).all()
        ]
        evidence, usage, *_ = soft(kernels, graph, logs, scores, 1.0, cells, band=band)
        joint, found, _ = hard(kernels, graph, logs, scores, cells, band)
        if not ways:
            assert evidence == joint == -np.inf
            continue
        np.testing.assert_allclose(evidence, logsumexp([total for _, total in ways]), rtol=1e-11)
        arcs, total = max(ways, key=lambda way: way[1])
        np.testing.assert_allclose(joint, total, rtol=1e-12)
        assert found.tolist() == arcs
        expected = np.zeros_like(scores)
        for arcs, total in ways:
            expected[np.arange(7), graph.owner[graph.target[arcs[:-1]]]] += np.exp(total - evidence)
        np.testing.assert_allclose(usage, expected, rtol=1e-10, atol=1e-13)


def test_a_band_of_all_nodes_and_blocks_of_any_size_give_the_same_bits(kernels):
    graph, logs, scores = some("ab c c ab", 67, 2, spread=10.0)
    band = np.tile([0, graph.n_nodes], (67, 1))
    first = soft(kernels, graph, logs, scores)
    for again in (
        soft(kernels, graph, logs, scores, band=band),
        soft(kernels, graph, logs, scores, cells=1),
        soft(kernels, graph, logs, scores, cells=1, band=band),
    ):
        for one, other in zip(first, again, strict=True):
            np.testing.assert_array_equal(one, other)
    assert hard(kernels, graph, logs, scores)[0] == hard(kernels, graph, logs, scores, 1, band)[0]


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
    np.testing.assert_equal([k(kernels, graph, logs, scores)[0] for k in (soft, hard)], [bad, bad])
    frames = TranscriptSteps({}, np.array([len(scores)]), [graph])
    found = LeftRight().infer({"moves": np.zeros((1, 40)), "emit": scores}, np.ones((1, 1)), SOFT, data=frames)
    np.testing.assert_equal(found.log_evidence, [[bad]])
    assert not any(used.any() for used in found.usage.values())


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
    assert soft(kernels, graph, logs, scores)[0] == hard(kernels, graph, logs, scores)[0] == -np.inf
    graph = Graph.of([0], [(-1, 0, ()), (0, 0, ()), (0, 1, ()), (-1, 1, ())])
    logs = np.log([0.5, 0.5, 0.5, 0.5])
    past = int(np.flatnonzero((graph.source == -1) & (graph.target == 1))[0])
    evidence, _, arc_usage, *_ = soft(kernels, graph, logs, np.zeros((0, 1)))
    np.testing.assert_allclose(evidence, np.log(0.5))
    assert np.flatnonzero(arc_usage).tolist() == [past]
    assert hard(kernels, graph, logs, np.zeros((0, 1)))[1].tolist() == [past]
    assert draw(kernels, graph, logs, np.zeros((0, 1)), np.array([[0.3]]))[1].tolist() == [[past]]


def test_blocks_of_a_long_utterance_are_as_long_as_they_are_many():
    graph, logs, _ = some("ab")
    found = passes(plain, graph, logs, np.zeros((10_007, 4)), cells=10_000)
    assert (found.n_blocks, found.size) == (100, 101)
    assert found.kept.shape[0] + found.values.shape[0] == 202
