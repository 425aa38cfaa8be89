"""Latent class analysis, latent profile analysis and mixtures over tables of mixed columns with missing values."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

from sklearn.utils.validation import check_is_fitted

from halfseen.estimators import options
from halfseen.estimators.table import emission_builder
from halfseen.families.mixture.unsupervised import UnsupervisedMixture


@options.with_hints
@dataclass(eq=False, repr=False)
class LatentClass(UnsupervisedMixture):
    """Find latent classes in a table of mixed columns with missing values, by expectation-maximization.

    Each row belongs to one of K hidden classes. Given the class the columns are independent: categories with their own
    probabilities, numbers normal, counts Poisson. Missing values are summed out, in fitting and in prediction.

        log p(row) = log sum_k weights[k] prod over observed columns d of p(x[d] | k)

    Parameters
    ----------
    n_components : int, range, list of int or "auto", default 2
        Number of components (classes, states). Of a range or list (range(1, 7), [2, 3, 5]) the best by `criterion` is
        kept; "auto" adds components, from 1, until the criterion has worsened twice in a row. `selection_` shows all
        that were tried.
    criterion : {"bic", "aic", "icl"}, default "bic"
        Information criterion that chooses among several models; lower is better. "icl" is BIC plus twice the
        entropy of the posteriors.
    columns : mapping, optional
        Kinds of columns by name, where they are not to be found by the rule: {"visits": "poisson"}. The rule: text,
        True/False, declared categories, constants and whole numbers with at most 12 distinct values are "categorical";
        other numbers are "gaussian". {"body": "text"} splits a column into words. A sparse matrix in place of a table
        is counts of words.
    text : {"multinomial", "bernoulli"}, default "multinomial"
        Model of words in text: how often each occurs, or whether it occurs.
    words : mapping, optional
        Options of scikit-learn's CountVectorizer, which splits text into words: {"stop_words": "english", "min_df": 2}.
    document_length : float, "mean" or None
        Count every document as if it had this many words; "mean": as many as the average document. The class of a long
        document is then no more certain than that of a short one.
    assign : {"soft", "hard", "sample"}, default "soft"
        How the E-step completes hidden values: in expectation, by the most probable completion, or by a draw.
    draws : int, default 1
        With assign="sample": use the mean of this many draws (Monte Carlo EM).
    covariance : {"diag", "full", "auto"}, default "diag"
        Whether numbers are independent given the class, or jointly normal; "auto" tries both and keeps the better by
        `criterion`. Fixed and tied columns are independent always.
    prior : float, "row" or None, default "row"
        Pseudo-counts added to the expected counts. A number: as many for each cell of a table of probabilities, and as
        many pseudo-rows for numbers and counts. "row": one pseudo-row in all. None: maximum likelihood. Of the
        pseudo-row, 1 / K is in each class: categories and counts as in the whole table, numbers about the mean of the
        class with the variance of the column. It keeps estimates off the boundary.
    init : {"mixed", "rows", "spread", "parameters", "posteriors", "kmeans"}, default "mixed"
        How random starts are made: see `halfseen.engine.tables.starts`. "kmeans" is for columns of numbers alone.
    start : mapping, optional
        Parameters to start from, by name, any subset. For example {"weights": [...], "color": {"red": [p, q], "blue":
        [...]}, "age": {"mean": [...], "sd": [...]}, "visits": [rate, rate]}, with one number per class in each list.
    fixed : list of str, or mapping, optional
        Parameters that keep their start value exactly, by name. Names are those of columns, or "weights". A mapping
        gives the values themselves, as in `start` with None where a parameter is free: {"q1": {"yes": [1.0, None]},
        "age": {"mean": [0.0, None]}, "weights": [0.2, None, None]}.
    tied : list of str, or mapping, optional
        Columns with the same parameters in all components. A mapping gives the groups of classes that share them:
        {"q1": [[0, 1], [2]]}; classes that are in no group have their own.
    n_init : int or "auto", default "auto"
        Number of starts, each run on its own; those that clearly end below the best are dropped. "auto": 16, doubled up
        to 128 until three of them reach the best log-likelihood (within 0.001). (scikit-learn's mixtures make one
        start.)
    stop : {"gain", "counts", "parameters", "assignments", "iterations"}, default "gain"
        When to stop: when the estimated remaining gain of the objective, the largest change of an expected count, or
        the largest change of a parameter is below `tol`; when no assignment changed (hard); or after `max_iter`
        iterations. Sampled fits always make `max_iter` iterations, and estimate from the mean statistics of the second
        half.
    tol : float, default 1e-8
        Convergence threshold: of the estimated remaining gain of the total log-likelihood (not per row), unless another
        rule is chosen to stop by. It holds for the best start; starts are compared at 1e-4.
    max_iter : int, default 1000
        Maximum number of iterations (passes over the data) for each start.
    method : {"em", "gradient", "lbfgs"}, default "em"
        How the objective is maximised: by EM, by its gradient with an adaptive rate, or by L-BFGS (the last two need
        assign="soft"). All have the same optima. L-BFGS may be faster than EM where classes overlap, and slower where
        they do not.
    accelerate : bool, default True
        Accelerate soft EM by squared extrapolation (SQUAREM); the objective still never falls.
    anneal : sequence of float, optional
        Deterministic annealing: rising inverse temperatures in (0, 1), such as (0.4, 0.6, 0.8), with 10 iterations at
        each before the fit.
    variance_floor : float or "resolution", default "resolution"
        Smallest variance. "resolution": where the numbers of a column lie on a grid of step h (whole numbers, 0.1),
        h^2 / (2 pi), so that no density exceeds 1 / h; of other columns 1e-8 of their variance. A number: that share of
        the variance of every column. A run that ends on such a share has collapsed onto a few rows: it ranks behind
        every other run, and a warning says so if there is no other.
    weight_kind : {"frequency", "survey"}, default "frequency"
        What sample_weight says of a row: how often it was seen, or how many of the population it stands for. Survey
        weights are scaled to sum to the effective number of rows, (sum w)^2 / sum w^2, which is then N in BIC.
    n_jobs : int, optional
        Number of threads; -1 is all cores. Results are the same, bit for bit, with any number.
    random_state : int, RandomState or Generator, optional
        Seed. The same seed gives the same bits on the same machine.

    Attributes
    ----------
    weights_ : (K,) array            shares of the classes, largest first after a fit from random starts
    loglik_ : float                  log-likelihood of the data under the returned parameters, summed over rows
    objective_ : float               what was maximised: `loglik_` (hard: best joint) plus the log-prior
    trace_ : list of float           the objective after each accepted step
    n_iter_ : int                    passes over the data of the winning start
    converged_ : bool
    stop_reason_ : str               "tolerance", "rounding", "counts stable", "parameters stable",
                                     "assignments unchanged", "iterations", "max_iter" or "interrupted"
    n_components_ : int              number of classes
    selection_ : table               for each number of classes tried: loglik, n_parameters, bic, aic, sabic (the
                                     sample-size adjusted BIC), icl, entropy, and how many starts agree
    restarts_ : dict                 n_init, n_finalists, n_reached_best, and the finalists' objectives, best first
    events_ : list of str            what else happened: empty classes, collapses, columns without information
    columns_ : dict                  the kind of each column
    covariance_ : str                "diag" or "full": that of numbers within a class
    class_names_ : tuple of str
    n_features_in_, feature_names_in_

    Examples
    --------
    >>> import halfseen as hs
    >>> X = [["a", 1.1], ["a", 0.9], ["b", 5.2], ["b", None], ["a", 1.0], [None, 4.9]]
    >>> model = hs.LatentClass(2, random_state=0).fit(X)
    >>> model.predict(X).tolist()
    [0, 0, 1, 1, 0, 1]
    >>> model.stop_reason_
    'tolerance'
    """

    _paper_name = "latent class model"

    n_components: int | Sequence[int] | str = 2
    _: KW_ONLY
    criterion: str = "bic"
    columns: Mapping[str | int, str] | None = None
    text: str = "multinomial"
    words: Mapping[str, Any] | None = None
    document_length: float | str | None = None
    assign: str = "soft"
    draws: int = 1
    covariance: str = "diag"
    prior: str | float | None = "row"
    init: str = "mixed"
    start: Mapping[str, Any] | None = None
    fixed: Collection[str] | Mapping[str, Any] | None = ()
    tied: Collection[str] | Mapping[str, Any] | None = ()
    n_init: int | str = "auto"
    stop: str = "gain"
    tol: float = 1e-8
    max_iter: int = 1000
    method: str = "em"
    accelerate: bool = True
    anneal: Sequence[float] = ()
    variance_floor: float | str = "resolution"
    weight_kind: str = "frequency"
    n_jobs: int | None = None
    random_state: Any = None

    _takes_text = True
    _deviations: ClassVar[options.Deviations] = {
        "prior": options.Deviation(
            "a table of categories often has cells that no row shows, whose estimates would be on the boundary",
            default="row",
        ),
        "fixed": options.Deviation(
            "single parameters can be fixed too", type="list of str, or mapping", check=options.listed_or_mapping
        ),
        "tied": options.Deviation(
            "classes can be tied in groups too", type="list of str, or mapping", check=options.listed_or_mapping
        ),
    }

    def _check_options(self) -> None:
        super()._check_options()
        options.one_of("text", self.text, ("multinomial", "bernoulli"))

    def _shapes(self) -> Sequence[str]:
        options.one_of("covariance", self.covariance, ("diag", "full", "auto"))
        return ("diag", "full") if self.covariance == "auto" else (self.covariance,)

    @property
    def covariance_(self) -> str:
        """The covariance of numbers within a class that was chosen."""
        check_is_fitted(self)
        return self._covariance

    @classmethod
    def from_params(cls, weights: Sequence[float], columns: Mapping[str, Any]) -> Self:
        """Build a model without data.

        Parameters
        ----------
        weights : (K,) shares of the classes
        columns : mapping from a column's name to its parameters
            {category: (K,) probabilities} for categories, {"mean": (K,), "sd": (K,)} (or "var") for numbers,
            {"rate": (K,)} for counts, {"words": {word: (K,) probabilities}} for text, with "options" that cut it.

        Examples
        --------
        >>> import halfseen as hs
        >>> model = hs.LatentClass.from_params(
        ...     weights=[0.3, 0.7],
        ...     columns={"x1": {0: [0.7, 0.1], 1: [0.3, 0.9]}, "x2": {0: [0.8, 0.4], 1: [0.2, 0.6]}},
        ... )
        >>> model.predict_proba([[0, 1], [1, 1]]).round(4)
        array([[0.5   , 0.5   ],
               [0.0455, 0.9545]])
        """
        model = cls(len(weights))
        model._schema = emission_builder.read_columns(options.mapping("columns", columns))
        model._recipe = emission_builder.Recipe(
            model._schema, emission_builder.unit_summary(model._schema), len(weights)
        )
        model._model = model._recipe.model()
        given = {"weights": weights, **columns}
        model._params = emission_builder.overlay(model._model.blank(), given, model._schema, len(weights))
        model._begin_without_data(len(columns))
        return model
