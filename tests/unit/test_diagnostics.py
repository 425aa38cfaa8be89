"""The fit block: figures by hand, and where they are refused."""

import json

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.special import entr
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
    for name, value in one.to_dict().items():
        assert_allclose(other.to_dict()[name], value, rtol=1e-12, err_msg=name)


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
