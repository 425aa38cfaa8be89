"""A fitted model estimated again from recordings, with the model as prior: maximum a posteriori, by a few EM passes.

The prior are `weight` frames in every state that are distributed as the model has them, so that states which the
recordings do not contain stay as they are, and those with many frames become those of the recordings:

    mean[k, d] = (weight mix[k] before[k, d] + sum_t resp[t, k] x[t, d]) / (weight mix[k] + sum_t resp[t, k])

Means, variances and shares of components are estimated; durations and pronunciations are those of the model.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from halfseen.engine.loop.expected import Expected
from halfseen.engine.loop.model import Model
from halfseen.engine.tables.mixture import Mixture
from halfseen.errors import ObjectiveFell, ParameterError
from halfseen.families.transcript.adaptation import ENOUGH, NUMBERS, ROUNDING
from halfseen.leaves import Gaussian, Leaf, Product
from halfseen.leaves.codebooks import Codebooks
from halfseen.leaves.leaf import Floats, Stats
from halfseen.leaves.limits import Params
from halfseen.leaves.wrappers import unwrapped
from halfseen.sums import Runner

WEIGHT = 20.0  # frames: of 5, 20, 50 and 100, the best or near it for another speaker, noise, and the same speaker


class Reestimated(NamedTuple):
    """Parameters, and the objective of each pass."""

    params: Params
    trace: tuple[float, ...]


def reestimate(
    model: Model, params: Params, chunks: Sequence[Any], n_frames: int, weight: float, max_iter: int, run: Runner
) -> Reestimated:
    """Return the model estimated from chunks of utterances, with `weight` frames of itself in every state."""
    leaf, about = model.leaves["emit"], params["emit"]
    pseudo = np.zeros(leaf.stats_shape)
    _fill(leaf, about, np.full(leaf.n_components, weight), pseudo)
    least = leaf.complete(pseudo, about, about)
    trace: list[float] = []
    now = params
    while True:
        expected: Expected = run.total(partial(model.expected, model.prepare(now)), chunks)
        log_prior = leaf.complete(pseudo, about, now["emit"]) - least
        objective = expected.loglik + log_prior
        if trace and objective < trace[-1] - ROUNDING * (abs(expected.loglik) + abs(least) + abs(log_prior)):
            raise ObjectiveFell(len(trace) + 1, trace[-1], objective)
        gain = objective - trace[-1] if trace else np.inf
        trace.append(objective)
        if len(trace) >= max_iter or gain < ENOUGH * n_frames:
            return Reestimated(now, tuple(trace))
        stats = model.view(expected.stats)["emit"] + leaf.recentre(pseudo, about, now["emit"])
        now = {**now, "emit": leaf.maximise(stats, now["emit"])}


def adapted_message(n_utterances: int, n_frames: int, trace: Sequence[float]) -> str:
    """Return what the events of a model say."""
    gain = (trace[-1] - trace[0]) / n_frames
    return (
        f"densities estimated again from {n_utterances} utterance{'s' if n_utterances != 1 else ''} ({n_frames:,} "
        f"frames) in {len(trace)} passes: log-likelihood + {gain:.3g} per frame"
    )


def _fill(leaf: Leaf, params: Params, weight: Floats, out: Stats) -> None:
    """Fill in the statistics of so many frames of each state, as its density has them."""
    if isinstance(leaf, Mixture):
        parts = leaf.view(out)
        shares = weight[:, None] * params["mix"]
        parts["mix"][:] = shares
        _fill(leaf.leaves["emit"], params["emit"], shares.ravel(), parts["emit"])
    elif isinstance(leaf, Product):
        if set(leaf.leaves) != {NUMBERS}:
            raise ParameterError("only models of numeric features (gaussian) can be adapted; fit() instead.")
        _fill(leaf.leaves[NUMBERS], params[NUMBERS], weight, leaf.view(out)[NUMBERS])
    elif isinstance(inside := unwrapped(leaf), Codebooks):
        _fill_shared(inside, params, weight, out)
    else:
        assert isinstance(inside, Gaussian)
        out[0], out[2] = weight[:, None], weight[:, None] * params.var


def _fill_shared(leaf: Codebooks, params: Params, weight: Floats, out: Stats) -> None:
    parts = leaf.view(out)
    mix = params["mix"].reshape(leaf.n_components, len(leaf.streams), leaf.width)
    parts["mix"].reshape(mix.shape)[:] = weight[:, None, None] * mix
    moments = parts["emit"].reshape(4, -1, leaf.width, len(leaf.centre))
    for f, columns in enumerate(leaf.cuts):
        shares = np.zeros(moments.shape[1:3])
        np.add.at(shares, leaf.books, weight[:, None] * mix[:, f])
        moments[0][..., columns] = shares[..., None]
    parts["emit"][2] = parts["emit"][0] * params["emit"].var
