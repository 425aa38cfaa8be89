"""GaussianMixture and GaussianClassifier: options, holes, and the failures that others report."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_spd_matrix
from sklearn.exceptions import ConvergenceWarning

import halfseen as hs
from halfseen.engine.loop.em import evaluate
from halfseen.engine.loop.model import Reduced
from halfseen.engine.tables.fused_normal import FusedNormal
from halfseen.engine.tables.preprocess import reduce
from halfseen.errors import CollapseWarning, DataError, ParameterError
from halfseen.kernels import active, plain

SHAPES = ("full", "tied", "diag", "spherical")


def blobs(n_rows=300, seed=0, holes=0.0, width=3):
    """Return rows of three correlated clusters, and which is which."""
    rng = np.random.default_rng(seed)
    roots = rng.normal(size=(3, width, width)) / 2 + np.eye(width)
    hidden = rng.integers(0, 3, n_rows)
    X = 5 * rng.normal(size=(3, width))[hidden] + np.einsum(
        "nde,ne->nd", roots[hidden], rng.normal(size=(n_rows, width))
    )
    X[rng.random(X.shape) < holes] = np.nan
    return X, hidden


# ---- holes ----------------------------------------------------------------------------------------------------------


def test_a_bivariate_normal_with_one_column_missing_has_a_closed_form():
    """Anderson 1957: regress y on x over complete rows, x over all rows; sklearn#9581 collapsed here."""
    rng = np.random.default_rng(0)
    x = rng.normal(2.0, 3.0, 40)
    y = 1.0 + 0.7 * x + rng.normal(size=40)
    seen = np.arange(40) < 25
    X = np.column_stack([x, np.where(seen, y, np.nan)])
    slope, intercept = np.polyfit(x[seen], y[seen], 1)
    residual = np.mean((y[seen] - intercept - slope * x[seen]) ** 2)
    mean = [x.mean(), intercept + slope * x.mean()]
    cov = [[x.var(), slope * x.var()], [slope * x.var(), residual + slope**2 * x.var()]]
    model = hs.GaussianMixture(1, tol=1e-12).fit(X)
    assert_allclose(model.means_[0], mean, rtol=1e-6)
    assert_allclose(model.covariances_[0], cov, rtol=1e-5)
    assert_allclose(model.impute(X)[~seen, 1], intercept + slope * x[~seen], rtol=1e-5)


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_is_recovered_through_holes(shape):
    X, hidden = blobs(1500, holes=0.15)
    model = hs.GaussianMixture(3, covariance_type=shape, n_init=6, random_state=0).fit(X)
    agree = pd.crosstab(hidden, model.predict(X)).to_numpy().max(axis=1).sum() / len(X)
    assert agree > 0.9
    assert np.isfinite(model.loglik_)
    for cov in np.atleast_3d(model.covariances_) if shape == "full" else []:
        assert np.linalg.eigvalsh(cov)[0] > 0


