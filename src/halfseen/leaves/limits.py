"""What a maximiser may not do: entries that are fixed, values that have a floor."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

Params = Any  # an array, a named tuple of arrays, or a dict of these: each leaf's docstring says which


@dataclass(frozen=True)
class Limits:
    """Constraints, passed to the leaf that applies them exactly.

    Attributes
    ----------
    fixed : bool masks in the shape of the params, or None
        Entries that keep their value.
    floor : float or None
        Smallest probability, smallest rate, or smallest variance in units of the column's own variance.
    """

    fixed: Params = None
    floor: float | None = None

    def with_fixed(self, fixed: Params) -> Limits:
        """Return limits that also fix the entries marked in `fixed`."""
        return replace(self, fixed=fixed if self.fixed is None else either(self.fixed, fixed))

    def with_floor(self, floor: float) -> Limits:
        """Return limits with at least this floor."""
        return replace(self, floor=floor if self.floor is None else max(floor, self.floor))

    def of(self, name: str) -> Limits:
        """Return the limits of one part of a product or model."""
        return self if self.fixed is None else replace(self, fixed=self.fixed.get(name))


FREE = Limits()


def filled(mask: Params, like: Params) -> Params:
    """Return a whole tree of masks shaped as `like`: what is absent is not fixed."""
    if isinstance(like, Mapping):
        return {name: filled(None if mask is None else mask.get(name), part) for name, part in like.items()}
    if isinstance(like, tuple):
        parts = [None] * len(like) if mask is None else mask
        return type(like)(*(filled(m, part) for m, part in zip(parts, like, strict=True)))
    return np.zeros(like.shape, dtype=bool) if mask is None else mask


def either(first: Params, second: Params) -> Params:
    """Return the union of two trees of masks; a part absent from one is taken from the other."""
    if first is None or second is None:
        return first if second is None else second
    if isinstance(first, Mapping):
        return {name: either(first.get(name), second.get(name)) for name in {**first, **second}}
    if isinstance(first, tuple):
        return type(first)(*(either(a, b) for a, b in zip(first, second, strict=True)))
    return first | second
