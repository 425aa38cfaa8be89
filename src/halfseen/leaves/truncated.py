"""The normal distribution between two limits: probability, moments and draws, without loss of digits.

With z = (x - mean) / sd, a < z < b, phi the density, R(z) = Phi(z) / phi(z) and q = phi(a) / phi(b),

    P = phi(b) (R(b) - q R(a)),   E[z] = (q - 1) / (R(b) - q R(a)),   E[z^2] = 1 + (a q - b) / (R(b) - q R(a)),

which has its digits in the lower tail, b <= 0; intervals above the mean are turned round. Of narrow intervals both
terms are alike: there P and the moments of t = z - m, m the middle, are integrals of phi(m) exp(-m t - t^2 / 2) by
Gauss and Legendre's rule, whose terms are all positive.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx, log_ndtr, ndtr, ndtri_exp

Floats = NDArray[np.float64]

FAR = 1e150  # standard deviations; squares of more overflow, and infinite limits are as far
WIDTH, BEND = 2.0, 4.0  # of intervals whose integrals ten nodes give to the last digit: their width, width times middle
NODES, SHARES = np.polynomial.legendre.leggauss(10)
FLAT = 1e-5  # width times middle of an interval on which the density is flat, as far as draws can tell
LEAST = 2.0**-54  # share of an interval beyond which nothing is drawn: its end may be infinite
LOG_ROOT = 0.5 * float(np.log(2 * np.pi))


class Truncated(NamedTuple):
    """Log-probability of an interval, and the moments E[x - mean] and E[(x - mean)^2] within it."""

    log: Floats
    first: Floats
    second: Floats


class _Turned(NamedTuple):
    """An interval in standard deviations, turned round so that its middle is not above the mean."""

    a: Floats
    b: Floats
    middle: Floats
    width: Floats
    above: NDArray[np.bool_]  # whether it was turned

    def of(self, chosen: NDArray[np.bool_]) -> _Turned:
        """Return some of the intervals."""
        a, b, middle, width = (part[chosen] for part in self[:4])
        return _Turned(a, b, middle, width, self.above[chosen])

    @property
    def narrow(self) -> NDArray[np.bool_]:
        """Which intervals are narrow."""
        with np.errstate(over="ignore"):
            return (self.width <= WIDTH) & (-self.middle * self.width <= BEND)


def truncated(low: Any, high: Any, mean: Any, sd: Any) -> Truncated:
    """Return log P(low < x < high) and the moments of x there, about the mean; arrays that broadcast.

    Examples
    --------
    >>> [round(float(part), 6) for part in truncated(0.0, np.inf, 0.0, 1.0)]
    [-0.693147, 0.797885, 1.0]
    """
    turned = _turned(low, high, mean, sd)
    narrow = turned.narrow
    log, first, second = (np.empty(narrow.shape) for _ in range(3))
    for chosen, method in ((narrow, _by_nodes), (~narrow, _by_limits)):
        if chosen.any():
            log[chosen], first[chosen], second[chosen] = method(turned.of(chosen))
    return Truncated(log, np.where(turned.above, -first, first) * sd, second * sd * sd)


def _turned(low: Any, high: Any, mean: Any, sd: Any) -> _Turned:
    with np.errstate(over="ignore", invalid="ignore"):  # of infinite limits
        a, b = (np.clip((edge - mean) / sd, -FAR, FAR) for edge in (low, high))
        width = (high - low) / sd
        middle = np.where(np.isfinite(width), (low / 2 + high / 2 - mean) / sd, (a + b) / 2)
    a, b, middle, width = np.broadcast_arrays(a, b, np.clip(middle, -FAR, FAR), np.minimum(width, 2 * FAR))
    above = middle > 0
    return _Turned(np.where(above, -b, a), np.where(above, -a, b), -np.abs(middle), width, above)


def _by_nodes(turned: _Turned) -> tuple[Floats, Floats, Floats]:
    """Return log P, E[z], E[z^2] of narrow intervals."""
    middle, half = turned.middle, turned.width / 2
    t = NODES[:, None] * half
    density = SHARES[:, None] * np.exp(-t * (middle + t / 2))
    total = density.sum(axis=0)
    off, squares = (density * t).sum(axis=0) / total, (density * t * t).sum(axis=0) / total
    with np.errstate(divide="ignore"):  # an interval without width
        log = np.log(half * total) - middle**2 / 2 - LOG_ROOT
    return log, middle + off, middle**2 + 2 * middle * off + squares


def _by_limits(turned: _Turned) -> tuple[Floats, Floats, Floats]:
    """Return log P, E[z], E[z^2] of wide intervals, and of those far out."""
    a, b = turned.a, turned.b
    with np.errstate(over="ignore"):
        ratio = np.exp(np.maximum(turned.middle * turned.width, -FAR))  # phi(a) / phi(b)
    tail = b <= 0
    end = np.where(tail, b, 0.0)
    mass = _mills(end) - ratio * _mills(np.minimum(a, 0.0))
    across = np.where(tail, 0.0, b)  # of an interval that holds the mean
    inside = ndtr(across) - np.where(tail, 0.0, ndtr(a))
    density = np.where(tail, 1 / mass, np.exp(-(across**2) / 2 - LOG_ROOT) / inside)  # phi(b) / P
    start = np.where(tail, ratio * density, np.exp(-np.minimum(a * a, FAR) / 2 - LOG_ROOT) / inside)  # phi(a) / P
    log = np.where(tail, np.log(mass) - end**2 / 2 - LOG_ROOT, np.log(inside))
    return log, start - density, 1 + a * start - b * density


def _mills(z: Floats) -> Floats:
    """Return Phi(z) / phi(z) for z <= 0."""
    return np.asarray(np.sqrt(np.pi / 2) * erfcx(-z / np.sqrt(2.0)))


def drawn(low: Any, high: Any, mean: Any, sd: Any, uniforms: Floats) -> Floats:
    """Draw x from the normal distribution between limits, by its quantiles at `uniforms`.

    Examples
    --------
    >>> drawn(1.0, 3.0, 2.0, 1.0, np.array([0.0, 0.5, 1.0]))
    array([1., 2., 3.])
    """
    turned = _turned(low, high, mean, sd)
    above = np.broadcast_to(turned.above, uniforms.shape)
    a, b, middle, width = (np.broadcast_to(part, uniforms.shape) for part in turned[:4])
    share = np.clip(np.where(above, 1 - uniforms, uniforms), LEAST, 1 - LEAST)
    share = np.asarray(share, dtype=np.float64)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        flat = width * (1 - middle) < FLAT
        logs = log_ndtr(a) + np.log1p(
            share * np.expm1(np.where(flat, 0.0, np.minimum(log_ndtr(b) - log_ndtr(a), 700.0)))
        )
        logs = np.where(log_ndtr(b) - log_ndtr(a) > 700, log_ndtr(b) + np.log(share), logs)
    z = np.where(flat, middle + (share - 0.5) * width, ndtri_exp(np.minimum(logs, 0.0)))
    z = np.clip(np.where(np.isnan(z), middle, z), a, b)
    return np.asarray(np.clip(mean + sd * np.where(above, -z, z), low, high))
