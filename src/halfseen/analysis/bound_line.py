"""The log-likelihood and the lower bound along a line through parameter space: numbers for pictures and pages.

The line goes through the parameters of a model, at place 0, to those after the M-step, at place 1, and on in both
directions. At place 0 the bound touches the likelihood; at place 1 it is highest. The log-prior, if there is one, is
added to both, as EM maximises it too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from halfseen.analysis.beginning import begun
from halfseen.analysis.bound import Bound, check_model, lower_bound, read_params
from halfseen.engine.loop.em import evaluate
from halfseen.engine.loop.expected import Step
from halfseen.engine.loop.model import Chunk, Reduced
from halfseen.engine.tables.mixture import Mixture
from halfseen.errors import ParameterError
from halfseen.estimators import options
from halfseen.estimators.table.table_mixture import TableMixture
from halfseen.leaves.leaf import Floats
from halfseen.leaves.limits import Params

SMALL = 0.01  # gain of a step, in log-likelihood, below which its curves cannot be told apart
N_POINTS = 121  # along the line: a smooth curve, at the price of so many passes over the data
STILL = 1e-9  # a step shorter than this, in units of the data's scale, is no line to draw
REACH = 1.0  # how far a curve may fall, in heights between the likelihoods at the two ends, before it is cut off


@dataclass(frozen=True)
class BoundLine:
    """Objective and bound at some places between two sets of parameters, 0 and 1, and beyond.

    Attributes
    ----------
    places : (P,) array       ascending; 0 and 1 are among them
    objective : (P,) array    the log-likelihood, plus the log-prior if there is one
    bound : (P,) array        the lower bound on it
    is_step : bool            whether place 1 is that after the M-step, where the bound is highest
    with_prior : bool         whether the log-prior is added to both
    restarted : bool          whether the fit has converged, and this is the first step from another start instead
    """

    places: Floats
    objective: Floats
    bound: Floats
    is_step: bool
    with_prior: bool
    restarted: bool = False

    @property
    def name(self) -> str:
        """What the objective is called."""
        return "log-likelihood" + self.plus

    @property
    def plus(self) -> str:
        """What is added to likelihood and bound, in words."""
        return " + log-prior" if self.with_prior else ""

    @property
    def touching(self) -> float:
        """The height at which the curves touch, at place 0."""
        return float(self.objective[np.searchsorted(self.places, 0.0)])

    @property
    def reached(self) -> tuple[float, float]:
        """Bound and objective at place 1."""
        end = np.searchsorted(self.places, 1.0)
        return float(self.bound[end]), float(self.objective[end])

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values; None where a curve is at minus infinity.

        Examples
        --------
        >>> import halfseen as hs
        >>> model = hs.LatentClass.from_params([0.5, 0.5], {"x": {"mean": [-1, 2], "sd": [1, 1]}})
        >>> found = bound_line(model, [[-2.1], [-1.4], [0.3], [2.5], [3.1]]).to_dict()
        >>> {name: round(value, 4) for name, value in found["touch"].items()}
        {'place': 0.0, 'objective': -9.8763, 'bound': -9.8763}
        >>> {name: round(value, 4) for name, value in found["end"].items()}
        {'place': 1.0, 'objective': -9.511, 'bound': -9.5673}
        """
        bound, objective = map(_plain, self.reached)
        return {
            "name": self.name,
            "bound_name": "lower bound" + self.plus,
            "places": self.places.tolist(),
            "objective": list(map(_plain, self.objective.tolist())),
            "bound": list(map(_plain, self.bound.tolist())),
            "touch": {"place": 0.0, "objective": self.touching, "bound": self.touching},
            "end": {"place": 1.0, "objective": objective, "bound": bound},
            "is_step": self.is_step,
            "restarted": self.restarted,
        }


