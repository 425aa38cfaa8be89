"""CSV files as scans: their format found from the first lines, the types of their columns from the cells.

DuckDB reads the lines. Names and types are found here, so that a table means the same from every format: DuckDB's own
names do not tell ``a`` from ``A``, and its types depend on the rows that it looks at.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halfseen.data.duckdb_reader import (
    BATCH,
    COUNT,
    CellKind,
    DuckScan,
    Scan,
    ScanColumn,
    WrongTypeGuess,
    arrow_tables,
    connected,
    quoted_file,
    quoted_name,
    quoted_text,
    without_markers,
)
from halfseen.errors import DataError, ParameterError

DELIMITERS = ",;\t|"
HEAD_BYTES = 1 << 16  # of a file, read to detect its delimiter
LONGEST = 1 << 28  # bytes of a header
BLOCK = 1 << 23  # bytes of a file searched for quotes at a time
LINE = 2_000_000  # bytes of a line, unless the header is longer
PER_THREAD = 4 << 20  # bytes of a file that a thread holds while memory is short
HEAD = 20_480  # rows from which types are inferred; a later cell that disagrees changes the type
HEAD_CELLS = 10_000_000  # of these rows, at most
FEWEST = 1000  # rows of a wide table from which types are inferred
PIECE = 1 << 19  # cells tested at a time
TRUTH = ("true", "false", "True", "False", "TRUE", "FALSE")


# ---------------------------------------------------------------------------------------------------------- the format


@dataclass(frozen=True)
class Dialect:
    """How a CSV file is written."""

    names: tuple[str, ...]
    delimiter: str = ","
    decimal: str = "."
    encoding: str = "utf-8"
    missing: tuple[str, ...] = ()
    quoting: bool = True
    line: int = LINE

    def relation(self, path: str, types: Mapping[str, str], memory_limit: int | None = None) -> str:
        """The file in DuckDB's SQL, its columns called c0, c1, ...; those without a type are text."""
        columns = ", ".join(f"c{j}: '{types.get(name, 'VARCHAR')}'" for j, name in enumerate(self.names))
        markers = ["", *self.missing, *(f" {marker}" for marker in self.missing)]
        more = f", encoding = {quoted_text(self.encoding)}" if self.encoding != "utf-8" else ""
        if memory_limit is not None or self.line > LINE:
            more += f", buffer_size = {max(PER_THREAD, 2 * self.line)}"
        quote = '"' if self.quoting else ""
        return (
            f"read_csv({quoted_file(path)}, auto_detect = false, header = true, quote = '{quote}', escape = '{quote}', "
            f"delim = {quoted_text(self.delimiter)}, decimal_separator = '{self.decimal}', "
            f"compression = '{'gzip' if is_compressed(path) else 'none'}', max_line_size = {self.line}, "
            f"nullstr = [{', '.join(map(quoted_text, markers))}], columns = {{{columns}}}{more})"
        )

    def lines(self, text: Any) -> Any:
        """A reader of the lines of a file, or of text, by Python's rules for CSV."""
        return csv.reader(text, delimiter=self.delimiter, quoting=csv.QUOTE_MINIMAL if self.quoting else csv.QUOTE_NONE)


def is_compressed(path: str) -> bool:
    """Whether a file is compressed, by its name."""
    return path.lower().endswith(".gz")


def opened(path: str) -> Any:
    """Open a file for reading bytes, decompressed."""
    return gzip.open(path, "rb") if is_compressed(path) else open(path, "rb")


