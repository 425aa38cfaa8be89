"""The laws for grammars, against enumeration of all trees; units are sentences."""

import warnings
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import halfseen as hs
from halfseen.assign import HARD, SOFT, Assign
from halfseen.engine.loop.em import evaluate, steps
from halfseen.families.grammar.model import ContextFree, reduce_sentences
from halfseen.kernels import plain
from halfseen.leaves import Tables
from halfseen.structures import tree as structure
from halfseen.structures.grammar import Grammar
from halfseen.structures.tree import Derivations, best, draw, n_trees, pack, parsable, soft
from halfseen.structures.trees import Word
from tests.reference.enumerate_trees import all_trees, uses_of
from tests.strategies import examples

TIGHT = {"rtol": 1e-10, "atol": 1e-12}
seeds = st.integers(0, 2**32 - 1)


@pytest.fixture(params=["plain", "compiled"], autouse=True)
def kernels(request, monkeypatch):
    """The NumPy kernels, and the C++ ones where they were built."""
    chosen = plain if request.param == "plain" else pytest.importorskip("halfseen.kernels.compiled")
    monkeypatch.setattr(structure, "kernels", chosen)
    return chosen


def some_grammar(rng):
    """Return a small grammar with long, mixed and unary rules, no cycles among the latter."""
    names = ["S", "A", "B", "C"][: rng.integers(2, 5)]
    words = [Word("a"), Word("b")]
    rules = [(name, (words[rng.integers(2)],)) for name in names]
    for _ in range(rng.integers(2, 7)):
        parts = [*names, *words]
        right = tuple(parts[rng.integers(len(parts))] for _ in range(rng.choice([2, 2, 2, 3, 3, 4])))
        rules.append((names[rng.integers(len(names))], right))
    for _ in range(rng.integers(0, 4)):
        low, high = sorted(rng.choice(len(names), 2, replace=False).tolist())
        rules.append((names[low], (names[high],)))
    return Grammar.of("S", rules)


class Case:
    """A random grammar with random probabilities, and sentences with holes, brackets, tags and weights."""

    def __init__(self, seed, n_sentences=5, longest=5, known=True):
        rng = np.random.default_rng(seed)
        self.grammar = some_grammar(rng)
        self.leaf = Tables(self.grammar.rows)
        self.model = ContextFree(Derivations(), {"rules": self.leaf})
        self.params = {"rules": self.leaf.jitter(self.leaf.blank(), 1.0, rng)}
        self.sentences = [
            tuple(rng.choice(["a", "b"], rng.integers(1, longest + 1)).tolist()) for _ in range(n_sentences)
        ]
        self.brackets = [None] * n_sentences
        self.tags = [None] * n_sentences
        if known:
            self.sentences = [tuple(None if rng.random() < 0.1 else w for w in own) for own in self.sentences]
            for s, own in enumerate(self.sentences):
                if len(own) > 2 and rng.random() < 0.4:
                    a = int(rng.integers(0, len(own) - 1))
                    self.brackets[s] = [(a, a + 2)]
                elif rng.random() < 0.2:
                    self.tags[s] = (frozenset(["S", "A"]), *[None] * (len(own) - 1))
        self.weight = rng.integers(1, 4, n_sentences).astype(float)

    @property
    def table(self):
        return self.params["rules"][0]

    @property
    def log_table(self):
        return np.append(np.log(self.table), 0.0)

    @property
    def data(self):
        return pack(self.grammar, self.sentences, self.brackets, self.tags)

    def reduced(self):
        found = parsable(np.ones(self.grammar.n_cells + 1, dtype=bool), self.data)
        assume(found.any())
        kept = np.flatnonzero(found)
        return reduce_sentences(self.data.taken(kept), self.weight[kept])

    @property
    def slow(self):
        return [
            _tagged(all_trees(self.grammar, words, self.table, self.brackets[s] or ()), self.grammar, self.tags[s])
            for s, words in enumerate(self.sentences)
        ]

    def step(self, assign=SOFT, params=None, **how):
        [step] = evaluate(self.model, self.reduced(), [params or self.params], assign, **how)
        return step


def _tagged(found, grammar, tags):
    """Keep the trees whose first word has a known symbol of its own above it."""
    if tags is None:
        return found
    kept = [t for t, tree in enumerate(found.trees) if _above_first(tree) in tags[0]]
    probabilities = found.probabilities[kept]
    uses = np.array([uses_of(grammar, found.trees[t]) for t in kept]).reshape(len(kept), grammar.n_cells)
    usage = probabilities @ uses / probabilities.sum() if kept else np.zeros(grammar.n_cells)
    return type(found)([found.trees[t] for t in kept], probabilities, usage)


