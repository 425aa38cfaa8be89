"""Tables in files: opened without being read, then read whole or, if they do not fit into memory, in batches.

============================= =====================================================================================
``.csv .csv.gz .tsv .txt``    text with a delimiter; the first line has the names; an empty cell is missing
``.parquet .pq``              Parquet
``.arrow .feather``           Arrow files; they keep declared levels
``.jsonl .ndjson .json``      JSON, an object for each row
``.duckdb .db``               a DuckDB file: a table or a query
``.sqlite .sqlite3 .db``      a SQLite file: a table or a query
``.sav .zsav .por .dta``      SPSS and Stata, read whole: value labels are categories
``.sas7bdat .xpt``            SAS, read whole
``-`` or a file-like object   CSV from standard input or from the object
============================= =====================================================================================
"""

from __future__ import annotations

import difflib
import logging
import os
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import narwhals as nw

from halfseen.data import arrow_table, several_files, sqlite, stat_files
from halfseen.data.csv_file import HEAD_BYTES, CsvScan, read_dialect
from halfseen.data.duckdb_reader import (
    BATCH,
    DuckScan,
    Scan,
    ScanColumn,
    WrongTypeGuess,
    check_query,
    connected,
    named_files,
    quoted_file,
    quoted_name,
)
from halfseen.data.frames import Source, read
from halfseen.data.memory import read_memory
from halfseen.data.parquet import ParquetScan, column_names
from halfseen.data.stream import PART, StreamSource, loaded, no_rows
from halfseen.datasets import path_of
from halfseen.disk import enough_space, size_text
from halfseen.errors import DataError, ParameterError
from halfseen.temporary import ADVICE, TemporaryFolder

__all__ = ["FileTable", "open_table"]

log = logging.getLogger("halfseen")

MIXED = ("holds JSON", "holds integer and text", "holds real and text", "holds integer and real and text")
EXAMPLE = "example:"  # before the name of a table that comes with the library
OF_TEXT = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz")
OF_DATABASES = (".duckdb", ".sqlite", ".sqlite3", ".db")
WITH_LABELS = (".sav", ".zsav", ".por", ".dta")
SUFFIXES = (
    *OF_TEXT, ".parquet", ".pq", ".jsonl", ".ndjson", ".json", *OF_DATABASES, *stat_files.SUFFIXES,
    *arrow_table.SUFFIXES,
)  # fmt: skip


