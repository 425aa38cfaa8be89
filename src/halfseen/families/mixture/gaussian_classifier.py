"""Classification of rows of numbers: discriminant analysis, quadratic or linear, with holes in rows and labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from halfseen.data import Schema, Source
from halfseen.estimators import options
from halfseen.estimators.table import numeric_schema
from halfseen.estimators.table.column_events import unseen
from halfseen.families.mixture.naive_bayes import NaiveBayes
from halfseen.leaves.leaf import Floats


class GaussianClassifier(NaiveBayes):
    """Classify rows of numbers, jointly normal within a class; cells and labels may be missing.

        P(class | row) ~ P(class) Normal(observed cells; means[class], covariances[class])

    With a label for every row and no hole the fit is counting, in closed form: class shares, means and covariances by
    maximum likelihood. covariance_type="full" is quadratic discriminant analysis, "tied" linear. Where labels or cells
    are missing, EM completes them.

    Parameters
    ----------
    covariance_type : {"full", "tied", "diag", "spherical"}, default "full"
    prior : float, "row" or None, default None
        So many pseudo-rows per class about its own mean, uncorrelated and with the columns' variances, and as many on
        its share. None: maximum likelihood.
    class_prior, components_per_class, unlabeled_weight, guard : as in `NaiveBayes`
    assign, n_init, tol, max_iter : as in `NaiveBayes`
    reg_covar : float, default 0
        Added to every variance after each step.
    variance_floor : float, default 1e-8
        Smallest eigenvalue of a covariance in units of the columns' own variances.
    n_jobs, random_state : as in `LatentClass`

    Attributes
    ----------
    classes_, class_prior_, class_count_, guard_ : as in `NaiveBayes`
    means_ : (C, D) array             one row per component where a class has several
    covariances_ : array              full (C, D, D); tied (D, D); diag (C, D); spherical (C,)
    loglik_, objective_, trace_, n_iter_, converged_, stop_reason_, events_ : as in `LatentClass`

    Examples
    --------
    >>> import halfseen as hs
    >>> X = [[1.0, 2.1], [1.5, 3.2], [0.4, 1.3], [0.8, None], [4.0, 1.2], [4.6, 0.4], [3.7, 1.9], [4.4, 1.1]]
    >>> model = hs.GaussianClassifier(covariance_type="tied").fit(X, ["a", "a", "a", "a", "b", "b", "b", "b"])
    >>> model.predict([[1.2, None], [None, 0.5]])
    array(['a', 'b'], dtype='<U1')
    """

    _takes_text = False

    def __init__(
        self,
        *,
        covariance_type: str = "full",
        prior: str | float | None = None,
        class_prior: Sequence[float] | None = None,
        components_per_class: int = 1,
        unlabeled_weight: float = 1.0,
        guard: bool = True,
        assign: str = "soft",
        n_init: int = 16,
        tol: float = 1e-4,
        max_iter: int = 1000,
        reg_covar: float = 0.0,
        variance_floor: float = 1e-8,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.covariance_type = covariance_type
        self.prior = prior
        self.class_prior = class_prior
        self.components_per_class = components_per_class
        self.unlabeled_weight = unlabeled_weight
        self.guard = guard
        self.assign = assign
        self.n_init = n_init
        self.tol = tol
        self.max_iter = max_iter
        self.reg_covar = reg_covar
        self.variance_floor = variance_floor
        self.n_jobs = n_jobs
        self.random_state = random_state

    _deviations: ClassVar[options.Deviations] = {
        "covariance_type": options.Deviation(
            "classifiers are compared by cross-validation, not by `criterion`",
            **options.words(*options.COVARIANCE_TYPES),
        ),
        "n_init": NaiveBayes._deviations["n_init"],
    }

    @property
    def _covariance(self) -> str:  # type: ignore[override]
        return self.covariance_type

    def _check_seen(self) -> None:
        numeric_schema.check_seen(unseen(self._schema))

    def _learn_schema(self, source: Source) -> Schema:
        schema = numeric_schema.number_schema(source)
        numeric_schema.check_size(self.covariance_type, len(self.classes_), len(schema.columns))
        return schema

    def _guess(self, source: Source) -> Schema | None:
        return None  # all columns are numbers, whatever they look like

    @property
    def means_(self) -> Floats:
        """Means of the classes, (C, D)."""
        check_is_fitted(self)
        return numeric_schema.all_means(self._params, self._schema)

    @property
    def covariances_(self) -> Floats:
        """Covariances of the classes, in scikit-learn's shape for `covariance_type`."""
        check_is_fitted(self)
        return np.array(numeric_schema.all_covariances(self._params, self._schema, self.covariance_type))
