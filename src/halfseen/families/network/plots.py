"""A Bayesian network as a drawing: parents above their children, hidden variables dashed, probabilities of states."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from halfseen.errors import ParameterError
from halfseen.families.network.layout import Layout, Point, layout
from halfseen.families.network.methods import NetworkMethods
from halfseen.kinds.wording import percent
from halfseen.leaves.leaf import Floats
from halfseen.optional import optional
from halfseen.plots.style import BLUE, FAINT, GOLD, INK, PAPER, SOFT, axes, short, short_names
from halfseen.structures.graph import Graph

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FONT = 10.0  # points; all sizes here are in points, and shrink together where axes are too small
LETTER, CAPITAL = 0.62 * FONT, 0.74 * FONT  # widths
LINE = 1.45 * FONT  # height of a line
PAD = 9.0  # between a box and its text
BAR = 46.0  # the longest bar
SHARE = 6 * LETTER  # a percentage beside it
MOST_STATES = 8  # of a variable with bars
LONGEST_STATE = 14  # letters of the name of a state
LARGEST = (16.0, 12.0)  # inches of a new figure
POINTS = 72.0  # to an inch


def plot_network(
    model: Any, ax: Axes | None = None, *, marginals: bool = False, evidence: Mapping[str, Any] | None = None
) -> Axes:
    """Draw a Bayesian network: parents above their children; hidden variables have a dashed frame.

    Parameters
    ----------
    model : BayesNet, fitted or read from a file
    ax : matplotlib Axes, optional
        Where to draw; a new figure, as large as the network needs, by default.
    marginals : bool, default False
        Draw the probability of each state as a bar.
    evidence : mapping, optional
        What is known, as in `BayesNet.query`: bars are probabilities given it (implies marginals), and the variables
        that it names are marked.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import halfseen as hs
    >>> rows = [["yes", "wet"], ["yes", None], ["no", "dry"], ["no", "dry"], [None, "wet"]]
    >>> net = hs.BayesNet([("x0", "x1")], random_state=0).fit(rows)
    >>> ax = hs.plot_network(net, evidence={"x1": "wet"})
    >>> [text.get_text() for text in ax.texts][:3]
    ['x0', 'no', '10%']
    """
    if not isinstance(model, NetworkMethods):
        raise ParameterError(f"plot_network draws a fitted BayesNet, got {type(model).__name__}.")
    check_is_fitted(model)
    known = {name: given for name, given in (evidence or {}).items() if given is not None}
    states: dict[str, list[tuple[str, float]]] = {}
    if marginals or evidence is not None:
        for name in model._graph.names:
            shares = _posterior(model, name, known).tolist()
            states[name] = list(zip(map(str, model.states_[name]), shares, strict=True))
    return draw_network(model._graph, ax, model.hidden_, states, list(known))


def _posterior(model: NetworkMethods, name: str, known: Mapping[str, Any]) -> Floats:
    """Return the probabilities of the states of a variable given evidence, which may be about itself."""
    others = {other: given for other, given in known.items() if other != name}
    shares: Floats = np.asarray(model.query(name, others))
    if name in known:
        codes, likelihoods = model._evidence({name: known[name]})
        v = model._graph.names.index(name)
        if v in likelihoods:
            shares = shares * np.exp(likelihoods[v].patterns[0])
        else:
            shares = np.where(np.arange(len(shares)) == codes[0, v], shares, 0.0)
    total = shares.sum()
    if not total > 0:
        raise ParameterError("evidence: it is impossible under the network, so there are no probabilities given it.")
    return shares / total


def draw_network(
    graph: Graph,
    ax: Axes | None = None,
    hidden: Sequence[str] = (),
    states: Mapping[str, Sequence[tuple[str, float]]] | None = None,
    marked: Sequence[str] = (),
) -> Axes:
    """Draw a graph; `states` are names and probabilities of the states of variables, where bars are wanted."""
    shown = {name: list(listed)[:MOST_STATES] for name, listed in (states or {}).items()}
    more = {name: len(listed) - len(shown[name]) for name, listed in (states or {}).items()}
    titles = dict(zip(graph.names, short_names(graph.names), strict=True))
    boxes = [_size(titles[name], shown.get(name, ()), bool(more.get(name))) for name in graph.names]
    found = layout(graph, boxes)
    width, height = found.width + 2 * PAD, found.height + 2 * PAD
    size = (min(LARGEST[0], max(2.5, width / POINTS)), min(LARGEST[1], max(1.5, height / POINTS)))
    ax = axes(ax, "plot_network", size)
    ax.set(xlim=(-PAD, found.width + PAD), ylim=(found.height + PAD, -PAD), aspect="equal")
    ax.set_axis_off()
    scale = min(1.0, _scale(ax, width, height))
    for points in found.edges.values():
        _draw_edge(ax, points, scale)
    for v, name in enumerate(graph.names):
        _draw_box(ax, found, v, boxes[v], (name in set(hidden), name in set(marked)))
        _draw_text(ax, found.places[v], boxes[v], titles[name], shown.get(name, ()), more.get(name, 0), scale)
    return ax


def _size(title: str, states: Sequence[tuple[str, float]], is_cut: bool) -> tuple[float, float]:
    """Return width and height of a box."""
    width, lines = _width(title), 1.0
    if states:
        longest = max(_width(short(state, LONGEST_STATE)) for state, _ in states)
        width, lines = max(1.1 * width, longest + BAR + SHARE), 1.25 + 0.9 * (len(states) + is_cut)
    return max(width, 3 * LETTER) + 2 * PAD, lines * LINE + PAD


def _width(text: str) -> float:
    return sum(CAPITAL if letter.isupper() else LETTER for letter in text)


def _scale(ax: Axes, width: float, height: float) -> float:
    """Return how many points on paper a point of the layout has."""
    figure: Any = ax.figure
    place, (wide, tall) = ax.get_position(), figure.get_size_inches()
    if figure.get_layout_engine() is not None and len(figure.axes) == 1:
        return float(min(wide * POINTS / width, tall * POINTS / height))  # the layout fills the figure
    return float(min(place.width * wide * POINTS / width, place.height * tall * POINTS / height))


def _draw_edge(ax: Axes, points: Sequence[Point], scale: float) -> None:
    """Draw an edge that leaves and reaches boxes, and passes layers, vertically."""
    path = optional("matplotlib.path", "plot_network").Path
    arrow = optional("matplotlib.patches", "plot_network").FancyArrowPatch
    places, codes = [points[0]], [path.MOVETO]
    for (x1, y1), (x2, y2) in itertools.pairwise(points):
        bend = (y2 - y1) / 2
        places += [(x1, y1 + bend), (x2, y2 - bend), (x2, y2)]
        codes += [path.CURVE4] * 3
    style = {"arrowstyle": "-|>", "mutation_scale": 11 * scale, "linewidth": 1.2 * scale, "color": SOFT}
    ax.add_patch(arrow(path=path(places, codes), fill=True, joinstyle="miter", shrinkA=0, shrinkB=0, **style))


def _draw_box(ax: Axes, found: Layout, v: int, size: tuple[float, float], kind: tuple[bool, bool]) -> None:
    box = optional("matplotlib.patches", "plot_network").FancyBboxPatch
    (x, y), (width, height), (hidden, marked) = found.places[v], size, kind
    corner = (x - width / 2 + 4, y - height / 2 + 4)
    look: dict[str, Any] = {"facecolor": PAPER, "edgecolor": GOLD if marked else BLUE}
    look |= {"linestyle": (0, (4, 2)) if hidden else "-", "linewidth": 2.2 if marked else 1.3, "zorder": 2}
    ax.add_patch(box(corner, width - 8, height - 8, boxstyle="round,pad=4,rounding_size=5", **look))


def _draw_text(
    ax: Axes,
    place: Point,
    size: tuple[float, float],
    title: str,
    states: Sequence[tuple[str, float]],
    more: int,
    scale: float,
) -> None:
    """Write the name of a variable, and below it the bars of its states."""
    (x, y), (width, height) = place, size
    font: dict[str, Any] = {"color": INK, "va": "center", "parse_math": False, "zorder": 4}
    if not states:
        ax.text(x, y, title, ha="center", fontsize=FONT * scale, **font)
        return
    line = y - height / 2 + PAD / 2 + LINE / 2
    ax.text(x, line, title, ha="center", fontsize=FONT * scale, weight="bold", **font)
    left, right = x - width / 2 + PAD, x + width / 2 - PAD
    start = right - BAR - SHARE + LETTER
    for name, share in zip(short_names([state for state, _ in states], LONGEST_STATE), states, strict=True):
        line += 0.9 * LINE
        ax.text(left, line, name, ha="left", fontsize=0.9 * FONT * scale, **font)
        for length, colour in ((1.0, FAINT), (share[1], BLUE)):
            ax.barh(line, BAR * length, left=start, height=0.5 * LINE, color=colour, zorder=3)
        ax.text(right, line, percent(share[1]), ha="right", fontsize=0.9 * FONT * scale, **font)
    if more:
        ax.text(
            left, line + 0.9 * LINE, f"{more} more", ha="left", fontsize=0.9 * FONT * scale, **(font | {"color": SOFT})
        )
