"""The resolution of a column, the floor that it sets, and components that rest on next to nothing."""

import warnings
from functools import reduce
from operator import add

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning
from typer.testing import CliRunner

import halfseen as hs
from halfseen.app.cli import app
from halfseen.data.resolution import MOST, Seen, step_of
from halfseen.errors import CollapseWarning, ParameterError
from halfseen.leaves import Floored, Gaussian, GaussianParams, Normal, NormalParams, Spherical
from tests.shared_data import shared_data

RNG = np.random.default_rng(0)
STEPS = {
    "whole numbers": (RNG.integers(0, 60, 500) * 1.0, 1.0),
    "tenths": (np.arange(300) / 10, 0.1),
    "halves": (RNG.integers(0, 90, 300) / 2, 0.5),
    "fives, far from 0": (1e6 + 5.0 * RNG.integers(0, 300, 500), 5.0),
    "thousands": (1000.0 * RNG.integers(20, 400, 300), 1000.0),
    "inches in centimetres": (2.54 * RNG.integers(50, 90, 300), 2.54),
    "thirds": (RNG.integers(0, 90, 300) / 3, 1 / 3),
    "even numbers and a half": (np.append(np.arange(0, 60, 2), 7.5), 0.5),
    "an outlier": (np.append(np.arange(50.0), 99999.0), 1.0),
    "single precision": ((np.arange(300) / 10).astype(np.float32).astype(float), 0.1),
    "hundredths near 1e8": (1e8 + np.arange(300) / 100, 0.01),
    "no grid": (RNG.normal(size=500), 0.0),
    "no grid, in single precision": (RNG.normal(size=500).astype(np.float32).astype(float), 0.0),
    "square roots": (np.sqrt(np.arange(100)), 0.0),
    "bands of unequal width: the mean distance": (np.array([5.0, 15, 25, 35, 50, 75, 125]), 1.25 * 20),
    "a scale and a code": (np.array([1.0, 2, 3, 4, 5, 99]), 1.25),
    "two groups of values": (np.array([0.0, 1, 2, 20, 21, 22]), 1.25),
    "logs of bands": (np.log([5.0, 15, 25]), 1.25 * np.log(5) / 2),
    "one number": (np.array([3.0]), 0.0),
}


@pytest.mark.parametrize(("values", "step"), STEPS.values(), ids=STEPS)
def test_the_step_of_a_column(values, step):
    assert_allclose(step_of(np.unique(values)), step, rtol=1e-6)


def test_a_standardised_column_has_the_step_of_what_it_was_made_of():
    values = STEPS["whole numbers"][0]
    assert_allclose(step_of(np.unique((values - values.mean()) / values.std())), 1 / values.std(), rtol=1e-9)


def test_order_and_pieces_do_not_matter():
    cells = np.column_stack([values[:200] for values, _ in STEPS.values() if len(values) >= 200])
    cells[::7, 0] = np.nan
    whole = Seen.of(cells).resolution
    mixed = RNG.permutation(cells)
    for pieces in ([mixed[:13], mixed[13:20], mixed[20:]], [np.repeat(cells, 8, axis=0)]):
        found = reduce(add, map(Seen.of, pieces)).resolution
        assert_array_equal(found.step, whole.step)
        assert_array_equal(found.distinct, whole.distinct)


def test_too_many_values_have_no_resolution():
    many = np.arange(MOST + 1.0)[:, None]
    assert Seen.of(many[:-1]).resolution.step == 1.0
    assert Seen.of(many).resolution.step == 0.0


# ---- the floor ---------------------------------------------------------------------------------------------------


def test_a_floor_by_resolution_is_exact_and_no_collapse():
    leaf = Floored(Gaussian(2, np.zeros(2), np.ones(2), least=np.array([0.5, 0.0])), 1e-2)
    stats = np.zeros(leaf.stats_shape)
    stats[0], stats[2] = 10.0, [[1.0, 20.0], [20.0, 0.001]]
    found = leaf.maximise(stats, leaf.blank())
    assert_allclose(found.var, [[0.5, 2.0], [2.0, 1e-2]])
    assert leaf.collapsed(found) == [1]
    assert leaf.feasible(found)
    assert not leaf.feasible(GaussianParams(found.mean, np.array([[0.4, 2.0], [2.0, 1.0]])))


def test_one_variance_for_all_columns_has_the_geometric_mean():
    leaf = Floored(Spherical(1, np.zeros(2), np.ones(2), least=np.array([0.5, 0.02])), 1e-8)
    stats = np.zeros(leaf.stats_shape)
    stats[0] = 1.0
    found = leaf.maximise(stats, leaf.blank())
    assert_allclose(found.var, 0.1)
    assert leaf.collapsed(found) == []


