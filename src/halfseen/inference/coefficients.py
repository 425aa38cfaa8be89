"""Coefficients of covariates on class membership, with errors: log-odds, z, p, odds ratios with intervals.

log p(class k | z) / p(reference | z) = b[k] . z,    odds ratio exp(b[k]),    z = b / se,    p two-sided normal
Wald test of a covariate over all classes: W = b' V^-1 b, chi-square with a degree of freedom for each coefficient
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from halfseen.data import Source, frame_from_dict
from halfseen.errors import FitError, ParameterError
from halfseen.estimators import options
from halfseen.inference.standard_errors import standard_errors
from halfseen.leaves.leaf import Floats

MEMBERSHIP = "(membership)"


@dataclass(frozen=True)
class WaldTest:
    """A test that some coefficients, or differences of figures, are all 0.

    Attributes
    ----------
    name : str            what is tested
    statistic : float     chi-square
    df : int              degrees of freedom
    p : float
    """

    name: str
    statistic: float
    df: int
    p: float

    def __str__(self) -> str:
        return f"{self.name}: Wald {_number(self.statistic, '.2f')}, df {self.df}, p {shown_p(self.p)}"


def wald(name: str, values: Floats, covariance: Floats) -> WaldTest:
    """Return the test that `values` are all 0; NaN where their covariance is not known."""
    from scipy.stats import chi2

    if not np.isfinite(covariance).all() or not len(values):
        return WaldTest(name, float("nan"), len(values), float("nan"))
    sizes = np.linalg.eigvalsh(covariance)
    if sizes[0] <= 1e-12 * max(sizes[-1], 0.0):
        return WaldTest(name, float("nan"), len(values), float("nan"))
    found = float(values @ np.linalg.solve(covariance, values))
    return WaldTest(name, found, len(values), float(chi2.sf(found, len(values))))


@dataclass(frozen=True, eq=False)
class Coefficients:
    """Coefficients of a multinomial logit.

    Attributes
    ----------
    classes : tuple of str          classes but for the reference
    reference : str                 the class that others are compared with
    covariates : tuple of str       "(intercept)" and the columns of the design
    estimate, se : (C, P) arrays    log-odds of a class against the reference; NaN where there is no error
    covariance : (C P, C P) array   of the estimates, classes one after the other
    kind : str                      what the errors are
    level : float                   probability of the intervals
    tests : list of WaldTest        of each covariate over all classes
    """

    classes: tuple[str, ...]
    reference: str
    covariates: tuple[str, ...]
    estimate: Floats
    covariance: Floats = field(repr=False)
    kind: str
    level: float
    tests: list[WaldTest]
    note: str = ""
    template: Source | None = field(default=None, repr=False)

    @property
    def se(self) -> Floats:
        """Standard errors, (C, P)."""
        found: Floats = np.sqrt(np.diagonal(self.covariance)).reshape(self.estimate.shape)
        return found

    def _columns(self) -> dict[str, list[Any]]:
        from scipy.stats import norm

        n_classes, n_covariates = self.estimate.shape
        far = float(norm.ppf((1 + self.level) / 2)) * self.se
        with np.errstate(divide="ignore", invalid="ignore"):
            z = self.estimate / self.se
        ends = {
            "odds_ratio": np.exp(self.estimate),
            "low": np.exp(self.estimate - far),
            "high": np.exp(self.estimate + far),
        }
        numbers = {"estimate": self.estimate, "se": self.se, "z": z, "p": 2 * norm.sf(np.abs(z)), **ends}
        return {
            "class": [name for name in self.classes for _ in range(n_covariates)],
            "covariate": list(self.covariates) * n_classes,
            **{name: np.ravel(values).tolist() for name, values in numbers.items()},
        }

    def to_frame(self) -> Any:
        """Return a table: estimate, se, z, p, odds_ratio and its interval (low, high) of each coefficient."""
        return frame_from_dict(self._columns(), self.template)

    def __str__(self) -> str:
        columns = self._columns()
        head = ["class", "covariate", "estimate", "se", "z", "p", "odds ratio", "low", "high"]
        rows = [head]
        for cells in zip(*columns.values(), strict=True):
            name, covariate, estimate, se, z, p, ratio, low, high = cells
            shown = [_number(estimate, ".4f"), _number(se, ".4f"), _number(z, ".2f"), shown_p(p)]
            rows.append([str(name), str(covariate), *shown, *(_number(value, ".4g") for value in (ratio, low, high))])
        lines = [
            f"log-odds against {self.reference}; {self.kind} errors; {100 * self.level:g}% intervals of odds ratios"
        ]
        return "\n".join([*lines, *aligned(rows, 2), *map(str, self.tests), *([self.note] if self.note else [])])


def _number(value: float, digits: str) -> str:
    return "-" if np.isnan(value) else format(value, digits)


def shown_p(p: float) -> str:
    """Return a p-value in words or four digits."""
    return "-" if np.isnan(p) else "<.0001" if p < 1e-4 else f"{p:.4f}"


def aligned(rows: Sequence[Sequence[str]], n_words: int) -> list[str]:
    """Return rows of cells as lines; the first `n_words` columns are words, the others numbers."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if j < n_words else cell.rjust(width)
            for j, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def against(values: Floats, covariance: Floats, reference: int) -> tuple[Floats, Floats]:
    """Return coefficients (K, P), with their covariance (K P, K P), as differences from a class, which is left out."""
    n_classes, n_covariates = values.shape
    others = [k for k in range(n_classes) if k != reference]
    change = np.zeros((len(others), n_classes))
    change[np.arange(len(others)), others] = 1.0
    change[:, reference] = -1.0
    whole = np.kron(change, np.eye(n_covariates))
    return change @ values, whole @ covariance @ whole.T


