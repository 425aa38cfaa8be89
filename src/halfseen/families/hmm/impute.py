"""Imputing missing values of sequences, with the leaves that impute tables."""

from __future__ import annotations

from typing import Any

import numpy as np

from halfseen.assign import SOFT, Assign
from halfseen.data import Sequences
from halfseen.families.hmm.model import HiddenMarkov
from halfseen.leaves.leaf import Floats
from halfseen.leaves.limits import Params


def full_blocks(
    model: HiddenMarkov, params: Params, sequences: Sequences, rng: np.random.Generator | None
) -> tuple[dict[str, Any], Floats]:
    """Return blocks of steps without missing values, and the log-evidence of each sequence.

    Without a generator each missing cell gets its expected value under the probabilities of the states given the whole
    sequence; with one, a path is drawn backwards, then the cells of each step given its state and its observed cells.
    """
    prepared, parts, log_evidence = model.prepare(params), [], []
    for chunk in sequences.chunks():
        assign = SOFT if rng is None else Assign("sample", rng=rng)
        found = model.infer(prepared, chunk.blocks, np.ones((len(chunk.weight), 1)), assign)
        parts.append(model.leaves["emit"].impute(params["emit"], dict(chunk.blocks), found.usage["emit"], rng))
        log_evidence.append(found.log_evidence[:, 0])
    full = {name: np.concatenate([part[name] for part in parts]) for name in sequences.blocks}
    return full, np.concatenate(log_evidence)
