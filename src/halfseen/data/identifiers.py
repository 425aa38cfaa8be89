"""Columns that identify the rows of a table rather than describe them, and others that cannot be fitted."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from halfseen.data.columns import MAX_DISTINCT, are_quantity, is_whole
from halfseen.data.files import FileTable
from halfseen.data.frames import CodedColumn, RawColumn, read
from halfseen.data.nearly_numbers import OtherCells

__all__ = ["identifiers"]

NAMED_LIKE_ONE = re.compile(r"(?i:(^|[_\W])(id|uuid|guid|key|index|idx|row|rownum|nr|no|number|code)$)|[a-z]I[dD]$")
LOOK = 200_000  # rows


def identifiers(X: Any) -> list[tuple[str, str]]:
    """Columns that identify the rows rather than describe them, and others that cannot be fitted: for a note.

    Text that differs in every row; whole numbers that count the rows, or differ in every row and are named an id; dates
    and nested cells of files. Numbers with a fraction are never identifiers. At most the first 200,000 rows are
    checked.

    Parameters
    ----------
    X : FileTable or any table

    Returns
    -------
    list of (name, reason)

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"id": np.arange(20), "size": np.arange(20) * 1.5})
    >>> identifiers(frame)
    [('id', 'counts the rows')]
    """
    found = X.unreadable() if isinstance(X, FileTable) else []
    source = X.head(LOOK) if isinstance(X, FileTable) else read(X)
    for j, name in enumerate(source.names):
        reason = _names_rows(source.column(j), name) if source.n_rows > MAX_DISTINCT else None
        if reason is not None:
            found.append((name, reason))
    return found


def _is_number_with_mistakes(raw: RawColumn) -> bool:
    cells = OtherCells()
    cells.add(raw)
    return are_quantity(cells, raw.seen if isinstance(raw, CodedColumn) else raw.values[~raw.missing])


def _names_rows(raw: RawColumn, name: str) -> str | None:
    """Why a column is an identifier; None if it is not."""
    if raw.levels is not None or raw.missing.any() or raw.type == "bool":
        return None
    cells = raw.values[:LOOK]
    if raw.type == "text":
        if _is_number_with_mistakes(raw):
            return None
        distinct = len(raw.texts) if isinstance(raw, CodedColumn) else len(set(cells))
        return "is text that differs in every row" if distinct == len(raw.values) else None
    if not is_whole(cells).all():
        return None
    if (np.diff(cells) == 1).all():
        return "counts the rows"
    called = NAMED_LIKE_ONE.search(name) is not None
    return "is named an id and differs in every row" if called and len(np.unique(cells)) == len(cells) else None
