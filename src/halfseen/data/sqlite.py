"""SQLite files as scans, through Python's own sqlite3.

A file is not trusted: a connection runs queries on its own file and nothing else. It attaches no other file, loads no
extension, changes no setting, and reads virtual tables only of modules that keep their rows in the file.
"""

from __future__ import annotations

import os
import re
import sqlite3
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from halfseen.data.duckdb_reader import BATCH, COUNT, CellKind, Scan, ScanColumn, is_number, quoted_name, quoted_text
from halfseen.disk import disk_full
from halfseen.errors import DataError
from halfseen.optional import optional
from halfseen.temporary import ADVICE


class SqliteScan(Scan):
    """A table or a query of a SQLite file.

    In SQLite each cell has its own type; the type of a column is inferred from all of its cells.

    Parameters
    ----------
    title : str
    path : str
    relation : str
        The expression after FROM.
    missing, text : as in `DuckScan`
    """

    def __init__(
        self, title: str, path: str, relation: str, missing: Sequence[str] = (), text: Sequence[str] = ()
    ) -> None:
        self.title = title
        self._path = path
        self._relation = relation
        self._missing = tuple(missing)
        self.text = tuple(text)
        with self._connected() as connection:
            names = [d[0] for d in connection.execute(f"SELECT * FROM {relation} LIMIT 0").description]
        self._expressions = {name: self._expression(name, name in text) for name in names}
        self.columns = tuple(self._cells(names))

    def _expression(self, name: str, as_text: bool) -> str:
        cell = f"CAST({quoted_name(name)} AS TEXT)" if as_text else quoted_name(name)
        if not self._missing:
            return cell
        markers = ", ".join(map(quoted_text, self._missing))
        tests = [f"(typeof({cell}) = 'text' AND trim({cell}) IN ({markers}))"]
        numbers = ", ".join(marker for marker in self._missing if is_number(marker))
        if numbers:
            tests.append(f"(typeof({cell}) IN ('integer', 'real') AND {cell} IN ({numbers}))")
        return f"CASE WHEN {' OR '.join(tests)} THEN NULL ELSE {cell} END"

    def _cells(self, names: Sequence[str]) -> Iterator[ScanColumn]:
        """Read the types of all cells, in one pass."""
        types = ("integer", "real", "text", "blob")
        asked = [f"max(typeof({self._expressions[name]}) = '{of_type}')" for name in names for of_type in types]
        with self._connected() as connection:
            answers = connection.execute(f"SELECT {', '.join(asked)} FROM {self._relation}").fetchone()
        for j, name in enumerate(names):
            found = {of_type for of_type, seen in zip(types, answers[4 * j : 4 * j + 4], strict=True) if seen}
            if found <= {"integer", "real"}:
                yield ScanColumn(name, "number", "real" if "real" in found else "integer")
            else:
                kind: CellKind = "text" if found == {"text"} else "other"
                yield ScanColumn(name, kind, " and ".join(sorted(found)))

    def batches(self, names: Sequence[str], rows: int = BATCH, memory_limit: int | None = None) -> Iterator[Any]:
        pa = optional("pyarrow", "Reading files")
        of_type = {"integer": pa.int64(), "real": pa.float64()}
        by_name = {column.name: column for column in self.columns}
        schema = pa.schema([(name, of_type.get(by_name[name].type, pa.string())) for name in names])
        selected = ", ".join(f"{self._expressions[name]} AS {quoted_name(name)}" for name in names)
        with self._connected() as connection:
            cursor = connection.execute(f"SELECT {selected} FROM {self._relation}")
            while cells := cursor.fetchmany(rows):
                arrays = [
                    pa.array(column, of.type) for column, of in zip(zip(*cells, strict=True), schema, strict=True)
                ]
                yield pa.Table.from_arrays(arrays, schema=schema)

    def count(self, memory_limit: int | None = None) -> int:
        with self._connected() as connection:
            return int(connection.execute(f"SELECT count(*) FROM {self._relation}").fetchone()[0])

    def grouped(self, names: Sequence[str]) -> Scan:
        selected = ", ".join(f"{self._expressions[name]} AS {quoted_name(name)}" for name in names)
        keys = ", ".join(str(j + 1) for j in range(len(names)))
        relation = f"(SELECT {selected}, count(*) AS {COUNT} FROM {self._relation} GROUP BY {keys})"
        return SqliteScan(self.title, self._path, relation)

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        with opened(self._path, self.title) as connection:
            yield connection


