"""LatentClass among scikit-learn's own: every check of `check_estimator`, and the tools people put it into."""

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import check_is_fitted

import halfseen as hs

NOT_FOR_CLUSTERS = {
    f"check_estimator_sparse_{container}": "takes whatever predicts probabilities from sparse data for a classifier"
    for container in ("array", "matrix")
}


@pytest.mark.thorough
@parametrize_with_checks(
    [
        hs.LatentClass(),
        hs.LatentClass(prior=None),
        hs.LatentClass(assign="hard"),
        hs.LatentClass(range(1, 4), n_init=4),
        hs.KMeans(2),
        hs.KMeans(3, init="random"),
        hs.LatentClass(covariance="full", n_init=4),
        hs.LatentClass(covariance="auto", n_init=4),
        hs.NaiveBayes(),
        hs.NaiveBayes(assign="hard"),
        hs.NaiveBayes(components_per_class=2, n_init=4),
    ],
    expected_failed_checks=lambda estimator: NOT_FOR_CLUSTERS if isinstance(estimator, hs.LatentClass) else {},
)
def test_scikit_learn_checks(estimator, check):
    """All of them: no check is expected to fail."""
    check(estimator)


@pytest.mark.thorough
@parametrize_with_checks(
    [
        hs.GaussianMixture(2, prior="row"),
        hs.GaussianMixture(2, covariance_type="diag"),
        hs.GaussianMixture(2, covariance_type="tied", n_init=4),
        hs.GaussianMixture(2, covariance_type="spherical", assign="hard", n_init=4),
        hs.GaussianMixture(2, covariance_type="identity", weights="uniform", n_init=4),
        hs.GaussianMixture(range(1, 3), covariance_type=["full", "diag"], n_init=2),
        hs.GaussianClassifier(),
        hs.GaussianClassifier(covariance_type="tied", reg_covar=1e-6),
    ]
)
@pytest.mark.filterwarnings("ignore::halfseen.errors.CollapseWarning")  # some checks fit two distinct rows
def test_scikit_learn_checks_of_gaussian_estimators(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def table():
    """Two hidden classes behind a mixed table with holes."""
    rng = np.random.default_rng(3)
    hidden = rng.random(200) < 0.4
    X = pd.DataFrame(
        {
            "color": np.where(rng.random(200) < np.where(hidden, 0.9, 0.2), "red", "blue"),
            "size": rng.normal(np.where(hidden, 3.0, 0.0)),
            "visits": rng.poisson(np.where(hidden, 1.0, 6.0)),
        }
    )
    return X.mask(rng.random(X.shape) < 0.1)


def same(first, second):
    """Equal to the last bit in everything that was learned."""
    assert first.loglik_ == second.loglik_
    assert first.trace_ == second.trace_
    assert first.class_names_ == second.class_names_
    pd.testing.assert_frame_equal(first.to_frame(), second.to_frame(), check_exact=True)


def test_get_params_names_every_option():
    params = hs.LatentClass(4, prior=0.5).get_params()
    assert params["n_components"] == 4
    assert params["prior"] == 0.5
    assert set(params) == {
        "n_components",
        "criterion",
        "weight_kind",
        "columns",
        "text",
        "words",
        "document_length",
        "assign",
        "draws",
        "covariance",
        "prior",
        "init",
        "start",
        "fixed",
        "tied",
        "n_init",
        "stop",
        "tol",
        "max_iter",
        "method",
        "accelerate",
        "anneal",
        "variance_floor",
        "n_jobs",
        "random_state",
    }
    assert hs.LatentClass().set_params(**params).get_params() == params


def test_clone_copies_options_and_nothing_learned(table):
    model = hs.LatentClass(2, columns={"visits": "poisson"}, random_state=1, n_init=4).fit(table)
    fresh = clone(model)
    assert fresh.get_params() == model.get_params()
    assert not hasattr(fresh, "loglik_")
    same(fresh.fit(table), model)


def test_fitting_changes_no_option_and_no_data(table):
    model = hs.LatentClass(2, random_state=1, n_init=4)
    before, X = copy.deepcopy(model.get_params()), table.copy(deep=True)
    model.fit(table)
    assert model.get_params() == before
    pd.testing.assert_frame_equal(table, X)


def test_fitting_again_forgets_the_first_time(table):
    model = hs.LatentClass(2, random_state=1, n_init=4).fit(table[["color"]])
    same(model.fit(table), hs.LatentClass(2, random_state=1, n_init=4).fit(table))
    assert model.n_features_in_ == 3


def test_pickle_and_joblib_round_trips(table, tmp_path):
    model = hs.LatentClass(2, random_state=1, n_init=4).fit(table)
    joblib.dump(model, tmp_path / "model.joblib")
    for again in (pickle.loads(pickle.dumps(model)), joblib.load(tmp_path / "model.joblib"), copy.deepcopy(model)):
        same(again, model)
        assert_array_equal(again.predict_proba(table), model.predict_proba(table))
        pd.testing.assert_frame_equal(again.impute(table), model.impute(table))
        pd.testing.assert_frame_equal(again.sample(5, random_state=0)[0], model.sample(5, random_state=0)[0])


def test_pickle_does_not_carry_the_training_rows(table):
    """A fitted model is small, however many rows it saw: files are shared, rows may be private."""
    small = hs.LatentClass(2, random_state=1, n_init=1).fit(table)
    large = hs.LatentClass(2, random_state=1, n_init=1).fit(pd.concat([table] * 50, ignore_index=True))
    assert len(pickle.dumps(large)) < len(pickle.dumps(small)) + 2000


def test_unfitted_is_unfitted():
    with pytest.raises(Exception, match="not fitted yet"):
        check_is_fitted(hs.LatentClass())
    for method in ("predict", "predict_proba", "score_samples", "score", "impute"):
        with pytest.raises(Exception, match="not fitted yet"):
            getattr(hs.LatentClass(), method)([[1, 2]])


def test_pipeline_passes_y_and_it_is_ignored():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(0, 1, (50, 2)), rng.normal(6, 1, (50, 2))])
    y = np.repeat([0, 1], 50)
    pipe = make_pipeline(StandardScaler(), hs.LatentClass(2, random_state=0)).fit(X, y)
    alone = hs.LatentClass(2, random_state=0).fit(StandardScaler().fit_transform(X))
    assert_array_equal(pipe.predict(X), alone.predict(StandardScaler().fit_transform(X)))
    assert pipe.score(X, y) == pytest.approx(alone.loglik_ / 100, rel=1e-12)


