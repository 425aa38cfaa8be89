"""Relate the classes of a fitted model to other variables: stepwise analyses with corrected errors.

Classes are found first (step 1), rows are assigned to them (step 2), and the assigned classes are related to covariates
that explain them or to outcomes that follow from them (step 3). Assignments have errors, which dilute every relation;
`ml` and `bch` correct for them, `two-step` needs no assignment, `naive` does not correct.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from halfseen.data import Design, Source, frame_from_dict, read
from halfseen.data.covariate_formula import variables_of
from halfseen.data.design import missing_rows, part, read_covariates, refuse_missing
from halfseen.errors import DataError, HalfseenWarning, ParameterError, warn
from halfseen.estimators import options
from halfseen.inference.assignment import StepOne, step_one
from halfseen.inference.coefficients import Coefficients, WaldTest, against, aligned, shown_p, wald, wald_tests
from halfseen.inference.relate_covariates import METHODS, fit_logit
from halfseen.inference.relate_outcomes import Measured, measure, read_outcomes
from halfseen.inference.standard_errors import interval
from halfseen.leaves.leaf import Floats
from halfseen.leaves.logit import Logit

ASSIGN = ("modal", "proportional")


@dataclass(frozen=True, eq=False)
class RelatedOutcome:
    """An outcome in the classes of a model.

    Attributes
    ----------
    name : str
    levels : tuple or None               categories; None for a number, whose mean is estimated
    estimate, se, low, high : (K, V)     means (V = 1), or shares of the categories
    covariance : (K V, K V) array        of the estimates
    n_rows : float                       rows with the outcome, weighted
    test : WaldTest                      that all classes are equal
    pairs : list of WaldTest             that two classes are equal
    """

    name: str
    levels: tuple[Any, ...] | None
    classes: tuple[str, ...]
    estimate: Floats
    se: Floats
    low: Floats
    high: Floats
    covariance: Floats = field(repr=False)
    n_rows: float
    test: WaldTest
    pairs: list[WaldTest]
    note: str

    @classmethod
    def of(cls, found: Measured, classes: tuple[str, ...], level: float) -> RelatedOutcome:
        """Return the outcome with intervals and tests."""
        from scipy.stats import norm

        shape = found.estimate.shape
        se = np.sqrt(np.maximum(np.diagonal(found.covariance), 0.0)).reshape(shape)
        far = float(norm.ppf((1 + level) / 2))
        bounds = (-np.inf, np.inf) if found.levels is None else (0.0, 1.0)
        ends = np.array([_ends(v, far * s, bounds) for v, s in zip(found.estimate.ravel(), se.ravel(), strict=True)])
        se = np.where(np.isnan(ends[:, 0]).reshape(shape), np.nan, se)  # on a boundary there is none
        every = [(k, j) for k, j in combinations(range(shape[0]), 2)]
        return cls(
            found.name,
            found.levels,
            classes,
            found.estimate,
            se,
            ends[:, 0].reshape(shape),
            ends[:, 1].reshape(shape),
            found.covariance,
            found.n_rows,
            _equal(found, [(0, k) for k in range(1, shape[0])], found.name),
            [_equal(found, [(k, j)], f"{classes[k]} = {classes[j]}") for k, j in every],
            found.note,
        )

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each class, or for each category and class."""
        return [
            {
                "outcome": self.name,
                "value": "mean" if self.levels is None else str(self.levels[v]),
                "class": name,
                **{key: float(getattr(self, key)[k, v]) for key in ("estimate", "se", "low", "high")},
            }
            for v in range(self.estimate.shape[1])
            for k, name in enumerate(self.classes)
        ]


def _ends(value: float, width: float, bounds: tuple[float, float]) -> tuple[float, float]:
    if any(np.isfinite(bound) and abs(value - bound) <= 1e-9 for bound in bounds):
        return float("nan"), float("nan")
    return interval(float(value), float(width), bounds)


