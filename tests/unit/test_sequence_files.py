"""Model files of hidden Markov models: what is loaded does what was saved; what is damaged or hostile is refused."""

import json
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors import safe_open

import halfseen as hs
from halfseen.app import model_file
from halfseen.errors import ModelFileError
from tests.unit.test_model_file import ODD, alike, parts, places, tampered

RNG = np.random.default_rng(0)
STEPS = np.column_stack([np.repeat(RNG.normal(0, 3, 8), 10) + RNG.normal(size=80), RNG.integers(0, 3, 80)])
STEPS[RNG.random(STEPS.shape) < 0.1] = np.nan
LENGTHS = [30, 50]
FRAME = pd.DataFrame(
    {
        "machine": np.repeat(["A", "B"], 40),
        "hour": np.tile(np.arange(40), 2),
        "heat": STEPS[:, 0],
        "mode": np.array(["on", "off", "idle"])[RNG.integers(0, 3, 80)],
        "faults": RNG.poisson(3, 80),
    }
)
PLAIN = pd.DataFrame(np.column_stack([STEPS, FRAME["faults"]]), columns=["a", "b", "c"])
SHUFFLED = FRAME.sample(frac=1, random_state=0)
MARKS = {"groups": "machine", "time": "hour"}
QUICK = {"random_state": 0, "n_init": 2, "max_iter": 40}
ALLOWED = np.array([[1, 1, 0], [0, 1, 1], [1, 0, 1]], dtype=bool)
START = {"transmat": [[0.9, 0.1], [0.3, 0.7]], "heat": {"mean": [0.0, 1], "sd": (1, 2)}}


def states(X=STEPS, n_components=2, emission="auto", how=None, **options):
    how = {"lengths": LENGTHS} if how is None else how
    model = hs.HMM(n_components, emission, **{"prior": 0.5, **QUICK, **options})
    return model.fit(X, **how), X, how


def from_params():
    columns = {"a": {"x": [0.2, 0.9], "y": [0.8, 0.1]}, "b": {"mean": [0, 5], "sd": [1, 2]}, "c": {"rate": [1.5, 4]}}
    model = hs.HMM.from_params([0.3, 0.7], [[0.9, 0.1], [0.0, 1.0]], columns).rename(["few", "many"])
    return model, [["x", 1.5, 3], [None, 4.0, None], ["y", None, 0]], {}


MODELS = {
    "array": states,
    "frame": lambda: states(SHUFFLED, how=MARKS, columns={"faults": "poisson"}),
    "polars": lambda: states(pl.from_pandas(SHUFFLED), how=MARKS),
    "arrow": lambda: states(pa.Table.from_pandas(SHUFFLED, preserve_index=False), how=MARKS),
    "one sequence": lambda: states(FRAME[["heat", "mode"]], how={}),
    "mixture": lambda: states(STEPS[:, :1], emission="gaussian", n_mix=2),
    "left-right": lambda: states(n_components=3, transitions="left-right", min_dwell=2, prior=None),
    "banded": lambda: states(n_components=3, transitions=ALLOWED, min_dwell=[1, 3, 2]),
    "start": lambda: states(SHUFFLED, how=MARKS, start=START, fixed=["transmat", "heat"], tied=["mode"], prior=None),
    "range": lambda: states(n_components=range(1, 4), criterion="aic"),
    "hard": lambda: states(assign="hard"),
    "sample": lambda: states(assign="sample", draws=2, n_jobs=1),
    "labels": lambda: states(how={"lengths": LENGTHS, "labels": ["on", "off", *[None] * 78]}),
    "relabelled": lambda: (states(n_components=3, transitions=ALLOWED)[0].relabel([2, 0, 1]), STEPS, {}),
    "from params": from_params,
}
USES = {
    "decode": lambda model, X: tuple(model.decode(X)),
    "predict_proba": lambda model, X: model.predict_proba(X),
    "filter": lambda model, X: model.filter(X),
    "score_samples": lambda model, X: model.score_samples(X),
    "sample": lambda model, X: model.sample(20, random_state=1),
    "impute": lambda model, X: model.impute(X),
    "draw": lambda model, X: model.impute(X, draw=True, random_state=1),
    "forecast": lambda model, X: model.forecast(X, 3).to_frame(),
    "to_frame": lambda model, X: model.to_frame(),
    "describe": lambda model, X: model.describe(),
    "params_": lambda model, X: model.params_,
    "chain": lambda model, X: [model.occupancy_, model.stationary_, model.dwell_, model.n_parameters_],
    "measures": lambda model, X: [model.bic(X), model.aic(X)],
    "relabel": lambda model, X: model.relabel(range(model.n_components_)[::-1]).to_frame(),
    "repr": lambda model, X: repr(model),
}


@pytest.fixture(autouse=True)
def _quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.fixture
def path(tmp_path):
    return tmp_path / "m.halfseen"


@pytest.fixture(params=MODELS, scope="module")
def fitted(request, tmp_path_factory):
    """A model, what was loaded from its file, its data, and how they were read."""
    path = tmp_path_factory.mktemp("models") / "m.halfseen"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model, X, how = MODELS[request.param]()
    hs.save(model, path)
    return model, hs.load(path), X, how


@pytest.mark.parametrize("use", USES)
def test_a_loaded_model_does_the_same(use, fitted):
    model, loaded, X, _ = fitted
    assert alike(USES[use](model, X), USES[use](loaded, X))


