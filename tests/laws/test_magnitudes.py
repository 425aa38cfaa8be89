"""The law of magnitudes: counts to 1e15, numbers near 1e18, weights from 1e-300 to 1e12, priors to 1e3, any width.

A fit is right, or refused in words: its trace never falls beyond the rounding of what it adds up, its objective belongs
to its parameters (`score` of the same rows is `loglik_`), nothing is NaN, and it can be saved and loaded.
"""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import halfseen as hs
from halfseen.errors import DataError, FitError, HalfseenError
from halfseen.leaves.leaf import arrays

RESOLVED = 1e-12  # share of the objective that sums of logs resolve
EM = {"n_init": 3, "max_iter": 40, "random_state": 0}


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", hs.errors.HalfseenWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


def holds(model, tmp_path, loglik=None, mass=60.0):
    """Assert the law for a fitted model; `loglik` is that of the training rows, computed anew, `mass` their weight."""
    trace = np.asarray(model.trace_, dtype=np.float64)
    assert np.isfinite(trace).all()
    assert np.all(np.diff(trace) >= -RESOLVED * max(np.abs(trace).max(), mass)), "the objective fell"
    if loglik is not None:
        np.testing.assert_allclose(loglik, model.loglik_, rtol=1e-12, atol=1e-15 * mass)
    assert all(np.isfinite(array).all() for array in arrays(model._params))
    again = hs.load(hs.save(model, tmp_path / "model") or tmp_path / "model")
    assert again.loglik_ == model.loglik_


def total(model, X, weight=None):
    """Return the log-likelihood of all rows from the mean that `score` gives."""
    return model.score(X, sample_weight=weight) * (len(X) if weight is None else np.sum(weight))


def counts(size, kind, rng, n_rows=60):
    """Counts of this size: spread evenly below it, or close to one of two rates."""
    if kind == "spread":
        return np.floor(rng.random((n_rows, 2)) * size)
    return rng.poisson(size * rng.integers(1, 3, (n_rows, 1)) * np.ones((1, 2))).astype(float)


def successes(trials, shape, rng, n_rows=60):
    """Successes of so many trials: spread evenly, close to one of two shares, or rare."""
    if shape == "spread":
        return np.floor(rng.random((n_rows, 2)) * (trials + 1))
    share = 3 / trials if shape == "rare" else 0.3
    return rng.binomial(trials, share * rng.integers(1, 3, (n_rows, 1)) * np.ones((1, 2))).astype(float)


# ---- counts ---------------------------------------------------------------------------------------------------------

SIZES = [1.0, 1e3, 1e6, 1e9, 1e12, 1e14, 1e15]


@pytest.mark.parametrize("prior", ["row", None, 1000.0], ids=str)
@pytest.mark.parametrize("shape", ["spread", "close"])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", ["poisson", "negbin"])
def test_counts_of_a_table(kind, size, shape, prior, tmp_path):
    X = counts(size, shape, np.random.default_rng(0))
    model = hs.LatentClass(2, columns={"x0": kind, "x1": kind}, prior=prior, **EM).fit(X)
    holds(model, tmp_path, total(model, X))


@pytest.mark.parametrize("prior", ["row", None, 1000.0], ids=str)
@pytest.mark.parametrize("shape", ["spread", "close", "rare"])
@pytest.mark.parametrize("trials", [7, 10**3, 10**6, 10**9, 10**12, 10**15])
def test_successes_of_a_table(trials, shape, prior, tmp_path):
    X, kind = successes(trials, shape, np.random.default_rng(0)), f"binomial({trials})"
    model = hs.LatentClass(2, columns={"x0": kind, "x1": kind}, prior=prior, **EM).fit(X)
    holds(model, tmp_path, total(model, X))