def test_pipeline_with_frames_and_fit_parameters(table):
    weight = np.arange(len(table)) % 3.0
    pipe = Pipeline([("same", FunctionTransformer()), ("classes", hs.LatentClass(2, random_state=0, n_init=4))])
    pipe.fit(table, classes__sample_weight=weight)
    same(pipe["classes"], hs.LatentClass(2, random_state=0, n_init=4).fit(table, sample_weight=weight))


def test_grid_search_finds_the_number_of_classes():
    """Held-out mean log-likelihood per row, by `score`, prefers the three classes that made the data."""
    rng = np.random.default_rng(0)
    hidden = rng.integers(0, 3, 300)
    X = np.stack([hidden * 6 + rng.normal(size=300), -hidden * 5 + rng.normal(size=300)], axis=1)
    search = GridSearchCV(hs.LatentClass(random_state=0, n_init=4), {"n_components": [1, 2, 3]}, cv=3).fit(X)
    assert search.best_params_ == {"n_components": 3}
    assert search.best_score_ == pytest.approx(search.best_estimator_.score(X), abs=0.3)


def test_cross_validation_by_joblib(table):
    model = hs.LatentClass(2, random_state=0, n_init=2)
    alone = cross_val_score(model, table, cv=2)
    with joblib.parallel_config(backend="threading"):  # processes would only add seconds: pickling is tested above
        assert_array_equal(cross_val_score(model, table, cv=2, n_jobs=2), alone)


