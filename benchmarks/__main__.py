"""Run the benchmarks: `make bench`, or `make bench ONLY=lca`.

Prints a table of seconds per iteration and ratios, and writes benchmarks/results.json beside it. Every contestant runs
in a process of its own on the same data, from the same start; log-likelihoods after the same number of iterations must
agree.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.first_minute import first_minute
from benchmarks.grammars import GRAMMARS
from benchmarks.imputation import imputation
from benchmarks.networks import NETWORKS
from benchmarks.sequences import CHAINS
from benchmarks.text import TEXTS
from benchmarks.workloads import CSV, KMEANS, MEMORY, NAIVE_BAYES, NORMALS, OPTIMUM, WORKLOADS
from halfseen.app.versions import versions

CONTESTANTS = ("halfseen", "halfseen plain", "one-hot NumPy", "StepMix")
ROUNDS = 3  # contestants run in turn, the best of each counts: a shared machine changes its speed between minutes
PEERS_OF_KMEANS = {"scikit-learn": "sklearn", "scikit-learn-intelex": "sklearnex"}  # and what each is imported as
AGREE = 1e-8  # relative difference of log-likelihoods that rounding explains
IMPORTS = {"halfseen": "import halfseen", "scikit-learn": "import sklearn.mixture"}
FIRST_FITS = {
    "halfseen": "import halfseen as hs, numpy as np; X = np.random.default_rng(0).normal(size=(200, 3)); "
    "hs.LatentClass(2, n_init=1).fit(X)",
    "scikit-learn": "from sklearn.mixture import GaussianMixture; import numpy as np; "
    "X = np.random.default_rng(0).normal(size=(200, 3)); GaussianMixture(2, covariance_type='diag').fit(X)",
}
console = Console(width=110)


def contestant(name: str, workload: str, start: str = "") -> Any:
    """Run a contestant in its own process and read its result."""
    kernels = {"HALFSEEN_KERNELS": "plain"} if name == "halfseen plain" else {}
    program = [sys.executable, "-m", "benchmarks.contestants", name.replace(" plain", ""), workload, start]
    done = subprocess.run(program, env=os.environ | kernels, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout) if done.stdout else None


def best(rounds: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the seconds per iteration from the best short and the best long run of all rounds."""
    few, many = (min(result["times"][i] for result in rounds) for i in (0, 1))
    n_few, n_many = rounds[0]["iterations"]
    return {"seconds": (many - few) / (n_many - n_few), "loglik": rounds[0]["loglik"]}


def printed(module: str, *arguments: str) -> Any:
    """Run a module of benchmarks in a process of its own and read the JSON that it prints."""
    program = [sys.executable, "-m", f"benchmarks.{module}", *arguments]
    return json.loads(subprocess.run(program, stdout=subprocess.PIPE, text=True, check=True).stdout)


def rounds_of(able: Sequence[str], run: Callable[[str], Any], n_rounds: int) -> list[dict[str, Any]]:
    """Let contestants take turns."""
    return [{who: run(who) for who in able} for _ in range(n_rounds)]


def compare(
    title: str,
    results: dict[str, dict[str, Any] | None],
    per: str = "iteration",
    check: str = "log-likelihood",
    tolerance: float = AGREE,
) -> bool:
    """Show the times and what each contestant reached; return whether all reached the same.

    None is a contestant that is not installed; one without a check computes something slightly different.
    """
    own = results["halfseen"]
    assert own is not None
    table = Table("contestant", f"ms per {per}", "halfseen is faster by", check, title=title)
    agree = True
    for who, result in results.items():
        if result is None:
            table.add_row(who, "not installed", "-", "-")
            continue
        ratio, reached = result["seconds"] / own["seconds"], result["loglik"]
        shown = "" if reached is None else f"{reached:.6f}"
        digits = 2 if result["seconds"] > 1e-3 else 3
        speed = f"{ratio:,.0f}x" if ratio > 100 else f"{ratio:.1f}x"
        table.add_row(who, f"{1e3 * result['seconds']:,.{digits}f}", speed, shown)
        agree &= reached is None or abs(reached - own["loglik"]) <= tolerance * abs(own["loglik"])
    console.print(table)
    if not agree:
        console.print(f"[bold red]{title}: results differ")
    return agree


