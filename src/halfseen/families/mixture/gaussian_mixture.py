"""Gaussian mixtures with every shape of covariance, over tables of numbers with missing values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from halfseen.data import Schema, Source
from halfseen.data.columns import Column
from halfseen.engine.loop.search import Starts
from halfseen.engine.tables.mixture import Mixture
from halfseen.errors import AbsentError, ParameterError
from halfseen.estimators import options
from halfseen.estimators.by_partition import by_partition
from halfseen.estimators.table import emission_builder, numeric_schema
from halfseen.estimators.table.column_events import unseen
from halfseen.families.mixture.covariates import by_covariates
from halfseen.families.mixture.unsupervised import UnsupervisedMixture
from halfseen.kinds.gaussian import COVARIANCES
from halfseen.leaves.categorical import read_table
from halfseen.leaves.leaf import Floats, frozen, map_arrays
from halfseen.leaves.limits import Params

INITS = {
    "mixed": "mixed",
    "rows": "rows",
    "spread": "spread",
    "parameters": "parameters",
    "posteriors": "posteriors",
    "kmeans": "kmeans",
    "k-means++": "spread",
    "random": "posteriors",
    "random_from_data": "rows",
}


@options.with_hints
@dataclass(eq=False, repr=False)
class GaussianMixture(UnsupervisedMixture):
    """Fit a mixture of normal distributions, by expectation-maximization; values may be missing.

        log p(row) = log sum_k weights[k] Normal(observed cells; means[k], covariances[k])

    Missing values are summed out exactly with every shape of covariance: in fitting they are completed by their
    conditional means and covariances. Parameters and attributes have scikit-learn's names.

    Parameters
    ----------
    n_components : int, range, list of int or "auto", default 1
        Number of components (classes, states). Of a range or list (range(1, 7), [2, 3, 5]) the best by `criterion` is
        kept; "auto" adds components, from 1, until the criterion has worsened twice in a row. `selection_` shows all
        that were tried.
    covariance_type : {"full", "tied", "diag", "spherical", "fixed", "identity"} or a list of these, default "full"
        Covariance of numbers within a component. "full": one covariance per component; "tied": one for all components;
        "diag": one variance per component and column; "spherical": one variance per component. "fixed": as given in
        `covariance`; "identity": ones. Of a list the best by `criterion` is kept.
    covariance : (D, D) or (K, D, D) array, optional
        For covariance_type="fixed".
    weights : "free", "uniform" or (K,) array, default "free"
        Shares of the components: estimated, equal, or given. With "uniform" and covariance_type="identity" only the
        means move: with assign="hard" that is k-means.
    criterion : {"bic", "aic", "icl"}, default "bic"
        Information criterion that chooses among several models; lower is better. "icl" is BIC plus twice the
        entropy of the posteriors.
    assign : {"soft", "hard", "sample"}, default "soft"
        How the E-step completes hidden values: in expectation, by the most probable completion, or by a draw.
    draws : int, default 1
        With assign="sample": use the mean of this many draws (Monte Carlo EM).
    prior : float, "row" or None, default None
        Pseudo-counts added to the expected counts. A number: as many for each cell of a table of probabilities, and as
        many pseudo-rows for numbers and counts. "row": one pseudo-row in all. None: maximum likelihood. Pseudo-rows are
        about the mean of the component, uncorrelated, with the variances of the columns (the inverse Wishart part of a
        normal-inverse-Wishart prior, flat in the mean).
    tol : float, default 1e-8
        Convergence threshold: of the estimated remaining gain of the total log-likelihood (not per row), unless another
        rule is chosen to stop by. It holds for the best start; starts are compared at 1e-4. (scikit-learn: the last
        gain, per row.)
    reg_covar : float, default 0
        Added to every variance after each step, as scikit-learn does; the objective may then fall. `variance_floor`
        and `prior` do not.
    max_iter : int, default 1000
        Maximum number of iterations (passes over the data) for each start.
    n_init : int or "auto", default "auto"
        Number of starts, each run on its own; those that clearly end below the best are dropped. "auto": 16, doubled up
        to 128 until three of them reach the best log-likelihood (within 0.001). (scikit-learn makes one start.)
    init_params : str, default "mixed"
        How starts are made: "mixed", "rows", "spread", "parameters", "posteriors" as in `LatentClass`; of
        scikit-learn's names "kmeans" begins at the clusters of k-means (of at most some thousand rows, with columns in
        units of their spread), "k-means++" is "spread" (rows far apart), "random" is "posteriors" and
        "random_from_data" is "rows".
    weights_init, means_init, precisions_init : arrays, optional
        Where to start, as in scikit-learn; any subset.
    warm_start : bool, default False
        Begin where the last fit ended.
    stop : {"gain", "counts", "parameters", "assignments", "iterations"}, default "gain"
        When to stop: when the estimated remaining gain of the objective, the largest change of an expected count, or
        the largest change of a parameter is below `tol`; when no assignment changed (hard); or after `max_iter`
        iterations. Sampled fits always make `max_iter` iterations, and estimate from the mean statistics of the second
        half.
    method : {"em", "gradient", "lbfgs"}, default "em"
        How the objective is maximised: by EM, by its gradient with an adaptive rate, or by L-BFGS (the last two need
        assign="soft"). All have the same optima.
    accelerate : bool, default True
        Accelerate soft EM by squared extrapolation (SQUAREM); the objective still never falls.
    anneal : sequence of float, optional
        Deterministic annealing: rising inverse temperatures in (0, 1), such as (0.4, 0.6, 0.8), with 10 iterations at
        each before the fit.
    variance_floor : float or "resolution", default "resolution"
        Smallest variance. "resolution": where the numbers of a column lie on a grid of step h (whole numbers, 0.1),
        h^2 / (2 pi), so that no density exceeds 1 / h; of other columns 1e-8 of their variance. A number: that share of
        the variance of every column. A run that ends on such a share has collapsed onto a few rows: it ranks behind
        every other run, and a warning says so if there is no other. Of covariances it is the
        smallest eigenvalue, in units of the variances of the columns: an exact constraint.
    weight_kind : {"frequency", "survey"}, default "frequency"
        What sample_weight says of a row: how often it was seen, or how many of the population it stands for. Survey
        weights are scaled to sum to the effective number of rows, (sum w)^2 / sum w^2, which is then N in BIC.
    n_jobs : int, optional
        Number of threads; -1 is all cores. Results are the same, bit for bit, with any number.
    random_state : int, RandomState or Generator, optional
        Seed. The same seed gives the same bits on the same machine.

    Attributes
    ----------
    weights_ : (K,) array             shares of the components, largest first after a fit from random starts
    means_ : (K, D) array
    covariances_ : array              full, fixed (K, D, D); tied (D, D); diag (K, D); spherical, identity (K,)
    precisions_, precisions_cholesky_ : arrays of the same shape
    covariance_type_ : str            the shape chosen
    lower_bound_ : float              log-likelihood per row
    lower_bounds_ : list of float     `trace_` per row: one for each accepted step
    loglik_, objective_, trace_, n_iter_, converged_, stop_reason_, n_components_, selection_, restarts_, events_ : as
        in `LatentClass`

    Examples
    --------
    >>> import halfseen as hs
    >>> X = [[0.1, 1.0], [0.3, None], [-0.2, 0.7], [0.0, 0.8], [5.0, 5.2], [5.3, 4.6], [None, 5.1]]
    >>> model = hs.GaussianMixture(2, covariance_type="diag", random_state=0).fit(X)
    >>> model.means_.round(1)
    array([[0. , 0.8],
           [5.2, 5. ]])
    >>> model.predict(X).tolist()
    [0, 0, 0, 0, 1, 1, 1]
    """

    _paper_name = "Gaussian mixture model"

    n_components: int | Sequence[int] | str = 1
    _: KW_ONLY
    covariance_type: str | Sequence[str] = "full"
    covariance: ArrayLike | None = None
    weights: str | ArrayLike = "free"
    criterion: str = "bic"
    assign: str = "soft"
    draws: int = 1
    prior: str | float | None = None
    tol: float = 1e-8
    reg_covar: float = 0.0
    max_iter: int = 1000
    n_init: int | str = "auto"
    init_params: str = "mixed"
    weights_init: ArrayLike | None = None
    means_init: ArrayLike | None = None
    precisions_init: ArrayLike | None = None
    warm_start: bool = False
    stop: str = "gain"
    method: str = "em"
    accelerate: bool = True
    anneal: Sequence[float] = ()
    variance_floor: float | str = "resolution"
    weight_kind: str = "frequency"
    n_jobs: int | None = None
    random_state: Any = None

    _deviations: ClassVar[options.Deviations] = {
        "n_components": options.Deviation("as in scikit-learn", default=1),
        "covariance_type": options.Deviation(
            "two shapes that are not estimated, for k-means and known noise",
            **options.some_words(*COVARIANCES),
        ),
    }

    # ---- what the options mean -----------------------------------------------------------------------------------

    @property
    def init(self) -> str:  # type: ignore[override]
        """How starts are made, in the engine's words."""
        return INITS[self.init_params]

    @property
    def fixed(self) -> tuple[str, ...]:  # type: ignore[override]
        """What keeps its start: the weights, unless they are free."""
        return () if isinstance(self.weights, str) and self.weights == "free" else ("weights",)

    def _shapes(self) -> Sequence[str]:
        return options.some_of("covariance_type", self.covariance_type, COVARIANCES)

    def _check_options(self) -> None:
        super()._check_options()
        options.one_of("init_params", self.init_params, INITS)
        options.flag("warm_start", self.warm_start)
        if isinstance(self.weights, str):
            options.one_of("weights", self.weights, ("free", "uniform"))
            if self.weights == "uniform" and self.weights_init is not None:
                raise ParameterError("weights_init has no meaning with weights='uniform'. Leave one of them out.")
        shapes = self._shapes()
        if ("fixed" in shapes) != (self.covariance is not None):
            raise ParameterError("covariance_type='fixed' and covariance= go together: give both or neither.")
        if self.precisions_init is not None and (len(shapes) > 1 or shapes[0] in ("fixed", "identity")):
            raise ParameterError(
                f"precisions_init needs one covariance_type that is estimated, got covariance_type="
                f"{self.covariance_type!r}."
            )

    @property
    def _option_by_class(self) -> str:
        arrays = {name: getattr(self, name) for name in ("weights_init", "means_init", "precisions_init")}
        arrays["weights"] = None if isinstance(self.weights, str) else self.weights
        return next((name for name, value in arrays.items() if value is not None), "")

    @property
    def _keeps_order(self) -> bool:
        each = self.covariance is not None and np.ndim(self.covariance) == 3
        begun = self._begins_at is not None or (self.warm_start and hasattr(self, "_params"))
        return bool(self._option_by_class) or each or begun

    def _check_seen(self) -> None:
        numeric_schema.check_seen(unseen(self._schema))

    def _learn_schema(self, source: Source) -> Schema:
        return numeric_schema.number_schema(source, keep_constants=set(self._shapes()) <= {"fixed", "identity"})

    def _recipe_for(
        self, summary: emission_builder.Summary, n_components: int, covariance: str = "full"
    ) -> emission_builder.Recipe:
        n_columns = len(self._schema.blocks.get(numeric_schema.BLOCK, ()))
        numeric_schema.check_size(covariance, n_components, n_columns)
        if covariance in ("fixed", "identity"):  # a column that never varies still needs a unit
            summary = emission_builder.filled(self._schema, summary)
        return super()._recipe_for(summary, n_components, covariance)

    def _overlaid(self, params: Params, n_components: int, covariance: str) -> Params:
        mix, emit = params["mix"], dict(params["emit"])
        shares = self._shares(n_components)
        if shares is not None:
            mix = frozen(shares[None])
        if numeric_schema.BLOCK in emit:
            emit[numeric_schema.BLOCK] = self._overlaid_block(emit[numeric_schema.BLOCK], n_components, covariance)
        return {"mix": mix, "emit": emit}

    def _shares(self, n_components: int) -> Floats | None:
        """Return the shares of components that the user gave."""
        if not isinstance(self.weights, str):
            return read_table(self.weights, (n_components,), "weights")
        if self.weights == "uniform":
            return np.full(n_components, 1 / n_components)
        return None if self.weights_init is None else read_table(self.weights_init, (n_components,), "weights_init")

    def _overlaid_block(self, block: Params, n_components: int, shape: str) -> Params:
        width = len(self._schema.columns)
        members = np.array(self._schema.blocks[numeric_schema.BLOCK])
        if self.means_init is not None:
            means = numeric_schema.read_array("means_init", self.means_init, [(n_components, width)])
            block = numeric_schema.set_means(block, means[:, members])
        if self.precisions_init is not None:
            given = numeric_schema.read_covariances("precisions_init", self.precisions_init, shape, n_components, width)
            block = numeric_schema.set_covariances(block, np.linalg.inv(numeric_schema.inner(given, members)))
        if shape == "fixed":
            given = numeric_schema.read_covariances("covariance", self.covariance, shape, n_components, width)
            block = numeric_schema.set_covariances(block, numeric_schema.inner(given, members))
        if shape == "identity":
            block = numeric_schema.set_covariances(block, np.tile(np.eye(len(members)), (n_components, 1, 1)))
        return map_arrays(frozen, block)

    def _starts(self, model: Mixture, *args: Any) -> Starts:
        if self._begins_at is None and self.warm_start and self._fits(model):
            return Starts.given([self._params])
        return super()._starts(model, *args)

    def _fits(self, model: Mixture) -> bool:
        """Whether the last fit's parameters are parameters of this model."""
        if not hasattr(self, "_params"):
            return False
        old, new = (map_arrays(np.shape, params) for params in (self._params, model.blank()))
        return bool(old == new)

    # ---- what was fitted -----------------------------------------------------------------------------------------

    @by_covariates
    @by_partition("class")
    def predict_proba(self, X: Any) -> Any:
        """Return the posterior probability of each component for each row, (N, K); float32 for an array of float32."""
        kind = np.float32 if getattr(X, "dtype", None) == np.float32 else np.float64
        rounded = self._over(X, lambda table: self._posteriors(table, lambda resp: resp.astype(kind, copy=False)))
        return np.concatenate(rounded)

    @property
    def covariance_type_(self) -> str:
        """The shape of the covariances, chosen from those in `covariance_type`."""
        check_is_fitted(self)
        return self._covariance

    @property
    def means_(self) -> Floats:
        """Means of the components, (K, D)."""
        check_is_fitted(self)
        return numeric_schema.all_means(self._params, self._schema)

    @property
    def covariances_(self) -> Floats:
        """Covariances of the components, in scikit-learn's shape for `covariance_type_`."""
        check_is_fitted(self)
        return numeric_schema.all_covariances(self._params, self._schema, self._covariance)

    @property
    def precisions_cholesky_(self) -> Floats:
        """Factors of the precisions, precision = factor factor'."""
        return numeric_schema.cholesky_of_precisions(self.covariances_, self._covariance)

    @property
    def precisions_(self) -> Floats:
        """Inverses of the covariances."""
        return numeric_schema.precisions(self.precisions_cholesky_, self._covariance)

    @property
    def lower_bound_(self) -> float:
        """Log-likelihood per row of the data it was fitted to."""
        self._check_whole("lower_bound_")
        return self.loglik_ / self._n_rows

    def _check_whole(self, name: str) -> None:
        check_is_fitted(self)
        if self._n_rows == 0:
            raise AbsentError(f"{name}: this model was built without data, or in pieces. score(X) measures it on data.")

    @property
    def lower_bounds_(self) -> list[float]:
        """Objective per row at each accepted step."""
        self._check_whole("lower_bounds_")
        return [objective / self._n_rows for objective in self.trace_]

    @classmethod
    def from_params(
        cls,
        weights: Sequence[float],
        means: ArrayLike,
        covariances: ArrayLike,
        covariance_type: str = "full",
    ) -> Self:
        """Build a model without data.

        Parameters
        ----------
        weights : (K,) shares of the components
        means : (K, D) array
        covariances : array          in scikit-learn's shape for `covariance_type`
        covariance_type : {"full", "tied", "diag", "spherical"}

        Examples
        --------
        >>> import halfseen as hs
        >>> model = hs.GaussianMixture.from_params([0.5, 0.5], [[0, 0], [4, 4]], [[[1, 0.5], [0.5, 1]]] * 2)
        >>> model.impute([[1.0, float("nan")]]).round(3)
        array([[1.   , 0.536]])
        """
        shape = options.one_of("covariance_type", covariance_type, ("full", "tied", "diag", "spherical"))
        shares = read_table(weights, (len(weights),), "weights")
        width = np.shape(means)[-1] if np.ndim(means) == 2 else 0
        centres = numeric_schema.read_array("means", means, [(len(shares), max(width, 1))])
        given = numeric_schema.read_covariances("covariances", covariances, shape, len(shares), width)
        model = cls(len(shares), covariance_type=shape)
        model._schema = Schema.of(Column(f"x{j}", "gaussian") for j in range(width))
        model._recipe = emission_builder.Recipe(
            model._schema, emission_builder.unit_summary(model._schema), len(shares), covariance=shape
        )
        model._model = model._recipe.model()
        block = numeric_schema.set_covariances(
            numeric_schema.set_means(model._model.blank()["emit"][numeric_schema.BLOCK], centres), given
        )
        model._params = {"mix": frozen(shares[None]), "emit": {numeric_schema.BLOCK: map_arrays(frozen, block)}}
        model._begin_without_data(width)
        return model