def _above_first(tree):
    while not isinstance(tree.children[0], str):
        tree = tree.children[0]
    return tree.label if len(tree.children) == 1 else None


@given(seeds)
@examples(8)
def test_soft_sums_over_all_trees(seed):
    case = Case(seed)
    slow = case.slow
    counts, log_evidence = soft(case.log_table, case.data, case.weight)
    with np.errstate(divide="ignore"):
        assert_allclose(log_evidence, np.log([own.evidence for own in slow]), **TIGHT)
    assert_allclose(counts[:-1], sum(w * own.usage for w, own in zip(case.weight, slow, strict=True)), **TIGHT)


@given(seeds)
@examples(8)
def test_hard_is_the_best_tree(seed):
    case = Case(seed)
    found, ends, log_best = best(case.log_table, case.data)
    with np.errstate(divide="ignore"):
        assert_allclose(log_best, np.log([own.best for own in case.slow]), **TIGHT)
    for s, own in enumerate(case.slow):
        if own.trees:
            tree = case.grammar.tree(found[ends[s] : ends[s + 1]].tolist(), case.data.slots, case.sentences[s])
            assert tree in own.trees
            assert_allclose(np.prod(case.table ** uses_of(case.grammar, tree)), own.best, **TIGHT)


@given(seeds)
@examples(10)
def test_numbers_of_trees_are_exact(seed):
    case = Case(seed)
    assert n_trees(case.data) == [len(own.trees) for own in case.slow]
    assert [structure._n_trees(case.data, s) for s in range(len(case.sentences))] == n_trees(case.data)


@given(seeds)
@examples(8)
def test_what_has_a_tree_is_known(seed):
    case = Case(seed)
    possible = np.random.default_rng(seed).random(case.grammar.n_cells + 1) < 0.8
    possible[-1] = True
    found = [any((uses_of(case.grammar, t)[~possible[:-1]] == 0).all() for t in own.trees) for own in case.slow]
    assert_array_equal(parsable(possible, case.data), found)


def test_draws_follow_the_posterior():
    case = next(c for c in map(Case, range(100)) if any(len(own.trees) > 3 for own in c.slow))
    s = max(range(len(case.sentences)), key=lambda s: len(case.slow[s].trees))
    own, data, n = case.slow[s], case.data.taken([s]), 1000
    found, ends, _ = draw(case.log_table, data, np.array([n]), np.random.default_rng(0))
    trees = [case.grammar.tree(found[ends[t] : ends[t + 1]].tolist(), data.slots, case.sentences[s]) for t in range(n)]
    shares = np.array([trees.count(tree) for tree in own.trees]) / n
    assert sum(shares) == pytest.approx(1)
    assert_allclose(shares, own.probabilities / own.evidence, atol=5 * 0.5 / np.sqrt(n))


@given(seeds)
@examples(8)
def test_kernels_draw_the_same_trees_from_the_same_uniforms(seed):
    pytest.importorskip("halfseen.kernels.compiled")
    case = Case(seed)
    times = np.full(len(case.sentences), 3)
    first = draw(case.log_table, case.data, times, np.random.default_rng(1))
    table = np.exp(case.log_table)
    uniforms = np.random.default_rng(1).random(int((times * (2 * case.data.lengths - 1)).sum()))
    again = structure._draw(plain, table, case.grammar.closure(table), case.data, times, uniforms)
    for a, b in zip(first[:2], again[:2], strict=True):
        assert_array_equal(a, b)


# ---- unary rules that go round -----------------------------------------------------------------------------------

ROUND = """
S -> A S [0.3] | B [0.4] | 'a' [0.3]
A -> B [0.25] | 'a' [0.5] | A [0.25]
B -> S [0.2] | A [0.3] | 'b' [0.4] | A 'b' [0.1]
"""


def test_cycles_of_unary_rules_are_summed_exactly():
    grammar = hs.PCFG.from_string(ROUND)
    inside, table = grammar._grammar, grammar._params["rules"][0]
    words = ("a", "b")
    counts, log_evidence = soft(np.append(np.log(table), 0.0), pack(inside, [words]), np.ones(1))
    assert_allclose(np.exp(log_evidence[0]), _by_equations(inside, table, words), rtol=1e-12)
    gradient = _slope(lambda logs: soft(np.append(logs, 0.0), pack(inside, [words]), np.zeros(1))[1][0], np.log(table))
    assert_allclose(counts[:-1], gradient, rtol=1e-6)
    assert grammar.n_parses(list(words)) == np.inf
    assert grammar.n_parses(["a", "zzz"]) == 0


