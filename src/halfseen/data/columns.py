"""What a column is: its kind, and its categories.

==================== ============================================ ======================================
kind                 holds                                        encoded as
==================== ============================================ ======================================
``"categorical"``    one of a fixed tuple of categories           codes 0, 1, ...; -1 for missing
``"gaussian"``       numbers                                      float64; NaN for missing
``"poisson"``        counts: whole numbers from 0 (by choice)     float64; NaN for missing
``"text"``           words, and how often each (by choice)        rows of `Counts`; a missing text is empty
==================== ============================================ ======================================

The kind is found by value, not by dtype, so that one table has one reading in every container: text, True/False and
declared categories are categorical; so are numbers that never change, and whole numbers with at most 12 distinct
values; other numbers are gaussian.

Categories are plain Python values: whole numbers are `int` wherever they came from, and all are sorted, except that a
declared order (ordered pandas categories, Polars Enum) is kept. Levels that were declared but never seen count.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import repeat
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from halfseen.data.frames import CodedColumn, RawColumn
from halfseen.errors import DataError, ParameterError

__all__ = ["Column", "Kind", "encode_column", "learn_column"]

Kind: TypeAlias = Literal["categorical", "gaussian", "poisson", "text"]
Category: TypeAlias = str | int | float | bool

CLOSE = 1 << 12  # whole numbers within this range are looked up, not sorted
MAX_DISTINCT = 12  # whole numbers with more distinct values than months, Likert points or die faces are quantities


@dataclass(frozen=True)
class Column:
    """A column as the model sees it, fixed when fitting.

    Parameters
    ----------
    name : str
    kind : {"categorical", "gaussian", "poisson", "text"}
    categories : tuple or None
        For a categorical column the value of each code, for text its words, else None.
    options : tuple of (str, value)
        For text, how it is cut into words: see `halfseen.data.text`.
    """

    name: str
    kind: Kind
    categories: tuple[Category, ...] | None = None
    options: tuple[tuple[str, Any], ...] = field(default=(), repr=False)


def learn_column(raw: RawColumn, name: str, kind: str | None = None) -> Column:
    """Find out the kind and the categories of a column.

    Parameters
    ----------
    raw : RawColumn
    name : str
    kind : {"categorical", "gaussian", "poisson"}, optional
        Overrides the rule.

    Examples
    --------
    >>> from halfseen.data import read
    >>> learn_column(read([[3.0], [1.0], [None]]).column(0), "size")
    Column(name='size', kind='categorical', categories=(1, 3))
    >>> learn_column(read([[3.0], [1.5]]).column(0), "size")
    Column(name='size', kind='gaussian', categories=None)
    """
    if kind is not None and kind not in get_args(Kind):
        allowed = ", ".join(map(repr, get_args(Kind)))
        raise ParameterError(f"column {name!r}: unknown kind {kind!r}. Use one of {allowed}.")
    if kind == "text":
        raise ParameterError(f"column {name!r}: this model takes no text. NaiveBayes and LatentClass do.")
    if kind is None:
        kind = _kind_by_value(raw)
    if kind == "categorical":
        return Column(name, "categorical", _categories(raw))
    if kind == "poisson":
        _check_observed(raw, name, kind)
        read_counts(raw, name)
        return Column(name, "poisson")
    _check_observed(raw, name, kind)
    _check_varies(raw, name)
    return Column(name, "gaussian")


def encode_column(raw: RawColumn, column: Column, out: NDArray[Any]) -> Counter[Category]:
    """Write a column into one column of a block.

    Parameters
    ----------
    raw : RawColumn
        The cells.
    column : Column
        What they mean.
    out : (N,) array
        Receives codes (missing and unknown: -1), or numbers (missing: NaN).

    Returns
    -------
    Counter
        Categories met that the column does not have, and how often.

    Examples
    --------
    >>> from halfseen.data import read
    >>> out = np.empty(3, dtype=np.int8)
    >>> encode_column(read([["b"], [None], ["z"]]).column(0), Column("x", "categorical", ("a", "b")), out)
    Counter({'z': 1})
    >>> out
    array([ 1, -1, -1], dtype=int8)
    """
    if column.categories is None:
        values = read_counts(raw, column.name) if column.kind == "poisson" else _numbers(raw, column.name, column.kind)
        np.add(values, 0.0, out=out)  # which turns -0.0 into 0.0
        out[raw.missing] = np.nan
        return Counter()
    out[:] = _codes(raw, column.categories)
    unknown = (out < 0) & ~raw.missing
    return Counter(_canonical(raw.values[unknown], raw.type)) if unknown.any() else Counter()


# ------------------------------------------------------------------------------------------------------- the categories


def _kind_by_value(raw: RawColumn) -> Kind:
    if raw.type != "number" or raw.levels is not None:
        return "categorical"
    distinct = distinct_numbers(raw)
    if len(distinct) <= 1 or (len(distinct) <= MAX_DISTINCT and is_whole(distinct).all()):
        return "categorical"
    return "gaussian"


def is_quantity(head: RawColumn) -> bool:
    """Whether the first cells settle that a column is gaussian: two different numbers, one of them with a fraction."""
    if head.type != "number" or head.levels is not None:
        return False
    seen = head.values[~head.missing]
    return bool(len(seen) and not is_whole(seen).all() and (seen != seen[0]).any())


def distinct_numbers(raw: RawColumn) -> NDArray[Any]:
    """The distinct observed numbers, ascending; whole numbers close together are looked up, not sorted."""
    observed = raw.values[~raw.missing] if raw.missing.any() else raw.values
    if not len(observed):
        return observed
    low, high = observed.min(), observed.max()
    if not high - low < CLOSE or not is_whole(observed).all():
        return np.unique(observed)
    seen = np.zeros(int(high - low) + 1, dtype=bool)
    seen[(observed - low).astype(np.int64)] = True
    return np.flatnonzero(seen) + low


def _categories(raw: RawColumn) -> tuple[Category, ...]:
    levels = _canonical(raw.levels or (), raw.type)
    if raw.ordered:
        return tuple(levels)
    if isinstance(raw, CodedColumn):
        distinct: Any = raw.seen
    else:
        distinct = set(raw.values[~raw.missing]) if raw.type == "text" else distinct_numbers(raw)
    return tuple(sorted({*levels, *_canonical(distinct, raw.type)}))  # all of one type


def _canonical(values: Iterable[Any], kind: str) -> list[Category]:
    """Plain Python values; whole numbers as int, so that 1, 1.0 and np.int8(1) are one category."""
    if kind == "text":
        return [str(value) for value in values]
    if kind == "bool":
        return [bool(value) for value in values]
    return [int(value) if value.is_integer() else value for value in map(float, values)]


def _codes(raw: RawColumn, categories: tuple[Category, ...]) -> NDArray[np.integer[Any]]:
    """The position of each cell among the categories, or -1."""
    if raw.type == "text":
        code_of = {category: code for code, category in enumerate(categories)}
        if isinstance(raw, CodedColumn):
            return np.array([*map(code_of.get, raw.texts, repeat(-1)), -1], dtype=np.int32)[raw.codes]
        return np.fromiter(map(code_of.get, raw.values, repeat(-1)), np.int32, len(raw.values))
    known = {float(category): code for code, category in enumerate(categories) if not isinstance(category, str)}
    if not known:
        return np.full(len(raw.values), -1, dtype=np.int32)
    ordered = np.array(sorted(known))
    low, high = ordered[0], ordered[-1]
    if high - low < CLOSE and is_whole(ordered).all():  # whole numbers close together: a look-up
        lookup = np.full(int(high - low) + 3, -1, dtype=np.int32)  # with room for smaller and larger ones
        lookup[(ordered - low).astype(np.int64) + 1] = [known[value] for value in ordered]
        place = np.clip(np.where(raw.missing, low - 1, raw.values) - low + 1, 0, len(lookup) - 1)
        codes = lookup[place.astype(np.int64)]
        return np.where(is_whole(place), codes, np.int32(-1))
    place = np.searchsorted(ordered, raw.values).clip(max=len(ordered) - 1)
    codes = np.array([known[value] for value in ordered], dtype=np.int32)
    return np.where(ordered[place] == raw.values, codes[place], np.int32(-1))


# ---------------------------------------------------------------------------------------------------------- the numbers


def _numbers(raw: RawColumn, name: str, kind: str) -> NDArray[np.float64]:
    """The values of a column that has to be of numbers."""
    if raw.type != "number" and not raw.missing.all():
        raise DataError(
            f"column {name!r} cannot be {kind}: {no_number(raw)}. Convert the column to numbers, or fit it as kind "
            "'categorical'."
        )
    return raw.values


def no_number(raw: RawColumn) -> str:
    """Name the first cell that is no number, not one that only looks like text because of others.

    Examples
    --------
    >>> from halfseen.data import read
    >>> no_number(read([["156"], ["NA"], ["NA"]]).column(0))
    "row 1 is 'NA', not a number (2 such rows; where it means missing, say so: missing=['NA'], --missing NA)"
    """
    rows = np.flatnonzero(~raw.missing)
    if raw.type == "bool":
        return f"row {rows[0]} is {bool(raw.values[rows[0]])}, not a number"
    words = [row for row in rows.tolist() if not _reads_as_number(raw.values[row])]
    if not words:
        return f"row {rows[0]} is {raw.values[rows[0]]!r:.80}, a number written as text, not a number"
    word = str(raw.values[words[0]])
    said = f"row {words[0]} is {word!r:.80}, not a number"
    same = sum(str(raw.values[row]) == word for row in words)
    if same < len(words) or len(words) == len(rows):  # a column of words
        return said
    many = "1 such row" if same == 1 else f"{same} such rows"
    return f"{said} ({many}; where it means missing, say so: missing=[{word!r:.40}], --missing {word:.40})"


def _reads_as_number(value: object) -> bool:
    try:
        float(str(value))
    except ValueError:
        return False
    return True


def read_counts(raw: RawColumn, name: str) -> NDArray[np.float64]:
    """The values of a column that has to be of whole numbers from 0."""
    values = _numbers(raw, name, "poisson")
    wrong = ~raw.missing & ~((values >= 0) & is_whole(values))
    if wrong.any():
        row = int(wrong.argmax())
        raise DataError(
            f"column {name!r} cannot be poisson: row {row} is {values[row]:g}, not a whole number from 0 "
            f"({wrong.sum()} such rows). Fit it as kind 'gaussian', or make such cells missing."
        )
    return values


def is_whole(values: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which numbers have no fraction."""
    return np.equal(values, np.rint(values))


def _check_observed(raw: RawColumn, name: str, kind: str) -> None:
    if raw.missing.all():
        raise DataError(
            f"column {name!r} cannot be {kind}: all its {len(raw.missing)} cells are missing. "
            "Drop the column, or leave its kind open."
        )


def _check_varies(raw: RawColumn, name: str) -> None:
    observed = _numbers(raw, name, "gaussian")[~raw.missing]
    if (observed == observed[0]).all():
        raise DataError(
            f"column {name!r} cannot be gaussian: it is {observed[0]:g} in all observed rows "
            f"(n_samples={len(observed)}), so its variance is 0. Drop the column, or leave its kind open."
        )
