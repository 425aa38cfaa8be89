"""A directed graph in layers: parents above their children, few crossings, edges around the boxes between.

After Sugiyama, Tagawa and Toda (1981). An edge that passes layers gets a *bend* in each of them, which takes part in
the order of the layer like a box without a width. Layers are sorted by the mean place of their neighbours, above and
below in turn, and the order with the fewest crossings is kept. Places then follow the neighbours as far as the order
and the widths allow (isotonic regression).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from halfseen.leaves.leaf import Floats
from halfseen.structures.graph import Graph

SWEEPS = 24  # times that layers are sorted, and then moved, by their neighbours
BEND = 10.0  # width that an edge takes in a layer that it passes

Point = tuple[float, float]


class Layout(NamedTuple):
    """Places of the boxes and edges of a graph; y grows downwards, from 0.

    Attributes
    ----------
    places : list of (x, y)                the middle of each box
    edges : dict of (parent, child) to list of (x, y)
        From the bottom of the parent's box to the top of the child's; in each layer in between, the upper and the
        lower end of a vertical line that passes the boxes there.
    width, height : float
    """

    places: list[Point]
    edges: dict[tuple[int, int], list[Point]]
    width: float
    height: float


def layout(graph: Graph, sizes: Sequence[tuple[float, float]], gap: float = 22.0, depth: float = 50.0) -> Layout:
    """Return where boxes of these sizes (width, height) go, `gap` apart within a layer and `depth` between layers.

    Examples
    --------
    >>> found = layout(Graph(("A", "B", "C"), (2, 2, 2), ((), (0,), (0,))), [(40, 20)] * 3)
    >>> found.places
    [(51.0, 10.0), (20.0, 80.0), (82.0, 80.0)]
    >>> found.edges[0, 1]
    [(51.0, 20.0), (20.0, 70.0)]
    """
    net = _Net(graph)
    order = _ordered(net)
    widths = [sizes[v][0] if v < len(graph) else BEND for v in range(net.size)]
    across = _across(net, order, widths, gap)
    left = min((across[v] - widths[v] / 2 for v in range(net.size)), default=0.0)
    right = max((across[v] + widths[v] / 2 for v in range(net.size)), default=0.0)
    tall = [max((sizes[v][1] for v in layer if v < len(graph)), default=0.0) for layer in order]
    tops = np.concatenate([[0.0], np.cumsum(np.array(tall) + depth)])
    middle = {v: float(tops[i] + tall[i] / 2) for i, layer in enumerate(order) for v in layer}
    places = [(float(across[v] - left), middle[v]) for v in range(len(graph))]
    edges = {}
    for (parent, child), bends in net.bends.items():
        points = [(places[parent][0], places[parent][1] + sizes[parent][1] / 2)]
        for bend in bends:
            x, half = float(across[bend] - left), tall[net.layer[bend]] / 2
            points += [(x, middle[bend] - half), (x, middle[bend] + half)]
        edges[parent, child] = [*points, (places[child][0], places[child][1] - sizes[child][1] / 2)]
    return Layout(places, edges, float(right - left), float(tops[-1] - depth) if len(tops) > 1 else 0.0)


class _Net:
    """A graph whose edges go from a layer to the next: variables first, then bends."""

    def __init__(self, graph: Graph) -> None:
        self.layers = [list(layer) for layer in graph.layers()]
        self.layer = at = {v: i for i, layer in enumerate(self.layers) for v in layer}
        self.size = len(graph)
        self.bends: dict[tuple[int, int], list[int]] = {}
        self.above: list[list[int]] = [[] for _ in range(self.size)]
        self.below: list[list[int]] = [[] for _ in range(self.size)]
        for child in range(len(graph)):
            for parent in graph.parents[child]:
                passed = [self._bend(i) for i in range(at[parent] + 1, at[child])]
                self.bends[parent, child] = passed
                way = [parent, *passed, child]
                for upper, lower in itertools.pairwise(way):
                    self.below[upper].append(lower)
                    self.above[lower].append(upper)

    def _bend(self, layer: int) -> int:
        self.layers[layer].append(self.size)
        self.layer[self.size] = layer
        self.above.append([])
        self.below.append([])
        self.size += 1
        return self.size - 1


def _ordered(net: _Net) -> list[list[int]]:
    """Return the layers in the order with the fewest crossings that was found."""
    layers = [list(layer) for layer in net.layers]
    best, fewest = [list(layer) for layer in layers], _crossings(net, layers)
    for sweep in range(SWEEPS):
        downwards = sweep % 2 == 0
        near = net.above if downwards else net.below
        at = {v: (i + 0.5) / len(layer) for layer in layers for i, v in enumerate(layer)}
        for layer in layers if downwards else reversed(layers):
            mean = {v: sum(at[u] for u in near[v]) / len(near[v]) if near[v] else at[v] for v in layer}
            layer.sort(key=lambda v: (mean[v], at[v]))
            at |= {v: (i + 0.5) / len(layer) for i, v in enumerate(layer)}
        number = _crossings(net, layers)
        if number < fewest:
            best, fewest = [list(layer) for layer in layers], number
    return best


def _crossings(net: _Net, layers: list[list[int]]) -> int:
    """Return how many pairs of edges cross."""
    total = 0
    for layer, after in itertools.pairwise(layers):
        at = {v: i for i, v in enumerate(after)}
        ends = np.array([at[u] for v in layer for u in sorted(net.below[v], key=at.__getitem__)], dtype=np.int64)
        total += int(np.triu(ends[:, None] > ends, 1).sum())
    return total


def _across(net: _Net, order: list[list[int]], widths: Sequence[float], gap: float) -> Floats:
    """Return the horizontal place of every box and bend."""
    across = np.zeros(net.size)
    for layer in order:
        ends = np.cumsum([widths[v] + gap for v in layer])
        across[layer] = ends - np.array([widths[v] for v in layer]) / 2 - ends[-1:] / 2
    for sweep in range(SWEEPS):
        near = (net.above, net.below, None)[sweep % 3]
        for layer in order if sweep % 3 != 1 else reversed(order):
            others = [near[v] if near else net.above[v] + net.below[v] for v in layer]
            wanted = [across[them].mean() if them else across[v] for v, them in zip(layer, others, strict=True)]
            apart = [(widths[u] + widths[v]) / 2 + gap for u, v in itertools.pairwise(layer)]
            across[layer] = _spaced(np.array(wanted), np.concatenate([[0.0], np.cumsum(apart)]))
    return across


def _spaced(wanted: Floats, offsets: Floats) -> Floats:
    """Return the places nearest to those wanted, in squares, at least as far apart as the offsets are."""
    blocks: list[list[float]] = []  # mean, size
    for value in (wanted - offsets).tolist():
        blocks.append([value, 1.0])
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            mean, size = blocks.pop()
            before = blocks[-1]
            before[0] = (before[0] * before[1] + mean * size) / (before[1] + size)
            before[1] += size
    return np.repeat([mean for mean, _ in blocks], [int(size) for _, size in blocks]) + offsets
