"""Each row has one hidden component, independently of the other rows.

    log_evidence[n] = log sum_k exp(mix[k] + emit[n, k])
    usage[n, k]     = outer[n] exp(mix[k] + emit[n, k] - log_evidence[n])

Mixing weights may differ from row to row (mix[n, k]), where they depend on covariates.

The joint over all N rows has K^N completions; independence makes the work N K.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from halfseen.assign import Assign
from halfseen.kernels import active as kernels
from halfseen.structures.draws import MOST
from halfseen.structures.structure import Floats, Inference


@dataclass(frozen=True)
class Independent:
    """Mixtures: parts `mix` (G, M), or (N, G * M) if weights differ between rows, and `emit` (N, G * M).

    Standing alone there is one group of M components. As a leaf with G components, component g is a mixture of its
    own M components: a class with several components, a state with a mixture emission.

    Examples
    --------
    >>> import numpy as np
    >>> from halfseen.assign import SOFT
    >>> scores = {"mix": np.log([[0.7, 0.3]]), "emit": np.log([[0.06, 0.14]])}
    >>> found = Independent().infer(scores, np.ones((1, 1)), SOFT)
    >>> found.usage["emit"].round(6)
    array([[0.5, 0.5]])
    """

    n_groups: int = 1

    @property
    def parts(self) -> tuple[str, ...]:
        """Mixing weights and emissions."""
        return ("mix", "emit")

    def infer(
        self,
        scores: Mapping[str, Floats],
        outer: Floats,
        assign: Assign,
        log_labels: Floats | None = None,
        data: Any = None,
    ) -> Inference:
        """Return usage of (row, component) parts and of the mixing weights; `scores["emit"]` is overwritten."""
        joint = scores["emit"]
        by_row = scores["mix"].shape == joint.shape  # of one row and one group both readings are the same
        joint += scores["mix"] if by_row else scores["mix"].reshape(-1)
        if log_labels is not None:
            joint += log_labels
        by_group = joint.reshape(len(joint) * self.n_groups, -1)  # a view: one row per (row, group)
        log_evidence = np.empty(len(by_group))
        digest = complete(by_group, np.ravel(outer), assign, log_evidence)
        usage = {"mix": joint if by_row else joint.sum(axis=0).reshape(scores["mix"].shape), "emit": joint}
        return Inference(usage, log_evidence.reshape(-1, self.n_groups), digest)


def complete(scores: Floats, outer: Floats, assign: Assign, log_evidence: Floats) -> int:
    """Overwrite the scores of (row, component) parts with their usage, in any mode; return the digest."""
    if assign.mode == "hard":
        best = np.empty(len(scores), dtype=np.int64)
        kernels.independent_hard(scores, outer, best, log_evidence)
        return zlib.crc32(best.tobytes())
    if assign.mode == "soft":
        kernels.independent_soft(scores, outer, assign.beta, log_evidence)
        return 0
    kernels.independent_soft(scores, np.ones(len(scores)), assign.beta, log_evidence)
    assert assign.rng is not None, "sample mode needs a seeded generator"
    scores[:] = draw_usage(scores, outer, assign.draws, assign.rng)
    return 0


def draw_usage(resp: Floats, outer: Floats, draws: int, rng: np.random.Generator) -> Floats:
    """Draw components for rows used `outer` times; the mean of `draws` repetitions.

    A row of weight 3 draws three times; a fraction of a use is one more draw that counts as much as the fraction, so
    that the usage of a row always adds up to its weight. At most `MOST` draws are made, which then count for more.
    """
    possible = resp.sum(axis=1) > 0
    shares = np.where(possible[:, None], resp, 1.0)
    shares = shares / shares.sum(axis=1, keepdims=True)
    uses = np.where(possible, outer * draws, 0.0)
    whole = np.floor(uses)
    times = np.minimum(whole, MOST).astype(np.int64)
    usage = rng.multinomial(times, shares).astype(np.float64)
    if whole.max(initial=0.0) > MOST:
        usage *= np.maximum(whole / MOST, 1.0)[:, None]
    rest = uses - whole
    if rest.any():
        usage += rest[:, None] * rng.multinomial(1, shares)
    return usage / draws
