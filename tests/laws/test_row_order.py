"""The law of row order: any order of the rows, sequences or sentences gives the same bits.

For every estimator: soft, hard and sampled; with weights, missing values and labels; on real tables. Word and
transcript alignment are the exceptions: their sums are in the order of the corpus, which may be larger than memory, and
agree to rounding.
"""

import warnings

import numpy as np
import pandas as pd
import pytest

import halfseen as hs
from halfseen.datasets import load_penguins, load_votes
from halfseen.leaves.leaf import arrays
from tests.shared_data import shared_data
from tests.unit.test_transcript_aligner import corpus

SHUFFLES = 3
EM = {"n_init": 2, "max_iter": 12, "random_state": 0}


def votes():
    return pd.DataFrame(load_votes())


def penguins():
    return pd.DataFrame(load_penguins())


def numbers():
    return penguins().select_dtypes("number").iloc[:, :4]


def weights(n_rows):
    """Return weights whose sums need rounding, some of them equal."""
    return np.round(np.random.default_rng(8).gamma(0.7, size=n_rows), 2) / 3 + 0.01


def positive():
    rng = np.random.default_rng(4)
    found = {
        "size": rng.gamma(2.0, 1.0, 80),
        "price": rng.lognormal(0.0, 1.0, 80),
        "wait": rng.exponential(1.0, 80),
        "share": rng.beta(2.0, 1.0, 80),
    }
    return pd.DataFrame(found)


def counts():
    rng = np.random.default_rng(3)
    found = {
        "visits": rng.poisson(4, 80),
        "bytes": rng.negative_binomial(1, 1e-3, 80),
        "heads": rng.binomial(9, 0.4, 80),
    }
    return pd.DataFrame(found).astype(float)


def classes(kinds=None, **how):
    return lambda X, **fit: hs.LatentClass(2, columns=kinds, **EM | how).fit(X, **fit)


def mixture(**how):
    return lambda X, **fit: hs.GaussianMixture(2, **EM | how).fit(X, **fit)


def labelled(model, target, **how):
    def fit(X, **options):
        return model(**how).fit(X.drop(columns=target), X[target], **options)

    return fit


def half(model, target, **how):
    """Fit with labels for some rows only; which, is a column."""

    def fit(X, **options):
        known = [label if show else None for label, show in zip(X[target], X["known"], strict=True)]
        return model(guard=False, **how).fit(X.drop(columns=[target, "known"]), known, **options)

    return fit


def with_known(frame):
    return frame.assign(known=np.random.default_rng(2).random(len(frame)) < 0.4)


def net(X, **how):
    assign = how.pop("assign", "soft")
    columns = list(X.columns[:3])
    model = hs.BayesNet([("H", name) for name in columns], hidden={"H": 2}, assign=assign, **EM)
    return model.fit(X[columns], **how)