def test_eigenvalues_in_units_of_the_step():
    least = np.array([0.5, 2.0])
    leaf = Floored(Normal(1, np.zeros(2), np.ones(2), least=least), 1e-8)
    flat = np.outer(np.sqrt(least), np.sqrt(least)) * [[9.0, -9.0], [-9.0, 9.0]]  # no width along (1, 1)
    lifted = leaf.conform(NormalParams(np.zeros((1, 2)), flat[None]), leaf.blank())
    assert_allclose(np.linalg.eigvalsh(lifted.cov[0] / np.sqrt(np.outer(least, least))), [1.0, 18.0])
    assert leaf.collapsed(lifted) == []
    plain = Floored(Normal(1, np.zeros(2), np.ones(2)), 1e-8)
    assert plain.collapsed(plain.conform(NormalParams(np.zeros((1, 2)), flat[None]), plain.blank())) == [0]


def rounded(n_rows=300):
    """Two groups in whole numbers, and a value that many rows share."""
    rng = np.random.default_rng(3)
    X = np.rint(np.concatenate([rng.normal(0, 8, (n_rows, 2)), rng.normal(22, 6, (n_rows, 2))]))
    X[:60] = 60.0
    return X


ESTIMATORS = {
    "classes": lambda **how: hs.LatentClass(4, prior=None, **how),
    "mixture": lambda **how: hs.GaussianMixture(4, **how),
    "diagonal": lambda **how: hs.GaussianMixture(4, covariance_type="diag", **how),
    "spherical": lambda **how: hs.GaussianMixture(4, covariance_type="spherical", **how),
    "lbfgs": lambda **how: hs.GaussianMixture(4, method="lbfgs", **how),
    "chain": lambda **how: hs.HMM(4, **how),
    "joined chain": lambda **how: hs.HMM(2, n_mix=2, covariance_type="diag", **how),
}


@pytest.mark.parametrize("make", ESTIMATORS.values(), ids=ESTIMATORS)
def test_no_density_exceeds_one_over_the_step_and_a_spike_on_a_value_is_no_collapse(make, tmp_path):
    X = rounded()
    with warnings.catch_warnings():
        warnings.simplefilter("error", CollapseWarning)
        warnings.simplefilter("error", ConvergenceWarning)
        model = make(n_init=4, tol=1e-4, random_state=0, max_iter=2000).fit(X)  # the chain on the floor needs 1,430
    assert model.converged_
    assert np.all(np.diff(model.trace_) > -1e-9 * abs(model.objective_))
    assert model.restarts_["n_finalists"] > 0
    sds = np.concatenate([values for name, values in _deviations(model)])
    assert_allclose(sds.min(), 1 / np.sqrt(2 * np.pi), rtol=1e-3)
    hs.save(model, tmp_path / "m.halfseen")
    loaded = hs.load(tmp_path / "m.halfseen")
    assert_array_equal(loaded._recipe.summary["gaussian"]["step"], [1.0, 1.0])
    assert loaded.variance_floor == "resolution"


def _deviations(model):
    frame = pd.DataFrame(model.to_frame())
    return [(row["column"], row.iloc[3:].astype(float)) for _, row in frame.iterrows() if row["value"] == "sd"]


def test_a_number_is_the_plain_floor():
    with pytest.warns(CollapseWarning, match="1e-08 of the column's variance"):
        model = hs.GaussianMixture(2, variance_floor=1e-8, random_state=0).fit(np.array([[5.0], [5.0], [5.0], [30.0]]))
    assert model.covariances_.min() < 1e-5
    with pytest.raises(ParameterError, match=r"variance_floor='low' is not a number .* nor 'resolution'"):
        hs.LatentClass(variance_floor="low").fit(rounded())


