"""Kinds of columns as the options `columns` and `emission` name them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def named_kinds(columns: Mapping[str | int, str] | None, emission: str, names: Sequence[str]) -> dict[str | int, str]:
    """Return the kinds by column: those in `columns`, and `emission` for the others unless it is "auto"."""
    kinds = dict(columns or {})
    if emission == "auto":
        return kinds
    chosen = {names[key] if isinstance(key, int) and key < len(names) else key for key in kinds}
    return kinds | {name: emission for name in names if name not in chosen}
