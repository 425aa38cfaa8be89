"""Bayesian networks over a table: rows are split into cases, fully observed families are counted once.

- *component*: unobserved variables of a row that are connected through shared families.
- *case*: a component with the observed values around it; equal cases of all rows are merged.
- *soft evidence*: likelihoods of the states of some variables; a table of one variable whose cells are never updated.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from halfseen.assign import SOFT
from halfseen.engine.loop.expected import Expected
from halfseen.engine.loop.model import Model, Reduced
from halfseen.families.network.fused import FusedNetwork
from halfseen.leaves.leaf import Floats
from halfseen.leaves.limits import Params
from halfseen.structures.elimination import Scheme, Space, scheme
from halfseen.structures.graph import Graph
from halfseen.structures.network import Cases, Network, best, draw, soft

Ints = NDArray[np.int64]
Codes = NDArray[np.signedinteger]

WORK = 1 << 18  # look-ups in a chunk: a millisecond
POSTERIOR = 1 << 22  # numbers in the posteriors computed together: 32 MB


class BayesianNetwork(Model):
    """A model over the structure `Network`, with the one leaf `tables` (1, S)."""

    structure: Network


@dataclass(frozen=True, eq=False)
class NetworkChunk:
    """Some cases, the unit of work of the engine, and their number of look-ups."""

    index: int
    blocks: Cases
    weight: Floats
    work: int
    log_evidence: None = None


class Likelihoods(NamedTuple):
    """Soft evidence on one variable: distinct rows of log-likelihoods (P, states), and the index of each row."""

    patterns: Floats
    index: Ints  # type: ignore[assignment]


class Component(NamedTuple):
    """The cases of one component.

    Attributes
    ----------
    scheme : how to sum over it
    base : (n, F) array       observed values around each case
    rows, case : (M,) arrays  the rows that have the component, and the case of each
    """

    scheme: Scheme
    base: Ints
    rows: Ints
    case: Ints


class Split(NamedTuple):
    """Rows of codes (N, V), -1 unobserved, split into cases.

    Attributes
    ----------
    graph : Graph
    components : list of Component
    soft : logs of the likelihoods of soft evidence, one table after the other
    softened : the variable of each of these tables
    """

    graph: Graph
    components: list[Component]
    soft: Floats
    softened: tuple[int, ...]
    codes: Codes

    def cases(self, some: Sequence[Component] | None = None) -> Cases:
        """Return all cases, or those of some components."""
        return Cases.packed([(one.scheme, one.base) for one in (self.components if some is None else some)], self.soft)

    def observed_cells(self, v: int) -> tuple[Ints, Ints]:
        """Return the rows in which a family is fully observed, and the cell of each."""
        return observed_cells(self.graph, self.codes, v)


def observed_cells(graph: Graph, codes: Codes, v: int) -> tuple[Ints, Ints]:
    """Return the rows of codes (N, V) in which a family is fully observed, and the cell of each."""
    rows = np.flatnonzero((codes[:, list(graph.members[v])] >= 0).all(axis=1))
    return rows, graph.cells(v, codes[rows])


def placed(graph: Graph, names: Sequence[str], codes: Codes) -> Ints:
    """Return the codes of some variables, (N, D), as codes (N, V) of all; -1 where there is no column."""
    found = np.full((len(codes), len(graph)), -1, dtype=np.int64)
    found[:, [graph.names.index(name) for name in names]] = codes
    return found


def split(graph: Graph, codes: Codes, likelihoods: Mapping[int, Likelihoods] | None = None) -> Split:
    """Split rows into components of unobserved variables and merge equal cases."""
    likelihoods = {} if likelihoods is None else dict(sorted(likelihoods.items()))
    space = Space.of(graph, likelihoods)
    offsets = _offsets(graph, likelihoods)
    tables = _tables_of(graph, likelihoods)
    found = []
    for variables, rows in _components(graph, codes):
        own = sorted({table for v in variables for table in tables[v]})
        base = np.empty((len(rows), len(own)), dtype=np.int64)
        for slot, table in enumerate(own):
            base[:, slot] = offsets[table]
            for member, stride in space.strides[table].items():
                if member not in variables:
                    base[:, slot] += stride * codes[rows, member].astype(np.int64)
            if table >= len(graph):
                v = next(iter(space.strides[table]))
                base[:, slot] += graph.cards[v] * likelihoods[v].index[rows]
        merged, case = distinct(base)
        found.append(Component(scheme(space, variables, own), merged, rows, case))
    flat = [np.ravel(one.patterns) for one in likelihoods.values()]
    return Split(graph, found, np.concatenate([np.zeros(0), *flat]), tuple(likelihoods), codes)


def _offsets(graph: Graph, likelihoods: Mapping[int, Likelihoods]) -> list[int]:
    found = graph.offsets[:-1].tolist()
    at = graph.n_cells
    for one in likelihoods.values():
        found.append(at)
        at += one.patterns.size
    return found


def _tables_of(graph: Graph, soft: Mapping[int, Any]) -> list[set[int]]:
    """Return the tables that contain each variable."""
    found = [{v, *graph.children[v]} for v in range(len(graph))]
    for place, v in enumerate(soft):
        found[v].add(len(graph) + place)
    return found


def _components(graph: Graph, codes: Codes) -> Iterator[tuple[tuple[int, ...], Ints]]:
    """Yield components of unobserved variables, each with the rows that have it."""
    masks, which = distinct(np.packbits(codes < 0, axis=1))
    hidden = np.unpackbits(masks, axis=1, count=len(graph)).astype(bool)
    label = _labels(graph, hidden)
    sets, owners = [], []
    for root in range(len(graph)):
        own = np.flatnonzero(label[:, root] == root)
        sets.append(np.packbits(label[own] == root, axis=1))
        owners.append(own)
    if not len(sets):
        return
    merged, number = distinct(np.concatenate(sets))
    mask = np.concatenate(owners)
    order = np.argsort(number, kind="stable")
    bounds = np.searchsorted(number[order], np.arange(len(merged) + 1))
    by_mask = np.argsort(which, kind="stable")
    ends = np.searchsorted(which[by_mask], np.arange(len(masks) + 1))
    members = np.unpackbits(merged, axis=1, count=len(graph)).astype(bool)
    for k in range(len(merged)):
        own = mask[order[bounds[k] : bounds[k + 1]]]
        rows = np.concatenate([by_mask[ends[m] : ends[m + 1]] for m in own])
        yield tuple(np.flatnonzero(members[k]).tolist()), np.sort(rows)


def _labels(graph: Graph, hidden: NDArray[np.bool_]) -> Ints:
    """Return for each unobserved variable (M, V) the first variable of its component; V for observed ones."""
    n = len(graph)
    label = np.where(hidden, np.arange(n), n)
    families = [list(members) for members in graph.members if len(members) > 1]
    while True:
        before = label.copy()
        for members in [*families, *reversed(families)]:
            first = label[:, members].min(axis=1, keepdims=True)
            label[:, members] = np.where(hidden[:, members], first, n)
        if (label == before).all():
            return label


def distinct(rows: NDArray[Any]) -> tuple[NDArray[Any], Ints]:
    """Return distinct rows, sorted, and the index of each row."""
    if rows.shape[1] == 0 or len(rows) == 0:
        return rows[:1], np.zeros(len(rows), dtype=np.int64)
    if rows.dtype == np.uint8 or rows.shape[1] > 1:
        keys = np.ascontiguousarray(rows).view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1]))).ravel()
    else:
        keys = rows[:, 0]
    _, first, number = np.unique(keys, return_index=True, return_inverse=True)
    return rows[first], number.ravel().astype(np.int64)


def reduce_network(model: BayesianNetwork, graph: Graph, found: Split, weight: Floats) -> Reduced:
    """Return chunks of merged cases, and the counts of families that are fully observed."""
    known = Expected(observed_counts(graph, found.codes, weight), 0.0)
    return Reduced(case_chunks(found, weight), known, model.blank(), FusedNetwork(graph.n_cells, found.soft))


def observed_counts(graph: Graph, codes: Codes, weight: Floats) -> Floats:
    """Return the counts of families that are fully observed, of all cells."""
    known = np.zeros(graph.n_cells)
    for v in range(len(graph)):
        rows, cells = observed_cells(graph, codes, v)
        known += np.bincount(cells, weight[rows], minlength=graph.n_cells)
    return known


def case_chunks(found: Split, weight: Floats, first: int = 0) -> list[NetworkChunk]:
    """Return chunks of merged cases, numbered from `first`."""
    chunks: list[NetworkChunk] = []
    waiting: list[tuple[Scheme, Ints]] = []
    masses: list[Floats] = []
    work = 0

    def finish() -> None:
        nonlocal work
        if waiting:
            cases = Cases.packed(waiting, found.soft)
            chunks.append(NetworkChunk(first + len(chunks), cases, np.concatenate(masses), work))
            waiting.clear()
            masses.clear()
            work = 0

    for one in found.components:
        mass = np.bincount(one.case, weight[one.rows], minlength=len(one.base)).astype(np.float64, copy=False)
        size = max(1, WORK // one.scheme.work)
        for start in range(0, len(one.base), size):
            waiting.append((one.scheme, one.base[start : start + size]))
            masses.append(mass[start : start + size])
            work += one.scheme.work * len(masses[-1])
            if work >= WORK:
                finish()
    finish()
    return chunks


def most_workers(data: Reduced) -> int:
    """Return how many workers get at least one full chunk; smaller shares cost more to schedule than to compute."""
    if not isinstance(data.chunks, list):  # those who hold the rows work
        return 1
    return sum(chunk.work for chunk in data.chunks if isinstance(chunk, NetworkChunk)) // WORK


# ---- results by row ----------------------------------------------------------------------------------------------


def log_table(model: BayesianNetwork, params: Params, found: Split) -> Floats:
    """Return the logs of all cells, those of soft evidence after those of the tables."""
    scores = model.leaves["tables"].score(model.leaves["tables"].prepare(params["tables"]), None, SOFT)
    return np.concatenate([scores[0], found.soft])


def logliks(table: Floats, found: Split) -> Floats:
    """Return the log-probability of the observed values of each row."""
    total = np.zeros(len(found.codes))
    for v in range(len(found.graph)):
        rows, cells = found.observed_cells(v)
        total[rows] += table[cells]
    for one in found.components:
        cases = found.cases([one])
        total[one.rows] += soft(table, cases, np.zeros(cases.n_cases))[1][one.case]
    return total


def completed(table: Floats, found: Split, rng: np.random.Generator | None = None) -> tuple[Codes, Floats]:
    """Return codes with every unobserved variable filled in, and the log-probability of each row.

    Without `rng` the most probable joint state and its joint probability with the observed values; with `rng` a joint
    draw, and the probability of the observed values. Rows are drawn independently.
    """
    codes = np.array(found.codes, dtype=np.int64)
    total = np.zeros(len(codes))
    for v in range(len(found.graph)):
        rows, observed = found.observed_cells(v)
        total[rows] += table[observed]
    for one in found.components:
        base = one.base if rng is None else one.base[one.case]
        own = Cases.packed([(one.scheme, base)], found.soft)
        cells, logs = best(table, own) if rng is None else draw(table, own, rng)
        chosen = cells.reshape(len(base), -1)
        if rng is None:
            chosen, logs = chosen[one.case], logs[one.case]
        total[one.rows] += logs
        for v in one.scheme.variables:
            slot = one.scheme.families.index(v)
            codes[one.rows, v] = (chosen[:, slot] - found.graph.offsets[v]) % found.graph.cards[v]
    return codes, total


def marginals(table: Floats, found: Split, v: int) -> Floats:
    """Return the posterior probabilities of the states of a variable in each row, (N, states); 0 and 1 where observed.

    NaN in rows that are impossible.
    """
    out = np.zeros((len(found.codes), found.graph.cards[v]))
    seen = np.flatnonzero(found.codes[:, v] >= 0)
    out[seen, found.codes[seen, v]] = 1.0
    for one in found.components:
        if v in one.scheme.variables:
            out[one.rows] = posterior(table, found, one, [v])[one.case]
    return out


def posterior(table: Floats, found: Split, one: Component, targets: Sequence[int]) -> Floats:
    """Return the joint posterior of some variables of a component in every case, (n, states of all targets).

    Each case gets its own table of ones over the targets: its usage (expected counts) is the posterior of that case.
    """
    cards = [found.graph.cards[v] for v in targets]
    size, n_cases = int(np.prod(cards)), len(one.base)
    steps = np.cumprod([1, *reversed(cards)])[-2::-1].tolist()
    space = Space.of(found.graph, found.softened)
    space = space._replace(strides=[*space.strides, dict(zip(targets, steps, strict=True))])
    own = scheme(space, one.scheme.variables, [*one.scheme.families, len(space.strides) - 1])
    out = np.empty((n_cases, size))
    block = max(1, POSTERIOR // (size + own.n_entries))
    for start in range(0, n_cases, block):
        part = one.base[start : start + block]
        base = np.column_stack([part, len(table) + size * np.arange(len(part))])
        wide = np.concatenate([table, np.zeros(size * len(part))])
        cases = Cases.packed([(own, base)], np.zeros(0))
        counts, log_evidence = soft(wide, cases, np.ones(len(part)))
        usage = counts[len(table) :].reshape(len(part), size)
        usage[~np.isfinite(log_evidence)] = np.nan
        out[start : start + block] = usage / usage.sum(axis=1, keepdims=True)
    return out
