"""Gradients of the log-likelihood of a mixture row by row, and the information that its hidden components take away.

With r[n, k] the responsibilities and s[n, k] = d log(share[k] p(row n | k)), in the coordinates of `Leaf.free`:

    score of row n         s[n] = sum_k r[n, k] s[n, k]                             (Fisher)
    missing information    sum_n w[n] (sum_k r[n, k] s[n, k] s[n, k]' - s[n] s[n]')    (Louis 1982)

The curvature of the log-likelihood is that of the complete data less the missing information.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from halfseen.assign import SOFT
from halfseen.engine.loop.model import Chunk
from halfseen.engine.tables.mixture import Mixture
from halfseen.engine.tables.pair_sums import pair_products
from halfseen.leaves.leaf import Floats, Slopes, n_rows
from halfseen.leaves.limits import Params
from halfseen.leaves.logit import Logit
from halfseen.sums import Parts, Runner, serial

CELLS = 1 << 21  # of a matrix of gradients at a time: rows of a chunk times coordinates


class RowSlopes(NamedTuple):
    """Gradients of some rows.

    Attributes
    ----------
    weight : (N,) array
    resp : (N, K) array         responsibilities
    slopes : list of Slopes     of each component, its share included
    """

    weight: Floats
    resp: Floats
    slopes: list[Slopes]

    def scores(self, size: int) -> Floats:
        """Return the score of each row, (N, P)."""
        scores = np.zeros((len(self.resp), size))
        for own, resp in zip(self.slopes, self.resp.T, strict=True):
            scores[:, own.at] += resp[:, None] * own.values  # no coordinate of a component is listed twice
        return scores


def row_slopes(model: Mixture, params: Params, prepared: Any, chunk: Chunk) -> RowSlopes | None:
    """Return the gradients of the rows of a chunk; None where a leaf does not know them, or has latent content."""
    emit = model.leaves["emit"]
    first = len(model.leaves["mix"].free(params["mix"]))
    found = []
    for k in range(emit.n_components):
        own = emit.slopes(params["emit"], chunk.blocks, k)
        if own is None:
            return None
        values = np.concatenate([_slopes_of_share(model, params, chunk, k), own.values], axis=1)
        found.append(Slopes(np.concatenate([np.arange(first), first + own.at]), values))
    outer = np.ones((n_rows(chunk.blocks), 1))
    resp = model.infer(prepared, chunk.blocks, outer, SOFT, chunk.log_evidence).usage["emit"]
    return RowSlopes(chunk.weight, resp, found)


def _slopes_of_share(model: Mixture, params: Params, chunk: Chunk, k: int) -> Floats:
    """Return the gradient of the log of a share, (N, P of the shares): of every row, where they depend on the row."""
    leaf = model.leaves["mix"]
    if isinstance(leaf, Logit):
        return leaf.slopes(params["mix"], chunk.blocks, k).values
    share = _slopes_of_shares(model, params)[k]
    return np.broadcast_to(share, (n_rows(chunk.blocks), len(share)))


def _slopes_of_shares(model: Mixture, params: Params) -> Floats:
    """Return the gradient of the log of each share, (K, P of the shares), where it is the same for all rows."""
    leaf = model.leaves["mix"]
    cells = np.eye(int(np.prod(leaf.stats_shape)))
    return np.array([leaf.slope(cell.reshape(leaf.stats_shape), params["mix"]) for cell in cells])


def missing_information(
    model: Mixture, params: Params, chunks: Sequence[Chunk], size: int, run: Runner = serial
) -> tuple[Floats, Floats] | None:
    """Return the missing information and the outer products of scores, (P, P) each, in one pass; None as above."""
    found = None
    if not isinstance(model.leaves["mix"], Logit):
        found = pair_products(model, params, chunks, _slopes_of_shares(model, params), run)
    if found is not None:
        return found[0] - found[1], found[1]
    task = partial(_products, model=model, params=params, prepared=model.prepare(params), size=size)
    try:
        lost, outer = run.total(task, chunks)
    except _NotKnown:
        return None
    return lost - outer, outer


class _NotKnown(Exception):
    """A leaf has no gradients by row."""


def _products(chunk: Chunk, model: Mixture, params: Params, prepared: Any, size: int) -> Parts:
    """Return sum_n w sum_k r s s' and sum_n w s[n] s[n]'."""
    found = row_slopes(model, params, prepared, chunk)
    if found is None:
        raise _NotKnown
    within = np.zeros((size, size))
    for own, resp in zip(found.slopes, found.resp.T, strict=True):
        scaled = np.sqrt(found.weight * resp)[:, None] * own.values
        within[np.ix_(own.at, own.at)] += scaled.T @ scaled
    scaled = np.sqrt(found.weight)[:, None] * found.scores(size)
    return Parts((within, scaled.T @ scaled))
