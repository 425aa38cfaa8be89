"""Grammars: seconds per iteration of inside-outside, and seconds to parse a corpus.

python -m benchmarks.grammars [WORKLOAD ...] prints a line of JSON for each.

pcfg   30 symbols with all 27,000 binary rules, 200 sentences of 20 to 30 words, beside the same sums in NumPy, span by
       span (a quarter of the sentences, scaled), and beside torch-struct where it is installed (every 20th, scaled;
       expected counts alone, by its gradient)
atis   best trees of the test sentences of the ATIS grammar that have any, beside NLTK's ViterbiParser on the shortest
       of them, where NLTK is installed; the grammar is read from ``$HALFSEEN_DATA`` (``atis_cfg/``)
"""

from __future__ import annotations

import json
import os
import sys
import time
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

N_SYMBOLS, N_WORDS, N_SENTENCES = 30, 200, 200
SHORTEST = 5  # sentences that NLTK parses: it takes seconds for each
EVERY = 20  # so many sentences of the dense grammar, by length, stand for one that torch-struct is timed on


def best_of(task: Callable[[], Any], repeats: int = 3) -> float:
    """Return the least seconds of some repeats."""
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        task()
        times.append(time.perf_counter() - begin)
    return min(times)


# ---- dense -------------------------------------------------------------------------------------------------------


def sentences(rng: np.random.Generator) -> list[list[int]]:
    """Return sentences of 20 to 30 words."""
    return [rng.integers(0, N_WORDS, n).tolist() for n in rng.integers(20, 31, N_SENTENCES)]


def numpy_step(rules: Any, lexicon: Any, corpus: list[list[int]]) -> tuple[float, Any, Any]:
    """Return log-likelihood and expected counts of binary and lexical rules, by NumPy over spans."""
    flat = np.ascontiguousarray(rules)
    uses, words, total = np.zeros_like(flat), np.zeros_like(lexicon), 0.0
    for sentence in corpus:
        n = len(sentence)
        inside, outside = np.zeros((n, n + 1, N_SYMBOLS)), np.zeros((n, n + 1, N_SYMBOLS))
        log_scale, pairs = np.zeros((n, n + 1)), np.zeros((n, n + 1, flat.shape[1]))
        for i, word in enumerate(sentence):
            scale = lexicon[:, word].max()
            inside[i, i + 1], log_scale[i, i + 1] = lexicon[:, word] / scale, np.log(scale)
        for width in range(2, n + 1):
            for i in range(n - width + 1):
                j = i + width
                logs = log_scale[i, i + 1 : j] + log_scale[i + 1 : j, j]
                factor = np.exp(logs - logs.max())
                pairs[i, j] = (inside[i, i + 1 : j].T * factor @ inside[i + 1 : j, j]).ravel()
                value = flat @ pairs[i, j]
                inside[i, j], log_scale[i, j] = value / value.max(), logs.max() + np.log(value.max())
                pairs[i, j] /= value.max()
        total += np.log(inside[0, n, 0]) + log_scale[0, n]
        outside[0, n, 0] = 1 / inside[0, n, 0]
        for width in range(n, 1, -1):
            for i in range(n - width + 1):
                j = i + width
                across = (outside[i, j] @ flat).reshape(N_SYMBOLS, N_SYMBOLS)
                factor = np.exp(log_scale[i, i + 1 : j] + log_scale[i + 1 : j, j] - log_scale[i, j])[:, None]
                outside[i, i + 1 : j] += factor * (inside[i + 1 : j, j] @ across.T)
                outside[i + 1 : j, j] += factor * (inside[i, i + 1 : j] @ across)
        uses += outside.reshape(-1, N_SYMBOLS).T @ pairs.reshape(-1, flat.shape[1])
        for i, word in enumerate(sentence):
            words[:, word] += outside[i, i + 1] * inside[i, i + 1]
    return total, uses * flat, words