def read_dialect(
    path: str, title: str, missing: tuple[str, ...], delimiter: str | None, encoding: str, quotes: bool | None = None
) -> Dialect:
    """Detect the format of a CSV file from its first lines."""
    head, n_bytes = _first_text(path, title, encoding, HEAD_BYTES)
    if delimiter is None:
        delimiter = max(DELIMITERS, key=lambda each: _fits(head, each))
    elif len(delimiter) != 1:
        raise ParameterError(f"delimiter={delimiter!r} is not one character.")
    dialect = Dialect((), delimiter, ".", encoding.lower(), missing)
    if quotes is not None:
        dialect = replace(dialect, quoting=quotes)
    elif delimiter == "\t":
        dialect = replace(dialect, quoting=quotes_cells(path, encoding))
    while n_bytes and not _ends(head, dialect):  # the header is longer than what was read
        if n_bytes > LONGEST:
            raise DataError(f"{title}: its first {LONGEST >> 20} MB have no end of a line. Is it a CSV file?")
        head, n_bytes = _first_text(path, title, encoding, 4 * n_bytes)
    names = _header(head, dialect, title)
    first = next(iter(head.splitlines()), "")
    if not any(name.strip() for name in names):
        raise DataError(f"{title}: the first line, {first[:80]!r}, has no column names.")
    names = [name if name.strip() else f"column{j}" for j, name in enumerate(names)]
    places: dict[str, int] = {}
    for j, name in enumerate(names):
        if name in places:
            raise DataError(f"{title}: the header has {name!r} twice (columns {places[name]} and {j}). Rename one.")
        places[name] = j
    return replace(dialect, names=tuple(names), line=max(LINE, 8 * len(first.encode())))


def _header(head: str, dialect: Dialect, title: str) -> list[str]:
    try:
        return next(dialect.lines(io.StringIO(head, newline="")), [])
    except csv.Error as error:
        raise DataError(f"{title}: the line of column names cannot be read: {error}.") from None


def _ends(head: str, dialect: Dialect) -> bool:
    """Whether the header ends within the text that was read: after it comes another line."""
    reader = dialect.lines(io.StringIO(head, newline=""))
    try:
        next(reader, None)
        return next(reader, None) is not None
    except csv.Error:  # what cannot be read will not be read better with more of it
        return True


def _first_text(path: str, title: str, encoding: str, n_bytes: int) -> tuple[str, int]:
    """The beginning of a file of text, cut after a whole line where there is one, and its size; 0: this is all."""
    try:
        with opened(path) as file:
            raw = file.read(n_bytes)
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{title} cannot be read: {error}.") from None
    try:
        head = codecs.getincrementaldecoder(encoding)().decode(raw)
    except LookupError:
        raise ParameterError(f"encoding={encoding!r} is not known. Try 'utf-8', 'latin-1' or 'utf-16'.") from None
    except UnicodeDecodeError as error:
        if b"\0" not in raw:
            line = len(raw[: error.start].decode("latin-1").splitlines() or [""])
            raise DataError(
                f"{title}, line {line} is not in {encoding.upper()}. Set the encoding of the file, for "
                "example encoding='latin-1'."
            ) from None
        head = "\0"
    if "\0" in head:
        advice = " It may be encoding='utf-16'." if raw[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) else ""
        raise DataError(f"{title} is not a text file: its beginning contains zero bytes.{advice}")
    last = max(head.rfind("\n"), head.rfind("\r"))
    more = len(raw) == n_bytes
    whole = head[: last + 1] if more and last >= 0 else head
    return whole.removeprefix("\ufeff"), n_bytes if more else 0


def _fits(head: str, delimiter: str) -> tuple[int, int]:
    """How well a delimiter fits the first lines: how many have as many cells as the first, and how many cells."""
    try:
        rows = csv.reader(io.StringIO(head, newline=""), delimiter=delimiter)
        widths = [len(row) for row in rows if row][:100]
    except csv.Error:
        return 0, 0
    if not widths or widths[0] < 2:
        return 0, 0
    return widths.count(widths[0]), widths[0]


def quotes_cells(path: str, encoding: str) -> bool:
    """Whether quotes enclose cells in all of a tab-separated file; else they are characters like others.

    They do if every quote opens a cell (after a tab, at the beginning of a line), closes one (before a tab or the end
    of a line), or is one of a pair inside such a cell. A file with a single 5" or "x has no quoted cells.
    """
    inside, before = False, ord("\n")  # whether a quoted cell is open, and the last byte of the block before
    with opened(path) as file:
        block = np.frombuffer(file.read(BLOCK), np.uint8)
        while len(block):
            after = np.frombuffer(file.read(BLOCK), np.uint8)
            consistent, inside = _consistent(block, inside, before, int(after[0]) if len(after) else ord("\n"))
            if not consistent:
                return False
            before, block = int(block[-1]), after
    return not inside


