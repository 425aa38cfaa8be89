"""The lower bound touching the likelihood, and how far one M-step goes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from halfseen.analysis.bound import check_model
from halfseen.analysis.bound_line import BoundLine, bound_line
from halfseen.estimators.table.table_mixture import TableMixture
from halfseen.optional import optional

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ABOVE, BELOW, INK = "#1b6ca8", "#d1495b", "#333333"  # the likelihood, the bound, marks


def plot_bound(
    model: TableMixture,
    X: Any,
    params: Mapping[str, Any] | TableMixture | None = None,
    sample_weight: ArrayLike | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the log-likelihood and the lower bound that touches it, along a line through parameter space.

    The line runs from the parameters of `model` through those of the next EM step, where the bound is highest; or to
    `params`. With a prior, both curves are drawn with the log-prior added. Of a model whose fit has converged the next
    step is too small to be seen: then the first step of a fit from another start is drawn, which the title says.

    Parameters
    ----------
    model : a mixture over a table: fitted, or from `from_params`
    X : table
    params : mapping or model, optional
        Where the line goes to instead: see `bound`.
    sample_weight : (N,) array, optional
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import halfseen as hs
    >>> model = hs.LatentClass.from_params([0.5, 0.5], {"x": {"mean": [-1, 2], "sd": [1, 1]}})
    >>> ax = hs.plot_bound(model, [[-2.1], [-1.4], [0.3], [2.5], [3.1]])
    """
    check_model(model)
    if ax is None:
        _, ax = optional("matplotlib.pyplot", "plot_bound").subplots(figsize=(7, 4.5), layout="constrained")
    assert ax is not None
    line = bound_line(model, X, params, sample_weight)
    _draw(ax, line)
    if line.restarted:
        ax.set_title("The fit has converged: this is the first step from another start", fontsize=10)
    return ax


def _draw(ax: Axes, line: BoundLine) -> None:
    """Draw the two curves, where they touch, and how far apart they are at the end of the line."""
    ax.fill_between(line.places, line.bound, line.objective, color=ABOVE, alpha=0.08, linewidth=0)
    ax.plot(line.places, line.objective, color=ABOVE, linewidth=2.2, label=line.name)
    ax.plot(line.places, line.bound, color=BELOW, linewidth=2.0, linestyle=(0, (5, 2)), label=f"lower bound{line.plus}")
    _mark(ax, line)
    ax.set_xticks([0, 1], ["parameters now", "after the M-step" if line.is_step else "params"])
    ax.set_ylabel(f"{line.name}, sum over rows")
    ax.margins(x=0.06, y=0.14)
    ax.ticklabel_format(axis="y", useOffset=False)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    ax.legend(frameon=False, loc="best")


def _mark(ax: Axes, line: BoundLine) -> None:
    """Mark where the curves touch, and both of them at the end: what the step gains, and the gap it leaves."""
    touching, (below, after) = line.touching, line.reached
    paper = {"facecolor": "white", "alpha": 0.8, "edgecolor": "none", "pad": 1}
    note: dict[str, Any] = {"color": INK, "fontsize": 9, "textcoords": "offset points", "bbox": paper}
    ax.vlines(1, below, after, color=INK, linewidth=1.0, linestyle=":")
    ax.plot([0], [touching], "o", color=INK, markersize=7, zorder=5)
    ax.plot([1], [below], "^", color=BELOW, markersize=8, zorder=5)
    ax.plot([1], [after], "o", color=ABOVE, markersize=7, zorder=5)
    ax.annotate("they touch: kl = 0", (0, touching), xytext=(9, -13), ha="left", **note)
    word = "rises" if after >= touching else "falls"
    ax.annotate(f"{word} by {abs(after - touching):.4g}", (1, after), xytext=(0, 10), ha="center", **note)
    lower = "highest bound" if line.is_step else f"kl = {after - below:.4g}"
    ax.annotate(lower, (1, below), xytext=(0, -22), ha="center", **note)
