"""Standard errors and intervals of the parameters of a fitted model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass, field
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import expit, logit, ndtri, stdtrit
from sklearn.utils.validation import check_is_fitted

from halfseen.data import Source, frame_from_dict
from halfseen.data.named_columns import taken_out
from halfseen.errors import DataError, FitError, ParameterError
from halfseen.estimators import options
from halfseen.estimators.named_parameters import Bounds, NamedParameters
from halfseen.estimators.observed import Observed
from halfseen.estimators.publication import Line, Panel, PaperTable
from halfseen.estimators.publication.of_model import number
from halfseen.inference.design import Design, read_design
from halfseen.inference.information import (
    LEAST,
    Information,
    gain_left,
    information,
    outer_products,
    unidentified,
    within,
)
from halfseen.leaves.leaf import Floats
from halfseen.leaves.limits import Params
from halfseen.leaves.wrappers import any_frozen

KINDS = ("hessian", "opg", "robust", "bootstrap")
MOST = 2000  # free parameters
LEFT = 0.01  # what a Newton step may add to the objective; a fit with the default tol leaves 1e-8
NEAR = 1e-6  # of a bound: a parameter that is on it
SHOWN = 4  # digits


@dataclass(frozen=True, eq=False)
class StandardErrors:
    """Estimates with their standard errors and intervals.

    Attributes
    ----------
    kind : "hessian", "opg", "robust" or "bootstrap"
    level : float                 probability of the intervals
    labels : dict                 columns that name each parameter
    estimate : (Q,) array
    se, low, high : (Q,) array    NaN where `note` says why
    note : list of str            "boundary", "fixed" or "not identified" in place of a number, else empty
    covariance : (Q, Q) array     of the estimates
    design : Design or None       strata and clusters
    effect : (Q,) array or None   design effects: variances over those of a simple random sample of as many units
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
    design: Design | None = field(default=None, repr=False)
    effect: Floats | None = field(default=None, repr=False)

    def to_frame(self) -> Any:
        """Return a table: a row for each parameter, with estimate, se, low, high, note, and deff of a design."""
        numbers = {"estimate": self.estimate.tolist()}
        for name in ("se", "low", "high"):
            found = getattr(self, name)
            numbers[name] = [None if gone else value for value, gone in zip(found.tolist(), self.note, strict=True)]
        if self.effect is not None:
            shown = zip(self.effect.tolist(), self.note, strict=True)
            numbers["deff"] = [None if gone else value for value, gone in shown]
        return frame_from_dict({**self.labels, **numbers, "note": list(self.note)}, self.template)

    def table(self, digits: int = 3) -> PaperTable:
        """Return the estimates as a table for a paper: a line for each parameter. `model.table(errors)` is shorter."""
        lines: list[Line] = []
        names = list(zip(*self.labels.values(), strict=True))
        for i, name in enumerate(names):
            if i == 0 or name[0] != names[i - 1][0]:
                lines.append(Line(str(name[0])))
            figures = (
                [self.note[i], "", ""] if self.note[i] else [self._shown(i, at, digits) for at in ("se", "low", "high")]
            )
            label = ", ".join(str(part) for part in name[1:] if str(part))
            lines.append(Line(label, (self._shown(i, "estimate", digits), *figures), True))
        percent = f"{100 * self.level:g} %"
        panel = Panel(("Estimate", "SE", f"{percent} low", f"{percent} high"), tuple(lines))
        return PaperTable("Parameters with standard errors", (panel,), (), (f"Standard errors: {self.kind}.",))

    def _shown(self, i: int, what: str, digits: int) -> str:
        """Return a number with the digits that its standard error deserves."""
        size = self.se[i] if not self.note[i] else abs(self.estimate[i])
        decimals = digits if not 0 < size < np.inf else max(digits - 1 - int(np.floor(np.log10(size))), 0)
        return number(float(getattr(self, what)[i]), min(decimals, digits + 2))

    def cells(self) -> list[list[str]]:
        """Return the table as text: a header, then a row for each parameter."""
        arrays = [self.se, self.low, self.high]
        header = [*self.labels, "estimate", "se", "low", "high"]
        if self.effect is not None:
            arrays.append(self.effect)
            header.append("deff")
        rows = [header]
        for i, said in enumerate(self.note):
            names = [str(column[i]) for column in self.labels.values()]
            figures = [said, *[""] * (len(arrays) - 1)] if said else [_digits(array[i]) for array in arrays]
            rows.append([*names, _digits(self.estimate[i]), *figures])
        return rows

    def __str__(self) -> str:
        rows = self.cells()
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