def _equal(found: Measured, pairs: Sequence[tuple[int, int]], name: str) -> WaldTest:
    """Return the test that classes are equal; of shares, in all categories but the first."""
    n_classes, n_values = found.estimate.shape
    first = 0 if found.levels is None else 1
    change = np.zeros((len(pairs) * (n_values - first), n_classes * n_values))
    i = 0
    for k, j in pairs:
        for v in range(first, n_values):
            change[i, k * n_values + v], change[i, j * n_values + v] = 1.0, -1.0
            i += 1
    return wald(name, change @ found.estimate.ravel(), change @ found.covariance @ change.T)


@dataclass(frozen=True, eq=False)
class Related:
    """Classes related to covariates or outcomes.

    Attributes
    ----------
    method, assign : str                  how
    coefficients : Coefficients or None   of covariates
    outcomes : list of RelatedOutcome
    classification : (K, K) array         p(assigned to class j | class k)
    n_rows : float                        rows of the last step, weighted
    n_dropped : int                       rows left out because a covariate is missing
    notes : list of str
    """

    method: str
    assign: str
    level: float
    coefficients: Coefficients | None
    outcomes: list[RelatedOutcome]
    classification: Floats
    n_rows: float
    n_dropped: int
    notes: list[str]
    template: Source | None = field(default=None, repr=False)

    @property
    def tests(self) -> list[WaldTest]:
        """Wald tests: of each covariate over all classes, or of each outcome that all classes are equal."""
        return self.coefficients.tests if self.coefficients is not None else [each.test for each in self.outcomes]

    def to_frame(self) -> Any:
        """Return the estimates as a table."""
        if self.coefficients is not None:
            return self.coefficients.to_frame()
        rows = [row for outcome in self.outcomes for row in outcome.rows()]
        return frame_from_dict({name: [row[name] for row in rows] for name in rows[0]}, self.template)

    def to_dict(self) -> dict[str, Any]:
        """Return all figures as plain values."""
        found: dict[str, Any] = {"method": self.method, "assign": self.assign, "n": self.n_rows, "notes": self.notes}
        tests = [test.__dict__ for test in self.tests]
        if self.coefficients is not None:
            columns = self.coefficients._columns()
            rows = [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]
            return {**found, "reference": self.coefficients.reference, "coefficients": rows, "tests": tests}
        rows = [row for outcome in self.outcomes for row in outcome.rows()]
        pairs = [{"outcome": outcome.name, **test.__dict__} for outcome in self.outcomes for test in outcome.pairs]
        return {**found, "outcomes": rows, "tests": tests, "pairs": pairs}

    def __str__(self) -> str:
        first = f"method {self.method}, {self.assign} assignment, N {self.n_rows:,.10g}"
        lines = [first if self.method != "two-step" else f"method two-step, N {self.n_rows:,.10g}"]
        if self.coefficients is not None:
            lines.append(str(self.coefficients))
        for outcome in self.outcomes:
            rows = [["outcome", "value", "class", "estimate", "se", "low", "high"]]
            for row in outcome.rows():
                numbers = [
                    "-" if np.isnan(row[key]) else f"{row[key]:.4f}" for key in ("estimate", "se", "low", "high")
                ]
                rows.append([row["outcome"], row["value"], row["class"], *numbers])
            lines += aligned(rows, 3)
            lines.append(f"all classes equal: {str(outcome.test).partition(': ')[2]}")
            if len(outcome.pairs) > 1:
                lines += [f"  {test.name}: Wald {test.statistic:.2f}, p {shown_p(test.p)}" for test in outcome.pairs]
        return "\n".join([*lines, *self.notes])