POSITIVE = {"size": "gamma", "price": "lognormal", "wait": "exponential", "share": "beta"}
ROUNDED = {"visits": "rounded", "bytes": "rounded(10, 100, 1000)", "heads": "rounded(1)"}
COUNTS = {"visits": "poisson", "bytes": "negbin", "heads": "binomial(9)"}
INFLATED = {"visits": "zip", "bytes": "zinb", "heads": "zip"}
RANKS = {"visits": "ordinal", "heads": "ordinal"}
POISSON = {"visits": "poisson", "bytes": "poisson", "heads": "binomial(9)"}
TABLES = {
    "LatentClass": (votes, classes()),
    "LatentClass, hard": (votes, classes(assign="hard")),
    "LatentClass, sample": (votes, classes(assign="sample")),
    "LatentClass, mixed columns": (penguins, classes()),
    "LatentClass, counts": (counts, classes(COUNTS)),
    "LatentClass, positive numbers": (positive, classes(POSITIVE)),
    "LatentClass, rounded numbers": (counts, classes(ROUNDED)),
    "LatentClass, counts with structural zeros": (counts, classes(INFLATED)),
    "LatentClass, ordinal": (counts, classes(RANKS)),
    "GaussianMixture, full": (numbers, mixture()),
    "GaussianMixture, diag": (numbers, mixture(covariance_type="diag")),
    "GaussianMixture, tied, hard": (numbers, mixture(covariance_type="tied", assign="hard")),
    "GaussianMixture, spherical, sample": (numbers, mixture(covariance_type="spherical", assign="sample")),
    "KMeans": (lambda: numbers().dropna(), lambda X, **fit: hs.KMeans(3, random_state=0).fit(X, **fit)),
    "KMeans, missing values": (numbers, lambda X, **fit: hs.KMeans(3, random_state=0).fit(X, **fit)),
    "NaiveBayes": (penguins, labelled(hs.NaiveBayes, "species")),
    "NaiveBayes, categories": (votes, lambda X, **fit: hs.NaiveBayes().fit(X.iloc[:, 1:], X.iloc[:, 0], **fit)),
    "NaiveBayes, counts": (
        lambda: counts().assign(y=lambda X: X.visits > 4),
        labelled(hs.NaiveBayes, "y", columns=POISSON),
    ),
    "NaiveBayes, half of the labels": (
        lambda: with_known(penguins()), half(hs.NaiveBayes, "species", max_iter=8),
    ),
    "NaiveBayes, several components": (
        penguins, labelled(hs.NaiveBayes, "species", components_per_class=2, **EM),
    ),
    "GaussianClassifier, full": (
        lambda: penguins()[["species", *numbers().columns]], labelled(hs.GaussianClassifier, "species"),
    ),
    "GaussianClassifier, diag": (
        lambda: penguins()[["species", *numbers().columns]],
        labelled(hs.GaussianClassifier, "species", covariance_type="diag"),
    ),
    "GaussianClassifier, spherical": (
        lambda: penguins()[["species", *numbers().columns]].dropna(),
        labelled(hs.GaussianClassifier, "species", covariance_type="spherical"),
    ),
    "BayesNet": (votes, net),
    "BayesNet, hard": (votes, lambda X, **fit: net(X, assign="hard", **fit)),
    "BayesNet, sample": (votes, lambda X, **fit: net(X, assign="sample", **fit)),
}  # fmt: skip


def figures(model):
    """Return all that a fit found, as arrays."""
    found = arrays(model._params) if hasattr(model, "_params") else [model.cluster_centers_]
    names = ("loglik_", "objective_", "trace_", "inertia_")
    return [*found, *(np.asarray(getattr(model, name)) for name in names if hasattr(model, name))]


def same(one, other):
    for a, b in zip(figures(one), figures(other), strict=True):
        np.testing.assert_array_equal(a, b)


def orders(n, seed=0):
    rng = np.random.default_rng(seed)
    return [np.arange(n)[::-1], *(rng.permutation(n) for _ in range(SHUFFLES - 1))]


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
@pytest.mark.parametrize("name", TABLES)
def test_rows_of_a_table(name, weighted):
    read, fit = TABLES[name]
    X = read()
    weight = weights(len(X)) if weighted else None

    def fitted(order):
        return fit(X.iloc[order], **({} if weight is None else {"sample_weight": weight[order]}))

    first = fitted(np.arange(len(X)))
    for order in orders(len(X)):
        same(fitted(order), first)


@pytest.mark.parametrize("dataset", ["carcinoma/carcinoma.csv", "gss82/gss82.csv", "iris/iris.csv"])
def test_rows_of_more_real_tables(dataset):
    X = pd.read_csv(shared_data(dataset))
    first = classes()(X)
    for order in orders(len(X)):
        same(classes()(X.iloc[order]), first)


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e9])
@pytest.mark.parametrize("offset", [0.0, 1e3, 1e8])
def test_rows_of_numbers_anywhere(offset, scale):
    """Outliers, offsets and weights of many sizes: sums of which the digits of every order are different."""
    rng = np.random.default_rng(1)
    X = offset + scale * rng.standard_t(1.5, size=(500, 3))
    y, weight = rng.integers(0, 3, 500), 10.0 ** rng.uniform(-20, 12, 500)
    X[rng.random(X.shape) < 0.1] = np.nan

    def fit(order, **how):
        model = hs.GaussianClassifier(covariance_type="diag", variance_floor=1e-12)
        return model.fit(X[order], y[order], **how)

    for how in (lambda order: {}, lambda order: {"sample_weight": weight[order]}):
        first = fit(np.arange(500), **how(np.arange(500)))
        for order in orders(500):
            same(fit(order, **how(order)), first)


