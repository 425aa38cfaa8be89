"""A directed graph as a layered drawing in SVG: parents above their children, few crossings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from halfseen.structures.graph import Graph

LETTER = 7.2  # width of a letter of 12 px
BOX, GAP, DEPTH = 28, 22, 78  # height of a box; between boxes; between layers
SWEEPS = 12  # times that layers are sorted by their neighbours
LONGEST = 22  # letters of a name


def drawn(graph: Graph, hidden: Sequence[str] = (), weight: Mapping[tuple[int, int], float] | None = None) -> str:
    """Return a drawing of a graph as inline SVG; hidden variables are dashed, edges as wide as their weight (0 to 1).

    Examples
    --------
    >>> picture = drawn(Graph(("A", "B"), (2, 2), ((), (0,))))
    >>> picture.startswith("<svg"), picture.count("<rect"), picture.count("<path class")
    (True, 2, 1)
    """
    layers = _ordered(graph)
    sizes = [LETTER * len(_cut(name)) + 22 for name in graph.names]
    wide = [sum(sizes[v] for v in layer) + GAP * (len(layer) - 1) for layer in layers]
    width, height = max(wide, default=0) + 20, DEPTH * (len(layers) - 1) + BOX + 20
    place: dict[int, tuple[float, float]] = {}
    for depth, layer in enumerate(layers):
        x = (width - wide[depth]) / 2
        for v in layer:
            place[v] = (x + sizes[v] / 2, 10 + depth * DEPTH + BOX / 2)
            x += sizes[v] + GAP
    lines = [_edge(place[p], place[v], (weight or {}).get((p, v), 0.3)) for v in place for p in graph.parents[v]]
    boxes = [_box(graph.names[v], place[v], sizes[v], graph.names[v] in set(hidden)) for v in place]
    edges = sum(map(len, graph.parents))
    label = f"Drawing of a network of {len(graph)} variables and {edges} edges."
    return (
        f'<svg role="img" aria-label="{label}" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'style="max-width:100%;height:auto" xmlns="http://www.w3.org/2000/svg">'
        '<defs><marker id="network-tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" '
        'markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0 8 4 0 8z" fill="var(--soft)"/></marker></defs>'
        + "".join([*lines, *boxes])
        + "</svg>"
    )


def _ordered(graph: Graph) -> list[list[int]]:
    """Return the layers, each in the mean order of its neighbours above and below, alternately."""
    layers = graph.layers()
    for sweep in range(SWEEPS):
        at = {v: (i + 0.5) / len(layer) for layer in layers for i, v in enumerate(layer)}
        near = graph.parents if sweep % 2 == 0 else graph.children
        for layer in layers if sweep % 2 == 0 else reversed(layers):
            mean = {v: sum(at[u] for u in near[v]) / len(near[v]) if near[v] else at[v] for v in layer}
            layer.sort(key=lambda v: (mean[v], v))
            at |= {v: (i + 0.5) / len(layer) for i, v in enumerate(layer)}
    return layers


def _edge(start: tuple[float, float], end: tuple[float, float], weight: float) -> str:
    (x1, y1), (x2, y2) = (start[0], start[1] + BOX / 2), (end[0], end[1] - BOX / 2 - 1)
    bend = (y2 - y1) / 2
    return (
        f'<path class="edge" d="M{x1:.1f} {y1:.1f}C{x1:.1f} {y1 + bend:.1f} {x2:.1f} {y2 - bend:.1f} {x2:.1f} '
        f'{y2:.1f}" fill="none" stroke="var(--soft)" stroke-width="{0.8 + 3.2 * min(max(weight, 0.0), 1.0):.2f}" '
        'marker-end="url(#network-tip)"/>'
    )


def _box(name: str, middle: tuple[float, float], size: float, hidden: bool) -> str:
    x, y = middle
    dashed = ' stroke-dasharray="5 3"' if hidden else ""
    return (
        f'<g><title>{escape(name)}{" (hidden)" if hidden else ""}</title><rect x="{x - size / 2:.1f}" '
        f'y="{y - BOX / 2:.1f}" width="{size:.1f}" height="{BOX}" rx="8" fill="var(--tint)" '
        f'stroke="var(--blue)"{dashed}/>'
        f'<text x="{x:.1f}" y="{y + 4:.1f}" text-anchor="middle" font-size="12" fill="currentColor">'
        f"{escape(_cut(name))}</text></g>"
    )


def _cut(name: str) -> str:
    return name if len(name) <= LONGEST else name[: LONGEST - 1] + "…"
