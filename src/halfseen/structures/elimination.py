"""How to sum over the unobserved variables of a component: everything at once, or one variable after the other.

Given a row, the unobserved variables fall into *components*: two belong together when they share a family. A component
has the same *scheme* in every row, for all other members of its families are observed.

- *bucket*: a table over some variables of the component, the product of families and of messages from other buckets;
  its variables are those of the message it sends, then those it sums over.
- *message*: the sums, one for each state of the variables that go on.
- *entry*: one state of all variables of a bucket. `local` says for each entry which cell of a family, or which sum of a
  message, it multiplies; what the observed members of a family add to the cell is the family's *base*.

The last bucket sends one sum: the probability of what was observed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import combinations
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from halfseen.errors import FitError
from halfseen.structures.graph import Graph

Shorts = NDArray[np.int32]

SMALL = 64  # states of a component that are gone through one by one; beyond, elimination does less work
LARGEST = 1 << 24  # entries of a bucket: 128 MB, and as much again for every two families in it


class Factor(NamedTuple):
    """What a bucket multiplies: family number `family` of the scheme (-1: the message of bucket `bucket`)."""

    family: int
    bucket: int
    local: Shorts


class Bucket(NamedTuple):
    """A table over the variables `sent` and `summed`, in this order."""

    sent: tuple[int, ...]
    summed: tuple[int, ...]
    n_sent: int
    n_summed: int
    factors: tuple[Factor, ...]


class Scheme(NamedTuple):
    """How one component is summed over: its variables, the families they stand in, and the buckets in their order."""

    variables: tuple[int, ...]
    families: tuple[int, ...]
    buckets: tuple[Bucket, ...]

    @property
    def n_entries(self) -> int:
        """Entries of all buckets."""
        return sum(bucket.n_sent * bucket.n_summed for bucket in self.buckets)

    @property
    def work(self) -> int:
        """Look-ups for one case."""
        return sum(bucket.n_sent * bucket.n_summed * len(bucket.factors) for bucket in self.buckets)


class Space(NamedTuple):
    """What a scheme is made from: states of variables, and the scope and strides of each table.

    Tables are families, and likelihoods of soft evidence, which have one member.
    """

    names: Sequence[str]
    cards: Sequence[int]
    strides: Sequence[dict[int, int]]

    @classmethod
    def of(cls, graph: Graph, soft: Iterable[int] = ()) -> Space:
        """Return the space of a graph, with a table of likelihoods for each variable in `soft`."""
        return cls(graph.names, graph.cards, [*graph.strides, *({v: 1} for v in soft)])


def scheme(space: Space, variables: Collection[int], tables: Sequence[int]) -> Scheme:
    """Return the cheapest scheme found for a component; `tables` are those that any of its variables stands in."""
    inside = tuple(sorted(variables))
    at_once = prod(space.cards[v] for v in inside)
    if at_once <= SMALL:
        return _built(space, inside, tables, [inside])
    steps = _steps(space, inside, tables)
    if at_once * len(tables) <= _cost(space, inside, tables, steps):
        return _built(space, inside, tables, [inside])
    return _built(space, inside, tables, steps)


def _steps(space: Space, variables: Sequence[int], tables: Sequence[int]) -> list[tuple[int, ...]]:
    """Return the variables in the order they are summed over: always the one whose bucket is smallest.

    When few states are left, they are gone through at once.
    """
    cards = space.cards
    left = set(variables)
    near: dict[int, set[int]] = {v: set() for v in left}
    for table in tables:
        for one, two in combinations([m for m in space.strides[table] if m in left], 2):
            near[one].add(two)
            near[two].add(one)
    steps: list[tuple[int, ...]] = []
    size = prod(cards[v] for v in left)
    while size > SMALL:
        v = min(left, key=lambda u: (cards[u] * prod(cards[w] for w in near[u]), _fill(near, u), u))
        entries = cards[v] * prod(cards[w] for w in near[v])
        if entries > LARGEST:
            _refuse(space, {v, *near[v]}, entries)
        for one, two in combinations(near[v], 2):
            near[one].add(two)
            near[two].add(one)
        for other in near.pop(v):
            near[other].discard(v)
        left.discard(v)
        size //= cards[v]
        steps.append((v,))
    return [*steps, tuple(sorted(left))] if left else steps


def _fill(near: dict[int, set[int]], v: int) -> int:
    """Return how many pairs of neighbours would become neighbours of each other."""
    return sum(two not in near[one] for one, two in combinations(near[v], 2))


def _refuse(space: Space, clique: Collection[int], entries: int) -> None:
    names = [space.names[v] for v in sorted(clique)]
    shown = ", ".join(names[:12]) + (f" and {len(names) - 12} more" if len(names) > 12 else "")
    raise FitError(
        f"exact inference would need a table of {entries:,} entries over {shown} (at most {LARGEST:,} are made). Give "
        "some of them fewer states or fewer parents, or observe some of them."
    )


def _scopes(
    space: Space, variables: Collection[int], tables: Sequence[int], steps: Sequence[tuple[int, ...]]
) -> list[tuple[tuple[int, ...], list[int], list[int]]]:
    """Return for each bucket what its message is over, its tables, and the buckets whose messages it takes."""
    when = {v: b for b, step in enumerate(steps) for v in step}
    scope: list[set[int]] = [set() for _ in steps]
    own: list[list[int]] = [[] for _ in steps]
    taken: list[list[int]] = [[] for _ in steps]
    for slot, table in enumerate(tables):
        members = [m for m in space.strides[table] if m in when]
        first = min(when[m] for m in members)
        own[first].append(slot)
        scope[first].update(members)
    found = []
    for b, step in enumerate(steps):
        sent = tuple(sorted(scope[b] - set(step)))
        if sent:
            receiver = min(when[v] for v in sent)
            taken[receiver].append(b)
            scope[receiver].update(sent)
        found.append((sent, own[b], taken[b]))
    return found


def _cost(space: Space, variables: Collection[int], tables: Sequence[int], steps: Sequence[tuple[int, ...]]) -> int:
    total = 0
    for (sent, own, taken), step in zip(_scopes(space, variables, tables, steps), steps, strict=True):
        total += prod(space.cards[v] for v in (*sent, *step)) * (1 + len(own) + len(taken))
    return total


def _built(space: Space, variables: tuple[int, ...], tables: Sequence[int], steps: list[tuple[int, ...]]) -> Scheme:
    """Return the scheme that sums over the variables in these steps."""
    buckets: list[Bucket] = []
    for (sent, own, taken), step in zip(_scopes(space, variables, tables, steps), steps, strict=True):
        scope = (*sent, *step)
        factors = [Factor(slot, -1, _local(space, scope, space.strides[tables[slot]])) for slot in own]
        factors += [Factor(-1, b, _local(space, scope, _strides(space, buckets[b].sent))) for b in taken]
        n_sent, n_summed = prod(space.cards[v] for v in sent), prod(space.cards[v] for v in step)
        buckets.append(Bucket(sent, step, n_sent, n_summed, tuple(factors)))
    return Scheme(variables, tuple(tables), tuple(buckets))


def _strides(space: Space, variables: Sequence[int]) -> dict[int, int]:
    steps, step = {}, 1
    for v in reversed(variables):
        steps[v] = step
        step *= space.cards[v]
    return steps


def _local(space: Space, scope: Sequence[int], strides: dict[int, int]) -> Shorts:
    """Return for each entry of a bucket what its states add to the place in a table with these strides."""
    shape = tuple(space.cards[v] for v in scope)
    total = np.zeros(shape, dtype=np.int32)
    for axis, v in enumerate(scope):
        if v in strides:
            total += (strides[v] * np.arange(shape[axis], dtype=np.int32)).reshape(-1, *[1] * (len(shape) - axis - 1))
    return total.ravel()
