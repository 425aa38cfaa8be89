"""A table in memory as the data of a studio: the same fits, the options of the model, code that makes it again."""

import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest

import halfseen as hs
from halfseen.errors import DataError, HalfseenError, ParameterError
from halfseen.studio import fitting
from halfseen.studio.code import code_of
from halfseen.studio.held import hold, spec_of
from halfseen.studio.routes import Ask, answer
from halfseen.studio.session import Session


class Shown:
    """A session over a table, asked as a page asks."""

    def __init__(self, model, X, **marks):
        self.held = hold(X, model, **marks)
        self.session = Session(spec_of(model, self.held), model, held=self.held)

    def get(self, path, **params):
        return answer("GET", path, Ask(self.session, params, {}))

    def post(self, path, **body):
        return answer("POST", path, Ask(self.session, {}, body))

    def fit(self, **changes):
        if changes:
            self.post("spec", changes=changes)
        fitting.start_fit(self.session)
        assert self.session.jobs.wait(60)
        [last] = [event for event in self.session.events.after(0) if event.name in ("done", "failed")][-1:]
        assert last.name == "done", last.data
        return self.held.of_user(self.session.shown.model)

    def python(self):
        return "\n".join(code_of(self.session, self.session.version()).python)


@pytest.fixture
def show():
    shown = []

    def make(model, X, **marks):
        shown.append(Shown(model, X, **marks))
        return shown[-1]

    yield make
    for each in shown:
        each.session.close()


@pytest.fixture
def cell(monkeypatch):
    """Give values names, as a cell of a notebook does."""

    def named(**values):
        for name, value in values.items():
            monkeypatch.setattr(sys.modules["__main__"], name, value, raising=False)
        return values

    return named


def made_again(python, names):
    """Run code that was shown; return its model."""
    found = dict(names)
    exec(python, found)
    return found["model"]


def mixed():
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 2, 120)
    frame = pd.DataFrame(
        {
            "size": rng.normal(kind * 4.0),
            "grade": pd.Categorical(rng.choice(["low", "high"], 120), ["low", "mid", "high"], ordered=True),
            "color": np.where(rng.random(120) < 0.8, np.array(["red", "blue"])[kind], "green"),
        }
    )
    frame.loc[::7, "size"] = None
    return frame


CONTAINERS = {
    "pandas": lambda frame: frame,
    "polars": lambda frame: pl.from_pandas(frame.assign(grade=frame.grade.astype(str))).with_columns(
        pl.col("grade").cast(pl.Enum(["low", "mid", "high"]))
    ),
    "arrow": lambda frame: CONTAINERS["polars"](frame).to_arrow(),
    "array": lambda frame: frame.astype(object).where(frame.notna(), None).to_numpy(dtype=object),
    "list": lambda frame: frame.astype(object).where(frame.notna(), None).to_numpy(dtype=object).tolist(),
}


@pytest.mark.parametrize("container", CONTAINERS)
def test_a_fit_in_the_studio_is_that_in_python(show, container):
    X = CONTAINERS[container](mixed())
    model = hs.LatentClass(2, random_state=3).fit(X)
    again = show(model, X).fit()
    assert again.loglik_ == model.loglik_
    assert again.columns_ == model.columns_
    assert [column.categories for column in again._schema.columns] == [
        column.categories for column in model._schema.columns
    ]
    assert (again.predict_proba(X) == model.predict_proba(X)).all()


def test_options_are_those_of_the_model(show):
    X = mixed()
    model = hs.LatentClass(range(2, 4), n_init=5, random_state=7, prior=None, columns={"color": "categorical"}).fit(X)
    spec = show(model, X).session.spec
    assert (spec.model, spec.classes, spec.kinds) == ("classes", "2..3", {"color": "categorical"})
    assert spec.options == {"seed": "7", "restarts": "5", "prior": "none"}
    gaussian = hs.GaussianMixture(2, covariance_type="diag", random_state=0).fit(X[["size"]])
    spec = show(gaussian, X).session.spec
    assert (spec.model, spec.ignore, spec.options["covariance"]) == ("gaussian", ("grade", "color"), "diag")


