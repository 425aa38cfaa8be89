"""
Text with few labels
====================

Labelling documents is expensive; collecting them is not. A classifier trained on ten labelled messages knows few words.
Unlabelled messages show which other words occur together with these: EM estimates the labels, counts the words, and
repeats (Nigam, McCallum, Thrun and Mitchell, 2000).

There are two collections: text messages, spam or not, where this works without tuning, and Reuters news in eight
classes, where it needs care. The data are not part of the library; if they are not available, this page says so and
uses a small generated collection.
"""

# %%
# The documents
# -------------
# Counts of words, made by scikit-learn. `NaiveBayes` takes the sparse matrix as it is. (Given a table,
# ``columns={"body": "text"}`` counts the words of a column.)

import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import CountVectorizer

import halfseen as hs

FOLDER = Path(os.environ.get("HALFSEEN_DATA") or "../shared/data")
DRAWS = 2  # choices of the labelled documents


def read(path, header=False):
    """Return labels and texts of a file with both in each line."""
    lines = path.read_text(encoding="utf-8").splitlines()[int(header) :]
    return zip(*(line.split("\t", 1) for line in lines if "\t" in line), strict=True)


def collections():
    """Yield the name of each collection with its labels, its texts, and how many of them are for fitting."""
    sms, news = FOLDER / "sms_spam" / "SMSSpamCollection.tsv", FOLDER / "reuters_r8"
    if sms.exists():
        labels, texts = read(sms, header=True)
        yield "text messages", labels, texts, 4459
    if news.exists():
        (labels, texts), (more_labels, more_texts) = read(news / "train.txt"), read(news / "test.txt")
        yield "Reuters news", labels + more_labels, texts + more_texts, len(labels)
    if not sms.exists() and not news.exists():
        print(f"The collections are not in {FOLDER}: what follows is made up.")
        rng = np.random.default_rng(0)
        shares = rng.dirichlet(np.full(300, 0.1), 2)
        labels = rng.integers(0, 2, 600)
        words = [rng.choice(300, 12, p=shares[k] / 2 + 1 / 600) for k in labels]
        yield "made up", tuple(labels.tolist()), [" ".join(f"w{v}" for v in row) for row in words], 400


# %%
# Accuracy against the number of labels
# -------------------------------------
# Three classifiers for each number of labels: fitted to the labelled documents alone, to all documents, and to all
# documents with a weight of a tenth for the unlabelled ones. The more labels there are, the less the unlabelled
# documents add: if the classes are not the natural clusters of the documents, as in the news, many labels are better
# used alone.

CLASSIFIERS = {
    "labelled documents alone": {"unlabeled_weight": 0},
    "all documents": {},
    "all, unlabelled by a tenth": {"unlabeled_weight": 0.1},
}


def curve(X, y, n_fit, sizes):
    """Return the mean accuracy on the documents left out, for each classifier and number of labels per class."""
    found = {name: np.zeros(len(sizes)) for name in CLASSIFIERS}
    for i, size in enumerate(sizes):
        for draw in range(DRAWS):
            rng = np.random.default_rng([size, draw])
            shown = [rng.permutation(np.flatnonzero(y[:n_fit] == label))[:size] for label in np.unique(y)]
            labels = np.full(n_fit, None, dtype=object)
            labels[np.concatenate(shown)] = y[np.concatenate(shown)]
            for name, options in CLASSIFIERS.items():
                model = hs.NaiveBayes(guard=False, tol=100, n_jobs=-1, **options)
                model.fit(X[:n_fit], labels.tolist())
                found[name][i] += model.score(X[n_fit:], y[n_fit:]) / DRAWS
    return found


made = [(name, np.array(labels), texts, n_fit) for name, labels, texts, n_fit in collections()]
figure, axes = plt.subplots(1, len(made), figsize=(5 * len(made), 4), squeeze=False)
sizes = [3, 20, 100]
for axis, (name, y, texts, n_fit) in zip(axes[0], made, strict=True):
    X = CountVectorizer(min_df=2).fit_transform(texts)
    print(f"\n{name}: {X.shape[0]:,} documents, {X.shape[1]:,} words, {len(np.unique(y))} classes")
    for who, accuracy in curve(X, y, n_fit, sizes).items():
        print(f"  {who:30}" + "".join(f"{share:8.1%}" for share in accuracy))
        axis.plot(sizes, accuracy, marker="o", label=who)
    axis.set(title=name, xlabel="labelled documents per class", xscale="log", ylim=(None, 1))
    axis.set_xticks(sizes, sizes)
axes[0, 0].set_ylabel("accuracy on documents left out")
axes[0, 0].legend()
figure.tight_layout()

# %%
# With the default, ``unlabeled_weight="auto"`` and ``guard=True``, the weight of an unlabelled document is chosen by
# cross-validation on the labelled ones: 0, unless unlabelled documents are clearly better.
#
# What the classes are about
# --------------------------
# The words that characterise each class most, after a fit to all labels.

for _name, y, texts, n_fit in made:
    words = CountVectorizer(min_df=2)
    X = words.fit_transform(texts[:n_fit])
    for label, top in hs.NaiveBayes().fit(X, y[:n_fit]).top_words(6, words.get_feature_names_out()).items():
        print(f"{label:10} {', '.join(top)}")

plt.show()
