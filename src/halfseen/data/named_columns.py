"""Columns by name: those of a fit looked for in another table, and those that an option names taken out of one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from halfseen.errors import DataError, ParameterError

MOST = 6  # names in a message


def check_columns(given: Sequence[str], wanted: Sequence[str]) -> None:
    """Refuse a table whose columns are not those of the fit, in their order.

    Examples
    --------
    >>> check_columns(["a", "c"], ["a", "b"])
    Traceback (most recent call last):
        ...
    halfseen.errors.DataError: X does not have the columns of the fit. Missing: 'b'. New: 'c'. If 'c' is the column 'b'
    under another name, rename it; else leave out what is new, and add what is missing.
    """
    if list(given) == list(wanted):
        return
    new = [name for name in given if name not in set(wanted)]
    lost = [name for name in wanted if name not in set(given)]
    if not new and not lost:
        what = "in another order" if len(given) == len(wanted) else "more than once"
        raise DataError(f"X has the columns of the fit {what}. Choose each once, in their order: {_chosen(wanted)}.")
    parts = [f"{word}: {_listed(names)}." for word, names in (("Missing", lost), ("New", new)) if names]
    if not lost:
        advice = f"Leave out what is new: {_chosen(wanted)}."
    elif not new:
        advice = "Add what is missing, filled with None where the values are not known: missing values are allowed."
    elif len(new) == len(lost) == 1:
        advice = f"If {new[0]!r} is the column {lost[0]!r} under another name, rename it; else leave out what is new, "
        advice += "and add what is missing."
    else:
        advice = "Rename columns that are the same, leave out what is new, and add what is missing."
    raise DataError(f"X does not have the columns of the fit. {' '.join(parts)} {advice}")


def _chosen(names: Sequence[str]) -> str:
    return f"X = X[{list(names)!r}]" if len(names) <= MOST else "X = X[list(model.feature_names_in_)]"


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(map(repr, names[:MOST]))
    return shown if len(names) <= MOST else f"{shown} and {len(names) - MOST} more"


def taken_out(X: Any, named: Mapping[str, Any]) -> tuple[Any, dict[str, NDArray[Any] | None]]:
    """Return a table without the columns that options name, and the values of each option.

    Parameters
    ----------
    X : table
    named : mapping from the name of an option to the name of a column, its values, or None

    Examples
    --------
    >>> import pandas as pd
    >>> rest, found = taken_out(pd.DataFrame({"x": [1, 2], "school": ["a", "b"]}), {"cluster": "school"})
    >>> list(rest.columns), found["cluster"].tolist()
    (['x'], ['a', 'b'])
    """
    frame = nw.from_native(X, pass_through=True)
    values: dict[str, NDArray[Any] | None] = {}
    used: list[str] = []
    for option, given in named.items():
        if isinstance(given, str):
            if not isinstance(frame, nw.DataFrame) or given not in frame.columns:
                known = ", ".join(map(str, frame.columns)) if isinstance(frame, nw.DataFrame) else "none: not a frame"
                raise ParameterError(f"{option}={given!r} is no column of X. Columns: {known}.")
            used.append(given)
            values[option] = np.asarray(frame[given].to_numpy())
        else:
            values[option] = None if given is None else np.asarray(given)
    return (frame.drop(used).to_native() if used else X), values
