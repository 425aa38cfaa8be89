"""EM number by number, for the models whose family has a module `explain`."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

from halfseen import families
from halfseen.analysis.worked_numbers import Worked
from halfseen.errors import ParameterError


def explain(model: Any, X: Any, n_iter: int = 3, sample_weight: Any = None, labels: Any = None) -> Worked:
    """Show EM at work on a few rows, number by number.

    Parameters
    ----------
    model : LatentClass, GaussianMixture or KMeans
        If it is fitted, or comes from `from_params`, the first iteration begins at its parameters. Otherwise it begins
        where a fit would: at `start=` (`init=` of k-means), what is not given there being drawn by the seed. `assign`,
        `prior`, `fixed` and `tied` are honoured; acceleration, annealing and restarts are left out.
    X : table of at most 30 rows
    n_iter : int
        Number of iterations.
    sample_weight : (N,) array, optional
    labels : array, optional
        What is known of the rows' classes, as in `LatentClass.fit`; not for k-means.

    Returns
    -------
    Explanation
        `print` it, or `save` it as a page; `steps` has all numbers.

    Examples
    --------
    >>> import halfseen as hs
    >>> columns = {"x1": {0: [0.7, 0.1], 1: [0.3, 0.9]}, "x2": {0: [0.8, 0.4], 1: [0.2, 0.6]}}
    >>> model = hs.LatentClass.from_params([0.3, 0.7], columns)
    >>> explanation = hs.explain(model, [[0, 1], [1, 1]], n_iter=1)
    >>> explanation.steps[0].class_counts.round(6)
    array([0.545455, 1.454545])
    >>> explanation.steps[0].after["weights"].round(6)
    array([0.272727, 0.727273])
    """
    found = families.of_class(type(model))
    if found is None or find_spec(found[0].home("explain")) is None:
        raise ParameterError(f"explain shows LatentClass, GaussianMixture and KMeans, got {type(model).__name__}.")
    shown: Worked = found[0].module("explain").explain(model, X, n_iter, sample_weight, labels)
    return shown
