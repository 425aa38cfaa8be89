"""Ray datasets: the same bits as the same blocks in this process."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone

import halfseen as hs
from halfseen.engine.tables.lane_source import LaneSource
from halfseen.errors import DataError, DataTypeError, FitError, ParameterError
from halfseen.leaves.leaf import arrays
from halfseen.runners import ray as runner
from halfseen.runners.local import LocalCluster
from tests.distributed import test_dask_grammars as grammars
from tests.distributed import test_dask_sequences as sequences

ray = pytest.importorskip("ray", reason="needs ray")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]
OPTIONS = {"n_init": 2, "random_state": 0, "max_iter": 30, "tol": 1e-4}


def blocks(n_rows=1200, n_blocks=4):
    rng = np.random.default_rng(0)
    z = rng.integers(0, 3, n_rows)
    df = pd.DataFrame(
        {"color": np.array(["red", "green", "blue"])[(z + (rng.random(n_rows) < 0.3)) % 3], "size": rng.normal(2.0 * z)}
    )
    df.loc[rng.random(n_rows) < 0.1, "size"] = np.nan
    df.loc[rng.random(n_rows) < 0.1, "color"] = None
    df["often"] = rng.integers(0, 4, n_rows) * 1.0
    df["kind"] = np.where(rng.random(n_rows) < 0.6, np.array(["k0", "k1", "k2"])[z], None)
    size = n_rows // n_blocks
    return [pa.Table.from_pandas(df[i : i + size], preserve_index=False) for i in range(0, n_rows, size)]


BLOCKS = blocks()


@pytest.fixture(scope="module", autouse=True)
def session():
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    ray.data.DataContext.get_current().enable_progress_bars = False
    yield
    ray.shutdown()


def some(*names):
    return [block.select(list(names)) for block in BLOCKS]


def cases():
    features = ("color", "size")
    yield "weights", hs.LatentClass(3, **OPTIONS), (*features, "often"), {"sample_weight": "often"}
    yield "sample", hs.LatentClass(3, assign="sample", **OPTIONS | {"max_iter": 5}), features, {}
    yield "full", hs.GaussianMixture(2, **OPTIONS), ("size", "often"), {}
    yield "labels", hs.NaiveBayes(unlabeled_weight=1.0, **OPTIONS), (*features, "kind"), {"y": "kind"}


@pytest.mark.parametrize(("model", "names", "given"), [case[1:] for case in cases()], ids=[case[0] for case in cases()])
def test_the_bits_of_this_process(model, names, given):
    columns = {"weight": given.get("sample_weight"), "target": given.get("y")}
    alone = clone(model).fit(LaneSource(LocalCluster(some(*names)), **columns))
    there = clone(model).fit(ray.data.from_arrow(some(*names)), **given)
    assert there.loglik_ == alone.loglik_
    for own, its in zip(arrays(alone._params), arrays(there._params), strict=True):
        assert_array_equal(own, its)


def test_sequences_and_sentences_are_fitted():
    steps = sequences.DATA[["person", "day", "x"]]
    data = ray.data.from_pandas(steps).repartition(3)
    model = hs.HMM(2, **OPTIONS | {"n_init": 1, "max_iter": 3})
    there = clone(model).fit(data.sort("person"), **sequences.MARKS)
    assert there.loglik_ == pytest.approx(clone(model).fit(steps, **sequences.MARKS).loglik_, rel=1e-10)
    with pytest.raises(DataError, match=r"dataset.sort\('person'\) of Ray"):
        clone(model).fit(data, **sequences.MARKS)
    with pytest.raises(DataTypeError, match=r"groupby\('person'\).map_groups"):
        there.predict(data, groups="person")
    rules = hs.PCFG(grammars.RULES, n_init=1, max_iter=3, random_state=0)
    sentences = ray.data.from_pandas(grammars.DATA[["text"]]).repartition(3)
    expected = clone(rules).fit(grammars.DATA["text"].tolist()).loglik_
    assert clone(rules).fit(sentences).loglik_ == pytest.approx(expected, rel=1e-10)


def test_errors_of_workers_are_in_words():
    with pytest.raises(DataError, match="'color'"):
        hs.LatentClass(2, columns={"color": "gaussian"}).fit(ray.data.from_arrow(some("color", "size")))


def test_weights_of_this_process_are_refused():
    with pytest.raises(ParameterError, match="give the name of a column"):
        hs.LatentClass(2).fit(ray.data.from_arrow(some("size")), sample_weight=np.ones(1200))


def test_ray_itself_maps_predictions():
    data = ray.data.from_arrow(some("color", "size"))
    model = hs.LatentClass(2, **OPTIONS).fit(data)
    with pytest.raises(DataTypeError, match="map_batches"):
        model.predict(data)
    mapped = data.map_batches(lambda block: pa.table({"class": model.predict(block)}), batch_format="pyarrow")
    whole = pa.concat_tables(some("color", "size"))
    assert [row["class"] for row in mapped.take_all()] == model.predict(whole).tolist()


def test_workers_that_would_give_other_sums_are_refused(monkeypatch):
    monkeypatch.setattr(runner, "environment", lambda: {"halfseen": "0.0.1"})
    with pytest.raises(FitError, match="differs from this process"):
        hs.LatentClass(2).fit(ray.data.from_arrow(some("size")))


def test_lanes_of_an_earlier_fit_are_not_taken_for_those_of_a_later():
    data = ray.data.from_arrow(some("size"))
    assert len({runner.RayCluster(data)._fit for _ in range(5)}) == 5
