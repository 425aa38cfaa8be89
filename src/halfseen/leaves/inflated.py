"""Columns of counts with more zeros than their distribution has: some zeros are structural, whatever the counts.

With a share `zero` of structural zeros, and an inner leaf of counts with density f, such as Poisson,

    flag ~ Bernoulli(zero),   x = 0 if flag else x ~ f;   p(0) = zero + (1 - zero) f(0),   p(x) = (1 - zero) f(x)

A zero does not say which of the two it is: the flag is latent in it, and in no other count. Completed by flags the
statistics fall apart into those of the share and those of the inner leaf, which is used as it is: it counts a zero with
the probability that the zero is not structural. They have the shape (2 + P, K, D): mass, structural zeros, and the P
statistics of the inner leaf, the first of which is its mass,

    stats[:2, k, d] = sum_n usage[n, k] seen[n, d] (1, [x[n, d] = 0] flag[k, d]),
    flag = zero / p(0),   stats[0] = stats[1] + stats[2].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, expit, logit, xlog1py, xlogy

from halfseen.assign import SOFT, Assign
from halfseen.leaves.leaf import NO_MASS, ROUNDING, Floats, Latent, Leaf, Stats, frozen, map_arrays
from halfseen.leaves.limits import FREE, Limits, Params

LEAST_SHARE, MOST_SHARE = 0.05, 0.9  # of structural zeros to start from: from 0 and 1 EM does not move
LEAP = 0.01  # of the way to 0 or 1 that an extrapolation beyond it leaves
MOST_DRAWS = 1 << 40  # of flags; beyond, each draw counts for more
HALF = -np.log(2.0)  # log-probability from which 1 - p has more digits than p


class InflatedParams(NamedTuple):
    """Shares of structural zeros, (K, D), and the parameters of the inner leaf."""

    zero: Floats
    counts: Params


class Zeros(NamedTuple):
    """What is known of a zero before one is seen, (K, D) each, and the prepared parameters of the inner leaf."""

    some: Floats  # log (1 - zero)
    none: Floats  # log p(0)
    structural: Floats  # flag: the probability that a zero is structural
    ordinary: Floats  # 1 - flag, with its own digits
    counts: Any


def moment_share(mean: Floats, var: Floats) -> Floats:
    """Return the share of structural zeros with which Poisson counts have a mean and a variance, within bounds, (D,).

    var - mean = mean^2 zero / (1 - zero)
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        odds = (var / mean - 1) / mean
        share = np.where(odds > 0, 1 / (1 + 1 / odds), LEAST_SHARE)
    return np.clip(np.where(np.isnan(share), LEAST_SHARE, share), LEAST_SHARE, MOST_SHARE)