def test_two_fits_in_two_threads_are_the_fits_one_after_the_other(table):
    def job(seed):
        return hs.LatentClass(3, random_state=seed, n_init=4).fit(table)

    serial = [job(seed) for seed in range(4)]
    with ThreadPoolExecutor(2) as pool:
        for threaded, alone in zip(pool.map(job, range(4)), serial, strict=True):
            same(threaded, alone)


@pytest.mark.parametrize(
    "seed", [0, np.int64(0), np.random.RandomState(0), np.random.default_rng(0)], ids=lambda seed: type(seed).__name__
)
def test_every_kind_of_random_state(table, seed):
    model = hs.LatentClass(2, random_state=seed, n_init=2).fit(table)
    assert np.isfinite(model.loglik_)


def test_a_generator_moves_on_and_a_seed_does_not(table):
    rng = np.random.default_rng(0)
    first, second = (hs.LatentClass(3, random_state=rng, n_init=1).fit(table) for _ in range(2))
    assert first.trace_ != second.trace_
    assert_allclose(*[hs.LatentClass(3, random_state=7, n_init=1).fit(table).trace_ for _ in range(2)], rtol=0)


@pytest.mark.parametrize(
    "model", [hs.LatentClass(2, n_init=1), hs.NaiveBayes(), hs.GaussianMixture(2, n_init=1), hs.KMeans(2)], ids=repr
)
def test_a_fit_that_fails_leaves_the_last_one(model):
    """A later mistake does not cost an earlier fit."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), np.arange(40) % 2
    model = clone(model).set_params(random_state=0).fit(X, y)
    before = {name: value for name, value in vars(model).items() if name != "n_init"}
    wrong = np.vstack([np.column_stack([X, X]), np.full((1, 4), np.inf)])
    with pytest.raises(ValueError, match="inf"):
        model.fit(wrong, np.append(y, 0))
    assert all(vars(model)[name] is value for name, value in before.items())
    assert len(model.predict(X)) == 40


@pytest.mark.parametrize("model", [hs.LatentClass(3), hs.GaussianMixture(3), hs.KMeans(3)], ids=repr)
@pytest.mark.parametrize("method", ["fit", "fit_predict"])
def test_a_warning_shows_the_line_that_led_to_it(model, method):
    """The user's own, not one of the library."""
    X = np.random.default_rng(0).normal(size=(40, 2))
    with pytest.warns(ConvergenceWarning) as caught:
        getattr(clone(model).set_params(max_iter=1, random_state=0), method)(X)
    assert {warning.filename for warning in caught} == {__file__}


def built() -> list:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), ["a", "b"] * 20
    rules = "S -> A A [1.0]\nA -> 'a' [1.0]"
    return [
        hs.GaussianMixture(2, n_init=2, random_state=0),
        hs.GaussianMixture(2, n_init=2, random_state=0).fit(X),
        hs.GaussianMixture(2, n_init=2, random_state=0).partial_fit(X),
        hs.LatentClass(2, n_init=2, random_state=0).partial_fit(X),
        hs.NaiveBayes().partial_fit(X, y),
        hs.GaussianClassifier().fit(X, y),
        hs.HMM(2, n_init=2, random_state=0).fit(X),
        hs.KMeans(2, random_state=0).fit(X),
        hs.PCFG.from_string(rules),
        hs.BayesNet([("A", "B")]),
        hs.WordAligner("ibm1").fit(["a b ||| x y"]),
    ]


def test_what_a_model_does_not_have_is_no_attribute():
    """A shell that completes names asks for all of them, and so does scikit-learn's `dir`."""
    for model in built():
        assert "fit" in dir(model)
        for name in object.__dir__(model):
            hasattr(model, name)  # raises what is no AttributeError
