"""The lexicon: for each source word a row of probabilities of target words, and rows drawn from a Dirichlet prior.

Only words that stand together in some pair have a cell. Lexicons are large, so nothing is done for all cells at once
that can be done block by block, and no logarithm is taken: cells go to the structure as probabilities.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma, gammaln

from halfseen.leaves.categorical import Cells
from halfseen.leaves.leaf import NO_MASS, Floats, Stats, frozen
from halfseen.leaves.limits import FREE, Limits

BLOCK = 1 << 20  # cells worked on at once


class Translations(Cells):
    """Rows of probabilities, one after the other; row e is t(. | e).

    Parameters
    ----------
    rows : sequence of int        cells of each source word
    n_words : int                 number of target words; those without a cell have probability 0

    Examples
    --------
    >>> import numpy as np
    >>> leaf = Translations([2, 1], 3)
    >>> leaf.maximise(np.array([[3.0, 1.0, 5.0]]), leaf.blank())
    array([[0.75, 0.25, 1.  ]])
    """

    n_words: int

    def __init__(self, rows: Sequence[int] | NDArray[np.int64], n_words: int) -> None:
        super().__init__(1, rows, axes=(1,))
        object.__setattr__(self, "n_words", n_words)

    def blank(self) -> Floats:
        """Return what nothing is known of: all target words alike, also those that have no cell."""
        return frozen(np.full(self.stats_shape, 1.0 / max(self.n_words, 1)))

    def prepare(self, params: Floats) -> Floats:
        """Return the probabilities themselves."""
        return params

    def maximise(self, stats: Stats, params: Floats, limits: Limits = FREE) -> Floats:
        """params[s] = stats[s] / sum of stats over the row of s; a row without mass keeps its values."""
        if limits is not FREE:
            return super().maximise(stats, params, limits)
        table = np.empty_like(stats)
        for cells, starts, sizes in self._blocks():
            total = np.repeat(np.add.reduceat(stats[0, cells], starts), sizes)
            table[0, cells] = params[0, cells]
            np.divide(stats[0, cells], total, out=table[0, cells], where=total > NO_MASS)
        return frozen(table)

    def _blocks(self) -> Iterator[tuple[slice, NDArray[np.int64], NDArray[np.int64]]]:
        """Give slices of whole rows, with the first cells in them and the sizes of these rows."""
        starts, sizes = self._filled
        ends = starts + sizes
        first = 0
        while first < len(starts):
            last = max(first + 1, int(np.searchsorted(ends, starts[first] + BLOCK, side="right")))
            yield (
                slice(int(starts[first]), int(ends[last - 1])),
                starts[first:last] - starts[first],
                sizes[first:last],
            )
            first = last


class DirichletTranslations(Translations):
    """Rows that have a Dirichlet prior, kept as their variational posterior: params[s] are its concentrations.

    With a concentration far below 1 rows are sparse: rare source words do not collect what nobody else explains.

        params[s] = stats[s] + concentration
        weight[s] = exp(digamma(params[s]) - digamma(sum of params over the row of s))

    The objective is the usual lower bound: log-likelihood with these weights, minus the divergence of the rows from
    their prior (`log_prior`). It never falls.

    Parameters
    ----------
    rows, n_words : as in `Translations`
    concentration : float

    Examples
    --------
    >>> import numpy as np
    >>> leaf = DirichletTranslations([2], 2, 0.1)
    >>> leaf.prepare(leaf.maximise(np.array([[3.0, 1.0]]), leaf.blank())).round(3)
    array([[0.696, 0.169]])
    """

    concentration: float

    def __init__(self, rows: Sequence[int] | NDArray[np.int64], n_words: int, concentration: float) -> None:
        super().__init__(rows, n_words)
        object.__setattr__(self, "concentration", concentration)

    def blank(self) -> Floats:
        """Return rows that one use of each cell would lead to."""
        return frozen(np.full(self.stats_shape, 1.0 + self.concentration))

    def prepare(self, params: Floats) -> Floats:
        """Return the weights of the cells; rows sum to less than one."""
        weight = np.empty_like(params)
        for cells, starts, sizes in self._blocks():
            total = digamma(np.add.reduceat(params[0, cells], starts))
            np.exp(digamma(params[0, cells]) - np.repeat(total, sizes), out=weight[0, cells])
        return weight

    def maximise(self, stats: Stats, params: Floats, limits: Limits = FREE) -> Floats:
        """Return the concentrations of the posterior."""
        return frozen(stats + self.concentration)

    def complete(self, stats: Stats, about: Floats, params: Floats) -> float:
        """Return the sum of stats * log weight, less the divergence from the prior."""
        used = stats > 0
        return float(stats[used] @ np.log(self.prepare(params)[used])) + self.log_prior(params)

    def log_prior(self, params: Floats) -> float:
        """Return minus the Kullback-Leibler divergence of the rows from Dirichlet(concentration)."""
        total, prior = 0.0, self.concentration
        for cells, starts, sizes in self._blocks():
            own = params[0, cells]
            sums = np.add.reduceat(own, starts)
            logs = digamma(own) - np.repeat(digamma(sums), sizes)
            total += float((gammaln(own) - gammaln(prior) - (own - prior) * logs).sum())
            total -= float((gammaln(sums) - gammaln(prior * sizes)).sum())
        return total

    def average(self, stats: Stats, about: Floats, limits: Limits = FREE) -> Floats:
        """Return the mean probabilities of rows whose posterior has concentrations `about`; they sum to one."""
        return super().maximise(about, about)

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


