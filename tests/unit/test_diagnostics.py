"""The fit block: figures by hand, and where they are refused."""

import json

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.special import entr
from scipy.stats import chi2
from typer.testing import CliRunner

import halfseen as hs
from halfseen.app.cli import app
from halfseen.errors import DataError, ParameterError

MODEL = hs.LatentClass.from_params(
    [0.6, 0.4], {"a": {"x": [0.9, 0.2], "y": [0.1, 0.8]}, "b": {"x": [0.7, 0.3], "y": [0.3, 0.7]}}
)
ROWS = pd.DataFrame([["x", "x"]] * 5 + [["x", "y"]] * 2 + [["y", "y"]] * 3, columns=["a", "b"])
JOINT = {("x", "x"): (0.378, 0.024), ("x", "y"): (0.162, 0.056), ("y", "y"): (0.018, 0.224), ("y", "x"): (0.042, 0.096)}


def test_frequencies_of_patterns_by_hand():
    found = hs.diagnostics(MODEL, ROWS).pattern_fit
    expected = {key: 10 * sum(both) for key, both in JOINT.items()}
    observed = {("x", "x"): 5, ("x", "y"): 2, ("y", "y"): 3, ("y", "x"): 0}
    g2 = 2 * sum(o * np.log(o / expected[key]) for key, o in observed.items() if o)
    x2 = sum((o - expected[key]) ** 2 / expected[key] for key, o in observed.items())
    assert_allclose((found.g2, found.x2), (g2, x2), rtol=1e-12)
    assert (found.n_cells, found.df_by_cells, found.df_by_rows) == (4, 4 - 1 - 5, 3 - 5)


def test_classification_and_entropies_by_hand():
    found = hs.diagnostics(MODEL, ROWS)
    posterior = np.array([np.array(JOINT[tuple(row)]) / sum(JOINT[tuple(row)]) for row in ROWS.to_numpy()])
    modal = posterior.argmax(axis=1)
    table = np.array([posterior[modal == k].sum(axis=0) for k in (0, 1)])
    assert_allclose(found.classification, table)
    assert_allclose(found.average_posterior, np.diagonal(table) / table.sum(axis=1))
    assert_allclose(found.classification_error, 1 - np.trace(table) / 10)
    doubt = entr(posterior).sum()
    assert_allclose(found.entropy, 1 - doubt / (10 * np.log(2)))
    assert_allclose(found.entropy_r2, 1 - doubt / 10 / entr([0.6, 0.4]).sum())
    p, n = 5, 10
    assert_allclose(found.criteria["caic"], found.criteria["bic"] + p)
    assert_allclose(found.criteria["awe"], -2 * (found.loglik - doubt) + 2 * p * (1.5 + np.log(n)))


def test_a_weight_is_a_repetition():
    merged = ROWS.drop_duplicates()
    weight = [5.0, 2.0, 3.0]
    one, other = hs.diagnostics(MODEL, ROWS), hs.diagnostics(MODEL, merged, weight)
    found, expected = other.to_dict(), one.to_dict()
    assert found.pop("missing") == expected.pop("missing")
    [own], [its] = found.pop("residuals"), expected.pop("residuals")
    assert_allclose(own["value"], its["value"], rtol=1e-12)
    for name, value in expected.items():
        assert_allclose(found[name], value, rtol=1e-12, err_msg=name)


def test_criteria_are_those_of_the_model():
    X = hs.load_votes().drop(columns="party")
    model = hs.LatentClass(2, random_state=0, n_init=2).fit(X)
    found = hs.diagnostics(model, X)
    for name in ("aic", "bic", "sabic", "icl"):
        assert_allclose(found.criteria[name], getattr(model, name)(), rtol=1e-10)
    assert_allclose(found.entropy, model.entropy(), rtol=1e-10)


def test_patterns_as_a_table():
    table = hs.diagnostics(MODEL, ROWS).patterns()
    assert table["observed"].tolist() == [5.0, 3.0, 2.0]
    assert_allclose(table["expected"], [4.02, 2.42, 2.18])
    assert table["a"].tolist() == ["x", "y", "x"]


@pytest.mark.parametrize(
    ("X", "why"),
    [
        (pd.DataFrame({"a": ["x", None], "b": ["x", "y"]}), "1 rows have some"),
        (pd.DataFrame({"a": ["x", "y"], "b": ["x", "y"], "size": [1.5, 2.5]}), "size is not"),
    ],
)
def test_no_frequencies_with_missing_values_or_numbers(X, why):
    model = MODEL
    if "size" in X:
        given = {"a": {"x": [0.9], "y": [0.1]}, "b": {"x": [0.7], "y": [0.3]}, "size": {"mean": [2.0], "sd": [1.0]}}
        model = hs.LatentClass.from_params([1.0], given)
    found = hs.diagnostics(model, X)
    assert found.pattern_fit is None
    assert why in str(found)
    with pytest.raises(DataError, match=why):
        found.patterns()


