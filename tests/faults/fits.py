"""Random fits: tiny data of every kind, options of every sort, and what must hold of the result.

Of each fit: it is refused in words, or
- the objective never falls (soft and hard), and nothing is NaN;
- the scores of the units, weighted, sum to `loglik_`;
- every use of the model works;
- a saved and loaded model gives the same bits, and the same file;
- (one case in `SAMPLED`) one thread and two give the same bits, and so do the units in another order, but for corpora
  of pairs and of recordings, whose sums are in their order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from itertools import pairwise
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
from scipy.sparse import csr_array
from sklearn.base import clone

import halfseen as hs
from halfseen.data.row_weights import NO_WEIGHT
from tests.faults.campaign import FINE, REFUSED, Campaign, Failed, answer, case_rng, folder
from tests.faults.uses import has_nan, use

SAMPLED = 5  # one case in so many is also fitted with two threads, and with its units in another order
FALL = 1e-9  # of the objective's size: rounding, where a trace shows it
DIGITS = 1e-14  # of the weights: a log-probability of a row is known to so much
CLOSE = 1e-8  # of the sum of absolute scores
COARSE = ("rounded(1)", "rounded(-1, 0, 2, 100)", "censored(-0.5, 1)")
TOSSES = 50  # trials of columns of successes

Rng = np.random.Generator


@dataclass
class Trial:
    """An estimator, what it is fitted to, and which promises apply."""

    model: Any
    units: tuple[Any, ...]  # positional arguments of fit and of uses: lists or arrays with one entry for each unit
    named: dict[str, Any] = field(default_factory=dict)  # named arguments of fit, likewise; `whole` names the others
    whole: dict[str, Any] = field(default_factory=dict)  # named arguments that are not by unit
    seen: tuple[Any, ...] | None = None  # what methods of use take, if not `units`
    climbs: bool = True
    scores: bool = True  # the sum of scores is loglik_
    ordered: bool = False  # sums are in the order of the corpus: another order is the same up to rounding

    def fitted(self, **changes: Any) -> Any:
        model = clone(self.model).set_params(**changes)
        return model.fit(*self.units, **self.named, **self.whole)

    def shuffled(self, order: np.ndarray) -> Trial:
        units = tuple(taken(part, order) for part in self.units)
        named = {name: taken(part, order) for name, part in self.named.items()}
        return Trial(self.model, units, named, self.whole)


def taken(part: Any, order: np.ndarray) -> Any:
    """The entries of a list, array, frame or sparse matrix in another order."""
    if part is None:
        return None
    if isinstance(part, pd.DataFrame):
        return part.iloc[order].reset_index(drop=True)
    return [part[n] for n in order] if isinstance(part, list) else part[order]


# ---- random cells ----------------------------------------------------------------------------------------------------


def chance(rng: Rng, share: float) -> bool:
    return bool(rng.random() < share)


def pick(rng: Rng, *options: Any) -> Any:
    return options[int(rng.integers(len(options)))]


def numbers(rng: Rng, n: int) -> np.ndarray:
    """Numbers of one column: at home, on a grid, constant, or of odd magnitudes."""
    values = rng.normal(size=n)
    if chance(rng, 0.3):
        values = np.round(values)
    if chance(rng, 0.1):
        values[:] = values[0]
    if chance(rng, 0.3):
        values = values * pick(rng, 1e-12, 1e-6, 1e3, 1e9, 1e15)
    if chance(rng, 0.2):
        values = values + pick(rng, 10.0, 1e6, 1e9, 1e12, 1e18)
    if chance(rng, 0.01):
        values = np.clip(values * pick(rng, 1e-200, 1e-160, 1e150, 1e200, 1e290), -1e308, 1e308)
    return values


def counts(rng: Rng, n: int) -> np.ndarray:
    """Counts: few, many, none at all, or huge."""
    values = rng.poisson(pick(rng, 0.0, 0.3, 3.0, 40.0), n).astype(float)
    if chance(rng, 0.15):
        values = np.floor(values * pick(rng, 1e3, 1e6, 1e9, 1e12, 1e14))
    return values


def successes(rng: Rng, n: int) -> np.ndarray:
    """Successes of `TOSSES`: some, few, none, all but few, or all."""
    return rng.binomial(TOSSES, pick(rng, 0.0, 0.001, 0.3, 0.8, 0.999, 1.0), n).astype(float)


def positive(rng: Rng, n: int) -> np.ndarray:
    """Numbers above 0: of any skewness and magnitude, rounded or nearly equal."""
    values = rng.gamma(pick(rng, 0.1, 1.0, 5.0, 1e6), size=n) * 10.0 ** pick(rng, 0, 0, 0, -6, 6, -100)
    values = np.maximum(values, 1e-200)
    return np.maximum(np.round(values, 1), 0.1) if chance(rng, 0.2) else values


def shares(rng: Rng, n: int) -> np.ndarray:
    """Shares strictly between 0 and 1."""
    a, b = pick(rng, 0.3, 1.0, 5.0, 1e5), pick(rng, 0.3, 1.0, 5.0, 1e5)
    return np.clip(rng.beta(a, b, n), 1e-6, 1 - 1e-6)


def whole_numbers(rng: Rng, n: int) -> np.ndarray:
    """Numbers to the nearest whole one: about a mean, far from zero, or in two places."""
    centre = pick(rng, 0.0, 1e6, 40.0 * rng.integers(0, 2, n))
    return np.rint(centre + pick(rng, 0.3, 2.0, 100.0) * rng.standard_normal(n))


def categories(rng: Rng, n: int) -> list[Any]:
    known = pick(rng, ["a", "b"], ["x", "y", "z"], [True, False], [0, 1, 2], ["only"], ["", " ", "ü\u2028"])
    return [known[i] for i in rng.integers(0, len(known), n)]


def scores(rng: Rng, n: int) -> np.ndarray:
    """Scores on a scale: many levels or few, nearly all of them one level, or one for each row."""
    return np.round(rng.normal(0.0, pick(rng, 0.3, 1.0, 4.0), n)).astype(float)


def texts(rng: Rng, n: int) -> list[Any]:
    words = ["red", "cat", "dog", "sat", "on", "mat", "ü"]
    return [" ".join(rng.choice(words, rng.integers(0, 6))) for _ in range(n)]


CELLS: dict[str, Callable[[Rng, int], Any]] = {
    "gaussian": numbers,
    "poisson": counts,
    COARSE[0]: whole_numbers,
    COARSE[1]: numbers,
    COARSE[2]: numbers,
    "negbin": counts,
    "lognormal": positive,
    "gamma": positive,
    "exponential": positive,
    "beta": shares,
    "zip": counts,
    "zinb": counts,
    f"binomial({TOSSES})": successes,
    "categorical": categories,
    "ordinal": scores,
    "text": texts,
}


POSITIVE = ("lognormal", "gamma", "exponential", "beta")


def with_holes(rng: Rng, values: Any, rate: float) -> list[Any]:
    if chance(rng, rate / 8):
        rate = 1.0
    return [None if hole else value for value, hole in zip(values, rng.random(len(values)) < rate, strict=True)]


def table(rng: Rng, kinds: tuple[str, ...], n: int) -> tuple[pd.DataFrame, dict[str, str]]:
    """A table of columns of some kinds, with missing cells, and the kinds that must be declared."""
    rate = pick(rng, 0.0, 0.0, 0.2, 0.6)
    chosen = [pick(rng, *kinds) for _ in range(int(rng.integers(1, 5)))]
    columns = {f"c{j}": with_holes(rng, CELLS[kind](rng, n), rate) for j, kind in enumerate(chosen)}
    frame = pd.DataFrame({name: pd.Series(cells, dtype=object) for name, cells in columns.items()})
    declared = {f"c{j}": kind for j, kind in enumerate(chosen) if kind not in ("categorical",) or chance(rng, 0.3)}
    if chance(rng, 0.3):  # equal rows
        frame = frame.iloc[rng.integers(0, n, n)].reset_index(drop=True)
    return frame, declared


def matrix(rng: Rng, n: int, n_columns: int | None = None) -> np.ndarray:
    columns = n_columns or int(rng.integers(1, 4))
    X = np.column_stack([numbers(rng, n) for _ in range(columns)])
    X[rng.random(X.shape) < pick(rng, 0.0, 0.0, 0.2, 0.6)] = np.nan
    return X[rng.integers(0, n, n)] if chance(rng, 0.2) else X


def size(rng: Rng) -> int:
    return int(pick(rng, 1, 2, 3, 5, 8, 12, 20, 40))


def weights(rng: Rng, n: int) -> np.ndarray | None:
    """None, whole numbers, fractions, or numbers of odd magnitudes; some are 0."""
    if chance(rng, 0.5):
        return None
    found = pick(
        rng,
        rng.integers(0, 4, n).astype(float),
        rng.random(n),
        10.0 ** rng.uniform(-6, 6, n),
        np.full(n, pick(rng, 1e-300, 1e-100, 1e-9, 1e6, 1e12)),
        10.0 ** rng.choice([-300.0, -100.0, -16.0, -9.0, 0.0, 12.0], n),
    )
    return np.where(rng.random(n) < 0.1, 0.0, found)


def labels(rng: Rng, n: int, names: list[Any], known: float) -> list[Any]:
    return [names[i] if rng.random() < known else None for i in rng.integers(0, len(names), n)]


def search(rng: Rng) -> dict[str, Any]:
    """Options of every search, small ones."""
    found: dict[str, Any] = {
        "n_init": pick(rng, 1, 1, 2, 3),
        "max_iter": pick(rng, 1, 2, 5, 15, 40),
        "random_state": int(rng.integers(1000)),
        "tol": pick(rng, 1e-4, 1e-8, 0.0, 1.0),
    }
    return found


def assigned(rng: Rng) -> dict[str, Any]:
    """How hidden values are completed, and by which method."""
    assign = pick(rng, "soft", "soft", "hard", "sample")
    found: dict[str, Any] = {"assign": assign}
    if assign == "sample":
        found["draws"] = pick(rng, 1, 2)
    if assign == "hard" and chance(rng, 0.3):
        found["stop"] = "assignments"
    elif chance(rng, 0.2 if assign != "sample" else 0.02):
        found["stop"] = pick(rng, "counts", "parameters", "iterations")
    if chance(rng, 0.1 if assign == "soft" else 0.01):
        found |= {"anneal": pick(rng, (0.5,), (0.3, 0.7)), "max_iter": 30}
    if chance(rng, 0.2):
        found["accelerate"] = False
    return found


def by_gradient(rng: Rng, options: dict[str, Any]) -> dict[str, Any]:
    if options["assign"] == "soft" and chance(rng, 0.15):
        return {"method": pick(rng, "gradient", "lbfgs")}
    return {}


def prior(rng: Rng, *more: Any) -> Any:
    return pick(rng, None, None, 0.1, 1.0, 100.0, 1000.0, *more)


# ---- trials ----------------------------------------------------------------------------------------------------------


def classes(rng: Rng) -> Trial:
    n = size(rng)
    coarse = pick(rng, *COARSE)
    every = (
        "categorical",
        "gaussian",
        "poisson",
        "negbin",
        "zip",
        "zinb",
        f"binomial({TOSSES})",
        "ordinal",
        coarse,
        "text",
        *POSITIVE,
    )
    kinds = pick(rng, every, ("categorical",), ("gaussian",))
    X, declared = table(rng, kinds, n)
    options = {**search(rng), **assigned(rng), "prior": prior(rng, "row", "row")}
    options |= by_gradient(rng, options)
    k = int(rng.integers(1, 4))
    if chance(rng, 0.2):
        options["covariance"] = pick(rng, "full", "auto")
    if chance(rng, 0.2):
        options["init"] = pick(rng, "rows", "spread", "parameters", "posteriors", "kmeans")
    if chance(rng, 0.15):
        options["tied"] = [pick(rng, *X.columns)]
    if chance(rng, 0.15):
        options |= {"fixed": ["weights"], "start": {"weights": rng.dirichlet(np.ones(k))}}
    if chance(rng, 0.1):
        options["variance_floor"] = pick(rng, 0.0, 1e-3, 0.5)
    if chance(rng, 0.05):
        options["text"] = "bernoulli"
    named: dict[str, Any] = {"sample_weight": weights(rng, n)}
    if chance(rng, 0.2):
        named["labels"] = labels(rng, n, ["p", "q", "r"][:k], 0.4)
    model = hs.LatentClass(range(1, k + 1) if chance(rng, 0.05) else k, columns=declared, **options)
    return Trial(model, (X,), named, scores="labels" not in named)


def naive_bayes(rng: Rng) -> Trial:
    n = size(rng)
    text = pick(rng, "multinomial", "multinomial", "bernoulli", "complement")
    X: Any
    X, declared = table(rng, ("categorical", "gaussian", "poisson", "text"), n)
    if chance(rng, 0.2) or text == "complement":
        X, declared = csr_array(rng.poisson(0.6, (n, int(rng.integers(1, 5))))), {}
    assign = pick(rng, "soft", "soft", "hard", "sample")
    options = {**search(rng), "assign": assign, "prior": prior(rng, 1.0, 1.0), "text": text}
    if chance(rng, 0.3):
        options["unlabeled_weight"] = pick(rng, 0.0, 0.3, "auto")
    if chance(rng, 0.2):
        options["components_per_class"] = 2
    if chance(rng, 0.3):
        options["guard"] = False
    y = labels(rng, n, pick(rng, ["p", "q"], [0, 1, 2], [True, False]), pick(rng, 1.0, 1.0, 0.5, 0.2))
    named = {"y": y, "sample_weight": weights(rng, n)}
    return Trial(hs.NaiveBayes(columns=declared or None, **options), (X,), named, scores=False)


SHAPES = ("full", "tied", "diag", "spherical")


def gaussian_mixture(rng: Rng) -> Trial:
    n = size(rng)
    options = {**search(rng), **assigned(rng), "prior": prior(rng, "row"), "covariance_type": pick(rng, *SHAPES)}
    options |= by_gradient(rng, options)
    if chance(rng, 0.1):
        options["reg_covar"] = pick(rng, 1e-6, 0.1)
    if chance(rng, 0.1):
        options["variance_floor"] = pick(rng, 0.0, 1e-3, 0.5)
    if chance(rng, 0.1):
        options["weights"] = "uniform"
    k = int(rng.integers(1, 4))
    named: dict[str, Any] = {"sample_weight": weights(rng, n)}
    if chance(rng, 0.2):
        named["labels"] = labels(rng, n, ["p", "q", "r"][:k], 0.4)
    model = hs.GaussianMixture(k, **options)
    regular = not options.get("reg_covar")
    return Trial(model, (matrix(rng, n),), named, scores="labels" not in named, climbs=regular)


def gaussian_classifier(rng: Rng) -> Trial:
    n = size(rng)
    options = {**search(rng), "assign": pick(rng, "soft", "soft", "hard"), "prior": prior(rng, "row")}
    options["covariance_type"] = pick(rng, *SHAPES)
    if chance(rng, 0.2):
        options["components_per_class"] = 2
    if chance(rng, 0.3):
        options["guard"] = False
    if chance(rng, 0.3):
        options["unlabeled_weight"] = pick(rng, 0.0, 0.3)
    y = labels(rng, n, pick(rng, ["p", "q"], [0, 1, 2]), pick(rng, 1.0, 1.0, 0.5, 0.2))
    named = {"y": y, "sample_weight": weights(rng, n)}
    return Trial(hs.GaussianClassifier(**options), (matrix(rng, n),), named, scores=False)


def kmeans(rng: Rng) -> Trial:
    n = size(rng)
    k = int(rng.integers(1, 5))
    options = {"n_init": pick(rng, 1, 2), "max_iter": pick(rng, 1, 3, 50), "random_state": int(rng.integers(1000))}
    options["init"] = pick(rng, "k-means++", "random")
    options["tol"] = pick(rng, 1e-4, 0.0)
    return Trial(hs.KMeans(k, **options), (matrix(rng, n),), {"sample_weight": weights(rng, n)})


def hmm(rng: Rng) -> Trial:
    n_sequences = int(rng.integers(1, 5))
    emission = pick(
        rng,
        *("gaussian", "gaussian", "poisson", "categorical", "negbin", "zip", "zinb", f"binomial({TOSSES})", COARSE[0]),
    )
    width = int(rng.integers(1, 3))
    lengths = [int(pick(rng, 1, 2, 4, 9, 15)) for _ in range(n_sequences)]
    total = sum(lengths)
    if emission == "categorical":
        steps = rng.integers(0, pick(rng, 1, 2, 4), (total, width)).astype(float)
    elif emission == "gaussian":
        steps = np.column_stack([numbers(rng, total) for _ in range(width)])
    else:
        steps = np.column_stack([CELLS[emission](rng, total) for _ in range(width)])
    steps[rng.random(steps.shape) < pick(rng, 0.0, 0.0, 0.3)] = np.nan
    X = np.split(steps, np.cumsum(lengths)[:-1])
    options = {**search(rng), **assigned(rng), "prior": prior(rng, "row", 0.5), "covariance_type": pick(rng, *SHAPES)}
    options |= by_gradient(rng, options)
    k = int(rng.integers(1, 4))
    if chance(rng, 0.15):
        options["transitions"] = "left-right"
    if chance(rng, 0.1):
        options["min_dwell"] = 2
    if chance(rng, 0.1):
        options["n_mix"] = 2
    if chance(rng, 0.1):
        options["variance_floor"] = pick(rng, 0.0, 1e-3)
    named: dict[str, Any] = {"sample_weight": weights(rng, n_sequences)}
    if chance(rng, 0.2):
        names = ["p", "q", "r"][:k]
        named["labels"] = [labels(rng, length, names, 0.3) for length in lengths]
    return Trial(hs.HMM(k, emission, **options), (X,), named, scores="labels" not in named)


def network(rng: Rng) -> Trial:
    n = size(rng)
    names = ["a", "b", "c", "d"][: int(rng.integers(2, 5))]
    edges = [(one, two) for i, one in enumerate(names) for two in names[i + 1 :] if chance(rng, 0.5)]
    edges = edges or [(names[0], names[1])]
    rate = pick(rng, 0.0, 0.3, 0.7)
    X = pd.DataFrame({name: pd.Series(with_holes(rng, categories(rng, n), rate), dtype=object) for name in names})
    options = {**search(rng), **assigned(rng), "prior": prior(rng, "bdeu")}
    options |= by_gradient(rng, options)
    hidden = {}
    if chance(rng, 0.3):
        hidden = {"H": int(rng.integers(1, 4))}
        edges = [*edges, *(("H", name) for name in names if chance(rng, 0.7))]
        if not any("H" in edge for edge in edges):
            edges.append(("H", names[0]))
    X = X[[name for name in names if any(name in edge for edge in edges)]]
    model = hs.BayesNet(edges, hidden=hidden or None, **options)
    return Trial(model, (X,), {"sample_weight": weights(rng, n)})


def grammar(rng: Rng) -> Trial:
    symbols = ["S", "A", "B", "C"][: int(rng.integers(2, 5))]
    words = ["x", "y", "z"]
    lines = []
    for symbol in symbols:
        rules = {f"'{word}'" for word in words if chance(rng, 0.7)} or {"'x'"}
        if symbol == "S" and chance(rng, 0.7):  # a grammar that has a parse of everything
            rules = {"'x'", "'y'", "'z'", "S S"}
        for _ in range(int(rng.integers(0, 4))):
            right = [pick(rng, *symbols, f"'{pick(rng, *words)}'") for _ in range(int(rng.integers(1, 4)))]
            rules.add(" ".join(right))
        listed = sorted(rules)
        if chance(rng, 0.5):
            shares = np.round(rng.dirichlet(np.ones(len(listed))), 6)
            shares[0] += 1 - shares.sum()
            listed = [f"{rule} [{max(share, 0):.6f}]" for rule, share in zip(listed, shares, strict=True)]
        lines.append(f"{symbol} -> {' | '.join(listed)}")
    options = {**search(rng), **assigned(rng), "prior": prior(rng)}
    options |= by_gradient(rng, options)
    options["on_unparsable"] = pick(rng, "skip", "skip", "error")
    options["unknown"] = pick(rng, "unparsable", "missing", "x")
    n = int(pick(rng, 1, 2, 4, 8))
    known = [*words, None, "q"] if chance(rng, 0.2) else words
    sentences = [[pick(rng, *known) for _ in range(int(rng.integers(1, 6)))] for _ in range(n)]
    model = hs.PCFG("\n".join(lines), **options)
    return Trial(model, (sentences,), {"sample_weight": weights(rng, n)})


def words(rng: Rng) -> Trial:
    n = int(pick(rng, 1, 2, 5, 9))
    source, target = ["das", "haus", "buch", "ein", "ü"], ["the", "house", "book", "a"]
    pairs = [
        (list(rng.choice(source, rng.integers(0, 5))), list(rng.choice(target, rng.integers(0, 5)))) for _ in range(n)
    ]
    options: dict[str, Any] = {"max_iter": pick(rng, 1, 3, 8), "random_state": int(rng.integers(1000))}
    options["assign"] = pick(rng, "soft", "soft", "hard", "sample")
    options["direction"] = pick(rng, "both", "forward", "reverse")
    options["null"] = chance(rng, 0.7)
    if chance(rng, 0.3):
        options["agreement"] = chance(rng, 0.5)
    if chance(rng, 0.3):
        options["dirichlet"] = pick(rng, 0.01, 1.0, 100.0)
    if chance(rng, 0.2):
        options["p_null"] = pick(rng, 0.0, 0.2, 0.99)
    if chance(rng, 0.2):
        options["max_jump"] = pick(rng, 1, 2)
    if chance(rng, 0.3):
        options["stop"] = pick(rng, "gain", "counts")
    named: dict[str, Any] = {"sample_weight": weights(rng, n)}
    if chance(rng, 0.2):
        named["links"] = [_links(rng, pair) for pair in pairs]
    model = hs.WordAligner(pick(rng, "ibm1", "diagonal", "hmm"), **options)
    agrees = options.get(
        "agreement", options["direction"] == "both" and options["assign"] == "soft" and options["null"]
    )
    scored = "links" not in named and "dirichlet" not in options
    return Trial(model, (pairs,), named, climbs=not agrees, scores=scored, ordered=True)


def _links(rng: Rng, pair: tuple[list[str], list[str]]) -> list[tuple[int, int]] | None:
    source, target = pair
    if not source or not target or chance(rng, 0.5):
        return None
    return [(int(rng.integers(len(source))), int(rng.integers(len(target))))]


def transcripts(rng: Rng) -> Trial:
    n = int(rng.integers(1, 5))
    units = ["p", "q", "r"]
    width = int(rng.integers(1, 3))
    said = [" ".join(rng.choice(units, rng.integers(1, 4))) for _ in range(n)]
    lengths = [int(pick(rng, 4, 8, 14, 25)) for _ in range(n)]
    emission = pick(rng, "gaussian", "gaussian", "poisson", "categorical")
    cells = {
        "gaussian": lambda: np.column_stack([numbers(rng, sum(lengths)) for _ in range(width)]),
        "poisson": lambda: np.column_stack([counts(rng, sum(lengths)) for _ in range(width)]),
        "categorical": lambda: rng.integers(0, 3, (sum(lengths), width)).astype(float),
    }[emission]()
    cells[rng.random(cells.shape) < pick(rng, 0.0, 0.0, 0.2)] = np.nan
    features = np.split(cells, np.cumsum(lengths)[:-1])
    options = {**assigned(rng), "max_iter": pick(rng, 1, 3, 10), "random_state": int(rng.integers(1000))}
    options["prior"] = prior(rng, "row")
    options["init"] = pick(rng, "flat", "equal")
    if chance(rng, 0.3):
        options["silence"] = "sil"
    if chance(rng, 0.2):
        options["dictionary"] = {"p": ["k ae", "k"], "q": "t", "r": "ae t"}
    options["too_short"] = pick(rng, "skip", "raise")
    model = hs.TranscriptAligner(pick(rng, 1, 2, 3), pick(rng, 1, 1, 2), emission=emission, **options)
    scored = options["too_short"] == "raise"
    return Trial(model, (features, said), {"sample_weight": weights(rng, n)}, scores=scored, ordered=True)


def pronunciation(rng: Rng) -> Trial:
    letters, phones = ["a", "b", "É", "'"], ["X", "Y1", "Z"]
    said: dict[str, list[list[str]]] = {}
    for _ in range(int(pick(rng, 1, 2, 5, 9))):
        word = "".join(rng.choice(letters, rng.integers(1, 6)))
        way = rng.choice(phones, rng.integers(1, 6)).tolist()
        if way not in said.setdefault(word, []):
            said[word].append(way)
    options: dict[str, Any] = {"max_iter": pick(rng, 1, 3, 1000), "assign": pick(rng, "soft", "soft", "hard")}
    options |= {name: pick(rng, 1, 1, 2) for name in ("max_letters", "max_phones")}
    options |= {name: chance(rng, 0.5) for name in ("lowercase", "stress", "accelerate")}
    model = hs.G2P(pick(rng, 1, 2, 3, 8), beam=pick(rng, 1, 4, 32), **options)
    return Trial(model, (said,), scores=options["lowercase"] is False and options["stress"], ordered=True)


TRIALS: dict[str, Callable[[Rng], Trial]] = {
    "classes": classes,
    "naive_bayes": naive_bayes,
    "gaussian_mixture": gaussian_mixture,
    "gaussian_classifier": gaussian_classifier,
    "kmeans": kmeans,
    "hmm": hmm,
    "network": network,
    "grammar": grammar,
    "words": words,
    "transcripts": transcripts,
    "pronunciation": pronunciation,
}


# ---- what must hold --------------------------------------------------------------------------------------------------


def fit_case(subject: str, number: int) -> str:
    """Fit, and check what is promised."""
    rng = case_rng(subject, number)
    trial = TRIALS[subject](rng)
    model = answer(trial.fitted)
    if model is REFUSED:
        return REFUSED
    check_climb(trial, model)
    check_numbers(model)
    check_scores(trial, model)
    if answer(lambda: use(model, *(trial.seen or trial.units))) is REFUSED and not justly():
        raise Failed(f"a use of a fitted model is refused: {answer.reason}")
    check_file(trial, model)
    if number % SAMPLED == 0:
        check_threads(trial, model)
        if not trial.ordered:
            check_order(trial, model, rng)
    return FINE


def justly() -> bool:
    """Whether the last refusal is one that a fitted model may give: of a unit with weight 0, which it never saw."""
    said = ("has no parse", "have no parse", "is impossible under", "has probability zero under")
    return any(words in answer.reason for words in said)


def check_climb(trial: Trial, model: Any) -> None:
    """The trace never falls; that of k-means and of a lexicon, which keep no earlier parameters, but for rounding."""
    trace = getattr(model, "trace_", None)
    if trace is None or not trial.climbs or getattr(model, "assign", "soft") == "sample":
        return
    share = digits = 0.0
    if isinstance(model, hs.KMeans | hs.WordAligner):
        weight = trial.named.get("sample_weight")
        share, digits = FALL, 0.0 if weight is None else DIGITS * float(weight.sum())
    if isinstance(model, hs.KMeans):
        trace = [-inertia for inertia in trace]
    for i, (before, after) in enumerate(pairwise(trace)):
        if after < before - share * max(1.0, abs(before)) - digits:
            raise Failed(f"the objective falls: from {before!r} to {after!r} after step {i} of {len(trace)}")


def check_numbers(model: Any) -> None:
    """No NaN in parameters, traces and totals."""
    for name in ("loglik_", "objective_", "inertia_", "trace_", "weights_", "params_", "cluster_centers_"):
        if name == "cluster_centers_" and hasattr(model, name):
            continue  # a column without any observed cell has no centre
        if has_nan(getattr(model, name, None)):
            raise Failed(f"NaN in {name}: {getattr(model, name)!r:.300}")
    stop = getattr(model, "stop_reason_", "none needed")
    if not isinstance(stop, str) or not stop:
        raise Failed(f"no reason to stop: {stop!r}")


def check_scores(trial: Trial, model: Any) -> None:
    """The weighted scores sum to the log-likelihood, or to the inertia."""
    if not trial.scores:
        return
    weight = trial.named.get("sample_weight")
    if isinstance(model, hs.KMeans):
        found, told = -answer(lambda: model.score(*trial.units, sample_weight=weight)), model.inertia_
        size = abs(told)
    else:
        scores = answer(lambda: model.score_samples(*trial.units))
        weight = np.ones(len(scores)) if weight is None else weight
        weight = np.where(weight < NO_WEIGHT * weight.max(), 0.0, weight)  # as is said in a warning
        used = (weight > 0) & np.isfinite(scores)  # impossible ones are left out only where a fit may skip them
        if not used.all() and not isinstance(model, hs.PCFG):
            used = weight > 0
        with np.errstate(over="ignore", invalid="ignore"):
            terms = weight[used] * scores[used]
        found, told, size = float(terms.sum()), model.loglik_, float(np.abs(terms).sum())
    if not abs(found - told) <= CLOSE * max(size, float(np.max(weight, initial=0.0)) if weight is not None else 1.0):
        raise Failed(f"scores sum to something else than loglik_: {found!r}, {told!r}")


def check_file(trial: Trial, model: Any) -> None:
    """A saved and loaded model gives the same bits, and the same file again."""
    one, two = folder() / "one.halfseen", folder() / "two.halfseen"
    hs.save(model, one)
    loaded = hs.load(one)
    hs.save(loaded, two)
    if one.read_bytes() != two.read_bytes():
        raise Failed("a loaded model gives another file")
    for method in ("predict_proba", "score_samples", "transform", "align_proba"):
        if hasattr(model, method) and not same(use_of(model, method, trial), use_of(loaded, method, trial)):
            raise Failed(f"a loaded model gives other bits: {method}")


def use_of(model: Any, method: str, trial: Trial) -> Any:
    return answer(lambda: getattr(model, method)(*(trial.seen or trial.units)))


def same(one: Any, other: Any) -> bool:
    """Equal to the last bit; NaN equals NaN."""
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return np.array_equal(np.asarray(one), np.asarray(other), equal_nan=np.asarray(one).dtype.kind == "f")


def learned(model: Any) -> tuple[Any, ...]:
    """Parameters, statistics and trace of a fit, to be compared bit by bit."""
    state = model._state()
    names = sorted(name for name in state.tensors if name.startswith(("params", "stats")) or "center" in name)
    return (*(state.tensors[name] for name in names), getattr(model, "trace_", ()), getattr(model, "loglik_", 0.0))


@contextmanager
def small_chunks() -> Iterator[None]:
    """Cut tables and sequences into chunks of a few rows, so that tiny ones have work for two threads."""
    with (
        mock.patch.multiple(import_module("halfseen.data.table"), CHUNK=3, LARGEST=3),
        mock.patch.multiple(import_module("halfseen.data.sequences"), CHUNK=3, LARGEST=3),
    ):
        yield


def check_threads(trial: Trial, model: Any) -> None:
    """One thread and two give the same bits."""
    with small_chunks():
        one, two = (answer(lambda jobs=jobs: trial.fitted(n_jobs=jobs)) for jobs in (1, 2))
    if one is REFUSED or two is REFUSED:
        if one is not two:
            raise Failed(f"two threads refuse what one does not: {answer.reason}")
        return
    if not same(learned(one), learned(two)):
        raise Failed("two threads give other bits than one")


def check_order(trial: Trial, model: Any, rng: Rng) -> None:
    """The units in another order give the same bits."""
    n_units = trial.units[0].shape[0] if hasattr(trial.units[0], "shape") else len(trial.units[0])
    other = answer(trial.shuffled(rng.permutation(n_units)).fitted)
    if other is REFUSED:
        raise Failed(f"units in another order are refused: {answer.reason}")
    if not same(learned(model), learned(other)):
        raise Failed("units in another order give other bits")


CAMPAIGN = Campaign("fits", tuple(TRIALS), fit_case, size=10_000)
