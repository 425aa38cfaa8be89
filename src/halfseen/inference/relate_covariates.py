"""Covariates of classes that were found before: step three (or two) of a stepwise analysis.

`ml`         log-likelihood of the assigned classes, given their known errors (Vermunt 2010)
`two-step`   log-likelihood of the indicators, with what was fitted of them held fixed (Bakk and Kuha 2018)
`bch`        the logit of the assigned classes, weighted by the inverse of their errors (Bolck et al. 2004)
`naive`      the logit of the assigned classes, as if these were the true ones

Errors are in `assignment`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import log_softmax, logsumexp, softmax

from halfseen.assign import SOFT
from halfseen.errors import FitError
from halfseen.inference.assignment import KNOWN, StepOne, propagated, sandwich
from halfseen.leaves.leaf import Floats
from halfseen.leaves.limits import Params
from halfseen.leaves.logit import BLOCK, Logit

METHODS = ("ml", "bch", "two-step", "naive")
CLOSE = 1e-10  # of a row, for each row: the largest slope at a maximum
PASSES = 5000  # iterations
LEAST = 1e-3  # rows: curvature along a direction below which there is no finite maximum


class Pieces(NamedTuple):
    """Rows as the step reads them: with proportional assignment by `ml` each is split into one for each class.

    Attributes
    ----------
    usage : (M, K) array or None      weights of the classes of each row, where they are given
    evidence : (M, K) array or None   log p(what is known of a row | class), where the class is inferred
    weight : (M,) array
    row : (M,) array of int           the row that each piece belongs to
    """

    usage: Floats | None
    evidence: Floats | None
    weight: Floats
    row: np.ndarray


class Fitted(NamedTuple):
    """Coefficients of the step.

    Attributes
    ----------
    params : (P, K) array            in units of the design, rows sum to 0
    covariance : (P K, P K) array    of these; NaN throughout where there is no finite maximum
    note : str
    """

    params: Floats
    covariance: Floats
    note: str


def pieces(
    step: StepOne, method: str, weight: Floats, params: Params | None = None, table: Floats | None = None
) -> Pieces:
    """Return what a method reads of step 1, under its parameters and classification table, or others."""
    rows = np.arange(len(weight))
    if method == "two-step":
        return Pieces(None, step.joint(params)[0], weight, rows)
    if method == "bch":
        return Pieces(step.bch(params, table), None, weight, rows)
    assigned, table = step.errors(params, table)
    if method == "naive":
        return Pieces(assigned, None, weight, rows)
    n_classes = assigned.shape[1]
    with np.errstate(divide="ignore"):
        log_table = np.log(table)
    if step.modal:
        return Pieces(None, log_table.T[assigned.argmax(axis=1)], weight, rows)
    split = (weight[:, None] * assigned).ravel()
    return Pieces(None, np.tile(log_table.T, (len(weight), 1)), split, np.repeat(rows, n_classes))


def fit_logit(step: StepOne, design: Floats, leaf: Logit, method: str, weight: Floats, propagate: bool) -> Fitted:
    """Return the coefficients by a method, with their covariance."""
    read = pieces(step, method, weight)
    params = _maximum(leaf, design, read, method)
    scores, curvature = _slopes(leaf, design, read, params)
    size = params.size
    contrasts = _contrasts(*params.shape)
    inside = contrasts.T @ curvature @ contrasts
    values = np.linalg.eigvalsh(inside)
    if values[0] < LEAST:
        if method != "naive" and values[0] < -LEAST:
            raise FitError(_indefinite(method))
        note = "covariates separate the classes: a coefficient has no finite estimate, and there are no errors."
        return Fitted(params, np.full((size, size), np.nan), note)
    inverse = contrasts @ np.linalg.inv(inside) @ contrasts.T
    by_row = np.zeros((len(weight), size))
    np.add.at(by_row, read.row, read.weight[:, None] * scores)
    used = weight > 0
    by_row[used] /= weight[used, None]
    if method == "naive" or not propagate:
        return Fitted(params, sandwich(inverse, by_row, weight), KNOWN)

    def slope(other: Params, table: Floats | None) -> Floats:
        moved = pieces(step, method, weight, other, table)
        found, _ = _slopes(leaf, design, moved, params, curve=False)
        total: Floats = moved.weight @ found
        return total

    return Fitted(params, *propagated(inverse, by_row, weight, step, slope, method != "two-step"))


def _indefinite(method: str) -> str:
    other = "" if method == "ml" else " Use method='ml'."
    return f"method={method!r}: the curvature of the step is indefinite, so that there is no maximum.{other}"


def _contrasts(n_covariates: int, n_classes: int) -> Floats:
    """Return an orthonormal basis of coefficients whose rows sum to 0, (P K, P (K - 1))."""
    between = np.linalg.svd(np.eye(n_classes) - 1 / n_classes)[0][:, : n_classes - 1]
    return np.kron(np.eye(n_covariates), between)


def _usage(design: Floats, read: Pieces, params: Floats) -> Floats:
    """Return the weights of the classes of each piece: given, or their posterior."""
    if read.usage is not None:
        return read.usage
    assert read.evidence is not None
    return np.asarray(softmax(design[read.row] @ params + read.evidence, axis=1))


def _value(design: Floats, read: Pieces, params: Floats) -> float:
    """Return the objective of the step."""
    log_p = log_softmax(design[read.row] @ params, axis=1)
    if read.evidence is None:
        assert read.usage is not None
        return float(read.weight @ (read.usage * log_p).sum(axis=1))
    used = read.weight > 0
    return float(read.weight[used] @ logsumexp(log_p + read.evidence, axis=1)[used])


def _maximum(leaf: Logit, design: Floats, read: Pieces, method: str) -> Floats:
    """Return the coefficients: Newton steps of the observed curvature where they raise the objective, else EM steps."""
    params = leaf.blank()
    data = {BLOCK: design[read.row]}
    value = _value(design, read, params)
    total = float(read.weight.sum())
    for _ in range(PASSES):
        usage = read.weight[:, None] * _usage(design, read, params)
        stats = np.zeros(leaf.stats_shape)
        leaf.expect(usage, params, data, SOFT, stats)
        slope = stats[2 : 2 + leaf.n_covariates]
        if np.abs(slope).max() <= CLOSE * total:
            return params
        moved = leaf.maximise(stats, params)
        quicker = None if read.usage is not None else _newton(leaf, design, read, params, slope)
        for each in (quicker, moved):
            if each is not None and np.abs(each).max() < 100 and _value(design, read, each) > value:
                moved = each
                break
        new = _value(design, read, moved)
        if np.abs(moved).max() > 100:
            raise FitError(_unbounded(method))
        if new <= value and np.abs(moved - params).max() < 1e-9:
            return params
        params, value = moved, new
    raise FitError(f"method={method!r}: no maximum was found after {PASSES} iterations.")


def _unbounded(method: str) -> str:
    why = (
        "weights that are negative outweigh the others. Use method='ml'" if method == "bch" else "classes are separated"
    )
    return f"method={method!r}: the coefficients grow without end: {why}."


def _newton(leaf: Logit, design: Floats, read: Pieces, params: Floats, slope: Floats) -> Floats | None:
    """Return the parameters after a full Newton step; None where the curvature is not that of a maximum."""
    _, curvature = _slopes(leaf, design, read, params)
    contrasts = _contrasts(*params.shape)
    inside = contrasts.T @ curvature @ contrasts
    values, vectors = np.linalg.eigh(inside)
    if values[0] <= LEAST:
        return None
    move = contrasts @ (vectors @ ((vectors.T @ (contrasts.T @ slope.ravel())) / values))
    return np.asarray(params + move.reshape(params.shape))


def _slopes(leaf: Logit, design: Floats, read: Pieces, params: Floats, curve: bool = True) -> tuple[Floats, Floats]:
    """Return the score of each piece, (M, P K), without its weight; and the curvature of the objective.

    Of classes that are inferred the curvature is that of the logit less that of the posterior (Louis 1982).
    """
    z = design[read.row]
    p = softmax(z @ params, axis=1)
    usage = _usage(design, read, params)
    total = usage.sum(axis=1, keepdims=True)
    scores = (z[:, :, None] * (usage - total * p)[:, None, :]).reshape(len(z), -1)
    if not curve:
        return scores, np.zeros((0, 0))
    curvature = _spread(z, p, read.weight * total[:, 0])
    if read.usage is None:
        curvature = curvature - _spread(z, usage, read.weight)
    return scores, curvature


def _spread(z: Floats, p: Floats, weight: Floats) -> Floats:
    """Return sum_n w[n] (diag(p[n]) - p[n] p[n]') of each pair of classes, times z[n] z[n]': (P K, P K)."""
    each = (z[:, :, None] * p[:, None, :]).reshape(len(z), -1)
    n_covariates, n_classes = z.shape[1], p.shape[1]
    found = -(each.T @ (weight[:, None] * each))
    view = found.reshape(n_covariates, n_classes, n_covariates, n_classes)
    own = np.einsum("n,np,nq,nk->pqk", weight, z, z, p, optimize=True)
    for k in range(n_classes):
        view[:, k, :, k] += own[:, :, k]
    return found
