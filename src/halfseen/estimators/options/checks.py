"""Check the shared options of an estimator, and turn them into the engine's plan."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from halfseen.assign import Assign
from halfseen.engine.loop.search import COMPARED, STAGE, Plan, Starts
from halfseen.engine.loop.stopping import nearly, never, read_rule
from halfseen.errors import ParameterError
from halfseen.estimators.options.shared import SHARED, Option
from halfseen.estimators.options.values import temperatures
from halfseen.leaves.limits import Params
from halfseen.seeds import child
from halfseen.sums import Runner, serial

CAUTION = 10  # the best run is polished to this share of the tolerance: the estimate of what is left may be too low


def declared(estimator: Any) -> dict[str, Option]:
    """Return the shared options that an estimator (or its class) has, with its deviations, by name."""
    own = getattr(estimator, "_deviations", {})
    return {
        name: own[name].of(SHARED[name]) if name in own else SHARED[name]
        for name in estimator._get_param_names()
        if name in SHARED
    }


def check(estimator: Any) -> None:
    """Refuse values of shared options that are not allowed, each alone and then together."""
    for name, option in declared(estimator).items():
        option.check(name, getattr(estimator, name))
    plan(estimator, np.random.SeedSequence(0))


def plan(estimator: Any, seed: np.random.SeedSequence, runner: Runner = serial, **fixed: Any) -> Plan:
    """Return how the engine searches, as the options of an estimator say.

    Parameters
    ----------
    estimator : Any
        Options that it does not have are taken as declared.
    seed : SeedSequence
        Of the fit. The search uses its child 1; starts are drawn from its child 0.
    runner : Runner
    fixed : values of the plan that an estimator does not leave to the user
    """
    names = ("assign", "draws", "stop", "tol", "max_iter", "accelerate", "method", "anneal")
    own = {name: getattr(estimator, name, SHARED[name].default) for name in names}
    assign = Assign.read(own["assign"], own["draws"])
    values = {
        "max_iter": int(own["max_iter"]),
        "accelerate": bool(own["accelerate"]),
        "method": own["method"],
        "anneal": _annealing(own["anneal"], assign.mode, own["max_iter"]),
    }
    tol = float(own["tol"])
    finer = own["stop"] == "gain" and tol < COMPARED
    rule = read_rule(own["stop"], tol / CAUTION if finer else tol, assign.mode)
    compared = nearly(rule, read_rule("gain", COMPARED, assign.mode)) if finer and rule is not never else None
    return Plan(assign, rule, runner=runner, seed=child(seed, 1), compared=compared, **values | fixed)


def starts(
    estimator: Any,
    draw: Callable[[int], Params],
    only_one: bool,
    near: Callable[[Params, int], Params] | None = None,
) -> Starts:
    """Return the starts of a fit: as many as `n_init` says; one where only one optimum is possible."""
    n_init = estimator.n_init
    number = None if isinstance(n_init, str) else int(n_init)
    return Starts(draw, 1 if only_one else number, near)


def _annealing(anneal: Any, mode: str, max_iter: int) -> tuple[float, ...]:
    """Return the temperatures; refuse those that have no meaning, or that leave no iteration for the fit itself."""
    if isinstance(anneal, str) and anneal == "auto":
        return ()  # the estimator says which
    found = temperatures("anneal", anneal)
    if found and mode == "hard":
        raise ParameterError(
            f"anneal={anneal!r} has no meaning with assign='hard': the best completion is the same at any "
            "temperature. Use assign='soft', or anneal=()."
        )
    if STAGE * len(found) >= max_iter:
        raise ParameterError(
            f"anneal={anneal!r} makes {STAGE * len(found)} iterations before the fit: max_iter={max_iter} is too few. "
            "Raise max_iter, or use fewer temperatures."
        )
    return found