def best_of_each(rounds: list[dict[str, Any]]) -> dict[str, dict[str, Any] | None]:
    """Return the best of each contestant, None for those that are not installed."""
    return {who: None if rounds[0][who] is None else best([found[who] for found in rounds]) for who in rounds[0]}


def iterations(name: str) -> dict[str, Any]:
    """Time one workload with every contestant that can do it."""
    work = WORKLOADS[name]
    able = [who for who in CONTESTANTS if who != "one-hot NumPy" or not work.n_numbers]
    with tempfile.TemporaryDirectory() as folder:
        start = str(Path(folder) / "start.npz")
        contestant("start", name, start)
        results = best_of_each(rounds_of(able, lambda who: contestant(who, name, start), ROUNDS))
    agree = compare(f"{name}: {work.size}", results)
    bound = None if work.n_numbers else contestant("limit", name)
    if bound and results["halfseen"]:
        ratio = results["halfseen"]["seconds"] / bound["seconds"]
        console.print(f"the arithmetic alone needs {1e3 * bound['seconds']:.2f} ms: halfseen is within {ratio:.1f}x")
    return {"size": work.size, "results": results, "limit": bound, "agree": agree}


def k_means(name: str) -> dict[str, Any]:
    """Time sweeps of k-means with every contestant that is installed."""
    work = KMEANS[name]
    able = [who for who, module in PEERS_OF_KMEANS.items() if find_spec(module)]
    rounds = rounds_of(["halfseen", *able], lambda who: contestant(who, name), ROUNDS)
    results = best_of_each(rounds) | {who: None for who in PEERS_OF_KMEANS if who not in able}
    results["halfseen plain"] = best([contestant("halfseen plain", name)])  # once: it takes minutes
    tolerance = AGREE if work.dtype == "float64" else 1e-4  # others sum in float32 too
    agree = compare(f"{name}: {work.size}", results, "sweep", "minus inertia", tolerance)
    return {"size": work.size, "results": results, "agree": agree}


def gmm(name: str) -> dict[str, Any]:
    """Time the iterations of a Gaussian mixture; no other library has one with holes."""
    work = NORMALS[name]
    able = ("halfseen", "scikit-learn", "daal4py") if not work.missing else ("halfseen",)
    results = best_of_each(rounds_of(able, lambda who: contestant(who, name), 2))
    return {"size": work.size, "results": results, "agree": compare(f"{name}: {work.size}", results)}


def naive_bayes(name: str) -> dict[str, Any]:
    """Time fit and predict of a classifier beside scikit-learn's."""
    work = NAIVE_BAYES[name]
    able = ("halfseen", "halfseen plain", "scikit-learn")
    rounds = rounds_of(able, lambda who: contestant(who, name), 2)
    results = {who: min((found[who] for found in rounds), key=lambda result: result["seconds"]) for who in able}
    agree = compare(f"{name}: {work.size}", results, "fit and predict", "sum of log-joints")
    return {"size": work.size, "results": results, "agree": agree}


def chains(name: str) -> dict[str, Any]:
    """Time hidden Markov models beside hmmlearn and dynamax, where they are installed."""
    work = CHAINS[name]
    rounds = rounds_of(("halfseen", "hmmlearn", "dynamax"), lambda who: printed("sequences", who, name), 2)
    results = best_of_each(rounds)
    agree = compare(f"{name}: {work.size}", results)
    beyond = max(found["halfseen"]["beyond_mb"] for found in rounds)
    console.print(f"memory of the fit beyond the data: {beyond:.0f} MB")
    return {"size": work.size, "results": results, "beyond_mb": beyond, "agree": agree}


