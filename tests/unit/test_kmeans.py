"""KMeans: scikit-learn's answers from the same start, holes, weights, empty clusters, and the failures of others."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.cluster import KMeans as Theirs
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import halfseen as hs
from halfseen.engine.tables import seeding
from halfseen.engine.tables.lloyd import Cells
from halfseen.errors import DataError, DataTypeError, InterruptedWarning, ParameterError
from tests.strategies import examples, generators


def blobs(n_rows=600, n_columns=4, n_clusters=6, seed=0, apart=3.0):
    rng = np.random.default_rng(seed)
    centres = apart * rng.normal(size=(n_clusters, n_columns))
    return centres[rng.integers(0, n_clusters, n_rows)] + rng.normal(size=(n_rows, n_columns))


def holed(X, share, seed=0):
    out = X.copy()
    out[np.random.default_rng(seed).random(X.shape) < share] = np.nan
    return out


def rises(trace):
    return np.diff(trace).max(initial=-np.inf)


# ---- beside scikit-learn ---------------------------------------------------------------------------------------------


@pytest.mark.thorough
@pytest.mark.parametrize("tol", [1e-4, 1e-2, 0.0])
@pytest.mark.parametrize("seed", range(5))
def test_same_start_same_answer_as_scikit_learn(seed, tol):
    X = blobs(seed=seed, apart=1.0)
    start = X[:6]
    ours = hs.KMeans(6, init=start, tol=tol).fit(X)
    theirs = Theirs(6, init=start, n_init=1, tol=tol).fit(X)
    assert ours.n_iter_ == theirs.n_iter_
    assert_array_equal(ours.labels_, theirs.labels_)
    assert_allclose(ours.cluster_centers_, theirs.cluster_centers_, rtol=1e-10, atol=1e-10)
    assert_allclose(ours.inertia_, theirs.inertia_, rtol=1e-12)
    assert_allclose(ours.transform(X), theirs.transform(X), rtol=1e-8)
    assert_allclose(ours.score(X), theirs.score(X), rtol=1e-12)
    assert_array_equal(ours.predict(X + 0.3), theirs.predict(X + 0.3))
    assert_array_equal(ours.get_feature_names_out(), theirs.get_feature_names_out())


@pytest.mark.parametrize("n_iter", [1, 2, 5])
def test_same_number_of_sweeps_as_scikit_learn(n_iter):
    X = blobs(apart=0.5)
    with pytest.warns(ConvergenceWarning, match=f"max_iter={n_iter} iterations"):
        ours = hs.KMeans(6, init=X[:6], tol=0, max_iter=n_iter).fit(X)
    theirs = Theirs(6, init=X[:6], n_init=1, tol=0, max_iter=n_iter).fit(X)
    assert ours.n_iter_ == theirs.n_iter_ == n_iter
    assert ours.stop_reason_ == "max_iter"
    assert not ours.converged_
    assert len(ours.trace_) == n_iter + 1
    assert_allclose(ours.inertia_, theirs.inertia_, rtol=1e-12)
    assert_allclose(ours.cluster_centers_, theirs.cluster_centers_, rtol=1e-10, atol=1e-10)


def test_weights_as_in_scikit_learn():
    X, weight = blobs(apart=1.0), np.random.default_rng(1).random(600)
    ours = hs.KMeans(6, init=X[:6], tol=0).fit(X, sample_weight=weight)
    theirs = Theirs(6, init=X[:6], n_init=1, tol=0).fit(X, sample_weight=weight)
    assert_allclose(ours.cluster_centers_, theirs.cluster_centers_, rtol=1e-10, atol=1e-10)
    assert_allclose(ours.inertia_, theirs.inertia_, rtol=1e-12)
    assert_allclose(ours.score(X, sample_weight=weight), -ours.inertia_, rtol=1e-12)


@pytest.mark.thorough
@pytest.mark.parametrize("init", ["k-means++", "random"])
def test_own_starts_are_as_good_as_scikit_learn_with_as_many(init):
    found, wanted = [], []
    for seed in range(5):
        X = blobs(400, 3, 12, seed)
        found.append(hs.KMeans(12, init=init, random_state=seed, n_init=8).fit(X).inertia_)
        wanted.append(Theirs(12, init=init, n_init=8, random_state=seed).fit(X).inertia_)
    assert np.mean(found) < 1.03 * np.mean(wanted)


# ---- float32 ---------------------------------------------------------------------------------------------------------


def test_float32_stays_float32():
    X = blobs(apart=1.0).astype(np.float32)
    model = hs.KMeans(6, init=X[:6], tol=0).fit(X)
    exact = hs.KMeans(6, init=X[:6], tol=0).fit(X.astype(np.float64))
    assert model.cluster_centers_.dtype == model.transform(X).dtype == np.float32
    assert_array_equal(model.labels_, exact.labels_)
    assert model.trace_ == exact.trace_
    assert_array_equal(model.cluster_centers_, exact.cluster_centers_.astype(np.float32))
    assert hs.KMeans(6).fit(X.astype(np.float16)).cluster_centers_.dtype == np.float32
    assert hs.KMeans(6).fit(X.astype(int)).cluster_centers_.dtype == np.float64


def test_predicts_in_either_precision():
    X = blobs()
    model = hs.KMeans(6, random_state=0).fit(X)
    assert_array_equal(model.predict(X.astype(np.float32)), model.labels_)
    assert_array_equal(
        hs.KMeans(6, init=X[:6]).fit(X.astype(np.float32)).predict(X), hs.KMeans(6, init=X[:6]).fit(X).labels_
    )


@pytest.mark.parametrize("offset", [0.0, 1e4, 1e6])
def test_float32_is_its_own_float64_whatever_the_start(offset):
    X = holed(blobs(apart=1.0) + offset, 0.1).astype(np.float32)
    small, large = (hs.KMeans(6, random_state=0).fit(given) for given in (X, X.astype(np.float64)))
    assert small.trace_ == large.trace_
    assert_array_equal(small.labels_, large.labels_)
    assert_array_equal(small.transform(X), large.transform(X.astype(np.float64)).astype(np.float32))
    assert_array_equal(small.predict(X[::-1]), large.labels_[::-1])


# ---- laws ------------------------------------------------------------------------------------------------------------


@examples(40)
@given(rng=generators, n_clusters=st.integers(1, 9), share=st.sampled_from([0.0, 0.2, 0.6]), start=st.booleans())
def test_the_inertia_never_rises(rng, n_clusters, share, start):
    X = rng.integers(0, 4, (40, 3)) + 0.5 * rng.integers(0, 2, (40, 3)) * rng.normal(size=(40, 3))
    X[1:][rng.random((39, 3)) < share] = np.nan
    weight = rng.integers(0, 3, 40) + np.eye(40)[0]
    init = rng.normal(size=(n_clusters, 3)) if start else "k-means++"
    model = hs.KMeans(n_clusters, init=init, tol=0, n_init=3, random_state=0).fit(X, sample_weight=weight)
    assert rises(model.trace_) <= 1e-12 * model.trace_[0]
    assert model.inertia_ == model.trace_[-1]
    assert_allclose(-model.score(X, sample_weight=weight), model.inertia_, rtol=1e-12, atol=1e-12)
    assert_array_equal(model.predict(X), model.labels_)


@examples(20)
@given(rng=generators)
def test_a_weight_of_two_is_the_row_twice_and_zero_is_no_row(rng):
    X = holed(rng.normal(size=(30, 2)), 0.1)
    weight = rng.integers(0, 3, 30)
    weight[:6] = 1
    weighted = hs.KMeans(4, random_state=1).fit(X, sample_weight=weight)
    repeated = hs.KMeans(4, random_state=1).fit(np.repeat(X, weight, axis=0))
    assert_array_equal(weighted.cluster_centers_, repeated.cluster_centers_)  # to the last bit
    assert weighted.trace_ == repeated.trace_
    assert_array_equal(np.repeat(weighted.labels_, weight), repeated.labels_)


@pytest.mark.parametrize("init", ["k-means++", "random"])
def test_the_order_of_the_rows_changes_nothing(init):
    X = holed(blobs(), 0.1)
    order = np.random.default_rng(0).permutation(len(X))
    first = hs.KMeans(6, init=init, random_state=3).fit(X)
    second = hs.KMeans(6, init=init, random_state=3).fit(X[order])
    assert_array_equal(first.cluster_centers_, second.cluster_centers_)
    assert_array_equal(first.labels_[order], second.labels_)


@pytest.mark.parametrize("share", [0.0, 0.2])
def test_any_number_of_threads_gives_the_same_bits(share):
    X = holed(blobs(20_000, apart=1.0), share)
    one, three = (hs.KMeans(6, random_state=0, n_jobs=n).fit(X) for n in (None, 3))
    assert one.trace_ == three.trace_
    assert_array_equal(one.cluster_centers_, three.cluster_centers_)
    assert_array_equal(one.labels_, three.labels_)
    assert_array_equal(one.transform(X), three.transform(X))


def test_columns_may_change_places():
    X = holed(blobs(), 0.1)
    start = blobs()[:6]
    first = hs.KMeans(6, init=start).fit(X)
    second = hs.KMeans(6, init=start[:, ::-1]).fit(X[:, ::-1])
    assert_allclose(first.cluster_centers_[:, ::-1], second.cluster_centers_, rtol=1e-10, atol=1e-12)


# ---- starts ----------------------------------------------------------------------------------------------------------


def test_centres_may_be_stored_by_columns():
    X, centres = np.array([[1.0, 2.0], [3.0, 4.0], [9.0, 9.0]]), [[1.0, 2.0], [8.0, 8.0]]
    by_columns = np.asfortranarray(centres)
    for made in (hs.KMeans(2, init=by_columns).fit(X), hs.KMeans.from_params(by_columns)):
        assert_array_equal(made.predict(X), [0, 0, 1])


def test_a_sample_is_the_same_in_any_order():
    X, weight = blobs(5000), np.ones(5000)
    order = np.random.default_rng(0).permutation(5000)
    some = seeding.sample(X, weight, limit=1000)
    assert not some.whole
    assert len(some.values) == 1000
    assert_array_equal(some.values, seeding.sample(X[order], weight, limit=1000).values)
    twice = seeding.sample(np.tile(X, (2, 1)), np.ones(10_000), limit=1000)
    assert_array_equal(some.values, twice.values)
    assert set(twice.weight.tolist()) == {2.0}


def test_hashes_tell_small_whole_numbers_apart():
    """Their lower bits are all zero, which a hash by products would keep."""
    grid = np.stack(np.meshgrid(*[np.arange(16.0)] * 4), axis=-1).reshape(-1, 4)
    assert len(np.unique(seeding.hash_rows(grid))) == len(grid)
    assert len(np.unique(seeding.hash_rows(grid.astype(np.float32)))) == len(grid)
    same = seeding.hash_rows(np.array([[0.0, np.nan], [-0.0, -np.nan]]))
    assert same[0] == same[1]


@pytest.mark.thorough
def test_more_rows_than_the_sample_end_at_an_optimum_of_all(monkeypatch):
    X = blobs(5000)
    monkeypatch.setattr(seeding.sample, "__defaults__", (500, *seeding.sample.__defaults__[1:]))
    model = hs.KMeans(6, random_state=0).fit(X)
    theirs = Theirs(6, n_init=8, random_state=0).fit(X)
    assert_allclose(model.inertia_, theirs.inertia_, rtol=1e-3)
    assert len(model.labels_) == 5000
    assert_array_equal(model.predict(X), model.labels_)
    order = np.random.default_rng(0).permutation(5000)
    assert_allclose(hs.KMeans(6, random_state=0).fit(X[order]).inertia_, model.inertia_, rtol=1e-10)


def test_the_same_seed_gives_the_same_fit_and_another_another():
    X = np.random.default_rng(0).normal(size=(300, 5))
    first, second, other = (hs.KMeans(9, random_state=seed, n_init=1).fit(X) for seed in (1, 1, 2))
    assert first.trace_ == second.trace_
    assert first.trace_ != other.trace_


def test_the_largest_cluster_comes_first():
    model = hs.KMeans(6, random_state=0).fit(blobs())
    assert (np.diff(np.bincount(model.labels_)) <= 0).all()


# ---- holes -----------------------------------------------------------------------------------------------------------


def test_distances_are_over_what_is_seen_and_scaled():
    model = hs.KMeans.from_params([[0.0, 0.0, 0.0], [3.0, 0.0, 4.0]])
    X = np.array([[3.0, np.nan, 4.0], [np.nan, 2.0, np.nan], [np.nan, np.nan, np.nan]])
    assert_allclose(model.transform(X), [[np.sqrt(25 * 3 / 2), 0.0], [np.sqrt(12), np.sqrt(12)], [0.0, 0.0]])
    assert model.predict(X).tolist() == [1, 0, 0]
    assert_allclose(model.score(X), -12.0)


def test_holes_barely_move_clusters_that_are_far_apart():
    X = blobs(apart=20.0)
    full = hs.KMeans(6, random_state=0).fit(X)
    model = hs.KMeans(6, random_state=0).fit(holed(X, 0.2))
    nearest = np.sqrt(Cells.of(model.cluster_centers_).distances(full.cluster_centers_))
    assert nearest.min(axis=0).max() < 0.6
    assert rises(model.trace_) < 0


def test_impute_fills_from_the_centre_of_the_cluster_and_touches_nothing_else():
    X = pd.DataFrame(holed(blobs(apart=20.0), 0.2), columns=list("abcd"))
    model = hs.KMeans(6, random_state=0).fit(X)
    filled = model.impute(X)
    assert isinstance(filled, pd.DataFrame)
    seen = X.notna()
    pd.testing.assert_frame_equal(filled[seen], X)
    expected = pd.DataFrame(model.cluster_centers_[model.labels_], columns=list("abcd"))
    pd.testing.assert_frame_equal(filled[~seen], expected[~seen])


def test_e34_all_missing_row_and_column_and_a_column_missing_in_one_cluster():
    X = blobs(60, 3, 2, apart=20.0)
    X[7] = np.nan
    model = hs.KMeans(2, random_state=0).fit(X)
    assert model.labels_[7] == 0
    assert_allclose(hs.KMeans(2, random_state=0).fit(np.delete(X, 7, axis=0)).inertia_, model.inertia_, rtol=1e-12)
    X[model.labels_ == 1, 2] = np.nan
    again = hs.KMeans(2, random_state=0).fit(X)
    assert np.isfinite(again.cluster_centers_).all()
    X[:, 1] = np.nan
    with pytest.raises(DataError, match="column 'x1' has no observed cell: no mean"):
        hs.KMeans(2).fit(X)


# ---- the failures of others ------------------------------------------------------------------------------------------


def test_e1_one_row_per_centre_and_fewer_rows_than_columns():
    X = np.random.default_rng(0).normal(size=(5, 9))
    model = hs.KMeans(5, random_state=0).fit(X)
    assert sorted(model.labels_.tolist()) == [0, 1, 2, 3, 4]
    assert_allclose(model.inertia_, 0.0, atol=1e-25)


def test_e2_float32_and_very_different_numbers():
    X = np.array([[9999.0, 0.0], [0.0, 9999.0], [9999.0, 0.5], [0.5, 9999.0]] * 5, dtype=np.float32)
    model = hs.KMeans(2, random_state=0).fit(X)
    assert_allclose(model.inertia_, 20 * 0.0625, rtol=1e-6)


def test_e5_constant_columns_and_large_offsets():
    X = blobs()
    plain = hs.KMeans(6, init=X[:6]).fit(X)
    for offset in (1e8, -1e8):
        moved = hs.KMeans(6, init=X[:6] + offset).fit(X + offset)
        assert_array_equal(moved.labels_, plain.labels_)
        assert_allclose(moved.inertia_, plain.inertia_, rtol=1e-6)  # the data themselves lost digits
    flat = np.hstack([X, np.full((600, 2), 7.0)])
    assert_array_equal(hs.KMeans(6, init=flat[:6]).fit(flat).labels_, plain.labels_)
    same = hs.KMeans(1).fit(np.full((10, 2), 3.3))
    assert same.inertia_ == 0
    assert same.converged_


def test_clusters_close_together_among_large_numbers():
    """Squares of 1e8 round to whole numbers; the clusters are 1 apart."""
    X = np.array([[1e8, 0.0], [1e8, 1.0], [-1e8, 0.0], [-1e8, 1.0]] * 10)
    for init in ("k-means++", X[:4] + 0.1):
        model = hs.KMeans(4, init=init, random_state=0).fit(X)
        assert_allclose(model.inertia_, 0.0, atol=1e-12)


def test_e6_very_small_and_very_large_scales():
    X = blobs()
    plain = hs.KMeans(6, init=X[:6]).fit(X)
    for scale in (1e-150, 1e-8, 1e100):
        model = hs.KMeans(6, init=X[:6] * scale).fit(X * scale)
        assert_array_equal(model.labels_, plain.labels_)
        assert model.n_iter_ == plain.n_iter_
    with pytest.raises(DataError, match="squares are beyond float64"):
        hs.KMeans(2).fit(X * 1e200)
    with pytest.raises(DataError, match="squares are too small for float64"):
        hs.KMeans(2).fit(X * 1e-200)
    assert hs.KMeans(1).fit([[1e-200, None], [None, 2.0]]).inertia_ == 0
    large = (X * 1e25).astype(np.float32)  # squares are beyond float32, and not beyond the sums
    assert_array_equal(hs.KMeans(6, init=large[:6]).fit(large).labels_, plain.labels_)


@pytest.mark.parametrize("n_clusters", [1, 2])
@pytest.mark.parametrize("holes", [False, True])
@pytest.mark.parametrize("away", [1e8, -1e6])
def test_a_start_far_away_leaves_no_rounding_in_the_centres(n_clusters, holes, away):
    """Sums about a start 1e8 standard deviations away have 8 digits; they are made again about the means."""
    X = np.random.default_rng(0).normal(size=(500, 2))
    X[:, 0] += np.repeat([-20.0, 20.0], 250) if n_clusters == 2 else 0.0
    if holes:
        X[::7, 1] = np.nan
    init = np.column_stack([[-20.0, 20.0][:n_clusters], np.full(n_clusters, away)])
    model = hs.KMeans(n_clusters, init=init).fit(X)
    near = hs.KMeans(n_clusters, init=np.column_stack([[-20.0, 20.0][:n_clusters], np.zeros(n_clusters)])).fit(X)
    assert model.stop_reason_ == "assignments unchanged"
    assert_allclose(model.cluster_centers_, near.cluster_centers_, rtol=0, atol=1e-14)
    assert_allclose(model.inertia_, near.inertia_, rtol=1e-14)


def test_e12_an_empty_centre_moves_to_the_farthest_row():
    """kmeans_pytorch#41: NaN; tslearn#269: no end."""
    X = np.array([[0.0], [1.0], [2.0], [100.0]])
    model = hs.KMeans(2, init=[[1.0], [1e6]]).fit(X)
    assert model.labels_.tolist() == [0, 0, 0, 1]
    assert model.events_ == ["sweep 1: centre 1 had no rows and was moved to the farthest row"]
    assert rises(model.trace_) < 0
    theirs = Theirs(2, init=[[1.0], [1e6]], n_init=1).fit(X)
    assert_array_equal(model.cluster_centers_, theirs.cluster_centers_)


