"""Standard errors against passes of EM: ``python -m benchmarks.standard_errors``.

The lca workload (200,000 rows, 20 columns, 8 classes), fitted by maximum likelihood; the time of `hs.standard_errors`
is divided by that of one pass, measured in the same run as in the other benchmarks, both on all cores.
"""

from __future__ import annotations

import time
import warnings
from typing import Any

import halfseen as hs
from benchmarks.workloads import WORKLOADS

ROUNDS = 3


def seconds_of_a_pass(X: Any, n_components: int, iterations: tuple[int, int]) -> float:
    """Return the best difference in time over the difference in iterations."""

    def fit(n: int) -> float:
        model = hs.LatentClass(
            n_components,
            prior=None,
            n_init=1,
            random_state=0,
            stop="iterations",
            max_iter=n,
            accelerate=False,
            n_jobs=-1,
        )
        began = time.perf_counter()
        model.fit(X)
        return time.perf_counter() - began

    few, many = iterations
    return min((fit(many) - fit(few)) / (many - few) for _ in range(ROUNDS))


def main() -> None:
    """Print the time of both, and the ratio."""
    warnings.simplefilter("ignore")
    work = WORKLOADS["lca"]
    X = work.data()
    one = seconds_of_a_pass(X, work.n_components, work.iterations)
    model = hs.LatentClass(work.n_components, prior=None, n_init=1, random_state=0, n_jobs=-1).fit(X)
    taken = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        hs.standard_errors(model, X)
        taken.append(time.perf_counter() - began)
    print(f"{work.size}: a pass {1000 * one:.2f} ms, standard errors {min(taken):.3f} s: {min(taken) / one:.0f} passes")


if __name__ == "__main__":
    main()
