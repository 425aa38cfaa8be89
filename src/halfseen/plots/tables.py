"""Plots of a fit: number of classes, objective, certainty, missing values; profiles are in `profiles`.

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

from halfseen.analysis.missing_values import MissingValues, count, missing_values
from halfseen.analysis.scored_table import check_mixture, look
from halfseen.errors import ParameterError
from halfseen.estimators.base import Estimator
from halfseen.estimators.convergence import ended
from halfseen.kinds.wording import percent
from halfseen.leaves.leaf import Floats
from halfseen.plots.style import (
    BLUE,
    FAINT,
    GOLD,
    GRADES,
    INK,
    LINES,
    PAPER,
    RED,
    SOFT,
    axes,
    class_colours,
    plain,
    short,
    short_names,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CERTAINTY = (0.7, 0.9, 0.99)
GAPS = (0.1, 0.3, 0.5)  # 0.5: twice as near to its own centre as to the next
CRITERIA = {"bic": (BLUE, "o", "-"), "aic": (RED, "s", "--"), "icl": (GOLD, "^", ":")}
MOST_CERTAIN = 20_000  # rows of a plot of certainty
MOST_PATTERNS = 12
MOST_COLUMNS = 30


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
    >>> ax = hs.plot_selection(hs.LatentClass(range(1, 4), random_state=0).fit(X))
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
    """Draw what the fit improves after each accepted step: the objective, or of k-means the inertia.

    Parameters
    ----------
    model : fitted model of any family
    ax : matplotlib Axes, optional

    Examples
    --------
    >>> import halfseen as hs
    >>> X = [["a", 1.0], ["b", 5.0], ["a", 1.5], ["b", 5.5]] * 5
    >>> ax = hs.plot_trace(hs.LatentClass(2, random_state=0).fit(X))
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('step', 'objective: log-likelihood + log-prior')
    """
    if not isinstance(model, Estimator):
        raise ParameterError(f"plot_trace draws a fitted model of halfseen, got {type(model).__name__}.")
    check_is_fitted(model)
    if not getattr(model, "trace_", None):
        raise ParameterError("plot_trace: this model has no trace, as it was not fitted to a whole table by fit.")
    ax = draw_trace(model.trace_, axes(ax, "plot_trace", (7, 4)))
    what = "Inertia" if hasattr(model, "inertia_") else "Objective"
    if what == "Inertia":
        ax.set_ylabel("inertia: sum of squared distances")
    ax.set_title(f"{what} of the best start; {ended(model.stop_reason_, model.n_iter_)}")
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
    >>> ax = hs.plot_certainty(model, [[0.3], [1.8], [4.4], [5.1]])
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
    labels = [f"{name} ({_rows(n, of[0])})" for name, n in zip(short_names(names), total.tolist(), strict=True)]
    ax.set_yticks(range(len(names)), labels, parse_math=False)
    ax.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0%", "25%", "50%", "75%", "100%"])
    ax.set(xlim=(0, 1), ylim=(len(names) - 0.4, -0.6), xlabel=f"share of the {of[0]}s of each {of[1]}", ylabel=of[1])
    ax.legend(frameon=False, ncols=4, loc="lower left", bbox_to_anchor=(0, 1), fontsize=9, handlelength=1.2)
    ax.tick_params(axis="y", length=0)
    return plain(ax, "left")


def plot_uncertainty(model: Any, X: Any, ax: Axes | None = None) -> Axes:
    """Draw how certain rows are, class by class: a line falls from the most certain row of a class to the least.

    The height is the probability of the most probable class of a row, the place its rank among the rows of that class.

    Parameters
    ----------
    model : fitted LatentClass, GaussianMixture, NaiveBayes or GaussianClassifier
    X : table
    ax : matplotlib Axes, optional

    Examples
    --------
    >>> import halfseen as hs
    >>> model = hs.LatentClass.from_params([0.5, 0.5], {"x": {"mean": [0, 4], "sd": [1, 1]}})
    >>> ax = hs.plot_uncertainty(model, [[0.3], [1.8], [4.4], [5.1]])
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['class 0 (2 rows, 1 below 0.7)', 'class 1 (2 rows)']
    """
    seen = look(model, X, most=MOST_CERTAIN)
    ax = axes(ax, "plot_uncertainty", (7, 4))
    draw_uncertainty(seen.proba, seen.class_names, seen.table.weight, ax)
    sample = f" (a random sample of {len(seen.rows):,} rows)" if seen.is_sample else ""
    ax.set_title(f"Certainty of the rows of each class{sample}")
    return ax


def draw_uncertainty(proba: Floats, names: Sequence[str], weight: Floats, ax: Axes) -> Axes:
    """Draw the highest probability of each row, from the most to the least certain of each class."""
    best, owner = proba.max(axis=1), proba.argmax(axis=1)
    colours = class_colours(len(names))
    for k, (name, colour) in enumerate(zip(short_names(names), colours, strict=True)):
        own = np.flatnonzero((owner == k) & (weight > 0))
        if not len(own):
            ax.plot([], [], color=colour, label=f"{name} (0 rows)")
            continue
        order = own[np.argsort(-best[own], kind="stable")]
        reached = np.cumsum(weight[order]) / weight[order].sum()
        unsure = float(weight[order][best[order] < CERTAINTY[0]].sum())
        told = f", {unsure:,.0f} below {CERTAINTY[0]}" if unsure else ""
        line: dict[str, Any] = {"color": colour, "linestyle": LINES[k % len(LINES)], "drawstyle": "steps-pre"}
        label = f"{name} ({_rows(float(weight[order].sum()))}{told})"
        ax.plot(np.r_[0, reached], np.r_[best[order][0], best[order]], label=label, **line)
    ax.axhline(CERTAINTY[0], color=SOFT, linewidth=1, linestyle=":")
    low = min(1 / proba.shape[1], float(best.min()))
    ax.set(xlim=(0, 1), ylim=(low - 0.02, 1.02), ylabel="probability of the most probable class")
    ax.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0%", "25%", "50%", "75%", "100%"])
    ax.set_xlabel("share of the rows of the class, the most certain first")
    for text in ax.legend(frameon=False, loc="lower left", fontsize=9).get_texts():
        text.set_parse_math(False)
    return plain(ax)


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
    >>> ax = hs.plot_missing([["a", 1.5], [None, 2.5], ["b", None]])
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
