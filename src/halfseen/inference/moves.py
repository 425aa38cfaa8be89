"""Small moves of the parameters of a model, and derivatives along them.

Coordinates that are not coupled (`Leaf.coupled`) are moved at the same time: a table of a hundred rows of three cells
takes three moves, not three hundred (Curtis, Powell and Reid 1974). Which group of coordinates a parameter depends on
is found by moving the groups whose number has some bit set, bit by bit; if one depends on several groups, all
coordinates are moved one by one.

Vocabulary
----------
group     coordinates that are coupled
member    a coordinate's place among those of its group
owner     the group that a parameter depends on; -1: none
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from halfseen.engine.loop.model import Model
from halfseen.leaves.leaf import Floats
from halfseen.leaves.limits import Params

STEP = 1e-4  # of a coordinate, to both sides
PROBE = 1e-2  # size of the moves that show what depends on what

Ints = NDArray[np.intp]


class Moves:
    """Moves from given parameters.

    Parameters
    ----------
    model : Model
    params : parameters
    at : (P,) array     their coordinates
    """

    def __init__(self, model: Model, params: Params, at: Floats) -> None:
        self._model, self._params, self._at = model, params, at
        self.groups = np.unique(model.coupled(params), return_inverse=True)[1]
        self._member = _members(self.groups)
        self._both = [tuple(self._moved(side * STEP * (self._member == m)) for side in (1, -1)) for m in self._all()]

    def _all(self) -> range:
        return range(int(self._member.max(initial=-1)) + 1)

    def _moved(self, move: Floats) -> Params:
        return self._model.freed(self._at + move, self._params)

    def curvature(self, slope: Callable[[Params], Floats]) -> Floats:
        """Return minus the derivative of a slope that couples no two groups, (P, P), symmetric."""
        found = np.zeros((len(self._at), len(self._at)))
        for m, (up, down) in zip(self._all(), self._both, strict=True):
            change = (slope(down) - slope(up)) / (2 * STEP)
            for j in np.flatnonzero(self._member == m):
                own = self.groups == self.groups[j]
                found[j, own] = change[own]
        return (found + found.T) / 2

    def jacobian(self, shown: Callable[[Params], Floats]) -> Floats:
        """Return d shown / d coordinates, (Q, P)."""
        owner = self._owners(shown)
        if owner is None:
            return self._one_by_one(shown)
        found = np.zeros((len(owner), len(self._at)))
        place = np.full((self.groups.max(initial=-1) + 1, len(self._all())), -1, dtype=np.intp)
        place[self.groups, self._member] = np.arange(len(self._at))
        for m, (up, down) in zip(self._all(), self._both, strict=True):
            change = (shown(up) - shown(down)) / (2 * STEP)
            rows = np.flatnonzero((owner >= 0) & (place[owner, m] >= 0))
            found[rows, place[owner[rows], m]] = change[rows]
        return found

    def to_both_sides(self) -> NDArray[np.bool_]:
        """Whether parameters change if a coordinate is moved up, and if it is moved down, (P,)."""
        owner = self._owners(self._model.pack)
        if owner is None:
            return self._one_by_one_to_both_sides()
        still = self._model.pack(self._moved(np.zeros(len(self._at))))
        found = np.zeros(len(self._at), dtype=bool)
        for m, both in zip(self._all(), self._both, strict=True):
            changed = [np.isin(self.groups, owner[self._model.pack(each) != still]) for each in both]
            own = self._member == m
            found[own] = (changed[0] & changed[1])[own]
        return found

    def _owners(self, shown: Callable[[Params], Floats]) -> Ints | None:
        """Return the group that each shown parameter depends on; None where one depends on several."""
        still = shown(self._moved(np.zeros(len(self._at))))
        jump = PROBE * np.random.default_rng(0).standard_normal(len(self._at))
        moves = shown(self._moved(jump)) != still
        owner = np.where(moves, 0, -1)
        for bit in range(int(self.groups.max(initial=0)).bit_length()):
            high = (self.groups >> bit & 1).astype(bool)
            by_high, by_low = (shown(self._moved(np.where(own, jump, 0.0))) != still for own in (high, ~high))
            if (by_high & by_low).any():
                return None
            owner[moves & by_high] += 1 << bit
        return owner

    def _each(self) -> Iterator[tuple[int, Params, Params]]:
        for j, unit in enumerate(np.eye(len(self._at))):
            yield j, self._moved(STEP * unit), self._moved(-STEP * unit)

    def _one_by_one(self, shown: Callable[[Params], Floats]) -> Floats:
        return np.array([(shown(up) - shown(down)) / (2 * STEP) for _, up, down in self._each()]).T

    def _one_by_one_to_both_sides(self) -> NDArray[np.bool_]:
        still = self._model.pack(self._moved(np.zeros(len(self._at))))
        return np.array(
            [all((self._model.pack(each) != still).any() for each in both) for _, *both in self._each()], dtype=bool
        )


def _members(groups: Ints) -> Ints:
    """Return the place of each coordinate among those of its group.

    Examples
    --------
    >>> _members(np.array([0, 1, 0, 0, 1]))
    array([0, 0, 1, 2, 1])
    """
    order = np.argsort(groups, kind="stable")
    firsts = np.searchsorted(groups[order], groups[order])
    member = np.empty(len(groups), dtype=np.intp)
    member[order] = np.arange(len(groups)) - firsts
    return member
