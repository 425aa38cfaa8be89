"""Standard errors: closed forms, curvature by second differences, and what has no error."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import halfseen as hs
from halfseen.engine.loop.em import evaluate
from halfseen.engine.tables.pair_sums import table_of
from halfseen.engine.tables.row_slopes import missing_information, row_slopes
from halfseen.errors import DataError, FitError, ParameterError
from halfseen.estimators.observed import _one_by_one
from halfseen.estimators.table.table_mixture import TableMixture
from halfseen.inference.information import information, outer_products
from halfseen.inference.moves import Moves
from halfseen.inference.standard_errors import interval

RNG = np.random.default_rng(0)
FINE = {"random_state": 0, "n_init": 2, "tol": 1e-10}


def people(n_rows=300):
    rng = np.random.default_rng(1)
    z = rng.integers(0, 2, n_rows)
    frame = pd.DataFrame({"size": rng.normal(3.0 * z), "weight": rng.normal(2.0 * z, 1.5)})
    frame["color"] = np.where(
        rng.random(n_rows) < 0.5, np.array(["red", "blue"])[z], rng.choice(["red", "green", "blue"], n_rows)
    )
    frame["visits"] = rng.poisson(1 + 4 * z)
    frame["claims"] = rng.negative_binomial(2, 0.3 + 0.3 * z)
    frame["heads"] = np.random.default_rng(9).binomial(10, 0.2 + 0.5 * z)
    frame.loc[rng.random(n_rows) < 0.1, "size"] = np.nan
    frame.loc[rng.random(n_rows) < 0.1, "color"] = None
    return frame, z


PEOPLE, CLASS = people()
SENTENCES = ["a b", "a", "b a a", "a a", "b", "a a b a"] * 4


def fitted():
    """Yield a model of every family with what it was fitted to."""
    kinds = {"visits": "poisson", "claims": "negbin", "heads": "binomial(10)"}
    mixed, numbers = ["size", "color", "visits", "claims", "heads"], ["size", "weight"]
    labels = np.where(np.arange(len(CLASS)) % 3 == 0, CLASS, -1)
    yield "classes", hs.LatentClass(2, columns=kinds, prior=None, **FINE), (PEOPLE[mixed],), {}
    yield "prior", hs.LatentClass(2, columns=kinds, prior=1.0, **FINE), (PEOPLE[mixed],), {}
    yield "labels", hs.LatentClass(2, **FINE), (PEOPLE[["size", "color"]],), {"labels": labels}
    for shape in ("full", "tied", "diag", "spherical"):
        yield shape, hs.GaussianMixture(2, covariance_type=shape, prior=None, **FINE), (PEOPLE[numbers],), {}
        if shape in ("full", "tied"):
            whole = PEOPLE[numbers].dropna()
            yield f"{shape}, complete", hs.GaussianMixture(2, covariance_type=shape, prior=None, **FINE), (whole,), {}
    blanked = PEOPLE[["weight", "size", "color"]].assign(weight=PEOPLE["weight"].mask(PEOPLE["size"].isna()))
    yield "joint or missing", hs.LatentClass(2, covariance="full", prior=None, **FINE), (blanked,), {}
    counted = hs.LatentClass(2, columns={"visits": "poisson"}, prior=1.0, **FINE)
    yield "counts", counted, (PEOPLE[["visits", "color", "size"]],), {}
    words = hs.LatentClass(2, columns={"x0": "text"}, prior=1.0, **FINE)
    yield (
        "words",
        words,
        ([["ant bee ant"], ["cow dog"], ["ant bee cow"], ["cow cow dog"], ["bee ant"], ["dog cow ant"]] * 5,),
        {},
    )
    shade = PEOPLE[["color"]].assign(many=PEOPLE["visits"] > 2, some=PEOPLE["claims"] > 3, big=PEOPLE["weight"] > 1)
    yield "items", hs.LatentClass(2, prior=None, **FINE), (shade,), {}
    yield "weights fixed", hs.LatentClass(2, start={"weights": [0.6, 0.4]}, fixed=["weights"], **FINE), (shade,), {}
    yield "naive Bayes", hs.NaiveBayes(unlabeled_weight=1.0, **FINE), (PEOPLE[["size", "color"]], labels), {}
    yield "states", hs.HMM(2, prior=None, **FINE), (PEOPLE[["size"]], [100, 100, 60, 40]), {}
    hidden = hs.BayesNet("color <- C; visits <- C", hidden={"C": 2}, prior=1.0, **FINE)
    yield "network", hidden, (PEOPLE[["color"]].assign(visits=PEOPLE["visits"] > 2),), {}
    tied = hs.BayesNet("color <- C; shade <- C", hidden={"C": 2}, tied=[["color", "shade"]], prior=1.0, **FINE)
    yield (
        "tied network",
        tied,
        (PEOPLE[["color"]].assign(shade=PEOPLE["color"].sample(frac=1, random_state=0).values),),
        {},
    )
    yield "grammar", hs.PCFG("S -> S S | 'a' | 'b'", prior=None, random_state=0), (SENTENCES,), {}


CASES = {name: (model, given, named) for name, model, given, named in fitted()}


@pytest.fixture(params=list(CASES), scope="module")
def case(request):
    model, given, named = CASES[request.param]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about the small tables
        model.fit(*given, **named)
    how = dict(named)
    if isinstance(model, hs.NaiveBayes):
        how["labels"] = given[1]
    elif len(given) > 1:
        how["lengths"] = given[1]
    return model, given[0], how


def found(model, X, how):
    observed = model._observed(X, **how)

    def shown(params):
        return np.zeros(1)

    return observed, information(model._model, model._params, observed, shown)


def test_curvature_is_that_of_the_objective(case):
    model, X, how = case
    observed, info = found(model, X, how)
    engine, step = model._model, 1e-3
    for direction in np.linalg.qr(RNG.normal(size=(info.n_free, min(3, info.n_free))))[0].T:
        move = step * info.basis @ direction
        places = [engine.freed(info.at + t * move, model._params) for t in (-1, 0, 1)]
        low, middle, high = (each.objective for each in evaluate(engine, observed.data, places))
        numeric = -(high - 2 * middle + low) / step**2
        assert_allclose(direction @ info.curvature @ direction, numeric, rtol=2e-3, atol=1e-3)


def test_scores_of_units_add_up_to_the_slope(case):
    model, X, how = case
    observed, _ = found(model, X, how)
    engine = model._model
    [step] = evaluate(engine, observed.data, [model._params])
    total = observed.weight @ np.concatenate(list(observed.scores(model._params)))
    assert_allclose(total, engine.slope(step.expected.stats, model._params), atol=1e-8 * observed.n_units)


def test_scores_of_rows_are_the_slopes_of_their_statistics(case):
    model, X, how = case
    if not isinstance(model, TableMixture):
        pytest.skip("units of other families are evaluated one by one")
    observed = model._observed(X, **how)
    prepared = model._model.prepare(model._params)
    [chunk] = observed.rows(10_000)
    together = row_slopes(model._model, model._params, prepared, chunk)
    joint = getattr(model, "covariance_type", "diag") in ("full", "tied")
    latent = isinstance(X, list) or "claims" in X or (joint and X["size"].isna().any())  # also where one cell is left
    assert (together is None) == latent, "words, and what has latent content"
    if together is not None:
        slow = _one_by_one(model._model, model._params, prepared, chunk)
        assert_allclose(together.scores(slow.shape[1]), slow, atol=1e-9)


def test_missing_information_is_the_curvature_by_differences(case, monkeypatch):
    model, X, how = case
    _, info = found(model, X, how)
    monkeypatch.setattr("halfseen.inference.information.missing_information", lambda *given: None)
    _, slow = found(model, X, how)
    assert_allclose(info.curvature, slow.curvature, atol=1e-5 * np.abs(slow.curvature).max())


def test_moving_coordinates_together_or_one_by_one_is_the_same(case, monkeypatch):
    model, X, how = case
    named = hs.standard_errors(model, X, **how)
    size = len(model._model.free(model._params))
    monkeypatch.setattr(type(model._model), "coupled", lambda self, params: np.zeros(size, dtype=np.intp))
    slow = hs.standard_errors(model, X, **how)
    assert slow.note == named.note
    assert_allclose(named.se, slow.se, rtol=1e-6)


def test_a_parameter_of_several_groups_is_found():
    model = hs.LatentClass(2, prior=None, **FINE).fit(PEOPLE[["size", "color"]])
    engine, params = model._model, model._params
    moves = Moves(engine, params, engine.free(params))

    def product(each):
        return np.array([each["mix"][0, 0] * each["emit"]["gaussian"].mean[0, 0], each["mix"][0, 1]])

    assert moves._owners(product) is None
    up, down = (product(engine.freed(moves._at + side * 1e-4 * np.eye(len(moves._at))[0], params)) for side in (1, -1))
    assert_allclose(moves.jacobian(product)[:, 0], (up - down) / 2e-4)


def test_sums_over_pairs_of_cells_are_the_products_of_scores(case, monkeypatch):
    model, X, how = case
    if not isinstance(model, TableMixture) or table_of(model._model) is None:
        pytest.skip("not of categories alone")
    rows, size = model._observed(X, **how).rows, len(model._model.free(model._params))
    quick = missing_information(model._model, model._params, rows(100), size)
    monkeypatch.setattr("halfseen.engine.tables.row_slopes.pair_products", lambda *given: None)
    slow = missing_information(model._model, model._params, rows(100), size)
    for own, its in zip(quick, slow, strict=True):
        assert_allclose(own, its, atol=1e-9 * np.abs(its).max())


def test_as_many_directions_as_free_parameters(case):
    model, X, how = case
    _, info = found(model, X, how)
    assert info.n_free == model.n_parameters_


@pytest.mark.parametrize("kind", ["hessian", "opg", "robust"])
def test_every_parameter_has_an_error_or_a_reason(case, kind):
    model, X, how = case
    if kind != "hessian" and isinstance(model, hs.HMM):
        with pytest.raises(FitError, match="needs more units than"):
            hs.standard_errors(model, X, kind, **how)
        return
    errors = hs.standard_errors(model, X, kind, **how)
    given = np.array([not note for note in errors.note])
    assert given.mean() > 0.5
    assert (errors.se[given] > 0).all()
    assert (errors.low[given] < errors.estimate[given]).all()
    assert (errors.estimate[given] < errors.high[given]).all()
    table = errors.to_frame()
    assert len(table) == len(errors.se)
    assert str(errors).count("\n") == len(errors.se)


def test_one_class_has_closed_forms():
    rng = np.random.default_rng(2)
    X = pd.DataFrame({"x": rng.normal(size=200), "n": rng.poisson(3.0, 200), "c": rng.choice(["a", "b", "c"], 200)})
    X["heads"] = rng.binomial(10, 0.3, 200)
    model = hs.LatentClass(1, columns={"n": "poisson", "heads": "binomial(10)"}, prior=None).fit(X)
    errors = hs.standard_errors(model, X).to_frame().set_index(["column", "value"])["se"]
    sd = X["x"].std(ddof=0)
    assert_allclose(errors["x", "mean"], sd / np.sqrt(200), rtol=1e-6)
    assert_allclose(errors["x", "sd"], sd / np.sqrt(400), rtol=1e-5)
    assert_allclose(errors["n", "rate"], np.sqrt(X["n"].mean() / 200), rtol=1e-6)
    share = X["heads"].mean() / 10
    assert_allclose(errors["heads", "p"], np.sqrt(share * (1 - share) / 2000), rtol=1e-6)
    for category in "abc":
        p = (X["c"] == category).mean()
        assert_allclose(errors["c", category], np.sqrt(p * (1 - p) / 200), rtol=1e-6)


def test_robust_errors_of_a_mean_are_those_of_the_data():
    rng = np.random.default_rng(3)
    X = pd.DataFrame({"n": rng.negative_binomial(1, 0.2, 400)})  # not Poisson: the model is wrong
    model = hs.LatentClass(1, columns={"n": "poisson"}, prior=None).fit(X)
    robust = hs.standard_errors(model, X, "robust").se[-1]
    assert_allclose(robust, X["n"].std(ddof=0) / 20, rtol=1e-6)
    assert robust > 1.5 * hs.standard_errors(model, X).se[-1]


def test_the_curvature_of_the_prior_is_in():
    X = [["yes"]] * 30 + [["no"]] * 70
    model = hs.LatentClass(1, prior=10.0).fit(X)  # ten pseudo-counts for each category
    p = model.params_["x0"]["yes"][0]
    assert_allclose(hs.standard_errors(model, X).se[-1], np.sqrt(p * (1 - p) / 120), rtol=1e-5)


def test_a_weight_is_a_repetition():
    X = PEOPLE[["size", "color"]]
    model = hs.LatentClass(2, prior=None, **FINE).fit(X)
    twice = hs.standard_errors(model, pd.concat([X, X]), "robust")
    weighted = hs.standard_errors(model, X, "robust", sample_weight=np.full(len(X), 2.0))
    assert_allclose(twice.se, weighted.se, rtol=1e-8)


def test_correlations_of_a_full_covariance():
    rng = np.random.default_rng(4)
    X = rng.multivariate_normal([0, 0], [[1, 0.6], [0.6, 1]], 500)
    model = hs.GaussianMixture(1, prior=None).fit(X)
    errors = hs.standard_errors(model, X).to_frame().set_index("value")
    r = np.corrcoef(X.T)[0, 1]
    assert_allclose(errors.loc["correlation with x1", "estimate"], r, rtol=1e-6)
    assert_allclose(errors.loc["correlation with x1", "se"], (1 - r**2) / np.sqrt(500), rtol=1e-3)


def test_what_is_not_identified_is_said():
    rng = np.random.default_rng(5)
    X = pd.DataFrame({"a": rng.choice(["x", "y"], 200), "b": rng.choice(["x", "y"], 200)})
    X["b"] = np.where(rng.random(200) < 0.4, X["a"], X["b"])
    model = hs.LatentClass(2, prior=None, random_state=0).fit(X)  # 5 parameters, 3 frequencies
    assert "not identified" in hs.standard_errors(model, X).note


def test_a_model_that_is_not_at_its_maximum_is_refused():
    model = hs.LatentClass.from_params([0.5, 0.5], {"x": {"mean": [0.0, 0.1], "sd": [1.0, 1.0]}})
    X = pd.DataFrame({"x": np.concatenate([RNG.normal(-4, 1, 100), RNG.normal(4, 1, 100)])})
    with pytest.raises(FitError, match="not at a maximum"):
        hs.standard_errors(model, X)


def test_data_other_than_those_of_the_fit_are_refused():
    X = PEOPLE[["size", "color"]]
    model = hs.LatentClass(2, prior=None, **FINE).fit(X)
    with pytest.raises(FitError, match="would rise by about"):
        hs.standard_errors(model, X.assign(size=X["size"] + 0.5))
    hard = hs.LatentClass(2, assign="hard", prior=None, random_state=0, n_init=2).fit(X)
    with pytest.raises(FitError, match="maximum"):
        hs.standard_errors(hard, X)


def test_nothing_observed_is_refused():
    X = PEOPLE[["size"]]
    model = hs.LatentClass(1, prior=None).fit(X)
    with pytest.raises(DataError, match="nothing is observed"):
        hs.standard_errors(model, X.assign(size=np.nan))


def test_a_share_of_nearly_nothing_is_on_the_boundary():
    X = [["a", "x"]] * 20 + [["b", "y"]] * 30
    model = hs.LatentClass(2, prior=None, random_state=0).fit(X)
    errors = hs.standard_errors(model, X)
    assert errors.note.count("boundary") == 8
    assert "boundary" in str(errors)
    assert errors.to_frame()["se"].isna().sum() == 8


def test_fixed_parameters_have_no_error():
    X = PEOPLE[["size", "color"]].dropna()
    start = {"size": {"mean": [0.0, 3.0], "sd": [1.0, 1.0]}}
    model = hs.LatentClass(2, start=start, fixed=["size"], prior=None, **FINE).fit(X)
    errors = hs.standard_errors(model, X).to_frame()
    assert (errors.loc[errors["column"] == "size", "note"] == "fixed").all()
    assert (errors.loc[errors["column"] == "color", "se"] > 0).all()


@pytest.mark.parametrize(
    ("value", "width", "bounds"),
    [(0.01, 0.5, (0, 1)), (0.99, 2.0, (0, 1)), (0.1, 3.0, (0, np.inf)), (-0.9, 0.8, (-1, 1))],
)
def test_intervals_stay_within_their_range(value, width, bounds):
    low, high = interval(value, width, bounds)
    assert bounds[0] <= low < value < high <= bounds[1]


@pytest.mark.parametrize(
    ("change", "said"),
    [({"kind": "exact"}, "kind='exact'"), ({"level": 1.5}, "level=1.5"), ({"lengths": [300]}, "lengths")],
)
def test_wrong_options(change, said):
    model = hs.LatentClass(1, prior=None).fit(PEOPLE[["size"]])
    with pytest.raises(ParameterError, match=said):
        hs.standard_errors(model, PEOPLE[["size"]], **change)


def test_models_without_errors_are_refused():
    model = hs.KMeans(2, random_state=0).fit(PEOPLE[["size"]])
    with pytest.raises(ParameterError, match="KMeans has no standard errors"):
        hs.standard_errors(model, PEOPLE[["size"]])


def test_too_many_parameters_are_refused(monkeypatch):
    monkeypatch.setattr("halfseen.inference.standard_errors.MOST", 1)
    model = hs.LatentClass(1, prior=None).fit(PEOPLE[["size"]])
    with pytest.raises(ParameterError, match="2 free parameters"):
        hs.standard_errors(model, PEOPLE[["size"]])


def test_outer_products_do_not_depend_on_the_order_of_rows():
    X = PEOPLE[["size", "color"]]
    model = hs.LatentClass(2, prior=None, **FINE).fit(X)
    _, info = found(model, X, {})
    one, other = (
        outer_products(model._model, model._params, model._observed(each), info.basis) for each in (X, X[::-1])
    )
    assert (one == other).all()


def test_the_report_shows_them(case):
    model, X, how = case
    y = how.get("labels") if isinstance(model, hs.NaiveBayes) else None
    if "lengths" in how:
        X = np.split(X.to_numpy(), np.cumsum(how["lengths"])[:-1])
    elif "labels" in how and y is None:
        pytest.skip("a report takes no labels of classes")
    page = hs.report(model, X, y=y)
    shown = page[page.index('id="errors"') :]
    errors = hs.standard_errors(case[0], case[1], **how)
    told = [row[len(errors.labels) + 1] for row in errors.cells()[1:]]
    assert all(se in shown for se in told if se)


def test_the_report_says_why_there_are_none():
    X = PEOPLE[["size", "color"]]
    page = hs.report(hs.LatentClass(2, assign="hard", random_state=0).fit(X), X)
    assert "There are none: the objective is not at its maximum" in page


def test_classifiers_weigh_unlabelled_rows_as_in_the_fit():
    X, y = PEOPLE[["size", "color"]], np.where(np.arange(len(CLASS)) % 3 == 0, CLASS, -1)
    half = hs.NaiveBayes(unlabeled_weight=0.5, prior=1.0, **FINE).fit(X, y)
    full = hs.NaiveBayes(unlabeled_weight=1.0, prior=1.0, **FINE).fit(X, y)
    assert hs.standard_errors(half, X, labels=y).se[0] > hs.standard_errors(full, X, labels=y).se[0]
    with pytest.raises(ParameterError, match="needs the labels"):
        hs.standard_errors(half, X)
