"""Allowed transitions between states, and minimum durations of states.

A state with a minimum duration of d steps is expanded into a row of d: each leads to the next, the last may stay. All
of them have the state's emission. The chain then runs over the expanded states; users see the K states.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halfseen.errors import ParameterError
from halfseen.estimators import options
from halfseen.kinds.records import Prior
from halfseen.leaves import Cells, Frozen, Leaf
from halfseen.leaves.categorical import read_table
from halfseen.leaves.leaf import Floats, Stats, frozen
from halfseen.leaves.limits import Params

SHAPES = ("left-right",)
STAY = 0.8  # probability to stay in every other start: states of real series persist


@dataclass(frozen=True, eq=False)
class Topology:
    """The allowed transitions among K states.

    Attributes
    ----------
    begin : (K,) bool array      states that may come first
    follow : (K, K) bool array   whether state j may follow state i
    dwell : (K,) ints            minimum duration in steps
    given : (K, K) array or None    given transitions, to start from

    Examples
    --------
    >>> two = Topology.read(None, 2, min_dwell=[1, 3])
    >>> two.owner
    (0, 1, 1, 1)
    >>> two.expanded(np.array([0.5, 0.5]), np.array([[0.9, 0.1], [0.4, 0.6]]))[1]
    array([[0.9, 0.1, 0. , 0. ],
           [0. , 0. , 1. , 0. ],
           [0. , 0. , 0. , 1. ],
           [0.4, 0. , 0. , 0.6]])
    """

    begin: NDArray[np.bool_]
    follow: NDArray[np.bool_]
    dwell: NDArray[np.int64]
    given: Floats | None = None

    @classmethod
    def read(cls, transitions: Any, n_components: int, min_dwell: Any = 1) -> Topology:
        """Read and check the options."""
        begin = np.ones(n_components, dtype=bool)
        follow, given = np.ones((n_components, n_components), dtype=bool), None
        if isinstance(transitions, str):
            options.one_of("transitions", transitions, SHAPES)
            follow = np.eye(n_components, dtype=bool) | np.eye(n_components, k=1, dtype=bool)
            begin = np.arange(n_components) == 0
        elif transitions is not None:
            follow, given = _read_follow(transitions, n_components)
        return cls(begin, follow, _read_dwell(min_dwell, n_components), given)

    @property
    def free(self) -> bool:
        """Whether all transitions are allowed: states differ by their parameters alone."""
        return bool(self.begin.all() and self.follow.all() and (self.dwell == 1).all())

    @property
    def forward(self) -> bool:
        """Whether no state can be returned to: states come in their order."""
        return len(self.begin) > 1 and not np.tril(self.follow, k=-1).any()

    @property
    def n_states(self) -> int:
        """Number of expanded states, S."""
        return int(self.dwell.sum())

    @property
    def owner(self) -> tuple[int, ...] | None:
        """State that each expanded state belongs to; None if none is expanded."""
        return None if (self.dwell == 1).all() else tuple(np.repeat(np.arange(len(self.dwell)), self.dwell).tolist())

    @property
    def firsts(self) -> NDArray[np.int64]:
        """First expanded state of each state."""
        return np.cumsum(self.dwell) - self.dwell

    @property
    def lasts(self) -> NDArray[np.int64]:
        """Last expanded state of each state."""
        return np.cumsum(self.dwell) - 1

    def expanded(self, startprob: Floats, transmat: Floats) -> tuple[Floats, Floats]:
        """Return start (1, S) and transitions (S, S) of the expanded states."""
        size, firsts, lasts = self.n_states, self.firsts, self.lasts
        start, trans = np.zeros((1, size)), np.eye(size, k=1)
        start[0, firsts] = startprob
        for k, last in enumerate(lasts):
            trans[last, firsts] = transmat[k]
            trans[last, firsts[k]] = 0.0
            trans[last, last] = transmat[k, k]
        return start, trans

    def compressed(self, start: Floats, trans: Floats) -> tuple[Floats, Floats]:
        """Return the K starts and (K, K) transitions, after the minimum duration, from those of the expanded states."""
        transmat = trans[np.ix_(self.lasts, self.firsts)].copy()
        np.fill_diagonal(transmat, trans[self.lasts, self.lasts])
        return start[0, self.firsts], transmat

    def leaves(self, prior: Prior, fixed: tuple[str, ...]) -> dict[str, Leaf]:
        """Return the leaves of starts and transitions; excluded transitions stay exactly zero."""
        size = self.n_states
        begin, follow = self.expanded(self.begin.astype(np.float64), self.follow.astype(np.float64))
        return {
            "start": _leaf(begin > 0, (1,), _pseudo(prior, size), "startprob" in fixed),
            "trans": _leaf(
                follow > 0, (0, 1), _pseudo(prior, size * size if prior == "row" else size), "transmat" in fixed
            ),
        }

    def drawn(self, leaves: dict[str, Leaf], rng: np.random.Generator, sticky: bool) -> Params:
        """Return random starts and transitions, around uniform ones or ones in which states persist."""
        even = self.follow / self.follow.sum(axis=1, keepdims=True)
        if sticky and len(even) > 1:
            stay = np.eye(len(even)) * self.follow.diagonal()
            leave = self.follow & ~np.eye(len(even), dtype=bool)
            leave = leave / np.maximum(leave.sum(axis=1, keepdims=True), 1)
            even = np.where(stay.sum(axis=1, keepdims=True) > 0, STAY * stay + (1 - STAY) * leave, even)
            even = even / even.sum(axis=1, keepdims=True)
        begin = self.begin / self.begin.sum()
        start, trans = self.expanded(begin, even if self.given is None else self.given)
        moved = leaves["trans"].jitter(frozen(trans), 0.5, rng) if self.given is None else frozen(trans)
        return {"start": leaves["start"].jitter(frozen(start), 0.5, rng), "trans": moved}

    def order(self, states: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the expanded states in the order of their states."""
        return np.concatenate([np.arange(self.firsts[k], self.lasts[k] + 1) for k in states])

    def taken(self, states: NDArray[np.int64]) -> Topology:
        """Return the topology with its states in another order."""
        given = None if self.given is None else self.given[np.ix_(states, states)]
        return Topology(self.begin[states], self.follow[np.ix_(states, states)], self.dwell[states], given)

    def joined(self, usage: Floats) -> Floats:
        """Return numbers of expanded states (N, S) summed to states, (N, K)."""
        return usage if self.owner is None else np.add.reduceat(usage, self.firsts, axis=1)

    def occupancy(self, start: Stats, trans: Stats) -> Floats:
        """Return the expected number of steps in each state, (K,), from usage of starts and transitions."""
        return self.joined((start[0] + trans.sum(axis=0))[None])[0]


