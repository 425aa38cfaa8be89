"""Check one value of an option; each error shows the value received and what is allowed."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from numbers import Real
from typing import Any

import numpy as np

from halfseen.errors import ParameterError
from halfseen.registry import kinds


def whole(name: str, value: Any, low: int = 1) -> int:
    """Return a whole number of at least `low`."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer) or value < low:
        raise ParameterError(f"{name}={value!r} is not a whole number of at least {low}.")
    return int(value)


def whole_or_auto(name: str, value: Any) -> int | str:
    """Return a whole number of at least 1, or "auto"."""
    if isinstance(value, str) and value == "auto":
        return value
    try:
        return whole(name, value)
    except ParameterError:
        raise ParameterError(f"{name}={value!r} is not 'auto', nor a whole number of at least 1.") from None


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


def some_of(name: str, value: Any, allowed: Collection[str]) -> list[str]:
    """Return one of the allowed words or several of them, each once."""
    several = list(value) if isinstance(value, list | tuple) else [value]
    if not several:
        raise ParameterError(f"{name}={value!r} is empty. Give at least one of {', '.join(map(repr, allowed))}.")
    return list(dict.fromkeys(one_of(name, word, allowed) for word in several))


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


def listed(name: str, value: Any) -> tuple[Any, ...]:
    """Return a list of names; None is an empty one."""
    if value is not None and (isinstance(value, str | Mapping) or not isinstance(value, Collection)):
        raise ParameterError(f"{name}={value!r} is not a list of names, [name, name].")
    return () if value is None else tuple(value)


def listed_or_mapping(name: str, value: Any) -> tuple[Any, ...] | Mapping[Any, Any]:
    """Return a list of names, or a mapping from names to values."""
    return value if isinstance(value, Mapping) else listed(name, value)


def pseudo_counts(name: str, value: Any, words: Collection[str] = ("row",)) -> str | float | None:
    """Return one of the words, a number of pseudo-counts above 0, or None for none."""
    if value is None or (isinstance(value, str) and value in words):
        return value
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real) or not 0 <= float(value) < np.inf:
        allowed = "".join(f"{word!r}, " for word in words)
        raise ParameterError(f"{name}={value!r} is not {allowed}None or a number of pseudo-counts of at least 0.")
    return float(value) or None


def variance_floor(name: str, value: Any) -> str | float:
    """Return "resolution", or a share of the variance of a column."""
    if isinstance(value, str) and value == "resolution":
        return value
    try:
        return number(name, value, high=1)
    except ParameterError as error:
        raise ParameterError(f"{str(error)[:-1]}, nor 'resolution'.") from None


def temperatures(name: str, value: Any) -> tuple[float, ...]:
    """Return rising inverse temperatures between 0 and 1."""
    several = tuple(value) if isinstance(value, list | tuple | np.ndarray) else None
    if several is None or not all(isinstance(beta, Real) for beta in several):
        raise ParameterError(f"{name}={value!r} is not a list of numbers between 0 and 1, such as (0.4, 0.6, 0.8).")
    if not all(low < high for low, high in zip((0.0, *several), (*several, 1.0), strict=True)):
        raise ParameterError(f"{name}={value!r} must rise between 0 and 1, both excluded.")
    return tuple(float(beta) for beta in several)


def emission(name: str, value: Any) -> str:
    """Return the kind of column that a state emits, or "auto"."""
    if value == "auto":
        return "auto"
    try:
        found = kinds.find(value, load=True)
    except ParameterError as error:
        raise ParameterError(f"{name}={value!r:.80}: {error}") from None
    if found is None or found.of_words:
        allowed = ", ".join(repr(kind.name) for kind in kinds if not kind.of_words)
        raise ParameterError(f"{name}={value!r:.80} is not one of 'auto', {allowed}.")
    if found.lacks:
        raise ParameterError(f"{name}={value!r}: {found.lacks}")
    return found.name
