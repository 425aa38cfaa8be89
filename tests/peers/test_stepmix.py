"""The same EM as StepMix, step by step.

StepMix has no argument for start parameters, but the same seed begins at the same random responsibilities. So its fit
of one iteration gives the start, read through `get_parameters`, and its fit of 1 + m iterations gives where m steps of
EM lead; LatentClass makes these m steps from that start. Only public functions of both are used.
"""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose

import halfseen as hs

StepMix = pytest.importorskip("stepmix").StepMix
pytestmark = pytest.mark.slow

N = 120
STEPS = (1, 5, 40)
LOGLIK = 1e-6  # of the summed log-likelihood; the two differ by rounding only
PARAMETERS = 1e-8


def categories(rng, hidden):
    """Three columns with three categories each that lean on the hidden class."""
    lean = (hidden[:, None] + rng.integers(0, 2, (N, 3))) % 3
    return np.where(rng.random((N, 3)) < 0.7, lean, rng.integers(0, 3, (N, 3))).astype(float)


def numbers(rng, hidden):
    return rng.normal(2.0 * hidden[:, None], [1.0, 1.5])


def with_holes(rng, X):
    """Hide cells, but not whole rows: those have no part in a fit of ours, and count in theirs (see below)."""
    hidden = rng.random(X.shape) < 0.2
    return np.where(hidden & ~hidden.all(axis=1, keepdims=True), np.nan, X)


def peer(measurement, X, n_iter, weight=None):
    """Fit StepMix for exactly so many iterations."""
    model = StepMix(
        3, measurement=measurement, n_init=1, max_iter=n_iter, abs_tol=0, rel_tol=0, random_state=1, progress_bar=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it did not converge: on purpose
        return model.fit(X, sample_weight=weight)


def parameters(model, n_categorical, n_numbers):
    """The peer's parameters in the form of `start`."""
    found = model.get_parameters()
    start = {"weights": found["weights"]}
    if n_categorical:
        tables = np.split(found["measurement"]["c"]["pis"], n_categorical, axis=1)
        start |= {f"x{d}": table / table.sum(axis=1, keepdims=True) for d, table in enumerate(tables)}
    if n_numbers:
        means, variances = found["measurement"]["g"]["means"].T, found["measurement"]["g"]["covariances"].T
        pairs = enumerate(zip(means, variances, strict=True), n_categorical)
        start |= {f"x{d}": {"mean": mean, "var": var} for d, (mean, var) in pairs}
    return start


def case(name):
    """Data, the peer's description of it, and how many columns are categories and numbers."""
    rng = np.random.default_rng(7)
    hidden = rng.integers(0, 3, N)
    c, g = categories(rng, hidden), numbers(rng, hidden)
    holes_c, holes_g = with_holes(rng, c), with_holes(rng, g)
    exact = {"model": "gaussian_diag", "n_columns": 2, "reg_covar": 0.0}
    return {
        "categorical": (c, {"c": {"model": "categorical", "n_columns": 3}}, 3, 0),
        "categorical with holes": (holes_c, {"c": {"model": "categorical_nan", "n_columns": 3}}, 3, 0),
        "gaussian": (g, {"g": exact}, 0, 2),
        "gaussian with holes": (holes_g, {"g": {"model": "gaussian_diag_nan", "n_columns": 2}}, 0, 2),
        "mixed": (np.c_[c, g], {"c": {"model": "categorical", "n_columns": 3}, "g": exact}, 3, 2),
        "mixed with holes": (
            np.c_[holes_c, holes_g],
            {
                "c": {"model": "categorical_nan", "n_columns": 3},
                "g": {"model": "gaussian_diag_nan", "n_columns": 2},
            },
            3,
            2,
        ),
    }[name]


CASES = [
    "categorical",
    "categorical with holes",
    "gaussian",
    "gaussian with holes",
    "mixed",
    "mixed with holes",
]


def steps_of_ours(start, X, n_steps, weight=None):
    """Make so many EM steps from the start: one pass more, the last of which evaluates."""
    model = hs.LatentClass(
        3, start=start, prior=None, accelerate=False, stop="iterations", max_iter=n_steps + 1, variance_floor=0.0
    )
    return model.fit(X, sample_weight=weight)


@pytest.mark.parametrize("n_steps", STEPS)
@pytest.mark.parametrize("name", CASES)
def test_same_steps_from_the_same_start(name, n_steps):
    X, measurement, n_categorical, n_numbers = case(name)
    start = parameters(peer(measurement, X, 1), n_categorical, n_numbers)
    theirs = peer(measurement, X, 1 + n_steps)
    ours = steps_of_ours(start, X, n_steps)
    assert_allclose(ours.loglik_, theirs.score(X) * N, atol=LOGLIK, rtol=0)
    assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=PARAMETERS)
    assert_allclose(ours.weights_, theirs.get_parameters()["weights"], atol=PARAMETERS)
    assert ours.n_parameters_ == theirs.n_parameters


