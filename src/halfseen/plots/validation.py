"""Plots of a cross-validated classifier: calibration, rejection, costs; each takes `ax`, returns it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from halfseen.analysis.validation import Validated, calibration, cost_curve, reject_curve, wilson
from halfseen.plots.style import BLUE, GOLD, INK, RED, SOFT, axes, plain, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_calibration(found: Validated, ax: Axes | None = None) -> Axes:
    """Draw the share of correct predictions against their probability; on the dotted line the two agree.

    Examples
    --------
    >>> import halfseen as hs
    >>> X, y = [["a"], ["a"], ["b"], ["b"]] * 5, ["no", "no", "yes", "yes"] * 5
    >>> ax = plot_calibration(cross_validate(hs.NaiveBayes().fit(X, y), X, y))  # doctest: +SKIP
    """
    bins = calibration(found)
    ax = axes(ax, "plot_calibration", (5, 4.4))
    low = max(0.0, min(0.45, *[min(part.sure, part.right) for part in bins]) - 0.05)
    ax.plot([low, 1], [low, 1], ":", color=SOFT, linewidth=1.4, label="perfect calibration")
    sure, right = [part.sure for part in bins], [part.right for part in bins]
    ends = np.array([wilson(part.right, part.n_rows) for part in bins])
    reach = np.abs(ends.T - right)
    ax.errorbar(
        sure, right, reach, fmt="o", color=BLUE, markersize=6, capsize=3, linewidth=1.2, label="rows, 95% range"
    )
    ax.set(xlim=(low, 1.02), ylim=(low, 1.03), xlabel="predicted probability", ylabel="share predicted correctly")
    ax.set_title("Calibration", pad=24)
    ax.legend(frameon=False, loc="lower left", bbox_to_anchor=(0, 1), ncols=2, fontsize=9)
    return _percent_ticks(plain(ax), "both")


def plot_reject(found: Validated, cost: ArrayLike | None = None, ax: Axes | None = None) -> Axes:
    """Draw the accuracy of the decided rows against the share of rows that are decided.

    Examples
    --------
    >>> ax = plot_reject(found)  # doctest: +SKIP
    """
    curve = [point for point in reject_curve(found, cost) if point.coverage > 0]
    ax = axes(ax, "plot_reject", (5, 4.4))
    ax.plot([p.coverage for p in curve], [p.accuracy for p in curve], "-", color=BLUE, linewidth=2)
    last = curve[-1]
    ax.plot([last.coverage], [last.accuracy], "o", color=INK, markersize=6)
    ax.annotate(
        f"all decided: {last.accuracy:.1%} correct",
        (last.coverage, last.accuracy),
        xytext=(-4, -16),
        textcoords="offset points",
        ha="right",
        color=INK,
    )
    lowest = min(p.accuracy for p in curve)
    ax.set(xlim=(0, 1.03), ylim=(max(0.0, lowest - 0.25 * max(1 - lowest, 0.02)), 1.002))
    ax.set(xlabel="share of rows decided, the most certain first", ylabel="share of these decided correctly")
    ax.set_title("Rejecting uncertain rows")
    return _percent_ticks(plain(ax), "both")


def plot_cost(found: Validated, ax: Axes | None = None) -> Axes:
    """Draw for two classes what mistakes cost, as one of the two becomes more expensive than the other.

    Examples
    --------
    >>> ax = plot_cost(found)  # doctest: +SKIP
    """
    curve = cost_curve(found)
    first, second = found.class_names
    ax = axes(ax, "plot_cost", (6, 4.2))
    ratio = [p.ratio for p in curve]
    ax.plot(ratio, [p.always for p in curve], ":", color=GOLD, linewidth=2, label="always the same decision")
    ax.plot(ratio, [p.most_probable for p in curve], "--", color=RED, linewidth=2, label="the most probable class")
    ax.plot(ratio, [p.decided for p in curve], "-", color=BLUE, linewidth=2, label="the least expected cost")
    ax.set_xscale("log")
    ax.set_xticks([0.05, 0.2, 1, 5, 20], ["1/20", "1/5", "1", "5", "20"])
    ax.minorticks_off()
    ax.set_xlabel(f"how many times worse: {short(second)} taken for {short(first)}", parse_math=False)
    ax.set_ylabel("mean cost per row")
    ax.set_title("What mistakes cost")
    ax.set_ylim(bottom=0)
    ax.legend(frameon=False)
    return plain(ax)


def _percent_ticks(ax: Axes, which: str) -> Axes:
    for axis in (ax.xaxis, ax.yaxis) if which == "both" else (ax.yaxis,):
        axis.set_major_formatter(_percent)
    return ax


def _percent(value: float, place: float | None) -> str:
    return f"{100 * value:.4g}%"
