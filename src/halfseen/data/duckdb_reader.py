"""DuckDB as a reader: files, databases and queries, as batches of Arrow.

A *scan* is a table outside memory that can be read any number of times, batch by batch and in the order of its rows.
DuckDB runs inside the process, on a connection that is opened for one read and closed after it: in memory, read-only
for database files, and never fetching an extension.
"""

from __future__ import annotations

import os
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, Self, TypeAlias

from halfseen.disk import disk_full, size_text
from halfseen.errors import DataError
from halfseen.optional import optional
from halfseen.temporary import ADVICE, TemporaryFolder

CellKind: TypeAlias = Literal["number", "bool", "text", "date", "other"]

BATCH = 1 << 16  # rows read at a time
SMALL = 64 << 20  # bytes; DuckDB needs at least this much
PER_THREAD = 4 << 20  # bytes of a CSV file that a thread holds while memory is short
COUNT = "halfseen_count"  # column of a scan with equal rows merged


@dataclass(frozen=True)
class ScanColumn:
    """A column of a scan: its name, what its cells are, and the name of its type in the file."""

    name: str
    kind: CellKind
    type: str = ""


class Scan(ABC):
    """A table that is read batch by batch, as often as wanted.

    Attributes
    ----------
    title : str                 what to call it in messages
    columns : tuple of ScanColumn
    size : int                  bytes of its file, about the least that the table takes in memory; 0: unknown
    """

    title: str
    columns: tuple[ScanColumn, ...]
    size: int = 0

    @abstractmethod
    def batches(self, names: Sequence[str], rows: int = BATCH, memory_limit: int | None = None) -> Iterator[Any]:
        """Read some columns as Arrow tables of at most `rows` rows; `memory_limit` is in bytes."""

    @abstractmethod
    def count(self, memory_limit: int | None = None) -> int:
        """Number of rows."""

    @abstractmethod
    def grouped(self, names: Sequence[str]) -> Scan:
        """The same rows with equal ones merged, and how many there were in one more column, COUNT."""

    def settled(self, memory_limit: int | None = None) -> Self:
        """The same scan with the types of its columns confirmed on all rows; most scans need no check."""
        return self


class WrongTypeGuess(Exception):
    """A later row contradicts the types that were inferred from the first rows."""


