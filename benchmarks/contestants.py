"""Who runs: each contestant in a process of its own, from the same start, printing one line of JSON.

python -m benchmarks.contestants CONTESTANT WORKLOAD START.npz
"""

from __future__ import annotations

import json
import sys
import time
import tracemalloc
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from benchmarks.machine import CORES, limit
from benchmarks.workloads import KMEANS, MEMORY, NAIVE_BAYES, NORMALS, OPTIMUM, WORKLOADS, Clusters, Normals, Workload

Array = NDArray[np.float64]


CHECKED = 3  # iterations after which log-likelihoods are compared: early, where a wrong exp still shows


def timed(run: Callable[[int], float], iterations: tuple[int, int], repeats: int = 3) -> dict[str, Any]:
    """Time `run` for a few and for many iterations, the best of each; the difference is free of reading and set-up."""
    loglik = run(CHECKED)  # first, so that imports are not timed
    best = dict.fromkeys(iterations, np.inf)
    for _ in range(repeats):
        for n in iterations:
            begin = time.perf_counter()
            run(n)
            best[n] = min(best[n], time.perf_counter() - begin)
    return {"times": list(best.values()), "iterations": iterations, "loglik": loglik}


def halfseen(work: Workload, X: Array, start: dict[str, Array]) -> dict[str, Any]:
    """Time LatentClass with two threads."""
    import halfseen as hs

    given: dict[str, Any] = {"weights": start["weights"]}
    for d in range(work.n_categorical):
        given[f"x{d}"] = start["tables"][d]
    for d in range(work.n_numbers):
        given[f"x{work.n_categorical + d}"] = {"mean": start["means"][d], "var": start["vars"][d]}

    def run(n: int) -> float:
        model = hs.LatentClass(
            work.n_components,
            start=given,
            prior=None,
            accelerate=False,
            stop="iterations",
            max_iter=n + 1,
            n_jobs=2,
        )
        return model.fit(X).loglik_

    return timed(run, work.iterations)


def one_hot(work: Workload, X: Array, start: dict[str, Array]) -> dict[str, Any]:
    """Time the best a NumPy user would write for categories: one-hot rows and two matrix products."""
    values = np.arange(work.n_values)
    hot = (X[:, :, None] == values).reshape(len(X), -1).astype(np.float64)

    def run(n: int) -> float:
        mix, table = np.log(start["weights"]), np.log(np.concatenate(list(start["tables"]), axis=1)).T
        for step in range(n + 1):
            joint = hot @ table + mix
            best = joint.max(axis=1, keepdims=True)
            resp = np.exp(joint - best)
            total = resp.sum(axis=1, keepdims=True)
            loglik = float((best + np.log(total)).sum())
            if step < n:
                resp /= total
                mix = np.log(resp.sum(axis=0) / len(X))
                counts = (hot.T @ resp).reshape(work.n_categorical, work.n_values, -1)
                table = np.log(counts / counts.sum(axis=1, keepdims=True)).reshape(-1, work.n_components)
        return loglik

    return timed(run, (3, 13), repeats=2)


def _stepmix(work: Workload, X: Array, n: int, n_init: int = 1, tol: float = 0.0) -> Any:
    from stepmix import StepMix

    nan = "_nan" if work.missing else ""
    measurement: dict[str, Any] = {}
    if work.n_categorical:
        measurement["c"] = {"model": "categorical" + nan, "n_columns": work.n_categorical}
    if work.n_numbers:
        measurement["g"] = {"model": "gaussian_diag" + nan, "n_columns": work.n_numbers}
    model = StepMix(
        work.n_components,
        measurement=measurement,
        n_init=n_init,
        max_iter=n,
        abs_tol=tol,
        rel_tol=0,
        random_state=1,
        progress_bar=0,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X)


def stepmix(work: Workload, X: Array, start: dict[str, Array]) -> dict[str, Any]:
    """Time StepMix; it has no argument for a start, so its own first iteration is everybody's start."""

    def run(n: int) -> float:
        return float(_stepmix(work, X, n + 1).score(X)) * len(X)

    return timed(run, work.peer_iterations, repeats=1)


