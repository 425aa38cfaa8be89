"""Columns of rounded and censored numbers: maximum likelihood, what is refused, what is found, every estimator."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.stats import norm

import halfseen as hs
from halfseen.assign import Assign
from halfseen.data import Column
from halfseen.errors import DataError, ParameterError
from halfseen.leaves import GaussianParams
from halfseen.leaves.coarse import Bands, Coarse, Grid, Limits

RNG = np.random.default_rng(0)
LATENT = RNG.normal(3.0, 1.2, 300)
CUTS = (0.0, 1.0, 2.5, 4.0, 7.0)
MIDDLES = np.array([-0.5, 0.5, 1.75, 3.25, 5.5, 8.5])
EXACT = {"prior": None, "tol": 1e-13, "max_iter": 2000}


def banded(x):
    return MIDDLES[np.searchsorted(CUTS, x, side="right")]


def between(low, high):
    """Log-probability of intervals, by scipy alone."""
    return lambda mean, sd: np.log(norm.cdf((high - mean) / sd) - norm.cdf((low - mean) / sd))


def censored(x, low, high):
    def logs(mean, sd):
        inside = norm.logpdf(x, mean, sd)
        beyond = np.where(x <= low, norm.logcdf(low, mean, sd), norm.logsf(high, mean, sd))
        return np.where((x > low) & (x < high), inside, beyond)

    return logs


EDGES = np.array([-np.inf, *CUTS, np.inf])
PLACE = np.searchsorted(CUTS, LATENT, side="right")
COLUMNS = {
    "rounded(1)": (LATENT.round(), between(LATENT.round() - 0.5, LATENT.round() + 0.5)),
    "rounded(2 from 1)": (np.round((LATENT - 1) / 2) * 2 + 1, None),
    "rounded(0, 1, 2.5, 4, 7)": (banded(LATENT), between(EDGES[PLACE], EDGES[PLACE + 1])),
    "censored(2)": (LATENT.clip(2.0), censored(LATENT, 2.0, np.inf)),
    "censored(2, 4.5)": (LATENT.clip(2.0, 4.5), censored(LATENT, 2.0, 4.5)),
    "censored(-inf, 4.5)": (LATENT.clip(None, 4.5), censored(LATENT, -np.inf, 4.5)),
}
COLUMNS["rounded(2 from 1)"] = (x := COLUMNS["rounded(2 from 1)"][0], between(x - 1, x + 1))


@pytest.mark.parametrize("kind", COLUMNS)
def test_one_class_is_maximum_likelihood(kind):
    cells, logs = COLUMNS[kind]
    model = hs.LatentClass(1, columns={"x": kind}, **EXACT).fit(pd.DataFrame({"x": cells}))
    best = minimize(
        lambda at: -logs(at[0], np.exp(at[1])).sum(), [2.5, 0.3], method="Nelder-Mead",
        options={"xatol": 1e-9, "fatol": 1e-11, "maxiter": 2000},
    )  # fmt: skip
    assert model.columns_ == {"x": kind}
    assert model.loglik_ == pytest.approx(-best.fun, rel=1e-9)
    assert_allclose([model.params_["x"]["mean"][0], model.params_["x"]["sd"][0]], [best.x[0], np.exp(best.x[1])], 1e-5)
    assert model.n_parameters_ == 2


@pytest.mark.parametrize("kind", ["rounded(1)", "censored(2, 4.5)"])
def test_labelled_classes_are_fitted_one_by_one(kind):
    cells = COLUMNS[kind][0][:, None]
    both = hs.NaiveBayes(columns={"x0": kind}, **EXACT).fit(np.concatenate([cells, cells + 0.0]), ["a", "b"] * 300)
    for k, rows in enumerate((slice(0, None, 2), slice(1, None, 2))):
        alone = hs.LatentClass(1, columns={"x0": kind}, **EXACT).fit(np.concatenate([cells, cells])[rows])
        assert_allclose(both.params_["x0"]["mean"][k], alone.params_["x0"]["mean"][0], rtol=1e-5)
        assert_allclose(both.params_["x0"]["sd"][k], alone.params_["x0"]["sd"][0], rtol=1e-5)


@pytest.mark.parametrize("kind", ["rounded(2)", "rounded(0, 2, 4, 8, 12)", "censored(1, 11)"])
@pytest.mark.parametrize("how", [{}, {"assign": "sample"}, {"method": "lbfgs"}, {"prior": None}], ids=str)
def test_two_classes_are_recovered_with_missing_cells(kind, how):
    rng = np.random.default_rng(1)
    group = np.arange(1500) % 3 == 0
    x = rng.normal(np.where(group, 9.0, 2.0), np.where(group, 2.0, 1.3))
    table = pd.DataFrame({"x": hs.registry.kinds[kind].coarsening.recorded(x), "y": group ^ (rng.random(1500) < 0.1)})
    table.loc[::11, "x"] = np.nan
    model = hs.LatentClass(2, columns={"x": kind}, random_state=0, n_init=2, **how).fit(table)
    order = np.argsort(model.params_["x"]["mean"])
    assert_allclose(model.params_["x"]["mean"][order], [2.0, 9.0], atol=0.3)
    assert_allclose(model.params_["x"]["sd"][order], [1.3, 2.0], atol=0.3)


# ---- the step, and the form of the name -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, 2, 4, 7], "rounded(1)"),
        ([0.1, 0.4, 0.2, 1.7], "rounded(0.1)"),
        ([500, 2500, -1000], "rounded(500)"),
        ([0.5, 1.5, 3.5], "rounded(1 from 0.5)"),
        ([1e6 + 0.25, 1e6 + 0.75, 1e6 + 2.25], "rounded(0.5 from 0.25)"),
    ],
)
def test_the_step_is_found(values, kind):
    model = hs.LatentClass(1, columns={"x": "rounded"}).fit(pd.DataFrame({"x": [*values, None] * 3}))
    assert model.columns_ == {"x": kind}
    assert hs.LatentClass(1, columns=model.columns_).fit(pd.DataFrame({"x": values * 3})).columns_ == model.columns_


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("rounded(0)", "step is a finite number above 0"),
        ("rounded()", "step is a finite number above 0"),
        ("rounded(-1)", "step is a finite number above 0"),
        ("rounded(1 from inf)", "step is a finite number above 0"),
        ("rounded(1 of 2)", "step is a finite number above 0"),
        ("rounded(3, 2)", "cuts are finite numbers in ascending order"),
        ("rounded(3, x)", "cuts are finite numbers in ascending order"),
        ("rounded(0, inf)", "cuts are finite numbers in ascending order"),
        ("censored", "needs its limits of detection in brackets"),
        ("censored(x)", "limits of detection are a lower one, or"),
        ("censored(2, 1)", "limits of detection are a lower one, or"),
        ("censored(1, 2, 3)", "limits of detection are a lower one, or"),
        ("censored(-inf)", "limits of detection are a lower one, or"),
    ],
)
def test_names_that_say_nothing_are_refused(kind, said):
    with pytest.raises(ParameterError, match=f"column 'x': .*{said}"):
        hs.LatentClass(1, columns={"x": kind}).fit(pd.DataFrame({"x": [1.0, 2.0]}))


@pytest.mark.parametrize(
    ("kind", "cells", "said"),
    [
        ("rounded(500)", [500, 1000, 1200], r"row 2 is 1200, not a multiple of 500 \(1 such rows"),
        ("rounded(1 from 0.5)", [1.5, 2.0], "row 1 is 2, not a multiple of 1 from 0.5 on"),
        ("rounded", list(np.sqrt(np.arange(30.0))), "its 30 distinct numbers lie on no grid of equal steps"),
        ("rounded", [3.0, 3.0], "it is 3 in all observed rows"),
        ("rounded(1)", [3.0, 3.0], "it is 3 in all observed rows"),
        ("censored(1)", [1.0, 1.0], "it is 1 in all observed rows"),
        ("rounded", [None, None], "all its 2 cells are missing"),
        ("rounded", ["a", "b"], "row 0 is 'a', not a number"),
    ],
)
def test_cells_that_cannot_be_are_refused(kind, cells, said):
    with pytest.raises(DataError, match=f"column 'x' cannot be .*{said}"):
        hs.LatentClass(1, columns={"x": kind}).fit(pd.DataFrame({"x": cells}))


def test_without_data_a_rounded_column_needs_its_step():
    with pytest.raises(ParameterError, match=r"columns\['x'\]: a rounded column without data needs its step or cuts"):
        hs.LatentClass.from_params([1.0], {"x": {"kind": "rounded", "mean": [0.0], "sd": [1.0]}})


def test_bands_that_are_taken_for_a_grid_are_noted():
    bands = np.array([7500.0, 20000, 30000, 42500, 62500])
    table = pd.DataFrame({"x": bands[np.random.default_rng(0).integers(0, 5, 100)]})
    [note] = hs.LatentClass(1, columns={"x": "rounded"}).fit(table).events_
    assert "its 5 values are 4 to 8 steps of 2500 apart, as bands of different width are" in note
    assert not hs.LatentClass(1, columns={"x": "rounded"}).fit(table // 1000).events_[:0]


# ---- in the library -------------------------------------------------------------------------------------------------


def test_drawn_cells_are_as_recorded_and_means_are_not():
    kinds = {"a": "rounded(5)", "b": "rounded(0, 1, 2.5, 4, 7)", "c": "censored(2, 4)"}
    model = hs.LatentClass.from_params(
        [0.5, 0.5], {name: {"kind": kind, "mean": [3, 1], "sd": [4, 2]} for name, kind in kinds.items()}
    )
    drawn = pd.DataFrame(model.sample(200, random_state=0)[0], columns=list(kinds))
    assert set(drawn["a"] % 5) == {0.0}
    assert set(drawn["b"]) <= set(MIDDLES)
    assert (drawn["c"].min(), drawn["c"].max()) == (2.0, 4.0)
    hidden = drawn.assign(a=np.nan)
    filled = [
        np.asarray(model.impute(hidden, **how), dtype=float)[:, 0] for how in ({"draw": True, "random_state": 0}, {})
    ]
    assert set(filled[0] % 5) == {0.0}
    assert 1 < filled[1].min() < filled[1].max() < 3


def test_bands_and_limits_are_written_as_sql():
    duckdb = pytest.importorskip("duckdb")
    model = hs.LatentClass.from_params(
        [0.5, 0.5],
        {
            "b": {"kind": "rounded(0, 1, 2.5)", "mean": [3, 1], "sd": [4, 2]},
            "c": {"kind": "censored(0.5, 4)", "mean": [3, 1], "sd": [4, 2]},
        },
    )
    X = pd.DataFrame({"b": [-3, 0, 0.5, 1, 2, 2.5, 9, None], "c": [None, -1, 0.5, 0.6, 3.9, 4, 9, 1e200]})
    with duckdb.connect() as database:
        found = database.register("X", X).sql(hs.to_sql(model, "X")).fetchnumpy()
    assert_allclose(found["loglik"], model.score_samples(X), rtol=1e-12)


def test_bands_and_limits_are_written_as_onnx():
    runtime = pytest.importorskip("onnxruntime")
    given = {"mean": [3, 1], "sd": [4, 2]}
    kinds = {"b": {"kind": "rounded(0, 1, 2.5)", **given}, "c": {"kind": "censored(0.5, 4)", **given}}
    model = hs.LatentClass.from_params([0.5, 0.5], kinds)
    X = np.array([[-3, np.nan], [0, -1], [0.5, 0.5], [1, 0.6], [2, 3.9], [2.5, 4], [9, 9], [np.nan, 2]])
    session = runtime.InferenceSession(hs.to_onnx(model).SerializeToString())
    names = [output.name for output in session.get_outputs()]
    found = dict(zip(names, session.run(None, {session.get_inputs()[0].name: X}), strict=True))
    assert_allclose(np.ravel(found["loglik"]), model.score_samples(pd.DataFrame(X, columns=["b", "c"])), rtol=1e-6)


@pytest.mark.parametrize("how", [Grid(1.0), Bands((-1.0, 0.0, 2.0)), Limits(-0.5, 1.0)], ids=str)
def test_drawn_numbers_have_the_expected_statistics(how):
    leaf = Coarse(2, np.zeros(1), np.ones(1), coarsening=how)
    params = GaussianParams(np.array([[0.3], [-1.0]]), np.array([[1.5], [0.2]]))
    data, usage = (
        np.array([[-2.0], [0.0], [1.0], [np.nan]]),
        np.array([[1.0, 2.0], [0.5, 0.0], [3.25, 1.0], [1.0, 1.0]]),
    )
    expected, drawn, one = (np.zeros(leaf.stats_shape) for _ in range(3))
    leaf.expect(usage, leaf.prepare(params), data, None, expected)
    rng, times = np.random.default_rng(0), 900
    for _ in range(times):
        leaf.expect(usage, leaf.prepare(params), data, Assign("sample", rng=rng, latent=True), drawn)
    leaf.expect(usage, leaf.prepare(params), data, Assign("sample", rng=rng, latent=True), one)
    assert_allclose(drawn / times, expected, atol=0.2)
    assert (one[0] == expected[0]).all()
    assert (one[1] != expected[1]).any()


def test_moments_are_read_anew_for_other_rows_and_other_parameters():
    """What `score` read is kept for `expect`, of the same rows under the same parameters alone."""
    leaf, rng = Coarse(1, np.zeros(1), np.ones(1), coarsening=Grid(1.0)), np.random.default_rng(0)
    rows = [rng.normal(0, 3, (9, 1)).round() for _ in range(3)]
    about = [leaf.prepare(GaussianParams(np.array([[m]]), np.ones((1, 1)))) for m in (0.0, 2.0)]
    for one in [*rows, *rows[::-1]]:
        for prepared in about:
            found = leaf.score(prepared, one, None)
            fresh = leaf.prepare(GaussianParams(prepared.mean, prepared.var))
            assert_allclose(found, between(one - 0.5, one + 0.5)(prepared.mean, 1.0), rtol=1e-9)
            stats, again = np.zeros((2, *leaf.stats_shape))
            leaf.expect(np.ones((9, 1)), prepared, one, None, stats)
            leaf.expect(np.ones((9, 1)), fresh, one.copy(), None, again)
            assert (stats == again).all()


def test_standard_errors_are_larger_for_what_was_seen_less_well():
    x = LATENT[:, None]
    found = {
        kind: hs.standard_errors(hs.LatentClass(1, columns={"x0": kind}, **EXACT).fit(cells), cells)
        .to_frame().set_index("value").loc["mean", "se"]
        for kind, cells in {"gaussian": x, "rounded(2)": np.round(x / 2) * 2, "censored(3)": x.clip(3.0)}.items()
    }  # fmt: skip
    assert found["gaussian"] < found["rounded(2)"] < found["censored(3)"] < 2 * found["gaussian"]
    assert found["rounded(2)"] == pytest.approx(np.sqrt((1.2**2 + 4 / 12) / 300), rel=0.1)


def test_units_of_transcripts_emit_rounded_numbers():
    rng = np.random.default_rng(2)
    mean = {"a": 0.0, "b": 6.0}
    said = ["a b a", "b a", "b a b", "a b"] * 4
    features = [np.concatenate([rng.normal(mean[u], 1.0, 6).round() for u in words.split()])[:, None] for words in said]
    model = hs.TranscriptAligner(emission="rounded(1)", random_state=0).fit(features, said)
    assert [round(part.start) for part in model.align(features[:1], said[:1])[0].words] == [0, 6, 12]


def test_a_point_in_the_name_is_no_treatment():
    table = pd.DataFrame({"x": LATENT.clip(2.5), "y": LATENT.clip(2.5) + 1})
    model = hs.LatentClass(2, columns=dict.fromkeys("xy", "censored(2.5)"), tied=["x"], random_state=0).fit(table)
    assert len(set(model.params_["x"]["mean"])) == 1 < len(set(model.params_["y"]["mean"]))


def test_the_kind_of_a_column_is_equal_by_its_name():
    assert Column("x", "rounded( 5.0 )") == Column("x", "rounded(5)") != Column("x", "rounded(5 from 1)")
    assert Column("x", "censored(1, inf)") == Column("x", "censored(1)")
