"""How a kind of column shows its arithmetic, for EM number by number: what works for every kind.

The densities are the leaf's own scores, the statistics its own: nothing is computed a second time in another way.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from halfseen.assign import SOFT
from halfseen.kinds.arithmetic import figure, plus
from halfseen.kinds.records import Addends, Density, Estimate, Fitted, MStep
from halfseen.leaves.leaf import Floats, Leaf
from halfseen.leaves.wrappers import unwrapped

if TYPE_CHECKING:
    from halfseen.kinds.kind import Kind

AGREE = 1e-9  # relative: a formula and the parameter differ by rounding only


def cell_densities(kind: Kind, fitted: Fitted, cells: Any, classes: Sequence[str]) -> list[list[Density]]:
    """Return the density of every observed cell of every row: the score of the row with all other cells hidden."""
    block, prepared = fitted.block, fitted.leaf.prepare(fitted.params)
    missing, width = kind.missing(block, cells), len(block.members)
    found: list[list[Density]] = [[] for _ in range(len(cells))]
    given = [_by_class(values, len(classes)) for values in kind.named(block, fitted.params)]
    for d, column in enumerate(block.columns):
        others = np.broadcast_to(np.arange(width) != d, missing.shape)
        logs = fitted.leaf.score(prepared, kind.hide(cells, others), SOFT)
        values = kind.decode(column, cells[:, d])
        for n in np.flatnonzero(~missing[:, d]).tolist():
            names = [kind.density(column, values[n], *own) for own in zip(given[d], classes, strict=True)]
            found[n].append(Density(block.members[d], names, logs[n]))
    return found


def _by_class(values: dict[Any, Floats], n_components: int) -> list[dict[Any, float]]:
    return [{name: float(numbers[k]) for name, numbers in values.items()} for k in range(n_components)]


def unit_stats(leaf: Leaf, params: Any, cells: Any) -> list[Floats]:
    """Return the statistics of each row alone, counted once in every component."""
    prepared, found = leaf.prepare(params), []
    for n in range(len(cells)):
        own = np.zeros(leaf.stats_shape)
        leaf.expect(np.ones((1, leaf.n_components)), prepared, cells[n : n + 1], SOFT, own)
        found.append(own)
    return found


def addends(kind: Kind, fitted: Fitted, cells: Any) -> Iterator[dict[Any, Addends]]:
    """Yield what each row adds to the statistics of each column, by name."""
    block, leaf = fitted.block, fitted.leaf
    rows = [list(kind.counted(block, leaf, own, fitted.params)) for own in unit_stats(leaf, fitted.params, cells)]
    for d in range(len(block.members)):
        yield {name: in_figures(np.stack([row[d][name] for row in rows])) for name in rows[0][d]}


def in_figures(values: Floats) -> Addends:
    """Return numbers as addends that are what they are."""
    return Addends(values, [[figure(value) for value in row] for row in values.tolist()])


def counted(kind: Kind, step: MStep) -> list[tuple[dict[Any, Floats], dict[Any, Floats]]]:
    """Return the statistics of each column by name: expected ones, and those that the prior adds."""
    leaf = unwrapped(step.leaf)
    own = list(kind.counted(step.block, leaf, step.stats, step.before))
    if step.pseudo is None:
        return [(values, {name: np.zeros_like(numbers) for name, numbers in values.items()}) for values in own]
    return list(zip(own, kind.counted(step.block, leaf, step.pseudo, step.before), strict=True))


def quotient(top: tuple[Floats, Floats], bottom: tuple[Floats, Floats]) -> Estimate:
    """Return a ratio of statistics, given with what the prior adds to each, (K,)."""
    above, below = top[0] + top[1], bottom[0] + bottom[1]
    values = np.divide(above, below, out=np.full_like(above, np.nan), where=below > 0)
    texts = [
        f"{plus(top[0][k], top[1][k])} / {plus(bottom[0][k], bottom[1][k])}" if below[k] > 0 else ""
        for k in range(len(values))
    ]
    return Estimate(texts, values)


def shares_of_counts(
    own: Mapping[Any, Floats], pseudo: Mapping[Any, Floats], fixed: Mapping[Any, Any], before: Mapping[Any, Floats]
) -> dict[Any, Estimate]:
    """Return each category's share of the counts of those that are free, times what fixed ones leave; NaN if fixed."""
    if not own:
        return {}
    free = {value: ~np.asarray(held) for value, held in fixed.items()}
    bottom, more = (np.sum([np.where(free[value], counts[value], 0.0) for value in own], 0) for counts in (own, pseudo))
    held = np.sum([np.where(free[value], 0.0, before[value]) for value in own], 0)
    found = {}
    for value in own:
        plain = quotient((own[value], pseudo[value]), (bottom, more))
        texts = [
            "" if not text else f"(1 - {figure(kept)}) × {text}" if kept else text
            for text, kept in zip(plain.texts, held.tolist(), strict=True)
        ]
        texts = [text if moves else "fixed" for text, moves in zip(texts, free[value].tolist(), strict=True)]
        found[value] = Estimate(texts, np.where(free[value], plain.values * (1 - held), np.nan))
    return found


def ratio_of_first_two(kind: Kind, step: MStep) -> Iterator[dict[Any, Estimate]]:
    """Yield the second statistic over the first, such as events / mass, for kinds whose one parameter that is."""
    if len(kind.parameters) != 1 or len(kind.statistics) < 2:
        yield from ({} for _ in step.block.members)
        return
    [name], (mass, events) = kind.parameters, kind.statistics[:2]
    leaf = unwrapped(step.leaf)
    free = leaf.maximise(step.stats if step.pseudo is None else step.stats + step.pseudo, step.before)
    for (own, pseudo), params in zip(counted(kind, step), kind.named(step.block, free), strict=True):
        found = quotient((own[events], pseudo[events]), (own[mass], pseudo[mass]))
        known = ~np.isnan(found.values)
        agrees = np.allclose(found.values[known], params[name][known], rtol=AGREE, atol=0)
        yield {name: found} if agrees else {}
