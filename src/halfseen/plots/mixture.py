"""A mixture over numbers as a plot: rows in the colours of their classes, classes as ellipses or as densities.

One column is drawn as a histogram with the density of each class, their sum among them. Of more columns the plot is a
projection of rows and ellipses on the plane in which the whole varies most (in units of each column's spread), or on
two columns by name.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from halfseen.analysis.scored_table import class_names, class_shares, look
from halfseen.errors import ParameterError
from halfseen.estimators.table import profile
from halfseen.estimators.table.scatter import ellipses, places
from halfseen.estimators.table.table_mixture import TableMixture
from halfseen.kinds.wording import percent
from halfseen.leaves.leaf import Floats
from halfseen.optional import optional
from halfseen.plots.pairs import draw_ellipses
from halfseen.plots.style import FAINT, INK, LINES, SOFT, axes, class_colours, plain, short, short_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

MOST_ROWS = 5000  # points; more overlap too much
MOST_COUNTED = 200_000  # rows of a histogram
N_POINTS = 400  # of a density
BEYOND = 3.5  # standard deviations to draw on both sides of a mean
FEW_VALUES = 60  # whole numbers that a histogram has a bar for each of


class Plane(NamedTuple):
    """Two directions to project on: places are (x - centre) @ across; `names` are of its axes."""

    centre: Floats  # (D,)
    across: Floats  # (D, 2)
    names: tuple[str, str]


def plot_mixture(
    model: Any, X: Any = None, ax: Axes | None = None, *, columns: Any = None, random_state: int = 0
) -> Axes:
    """Draw a mixture over numbers: two columns or more as ellipses with rows, one as densities with a histogram.

    Ellipses are at one and two standard deviations; rows have mixed colours, by the probabilities of their classes.
    Cells that are missing are filled by the model, and such rows are hollow. A histogram leaves missing values out, and
    says how many.

    Parameters
    ----------
    model : fitted LatentClass, GaussianMixture, NaiveBayes or GaussianClassifier
    X : table, optional
        Rows to draw: of more than 5,000 a random sample.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.
    columns : name of a column, or list of one or two, optional
        One column of numbers or counts, or two that are normal in each class. By default, with more than two columns of
        such numbers, the plane in which the whole varies most.
    random_state : int
        Seed of the choice among many rows.

    Examples
    --------
    >>> import halfseen as hs
    >>> model = hs.GaussianMixture.from_params([0.5, 0.5], [[0, 0], [4, 4]], [[[1, 0.5], [0.5, 1]]] * 2)
    >>> ax = hs.plot_mixture(model)
    >>> ax.get_xlabel(), len(ax.patches)
    ('x0', 4)
    >>> model = hs.LatentClass.from_params([0.5, 0.5], {"size": {"mean": [0, 4], "sd": [1, 1]}, "x": {"a": [1, 1]}})
    >>> hs.plot_mixture(model).get_xlabel()
    'size'
    """
    if not isinstance(model, TableMixture):
        raise ParameterError(
            f"plot_mixture draws a mixture over a table, such as GaussianMixture or LatentClass; got "
            f"{type(model).__name__}."
        )
    check_is_fitted(model)
    names = list(model._schema.names)
    wanted = None if columns is None else [columns] if isinstance(columns, str) else list(columns)
    unknown = [name for name in wanted or () if name not in names]
    if unknown or (wanted is not None and len(wanted) not in (1, 2)):
        raise ParameterError(f"columns={columns!r} are not one or two of the columns: {', '.join(names)}.")
    joint = _normal_columns(model)
    if wanted is None and not joint:
        joint = [j for j, column in enumerate(model._schema.columns) if _is_number(column)][:1]
        if not joint:
            raise ParameterError(
                "plot_mixture draws numbers, and the model has no column of numbers. Use plot_profiles."
            )
    if wanted is not None and len(wanted) == 1:
        return _plot_column(model, X, ax, names.index(wanted[0]))
    if wanted is None and len(joint) == 1:
        return _plot_column(model, X, ax, joint[0])
    chosen = joint if wanted is None else [names.index(name) for name in wanted]
    wrong = [names[j] for j in chosen if j not in joint]
    if wrong:
        raise ParameterError(
            f"column {wrong[0]!r} is not normal in each class, so it has no ellipse. Columns that are: "
            f"{', '.join(names[j] for j in joint)}. Use plot_pairs for other columns."
        )
    return _plot_plane(model, X, ax, chosen, random_state)


def _is_number(column: Any) -> bool:
    return not column.kind.has_categories and not column.kind.of_words


def _normal_columns(model: TableMixture) -> list[int]:
    """Return the columns that are normal in each class, or, in a table of numbers alone, constant."""
    every = list(range(len(model._schema.columns)))
    means, _ = ellipses(profile.fitted_blocks(model), every)
    numbers = hasattr(type(model), "covariances_")  # constants of a table of numbers are categories of one value
    return [j for j in every if not np.isnan(means[0, j]) or (numbers and _constant(model, j) is not None)]


def _constant(model: TableMixture, j: int) -> float | None:
    """Return the value of a column that never varies, and is a number."""
    categories = model._schema.columns[j].categories
    return float(categories[0]) if categories and not isinstance(categories[0], str) else None


# ---- two columns and more ----------------------------------------------------------------------------------------


def _plot_plane(model: TableMixture, X: Any, ax: Axes | None, chosen: list[int], seed: int) -> Axes:
    means, covs = _moments(model, chosen)
    plane = _plane([model._schema.names[j] for j in chosen], means, covs, model.weights_)
    drawn = axes(ax, "plot_mixture", (6.4, 5.4))
    names = class_names(model)
    owner = model._by_class(np.eye(len(model.weights_))).argmax(axis=1)
    colours = class_colours(len(names))
    hollow = 0
    if X is not None:
        hollow = _draw_rows(drawn, model, X, chosen, plane, colours, seed)
    places_, spreads = (means - plane.centre) @ plane.across, plane.across.T @ covs @ plane.across
    draw_ellipses(drawn, places_, spreads, [colours[c] for c in owner])
    drawn.set_xlabel(short(plane.names[0], 40), parse_math=False)
    drawn.set_ylabel(short(plane.names[1], 40), parse_math=False)
    drawn.set_title(f"{len(means)} components")
    drawn.autoscale_view()
    _legend(drawn, names, class_shares(model), colours, [f"hollow: {hollow:,} with missing values"] if hollow else [])
    return plain(drawn)


def _moments(model: TableMixture, chosen: list[int]) -> tuple[Floats, Floats]:
    """Return means (K, D) and covariances (K, D, D) of some columns; constants have no variance."""
    means, covs = ellipses(profile.fitted_blocks(model), chosen)
    for d, j in enumerate(chosen):
        if np.isnan(means[0, d]):
            means[:, d] = _constant(model, j)
            covs[:, d] = covs[:, :, d] = 0.0
    return means, covs


def _plane(names: list[str], means: Floats, covs: Floats, weights: Floats) -> Plane:
    if len(names) == 2:
        return Plane(np.zeros(2), np.eye(2), (names[0], names[1]))
    centre = weights @ means
    apart = means - centre
    total = np.einsum("k,kde->de", weights, covs + apart[:, :, None] * apart[:, None])
    scale = np.sqrt(np.where(np.diag(total) > 0, np.diag(total), 1.0))
    values, vectors = np.linalg.eigh(total / np.outer(scale, scale))
    shares = values[::-1][:2] / (values.sum() or 1.0)  # nothing varies where all columns are constant
    across = vectors[:, ::-1][:, :2] / scale[:, None]
    first, second = (f"direction {i + 1}: {share:.0%} of the variance" for i, share in enumerate(shares))
    return Plane(centre, across, (first, second))


def _draw_rows(
    ax: Axes, model: TableMixture, X: Any, chosen: list[int], plane: Plane, colours: Sequence[str], seed: int
) -> int:
    """Draw rows, those with missing values hollow; return how many of these there are."""
    seen = look(model, X, most=MOST_ROWS, random_state=seed)
    [chunk] = seen.table.chunks(size=seen.table.n_rows)
    filled = seen.table.take(slice(None))
    filled = type(filled)(filled.schema, {**chunk.blocks, **model._filled(chunk, seen.resp, None)}, filled.weight)
    columns, values = places(filled)
    values = values[:, [columns.index(j) for j in chosen]]
    for d, j in enumerate(chosen):
        constant = _constant(model, j)
        if constant is not None:
            values[:, d] = constant
    whole = ~seen.missing[:, chosen].any(axis=1)
    mixed = seen.proba @ _rgb(colours)
    across, up = ((values - plane.centre) @ plane.across).T
    ax.scatter(across[whole], up[whole], c=mixed[whole], s=14, alpha=0.6, linewidths=0)
    hollow: dict[str, Any] = {"facecolors": "none", "edgecolors": mixed[~whole], "alpha": 0.8, "linewidths": 0.9}
    ax.scatter(across[~whole], up[~whole], s=18, **hollow)
    return int((~whole).sum())


def _rgb(colours: Sequence[str]) -> Floats:
    return np.array([[int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)] for colour in colours])


# ---- one column --------------------------------------------------------------------------------------------------


def _plot_column(model: TableMixture, X: Any, ax: Axes | None, j: int) -> Axes:
    """Draw the density of each class in one column, their sum, and a histogram of the rows."""
    column = model._schema.columns[j]
    if not _is_number(column):
        raise ParameterError(
            f"plot_mixture draws numbers; {column.name!r} is a column of kind {column.kind.name}. Use plot_profiles."
        )
    drawn = axes(ax, "plot_mixture", (7, 4))
    values, n_missing = (None, 0) if X is None else _observed(model, X, j)
    mean, var = profile.profiles(model)[j].moments
    sd = np.sqrt(var)
    low, high = float((mean - BEYOND * sd).min()), float((mean + BEYOND * sd).max())
    if values is not None and len(values):
        low, high = min(low, float(values.min())), max(high, float(values.max()))
    whole = not column.kind.any_number
    grid = np.arange(max(np.floor(low), 0.0), np.ceil(high) + 1) if whole else np.linspace(low, high, N_POINTS)
    if values is not None and len(values):
        if whole and len(grid) <= FEW_VALUES:
            edges = np.append(grid, grid[-1] + 1) - 0.5
        else:
            edges = np.histogram_bin_edges(values, "fd" if len(values) < MOST_ROWS else 60)
        drawn.hist(values, bins=edges.tolist(), density=True, color=FAINT, edgecolor="white", linewidth=0.6, zorder=0)
    names, density = class_names(model), _densities(model, j, grid)
    colours = class_colours(len(names))
    for k, colour in enumerate(colours):
        drawn.plot(grid, density[:, k], color=colour, linestyle=LINES[k % len(LINES)], linewidth=1.8)
    drawn.plot(grid, density.sum(axis=1), color=INK, linewidth=1.0)
    drawn.set_xlabel(short(column.name, 60), parse_math=False)
    drawn.set(ylabel="share" if whole else "density", ylim=(0, None), title=f"{len(names)} classes")
    notes = ["line in black: all classes"] + (
        [f"{n_missing:,} missing value{'s' * (n_missing > 1)} left out"] if n_missing else []
    )
    _legend(drawn, names, class_shares(model), colours, notes, lines=True)
    return plain(drawn)


def _observed(model: TableMixture, X: Any, j: int) -> tuple[Floats, int]:
    """Return the values of a column, and how many are missing."""
    seen = look(model, X, most=MOST_COUNTED)
    columns, values = places(seen.table)
    own = values[:, columns.index(j)]
    return own[~np.isnan(own)], int(np.isnan(own).sum())


def _densities(model: TableMixture, j: int, grid: Floats) -> Floats:
    """Return share * density of each class at some values of a column, the others missing, (N, C)."""
    blocks = {}
    for block in model._schema.each_block():
        cells = block.kind.every_value(block, len(grid))
        if not block.kind.of_words:
            cells = block.kind.hide(cells, np.ones(cells.shape, dtype=bool))
        if j in block.members:
            cells = np.array(cells, dtype=np.float64)
            cells[:, block.members.index(j)] = grid
        blocks[block.name] = cells
    joint = model._model.joint(model._model.prepare(model._params), blocks)
    return model._by_class(np.exp(joint))


def _legend(
    ax: Axes, names: Sequence[str], shares: Floats, colours: Sequence[str], notes: Sequence[str], lines: bool = False
) -> None:
    """Write the classes with their shares beside the plot, where no label can be on another."""
    line = optional("matplotlib.lines", "plot_mixture").Line2D
    handles: list[Line2D] = []
    for k, (name, share, colour) in enumerate(zip(short_names(names), shares.tolist(), colours, strict=True)):
        look_: dict[str, Any] = {"linestyle": LINES[k % len(LINES)]} if lines else {"marker": "o", "linestyle": "none"}
        handles.append(line([], [], color=colour, label=f"{name} ({percent(share)})", **look_))
    handles += [line([], [], linestyle="none", label=text) for text in notes]
    found = ax.legend(handles=handles, frameon=False, fontsize=9, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    for k, text in enumerate(found.get_texts()):
        text.set_parse_math(False)
        text.set_color(INK if k < len(names) else SOFT)