def test_options_that_are_no_words_are_left_out(show):
    X = mixed()
    model = hs.LatentClass(2, random_state=np.random.RandomState(0), tol=1e-3).fit(X)
    assert show(model, X).session.spec.options == {}


@pytest.mark.parametrize("container", ["pandas", "polars", "list"])
def test_code_makes_the_same_model(show, cell, container):
    names = cell(frame=CONTAINERS[container](mixed()))
    model = hs.LatentClass(2, random_state=3).fit(names["frame"])
    shown = show(model, names["frame"])
    assert ".fit(frame)" in shown.python()
    assert made_again(shown.python(), names).loglik_ == model.loglik_
    fitted = shown.fit(classes="3", missing=["green"], ignore=[] if container == "list" else ["grade"])
    assert "hs.open_table(frame, missing=['green']" in shown.python()
    assert made_again(shown.python(), names).loglik_ == fitted.loglik_


def test_code_with_names_and_labels(show, cell):
    names = cell(frame=mixed())
    shown = show(hs.LatentClass(2, random_state=3).fit(names["frame"]), names["frame"])
    shown.post("names", names=["small", "large"])
    shown.post("labels", row=4, label="large")
    fitting.start_refit(shown.session)
    assert shown.session.jobs.wait(60)
    refitted = shown.session.shown.model
    again = made_again(shown.python(), names)
    assert again.loglik_ == refitted.loglik_
    assert again.class_names_ == refitted.class_names_ == ("small", "large")


def test_a_classifier_and_its_labels(show, cell):
    names = cell(X=mixed().drop(columns="color"), y=mixed().color)
    model = hs.NaiveBayes().fit(names["X"], names["y"])
    shown = show(model, names["X"], y=names["y"])
    assert shown.session.spec.options == {"target": "color"}
    assert ".fit(X, y=y)" in shown.python()
    assert shown.fit().loglik_ == model.loglik_
    assert made_again(shown.python(), names).loglik_ == model.loglik_
    assert (
        ".fit(X, y=y)" in show(model, names["X"]).python()
    )  # without labels nothing is fitted to them, but code says so


def test_weights(show, cell):
    names = cell(X=mixed(), w=np.random.default_rng(1).integers(1, 4, 120))
    model = hs.LatentClass(2, random_state=0).fit(names["X"], sample_weight=names["w"])
    shown = show(model, names["X"], sample_weight=names["w"])
    assert shown.fit().loglik_ == model.loglik_
    assert made_again(shown.python(), names).loglik_ == model.loglik_
    columns = {column["name"]: column["left_out"] for column in shown.get("columns")["columns"]}
    assert columns["weight"] == "used as weight"


def test_a_column_that_is_added_takes_no_name_that_is_there(show):
    X = mixed().rename(columns={"size": "weight"})
    assert show(None, X, sample_weight=np.ones(120)).held.reading == {"weight": "weight_"}


def sequences():
    rng = np.random.default_rng(0)
    states = np.repeat([0, 1, 0, 1], [20, 15, 10, 25])
    return pd.DataFrame({"count": rng.poisson(3 + 6 * states), "id": np.repeat(["a", "b"], [35, 35]), "t": range(70)})


