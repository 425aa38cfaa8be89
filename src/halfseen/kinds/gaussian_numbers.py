"""The arithmetic of numbers that are normal within a component, for EM number by number.

    mass = sum of the weights,   sum = of the weighted numbers,   squares = of the weighted squares about the new mean
    mean = sum / mass,           sd = sqrt(squares / mass)

With a covariance, missing cells are completed in expectation: a square then has the conditional variance added.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from halfseen.kinds import by_numbers
from halfseen.kinds.arithmetic import Term, beside, figure, minus, ratio
from halfseen.kinds.kind import Kind
from halfseen.kinds.records import Addends, Estimate, Fitted, MStep
from halfseen.leaves import Normal, Ridged, Spherical
from halfseen.leaves.leaf import Floats, Leaf, Stats
from halfseen.leaves.wrappers import Wrapped, fixed_entries, unwrapped

SAME = 1e-9  # of standard deviations, or relative: two means differ by rounding only

Counted = list[tuple[dict[Any, Floats], dict[Any, Floats]]]  # of each column: expected statistics, those of the prior


# ---- what each row adds ----------------------------------------------------------------------------------------------


def addends(kind: Kind, fitted: Fitted, cells: Any, stats: Stats) -> Iterator[dict[Any, Addends]]:
    """Yield what each row adds to mass, sum, squares and products of each column."""
    filled, spread = _filled(fitted, cells)
    seen = ~np.isnan(cells)
    counts = seen | seen.any(axis=1, keepdims=True) if isinstance(fitted.leaf, Normal) else seen
    means, units = [], []
    for d, own in enumerate(kind.counted(fitted.block, fitted.leaf, stats, fitted.params)):
        mass = np.where(own["mass"] > 0, own["mass"], np.nan)
        means.append(np.where(np.isnan(mass), fitted.params.mean[:, d], own["sum"] / mass))
        units.append(np.sqrt(np.nan_to_num(own["squares"] / mass)))
    away = _Away(filled, np.stack(means, axis=1), np.stack(units, axis=1), spread, seen, counts)
    for d in range(cells.shape[1]):
        found = {"mass": away.mass(d), "sum": away.sum(d), "squares": away.product(d, d)}
        if isinstance(fitted.leaf, Normal):
            found |= {f"products with {fitted.block.columns[e].name}": away.product(d, e) for e in range(d)}
        yield found


def _filled(fitted: Fitted, cells: Any) -> tuple[Floats, Floats]:
    """Return the rows completed in every component, (N, K, D), and their conditional covariances, (N, K, D, D)."""
    leaf, width = fitted.leaf, cells.shape[1]
    if not isinstance(leaf, Normal):
        shape = (len(cells), leaf.n_components, width)
        return np.broadcast_to(np.nan_to_num(cells)[:, None], shape), np.zeros((*shape, width))
    parts = [leaf.parts(own) for own in by_numbers.unit_stats(leaf, fitted.params, cells)]
    first = np.stack([part.first for part in parts])
    spread = np.stack([part.second for part in parts]) - first[..., :, None] * first[..., None, :]
    missing = np.isnan(cells)
    hidden = missing[:, None, :, None] & missing[:, None, None, :]
    completed = np.where(missing[:, None], fitted.params.mean + first, np.nan_to_num(cells)[:, None])
    return completed, np.where(hidden, spread, 0.0)


class _Away:
    """Rows and how far they lie from the new means, in numbers and in figures."""

    def __init__(self, rows: Floats, mean: Floats, unit: Floats, spread: Floats, seen: Any, counts: Any) -> None:
        self.rows, self.mean, self.unit, self.spread = rows, mean, unit, spread
        self.seen, self.counts = seen, counts

    def mass(self, d: int) -> Addends:
        """Return 1 for each row that counts."""
        return by_numbers.in_figures(np.repeat(self.counts[:, d, None] * 1.0, self.rows.shape[1], axis=1))

    def sum(self, d: int) -> Addends:
        """Return the number of each row."""
        values = np.where(self.counts[:, d, None], self.rows[:, :, d], 0.0)
        return Addends(values, self._texts(lambda n, k: self._number(n, k, d), d))

    def product(self, d: int, e: int) -> Addends:
        """Return (x[d] - mean[d]) (x[e] - mean[e]), and the conditional covariance of what is missing."""
        values = (self.rows[:, :, d] - self.mean[:, d]) * (self.rows[:, :, e] - self.mean[:, e])
        values = np.where(self.counts[:, d, None], values + self.spread[:, :, d, e], 0.0)
        return Addends(values, self._texts(lambda n, k: self._product(n, k, d, e), d))

    def _texts(self, text: Any, d: int) -> list[list[str]]:
        n_rows, n_components = self.rows.shape[:2]
        return [[text(n, k) if self.counts[n, d] else "0" for k in range(n_components)] for n in range(n_rows)]

    def _number(self, n: int, k: int, d: int) -> str:
        return beside(float(self.rows[n, k, d]), float(self.unit[k, d]))

    def _product(self, n: int, k: int, d: int, e: int) -> str:
        factors = [f"({minus(self._number(n, k, i), beside(self.mean[k, i], self.unit[k, i]))})" for i in (d, e)]
        text = f"{factors[0]}^2" if d == e else " × ".join(factors)
        spread = float(self.spread[n, k, d, e])
        return f"({text} + {figure(spread)})" if spread else text


# ---- from statistics to parameters -----------------------------------------------------------------------------------


def estimates(kind: Kind, step: MStep) -> Iterator[dict[Any, Estimate]]:
    """Yield mean and standard deviation of each column; of what is fixed NaN."""
    counted = by_numbers.counted(kind, step)
    fixed, leaf = kind.arrays(fixed_entries(step.leaf, step.before)), unwrapped(step.leaf)
    after = kind.arrays(step.after)
    for d, (own, _) in enumerate(counted):
        sd = np.sqrt(after["var"][:, d])
        mean = _mean(own, sd)
        spread = [_spread(counted, leaf, d, k, after["mean"], _ridge(step.leaf), float(sd[k])) for k in range(len(sd))]
        values = np.array([value for _, value in spread])
        yield {
            "mean": mean._replace(values=np.where(fixed["mean"][:, d], np.nan, mean.values)),
            "sd": Estimate([text for text, _ in spread], np.where(fixed["var"][:, d], np.nan, values)),
        }


def _mean(own: dict[Any, Floats], sd: Floats) -> Estimate:
    """Return sum / mass; a prior does not move it."""
    mass = own["mass"]
    values = np.divide(own["sum"], mass, out=np.full_like(mass, np.nan), where=mass > 0)
    parts = zip(own["sum"].tolist(), mass.tolist(), sd.tolist(), strict=True)
    texts = [f"{beside(total, unit * count)} / {figure(count)}" if count > 0 else "" for total, count, unit in parts]
    return Estimate(texts, values)


def _spread(counted: Counted, leaf: Leaf, d: int, k: int, mean: Floats, ridge: float, sd: float) -> tuple[str, float]:
    """Return sqrt(squares / mass) in figures, and its value; over all columns, or components, that share a variance."""
    shared = [(e, k) for e in range(len(counted))] if isinstance(leaf, Spherical) else [(d, k)]
    if isinstance(leaf, Normal) and leaf.tied:
        shared = [(d, j) for j in range(len(mean))]
    squares, masses = [], []
    for e, j in shared:
        for part in counted[e]:
            squares.append(_term(part["squares"][j]))
            masses.append(_term(part["mass"][j]))
        squares.append(_off(counted[e][0], j, float(mean[j, e]), sd))
    top, bottom = (sum(term.value for term in terms) for terms in (squares, masses))
    if bottom <= 0:
        return "", np.nan
    text = ratio(squares, masses) + (f" + {figure(ridge)}" if ridge else "")
    return f"sqrt({text})", float(np.sqrt(top / bottom + ridge))


def _term(value: float) -> Term:
    return Term(figure(float(value)), float(value))


def _off(own: dict[Any, Floats], k: int, mean: float, sd: float) -> Term:
    """Return what squares about a mean that is fixed have more than those about the mean of the rows."""
    mass = float(own["mass"][k])
    best = float(own["sum"][k]) / mass if mass > 0 else mean
    if abs(best - mean) <= SAME * max(sd, abs(mean)):
        return Term("0", 0.0)
    text = minus(beside(best, sd), beside(mean, sd))
    return Term(f"{figure(mass)} × ({text})^2", mass * (best - mean) ** 2)


def _ridge(leaf: Leaf) -> float:
    """Return what is added to variances."""
    found = 0.0
    while isinstance(leaf, Wrapped):
        found += leaf.amount if isinstance(leaf, Ridged) else 0.0
        leaf = leaf.leaf
    return found