def networks(name: str) -> dict[str, Any]:
    """Time Bayesian networks beside pyAgrum, and pgmpy where there are no holes: it drops rows that have any."""
    work = NETWORKS[name]
    if not work.path.exists():
        console.print(f"{name}: {work.path} is not there; HALFSEEN_DATA says where it is")
        return {"size": work.size, "results": {}, "agree": True}
    rivals = {who: printed("networks", who, name) for who in work.quoted}
    results = {"halfseen": best([printed("networks", "halfseen", name) for _ in range(ROUNDS)])}
    results |= {who: found and best([found]) for who, found in rivals.items()}
    agree = compare(f"{name}: {work.size}", results)
    for who, found in rivals.items():
        if found is None:
            console.print(f"{who} is not installed; elsewhere it took {work.quoted[who]}")
        elif found.get("rows", work.n_rows) < work.n_rows:
            console.print(f"the time of {who} is scaled from {found['rows']} rows")
    if work.few_rows < work.n_rows:
        console.print(f"log-likelihoods are those of the first {work.few_rows} rows")
    if "pgmpy" not in work.quoted:
        console.print("pgmpy is left out: it drops rows with holes")
    return {"size": work.size, "results": results, "agree": agree}


def texts(name: str) -> dict[str, Any]:
    """Time naive Bayes on documents, or its EM, beside scikit-learn and a loop over SciPy's sparse products."""
    work = TEXTS[name]
    rival, per = ("scikit-learn", "fit and predict") if name == "nb_text" else ("SciPy loop", "iteration")
    rounds = rounds_of(
        ("halfseen", rival), lambda who: printed("text", who.replace("SciPy loop", "scikit-learn"), name), 2
    )
    results = best_of_each(rounds)
    return {"size": work.size, "results": results, "agree": compare(f"{name}: {work.size}", results, per, "check")}


def facts(module: str, name: str) -> dict[str, Any]:
    """Run a benchmark of a module that prints its figures as JSON, rivals included, and show them."""
    found = printed(module, name)
    table = Table(module, "", title=name)
    for what, value in found.items():
        table.add_row(what.replace("_", " "), f"{value:.4g}" if isinstance(value, float) else str(value))
    console.print(table)
    return {"results": found, "agree": True}  # the module itself fails where results differ


def optimum() -> dict[str, Any]:
    """Time whole fits from defaults."""
    results = {who: contestant(who, "optimum") for who in ("halfseen", "StepMix")}
    table = Table(
        "contestant", "seconds", "halfseen is faster by", "log-likelihood", title=f"16 starts: {OPTIMUM.size}"
    )
    for who, result in results.items():
        ratio = result["seconds"] / results["halfseen"]["seconds"]
        table.add_row(who, f"{result['seconds']:.3f}", f"{ratio:.1f}x", f"{result['loglik']:.6f}")
    console.print(table)
    reached = results["halfseen"]["loglik"] >= results["StepMix"]["loglik"] - 1e-3
    return {"size": OPTIMUM.size, "results": results, "agree": reached}


def memory() -> dict[str, Any]:
    """Measure the memory of a fit."""
    result = contestant("halfseen", "memory")
    console.print(
        f"memory of a fit, {MEMORY.size}: {result['beyond_mb']:.0f} MB beyond the data and the encoded table "
        f"({result['encoded_mb']:.0f} MB)"
    )
    return {"size": MEMORY.size, "results": result, "agree": True}


