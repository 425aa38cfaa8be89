"""The kernels of joint units, in NumPy and in C++, against every segmentation and against each other."""

import numpy as np
import pytest
from scipy.special import logsumexp

from halfseen.families.pronunciation.lexicon import Entry
from halfseen.families.pronunciation.ngrams import contexts_of
from halfseen.families.pronunciation.units import Inventory
from halfseen.kernels import plain
from halfseen.structures.joint_units import Contexts, Pairs
from tests.reference.enumerate_segmentations import every_pronunciation, every_way

WORDS = {"ab": ("X", "Y"), "ba": ("Y",), "aab": ("X", "X", "Y"), "b": ("Y", "X"), "abab": ("X",)}


@pytest.fixture(params=["plain", "compiled"])
def kernels(request):
    """The NumPy kernels, and the C++ ones where they were built."""
    return plain if request.param == "plain" else pytest.importorskip("halfseen.kernels.compiled")


def some(max_letters=1, max_phones=1, words=WORDS):
    """Return units, and words in them."""
    entries = [Entry(word, word, phones) for word, phones in words.items()]
    inventory = Inventory.learned(entries, max_letters, max_phones)
    return inventory, inventory.pairs(entries)


def logs_of(n_units, seed=0, zeros=0):
    p = np.random.default_rng(seed).dirichlet(np.ones(n_units))
    p[1 : 1 + zeros] = 0
    with np.errstate(divide="ignore"):
        return np.log(p / p.sum())


def tree_of(n_units, order, seed=0, n_words=12):
    """Return an n-gram model of random words in units."""
    rng = np.random.default_rng(seed)
    words = [[*rng.integers(1, n_units, rng.integers(1, 5)), 0] for _ in range(n_words)]
    return contexts_of(np.concatenate(words).astype(np.int32), order, n_units)


def probability(tree):
    """The n-gram model as a function, by looking units up in the longest context that has them."""

    def child(node, unit):
        first, last = tree.children[node : node + 2]
        found = [m for m in range(first, last) if tree.unit[m] == unit]
        return found[0] if found else None

    def of(unit, before):
        while True:
            node = 0
            for one in before:
                node = None if node is None else child(node, one)
            if node is not None and child(node, unit) is not None:
                return np.exp(tree.log_p[child(node, unit)])
            if not before:
                return 0.0
            weight = 1.0 if node is None else np.exp(tree.log_back[node])
            return weight * of(unit, before[1:])

    return of


SIZES = pytest.mark.parametrize(("max_letters", "max_phones"), [(1, 1), (2, 1), (2, 2)])


@SIZES
@pytest.mark.parametrize("zeros", [0, 2])
def test_order_1_agrees_with_every_segmentation(kernels, max_letters, max_phones, zeros):
    inventory, pairs = some(max_letters, max_phones)
    logs, weight = logs_of(inventory.n_units, zeros=zeros), np.array([1.0, 2.0, 0.5, 0.0, 3.0])
    usage, log_evidence, wanted = np.zeros(len(logs)), np.empty(len(pairs)), np.zeros(len(logs))
    kernels.graphone_soft(*pairs.arrays, logs, weight, usage, log_evidence)
    log_joint, taken = np.empty(len(pairs)), np.empty(len(pairs.units), dtype=np.int32)
    kernels.graphone_hard(*pairs.arrays, logs, log_joint, taken)
    for b in range(len(pairs)):
        ways = every_way(pairs, b, lambda unit, _: np.exp(logs[unit]))
        total = logsumexp([log_p for _, log_p in ways])
        np.testing.assert_allclose(log_evidence[b], total, rtol=1e-12)
        if total == -np.inf:
            assert log_joint[b] == -np.inf
            continue
        for units, log_p in ways:
            np.add.at(wanted, [*units, 0], weight[b] * np.exp(log_p - total))
        on = taken[pairs.firsts[b] : pairs.firsts[b + 1]]
        best = max(log_p for _, log_p in ways)
        np.testing.assert_allclose(log_joint[b], best, rtol=1e-12)
        np.testing.assert_allclose(logs[on[on >= 0]].sum() + logs[0], best, rtol=1e-12)
    np.testing.assert_allclose(usage, wanted, rtol=1e-10, atol=1e-14)


