"""Columns of a table of a few rows, as ``halfseen explain`` takes them.

With a few rows every value of a column may be another one. As categories they would be a parameter for each cell; what
they mean is guessed here, and said.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

LETTERS = 4  # most different outcomes in a series such as HTTH
SHORTEST = 3  # outcomes in a row that are taken as a series
FEWEST = 3  # rows from which values that all differ are no categories


def is_series(cells: Collection[Any]) -> bool:
    """Whether cells are series of a few outcomes, a letter for each, as of tosses of a coin.

    Examples
    --------
    >>> is_series(["HTTH", "HHHT", None]), is_series(["red", "blue"]), is_series(["yes", "no"])
    (True, False, False)
    """
    seen = [cell for cell in cells if cell is not None]
    if not seen or not all(isinstance(cell, str) and cell.isalnum() for cell in seen):
        return False
    letters = set("".join(seen))
    return len(letters) <= LETTERS and min(map(len, seen)) >= max(SHORTEST, len(letters) + 1) and len(letters) > 1


def all_differ(cells: Collection[Any]) -> bool:
    """Whether every row has another text or whole number.

    Examples
    --------
    >>> all_differ([5, 9, 8, 4, 7]), all_differ(["a", "b", "a"]), all_differ([1.5, 2.5, 3.0])
    (True, False, False)
    """
    seen = [cell for cell in cells if cell is not None]
    whole = all(isinstance(cell, str) or float(cell).is_integer() for cell in seen)
    return len(seen) >= FEWEST and whole and len(set(seen)) == len(seen)
