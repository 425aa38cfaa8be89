"""Formulas of a fitted model, to be written in some language.

A `Formula` is a value of every row: one number, or one for each component ("wide"). Numbers of Python and arrays (K,)
of NumPy combine with it by the usual operators. `Language` has the other operations. A cell may be missing, and a value
may be undefined: where Python raises an error, as for a negative count. Undefined values make all outputs of their row
undefined, so that no wrong number is written. Both are NULL in SQL and NaN elsewhere.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import reduce
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
LARGEST = float(np.finfo(np.float64).max)
PROBABILITIES = "p"  # the output that has a number for each class


class Formula:
    """A value of every row, in some language; `value` is what the language makes of it."""

    __hash__ = None  # type: ignore[assignment]
    __array_ufunc__ = None  # arrays leave the operators to this class

    def __init__(self, language: Language, value: Any) -> None:
        self.language = language
        self.value = value

    def _with(self, operator: str, other: Operand, turned: bool = False) -> Formula:
        second = self.language.formula(other)
        return self.language.binary(operator, second, self) if turned else self.language.binary(operator, self, second)

    def __add__(self, other: Operand) -> Formula:
        return self._with("+", other)

    def __radd__(self, other: Operand) -> Formula:
        return self._with("+", other, turned=True)

    def __sub__(self, other: Operand) -> Formula:
        return self._with("-", other)

    def __rsub__(self, other: Operand) -> Formula:
        return self._with("-", other, turned=True)

    def __mul__(self, other: Operand) -> Formula:
        return self._with("*", other)

    def __rmul__(self, other: Operand) -> Formula:
        return self._with("*", other, turned=True)

    def __truediv__(self, other: Operand) -> Formula:
        return self._with("/", other)

    def __rtruediv__(self, other: Operand) -> Formula:
        return self._with("/", other, turned=True)

    def __lt__(self, other: Operand) -> Formula:
        return self._with("<", other)

    def __gt__(self, other: Operand) -> Formula:
        return self._with(">", other)

    def __and__(self, other: Formula) -> Formula:
        return self._with("and", other)

    def __abs__(self) -> Formula:
        return self.language.function("abs", self)

    def equals(self, other: Operand) -> Formula:
        """Whether both are equal."""
        return self._with("=", other)

    def log(self) -> Formula:
        """The natural logarithm of a number above 0."""
        return self.language.function("log", self)

    def exp(self) -> Formula:
        """e to this power; at least 1e-307 and at most 1e308."""
        return self.language.function("exp", self)

    def floor(self) -> Formula:
        """The largest whole number that is not above."""
        return self.language.function("floor", self)

    def missing(self) -> Formula:
        """Whether a cell is missing, or a value undefined."""
        return self.language.missing(self)

    def finite(self) -> Formula:
        """Whether a number that is not missing is finite."""
        return abs(self) < np.inf


Operand = Formula | float | Floats
Case = tuple[Formula, Operand]


class Language(ABC):
    """The operations that formulas are made of."""

    name: ClassVar[str]

    @property
    @abstractmethod
    def undefined(self) -> Formula:
        """A value that makes all outputs of its row undefined."""

    @abstractmethod
    def constant(self, numbers: float | Floats) -> Formula:
        """Return a number, or one for each component, (K,); -inf is one."""

    def formula(self, operand: Operand) -> Formula:
        """Return a formula as it is, and numbers as constants."""
        return operand if isinstance(operand, Formula) else self.constant(operand)

    # ---- cells ---------------------------------------------------------------------------------------------------

    @abstractmethod
    def number(self, column: str) -> Formula:
        """Return a cell as a number."""

    @abstractmethod
    def text(self, column: str) -> Formula:
        """Return a cell as text."""

    @abstractmethod
    def truth(self, column: str) -> Formula:
        """Return a cell that is true or false as 1 or 0."""

    # ---- operations ----------------------------------------------------------------------------------------------

    @abstractmethod
    def binary(self, operator: str, first: Formula, second: Formula) -> Formula:
        """Return + - * / of numbers, or whether < > = and hold."""

    @abstractmethod
    def function(self, name: str, argument: Formula) -> Formula:
        """Return abs, log, exp or floor of a number."""

    @abstractmethod
    def missing(self, formula: Formula) -> Formula:
        """Return whether a cell is missing, or a value undefined."""

    @abstractmethod
    def choose(self, *cases: Case, otherwise: Operand) -> Formula:
        """Return the value of the first case whose condition holds."""

    def all(self, conditions: Sequence[Formula]) -> Formula:
        """Return whether all of some conditions hold."""
        return reduce(lambda first, second: first & second, conditions)

    @abstractmethod
    def lookup(
        self, cell: Formula, keys: Sequence[float] | Sequence[str], table: Floats, otherwise: Operand
    ) -> Formula:
        """Return row v of a table, (V, K) or (V, 1), where the cell is keys[v]; `otherwise` where it is no key."""

    @abstractmethod
    def step(self, *formulas: Formula) -> list[Formula]:
        """Return formulas that are evaluated once, however often they are used; earlier steps are out of reach."""

    # ---- over components -----------------------------------------------------------------------------------------

    @abstractmethod
    def total(self, formulas: Sequence[Formula]) -> Formula:
        """Return the sum of one or more formulas, component by component."""

    @abstractmethod
    def over_components(self, operation: str, wide: Formula) -> Formula:
        """Return the sum, or the largest, of the values of all components."""

    @abstractmethod
    def by_class(self, wide: Formula, inside: int) -> Formula:
        """Return the sums over the components of each class, which has `inside` of them, one after the other."""

    @abstractmethod
    def label(self, wide: Formula, largest: Formula, labels: Sequence[Any]) -> Formula:
        """Return the label of the first class whose value is the largest."""


def observed(cell: Formula, legal: Formula, score: Operand) -> Formula:
    """Return what a cell scores: 0 where it is missing, and nothing defined where it is not legal."""
    language = cell.language
    return language.choose((cell.missing(), 0.0), (legal, score), otherwise=language.undefined)
