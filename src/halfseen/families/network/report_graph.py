"""A directed graph as a layered drawing in SVG: parents above their children, few crossings, with marginals inside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import NamedTuple

from halfseen.app.report.words import percent
from halfseen.structures.graph import Graph

LETTER = 8.0  # width of a letter of 13 px
HEAD, LINE, PAD = 28.0, 18.0, 6.0  # height of a name; of a state below it; below the last state
GAP, DEPTH = 24.0, 58.0  # between boxes; between layers
LEAST = 180.0  # width of a box with states
SWEEPS = 12  # times that layers are sorted by their neighbours
LONGEST = 22  # letters of a name
LONGEST_STATE = 9
MOST_STATES = 4  # shown in a box
MOST_DETAILED = 24  # variables up to which boxes show states

Shares = Mapping[str, Sequence[tuple[str, float]]]


class _Box(NamedTuple):
    """A variable: the middle of its upper side, its size, and its states with their shares."""

    x: float
    y: float
    width: float
    height: float
    states: Sequence[tuple[str, float]]


def drawn(
    graph: Graph,
    hidden: Sequence[str] = (),
    weight: Mapping[tuple[int, int], float] | None = None,
    shares: Shares | None = None,
) -> str:
    """Return a drawing of a graph as inline SVG; hidden variables are dashed, edges as wide as their weight (0 to 1).

    With `shares`, boxes have bars of the states of their variables, of networks that are not large.

    Examples
    --------
    >>> picture = drawn(Graph(("A", "B"), (2, 2), ((), (0,))))
    >>> picture.startswith("<svg"), picture.count('class="box"'), picture.count("<path class")
    (True, 2, 1)
    """
    detailed = shares if shares is not None and len(graph) <= MOST_DETAILED else {}
    boxes, width, height = _placed(graph, detailed)
    lines = [_edge(boxes[p], boxes[v], (weight or {}).get((p, v), 0.3)) for v in boxes for p in graph.parents[v]]
    drawings = [_box(graph.names[v], box, graph.names[v] in set(hidden)) for v, box in boxes.items()]
    edges = sum(map(len, graph.parents))
    label = f"Drawing of a network of {len(graph)} variables and {edges} edges."
    return (
        f'<svg role="img" aria-label="{label}" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}" xmlns="http://www.w3.org/2000/svg">'
        '<defs><marker id="network-tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" '
        'markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0 8 4 0 8z" fill="var(--soft)"/></marker></defs>'
        + "".join([*lines, *drawings])
        + "</svg>"
    )


def _placed(graph: Graph, shares: Shares) -> tuple[dict[int, _Box], float, float]:
    """Return the boxes of all variables by number, and the size of the drawing."""
    layers = _ordered(graph)
    states = [shares.get(name, ()) for name in graph.names]
    sizes = [
        max(LETTER * len(_cut(name)) + 22, LEAST if own else 0.0) for name, own in zip(graph.names, states, strict=True)
    ]
    heights = [HEAD + (LINE * min(len(own), MOST_STATES) + PAD if own else 0.0) for own in states]
    wide = [sum(sizes[v] for v in layer) + GAP * (len(layer) - 1) for layer in layers]
    width, top = max(wide, default=0) + 20, 10.0
    boxes: dict[int, _Box] = {}
    for layer, own_width in zip(layers, wide, strict=True):
        x = (width - own_width) / 2
        for v in layer:
            boxes[v] = _Box(x + sizes[v] / 2, top, sizes[v], heights[v], states[v])
            x += sizes[v] + GAP
        top += max(heights[v] for v in layer) + DEPTH
    return boxes, width, top - DEPTH + 10


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


def _edge(start: _Box, end: _Box, weight: float) -> str:
    (x1, y1), (x2, y2) = (start.x, start.y + start.height), (end.x, end.y - 1)
    bend = (y2 - y1) / 2
    return (
        f'<path class="edge" d="M{x1:.1f} {y1:.1f}C{x1:.1f} {y1 + bend:.1f} {x2:.1f} {y2 - bend:.1f} {x2:.1f} '
        f'{y2:.1f}" fill="none" stroke="var(--soft)" stroke-width="{0.8 + 3.2 * min(max(weight, 0.0), 1.0):.2f}" '
        'marker-end="url(#network-tip)"/>'
    )


def _box(name: str, box: _Box, hidden: bool) -> str:
    left = box.x - box.width / 2
    dashed = ' stroke-dasharray="5 3"' if hidden else ""
    rows = [_state(*one, left + 8, box.y + HEAD + LINE * i, box.width - 16) for i, one in enumerate(_main(box.states))]
    return (
        f'<g><title>{escape(name)}{" (hidden)" if hidden else ""}</title><rect class="box" x="{left:.1f}" '
        f'y="{box.y:.1f}" width="{box.width:.1f}" height="{box.height:.1f}" rx="8" fill="var(--tint)" '
        f'stroke="var(--blue)"{dashed}/>'
        f'<text x="{box.x:.1f}" y="{box.y + 18:.1f}" text-anchor="middle" font-size="13" font-weight="600" '
        f'fill="currentColor">{escape(_cut(name))}</text>{"".join(rows)}</g>'
    )


def _main(states: Sequence[tuple[str, float]]) -> list[tuple[str, float]]:
    """Return the states to show: all, or the most frequent ones and the rest as one."""
    if len(states) <= MOST_STATES:
        return list(states)
    ranked = sorted(states, key=lambda state: -state[1])[: MOST_STATES - 1]
    return [*ranked, (f"{len(states) - len(ranked)} others", 1.0 - sum(share for _, share in ranked))]


def _state(name: str, share: float, x: float, y: float, width: float) -> str:
    """Return a line of a box: a state, a bar of its share, and the share as text."""
    bar = x + 7.0 * LONGEST_STATE
    room = x + width - bar - 38
    shown = name if len(name) <= LONGEST_STATE else name[: LONGEST_STATE - 1] + "…"
    return (
        f'<text x="{x:.1f}" y="{y + 11:.1f}" font-size="12" fill="currentColor">{escape(shown)}</text>'
        f'<rect x="{bar:.1f}" y="{y + 3:.1f}" width="{room:.1f}" height="10" fill="var(--faint)"/>'
        f'<rect x="{bar:.1f}" y="{y + 3:.1f}" width="{max(room * share, 0.0):.1f}" height="10" fill="var(--blue)"/>'
        f'<text x="{x + width:.1f}" y="{y + 11:.1f}" font-size="12" text-anchor="end" '
        f'fill="var(--soft)">{percent(share)}</text>'
    )


def _cut(name: str) -> str:
    return name if len(name) <= LONGEST else name[: LONGEST - 1] + "…"
