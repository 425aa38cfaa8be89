"""Learn from incomplete data: one expectation-maximization engine for many models.

Public names are imported when first used, so that ``import halfseen`` is quick: those below from the modules named
here, those of a family of models from the modules that its manifest names. ``__init__.pyi`` tells type checkers and
editors the same; ``python -m tools.stub`` writes it.
"""

from importlib import import_module

__version__ = "0.2.0.dev0"

_SHARED = {  # public name -> module; names of families are in their manifests
    "Imputer": "halfseen.inference.imputer",
    "Kind": "halfseen.kinds.kind",
    "Tree": "halfseen.structures.trees",
    "bayes_risk": "halfseen.analysis.decisions",
    "blrt": "halfseen.inference.blrt",
    "bootstrap": "halfseen.inference.bootstrap",
    "bound": "halfseen.analysis.bound",
    "checkpoint": "halfseen.engine.services.checkpoint",
    "coefficients": "halfseen.inference.coefficients",
    "cross_validate": "halfseen.analysis.validation",
    "decide": "halfseen.analysis.decisions",
    "diagnostics": "halfseen.inference.diagnostics",
    "explain": "halfseen.app.explanation",
    "hidden_cells": "halfseen.analysis.imputation_check",
    "likelihood_ratio": "halfseen.inference.likelihood_ratio",
    "load": "halfseen.app.model_file",
    "load_earthquakes": "halfseen.datasets",
    "load_penguins": "halfseen.datasets",
    "load_votes": "halfseen.datasets",
    "methods_paragraph": "halfseen.estimators.publication",
    "open_table": "halfseen.data.files",
    "paper_table": "halfseen.estimators.publication",
    "plot_bound": "halfseen.plots.bound",
    "plot_certainty": "halfseen.plots.tables",
    "plot_missing": "halfseen.plots.tables",
    "plot_mixture": "halfseen.plots.mixture",
    "plot_pairs": "halfseen.plots.pairs",
    "plot_profile_lines": "halfseen.plots.profile_lines",
    "plot_profiles": "halfseen.plots.profiles",
    "plot_selection": "halfseen.plots.tables",
    "plot_shares": "halfseen.plots.shares",
    "plot_trace": "halfseen.plots.tables",
    "plot_uncertainty": "halfseen.plots.tables",
    "pool": "halfseen.inference.pooling",
    "posterior": "halfseen.analysis.posterior",
    "read_brackets": "halfseen.structures.trees",
    "read_trees": "halfseen.structures.trees",
    "register_kind": "halfseen.kinds",
    "relate": "halfseen.inference.relate",
    "report": "halfseen.app.report.page",
    "save": "halfseen.app.model_file",
    "show_versions": "halfseen.app.versions",
    "standard_errors": "halfseen.inference.standard_errors",
    "studio": "halfseen.studio.notebook",
    "to_onnx": "halfseen.app.onnx",
    "to_sql": "halfseen.app.export",
    "watch": "halfseen.studio.watch",
}
_MODULES = ("errors",)


def _homes() -> dict[str, str]:
    """Return every public name with its module."""
    from halfseen.families import PUBLIC

    return _SHARED | PUBLIC


def _names() -> list[str]:
    """Return ``__all__``: constants, classes, then the rest, each in order."""
    listed = [*_homes(), *_MODULES, "__version__"]
    return sorted(listed, key=lambda name: (not name.isupper(), not name[0].isupper(), name))


def __getattr__(name: str) -> object:
    if name == "__all__":
        return _names()
    if name in _MODULES:
        return import_module(f"halfseen.{name}")
    home = None if name.startswith("_") else _homes().get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return _names()
