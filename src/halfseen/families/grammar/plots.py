"""A tree above a sentence, drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from halfseen.errors import ParameterError
from halfseen.plots.style import BLUE, INK, SOFT, axes
from halfseen.structures.trees import Tree

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FONT = 14.0  # points, of which the layout is made
PAD = 16.0
POINTS = 72.0  # to an inch
SMALLEST = 0.75  # part of its size that a new figure is drawn at


def plot_tree(tree: Any, ax: Axes | None = None) -> Axes:
    """Draw a parse: symbols above, the words of the sentence in one row below.

    Parameters
    ----------
    tree : Tree, or text in brackets
        As `PCFG.parse` returns: ``plot_tree(grammar.parse("the dog barks").tree)``.
    ax : matplotlib Axes, optional
        Where to draw; a new figure, as large as the tree needs, by default.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import halfseen as hs
    >>> ax = hs.plot_tree("(S (NP the dog) (VP barks))")
    >>> sorted(text.get_text() for text in ax.texts)
    ['NP', 'S', 'VP', 'barks', 'dog', 'the']
    """
    found = getattr(tree, "tree", tree)
    if isinstance(found, str):
        found = Tree.from_string(found)
    if not isinstance(found, Tree):
        raise ParameterError(
            f"plot_tree draws a Tree, got {type(found).__name__}. Where a sentence has no parse there is none to draw."
        )
    labels, branches, width, height = found.layout()
    wide, tall = width + 2 * PAD, height + 2 * PAD
    ax = axes(ax, "plot_tree", (max(1.5, SMALLEST * wide / POINTS), max(1.2, SMALLEST * tall / POINTS)))
    figure: Any = ax.figure
    place, size = ax.get_position(), figure.get_size_inches()
    if figure.get_layout_engine() is not None and len(figure.axes) == 1:
        scale = min(size[0] * POINTS / wide, size[1] * POINTS / tall)
    else:
        scale = min(place.width * size[0] * POINTS / wide, place.height * size[1] * POINTS / tall)
    font = FONT * min(1.0, scale)
    for line in branches:
        ax.plot([line.x1, line.x2], [line.y1, line.y2], color=SOFT, linewidth=1.0)
    for label in labels:
        style: dict[str, Any] = (
            {"style": "italic", "color": INK} if label.is_word else {"weight": "bold", "color": BLUE}
        )
        ax.text(label.x, label.y, label.text, ha="center", va="baseline", fontsize=font, parse_math=False, **style)
    ax.set(xlim=(-PAD, width + PAD), ylim=(height + PAD, -PAD))
    ax.set_axis_off()
    return ax
