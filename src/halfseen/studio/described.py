"""A model without data: its description as a section of the report."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from halfseen.app.blocks import Block
from halfseen.app.description import described
from halfseen.app.report.parts import Grid, Part, Section, Text


def description_of(model: Any) -> Section:
    """Return what ``halfseen info`` prints as a section.

    Examples
    --------
    >>> import halfseen as hs
    >>> found = description_of(hs.LatentClass(1).fit([["a", 1], ["b", 2]] * 5))
    >>> found.parts[0].text[:14]
    'class 0 (100%)'
    """
    return Section("description", "The model", parts=[part for block in described(model) for part in _parts(block)])


def _parts(block: Block) -> Iterator[Part]:
    [(kind, content)] = block.items()
    if kind == "facts":
        yield Grid("", ("", ""), content, text=frozenset({1}))
    elif kind == "table":
        yield Grid("", content["header"], content["rows"], text=frozenset(range(1, content["left"])))
    else:
        yield from (Text(line) for line in content.splitlines() if line)
