"""The laws for word alignment: it equals enumeration, conserves words, adds, and climbs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import halfseen as hs
from halfseen.assign import HARD, SOFT, Assign
from halfseen.engine.loop.em import evaluate
from halfseen.engine.loop.model import Reduced
from halfseen.families.words import corpus as made
from halfseen.families.words.bitext import Bitext, encode_pairs
from halfseen.families.words.model import PooledPath, WordModel, one_chunk, pair_chunks
from halfseen.kernels import active, plain
from halfseen.leaves.positions import LOOSE, TIGHT, Diagonal, Jumps, diagonal_sums
from halfseen.leaves.translations import DirichletTranslations, Translations
from halfseen.structures import links as structure
from halfseen.structures.links import Agreed, Both, Links, best, draw, posterior
from tests.reference.enumerate_links import all_links, place_stats_slow, posterior_slow

KINDS = (0, 1, 2)


def corpus(rng, n_pairs=4, longest=4, n_words=4, null=True):
    """Pairs of random words in one direction, with the table of their lexicon."""
    n, m = rng.integers(1, longest + 1, n_pairs), rng.integers(1, longest + 1, n_pairs)
    source, target = (rng.integers(0, n_words, size.sum()).astype(np.int32) for size in (n, m))
    ends = (np.concatenate([[0], np.cumsum(size)]) for size in (n, m))
    names = tuple(map(str, range(n_words)))
    sides = made.sides_of(Bitext(source + np.int32(1), target, *ends, names, names), null)
    return sides, rng.random(len(sides.columns)) + 0.01


def cells_of(sides, p):
    """The cells of the links of pair p, (n + 1, m), -1 where there are none."""
    s, n, t, m, _ = sides.pairs[p].tolist()
    cells = np.full((n + 1, m), -1)
    for i, e in enumerate([0, *sides.source[s : s + n].tolist()]):
        for j, f in enumerate(sides.target[t : t + m].tolist()):
            row = sides.columns[sides.firsts[e] : sides.firsts[e + 1]].tolist()
            cells[i, j] = sides.firsts[e] + row.index(f) if f in row else -1
    return cells


def place_of(kind, rng, null=True, width=2):
    p0 = 0.3 if null else 0.0
    if kind == 0:
        return np.zeros(0)
    return np.array([p0, rng.random() * 8]) if kind == 1 else np.array([p0, *(rng.random(2 * width + 1) + 0.05)])


def table_of(sides, table, p):
    """t(f_j | e_i) of pair p, (n + 1, m)."""
    cells = cells_of(sides, p)
    return np.where(cells >= 0, table[cells], 0.0)


@pytest.mark.parametrize("null", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_posteriors_and_evidence_equal_enumeration(kind, null):
    for seed in range(8):
        rng = np.random.default_rng(seed)
        sides, table = corpus(rng, null=null)
        place = place_of(kind, rng, null)
        found, logs = posterior(kind, sides.block(), table, place)
        for p, post in enumerate(found):
            slow, log_evidence = posterior_slow(kind, place, table_of(sides, table, p), null)
            assert_allclose(post, slow, rtol=1e-10, atol=1e-14)
            assert_allclose(logs[p], log_evidence, rtol=1e-10)


@pytest.mark.parametrize("kind", [1, 2])
def test_statistics_of_places_equal_enumeration(kind):
    for seed in range(8):
        rng = np.random.default_rng(seed)
        sides, table = corpus(rng, n_pairs=1)
        place = place_of(kind, rng)
        usage = (
            Links(kind)
            .infer({"lexicon": table[None], "place": place}, np.full((1, 1), 2.0), SOFT, data=sides.block())
            .usage
        )
        assert_allclose(
            usage["place"], 2 * place_stats_slow(kind, place, table_of(sides, table, 0), True), rtol=1e-9, atol=1e-13
        )


@pytest.mark.parametrize("null", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_best_links_are_the_best(kind, null):
    for seed in range(8):
        rng = np.random.default_rng(seed)
        sides, table = corpus(rng, n_pairs=1, null=null)
        place = place_of(kind, rng, null)
        chosen, log_joint = best(kind, sides.block(), table, place)
        ways = dict(all_links(kind, place, table_of(sides, table, 0), null))
        assert_allclose(log_joint[0], np.log(max(ways.values())), rtol=1e-10)
        assert_allclose(ways[tuple(chosen.tolist())], max(ways.values()), rtol=1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_drawn_links_follow_the_posterior(kind):
    rng = np.random.default_rng(3)
    sides, table = corpus(rng, n_pairs=1, longest=3)
    place = place_of(kind, rng)
    slow, log_evidence = posterior_slow(kind, place, table_of(sides, table, 0), True)
    one = sides.block()
    many = one._replace(pairs=np.repeat(one.pairs, 20000, axis=0), cells=np.repeat(one.cells, 20000))
    chosen, logs = draw(kind, many, table, place, np.random.default_rng(0))
    assert_allclose(logs, log_evidence, rtol=1e-10)
    n, m = slow.shape
    shares = np.stack([np.bincount(column, minlength=n) for column in chosen.reshape(-1, m).T], axis=1) / 20000
    assert_allclose(shares, slow, atol=4 * 0.5 / np.sqrt(20000))  # four standard deviations


@pytest.mark.parametrize("kind", KINDS)
def test_usage_is_the_slope_of_the_evidence(kind):
    rng = np.random.default_rng(5)
    sides, table = corpus(rng)
    place, weight, step = place_of(kind, rng), np.array([1.0, 2.0, 0.5, 1.0]), 1e-6
    parts = {"lexicon": table[None], "place": place}
    usage = Links(kind).infer(parts, weight[:, None], SOFT, data=sides.block()).usage["lexicon"][0]
    for s in range(len(table)):
        moved = [
            posterior(kind, sides.block(), table * np.exp(d * (np.arange(len(table)) == s)), place)[1]
            for d in (step, -step)
        ]
        assert_allclose(usage[s], weight @ (moved[0] - moved[1]) / (2 * step), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mode", ["soft", "hard", "sample"])
def test_counts_sum_to_target_words(kind, mode):
    rng = np.random.default_rng(7)
    sides, table = corpus(rng, n_pairs=6)
    weight = np.array([1.0, 2.0, 0.0, 1.5, 1.0, 3.0])
    parts = {"lexicon": table[None], "place": place_of(kind, rng)}
    assign = Assign(mode, rng=np.random.default_rng(0) if mode == "sample" else None)
    usage = Links(kind).infer(parts, weight[:, None], assign, data=sides.block()).usage
    words = weight @ sides.pairs[:, 3]
    assert_allclose(usage["lexicon"].sum(), words, rtol=1e-12)
    if kind == 1:
        assert_allclose(usage["place"][0] + usage["place"][2:].sum(), words, rtol=1e-12)
    if kind == 2:
        jumps = usage["place"][1:6].sum()
        assert_allclose(usage["place"][0] + jumps, words, rtol=1e-12)
        assert_allclose(usage["place"][6:].sum(), jumps, rtol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_hard_usage_counts_the_best_links(kind):
    rng = np.random.default_rng(2)
    sides, table = corpus(rng, n_pairs=1)
    place = place_of(kind, rng)
    chosen, _ = best(kind, sides.block(), table, place)
    one_hot = np.where(table_of(sides, table, 0) > 0, 1e-300, 0.0)
    one_hot[chosen, np.arange(len(chosen))] = 1.0
    usage = Links(kind).infer({"lexicon": table[None], "place": place}, np.ones((1, 1)), HARD, data=sides.block()).usage
    counts = np.bincount(cells_of(sides, 0)[chosen, np.arange(len(chosen))], minlength=len(table))
    assert_array_equal(usage["lexicon"][0], counts)
    if kind:
        assert_allclose(usage["place"], place_stats_slow(kind, place, one_hot, True), atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_compiled_and_plain_kernels_agree(kind, seed):
    rng = np.random.default_rng(seed)
    null = bool(rng.random() < 0.7)
    sides, table = corpus(rng, n_pairs=5, longest=30, null=null)
    table[rng.random(len(table)) < 0.1] = 0.0  # impossible links, and impossible pairs
    if rng.random() < 0.5:
        size = int(((sides.pairs[:, 1] + 1) * sides.pairs[:, 3]).sum())
        sides = sides._replace(allowed=(rng.random(size) < 0.9).astype(np.uint8))
    place, weight = place_of(kind, rng, null), rng.random(5)
    block = sides.block()
    n_stats = 2 + 30 if kind == 1 else len(place) + 31
    pairs = (kind, *block.of_pairs(slice(None)), place)
    words = (*block.lexicon, 0, len(block.firsts) - 1)
    results = []
    for kernels in (active, plain):
        ends, spans, places = (np.empty_like(part) for part in (block.ends, block.spans, block.places))
        kernels.links_find(null, block.pairs, sides.source, ends[0], spans, places)
        chance, counts, stats, logs = np.full(block.size, 7.0), np.ones(len(table)), np.zeros(n_stats), np.empty(5)
        kernels.links_chances(*words, table, chance)
        looked_up = chance.copy()
        if not null:
            looked_up = np.where(chance == 7, 0.0, chance)  # nothing is looked up for NULL
        chosen, joint = np.zeros(int(block.pairs[:, 3].sum()), np.int32), np.empty(5)
        kernels.links_best(*pairs, chance, chosen, joint)
        kernels.links_posterior(*pairs, weight, chance, stats, logs)
        kernels.links_counts(*words, chance, counts)
        results.append((ends, spans, places, looked_up, joint, chance, counts, stats, logs))
    for one, two in zip(*results, strict=True):
        assert_allclose(one, two, rtol=1e-9, atol=1e-12)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_model_one_needs_no_chances_of_single_links(seed):
    rng = np.random.default_rng(seed)
    null = bool(rng.random() < 0.7)
    sides, table = corpus(rng, n_pairs=5, longest=30, n_words=9, null=null)
    table[rng.random(len(table)) < 0.1] = 0.0
    weight = rng.random((5, 1))
    bare = sides.block(matrix=False)
    assert not bare.has_matrix
    slow = Links(0).infer({"lexicon": table[None]}, weight, SOFT, data=sides.block())
    for kernels in (active, plain):
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(structure, "kernels", kernels)
            quick = Links(0).infer({"lexicon": table[None]}, weight, SOFT, data=bare)
        assert_allclose(quick.usage["lexicon"], slow.usage["lexicon"], rtol=1e-10, atol=1e-14)
        assert_allclose(quick.log_evidence, slow.log_evidence, rtol=1e-10)
    kept = bare.with_steps()
    steps = np.empty_like(kept.steps)
    plain.links_steps(*bare._replace(step_ends=kept.step_ends).lexicon, 0, len(sides.firsts) - 1, steps)
    assert_array_equal(steps, kept.steps)


@pytest.mark.parametrize("kernels", [active, plain])
@pytest.mark.parametrize("matrix", [True, False])
def test_cells_that_are_kept_change_no_bit(matrix, kernels, monkeypatch):
    """Also where a row is too long for them, and where a source word stands in one lane only."""
    monkeypatch.setattr(structure, "kernels", kernels)
    rng = np.random.default_rng(1)
    lengths = np.array([3, 70_000, 5, 4, 3])
    source, target = rng.integers(1, 4, 5).astype(np.int32), rng.integers(0, 60, lengths.sum()).astype(np.int32)
    source[1], target[3:70_003] = 4, rng.permutation(70_000)
    ends = np.arange(6), np.concatenate([[0], np.cumsum(lengths)])
    sides = made.sides_of(Bitext(source, target, *ends, tuple("abcd"), tuple(map(str, range(70_000)))), True)
    table, weight = rng.random((1, len(sides.columns))), rng.random((5, 1))
    without = sides.block(matrix=matrix)
    with_steps = without.with_steps()
    assert len(without.steps) == 0
    assert len(with_steps.steps) == lengths.sum() - 70_000  # NULL's row is long as well
    one, two = (Links(0).infer({"lexicon": table}, weight, SOFT, data=block) for block in (without, with_steps))
    assert_array_equal(one.usage["lexicon"], two.usage["lexicon"])
    assert_array_equal(one.log_evidence, two.log_evidence)
    assert_allclose(one.usage["lexicon"].sum(), weight[:, 0] @ lengths, rtol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_agreement_counts_products_both_ways(kind):
    rng = np.random.default_rng(11)
    sides, table = corpus(rng)
    n, m = sides.pairs[:, 1], sides.pairs[:, 3]
    source, target = sides.source - np.int32(1), sides.target + np.int32(1)
    ends = (np.concatenate([[0], np.cumsum(size)]) for size in (m, n))
    back = made.sides_of(Bitext(target, source, *ends, tuple("0123"), tuple("0123")), True)
    back_table = rng.random(len(back.columns)) + 0.01
    places = place_of(kind, rng), place_of(kind, rng)
    parts = {"lexicon": table[None], "place": places[0], "back_lexicon": back_table[None], "back_place": places[1]}
    both_ways = ((sides, table, places[0]), (back, back_table, places[1]))
    found = Agreed(kind).infer(parts, np.ones((4, 1)), SOFT, data=Both(sides, back).block())
    posts = [posterior(kind, one.block(), own, place) for one, own, place in both_ways]
    counts = np.zeros(len(table))
    for p, (ahead, other) in enumerate(zip(posts[0][0], posts[1][0], strict=True)):
        both = ahead[1:] * other[1:].T
        np.add.at(counts, cells_of(sides, p)[1:], both)
        np.add.at(counts, cells_of(sides, p)[0], 1 - both.sum(axis=0))
    assert_allclose(found.usage["lexicon"][0], counts, rtol=1e-10)
    assert_allclose(found.log_evidence[:, 0], posts[0][1] + posts[1][1], rtol=1e-12)
    assert_allclose(found.usage["lexicon"].sum(), m.sum(), rtol=1e-12)
    assert_allclose(found.usage["back_lexicon"].sum(), n.sum(), rtol=1e-12)


# ---- leaves ----------------------------------------------------------------------------------------------------------


def test_sums_over_the_diagonal_equal_brute_force():
    for tension in (0.1, 4.0, 14.0):
        for m in range(1, 30):
            for n in range(1, 30):
                j = np.arange(1, m + 1)
                h = -np.abs(np.arange(1, n + 1)[:, None] / n - j / m)
                parts = np.exp(tension * h)
                total, mean = diagonal_sums(n, m, j, tension)
                assert_allclose(total, parts.sum(axis=0), rtol=1e-12)
                assert_allclose(mean, (h * parts).sum(axis=0) / parts.sum(axis=0), rtol=1e-10, atol=1e-12)


def test_mean_feature_where_a_known_program_is_wrong():
    assert diagonal_sums(12, 10, 5, 4.0)[1] == pytest.approx(-0.1672, abs=5e-5)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_places_fit_no_worse_than_others_nearby(seed):
    rng = np.random.default_rng(seed)
    shapes = np.array([(n, m, j) for n, m in ((3, 4), (6, 2)) for j in range(1, m + 1)])
    own = rng.random(len(shapes)) * 5
    features = -own @ (rng.random(len(shapes)) * 0.5)
    for leaf, stats in (
        (Diagonal(shapes), np.concatenate([[rng.random()], [features], own])),
        (Jumps([3, 5], 2), _jump_stats(rng)),
    ):
        start = leaf.jitter(leaf.blank(), 0.5, rng)
        found = leaf.maximise(stats, start)
        value = leaf.complete(stats, start, found) + leaf.log_prior(found)
        assert value >= leaf.complete(stats, start, start) + leaf.log_prior(start) - 1e-9
        if isinstance(leaf, Diagonal):  # the maximiser itself
            for tension in (found[1] * 0.99, found[1] * 1.01):
                other = np.array([found[0], np.clip(tension, LOOSE, TIGHT)])
                assert leaf.complete(stats, start, other) <= value + 1e-9


def _jump_stats(rng):
    """Jumps and departures that some links of sentences with 3 and 5 words have."""
    stats = np.zeros(1 + 5 + 4 + 6)
    for n, cell in ((3, 0), (5, 4)):
        before = 0
        for i in rng.integers(0, n + 1, 30):
            if i == 0:
                stats[0] += 1
                continue
            stats[1 + np.clip(i - before, -2, 2) + 2] += 1
            stats[6 + cell + before] += 1
            before = i
    return stats


def test_a_variational_lexicon_is_below_one_and_its_mean_sums_to_one():
    leaf = DirichletTranslations(np.array([0, 2, 3]), 3, 0.01)
    params = leaf.maximise(np.array([[3.0, 0.2, 1.0]]), leaf.blank())
    weight = leaf.prepare(params)
    assert weight[0, :2].sum() < 1
    assert weight[0, 2] == pytest.approx(1.0)
    assert_allclose(leaf.sums(leaf.mean(params)), 1.0, rtol=1e-12)
    assert leaf.log_prior(np.full((1, 3), 0.01)) == pytest.approx(0.0, abs=1e-12)


# ---- fits ------------------------------------------------------------------------------------------------------------


def sentences(seed, n_pairs=40, n_words=12):
    """Sentences and word-by-word translations of them, some words astray."""
    rng = np.random.default_rng(seed)
    pairs = []
    for _ in range(n_pairs):
        source = rng.integers(0, n_words, rng.integers(2, 8))
        target = [int(w) if rng.random() < 0.9 else int(rng.integers(0, n_words)) for w in source]
        pairs.append(([f"s{w}" for w in source], [f"t{w}" for w in target if rng.random() < 0.95] or ["t0"]))
    return pairs


@pytest.mark.parametrize("dirichlet", [None, 0.1])
@pytest.mark.parametrize("assign", ["soft", "hard"])
@pytest.mark.parametrize("model", ["ibm1", "diagonal", "hmm"])
def test_the_objective_climbs(model, assign, dirichlet):
    for seed in range(3):
        how = {"agreement": False, "assign": assign, "dirichlet": dirichlet, "max_iter": 12}
        found = hs.WordAligner(model, **how).fit(sentences(seed))  # ObjectiveFell would be raised
        for stage in found.stages_:
            steps = np.diff(stage["trace"])
            assert np.all(steps >= -1e-9 * np.abs(stage["objective"]))


@pytest.mark.parametrize("assign", ["soft", "hard", "sample"])
@pytest.mark.parametrize("model", ["ibm1", "diagonal", "hmm"])
def test_any_number_of_workers_gives_the_same_bits(model, assign):
    pairs = sentences(1, 300)
    one, two = (
        hs.WordAligner(model, assign=assign, n_jobs=jobs, random_state=0, max_iter=4).fit(pairs) for jobs in (1, 3)
    )
    assert one.trace_ == two.trace_
    for name, learned in one._learned.items():
        assert_array_equal(learned.table, two._learned[name].table)


@pytest.mark.parametrize("agreement", [False, True])
@pytest.mark.parametrize("model", ["ibm1", "diagonal", "hmm"])
def test_a_weight_of_two_is_a_pair_twice_and_of_zero_none(model, agreement):
    pairs = sentences(2, 30)
    weight = np.ones(30)
    weight[3], weight[5] = 2, 0
    how = {"agreement": agreement, "max_iter": 4}
    one = hs.WordAligner(model, **how).fit(pairs, sample_weight=weight)
    two = hs.WordAligner(model, **how).fit([*pairs[:4], pairs[3], pairs[4], *pairs[6:]])
    assert_allclose(one.trace_[1:], two.trace_[1:], rtol=1e-7)  # the start knows of all words, also of absent pairs
    assert one.translations("s1", 1)[0][0] == two.translations("s1", 1)[0][0]


@pytest.mark.parametrize("model", ["ibm1", "diagonal", "hmm"])
def test_the_order_of_pairs_does_not_matter(model):
    pairs = sentences(4)
    one, two = (hs.WordAligner(model, max_iter=4).fit(order) for order in (pairs, pairs[::-1]))
    assert_allclose(one.trace_, two.trace_, rtol=1e-10)
    assert_allclose(one._learned["forward"].table, two._learned["forward"].table, rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_statistics_add_over_any_cut(kind):
    aligner = hs.WordAligner(direction="forward")
    ready = aligner._prepared(encode_pairs(sentences(6)), "forward", None)
    sides, leaves = aligner._leaves(kind, [ready.sides])
    model = WordModel(Links(kind), leaves)
    weight = np.random.default_rng(0).random(len(sides.pairs))
    many = pair_chunks(sides, weight, 5)
    assert len(many) == 5
    assert sum(len(chunk.weight) for chunk in many) == len(weight)
    [whole] = evaluate(model, Reduced(pair_chunks(sides, weight)), [model.blank()])
    for path in (None, PooledPath(model)):
        [parts] = evaluate(model, Reduced(many, path=path), [model.blank()])
        assert_allclose(parts.expected.stats, whole.expected.stats, rtol=1e-12, atol=1e-14)
        assert_allclose(parts.loglik, whole.loglik, rtol=1e-12)
    assert isinstance(leaves["lexicon"], Translations)


def test_statistics_take_turns():
    """A pass may write where the parameters before those it reads were, and nowhere else."""
    aligner = hs.WordAligner("ibm1", direction="forward")
    ready = aligner._prepared(encode_pairs(sentences(6)), "forward", None)
    sides, leaves = aligner._leaves(0, [ready.sides], spend=True)
    model, weight = WordModel(Links(0), leaves), np.ones(len(ready.sides.pairs))
    path = PooledPath(model, spend=True)
    data = Reduced(one_chunk(sides, weight), path=path)
    params = path.held(model.blank())
    fresh, memory = model.blank(), []
    for _ in range(5):
        before = params["lexicon"].copy()
        [step] = evaluate(model, data, [params])
        [other] = evaluate(model, Reduced(data.chunks, path=PooledPath(model)), [fresh])
        assert_array_equal(step.expected.stats, other.expected.stats)
        assert_array_equal(params["lexicon"], before)
        memory.append(params["lexicon"].ctypes.data)
        params, fresh = model.improved(step), model.improved(other)
        assert_array_equal(step.params["lexicon"], before)
        assert np.shares_memory(step.expected.stats, params["lexicon"])
    assert memory[:2] == memory[2:4]
    assert len(set(memory)) == 2


def test_jumps_all_alike_make_the_hmm_model_one():
    """With equal chances and NULL at 1 / (n + 1), where a word looks depends on nothing."""
    rng = np.random.default_rng(0)
    sides, table = corpus(rng, n_pairs=3, longest=4)
    for p in range(3):
        one = sides.block(p, p + 1)
        place = np.array([1 / (one.pairs[0, 1] + 1), *np.ones(5)])
        for found, other in zip(posterior(2, one, table, place), posterior(0, one, table, np.zeros(0)), strict=True):
            assert_allclose(found[0], other[0], rtol=1e-10)


@pytest.mark.parametrize("kernels", [active, plain])
@pytest.mark.parametrize("null", [True, False])
def test_rows_hold_the_words_that_stand_together(kernels, null, monkeypatch):
    monkeypatch.setattr(made, "kernels", kernels)
    text = encode_pairs(sentences(60))
    sides, number = made.prepared(text, null)
    together = {(e, f) for p in range(text.n_pairs) for e in _words(text, p, 0) for f in _words(text, p, 1)}
    if null:
        together |= {(0, f) for f in range(len(text.target_words))}
    owner = np.repeat(np.arange(len(sides.firsts) - 1), np.diff(sides.firsts))
    assert sorted(together) == sorted(zip(owner.tolist(), number[sides.columns].tolist(), strict=True))
    frequency = np.bincount(text.target)[number]
    assert np.all(np.diff(frequency) <= 0)
    table = number[sides.columns] + 100.0 * owner
    rows, turned = made.turned(made.Prepared(sides, number), table)
    assert_array_equal(turned, rows.columns + 100.0 * owner)
    assert np.all(np.diff(turned) > 0)


def _words(text, p, side):
    words, ends = ((text.source, text.source_ends), (text.target, text.target_ends))[side]
    return words[ends[p] : ends[p + 1]].tolist()


@pytest.mark.parametrize("kernels", [active, plain])
@pytest.mark.parametrize("spend", [False, True])
def test_each_row_of_a_lexicon_is_divided_by_its_sum(spend, kernels, monkeypatch):
    monkeypatch.setattr("halfseen.leaves.translations.kernels", kernels)
    rng = np.random.default_rng(4)
    sizes = np.array([0, 30, 1, 0, 17, 52, 0])
    firsts, owner = np.concatenate([[0], np.cumsum(sizes)]), np.repeat(np.arange(7), sizes)
    stats, old = rng.random((1, 100)), rng.random((1, 100))
    kept, blank = owner == 4, owner == 1
    stats[0, kept | blank] = 0.0
    given = stats.copy()
    leaf = Translations(firsts, 60, spend=spend)
    old[0, blank] = leaf.blank()[0, blank]
    found = leaf.maximise(given, old)
    sums = np.bincount(owner, stats[0], minlength=7)
    assert_allclose(leaf.sums(stats), sums, rtol=1e-14)
    assert_array_equal(found[0, kept], old[0, kept])
    assert_allclose(found[0, blank], 1 / 30, rtol=1e-14)  # all alike, of 60 words of which 30 have a cell
    used = ~kept & ~blank
    assert_allclose(found[0, used], (stats[0] / np.where(sums > 0, sums, 1)[owner])[used], rtol=1e-14)
    assert np.shares_memory(found, given) == spend
    if not spend:
        assert_array_equal(given, stats)


@pytest.mark.parametrize("kernels", [active, plain])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("low", [1e-310, 3e-290, 1e-205, 1e-150])
def test_chances_that_are_all_tiny_have_a_posterior(kind, low, kernels, monkeypatch):
    """It is that of the same chances without their common factor, and the evidence has the factor."""
    monkeypatch.setattr(structure, "kernels", kernels)
    sides, table = corpus(np.random.default_rng(8), n_pairs=6)
    table = np.ldexp(np.round(table * 256), -8)  # exact also where a number has few digits left
    place = np.array([0.3, TIGHT]) if kind == 1 else place_of(kind, np.random.default_rng(1))
    factor = 2.0 ** np.floor(np.log2(low))
    words, block = sides.pairs[:, 3], sides.block()
    posts, logs = posterior(kind, block, table, place)
    tiny, tiny_logs = posterior(kind, block, table * factor, place)
    for one, two in zip(posts, tiny, strict=True):
        assert_allclose(one, two, rtol=1e-9, atol=1e-12)
    assert_allclose(tiny_logs, logs + words * np.log(factor), rtol=1e-12)
    for how in (best, lambda *of: draw(*of, np.random.default_rng(0))):
        (chosen, joint), (also, others) = how(kind, block, table, place), how(kind, block, table * factor, place)
        assert_array_equal(chosen, also)
        assert_allclose(others, joint + words * np.log(factor), rtol=1e-12)


@pytest.mark.parametrize("kernels", [active, plain])
def test_shares_of_tiny_sums_are_finite(kernels):
    pairs, logs = np.array([[0, 1, 0, 3, 0]]), np.empty(1)
    sums = np.array([1e-310, 1e-299, 0.5])
    kernels.links_uniform(True, pairs, np.ones(1), sums, logs)
    assert_allclose(sums, [1e300, 1e299, 2.0], rtol=1e-12)
    assert_allclose(logs, np.log(1e-310) + np.log(1e-299) + np.log(0.5) - 3 * np.log(2), rtol=1e-12)


def test_moves_of_long_sentences_are_found_anew():
    rng = np.random.default_rng(0)
    n, m = np.array([140, 9, 150, 140, 9]), np.array([5, 4, 6, 3, 7])
    source, target = (rng.integers(0, 20, size.sum()).astype(np.int32) for size in (n, m))
    ends = (np.concatenate([[0], np.cumsum(size)]) for size in (n, m))
    sides = made.sides_of(Bitext(source + np.int32(1), target, *ends, *[tuple(map(str, range(20)))] * 2), True)
    block, place = sides.block(), place_of(2, rng)
    found = []
    for kernels in (active, plain):
        chance, logs = structure.chances(block, np.arange(1.0, len(sides.columns) + 1)), np.empty(5)
        kernels.links_posterior(2, *block.of_pairs(slice(None)), place, np.ones(5), chance, np.zeros(0), logs)
        found.append((chance, logs))
    assert_allclose(found[0][0], found[1][0], rtol=1e-9)
    assert_allclose(found[0][1], found[1][1], rtol=1e-12)
