"""Passes over rows that other processes hold, beside threads: ``python -m benchmarks.distributed [ROWS]``.

A table of 12 columns with missing values is written to Parquet files, and a `LatentClass` of 4 classes is fitted to it
from one start: by two threads, by Dask with two processes, by Spark with two. A pass is the median time between two
iterations; an empty pass asks every lane for nothing. Log-likelihoods after the same passes must agree.

``python -m benchmarks.distributed gmm`` compares a Gaussian mixture of rows with missing values with that of Spark ML,
which takes none, on the same rows without them. ``python -m benchmarks.distributed lanes`` measures what a lane and a
byte cost on Dask, of which docs/distributed.md estimates passes on a larger cluster.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import halfseen as hs
from halfseen.engine.services.progress import watching

LANES = 16
PASSES = 12
EMPTY = 20
WORKERS = 2
LETTERS = np.array(list("abcde"))
KINDS = {"n0": "poisson", "n1": "poisson"}
ENGINES = ("threads", "dask", "spark")


def write_rows(folder: Path, n_rows: int, lanes: int = LANES) -> None:
    """Write a table, a file for each lane: six columns of categories, four of numbers, two of counts, 5 % missing."""
    rng = np.random.default_rng(0)
    shares, means, rates = rng.dirichlet(np.ones(5), (4, 6)), rng.normal(0, 3, (4, 4)), rng.gamma(2, 3, (4, 2))
    for lane in range(lanes):
        size = n_rows // lanes
        hidden = rng.integers(0, 4, size)
        columns: dict[str, Any] = {}
        for j in range(6):
            code = (rng.random(size)[:, None] > np.cumsum(shares[hidden, j], axis=1)).sum(axis=1).clip(0, 4)
            columns[f"c{j}"] = pa.array(LETTERS[code], mask=rng.random(size) < 0.05).dictionary_encode()
        for j in range(4):
            columns[f"x{j}"] = pa.array(rng.normal(means[hidden, j], 1), mask=rng.random(size) < 0.05)
        for j in range(2):
            columns[f"n{j}"] = pa.array(rng.poisson(rates[hidden, j]), mask=rng.random(size) < 0.05)
        pq.write_table(pa.table(columns), folder / f"part{lane:03}.parquet", row_group_size=size)


@contextmanager
def rows_of(engine: str, folder: str) -> Iterator[Any]:
    """Yield the table as an engine holds it."""
    if engine == "threads":
        yield hs.open_table(folder)
    elif engine == "dask":
        from halfseen.runners.placed import placed

        with placed(hs.open_table(folder), "dask", WORKERS) as rows:
            yield rows
    else:
        with spark_session() as spark:
            yield spark.read.parquet(folder)


@contextmanager
def spark_session() -> Iterator[Any]:
    """Yield a session with two workers, in which a file is a partition."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable  # that of the workers
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": "4g",
        "spark.sql.files.maxPartitionBytes": str(1 << 40),
        "spark.sql.files.openCostInBytes": str(1 << 40),
    }
    spark = SparkSession.builder.master(f"local[{WORKERS}]").config(map=settings).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    try:
        yield spark
    finally:
        spark.stop()


def timed(engine: str, folder: str) -> dict[str, Any]:
    """Fit from one start; return the seconds of a pass, of an empty pass and of the preparation."""
    moments: list[float] = []
    empty: list[float] = []

    def watch(_: Any) -> None:
        moments.append(time.perf_counter())

    with rows_of(engine, folder) as rows, empty_passes(empty), watching(watch):
        model = hs.LatentClass(
            4, columns=KINDS, n_init=1, max_iter=PASSES, tol=0.0, random_state=0, n_jobs=WORKERS, accelerate=False
        )
        began = time.perf_counter()
        model.fit(rows)
    passes = np.diff(moments)
    return {
        "engine": engine,
        "prepared": moments[0] - began,
        "pass": float(np.median(passes)),
        "empty": float(np.median(empty)) if empty else None,
        "loglik": model.loglik_,
    }


@contextmanager
def empty_passes(found: list[float]) -> Iterator[None]:
    """Measure empty passes once the lanes of a fit are encoded."""
    from halfseen.engine.tables import lanes

    ask = lanes.LaneTable.ask

    def measured(self: Any, job: Any, *more: Any) -> Any:
        answer = ask(self, job, *more)
        if isinstance(job, lanes.OverReduced) and not found:
            for _ in range(EMPTY):
                began = time.perf_counter()
                ask(self, Nothing(), *more)
                found.append(time.perf_counter() - began)
        return answer

    lanes.LaneTable.ask = measured  # type: ignore[method-assign]
    try:
        yield
    finally:
        lanes.LaneTable.ask = ask  # type: ignore[method-assign]


class Nothing:
    """A job without work, which returns some bytes."""

    def __init__(self, returned: int = 0) -> None:
        self.returned = returned // 8

    def __call__(self, lane: Any) -> Any:
        return np.zeros(self.returned) if self.returned else 0


