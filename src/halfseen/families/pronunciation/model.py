"""Joint units over a dictionary: chunks of pairs of a word and a pronunciation."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from halfseen.engine.loop.model import Model, Reduced
from halfseen.leaves import Tables
from halfseen.leaves.leaf import Floats
from halfseen.structures.joint_units import Codes, JointUnits, Pairs

CHUNK = 1 << 18  # nodes of a chunk: some hundredths of a second


class UnitModel(Model):
    """A model over the structure `JointUnits`, with the one leaf `units` (1, U)."""

    structure: JointUnits

    @classmethod
    def of(cls, n_units: int) -> UnitModel:
        """Return the model of so many units, the end among them."""
        return cls(JointUnits(), {"units": Tables([n_units])})


@dataclass(frozen=True, eq=False)
class PairChunk:
    """Some pairs: the unit of work of the engine."""

    index: int
    blocks: Pairs
    weight: Floats
    log_evidence: None = None


def cut_pairs(data: Pairs, weight: Floats | None = None) -> list[PairChunk]:
    """Return the pairs in chunks, which depend on them alone."""
    weight = np.ones(len(data)) if weight is None else weight
    bounds = np.searchsorted(data.firsts[:-1], np.arange(CHUNK, int(data.firsts[-1]), CHUNK)).tolist()
    edges = sorted({0, *bounds, len(data)})
    return [
        PairChunk(index, data.part(first, last), weight[first:last])
        for index, (first, last) in enumerate(pairwise(edges))
    ]


def reduce_pairs(data: Pairs, weight: Floats | None = None) -> Reduced:
    """Return pairs ready for many passes."""
    return Reduced(cut_pairs(data, weight))


def segments_of(data: Pairs, taken: Codes) -> Codes:
    """Return the units of all pairs, one after the other, with an end after each pair."""
    found = taken.copy()
    found[data.firsts[:-1]] = 0  # no step leads to the first node of a pair: it can hold the end of the one before
    own = found[found >= 0]
    return np.append(own[1:], own[:1]).astype(np.int32)
