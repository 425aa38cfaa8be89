"""Parquet files as one table, which can be cut into parts that other processes read."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from copy import copy

from halfseen.data.duckdb_reader import DuckScan, Scan, quoted_file, quoted_name
from halfseen.errors import DataError
from halfseen.optional import optional

PART_ROWS = 1 << 20  # rows of a part, if row groups are not larger
MOST_PARTS = 1024  # of a table, if it does not have more files: in every pass a part costs its scheduler a millisecond


class ParquetScan(DuckScan):
    """One or several Parquet files.

    Parameters
    ----------
    title : str
    files : sequence of str
    missing, text : sequence of str
    together : bool
        Whether they are the files of a folder or pattern: folders such as year=2026 give a column.
    """

    def __init__(
        self,
        title: str,
        files: Sequence[str],
        missing: Sequence[str] = (),
        text: Sequence[str] = (),
        together: bool = False,
    ) -> None:
        listed = "[" + ", ".join(map(quoted_file, files)) + "]"
        options = ", union_by_name = true, hive_partitioning = true" if together else ""
        super().__init__(title, f"read_parquet({listed}{options})", missing, text, files=files)
        self.size = sum(os.path.getsize(path) for path in files)

    def parts(self) -> list[Scan]:
        """Return groups of rows of each file as tables: the same for any number of workers."""
        groups = {path: row_groups(path) for path in self.files}
        size = max(PART_ROWS, -(-sum(map(sum, groups.values())) // MOST_PARTS))
        return [self._part(path, *rows) for path, sizes in groups.items() for rows in row_ranges(sizes, size)]

    def _part(self, path: str, first: int, last: int) -> ParquetScan:
        """Return the rows of a file from `first` to before `last`; its columns have the types of the whole table."""
        typed = ", ".join(
            f"CAST({name} AS {column.type}) AS {name}"
            for column in self.columns
            for name in (quoted_name(column.name),)
        )
        folders = not {column.name for column in self.columns} <= set(column_names(path))
        options = f"file_row_number = true, hive_partitioning = {folders}, hive_types_autocast = false"
        part = copy(self)
        part.files = (path,)
        part._relation = (
            f"(SELECT {typed} FROM read_parquet({quoted_file(path)}, {options}) "
            f"WHERE file_row_number >= {first} AND file_row_number < {last})"
        )
        part.size = 0
        return part


def row_groups(path: str) -> list[int]:
    """Return the numbers of rows of the row groups of a Parquet file."""
    metadata = optional("pyarrow.parquet", "Reading files").read_metadata(path)
    return [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]


def row_ranges(groups: Sequence[int], size: int) -> Iterator[tuple[int, int]]:
    """Yield first and last row, exclusive, of groups that have `size` rows together, or more; the last may have fewer.

    Examples
    --------
    >>> list(row_ranges([5, 5, 5, 5, 5], 8))
    [(0, 10), (10, 20), (20, 25)]
    """
    first = last = 0
    for i, rows in enumerate(groups):
        last += rows
        if last > first and (last - first >= size or i + 1 == len(groups)):
            yield first, last
            first = last


def column_names(path: str) -> list[str]:
    """Return the columns of a Parquet file."""
    parquet = optional("pyarrow.parquet", "Reading files")
    try:
        return list(parquet.read_schema(path).names)
    except (OSError, ValueError) as error:  # pyarrow's own are subclasses
        raise DataError(f"{path} is no Parquet file: {error}.") from None
