"""The links of one pair as a matrix: in text, and drawn."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from halfseen.errors import DataError
from halfseen.plots.style import INK, axes, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SHADES = " .:+*"  # probabilities, a fifth each


def _split(sentence: str | Sequence[str]) -> list[str]:
    return sentence.split() if isinstance(sentence, str) else list(sentence)


def _marks(source: list[str], target: list[str], links: Iterable[tuple[int, int]], proba: Any) -> tuple[Any, Any]:
    """Return which cells are linked, and their probabilities, both (n, m)."""
    shape = (len(source), len(target))
    marks = np.zeros(shape, dtype=bool)
    for i, j in links:
        if not (0 <= i < shape[0] and 0 <= j < shape[1]):
            raise DataError(f"the link {i}-{j} is outside a pair of {shape[0]} and {shape[1]} words.")
        marks[i, j] = True
    chance = np.zeros(shape) if proba is None else np.asarray(proba, dtype=np.float64)
    if chance.shape != shape:
        raise DataError(f"proba has shape {chance.shape}, expected {shape}: source words by target words.")
    return marks, chance


def link_matrix(
    source: str | Sequence[str],
    target: str | Sequence[str],
    links: Iterable[tuple[int, int]],
    proba: Any = None,
) -> str:
    """Return the links of a pair as text: a row for each source word, a column for each target word.

    Parameters
    ----------
    source, target : text or list of words
    links : (source index, target index) pairs, as `WordAligner.align` gives
    proba : (n, m) array, optional
        Probabilities of links, as `WordAligner.align_proba` gives: cells without a link are shaded by them.

    Examples
    --------
    >>> print(link_matrix("das Haus", "the house", [(0, 0), (1, 1)]))
         the house
     das  X    .
    Haus  .    X
    """
    words = (_split(source), _split(target))
    marks, chance = _marks(*words, links, proba)
    wide = max(map(len, words[0]), default=0)
    lines = [f"{'':>{wide}} {' '.join(words[1])}"]
    for i, word in enumerate(words[0]):
        cells = []
        for j, other in enumerate(words[1]):
            shade = "." if proba is None else SHADES[min(int(chance[i, j] * len(SHADES)), len(SHADES) - 1)]
            mark = "X" if marks[i, j] else shade
            cells.append(f" {mark}".ljust(len(other)) if len(other) > 1 else mark)
        lines.append(f"{word:>{wide}} {' '.join(cells)}".rstrip())
    return "\n".join(lines)


def plot_links(
    source: str | Sequence[str],
    target: str | Sequence[str],
    links: Iterable[tuple[int, int]],
    proba: Any = None,
    *,
    ax: Axes | None = None,
) -> Axes:
    """Draw the links of a pair as a matrix: source words down, target words across, links as dots.

    Parameters
    ----------
    source, target, links, proba :
        As in `link_matrix`; probabilities are the shades of the cells.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default. ``ax.figure.savefig("links.svg")`` writes it.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import halfseen as hs
    >>> ax = hs.plot_links("das Haus", "the house", [(0, 0), (1, 1)])
    >>> [label.get_text() for label in ax.get_xticklabels()]
    ['the', 'house']
    """
    words = (_split(source), _split(target))
    marks, chance = _marks(*words, links, proba)
    ax = axes(ax, "plot_links", (1.5 + 0.35 * len(words[1]), 1.2 + 0.3 * len(words[0])))
    ax.imshow(chance, cmap="Blues", vmin=0, vmax=1.3, aspect="equal")
    i, j = np.nonzero(marks)
    ax.scatter(j, i, s=40, color=INK, zorder=2)
    across, down = ([short(word) for word in side] for side in (words[1], words[0]))
    ax.set_xticks(range(len(across)), across, rotation=60, ha="left", rotation_mode="anchor", parse_math=False)
    ax.set_yticks(range(len(down)), down, parse_math=False)
    ax.xaxis.tick_top()
    ax.set_xticks(np.arange(len(words[1]) + 1) - 0.5, minor=True)
    ax.set_yticks(np.arange(len(words[0]) + 1) - 0.5, minor=True)
    ax.grid(which="minor", color="0.85", linewidth=0.6)
    ax.tick_params(which="both", length=0)
    return ax
