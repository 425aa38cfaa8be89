"""Arithmetic as text: what a number was computed from, in figures that can be computed again.

*figure*   a number in seven significant digits, so that numbers from 1 to 10 are as they are shown in six decimals
*term*     the text and the value of one part of a sum
*factor*   the name of one part of a product, and the logarithm of its value
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, floor, isfinite, log, log10
from typing import NamedTuple

DIGITS = 7
MOST = 12  # terms of a sum or product that are shown
SHOWN = 8  # of one that has more; the others are added up
SMALLEST, LARGEST = -700.0, 700.0  # logs of numbers that are floats with all their digits


class Term(NamedTuple):
    """One part of a sum: what it is made of, and its value."""

    text: str
    value: float


class Factor(NamedTuple):
    """One part of a product: what it is called, and the logarithm of its value."""

    name: str
    log: float


def figure(value: float) -> str:
    """Return a number with seven digits.

    Examples
    --------
    >>> figure(1 / 7), figure(3.0), figure(1e-12 / 3), figure(-0.0)
    ('0.1428571', '3', '3.333333e-13', '0')
    """
    return f"{value + 0.0:.{DIGITS}g}"


def beside(value: float, unit: float) -> str:
    """Return a number with the digits that its distance from numbers some units away needs.

    Examples
    --------
    >>> beside(1.25, 1.0), beside(100000000.5, 2.0)
    ('1.25', '100000000.5')
    """
    known = value != 0 and unit != 0 and isfinite(value) and isfinite(unit)
    more = max(0, floor(log10(abs(value))) - floor(log10(abs(unit)))) if known else 0
    return f"{value + 0.0:.{min(DIGITS + more, 17)}g}"


def of_log(logarithm: float) -> str:
    """Return a number given by its logarithm, also where it is too small or too large for a float.

    Examples
    --------
    >>> of_log(log(0.07)), of_log(-2000.0), of_log(float("-inf"))
    ('0.07', '2.576536e-869', '0')
    """
    if SMALLEST < logarithm < LARGEST:
        return figure(exp(logarithm))
    if not isfinite(logarithm):
        return "0" if logarithm < 0 else f"{logarithm:g}"
    tens = logarithm / log(10)
    digits = f"{10 ** (tens - floor(tens)):.{DIGITS}g}"
    return f"{digits}e{floor(tens):+03d}" if not digits.startswith("10") else f"1e{floor(tens) + 1:+03d}"


def times(count: float, text: str) -> str:
    """Return how often something counts, as a product; once and ones are left out.

    Examples
    --------
    >>> times(0.5, "1"), times(1.0, "3.2"), times(0.5, "3.2")
    ('0.5', '3.2', '0.5 × 3.2')
    """
    own = figure(count)
    if text == "1":
        return own
    return text if own == "1" else f"{own} × {text}"


def total(terms: Sequence[Term]) -> str:
    """Return a sum; of many terms the first, and what the others add up to.

    Examples
    --------
    >>> total([Term("0.5", 0.5), Term("0.2 × -3", -0.6)]), total([])
    ('0.5 + 0.2 × -3', '0')
    >>> total([Term("1", 1.0)] * 20)
    '1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 12 (the other 12 terms)'
    """
    few = terms if len(terms) <= MOST else terms[:SHOWN]
    said = " + ".join(term.text for term in few).replace("+ -", "- ")
    if len(few) < len(terms):
        rest = sum(term.value for term in terms[SHOWN:])
        said += f" + {figure(rest)} (the other {len(terms) - SHOWN} terms)"
    return said or "0"


def product(factors: Sequence[Factor]) -> str:
    """Return a product of named factors; of many the first, and what the others make together.

    Examples
    --------
    >>> product([Factor("P(class)", log(0.5)), Factor("P(x = 1 | class)", log(0.2))])
    'P(class) 0.5 × P(x = 1 | class) 0.2'
    """
    few = factors if len(factors) <= MOST else factors[:SHOWN]
    said = " × ".join(f"{factor.name} {of_log(factor.log)}" for factor in few)
    if len(few) < len(factors):
        rest = sum(factor.log for factor in factors[SHOWN:])
        said += f" × the other {len(factors) - SHOWN} factors {of_log(rest)}"
    return said


def plus(own: float, pseudo: float) -> str:
    """Return a count, and what a prior adds to it; in brackets where there are both.

    Examples
    --------
    >>> plus(2.0, 0.0), plus(2.0, 0.25)
    ('2', '(2 + 0.25)')
    """
    return f"({figure(own)} + {figure(pseudo)})" if pseudo else figure(own)


def minus(text: str, other: str) -> str:
    """Return a difference.

    Examples
    --------
    >>> minus("1.2", "1"), minus("1.2", "-1")
    ('1.2 - 1', '1.2 + 1')
    """
    return f"{text} + {other[1:]}" if other.startswith("-") else f"{text} - {other}"


def ratio(top: Sequence[Term], bottom: Sequence[Term]) -> str:
    """Return a sum over a sum, without what is 0; several terms are in brackets.

    Examples
    --------
    >>> ratio([Term("0.08", 0.08), Term("0.5", 0.5)], [Term("2", 2.0), Term("0", 0.0)])
    '(0.08 + 0.5) / 2'
    """
    sums = []
    for terms in (top, bottom):
        some = [term for term in terms if term.value != 0]
        sums.append(f"({total(some)})" if len(some) > 1 else total(some))
    return " / ".join(sums)