def csv() -> dict[str, Any]:
    """Time reading and encoding a CSV file beside DuckDB's own scan of it, in turn, the best of each."""
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "data.csv")
        CSV.write(path)
        size = Path(path).stat().st_size
        rounds = [{who: contestant(who, "csv", path) for who in ("halfseen", "DuckDB")} for _ in range(ROUNDS)]
    results = {who: min(found[who]["seconds"] for found in rounds) for who in rounds[0]}
    ratios = [found["halfseen"]["seconds"] / found["DuckDB"]["seconds"] for found in rounds]
    console.print(
        f"CSV, {CSV.size}, {size / 1e6:.0f} MB: halfseen reads and encodes in {results['halfseen']:.2f} s, "
        f"DuckDB scans in {results['DuckDB']:.2f} s; ratios of the rounds: {', '.join(f'{r:.2f}' for r in ratios)}"
    )
    return {"size": CSV.size, "results": results | {"ratios": ratios}, "agree": True}


def start_up() -> dict[str, Any]:
    """Time imports and first fits in new processes."""
    python = [sys.executable, "-c"]
    results = {}
    for what, programs in (("import", IMPORTS), ("first fit", FIRST_FITS)):
        results[what] = in_turn({who: [*python, program] for who, program in programs.items()})
        console.print(f"{what} in a new process: " + ", ".join(f"{who} {s:.2f} s" for who, s in results[what].items()))
    return {"results": results, "agree": True}


def in_turn(programs: dict[str, list[str]], rounds: int = 15) -> dict[str, float]:
    """Return the shortest time of each program in new processes, contestants in turn."""
    best = dict.fromkeys(programs, float("inf"))
    for _ in range(rounds):
        for who, program in programs.items():
            begin = time.perf_counter()
            subprocess.run(program, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            best[who] = min(best[who], time.perf_counter() - begin)
    return best


def compared() -> dict[str, str]:
    """Say what was compared, and on what."""
    rivals = {name: version(name) for name in ("stepmix", "pyagrum", "pgmpy") if find_spec(name)}
    return versions() | rivals | {"processor": processor(), "n_jobs": "2"}


def processor() -> str:
    """Return the processor's name, where the system tells."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def keep(what: dict[str, str], results: dict[str, Any]) -> None:
    """Write the results beside the code, in place of earlier ones of the same benchmarks."""
    path = Path(__file__).with_name("results.json")
    earlier = json.loads(path.read_text())["benchmarks"] if path.exists() else {}
    path.write_text(json.dumps({"versions": what, "benchmarks": earlier | results}, indent=1) + "\n")


def main() -> int:
    """Run what was asked for; fail when results differ."""
    parts = {**{name: lambda name=name: iterations(name) for name in WORKLOADS}}
    parts |= {name: lambda name=name: naive_bayes(name) for name in NAIVE_BAYES}
    parts |= {name: lambda name=name: chains(name) for name in CHAINS}
    parts |= {name: lambda name=name: networks(name) for name in NETWORKS}
    parts |= {name: lambda name=name: texts(name) for name in TEXTS}
    parts |= {name: lambda name=name: k_means(name) for name in KMEANS}
    parts |= {name: lambda name=name: gmm(name) for name in NORMALS}
    parts |= {name: lambda name=name: facts("grammars", name) for name in GRAMMARS}
    parts |= {"words": lambda: facts("words", "100000")}
    parts |= {f"bootstrap_{name}": lambda name=name: facts("bootstrap", name) for name in ("refits", "test")}
    parts |= {"distributed": lambda: facts("distributed", "10000000")}
    parts |= {"imputation": lambda: imputation(console)}
    parts |= {"optimum": optimum, "memory": memory, "csv": csv, "start_up": start_up}
    parts |= {"first_minute": lambda: first_minute(console)}
    wanted = sys.argv[1:] or list(parts)
    unknown = [name for name in wanted if name not in parts]
    if unknown:
        console.print(f"no benchmark {unknown[0]!r}; there are: {', '.join(parts)}")
        return 2
    what = compared()
    console.print(", ".join(f"{name} {value}" for name, value in what.items()))
    results = {}
    for name in wanted:
        results[name] = parts[name]()
        keep(what, results)  # at once: a long run may be cut short
    return 0 if all(result["agree"] for result in results.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