def bound_line(
    model: TableMixture,
    X: Any,
    params: Mapping[str, Any] | TableMixture | None = None,
    sample_weight: Any = None,
    step: int = 0,
) -> BoundLine:
    """Return the log-likelihood and the lower bound that touches it, along a line through parameter space.

    Parameters
    ----------
    model : a mixture over a table
        Fitted, or from `from_params`: the line goes through its parameters. Otherwise through those that a fit would
        begin at, as in `explain`. Of a model whose fit has converged the next step is too small to be seen: then it is
        the first step of a fit from another start, and `restarted` is true.
    X : table
    params : mapping or model, optional
        Where the line goes to, in the form of `params_`; by default to the parameters after the M-step.
    sample_weight : (N,) array, optional
    step : int, default 0
        How many steps of soft EM are made before.

    Examples
    --------
    >>> import halfseen as hs
    >>> model = hs.LatentClass.from_params([0.5, 0.5], {"x": {"mean": [-1, 2], "sd": [1, 1]}})
    >>> line = bound_line(model, [[-2.1], [-1.4], [0.3], [2.5], [3.1]])
    >>> bool((line.bound <= line.objective + 1e-12).all()), line.places[line.bound.argmax()]
    (True, np.float64(1.0))
    """
    options.whole("step", step, low=0)
    model = _started(model, X, sample_weight)
    chunks = model._encode(X, sample_weight).chunks()
    about = model._params
    for _ in range(step):
        about = model._model.improved(_evaluated(model, chunks, about))
    here = _evaluated(model, chunks, about)
    to = model._model.improved(here) if params is None else read_params(model, params)
    still = params is None and step == 0 and _can_restart(model)
    if still and _evaluated(model, chunks, to).objective - here.objective < SMALL:
        return _restarted(model, X, sample_weight)
    places, found = _along(model._model, chunks, about, to, params is None)
    objective = np.array([parts.loglik + parts.log_prior for parts in found])
    lower = np.array([parts.bound + parts.log_prior for parts in found])
    return BoundLine(places, objective, lower, params is None, bool(here.log_prior))


def _plain(value: float) -> float | None:
    return value if np.isfinite(value) else None


def _started(model: TableMixture, X: Any, sample_weight: Any) -> TableMixture:
    """Return a model with parameters: one of hidden classes that has none stands where a fit would begin."""
    if isinstance(model, TableMixture) and not hasattr(model, "_params"):
        if "n_components" not in model.get_params(deep=False):
            check_is_fitted(model)
        model = begun(model, X, sample_weight)
        del model.trace_  # it is a start, and shown as it is
    check_model(model)
    return model


def _evaluated(model: TableMixture, chunks: Sequence[Chunk], params: Params) -> Step:
    [step] = evaluate(model._model, Reduced(chunks), [params])
    return step


# ---- another start ---------------------------------------------------------------------------------------------------


def _can_restart(model: TableMixture) -> bool:
    """Whether the model comes from a fit of hidden classes, which can begin elsewhere."""
    return hasattr(model, "trace_") and "n_components" in model.get_params(deep=False) and len(model.weights_) > 1


def _restarted(model: TableMixture, X: Any, sample_weight: Any) -> BoundLine:
    """Return the line of the first step of a fit with one start."""
    chosen: dict[str, Any] = {"n_components": len(model.weights_)}
    for name in ("covariance", "covariance_type"):
        if isinstance(getattr(model, name, None), str | list | tuple):
            chosen[name] = getattr(model, f"{name}_", getattr(model, name))
    early = begun(model, X, sample_weight, **chosen)
    del early.trace_
    return replace(bound_line(early, X, sample_weight=sample_weight), restarted=True)


# ---- along the line --------------------------------------------------------------------------------------------------


def _along(
    model: Mixture, chunks: Sequence[Chunk], about: Params, to: Params, is_step: bool
) -> tuple[Floats, list[Bound]]:
    """Follow the straight line in the packed parameters, as far as they are legal and the curves are near the top."""
    first, last = model.pack(about), model.pack(to)
    if np.abs(last - first).max(initial=0.0) < STILL:
        advice = "EM has arrived. Use a model stopped early, or" if is_step else "These are the model's own:"
        raise ParameterError(f"the line has no length: both ends are the same parameters. {advice} give other params.")

    def at(place: float) -> Params:
        return to if place == 1.0 else model.unpack(first + place * (last - first), about)

    def measured(place: float) -> Bound | None:
        there = at(place)
        return lower_bound(model, chunks, about, there) if model.feasible(there) else None

    end = lower_bound(model, chunks, about, to)
    low, high = (_reach(measured, way, end) for way in (-1.0, 1.0))
    places = np.union1d(np.linspace(low, high, N_POINTS), [0.0, 1.0])
    found = [(place, parts) for place in places if (parts := measured(place)) is not None]
    return np.array([place for place, _ in found]), [parts for _, parts in found]


def _reach(measured: Callable[[float], Bound | None], way: float, end: Bound) -> float:
    """Return how far from 0 (backward) or 1 (forward) to draw: until the bound fell by the gain of the EM step."""
    start = 0.0 if way < 0 else 1.0
    here = measured(0.0)
    assert here is not None
    lowest = min(here.bound + here.log_prior, end.bound + end.log_prior)
    gain = max(end.loglik + end.log_prior - here.loglik - here.log_prior, 1e-12)
    reached = start
    for distance in np.linspace(0, 1.5, 61)[1:]:
        parts = measured(start + way * distance)
        if parts is None or not parts.bound + parts.log_prior > lowest - REACH * gain:
            break
        reached = start + way * float(distance)
    return reached
