"""Several files as one table: a folder, or the files that match a pattern, in the order of their names.

Files are of one format and have the same columns. Parquet and JSON are read by one scan; files of text one after the
other, each with its own delimiter.
"""

from __future__ import annotations

import glob
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from halfseen.data.csv_file import CsvScan
from halfseen.data.duckdb_reader import BATCH, Scan, ScanColumn
from halfseen.errors import DataError, ParameterError


def matching(pattern: str, suffix_of: Callable[[str], str]) -> list[str]:
    """Return the files that match a pattern; ``**`` stands for any folders."""
    if not isinstance(pattern, str):
        raise ParameterError(f"glob={pattern!r} is not a pattern of file names, such as 'visits/2026-*.parquet'.")
    found = [path for path in sorted(glob.glob(pattern, recursive=True)) if os.path.isfile(path)]
    if not found:
        raise DataError(f"no file matches {pattern}.")
    return _of_one_format(found, pattern, suffix_of)


def inside(folder: str, suffix_of: Callable[[str], str]) -> list[str]:
    """Return the data files in a folder and the folders in it; names that begin with . or _ are passed over."""
    found = []
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith((".", "_")))
        found += [os.path.join(parent, name) for name in sorted(names) if not name.startswith((".", "_"))]
    known = [path for path in found if suffix_of(path)]
    if not known:
        raise DataError(f"{folder} has no data files in it (CSV, TSV, Parquet, JSON).")
    return _of_one_format(known, folder, suffix_of)


def _of_one_format(files: list[str], where: str, suffix_of: Callable[[str], str]) -> list[str]:
    """Refuse files of several or unknown formats, and empty ones."""
    formats = Counter(suffix_of(path) for path in files)
    if "" in formats:
        unknown = next(path for path in files if not suffix_of(path))
        raise DataError(f"{where}: the format of {unknown} is not known by its name. Use a pattern that leaves it out.")
    if len(formats) > 1:
        listed = ", ".join(f"{count} {suffix}" for suffix, count in sorted(formats.items()))
        raise DataError(f"{where} holds files of several formats: {listed}. Choose one: glob='{_pattern(where)}'.")
    empty = next((path for path in files if not os.path.getsize(path)), None)
    if empty is not None:
        raise DataError(f"{empty} is empty. Remove it, or use a pattern that leaves it out.")
    return files


def _pattern(where: str) -> str:
    return os.path.join(where, "**", "*.parquet") if os.path.isdir(where) else "folder/*.parquet"


def check_columns(names: Mapping[str, Sequence[str]]) -> None:
    """Refuse files, by name, whose columns are not those of the first."""
    first, wanted = next(iter(names.items()))
    for title, own in names.items():
        lost, more = set(wanted) - set(own), set(own) - set(wanted)
        if lost or more:
            said = [f"lacks {', '.join(sorted(lost))}"] if lost else []
            said += [f"also has {', '.join(sorted(more))}"] if more else []
            raise DataError(f"{title} {' and '.join(said)}, unlike {first}. Files of one table have the same columns.")


class TextFiles(Scan):
    """Files of text, read one after the other.

    Parameters
    ----------
    title : str
    make : callable                 the scan of one file, given its path and the columns to read as text
    files : sequence of str
    text : sequence of str          columns that the user asked to be read as text
    """

    def __init__(
        self, title: str, make: Callable[[str, Sequence[str]], CsvScan], files: Sequence[str], text: Sequence[str]
    ) -> None:
        self.title = title
        self.files = tuple(files)
        self.text = tuple(text)
        self.size = sum(Path(path).stat().st_size for path in files)
        self._make = make
        self._scans = [make(path, text) for path in files]
        check_columns({scan.title: [column.name for column in scan.columns] for scan in self._scans})
        self.columns = self._unified()

    def _unified(self) -> tuple[ScanColumn, ...]:
        """Return the columns; those that are of another kind in some file are read as text everywhere."""
        kinds: dict[str, set[str]] = {}
        for scan in self._scans:
            for column in scan.columns:
                kinds.setdefault(column.name, set()).add(column.kind)
        differ = [name for name, found in kinds.items() if len(found) > 1]
        if differ:
            self._scans = [self._make(path, [*self.text, *differ]) for path in self.files]
        return self._scans[0].columns

    def settled(self, memory_limit: int | None = None) -> TextFiles:
        for scan in self._scans:
            scan.settled(memory_limit)
        self.columns = self._unified()
        return self

    def batches(self, names: Sequence[str], rows: int = BATCH, memory_limit: int | None = None) -> Iterator[Any]:
        for scan in self._scans:
            yield from scan.batches(names, rows, memory_limit)

    def count(self, memory_limit: int | None = None) -> int:
        return sum(scan.count(memory_limit) for scan in self._scans)

    def parts(self) -> list[Scan]:
        return list(self._scans)

    def grouped(self, names: Sequence[str]) -> Scan | None:
        return None