def _consistent(block: NDArray[np.uint8], inside: bool, before: int, after: int) -> tuple[bool, bool]:
    """Whether the quotes of a block, of which every other one opens, enclose cells; and whether a cell stays open."""
    padded = np.concatenate([[before], block, [after]])
    quotes = np.flatnonzero(block == ord('"'))
    opens = (np.arange(len(quotes)) + inside) % 2 == 0
    ends = np.isin(padded, [ord("\t"), ord("\n"), ord("\r"), ord('"'), 0xBF])  # the last of a byte order mark too
    beside = np.where(opens, ends[quotes], ends[quotes + 2])
    return bool(beside.all()), bool((len(quotes) + inside) % 2)


# ------------------------------------------------------------------------------------------------------------ the scan


class CsvScan(Scan):
    """A CSV file; types of columns are inferred from their cells.

    Numbers are read as float64: DuckDB would round a late 1.5 in a column of whole numbers.
    """

    def __init__(self, title: str, path: str, dialect: Dialect, text: Sequence[str] = ()) -> None:
        self.title = title
        self.files = (path,)
        self.size = Path(path).stat().st_size
        self._path = path
        self.text = tuple(text)
        self._known = False
        self._n_rows: Any = None
        self._dialect = dialect
        self._places = {name: j for j, name in enumerate(dialect.names)}
        rows = min(HEAD, max(FEWEST, HEAD_CELLS // len(dialect.names)))
        found = self._inspect(dialect.names, rows)
        if dialect.delimiter != "," and found.comma.any() and not found.point.any():
            self._dialect = replace(dialect, decimal=",")
            found = self._inspect(dialect.names, rows)
        empty = [name for name, seen in zip(dialect.names, found.seen, strict=True) if not seen]
        later = self._inspect(empty) if empty and found.n_rows == rows else None
        kinds = dict(zip(dialect.names, found.kinds(), strict=True))
        kinds |= {} if later is None else dict(zip(empty, later.kinds(), strict=True))
        self.columns = tuple(self._column(name, kinds[name]) for name in dialect.names)

    def _column(self, name: str, kind: CellKind) -> ScanColumn:
        return ScanColumn(name, "text") if name in self.text else ScanColumn(name, kind, "dates or times")

    def _inspect(self, names: Sequence[str], rows: int | None = None) -> _CellTests:
        """Test the cells of columns as they are written."""
        limit, memory_limit = ("", None) if rows is None else (f" LIMIT {rows}", 0)
        selected = ", ".join(f"c{self._places[name]}" for name in names)
        query = f"SELECT {selected} FROM {self._dialect.relation(self._path, {}, memory_limit)}{limit}"
        tests = _CellTests(len(names), self._dialect.decimal, self._dialect.delimiter != ",")
        with self._connected(memory_limit, len(names)) as connection:
            for table in arrow_tables(connection, query, max(FEWEST, PIECE // len(names))):
                self._check_text(table, names, tests.n_rows)
                tests.add(table)
        return tests

    def settled(self, memory_limit: int | None = None) -> CsvScan:
        if not self._known:
            try:
                counts = ", ".join(f"count({self._expression(column)})" for column in self.columns)
                with self._connected(memory_limit, len(self.columns)) as connection:
                    found = connection.execute(
                        f"SELECT count(*), {counts} FROM {self._relation(memory_limit)}"
                    ).fetchone()
                self._n_rows = found[0]
            except WrongTypeGuess:
                kinds = self._inspect(self._dialect.names).kinds()
                self.columns = tuple(map(self._column, self._dialect.names, kinds))
            self._known = True
        return self

    def batches(self, names: Sequence[str], rows: int = BATCH, memory_limit: int | None = None) -> Iterator[Any]:
        n_rows = 0
        with self._connected(memory_limit, len(names)) as connection:
            query = f"SELECT {self._selected(names)} FROM {self._relation(memory_limit)}"
            for table in arrow_tables(connection, query, rows):
                self._check_text(table, names, n_rows)
                n_rows += table.num_rows
                yield table.rename_columns(list(names))
        if len(names) == len(self.columns):
            self._known = True

    def count(self, memory_limit: int | None = None) -> int:
        if self._n_rows is None:
            with self._connected(memory_limit, len(self.columns)) as connection:
                self._n_rows = connection.execute(f"SELECT count(*) FROM {self._relation(memory_limit)}").fetchone()[0]
        return int(self._n_rows)

    def selection(self) -> str:
        """The query that gives all columns under their names, with missing cells as NULL."""
        self._check_distinct("a query")
        names = self._dialect.names
        renamed = ", ".join(f"c{j} AS {quoted_name(name)}" for j, name in enumerate(names))
        return f"SELECT {renamed} FROM (SELECT {self._selected(names)} FROM {self._relation()})"

    def grouped(self, names: Sequence[str]) -> Scan | None:
        if len({name.lower() for name in names}) < len(names):
            return None
        renamed = ", ".join(
            f"{self._expression(self.columns[self._places[name]])} AS {quoted_name(name)}" for name in names
        )
        relation = f"SELECT {renamed}, count(*) AS {COUNT} FROM {self._relation(0)} GROUP BY ALL"
        return DuckScan(self.title, f"({relation})", files=self.files)

    def line_of(self, row: int) -> int | None:
        """The line of a row; None if it cannot be found."""
        alone = len(self._dialect.names) == 1  # then an empty line is a row
        try:
            with opened(self._path) as file:
                lines = self._dialect.lines(io.TextIOWrapper(file, self._dialect.encoding, newline=""))
                begin, n_rows = 1, -1  # of which the first is the header
                for record in lines:
                    if record or (alone and n_rows >= 0):
                        if n_rows == row:
                            return begin
                        n_rows += 1
                    begin = lines.line_num + 1
        except (csv.Error, UnicodeError, OSError, EOFError, zlib.error):
            return None
        return None

    def _check_text(self, table: Any, names: Sequence[str], first: int) -> None:
        """Refuse zero bytes, wherever they are."""
        from pyarrow import compute, types

        texts = [j for j, column in enumerate(table.columns) if types.is_string(column.type)]
        for group in _groups(texts, table.num_rows):
            place = compute.index(compute.match_substring(_flat(table, group), "\0"), True).as_py()
            if place >= 0:
                column, row = divmod(place, table.num_rows)
                line = self.line_of(first + row)
                where = f"row {first + row}" if line is None else f"line {line}"
                raise DataError(
                    f"{self.title}, {where}: column {names[group[column]]!r} contains a zero byte, which text does "
                    "not. The file may be damaged, or not a CSV file."
                )

    def _check_distinct(self, use: str) -> None:
        seen: dict[str, str] = {}
        for name in self._dialect.names:
            other = seen.setdefault(name.lower(), name)
            if other != name:
                raise DataError(
                    f"{self.title}: {use} cannot tell the columns {other!r} and {name!r} apart, as SQL ignores case. "
                    "Rename one."
                )

    def _connected(self, memory_limit: int | None, n_columns: int) -> Any:
        return connected(None, memory_limit, self.title, self.files, guessed=True, n_columns=n_columns)

    def _relation(self, memory_limit: int | None = None) -> str:
        types = {column.name: "DOUBLE" for column in self.columns if column.kind == "number"}
        return self._dialect.relation(self._path, types, memory_limit)

    def _selected(self, names: Sequence[str]) -> str:
        places = [self._places[name] for name in names]
        return ", ".join(f"{self._expression(self.columns[j])} AS c{j}" for j in places)

    def _expression(self, column: ScanColumn) -> str:
        name = f"c{self._places[column.name]}"
        if column.kind == "bool":
            stray = f"CASE WHEN {name} IS NOT NULL THEN error('Could not convert ' || {name}) END"
            return f"CASE lower(trim({name}, ' ')) WHEN 'true' THEN true WHEN 'false' THEN false ELSE {stray} END"
        return without_markers(name, column.kind, self._dialect.missing)


# ----------------------------------------------------------------------------------------------------------- the types

EXPONENT = r"([eE][+-]?\d+)?"
NUMBER = rf"[+-]?((0|[1-9]\d*){EXPONENT}|\d+[eE][+-]?\d+|(\d+\.\d*|\.\d+){EXPONENT})|[+-]?(?i:inf|infinity)|(?i:nan)"
HUGE = r"[eE]\+?\d{3,}|\d{300,}"  # numbers that may be too large for float64
COMMA = r"[+-]?\d+,\d+"
POINT = r"[+-]?\d+\.\d+"
DATE = r"(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{4}|\d{1,2}/\d{1,2}/\d{2})([ T]\d{1,2}:\d{2}.*)?"
TIME = r"([01]?\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d+)?)?"


class _CellTests:
    """Tests of all observed cells of D columns so far, (D,) each: `comma` and `point` of some, the others of all.

    A number has no zeros before its first digit: 007 is a name.
    """

    def __init__(self, n_columns: int, decimal: str, semicolons: bool) -> None:
        self.n_rows = 0
        self._decimal = decimal
        self._semicolons = semicolons
        self.seen, self.comma, self.point = np.zeros((3, n_columns), dtype=bool)
        self.number, self.truth, self.date = np.ones((3, n_columns), dtype=bool)

    def kinds(self) -> list[CellKind]:
        """What the cells of each column are; a column without any may hold numbers."""
        return [
            "number" if number or not seen else "bool" if truth else "date" if date else "text"
            for seen, number, truth, date in zip(self.seen, self.number, self.truth, self.date, strict=True)
        ]

    def add(self, table: Any) -> None:
        """Test the cells of some rows, as an Arrow table of texts."""
        if not table.num_rows:
            return
        self.n_rows += table.num_rows
        self.seen |= np.array([column.null_count < len(column) for column in table.columns])
        for group in _groups(range(table.num_columns), table.num_rows):
            self._add_group(_trimmed(table, group), np.array(group))

    def _add_group(self, cells: Any, columns: NDArray[np.intp]) -> None:
        if self._semicolons:
            self.comma[columns] |= _by_column(_match(cells, COMMA), len(columns), False).any(axis=1)
            self.point[columns] |= _by_column(_match(cells, POINT), len(columns), False).any(axis=1)
        self.number[columns] &= _by_column(self._numbers(cells), len(columns), True).all(axis=1)
        words = ~self.number[columns] & (self.truth | self.date)[columns]
        if words.any():
            self._add_words(cells.filter(np.repeat(words, len(cells) // len(columns))), columns[words])

    def _add_words(self, cells: Any, columns: NDArray[np.intp]) -> None:
        from pyarrow import array, compute

        truth = compute.or_(compute.is_in(cells, value_set=array(TRUTH)), compute.is_null(cells))
        self.truth[columns] &= _by_column(truth, len(columns), True).all(axis=1)
        self.date[columns] &= _by_column(_match(cells, f"{DATE}|{TIME}"), len(columns), True).all(axis=1)

    def _numbers(self, cells: Any) -> Any:
        """Which cells are numbers that float64 can hold."""
        from pyarrow import array, compute

        if self._decimal == ",":
            cells = compute.replace_substring(cells, ",", ".")
        found = _match(cells, NUMBER)
        huge = compute.fill_null(compute.and_(found, compute.match_substring_regex(cells, HUGE)), False)
        if not compute.any(huge).as_py():
            return found
        fits = [None if cell is None else np.isfinite(float(cell)) for cell in cells.filter(huge).to_pylist()]
        return compute.replace_with_mask(found, huge, array(fits))


def _groups(columns: Sequence[int], n_rows: int) -> Iterator[list[int]]:
    """Some columns at a time: enough cells for one call, and not too many for memory."""
    size = max(1, PIECE // max(1, n_rows))
    return (list(columns[first : first + size]) for first in range(0, len(columns), size))


def _flat(table: Any, columns: Sequence[int]) -> Any:
    """The cells of some columns, one column after the other."""
    import pyarrow as pa

    return pa.concat_arrays([chunk for j in columns for chunk in table.column(j).chunks])


def _trimmed(table: Any, columns: Sequence[int]) -> Any:
    """The same without blanks around the cells."""
    from pyarrow import compute

    return compute.utf8_trim(_flat(table, columns), " ")


def _match(cells: Any, pattern: str) -> Any:
    from pyarrow import compute

    return compute.match_substring_regex(cells, rf"\A({pattern})\z")


def _by_column(found: Any, n_columns: int, missing: bool) -> NDArray[np.bool_]:
    """Answers for cells as an array (D, n), with one for missing cells."""
    from pyarrow import compute

    flat = compute.fill_null(found, missing).to_numpy(zero_copy_only=False)
    return np.asarray(flat, dtype=bool).reshape(n_columns, -1)
