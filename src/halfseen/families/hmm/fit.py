"""Fitting a hidden Markov model: from sequences to the best of several EM runs."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from halfseen.assign import SOFT
from halfseen.data import Evidence, Schema, Sequences, Source
from halfseen.data.rows import Rows
from halfseen.data.sequence_stream import UnsortedSteps
from halfseen.engine.loop.course import View
from halfseen.engine.loop.expected import Step
from halfseen.engine.loop.model import Model, Reduced
from halfseen.engine.loop.search import Plan, Search, Starts, fit
from halfseen.engine.services.checkpoint import evaluate
from halfseen.engine.tables.mixture import Mixture
from halfseen.engine.tables.starts import Start
from halfseen.errors import FitError, ParameterError
from halfseen.estimators import convergence, options
from halfseen.estimators.selection import FittedComponents
from halfseen.estimators.table import covariance_types, emission_builder
from halfseen.estimators.table.column_events import column_doubts, column_notes, degenerate_notes
from halfseen.estimators.table.column_kinds import named_kinds
from halfseen.estimators.table.view import TableView
from halfseen.families.hmm import state
from halfseen.families.hmm.methods import HMMMethods
from halfseen.families.hmm.model import HiddenMarkov, path_entropy
from halfseen.families.hmm.panel import Here, Panel, RawSequences
from halfseen.families.hmm.starts import ChainStarts
from halfseen.families.hmm.state import HMMRecipe
from halfseen.families.hmm.topology import Topology, has_numbers
from halfseen.leaves import Cells, Leaf
from halfseen.leaves.categorical import read_table
from halfseen.leaves.leaf import NO_MASS, Floats, Stats, frozen
from halfseen.leaves.limits import Params
from halfseen.runners import runner
from halfseen.seeds import child
from halfseen.structures.chain import MarkovChain
from halfseen.structures.independent import Independent

if TYPE_CHECKING:
    from halfseen.families.hmm.lanes import RawElsewhere

log = logging.getLogger("halfseen")

PRIORS = ("categories", "row")
OWN = ("startprob", "transmat", "mixture")  # names in `start` in addition to those of columns


@dataclass(frozen=True, kw_only=True)
class FittedHMM(FittedComponents):
    """A hidden Markov model fitted to sequences.

    Attributes
    ----------
    topology : Topology
    summary : Summary            what its leaves had to know of the steps
    doubts : tuple of str        what the steps make one doubt
    n_sequences : float          sequences of which something was observed, weighted
    """

    topology: Topology
    summary: emission_builder.Summary
    doubts: tuple[str, ...]
    n_sequences: float


class HMMFit(HMMMethods):
    """A hidden Markov model that is fitted by EM."""

    emission: str
    covariance_type: str | Sequence[str]
    columns: Mapping[str | int, str] | None
    transitions: Any
    min_dwell: Any
    n_mix: int
    assign: str
    prior: str | float | None
    init: str
    start: Mapping[str, Any] | None
    fixed: Collection[str] | None
    tied: Collection[str] | None
    n_init: int | str
    variance_floor: float | str
    _recipe: HMMRecipe
    _state_module = state

    def _learn_schema(self, source: Source) -> Schema:
        schema = Schema.learn(source, named_kinds(self.columns, self.emission, source.names))
        names = {column.name for column in schema.columns}
        whole = set(covariance_types.names(schema))
        _check_names("start", self.start or (), names | whole | set(OWN))
        fixed = _check_names("fixed", options.listed("fixed", self.fixed), names | whole | {"startprob", "transmat"})
        tied = _check_names("tied", options.listed("tied", self.tied), names)
        if set(fixed) & set(tied):
            raise ParameterError("a column cannot be both fixed and tied: fixed columns keep their start values.")
        given = {**(self.start or {}), **({"transmat": 0} if has_numbers(self.transitions) else {})}
        emission_builder.check_fixed(fixed, given, schema)
        treatment = {name: "fixed" for name in fixed if name in names} | dict.fromkeys(tied, "tied")
        return schema.arrange(treatment)

    def _begin(self, raw: RawSequences | RawElsewhere, evidence: Evidence | None) -> Panel:
        """Encode sequences, the longest first: sequences of one length are processed together by the kernels.

        Their order is that of their content, so that results do not depend on the order in which they were given.
        """
        if isinstance(raw.source, UnsortedSteps):
            steps = raw.source.steps(self._schema)
        else:
            steps = self._schema.encode(raw.source, evidence=evidence)
        if isinstance(raw, RawSequences):
            return Here(Sequences.of(steps, raw.cut.lengths, raw.weight).canonical(), raw)
        from halfseen.families.hmm.lanes import Elsewhere

        return Elsewhere(steps)  # type: ignore[arg-type]

    def _emission(self, summary: emission_builder.Summary, n_components: int, covariance: str) -> Leaf:
        """Return the emission: any leaf with `n_components` components."""
        flat = self._flat(summary, n_components, covariance)
        if self.n_mix == 1:
            return flat
        prior = emission_builder.read_prior(self.prior, PRIORS)
        pseudo = None
        if prior is not None and prior != "categories":
            each = 1 / (n_components * self.n_mix) if prior == "row" else float(prior)
            pseudo = np.full((n_components, self.n_mix), each)
        return Mixture(Independent(n_components), {"mix": Cells(n_components, [self.n_mix], pseudo), "emit": flat})

    def _flat(self, summary: emission_builder.Summary, n_components: int, covariance: str) -> Leaf:
        """Return the emission without mixtures inside: one component for each of theirs."""
        prior = emission_builder.read_prior(self.prior, PRIORS)
        size = n_components * self.n_mix
        shape = covariance_types.of_leaf(self._schema, covariance, size)
        recipe = emission_builder.Recipe(self._schema, summary, size, prior, self.variance_floor, covariance=shape)
        fixed = [name for name in covariance_types.names(self._schema) if name in (self.fixed or ())]
        return covariance_types.keep(recipe.model().leaves["emit"], fixed)

    def _build(
        self, summary: emission_builder.Summary, topology: Topology, covariance: str | None = None
    ) -> HiddenMarkov:
        """Return the model that the options describe; without `covariance`, of the shape that was chosen before."""
        chain = topology.leaves(emission_builder.read_prior(self.prior, PRIORS), options.listed("fixed", self.fixed))
        emit = self._emission(summary, len(topology.begin), covariance or self._covariance)
        return HiddenMarkov(MarkovChain(topology.owner), {**chain, "emit": emit})

    def _fitted(self, panel: Panel, n_components: int, seed: np.random.SeedSequence, covariance: str) -> FittedHMM:
        """Fit a model of so many states."""
        if panel.n_steps < n_components:
            raise ParameterError(
                f"n_samples={panel.n_steps} is fewer than n_components={n_components}. Use fewer states or more steps."
            )
        topology = Topology.read(self.transitions, n_components, self.min_dwell)
        summary = emission_builder.summarise(panel.rows)
        model = self._build(summary, topology, covariance)
        data = panel.reduced(model)
        with runner(self.n_jobs, len(data.chunks)) as run:
            begin = self._begin_at(panel.rows, summary, len(topology.begin), covariance)
            starts = self._starts(model, topology, begin, panel, child(seed, 0), covariance)
            view = partial(self._view, self._schema, topology)
            search = self._searched(model, data, starts, options.plan(self, seed, run), panel, view)
            best = search.best.accepted
            order = self._order(topology, model, best.expected.stats, panel)
            params = best.params if order is None else model.relabel(best.params, order)
            [step] = evaluate(model, data, [params], SOFT, run)
        loglik = best.loglik if self.assign == "soft" else step.loglik
        stats = step.expected.stats
        declared = (self.columns or ()) if self.emission == "auto" else None
        return FittedHMM(
            doubts=tuple(column_doubts(panel.rows, declared)),
            model=model,
            params=params,
            search=search,
            stats=stats,
            loglik=loglik,
            n_rows=panel.n_observed,
            n_sequences=panel.n_observed_sequences,
            n_incomplete=panel.rows.n_incomplete(),
            n_components=n_components,
            covariance=covariance,
            uncertain=path_entropy(model, step, panel.entropy_inside(model, params)),
            n_hidden=panel.mass,  # a missing step has a state too
            topology=topology,
            summary=summary,
        )

    def _view(self, schema: Schema, topology: Topology, model: Model, step: Step) -> TableView:
        """Return what a watcher is shown of a step: the states as components of all steps."""
        parts, emit, params = model.view(step.expected.stats), model.leaves["emit"], step.params["emit"]
        shares = topology.occupancy(parts["start"], parts["trans"])
        shares, stats = shares / shares.sum(), parts["emit"]
        if isinstance(emit, Mixture):
            shares, stats = (shares[:, None] * params["mix"]).ravel(), emit.view(stats)["emit"]
            emit, params = emit.leaves["emit"], params["emit"]
        return TableView.of(schema, emit, params, shares, stats, self.n_mix)

    def _searched(
        self, model: HiddenMarkov, data: Reduced, starts: Starts, plan: Plan, panel: Panel, view: View
    ) -> Search:
        """Run the search; if a start gives a sequence probability zero, name the sequence and the step."""
        try:
            return fit(model, data, starts, plan, view=view)
        except FitError as error:
            for params in starts.first():
                found = panel.impossible(model, params, data)
                if found is not None:
                    raise FitError(
                        f"{found} no allowed state can emit the observed values. Check the zeros in transitions= and "
                        "start=, and labels= around that step."
                    ) from error
            raise

    def _order(self, topology: Topology, model: HiddenMarkov, stats: Stats, panel: Panel) -> Any:
        """Return the order to show states in, the most used first; None if the states are identified otherwise."""
        identified = self.start or self.fixed or self.tied or panel.labelled or not topology.free
        if identified:
            return None
        parts = model.view(stats)
        return np.argsort(-topology.occupancy(parts["start"], parts["trans"]), kind="stable")

    # ---- starts --------------------------------------------------------------------------------------------------

    def _starts(
        self,
        model: HiddenMarkov,
        topology: Topology,
        begin: Start,
        panel: Panel,
        seed: np.random.SeedSequence,
        covariance: str,
    ) -> Starts:
        """Return the parameters that the restarts begin with."""

        def overlaid(params: Params) -> Params:
            return self._overlaid(params, topology, covariance)

        drawn = ChainStarts(model, topology, begin, panel, seed, self.init, self.n_mix, overlaid)
        return options.starts(self, drawn.draw, len(topology.begin) * self.n_mix == 1, drawn.near)

    def _begin_at(self, rows: Rows, summary: emission_builder.Summary, n_components: int, covariance: str) -> Start:
        """Return the input of the starts: the emission as a mixture over all steps, in any order."""
        flat = self._flat(summary, n_components, covariance)
        mix = Mixture(Independent(), {"mix": Cells(1, [flat.n_components], axes=(1,)), "emit": flat})
        return Start.of(mix, rows)

    def _overlaid(self, params: Params, topology: Topology, covariance: str) -> Params:
        """Return the parameters with those of `start=` filled in."""
        given = dict(self.start or {})
        n_components = len(topology.begin)
        startprob, transmat = topology.compressed(params["start"], params["trans"])
        if "startprob" in given:
            startprob = read_table(given.pop("startprob"), (n_components,), "startprob")
            _check_allowed("startprob", startprob, topology.begin)
        if "transmat" in given:
            transmat = read_table(given.pop("transmat"), (n_components, n_components), "transmat")
            _check_allowed("transmat", transmat, topology.follow)
        start, trans = topology.expanded(startprob, transmat)
        emit = params["emit"]
        if "mixture" in given:
            if self.n_mix == 1:
                raise ParameterError("start: 'mixture' needs n_mix above 1.")
            inside = read_table(given.pop("mixture"), (n_components, self.n_mix), "mixture")
            emit = {**emit, "mix": frozen(inside)}
        flat = emit if self.n_mix == 1 else emit["emit"]
        together = {name: given.pop(name) for name in covariance_types.names(self._schema) if name in given}
        placed = emission_builder.overlay({"mix": None, "emit": flat}, given, self._schema, n_components * self.n_mix)[
            "emit"
        ]
        placed = covariance_types.place(placed, together, covariance, (n_components, self.n_mix))
        emit = placed if self.n_mix == 1 else {**emit, "emit": placed}
        return {**params, "start": frozen(start), "trans": frozen(trans), "emit": emit}

    # ---- results -------------------------------------------------------------------------------------------------

    def _publish(self, found: FittedHMM, names: tuple[Any, ...] | None) -> None:
        """Set the fitted attributes."""
        emit = found.params["emit"]
        inside = emit if self.n_mix == 1 else emit["emit"]
        self.events_ = column_notes(self._schema, found.summary, inside, found.n_rows)
        self.events_ += found.doubts
        self._model, self._params, self._stats = found.model, found.params, found.stats
        self._topology, self._uncertain = found.topology, found.uncertain
        self._n_steps, self._n_sequences = found.n_rows, found.n_sequences
        self._n_incomplete = found.n_incomplete
        self.n_components_, self.loglik_, self._covariance = found.n_components, found.loglik, found.covariance
        self._set_names(names or (None,) * found.n_components)
        self._recipe = HMMRecipe.of(self, found.summary)
        convergence.record(self, found.search)
        self._note_events(found.search)

    def _note_events(self, search: Search) -> None:
        parts = self._model.view(self._stats)
        empty = np.flatnonzero(self._topology.occupancy(parts["start"], parts["trans"]) < NO_MASS)
        if len(empty):
            self.events_.append(f"states without any expected steps kept their last parameters: {empty.tolist()}")
        self.events_ += degenerate_notes(self._fitted_blocks(), self._component_names, "use fewer states, or a prior")
        same = np.argwhere(np.triu(self._model.overlap(self._params, self._params) > -1e-12, k=1))
        self.events_ += [f"states {i} and {j} have the same emissions" for i, j in same.tolist()]
        if not search.best.healthy:
            together = self._covariance in ("full", "tied")
            reason = "single values" + (", or columns follow from each other in it" if together else "")
            other = " or covariance_type='diag'" if together else ""
            convergence.warn_collapsed(self, f"a state collapsed onto {reason}", f"Use a prior, fewer states{other}.")
        convergence.warn_of_end(self, search.interrupted)
        log.info("fitted %d states: %s after %d iterations", self.n_components_, self.stop_reason_, self.n_iter_)


def _check_names(option: str, names: Collection[Any], known: Collection[str]) -> tuple[str, ...]:
    for name in names:
        if name not in known:
            raise ParameterError(f"{option}: there is no {name!r}. Names: {', '.join(sorted(map(str, known)))}.")
    return tuple(names)


def _check_allowed(what: str, given: Floats, allowed: NDArray[np.bool_]) -> None:
    wrong = np.argwhere((given > 0) & ~allowed)
    if len(wrong):
        place = tuple(wrong[0].tolist())
        raise ParameterError(
            f"start: {what} has {given[place]:.6g} at {place}, which transitions= excludes. Set it to 0."
        )