def wald_tests(estimate: Floats, covariance: Floats, terms: Mapping[str, Sequence[int]]) -> list[WaldTest]:
    """Return the test of each term, some columns of the design, over all classes."""
    n_classes, n_covariates = estimate.shape
    found = []
    for name, columns in terms.items():
        at = [k * n_covariates + p for k in range(n_classes) for p in columns]
        found.append(wald(name, np.ravel(estimate)[at], covariance[np.ix_(at, at)]))
    return found


def coefficients(
    model: Any, X: Any, kind: str | None = None, *, reference: Any = 0, level: float = 0.95, **how: Any
) -> Coefficients:
    """Return the coefficients of covariates on class membership, with errors and odds ratios.

    Parameters
    ----------
    model : LatentClass or GaussianMixture, fitted with covariates
    X : data of the fit
    kind : {"hessian", "opg", "robust"}, optional
        As in `standard_errors`: "hessian" by default.
    reference : name or number of a class, default 0
        The class that the others are compared with; 0 is the largest.
    level : float, default 0.95
        Probability of the intervals.
    how :
        As in the fit: `covariates`, unless they are columns of `X`; `missing`, `sample_weight`, `labels`. Also `strata`
        and `cluster`.

    Examples
    --------
    >>> import halfseen as hs
    >>> columns = ["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"]
    >>> penguins = hs.load_penguins()[columns].dropna()
    >>> model = hs.LatentClass(2, random_state=0).fit(penguins, covariates="body_mass_g")
    >>> found = hs.coefficients(model, penguins)
    >>> found.tests[0].df
    1
    """
    member = getattr(model, "_membership", None)
    if member is None:
        raise ParameterError("coefficients: the model was fitted without covariates. Fit it with covariates=.")
    options.number("level", level, 0, 1)
    if len(model.class_names_) < 2:
        raise ParameterError("coefficients: there is one class, whose share depends on nothing.")
    at = model._reference(reference)
    separated = member.separation()
    try:
        errors = standard_errors(model, X, kind, **how)
    except FitError as error:
        raise FitError(f"{error} ({separated}.)" if separated else str(error)) from None
    chosen = np.array([name == MEMBERSHIP for name in errors.labels["column"]])
    n_classes, names = len(model.class_names_), ("(intercept)", *member.design.names)
    place = np.flatnonzero(chosen).reshape(len(names), n_classes).T  # errors list classes within covariates
    values, covariance = errors.estimate[place], errors.covariance[np.ix_(place.ravel(), place.ravel())]
    lost = np.array([said in ("not identified", "boundary") for said in errors.note])[place]
    estimate, own = against(values, covariance, at)
    own = np.where(_pairs(lost, at), np.nan, own)
    return Coefficients(
        tuple(name for k, name in enumerate(model.class_names_) if k != at),
        model.class_names_[at],
        names,
        estimate,
        own,
        errors.kind,
        level,
        wald_tests(estimate, own, member.design.terms),
        f"{separated}." if separated else "",
        getattr(model, "_template", None),
    )


def _pairs(lost: Any, reference: int) -> Any:
    """Return which entries of a covariance are unknown, given which coefficients (K, P) are."""
    others = np.delete(lost | lost[reference], reference, axis=0).ravel()
    return others[:, None] | others[None]
