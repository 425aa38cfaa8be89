"""A sequence and its hidden states along time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from halfseen.assign import SOFT
from halfseen.errors import ParameterError
from halfseen.estimators.chain_use import ChainUse
from halfseen.optional import optional

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_timeline(
    model: ChainUse,
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
    if not isinstance(model, ChainUse):
        raise ParameterError(f"plot_timeline draws a fitted HMM, got {type(model).__name__}.")
    sequences, _ = model._sequences(X, lengths, groups, time)
    if not 0 <= sequence < len(sequences.lengths):
        raise ParameterError(f"sequence={sequence!r}: there are {len(sequences.lengths)}, counted from 0.")
    one = sequences.take([sequence])
    prepared = model._model.prepare(model._params)
    [chunk] = one.chunks()
    resp = model._model.infer(prepared, chunk.blocks, np.ones((1, 1)), SOFT).usage["emit"]
    path = model._model.decode(prepared, chunk.blocks, chunk.blocks.lengths).states
    owner = model._topology.owner
    states = path if owner is None else np.array(owner)[path]
    if ax is None:
        _, ax = optional("matplotlib.pyplot", "plot_timeline").subplots(figsize=(9, 3.5), layout="constrained")
    assert ax is not None
    return _draw(ax, model, resp, states, _values(model, one, column))


def _values(model: ChainUse, one: Any, column: str | None) -> tuple[str, Any] | None:
    """Return the name and the values of the column to draw."""
    numbers = [c.name for c in model._schema.columns if c.kind != "categorical"]
    if column is not None and column not in numbers:
        raise ParameterError(f"column={column!r} is no column of numbers or counts. There are: {', '.join(numbers)}.")
    if not numbers:
        return None
    name = column or numbers[0]
    for block, members in model._schema.blocks.items():
        names = [model._schema.columns[j].name for j in members]
        if name in names:
            return name, one.blocks[block][:, names.index(name)]
    raise AssertionError("every column stands in a block")


def _draw(ax: Axes, model: ChainUse, resp: Any, states: Any, values: tuple[str, Any] | None) -> Axes:
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
        beside = ax.twinx()
        beside.plot(steps, values[1], color="black", linewidth=1, marker=".", markersize=3)
        beside.set_ylabel(values[0])
    return ax
