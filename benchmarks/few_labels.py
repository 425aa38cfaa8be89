"""Accuracy of text classifiers with few labels: what unlabelled documents, lengths and components bring.

    python -m benchmarks.few_labels [folder of sms_spam and reuters_r8]

Prints the tables of ``docs/text.md``. For each number of labels per class the labelled documents are drawn some times
from the training part; accuracy is that on the test part, averaged over the draws. The same draws for every row.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
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
    'all, `unlabeled_weight="cv"`': {"unlabeled_weight": "cv"},
    'all, "cv", of one length': {"unlabeled_weight": "cv", "document_length": "mean"},
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
    model = hs.NaiveBayes(guard=False, tol=100, random_state=0, **options)
    return model.fit(found.X[: found.n_fit], labels.tolist()).score(found.X[found.n_fit :], found.y[found.n_fit :])


def main() -> None:
    """Print a table for each collection."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else os.environ.get("HALFSEEN_DATA") or "../shared/data")
    warnings.simplefilter("ignore")
    for found in collections(folder):
        print(f"\n| {found.name}, labels per class | {' | '.join(map(str, SIZES))} |")
        print("|---|" + "---:|" * len(SIZES))
        for name, options in WAYS.items():
            means = [np.mean([accuracy(found, size, draw, options) for draw in range(DRAWS)]) for size in SIZES]
            print(f"| {name} | {' | '.join(f'{mean:.1%}' for mean in means)} |", flush=True)


if __name__ == "__main__":
    main()