def make_start(work: Workload, X: Array, path: str) -> None:
    """Write StepMix's parameters after one iteration to a file."""
    found = _stepmix(work, X, 1).get_parameters()
    start = {"weights": found["weights"]}
    if work.n_categorical:
        tables = np.stack(np.split(found["measurement"]["c"]["pis"], work.n_categorical, axis=1))
        start["tables"] = tables / tables.sum(axis=2, keepdims=True)
    if work.n_numbers:
        start["means"] = found["measurement"]["g"]["means"].T
        start["vars"] = found["measurement"]["g"]["covariances"].T
    np.savez(path, **start)


def optimum_halfseen() -> dict[str, Any]:
    """Time a whole default fit (16 raced starts) to its optimum."""
    import halfseen as hs

    X = OPTIMUM.data()
    hs.LatentClass(2, n_init=1).fit(X[:100])  # imports are timed apart
    begin = time.perf_counter()
    model = hs.LatentClass(OPTIMUM.n_components, prior=None, n_jobs=2, random_state=0).fit(X)
    return {"seconds": time.perf_counter() - begin, "loglik": model.loglik_}


def optimum_stepmix() -> dict[str, Any]:
    """Time StepMix with 16 starts and its own default tolerance."""
    X = OPTIMUM.data()
    _stepmix(OPTIMUM, X[:100], 1)
    begin = time.perf_counter()
    model = _stepmix(OPTIMUM, X, 1000, n_init=16, tol=1e-10)
    return {"seconds": time.perf_counter() - begin, "loglik": float(model.score(X)) * len(X)}


def memory_halfseen() -> dict[str, Any]:
    """Measure the peak of a fit beyond the data; the encoded table is one byte a cell."""
    import halfseen as hs

    X = MEMORY.data().astype(np.int8)
    hs.LatentClass(2).fit(X[:1000])
    tracemalloc.start()
    hs.LatentClass(MEMORY.n_components, n_init=1, stop="iterations", max_iter=3, n_jobs=2, random_state=0).fit(X)
    peak = tracemalloc.get_traced_memory()[1]
    return {"peak_mb": peak / 2**20, "encoded_mb": X.size / 2**20, "beyond_mb": (peak - X.size) / 2**20}


def _our_bayes(work: Workload, shares: Array) -> Any:
    import halfseen as hs

    return hs.NaiveBayes(prior=None if work.n_numbers else 1.0, class_prior=shares, variance_floor=0.0, n_jobs=2)


def _their_bayes(work: Workload, shares: Array) -> Any:
    from sklearn.naive_bayes import CategoricalNB, GaussianNB

    return GaussianNB(priors=shares, var_smoothing=0.0) if work.n_numbers else CategoricalNB(class_prior=shares)


def naive_bayes(name: str, work: Workload) -> dict[str, Any]:
    """Time fit and predict of a labelled table, the best of several; the log-posteriors of some rows must agree."""
    X, y = work.data(), work.classes()
    X = X if work.n_numbers else X.astype(np.int64)
    make = {"halfseen": _our_bayes, "scikit-learn": _their_bayes}[name]
    shares = np.bincount(y) / len(y)
    best = np.inf
    for _ in range(8):
        begin = time.perf_counter()
        model = make(work, shares).fit(X, y)
        model.predict(X)
        best = min(best, time.perf_counter() - begin)
    return {"seconds": best, "loglik": float(model.predict_joint_log_proba(X[:10_000]).sum())}


def csv_halfseen(path: str) -> dict[str, Any]:
    """Time reading a CSV file and encoding it, the best of three."""
    from halfseen.data import Schema, open_table, read

    def run() -> None:
        source = read(open_table(path))
        Schema.learn(source).encode(source)

    return best_of_three(run)


def csv_duckdb(path: str) -> dict[str, Any]:
    """Time DuckDB's own look at every cell of a CSV file, the best of three."""
    import duckdb

    with duckdb.connect() as connection:
        names = [column[0] for column in connection.sql(f"SELECT * FROM '{path}'").description]
        sums = ", ".join(f'sum(hash("{name}"))' for name in names)
        return best_of_three(lambda: connection.execute(f"SELECT count(*), {sums} FROM '{path}'").fetchall())


def best_of_three(run: Callable[[], Any]) -> dict[str, Any]:
    """Return the shortest of three times."""
    times = []
    for _ in range(3):
        begin = time.perf_counter()
        run()
        times.append(time.perf_counter() - begin)
    return {"seconds": min(times)}


