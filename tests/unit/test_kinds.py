"""Kinds of columns: the registry, what a kind gets for free, and every kind with every public method."""

import copy
import pickle
import re
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit

import halfseen as hs
from halfseen import registry
from halfseen.analysis import comparison
from halfseen.analysis.bound_line import bound_line
from halfseen.analysis.missing_values import missing_by_class
from halfseen.analysis.residuals import residuals
from halfseen.analysis.rows import surprise, surprising_rows, typical_rows, uncertain_rows
from halfseen.analysis.scored_table import look
from halfseen.assign import SOFT
from halfseen.data import Column, Schema, read
from halfseen.errors import DataError, ModelFileError, ParameterError
from halfseen.estimators.table.profile import fitted_blocks
from halfseen.kinds import BUILT_IN
from halfseen.kinds.records import POSITIVE
from halfseen.leaves import FREE, Leaf
from halfseen.leaves.leaf import NO_MASS, frozen

ROOT = Path(hs.__file__).parent
RNG = np.random.default_rng(0)
GROUP = np.arange(60) % 2


# ---- a kind of our own ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Exponential(Leaf):
    """Waiting times; params is the (K, D) array of rates, statistics (2, K, D) are mass and time."""

    n_components: int
    scale: np.ndarray
    pseudo: np.ndarray | None = None
    stats_axis = 1

    @property
    def stats_shape(self):
        return (2, self.n_components, len(self.scale))

    def blank(self):
        return frozen(np.tile(self.scale, (self.n_components, 1)))

    def score(self, prepared, data, assign):
        seen = ~np.isnan(data)
        return seen @ np.log(prepared).T - np.where(seen, data, 0.0) @ prepared.T

    def expect(self, usage, prepared, data, assign, out):
        seen = ~np.isnan(data)
        out[0] += usage.T @ seen.astype(float)
        out[1] += usage.T @ np.where(seen, data, 0.0)
        return 0

    def maximise(self, stats, params, limits=FREE):
        empty = stats[0] <= NO_MASS
        rate = np.maximum(stats[0] / np.where(empty, 1.0, stats[1]), (limits.floor or 0.0) * self.scale)
        keep = empty if limits.fixed is None else empty | limits.fixed
        return frozen(np.where(keep, params, rate))

    def complete(self, stats, about, params):
        return float(np.sum(stats[0] * np.log(params) - stats[1] * params))

    def prior(self, params):
        if self.pseudo is None:
            return None
        mass = np.repeat(self.pseudo[:, None], len(self.scale), axis=1)
        return np.stack([mass, mass / self.scale])

    def jitter(self, params, amount, rng):
        return frozen(params * np.exp(amount * rng.standard_normal(params.shape)))

    def conform(self, params, like, limits=FREE):
        return frozen(params if limits.fixed is None else np.where(limits.fixed, like, params))

    def sample(self, params, components, rng):
        return rng.exponential(1 / params[components])

    def impute(self, params, data, resp, rng):
        filling = resp @ (1 / params) if rng is None else rng.exponential(resp @ (1 / params))
        return np.where(np.isnan(data), filling, data)

    def n_free(self, limits=FREE):
        return self.n_components * len(self.scale) - (0 if limits.fixed is None else int(np.sum(limits.fixed)))

    def affinity(self, params, other):
        pooled = params[:, None] + other
        return np.log(2 * np.sqrt(params[:, None] * other) / pooled).sum(axis=-1)

    def feasible(self, params, limits=FREE):
        return bool(np.all(params > 0))


class Waiting(hs.Kind):
    """Times above 0 with a rate per unit of time: all that a plain kind has to say."""

    name = "waiting"
    parameters = {"speed": POSITIVE}  # noqa: RUF012
    domain = "a time above 0"

    def legal(self, values):
        return values > 0

    def leaf(self, block, summary, build):
        mean = summary["mean"]
        return Exponential(build.n_components, 1 / np.where(mean > 0, mean, 1.0), build.pseudo_rows)

    def moments(self, speed):
        return 1 / speed, 1 / speed**2


@pytest.fixture(autouse=True)
def close_figures():
    """Figures stay open until they are closed."""
    yield
    plt.close("all")


