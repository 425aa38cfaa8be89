from halfseen import errors as errors
from halfseen.analysis.bound import bound, plot_bound
from halfseen.analysis.decisions import bayes_risk, decide
from halfseen.analysis.explain import explain
from halfseen.analysis.hidden import hidden_cells
from halfseen.analysis.links import score_links
from halfseen.analysis.plot_alignment import plot_alignment
from halfseen.analysis.plot_links import link_matrix, plot_links
from halfseen.analysis.plot_mixture import plot_mixture
from halfseen.analysis.plots import plot_certainty, plot_missing, plot_profiles, plot_selection, plot_trace
from halfseen.analysis.posterior import posterior
from halfseen.analysis.timeline import plot_timeline
from halfseen.app.model_file import load, save
from halfseen.app.report.page import report
from halfseen.app.versions import show_versions
from halfseen.data.audio import mfcc, read_wav
from halfseen.data.audio_folder import AudioFolder, read_dictionary
from halfseen.data.bitext import read_gold, read_links
from halfseen.data.captions import read_captions
from halfseen.data.files import open_table
from halfseen.data.textgrid import read_textgrid
from halfseen.data.trees import Tree, read_brackets, read_trees
from halfseen.datasets import load_penguins, load_votes
from halfseen.engine.journal import checkpoint
from halfseen.estimators.bayes_net import BayesNet
from halfseen.estimators.bif import read_bif, write_bif
from halfseen.estimators.gaussian_classifier import GaussianClassifier
from halfseen.estimators.gaussian_mixture import GaussianMixture
from halfseen.estimators.hmm import HMM
from halfseen.estimators.kmeans import KMeans
from halfseen.estimators.latent_class import LatentClass
from halfseen.estimators.naive_bayes import NaiveBayes
from halfseen.estimators.pcfg import PCFG
from halfseen.estimators.transcript_aligner import TranscriptAligner
from halfseen.estimators.word_aligner import WordAligner

__version__: str

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
