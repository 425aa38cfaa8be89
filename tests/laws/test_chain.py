"""The laws of chains: conservation, enumeration over paths, gradient, missing steps, long and hopeless sequences."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp

from halfseen.assign import HARD, SOFT, Assign
from halfseen.data import Evidence, Schema, Sequences, Steps, Table
from halfseen.engine.loop.em import evaluate
from halfseen.engine.tables.mixture import Mixture
from halfseen.families.hmm.model import HiddenMarkov, reduce_sequences
from halfseen.leaves import Categorical, Cells, Product
from halfseen.structures.chain import MarkovChain
from halfseen.structures.independent import Independent
from tests.laws.closeness import close, same_step
from tests.laws.models import MODELS, Case, chains
from tests.reference.enumerate import enumerate_sequences
from tests.strategies import examples, generators, seeds

CHAINS = [entry for entry in MODELS if not entry.rows]
SIGMAS = 6.0  # a true law fails one comparison in 5e8
H = 1e-5  # half the distance of the two points of a difference


def every_chain(*needs):
    entries = [entry for entry in CHAINS if all(getattr(entry, need) for need in needs)]
    return pytest.mark.parametrize("entry", entries, ids=lambda entry: entry.name)


def some(case, most=3):
    """Return the case with few enough steps to look at every path, with mixtures inside too."""
    table = case.table
    short = np.flatnonzero(table.lengths <= 3)[:most]
    return case.but(table=table.take(short))


@every_chain()
@pytest.mark.parametrize("assign", [SOFT, HARD, Assign("sample"), Assign("sample", draws=3)], ids=str)
@examples(4)
@given(data=st.data())
def test_usage_sums_to_steps_and_to_transitions(entry, assign, data):
    """States are used T times in a sequence, transitions T - 1 times, one start."""
    case = data.draw(entry.cases)
    parts = case.model.view(case.step(assign).expected.stats)
    weight, lengths = case.table.weight, case.table.lengths
    close(parts["start"].sum(), weight.sum())
    close(parts["trans"].sum(), weight @ (lengths - 1))
    found = infer(case, assign)
    close(found.usage["emit"].sum(axis=1), np.repeat(weight, lengths))


@every_chain()
@examples(4)
@given(data=st.data())
def test_every_state_is_left_as_often_as_it_is_entered(entry, data):
    """Usage of a state = starts in it + transitions into it = ends in it + transitions out of it."""
    case = data.draw(entry.cases)
    if case.model.structure.owner is not None:
        return
    found = infer(case, SOFT)
    close(found.usage["emit"].sum(axis=0), found.usage["start"][0] + found.usage["trans"].sum(axis=0))
    ends = found.usage["emit"][np.cumsum(case.table.lengths) - 1].sum(axis=0)
    close(found.usage["emit"].sum(axis=0), ends + found.usage["trans"].sum(axis=1))


def infer(case, assign):
    model, table = case.model, case.table
    labels = None if table.evidence is None else table.evidence.log_evidence
    if assign.mode == "sample":
        assign = replace(assign, rng=np.random.default_rng(0))
    steps = Steps(table.blocks, table.lengths)
    return model.infer(model.prepare(case.params), steps, table.weight[:, None], assign, labels)


# ---- enumeration ----------------------------------------------------------------------------------------------------


@every_chain()
@examples(6)
@given(data=st.data())
def test_soft_is_the_mean_over_all_paths(entry, data):
    case = some(data.draw(entry.cases))
    truths, step, weight = enumerate_sequences(case.model, case.params, case.table), case.step(), case.table.weight
    used = [(w, truth) for w, truth in zip(weight, truths, strict=True) if w > 0]
    close(step.loglik, sum(w * truth[0] for w, truth in used))
    close(step.expected.stats, sum((w * truth[1] for w, truth in used), np.zeros(case.model.stats_shape)))


@every_chain()
@examples(6)
@given(data=st.data())
def test_hard_is_the_best_of_all_paths(entry, data):
    case = some(data.draw(entry.cases))
    truths = enumerate_sequences(case.model, case.params, case.table)
    for b, (_, _, ways) in enumerate(truths):
        one = case.but(table=Sequences.of(case.table.take([b]).steps, case.table.lengths[[b]]))
        step, best = one.step(HARD), max(way.log_joint for way in ways)
        close(step.loglik, best)
        rivals = [way.stats for way in ways if way.log_joint >= best - 1e-9 * max(1.0, abs(best))]
        assert any(np.allclose(step.expected.stats, stats, rtol=1e-10, atol=1e-9) for stats in rivals)


@every_chain("whole")
@settings(max_examples=2, derandomize=True)
@given(data=st.data())
def test_many_draws_tend_to_the_soft_step(entry, data):
    """The mean of M paths drawn backwards is off by less and less, as 1 / sqrt(M)."""
    case = some(data.draw(entry.cases.filter(lambda case: case.table.weight.max() > 1)))
    truths = enumerate_sequences(case.model, case.params, case.table)
    expected, variance = np.zeros(case.model.stats_shape), np.zeros(case.model.stats_shape)
    for weight, (log_evidence, mean, ways) in zip(case.table.weight, truths, strict=True):
        if weight > 0:
            chances = np.exp([way.log_joint - log_evidence for way in ways])
            expected += weight * mean
            variance += weight * (chances @ (np.array([way.stats for way in ways]) - mean) ** 2)
    for n_draws in (4, 4000):
        step = case.step(Assign("sample", draws=n_draws), seed=np.random.SeedSequence(7))
        off = np.abs(step.expected.stats - expected)
        assert np.all(off <= SIGMAS * np.sqrt(variance / n_draws) + 1e-8 * max(1.0, np.abs(expected).max())), n_draws


@examples(20)
@given(seed=seeds)
def test_paths_are_drawn_as_often_as_they_are_probable(seed):
    rng = np.random.default_rng(seed)
    scores = {"start": rng.normal(size=(1, 2)), "trans": rng.normal(size=(2, 2)), "emit": rng.normal(size=(3, 2))}
    one = Steps({}, np.array([3]))
    n_draws = 2000
    truth = MarkovChain().infer({k: v.copy() for k, v in scores.items()}, np.ones((1, 1)), SOFT, data=one).usage
    assign = Assign("sample", draws=n_draws, rng=rng)
    drawn = MarkovChain().infer({k: v.copy() for k, v in scores.items()}, np.ones((1, 1)), assign, data=one).usage
    for name, used in truth.items():
        assert np.all(np.abs(drawn[name] - used) <= SIGMAS * np.sqrt(2 / n_draws)), name


# ---- the gradient ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("beta", [1.0, 0.3, 2.5])
@pytest.mark.parametrize("owner", [None, (0, 0, 1)])
@examples(8)
@given(seed=seeds, impossible=st.booleans())
def test_soft_usage_is_the_gradient_of_the_evidence(beta, owner, seed, impossible):
    """Of scores of any size: starts and transitions need not sum to one."""
    rng = np.random.default_rng(seed)
    size = 3
    structure, steps = MarkovChain(owner), Steps({}, np.array([1, 3, 2]))
    columns = size if owner is None else max(owner) + 1
    scores = {
        "start": rng.normal(size=(1, size)),
        "trans": 2 * rng.normal(size=(size, size)),
        "emit": 2 * rng.normal(size=(6, columns)),
    }
    if impossible:
        scores["trans"][0, 1] = scores["start"][0, 0] = -np.inf
    outer = rng.gamma(1.0, size=(3, 1))

    def found(moved):
        copies = {name: array.copy() for name, array in moved.items()}
        return structure.infer(copies, outer, SOFT.cooled(beta), data=steps)

    usage = found(scores).usage
    for name, array in scores.items():
        slope = np.zeros(array.shape)
        for cell in np.ndindex(array.shape):
            unit = np.zeros(array.shape)
            unit[cell] = H
            up, down = (found({**scores, name: array + sign * unit}).log_evidence for sign in (1, -1))
            slope[cell] = np.sum(outer * (up - down)) / (2 * H)
        close(usage[name], slope, 1e-6)


# ---- where chains meet other models ---------------------------------------------------------------------------------


@examples(10)
@given(case=chains("cgp"), rng=generators)
def test_equal_transition_rows_make_a_chain_a_mixture(case, rng):
    shares = rng.dirichlet(np.ones(case.params["start"].shape[1]))[None]
    chain = case.but(params={**case.params, "start": shares, "trans": np.repeat(shares, shares.size, axis=0)})
    mix = Mixture(Independent(), {"mix": Cells(1, [shares.size], axes=(1,)), "emit": case.model.leaves["emit"]})
    other = Case(mix, case.table.steps, {"mix": shares, "emit": case.params["emit"]})
    for assign in (SOFT, HARD):
        mine, its = chain.step(assign), other.step(assign)
        close(mine.loglik, its.loglik)
        close(case.model.view(mine.expected.stats)["emit"], mix.view(its.expected.stats)["emit"])


@examples(10)
@given(case=chains("cg"))
def test_the_same_sequence_twice_is_a_sequence_of_weight_two(case):
    """Statistics come from all sequences, not from the last one."""
    one = Sequences.of(case.table.steps, case.table.lengths)
    twice = one.take(np.repeat(np.arange(len(one.weight)), 2))
    heavy = Sequences.of(one.steps, one.lengths, 2 * one.weight)
    for assign in (SOFT, HARD):
        same_step(case.but(table=twice).step(assign), case.but(table=heavy).step(assign))


@examples(6)
@given(case=chains("cg"), rng=generators)
def test_with_every_state_known_a_step_is_counting(case, rng):
    n_states = case.params["start"].shape[1]
    states = rng.integers(0, n_states, case.table.steps.n_rows)
    patterns = np.vstack([np.zeros(n_states), np.where(np.eye(n_states), 0.0, -np.inf)])
    steps = replace(case.table.steps, evidence=Evidence(patterns, (states + 1).astype(np.int32)))
    case = case.but(table=Sequences.of(steps, case.table.lengths))
    moved, first = np.zeros((n_states, n_states)), 0
    for length in case.table.lengths:
        np.add.at(moved, (states[first : first + length - 1], states[first + 1 : first + length]), 1)
        first += length
    for assign in (SOFT, HARD, Assign("sample")):
        close(case.model.view(case.step(assign).expected.stats)["trans"], moved)


@every_chain()
@examples(4)
@given(data=st.data())
def test_sequences_without_observed_cells_have_loglik_zero(entry, data):
    case = data.draw(entry.cases)
    if case.table.evidence is not None:
        return
    blocks = {
        name: np.full_like(block, -1 if block.dtype.kind == "i" else np.nan)
        for name, block in case.table.blocks.items()
    }
    blind = case.but(table=replace(case.table, steps=replace(case.table.steps, blocks=blocks)))
    close(blind.step().loglik, 0.0)


@every_chain()
@examples(4)
@given(data=st.data())
def test_steps_missing_at_the_end_change_nothing_before_them(entry, data):
    case = data.draw(entry.cases)
    if case.table.evidence is not None:
        return
    table = case.table.take([0])
    steps = table.steps
    blank = {
        name: np.full_like(block[:1], -1 if block.dtype.kind == "i" else np.nan) for name, block in steps.blocks.items()
    }
    longer = {name: np.concatenate([block, blank[name], blank[name]]) for name, block in steps.blocks.items()}
    extended = Sequences.of(replace(steps, blocks=longer, weight=np.ones(len(steps.weight) + 2)), table.lengths + 2)
    alone = Sequences.of(steps, table.lengths)
    close(case.but(table=extended).step().loglik, case.but(table=alone).step().loglik)
    ends = [infer(case.but(table=each), SOFT).usage["emit"] for each in (extended, alone)]
    close(ends[0][:-2], ends[1])


# ---- the fused path -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_states", [1, 2, 5, 9, 33])
@examples(4)
@given(rng=generators, width=st.integers(1, 6), holes=st.booleans())
def test_the_fused_path_gathers_what_three_steps_do(n_states, rng, width, holes):
    """Also where a sequence runs out of range and is done again in three steps."""
    case = category_chain(rng, n_states, width, holes)
    data = reduce_sequences(case.model, case.table)
    for params in (case.params, nearly_impossible(case)):
        [fused] = evaluate(case.model, data, [params])
        same_step(fused, case.step(params=params), 1e-9)


@examples(8)
@given(case=chains("cgp", weights=(1.0, 2.0)))
def test_the_fused_path_serves_mixed_columns(case):
    data = reduce_sequences(case.model, case.table)
    [fused] = evaluate(case.model, data, [case.params])
    same_step(fused, case.step(), 1e-8)


@pytest.mark.parametrize("inside", [1, 2])
@examples(8)
@given(data=st.data(), covariance=st.sampled_from(["full", "tied"]), labels=st.booleans())
def test_the_arranged_path_gathers_what_three_steps_do(inside, data, covariance, labels):
    """Rows in the order of their holes for the emission, in the order of time for the chain."""
    case = data.draw(chains("cg", labels=labels, covariance=covariance, inside=inside))
    reduced = reduce_sequences(case.model, case.table)
    assert (reduced.path is not None) == bool(np.isnan(case.table.blocks["gaussian"]).any())
    [arranged] = evaluate(case.model, reduced, [case.params])
    same_step(arranged, case.step(), 1e-9)


def category_chain(rng, n_states, width, holes, lengths=(1, 7, 3, 12, 5, 5, 2, 30)):
    lengths = np.array(lengths)
    sizes = tuple(int(size) for size in rng.integers(1, 5, width))
    columns = [rng.integers(-1 if holes else 0, size, lengths.sum()) for size in sizes]
    emit = Product(n_states, {"categorical": Categorical(n_states, sizes)})
    leaves = {
        "start": Cells(1, [n_states], axes=(1,)),
        "trans": Cells(n_states, [n_states], axes=(0, 1)),
        "emit": emit,
    }
    model = HiddenMarkov(MarkovChain(), leaves)
    params = model.jitter(model.blank(), 1.0, rng)
    blocks = {"categorical": np.array(columns, dtype=np.int8).T.copy()}
    table = Sequences.of(_bare(blocks), lengths, rng.choice([1.0, 2.0, 0.5], len(lengths)))
    return Case(model, table, params)


def _bare(blocks):
    """Return a table of which only the cells matter."""
    n_rows = len(next(iter(blocks.values())))
    return Table(Schema((), {}), blocks, np.ones(n_rows))


def nearly_impossible(case):
    """Return parameters under which a step has next to no probability."""
    table = np.array(case.params["emit"]["categorical"])
    table[:, 0] = 1e-150
    leaf = case.model.leaves["emit"].leaves["categorical"]
    return {**case.params, "emit": {"categorical": leaf.maximise(table, table)}}


# ---- long and hopeless ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [5000, 100_000])
def test_long_sequences_are_summed_to_the_last_step(length):
    """Scaled and in logs agree, block by block or at once: a sequence of uniform emissions has a closed form."""
    rng = np.random.default_rng(0)
    case = category_chain(rng, 2, 1, False, (length,))
    sizes = case.model.leaves["emit"].leaves["categorical"].cardinalities
    even = {**case.params, "emit": {"categorical": np.full((2, sizes[0]), 1 / sizes[0])}}
    close(
        case.but(table=Sequences.of(case.table.steps, case.table.lengths)).step(params=even).loglik,
        -length * np.log(sizes[0]),
    )


def test_a_gap_beyond_the_range_of_floats_is_done_again_in_logs():
    """The only legal path is 800 nats below the best state of a step, twice."""
    scores = {
        "start": np.log([[1.0, 1e-300]]),
        "trans": np.array([[0.0, -np.inf], [-np.inf, 0.0]]),
        "emit": np.array([[0.0, 0.0], [-800.0, 0.0], [-800.0, 0.0], [0.0, -900.0]]),
    }
    steps = Steps({}, np.array([4]))
    every = [scores["start"][0, k] + scores["emit"][:, k].sum() for k in (0, 1)]
    found = MarkovChain().infer({k: v.copy() for k, v in scores.items()}, np.ones((1, 1)), SOFT, data=steps)
    close(found.log_evidence[0, 0], logsumexp(every))
    close(found.usage["emit"][0], np.exp(every - logsumexp(every)))


def test_an_impossible_sequence_says_where():
    rng = np.random.default_rng(1)
    case = category_chain(rng, 2, 1, False, (3, 4))
    n_levels = case.model.leaves["emit"].leaves["categorical"].cardinalities[0]
    while n_levels < 2:
        case = category_chain(rng, 2, 1, False, (3, 4))
        n_levels = case.model.leaves["emit"].leaves["categorical"].cardinalities[0]
    codes = np.zeros((7, 1), dtype=np.int8)
    codes[5] = 1
    case = case.but(table=Sequences.of(_bare({"categorical": codes}), np.array([3, 4])))
    never = np.zeros((2, n_levels))
    never[:, 0] = 1.0
    params = {**case.params, "emit": {"categorical": never}}
    assert case.step(params=params).loglik == -np.inf
    assert case.model.impossible(params, case.table.chunks()) == (1, 2)
    assert case.model.impossible(case.params, case.table.chunks()) is None