@pytest.fixture(scope="module", autouse=True)
def waiting():
    hs.register_kind(Waiting)
    yield
    registry.kinds.remove("waiting")


IN_BRACKETS = ["binomial(10)", "rounded(1)", "censored(0.5, 5)"]  # what the name of some kinds needs, or finds
PLAIN = [name for name in BUILT_IN if not any(kind.startswith(f"{name}(") for kind in IN_BRACKETS)]
KINDS = [*PLAIN, *IN_BRACKETS, "waiting"]
VALUES = {
    "categorical": np.where(RNG.random(60) < 0.2 + 0.6 * GROUP, "yes", "no").astype(object),
    "gaussian": RNG.normal(4.0 * GROUP, 1.0),
    "poisson": RNG.poisson(1 + 6 * GROUP).astype(float),
    "negbin": RNG.negative_binomial(3, 3 / (4 + 6 * GROUP)).astype(float),
    "zip": np.where(RNG.random(60) < 0.3, 0, RNG.poisson(2 + 6 * GROUP)).astype(float),
    "zinb": np.where(RNG.random(60) < 0.3, 0, RNG.negative_binomial(3, 3 / (5 + 8 * GROUP))).astype(float),
    "binomial(10)": RNG.binomial(10, 0.2 + 0.5 * GROUP).astype(float),
    "gamma": RNG.gamma(2.0, 1 + 9 * GROUP),
    "exponential": RNG.exponential(1 + 19 * GROUP),
    "beta": RNG.beta(2.0 + 6 * GROUP, 6.0 - 3 * GROUP),
    "lognormal": RNG.lognormal(2.0 * GROUP, 0.6),
    "ordinal": np.clip(np.round(RNG.normal(2 + 1.5 * GROUP)), 1, 5),
    "text": np.array([" ".join(RNG.choice(["sun", "sea", "sand"] if g else ["ice", "snow", "sea"], 4)) for g in GROUP]),
    "waiting": RNG.exponential(1 + 9 * GROUP),
    "rounded(1)": np.random.default_rng(1).normal(4.0 * GROUP, 1.0).round(),
    "censored(0.5, 5)": np.random.default_rng(2).normal(4.0 * GROUP, 1.0).clip(0.5, 5.0),
}
PARAMETERS = {
    "categorical": {"no": [0.8, 0.2], "yes": [0.2, 0.8]},
    "gaussian": {"mean": [0, 4], "sd": [1, 1]},
    "poisson": {"rate": [1, 7]},
    "negbin": {"mean": [1, 7], "size": [3, 3]},
    "zip": {"zero": [0.4, 0.1], "rate": [2, 8]},
    "zinb": {"zero": [0.4, 0.1], "mean": [2, 10], "size": [3, 3]},
    "binomial(10)": {"p": [0.2, 0.7]},
    "gamma": {"mean": [2, 20], "shape": [2, 2]},
    "exponential": {"mean": [1, 20]},
    "beta": {"mean": [0.25, 0.7], "precision": [8, 11]},
    "lognormal": {"log_mean": [0, 2], "log_sd": [0.6, 0.6]},
    "ordinal": {
        value: expit(np.array([cut, cut - 2])) - expit(np.array([before, before - 2]))
        for value, (before, cut) in enumerate(pairwise([-np.inf, -1.0, 0.5, 2.0, 3.0, np.inf]), start=1)
    },
    "text": {
        "words": {"ice": [0.4, 0.1], "sand": [0.1, 0.4], "sea": [0.2, 0.2], "snow": [0.2, 0.1], "sun": [0.1, 0.2]}
    },
    "waiting": {"speed": [1.0, 0.1]},
    "rounded(1)": {"mean": [0, 4], "sd": [1, 1]},
    "censored(0.5, 5)": {"mean": [0, 4], "sd": [1, 1]},
}
NAMED = PARAMETERS | {  # which are not known by their parameters
    kind: {"kind": kind, **PARAMETERS[kind]} for kind in (*IN_BRACKETS, "ordinal")
}


def table(kind):
    """A column of the kind, with missing cells, beside a category and a number."""
    values = pd.Series(VALUES[kind]).astype(object)
    values[::7] = None
    beside = pd.DataFrame(
        {"colour": np.where(GROUP ^ (RNG.random(60) < 0.2), "red", "blue"), "size": RNG.normal(GROUP)}
    )
    return pd.DataFrame({"v": values if kind in ("categorical", "text") else values.astype(float)}).join(beside)