@dataclass(frozen=True, eq=False)
class ZeroInflated(Leaf):
    """Structural zeros around an inner leaf of D count columns; a floor is one of the inner leaf.

    Parameters
    ----------
    inner : Leaf
        Counts: a cell of 0 has no latent content in it, and its statistics do not depend on the parameters.
    share : (D,) array
        Where shares of structural zeros start.
    pseudo : (K,) array, optional
        Prior: this many pseudo-rows per component, a share of them structural zeros and the others those of the prior
        of the inner leaf, which has the same number.

    Examples
    --------
    >>> import numpy as np
    >>> from halfseen.leaves.poisson import Poisson
    >>> leaf = ZeroInflated(Poisson(1, np.ones(1)), np.array([0.5]))
    >>> about, stats = leaf.blank(), np.zeros(leaf.stats_shape)
    >>> _ = leaf.expect(np.ones((3, 1)), leaf.prepare(about), np.array([[0.0], [3.0], [np.nan]]), None, stats)
    >>> leaf.maximise(stats, about).zero.round(4)  # 1 / (1 + exp(-1)) of the 1 zero, of 2 cells
    array([[0.3655]])
    """

    has_latent = True  # flags

    inner: Leaf
    share: Floats
    pseudo: Floats | None = None
    stats_axis = 1

    @property
    def n_components(self) -> int:  # type: ignore[override]
        """That of the inner leaf."""
        return self.inner.n_components

    @property
    def shape(self) -> tuple[int, int]:
        """Components, columns."""
        return (self.n_components, len(self.share))

    @property
    def stats_shape(self) -> tuple[int, ...]:
        """Mass, structural zeros, and the statistics of the inner leaf: (2 + P, K, D)."""
        return (2 + self.inner.stats_shape[0], *self.shape)

    def blank(self) -> InflatedParams:
        """Return the share to start from beside the parameters of the inner leaf, alike in all components."""
        return InflatedParams(frozen(np.broadcast_to(self.share, self.shape).copy()), self.inner.blank())

    # ---- the E-step ----------------------------------------------------------------------------------------------

    def prepare(self, params: InflatedParams) -> Zeros:
        """Return logs of what a zero is; p(0) near 1 comes from what it leaves, (1 - zero) (1 - f(0))."""
        counts, lone = self.inner.prepare(params.counts), _lone_zeros(len(self.share))
        plain = self.inner.score(counts, lone, SOFT).T  # log f(0)
        with np.errstate(divide="ignore"):  # of shares of 0 and 1
            log_zero, some = np.log(params.zero), np.log1p(-params.zero)
            none = np.logaddexp(log_zero, some + plain)
            left = np.log1p(np.maximum((1 - params.zero) * np.expm1(plain), -1.0))
        none = np.where(none > HALF, left, none)
        possible = np.where(np.isfinite(none), none, 0.0)  # a mean so large that a zero is impossible
        return Zeros(some, none, np.exp(log_zero - possible), np.exp(some + plain - possible), counts)

    def score(self, prepared: Zeros, data: Any, assign: Assign | None) -> Floats:
        """scores[n, k] = sum over observed d of log p(0), or of log(1 - zero[k, d]) + log f(x[n, d])."""
        data = np.asarray(data, dtype=np.float64)
        none = data == 0
        scores = self.inner.score(prepared.counts, np.where(none, np.nan, data), SOFT if assign is None else assign)
        return scores + _summed(none, prepared.none) + _summed(data > 0, prepared.some)

    def expect(self, usage: Floats, prepared: Zeros, data: Any, assign: Assign | None, out: Stats) -> int:
        """Add mass, structural zeros, which are drawn if `assign` says so, and the statistics of all other cells."""
        data = np.asarray(data, dtype=np.float64)
        none = data == 0
        zeros = usage.T @ none  # (K, D)
        structural, ordinary = zeros * prepared.structural, zeros * prepared.ordinary
        if assign is not None and assign.latent:
            assert assign.rng is not None
            structural = _drawn(zeros, prepared.structural, assign.rng)
            ordinary = zeros - structural
        inside = np.zeros(self.inner.stats_shape)
        found = self.inner.expect(usage, prepared.counts, np.where(none, np.nan, data), assign or SOFT, inside)
        inside += ordinary * self._of_a_zero(prepared)
        out[0] += structural + inside[0]
        out[1] += structural
        out[2:] += inside
        return found

    def _of_a_zero(self, prepared: Zeros) -> Stats:
        """Return the statistics of the inner leaf for one zero in every component and column."""
        one = np.zeros(self.inner.stats_shape)
        self.inner.expect(np.ones((1, self.n_components)), prepared.counts, np.zeros((1, len(self.share))), SOFT, one)
        return one

    def settled(self, data: Any) -> NDArray[np.bool_] | None:
        """Rows without a zero, in which nothing is latent in the inner leaf."""
        inside = self.inner.settled(data)
        plain = ~(np.asarray(data) == 0).any(axis=1)
        settled = plain if inside is None else plain & inside
        return None if settled.all() else settled

    def latent(self, about: Zeros, params: Zeros, data: Any, usage: Floats) -> Latent:
        """Return entropy and divergence of the flags of all zeros, and of what is latent in the inner leaf.

        entropy = -sum q log q,   kl = sum q log(q / q'),   over q = flag and 1 - flag
        """
        zeros = usage.T @ (np.asarray(data) == 0)
        entropy, kl = np.zeros(self.shape), np.zeros(self.shape)
        for q, other in ((about.structural, params.structural), (about.ordinary, params.ordinary)):
            entropy -= xlogy(q, q)
            with np.errstate(divide="ignore", invalid="ignore"):
                kl += np.where(q > 0, q * (np.log(q) - np.log(other)), 0.0)
        used = zeros > 0
        own = Latent(float((zeros * entropy).sum()), float((zeros[used] * kl[used]).sum()))
        return own.plus(self.inner.latent(about.counts, params.counts, data, usage))

    # ---- the M-step ----------------------------------------------------------------------------------------------

    def maximise(self, stats: Stats, params: InflatedParams, limits: Limits = FREE) -> InflatedParams:
        """zero = structural zeros / mass, and the M-step of the inner leaf; no mass keeps the old parameters."""
        keep = stats[0] <= NO_MASS
        if limits.fixed is not None:
            keep = keep | limits.fixed.zero
        zero = np.where(keep, params.zero, np.minimum(stats[1] / np.where(keep, 1.0, stats[0]), 1.0))
        return InflatedParams(frozen(zero), self.inner.maximise(stats[2:], params.counts, _inside(limits)))

    def complete(self, stats: Stats, about: InflatedParams, params: InflatedParams) -> float:
        """Return sum of structural log zero + others log(1 - zero), and that of the inner leaf."""
        flags = xlogy(stats[1], params.zero) + xlog1py(stats[2], -params.zero)
        return float(flags.sum()) + self.inner.complete(stats[2:], about.counts, params.counts)

    def rounding(self, stats: Stats, params: InflatedParams) -> float:
        """As the mass, and that of the inner leaf."""
        return ROUNDING * float(stats[0].sum()) + self.inner.rounding(stats[2:], params.counts)

    def prior(self, params: InflatedParams) -> Stats | None:
        """Return the statistics of the pseudo-rows."""
        inside = self.inner.prior(params.counts)
        if self.pseudo is None or inside is None:
            return None
        mass = np.repeat(self.pseudo[:, None], len(self.share), axis=1)
        return np.concatenate([np.stack([mass, mass * self.share]), inside * (1 - self.share)])

    # ---- gradient methods ----------------------------------------------------------------------------------------

    def free(self, params: InflatedParams, limits: Limits = FREE) -> Floats:
        """Return logits of the shares; those of 0 and 1, which will not move, get the coordinate 0."""
        shares = logit(np.where(_moves(params.zero), params.zero, 0.5))
        return np.concatenate([shares.ravel(), self.inner.free(params.counts, _inside(limits))])

    def freed(self, vector: Floats, like: InflatedParams, limits: Limits = FREE) -> InflatedParams:
        """Return 1 / (1 + exp(-vector)), where shares move, and what the inner leaf makes of the rest."""
        own, rest = np.split(vector, [like.zero.size])
        zero = np.where(_moves(like.zero), expit(own.reshape(like.zero.shape)), like.zero)
        zero = zero if limits.fixed is None else np.where(limits.fixed.zero, like.zero, zero)
        return InflatedParams(frozen(zero), self.inner.freed(rest, like.counts, _inside(limits)))

    def slope(self, stats: Stats, params: InflatedParams, limits: Limits = FREE) -> Floats:
        """slope = structural (1 - zero) - others zero, and that of the inner leaf."""
        slope = stats[1] * (1 - params.zero) - stats[2] * params.zero
        moves = _moves(params.zero) if limits.fixed is None else _moves(params.zero) & ~limits.fixed.zero
        inside = self.inner.slope(stats[2:], params.counts, _inside(limits))
        return np.concatenate([np.where(moves, slope, 0.0).ravel(), inside])

    def coupled(self, params: InflatedParams, limits: Limits = FREE) -> NDArray[np.intp]:
        """Return a number for each share, and those of the inner leaf."""
        own = params.zero.size
        return np.concatenate([np.arange(own), own + self.inner.coupled(params.counts, _inside(limits))])

    # ---- draws ---------------------------------------------------------------------------------------------------

    def draw(
        self, stats: Stats, about: InflatedParams, rng: np.random.Generator, limits: Limits = FREE
    ) -> InflatedParams:
        """Draw shares from Beta(structural + 1, others + 1), and the parameters of the inner leaf."""
        zero = rng.beta(stats[1] + 1, stats[2] + 1)
        return self._posterior(zero, self.inner.draw(stats[2:], about.counts, rng, _inside(limits)), about, limits)

    def average(self, stats: Stats, about: InflatedParams, limits: Limits = FREE) -> InflatedParams:
        """mean = (structural + 1) / (structural + others + 2)."""
        zero = (stats[1] + 1) / (stats[1] + stats[2] + 2)
        return self._posterior(zero, self.inner.average(stats[2:], about.counts, _inside(limits)), about, limits)

    def quantile(self, stats: Stats, about: InflatedParams, q: float, limits: Limits = FREE) -> InflatedParams:
        """Return quantiles of Beta(structural + 1, others + 1), and those of the inner leaf."""
        zero = betaincinv(stats[1] + 1, stats[2] + 1, q)
        return self._posterior(zero, self.inner.quantile(stats[2:], about.counts, q, _inside(limits)), about, limits)

    def _posterior(self, zero: Floats, counts: Params, about: InflatedParams, limits: Limits) -> InflatedParams:
        """Return parameters with shares that are fixed taken from `about`."""
        kept = zero if limits.fixed is None else np.where(limits.fixed.zero, about.zero, zero)
        return InflatedParams(frozen(kept), counts)

    # ---- for the rest of the library -----------------------------------------------------------------------------

    def jitter(self, params: InflatedParams, amount: float, rng: np.random.Generator) -> InflatedParams:
        """Move the logit of each share by amount z, and the parameters of the inner leaf as it does."""
        moves = _moves(params.zero)
        moved = expit(logit(np.where(moves, params.zero, 0.5)) + amount * rng.standard_normal(params.zero.shape))
        return InflatedParams(
            frozen(np.where(moves, moved, params.zero)), self.inner.jitter(params.counts, amount, rng)
        )

    def conform(self, params: InflatedParams, like: InflatedParams, limits: Limits = FREE) -> InflatedParams:
        """Bring shares between 0 and 1 and take fixed entries from `like`; the inner leaf has the floor."""
        zero = np.clip(params.zero, 0.0, 1.0)
        zero = zero if limits.fixed is None else np.where(limits.fixed.zero, like.zero, zero)
        return InflatedParams(frozen(zero), self.inner.conform(params.counts, like.counts, _inside(limits)))

    def sample(self, params: InflatedParams, components: NDArray[np.int64], rng: np.random.Generator) -> Any:
        """Draw counts, (N, D), and put zeros where the flags that are drawn say so."""
        counts = self.inner.sample(params.counts, components, rng)
        return np.where(rng.random(counts.shape) < params.zero[components], 0.0, counts)

    def impute(self, params: InflatedParams, data: Any, resp: Floats, rng: np.random.Generator | None) -> Any:
        """Fill NaN with the expected count sum_k resp[n, k] (1 - zero[k, d]) mean[k, d], or a draw."""
        missing = np.isnan(data)
        if rng is None:
            means = self.inner.impute(params.counts, np.full(self.shape, np.nan), np.eye(self.n_components), None)
            return np.where(missing, resp @ ((1 - params.zero) * means), data)
        filled = self.inner.impute(params.counts, data, resp, rng)
        flags = rng.random(filled.shape) < resp @ params.zero
        return np.where(missing & flags, 0.0, filled)

    def n_free(self, limits: Limits = FREE) -> int:
        """Return K D, less what is fixed, and what is free in the inner leaf."""
        fixed = 0 if limits.fixed is None else int(np.sum(limits.fixed.zero))
        return self.share.size * self.n_components - fixed + self.inner.n_free(_inside(limits))

    def affinity(self, params: InflatedParams, other: InflatedParams) -> Floats:
        """Return sum_d log(sqrt(p(0) p'(0)) + sqrt((1 - zero) (1 - zero')) (exp(inner) - sqrt(f(0) f'(0))))."""
        ours, theirs = self.prepare(params), self.prepare(other)
        lone, total = _lone_zeros(len(self.share)), np.zeros((len(params.zero), len(other.zero)))
        plain, plains = (self.inner.score(prepared.counts, lone, SOFT).T for prepared in (ours, theirs))
        for d in range(len(self.share)):
            one, two = (map_arrays(lambda a, d=d: a[:, d : d + 1], each.counts) for each in (params, other))
            zeros = 0.5 * (ours.none[:, d, None] + theirs.none[:, d])
            some = 0.5 * (ours.some[:, d, None] + theirs.some[:, d])
            without = np.exp(self.inner.affinity(one, two)) - np.exp(0.5 * (plain[:, d, None] + plains[:, d]))
            with np.errstate(divide="ignore"):  # distributions that have nothing in common
                total += np.log(np.exp(zeros) + np.exp(some) * np.maximum(without, 0.0))
        return np.minimum(total, 0.0)

    def flaw(self, params: InflatedParams) -> str | None:
        """Shares must be between 0 and 1, and the inner leaf has nothing to object to."""
        legal = np.all((params.zero >= 0) & (params.zero <= 1))  # NaN is not
        return self.inner.flaw(params.counts) or (None if legal else "a share of structural zeros is not from 0 to 1.")

    def feasible(self, params: InflatedParams, limits: Limits = FREE) -> bool:
        """Whether all shares are between 0 and 1, and the inner leaf's parameters legal."""
        shares = bool(np.all((params.zero >= 0) & (params.zero <= 1)))
        return shares and self.inner.feasible(params.counts, _inside(limits))

    def pack(self, params: InflatedParams) -> Floats:
        """Return the shares as they are, and what the inner leaf packs."""
        return np.concatenate([params.zero.ravel(), self.inner.pack(params.counts)])

    def unpack(self, vector: Floats, like: InflatedParams) -> InflatedParams:
        """Invert `pack`; a leap beyond 0 or 1, where EM would stay for good, goes most of the way there."""
        own, rest = np.split(vector, [like.zero.size])
        zero = own.reshape(like.zero.shape)
        zero = np.where(zero < 0, LEAP * like.zero, np.where(zero > 1, 1 - LEAP * (1 - like.zero), zero))
        return InflatedParams(frozen(zero), self.inner.unpack(rest, like.counts))


