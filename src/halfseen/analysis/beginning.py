"""A model where its fit would begin: what EM step by step, and the bound of a first step, start from."""

from __future__ import annotations

from typing import Any, TypeVar

from sklearn.base import clone

Model = TypeVar("Model")

PLAIN = {"assign": "soft", "draws": 1, "accelerate": False, "anneal": ()}
ONE_PASS = {"n_init": 1, "stop": "iterations", "max_iter": 1}


def begun(model: Model, X: Any, sample_weight: Any = None, labels: Any = None, **options: Any) -> Model:
    """Return a model that stands where a fit with one start would begin; `options` replace those of the model.

    A single pass leaves the start as it is. How rows are completed has no say in that, and a sampled pass would already
    move.

    Examples
    --------
    >>> import halfseen as hs
    >>> start = {"weights": [0.3, 0.7], "x0": {"a": [0.6, 0.2], "b": [0.4, 0.8]}}
    >>> begun(hs.LatentClass(2, start=start), [["a"], ["b"], ["b"]]).weights_
    array([0.3, 0.7])
    """
    plain: Any = clone(model).set_params(**PLAIN, **ONE_PASS, **options)
    found: Model = plain.fit(X, sample_weight=sample_weight, labels=labels)
    return found
