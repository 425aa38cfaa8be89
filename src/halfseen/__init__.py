"""Learn from incomplete data: one expectation-maximization engine for many models.

Every public name is listed in ``_HOME`` with the module it lives in, and is imported when first used,
so that ``import halfseen`` is quick. ``__init__.pyi`` tells type checkers and editors the same.
"""

from importlib import import_module

__version__ = "0.1.0"

_HOME = {
    "HMM": "halfseen.estimators.hmm",
    "LatentClass": "halfseen.estimators.latent_class",
    "NaiveBayes": "halfseen.estimators.naive_bayes",
    "bayes_risk": "halfseen.analysis.decisions",
    "bound": "halfseen.analysis.bound",
    "decide": "halfseen.analysis.decisions",
    "explain": "halfseen.analysis.explain",
    "load_penguins": "halfseen.datasets",
    "load_votes": "halfseen.datasets",
    "plot_bound": "halfseen.analysis.bound",
    "plot_timeline": "halfseen.analysis.timeline",
    "posterior": "halfseen.analysis.posterior",
    "show_versions": "halfseen.app.versions",
}
_MODULES = ("errors",)

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


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return import_module(f"halfseen.{name}")
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)
