"""The source position of a target word: near the diagonal, or a jump from the previous source word.

Parameters are one vector: p0, the probability of NULL, then the tension of the diagonal or the probabilities of jumps.
Formulas and layout of statistics: `kernels.links`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import xlogy

from halfseen.assign import Assign
from halfseen.leaves.leaf import Floats, Leaf, Stats, frozen, lacking
from halfseen.leaves.limits import FREE, Limits

LOOSE, TIGHT = 1e-3, 200.0  # tensions between which the diagonal is fitted
ROUNDS = 8  # of the M-step of jumps: each raises the objective
MOST_NULL = 0.999  # NULL alone explains nothing


class Place(Leaf):
    """What both kinds share: the probability of NULL, first of the parameters and of the statistics.

    Parameters
    ----------
    p_null : float or None     fixed, or learned
    null : bool                whether there is NULL at all
    """

    n_components = 1
    kind: int

    def __init__(self, p_null: float | None, null: bool = True) -> None:
        self.p_null, self.null = p_null, null

    def first_null(self, start: float) -> float:
        """Return the probability of NULL to begin with."""
        return 0.0 if not self.null else start if self.p_null is None else self.p_null

    def _best_null(self, stats: Stats, rest: float, params: Floats) -> float:
        if not self.null or self.p_null is not None or not stats[0] + rest > 0:
            return float(params[0])
        return min(float(stats[0] / (stats[0] + rest)), MOST_NULL)

    def _log_null(self, stats: Stats, rest: float, params: Floats) -> float:
        return float(xlogy(stats[0], params[0]) + xlogy(rest, 1 - params[0]))

    def score(self, prepared: Any, data: Any, assign: Assign) -> Floats:
        """Return the parameters: the structure reads them as they are."""
        return prepared

    def expect(self, usage: Floats, prepared: Any, data: Any, assign: Assign, out: Stats) -> int:
        """Add the usage, which is the statistics."""
        out += usage
        return 0

    def conform(self, params: Floats, like: Floats, limits: Limits = FREE) -> Floats:
        """Return the parameters: there are no limits."""
        return params

    def feasible(self, params: Floats, limits: Limits = FREE) -> bool:
        """Whether the parameters are legal."""
        return self.flaw(params) is None

    def flaw(self, params: Floats) -> str | None:
        """Say what is wrong with parameters from outside."""
        if not np.isfinite(params).all() or not 0 <= params[0] < 1:
            return "the probability of NULL is not at least 0 and below 1, or a number is not finite."
        return self._flaw(params)

    @abstractmethod
    def _flaw(self, params: Floats) -> str | None:
        """Say what is wrong beside p0."""

    def sample(self, params: Floats, components: NDArray[np.int64], rng: np.random.Generator) -> Any:
        """Draw rows: there are none."""
        raise lacking(self, "sample", "It has no rows.")

    def impute(self, params: Floats, data: Any, resp: Floats, rng: np.random.Generator | None) -> Any:
        """Impute missing cells: there are none."""
        raise lacking(self, "impute", "It has no rows.")

    def affinity(self, params: Floats, other: Floats) -> Floats:
        """Return the overlap of components: there is one."""
        return np.zeros((1, 1))


# ---- the diagonal ----------------------------------------------------------------------------------------------------


def diagonal_sums(n: Any, m: Any, j: Any, tension: float) -> tuple[Floats, Floats]:
    """Return Z = sum over i of exp(tension h) and the mean of h, h = -|i/n - j/m|, in closed form; arrays alike.

    Below the diagonal and above it, exp(tension h) is a geometric series with ratio rho = exp(-tension / n); with
    a the first h, K terms and S0 = (1 - rho^K) / (1 - rho), S1 = sum over k < K of k rho^k,

        sum of exp(tension h)   = exp(tension a) S0
        sum of h exp(tension h) = exp(tension a) (a S0 - S1 / n)

    Examples
    --------
    >>> z, mean = diagonal_sums(12, 10, 5, 4.0)
    >>> float(mean.round(4))
    -0.1672
    """
    n, m, j = (np.asarray(value, dtype=np.float64) for value in (n, m, j))
    at = j * n / m
    below = np.minimum(np.floor(j * n / m), n)
    one_less = -np.expm1(-tension / n)  # 1 - rho
    total, first = np.zeros(np.shape(at)), np.zeros(np.shape(at))
    for terms, start in ((below, -(at - below) / n), (n - below, -(below + 1 - at) / n)):
        last = np.exp(-tension * terms / n)  # rho^K
        s0 = -np.expm1(-tension * terms / n) / one_less
        s1 = ((1 - one_less) * s0 - terms * last) / one_less
        weight = np.where(terms > 0, np.exp(tension * start), 0.0)
        total += weight * s0
        first += weight * (start * s0 - s1 / n)
    return total, first / total


class Diagonal(Place):
    """IBM Model 2 with two parameters, (p0, tension): words near the diagonal are more probable.

    Parameters
    ----------
    shapes : (C, 3) array      n, m and j of every cell of the statistics
    p_null, null : as in `Place`

    Statistics: (NULLs, sum of h, words that are not NULL in each cell).
    """

    kind = 1

    def __init__(self, shapes: NDArray[np.int64], p_null: float | None = None, null: bool = True) -> None:
        super().__init__(p_null, null)
        self.shapes = shapes

    @property
    def stats_shape(self) -> tuple[int, ...]:
        """(2 + C,)."""
        return (2 + len(self.shapes),)

    def blank(self) -> Floats:
        """Return the usual beginning: NULL 0.08, tension 4."""
        return frozen([self.first_null(0.08), 4.0])

    def maximise(self, stats: Stats, params: Floats, limits: Limits = FREE) -> Floats:
        """Return NULL's share, and the tension at which the mean of h is as observed: the likelihood is concave."""
        own = stats[2:]
        rest = float(own.sum())
        if not rest > 0:
            return frozen([self._best_null(stats, rest, params), params[1]])
        used = own > 0
        n, m, j = self.shapes[used].T
        own = own[used]

        def slope(tension: float) -> float:
            return float(stats[1] - own @ diagonal_sums(n, m, j, tension)[1])

        if slope(LOOSE) <= 0:
            tension = LOOSE
        elif slope(TIGHT) >= 0:
            tension = TIGHT
        else:
            tension = float(brentq(slope, LOOSE, TIGHT, xtol=1e-12, rtol=1e-14))
        best = frozen([self._best_null(stats, rest, params), tension])
        return best if self.complete(stats, params, best) >= self.complete(stats, params, params) else params

    def complete(self, stats: Stats, about: Floats, params: Floats) -> float:
        """Return the expected log-probability of the places."""
        own = stats[2:]
        used = own > 0
        n, m, j = self.shapes[used].T
        logs = np.log(diagonal_sums(n, m, j, float(params[1]))[0])
        return self._log_null(stats, float(own.sum()), params) + float(params[1] * stats[1] - own[used] @ logs)

    def jitter(self, params: Floats, amount: float, rng: np.random.Generator) -> Floats:
        """Move the tension."""
        return frozen([params[0], np.clip(params[1] * np.exp(amount * rng.standard_normal()), LOOSE, TIGHT)])

    def n_free(self, limits: Limits = FREE) -> int:
        """The tension, and NULL where it is learned."""
        return 1 + (self.null and self.p_null is None)

    def _flaw(self, params: Floats) -> str | None:
        return None if LOOSE <= params[1] <= TIGHT else f"the tension {params[1]} is not in [{LOOSE}, {TIGHT}]."


