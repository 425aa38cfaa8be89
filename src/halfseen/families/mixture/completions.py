"""The joint table of a few rows: every way to complete all of them at once, with its probability.

EM never builds it: the rows are independent, so that summed over the other rows it gives the responsibilities. This is
the one number of `explain` that is computed in another way, and is there to be compared.
"""

from __future__ import annotations

from itertools import product
from typing import Any, NamedTuple

import numpy as np
from scipy.special import logsumexp

from halfseen.assign import SOFT
from halfseen.engine.loop.model import Chunk
from halfseen.engine.tables.mixture import Mixture
from halfseen.errors import FitError
from halfseen.leaves.leaf import Floats
from halfseen.leaves.limits import Params

MOST_HIDDEN, MOST_COMPLETIONS = 12, 4096  # the largest joint table: rows, and lines
AGREE = 1e-9  # marginals of the joint table and responsibilities differ by rounding only


class Completion(NamedTuple):
    """A line of the joint table: a class for every row, P(rows, classes) and P(classes given the rows)."""

    components: tuple[int, ...]
    joint: float
    posterior: float


def joint_table(model: Mixture, chunk: Chunk, params: Params) -> list[Completion] | None:
    """Return every completion of all rows with its probability; None where there are too many, or rows have weights.

    joint(z) = prod_n p(x[n], z[n]);  posterior(z) = joint(z) / sum over z of joint(z)
    """
    log_p = model.joint(model.prepare(params), chunk.blocks, chunk.log_evidence)
    n_rows, n_components = log_p.shape
    if n_rows > MOST_HIDDEN or n_components**n_rows > MOST_COMPLETIONS or not np.all(chunk.weight == 1):
        return None
    completions = np.array(list(product(range(n_components), repeat=n_rows)))
    logs = log_p[np.arange(n_rows), completions].sum(axis=1)
    posterior = np.exp(logs - logsumexp(logs))
    _check_marginals(model, chunk, params, completions, posterior)
    lines = zip(completions.tolist(), np.exp(logs).tolist(), posterior.tolist(), strict=True)
    return [Completion(tuple(components), joint, share) for components, joint, share in lines]


def _check_marginals(model: Mixture, chunk: Chunk, params: Params, completions: Any, posterior: Floats) -> None:
    """Compare what the joint table says of each row with the responsibilities that EM uses."""
    outer = np.ones((len(chunk.weight), 1))
    resp = model.infer(model.prepare(params), chunk.blocks, outer, SOFT, chunk.log_evidence).usage["emit"]
    marginals = np.stack([posterior @ (completions == k) for k in range(resp.shape[1])], axis=1)
    if not np.allclose(marginals, resp, rtol=0, atol=AGREE):
        row = int(np.abs(marginals - resp).max(axis=1).argmax())
        raise FitError(
            f"row {row}: the joint table gives {marginals[row]}, the E-step {resp[row]}. This is a bug: please report "
            "it with the data and the parameters."
        )