@pytest.mark.parametrize("trials", [7, 10**3, 10**6, 10**9, 10**12])
def test_few_failures_are_as_right_as_few_successes(trials, tmp_path):
    """EM goes the same way, as long as probabilities next to 1 have digits."""
    X, p = successes(trials, "rare", np.random.default_rng(0))[:, :1], np.array([2.0, 7.0]) / max(trials, 10)
    how = {
        "prior": None,
        "accelerate": False,
        "stop": "iterations",
        "max_iter": 20,
        "columns": {"x0": f"binomial({trials})"},
    }
    few = hs.LatentClass(2, start={"x0": p}, **how).fit(X)
    many = hs.LatentClass(2, start={"x0": 1 - p}, **how).fit(trials - X)
    holds(many, tmp_path, total(many, trials - X))
    assert many.loglik_ == pytest.approx(few.loglik_, rel=1e-7)
    np.testing.assert_allclose(1 - many.params_["x0"]["p"], few.params_["x0"]["p"], rtol=1e-3)


def test_probabilities_without_digits_next_to_1_are_refused():
    trials = 10**15
    X, kind = successes(trials, "rare", np.random.default_rng(0)), f"binomial({trials})"
    with pytest.raises(FitError, match=r"binomial: \d+ of 6e\+16 trials fail in component 0.*Count failures instead"):
        hs.LatentClass(1, columns={"x0": kind}, prior=None, **EM).fit(trials - X[:, :1])


def test_the_log_likelihood_of_many_successes_is_that_of_a_normal():
    trials, p = 10**15, 0.3
    x = np.random.default_rng(0).binomial(trials, p, 4000).astype(float)
    model = hs.LatentClass(1, columns={"x0": f"binomial({trials})"}, prior=None).fit(x[:, None])
    var = x.mean() * (1 - x.mean() / trials)
    normal = -0.5 * np.sum(np.log(2 * np.pi * var) + (x - x.mean()) ** 2 / var)
    assert model.loglik_ == pytest.approx(normal, rel=1e-6)


@pytest.mark.parametrize("assign", ["soft", "hard"])
@pytest.mark.parametrize("shape", ["spread", "close"])
@pytest.mark.parametrize("size", SIZES)
def test_counts_of_a_sequence(size, shape, assign, tmp_path):
    X = counts(size, shape, np.random.default_rng(1))
    model = hs.HMM(2, emission="poisson", assign=assign, **EM).fit(X, lengths=[30, 30])
    holds(model, tmp_path, model.score(X, lengths=[30, 30]))


@pytest.mark.thorough
@pytest.mark.parametrize("size", [min(SIZES), max(SIZES)])
@pytest.mark.parametrize("kind", ["zip", "zinb"])
def test_counts_with_structural_zeros(kind, size, tmp_path):
    rng = np.random.default_rng(3)
    X = counts(size, "close", rng)
    X[rng.random(X.shape) < 0.3] = 0.0
    model = hs.LatentClass(2, columns={"x0": kind, "x1": kind}, **EM).fit(X)
    holds(model, tmp_path, total(model, X))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", ["poisson", pytest.param("negbin", marks=pytest.mark.thorough)])
def test_counts_of_labelled_rows(kind, size, tmp_path):
    rng = np.random.default_rng(2)
    model = hs.NaiveBayes(columns={"x0": kind, "x1": kind}).fit(counts(size, "close", rng), rng.integers(0, 2, 60))
    holds(model, tmp_path)


def test_the_log_likelihood_of_large_counts_is_that_of_a_normal():
    """Poisson counts of 1e15 are normal to eight digits, and a log-likelihood of 4,000 of them has them."""
    x = np.random.default_rng(0).poisson(1e15, 4000).astype(float)
    model = hs.LatentClass(1, columns={"x0": "poisson"}, prior=None).fit(x[:, None])
    normal = -0.5 * np.sum(np.log(2 * np.pi * 1e15) + (x - x.mean()) ** 2 / 1e15)
    assert model.loglik_ == pytest.approx(normal, rel=1e-6)


# ---- numbers --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spread", [1e3, 1e6, 1e13], ids=str)
@pytest.mark.parametrize("covariance", ["full", "tied", "diag", "spherical"])
def test_numbers_near_1e18(covariance, spread, tmp_path):
    """Nanoseconds since 1970: floats there are 256 apart."""
    rng = np.random.default_rng(3)
    X = 1.7e18 + np.floor(rng.random((80, 2)) * spread) + 3 * spread * rng.integers(0, 2, (80, 1))
    model = hs.GaussianMixture(2, covariance_type=covariance, **EM).fit(X)
    holds(model, tmp_path, total(model, X))


