"""Rows over pairs of columns, in the colours of their classes; components that are normal as ellipses.

`plot_pairs` finds the columns that separate the classes most (`Scatter.separation`); `draw_pairs` draws any.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from halfseen.analysis.scored_table import Seen, class_shares, look
from halfseen.errors import ParameterError
from halfseen.estimators import options
from halfseen.estimators.table import profile
from halfseen.estimators.table.scatter import Scatter, ellipses, levels_of, places, separations
from halfseen.kinds.wording import percent
from halfseen.leaves.leaf import Floats
from halfseen.optional import optional
from halfseen.plots.style import INK, SOFT, axes, class_colours, class_markers, plain, short, short_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_ROWS = 3000  # points; more overlap too much
MOST_LEVELS = 12  # categories with a name at the axis
LEVELS = (1.0, 2.0)  # standard deviations at which ellipses are drawn
UNSURE = 0.7  # rows whose most probable class is below this are hollow
JITTER = 0.28  # how far points of one category spread, in distances between categories
GAP = 0.06  # between panels, in shares of the whole


def plot_pairs(
    model: Any,
    X: Any,
    ax: Axes | None = None,
    *,
    columns: Sequence[str] | None = None,
    top: int = 3,
    random_state: int = 0,
) -> Axes:
    """Draw rows over pairs of the columns that separate the classes most.

    Colour and marker are the most probable class; a row is hollow where that has a probability below 0.7. Ellipses
    are at one and two standard deviations of columns that are normal in each class. A row with one of two values
    missing is a mark at the edge, at the value that is there; one with both missing is left out. Both are counted in
    the plot. Categories are positions with some jitter; columns of text cannot be drawn.

    Parameters
    ----------
    model : fitted LatentClass, GaussianMixture, NaiveBayes, GaussianClassifier, KMeans or HMM
    X : table
        Rows to draw; of more than 3,000 a random sample.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default. With more than two columns the panels are ``ax.child_axes``.
    columns : names of columns, optional
        Which to draw, two or more; by default those that separate the classes most.
    top : int, default 3
        How many columns to choose.
    random_state : int
        Seed of the sample and of the jitter.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import halfseen as hs
    >>> birds = hs.load_penguins()[["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"]]
    >>> model = hs.GaussianMixture(3, n_init=2, random_state=0).fit(birds)
    >>> ax = hs.plot_pairs(model, birds)
    >>> [(panel.get_xlabel(), panel.get_ylabel()) for panel in ax.child_axes][0]
    ('', 'bill_length_mm')
    """
    seen = scatter(model, X, MOST_ROWS, random_state)
    chosen = _chosen(seen, columns, options.whole("top", top))
    size = (6.4, 5.2) if len(chosen) == 2 else (1.6 + 2.7 * (len(chosen) - 1), 1.2 + 2.5 * (len(chosen) - 1))
    return draw_pairs(seen, axes(ax, "plot_pairs", size), chosen, random_state)


def scatter(model: Any, X: Any, most: int = MOST_ROWS, random_state: int = 0) -> Scatter:
    """Return the rows of a table as points, or a random sample of `most` of them."""
    own = getattr(model, "_scatter", None)
    if own is not None:
        check_is_fitted(model)
        found: Scatter = own(X, most, random_state)
        return found
    return scatter_of(look(model, X, most=most, random_state=random_state))


def scatter_of(seen: Seen) -> Scatter:
    """Return the rows of a table that a mixture has scored as points."""
    model, (columns, values) = seen.model, places(seen.table)
    separation = separations(profile.fitted_blocks(model), model.weights_, columns)
    return Scatter(
        [seen.table.schema.names[j] for j in columns],
        levels_of(seen.table.schema, columns),
        values,
        seen.proba,
        seen.class_names,
        class_shares(model),
        separation,
        *ellipses(profile.fitted_blocks(model), columns),
        model._by_class(np.eye(len(model.weights_))).argmax(axis=1).tolist(),
        seen.n_given,
        seen.rows,
    )


def _chosen(seen: Scatter, columns: Sequence[str] | None, top: int) -> list[int]:
    """Return the columns to draw, by number."""
    if columns is None:
        if len(seen.names) < 2:
            raise ParameterError(
                f"plot_pairs needs two columns of numbers or categories; the model has {len(seen.names)}. "
                "plot_mixture draws one column of numbers."
            )
        return seen.best(max(2, top))
    wanted = [columns] if isinstance(columns, str) else list(columns)
    unknown = [name for name in wanted if name not in seen.names]
    if unknown or len(set(wanted)) < 2:
        raise ParameterError(f"columns={columns!r} are not two or more of the columns: {', '.join(seen.names)}.")
    return [seen.names.index(name) for name in dict.fromkeys(wanted)]


# ---- drawing -----------------------------------------------------------------------------------------------------


class _Points(NamedTuple):
    """What all panels share: places with jitter, most probable classes, and which of them are uncertain."""

    places: Floats  # (N, D)
    best: Any
    unsure: Any


def draw_pairs(seen: Scatter, ax: Axes, columns: Sequence[int] | None = None, random_state: int = 0) -> Axes:
    """Draw points over pairs of columns: two fill the axes, of more each pair has a panel inside them."""
    chosen = seen.best(3) if columns is None else list(columns)
    points = _points(seen, random_state)
    note = _note(seen, chosen)
    if len(chosen) == 2:
        _draw_panel(ax, seen, points, chosen[0], chosen[1])
        _legend(ax, seen, note, {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0)})
        return plain(ax)
    ax.set_axis_off()
    n, side = len(chosen) - 1, (1 - GAP * (len(chosen) - 2)) / (len(chosen) - 1)
    for row in range(n):
        for across in range(row + 1):
            corner = (across * (side + GAP), 1 - side - row * (side + GAP))
            panel = ax.inset_axes((*corner, side, side))
            _draw_panel(panel, seen, points, chosen[across], chosen[row + 1])
            _outer_labels(panel, is_left=across == 0, is_lowest=row == n - 1)
            plain(panel)
    _legend(ax, seen, note, {"loc": "upper right", "bbox_to_anchor": (1.0, 1.0)})
    return ax


def _outer_labels(panel: Axes, is_left: bool, is_lowest: bool) -> None:
    """Leave the names of columns and their ticks at the outer sides of all panels."""
    if not is_left:
        panel.set_ylabel("")
        panel.tick_params(labelleft=False)
    if not is_lowest:
        panel.set_xlabel("")
        panel.tick_params(labelbottom=False)


def _points(seen: Scatter, random_state: int) -> _Points:
    rng = np.random.default_rng(random_state)
    spread = np.array([0.0 if levels is None else JITTER for levels in seen.levels])
    jitter = rng.uniform(-1.0, 1.0, seen.values.shape) * spread
    return _Points(seen.values + jitter, seen.proba.argmax(axis=1), seen.proba.max(axis=1) < UNSURE)


def _draw_panel(ax: Axes, seen: Scatter, points: _Points, d: int, e: int) -> None:
    """Draw all rows over columns d and e."""
    across, up = points.places[:, d], points.places[:, e]
    both = ~np.isnan(across) & ~np.isnan(up)
    colours = class_colours(len(seen.class_names))
    size = 22 if len(across) <= 500 else 12
    for k, (colour, marker) in enumerate(zip(colours, class_markers(len(colours)), strict=True)):
        own = points.best == k
        for rows, face in ((both & own & ~points.unsure, colour), (both & own & points.unsure, "none")):
            shown: dict[str, Any] = {"facecolors": face, "edgecolors": colour if face == "none" else "none"}
            ax.scatter(across[rows], up[rows], s=size, marker=marker, alpha=0.65, linewidths=0.9, **shown)
        edge: dict[str, Any] = {"color": colour, "alpha": 0.8, "clip_on": False, "linestyle": "none"}
        lower, left = own & ~np.isnan(across) & np.isnan(up), own & np.isnan(across) & ~np.isnan(up)
        if lower.any():
            ax.plot(across[lower], np.zeros(lower.sum()), "|", transform=ax.get_xaxis_transform(), **edge)
        if left.any():
            ax.plot(np.zeros(left.sum()), up[left], "_", transform=ax.get_yaxis_transform(), **edge)
    draw_ellipses(
        ax, seen.means[:, [d, e]], seen.covariances[:, [d, e]][:, :, [d, e]], [colours[c] for c in seen.owner]
    )
    ax.autoscale_view()
    for axis, column in ((ax.xaxis, d), (ax.yaxis, e)):
        axis.set_label_text(short(seen.names[column], 34), parse_math=False)
        levels = seen.levels[column]
        if levels is not None:
            step = -(-len(levels) // MOST_LEVELS) or 1
            axis.set_ticks(range(0, len(levels), step), short_names(levels, 12)[::step])
            for label in axis.get_ticklabels():
                label.set_parse_math(False)


def draw_ellipses(ax: Axes, means: Floats, covariances: Floats, colours: Sequence[str]) -> None:
    """Draw normals of two columns, (K, 2) and (K, 2, 2); a mean without a variance is a cross."""
    ellipse = optional("matplotlib.patches", "ellipses").Ellipse
    for mean, cov, colour in zip(means, covariances, colours, strict=True):
        if np.isnan(mean).any():
            continue
        if np.isnan(cov).any():
            ax.plot(*mean, "X", markersize=11, color=colour, markeredgecolor=INK, markeredgewidth=1.0, zorder=4)
            continue
        values, vectors = np.linalg.eigh(cov)
        angle = float(np.degrees(np.arctan2(vectors[1, 1], vectors[0, 1])))
        for level in LEVELS:
            width, height = 2 * level * np.sqrt(np.maximum(values[::-1], 0.0))
            ax.add_patch(ellipse(mean, width, height, angle=angle, fill=False, edgecolor=colour, linewidth=1.6))


def _note(seen: Scatter, chosen: Sequence[int]) -> list[str]:
    """Return what a reader must know of the rows: a sample, uncertain ones, missing values."""
    lines = []
    if seen.n_given > len(seen.values):
        lines.append(f"{len(seen.values):,} of {seen.n_given:,} rows, at random")
    if (seen.proba.max(axis=1) < UNSURE).any():
        lines.append(f"hollow: probability below {UNSURE}")
    missing = np.isnan(seen.values[:, list(chosen)])
    some = missing.any(axis=1)
    if some.any():
        none = int(missing.all(axis=1).sum())
        how = (["marks at the edges"] if some.sum() > none else []) + ([f"{none:,} left out"] if none else [])
        lines += [f"{_rows(int(some.sum()))} with missing values:", ", ".join(how)]
    return lines


def _rows(number: int) -> str:
    return "1 row" if number == 1 else f"{number:,} rows"


def _legend(ax: Axes, seen: Scatter, note: Sequence[str], place: dict[str, Any]) -> None:
    """Write the names of the classes with their shares, and the note below them."""
    line = optional("matplotlib.lines", "plot_pairs").Line2D
    shares = [None] * len(seen.class_names) if seen.shares is None else seen.shares.tolist()
    colours, markers = class_colours(len(shares)), class_markers(len(shares))
    handles = [
        line(
            *([], []),
            marker=marker,
            color=colour,
            linestyle="none",
            markersize=7,
            label=short(name) + ("" if share is None else f" ({percent(share)})"),
        )
        for name, share, colour, marker in zip(seen.class_names, shares, colours, markers, strict=True)
    ]
    handles += [line([], [], linestyle="none", label=text) for text in note]
    found = ax.legend(handles=handles, frameon=False, fontsize=9, handletextpad=0.3, **place)
    for text in found.get_texts():
        text.set_parse_math(False)
    for text in found.get_texts()[len(shares) :]:
        text.set_color(SOFT)
