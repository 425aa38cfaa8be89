"""Sequences scored by a fitted hidden Markov model: states of every step and log-likelihood of every sequence.

Vocabulary
----------
seen       scored sequences, shared by plots and reports
resp       probability of each state at each step given the whole sequence, (N, K)
path       the best path of every sequence, (N,)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from halfseen.analysis.scored_table import Mask
from halfseen.assign import SOFT
from halfseen.data import Cut, SequenceChunk, Sequences
from halfseen.errors import ParameterError
from halfseen.families.hmm.methods import HMMMethods
from halfseen.leaves.leaf import Floats


@dataclass(frozen=True, eq=False)
class ScoredSequences:
    """Sequences with the posterior of their states; steps are concatenated.

    Attributes
    ----------
    model : the fitted model
    sequences : Sequences
    cut : Cut
    resp : (N, K) array
    path : (N,) array
    loglik : (B,) array          log p(observed cells) of each sequence
    """

    model: HMMMethods
    sequences: Sequences
    cut: Cut
    resp: Floats
    path: NDArray[np.int64]
    loglik: Floats

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Steps of each sequence."""
        return self.cut.lengths

    @cached_property
    def firsts(self) -> NDArray[np.int64]:
        """First step of each sequence."""
        return np.cumsum(self.lengths) - self.lengths

    @cached_property
    def missing(self) -> Mask:
        """Which cells are missing, (N, D)."""
        return self.sequences.steps.missing

    @property
    def per_step(self) -> Floats:
        """Log-likelihood of each sequence, divided by its steps."""
        return self.loglik / self.lengths

    def steps(self, b: int) -> slice:
        """The slice of the steps of sequence b."""
        return slice(int(self.firsts[b]), int(self.firsts[b] + self.lengths[b]))

    def place(self, n: int) -> tuple[int, int]:
        """Return the sequence of step n of all, and its step in it."""
        b = int(np.searchsorted(self.firsts, n, side="right")) - 1
        return b, n - int(self.firsts[b])


def score_sequences(
    model: Any, X: Any, lengths: Any = None, groups: Any = None, time: Any = None, only: Any = None
) -> ScoredSequences:
    """Score sequences with a fitted model; with `only`, one of them: a name, or a number from 0.

    Examples
    --------
    >>> import halfseen as hs
    >>> model = hs.HMM.from_params([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], {"x": {"mean": [0, 5], "sd": [1, 1]}})
    >>> seen = score_sequences(model, [[0.1], [0.4], [5.2], [4.9]], lengths=[1, 3])
    >>> seen.path.tolist(), seen.place(2)
    ([0, 0, 1, 1], (1, 1))
    """
    if not isinstance(model, HMMMethods):
        raise ParameterError(f"{type(model).__name__} is not a fitted HMM.")
    check_is_fitted(model)
    sequences, cut = model._sequences(X, lengths, groups, time)
    if only is not None:
        b = cut.number(only)
        sequences, cut = sequences.take([b]), cut.only(b)
    return scored(model, sequences, cut)


def scored(model: HMMMethods, sequences: Sequences, cut: Cut) -> ScoredSequences:
    """Score sequences that have been read."""

    def task(prepared: Any, chunk: SequenceChunk) -> Any:
        found = model._model.infer(prepared, chunk.blocks, np.ones((len(chunk.weight), 1)), SOFT)
        path = model._model.decode(prepared, chunk.blocks, chunk.blocks.lengths).states
        return found.usage["emit"], path, found.log_evidence[:, 0]

    resp, path, loglik = (np.concatenate(parts) for parts in zip(*model._over(sequences, task), strict=True))
    model._refuse_impossible(loglik, sequences, cut)
    owner = model._topology.owner
    return ScoredSequences(model, sequences, cut, resp, path if owner is None else np.array(owner)[path], loglik)