def test_the_covariance_stays_positive_definite_where_pairs_of_columns_never_meet():
    """Pairwise estimates would be indefinite (pomegranate#373): cor(a,b) = cor(b,c) = 0.9, cor(a,c) = -0.9."""
    rng = np.random.default_rng(0)
    z = rng.normal(size=(300, 2))
    pair = np.column_stack([z[:, 0], 0.9 * z[:, 0] + 0.44 * z[:, 1]])
    X = np.full((900, 3), np.nan)
    X[:300, :2], X[300:600, 1:], X[600:, ::2] = pair, pair, pair * [1, -1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = hs.GaussianMixture(1, max_iter=300).fit(X)
    assert np.linalg.eigvalsh(model.covariances_[0])[0] > 0
    assert np.all(np.diff(model.trace_) >= -1e-9 * abs(model.loglik_))


def test_a_row_without_cells_says_nothing_and_gets_the_overall_mean():
    X, _ = blobs()
    model = hs.GaussianMixture(3, random_state=0).fit(X)
    empty = np.full((1, 3), np.nan)
    assert model.score_samples(empty)[0] == 0.0
    assert_allclose(model.predict_proba(empty)[0], model.weights_)
    assert_allclose(model.impute(empty)[0], model.weights_ @ model.means_)


def test_drawn_cells_have_the_conditional_distribution():
    cov = np.array([[2.0, 1.2], [1.2, 1.0]])
    model = hs.GaussianMixture.from_params([1.0], [[1.0, -1.0]], [cov])
    X = np.tile([3.0, np.nan], (20_000, 1))
    drawn = model.impute(X, draw=True, random_state=0)[:, 1]
    assert_allclose(drawn.mean(), -1.0 + 0.6 * 2.0, atol=0.02)
    assert_allclose(drawn.var(), 1.0 - 1.2**2 / 2, rtol=0.05)


def test_samples_have_means_and_covariances():
    X, _ = blobs()
    model = hs.GaussianMixture(3, random_state=0).fit(X)
    rows, labels = model.sample(30_000, random_state=0)
    for k in range(3):
        assert_allclose(rows[labels == k].mean(axis=0), model.means_[k], atol=0.1)
        assert_allclose(np.cov(rows[labels == k].T), model.covariances_[k], atol=0.15)


# ---- the same model by different ways -------------------------------------------------------------------------------


@pytest.mark.skipif(active is plain, reason="HALFSEEN_KERNELS=plain: the fused path is not in use")
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("holes", [0.0, 0.2])
def test_fused_sums_equal_those_of_the_three_steps(shape, holes):
    X, _ = blobs(500, holes=holes)
    model = hs.GaussianMixture(3, covariance_type=shape, n_init=1, max_iter=2, stop="iterations").fit(X)
    table = model._encode(X, np.random.default_rng(0).random(500))
    data = reduce(model._model, table)
    assert isinstance(data.path, FusedNormal)
    [fused] = evaluate(model._model, data, [model._params])
    [steps] = evaluate(model._model, Reduced(table.chunks()), [model._params])
    assert_allclose(fused.loglik, steps.loglik, rtol=1e-12)
    scale = np.abs(steps.expected.stats).max()
    assert_allclose(fused.expected.stats, steps.expected.stats, rtol=1e-10, atol=1e-12 * scale)


@pytest.mark.parametrize("shape", SHAPES)
def test_any_number_of_workers_gives_the_same_bits(shape):
    X, _ = blobs(9000, holes=0.1)
    one, two = (
        hs.GaussianMixture(
            2, covariance_type=shape, n_init=2, max_iter=5, stop="iterations", n_jobs=n, random_state=0
        ).fit(X)
        for n in (1, 2)
    )
    assert one.trace_ == two.trace_
    assert_array_equal(one.covariances_, two.covariances_)


def test_one_column_is_the_same_in_every_shape_of_its_own():
    X, _ = blobs(width=1)
    fits = [
        hs.GaussianMixture(2, covariance_type=shape, random_state=0).fit(X) for shape in ("full", "diag", "spherical")
    ]
    for other in fits[1:]:
        assert_allclose(other.loglik_, fits[0].loglik_, atol=1e-3)


@pytest.mark.parametrize("shape", SHAPES)
def test_gradient_methods_end_at_the_optimum_of_em(shape):
    X, hidden = blobs(200)
    means = np.array([X[hidden == k].mean(axis=0) for k in range(3)])
    how = {"covariance_type": shape, "means_init": means, "n_init": 1, "random_state": 0, "tol": 1e-6}
    em, climbed = (hs.GaussianMixture(3, method=method, **how).fit(X) for method in ("em", "lbfgs"))
    assert_allclose(climbed.loglik_, em.loglik_, atol=1e-4)


def test_fixed_identity_uniform_and_hard_is_k_means():
    X, _ = blobs()
    start = X[[0, 100, 200]]
    model = hs.GaussianMixture(3, covariance_type="identity", weights="uniform", assign="hard", means_init=start).fit(X)
    assert_array_equal(model.weights_, np.full(3, 1 / 3))
    assert_array_equal(model.covariances_, np.ones(3))
    centres = start
    for _ in range(50):
        nearest = ((X[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1)
        centres = np.array([X[nearest == k].mean(axis=0) for k in range(3)])
    assert_allclose(model.means_, centres, rtol=1e-10)
    assert_array_equal(model.predict(X), nearest)
    given = hs.GaussianMixture(
        3, covariance_type="fixed", covariance=np.eye(3), weights="uniform", assign="hard", means_init=start
    )
    assert_allclose(given.fit(X).means_, centres, rtol=1e-10)


def test_only_the_means_move_under_fixed_covariance_and_weights():
    X, _ = blobs()
    cov = np.array([make_spd_matrix(3, random_state=i) for i in range(3)])
    model = hs.GaussianMixture(3, covariance_type="fixed", covariance=cov, weights=[0.5, 0.3, 0.2], random_state=0).fit(
        X
    )
    assert_array_equal(model.weights_, [0.5, 0.3, 0.2])
    assert_allclose(model.covariances_, cov, rtol=1e-12)
    assert model.n_parameters_ == 9


@pytest.mark.parametrize("assign", ["hard", "sample"])
def test_other_ways_to_assign(assign):
    X, hidden = blobs(400, holes=0.1)
    model = hs.GaussianMixture(3, assign=assign, max_iter=60, random_state=0).fit(X)
    assert pd.crosstab(hidden, model.predict(X)).to_numpy().max(axis=1).sum() > 380


def test_a_prior_pulls_covariances_towards_the_columns():
    X, _ = blobs(60)
    free, pulled = (hs.GaussianMixture(1, prior=prior).fit(X) for prior in (None, 30.0))
    expected = (60 * free.covariances_[0] + 30 * np.diag(X.var(axis=0))) / 90
    assert_allclose(pulled.covariances_[0], expected, rtol=1e-6)
    assert_allclose(pulled.means_, free.means_, rtol=1e-9)


def test_labels_and_partial_labels():
    X, hidden = blobs(300, holes=0.1)
    some = np.where(np.arange(300) < 30, hidden, -1)
    model = hs.GaussianMixture(3, random_state=0).fit(X, labels=some)
    assert (model.predict(X) == hidden).mean() > 0.95
    whole = hs.GaussianMixture(3).fit(blobs(300)[0], labels=hidden)
    for k in range(3):
        assert_allclose(whole.means_[k], blobs(300)[0][hidden == k].mean(axis=0), rtol=1e-9)


def test_weights_of_rows_count():
    X, _ = blobs(200)
    weight = np.random.default_rng(0).integers(0, 3, 200)
    start = {"means_init": X[:2], "stop": "iterations", "max_iter": 20, "random_state": 0}
    one = hs.GaussianMixture(2, **start).fit(X, sample_weight=weight)
    other = hs.GaussianMixture(2, **start).fit(np.repeat(X, weight, axis=0))
    assert_allclose(one.covariances_, other.covariances_, rtol=1e-9)


def test_partial_fit_goes_on_learning():
    X, hidden = blobs(3000)
    model = hs.GaussianMixture(3, random_state=0).partial_fit(X[:300])
    for first in range(300, 3000, 300):
        model.partial_fit(X[first : first + 300])
    assert pd.crosstab(hidden, model.predict(X)).to_numpy().max(axis=1).sum() > 2850


def test_warm_start_goes_on_where_the_last_fit_ended():
    X, _ = blobs()
    model = hs.GaussianMixture(3, warm_start=True, max_iter=3, stop="iterations", n_init=1, random_state=0).fit(X)
    before = model.loglik_
    assert model.fit(X).trace_[0] == pytest.approx(before, rel=1e-12)
    assert model.loglik_ >= before


def test_shapes_and_numbers_of_components_are_chosen_in_one_call():
    X, _ = blobs(600)
    model = hs.GaussianMixture(range(1, 5), covariance_type=["full", "spherical"], criterion="icl", random_state=0).fit(
        X
    )
    assert (model.n_components_, model.covariance_type_) == (3, "full")
    assert len(model.selection_["covariance"]) == 8


def test_far_more_probable_is_said_so():
    model = hs.GaussianMixture.from_params([0.5, 0.5], [[0.0], [9.0]], [1.0, 1.0], "spherical")
    assert str(model.why([[0.0]])).endswith("far more probable in class 0")
    assert str(model.why([[4.0]])).endswith("times as probable in class 0")


def test_why_and_words_work_with_dependent_columns():
    X, _ = blobs()
    model = hs.GaussianMixture(3, random_state=0).fit(X)
    told = model.why(X[:1])
    assert_allclose(sum(told.contributions.values()) + told.together, told.log_odds, rtol=1e-9)
    assert "class 0" in model.describe()


def test_latent_classes_with_dependent_numbers():
    """Of two correlated columns 'auto' chooses the full covariance; categories stand beside them."""
    rng = np.random.default_rng(0)
    X, hidden = blobs(600, width=2)
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": np.where(rng.random(600) < 0.9, hidden, 0)})
    frame["c"] = frame["c"].map({0: "x", 1: "y", 2: "z"})
    frame = frame.mask(rng.random(frame.shape) < 0.1)
    model = hs.LatentClass(3, covariance="auto", random_state=0).fit(frame)
    assert model.covariance_ == "full"
    assert set(model.selection_["covariance"]) == {"diag", "full"}
    filled = model.impute(frame)
    assert not filled.isna().any().any()
    assert hs.LatentClass(3, random_state=0).fit(frame).bic() > model.bic()


# ---- starts ---------------------------------------------------------------------------------------------------------


def test_a_start_by_k_means_begins_at_its_clusters():
    X, hidden = blobs(300, holes=0.1)
    for factor in (1.0, np.array([1e-3, 1.0, 1e6])):  # columns count in units of their own spread
        model = hs.GaussianMixture(3, init_params="kmeans", n_init=1, max_iter=1, stop="iterations", random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = model.fit(X * factor).predict(X * factor)
        assert (pd.crosstab(hidden, found).to_numpy().max(axis=1).sum()) > 285


@pytest.mark.thorough
def test_a_start_by_k_means_is_as_good_as_that_of_scikit_learn():
    from sklearn.mixture import GaussianMixture

    for seed in range(5):
        X, _ = blobs(200, seed=seed)
        ours = hs.GaussianMixture(3, init_params="kmeans", n_init=1, random_state=0).fit(X)
        theirs = GaussianMixture(3, tol=1e-10, max_iter=1000, reg_covar=0, random_state=0).fit(X)
        assert ours.loglik_ > theirs.score(X) * len(X) - 1e-3
        again = hs.GaussianMixture(3, init_params="kmeans", n_init=1, random_state=0).fit(X[::-1])
        assert again.loglik_ == pytest.approx(ours.loglik_, rel=1e-12)


def test_a_start_by_k_means_with_other_models_and_odd_tables():
    X, _ = blobs(90, holes=0.3)
    assert hs.LatentClass(3, init="kmeans", n_init=2, random_state=0).fit(X).converged_
    assert hs.HMM(2, emission="gaussian", init="kmeans", n_init=2, random_state=0).fit(X).converged_
    twice = np.repeat(np.eye(3), 7, axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert np.isfinite(hs.GaussianMixture(5, init_params="kmeans", n_init=2, random_state=0).fit(twice).loglik_)
    with pytest.raises(ParameterError, match="'kmeans' needs columns of numbers; some have categories"):
        hs.LatentClass(2, init="kmeans").fit([["a", 1.5], ["b", 2.5], ["a", 3.5]] * 5)


# ---- numbers that break others --------------------------------------------------------------------------------------


def test_far_from_zero_and_of_very_different_scales():
    """Moments about the mean, factors of what is left: scaling and shifting columns changes nothing else."""
    X, _ = blobs(200, holes=0.1)
    factor, offset = np.array([1e-6, 1.0, 1e7]), np.array([1e-2, 1e8, -1e13])
    how = {"stop": "iterations", "max_iter": 30, "accelerate": False, "weights_init": [0.3, 0.3, 0.4]}
    means, precisions = np.nan_to_num(X[:3]), np.tile(np.eye(3), (3, 1, 1))
    plain_fit = hs.GaussianMixture(3, means_init=means, precisions_init=precisions, **how).fit(X)
    start = {"means_init": means * factor + offset, "precisions_init": precisions / np.outer(factor, factor)}
    moved = hs.GaussianMixture(3, **start, **how).fit(X * factor + offset)
    assert_allclose(moved.predict_proba(X * factor + offset), plain_fit.predict_proba(X), atol=1e-4)
    assert_allclose(moved.covariances_, plain_fit.covariances_ * np.outer(factor, factor), rtol=1e-4)


def test_data_near_1e8_keep_their_variance():
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(500, 2))
    for shape in SHAPES:
        near, far = (hs.GaussianMixture(1, covariance_type=shape).fit(noise + x).covariances_ for x in (0.0, 1e8))
        assert_allclose(far, near, rtol=1e-6)


def test_float32_stays_float32_where_nothing_is_summed():
    X = np.random.default_rng(0).normal(size=(300, 3)) + np.repeat([[0.0], [4.0], [9.0]], 100, axis=0)
    small = X.astype(np.float32)
    model = hs.GaussianMixture(3, random_state=0).fit(small)
    exact = hs.GaussianMixture(3, random_state=0).fit(small.astype(np.float64))
    assert model.loglik_ == exact.loglik_
    assert_array_equal(model.means_, exact.means_)  # of numbers read as they are, in float64
    proba = model.predict_proba(small)
    assert proba.dtype == np.float32
    assert_array_equal(proba, exact.predict_proba(small.astype(np.float64)).astype(np.float32))
    hs.decide(proba)
    holes = small.copy()
    holes[::7, 1] = np.nan
    assert model.impute(holes).dtype == np.float32


def test_values_of_9999_and_0_in_float32():
    """A diagonal variance came out near -1 (sklearn#30382)."""
    X = np.array([[9999.0, 1.0], [0.0, 2.0], [9999.0, 3.0], [0.0, 4.0]] * 5, dtype=np.float32)
    model = hs.GaussianMixture(1, covariance_type="diag").fit(X)
    assert_allclose(model.covariances_, X.astype(float).var(axis=0)[None], rtol=1e-12)


def test_the_density_of_an_ill_conditioned_covariance():
    """Seven columns, condition 1e12 (sklearn#29989 was off by 6e-3)."""
    rng = np.random.default_rng(0)
    basis = np.linalg.qr(rng.normal(size=(7, 7)))[0]
    cov = (basis * 10.0 ** np.linspace(-6, 6, 7)) @ basis.T
    cov = 0.5 * (cov + cov.T)
    model = hs.GaussianMixture.from_params([1.0], [np.full(7, 1e3)], [cov])
    e = (basis * 10.0 ** np.linspace(-3, 3, 7)) @ rng.normal(size=(7, 5))
    X = 1e3 + e.T
    exact = -0.5 * ((basis.T @ (X - 1e3).T / 10.0 ** np.linspace(-3, 3, 7)[:, None]) ** 2).sum(axis=0)
    exact -= 0.5 * (7 * np.log(2 * np.pi))
    assert_allclose(model.score_samples(X), exact, atol=1e-3)


def test_a_column_that_is_the_product_of_two_others():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (200, 2)).astype(float)
    X = np.column_stack([X, X.prod(axis=1)])
    for shape in SHAPES:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CollapseWarning)
            model = hs.GaussianMixture(2, covariance_type=shape, n_init=4, random_state=0).fit(X)
        assert np.isfinite(model.loglik_)


def test_a_constant_column_says_nothing():
    X, _ = blobs(200)
    wide = np.column_stack([np.full(200, 7.5), X])
    how = {"random_state": 0, "n_init": 2}
    alone, beside = hs.GaussianMixture(3, **how).fit(X), hs.GaussianMixture(3, **how).fit(wide)
    assert_allclose(beside.loglik_, alone.loglik_, rtol=1e-6)
    assert_array_equal(beside.means_[:, 0], 7.5)
    assert_array_equal(beside.covariances_[:, 0], 0.0)
    assert any("constant" in event for event in beside.events_)
    assert_array_equal(beside.sample(5)[0][:, 0], 7.5)


@pytest.mark.parametrize("shape", SHAPES)
def test_fewer_rows_than_columns_duplicates_and_one_row_per_component_finish(shape):
    """The answer comes with a warning that names the floor, never an error or NaN (ragflow#16632, sklearn#8453)."""
    rng = np.random.default_rng(0)
    few, twice = rng.normal(size=(5, 8)), np.repeat(rng.normal(size=(4, 3)), 5, axis=0)
    for X, n_components in ((few, 2), (twice, 4), (rng.normal(size=(6, 2)), 6), (rng.normal(size=(20, 2)), 10)):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model = hs.GaussianMixture(n_components, covariance_type=shape, n_init=4, random_state=0).fit(X)
        assert np.isfinite(model.loglik_)
        assert np.isfinite(model.means_).all()
        if not model.restarts_["objectives"] or any("floor" in event for event in model.events_):
            assert any("floor" in str(warning.message) for warning in caught)


def test_a_prior_makes_small_tables_healthy():
    X = np.random.default_rng(0).normal(size=(20, 2))
    model = hs.GaussianMixture(10, prior=1.0, random_state=0).fit(X)
    assert np.isfinite(model.loglik_)
    assert not any("floor" in event for event in model.events_)


def test_tiny_variances_and_positive_log_likelihoods_are_legal():
    """Log returns: a fixed additive prior would swamp them (hmmlearn)."""
    X, hidden = blobs(300)
    model = hs.GaussianMixture(3, random_state=0).fit(1e-5 * X)
    assert model.loglik_ > 0
    assert (pd.crosstab(hidden, model.predict(1e-5 * X)).to_numpy().max(axis=1).sum()) > 290
    assert model.converged_


def test_too_many_columns_for_memory_are_refused():
    X = np.random.default_rng(0).normal(size=(3, 20_000))
    with pytest.raises(ParameterError, match=r"1 covariances of 20000 columns take 3 GB.*diag"):
        hs.GaussianMixture(1).fit(X)


@pytest.mark.parametrize("seed", range(20))
def test_the_objective_never_falls_whatever_the_seed(seed):
    X, _ = blobs(60, seed=seed, holes=0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = hs.GaussianMixture(3, n_init=1, max_iter=40, random_state=seed).fit(X)
    assert np.all(np.diff(model.trace_) >= -1e-9 * np.abs(model.trace_[1:]))


# ---- errors ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"covariance_type": "round"}, "covariance_type='round' is not one of 'full', 'tied'"),
        ({"covariance_type": []}, r"covariance_type=\[\] is empty"),
        ({"covariance_type": 3}, "covariance_type=3 is not one of 'full'"),
        ({"covariance_type": "fixed"}, "go together: give both or neither"),
        ({"covariance": np.eye(3)}, "go together: give both or neither"),
        ({"covariance_type": "fixed", "covariance": -np.eye(3)}, "component 0 is not symmetric and positive definite"),
        ({"weights": "equal"}, "weights='equal' is not one of 'free', 'uniform'"),
        ({"weights": [0.5, 0.6]}, "weights"),
        ({"means_init": np.zeros((3, 3))}, r"means_init: expected shape \(2, 3\), got \(3, 3\)"),
        ({"precisions_init": np.ones((2, 3))}, r"precisions_init: expected shape \(2, 3, 3\)"),
        ({"init_params": "best"}, "init_params='best' is not one of"),
        ({"reg_covar": -1}, "reg_covar=-1"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, said):
    with pytest.raises(ParameterError, match=said):
        hs.GaussianMixture(2, **options).fit(blobs()[0])


def test_text_is_refused():
    with pytest.raises(DataError, match="takes numbers only"):
        hs.GaussianMixture(1).fit(pd.DataFrame({"a": ["x", "y", "z"], "b": [1.0, 2.0, 3.5]}))


# ---- classification -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES)
def test_labelled_rows_are_counted_in_closed_form(shape):
    X, y = blobs(300)
    model = hs.GaussianClassifier(covariance_type=shape).fit(X, y)
    within = [np.cov(X[y == k].T, bias=True) for k in range(3)]
    shares = np.bincount(y) / len(y)
    expected = {
        "full": np.array(within),
        "tied": np.einsum("k,kde->de", shares, within),
        "diag": np.array([np.diag(cov) for cov in within]),
        "spherical": np.array([np.diag(cov).mean() for cov in within]),
    }[shape]
    assert_allclose(model.covariances_, expected, rtol=1e-8)
    assert_allclose(model.class_prior_, shares)
    assert model.score(X, y) > 0.9


@pytest.mark.parametrize("shape", SHAPES)
def test_a_classifier_with_holes_in_rows_and_labels(shape):
    X, y = blobs(400, holes=0.15)
    names = np.array(["low", "mid", "top"], dtype=object)[y]
    seen = names.copy()
    seen[100:] = None
    model = hs.GaussianClassifier(covariance_type=shape, random_state=0).fit(X, seen)
    assert (model.predict(X) == names).mean() > 0.85
    every = hs.GaussianClassifier(covariance_type=shape).fit(X, names)
    assert (every.predict(X) == names).mean() > 0.85
    assert np.all(np.diff(every.trace_) >= -1e-9 * abs(every.loglik_))


def test_a_classifier_learns_in_pieces():
    X, y = blobs(300)
    whole = hs.GaussianClassifier().fit(X, y)
    pieces = hs.GaussianClassifier().partial_fit(X[:100], y[:100]).partial_fit(X[100:], y[100:])
    assert_allclose(pieces.covariances_, whole.covariances_, rtol=1e-8)
    assert_allclose(pieces.means_, whole.means_, rtol=1e-8)


@pytest.mark.parametrize(  # missing cells of joint normals are refused: tests/unit/test_latent_leaf.py
    ("shape", "holes"), [("full", False), ("tied", False), ("diag", False), ("diag", True), ("spherical", True)]
)
def test_a_class_may_come_in_a_later_piece(shape, holes):
    """Its share was 0 until then; its rows count all the same."""
    X, y = blobs(300)
    whole = hs.GaussianClassifier(covariance_type=shape).fit(X, y)
    if holes:
        X[::50, 0] = np.nan
    pieces = hs.GaussianClassifier(covariance_type=shape).partial_fit(X[y == 0], y[y == 0], classes=np.unique(y))
    pieces.partial_fit(X[y > 0], y[y > 0])
    assert_allclose(pieces.class_count_, whole.class_count_, rtol=1e-12)
    assert (pieces.predict(X) == y).mean() > 0.9
    if not holes:
        assert_allclose(pieces.means_, whole.means_, rtol=1e-8)
        assert_allclose(pieces.covariances_, whole.covariances_, rtol=1e-8, atol=1e-8)


def test_posterior_of_means_and_variances_where_cells_are_hidden():
    """Gibbs draws cells too: intervals are wider than those of the completed table, and hold the estimates."""
    rng = np.random.default_rng(0)
    X = rng.multivariate_normal([1.0, -1.0], [[2.0, 1.0], [1.0, 1.0]], 80)
    whole = hs.posterior(hs.GaussianMixture(1).fit(X), X)
    assert whole.method == "exact"
    X[rng.random(80) < 0.6, 1] = np.nan
    model = hs.GaussianMixture(1).fit(X)
    holes = hs.posterior(model, X, n_draws=600, burn_in=50, random_state=0)
    assert holes.method == "gibbs"
    for value, estimate in (("mean", model.means_[0, 1]), ("var", model.covariances_[0, 1, 1])):
        low, high = holes.low["x1"][value][0], holes.high["x1"][value][0]
        assert low < estimate < high
        assert high - low > 1.1 * (whole.high["x1"][value][0] - whole.low["x1"][value][0])
