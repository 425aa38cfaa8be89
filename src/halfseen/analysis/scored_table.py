"""A table scored by a fitted mixture: the encoded rows, their posteriors and log-likelihoods, computed once.

Vocabulary
----------
seen       a table with posteriors, which all analyses of a table share
resp       posterior of each row and *component*, (N, K)
proba      posterior of each row and *class*, (N, C); the same unless a classifier has several components per class
rows       positions of the rows in the user's table; of a very large table a sample of them
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from halfseen.data import Source, Table, check_weight
from halfseen.errors import DataError, ParameterError
from halfseen.estimators.table.table_mixture import TableMixture, with_covariates
from halfseen.leaves.leaf import Floats

Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Seen:
    """A table scored by a fitted model.

    Attributes
    ----------
    model : the fitted mixture
    source : Source              the scored rows as they were given
    table : Table                the same, encoded
    rows : (N,) array            their positions in the table given
    n_given : int                rows in the table given; more than N where a sample was taken
    resp : (N, K) array          posterior of each component
    loglik : (N,) array          log p(observed cells)
    names : sequence of str      the words of a sparse matrix, where they were given
    conditional : bool           whether posteriors and likelihoods are those given covariates; `model` does not know
                                 them, and has the average shares of the classes
    """

    model: TableMixture
    source: Source
    table: Table
    rows: NDArray[np.int64]
    n_given: int
    resp: Floats
    loglik: Floats
    names: Sequence[str] | None = None
    conditional: bool = False

    @property
    def class_names(self) -> tuple[str, ...]:
        """Names of the classes, as many as `proba` has columns."""
        return class_names(self.model)

    @cached_property
    def proba(self) -> Floats:
        """Posterior of each class, (N, C)."""
        return self.model._by_class(self.resp)

    @cached_property
    def missing(self) -> Mask:
        """Which cells are missing, (N, D), columns in the order of the table."""
        return self.table.missing

    @property
    def is_sample(self) -> bool:
        """Whether some rows were left out."""
        return len(self.rows) < self.n_given


def look(
    model: Any,
    X: Any,
    sample_weight: ArrayLike | None = None,
    most: int | None = None,
    random_state: int = 0,
    names: Sequence[str] | None = None,
    covariates: Any = None,
) -> Seen:
    """Score a table with a fitted model.

    Parameters
    ----------
    model : fitted LatentClass or NaiveBayes
    X : table
    sample_weight : (N,) array, optional
    most : int, optional
        Score a random sample of this many rows if there are more.
    random_state : int
        Seed of the sample.
    names : sequence of str, optional
        The words of a sparse matrix.
    covariates : table, optional
        Of a model that was fitted with some; rows that lack one get weight 0.

    Examples
    --------
    >>> import halfseen as hs
    >>> model = hs.LatentClass.from_params([0.5, 0.5], {"x": {"a": [0.9, 0.3], "b": [0.1, 0.7]}})
    >>> look(model, [["a"], ["b"], [None]]).proba.round(3)
    array([[0.75 , 0.25 ],
           [0.125, 0.875],
           [0.5  , 0.5  ]])
    """
    check_mixture(model)
    asked, X = model._conditional(X, covariates, "posteriors", missing="drop")
    source: Source = model._read(X, reset=False)
    weight = check_weight(sample_weight, source.n_rows)
    given = asked._given
    if given is not None and given.lacking is not None:
        weight = np.where(given.lacking, 0.0, weight)
    n_given = source.n_rows
    rows = np.arange(n_given)
    if most is not None and n_given > most:
        rows = np.sort(np.random.default_rng(random_state).choice(n_given, most, replace=False))
        source, weight = source.take(rows), weight[rows]
        if not weight.any():
            raise DataError(f"all of the {most} rows drawn from {n_given} have weight 0. Leave such rows out of X.")
    table = model._schema.encode(source, model._weight_of(source, weight))
    table = table if given is None else with_covariates(table, given.matrix[rows])
    found = asked._infer(table, lambda part: (part.usage["emit"], part.log_evidence[:, 0]))
    resp, loglik = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return Seen(model, source, table, rows, n_given, resp, loglik, names, given is not None)


def check_mixture(model: Any) -> None:
    """Refuse what is not a fitted mixture over a table."""
    if not isinstance(model, TableMixture):
        raise ParameterError(f"{type(model).__name__} is not a fitted mixture over a table, such as LatentClass.")
    check_is_fitted(model)


def class_names(model: TableMixture) -> tuple[str, ...]:
    """Return the names of the classes; of a classifier, its labels."""
    return tuple(map(str, model.classes_)) if hasattr(model, "classes_") else model.class_names_


def class_shares(model: TableMixture) -> Floats:
    """Return the shares of the classes, (C,)."""
    return model._by_class(model.weights_)
