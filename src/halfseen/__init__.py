"""Learn from incomplete data: one expectation-maximization engine for many models.

Every public name is listed in ``_HOME`` with the module it lives in, and is imported when first used,
so that ``import halfseen`` is quick. ``__init__.pyi`` tells type checkers and editors the same.
"""

from importlib import import_module

__version__ = "0.1.0"

_HOME = {
    "AudioFolder": "halfseen.families.transcript.audio_folder",
    "BayesNet": "halfseen.families.network.estimator",
    "GaussianClassifier": "halfseen.families.mixture.gaussian_classifier",
    "GaussianMixture": "halfseen.families.mixture.gaussian_mixture",
    "HMM": "halfseen.families.hmm.estimator",
    "KMeans": "halfseen.families.kmeans.estimator",
    "Kind": "halfseen.kinds.kind",
    "LatentClass": "halfseen.families.mixture.latent_class",
    "NaiveBayes": "halfseen.families.mixture.naive_bayes",
    "PCFG": "halfseen.families.grammar.estimator",
    "TranscriptAligner": "halfseen.families.transcript.estimator",
    "Tree": "halfseen.structures.trees",
    "WordAligner": "halfseen.families.words.estimator",
    "bayes_risk": "halfseen.analysis.decisions",
    "bound": "halfseen.analysis.bound",
    "checkpoint": "halfseen.engine.services.checkpoint",
    "decide": "halfseen.analysis.decisions",
    "explain": "halfseen.analysis.explain",
    "hidden_cells": "halfseen.analysis.imputation_check",
    "link_matrix": "halfseen.families.words.plots",
    "load": "halfseen.app.model_file",
    "load_penguins": "halfseen.datasets",
    "load_votes": "halfseen.datasets",
    "mfcc": "halfseen.families.transcript.audio",
    "open_table": "halfseen.data.files",
    "plot_alignment": "halfseen.families.transcript.plots",
    "plot_bound": "halfseen.analysis.bound",
    "plot_certainty": "halfseen.plots.tables",
    "plot_links": "halfseen.families.words.plots",
    "plot_missing": "halfseen.plots.tables",
    "plot_mixture": "halfseen.plots.gaussian",
    "plot_profiles": "halfseen.plots.tables",
    "plot_selection": "halfseen.plots.tables",
    "plot_timeline": "halfseen.families.hmm.plots",
    "plot_trace": "halfseen.plots.tables",
    "posterior": "halfseen.analysis.posterior",
    "read_bif": "halfseen.families.network.files",
    "read_brackets": "halfseen.structures.trees",
    "read_captions": "halfseen.families.transcript.captions",
    "read_dictionary": "halfseen.families.transcript.audio_folder",
    "read_gold": "halfseen.families.words.bitext",
    "read_links": "halfseen.families.words.bitext",
    "read_textgrid": "halfseen.families.transcript.textgrid",
    "read_trees": "halfseen.structures.trees",
    "read_wav": "halfseen.families.transcript.audio",
    "register_kind": "halfseen.kinds",
    "report": "halfseen.app.report.page",
    "save": "halfseen.app.model_file",
    "score_links": "halfseen.families.words.link_scores",
    "show_versions": "halfseen.app.versions",
    "write_bif": "halfseen.families.network.files",
}
_MODULES = ("errors",)

__all__ = [
    "HMM",
    "PCFG",
    "AudioFolder",
    "BayesNet",
    "GaussianClassifier",
    "GaussianMixture",
    "KMeans",
    "Kind",
    "LatentClass",
    "NaiveBayes",
    "TranscriptAligner",
    "Tree",
    "WordAligner",
    "__version__",
    "bayes_risk",
    "bound",
    "checkpoint",
    "decide",
    "errors",
    "explain",
    "hidden_cells",
    "link_matrix",
    "load",
    "load_penguins",
    "load_votes",
    "mfcc",
    "open_table",
    "plot_alignment",
    "plot_bound",
    "plot_certainty",
    "plot_links",
    "plot_missing",
    "plot_mixture",
    "plot_profiles",
    "plot_selection",
    "plot_timeline",
    "plot_trace",
    "posterior",
    "read_bif",
    "read_brackets",
    "read_captions",
    "read_dictionary",
    "read_gold",
    "read_links",
    "read_textgrid",
    "read_trees",
    "read_wav",
    "register_kind",
    "report",
    "save",
    "score_links",
    "show_versions",
    "write_bif",
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