def _by_equations(grammar, table, words):
    """Solve for the inside values of two words: fixed point of the equations, by iteration."""
    value = {}
    for _ in range(400):
        for i, j in [(0, 1), (1, 2), (0, 2)]:
            for symbol in grammar.full:
                total = 0.0
                for (left, right), p in zip(grammar.rules, table, strict=True):
                    if left != symbol:
                        continue
                    if len(right) == 1:
                        [part] = right
                        inner = (
                            float(j == i + 1 and words[i] == part.text)
                            if isinstance(part, Word)
                            else value.get((i, j, part), 0.0)
                        )
                    else:
                        parts = [(right[0], i, 1), (right[1], 1, j)] if j - i == 2 else []
                        inner = float(bool(parts))
                        for part, a, b in parts:
                            inner *= (
                                float(words[a] == part.text) if isinstance(part, Word) else value.get((a, b, part), 0.0)
                            )
                    total += p * inner
                value[i, j, symbol] = total
    return value[0, 2, grammar.start]


def _slope(function, at, step=1e-6):
    eye = step * np.eye(len(at))
    return np.array([(function(at + e) - function(at - e)) / (2 * step) for e in eye])


def test_chains_are_drawn_exactly_through_cycles():
    grammar = hs.PCFG.from_string(ROUND)
    trees = [one.tree for one in grammar.parse("b", draws=4000, random_state=0)]
    expected = grammar.expected_counts(["b"])
    uses = np.mean([uses_of(grammar._grammar, tree) for tree in trees], axis=0)
    assert_allclose(uses, list(expected.values()), atol=0.08)
    best_tree = grammar.parse("b").tree
    assert str(best_tree) == "(S (B b))"


def test_a_chain_that_never_ends_is_refused():
    with pytest.raises(hs.errors.ParameterError, match=r"never ends.*another rule"):
        hs.PCFG.from_string("S -> A [1.0]\nA -> S [1.0] | 'a' [0.0]")


# ---- EM ----------------------------------------------------------------------------------------------------------


@given(seeds)
@examples(8)
def test_usage_is_the_gradient_of_the_evidence(seed):
    case = Case(seed, n_sentences=3)
    data = case.data
    found = np.flatnonzero(parsable(np.ones(case.grammar.n_cells + 1, dtype=bool), data))
    assume(len(found))
    data, weight = data.taken(found), case.weight[found]
    counts, _ = soft(case.log_table, data, weight)
    slope = _slope(lambda logs: weight @ soft(np.append(logs, 0.0), data, np.zeros(len(data)))[1], case.log_table[:-1])
    assert_allclose(counts[:-1], slope, rtol=1e-6, atol=1e-7)


@given(seeds, st.sampled_from([SOFT, HARD]))
@examples(8)
def test_climbs(seed, assign):
    case = Case(seed)
    trace = []
    for step, _ in zip(steps(case.model, case.reduced(), case.params, assign), range(6), strict=False):
        trace.append(step.objective)
    assert all(after >= before - 1e-9 * max(1, abs(before)) for before, after in pairwise(trace))


@pytest.mark.parametrize("assign", [SOFT, HARD, Assign("sample", rng=np.random.default_rng(0))])
def test_conserves_in_normal_form(assign):
    """n - 1 binary rules, n words, one root per sentence."""
    grammar = Grammar.of(
        "R",
        [
            ("R", ("S",)),
            ("S", ("S", "S")),
            ("S", ("T", "S")),
            ("S", (Word("a"),)),
            ("T", (Word("a"),)),
            ("T", ("S", "T")),
        ],
    )
    table = np.log([1.0, 0.3, 0.3, 0.4, 0.6, 0.4])[None]
    sentences, weight = [("a",) * n for n in (2, 3, 7)], np.array([1.0, 2.5, 1.0])
    usage = (
        Derivations().infer({"rules": table}, weight[:, None], assign, data=pack(grammar, sentences)).usage["rules"][0]
    )
    lengths = np.array([2, 3, 7])
    assert usage[0] == pytest.approx(weight.sum())
    assert usage[[1, 2, 5]].sum() == pytest.approx(weight @ (lengths - 1))
    assert usage[[3, 4]].sum() == pytest.approx(weight @ lengths)


@given(seeds)
@examples(10)
def test_adds_and_weights(seed):
    case = Case(seed)
    data, n = case.data, len(case.sentences)
    whole, _ = soft(case.log_table, data, case.weight)
    parts = [soft(case.log_table, data.taken([s]), case.weight[[s]])[0] for s in range(n)]
    assert_allclose(whole, sum(parts), **TIGHT)
    twice = [s for s in range(n) for _ in range(int(case.weight[s]))]
    assert_allclose(whole, soft(case.log_table, data.taken(twice), np.ones(len(twice)))[0], **TIGHT)


