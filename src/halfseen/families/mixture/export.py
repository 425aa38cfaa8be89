"""Mixtures over a table as formulas: class, probabilities and log-likelihood of a row."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from halfseen.errors import ParameterError
from halfseen.estimators.table.profile import fitted_blocks
from halfseen.estimators.table.table_mixture import TableMixture
from halfseen.export.formula import PROBABILITIES, Formula, Language
from halfseen.export.posterior import posterior

NUMBERS = (PROBABILITIES, "loglik")  # outputs besides the class


def labels(model: TableMixture) -> list[Any]:
    """Return what `predict` returns for each class."""
    check_is_fitted(model)
    found: list[Any] = getattr(model, "classes_", np.arange(len(model.weights_))).tolist()
    return found


def outputs(model: TableMixture, language: Language) -> dict[str, Formula]:
    """Return the class that `predict` returns, the probabilities of `predict_proba` and the `score_samples` of a row.

    scores[k] = log weights[k] + sum over observed d of log p(x[d] | k)
    """
    names = labels(model)
    if getattr(model, "_membership", None) is not None:
        raise ParameterError(
            "export: classes of this model depend on covariates, which exported models do not know yet."
        )
    blocks = list(fitted_blocks(model))
    cells = [block.kind.exported_cell(column, language) for block, *_ in blocks for column in block.columns]
    read = iter(language.step(*cells))
    with np.errstate(divide="ignore"):
        parts = [language.constant(np.log(model.weights_))]
    for fitted in blocks:
        own = [next(read) for _ in fitted.block.columns]
        parts += fitted.block.kind.exported_scores(fitted, own, language)
    return posterior(language, language.total(parts), model.weights_, names, len(model.weights_) // len(names))