def test_e12_many_empty_centres_move_to_different_rows():
    X = blobs()
    model = hs.KMeans(6, init=np.vstack([X[:1], 1e5 + np.arange(20).reshape(5, 4)])).fit(X)
    assert len(np.unique(model.labels_)) == 6
    assert len(model.events_) >= 5
    assert rises(model.trace_) < 0
    holes = hs.KMeans(6, init=np.vstack([X[:1], 1e5 + np.arange(20).reshape(5, 4)])).fit(holed(X, 0.3))
    assert len(np.unique(holes.labels_)) == 6
    assert np.isfinite(holes.cluster_centers_).all()


@pytest.mark.parametrize("init", ["k-means++", "random", "given"])
def test_e12_more_clusters_than_different_rows(init):
    X = np.array([[0.1, 0.1], [0.3, 0.3]] * 50)
    start = np.random.default_rng(0).normal(size=(5, 2)) if init == "given" else init
    with pytest.warns(ConvergenceWarning, match=r"distinct clusters \(2\) found smaller than n_clusters \(5\)"):
        model = hs.KMeans(5, init=start, random_state=0).fit(X)
    assert_allclose(model.inertia_, 0.0, atol=1e-25)
    assert np.isfinite(model.cluster_centers_).all()
    assert model.events_[-1] == "3 of 5 centres have no rows"


