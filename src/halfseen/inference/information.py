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

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halfseen.engine.loop.em import evaluate
from halfseen.engine.loop.model import Model
from halfseen.engine.tables.mixture import Mixture
from halfseen.engine.tables.row_slopes import CELLS, missing_information
from halfseen.errors import FitError
from halfseen.estimators.observed import Observed
from halfseen.leaves.leaf import Floats, Stats
from halfseen.leaves.limits import Params
from halfseen.runners import runner
from halfseen.sums import Runner

STEP = 1e-4  # of a coordinate, to both sides
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
    with runner(n_jobs, len(observed.data.chunks)) as run:
        [step] = evaluate(model, observed.data, [params], runner=run)
        stats = model.with_prior(step)
        moved = [_both(model, at, params, j) for j in range(len(at))]
        complete = _differences([_slopes_of(model, stats, params, both) for both in moved])
        kept = _kept(complete, moved, model.pack(params), model)
        wanted = np.flatnonzero(kept)
        curvature = _by_louis(model, params, observed, complete, kept, run)
        if curvature is None:
            slopes = _slopes(model, observed, [each for j in wanted for each in moved[j]], run)
            curvature = _differences(list(zip(slopes[::2], slopes[1::2], strict=True)), wanted, len(at))
    jacobian = np.zeros((len(shown(params)), len(at)))
    for j in wanted:
        up, down = moved[j]
        jacobian[:, j] = (shown(up) - shown(down)) / (2 * STEP)
    basis = _basis(model, params, moved, kept)
    return Information(
        at,
        kept,
        jacobian,
        basis,
        model.slope(stats, params) @ basis,
        _within(basis, curvature),
        _within(basis, _prior(model, params, moved, wanted, len(at))),
        _within(basis, np.where(kept[:, None] & kept[None], complete, 0.0)),
    )


def _by_louis(
    model: Model, params: Params, observed: Observed, complete: Floats, kept: NDArray[np.bool_], run: Runner
) -> Floats | None:
    """Return the curvature of complete data less the missing information; None where rows have no gradients."""
    if observed.rows is None or not isinstance(model, Mixture):
        return None
    chunks = observed.rows(max(CELLS // len(kept), 1))
    found = missing_information(model, params, chunks, len(kept), run)
    return None if found is None else np.where(kept[:, None] & kept[None], complete - found[0], 0.0)


def _slopes_of(model: Model, stats: Stats, about: Params, both: tuple[Params, Params]) -> tuple[Floats, Floats]:
    """Return the slopes of the same statistics, gathered under `about`, at parameters above and below."""
    up, down = (model.slope(model.recentre(stats, about, each), each) for each in both)
    return up, down


def _both(model: Model, at: Floats, params: Params, j: int) -> tuple[Params, Params]:
    """Return parameters with coordinate j moved up and down."""
    move = np.zeros(len(at))
    move[j] = STEP
    return model.freed(at + move, params), model.freed(at - move, params)


def _kept(complete: Floats, moved: Sequence[tuple[Params, Params]], packed: Floats, model: Model) -> NDArray[np.bool_]:
    """Return which coordinates move to both sides, with enough units behind them."""
    free = [all((model.pack(each) != packed).any() for each in both) for both in moved]
    return np.array(free, dtype=bool) & (np.diagonal(complete) > LEAST)


def _slopes(model: Model, observed: Observed, candidates: Sequence[Params], run: Any) -> list[Floats]:
    """Return the slope of the objective at each candidate, several in each pass."""
    found: list[Floats] = []
    for first in range(0, len(candidates), AT_ONCE):
        steps = evaluate(model, observed.data, candidates[first : first + AT_ONCE], runner=run)
        found += [model.slope(model.with_prior(step), step.params) for step in steps]
    return found


def _differences(pairs: Sequence[tuple[Floats, Floats]], at: NDArray[np.intp] | None = None, size: int = 0) -> Floats:
    """Return minus the derivative of slopes, (P, P), symmetric, from slopes above and below along some coordinates."""
    rows = np.array([(down - up) / (2 * STEP) for up, down in pairs])
    if at is None:
        return (rows + rows.T) / 2
    full = np.zeros((size, size))
    if len(at):
        part = rows[:, at]
        full[np.ix_(at, at)] = (part + part.T) / 2
    return full


def _prior(model: Model, params: Params, moved: Sequence[Any], at: NDArray[np.intp], size: int) -> Floats:
    """Return the curvature of the log-prior."""
    if model.prior(params) is None:
        return np.zeros((size, size))

    def slope(each: Params) -> Floats:
        pseudo = model.prior(each)
        assert pseudo is not None
        return model.slope(pseudo, each)

    return _differences([(slope(up), slope(down)) for up, down in (moved[j] for j in at)], at, size)


def _basis(model: Model, params: Params, moved: Sequence[Any], kept: NDArray[np.bool_]) -> Floats:
    """Return orthonormal directions in which the parameters, as a density sees them, change."""
    packed = np.array(
        [(model.pack(up) - model.pack(down)) / (2 * STEP) for (up, down), free in zip(moved, kept, strict=True) if free]
    ).T
    basis = np.zeros((len(kept), 0))
    if packed.size:
        _, sizes, directions = np.linalg.svd(packed, full_matrices=False)
        basis = np.zeros((len(kept), int((sizes > FLAT * sizes[0]).sum())))
        basis[kept] = directions[: basis.shape[1]].T
    return basis


def _within(basis: Floats, matrix: Floats) -> Floats:
    return basis.T @ matrix @ basis


def outer_products(model: Model, params: Params, observed: Observed, basis: Floats) -> Floats:
    """Return the sum over units of weight times the outer product of scores, (R, R)."""
    total = np.zeros((basis.shape[1], basis.shape[1]))
    done = 0
    for scores in observed.scores(params):
        own = scores @ basis
        total += own.T @ (observed.weight[done : done + len(own), None] * own)
        done += len(own)
    return total


def gain_left(found: Information, keep: Floats) -> float:
    """Return how much the objective would rise by a Newton step within some directions: 1/2 slope' I^-1 slope."""
    slope = keep.T @ found.slope
    return 0.5 * float(slope @ np.linalg.solve(keep.T @ found.curvature @ keep, slope)) if len(slope) else 0.0


def unidentified(found: Information) -> Floats:
    """Return directions (R, F) along which the objective is flat, in units of the curvature of complete data.

    Raises `FitError` where it rises: the parameters are not at a maximum.
    """
    sizes, directions = np.linalg.eigh(found.complete)
    whiten = directions / np.sqrt(np.maximum(sizes, sizes.max(initial=0.0) * 1e-12))
    values, vectors = np.linalg.eigh(whiten.T @ found.curvature @ whiten)
    if values.min(initial=0.0) < -RISES:
        raise FitError(
            "the model is not at a maximum of its objective: there are no standard errors here. Fit with a smaller tol "
            "and a larger max_iter, or with more starts (n_init)."
        )
    return whiten @ vectors[:, values < RANK]
