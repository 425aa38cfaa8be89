"""
Word alignment of a small corpus
================================

A dictionary from pairs of translated sentences. The corpus is generated, so that the true links are known.
"""

# %%
# Sentences of an artificial language in which adjectives follow the nouns.
import matplotlib.pyplot as plt
import numpy as np

import halfseen as hs

rng = np.random.default_rng(0)
nouns = {"house": "casu", "dog": "cano", "book": "libo", "tree": "albo"}
adjectives = {"red": "roju", "big": "grando", "old": "vecho"}
verbs = {"sees": "vida", "likes": "ama"}


def phrase():
    """Return a noun with an adjective, or without, in both languages and with the links between them."""
    noun = str(rng.choice(list(nouns)))
    if rng.random() < 0.5:
        return ["the", noun], ["la", nouns[noun]], [(0, 0), (1, 1)]
    how = str(rng.choice(list(adjectives)))
    return ["the", how, noun], ["la", nouns[noun], adjectives[how]], [(0, 0), (1, 2), (2, 1)]


pairs, truth = [], []
for _ in range(200):
    (s1, t1, l1), (s2, t2, l2), verb = phrase(), phrase(), str(rng.choice(list(verbs)))
    pairs.append(([*s1, verb, *s2], [*t1, verbs[verb], *t2]))
    links = [*l1, (len(s1), len(t1)), *((i + len(s1) + 1, j + len(t1) + 1) for i, j in l2)]
    truth.append(links)
print(*pairs[0][0], "|||", *pairs[0][1])

# %%
# Model 1 ignores word order, so it cannot distinguish two occurrences of "the" in a sentence. The HMM aligner learns
# how far the position moves from one word to the next.
for model in ("ibm1", "hmm"):
    aligner = hs.WordAligner(model, max_iter=8).fit(pairs)
    scores = hs.score_links(aligner.align(pairs), truth)
    print(f"{model}: alignment error rate {scores.aer:.3f}")

# %%
# The dictionary, and a plot of one pair.
for word in ("house", "red", "sees"):
    print(word, "->", aligner.translations(word, 1)[0][0])
[links], [proba] = aligner.align(pairs[:1]), aligner.align_proba(pairs[:1])
print(hs.link_matrix(*pairs[0], links, proba))
ax = hs.plot_links(*pairs[0], links, proba)

# %%
# The whole lexicon: how probable each translation is. Every word has one, and the article one for both.
source = sorted({word for words, _ in pairs for word in words})
target = sorted({word for _, words in pairs for word in words})
table = np.array([[dict(aligner.translations(e, None)).get(f, 0.0) for f in target] for e in source])
figure, ax = plt.subplots(figsize=(5.6, 4.6), layout="constrained")
image = ax.imshow(table, cmap="Blues", vmin=0, vmax=1)
ax.set_xticks(range(len(target)), target, rotation=90)
ax.set_yticks(range(len(source)), source)
figure.colorbar(image, label="probability of the translation")

plt.show()
