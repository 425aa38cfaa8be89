"""Shares of classes over a covariate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import narwhals as nw

from halfseen.errors import ParameterError
from halfseen.plots.style import LINES, axes, class_colours, plain, short, short_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_shares(
    model: Any,
    covariate: str,
    ax: Axes | None = None,
    *,
    values: Sequence[Any] | None = None,
    at: Mapping[str, Any] | None = None,
) -> Axes:
    """Draw the shares of the classes over the values of one covariate: lines over numbers, bars over levels.

    Parameters
    ----------
    model : LatentClass or GaussianMixture, fitted with covariates
    covariate : str
        Column of the covariates.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.
    values, at :
        As in `LatentClass.shares_over`: other covariates are at their mean or most frequent level.

    Examples
    --------
    >>> import halfseen as hs
    >>> votes = hs.load_votes()[["party", "crime", "mx_missile", "education_spending"]].dropna()
    >>> model = hs.LatentClass(2, random_state=0).fit(votes, covariates="party")
    >>> ax = hs.plot_shares(model, "party")
    """
    if getattr(model, "_membership", None) is None:
        raise ParameterError("plot_shares: the model was fitted without covariates. Fit it with covariates=.")
    table = nw.from_native(model.shares_over(covariate, values, at), eager_only=True)
    places, names = table[covariate].to_list(), table.columns[1:]
    ax = axes(ax, "plot_shares", (6.4, 3.8))
    colours, labels = class_colours(len(names)), short_names(names)
    if covariate in model._membership.design.levels:
        width = 0.8 / len(names)
        for k, name in enumerate(names):
            where = [i + (k - (len(names) - 1) / 2) * width for i in range(len(places))]
            ax.bar(where, table[name].to_list(), width, color=colours[k], label=labels[k])
        ax.set_xticks(range(len(places)), [short(str(place)) for place in places])
    else:
        for k, name in enumerate(names):
            ax.plot(places, table[name].to_list(), linestyle=LINES[k % len(LINES)], color=colours[k], label=labels[k])
    ax.set_ylim(0, 1)
    ax.set_xlabel(covariate)
    ax.set_ylabel("share of the class")
    ax.legend(frameon=False)
    return plain(ax)