TABLES = {kind: table(kind) for kind in KINDS}
LABELS = np.array(["a", "b"])[GROUP]


@pytest.fixture(scope="module")
def classes():
    """A fitted LatentClass of each kind."""
    return {kind: hs.LatentClass(2, columns={"v": kind}, random_state=0, n_init=2).fit(X) for kind, X in TABLES.items()}


@pytest.fixture(scope="module")
def states():
    """A fitted HMM of each kind that a state can emit."""
    return {
        kind: hs.HMM(2, "auto", columns={"v": kind}, random_state=0, n_init=2).fit(TABLES[kind], lengths=[30, 30])
        for kind in KINDS
        if kind != "text"
    }


# ---- the registry ---------------------------------------------------------------------------------------------------


def test_a_kind_is_equal_hashed_printed_and_pickled_by_its_name():
    for kind in registry.kinds:
        assert kind == registry.kinds[kind.name] == pickle.loads(pickle.dumps(kind)) == copy.deepcopy(kind)
        assert hash(kind) == hash(registry.kinds[kind.name])
        assert (repr(kind), str(kind)) == (repr(kind.name), kind.name)
    gaussian, poisson, text = (registry.kinds[name] for name in ("gaussian", "poisson", "text"))
    assert gaussian != poisson
    assert text != text.treated("bernoulli") == pickle.loads(pickle.dumps(text.treated("bernoulli")))
    assert repr(Column("x", gaussian)) == "Column(name='x', kind='gaussian', categories=None)"
    assert Column("x", "poisson") == Column("x", poisson)


@pytest.mark.parametrize(
    "fit",
    [
        lambda X, kind: hs.LatentClass(2, columns={"v": kind}).fit(X),
        lambda X, kind: hs.NaiveBayes(columns={"v": kind}).fit(X, LABELS),
        lambda X, kind: hs.HMM(2, "auto", columns={"v": kind}).fit(X),
        lambda X, kind: hs.HMM(2, kind).fit(X),
        lambda X, kind: hs.TranscriptAligner(emission=kind).fit([X.to_numpy()[:, 2:]], ["a"]),
        lambda X, kind: Schema.learn(read(X), {"v": kind}),
        lambda X, kind: hs.LatentClass.from_params([1.0], {"v": {"kind": kind, "rate": [1.0]}}),
    ],
)
def test_an_unknown_kind_is_refused_with_the_list_of_the_known(fit):
    with pytest.raises(ParameterError, match=r"'weibull'.*'categorical', 'gaussian', 'poisson'.*'waiting'"):
        fit(TABLES["gaussian"], "weibull")


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (Exponential, "is not a halfseen.Kind"),
        (type("Gaussian", (Waiting,), {"name": "gaussian"}), "there is a kind 'gaussian' already"),
        (type("Dotted", (Waiting,), {"name": "a.b"}), "name='a.b' is not a word"),
        (type("Auto", (Waiting,), {"name": "auto"}), "name='auto' is not a word"),
    ],
)
def test_what_is_no_kind_of_its_own_is_not_registered(kind, said):
    with pytest.raises(ParameterError, match=said):
        hs.register_kind(kind)


def test_the_same_class_may_be_registered_again():
    hs.register_kind(Waiting)
    hs.register_kind(Waiting())
    assert registry.kinds.names.count("waiting") == 1


class Entry:
    """An entry point."""

    loaded = 0

    def load(self):
        Entry.loaded += 1
        return type("Delay", (Waiting,), {"name": "delay"})


def test_an_entry_point_is_loaded_when_its_kind_is_named_and_not_otherwise(monkeypatch, tmp_path):
    asked = []

    def entry_points(group, name):
        asked.append((group, name))
        return [Entry()] if name == "delay" else []

    monkeypatch.setattr(registry, "entry_points", entry_points)
    hs.LatentClass(1, columns={"v": "waiting"}).fit(TABLES["waiting"])
    assert not asked
    model = hs.LatentClass(1, columns={"v": "delay"}).fit(TABLES["waiting"])
    assert asked == [("halfseen.kinds", "delay")]
    assert model.columns_["v"] == "delay"
    hs.save(model, tmp_path / "m.halfseen")
    registry.kinds.remove("delay")
    with pytest.raises(ModelFileError, match=r"'delay'.*register_kind"):  # to read a file is to run no code
        hs.load(tmp_path / "m.halfseen")
    assert Entry.loaded == 1