def test_long_sentences_do_not_underflow():
    case = hs.PCFG.from_string("S -> S S [0.001] | 'a' [1e-9] | 'b' [0.998999999]", on_unparsable="skip")
    found = case.score_samples([["a"] * 60])[0]
    catalan = sum(np.log((59 + k) / k) for k in range(1, 60)) - np.log(60)
    assert found == pytest.approx(catalan + 59 * np.log(0.001) + 60 * np.log(1e-9), rel=1e-12)


def test_what_runs_out_of_range_is_rescued_in_logs(kernels):
    text = "S -> A A [1e-300] | 'x' [1.0]\nA -> B B [1e-300] | 'y' [1.0]\nB -> 'a' [1e-300] | 'z' [1.0]"
    grammar = hs.PCFG.from_string(text)
    expected = 3 * np.log(1e-300) + 4 * np.log(1e-300)
    assert grammar.score_samples(["a a a a", "a a a"]) == pytest.approx([expected, -np.inf])
    assert grammar.expected_counts(["a a a a"])["B -> 'a'"] == pytest.approx(4)
    [drawn] = grammar.parse("a a a a", draws=1, random_state=0)
    assert str(drawn.tree) == "(S (A (B a) (B a)) (A (B a) (B a)))"


# ---- meets -------------------------------------------------------------------------------------------------------


def test_a_right_linear_grammar_is_a_hidden_markov_model():
    start, trans = np.array([0.6, 0.4]), np.array([[0.7, 0.3], [0.2, 0.8]])
    emit, stop = np.array([[0.5, 0.4, 0.1], [0.1, 0.2, 0.7]]), 0.25
    lines = [f"S -> Z{k} [{start[k]}]" for k in range(2)]
    for k in range(2):
        lines += [f"Z{k} -> E{k} Z{j} [{trans[k, j] * (1 - stop):.17g}]" for j in range(2)] + [f"Z{k} -> E{k} [{stop}]"]
        lines += [f"E{k} -> 'w{v}' [{emit[k, v]}]" for v in range(3)]
    grammar = hs.PCFG.from_string("\n".join(lines))
    rng = np.random.default_rng(0)
    sequences = [rng.integers(0, 3, n) for n in (1, 4, 9)]
    hmm = hs.HMM.from_params(start, trans, {"word": {f"w{v}": emit[:, v] for v in range(3)}})
    said = [[f"w{v}" for v in own] for own in sequences]
    ends = np.array([np.log(stop) + (len(own) - 1) * np.log(1 - stop) for own in sequences])
    alone = [[[word] for word in own] for own in said]
    assert_allclose(grammar.score_samples(said) - ends, [hmm.score(own) for own in alone], rtol=1e-12)
    counts, states = grammar.expected_counts(said), [hmm.predict_proba(own) for own in alone]
    for k in range(2):
        assert counts[f"S -> Z{k}"] == pytest.approx(sum(own[0, k] for own in states))
        for v in range(3):
            uses = sum(own[seen == v, k].sum() for own, seen in zip(states, sequences, strict=True))
            assert counts[f"E{k} -> 'w{v}'"] == pytest.approx(uses)
    best_path = hmm.predict(alone[2])
    tags = [
        tree.label for tree in grammar.parse(said[2]).tree.walk() if not isinstance(tree, str) and tree.label[0] == "E"
    ]
    assert tags == [f"E{k}" for k in best_path]


def test_a_deterministic_grammar_converges_in_one_iteration_to_relative_frequencies():
    """Every sentence has one tree: after one step the probabilities are counts of rules in the trees."""
    trees = hs.read_trees("(S (A a) (S (B b))) (S (B b)) (S (A a) (S (A a) (S (B c)))) (S (B c)) (S (B b))")
    text = "S -> A S [0.9] | B [0.1]\nA -> 'a' [1.0]\nB -> 'b' [0.2] | 'c' [0.8]"
    truth = hs.PCFG.from_trees(trees).probabilities_
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for assign in ("soft", "hard"):
            model = hs.PCFG.from_string(text, assign=assign, max_iter=2, prior=None).fit(
                [tree.words() for tree in trees]
            )
            assert model.probabilities_ == pytest.approx(truth, rel=1e-14)
    model = hs.PCFG.from_string(text, prior=None).fit([tree.words() for tree in trees])
    assert model.n_iter_ <= 3
    assert model.converged_


