from halfseen import errors as errors
from halfseen.analysis.posterior import posterior
from halfseen.app.versions import show_versions
from halfseen.datasets import load_penguins
from halfseen.estimators.latent_class import LatentClass

__version__: str

__all__ = ["LatentClass", "__version__", "errors", "load_penguins", "posterior", "show_versions"]