def test_the_command_line_loads_a_kind_of_another_package_that_is_named(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(registry, "entry_points", lambda group, name: [Entry()] if name == "delay" else [])
    model = hs.LatentClass(1, columns={"v": "delay"}).fit(TABLES["waiting"])
    hs.save(model, tmp_path / "m.halfseen")
    registry.kinds.remove("delay")
    try:
        assert _command("info", str(tmp_path / "m.halfseen")) == 1
        assert "halfseen --kinds NAME" in capsys.readouterr().err
        assert _command("--kinds", "delay", "info", str(tmp_path / "m.halfseen")) == 0
        assert _command("--kinds", "delays", "info", str(tmp_path / "m.halfseen")) == 2
        assert "--kinds: unknown kind 'delays'" in capsys.readouterr().err
    finally:
        registry.kinds.remove("delay")


def _command(*words):
    """Return the exit code of a command."""
    from halfseen.app.cli import app

    with pytest.raises(SystemExit) as ended:
        app(words, prog_name="halfseen")
    return ended.value.code


def test_a_model_file_of_an_unregistered_kind_is_refused_by_name(tmp_path, classes):
    hs.save(classes["waiting"], tmp_path / "m.halfseen")
    registry.kinds.remove("waiting")
    try:
        with pytest.raises(ModelFileError, match=r"column 'v' is of no known kind: 'waiting'.*register_kind"):
            hs.load(tmp_path / "m.halfseen")
    finally:
        hs.register_kind(Waiting)
    assert_allclose(hs.load(tmp_path / "m.halfseen").params_["v"]["speed"], classes["waiting"].params_["v"]["speed"])


def test_nothing_outside_of_kinds_asks_which_kind_a_column_is():
    """A kind is asked what it does, never what it is called."""
    test = re.compile(r"""\.kind(\.name)? (==|!=|in) ["'(]|\.startswith\(\(?["'](text|categorical|gaussian|poisson)""")
    cells = ("data/duckdb_reader.py", "data/csv_file.py", "data/files.py", "families/words/", "families/network/bif.py")
    found = []
    for path in ROOT.rglob("*.py"):
        place = path.relative_to(ROOT).as_posix()
        if not place.startswith(("kinds/", *cells)):
            found += [f"{place}: {line}" for line in path.read_text(encoding="utf-8").splitlines() if test.search(line)]
    assert not [line for line in found if "dtype.kind" not in line]


# ---- parameters from the user ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "given", "said"),
    [
        ("poisson", {"mean": [1, 2]}, r"'v' is a poisson column: expected {'rate': \.\.\.}.*got names \['mean'\]"),
        ("poisson", {"rate": "many"}, "'v': rate: expected 2 numbers, got 'many'"),
        ("poisson", {"rate": [1, -1]}, "numbers must be finite and at least 0"),
        ("poisson", [1, 2, 3], r"expected one number per component, shape \(2,\), got \(3,\)"),
        ("gaussian", {"rate": [1, 2]}, "expected {'mean': ..., 'var': ...}"),
        ("gaussian", {"sd": [0, 1]}, "numbers must be finite and above 0"),
        ("gaussian", [1, 2], "expected {'mean': ..., 'var': ...}"),
        ("categorical", {"yes": [0.5, 0.5]}, "are not those of the column"),
        (
            "categorical",
            {"yes": [0.5, 0.5], "no": "half"},
            "a probability for each of the 2 components, got 'half' for 'no'",
        ),
        ("text", {"ice": [0.5, 0.5]}, "each of its 5 words needs its probabilities"),
        ("waiting", {"mean": [1, 2]}, "'v' is a waiting column: expected {'speed': ...}"),
        ("waiting", {"speed": [0, 2]}, "numbers must be finite and above 0"),
    ],
)
def test_parameters_that_a_kind_does_not_have_are_refused_with_what_to_give(kind, given, said):
    with pytest.raises(ParameterError, match=said):
        hs.LatentClass(2, columns={"v": kind}, start={"v": given}).fit(TABLES[kind])


