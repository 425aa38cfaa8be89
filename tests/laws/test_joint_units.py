"""The laws for joint units of letters and phones: they climb, conserve, add, and forget the order of words."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import halfseen as hs
from halfseen.assign import HARD, SOFT
from halfseen.engine.loop.em import evaluate
from halfseen.families.pronunciation.lexicon import Entry, distinct
from halfseen.families.pronunciation.model import PairChunk, UnitModel, reduce_pairs
from halfseen.families.pronunciation.ngrams import contexts_of
from halfseen.families.pronunciation.units import Inventory
from halfseen.structures.joint_units import JointUnits, evidence
from tests.reference.enumerate_segmentations import every_pronunciation

words = st.text("abc", min_size=1, max_size=4)
phones = st.lists(st.sampled_from(["X", "Y", "Z"]), min_size=1, max_size=4).map(tuple)
dictionaries = st.lists(st.tuples(words, phones), min_size=1, max_size=6)
sizes = st.sampled_from([(1, 1), (2, 1), (1, 2), (2, 2)])


def case(said, size, seed=0):
    """A model of units, the words in them, and parameters."""
    entries = [Entry(word, word, own) for word, own in said]
    inventory = Inventory.learned(entries, *size)
    p = np.random.default_rng(seed).dirichlet(np.ones(inventory.n_units))
    return UnitModel.of(inventory.n_units), inventory, inventory.pairs(entries), {"units": p[None]}


@given(dictionaries, sizes)
@pytest.mark.parametrize("assign", [SOFT, HARD])
def test_the_objective_never_falls(assign, said, size):
    model, _, pairs, params = case(said, size)
    data, before = reduce_pairs(pairs), -np.inf
    for _ in range(6):
        [step] = evaluate(model, data, [params], assign)
        assert step.objective >= before - 1e-9 * max(1.0, abs(before))
        before, params = step.objective, model.maximise(step.expected.stats, params)


@given(dictionaries, sizes)
@pytest.mark.parametrize("assign", [SOFT, HARD])
def test_usage_makes_all_letters_and_phones_and_one_end_for_each_word(assign, said, size):
    model, inventory, pairs, params = case(said, size)
    weight = np.arange(1.0, len(pairs) + 1)
    [step] = evaluate(model, reduce_pairs(pairs, weight), [params], assign)
    usage = np.ravel(step.expected.stats)
    letters, made = (np.array([len(unit[side]) for unit in inventory.units]) for side in (0, 1))
    assert_allclose(usage @ letters, weight @ pairs.sizes[:, 0], rtol=1e-12)
    assert_allclose(usage @ made, weight @ pairs.sizes[:, 1], rtol=1e-12)
    assert_allclose(usage[0], weight.sum(), rtol=1e-12)


@given(dictionaries, sizes)
def test_soft_usage_is_the_gradient_of_the_log_evidence(said, size):
    _, _, pairs, params = case(said, size)
    logs, ones = np.log(params["units"]), np.ones((len(pairs), 1))

    def total(scores):
        return JointUnits().infer({"units": scores}, ones, SOFT, data=pairs).log_evidence.sum()

    usage = JointUnits().infer({"units": logs}, ones, SOFT, data=pairs).usage["units"]
    for u in range(0, logs.size, max(1, logs.size // 5)):
        nudge = np.zeros(logs.shape)
        nudge[0, u] = 1e-5
        assert_allclose((total(logs + nudge) - total(logs - nudge)) / 2e-5, usage[0, u], atol=1e-6)


@given(dictionaries, sizes, st.integers(0, 6))
def test_parts_of_a_dictionary_add(said, size, cut):
    model, _, pairs, params = case(said, size)
    cut = min(cut, len(pairs))
    one = reduce_pairs(pairs)
    two = [
        PairChunk(n, pairs.part(first, last), np.ones(last - first))
        for n, (first, last) in enumerate([(0, cut), (cut, len(pairs))])
        if last > first
    ]
    [whole], [parts] = (evaluate(model, data, [params]) for data in (one, type(one)(two)))
    assert_allclose(parts.objective, whole.objective, rtol=1e-12)
    assert_allclose(parts.expected.stats, whole.expected.stats, rtol=1e-12, atol=1e-14)


@pytest.mark.thorough
@settings(max_examples=20)
@given(dictionaries, sizes, st.randoms())
def test_the_order_of_words_changes_no_bit(said, size, random):
    said = [*dict(said).items()]
    shuffled = random.sample(said, len(said))
    one, two = (
        hs.G2P(order=3, max_letters=size[0], max_phones=size[1]).fit({word: [list(own)] for word, own in each})
        for each in (said, shuffled)
    )
    assert one.loglik_ == two.loglik_
    assert_array_equal(one._segments, two._segments)
    assert one.units_ == two.units_


@given(st.lists(st.lists(st.integers(1, 4), min_size=1, max_size=5), min_size=1, max_size=8), st.integers(1, 5))
def test_smoothed_ngrams_sum_to_one_after_every_context(found, order):
    segments = np.concatenate([[*word, 0] for word in found]).astype(np.int32)
    tree = contexts_of(segments, max(order, 2), 5)
    for node in [m for m in range(len(tree.unit)) if tree.children[m] < tree.children[m + 1]]:
        total, log_back, here = 0.0, 0.0, node
        left = set(range(5))
        while True:
            for child in range(tree.children[here], tree.children[here + 1]):
                if tree.unit[child] in left:
                    total += np.exp(log_back + tree.log_p[child])
                    left.remove(int(tree.unit[child]))
            if not here:
                break
            log_back += tree.log_back[here]
            here = int(tree.shorter[here])
        assert not left
        assert_allclose(total, 1.0, rtol=1e-9)


def test_pronunciations_have_the_evidence_that_a_dictionary_with_them_has():
    """What enumeration says of a word is what `score_samples` sums for it."""
    entries = distinct([Entry("ab", "ab", ("X", "Y")), Entry("b", "b", ("Y",)), Entry("ba", "ba", ("Y", "X"))])
    inventory = Inventory.learned(entries, 1, 1)
    logs = np.log(np.random.default_rng(0).dirichlet(np.ones(inventory.n_units)))
    tree = hs.G2P(order=1).fit({"ab": [["X", "Y"]], "b": [["Y"]], "ba": [["Y", "X"]]})._contexts
    tree = tree._replace(log_p=np.concatenate([[0.0], logs]))
    every = every_pronunciation("b", inventory.units, lambda unit, _: np.exp(logs[unit]), inserted=3)
    said = [own for own in every if 0 < len(own) <= 2]
    found = evidence(tree, inventory.pairs([Entry("b", "b", own) for own in said]))
    assert_allclose(np.exp(found), [every[own] for own in said], rtol=1e-10)
