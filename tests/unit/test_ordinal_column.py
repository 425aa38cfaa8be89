"""A column of ordered categories in the library: orders, peers, imputation, what is suggested and refused."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose

import halfseen as hs
from halfseen.app.cli import app
from halfseen.errors import DataError, ParameterError

RNG = np.random.default_rng(4)
N = 400
GROUP = RNG.integers(0, 2, N)
SCORE = np.digitize(RNG.logistic(size=N) + 1.3 * GROUP, [-2.0, -0.5, 1.5, 3.5]) + 1
WORDS = np.array(["none", "mild", "severe"])
PAIN = WORDS[np.digitize(RNG.logistic(size=N) + 1.5 * GROUP, [0.0, 1.5])]


def table_of(model, name):
    return np.array(list(model.params_[name].values())).T


def items(n_rows=600, n_items=6, n_levels=5, seed=0, missing=0.1):
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 3, n_rows)
    thresholds = np.linspace(-2, 2, n_levels - 1)
    cells = {
        f"q{j}": np.digitize(rng.logistic(size=n_rows) + np.array([-2.5, 0.0, 2.5])[group], thresholds) + 1.0
        for j in range(n_items)
    }
    X = pd.DataFrame(cells)
    return X.mask(rng.random(X.shape) < missing), group


# ---- peers ----------------------------------------------------------------------------------------------------------


def test_one_class_has_the_observed_shares():
    model = hs.LatentClass(1, columns={"y": "ordinal"}, prior=None).fit(pd.DataFrame({"y": SCORE}))
    assert_allclose(table_of(model, "y")[0], np.bincount(SCORE)[1:] / N, rtol=1e-14)


@pytest.mark.thorough
def test_classes_that_are_known_are_the_ordered_logit_of_statsmodels():
    from statsmodels.miscmodels.ordinal_model import OrderedModel

    model = hs.NaiveBayes(columns={"y": "ordinal"}, prior=None).fit(pd.DataFrame({"y": SCORE}), GROUP)
    table = table_of(model, "y")
    peer = OrderedModel(pd.Series(SCORE).astype(pd.CategoricalDtype(ordered=True)), GROUP[:, None] * 1.0, distr="logit")
    found = peer.fit(method="newton", disp=0, maxiter=200)
    assert_allclose(np.log(table[GROUP, SCORE - 1]).sum(), found.llf, atol=1e-6)
    below = table.cumsum(axis=1)[:, :-1]
    odds = np.log(below / (1 - below))
    assert_allclose(odds[0] - odds[1], np.asarray(found.params)[0], atol=1e-5)
    assert_allclose(odds[0], peer.transform_threshold_params(np.asarray(found.params))[1:-1], atol=1e-5)


@pytest.mark.thorough
def test_bic_counts_thresholds_and_shifts():
    X, _ = items()
    for kind, n_free in (("ordinal", 2 + 6 * (4 + 2)), ("categorical", 2 + 6 * 3 * 4)):
        model = hs.LatentClass(3, columns=dict.fromkeys(X, kind), prior=None, random_state=0, n_init=2).fit(X)
        assert_allclose(model.bic(X) + 2 * model.score(X) * len(X), n_free * np.log(len(X)), rtol=1e-9)


# ---- order ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (PAIN, "ordinal(none<mild<severe)"),
        (pd.Categorical(PAIN, WORDS, ordered=True), "ordinal"),
        (pl.Series(PAIN, dtype=pl.Enum(WORDS)).to_pandas(), "ordinal(none < mild < severe)"),
    ],
)
def test_a_declared_order_is_kept(cells, kind, tmp_path):
    X = pd.DataFrame({"pain": cells})
    model = hs.NaiveBayes(columns={"pain": kind}).fit(X, GROUP)
    assert model.columns_ == {"pain": "ordinal"}
    assert list(model.params_["pain"]) == WORDS.tolist()
    hs.save(model, tmp_path / "m.halfseen")
    again = hs.load(tmp_path / "m.halfseen")
    assert list(again.params_["pain"]) == WORDS.tolist()
    assert (again.predict_proba(X) == model.predict_proba(X)).all()


def test_polars_enums_have_an_order():
    X = pl.DataFrame({"pain": pl.Series(PAIN, dtype=pl.Enum(WORDS.tolist()))})
    assert list(hs.LatentClass(1, columns={"pain": "ordinal"}).fit(X).params_["pain"]) == WORDS.tolist()


def test_an_order_of_numbers_may_be_another_than_theirs():
    model = hs.LatentClass(1, columns={"y": "ordinal(5<4<3<2<1)"}).fit(pd.DataFrame({"y": SCORE}))
    assert list(model.params_["y"]) == [5, 4, 3, 2, 1]


@pytest.mark.parametrize(
    ("cells", "kind", "error", "said"),
    [
        (PAIN, "ordinal", DataError, r"its cells are text, and nothing says their order.*ordinal\(low<medium<high\)"),
        (PAIN, "ordinal(none<mild)", DataError, "it holds 'severe', which the order does not name"),
        (SCORE, "ordinal(none<mild)", DataError, "its cells are numbers, and the order names texts"),
        (PAIN, "ordinal(none)", ParameterError, "name every category once"),
        (PAIN, "ordinal(none<mild<none)", ParameterError, "name every category once"),
        (np.arange(400.0), "ordinal", DataError, "it has 400 distinct values, more than 100"),
    ],
)
def test_what_has_no_order_is_refused(cells, kind, error, said):
    with pytest.raises(error, match=said):
        hs.LatentClass(1, columns={"v": kind}).fit(pd.DataFrame({"v": cells}))


def test_the_order_at_the_command_line(tmp_path, capsys):
    pd.DataFrame({"pain": PAIN, "y": SCORE}).to_csv(tmp_path / "d.csv", index=False)
    words = ["fit", str(tmp_path / "d.csv"), "--classes", "2", "--columns", "pain=ordinal(none<mild<severe),y=ordinal"]
    with pytest.raises(SystemExit) as ended:
        app([*words, "--restarts", "2", "--seed", "0", "--output", str(tmp_path / "m.halfseen")], prog_name="halfseen")
    assert not ended.value.code
    assert list(hs.load(tmp_path / "m.halfseen").params_["pain"]) == WORDS.tolist()


# ---- fits -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "cells", [np.ones(6), np.array([3.0]), np.array([1.0, 1, 1, 5]), np.array([True, False, True])], ids=str
)
def test_few_cells(cells):
    X = pd.DataFrame({"v": cells, "w": np.arange(len(cells)) * 1.5})
    for prior in (None, "row"):
        model = hs.LatentClass(1, columns={"v": "ordinal"}, prior=prior).fit(X)
        assert np.isfinite(model.score(X))
        assert "v" in model.describe() or len(set(cells)) == 1


@pytest.mark.thorough
def test_hard_and_sampled_assignment_and_gradients_fit():
    X, _ = items(200)
    common = {"columns": dict.fromkeys(X, "ordinal"), "random_state": 0, "n_init": 2}
    soft = hs.LatentClass(3, **common).fit(X)
    for how in ({"assign": "hard"}, {"assign": "sample"}, {"method": "lbfgs"}, {"prior": None}):
        model = hs.LatentClass(3, **common, **how).fit(X)
        assert model.score(X) > soft.score(X) - 0.3
    alike = hs.LatentClass(3, **common, tied=["q0"]).fit(X)
    assert_allclose(table_of(alike, "q0"), table_of(alike, "q0")[[0, 0, 0]], rtol=1e-12)


def test_probabilities_that_are_not_proportional_are_refused():
    given = {"kind": "ordinal", 1: [0.2, 0.3], 2: [0.6, 0.1], 3: [0.2, 0.6]}
    with pytest.raises(ParameterError, match=r"'v' is ordinal: .* these differ by 2.* more at one v"):
        hs.LatentClass.from_params([0.5, 0.5], {"v": given})


def test_single_probabilities_cannot_be_fixed():
    X, _ = items(50)
    with pytest.raises(ParameterError, match="single parameters of a column of ordinal cannot be fixed"):
        hs.LatentClass(2, columns=dict.fromkeys(X, "ordinal"), fixed={"q0": {1.0: [0.1, None]}}).fit(X)


def test_a_component_is_described_by_median_and_mean():
    model = hs.NaiveBayes(columns={"pain": "ordinal(none<mild<severe)", "y": "ordinal"}, prior=None)
    model.fit(pd.DataFrame({"pain": PAIN, "y": SCORE}), GROUP)
    said = model.describe()
    assert "pain median" in said
    assert "mean rank" in said
    assert f"mean {SCORE[GROUP == 0].mean():.2f}"[:7] in said or "y median 3" in said


# ---- imputation -----------------------------------------------------------------------------------------------------


@pytest.mark.thorough
def test_hidden_cells_are_judged_by_ranks_and_exact_hits():
    X, _ = items()
    model = hs.LatentClass(3, columns=dict.fromkeys(X, "ordinal"), random_state=0, n_init=2).fit(X)
    check = hs.hidden_cells(model, X, refit=False, random_state=0)
    assert {column.unit for column in check.columns} == {"rank error"}
    assert all(column.error < column.plain for column in check.columns)
    assert all(0.2 < column.exact < 0.9 for column in check.columns)
    assert "% exact" in str(check)
    plain = hs.hidden_cells(hs.LatentClass(3, random_state=0).fit(X), X, refit=False, random_state=0)
    assert {column.exact for column in plain.columns} == {None}


# ---- suggestions ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cells", "named"),
    [
        (SCORE, True),
        (SCORE - 1, True),
        (SCORE - 3, True),
        (SCORE.astype(float), True),
        (GROUP, False),
        (SCORE + 7, False),
        (2 * SCORE, False),
        (SCORE[:15], False),
        (np.array([30, 11, 42, 8, 25])[SCORE - 1], False),
        (RNG.permutation(np.repeat([1, 2, 3, 4], [90, 20, 80, 30])), False),
        (PAIN, False),
    ],
)
def test_a_scale_is_suggested(cells, named):
    X = pd.DataFrame({"v": cells, "w": RNG.normal(size=len(cells))})
    found = [event for event in hs.LatentClass(1).fit(X).events_ if "'ordinal'" in event]
    assert len(found) == named
    if named:
        assert "columns={'v': 'ordinal'}" in found[0]
        again = hs.LatentClass(1, columns={"v": "categorical"}).fit(X)
        assert not [event for event in again.events_ if "'ordinal'" in event]
