"""Maximum likelihood of proportional odds from counts, exactly, also where the maximum is at a bound.

    P(x <= v | k) = expit(t[v] - s[k])

With c[k, v] = t[v] - s[k], the log-likelihood of counts N[k, v] is concave in thresholds t and shifts s,

    value = sum_kv (N[k, v] log expit(c[k, v]) + N[k, v + 1] log expit(-c[k, v]))
            + sum_v M[v] log(1 - exp(t[v - 1] - t[v]))

where M[v] = sum_k N[k, v] of the categories between two thresholds: the gaps do not depend on the shifts, and the last
term keeps thresholds in order. Newton's method with steps halved until the value rises enough; shifts are eliminated,
as their part of the curvature is diagonal. All columns are maximised at once.

At a bound, thresholds and shifts move without limit. A component with counts of category v allows only directions in
which its shift stays between thresholds v - 1 and v. So one with counts from category a to b ties thresholds a to b - 1
together, and thresholds that nothing ties move apart: each set is a `Problem` of its own, in whose other categories its
components have probability 0. A component with counts of one category only, which no set surrounds, has it for certain.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_expit

from halfseen.leaves.leaf import NO_MASS, Floats

MOST_STEPS = 200  # of Newton's method; fewer than 10 as a rule
HALVINGS = 60
LEAST_GAP = 1e-14  # between thresholds, relative
ENOUGH = 1e-12  # of the mass: gain still expected at which a step is the last; it leaves the square of that
DIGITS = 1e-15  # of the value: what rounding may cost in a step
ARMIJO = 1e-4  # share of the expected gain that a step must have


class Problem(NamedTuple):
    """Counts of a column that share thresholds, (M, L), all of whose maxima are finite.

    Attributes
    ----------
    members : (M,) array     components
    levels : (L,) array      categories
    counts : (M, L) array
    now : (thresholds, shifts) to begin with, or None
    """

    members: NDArray[np.intp]
    levels: NDArray[np.intp]
    counts: Floats
    now: tuple[Floats, Floats] | None = None


def problems(counts: Floats) -> tuple[list[tuple[int, int]], list[Problem]]:
    """Return the components (k, v) that have one category for certain, and the sets of thresholds with their counts.

    Examples
    --------
    >>> certain, [one] = problems(np.array([[5.0, 2.0, 0.0], [0.0, 0.0, 3.0]]))
    >>> certain, one.members.tolist(), one.levels.tolist()
    ([(1, 2)], [0], [0, 1])
    """
    rows = np.flatnonzero(counts.sum(axis=1) > NO_MASS)
    if len(rows) == len(counts) and (counts > 0).all():
        return [], [Problem(rows, np.arange(counts.shape[1]), counts)]
    levels = np.flatnonzero((counts[rows] > 0).any(axis=0))
    seen = counts[np.ix_(rows, levels)] > 0
    first, last = seen.argmax(axis=1), seen.shape[1] - 1 - seen[:, ::-1].argmax(axis=1)
    spans = (first[:, None] <= np.arange(len(levels) - 1)) & (np.arange(len(levels) - 1) < last[:, None])
    used, joined = spans.any(axis=0), (spans[:, :-1] & spans[:, 1:]).any(axis=0)
    taken, found = np.zeros(len(rows), dtype=bool), []
    a = 0
    while a < len(used):
        b = a
        while b < len(joined) and joined[b]:
            b += 1
        if used[a]:
            inside = (first >= a) & (last <= b + 1) & ((first < last) | ((first > a) & (last < b + 1)))
            taken |= inside
            own, part = rows[inside], levels[a : b + 2]
            found.append(Problem(own, part, counts[np.ix_(own, part)]))
        a = b + 1
    certain = [(int(rows[i]), int(levels[first[i]])) for i in np.flatnonzero(~taken)]
    return certain, found


def cuts(shares: Floats) -> Floats:
    """Return log(P(x <= v) / P(x > v)) of each row of (K, V), (K, V - 1), with the digits of both tails."""
    below = np.cumsum(shares, axis=1)[:, :-1]
    above = np.cumsum(shares[:, ::-1], axis=1)[:, -2::-1]
    with np.errstate(divide="ignore"):
        found: Floats = np.log(below) - np.log(above)
    return found


def thresholds_of(shares: Floats) -> tuple[Floats, Floats]:
    """Return thresholds and shifts of rows (M, L) with proportional odds; the first shift is 0."""
    odds = cuts(shares)
    v = int(np.abs(odds).max(axis=0).argmin())
    return odds[0], odds[0, v] - odds[:, v]


def shares_at(thresholds: Floats, shifts: Floats) -> Floats:
    """Return the probabilities, (..., M, L), with all their digits."""
    odds = thresholds[..., None, :] - shifts[..., :, None]
    ends = np.zeros((*odds.shape[:-1], 1))
    upper, lower = np.concatenate([log_expit(odds), ends], axis=-1), np.concatenate([ends, log_expit(-odds)], axis=-1)
    with np.errstate(divide="ignore"):
        between = np.log(-np.expm1(-np.diff(thresholds, axis=-1)))[..., None, :]
    logs = upper + lower
    logs[..., 1:-1] += between
    shares = np.exp(logs)
    found: Floats = shares / shares.sum(axis=-1, keepdims=True)
    return found


def slopes_at(counts: Floats, thresholds: Floats, shifts: Floats) -> tuple[Floats, Floats]:
    """Return the gradient of the log-likelihood in thresholds and in shifts."""
    batch = _Batch([Problem(np.arange(len(shifts)), np.arange(counts.shape[1]), counts)])
    by_threshold, by_shift, *_ = batch.derivatives(thresholds[None], shifts[None])
    return by_threshold[0] * batch.mass[0], by_shift[0] * batch.mass[0]


def maxima(tasks: Sequence[Problem]) -> list[Floats]:
    """Return the best probabilities of each problem, (M, L).

    Examples
    --------
    >>> counts = np.array([[6.0, 3.0, 1.0], [1.0, 3.0, 6.0]])
    >>> maxima([Problem(np.arange(2), np.arange(3), counts)])[0].round(3)
    array([[0.6, 0.3, 0.1],
           [0.1, 0.3, 0.6]])
    """
    found: list[Floats] = [np.zeros(0)] * len(tasks)
    hard = []
    for i, task in enumerate(tasks):
        if len(task.members) == 1 or len(task.levels) == 2:  # saturated
            found[i] = task.counts / task.counts.sum(axis=1, keepdims=True)
        else:
            hard.append(i)
    if hard:
        batch = _Batch([tasks[i] for i in hard])
        thresholds, shifts = _newton(batch, *batch.begin([tasks[i] for i in hard]))
        for i, t, s in zip(hard, thresholds, shifts, strict=True):
            found[i] = shares_at(t[: len(tasks[i].levels) - 1], s[: len(tasks[i].members)])
    return found


class _Batch:
    """Problems of different sizes side by side: counts (P, M, L) with zeros, divided by their mass."""

    def __init__(self, tasks: Sequence[Problem]) -> None:
        n_members, n_levels = (max(size) for size in zip(*(task.counts.shape for task in tasks), strict=True))
        counts = np.zeros((len(tasks), n_members, n_levels))
        self.mass = np.empty(len(tasks))
        at, row = np.arange(n_levels - 1), np.zeros((len(tasks), n_levels - 1), dtype=bool)
        self.members = np.zeros((len(tasks), n_members), dtype=bool)
        for p, task in enumerate(tasks):
            m, size = task.counts.shape
            self.mass[p] = max(float(task.counts.sum()), 1e-300)
            counts[p, :m, :size] = task.counts / self.mass[p]
            row[p], self.members[p, :m] = at < size - 1, True
        self.counts, self.open = counts, row
        self.below, self.above = (np.where(row[:, None], part, 0.0) for part in (counts[..., :-1], counts[..., 1:]))
        self.between = np.where(row[:, 1:] & row[:, :-1], counts[..., 1:-1].sum(axis=1), 0.0)

    def begin(self, tasks: Sequence[Problem]) -> tuple[Floats, Floats]:
        """Return where to begin: at the parameters that are known, if they are legal, or read off the counts."""
        points = []
        for task in tasks:
            now = task.now
            legal = now is not None and bool(np.isfinite(np.concatenate(now)).all() and (np.diff(now[0]) > 0).all())
            points.append(now if legal and now is not None else _rough(task.counts))
        return self._padded(points)

    def _padded(self, points: Sequence[tuple[Floats, Floats]]) -> tuple[Floats, Floats]:
        thresholds, shifts = np.zeros(self.open.shape), np.zeros(self.members.shape)
        for p, (t, s) in enumerate(points):
            thresholds[p] = t[-1] + 1 + np.arange(self.open.shape[1])  # in order
            thresholds[p, : len(t)], shifts[p, : len(s)] = t, s
        return thresholds, shifts

    def value(self, thresholds: Floats, shifts: Floats) -> Floats:
        """Return the log-likelihoods, (P,); -inf where thresholds are out of order."""
        odds = thresholds[:, None, :] - shifts[:, :, None]
        gaps = np.diff(thresholds, axis=1)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            between = np.where(self.between > 0, self.between * np.log(-np.expm1(-gaps)), 0.0).sum(axis=1)
            ends = self.below * log_expit(odds) + self.above * log_expit(-odds)
        found = ends.sum(axis=(1, 2)) + between
        legal = (np.where(self.open[:, 1:], gaps, 1.0) > 0).all(axis=1)
        return np.where(legal & ~np.isnan(found), found, -np.inf)

    def derivatives(self, thresholds: Floats, shifts: Floats) -> tuple[Any, ...]:
        """Return the gradient in thresholds and shifts, and parts of minus the second derivatives.

        weight[k, v] of log odds k, v, and bend[v] of the gaps.
        """
        odds = thresholds[:, None, :] - shifts[:, :, None]
        low, high = expit(odds), expit(-odds)
        by_odds = self.below * high - self.above * low
        weight = (self.below + self.above) * low * high
        gaps = np.diff(thresholds, axis=1)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            push = np.where(self.between > 0, self.between / np.expm1(gaps), 0.0)
            bend = np.where(self.between > 0, push / -np.expm1(-gaps), 0.0)
        by_threshold = by_odds.sum(axis=1)
        by_threshold[:, 1:] += push
        by_threshold[:, :-1] -= push
        by_shift = -by_odds.sum(axis=2)
        return by_threshold, by_shift, weight, bend

    def direction(self, thresholds: Floats, shifts: Floats) -> tuple[Floats, Floats, Floats]:
        """Return Newton's direction, and the slope along it, (P,)."""
        by_threshold, by_shift, weight, bend = self.derivatives(thresholds, shifts)
        own = weight.sum(axis=2)
        held = own > 0
        own = np.where(held, own, 1.0)
        n = self.open.shape[1]
        at = np.arange(n)
        matrix = -np.einsum("pkv,pkw->pvw", weight / own[:, :, None], weight)
        diagonal = weight.sum(axis=1)
        diagonal[:, 1:] += bend
        diagonal[:, :-1] += bend
        matrix[:, at, at] += diagonal
        matrix[:, at[1:], at[:-1]] -= bend
        matrix[:, at[:-1], at[1:]] -= bend
        unit = np.maximum(diagonal.max(axis=1), 1e-300)
        matrix += (self.open[:, :, None] & self.open[:, None, :]) * (unit / n)[:, None, None]  # one constant is free
        matrix[:, at, at] += np.where(self.open, 1e-15 * unit[:, None], unit[:, None])
        right = by_threshold + np.einsum("pkv,pk->pv", weight, by_shift / own)
        try:
            move = np.linalg.solve(matrix, right[..., None])[..., 0]
        except np.linalg.LinAlgError:
            move = right / np.maximum(diagonal, 1e-300)
        move = np.where(self.open, move, 0.0)
        turn = np.where(held & self.members, (by_shift + np.einsum("pkv,pv->pk", weight, move)) / own, 0.0)
        rise = (by_threshold * move).sum(axis=1) + (by_shift * turn).sum(axis=1)
        lost = ~(rise > 0)
        if lost.any():  # rounding: along the gradient, in units of the curvature
            move = np.where(lost[:, None], by_threshold / np.maximum(diagonal, 1e-300) / 2, move)
            turn = np.where(lost[:, None] & held, by_shift / own / 2, np.where(lost[:, None], 0.0, turn))
            rise = (by_threshold * move).sum(axis=1) + (by_shift * turn).sum(axis=1)
        return move, turn, rise


