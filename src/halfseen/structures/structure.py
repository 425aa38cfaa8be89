"""The structure protocol: what is hidden, and how scores become usage.

You implement
-------------
parts      the names of the leaves whose scores you read
infer      scores in, usage in the same shapes out, with the log-evidence of every unit (row, sequence, sentence)

You get for free
----------------
EM in every mode, restarts, acceleration, stopping, streaming and threads: the engine needs nothing else. A model
made of your structure is itself a leaf.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from halfseen.assign import Assign

Floats = NDArray[np.float64]


class Inference(NamedTuple):
    """The result of inference on a chunk.

    Attributes
    ----------
    usage : dict of arrays
        Posterior marginals or expected counts of the parts, shaped like their scores. Soft usage is the gradient of
        sum(outer * log_evidence).
    log_evidence : (N, G) array
        Log of the sum over completions (soft, sample) or the best joint (hard), per unit and group.
    digest : int
        Hard only: a fingerprint of the best completions, so that 'unchanged' can be seen without storing them.
    """

    usage: dict[str, Floats]
    log_evidence: Floats
    digest: int = 0


class Structure(Protocol):
    """Parameter-free inference over one kind of hidden variable."""

    @property
    def parts(self) -> tuple[str, ...]:
        """Names of the leaves."""

    @property
    def n_groups(self) -> int:
        """How many evidences a unit has: 1 for a model that stands alone, G when it is a leaf with G components."""

    def infer(
        self,
        scores: Mapping[str, Floats],
        outer: Floats,
        assign: Assign,
        log_labels: Floats | None = None,
        data: Any = None,
    ) -> Inference:
        """Turn scores into usage.

        Parameters
        ----------
        scores : arrays by part; the structure may overwrite them
        outer : (N, G) array      how often each unit is used from outside: row weights, or the usage of a leaf
        assign : Assign           soft, hard or sample, with temperature and generator
        log_labels : array, optional    log-evidence of labels about the hidden variable, added to the scores
        data : the chunk, for structures that need lengths or patterns
        """
