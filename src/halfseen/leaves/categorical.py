"""Tables of probabilities with ragged rows, and columns of categories.

One layout serves every discrete block: params[k, s] where the S cells are cut by `offsets` into rows that sum to one.
K components of D columns with V_d categories, the mixing weights (K = 1, one row), transitions (one row per state),
conditional probability tables and grammar rules (K = 1, one row per parent state or left-hand side) are all this.

Statistics are the expected counts, in the shape of the parameters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, xlogy

from halfseen.assign import Assign
from halfseen.errors import ParameterError
from halfseen.kernels import active as kernels
from halfseen.leaves.exact import Shares, Weights
from halfseen.leaves.leaf import AT_FLOOR, NO_MASS, Floats, Leaf, Slopes, Stats, frozen
from halfseen.leaves.limits import FREE, Limits

TINY = np.finfo(np.float64).tiny
OFF = 1e-6  # a row of probabilities from a file sums to one within this: what was typed, and what a long fit adds to it
SUM_TOLERANCE = 1e-8  # a row of probabilities typed by a user sums to one within this


@dataclass(frozen=True, eq=False)
class Categorical(Leaf):
    """Columns of categories: component k draws category v of column d with probability params[k, offsets[d] + v].

    Parameters
    ----------
    n_components : int
    cardinalities : sequence of int
        Number of categories of each column.
    pseudo : (K, S) array, optional
        Pseudo-counts added before maximising: a Dirichlet prior with alpha = 1 + pseudo.

    Examples
    --------
    >>> import numpy as np
    >>> leaf = Categorical(1, [2])
    >>> leaf.maximise(np.array([[3.0, 1.0]]), np.array([[0.5, 0.5]]))
    array([[0.75, 0.25]])
    """

    n_components: int
    cardinalities: Sequence[int]
    pseudo: Floats | None = None
    offsets: NDArray[np.int64] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        offsets = np.concatenate([[0], np.cumsum(self.cardinalities)]).astype(np.int64)
        object.__setattr__(self, "offsets", offsets)

    @property
    def stats_shape(self) -> tuple[int, ...]:
        """Expected counts, (K, S)."""
        return (self.n_components, int(self.offsets[-1]))

    def blank(self) -> Floats:
        """Return uniform rows."""
        sizes = np.asarray(self.cardinalities, dtype=np.int64)
        return frozen(np.tile(np.repeat(1.0 / np.maximum(sizes, 1), sizes), (self.n_components, 1)))

    def prepare(self, params: Floats) -> Any:
        """Return the log-table for look-ups, (S + D, K): each column begins with a row of zeros for 'missing'."""
        return np.insert(_log(params), self.offsets[:-1], 0.0, axis=1).T.copy()

    def score(self, prepared: Any, data: Any, assign: Assign) -> Floats:
        """scores[n, k] = sum over observed columns d of log params[k, cell(n, d)]."""
        scores = np.zeros((len(data), self.n_components))
        kernels.categorical_score(np.ascontiguousarray(data), self.offsets[:-1], prepared, scores)
        return scores

    def expect(self, usage: Floats, prepared: Any, data: Any, assign: Assign, out: Stats) -> int:
        """out[k, s] += sum over rows n that hold cell s of usage[n, k]."""
        kernels.categorical_expect(np.ascontiguousarray(data), self.offsets[:-1], usage, out)
        return 0

    def count(self, component: NDArray[np.int64], weight: Floats, prepared: Any, data: Any, out: Stats) -> None:
        """out[component[n], s] += weight[n] for every cell s that row n holds."""
        kernels.categorical_count(np.ascontiguousarray(data), self.offsets[:-1], component, weight, out)

    def tally(
        self, component: NDArray[np.int64], weight: Floats, cut: Weights, prepared: Any, data: Any
    ) -> Shares | None:
        """Return the counts without rounding."""
        return cut.sums(weight, self.stats_shape, lambda part, out: self.count(component, part, prepared, data, out))

    def maximise(self, stats: Stats, params: Floats, limits: Limits = FREE) -> Floats:
        """params[k, s] = stats[k, s] / sum of stats[k] over the row of s; a row without mass keeps its old values.

        Fixed cells keep their value and the others share the remaining mass. With a floor f the maximiser is
        max(f, stats / nu), nu such that the row sums to one: cells below f are set to f until none is left.
        """
        free: Any = True
        mass: Any = 1.0
        counts = stats
        if limits.fixed is not None:
            free = ~np.asarray(limits.fixed)
            mass = np.maximum(1.0 - self._spread(np.where(free, 0.0, params)), 0.0)
            counts = np.where(free, stats, 0.0)
        total = self._spread(counts)
        table = np.divide(counts * mass, total, out=params.copy(), where=free & (total > NO_MASS))
        if limits.floor is not None:
            table = self._lift(table, stats, np.broadcast_to(free, table.shape), mass, limits.floor)
        return frozen(table)

    def _lift(self, table: Floats, stats: Stats, free: NDArray[np.bool_], mass: Any, floor: float) -> Floats:
        """Set cells below the floor to it and share the rest among the others, until none is below."""
        if np.any(self._spread(free * floor) > mass + 1e-12):
            raise ParameterError(f"floor={floor} times the free cells of a row exceeds the mass they share.")
        low = np.zeros_like(free)
        while np.any(fresh := free & ~low & (table < floor)):
            low |= fresh
            rest = _share(np.where(free & ~low, stats, 0.0), mass - self._spread(low * floor), self._spread)
            equal = _share((free & ~low).astype(np.float64), mass - self._spread(low * floor), self._spread)
            shared = np.where(np.isfinite(rest), rest, equal)
            lifted = self._spread(low.astype(np.float64)) > 0  # rows in which nothing was low stay as they are
            table = np.where(low, floor, np.where(free & lifted, shared, table))
        return table

    def _spread(self, cells: NDArray[np.floating]) -> Floats:
        """Return, for every cell, the sum over the row it stands in."""
        starts, sizes = self._filled
        return np.repeat(np.add.reduceat(cells, starts, axis=1), sizes, axis=1) if len(starts) else np.zeros_like(cells)

    @cached_property
    def _filled(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """First cells and sizes of the rows that have cells."""
        sizes = np.diff(self.offsets)
        return self.offsets[:-1][sizes > 0], sizes[sizes > 0]

    def complete(self, stats: Stats, about: Floats, params: Floats) -> float:
        """Return sum of stats * log params, with 0 log 0 = 0."""
        return float(xlogy(stats, params).sum())

    def free(self, params: Floats, limits: Limits = FREE) -> Floats:
        """Return the log-table; a zero, which has no logarithm and will not move, gets the coordinate 0."""
        return np.log(np.where(params > 0, params, 1.0)).ravel()

    def freed(self, vector: Floats, like: Floats, limits: Limits = FREE) -> Floats:
        """params[k, s] = mass * exp(vector[k, s]) / sum over the row, mass = what fixed cells and zeros leave.

        Cells below a floor are set to it and the others share the rest.
        """
        logits = vector.reshape(like.shape)
        parts = np.exp(logits - logits.max(axis=1, initial=0.0, keepdims=True))
        if limits.floor:
            parts = np.where(logits > np.log(limits.floor), parts, 0.0)
        return self.maximise(parts, like, limits.with_fixed(like <= 0))

    def slope(self, stats: Stats, params: Floats, limits: Limits = FREE) -> Floats:
        """slope[k, s] = stats[k, s] - params[k, s] * (sum of stats / sum of params) over the cells that move."""
        moves = params > 0
        if limits.fixed is not None:
            moves &= ~np.asarray(limits.fixed)
        slope = self._slope(stats, params, moves)
        at_floor = moves & (params <= (limits.floor or 0.0) * (1 + AT_FLOOR))
        while np.any(down := at_floor & moves & (slope < 0)):
            moves = moves & ~down
            slope = self._slope(stats, params, moves)
        return slope.ravel()

    def slopes(self, params: Floats, data: Any, component: int, limits: Limits = FREE) -> Slopes | None:
        """values[n, s] = (cell s of row n) - params[component, s] for every column that is observed in row n."""
        if limits.fixed is not None or limits.floor is not None:
            return None
        starts, sizes = self._filled
        codes = np.asarray(data)[:, np.diff(self.offsets) > 0]
        values = np.where(np.repeat(codes >= 0, sizes, axis=1), -params[component], 0.0)
        rows, columns = np.nonzero(codes >= 0)
        values[rows, starts[columns] + codes[rows, columns]] += 1.0
        values[:, params[component] <= 0] = 0.0
        width = values.shape[1]
        return Slopes(component * width + np.arange(width), values)

    def coupled(self, params: Floats, limits: Limits = FREE) -> NDArray[np.intp]:
        """Return the row of the table that each cell stands in: its cells sum to one."""
        rows = np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))
        return (np.arange(len(params))[:, None] * len(self.offsets) + rows).ravel()

    def _slope(self, stats: Stats, params: Floats, moves: NDArray[np.bool_]) -> Floats:
        total, mass = self._spread(np.where(moves, stats, 0.0)), self._spread(np.where(moves, params, 0.0))
        return np.where(moves, stats - params * np.divide(total, mass, out=np.zeros_like(mass), where=moves), 0.0)

    def draw(self, stats: Stats, about: Floats, rng: np.random.Generator, limits: Limits = FREE) -> Floats:
        """Draw every row from Dirichlet(stats + 1); beside fixed cells the others share what is left like this."""
        self._refuse_floor(limits)
        return self.maximise(rng.standard_gamma(stats + 1), about, limits)

    def average(self, stats: Stats, about: Floats, limits: Limits = FREE) -> Floats:
        """params[k, s] = mass * (stats[k, s] + 1) / sum over the row of (stats + 1), mass = what fixed cells leave."""
        self._refuse_floor(limits)
        return self.maximise(stats + 1, about, limits)

    def quantile(self, stats: Stats, about: Floats, q: float, limits: Limits = FREE) -> Floats:
        """mass * Beta(a, sum over the row of a - a), a = stats + 1; a cell that takes all of the mass is certain."""
        self._refuse_floor(limits)
        moves = np.ones(about.shape, dtype=bool) if limits.fixed is None else ~np.asarray(limits.fixed)
        own = np.where(moves, stats + 1, 0.0)
        others = self._spread(own) - own
        share = np.where(others > 0, betaincinv(np.maximum(own, TINY), np.maximum(others, TINY), q), 1.0)
        mass = 1.0 - self._spread(np.where(moves, 0.0, about))
        return frozen(np.where(moves, mass * np.where(own > 0, share, 0.0), about))

    def _refuse_floor(self, limits: Limits) -> None:
        if limits.floor:
            raise ParameterError(
                f"floor={limits.floor:g}: a posterior over probabilities with a floor cannot be drawn from. "
                "Use a prior instead, which keeps them off zero."
            )

    def prior(self, params: Floats) -> Stats | None:
        """Return the pseudo-counts; none for a probability of 0, which only a start can have: what is ruled out stays.

        (With pseudo-counts the M-step makes no zero.)
        """
        if self.pseudo is None or params.min(initial=1.0) > 0:
            return self.pseudo
        return np.where(params > 0, self.pseudo, 0.0)

    def jitter(self, params: Floats, amount: float, rng: np.random.Generator) -> Floats:
        """Multiply every cell by exp(amount * N(0, 1)) and renormalise; a zero stays zero."""
        moved = params * np.exp(amount * rng.standard_normal(params.shape))
        return frozen(moved / self._spread(moved))

    def conform(self, params: Floats, like: Floats, limits: Limits = FREE) -> Floats:
        """Return `params` with fixed cells from `like`; the others keep their proportions."""
        return self.maximise(params, like, limits)

    def sample(self, params: Floats, components: NDArray[np.int64], rng: np.random.Generator) -> Any:
        """Draw codes, (N, D); a column without categories is missing."""
        codes = np.full((len(components), len(self.cardinalities)), -1, dtype=np.int64)
        for d, (start, stop) in enumerate(zip(self.offsets, self.offsets[1:], strict=False)):
            if stop > start:
                codes[:, d] = draw(params[components, start:stop], rng)
        return codes

    def impute(self, params: Floats, data: Any, resp: Floats, rng: np.random.Generator | None) -> Any:
        """Fill missing codes with argmax_v sum_k resp[n, k] params[k, v] (the lowest among equals), or a draw."""
        codes = data.copy()
        for d, (start, stop) in enumerate(zip(self.offsets, self.offsets[1:], strict=False)):
            missing = np.flatnonzero(codes[:, d] < 0)
            if stop > start and len(missing):
                predictive = resp[missing] @ params[:, start:stop]
                codes[missing, d] = predictive.argmax(axis=1) if rng is None else draw(predictive, rng)
        return codes

    def n_free(self, limits: Limits = FREE) -> int:
        """Return the sum over rows of (free cells - 1)."""
        shape = self.stats_shape
        free = np.ones(shape) if limits.fixed is None else (~np.asarray(limits.fixed)).astype(np.float64)
        starts, _ = self._filled
        if not len(starts):
            return 0
        return int(np.maximum(np.add.reduceat(free, starts, axis=1) - 1, 0).sum())

    def affinity(self, params: Floats, other: Floats) -> Floats:
        """Return sum_d log sum_v sqrt(p[k, v] q[j, v])."""
        total = np.zeros((len(params), len(other)))
        roots = np.sqrt(params)
        others = roots if other is params else np.sqrt(other)
        for start, stop in zip(self.offsets, self.offsets[1:], strict=False):
            if stop > start:
                total += _log(roots[:, start:stop] @ others[:, start:stop].T)
        return total

    def feasible(self, params: Floats, limits: Limits = FREE) -> bool:
        """Whether all free probabilities are at least zero, or the floor."""
        free = params if limits.fixed is None else params[~np.asarray(limits.fixed)]
        return bool(free.min(initial=np.inf) >= (limits.floor or 0.0))

    def unpack(self, vector: Floats, like: Floats) -> Floats:
        """Return the cells of a vector, with the sums that rows of `like` have.

        The sums of an extrapolation are off by rounding times the square of its length, which a weight of 1e9 would
        make a gain.
        """
        cells = vector.reshape(like.shape)
        sums = self._spread(cells)
        return frozen(np.divide(cells * self._spread(like), sums, out=np.array(cells), where=sums > 0))

    def flaw(self, params: Floats) -> str | None:
        """Probabilities must be at least 0 and sum to one in each row."""
        if (flaw := super().flaw(params)) is not None:
            return flaw
        if params.min(initial=0.0) < 0:
            return f"a probability is {params.min()}, below 0."
        off = np.abs(self._spread(params) - self._totals())
        return f"a row of probabilities is off its sum by {off.max():.3g}." if off.max(initial=0.0) > OFF else None

    def _totals(self) -> Floats:
        """Return what the row of each cell sums to."""
        return np.ones(self.stats_shape)


class Cells(Categorical):
    """A table whose own cells are the parts: mixing weights, transitions, conditional tables, rules.

    Its scores are the log-table itself, its usage is already a count.

    Examples
    --------
    >>> import numpy as np
    >>> weights = Cells(1, [3], axes=(1,))
    >>> np.exp(weights.score(weights.prepare(np.array([[0.4, 0.1, 0.5]])), None, None)).round(3)
    array([[0.4, 0.1, 0.5]])
    """

    def __init__(
        self, n_rows: int, cardinalities: Sequence[int], pseudo: Floats | None = None, axes: tuple[int, ...] = (0,)
    ) -> None:
        super().__init__(n_rows, cardinalities, pseudo)
        object.__setattr__(self, "axes", axes)
        object.__setattr__(self, "stats_axis", axes[0])

    def slopes(self, params: Floats, data: Any, component: int, limits: Limits = FREE) -> Slopes | None:
        """Return None: its usage are counts of cells, not rows of data."""
        return None

    def prepare(self, params: Floats) -> Floats:
        """Return the log-table."""
        return _log(params)

    def reorder(self, stats: Stats, order: NDArray[np.int64]) -> Stats:
        """Reorder every axis that runs over components: transitions have two."""
        for axis in self.axes:
            stats = np.take(stats, order, axis=axis)
        return stats

    def score(self, prepared: Any, data: Any, assign: Assign | None) -> Floats:
        """Return the log-table itself."""
        return prepared

    def expect(self, usage: Floats, prepared: Any, data: Any, assign: Assign | None, out: Stats) -> int:
        """Add the usage of the cells."""
        out += usage
        return 0

    def count(self, component: NDArray[np.int64], weight: Floats, prepared: Any, data: Any, out: Stats) -> None:
        """Add the weight of each row to its cell: mixing weights, one row of cells."""
        kernels.tally(component, weight, out[0])


class Portions(Cells):
    """Mixing weights in groups whose sums are given: the shares of classes are known, those inside a class are not.

    Parameters
    ----------
    masses : (G,) array     the given sums; they sum to one
    n_inside : int          cells in each group
    pseudo : (1, G * n_inside) array, optional

    Examples
    --------
    >>> import numpy as np
    >>> leaf = Portions([0.9, 0.1], 2)
    >>> leaf.maximise(np.array([[3.0, 1.0, 5.0, 5.0]]), leaf.blank()).round(3)
    array([[0.675, 0.225, 0.05 , 0.05 ]])
    """

    _masses: Floats

    def __init__(self, masses: Sequence[float] | Floats, n_inside: int, pseudo: Floats | None = None) -> None:
        super().__init__(1, [n_inside] * len(masses), pseudo, axes=(1,))
        object.__setattr__(self, "_masses", np.repeat(np.asarray(masses, dtype=np.float64), n_inside)[None])

    def _totals(self) -> Floats:
        return self._masses

    def blank(self) -> Floats:
        """Return equal shares inside each group."""
        return frozen(super().blank() * self._masses)

    def maximise(self, stats: Stats, params: Floats, limits: Limits = FREE) -> Floats:
        """Share the mass of each group in proportion to its counts."""
        inside = np.divide(params, self._masses, out=super().blank().copy(), where=self._masses > 0)
        return frozen(super().maximise(stats, inside, limits) * self._masses)

    def jitter(self, params: Floats, amount: float, rng: np.random.Generator) -> Floats:
        """Move the shares inside each group."""
        return frozen(super().jitter(params + (self._masses == 0), amount, rng) * self._masses)

    def quantile(self, stats: Stats, about: Floats, q: float, limits: Limits = FREE) -> Floats:
        """Return the quantiles of the shares inside each group, times its mass."""
        inside = np.divide(about, self._masses, out=super().blank().copy(), where=self._masses > 0)
        return frozen(super().quantile(stats, inside, q, limits) * self._masses)

    def sample(self, params: Floats, components: NDArray[np.int64], rng: np.random.Generator) -> Any:
        """Draw one cell of all, (N, 1)."""
        return draw(params[components], rng)[:, None]


def _log(table: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        return np.log(table)


def _share(counts: Floats, mass: Any, spread: Any) -> Floats:
    """Return `mass` shared in proportion to `counts`; NaN where a row has no counts."""
    total = spread(counts)
    return np.divide(counts * mass, total, out=np.full_like(counts, np.nan), where=total > NO_MASS)


def draw(probabilities: Floats, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw one category per row of `probabilities` (N, V), which need not be normalised."""
    cumulated = np.cumsum(probabilities, axis=1)
    uniform = rng.random(len(cumulated)) * cumulated[:, -1]
    return (uniform[:, None] >= cumulated[:, :-1]).sum(axis=1)


