"""Options of other libraries: every estimator says what they are called here."""

import inspect
import pickle

import pytest
from sklearn.base import clone

import halfseen as hs
from halfseen.errors import ParameterError
from halfseen.estimators.options.foreign_names import FOREIGN

ESTIMATORS = [
    getattr(hs, name)
    for name in (
        *("LatentClass", "GaussianMixture", "NaiveBayes", "GaussianClassifier", "KMeans", "HMM"),
        *("TranscriptAligner", "BayesNet", "PCFG", "WordAligner", "G2P"),
    )
]


@pytest.mark.parametrize(
    ("estimator", "name", "said"),
    [
        (hs.LatentClass, "n_clusters", "here it is n_components"),
        (hs.KMeans, "n_components", "here it is n_clusters"),
        (hs.LatentClass, "n_iter", "here it is max_iter"),
        (hs.NaiveBayes, "alpha", "here it is prior. It is a number of pseudo-counts"),
        (hs.HMM, "algorithm", "It is not needed"),
        (hs.LatentClass, "verbose", "nothing is printed"),
        (hs.LatentClass, "n_steps", r"hs\.relate"),
        (hs.LatentClass, "measurement", "here it is columns"),
        (hs.HMM, "covars_prior", "here it is prior"),
        (hs.HMM, "init_params", "here it is start"),
        (hs.BayesNet, "latents", "here it is hidden"),
        (hs.WordAligner, "n_iter", "here it is max_iter"),
        (hs.TranscriptAligner, "n_threads", "here it is n_jobs"),
        (hs.PCFG, "smoothing", "here it is prior"),
        (hs.HMM, "n_component", "Did you mean n_components"),
        (hs.KMeans, "banana", "Options: init, max_iter, n_clusters"),
    ],
)
def test_the_hint_names_the_option_here(estimator, name, said):
    for given in ({name: 1}, {name: 1, "random_state": 0}):
        with pytest.raises(TypeError, match=f"{estimator.__name__} has no option '{name}'.*{said}"):
            estimator(**given)
    with pytest.raises(ParameterError, match=f"has no option '{name}'.*{said}"):
        estimator().set_params(**{name: 1})


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_every_hint_names_an_option_that_there_is(estimator):
    known = set(inspect.signature(estimator).parameters)
    for name in set(FOREIGN) - known:
        with pytest.raises(TypeError) as error:
            estimator(**{name: 1})
        _, found, rest = str(error.value).partition("here it is ")
        if found:
            assert rest.partition(".")[0] in known


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_the_contract_of_scikit_learn_stays(estimator):
    model = estimator() if estimator is hs.G2P else estimator(random_state=3)  # nothing in it is random
    assert set(model.get_params()) == set(inspect.signature(estimator).parameters)
    assert clone(model).get_params() == model.get_params()
    assert pickle.loads(pickle.dumps(model)).get_params() == model.get_params()
    assert model.set_params(n_jobs=1).n_jobs == 1


def test_a_subclass_may_have_options_of_its_own():
    class Named(hs.KMeans):
        def __init__(self, name="x", n_clusters=2):
            super().__init__(n_clusters=n_clusters)
            self.name = name

    assert Named(name="y").name == "y"


def test_names_without_an_option_here_have_a_sentence():
    assert all(hint.options or hint.sentence for hint in FOREIGN.values())