@pytest.mark.parametrize("kind", KINDS)
def test_from_params_and_params_go_round(kind):
    model = hs.LatentClass.from_params([0.5, 0.5], {"v": NAMED[kind]})
    assert model.columns_ == {"v": kind}
    shown = {"words": model.params_["v"]} if kind == "text" else model.params_["v"]
    if "kind" in NAMED[kind]:  # ordinal columns are not known by their categories
        if kind == "binomial(10)":
            with pytest.raises(ParameterError, match=r"columns\['v'\]: a binomial column needs its number of trials"):
                hs.LatentClass.from_params(model.weights_, {"v": shown})
        shown = {"kind": kind, **shown}
    again = hs.LatentClass.from_params(model.weights_, {"v": shown})
    named = hs.LatentClass.from_params(model.weights_, {"v": {"kind": kind, **shown}})
    X = TABLES[kind][["v"]]
    for other in (again, named):
        assert (other.predict_proba(X) == model.predict_proba(X)).all()


@pytest.mark.parametrize("kind", KINDS)
def test_a_start_is_where_the_fit_begins_and_a_fixed_column_keeps_it(kind):
    given = PARAMETERS[kind]["words"] if kind == "text" else PARAMETERS[kind]
    model = hs.LatentClass(2, columns={"v": kind}, start={"v": given}, fixed=["v"], random_state=0)
    found = model.fit(TABLES[kind]).params_["v"]
    for name, values in given.items():
        assert_allclose(found[name], values)


def test_a_fixed_column_needs_all_its_parameters():
    model = hs.LatentClass(2, columns={"v": "gaussian"}, start={"v": {"mean": [0, 1]}}, fixed=["v"])
    with pytest.raises(ParameterError, match="needs both its mean and its sd"):
        model.fit(TABLES["gaussian"])


def test_cells_outside_of_the_domain_are_refused():
    with pytest.raises(
        DataError, match=r"column 'v' cannot be waiting: row 1 is -2, not a time above 0 \(1 such rows\)"
    ):
        hs.LatentClass(1, columns={"v": "waiting"}).fit(pd.DataFrame({"v": [1.5, -2.0, None]}))


# ---- every kind with every public method ----------------------------------------------------------------------------