def open_table(
    path: Any = None,
    *,
    glob: str | None = None,
    sql: str | None = None,
    missing: Iterable[Any] = (),
    ignore: Iterable[str] = (),
    text: Iterable[str] = (),
    codes: Iterable[str] = (),
    weight: str | None = None,
    target: str | None = None,
    delimiter: str | None = None,
    encoding: str = "utf-8",
    quotes: bool | None = None,
    memory: int | str | None = None,
) -> FileTable:
    r"""Open a table in a file, of any size, for `fit`, `predict` and the rest; or one in memory, to say what is in it.

    Only the beginning of the file is read now. A table that fits into memory is read whole when it is needed; a
    larger one is read in batches and kept, encoded, in temporary files.

    Parameters
    ----------
    path : str, Path, file-like object or data frame
        CSV (.csv, .tsv, .txt, also with .gz), Parquet (.parquet, .pq), JSON (.jsonl, .ndjson, .json), DuckDB (.duckdb,
        .db), SQLite (.sqlite, .sqlite3, .db), Arrow (.arrow, .feather), SPSS (.sav, .zsav, .por), Stata (.dta) or SAS
        (.sas7bdat, .xpt); the last three are read whole and need the extra halfseen[stats]. A folder is one table: all
        its files of CSV, Parquet or JSON, and those of the folders in it (year=2026/part.parquet has a column year).
        "-" is CSV on standard input, "example:penguins" and "example:votes" are tables that come with the library.
        A data frame of pandas, Polars or Arrow, an array or a list of rows is copied, for the options below. Needs the
        extra: halfseen[app].
    glob : str, optional
        In place of a path: a pattern, of which all files that match are one table: ``"visits/2026-*.parquet"``.
    sql : str, optional
        A query. Without a path DuckDB runs it, and it names its files: "SELECT * FROM 'a.csv' JOIN 'b.parquet' USING
        (id)". With a database file it runs there; the name of a table will do. With another file the file is the
        table ``data``.
    missing : list of str or numbers
        Cells that mean missing, in every column: ["?", "NA", -99]. The empty cell of a CSV file always does.
    ignore : list of str
        Columns to leave out.
    text : list of str
        Columns to read as text, also if their cells look like numbers.
    codes : list of str
        Of a file of SPSS or Stata: columns of which the codes are read (1, 2, 3), not the value labels.
    weight : str, optional
        The column with the weight of each row.
    target : str, optional
        The column with the labels: `y` of a classifier, `labels` of `LatentClass`; a missing value is a row without a
        label.
    delimiter : str, optional
        Of a CSV file; by default detected: comma, semicolon, tab or bar.
    encoding : str, default "utf-8"
        Of a CSV file.
    quotes : bool, optional
        Of a CSV file: whether quotes enclose cells; False: they are characters like others. By default they do, except
        in a tab-separated file with quotes that cannot.
    memory : int or str, optional
        Bytes ("500MB") that a table may take; by default half of the free memory.

    Returns
    -------
    FileTable

    Examples
    --------
    >>> import io
    >>> import halfseen as hs
    >>> table = hs.open_table(io.StringIO("color,size\nred,1.5\n?,2.5\nblue,\n"), missing=["?"])
    >>> table
    FileTable('the data given', columns: color (text), size (number))
    >>> hs.LatentClass(1, random_state=0).fit(table).columns_
    {'color': 'categorical', 'size': 'gaussian'}
    """
    markers = tuple(str(marker) for marker in _listed("missing", missing) if marker is not None and marker == marker)
    as_text = tuple(map(str, _listed("text", text)))
    as_codes = tuple(map(str, _listed("codes", codes)))
    limit = read_memory(memory)
    if _is_table(path):
        if sql is not None or glob is not None or as_codes:
            raise ParameterError("open_table: sql=, glob= and codes= are for files.")
        own = arrow_table.ArrowScan("the table given", arrow_table.arrow_of(path), markers, as_text)
        _check_known("text", as_text, own)
        return FileTable(own, memory=limit, weight=weight, target=target).without(_listed("ignore", ignore))
    source, title, keep = _located(path)
    several = _several(path, glob)
    if several:
        title = glob or title
        scan: Scan = _scan_several(several, title, sql, markers, as_text, delimiter, encoding, quotes)
    elif source is None:
        if not isinstance(sql, str):
            raise ParameterError("open_table: give a path, or a query as sql=.")
        check_query(sql, "the query")
        scan = DuckScan("the query", _subquery(sql), markers, as_text, files=named_files(sql))
    else:
        if _known_suffix(source) in stat_files.SUFFIXES:
            scan = _stat_scan(source, title, sql, markers, as_text, as_codes, limit)
        else:
            scan = _scan(source, title, sql, markers, as_text, delimiter, encoding, quotes)
    if as_codes and not isinstance(scan, stat_files.StatScan):
        raise ParameterError(f"codes={list(as_codes)} is for files with value labels: {', '.join(WITH_LABELS)}.")
    table = FileTable(scan, memory=limit, weight=weight, target=target, keep=keep)
    _check_known("text", as_text, scan)
    _check_known("codes", as_codes, scan)
    for note in table.notes:
        log.info(note)
    return table.without(_listed("ignore", ignore))


