from halfseen import errors as errors
from halfseen.analysis.bound import bound
from halfseen.analysis.decisions import bayes_risk, decide
from halfseen.analysis.imputation_check import hidden_cells
from halfseen.analysis.posterior import posterior
from halfseen.analysis.validation import cross_validate
from halfseen.app.explanation import explain
from halfseen.app.export import to_sql
from halfseen.app.model_file import load, save
from halfseen.app.onnx import to_onnx
from halfseen.app.report.page import report
from halfseen.app.versions import show_versions
from halfseen.data.files import open_table
from halfseen.datasets import load_earthquakes, load_penguins, load_votes
from halfseen.engine.services.checkpoint import checkpoint
from halfseen.estimators.publication import methods_paragraph, paper_table
from halfseen.families.grammar.estimator import PCFG
from halfseen.families.grammar.plots import plot_tree
from halfseen.families.hmm.estimator import HMM
from halfseen.families.hmm.plots import plot_paths, plot_timeline, plot_transitions
from halfseen.families.kmeans.estimator import KMeans
from halfseen.families.mixture.gaussian_classifier import GaussianClassifier
from halfseen.families.mixture.gaussian_mixture import GaussianMixture
from halfseen.families.mixture.latent_class import LatentClass
from halfseen.families.mixture.naive_bayes import NaiveBayes
from halfseen.families.network.estimator import BayesNet
from halfseen.families.network.files import read_bif, write_bif
from halfseen.families.network.plots import plot_network
from halfseen.families.pronunciation.estimator import G2P
from halfseen.families.pronunciation.scores import score_pronunciations
from halfseen.families.transcript.dictionary import read_dictionary
from halfseen.families.transcript.estimator import TranscriptAligner
from halfseen.families.transcript.plots import plot_alignment
from halfseen.families.transcript.pronounce import pronunciations_of
from halfseen.families.transcript.recordings import AudioFolder
from halfseen.families.transcript.sound.features import mfcc
from halfseen.families.transcript.sound.files import read_sound
from halfseen.families.transcript.sound.wav import read_wav
from halfseen.families.transcript.sphinx import read_sphinx
from halfseen.families.transcript.starter import load_speech
from halfseen.families.transcript.written.captions import read_captions
from halfseen.families.transcript.written.textgrid import read_textgrid
from halfseen.families.words.bitext import read_gold, read_links
from halfseen.families.words.estimator import WordAligner
from halfseen.families.words.link_scores import score_links
from halfseen.families.words.plots import link_matrix, plot_links
from halfseen.inference.blrt import blrt
from halfseen.inference.bootstrap import bootstrap
from halfseen.inference.coefficients import coefficients
from halfseen.inference.diagnostics import diagnostics
from halfseen.inference.imputer import Imputer
from halfseen.inference.likelihood_ratio import likelihood_ratio
from halfseen.inference.pooling import pool
from halfseen.inference.relate import relate
from halfseen.inference.standard_errors import standard_errors
from halfseen.kinds import register_kind
from halfseen.kinds.kind import Kind
from halfseen.plots.bound import plot_bound
from halfseen.plots.mixture import plot_mixture
from halfseen.plots.pairs import plot_pairs
from halfseen.plots.profile_lines import plot_profile_lines
from halfseen.plots.profiles import plot_profiles
from halfseen.plots.shares import plot_shares
from halfseen.plots.tables import plot_certainty, plot_missing, plot_selection, plot_trace, plot_uncertainty
from halfseen.structures.trees import Tree, read_brackets, read_trees
from halfseen.studio.notebook import studio
from halfseen.studio.watch import watch

__version__: str

__all__ = [
    "G2P",
    "HMM",
    "PCFG",
    "AudioFolder",
    "BayesNet",
    "GaussianClassifier",
    "GaussianMixture",
    "Imputer",
    "KMeans",
    "Kind",
    "LatentClass",
    "NaiveBayes",
    "TranscriptAligner",
    "Tree",
    "WordAligner",
    "__version__",
    "bayes_risk",
    "blrt",
    "bootstrap",
    "bound",
    "checkpoint",
    "coefficients",
    "cross_validate",
    "decide",
    "diagnostics",
    "errors",
    "explain",
    "hidden_cells",
    "likelihood_ratio",
    "link_matrix",
    "load",
    "load_earthquakes",
    "load_penguins",
    "load_speech",
    "load_votes",
    "methods_paragraph",
    "mfcc",
    "open_table",
    "paper_table",
    "plot_alignment",
    "plot_bound",
    "plot_certainty",
    "plot_links",
    "plot_missing",
    "plot_mixture",
    "plot_network",
    "plot_pairs",
    "plot_paths",
    "plot_profile_lines",
    "plot_profiles",
    "plot_selection",
    "plot_shares",
    "plot_timeline",
    "plot_trace",
    "plot_transitions",
    "plot_tree",
    "plot_uncertainty",
    "pool",
    "posterior",
    "pronunciations_of",
    "read_bif",
    "read_brackets",
    "read_captions",
    "read_dictionary",
    "read_gold",
    "read_links",
    "read_sound",
    "read_sphinx",
    "read_textgrid",
    "read_trees",
    "read_wav",
    "register_kind",
    "relate",
    "report",
    "save",
    "score_links",
    "score_pronunciations",
    "show_versions",
    "standard_errors",
    "studio",
    "to_onnx",
    "to_sql",
    "watch",
    "write_bif",
]
