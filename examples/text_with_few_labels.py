"""
Text with few labels
====================

Labelling documents is work; collecting them is not. A classifier of text that has seen ten labelled messages knows few
words. The unlabelled messages tell it which other words go with these: EM completes the labels, counts the words, and
goes round again (Nigam, McCallum, Thrun and Mitchell, 2000).

Here are two collections, one where that works at once and one where it has to be done with care: text messages, spam or
not, and news of Reuters in eight classes. The data are not part of the library; where they are not at hand this page
says so and shows a small collection made up on the spot.
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
# documents, where an unlabelled one counts a tenth of a labelled one. The more labels there are, the less is to be
# learned from documents without: where the classes are not what the words of the documents fall into by themselves, as
# in the news, many labels are better off alone.

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
# Whether the unlabelled documents help is not a matter of taste: with the default ``guard=True`` the fit compares
# itself with one to the labelled documents alone, by cross-validation, and warns. ``unlabeled_weight="cv"`` lets it
# find out how much an unlabelled document should count.
#
# What the classes are about
# --------------------------
# The words that set each class apart most, after a fit to all labels.

for _name, y, texts, n_fit in made:
    words = CountVectorizer(min_df=2)
    X = words.fit_transform(texts[:n_fit])
    for label, top in hs.NaiveBayes().fit(X, y[:n_fit]).top_words(6, words.get_feature_names_out()).items():
        print(f"{label:10} {', '.join(top)}")

plt.show()