def test_e12_too_few_rows_are_refused():
    with pytest.raises(ParameterError, match=r"n_samples=3 is fewer than n_clusters=4"):
        hs.KMeans(4).fit(np.zeros((3, 2)))
    with pytest.raises(ParameterError, match=r"n_samples=2 is fewer than n_clusters=3"):
        hs.KMeans(3).fit(np.eye(4), sample_weight=[1, 0, 0, 1])


def test_e20_a_fit_from_the_centres_of_another_does_not_get_worse():
    for seed in range(20):
        X = np.random.default_rng(seed).normal(size=(100, 3))
        first = hs.KMeans(5, random_state=seed, n_init=1).fit(X)
        again = hs.KMeans(5, init=first.cluster_centers_).fit(X)
        assert again.inertia_ <= first.inertia_ * (1 + 1e-12)


# ---- doors -----------------------------------------------------------------------------------------------------------


def test_the_same_table_in_every_container_gives_the_same_bits():
    X = holed(blobs(), 0.1)
    rows = [[None if np.isnan(cell) else cell for cell in row] for row in X.tolist()]
    frame = pd.DataFrame(X, columns=list("abcd"))
    plain = hs.KMeans(6, random_state=0).fit(X)
    tables = (
        rows,
        frame,
        pl.from_numpy(X, list("abcd")).fill_nan(None),
        pa.Table.from_pandas(frame),
        np.asfortranarray(X),
    )
    for table in tables:
        model = hs.KMeans(6, random_state=0).fit(table)
        assert_array_equal(model.cluster_centers_, plain.cluster_centers_)
        assert_array_equal(model.predict(table), plain.labels_)
    assert hs.KMeans(6).fit(frame).feature_names_in_.tolist() == list("abcd")