def relate(
    model: Any,
    X: Any,
    *,
    covariates: Any = None,
    outcomes: Any = None,
    method: str | None = None,
    assign: str = "modal",
    reference: Any = 0,
    columns: Mapping[str | int, str] | None = None,
    missing: str = "error",
    sample_weight: ArrayLike | None = None,
    propagate: bool = True,
    level: float = 0.95,
) -> Related:
    """Relate the classes of a fitted model to covariates or outcomes, with errors that know assignments may be wrong.

    Parameters
    ----------
    model : LatentClass or GaussianMixture, fitted without covariates
    X : data of the fit
        It may have the columns of covariates or outcomes too, if these are given by name.
    covariates : table or str, optional
        What may explain the classes: a table, or a formula over columns of `X`, as in `LatentClass.fit`.
    outcomes : table, str or list of str, optional
        What may follow from the classes: a table, or columns of `X`. Of numbers the mean in each class is estimated, of
        categories (text, or at most 12 whole numbers; see `columns`) the shares.
    method : {"ml", "bch", "two-step", "naive"}, optional
        "ml" (default for covariates) and "bch" (default for outcomes) correct for errors of assignment; "two-step"
        keeps the classes fixed and needs no assignment; "naive" takes the assigned classes for the true ones, which
        makes relations too weak, and warns.
    assign : {"modal", "proportional"}, default "modal"
        Assign every row to its most probable class, or in proportion to the probabilities.
    reference : name or number of a class, default 0
        The class that coefficients are compared with.
    columns : mapping, optional
        Kinds of outcomes by name: {"grade": "gaussian"} for the mean of a number with few values.
    missing : {"error", "drop"}, default "error"
        Whether rows with a missing covariate are refused or left out. Rows that lack an outcome are left out for it.
    sample_weight : (N,) array, optional
    propagate : bool, default True
        Whether the uncertainty of step 1 is part of the errors, which then come from the estimating equations of both
        steps. Without it they are those of the last step alone, by the sandwich over rows.
    level : float, default 0.95
        Probability of intervals.

    Returns
    -------
    Related
        Printed, a table with tests; `to_frame()`, `coefficients`, `outcomes`, `tests`.

    Examples
    --------
    >>> import halfseen as hs
    >>> votes = hs.load_votes()[["el_salvador_aid", "mx_missile", "education_spending", "crime"]].dropna()
    >>> model = hs.LatentClass(2, prior=None, random_state=0).fit(votes)
    >>> party = hs.load_votes().loc[votes.index, ["party"]]
    >>> found = hs.relate(model, votes, outcomes=party, method="ml")
    >>> found.outcomes[0].estimate.round(2)
    array([[0.24, 0.76],
           [0.96, 0.04]])
    """
    if (covariates is None) == (outcomes is None):
        raise ParameterError("relate: give either covariates= or outcomes=.")
    method = ("ml" if outcomes is None else "bch") if method is None else options.one_of("method", method, METHODS)
    options.one_of("assign", assign, ASSIGN)
    options.one_of("missing", missing, ("error", "drop"))
    options.number("level", level, 0, 1)
    options.flag("propagate", propagate)
    if method == "naive":
        warn(
            "method='naive' takes assigned classes for the true ones: relations come out too weak, and errors too "
            "small. Use method='ml' or 'bch'.",
            HalfseenWarning,
        )
    if covariates is not None:
        if columns is not None:
            raise ParameterError("columns= are kinds of outcomes; covariates take C(name) in a formula.")
        X, source, formula = _read_covariates(X, covariates)
        step = step_one(model, X, sample_weight, assign)
        return _to_covariates(step, source, formula, method, reference, missing, propagate, level)
    X, source = _read_outcomes(X, outcomes)
    step = step_one(model, X, sample_weight, assign)
    return _to_outcomes(step, source, method, columns, propagate, level)


def _read_covariates(X: Any, covariates: Any) -> tuple[Any, Source, str | None]:
    if isinstance(covariates, str):
        rest, found = part(X, variables_of(covariates)[0])
        assert found is not None
        return rest, found, covariates
    return X, read_covariates(covariates, read(X, counts=True).n_rows), None