class DuckScan(Scan):
    """What DuckDB reads: a relation in its SQL.

    Parameters
    ----------
    title : str
    relation : str
        The expression after FROM.
    missing : sequence of str
        Cells that mean missing.
    text : collection of str
        Columns to read as text.
    database : str, optional
        A DuckDB file, opened for reading only.
    before : str, optional
        SQL that is run first, such as the definition of a view.
    """

    def __init__(
        self,
        title: str,
        relation: str,
        missing: Sequence[str] = (),
        text: Sequence[str] = (),
        database: str | None = None,
        before: str = "",
    ) -> None:
        self.title = title
        self._relation = relation
        self._missing = tuple(missing)
        self._text = tuple(text)
        self._database = database
        self._before = before
        self._expressions: dict[str, str] = {}
        self.columns = tuple(self._described())

    def _described(self) -> Iterator[ScanColumn]:
        for name, of_type in self._rows(
            f"SELECT column_name, column_type FROM (DESCRIBE SELECT * FROM {self._relation})"
        ):
            kind = "text" if name in self._text else kind_of(of_type)
            expression = quoted_name(name)
            if name in self._text or of_type == "UUID":
                expression = f"CAST({expression} AS VARCHAR)"
            elif of_type == "JSON":
                kind, expression = self._unmixed(name)
            elif of_type in ('"NULL"', "NULL"):
                expression = f"CAST({expression} AS DOUBLE)"
            self._expressions[name] = without_markers(expression, kind, self._missing)
            yield ScanColumn(name, kind, of_type)

    def _unmixed(self, name: str) -> tuple[CellKind, str]:
        """A JSON column whose cells are of several types: one type may remain without the missing ones."""
        cell = f"({quoted_name(name)} ->> '$')"
        markers = ", ".join(map(quoted_text, ("", *self._missing)))
        found = self._rows(
            f"SELECT DISTINCT json_type({quoted_name(name)}) FROM {self._relation} "
            f"WHERE {cell} IS NOT NULL AND trim({cell}) NOT IN ({markers})"
        )
        types = {of_type for (of_type,) in found}
        if types <= {"UBIGINT", "BIGINT", "DOUBLE", "HUGEINT", "UHUGEINT"}:
            return "number", f"TRY_CAST({cell} AS DOUBLE)"
        if types == {"VARCHAR"}:
            return "text", cell
        return "other", cell

    def batches(self, names: Sequence[str], rows: int = BATCH, memory_limit: int | None = None) -> Iterator[Any]:
        selected = ", ".join(f"{self._expressions[name]} AS {quoted_name(name)}" for name in names)
        with self._connected(memory_limit) as connection:
            yield from arrow_tables(connection, f"SELECT {selected} FROM {self._relation}", rows)

    def selection(self) -> str:
        """The query that gives all columns, with missing cells as NULL."""
        selected = ", ".join(f"{cell} AS {quoted_name(name)}" for name, cell in self._expressions.items())
        return f"SELECT {selected} FROM {self._relation}"

    def count(self, memory_limit: int | None = None) -> int:
        [(count,)] = self._rows(f"SELECT count(*) FROM {self._relation}", memory_limit)
        return int(count)

    def grouped(self, names: Sequence[str]) -> Scan:
        selected = ", ".join(f"{self._expressions[name]} AS {quoted_name(name)}" for name in names)
        relation = f"(SELECT {selected}, count(*) AS {COUNT} FROM {self._relation} GROUP BY ALL)"
        return DuckScan(self.title, relation, (), (), self._database, self._before)

    def _rows(self, query: str, memory_limit: int | None = None) -> list[tuple[Any, ...]]:
        with self._connected(memory_limit) as connection:
            found: list[tuple[Any, ...]] = connection.execute(query).fetchall()
            return found

    @contextmanager
    def _connected(self, memory_limit: int | None = None) -> Iterator[Any]:
        with connected(self._database, memory_limit, self.title) as connection:
            if self._before:
                connection.execute(self._before)
            yield connection


@contextmanager
def connected(database: str | None, memory_limit: int | None, title: str, guessed: bool = False) -> Iterator[Any]:
    """Open a connection, and turn DuckDB's errors into ours.

    With `guessed` types a cell that does not fit them is not the user's error: `WrongTypeGuess` is raised.
    """
    duckdb = optional("duckdb", "Reading files")
    pyarrow = optional("pyarrow", "Reading files")
    spilled = TemporaryFolder()
    with spilled as folder:
        config = {
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
            "preserve_insertion_order": "true",
            "temp_directory": folder,
            "threads": str(os.cpu_count() or 1),
        }
        if memory_limit is not None:
            config |= {"memory_limit": f"{max(memory_limit, SMALL)}B", "threads": "1"}
        try:
            with duckdb.connect(database or ":memory:", read_only=database is not None, config=config) as connection:
                connection.execute("SET enable_progress_bar = false")
                if memory_limit is not None:
                    connection.execute(f"SET streaming_buffer_size = '{min(max(memory_limit, 1 << 20), 10 << 20)}B'")
                yield connection
        except (duckdb.Error, pyarrow.ArrowException, OSError) as error:  # the latter two from a reader of Arrow
            raise _full_disk(error, spilled) or explained(error, title, guessed) from None


def _full_disk(error: Exception, spilled: TemporaryFolder) -> Exception | None:
    """Return the error for a disk on which DuckDB has no room for its temporary files."""
    said = str(error)
    if "max_temp_directory_size" not in said and "No space left on device" not in said:
        return None
    used = size_text(spilled.space_used())
    return disk_full(os.path.dirname(spilled.name), f"DuckDB's temporary files need more than {used}", ADVICE)


