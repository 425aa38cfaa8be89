"""Class membership that depends on covariates: the part of a fitted mixture that knows them.

A mixture fitted with covariates is two models over the same classes: the one that was fitted, whose mixing weights are
a logit of the covariates (`Membership`), and the *marginal* one, whose weights are the mean of the fitted shares over
the rows of the fit. The marginal one answers where covariates are not given, and is what tables and plots of the
classes show.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy.special import softmax

from halfseen.data import Design
from halfseen.engine.loop.expected import Step
from halfseen.engine.loop.model import Model
from halfseen.engine.tables.mixture import Mixture
from halfseen.errors import ParameterError
from halfseen.estimators.state import check_shapes
from halfseen.estimators.table.emission_builder import Recipe
from halfseen.leaves.leaf import Floats, Stats, frozen
from halfseen.leaves.limits import Params
from halfseen.leaves.logit import Logit

LEAST = 1e-3  # rows: the curvature along a direction of the coefficients below which there is no finite maximum
MOVED = 0.5  # log-odds for a standard deviation of a covariate, by which the prior moves a coefficient that rests on it


class Membership(NamedTuple):
    """A mixture whose weights depend on covariates, as fitted.

    Attributes
    ----------
    recipe : Recipe           what the model is built from
    model : Mixture           with a `Logit` as its mixing weights
    coefficients : (P, K)     parameters of the logit
    curvature : (P K, P K)    of the expected log-likelihood in them, over the rows of the fit
    """

    recipe: Recipe
    model: Mixture
    coefficients: Floats
    curvature: Floats

    @property
    def design(self) -> Design:
        """How covariates are read."""
        assert self.recipe.design is not None
        return self.recipe.design

    def params(self, marginal_params: Params) -> Params:
        """Return the parameters of the model, given those of the marginal one."""
        return {"mix": self.coefficients, "emit": marginal_params["emit"]}

    def stats(self, marginal_stats: Mapping[str, Stats]) -> Stats:
        """Return statistics of the model in which only those of the columns, which both models share, are filled."""
        found = np.zeros(self.model.stats_shape)
        self.model.view(found)["emit"][:] = marginal_stats["emit"]
        return found

    def reordered(self, places: Any) -> Membership:
        """Return it with classes in another order."""
        size, width = self.coefficients.shape
        curvature = self.curvature.reshape(size, width, size, width)[:, places][:, :, :, places]
        return self._replace(
            coefficients=self.model.leaves["mix"].take(self.coefficients, places),
            curvature=curvature.reshape(self.curvature.shape),
        )

    def separation(self) -> str | None:
        """Return a coefficient without a finite estimate, or one that rests on the prior, in words; None: all have one.

        Along some direction of the coefficients the log-likelihood then rises without end: a covariate tells the
        classes of some rows with certainty.
        """
        leaf = self.model.leaves["mix"]
        assert isinstance(leaf, Logit)
        size, width = self.coefficients.shape
        if width == 1:
            return None
        contrasts = np.linalg.svd(np.eye(width) - 1 / width)[0][:, : width - 1]
        basis = np.kron(np.eye(size), contrasts)
        values, vectors = np.linalg.eigh(basis.T @ self.curvature @ basis)
        pseudo = leaf.prior(self.coefficients)
        if pseudo is None:
            if values[0] >= LEAST:
                return None
            return (
                f"{self._called(basis @ vectors[:, 0])} has no finite estimate: covariates separate the classes, and "
                "the likelihood rises as it grows. Use a prior, fewer classes, or leave the covariate out"
            )
        # at the mode the slopes of likelihood and prior cancel: the Newton step that the likelihood alone would make
        slope = vectors.T @ (basis.T @ -leaf.slope(pseudo, self.coefficients))
        move = basis @ (vectors @ (slope / np.maximum(values, LEAST)))
        if np.ptp(move.reshape(size, width), axis=1).max() < MOVED:
            return None
        return f"{self._called(move)} rests on the prior more than on the data: covariates nearly separate the classes"

    def _called(self, direction: Floats) -> str:
        """Name the coefficient that a direction moves most; an intercept only if no covariate moves."""
        moved = np.abs(direction.reshape(self.coefficients.shape))
        p, k = np.unravel_index(moved[1:].argmax(), moved[1:].shape)
        if moved[1 + p, k] < 0.1 * moved.max():
            return f"the intercept of class {moved[0].argmax()}"
        return f"the coefficient of {self.design.names[p]} for class {k}"


def found(fitted: Any) -> Membership | None:
    """Return the membership of a fit; None where it had no covariates."""
    if fitted.recipe.design is None:
        return None
    leaf, stats = fitted.model.leaves["mix"], fitted.model.view(fitted.stats)["mix"]
    return Membership(fitted.recipe, fitted.model, fitted.params["mix"], leaf.curvature(stats))


def without_covariates(fitted: Any) -> tuple[Mixture, Params, Stats]:
    """Return the marginal model of a fit, its parameters and statistics; the fit's own where it had no covariates."""
    if fitted.recipe.design is None:
        return fitted.model, fitted.params, fitted.stats
    model = fitted.recipe._replace(design=None).model()
    parts = fitted.model.view(fitted.stats)
    mean = fitted.model.leaves["mix"].shares(parts["mix"])
    params = {"mix": frozen(mean[None]), "emit": fitted.params["emit"]}
    return model, params, np.concatenate([parts["mix"][0], np.ravel(parts["emit"])])


