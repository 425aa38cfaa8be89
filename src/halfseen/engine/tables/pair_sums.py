"""The missing information of a mixture over categories, from sums over pairs of cells.

A row is a cell in every observed column, so that the outer products of the gradients of all rows (`row_slopes`) are
sums over pairs of cells: with r[n, k] the responsibilities,

    pairs[s, t, (k, l)] = sum over rows n that hold the cells s and t of w[n] r[n, k] r[n, l]
    shares[k, l]        = sum_n w[n] r[n, k] r[n, l]

and the gradient of component k is onehot - probabilities[k] in every observed column: a linear map of the cells. This
is much less work than outer products of wide gradients. As sum_l r[n, l] = 1, sums over l have r[n, k] once.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial
from itertools import combinations_with_replacement, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halfseen.assign import SOFT
from halfseen.engine.loop.model import Chunk
from halfseen.engine.tables.groups import Groups
from halfseen.engine.tables.mixture import Mixture
from halfseen.kernels import active as kernels
from halfseen.leaves.categorical import Categorical
from halfseen.leaves.leaf import Floats, n_rows
from halfseen.leaves.limits import Params
from halfseen.leaves.product import Product
from halfseen.sums import Parts, Runner

GROUP = 32  # most combinations in a group of columns: the table of two groups stays in the cache
ROWS = 512  # at a time: their products of responsibilities stay in the cache
MOST = 1 << 24  # numbers in a table of pairs


def table_of(model: Mixture) -> tuple[str, Categorical] | None:
    """Return the one block of plain categories that a mixture has, if that is all it has."""
    emit = model.leaves["emit"]
    if not isinstance(emit, Product) or len(emit.leaves) != 1:
        return None
    [(name, leaf)] = emit.leaves.items()
    n_pairs = leaf.n_components * (leaf.n_components + 1) // 2
    if type(leaf) is not Categorical or leaf.stats_shape[1] ** 2 * n_pairs > MOST:
        return None
    return name, leaf


def pair_products(
    model: Mixture, params: Params, chunks: Sequence[Chunk], shares: Floats, run: Runner
) -> tuple[Floats, Floats] | None:
    """Return sum_n w sum_k r s s' and sum_n w s[n] s[n]', (P, P) each; None where the model is another one.

    `shares` are the gradients of the logs of the shares, (K, P of the shares).
    """
    found = table_of(model)
    if found is None:
        return None
    name, leaf = found
    task = partial(_sums, model=model, prepared=model.prepare(params), name=name, leaf=leaf)
    pairs, both = run.total(task, chunks)
    return _assembled(leaf, params["emit"][name], pairs, both, shares)


def _sums(chunk: Any, model: Mixture, prepared: Any, name: str, leaf: Categorical) -> Parts:
    first, second = np.triu_indices(leaf.n_components)
    outer = np.ones((n_rows(chunk.blocks), 1))
    resp = model.infer(prepared, chunk.blocks, outer, SOFT, chunk.log_evidence).usage["emit"]
    tables = _Tables(np.diff(leaf.offsets).tolist(), np.ascontiguousarray(chunk.blocks[name]), len(first))
    for start in range(0, len(resp), ROWS):
        part = slice(start, start + ROWS)
        own = resp[part]
        tables.add(part, own.take(first, axis=1) * (chunk.weight[part, None] * own).take(second, axis=1))
    return Parts((tables.by_cells(), resp.T @ (chunk.weight[:, None] * resp)))


class _Tables:
    """Sums over pairs of groups of columns: a quarter of the additions of pairs of columns, where groups have two."""

    def __init__(self, sizes: Sequence[int], codes: NDArray[Any], width: int) -> None:
        self.layout = _layout(tuple(sizes), tuple(bool((column < 0).any()) for column in codes.T), width)
        self.cells = self.layout.groups.cells(codes)
        self.sums = np.zeros((self.layout.size, width))

    def add(self, rows: slice, products: Floats) -> None:
        """Add products of responsibilities of some rows."""
        kernels.cell_pairs(self.cells[rows], self.layout.sizes, self.layout.places, products, self.sums)

    def by_cells(self) -> Floats:
        """Return the sums over pairs of cells, (S, S, M), where the second cell's column is not before the first's."""
        layout, width = self.layout, self.sums.shape[1]
        sizes, own, cells = layout.sizes, layout.own, layout.cells
        found = np.zeros((layout.groups.n_cells, layout.groups.n_cells, width))
        for g, h in layout.pairs:
            table = self.sums[layout.firsts[g, h] :]
            if g == h:
                inside = np.tensordot(own[g][:, None] * own[g], table[: sizes[g]], axes=1)
                found[cells[g], cells[g]] = inside * np.triu(np.ones(inside.shape[:2]))[:, :, None]
            else:
                rows = own[g] @ table[: sizes[g] * sizes[h]].reshape(sizes[g], -1)
                np.matmul(own[h], rows.reshape(len(rows), sizes[h], width), out=found[cells[g], cells[h]])
        return found


class _Layout:
    """Where the sums of two groups stand.

    Attributes
    ----------
    sizes : (G,) array             combinations of each group
    pairs : list of (g, h)         g <= h
    firsts : (G, G) array          where the table of a pair begins
    places : (G, G) array          the same for cells that are numbered through all groups
    cells : list of slices         the categories of each group
    own : list of (s, c) arrays    1 where a combination has the category
    """

    def __init__(self, groups: Groups) -> None:
        self.groups, self.sizes = groups, np.diff(groups.starts)
        self.pairs = list(combinations_with_replacement(range(len(self.sizes)), 2))
        self.firsts = np.zeros((len(self.sizes), len(self.sizes)), dtype=np.int64)
        self.size = 0
        for g, h in self.pairs:
            self.firsts[g, h] = self.size
            self.size += int(self.sizes[g] * (1 if g == h else self.sizes[h]))
        starts = groups.starts[:-1]
        self.places = self.firsts - starts - np.where(np.eye(len(starts), dtype=bool), 0, starts[:, None] * self.sizes)
        holds = np.zeros((groups.n_cells, groups.n_rows))
        holds[groups.of_cells, groups.rows] = 1.0
        self.cells, self.own = [], []
        for start, stop in pairwise(groups.starts):
            mine = np.flatnonzero(holds[:, start:stop].any(axis=1))
            self.cells.append(slice(mine[0], mine[-1] + 1) if len(mine) else slice(0, 0))
            self.own.append(np.ascontiguousarray(holds[self.cells[-1], start:stop]))


@lru_cache(maxsize=16)
def _layout(sizes: tuple[int, ...], missing: tuple[bool, ...], width: int) -> _Layout:
    """Return the layout for columns of these sizes; chunks mostly share one."""
    groups = Groups(sizes, missing, GROUP)
    return _Layout(groups if groups.n_rows**2 * width <= MOST else Groups(sizes, missing, 1))


def _assembled(leaf: Categorical, table: Floats, pairs: Floats, both: Floats, shares: Floats) -> tuple[Floats, Floats]:
    """Return the outer products within components and of rows, in the coordinates of the model."""
    n_components, n_cells = table.shape
    width = shares.shape[1]
    by_pair = _square(pairs, n_components)
    cells = np.einsum("ssab->sab", by_pair)  # rows that hold one cell, by pairs of components
    centre = [_centring(leaf, own) for own in table]
    size = width + n_components * n_cells
    within, outer = np.zeros((size, size)), np.zeros((size, size))
    within[:width, :width] = shares.T @ (both.sum(axis=1)[:, None] * shares)
    outer[:width, :width] = shares.T @ both @ shares
    for k in range(n_components):
        own = slice(width + k * n_cells, width + (k + 1) * n_cells)
        alone = centre[k] @ cells[:, k].sum(axis=1)
        _beside(within, own, np.outer(shares[k], alone))
        _beside(outer, own, shares.T @ (centre[k] @ cells[:, :, k]).T)
        within[own, own] = centre[k] @ by_pair[:, :, k].sum(axis=2) @ centre[k].T
        for other in range(k, n_components):
            beside = slice(width + other * n_cells, width + (other + 1) * n_cells)
            outer[own, beside] = centre[k] @ by_pair[:, :, k, other] @ centre[other].T
            outer[beside, own] = outer[own, beside].T
    return within, outer


def _square(pairs: Floats, n_components: int) -> Floats:
    """Return the sums for every order of cells and of components, (S, S, K, K)."""
    first, second = np.triu_indices(n_components)
    found = np.zeros((*pairs.shape[:2], n_components, n_components))
    found[:, :, first, second] = pairs
    found[:, :, second, first] = pairs
    single = np.einsum("ssab->sab", found).copy()
    found = found + found.transpose(1, 0, 2, 3)
    cell = np.arange(len(found))
    found[cell, cell] = single
    return found


def _beside(matrix: Floats, own: slice, block: Floats) -> None:
    """Put products of shares and cells in both their places."""
    width = len(block)
    matrix[:width, own] = block
    matrix[own, :width] = block.T


def _centring(leaf: Categorical, own: Floats) -> Floats:
    """Return the map from the cells of rows to their gradients, (S, S): minus the probability in observed columns."""
    column = np.repeat(np.arange(len(leaf.offsets) - 1), np.diff(leaf.offsets))
    found = np.eye(len(own)) - np.where(column[:, None] == column, own[:, None], 0.0)
    found[own <= 0] = 0.0
    return found
