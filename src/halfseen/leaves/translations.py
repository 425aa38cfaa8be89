"""The lexicon: probabilities of target words for each source word, and the same under a Dirichlet prior.

Only words that co-occur in some pair have a cell. Lexicons are large, so nothing is done for all cells at once
that can be done block by block, and no logarithm is taken: cells go to the structure as probabilities.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma, gammaln, xlogy

from halfseen.assign import Assign
from halfseen.kernels import active as kernels
from halfseen.leaves.categorical import OFF
from halfseen.leaves.leaf import ROUNDING, Floats, Leaf, Stats, frozen, lacking
from halfseen.leaves.limits import FREE, Limits

Runner = Callable[[Callable[[Any], Any], Sequence[Any]], Iterable[Any]]

BLOCK = 1 << 18  # cells worked on at once
PARTS = 16  # in which workers share the rows


class Translations(Leaf):
    """Cells t(target word | source word), params (1, S); those of one source word sum to one.

    Parameters
    ----------
    firsts : (V + 1,) ints    source word e, NULL first, has the cells firsts[e] .. firsts[e + 1]
    n_words : int             number of target words; those without a cell have probability 0
    run : callable            maps a task over parts of the cells, results in their order
    spend : bool              whether `maximise` may write over the statistics: a lexicon is large

    Examples
    --------
    >>> import numpy as np
    >>> leaf = Translations(np.array([0, 2, 3]), 3)
    >>> leaf.maximise(np.array([[3.0, 1.0, 5.0]]), leaf.blank())
    array([[0.75, 0.25, 1.  ]])
    """

    n_components = 1
    axes = (1,)
    stats_axis = 1

    def __init__(self, firsts: NDArray[np.int64], n_words: int, run: Runner = map, spend: bool = False) -> None:
        self.firsts, self.n_words, self.run, self.spend = firsts, n_words, run, spend

    @property
    def n_cells(self) -> int:
        """Cells of all source words."""
        return int(self.firsts[-1])

    @property
    def stats_shape(self) -> tuple[int, ...]:
        """Expected counts, (1, S)."""
        return (1, self.n_cells)

    def blank(self) -> Floats:
        """Return equal probabilities of all target words, also of those without a cell."""
        return frozen(np.full(self.stats_shape, 1.0 / max(self.n_words, 1)))

    def score(self, prepared: Any, data: Any, assign: Assign) -> Floats:
        """Return the probabilities themselves."""
        return prepared

    def expect(self, usage: Floats, prepared: Any, data: Any, assign: Assign, out: Stats) -> int:
        """Add the usage of the cells."""
        out += usage
        return 0

    def sums(self, cells: Floats) -> Floats:
        """Return the sums over the cells of each source word, (V,)."""
        sums, used = np.zeros(len(self.firsts) - 1), np.diff(self.firsts) > 0
        if used.any():
            sums[used] = np.add.reduceat(cells[0], self.firsts[:-1][used])
        return sums

    def maximise(self, stats: Stats, params: Floats, limits: Limits = FREE) -> Floats:
        """params[s] = stats[s] / sum of stats over the source word of s.

        One without mass keeps its values; those of `blank` are made to sum to one.
        """
        counts, before = np.ascontiguousarray(stats[0]), np.ascontiguousarray(params[0])
        table = counts if self.spend and counts.flags.writeable else np.empty_like(counts)

        def divide(words: tuple[int, int]) -> None:
            kernels.links_divide(self.firsts, *words, before, counts, table)

        for _ in self.run(divide, self._parts()):
            pass
        return frozen(table[None])

    def _parts(self) -> list[tuple[int, int]]:
        """Cut the source words into parts with about as many cells each."""
        bounds = np.searchsorted(self.firsts, self.n_cells * np.arange(1, PARTS) / PARTS)
        bounds = np.unique(np.concatenate([[0], bounds, [len(self.firsts) - 1]]))
        return list(pairwise(bounds.tolist()))

    def _blocks(self) -> Iterator[slice]:
        return (slice(first, min(first + BLOCK, self.n_cells)) for first in range(0, self.n_cells, BLOCK))

    def _owner(self, cells: slice) -> NDArray[np.int64]:
        """Return the source words of some cells."""
        return np.searchsorted(self.firsts, np.arange(cells.start, cells.stop), side="right") - 1

    def complete(self, stats: Stats, about: Floats, params: Floats) -> float:
        """Return sum of stats * log params, with 0 log 0 = 0."""
        return float(xlogy(stats, params).sum())

    def jitter(self, params: Floats, amount: float, rng: np.random.Generator) -> Floats:
        """Multiply every cell by exp(amount * N(0, 1)) and renormalise."""
        return self.maximise(params * np.exp(amount * rng.standard_normal(params.shape)), params)

    def conform(self, params: Floats, like: Floats, limits: Limits = FREE) -> Floats:
        """Return the parameters: there are no limits."""
        return params

    def n_free(self, limits: Limits = FREE) -> int:
        """Return the sum over source words of (cells - 1)."""
        return self.n_cells - int(np.count_nonzero(np.diff(self.firsts)))

    def feasible(self, params: Floats, limits: Limits = FREE) -> bool:
        """Whether all probabilities are at least zero."""
        return bool(params.min(initial=np.inf) >= 0)

    def flaw(self, params: Floats) -> str | None:
        """Probabilities must be at least 0 and sum to one for each source word."""
        if (flaw := super().flaw(params)) is not None:
            return flaw
        if params.min(initial=0.0) < 0:
            return f"a probability is {params.min()}, below 0."
        off = float((self.sums(params) - 1).max(initial=0.0))
        return f"the translations of a word sum to {1 + off:.6g}, more than 1." if off > OFF else None

    def sample(self, params: Floats, components: NDArray[np.int64], rng: np.random.Generator) -> Any:
        """Draw rows: there are none."""
        raise lacking(self, "sample", "It has no rows.")

    def impute(self, params: Floats, data: Any, resp: Floats, rng: np.random.Generator | None) -> Any:
        """Impute missing cells: there are none."""
        raise lacking(self, "impute", "It has no rows.")

    def affinity(self, params: Floats, other: Floats) -> Floats:
        """Return the overlap of components: there is one."""
        return np.zeros((1, 1))


class DirichletTranslations(Translations):
    """Rows that have a Dirichlet prior, kept as their variational posterior: params[s] are its concentrations.

    With a concentration far below 1 rows are sparse: rare source words do not collect target words that are otherwise
    unexplained.

        params[s] = stats[s] + concentration
        weight[s] = exp(digamma(params[s]) - digamma(sum of params over the source word of s))

    The objective is the usual lower bound: log-likelihood with these weights, minus the divergence of the rows from
    their prior (`log_prior`). It never falls.

    Parameters
    ----------
    firsts, n_words, run, spend : as in `Translations`
    concentration : float

    Examples
    --------
    >>> import numpy as np
    >>> leaf = DirichletTranslations(np.array([0, 2]), 2, 0.1)
    >>> leaf.prepare(leaf.maximise(np.array([[3.0, 1.0]]), leaf.blank())).round(3)
    array([[0.705, 0.176]])
    """

    def __init__(
        self,
        firsts: NDArray[np.int64],
        n_words: int,
        concentration: float,
        run: Runner = map,
        spend: bool = False,
    ) -> None:
        super().__init__(firsts, n_words, run, spend)
        self.concentration = concentration

    def blank(self) -> Floats:
        """Return concentrations that one use of each cell would lead to."""
        return frozen(np.full(self.stats_shape, 1.0 + self.concentration))

    def prepare(self, params: Floats) -> Floats:
        """Return the weights of the cells; those of a source word sum to less than one."""
        total = self._logs(self.sums(params))
        weight = np.empty_like(params)
        for cells in self._blocks():
            np.exp(digamma(params[0, cells]) - total[self._owner(cells)], out=weight[0, cells])
        return weight

    def _logs(self, sums: Floats) -> Floats:
        return digamma(np.where(sums > 0, sums, 1.0))

    def maximise(self, stats: Stats, params: Floats, limits: Limits = FREE) -> Floats:
        """Return the concentrations of the posterior."""
        into = stats if self.spend and stats.flags.writeable else None
        return frozen(np.add(stats, self.concentration, out=into))

    def complete(self, stats: Stats, about: Floats, params: Floats) -> float:
        """Return the sum of stats * log weight, less the divergence from the prior."""
        logs, total = self._logs(self.sums(params)), self.log_prior(params)
        for cells in self._blocks():  # not logs of weights, which may be too small for a float
            total += float(stats[0, cells] @ (digamma(params[0, cells]) - logs[self._owner(cells)]))
        return total

    def rounding(self, stats: Stats, params: Floats) -> float:
        """As the terms of the divergence too, which cancel each other where counts are small beside concentrations."""
        return super().rounding(stats, params) + ROUNDING * (float(params.sum()) + params.size)

    def log_prior(self, params: Floats) -> float:
        """Return minus the Kullback-Leibler divergence from Dirichlet(concentration), over all source words."""
        prior, sums = self.concentration, self.sums(params)
        sizes = np.diff(self.firsts)
        logs, used = self._logs(sums), sizes > 0
        total = float((gammaln(prior * sizes[used]) - gammaln(sums[used])).sum())
        for cells in self._blocks():
            own = params[0, cells]
            spread = digamma(own) - logs[self._owner(cells)]
            total += float((gammaln(own) - gammaln(prior) - (own - prior) * spread).sum())
        return total

    def mean(self, params: Floats) -> Floats:
        """Return the mean probabilities; those of a source word sum to one."""
        return Translations(self.firsts, self.n_words, self.run).maximise(params, params)

    def feasible(self, params: Floats, limits: Limits = FREE) -> bool:
        """Whether all concentrations are above zero."""
        return bool(params.min(initial=np.inf) > 0)

    def flaw(self, params: Floats) -> str | None:
        """Concentrations must be finite and at least that of the prior."""
        if not np.isfinite(params).all() or params.min(initial=np.inf) < self.concentration * (1 - 1e-9):
            return f"a concentration is not a finite number of at least {self.concentration:g}."
        return None

    def jitter(self, params: Floats, amount: float, rng: np.random.Generator) -> Floats:
        """Multiply every concentration by exp(amount * N(0, 1))."""
        moved = params * np.exp(amount * rng.standard_normal(params.shape))
        return frozen(np.maximum(moved, self.concentration))

    def conform(self, params: Floats, like: Floats, limits: Limits = FREE) -> Floats:
        """Return the parameters: there are no limits."""
        return params


def look_up(
    firsts: NDArray[np.int64], columns: NDArray[np.int32], source: NDArray[Any], target: NDArray[Any]
) -> NDArray[np.int64]:
    """Return the cell of each (source word, target word), -1 where they never co-occur.

    Row e has the target words columns[firsts[e] .. firsts[e + 1]], ascending.
    """
    found = np.full(len(source), -1, dtype=np.int64)
    known = (source >= 0) & (target >= 0)
    low, high = firsts[source[known]].copy(), firsts[source[known] + 1].copy()
    end, wanted = high.copy(), target[known]
    while np.any(open_ := low < high):
        middle = (low + high) // 2
        less = open_ & (columns[np.minimum(middle, len(columns) - 1)] < wanted)
        low, high = np.where(less, middle + 1, low), np.where(open_ & ~less, middle, high)
    hit = low < end
    hit[hit] = columns[low[hit]] == wanted[hit]
    found[np.flatnonzero(known)[hit]] = low[hit]
    return found
