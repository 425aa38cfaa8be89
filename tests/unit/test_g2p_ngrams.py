"""N-grams of joint units: the formula of Kneser-Ney smoothing, count by count, against the tree."""

from collections import Counter, defaultdict

import numpy as np
import pytest

from halfseen.families.pronunciation.ngrams import contexts_of, discounts
from tests.unit.test_graphone_kernels import probability

N_UNITS = 5


def slow(words, order):
    """Return p(unit | units before it) by the formula."""
    grams = defaultdict(Counter)
    for word in ([0, *word, 0] for word in words):
        for n in range(2, order + 1):
            for i in range(len(word) - n + 1):
                grams[n][tuple(word[i : i + n])] += 1
    counts = {}
    for n in range(1, order + 1):
        counts[n] = Counter({(u,): 0 for u in range(N_UNITS)}) if n == 1 else Counter()
        for longer in grams[n + 1] if n < order else ():
            counts[n][longer[1:]] += 1
        for gram, count in grams[n].items():
            if n == order or gram[0] == 0:
                counts[n][gram] = count
    taken = {n: [0.0, *discounts(np.array(list(own.values())))] for n, own in counts.items()}

    def p(unit, before):
        n = len(before) + 1
        lower = 1 / N_UNITS if n == 1 else p(unit, before[1:])
        after = {gram: count for gram, count in counts[n].items() if gram[:-1] == before}
        total = sum(after.values())
        if not total:
            return lower
        count = after.get((*before, unit), 0)
        back = sum(taken[n][min(c, 3)] for c in after.values()) / total
        return max(count - taken[n][min(count, 3)], 0) / total + back * lower

    return p


@pytest.mark.parametrize("order", [2, 3])
@pytest.mark.parametrize("n_words", [3, 200])
def test_smoothing_is_the_formula(order, n_words):
    rng = np.random.default_rng(n_words)
    words = [rng.choice(N_UNITS - 1, rng.integers(1, 6), p=[0.6, 0.2, 0.15, 0.05]) + 1 for _ in range(n_words)]
    tree = contexts_of(np.concatenate([[*word, 0] for word in words]).astype(np.int32), order, N_UNITS)
    wanted, found = slow([word.tolist() for word in words], order), probability(tree)
    for first in range(N_UNITS):
        for second in range(1, N_UNITS):
            before = (first, second)[-(order - 1) :]
            for unit in range(N_UNITS):
                np.testing.assert_allclose(found(unit, before), wanted(unit, before), rtol=1e-10)


def test_discounts_are_those_of_the_counts_of_counts():
    assert discounts(np.repeat([1, 2, 3, 4], [40, 10, 6, 3])) == pytest.approx([2 / 3, 0.8, 5 / 3])
    assert discounts(np.array([1, 1, 2])) == pytest.approx([0.5, 0.5, 0.5])
