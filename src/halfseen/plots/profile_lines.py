"""Profiles of classes as lines: a point for each number or category, a line for each class, intervals where given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np

from halfseen.analysis.contrast import strongest
from halfseen.errors import ParameterError
from halfseen.estimators import options
from halfseen.kinds.records import Contrast
from halfseen.leaves.leaf import Floats
from halfseen.plots.profiles import profiled
from halfseen.plots.style import (
    FAINT,
    SOFT,
    axes,
    class_colours,
    class_markers,
    plain,
    share_of,
    short_names,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FIRST = ("mean", "rate", "centre")  # the parameter of a number that a profile shows
ASIDE = 0.12  # how far the points of classes stand apart, in distances between items


def plot_profile_lines(model: Any, ax: Axes | None = None, *, errors: Any = None, top: int = 12) -> Axes:
    """Draw the profiles of classes, clusters or states as lines over numbers and categories, with intervals.

    Where only categories are shown, the height is their probability in each class; else it is the distance from the
    whole table in its standard deviations, so that columns of different units share one axis. Of a column with two
    categories one is shown.

    Parameters
    ----------
    model : fitted LatentClass, GaussianMixture, NaiveBayes, GaussianClassifier, KMeans or HMM
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.
    errors : StandardErrors or table, optional
        Intervals to draw: what `standard_errors(model, X)` or `bootstrap` returns, or its frame. A parameter without an
        interval (at a boundary, or fixed) has a point alone.
    top : int, default 12
        Most numbers and categories to show: those that differ most between the classes, in the order of the table.

    Examples
    --------
    >>> import halfseen as hs
    >>> votes = hs.load_votes().drop(columns="party").iloc[:, 3:8]
    >>> model = hs.LatentClass(2, n_init=2, random_state=0).fit(votes)
    >>> ax = hs.plot_profile_lines(model, errors=hs.standard_errors(model, votes))
    >>> ax.get_ylabel(), [label.get_text() for label in ax.get_xticklabels()][0]
    ('probability in each class', 'physician_fe…eze = y')
    """
    names, shares, rows, word = profiled(model)
    told = _one_of_two(rows)
    shown = strongest(told, options.whole("top", top))
    ax = axes(ax, "plot_profile_lines", (2.4 + 0.62 * len(shown), 4.2))
    labels = [share_of(name, share) for name, share in zip(short_names(names), shares, strict=True)]
    intervals = None if errors is None else read_intervals(errors, names)
    draw_profile_lines(shown, labels, ax, intervals, names, word)
    if len(shown) < len(told):
        ax.set_title(f"{len(shown)} of {len(told)} numbers and categories", color=SOFT, fontsize=9, loc="right")
    return ax


def _one_of_two(rows: Sequence[Contrast]) -> list[Contrast]:
    """Leave the first of two categories of a column out: it is what the other is not."""
    count: dict[str, int] = {}
    for row in rows:
        count[row.column] = count.get(row.column, 0) + bool(row.category)
    found, passed = [], set()
    for row in rows:
        if row.category and row.kind.has_categories and count[row.column] == 2 and row.column not in passed:
            passed.add(row.column)
            continue
        found.append(row)
    return found


Intervals = dict[tuple[str, str, str], tuple[float, float]]  # (column, value, class) -> ends


def read_intervals(errors: Any, names: Sequence[str]) -> Intervals:
    """Return intervals by column, value and class; refuse what has none, or those of another model."""
    frame = nw.from_native(
        errors.to_frame() if hasattr(errors, "to_frame") else errors, eager_only=True, pass_through=True
    )
    if not isinstance(frame, nw.DataFrame) or not {"column", "value", "low", "high"} <= set(frame.columns):
        raise ParameterError(
            f"errors={type(errors).__name__} has no intervals. Give what standard_errors(model, X) returns."
        )
    called = next((name for name in ("class", "state", "cluster", "component") if name in frame.columns), None)
    found = {}
    for row in frame.rows(named=True):
        low, high = (np.nan if row[end] is None else float(row[end]) for end in ("low", "high"))
        if called is not None and np.isfinite([low, high]).all():
            found[str(row["column"]), str(row["value"]), str(row[called])] = (low, high)
    strangers = {key[2] for key in found} - set(names)
    if strangers:
        raise ParameterError(
            f"errors: intervals of {sorted(strangers)[0]!r}, but the model has {', '.join(names)}. Make them with this "
            "model, after it was renamed."
        )
    return found


def draw_profile_lines(
    rows: Sequence[Contrast],
    labels: Sequence[str],
    ax: Axes,
    intervals: Intervals | None = None,
    names: Sequence[str] = (),
    word: str = "class",
) -> Axes:
    """Draw a line for each class over numbers and categories."""
    shares = all(row.category and row.kind.has_categories for row in rows)
    heights = np.array([row.values if shares else row.contrast for row in rows]).reshape(len(rows), len(labels))
    ax.axhline(0, color=FAINT, linewidth=1.2, zorder=0)
    places = np.arange(len(rows))
    for k, (colour, marker) in enumerate(zip(class_colours(len(labels)), class_markers(len(labels)), strict=True)):
        at = places + ASIDE * (k - (len(labels) - 1) / 2) / max(1, len(labels) / 4)
        ax.plot(at, heights[:, k], color=colour, marker=marker, markersize=6, linewidth=1.5, alpha=0.9, label=labels[k])
        for i, row in enumerate(rows if intervals is not None else ()):
            ends = _ends(row, k, names[k], intervals or {}, shares)
            if ends is not None:
                ax.vlines(at[i], *ends, color=colour, linewidth=2.4, alpha=0.55)
    ticks = short_names([row.label for row in rows], 20)
    ax.set_xticks(places, ticks, rotation=40, ha="right", rotation_mode="anchor", parse_math=False)
    ax.set_ylabel(f"probability in each {word}" if shares else "standard deviations from the whole")
    if shares:
        ax.set_ylim(-0.03, 1.03)
    found = ax.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=9)
    for text in found.get_texts():
        text.set_parse_math(False)
    return plain(ax)


def _ends(row: Contrast, k: int, name: str, intervals: Intervals, shares: bool) -> Floats | None:
    """Return the interval of a value as heights; None where it has none."""
    values = [row.category] if row.category else list(FIRST)
    ends = next(
        (intervals[row.column, value, name] for value in values if (row.column, value, name) in intervals), None
    )
    if ends is None:
        return None
    if shares:
        return np.array(ends)
    low, high = int(row.values.argmin()), int(row.values.argmax())
    reach = row.values[high] - row.values[low]
    unit = (row.contrast[high] - row.contrast[low]) / reach if reach > 0 else 0.0  # contrasts are linear in the values
    return row.contrast[k] + unit * (np.array(ends) - row.values[k])
