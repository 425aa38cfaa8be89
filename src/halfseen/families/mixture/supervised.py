"""Mixtures whose classes have labels, which may be known, partly known or missing: fits, and use as a classifier."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, column_or_1d

from halfseen.assign import SOFT
from halfseen.data import Chunk, Evidence, FastEncodingFailed, Schema, Source, Table, read_target, row_weight
from halfseen.engine.loop.expected import Step
from halfseen.engine.services.checkpoint import lasting_seed
from halfseen.engine.tables.mixture import Mixture
from halfseen.engine.tables.preprocess import all_certain, known_apart
from halfseen.errors import DataError, ParameterError
from halfseen.estimators import options
from halfseen.estimators.base import new_names, read_order
from halfseen.estimators.by_partition import by_partition, summed
from halfseen.estimators.observed import Observed, observed_rows
from halfseen.estimators.rollback import rollback_on_error
from halfseen.estimators.state import State
from halfseen.estimators.table import emission_builder
from halfseen.estimators.table.column_events import column_doubts, column_notes, misfit_notes
from halfseen.estimators.table.profile import fitted_blocks
from halfseen.estimators.table.table_mixture import in_one_pass
from halfseen.families.mixture import semi_supervised_check
from halfseen.families.mixture.fit import MixtureFit
from halfseen.leaves.categorical import read_table
from halfseen.leaves.leaf import Floats, Stats, frozen
from halfseen.leaves.limits import Params
from halfseen.leaves.product import Product
from halfseen.runners.frames import is_elsewhere, rows_of
from halfseen.sums import Parts


def _one_component(model: MixtureClassifier) -> bool:
    if model.components_per_class != 1:
        raise AttributeError("partial_fit needs components_per_class=1: the components of a class have no labels.")
    return True


AUTO = "auto"
FEW_STARTS = options.Deviation(
    "labels say what a class is: there is nothing to start from at random within one component",
    text="Number of starts with several components per class; with one the labelled rows are the only start.",
)


class MixtureClassifier(ClassifierMixin, MixtureFit):
    """A classifier: one or more components of the mixture for each class."""

    class_prior: Sequence[float] | str | None
    components_per_class: int
    unlabeled_weight: float | str
    guard: bool
    unlabeled_weight_: float
    _covariance: str

    # ---- fitting -------------------------------------------------------------------------------------------------

    @rollback_on_error
    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        *,
        classes: Sequence[Any] | None = None,
        unlabeled: Any = None,
    ) -> Self:
        """Fit to a table and its labels.

        Parameters
        ----------
        X : array, list of rows, pandas, Polars, Arrow, Dask or Spark frame, `open_table`; NaN, None, nulls are missing
        y : sequence
            A label for each row, None where it is unknown, a set where it is one of several; or an (N, C) array of
            evidence that multiplies the model. -1 is unknown among at least two other numbers, as in scikit-learn. Of a
            Dask or Spark frame the name of a column.
        sample_weight : (N,) array, optional
            Of a Dask or Spark frame the name of a column.
        classes : sequence, optional
            All classes in their order; those seen, sorted, by default.
        unlabeled : optional
            The value that means 'unknown'.
        """
        self._check_options()
        source = self._read(rows_of(X, sample_weight, y), reset=True)
        if source.elsewhere:  # they are columns of it
            sample_weight = y = None
        weight = row_weight(source, sample_weight)
        evidence, names = read_target(target_of(y, source), source.n_labels, classes, unlabeled)
        self._begin(names)
        self._check_rule(evidence)
        choice = self._unlabeled_choice(source, weight, evidence)
        source, weight, evidence = self._weighed(source, weight, evidence)
        self._fit_rows(source, weight, evidence)
        self._check_seen()  # not within: of the rows of a fold, a column may have no cell
        self.guard_ = choice.scores
        self.events_ += [] if choice.note is None else [choice.note]
        return self

    def _unlabeled_choice(
        self, source: Source, weight: NDArray[np.float64], evidence: Evidence
    ) -> semi_supervised_check.Choice:
        """Set the weight of unlabelled rows: the best in cross-validation, or that given, with a warning if worse."""
        if source.elsewhere:
            return self._unlabeled_elsewhere(evidence)
        if not self.guard:
            return semi_supervised_check.Choice(self.unlabeled_weight_)
        if self.unlabeled_weight == AUTO:
            choice = semi_supervised_check.choose(self, source, weight, evidence)
            self.unlabeled_weight_ = choice.weight
            return choice
        if not self.unlabeled_weight_:
            return semi_supervised_check.Choice(0.0)
        both = (0.0, self.unlabeled_weight_)
        choice = semi_supervised_check.choose(self, source, weight, evidence, both)
        if choice.scores is None:
            return choice
        if choice.worse:
            semi_supervised_check.warn_worse(choice.scores, self.unlabeled_weight_)
        kept = {"accuracy": choice.scores["with_unlabeled"]}
        return choice._replace(weight=self.unlabeled_weight_, scores=choice.scores | kept)

    def _unlabeled_elsewhere(self, evidence: Evidence) -> semi_supervised_check.Choice:
        """Take the weight given for rows of other processes: cross-validation needs the rows in this one."""
        if not evidence.complete and self.unlabeled_weight == AUTO:
            raise ParameterError(
                "unlabeled_weight='auto' is found by cross-validation, which needs the rows in this process. Choose it "
                "on a sample of them, and give the number: 1 counts rows without a label in full, 0 leaves them out."
            )
        if not evidence.complete and int(self.components_per_class) > 1:
            raise ParameterError(
                "components_per_class above 1 with rows without a label needs the labelled rows in this process. Leave "
                "out the others, or use one component for each class."
            )
        return semi_supervised_check.Choice(self.unlabeled_weight_)

    def _check_options(self) -> None:
        super()._check_options()
        options.whole("components_per_class", self.components_per_class)
        options.flag("guard", self.guard)
        if isinstance(self.unlabeled_weight, str) and self.unlabeled_weight == AUTO:
            return
        if isinstance(self.unlabeled_weight, str):
            raise ParameterError(f"unlabeled_weight={self.unlabeled_weight!r} is not {AUTO!r} or a number from 0 to 1.")
        if not options.number("unlabeled_weight", self.unlabeled_weight) <= 1:
            raise ParameterError(f"unlabeled_weight={self.unlabeled_weight!r} is above 1. Use a number from 0 to 1.")

    def _check_seen(self) -> None:
        """Take any table: where no cell is observed, the shares of the classes are left to learn."""

    def _check_rule(self, evidence: Evidence) -> None:
        if self.text == "complement" and not (all_certain(evidence) and self.components_per_class == 1):
            raise ParameterError(
                "text='complement' needs a label for every row and one component per class: it is a rule, not a "
                "probability model that EM could fit. Use text='multinomial'."
            )

    def _begin(self, classes: tuple[Any, ...]) -> None:
        self.classes_ = np.array(classes)
        self.unlabeled_weight_ = 1.0 if isinstance(self.unlabeled_weight, str) else float(self.unlabeled_weight)
        self._masses = None
        if isinstance(self.class_prior, str):
            options.one_of("class_prior", self.class_prior, ("observed",))
        elif self.class_prior is not None:
            self._masses = read_table(self.class_prior, (len(classes),), "class_prior")

    def _weighed(
        self, source: Source, weight: NDArray[np.float64], evidence: Evidence
    ) -> tuple[Source, NDArray[np.float64], Evidence]:
        """Return the rows that count, rows without any evidence with their own weight."""
        if source.elsewhere:
            return source.weighing(self.unlabeled_weight_), weight, evidence
        if self.unlabeled_weight_ != 1:
            weight = np.where(evidence.index == 0, self.unlabeled_weight_ * weight, weight)
        if weight[:1].min() > 0 and (weight.strides == (0,) or weight.min() > 0):  # one number for all rows, or many
            return source, weight, evidence
        used = np.flatnonzero(weight)
        if not len(used):
            raise DataError("no labelled row has a weight above 0: nothing is left to fit to.")
        return source.take(used), weight[used], evidence.take(used)

    def _fit_rows(self, source: Source, weight: NDArray[np.float64], evidence: Evidence) -> None:
        inside = int(self.components_per_class)
        known = inside == 1 and all_certain(evidence)
        if known and self._fit_at_once(source, weight, evidence):
            return
        schema = self._learn_schema(source)
        self._remember(source, schema)
        if known and not self._has_latent():  # counting: one pass, in any order of the rows
            in_one_pass(self._fit_table, schema, source, weight, evidence)
        else:
            self._fit_table(schema.gather(source, weight, evidence.repeated(inside)))

    def _guess(self, source: Source) -> Schema | None:
        """Return the columns that the first rows suggest, if they may be guessed."""
        schema = Schema.guess(source, self.columns)
        return None if schema is None else self._arranged(schema)

    def _fit_at_once(self, source: Source, weight: NDArray[np.float64], evidence: Evidence) -> bool:
        """Count with the columns that the first rows suggest; return whether the others agree."""
        schema = self._guess(source)
        if schema is None:
            return False
        self._remember(source, schema)
        if self._has_latent():
            return False
        try:
            self._fit_table(self._schema.encode(source, weight, evidence, once=True))
        except FastEncodingFailed:
            return False
        return True

    def _has_latent(self) -> bool:
        """Whether a leaf has latent content, so that EM iterates even where every row has its label."""
        summary = emission_builder.unit_summary(self._schema)
        recipe = self._recipe_for(summary, int(self.components_per_class) * len(self.classes_), self._covariance)
        return recipe.model().leaves["emit"].has_latent

    def _fit_table(self, table: Table) -> None:
        n_components = int(self.components_per_class) * len(self.classes_)
        found = self._search(table, n_components, lasting_seed(self.random_state), covariance=self._covariance)
        self._publish(found, self._component_names())
        self.events_ += column_doubts(table, self._declared) + misfit_notes(table, fitted_blocks(self))

    def _recipe_for(
        self, summary: emission_builder.Summary, n_components: int, covariance: str = "diag"
    ) -> emission_builder.Recipe:
        recipe = super()._recipe_for(summary, n_components, covariance)
        masses, rule = self._masses, self._schema.rule
        if rule and (len(self._schema.blocks) > 1 or n_components < 2):
            raise ParameterError(f"{rule} needs two classes and nothing but text. Use text='multinomial'.")
        if masses is None and rule:  # which weighs classes alike
            masses = np.full(n_components, 1 / n_components)
        return recipe._replace(masses=masses, observed=isinstance(self.class_prior, str))

    def _partly_labelled(self, table: Table) -> list[Chunk]:
        """Return the rows of whose class something is known, if there are others, and classes of several components."""
        if table.evidence is None or int(self.components_per_class) == 1 or table.evidence.complete:
            return []
        return list(table.take(np.flatnonzero(table.evidence.index)).chunks())

    def _ordered(self, model: Mixture, step: Step, table: Table) -> Params:
        return step.params

    def _component_names(self) -> tuple[str, ...]:
        inside = int(self.components_per_class)
        return tuple(
            str(label) if inside == 1 else f"{label} ({i + 1})" for label in self.classes_ for i in range(inside)
        )

    @property
    def _called(self) -> tuple[list[str], str]:
        return [f"class {name!r}" for name in self.class_names_], "label more of its rows, or use a prior"

    @available_if(_one_component)
    @rollback_on_error
    def partial_fit(
        self,
        X: Any,
        y: Any = None,
        classes: Sequence[Any] | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        unlabeled: Any = None,
    ) -> Self:
        """Take in one more batch: statistics add, so that the result is that of one fit to all labelled rows.

        The first batch fixes the columns with their kinds and categories, and needs `classes` if it does not have them
        all. After `fit` it goes on from there. Rows with unknown labels are completed once, under what was learned
        before them, and then counted. Needs components_per_class=1, and columns whose statistics do not depend on the
        parameters: rows with missing cells of jointly normal columns, for example, are refused.
        """
        self._check_options()
        first = not hasattr(self, "_params")
        source = self._read(X, reset=first)
        weight = row_weight(source, sample_weight)
        listed = classes if first else self.classes_.tolist()
        evidence, names = read_target(target_of(y, source), source.n_rows, listed, unlabeled, may_lack=not first)
        if first:
            self._begin(names)
        source, weight, evidence = self._weighed(source, weight, evidence)
        schema = self._learn_schema(source) if first else self._schema
        table = schema.encode(source, weight, evidence)
        if first:
            self._remember(source, schema)
            self._check_seen()
            summary = emission_builder.summarise(table)
            self._recipe = self._recipe_for(summary, len(self.classes_), self._covariance)
            self._model = self._recipe.model()
            self._params = self._model.blank()
            self.events_ = column_notes(schema, summary, self._params["emit"], table.mass)
            self._stats = np.zeros(self._model.stats_shape)
        self._check_settled(table)
        self._add(table)
        return self

    def _check_settled(self, table: Table) -> None:
        """Refuse rows with latent content inside a leaf: their statistics change with the parameters."""
        emit = self._model.leaves["emit"]
        assert isinstance(emit, Product)
        for block, leaf in emit.leaves.items():
            settled = leaf.settled(table.blocks[block]) if leaf.has_latent else None
            if settled is not None and not settled.all():
                names = ", ".join(column.name for column in self._schema.block_columns(block))
                raise ParameterError(
                    f"partial_fit: row {int(np.argmin(settled))} of this batch has latent values in the columns "
                    f"{names}, which EM completes again in every iteration: statistics that are added once would be "
                    "wrong. Use fit with all rows."
                )

    def _add(self, table: Table) -> None:
        """Add the statistics of a batch and estimate the parameters from all of them."""
        pivot = self._model.blank()  # alike in all classes, so that moments of the whole table can be read off
        stats = self._model.recentre(self._stats, self._params, pivot)
        counted, rest = known_apart(self._model, table)  # about the pivot; nothing of what was learned is needed
        if counted is not None:
            stats = stats + counted.stats
        if rest is not None:
            prepared = self._model.prepare(_all_possible(self._params))
            for chunk in rest.chunks():
                batch = self._model.expected(prepared, chunk, SOFT).stats
                stats = stats + self._model.recentre(batch, self._params, pivot)
        scanned = emission_builder.scan(table)
        if hasattr(self, "n_rows_seen_") or hasattr(self, "loglik_"):  # the first batch is in the recipe already
            scanned = emission_builder.joined(self._schema, self._recipe.summary, scanned)
        summary = emission_builder.summary_of(self._model, stats, pivot, self._schema, scanned)
        if summary is None:
            raise ParameterError(
                "partial_fit: a column is of a kind whose statistics do not hold what its leaf must know of the whole "
                "table (`Kind.summary_from`). Fit to all rows at once."
            )
        self._recipe = self._recipe_for(summary, len(self.classes_), self._covariance)
        self._model, self._origin = self._recipe.model(), self._origin.in_pieces()
        pseudo = self._model.prior(pivot)
        self._params = self._model.maximise(stats if pseudo is None else stats + pseudo, pivot)
        self._stats = self._model.recentre(stats, pivot, self._params)
        self.class_names_ = self._component_names()
        self._n_rows = 0.0
        self.n_rows_seen_ = float(self.class_count_.sum())
        self._drop_figures()

    # ---- in a file -----------------------------------------------------------------------------------------------

    def _state(self) -> State:
        state = super()._state()
        own = {"classes": self.classes_, "unlabeled_weight": self.unlabeled_weight_}
        return state._replace(record=state.record | own)

    @classmethod
    def _from_state(cls, state: State) -> Self:
        record = dict(state.record)
        classes, unlabeled = record.pop("classes"), record.pop("unlabeled_weight", None)
        model = super()._from_state(state._replace(record=record))
        inside = int(options.whole("components_per_class", model.components_per_class))
        kept = isinstance(classes, np.ndarray) and classes.shape == (len(model.weights_) // inside,)
        if not kept or len(model.weights_) % inside or len(set(classes.tolist())) != len(classes):
            raise ParameterError(f"classes={classes!r:.80} do not fit {len(model.weights_)} components.")
        model.unlabeled_weight_ = 1.0 if isinstance(model.unlabeled_weight, str) else float(model.unlabeled_weight)
        if unlabeled is not None:
            model.unlabeled_weight_ = options.number("unlabeled_weight", unlabeled)
        if model._recipe.masses is not None and len(model._recipe.masses) != len(classes):
            raise ParameterError(f"{len(model._recipe.masses)} given shares do not fit {len(classes)} classes.")
        model.classes_, model._masses = classes, model._recipe.masses
        if model.class_prior is None:
            model._masses = None
        return model

    # ---- use -----------------------------------------------------------------------------------------------------

    @property
    def class_prior_(self) -> Floats:
        """Shares of the classes, (C,)."""
        return self._by_class(self.weights_)

    @property
    def class_count_(self) -> Floats:
        """Expected number of training rows in each class, (C,)."""
        check_is_fitted(self)
        stats: Stats = self._model.view(self._stats)["mix"][0]
        return self._by_class(stats)

    @property
    def class_log_prior_(self) -> Floats:
        """Logs of `class_prior_`."""
        with np.errstate(divide="ignore"):
            return np.log(self.class_prior_)

    def _evidence(self, y: Any, n_rows: int) -> Evidence:
        """Return labels as evidence of the classes that the model has."""
        return read_target(target_of(y), n_rows, self.classes_.tolist())[0]

    def _observed(
        self, X: Any, sample_weight: ArrayLike | None = None, labels: Any = None, apart: bool = False
    ) -> Observed:
        """Return a table as inference reads it, rows without a label weighted as in the fit."""
        check_is_fitted(self)
        source = self._read(X, reset=False)
        table = self._schema.encode(source, row_weight(source, sample_weight))
        labels = source.target if labels is None else labels
        if labels is None:
            raise ParameterError("a classifier needs the labels of its fit: give them as labels=.")
        return observed_rows(self._model, self._labelled(table, labels), apart)

    def _labelled(self, table: Table, y: Any) -> Table:
        evidence = self._evidence(y, table.n_rows)
        weight = np.where(evidence.index == 0, self.unlabeled_weight_ * table.weight, table.weight)
        return Table(table.schema, table.blocks, weight, evidence.repeated(int(self.components_per_class)))

    def _known_components(self, labels: Any, n_rows: int) -> Evidence | None:
        return self._evidence(labels, n_rows).repeated(int(self.components_per_class))

    def _out_of_fold(
        self,
        source: Source,
        weight: Floats,
        evidence: Evidence,
        train: NDArray[np.int64],
        test: NDArray[np.int64],
        coarse: float = 0.0,
    ) -> Floats:
        """Return the posterior of each class for rows `test`, (T, C), by a copy fitted to rows `train`.

        `coarse` is the tolerance of the fit, where that of the model is finer.
        """
        part = source.take(train), weight[train], evidence.take(train)
        fitted = semi_supervised_check.fitted_to(self, *part, coarse)
        table = semi_supervised_check.encoded_rows(fitted, source, test)
        return self._by_class(np.concatenate(fitted._infer(table, lambda part: part.usage["emit"])))

    @property
    def _n_inside(self) -> int:
        return int(self.components_per_class)

    def _by_class(self, by_component: Floats) -> Floats:
        """Sum over the components of each class, along the last axis."""
        if self.components_per_class == 1:
            return by_component
        shape = (*by_component.shape[:-1], len(self.classes_), int(self.components_per_class))
        return by_component.reshape(shape).sum(axis=-1)

    @by_partition("class")
    def predict_proba(self, X: Any) -> Floats:
        """Return the posterior probability of each class for each row, (N, C)."""
        by_component = super().predict_proba(X)
        return self._by_class(by_component)

    @by_partition("class")
    def predict_log_proba(self, X: Any) -> Floats:
        """Return the logs of `predict_proba`; exact where the probabilities themselves would vanish."""
        joint = self.predict_joint_log_proba(X)
        evidence = logsumexp(joint, axis=1, keepdims=True)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(np.isneginf(evidence), np.log(self.class_prior_), joint - evidence)

    @by_partition("class")
    def predict_joint_log_proba(self, X: Any) -> Floats:
        """Return log p(observed cells, class) for each row and class, (N, C)."""
        return self._class_joint(self._encode(X))[1]

    def _by_class_joint(self, joint: Floats) -> tuple[tuple[str, ...], Floats]:
        with np.errstate(divide="ignore"):
            by_class = logsumexp(joint.reshape(len(joint), len(self.classes_), -1), axis=2)
        return tuple(map(str, self.classes_)), by_class

    @by_partition("class")
    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class of each row; the first among equals."""
        return self._over(X, lambda table: self._most_probable(table, self.classes_))

    def _most_probable(self, table: Table, names: NDArray[Any]) -> NDArray[Any]:
        """Return the name of the most probable class of each row; the first among equals."""
        if self.components_per_class == 1:
            return super()._most_probable(table, names)
        return names[np.concatenate(self._posteriors(table, lambda resp: self._by_class(resp).argmax(axis=1)))]

    def score(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> float:
        """Return the accuracy: the share of rows whose predicted class is `y`; of a Dask frame the name of a column."""
        if is_elsewhere(X):
            hits, mass = summed(self, "_hits", X, sample_weight, target_of(y))
            return float(hits / mass)
        source = self._read(X, reset=False)
        weight = source.weight if sample_weight is None else sample_weight
        return float(ClassifierMixin.score(self, source, source.target if y is None else y, weight))

    def _hits(self, X: Any, y: NDArray[Any], sample_weight: NDArray[np.float64]) -> Parts:
        """Return the weight of the rows whose predicted class is `y`, and of all rows."""
        missing = sum(label is None or label != label for label in y.tolist())
        if missing:
            raise DataError(f"score: {missing} rows of a partition have no label. Leave such rows out.")
        return Parts((float(sample_weight[self.predict(X) == y].sum()), float(sample_weight.sum())))

    def relabel(self, order: Sequence[int]) -> Self:
        """Return a copy in which class i is the former class order[i]."""
        check_is_fitted(self)
        inside = int(self.components_per_class)
        places = read_order(order, len(self.classes_), "class")
        relabelled = super().relabel((places[:, None] * inside + np.arange(inside)).ravel().tolist())
        relabelled.classes_ = self.classes_[places]
        if self._masses is not None:  # given shares move with their classes
            relabelled._masses = self._masses[places]
            relabelled._recipe = self._recipe._replace(masses=relabelled._masses)
            relabelled._model = relabelled._recipe.model()
        relabelled.class_names_ = relabelled._component_names()
        return relabelled

    def match_to(self, other: Self) -> Self:
        """Refuse: the classes have labels, which say what is what."""
        raise ParameterError("match_to is for hidden classes; those of a classifier have labels. Use relabel.")

    def rename(self, names: Sequence[Any] | Mapping[Any, Any]) -> Self:
        """Return a copy that predicts these labels instead of `classes_`: a list of them, or {present: new}."""
        check_is_fitted(self)
        named = new_names(names, self.classes_.tolist(), "class")
        renamed = copy(self)
        renamed.classes_ = np.array(named if isinstance(names, Mapping) else list(names))
        renamed.class_names_ = renamed._component_names()
        return renamed

    def sample(self, n_samples: int = 1, random_state: Any = None) -> tuple[Any, NDArray[Any]]:
        """Draw rows and their classes from the model."""
        X, components = super().sample(n_samples, random_state)
        return X, self.classes_[components // int(self.components_per_class)]


def _all_possible(params: Params) -> Params:
    """Return the parameters with next to no share of classes that have none: a label may bring their first row."""
    return {**params, "mix": frozen(np.maximum(params["mix"], np.finfo(np.float64).tiny))}


def target_of(y: Any, source: Source | None = None) -> Any:
    """Return the labels: those given, else those that came with the table."""
    y = source.target if y is None and source is not None else y
    if y is None:
        raise DataError("a classifier requires y to be passed, but the target y is None.")
    if hasattr(y, "__array__") and not hasattr(y, "__iter__"):
        y = np.asarray(y)
    if getattr(y, "shape", ())[1:] == (1,):
        return column_or_1d(y, warn=True)
    return y
