"""Tables of Arrow as scans: those in memory, of any library, and Arrow files (Feather), which keep declared levels.

The columns of a table in memory are those that `frames.read` sees, so that a fit to the scan is the fit to the table
itself, bit for bit. Columns that no model can be fitted to, such as dates, are kept as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halfseen.data.duckdb_reader import BATCH, CellKind, Scan, ScanColumn, is_number
from halfseen.data.frames import CodedColumn, RawColumn, Source, read
from halfseen.disk import enough_space
from halfseen.errors import DataError, DataTypeError
from halfseen.optional import optional
from halfseen.temporary import ADVICE

SUFFIXES = (".arrow", ".feather")
LARGEST = 2**53  # whole numbers below it are written without a point


class ArrowScan(Scan):
    """A table of Arrow: in memory, or in a file that is mapped into memory.

    Parameters
    ----------
    title : str
    table : Arrow table, or the path of a file
    missing : sequence of str     cells that mean missing
    text : sequence of str        columns to read as text
    """

    def __init__(self, title: str, table: Any, missing: Sequence[str] = (), text: Sequence[str] = ()) -> None:
        self.title = title
        self.text = tuple(text)
        self._missing = tuple(missing)
        self._given = None if isinstance(table, str) else table
        self.files = (table,) if isinstance(table, str) else ()
        self._load()

    def _load(self) -> None:
        pa = optional("pyarrow", "Reading tables")
        given = _mapped(self.files[0], self.title) if self._given is None else self._given
        names = given.column_names
        twice = next((name for i, name in enumerate(names) if name in names[:i]), None)
        if twice is not None:
            raise DataError(f"{self.title} has two columns {twice!r}. Rename one.")
        cells = [_read(given.column(name), self._missing, name in self.text) for name in names]
        self._table = pa.table(dict(zip(names, cells, strict=True)))
        self.columns = tuple(
            ScanColumn(name, kind_of(column.type), str(column.type)) for name, column in zip(names, cells, strict=True)
        )
        self.size = self._table.nbytes

    def batches(self, names: Sequence[str], rows: int = BATCH, memory_limit: int | None = None) -> Iterator[Any]:
        table = self._table.select(list(names))
        for first in range(0, table.num_rows, rows):
            yield table.slice(first, rows)

    def count(self, memory_limit: int | None = None) -> int:
        return int(self._table.num_rows)

    def grouped(self, names: Sequence[str]) -> Scan | None:
        return None

    def __getstate__(self) -> dict[str, Any]:  # other processes map the file themselves
        return {name: value for name, value in vars(self).items() if name != "_table"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._load()


def arrow_of(X: Any, extra: Mapping[str, Any] | None = None) -> Any:
    """Return a table of any library, an array or a list of rows as an Arrow table, with further columns by name.

    Examples
    --------
    >>> arrow_of([["a", 1], [None, 2.5]]).to_pydict()
    {'x0': ['a', None], 'x1': [1.0, 2.5]}
    """
    pa = optional("pyarrow", "Reading tables")
    source = read(X)
    found = {name: _written(source, j) for j, name in enumerate(source.names)}
    for name, cells in (extra or {}).items():
        column = read(pa.table({name: pa.array(list(cells), from_pandas=True)}))
        if column.n_rows != source.n_rows:
            raise DataError(f"{name} has {column.n_rows:,} values for {source.n_rows:,} rows.")
        found[name] = _written(column, 0)
    return pa.table(found)


def write_arrow(table: Any, path: Path) -> None:
    """Write an Arrow table into a file, with the levels of its categories."""
    pa = optional("pyarrow", "Writing tables")
    room = enough_space(str(path.parent), lambda: "a copy of the table", ADVICE)
    with room, pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as out:
        out.write_table(table)


def kind_of(of_type: Any) -> CellKind:
    """Return what cells of an Arrow type are.

    Examples
    --------
    >>> import pyarrow as pa
    >>> kind_of(pa.int8()), kind_of(pa.dictionary(pa.int8(), pa.string())), kind_of(pa.date32())
    ('number', 'text', 'date')
    """
    types = optional("pyarrow.types", "Reading tables")
    if types.is_dictionary(of_type):
        return kind_of(of_type.value_type)
    if types.is_boolean(of_type):
        return "bool"
    if types.is_integer(of_type) or types.is_floating(of_type) or types.is_decimal(of_type) or types.is_null(of_type):
        return "number"
    if types.is_temporal(of_type):
        return "date"
    return "text" if str(of_type) in ("string", "large_string", "string_view") else "other"


# ---- from a table in memory ------------------------------------------------------------------------------------------


def _written(source: Source, j: int) -> Any:
    """Return a column of a source as an Arrow array."""
    try:
        raw = source.column(j)
        return _categories(raw) if raw.levels else _cells(raw)
    except DataTypeError:
        native = _as_it_is(source, j)
        if native is None:
            raise
        return native
    except UnicodeEncodeError as error:
        raise DataError(
            f"column {source.names[j]!r}: {error.object!a:.80} has half of a surrogate pair, which is no text. Replace "
            "such characters: text.encode('utf-8', 'replace').decode()."
        ) from None


def _as_it_is(source: Source, j: int) -> Any:
    """Return a column of dates or of other cells that no model takes; None where Arrow cannot hold them."""
    pa = optional("pyarrow", "Reading tables")
    if source.frame is None:
        return None
    try:
        found = source.frame.select(source.frame.columns[j]).to_arrow().column(0)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return None
    return found if kind_of(found.type) in ("date", "other") else None


def _cells(raw: RawColumn) -> Any:
    """Return the cells of a column without levels."""
    pa = optional("pyarrow", "Reading tables")
    if isinstance(raw, CodedColumn):
        codes = pa.array(raw.codes.astype(np.int64), mask=raw.missing)
        return pa.array(list(raw.texts), pa.string()).take(codes)
    if raw.type == "text":
        return pa.array(raw.values.tolist(), pa.string())
    if raw.type == "bool":
        return pa.array(raw.values == 1, mask=raw.missing)
    return _numbers(raw.values, raw.missing)


def _numbers(values: NDArray[np.float64], missing: NDArray[np.bool_]) -> Any:
    """Return numbers: integers where all are whole, to be shown and written without a point."""
    pa = optional("pyarrow", "Reading tables")
    seen = values[~missing]
    whole = (seen == np.trunc(seen)) & (np.abs(seen) <= LARGEST) & (np.signbit(seen) == (seen < 0))  # -0.0 is a float
    if len(seen) and whole.all():
        return pa.array(np.where(missing, 0.0, values).astype(np.int64), mask=missing)
    return pa.array(values, pa.float64(), mask=missing)


def _categories(raw: RawColumn) -> Any:
    """Return the cells of a column with declared levels."""
    pa = optional("pyarrow", "Reading tables")
    declared = list(raw.levels or ())
    place = {level: number for number, level in enumerate(declared)}
    if isinstance(raw, CodedColumn):
        codes = np.array([*(place[text] for text in raw.texts), -1])[raw.codes]
    else:
        codes = np.array(
            [-1 if gone else place[cell] for cell, gone in zip(raw.values.tolist(), raw.missing, strict=True)]
        )
    levels = pa.array(declared)
    if raw.type == "number":
        levels = _numbers(np.array(declared, dtype=np.float64), np.zeros(len(declared), dtype=bool))
    return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32(), mask=raw.missing), levels, ordered=raw.ordered)


# ---- from Arrow ------------------------------------------------------------------------------------------------------


def _mapped(path: str, title: str) -> Any:
    """Return the table of an Arrow file without copying it."""
    pa = optional("pyarrow", "Reading files")
    try:
        found = pa.ipc.open_file(pa.memory_map(path)).read_all()
        found.validate(full=True)  # else a damaged file could end the process
        return found
    except (pa.ArrowException, OSError, ValueError) as error:
        raise DataError(f"{title} is no Arrow file: {error}. Feather files of version 1 are not read.") from None


def _read(column: Any, missing: Sequence[str], as_text: bool) -> Any:
    """Return a column with null where a cell is missing or means missing."""
    pa = optional("pyarrow", "Reading tables")
    types = pa.types
    if types.is_dictionary(column.type):
        column = column.unify_dictionaries()
        return _texts(column.cast(column.type.value_type), missing) if as_text else _levels(column, missing)
    if as_text and kind_of(column.type) in ("number", "bool", "date"):
        return _texts(column.cast(pa.string()), missing)
    if kind_of(column.type) == "text":
        return _texts(column, missing)
    if types.is_floating(column.type):
        compute = optional("pyarrow.compute", "Reading tables")
        absent = compute.is_nan(column)
        if compute.any(absent).as_py():
            column = compute.if_else(absent, pa.scalar(None, column.type), column)
    return _without(column, _numeric(missing)) if kind_of(column.type) == "number" else column


def _numeric(missing: Sequence[str]) -> list[float]:
    return [float(marker) for marker in missing if is_number(marker)]


def _without(column: Any, markers: Sequence[float]) -> Any:
    """Return numbers without those that mean missing."""
    if not markers:
        return column
    pa, compute = optional("pyarrow", "Reading tables"), optional("pyarrow.compute", "Reading tables")
    found = compute.is_in(column.cast(pa.float64(), safe=False), value_set=pa.array(markers, pa.float64()))
    return compute.if_else(found, pa.scalar(None, column.type), column)


def _texts(column: Any, missing: Sequence[str]) -> Any:
    """Return texts without those that mean missing; blanks around them do not count."""
    if not missing:
        return column
    pa, compute = optional("pyarrow", "Reading tables"), optional("pyarrow.compute", "Reading tables")
    column = column.cast(pa.large_string()) if str(column.type) == "string_view" else column
    found = compute.is_in(compute.utf8_trim_whitespace(column), value_set=pa.array(list(missing), column.type))
    return compute.if_else(found, pa.scalar(None, column.type), column)


def _levels(column: Any, missing: Sequence[str]) -> Any:
    """Return categories without the levels that mean missing."""
    pa = optional("pyarrow", "Reading tables")
    if not missing or not column.num_chunks:
        return column
    levels = column.chunk(0).dictionary.to_pylist()
    numbers, texts = _numeric(missing), set(missing)
    kept = [level for level in levels if not (level.strip() in texts if isinstance(level, str) else level in numbers)]
    if len(kept) == len(levels):
        return column
    place = {level: number for number, level in enumerate(kept)}
    indices = [place.get(cell) for cell in column.to_pylist()]
    values = pa.array(kept, column.type.value_type)
    return pa.chunked_array(
        [pa.DictionaryArray.from_arrays(pa.array(indices, pa.int32()), values, ordered=column.type.ordered)]
    )
