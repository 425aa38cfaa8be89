"""`Imputer`: fill missing values by a mixture, once for prediction or several times for inference.

Multiple imputation needs draws that are uncertain in two ways:

    weight ~ Dirichlet(weights of the rows) * sum of weights         the Bayesian bootstrap
    params = maximum for these weights, from the fitted params       a draw of the parameters
    class  ~ p(class | observed cells, params)                       for each row
    cells  ~ p(missing cells | observed cells, class, params)

A maximum under weights of the Bayesian bootstrap is, for many rows, a draw from the posterior of the parameters under a
flat prior (Newton and Raftery 1994). Every row keeps a positive weight, so that no category is lost.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import BaseEstimator, MetaEstimatorMixin, OneToOneFeatureMixin, TransformerMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from halfseen.data import Table, row_weight
from halfseen.engine.loop.search import Starts, fit
from halfseen.engine.tables.preprocess import reduce
from halfseen.errors import DataTypeError, ParameterError, warn
from halfseen.estimators import options
from halfseen.estimators.table.table_mixture import TableMixture
from halfseen.leaves.leaf import Floats
from halfseen.leaves.limits import Params
from halfseen.runners import runner
from halfseen.runners.frames import is_elsewhere
from halfseen.seeds import child, seed_of

WEIGHTS, CELLS = 0, 1  # what seeds are for


class Imputer(OneToOneFeatureMixin, TransformerMixin, MetaEstimatorMixin, BaseEstimator):
    """Fill the missing values of tables by a latent class model or a Gaussian mixture; a scikit-learn transformer.

    `transform` fills each missing cell once, with the expected number or the most probable category: right for
    prediction, but estimates from such a table are too certain. For inference, `multiple` gives several completed
    tables; analyse each, and pool the results with `hs.pool`.

    Parameters
    ----------
    model : LatentClass or GaussianMixture
        What is fitted; it is not changed.
    draws : int, default 5
        Number of completed tables that `multiple` can give; each costs a fit from the parameters found. 0: only
        `transform` is wanted.
    random_state : seed, optional
        Of the draws, and of the model if it has none of its own.

    Attributes
    ----------
    model_ : the fitted model
    n_features_in_, feature_names_in_ :
        As in scikit-learn.

    Notes
    -----
    What the draws contain: the uncertainty of the parameters (a refit to each draw of the Bayesian bootstrap), of the
    class of each row, and of its missing cells given the class. What they do not contain: the choice of the number of
    classes, which stays that of `model_`, and other local maxima. Values must be missing at random. Where all rows of
    a class have the same category, a model without a prior (`prior=None`) draws no other in any table.

    Examples
    --------
    >>> import halfseen as hs
    >>> birds = hs.load_penguins()[["bill_length_mm", "body_mass_g", "sex"]]
    >>> imputer = hs.Imputer(hs.LatentClass(3), draws=10, random_state=0).fit(birds)
    >>> int(imputer.transform(birds).isna().sum().sum())
    0
    >>> masses = [table["body_mass_g"] for table in imputer.multiple(birds)]
    >>> found = hs.pool([m.mean() for m in masses], [m.var() / len(m) for m in masses], df=len(birds) - 1)
    >>> print(f"{found.estimate[0]:.0f} ± {found.se[0]:.0f} g")
    4202 ± 43 g
    """

    def __init__(self, model: Any, *, draws: int = 5, random_state: Any = None) -> None:
        self.model = model
        self.draws = draws
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model, and draw its parameters.

        Parameters
        ----------
        X : table
        y : ignored
        sample_weight : (N,) array, optional
            How often each row counts.
        """
        options.whole("draws", self.draws, 0)
        _check_model(self.model)
        if is_elsewhere(X):
            raise ParameterError("Imputer takes tables of this process: rows that other processes hold are not drawn.")
        if sparse.issparse(X):
            raise DataTypeError("Imputer: sparse data are counts of words, of which none is missing.")
        seed = seed_of(self.random_state)
        model = clone(self.model)
        if model.random_state is None:
            model.set_params(random_state=int(child(seed, 2).generate_state(1)[0]))
        self.model_ = model.fit(X, sample_weight=sample_weight)
        self._entropy = seed.entropy
        self.n_features_in_ = model.n_features_in_
        self.__dict__.pop("feature_names_in_", None)
        if hasattr(model, "feature_names_in_"):
            self.feature_names_in_ = model.feature_names_in_
        self._params = self._drawn(X, sample_weight) if self.draws else []
        return self

    def _drawn(self, X: Any, sample_weight: ArrayLike | None) -> list[Params]:
        """Return parameters fitted under weights of the Bayesian bootstrap."""
        model = self.model_
        source = model._read(X, reset=False)
        weight = np.asarray(model._weight_of(source, row_weight(source, sample_weight)), dtype=np.float64)
        used = np.flatnonzero(weight > 0)
        table = model._schema.encode(source.take(used) if len(used) < len(weight) else source, weight[used])
        table = table.seen()
        found = [_refitted(model, table, self._seed(WEIGHTS, d)) for d in range(self.draws)]
        capped = sum(not converged for _, converged in found)
        if capped:
            warn(
                f"{capped} of {self.draws} draws of the parameters did not converge within max_iter={model.max_iter} "
                "iterations. Raise max_iter of the model.",
                ConvergenceWarning,
            )
        return [params for params, _ in found]

    def transform(self, X: Any) -> Any:
        """Return the table with each missing cell filled: the expected number, or the most probable category.

        The same container, columns and dtypes; observed cells are untouched.
        """
        check_is_fitted(self, "model_")
        return self.model_.impute(X)

    def multiple(self, X: Any, m: int | None = None) -> Iterator[Any]:
        """Yield completed tables, in which missing cells are drawn with all uncertainty; observed ones are untouched.

        Parameters
        ----------
        X : table              that of the fit, or another with the same columns
        m : int, optional      how many; by default, and at most, `draws`. The first ones are the same for any number
        """
        check_is_fitted(self, "model_")
        n_tables = len(self._params) if m is None else options.whole("m", m)
        if not 0 < n_tables <= len(self._params):
            raise ParameterError(f"m={n_tables}: the parameters were drawn {len(self._params)} times. Set draws=.")
        return self._completed(X, n_tables)

    def _completed(self, X: Any, n_tables: int) -> Iterator[Any]:
        for d in range(n_tables):
            model = copy(self.model_)
            model._params = self._params[d]
            yield model.impute(X, draw=True, random_state=np.random.default_rng(self._seed(CELLS, d)))

    def _seed(self, *key: int) -> np.random.SeedSequence:
        return child(np.random.SeedSequence(self._entropy), *key)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        own = self.model.__sklearn_tags__().input_tags
        tags.input_tags.allow_nan, tags.input_tags.string = own.allow_nan, own.string
        return tags