@pytest.mark.parametrize("scale", [1e-170, 1e-160, 1e-140, 1e-100, 1e-8, 1e8, 1e100, 1e140, 1e160, 1e300], ids=str)
@pytest.mark.parametrize("make", [
    lambda X: hs.GaussianMixture(2, **EM).fit(X),
    lambda X: hs.GaussianMixture(2, covariance_type="diag", prior=1.0, **EM).fit(X),
    lambda X: hs.LatentClass(2, columns={"x0": "gaussian", "x1": "gaussian"}, **EM).fit(X),
    lambda X: hs.HMM(2, **EM).fit(X),
], ids=["full", "diag", "classes", "hmm"])  # fmt: skip
def test_numbers_of_any_scale(make, scale, tmp_path):
    X = np.random.default_rng(4).standard_normal((40, 2)) * scale
    if not 1e-145 < scale < 1e150:
        with pytest.raises(DataError, match="column 'x0'"):
            make(X)
    else:
        holds(make(X), tmp_path)


@pytest.mark.parametrize("tiny", [1e-170, 1e-300])
def test_numbers_that_differ_by_next_to_nothing(tiny):
    X = np.array([[0.0], [tiny], [-tiny], [tiny]] * 5)
    for fit in (hs.GaussianMixture(2).fit, hs.LatentClass(2, columns={"x0": "gaussian"}).fit, hs.HMM(2).fit):
        with pytest.raises(HalfseenError, match="column 'x0'"):
            fit(X)


@pytest.mark.parametrize("scale", [2.0**-330, 2.0**330], ids=str)
def test_k_means_of_any_scale(scale):
    X = np.random.default_rng(5).standard_normal((60, 2))
    one, other = (hs.KMeans(3, n_init=30, random_state=0).fit(own) for own in (X, X * scale))
    assert other.inertia_ / scale / scale == pytest.approx(one.inertia_, rel=0.01)  # other starts, the same optimum


@pytest.mark.parametrize("scale", [1e-100, 1e-6, 1.0, 1e6, 1e100], ids=str)
def test_rounded_numbers_of_any_scale(scale, tmp_path):
    rng = np.random.default_rng(4)
    x = np.round(rng.standard_normal((60, 1)) + 5 * rng.integers(0, 2, (60, 1)))
    kind = f"rounded({scale!r})"
    X = x * scale
    model = hs.LatentClass(2, columns={"x0": kind}, **EM).fit(X)
    holds(model, tmp_path, total(model, X))
    plain = hs.LatentClass(2, columns={"x0": "rounded(1)"}, **EM).fit(x)
    assert model.loglik_ == pytest.approx(plain.loglik_, rel=1e-6)  # probabilities have no unit


# ---- weights and priors ---------------------------------------------------------------------------------------------

WEIGHTS = {
    "1e-177 to 1e-6": lambda rng, n: 10.0 ** rng.uniform(-177, -6, n),
    "1e-300 to 1e12": lambda rng, n: 10.0 ** rng.uniform(-300, 12, n),
    "1 to 1e9": lambda rng, n: 10.0 ** rng.uniform(0, 9, n),
    "1e12": lambda rng, n: np.full(n, 1e12),
    "1e-90": lambda rng, n: np.full(n, 1e-90),
}
CATEGORIES = [[a, b] for a in "abc" for b in "xy"] * 3
MODELS = {
    "categories": (CATEGORIES, lambda how: hs.LatentClass(2, **how)),
    "numbers": (None, lambda how: hs.GaussianMixture(2, **how)),
    "diagonal": (None, lambda how: hs.GaussianMixture(3, covariance_type="diag", **how)),
    "mixed": (None, lambda how: hs.LatentClass(2, columns={"x0": "gaussian", "x1": "gaussian"}, **how)),
    "network": (CATEGORIES, lambda how: hs.BayesNet([("H", "x0"), ("H", "x1")], hidden={"H": 2}, **how)),
}


