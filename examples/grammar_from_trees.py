"""
A grammar from a few trees, improved by many sentences
======================================================

Annotated trees are few, sentences are many. A grammar estimated from a few trees is fitted to sentences without trees.
A second experiment starts without trees, with and without brackets around phrases.
"""

import matplotlib.pyplot as plt

import halfseen as hs

# %%
# A small English grammar to draw from. The example sentence is ambiguous: the telescope may belong to the man, or be
# used to see him.

english = hs.PCFG.from_string(
    """
    S -> NP VP [1.0]
    NP -> Det N [0.6] | NP PP [0.15] | 'she' [0.25]
    VP -> V NP [0.55] | V NP PP [0.35] | 'slept' [0.1]
    PP -> P NP [1.0]
    Det -> 'the' [0.7] | 'a' [0.3]
    N -> 'man' [0.3] | 'dog' [0.25] | 'telescope' [0.2] | 'park' [0.25]
    V -> 'saw' [0.6] | 'liked' [0.4]
    P -> 'with' [0.5] | 'in' [0.5]
    """
)
sentence = "she saw the man with a telescope"
print(english.parse(sentence).tree.picture())
print(english.n_parses(sentence), "trees")

# %%
# Five sentences with trees, three hundred without, and a hundred for the test. The grammar estimated from the trees has
# the relative frequencies of their rules.

_, by_hand = english.sample(5, random_state=1)
said, hidden = english.sample(300, random_state=2)
_, test = english.sample(100, random_state=3)

grammar = hs.PCFG.from_trees(by_hand, on_unparsable="skip")
print(f"{len(grammar.rules_)} of {len(english.rules_)} rules are in the trees")


judgements = {}


def judged(name, model):
    """Print how probable new sentences are, and the share of the phrases of their true trees that are found."""
    found = model.parse([tree.words() for tree in test])
    both = [(one.tree, tree) for one, tree in zip(found, test, strict=True) if one is not None]
    true = [{span[1:] for span in tree.spans()} for _, tree in both]
    ours = [{span[1:] for span in tree.spans()} for tree, _ in both]
    hits = [len(a & b) / len(b) for a, b in zip(ours, true, strict=True)]
    loglik = model.score_samples([tree.words() for tree in test])
    loglik = loglik[loglik > float("-inf")].mean()
    judgements[name] = loglik, sum(hits) / len(hits)
    print(f"{name:28} parsed {len(both):3}   log-likelihood {loglik:7.2f}   phrases found {sum(hits) / len(hits):4.0%}")


# %%
# A rule that does not occur in the trees has probability 0, and EM keeps it at 0. So every rule gets a share: nine
# tenths of the probability follow the trees, and one tenth is shared equally by all rules of a symbol.

left = [rule.split(" -> ")[0] for rule in english.rules_]
shares = [0.9 * grammar.probabilities_.get(rule, 0.0) for rule in english.rules_]
every = zip(english.rules_, left, shares, strict=True)
rules = "\n".join(f"{rule} [{share + 0.1 / left.count(name)}]" for rule, name, share in every)
fitted = hs.PCFG.from_string(rules).fit(said)

judged("five trees", grammar)
judged("and three hundred sentences", fitted)
judged("the truth", english)

# %%
# Without any trees: six symbols, every rule over them, random probabilities. From sentences alone EM finds a grammar
# that describes them well, but with other phrases. With the brackets of the same sentences, without labels, it finds
# the true phrases.

words = sorted({word for sentence in said for word in sentence})
blank = {"n_init": 2, "max_iter": 40, "stop": "iterations", "random_state": 0, "n_jobs": 2, "on_unparsable": "skip"}
alone = hs.PCFG.random(6, words, **blank).fit(said)
helped = hs.PCFG.random(6, words, **blank).fit(said, brackets=hidden)
judged("sentences alone", alone)
judged("sentences with brackets", helped)

# %%
# The four grammars side by side.

figure, ax = plt.subplots(figsize=(6.5, 3), layout="constrained")
names = list(judgements)
ax.barh(names, [share for _, share in judgements.values()], color="#0b7285")
ax.invert_yaxis()
ax.set(xlabel="share of the true phrases that are found", xlim=(0, 1))

plt.show()
