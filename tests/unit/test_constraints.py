"""Single parameters that are fixed, and classes or variables that share theirs: estimators, files, errors, refusals."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize

import halfseen as hs
from halfseen.errors import ModelFileError, ParameterError
from halfseen.estimators.state import State
from halfseen.leaves.categorical import read_fixed_table

N = 500


def drawn(seed=0):
    """Draw three classes: three columns of categories, one of three, a number and a count, with missing cells."""
    rng = np.random.default_rng(seed)
    k = rng.integers(0, 3, N)
    yes = np.array([[0.95, 0.8, 0.1], [0.1, 0.3, 0.8], [0.5, 0.9, 0.6]])
    table = pd.DataFrame({f"q{j}": np.where(rng.random(N) < yes[k, j], "y", "n") for j in range(3)})
    table["color"] = np.array(["blue", "green", "red"])[
        (rng.random(N)[:, None] > np.cumsum(np.eye(3)[k] * 0.4 + 0.2, 1)).sum(1)
    ]
    table["x"] = rng.normal(2.0 * k, 1.0)
    table["visits"] = rng.poisson(1.0 + 2 * k)
    return table.mask(rng.random(table.shape) < 0.03)


TABLE = drawn()
HOW = {"columns": {"visits": "poisson"}, "random_state": 0, "n_init": 8}
FIXED = {
    "q0": {"y": [1.0, None, None]},
    "color": {"red": [0.1, None, None], "blue": [0.2, np.nan, None]},
    "x": {"mean": [0.0, None, None], "sd": [None, 1.0, None]},
    "visits": [1.0, None, None],
    "weights": [None, 0.3, None],
}
TIED = {"q0": [[1, 2]], "q1": [[0, 1], [2]], "x": [[0, 2]], "visits": [[0, 1, 2]]}


@pytest.fixture(scope="module", params=[None, "row"])
def fixed(request):
    return hs.LatentClass(3, fixed=FIXED, prior=request.param, **HOW).fit(TABLE)


@pytest.fixture(scope="module", params=[None, "row"])
def tied(request):
    return hs.LatentClass(3, tied=TIED, prior=request.param, **HOW).fit(TABLE)


# ---- what is fixed and tied stays so ---------------------------------------------------------------------------------


def test_fixed_parameters_keep_their_values_exactly(fixed):
    found = fixed.params_
    assert found["q0"]["y"][0] == 1.0
    assert found["color"]["red"][0] == 0.1
    assert found["color"]["blue"][0] == 0.2
    assert_allclose(found["color"]["green"][0], 0.7, rtol=1e-12)
    assert found["x"]["mean"][0] == 0.0
    assert found["x"]["sd"][1] == 1.0
    assert found["visits"]["rate"][0] == 1.0
    assert fixed.weights_[1] == 0.3
    assert_allclose(fixed.weights_.sum(), 1.0, rtol=1e-12)


def test_free_parameters_are_counted(fixed, tied):
    free = hs.LatentClass(3, prior=None, **HOW).fit(TABLE).n_parameters_
    assert free == 2 + 9 + 6 + 6 + 3
    assert fixed.n_parameters_ == free - 1 - 2 - 2 - 1 - 1  # q0; color; mean and sd; rate; one share
    assert tied.n_parameters_ == free - 1 - 1 - 2 - 2


def test_tied_classes_share_their_parameters(tied):
    found = tied.params_
    assert found["q0"]["y"][1] == found["q0"]["y"][2] != found["q0"]["y"][0]
    assert found["q1"]["y"][0] == found["q1"]["y"][1] != found["q1"]["y"][2]
    for name in ("mean", "sd"):
        assert found["x"][name][0] == found["x"][name][2] != found["x"][name][1]
    assert len(set(found["visits"]["rate"])) == 1
    assert len(set(found["q2"]["y"])) == 3


def test_groups_of_all_classes_are_the_list_of_columns():
    one = hs.LatentClass(3, tied={"q0": [[0, 1, 2]]}, **HOW).fit(TABLE)
    other = hs.LatentClass(3, tied=["q0"], **HOW).fit(TABLE)
    assert one.loglik_ == other.loglik_
    assert one.n_parameters_ == other.n_parameters_


def test_all_cells_given_is_the_whole_column_fixed():
    values = {"y": [0.9, 0.1, 0.4], "n": [0.1, 0.9, 0.6]}
    one = hs.LatentClass(3, fixed={"q0": values}, prior=None, **HOW).fit(TABLE)
    other = hs.LatentClass(3, fixed=["q0"], start={"q0": values}, prior=None, **HOW).fit(TABLE)
    assert_allclose(one.loglik_, other.loglik_, atol=1e-6)
    assert one.n_parameters_ == other.n_parameters_


def test_the_constrained_maximum_is_that_of_a_numerical_optimiser():
    """Two classes, three binary columns: p(q0 = y | class 0) is given, the rest is found by Nelder and Mead."""
    table = TABLE[["q0", "q1", "q2"]].dropna()
    model = hs.LatentClass(2, fixed={"q0": {"y": [0.9, None]}}, prior=None, random_state=0).fit(table)
    y = (table == "y").to_numpy()

    def loss(z):
        share, *p = 1 / (1 + np.exp(-z))
        rows = np.array([[0.9, *p[:2]], p[2:]])
        like = np.where(y[:, None], rows, 1 - rows).prod(axis=2)
        return -np.log(like @ [share, 1 - share]).sum()

    params = model.params_
    at = [
        model.weights_[0],
        *(params[q]["y"][0] for q in ("q1", "q2")),
        *(params[q]["y"][1] for q in ("q0", "q1", "q2")),
    ]
    at = np.clip(at, 1e-6, 1 - 1e-6)
    found = minimize(
        loss, np.log(at / (1 - at)) + 0.05, method="Nelder-Mead", options={"maxiter": 4000, "maxfev": 4000}
    )
    assert -found.fun <= model.loglik_ + 1e-6
    assert_allclose(-found.fun, model.loglik_, atol=1e-2)


@pytest.mark.parametrize("method", ["gradient", "lbfgs"])
def test_gradient_methods_obey(method):
    model = hs.LatentClass(3, fixed=FIXED, method=method, max_iter=300, tol=1e-2, prior="row", **HOW).fit(TABLE)
    assert model.params_["q0"]["y"][0] == 1.0
    assert model.weights_[1] == 0.3


def test_classes_keep_their_order(fixed, tied):
    """The classes are named by number in the options: not sorted by size, and not to be relabelled."""
    small = hs.LatentClass(2, fixed={"x": {"mean": [4.5, 0.0]}}, prior=None, random_state=0).fit(TABLE[["x"]])
    assert_array_equal(small.params_["x"]["mean"], [4.5, 0.0])
    for model in (fixed, tied):
        with pytest.raises(ParameterError, match=r"name classes by number.*Use rename"):
            model.relabel([2, 1, 0])
        assert model.rename(["a", "b", "c"]).class_names_ == ("a", "b", "c")


def test_options_by_class_need_one_number_of_classes():
    for name, given in (("fixed", {"q0": {"y": [1.0, None]}}), ("tied", {"q0": [[0, 1]]})):
        with pytest.raises(ParameterError, match=f"{name}= needs one number of classes"):
            hs.LatentClass(range(1, 4), **{name: given}).fit(TABLE)


# ---- files and standard errors --------------------------------------------------------------------------------------


def test_model_files(fixed, tied, tmp_path):
    for model in (fixed, tied):
        hs.save(model, tmp_path / "m.halfseen")
        loaded = hs.load(tmp_path / "m.halfseen")
        assert_array_equal(loaded.predict_proba(TABLE), model.predict_proba(TABLE))
        assert loaded.n_parameters_ == model.n_parameters_
        assert loaded._model.log_prior(loaded._params) == model._model.log_prior(model._params)
        assert loaded.fit(TABLE).loglik_ == model.loglik_


def test_masks_of_a_file_are_checked(fixed):
    state = fixed._state()
    mask = next(name for name in state.tensors if name.startswith("fixed/emit/categorical"))
    assert "fixed/mix" in state.tensors
    for tensors in (
        {**state.tensors, mask: state.tensors[mask] + 0.5},
        {**state.tensors, mask: state.tensors[mask][:, :1]},
        {name: array for name, array in state.tensors.items() if name != mask},
        {**state.tensors, "fixed/emit/other": np.zeros((1, 1))},
    ):
        with pytest.raises((ParameterError, ModelFileError)):
            hs.LatentClass._from_state(State(state.record, tensors))


@pytest.mark.parametrize("groups", ["0 x 0", "0 0", "0 0 -1"])
def test_groups_of_a_file_are_checked(tied, groups):
    state = tied._state()
    name = "tied 0 0 2"
    columns = [
        {**column, "treatment": f"tied {groups}" if column["treatment"] == name else column["treatment"]}
        for column in state.record["columns"]
    ]
    tensors = {key.replace(name, f"tied {groups}"): array for key, array in state.tensors.items()}
    with pytest.raises(ParameterError, match=r"cannot be|names 2 groups for 3 components"):
        hs.LatentClass._from_state(State({**state.record, "columns": columns}, tensors))


def test_standard_errors_say_what_is_fixed(fixed):
    errors = hs.standard_errors(fixed, TABLE)
    named = dict(zip(zip(*errors.labels.values(), strict=True), errors.note, strict=True))
    held = [key for key, note in named.items() if note == "fixed"]
    assert set(held) == {
        ("(share)", "", "class 1"),
        *(("q0", value, "class 0") for value in "ny"),
        *(("color", value, "class 0") for value in ("blue", "green", "red")),
        ("x", "mean", "class 0"),
        ("x", "sd", "class 1"),
        ("visits", "rate", "class 0"),
    }


def test_standard_errors_of_tied_classes_are_equal_and_right():
    """A column alike in all classes has the errors of a simple sample; a group of two, those of the pooled counts."""
    table = TABLE.dropna(subset=["q0"])
    model = hs.LatentClass(3, tied={"q0": [[0, 1, 2]]}, prior=None, **HOW, max_iter=5000).fit(table)
    errors = hs.standard_errors(model, table)
    own = [i for i, name in enumerate(errors.labels["column"]) if name == "q0"]
    p = (table["q0"] == "y").mean()
    assert_allclose(errors.se[own], np.sqrt(p * (1 - p) / len(table)), rtol=1e-4)


def test_standard_errors_of_groups_are_those_of_the_same_network():
    """A class network in which two classes share the table of q0, by a parent that merges them."""
    table = TABLE[["q0", "q1", "q2"]]
    wide = pd.concat([table, table.add_suffix("_")], axis=1)
    classes = hs.LatentClass(2, tied={"q1": [[0, 1]]}, prior=None, random_state=0, max_iter=5000).fit(wide)
    edges = [("C", name) for name in wide if name != "q1"]
    net = hs.BayesNet([*edges, "q1"], hidden={"C": 2}, prior=None, random_state=0, max_iter=5000).fit(wide)
    assert_allclose(classes.loglik_, net.loglik_, atol=1e-5)
    assert classes.n_parameters_ == net.n_parameters_
    one, other = hs.standard_errors(classes, wide), hs.standard_errors(net, wide)
    mine = [i for i, name in enumerate(one.labels["column"]) if name == "q1"]
    its = [i for i, name in enumerate(other.labels["variable"]) if name == "q1"]
    assert_allclose(one.se[mine], np.repeat(other.se[its], 2), rtol=1e-3)


@pytest.mark.parametrize("option", [{"fixed": {"q0": {"y": [0.9, None]}}}, {"tied": {"q0": [[0, 1]]}}])
def test_the_bootstrap_obeys(option):
    """Refits and draws keep what is fixed or tied, and classes keep their places."""
    table = TABLE[["q0", "q1", "q2", "x"]]
    model = hs.LatentClass(2, prior=None, random_state=0, **option).fit(table)
    found = hs.bootstrap(model, table, draws=5, random_state=0)
    own = [
        i
        for i, (name, value) in enumerate(zip(*list(found.labels.values())[:2], strict=True))
        if (name, value) == ("q0", "y")
    ]
    values = found.draws[:, own]
    if "fixed" in option:
        assert (values[:, 0] == 0.9).all()
    else:
        assert (values[:, 0] == values[:, 1]).all()
    swapped = model._model.relabel(model._params, np.array([1, 0]))
    assert model._resampled(table).matched(swapped, model._params) is swapped
    with pytest.raises(ParameterError, match="cannot be tested"):
        hs.blrt(model, table, draws=2)


def test_draws_of_the_posterior_are_not_relabelled():
    """A draw in another order would fix or tie other classes."""
    table = TABLE[["q0", "q1", "q2"]]
    for option in ({}, {"tied": {"q0": [[0, 1]]}}, {"fixed": {"q0": {"y": [0.9, None]}}}):
        model = hs.LatentClass(2, random_state=0, **option).fit(table)
        swapped = model._model.relabel(model._params, np.array([1, 0]))
        assert (model._in_fitted_order(swapped) is swapped) == bool(option)


def test_with_covariates(tmp_path):
    """Constraints on columns go with shares that depend on covariates; those on the shares do not."""
    table, z = TABLE[["q0", "q1", "q2"]], pd.DataFrame({"age": np.linspace(-1, 1, N)})
    model = hs.LatentClass(2, fixed={"q0": {"y": [0.9, None]}}, prior=None, random_state=0).fit(table, covariates=z)
    assert model.params_["q0"]["y"][0] == 0.9
    assert model.n_parameters_ == 2 + 5
    hs.save(model, tmp_path / "m.halfseen")
    assert hs.load(tmp_path / "m.halfseen").n_parameters_ == 7
    with pytest.raises(ParameterError, match="Leave 'weights' free"):
        hs.LatentClass(2, fixed={"weights": [0.5, None]}).fit(table, covariates=z)


# ---- networks -------------------------------------------------------------------------------------------------------

NET = "C -> q0; C -> q1; C -> q2"
CELLS = {"C": [None, 0.3], "q0": [[0.05, 0.95], [np.nan, None]], "q1": [[1, None], [None, None]]}


def test_cells_of_tables_are_fixed(tmp_path):
    table = TABLE[["q0", "q1", "q2"]]
    net = hs.BayesNet(NET, hidden={"C": 2}, fixed=CELLS, prior=None, random_state=0).fit(table)
    assert net.n_parameters_ == 4
    assert net.params_["C"].tolist() == [0.7, 0.3]
    assert net.params_["q0"][0].tolist() == [0.05, 0.95]
    assert net.params_["q1"][0].tolist() == [1.0, 0.0]
    cells = {"weights": [None, 0.3], "q0": {"y": [0.95, None]}, "q1": {"n": [1.0, None]}}
    classes = hs.LatentClass(2, fixed=cells, prior=None, random_state=0).fit(table)
    assert_allclose(classes.loglik_, net.loglik_, atol=1e-5)
    notes = hs.standard_errors(net, table).note
    assert notes.count("fixed") == 2 + 2 + 2
    hs.save(net, tmp_path / "n.halfseen")
    loaded = hs.load(tmp_path / "n.halfseen")
    assert loaded.n_parameters_ == 4
    assert loaded.fit(table).loglik_ == net.loglik_
    state = net._state()
    with pytest.raises(ParameterError, match="mask of fixed cells"):
        hs.BayesNet._from_state(
            State(state.record, {**state.tensors, "fixed/tables": state.tensors["fixed/tables"] * 0.5})
        )


def test_a_class_network_with_a_fixed_cell():
    """A perfect item: nobody of class 0 says yes to q0; the classes are then named, and keep their order."""
    net = hs.BayesNet.latent_classes(2, ["q0", "q1", "q2"], fixed={"q0": [[1, 0], [None, None]]}, prior=None)
    net.fit(TABLE[["q0", "q1", "q2"]])
    assert net.params_["q0"][0].tolist() == [1.0, 0.0]


# ---- bad input ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"fixed": {"q9": {"y": [1.0, None, None]}}}, "fixed: there is no column 'q9'"),
        ({"fixed": {"q0": {"maybe": [1.0, None, None]}}}, r"categories \[\"'maybe'\"\] are not those of the column"),
        ({"fixed": {"q0": {"y": [1.0, None]}}}, "q0.*a probability for each of 3 classes"),
        ({"fixed": {"q0": {"y": [1.5, None, None]}}}, "q0.*between 0 and 1"),
        ({"fixed": {"q0": {"y": [0.6, None, None], "n": [0.6, None, None]}}}, "row 0 sum to 1.2"),
        ({"fixed": {"q0": {"y": [0.6, None, None], "n": [0.3, None, None]}}}, "row 0 sum to 0.9"),
        ({"fixed": {"q0": {"y": ["a", None, None]}}}, "expected probabilities"),
        ({"fixed": {"q0": [[1.0, 0.0]]}}, r"expected shape \(3, 2\)"),
        ({"fixed": {"x": {"mean": [1.0]}}}, "fixed.'x'.: mean: expected 3 numbers"),
        ({"fixed": {"x": {"mode": [1.0, None, None]}}}, "expected {'mean'"),
        ({"fixed": {"x": {"sd": [0.0, None, None]}}}, "sd: numbers must be finite and above 0"),
        ({"fixed": {"x": {"sd": [1.0, None, None], "var": [1.0, None, None]}}}, "var is given twice"),
        ({"fixed": {"x": 3}}, "fixed.'x'.: expected {'mean'"),
        ({"fixed": {"visits": [-1.0, None, None]}}, "visits.*rate: numbers must be finite and at least 0"),
        ({"fixed": {"weights": [0.7, 0.7, None]}}, "weights.*sum to 1.4"),
        ({"fixed": {"q0": {"y": [1.0, None, None]}}, "tied": ["q0"]}, "cannot be both fixed and tied"),
        ({"fixed": "q0"}, "fixed='q0' is not a list of names"),
        ({"tied": {"q9": [[0, 1]]}}, "tied: there is no column 'q9'"),
        ({"tied": {"q0": [[0, 3]]}}, "3 is not the number of a class, 0 to 2"),
        ({"tied": {"q0": [[0, 1], [1, 2]]}}, "class 1 is in two groups"),
        ({"tied": {"q0": [0, 1]}}, "not a list of groups of classes"),
        ({"tied": {"q0": "all"}}, "not a list of groups of classes"),
        ({"tied": {"weights": [[0, 1]]}}, "'weights' cannot be tied"),
    ],
)
def test_bad_constraints_are_refused(option, message):
    with pytest.raises(ParameterError, match=message):
        hs.LatentClass(3, **HOW, **option).fit(TABLE)


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ({"q9": [1, 0]}, "fixed: there is no variable 'q9'"),
        ({"q0": [1, 0]}, r"fixed\['q0'\], P\(q0 \| C\): expected shape \(2, 2\)"),
        ({"C": [0.5, 0.6]}, "sum to 1.1"),
        ({"C": [-0.5, None]}, "between 0 and 1"),
    ],
)
def test_bad_cells_of_networks_are_refused(cells, message):
    with pytest.raises(ParameterError, match=message):
        hs.BayesNet(NET, hidden={"C": 2}, fixed=cells).fit(TABLE[["q0", "q1", "q2"]])


def test_a_network_table_cannot_be_fixed_and_tied():
    with pytest.raises(ParameterError, match="'q0' cannot be both fixed and tied"):
        hs.BayesNet(NET, hidden={"C": 2}, fixed={"q0": CELLS["q0"]}, tied=[("q0", "q1")]).fit(TABLE[["q0", "q1", "q2"]])


def test_text_and_other_estimators_take_whole_columns_only():
    words = pd.DataFrame({"body": ["ant bee", "bee cat", "ant cat cat", "ant bee bee"] * 5, "q": ["y", "n"] * 10})
    with pytest.raises(ParameterError, match="single parameters of a column of text cannot be fixed"):
        hs.LatentClass(2, columns={"body": "text"}, fixed={"body": {"ant": [0.5, None]}}).fit(words)
    with pytest.raises(ParameterError, match=r"fixed=.* is not a list of names"):
        hs.HMM(2, fixed={"x": {"mean": [0.0, None]}}).fit(TABLE[["x"]])


def test_read_fixed_table_completes_rows():
    assert_array_equal(read_fixed_table([[0.5, 0.5, None]], (1, 3), "t"), [[0.5, 0.5, 0.0]])
    assert_array_equal(read_fixed_table([None, None], (2,), "t"), [np.nan, np.nan])
