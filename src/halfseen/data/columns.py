"""What a column is: its kind, and its categories.

==================== ============================================ ======================================
kind                 holds                                        encoded as
==================== ============================================ ======================================
``"categorical"``    one of a fixed tuple of categories           codes 0, 1, ...; -1 for missing
``"gaussian"``       numbers                                      float64; NaN for missing
``"poisson"``        counts: whole numbers from 0 (by choice)     float64; NaN for missing
``"binomial(10)"``   successes of 10 trials (by choice)           float64; NaN for missing
``"rounded(500)"``   rounded numbers, or bands (by choice)        float64; NaN for missing
``"censored(0.5)"``  numbers with limits (by choice)              float64; NaN for missing
``"ordinal"``        one of ordered categories (by choice)        codes 0, 1, ...; -1 for missing
``"text"``           words, and how often each (by choice)        rows of `Counts`; a missing text is empty
==================== ============================================ ======================================

and all others that are registered. A kind is an object (`halfseen.kinds`), found by its name in `halfseen.registry`.

The kind is inferred from the values, not from the dtype, so that a table is read alike from every container: text,
True/False and declared categories are categorical; so are numbers that never change, and whole numbers with at most 12
distinct values; other numbers are gaussian.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from halfseen.data.frames import CodedColumn, RawColumn, Source
from halfseen.data.nearly_numbers import OtherCells, is_number, missing_option, not_numbers, numbers_among
from halfseen.errors import DataError, ParameterError
from halfseen.registry import kinds

if TYPE_CHECKING:
    from halfseen.kinds.kind import Kind

__all__ = ["Block", "Column", "learn_column", "read_kind"]

Category: TypeAlias = str | int | float | bool

CLOSE = 1 << 12  # whole numbers within this range are looked up, not sorted
MAX_DISTINCT = 12  # whole numbers with more distinct values than months, Likert points or die faces are quantities


@dataclass(frozen=True)
class Column:
    """A column as the model sees it, fixed when fitting.

    Parameters
    ----------
    name : str
    kind : Kind, or its name
    categories : tuple or None
        For a categorical column the value of each code, for text its words, else None.
    options : tuple of (str, value)
        For text, how it is cut into words: see `halfseen.data.text`.
    """

    name: str
    kind: Kind
    categories: tuple[Category, ...] | None = None
    options: tuple[tuple[str, Any], ...] = field(default=(), repr=False)

    if TYPE_CHECKING:

        def __init__(
            self,
            name: str,
            kind: Kind | str,
            categories: tuple[Category, ...] | None = None,
            options: tuple[tuple[str, Any], ...] = (),
        ) -> None: ...

    def __post_init__(self) -> None:
        kind: Kind | str = self.kind
        if isinstance(kind, str):
            object.__setattr__(self, "kind", kinds[kind])


@dataclass(frozen=True)
class Block:
    """The columns that one leaf treats together.

    Parameters
    ----------
    name : str                  the kind of its columns, or ``kind.treatment``
    columns : tuple of Column
    members : tuple of int      their places in the table
    treatment : str             "fixed", "tied" or a variant of the kind; empty for none
    """

    name: str
    columns: tuple[Column, ...]
    members: tuple[int, ...]
    treatment: str

    @cached_property
    def kind(self) -> Kind:
        """The kind of its columns, in the variant that the block asks for."""
        return self.columns[0].kind.treated(self.treatment)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """The number of categories or words of each column."""
        return tuple(len(column.categories or ()) for column in self.columns)

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """Where the categories or words of each column begin, those of all columns concatenated."""
        return tuple(np.cumsum([0, *self.sizes[:-1]]).tolist())


def read_kind(kind: Any, what: str) -> Kind:
    """Return a kind by its name, such that columns can be of it; `what` is the column or option that names it."""
    try:
        found = kinds[kind]
    except ParameterError as error:
        raise ParameterError(f"{what}: {error}") from None
    if found.lacks:
        raise ParameterError(f"{what}: {found.lacks}")
    return found


def learn_column(
    raw: RawColumn, name: str, kind: str | None = None, source: Source | None = None, by_choice: bool = True
) -> Column:
    """Infer the kind and the categories of a column.

    Parameters
    ----------
    raw : RawColumn
    name : str
    kind : str, optional
        The name of a kind; overrides the inference.
    source : Source, optional
        Where the column is from, for messages.
    by_choice : bool
        Whether the user can name kinds, for messages.

    Raises
    ------
    DataError
        Without a `kind`: text that is nearly all numbers, and would be a quantity without the other cells.

    Examples
    --------
    >>> from halfseen.data import read
    >>> learn_column(read([[3.0], [1.0], [None]]).column(0), "size")
    Column(name='size', kind='categorical', categories=(1, 3))
    >>> learn_column(read([[3.0], [1.5]]).column(0), "size")
    Column(name='size', kind='gaussian', categories=None)
    """
    if kind is None:
        if raw.type == "text" and raw.levels is None:
            cells = OtherCells()
            cells.add(raw)
            check_numbers(
                name, cells, raw.seen if isinstance(raw, CodedColumn) else raw.values[~raw.missing], source, by_choice
            )
        return next(known for known in kinds if known.recognises(raw)).learn(raw, name)
    return read_kind(kind, f"column {name!r}").learn(raw, name)


def check_numbers(
    name: str, cells: OtherCells, texts: Iterable[str], source: Source | None, by_choice: bool = True
) -> None:
    """Refuse a column of text of which few cells are not numbers, if the numbers would be a quantity without them."""
    if not are_quantity(cells, texts):
        return
    where: Any = (lambda row: f"row {row}") if source is None else source.where
    said = not_numbers(name, cells.n_cells, cells.others, cells.first, where)
    if source is not None and source.line_of is not None:
        remedy = f"Add {missing_option(cells.others)}"
    else:
        remedy = "Make such cells None or NaN"
    other = f", or columns={{{name!r}: 'categorical'}}" if by_choice else ""
    raise DataError(f"{said} {remedy}{other}.")


def are_quantity(cells: OtherCells, texts: Iterable[str]) -> bool:
    """Whether few texts are not numbers, and the numbers among them are no codes."""
    if not cells.few:
        return False
    numbers = numbers_among(texts)
    return not next(known for known in kinds if known.recognises(numbers)).has_categories


def may_be_guessed(columns: Iterable[Column], given: Collection[str | int]) -> bool:
    """Whether columns inferred from the first rows are right if all cells of the others can be encoded by them.

    A quantity remains one, and categories are complete if every cell has one. Texts of which some are numbers have to
    be counted (`check_numbers`), and other kinds may depend on all values: unless `given`, they cannot be guessed.
    """
    for j, column in enumerate(columns):
        if column.name in given or j in given:
            continue
        if not (column.kind.has_categories or column.kind.any_number):
            return False
        texts = [text for text in column.categories or () if isinstance(text, str)]
        if 0 < sum(map(is_number, texts)) < len(texts):
            return False
    return True


# ---------------------------------------------------------------------------------------- values, as kinds read them


def is_quantity(head: RawColumn) -> bool:
    """Whether the first cells show that a column is gaussian: two distinct numbers, one with a fraction."""
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
    if not high < low + CLOSE or not is_whole(observed).all():
        return np.unique(observed)
    seen = np.zeros(int(high - low) + 1, dtype=bool)
    seen[(observed - low).astype(np.int64)] = True
    return np.flatnonzero(seen) + low


def canonical_values(values: Iterable[Any], cell_type: str) -> list[Category]:
    """Plain Python values; whole numbers as int, so that 1, 1.0 and np.int8(1) are one category."""
    if cell_type == "text":
        return [str(value) for value in values]
    if cell_type == "bool":
        return [bool(value) for value in values]
    return [int(value) if value.is_integer() else value for value in map(float, values)]


def is_whole(values: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which numbers have no fraction."""
    return np.equal(values, np.rint(values))


def numbers_of(raw: RawColumn, name: str, kind: str) -> NDArray[np.float64]:
    """The values of a column that must hold numbers."""
    if raw.type != "number" and not raw.missing.all():
        raise DataError(
            f"column {name!r} cannot be {kind}: {no_number(raw)}. Convert the column to numbers, or fit it as kind "
            "'categorical'."
        )
    return raw.values


def no_number(raw: RawColumn) -> str:
    """Name the first cell that is not a number; numbers written as text come last.

    Examples
    --------
    >>> from halfseen.data import read
    >>> no_number(read([["156"], ["NA"], ["NA"]]).column(0))
    "row 1 is 'NA', not a number (2 such rows; if it means missing: missing=['NA'], --missing NA)"
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
    return f"{said} ({many}; if it means missing: missing=[{word!r:.40}], --missing {word:.40})"


def _reads_as_number(value: object) -> bool:
    try:
        float(str(value))
    except ValueError:
        return False
    return True
