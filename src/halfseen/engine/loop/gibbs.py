"""Gibbs sampling: draw the hidden part given the parameters, then the parameters given the completed data.

    usage  ~ p(hidden | data, params)                          evaluate, in sample mode
    params ~ exp(complete(stats + prior, params, .))           model.draw

It is the loop of sampled EM with a draw in the place of the maximum, and its draws are from the posterior.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import numpy as np

from halfseen.assign import Assign
from halfseen.engine.loop.model import Model, Reduced
from halfseen.engine.services.checkpoint import evaluate
from halfseen.errors import FitError
from halfseen.leaves.limits import Params
from halfseen.seeds import child
from halfseen.sums import Runner, serial

SAMPLE = Assign("sample", latent=True)


def gibbs(
    model: Model, data: Reduced, params: Params, seed: np.random.SeedSequence, runner: Runner = serial
) -> Iterator[Params]:
    """Yield parameters drawn from the posterior, each from the one before, without end; same seed, same bits.

    The first ones depend on the start, `params`: discard a burn-in.
    """
    for number in count():
        [step] = evaluate(model, data, [params], SAMPLE, runner, child(seed, 0), [(number,)])
        if not np.isfinite(step.loglik):
            raise FitError(
                f"Gibbs draw {number}: the log-likelihood is {step.loglik}: the parameters make some row impossible. "
                "Begin with parameters without zeros."
            )
        params = model.draw(model.with_prior(step), step.params, np.random.default_rng(child(seed, 1, number)))
        yield params