def test_columns_without_a_grid_keep_the_plain_floor():
    X = np.random.default_rng(0).normal(size=(60, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        one, other = (
            hs.GaussianMixture(9, n_init=2, random_state=0, **own).fit(X) for own in ({"variance_floor": 1e-8}, {})
        )
    assert_array_equal(one.covariances_, other.covariances_)


def test_files_and_frames_and_weights_agree(tmp_path):
    frame = pd.DataFrame(rounded(), columns=["a", "b"])
    frame.to_csv(tmp_path / "t.csv", index=False)
    how = {"n_components": 3, "n_init": 2, "random_state": 0, "columns": {"a": "gaussian", "b": "gaussian"}}
    known = hs.LatentClass(**how).fit(frame)
    streamed = hs.LatentClass(**how).fit(hs.open_table(tmp_path / "t.csv", memory="1MB"))
    shuffled = hs.LatentClass(**how).fit(frame.sample(frac=1, random_state=1))
    for other in (streamed, shuffled):
        assert_array_equal(other._recipe.summary["gaussian"]["step"], known._recipe.summary["gaussian"]["step"])
        assert other.loglik_ == known.loglik_
    merged = frame.groupby(["a", "b"]).size().reset_index(name="n")
    weighted = hs.LatentClass(**how).fit(merged[["a", "b"]], sample_weight=merged["n"])
    assert_allclose(weighted.loglik_, known.loglik_)


def test_classifiers_take_the_floor_with_every_label_with_some_and_in_pieces():
    X, y = rounded(), np.repeat([0, 1], 300)
    X[y == 1] = 7.0  # one value
    floor = 1 / np.sqrt(2 * np.pi)
    whole = hs.NaiveBayes(prior=None).fit(X, y)
    some = hs.NaiveBayes(prior=None).fit(X, np.where(np.arange(600) % 3, y, -1))
    pieces = hs.NaiveBayes(prior=None)
    for rows in np.array_split(np.random.default_rng(0).permutation(600), 3):
        pieces.partial_fit(X[rows], y[rows], classes=[0, 1])
    for model in (whole, some, pieces):
        assert_allclose([values.iloc[-1] for _, values in _deviations(model)], floor)
    joint = hs.GaussianClassifier().fit(X, y)
    assert_allclose(joint.covariances_[1], np.eye(2) / (2 * np.pi), atol=1e-9)


# ---- few distinct values -----------------------------------------------------------------------------------------

BANDS = {
    "equal": np.arange(5000, 70000, 10000),
    "unequal": np.array([7500, 20000, 30000, 42500, 62500, 87500, 150000]),
    "of multiples of 1,000": np.array([3000, 10000, 15000, 22000, 35000, 50000, 80000]),
}


def banded(bands, n_rows=1000, seed=0):
    """Two classes that differ in incomes, recorded in bands, and in two answers."""
    rng = np.random.default_rng(seed)
    hidden = (rng.random(n_rows) < 0.45).astype(int)
    shares = np.array([[0.30, 0.25, 0.20, 0.10, 0.08, 0.05, 0.02], [0.03, 0.07, 0.10, 0.15, 0.20, 0.25, 0.20]])
    band = (rng.random((n_rows, 1)) > np.cumsum(shares[hidden], axis=1)[:, :-1]).sum(axis=1)
    return pd.DataFrame(
        {
            "income": bands[band] * 1.0,
            "owner": rng.random(n_rows) < np.array([0.2, 0.8])[hidden],
            "car": rng.random(n_rows) < np.array([0.25, 0.7])[hidden],
        }
    )


@pytest.mark.thorough
@pytest.mark.parametrize("logs", [False, True])
@pytest.mark.parametrize("bands", BANDS.values(), ids=BANDS)
def test_bands_do_not_become_classes(bands, logs):
    """With a plain floor a spike on each value pays for itself: 29 classes and more."""
    X = banded(bands, 600)
    X["income"] = np.log(X["income"]) if logs else X["income"]
    how = {"columns": {"income": "gaussian"}, "random_state": 0, "n_init": 4, "tol": 1e-2}
    assert hs.LatentClass("auto", **how).fit(X).n_components_ <= 6
    assert hs.LatentClass(range(1, 10), **how).fit(X).n_components_ <= 6


@pytest.mark.thorough
def test_more_rows_do_not_make_more_classes_of_wide_bands():
    """By the median distance a spike on each of the wide bands paid for itself: 7 classes from this draw."""
    X = banded(BANDS["unequal"], 3000)
    how = {"n_init": 4, "tol": 1e-2, "columns": {"income": "gaussian"}, "random_state": 0}
    assert hs.LatentClass(range(4, 9), **how).fit(X).n_components_ <= 6


@pytest.mark.slow
@pytest.mark.parametrize("n_rows", [500, 1000, 3000])
@pytest.mark.parametrize("bands", BANDS.values(), ids=BANDS)
def test_at_most_six_classes_from_any_draw(bands, n_rows):
    how = {"n_init": 4, "tol": 1e-2, "columns": {"income": "gaussian"}, "random_state": 0}
    for seed in range(5):
        assert hs.LatentClass(range(2, 9), **how).fit(banded(bands, n_rows, seed)).n_components_ <= 6


def test_few_values_of_a_quantity_are_noted_with_advice(tmp_path):
    X = banded(BANDS["unequal"], 300)
    model = hs.LatentClass(2, columns={"income": "gaussian"}, random_state=0).fit(X)
    [note] = [event for event in model.events_ if "distinct values" in event]
    assert note.startswith("column 'income' holds only 7 distinct values")
    assert "columns={'income': 'categorical'}" in note
    hs.report(model, X, tmp_path / "r.html")
    text = (tmp_path / "r.html").read_text()
    assert "holds only 7 distinct values" in text
    assert "use more classes" not in text
    assert not hs.LatentClass(2, random_state=0).fit(X).events_  # as categories, which is what the rule makes of them
    tiny = np.random.default_rng(0).normal(size=(20, 1))  # 20 values, each once
    assert not [event for event in hs.GaussianMixture(1).fit(tiny).events_ if "distinct" in event]


# ---- spurious components -----------------------------------------------------------------------------------------


def test_a_component_on_two_galaxies_is_flagged(tmp_path):
    X = pd.read_csv(shared_data("galaxies/galaxies.csv")).select_dtypes("number").iloc[:, -1:]
    X = X / 1000 if X.max().item() > 1000 else X
    model = hs.GaussianMixture(5, random_state=0).fit(X)
    assert_allclose(model.bic(), 441.836, atol=0.01)
    [event] = model.events_
    assert "variance 0.00185" in event
    assert "on 2 rows" in event
    assert "may be spurious" in event
    assert "fewer classes" in event
    hs.report(model, X, tmp_path / "r.html")
    assert "may be spurious" in (tmp_path / "r.html").read_text()
    assert hs.GaussianMixture(3, random_state=0).fit(X).events_ == []


def spurious_rows(n_rows=200):
    rng = np.random.default_rng(1)
    X = rng.normal(0, 10, (n_rows, 2))
    X[:5] = 200 + rng.normal(0, 0.01, (5, 2))
    return X


SPURIOUS = {
    "classes": lambda X: hs.LatentClass(2, prior=None, random_state=0).fit(X),
    "full": lambda X: hs.GaussianMixture(2, random_state=0).fit(X),
    "classifier": lambda X: hs.GaussianClassifier().fit(X, ["odd"] * 5 + ["rest"] * (len(X) - 5)),
    "chain": lambda X: hs.HMM(2, random_state=0).fit(X),
    "mixed chain": lambda X: hs.HMM(1, n_mix=2, covariance_type="diag", random_state=0).fit(X),
}


@pytest.mark.parametrize("fit", SPURIOUS.values(), ids=SPURIOUS)
def test_a_small_ratio_of_variances_is_flagged(fit):
    found = fit(spurious_rows())
    [event] = [event for event in found.events_ if "spurious" in event]
    assert "on 5 rows" in event
    assert "times the largest" in event


def test_three_rows_of_two_columns_are_flagged_whatever_their_variance():
    X = spurious_rows()
    X[:5] = X[5:10] + 80
    model = hs.GaussianClassifier().fit(X, ["odd"] * 3 + ["rest"] * (len(X) - 3))
    [event] = model.events_
    assert event.startswith("class 'odd': smallest eigenvalue ")
    assert "on 3 rows for 2 columns" in event
    assert hs.GaussianClassifier(covariance_type="tied").fit(X, ["odd"] * 3 + ["rest"] * (len(X) - 3)).events_ == []


# ---- at the command line -----------------------------------------------------------------------------------------


def halfseen(*arguments):
    done = CliRunner().invoke(app, list(map(str, arguments)), catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done


def test_the_command_line_takes_the_floor_and_prints_the_notes(tmp_path):
    data, model = tmp_path / "t.csv", tmp_path / "m.halfseen"
    banded(BANDS["unequal"], 300).to_csv(data, index=False)
    how = ("--columns", "income=gaussian", "-k", 2, "--seed", 0, "-o", model)
    done = halfseen("fit", data, *how)
    assert "column 'income' holds only 7 distinct values" in done.stderr
    assert "--columns income=categorical" in done.stderr
    assert hs.load(model).variance_floor == "resolution"
    halfseen("fit", data, *how, "--variance-floor", 0.1)
    assert hs.load(model)._recipe.variance_floor == 0.1
    wrong = CliRunner().invoke(app, ["fit", str(data), "--variance-floor", "2"])
    assert wrong.exit_code == 2
    assert "--variance-floor 2 is not a number of at least 0 and below 1, nor 'resolution'" in wrong.output


@pytest.mark.parametrize("model", ["classes", "gaussian"])
def test_the_command_line_says_what_unlabelled_rows_count(model, tmp_path):
    X = rounded(60)
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(y=np.where(np.arange(120) % 3, "", np.repeat(["n", "p"], 60)))
    frame.to_csv(tmp_path / "t.csv", index=False)
    done = halfseen("fit", tmp_path / "t.csv", "--model", model, "--target", "y", "--seed", 0)
    assert "unlabelled rows" in done.stderr
    assert "cross-validated accuracy" in done.stderr
    asked = halfseen("fit", tmp_path / "t.csv", "--model", model, "--target", "y", "--unlabeled-weight", 0.5)
    assert "unlabelled rows count 0.5 of a labelled one" in asked.stderr