def test_text_infinity_and_sparse_data_are_refused_with_their_place():
    with pytest.raises(DataError, match=r"column 'x0', row 1 is 'NA', not a number \(1 such row; if it means"):
        hs.KMeans(2).fit([["1"], ["NA"], ["3"]])
    with pytest.raises(DataError, match="column 'color', row 1 is 'red', not a number"):
        hs.KMeans(2).fit(pd.DataFrame({"size": [1.0, 2.0], "color": [None, "red"]}))
    X = blobs()
    X[17, 2] = np.inf
    with pytest.raises(DataError, match="column 'x2', row 17 is inf"):
        hs.KMeans(2).fit(X)
    with pytest.raises(DataTypeError, match="sparse"):
        hs.KMeans(2).fit(csr_array(np.eye(4)))
    model = hs.KMeans(2).fit(blobs())
    for use in (model.predict, model.transform, model.score, model.impute):
        with pytest.raises(DataError, match="row 17 is inf"):
            use(X)


def test_true_and_false_are_numbers():
    X = pd.DataFrame({"flag": [True, False, True, False], "size": [1.0, 5.0, 1.5, 5.5]})
    assert hs.KMeans(2, random_state=0).fit(X).labels_.tolist() in ([0, 1, 0, 1], [1, 0, 1, 0])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_clusters": 0}, "n_clusters=0 is not a whole number"),
        ({"n_init": 0.5}, "n_init=0.5"),
        ({"max_iter": 0}, "max_iter=0"),
        ({"tol": -1.0}, "tol=-1.0"),
        ({"init": "kmeans"}, "init='kmeans' is not one of 'k-means..', 'random'"),
        ({"init": np.zeros((2, 3))}, r"shape \(2, 3\), not \(n_clusters, n_features\) = \(8, 4\)"),
        ({"init": np.full((8, 4), np.nan)}, "centre 0 has nan in column 0"),
        ({"init": [["a"] * 4] * 8}, "nor an array of numbers"),
        ({"n_jobs": 0}, "n_jobs=0"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, message):
    with pytest.raises(ParameterError, match=message):
        hs.KMeans(**options).fit(blobs())