def _read_outcomes(X: Any, outcomes: Any) -> tuple[Any, Source]:
    if isinstance(outcomes, str):
        outcomes = [outcomes]
    if isinstance(outcomes, list) and outcomes and all(isinstance(name, str) for name in outcomes):
        n_rows = len(X) if hasattr(X, "__len__") else -1
        if len(outcomes) != n_rows:
            try:
                rest, found = part(X, outcomes)
            except (DataError, ParameterError) as error:
                raise type(error)(str(error).replace("covariates:", "outcomes:")) from None
            assert found is not None
            return rest, found
    try:
        return X, read_covariates(outcomes, read(X, counts=True).n_rows)
    except DataError as error:
        raise DataError(str(error).replace("covariates", "outcomes")) from None


def _to_covariates(
    step: StepOne,
    source: Source,
    formula: str | None,
    method: str,
    reference: Any,
    missing: str,
    propagate: bool,
    level: float,
) -> Related:
    model: Any = step.model
    at = model._reference(reference)
    lacking = missing_rows(source)
    if missing == "error":
        refuse_missing(source, lacking, step.weight, "Fill them, leave these rows out, or use missing='drop'.")
    weight = np.where(lacking, 0.0, step.weight)
    if not weight.any():
        raise DataError("covariates: every row has a missing one. Nothing is left.")
    design = Design.learn(source, weight, formula)
    n_classes = len(model.weights_)
    matrix = design.matrix(source, weight == 0)
    found = fit_logit(step, matrix, Logit(n_classes, design.largest), method, weight, propagate)
    change = _in_units(design, n_classes)
    values = design.coefficients(found.params).T  # (K, P)
    covariance = change @ found.covariance @ change.T
    estimate, own = against(values, covariance, at)
    coefficients = Coefficients(
        tuple(name for k, name in enumerate(model.class_names_) if k != at),
        model.class_names_[at],
        ("(intercept)", *design.names),
        estimate,
        own,
        "sandwich",
        level,
        wald_tests(estimate, own, design.terms),
        "",
        model._template,
    )
    n_dropped = int((lacking & (step.weight > 0)).sum())
    notes = [found.note] + ([f"{n_dropped:,} rows with a missing covariate were left out."] if n_dropped else [])
    return _related(step, method, level, coefficients, [], float(weight.sum()), n_dropped, notes)


def _in_units(design: Design, n_classes: int) -> Floats:
    """Return the matrix that takes coefficients (P K,) in units of the design to those of the data, (K P,)."""
    size = design.n_columns
    to_data = np.zeros((size, size))
    to_data[0, 0] = 1.0
    to_data[np.arange(1, size), np.arange(1, size)] = 1 / design.spread
    to_data[0, 1:] = -design.centre / design.spread
    change = np.zeros((n_classes, size, size, n_classes))
    for k in range(n_classes):
        change[k, :, :, k] = to_data
    return change.reshape(n_classes * size, size * n_classes)


def _to_outcomes(step: StepOne, source: Source, method: str, kinds: Any, propagate: bool, level: float) -> Related:
    if source.n_rows != len(step.weight):
        raise DataError(f"outcomes: {source.n_rows} rows, but X has {len(step.weight)}.")
    classes = tuple(step.model.class_names_)
    found = [measure(step, each, method, propagate) for each in read_outcomes(source, step.weight, kinds)]
    outcomes = [RelatedOutcome.of(each, classes, level) for each in found]
    total = float(step.weight.sum())
    notes = list(dict.fromkeys(each.note for each in found))
    if any(np.isnan(each.se).any() for each in outcomes):
        notes.append("An estimate on a boundary (0 or 1) has no standard error.")
    notes += [
        f"{each.name}: {total - each.n_rows:,.10g} rows without it were left out."
        for each in found
        if each.n_rows < total
    ]
    return _related(step, method, level, None, outcomes, total, 0, notes)


def _related(
    step: StepOne,
    method: str,
    level: float,
    coefficients: Coefficients | None,
    outcomes: list[RelatedOutcome],
    n_rows: float,
    n_dropped: int,
    notes: list[str],
) -> Related:
    posterior = np.exp(step.joint()[1])
    table = step.classification(posterior, step.assigned(posterior))
    assign = "modal" if step.modal else "proportional"
    template = step.model._template
    return Related(method, assign, level, coefficients, outcomes, table, n_rows, n_dropped, notes, template)
