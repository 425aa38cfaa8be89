"""Names of classes, states and clusters, as they are typed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from halfseen.errors import ParameterError


def rename(model: Any, names: Any, request: Mapping[str, Any]) -> Any:
    """Return a model with other names of its classes, states or clusters."""
    return model.rename(names)


def read_names(texts: Sequence[str]) -> list[str] | dict[str, str]:
    """Read names: all in order, or each with the number or the present name of what it is for.

    Examples
    --------
    >>> read_names(["Adelie", "Gentoo"]), read_names(["0=Adelie", "class 1=Gentoo"])
    (['Adelie', 'Gentoo'], {'0': 'Adelie', 'class 1': 'Gentoo'})
    """
    pairs = [text.partition("=") for text in texts]
    if not any(equals for _, equals, _ in pairs):
        return list(texts)
    found: dict[str, str] = {}
    for text, (key, equals, name) in zip(texts, pairs, strict=True):
        if not equals:
            raise ParameterError(f"{text!r} has no =: give all names in order, a b c, or each with a number, 0=a 1=b.")
        if key.strip() in found:
            raise ParameterError(f"{key.strip()} is named twice: {found[key.strip()]} and {name.strip()}.")
        found[key.strip()] = name.strip()
    return found
