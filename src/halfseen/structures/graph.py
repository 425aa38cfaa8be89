"""A directed graph of discrete variables: families, the layout of their tables, and what follows from the graph alone.

- *family*: a variable with its parents; its members are the parents in their order, then the variable.
- *table*: P(variable | parents) of a family, an array with an axis for each member; the tables of all families stand
  one after the other in one vector of *cells*.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np
from numpy.typing import NDArray

from halfseen.errors import ParameterError

Ints = NDArray[np.int64]
MOST_CELLS = 1 << 24  # of a table: 24 parents with two states, 128 MB
MOST_AXES = 32  # of a table: those of an array


def oversized(shape: Sequence[int]) -> str:
    """Return what is wrong with a table of this shape, if it is too large, as the end of a sentence.

    Examples
    --------
    >>> oversized([2] * 40)
    'would have 1.1e+12 cells, of 39 parents; at most 16,777,216 are possible. Use fewer parents, or fewer states.'
    >>> oversized([2] * 10)
    ''
    """
    size = prod(shape)
    if size <= MOST_CELLS and len(shape) <= MOST_AXES:
        return ""
    number = f"{size:,}" if size < 1e9 else f"{size:.2g}" if size < 1e300 else "more than 1e300"
    limit = f"at most {MOST_CELLS:,} are possible" if size > MOST_CELLS else f"at most {MOST_AXES - 1} are possible"
    return f"would have {number} cells, of {len(shape) - 1} parents; {limit}. Use fewer parents, or fewer states."


@dataclass(frozen=True)
class Graph:
    """Variables by number, with the number of states and the parents of each.

    Examples
    --------
    >>> graph = Graph(("X", "Y", "Z"), (2, 2, 3), ((1,), (), (1,)))
    >>> graph.order, graph.shapes
    ((1, 0, 2), ((2, 2), (2,), (2, 3)))
    >>> graph.offsets.tolist()
    [0, 4, 6, 12]
    """

    names: tuple[str, ...]
    cards: tuple[int, ...]
    parents: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        for name, shape in zip(self.names, self.shapes, strict=True):
            wrong = oversized(shape)
            if wrong:
                raise ParameterError(f"the table of {name!r} {wrong}")

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def order(self) -> tuple[int, ...]:
        """Variables so that parents come before their children; raises where the edges go round in a circle."""
        waiting = [len(parents) for parents in self.parents]
        ready = [v for v, count in enumerate(waiting) if count == 0]
        found: list[int] = []
        while ready:
            v = ready.pop(0)
            found.append(v)
            for child in self.children[v]:
                waiting[child] -= 1
                if waiting[child] == 0:
                    ready.append(child)
        if len(found) < len(self):
            raise ParameterError(f"edges: they go round in a circle: {' -> '.join(self._circle(found))}. Remove one.")
        return tuple(found)

    def _circle(self, outside: Collection[int]) -> list[str]:
        """Return a circle among the variables that are not `outside`, by their names."""
        left = set(range(len(self))) - set(outside)
        walk = [min(left)]
        while walk[-1] not in walk[:-1]:
            walk.append(next(p for p in self.parents[walk[-1]] if p in left))
        circle = walk[walk.index(walk[-1]) :]
        return [self.names[v] for v in reversed(circle)]

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """The children of each variable."""
        found: list[list[int]] = [[] for _ in self.names]
        for v, parents in enumerate(self.parents):
            for parent in parents:
                found[parent].append(v)
        return tuple(map(tuple, found))

    @cached_property
    def members(self) -> tuple[tuple[int, ...], ...]:
        """Parents, then the variable, of each family."""
        return tuple((*parents, v) for v, parents in enumerate(self.parents))

    @cached_property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """The shape of each family's table."""
        return tuple(tuple(self.cards[m] for m in members) for members in self.members)

    @cached_property
    def offsets(self) -> Ints:
        """First cell of each family's table; the last entry is the number of all cells."""
        return np.concatenate([[0], np.cumsum([prod(shape) for shape in self.shapes])]).astype(np.int64)

    @cached_property
    def strides(self) -> tuple[dict[int, int], ...]:
        """How many cells apart neighbouring states of each member stand, by family."""
        found = []
        for members, shape in zip(self.members, self.shapes, strict=True):
            steps = np.cumprod([1, *reversed(shape)])[-2::-1].tolist()
            found.append(dict(zip(members, steps, strict=True)))
        return tuple(found)

    @cached_property
    def rows(self) -> list[int]:
        """The length of every row of probabilities, over all tables."""
        return [self.cards[v] for v, shape in enumerate(self.shapes) for _ in range(prod(shape[:-1]))]

    @property
    def n_cells(self) -> int:
        """Number of cells of all tables."""
        return int(self.offsets[-1])

    def slice(self, v: int) -> slice:
        """Return where the table of a family stands."""
        return slice(int(self.offsets[v]), int(self.offsets[v + 1]))

    def cells(self, v: int, codes: NDArray[np.integer]) -> Ints:
        """Return the cell of family `v` that each row of codes (N, V) holds; all members must be observed."""
        found = np.full(len(codes), self.offsets[v], dtype=np.int64)
        for member, stride in self.strides[v].items():
            found += stride * codes[:, member].astype(np.int64)
        return found

    # ---- what follows from the graph alone ---------------------------------------------------------------------------

    def ancestors(self, variables: Iterable[int]) -> set[int]:
        """Return variables with all their ancestors."""
        found: set[int] = set()
        ahead = list(variables)
        while ahead:
            v = ahead.pop()
            if v not in found:
                found.add(v)
                ahead += self.parents[v]
        return found

    def blanket(self, v: int) -> set[int]:
        """Return parents, children, and parents of children: given these, `v` is independent of all others."""
        found = {*self.parents[v], *self.children[v]}
        for child in self.children[v]:
            found |= set(self.parents[child])
        return found - {v}

    def separated(self, one: Iterable[int], two: Iterable[int], given: Iterable[int] = ()) -> bool:
        """Whether every path between `one` and `two` is blocked by `given`.

        A path goes on through a variable that is not given, and through a collider with a given descendant.

        Examples
        --------
        >>> graph = Graph(("X", "Y", "Z"), (2, 2, 2), ((), (), (0, 1)))
        >>> graph.separated([0], [1]), graph.separated([0], [1], [2])
        (True, False)
        """
        known, goal = set(given), set(two)
        opened = self.ancestors(known)
        ahead = [(v, True) for v in one]  # (variable, whether it was reached from a child)
        seen: set[tuple[int, bool]] = set()
        while ahead:
            v, upward = ahead.pop()
            if (v, upward) in seen:
                continue
            seen.add((v, upward))
            if v in goal and v not in known:
                return False
            if upward and v not in known:
                ahead += [(p, True) for p in self.parents[v]] + [(c, False) for c in self.children[v]]
            elif not upward:
                if v not in known:
                    ahead += [(c, False) for c in self.children[v]]
                if v in opened:
                    ahead += [(p, True) for p in self.parents[v]]
        return True

    def layers(self) -> list[list[int]]:
        """Return the variables in layers: each below all its parents, and near them."""
        depth: dict[int, int] = {}
        for v in self.order:
            depth[v] = 1 + max((depth[p] for p in self.parents[v]), default=-1)
        for v in self.order:
            if not self.parents[v] and self.children[v]:
                depth[v] = min(depth[child] for child in self.children[v]) - 1  # just above the first child
        found: list[list[int]] = [[] for _ in range(1 + max(depth.values(), default=-1))]
        for v in self.order:
            found[depth[v]].append(v)
        return found


def read_names(what: str, names: Sequence[str] | str, known: Sequence[str]) -> list[int]:
    """Return the numbers of variables that a user names."""
    listed = [names] if isinstance(names, str) else list(names)
    for name in listed:
        if name not in known:
            raise ParameterError(f"{what}: there is no variable {name!r}. Variables: {', '.join(map(str, known))}.")
    return [known.index(name) for name in listed]
