"""Quadratic and linear discriminant analysis with missing values and missing labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from halfseen.data import Schema, Source
from halfseen.estimators import options
from halfseen.estimators.table import numeric_schema
from halfseen.estimators.table.column_events import unseen
from halfseen.families.mixture.supervised import FEW_STARTS, MixtureClassifier
from halfseen.leaves.leaf import Floats


@options.with_hints
@dataclass(eq=False, repr=False)
class GaussianClassifier(MixtureClassifier):
    """Classify rows of numbers, jointly normal within a class; values and labels may be missing.

        P(class | row) ~ P(class) Normal(observed cells; means[class], covariances[class])

    With a label for every row and no missing values the fit is counting, in closed form: class shares, means and
    covariances by maximum likelihood. Where labels or values are missing, EM completes them.

    Parameters
    ----------
    covariance_type : {"full", "tied", "diag", "spherical"}, default "full"
        Covariance of numbers within a component. "full": one covariance per component; "tied": one for all components;
        "diag": one variance per component and column; "spherical": one variance per component. "full" is quadratic
        discriminant analysis, "tied" linear.
    prior : float, "row" or None, default None
        Pseudo-counts added to the expected counts. A number: as many for each cell of a table of probabilities, and as
        many pseudo-rows for numbers and counts. "row": one pseudo-row in all. None: maximum likelihood. Pseudo-rows are
        about the mean of the class, uncorrelated, with the variances of the columns.
    class_prior, components_per_class, unlabeled_weight, guard : as in `NaiveBayes`
    assign : {"soft", "hard", "sample"}, default "soft"
        How the E-step completes hidden values: in expectation, by the most probable completion, or by a draw. Hidden
        are missing labels; "hard" is self-training.
    n_init : int or "auto", default "auto"
        Number of starts with several components per class; with one the labelled rows are the only start.
    tol : float, default 1e-8
        Convergence threshold: of the estimated remaining gain of the total log-likelihood (not per row), unless another
        rule is chosen to stop by. It holds for the best start; starts are compared at 1e-4.
    max_iter : int, default 1000
        Maximum number of iterations (passes over the data) for each start.
    reg_covar : float, default 0
        Added to every variance after each step.
    variance_floor : float or "resolution", default "resolution"
        Smallest variance. "resolution": where the numbers of a column lie on a grid of step h (whole numbers, 0.1),
        h^2 / (2 pi), so that no density exceeds 1 / h; of other columns 1e-8 of their variance. A number: that share of
        the variance of every column. A run that ends on such a share has collapsed onto a few rows: it ranks behind
        every other run, and a warning says so if there is no other. Of covariances it is the
        smallest eigenvalue, in units of the variances of the columns.
    n_jobs : int, optional
        Number of threads; -1 is all cores. Results are the same, bit for bit, with any number.
    random_state : int, RandomState or Generator, optional
        Seed. The same seed gives the same bits on the same machine.

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

    _paper_name = "Gaussian classifier"

    _: KW_ONLY
    covariance_type: str = "full"
    prior: str | float | None = None
    class_prior: Sequence[float] | None = None
    components_per_class: int = 1
    unlabeled_weight: float | str = "auto"
    guard: bool = True
    assign: str = "soft"
    n_init: int | str = "auto"
    tol: float = 1e-8
    max_iter: int = 1000
    reg_covar: float = 0.0
    variance_floor: float | str = "resolution"
    n_jobs: int | None = None
    random_state: Any = None

    _deviations: ClassVar[options.Deviations] = {
        "covariance_type": options.Deviation(
            "classifiers are compared by cross-validation, not by `criterion`",
            **options.words(*options.COVARIANCE_TYPES),
        ),
        "n_init": FEW_STARTS,
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
