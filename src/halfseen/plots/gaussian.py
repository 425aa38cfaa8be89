"""A Gaussian mixture as a plot: rows in the colours of their components, components as ellipses.

With more than two columns the plot is a projection of rows and ellipses on the plane in which the whole
varies most (in units of each column's spread), or on two columns by name.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from halfseen.errors import DataError, ParameterError
from halfseen.estimators.table import numeric_schema
from halfseen.estimators.table.table_mixture import TableMixture
from halfseen.leaves.leaf import Floats
from halfseen.optional import optional
from halfseen.plots.style import INK, axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_ROWS = 5000  # points; more overlap too much
LEVELS = (1.0, 2.0)  # standard deviations at which ellipses are drawn


class Plane(NamedTuple):
    """Two directions to project on: places are (x - centre) @ across; `names` are of its axes."""

    centre: Floats  # (D,)
    across: Floats  # (D, 2)
    names: tuple[str, str]


def plot_mixture(
    model: Any, X: Any = None, ax: Axes | None = None, *, columns: Sequence[str] | None = None, random_state: int = 0
) -> Axes:
    """Draw a Gaussian mixture: ellipses at one and two standard deviations, rows in mixed colours.

    Parameters
    ----------
    model : fitted GaussianMixture or GaussianClassifier
    X : table, optional
        Rows to draw, 5,000 of them at most; cells that are missing are filled by the model, and such rows are hollow.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.
    columns : two names of columns, optional
        Which to draw; by default, with more than two columns, the plane in which the whole varies most.
    random_state : int
        Seed of the choice among many rows.

    Examples
    --------
    >>> import halfseen as hs
    >>> model = hs.GaussianMixture.from_params([0.5, 0.5], [[0, 0], [4, 4]], [[[1, 0.5], [0.5, 1]]] * 2)
    >>> ax = plot_mixture(model)
    >>> ax.get_xlabel(), len(ax.patches)
    ('x0', 4)
    """
    if not isinstance(model, TableMixture) or not hasattr(type(model), "covariances_"):
        raise ParameterError(f"plot_mixture draws a GaussianMixture or GaussianClassifier, got {type(model).__name__}.")
    check_is_fitted(model)
    means, covs = numeric_schema.all_means(model._params, model._schema), _covariances(model)
    plane = _plane(model, means, covs, columns)
    drawn = axes(ax, "plot_mixture", (6.4, 5.4))
    colours = optional("matplotlib", "plot_mixture").colormaps["tab10"](np.arange(len(means)) % 10)[:, :3]
    if X is not None:
        _draw_rows(drawn, model, X, means[0], plane, colours, random_state)
    _draw_ellipses(drawn, model, means, covs, plane, colours)
    drawn.set(xlabel=plane.names[0], ylabel=plane.names[1], title=f"{len(means)} components")
    drawn.autoscale_view()
    return drawn


def _covariances(model: Any) -> Floats:
    """Return all covariances as matrices, (K, D, D)."""
    found, n_components, width = model.covariances_, len(model.weights_), len(model._schema.columns)
    if found.ndim == 3:
        return np.asarray(found)
    if found.shape == (width, width) and model._covariance == "tied":
        return np.tile(found, (n_components, 1, 1))
    variances = found if found.ndim == 2 else np.repeat(found[:, None], width, axis=1)
    return np.stack([np.diag(var) for var in variances])


def _plane(model: Any, means: Floats, covs: Floats, columns: Sequence[str] | None) -> Plane:
    names, width = model._schema.names, means.shape[1]
    if width < 2:
        raise ParameterError("plot_mixture needs at least two columns; this model has one.")
    if columns is not None or width == 2:
        wanted = list(names) if columns is None else list(columns)
        unknown = [name for name in wanted if name not in names]
        if len(wanted) != 2 or unknown:
            raise ParameterError(f"columns={columns!r} are not two of the columns: {', '.join(names)}.")
        across = np.eye(width)[:, [names.index(name) for name in wanted]]
        return Plane(np.zeros(width), across, (wanted[0], wanted[1]))
    centre = model.weights_ @ means
    apart = means - centre
    total = np.einsum("k,kde->de", model.weights_, covs + apart[:, :, None] * apart[:, None])
    scale = np.sqrt(np.where(np.diag(total) > 0, np.diag(total), 1.0))
    values, vectors = np.linalg.eigh(total / np.outer(scale, scale))
    shares = values[::-1][:2] / (values.sum() or 1.0)  # nothing varies where all columns are constant
    across = vectors[:, ::-1][:, :2] / scale[:, None]
    first, second = (f"direction {i + 1}: {share:.0%} of the variance" for i, share in enumerate(shares))
    return Plane(centre, across, (first, second))


def _draw_rows(ax: Axes, model: Any, X: Any, constants: Floats, plane: Plane, colours: Floats, seed: int) -> None:
    table = model._encode(X)
    if table.n_rows == 0:
        raise DataError("plot_mixture: X has no rows.")
    if table.n_rows > MOST_ROWS:
        table = table.take(np.sort(np.random.default_rng(seed).choice(table.n_rows, MOST_ROWS, replace=False)))
    resp = np.concatenate(model._infer(table, lambda found: found.usage["emit"]))
    [chunk] = table.chunks(size=table.n_rows)
    filled, whole = np.tile(constants, (table.n_rows, 1)), np.ones(table.n_rows, dtype=bool)
    if numeric_schema.BLOCK in model._schema.blocks:
        filled[:, list(model._schema.blocks[numeric_schema.BLOCK])] = model._filled(chunk, resp, None)[
            numeric_schema.BLOCK
        ]
        whole = ~np.isnan(table.blocks[numeric_schema.BLOCK]).any(axis=1)
    places, mixed = (filled - plane.centre) @ plane.across, resp @ colours
    across, up = places.T
    ax.scatter(across[whole], up[whole], c=mixed[whole], s=14, alpha=0.6, linewidths=0)
    hollow: dict[str, Any] = {"facecolors": "none", "edgecolors": mixed[~whole], "alpha": 0.8, "linewidths": 0.9}
    ax.scatter(across[~whole], up[~whole], s=18, **hollow)


def _draw_ellipses(ax: Axes, model: Any, means: Floats, covs: Floats, plane: Plane, colours: Floats) -> None:
    ellipse = optional("matplotlib.patches", "plot_mixture").Ellipse
    for k, (mean, cov) in enumerate(zip(means, covs, strict=True)):
        place = (mean - plane.centre) @ plane.across
        values, vectors = np.linalg.eigh(plane.across.T @ cov @ plane.across)
        angle = float(np.degrees(np.arctan2(vectors[1, 1], vectors[0, 1])))
        for level in LEVELS:
            width, height = 2 * level * np.sqrt(np.maximum(values[::-1], 0.0))
            ax.add_patch(ellipse(place, width, height, angle=angle, fill=False, edgecolor=colours[k], linewidth=1.6))
        share = f"{model.class_names_[k]} ({model.weights_[k]:.0%})"
        ax.annotate(share, place, ha="center", va="center", fontsize=9, color=INK, parse_math=False)
