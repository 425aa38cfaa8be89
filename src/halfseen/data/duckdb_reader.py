"""DuckDB as a reader: files, databases and queries, as batches of Arrow.

A *scan* is a table outside memory that can be read any number of times, batch by batch and in the order of its rows.
DuckDB runs inside the process, on a connection that is opened for one read and closed after it: in memory, read-only
for database files, and never fetching an extension. A connection can read the files that the user named and no others:
a data file is not trusted, and a database may contain a view of any file. File names are literal, not patterns.
"""

from __future__ import annotations

import os
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, Self, TypeAlias

from halfseen import stop_request
from halfseen.disk import disk_full, size_text
from halfseen.errors import DataError
from halfseen.optional import optional
from halfseen.temporary import ADVICE, TemporaryFolder

CellKind: TypeAlias = Literal["number", "bool", "text", "date", "other"]

BATCH = 1 << 16  # rows read at a time
SMALL = 64 << 20  # bytes; DuckDB needs at least this much
PER_COLUMN = 160 << 10  # bytes; and this much for each column: vectors of 2,048 texts, and their copies
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
    text : tuple of str         columns that are read as text because the user asked for it
    files : tuple of str        files that are read
    size : int                  bytes of its file, about the least that the table takes in memory; 0: unknown
    notes : tuple of str        what was done while the table was opened, in sentences
    labels : mapping            the labels that the file has for its columns
    """

    title: str
    columns: tuple[ScanColumn, ...]
    text: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    size: int = 0
    notes: tuple[str, ...] = ()
    labels: Mapping[str, str] = MappingProxyType({})

    @abstractmethod
    def batches(self, names: Sequence[str], rows: int = BATCH, memory_limit: int | None = None) -> Iterator[Any]:
        """Read some columns as Arrow tables of at most `rows` rows; `memory_limit` is in bytes."""

    @abstractmethod
    def count(self, memory_limit: int | None = None) -> int:
        """Number of rows."""

    @abstractmethod
    def grouped(self, names: Sequence[str]) -> Scan | None:
        """The same rows with equal ones merged, and their number in one more column, COUNT; None if it cannot."""

    def line_of(self, row: int) -> int | None:
        """The line of a row in a file of text; None where there are no lines."""
        return None

    def settled(self, memory_limit: int | None = None) -> Self:
        """The same scan with the types of its columns confirmed on all rows; most scans need no check."""
        return self

    def parts(self) -> list[Scan]:
        """The table as several, for other processes to read; most cannot be cut."""
        return [self]

    def first(self, rows: int) -> Scan:
        """The first rows of the table."""
        return FirstRows(self, rows)


class FirstRows(Scan):
    """The first rows of a scan.

    Parameters
    ----------
    scan : Scan
    rows : int        the most rows to read
    """

    def __init__(self, scan: Scan, rows: int) -> None:
        self.title, self.columns, self.text, self.files = scan.title, scan.columns, scan.text, scan.files
        self.notes, self.labels = scan.notes, scan.labels
        self._scan = scan
        self._rows = rows

    def batches(self, names: Sequence[str], rows: int = BATCH, memory_limit: int | None = None) -> Iterator[Any]:
        left = self._rows
        for table in self._scan.batches(names, min(rows, self._rows), memory_limit):
            yield table.slice(0, left)
            left -= table.num_rows
            if left <= 0:
                return

    def count(self, memory_limit: int | None = None) -> int:
        return min(self._rows, self._scan.count(memory_limit))

    def grouped(self, names: Sequence[str]) -> Scan | None:
        return None

    def line_of(self, row: int) -> int | None:
        return self._scan.line_of(row)

    def settled(self, memory_limit: int | None = None) -> FirstRows:
        self._scan.settled(memory_limit)
        self.columns = self._scan.columns
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
    files : sequence of str
        The files that may be read in addition to the database.
    """

    def __init__(
        self,
        title: str,
        relation: str,
        missing: Sequence[str] = (),
        text: Sequence[str] = (),
        database: str | None = None,
        before: str = "",
        files: Sequence[str] = (),
    ) -> None:
        self.title = title
        self.files = tuple(files)
        self._relation = relation
        self._missing = tuple(missing)
        self.text = tuple(text)
        self._database = database
        self._before = before
        self._expressions: dict[str, str] = {}
        self.columns = tuple(self._described())

    def _described(self) -> Iterator[ScanColumn]:
        for name, of_type in self.rows_of(
            f"SELECT column_name, column_type FROM (DESCRIBE SELECT * FROM {self._relation})"
        ):
            kind = "text" if name in self.text else kind_of(of_type)
            expression = quoted_name(name)
            if name in self.text or of_type == "UUID":
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
        found = self.rows_of(
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
        [(count,)] = self.rows_of(f"SELECT count(*) FROM {self._relation}", memory_limit)
        return int(count)

    def grouped(self, names: Sequence[str]) -> Scan:
        selected = ", ".join(f"{self._expressions[name]} AS {quoted_name(name)}" for name in names)
        relation = f"(SELECT {selected}, count(*) AS {COUNT} FROM {self._relation} GROUP BY ALL)"
        return DuckScan(self.title, relation, (), (), self._database, self._before, self.files)

    def rows_of(self, query: str, memory_limit: int | None = None) -> list[tuple[Any, ...]]:
        """The rows of another query on the same files."""
        with self._connected(memory_limit) as connection:
            found: list[tuple[Any, ...]] = connection.execute(query).fetchall()
            return found

    @contextmanager
    def _connected(self, memory_limit: int | None = None) -> Iterator[Any]:
        n_columns = len(getattr(self, "columns", ()))
        with connected(self._database, memory_limit, self.title, self.files, n_columns=n_columns) as connection:
            if self._before:
                connection.execute(self._before)
            yield connection


@contextmanager
def connected(
    database: str | None,
    memory_limit: int | None,
    title: str,
    files: Sequence[str] = (),
    guessed: bool = False,
    n_columns: int = 0,
) -> Iterator[Any]:
    """Open a connection that can read one database and some files, and turn DuckDB's errors into ours.

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
            needed = SMALL + PER_COLUMN * n_columns
            config |= {"memory_limit": f"{max(memory_limit, needed)}B", "threads": "1"}
        place = ":memory:" if database is None else os.path.abspath(database)
        try:
            with duckdb.connect(place, read_only=database is not None, config=config) as connection:
                connection.execute("SET enable_progress_bar = false")
                if memory_limit is not None:
                    connection.execute(f"SET streaming_buffer_size = '{min(max(memory_limit, 1 << 20), 10 << 20)}B'")
                restrict(connection, files)
                try:
                    with stop_request.calling(connection.interrupt):
                        yield connection
                except duckdb.PermissionException as error:
                    raise _reads_elsewhere(connection, str(error), title, database) from None
        except (duckdb.Error, pyarrow.ArrowException, OSError) as error:  # the latter two from a reader of Arrow
            stop_request.check()  # which interrupts DuckDB
            raise _full_disk(error, spilled) or explained(error, title, guessed) from None
        except UnicodeDecodeError:  # DuckDB's message quotes the file, and is cut within a character
            raise DataError(
                f"{title} cannot be read: it may be damaged, or an object of it may have the same key twice."
            ) from None


def _full_disk(error: Exception, spilled: TemporaryFolder) -> Exception | None:
    """Return the error for a disk on which DuckDB has no room for its temporary files."""
    said = str(error)
    if "max_temp_directory_size" not in said and "No space left on device" not in said:
        return None
    used = size_text(spilled.space_used())
    return disk_full(os.path.dirname(spilled.name), f"DuckDB's temporary files need more than {used}", ADVICE)


def restrict(connection: Any, files: Sequence[str]) -> None:
    """Let a connection read these files and its own temporary folder only, for good."""
    spelled = [each for file in files for each in (file, os.path.abspath(file))]  # before 1.5 they were not the same
    allowed = dict.fromkeys([*spelled, *map(without_patterns, spelled)])
    connection.execute(f"SET allowed_paths = [{', '.join(map(quoted_text, allowed))}]")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")


QUOTED = re.compile(
    r"""'((?:[^']|'')*)'|"((?:[^"]|"")*)"|\$(\w*)\$(.*?)\$\3\$""", re.DOTALL
)  # strings and names of SQL


