"""Mixtures as steps of scikit-learn's pipelines: class probabilities as features."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import halfseen as hs

COLUMNS = ["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"]


@pytest.fixture(scope="module")
def birds():
    return hs.load_penguins()


def test_the_columns_are_the_classes(birds):
    X = birds[COLUMNS]
    model = hs.GaussianMixture(3, n_init=2, random_state=0).fit(X)
    assert_allclose(model.transform(X), model.predict_proba(X))
    assert list(model.get_feature_names_out()) == ["class 0", "class 1", "class 2"]
    frame = model.set_output(transform="pandas").rename(["a", "b", "c"]).transform(X)
    assert list(frame.columns) == ["a", "b", "c"]
    assert_allclose(frame.to_numpy(), model.predict_proba(X))
    assert isinstance(model.predict_proba(X), np.ndarray)


def test_in_a_pipeline_with_a_search_and_a_pickle(birds):
    pipeline = make_pipeline(hs.GaussianMixture(n_init=1, random_state=0), LogisticRegression())
    search = GridSearchCV(pipeline, {"gaussianmixture__n_components": [1, 3]}, cv=2)
    search.fit(birds[COLUMNS], birds["species"])  # with missing values
    assert search.best_params_ == {"gaussianmixture__n_components": 3}
    assert search.best_score_ > 0.9
    again = pickle.loads(pickle.dumps(search.best_estimator_))
    assert_array_equal(again.predict(birds[COLUMNS]), search.predict(birds[COLUMNS]))


def test_before_a_fit_there_are_no_names():
    with pytest.raises(NotFittedError):
        hs.LatentClass(2).get_feature_names_out()
