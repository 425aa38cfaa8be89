"""Classifiers with few labels: what unlabelled rows and documents, lengths and components bring.

    python -m benchmarks.few_labels text [folder of sms_spam and reuters_r8]
    python -m benchmarks.few_labels tables [folder of election and housevotes84]

The first prints the tables of ``docs/text.md``. For each number of labels per class the labelled documents are drawn
some times from the training part; accuracy is that on the test part, averaged over the draws.

The second prints the table of ``docs/classifiers.md``: 100 labelled rows, drawn 50 times; all others are unlabelled,
and accuracy and cost are those on them. To miss the rarest class costs 5, another mistake 1, not to decide 0.3.

The same draws for every row of a table.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.feature_extraction.text import CountVectorizer

import halfseen as hs

DRAWS = 5
SIZES = (5, 20, 100)  # labels per class
WAYS: dict[str, dict[str, Any]] = {
    "labelled documents alone": {"unlabeled_weight": 0},
    "alone, of one length": {"unlabeled_weight": 0, "document_length": "mean"},
    "alone, of one length, `prior=0.1`": {"unlabeled_weight": 0, "document_length": "mean", "prior": 0.1},
    "all documents": {},
    "all, of one length": {"document_length": "mean"},
    "all, of one length, `prior=0.1`": {"document_length": "mean", "prior": 0.1},
    "all, an unlabelled one counts 0.1": {"unlabeled_weight": 0.1},
    'all, `unlabeled_weight="auto"`': {"guard": True},
    'all, "auto", of one length': {"guard": True, "document_length": "mean"},
    "all, 2 components per class": {"components_per_class": 2, "n_init": 2},
    "all, 2 components, counts 0.1": {"components_per_class": 2, "n_init": 2, "unlabeled_weight": 0.1},
    "all, 4 components per class": {"components_per_class": 4, "n_init": 2},
}


class Collection(NamedTuple):
    """Documents as counts of words, their labels, and how many of them, the first, are for fitting."""

    name: str
    X: Any
    y: Any
    n_fit: int


def collections(folder: Path) -> Iterator[Collection]:
    """Yield the two collections."""
    labels, texts = _read(folder / "sms_spam" / "SMSSpamCollection.tsv", 1)
    yield Collection("text messages", _counted(texts), np.array(labels), 4459)
    parts = [_read(folder / "reuters_r8" / name, 0) for name in ("train.txt", "test.txt")]
    labels, texts = (sum((part[i] for part in parts), ()) for i in (0, 1))
    yield Collection("Reuters news", _counted(texts), np.array(labels), len(parts[0][0]))


def _read(path: Path, skipped: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    lines = path.read_text(encoding="utf-8").splitlines()[skipped:]
    labels, texts = zip(*(line.split("\t", 1) for line in lines if "\t" in line), strict=True)
    return labels, texts


def _counted(texts: tuple[str, ...]) -> Any:
    return CountVectorizer(min_df=2).fit_transform(texts)


def accuracy(found: Collection, size: int, draw: int, options: dict[str, Any]) -> float:
    """Return the share of the test part that is right, with so many labels of each class."""
    rng = np.random.default_rng([size, draw])
    y = found.y[: found.n_fit]
    shown = np.concatenate([rng.permutation(np.flatnonzero(y == label))[:size] for label in np.unique(y)])
    labels = np.full(found.n_fit, None, dtype=object)
    labels[shown] = y[shown]
    model = hs.NaiveBayes(**{"guard": False, "tol": 100, "random_state": 0, **options})
    return model.fit(found.X[: found.n_fit], labels.tolist()).score(found.X[found.n_fit :], found.y[found.n_fit :])


# ---- tables --------------------------------------------------------------------------------------------------------

N_LABELS, TABLE_DRAWS = 100, 50
REJECT = 0.3
POINT = 0.01


class LabelledTable(NamedTuple):
    """A table, its labels, and the classifier that is used for it."""

    name: str
    X: Any
    y: Any
    classifier: Any


def tables(folder: Path) -> Iterator[LabelledTable]:
    """Yield real tables: mixed columns with missing cells, categories, and numbers."""
    votes = pd.read_csv(folder / "housevotes84" / "HouseVotes84.csv")
    yield LabelledTable("votes of 435 members, party", votes.drop(columns="Class"), votes["Class"], hs.NaiveBayes)
    election = pd.read_csv(folder / "election" / "election.csv")
    election = election[election["VOTE3"].isin([1, 2])].reset_index(drop=True)
    traits = election.drop(columns=["VOTE3", "PARTY"])
    yield LabelledTable(f"opinions of {len(traits):,} voters, vote", traits, election["VOTE3"], hs.NaiveBayes)
    cells = load_breast_cancer(as_frame=True)
    yield LabelledTable("569 tumours, malignant", cells.data, cells.target, hs.NaiveBayes)
    first = cells.data.iloc[:, :6]
    yield LabelledTable("the same, 6 columns jointly normal", first, cells.target, hs.GaussianClassifier)
    digits = load_digits(as_frame=True)
    yield LabelledTable("1,797 digits, 64 pixels", digits.data, digits.target, hs.NaiveBayes)


class Trial(NamedTuple):
    """Accuracy and mean cost on rows that were not labelled, and the weight of these in the fit."""

    accuracy: float
    cost: float
    weight: float


def trial(found: LabelledTable, draw: int, options: dict[str, Any], n_labels: int = N_LABELS) -> Trial:
    """Fit with some labels and measure on the other rows."""
    y = np.asarray(found.y)
    shown = np.random.default_rng(draw).permutation(len(y))[:n_labels]
    labels = np.full(len(y), None, dtype=object)
    labels[shown] = y[shown]
    model = found.classifier(random_state=0, **options).fit(found.X, labels.tolist())
    rest = np.setdiff1d(np.arange(len(y)), shown)
    proba, truth = model.predict_proba(found.X.iloc[rest]), np.searchsorted(model.classes_, y[rest])
    cost = 1.0 - np.eye(len(model.classes_))
    cost[:, np.argmin([np.sum(y == label) for label in model.classes_])] *= 5
    decided = hs.decide(proba, cost, REJECT)
    spent = np.where(decided < 0, REJECT, cost[np.maximum(decided, 0), truth])
    return Trial(float(np.mean(proba.argmax(axis=1) == truth)), float(spent.mean()), model.unlabeled_weight_)


def against_alone(found: LabelledTable, draws: int, n_labels: int = N_LABELS) -> dict[str, list[Trial]]:
    """Return the trials of labelled rows alone, of the default, and of unlabelled rows that count in full."""
    ways = {"alone": {"unlabeled_weight": 0}, "auto": {}, "full": {"guard": False}}
    return {way: [trial(found, draw, how, n_labels) for draw in range(draws)] for way, how in ways.items()}


def worse_by_a_point(trials: list[Trial], alone: list[Trial]) -> float:
    """Return the share of draws in which accuracy is more than a point below that of labelled rows alone."""
    return float(np.mean([one.accuracy < other.accuracy - POINT for one, other in zip(trials, alone, strict=True)]))


def of_tables(folder: Path) -> None:
    """Print the comparison of the default with labelled rows alone."""
    print('| 100 labels, 50 draws | alone | `"auto"` | in full | cost alone | `"auto"` | in full |', end="")
    print(' more than a point worse: `"auto"` | in full | used by `"auto"` |')
    print("|---|" + "---:|" * 9)
    for found in tables(folder):
        trials = against_alone(found, TABLE_DRAWS)
        means = [f"{np.mean([one.accuracy for one in each]):.2%}" for each in trials.values()]
        costs = [f"{np.mean([one.cost for one in each]):.4f}" for each in trials.values()]
        worse = [f"{worse_by_a_point(trials[way], trials['alone']):.0%}" for way in ("auto", "full")]
        used = f"{np.mean([one.weight > 0 for one in trials['auto']]):.0%}"
        print(f"| {found.name} | {' | '.join([*means, *costs, *worse, used])} |", flush=True)


def of_text(folder: Path) -> None:
    """Print a table for each collection of documents."""
    for found in collections(folder):
        print(f"\n| {found.name}, labels per class | {' | '.join(map(str, SIZES))} |")
        print("|---|" + "---:|" * len(SIZES))
        for name, options in WAYS.items():
            means = [np.mean([accuracy(found, size, draw, options) for draw in range(DRAWS)]) for size in SIZES]
            print(f"| {name} | {' | '.join(f'{mean:.1%}' for mean in means)} |", flush=True)


def main() -> None:
    """Print what was asked for: text, tables, or both."""
    asked = sys.argv[1:2] or ["text", "tables"]
    folder = Path(sys.argv[2] if len(sys.argv) > 2 else os.environ.get("HALFSEEN_DATA") or "../shared/data")
    warnings.simplefilter("ignore")
    for what in asked:
        {"text": of_text, "tables": of_tables}[what](folder)


if __name__ == "__main__":
    main()
