"""Whether the bootstrap keeps what it promises, in simulations: hours on one core, minutes by the kernel of small fits.

    python -m tests.campaigns.bootstrap size [-n TABLES] [--draws B] [--jobs N]      under the null, p <= .05 in 5 %
    python -m tests.campaigns.bootstrap power [-n TABLES] [--draws B] [--jobs N]     one class too few
    python -m tests.campaigns.bootstrap coverage [-n TABLES] [--draws B] [--jobs N]  95 % intervals hold the truth

Tables are of six yes/no questions in two classes (400 rows, one cell in twenty missing). Exit code 1 where the size is
not between 3 and 7 %, or the mean coverage of shares or of probabilities not between 92 and 97 %.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import numpy as np
import pandas as pd

import halfseen as hs

N_ROWS, N_COLUMNS, MISSING = 400, 6, 0.05
SHARES = np.array([0.6, 0.4])
YES = np.array([[0.85, 0.8, 0.8, 0.7, 0.25, 0.3], [0.2, 0.25, 0.15, 0.3, 0.7, 0.8]])  # (K, D)
SIZE, COVERAGE = (0.03, 0.07), (0.92, 0.97)


def table(seed: int) -> pd.DataFrame:
    """Draw a table of two classes."""
    rng = np.random.default_rng(seed)
    z = rng.choice(2, N_ROWS, p=SHARES)
    answers = np.where(rng.random((N_ROWS, N_COLUMNS)) < YES[z], "yes", "no")
    frame = pd.DataFrame(answers, columns=[f"q{d}" for d in range(N_COLUMNS)])
    return frame.where(rng.random(frame.shape) >= MISSING)


def fitted(X: pd.DataFrame, n_classes: int) -> hs.LatentClass:
    """Fit by maximum likelihood."""
    return hs.LatentClass(n_classes, prior=None, random_state=0).fit(X)


def tested(seed: int, n_classes: int, draws: int) -> float:
    """Return the p-value of the test of so many classes against one more."""
    X = table(seed)
    return hs.blrt(fitted(X, n_classes), X, draws=draws, random_state=seed).p


def covered(seed: int, draws: int) -> tuple[list[bool], list[bool]]:
    """Return whether the intervals of shares, and of probabilities of yes, hold the truth."""
    X = table(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = hs.bootstrap(fitted(X, 2), X, draws=draws, random_state=seed).errors().to_frame()
    shares = found[found["column"] == "(share)"]
    order = np.argsort(-shares["estimate"].to_numpy())  # the larger class is the first one of the truth
    inside = [
        bool(low <= truth <= high)
        for truth, low, high in zip(
            SHARES, shares["low"].to_numpy()[order], shares["high"].to_numpy()[order], strict=True
        )
    ]
    yes = found[found["value"] == "yes"]
    low, high = (yes[name].to_numpy(float).reshape(N_COLUMNS, 2)[:, order].T for name in ("low", "high"))
    known = np.isfinite(low)  # not on the boundary
    return inside, ((low <= YES) & (high >= YES))[known].tolist()


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("size", "power", "coverage"))
    parser.add_argument("-n", type=int, default=400, help="simulated tables")
    parser.add_argument("--draws", type=int, default=None, help="of each bootstrap; 99 of a test, 1,000 of intervals")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    given = parser.parse_args(arguments)
    draws = given.draws or (1000 if given.what == "coverage" else 99)
    if given.what == "coverage":
        task = partial(covered, draws=draws)
    else:
        task = partial(tested, n_classes=2 if given.what == "size" else 1, draws=draws)
    began = time.monotonic()
    with ProcessPoolExecutor(given.jobs) as pool:
        found = list(pool.map(task, range(given.n), chunksize=4))
    print(f"{given.n} tables, {draws} draws each, {time.monotonic() - began:.0f} s")
    return coverage_of(found) if given.what == "coverage" else share_of(found, given.what)


def share_of(p: list[float], what: str) -> int:
    """Print how often the hypothesis is rejected."""
    for level in (0.01, 0.05, 0.1):
        share = float(np.mean(np.array(p) <= level + 1e-9))
        print(f"p <= {level}: {share:.4f} (standard error {np.sqrt(share * (1 - share) / len(p)):.4f})")
    share = float(np.mean(np.array(p) <= 0.05 + 1e-9))
    return 0 if what == "power" or SIZE[0] <= share <= SIZE[1] else 1


def coverage_of(found: list[tuple[list[bool], list[bool]]]) -> int:
    """Print the mean coverage of shares and of probabilities."""
    means = [float(np.mean(np.concatenate([one[i] for one in found]))) for i in (0, 1)]
    print(f"95 % intervals: shares {means[0]:.4f}, probabilities {means[1]:.4f}")
    return 0 if all(COVERAGE[0] <= mean <= COVERAGE[1] for mean in means) else 1


if __name__ == "__main__":
    sys.exit(main())
