"""Models of every family that leaves the library, with rows that are hard to score: for tests of what is exported."""

import warnings
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

import halfseen as hs
from halfseen.errors import ImpossibleRowWarning, UnknownCategoryWarning

TEXTS = ["plain", "it's", 'a "name"', "back\\slash", "line\nend", "ünï 🐟", "'; DROP TABLE rows; --"]
ODD_NAME = 'we\'re "odd" `too`, \\ ü'
N_ROWS = 120
SUCCESSES = {"heads": 9, "bought": 1000, "seen": 10**12}  # columns of successes, of so many trials


class Case(NamedTuple):
    """A fitted model, and rows in the types that a table has: {column: (type, values)}."""

    model: Any
    rows: dict[str, tuple[str, list[Any]]]

    @property
    def table(self):
        """The rows for Python."""
        types = {"text": pa.string(), "int": pa.int64(), "float": pa.float64(), "bool": pa.bool_()}
        return pa.table({name: pa.array(values, types[kind]) for name, (kind, values) in self.rows.items()})

    @property
    def defined(self):
        """Which rows have outputs: with a covariance those without missing cells, or with nothing else."""
        if getattr(self.model, "covariance_type", "diag") not in ("full", "tied"):
            return np.ones(self.table.num_rows, dtype=bool)
        missing = np.array([[value is None or value != value for value in values] for _, values in self.rows.values()])
        return missing.all(axis=0) | ~missing.any(axis=0)


def expected(case):
    """What Python says of the rows that have outputs: class, probabilities, log-likelihood."""
    table = case.table.filter(pa.array(case.defined))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnknownCategoryWarning)
        warnings.simplefilter("ignore", ImpossibleRowWarning)
        return case.model.predict(table), case.model.predict_proba(table), case.model.score_samples(table)


def assert_says_what_python_says(found, case):
    """Compare rows of class, probabilities and log-likelihood; those without outputs are None throughout."""
    defined = case.defined
    assert all(value is None for row, known in zip(found, defined, strict=True) if not known for value in row)
    found = [row for row, known in zip(found, defined, strict=True) if known]
    classes, proba, loglik = expected(case)
    assert [row[0] for row in found] == classes.tolist()
    assert {type(row[0]) for row in found} == {type(label) for label in classes.tolist()}
    np.testing.assert_allclose(np.array([row[1:-1] for row in found]), proba, rtol=0, atol=1e-12)
    # in Python x log rate - log x! of a count near 4,096 is off by 5e-12
    np.testing.assert_allclose([row[-1] for row in found], loglik, rtol=1e-12, atol=1e-11)


def mixed(seed, n_classes=None):
    """Latent classes over columns of all kinds, with random parameters."""
    rng = np.random.default_rng(seed)
    k = n_classes or int(rng.integers(2, 6))
    columns = {
        ODD_NAME: shares(rng, TEXTS, k),
        "code": shares(rng, [1, 2, 7], k),
        "level": shares(rng, [0.5, 1.5, -3.0], k),
        "yes": shares(rng, [False, True], k),
        "size": {"mean": rng.normal(size=k), "sd": rng.uniform(0.1, 3, k)},
        "small": {"mean": 1e-9 * rng.normal(size=k), "sd": 1e-9 * rng.uniform(1, 3, k)},
        "count": {"rate": 10.0 ** rng.uniform(-2, 5, k)},
        "visits": {"mean": 10.0 ** rng.uniform(-2, 5, k), "size": 10.0 ** rng.uniform(-2, 4, k)},
    }
    for name, trials in SUCCESSES.items():
        columns[name] = {"kind": f"binomial({trials})", "p": np.random.default_rng(seed).uniform(size=k)}
    more = np.random.default_rng(seed)
    columns["price"] = {"log_mean": more.normal(size=k), "log_sd": more.uniform(0.1, 2, k)}
    columns["minutes"] = {"kind": "gamma", "mean": more.uniform(0.1, 9, k), "shape": 10.0 ** more.uniform(-1, 3, k)}
    columns["wait"] = {"kind": "exponential", "mean": more.uniform(0.1, 9, k)}
    columns["share"] = {"mean": more.uniform(0.1, 0.9, k), "precision": 10.0 ** more.uniform(-1, 3, k)}
    if seed == 0:  # a class that holds no event, one without failures
        columns["count"]["rate"][0] = columns["visits"]["mean"][-1] = columns["heads"]["p"][0] = 0.0
        columns["bought"]["p"][-1] = 1.0
    weights = rng.dirichlet(np.ones(k))
    model = hs.LatentClass.from_params(weights, columns)
    extremes = [1e6, -1e155, 1e200, 1e308, -1.7e308, 5e-324]
    positive = [1e-30, 1e-6, *more.uniform(0, 9, 20).tolist(), 1e4, float("nan")]
    counts = [15, 16, 17, 4095, 4096, 10**6, 10**9, 10**12, 10**15]
    return Case(
        model,
        {
            ODD_NAME: ("text", drawn(rng, [*TEXTS, "unknown", ""])),
            "code": ("int", drawn(rng, [1, 2, 7, 99])),
            "level": ("float", drawn(rng, [0.5, 1.5, -3.0, 0.25, float("nan")])),
            "yes": ("bool", drawn(rng, [True, False])),
            "size": (
                "float",
                drawn(rng, [*rng.normal(size=20).tolist(), float("nan"), *(extremes if seed % 2 else [])]),
            ),
            "small": ("float", drawn(rng, [*(1e-9 * rng.normal(size=20)).tolist(), 0.0, -0.0])),
            "count": ("int", drawn(rng, [*range(6), *counts, *rng.poisson(1000, 5).tolist()])),
            "visits": ("float", drawn(rng, [*map(float, range(6)), *map(float, counts)])),
            **{name: ("int", drawn(rng, some_successes(rng, trials))) for name, trials in SUCCESSES.items()},
            **{name: ("float", drawn(more, positive)) for name in ("price", "minutes", "wait")},
            "share": ("float", drawn(more, [1e-9, *more.uniform(size=20).tolist(), 1 - 1e-9, float("nan")])),
        },
    )


