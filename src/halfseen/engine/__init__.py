"""The engine: EM is the loop.

Vocabulary
----------
Model      a structure with its leaves; itself a leaf
Mixture    a model in which every row has one hidden component
HiddenMarkov   a model in which every sequence has a chain of hidden states
BayesianNetwork   a model in which any variables of a row are hidden, and families of them have tables
ContextFree   a model in which every sentence has a hidden tree of rules
Expected   statistics of some data and their share of the objective; they add
Step       parameters, the statistics gathered under them, and the objective that belongs to them
evaluate   one pass over the data for any number of candidate parameters
em         the loop: evaluate, let every chain move, repeat
Chain      one run of EM: where it stands, how it moves (plain or accelerated), when and why it stops
Ascent     one run of a gradient method, steepest ascent or L-BFGS; a chain too
"""

from halfseen.engine.ascent import Ascent
from halfseen.engine.chain import Chain
from halfseen.engine.em import em, evaluate, steps
from halfseen.engine.expected import Expected, Step
from halfseen.engine.grammar import ContextFree
from halfseen.engine.hidden_markov import HiddenMarkov
from halfseen.engine.mixture import Mixture
from halfseen.engine.model import Model, Reduced
from halfseen.engine.network import BayesianNetwork
from halfseen.engine.search import Search, fit

__all__ = [
    "Ascent",
    "BayesianNetwork",
    "Chain",
    "ContextFree",
    "Expected",
    "HiddenMarkov",
    "Mixture",
    "Model",
    "Reduced",
    "Search",
    "Step",
    "em",
    "evaluate",
    "fit",
    "steps",
]
