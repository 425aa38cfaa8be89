"""``halfseen fit --dry-run``: what a fit will take, estimated by a fit to the first rows.

The first rows are read and fitted with all options of the command. Time grows with the number of rows, if all rows need
as many iterations as these do; where all columns are categories equal rows are merged, and it grows more slowly.
"""

from __future__ import annotations

import shutil
import tempfile
import warnings
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from time import perf_counter
from typing import Any

from halfseen.app import console
from halfseen.app.dispatch import Prepared
from halfseen.app.tables import covariate_columns
from halfseen.data.files import FileTable
from halfseen.data.stream import COPIES
from halfseen.disk import size_text
from halfseen.errors import ParameterError

FIRST = 50_000  # rows that are fitted
OF_WEIGHT = 8  # bytes of a row's weight
READS = 3  # times that a stream is read: its cells to learn the columns and to encode them, its weights and labels


@dataclass(frozen=True)
class Estimate:
    """What a fit will take.

    Attributes
    ----------
    rows, fitted_rows : int     all rows, and the first ones that were fitted
    columns : dict              number of columns of each kind
    encoded : int               bytes of all rows as fits read them
    memory : int                bytes in memory, about
    disk : int                  bytes in temporary files
    reading, fitting : float    seconds
    """

    rows: int
    fitted_rows: int
    columns: dict[str, int]
    encoded: int
    memory: int
    disk: int
    reading: float
    fitting: float


def show(prepared: Prepared, request: Mapping[str, Any]) -> None:
    """Print the estimate of a fit."""
    if request["on"] is not None:
        raise ParameterError("--dry-run estimates fits on this machine: leave out --on.")
    found = estimate(prepared)
    if request["json"]:
        console.show_json(asdict(found))
        return
    console.show_facts(_facts(found, tempfile.gettempdir()))
    console.note(
        f"Estimated by a fit to the first {found.fitted_rows:,} rows; all rows may need more iterations or fewer. "
        "No model was written."
    )


def estimate(prepared: Prepared) -> Estimate:
    """Fit to the first rows, and return what a fit to all would take."""
    table = prepared.table
    n_rows = table.n_rows
    first = table.first(FIRST)
    seen = min(FIRST, n_rows)
    opening, _ = _read(table.first(1))
    reading, size = _read(first)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about a fit that is thrown away
        began = perf_counter()
        prepared.model.fit(first, **prepared.arguments)
        fitting = perf_counter() - began - reading
    kinds = Counter(column.kind.name for column in prepared.model._schema.columns)
    encoded = _encoded_size(prepared.model._schema, first.without(covariate_columns(prepared.model))) * n_rows // seen
    held = COPIES * size * n_rows // seen
    streams = held > table.memory
    scale = n_rows / seen
    return Estimate(
        rows=n_rows,
        fitted_rows=seen,
        columns=dict(kinds),
        encoded=encoded,
        memory=table.memory if streams else held,
        disk=encoded if streams else 0,
        reading=max(reading - opening, 0.0) * scale * (READS if streams else 1),
        fitting=max(fitting, 0.0) * scale,
    )


def _read(table: FileTable) -> tuple[float, int]:
    """Read a table; return the seconds that it took, and the bytes of its cells."""
    began = perf_counter()
    size = sum(batch.nbytes for batch in table.batches())
    return perf_counter() - began, size


def _encoded_size(schema: Any, table: FileTable) -> int:
    """Return the bytes of a table as fits read it."""
    rows = schema.encode(table.__halfseen_source__())
    blocks = [getattr(block, "arrays", (block,)) for block in rows.blocks.values()]
    return sum(array.nbytes for arrays in blocks for array in arrays) + OF_WEIGHT * int(rows.n_rows)


def _facts(found: Estimate, folder: str) -> list[tuple[str, str]]:
    columns = ", ".join(f"{number} {kind}" for kind, number in found.columns.items())
    disk = "none: the table fits into memory"
    if found.disk:
        disk = f"{size_text(found.disk)} in {folder}, where {size_text(shutil.disk_usage(folder).free)} are free"
    return [
        ("rows", f"{found.rows:,}"),
        ("columns", columns),
        ("encoded", size_text(found.encoded)),
        ("memory", f"about {size_text(found.memory)}"),
        ("disk", disk),
        ("reading", f"about {_duration(found.reading)}"),
        ("fit", f"about {_duration(found.fitting)}"),
    ]


def _duration(seconds: float) -> str:
    """Return a time in two digits.

    Examples
    --------
    >>> [_duration(seconds) for seconds in (0.004, 7.2, 95, 4000, 90000)]
    ['1 s', '7 s', '2 min', '1.1 h', '25 h']
    """
    if seconds < 90:
        return f"{max(seconds, 1):.0f} s"
    if seconds < 3600:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.2g} h"