def read_table(value: Any, shape: tuple[int, ...], what: str) -> Floats:
    """Check a table of probabilities typed by a user: rows of the last axis sum to one."""
    try:
        table = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError(f"{what}: expected probabilities of shape {shape}, got {value!r:.80}.") from None
    if table.shape != shape:
        raise ParameterError(f"{what}: expected shape {shape}, got {table.shape}.")
    if not np.all(np.isfinite(table)) or table.min(initial=0.0) < 0:
        raise ParameterError(f"{what}: probabilities must be finite and at least 0, got {table.tolist()}.")
    sums = table.sum(axis=-1)
    off = np.flatnonzero(np.abs(np.atleast_1d(sums) - 1) > SUM_TOLERANCE)
    if len(off):
        first = float(np.atleast_1d(sums)[off[0]])
        raise ParameterError(
            f"{what}: row {off[0]} sums to {first:.6g}, not 1 ({len(off)} of {np.size(sums)} rows are off). "
            "Divide each row by its sum."
        )
    return table


def read_fixed_table(value: Any, shape: tuple[int, ...], what: str) -> Floats:
    """Check a table of probabilities of which some are given, None or NaN where they are free; return NaN there.

    Where those given in a row sum to one, the others are 0, which is given too.

    Examples
    --------
    >>> read_fixed_table([[1.0, None, None], [None, 0.2, None]], (2, 3), "table")
    array([[1. , 0. , 0. ],
           [nan, 0.2, nan]])
    """
    try:
        table = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError(f"{what}: expected probabilities, None where they are free, got {value!r:.80}.") from None
    if table.shape != shape:
        raise ParameterError(f"{what}: expected shape {shape}, got {table.shape}.")
    free = np.isnan(table)
    if not np.all(free | ((table >= 0) & (table <= 1))):
        raise ParameterError(
            f"{what}: probabilities must be between 0 and 1, or None where free, got {table.tolist()}."
        )
    sums = np.nansum(table, axis=-1)
    off = np.atleast_1d((sums > 1 + SUM_TOLERANCE) | (~free.any(axis=-1) & (sums < 1 - SUM_TOLERANCE)))
    if off.any():
        row = int(np.flatnonzero(off)[0])
        raise ParameterError(
            f"{what}: the probabilities given in row {row} sum to {float(np.ravel(sums)[row]):.6g}, but those of a row "
            "sum to 1. Leave one of them free (None), or correct them."
        )
    return np.where(free & (sums >= 1 - SUM_TOLERANCE)[..., None], 0.0, table)