def test_nothing_observed_is_refused():
    with pytest.raises(DataError, match="no row of weight above 0"):
        hs.diagnostics(MODEL, pd.DataFrame({"a": [None, None], "b": [None, None]}))


def test_other_models_are_refused():
    model = hs.KMeans(1).fit([[1.0], [2.0]])
    with pytest.raises(ParameterError, match="not a fitted mixture"):
        hs.diagnostics(model, [[1.0]])


@pytest.mark.thorough
def test_the_command_line(tmp_path):
    path = tmp_path / "votes.halfseen"

    def run(*arguments, code=0):
        done = CliRunner().invoke(app, list(map(str, arguments)), catch_exceptions=False)
        assert done.exit_code == code, done.output
        return done

    run("fit", "example:votes", "--ignore", "party", "-k", 2, "--restarts", 2, "-o", path)
    printed = run("score", path, "example:votes", "--details").stdout
    assert "average posterior" in printed
    assert "G2 and X2: only without missing values" in printed
    found = json.loads(run("score", path, "example:votes", "--details", "--json").stdout)
    assert_allclose(found["bic"], hs.load(path).bic(), rtol=1e-10)
    assert found["residuals"][0]["p"] is None
    few = ("score", path, "example:votes", "--details", "--bootstrap", 2)
    assert "   p 0.333   " in run(*few).stdout
    assert "add --details" in run("score", path, "example:votes", "--bootstrap", 2, code=2).stderr


def related(n_rows=200, seed=0):
    """Two classes; of four columns the last repeats the third in half of the rows."""
    rng = np.random.default_rng(seed)
    z = rng.integers(0, 2, n_rows)
    frame = pd.DataFrame({f"q{d}": np.where(rng.random(n_rows) < 0.2 + 0.6 * z, "y", "n") for d in range(5)})
    frame["q4"] = np.where(rng.random(n_rows) < 0.5, frame["q3"], frame["q4"])
    return frame.where(rng.random(frame.shape) > 0.05)


def test_p_values_of_residuals():
    X = related()
    model = hs.LatentClass(2, prior=None, random_state=0).fit(X)
    plain = hs.diagnostics(model, X)
    assert {pair.p for pair in plain.residuals} == {None}
    one, two = (hs.diagnostics(model, X, bootstrap=39, random_state=0, n_jobs=jobs) for jobs in (1, 2))
    assert one.residuals == two.residuals
    assert_allclose([pair.value for pair in one.residuals], [pair.value for pair in plain.residuals], atol=1e-3)
    by_pair = {(pair.first, pair.second): pair.p for pair in one.residuals}
    assert by_pair["q3", "q4"] == 1 / 40
    assert np.mean([p for pair, p in by_pair.items() if pair != ("q3", "q4")]) > 0.2
    assert "p 0.025   q3 with q4" in str(one)
    assert one.to_dict()["residuals"][0]["p"] == one.residuals[0].p


def test_p_values_are_right_where_nothing_is_left():
    """Tables of one class: p-values of a residual with one degree of freedom are those of chi-square."""
    rng = np.random.default_rng(1)
    for n_both in (50, 58):
        cells = [["a", "u"]] * n_both + [["a", "v"]] * (100 - n_both) + [["b", "u"]] * (100 - n_both)
        X = cells + [["b", "v"]] * n_both
        model = hs.LatentClass(1, prior=None).fit(X)
        [pair] = hs.diagnostics(model, X, bootstrap=399, random_state=rng).residuals
        assert_allclose(pair.p, chi2.sf(pair.value, 1), atol=0.08)  # of 400 tables, and counts are whole numbers


def test_patterns_of_missing_values_are_shown():
    X = pd.DataFrame({"a": ["x", "y", None, "x"] * 5, "b": ["u", None, None, "v"] * 5, "c": ["s", "t", "s", "t"] * 5})
    shown = str(hs.diagnostics(hs.LatentClass(1, prior=None).fit(X), X))
    assert "patterns of missing values (25.0% of all cells):" in shown
    assert "        10 rows  complete\n         5 rows  b\n         5 rows  a, b" in shown
    complete = X[["c"]]
    assert "missing" not in str(hs.diagnostics(hs.LatentClass(1, prior=None).fit(complete), complete))


def test_residuals_of_a_classifier_have_no_p_values():
    X = related()
    model = hs.NaiveBayes().fit(X, np.arange(len(X)) % 2)
    assert hs.diagnostics(model, X).residuals
    with pytest.raises(ParameterError, match="p-values of residuals are for LatentClass and GaussianMixture"):
        hs.diagnostics(model, X, bootstrap=9)
    with pytest.raises(ParameterError, match="bootstrap=1 is not a whole number of at least 2"):
        hs.diagnostics(hs.LatentClass(1).fit(X), X, bootstrap=1)
