from halfseen import errors as errors
from halfseen.analysis.bound import bound, plot_bound
from halfseen.analysis.decisions import bayes_risk, decide
from halfseen.analysis.explain import explain
from halfseen.analysis.posterior import posterior
from halfseen.app.versions import show_versions
from halfseen.datasets import load_penguins
from halfseen.estimators.gaussian_classifier import GaussianClassifier
from halfseen.estimators.gaussian_mixture import GaussianMixture
from halfseen.estimators.latent_class import LatentClass
from halfseen.estimators.naive_bayes import NaiveBayes

__version__: str

__all__ = [
    "GaussianClassifier",
    "GaussianMixture",
    "LatentClass",
    "NaiveBayes",
    "__version__",
    "bayes_risk",
    "bound",
    "decide",
    "errors",
    "explain",
    "load_penguins",
    "plot_bound",
    "posterior",
    "show_versions",
]
