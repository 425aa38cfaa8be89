"""What views of models have in common: questions checked, pages of lists, plain values, what is kept between questions.

A family that has views offers them in its module ``studio``, for a page that decides and computes nothing itself:

- ``SCREENS``: (key, title) of each screen that the family adds to the page;
- ``VIEWS``: name -> function(model, rows, ask, memo=None), which returns values that JSON has.

`model` is the fitted estimator, `rows` is what ``cli.data(...)`` of the family returns as ``X``, or None where there is
none. `ask` is the question, a dict of JSON values, all of which are checked here. `memo` is a dict that the caller
keeps for one model with its rows and drops with them: what takes long is kept in it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeVar

import numpy as np

from halfseen.errors import ParameterError

KEPT = 4  # results that a memo holds; those of a sequence of a million steps take about 100 MB
MOST_LETTERS = 1000  # of a text in a question
NOTHING: Any = object()

Ask = Mapping[str, Any]
Memo = dict[Any, Any] | None
T = TypeVar("T")


def check_ask(ask: Any, *known: str) -> None:
    """Refuse a question that is not a dict, or that has parts other than those known.

    Examples
    --------
    >>> check_ask({"start": 0, "cout": 5}, "start", "count")
    Traceback (most recent call last):
        ...
    halfseen.errors.ParameterError: 'cout' is no part of this question. It has: start, count.
    """
    if not isinstance(ask, Mapping):
        raise ParameterError(f"the question {ask!r:.80} is not a mapping from names to values.")
    wrong = [name for name in ask if name not in known]
    if wrong:
        raise ParameterError(f"{wrong[0]!r:.80} is no part of this question. It has: {', '.join(known) or 'no parts'}.")


def whole(ask: Ask, name: str, default: int | None, low: int = 0, high: int | None = None) -> int:
    """Return a whole number from `low` to `high` of a question; a `default` of None means that it must be given.

    Examples
    --------
    >>> whole({"count": 12}, "count", 20, 1, 50), whole({}, "count", 20)
    (12, 20)
    >>> whole({"count": 51}, "count", 20, 1, 50)
    Traceback (most recent call last):
        ...
    halfseen.errors.ParameterError: count=51 is not a whole number from 1 to 50.
    """
    value = ask.get(name)
    if value is None and default is not None:
        return default
    if isinstance(value, bool) or not isinstance(value, int) or value < low or (high is not None and value > high):
        reach = f"of at least {low}" if high is None else f"from {low} to {high:,}"
        raise ParameterError(f"{name}={value!r:.80} is not a whole number {reach}.")
    return value


def text(ask: Ask, name: str, longest: int = MOST_LETTERS) -> str:
    """Return a text of a question, without blanks around it; empty where it has none."""
    value = ask.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise ParameterError(f"{name}={value!r:.80} is not a text.")
    if len(value) > longest:
        raise ParameterError(f"{name}: the text has {len(value):,} letters; at most {longest:,} are allowed.")
    return value.strip()


def word(ask: Ask, name: str, allowed: Collection[str], default: str) -> str:
    """Return one of the allowed words of a question."""
    value = ask.get(name)
    if value is None:
        return default
    if not isinstance(value, str) or value not in allowed:
        raise ParameterError(f"{name}={value!r:.80} is not one of {', '.join(allowed)}.")
    return value


def flag(ask: Ask, name: str) -> bool:
    """Return whether a question says yes to something; no where it says nothing."""
    value = ask.get(name)
    if value is not None and not isinstance(value, bool):
        raise ParameterError(f"{name}={value!r:.80} is not true or false.")
    return bool(value)


def page(ask: Ask, most: int, usual: int = 20) -> slice:
    """Return the places of a list that a question asks for: `count` from `start`.

    Examples
    --------
    >>> page({"start": 40}, most=100)
    slice(40, 60, None)
    """
    start = whole(ask, "start", 0)
    return slice(start, start + whole(ask, "count", usual, 1, most))


def plain(values: Any) -> Any:
    """Return numbers as nested lists of Python's; None for what is no finite number.

    Examples
    --------
    >>> plain(np.array([[1.5, np.nan], [np.inf, 0.0]]))
    [[1.5, None], [None, 0.0]]
    """
    array = np.asarray(values, dtype=np.float64)
    if np.isfinite(array).all():
        return array.tolist()
    cells = array.astype(object)
    cells[~np.isfinite(array)] = None
    return cells.tolist()


def remembered(memo: Memo, key: Any, make: Callable[[], T]) -> T:
    """Return a result from the memo, or make it and put it there; the memo holds the latest ones.

    Examples
    --------
    >>> memo = {}
    >>> remembered(memo, "a", lambda: 1), remembered(memo, "a", lambda: 2)
    (1, 1)
    """
    if memo is None:
        return make()
    found = memo.pop(key, NOTHING)
    if found is NOTHING:
        found = make()
    memo[key] = found  # as the latest
    for old in list(memo)[:-KEPT]:
        memo.pop(old, None)  # which a thread beside this one may have done
    kept: T = found
    return kept
