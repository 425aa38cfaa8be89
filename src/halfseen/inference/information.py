"""What data say of the parameters of a fitted model: the curvature of the objective, and the scores of units.

Everything is in the coordinates of `Leaf.free`: logits, logs, means in units of their column. They are more than there
are free parameters (a table of probabilities has a logit for each), so that matrices are taken in a basis of the
directions in which the parameters move.

    score of a unit     s[n] = slope(statistics of unit n), by Fisher's identity
    curvature           I = -d slope / d coordinates: of a mixture that of complete data less the missing information,
                        in one pass (Louis 1982); of other models by differences of exact slopes
    outer products      O = sum_n weight[n] s[n] s[n]'

Vocabulary
----------
coordinates   all of `free`, (P,)
kept          those that may move: not fixed, not on a bound or a floor
basis         (P, R) orthonormal directions of the kept coordinates along which parameters change; R free parameters
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from halfseen.engine.loop.em import evaluate
from halfseen.engine.loop.model import Model
from halfseen.engine.tables.mixture import Mixture
from halfseen.engine.tables.row_slopes import CELLS, missing_information
from halfseen.errors import FitError
from halfseen.estimators.observed import Observed
from halfseen.inference.moves import STEP, Moves
from halfseen.leaves.leaf import Floats
from halfseen.leaves.limits import Params
from halfseen.runners import runner
from halfseen.sums import Runner

AT_ONCE = 64  # candidates in a pass
LEAST = 1e-3  # units that must support a coordinate: with fewer it is on the boundary
FLAT = 1e-10  # of the largest change of a parameter: directions in which none changes more
RANK = 1e-6  # least curvature, relative to that of complete data, of what is identified
RISES = 1e-4  # curvature of the other sign, in the same units, that is no rounding


@dataclass(frozen=True)
class Information:
    """The curvature at fitted parameters.

    Attributes
    ----------
    at : (P,) array             coordinates
    kept : (P,) mask            coordinates that may move
    jacobian : (Q, P) array     d shown parameter / d coordinate, zero where not kept
    basis : (P, R) array
    slope : (R,) array          of the objective, in the basis; zero at its maximum
    curvature : (R, R) array    of the objective, in the basis
    prior : (R, R) array        the part of it that comes from the prior
    complete : (R, R) array     curvature if nothing were hidden
    """

    at: Floats
    kept: NDArray[np.bool_]
    jacobian: Floats
    basis: Floats
    slope: Floats
    curvature: Floats
    prior: Floats
    complete: Floats

    @property
    def n_free(self) -> int:
        """Number of free parameters that may move, R."""
        return self.basis.shape[1]


def information(
    model: Model, params: Params, observed: Observed, shown: Callable[[Params], Floats], n_jobs: int | None = None
) -> Information:
    """Return the curvature of the objective at parameters, and how shown parameters depend on the coordinates."""
    at = model.free(params)
    moves = Moves(model, params, at)
    with runner(n_jobs, len(observed.data.chunks)) as run:
        [step] = evaluate(model, observed.data, [params], runner=run)
        stats = model.with_prior(step)
        complete = moves.curvature(lambda each: model.slope(model.recentre(stats, params, each), each))
        packed = moves.jacobian(model.pack)
        kept = packed.any(axis=0) & moves.to_both_sides() & (np.diagonal(complete) > LEAST)
        both = kept[:, None] & kept[None]
        curvature = _by_louis(model, params, observed, complete, run)
        if curvature is None:
            curvature = _by_differences(model, params, at, observed, np.flatnonzero(kept), run)
    basis = _basis(packed, kept, moves.groups)
    return Information(
        at,
        kept,
        np.where(kept, moves.jacobian(shown), 0.0),
        basis,
        model.slope(stats, params) @ basis,
        _within(basis, np.where(both, curvature, 0.0)),
        _within(basis, np.where(both, _prior(model, params, moves), 0.0)),
        _within(basis, np.where(both, complete, 0.0)),
    )


def _by_louis(model: Model, params: Params, observed: Observed, complete: Floats, run: Runner) -> Floats | None:
    """Return the curvature of complete data less the missing information; None where rows have no gradients."""
    if observed.rows is None or not isinstance(model, Mixture):
        return None
    chunks = observed.rows(max(CELLS // len(complete), 1))
    found = missing_information(model, params, chunks, len(complete), run)
    return None if found is None else complete - found[0]


def _by_differences(
    model: Model, params: Params, at: Floats, observed: Observed, wanted: NDArray[np.intp], run: Runner
) -> Floats:
    """Return minus the differences of exact slopes along the wanted coordinates, several in each pass."""
    candidates = [model.freed(at + side * STEP * unit, params) for unit in np.eye(len(at))[wanted] for side in (1, -1)]
    slopes: list[Floats] = []
    for first in range(0, len(candidates), AT_ONCE):
        steps = evaluate(model, observed.data, candidates[first : first + AT_ONCE], runner=run)
        slopes += [model.slope(model.with_prior(step), step.params) for step in steps]
    full = np.zeros((len(at), len(at)))
    if len(wanted):
        part = (np.array(slopes[1::2]) - np.array(slopes[::2]))[:, wanted] / (2 * STEP)
        full[np.ix_(wanted, wanted)] = (part + part.T) / 2
    return full


def _prior(model: Model, params: Params, moves: Moves) -> Floats:
    """Return the curvature of the log-prior."""
    if model.prior(params) is None:
        return np.zeros((len(moves.groups), len(moves.groups)))

    def slope(each: Params) -> Floats:
        pseudo = model.prior(each)
        assert pseudo is not None
        return model.slope(pseudo, each)

    return moves.curvature(slope)


def _basis(packed: Floats, kept: NDArray[np.bool_], groups: NDArray[np.intp]) -> Floats:
    """Return orthonormal directions in which the parameters, as a density sees them, change."""
    found = []
    for g in np.unique(groups[kept]):
        own = np.flatnonzero(kept & (groups == g))
        part = packed[:, own]
        found.append((own, *np.linalg.svd(part[part.any(axis=1)], full_matrices=False)[1:]))
    largest = max((sizes.max(initial=0.0) for _, sizes, _ in found), default=0.0)
    columns = []
    for own, sizes, directions in found:
        for direction in directions[sizes > FLAT * largest]:
            column = np.zeros(len(kept))
            column[own] = direction
            columns.append(column)
    return np.array(columns).T if columns else np.zeros((len(kept), 0))


def _within(basis: Floats, matrix: Floats) -> Floats:
    """Return basis' matrix basis; most of a basis is zero."""
    few = sparse.csc_array(basis)
    return np.asarray((few.T @ (few.T @ matrix).T).T)


