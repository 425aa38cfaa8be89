"""Data as inference reads them: for passes over all of them, and unit by unit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from halfseen.data import Table
from halfseen.engine.loop.em import evaluate
from halfseen.engine.loop.model import Model, Reduced
from halfseen.engine.tables.preprocess import reduce
from halfseen.leaves.leaf import Stats
from halfseen.leaves.limits import Params

Units = Iterator[tuple[float, Stats]]


@dataclass(frozen=True)
class Observed:
    """Data that a model is judged on.

    Attributes
    ----------
    data : Reduced           all units, for passes
    each : callable          weight and soft statistics, under given parameters, of every unit
    n_units : float          their number, weighted
    """

    data: Reduced
    each: Callable[[Params], Units]
    n_units: float


def observed_rows(model: Any, table: Table) -> Observed:
    """Return the rows of a table, equal ones merged."""
    seen = table.seen()
    if seen is None or not seen.n_rows:
        return Observed(Reduced([]), lambda params: iter(()), 0.0)
    merged = seen.canonical()

    def each(params: Params) -> Units:
        prepared = model.prepare(params)
        for chunk in merged.chunks():
            for n in range(chunk.n_rows):
                row = slice(n, n + 1)
                evidence = None if chunk.evidence is None else chunk.evidence.take(row)
                blocks = {name: block[row] for name, block in chunk.blocks.items()}
                one = replace(chunk, blocks=blocks, weight=np.ones(1), evidence=evidence)
                yield float(chunk.weight[n]), model.expected(prepared, one).stats

    return Observed(reduce(model, merged), each, merged.mass)


def observed_units(model: Model, data: Reduced, units: Iterable[tuple[float, Reduced]], n_units: float) -> Observed:
    """Return units that are each reduced on their own, with weight 1: sequences, cases, sentences."""
    listed = list(units)

    def each(params: Params) -> Units:
        for weight, unit in listed:
            [step] = evaluate(model, unit, [params])
            yield weight, step.expected.stats

    return Observed(data, each, n_units)