@pytest.mark.parametrize("prior", [None, "row", 1.0, 100.0, 1000.0], ids=str)
@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("name", MODELS)
def test_weights_of_any_size(name, weights, prior, tmp_path):
    for seed in range(2):
        rng = np.random.default_rng(seed)
        X, make = MODELS[name]
        X = rng.standard_normal((18, 2)) if X is None else X
        weight = WEIGHTS[weights](rng, len(X))
        if name == "network" and prior == "row":
            continue
        try:
            model = make(EM | {"prior": prior}).fit(X, sample_weight=weight)
        except DataError:  # one row outweighs all others: the column is constant
            continue
        holds(model, tmp_path, total(model, X, weight), weight.sum())


@pytest.mark.parametrize("largest", [1e12, 1e-60, 1.0])
def test_rows_that_weigh_nothing_beside_others_count_as_weight_0_and_are_named(largest):
    """They add less to a variance than the rounding of its mean, squared: a class that has no others has none."""
    rng = np.random.default_rng(0)
    X, y = np.append(rng.standard_normal((20, 2)), [[1e6, 1e6]], axis=0), [0, 1] * 10 + [1]
    weight = np.append(largest * rng.uniform(0.5, 1, 20), 1e-31 * largest)
    without = np.append(weight[:-1], 0.0)
    parts = [X[:8], X[8:20], X[20:]]
    fits = {
        "mixture": lambda w: hs.GaussianMixture(2, **EM).fit(X, sample_weight=w),
        "classifier": lambda w: hs.GaussianClassifier().fit(X, y, sample_weight=w),
        "k-means": lambda w: hs.KMeans(2, random_state=0).fit(X, sample_weight=w),
        "hmm": lambda w: hs.HMM(2, **EM).fit(parts, sample_weight=w[18:]),
    }
    for name, fit in fits.items():
        with pytest.warns(hs.errors.LightRowWarning, match="row (20|2) weighs .* count as 0"):
            light = fit(weight)
        own, its = ([m.cluster_centers_] if name == "k-means" else arrays(m._params) for m in (light, fit(without)))
        for a, b in zip(own, its, strict=True):
            np.testing.assert_array_equal(a, b, err_msg=name)


@pytest.mark.parametrize("weight", [1e-300, 1e-120, 1e120])
def test_weights_beyond_floats_are_refused_in_words(weight):
    X, weights = np.random.default_rng(0).standard_normal((20, 2)), np.full(20, weight)
    said = f"the largest weight is {weight:g}.*Multiply all weights"
    for fit in (
        lambda: hs.GaussianMixture(2).fit(X, sample_weight=weights),
        lambda: hs.KMeans(2).fit(X, sample_weight=weights),
        lambda: hs.NaiveBayes().fit(X, [0, 1] * 10, sample_weight=weights),
        lambda: hs.HMM(2).fit(X, lengths=[10, 10], sample_weight=weights[:2]),
        lambda: hs.BayesNet([("H", "x0")], hidden={"H": 2}).fit([["a"], ["b"]] * 10, sample_weight=weights),
    ):
        with pytest.raises(DataError, match=said.replace("+", r"\+")):
            fit()


@pytest.mark.parametrize("power", [-60, -2, -1, 1, 10, 40])
def test_powers_of_two_of_all_weights_leave_maximum_likelihood_the_same_bits(power):
    """Where the number of iterations is given: `tol` is in units of the total log-likelihood.

    Mixtures and chains of numbers multiply by roots of usage: there powers of four do.
    """
    factor, start = (
        2.0**power,
        {"H": [0.4, 0.6], "x0": [[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]], "x1": [[0.6, 0.4], [0.3, 0.7]]},
    )
    rng = np.random.default_rng(6)
    numbers, y, weight = rng.standard_normal((40, 2)), rng.integers(0, 2, 40), rng.gamma(1.0, size=40)
    how = {"prior": None, "stop": "iterations", "max_iter": 15, "n_init": 2, "random_state": 0}
    categories = [[rng.choice(list("abc")), rng.choice(list("xy"))] for _ in range(40)]
    parts = [numbers[:10], numbers[10:25], numbers[25:]]
    fits = {
        "mixture": lambda w: hs.GaussianMixture(2, **how).fit(numbers, sample_weight=w),
        "diagonal": lambda w: hs.GaussianMixture(2, covariance_type="diag", **how).fit(numbers, sample_weight=w),
        "classes": lambda w: hs.LatentClass(2, **how).fit(categories, sample_weight=w),
        "bayes": lambda w: hs.NaiveBayes(prior=None).fit(numbers, y, sample_weight=w),
        "gaussian": lambda w: hs.GaussianClassifier(covariance_type="diag").fit(numbers, y, sample_weight=w),
        "network": lambda w: hs.BayesNet(
            [("H", "x0"), ("H", "x1")], hidden={"H": 2}, start=start, **how | {"n_init": 1}
        ).fit(categories, sample_weight=w),
        "hmm": lambda w: hs.HMM(2, **how).fit(parts, sample_weight=w[:3]),
        "k-means": lambda w: hs.KMeans(3, random_state=0).fit(numbers, sample_weight=w),
    }
    for name, fit in fits.items():
        if power % 2 and name in ("mixture", "diagonal", "hmm"):
            continue
        one, other = fit(weight), fit(factor * weight)
        own, its = ([m.cluster_centers_] if name == "k-means" else arrays(m._params) for m in (one, other))
        for a, b in zip(own, its, strict=True):
            np.testing.assert_array_equal(a, b, err_msg=name)


