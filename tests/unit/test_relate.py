"""Classes related to covariates and outcomes: figures of StepMix, formulas by hand, simulations, refusals."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

import halfseen as hs
from halfseen.errors import DataError, FitError, HalfseenWarning, ParameterError
from halfseen.inference.assignment import step_one
from tests.campaigns.three_step import MEANS, SLOPE, fitted, table
from tests.shared_data import shared_data

METHODS = ["ml", "bch", "two-step", "naive"]
ITEMS, BESIDE = table(np.random.default_rng(0), 800, 0.85)
MODEL = fitted(ITEMS, 0.85)


def related(*given, **named):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HalfseenWarning)
        return hs.relate(*given, **named)


@pytest.fixture(scope="module")
def cheating():
    X = pd.read_csv(shared_data("cheating/cheating.csv")).dropna()
    return hs.LatentClass(2, prior=None, random_state=0, tol=1e-10).fit(X.drop(columns="GPA")), X


# ---- figures -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "slope"), [("naive", 0.4628), ("bch", 0.7144), ("ml", 0.7031), ("two-step", 0.8099)]
)
def test_cheating(cheating, method, slope):
    """By hand .4628, .7144, .7031; StepMix prints .4628, .7140, .7029, and .8097 by two steps."""
    model, X = cheating
    found = related(model, X, covariates="GPA", method=method, propagate=False).coefficients
    assert abs(found.estimate[0, 1]) == pytest.approx(slope, abs=1.1e-4)
    if method == "bch":
        assert found.se[0, 1] == pytest.approx(0.287, abs=5e-4)


def test_errors_of_step_one_make_intervals_wider(cheating):
    model, X = cheating
    for method in ("ml", "bch", "two-step"):
        narrow, wide = (
            related(model, X, covariates="GPA", method=method, propagate=each).coefficients for each in (False, True)
        )
        assert np.array_equal(narrow.estimate, wide.estimate)
        assert wide.se[0, 1] > narrow.se[0, 1]


# ---- by hand --------------------------------------------------------------------------------------------------------


def by_hand():
    """Posteriors, modal assignment and classification table from the public methods."""
    resp = MODEL.predict_proba(ITEMS)
    assigned = np.eye(3)[resp.argmax(axis=1)]
    return resp, assigned, resp.T @ assigned / resp.sum(axis=0)[:, None]


def logit(value):
    """Return the coefficients (2, K - 1), intercepts and slopes, that maximise a value of log-probabilities (N, K)."""
    z = np.column_stack([np.ones(len(BESIDE)), BESIDE["z"]])

    def minus(b):
        return -value(log_softmax(z @ np.column_stack([np.zeros(2), b.reshape(2, 2)]), axis=1))

    return minimize(minus, np.zeros(4), method="BFGS", options={"gtol": 1e-9}).x.reshape(2, 2)


@pytest.mark.parametrize("method", METHODS)
def test_coefficients_maximise_what_the_method_says(method):
    resp, assigned, errors = by_hand()
    emit = np.log(resp) - np.log(MODEL.weights_)
    value = {
        "naive": lambda log_p: (assigned * log_p).sum(),
        "bch": lambda log_p: (assigned @ np.linalg.inv(errors) * log_p).sum(),
        "ml": lambda log_p: np.log(np.exp(log_p) @ errors)[assigned == 1].sum(),
        "two-step": lambda log_p: np.log((np.exp(log_p + emit)).sum(axis=1)).sum(),
    }[method]
    found = related(MODEL, ITEMS, covariates=BESIDE[["z"]], method=method)
    assert_allclose(found.coefficients.estimate.T, logit(value), atol=2e-5)
    assert_allclose(found.classification, errors, atol=1e-12)


@pytest.mark.parametrize("method", ["ml", "bch", "naive"])
def test_proportional_assignment_splits_rows(method):
    resp, _, _ = by_hand()
    errors = resp.T @ resp / resp.sum(axis=0)[:, None]
    value = {
        "naive": lambda log_p: (resp * log_p).sum(),
        "bch": lambda log_p: (resp @ np.linalg.inv(errors) * log_p).sum(),
        "ml": lambda log_p: (resp * np.log(np.exp(log_p) @ errors)).sum(),
    }[method]
    found = related(MODEL, ITEMS, covariates=BESIDE[["z"]], method=method, assign="proportional")
    assert_allclose(found.coefficients.estimate.T, logit(value), atol=2e-5)


def test_means_and_shares_by_bch_are_weighted_means():
    _, assigned, errors = by_hand()
    weight = assigned @ np.linalg.inv(errors)
    y = BESIDE["y"].to_numpy()
    found = hs.relate(MODEL, ITEMS, outcomes=BESIDE[["y"]], propagate=False).outcomes[0]
    means = weight.T @ y / weight.sum(axis=0)
    assert_allclose(found.estimate[:, 0], means)
    se = np.sqrt(((weight * (y[:, None] - means)) ** 2).sum(axis=0)) / weight.sum(axis=0)
    assert_allclose(found.se[:, 0], se)
    kind = np.where(y > 0, "high", "low")
    shares = hs.relate(MODEL, ITEMS, outcomes=pd.DataFrame({"kind": kind})).outcomes[0]
    assert shares.levels == ("high", "low")
    assert_allclose(shares.estimate[:, 0], weight.T @ (y > 0) / weight.sum(axis=0))
    assert_allclose(shares.estimate.sum(axis=1), 1.0)
    assert np.all((shares.low > 0) & (shares.high < 1) & (shares.low < shares.estimate))


def test_known_classes_make_all_methods_alike():
    """With indicators that tell the classes, every method is the plain analysis of known classes."""
    rng = np.random.default_rng(1)
    k = rng.integers(0, 2, 400)
    X = pd.DataFrame({f"q{j}": np.where(k, "yes", "no") for j in range(8)})
    z, y = rng.normal(size=400) + k, rng.normal(size=400) + 2 * k
    start = {name: {"no": [0.98, 0.02], "yes": [0.02, 0.98]} for name in X}
    model = hs.LatentClass(2, start={"weights": [0.5, 0.5], **start}, fixed=list(X), n_init=1).fit(X)
    slopes = [related(model, X, covariates=z, method=method).coefficients.estimate[0, 1] for method in METHODS]
    means = [related(model, X, outcomes=y, method=method).outcomes[0].estimate[:, 0] for method in METHODS]
    assert np.ptp(slopes) < 1e-4
    assert_allclose(means, np.tile([y[k == 0].mean(), y[k == 1].mean()], (4, 1)), atol=1e-4)


def small():
    """Two classes, four items and a yes or no: few distinct rows, each with a weight."""
    rng = np.random.default_rng(3)
    z = rng.integers(0, 2, 400)
    k = rng.random(400) < np.where(z, 0.7, 0.35)
    items = (rng.random((400, 4)) < np.where(k, 0.8, 0.25)[:, None]).astype(int)
    frame = pd.DataFrame(items, columns=list("abcd")).assign(z=z)
    counts = frame.value_counts().reset_index()
    return counts.drop(columns="count"), counts["count"].to_numpy(float)


@pytest.mark.thorough
@pytest.mark.parametrize("assign", ["modal", "proportional"])
@pytest.mark.parametrize(
    ("what", "method"),
    [
        ("covariates", "ml"),
        ("covariates", "bch"),
        ("covariates", "two-step"),
        ("outcomes", "bch"),
        ("outcomes", "ml"),
        ("outcomes", "two-step"),
    ],
)
def test_errors_are_those_of_the_influence_of_rows(what, method, assign):
    """The derivative of an estimate in the weight of a row, through both steps, is what the row contributes to it."""
    rows, weight = small()
    first = hs.LatentClass(2, prior=None, random_state=0, n_init=2, tol=1e-13).fit(
        rows[list("abcd")], sample_weight=weight
    )
    given = {what: rows[["z"]], "method": method, "assign": assign}

    def estimate(weights):
        model = hs.LatentClass(2, prior=None, start=first.params_, n_init=1, tol=1e-13, max_iter=5000)
        model.fit(rows[list("abcd")], sample_weight=weights)
        found = hs.relate(model, rows[list("abcd")], sample_weight=weights, propagate=False, **given)
        return (found.coefficients if what == "covariates" else found.outcomes[0]).estimate.ravel()

    h = 0.2  # of a row: a smaller change of weights would be lost where EM stops
    influence = []
    for n in range(len(weight)):
        up, down = (weight + side * h * (np.arange(len(weight)) == n) for side in (1, -1))
        influence.append((estimate(up) - estimate(down)) / (2 * h))
    by_hand = np.sqrt((weight[:, None] * np.array(influence) ** 2).sum(axis=0))
    found = hs.relate(first, rows[list("abcd")], sample_weight=weight, **given)
    se = (found.coefficients if what == "covariates" else found.outcomes[0]).se.ravel()
    assert "is in the errors" in str(found)
    assert_allclose(se, by_hand, rtol=2e-3)


@pytest.mark.thorough
def test_errors_match_the_spread_over_samples():
    """Standard errors with step 1 are about the standard deviation over tables, and too small without it."""
    values, errors, alone = [], [], []
    for seed in range(40):
        items, beside = table(np.random.default_rng([9, seed]), 500, 0.8)
        model = fitted(items, 0.8)
        found = hs.relate(model, items, covariates=beside[["z"]], reference=1).coefficients
        values.append(found.estimate[1, 1])
        errors.append(found.se[1, 1])
        known = hs.relate(model, items, covariates=beside[["z"]], reference=1, propagate=False).coefficients
        alone.append(known.se[1, 1])
    assert np.mean(errors) == pytest.approx(np.std(values), rel=0.35)
    assert np.mean(alone) < np.mean(errors)
    assert np.mean(values) == pytest.approx((SLOPE[2] - SLOPE[1]) / 2, abs=3 * np.std(values) / np.sqrt(40) + 0.03)


@pytest.mark.thorough
def test_naive_is_too_weak_and_the_others_are_not():
    items, beside = table(np.random.default_rng(5), 20_000, 0.8)
    model = fitted(items, 0.8)
    slopes, gaps = {}, {}
    for method in METHODS:
        found = related(model, items, covariates=beside[["z"]], method=method, reference=1, propagate=False)
        slopes[method] = found.coefficients.estimate[1, 1]
        y = related(model, items, outcomes=beside[["y"]], method=method, propagate=False).outcomes[0].estimate[:, 0]
        gaps[method] = y[2] - y[1]
    for method in ("ml", "bch", "two-step"):
        assert slopes[method] == pytest.approx(1.0, abs=0.12)
        assert gaps[method] == pytest.approx(MEANS[2] - MEANS[1], abs=0.12)
    assert slopes["naive"] < 0.8
    assert gaps["naive"] < 0.9


def test_wald_tests():
    found = hs.relate(MODEL, ITEMS, outcomes=BESIDE[["y"]]).outcomes[0]
    assert found.test.df == 2
    assert found.test.p < 1e-6
    assert [test.df for test in found.pairs] == [1, 1, 1]
    gap = found.estimate[0, 0] - found.estimate[1, 0]
    var = found.covariance[0, 0] + found.covariance[1, 1] - 2 * found.covariance[0, 1]
    assert found.pairs[0].statistic == pytest.approx(gap**2 / var)
    noise = np.random.default_rng(0).normal(size=len(ITEMS))
    assert hs.relate(MODEL, ITEMS, outcomes=noise).tests[0].p > 0.001
    z = hs.relate(MODEL, ITEMS, covariates=BESIDE[["z"]])
    assert z.tests[0].df == 2
    assert z.tests[0].p < 1e-6


def test_weights_repeat_rows():
    weight = np.random.default_rng(0).integers(1, 3, len(ITEMS))
    rows = np.repeat(np.arange(len(ITEMS)), weight)
    model = hs.LatentClass(3, prior=None, start=MODEL.params_, n_init=1).fit(ITEMS, sample_weight=weight)
    for how in ({"covariates": "z"}, {"outcomes": "y"}, {"outcomes": "y", "method": "ml"}):
        one = hs.relate(model, pd.concat([ITEMS, BESIDE[list(how.values())[:1]]], axis=1), sample_weight=weight, **how)
        other = hs.relate(model, pd.concat([ITEMS, BESIDE[list(how.values())[:1]]], axis=1).iloc[rows], **how)
        a, b = one.to_frame(), other.to_frame()
        assert_allclose(a["estimate"], b["estimate"], atol=1e-7)
        assert_allclose(a["se"], b["se"], rtol=1e-4)


def test_missing_values():
    holes = BESIDE.copy()
    holes.loc[3, "z"] = None
    holes.loc[:4, "y"] = None
    with pytest.raises(DataError, match="z is missing in row 3"):
        hs.relate(MODEL, ITEMS, covariates=holes[["z"]])
    found = hs.relate(MODEL, ITEMS, covariates=holes[["z"]], missing="drop")
    assert found.n_dropped == 1
    assert "1 rows with a missing covariate" in str(found)
    outcome = hs.relate(MODEL, ITEMS, outcomes=holes[["y"]])
    assert outcome.outcomes[0].n_rows == len(ITEMS) - 5
    assert "5 rows without it" in str(outcome)


def test_tables(cheating):
    model, X = cheating
    found = hs.relate(model, X, outcomes="GPA", columns={"GPA": "gaussian"})
    frame = found.to_frame()
    assert frame.columns.tolist() == ["outcome", "value", "class", "estimate", "se", "low", "high"]
    assert len(frame) == 2
    assert "all classes equal" in str(found)
    assert hs.relate(model, X, outcomes=["GPA"]).outcomes[0].levels == (1, 2, 3, 4, 5)
    assert hs.relate(model, X, covariates="C(GPA)").tests[0].df == 4
    plain = hs.relate(model, X, covariates="GPA").to_dict()
    assert plain["method"] == "ml"
    assert len(plain["coefficients"]) == 2


def test_gaussian_mixtures_too():
    rng = np.random.default_rng(0)
    k = rng.integers(0, 2, 300)
    X = rng.normal(size=(300, 2)) + 3 * k[:, None]
    model = hs.GaussianMixture(2, random_state=0).fit(X)
    found = hs.relate(model, X, outcomes=(rng.normal(size=300) + k))
    assert abs(abs(np.diff(found.outcomes[0].estimate[:, 0])[0]) - 1) < 0.5


# ---- what is refused ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({}, "either covariates= or outcomes="),
        ({"covariates": BESIDE[["z"]], "outcomes": BESIDE[["y"]]}, "either"),
        ({"covariates": BESIDE[["z"]], "method": "lca"}, "method='lca'"),
        ({"covariates": BESIDE[["z"]], "assign": "best"}, "assign='best'"),
        ({"covariates": BESIDE[["z"]].head(7)}, "covariates: 7 rows, but X has 800"),
        ({"outcomes": BESIDE[["y"]].head(7)}, "outcomes: 7 rows, but X has 800"),
        ({"covariates": np.ones(800)}, "x0 is 1 in all rows"),
        ({"outcomes": np.ones(800)}, "x0 is 1 in all rows"),
        ({"outcomes": ["a"] * 800}, "x0 is a in all rows"),
        ({"outcomes": np.full(800, np.nan)}, "missing in all rows"),
        ({"outcomes": "income"}, "outcomes: there is no column 'income'"),
        ({"covariates": "income"}, "covariates: there is no column 'income'"),
        ({"covariates": BESIDE[["z"]], "reference": "class 7"}, "is no class"),
        ({"covariates": BESIDE[["z"]], "columns": {"z": "gaussian"}}, "kinds of outcomes"),
    ],
)
def test_what_is_refused(how, said):
    with pytest.raises(ValueError, match=said):
        hs.relate(MODEL, ITEMS, **how)


def test_models_that_cannot_be_related():
    with pytest.raises(ParameterError, match="no latent classes"):
        hs.relate(hs.NaiveBayes().fit(ITEMS, CLASSES), ITEMS, covariates=BESIDE[["z"]])
    with pytest.raises(ParameterError, match="one class"):
        hs.relate(hs.LatentClass(1).fit(ITEMS), ITEMS, covariates=BESIDE[["z"]])
    one_step = hs.LatentClass(2, n_init=2, random_state=0).fit(ITEMS, covariates=BESIDE[["z"]])
    with pytest.raises(ParameterError, match="depend on covariates already"):
        hs.relate(one_step, ITEMS, outcomes=BESIDE[["y"]])


CLASSES = np.arange(800) % 2


def test_the_naive_way_warns():
    with pytest.warns(HalfseenWarning, match="too weak"):
        hs.relate(MODEL, ITEMS, outcomes=BESIDE[["y"]], method="naive")


def test_negative_weights_that_leave_no_estimate_are_refused_naming_ml():
    """An outcome that only doubtful rows have: BCH shares leave the range from 0 to 1."""
    resp = MODEL.predict_proba(ITEMS)
    odd = np.where((resp.argmax(axis=1) == 1) & (resp.max(axis=1) < 0.7), "odd", "even")
    assert (odd == "odd").any()
    with pytest.raises(FitError, match=r"negative.*method='ml'"):
        hs.relate(MODEL, ITEMS, outcomes=odd)
    found = hs.relate(MODEL, ITEMS, outcomes=odd, method="ml", propagate=False)
    assert found.outcomes[0].estimate.min() >= 0


def test_bch_weights_sum_to_one():
    step = step_one(MODEL, ITEMS, None, "modal")
    weights = step.bch()
    assert weights.min() < 0
    assert_allclose(weights.sum(axis=1), 1.0)
    assert_allclose(np.exp(step.joint()[1]), MODEL.predict_proba(ITEMS), atol=1e-12)
    assert_allclose(softmax(step.joint()[1], axis=1), MODEL.predict_proba(ITEMS), atol=1e-12)
