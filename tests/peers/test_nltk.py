"""The same trees and probabilities as NLTK, on grammars that both read."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import halfseen as hs

nltk = pytest.importorskip("nltk")
pytestmark = pytest.mark.slow

ASTRONOMERS = """
S -> NP VP [1.0]
VP -> V NP [0.7] | VP PP [0.3]
NP -> NP PP [0.4] | 'astronomers' [0.1] | 'ears' [0.18] | 'saw' [0.04] | 'stars' [0.18] | 'telescopes' [0.1]
PP -> P NP [1.0]
P -> 'with' [1.0]
V -> 'saw' [1.0]
"""
MIXED = """
S -> 'if' C 'then' S 'else' S [0.3] | X [0.7]
X -> 'go' [0.4] | 'stop' X [0.6]
C -> 'a' [0.5] | C 'or' C [0.5]
"""
SENTENCES = {
    ASTRONOMERS: ["astronomers saw stars", "astronomers saw stars with ears", "ears saw saw with stars with ears"],
    MIXED: ["go", "if a or a or a then stop go else go", "stop stop go"],
}


@pytest.mark.parametrize("text", SENTENCES, ids=["astronomers", "mixed"])
def test_best_trees_sums_and_numbers(text):
    ours, theirs = hs.PCFG.from_string(text), nltk.PCFG.fromstring(text)
    for sentence in SENTENCES[text]:
        words = sentence.split()
        trees = list(nltk.InsideChartParser(theirs).parse(words))
        assert ours.n_parses(words) == len(trees)
        assert_allclose(np.exp(ours.score_samples([words])[0]), sum(tree.prob() for tree in trees), rtol=1e-10)
        best = next(iter(nltk.ViterbiParser(theirs).parse(words)))
        assert_allclose(np.exp(ours.parse(words).log_probability), best.prob(), rtol=1e-10)


def test_relative_frequencies_of_trees():
    texts = ["(S (NP the dog) (VP barks))", "(S (NP it) (VP (V saw) (NP it)))", "(S (NP the dog) (VP (V saw) (NP it)))"]
    rules = [rule for text in texts for rule in nltk.Tree.fromstring(text).productions()]
    theirs = nltk.induce_pcfg(nltk.Nonterminal("S"), rules)
    ours = hs.PCFG.from_trees(texts).probabilities_
    assert len(ours) == len(theirs.productions())
    for rule in theirs.productions():
        right = " ".join(f"'{part}'" if isinstance(part, str) else str(part) for part in rule.rhs())
        assert ours[f"{rule.lhs()} -> {right}"] == pytest.approx(rule.prob())


def test_what_is_written_is_read_by_nltk():
    model = hs.PCFG.from_string(MIXED).fit(SENTENCES[MIXED])
    theirs = nltk.PCFG.fromstring(model.to_string().partition("\n")[2])
    assert len(theirs.productions()) == len(model.rules_)
