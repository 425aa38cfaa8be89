"""Numbers that kinds of columns share: moments of mixtures, checks of moments, parameters as users give them."""

from __future__ import annotations

from typing import Any

import numpy as np

from halfseen.data.columns import Block
from halfseen.errors import DataError, ParameterError
from halfseen.kinds.records import (
    Bound,
    Figures,
)
from halfseen.leaves.leaf import Floats

HUGE = 1e290  # sums of squares above this: with a prior of many rows they are no numbers
TINY = 1e-299  # variances below this: a floor of 1e-8 of one has no digits left, and its inverse overflows


def apart(mean: Floats, var: Floats, weights: Floats) -> tuple[float, float, Floats]:
    """Return mean and variance of a mixture, and the relative entropy of normal components against it, (K,)."""
    centre = float(weights @ mean)
    total = float(weights @ (var + (mean - centre) ** 2))
    with np.errstate(divide="ignore", invalid="ignore"):
        distance = 0.5 * ((var + (mean - centre) ** 2) / total - 1 - np.log(var / total))
    return centre, total, np.nan_to_num(distance, nan=0.0, posinf=np.inf)


def in_units(mean: Floats, var: Floats) -> Floats:
    """Return means in standard deviations, to nine places: a mean of nearly 0 has no digits of its own."""
    units = mean / np.sqrt(np.where(var > 0, var, 1.0))
    with np.errstate(over="ignore"):
        rounded = np.round(units, 9) + 0.0
    return np.where(np.isinf(rounded), units, rounded)  # so large that rounding multiplies it beyond floats


def check_moments(summary: Figures, block: Block, mass: Floats) -> Figures:
    """Refuse numbers whose variance has no digits, or whose squares no sums; NaN is another matter: no cell was seen.

    Sums over cells of weight `mass` (D,), and of a prior beside them, must be numbers, and so must their ratios.
    """
    mean, var = summary["mean"], summary["var"]
    most = HUGE * np.where(mass > 0, np.minimum(mass, 1 / np.where(mass > 0, mass, 1.0)), 1.0)
    overflow = np.isinf(mean) | (var > most) | (np.isnan(var) & ~np.isnan(mean))
    # a variance of 0 belongs to a constant, unless the squares of its numbers are 0
    small_numbers = (mean != 0) & (np.abs(mean) < np.sqrt(TINY))
    underflow = np.where(var == 0, small_numbers, (var > 0) & (var < TINY))
    for column, large, small in zip(block.columns, overflow, underflow, strict=True):
        if large or small:
            how = "large that their variance overflows" if large else "small that their variance underflows"
            raise DataError(f"column {column.name!r}: its numbers are so {how}. Rescale it.")
    return summary


def or_free(given: Any, what: str, n_components: int) -> Floats:
    """Return one number for each component, NaN where a user left it free."""
    try:
        numbers = np.array(given, dtype=np.float64)
    except (TypeError, ValueError):
        numbers = np.zeros(0)
    if numbers.shape != (n_components,):
        raise ParameterError(f"{what}: expected {n_components} numbers, None where free, got {given!r:.80}.")
    return numbers


def read_numbers(given: Any, what: str, n_components: int, bound: Bound) -> Floats:
    """Return one number for each component that a user gave, within its bound."""
    try:
        numbers = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError(f"{what}: expected {n_components} numbers, got {given!r:.80}.") from None
    if numbers.shape != (n_components,):
        raise ParameterError(
            f"{what}: expected one number per component, shape ({n_components},), got {numbers.shape}."
        )
    if not bound.allows(numbers).all():
        raise ParameterError(f"{what}: numbers must be {bound}, got {numbers.tolist()}.")
    return numbers


def number_in(text: str) -> float:
    """Return the number that a text is; NaN for what is none."""
    try:
        return float(text)
    except ValueError:
        return float("nan")


def said(number: float) -> str:
    """Return a number as it is written in the name of a kind: to its last digit.

    Examples
    --------
    >>> said(500.0), said(0.1), said(float("-inf"))
    ('500', '0.1', '-inf')
    """
    return str(int(number)) if abs(number) < 1e15 and number == int(number) else repr(float(number))
