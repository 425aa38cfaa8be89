"""Plots of sequences and their hidden states over time.

`plot_timeline` draws one sequence; `draw_paths` the best paths of several, one above the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from halfseen.errors import ParameterError
from halfseen.families.hmm.methods import HMMMethods
from halfseen.families.hmm.scored_sequences import ScoredSequences, score_sequences
from halfseen.optional import optional
from halfseen.plots.style import INK, axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SOLID = 0.75  # opacity of the colours of states if nothing is drawn over them


def plot_timeline(
    model: HMMMethods,
    X: Any,
    lengths: Any = None,
    *,
    sequence: int = 0,
    column: str | None = None,
    groups: Any = None,
    time: Any = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw one sequence with the probability of each state behind it.

    The height of a colour at a step is the probability of its state given the whole sequence; a line shows a column of
    numbers or counts, with gaps where cells are missing, and ticks at the top the best path.

    Parameters
    ----------
    model : fitted `HMM`
    X, lengths, groups, time : sequences, as in `HMM.fit`
    sequence : int            which of them
    column : str, optional    the column to draw; by default the first of numbers or counts, if there is one
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import halfseen as hs
    >>> model = hs.HMM.from_params([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], {"x": {"mean": [0, 5], "sd": [1, 1]}})
    >>> ax = hs.plot_timeline(model, [[0.1], [0.4], [5.2], [4.9], [None], [0.3]])  # doctest: +SKIP
    """
    if not isinstance(model, HMMMethods):
        raise ParameterError(f"plot_timeline draws a fitted HMM, got {type(model).__name__}.")
    seen = score_sequences(model, X, lengths, groups, time, only=sequence)
    return draw_timeline(seen, 0, column, ax=axes(ax, "plot_timeline", (9, 3.5)))


def draw_timeline(
    seen: ScoredSequences, b: int, column: str | None = None, most: int | None = None, *, ax: Axes
) -> Axes:
    """Draw sequence b, or its first `most` steps."""
    steps = seen.steps(b)
    if most is not None:
        steps = slice(steps.start, min(steps.stop, steps.start + most))
    values = _values(seen.model, seen.sequences.steps.take(steps), column)
    return _draw(ax, seen.model, seen.resp[steps], seen.path[steps], values)


def draw_paths(seen: ScoredSequences, chosen: Sequence[int], labels: Sequence[str], most: int, *, ax: Axes) -> Axes:
    """Draw the best paths of some sequences, or of their first `most` steps: a bar each, coloured by state."""
    colours = optional("matplotlib", "plot_timeline").colormaps["tab10"]
    for k, name in enumerate(seen.model.state_names_):
        for row, b in enumerate(chosen):
            inside = np.flatnonzero(np.diff(np.r_[0, seen.path[seen.steps(b)][:most] == k, 0]))
            stays = [(first - 0.5, last - first) for first, last in inside.reshape(-1, 2).tolist()]
            ax.broken_barh(stays, (row - 0.36, 0.72), color=colours(k % 10), alpha=SOLID, linewidth=0)
        ax.barh(0, 0, color=colours(k % 10), alpha=SOLID, label=name)
    longest = min(most, int(seen.lengths[list(chosen)].max()))
    ax.set_yticks(range(len(chosen)), labels, parse_math=False)
    ax.set(xlabel="step", xlim=(-0.5, longest - 0.5), ylim=(len(chosen) - 0.4, -0.6))
    ax.legend(frameon=False, ncols=4, loc="lower left", bbox_to_anchor=(0, 1), fontsize=9, handlelength=1.2)
    ax.tick_params(axis="y", length=0)
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)
    return ax


def _values(model: HMMMethods, one: Any, column: str | None) -> tuple[str, Any] | None:
    """Return the name and the values of the column to draw."""
    numbers = [c.name for c in model._schema.columns if not c.kind.has_categories]
    if column is not None and column not in numbers:
        raise ParameterError(
            f"column={column!r} is not a column of numbers or counts. Such columns: {', '.join(numbers)}."
        )
    if not numbers:
        return None
    name = column or numbers[0]
    for block, members in model._schema.blocks.items():
        names = [model._schema.columns[j].name for j in members]
        if name in names:
            return name, one.blocks[block][:, names.index(name)]
    raise AssertionError("every column is in a block")


def _draw(ax: Axes, model: HMMMethods, resp: Any, states: Any, values: tuple[str, Any] | None) -> Axes:
    steps = np.arange(len(resp))
    edges = np.append(steps, len(steps)) - 0.5
    floor = np.zeros(len(steps))
    colours = optional("matplotlib", "plot_timeline").colormaps["tab10"]
    for k, name in enumerate(model.state_names_):
        top = floor + resp[:, k]
        ax.stairs(top, edges, baseline=floor, fill=True, color=colours(k % 10), alpha=0.35, label=name)
        at = steps[states == k]
        ax.plot(at, np.full(len(at), 1.03), "|", color=colours(k % 10), clip_on=False)
        floor = top
    ax.set(xlabel="step", ylabel="probability of each state", xlim=(edges[0], edges[-1]), ylim=(0, 1))
    ax.legend(loc="upper left", bbox_to_anchor=(1.08 if values else 1.01, 1.0), frameon=False)
    if values is not None:
        right = ax.twinx()
        right.plot(steps, values[1], color=INK, linewidth=1, marker=".", markersize=3)
        right.set_ylabel(values[0])
    return ax
