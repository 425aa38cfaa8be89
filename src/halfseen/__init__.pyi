from halfseen import errors as errors
from halfseen.app.versions import show_versions
from halfseen.datasets import load_penguins
from halfseen.estimators.latent_class import LatentClass
from halfseen.estimators.naive_bayes import NaiveBayes

__version__: str

__all__ = ["LatentClass", "NaiveBayes", "__version__", "errors", "load_penguins", "show_versions"]
