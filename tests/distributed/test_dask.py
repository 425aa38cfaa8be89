"""Dask frames: the same bits as the same partitions in this process, for any workers; predictions stay lazy."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

import halfseen as hs
from halfseen.engine.loop.em import Gather
from halfseen.engine.services.progress import watching
from halfseen.engine.tables.lane_source import LaneSource
from halfseen.engine.tables.lanes import OverReduced
from halfseen.errors import DataError, FitError, ParameterError
from halfseen.leaves.leaf import arrays
from halfseen.runners.dask import DaskCluster
from halfseen.runners.local import LocalCluster
from tests.distributed import clusters
from tests.distributed.clusters import Shuffled

dd = pytest.importorskip("dask.dataframe", reason="needs dask")
distributed = pytest.importorskip("distributed", reason="needs distributed")

OPTIONS = {"n_init": 2, "random_state": 0, "max_iter": 30, "tol": 1e-4}


def table(n_rows=3000):
    rng = np.random.default_rng(0)
    z = rng.integers(0, 3, n_rows)
    df = pd.DataFrame(
        {
            "color": np.array(["red", "green", "blue"])[(z + (rng.random(n_rows) < 0.3)) % 3],
            "size": rng.normal(2.0 * z, 1.0),
            "visits": rng.poisson(1 + 3 * z),
        }
    )
    df.loc[rng.random(n_rows) < 0.1, "size"] = np.nan
    df.loc[rng.random(n_rows) < 0.1, "color"] = None
    df["weight"] = rng.integers(0, 4, n_rows) * 1.0
    df["kind"] = np.where(rng.random(n_rows) < 0.6, np.array(["k0", "k1", "k2"])[z], None)
    return df


DATA = table()
FEATURES = ["color", "size", "visits"]


def same_bits(one, other):
    assert one.loglik_ == other.loglik_
    assert one.trace_ == other.trace_
    for own, its in zip(arrays(one._params), arrays(other._params), strict=True):
        assert_array_equal(own, its)


def cases():
    classes = {"columns": {"visits": "poisson"}}
    yield "soft", hs.LatentClass(3, **OPTIONS, **classes), FEATURES, {}
    yield "hard", hs.LatentClass(3, assign="hard", **OPTIONS, **classes), FEATURES, {}
    yield "sample", hs.LatentClass(3, assign="sample", **OPTIONS | {"max_iter": 6}), FEATURES, {}
    yield "weights", hs.LatentClass(2, **OPTIONS), [*FEATURES, "weight"], {"sample_weight": "weight"}
    yield "labels", hs.LatentClass(3, **OPTIONS), [*FEATURES, "kind"], {"labels": "kind"}
    yield "full", hs.GaussianMixture(2, **OPTIONS), ["size", "visits"], {}
    yield "posteriors", hs.LatentClass(3, init="posteriors", **OPTIONS), FEATURES, {}
    yield "classifier", hs.NaiveBayes(unlabeled_weight=1.0, **OPTIONS), [*FEATURES, "kind"], {"y": "kind"}
    yield "normal", hs.GaussianClassifier(unlabeled_weight=0.5, **OPTIONS), ["size", "visits", "kind"], {"y": "kind"}


CASES = list(cases())


def fitted(model, frame, given):
    """Fit to a frame in any form, with its columns of weights and labels."""
    return clusters.fitted(model, frame, **given)


def lanes(columns, given, n_partitions=5, **how):
    """Return the same partitions in this process."""
    frame = dd.from_pandas(DATA[columns], npartitions=n_partitions)
    return clusters.lanes(frame, given.get("sample_weight"), given.get("labels", given.get("y")), **how)


@pytest.mark.parametrize(("model", "columns", "given"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_the_same_partitions_give_the_same_bits_with_any_workers(client, model, columns, given):
    there = fitted(model, dd.from_pandas(DATA[columns], npartitions=5), given)
    here = fitted(model, lanes(columns, given), {})
    same_bits(there, here)


@pytest.mark.parametrize(("model", "columns", "given"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_threads_and_the_order_of_arrival_change_no_bit(model, columns, given):
    here = fitted(model, lanes(columns, given), {})
    same_bits(here, fitted(model, lanes(columns, given, n_jobs=3), {}))
    same_bits(here, fitted(model, lanes(columns, given, cluster=Shuffled), {}))


@pytest.mark.parametrize(("model", "columns", "given"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_lanes_agree_with_one_table(model, columns, given):
    if model.assign == "sample" or model.init == "posteriors":
        pytest.skip("draws belong to chunks, and these differ")
    local = {
        name: DATA[column] if name != "sample_weight" else DATA[column].to_numpy() for name, column in given.items()
    }
    if isinstance(model, hs.NaiveBayes | hs.GaussianClassifier):
        model = clone(model).set_params(guard=False)
    whole = fitted(model, DATA[[name for name in columns if name in FEATURES]], local)
    cut = fitted(model, lanes(columns, given), {})
    assert_allclose(cut.loglik_, whole.loglik_, rtol=1e-10)
    for own, its in zip(arrays(cut._params), arrays(whole._params), strict=True):
        assert_allclose(own, its, rtol=1e-6, atol=1e-10)


def test_sampled_draws_differ_between_lanes():
    twice = pd.concat([DATA[FEATURES][:200]] * 2, ignore_index=True)
    parts = [twice[:200], twice[200:]]
    model = hs.LatentClass(2, assign="sample", n_init=1, max_iter=2, random_state=0)
    seen = []

    class Watched(LocalCluster):
        def answers(self, job, first_chunks):
            for answer in super().answers(job, first_chunks):
                if isinstance(job, OverReduced) and isinstance(job.task, Gather) and job.task.assign.mode == "sample":
                    seen.append(answer.value[0].stats)
                yield answer

    fitted(model, LaneSource(Watched(parts)), {})
    assert any(not np.array_equal(one, other) for one, other in zip(seen[::2], seen[1::2], strict=True))


def test_predictions_are_lazy_frames_with_index_and_types(client):
    frame = dd.from_pandas(DATA[FEATURES].set_index(np.arange(len(DATA)) * 2), npartitions=4)
    model = fitted(hs.LatentClass(2, **OPTIONS), DATA[FEATURES], {})
    whole = frame.compute()
    for name, columns in (("predict", None), ("predict_proba", list(model.class_names_)), ("score_samples", None)):
        lazy = getattr(model, name)(frame)
        assert isinstance(lazy, dd.Series if columns is None else dd.DataFrame)
        found = lazy.compute()
        assert_allclose(found.to_numpy(), getattr(model, name)(whole), rtol=1e-12)
        assert_array_equal(found.index, whole.index)
        assert (found.dtype if columns is None else found.dtypes.iloc[0]) == (
            lazy.dtype if columns is None else lazy.dtypes.iloc[0]
        )
        if columns is not None:
            assert list(found.columns) == list(lazy.columns) == columns
    filled = model.impute(frame)
    pd.testing.assert_frame_equal(filled.compute(), model.impute(whole), rtol=1e-12)
    assert_array_equal(filled.dtypes, model.impute(whole).dtypes)


@pytest.mark.parametrize("weight", [None, "weight"])
def test_figures_of_a_frame_are_those_of_its_rows(weight):
    columns = FEATURES if weight is None else [*FEATURES, weight]
    frame = dd.from_pandas(DATA[columns], npartitions=4)
    numbers = None if weight is None else DATA[weight].to_numpy()
    model = fitted(hs.LatentClass(2, **OPTIONS), DATA[FEATURES], {})
    assert_allclose(
        model.score(frame, sample_weight=weight), model.score(DATA[FEATURES], sample_weight=numbers), rtol=1e-12
    )
    if weight is None:
        for name in ("bic", "aic", "sabic", "icl", "entropy"):
            assert_allclose(getattr(model, name)(frame), getattr(model, name)(DATA[FEATURES]), rtol=1e-12)


def test_the_accuracy_of_a_frame_is_that_of_its_rows():
    known = DATA[DATA["kind"].notna()]
    frame = dd.from_pandas(known, npartitions=4)
    model = fitted(hs.NaiveBayes(**OPTIONS), frame[[*FEATURES, "kind"]], {"y": "kind"})
    found = model.score(frame, "kind", sample_weight="weight")
    assert found == pytest.approx(model.score(known[FEATURES], known["kind"], known["weight"]), rel=1e-12)
    logs = model.predict_joint_log_proba(frame[FEATURES]).compute()
    assert_allclose(logs, model.predict_joint_log_proba(known[FEATURES]), rtol=1e-12)
    with pytest.raises(DataError, match="rows of a partition have no label"):
        model.score(dd.from_pandas(DATA[[*FEATURES, "kind"]], npartitions=2), "kind")
    with pytest.raises(DataError, match="target y is None"):
        model.score(frame[FEATURES])


def test_draws_differ_between_partitions_and_not_between_evaluations():
    model = fitted(hs.GaussianMixture(1, n_init=1), DATA[["size"]], {})
    blank = dd.from_pandas(pd.DataFrame({"size": np.full(40, np.nan)}), npartitions=4)
    drawn = model.impute(blank, draw=True, random_state=0)
    values = drawn.compute()["size"]
    assert len(set(values)) == 40
    assert_array_equal(values, drawn.compute()["size"])


def test_partitions_without_rows_change_nothing():
    parts = [DATA[FEATURES][:1000], DATA[FEATURES][:0], DATA[FEATURES][1000:]]
    model = hs.LatentClass(2, **OPTIONS)
    same_bits(
        fitted(model, LaneSource(LocalCluster(parts)), {}), fitted(model, LaneSource(LocalCluster(parts[::2])), {})
    )
    frame = dd.concat([dd.from_pandas(part, npartitions=1) for part in parts])
    assert len(fitted(model, frame, {}).predict(frame).compute()) == len(DATA)


def test_rows_in_which_nothing_was_observed_do_not_count():
    parts = [DATA[FEATURES][:1000], DATA[FEATURES][1000:]]
    blank = pd.DataFrame({"color": [None] * 40, "size": np.nan, "visits": np.nan})
    model = hs.LatentClass(2, **OPTIONS)
    one, more = (fitted(model, LaneSource(LocalCluster(given)), {}) for given in (parts, [*parts, blank]))
    assert one.bic() == more.bic()
    assert any("40" in event for event in more.events_)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"sample_weight": np.ones(3000)}, "give the name of a column, not a ndarray"),
        ({"sample_weight": "wieght"}, "there is no such column. Columns: color, size, visits, weight, kind"),
        ({"labels": DATA["kind"]}, "give the name of a column, not a Series"),
    ],
)
def test_what_cannot_be_matched_to_rows_elsewhere_is_refused(given, said):
    frame = dd.from_pandas(DATA, npartitions=2)
    with pytest.raises(ParameterError, match=said):
        hs.LatentClass(2).fit(frame, **given)


@pytest.mark.parametrize(("names", "said"), [([0, 1], "names of text"), (["a", "a"], "two columns are called 'a'")])
def test_columns_without_names_of_their_own_are_refused(names, said):
    data = DATA[["size", "visits"]].set_axis(names, axis=1)
    with pytest.raises(DataError, match=said):
        hs.GaussianMixture(2).fit(LaneSource(LocalCluster([data[:1000], data[1000:]])))


def test_what_needs_the_rows_here_is_refused():
    frame = dd.from_pandas(DATA[[*FEATURES, "kind"]], npartitions=2)
    with pytest.raises(ParameterError, match="unlabeled_weight='auto' is found by cross-validation"):
        hs.NaiveBayes().fit(frame, "kind")
    with pytest.raises(DataError, match="no rows that count"):
        hs.LatentClass(2).fit(dd.from_pandas(DATA[:0][FEATURES], npartitions=1))


@pytest.mark.parametrize("light", [0, 1500])
def test_weights_beside_which_others_vanish_are_refused(light):
    data = DATA[["size", "weight"]].assign(weight=1.0)
    data.loc[light, "weight"] = 1e-40
    with pytest.raises(DataError, match=r"weights from 1e-40 to 1. .*Set them to 0"):
        hs.GaussianMixture(2).fit(LaneSource(LocalCluster([data[:1000], data[1000:]]), "weight"))
    one, other = data[:1000].assign(weight=1e-40), data[1000:]
    with pytest.raises(DataError, match=r"weights from 1e-40 to 1. .*Set them to 0"):
        hs.GaussianMixture(2).fit(LaneSource(LocalCluster([one, other]), "weight"))


def test_partitions_that_change_when_they_are_read_again_are_refused():
    class Unstable(LocalCluster):
        def answers(self, job, first_chunks):
            for answer in super().answers(job, first_chunks):
                yield answer._replace(digest=answer.digest + (answer.number if isinstance(job, OverReduced) else 0))

    parts = [DATA[FEATURES][:1000], DATA[FEATURES][1000:]]
    with pytest.raises(DataError, match="partition 1 was read again"):
        hs.LatentClass(2).fit(LaneSource(Unstable(parts)))


def test_an_interrupted_fit_resumes_from_its_checkpoint(tmp_path, client):
    frame = dd.from_pandas(DATA[FEATURES], npartitions=3)
    model = hs.LatentClass(3, **OPTIONS)
    undisturbed = fitted(model, frame, {})
    passes = []

    def stop(*_):
        passes.append(1)
        if len(passes) == 6:
            raise RuntimeError("killed")

    with pytest.raises(RuntimeError, match="killed"), hs.checkpoint(tmp_path / "fit.ckpt"), watching(stop):
        fitted(model, frame, {})
    with hs.checkpoint(tmp_path / "fit.ckpt"):
        same_bits(fitted(model, frame, {}), undisturbed)


def test_models_that_take_no_dask_frame_say_what_to_pass():
    frame = dd.from_pandas(DATA[["size", "visits"]], npartitions=2)
    with pytest.raises(TypeError, match=r"holds no rows yet. Pass X.compute\(\)"):
        hs.LatentClass.from_params([1.0], {"size": {"mean": [0.0], "sd": [1.0]}}).why(frame)


class Workers:
    """A client whose workers say that they are otherwise."""

    def __init__(self, found):
        self.found = found

    def run(self, ask):
        if isinstance(self.found, Exception):
            raise self.found
        return {"tcp://far": {**ask(), **self.found}} if self.found is not None else {}


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ({"halfseen": "0.1.0"}, "worker tcp://far differs from this process: halfseen 0.1.0"),
        ({"kernels": "old", "instruction set": "sse"}, r"kernels old \(here: .* instruction set sse"),
        (None, "has no workers"),
        (ModuleNotFoundError("No module named 'halfseen'"), "workers of Dask cannot import halfseen"),
    ],
)
def test_workers_that_would_give_other_sums_are_refused(found, said):
    frame = dd.from_pandas(DATA[FEATURES], npartitions=2)
    with pytest.raises(FitError, match=said):
        DaskCluster(frame.to_delayed(), frame.columns, Workers(found))
    DaskCluster(frame.to_delayed(), frame.columns, Workers({}))