class FileTable:
    """A table in a file, read when it is needed. Made by `open_table`; estimators accept it like any table.

    Attributes
    ----------
    names : tuple of str     its columns, without those ignored, the weight and the target
    n_rows : int             number of rows; counted at the first access
    """

    def __init__(
        self,
        scan: Scan,
        *,
        memory: int,
        ignored: Sequence[str] = (),
        weight: str | None = None,
        target: str | None = None,
        keep: Any = None,
    ) -> None:
        self._scan = scan
        self._memory = memory
        self._ignored = tuple(ignored)
        self._keep = keep
        self._use(weight, target)

    def _use(self, weight: str | None, target: str | None) -> None:
        for option, name in (("weight", weight), ("target", target)):
            if name is not None:
                _check_known(option, [name], self._scan)
        if weight is not None and weight == target:
            raise ParameterError(f"weight={weight!r} and target={target!r} are the same column.")
        self._weight = weight
        self._target = target

    def __repr__(self) -> str:
        shown = [f"{column.name} ({column.kind})" for column in self._features()]
        more = f", ... {len(shown) - 8} more" if len(shown) > 8 else ""
        return f"{type(self).__name__}({self._scan.title!r}, columns: {', '.join(shown[:8])}{more})"

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that models are fitted to."""
        return tuple(column.name for column in self._features())

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self._scan.count()

    def _features(self) -> list[ScanColumn]:
        apart = {*self._ignored, self._weight, self._target}
        return [column for column in self._scan.columns if column.name not in apart]

    def without(self, columns: Iterable[str]) -> FileTable:
        """The same table without some columns."""
        left_out = list(columns)
        _check_known("ignore", left_out, self._scan)
        found = copy(self)
        found._ignored = (*self._ignored, *left_out)
        return found

    def using(self, weight: str | None = None, target: str | None = None) -> FileTable:
        """The same table with other columns as weight and target."""
        found = copy(self)
        found._use(weight, target)
        return found

    def first(self, rows: int) -> FileTable:
        """The same table with its first rows only."""
        found = copy(self)
        found._scan = self._scan.first(rows)
        return found

    @property
    def memory(self) -> int:
        """Bytes of memory that the table may take."""
        return self._memory

    def batches(self, rows: int = BATCH, *, everything: bool = False, within_memory: bool = False) -> Iterator[Any]:
        r"""Batches of rows, as Arrow tables: to predict or impute tables that do not fit into memory.

        Parameters
        ----------
        rows : int
            The largest number of rows of a batch.
        everything : bool
            Whether ignored columns, the weight and the target are included, to be written next to the results.
        within_memory : bool
            Whether reading itself takes no more than a part of the memory for tables.

        Examples
        --------
        >>> import io
        >>> import halfseen as hs
        >>> [batch.num_rows for batch in hs.open_table(io.StringIO("a\n1\n2\n3\n")).batches(2)]
        [2, 1]
        """
        self._scan.settled()
        names = [column.name for column in self._scan.columns] if everything else self._checked()
        for batch in self._scan.batches(names, rows, self._memory // PART if within_memory else None):
            for first in range(0, batch.num_rows, rows):
                yield batch.slice(first, rows)

    def __halfseen_source__(self) -> Source:
        """Read the table: whole if it fits into memory, else batch by batch."""
        try:
            return self._loaded()
        except WrongTypeGuess:  # a later row is of another type than the first ones: infer the types from all rows
            self._scan.settled()
            return self._loaded()

    @property
    def columns(self) -> list[str]:
        """All columns of the file."""
        return [column.name for column in self._scan.columns]

    def __halfseen_frame__(self, also: Sequence[str] = (), within_memory: bool = False) -> Any:
        """Read the whole table, as an Arrow table, with some columns that are not features.

        None if it needs more than the memory for tables, and has to stay `within_memory`.
        """
        import pyarrow as pa

        _check_known("columns", also, self._scan)
        names = self.without(name for name in also if name in self.names)._checked()
        limit = self._memory if within_memory else None
        if limit is not None and self._scan.size > limit:
            return None
        batches, size = [], 0
        for batch in self._scan.settled().batches([*also, *names], BATCH):
            batches.append(batch)
            size += batch.nbytes
            if limit is not None and 3 * size > limit:  # the table, its encoded blocks, and a copy of them
                return None
        if not batches:
            raise no_rows(self._scan)
        return pa.concat_tables(batches)

    def __halfseen_stream__(self, also: Sequence[str], only: bool = False) -> StreamSource:
        """The table as a stream, with some columns that are not features, or these only."""
        names = [] if only else self.without(name for name in also if name in self.names)._checked()
        part = self._memory // PART
        scan = self._scan.settled(part)
        return StreamSource(scan, [*also, *names], self._memory, scan.count(part), keep=self._keep)

    def parts(self, also: Sequence[str] = ()) -> list[FilePart]:
        """Parts of the table for other processes to read: row groups of Parquet, files of CSV, else all rows.

        They depend on the files alone. `also` names columns beside those of the table.
        """
        own = [name for name in (*also, self._weight, self._target) if name is not None]
        return [FilePart(scan, (*self._checked(), *own)) for scan in self._scan.parts()]

    @property
    def notes(self) -> tuple[str, ...]:
        """What was done while the file was opened, in sentences: codes that mean missing, its weight variable."""
        return self._scan.notes

    @property
    def labels(self) -> dict[str, str]:
        """The labels that the file has for its columns; empty for most formats."""
        return dict(self._scan.labels)

    @property
    def roles(self) -> dict[str, str | None]:
        """The columns with weights and labels, which are part of `parts`."""
        return {"weight": self._weight, "target": self._target}

    def _loaded(self) -> Source:
        return loaded(self._scan, self._checked(), self._memory, self._weight, self._target, self._keep)

    def head(self, rows: int) -> Source:
        """The first rows, in memory."""
        import pyarrow as pa

        readable = [column.name for column in self._features() if column.kind not in ("date", "other")]
        if not readable:
            raise DataError(f"{self._scan.title} has no column left to fit to: all are set aside, or hold dates.")
        found, n_rows = [], 0
        for batch in self._scan.settled().batches(readable, min(rows, BATCH)):
            found.append(batch.slice(0, rows - n_rows))
            n_rows += found[-1].num_rows
            if n_rows >= rows:
                break
        if not n_rows:
            raise no_rows(self._scan)
        return read(pa.concat_tables(found))

    def unreadable(self) -> list[tuple[str, str]]:
        """Columns that a model cannot be fitted to, and why."""
        why = {"date": "holds dates or times", "other": "holds {}"}
        return [
            (column.name, why[column.kind].format(column.type))
            for column in self._features()
            if column.kind in ("date", "other")
        ]

    def _checked(self) -> list[str]:
        """The names of the features, all of which can be read."""
        if not self.names:
            raise DataError(f"{self._scan.title} has no column left to fit to: all are ignored, weight or target.")
        if unreadable := self.unreadable():
            name, why = unreadable[0]
            more = f" (and {len(unreadable) - 1} more such columns)" if len(unreadable) > 1 else ""
            advice = f"Leave it out: ignore=[{name!r}]"
            if why in MIXED:
                advice += "; if some of its cells mean missing, name them: missing=[...]"
            if why == "holds dates or times":
                advice += f"; read it as categories: text=[{name!r}]; or convert it to numbers in a query: sql="
            raise DataError(f"{self._scan.title}: column {name!r} {why}{more}. {advice}.")
        return list(self.names)


@dataclass(frozen=True)
class FilePart:
    """Some rows of a table in files, which other processes can read if they see the files.

    Attributes
    ----------
    scan : Scan
    names : tuple of str     columns
    """

    scan: Scan
    names: tuple[str, ...]

    @property
    def title(self) -> str:
        """What the table is called in messages."""
        return self.scan.title

    @property
    def files(self) -> Sequence[str]:
        """The files that are read."""
        return self.scan.files

    def __call__(self) -> Any:
        """Read them, as an Arrow table."""
        import pyarrow as pa

        found = list(self.scan.settled().batches(self.names))
        return pa.concat_tables(found) if found else pa.table({name: pa.nulls(0) for name in self.names})


# ----------------------------------------------------------------------------------------------------- finding a table


def _is_table(path: Any) -> bool:
    """Whether what was given is a table in memory: a data frame, an array, or a list of rows."""
    if path is None or isinstance(path, str | os.PathLike | bytes) or hasattr(path, "read"):
        return False
    lazy = hasattr(path, "collect") or hasattr(path, "compute")  # refused with advice where it is read
    return (
        isinstance(path, list | tuple) or hasattr(path, "__array__") or lazy or nw.dependencies.is_into_dataframe(path)
    )


def _located(path: Any) -> tuple[str | None, str, Any]:
    """Return where the data is, its name in messages, and an object that keeps a temporary copy alive."""
    if path is None:
        return None, "", None
    if isinstance(path, str) and path == "-":
        return _spooled(sys.stdin.buffer, "standard input")
    if hasattr(path, "read"):
        return _spooled(path, str(getattr(path, "name", "the data given")))
    if not isinstance(path, (str, os.PathLike)):
        raise ParameterError(f"open_table: {path!r:.80} is not a path, '-' or a file-like object.")
    if isinstance(path, str) and path.startswith(EXAMPLE):
        return path_of(path.removeprefix(EXAMPLE)), path, None
    found = Path(path)
    if found.is_dir():
        return str(found), str(path), None
    if not found.exists():
        near = difflib.get_close_matches(found.name, _neighbours(found.parent), n=1)
        raise DataError(f"there is no file {path}." + (f" Did you mean {found.parent / near[0]}?" if near else ""))
    if not found.stat().st_size:
        raise DataError(f"{path} is empty.")
    title = str(path).encode(errors="backslashreplace").decode()
    return (str(found), title, None) if _can_be_written(str(found)) else _linked(found, title)


def _several(path: Any, glob: str | None) -> list[str]:
    """Return the files of a folder or of a pattern; none where one file is meant."""
    if glob is not None:
        if path is not None:
            raise ParameterError("open_table: give a path or glob=, not both.")
        found = several_files.matching(glob, _known_suffix)
    elif isinstance(path, str | os.PathLike) and path != "-" and os.path.isdir(path):
        found = several_files.inside(os.fspath(path), _known_suffix)
    else:
        return []
    odd = next((each for each in found if not _can_be_written(each)), None)
    if odd is not None:
        raise DataError(f"{odd!a}: DuckDB cannot be given this name among several files. Rename the file.")
    return found


def _scan_several(
    files: list[str],
    title: str,
    sql: str | None,
    missing: tuple[str, ...],
    text: tuple[str, ...],
    delimiter: str | None,
    encoding: str,
    quotes: bool | None,
) -> Scan:
    """Return the scan of several files of one format."""
    suffix = _known_suffix(files[0])
    if suffix in OF_DATABASES:
        raise DataError(f"{title}: databases cannot be read as one table. Open one of them, or join them in a query.")
    if suffix in (*stat_files.SUFFIXES, *arrow_table.SUFFIXES):
        raise DataError(f"{title}: {suffix} files cannot be read as one table. Open one of them, or convert them.")
    if suffix in OF_TEXT:
        if sql is not None:
            raise ParameterError("sql= with several files of text: name them in the query, FROM 'folder/*.csv'.")

        def one(path: str, as_text: Sequence[str]) -> CsvScan:
            scan = _scan(path, path, None, missing, tuple(as_text), delimiter, encoding, quotes)
            assert isinstance(scan, CsvScan)
            return scan

        return several_files.TextFiles(title, one, files, text)
    if suffix in (".parquet", ".pq"):
        several_files.check_columns({path: column_names(path) for path in files})
        scan: DuckScan = ParquetScan(title, files, missing, text, together=True)
    else:
        lines = "" if suffix == ".json" else ", format = 'newline_delimited'"
        listed = "[" + ", ".join(map(quoted_file, files)) + "]"
        relation = f"read_json({listed}{lines}, union_by_name = true, sample_size = -1)"
        scan = DuckScan(title, relation, missing, text, files=files)
        scan.size = sum(os.path.getsize(path) for path in files)
    return scan if sql is None else _view(scan, sql, missing, text)


def _can_be_written(path: str) -> bool:
    """Whether DuckDB can be given a path as it is: text, without a backslash, which it takes for a slash."""
    return path.encode(errors="replace").decode() == path and (os.sep == "\\" or "\\" not in path)


def _linked(path: Path, title: str) -> tuple[str, str, Any]:
    """Give a file a name that can be written: a link, or a copy of a database, as DuckDB follows links by name."""
    folder = TemporaryFolder()
    suffix = _known_suffix(path.name)
    named = Path(folder.name, f"data{suffix}")
    if suffix in OF_DATABASES:
        with enough_space(os.path.dirname(folder.name), lambda: _needs(path), ADVICE):
            shutil.copyfile(path, named)
    else:
        named.symlink_to(path.absolute())
    return str(named), title, folder


def _needs(path: Path) -> str:
    return f"a copy of {path.name} needs {size_text(path.stat().st_size)}"


def _neighbours(folder: Path) -> list[str]:
    try:
        return [entry.name for entry in folder.iterdir()]
    except OSError:
        return []


def _known_suffix(name: str) -> str:
    """The longest of our extensions that a name ends with."""
    return max((suffix for suffix in SUFFIXES if name.lower().endswith(suffix)), key=len, default="")


def _spooled(stream: Any, title: str) -> tuple[str, str, Any]:
    """Copy a stream into a temporary file: a table is read more than once."""
    folder = TemporaryFolder()
    path = Path(folder.name, "data" + (_known_suffix(title) or ".csv"))
    first = stream.read(HEAD_BYTES)

    def needed() -> str:
        return f"a copy of {title} needs more than {size_text(path.stat().st_size if path.exists() else 0)}"

    with enough_space(os.path.dirname(folder.name), needed, ADVICE), path.open("wb") as file:
        if isinstance(first, str):
            file.write(_encoded(first, title))
            while more := stream.read(HEAD_BYTES):
                file.write(_encoded(more, title))
        else:
            file.write(first)
            shutil.copyfileobj(stream, file)
    if not path.stat().st_size:
        raise DataError(f"{title} is empty.")
    return str(path), title, folder


def _encoded(text: str, title: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise DataError(
            f"{title}: {text[error.start]!a} is not valid text: half of a pair (a lone surrogate)."
        ) from None


def _scan(
    path: str,
    title: str,
    sql: str | None,
    missing: tuple[str, ...],
    text: tuple[str, ...],
    delimiter: str | None,
    encoding: str,
    quotes: bool | None,
) -> Scan:
    """Return the scan of a file, by its extension."""
    name = Path(path).name.lower()
    if name.endswith(OF_DATABASES):
        return _database(path, title, sql, missing, text)
    if name.endswith(OF_TEXT):
        if delimiter is None and ".tsv" in name:
            delimiter = "\t"
        dialect = read_dialect(path, title, missing, delimiter, encoding, quotes)
        scan: Scan = CsvScan(title, path, dialect, text)
        return scan if sql is None else _view(scan, sql, missing, text)
    if name.endswith(arrow_table.SUFFIXES):
        if sql is not None:
            raise ParameterError(
                f"sql= cannot be used with {title}: DuckDB does not read Arrow files. Convert it first."
            )
        return arrow_table.ArrowScan(title, path, missing, text)
    if name.endswith((".parquet", ".pq")):
        scan = ParquetScan(title, [path], missing, text)
    elif name.endswith((".jsonl", ".ndjson", ".json")):
        lines = "" if name.endswith(".json") else "format = 'newline_delimited', "
        scan = DuckScan(title, f"read_json({quoted_file(path)}, {lines}sample_size = -1)", missing, text, files=[path])
        scan.size = Path(path).stat().st_size
    else:
        raise DataError(f"{title}: the extension is not one of: {', '.join(SUFFIXES)}. Rename the file.")
    _check_names(scan, path)
    return scan if sql is None else _view(scan, sql, missing, text)


def _stat_scan(
    path: str,
    title: str,
    sql: str | None,
    missing: tuple[str, ...],
    text: tuple[str, ...],
    codes: tuple[str, ...],
    memory: int,
) -> Scan:
    """Return the scan of a file of SPSS, Stata or SAS."""
    if sql is not None:
        raise ParameterError(f"sql= cannot be used with {title}: DuckDB does not read its format. Convert it first.")
    return stat_files.StatScan(title, path, missing, text, codes, memory)


def _check_names(scan: DuckScan, path: str) -> None:
    """Refuse names that differ in case only, of which DuckDB renames one in silence: a and A become a and A_1."""
    names = [column.name for column in scan.columns]
    lower = {name.lower(): name for name in names}
    renamed = [name for name in names if (base := re.fullmatch(r"(.+)_\d+", name)) and base[1].lower() in lower]
    if not renamed:
        return
    if isinstance(scan, ParquetScan):
        own = column_names(path)
    else:
        keys = f"SELECT unnest(json_keys(json)) AS name FROM read_json_objects({quoted_file(path)})"
        own = [name for (name,) in scan.rows_of(f"SELECT DISTINCT name FROM ({keys})")]
    for name in renamed:
        other = lower[re.sub(r"_\d+$", "", name).lower()]
        if name not in own:
            same = next(each for each in own if each.lower() == other.lower() and each != other)
            raise DataError(f"{scan.title}: its columns {other!r} and {same!r} differ in case only. Rename one.")


def _view(scan: Scan, sql: str, missing: tuple[str, ...], text: tuple[str, ...]) -> Scan:
    """A query over one file, the table `data`."""
    assert isinstance(scan, DuckScan | CsvScan)
    check_query(sql, scan.title)
    scan.settled()
    view = f"CREATE TEMP VIEW data AS {scan.selection()}"
    return DuckScan(scan.title, _subquery(sql), missing, text, before=view, files=scan.files)


def _database(path: str, title: str, sql: str | None, missing: tuple[str, ...], text: tuple[str, ...]) -> Scan:
    with open(path, "rb") as file:
        magic = file.read(16)
    if magic.startswith(b"SQLite format 3"):
        relation = _relation(sql, sqlite.tables(path, title), title)
        return sqlite.SqliteScan(title, path, relation, missing, text)
    if magic[8:12] != b"DUCK":
        raise DataError(f"{title} is neither a DuckDB nor a SQLite file: its first bytes are {magic[:8]!r}.")
    with connected(path, None, title) as connection:
        found = connection.execute("SELECT table_name FROM information_schema.tables ORDER BY 1").fetchall()
    tables = [name for (name,) in found]
    if sql is not None and sql not in tables:
        check_query(sql, title)
    return DuckScan(title, _relation(sql, tables, title), missing, text, database=path)


def _relation(sql: str | None, tables: Sequence[str], title: str) -> str:
    """The expression after FROM: the named table, the only table, or a query."""
    if sql is not None:
        return quoted_name(sql) if sql in tables else _subquery(sql)
    if len(tables) == 1:
        return quoted_name(tables[0])
    listed = ", ".join(tables[:10]) + (", ..." if len(tables) > 10 else "")
    raise DataError(f"{title} has {len(tables)} tables ({listed}). Name one, or give a query: sql=.")


def _subquery(sql: str) -> str:
    return f"({sql.strip().rstrip(';')}\n)"  # a new line ends a comment


def _check_known(option: str, names: Iterable[str], scan: Scan) -> None:
    known = [column.name for column in scan.columns]
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(str(name), known, n=1, cutoff=0.0)
            raise DataError(f"{option}: {scan.title} has no column {name!r}. Did you mean {near[0]!r}?")


def _listed(option: str, values: Any) -> list[Any]:
    if isinstance(values, str):
        raise ParameterError(f"{option}={values!r}: give a list, [{values!r}].")
    return list(values)