INSIDE = ("fts3", "fts4", "fts5", "rtree", "rtree_i32", "geopoly")  # modules whose tables are in the file itself
VIRTUAL = re.compile(r"CREATE\s+VIRTUAL\s+TABLE\s.*?\sUSING\s+[\"'`\[]?(\w+)", re.IGNORECASE | re.DOTALL)
READING = (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE)
PREPARED = (sqlite3.SQLITE_INSERT, sqlite3.SQLITE_UPDATE, sqlite3.SQLITE_DELETE)  # by modules; the file is read-only
ASKED = ("page_size", "data_version")  # settings that modules read


@contextmanager
def opened(path: str, title: str) -> Iterator[sqlite3.Connection]:
    """Open a connection for queries on one file, and turn SQLite's errors into ours."""
    outside: dict[str, str] = {}
    try:
        with closing(sqlite3.connect(_address(path), uri=True, check_same_thread=False)) as connection:
            connection.execute("PRAGMA trusted_schema = OFF")  # views call no function with side effects
            outside |= _virtual(connection)
            connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
            connection.set_authorizer(_authorized)
            yield connection
    except UnicodeDecodeError as error:
        raise DataError(f"{title}: its schema is damaged: a text in it is not UTF-8 ({error.reason}).") from None
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL:
            folder = os.environ.get("SQLITE_TMPDIR") or tempfile.gettempdir()
            raise disk_full(folder, "SQLite's temporary files need more space", ADVICE) from None
        module = re.search(r"no such module: (\w+)", str(error))
        names = [name for name, of in outside.items() if module is None or of == module[1]]
        if names and (module or "authoriz" in str(error) or "prohibited" in str(error)):
            raise DataError(
                f"{title}: its table {names[0]!r} is virtual (module {outside[names[0]]}) and may read other files. "
                "If you trust it, copy its rows into an ordinary table."
            ) from None
        more = " A query may only read the tables of its own file." if "authoriz" in str(error) else ""
        raise DataError(f"{title}: {error}.{more}" if more else f"{title}: {error}") from None


def _address(path: str) -> str:
    """The file as SQLite is to open it: for reading, and without leaving files beside it.

    A file in write-ahead mode whose log is gone has no writer now, and is opened without locks, which would be files.
    """
    with open(path, "rb") as file:
        logs = file.read(20)[18:20] == b"\2\2"
    alone = logs and not os.path.exists(f"{path}-wal")
    return f"{Path(path).resolve().as_uri()}?mode=ro{'&immutable=1' if alone else ''}"


def _virtual(connection: sqlite3.Connection) -> dict[str, str]:
    """The virtual tables whose rows are not in the file, with their modules."""
    rows = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table' AND sql IS NOT NULL")
    found = ((name, VIRTUAL.match(sql)) for name, sql in rows)
    return {name: match[1] for name, match in found if match and match[1].lower() not in INSIDE}


def _authorized(action: int, first: str | None, second: str | None, *where: str | None) -> int:
    """Whether SQLite may do something: read, and call functions other than load_extension."""
    if action == sqlite3.SQLITE_FUNCTION:
        fine = second not in ("load_extension", "fts3_tokenizer")
    elif action == sqlite3.SQLITE_PRAGMA:
        fine = first in ASKED and second is None
    else:
        fine = action in READING or (action in PREPARED and where[0] == "main")
    return sqlite3.SQLITE_OK if fine else sqlite3.SQLITE_DENY


def tables(path: str, title: str) -> list[str]:
    """Return the names of the tables and views of a file."""
    with opened(path, title) as connection:
        found = connection.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY name")
        return [name for (name,) in found if not name.startswith("sqlite_")]
