"""How well holes are filled: known cells of real tables are hidden at random and guessed by several imputers.

Accuracy, not speed: `make bench ONLY=imputation`. The error is the root mean square of (guess - truth) over the hidden
cells, in standard deviations of each column, and the mean over `ROUNDS` random choices of cells. 1.0 is what a guess of
the mean is worth. Tables that are not there are left out, and it is said.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table
from sklearn.experimental import enable_iterative_imputer  # noqa: F401  makes IterativeImputer importable
from sklearn.impute import IterativeImputer

import halfseen as hs

ROOT = Path(__file__).resolve().parents[1]
SHARES = (0.1, 0.3)
ROUNDS = 5
N_INIT = 4  # starts of the mixtures
SIZES = range(1, 5)  # numbers of components tried, chosen by BIC
TABLES = {  # table -> its columns of numbers; None: all
    "penguins": ["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"],
    "iris": ["Sepal.Length", "Sepal.Width", "Petal.Length", "Petal.Width"],
    "faithful": ["eruptions", "waiting"],
    "cholesterol": None,
    "nhanes": ["age", "bmi", "hyp", "chl"],
}

Fill = Callable[[np.ndarray], np.ndarray]


def means(X: np.ndarray) -> np.ndarray:
    """Fill with the columns' means."""
    return np.where(np.isnan(X), np.nanmean(X, axis=0), X)


def iterative(X: np.ndarray) -> np.ndarray:
    """Fill by chained regressions: scikit-learn's IterativeImputer as it comes, with iterations enough to settle."""
    return IterativeImputer(max_iter=100, random_state=0).fit_transform(X)


def mixture(X: np.ndarray) -> np.ndarray:
    """Fill by a Gaussian mixture, number of components by BIC."""
    return hs.GaussianMixture(SIZES, covariance_type="full", n_init=N_INIT, random_state=0).fit(X).impute(X)


def classes(X: np.ndarray) -> np.ndarray:
    """Fill by latent classes of independent normal columns, number of classes by BIC."""
    kinds = dict.fromkeys(range(X.shape[1]), "gaussian")
    return hs.LatentClass(SIZES, columns=kinds, n_init=N_INIT, random_state=0).fit(X).impute(X)


def centres(X: np.ndarray) -> np.ndarray:
    """Fill by k-means with three centres, columns in standard deviations."""
    mean, sd = np.nanmean(X, axis=0), np.nanstd(X, axis=0)
    return hs.KMeans(3, random_state=0).fit((X - mean) / sd).impute((X - mean) / sd) * sd + mean


FILLS: dict[str, Fill] = {
    "GaussianMixture": mixture,
    "LatentClass": classes,
    "KMeans": centres,
    "IterativeImputer": iterative,
    "column means": means,
}


def read(name: str) -> np.ndarray | None:
    """Return a table of numbers; None where it is not there."""
    if name == "penguins":
        frame = hs.load_penguins()
    else:
        folder = Path(os.environ.get("HALFSEEN_DATA") or ROOT / ".." / "shared" / "data").resolve()
        path = folder / name / f"{name}.csv"
        if not path.exists():
            return None
        frame = pd.read_csv(path)
    columns = TABLES[name]
    return (frame if columns is None else frame[columns]).to_numpy(dtype=np.float64)


def hide(X: np.ndarray, share: float, seed: int) -> np.ndarray:
    """Choose known cells to hide, but never the last of a row, nor more than half of a column."""
    rng = np.random.default_rng([seed, int(100 * share)])
    known = ~np.isnan(X)
    hidden = known & (rng.random(X.shape) < share)
    bare = (known & ~hidden).sum(axis=1) == 0
    hidden[bare] = False
    for d in range(X.shape[1]):
        chosen = np.flatnonzero(hidden[:, d])
        hidden[chosen[known[:, d].sum() // 2 :], d] = False
    return hidden


def error(X: np.ndarray, filled: np.ndarray, hidden: np.ndarray) -> float:
    """Return the root mean square error over hidden cells, in standard deviations of the columns."""
    gaps = (filled - X) / np.nanstd(X, axis=0)
    return float(np.sqrt(np.mean(gaps[hidden] ** 2)))


def measured(X: np.ndarray, share: float) -> dict[str, float]:
    """Return the mean error of every imputer over the rounds."""
    errors: dict[str, list[float]] = {name: [] for name in FILLS}
    for seed in range(ROUNDS):
        hidden = hide(X, share, seed)
        holed = np.where(hidden, np.nan, X)
        for name, fill in FILLS.items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # small tables: some fits collapse or do not settle, and say so
                errors[name].append(error(X, fill(holed), hidden))
    return {name: float(np.mean(found)) for name, found in errors.items()}


def imputation(console: Console) -> dict[str, Any]:
    """Compare imputers on the tables that are there."""
    table = Table("table", "hidden", *FILLS, title="error of filled cells, in standard deviations")
    results: dict[str, Any] = {}
    for name in TABLES:
        X = read(name)
        if X is None:
            console.print(f"[bold yellow]imputation: {name} is not here and left out. Set HALFSEEN_DATA to its folder.")
            continue
        for share in SHARES:
            found = measured(X, share)
            results[f"{name} {share:.0%}"] = found
            table.add_row(name, f"{share:.0%}", *(f"{value:.3f}" for value in found.values()))
            console.print(f"{name}, {share:.0%} hidden: done")
    console.print(table)
    return {"results": results, "rounds": ROUNDS, "agree": True}


if __name__ == "__main__":
    imputation(Console(width=110))
