"""Files of SPSS, Stata and SAS as scans, through pyreadstat. They are read whole, when they are opened.

================ ===== ================================================================================
``.sav .zsav``   SPSS  value labels, codes that mean missing (user-missing), weight variable
``.por``         SPSS  portable files: value labels; codes that mean missing are missing, without a count
``.dta``         Stata value labels, missing values .a to .z
``.sas7bdat``    SAS   missing values .A to .Z; labels of values are in another file, which is not read
``.xpt``         SAS   transport files
================ ===== ================================================================================

Vocabulary
----------
code            a value as it is stored: 1, 2, 9
value label     the text that the file has for a code: "female"
variable label  the text that the file has for a column: "Sex of respondent"
user-missing    a code that the file declares to mean missing: 9, or .a in Stata
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from halfseen.data.duckdb_reader import BATCH, CellKind, Scan, ScanColumn, is_number
from halfseen.data.sav_records import Records
from halfseen.disk import size_text
from halfseen.errors import DataError
from halfseen.optional import optional

READERS = {
    ".sav": "read_sav",
    ".zsav": "read_sav",
    ".por": "read_por",
    ".dta": "read_dta",
    ".sas7bdat": "read_sas7bdat",
    ".xpt": "read_xport",
}
SUFFIXES = tuple(READERS)
WITH_CODES = (".sav", ".zsav", ".dta", ".sas7bdat")  # whose reader tells user-missing codes from empty cells
PER_CELL = 64  # bytes, about: a Python object and its cell in a list, before it is an Arrow column
SHOWN = 6  # columns or codes that a note lists


class StatScan(Scan):
    """A file of SPSS, Stata or SAS.

    A column all of whose values have labels is categorical: its levels are the labels in the order of their codes,
    without those of user-missing codes. Empty texts are missing.

    Parameters
    ----------
    title, path : str
    missing : sequence of str     further cells that mean missing, as codes or as labels
    text : sequence of str        columns to read as text
    codes : sequence of str       columns of which the codes are read, not the labels
    memory : int                  bytes that the table may take

    Attributes
    ----------
    labels : dict                 column -> variable label, where there is one
    notes : tuple of str          what was done while reading, in sentences
    """

    def __init__(
        self,
        title: str,
        path: str,
        missing: Sequence[str] = (),
        text: Sequence[str] = (),
        codes: Sequence[str] = (),
        memory: int | None = None,
    ) -> None:
        self.title = title
        self.files = (path,)
        self.text = tuple(text)
        self._asked = (tuple(missing), tuple(codes), memory)
        self._load()

    def _load(self) -> None:
        missing, codes, memory = self._asked
        records = _records(self.files[0], self.title)
        cells, about = _read(self.files[0], self.title, memory)
        found = {
            name: _column(name, cells.pop(name), about, missing, name in self.text, name in codes)
            for name in about.column_names
        }
        pa = optional("pyarrow", "Reading files")
        self._table = pa.table({name: column.cells for name, column in found.items()})
        self.columns = tuple(ScanColumn(name, column.kind, column.type) for name, column in found.items())
        self.labels = {name: text for name, text in about.column_names_to_labels.items() if text}
        self.notes = tuple(_notes(self.title, found, _weight_variable(records, about)))
        self.size = self._table.nbytes

    def batches(self, names: Sequence[str], rows: int = BATCH, memory_limit: int | None = None) -> Iterator[Any]:
        table = self._table.select(list(names))
        for first in range(0, table.num_rows, rows):
            yield table.slice(first, rows)

    def count(self, memory_limit: int | None = None) -> int:
        return int(self._table.num_rows)

    def grouped(self, names: Sequence[str]) -> Scan | None:
        return None

    def __getstate__(self) -> dict[str, Any]:  # other processes read the file themselves
        return {name: value for name, value in vars(self).items() if name != "_table"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._load()


# ---- the file --------------------------------------------------------------------------------------------------------


def _read(path: str, title: str, memory: int | None) -> tuple[dict[str, list[Any]], Any]:
    """Return the columns of a file as lists, and what the file says of them."""
    pyreadstat = optional("pyreadstat", "Reading files of SPSS, Stata and SAS", "stats")
    suffix = Path(path).suffix.lower()
    reader = getattr(pyreadstat, READERS[suffix])
    options = {"user_missing": True} if suffix in WITH_CODES else {}
    try:
        if memory is not None:
            _check_memory(reader(path, metadataonly=True, output_format="dict")[1], title, memory)
        cells, about = reader(path, output_format="dict", **options)
    except DataError:
        raise
    except OverflowError:
        raise DataError(f"{title}: a date in it is after the year 9999 or before the year 1. Correct it.") from None
    except Exception as error:  # pyreadstat's own errors are plain Exceptions; a damaged file may raise others too
        said = str(error).rstrip(".") or type(error).__name__
        raise DataError(
            f"{title} cannot be read as a {suffix} file: {said}. It may be damaged, or of another format than its "
            "extension says. Save it again, or export it as CSV."
        ) from None
    if not about.column_names:
        raise DataError(f"{title} has no columns.")
    return {name: list(column) for name, column in cells.items()}, about


def _check_memory(about: Any, title: str, memory: int) -> None:
    n_rows = about.number_rows or 0  # unknown in some formats
    needed = PER_CELL * n_rows * len(about.column_names)
    if needed > memory:
        raise DataError(
            f"{title}: {n_rows:,} rows of {len(about.column_names):,} columns need about {size_text(needed)}, more "
            f"than memory={size_text(memory)}: files of SPSS, Stata and SAS are read whole. Raise memory=, or convert "
            "the file to Parquet, which is read in batches."
        )


def _records(path: str, title: str) -> Records | None:
    """Return the records of an SPSS file, checked; None for other files."""
    if Path(path).suffix.lower() not in (".sav", ".zsav"):
        return None
    with open(path, "rb") as file:
        return Records(file, title).checked()


def _weight_variable(records: Records | None, about: Any) -> str | None:
    """Return the weight variable of an SPSS file."""
    place = None if records is None else records.weight_among_numbers()
    numbers = [name for name in about.column_names if about.readstat_variable_types[name] != "string"]
    return None if place is None or place >= len(numbers) else numbers[place]


# ---- a column --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Column:
    """A column of a file.

    Attributes
    ----------
    cells : Arrow array
    kind, type : as of `ScanColumn`
    missing : dict            user-missing code -> number of cells
    unlabelled : list         values without a label, in a column of which other values have one
    """

    cells: Any
    kind: CellKind
    type: str
    missing: dict[Any, int]
    unlabelled: list[Any]


def _column(name: str, cells: list[Any], about: Any, missing: Sequence[str], as_text: bool, as_codes: bool) -> _Column:
    """Return a column, whose cells are emptied in place where they mean missing."""
    own_type = about.readstat_variable_types[name]
    absent = _is_missing(about.missing_ranges.get(name, ()), about.missing_user_values.get(name, ()))
    counts = _without_codes(cells, absent, own_type == "string")
    declared = {} if as_codes else about.variable_value_labels.get(name) or {}
    same = {code: text for code, text in declared.items() if isinstance(code, str) == (own_type == "string")}
    labels = _distinct({code: text for code, text in same.items() if not absent(code)})
    _without_markers(cells, missing, labels)
    unlabelled = sorted({cell for cell in cells if cell is not None} - set(labels)) if labels else []
    if labels and not unlabelled:
        kind, found = _labelled(cells, labels, as_text)
    else:
        kind, found = _unlabelled(cells, own_type == "string", as_text)
    return _Column(found, kind, str(about.original_variable_types.get(name) or own_type), counts, unlabelled)


def _without_codes(cells: list[Any], absent: Callable[[Any], bool], of_text: bool) -> dict[Any, int]:
    """Empty the cells that are missing or blank, and those with user-missing codes, which are counted."""
    counts: dict[Any, int] = {}
    for row, cell in enumerate(cells):
        if cell is None or cell != cell or (isinstance(cell, str) and not cell.strip()):
            cells[row] = None
        elif absent(cell) or (not of_text and isinstance(cell, str)):  # .a of Stata comes as "a"
            counts[cell] = counts.get(cell, 0) + 1
            cells[row] = None
    return counts


def _is_missing(ranges: Sequence[Mapping[str, Any]], values: Sequence[Any]) -> Callable[[Any], bool]:
    """Return the function that says whether a code is user-missing."""

    def inside(code: Any, low: Any, high: Any) -> bool:
        return isinstance(code, str) == isinstance(low, str) and bool(low <= code <= high)

    def absent(code: Any) -> bool:
        if isinstance(code, datetime.date | datetime.time | datetime.timedelta):
            return False
        return code in values or any(inside(code, each["lo"], each["hi"]) for each in ranges)

    return absent


def _distinct(labels: Mapping[Any, str]) -> dict[Any, str]:
    """Return labels in the order of their codes; a label that is empty or of several codes gets its code added."""
    texts = [text.strip() for text in labels.values()]
    named = {}
    for code in sorted(labels):
        text = labels[code].strip()
        named[code] = text if text and texts.count(text) == 1 else f"{text} ({_words(code)})".strip()
    return named


def _without_markers(cells: list[Any], missing: Sequence[str], labels: dict[Any, str]) -> None:
    """Empty the cells that the user says mean missing, by their codes or labels; such labels are no levels."""
    if not missing:
        return
    words = set(missing)
    numbers = {float(marker) for marker in missing if is_number(marker)}

    def meant(cell: Any) -> bool:
        if isinstance(cell, str):
            return cell.strip() in words or labels.get(cell) in words
        return isinstance(cell, int | float) and (cell in numbers or labels.get(cell) in words)

    for row, cell in enumerate(cells):
        if cell is not None and meant(cell):
            cells[row] = None
    for code in [code for code in labels if meant(code)]:
        del labels[code]


def _labelled(cells: list[Any], labels: Mapping[Any, str], as_text: bool) -> tuple[CellKind, Any]:
    """Return a column whose levels are the labels; as text it has none."""
    pa = optional("pyarrow", "Reading files")
    if as_text:
        return "text", pa.array([None if cell is None else labels[cell] for cell in cells], pa.string())
    place = {code: number for number, code in enumerate(labels)}
    indices = pa.array([None if cell is None else place[cell] for cell in cells], pa.int32())
    levels = pa.array(list(labels.values()), pa.string())
    return "text", pa.DictionaryArray.from_arrays(indices, levels, ordered=True)  # the order of the codes is kept


def _unlabelled(cells: list[Any], of_text: bool, as_text: bool) -> tuple[CellKind, Any]:
    """Return a column of texts, numbers or dates."""
    pa = optional("pyarrow", "Reading files")
    if of_text or as_text:
        return "text", pa.array([None if cell is None else _words(cell) for cell in cells], pa.string())
    seen = [cell for cell in cells if cell is not None]
    if seen and isinstance(seen[0], datetime.date | datetime.time | datetime.timedelta):
        return "date", pa.array(cells)
    if not seen:
        return "number", pa.nulls(len(cells), pa.float64())
    if all(float(cell).is_integer() and abs(cell) < 2**53 for cell in seen):  # to be written without a point
        return "number", pa.array([None if cell is None else int(cell) for cell in cells], pa.int64())
    return "number", pa.array(cells, pa.float64())


def _words(cell: Any) -> str:
    """Return a cell as text."""
    return f"{cell:.15g}" if isinstance(cell, float) else str(cell)


# ---- what was done ---------------------------------------------------------------------------------------------------


def _notes(title: str, columns: Mapping[str, _Column], weight: str | None) -> Iterator[str]:
    coded = {name: column.missing for name, column in columns.items() if column.missing}
    if coded:
        counts = {name: sum(own.values()) for name, own in coded.items()}
        each = [f"{name} {count:,} ({_codes(coded[name])})" for name, count in counts.items()]
        yield f"{title}: cells read as missing by their codes: {sum(counts.values()):,}, {_listed(each)}"
    for name, column in columns.items():
        if column.unlabelled:
            some = _listed([_words(value) for value in column.unlabelled])
            yield f"{title}: the value labels of {name} are not used: some values have none ({some})"
    if weight is not None:
        yield f"{title}: its weight variable is {weight}, which counts only if it is named as the weight"


def _codes(counts: Mapping[Any, int]) -> str:
    return _listed([_words(code) for code in sorted(counts, key=str)])


def _listed(texts: Sequence[str]) -> str:
    return ", ".join(texts[:SHOWN]) + _more(texts)


def _more(texts: Sequence[str]) -> str:
    return f", ... {len(texts) - SHOWN} more" if len(texts) > SHOWN else ""