def _inside(limits: Limits) -> Limits:
    """Return the limits of the inner leaf."""
    return limits if limits.fixed is None else Limits(limits.fixed.counts, limits.floor)


def _moves(zero: Floats) -> NDArray[np.bool_]:
    """Which shares EM and gradients move: not 0 and 1."""
    return (zero > 0) & (zero < 1)


def _lone_zeros(n_columns: int) -> Floats:
    """Return rows with one zero each, all other cells missing: their scores are those of single zeros."""
    return np.where(np.eye(n_columns, dtype=bool), 0.0, np.nan)


def _summed(chosen: NDArray[np.bool_], logs: Floats) -> Floats:
    """Return sum_d chosen[n, d] logs[k, d], (N, K), where logs may be -inf."""
    finite = np.isfinite(logs)
    if finite.all():
        return chosen.astype(np.float64) @ logs.T
    impossible = chosen.astype(np.float64) @ (~finite).T
    return np.where(impossible > 0, -np.inf, chosen.astype(np.float64) @ np.where(finite, logs, 0.0).T)


def _drawn(uses: Floats, chance: Floats, rng: np.random.Generator) -> Floats:
    """Draw how many of the uses of a zero are structural, (K, D): a fraction of a use is a draw of its own."""
    whole = np.floor(uses)
    times = np.minimum(whole, MOST_DRAWS)
    each = np.divide(whole, times, out=np.ones_like(uses), where=times > 0)
    drawn = rng.binomial(times.astype(np.int64), np.minimum(chance, 1.0)) * each
    return np.asarray(drawn + (uses - whole) * (rng.random(uses.shape) < chance))
