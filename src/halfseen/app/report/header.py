"""The head of the page: what it is about, the data, the date, and the classes with their colours."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import PurePath
from typing import Any, NamedTuple

from halfseen.app.report.material import Material
from halfseen.app.report.parts import ClassName

MOST_CLASSES = 24  # in the legend


class Header(NamedTuple):
    """Title, facts as (name, value), and the classes; `legend` is what they are called."""

    title: str
    facts: Sequence[tuple[str, str]]
    classes: Sequence[str]
    legend: str


def header(model: Any, material: Material, subject: str, title: str | None) -> Header:
    """Return the head of a page; `subject` is the title of the family's report, `title` the user's own."""
    file = data_name(model)
    if title is None:
        title = (
            subject
            if not file
            else f"{subject.removeprefix('Report on ')[:1].upper()}"
            + (f"{subject.removeprefix('Report on ')[1:]}: {file}")
        )
    facts = [("Data", file)] if file else []
    facts += [*material.facts(), ("Model", type(model).__name__)]
    when = date_of(model)
    facts += [("Fitted", when)] if when else []
    names = [ClassName.of(name, k) for name, k in material.colours.items()]
    return Header(title, facts, names[:MOST_CLASSES], "The classes and their colours")


def data_name(model: Any) -> str:
    """Return the name of the file, or files, that a model was fitted to; empty where it is not known."""
    reading = getattr(model, "_origin", None) and model._origin.reading
    if not reading or not reading.get("data"):
        return ""
    two_files = [reading["data"], reading.get("target") if "links" in reading else None]
    flat = [path for given in two_files if given for path in ([given] if isinstance(given, str) else given)]
    names = [PurePath(path.removeprefix("example:")).name for path in flat]
    return " and ".join(names[:2]) if len(names) < 3 else f"{names[0]} and {len(names) - 1} other files"


def date_of(model: Any) -> str:
    """Return the day of the fit, or that of SOURCE_DATE_EPOCH; never today's, so that the same model has one page."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    if epoch.isdigit():
        return _day(datetime.fromtimestamp(int(epoch), UTC))
    origin = getattr(model, "_origin", None)
    if origin is None or not origin.fitted_at:
        return ""
    try:
        return _day(datetime.fromisoformat(origin.fitted_at))
    except ValueError:  # of a model file that was edited
        return ""


def _day(when: datetime) -> str:
    return f"{when.day} {when:%B %Y}"
