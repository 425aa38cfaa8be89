"""What a model leaves open, checked by hand: residuals, holes, hidden cells, odd rows, cross-validation."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.stats import chi2_contingency
from sklearn.exceptions import NotFittedError
from sklearn.metrics import confusion_matrix, log_loss

import halfseen as hs
from halfseen.analysis.contrast import contrasts
from halfseen.analysis.missing_values import missing_by_class, missing_values
from halfseen.analysis.residuals import residuals
from halfseen.analysis.rows import surprise, surprising_rows, uncertain_rows
from halfseen.analysis.scored_table import look
from halfseen.analysis.validation import (
    Validated,
    calibration,
    calibration_error,
    confusion,
    cost_curve,
    costs,
    cross_validate,
    reject_curve,
)
from halfseen.errors import DataError, ParameterError
from halfseen.kinds.wording import spread

EVEN = {0: [0.5], 1: [0.5]}


def penguins():
    table = hs.load_penguins()
    return table.drop(columns=["species", "year"]), table["species"]


# ------------------------------------------------------------------------------------------------------------ residuals


def test_residual_of_two_categories_is_pearsons_over_df():
    model = hs.LatentClass.from_params([1.0], {"a": EVEN, "b": {0: [0.2], 1: [0.3], 2: [0.5]}})
    counts = np.array([[15, 10, 25], [5, 20, 25]])
    X = [[i, j] for i in range(2) for j in range(3) for _ in range(counts[i, j])]
    expected = 100 * np.outer([0.5, 0.5], [0.2, 0.3, 0.5])
    [pair] = residuals(model, X)
    assert pair.df == 2
    assert_allclose(pair.value, ((counts - expected) ** 2 / expected).sum() / 2, rtol=1e-12)
    assert_allclose(pair.strength, np.sqrt(((counts - expected) ** 2 / expected).sum() / 100), rtol=1e-12)


def test_expected_table_is_that_of_the_model_with_two_classes():
    model = hs.LatentClass.from_params(
        [0.4, 0.6], {"a": {0: [0.9, 0.2], 1: [0.1, 0.8]}, "b": {0: [0.7, 0.1], 1: [0.3, 0.9]}}
    )
    joint = np.einsum("k,ki,kj->ij", [0.4, 0.6], [[0.9, 0.1], [0.2, 0.8]], [[0.7, 0.3], [0.1, 0.9]])
    counts = (1000 * joint).round().astype(int)
    X = [[i, j] for i in range(2) for j in range(2) for _ in range(counts[i, j])]
    assert residuals(model, X)[0].value < 1e-3  # the table is what the model expects, so nothing is left


def test_residual_of_two_numbers_is_the_squared_correlation_times_rows():
    model = hs.LatentClass.from_params([1.0], {"a": {"mean": [1], "sd": [2]}, "b": {"mean": [0], "sd": [1]}})
    X = np.array([[3.0, 1], [2, 1], [-1, -0.5], [1, 0.5], [2, -1], [0.5, np.nan]])
    z, u = (X[:5, 0] - 1) / 2, X[:5, 1]
    [pair] = residuals(model, X)
    assert_allclose(pair.strength, z @ u / 5, rtol=1e-12)
    assert_allclose(pair.value, 5 * (z @ u / 5) ** 2, rtol=1e-12)
    assert pair.n_rows == 5  # the last row has one of the two only


def test_residual_of_a_category_and_a_number():
    """One binary column with p = 1/2: S = (half the difference of sums), C = n (1/4, -1/4; -1/4, 1/4)."""
    model = hs.LatentClass.from_params([1.0], {"a": EVEN, "b": {"mean": [0], "sd": [1]}})
    X = [[0, -1.0]] * 4 + [[1, 1.0]] * 4
    [pair] = residuals(model, X)
    assert pair.df == 1
    assert_allclose(pair.value, 8.0, rtol=1e-9)  # the two say the same: all of the eight rows' variance
    assert "b is" in pair.detail
    assert "where a =" in pair.detail


def test_residuals_by_brute_force_over_classes_and_rows():
    X, _ = penguins()
    model = hs.LatentClass(3, random_state=0, n_init=2).fit(X)
    resp, params = model.predict_proba(X), model.params_
    found = {(pair.first, pair.second): pair for pair in residuals(model, X)}
    a, b = X["bill_length_mm"].to_numpy(), X["body_mass_g"].to_numpy()
    total = mass = 0.0
    for n in np.flatnonzero(~np.isnan(a)):
        for k in range(3):
            z = (a[n] - params["bill_length_mm"]["mean"][k]) / params["bill_length_mm"]["sd"][k]
            u = (b[n] - params["body_mass_g"]["mean"][k]) / params["body_mass_g"]["sd"][k]
            total, mass = total + resp[n, k] * z * u, mass + resp[n, k]
    pair = found["bill_length_mm", "body_mass_g"]
    assert_allclose(pair.value, total**2 / mass, rtol=1e-9)
    observed = pd.crosstab(X["island"], X["sex"])
    both = X["sex"].notna().to_numpy()
    islands = np.stack([params["island"][name] for name in observed.index])
    sexes = np.stack([params["sex"][name] for name in observed.columns])
    expected = np.einsum("k,ik,jk->ij", resp[both].sum(axis=0), islands, sexes)
    assert_allclose(
        found["island", "sex"].value, ((observed - expected) ** 2 / expected).to_numpy().sum() / 2, rtol=1e-9
    )


def test_independent_columns_leave_about_one():
    model = hs.LatentClass.from_params(
        [0.5, 0.5],
        {
            "a": {0: [0.8, 0.3], 1: [0.2, 0.7]},
            "b": {"mean": [0, 1], "sd": [1, 2]},
            "c": {"rate": [2, 5]},
            "d": {"x": [0.2, 0.5], "y": [0.3, 0.4], "z": [0.5, 0.1]},
        },
    )
    X, _ = model.sample(20_000, random_state=1)
    values = [pair.value for pair in residuals(model, X)]
    assert len(values) == 6
    assert max(values) < 8  # chi-square over df: above 8 one time in 200
    assert residuals(model, X, max_rows=500)[0].n_rows == 500


def test_weights_count_as_rows():
    model = hs.LatentClass.from_params(
        [0.5, 0.5], {"a": {0: [0.8, 0.3], 1: [0.2, 0.7]}, "b": {0: [0.6, 0.1], 1: [0.4, 0.9]}}
    )
    X = [[0, 0], [0, 1], [1, 0], [1, 1]]
    [once] = residuals(model, X * 1, sample_weight=[3, 2, 4, 1])
    [often] = residuals(model, [X[0]] * 3 + [X[1]] * 2 + [X[2]] * 4 + [X[3]])
    assert_allclose(once[2], often[2], rtol=1e-12)


# ---------------------------------------------------------------------------------------------------------------- holes


def test_holes_and_patterns_by_hand():
    found = missing_values([["a", None, 1.5], [None, None, 2.5], ["b", None, 3.5], ["b", 2, None]])
    assert_allclose(found.share, [0.25, 0.75, 0.25])
    assert found.n_missing == 5
    assert [(pattern.missing, pattern.n_rows) for pattern in found.patterns] == [
        (("x1",), 2.0),
        (("x2",), 1.0),
        (("x0", "x1"), 1.0),
    ]


def test_patterns_of_more_than_eight_columns():
    X = np.zeros((3, 20))
    X[0, 19] = X[1, 0] = X[2, 19] = np.nan
    assert [pattern.n_rows for pattern in missing_values(X).patterns] == [2.0, 1.0]


def test_holes_by_class_is_the_usual_chi_square():
    model = hs.LatentClass.from_params(
        [0.5, 0.5], {"x": {"a": [1, 0], "b": [0, 1]}, "y": {0: [0.5, 0.5], 1: [0.5, 0.5]}}
    )
    X = [["a", 0]] * 30 + [["a", None]] * 10 + [["b", 1]] * 20 + [["b", None]] * 20
    [found] = missing_by_class(model, X)
    table = chi2_contingency([[10, 20], [30, 20]], correction=False)
    assert_allclose([found.chi2, found.p, found.df], [table.statistic, table.pvalue, table.dof], rtol=1e-9)


# --------------------------------------------------------------------------------------------------------- hidden cells


def test_hidden_cells_of_a_model_that_knows_the_answer():
    """x tells y and y tells x, in two classes that do not overlap."""
    X = pd.DataFrame({"x": ["a", "b"] * 100, "y": [1.0, 9.0] * 100})
    X.loc[::4, "y"] += 0.5
    model = hs.LatentClass(2, random_state=0).fit(X)
    found = hs.hidden_cells(model, X, random_state=3)
    by_column = {column.column: column for column in found.columns}
    assert found.refitted
    assert by_column["x"].error < 0.1  # only where both cells of a row were hidden
    assert 0.3 < by_column["x"].plain < 0.7
    assert by_column["y"].error < 0.4
    assert 3 < by_column["y"].plain < 5
    assert "fitted again" in str(found)


@pytest.mark.parametrize("shape", ["full", "tied"])
def test_hidden_cells_are_guessed_again_by_a_model_of_the_same_shape(shape):
    """Columns that follow from each other: without their covariance the guess is the mean."""
    x = np.random.default_rng(0).normal(size=(200, 1))
    X = np.hstack([x, -x, 2 * x]) + 0.1 * np.random.default_rng(1).normal(size=(200, 3))
    y = ["a"] * 100 + ["b"] * 100
    classifier = hs.GaussianClassifier(covariance_type=shape).fit(X, y)
    for check in (
        hs.hidden_cells(hs.GaussianMixture(1, covariance_type=shape).fit(X), X),
        hs.hidden_cells(classifier, X, y),
    ):
        assert check.refitted
        assert all(column.error < 0.3 * column.plain for column in check.columns)


def test_hidden_cells_are_known_ones_and_about_as_many_as_asked():
    X, _ = penguins()
    found = hs.hidden_cells(hs.LatentClass(2, random_state=0, n_init=2).fit(X), X, share=0.3, refit=False)
    known = X.notna().to_numpy().sum()
    assert 0.25 * known < found.n_cells < 0.35 * known
    assert not found.refitted
    assert "may have seen" in found.note
    assert list(found.to_frame()["column"]) == list(X.columns)


def test_hidden_cells_are_guessed_from_the_nearest_centre():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3)) + rng.choice([-6.0, 6.0], (300, 1))
    model = hs.KMeans(2, random_state=0).fit(X)
    found = hs.hidden_cells(model, X, share=0.2, random_state=1)
    assert found.refitted
    assert "fitted again" in found.note
    for column in found.columns:  # half a normal's mean distance, beside that of two far apart
        assert column.error == pytest.approx(np.sqrt(2 / np.pi), abs=0.2)
        assert column.plain == pytest.approx(6.0, abs=0.5)
    asis = hs.hidden_cells(model, X, share=0.2, refit=False, random_state=1)
    assert not asis.refitted
    assert [column.n_cells for column in asis.columns] == [column.n_cells for column in found.columns]
    assert "not fitted" in hs.hidden_cells(hs.KMeans.from_params(model.cluster_centers_), X).note
    assert "fitted to another table" in hs.hidden_cells(model, X[:200]).note
    assert str(hs.hidden_cells(model, X.tolist(), share=0.2, random_state=1)) == str(found)
    with pytest.raises(ParameterError, match="no labels to learn from"):
        hs.hidden_cells(model, X, np.zeros(300))


def test_hidden_cells_say_why_there_is_no_refit():
    X, y = penguins()
    classifier = hs.NaiveBayes().fit(X, y)
    assert "no labels" in hs.hidden_cells(classifier, X).note
    assert hs.hidden_cells(classifier, X, y).refitted
    with pytest.raises(ParameterError, match="needs the labels"):
        hs.hidden_cells(classifier, X, refit=True)
    built = hs.LatentClass.from_params([0.5, 0.5], {"a": {0: [0.9, 0.2], 1: [0.1, 0.8]}})
    assert "not fitted" in hs.hidden_cells(built, [[0], [1]] * 30).note
    elsewhere = hs.hidden_cells(classifier, X[:200], y[:200])
    assert not elsewhere.refitted
    assert elsewhere.note.endswith("which was fitted to another table.")
    assert hs.hidden_cells(classifier, X[:1]).columns == ()
    with pytest.raises(ParameterError, match=r"share=1\.5"):
        hs.hidden_cells(classifier, X, share=1.5)


def test_columns_that_can_spare_no_cell_are_left_alone():
    few = [*np.arange(0.5, 9), *[None] * 31]
    X = pd.DataFrame({"few": few, "many": [0.5, 1.5] * 20, "constant": ["c"] * 40}).astype({"few": float})
    found = hs.hidden_cells(hs.LatentClass(1).fit(X), X, share=0.5)
    assert [column.column for column in found.columns] == ["many"]


def test_holes_are_not_hidden():
    X = np.random.default_rng(0).normal(size=(200, 2))
    X[:150, 0] = np.nan
    first, second = hs.hidden_cells(hs.LatentClass(1).fit(X), X, share=0.2).columns
    assert 0 < first.n_cells < 25 < second.n_cells
    assert np.isfinite([first.error, first.plain]).all()


# ----------------------------------------------------------------------------------------------------------------- rows


def test_surprise_of_a_number_is_its_centred_log_density():
    """E log p = -log(2 pi e) / 2, Var = 1/2: surprise = (z^2 - 1) / 2 / sqrt(1/2)."""
    model = hs.LatentClass.from_params([1.0], {"x": {"mean": [5], "sd": [2]}})
    z = np.array([0.0, 1.0, 3.0])
    assert_allclose(surprise(look(model, (5 + 2 * z)[:, None])), (z**2 - 1) / 2 / np.sqrt(0.5), atol=1e-12)


def test_surprise_of_a_category_and_of_a_count():
    model = hs.LatentClass.from_params([1.0], {"a": {0: [0.9], 1: [0.1]}})
    mean = 0.9 * np.log(0.9) + 0.1 * np.log(0.1)
    sd = np.sqrt(0.9 * np.log(0.9) ** 2 + 0.1 * np.log(0.1) ** 2 - mean**2)
    assert_allclose(surprise(look(model, [[1], [0]])), (mean - np.log([0.1, 0.9])) / sd, rtol=1e-9)
    counts = hs.LatentClass.from_params([1.0], {"n": {"rate": [3]}})
    X, _ = counts.sample(50_000, random_state=0)
    found = surprise(look(counts, X))
    assert abs(found.mean()) < 0.02
    assert abs(found.std() - 1) < 0.02


def test_rows_with_and_without_holes_are_on_one_scale():
    model = hs.LatentClass.from_params([1.0], {name: {"mean": [0], "sd": [1]} for name in "abcdefgh"})
    X, _ = model.sample(4000, random_state=0)
    X = X.astype(float)
    X[:2000, 2:] = np.nan
    found = surprise(look(model, X))
    assert abs(found[:2000].mean() - found[2000:].mean()) < 0.1
    assert_allclose([found[:2000].std(), found[2000:].std()], 1, atol=0.1)


def test_the_odd_row_is_found_and_blamed_on_its_cell():
    X, _ = penguins()
    X.loc[17, "body_mass_g"] = 39.0  # somebody typed kilograms, nearly
    found = surprising_rows(hs.LatentClass(3, random_state=0, n_init=4).fit(X), X, top=3)
    assert found[0].row == 17
    assert found[0].tail == 0.0
    assert "body_mass_g = 39" in found[0].why


def test_uncertain_rows_come_in_order_and_never_when_all_is_clear():
    model = hs.LatentClass.from_params([0.5, 0.5], {"x": {"mean": [0, 4], "sd": [1, 1]}})
    found = uncertain_rows(model, [[0.0], [2.1], [1.9], [2.0], [4.0], [None]], top=3)
    assert [row.row for row in found][:2] == [3, 5]
    assert found[1].why == "nothing was observed in this row"
    assert uncertain_rows(model, [[-3.0], [9.0]]) == []
    assert uncertain_rows(hs.LatentClass.from_params([1.0], {"x": {"mean": [0], "sd": [1]}}), [[0.0]]) == []


def test_impossible_rows_are_the_most_surprising():
    model = hs.LatentClass.from_params(
        [0.5, 0.5], {"x": {"a": [1, 1], "b": [0, 0]}, "y": {0: [0.5, 0.1], 1: [0.5, 0.9]}}
    )
    found = surprising_rows(model, [["a", 0], ["b", 1], ["a", 1]], top=1)
    assert found[0].row == 1
    assert found[0].surprise == np.inf


# ----------------------------------------------------------------------------------------------------- cross-validation


def judged(truth, proba, weight=None):
    proba = np.asarray(proba, dtype=float)
    weight = np.ones(len(truth)) if weight is None else np.asarray(weight, dtype=float)
    names = tuple(f"c{i}" for i in range(proba.shape[1]))
    return Validated(names, np.asarray(truth), proba, weight, np.arange(len(truth)), 2, len(truth))


def test_figures_are_scikit_learns():
    rng = np.random.default_rng(0)
    proba = rng.dirichlet(np.ones(3), size=200)
    truth = rng.integers(0, 3, 200)
    found = judged(truth, proba, rng.random(200))
    assert_allclose(confusion(found), confusion_matrix(truth, proba.argmax(1), sample_weight=found.weight), rtol=1e-12)
    assert_allclose(found.log_loss, log_loss(truth, proba, sample_weight=found.weight), rtol=1e-9)
    assert_allclose(found.accuracy, np.average(proba.argmax(1) == truth, weights=found.weight), rtol=1e-12)


def test_calibration_by_hand():
    found = judged([0, 1, 0, 0], [[0.55, 0.45], [0.55, 0.45], [0.92, 0.08], [0.94, 0.06]])
    assert_allclose([tuple(part) for part in calibration(found)], [(0.55, 0.5, 2), (0.93, 1.0, 2)])
    assert_allclose(calibration_error(found), (0.05 * 2 + 0.07 * 2) / 4)


def test_reject_curve_runs_from_the_surest_row_to_all():
    found = judged([0, 0, 1], [[0.9, 0.1], [0.8, 0.2], [0.6, 0.4]])
    curve = reject_curve(found)
    assert_allclose([curve[0].coverage, curve[0].accuracy], [1 / 3, 1.0])
    assert_allclose([curve[-1].coverage, curve[-1].accuracy, curve[-1].cost], [1.0, 2 / 3, 1 / 3])
    coverage = [point.coverage for point in curve]
    assert coverage == sorted(coverage)


def test_costs_by_hand():
    found = judged([0, 1, 1], [[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]])
    assert_allclose(costs(found, [[0, 5], [1, 0]]), [0.0, 5 / 3, 1 / 3])
    one_each = cost_curve(found)[20]
    assert_allclose([one_each.ratio, one_each.decided, one_each.most_probable], [1, 1 / 6, 1 / 6])
    with pytest.raises(ParameterError, match="two classes; there are 3"):
        cost_curve(judged([0, 1, 2], np.eye(3)))


def test_cross_validation_predicts_rows_by_models_that_did_not_see_them():
    """Labels without any relation to the table: as right as chance, though a fit would learn some by heart."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 25)), np.array(["no", "yes"] * 30)
    model = hs.NaiveBayes().fit(X, y)
    assert model.score(X, y) > 0.75
    found = cross_validate(model, X, y)
    assert abs(found.accuracy - 0.5) < 0.2
    assert found.folds == 5
    assert found.rows.tolist() == list(range(60))


