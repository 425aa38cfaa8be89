"""Texts that come with the library, under the names that commands give them: example:english.txt."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

EXAMPLE = "example:"


def with_texts(request: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a request with the paths of texts among the examples; tables are opened by their names.

    Examples
    --------
    >>> found = with_texts({"data": ["example:english.txt", "example:votes"], "rows": 3})
    >>> found["data"][0].endswith("english.txt"), found["data"][1], found["rows"]
    (True, 'example:votes', 3)
    """
    return {name: _path(value) for name, value in request.items()}


def _path(value: Any) -> Any:
    if isinstance(value, list):
        return [_path(item) for item in value]
    if not (type(value) is str and value.startswith(EXAMPLE)):
        return value
    from halfseen.datasets import TEXTS, path_of

    name = value.removeprefix(EXAMPLE)
    return path_of(name) if name in TEXTS else value
