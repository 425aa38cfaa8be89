"""Plots of a fitted mixture: profiles, number of classes, objective, certainty, missing values.

Every function takes `ax` and returns it, draws a new figure without it, and writes in text what it shows in
colour. The `draw_*` functions below take plain values; the `plot_*` functions find these in a model or a table.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
from sklearn.utils.validation import check_is_fitted

from halfseen.analysis.contrast import contrasts
from halfseen.analysis.missing_values import MissingValues, count, missing_values
from halfseen.analysis.scored_table import check_mixture, look
from halfseen.errors import ParameterError
from halfseen.estimators import options
from halfseen.estimators.convergence import ended
from halfseen.kinds.records import Contrast
from halfseen.kinds.wording import percent
from halfseen.leaves.leaf import Floats
from halfseen.plots.style import BLUE, FAINT, GOLD, GRADES, INK, PAPER, RED, SOFT, axes, plain, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CERTAINTY = (0.7, 0.9, 0.99)
GAPS = (0.1, 0.3, 0.5)  # 0.5: twice as near to its own centre as to the next
CRITERIA = {"bic": (BLUE, "o", "-"), "aic": (RED, "s", "--"), "icl": (GOLD, "^", ":")}
MOST_PATTERNS = 12
MOST_COLUMNS = 30


def plot_profiles(model: Any, ax: Axes | None = None, *, top: int = 30) -> Axes:
    """Draw how each class differs from the whole: a row per number or category, a column per class.

    Colour is the distance from the whole in its standard deviations; the text is the value in the column's own unit.

    Parameters
    ----------
    model : fitted LatentClass or NaiveBayes
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.
    top : int, default 30
        Most rows to show: those that differ most between the classes, in the order of the table.

    Examples
    --------
    >>> import halfseen as hs
    >>> model = hs.LatentClass.from_params([0.5, 0.5], {"x": {"a": [0.9, 0.3], "b": [0.1, 0.7]}})
    >>> ax = hs.plot_profiles(model)  # doctest: +SKIP
    """
    check_mixture(model)
    rows = contrasts(model)
    shown = strongest(rows, options.whole("top", top))
    names = [f"{name}\n{percent(share)}" for name, share in zip(model.class_names_, model.weights_, strict=True)]
    size = (2.6 + 0.95 * len(names), 1.4 + 0.32 * len(shown))
    ax = draw_profiles(shown, names, axes(ax, "plot_profiles", size))
    left_out = len(rows) - len(shown)
    ax.set_title("Profiles of the classes" + (f" ({left_out} weaker rows left out)" if left_out else ""))
    return ax


def strongest(rows: Sequence[Contrast], top: int) -> list[Contrast]:
    """Return the rows that differ most between the classes, in their order."""
    order = sorted(range(len(rows)), key=lambda i: -rows[i].spread)[:top]
    return [rows[i] for i in sorted(order)]


def draw_profiles(rows: Sequence[Contrast], names: Sequence[str], ax: Axes) -> Axes:
    """Draw a heat map with the values as text."""
    values = np.array([[*row.contrast] for row in rows]).reshape(len(rows), len(names))
    reach = max(1.0, float(np.abs(values).max(initial=0.0)))
    ax.pcolormesh(values, cmap="RdBu_r", vmin=-reach, vmax=reach, edgecolors="white", linewidth=1.5)
    for i, row in enumerate(rows):
        for k, text in enumerate(row.shown):
            dark = abs(values[i, k]) > 0.6 * reach
            ax.text(
                k + 0.5,
                i + 0.5,
                text,
                ha="center",
                va="center",
                fontsize=9,
                color=PAPER if dark else INK,
                parse_math=False,
            )
    ax.set_xticks(np.arange(len(names)) + 0.5, [short(name) for name in names], parse_math=False)
    ax.set_yticks(
        np.arange(len(rows)) + 0.5, [f"{short(row.label, 34)}  (all {row.overall})" for row in rows], parse_math=False
    )
    ax.set(ylim=(len(rows), 0), xlabel="class, and its share", ylabel="column, or category of a column")
    ax.tick_params(length=0)
    ax.xaxis.set_ticks_position("top")
    ax.xaxis.set_label_position("top")
    return plain(ax, "left", "bottom")


def plot_selection(model: Any, ax: Axes | None = None) -> Axes:
    """Draw the information criteria against the number of classes or states; the number chosen is ringed.

    Of several shapes of covariance there is a line for each, of the criterion that chose.

    Parameters
    ----------
    model : LatentClass, GaussianMixture or HMM fitted with several, such as n_components=range(1, 9)
    ax : matplotlib Axes, optional

    Examples
    --------
    >>> import halfseen as hs
    >>> X = [["a", 1.0], ["b", 5.0], ["a", 1.5], ["b", 5.5]] * 5
    >>> ax = hs.plot_selection(hs.LatentClass(range(1, 4), random_state=0).fit(X))  # doctest: +SKIP
    """
    what = _components_called(model)
    found = getattr(model, "selection_", None)
    tried = {} if found is None else nw.from_native(found).to_dict(as_series=False)
    if len(tried.get("n_components", ())) < 2:
        raise ParameterError(
            "plot_selection: there is nothing to compare, as one number of classes was tried. "
            "Fit LatentClass with several, such as n_components=range(1, 9)."
        )
    ax = draw_selection(tried, model.criterion, axes(ax, "plot_selection", (7, 4)), what)
    ax.set_title(f"How many {what}?" if len(set(tried["n_components"])) > 1 else "Which covariance?")
    return ax


def _components_called(model: Any) -> str:
    """Return what the components of a model are called, "classes" or "states"; refuse what EM does not fit."""
    called: str | None = getattr(model, "_components_called", None)
    if called is None:
        raise ParameterError(
            f"{type(model).__name__} is not a fitted mixture over a table, such as LatentClass, or HMM."
        )
    check_is_fitted(model)
    return called


def draw_selection(tried: dict[str, list[Any]], criterion: str, ax: Axes, what: str = "classes") -> Axes:
    """Draw criteria against numbers of classes; of several shapes of covariance, the criterion of each."""
    sizes, shapes = tried["n_components"], tried.get("covariance")
    one_size = len(set(sizes)) == 1
    places = list(range(len(sizes))) if one_size else sizes
    if shapes is None or one_size:
        for name, (colour, marker, dashes) in CRITERIA.items():
            width = 2.2 if name == criterion else 1.4
            ax.plot(places, tried[name], dashes, marker=marker, color=colour, linewidth=width, label=name.upper())
    else:
        for shape, marker in zip(dict.fromkeys(shapes), "os^Dvp", strict=False):
            own = [i for i, other in enumerate(shapes) if other == shape]
            ax.plot([sizes[i] for i in own], [tried[criterion][i] for i in own], "-", marker=marker, label=shape)
    chosen = tried["chosen"].index(True)
    name = str(sizes[chosen]) if shapes is None else f"{shapes[chosen]}, {sizes[chosen]}"
    place = (places[chosen], tried[criterion][chosen])
    ax.plot(*place, "o", markersize=16, markerfacecolor="none", markeredgecolor=INK, markeredgewidth=1.6)
    ax.annotate(f"{name} chosen", place, xytext=(0, 15), textcoords="offset points", ha="center", color=INK)
    ax.set_xticks(places, shapes if one_size and shapes is not None else None)
    label = "criterion" if shapes is None or one_size else criterion.upper()
    ax.set(xlabel="covariance" if one_size else f"number of {what}", ylabel=f"{label}, lower is better")
    ax.ticklabel_format(axis="y", useOffset=False, style="plain")
    ax.margins(y=0.18)
    ax.legend(frameon=False)
    return plain(ax)


def plot_trace(model: Any, ax: Axes | None = None) -> Axes:
    """Draw the objective after each accepted step of the fit.

    Parameters
    ----------
    model : model fitted to a whole table
    ax : matplotlib Axes, optional

    Examples
    --------
    >>> import halfseen as hs
    >>> X = [["a", 1.0], ["b", 5.0], ["a", 1.5], ["b", 5.5]] * 5
    >>> ax = hs.plot_trace(hs.LatentClass(2, random_state=0).fit(X))  # doctest: +SKIP
    """
    _components_called(model)
    if not getattr(model, "trace_", None):
        raise ParameterError("plot_trace: this model has no trace, as it was not fitted to a whole table by fit.")
    ax = draw_trace(model.trace_, axes(ax, "plot_trace", (7, 4)))
    ax.set_title(f"Objective of the best start; {ended(model.stop_reason_, model.n_iter_)}")
    return ax


def draw_trace(trace: Sequence[float], ax: Axes) -> Axes:
    """Draw an objective step by step."""
    steps = np.arange(1, len(trace) + 1)
    ax.plot(steps, trace, "-o", color=BLUE, markersize=4, linewidth=1.6)
    ax.axhline(trace[-1], color=SOFT, linewidth=1, linestyle=":")
    ax.annotate(
        f"{trace[-1]:,.1f}".replace("-", "−"),
        (steps[-1], trace[-1]),
        xytext=(0, -16),
        textcoords="offset points",
        ha="right",
        color=INK,
    )
    ax.set(xlabel="step", ylabel="objective: log-likelihood + log-prior")
    ax.set_xticks(_whole_ticks(len(trace)))
    ax.ticklabel_format(axis="y", useOffset=False, style="plain")
    ax.margins(y=0.12)
    return plain(ax)


def plot_certainty(model: Any, X: Any, ax: Axes | None = None) -> Axes:
    """Draw how certain the classes of the rows are: for each class, shares of its rows by their highest posterior.

    Parameters
    ----------
    model : fitted LatentClass or NaiveBayes
    X : table
    ax : matplotlib Axes, optional

    Examples
    --------
    >>> import halfseen as hs
    >>> model = hs.LatentClass.from_params([0.5, 0.5], {"x": {"mean": [0, 4], "sd": [1, 1]}})
    >>> ax = hs.plot_certainty(model, [[0.3], [1.8], [4.4], [5.1]])  # doctest: +SKIP
    """
    seen = look(model, X)
    names = seen.class_names
    ax = draw_certainty(seen.proba, names, seen.table.weight, axes(ax, "plot_certainty", (7, 1.7 + 0.42 * len(names))))
    ax.set_title("Certainty of the classes", pad=26)
    return ax


def draw_certainty(
    proba: Floats, names: Sequence[str], weight: Floats, ax: Axes, of: tuple[str, str] = ("row", "class")
) -> Axes:
    """Draw a bar per class, cut into grades of certainty; `of` names what is counted, and what it belongs to."""
    grade = np.searchsorted(CERTAINTY, proba.max(axis=1), side="right")
    return _draw_grades(grade, [word for word, _, _ in GRADES], proba.argmax(axis=1), names, weight, of, ax)


def draw_gaps(gap: Floats, owner: Any, names: Sequence[str], weight: Floats, ax: Axes) -> Axes:
    """Draw a bar per cluster, cut into grades of how much nearer rows are to their own centre than to the next."""
    grade = np.searchsorted(GAPS, gap, side="right")
    words = [f"below {GAPS[0]}", *(f"{low} to {high}" for low, high in pairwise(GAPS)), f"{GAPS[-1]} or more"]
    return _draw_grades(grade, words, owner, names, weight, ("row", "cluster"), ax)


def _draw_grades(
    grade: Any, words: Sequence[str], owner: Any, names: Sequence[str], weight: Floats, of: tuple[str, str], ax: Axes
) -> Axes:
    """Draw a bar per owner, cut into the shares of its rows in each grade."""
    counts = np.zeros((len(names), len(GRADES)))
    np.add.at(counts, (owner, grade), weight)
    total = counts.sum(axis=1)
    share = counts / np.where(total > 0, total, 1.0)[:, None]
    left = np.zeros(len(names))
    for g in reversed(range(len(GRADES))):
        word, (_, colour, ink) = words[g], GRADES[g]
        ax.barh(range(len(names)), share[:, g], left=left, color=colour, edgecolor=PAPER, height=0.72, label=word)
        for k in np.flatnonzero(share[:, g] >= 0.07).tolist():
            ax.text(left[k] + share[k, g] / 2, k, percent(share[k, g]), ha="center", va="center", fontsize=9, color=ink)
        left += share[:, g]
    labels = [f"{short(name)} ({_rows(n, of[0])})" for name, n in zip(names, total.tolist(), strict=True)]
    ax.set_yticks(range(len(names)), labels, parse_math=False)
    ax.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0%", "25%", "50%", "75%", "100%"])
    ax.set(xlim=(0, 1), ylim=(len(names) - 0.4, -0.6), xlabel=f"share of the {of[0]}s of each {of[1]}", ylabel=of[1])
    ax.legend(frameon=False, ncols=4, loc="lower left", bbox_to_anchor=(0, 1), fontsize=9, handlelength=1.2)
    ax.tick_params(axis="y", length=0)
    return plain(ax, "left")


def plot_missing(X: Any, ax: Axes | None = None, *, model: Any = None) -> Axes:
    """Draw a map of the missing values: a row per pattern of missing cells, a column per column.

    Parameters
    ----------
    X : table
    ax : matplotlib Axes, optional
    model : fitted model, optional
        Encode the table as this model does: categories that it does not know count as missing.

    Examples
    --------
    >>> import halfseen as hs
    >>> ax = hs.plot_missing([["a", 1.5], [None, 2.5], ["b", None]])  # doctest: +SKIP
    """
    if model is None:
        found = missing_values(X)
    else:
        check_mixture(model)
        table = model._encode(X)
        found = count(table.missing, table.schema.names, table.weight)
    n_patterns, n_columns = min(len(found.patterns), MOST_PATTERNS), min(len(found.names), MOST_COLUMNS)
    ax = draw_missing(found, axes(ax, "plot_missing", (2.6 + 0.5 * n_columns, 2.2 + 0.3 * n_patterns)))
    ax.set_title(missing_title(found))
    return ax


def missing_title(found: MissingValues) -> str:
    """Return in one line how many values are missing."""
    if not found.n_missing:
        return "No missing values"
    return f"Missing values: {percent(found.total_share)} of the cells, in {len(found.patterns)} patterns"


def draw_missing(found: MissingValues, ax: Axes) -> Axes:
    """Draw the most frequent patterns of missing values; if they cover few rows, the share missing by column."""
    patterns = found.patterns[:MOST_PATTERNS]
    columns = list(range(len(found.names)))
    if len(columns) > MOST_COLUMNS:
        columns = sorted(sorted(columns, key=lambda d: -found.share[d])[:MOST_COLUMNS])
    if sum(pattern.n_rows for pattern in patterns) < found.n_rows / 2:
        return _draw_shares(found, columns, ax)
    missing = np.array([[found.names[d] in pattern.missing for d in columns] for pattern in patterns])
    for i, d in np.ndindex(missing.shape):
        ax.barh(i, 0.92, left=d - 0.46, height=0.84, color=BLUE if missing[i, d] else FAINT)
        if missing[i, d]:
            ax.text(d, i, "×", ha="center", va="center", color=PAPER, fontsize=11)
    names = [f"{short(found.names[d], 18)} ({percent(float(found.share[d]))})" for d in columns]
    ax.set_xticks(range(len(columns)), names, rotation=40, ha="right", rotation_mode="anchor", parse_math=False)
    shares = [f"{_rows(pattern.n_rows)}, {percent(pattern.n_rows / found.n_rows)}" for pattern in patterns]
    ax.set_yticks(range(len(patterns)), shares)
    ax.set(xlim=(-0.6, len(columns) - 0.4), ylim=(len(patterns) - 0.4, -0.6))
    left_out = len(found.names) - len(columns)
    ax.set_xlabel("column (share missing), × missing" + (f"; {left_out} columns left out" if left_out else ""))
    rest = len(found.patterns) - len(patterns)
    ax.set_ylabel("pattern" + (f" ({rest} rarer left out)" if rest else ""))
    ax.tick_params(length=0)
    return plain(ax, "left", "bottom")


def _draw_shares(found: MissingValues, columns: Sequence[int], ax: Axes) -> Axes:
    """Draw the share of each column that is missing, as bars."""
    shares = [float(found.share[d]) for d in columns]
    ax.bar(range(len(columns)), shares, color=BLUE, width=0.8)
    ax.set_xticks(
        range(len(columns)),
        [short(found.names[d], 18) for d in columns],
        rotation=40,
        ha="right",
        rotation_mode="anchor",
        parse_math=False,
    )
    top = max(shares)
    ax.set_yticks([0, top / 2, top], [f"{100 * tick:.3g}%" for tick in (0, top / 2, top)])
    left_out = len(found.names) - len(columns)
    ax.set_xlabel("column" + (f"; {left_out} with fewer missing values left out" if left_out else ""))
    ax.set_ylabel("share missing")
    return plain(ax)


# ---- what they share ---------------------------------------------------------------------------------------------


def _whole_ticks(last: int) -> list[int]:
    """Return some six whole numbers from 1 up to the last step."""
    step = max(1, round(last / 5))
    return [1, *range(1 + step, last + 1, step)]


def _rows(n_rows: float, unit: str = "row") -> str:
    return f"1 {unit}" if round(n_rows) == 1 else f"{n_rows:,.0f} {unit}s"
