"""Blocks of text that describe a model: plain values, which `console.show_blocks` prints and a model file can hold.

{"text": "..."}                                    a text of one or more lines; an empty one is an empty line
{"facts": [[name, value], ...]}                    names and values in two columns
{"table": {"header": [...], "rows": [[...], ...], "left": 1}}     text in the first `left` columns, numbers in others
{"classes": "class 0 (60%): big; blue"}            a line for each class; it is printed with a line for each trait
{"note": "..."}                                    a remark, on standard error
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

__all__ = ["Block", "are_blocks", "classes", "facts", "note", "table", "text"]

Block = dict[str, Any]


def text(lines: str = "") -> Block:
    """Return a text; without one, an empty line."""
    return {"text": lines}


def facts(pairs: Iterable[tuple[str, Any]]) -> Block:
    """Return names with their values; those without a value are left out."""
    return {"facts": [[name, str(value)] for name, value in pairs if value is not None]}


def table(header: Sequence[str], rows: Iterable[Sequence[Any]], left: int = 1) -> Block:
    """Return a table: the first `left` columns are text, the others numbers."""
    return {"table": {"header": list(header), "rows": [[str(cell) for cell in row] for row in rows], "left": left}}


def note(line: str) -> Block:
    """Return a remark."""
    return {"note": line}


def classes(description: str) -> Block:
    """Return the descriptions of classes: a line for each, its name and share before the first ``): ``."""
    return {"classes": description}


def are_blocks(value: object) -> bool:
    """Whether a value that was read from a file is a list of blocks."""
    return isinstance(value, list) and all(isinstance(one, dict) and len(one) == 1 and _is_block(one) for one in value)


def _is_block(one: Mapping[str, Any]) -> bool:
    [(kind, content)] = one.items()
    if kind in ("text", "classes", "note"):
        return isinstance(content, str)
    if kind == "facts":
        return bool(content) and _are_rows(content, 2)
    if kind != "table" or not isinstance(content, dict) or set(content) != {"header", "rows", "left"}:
        return False
    header = content["header"]
    return _are_rows([header]) and _are_rows(content["rows"], len(header)) and isinstance(content["left"], int)


def _are_rows(rows: object, width: int | None = None) -> bool:
    return isinstance(rows, list) and all(
        isinstance(row, list) and width in (None, len(row)) and all(isinstance(cell, str) for cell in row)
        for row in rows
    )