def _check_model(model: Any) -> None:
    known = isinstance(model, TableMixture) and "n_components" in model.get_params()
    if not known:
        name = model.__name__ if isinstance(model, type) else type(model).__name__
        raise ParameterError(f"Imputer: give a model such as LatentClass(3) or GaussianMixture(2), not {name}.")


def _refitted(model: Any, table: Table, seed: np.random.SeedSequence) -> tuple[Params, bool]:
    """Return parameters for one draw of the weights, from the fitted ones; and whether the fit converged."""
    rng = np.random.default_rng(seed)
    weighted = replace(table, weight=bootstrap_weights(table.weight, rng)).canonical()
    with runner(model.n_jobs, weighted.n_chunks) as run:
        weighted = weighted.run_by(run)
        data = reduce(model._model, weighted, run)
        search = fit(model._model, data, Starts.given([model._params]), options.plan(model, seed, run))
    if search.interrupted:
        raise KeyboardInterrupt  # what was begun at the fitted parameters would be too near to them
    found = search.best
    return found.accepted.params, found.reason != "max_iter"


def bootstrap_weights(weight: Floats, rng: np.random.Generator) -> Floats:
    """Return weights of the Bayesian bootstrap: Dirichlet(weight), with the same sum; all are positive.

    Examples
    --------
    >>> found = bootstrap_weights(np.array([1.0, 1.0, 2.0]), np.random.default_rng(0))
    >>> bool((found > 0).all()), round(float(found.sum()), 9)
    (True, 4.0)
    """
    drawn = np.maximum(rng.standard_gamma(weight), np.finfo(float).tiny)
    return drawn * (weight.sum() / drawn.sum())
