"""Standard errors and intervals of the parameters of a fitted model."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, field
from inspect import signature
from typing import Any

import numpy as np
from scipy.special import expit, logit
from scipy.stats import norm
from sklearn.utils.validation import check_is_fitted

from halfseen.data import Source, frame_from_dict
from halfseen.errors import DataError, FitError, ParameterError
from halfseen.estimators import options
from halfseen.estimators.named_parameters import Bounds, NamedParameters
from halfseen.inference.information import LEAST, Information, gain_left, information, outer_products, unidentified
from halfseen.leaves.leaf import Floats
from halfseen.leaves.limits import Params

KINDS = ("hessian", "opg", "robust")
MOST = 2000  # free parameters
LEFT = 0.01  # what a Newton step may add to the objective; a fit with the default tol leaves 1e-8
NEAR = 1e-6  # of a bound: a parameter that is on it
SHOWN = 4  # digits


@dataclass(frozen=True, eq=False)
class StandardErrors:
    """Estimates with their standard errors and intervals.

    Attributes
    ----------
    kind : "hessian", "opg" or "robust"
    level : float                 probability of the intervals
    labels : dict                 columns that name each parameter
    estimate : (Q,) array
    se, low, high : (Q,) array    NaN where `note` says why
    note : list of str            "boundary", "fixed" or "not identified" in place of a number, else empty
    covariance : (Q, Q) array     of the estimates
    """

    kind: str
    level: float
    labels: dict[str, list[Any]]
    estimate: Floats
    se: Floats
    low: Floats
    high: Floats
    note: list[str]
    covariance: Floats = field(repr=False)
    template: Source | None = field(default=None, repr=False)

    def to_frame(self) -> Any:
        """Return a table: a row for each parameter, with estimate, se, low, high and note."""
        numbers = {"estimate": self.estimate.tolist()}
        for name in ("se", "low", "high"):
            found = getattr(self, name)
            numbers[name] = [None if gone else value for value, gone in zip(found.tolist(), self.note, strict=True)]
        return frame_from_dict({**self.labels, **numbers, "note": list(self.note)}, self.template)

    def __str__(self) -> str:
        header = [*self.labels, "estimate", "se", "low", "high"]
        rows = [header]
        for i, said in enumerate(self.note):
            names = [str(column[i]) for column in self.labels.values()]
            figures = [said, "", ""] if said else [_digits(array[i]) for array in (self.se, self.low, self.high)]
            rows.append([*names, _digits(self.estimate[i]), *figures])
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        n_names = len(self.labels)
        return "\n".join(
            "  ".join(
                cell.ljust(width) if j < n_names else cell.rjust(width)
                for j, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in rows
        )


def _digits(value: float) -> str:
    return f"{value:.{SHOWN}f}" if 1e-3 <= abs(value) < 1e5 or value == 0 else f"{value:.{SHOWN - 1}e}"


def standard_errors(model: Any, X: Any, kind: str = "hessian", *, level: float = 0.95, **how: Any) -> StandardErrors:
    """Return standard errors and intervals of all parameters of a fitted model.

    The model must be at the maximum of its objective for these data: give those of the fit. After a fit with a prior
    the curvature of the prior is included, and errors are those of the posterior mode; published errors are usually of
    maximum likelihood, `prior=None`. Intervals of shares are computed on the scale of logits, those of positive
    parameters on that of logs, so that they stay within their range.

    Parameters
    ----------
    model : fitted LatentClass, GaussianMixture, NaiveBayes, GaussianClassifier, HMM, BayesNet or PCFG
    X : data of the fit
    kind : {"hessian", "opg", "robust"}, default "hessian"
        "hessian": the inverse curvature of the log-likelihood. "opg": the inverse sum of outer products of the scores
        of units (rows, sequences, sentences), as poLCA. "robust": the sandwich of both, valid also where the model is
        wrong. The last two need more units than there are free parameters.
    level : float, default 0.95
        Probability of the intervals.
    how :
        How the data are read, as in `fit`: `sample_weight` and `labels` (`y` of a classifier) of a table; `lengths`,
        `groups` and `time` of sequences.

    Returns
    -------
    StandardErrors
        Its `to_frame()` is a table; printed it is one too.

    Examples
    --------
    >>> import halfseen as hs
    >>> X = [["yes"]] * 30 + [["no"]] * 70
    >>> model = hs.LatentClass(1, prior=None).fit(X)
    >>> print(hs.standard_errors(model, X))  # se = sqrt(0.3 * 0.7 / 100)
    column   value  class    estimate        se     low    high
    (share)         class 0    1.0000  boundary
    x0       no     class 0    0.7000    0.0458  0.6034  0.7816
    x0       yes    class 0    0.3000    0.0458  0.2184  0.3966
    """
    options.one_of("kind", kind, KINDS)
    alpha = 1 - options.number("level", level, 0, 1)
    if not hasattr(model, "_named_parameters"):
        raise ParameterError(
            f"{type(model).__name__} has no standard errors. They are for LatentClass, GaussianMixture, NaiveBayes, "
            "GaussianClassifier, HMM, BayesNet and PCFG."
        )
    check_is_fitted(model)
    _check_size(model)
    _check_reading(model, how)
    observed = model._observed(X, **how)
    if not observed.n_units:
        raise DataError("nothing is observed in these data: there are no standard errors.")
    model = getattr(model, "_inferred", lambda: model)()  # with covariates the model that knows them
    named: NamedParameters = model._named_parameters()

    def shown(params: Params) -> Floats:
        other = copy(model)
        other._params = params
        values: Floats = other._named_parameters().values
        return values

    found = information(model._model, model._params, observed, shown, getattr(model, "n_jobs", None))
    flat = unidentified(found)
    keep = _complement(flat, found)
    _check_maximum(gain_left(found, keep))
    outer = None
    if kind != "hessian":
        if observed.n_units <= found.n_free:
            raise FitError(
                f"kind={kind!r} needs more units than the {found.n_free} free parameters; there are "
                f'{observed.n_units:g}. Use kind="hessian".'
            )
        outer = outer_products(model._model, model._params, observed, found.basis)
    covariance = _covariance(found, outer, kind, keep)
    return _result(kind, level, alpha, named, covariance, _notes(named, found, flat, covariance), model)


def _check_size(model: Any) -> None:
    if model.n_parameters_ > MOST:
        raise ParameterError(
            f"{model.n_parameters_:,} free parameters: standard errors are for at most {MOST:,}. Use fewer columns, "
            "categories or words."
        )


def _check_reading(model: Any, how: Mapping[str, Any]) -> None:
    """Refuse arguments that do not say how the data of this model are read."""
    known = [name for name in signature(model._observed).parameters if name not in ("X", "sentences")]
    for name in how:
        if name not in known:
            raise ParameterError(f"{name}= is not known for a {type(model).__name__}. It takes {', '.join(known)}.")


def _check_maximum(gain: float) -> None:
    """Refuse parameters that are not at the maximum of the objective for the data."""
    if gain > LEFT:
        raise FitError(
            f"the objective is not at its maximum for these data: it would rise by about {gain:.2g}. Give the data, "
            "weights and labels of the fit; a fit by hard or sampled assignment, or one that did not converge, has no "
            "standard errors."
        )


def _covariance(found: Information, outer: Floats | None, kind: str, keep: Floats) -> Floats:
    """Return the covariance of the shown parameters; along flat directions nothing is known, and nothing is added."""
    curvature = keep.T @ found.curvature @ keep
    if outer is None:
        inside = np.linalg.inv(curvature)
    elif kind == "opg":
        inside = np.linalg.inv(keep.T @ (outer + found.prior) @ keep)
    else:
        inverse = np.linalg.inv(curvature)
        inside = inverse @ keep.T @ outer @ keep @ inverse
    into = found.jacobian @ found.basis @ keep
    covariance: Floats = into @ inside @ into.T
    return covariance


def _complement(flat: Floats, found: Information) -> Floats:
    """Return a basis of the directions that are not flat."""
    if not flat.shape[1]:
        return np.eye(found.n_free)
    directions, _ = np.linalg.qr(flat, mode="complete")
    return directions[:, flat.shape[1] :]


def _notes(named: NamedParameters, found: Information, flat: Floats, covariance: Floats) -> list[str]:
    """Return why a parameter has no standard error; empty where it has one."""
    moves = found.jacobian @ found.basis
    size = np.linalg.norm(moves, axis=1)
    lost = np.linalg.norm(moves @ flat, axis=1) > 1e-6 * size if flat.shape[1] else np.zeros(len(size), dtype=bool)
    sizes, directions = np.linalg.eigh(found.complete)
    without_end = np.linalg.norm(moves @ directions[:, sizes < LEAST], axis=1) > 0.1 * size  # too few units behind it
    numbers = zip(named.values, named.bounds, lost, without_end, np.diagonal(covariance), strict=True)
    return [
        "boundary" if endless and not np.isfinite(bounds).any() else _note(value, bounds, bool(gone), float(var))
        for value, bounds, gone, endless, var in numbers
    ]


def _note(value: float, bounds: Bounds, lost: bool, var: float) -> str:
    if any(np.isfinite(bound) and abs(value - bound) <= NEAR for bound in bounds):
        return "boundary"
    if lost:
        return "not identified"
    return "" if var > 0 else "fixed"


def _result(
    kind: str, level: float, alpha: float, named: NamedParameters, covariance: Floats, note: list[str], model: Any
) -> StandardErrors:
    gone = np.array([bool(said) for said in note])
    se = np.where(gone, np.nan, np.sqrt(np.maximum(np.diagonal(covariance), 0.0)))
    low, high = np.full(len(se), np.nan), np.full(len(se), np.nan)
    far = float(norm.ppf(1 - alpha / 2))
    for i in np.flatnonzero(~gone):
        low[i], high[i] = interval(float(named.values[i]), float(se[i]) * far, named.bounds[i])
    return StandardErrors(
        kind, level, named.labels, named.values, se, low, high, note, covariance, getattr(model, "_template", None)
    )


def interval(value: float, width: float, bounds: Bounds) -> tuple[float, float]:
    """Return an interval inside the bounds: on the scale of logits or logs, by the delta method.

    Examples
    --------
    >>> interval(0.5, 0.1, (0.0, 1.0)), interval(2.0, 1.0, (-np.inf, np.inf))
    ((0.4013..., 0.5986...), (1.0, 3.0))
    """
    low, high = bounds
    if np.isfinite(low) and np.isfinite(high):
        share = (value - low) / (high - low)
        half = width / (high - low) / (share * (1 - share))
        ends = expit(logit(share) + np.array([-half, half]))
        return float(low + ends[0] * (high - low)), float(low + ends[1] * (high - low))
    if np.isfinite(low):
        half = width / (value - low)
        return float(low + (value - low) * np.exp(-half)), float(low + (value - low) * np.exp(half))
    return value - width, value + width
