"""Data as inference reads them: for passes over all of them, and unit by unit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halfseen.data import Table
from halfseen.engine.loop.em import evaluate
from halfseen.engine.loop.model import Chunk, Model, Reduced
from halfseen.engine.tables.mixture import Mixture
from halfseen.engine.tables.preprocess import reduce
from halfseen.engine.tables.row_slopes import CELLS, row_slopes
from halfseen.leaves.leaf import Floats
from halfseen.leaves.limits import Params

Scores = Iterator[Floats]


@dataclass(frozen=True)
class Observed:
    """Data that a model is judged on: distinct units (rows, sequences, sentences) and how often each occurs.

    Attributes
    ----------
    data : Reduced           all units, for passes
    weight : (M,) array      of each distinct unit
    scores : callable        slopes of the log-likelihoods of all distinct units under given parameters, some at a time
    place : (N,) array       which distinct unit each given one is; -1 where it carries no information
    given : (N,) array       weight of each given unit
    rows : callable or None  of a mixture over a table: its rows, in chunks of a given size
    """

    data: Reduced
    weight: Floats
    scores: Callable[[Params], Scores]
    place: NDArray[np.intp]
    given: Floats
    rows: Callable[[int], Sequence[Chunk]] | None = None

    @property
    def n_units(self) -> float:
        """Their number, weighted."""
        return float(self.weight.sum())


def observed_rows(model: Mixture, table: Table, apart: bool = False) -> Observed:
    """Return the rows of a table: equal ones merged, which forgets their places; or `apart`, with their places."""
    used = np.flatnonzero(~table.blank & (table.weight > 0))
    if not len(used):
        return Observed(Reduced([]), np.zeros(0), lambda params: iter(()), np.full(table.n_rows, -1), table.weight)
    seen = table.take(used)
    place = np.full(table.n_rows, -1, dtype=np.intp)
    if apart:
        place[used] = np.arange(len(used))
    rows = seen if apart else seen.canonical()

    def scores(params: Params) -> Scores:
        prepared = model.prepare(params)
        size = len(model.free(params))
        for chunk in rows.chunks(max(CELLS // size, 1)):
            found = row_slopes(model, params, prepared, chunk)
            yield _one_by_one(model, params, prepared, chunk) if found is None else found.scores(size)

    merged = seen.canonical() if apart else rows
    return Observed(reduce(model, merged), np.asarray(rows.weight), scores, place, table.weight, rows.chunks)


def _one_by_one(model: Mixture, params: Params, prepared: Any, chunk: Any) -> Floats:
    """Return the scores of the rows of a chunk from the statistics of each."""
    found = []
    for n in range(chunk.n_rows):
        row = slice(n, n + 1)
        evidence = None if chunk.evidence is None else chunk.evidence.take(row)
        blocks = {name: block[row] for name, block in chunk.blocks.items()}
        one = replace(chunk, blocks=blocks, weight=np.ones(1), evidence=evidence)
        found.append(model.slope(model.expected(prepared, one).stats, params))
    return np.array(found)


def observed_units(
    model: Model, data: Reduced, unit: Callable[[int], Reduced], weight: Floats, place: NDArray[np.intp], given: Floats
) -> Observed:
    """Return units that are each reduced on their own, by `unit(m)` and with weight 1: sequences, cases, sentences."""

    def scores(params: Params) -> Scores:
        for m in range(len(weight)):
            [step] = evaluate(model, unit(m), [params])
            yield model.slope(step.expected.stats, params)[None]

    return Observed(data, weight, scores, place, given)