def arrow_tables(connection: Any, query: str, rows: int) -> Iterator[Any]:
    """Run a query and give its rows as Arrow tables."""
    import pyarrow as pa

    relation = connection.sql(query)
    reader = getattr(relation, "to_arrow_reader", None) or relation.fetch_arrow_reader  # its name in earlier versions
    for batch in reader(rows):
        yield pa.Table.from_batches([batch])


# --------------------------------------------------------------------------------------------------------------- CSV

HEAD = 20_480  # rows from which the types of a CSV file are inferred; a later cell that disagrees changes the type
NUMBER = r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?(?i:inf|infinity)|(?i:nan)"
CODE = r"[+-]?0\d+"  # 007 is a name, not a number
COMMA = r"[+-]?\d+,\d+"
DATE = r"(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{4}|\d{1,2}/\d{1,2}/\d{2})([ T]\d{1,2}:\d{2}.*)?"
TIME = r"([01]?\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d+)?)?"
TRUTH = ("true", "false", "True", "False", "TRUE", "FALSE")


@dataclass(frozen=True)
class Dialect:
    """How a CSV file is written."""

    names: tuple[str, ...]
    delimiter: str = ","
    decimal: str = "."
    encoding: str = "utf-8"
    missing: tuple[str, ...] = ()

    def relation(self, path: str, types: Mapping[str, str], memory_limit: int | None = None) -> str:
        """The file in DuckDB's SQL; columns without a type are text."""
        columns = ", ".join(f"{quoted_text(name)}: '{types.get(name, 'VARCHAR')}'" for name in self.names)
        markers = ["", *self.missing, *(f" {marker}" for marker in self.missing)]
        more = f", encoding = {quoted_text(self.encoding)}" if self.encoding != "utf-8" else ""
        more += f", buffer_size = {PER_THREAD}" if memory_limit is not None else ""
        return (
            f"read_csv({quoted_text(path)}, auto_detect = false, header = true, quote = '\"', escape = '\"', "
            f"delim = {quoted_text(self.delimiter)}, decimal_separator = '{self.decimal}', "
            f"nullstr = [{', '.join(map(quoted_text, markers))}], columns = {{{columns}}}{more})"
        )


