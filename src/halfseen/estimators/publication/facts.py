"""Figures about a fitted model that stand below its table and in the paragraph on methods."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from halfseen.estimators.outcome import shown
from halfseen.estimators.selection import aic, bic, sabic

OF_UNITS = {"rows": "N"}


def has_likelihood(model: Any) -> bool:
    """Whether a model comes from a fit to data as a whole, and gives them a probability."""
    rule = getattr(getattr(model, "_schema", None), "rule", None)
    return hasattr(model, "loglik_") and not rule


def entropy_of(model: Any) -> float | None:
    """Return the relative entropy of the classes in the data of the fit; None where there is none."""
    known = hasattr(model, "entropy") and len(getattr(model, "_names", ())) > 1
    return float(model.entropy()) if known and has_likelihood(model) else None


def facts_of(model: Any, diagnostics: Any = None) -> Iterator[tuple[str, str]]:
    """Yield names and values of the figures; with `Diagnostics` those of its data, and more of them."""
    if diagnostics is not None:
        yield from measured_facts(diagnostics)
    elif has_likelihood(model):
        yield from _of_fit(model)
    elif hasattr(model, "n_parameters_"):
        yield "Parameters", f"{model.n_parameters_:,}"
    if hasattr(model, "inertia_"):
        yield "Within-cluster sum of squares", f"{model.inertia_:,.2f}"


def _of_fit(model: Any) -> Iterator[tuple[str, str]]:
    loglik, p, units = model.loglik_, model.n_parameters_, model._units()
    for unit, n in units.items():
        yield OF_UNITS.get(unit, f"N ({unit})"), shown(n)
    yield "Parameters", f"{p:,}"
    yield "Log-likelihood", f"{loglik:,.2f}"
    yield "AIC", f"{aic(loglik, p):,.2f}"
    for unit, n in units.items():
        after = "" if len(units) == 1 else f" ({unit})"
        yield f"BIC{after}", f"{bic(loglik, p, n):,.2f}"
        yield f"SABIC{after}", f"{sabic(loglik, p, n):,.2f}"
    entropy = entropy_of(model)
    if entropy is not None:
        yield "Entropy", f"{entropy:.3f}"


def measured_facts(found: Any) -> Iterator[tuple[str, str]]:
    """Yield names and values of `Diagnostics`."""
    yield "N", shown(found.n)
    yield "Parameters", f"{found.n_parameters:,}"
    yield "Log-likelihood", f"{found.loglik:,.2f}"
    for name, value in found.criteria.items():
        yield name.upper(), f"{value:,.2f}"
    yield "Entropy", f"{found.entropy:.3f}"
    yield "Entropy R2", f"{found.entropy_r2:.3f}"
    yield "Classification error", f"{found.classification_error:.3f}"
    fit = found.pattern_fit
    if fit is not None:
        yield "G2 (df)", f"{fit.g2:,.2f} ({fit.df_by_cells:,.0f})"
        yield "X2 (df)", f"{fit.x2:,.2f} ({fit.df_by_cells:,.0f})"