def test_auto_is_the_usual_number_of_starts():
    X = np.random.default_rng(0).normal(size=(50, 2))
    usual, auto = hs.KMeans(3, random_state=0).fit(X), hs.KMeans(3, n_init="auto", random_state=0).fit(X)
    assert auto.inertia_ == usual.inertia_
    assert auto.n_init == "auto"


def test_use_before_fit_is_refused():
    with pytest.raises(NotFittedError):
        hs.KMeans().predict(blobs())
    with pytest.raises(NotFittedError):
        _ = hs.KMeans().cluster_centers_
    with pytest.raises(ParameterError, match="finite numbers"):
        hs.KMeans.from_params([1.0, 2.0])


def test_in_words_and_as_a_table():
    X = pd.DataFrame({"a": [1.0, 3.0, 11.0, 13.0], "b": [5.0, 5.0, 5.0, 5.0], "c": [1e-3, 2e-3, 3e-3, 2e-3]})
    model = hs.KMeans(2, random_state=0).fit(X, sample_weight=[1, 1, 3, 3])
    assert model.describe(top=1) == "cluster 0 (75%): a 12 (all 9.5)\ncluster 1 (25%): a 2 (all 9.5)"
    assert "b" not in model.describe()  # it never varies
    frame = model.to_frame()
    assert frame.columns.tolist() == ["column", "kind", "value", "overall", "cluster 0", "cluster 1"]
    assert frame["cluster 0"].tolist() == pytest.approx([0.75, 12.0, 5.0, 0.0025])
    assert_array_equal(model.cluster_sizes_, [6.0, 2.0])
    given = hs.KMeans.from_params([[3.0, 4.0]])
    assert given.describe() == "cluster 0: x0 3; x1 4"
    assert given.to_frame()["cluster 0"].tolist() == [3.0, 4.0]
    with pytest.raises(ParameterError, match="top=0"):
        model.describe(top=0)


