"""Writing tables: CSV, TSV, Parquet and JSON lines, whole or batch by batch, never a partial file.

Rows go into a temporary file in the same folder, which replaces the target when all is written.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

import narwhals as nw

from halfseen.disk import is_of_disk
from halfseen.errors import DataError, DiskError
from halfseen.optional import optional
from halfseen.whole_file import whole_file

__all__ = ["TableWriter", "write_table"]

LINES = 1 << 14  # made at a time
FORMULA = "^[=+\\-@\t\r]"  # the beginning of what a spreadsheet takes for a formula
SUFFIXES = (".csv", ".tsv", ".parquet", ".pq", ".jsonl", ".ndjson")


def write_table(frame: Any, path: Any, safe_csv: bool = False) -> None:
    """Write a table into a file, by its extension: .csv, .tsv, .parquet, .jsonl; "-" is CSV on standard output.

    Parameters
    ----------
    frame : data frame, Arrow table, or mapping from names to columns
    path : str or Path
    safe_csv : bool
        As in `TableWriter`.

    Examples
    --------
    >>> write_table({"name": ["a", None], "share": [0.25, 3.0]}, "-")
    name,share
    a,0.25
    ,3
    """
    with TableWriter(path, safe_csv) as out:
        out.append(frame)


class TableWriter:
    """A file that tables are appended to; it appears, complete, when the `with` block ends without an error.

    Parameters
    ----------
    path : str or Path
    safe_csv : bool
        Put a single quote before texts and names of CSV and TSV files that begin with ``=``, ``+``, ``-``, ``@``, a tab
        or a carriage return: spreadsheets would run them as formulas. Numbers stay as they are.

    Examples
    --------
    >>> with TableWriter("-") as out:
    ...     for part in ({"a": [1, 2], "b": ["x", "y, z"]}, {"a": [None], "b": ["z"]}):
    ...         out.append(part)
    a,b
    1,x
    2,"y, z"
    ,z
    """

    def __init__(self, path: Any, safe_csv: bool = False) -> None:
        self._safe = safe_csv
        self._path = None if str(path) == "-" else Path(path)
        if self._path is not None and not self._path.name.lower().endswith(SUFFIXES):
            raise DataError(f"{path}: the extension is not one of those that can be written: {', '.join(SUFFIXES)}.")
        self._file: Any = None
        self._schema: Any = None
        self._sink: Any = None
        self._open = ExitStack()

    def __enter__(self) -> Self:
        optional("pyarrow", "Writing tables")
        if self._path is None:
            self._file = _StandardOutput()
            return self
        if self._path.is_dir():
            raise DataError(f"{self._path} is a folder. Give the name of a file in it.")
        try:
            self._file = self._open.enter_context(whole_file(self._path))
        except DiskError:
            raise
        except OSError as error:
            raise DataError(f"{self._path} cannot be written: {error.strerror}. Choose another path.") from None
        return self

    def append(self, frame: Any) -> None:
        """Append rows; the first ones define the columns."""
        table = as_arrow(frame)
        if self._schema is None:
            self._schema = table.schema
            self._sink = _sink(self._path, self._file, table.schema, self._safe)
            if self._path is not None:
                self._open.callback(self._sink.close)
        elif table.schema != self._schema:
            table = _cast(table, self._schema)
        try:
            self._sink.write(table)
        except OSError as error:
            if isinstance(error, BrokenPipeError) or is_of_disk(error):  # which the file itself explains
                raise
            raise DataError(f"{self._path or 'standard output'} cannot be written: {error.strerror}.") from None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._path is not None:
            self._open.__exit__(kind, error, trace)
            return
        if self._sink is not None and kind is None:
            self._sink.close()
        self._file.close()


class _StandardOutput:
    """Standard output as a file of bytes, or an object that replaces it."""

    def write(self, data: bytes) -> int:
        binary: BinaryIO | None = getattr(sys.stdout, "buffer", None)
        if binary is None:
            sys.stdout.write(bytes(data).decode())
        else:
            sys.stdout.flush()
            binary.write(data)
        return len(data)

    def flush(self) -> None:
        sys.stdout.flush()

    def close(self) -> None:
        sys.stdout.flush()

    closed = False


def _sink(path: Path | None, file: Any, schema: Any, safe: bool) -> Any:
    """Return what writes Arrow tables of a schema into a file."""
    name = "-.csv" if path is None else path.name.lower()
    if name.endswith((".parquet", ".pq")):
        from pyarrow import parquet

        return parquet.ParquetWriter(file, schema)
    if name.endswith((".jsonl", ".ndjson")):
        return _JsonLines(file.write)
    return _Delimited(file.write, "\t" if name.endswith(".tsv") else ",", schema.names, safe)


class _Delimited:
    """CSV: missing cells are empty, quotes only where needed, 3.0 is 3.

    (Arrow's own writer puts quotes around all text.)
    """

    def __init__(self, write: Callable[[bytes], Any], delimiter: str, names: Sequence[str], safe: bool) -> None:
        import pyarrow as pa

        self._write = write
        self._safe = safe
        self._delimiter = delimiter
        header = pa.table([pa.array([name]) for name in names], names=[str(j) for j in range(len(names))])
        self.write(header)

    def write(self, table: Any) -> None:
        import pyarrow as pa
        from pyarrow import compute

        for part in table.combine_chunks().to_batches(LINES):
            cells = [self._text(column) for column in part.columns]
            lines = compute.binary_join_element_wise(*cells, self._delimiter)
            whole = pa.ListArray.from_arrays([0, len(lines)], lines)
            self._write(compute.binary_join(whole, "\n")[0].as_buffer().to_pybytes())
            self._write(b"\n")

    def _text(self, column: Any) -> Any:
        import pyarrow as pa
        from pyarrow import compute

        text = column.cast(pa.string())
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            if self._safe:
                guarded = compute.binary_join_element_wise("'", text, "")
                text = compute.if_else(compute.match_substring_regex(text, FORMULA), guarded, text)
            special = compute.match_substring_regex(text, f'["\r\n{self._delimiter}]|^$')
            doubled = compute.replace_substring(text, '"', '""')
            quoted = compute.binary_join_element_wise('"', doubled, '"', "")
            text = compute.if_else(special, quoted, text)
        return text.fill_null("")

    def close(self) -> None:
        """Nothing is left to write."""


class _JsonLines:
    """An object for each row; missing cells are null."""

    def __init__(self, write: Callable[[bytes], Any]) -> None:
        self._write = write

    def write(self, table: Any) -> None:
        rows = (json.dumps(_plain(row), ensure_ascii=False, default=str) for row in table.to_pylist())
        self._write("".join(f"{row}\n" for row in rows).encode())

    def close(self) -> None:
        """Nothing is left to write."""


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    return {name: None if isinstance(cell, float) and not math.isfinite(cell) else cell for name, cell in row.items()}


def as_arrow(frame: Any) -> Any:
    """Return a table as Arrow, with NaN as missing and categories as their values."""
    pa = optional("pyarrow", "Writing tables")
    from pyarrow import compute

    if isinstance(frame, Mapping):
        table = pa.table({name: pa.array(cells, from_pandas=True) for name, cells in frame.items()})
    elif isinstance(frame, pa.RecordBatch):
        table = pa.Table.from_batches([frame])
    else:
        table = nw.from_native(frame, eager_only=True).to_arrow()
    for j, field in enumerate(table.schema):
        column = table.column(j)
        if pa.types.is_dictionary(field.type):
            column = column.cast(field.type.value_type)
        if pa.types.is_floating(field.type):
            column = compute.if_else(compute.is_nan(column), None, column)
        table = table.set_column(j, field.name, column)
    return table.replace_schema_metadata(None)


def _cast(table: Any, schema: Any) -> Any:
    import pyarrow as pa

    try:
        return table.select(schema.names).cast(schema)
    except (KeyError, pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise DataError(f"the rows to append do not match the first ones: {error}") from None