# ---- jumps -----------------------------------------------------------------------------------------------------------


class Jumps(Place):
    """The HMM aligner: (p0, c_-w .. c_w), chances of jumps from one source word to the next; wider ones count as w.

        p(i | i', n) = (1 - p0) c_(i - i') / sum over k = 1 .. n of c_(k - i')

    Dividing the expected jumps by their sum is no M-step, as every sentence has its own denominator. With D the
    departures from i' in sentences of n words, each round of

        c_d <- jumps_d / sum over (n, i') of D_(n, i') [number of k with jump d] / sum over k of c_(k - i')

    raises the expected log-probability (it maximises a tangent below it).

    Parameters
    ----------
    lengths : sequence of int     lengths n of source sentences; cells of the statistics are i' = 0 .. n for each
    width : int
    p_null, null : as in `Place`
    pseudo : float                jumps of every width seen beforehand: none is impossible

    Statistics: (NULLs, jumps, departures in each cell).
    """

    kind = 2

    def __init__(
        self,
        lengths: Sequence[int],
        width: int = 7,
        p_null: float | None = None,
        null: bool = True,
        pseudo: float = 0.1,
    ) -> None:
        super().__init__(p_null, null)
        self.lengths, self.width, self.pseudo = tuple(lengths), width, pseudo
        self._reach = self._count()

    def _count(self) -> Floats:
        """Return for each cell (n, i') how many k lead to each jump, (C, 2 w + 1)."""
        w, parts = self.width, [np.zeros((0, 2 * self.width + 1))]
        for n in self.lengths:
            i = np.arange(n + 1)[:, None]
            k = i + np.arange(-w, w + 1)
            reach = ((k >= 1) & (k <= n)).astype(np.float64)
            reach[:, :1] = np.maximum(i - w, 0)  # all k from 1 up to i - w
            reach[:, -1:] = np.maximum(n - i - w + 1, 0)  # and from i + w up to n
            parts.append(reach)
        return np.concatenate(parts)

    @property
    def n_jumps(self) -> int:
        """Number of widths."""
        return 2 * self.width + 1

    @property
    def stats_shape(self) -> tuple[int, ...]:
        """(1 + J + C,)."""
        return (1 + self.n_jumps + len(self._reach),)

    def blank(self) -> Floats:
        """Return chances that favour the next word, and fall with the distance from it."""
        chance = 0.5 ** np.abs(np.arange(-self.width, self.width + 1) - 1.0) + 0.01
        return frozen([self.first_null(0.2), *(chance / chance.sum())])

    def maximise(self, stats: Stats, params: Floats, limits: Limits = FREE) -> Floats:
        """Return NULL's share, and jumps after a few rounds of the formula."""
        jumps, cells = stats[1 : 1 + self.n_jumps], stats[1 + self.n_jumps :]
        rest = float(jumps.sum())
        seen, chance = jumps + self.pseudo, np.array(params[1:])
        used = cells > 0
        reach, cells = self._reach[used], cells[used]
        for _ in range(ROUNDS):
            left = (cells / (reach @ chance)) @ reach + seen.size * self.pseudo / chance.sum()
            chance = np.divide(seen, left, out=chance, where=left > 0)
        return frozen([self._best_null(stats, rest, params), *(chance / chance.sum())])

    def complete(self, stats: Stats, about: Floats, params: Floats) -> float:
        """Return the expected log-probability of the jumps."""
        jumps, cells = stats[1 : 1 + self.n_jumps], stats[1 + self.n_jumps :]
        used = cells > 0
        logs = np.log(self._reach[used] @ params[1:])
        return self._log_null(stats, float(jumps.sum()), params) + float(
            xlogy(jumps, params[1:]).sum() - cells[used] @ logs
        )

    def log_prior(self, params: Floats) -> float:
        """Return the log-probability of the jumps seen beforehand, from where all widths are possible."""
        return float(self.pseudo * xlogy(1.0, params[1:] / params[1:].sum()).sum())

    def jitter(self, params: Floats, amount: float, rng: np.random.Generator) -> Floats:
        """Multiply every chance by exp(amount * N(0, 1))."""
        chance = params[1:] * np.exp(amount * rng.standard_normal(self.n_jumps))
        return frozen([params[0], *(chance / chance.sum())])

    def n_free(self, limits: Limits = FREE) -> int:
        """The jumps, and NULL where it is learned."""
        return self.n_jumps - 1 + (self.null and self.p_null is None)

    def _flaw(self, params: Floats) -> str | None:
        return None if params[1:].min() > 0 else "a jump has a chance that is not above 0."
