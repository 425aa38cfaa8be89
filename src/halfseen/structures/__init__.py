"""Structures: parameter-free inference. A structure turns scores into usage."""

from halfseen.structures.chain import MarkovChain
from halfseen.structures.independent import Independent
from halfseen.structures.network import Network
from halfseen.structures.structure import Inference, Structure
from halfseen.structures.transcript import Graph, LeftRight
from halfseen.structures.tree import Derivations

__all__ = ["Derivations", "Graph", "Independent", "Inference", "LeftRight", "MarkovChain", "Network", "Structure"]
