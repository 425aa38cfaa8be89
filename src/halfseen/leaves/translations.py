"""The lexicon: probabilities of target words for each source word, and the same under a Dirichlet prior.

Only words that stand together in some pair have a cell. Lexicons are large, so nothing is done for all cells at once
that can be done block by block, and no logarithm is taken: cells go to the structure as probabilities.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma, gammaln, xlogy

from halfseen.assign import Assign
from halfseen.kernels import active as kernels
from halfseen.leaves.categorical import OFF
from halfseen.leaves.leaf import NO_MASS, Floats, Leaf, Stats, frozen, lacking
from halfseen.leaves.limits import FREE, Limits

BLOCK = 1 << 18  # cells worked on at once


class Translations(Leaf):
    """Cells t(target word | source word), params (1, S); those of one source word sum to one.

    Parameters
    ----------
    owner : (S,) ints         the source word of each cell
    n_rows : int              number of source words, NULL included
    n_words : int             number of target words; those without a cell have probability 0

    Examples
    --------
    >>> import numpy as np
    >>> leaf = Translations(np.array([0, 0, 1], dtype=np.int32), 2, 3)
    >>> leaf.maximise(np.array([[3.0, 1.0, 5.0]]), leaf.blank())
    array([[0.75, 0.25, 1.  ]])
    """

    n_components = 1
    axes = (1,)
    stats_axis = 1

    def __init__(self, owner: NDArray[np.int32], n_rows: int, n_words: int) -> None:
        self.owner, self.n_rows, self.n_words = owner, n_rows, n_words

    @property
    def stats_shape(self) -> tuple[int, ...]:
        """Expected counts, (1, S)."""
        return (1, len(self.owner))

    def blank(self) -> Floats:
        """Return what nothing is known of: all target words alike, also those that have no cell."""
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
        return np.bincount(self.owner, cells[0], minlength=self.n_rows).astype(np.float64, copy=False)

    def maximise(self, stats: Stats, params: Floats, limits: Limits = FREE) -> Floats:
        """params[s] = stats[s] / sum of stats over the source word of s; one without mass keeps its values."""
        sums, table = np.empty(self.n_rows), np.empty_like(stats)
        kernels.links_share(self.owner, np.ascontiguousarray(stats[0]), sums, table[0])
        if not (sums > NO_MASS).all():
            kept = ~(sums > NO_MASS)[self.owner]
            table[0, kept] = params[0, kept]
        return frozen(table)

    def _blocks(self) -> Iterator[slice]:
        return (slice(first, first + BLOCK) for first in range(0, len(self.owner), BLOCK))

    def complete(self, stats: Stats, about: Floats, params: Floats) -> float:
        """Return sum of stats * log params, with 0 log 0 = 0."""
        return float(xlogy(stats, params).sum())

    def jitter(self, params: Floats, amount: float, rng: np.random.Generator) -> Floats:
        """Multiply every cell by exp(amount * N(0, 1)) and renormalise."""
        return self.maximise(params * np.exp(amount * rng.standard_normal(params.shape)), params)

    def conform(self, params: Floats, like: Floats, limits: Limits = FREE) -> Floats:
        """Return the parameters: there is nothing to bend."""
        return params

    def n_free(self, limits: Limits = FREE) -> int:
        """Return the sum over source words of (cells - 1)."""
        return len(self.owner) - len(np.unique(self.owner))

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
        """Fill holes: there are none."""
        raise lacking(self, "impute", "It has no rows.")

    def affinity(self, params: Floats, other: Floats) -> Floats:
        """Return the overlap of components: there is one."""
        return np.zeros((1, 1))


class DirichletTranslations(Translations):
    """Rows that have a Dirichlet prior, kept as their variational posterior: params[s] are its concentrations.

    With a concentration far below 1 rows are sparse: rare source words do not collect what nobody else explains.

        params[s] = stats[s] + concentration
        weight[s] = exp(digamma(params[s]) - digamma(sum of params over the source word of s))

    The objective is the usual lower bound: log-likelihood with these weights, minus the divergence of the rows from
    their prior (`log_prior`). It never falls.

    Parameters
    ----------
    owner, n_rows, n_words : as in `Translations`
    concentration : float

    Examples
    --------
    >>> import numpy as np
    >>> leaf = DirichletTranslations(np.zeros(2, np.int32), 1, 2, 0.1)
    >>> leaf.prepare(leaf.maximise(np.array([[3.0, 1.0]]), leaf.blank())).round(3)
    array([[0.705, 0.176]])
    """

    def __init__(self, owner: NDArray[np.int32], n_rows: int, n_words: int, concentration: float) -> None:
        super().__init__(owner, n_rows, n_words)
        self.concentration = concentration

    def blank(self) -> Floats:
        """Return concentrations that one use of each cell would lead to."""
        return frozen(np.full(self.stats_shape, 1.0 + self.concentration))

    def prepare(self, params: Floats) -> Floats:
        """Return the weights of the cells; those of a source word sum to less than one."""
        total = self._logs(self.sums(params))
        weight = np.empty_like(params)
        for cells in self._blocks():
            np.exp(digamma(params[0, cells]) - total[self.owner[cells]], out=weight[0, cells])
        return weight

    def _logs(self, sums: Floats) -> Floats:
        return digamma(np.where(sums > 0, sums, 1.0))

    def maximise(self, stats: Stats, params: Floats, limits: Limits = FREE) -> Floats:
        """Return the concentrations of the posterior."""
        return frozen(stats + self.concentration)

    def complete(self, stats: Stats, about: Floats, params: Floats) -> float:
        """Return the sum of stats * log weight, less the divergence from the prior."""
        used = stats > 0
        return float(stats[used] @ np.log(self.prepare(params)[used])) + self.log_prior(params)

    def log_prior(self, params: Floats) -> float:
        """Return minus the Kullback-Leibler divergence from Dirichlet(concentration), over all source words."""
        prior, sums = self.concentration, self.sums(params)
        sizes = np.bincount(self.owner, minlength=self.n_rows)
        logs, used = self._logs(sums), sizes > 0
        total = float((gammaln(prior * sizes[used]) - gammaln(sums[used])).sum())
        for cells in self._blocks():
            own = params[0, cells]
            spread = digamma(own) - logs[self.owner[cells]]
            total += float((gammaln(own) - gammaln(prior) - (own - prior) * spread).sum())
        return total

    def mean(self, params: Floats) -> Floats:
        """Return the mean probabilities; those of a source word sum to one."""
        return super().maximise(params, params)

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
        """Return the parameters: there is nothing to bend."""
        return params


def look_up(
    firsts: NDArray[np.int64], columns: NDArray[np.int32], source: NDArray[Any], target: NDArray[Any]
) -> NDArray[np.int64]:
    """Return the cell of each (source word, target word), -1 where they never stood together.

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
