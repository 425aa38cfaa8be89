"""Word alignment: passes over a corpus beside NumPy, NLTK and eflomal: `make bench ONLY=words`.

`python -m benchmarks.words 30000` takes fewer pairs.

The corpus is made up: words as frequent as in a language, each with a few translations, target words near the
diagonal; about 21 words a sentence, which makes 44 million possible links of 100,000 pairs. Timed is a pass: a long fit
less a short one. The baseline is what a NumPy user would write for Model 1: the cell of every link found beforehand,
then gather, sum by target word, and `bincount`, timed in the same way; its quickest step is given beside it. NLTK is
timed on a part and scaled; eflomal, a sampler, by what a sweep adds to a run of its program. Rivals that are not
installed are named and left out. What the numbers do not show: reading and numbering, which are given apart.
"""

from __future__ import annotations

import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import halfseen as hs

N_WORDS, LENGTH = 30_000, 21
PART = 1000  # pairs that NLTK is timed on
STEPS = 6  # of the baseline in a long run


def corpus(n_pairs: int, seed: int = 0) -> tuple[list[list[str]], list[list[str]]]:
    """Draw source sentences and translations of them."""
    rng = np.random.default_rng(seed)
    chance = np.cumsum(1 / np.arange(2, N_WORDS + 2))
    chance /= chance[-1]
    choices = rng.integers(0, N_WORDS, size=(N_WORDS, 3))
    sources, targets = [], []
    for n, m in np.clip(rng.normal(LENGTH, 6, size=(n_pairs, 2)).round(), 3, 60).astype(int).tolist():
        source = np.searchsorted(chance, rng.random(n))
        places = np.clip((np.arange(m) + 0.5) * n / m + rng.normal(0, 1.5, m), 0, n - 1).astype(int)
        target = choices[source[places], rng.choice(3, m, p=(0.7, 0.2, 0.1))]
        stray = rng.random(m) < 0.2
        target[stray] = np.searchsorted(chance, rng.random(int(stray.sum())))
        sources.append([f"s{word}" for word in source.tolist()])
        targets.append([f"t{word}" for word in target.tolist()])
    return sources, targets


def timed(task: Callable[[int], Any], few: int, many: int, repeats: int = 2) -> float:
    """Return the seconds of one pass: those of a long run less those of a short one, the best of each."""
    best = {few: np.inf, many: np.inf}
    for _ in range(repeats):
        for n in best:
            begun = time.perf_counter()
            task(n)
            best[n] = min(best[n], time.perf_counter() - begun)
    return (best[many] - best[few]) / (many - few)


def passes(fitted: Callable[[int], hs.WordAligner], few: int, many: int) -> tuple[float, Any]:
    """Return the seconds of one pass, and the last model."""
    held: list[Any] = []

    def task(n: int) -> None:
        held[:] = [fitted(n)]

    return timed(task, few, many), held[0]


def bincount(sources: Any, targets: Any) -> Callable[[], float]:
    """Return a function that makes one step of Model 1 in NumPy, and returns the log-likelihood before it."""
    e_of = {word: k for k, word in enumerate(sorted({w for s in sources for w in s}), 1)}
    f_of = {word: k for k, word in enumerate(sorted({w for t in targets for w in t}))}
    keys, tokens, n_tokens, share = [], [], 0, []
    for source, target in zip(sources, targets, strict=True):
        e = np.array([0, *(e_of[w] for w in source)], dtype=np.int64)
        f = np.array([f_of[w] for w in target], dtype=np.int64)
        keys.append((e[:, None] * len(f_of) + f).ravel())
        tokens.append(np.tile(np.arange(n_tokens, n_tokens + len(f)), len(e)))
        share.append(np.full(len(f), len(e)))
        n_tokens += len(f)
    together, slots = np.unique(np.concatenate(keys), return_inverse=True)
    token, log_share = np.concatenate(tokens), float(np.log(np.concatenate(share)).sum())
    owner = together // len(f_of)
    table = np.full(len(together), 1.0 / len(f_of))

    def step() -> float:
        nonlocal table
        chance = table[slots]
        total = np.bincount(token, chance, minlength=n_tokens)
        counts = np.bincount(slots, chance / total[token], minlength=len(table))
        table = counts / np.bincount(owner, counts)[owner]
        return float(np.log(total).sum()) - log_share

    return step


def nltk(sources: Any, targets: Any) -> float | None:
    """Return the seconds of one iteration of NLTK's Model 1 on a part of the corpus."""
    if not find_spec("nltk"):
        return None
    from nltk.translate import AlignedSent, IBMModel1

    text = [AlignedSent(t, s) for s, t in zip(sources[:PART], targets[:PART], strict=True)]
    return timed(lambda n: IBMModel1(text, n), 1, 3, repeats=1)


