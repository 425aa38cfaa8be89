"""Profiles of classes, clusters or states as a heat map: how each differs from the whole."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from halfseen.analysis.contrast import contrasts, strongest
from halfseen.analysis.scored_table import check_mixture
from halfseen.estimators import options
from halfseen.kinds.records import Contrast
from halfseen.kinds.wording import percent
from halfseen.plots.style import INK, PAPER, axes, plain, short, short_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Profiled(NamedTuple):
    """The components of a model, and how each differs from the whole; `word` is what they are called."""

    names: Sequence[str]
    shares: Sequence[float | None]
    rows: list[Contrast]
    word: str


def profiled(model: Any) -> Profiled:
    """Return the profiles of a model over a table, of clusters, or of states."""
    own = getattr(model, "_profiled", None)
    if own is not None:
        check_is_fitted(model)
        return Profiled(*own())
    check_mixture(model)
    return Profiled(model.class_names_, model.weights_.tolist(), contrasts(model), "class")


def plot_profiles(model: Any, ax: Axes | None = None, *, top: int = 30) -> Axes:
    """Draw how each class, cluster or state differs from the whole: a row per number or category, a column per class.

    Colour is the distance from the whole in its standard deviations; the text is the value in the column's own unit.
    `plot_profile_lines` draws lines with intervals.

    Parameters
    ----------
    model : fitted LatentClass, GaussianMixture, NaiveBayes, GaussianClassifier, KMeans or HMM
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.
    top : int, default 30
        Most rows to show: those that differ most between the classes, in the order of the table.

    Examples
    --------
    >>> import halfseen as hs
    >>> model = hs.LatentClass.from_params([0.5, 0.5], {"x": {"a": [0.9, 0.3], "b": [0.1, 0.7]}})
    >>> ax = hs.plot_profiles(model)
    >>> [text.get_text() for text in ax.texts]
    ['90%', '30%', '10%', '70%']
    """
    names, shares, rows, word = profiled(model)
    shown = strongest(rows, options.whole("top", top))
    titles = [
        name if share is None else f"{name}\n{percent(share)}"
        for name, share in zip(short_names(names), shares, strict=True)
    ]
    size = (2.6 + 0.95 * len(names), 1.4 + 0.32 * len(shown))
    ax = draw_profiles(shown, titles, axes(ax, "plot_profiles", size), word)
    left_out = len(rows) - len(shown)
    called = {"class": "classes"}.get(word, f"{word}s")
    ax.set_title(f"Profiles of the {called}" + (f" ({left_out} weaker rows left out)" if left_out else ""))
    return ax


def draw_profiles(rows: Sequence[Contrast], names: Sequence[str], ax: Axes, word: str = "class") -> Axes:
    """Draw a heat map with the values as text."""
    values = np.array([[*row.contrast] for row in rows]).reshape(len(rows), len(names))
    reach = max(1.0, float(np.abs(values).max(initial=0.0)))
    ax.pcolormesh(values, cmap="RdBu_r", vmin=-reach, vmax=reach, edgecolors="white", linewidth=1.5)
    for i, row in enumerate(rows):
        for k, text in enumerate(row.shown):
            colour = PAPER if abs(values[i, k]) > 0.6 * reach else INK
            style: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 9, "parse_math": False}
            ax.text(k + 0.5, i + 0.5, text, color=colour, **style)
    ax.set_xticks(np.arange(len(names)) + 0.5, [short(name) for name in names], parse_math=False)
    labels = [
        f"{label}  (all {row.overall})"
        for label, row in zip(short_names([row.label for row in rows], 34), rows, strict=True)
    ]
    ax.set_yticks(np.arange(len(rows)) + 0.5, labels, parse_math=False)
    ax.set(ylim=(len(rows), 0), xlabel=f"{word}, and its share", ylabel="column or category")
    ax.tick_params(length=0)
    ax.xaxis.set_ticks_position("top")
    ax.xaxis.set_label_position("top")
    return plain(ax, "left", "bottom")
