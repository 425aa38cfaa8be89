from halfseen import errors as errors
from halfseen.analysis.bound import bound, plot_bound
from halfseen.analysis.decisions import bayes_risk, decide
from halfseen.analysis.explain import explain
from halfseen.analysis.posterior import posterior
from halfseen.analysis.timeline import plot_timeline
from halfseen.app.versions import show_versions
from halfseen.datasets import load_penguins, load_votes
from halfseen.estimators.hmm import HMM
from halfseen.estimators.latent_class import LatentClass
from halfseen.estimators.naive_bayes import NaiveBayes

__version__: str

__all__ = [
    "HMM",
    "LatentClass",
    "NaiveBayes",
    "__version__",
    "bayes_risk",
    "bound",
    "decide",
    "errors",
    "explain",
    "load_penguins",
    "load_votes",
    "plot_bound",
    "plot_timeline",
    "posterior",
    "show_versions",
]
