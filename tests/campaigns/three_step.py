"""Bias of stepwise analyses, after Bakk and Vermunt: ``python -m tests.campaigns.three_step --draw three_step.png``.

Three classes of 40, 35 and 25 %, six yes/no indicators, whose probabilities are 0.9, 0.8 or 0.7 (well, medium and badly
separated classes); a covariate that explains the classes, and an outcome that follows from them. Every table is fitted
from the true parameters, so that classes keep their names, and related by every method of `hs.relate`. Printed are the
mean estimate of one slope and one difference of means, their standard deviation over tables, the mean standard error,
and how often 95 % intervals hold the truth.
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import softmax

import halfseen as hs

SLOPE = np.array([0.0, -1.0, 1.0])  # of the covariate, on each class
CONSTANT = np.array([0.0, 0.0, -0.3])
MEANS = np.array([-1.0, 0.0, 1.0])  # of the outcome
HIGH = np.array([[1, 1, 1, 1, 1, 1], [1, 1, 1, 0, 0, 0], [0, 0, 0, 0, 0, 0]])  # which items a class says yes to
METHODS = ("naive", "bch", "ml", "two-step")
SEPARATION = {"well (0.9)": 0.9, "medium (0.8)": 0.8, "badly (0.7)": 0.7}


def table(rng: np.random.Generator, n_rows: int, chance: float) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return indicators, and the covariate and the outcome beside them."""
    z = rng.integers(1, 6, n_rows) - 3.0
    shares = softmax(CONSTANT + np.outer(z, SLOPE) / 2, axis=1)
    k = (rng.random(n_rows)[:, None] > shares.cumsum(axis=1)).sum(axis=1)
    yes = np.where(HIGH[k] == 1, chance, 1 - chance)
    items = (rng.random(yes.shape) < yes).astype(int)
    y = rng.normal(MEANS[k])
    return pd.DataFrame(items, columns=list("abcdef")), pd.DataFrame({"z": z, "y": y})


def fitted(items: pd.DataFrame, chance: float) -> Any:
    """Return the classes, from the true parameters."""
    yes = np.where(HIGH == 1, chance, 1 - chance)
    start: dict[str, Any] = {name: {0: 1 - yes[:, j], 1: yes[:, j]} for j, name in enumerate(items.columns)}
    return hs.LatentClass(3, prior=None, start={"weights": [0.4, 0.35, 0.25], **start}, n_init=1).fit(items)


def estimates(items: pd.DataFrame, beside: pd.DataFrame, chance: float) -> dict[str, list[float]]:
    """Return slope of class 2 against class 1, difference of their means, and the error of each, by method."""
    model = fitted(items, chance)
    found = {}
    for method in METHODS:
        by_z = hs.relate(model, items, covariates=beside[["z"]], method=method, reference=1).coefficients
        of_y = hs.relate(model, items, outcomes=beside[["y"]], method=method).outcomes[0]
        difference = np.array([0.0, -1.0, 1.0])
        error = np.sqrt(difference @ of_y.covariance @ difference)
        found[method] = [by_z.estimate[1, 1], by_z.se[1, 1], float(difference @ of_y.estimate[:, 0]), float(error)]
    return found


def campaign(n_tables: int, n_rows: int, seed: int) -> pd.DataFrame:
    """Return a row for each separation, method and figure."""
    truth = {"slope": (SLOPE[2] - SLOPE[1]) / 2, "difference": MEANS[2] - MEANS[1]}
    rows = []
    for name, chance in SEPARATION.items():
        found: dict[str, list[list[float]]] = {method: [] for method in METHODS}
        lost = 0
        for i in range(n_tables):
            items, beside = table(np.random.default_rng([seed, i]), n_rows, chance)
            try:
                for method, values in estimates(items, beside, chance).items():
                    found[method].append(values)
            except hs.errors.FitError:
                lost += 1
        for method, values in found.items():
            numbers = np.array(values)
            for j, (what, true) in enumerate(truth.items()):
                value, error = numbers[:, 2 * j], numbers[:, 2 * j + 1]
                held = np.mean(np.abs(value - true) <= 1.96 * error)
                rows.append([name, method, what, true, value.mean(), value.std(), error.mean(), held, lost])
    head = ["separation", "method", "what", "true", "mean", "sd", "mean se", "coverage", "refused"]
    return pd.DataFrame(rows, columns=head)


def draw(found: pd.DataFrame, path: str) -> None:
    """Draw the mean estimates beside the truth."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, both = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    titles = {"slope": "log-odds ratio of the covariate", "difference": "difference of means of the outcome"}
    for ax, (what, title) in zip(both, titles.items(), strict=True):
        own = found[found["what"] == what]
        for i, method in enumerate(METHODS):
            rows = own[own["method"] == method]
            where = np.arange(len(rows)) + (i - 1.5) * 0.15
            ax.errorbar(where, rows["mean"], rows["sd"], fmt="os^D"[i], capsize=3, label=method)
        ax.axhline(own["true"].iloc[0], color="#6b7280", linestyle="--", linewidth=1)
        ax.set_xticks(range(len(SEPARATION)), list(SEPARATION))
        ax.set_title(title, fontsize=11)
        ax.set_xlabel("separation of the classes")
    both[0].legend(frameon=False, fontsize=9)
    figure.savefig(path, dpi=120)


def main() -> None:
    """Run the campaign, print its table, and draw it if asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=200)
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--draw")
    given = parser.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = campaign(given.tables, given.rows, given.seed)
    print(found.round(3).to_string(index=False))
    if given.draw:
        draw(found, given.draw)


if __name__ == "__main__":
    main()
