"""The screen Export: files to take home."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import PurePath
from typing import Any

from halfseen.studio import export
from halfseen.studio.archive import content_of
from halfseen.studio.code import code_of, labels_name
from halfseen.studio.refusal import Refusal
from halfseen.studio.routes import Ask, Download
from halfseen.studio.views.decide import read_costs, read_reject


def code(ask: Ask) -> dict[str, Any]:
    """Return the code that reproduces what is on the screen."""
    return code_of(ask.session, ask.session.version(ask.number("version"))).to_dict()


def report(ask: Ask) -> Download:
    """Return the report."""
    version = ask.session.version(ask.number("version"))
    return Download(_named(ask, ".html"), "text/html", export.report_of(ask.session, version))


def model(ask: Ask) -> Download:
    """Return the model file."""
    version = ask.session.version(ask.number("version"))
    return Download(_named(ask, ".halfseen"), "application/octet-stream", version.content)


def rows(ask: Ask) -> Download:
    """Return the rows with their classes."""
    version = ask.session.version(ask.number("version"))
    return Download(_named(ask, " classes.csv"), "text/csv", export.rows_of(ask.session, version))


def decisions(ask: Ask) -> Download:
    """Return the rows with what is decided about them."""
    version = ask.session.version(ask.number("version"))
    costs = read_costs(ask.value("cost"), ask.value("decisions"), version.names)
    reject = read_reject(ask.value("reject"))
    content = export.decisions_of(ask.session, version, costs, reject)
    return Download(_named(ask, " decisions.csv"), "text/csv", content)


def labels(ask: Ask) -> Download:
    """Return the rows with a column of the labels that were set, which the code of a version reads."""
    version = ask.session.version(ask.number("version"))
    content = export.labelled_rows_of(ask.session, version)
    return Download(labels_name(ask.session, version), "application/vnd.apache.parquet", content)


def session(ask: Ask) -> Download:
    """Return the session as a file, which ``halfseen studio DATA --session FILE`` opens."""
    if ask.session.held is not None:
        raise Refusal(
            "A session over a table in memory cannot be opened again, as the table is gone by then: save the model, "
            "or write the table to a file and open that in halfseen studio."
        )
    return Download(_named(ask, ".session"), "application/octet-stream", content_of(ask.session))


def _named(ask: Ask, ending: str) -> str:
    """Return the name of a file: that of the data, with another ending."""
    stem = re.sub(r"[^\w .-]", "_", PurePath(ask.session.title).stem) or "halfseen"
    return stem + ending


FILES: dict[str, Callable[[Ask], Download]] = {
    "report": report,
    "model": model,
    "rows": rows,
    "decisions": decisions,
    "labels": labels,
    "session": session,
}

ROUTES = {
    ("GET", "code"): code,
    **{("GET", f"download/{name}"): make for name, make in FILES.items()},
    ("POST", "download/decisions"): decisions,
}