METHODS = {
    "predict": lambda model, X: model.predict(X),
    "predict_proba": lambda model, X: model.predict_proba(X),
    "score": lambda model, X: model.score(X),
    "score_samples": lambda model, X: model.score_samples(X),
    "impute": lambda model, X: model.impute(X),
    "impute by draws": lambda model, X: model.impute(X, draw=True, random_state=0),
    "sample": lambda model, X: model.sample(7, random_state=0),
    "describe": lambda model, X: model.describe(),
    "to_frame": lambda model, X: model.to_frame(),
    "params_": lambda model, X: model.params_,
    "why": lambda model, X: str(model.why(X[1:2])),
    "bic": lambda model, X: model.bic(X),
    "entropy": lambda model, X: model.entropy(X),
    "relabel": lambda model, X: model.relabel([1, 0]).describe(),
    "match_to": lambda model, X: model.match_to(model.relabel([1, 0])),
    "unknown_words": lambda model, X: model.unknown_words(X),
    "card": lambda model, X: model._repr_html_inner(),
    "bound": lambda model, X: hs.bound(model, X),
    "explain": lambda model, X: hs.explain(model, X[:6], n_iter=1).to_dict(),
    "bound_line": lambda model, X: bound_line(model, X).to_dict(),
    "hidden_cells": lambda model, X: str(hs.hidden_cells(model, X, n_init=1)),
    "residuals": lambda model, X: residuals(model, X),
    "surprising rows": lambda model, X: surprising_rows(model, X, top=2),
    "typical rows": lambda model, X: typical_rows(model, X, top=1),
    "uncertain rows": lambda model, X: uncertain_rows(model, X, top=2),
    "missing values by class": lambda model, X: missing_by_class(model, X),
    "compare": lambda model, X: comparison.models(model, model.relabel([1, 0])),
    "report": lambda model, X: hs.report(model, X),
    "plot_profiles": lambda model, X: hs.plot_profiles(model),
    "plot_certainty": lambda model, X: hs.plot_certainty(model, X),
    "plot_missing": lambda model, X: hs.plot_missing(X, model=model),
    "plot_trace": lambda model, X: hs.plot_trace(model),
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_method_of_a_mixture_takes_every_kind(kind, method, classes):
    found = METHODS[method](classes[kind], TABLES[kind])
    assert found is not None
    if isinstance(found, np.ndarray):
        assert np.isfinite(found).all()


@pytest.mark.parametrize("kind", KINDS)
def test_the_densities_and_addends_of_every_kind_add_up(kind, classes):
    """The factors of a row make its density, and what rows add to statistics makes the statistics."""
    model, [chunk] = classes[kind], classes[kind]._encode(TABLES[kind][:9]).chunks()
    usage = np.random.default_rng(1).random((9, 2))
    found = np.zeros((9, 2))
    for fitted in fitted_blocks(model):
        cells, leaf, own = chunk.blocks[fitted.block.name], fitted.leaf, fitted.block.kind
        for n, densities in enumerate(own.densities(fitted, cells, ["A", "B"])):
            found[n] += sum(density.log for density in densities)
            assert all(len(density.names) == 2 for density in densities)
        stats = np.zeros(leaf.stats_shape)
        leaf.expect(usage, leaf.prepare(fitted.params), cells, SOFT, stats)
        counted = own.counted(fitted.block, leaf, stats, fitted.params)
        for added, values in zip(own.addends(fitted, cells, stats), counted, strict=True):
            assert set(added) == set(values)
            for name, addends in added.items():
                assert_allclose((usage * addends.values).sum(axis=0), values[name], rtol=1e-9, atol=1e-12)
    emit = model._model.leaves["emit"]
    assert_allclose(found, emit.score(emit.prepare(model._params["emit"]), chunk.blocks, SOFT), rtol=1e-10)


def test_a_plain_kind_shows_its_arithmetic(classes):
    found = hs.explain(classes["waiting"], TABLES["waiting"][1:5], n_iter=1).to_dict()["sections"][1]["grids"]
    joint, step = (next(grid for grid in found if grid["role"] == role) for role in ("joint", "m-step"))
    assert re.search(r" × p\(v = [\d.]+ \| class 0, speed [\d.]+\) [\d.]+ × ", joint["arithmetic"][0][1])
    [speed] = [line for row, line in zip(step["rows"], step["arithmetic"], strict=True) if row[0] == "speed of v"]
    assert speed[1].startswith("no quotient; found from the counts by the M-step: ")


def test_a_parameter_that_is_a_ratio_of_two_statistics_needs_no_more(classes):
    """A kind that names its first statistics has them counted, and one that is their ratio divided."""
    count = type("Visits", (registry.kinds["poisson"].__class__,), {"name": "visits", "density": hs.Kind.density})
    hs.register_kind(count)
    try:
        model = hs.LatentClass.from_params([0.5, 0.5], {"v": {"kind": "visits", "rate": [1.0, 4.0]}})
        found = hs.explain(model, [[2], [5]], n_iter=1).to_dict()["sections"][1]["grids"]
        text = str([grid["arithmetic"] for grid in found])
        assert "p(v = 2 | class 0, rate 1) 0.1839397" in text
        assert re.search(r"'[\d.]+ / [\d.]+ = [\d.]+'", str(found[-1]["arithmetic"][1]))
    finally:
        registry.kinds.remove("visits")


ALONG = {
    "predict": lambda model, X: model.predict(X, [30, 30]),
    "predict_proba": lambda model, X: model.predict_proba(X, [30, 30]),
    "filter": lambda model, X: model.filter(X, [30, 30]),
    "score": lambda model, X: model.score(X, [30, 30]),
    "decode": lambda model, X: model.decode(X, [30, 30]),
    "forecast": lambda model, X: model.forecast(X, 2, [30, 30]).to_frame(),
    "impute": lambda model, X: model.impute(X, [30, 30]),
    "sample": lambda model, X: model.sample(5, random_state=0),
    "describe": lambda model, X: model.describe(),
    "to_frame": lambda model, X: model.to_frame(),
    "params_": lambda model, X: model.params_,
    "compare": lambda model, X: comparison.models(model, model),
    "report": lambda model, X: hs.report(model, X),
    "plot_timeline": lambda model, X: hs.plot_timeline(model, X, [30, 30]),
    "hidden_cells": lambda model, X: str(hs.hidden_cells(model, [X[:30], X[30:]])),
}


@pytest.mark.parametrize("method", ALONG)
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "text"])
def test_every_method_of_a_hidden_markov_model_takes_every_kind(kind, method, states):
    assert ALONG[method](states[kind], TABLES[kind]) is not None