def named_files(sql: str) -> list[str]:
    """Return the files that a query may read: those written in it as text, patterns with the files that match them.

    Examples
    --------
    >>> named_files("SELECT * FROM 'a.csv' JOIN read_parquet('it''s.parquet') USING (id) WHERE x = 'y'")
    ['a.csv', "it's.parquet", 'y']
    """
    duckdb = optional("duckdb", "Reading files")
    found = []
    for text, name, _, plain in QUOTED.findall(sql):
        found.append(text.replace("''", "'") or name.replace('""', '"') or plain)
    patterns = [each for each in found if re.search(r"[\[*?]", each) and re.search(r"[./]", each)]
    if patterns:
        with duckdb.connect(":memory:") as connection:
            for pattern in patterns:
                found += [file for (file,) in connection.execute("SELECT file FROM glob(?)", [pattern]).fetchall()]
    return found


def check_query(sql: str, title: str) -> None:
    """Refuse what is not a query by itself, such as one that closes the brackets that will be around it."""
    duckdb = optional("duckdb", "Reading files")
    try:
        duckdb.extract_statements(sql)
    except duckdb.Error as error:
        raise explained(error, title) from None


def _reads_elsewhere(connection: Any, said: str, title: str, database: str | None) -> DataError:
    """The error for a query or a view that reads a file that the user did not name; views are named."""
    found = re.search(r'access file "(.*?)(/\*\*/\*\.\w+)?"', said, re.DOTALL)
    if found and found[2] and not os.path.exists(found[1]):  # DuckDB looks whether it is a folder
        return DataError(f"{title}: there is no file {found[1]}.")
    other = f"the file {found[1]}" if found else "another file"
    views = [] if database is None else [name for name in _views(connection) if not _binds(connection, name)]
    if views:
        which = f"view {views[0]!r}" if len(views) == 1 else f"views {', '.join(map(repr, views[:5]))}"
        return DataError(
            f"{title}: its {which} would read {other}. A database file may read itself only. If you trust it, copy the "
            "rows that you need into a table of it, or into a CSV file."
        )
    return DataError(
        f"{title}: the query would read {other}. With a path it may read that file only; without one, the files that "
        "are written in it as text, such as 'a.csv'."
    )