class CsvScan(Scan):
    """A CSV file; types of columns are inferred from their cells.

    Numbers are read as float64: DuckDB would round a late 1.5 in a column of whole numbers.
    """

    def __init__(self, title: str, path: str, dialect: Dialect, text: Sequence[str] = ()) -> None:
        self.title = title
        self.size = Path(path).stat().st_size
        self._path = path
        self._text = tuple(text)
        self._known = False
        self._n_rows: Any = None
        self._dialect = dialect
        found = self._inspect(dialect.names, HEAD)
        commas = any(seen.comma for seen in found.values()) and dialect.delimiter != ","
        if commas and not any(seen.point for seen in found.values()):
            self._dialect = replace(dialect, decimal=",")
            found = self._inspect(dialect.names, HEAD)
        empty = [name for name, seen in found.items() if not seen.any]
        if empty:
            found |= self._inspect(empty)
        self.columns = tuple(self._cells(name, found[name]) for name in dialect.names)

    def _cells(self, name: str, seen: _CellTests) -> ScanColumn:
        return ScanColumn(name, "text") if name in self._text else ScanColumn(name, seen.kind, "dates or times")

    def _inspect(self, names: Sequence[str], rows: int | None = None) -> dict[str, _CellTests]:
        """Test the cells of columns as they are written."""
        if not names:
            return {}
        limit, memory_limit = ("", None) if rows is None else (f" LIMIT {rows}", SMALL)
        every = "\n, ".join(", ".join(_questions(quoted_name(name), self._dialect.decimal)) for name in names)
        query = f"SELECT {every} FROM (SELECT * FROM {self._dialect.relation(self._path, {}, memory_limit)}{limit})"
        with connected(None, memory_limit, self.title, guessed=True) as connection:
            answers = connection.execute(query).fetchone()
        width = len(_CellTests.__dataclass_fields__)
        return {name: _CellTests(*map(bool, answers[i * width : (i + 1) * width])) for i, name in enumerate(names)}

    def settled(self, memory_limit: int | None = None) -> CsvScan:
        if not self._known:
            try:
                counts = ", ".join(f"count({self._expression(column)})" for column in self.columns)
                with connected(None, memory_limit, self.title, guessed=True) as connection:
                    found = connection.execute(
                        f"SELECT count(*), {counts} FROM {self._relation(memory_limit)}"
                    ).fetchone()
                self._n_rows = found[0]
            except WrongTypeGuess:
                seen = self._inspect(self._dialect.names)
                self.columns = tuple(self._cells(name, seen[name]) for name in self._dialect.names)
            self._known = True
        return self

    def batches(self, names: Sequence[str], rows: int = BATCH, memory_limit: int | None = None) -> Iterator[Any]:
        with connected(None, memory_limit, self.title, guessed=True) as connection:
            query = f"SELECT {self._selected(names)} FROM {self._relation(memory_limit)}"
            yield from arrow_tables(connection, query, rows)
        if len(names) == len(self.columns):
            self._known = True

    def count(self, memory_limit: int | None = None) -> int:
        if self._n_rows is None:
            with connected(None, memory_limit, self.title, guessed=True) as connection:
                self._n_rows = connection.execute(f"SELECT count(*) FROM {self._relation(memory_limit)}").fetchone()[0]
        return int(self._n_rows)

    def selection(self) -> str:
        """The query that gives all columns, with missing cells as NULL."""
        return f"SELECT {self._selected(self._dialect.names)} FROM {self._relation()}"

    def grouped(self, names: Sequence[str]) -> Scan:
        relation = f"SELECT {self._selected(names)}, count(*) AS {COUNT} FROM {self._relation(SMALL)} GROUP BY ALL"
        return DuckScan(self.title, f"({relation})")

    def _relation(self, memory_limit: int | None = None) -> str:
        types = {column.name: "DOUBLE" for column in self.columns if column.kind == "number"}
        return self._dialect.relation(self._path, types, memory_limit)

    def _selected(self, names: Sequence[str]) -> str:
        by_name = {column.name: column for column in self.columns}
        return ", ".join(f"{self._expression(by_name[name])} AS {quoted_name(name)}" for name in names)

    def _expression(self, column: ScanColumn) -> str:
        name = quoted_name(column.name)
        if column.kind == "bool":
            stray = f"CASE WHEN {name} IS NOT NULL THEN error('Could not convert ' || {name}) END"
            return f"CASE lower({name}) WHEN 'true' THEN true WHEN 'false' THEN false ELSE {stray} END"
        return without_markers(name, column.kind, self._dialect.missing)


@dataclass(frozen=True)
class _CellTests:
    """Tests that hold for all observed cells of a column (`any`, `code`, `comma`, `point`: for some)."""

    any: bool
    number: bool
    code: bool
    comma: bool
    point: bool
    truth: bool
    date: bool

    @property
    def kind(self) -> CellKind:
        if not self.any or (self.number and not self.code):
            return "number"
        return "bool" if self.truth else "date" if self.date else "text"


def _questions(name: str, decimal: str) -> list[str]:
    """The SQL of the tests of a column, in the order of `_CellTests`."""
    cell = f"trim({name})"
    number = f"replace({cell}, ',', '.')" if decimal == "," else cell

    def all_match(expression: str, pattern: str) -> str:
        return f"coalesce(bool_and(regexp_full_match({expression}, {quoted_text(pattern)})), false)"

    def some_match(pattern: str) -> str:
        return f"coalesce(bool_or(regexp_full_match({cell}, {quoted_text(pattern)})), false)"

    return [
        f"count({name}) > 0",
        f"{all_match(number, NUMBER)} AND bool_and({name} IS NULL OR TRY_CAST({number} AS DOUBLE) IS NOT NULL)",
        some_match(CODE),
        some_match(COMMA),
        some_match(r"[+-]?\d+\.\d+"),
        f"coalesce(bool_and({cell} IN ({', '.join(map(quoted_text, TRUTH))})), false)",
        all_match(cell, f"{DATE}|{TIME}"),
    ]