def test_sequences_in_every_form(show, cell):
    frame = sequences()
    counts = frame[["count"]].to_numpy()
    names = cell(frame=frame, counts=counts, parts=[counts[:35], counts[35:]], lengths=[35, 35], flat=counts[:, 0])
    fits = {
        "groups": (frame, {"groups": "id", "time": "t"}),
        "lengths": (counts, {"lengths": names["lengths"]}),
        "list": (names["parts"], {}),
        "one": (frame[["count"]], {}),
        "flat": (names["flat"], {}),
    }
    for how, (X, marks) in fits.items():
        model = hs.HMM(2, "poisson", random_state=0).fit(X, **marks)
        shown = show(model, X, **({} if how == "groups" else marks))  # columns of the fit are known
        assert shown.get("state")["n_rows"] == 70
        listed = answer("POST", "view", Ask(shown.session, {}, {"name": "sequences", "ask": {}}))
        assert listed["total"] == (1 if how in ("one", "flat") else 2)
        assert [row["class"] for row in shown.get("rows", count="70")["rows"]] == [
            model.state_names_[k] for k in np.concatenate([*map(np.atleast_2d, _proba(model, X, marks))]).argmax(axis=1)
        ]
        assert shown.fit().loglik_ == pytest.approx(model.loglik_, rel=1e-12)
        if how != "one":  # its table has no name
            assert made_again(shown.python(), names).loglik_ == pytest.approx(model.loglik_, rel=1e-12)


def _proba(model, X, marks):
    found = model.predict_proba(X, **marks)
    return found if isinstance(found, list) else [found]


def test_data_that_are_no_table(show):
    grammar = hs.PCFG.from_string("S -> S S [0.4] | 'a' [0.6]")
    shown = show(grammar, ["a a", "a"])
    assert [screen["key"] for screen in shown.get("state")["screens"]] == ["classes", "trees", "compare", "export"]
    asked = {"name": "sentences", "ask": {}}
    assert answer("POST", "view", Ask(shown.session, {}, asked))["total"] == 2
    with pytest.raises(HalfseenError, match="no table of rows"):
        shown.get("rows")
    with pytest.raises(ParameterError, match="sample_weight= cannot be used in a studio of grammars"):
        hold(["a a"], grammar, sample_weight=[1])


def test_a_network_shows_its_rows(show):
    X = pd.DataFrame({"A": list("xyxy") * 5, "B": list("uuvv") * 5})
    net = hs.BayesNet([("C", "A"), ("C", "B")], hidden={"C": 2}, random_state=0).fit(X)
    shown = show(net, X)
    assert "network" in [screen["key"] for screen in shown.get("state")["screens"]]
    assert shown.get("rows")["total"] == 20


def test_covariates_of_the_model_are_options(show):
    X = hs.load_penguins().dropna()[["bill_length_mm", "sex", "year"]]
    model = hs.LatentClass(2, random_state=0).fit(X, covariates="year")
    shown = show(model, X)
    assert shown.session.spec.options["covariates"] == "year"
    assert "covariates='year'" in shown.python()


def test_a_table_that_was_opened_keeps_its_roles(show, tmp_path):
    path = tmp_path / "t.csv"
    mixed().assign(w=2.0).to_csv(path, index=False)
    table = hs.open_table(path, weight="w", target="color", ignore=["grade"])
    held = show(None, table).held
    assert held.reading == {"weight": "w", "target": "color"}
    assert held.arguments == {}


@pytest.mark.parametrize(
    ("X", "marks", "error", "says"),
    [
        (mixed(), {"sample_weight": [1, 2]}, DataError, "weight has 2 values for 120 rows"),
        (mixed(), {"groups": "nothing"}, ParameterError, "groups='nothing': the table has no such column"),
        (mixed(), {"y": np.ones((120, 2))}, ParameterError, "one for each row"),
        (pl.LazyFrame({"a": [1]}), {}, DataError, "collect"),
        ("a text", {}, DataError, "Expected 2D"),
        (pd.DataFrame({"a": [1, "b"]}), {}, DataError, "mixes"),
        (mixed(), {"lengths": [3]}, DataError, "lengths sum to 3"),
    ],
)
def test_what_cannot_be_shown_is_refused_in_words(X, marks, error, says):
    with pytest.raises(error, match=says):
        hold(X, **marks)