def test_words_of_documents():
    rng = np.random.default_rng(4)
    texts = np.array([" ".join(rng.choice(["ham", "spam", "eggs", "tea"], rng.integers(1, 9))) for _ in range(120)])
    y, weight = rng.integers(0, 2, 120), weights(120)
    for text in ("multinomial", "bernoulli", "complement"):
        for how in ({}, {"document_length": "mean"}):

            def fit(order, text=text, how=how):
                model = hs.NaiveBayes(columns={"x0": "text"}, text=text, **how)
                return model.fit([[cell] for cell in texts[order]], y[order], sample_weight=weight[order])

            first = fit(np.arange(120))
            for order in orders(120):
                same(fit(order), first)


# ---- sequences, sentences, pairs ------------------------------------------------------------------------------------


@pytest.mark.parametrize("assign", ["soft", "hard", "sample"])
@pytest.mark.parametrize("emission", ["gaussian", "categorical", "poisson", "binomial(5)"])
def test_sequences(emission, assign):
    rng = np.random.default_rng(5)
    made = {
        "gaussian": rng.standard_normal,
        "categorical": lambda n: rng.integers(0, 3, n),
        "poisson": lambda n: rng.poisson(3, n),
        "binomial(5)": lambda n: rng.binomial(5, 0.3, n),
    }
    parts = [np.asarray(made[emission](int(rng.integers(1, 7)))).astype(float)[:, None] for _ in range(60)]
    parts[0][0] = np.nan
    weight = weights(60)

    def fit(order):
        model = hs.HMM(2, emission=emission, assign=assign, **EM)
        return model.fit([parts[i] for i in order], sample_weight=weight[order])

    first = fit(np.arange(60))
    for order in orders(60):
        same(fit(order), first)


def test_sequences_with_labels():
    rng = np.random.default_rng(6)
    parts = [rng.standard_normal((int(rng.integers(2, 6)), 1)) for _ in range(40)]
    labels = [[rng.choice([0, 1, None]) for _ in part] for part in parts]
    labels[0][:2] = [0, 1]

    def fit(order):
        return hs.HMM(2, **EM).fit([parts[i] for i in order], labels=[labels[i] for i in order])

    first = fit(np.arange(40))
    for order in orders(40):
        same(fit(order), first)


@pytest.mark.parametrize("assign", ["soft", "hard", "sample"])
def test_sentences(assign):
    rng = np.random.default_rng(7)
    said = [" ".join(rng.choice(["a", "b", "c"], rng.integers(1, 6))) for _ in range(60)]
    weight = weights(60)

    def fit(order):
        grammar = hs.PCFG.from_string("S -> S S [0.4] | 'a' [0.2] | 'b' [0.2] | 'c' [0.2]")
        grammar.set_params(assign=assign, max_iter=6, random_state=0)
        return grammar.fit([said[i] for i in order], sample_weight=weight[order])

    first = fit(np.arange(60))
    for order in orders(60):
        same(fit(order), first)


@pytest.mark.parametrize("model", ["ibm1", "diagonal", "hmm"])
def test_pairs_agree_to_rounding(model):
    rng = np.random.default_rng(8)
    pairs = [(" ".join(rng.choice(list("abcd"), 4)), " ".join(rng.choice(list("wxyz"), 3))) for _ in range(40)]

    def fit(order):
        return hs.WordAligner(model).fit([pairs[i] for i in order])

    first = fit(np.arange(40))
    for order in orders(40):
        np.testing.assert_allclose(fit(order).trace_, first.trace_, rtol=1e-10)


def test_utterances_agree_to_rounding():
    X, said, _ = corpus(8)

    def fit(order):
        model = hs.TranscriptAligner(random_state=0, max_iter=6)
        return model.fit([X[i] for i in order], [said[i] for i in order])

    first = fit(range(8))
    for order in orders(8):
        np.testing.assert_allclose(fit(order).trace_, first.trace_, rtol=1e-9)
