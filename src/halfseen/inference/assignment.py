"""Classes of a fitted model assigned to rows, and how often an assignment is wrong: what three-step methods start from.

    posterior           r[n, k] = p(class k | row n)
    assignment          w[n, j]: 1 for the most probable class (modal), or r[n, j] itself (proportional)
    classification      d[k, j] = p(assigned to j | class k) = sum_n r[n, k] w[n, j] / sum_n r[n, k]
    BCH weights         v[n, :] = w[n, :] d^-1, which sum to 1 over the classes, and may be negative

All of it depends on the parameters t of step 1, and so do the estimates of the last step. With A the curvature of the
last step and s[n] the score of row n in it, S the covariance and u[n] the score in step 1, C the derivative of the last
slope in t (and likewise for the classification table, a mean over rows), errors of stacked estimating equations are

    covariance = A^-1 (sum_n w[n] e[n] e[n]') A^-1,    e[n] = s[n] + C S u[n]

Bakk, Oberski and Vermunt (2014) add the parts without their covariance.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import log_softmax

from halfseen.assign import SOFT
from halfseen.data import Table
from halfseen.errors import DataError, FitError, HalfseenError, ParameterError
from halfseen.estimators.observed import observed_rows
from halfseen.estimators.table.table_mixture import TableMixture
from halfseen.inference.information import information, unidentified
from halfseen.leaves.leaf import Floats
from halfseen.leaves.limits import Params

WORST = 1e8  # condition of the classification table beyond which it cannot be inverted
STEP = 1e-4  # of a coordinate of the parameters of step 1, and of a share of the classification table
MOST = 500  # free parameters of step 1 whose uncertainty is carried on

KNOWN = "The classes of step 1 are taken as known in the errors."

Slope = Callable[[Params, Floats | None], Floats]


@dataclass(frozen=True, eq=False)
class StepOne:
    """A fitted model and its rows.

    Attributes
    ----------
    model : fitted LatentClass or GaussianMixture
    table : Table          the rows in their order; those in which nothing is observed have weight 0
    modal : bool           whether rows are assigned to their most probable class, or in proportion
    """

    model: TableMixture
    table: Table
    modal: bool

    @property
    def weight(self) -> Floats:
        """Weights of the rows, (N,)."""
        return self.table.weight

    def joint(self, params: Params | None = None) -> tuple[Floats, Floats]:
        """Return log p(cells | class) and the log-posterior of each class, (N, K) each."""
        engine = self.model._model
        params = self.model._params if params is None else params
        prepared = engine.prepare(params)
        emit = np.concatenate(
            [engine.leaves["emit"].score(prepared["emit"], chunk.blocks, SOFT) for chunk in self.table.chunks()]
        )
        shares = np.reshape(engine.leaves["mix"].score(prepared["mix"], None, SOFT), -1)
        return emit, log_softmax(emit + shares, axis=1)

    @cached_property
    def _modal(self) -> Any:
        return self.joint()[1].argmax(axis=1)

    def assigned(self, posterior: Floats) -> Floats:
        """Return the assignment of each row, (N, K); the most probable class is that of the fitted parameters."""
        return np.eye(posterior.shape[1])[self._modal] if self.modal else posterior

    def classification(self, posterior: Floats, assigned: Floats) -> Floats:
        """Return p(assigned to j | class k), (K, K)."""
        weighted = self.weight[:, None] * posterior
        table: Floats = weighted.T @ assigned / weighted.sum(axis=0)[:, None]
        return table

    def errors(self, params: Params | None, table: Floats | None) -> tuple[Floats, Floats]:
        """Return the assignment, (N, K), and the classification table, unless it is given."""
        posterior = np.exp(self.joint(params)[1])
        assigned = self.assigned(posterior)
        return assigned, self.classification(posterior, assigned) if table is None else table

    def bch(self, params: Params | None = None, table: Floats | None = None) -> Floats:
        """Return BCH weights, (N, K)."""
        assigned, table = self.errors(params, table)
        if np.linalg.cond(table) > WORST:
            raise FitError(
                "the classification table cannot be inverted: some class is hardly ever assigned. Use method='ml', "
                "assign='proportional', or fewer classes."
            )
        return np.asarray(assigned @ np.linalg.inv(table))

    # ---- uncertainty -------------------------------------------------------------------------------------------------

    @cached_property
    def _uncertain(self) -> tuple[Floats, Floats]:
        """Directions of the coordinates of step 1, (P, R), and the covariance of the estimates along them."""
        engine, params = self.model._model, self.model._params
        if engine.n_free() > MOST:
            raise FitError(f"step 1 has {engine.n_free():,} free parameters, more than {MOST}")
        observed = observed_rows(engine, self.table)
        found = information(engine, params, observed, engine.pack, getattr(self.model, "n_jobs", None))
        flat = unidentified(found)
        keep = np.eye(found.n_free)
        if flat.shape[1]:
            keep = np.linalg.qr(flat, mode="complete")[0][:, flat.shape[1] :]
        covariance = np.asarray(np.linalg.inv(keep.T @ found.curvature @ keep), dtype=np.float64)
        return found.basis @ keep, covariance

    def carried(self, slope: Slope, with_table: bool) -> Floats:
        """Return what each row adds to a slope of the last step through step 1, (N, Q), for one unit of its weight.

        That is (row's score in step 1) S C' for the parameters, S their covariance and C the derivative of the slope;
        and likewise for the classification table, a mean over rows.
        """
        engine, params = self.model._model, self.model._params
        directions, covariance = self._uncertain
        at = engine.free(params)
        changes = [
            (slope(engine.freed(at + STEP * way, params), None) - slope(engine.freed(at - STEP * way, params), None))
            / (2 * STEP)
            for way in directions.T
        ]
        observed = observed_rows(engine, self.table, apart=True)
        scores = np.concatenate(list(observed.scores(params))) @ directions
        found = np.zeros((len(self.weight), len(changes[0])))
        found[observed.place >= 0] = scores @ covariance @ np.array(changes)
        return found + self._of_table(slope) if with_table else found

    def _of_table(self, slope: Slope) -> Floats:
        """Return the part that comes from the classification table."""
        posterior = np.exp(self.joint()[1])
        assigned = self.assigned(posterior)
        table = self.classification(posterior, assigned)
        mass = self.weight @ posterior
        scores = (posterior / mass)[:, :, None] * (assigned[:, None, :] - table)
        changes = []
        for cell in np.ndindex(table.shape):
            move = np.zeros(table.shape)
            move[cell] = STEP * table[cell]
            if not move[cell]:  # never assigned so: on its boundary
                changes.append(np.zeros(len(slope(self.model._params, table))))
                continue
            up, down = slope(self.model._params, table + move), slope(self.model._params, table - move)
            changes.append((up - down) / (2 * move[cell]))
        found: Floats = scores.reshape(len(scores), -1) @ np.array(changes)
        return found


def step_one(model: Any, X: Any, sample_weight: Any, assign: str) -> StepOne:
    """Return a fitted model and its rows, checked."""
    if not isinstance(model, TableMixture) or hasattr(model, "classes_"):
        raise ParameterError(
            f"relate: {type(model).__name__} has no latent classes. Use LatentClass or GaussianMixture."
        )
    if getattr(model, "_membership", None) is not None:
        raise ParameterError(
            "relate: the classes of this model depend on covariates already: hs.coefficients shows how. Fit the "
            "classes without covariates to relate them afterwards."
        )
    model._check_probable("relate")
    if len(model.weights_) < 2:
        raise ParameterError("relate: the model has one class. There is nothing to relate.")
    table = model._encode(X, sample_weight)
    blank = table.blank
    if blank.any():
        table = replace(table, weight=np.where(blank, 0.0, table.weight))
    if not table.weight.any():
        raise DataError("relate: no row of weight above 0 has an observed cell.")
    return StepOne(model, table, assign == "modal")


def sandwich(inverse: Floats, scores: Floats, weight: Floats) -> Floats:
    """Return A^-1 (sum_n w[n] s[n] s[n]') A^-1."""
    middle = scores.T @ (weight[:, None] * scores)
    found: Floats = inverse @ middle @ inverse
    return found


def propagated(
    inverse: Floats, scores: Floats, weight: Floats, step: StepOne, slope: Slope, with_table: bool
) -> tuple[Floats, str]:
    """Return the covariance of the estimates of the last step, and a sentence on what it contains.

    Parameters
    ----------
    inverse : (Q, Q) array     inverse curvature of the last step
    scores : (N, Q) array      scores of rows in it, for one unit of their weight
    weight : (N,) array        weights of rows in it: those of step 1, or 0
    slope : callable           its slope at the estimates, given parameters of step 1 and a classification table
    with_table : bool          whether it depends on that table
    """
    try:
        carried = step.carried(slope, with_table)
    except (HalfseenError, np.linalg.LinAlgError) as error:
        said = str(error).rstrip(".")
        note = f"The uncertainty of step 1 is not in the errors: {said}."
        return sandwich(inverse, scores, weight), note
    both = np.where(weight[:, None] > 0, scores, 0.0) + carried
    return sandwich(inverse, both, step.weight), "The uncertainty of step 1 is in the errors."