def dense() -> dict[str, Any]:
    """Time one iteration of EM of a dense grammar: a pass over the sentences and the M-step."""
    import halfseen as hs
    from halfseen.engine.loop.em import evaluate
    from halfseen.families.grammar.model import reduce_sentences
    from halfseen.runners import runner
    from halfseen.structures.tree import pack

    rng = np.random.default_rng(0)
    corpus = sentences(rng)
    said = [[f"w{v}" for v in own] for own in corpus]
    model = hs.PCFG.random(N_SYMBOLS, [f"w{v}" for v in range(N_WORDS)], random_state=0)
    inside, grammar, params = model._model, model._grammar, model._params
    rows = params["rules"][0].reshape(N_SYMBOLS, -1)
    rules, lexicon = rows[:, : N_SYMBOLS**2], np.ascontiguousarray(rows[:, N_SYMBOLS**2 :])
    data = reduce_sentences(pack(grammar, sorted(said, key=len)), np.ones(len(said)))
    with runner(2, len(data.chunks)) as run:

        def iteration() -> Any:
            [step] = evaluate(inside, data, [params], runner=run)
            return inside.improved(step)

        seconds = best_of(iteration, 7)
        [step] = evaluate(inside, data, [params], runner=run)
        few = corpus[: N_SENTENCES // 4]
        share = sum(len(own) ** 2 for own in few) / sum(len(own) ** 2 for own in corpus)
        baseline = best_of(lambda: numpy_step(rules, lexicon, few)) / share
    slow, fast = numpy_step(rules, lexicon, few)[0], model.score(said[: len(few)])
    assert abs(slow - fast) < 1e-8 * abs(slow), "the two do not compute the same"
    found = {
        "workload": "pcfg",
        "rules": grammar.n_cells,
        "seconds": seconds,
        "numpy_seconds": baseline,
        "ratio": baseline / seconds,
        "loglik": step.loglik,
    }
    chosen = sorted(corpus, key=len)[EVERY // 2 :: EVERY]
    said = [[f"w{v}" for v in own] for own in chosen]
    return found | torch_struct(rules, lexicon, chosen, model.score_samples(said), seconds)


def torch_struct(rules: Any, lexicon: Any, few: list[list[int]], expected: Any, own: float) -> dict[str, Any]:
    """Time torch-struct, for which every symbol is two: one above words, one above other symbols."""
    if find_spec("torch_struct") is None:
        return {"torch_struct": "not installed: skipped"}
    import torch
    from torch_struct import SentCFG

    with np.errstate(divide="ignore"):
        logs = np.maximum(np.log(rules), -1e9).reshape(N_SYMBOLS, N_SYMBOLS, N_SYMBOLS)
        words = np.maximum(np.log(lexicon), -1e9)
    doubled = torch.tensor(np.tile(logs, (1, 2, 2))[None], requires_grad=True)
    root = torch.full((1, N_SYMBOLS), -1e9, dtype=torch.float64)
    root[0, 0] = 0.0
    found = []

    def counts() -> None:
        found.clear()
        for sentence in few:
            above = torch.tensor(words[:, sentence].T[None].copy(), requires_grad=True)
            total = SentCFG((above, doubled, root)).partition
            total.sum().backward()
            found.append(float(total))

    seconds = best_of(counts, 1) * EVERY
    assert np.allclose(found, expected, rtol=1e-9), "torch-struct does not compute the same"
    return {"torch_struct_seconds": seconds, "torch_struct_ratio": seconds / own}


# ---- sparse ------------------------------------------------------------------------------------------------------


def folder() -> Path:
    """Where the ATIS grammar is."""
    data = Path(os.environ.get("HALFSEEN_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data")
    return data / "atis_cfg"


def sparse() -> dict[str, Any]:
    """Time best trees and sums over all trees with the ATIS grammar."""
    import halfseen as hs

    text = (folder() / "atis.cfg").read_text(encoding="latin-1")
    lines = (folder() / "atis_sentences.txt").read_text(encoding="latin-1").splitlines()
    pairs = [line.split(" : ") for line in lines if " : " in line]
    said = [words.split() for number, words in pairs if int(number) > 0]
    model = hs.PCFG.from_string(text, random_state=0, n_jobs=2)
    short = sorted(said, key=len)[:SHORTEST]
    found = {
        "workload": "atis",
        "rules": len(model.rules_),
        "sentences": len(said),
        "parse_seconds": best_of(lambda: model.parse(said)),
        "score_seconds": best_of(lambda: model.score_samples(said)),
        "parse_seconds_of_the_shortest": best_of(lambda: model.parse(short)),
    }
    return found | rival(model, short)


def rival(model: Any, short: list[list[str]]) -> dict[str, Any]:
    """Time NLTK on a few sentences, and compare the probability of the best trees."""
    if find_spec("nltk") is None:
        return {"nltk": "not installed: skipped"}
    import nltk

    parser = nltk.ViterbiParser(nltk.PCFG.fromstring(_written(model)))
    trees: list[Any] = []

    def parse() -> None:
        trees.extend(next(iter(parser.parse(words))) for words in short)

    seconds = best_of(parse, 1)
    ours = [one.log_probability for one in model.parse(short)]
    assert np.allclose([np.log(tree.prob()) for tree in trees], ours), "the two do not find equally good trees"
    return {"nltk_seconds_of_the_shortest": seconds}


def _written(model: Any) -> str:
    """Return the grammar as NLTK reads it: the start first."""
    first = [line for line in model.to_string().splitlines()[1:] if line.startswith(f"{model.start_} ->")]
    others = [line for line in model.to_string().splitlines()[1:] if not line.startswith(f"{model.start_} ->")]
    return "\n".join([*first, *others])


GRAMMARS = {"pcfg": dense, "atis": sparse}

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for name in sys.argv[1:] or GRAMMARS:
        print(json.dumps(GRAMMARS[name]()))