def test_a_mean_of_zero_is_shown_as_zero():
    X = np.random.default_rng(0).normal(size=(50, 2))
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    assert "(all 0)" in hs.KMeans(2, random_state=0).fit(X).describe()


def test_in_a_pipeline_with_names():
    X = pd.DataFrame(holed(blobs(), 0.1), columns=list("abcd"))
    pipe = make_pipeline(StandardScaler(), hs.KMeans(3, random_state=0)).set_output(transform="pandas")
    assert pipe.fit_transform(X).columns.tolist() == ["kmeans0", "kmeans1", "kmeans2"]


@pytest.mark.parametrize("at", [0, 5, 32])  # the first two sweeps find means and variances
def test_an_interrupt_keeps_the_best_centres_so_far(monkeypatch, at):
    from halfseen.engine.tables import lloyd

    calls, real = [], lloyd.sweep

    def stubborn(*args):
        calls.append(1)
        if len(calls) == at:
            raise KeyboardInterrupt
        return real(*args)

    monkeypatch.setattr(lloyd, "sweep", stubborn)
    X = np.random.default_rng(0).normal(size=(500, 4))
    if at == 0:
        hs.KMeans(8, random_state=0).fit(X)
        return
    with pytest.warns(InterruptedWarning, match="best model so far"):
        model = hs.KMeans(8, random_state=0).fit(X)
    assert model.stop_reason_ == "interrupted"
    assert not model.converged_
    assert_allclose(-model.score(X), model.inertia_, rtol=1e-12)