def shares(model: Model, step: Step) -> Floats:
    """Return the shares of the classes in a step: with covariates, the mean over the rows."""
    leaf = model.leaves["mix"]
    if isinstance(leaf, Logit):
        return leaf.shares(model.view(step.expected.stats)["mix"])
    found: Floats = step.params["mix"][0]
    return found


def marginal(params: Params) -> Params:
    """Return parameters with shares in place of coefficients: those of a row with average covariates."""
    if len(params["mix"]) == 1:
        return params
    return {"mix": frozen(softmax(params["mix"][:1], axis=1)), "emit": params["emit"]}


def begun(model: Mixture, params: Params) -> Params:
    """Return starting parameters: shares become intercepts where weights depend on covariates."""
    leaf = model.leaves["mix"]
    if not isinstance(leaf, Logit) or params["mix"].shape == leaf.blank().shape:
        return params
    return {"mix": leaf.from_shares(params["mix"][0]), "emit": params["emit"]}


# ---- in a model file ---------------------------------------------------------------------------------------------

ARRAYS = tuple(f"covariates/{name}" for name in ("coefficients", "curvature", "centre", "spread", "largest"))


def arrays(member: Membership) -> dict[str, Floats]:
    """Return the arrays of a membership by name."""
    design = member.design
    found = (member.coefficients, member.curvature, design.centre, design.spread, design.largest)
    return dict(zip(ARRAYS, found, strict=True))


def read(recipe: Recipe, record: Mapping[str, Any], tensors: Mapping[str, Floats]) -> Membership:
    """Return the membership of a model file; refuse what cannot be one."""
    lost = [name for name in ARRAYS if name not in tensors]
    if lost:
        raise ParameterError(f"array {lost[0]!r} is missing.")
    coefficients, curvature, centre, spread, largest = (tensors[name] for name in ARRAYS)
    if not all(array.ndim == 1 for array in (centre, spread, largest)):
        raise ParameterError("covariates: means and spreads have a wrong shape.")
    design = Design.read(record, centre, spread, largest)
    own = recipe._replace(design=design)
    size = design.n_columns * recipe.n_components
    check_shapes(
        {name: tensors[name] for name in ARRAYS[:2]},
        {ARRAYS[0]: (design.n_columns, recipe.n_components), ARRAYS[1]: (size, size)},
    )
    return Membership(own, own.model(), frozen(coefficients), curvature)
