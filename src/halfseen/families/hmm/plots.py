"""Plots of sequences and their hidden states over time, and of how states follow each other.

`plot_timeline` draws one sequence, `plot_paths` the best paths of several, one above the other, `plot_transitions` the
table of transitions. Axes are dates or times where these were given, steps where not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from halfseen.data.sequences import plainly
from halfseen.errors import ParameterError
from halfseen.families.hmm.methods import HMMMethods
from halfseen.families.hmm.scored_sequences import ScoredSequences, score_sequences
from halfseen.kinds.wording import number, percent
from halfseen.leaves.leaf import Floats
from halfseen.optional import optional
from halfseen.plots.style import INK, PAPER, axes, class_colours, plain, short, short_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SOLID = 0.75  # opacity of the colours of states if nothing is drawn over them
MOST_PATHS = 20  # sequences in one plot


def plot_timeline(
    model: HMMMethods,
    X: Any,
    lengths: Any = None,
    *,
    sequence: Any = 0,
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
        Where there are times, they are the axis; dates are shown as dates.
    sequence : int or name    which of them: its number, or its name in the column of groups
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
    >>> ax = hs.plot_timeline(model, [0.1, 0.4, 5.2, 4.9], groups=["a", "a", "b", "b"], sequence="b")
    >>> ax.get_title(), ax.get_xlabel()
    ('b', 'step')
    """
    _check(model, "plot_timeline")
    seen = score_sequences(model, X, lengths, groups, time, only=sequence)
    ax = axes(ax, "plot_timeline", (9, 3.5))
    draw_timeline(seen, 0, column, ax=ax, label=_time_name(model, time))
    if seen.cut.names is not None:
        ax.set_title(short(str(plainly(seen.cut.names[0])), 60), pad=14, parse_math=False)
    return ax


def draw_timeline(
    seen: ScoredSequences, b: int, column: str | None = None, most: int | None = None, *, ax: Axes, label: str = "time"
) -> Axes:
    """Draw sequence b, or its first `most` steps; `label` is the name of the time, if there is one."""
    steps = seen.steps(b)
    if most is not None:
        steps = slice(steps.start, min(steps.stop, steps.start + most))
    values = _values(seen.model, seen.sequences.steps.take(steps), column)
    when = _when(seen)
    own = _When(np.arange(steps.stop - steps.start, dtype=np.float64), False) if when is None else when.of(steps)
    _draw(ax, seen.model, seen.resp[steps], seen.path[steps], values, own)
    return _label_time(ax, when, label)