def outer_products(model: Model, params: Params, observed: Observed, basis: Floats) -> Floats:
    """Return the sum over units of weight times the outer product of scores, (R, R)."""
    total = np.zeros((basis.shape[1], basis.shape[1]))
    done = 0
    for scores in observed.scores(params):
        own = scores @ basis
        total += own.T @ (observed.weight[done : done + len(own), None] * own)
        done += len(own)
    return total


def gain_left(found: Information, keep: Floats | None) -> float:
    """Return how much the objective would rise by a Newton step, within some directions: 1/2 slope' I^-1 slope."""
    slope = found.slope if keep is None else keep.T @ found.slope
    return 0.5 * float(slope @ np.linalg.solve(within(found.curvature, keep), slope)) if len(slope) else 0.0


def within(matrix: Floats, keep: Floats | None) -> Floats:
    """Return a matrix in some directions; None for all."""
    return matrix if keep is None else keep.T @ matrix @ keep


def unidentified(found: Information) -> Floats:
    """Return directions (R, F) along which the objective is flat, in units of the curvature of complete data.

    Raises `FitError` where it rises: the parameters are not at a maximum.
    """
    if _positive(found.curvature - RANK * found.complete):
        return np.zeros((found.n_free, 0))
    sizes, directions = np.linalg.eigh(found.complete)
    whiten = directions / np.sqrt(np.maximum(sizes, sizes.max(initial=0.0) * 1e-12))
    values, vectors = np.linalg.eigh(whiten.T @ found.curvature @ whiten)
    if values.min(initial=0.0) < -RISES:
        raise FitError(
            "the model is not at a maximum of its objective: there are no standard errors here. Fit with a smaller tol "
            "and a larger max_iter, or with more starts (n_init)."
        )
    return whiten @ vectors[:, values < RANK]


def _positive(matrix: Floats) -> bool:
    """Whether a symmetric matrix is positive definite."""
    try:
        np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return False
    return True
