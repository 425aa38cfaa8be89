"""k-means of Dask frames: the same bits as the same partitions in this process, and the centres of a local fit."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

import halfseen as hs
from halfseen.errors import DataError, ParameterError
from halfseen.families.kmeans import lanes as kmeans_lanes
from halfseen.runners.local import LocalCluster
from tests.distributed.clusters import Shuffled, fitted, lanes

dd = pytest.importorskip("dask.dataframe", reason="needs dask")

COLUMNS = ["a", "b", "c"]


def table(n_rows=4000):
    rng = np.random.default_rng(3)
    z = rng.integers(0, 4, n_rows)
    df = pd.DataFrame(rng.normal(4.0 * z[:, None], 1.5, (n_rows, 3)), columns=COLUMNS)
    df = df.mask((rng.random(df.shape) < 0.1) & (np.arange(3) > 0))
    df["weight"] = rng.integers(0, 4, n_rows) * 1.0
    return df


DATA = table()
GIVEN = np.repeat([[0.0], [1.0], [9.0], [10.0]], 3, axis=1)
FAR = np.array([[0.0] * 3, [1e3] * 3, [2e3] * 3, [6.0] * 3])  # two of them have no rows at first

CASES = {
    "sample": (hs.KMeans(4, random_state=0), None),
    "all rows": (hs.KMeans(4, random_state=0, tol=0.0), None),
    "weights": (hs.KMeans(3, init="random", random_state=1), "weight"),
    "given": (hs.KMeans(4, init=GIVEN, tol=0.0), None),
    "empty": (hs.KMeans(4, init=FAR, tol=0.0), "weight"),
}


@pytest.fixture(params=CASES, ids=list(CASES))
def case(request, monkeypatch):
    if request.param == "all rows":  # more distinct rows than starts are raced on
        monkeypatch.setattr(kmeans_lanes, "LIMIT", 500)
    model, weight = CASES[request.param]
    frame = dd.from_pandas(DATA[COLUMNS if weight is None else [*COLUMNS, weight]], npartitions=5)
    return model, frame, weight, request.param


def same_bits(one, other):
    assert one.inertia_ == other.inertia_
    assert one.trace_ == other.trace_
    assert one.stop_reason_ == other.stop_reason_
    assert_array_equal(one.cluster_centers_, other.cluster_centers_)
    assert_array_equal(one.cluster_sizes_, other.cluster_sizes_)
    assert_array_equal(one._spread, other._spread)


def test_the_same_partitions_give_the_same_bits_with_any_workers(client, case):
    model, frame, weight, _ = case
    same_bits(fitted(model, frame, sample_weight=weight), fitted(model, lanes(frame, weight)))


def test_threads_and_the_order_of_arrival_change_no_bit(case):
    model, frame, weight, _ = case
    here = fitted(model, lanes(frame, weight))
    same_bits(here, fitted(model, lanes(frame, weight, n_jobs=3)))
    same_bits(here, fitted(model, lanes(frame, weight, cluster=Shuffled)))


def test_lanes_agree_with_one_table(case):
    model, frame, weight, name = case
    there = fitted(model, lanes(frame, weight))
    if name == "all rows":  # the same start: the centres that the race led to
        start = fitted(clone(model).set_params(max_iter=1), lanes(frame, weight)).cluster_centers_
        model = hs.KMeans(4, init=start, tol=0.0)
        there = fitted(model, lanes(frame, weight))
    here = fitted(model, DATA[COLUMNS], sample_weight=None if weight is None else DATA[weight].to_numpy())
    assert_allclose(there.inertia_, here.inertia_, rtol=1e-10)
    assert_allclose(there.cluster_centers_, here.cluster_centers_, rtol=1e-9)
    assert_array_equal(there.cluster_sizes_, here.cluster_sizes_)
    assert there.stop_reason_ == here.stop_reason_
    assert there.n_iter_ == here.n_iter_
    assert_allclose(there.trace_, here.trace_, rtol=1e-10)
    assert_allclose(there._spread, here._spread, rtol=1e-10)


def test_rows_without_any_cell_belong_to_the_first_cluster():
    data = pd.concat([DATA[COLUMNS], pd.DataFrame(np.nan, [9000, 9001], COLUMNS)])
    model = CASES["given"][0]
    there, here = fitted(model, lanes(dd.from_pandas(data, npartitions=3))), fitted(model, data)
    assert_array_equal(there.cluster_sizes_, here.cluster_sizes_)
    assert_allclose(there.trace_, here.trace_, rtol=1e-10)
    assert there.cluster_sizes_.sum() == len(data)


def test_centres_without_rows_go_to_the_farthest_row():
    model = fitted(CASES["empty"][0], lanes(dd.from_pandas(DATA[COLUMNS], npartitions=5)))
    assert any("moved to the farthest row" in event for event in model.events_)


def test_answers_are_lazy_frames(client):
    frame = dd.from_pandas(DATA[COLUMNS].set_index(np.arange(len(DATA)) * 2), npartitions=4)
    model = fitted(hs.KMeans(4, random_state=0), frame)
    whole = frame.compute()
    clusters, distances = model.predict(frame), model.transform(frame)
    assert isinstance(clusters, dd.Series)
    assert clusters.name == "cluster"
    assert_array_equal(clusters.compute(), model.predict(whole))
    assert isinstance(distances, dd.DataFrame)
    found = distances.compute()
    assert_allclose(found, model.transform(whole), rtol=1e-12)
    assert list(found.columns) == list(distances.columns) == ["kmeans0", "kmeans1", "kmeans2", "kmeans3"]
    assert_array_equal(found.index, whole.index)
    pd.testing.assert_frame_equal(model.impute(frame).compute(), model.impute(whole))
    assert_allclose(model.score(frame), model.score(whole), rtol=1e-12)


def test_fit_predict_leaves_out_the_column_of_weights():
    frame = dd.from_pandas(DATA, npartitions=3)
    model = hs.KMeans(4, random_state=0)
    found = model.fit_predict(frame, sample_weight="weight")
    assert_array_equal(found.compute(), model.predict(DATA[COLUMNS]))
    assert not hasattr(model, "labels_")
    assert_allclose(
        model.fit_transform(frame, sample_weight="weight").compute(), model.transform(DATA[COLUMNS]), rtol=1e-12
    )


def test_what_cannot_be_done_is_refused():
    frame = dd.from_pandas(DATA[COLUMNS], npartitions=2)
    model = hs.KMeans(4, random_state=0).fit(DATA[COLUMNS])
    with pytest.raises(ParameterError, match=r"set_output\(transform='pandas'\).*lazy frame"):
        hs.KMeans(4, random_state=0).fit(DATA[COLUMNS]).set_output(transform="pandas").transform(frame)
    with pytest.raises(ParameterError, match="n_samples=3 is fewer than n_clusters=4"):
        fitted(model, dd.from_pandas(DATA[COLUMNS][:3], npartitions=2))
    with pytest.raises(ParameterError, match="give the name of a column, not a ndarray"):
        fitted(model, frame, sample_weight=np.ones(len(DATA)))
    with pytest.raises(DataError, match=r"column 'b'.*numbers only"):
        fitted(model, frame.assign(b="text"))
    with pytest.raises(DataError, match=r"column 'b'.*inf"):
        fitted(model, frame.assign(b=np.inf))
    with pytest.raises(DataError, match="squares are beyond float64"):
        fitted(model, frame.assign(b=frame["b"] * 1e200))
    assert fitted(model, lanes(frame, cluster=LocalCluster)).n_features_in_ == 3
