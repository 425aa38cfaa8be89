"""k-means as formulas: the nearest centre of a row, and the square of its distance."""

from __future__ import annotations

import numpy as np
from sklearn.utils.validation import check_is_fitted

from halfseen.export.formula import LARGEST, Formula, Language, observed
from halfseen.families.kmeans.estimator import KMeans

FARTHEST = float(np.sqrt(LARGEST))  # the square of more is beyond float64


NUMBERS = ("squared_distance",)  # outputs besides the class


def labels(model: KMeans) -> list[int]:
    """Return the numbers of the clusters."""
    check_is_fitted(model, "_centred")
    return list(range(len(model._centred)))


def outputs(model: KMeans, language: Language) -> dict[str, Formula]:
    """Return the cluster that `predict` returns, and the square of its distance as in `transform`.

        squared_distance = min_k D / D' sum over the D' observed columns d of (x[d] - centres[k, d])^2

    A row without any cell is at distance 0 of all centres.
    """
    names, numbers = model._schema.names, labels(model)
    cells = language.step(*(language.number(name) for name in names))
    squares, seen = [], []
    for x, middle, centres in zip(cells, model._pivot.tolist(), model._centred.T, strict=True):
        apart = (x - middle) - centres
        squares.append(observed(x, abs(x - middle) < FARTHEST, apart * apart))
        seen.append(language.choose((x.missing(), 0.0), otherwise=1.0))
    distance, n_seen = language.step(language.total(squares), language.total(seen))
    near = -1.0 * distance
    largest = language.over_components("largest", near)
    near, largest, n_seen = language.step(near, largest, n_seen)
    scale = language.choose((n_seen > 0.0, len(names) / n_seen), otherwise=0.0)
    return {"class": language.label(near, largest, numbers), "squared_distance": 0.0 - largest * scale}
