"""Estimates from several completed tables as one, by Rubin's rules.

estimate = mean_m estimate[m]
within   = mean_m variance[m]                 what a complete table would leave uncertain
between  = sum_m (estimate[m] - estimate)^2 / (M - 1)      what the missing values leave uncertain
variance = within + (1 + 1 / M) between

Intervals use t with the degrees of freedom of Barnard and Rubin (1999), which are never more than those of a complete
table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from halfseen.data import frame_from_dict
from halfseen.errors import ParameterError
from halfseen.estimators import options
from halfseen.leaves.leaf import Floats


@dataclass(frozen=True, eq=False)
class Pooled:
    """Estimates pooled over completed tables.

    Attributes
    ----------
    estimate, se, low, high : (P,) arrays
    df : (P,) array                degrees of freedom; inf where nothing was missing and no number was given
    missing_information : (P,) array    share of the information that is lost by missing values
    within, between : (P,) arrays  variances within and between the completed tables
    n_tables : int
    level : float                  probability of the intervals
    """

    estimate: Floats
    se: Floats
    low: Floats
    high: Floats
    df: Floats
    missing_information: Floats
    within: Floats
    between: Floats
    n_tables: int
    level: float

    def to_frame(self) -> Any:
        """Return a table with a row for each estimate."""
        names = ("estimate", "se", "low", "high", "df", "missing_information")
        return frame_from_dict({name: getattr(self, name).tolist() for name in names})


def pool(estimates: ArrayLike, variances: ArrayLike, *, df: float | None = None, level: float = 0.95) -> Pooled:
    """Pool the estimates of several completed tables by Rubin's rules.

    Parameters
    ----------
    estimates : (M,) or (M, P) array
        An estimate, or P of them, from each of M completed tables.
    variances : array of the same shape
        Their squared standard errors, as of a complete table.
    df : float, optional
        Degrees of freedom that the estimate would have in a complete table, such as N - 1 of a mean. By default
        infinitely many; give it for small tables.
    level : float, default 0.95
        Probability of the intervals.

    Returns
    -------
    Pooled

    Examples
    --------
    >>> import halfseen as hs
    >>> found = hs.pool([2.0, 2.4, 2.2, 1.9, 2.5], [0.04] * 5)
    >>> print(found.estimate.round(3), found.se.round(3), found.df.round(1))  # variance 0.04 + 1.2 * 0.065
    [2.2] [0.344] [9.2]
    """
    from scipy.stats import norm, t

    values, within = (_table(name, given) for name, given in (("estimates", estimates), ("variances", variances)))
    if values.shape != within.shape:
        raise ParameterError(f"estimates {values.shape} and variances {within.shape} differ in shape.")
    if len(values) < 2:
        raise ParameterError("pool needs at least two completed tables: with one, their spread is not known.")
    if (within < 0).any():
        raise ParameterError("variances: one is below 0. Give squared standard errors.")
    if df is not None and not options.number("df", df):
        raise ParameterError("df=0: an estimate needs at least one degree of freedom.")
    tail = (1 - options.number("level", level, 0, 1)) / 2
    m = len(values)
    mean, inside, between = values.mean(axis=0), within.mean(axis=0), values.var(axis=0, ddof=1)
    added = (1 + 1 / m) * between
    total = inside + added
    lost = np.divide(added, total, out=np.zeros_like(total), where=total > 0)
    freedom = _freedom(lost, m, df)
    se = np.sqrt(total)
    far = np.where(np.isfinite(freedom), t.isf(tail, np.where(np.isfinite(freedom), freedom, 1.0)), norm.isf(tail))
    return Pooled(
        mean,
        se,
        mean - far * se,
        mean + far * se,
        freedom,
        _missing_information(lost, freedom),
        inside,
        between,
        m,
        level,
    )


def _table(name: str, given: ArrayLike) -> Floats:
    try:
        found = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ParameterError(f"{name} must be numbers: {error}.") from None
    if found.ndim not in (1, 2) or not np.isfinite(found).all():
        raise ParameterError(f"{name}: give finite numbers, one or several for each completed table: (M,) or (M, P).")
    return found[:, None] if found.ndim == 1 else found


def _freedom(lost: Floats, m: int, complete: float | None) -> Floats:
    """Return the degrees of freedom, of Barnard and Rubin where those of a complete table are given."""
    with np.errstate(divide="ignore"):
        by_draws = (m - 1) / lost**2
        if complete is None:
            return by_draws
        observed = (complete + 1) / (complete + 3) * complete * (1 - lost)
        return 1 / (1 / by_draws + 1 / observed)


def _missing_information(lost: Floats, freedom: Floats) -> Floats:
    """Return the share of information that is missing, (r + 2 / (df + 3)) / (r + 1) with r = added / within."""
    few = 2 / (freedom + 3)  # 0 for infinitely many
    return np.where(lost > 0, lost + few * (1 - lost), 0.0)
