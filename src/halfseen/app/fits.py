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
    n_units = f"{model._measured(None)[1]:,.2f}".removesuffix(".00")  # a sum of weights need not be whole
    return (
        f"log-likelihood {model.loglik_:,.1f} ({estimate(model)}), BIC {model.bic():,.1f} (N = {n_units}); {end}{agree}"
    )


def estimate(model: Any) -> str:
    """Return what the parameters of a fit are: a maximum of the likelihood, or of the posterior under a prior.

    Hard and sampled assignment maximise neither.
    """
    if model.assign != "soft":
        return "hard assignment" if model.assign == "hard" else "sampled assignment"
    return "posterior mode" if model._model.log_prior(model._params) else "maximum likelihood"


def of_fit(model: Any) -> dict[str, Any]:
    """Return the outcome of a fit as plain values."""
    likelihood = {}
    if not is_rule(model):
        likelihood = {"loglik": model.loglik_, "estimate": estimate(model), "bic": model.bic(), "aic": model.aic()}
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
    """Print the numbers of classes that were tried, by which criterion one was chosen, and how many starts agree."""
    tried = pa.table(nw.from_native(model.selection_).to_dict(as_series=False)).to_pylist()
    if len(tried) < 2:
        return
    shown: dict[str, list[Any]] = {what: [row["n_components"] for row in tried]}
    if "covariance" in tried[0]:
        shown["covariance"] = [row["covariance"] for row in tried]
    shown["log-likelihood"] = [f"{row['loglik']:,.1f}" for row in tried]
    for criterion in dict.fromkeys(("bic", model.criterion)):
        shown[criterion.upper()] = [f"{row[criterion]:,.1f}" for row in tried]
    shown["entropy"] = [f"{row['entropy']:.2f}" for row in tried]
    if "n_starts" in tried[0]:  # not in model files of 0.1
        shown["starts that agree"] = [f"{row['n_reached_best']} of {row['n_starts']}" for row in tried]
    shown[""] = ["<- chosen" if row["chosen"] else "" for row in tried]
    console.show_table(list(shown), list(zip(*shown.values(), strict=True)), left=0)
    console.show()
