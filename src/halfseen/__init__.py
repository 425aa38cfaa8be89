"""Learn from incomplete data: one expectation-maximization engine for many models.

Every public name is listed in ``_HOME`` with the module it lives in, and is imported when first used,
so that ``import halfseen`` is quick. ``__init__.pyi`` tells type checkers and editors the same.
"""

from importlib import import_module

__version__ = "0.1.0"

_HOME = {
    "AudioFolder": "halfseen.data.audio_folder",
    "BayesNet": "halfseen.estimators.bayes_net",
    "GaussianClassifier": "halfseen.estimators.gaussian_classifier",
    "GaussianMixture": "halfseen.estimators.gaussian_mixture",
    "HMM": "halfseen.estimators.hmm",
    "KMeans": "halfseen.estimators.kmeans",
    "LatentClass": "halfseen.estimators.latent_class",
    "NaiveBayes": "halfseen.estimators.naive_bayes",
    "PCFG": "halfseen.estimators.pcfg",
    "TranscriptAligner": "halfseen.estimators.transcript_aligner",
    "Tree": "halfseen.data.trees",
    "WordAligner": "halfseen.estimators.word_aligner",
    "bayes_risk": "halfseen.analysis.decisions",
    "bound": "halfseen.analysis.bound",
    "checkpoint": "halfseen.engine.journal",
    "decide": "halfseen.analysis.decisions",
    "explain": "halfseen.analysis.explain",
    "hidden_cells": "halfseen.analysis.hidden",
    "link_matrix": "halfseen.analysis.plot_links",
    "load": "halfseen.app.model_file",
    "load_penguins": "halfseen.datasets",
    "load_votes": "halfseen.datasets",
    "mfcc": "halfseen.data.audio",
    "open_table": "halfseen.data.files",
    "plot_alignment": "halfseen.analysis.plot_alignment",
    "plot_bound": "halfseen.analysis.bound",
    "plot_certainty": "halfseen.analysis.plots",
    "plot_links": "halfseen.analysis.plot_links",
    "plot_missing": "halfseen.analysis.plots",
    "plot_mixture": "halfseen.analysis.plot_mixture",
    "plot_profiles": "halfseen.analysis.plots",
    "plot_selection": "halfseen.analysis.plots",
    "plot_timeline": "halfseen.analysis.timeline",
    "plot_trace": "halfseen.analysis.plots",
    "posterior": "halfseen.analysis.posterior",
    "read_bif": "halfseen.estimators.bif",
    "read_brackets": "halfseen.data.trees",
    "read_captions": "halfseen.data.captions",
    "read_dictionary": "halfseen.data.audio_folder",
    "read_gold": "halfseen.data.bitext",
    "read_links": "halfseen.data.bitext",
    "read_textgrid": "halfseen.data.textgrid",
    "read_trees": "halfseen.data.trees",
    "read_wav": "halfseen.data.audio",
    "report": "halfseen.app.report.page",
    "save": "halfseen.app.model_file",
    "score_links": "halfseen.analysis.links",
    "show_versions": "halfseen.app.versions",
    "write_bif": "halfseen.estimators.bif",
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