def standard_errors(
    model: Any,
    X: Any,
    kind: str | None = None,
    *,
    strata: Any = None,
    cluster: Any = None,
    level: float = 0.95,
    **how: Any,
) -> StandardErrors:
    """Return standard errors and intervals of all parameters of a fitted model.

    The model must be at the maximum of its objective for these data: give those of the fit. After a fit with a prior
    the curvature of the prior is included, and errors are those of the posterior mode; published errors are usually of
    maximum likelihood, `prior=None`. Intervals of shares are computed on the scale of logits, those of positive
    parameters on that of logs, so that they stay within their range.

    Parameters
    ----------
    model : fitted LatentClass, GaussianMixture, NaiveBayes, GaussianClassifier, HMM, BayesNet or PCFG
    X : data of the fit
    kind : {"hessian", "opg", "robust", "bootstrap"}, default "hessian"; "robust" where there is a design
        "hessian": the inverse curvature of the log-likelihood. "opg": the inverse sum of outer products of the scores
        of units (rows, sequences, sentences), as poLCA. "robust": the sandwich of both, valid also where the model is
        wrong. These two need more units than there are free parameters. With `strata`, `cluster` or survey weights
        (`weight_kind="survey"`) errors are linearised, which is the robust kind for such a sample. "bootstrap": by
        refits to units drawn with replacement (`hs.bootstrap`, which has more choices), with percentile intervals; it
        takes `draws` (500), `n_jobs` and `random_state`.
    strata, cluster : (N,) array or name of a column of X, optional
        Stratum and cluster (primary sampling unit) of each unit; clusters lie within strata. Clusters are taken as
        drawn with replacement; intervals use t with clusters less strata degrees of freedom.
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
    if kind is not None:
        options.one_of("kind", kind, KINDS)
    options.number("level", level, 0, 1)
    if kind == "bootstrap":
        return _by_bootstrap(model, X, level, strata, cluster, how)
    if not hasattr(model, "_named_parameters"):
        raise ParameterError(
            f"{type(model).__name__} has no standard errors. They are for LatentClass, GaussianMixture, NaiveBayes, "
            "GaussianClassifier, HMM, BayesNet and PCFG."
        )
    check_is_fitted(model)
    _check_size(model)
    _check_reading(model, how)
    X, marks = taken_out(X, {"strata": strata, "cluster": cluster})
    weighted = getattr(model, "weight_kind", "frequency") == "survey"
    designed = weighted or strata is not None or cluster is not None
    kind = _checked_kind(kind, designed)
    observed = model._observed(X, **how, **({"apart": True} if designed and _keeps_rows(model) else {}))
    if not observed.n_units:
        raise DataError("nothing is observed in these data: there are no standard errors.")
    model = getattr(model, "_inferred", lambda: model)()  # with covariates the model that knows them
    design = read_design(marks["strata"], marks["cluster"], observed.given) if designed else None
    named: NamedParameters = model._named_parameters()

    def shown(params: Params) -> Floats:
        other = copy(model)
        other._params = params
        values: Floats = other._named_parameters().values
        return values

    found = information(model._model, model._params, observed, shown, getattr(model, "n_jobs", None))
    flat = unidentified(found)
    keep = _complement(flat)
    _check_maximum(gain_left(found, keep))
    outer = _outer(model, observed, found, kind, design)
    covariance = _covariance(found, outer, kind, keep)
    notes = _notes(named, found, flat, covariance, _held(model, shown))
    plain = None if design is None else _covariance(found, None, "hessian", keep) * _drawn(observed)
    return _result(kind, level, named, covariance, notes, model, design, plain)


def _by_bootstrap(
    model: Any, X: Any, level: float, strata: Any, cluster: Any, how: Mapping[str, Any]
) -> StandardErrors:
    """Return standard errors by refits."""
    from halfseen.inference.bootstrap import bootstrap

    if strata is not None or cluster is not None:
        raise ParameterError(
            'kind="bootstrap" draws units independently: it takes no strata and no clusters. Use kind="robust".'
        )
    return bootstrap(model, X, level=level, **how).errors()


def _checked_kind(kind: str | None, designed: bool) -> str:
    """Return the kind of errors; of a designed sample there is one."""
    if kind in ("hessian", "opg") and designed:
        raise ParameterError(
            f'kind={kind!r} takes units as drawn independently, each as often as its weight says. Use kind="robust" '
            "with strata, clusters or survey weights."
        )
    return kind or ("robust" if designed else "hessian")


def _keeps_rows(model: Any) -> bool:
    """Whether rows are merged unless they are asked for apart."""
    return "apart" in signature(model._observed).parameters


def _outer(model: Any, observed: Observed, found: Information, kind: str, design: Design | None) -> Floats | None:
    """Return the variance of the sum of scores, by units or by the design; None where none is asked for."""
    if kind == "hessian":
        return None
    if design is not None:
        return design.variance(observed, model._params, found.basis)
    if observed.n_units <= found.n_free:
        raise FitError(
            f"kind={kind!r} needs more units than the {found.n_free} free parameters; there are "
            f'{observed.n_units:g}. Use kind="hessian".'
        )
    return outer_products(model._model, model._params, observed, found.basis)


def _drawn(observed: Observed) -> float:
    """Return the mean weight: the inverse curvature times it is the variance in a simple sample of as many units."""
    used = observed.place >= 0
    return float(observed.given[used].sum() / np.count_nonzero(used))


def _check_size(model: Any) -> None:
    if model.n_parameters_ > MOST:
        raise ParameterError(
            f"{model.n_parameters_:,} free parameters: standard errors by formula are for at most {MOST:,}. Use "
            'kind="bootstrap", or fewer columns, categories or words.'
        )


def _check_reading(model: Any, how: Mapping[str, Any]) -> None:
    """Refuse arguments that do not say how the data of this model are read."""
    known = [name for name in signature(model._observed).parameters if name not in ("X", "sentences", "apart")]
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


def _covariance(found: Information, outer: Floats | None, kind: str, keep: Floats | None) -> Floats:
    """Return the covariance of the shown parameters; along flat directions nothing is known, and nothing is added."""
    curvature = within(found.curvature, keep)
    if outer is None:
        inside = np.linalg.inv(curvature)
    elif kind == "opg":
        inside = np.linalg.inv(within(outer + found.prior, keep))
    else:
        inverse = np.linalg.inv(curvature)
        inside = inverse @ within(outer, keep) @ inverse
    into = sparse.csr_array(found.jacobian) @ found.basis
    into = into if keep is None else into @ keep
    covariance: Floats = into @ inside @ into.T
    return covariance


def _complement(flat: Floats) -> Floats | None:
    """Return a basis of the directions that are not flat; None for all of them."""
    if not flat.shape[1]:
        return None
    directions, _ = np.linalg.qr(flat, mode="complete")
    return directions[:, flat.shape[1] :]


def _held(model: Any, shown: Callable[[Params], Floats]) -> NDArray[np.bool_]:
    """Return which of the shown parameters are fixed: they stay as they are where all that is free is moved."""
    own, blank = model._params, model._model.blank()
    if not any_frozen(model._model):
        return np.zeros(len(shown(own)), dtype=bool)
    return shown(model._model.conform(blank, own)) == shown(own)


def _notes(
    named: NamedParameters, found: Information, flat: Floats, covariance: Floats, held: NDArray[np.bool_]
) -> list[str]:
    """Return why a parameter has no standard error; empty where it has one."""
    moves = found.jacobian @ found.basis
    size = np.linalg.norm(moves, axis=1)
    lost = np.linalg.norm(moves @ flat, axis=1) > 1e-6 * size if flat.shape[1] else np.zeros(len(size), dtype=bool)
    sizes, directions = np.linalg.eigh(found.complete)
    without_end = np.linalg.norm(moves @ directions[:, sizes < LEAST], axis=1) > 0.1 * size  # too few units behind it
    numbers = zip(named.values, named.bounds, lost, without_end, np.diagonal(covariance), held, strict=True)
    return [
        _note(value, bounds, bool(gone), float(var), bool(endless), bool(fixed))
        for value, bounds, gone, endless, var, fixed in numbers
    ]


def _note(value: float, bounds: Bounds, lost: bool, var: float, endless: bool, fixed: bool) -> str:
    if fixed and var == 0:
        return "fixed"
    if endless and not np.isfinite(bounds).any():
        return "boundary"
    if any(np.isfinite(bound) and abs(value - bound) <= NEAR for bound in bounds):
        return "boundary"
    if lost:
        return "not identified"
    return "" if var > 0 else "fixed"


def _result(
    kind: str,
    level: float,
    named: NamedParameters,
    covariance: Floats,
    note: list[str],
    model: Any,
    design: Design | None = None,
    plain: Floats | None = None,
) -> StandardErrors:
    gone = np.array([bool(said) for said in note])
    se = np.where(gone, np.nan, np.sqrt(np.maximum(np.diagonal(covariance), 0.0)))
    low, high = np.full(len(se), np.nan), np.full(len(se), np.nan)
    tail = (1 - level) / 2
    far = -float(ndtri(tail) if design is None else stdtrit(design.freedom, tail))
    for i in np.flatnonzero(~gone):
        low[i], high[i] = interval(float(named.values[i]), float(se[i]) * far, named.bounds[i])
    effect = None
    if plain is not None:
        effect = np.divide(np.diagonal(covariance), np.diagonal(plain), out=np.full(len(se), np.nan), where=~gone)
    template = getattr(model, "_template", None)
    return StandardErrors(
        kind, level, named.labels, named.values, se, low, high, note, covariance, template, design, effect
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
