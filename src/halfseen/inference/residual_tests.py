"""Which relations between columns a mixture leaves are more than chance: p-values of bivariate residuals.

A residual X2 / df of two columns within the classes has no known distribution: its parameters were estimated from the
same rows, which makes it smaller than chi-square, by how much depends on the model. So tables are drawn from the model,
with the same values missing as in the data, the model is fitted to each, and its residuals are compared:

    p = (b + 1) / (B + 1)        b of the B drawn tables have a residual at least as large as that of the data
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from halfseen.analysis.residuals import Residual, residuals_of
from halfseen.analysis.scored_table import Seen
from halfseen.data import Table
from halfseen.engine.services.checkpoint import lasting_seed
from halfseen.errors import FitError, ParameterError
from halfseen.estimators import options
from halfseen.estimators.resampled import Resampled
from halfseen.inference.bootstrap import at_maximum, resampled
from halfseen.inference.refits import each_draw, refit
from halfseen.leaves.leaf import Floats
from halfseen.leaves.limits import Params
from halfseen.sums import Runner


def residuals_with_p(
    model: Any,
    X: Any,
    draws: int,
    sample_weight: ArrayLike | None = None,
    *,
    n_jobs: int | None = None,
    random_state: Any = None,
) -> list[Residual]:
    """Return the residual of each pair of columns with its p-value, the largest residual first.

    Residuals are those of the maximum of the likelihood.

    Parameters
    ----------
    model : fitted LatentClass or GaussianMixture
    X : data of the fit
    draws : int
        Number of drawn tables.
    sample_weight : (N,) array, optional
        Frequencies.
    n_jobs : int, optional
    random_state : int, RandomState or Generator, optional

    Examples
    --------
    >>> import halfseen as hs
    >>> X = [["a", "u"]] * 40 + [["a", "v"]] * 10 + [["b", "u"]] * 10 + [["b", "v"]] * 40
    >>> [pair] = residuals_with_p(hs.LatentClass(1, prior=None).fit(X), X, draws=19, random_state=0)
    >>> round(pair.value, 6), pair.p
    (36.0, 0.05)
    """
    options.whole("bootstrap", draws, 2)
    if not hasattr(model, "_one_more"):
        raise ParameterError(
            f"bootstrap={draws}: p-values of residuals are for LatentClass and GaussianMixture, not for a "
            f"{type(model).__name__}."
        )
    seed = lasting_seed(random_state)
    units = resampled(model, X, {"sample_weight": sample_weight})
    if units.table is None:
        raise ParameterError("p-values of residuals are for rows without labels.")
    best = at_maximum(model, units)
    found = residuals_of(_scored(model, units, best.params, units.table))
    start = units.off_bounds(best.params)
    pairs = [(pair.first, pair.second) for pair in found]

    def one(rng: np.random.Generator) -> list[float]:
        sample = units.drawn(best.params, rng)
        own = refit(units.model, sample, start)
        if own is None or not own.healthy or sample.table is None:
            return [np.nan] * len(pairs)
        values = {(r.first, r.second): r.value for r in residuals_of(_scored(model, units, own.params, sample.table))}
        return [values.get(pair, 0.0) for pair in pairs]

    def rows(rngs: Sequence[np.random.Generator], run: Runner) -> Floats:
        return np.array(list(run(one, rngs))).reshape(len(rngs), len(pairs))

    drawn = each_draw("residuals", units, best.params, seed, draws, rows, n_jobs) if pairs else np.zeros((draws, 0))
    drawn = drawn[~np.isnan(drawn).any(axis=1)]
    if not len(drawn):
        raise FitError("the model could be fitted to none of the drawn tables: a class collapses in each.")
    above = (drawn >= np.array([pair.value for pair in found])).sum(axis=0)
    return [pair._replace(p=(int(n) + 1) / (len(drawn) + 1)) for pair, n in zip(found, above, strict=True)]


def _scored(model: Any, units: Resampled, params: Params, table: Table) -> Seen:
    """Return a table scored under parameters."""
    other = copy(model)
    other._model, other._params, other.n_jobs = units.model, params, None
    found = other._infer(table, lambda part: (part.usage["emit"], part.log_evidence[:, 0]))
    resp, loglik = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return Seen(other, model._template, table, np.arange(table.n_rows), table.n_rows, resp, loglik)
