"""Columns that are nearly all numbers: a few other cells are more likely mistakes than categories.

One 'n.a.' among ages makes the column text in most containers, and text is categorical: it would have a category for
every age. Such a column is refused, with the cells in question and what to do about them. Codes are not: the numbers in
the column must be such that they would be a quantity by themselves.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from halfseen.data.frames import CodedColumn, RawColumn

__all__ = ["OtherCells", "missing_option", "not_numbers", "numbers_among"]

MOSTLY = 0.95  # share of numbers from which the other cells are more likely mistakes
SHOWN = 3  # values in a message
LISTED = 5  # values in its advice
NUMBER = re.compile(r"[+-]?(?:(?:0|[1-9]\d*)|\d+\.\d*|\.\d+|\d+(?=[eE]))(?:[eE][+-]?\d+)?")  # 007 is a name

Where = Callable[[int], str]  # a cell's place in words, by the number of its row


@dataclass
class OtherCells:
    """The texts of a column, gathered in one or more pieces: how many are numbers, and which are not.

    Attributes
    ----------
    n_cells : int                       observed cells
    others : Counter of str             those that are not numbers, with how many times each was met
    first : dict of str to int          the first row of each of them
    """

    n_cells: int = 0
    others: Counter[str] = field(default_factory=Counter)
    first: dict[str, int] = field(default_factory=dict)

    def add(self, raw: RawColumn, begin: int = 0) -> None:
        """Add the cells of some rows, of which the first is row `begin`."""
        for text, count, row in _distinct(raw):
            self.n_cells += count
            if not is_number(text):
                self.others[text] += count
                self.first.setdefault(text, begin + row)

    def join(self, other: OtherCells) -> None:
        """Add the cells of later rows."""
        self.n_cells += other.n_cells
        self.others.update(other.others)
        for text, row in other.first.items():
            self.first.setdefault(text, row)

    @property
    def few(self) -> bool:
        """Whether there are some cells that are not numbers, and few of them."""
        n_others = self.others.total()
        return 0 < n_others <= (1 - MOSTLY) * self.n_cells


def is_number(text: str) -> bool:
    """Whether a text is a number as it is written in a CSV file.

    Examples
    --------
    >>> [is_number(text) for text in ("1", " -2.5e3", "007", "n.a.", "1,5")]
    [True, True, False, False, False]
    """
    return NUMBER.fullmatch(text.strip()) is not None


def _distinct(raw: RawColumn) -> Iterable[tuple[str, int, int]]:
    """The distinct texts of a column, how many cells hold each, and the first row that does."""
    if isinstance(raw, CodedColumn):
        size = len(raw.texts)
        counts = np.bincount(raw.codes + 1, minlength=size + 1)[1:]  # without the missing cells, whose code is -1
        first = np.zeros(size + 1, dtype=np.intp)
        first[raw.codes[::-1]] = np.arange(len(raw.codes))[::-1]  # of equal codes the last assignment stays
        found = zip(raw.texts, counts.tolist(), first[:size].tolist(), strict=True)
        yield from ((text, count, row) for text, count, row in found if count)
        return
    rows: dict[str, list[int]] = {}
    for row in np.flatnonzero(~raw.missing).tolist():
        seen = rows.setdefault(raw.values[row], [row, 0])
        seen[1] += 1
    yield from ((text, count, row) for text, (row, count) in rows.items())


def numbers_among(texts: Iterable[str]) -> RawColumn:
    """The numbers among texts, as a column."""
    values = np.array([float(text) for text in texts if is_number(text)])
    return RawColumn(values, np.zeros(len(values), dtype=bool), "number")


def not_numbers(name: str, n_cells: int, others: Counter[str], first: Mapping[str, int], where: Where) -> str:
    """Say which cells of a column are not numbers, the first of them first.

    Examples
    --------
    >>> not_numbers("age", 2699, Counter({"n.a.": 1}), {"n.a.": 16}, lambda row: f"row {row}")
    "age: 1 of 2,699 cells is not a number ('n.a.', row 16)."
    """
    texts = sorted(others, key=first.__getitem__)
    shown = [f"{text!r:.40}" for text in texts[:SHOWN]]
    if len(texts) == 1:
        listed = f"{shown[0]}, {'first ' if others.total() > 1 else ''}{where(first[texts[0]])}"
    else:
        each = [f"{text} ({where(first[of])})" for text, of in zip(shown, texts, strict=False)]
        more = f"{len(texts) - SHOWN} more" if len(texts) > SHOWN else each.pop()
        listed = f"{', '.join(each)} and {more}"
    n_others = others.total()
    what = "cell is" if n_cells == 1 else "cells is" if n_others == 1 else "cells are"
    return f"{name}: {n_others:,} of {n_cells:,} {what} not {'a number' if n_others == 1 else 'numbers'} ({listed})."


def missing_option(others: Iterable[str]) -> str:
    """The option of `open_table` that makes cells missing."""
    listed = sorted(others)
    return (
        f"missing=[{', '.join(f'{text!r:.40}' for text in listed[:LISTED])}{', ...' if len(listed) > LISTED else ''}]"
    )
