"""`--glob`: a pattern of files in place of a file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from halfseen.errors import ParameterError

__all__ = ["Pattern", "with_pattern"]


class Pattern(str):
    """A pattern where the name of a file is expected: all files that match it are one table.

    Attributes
    ----------
    beside : str      files that were named too
    """

    beside: str = ""

    def alone(self) -> str:
        """Return the pattern; refuse it beside a file. Families that take no pattern have refused it before."""
        if self.beside:
            raise ParameterError(f"--glob {self} stands in place of a file: leave out {self.beside}, or --glob.")
        return str(self)


def with_pattern(request: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a request with the pattern of --glob as its data, if there is one.

    Examples
    --------
    >>> with_pattern({"data": "-", "glob": "visits/*.csv", "given": {"glob"}})["data"]
    'visits/*.csv'
    """
    if request.get("glob") is None:
        return request
    found, data = Pattern(request["glob"]), request["data"]
    if "data" in request["given"]:
        found.beside = data if isinstance(data, str) else " ".join(data)
    return {**request, "data": found if isinstance(data, str) else [found]}
