"""Files to take home, each made by the verb of the command line that makes it."""

from __future__ import annotations

import csv
import io
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from halfseen.app import verbs
from halfseen.app.collected import collected
from halfseen.app.report.page import report
from halfseen.data.write import TableWriter
from halfseen.studio.refusal import Refusal
from halfseen.studio.session import Session
from halfseen.studio.versions import Version


def report_of(session: Session, version: Version) -> bytes:
    """Return the report as a page."""
    command = version.model._origin.command
    return report(version.model, session.material(version), command=command).encode()


def rows_of(session: Session, version: Version, ending: str = ".csv") -> bytes:
    """Return the rows with their classes, as ``halfseen predict`` writes them; text is guarded against formulas."""
    if "predict" not in version.family.verbs:
        raise Refusal(f"There are no rows of {version.family.title} to write.")
    words = ["--safe-csv"] if ending == ".csv" else []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"rows{ending}")
        _predict(session, version, [*words, "-o", str(path)])
        return path.read_bytes()


def decisions_of(
    session: Session,
    version: Version,
    costs: tuple[Sequence[str], Sequence[Sequence[float]]] | None,
    reject: float | None,
) -> bytes:
    """Return the rows with decisions, as ``halfseen predict --cost FILE --reject COST`` writes them."""
    with tempfile.TemporaryDirectory() as folder:
        path, words = Path(folder, "rows.csv"), ["--safe-csv"]
        if costs is not None:
            table = Path(folder, "costs.csv")
            table.write_text(costs_csv(version.names, costs), encoding="utf-8")
            words += ["--cost", str(table)]
        if reject is not None:
            words += [f"--reject={reject!r}"]
        _predict(session, version, [*words, "-o", str(path)])
        return path.read_bytes()


def _predict(session: Session, version: Version, words: Sequence[str]) -> None:
    with collected():
        verbs.use("predict", session.request("predict", version, *words), version.model)


def costs_csv(names: Sequence[str], costs: tuple[Sequence[str], Sequence[Sequence[float]]]) -> str:
    """Return a table of costs as ``--cost`` reads it."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["", *names])
    writer.writerows([name, *map(repr, row)] for name, row in zip(*costs, strict=True))
    return out.getvalue()


def labelled_rows_of(session: Session, version: Version) -> bytes:
    """Return the rows as they are, with a further column: the labels that a version was fitted with.

    It is a Parquet file, so that every cell is read as it was.
    """
    column, n_rows = label_column(session), 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "rows.parquet")
        with TableWriter(path) as out:
            for batch in session.table().batches(everything=True):
                labels = [version.labels.get(row) for row in range(n_rows, n_rows + len(batch))]
                out.append(batch.append_column(column, pa.array(labels, pa.string())))
                n_rows += len(batch)
        return path.read_bytes()


def label_column(session: Session) -> str:
    """Return a name for the column of labels that no column has."""
    name = "label"
    while name in session.rows().names:
        name += "_"
    return name