def lane_costs(several: tuple[int, ...] = (16, 64, 256, 1024), large: int = 1 << 20) -> dict[str, float]:
    """Return the seconds of a pass without work on Dask: of none, of each lane, and of each byte returned."""
    from dask import delayed

    from halfseen.engine.tables.lane_source import LaneSource
    from halfseen.runners.dask import DaskCluster, connected

    found = {}
    with connected("", WORKERS) as client:
        for n_lanes in several:
            parts = [delayed(pa.table)({"x": [0.5 + lane, 1.5]}) for lane in range(n_lanes)]
            source = LaneSource(DaskCluster(parts, ["x"], client))
            table = source.encoded(hs.data.Schema.of_named(source.learn({}, True)), None)
            found[n_lanes] = _median(lambda table=table: table.ask(Nothing()))
            if n_lanes == several[0]:
                more = _median(lambda table=table: table.ask(Nothing(returned=large)))
    each = np.polyfit(list(found), list(found.values()), 1)
    per_byte = max(more - found[several[0]], 0.0) / (several[0] * large)
    return {f"empty_{n}": seconds for n, seconds in found.items()} | {
        "pass": float(max(each[1], 0.0)),
        "lane": float(each[0]),
        "byte": per_byte,
    }


def _median(action: Callable[[], Any]) -> float:
    times = []
    for _ in range(EMPTY):
        began = time.perf_counter()
        action()
        times.append(time.perf_counter() - began)
    return float(np.median(times))


def compared(n_rows: int) -> dict[str, Any]:
    """Return the figures of all engines that are installed, each in a process of its own."""
    able = [engine for engine in ENGINES if engine == "threads" or find_spec({"spark": "pyspark"}.get(engine, engine))]
    with tempfile.TemporaryDirectory() as folder:
        write_rows(Path(folder), n_rows)
        found = {engine: in_process(engine, folder) for engine in able}
    own = found["threads"]
    for engine, figures in found.items():
        if abs(figures["loglik"] / own["loglik"] - 1) > 1e-10:
            raise SystemExit(f"{engine}: log-likelihood {figures['loglik']} in place of {own['loglik']}")
    return {"rows": n_rows, "lanes": LANES} | {
        f"{engine}_{what}": figures[what]
        for engine, figures in found.items()
        for what in ("prepared", "pass", "empty", "loglik")
        if figures[what] is not None
    }


def against_spark_ml(n_rows: int = 1_000_000, few: int = 2, many: int = 12) -> dict[str, float]:
    """Return the seconds of an iteration of a Gaussian mixture: 10 % missing here, nothing missing in Spark ML."""
    from pyspark.ml.clustering import GaussianMixture as SparkMixture
    from pyspark.ml.feature import VectorAssembler

    rng = np.random.default_rng(0)
    rows = rng.normal(rng.normal(0, 3, (4, 6))[rng.integers(0, 4, n_rows)])
    with spark_session() as spark, tempfile.TemporaryDirectory() as folder:
        pq.write_table(
            pa.table({f"x{j}": rows[:, j] for j in range(6)}), f"{folder}/rows.parquet", row_group_size=1 << 16
        )
        frame = spark.read.parquet(folder).repartition(2 * WORKERS)
        vectors = (
            VectorAssembler(inputCols=frame.columns, outputCol="features").transform(frame).select("features").cache()
        )
        vectors.count()
        theirs = {}
        for passes in (few, many):
            began = time.perf_counter()
            SparkMixture(k=4, maxIter=passes, tol=0.0, seed=0).fit(vectors)
            theirs[passes] = time.perf_counter() - began
    rows[rng.random(rows.shape) < 0.1] = np.nan
    moments: list[float] = []
    with watching(lambda _: moments.append(time.perf_counter())):
        hs.GaussianMixture(4, n_init=1, max_iter=20, tol=0.0, random_state=0, n_jobs=WORKERS, accelerate=False).fit(
            rows
        )
    own, other = float(np.median(np.diff(moments))), (theirs[many] - theirs[few]) / (many - few)
    return {"rows": n_rows, "halfseen_with_holes": own, "spark_ml_without": other, "ratio": other / own}


def in_process(engine: str, folder: str) -> dict[str, Any]:
    """Run an engine in a process of its own."""
    program = [sys.executable, "-m", "benchmarks.distributed", engine, folder]
    done = subprocess.run(program, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


if __name__ == "__main__":
    if sys.argv[1:] == ["lanes"]:
        print(json.dumps(lane_costs(), indent=1))
    elif sys.argv[1:] == ["gmm"]:
        print(json.dumps(against_spark_ml(), indent=1))
    elif sys.argv[1:2] and sys.argv[1] in ENGINES:
        print(json.dumps(timed(sys.argv[1], sys.argv[2])))
    else:
        print(json.dumps(compared(int(sys.argv[1]) if sys.argv[1:] else 10_000_000), indent=1))
