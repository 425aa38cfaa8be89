"""Covariates on class membership: figures of poLCA, recovery, reading, prediction, files, and what is refused."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.special import log_softmax, logsumexp, softmax

import halfseen as hs
from halfseen.data.covariate_formula import variables_of
from halfseen.data.design import Design, part
from halfseen.errors import DataError, MarginalSharesWarning, ParameterError, SeparationWarning
from tests.shared_data import shared_data

SLOPES = np.array([[0.0, -0.5, 0.7], [0.0, 1.2, -0.8]])  # intercepts and slopes of three classes


def simulated(n_rows=600, seed=0, slopes=SLOPES, items=5):
    rng = np.random.default_rng(seed)
    z = rng.normal(size=n_rows) * 2 + 10
    eta = slopes[0] + np.outer((z - 10) / 2, slopes[1])
    k = np.array([rng.choice(eta.shape[1], p=softmax(row)) for row in eta])
    high = np.array([[0.9, 0.1, 0.5], [0.9, 0.2, 0.1], [0.1, 0.8, 0.9], [0.8, 0.1, 0.1], [0.1, 0.1, 0.9]])[:items]
    X = (rng.random((n_rows, items)) < high[:, k].T).astype(int)
    frame = pd.DataFrame(X, columns=[f"q{j}" for j in range(items)]).assign(age=z)
    return frame, k


FRAME, CLASS = simulated()
ITEMS = [f"q{j}" for j in range(5)]
FINE = {"random_state": 0, "n_init": 4, "prior": None}


@pytest.fixture(scope="module")
def model():
    return hs.LatentClass(3, **FINE).fit(FRAME, covariates="age")


# ---- figures -------------------------------------------------------------------------------------------------------


@pytest.mark.thorough
def test_cheating_as_polca():
    X = pd.read_csv(shared_data("cheating/cheating.csv"))
    model = hs.LatentClass(2, prior=None, random_state=0).fit(X, covariates="GPA", missing="drop")
    assert model.loglik_ == pytest.approx(-429.6384, abs=1e-4)
    assert model._n_rows == 315
    assert "4 rows with a missing covariate were left out" in model.events_
    found = hs.coefficients(model, X, "opg", reference=1, missing="drop")  # poLCA's errors are outer products
    assert_allclose(found.estimate, [[-0.1134, 0.8425]], atol=1e-4)
    assert_allclose(found.se, [[0.5099, 0.2813]], atol=1e-4)
    assert model.n_parameters_ == 10


@pytest.mark.thorough
def test_election_as_polca():
    columns = shared_data("election/election.csv")
    X = pd.read_csv(columns).drop(columns=["VOTE3", "AGE", "EDUC", "GENDER"]).dropna()
    model = hs.LatentClass(3, prior=None, random_state=0, n_init=8).fit(X, covariates="PARTY")
    assert model.loglik_ == pytest.approx(-16222.32, abs=5e-3)
    found = hs.coefficients(model, X, "opg")
    assert_allclose(found.estimate, [[-3.8181, 0.7933], [1.1615, -0.5744]], atol=1e-4)
    assert_allclose(found.se[:, 1], [0.0623, 0.0640], atol=1e-4)


# ---- what is fitted ------------------------------------------------------------------------------------------------


def loglik_by_hand(X, z, shares, chances):
    """Log-likelihood from the definition: shares of each row, chances (items, K) of a one."""
    cells = np.where(X[:, :, None] == 1, np.log(chances), np.log1p(-chances)).sum(axis=1)
    return float(logsumexp(np.log(shares) + cells, axis=1).sum())


def test_the_fit_is_the_maximum_of_the_likelihood_by_its_definition(model):
    X, z = FRAME[ITEMS].to_numpy(), FRAME["age"].to_numpy()
    at = hs.coefficients(model, FRAME).estimate
    free = np.concatenate([np.zeros((1, 2)), at])
    chances = np.array([model.params_[name][1] for name in ITEMS])

    def value(moved):
        coefs = free.copy()
        coefs[1:] = moved.reshape(2, 2)
        eta = coefs[:, 0] + np.outer(z, coefs[:, 1])
        return -loglik_by_hand(X, z, softmax(eta, axis=1), chances)

    assert -value(at.ravel()) == pytest.approx(model.loglik_, abs=1e-6)
    better = minimize(value, at.ravel(), method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-10, "maxiter": 4000})
    assert -better.fun <= model.loglik_ + 1e-5


@pytest.mark.thorough
def test_simulated_slopes_are_recovered():
    frame, k = simulated(20_000, seed=3)
    found = hs.LatentClass(3, random_state=0, n_init=4).fit(frame, covariates="age")
    order = [np.bincount(k[found.predict(frame) == j], minlength=3).argmax() for j in range(3)]
    table = hs.coefficients(found, frame)
    truth = np.array([SLOPES[:, j] / [1, 2] for j in order])
    truth[:, 0] -= 10 * truth[:, 1]
    truth = (truth - truth[0])[1:]
    assert np.all(np.abs(table.estimate - truth) < 4 * table.se)
    assert np.all(table.se[:, 1] < 0.05)


def test_one_step_of_the_logit_is_that_of_an_independent_newton(model):
    """With the class of every row known, the fit is a multinomial logit of the class."""
    labels = CLASS
    known = hs.LatentClass(3, prior=None, random_state=0).fit(FRAME, labels=labels, classes=[0, 1, 2], covariates="age")
    z = np.column_stack([np.ones(len(FRAME)), FRAME["age"] - 10])

    def value(b):
        eta = z @ np.column_stack([np.zeros(2), b.reshape(2, 2)])
        return -log_softmax(eta, axis=1)[np.arange(len(z)), labels].sum()

    truth = minimize(value, np.zeros(4), method="BFGS", options={"gtol": 1e-8}).x.reshape(2, 2)
    found = hs.coefficients(known, FRAME, labels=labels).estimate
    found = found @ np.array([[1.0, 0.0], [10.0, 1.0]])  # intercepts at the same place
    assert_allclose(found, truth.T, atol=1e-5)


@pytest.mark.parametrize("assign", ["soft", "hard"])
def test_the_objective_never_falls_and_rows_in_any_order_give_the_same_bits(assign):
    model = hs.LatentClass(2, random_state=1, n_init=2, assign=assign)
    one = model.fit(FRAME, covariates="age")
    assert np.all(np.diff(one.trace_) >= 0)
    shuffled = FRAME.sample(frac=1, random_state=2)
    other = hs.LatentClass(2, random_state=1, n_init=2, assign=assign).fit(shuffled, covariates="age")
    assert np.array_equal(one._membership.coefficients, other._membership.coefficients)
    assert one.loglik_ == other.loglik_


def test_weight_two_is_the_row_twice():
    weight = np.random.default_rng(0).integers(0, 3, len(FRAME))
    repeated = FRAME.loc[np.repeat(FRAME.index, weight)]
    fits = [
        hs.LatentClass(2, **FINE).fit(FRAME, sample_weight=weight, covariates="age"),
        hs.LatentClass(2, **FINE).fit(repeated, covariates="age"),
    ]
    assert_allclose(*(each._membership.coefficients for each in fits), atol=1e-6)
    assert fits[0].loglik_ == pytest.approx(fits[1].loglik_, abs=1e-6)


def test_equal_rows_are_merged_only_with_equal_covariates():
    X = pd.DataFrame({"q": [0, 0, 1, 1] * 50, "r": [0, 1, 0, 1] * 50, "z": np.arange(200) % 7})
    fitted = hs.LatentClass(2, **FINE)
    seen = []
    original = hs.LatentClass._search
    fitted._search = lambda table, *more: seen.append(table) or original(fitted, table, *more)
    fitted.fit(X, covariates="z")
    assert seen[0].n_rows == len(X.drop_duplicates())


@pytest.mark.parametrize("method", ["lbfgs", "gradient"])
def test_gradient_methods_reach_the_same_maximum(model, method):
    found = hs.LatentClass(3, method=method, max_iter=3000, **FINE).fit(FRAME, covariates="age")
    assert found.loglik_ == pytest.approx(model.loglik_, abs=1e-4)


def test_sampled_assignment_comes_near(model):
    found = hs.LatentClass(3, assign="sample", max_iter=200, **FINE).fit(FRAME, covariates="age")
    assert found.loglik_ == pytest.approx(model.loglik_, abs=8)


def test_a_range_of_classes_counts_coefficients(model):
    found = hs.LatentClass([1, 2, 3], **FINE).fit(FRAME, covariates="age")
    assert found.n_components_ == 3
    assert found.selection_["n_parameters"].tolist() == [5, 12, 19]
    assert found.loglik_ == pytest.approx(model.loglik_, abs=1e-4)


def test_one_class_has_no_coefficients():
    found = hs.LatentClass(1).fit(FRAME, covariates="age")
    assert len(found.coefficients_) == 0
    with pytest.raises(ParameterError, match="one class"):
        hs.coefficients(found, FRAME)


@pytest.mark.thorough
def test_gaussian_mixture_takes_covariates():
    rng = np.random.default_rng(0)
    z = rng.normal(size=400)
    k = rng.random(400) < 1 / (1 + np.exp(-2 * z))
    X = rng.normal(size=(400, 2)) + 4 * k[:, None]
    found = hs.GaussianMixture(2, random_state=0).fit(X, covariates=z)
    table = hs.coefficients(found, X, covariates=z)
    assert abs(abs(table.estimate[0, 1]) - 2) < 4 * table.se[0, 1]
    with_z, without = found.predict_proba(X, covariates=z), quietly(found.predict_proba, X)
    assert with_z.dtype == np.float64
    assert not np.allclose(with_z, without)


def quietly(call, *arguments, **named):
    with pytest.warns(MarginalSharesWarning):
        return call(*arguments, **named)


# ---- errors of estimates -------------------------------------------------------------------------------------------


def test_errors_are_the_second_differences_of_the_loglik():
    frame, _ = simulated(400, seed=5, items=4)
    fitted = hs.LatentClass(2, tol=1e-11, **FINE).fit(frame, covariates="age")
    errors = hs.standard_errors(fitted, frame)
    view = fitted._inferred()
    observed = fitted._observed(frame)
    from halfseen.engine.loop.em import evaluate

    at = view._model.free(view._params)
    size = len(at)

    def value(x):
        return evaluate(view._model, observed.data, [view._model.freed(x, view._params)])[0].objective

    h = 2e-3
    hessian = np.zeros((size, size))
    for i in range(size):
        for j in range(i, size):
            moves = [(a, b) for a in (1, -1) for b in (1, -1)]
            hessian[i, j] = hessian[j, i] = sum(
                a * b * value(at + h * (a * np.eye(size)[i] + b * np.eye(size)[j])) for a, b in moves
            ) / (4 * h * h)
    covariance = np.linalg.pinv(-hessian, rcond=1e-6)
    contrast = np.zeros(size)  # slope of class 1 against class 0: coefficients come first, (P, K)
    contrast[2], contrast[3] = -1, 1
    by_hand = np.sqrt(contrast @ covariance @ contrast) / fitted._membership.design.spread[0]
    place = errors.labels["value"].index("age") + 1
    assert errors.se[place] == pytest.approx(by_hand, rel=1e-3)


def test_another_reference_gives_the_same_contrasts(model):
    one, other = hs.coefficients(model, FRAME), hs.coefficients(model, FRAME, reference="class 1")
    assert other.reference == "class 1"
    assert_allclose(other.estimate[0], -one.estimate[0])
    assert_allclose(other.se[0], one.se[0])
    assert_allclose(other.estimate[1], one.estimate[1] - one.estimate[0])
    assert other.tests[0].statistic == pytest.approx(one.tests[0].statistic)
    assert one.tests[0].df == 2


def test_terms_with_several_levels_are_tested_together():
    frame = FRAME.assign(town=np.random.default_rng(0).choice(["x", "y", "z"], len(FRAME)))
    found = hs.LatentClass(2, **FINE).fit(frame, covariates="age + town")
    tests = hs.coefficients(found, frame).tests
    assert [test.name for test in tests] == ["age", "town"]
    assert [test.df for test in tests] == [1, 2]


# ---- with and without covariates ------------------------------------------------------------------------------------


def test_predictions_use_the_covariates_of_the_rows(model):
    by_formula = model.predict_proba(FRAME)
    assert_allclose(model.predict_proba(FRAME[ITEMS], covariates=FRAME[["age"]]), by_formula)
    assert model.score(FRAME) * len(FRAME) == pytest.approx(model.loglik_)
    assert_allclose(model.score_samples(FRAME).sum(), model.loglik_)
    assert np.array_equal(model.predict(FRAME), by_formula.argmax(axis=1))
    blank = FRAME[["age"]].assign(**dict.fromkeys(ITEMS))[[*ITEMS, "age"]].head(3)
    assert_allclose(model.predict_proba(blank), model.shares_over("age", FRAME["age"][:3]).iloc[:, 1:], atol=1e-12)


def test_without_covariates_the_average_shares_are_used(model):
    mean = np.mean(
        softmax(model._membership.design.matrix(part(FRAME, ["age"])[1]) @ model._membership.coefficients, 1), 0
    )
    assert_allclose(model.weights_, mean, atol=1e-12)
    found = quietly(model.predict_proba, FRAME[ITEMS])
    plain = hs.LatentClass.from_params(model.weights_, {k: v for k, v in model.params_.items() if k != "weights"})
    assert_allclose(found, plain.predict_proba(FRAME[ITEMS]))


def test_criteria_are_those_of_the_fit(model):
    assert model.bic() == pytest.approx(model.bic(FRAME))
    assert model.icl() == pytest.approx(model.icl(FRAME))
    beside = hs.LatentClass(2, **FINE).fit(FRAME[ITEMS], covariates=FRAME[["age"]])
    with pytest.raises(ParameterError, match="leave X out"):
        beside.bic(FRAME[ITEMS])


def test_imputed_rows_keep_their_columns(model):
    holes = FRAME.head(20).copy()
    holes.loc[holes.index[::2], "q1"] = None
    filled = model.impute(holes)
    assert list(filled.columns) == list(FRAME.columns)
    assert filled["q1"].notna().all()


def test_rows_are_drawn_given_covariates(model):
    z = pd.DataFrame({"age": np.repeat([4.0, 16.0], 4000)})
    rows, labels = model.sample(covariates=z, random_state=0)
    assert list(rows.columns) == ITEMS
    expected = model.shares_over("age", [4.0, 16.0]).iloc[:, 1:].to_numpy()
    drawn = np.array([np.bincount(part, minlength=3) / 4000 for part in (labels[:4000], labels[4000:])])
    assert_allclose(drawn, expected, atol=0.04)
    with pytest.warns(MarginalSharesWarning):
        model.sample(3)


def test_diagnostics_use_the_covariates(model):
    found = hs.diagnostics(model, FRAME)
    assert found.loglik == pytest.approx(model.loglik_)
    assert found.pattern_fit is None
    assert found.entropy == pytest.approx(model.entropy())


def test_relabelled_classes_have_the_same_coefficients(model):
    other = model.relabel([2, 0, 1])
    assert_allclose(other.predict_proba(FRAME), model.predict_proba(FRAME)[:, [2, 0, 1]])
    one, two = hs.coefficients(model, FRAME, reference=2), hs.coefficients(other, FRAME, reference=0)
    assert_allclose(two.estimate, one.estimate)
    assert_allclose(two.se, one.se, rtol=1e-6)


def test_files_and_pickles_keep_the_covariates(model, tmp_path):
    hs.save(model, tmp_path / "m.halfseen")
    for other in (hs.load(tmp_path / "m.halfseen"), pickle.loads(pickle.dumps(model))):
        assert np.array_equal(other.predict_proba(FRAME), model.predict_proba(FRAME))
        assert other.n_parameters_ == model.n_parameters_
        assert str(hs.coefficients(other, FRAME)) == str(hs.coefficients(model, FRAME))
        assert other.shares_over("age").equals(model.shares_over("age"))


def test_a_file_whose_covariates_are_damaged_is_refused(model, tmp_path):
    from halfseen.families.mixture import state

    found = state.taken(model)
    record = {**found.record, "model": {**found.record["model"]}}
    record["model"]["covariates"] = {**record["model"]["covariates"], "formula": "I(__import__('os'))"}
    with pytest.raises(ParameterError, match="not allowed"):
        state.restored(hs.LatentClass, found._replace(record=record))
    lost = {name: array for name, array in found.tensors.items() if name != "covariates/coefficients"}
    with pytest.raises(ParameterError, match="coefficients"):
        state.restored(hs.LatentClass, found._replace(tensors=lost))


@pytest.mark.parametrize("container", [pl.DataFrame, lambda d: d, lambda d: pl.DataFrame(d).to_arrow()])
def test_every_container_gives_the_same_coefficients(container):
    data = container(FRAME)
    found = hs.LatentClass(2, **FINE).fit(data, covariates="age")
    same = hs.LatentClass(2, **FINE).fit(FRAME, covariates="age")
    assert np.array_equal(found._membership.coefficients, same._membership.coefficients)
    assert np.array_equal(found.predict_proba(data), same.predict_proba(FRAME))


def test_units_of_a_covariate_change_its_coefficient_only():
    far = FRAME.assign(age=FRAME["age"] * 1e6 + 1e9)
    one, other = (hs.LatentClass(2, tol=1e-12, **FINE).fit(each, covariates="age") for each in (FRAME, far))
    assert other.loglik_ == pytest.approx(one.loglik_, abs=1e-6)
    ratio = hs.coefficients(one, FRAME).estimate[0, 1] / hs.coefficients(other, far).estimate[0, 1]
    assert ratio == pytest.approx(1e6, rel=1e-5)


# ---- reading -------------------------------------------------------------------------------------------------------


def test_a_table_of_covariates_takes_text_by_its_levels():
    z = pd.DataFrame({"town": np.array(["b", "a", "c"])[np.arange(600) % 3], "age": FRAME["age"]})
    found = hs.LatentClass(2, **FINE).fit(FRAME[ITEMS], covariates=z)
    assert found._membership.design.names == ("town[T.b]", "town[T.c]", "age")
    by_formula = hs.LatentClass(2, **FINE).fit(
        FRAME[ITEMS].assign(town=z["town"], age=z["age"]), covariates="town + age"
    )
    assert np.array_equal(found._membership.coefficients, by_formula._membership.coefficients)


def test_declared_levels_decide_the_reference():
    town = pd.Categorical(np.array(["b", "a", "c"])[np.arange(600) % 3], categories=["c", "a", "b"], ordered=True)
    found = hs.LatentClass(2, **FINE).fit(FRAME[ITEMS], covariates=pd.DataFrame({"town": town}))
    assert found._membership.design.names == ("town[T.a]", "town[T.b]")


@pytest.mark.parametrize(
    ("formula", "names"),
    [
        ("age + C(q0)", ("age", "C(q0)[T.1]")),
        ("log(age) + I(age**2)", ("log(age)", "I(age ** 2)")),
        ("age * C(q0)", ("age", "C(q0)[T.1]", "age:C(q0)[T.1]")),
        ("center(age)", ("center(age)",)),
    ],
)
def test_formulas(formula, names):
    found = hs.LatentClass(2, **FINE).fit(FRAME, covariates=formula)
    design = found._membership.design
    assert design.names == names
    record = Design.read(design.record(), design.centre, design.spread, design.largest)
    _, columns = part(FRAME, design.variables)
    assert np.array_equal(record.matrix(columns), design.matrix(columns))
    one = columns.take(np.array([3]))
    assert_allclose(record.matrix(one), design.matrix(columns)[3:4])  # one row alone, with the state of the fit


@pytest.mark.parametrize(
    ("formula", "said"),
    [
        ("y ~ age", "right side"),
        ("age + ", "not a formula"),
        ("0 + age", "intercept"),
        ("1", "at least one"),
        ("__import__('os')", "not allowed"),
        ("age.__class__", "no column"),
        ("I(9**9**9)", "not allowed"),
        ("I(age**age)", "not allowed"),
        ("C(age + 1)", "not allowed"),
        ("bs(age)", "not allowed"),
        ("height", "no column 'height'"),
    ],
)
def test_other_formulas_are_refused(formula, said):
    with pytest.raises(ValueError, match=said):
        hs.LatentClass(2).fit(FRAME, covariates=formula)


def test_variables_of_a_formula():
    assert variables_of("`my age`*C(b) + log(c)") == (("my age", "b", "c"), ("b",))


def bad(**changes):
    return FRAME.assign(**changes)


@pytest.mark.parametrize(
    ("X", "covariates", "said"),
    [
        (FRAME[ITEMS], FRAME[["age"]].head(10), "10 rows, but X has 600"),
        (FRAME[ITEMS], np.ones(600), "x0 is 1 in all rows"),
        (bad(two=FRAME["age"] * 2), "age + two", "two follows from the others"),
        (FRAME[ITEMS], np.r_[np.nan, np.arange(599.0)], "x0 is missing in row 0 .1 such rows"),
        (FRAME[ITEMS], np.r_[np.inf, np.arange(599.0)], "covariates contain infinity: column .x0., row 0"),
        (bad(age=-FRAME["age"]), "log(age)", "log.age. is nan"),
        (FRAME[ITEMS], pd.DataFrame({"t": ["a"] * 600}), "one value in all rows"),
        (FRAME[ITEMS].to_numpy(), "age", "no names"),
    ],
)
def test_covariates_that_cannot_be_used_are_refused(X, covariates, said):
    with pytest.raises(ValueError, match=said):
        hs.LatentClass(2).fit(X, covariates=covariates)


def test_other_uses_are_refused(model):
    with pytest.raises(ParameterError, match="cannot be fixed"):
        hs.LatentClass(2, start={"weights": [0.5, 0.5]}, fixed=["weights"]).fit(FRAME, covariates="age")
    with pytest.raises(ParameterError, match="cannot be fixed"):
        hs.GaussianMixture(2, weights="uniform").fit(np.eye(4), covariates=[1, 2, 3, 5])
    with pytest.raises(ParameterError, match="missing"):
        hs.LatentClass(2).fit(FRAME, missing="drop")
    with pytest.raises(ParameterError, match="missing='fill'"):
        hs.LatentClass(2).fit(FRAME, covariates="age", missing="fill")
    with pytest.raises(ParameterError, match="pieces"):
        model.partial_fit(FRAME)
    for refused in (hs.posterior, hs.bound, hs.hidden_cells, hs.bootstrap, hs.blrt, lambda m, X: m.why(X.head(1))):
        with pytest.raises(ParameterError, match="covariates"):
            refused(model, FRAME)
    with pytest.raises(ParameterError, match="covariates"):
        hs.to_sql(model, "rows")
    without = hs.LatentClass(2, **FINE).fit(FRAME[ITEMS])
    with pytest.raises(ParameterError, match="fitted without"):
        without.predict(FRAME[ITEMS], covariates=FRAME[["age"]])
    with pytest.raises(AttributeError, match="without covariates"):
        without.coefficients_  # noqa: B018
    with pytest.raises(ParameterError, match="without covariates"):
        hs.coefficients(without, FRAME[ITEMS])
    with pytest.raises(ParameterError, match="no covariate 'height'"):
        model.shares_over("height")
    with pytest.raises(ParameterError, match="no class"):
        hs.coefficients(model, FRAME, reference="class 9")
    town = hs.LatentClass(2, **FINE).fit(bad(town=np.array(["a", "b"])[np.arange(600) % 2]), covariates="town")
    with pytest.raises(DataError, match="did not see"):
        town.predict(bad(town="c"))
    with pytest.raises(DataError, match="missing in row 1"):
        model.predict(FRAME.assign(age=FRAME["age"].where(FRAME.index != 1)))


def test_streams_are_refused(tmp_path):
    FRAME.to_csv(tmp_path / "rows.csv", index=False)
    table = hs.open_table(tmp_path / "rows.csv", memory="16 kB")
    with pytest.raises(ValueError, match="memory"):
        hs.LatentClass(2).fit(table, covariates="age")
    in_memory = hs.LatentClass(2, **FINE).fit(hs.open_table(tmp_path / "rows.csv"), covariates="age")
    assert in_memory.loglik_ == pytest.approx(hs.LatentClass(2, **FINE).fit(FRAME, covariates="age").loglik_)


def test_rows_of_weight_zero_count_for_nothing():
    odd = pd.concat([FRAME, FRAME.head(1).assign(age=1e9)])
    weight = np.r_[np.ones(len(FRAME)), 0.0]
    one = hs.LatentClass(2, **FINE).fit(odd, sample_weight=weight, covariates="age")
    other = hs.LatentClass(2, **FINE).fit(FRAME, covariates="age")
    assert np.array_equal(one._membership.coefficients, other._membership.coefficients)


# ---- separation -----------------------------------------------------------------------------------------------------


def separated():
    rng = np.random.default_rng(0)
    k = np.arange(200) % 2
    X = (rng.random((200, 6)) < np.where(k, 0.95, 0.05)[:, None]).astype(int)
    return pd.DataFrame(X, columns=list("abcdef")).assign(z=np.where(k, "yes", "no"))


def test_separation_is_said_and_coefficients_stay_finite():
    with pytest.warns(SeparationWarning, match="coefficient of z.* has no finite estimate"):
        found = hs.LatentClass(2, **FINE).fit(separated(), covariates="z")
    assert any(event.startswith("separation") for event in found.events_)
    assert np.isfinite(found._membership.coefficients).all()
    assert np.abs(found._membership.coefficients).max() < 50
    errors = hs.standard_errors(found, separated())
    place = [i for i, name in enumerate(errors.labels["column"]) if name == "(membership)"]
    assert all(errors.note[i] for i in place)


def test_with_a_prior_separated_classes_have_an_estimate_that_rests_on_it():
    with pytest.warns(SeparationWarning, match="rests on the prior"):
        found = hs.LatentClass(2, random_state=0, n_init=4).fit(separated(), covariates="z")
    assert np.abs(found.coefficients_["estimate"]).max() < 20


def test_the_paragraph_on_methods_says_what_membership_depends_on(model):
    assert "depends on covariates by a multinomial logit model: age" in hs.methods_paragraph(model)


@pytest.mark.thorough
def test_plot_shares(model):
    ax = hs.plot_shares(model, "age")
    assert len(ax.lines) == 3
    assert ax.get_xlabel() == "age"
    town = bad(town=np.array(["a", "b"])[np.arange(600) % 2])
    levels = hs.LatentClass(2, **FINE).fit(town, covariates="age + town")
    bars = hs.plot_shares(levels, "town", at={"age": 12.0})
    assert [text.get_text() for text in bars.get_xticklabels()] == ["a", "b"]
    with pytest.raises(ParameterError, match="without covariates"):
        hs.plot_shares(hs.LatentClass(2, **FINE).fit(FRAME[ITEMS]), "age")


@pytest.mark.thorough
def test_the_report_has_a_section(model, tmp_path):
    hs.report(model, FRAME, tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text()
    assert "Class membership depends on age" in page
    assert "odds ratio" in page
