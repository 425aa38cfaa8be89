"""The outcome of a fit in words: its log-likelihood, what maximises it, and criteria with the N that is in them.

`likelihood`   "log-likelihood -294.9 (posterior mode)"
`criteria`     "BIC 699.6 (N = 118)"; of several sequences both by steps and by sequences
`shown`        a number of units, which need not be whole
"""

from __future__ import annotations

from typing import Any

from halfseen.estimators.selection import bic


def likelihood(model: Any, digits: int = 1) -> str:
    """Return the log-likelihood of a fit, and which estimate it belongs to."""
    return f"log-likelihood {model.loglik_:,.{digits}f} ({model._estimate})"


def criteria(model: Any) -> str:
    """Return BIC for each unit that may be counted as N, the default first."""
    return f"BIC {', '.join(_by_unit(model, unit, n) for unit, n in model._units().items())}"


def _by_unit(model: Any, unit: str, n: float) -> str:
    word = "" if unit == "rows" else f" {unit}"  # of rows, N may be a sum of weights
    return f"{bic(model.loglik_, model.n_parameters_, n):,.1f} (N = {shown(n)}{word})"


def shown(n: float) -> str:
    """Return a number of units, or a sum of weights.

    Examples
    --------
    >>> shown(1842.0), shown(57.25)
    ('1,842', '57.25')
    """
    return f"{n:,.2f}".removesuffix(".00")
