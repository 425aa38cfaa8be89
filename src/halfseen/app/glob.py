"""`--glob`: a pattern of files in place of a file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from halfseen.errors import ParameterError

__all__ = ["Pattern", "with_pattern"]


class Pattern(str):
    """A pattern where the name of a file is expected: all files that match it are one table."""

    __slots__ = ()


def with_pattern(request: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a request with the pattern of --glob as its data, if there is one.

    Examples
    --------
    >>> with_pattern({"data": "-", "glob": "visits/*.csv", "given": {"glob"}})["data"]
    'visits/*.csv'
    """
    pattern = request.get("glob")
    if pattern is None:
        return request
    if "data" in request["given"]:
        named = request["data"] if isinstance(request["data"], str) else " ".join(request["data"])
        raise ParameterError(f"--glob {pattern} stands in place of a file: leave out {named}, or leave out --glob.")
    found = Pattern(pattern)
    return {**request, "data": [found] if not isinstance(request["data"], str) else found}