def test_cross_validation_judges_labelled_rows_only():
    X, y = penguins()
    partly = y.where(np.arange(len(y)) % 3 == 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = hs.NaiveBayes(guard=False).fit(X, partly)
    found = cross_validate(model, X, partly)
    assert found.n_labelled == len(found.truth) == partly.notna().sum()
    assert found.accuracy > 0.9
    assert len(cross_validate(model, X, partly, max_rows=100).truth) < 60


def test_cross_validation_says_when_it_cannot_be():
    X, y = [[0.5], [1.5], [2.5]], ["a", "a", "b"]
    with pytest.raises(DataError, match="'b': 1"):
        cross_validate(hs.NaiveBayes().fit(X, y), X, y)
    with pytest.raises(ParameterError, match="LatentClass has no labels"):
        cross_validate(hs.LatentClass(1).fit([[0.5], [1.5]]), [[0.5]], ["a"])


# ---------------------------------------------------------------------------------------------------------------- words


def test_contrasts_are_standardised():
    model = hs.LatentClass.from_params([0.5, 0.5], {"x": {"mean": [0, 4], "sd": [1.5, 1.5]}, "n": {"rate": [1, 3]}})
    number, count = contrasts(model)
    assert_allclose(number.contrast, [-2 / 2.5, 2 / 2.5])  # variance 1.5^2 + 2^2 = 2.5^2
    assert_allclose(count.contrast, [-1 / np.sqrt(3), 1 / np.sqrt(3)])
    assert count.shown == ["1", "3"]
    category = contrasts(hs.LatentClass.from_params([0.5, 0.5], {"a": {0: [0.1, 0.3], 1: [0.9, 0.7]}}))[0]
    assert_allclose(category.contrast, [-0.1 / 0.4, 0.1 / 0.4])  # sqrt(0.2 * 0.8) = 0.4


@pytest.mark.parametrize(
    ("mean", "sd", "shown"),
    [(-0.001, 1.04, "0.0 ± 1.0"), (1234.5, 99.6, "1,234 ± 100"), (5, 0.0, "5 ± 0"), (1e-9, 1e-10, "1e-09 ± 1e-10")],
)
def test_means_have_the_digits_that_their_spread_warrants(mean, sd, shown):
    assert spread(mean, sd) == shown


def test_unfitted_and_foreign_models_are_refused():
    with pytest.raises(NotFittedError):
        residuals(hs.LatentClass(2), [[0, 1]])
    with pytest.raises(ParameterError, match="str is not a fitted mixture over a table"):
        uncertain_rows("model", [[0, 1]])
    with pytest.raises(ParameterError, match="BayesNet is not a fitted mixture over a table, KMeans or HMM"):
        hs.hidden_cells(hs.BayesNet([]), [[0, 1]])
    for model in (hs.LatentClass(2), hs.KMeans(2), hs.HMM(2)):
        with pytest.raises(NotFittedError):
            hs.hidden_cells(model, [[0, 1]])


def test_columns_that_are_jointly_normal_leave_no_residual():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 1)) + 0.3 * rng.normal(size=(200, 2))
    assert len(residuals(hs.GaussianMixture(1, covariance_type="diag").fit(X), X)) == 1
    assert residuals(hs.GaussianMixture(1).fit(X), X) == []


def test_refit_is_yes_no_or_auto():
    X = np.random.default_rng(0).normal(size=(60, 2))
    for model in (hs.KMeans(2, random_state=0), hs.GaussianMixture(2, random_state=0)):
        with pytest.raises(ParameterError, match="refit='never' is not True or False"):
            hs.hidden_cells(model.fit(X), X, refit="never")