def eflomal(sources: Any, targets: Any, model: int) -> float | None:
    """Return the seconds that one more sweep of the last model adds to a run of eflomal's program."""
    program = shutil.which("eflomal-align")
    if program is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        for name, side in (("s", sources), ("t", targets)):
            (Path(folder) / name).write_text("\n".join(map(" ".join, side)) + "\n")

        def run(n: int) -> None:
            sweeps = [str(n) if k == model else "1" for k in range(1, model + 1)]
            lengths = [part for k, s in enumerate(sweeps, 1) for part in (f"-{k}", s)]
            files = ["-s", f"{folder}/s", "-t", f"{folder}/t", "-f", f"{folder}/out"]
            call = [program, *files, "-m", str(model), *lengths, "--n-samplers", "1", "--overwrite"]
            subprocess.run(call, check=True, capture_output=True)

        return timed(run, 2, 12, repeats=2)


def links(sources: Any, targets: Any) -> int:
    """Return the number of possible links."""
    return sum(len(s) * len(t) for s, t in zip(sources, targets, strict=True))


def run(n_pairs: int) -> dict[str, Any]:
    """Time everybody on so many pairs."""
    sources, targets = corpus(n_pairs)
    n_links = links(sources, targets)
    how: dict[str, Any] = {"direction": "forward", "n_jobs": 2}
    text = hs.WordAligner("ibm1", max_iter=1, **how)
    begun = time.perf_counter()
    text.fit(sources, targets)
    reading = time.perf_counter() - begun
    one, model = passes(lambda n: hs.WordAligner("ibm1", max_iter=n, **how).fit(sources, targets), 1, 41)
    hmm, _ = passes(lambda n: hs.WordAligner("hmm", sequence=["hmm"], max_iter=n, **how).fit(sources, targets), 1, 11)
    baseline = bincount(sources, targets)
    logliks, seconds = [], []

    def steps(n: int) -> None:
        for _ in range(n):
            begun = time.perf_counter()
            logliks.append(baseline())
            seconds.append(time.perf_counter() - begun)

    plain = timed(steps, 1, STEPS)
    assert np.allclose(logliks, model.trace_[: len(logliks)], rtol=1e-12), "the two do not compute the same"
    result: dict[str, Any] = {
        "pairs": n_pairs,
        "links": n_links,
        "cells of the lexicon": len(model._learned["forward"].table),
        "reading, numbering and one pass, seconds": round(reading, 2),
        "ibm1, seconds a pass": round(one, 3),
        "hmm, seconds a pass": round(hmm, 3),
        "NumPy bincount, ibm1": rival(plain, one) | {"quickest step": round(min(seconds), 2)},
    }
    part = nltk(sources, targets)
    scale = n_links / links(sources[:PART], targets[:PART])
    result["NLTK, ibm1"] = rival(None if part is None else part * scale, one)
    result["eflomal, model 1"] = rival(eflomal(sources, targets, 1), one)
    result["eflomal, HMM"] = rival(eflomal(sources, targets, 2), hmm)
    return result


def rival(seconds: float | None, own: float) -> Any:
    """Say how much longer a rival takes."""
    if seconds is None:
        return "not installed, left out"
    return {"seconds": round(seconds, 3), "times": round(seconds / own, 1)}


def memory(n_pairs: int, model: str) -> float:
    """Return the memory that a fit takes beyond the sentences themselves, in bytes per link.

    Libraries are loaded before: they take as much (160 MB with what scikit-learn brings), whatever the corpus.
    """
    sources, targets = corpus(n_pairs)
    hs.WordAligner(model, max_iter=1, n_jobs=2).fit(sources[:2], targets[:2])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    hs.WordAligner(model, sequence=[model], max_iter=3, direction="forward", n_jobs=2).fit(sources, targets)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round((after - before) * 1024 / links(sources, targets), 2)


def main() -> None:
    """Time a corpus, 100,000 pairs by default; the memory in processes of their own."""
    n_pairs = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    if "--memory" in sys.argv:
        print(memory(n_pairs, sys.argv[-1]))
        return
    call = [sys.executable, "-m", "benchmarks.words", str(n_pairs), "--memory"]
    found = {
        f"{model}, bytes per link": float(subprocess.run([*call, model], capture_output=True, check=True).stdout)
        for model in ("ibm1", "hmm")
    }
    print(json.dumps(run(n_pairs) | found, indent=2))


if __name__ == "__main__":
    main()
