"""Documents as counts of words: naive Bayes beside scikit-learn, and its EM beside loops over SciPy's sparse products.

python -m benchmarks.text CONTESTANT WORKLOAD runs one contestant and prints a line of JSON; `make bench ONLY=nb_text`
and `make bench ONLY=nb_text_em` run all of them. Words are as frequent as in a language: the v-th about 1 / v.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from benchmarks.contestants import timed

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Texts:
    """Documents drawn from known classes."""

    name: str
    n_rows: int = 100_000
    n_words: int = 50_000
    n_classes: int = 20
    length: int = 60
    iterations: tuple[int, int] = (3, 13)
    peer_iterations: tuple[int, int] = (2, 6)

    @property
    def size(self) -> str:
        """Say the size in words."""
        return f"{self.n_rows:,} documents of {self.length} words, {self.n_words:,} words, {self.n_classes} classes"

    def data(self) -> tuple[Any, NDArray[np.int64]]:
        """Draw counts of words, and the class of each document."""
        rng = np.random.default_rng(0)
        labels = rng.integers(0, self.n_classes, self.n_rows)
        usual = 1 / np.arange(1, self.n_words + 1)
        places = rng.permutation(self.n_words)
        words = np.empty((self.n_rows, self.length), dtype=np.int64)
        for k in range(self.n_classes):
            shares = usual * rng.gamma(1.0, size=self.n_words)
            edges = np.cumsum(shares / shares.sum())
            drawn = np.searchsorted(edges, rng.random(((labels == k).sum(), self.length)))
            words[labels == k] = places[np.minimum(drawn, self.n_words - 1)]
        rows = np.repeat(np.arange(self.n_rows), self.length)
        ones = np.ones(words.size, dtype=np.int64)
        counts = sparse.csr_matrix((ones, (rows, words.ravel())), shape=(self.n_rows, self.n_words))
        counts.sum_duplicates()
        return counts, labels

    def start(self) -> tuple[Array, Array]:
        """Return shares of classes and of words that everybody begins with."""
        rng = np.random.default_rng(1)
        return rng.dirichlet(np.ones(self.n_classes)), rng.dirichlet(np.ones(self.n_words), self.n_classes)


TEXTS = {work.name: work for work in [Texts("nb_text"), Texts("nb_text_em")]}
ALPHA = 0.1  # pseudo-counts of every word in every class


def halfseen(work: Texts) -> dict[str, Any]:
    """Time NaiveBayes, or the EM of LatentClass, with two threads."""
    import halfseen as hs

    X, y = work.data()
    if work.name == "nb_text":
        return once(lambda: hs.NaiveBayes(class_prior="observed", n_jobs=2), X, y)
    mix, words = work.start()
    start = {"weights": mix, "words": words}

    def run(n: int) -> float:
        model = hs.LatentClass(
            work.n_classes,
            start=start,
            prior=ALPHA,
            n_init=1,
            accelerate=False,
            stop="iterations",
            max_iter=n + 1,
            n_jobs=2,
        )
        return model.fit(X).loglik_

    return timed(run, work.iterations)


def scikit_learn(work: Texts) -> dict[str, Any]:
    """Time MultinomialNB, or a loop that fits it to responsibilities."""
    from sklearn.naive_bayes import MultinomialNB

    X, y = work.data()
    if work.name == "nb_text":
        return once(MultinomialNB, X, y)
    return timed(lambda n: loop(work, X, n), work.peer_iterations, repeats=1)


def loop(work: Texts, X: Any, n: int) -> float:
    """Make n steps of EM by two sparse products each; return the log-likelihood after them."""
    mix, words = work.start()
    transposed = X.T.tocsr()
    for step in range(n + 1):
        joint = X @ np.log(words).T + np.log(mix)
        best = joint.max(axis=1, keepdims=True)
        resp = np.exp(joint - best)
        total = resp.sum(axis=1, keepdims=True)
        loglik = float((best + np.log(total)).sum())
        if step < n:
            resp /= total
            mix = resp.sum(axis=0) + ALPHA
            mix /= mix.sum()
            words = np.asarray(transposed @ resp).T + ALPHA
            words /= words.sum(axis=1, keepdims=True)
    return loglik


def once(make: Any, X: Any, y: Any, repeats: int = 5) -> dict[str, Any]:
    """Time fit and predict, the best of several."""
    best = np.inf
    for _ in range(repeats):
        begin = time.perf_counter()
        model = make().fit(X, y)
        found = model.predict(X)
        best = min(best, time.perf_counter() - begin)
    checked = float(model.feature_log_prob_.sum())
    return {"times": [0.0, best], "iterations": (0, 1), "loglik": checked, "accuracy": float((found == y).mean())}


def main() -> None:
    """Run one contestant."""
    name, workload = sys.argv[1:3]
    print(json.dumps({"halfseen": halfseen, "scikit-learn": scikit_learn}[name](TEXTS[workload])))


if __name__ == "__main__":
    main()