def k_means(name: str, work: Clusters) -> dict[str, Any]:
    """Time sweeps of k-means from the same start on two threads; what is compared is minus the inertia."""
    X, start = work.data()
    k = work.n_clusters
    make: Callable[[int], Any]
    if name == "halfseen":
        import halfseen as hs

        make = lambda n: hs.KMeans(k, init=start, max_iter=n, tol=0.0, n_jobs=2)  # noqa: E731
    else:
        if name == "scikit-learn":
            from sklearn.cluster import KMeans
        else:
            from sklearnex.cluster import KMeans
        make = lambda n: KMeans(k, init=start, n_init=1, max_iter=n, tol=0.0)  # noqa: E731

    def run(n: int) -> float:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they do not converge in so few sweeps, and are not to
            return -float(make(n).fit(X).inertia_)

    return timed(run, work.iterations)


def _gmm_halfseen(work: Normals, X: Array, start: dict[str, Array]) -> dict[str, Any]:
    import halfseen as hs

    inverse = np.linalg.inv(start["covariances"]) if work.covariance == "full" else 1 / start["covariances"]

    def run(n: int) -> float:
        model = hs.GaussianMixture(
            work.n_components,
            covariance_type=work.covariance,
            weights_init=start["weights"],
            means_init=start["means"],
            precisions_init=inverse,
            stop="iterations",
            max_iter=n + 1,
            n_init=1,
            accelerate=False,
            n_jobs=2,
        )
        return model.fit(X).loglik_

    return timed(run, work.iterations, repeats=2)


def _gmm_sklearn(work: Normals, X: Array, start: dict[str, Array]) -> dict[str, Any]:
    from sklearn.mixture import GaussianMixture

    inverse = np.linalg.inv(start["covariances"]) if work.covariance == "full" else 1 / start["covariances"]

    def run(n: int) -> float:
        model = GaussianMixture(
            work.n_components,
            covariance_type=work.covariance,
            weights_init=start["weights"],
            means_init=start["means"],
            precisions_init=inverse,
            init_params="random_from_data",
            max_iter=n,
            tol=0,
            reg_covar=0,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return float(model.fit(X).score(X)) * len(X) if n == CHECKED else float(model.fit(X).lower_bound_)

    return timed(run, work.iterations, repeats=1)


def _gmm_daal4py(work: Normals, X: Array, start: dict[str, Array]) -> dict[str, Any] | None:
    """Time Intel's library, which scikit-learn-intelex is built on; None where it is not installed."""
    try:
        import daal4py
    except ImportError:
        return None

    def run(n: int) -> float:
        storage = "full" if work.covariance == "full" else "diagonal"
        method = daal4py.em_gmm(work.n_components, maxIterations=n, accuracyThreshold=0.0, covarianceStorage=storage)
        covariances = [cov if cov.ndim == 2 else cov[None] for cov in start["covariances"]]
        found = method.compute(X, start["weights"][None], start["means"], covariances)
        return float(found.goalFunction[0, 0])

    return timed(run, work.iterations, repeats=2) | {"loglik": None}  # its own scale: not compared


def gmm(name: str, work: Normals) -> dict[str, Any] | None:
    """Time the iterations of a Gaussian mixture."""
    X = work.data()
    run = {"halfseen": _gmm_halfseen, "scikit-learn": _gmm_sklearn, "daal4py": _gmm_daal4py}[name]
    return run(work, X, work.start(X))


def main() -> None:
    """Run one contestant."""
    name, workload, path = sys.argv[1:]
    if workload in WORKLOADS:
        work = WORKLOADS[workload]
        X = work.data()
        if name == "start":
            make_start(work, X, path)
            return
        if name == "limit":
            print(json.dumps(limit(work)))
            return
        run = {"halfseen": halfseen, "one-hot NumPy": one_hot, "StepMix": stepmix}[name]
        result = run(work, X, dict(np.load(path)))
    elif workload == "csv":
        result = {"halfseen": csv_halfseen, "DuckDB": csv_duckdb}[name](path)
    elif workload in KMEANS:
        with threadpool_limits(CORES):
            result = k_means(name, KMEANS[workload])
    elif workload in NORMALS:
        result = gmm(name, NORMALS[workload])
    elif workload in NAIVE_BAYES:
        result = naive_bayes(name, NAIVE_BAYES[workload])
    else:
        result = {
            ("optimum", "halfseen"): optimum_halfseen,
            ("optimum", "StepMix"): optimum_stepmix,
            ("memory", "halfseen"): memory_halfseen,
        }[workload, name]()
    print(json.dumps(result))


if __name__ == "__main__":
    main()
