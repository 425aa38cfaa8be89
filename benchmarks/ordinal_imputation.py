"""How well holes in questionnaires are filled: known answers on a scale are hidden at random and guessed.

Accuracy, not speed: `python -m benchmarks.ordinal_imputation`. The error is the mean absolute difference in levels over
the hidden cells, beside it the share of exact hits; both are means over `ROUNDS` random choices of cells. Guesses that
are no levels (those of chained regressions) are rounded. Tables: the twelve traits of the candidates in the election
study of 2000 (four levels), which are left out where the file is absent, and a simulated questionnaire.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table
from sklearn.experimental import enable_iterative_imputer  # noqa: F401  makes IterativeImputer importable
from sklearn.impute import IterativeImputer

import halfseen as hs

ROOT = Path(__file__).resolve().parents[1]
SHARE = 0.1  # of the known cells is hidden
ROUNDS = 5
N_INIT = 4  # starts of the mixtures
SIZES = range(1, 7)  # numbers of classes tried, chosen by BIC

Fill = Callable[[np.ndarray], np.ndarray]


def mode(X: np.ndarray) -> np.ndarray:
    """Fill with the most frequent level of each column."""
    found = [np.bincount(column[~np.isnan(column)].astype(int)).argmax() for column in X.T]
    return np.where(np.isnan(X), found, X)


def median(X: np.ndarray) -> np.ndarray:
    """Fill with the median of each column."""
    return np.where(np.isnan(X), np.floor(np.nanmedian(X, axis=0)), X)


def iterative(X: np.ndarray) -> np.ndarray:
    """Fill by chained regressions, rounded to levels: scikit-learn's IterativeImputer with iterations to settle."""
    filled = IterativeImputer(max_iter=100, random_state=0).fit_transform(X)
    return np.clip(np.round(filled), np.nanmin(X, axis=0), np.nanmax(X, axis=0))


def classes(kind: str) -> Fill:
    """Fill by latent classes of columns of a kind, number of classes by BIC."""

    def fill(X: np.ndarray) -> np.ndarray:
        model = hs.LatentClass(SIZES, columns=dict.fromkeys(range(X.shape[1]), kind), n_init=N_INIT, random_state=0)
        return np.asarray(model.fit(X).impute(X), dtype=np.float64)

    return fill


FILLS: dict[str, Fill] = {
    "mode": mode,
    "median": median,
    "IterativeImputer": iterative,
    "LatentClass categorical": classes("categorical"),
    "LatentClass ordinal": classes("ordinal"),
}


def election() -> np.ndarray | None:
    """Return the traits of two candidates, 1 (extremely well) to 4 (not well at all); None where there is no file."""
    folder = Path(os.environ.get("HALFSEEN_DATA") or ROOT / ".." / "shared" / "data")
    path = folder / "election" / "election.csv"
    if not path.exists():
        return None
    answers = pd.read_csv(path).iloc[:, :12]
    levels = answers.apply(lambda column: column.str[0].astype(float)).to_numpy()
    return levels[~np.isnan(levels).all(axis=1)]


def simulated() -> np.ndarray:
    """Return 800 answers to ten questions of five levels, of three groups with proportional odds."""
    rng = np.random.default_rng(0)
    group = rng.integers(0, 3, 800)
    shift = rng.normal(size=(3, 10)) * 1.5
    latent = rng.logistic(size=(800, 10)) + shift[group]
    return np.digitize(latent, [-2.0, -0.7, 0.7, 2.0]) + 1.0


def errors(X: np.ndarray, fill: Fill) -> tuple[float, float]:
    """Return the mean difference in levels and the share of exact hits over all rounds."""
    off, hits = [], []
    for seed in range(ROUNDS):
        hidden = ~np.isnan(X) & (np.random.default_rng(seed).random(X.shape) < SHARE)
        hidden[hidden.all(axis=1)] = False
        away = np.abs(fill(np.where(hidden, np.nan, X))[hidden] - X[hidden])
        off.append(away.mean())
        hits.append((away == 0).mean())
    return float(np.mean(off)), float(np.mean(hits))


def main() -> None:
    """Print a table for each questionnaire."""
    console = Console()
    for name, X in (("election", election()), ("simulated", simulated())):
        if X is None:
            console.print(f"{name}: the file is not there (HALFSEEN_DATA)")
            continue
        table = Table("filled by", "error in levels", "exact", title=f"{name}, {X.shape[0]} x {X.shape[1]}")
        for label, fill in FILLS.items():
            off, hits = errors(X, fill)
            table.add_row(label, f"{off:.3f}", f"{hits:.1%}")
        console.print(table)


if __name__ == "__main__":
    main()