def _leaf(allowed: NDArray[np.bool_], axes: tuple[int, ...], pseudo: float | None, fixed: bool) -> Leaf:
    size = allowed.shape[1]
    counts: Floats | None = None if pseudo is None else np.where(allowed, pseudo, 0.0)
    leaf = Cells(len(allowed), [size], None if fixed else counts, axes=axes)
    if fixed:
        return Frozen(leaf)
    return leaf if allowed.all() else Frozen(leaf, ~allowed)


def _pseudo(prior: Prior, n_cells: int) -> float | None:
    if prior is None or prior == "categories":
        return None
    return 1 / n_cells if prior == "row" else float(prior)


def _read_follow(transitions: Any, n_components: int) -> tuple[NDArray[np.bool_], Floats | None]:
    """Return which transitions are allowed, and their values where numbers were given."""
    table = np.asarray(transitions)
    shape = (n_components, n_components)
    if table.shape != shape:
        raise ParameterError(
            f"transitions has shape {table.shape}, expected {shape}: a row for each state, True or a probability where "
            f"the state of the column may follow. Or use one of {', '.join(map(repr, SHAPES))}."
        )
    allowed = table.astype(bool)
    if not allowed.any(axis=1).all():
        row = int(np.argmin(allowed.any(axis=1)))
        raise ParameterError(
            f"transitions: row {row} is all zero, so no state may follow state {row}. Allow at least that it stays."
        )
    return allowed, read_table(table, shape, "transitions") if has_numbers(table) else None


def has_numbers(transitions: Any) -> bool:
    """Whether transitions are probabilities; True and False, or several ones in a row, only mark what is allowed."""
    if transitions is None or isinstance(transitions, str):
        return False
    table = np.asarray(transitions)
    if set(np.unique(table).tolist()) <= {0, 1}:
        return table.dtype != bool and bool((table.sum(axis=-1) == 1).all())
    return True


def _read_dwell(min_dwell: Any, n_components: int) -> NDArray[np.int64]:
    listed = np.ndim(min_dwell) == 1
    values = [options.whole("min_dwell", value) for value in (min_dwell if listed else [min_dwell] * n_components)]
    if len(values) != n_components:
        raise ParameterError(f"min_dwell={min_dwell!r} has {len(values)} numbers for {n_components} states.")
    return np.array(values, dtype=np.int64)