def test_options_and_the_training_record_come_back(fitted):
    model, loaded, _, _ = fitted
    options = model.get_params()
    assert alike(options, loaded.get_params())
    own = {name: value for name, value in vars(model).items() if name.endswith("_") and name not in options}
    assert {name for name in vars(loaded) if name.endswith("_") and name not in options} == set(own)
    assert alike(own, {name: getattr(loaded, name) for name in own})
    assert model._origin == loaded._origin
    assert model._marks == loaded._marks
    assert model._schema == loaded._schema
    if hasattr(model, "loglik_"):
        assert (model.bic(), model.aic()) == (loaded.bic(), loaded.aic())
        assert alike(model._stats, loaded._stats)


def test_saved_again_it_is_the_same_file(fitted, tmp_path):
    for name, model in zip(("first", "again"), fitted, strict=False):
        hs.save(model, tmp_path / name)
    assert (tmp_path / "first").read_bytes() == (tmp_path / "again").read_bytes()


def test_it_can_be_read_without_halfseen(path):
    hs.save(states(SHUFFLED, how=MARKS)[0], path)
    with safe_open(path, "numpy") as file:
        record = json.loads(file.metadata()["record"])
        assert file.get_tensor("params/trans").sum(axis=1) == pytest.approx(1)
        assert {"params/start", "params/emit/gaussian/mean", "stats/trans", "stats/emit/gaussian"} < set(file.keys())
    assert record["marks"] == ["machine", "hour"]
    assert record["training"]["n_steps"] == 80


def test_the_fingerprint_sees_columns_and_cuts():
    def fingerprint(X=STEPS, **how):
        return states(X, how=how, max_iter=2)[0]._origin.fingerprint

    assert fingerprint(lengths=[30, 50]) == fingerprint(lengths=[50, 30])
    assert fingerprint(lengths=[30, 50]) != fingerprint(lengths=[40, 40])
    assert fingerprint() != fingerprint(STEPS * [1.001, 1])


def test_a_drawn_seed_gives_the_fit_again(path):
    hs.save(hs.HMM(3, n_init=2, prior=1.0, max_iter=40).fit(STEPS), path)
    loaded = hs.load(path)
    again = hs.HMM(3, n_init=2, prior=1.0, max_iter=40, random_state=loaded._origin.seed).fit(STEPS)
    assert again.trace_ == loaded.trace_


def test_options_changed_after_the_fit_do_not_change_the_model(path):
    model = states(n_mix=2)[0].set_params(n_mix=1, prior=None, fixed=["transmat"])
    hs.save(model, path)
    loaded = hs.load(path)
    assert loaded.n_mix == 1
    assert loaded.n_parameters_ == model.n_parameters_
    assert alike(loaded.predict_proba(STEPS), model.predict_proba(STEPS))


@pytest.fixture(scope="module")
def good():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = states(PLAIN, columns={"c": "poisson"}, transitions="left-right", min_dwell=2)[0]
        return model_file._content("HMM", model._state())


HOSTILE = {
    "missing array": ({}, {"params/trans": None}, "'params/trans' is missing"),
    "shape": ({}, {"params/start": np.full((1, 3), 1 / 3)}, r"'params/start' has shape \(1, 3\), expected \(1, 4\)"),
    "zeros": ({}, {"params/start": np.full((1, 4), 0.25)}, "ruled out"),
    "sum": ({}, {"params/trans": np.eye(4) * 0.9}, "off its sum"),
    "dwell": ({("model", "dwell"): [10**12, 1]}, {}, "expected"),
    "states": ({("model", "begin"): []}, {}, "begin and dwell"),
    "follow": ({("model", "follow"): [[1, 1], [0, 1]]}, {}, "True or False"),
    "nothing follows": ({("model", "follow"): [[False, False], [False, True]]}, {}, "nothing may follow"),
    "mixture": ({("model", "built", "n_mix"): 10**9}, {}, "'params/emit/mix' is missing"),
    "built": ({("model", "built", "more"): 1}, {}, "other entries"),
    "names": ({("state_names",): ["a"]}, {}, "state_names"),
    "marks": ({("marks",): [1, None]}, {}, "marks"),
    "steps": ({("training", "n_steps"): -1}, {}, "n_steps=-1"),
    "components": ({("training", "n_components_"): 3}, {}, "number of steps or of states"),
    "stats": ({}, {"stats/trans": -np.ones((4, 4))}, "an expected count is negative"),
    "kind": ({("columns", 0, "kind"): "quantum"}, {}, "no known kind"),
    "entry": ({("class_names",): ["a", "b"]}, {}, "too many or too few entries: class_names"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_bad_file_is_refused_in_words(name, good, path):
    record, tensors, message = HOSTILE[name]
    path.write_bytes(tampered(good, record, tensors))
    with pytest.raises(ModelFileError, match=rf"(?s)m\.halfseen: .*({message})"):
        hs.load(path)


def survives(content, path):
    """Load what may be anything: an error in words, or a model that works."""
    path.write_bytes(content)
    try:
        loaded = hs.load(path)
    except ModelFileError:
        return
    X = pd.DataFrame(PLAIN.to_numpy(), columns=loaded._schema.names)
    for result in (loaded.score_samples(X), loaded.occupancy_, loaded.transmat_):
        assert not np.isnan(result).any()
    if np.isfinite(loaded.score(X)):
        assert not np.isnan(loaded.predict_proba(X)).any()
    loaded.sample(5, random_state=0)
    loaded.describe(), loaded.to_frame(), repr(loaded)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_odd_records_are_refused_or_work(data, good, path):
    place = data.draw(st.sampled_from([place for place in places(parts(good)[1]) if place]))
    survives(tampered(good, record={place: data.draw(ODD)}), path)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_odd_arrays_are_refused_or_work(data, good, path):
    tensors = parts(good)[2]
    name = data.draw(st.sampled_from(sorted(tensors)))
    array = np.array(tensors[name])
    array.flat[data.draw(st.integers(0, array.size - 1))] = data.draw(st.floats())
    survives(tampered(good, tensors={name: array}), path)
