"""What to do next, with the commands that do it."""

from __future__ import annotations

import shlex
from typing import Any, NamedTuple

from halfseen.app.report.material import Material


class Files(NamedTuple):
    """The files of a fit at the command line, as they are typed: its model and its data."""

    model: str
    data: str


def files_of(model: Any, material: Material) -> Files | None:
    """Return the files of a fit at the command line; None of a fit in Python, or without a model file.

    Examples
    --------
    >>> import halfseen as hs
    >>> model = hs.KMeans.from_params([[0.0], [1.0]])
    >>> model._origin = model._origin._replace(reading={"data": "a b.csv"})
    >>> files_of(model, Material(model, None, command="halfseen fit 'a b.csv' -o m.halfseen"))
    Files(model='m.halfseen', data="'a b.csv'")
    """
    reading = model._origin.reading
    words = _words(material.command)
    output = next((words[i + 1] for i, word in enumerate(words[:-1]) if word in ("-o", "--output")), None)
    if reading is None or output is None or not reading.get("data"):
        return None
    data = reading["data"]
    listed = [data] if isinstance(data, str) else list(data)
    return Files(shlex.quote(output), " ".join(map(shlex.quote, listed)))


def _words(command: str | None) -> list[str]:
    try:
        return shlex.split(command or "")
    except ValueError:  # a quote that is not closed, in a command given in Python
        return []
