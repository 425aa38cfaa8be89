"""Learning from rows that come in pieces: stepwise EM.

    mean <- (1 - rate) mean + rate stats / n      the mean statistics of a row, moved towards those of a small batch
    params = argmax of complete(n_rows mean)      as if all rows so far had looked like that

with rate = (k + 2) ** -0.6 at update k. Large batches are cut into small ones: a few hundred updates matter more than
exact ones (a batch of 1000 froze near the start, where ten of 100 did not).
"""

from __future__ import annotations

from typing import NamedTuple

from halfseen.assign import SOFT
from halfseen.data import Table
from halfseen.engine.loop.expected import Expected, Step
from halfseen.engine.loop.model import Model
from halfseen.errors import ParameterError
from halfseen.leaves.leaf import Stats
from halfseen.leaves.limits import Params

BATCH = 100  # rows in an update
ROWS = 5  # for each class in the first batch
POWER = 0.6  # how fast the rate falls; 1 forgets nothing and freezes near the start


class Running(NamedTuple):
    """What is carried from batch to batch.

    Attributes
    ----------
    stats : Stats         statistics as if of `n_rows` rows, stated about `params`
    params : Params
    n_rows : float        sum of the weights so far; every BATCH of them was an update
    """

    stats: Stats
    params: Params
    n_rows: float


def check_first(n_rows: int, n_components: int) -> None:
    """Refuse a first batch that is too small to tell classes apart."""
    needed = ROWS * n_components
    if n_rows < needed:
        raise ParameterError(
            f"partial_fit: the first batch has {n_rows} rows (n_samples={n_rows}); it must have at least {needed} to "
            f"tell {n_components} classes apart. Later batches may be of any size."
        )


def learn(model: Model, running: Running, table: Table, forget: float | None = None) -> Running:
    """Take in the rows of a table, in their order, a small batch at a time."""
    for first in range(0, table.n_rows, BATCH):
        running = _update(model, running, table.take(slice(first, first + BATCH)), forget)
    return running


def _update(model: Model, running: Running, batch: Table, forget: float | None) -> Running:
    weight = float(batch.weight.sum())
    if weight == 0:
        return running
    [chunk] = batch.chunks(BATCH)
    stats = model.expected(model.prepare(running.params), chunk, SOFT).stats
    share = min(weight / BATCH, 1.0)  # a batch of a few rows is a part of an update
    rate = share * ((running.n_rows / BATCH + 2) ** -POWER if forget is None else forget)
    n_rows = running.n_rows + weight
    mean = (1 - rate) * running.stats / running.n_rows + rate * stats / weight
    params = model.improved(Step(running.params, Expected(n_rows * mean, 0.0)))
    return Running(model.recentre(n_rows * mean, running.params, params), params, n_rows)