@pytest.mark.parametrize("name", CASES)
def test_same_steps_with_weighted_rows(name):
    X, measurement, n_categorical, n_numbers = case(name)
    weight = np.random.default_rng(0).integers(1, 5, N).astype(float)
    start = parameters(peer(measurement, X, 1, weight), n_categorical, n_numbers)
    theirs = peer(measurement, X, 11, weight)
    ours = steps_of_ours(start, X, 10, weight)
    assert_allclose(ours.loglik_, theirs.score(X, sample_weight=weight) * weight.sum(), atol=LOGLIK, rtol=0)
    assert_allclose(ours.weights_, theirs.get_parameters()["weights"], atol=PARAMETERS)


@pytest.mark.parametrize("name", CASES)
def test_our_optimum_is_worth_the_same_in_their_hands(name):
    """Scored by StepMix, the parameters that LatentClass ends with have the log-likelihood that it reports."""
    X, measurement, n_categorical, n_numbers = case(name)
    ours = hs.LatentClass(3, prior=None, random_state=0, n_init=4).fit(X)
    theirs = peer(measurement, X, 1)
    found = theirs.get_parameters()
    frame = ours.to_frame().set_index("column")[list(ours.class_names_)]
    found["weights"] = ours.weights_.copy()
    if n_categorical:
        found["measurement"]["c"]["pis"] = np.concatenate([frame.loc[f"x{d}"] for d in range(n_categorical)]).T
    if n_numbers:
        columns = [frame.loc[f"x{d}"].to_numpy() for d in range(n_categorical, n_categorical + n_numbers)]
        found["measurement"]["g"] = {
            "means": np.stack([column[0] for column in columns], axis=1),
            "covariances": np.stack([column[1] ** 2 for column in columns], axis=1),
        }
    theirs.set_parameters(found)
    assert_allclose(theirs.score(X) * N, ours.loglik_, atol=LOGLIK, rtol=0)
    assert_allclose(theirs.bic(X), ours.bic(), atol=2 * LOGLIK)
    assert_allclose(theirs.relative_entropy(X), ours.entropy(), atol=1e-6)
    assert ours.loglik_ > peer(measurement, X, 300).score(X) * N - 1e-3  # four raced starts, against one long run


def test_rows_without_any_value_count_in_their_n_and_not_in_ours():
    X, measurement, *_ = case("categorical with holes")
    blank = np.concatenate([X, np.full((30, 3), np.nan)])
    one, more = (hs.LatentClass(3, prior=None, random_state=0, n_init=4).fit(rows) for rows in (X, blank))
    assert_allclose(more.loglik_, one.loglik_, rtol=1e-10)
    assert_allclose(more.bic(), one.bic(), rtol=1e-10)
    theirs = peer(measurement, X, 1)
    assert_allclose(theirs.score(blank) * (N + 30), theirs.score(X) * N, rtol=1e-10)
    assert_allclose(theirs.bic(blank) - theirs.bic(X), theirs.n_parameters * np.log((N + 30) / N), rtol=1e-8)
