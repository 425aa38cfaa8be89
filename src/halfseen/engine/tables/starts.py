"""Starting parameters of EM. Every start breaks the symmetry between components; none depends on the order of the rows.

`mixed`        `rows` and `parameters` in turn: neither is best for every table (default)
`rows`         each component begins at a row drawn at random, blended with the whole table
`spread`       the same, but each next row is drawn among those that the rows so far explain badly (k-means++-like)
`parameters`   the whole table's parameters, moved at random; no row is used
`posteriors`   random responsibilities
`kmeans`       the clusters of a k-means run, for columns of numbers
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from halfseen.assign import SOFT
from halfseen.data.rows import Rows
from halfseen.engine.loop.expected import Expected
from halfseen.engine.loop.model import Chunk, Model, Reduced
from halfseen.engine.tables import lloyd, seeding
from halfseen.errors import ParameterError
from halfseen.leaves.leaf import Floats, Leaf, Stats, frozen, map_arrays, n_rows
from halfseen.leaves.limits import Params
from halfseen.seeds import child
from halfseen.sums import Parts

BLEND = 0.5  # rows of the whole table added to the one row that a component begins at
SWEEPS = lloyd.Plan(tol=1e-4, max_iter=100)  # of k-means: a start needs no more
LABELLED_SWEEPS = 20  # EM iterations over the labelled rows only, which are few
STRENGTH = 1.0  # how far the random parameters lie from the table's own, in standard deviations or log-units


class Whole(NamedTuple):
    """The whole table seen as one component, repeated.

    Attributes
    ----------
    params : parameters of the emission leaf, alike in all components
    row : statistics of one average row in each component, stated under `params`
    """

    params: Params
    row: Stats


def whole(leaf: Leaf, table: Rows) -> Whole:
    """Fit the emission leaf with every row in every component, and its prior: a declared level may have no row."""
    blank = leaf.blank()
    stats, total = table.total(partial(_together, leaf=leaf, prepared=leaf.prepare(blank)))
    stats = leaf.pool(stats, np.zeros(leaf.n_components, dtype=np.int64))  # all have what the first one has
    pseudo = leaf.prior(blank)
    stats = stats if pseudo is None else stats + pseudo
    params = leaf.maximise(stats, blank)
    return Whole(params, leaf.recentre(stats / max(total, 1e-300), blank, params))


def _together(chunk: Chunk, leaf: Leaf, prepared: Any) -> Parts:
    """Return the statistics of a chunk with all rows in the first component, and the weight of its rows."""
    stats = np.zeros(leaf.stats_shape)
    leaf.count(np.zeros(len(chunk.weight), dtype=np.int64), chunk.weight, prepared, chunk.blocks, stats)
    return Parts((stats, float(chunk.weight.sum())))


class Start(NamedTuple):
    """What a start is made from: the rows, and some of them, `sample`."""

    model: Model
    whole: Whole
    table: Rows
    sample: Chunk

    @classmethod
    def of(cls, model: Model, table: Rows) -> Start:
        """Return what starts of a model over a table are made from."""
        return cls(model, whole(model.leaves["emit"], table), table, table.first())

    @property
    def leaf(self) -> Leaf:
        """The emission leaf."""
        return self.model.leaves["emit"]

    def from_rows(self, picked: Any) -> Params:
        """Return emission parameters with component k at row k of `picked`, blended with the whole table."""
        stats = BLEND * self.whole.row
        prepared = self.leaf.prepare(self.whole.params)
        self.leaf.expect(np.eye(n_rows(picked)), prepared, picked, SOFT, stats)
        return self.leaf.maximise(stats, self.whole.params)


def rows(start: Start, rng: np.random.Generator) -> Params:
    """Start at rows drawn by weight."""
    chunk = start.sample
    n_components = start.leaf.n_components
    enough = np.count_nonzero(chunk.weight) >= n_components
    chances = chunk.weight / chunk.weight.sum()
    picked = rng.choice(len(chances), n_components, replace=not enough, p=chances)
    params = start.from_rows(pick(chunk.blocks, picked))
    return params if enough else start.leaf.jitter(params, STRENGTH, rng)


def spread(start: Start, rng: np.random.Generator) -> Params:
    """Start at rows each of which has a low likelihood under those before (as in k-means++)."""
    chunk = start.sample
    n_components = start.leaf.n_components
    plain = start.leaf.score(start.leaf.prepare(start.whole.params), chunk.blocks, SOFT)[:, 0]
    picked = [int(rng.choice(len(chunk.weight), p=chunk.weight / chunk.weight.sum()))]
    while len(picked) < n_components:
        tried = np.array(picked + [picked[-1]] * (n_components - len(picked)))
        explained = start.leaf.score(
            start.leaf.prepare(start.from_rows(pick(chunk.blocks, tried))), chunk.blocks, SOFT
        ).max(axis=1)
        deficit = chunk.weight * np.maximum(plain - explained, 0.0)
        if not deficit.sum() > 0:  # every row is as well explained as by the whole table: any row will do
            deficit = chunk.weight
        picked.append(int(rng.choice(len(deficit), p=deficit / deficit.sum())))
    params = start.from_rows(pick(chunk.blocks, np.array(picked)))
    return params if len(set(picked)) == n_components else start.leaf.jitter(params, STRENGTH, rng)


def parameters(start: Start, rng: np.random.Generator) -> Params:
    """Start at random parameters around those of the whole table."""
    return start.leaf.jitter(start.whole.params, STRENGTH, rng)


def posteriors(start: Start, rng: np.random.Generator) -> Params:
    """Start with random responsibilities, Dirichlet(1, ..., 1) for each row."""
    leaf = start.leaf
    prepared = leaf.prepare(start.whole.params)
    seed = np.random.SeedSequence(rng.integers(2**63, size=2).tolist())
    stats = start.table.total(partial(_at_random, leaf=leaf, prepared=prepared, seed=seed))
    pseudo = leaf.prior(start.whole.params)
    return leaf.maximise(stats if pseudo is None else stats + pseudo, start.whole.params)


def _at_random(chunk: Chunk, leaf: Leaf, prepared: Any, seed: np.random.SeedSequence) -> Stats:
    """Return the statistics of a chunk with random responsibilities, drawn by a generator of its own."""
    stats = np.zeros(leaf.stats_shape)
    rng = np.random.default_rng(child(seed, chunk.index))
    resp = rng.standard_exponential((len(chunk.weight), leaf.n_components))
    leaf.expect(resp * (chunk.weight / resp.sum(axis=1))[:, None], prepared, chunk.blocks, SOFT, stats)
    return stats


def kmeans(start: Start, rng: np.random.Generator) -> Params:
    """Start at the clusters of k-means, with every column in units of its standard deviation.

    Rows are those of the sample; each component has the statistics of one cluster and of half a
    row of the whole table.
    """
    chunk, n_components = start.sample, start.leaf.n_components
    blocks = list(chunk.blocks.values())
    if any(block.dtype.kind != "f" for block in blocks):
        raise ParameterError("a start by 'kmeans' needs columns of numbers; some have categories. Use 'spread'.")
    cells = _standardised(np.concatenate(blocks, axis=1), chunk.weight)
    rows = lloyd.Rows(cells, chunk.weight, np.zeros(cells.shape[1]))
    held = lloyd.Held(rows)
    lloyd.Run(held, seeding.spread(rows, n_components, rng), variance=1.0).advance(SWEEPS, SWEEPS.max_iter)
    stats = BLEND * start.whole.row
    usage = np.eye(n_components)[held.labels] * chunk.weight[:, None]
    start.leaf.expect(usage, start.leaf.prepare(start.whole.params), chunk.blocks, SOFT, stats)
    return start.leaf.maximise(stats, start.whole.params)


def _standardised(cells: Floats, weight: Floats) -> Floats:
    """Return columns less their means, in standard deviations; NaN stays."""
    seen = ~np.isnan(cells)
    mass = np.maximum(weight @ seen, 1e-300)
    cells = cells - (weight @ np.where(seen, cells, 0.0)) / mass
    spread = np.sqrt((weight @ np.where(seen, cells, 0.0) ** 2) / mass)
    return np.ascontiguousarray(cells / np.where(spread > 0, spread, 1.0))


def from_known(start: Start, data: Reduced, params: Params) -> Params:
    """Return emission parameters in which components with labelled rows are estimated from these rows."""
    if data.known is None:
        return params
    known = start.model.view(data.known.stats)
    stats = start.leaf.recentre(known["emit"], data.about["emit"], start.whole.params) + start.whole.row
    estimated = start.leaf.maximise(stats, start.whole.params)
    labelled = known["mix"][0] > 0

    def choose(first: Floats, second: Floats) -> Floats:
        return frozen(np.where(labelled.reshape(-1, *[1] * (first.ndim - 1)), first, second))

    return map_arrays(choose, estimated, params)


def from_labelled(start: Start, labelled: Sequence[Chunk], params: Params) -> Params:
    """Return parameters after some EM iterations over the labelled rows only: components then belong to classes.

    Without this, many unlabelled rows would lead components away from their class.
    """
    model = start.model
    for _ in range(LABELLED_SWEEPS):
        about, prepared = params, model.prepare(params)
        stats = np.zeros(model.stats_shape)
        for chunk in labelled:
            stats += model.expected(prepared, chunk, SOFT).stats
        pseudo = model.prior(about)
        params = model.maximise(stats if pseudo is None else stats + pseudo, about)
    emit = from_known(start, Reduced([], Expected(stats, 0.0), about), params["emit"])
    return {"mix": model.leaves["mix"].blank(), "emit": emit}


def mixed(start: Start, rng: np.random.Generator) -> Params:
    """Start at rows or at random parameters, with equal chances."""
    return rows(start, rng) if rng.random() < 0.5 else parameters(start, rng)


def split(model: Model, smaller: Params, rng: np.random.Generator) -> Params:
    """Return a start from the solution with one component less: a component, drawn by weight, becomes two."""
    weights = smaller["mix"][0]
    parent = int(rng.choice(len(weights), p=weights / weights.sum()))
    order = np.append(np.arange(len(weights)), parent)
    mix = weights[order] * np.where(order == parent, 0.5, 1.0)
    emit = model.leaves["emit"].take(smaller["emit"], order)
    moved = model.leaves["emit"].jitter(emit, STRENGTH, rng)
    last = order.size - 1

    def choose(old: Floats, new: Floats) -> Floats:
        return frozen(np.concatenate([old[:last], new[last:]]))

    return {"mix": frozen(mix[None]), "emit": map_arrays(choose, emit, moved)}


STARTS: dict[str, Callable[[Start, np.random.Generator], Params]] = {
    "mixed": mixed,
    "rows": rows,
    "spread": spread,
    "parameters": parameters,
    "posteriors": posteriors,
    "kmeans": kmeans,
}


def pick(data: Any, picked: NDArray[np.int64]) -> Any:
    """Return the given rows of every block."""
    return {name: block[picked] for name, block in data.items()}
