"""Options as they are typed, turned into what the estimators take."""

from __future__ import annotations

import csv
from typing import Any

from halfseen.errors import ParameterError


def names(text: str | None) -> list[str]:
    """Read a list of names; one that holds a comma is quoted, as in CSV.

    Examples
    --------
    >>> names('id, "last, first"')
    ['id', 'last, first']
    """
    if not text:
        return []
    [row] = csv.reader([text], skipinitialspace=True)
    return [name.strip() for name in row if name.strip()]


def kinds(text: str | None) -> dict[str | int, str]:
    """Read kinds of columns.

    Examples
    --------
    >>> kinds("age=gaussian, visits=poisson")
    {'age': 'gaussian', 'visits': 'poisson'}
    """
    found: dict[str | int, str] = {}
    for part in names(text):
        name, equals, kind = part.rpartition("=")
        if not equals:
            raise ParameterError(f"--columns {part!r} is not of the form column=kind, for instance age=gaussian.")
        found[name.strip()] = kind.strip()
    return found


def sizes(text: str) -> int | list[int] | str:
    """Read numbers of classes.

    Examples
    --------
    >>> sizes("3"), sizes("2..5"), sizes("2,4"), sizes("auto")
    (3, [2, 3, 4, 5], [2, 4], 'auto')
    """
    if text == "auto":
        return text
    try:
        if ".." in text:
            low, high = (int(part) for part in text.split(".."))
            found = list(range(low, high + 1))
        else:
            found = [int(part) for part in text.split(",")]
    except ValueError:
        found = []
    if not found or min(found) < 1:
        raise ParameterError(f"-k {text!r} is not a number of classes. Use 3, a range such as 2..8, or auto.")
    return found[0] if len(found) == 1 else found


def prior(text: str | None, default: Any) -> Any:
    """Read a prior.

    Examples
    --------
    >>> prior("none", "row"), prior("0.5", "row"), prior(None, "row")
    (None, 0.5, 'row')
    """
    if text is None:
        return default
    if text in ("none", "row"):
        return None if text == "none" else text
    try:
        return float(text)
    except ValueError:
        raise ParameterError(f"--prior {text!r} is not a number, row or none.") from None
