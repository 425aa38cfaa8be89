"""
Text with few labels
====================

Labelling documents is expensive; collecting them is not. A classifier trained on a few labelled documents knows few
words. Unlabelled documents show which other words occur together with these: EM estimates the labels, counts the words,
and repeats (Nigam, McCallum, Thrun and Mitchell, 2000).
"""

# %%
# The documents
# -------------
# Real text that every Python has: the documentation of functions and classes of four libraries. Which library does a
# paragraph describe? The names of the libraries are taken out of the text.

import importlib
import inspect
import re

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import CountVectorizer

import halfseen as hs

MODULES = {
    "matplotlib": ["matplotlib.axes", "matplotlib.figure", "matplotlib.lines", "matplotlib.patches", "matplotlib.text"],
    "numpy": ["numpy", "numpy.linalg", "numpy.fft", "numpy.polynomial"],
    "pandas": ["pandas"],
    "scipy": ["scipy.stats", "scipy.optimize", "scipy.signal", "scipy.ndimage"],
}


def paragraphs(library):
    """Return the first paragraphs of the documentation of a library: those of its functions, classes and methods."""
    found = {}
    for name in MODULES[library]:
        for _, thing in inspect.getmembers(importlib.import_module(name), callable):
            members = [thing, *(member for _, member in inspect.getmembers(thing, inspect.isfunction))]
            for member in members if inspect.isclass(thing) else [thing]:
                if str(getattr(member, "__module__", "")).startswith(library):
                    text = " ".join((inspect.getdoc(member) or "").split()[:60])
                    found[re.sub(r"\b(matplotlib|numpy|pandas|scipy|np|pd|plt)\b", " ", text)] = None
    return [text for text in found if len(text.split()) >= 15]


documents = [(text, library) for library in MODULES for text in paragraphs(library)]
order = np.random.default_rng(0).permutation(len(documents))
texts, y = (np.array([documents[i][part] for i in order], dtype=object) for part in (0, 1))
X = CountVectorizer(min_df=2, stop_words="english").fit_transform(texts)
n_fit = len(y) * 2 // 3
print(f"{X.shape[0]:,} paragraphs, {X.shape[1]:,} words:", {name: int((y == name).sum()) for name in MODULES})

# %%
# Accuracy against the number of labels
# -------------------------------------
# Three classifiers for each number of labels: fitted to the labelled documents alone, to all documents, and to all with
# the default, which lets cross-validation on the labelled documents decide how much an unlabelled one counts.

CLASSIFIERS = {
    "labelled documents alone": {"unlabeled_weight": 0, "guard": False},
    "all documents": {"unlabeled_weight": 1, "guard": False},
    'all, unlabeled_weight="auto" (default)': {},
}
SIZES = [2, 5, 20, 100]
DRAWS = 3  # choices of the labelled documents


def accuracy(size, options):
    """Return the mean accuracy on the documents left out, with this many labels per library."""
    found = []
    for draw in range(DRAWS):
        rng = np.random.default_rng([size, draw])
        shown = np.concatenate([rng.permutation(np.flatnonzero(y[:n_fit] == name))[:size] for name in MODULES])
        labels = np.full(n_fit, None, dtype=object)
        labels[shown] = y[shown]
        model = hs.NaiveBayes(document_length="mean", tol=1, random_state=0, **options).fit(X[:n_fit], labels)
        found.append(model.score(X[n_fit:], y[n_fit:]))
    return np.mean(found)


figure, ax = plt.subplots(figsize=(6.5, 3.6), layout="constrained")
for name, options in CLASSIFIERS.items():
    scores = [accuracy(size, options) for size in SIZES]
    print(f"{name:40}" + "".join(f"{score:8.1%}" for score in scores))
    ax.plot(SIZES, scores, marker="o", label=name)
ax.set(xlabel="labelled documents per library", ylabel="accuracy on documents left out", xscale="log")
ax.set_xticks(SIZES, SIZES)
ax.legend()

# %%
# With two or five labels the unlabelled documents help much; with a hundred the labels are better used alone. The
# default chooses between the two, and is careful where a few labels show little.
#
# What the classes are about
# --------------------------
# The words that characterise each class most, after a fit to all labels; and why a document has its class.

counter = CountVectorizer(min_df=2, stop_words="english").fit(texts)
model = hs.NaiveBayes().fit(counter.transform(texts[:n_fit]), y[:n_fit])
for label, top in model.top_words(8, counter.get_feature_names_out()).items():
    print(f"{label:11} {', '.join(top)}")
print()
print(model.why(counter.transform(texts[-1:]), names=counter.get_feature_names_out()))

plt.show()
