"""Check what a user typed, at the door: each error shows the value received and what would do."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from numbers import Real
from typing import Any

import numpy as np

from halfseen.engine.loop.search import STAGE
from halfseen.errors import ParameterError


def whole(name: str, value: Any, low: int = 1) -> int:
    """Return a whole number of at least `low`."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer) or value < low:
        raise ParameterError(f"{name}={value!r} is not a whole number of at least {low}.")
    return int(value)


def number(name: str, value: Any, low: float = 0.0, high: float = np.inf) -> float:
    """Return a number in [low, high)."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real) or not low <= float(value) < high:
        below = "" if high == np.inf else f" and below {high:g}"
        raise ParameterError(f"{name}={value!r} is not a number of at least {low:g}{below}.")
    return float(value)


def one_of(name: str, value: Any, allowed: Collection[str]) -> str:
    """Return one of the allowed words."""
    if not isinstance(value, str) or value not in allowed:
        raise ParameterError(f"{name}={value!r} is not one of {', '.join(map(repr, allowed))}.")
    return value


def flag(name: str, value: Any) -> bool:
    """Return True or False."""
    if not isinstance(value, bool | np.bool_):
        raise ParameterError(f"{name}={value!r} is not True or False.")
    return bool(value)


def mapping(name: str, value: Any) -> Mapping[Any, Any]:
    """Return a mapping; None is an empty one."""
    if value is not None and not isinstance(value, Mapping):
        raise ParameterError(f"{name}={value!r} is not a mapping from names to values, {{name: value}}.")
    return value or {}


def temperatures(name: str, value: Any) -> tuple[float, ...]:
    """Return rising inverse temperatures between 0 and 1."""
    listed = tuple(value) if isinstance(value, list | tuple | np.ndarray) else None
    if listed is None or not all(isinstance(beta, Real) for beta in listed):
        raise ParameterError(f"{name}={value!r} is not a list of numbers between 0 and 1, such as (0.4, 0.6, 0.8).")
    if not all(low < high for low, high in zip((0.0, *listed), (*listed, 1.0), strict=True)):
        raise ParameterError(f"{name}={value!r} must rise between 0 and 1, both excluded.")
    return tuple(float(beta) for beta in listed)


def annealing(anneal: Any, assign: str, max_iter: int) -> None:
    """Refuse temperatures that have no meaning, or that leave no pass for the fit itself."""
    warm = STAGE * len(temperatures("anneal", anneal))
    if warm and assign == "hard":
        raise ParameterError(
            "anneal has no meaning with assign='hard': the best completion is the same at any temperature."
        )
    if warm >= max_iter:
        raise ParameterError(f"anneal={anneal!r} makes {warm} passes: max_iter={max_iter} is too few.")
