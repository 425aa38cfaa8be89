"""Sentences and tables about a fit that several families share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halfseen.app import blocks
from halfseen.app.blocks import Block
from halfseen.errors import DataError
from halfseen.estimators.convergence import ended, unfinished
from halfseen.estimators.outcome import criteria, likelihood
from halfseen.estimators.selection import aic, bic


def outcome(model: Any) -> str:
    """Return the outcome of the fit in one sentence."""
    if is_rule(model):
        return "words were counted; the complement rule has no likelihood"
    restarts = getattr(model, "restarts_", None)
    agree = ""
    if restarts and restarts["n_init"] > 1 and not unfinished(model):
        agree = f"; {restarts['n_reached_best']} of {restarts['n_init']} starts reached it"
    end = ended(model.stop_reason_, model.n_iter_)
    return f"{likelihood(model)}, {criteria(model)}; {end}{agree}"


def of_fit(model: Any) -> dict[str, Any]:
    """Return the outcome of a fit as plain values."""
    figures = {}
    if not is_rule(model):
        figures = {"loglik": model.loglik_, "estimate": model._estimate}
        figures |= of_criteria(model, model.loglik_, model._units())
    return {**figures, "n_parameters": model.n_parameters_, **of_end(model)}


def of_criteria(model: Any, loglik: float, units: Mapping[str, float]) -> dict[str, float]:
    """Return criteria and the N in them, by unit; those of the default unit without its name."""
    found: dict[str, float] = {}
    for i, (unit, n) in enumerate(units.items()):
        after = f"_{unit}" if i else ""
        found |= {f"n{after}": n, f"bic{after}": bic(loglik, model.n_parameters_, n)}
    return found | {"aic": aic(loglik, model.n_parameters_)}


def of_end(model: Any) -> dict[str, Any]:
    """Return how a fit ended as plain values; it is interrupted, too, where other starts or sizes were cut short."""
    return {
        "n_iter": model.n_iter_,
        "converged": model.converged_,
        "interrupted": bool(unfinished(model)),
        "stop_reason": model.stop_reason_,
        "events": list(model.events_),
    }


def likelihood_fact(model: Any) -> tuple[str, str | None]:
    """Return the log-likelihood of the fit as a fact about a model file; None if there is none."""
    known = hasattr(model, "loglik_") and not is_rule(model)
    return "log-likelihood", f"{model.loglik_:,.2f} ({model._estimate})" if known else None


def criteria_facts(model: Any) -> list[tuple[str, str | None]]:
    """Return the log-likelihood of the fit and BIC, with its N, as facts about a model file."""
    name, text = likelihood_fact(model)
    return [(name, text), ("BIC", None if text is None else criteria(model).removeprefix("BIC "))]


@dataclass
class Scored:
    """Sums over batches of rows: how well a model describes them."""

    model: Any
    loglik: float = 0.0
    n_rows: float = 0.0
    n_observed: float = 0.0
    squares: float = 0.0

    def add(self, X: Any, weight: NDArray[np.float64]) -> None:
        """Take in a batch."""
        self.n_rows += float(weight.sum())
        self.squares += float((weight**2).sum())
        if weight.any() and not is_rule(self.model):
            loglik, n_observed = self.model._measured(X, weight)
            scale = _scale(self.model, float(weight.sum()), float((weight**2).sum()))
            self.loglik += loglik / scale
            self.n_observed += n_observed / scale

    def figures(self) -> dict[str, Any]:
        """Return what was found as plain values."""
        if not self.n_rows:
            raise DataError("all rows have weight 0: there is nothing to score.")
        if is_rule(self.model):
            return {"rows": self.n_rows}
        scale = _scale(self.model, self.n_rows, self.squares)
        return {
            "rows": self.n_rows * scale,
            "loglik": self.loglik * scale,
            **estimate_of(self.model),
            "loglik_per_row": self.loglik / self.n_rows,
            **of_criteria(self.model, self.loglik * scale, {"rows": self.n_observed * scale}),
        }


def _scale(model: Any, total: float, squares: float) -> float:
    """Return what weights are multiplied by: survey weights sum to the effective number of their rows."""
    return total / squares if getattr(model, "weight_kind", "frequency") == "survey" else 1.0


def estimate_of(model: Any) -> dict[str, str]:
    """Return what the parameters of a fitted model are; nothing of one that was not fitted to data as a whole."""
    return {"estimate": model._estimate} if hasattr(model, "loglik_") else {}


def is_rule(model: Any) -> bool:
    """Whether a model is a rule, without probabilities of rows."""
    return getattr(getattr(model, "_schema", None), "rule", None) is not None


FIGURES = ("loglik", "n_parameters", "bic", "aic", "sabic", "icl", "entropy", "n_starts", "n_reached_best")
MARKS = ("chosen", "preferred")  # by hand, or by the criterion; by the criterion, where not the same
TESTS = ("lr", "lr_p", "lr_draws")  # of each number of classes against one more


def selection(model: Any, what: str = "classes") -> list[Block]:
    """Return the models that were tried, which one the criterion prefers, and how many starts agree."""
    columns = getattr(model, "_tried", None)
    if columns is None:
        return []
    tried = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    if len(tried) < 2 and "lr" not in tried[0]:
        return []
    known = (*FIGURES, *MARKS, *TESTS)
    sizes = sorted((name for name in tried[0] if name not in known), key=lambda name: name != "n_components")
    shown: dict[str, list[Any]] = {
        what if name == "n_components" else name: [row[name] for row in tried] for name in sizes
    }
    shown["log-likelihood"] = [f"{row['loglik']:,.1f}" for row in tried]
    for criterion in dict.fromkeys(("bic", model.criterion)):
        shown[criterion.upper()] = [f"{row[criterion]:,.1f}" for row in tried]
    if "entropy" in tried[0]:
        shown["entropy"] = [f"{row['entropy']:.2f}" for row in tried]
    if "lr" in tried[0]:
        shown["LR, one more"] = ["" if row["lr"] is None else f"{row['lr']:,.2f}" for row in tried]
        shown["p"] = ["" if row["lr_p"] is None else f"{row['lr_p']:.3g}" for row in tried]
    if "n_starts" in tried[0]:  # not in model files of 0.1
        shown["starts that agree"] = [f"{row['n_reached_best']} of {row['n_starts']}" for row in tried]
    marked = "preferred" if "preferred" in tried[0] else "chosen"
    collapsed = "" if _lowest(tried, model.criterion)[marked] else " (lower ones collapsed)"
    mark = f"<- preferred by {model.criterion.upper()}{collapsed}"
    shown[""] = [mark if row[marked] else "<- chosen" if row["chosen"] else "" for row in tried]
    return [blocks.table(list(shown), zip(*shown.values(), strict=True), left=0), blocks.text()]


def _lowest(tried: Sequence[Mapping[str, Any]], criterion: str) -> Mapping[str, Any]:
    return min(tried, key=lambda row: float(row[criterion]))
