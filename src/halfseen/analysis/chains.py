"""Do chains of draws agree, and how much are their draws worth? R-hat and effective sample sizes.

As in Vehtari, Gelman, Simpson, Carpenter and Bürkner (2021), Rank-normalization, folding, and localization: an improved
R-hat. Chains are cut into halves, so that a chain that drifts disagrees with itself, and draws are replaced by normal
scores of their ranks, so that heavy tails do no harm.

`rhat`       about 1 where chains agree; above 1.01 they have not mixed
`ess_bulk`   the number of independent draws that would give the mean as precisely
`ess_tail`   the same of the ends of an interval: the less of those of the 5 % and the 95 % quantile

Draws are arrays (C, N, ...): chains, draws of each, parameters.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.fft import next_fast_len

from halfseen.leaves.leaf import Floats

TAILS = (0.05, 0.95)
AT_ONCE = 4_000_000  # numbers: 32 MB, of which there are several copies
FEWEST = 4  # draws of a chain: two in each half


def rhat(draws: Floats) -> Floats:
    """Return R-hat of each parameter: the larger of those of the draws and of their distances from the median.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> same = rng.normal(size=(4, 500))
    >>> bool(rhat(same) < 1.01), bool(rhat(same + [[0], [0], [0], [3]]) > 1.4)
    (True, True)
    """

    def found(part: Floats) -> Floats:
        halves = _halves(part)
        folded = np.abs(halves - np.median(halves, axis=(0, 1)))
        return np.maximum(_plain_rhat(_normal_scores(halves)), _plain_rhat(_normal_scores(folded)))

    return _in_parts(draws, found)


def ess_bulk(draws: Floats) -> Floats:
    """Return the effective number of draws for the centre of each parameter; all of them of one that never changes.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> noise = rng.normal(size=(4, 1000))
    >>> bool(ess_bulk(noise) > 3000), bool(ess_bulk(np.repeat(noise, 10, axis=1)) < 6000)
    (True, True)
    """
    return _in_parts(draws, lambda part: _ess(_normal_scores(_halves(part))))


def ess_tail(draws: Floats) -> Floats:
    """Return the effective number of draws for the 5 % and the 95 % quantile of each parameter, the less of the two."""

    def found(part: Floats) -> Floats:
        cuts = np.quantile(part, TAILS, axis=(0, 1))
        return np.minimum(*(_ess(_halves((part <= cut).astype(np.float64))) for cut in cuts))

    return _in_parts(draws, found)


def _in_parts(draws: Floats, use: Callable[[Floats], Floats]) -> Floats:
    """Return what `use` makes of draws (C, N, Q), some parameters at a time."""
    n_chains, n_draws, *shape = draws.shape
    if n_draws < FEWEST:
        raise ValueError(f"a chain of {n_draws} draws is too short: it needs at least {FEWEST}.")
    flat = draws.reshape(n_chains, n_draws, -1)
    size = max(1, AT_ONCE // (n_chains * n_draws))
    with np.errstate(invalid="ignore", divide="ignore"):  # what never changes has no variance
        parts = [use(flat[:, :, first : first + size]) for first in range(0, flat.shape[2], size)]
    return np.concatenate(parts).reshape(shape) if parts else np.zeros(shape)


def _halves(draws: Floats) -> Floats:
    """Cut each chain into two; the middle draw of an odd number belongs to neither."""
    half = draws.shape[1] // 2
    return np.concatenate([draws[:, :half], draws[:, -half:]])


def _normal_scores(draws: Floats) -> Floats:
    """Replace draws by the normal quantiles of their ranks among all chains; equal ones share theirs."""
    from scipy.stats import norm, rankdata

    flat = draws.reshape(-1, draws.shape[2])
    scores: Floats = norm.ppf((rankdata(flat, axis=0) - 0.375) / (len(flat) + 0.25))
    return scores.reshape(draws.shape)


def _plain_rhat(draws: Floats) -> Floats:
    """Return sqrt((between / within + N - 1) / N)."""
    n = draws.shape[1]
    between = n * draws.mean(axis=1).var(axis=0, ddof=1)
    within = draws.var(axis=1, ddof=1).mean(axis=0)
    found: Floats = np.sqrt((between / within + n - 1) / n)
    return found


def _ess(draws: Floats) -> Floats:
    """Return C N / tau with tau = -1 + 2 sum of autocorrelations.

    The sum runs over pairs of neighbouring lags while those are positive, and made to fall (Geyer 1992).
    """
    n_chains, n, _ = draws.shape
    total = n_chains * n
    rho = _autocorrelations(draws)
    last = max((n - 1) // 2 - 1, 0)  # the last pair that is looked at
    pairs = rho[: 2 * last + 2].reshape(last + 1, 2, -1).sum(axis=1)
    stops = pairs <= 0
    stop = np.where(stops.any(axis=0), stops.argmax(axis=0), last)  # the first pair that is not counted whole
    counted = np.where(np.arange(last + 1)[:, None] < stop, np.minimum.accumulate(pairs, axis=0), 0.0).sum(axis=0)
    columns = np.arange(rho.shape[1])
    even = rho[2 * stop, columns]
    kept = np.where((even > 0) | (pairs[stop, columns] >= 0), even, 0.0)
    tau = np.maximum(-1 + 2 * counted + kept, 1 / np.log10(total))
    moves = np.ptp(draws, axis=(0, 1)) > np.finfo(float).resolution
    return np.where(moves, total / tau, total)


def _autocorrelations(draws: Floats) -> Floats:
    """Return the autocorrelations at all lags over all chains, (N, Q)."""
    n = draws.shape[1]
    centred = draws - draws.mean(axis=1, keepdims=True)
    length = next_fast_len(2 * n, real=True)
    power = np.abs(np.fft.rfft(centred, length, axis=1)) ** 2
    covariance = np.fft.irfft(power, length, axis=1)[:, :n].mean(axis=0) / n
    within = covariance[0] * n / (n - 1)
    plus = covariance[0] + (draws.mean(axis=1).var(axis=0, ddof=1) if len(draws) > 1 else 0.0)
    found: Floats = 1 - (within - covariance) / plus
    found[0] = 1.0
    return found
