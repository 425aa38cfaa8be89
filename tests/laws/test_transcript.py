"""The laws of transcripts: enumeration over segmentations, climbing, conservation, addition, weights, gradient."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import logsumexp

from halfseen.assign import HARD, SOFT, Assign
from halfseen.data import Sequences
from halfseen.engine.loop.em import evaluate
from halfseen.engine.loop.model import Model, Reduced
from halfseen.estimators.table.emission_builder import Recipe
from halfseen.families.transcript.chunks import Utterances
from halfseen.families.transcript.lexicon import Lexicon
from halfseen.leaves import Cells
from halfseen.leaves.leaf import frozen
from halfseen.runners import runner
from halfseen.structures.transcript import LeftRight
from tests.laws.closeness import close, same_bits, same_step
from tests.laws.models import FLOOR, Case, cuts, inner_mixture, summary
from tests.strategies import WHOLE, anywhere, examples, generators, tables

MODES = [SOFT, HARD, Assign("sample"), Assign("sample", draws=3)]
H = 1e-5  # half the distance of the two points of a difference


@st.composite
def transcripts(draw, kinds="cg", prior=None, silence=False, variants=False, inside=1):
    """Draw utterances of 1 to 4 frames with transcripts that fit, and a model for them."""
    n_states = draw(st.sampled_from([1, 1, 2]))
    ways = {"x": (("a",), ("b",)), "y": (("a", "b"), ("a",)), "z": (("b",),)} if variants else {}
    units = ("a", "b", "sil") if silence else ("a", "b")
    lexicon = Lexicon(units, n_states, "sil" if silence else None, ways)
    steps, rng = draw(tables(kinds, most=8)), draw(generators)
    lengths = cuts(steps.n_rows, rng)
    words = list(ways) or ["a", "b"]
    graphs = []
    for length in lengths:
        said = [str(word) for word in rng.choice(words, rng.integers(1, 4))]
        while (graph := lexicon.layout(said).graph).n_least > length and len(said) > 1:
            said = said[1:]
        graphs.append(graph)
    kept = np.array([graph.n_least <= length for graph, length in zip(graphs, lengths, strict=True)])
    frames = Sequences.of(steps, lengths, rng.choice(WHOLE, len(lengths)))
    table = Utterances(frames, tuple(graphs)).take(kept)
    emit = Recipe(steps.schema, summary(steps), lexicon.n_emissions * inside, prior, FLOOR).model().leaves["emit"]
    if inside > 1:
        emit = inner_mixture(emit, lexicon.n_emissions, inside)
    pseudo = None if prior is None else np.full((1, sum(lexicon.cardinalities)), 0.5)
    model = Model(LeftRight(), {"moves": Cells(1, lexicon.cardinalities, pseudo), "emit": emit})
    return Case(model, table, anywhere(model, draw(generators)))


CASES = {
    "units": transcripts(),
    "categories with pauses": transcripts("c", silence=True),
    "pronunciations and pauses, add one": transcripts("g", prior=1.0, silence=True, variants=True),
    "mixtures": transcripts("g", inside=2, variants=True),
}
every = pytest.mark.parametrize("cases", CASES.values(), ids=CASES.keys())
modes = pytest.mark.parametrize("assign", MODES, ids=str)


def weighted(table, weight):
    return Utterances(Sequences.of(table.frames.steps, table.lengths, weight), table.graphs)


def ways_of(graph, n_frames):
    """Yield the arcs of every way through a graph in so many frames."""
    leaving = {node: np.flatnonzero(graph.source == node).tolist() for node in range(-1, graph.n_nodes)}
    begun = [([a], graph.target[a]) for a in leaving[-1]]
    for _ in range(n_frames):
        begun = [([*arcs, a], graph.target[a]) for arcs, node in begun if node < graph.n_nodes for a in leaving[node]]
    return [arcs for arcs, node in begun if node == graph.n_nodes]


def segmentations(case, assign=SOFT):
    """Yield, for every utterance, its ways as (log of the joint, usage of moves, usage of emissions)."""
    model, prepared = case.model, case.model.prepare(case.params)
    moves = prepared["moves"][0]
    for b, (graph, length) in enumerate(zip(case.table.graphs, case.table.lengths.tolist(), strict=True)):
        [chunk] = case.table.take([b]).chunks()
        emit = model.leaves["emit"].score(prepared["emit"], chunk.blocks, assign)
        found = []
        for arcs in ways_of(graph, length):
            used, nodes = np.zeros(len(moves)), graph.target[arcs[:-1]]
            for a in arcs:
                np.add.at(used, graph.moves[graph.bounds[a] : graph.bounds[a + 1]], 1.0)
            at = np.zeros_like(emit)
            at[np.arange(length), graph.owner[nodes]] = 1.0
            joint = used @ np.where(used > 0, moves, 0.0) + (at * np.where(at > 0, emit, 0.0)).sum()
            found.append((joint, used, at))
        yield found


def infer(case, assign=SOFT, params=None):
    """Return usage over all utterances as one chunk."""
    [chunk] = case.table.chunks(10**6)
    prepared = case.model.prepare(case.params if params is None else params)
    if assign.mode == "sample":
        assign = replace(assign, rng=np.random.default_rng(0))
    return case.model.infer(prepared, chunk.blocks, case.table.weight[:, None], assign)


def some(data, cases):
    return data.draw(cases.filter(lambda case: len(case.table.graphs) > 0))


@every
@examples(8)
@given(data=st.data())
def test_soft_is_the_mean_over_all_segmentations(cases, data):
    case = some(data, cases)
    found, moves, emit = infer(case), 0.0, []
    for b, ways in enumerate(segmentations(case)):
        joints = np.array([joint for joint, _, _ in ways])
        evidence, weight = logsumexp(joints), case.table.weight[b]
        close(found.log_evidence[b, 0], evidence)
        shares = weight * np.exp(joints - evidence)
        moves = moves + sum(share * way[1] for share, way in zip(shares, ways, strict=True))
        emit.append(sum(share * way[2] for share, way in zip(shares, ways, strict=True)))
    close(found.usage["moves"][0], moves)
    close(found.usage["emit"], np.concatenate(emit))


@every
@examples(8)
@given(data=st.data())
def test_hard_is_the_best_segmentation(cases, data):
    case = some(data, cases)
    found = infer(case, HARD)
    last = np.cumsum(case.table.lengths)
    for b, ways in enumerate(segmentations(case, HARD)):
        best = max(joint for joint, _, _ in ways)
        close(found.log_evidence[b, 0], best)
        own = found.usage["emit"][last[b] - case.table.lengths[b] : last[b]]
        rivals = [case.table.weight[b] * at for joint, _, at in ways if joint >= best - 1e-9 * max(1, abs(best))]
        assert any(np.array_equal(own, at) for at in rivals)


@every
@modes
@examples(4)
@given(data=st.data())
def test_usage_sums_to_frames_and_every_state_is_left_as_often_as_entered(cases, assign, data):
    case = some(data, cases)
    found = infer(case, assign)
    close(found.usage["emit"].sum(axis=1), np.repeat(case.table.weight, case.table.lengths))
    n_emissions = found.usage["emit"].shape[1]
    steps = found.usage["moves"][0, : 2 * n_emissions].reshape(-1, 2)  # every frame ends in a stay or a leave
    close(steps.sum(axis=1), found.usage["emit"].sum(axis=0))


@every
@pytest.mark.parametrize("assign", [SOFT, HARD], ids=lambda assign: assign.mode)
@examples(6)
@given(data=st.data())
def test_no_step_lowers_the_objective(cases, assign, data):
    case = some(data, cases)
    trace, params = [], case.params
    for _ in range(6):
        step = case.step(assign, params)
        trace.append(step.objective)
        params = case.model.improved(step)
    assert (np.diff(trace) >= -1e-9 * np.maximum(1.0, np.abs(trace[:-1]))).all(), trace


@every
@examples(4)
@given(data=st.data(), size=st.integers(1, 4))
def test_any_split_gives_the_same_statistics(cases, data, size):
    case = some(data, cases)
    same_step(case.step(size=size), case.step())
    same_step(case.step(HARD, size=size), case.step(HARD))


@every
@modes
@examples(2)
@given(data=st.data())
def test_any_number_of_workers_gives_the_same_bits(cases, assign, data):
    case = some(data, cases)
    found = []
    for n_jobs in (1, 3):
        with runner(n_jobs, n_chunks=5) as run:
            found.append(case.step(assign, size=1, runner=run, seed=np.random.SeedSequence(3)))
    same_bits(found[1].expected.stats, found[0].expected.stats)
    assert (found[1].objective, found[1].expected.digest) == (found[0].objective, found[0].expected.digest)


@every
@pytest.mark.parametrize("assign", [SOFT, HARD], ids=lambda assign: assign.mode)
@examples(4)
@given(data=st.data())
def test_weight_two_is_the_utterance_twice_and_weight_zero_is_none(cases, assign, data):
    case = some(data, cases)
    units = np.repeat(np.arange(len(case.table.graphs)), case.table.weight.astype(int))
    repeated = case.but(table=weighted(case.table.take(units), np.ones(len(units))))
    same_step(repeated.step(assign), case.step(assign))


@every
@examples(4)
@given(data=st.data())
def test_usage_of_moves_is_the_gradient_of_the_evidence(cases, data):
    case = some(data, cases)
    found = infer(case)
    cell = data.draw(st.integers(0, case.params["moves"].shape[1] - 1))

    def level(by):
        moves = np.array(case.params["moves"])
        moves[0, cell] *= np.exp(by)
        up = infer(case, params={**case.params, "moves": frozen(moves)}).log_evidence[:, 0]
        return case.table.weight @ up

    np.testing.assert_allclose((level(H) - level(-H)) / (2 * H), found.usage["moves"][0, cell], rtol=1e-5, atol=1e-6)


@examples(3)
@given(data=st.data())
def test_many_draws_tend_to_the_soft_step(data):
    case = some(data, CASES["pronunciations and pauses, add one"])
    [chunk] = case.table.chunks(10**6)
    prepared = case.model.prepare(case.params)
    n_draws = 4000
    assign = Assign("sample", draws=n_draws, rng=np.random.default_rng(5))
    drawn = case.model.infer(prepared, chunk.blocks, case.table.weight[:, None], assign)
    mean = infer(case).usage["emit"]
    sigma = np.sqrt(np.repeat(case.table.weight, case.table.lengths)[:, None] / n_draws)
    assert (np.abs(drawn.usage["emit"] - mean) <= 6 * sigma / 2 + 1e-9).all()


@examples(6)
@given(data=st.data())
def test_one_state_per_frame_is_supervised_counting(data):
    """As many states as frames leave one segmentation: a step is counting, and changes nothing any more."""
    steps, rng = data.draw(tables("cg", most=8)), data.draw(generators)
    lexicon, lengths = Lexicon(("a", "b", "c"), 1), cuts(steps.n_rows, rng)
    said = rng.integers(0, 3, steps.n_rows)
    names = np.array(["a", "b", "c"])[said]
    graphs = [lexicon.layout(part.tolist()).graph for part in np.split(names, np.cumsum(lengths)[:-1])]
    table = Utterances(Sequences.of(steps, lengths), tuple(graphs))
    emit = Recipe(steps.schema, summary(steps), 3, None, FLOOR).model().leaves["emit"]
    model = Model(LeftRight(), {"moves": Cells(1, lexicon.cardinalities), "emit": emit})
    params = anywhere(model, data.draw(generators))
    for assign, others in itertools.product((SOFT, HARD), (params, anywhere(model, np.random.default_rng(0)))):
        [step] = evaluate(model, Reduced(table.chunks()), [others], assign)
        counted = np.zeros(emit.stats_shape)
        emit.count(said, np.ones(len(said)), emit.prepare(others["emit"]), steps.blocks, counted)
        close(model.view(step.expected.stats)["emit"], counted)
        stays = model.view(step.expected.stats)["moves"].reshape(-1, 2)
        close(stays, np.stack([np.zeros(3), np.bincount(said, minlength=3)], axis=1))