def test_rows_that_go_to_and_fro_end_the_run():
    """Rows as far from one centre as from another change for ever, by the rounding of means."""
    rng = np.random.default_rng(50)
    X = rng.integers(0, 4, (40, 3)) + 0.5 * rng.integers(0, 2, (40, 3)) * rng.normal(size=(40, 3))
    X[1:][rng.random((39, 3)) < 0.6] = np.nan
    weight = rng.integers(0, 3, 40) + np.eye(40)[0]
    model = hs.KMeans(5, tol=0, n_init=3, random_state=0).fit(X, sample_weight=weight)
    assert (model.stop_reason_, model.converged_) == ("rounding", True)


# ---- sums that are kept between sweeps -------------------------------------------------------------------------------


@pytest.mark.parametrize("heavy", [1e8, 1e12, 1e17, 1e20])
def test_heavy_rows_that_leave_take_no_digits_of_light_ones(heavy):
    """Centre 0 loses its heavy rows and keeps three light ones; rows farther off hide that in the inertia."""
    x = np.array([0.0, 10.0, 4.1, 5.3, 6.2, -1.3, 11.7, 1000.0, 1100.0])
    weight = np.array([heavy, heavy, 0.3, 0.7, 0.6, heavy, heavy, heavy, heavy])
    model = hs.KMeans(4, init=[[5.0], [-6.0], [16.0], [1050.0]], tol=0).fit(x[:, None], sample_weight=weight)
    assert model.labels_.tolist() == [1, 2, 0, 0, 0, 1, 2, 3, 3]
    assert_allclose(model.cluster_centers_[:, 0], [5.4125, -0.65, 10.85, 1050.0], rtol=1e-12)
    assert not model.events_


def test_a_far_start_leaves_nothing_in_the_means_of_rows_with_holes():
    """No row is complete, so that only the cells seen can tell that the centres left the start far behind."""
    X = blobs(300, 4, 3)
    X[np.arange(300), np.arange(300) % 4] = np.nan
    start = 1e9 * np.eye(4)[:2]
    model = hs.KMeans(2, init=start, tol=0, max_iter=1000).fit(X)
    for k in range(2):
        own = X[model.labels_ == k]
        assert_allclose(model.cluster_centers_[k], np.nanmean(own, axis=0), rtol=1e-12)


@pytest.mark.parametrize("seed", [9, 10])
def test_equal_rows_with_holes_are_no_rise_of_the_inertia(seed):
    """What is left of it is rounding."""
    rng = np.random.default_rng(seed)
    row = rng.normal(size=5)
    X = np.tile(row, (6, 1))
    X[np.arange(6), np.arange(6) % 5] = np.nan
    with pytest.warns(ConvergenceWarning, match="distinct clusters"):
        model = hs.KMeans(2, init=rng.normal(size=(2, 5)), tol=0).fit(X)
    assert_allclose(model.cluster_centers_[model.labels_[0]], row, rtol=1e-12)