@SIZES
@pytest.mark.parametrize("order", [2, 3, 5])
def test_higher_orders_agree_with_every_segmentation(kernels, max_letters, max_phones, order):
    inventory, pairs = some(max_letters, max_phones)
    tree = tree_of(inventory.n_units, order)
    log_evidence, log_joint = np.empty(len(pairs)), np.empty(len(pairs))
    taken = np.empty(len(pairs.units), dtype=np.int32)
    kernels.ngram_sum(*pairs.arrays, *tree, log_evidence)
    kernels.ngram_best(*pairs.arrays, *tree, log_joint, taken)
    for b in range(len(pairs)):
        ways = every_way(pairs, b, probability(tree))
        np.testing.assert_allclose(log_evidence[b], logsumexp([log_p for _, log_p in ways]), rtol=1e-10)
        best, log_p = max(ways, key=lambda way: way[1])
        np.testing.assert_allclose(log_joint[b], log_p, rtol=1e-10)
        on = taken[pairs.firsts[b] : pairs.firsts[b + 1]]
        assert tuple(on[on >= 0]) == best


def search(kernels, inventory, tree, letters, n_best=4, beam=10_000, inserted=3):
    """Return pronunciations of a word with their log-probabilities, and that of all."""
    pieces = inventory.pieces
    lengths = range(1, inventory.max_letters + 1)
    numbers = np.array(
        [
            [pieces.number.get(letters[i : i + k], -1) if i + k <= len(letters) else -1 for k in lengths]
            for i in range(len(letters))
        ],
        dtype=np.int64,
    ).reshape(len(letters), len(lengths))
    logs, rows = np.full(n_best + 1, np.nan), np.empty((n_best, 40), dtype=np.int32)
    n_found = kernels.ngram_search(
        *tree, pieces.ranges, numbers, pieces.phone_firsts, pieces.phones, beam, inserted, logs, rows
    )
    said = [tuple(inventory.phones[x] for x in row if x >= 0) for row in rows[:n_found].tolist()]
    return said, logs[:n_found], logs[-1]


@pytest.mark.parametrize("order", [1, 2, 3])
def test_a_search_without_pruning_finds_the_most_probable_pronunciations(kernels, order):
    words = {"a": ("X",), "ab": ("X", "Y")}
    inventory, _ = some(2, 1, words)
    tree = Contexts.none(logs_of(inventory.n_units)) if order == 1 else tree_of(inventory.n_units, order)
    said, logs, total = search(kernels, inventory, tree, "ab", inserted=1)
    # at most one unit without letters in a row: before the word, between the letters and after them
    every = every_pronunciation("ab", inventory.units, probability(tree), inserted=1)
    ranked = sorted(every, key=every.get, reverse=True)[: len(said)]
    np.testing.assert_allclose(np.exp(logs), [every[way] for way in ranked], rtol=1e-10)
    np.testing.assert_allclose(np.exp(logs), [every[way] for way in said], rtol=1e-10)
    np.testing.assert_allclose(np.exp(total), sum(every.values()), rtol=1e-10)


@pytest.mark.parametrize("beam", [1, 3, 50])
def test_both_searches_prune_alike(beam):
    compiled = pytest.importorskip("halfseen.kernels.compiled")
    inventory, _ = some(2, 2)
    tree = tree_of(inventory.n_units, 3, seed=4)
    noise = np.random.default_rng(0).random(len(tree.log_p))  # no two hypotheses are equally probable
    tree = tree._replace(log_p=tree.log_p - noise)
    for letters in ("abba", "b", "aaaa", ""):
        one, two = (search(own, inventory, tree, letters, beam=beam) for own in (plain, compiled))
        assert one[0] == two[0]
        np.testing.assert_allclose(one[1], two[1], rtol=1e-12)
        np.testing.assert_allclose(one[2], two[2], rtol=1e-12)


def test_both_are_equal_where_nothing_is_possible():
    compiled = pytest.importorskip("halfseen.kernels.compiled")
    inventory, pairs = some()
    logs = np.full(inventory.n_units, -np.inf)
    for own in (plain, compiled):
        usage, log_evidence = np.zeros(len(logs)), np.empty(len(pairs))
        own.graphone_soft(*pairs.arrays, logs, np.ones(len(pairs)), usage, log_evidence)
        assert (log_evidence == -np.inf).all()
        assert not usage.any()
        log_joint, taken = np.empty(len(pairs)), np.empty(len(pairs.units), dtype=np.int32)
        own.graphone_hard(*pairs.arrays, logs, log_joint, taken)
        assert (log_joint == -np.inf).all()
        assert (taken == -1).all()


def test_without_words_nothing_is_written(kernels):
    inventory, pairs = some()
    none = pairs.part(0, 0)
    assert isinstance(none, Pairs)
    usage = np.zeros(inventory.n_units)
    kernels.graphone_soft(*none.arrays, logs_of(inventory.n_units), np.empty(0), usage, np.empty(0))
    kernels.ngram_sum(*none.arrays, *tree_of(inventory.n_units, 2), np.empty(0))
    assert not usage.any()