def _newton(batch: _Batch, thresholds: Floats, shifts: Floats) -> tuple[Floats, Floats]:
    """Return the maxima."""
    value = batch.value(thresholds, shifts)
    going = np.ones(len(value), dtype=bool)
    for _ in range(MOST_STEPS):
        move, turn, rise = batch.direction(thresholds, shifts)
        last = ~(rise > ENOUGH)
        step = np.where(going, 1.0, 0.0)
        waiting = going.copy()
        for _ in range(HALVINGS):
            tried = thresholds + step[:, None] * move, shifts + step[:, None] * turn
            new = batch.value(*tried)
            waiting &= ~(new >= value + ARMIJO * step * rise - DIGITS * (1 - value))
            if not waiting.any():
                break
            step = np.where(waiting, step / 2, step)
        step = np.where(waiting, 0.0, step)
        thresholds, shifts = thresholds + step[:, None] * move, shifts + step[:, None] * turn
        value = batch.value(thresholds, shifts)
        going &= ~last & ~waiting
        if not going.any():
            break
    return thresholds, shifts


def _rough(counts: Floats) -> tuple[Floats, Floats]:
    """Return thresholds of all counts together, and shifts at the cut that divides each component best."""
    thresholds = cuts(counts.sum(axis=0, keepdims=True) / counts.sum())[0]
    for v in range(1, len(thresholds)):  # floats hold no smaller gap: a rarer category gets this probability
        thresholds[v] = max(thresholds[v], thresholds[v - 1] + LEAST_GAP * (1 + abs(thresholds[v - 1])))
    shifts = np.zeros(len(counts))
    for k, own in enumerate(counts):
        below, above = np.cumsum(own)[:-1], np.cumsum(own[::-1])[-2::-1]
        v = int(np.minimum(below, above).argmax())
        if below[v] > 0 and above[v] > 0:
            shifts[k] = thresholds[v] - (np.log(below[v]) - np.log(above[v]))
        else:  # one category, between two thresholds
            v = int(own.argmax())
            shifts[k] = (thresholds[v - 1] + thresholds[v]) / 2
    return thresholds, shifts