# ---- dense grammars ----------------------------------------------------------------------------------------------


def test_matrix_products_agree_with_rule_by_rule():
    compiled = pytest.importorskip("halfseen.kernels.compiled")
    grammar = hs.PCFG.random(9, ["a", "b", "c"], random_state=3)._grammar
    rules = [*grammar.rules, ("S", ("X1",)), ("X1", ("X2",)), ("X2", ("X1",))]
    grammar = Grammar.of("S", rules)
    assert grammar.is_dense
    assert grammar.is_cyclic
    rng = np.random.default_rng(0)
    leaf = Tables(grammar.rows)
    table = np.append(leaf.jitter(leaf.blank(), 1.0, rng)[0], 1.0)
    sentences = [rng.choice(["a", "b", "c"], n).tolist() for n in (1, 2, 5, 9, 9, 12, 30, 7, 8)]
    brackets = [None, None, [(1, 3)], [(0, 4), (4, 9)], None, None, [(3, 17)], None, None]
    data = pack(grammar, sentences, brackets)
    weight = np.array([1.0, 2.0, 0.5, 1.0, 0.0, 1.0, 1.0, 1.0, 3.0])
    found = []
    for dense in (True, False):
        counts, logs = np.zeros(len(table)), np.empty(len(sentences))
        compiled.tree_soft(table, grammar.closure(table), *data.arrays[:-1], dense, weight, counts, logs)
        found.append((counts, logs))
    few = data.taken(range(4))
    counts, logs = np.zeros(len(table)), np.empty(4)
    plain.tree_soft(table, grammar.closure(table), *few.arrays, weight[:4], counts, logs)
    assert_allclose(found[0][0], found[1][0], rtol=1e-9, atol=1e-12)
    assert_allclose(found[0][1], found[1][1], rtol=1e-12)
    assert_allclose(found[0][1][:4], logs, rtol=1e-12)


def test_best_and_drawn_trees_of_dense_grammars():
    compiled = pytest.importorskip("halfseen.kernels.compiled")
    model = hs.PCFG.random(8, ["a", "b"], random_state=1)
    said = [["a", "b", "a", "a", "b", "b", "a"], ["b"]]
    data, table = pack(model._grammar, said), np.append(model._params["rules"][0], 1.0)
    assert model._grammar.is_dense
    found = []
    for by in (compiled, plain):
        steps, ends, logs = np.empty(100, np.int64), np.empty(3, np.int64), np.empty(2)
        size = by.tree_best(np.log(table), *data.arrays, steps, ends, logs)
        drawn = structure._draw(by, table, np.zeros(0), data, np.array([5, 5]), np.random.default_rng(0).random(70))
        found.append((steps[:size], ends, logs, *drawn))
    for own, other in zip(*found, strict=True):
        assert_allclose(own, other, rtol=1e-12)
    ones = np.ones(len(table), dtype=bool)
    assert_array_equal(parsable(ones, pack(model._grammar, [*said, ["c"]])), [True, True, False])


@pytest.mark.thorough
@pytest.mark.parametrize("dense", [False, True])
def test_what_is_small_over_a_span_may_be_all_of_the_sentence(dense):
    # Over "q x x ..." A is likely and leads nowhere, B is unlikely, and C less likely than any double; then C wins.
    rules = """
        S -> B E [0.5] | C E [0.5]
        B -> B X [1e-15] | 'q' [1.0] | B Z [1e-25]
        C -> C X [3e-21] | 'q' [0.99] | C Z [0.01]
        A -> A X [0.99] | 'q' [0.01]
        E -> 'e' [1.0]
        X -> 'x' [1.0]
        Z -> 'z' [1.0]
        Y -> 'y' [1.0]
    """
    if dense:  # all other rules are there, with a probability of 0
        rules += "\n".join(f"{a} -> {b} {c} [0.0]" for a in "SBCAEXZY" for b in "SBCAEXZY" for c in "SBCAEXZY")
    grammar = hs.PCFG.from_string(rules)
    assert grammar._grammar.is_dense == dense
    sentence = ["q"] + ["x"] * 16 + ["z"] * 16 + ["e"]
    tree, log_probability = grammar.parse(sentence)  # the other tree has no share in the sum
    assert_allclose(grammar.score_samples([sentence, ["q", "e"]])[:1], [log_probability], rtol=1e-13)
    assert grammar.expected_counts([sentence, ["q", "e"]])["C -> C Z"] == pytest.approx(16)
    assert grammar.parse(sentence, draws=1, random_state=0)[0].tree == tree
