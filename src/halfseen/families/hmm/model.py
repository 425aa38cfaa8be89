"""Hidden Markov models: a chain of hidden states behind every sequence, any leaf as the emission."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from halfseen.assign import SOFT
from halfseen.data import SequenceChunk, Sequences
from halfseen.engine.loop.expected import Step
from halfseen.engine.loop.model import Model, Reduced
from halfseen.engine.tables.preprocess import Later
from halfseen.families.hmm.by_pattern import ArrangedChain
from halfseen.families.hmm.fused import FusedChain
from halfseen.leaves.categorical import draw
from halfseen.leaves.leaf import Floats
from halfseen.leaves.limits import Params
from halfseen.structures.chain import MarkovChain, Potentials, filtered, hard


class Path(NamedTuple):
    """The best path of every sequence of a chunk.

    Attributes
    ----------
    states : (N,) array          states of the chain at all steps
    log_joint : (B,) array       log-probability of each sequence's best path together with the observations
    """

    states: NDArray[np.int64]
    log_joint: Floats


class HiddenMarkov(Model):
    """A model over the structure `MarkovChain`, with leaves `start` (1, S), `trans` (S, S) and `emit` (K components).

    States and components are the same unless the structure has an `owner`.

    Examples
    --------
    >>> import numpy as np
    >>> from halfseen.data import Steps
    >>> from halfseen.leaves import Categorical, Cells
    >>> leaves = {"start": Cells(1, [2], axes=(1,)), "trans": Cells(2, [2], axes=(0, 1)), "emit": Categorical(2, [3])}
    >>> model = HiddenMarkov(MarkovChain(), leaves)
    >>> params = {"start": np.array([[0.8, 0.2]]), "trans": np.array([[0.7, 0.3], [0.4, 0.6]])}
    >>> params["emit"] = np.array([[0.2, 0.4, 0.4], [0.5, 0.4, 0.1]])
    >>> days = np.array([[2], [0], [2]])
    >>> model.decode(model.prepare(params), days, np.array([3])).states.tolist()
    [0, 0, 0]
    """

    structure: MarkovChain

    def potentials(
        self, prepared: Any, data: Any, lengths: NDArray[np.int64], log_labels: Floats | None = None
    ) -> Potentials:
        """Return the scores of a chunk as the kernels of chains read them."""
        scores = {name: leaf.score(prepared[name], data, SOFT) for name, leaf in self.leaves.items()}
        return self.structure.potentials(scores, lengths, log_labels)

    def decode(self, prepared: Any, data: Any, lengths: NDArray[np.int64], log_labels: Floats | None = None) -> Path:
        """Return the best path of every sequence (Viterbi)."""
        given = self.potentials(prepared, data, lengths, log_labels)
        size, log_joint = len(given.start), np.empty(len(lengths))
        states = hard(given, np.ones(len(lengths)), np.zeros(size), np.zeros((size, size)), log_joint)
        return Path(states, log_joint)

    def filter(
        self, prepared: Any, data: Any, lengths: NDArray[np.int64], log_labels: Floats | None = None
    ) -> tuple[Floats, Floats]:
        """Return log p(state at t | observed up to t), (N, S), and the log-evidence of every sequence."""
        log_evidence = np.empty(len(lengths))
        return filtered(self.potentials(prepared, data, lengths, log_labels), log_evidence), log_evidence

    def draw_states(self, params: Params, lengths: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw a path for every sequence; the steps of all are concatenated."""
        order = np.argsort(-lengths, kind="stable")
        firsts = (np.cumsum(lengths) - lengths)[order]
        states = np.empty(int(lengths.sum()), dtype=np.int64)
        current = draw(np.repeat(params["start"], len(lengths), axis=0), rng)
        for t in range(int(lengths.max(initial=0))):
            running = int(np.count_nonzero(lengths[order] > t))
            current = current[:running] if t == 0 else draw(params["trans"][current[:running]], rng)
            states[firsts[:running] + t] = current
        return states

    def impossible(self, params: Params, chunks: Sequence[Any]) -> tuple[int, int] | None:
        """Return the first sequence that has probability zero and the step at which it does; None if there is none."""
        prepared = self.prepare(params)
        for chunk in chunks:
            lengths = chunk.blocks.lengths
            logs, log_evidence = self.filter(prepared, chunk.blocks, lengths, chunk.log_evidence)
            for b in np.flatnonzero(np.isneginf(log_evidence) & (chunk.weight > 0)).tolist():
                first = int(lengths[:b].sum())
                return chunk.first + b, int(np.isneginf(logs[first : first + lengths[b]]).all(axis=1).argmax())
        return None


def reduce_sequences(model: HiddenMarkov, sequences: Sequences) -> Reduced:
    """Return the chunks of sequences, packed for the fastest path: fused if there are no labels, or arranged."""
    path: FusedChain | ArrangedChain | None = None
    if sequences.steps.evidence is None:
        path = FusedChain.find(model, sequences)
    path = path or ArrangedChain.find(model, sequences)
    chunks = sequences.chunks()
    if path is None:
        return Reduced(chunks)
    if sequences.steps.memory_limit is not None:
        return Reduced(Later(chunks, path.pack), path=path)
    return Reduced([path.pack(chunk) for chunk in chunks], path=path)


def path_entropy(model: HiddenMarkov, step: Step, inside: float) -> float:
    """Return the entropy of the path given the observations, summed over sequences.

    `step` is of the soft E-step, `inside` the entropy of the latent variables inside the emissions.
    """
    params = step.params
    return max(0.0, step.loglik - model.complete(step.expected.stats, params, params) - inside)


def entropy_inside(model: HiddenMarkov, params: Params, sequences: Sequences) -> float:
    """Return the entropy of the latent variables inside the emissions, given the path and the observations."""
    if model.leaves["emit"].settled(sequences.blocks) is None:
        return 0.0
    prepared = model.prepare(params)
    return sum(chunk_entropy(chunk, model, prepared) for chunk in sequences.chunks())


def chunk_entropy(chunk: SequenceChunk, model: HiddenMarkov, prepared: Any) -> float:
    """Return the same of a chunk."""
    found = model.infer(prepared, chunk.blocks, chunk.weight[:, None], SOFT, chunk.log_evidence)
    emit, ready = model.leaves["emit"], prepared["emit"]
    return emit.latent(ready, ready, chunk.blocks, found.usage["emit"]).entropy