def plot_paths(
    model: HMMMethods,
    X: Any,
    lengths: Any = None,
    *,
    sequences: Sequence[Any] | None = None,
    groups: Any = None,
    time: Any = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the best path of several sequences (Viterbi): a bar for each, coloured by state.

    Parameters
    ----------
    model : fitted `HMM`
    X, lengths, groups, time : sequences, as in `HMM.fit`
        Where there are times they are the axis: a sequence that begins later begins further right.
    sequences : list of names or numbers, optional
        Which to draw; by default the first 20.
    ax : matplotlib Axes, optional

    Examples
    --------
    >>> import halfseen as hs
    >>> model = hs.HMM.from_params([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], {"x": {"mean": [0, 5], "sd": [1, 1]}})
    >>> ax = hs.plot_paths(model, [0.1, 0.4, 5.2, 4.9], groups=["a", "a", "b", "b"], time=[1, 2, 6, 7])
    >>> [label.get_text() for label in ax.get_yticklabels()], ax.get_xlabel()
    (['a', 'b'], 'time')
    """
    _check(model, "plot_paths")
    seen = score_sequences(model, X, lengths, groups, time)
    if sequences is None:
        chosen = list(range(min(len(seen.lengths), MOST_PATHS)))
    else:
        chosen = [seen.cut.number(one) for one in sequences]
    names = [str(b) if seen.cut.names is None else str(plainly(seen.cut.names[b])) for b in chosen]
    ax = axes(ax, "plot_paths", (9, 1.4 + 0.32 * len(chosen)))
    draw_paths(seen, chosen, short_names(names), ax=ax, label=_time_name(model, time))
    left_out = len(seen.lengths) - len(chosen) if sequences is None else 0
    if left_out:
        ax.set_ylabel(f"sequence ({left_out:,} more not shown)")
    return ax


def draw_paths(
    seen: ScoredSequences,
    chosen: Sequence[int],
    labels: Sequence[str],
    most: int | None = None,
    *,
    ax: Axes,
    label: str = "time",
) -> Axes:
    """Draw the best paths of some sequences, or of their first `most` steps: a bar each, coloured by state."""
    when, names = _when(seen), short_names(seen.model.state_names_)
    first, last = np.inf, -np.inf
    for k, (name, colour) in enumerate(zip(names, class_colours(len(names)), strict=True)):
        for row, b in enumerate(chosen):
            steps = seen.steps(b)
            path = seen.path[steps][:most]
            own = None if when is None else when.of(slice(steps.start, steps.start + len(path)))
            edges = np.arange(len(path) + 1) - 0.5 if own is None else own.edges()
            inside = np.flatnonzero(np.diff(np.r_[0, path == k, 0])).reshape(-1, 2).tolist()
            stays = [(edges[begin], edges[end] - edges[begin]) for begin, end in inside]
            ax.broken_barh(stays, (row - 0.36, 0.72), color=colour, alpha=SOLID, linewidth=0)
            first, last = min(first, edges[0]), max(last, edges[-1])
        ax.barh(0, 0, left=first, color=colour, alpha=SOLID, label=name)
    ax.set_yticks(range(len(chosen)), labels, parse_math=False)
    ax.set(ylabel="sequence", xlim=(first, last), ylim=(len(chosen) - 0.4, -0.6))
    ax.legend(frameon=False, ncols=4, loc="lower left", bbox_to_anchor=(0, 1), fontsize=9, handlelength=1.2)
    ax.tick_params(axis="y", length=0)
    return _label_time(plain(ax, "left"), when, label)


def plot_transitions(model: HMMMethods, ax: Axes | None = None) -> Axes:
    """Draw the transitions: a row for each state, with the probability of the state that follows it.

    Beside the name of a state stands how many steps it lasts on average.

    Parameters
    ----------
    model : fitted `HMM`
    ax : matplotlib Axes, optional

    Examples
    --------
    >>> import halfseen as hs
    >>> model = hs.HMM.from_params([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], {"x": {"mean": [0, 5], "sd": [1, 1]}})
    >>> [text.get_text() for text in hs.plot_transitions(model).texts]
    ['90%', '10%', '20%', '80%']
    """
    _check(model, "plot_transitions")
    names, trans = short_names(model.state_names_), model.transmat_
    ax = axes(ax, "plot_transitions", (2.6 + 0.75 * len(names), 1.2 + 0.55 * len(names)))
    ax.pcolormesh(trans, cmap="Blues", vmin=0, vmax=1.2, edgecolors="white", linewidth=1.5)
    for (i, j), share in np.ndenumerate(trans):
        colour = PAPER if share > 0.7 else INK
        ax.text(j + 0.5, i + 0.5, percent(float(share)), ha="center", va="center", fontsize=9, color=colour)
    places = np.arange(len(names)) + 0.5
    stays = [f"{name} ({_stay(float(dwell))})" for name, dwell in zip(names, model.dwell_, strict=True)]
    ax.set_yticks(places, stays, parse_math=False)
    ax.set_xticks(places, names, parse_math=False)
    ax.set(ylim=(len(names), 0), xlabel="next state", ylabel="state (steps at a time)")
    ax.tick_params(length=0)
    return plain(ax, "left", "bottom")


# ---- what they share ---------------------------------------------------------------------------------------------


class _When(NamedTuple):
    """Times of steps as places on an axis, in their order."""

    places: Floats
    dates: bool

    def of(self, steps: slice) -> _When:
        return _When(self.places[steps], self.dates)

    def edges(self) -> Floats:
        """Return where steps begin and end: halfway to their neighbours."""
        if len(self.places) == 1:
            return np.array([self.places[0] - 0.5, self.places[0] + 0.5])
        middle = (self.places[1:] + self.places[:-1]) / 2
        first, last = 2 * self.places[0] - middle[0], 2 * self.places[-1] - middle[-1]
        return np.concatenate([[first], middle, [last]])


def _when(seen: ScoredSequences) -> _When | None:
    """Return the times of all steps; None where they are not known."""
    times: NDArray[Any] | None = seen.cut.clock()
    if times is None:
        return None
    if times.dtype.kind == "M":
        return _When(optional("matplotlib.dates", "plot_timeline").date2num(times), True)
    return _When(times.astype(np.float64), False)


def _label_time(ax: Axes, when: _When | None, label: str) -> Axes:
    ax.set_xlabel("step" if when is None else label, parse_math=False)
    if when is not None and when.dates:
        dates = optional("matplotlib.dates", "plot_timeline")
        locator = dates.AutoDateLocator()
        ax.xaxis.set_major_locator(locator)
        ax.xaxis.set_major_formatter(dates.ConciseDateFormatter(locator))
    return ax


def _time_name(model: HMMMethods, time: Any) -> str:
    """Return the name of the column of times."""
    if time is not None:
        return time if isinstance(time, str) else "time"
    return model._marks[1] or "time"


def _check(model: Any, what: str) -> None:
    if not isinstance(model, HMMMethods):
        raise ParameterError(f"{what} draws a fitted HMM, got {type(model).__name__}.")
    check_is_fitted(model)


def _stay(dwell: float) -> str:
    return "never left" if np.isinf(dwell) else number(dwell)


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


def _draw(ax: Axes, model: HMMMethods, resp: Any, states: Any, values: tuple[str, Any] | None, when: _When) -> None:
    edges, floor = when.edges(), np.zeros(len(resp))
    names = short_names(model.state_names_)
    for k, (name, colour) in enumerate(zip(names, class_colours(len(names)), strict=True)):
        top = floor + resp[:, k]
        ax.stairs(top, edges, baseline=floor, fill=True, color=colour, alpha=0.4, label=name)
        at = when.places[states == k]
        ax.plot(at, np.full(len(at), 1.03), "|", color=colour, clip_on=False)
        floor = top
    ax.set(ylabel="probability of each state", xlim=(edges[0], edges[-1]), ylim=(0, 1))
    ax.legend(loc="upper left", bbox_to_anchor=(1.1 if values else 1.01, 1.0), frameon=False)
    if values is not None:
        right = ax.twinx()
        right.plot(when.places, values[1], color=INK, linewidth=1, marker=".", markersize=3)
        right.set_ylabel(short(values[0]), parse_math=False)