def some_successes(rng, trials):
    """None, few, all but few, and others."""
    ends = [0, 1, 2, 15, 16, 17]
    low = [x for x in ends if x <= trials]
    return [*low, *(trials - x for x in low), *rng.integers(0, trials, 5, endpoint=True).tolist()]


def categories():
    """Latent classes over categories alone."""
    rng = np.random.default_rng(7)
    columns = {f"item {d}": shares(rng, ["no", "yes", "maybe"], 3) for d in range(20)}
    model = hs.LatentClass.from_params([0.5, 0.3, 0.2], columns)
    return Case(model, {name: ("text", drawn(rng, ["no"] * 8 + ["yes", "other"])) for name in columns})


def shares(rng, categories, k):
    """Random probabilities; some are 0, so that rows may be impossible."""
    table = rng.dirichlet(np.full(len(categories), 0.7), size=k)
    table[rng.random(table.shape) < 0.1] = 0.0
    table[:, 0] += 1 - table.sum(axis=1)
    return dict(zip(categories, table.T, strict=True))


def drawn(rng, values, missing=0.2):
    """Random cells; the first row is empty."""
    cells = [None if rng.random() < missing else values[rng.integers(len(values))] for _ in range(N_ROWS)]
    return [None, *cells[1:]]


def gaussians(shape, labels=None):
    """A Gaussian mixture or classifier of three columns."""
    rng = np.random.default_rng(5)
    which = rng.integers(2, size=300)
    turned = rng.normal(size=(3, 3))
    X = rng.normal(size=(300, 3)) @ turned + 2.0 * which[:, None] + [1e6, 0.0, 0.0]
    X = pa.table({f"x{d}": X[:, d] for d in range(3)})
    if labels is None:
        model = hs.GaussianMixture(2, covariance_type=shape, random_state=0, n_init=2).fit(X)
    else:
        model = hs.GaussianClassifier(covariance_type=shape).fit(X, [labels[i] for i in which])
    rows = rng.normal(size=(N_ROWS, 3)) @ turned + [1e6, 0.0, 0.0]
    rows[1:20] *= rng.choice([0.5, 2.0, -1e3, 1e9], (19, 3))
    rows[rng.random(rows.shape) < 0.15] = np.nan
    rows[0] = np.nan
    return Case(model, {f"x{d}": ("float", rows[:, d].tolist()) for d in range(3)})


def classifier(labels, components_per_class=1):
    """Naive Bayes of three columns."""
    rng = np.random.default_rng(3)
    which = rng.integers(len(labels), size=200)
    text = [TEXTS[i] if rng.random() < 0.6 else TEXTS[rng.integers(5)] for i in which]
    size = rng.normal(size=200) + 2 * which
    count = rng.poisson(1 + 3 * which)
    table = pa.table({"text": text, "size": size, "count": count})
    model = hs.NaiveBayes(
        columns={"count": "poisson"}, components_per_class=components_per_class, random_state=0, n_init=2
    )
    model.fit(table, [labels[i] for i in which])
    return Case(
        model,
        {
            "text": ("text", drawn(rng, [*TEXTS, "unknown"])),
            "size": ("float", drawn(rng, [*rng.normal(size=20).tolist(), 3.0, 1e10, -1e10, float("nan")])),
            "count": ("int", drawn(rng, [*range(20), 10**7])),
        },
    )


CASES = {
    **{f"mixed columns {seed}": partial(mixed, seed) for seed in range(6)},
    **{f"mixture {shape}": partial(gaussians, shape) for shape in ("full", "tied", "diag", "spherical")},
    **{f"classifier {shape}": partial(gaussians, shape, "ab") for shape in ("full", "tied", "diag")},
    "categories alone": categories,
    "labels as texts": partial(classifier, TEXTS[:4]),
    "labels as numbers": partial(classifier, [3, 1, 2]),
    "labels as truth": partial(classifier, [True, False]),
    "several components": partial(classifier, ["a", "b", "c"], components_per_class=2),
    "one class": partial(mixed, 9, n_classes=1),
}


@cache
def case_of(name):
    """Return a case by its name."""
    return CASES[name]()


def clusters():
    """Return k-means of two columns, and rows in which cells are missing."""
    rng = np.random.default_rng(1)
    model = hs.KMeans.from_params(rng.normal([1e6, 0.0], size=(4, 2)))
    rows = rng.normal([1e6, 0.0], size=(N_ROWS, 2))
    rows[rng.random(rows.shape) < 0.2] = np.nan
    rows[0] = np.nan
    rows[1] = [1e150, -1e150]
    return model, rows
