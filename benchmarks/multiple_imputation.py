"""Coverage of intervals for a mean with values missing at random: complete rows, one imputation, several.

    python -m benchmarks.multiple_imputation [--tables 1000] [--rows 200] [--draws 20]

Every table has a column x that is always observed and a column y = x + noise, of mean 0, that is missing the more often
the larger x is: about half of its cells. Four ways to an interval of 95 % for the mean of y:

complete rows     the rows with y alone: biased, as those with a small x are left
filled once       the expected y in place of each missing one, then as if it had been observed
drawn, fixed      several draws of the missing cells under the fitted parameters, pooled: improper
drawn, refitted   `hs.Imputer.multiple`, which draws the parameters too, pooled

A rate from 1,000 tables has a standard error of 0.7 %.
"""

from __future__ import annotations

import argparse

import numpy as np
from scipy.stats import t

import halfseen as hs

WAYS = ("complete rows", "filled once", "drawn, fixed", "drawn, refitted")


def made(rng: np.random.Generator, n_rows: int) -> np.ndarray:
    """A table of x and y, y missing by x."""
    x = rng.normal(size=n_rows)
    y = x + rng.normal(size=n_rows)
    y[rng.random(n_rows) < 1 / (1 + np.exp(-1.5 * x))] = np.nan
    return np.column_stack([x, y])


def mean_interval(y: np.ndarray) -> tuple[float, float]:
    far = t.ppf(0.975, len(y) - 1) * y.std(ddof=1) / np.sqrt(len(y))
    return float(y.mean() - far), float(y.mean() + far)


def pooled_interval(tables: list[np.ndarray]) -> tuple[float, float]:
    ys = [table[:, 1] for table in tables]
    found = hs.pool([y.mean() for y in ys], [y.var(ddof=1) / len(y) for y in ys], df=len(ys[0]) - 1)
    return float(found.low[0]), float(found.high[0])


def intervals(X: np.ndarray, draws: int, seed: int) -> dict[str, tuple[float, float]]:
    imputer = hs.Imputer(hs.GaussianMixture(1, n_jobs=1), draws=draws, random_state=seed).fit(X)
    fixed = [imputer.model_.impute(X, draw=True, random_state=1000 * seed + d) for d in range(draws)]
    return {
        "complete rows": mean_interval(X[~np.isnan(X[:, 1]), 1]),
        "filled once": mean_interval(imputer.transform(X)[:, 1]),
        "drawn, fixed": pooled_interval(fixed),
        "drawn, refitted": pooled_interval(list(imputer.multiple(X))),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for option, default in (("--tables", 1000), ("--rows", 200), ("--draws", 20)):
        parser.add_argument(option, type=int, default=default)
    given = parser.parse_args()
    rng = np.random.default_rng(0)
    found = [intervals(made(rng, given.rows), given.draws, seed) for seed in range(given.tables)]
    print(f"{given.tables} tables of {given.rows} rows, {given.draws} draws; the mean is 0")
    for way in WAYS:
        ends = np.array([each[way] for each in found])
        covered = np.mean((ends[:, 0] <= 0) & (ends[:, 1] >= 0))
        print(f"{way:16} covers {covered:6.1%}   mean width {np.mean(ends[:, 1] - ends[:, 0]):.3f}")


if __name__ == "__main__":
    main()
