"""Constraints that wrap any leaf: `Frozen`, `Tied` and `Floored` are leaves.

Order of work: expect, add the prior, tie, maximise. Each is an exact constrained maximiser, so the objective never
falls; what a leaf cannot apply exactly is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halfseen.assign import Assign
from halfseen.errors import ParameterError
from halfseen.leaves.categorical import Categorical
from halfseen.leaves.exact import Joined, Moments, Shares, Weights
from halfseen.leaves.leaf import Floats, Latent, Leaf, Slopes, Stats, arrays, frozen, map_arrays, n_rows
from halfseen.leaves.limits import FREE, Limits, Params, either, filled


class Wrapped(Leaf):
    """A leaf that passes everything on to the leaf inside; subclasses change what they are for."""

    leaf: Leaf

    @property
    def n_components(self) -> int:  # type: ignore[override]
        """As inside."""
        return self.leaf.n_components

    @property
    def axes(self) -> tuple[int, ...]:  # type: ignore[override]
        """As inside."""
        return self.leaf.axes

    @property
    def stats_axis(self) -> int:  # type: ignore[override]
        """As inside."""
        return self.leaf.stats_axis

    @property
    def has_latent(self) -> bool:  # type: ignore[override]
        """As inside."""
        return self.leaf.has_latent

    @property
    def integrates(self) -> bool:
        """As inside."""
        return self.leaf.integrates

    @property
    def shares_parameters(self) -> bool:  # type: ignore[override]
        """As inside."""
        return self.leaf.shares_parameters

    @property
    def exact(self) -> bool:  # type: ignore[override]
        """As inside."""
        return self.leaf.exact

    @property
    def stats_shape(self) -> tuple[int, ...]:
        """As inside."""
        return self.leaf.stats_shape

    def _within(self, limits: Limits) -> Limits:
        """Return the limits as the leaf inside must see them."""
        return limits

    def blank(self) -> Params:
        """As inside."""
        return self.leaf.blank()

    def prepare(self, params: Params) -> Any:
        """As inside."""
        return self.leaf.prepare(params)

    def score(self, prepared: Any, data: Any, assign: Assign) -> Floats:
        """As inside."""
        return self.leaf.score(prepared, data, assign)

    def expect(self, usage: Floats, prepared: Any, data: Any, assign: Assign, out: Stats) -> int:
        """As inside."""
        return self.leaf.expect(usage, prepared, data, assign, out)

    def count(self, component: NDArray[np.int64], weight: Floats, prepared: Any, data: Any, out: Stats) -> None:
        """As inside."""
        self.leaf.count(component, weight, prepared, data, out)

    def tally(
        self, component: NDArray[np.int64], weight: Floats, cut: Weights, prepared: Any, data: Any
    ) -> Moments | Shares | Joined | None:
        """As inside."""
        return self.leaf.tally(component, weight, cut, prepared, data)

    def settled(self, data: Any) -> NDArray[np.bool_] | None:
        """As inside."""
        return self.leaf.settled(data)

    def latent(self, about: Any, params: Any, data: Any, usage: Floats) -> Latent:
        """As inside."""
        return self.leaf.latent(about, params, data, usage)

    def arrange(self, data: Any) -> NDArray[np.intp] | None:
        """As inside."""
        return self.leaf.arrange(data)

    def maximise(self, stats: Stats, params: Params, limits: Limits = FREE) -> Params:
        """Maximise inside, within these limits too."""
        return self.leaf.maximise(stats, params, self._within(limits))

    def complete(self, stats: Stats, about: Params, params: Params) -> float:
        """As inside."""
        return self.leaf.complete(stats, about, params)

    def rounding(self, stats: Stats, params: Params) -> float:
        """As inside."""
        return self.leaf.rounding(stats, params)

    def prior(self, params: Params) -> Stats | None:
        """As inside."""
        return self.leaf.prior(params)

    def log_prior(self, params: Params) -> float:
        """As inside."""
        return self.leaf.log_prior(params)

    def jitter(self, params: Params, amount: float, rng: np.random.Generator) -> Params:
        """Jitter inside, then obey the limits."""
        return self.conform(self.leaf.jitter(params, amount, rng), params)

    def conform(self, params: Params, like: Params, limits: Limits = FREE) -> Params:
        """Conform inside, within these limits too."""
        return self.leaf.conform(params, like, self._within(limits))

    def sample(self, params: Params, components: NDArray[np.int64], rng: np.random.Generator) -> Any:
        """As inside."""
        return self.leaf.sample(params, components, rng)

    def impute(self, params: Params, data: Any, resp: Floats, rng: np.random.Generator | None) -> Any:
        """As inside."""
        return self.leaf.impute(params, data, resp, rng)

    def n_free(self, limits: Limits = FREE) -> int:
        """As inside, within these limits too."""
        return self.leaf.n_free(self._within(limits))

    def n_tied(self, n_groups: int, limits: Limits = FREE) -> int:
        """As inside, within these limits too."""
        return self.leaf.n_tied(n_groups, self._within(limits))

    def affinity(self, params: Params, other: Params) -> Floats:
        """As inside."""
        return self.leaf.affinity(params, other)

    def collapsed(self, params: Params, limits: Limits = FREE) -> list[int]:
        """As inside, within these limits too."""
        return self.leaf.collapsed(params, self._within(limits))

    def feasible(self, params: Params, limits: Limits = FREE) -> bool:
        """As inside, within these limits too."""
        return self.leaf.feasible(params, self._within(limits))

    def flaw(self, params: Params) -> str | None:
        """As inside."""
        return self.leaf.flaw(params)

    def pack(self, params: Params) -> Floats:
        """As inside."""
        return self.leaf.pack(params)

    def unpack(self, vector: Floats, like: Params) -> Params:
        """As inside."""
        return self.leaf.unpack(vector, like)

    def free(self, params: Params, limits: Limits = FREE) -> Floats:
        """As inside, within these limits too."""
        return self.leaf.free(params, self._within(limits))

    def freed(self, vector: Floats, like: Params, limits: Limits = FREE) -> Params:
        """As inside, within these limits too."""
        return self.leaf.freed(vector, like, self._within(limits))

    def slope(self, stats: Stats, params: Params, limits: Limits = FREE) -> Floats:
        """As inside, within these limits too."""
        return self.leaf.slope(stats, params, self._within(limits))

    def slopes(self, params: Params, data: Any, component: int, limits: Limits = FREE) -> Slopes | None:
        """As inside, within these limits too."""
        return self.leaf.slopes(params, data, component, self._within(limits))

    def coupled(self, params: Params, limits: Limits = FREE) -> NDArray[np.intp]:
        """As inside, within these limits too."""
        return self.leaf.coupled(params, self._within(limits))

    def draw(self, stats: Stats, about: Params, rng: np.random.Generator, limits: Limits = FREE) -> Params:
        """As inside, within these limits too."""
        return self.leaf.draw(stats, about, rng, self._within(limits))

    def average(self, stats: Stats, about: Params, limits: Limits = FREE) -> Params:
        """As inside, within these limits too."""
        return self.leaf.average(stats, about, self._within(limits))

    def quantile(self, stats: Stats, about: Params, q: float, limits: Limits = FREE) -> Params:
        """As inside, within these limits too."""
        return self.leaf.quantile(stats, about, q, self._within(limits))

    def take(self, params: Params, order: NDArray[np.int64]) -> Params:
        """As inside."""
        return self.leaf.take(params, order)

    def reorder(self, stats: Stats, order: NDArray[np.int64]) -> Stats:
        """As inside."""
        return self.leaf.reorder(stats, order)

    def pool(self, stats: Stats, groups: NDArray[np.int64]) -> Stats:
        """As inside."""
        return self.leaf.pool(stats, groups)

    def recentre(self, stats: Stats, about: Params, onto: Params) -> Stats:
        """As inside."""
        return self.leaf.recentre(stats, about, onto)


@dataclass(frozen=True, eq=False)
class Frozen(Wrapped):
    """A leaf whose parameters, or the entries marked in `fixed`, keep the value they start with, bit for bit.

    Fixed cells of a table keep their value and the other cells of the row share the remaining mass.

    Examples
    --------
    >>> import numpy as np
    >>> from halfseen.leaves import Cells
    >>> half = Frozen(Cells(1, [3]), np.array([[True, False, False]]))
    >>> half.maximise(np.array([[9.0, 3.0, 1.0]]), np.array([[0.5, 0.25, 0.25]]))
    array([[0.5  , 0.375, 0.125]])
    """

    leaf: Leaf
    fixed: Params = None

    def __post_init__(self) -> None:
        _refuse_overlap(self, [])

    def _within(self, limits: Limits) -> Limits:
        return limits if self.fixed is None else limits.with_fixed(self.fixed)

    def maximise(self, stats: Stats, params: Params, limits: Limits = FREE) -> Params:
        """Return `params` themselves, or maximise the entries that are free."""
        return params if self.fixed is None else super().maximise(stats, params, limits)

    def conform(self, params: Params, like: Params, limits: Limits = FREE) -> Params:
        """Take what is fixed from `like`."""
        return like if self.fixed is None else super().conform(params, like, limits)

    def n_free(self, limits: Limits = FREE) -> int:
        """Return the number of entries that may move."""
        return 0 if self.fixed is None else super().n_free(limits)

    def collapsed(self, params: Params, limits: Limits = FREE) -> list[int]:
        """Report only what could move."""
        return [] if self.fixed is None else super().collapsed(params, limits)

    def unpack(self, vector: Floats, like: Params) -> Params:
        """Return the parameters of the vector, with fixed entries as in `like` to the last bit."""
        if self.fixed is None:
            return like
        moved = self.leaf.unpack(vector, like)
        mask = filled(self.fixed, like)
        return map_arrays(lambda fixed, old, new: frozen(np.where(fixed, old, new)), mask, like, moved)

    def freed(self, vector: Floats, like: Params, limits: Limits = FREE) -> Params:
        """Return `like` itself, or move the entries that are free."""
        return like if self.fixed is None else super().freed(vector, like, limits)

    def slope(self, stats: Stats, params: Params, limits: Limits = FREE) -> Floats:
        """Return zero for what is fixed."""
        return np.zeros_like(self.free(params, limits)) if self.fixed is None else super().slope(stats, params, limits)

    def slopes(self, params: Params, data: Any, component: int, limits: Limits = FREE) -> Slopes | None:
        """Return no coordinates where all is fixed."""
        if self.fixed is None:
            return Slopes(np.zeros(0, dtype=np.intp), np.zeros((n_rows(data), 0)))
        return super().slopes(params, data, component, limits)

    def draw(self, stats: Stats, about: Params, rng: np.random.Generator, limits: Limits = FREE) -> Params:
        """Return `about` itself, or draw the entries that are free."""
        return about if self.fixed is None else super().draw(stats, about, rng, limits)

    def average(self, stats: Stats, about: Params, limits: Limits = FREE) -> Params:
        """Return `about` itself, or average the entries that are free."""
        return about if self.fixed is None else super().average(stats, about, limits)

    def quantile(self, stats: Stats, about: Params, q: float, limits: Limits = FREE) -> Params:
        """Return `about` itself, or the quantiles of the entries that are free."""
        return about if self.fixed is None else super().quantile(stats, about, q, limits)


@dataclass(frozen=True, eq=False)
class Tied(Wrapped):
    """A leaf in which some components, or some cells of every row of a table, share their parameters.

    Parameters
    ----------
    leaf : Leaf
    components : sequence of int, optional
        Group of each component; components of one group are equal. `[0, 0, 1]` ties the first two.
    cells : sequence of sequences of int, optional
        Groups of cells (of a `Categorical` or `Cells` leaf, each within one row) that are equal.

    Examples
    --------
    >>> import numpy as np
    >>> from halfseen.leaves import Categorical
    >>> same = Tied(Categorical(2, [2]), components=[0, 0])
    >>> same.maximise(np.array([[3.0, 1.0], [1.0, 3.0]]), np.full((2, 2), 0.5))
    array([[0.5, 0.5],
           [0.5, 0.5]])
    """

    leaf: Leaf
    components: Sequence[int] | None = None
    cells: Sequence[Sequence[int]] = ()

    def __post_init__(self) -> None:
        if self.components is not None and len(self.components) != self.n_components:
            raise ParameterError(
                f"Tied: components names {len(self.components)} groups for {self.n_components} components; "
                "give the group of each component."
            )
        if self.cells:
            self._check_cells()
        _refuse_overlap(self, [])

    def _check_cells(self) -> None:
        table = _table_inside(self.leaf)
        flat = [cell for group in self.cells for cell in group]
        if len(flat) != len(set(flat)):
            raise ParameterError("Tied: a cell stands in two groups; join them into one group.")
        for group in self.cells:
            rows = np.searchsorted(table.offsets, group, side="right")
            if len(set(rows.tolist())) > 1:
                raise ParameterError(
                    f"Tied: cells {list(group)} stand in different rows; only cells within one row can be tied exactly."
                )

    def maximise(self, stats: Stats, params: Params, limits: Limits = FREE) -> Params:
        """Pool the statistics of what is tied, then maximise inside."""
        pooled = self._average(self._pooled(stats))
        if self.components is not None and self.leaf.shares_parameters:  # each has its share of the sum: it counts once
            groups = np.asarray(self.components)
            shape = [1] * pooled.ndim
            shape[self.stats_axis] = -1
            pooled = pooled / (groups[:, None] == groups).sum(axis=1).reshape(shape)
        return self.leaf.maximise(pooled, params, limits)

    def _pooled(self, stats: Stats) -> Stats:
        """Give every component the sum of the statistics over its group."""
        return stats if self.components is None else self.leaf.pool(stats, np.asarray(self.components))

    def _average(self, table: Floats) -> Floats:
        if not self.cells:
            return table
        table = np.array(table)
        for group in self.cells:
            table[:, list(group)] = table[:, list(group)].mean(axis=1, keepdims=True)
        return frozen(table)

    def conform(self, params: Params, like: Params, limits: Limits = FREE) -> Params:
        """Give every group the parameters of its first component, every group of cells their mean."""
        projected = self._first(self.leaf.conform(params, like, limits))
        return self._average(projected) if self.cells else projected

    def _first(self, params: Params) -> Params:
        """Give every component the parameters of the first of its group."""
        if self.components is None:
            return params
        groups = np.asarray(self.components)
        return self.leaf.take(params, np.array([np.flatnonzero(groups == group)[0] for group in groups]))

    def freed(self, vector: Floats, like: Params, limits: Limits = FREE) -> Params:
        """Move inside; what is tied is equal to the last bit."""
        moved = self._first(self.leaf.freed(vector, like, limits))
        return self._average(moved) if self.cells else moved

    def slope(self, stats: Stats, params: Params, limits: Limits = FREE) -> Floats:
        """Return the slope of each group of components at the coordinates of its first, which `freed` reads.

        Tied cells have the mean slope: `freed` gives each of them their mean.
        """
        return self.leaf.slope(self._average(self._of_first(stats)), params, limits)

    def _of_first(self, stats: Stats) -> Stats:
        """Give the first component of every group the sum of the statistics over its group, the others none."""
        if self.components is None:
            return stats
        groups = np.asarray(self.components)
        first = np.array([not (groups[:k] == group).any() for k, group in enumerate(groups)])
        others = np.expand_dims(~first, [axis for axis in range(stats.ndim) if axis != self.stats_axis % stats.ndim])
        return np.where(others, 0.0, self._pooled(stats))

    def slopes(self, params: Params, data: Any, component: int, limits: Limits = FREE) -> Slopes | None:
        """Return None: a coordinate of what is tied moves several components."""
        return None

    def coupled(self, params: Params, limits: Limits = FREE) -> NDArray[np.intp]:
        """Return zeros: what is tied couples components or cells."""
        return np.zeros(len(self.free(params, limits)), dtype=np.intp)

    def draw(self, stats: Stats, about: Params, rng: np.random.Generator, limits: Limits = FREE) -> Params:
        """Draw from the pooled statistics, once for what is tied."""
        return self._first(self._apart(self.leaf.draw(self._joined(stats), about, rng, limits)))

    def average(self, stats: Stats, about: Params, limits: Limits = FREE) -> Params:
        """Average under the pooled statistics."""
        return self._apart(self.leaf.average(self._joined(stats), about, limits))

    def quantile(self, stats: Stats, about: Params, q: float, limits: Limits = FREE) -> Params:
        """Return quantiles under the pooled statistics."""
        return self._apart(self.leaf.quantile(self._joined(stats), about, q, limits))

    def _joined(self, stats: Stats) -> Stats:
        """Pool, and let the first cell of every tied group stand for all: Dirichlet(stats + 1) is 0 at stats = -1."""
        stats = self._pooled(stats)
        if self.cells:
            stats = np.array(stats)
            for first, *others in self.cells:
                stats[:, first] += stats[:, others].sum(axis=1)
                stats[:, others] = -1.0
        return stats

    def _apart(self, params: Params) -> Params:
        """Share what the first cell of every tied group stands for."""
        return self._average(params) if self.cells else params

    def n_free(self, limits: Limits = FREE) -> int:
        """Count tied parameters once."""
        if self.components is None:
            free = self.leaf.n_free(limits)
        else:
            free = self.leaf.n_tied(len(set(self.components)), limits)
        rows = self.n_components if self.components is None else len(set(self.components))
        return free - rows * sum(len(group) - 1 for group in self.cells)


@dataclass(frozen=True, eq=False)
class Floored(Wrapped):
    """A leaf whose probabilities, rates or variances never go below `floor`.

    Variances and rates: in units of the column's own variance and mean.

    Examples
    --------
    >>> import numpy as np
    >>> from halfseen.leaves import Cells
    >>> Floored(Cells(1, [3]), 0.1).maximise(np.array([[0.0, 1.0, 2.0]]), np.full((1, 3), 1 / 3)).round(3)
    array([[0.1, 0.3, 0.6]])
    """

    leaf: Leaf
    floor: float

    def __post_init__(self) -> None:
        if not 0 <= self.floor < 1:
            raise ParameterError(f"Floored: floor={self.floor} is not in [0, 1).")

    def _within(self, limits: Limits) -> Limits:
        return limits.with_floor(self.floor)


@dataclass(frozen=True, eq=False)
class Ridged(Wrapped):
    """A normal leaf with `amount` added to every variance after each step: scikit-learn's `reg_covar`.

    The one wrapper that is no maximiser: the objective may fall. With a floor or a prior instead it does not.
    """

    leaf: Any  # Gaussian or Normal
    amount: float
    exact = False

    def maximise(self, stats: Stats, params: Params, limits: Limits = FREE) -> Params:
        """Maximise inside, then widen."""
        return self.leaf.widened(self.leaf.maximise(stats, params, limits), self.amount)


def _refuse_overlap(leaf: Leaf, above: list[Wrapped]) -> None:
    """Refuse a tied group in which some entry is fixed: what is fixed cannot follow the others."""
    if not isinstance(leaf, Wrapped):
        return
    pairs = [(leaf, other) if isinstance(leaf, Frozen) else (other, leaf) for other in above]
    for frozen_one, tied in pairs:
        if isinstance(frozen_one, Frozen) and isinstance(tied, Tied) and _overlap(frozen_one.fixed, tied):
            raise ParameterError(
                "Tied: a tied group holds a fixed entry, which cannot follow the others; fix all of it."
            )
    _refuse_overlap(leaf.leaf, [*above, leaf])


def _overlap(fixed: Params, tied: Tied) -> bool:
    """Whether a fixed entry stands in a tied group."""
    groups = np.asarray(tied.components if tied.components is not None else range(tied.n_components))
    shared = (groups[:, None] == groups).sum(axis=1) > 1
    cells = [cell for group in tied.cells for cell in group]
    masks = [] if fixed is None else arrays(fixed)
    return any(bool(mask[shared].any() or mask[..., cells].any()) for mask in masks)


def unwrapped(leaf: Leaf) -> Leaf:
    """Return the leaf inside all wrappers: what scores and gathers."""
    while isinstance(leaf, Wrapped):
        leaf = leaf.leaf
    return leaf


def fixed_entries(leaf: Leaf, params: Params) -> Params:
    """Return which entries of the parameters the wrappers of a leaf keep fixed: masks in the shape of `params`."""
    mask = filled(None, params)
    while isinstance(leaf, Wrapped):
        if isinstance(leaf, Frozen):
            if leaf.fixed is None:
                return map_arrays(lambda part: np.ones(part.shape, dtype=bool), params)
            mask = either(mask, filled(leaf.fixed, params))
        leaf = leaf.leaf
    return mask


def any_frozen(leaf: Leaf) -> bool:
    """Whether parameters are fixed, in this leaf or in one inside it."""
    if isinstance(leaf, Wrapped):
        return isinstance(leaf, Frozen) or any_frozen(leaf.leaf)
    return any(map(any_frozen, getattr(leaf, "leaves", {}).values()))


def _table_inside(leaf: Leaf) -> Categorical:
    leaf = unwrapped(leaf)
    if not isinstance(leaf, Categorical):
        raise ParameterError(f"Tied: cells can be tied in a table of probabilities, not in {type(leaf).__name__}.")
    return leaf