# ---- width ----------------------------------------------------------------------------------------------------------

WIDTHS = [
    1,
    7,
    pytest.param(100, marks=pytest.mark.thorough),
    pytest.param(2000, marks=pytest.mark.thorough),
    pytest.param(10_000, marks=pytest.mark.slow),
]


def wide(kind, width, rng, n_rows=40):
    """A table of two groups, one kind of columns."""
    group = rng.integers(0, 2, (n_rows, 1))
    if kind == "categorical":
        return rng.integers(0, 3, (n_rows, width)) * (1 - group) + group * rng.integers(0, 2, (n_rows, width))
    if kind == "gaussian":
        return rng.standard_normal((n_rows, width)) + 2 * group
    return rng.poisson(3.0 + 5 * group * np.ones((1, width))).astype(float)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("kind", ["categorical", "gaussian", "poisson"])
def test_classes_of_wide_tables(kind, width, tmp_path):
    holds_of_width(kind, width, tmp_path)


@pytest.mark.parametrize("width", [1, 7, pytest.param(100, marks=pytest.mark.thorough)])
@pytest.mark.parametrize("kind", ["negbin", "binomial(40)", "ordinal"])
def test_classes_of_wide_tables_whose_columns_are_computed_one_by_one(kind, width, tmp_path):
    holds_of_width(kind, width, tmp_path)


def holds_of_width(kind, width, tmp_path):
    X = wide(kind, width, np.random.default_rng(7))
    kinds = {f"x{d}": kind for d in range(width)}
    model = hs.LatentClass(2, columns=kinds, n_init=2, max_iter=8, random_state=0).fit(X)
    holds(model, tmp_path, total(model, X))


@pytest.mark.parametrize("width", WIDTHS)
def test_other_estimators_of_wide_tables(width, tmp_path):
    rng = np.random.default_rng(8)
    X, y = wide("gaussian", width, rng), rng.integers(0, 2, 40)
    short = {"n_init": 2, "max_iter": 8, "random_state": 0}
    for shape in ("diag", "spherical"):
        model = hs.GaussianMixture(2, covariance_type=shape, **short).fit(X)
        holds(model, tmp_path, total(model, X))
        holds(hs.GaussianClassifier(covariance_type=shape).fit(X, y), tmp_path)
    holds(hs.NaiveBayes().fit(X, y), tmp_path)
    model = hs.HMM(2, covariance_type="diag", **short).fit(X)
    holds(model, tmp_path, model.score(X))
    assert np.isfinite(hs.KMeans(2, random_state=0).fit(X).inertia_)


@pytest.mark.parametrize("width", [1, 7, pytest.param(60, marks=pytest.mark.thorough)])
def test_joint_covariances_of_wide_tables(width, tmp_path):
    """With fewer rows than columns covariances are singular but for their floor: right, or refused in words."""
    X = wide("gaussian", width, np.random.default_rng(9))
    for shape in ("full", "tied"):
        model = hs.GaussianMixture(2, covariance_type=shape, prior=1.0, n_init=2, max_iter=8, random_state=0).fit(X)
        holds(model, tmp_path, total(model, X))
