"""Many small fits: bootstrap refits and the bootstrap test, beside StepMix: `make bench ONLY=bootstrap_refits`.

    python -m benchmarks.bootstrap refits      1,000 nonparametric refits of carcinoma, three classes
    python -m benchmarks.bootstrap test        the test of two classes against three, 99 drawn tables

The data are the 118 slides and 7 pathologists of carcinoma (Agresti 2002), from HALFSEEN_DATA or ../shared/data. Ours
are two threads; refits begin near the estimate; the test has 20 starts of the larger model and 6 of the smaller one
in each table. StepMix makes fewer draws, and its time is scaled: once with one random start of each model, its default,
which is less work than ours, and once with as many starts as ours. Both must find the same log-likelihoods in the data
and the same LR. The general loop, without the kernel of small fits, is timed beside. What the numbers do not show:
p-values from one start for each table rest on local maxima.
"""

from __future__ import annotations

import json
import os
import sys
import time
import warnings
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pandas as pd

import halfseen as hs
from halfseen.engine.tables.batch import Batch

DRAWS, TABLES = 1000, 99
PEER_DRAWS = 10  # of StepMix, with one start
AGREE = 1e-3  # of log-likelihoods and LR
ROUNDS = 3


def carcinoma() -> pd.DataFrame:
    """Read the data, answers coded 0 and 1."""
    folder = Path(os.environ.get("HALFSEEN_DATA") or Path(__file__).resolve().parents[1] / ".." / "shared" / "data")
    return pd.read_csv(folder / "carcinoma" / "carcinoma.csv") - 1


def timed(task: Callable[[], Any], rounds: int = ROUNDS) -> tuple[float, Any]:
    """Return the seconds of the best round, and what it found."""
    best, found = float("inf"), None
    for _ in range(rounds):
        began = time.perf_counter()
        found = task()
        best = min(best, time.perf_counter() - began)
    return best, found


def peer(n_classes: int, n_init: int = 1) -> Any:
    """Return a model of StepMix with its own tolerance."""
    from stepmix import StepMix

    return StepMix(n_classes, measurement="binary", n_init=n_init, random_state=0, progress_bar=0, verbose=0)


def quietly(task: Callable[[], Any]) -> Any:
    """Run without printing."""
    with redirect_stdout(StringIO()), redirect_stderr(StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return task()


def check(one: float, other: float, what: str) -> None:
    """Fail where two results differ."""
    if abs(one - other) > AGREE:
        raise SystemExit(f"{what} differ: {one} and {other}")


def refits(X: pd.DataFrame) -> dict[str, Any]:
    """Time refits to rows drawn with replacement."""
    model = hs.LatentClass(3, prior=None, random_state=0).fit(X)

    def run(draws: int = DRAWS) -> Any:
        return hs.bootstrap(model, X, draws=draws, random_state=0, n_jobs=2)

    run(10)  # imports are not timed
    seconds, found = timed(run)
    results = {"draws": DRAWS, "seconds": seconds, "se_of_first_share": float(found.se[0])}
    with patch.object(Batch, "find", return_value=None):
        slow, general = timed(lambda: run(DRAWS // 10), 1)
    check(float(abs(general.draws - found.draws[: DRAWS // 10])[:, :3].max()), 0.0, "shares by kernel and by loop")
    results["seconds_of_the_general_loop"] = 10 * slow
    if find_spec("stepmix"):
        own = quietly(lambda: peer(3, n_init=20).fit(X))
        check(float(own.score(X)) * len(X), model.loglik_, "log-likelihoods")
        each, _ = timed(lambda: quietly(lambda: peer(3).fit(X).bootstrap(X, n_repetitions=PEER_DRAWS)), 1)
        results |= {"stepmix_seconds_scaled": each / PEER_DRAWS * DRAWS}
        results["faster_than_stepmix"] = results["stepmix_seconds_scaled"] / seconds
    return results


def test_of_classes(X: pd.DataFrame) -> dict[str, Any]:
    """Time the test of two classes against three."""
    model = hs.LatentClass(2, prior=None, random_state=0).fit(X)
    hs.blrt(model, X, draws=2, random_state=0)
    seconds, found = timed(lambda: hs.blrt(model, X, draws=TABLES, random_state=0, n_jobs=2))
    results = {"tables": TABLES, "seconds": seconds, "LR": found.statistic, "p": found.p, "starts": found.n_starts}
    if find_spec("stepmix"):
        from stepmix.bootstrap import blrt

        fits = [quietly(lambda k=k: peer(k, n_init=20).fit(X)) for k in (2, 3)]
        own = 2 * len(X) * (float(fits[1].score(X)) - float(fits[0].score(X)))
        check(own, found.statistic, "LR")
        for name, starts in (("one_start", (1, 1)), ("as_many_starts", (6, 20))):
            n_draws = PEER_DRAWS if starts == (1, 1) else 2
            pair = [peer(k, n_init) for k, n_init in zip((2, 3), starts, strict=True)]
            each, _ = timed(lambda pair=pair, n=n_draws: quietly(lambda: blrt(*pair, X, n_repetitions=n)), 1)
            scaled = each / n_draws * TABLES
            results |= {f"stepmix_{name}": scaled, f"faster_than_stepmix_{name}": scaled / seconds}
    return results


if __name__ == "__main__":
    print(json.dumps({"refits": refits, "test": test_of_classes}[sys.argv[1]](carcinoma())))
