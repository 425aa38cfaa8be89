"""When to stop: rules that look at two consecutive plain steps and the parameters that follow.

A rule returns the reason, in the words that `stop_reason_` shows, or None to go on.

`gain`          the estimated remaining gain of the objective is below tol (default)
`counts`        no expected count moved by tol or more
`parameters`    no parameter moved by tol or more (numbers in units of their column's spread)
`assignments`   hard mode: no row changed its component
`iterations`    never: run max_iter passes
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from halfseen.engine.loop.em_pair import EMPair
from halfseen.engine.loop.model import Model
from halfseen.errors import ParameterError

NEARLY = "nearly"
Rule = Callable[[Model, EMPair], str | None]

NOISE = 4 * np.finfo(np.float64).eps  # relative change of a sum that cannot be told from rounding
STILL = 1e-9  # a change of the parameters that rounding explains, where assignments are the same


def never(model: Model, pair: EMPair) -> str | None:
    """Never stop."""
    return None


def gain(tol: float) -> Rule:
    """Stop when the estimated remaining gain of the total objective (`EMPair.left`) is below `tol`.

    The change of the objective alone is no measure: at a rate of 0.99 it is a fiftieth of the remaining gain.
    """

    def rule(model: Model, pair: EMPair) -> str | None:
        unsure = pair.estimate is not None or pair.left == np.inf
        if pair.left < tol:
            return "tolerance" if unsure or pair.gain > -tol else "rounding"
        return "rounding" if not unsure and pair.gain <= NOISE * abs(pair.after.objective) else None

    return rule


def nearly(rule: Rule, coarse: Rule) -> Rule:
    """Stop by the rule, or ("nearly") by a coarser one, at which runs are compared."""

    def either(model: Model, pair: EMPair) -> str | None:
        return rule(model, pair) or (NEARLY if coarse(model, pair) else None)

    return either


def counts(tol: float) -> Rule:
    """Stop when no statistic moved by `tol` or more."""

    def rule(model: Model, pair: EMPair) -> str | None:
        before, after = pair.before, pair.after
        restated = model.recentre(before.expected.stats, before.params, after.params)
        return "counts stable" if np.abs(after.expected.stats - restated).max(initial=0.0) < tol else None

    return rule


def parameters(tol: float) -> Rule:
    """Stop when no parameter is about to move by `tol` or more."""

    def rule(model: Model, pair: EMPair) -> str | None:
        return "parameters stable" if _largest_move(pair) < tol else None

    return rule


def _largest_move(pair: EMPair) -> float:
    """Return the largest change of a parameter that is to come."""
    return float(np.abs(pair.vectors[2] - pair.vectors[1]).max(initial=0.0))


def assignments(otherwise: Rule = never) -> Rule:
    """Stop when the best assignments are the same as in the step before; otherwise apply another rule.

    Latent content of leaves is integrated in hard mode too. Then parameters still move when assignments are unchanged,
    and the other rule decides, if there is one.
    """

    def rule(model: Model, pair: EMPair) -> str | None:
        same = pair.after.expected.digest == pair.before.expected.digest
        goes_on = otherwise is not never and model.integrates and _largest_move(pair) > STILL
        return "assignments unchanged" if same and not goes_on else otherwise(model, pair)

    return rule


RULES = ("gain", "counts", "parameters", "assignments", "iterations")


def read_rule(name: str, tol: float, mode: str) -> Rule:
    """Return the rule a user asked for; hard mode always ends when the assignments no longer change."""
    if name not in RULES:
        raise ParameterError(f"stop={name!r} is not one of {', '.join(map(repr, RULES))}.")
    if name == "assignments" and mode != "hard":
        raise ParameterError(f"stop='assignments' needs assign='hard', got assign={mode!r}.")
    if mode == "sample" and name != "iterations":
        if name == "gain":
            return never  # the default: draws make every measure noisy, a sampled run has a fixed length
        raise ParameterError(
            f"stop={name!r} has no meaning with assign='sample': a sampled run makes max_iter iterations."
        )
    if name == "iterations":
        return never
    if name == "assignments":
        return assignments()
    chosen = {"gain": gain, "counts": counts, "parameters": parameters}[name](tol)
    return assignments(chosen) if mode == "hard" and name == "gain" else chosen
