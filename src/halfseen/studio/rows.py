"""The rows of the opened file, in a database of this process: pages of them, filtered and sorted.

The file is read once, by the same reader as every fit, into a temporary database. Filters are structured: a page names
a column, an operation and a value; values are parameters of a query, names are quoted, and no text of a page is SQL.
What a model says of the rows (class, certainty) is added as a table of its own.

Rows are numbered from 0 in the order of the file.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from threading import RLock
from typing import Any

import numpy as np
import pyarrow as pa

from halfseen.data.duckdb_reader import quoted_name, quoted_text
from halfseen.data.files import FileTable
from halfseen.disk import enough_space
from halfseen.errors import DataError, ParameterError
from halfseen.optional import optional
from halfseen.temporary import ADVICE, TemporaryFolder

PAGE = 200  # rows of a page, at most
VIEWS = 8  # filtered or sorted orders that are kept
LARGEST = 2**53  # whole numbers above it are sent as text: a page would round them
CLASS, CERTAINTY = "(class)", "(certainty)"  # what a model says of a row, among the columns
ROW = "(row)"
COMPARISONS = {"is": "=", "is not": "<>", "below": "<", "above": ">"}
LENGTH = 300  # letters of a cell that are sent


@dataclass(frozen=True)
class Filter:
    """A condition on a column."""

    column: str
    op: str
    value: str | float | None = None


@dataclass(frozen=True)
class View:
    """Which rows, in which order.

    Attributes
    ----------
    filters : tuple of Filter
    sort : (str, bool) or None     column, and whether the largest come first
    rows : tuple of int or None    only these
    """

    filters: tuple[Filter, ...] = ()
    sort: tuple[str, bool] | None = None
    rows: tuple[int, ...] | None = None

    @property
    def is_plain(self) -> bool:
        """Whether these are all rows in their own order."""
        return not self.filters and self.sort is None and self.rows is None

    @classmethod
    def read(cls, given: Any) -> View:
        """Return the view that a page asks for."""
        if given is None:
            return cls()
        if not isinstance(given, dict):
            raise ParameterError(f"view: {given!r:.80} is not a mapping.")
        filters = tuple(_filter(one) for one in given.get("filters") or ())
        if name := given.get("class"):
            filters += (Filter(CLASS, "is", str(name)),)
        sort = given.get("sort")
        if sort is not None and not (isinstance(sort, dict) and isinstance(sort.get("column"), str)):
            raise ParameterError(f"view: sort={sort!r:.80} names no column.")
        return cls(filters, None if sort is None else (sort["column"], bool(sort.get("descending"))))


def _filter(given: Any) -> Filter:
    if not isinstance(given, dict) or not isinstance(given.get("column"), str):
        raise ParameterError(f"view: the filter {given!r:.80} names no column.")
    op, value = given.get("op"), given.get("value")
    if op not in (*COMPARISONS, "contains", "missing", "present"):
        raise ParameterError(
            f"view: {op!r:.40} is not one of {', '.join((*COMPARISONS, 'contains', 'missing', 'present'))}."
        )
    if op in ("missing", "present"):
        return Filter(given["column"], op)
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ParameterError(f"view: the filter of {given['column']!r} needs a value, got {value!r:.80}.")
    return Filter(given["column"], op, value)


class RowStore:
    r"""The rows of a table.

    Parameters
    ----------
    table : FileTable

    Examples
    --------
    >>> import io
    >>> import halfseen as hs
    >>> rows = RowStore(hs.open_table(io.StringIO("size,color\n1.5,red\n,blue\n3,red\n")))
    >>> rows.page(View((Filter("color", "is", "red"),), ("size", True)), 0, 10)
    (2, [(2, [3.0, 'red']), (0, [1.5, 'red'])])
    >>> rows.missing()
    {'size': 1, 'color': 0}
    """

    def __init__(self, table: FileTable) -> None:
        duckdb = optional("duckdb", "The studio")
        self.names = tuple(table.columns)
        self._folder = TemporaryFolder()
        self._lock = RLock()
        self._views: OrderedDict[View, tuple[str, int]] = OrderedDict()
        self._n_views = 0
        self._answered: str | None = None
        config = {"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}
        self._connection = duckdb.connect(f"{self._folder.name}/rows.duckdb", config=config)
        self._connection.execute("SET enable_progress_bar = false")
        self._connection.execute(f"SET temp_directory = {quoted_text(self._folder.name)}")
        with enough_space(self._folder.name, lambda: "a copy of the rows", ADVICE):
            self.n_rows = self._read(table)
        self._connection.execute("SET enable_external_access = false")
        self._connection.execute("SET lock_configuration = true")
        self.types = self._types()

    def close(self) -> None:
        """Close the database and delete its file."""
        with self._lock:
            self._connection.close()
            self._folder.remove()

    def _read(self, table: FileTable) -> int:
        """Copy the rows; return how many there are."""
        n_rows = 0
        for batch in table.batches(everything=True):
            numbered = batch.append_column(ROW, pa.array(np.arange(n_rows, n_rows + len(batch))))
            self._connection.register("batch", numbered)
            how = "INSERT INTO rows" if n_rows else "CREATE TABLE rows AS"
            self._connection.execute(f"{how} SELECT * FROM batch")
            self._connection.unregister("batch")
            n_rows += len(batch)
        if not n_rows:
            raise DataError("the file has no rows.")
        return n_rows

    def _types(self) -> dict[str, str]:
        from halfseen.data.duckdb_reader import kind_of

        found = self._query("DESCRIBE rows")
        return {name: kind_of(of_type) for name, of_type, *_ in found if name != ROW}

    # ---- pages ---------------------------------------------------------------------------------------------------

    def page(self, view: View, start: int, count: int) -> tuple[int, list[tuple[int, list[Any]]]]:
        """Return how many rows a view has, and some of them: number and cells of each."""
        if start < 0 or not 0 <= count <= PAGE:
            raise ParameterError(f"rows {start} to {start + count}: ask for at most {PAGE} rows, from 0.")
        columns = ", ".join(f"rows.{quoted_name(name)}" for name in self.names)
        row = f"rows.{quoted_name(ROW)}"
        with self._lock:
            if view.is_plain:
                found = self._query(
                    f"SELECT {row}, {columns} FROM rows WHERE {row} >= ? AND {row} < ? ORDER BY 1", start, start + count
                )
                total = self.n_rows
            else:
                name, total = self._ordered(view)
                found = self._query(
                    f"SELECT {row}, {columns} FROM {name} JOIN rows ON {row} = {name}.number "
                    f"WHERE place >= ? AND place < ? ORDER BY place",
                    start,
                    start + count,
                )
        return total, [(number, [plain(cell) for cell in cells]) for number, *cells in found]

    def numbers(self, view: View) -> list[int]:
        """Return the numbers of the rows of a view, in its order."""
        if view.is_plain:
            return list(range(self.n_rows))
        with self._lock:
            name, _ = self._ordered(view)
            return [number for (number,) in self._query(f"SELECT number FROM {name} ORDER BY place")]

    def cells(self, numbers: Sequence[int]) -> pa.Table:
        """Return some rows, all columns, in this order."""
        wanted = [int(number) for number in numbers]
        outside = [number for number in wanted if not 0 <= number < self.n_rows]
        if outside:
            raise ParameterError(f"there is no row {outside[0]}: rows are numbered from 0 to {self.n_rows - 1}.")
        columns = ", ".join(f"rows.{quoted_name(name)}" for name in self.names)
        query = (
            f"SELECT {columns} FROM "
            "(SELECT unnest(?::BIGINT[]) AS number, generate_subscripts(?::BIGINT[], 1) AS place) "
            f"JOIN rows ON rows.{quoted_name(ROW)} = number ORDER BY place"
        )
        with self._lock:
            found = self._connection.sql(query, params=[wanted, wanted])
            reader = getattr(found, "to_arrow_reader", None) or found.fetch_arrow_reader  # its name in earlier versions
            return reader(PAGE).read_all()

    def _ordered(self, view: View) -> tuple[str, int]:
        """Return the table of places of a view, and its length; the last few are kept."""
        if view in self._views:
            self._views.move_to_end(view)
            return self._views[view]
        where, values = self._where(view)
        order = f"rows.{quoted_name(ROW)}"
        if view.sort is not None:
            direction = "DESC" if view.sort[1] else "ASC"
            order = f"{self._column(view.sort[0])} {direction} NULLS LAST, {order}"
        self._n_views += 1
        name = f"view_{self._n_views}"
        joined = f"LEFT JOIN answers ON answers.number = rows.{quoted_name(ROW)}" if self._answered else ""
        with _refused(optional("duckdb", "The studio")):
            self._connection.execute(
                f"CREATE TABLE {name} AS SELECT row_number() OVER () - 1 AS place, number FROM "
                f"(SELECT rows.{quoted_name(ROW)} AS number FROM rows {joined} {where} ORDER BY {order})",
                values,
            )
        [(total,)] = self._query(f"SELECT count(*) FROM {name}")
        self._views[view] = name, total
        while len(self._views) > VIEWS:
            _, (old, _) = self._views.popitem(last=False)
            self._connection.execute(f"DROP TABLE {old}")
        return name, total

    def _column(self, name: str) -> str:
        """Return the SQL of a column; refuse one that is not there."""
        if name in (CLASS, CERTAINTY):
            if self._answered is None:
                raise ParameterError(f"{name}: no model was fitted yet.")
            return f"answers.{'class' if name == CLASS else 'certainty'}"
        if name == ROW:
            return f"rows.{quoted_name(ROW)}"
        if name not in self.names:
            raise ParameterError(f"there is no column {name!r:.80}.")
        return f"rows.{quoted_name(name)}"

    def _where(self, view: View) -> tuple[str, list[Any]]:
        """Return the condition of a view, with parameters in place of its values."""
        parts, values = [], []
        for one in view.filters:
            part, value = self._condition(one)
            parts.append(part)
            values += value
        if view.rows is not None:
            parts.append(f"rows.{quoted_name(ROW)} IN (SELECT unnest(?::BIGINT[]))")
            values.append(list(view.rows))
        return f"WHERE {' AND '.join(parts)}" if parts else "", values

    def _condition(self, one: Filter) -> tuple[str, list[Any]]:
        cell = self._column(one.column)
        if one.op in ("missing", "present"):
            return f"{cell} IS {'' if one.op == 'missing' else 'NOT '}NULL", []
        if one.op == "contains":
            return f"contains(lower(CAST({cell} AS VARCHAR)), lower(?))", [str(one.value)]
        if one.column == CERTAINTY or (one.column != CLASS and self.types.get(one.column) == "number"):
            return f"{cell} {COMPARISONS[one.op]} ?", [_number(one)]
        if one.op in ("below", "above") and self.types.get(one.column) == "date":
            return f"{cell} {COMPARISONS[one.op]} TRY_CAST(? AS TIMESTAMP)", [str(one.value)]
        return f"CAST({cell} AS VARCHAR) {COMPARISONS[one.op]} ?", [str(one.value)]

    # ---- what a model says ---------------------------------------------------------------------------------------

    def answer(self, what: str, batches: Iterator[pa.Table], labels: Mapping[int, str] | None = None) -> None:
        """Take what a model says of the rows: tables with the columns class and certainty, in the order of the rows.

        `what` says which model it is; nothing is done where it is the one that is there. `labels` are the rows whose
        class it was told.
        """
        with self._lock:
            if self._answered == what:
                return
            self._forget()
            n_rows = 0
            for batch in batches:
                numbered = batch.append_column("number", pa.array(np.arange(n_rows, n_rows + len(batch))))
                self._connection.register("batch", numbered)
                how = "INSERT INTO answers" if n_rows else "CREATE TABLE answers AS"
                self._connection.execute(f"{how} SELECT number, class, certainty FROM batch")
                self._connection.unregister("batch")
                n_rows += len(batch)
            known = "UPDATE answers SET class = ?, certainty = 1 WHERE number = ?"
            if labels:
                self._connection.executemany(known, [[name, number] for number, name in labels.items()])
            self._answered = what

    def _forget(self) -> None:
        self._answered = None
        self._connection.execute("DROP TABLE IF EXISTS answers")
        for name, _ in self._views.values():
            self._connection.execute(f"DROP TABLE {name}")
        self._views.clear()

    def answers(self, numbers: Sequence[int]) -> dict[int, tuple[str, float]]:
        """Return class and certainty of some rows; empty where no model has answered."""
        if self._answered is None or not numbers:
            return {}
        with self._lock:
            found = self._query(
                "SELECT number, class, certainty FROM answers WHERE number IN (SELECT unnest(?::BIGINT[]))",
                list(numbers),
            )
        return {number: (name, certainty) for number, name, certainty in found}

    # ---- columns -------------------------------------------------------------------------------------------------

    def missing(self) -> dict[str, int]:
        """Return the number of missing cells of each column."""
        counts = ", ".join(f"count(*) - count({quoted_name(name)})" for name in self.names)
        with self._lock:
            [found] = self._query(f"SELECT {counts} FROM rows")
        return dict(zip(self.names, found, strict=True))

    def distinct(self) -> dict[str, int]:
        """Return the number of distinct values of each column."""
        counts = ", ".join(f"count(DISTINCT {quoted_name(name)})" for name in self.names)
        with self._lock:
            [found] = self._query(f"SELECT {counts} FROM rows")
        return dict(zip(self.names, found, strict=True))

    def bars(self, name: str, most: int = 20) -> list[dict[str, Any]]:
        """Return the sketch of a column: how many cells hold each value, or lie in each range of numbers."""
        cell = self._column(name)
        with self._lock:
            if self.types[name] == "number":
                [(low, high, n)] = self._query(
                    f"SELECT min({cell}), max({cell}), count(DISTINCT {cell}) FROM rows "
                    f"WHERE isfinite(CAST({cell} AS DOUBLE))"
                )
                if n > most:
                    return self._histogram(cell, float(low), float(high), most)
            order = f"any_value({cell})" if self.types[name] == "number" else "count(*) DESC, 1"
            found = self._query(
                f"SELECT CAST({cell} AS VARCHAR), count(*) FROM rows WHERE {cell} IS NOT NULL GROUP BY ALL "
                f"ORDER BY {order} LIMIT {most}"
            )
        return [{"label": value[:LENGTH], "count": count, "low": None, "high": None} for value, count in found]

    def _histogram(self, cell: str, low: float, high: float, bins: int) -> list[dict[str, Any]]:
        width = (high - low) / bins
        found = dict(
            self._query(
                f"SELECT least(CAST(floor((CAST({cell} AS DOUBLE) - ?) / ?) AS BIGINT), ?) AS bin, count(*) FROM rows "
                f"WHERE isfinite(CAST({cell} AS DOUBLE)) GROUP BY bin",
                low,
                width,
                bins - 1,
            )
        )
        edges = [low + i * width for i in range(bins + 1)]
        return [
            {
                "label": f"{edges[i]:.4g} to {edges[i + 1]:.4g}",
                "count": found.get(i, 0),
                "low": edges[i],
                "high": edges[i + 1],
            }
            for i in range(bins)
        ]

    def _query(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        duckdb = optional("duckdb", "The studio")
        with _refused(duckdb):
            found: list[tuple[Any, ...]] = self._connection.execute(query, list(values)).fetchall()
        return found


@contextmanager
def _refused(duckdb: Any) -> Iterator[None]:
    """Turn errors of the database into ours."""
    try:
        yield
    except (duckdb.ConversionException, duckdb.InvalidInputException, duckdb.OutOfRangeException) as error:
        raise ParameterError(f"these rows cannot be found: {str(error).splitlines()[0]:.200}") from None


def _number(one: Filter) -> float:
    try:
        found = float(one.value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise ParameterError(f"{one.column} {one.op} {one.value!r:.40}: {one.column} holds numbers.") from None
    if not math.isfinite(found):
        raise ParameterError(f"{one.column} {one.op} {one.value!r:.40}: give a finite number.")
    return found


def plain(cell: Any) -> Any:
    """Return a cell as JSON has it: a number that would be rounded, a date and everything else as text.

    Examples
    --------
    >>> plain(3), plain(2**60), plain(float("nan")), plain(float("inf")), plain(b"a")
    (3, '1152921504606846976', None, 'inf', "b'a'")
    """
    if cell is None or isinstance(cell, bool):
        return cell
    if isinstance(cell, int):
        return cell if abs(cell) <= LARGEST else str(cell)
    if isinstance(cell, float | Decimal):
        value = float(cell)
        return None if math.isnan(value) else value if math.isfinite(value) else str(value)
    if isinstance(cell, datetime | date | time):
        return cell.isoformat()
    text = cell if isinstance(cell, str) else str(cell)
    return text if len(text) <= LENGTH else text[: LENGTH - 1] + "…"


def merged(
    page: Sequence[tuple[int, list[Any]]], answers: Mapping[int, tuple[str, float]], labels: Mapping[int, str]
) -> list[dict[str, Any]]:
    """Return rows of a page with what a model and the user say of them."""
    found = []
    for number, cells in page:
        name, certainty = answers.get(number, (None, None))
        label = labels.get(number)
        if label is not None:
            name, certainty = label, 1.0
        found.append({"row": number, "cells": cells, "class": name, "certainty": certainty, "label": label})
    return found
