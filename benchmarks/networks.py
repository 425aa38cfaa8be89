"""Bayesian networks: seconds per iteration of EM on asia and alarm, with holes and hidden nodes.

python -m benchmarks.networks [WORKLOAD ...] prints a line of JSON for each. pyAgrum and pgmpy are not timed here; what
was measured of them elsewhere, on rows of the same size, is printed beside as `quoted`. Networks are read from
``$HALFSEEN_DATA`` (``asia/asia.bif``, ``bif/alarm.bif``).
"""

from __future__ import annotations

import json
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Rows:
    """Rows drawn from a network, some cells lost and some variables hidden."""

    name: str
    file: str
    hidden: tuple[str, ...]
    missing: float
    quoted: str
    n_rows: int = 20_000
    iterations: tuple[int, int] = (10, 110)

    @property
    def path(self) -> Path:
        """Where the network is."""
        folder = Path(os.environ.get("HALFSEEN_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data")
        return folder / self.file

    @property
    def size(self) -> str:
        """Say the size in words."""
        holes = f", {self.missing:.0%} missing" if self.missing else ""
        return f"{self.n_rows:,} rows of {Path(self.file).stem}{holes}, hidden: {', '.join(self.hidden)}"

    def data(self) -> tuple[Any, Any]:
        """Return the network and the rows."""
        import halfseen as hs

        net = hs.read_bif(self.path)
        rows, _ = net.sample(self.n_rows, random_state=0)
        if self.missing:
            rows = rows.astype(object).mask(np.random.default_rng(0).random(rows.shape) < self.missing)
        return net, rows.drop(columns=list(self.hidden))


NETWORKS = {
    work.name: work
    for work in [
        Rows("bn_asia", "asia/asia.bif", ("bronc",), 0.1, "pyAgrum 4.6 s per iteration; pgmpy cannot"),
        Rows("bn_asia_latent", "asia/asia.bif", ("bronc",), 0.0, "pgmpy 0.121 s, pyAgrum 4.2 s per iteration"),
        Rows(
            *("bn_alarm", "bif/alarm.bif", ("LVFAILURE", "VENTLUNG"), 0.1),
            "pyAgrum about 97 s per iteration, scaled from 500 rows",
        ),
    ]
}


def measure(work: Rows, n_jobs: int = 2, repeats: int = 3) -> dict[str, Any]:
    """Return the seconds per iteration: the difference of two fits, the best of some repeats."""
    import halfseen as hs

    net, rows = work.data()
    taken = []
    for iterations in work.iterations:
        how = {"max_iter": iterations, "stop": "iterations", "accelerate": False, "n_init": 1, "n_jobs": n_jobs}
        model = hs.BayesNet(net.edges, states=net.states, prior=1.0, random_state=0, **how)
        times = []
        for _ in range(repeats):
            begin = time.perf_counter()
            model.fit(rows)
            times.append(time.perf_counter() - begin)
        taken.append(min(times))
    low, high = work.iterations
    return {
        "workload": work.name,
        "rows": work.n_rows,
        "missing": work.missing,
        "hidden": list(work.hidden),
        "seconds": (taken[1] - taken[0]) / (high - low),
        "seconds_before_the_first": taken[0] - low * (taken[1] - taken[0]) / (high - low),
        "loglik": model.loglik_,
        "quoted": work.quoted,
    }


if __name__ == "__main__":
    for name in sys.argv[1:] or NETWORKS:
        print(json.dumps(measure(NETWORKS[name])))
