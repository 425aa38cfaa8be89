"""A directed graph as a layered drawing in SVG: parents above their children, few crossings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from itertools import pairwise

from halfseen.families.network.layout import Point, layout
from halfseen.plots.style import short
from halfseen.structures.graph import Graph

LETTER = 7.2  # width of a letter of 12 px
BOX, GAP, DEPTH = 28, 22, 50  # height of a box; between boxes; between layers
LONGEST = 22  # letters of a name


def drawn(graph: Graph, hidden: Sequence[str] = (), weight: Mapping[tuple[int, int], float] | None = None) -> str:
    """Return a drawing of a graph as inline SVG; hidden variables are dashed, edges as wide as their weight (0 to 1).

    Examples
    --------
    >>> picture = drawn(Graph(("A", "B"), (2, 2), ((), (0,))))
    >>> picture.startswith("<svg"), picture.count("<rect"), picture.count("<path class")
    (True, 2, 1)
    """
    sizes = [LETTER * len(_cut(name)) + 22 for name in graph.names]
    found = layout(graph, [(size, BOX) for size in sizes], GAP, DEPTH)
    width, height = found.width + 20, found.height + 20
    lines = [_edge(points, (weight or {}).get(edge, 0.3)) for edge, points in found.edges.items()]
    place = [(x + 10, y + 10) for x, y in found.places]
    boxes = [_box(name, place[v], sizes[v], name in set(hidden)) for v, name in enumerate(graph.names)]
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


def _edge(points: Sequence[Point], weight: float) -> str:
    places = [(x + 10, y + 10) for x, y in points]
    way = [f"M{places[0][0]:.1f} {places[0][1]:.1f}"]
    for (x1, y1), (x2, y2) in pairwise(places):
        bend = (y2 - y1) / 2
        way.append(f"C{x1:.1f} {y1 + bend:.1f} {x2:.1f} {y2 - bend:.1f} {x2:.1f} {y2:.1f}")
    return (
        f'<path class="edge" d="{"".join(way)}" fill="none" stroke="var(--soft)" '
        f'stroke-width="{0.8 + 3.2 * min(max(weight, 0.0), 1.0):.2f}" marker-end="url(#network-tip)"/>'
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
    return short(name, LONGEST)