def test_a_hidden_markov_model_takes_no_text():
    with pytest.raises(ParameterError, match="takes no text"):
        hs.HMM(2, "auto", columns={"v": "text"}).fit(TABLES["text"])
    with pytest.raises(ParameterError, match="emission='text' is not one of 'auto', 'categorical'"):
        hs.HMM(2, "text").fit(TABLES["text"])


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "text"])
def test_an_emission_of_every_kind(kind):
    X = TABLES[kind][["v"]]
    model = hs.HMM(2, kind, random_state=0, n_init=2, tol=1e-4).fit(X)
    assert model.columns_ == {"v": kind}
    start = {"v": PARAMETERS[kind]}
    model = hs.HMM(2, kind, start=start, fixed=["v"], random_state=0).fit(X)
    assert_allclose(list(model.params_["v"].values()), list(PARAMETERS[kind].values()))
    built = hs.HMM.from_params([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], {"v": NAMED[kind]})
    assert np.isfinite(built.score(X))


@pytest.mark.parametrize("kind", KINDS)
def test_a_classifier_takes_every_kind(kind):
    X = TABLES[kind]
    model = hs.NaiveBayes(columns={"v": kind}).fit(X, LABELS)
    assert (model.predict(X) == LABELS).mean() > 0.7
    if kind in ("waiting", "gamma", "exponential", "beta"):  # which do not implement `summary_from`
        with pytest.raises(ParameterError, match="partial_fit: a column is of a kind"):
            hs.NaiveBayes(columns={"v": kind}).partial_fit(X, LABELS)
        return
    if kind in ("negbin", "zip", "zinb", "rounded(1)", "censored(0.5, 5)"):  # whose statistics depend on the parameters
        with pytest.raises(ParameterError, match="latent values in the columns v"):
            hs.NaiveBayes(columns={"v": kind}).partial_fit(X, LABELS)
        return
    pieces = hs.NaiveBayes(columns={"v": kind}).partial_fit(X, LABELS)
    assert_allclose(pieces.predict_proba(X), model.predict_proba(X), rtol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_the_posterior_is_there_or_says_what_the_leaf_lacks(kind, classes):
    lacks = {
        "waiting": "Exponential",
        "gamma": "Gamma",
        "exponential": "Exponential",
        "beta": "Beta",
        "ordinal": "Ordinal",
    }
    if kind not in lacks:
        assert len(hs.posterior(classes[kind], TABLES[kind], n_draws=16, burn_in=0, min_ess=0).to_frame())
        return
    with pytest.raises(ParameterError, match=f"the leaf {lacks[kind]} does not implement `draw`"):
        hs.posterior(classes[kind], TABLES[kind], n_draws=16)


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_of_every_kind_is_exported_or_says_why_not(kind, classes):
    model, X = classes[kind], TABLES[kind]
    refused = {
        "text": "column 'v' is text: SQL cannot split it into words as Python does",
        "waiting": "'v': columns of kind 'waiting' cannot be written in SQL: it has no `exported_scores`",
        "rounded(1)": r"'v': columns of kind 'rounded\(1\)' cannot be written in SQL, which has no normal",
    }
    if kind in refused:
        with pytest.raises(ParameterError, match=refused[kind]):
            hs.to_sql(model, "X")
        return
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect() as database:
        found = database.register("X", X).sql(hs.to_sql(model, "X")).fetchnumpy()
    assert_allclose(np.column_stack([found["p_0"], found["p_1"]]), model.predict_proba(X), atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_models_of_every_kind_go_through_files_and_pickles(kind, classes, states, tmp_path):
    for model in (classes[kind], states.get(kind)):
        if model is None:
            continue
        hs.save(model, tmp_path / "m.halfseen")
        for again in (hs.load(tmp_path / "m.halfseen"), pickle.loads(pickle.dumps(model))):
            assert again.columns_ == model.columns_
            assert (again.predict_proba(TABLES[kind]) == model.predict_proba(TABLES[kind])).all()
            assert again.describe() == model.describe()


@pytest.mark.thorough
@pytest.mark.parametrize("kind", KINDS)
def test_the_command_line_takes_every_kind(kind, tmp_path):
    testing = pytest.importorskip("typer.testing")
    from halfseen.app.cli import app

    data, model = tmp_path / "data.csv", tmp_path / "m.halfseen"
    TABLES[kind].to_csv(data, index=False)
    chosen = ["--text", "v"] if kind == "text" else ["--columns", f"v={kind}"]
    out = [["-o", tmp_path / name] for name in ("p.csv", "i.csv", "s.csv", "r.html")]
    verbs = [
        ["fit", data, "-k", "2", *chosen, "-o", model, "--seed", "0"],
        ["predict", model, data, *out[0]],
        ["impute", model, data, *out[1]],
        ["sample", model, "-n", "5", *out[2]],
        ["score", model, data],
        ["info", model],
        ["report", model, data, *out[3]],
    ]
    for arguments in verbs:
        done = testing.CliRunner().invoke(app, list(map(str, arguments)), catch_exceptions=False)
        assert done.exit_code == 0, (arguments, done.output)


# ---- what a plain kind gets for free is right -----------------------------------------------------------------------


def test_a_plain_kind_learns_the_right_parameters():
    times = RNG.exponential(3.0, 500)
    model = hs.LatentClass(1, columns={"v": "waiting"}, prior=None).fit(pd.DataFrame({"v": times}))
    assert_allclose(model.params_["v"]["speed"], 1 / times.mean())
    frame = model.to_frame()
    assert frame[frame["column"] == "v"][["kind", "value"]].to_numpy().tolist() == [["waiting", "speed"]]


def test_the_expected_log_density_is_close_to_its_closed_form(classes):
    for kind in KINDS:
        fitted = next(blocks for blocks in fitted_blocks(classes[kind]) if blocks.block.columns[0].name == "v")
        mean, var = fitted.block.kind.expected_log_density(fitted)
        if kind == "waiting":  # E log p = log speed - 1, Var = 1
            assert_allclose(mean, np.log(fitted.params) - 1, atol=0.1)
            assert_allclose(var, 1, atol=0.2)
        elif kind in ("gaussian", "poisson", "binomial(10)"):
            drawn = hs.Kind.expected_log_density(fitted.block.kind, fitted)
            assert_allclose(mean, drawn[0], atol=0.1)
            assert_allclose(var, drawn[1], atol=0.15)
    assert np.isfinite(surprise(look(classes["waiting"], TABLES["waiting"]))).all()


def test_summaries_read_off_statistics_are_those_of_the_table():
    """A labelled classifier counts once; its summary is that of a pass over the table."""
    for kind in KINDS[:-1]:
        X = TABLES[kind]
        model = hs.NaiveBayes(columns={"v": kind}).fit(X, LABELS)
        table = model._schema.encode(model._worded(read(X, counts=True)))
        for block in model._schema.each_block():
            whole = block.kind.summarise(table, block)
            for name, values in model._recipe.summary[block.name].items():
                if not (kind in ("poisson", "binomial(10)") and name == "var"):  # which is taken to be that of the mean
                    assert_allclose(values, whole[name], rtol=1e-9)


def test_streams_learn_what_tables_do(tmp_path):
    pytest.importorskip("duckdb")
    for kind in ("categorical", "gaussian", "poisson", "binomial(10)", "waiting"):
        path = tmp_path / f"{kind}.csv"
        TABLES[kind].to_csv(path, index=False)
        whole = hs.LatentClass(2, columns={"v": kind}, random_state=0, n_init=1).fit(hs.open_table(path))
        pieces = hs.LatentClass(2, columns={"v": kind}, random_state=0, n_init=1).fit(hs.open_table(path, memory=1))
        assert pieces.columns_ == whole.columns_
        assert_allclose(pieces.loglik_, whole.loglik_, rtol=1e-9)
