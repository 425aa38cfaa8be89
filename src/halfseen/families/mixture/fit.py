"""Inside a fit: from a table to the best of many EM runs, for every estimator over a table.

`LatentClass` and `NaiveBayes` differ in what they know of the rows (labels) and in what they show; what happens between
is here, once.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from halfseen.assign import SOFT
from halfseen.data import CHUNK, Chunk, Design, Evidence, FastEncodingFailed, Schema, Source, Table, row_weight
from halfseen.data.columns import may_be_guessed, read_kind
from halfseen.data.counts import SparseSource
from halfseen.data.text import read_options, tokenised
from halfseen.engine.loop.expected import Step
from halfseen.engine.loop.model import Model, Reduced
from halfseen.engine.loop.search import Starts, fit
from halfseen.engine.services.checkpoint import evaluate
from halfseen.engine.tables.mixture import Mixture
from halfseen.engine.tables.preprocess import all_certain, all_countable, counted, reduce
from halfseen.engine.tables.starts import STARTS, Start, from_known, from_labelled, split
from halfseen.errors import DataError, ParameterError, SeparationWarning, warn
from halfseen.estimators import convergence, options
from halfseen.estimators.selection import FittedComponents
from halfseen.estimators.state import Origin
from halfseen.estimators.table import constraints, emission_builder
from halfseen.estimators.table.column_events import blank_notes, check_seen, column_notes, degenerate_notes
from halfseen.estimators.table.profile import fitted_blocks
from halfseen.estimators.table.state import fingerprint
from halfseen.estimators.table.table_mixture import TableMixture, measure
from halfseen.estimators.table.view import TableView
from halfseen.families.mixture import begun, membership, state
from halfseen.families.mixture.imputation_check import MixtureCells
from halfseen.kinds.text import TREATMENTS
from halfseen.leaves.leaf import NO_MASS, Floats
from halfseen.leaves.limits import Params
from halfseen.runners import runner
from halfseen.runners.threads import one_blas_thread
from halfseen.seeds import child
from halfseen.sums import Runner

log = logging.getLogger("halfseen")


@dataclass(frozen=True, kw_only=True)
class FittedMixture(FittedComponents):
    """A mixture fitted to a table: `recipe` is what it was built from."""

    recipe: emission_builder.Recipe
    seed: np.random.SeedSequence


class MixtureFit(TableMixture):
    """A mixture over a table that is fitted by EM; options that a subclass does not offer have their defaults here."""

    columns: Mapping[str | int, str] | None = None
    text: str = "multinomial"
    words: Mapping[str, Any] | None = None
    document_length: float | str | None = None
    assign: str = "soft"
    prior: str | float | None = "row"
    init: str = "mixed"
    start: Mapping[str, Any] | None = None
    fixed: Collection[str] | Mapping[str, Any] | None = ()
    tied: Collection[str] | Mapping[str, Any] | None = ()
    n_init: int | str = "auto"
    variance_floor: float | str = "resolution"
    reg_covar: float = 0.0
    n_jobs: int | None = None
    random_state: Any = None
    _state_module = state
    _design: Design | None = None  # covariates of the fit that is under way
    _begins_at: Params | None = None  # the one start of the fit that is under way
    _membership: membership.Membership | None = None  # of a fit with covariates

    def _check_options(self) -> None:
        super()._check_options()
        options.number("reg_covar", self.reg_covar)
        options.one_of("weight_kind", self.weight_kind, ("frequency", "survey"))
        options.one_of("text", self.text, TREATMENTS)
        read_options(options.mapping("words", self.words))
        if self.document_length not in (None, "mean") and not options.number("document_length", self.document_length):
            raise ParameterError("document_length=0: a document must count as something. Use 'mean', None or a number.")

    def _worded(self, source: Source) -> Source:
        """Return a table to be fitted to with its text cut into words, once for the fit and all that follows."""
        kinds = self.columns or {}
        named = {name for name, kind in kinds.items() if read_kind(kind, f"column {name!r}").of_words}
        texts = [j for j, name in enumerate(source.names) if {name, j} & named]
        if not self._takes_text or not (texts or isinstance(source, SparseSource)):
            return source
        return tokenised(source, texts, read_options(self.words), self.document_length)

    @property
    def _declared(self) -> Iterable[str | int] | None:
        """The columns whose kind the user gave; None where there is no choice."""
        return (self.columns or ()) if "columns" in self._get_param_names() else None

    def _learn_schema(self, source: Source) -> Schema:
        with runner(self.n_jobs, source.n_rows // CHUNK) as run:
            return self._arranged(Schema.learn(source, self.columns, run))

    def _gathered(self, source: Source, weight: Floats | None, evidence: Evidence | None) -> Table:
        """Return the canonical table of a source.

        A table outside memory is read once if its first rows show what all columns are, otherwise twice.
        """
        schema = self._guess_from_head(source)
        if schema is not None:
            with suppress(FastEncodingFailed):
                return schema.gather(source, weight, evidence, guessed=True)
        return self._learn_schema(source).gather(source, weight, evidence)

    def _guess_from_head(self, source: Source) -> Schema | None:
        """Return the columns that the first rows of a table outside memory suggest; None if they may not be guessed."""
        head = source.head()
        if head is None:
            return None
        try:
            schema = self._learn_schema(head)
        except (DataError, ParameterError):  # which all rows may resolve, or raise again
            return None
        discrete = all(column.kind.has_categories for column in schema.columns)  # then equal rows are merged first
        return schema if not discrete and may_be_guessed(schema.columns, set(self._declared or ())) else None

    def _arranged(self, schema: Schema) -> Schema:
        """Check the columns that options name, and give those that are treated apart blocks of their own."""
        emission_builder.read_names(list(self.start or ()), schema, "start")
        treatment = constraints.treatments(self.fixed, self.tied, self.start or {}, schema, self._given_size)
        texts = schema.texts
        if self.text != "multinomial":
            if set(texts) & set(treatment):
                raise ParameterError(f"text={self.text!r}: its words can be neither fixed nor tied.")
            treatment |= dict.fromkeys(texts, self.text)
        return schema.arrange(treatment)

    def _check_seen(self) -> None:
        """Refuse a table that cannot be learned from because cells are missing."""
        check_seen(self._schema)

    def _remember(self, source: Source, schema: Schema) -> None:
        """Keep what later calls need to know of the table: its columns, never its rows."""
        for name in ("n_rows_seen_", "_without_data"):  # of an earlier fit
            self.__dict__.pop(name, None)
        self._template = source.template()
        self._schema = schema
        self.columns_ = schema.kind_names

    def _recipe_for(
        self, summary: emission_builder.Summary, n_components: int, covariance: str = "diag"
    ) -> emission_builder.Recipe:
        """Return the recipe of the mixture that the options describe."""
        prior, floor = (
            emission_builder.read_prior(self.prior),
            options.variance_floor("variance_floor", self.variance_floor),
        )
        fixed, ridge = constraints.whole_columns(self.fixed), float(self.reg_covar)
        recipe = emission_builder.Recipe(
            self._schema, summary, n_components, prior, floor, fixed, None, covariance, ridge, design=self._design
        )
        cells = constraints.fixed_cells(self.fixed)
        if not cells:
            return recipe
        masks = constraints.with_fixed(recipe.model().blank(), cells, self._schema, n_components)[1]
        return recipe._replace(masks=masks)

    @property
    def _given_size(self) -> int | None:
        """The number of components where the options give one."""
        return None

    def _overlaid(self, params: Params, n_components: int, covariance: str) -> Params:
        """Return the parameters with those that the user gave put in their place."""
        started = emission_builder.overlay(params, self.start or {}, self._schema, n_components)
        cells = constraints.fixed_cells(self.fixed)
        return constraints.with_fixed(started, cells, self._schema, n_components)[0] if cells else started

    def _labelled(self, table: Table, y: Any) -> Table:
        """Return a table with what is known of its classes, its rows weighted as in a fit."""
        return table

    def _cell_imputer(self, X: Any, y: Any, sample_weight: ArrayLike | None) -> MixtureCells:
        """Return what the check of imputation asks for."""
        source = self._read(X, reset=False)
        table = self._schema.encode(source, row_weight(source, sample_weight))
        return MixtureCells(self, table, source.target if y is None else y)

    @property
    def _keeps_order(self) -> bool:
        """Whether options identify some components, which then keep their order."""
        return bool(self.start or self.fixed or self.tied) or self._begins_at is not None

    def _reorder(self, places: NDArray[np.int64]) -> None:
        if self._recipe.names_components:
            raise ParameterError(
                "fixed= and tied= name classes by number: the classes keep their order. Use rename to give them names."
            )
        super()._reorder(places)

    def _search(
        self,
        table: Table,
        n_components: int,
        seed: np.random.SeedSequence,
        smaller: Params | None = None,
        covariance: str = "diag",
    ) -> FittedMixture:
        """Fit a mixture of so many components; `smaller` is the solution with one component less, if there is one."""
        n_given, table = table.mass, table.seen()
        _check_rows(table, n_components)
        with runner(self.n_jobs, table.n_chunks) as run:
            table = table.run_by(run)
            summary, data = self._summarised(table, n_components, covariance, run)
            recipe = self._recipe_for(summary, n_components, covariance)
            model = recipe.model()
            data = data or reduce(model, table, run)
            starts = self._starts(model, table, data, child(seed, 0), smaller, covariance)
            search = fit(model, data, starts, options.plan(self, seed, run), view=partial(self._view, table.schema))
            step = search.best.accepted
            params = self._ordered(model, step, table)
            if params is not step.params or self.assign != "soft":
                [step] = evaluate(model, data, [params], SOFT, run)
            uncertain = measure(model, params, data, run)[1]  # rows of a known class add nothing to it
            n_incomplete = table.n_incomplete()
        loglik = search.best.accepted.loglik if self.assign == "soft" else step.loglik
        return FittedMixture(
            model=model,
            params=params,
            search=search,
            stats=step.expected.stats,
            loglik=loglik,
            n_rows=table.mass,
            n_blank=n_given - table.mass,
            n_incomplete=n_incomplete,
            n_components=n_components,
            covariance=covariance,
            uncertain=uncertain,
            n_hidden=table.mass,
            recipe=recipe,
            seed=seed,
        )

    def _view(self, schema: Schema, model: Model, step: Step) -> TableView:
        """Return what a watcher is shown of a step."""
        shares, stats = membership.shares(model, step), model.view(step.expected.stats)["emit"]
        return TableView.of(schema, model.leaves["emit"], step.params["emit"], shares, stats, self._n_inside)

    @property
    def _n_inside(self) -> int:
        """Number of components of a class."""
        return 1

    def _summarised(
        self, table: Table, n_components: int, covariance: str, run: Runner
    ) -> tuple[emission_builder.Summary, Reduced | None]:
        """Return the summary of a table; where nothing is hidden, read off the counts that the fit needs anyway."""
        if table.evidence is None or not isinstance(table, Table) or not all_certain(table.evidence):
            return emission_builder.summarise(table), None
        rough = emission_builder.unit_summary(table.schema)  # pivots that no order of the rows can change
        if not all_countable(self._recipe_for(rough, n_components, covariance).model(), table):
            return emission_builder.summarise(table), None
        summary, data = self._counted(table, rough, n_components, covariance, run)
        if summary is not None and emission_builder.lost_digits(table.schema, summary, rough):
            summary, data = self._counted(table, summary, n_components, covariance, run)  # about pivots nearby
        return (emission_builder.summarise(table), None) if summary is None else (summary, data)

    def _counted(
        self, table: Table, rough: emission_builder.Summary, n_components: int, covariance: str, run: Runner
    ) -> tuple[emission_builder.Summary | None, Reduced]:
        """Count rows of known components about the means of `rough`; read the summary of the table off the counts."""
        model = self._recipe_for(rough, n_components, covariance).model()
        with np.errstate(over="ignore", invalid="ignore"):  # numbers too large are named below
            data = reduce(model, table, run)
        assert data.known is not None
        if not np.isfinite(data.known.stats).all():
            table.check_finite()
        scanned = emission_builder.scan(table)
        return emission_builder.summary_of(model, data.known.stats, data.about, table.schema, scanned), data

    def _ordered(self, model: Mixture, step: Step, table: Table) -> Params:
        """Return the parameters with the largest component first, unless options or labels identify components."""
        if self._keeps_order or table.evidence is not None:
            return step.params
        return model.relabel(step.params, np.argsort(-membership.shares(model, step), kind="stable"))

    def _partly_labelled(self, table: Table) -> list[Chunk]:
        """Return rows to begin with, where labels leave open what component a row belongs to; none by default."""
        return []

    def _starts(
        self,
        model: Mixture,
        table: Table,
        data: Reduced,
        seed: np.random.SeedSequence,
        smaller: Params | None,
        covariance: str,
    ) -> Starts:
        """Return the parameters that the restarts begin with."""
        n_components = model.leaves["emit"].n_components
        if not data.chunks:  # nothing is hidden: from anywhere the first step is the last, so that is where to begin
            return Starts.given([counted(model, data, self._overlaid(model.blank(), n_components, covariance))])
        if self._begins_at is not None:
            return Starts.given([begun.placed(model, self._begins_at)])
        begin = Start.of(model, table)
        labelled = self._partly_labelled(table)

        def drawn(i: int) -> Params:
            rng = np.random.default_rng(child(seed, i))
            if i == 0 and smaller is not None:
                params = split(model, membership.marginal(smaller), rng)
            else:
                emit = from_known(begin, data, STARTS[self.init](begin, rng))
                params = {"mix": model.leaves["mix"].blank(), "emit": emit}
                params = from_labelled(begin, labelled, params) if labelled else params
            params = membership.begun(model, self._overlaid(params, n_components, covariance))
            return model.conform(params, params)

        return options.starts(self, drawn, only_one=n_components == 1)

    def _publish(self, found: FittedMixture, names: tuple[Any, ...] | None) -> None:
        """Set the fitted attributes."""
        summary = found.recipe.summary
        self.events_ = column_notes(self._schema, summary, found.params["emit"], found.n_rows)
        self.events_ += blank_notes(found.n_blank)
        self._recipe = found.recipe._replace(design=None)
        self._origin = Origin.now(fingerprint(self._schema, summary, found.n_rows), found.seed)
        self._membership = membership.found(found)
        self._model, self._params, self._stats = membership.without_covariates(found)
        self.loglik_, self._entropy, self._n_rows = found.loglik, found.uncertain, found.n_rows
        self._n_blank, self._n_incomplete = found.n_blank, found.n_incomplete
        self._set_names(names or (None,) * len(self.weights_))
        convergence.record(self, found.search)
        self._note_events(found)

    @property
    def _called(self) -> tuple[list[str], str]:
        """What to call each component in a message, and what to do about one that is spurious."""
        return list(self.class_names_), "use fewer classes, or a prior"

    def _drop_figures(self) -> None:
        """Drop what only a fit to a whole table has, once rows come in pieces."""
        of_fit = ("loglik_", "objective_", "trace_", "converged_", "stop_reason_", "restarts_", "_tried", "guard_")
        for name in (*of_fit, "_tried_fits", "_n_blank", "_n_incomplete"):
            self.__dict__.pop(name, None)

    def _note_events(self, found: FittedMixture) -> None:
        best = found.search.best
        mass = found.model.view(best.accepted.expected.stats)["mix"][0]
        empty = np.flatnonzero(mass < NO_MASS).tolist()
        if empty:
            self.events_.append(f"classes without any mass kept their last parameters: {len(empty)} of {len(mass)}")
        self.events_ += degenerate_notes(fitted_blocks(self), *self._called)
        with one_blas_thread():  # a product of long rows, which threads in waiting would hold up
            self.events_ += _twins(self._model.overlap(self._params, self._params))
        if not best.healthy:
            convergence.warn_collapsed(self, "a class collapsed onto single rows", "Use prior='row' or fewer classes.")
        separated = None if self._membership is None else self._membership.separation()
        if separated is not None:
            self.events_.append(f"separation: {separated}")
            warn(f"{separated}.", SeparationWarning)
        convergence.warn_of_end(self, found.search.interrupted)
        log.info("fitted %d classes: %s after %d iterations", len(mass), self.stop_reason_, self.n_iter_)


def _check_rows(table: Table, n_components: int) -> None:
    n_rows = max(table.n_rows, int(table.mass))
    if n_rows < n_components:
        raise ParameterError(
            f"n_samples={n_rows} is fewer than n_components={n_components}. Use fewer classes or more rows."
        )


def _twins(overlap: Floats) -> list[str]:
    """Name pairs of identical classes: EM never separates classes that start the same."""
    same = np.argwhere(np.triu(overlap > -1e-12, k=1))
    return [f"classes {i} and {j} are identical; start them apart, or use fewer classes" for i, j in same.tolist()]