# --------------------------------------------------------------------------------------------------------- helpers


def quoted_text(text: str) -> str:
    """Return a string of SQL."""
    return "'" + text.replace("'", "''") + "'"


def quoted_name(name: str) -> str:
    """Return a name of SQL."""
    return '"' + name.replace('"', '""') + '"'


def kind_of(of_type: str) -> CellKind:
    """Return what cells of a type of DuckDB are."""
    word = re.split(r"[ (]", of_type.strip('"').upper())[0]
    if of_type.endswith("]"):
        return "other"
    if word.endswith("INT") or word in ("INTEGER", "FLOAT", "DOUBLE", "DECIMAL", "NULL", "REAL", "NUMERIC", "BIGNUM"):
        return "number"
    if word in ("BOOLEAN", "BOOL"):
        return "bool"
    if word in ("VARCHAR", "ENUM", "UUID", "TEXT", "CHAR"):
        return "text"
    return "date" if word.startswith(("DATE", "TIME", "INTERVAL")) else "other"


def without_markers(expression: str, kind: CellKind, missing: Sequence[str]) -> str:
    """Return the SQL of a cell, NULL where it is one that means missing."""
    if kind == "text" and missing:
        markers = ", ".join(map(quoted_text, missing))
        return f"CASE WHEN trim({expression}) IN ({markers}) THEN NULL ELSE {expression} END"
    numbers = [marker for marker in missing if is_number(marker)] if kind == "number" else []
    if numbers:
        return f"CASE WHEN {expression} IN ({', '.join(numbers)}) THEN NULL ELSE {expression} END"
    return expression


def is_number(marker: str) -> bool:
    """Whether a marker can be compared with numbers."""
    return re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", marker) is not None


def explained(error: Exception, title: str, guessed: bool = False) -> Exception:
    """Translate an error of DuckDB: what, where, and what to do."""
    said = str(error)
    line = re.search(r"CSV Error on Line: (\d+)", said)
    where = f"{title}, line {line[1]}" if line else title
    if "Could not convert" in said and guessed:
        return WrongTypeGuess(said)
    if width := re.search(r"Expected Number of Columns: (\d+) Found: (\d+)", said):
        original = re.search(r"Original Line: (.*)", said)
        return DataError(
            f"{where} has {width[2]} cells, but the header has {width[1]}: {original[1] if original else '':.80}. "
            'Correct the line; a cell that contains the delimiter must be in quotes ("a,b"). Or set delimiter=.'
        )
    if "unicode" in said.lower() or "utf-8" in said:
        return DataError(f"{where} is not in UTF-8. Set the encoding of the file, for example encoding='latin-1'.")
    if "unterminated quote" in said:
        return DataError(f'{where}: a quote (") is opened and never closed. Correct the line.')
    if extension := re.search(r"extension \W?(\w+)\W? to be loaded|Extension \W?([\w]+)", said):
        name = extension[1] or extension[2]
        return DataError(
            f"{title} needs DuckDB's extension {name!r}, and halfseen fetches nothing at run time. "
            "Copy the data into a local file (CSV, Parquet, JSON lines) first."
        )
    if said.startswith("Out of Memory Error"):
        return DataError(f"{title}: DuckDB needs more memory than memory= allows. Raise memory=.")
    first = said.split("\n\nLINE")[0].split("\n  file =")[0].split("Possible")[0]
    return DataError(f"{title}: {' '.join(first.split()):.400}")
