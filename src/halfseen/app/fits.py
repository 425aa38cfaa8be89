"""Sentences and tables about a fit that several families share."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import pyarrow as pa

from halfseen.app import console
from halfseen.estimators.convergence import ended


def outcome(model: Any) -> str:
    """Return the outcome of the fit in one sentence."""
    if is_rule(model):
        return "words were counted; the complement rule has no likelihood"
    restarts = getattr(model, "restarts_", None)
    agree = ""
    if restarts and restarts["n_init"] > 1:
        agree = f"; {restarts['n_reached_best']} of {restarts['n_init']} starts reached it"
    end = ended(model.stop_reason_, model.n_iter_)
    return f"log-likelihood {model.loglik_:,.1f}, BIC {model.bic():,.1f}; {end}{agree}"


def of_fit(model: Any) -> dict[str, Any]:
    """Return the outcome of a fit as plain values."""
    likelihood = {} if is_rule(model) else {"loglik": model.loglik_, "bic": model.bic(), "aic": model.aic()}
    return {
        **likelihood,
        "n_parameters": model.n_parameters_,
        "n_iter": model.n_iter_,
        "converged": model.converged_,
        "stop_reason": model.stop_reason_,
        "events": list(model.events_),
    }


def is_rule(model: Any) -> bool:
    """Whether a model is a rule, without probabilities of rows."""
    return getattr(getattr(model, "_schema", None), "rule", None) is not None


def show_selection(model: Any, what: str = "classes") -> None:
    """Print the numbers of classes that were tried, and which was chosen."""
    tried = pa.table(nw.from_native(model.selection_).to_dict(as_series=False))
    if len(tried) < 2:
        return
    rows = [
        (
            row["n_components"],
            row.get("covariance", ""),
            *[f"{row[name]:,.1f}" for name in ("loglik", "bic")],
            f"{row['entropy']:.2f}",
        )
        for row in tried.to_pylist()
    ]
    chosen = [row["chosen"] for row in tried.to_pylist()]
    marked = [(*row, "<- chosen" if keep else "") for row, keep in zip(rows, chosen, strict=True)]
    head = (what, "covariance", "log-likelihood", "BIC", "entropy", "")
    kept = [j for j, name in enumerate(head) if name != "covariance" or "covariance" in tried.column_names]
    console.show_table([head[j] for j in kept], [[row[j] for j in kept] for row in marked], left=0)
    console.show()
