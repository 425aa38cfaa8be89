"""Columns of a frame that an option names: taken out of it, with their values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from halfseen.errors import ParameterError


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
