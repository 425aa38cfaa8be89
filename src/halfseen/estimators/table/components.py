"""The components of a model over columns, classes or states, as they are compared with those of another model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from halfseen.kinds.records import ColumnProfile
from halfseen.leaves.leaf import Floats
from halfseen.leaves.limits import Params

LEAST = 1e-9  # a difference below is rounding


class Move(NamedTuple):
    """A parameter that differs: by `size` in units of the column's spread (probabilities: as they are)."""

    of: str
    column: str
    value: str
    before: float
    after: float
    size: float


@dataclass(frozen=True, eq=False)
class Components:
    """Components with a distribution over the columns of a table.

    Attributes
    ----------
    names : tuple of str
    shares : (K,) array
    model, params : the model of the engine, with its `overlap`, and its parameters
    profiles : list of ColumnProfile
    """

    names: tuple[str, ...]
    shares: Floats
    model: Any
    params: Params
    profiles: list[ColumnProfile]
    kind: ClassVar[str] = "distributions"

    def overlap(self, other: Components) -> tuple[Floats, Floats]:
        """Return the Bhattacharyya overlap with each component of another model, (K, L); twice, as it also matches."""
        overlap = np.exp(self.model.overlap(self.params, other.params))
        return overlap, overlap

    def moves(self, other: Components, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> list[Move]:
        """Return the parameters of matched components that differ."""
        moves = []
        for mine, its in zip(self.profiles, other.profiles, strict=True):
            unit = mine.kind.unit(mine)
            for value, before, after in zip(mine.rows, mine.values[:, rows], its.values[:, columns], strict=True):
                for k, i in enumerate(rows.tolist()):
                    size = abs(float(after[k] - before[k])) / unit
                    if size > LEAST:
                        move = Move(self.names[i], mine.name, str(value), float(before[k]), float(after[k]), size)
                        moves.append(move)
        return moves
