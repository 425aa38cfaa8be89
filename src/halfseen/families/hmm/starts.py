"""Where the EM runs of a hidden Markov model begin.

A start on its own: emissions as those of a mixture over all steps, and random transitions; in every other start states
persist. A start near a solution: the solution with one of its states drawn anew. Starts on their own often miss
solutions that share all but one state with one that they find.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halfseen.data import Chunk, SequenceChunk
from halfseen.engine.tables.mixture import Mixture
from halfseen.engine.tables.preprocess import certain
from halfseen.engine.tables.starts import BLEND, STARTS, STRENGTH, Start
from halfseen.families.hmm.model import HiddenMarkov
from halfseen.families.hmm.panel import Panel
from halfseen.families.hmm.topology import Topology
from halfseen.leaves.leaf import Floats, Leaf, Stats, frozen, map_arrays
from halfseen.leaves.limits import Params
from halfseen.seeds import child


@dataclass(frozen=True, eq=False)
class ChainStarts:
    """Starts by number.

    Attributes
    ----------
    model : HiddenMarkov
    topology : Topology
    begin : Start             the emission as a mixture over all steps
    panel : Panel             the sequences
    seed : SeedSequence
    init : str                how emissions are drawn, a name in `STARTS`
    n_mix : int               components of each state's emission
    overlaid : callable       fills in what the user gave
    """

    model: HiddenMarkov
    topology: Topology
    begin: Start
    panel: Panel
    seed: np.random.SeedSequence
    init: str
    n_mix: int
    overlaid: Callable[[Params], Params]

    def draw(self, i: int) -> Params:
        """Return start number i on its own."""
        return self._drawn(i, np.random.default_rng(child(self.seed, i)))

    def near(self, solution: Params, i: int) -> Params:
        """Return start number i near a solution: one state is drawn anew, and transitions go half of the way."""
        rng = np.random.default_rng(child(self.seed, i))
        fresh, n_states = self._drawn(i, rng), len(self.topology.begin)
        anew = np.arange(n_states) == rng.integers(n_states)
        rows = self.topology.joined(np.eye(self.topology.n_states)) @ anew > 0
        params = {
            "start": frozen((solution["start"] + fresh["start"]) / 2),
            "trans": frozen(np.where(rows[:, None], fresh["trans"], (solution["trans"] + fresh["trans"]) / 2)),
            "emit": self._replaced(solution["emit"], fresh["emit"], anew),
        }
        return self.model.conform({name: params[name] for name in self.model.leaves}, solution)

    def _drawn(self, i: int, rng: np.random.Generator) -> Params:
        model, topology = self.model, self.topology
        if topology.forward and i % 2 == 0:
            emit = _segmented(self.begin, self.panel, self.n_mix, rng, jitter=i > 0)
        else:
            emit = STARTS[self.init](self.begin, rng)
        emit = _from_labels(self.begin, self.panel, self.n_mix, emit)
        chain = {name: model.leaves[name] for name in ("start", "trans")}
        params = {**topology.drawn(chain, rng, sticky=i % 2 == 1), "emit": self._wrapped(emit)}
        params = self.overlaid({name: params[name] for name in model.leaves})
        return model.conform(params, params)

    def _wrapped(self, emit: Params) -> Params:
        if self.n_mix == 1:
            return emit
        inner = self.model.leaves["emit"]
        assert isinstance(inner, Mixture)
        return {"mix": inner.leaves["mix"].blank(), "emit": emit}

    def _replaced(self, emit: Params, fresh: Params, anew: NDArray[np.bool_]) -> Params:
        """Return emissions in which some states have those of a fresh start."""
        if self.n_mix == 1:
            return _chosen(anew, fresh, emit)
        inside = _chosen(np.repeat(anew, self.n_mix), fresh["emit"], emit["emit"])
        return {"mix": _chosen(anew, fresh["mix"], emit["mix"]), "emit": inside}


def _segmented(begin: Start, panel: Panel, n_mix: int, rng: np.random.Generator, jitter: bool) -> Params:
    """Return emissions of states that each get an equal piece of every sequence, in their order."""
    leaf = begin.leaf
    add = Segments(leaf, leaf.prepare(begin.whole.params), n_mix)
    params = leaf.maximise(panel.segments(add, BLEND * begin.whole.row, rng), begin.whole.params)
    return leaf.jitter(params, STRENGTH / 2, rng) if jitter else params


@dataclass(frozen=True, eq=False)
class Segments:
    """Adds the statistics of sequences whose states each have an equal piece, in their order."""

    leaf: Leaf
    prepared: Any
    n_mix: int

    def __call__(self, chunk: SequenceChunk, stats: Stats, rng: np.random.Generator) -> None:
        """Add those of a chunk."""
        n_states, lengths = self.leaf.n_components // self.n_mix, chunk.blocks.lengths
        within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        state = within * n_states // np.repeat(lengths, lengths)
        component = state * self.n_mix + rng.integers(0, self.n_mix, len(state))
        self.leaf.count(component, np.repeat(chunk.weight, lengths), self.prepared, chunk.blocks, stats)


def _from_labels(begin: Start, panel: Panel, n_mix: int, params: Params) -> Params:
    """Return emissions in which states with labelled steps start from these steps."""
    if not panel.labelled or n_mix > 1:
        return params
    leaf = begin.leaf
    stats, labelled = panel.labels(LabelledSteps(leaf, leaf.prepare(begin.whole.params)), np.array(begin.whole.row))
    return _chosen(labelled, leaf.maximise(stats, begin.whole.params), params) if labelled.any() else params


@dataclass(frozen=True, eq=False)
class LabelledSteps:
    """Adds the statistics of steps with a certain label."""

    leaf: Leaf
    prepared: Any

    def __call__(self, chunk: Chunk, stats: Stats) -> NDArray[np.bool_]:
        """Add those of a chunk; return which components have any."""
        component = np.zeros(0, dtype=np.int64)
        if chunk.evidence is not None:
            known = np.flatnonzero(certain(chunk.evidence))
            component = chunk.evidence.patterns.argmax(axis=1)[chunk.evidence.index[known]].astype(np.int64)
        if len(component):
            blocks = {name: block[known] for name, block in chunk.blocks.items()}
            self.leaf.count(component, chunk.weight[known], self.prepared, blocks, stats)
        return np.isin(np.arange(self.leaf.n_components), component)


def _chosen(which: NDArray[np.bool_], first: Params, second: Params) -> Params:
    """Return parameters of the components in question from `first`, of the others from `second`."""

    def choose(one: Floats, other: Floats) -> Floats:
        return frozen(np.where(which.reshape(-1, *[1] * (one.ndim - 1)), one, other))

    return map_arrays(choose, first, second)
