"""k-means: hard EM with equal weights and one fixed variance, by its own fast path; values may be missing."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from halfseen.data import Source, Table, check_weight, read, row_weight
from halfseen.data.matrix import as_matrix
from halfseen.engine.services.checkpoint import lasting_seed
from halfseen.engine.tables.lloyd import PARTS, Held, Plan, Rows, Run, parts, race, sweep
from halfseen.engine.tables.lloyd_course import LloydCourse
from halfseen.engine.tables.seeding import STARTS
from halfseen.errors import ParameterError, warn
from halfseen.estimators import convergence, options
from halfseen.estimators.base import Estimator, new_names
from halfseen.estimators.by_partition import by_partition, features_of, summed
from halfseen.estimators.named_parameters import NamedParameters
from halfseen.estimators.publication import Tabulated
from halfseen.estimators.rollback import rollback_on_error
from halfseen.estimators.state import Origin
from halfseen.estimators.table.scatter import Scatter
from halfseen.families.kmeans import centers
from halfseen.families.kmeans.comparison import Clusters
from halfseen.families.kmeans.imputation_check import ClusterCells
from halfseen.families.kmeans.points import FEW, Here, Points, centred, spread
from halfseen.kinds.records import Contrast
from halfseen.leaves.leaf import Floats
from halfseen.runners import reading_jobs, runner
from halfseen.runners.frames import is_elsewhere, rows_of
from halfseen.seeds import child
from halfseen.sums import Runner

log = logging.getLogger("halfseen")

N_INIT = 4  # starts, by default


def _check_init(name: str, value: Any) -> None:
    if isinstance(value, str):
        options.one_of(name, value, STARTS)
    elif not np.iterable(value):
        raise ParameterError(f"{name}={value!r} is not one of {', '.join(map(repr, STARTS))} nor a (K, D) array.")


def _check_n_init(name: str, value: Any) -> None:
    if not (isinstance(value, str) and value == "auto"):  # a word of scikit-learn's
        options.whole(name, value)


@options.with_hints
@dataclass(eq=False, repr=False)
class KMeans(Tabulated, ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, Estimator):
    """Find clusters by k-means; values may be missing, and rows have weights.

    Each row belongs to the nearest of K centres, and each centre is the mean of its rows: hard EM of a mixture with
    equal weights and one fixed variance. Every iteration lowers

        inertia = sum_n weight[n] D / n_seen[n] * sum over seen columns d of (x[n, d] - centre[label[n], d])^2

    A row with missing values is compared over its observed columns, and the distance is scaled up to all columns. The
    nearest centre is exact: where rounding could decide, distances are computed again in full.

    Parameters
    ----------
    n_clusters : int, default 8
    init : {"k-means++", "random"} or (K, D) array, default "k-means++"
        Where to start: rows far from each other (greedy k-means++), random rows, or given centres.
    n_init : int or "auto", default 4
        Number of starts (one with given centres). "auto" is 4. They are raced: after 5 iterations the worse half is
        dropped, of 8 again after 10 more, and the last two run to the end. With more than 32768 different rows a random
        sample of that size is used for the race, and the winner goes on with all rows. (scikit-learn makes one start
        with "k-means++".)
    max_iter : int, default 300
        Maximum number of iterations (passes over the data) for each start.
    tol : float, default 1e-4
        Convergence threshold of the movement of the centres: its sum of squares, in units of the mean variance of the
        columns.
    n_jobs : int, optional
        Number of threads; -1 is all cores. Results are the same, bit for bit, with any number. At most 16 are used.
    random_state : int, RandomState or Generator, optional
        Seed. The same seed gives the same bits on the same machine. Starts do not depend on the order of the rows.

    Attributes
    ----------
    cluster_centers_ : (K, D) array    largest cluster first, unless `init` gave the centres
    labels_ : (N,) int32 array         cluster of each row of the data it was fitted to; not of a Dask or Spark frame
    cluster_sizes_ : (K,) array        number of rows of each cluster, by weight
    inertia_ : float                   of `cluster_centers_` and `labels_`
    trace_ : list of float             the inertia before each sweep, and in the end; it never rises
    n_iter_ : int                      sweeps of the winning start, over all rows
    converged_ : bool
    stop_reason_ : str                 "assignments unchanged", "tolerance", "rounding", "max_iter" or "interrupted"
    events_ : list of str              centres that lost all rows and were moved to the farthest row, and the like
    n_features_in_, feature_names_in_

    Examples
    --------
    >>> import halfseen as hs
    >>> X = [[1.0, 2.0], [1.5, None], [8.0, 8.0], [None, 9.0], [1.0, 1.0]]
    >>> model = hs.KMeans(2, random_state=0).fit(X)
    >>> model.labels_.tolist()
    [0, 0, 1, 1, 0]
    >>> model.cluster_centers_.round(2).tolist()
    [[1.25, 1.5], [8.0, 8.67]]
    >>> model.stop_reason_
    'assignments unchanged'
    """

    _dtype = "float64"  # of the data, and of `cluster_centers_`
    _cluster_names = tuple[str, ...]()  # given ones

    n_clusters: int = 8
    _: KW_ONLY
    init: str | ArrayLike = "k-means++"
    n_init: int | str = N_INIT
    max_iter: int = 300
    tol: float = 1e-4
    n_jobs: int | None = None
    random_state: Any = None

    _state_module = centers
    _deviations: ClassVar[options.Deviations] = {
        "init": options.Deviation(
            "as in scikit-learn; centres may be given",
            default="k-means++",
            type='{"k-means++", "random"} or (K, D) array',
            text="Where to start: rows far from each other (greedy k-means++), random rows, or given centres.",
            check=_check_init,
        ),
        "n_init": options.Deviation(
            "k-means++ starts are good ones: few are enough",
            default=N_INIT,
            type='int or "auto"',
            text="Number of starts (one with given centres).",
            check=_check_n_init,
        ),
        "max_iter": options.Deviation("as in scikit-learn", default=300),
        "tol": options.Deviation(
            "as in scikit-learn",
            default=1e-4,
            text="Convergence threshold of the movement of the centres: its sum of squares, in units of the mean "
            "variance of the columns.",
        ),
    }

    # ---- fitting -------------------------------------------------------------------------------------------------

    @rollback_on_error
    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Find the centres.

        Parameters
        ----------
        X : (N, D) array, list of rows, pandas, Polars, Arrow, Dask or Spark frame, of numbers; NaN, None, nulls are
            missing
        y : ignored; Pipelines pass it
        sample_weight : (N,) array, optional
            Weight of each row. Of a Dask or Spark frame the name of a column.
        """
        self._check_options()
        source = self._read(rows_of(X, sample_weight), reset=True)
        seed = lasting_seed(self.random_state)
        with runner(self.n_jobs, PARTS) as run:
            points = self._points(source, sample_weight, run)
            if max(points.n_used, points.mass) < self.n_clusters:
                raise ParameterError(
                    f"n_samples={points.n_used} is fewer than n_clusters={self.n_clusters}. Use fewer clusters "
                    "or more rows."
                )
            given = self._given(len(points.names))
            used = points
            order = np.arange(self.n_clusters)
            if given is not None:
                found = self._from(given, points, run)
            else:
                found, used = self._seeded(points, seed, run)
                order = np.argsort(-found.rows.sizes(), kind="stable")
            self._spread = spread(used, found.rows.pivot)
            self._publish(found, order, points.dtype)
            self._count(points, found if given is not None else None)
        self._remember(source, seed)
        self._note(int(np.count_nonzero(self.cluster_sizes_)))
        self.events_ += points.doubts()
        return self

    def _points(self, source: Source, sample_weight: ArrayLike | None, run: Runner) -> Points:
        """Return the rows to fit to."""
        if source.elsewhere:
            from halfseen.engine.tables.lane_source import LaneSource
            from halfseen.families.kmeans.lanes import Elsewhere

            assert isinstance(source, LaneSource)
            return Elsewhere(source, centers.schema_of(source.names, source.named))
        weight = row_weight(source, sample_weight)
        return Here(source, as_matrix(source), weight, run)

    def _count(self, points: Points, found: Run | None) -> None:
        """Set labels and sizes of the clusters; `found` is a run whose labels are those of all rows, if there is one.

        Other runs were over the distinct rows, or had the centres in another order.
        """
        for name in ("labels_", "_cluster_names"):  # of an earlier fit
            self.__dict__.pop(name, None)
        if found is not None and isinstance(found.rows, Held):
            self.labels_, self.cluster_sizes_ = found.rows.labels, found.rows.sizes()
            return
        labels, self.cluster_sizes_ = points.assigned(self._pivot, self._centred)
        if labels is not None:
            self.labels_ = labels

    def _remember(self, source: Source, seed: np.random.SeedSequence) -> None:
        """Keep what later calls need to know of the table, its columns and never its rows, and where it came from."""
        self._schema = centers.schema_of(source.names, source.named)
        self._template = source.template()
        numbers = [np.array([self.cluster_sizes_.sum()]), self._pivot, self._spread]
        self._origin = Origin.now(centers.fingerprint(self._schema, *numbers), seed)

    def _from(self, centres: Floats, points: Points, run: Runner) -> Run:
        """Return the run from given centres."""
        pivot, variance = centred(points, run)
        only = Run(points.about(pivot), centres - pivot, variance)
        only.finish(self._plan(variance, run, points, pivot))
        return only

    def _seeded(self, points: Points, seed: np.random.SeedSequence, run: Runner) -> tuple[Run, Points]:
        """Return the best run from random starts, and its rows: the distinct ones, or all if there are too many."""
        some = points.sample()
        few = points.few(some)
        pivot, variance = centred(few, run)

        def start(i: int) -> Run:
            rng = np.random.default_rng(child(seed, i))
            rows = few.about(pivot)
            return Run(rows, STARTS[str(self.init)](rows.rows, self.n_clusters, rng), variance, i)

        best = race(list(run(start, range(self._n_starts))), self._plan(variance, run, few, pivot))
        if some.whole:
            return best, few
        try:
            everywhere, variance = centred(points, run)
        except KeyboardInterrupt:
            best.reason = "interrupted"
            return best, few
        final = Run(points.about(everywhere), best.centres + (pivot - everywhere), variance, best.key, begun=True)
        final.reason = "interrupted" if best.reason == "interrupted" else None
        final.finish(self._plan(variance, run, points, everywhere))
        return final, points

    def _plan(self, variance: float, run: Runner, points: Points, pivot: Floats) -> Plan:
        """Return when to stop, and how watchers are told; `variance` is the mean variance of the columns."""
        course = LloydCourse(self.max_iter, centers.viewer(points, pivot))
        return Plan(self.tol * variance, self.max_iter, run, course)

    def _check_options(self) -> None:
        super()._check_options()
        options.whole("n_clusters", self.n_clusters)

    @property
    def _n_starts(self) -> int:
        """Number of starts."""
        return N_INIT if isinstance(self.n_init, str) else self.n_init

    def _given(self, n_columns: int) -> Floats | None:
        """Return the centres that the user gave, if any."""
        if isinstance(self.init, str):
            return None
        try:
            centres = np.array(self.init, dtype=np.float64, order="C")
        except (TypeError, ValueError) as error:
            words = ", ".join(map(repr, STARTS))
            raise ParameterError(f"init is neither one of {words} nor an array of numbers: {error}") from None
        wanted = (self.n_clusters, n_columns)
        if centres.shape != wanted:
            raise ParameterError(f"init has shape {centres.shape}, not (n_clusters, n_features) = {wanted}.")
        if not np.isfinite(centres).all():
            k, d = np.argwhere(~np.isfinite(centres))[0]
            raise ParameterError(f"init: centre {k} has {centres[k, d]} in column {d}. Give finite numbers.")
        return centres

    def _publish(self, found: Run, order: NDArray[np.int64], dtype: str) -> None:
        """Set the fitted attributes, with the centres in this order."""
        self._pivot, self._centred, self._dtype = found.rows.pivot, found.centres[order], dtype
        self._centred.flags.writeable = False
        self._n_features_out = len(found.centres)
        self.inertia_ = found.trace[-1]
        convergence.record_end(self, found.trace, max(found.n_iter, 1), found.reason)
        self.events_ = list(found.events)

    def _note(self, n_used: int) -> None:
        if n_used < self.n_clusters:
            self.events_.append(f"{self.n_clusters - n_used} of {self.n_clusters} centres have no rows")
            warn(
                f"Number of distinct clusters ({n_used}) found smaller than n_clusters ({self.n_clusters}): "
                "there are no more distinct rows. Use fewer clusters.",
                ConvergenceWarning,
            )
        convergence.warn_of_end(self, self.stop_reason_ == "interrupted", "inertia_")
        log.info("fitted %d centres: %s after %d iterations", self.n_clusters, self.stop_reason_, self.n_iter_)

    def fit_predict(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> NDArray[np.int32]:
        """Fit, then return the cluster of each row."""
        self.fit(X, sample_weight=sample_weight)
        return self.predict(features_of(self, X)) if is_elsewhere(X) else self.labels_

    def fit_transform(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> NDArray[Any]:
        """Fit, then return the distance of each row to each centre."""
        return self.fit(X, sample_weight=sample_weight).transform(features_of(self, X))

    @classmethod
    def from_params(cls, cluster_centers: ArrayLike) -> Self:
        """Build a model without data.

        Examples
        --------
        >>> import halfseen as hs
        >>> hs.KMeans.from_params([[0.0, 0.0], [5.0, 5.0]]).predict([[1.0, None], [4.0, 4.0]]).tolist()
        [0, 1]
        """
        centres = np.array(cluster_centers, dtype=np.float64, order="C")
        if centres.ndim != 2 or not centres.size or not np.isfinite(centres).all():
            raise ParameterError(f"cluster_centers of shape {centres.shape} are not a table of finite numbers, (K, D).")
        model = cls(len(centres))
        model._pivot = centres.mean(axis=0)
        model._centred = centres - model._pivot
        model._spread = centres.std(axis=0)
        model._n_features_out = len(centres)
        model.n_features_in_ = centres.shape[1]
        model._template = read(centres[:1])
        model._schema = centers.schema_of(model._template.names, named=False)
        return model

    # ---- use -----------------------------------------------------------------------------------------------------

    @property
    def cluster_centers_(self) -> NDArray[Any]:
        """The centres, (K, D), of the dtype of the data."""
        check_is_fitted(self, "_centred")
        return (self._centred + self._pivot).astype(self._dtype)

    @property
    def cluster_names_(self) -> tuple[str, ...]:
        """The names of the clusters: "cluster 0" and so on, until `rename` gives others."""
        check_is_fitted(self, "_centred")
        return tuple(centers.names_of(self))

    def rename(self, names: Sequence[Any] | Mapping[Any, Any]) -> Self:
        """Return a copy whose clusters have these names, in every table, text and file made from it.

        Parameters
        ----------
        names : list or dict      all names in order; or by number or present name, {0: "small", "cluster 2": "large"}
        """
        renamed = copy(self)
        renamed._cluster_names = new_names(names, self.cluster_names_, "cluster")
        return renamed

    _paper_name = "k-means clustering"

    def _paper_parameters(self) -> NamedParameters:
        """Return shares and centres, one by one; they have no standard errors."""
        return centers.paper_parameters(self)

    def to_frame(self) -> Any:
        """Return the shares of the clusters and their centres as a table with a column per cluster.

        Examples
        --------
        >>> import halfseen as hs
        >>> hs.KMeans(2, random_state=0).fit([[1.0, 5.0], [1.5, 6.0], [9.0, 7.0]]).to_frame()
            column   kind   value   overall  cluster 0  cluster 1
        0  (share)  share          1.000000   0.666667   0.333333
        1       x0  gaussian  centre  3.833333   1.250000   9.000000
        2       x1  gaussian  centre  6.000000   5.500000   7.000000
        """
        check_is_fitted(self, "_centred")
        return centers.to_frame(self)

    def describe(self, top: int = 3) -> str:
        """Return each cluster in words: its share, and the columns in which its centre is farthest from the whole.

        Parameters
        ----------
        top : int, default 3
            Number of columns for each cluster.

        Examples
        --------
        >>> import halfseen as hs
        >>> print(hs.KMeans(2, random_state=0).fit([[1.0, 5.0], [1.5, 6.0], [9.0, 7.0]]).describe())
        cluster 0 (67%): x0 1.25 (all 3.83); x1 5.5 (all 6)
        cluster 1 (33%): x0 9 (all 3.83); x1 7 (all 6)
        """
        check_is_fitted(self, "_centred")
        return convergence.described(self, centers.describe(self, options.whole("top", top)))

    @by_partition("cluster")
    def predict(self, X: Any) -> NDArray[np.int32]:
        """Return the nearest centre of each row; the lowest index among equals, and for a row without any cell."""
        return self._assigned(as_matrix(self._read(X)))[0]

    @by_partition("distance")
    def transform(self, X: Any) -> NDArray[Any]:
        """Return the distance of each row to each centre, (N, K); 0 for a row without any cell."""
        source = self._read(X)
        values = as_matrix(source)
        rows = Rows(values, np.empty(0), self._pivot)
        out = np.empty((len(values), len(self._centred)), values.dtype)

        def task(part: slice) -> None:
            for first in range(part.start, min(part.stop, len(values)), FEW):
                few = slice(first, min(first + FEW, part.stop))
                with np.errstate(invalid="ignore", over="ignore"):  # infinite cells are named below
                    out[few] = np.sqrt(rows.centred(few).distances(self._centred)).T

        with runner(self.n_jobs, PARTS) as run:
            list(run(task, parts(len(values))))
        if not np.isfinite(out).all():
            Here(source, values, rows.weight).find_infinity()
        return out

    def score(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> float:
        """Return the inertia of `X` with a minus, so that more is better."""
        if is_elsewhere(X):
            return -float(summed(self, "_inertia", X, sample_weight))
        values = as_matrix(self._read(X))
        return -self._assigned(values, check_weight(sample_weight, len(values)))[1]

    @by_partition("")
    def impute(self, X: Any) -> Any:
        """Fill the missing values of `X` from the centre of the row's cluster.

        Returns
        -------
        The same container, columns and dtypes; observed cells are untouched.

        Examples
        --------
        >>> import halfseen as hs
        >>> hs.KMeans.from_params([[0.0, 1.0], [5.0, 6.0]]).impute([[0.5, None], [None, 7.0]])
        array([[0.5, 1. ],
               [5. , 7. ]])
        """
        source = self._read(X)
        values = as_matrix(source)
        labels, _ = self._assigned(values)
        centres = self.cluster_centers_
        cells = {}
        for j in range(values.shape[1]):
            missing = np.flatnonzero(np.isnan(values[:, j]))
            if len(missing):
                cells[j] = (missing, centres[labels[missing], j].tolist())
        return source.fill(cells)

    def _inertia(self, X: Any, y: Any, sample_weight: Floats) -> float:
        """Return the inertia of the rows of a partition."""
        return self._assigned(as_matrix(self._read(X)), sample_weight)[1]

    def _assigned(self, values: NDArray[Any], weight: Floats | None = None) -> tuple[NDArray[np.int32], float]:
        """Return the cluster of each row, and the inertia."""
        labels = np.full(len(values), -1, dtype=np.int32)
        rows = Rows(values, np.ones(len(values)) if weight is None else weight, self._pivot)
        with runner(self.n_jobs, PARTS) as run:
            inertia = sweep(rows, self._centred, labels, run).inertia
        if not np.isfinite(inertia):
            Here(read(values), values, rows.weight).find_infinity()
        return labels, inertia

    def _components(self) -> Clusters:
        """Return what a comparison with another model asks for."""
        return Clusters(self)

    def _cell_imputer(self, X: Any, y: Any, sample_weight: ArrayLike | None) -> ClusterCells:
        """Return what the check of imputation asks for."""
        if y is not None:
            raise ParameterError("y= has no meaning for KMeans, which has no labels to learn from.")
        cells = self._read(X)
        values = {"gaussian": as_matrix(cells).astype(np.float64)}
        return ClusterCells(self, Table(self._schema, values, row_weight(cells, sample_weight)))

    def _profiled(self) -> tuple[list[str], list[float | None], list[Contrast], str]:
        """Return names and shares of the clusters, and how each centre differs from the mean of all rows."""
        return centers.profiled(self)

    def _scatter(self, X: Any, most: int, random_state: int) -> Scatter:
        """Return rows as points, or a random sample of `most` of them."""
        source = self._read(X)
        n_given = source.n_rows
        rows = np.arange(n_given)
        if n_given > most:
            rows = np.sort(np.random.default_rng(random_state).choice(n_given, most, replace=False))
            source = source.take(rows)
        values = as_matrix(source)
        return centers.scatter(self, values.astype(np.float64), self._assigned(values)[0], n_given, rows)

    def _read(self, X: Any, reset: bool = False) -> Source:
        """Read a table, and store or check its features as scikit-learn expects."""
        if not reset:
            check_is_fitted(self, "_centred")
        source = read(X)
        source.workers = reading_jobs(self.n_jobs)
        self._check_features(source, reset)
        validate_data(self, source.for_sklearn(X), reset=reset, skip_check_array=True)
        return source

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