def _views(connection: Any) -> list[str]:
    return [
        name for (name,) in connection.execute("SELECT view_name FROM duckdb_views() WHERE NOT internal").fetchall()
    ]


def _binds(connection: Any, view: str) -> bool:
    """Whether a view can be used without reading a forbidden file."""
    import duckdb

    try:
        connection.execute(f"DESCRIBE SELECT * FROM {quoted_name(view)}")
    except duckdb.PermissionException:
        return False
    except duckdb.Error:
        pass  # the view is broken in another way, which reading it explains
    return True


def arrow_tables(connection: Any, query: str, rows: int) -> Iterator[Any]:
    """Run a query and give its rows as Arrow tables."""
    import pyarrow as pa

    relation = connection.sql(query)
    reader = getattr(relation, "to_arrow_reader", None) or relation.fetch_arrow_reader  # its name in earlier versions
    for batch in reader(rows):
        stop_request.check()
        yield pa.Table.from_batches([batch])


# --------------------------------------------------------------------------------------------------------- helpers


def quoted_text(text: str) -> str:
    """Return a string of SQL."""
    return "'" + text.replace("'", "''") + "'"


def quoted_file(path: str) -> str:
    """Return the name of a file as a string of SQL, to be taken literally."""
    return quoted_text(without_patterns(os.path.abspath(path)))


def without_patterns(path: str) -> str:
    """Return a path in which no character stands for others.

    Examples
    --------
    >>> without_patterns("data[1]*.csv")
    'data[[]1][*].csv'
    """
    return re.sub(r"[\[*?]", r"[\g<0>]", path)


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


def address_space() -> int | None:
    """Return the limit of the address space of this process; None where there is none."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return None if limit == resource.RLIM_INFINITY else int(limit)


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
    if size := re.search(r"Maximum line size of (\d+) bytes exceeded", said):
        return DataError(
            f'{where} is longer than {int(size[1]) / 1e6:.3g} MB. Is a quote (") opened and never closed? Leave out '
            "long texts, or keep them in a Parquet file."
        )
    if "state machine reached an invalid state" in said:
        return DataError(
            f'{where}: a line breaks the rules of CSV: different ends of lines in one file, or a quote (") inside a '
            "quoted cell that is not doubled. Write the file anew."
        )
    if "unterminated quote" in said:
        return DataError(f'{where}: a quote (") is opened and never closed. Correct the line, or set quotes=False.')
    if extension := re.search(r"extension \W?(\w+)\W? to be loaded|Extension \W?([\w]+)", said):
        name = extension[1] or extension[2]
        return DataError(
            f"{title} needs DuckDB's extension {name!r}, and halfseen fetches nothing at run time. "
            "Copy the data into a local file (CSV, Parquet, JSON lines) first."
        )
    if said.startswith("Out of Memory Error") and (limit := address_space()):
        return DataError(
            f"{title}: this process may not use more than {size_text(limit)} of address space (ulimit -v). Raise that "
            "limit, or lower memory= and the number of columns."
        )
    if said.startswith("Out of Memory Error"):
        return DataError(f"{title}: DuckDB needs more memory than memory= allows. Raise memory=.")
    first = said.split("\n\nLINE")[0].split("\n  file =")[0].split("Possible")[0]
    return DataError(f"{title}: {' '.join(first.split()):.400}")
