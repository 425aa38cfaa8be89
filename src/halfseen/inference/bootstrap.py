"""The bootstrap: how much estimates vary from sample to sample, by refits to samples drawn anew.

nonparametric   units (rows, sequences, sentences) drawn with replacement from the data
parametric      units drawn from the fitted model, with the same values missing as in the data

Every refit is by maximum likelihood. It begins near the estimate (one M-step with a weak prior away, which leaves no
probability at zero), so that it finds the same maximum as the estimate and not another one; components are then put in
the order of those that they resemble most.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from inspect import signature
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from halfseen.data import Source, frame_from_dict
from halfseen.engine.loop.em import evaluate
from halfseen.engine.services.checkpoint import lasting_seed
from halfseen.engine.tables.batch import Batch
from halfseen.errors import BootstrapWarning, DataError, FitError, ParameterError, warn
from halfseen.estimators import options
from halfseen.estimators.named_parameters import NamedParameters
from halfseen.estimators.resampled import Resampled
from halfseen.inference.refits import ROUND, Refit, each_draw, refit, refits_by_weight
from halfseen.inference.standard_errors import NEAR, StandardErrors
from halfseen.leaves.leaf import Floats
from halfseen.sums import Runner

KINDS = ("nonparametric", "parametric")
FEWEST = 2  # units: of one there is nothing to draw
SAME_DATA = 1e-6  # relative difference of log-likelihoods that is rounding, and the last step of a fit
MANY = 256  # draws between two reports of progress where a kernel makes whole runs


@dataclass(frozen=True, eq=False)
class Bootstrap:
    """Estimates of all parameters in samples drawn anew.

    Attributes
    ----------
    kind : "nonparametric" or "parametric"
    level : float               probability of the intervals
    labels : dict               columns that name each parameter, as in `hs.standard_errors`
    estimate : (Q,) array       of the data, by maximum likelihood
    draws : (B, Q) array        of the samples
    loglik : (B,) array         log-likelihood of each refit
    n_failed : int              samples in which a refit failed or a component collapsed; they are left out
    n_capped : int              refits that did not converge
    """

    kind: str
    level: float
    labels: dict[str, list[Any]]
    estimate: Floats
    draws: Floats
    loglik: Floats
    n_failed: int
    n_capped: int
    bounds: list[tuple[float, float]] = field(repr=False)
    template: Source | None = field(default=None, repr=False)

    @property
    def se(self) -> Floats:
        """Standard deviation of the estimates over the samples, (Q,)."""
        return np.std(self.draws, axis=0, ddof=1)

    @property
    def bias(self) -> Floats:
        """Mean of the estimates over the samples, less the estimate, (Q,)."""
        return self.draws.mean(axis=0) - self.estimate

    def interval(self, level: float | None = None) -> tuple[Floats, Floats]:
        """Return percentile intervals: the middle `level` of the estimates over the samples."""
        outside = (1 - (self.level if level is None else options.number("level", level, 0, 1))) / 2
        low, high = np.quantile(self.draws, [outside, 1 - outside], axis=0)
        return low, high

    def errors(self) -> StandardErrors:
        """Return standard errors and percentile intervals as the table that `hs.standard_errors` gives."""
        se = self.se
        note = [
            _note(value, bounds, spread) for value, bounds, spread in zip(self.estimate, self.bounds, se, strict=True)
        ]
        gone = np.array([bool(said) for said in note])
        low, high = (np.where(gone, np.nan, end) for end in self.interval())
        covariance = np.atleast_2d(np.cov(self.draws, rowvar=False))
        se = np.where(gone, np.nan, se)
        return StandardErrors(
            "bootstrap", self.level, self.labels, self.estimate, se, low, high, note, covariance, self.template
        )

    def to_frame(self) -> Any:
        """Return the draws as a table: a row for each sample, a column for each parameter, and the log-likelihood."""
        names = [
            " ".join(str(part) for part in parts if part != "") for parts in zip(*self.labels.values(), strict=True)
        ]
        columns: dict[str, Any] = dict(zip(names, self.draws.T.tolist(), strict=True))
        return frame_from_dict({**columns, "log-likelihood": self.loglik.tolist()}, self.template)

    def __str__(self) -> str:
        left_out = f", {self.n_failed} left out" if self.n_failed else ""
        return f"{self.kind} bootstrap, {len(self.draws):,} samples{left_out}\n{self.errors()}"


def _note(value: float, bounds: tuple[float, float], spread: float) -> str:
    if any(np.isfinite(bound) and abs(value - bound) <= NEAR for bound in bounds):
        return "boundary"
    return "" if spread > 0 else "fixed"


def bootstrap(
    model: Any,
    X: Any,
    draws: int = 500,
    kind: str = "nonparametric",
    *,
    level: float = 0.95,
    n_jobs: int | None = None,
    random_state: Any = None,
    **how: Any,
) -> Bootstrap:
    """Refit a model to samples drawn anew: standard errors and intervals that need no formula.

    Every refit is by maximum likelihood and begins near the estimate. Where the model was fitted with a prior, its
    estimate is first moved to the maximum of the likelihood; `estimate` of the result is that one. Components are
    matched to those of the estimate. Weights are frequencies.

    Parameters
    ----------
    model : fitted LatentClass, GaussianMixture, NaiveBayes, GaussianClassifier, HMM, BayesNet or PCFG
    X : data of the fit
    draws : int, default 500
        Number of samples. 200 are enough for standard errors, intervals need 1,000.
    kind : {"nonparametric", "parametric"}, default "nonparametric"
        "nonparametric": units (rows, sequences, sentences) of the data, drawn with replacement. "parametric": units
        drawn from the model, with the same values missing as in the data.
    level : float, default 0.95
        Probability of the intervals.
    n_jobs : int, optional
        Number of threads; -1 is all cores. Results are the same, bit for bit, with any number.
    random_state : int, RandomState or Generator, optional
    how :
        How the data are read, as in `fit`: `sample_weight` and `labels` (`y` of a classifier) of a table; `lengths`,
        `groups` and `time` of sequences.

    Returns
    -------
    Bootstrap
        `errors()` is a table with estimate, se, low, high of every parameter, `to_frame()` has the draws.

    Examples
    --------
    >>> import halfseen as hs
    >>> X = [["yes"]] * 30 + [["no"]] * 70
    >>> model = hs.LatentClass(1, prior=None).fit(X)
    >>> found = hs.bootstrap(model, X, draws=1000, random_state=0)
    >>> print(found.errors())  # the standard error by formula is 0.0458
    column   value  class    estimate        se     low    high
    (share)         class 0    1.0000  boundary
    x0       no     class 0    0.7000    0.0456  0.6100  0.7900
    x0       yes    class 0    0.3000    0.0456  0.2100  0.3900
    """
    options.one_of("kind", kind, KINDS)
    options.whole("draws", draws, 2)
    options.number("level", level, 0, 1)
    seed = lasting_seed(random_state)
    units = resampled(model, X, how)
    if kind == "nonparametric" and units.n_units < FEWEST:
        raise ParameterError(
            f'kind="nonparametric" draws {units.unit} with replacement, and there is one. Use kind="parametric".'
        )
    best = at_maximum(model, units)
    return _gathered(model, units, best, _drawn(units, best, kind, draws, seed, n_jobs), kind, level)


def resampled(model: Any, X: Any, how: dict[str, Any]) -> Resampled:
    """Return the data of a model for the bootstrap; refuse models that have none, and options that are not known."""
    if not hasattr(model, "_resampled"):
        raise ParameterError(
            f"{type(model).__name__} has no bootstrap: it is for models with a likelihood, LatentClass, "
            "GaussianMixture, NaiveBayes, GaussianClassifier, HMM, BayesNet and PCFG."
        )
    check_is_fitted(model)
    if hasattr(model, "_check_marginal"):
        model._check_marginal("the bootstrap")
    if model.assign != "soft":
        raise ParameterError(
            f"the model was fitted with assign={model.assign!r}; the bootstrap refits by maximum likelihood. Fit with "
            "assign='soft'."
        )
    if getattr(model, "weight_kind", "frequency") == "survey":
        raise ParameterError(
            "the model was fitted with survey weights (weight_kind='survey'); the bootstrap reads weights as "
            'frequencies. Use hs.standard_errors(kind="robust").'
        )
    known = [name for name in signature(model._resampled).parameters if name not in ("X", "sentences")]
    for name in how:
        if name not in known:
            raise ParameterError(f"{name}= is not known for a {type(model).__name__}. It takes {', '.join(known)}.")
    found: Resampled = model._resampled(X, **how)
    return found


def _check_data(model: Any, units: Resampled) -> None:
    """Refuse data under which the model has another log-likelihood than after its fit."""
    if not hasattr(model, "loglik_"):  # its parameters were given
        return
    [step] = evaluate(units.model, units.given().reduced(units.model), [units.params])
    if abs(step.objective - model.loglik_) > SAME_DATA * max(1.0, abs(model.loglik_)):
        raise DataError(
            f"these are not the data of the fit: the log-likelihood of the model is {step.objective:,.4f} for them and "
            f"was {model.loglik_:,.4f} after the fit. Give the data, weights and labels that the model was fitted to."
        )


def at_maximum(model: Any, units: Resampled) -> Refit:
    """Return the maximum of the likelihood of the data near the parameters of the model."""
    _check_data(model, units)
    best = refit(units.model, units.given(), units.off_bounds(units.params))
    if best is None:
        raise FitError(
            "maximum likelihood fails from the parameters of this model: a component collapses or data are "
            "impossible. Use fewer components, or a variance floor."
        )
    return best._replace(params=units.matched(best.params, units.params))


def _drawn(
    units: Resampled, best: Refit, kind: str, draws: int, seed: np.random.SeedSequence, n_jobs: int | None
) -> Floats:
    """Return a row for every sample: log-likelihood, whether the refit converged, and all parameters.

    NaN where it failed or collapsed.
    """
    start, shares = units.off_bounds(best.params), units.frequency / units.frequency.sum()
    batch = Batch.find(units.model, units.table) if kind == "nonparametric" else None
    n_values = len(units.named(best.params))

    def weighting(rng: np.random.Generator) -> Floats:
        return rng.multinomial(units.n_units, shares).astype(np.float64)

    def one(rng: np.random.Generator) -> Refit | None:
        sample = units.drawn(best.params, rng) if kind == "parametric" else units.weighted(weighting(rng))
        return refit(units.model, sample, start)

    def row(found: Refit | None) -> Floats:
        if found is None or not found.healthy:
            return np.full(2 + n_values, np.nan)
        return np.array([found.loglik, found.converged, *units.named(units.matched(found.params, best.params))])

    def rows(rngs: Sequence[np.random.Generator], run: Runner) -> Floats:
        if batch is None:
            return np.array(list(run(lambda rng: row(one(rng)), rngs)))
        weights = np.array([weighting(rng) for rng in rngs])
        return np.array([row(found) for found in refits_by_weight(units, batch, weights, start, run)])

    together = ROUND if batch is None else MANY
    return each_draw(f"{kind} bootstrap", units, best.params, seed, draws, rows, n_jobs, together)


def _gathered(model: Any, units: Resampled, best: Refit, rows: Floats, kind: str, level: float) -> Bootstrap:
    found = rows[~np.isnan(rows[:, 0])]
    n_failed, n_capped = len(rows) - len(found), int((found[:, 1] == 0).sum())
    if len(found) < FEWEST:
        raise FitError(f"{n_failed} of {len(rows)} refits failed: a component collapsed or data became impossible.")
    if n_failed or n_capped:
        warn(
            f"of {len(rows)} refits {n_failed} failed or collapsed and are left out, {n_capped} did not converge.",
            BootstrapWarning,
        )
    named: NamedParameters = model._named_parameters()
    return Bootstrap(
        kind=kind,
        level=level,
        labels=named.labels,
        estimate=units.named(best.params),
        draws=found[:, 2:],
        loglik=found[:, 0],
        n_failed=n_failed,
        n_capped=n_capped,
        bounds=named.bounds,
        template=getattr(model, "_template", None),
    )
