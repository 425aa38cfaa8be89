"""Mixtures whose classes are hidden: one fit, fits in batches, and the choice among several numbers of classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from halfseen.data import Evidence, Source, Table, read, read_labels, row_weight
from halfseen.data.survey_weights import effective
from halfseen.engine.services.checkpoint import lasting_seed
from halfseen.engine.tables.mixture import Mixture
from halfseen.errors import ParameterError
from halfseen.estimators import convergence, options, selection
from halfseen.estimators.base import SelectsModels
from halfseen.estimators.by_partition import features_of
from halfseen.estimators.rollback import rollback_on_error
from halfseen.estimators.table.column_events import column_doubts, misfit_notes
from halfseen.estimators.table.profile import fitted_blocks
from halfseen.estimators.table.table_mixture import with_covariates
from halfseen.families.mixture import begun, stepwise
from halfseen.families.mixture.covariates import CovariateMixture
from halfseen.families.mixture.fit import FittedMixture
from halfseen.runners.frames import rows_of
from halfseen.seeds import child


def _one_size(model: UnsupervisedMixture) -> bool:
    if len(selection.read_sizes(model.n_components)) > 1:
        raise AttributeError(
            "partial_fit needs one number of classes, n_components: no rows stay to compare others on."
        )
    if len(model._shapes()) > 1:
        raise AttributeError("partial_fit needs one shape of covariance: no rows stay to compare others on.")
    return True


class _Tried(NamedTuple):
    """A fit that was tried: the names of its classes, where labels gave them, and events that concern the data."""

    found: FittedMixture
    names: tuple[Any, ...] | None
    told: list[str]


def _slim(found: FittedMixture) -> FittedMixture:
    """Return a fit without the steps from which its best run would have gone on."""
    best = replace(found.search.best, last=None, pair=None, params=found.search.best.accepted.params)
    return replace(found, search=replace(found.search, best=best))


class UnsupervisedMixture(TransformerMixin, CovariateMixture, SelectsModels):
    """A mixture whose classes are hidden: fitted at once, in pieces, or chosen among several by a criterion."""

    n_components: int | Sequence[int] | str
    _tried_fits: dict[tuple[str, int], _Tried]  # of each covariance and number of classes; not in files

    def __getstate__(self) -> dict[str, Any]:
        """Return what a pickle holds: not the other fits that were tried, each of which is as large as the model."""
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_tried_fits"}

    def __copy__(self) -> Self:
        """Return a copy with all that this has, also what a pickle leaves out."""
        other = type(self).__new__(type(self))
        other.__dict__.update(self.__dict__)
        return other

    @property
    def _covariance(self) -> str:
        """The shape of covariance that was chosen."""
        return self._recipe.covariance

    def _shapes(self) -> Sequence[str]:
        """Return the shapes of covariance to try."""
        return ("diag",)

    @property
    def _option_by_class(self) -> str:
        """Name the option that gives a value for each class, if there is one."""
        by_class = {"start": self.start, "fixed": self.fixed, "tied": self.tied}
        return next((name for name, given in by_class.items() if given and isinstance(given, Mapping)), "")

    @property
    def _given_size(self) -> int | None:
        """The number of classes where the options give one."""
        sizes = selection.read_sizes(self.n_components)
        return sizes[0] if len(sizes) == 1 else None

    @rollback_on_error
    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        *,
        labels: Any = None,
        classes: Sequence[Any] | None = None,
        unlabeled: Any = None,
        covariates: Any = None,
        missing: str = "error",
        begin: Any = None,
    ) -> Self:
        """Fit to a table.

        Parameters
        ----------
        X : array, list of rows, pandas, Polars, Arrow, Dask or Spark frame, `open_table`; NaN, None, nulls are missing
        y : ignored; Pipelines pass it
        sample_weight : (N,) array, optional
            How often each row counts; by default the column named as weight in `open_table`. Of a Dask or Spark
            frame the name of a column, as are labels.
        labels : array, optional
            What is known of the rows' classes: a label or None for each row, a set of candidates, or an (N, K) array of
            evidence that multiplies the model.
        classes : sequence, optional
            The labels in the order of the classes; sorted by default. Whole numbers from 0 to K - 1 are classes.
        unlabeled : optional
            The value that means 'no label'; by default None, NaN, and -1 among at least two other numbers.
        covariates : table or str, optional
            What class membership depends on, by a multinomial logit: a table with a row for each row of `X` (numbers
            as they are, text and categories by indicators of their levels), or a formula over columns of `X`, which
            then do not describe classes: "age + C(party)". A formula needs formulaic (the extra `stats`).
        missing : {"error", "drop"}, default "error"
            Whether rows with a missing covariate are refused or left out.
        begin : fitted model, optional
            The one start: the parameters of a model of this kind, over the same columns and with as many classes, such
            as that of an earlier fit. Classes keep their order, and their names where `classes` gives no others; text
            in `labels` means these names.
        """
        self._check_options()
        sizes = selection.read_sizes(self.n_components)
        X, reading = self._read_covariates(X, covariates, missing)
        source = self._read(rows_of(X, sample_weight, labels), reset=True)
        if source.elsewhere:  # they are columns of it
            self._refuse_survey("rows that other processes hold")
            sample_weight = labels = None
        weight = row_weight(source, sample_weight)
        weight, matrix, n_dropped = self._place_covariates(reading, source, weight)
        if self.weight_kind == "survey":
            weight = effective(weight)
        labels = source.target if labels is None else labels
        if labels is None and (classes is not None or unlabeled is not None):
            raise ParameterError("classes= and unlabeled= say how to read labels=; give labels= too.")
        classes = begun.classes(begin, labels, classes)
        if len(sizes) > 1 and self._option_by_class:
            raise ParameterError(
                f"{self._option_by_class}= needs one number of classes, n_components: it gives a value for each class."
            )
        if isinstance(self.n_components, str):
            sizes = sizes[: int(np.count_nonzero(weight))]

        def known(n_components: int) -> tuple[Evidence | None, tuple[Any, ...] | None]:
            return read_labels(labels, source.n_labels, n_components, classes, unlabeled)

        used, first = self._encoded(source, weight, known(sizes[0])[0], matrix)
        self._remember(used, first.schema)
        self._check_seen()
        self._begins_at = None if begin is None else begun.params(self, begin, sizes)
        seed = lasting_seed(self.random_state)

        fits: list[FittedMixture] = []

        def found(shape: str, n_components: int, smaller: FittedMixture | None) -> FittedMixture:
            table = first
            if labels is not None and n_components != sizes[0]:  # the evidence has a column for each class
                table = self._encoded(source, weight, known(n_components)[0], matrix)[1]
            own_seed = child(seed, n_components) if len(sizes) > 1 else seed
            fits.append(self._search(table, n_components, own_seed, None if smaller is None else smaller.params, shape))
            return fits[-1]

        best, interrupted = self._select(self._shapes(), sizes, found)
        self.n_components_ = best.n_components
        named = {size: begun.names(begin, known(size)[1]) for size in {one.n_components for one in fits}}
        self._publish(best, named[best.n_components])
        told = list(column_doubts(first, self._declared))
        if n_dropped:
            told.append(f"{n_dropped:,} rows with a missing covariate were left out")
        self.events_ += [*told, *misfit_notes(first, fitted_blocks(self))]
        self._tried_fits = {
            (one.covariance, one.n_components): _Tried(_slim(one), named[one.n_components], told) for one in fits
        }
        for name in ("_design", "_begins_at"):
            self.__dict__.pop(name, None)
        if interrupted:
            convergence.warn_search_interrupted(self, "before all numbers of classes were tried")
        return self

    def _units(self) -> dict[str, float]:
        """Return N, which of a survey is the effective number of rows."""
        unit = "effective rows" if self.weight_kind == "survey" else self._unit
        return {unit: self._measured(None)[1]}

    def _refuse_survey(self, what: str) -> None:
        """Refuse survey weights where their sum is not known beforehand."""
        if self.weight_kind == "survey":
            raise ParameterError(
                f'weight_kind="survey" is not for {what}: the scale of the weights depends on all of them. Use fit on '
                "a table of this process or a file."
            )

    def choose(self, n_components: int) -> Self:
        """Return the fit with another number of classes that was tried, in place of the one that the criterion chose.

        Nothing is fitted again, and the model itself does not change. Of the copy, `selection_` also shows which one
        the criterion prefers, in the column "preferred". Model files keep the chosen fit only.

        Parameters
        ----------
        n_components : int
            One of the numbers in `selection_`.

        Examples
        --------
        >>> import halfseen as hs
        >>> birds = hs.load_penguins()[["bill_length_mm", "bill_depth_mm"]]
        >>> model = hs.GaussianMixture([1, 2, 3], n_init=4, random_state=0).fit(birds)
        >>> model.n_components_, model.choose(2).n_components_
        (3, 2)
        """
        check_is_fitted(self)
        fits = getattr(self, "_tried_fits", {})
        if not fits:
            raise ParameterError("choose: a model that was not fitted in this process has no other fits: fit it again.")
        kept = fits.get((self._covariance, n_components))
        if kept is None:
            sizes = ", ".join(str(size) for shape, size in fits if shape == self._covariance)
            raise ParameterError(f"choose: {n_components!r} is not among the numbers that were tried: {sizes}.")
        other = copy(self)
        other._publish(kept.found, kept.names)
        origin = self._origin
        other._origin = other._origin._replace(
            fitted_at=origin.fitted_at, command=origin.command, reading=origin.reading
        )
        other.n_components_ = n_components
        other.events_ += kept.told
        other._tried = selection.chosen_by_hand(self._tried, self._each_tried().index((self._covariance, n_components)))
        return other

    def _each_tried(self) -> list[tuple[str, int]]:
        """Return covariance and number of classes of all that was tried, in the order of its figures."""
        sizes = self._tried["n_components"]
        return list(zip(self._tried.get("covariance", [self._covariance] * len(sizes)), sizes, strict=True))

    def _as_tried(self, n_components: int) -> Self:
        """Return the fit with another number of classes that was tried, in place of the one that was chosen."""
        other, found = copy(self), self._tried_fits[self._covariance, n_components].found
        other._recipe, other._params = found.recipe, found.params
        other._model, other.n_components_ = other._recipe.model(), n_components
        other.loglik_ = self._tried["loglik"][self._each_tried().index((self._covariance, n_components))]
        other._set_names((None,) * n_components)
        return other

    def _one_more(self) -> Mixture:
        """Return the model with one class more, without a prior: what the test of the number of classes compares."""
        recipe = self._recipe
        if recipe.fixed or self._option_by_class or recipe.covariance in ("fixed", "identity"):
            raise ParameterError(
                "the number of classes cannot be tested where parameters are fixed or given by class: a class more "
                "would need some too."
            )
        return recipe._replace(n_components=recipe.n_components + 1, prior=None).model()

    def _begin_without_data(self, n_columns: int) -> None:
        """Set what a fit would leave beside schema, model and parameters, for a model that is built from these."""
        self._template = read(np.zeros((1, n_columns)))
        self.columns_ = self._schema.kind_names
        self.n_features_in_ = n_columns
        self.n_components_ = len(self.weights_)
        self._set_names((None,) * self.n_components_)
        self._n_rows = 0.0
        self._without_data = True

    def _encoded(
        self, source: Source, weight: NDArray[np.float64], evidence: Evidence | None, matrix: Any = None
    ) -> tuple[Source, Table]:
        """Return the rows that count, as they came and encoded; `matrix` is that of covariates."""
        if not weight.all():  # a row of weight 0 is absent: it must not decide kinds or categories either
            used = np.flatnonzero(weight)
            source, weight = source.take(used), weight[used]
            evidence = None if evidence is None else evidence.take(used)
            matrix = None if matrix is None else matrix[used]
        if matrix is not None:
            table = self._learn_schema(source).encode(source, weight, evidence)
            return source, with_covariates(table, matrix).canonical()
        weighed = None if source.streams and (weight[:1] if weight.strides == (0,) else weight == 1).all() else weight
        return source, self._gathered(source, weighed, evidence)

    @available_if(_one_size)
    @rollback_on_error
    def partial_fit(
        self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None, *, forget: float | None = None
    ) -> Self:
        """Go on learning from one more batch of rows: stepwise EM, for data that come in pieces.

        The first batch fixes the columns, their kinds and categories (a category met later counts as missing, with a
        warning), and is fitted as a whole: it must have 5 rows for each class, better many more, as what it misses is
        seldom found later. Later batches may be of any size. After `fit`, learning goes on from what was fitted. The
        objective need not rise from batch to batch; for data at hand `fit` is better.

        Parameters
        ----------
        X : table
        y : ignored
        sample_weight : (N,) array, optional
        forget : float in (0, 1), optional
            Share of what was learned that each hundred rows replace: constant, for data that drift. By default the
            share falls as (k + 2) ** -0.6 with the number k of updates, and all rows count in the end.

        Examples
        --------
        >>> import halfseen as hs
        >>> model = hs.LatentClass(2, random_state=0)
        >>> for _ in range(3):
        ...     _ = model.partial_fit([["a", 1.1]] * 25 + [["b", 5.2]] * 15)
        >>> model.predict([["a", None], [None, 5.0]]).tolist()
        [0, 1]
        """
        if self._membership is not None:
            raise ParameterError("partial_fit: a model with covariates cannot learn in pieces. Fit it to all rows.")
        self._refuse_survey("partial_fit")
        if forget is not None and not options.number("forget", forget, 0, 1) > 0:
            raise ParameterError(f"forget={forget!r} is not a share between 0 and 1, both excluded.")
        if not hasattr(self, "_params"):
            [size] = selection.read_sizes(self.n_components)
            stepwise.check_first(read(X).n_rows, size)
            self.fit(X, sample_weight=sample_weight)
            return self._in_pieces(stepwise.Running(self._stats, self._params, self._n_rows))
        if self._without_data:
            raise ParameterError("partial_fit: this model was built by from_params and has no statistics to add to.")
        running = stepwise.Running(self._stats, self._params, getattr(self, "n_rows_seen_", self._n_rows))
        table = self._encode(X, sample_weight)
        return self._in_pieces(stepwise.learn(self._model, running, table, forget))

    def _in_pieces(self, running: stepwise.Running) -> Self:
        """Take over what was learned from a batch; what only belongs to a whole table is gone."""
        self._stats, self._params = running.stats, running.params
        self._n_rows = 0.0
        self._origin = self._origin.in_pieces()
        self.n_rows_seen_ = running.n_rows
        self._drop_figures()
        return self

    def transform(self, X: Any) -> Any:
        """Return the posterior probability of each class for each row, (N, K): features for a later step of a Pipeline.

        `set_output(transform="pandas")` makes it a frame whose columns are the names of the classes.

        Examples
        --------
        >>> import halfseen as hs
        >>> model = hs.LatentClass(2, random_state=0).fit([["red", 1]] * 6 + [["blue", 0]] * 3)
        >>> model.set_output(transform="pandas").transform([["red", 1], ["blue", None]]).round(2)
           class 0  class 1
        0     0.99     0.01
        1     0.05     0.95
        """
        return self.predict_proba(X)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of the classes: of the columns that `transform` makes."""
        check_is_fitted(self)
        return np.array(self.class_names_, dtype=object)

    def fit_predict(
        self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None, **labels: Any
    ) -> NDArray[np.int64]:
        """Fit (arguments as there), then return the most probable class of each row."""
        fitted = self.fit(X, y, sample_weight, **labels)
        given = {} if fitted._membership is None else {"covariates": labels.get("covariates")}
        if isinstance(given.get("covariates"), str):
            given = {}
        return fitted.predict(features_of(self, X), **given)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.estimator_type = "density_estimator"
        return tags
