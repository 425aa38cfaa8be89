"""Forced alignment: transcripts are aligned to signals, with models of their units learned by EM."""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from halfseen.assign import SOFT
from halfseen.data import Schema, SequenceChunk, Source, frame_from_dict, read
from halfseen.engine.loop.model import Model, Reduced
from halfseen.engine.loop.search import Plan, Search, fit
from halfseen.engine.tables.mixture import Mixture
from halfseen.engine.tables.preprocess import Later
from halfseen.errors import DataError, ParameterError
from halfseen.estimators import convergence, options
from halfseen.estimators.base import Estimator
from halfseen.estimators.rollback import rollback_on_error
from halfseen.estimators.state import Origin
from halfseen.estimators.table import emission_builder
from halfseen.estimators.table.column_events import check_seen
from halfseen.estimators.table.column_kinds import named_kinds
from halfseen.families.transcript import state
from halfseen.families.transcript.adaptation import (
    MAX_ITER,
    PRIOR,
    Adaptation,
    Adapter,
    by_speaker,
    check_options,
    each_alone,
    known_speakers,
    moved_as,
    of_strangers,
)
from halfseen.families.transcript.aligner import Aligner, Typicals, scored_by
from halfseen.families.transcript.alignment import TIERS, Alignment, table_of
from halfseen.families.transcript.certainty import FRAMES, Certainty, Residuals, acoustic_scale
from halfseen.families.transcript.departures import Background, Departures
from halfseen.families.transcript.from_params import Given, built, with_dictionary
from halfseen.families.transcript.lexicon import Layout, Lexicon, read_pronunciations
from halfseen.families.transcript.reestimation import WEIGHT, adapted_message, reestimate
from halfseen.families.transcript.sharing import Sharing
from halfseen.families.transcript.surprise import Typical, typical_words
from halfseen.families.transcript.utterances import Corpus, is_lazy, read_corpus, short_utterances_message, too_short
from halfseen.kinds.records import Prior
from halfseen.leaves import Cells, Leaf, Product
from halfseen.leaves.leaf import NO_MASS, Floats, frozen, map_arrays
from halfseen.leaves.limits import Params
from halfseen.leaves.transforms import KINDS
from halfseen.registry import kinds
from halfseen.runners import runner
from halfseen.seeds import child, seed_of
from halfseen.structures.independent import Independent
from halfseen.structures.transcript import LeftRight, best
from halfseen.structures.transcript_passes import Scored

log = logging.getLogger("halfseen")

STARTS = ("flat", "equal")
SHORT = ("raise", "skip")
MISFIT = 5.0  # robust standard deviations below the other utterances
MANY = 8  # utterances needed to estimate their median and spread
ADD = "Add them, or name a unit for them with unknown=."
CORRECT = "Correct the transcript, or fit with utterances that contain them."
WARM = (0.02, 0.1, 0.4)  # inverse temperatures of a fit from nothing: without them EM on a minute of speech goes astray
LEAST_PASSES = 60  # of max_iter, from which there are enough for these
SPLIT = 0.2  # distance of the halves of a split component, in standard deviations


class Stage(NamedTuple):
    """A fit with `n_mix` components in every state."""

    n_mix: int
    model: Model
    search: Search


def _check_annealing(name: str, value: Any) -> None:
    """Refuse what is not "auto" or temperatures."""
    if not isinstance(value, str) or value != "auto":
        options.temperatures(name, value)


@options.with_hints
@dataclass(eq=False, repr=False)
class TranscriptAligner(Estimator):
    """Align transcripts to signals (forced alignment), by expectation-maximization.

    The transcript of each utterance is known; the times are hidden. Every unit (a phone, a
    word, an activity, a phase of a machine) is a sequence of states, each with its own distribution of the features,
    shared wherever the unit occurs. EM starts without any timing. All segmentations are summed over exactly: there is
    no beam.

    Parameters
    ----------
    states_per_unit : int, default 3
        Number of states of each unit, which is also its shortest duration in frames.
    n_mix : int, default 1
        Number of mixture components in the emission of each state. They are grown: a fit with one component, then
        components are split and fitted again, until there are `n_mix`.
    dictionary : mapping, optional
        Pronunciations: {"the": ["dh ah", "dh iy"], "cat": "k ae t"}. Words of the transcripts are then made of these
        units, and the share of each pronunciation is learned. Without it, words are units themselves.
    unknown : str, optional
        Unit for words which are not in the dictionary, such as "spn". By default they are an error.
    silence : str, optional
        Name of an optional unit at both ends and between words, such as "sil". By default there are no pauses.
    emission : str, default "gaussian"
        Kind of all columns that `columns` does not name: "gaussian", "categorical", "poisson", "negbin", "binomial(10)"
        or a registered kind; or "auto", which finds the kind of each by its values.
    columns : mapping, optional
        Kinds of columns by name, where they are not to be found by the rule: {"visits": "poisson"}.
    step : float, default 1.0
        Time from one frame to the next: 0.01 makes all times seconds where frames are 10 ms apart.
    init : {"flat", "equal"}, default "flat"
        "flat": all states start alike, with the mean and variance of all frames. "equal": every utterance is cut into
        equal pieces. Hard assignment always starts with equal pieces.
    assign : {"soft", "hard", "sample"}, default "soft"
        How the E-step completes hidden values: in expectation, by the most probable completion, or by a draw. Hidden is
        the timing: the segmentation of each utterance.
    draws : int, default 1
        With assign="sample": use the mean of this many draws (Monte Carlo EM).
    prior : float, "row" or None, default None
        Pseudo-counts added to the expected counts. A number: as many for each cell of a table of probabilities, and as
        many pseudo-rows for numbers and counts. "row": one pseudo-row in all. None: maximum likelihood.
    acoustic_scale : float or "auto", default "auto"
        Factor of all scores in the posterior of `align`, from which `confidence`, `start_sd` and `end_sd` come: frames
        that are not independent, such as those of speech, would make it too sure. "auto" measures by how much, on the
        residuals of the training data (1.0 if frames are independent, about 0.15 for speech). Best segmentations and
        `loglik_` do not depend on it.
    boundary_sd : float or "auto", default "auto"
        Standard deviation, in the unit of `step`, of a boundary of which the posterior is sure. "auto": for an
        `AudioFolder` 14.5 ms, fitted to synthetic speech, and the rounding to frames, step / sqrt(12); 0 otherwise. It
        is in `confidence` and `start_sd` too: whoever has true boundaries can choose it so that nine in ten are within
        2 `start_sd`.
    start : mapping, optional
        Frames that are examples of some units, to start from. For example {"sil": (n, D) array}. Silence that is known
        from the start shows where words can be, which long recordings need; `AudioFolder.quiet` finds some.
    variance_floor : float or "resolution", default 0.01
        Smallest variance of a feature in a state, as a share of its variance over all frames. "resolution" is as in
        `HMM`.
    too_short : {"raise", "skip"}, default "raise"
        What to do with an utterance that has fewer frames than its transcript has states: an error that says which, or
        leave it out and note it in `events_`.
    anneal : sequence of float or "auto", default "auto"
        Deterministic annealing: rising inverse temperatures in (0, 1), such as (0.4, 0.6, 0.8), with 10 iterations at
        each before the fit. "auto": (0.02, 0.1, 0.4) for soft fits from nothing, that is with init="flat" and no
        examples in `start` but of silence, if `max_iter` is at least 60; none otherwise.
    stop : {"gain", "counts", "parameters", "assignments", "iterations"}, default "gain"
        When to stop: when the estimated remaining gain of the objective, the largest change of an expected count, or
        the largest change of a parameter is below `tol`; when no assignment changed (hard); or after `max_iter`
        iterations. Sampled fits always make `max_iter` iterations, and estimate from the mean statistics of the second
        half.
    tol : float, default 0.01
        Convergence threshold: of the estimated remaining gain of the total log-likelihood (not per row), unless another
        rule is chosen to stop by. It holds for the best start; starts are compared at 1e-4.
    max_iter : int, default 200
        Maximum number of iterations (passes over the data) for each start.
    accelerate : bool, default True
        Accelerate soft EM by squared extrapolation (SQUAREM); the objective still never falls.
    n_jobs : int, optional
        Number of threads; -1 is all cores. Results are the same, bit for bit, with any number. Work is divided by
        utterances.
    random_state : int, RandomState or Generator, optional
        Seed. The same seed gives the same bits on the same machine.

    Attributes
    ----------
    units_ : tuple of str
    loglik_ : float                log-likelihood of all utterances under the returned parameters
    objective_, trace_, n_iter_, converged_, stop_reason_, events_ : as in `HMM`, of the last stage of growing
    acoustic_scale_ : float        see `acoustic_scale`
    stages_ : list of dict         components, passes and objective of every stage of growing
    pronunciations_ : dict         share of each pronunciation, for words that have several
    means_, covars_ : arrays       of numeric features, by state and component
    dwell_ : dict                  expected duration of each unit

    Examples
    --------
    >>> import numpy as np
    >>> import halfseen as hs
    >>> heat, cool = [20.1, 19.8, 20.3, 20.0], [5.2, 4.9, 5.1]
    >>> runs = [np.array(heat + cool + heat), np.array(cool + heat), np.array(heat + cool)]
    >>> aligner = hs.TranscriptAligner(states_per_unit=1).fit(runs, ["heat cool heat", "cool heat", "heat cool"])
    >>> [found] = aligner.align([np.array([20.0, 20.2, 5.0, 5.1, 5.0])], ["heat cool"])
    >>> [(part.name, part.start, part.end) for part in found.words]
    [('heat', 0.0, 2.0), ('cool', 2.0, 5.0)]
    """

    states_per_unit: int = 3
    n_mix: int = 1
    _: KW_ONLY
    dictionary: Mapping[str, Any] | None = None
    unknown: str | None = None
    silence: str | None = None
    emission: str = "gaussian"
    columns: Mapping[str | int, str] | None = None
    step: float = 1.0
    init: str = "flat"
    assign: str = "soft"
    draws: int = 1
    prior: str | float | None = None
    acoustic_scale: float | str = "auto"
    boundary_sd: float | str = "auto"
    start: Mapping[str, Any] | None = None
    variance_floor: float | str = 0.01
    too_short: str = "raise"
    anneal: Sequence[float] | str = "auto"
    stop: str = "gain"
    tol: float = 1e-2
    max_iter: int = 200
    accelerate: bool = True
    n_jobs: int | None = None
    random_state: Any = None

    _state_module = state
    _deviations: ClassVar[options.Deviations] = {
        "init": options.Deviation(
            "states have an order, which random starts would ignore",
            default="flat",
            text='"flat": all states start alike, with the mean and variance of all frames. "equal": every utterance '
            "is cut into equal pieces. Hard assignment always starts with equal pieces.",
            **options.words("flat", "equal"),
        ),
        "start": options.Deviation(
            "there are many units, of which a few can be shown",
            text="Frames that are examples of some units, to start from.",
        ),
        "variance_floor": options.Deviation(
            "units that occur rarely have few frames; there is one start, so that no run ranks behind another",
            default=0.01,
            text="Smallest variance of a feature in a state, as a share of its variance over all frames.",
        ),
        "anneal": options.Deviation(
            "a flat start is the same for all states, from which EM on little data goes astray",
            default="auto",
            type='sequence of float or "auto"',
            text="Deterministic annealing: rising inverse temperatures in (0, 1), such as (0.4, 0.6, 0.8), with 10 "
            'iterations at each before the fit. "auto": (0.02, 0.1, 0.4) for soft fits from nothing, that is with '
            'init="flat" and no examples in `start` but of silence, if `max_iter` is at least 60; none otherwise.',
            check=_check_annealing,
        ),
        "tol": options.Deviation("log-likelihoods of recordings are large", default=1e-2),
        "max_iter": options.Deviation("passes over recordings are long", default=200),
    }

    def _check_options(self) -> None:
        super()._check_options()
        options.whole("states_per_unit", self.states_per_unit)
        options.one_of("too_short", self.too_short, SHORT)
        if not options.number("step", self.step) > 0:
            raise ParameterError(f"step={self.step!r} is not a number above 0.")
        if self.acoustic_scale != "auto" and not 0 < options.number("acoustic_scale", self.acoustic_scale) <= 1:
            raise ParameterError(
                f'acoustic_scale={self.acoustic_scale!r} is not "auto" or a number above 0, at most 1.'
            )
        for name, unit in (("silence", self.silence), ("unknown", self.unknown)):
            if unit is not None and (not isinstance(unit, str) or not unit or len(unit.split()) != 1):
                raise ParameterError(f"{name}={unit!r} is not the name of a unit: a text without blanks.")
        if self.unknown is not None and self.dictionary is None:
            raise ParameterError("unknown= is the unit for words that are not in the dictionary; give dictionary= too.")

    # ---- fit -----------------------------------------------------------------------------------------------------

    @rollback_on_error
    def fit(
        self,
        features: Any,
        transcripts: Any,
        *,
        lengths: ArrayLike | None = None,
        groups: Any = None,
        time: Any = None,
        names: Sequence[str] | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Fit to utterances.

        Parameters
        ----------
        features : list of tables, table, or sequence
            A list of arrays or frames has an utterance in each, a row for every frame. A table has several with
            `lengths` or `groups`. NaN, None and nulls are missing. Any other sequence, such as `hs.AudioFolder`, is
            read in every pass, one utterance at a time: it may be larger than memory.
        transcripts : list of str or of lists, or mapping
            The transcript of each utterance, in order: names in a list, or one text with blanks between them; or a
            mapping from the names of utterances to transcripts.
        lengths, groups, time : optional
            How to cut a table, as in `HMM`.
        names : list of str, optional
            Names of the utterances, for messages and `align`.
        sample_weight : (B,) array, optional
            Weight of each utterance.
        """
        self._check_options()
        self._check_step(features)
        prior = emission_builder.read_prior(self.prior)
        corpus = read_corpus(features, transcripts, lengths, groups, time, names, sample_weight)
        if is_lazy(features) and not all(map(_any_number, (self.emission, *(self.columns or {}).values()))):
            raise ParameterError("emission=, columns=: features of a lazy sequence must be gaussian.")
        self._marks = (groups if isinstance(groups, str) else None, time if isinstance(time, str) else None)
        self.events_: list[str] = []
        self._sharing: Sharing | None = None
        self._front_end: str | None = getattr(features, "front_end", None)
        self._lexicon = self._learn_lexicon(corpus)
        corpus, layouts = self._fitting(corpus)
        first = corpus.first
        self._template, self._schema = first.template(), self._learn_schema(first)
        check_seen(self._schema)
        self.n_features_in_ = len(first.names)
        summary = corpus.summary(self._schema)
        seed, n_emissions = seed_of(self.random_state), self._lexicon.n_emissions
        self._origin = Origin.now(None, seed)
        chunks = corpus.chunks(self._schema, layouts, n_emissions * self.n_mix)
        stages: list[Stage] = []
        with runner(self.n_jobs, len(chunks)) as run:
            plan = self._plan(seed, run)
            for n_mix in _sizes(self.n_mix):
                model = self._build(summary, prior, n_mix)
                if not stages:
                    params = self._start(model, corpus, layouts, chunks)
                else:
                    params = _split(stages[-1], model, n_mix, np.random.default_rng(child(seed, 0, n_mix)))
                    plan = replace(plan, anneal=())
                stages.append(Stage(n_mix, model, fit(model, Reduced(chunks), [params], plan)))
                if stages[-1].search.interrupted:
                    break
            self._summary, self._n_mix = summary, stages[-1].n_mix
            self._publish(stages, corpus)
            logliks = self._logliks(run, chunks)
            self._certainty = self._measured(getattr(features, "step", None), layouts, chunks)
        self._typical_words = self._measured_words(layouts, chunks)
        seen = corpus.weight > 0  # what was left out may be impossible
        self.loglik_ = float(corpus.weight[seen] @ logliks[seen])
        self._typical = Typical.of((logliks / corpus.lengths)[seen])
        self._note_misfits(corpus, layouts, logliks, chunks)
        convergence.warn_of_end(self, stages[-1].search.interrupted)
        return self

    def _learn_lexicon(self, corpus: Corpus) -> Lexicon:
        """Return the units of the transcripts; words without a pronunciation are named."""
        used = list(dict.fromkeys(word for words in corpus.transcripts for word in words))
        ways = read_pronunciations(self.dictionary)
        known = {word: ways[word] for word in used if word in ways}
        if self.dictionary is not None:
            unknown_words = [word for word in used if word not in ways and word != self.silence]
            if unknown_words and self.unknown is None:
                raise DataError(_unknown_words_message(unknown_words, corpus, "not in the dictionary", ADD))
            units = {unit for word in known.values() for way in word for unit in way}
            units |= {self.unknown} if unknown_words and self.unknown else set()
        else:
            units = set(used)
        _check_empty_transcripts(corpus, self.silence, "name a unit for silence=")
        units |= set() if self.silence is None else {self.silence}
        # words that later transcripts may use: all pronunciations of the dictionary whose units were trained
        heard = {word: tuple(way for way in listed if units.issuperset(way)) for word, listed in ways.items()}
        heard = {word: listed for word, listed in heard.items() if listed}
        return Lexicon(tuple(sorted(units)), int(self.states_per_unit), self.silence, heard, self.unknown)

    def _fitting(self, corpus: Corpus) -> tuple[Corpus, list[Layout]]:
        """Return the utterances that are long enough for their transcripts, with their graphs."""
        layouts = [self._lexicon.layout(words) for words in corpus.transcripts]
        short = too_short(corpus, layouts)
        if not short:
            return corpus, layouts
        message = short_utterances_message(corpus, layouts, short, self.states_per_unit)
        if self.too_short == "raise" or len(short) == len(layouts):
            raise DataError(f"{message} too_short='skip' leaves such utterances out.")
        self.events_.append(f"left out: {message}")
        kept = np.setdiff1d(np.arange(len(layouts)), short)
        return corpus.take(kept), [layouts[b] for b in kept]

    def _learn_schema(self, source: Source) -> Schema:
        return Schema.learn(source, named_kinds(self.columns, self.emission, source.names))

    def _build(self, summary: emission_builder.Summary, prior: Prior, n_mix: int) -> Model:
        """Return the model that the options describe."""
        size, rows = self._lexicon.n_emissions, self._lexicon.cardinalities
        sharing = self._sharing
        n_densities = size * n_mix if sharing is None else sharing.n_densities
        recipe = emission_builder.Recipe(self._schema, summary, n_densities, prior, self.variance_floor)
        emit: Leaf = recipe.model().leaves["emit"]
        if sharing is not None:
            assert isinstance(emit, Product)
            emit = Product(size, {name: sharing.leaf(leaf) for name, leaf in emit.leaves.items()})
        each = None if prior is None else 1 / (size * n_mix) if prior == "row" else float(prior)
        if n_mix > 1:
            pseudo = None if each is None else np.full((size, n_mix), each)
            emit = Mixture(Independent(size), {"mix": Cells(size, [n_mix], pseudo), "emit": emit})
        pseudo = None if each is None else np.full((1, sum(rows)), 1 / sum(rows) if prior == "row" else each)
        return Model(LeftRight(), {"moves": Cells(1, rows, pseudo), "emit": emit})

    def _plan(self, seed: np.random.SeedSequence, run: Any) -> Plan:
        """Return how to search; a fit from nothing is annealed, with the same jitter whatever the seed."""
        if not isinstance(self.anneal, str):
            return options.plan(self, seed, run)
        given = set(self.start or {}) - {self.silence}
        fresh = self.init == "flat" and self.assign == "soft" and not given and self.max_iter >= LEAST_PASSES
        plan = options.plan(self, seed, run, anneal=WARM if fresh else ())
        return replace(plan, seed=np.random.SeedSequence(0)) if fresh else plan

    # ---- starts --------------------------------------------------------------------------------------------------

    def _start(self, model: Model, corpus: Corpus, layouts: Sequence[Layout], chunks: Sequence[Any]) -> Params:
        """Return the parameters to start from: states last as long as the mean over all utterances requires."""
        least = sum(layout.graph.n_least for layout in layouts)
        leave = min(0.9, least / float(corpus.lengths.sum()))
        moves = np.array(model.leaves["moves"].blank())
        n_stays = 2 * self._lexicon.n_emissions
        moves[0, :n_stays] = np.tile([1 - leave, leave], n_stays // 2)
        params = {"moves": frozen(moves), "emit": model.leaves["emit"].blank()}
        if self.init == "equal" or self.assign == "hard":
            params["emit"] = self._equal(model.leaves["emit"], params["emit"], corpus, chunks)
        if self.start:
            params["emit"] = self._from_examples(model.leaves["emit"], params["emit"])
        return params

    def _from_examples(self, leaf: Leaf, params: Params) -> Params:
        """Return emissions in which units with examples in `start` start from them."""
        stats, prepared, seen = (
            np.zeros(leaf.stats_shape),
            leaf.prepare(params),
            np.zeros(leaf.n_components, dtype=bool),
        )
        for unit, frames in options.mapping("start", self.start).items():
            if unit not in self._lexicon.number:
                raise ParameterError(f"start: there is no unit {unit!r}. Units: {', '.join(self._lexicon.units[:20])}.")
            if not len(frames):
                raise ParameterError(f"start: there are no frames of {unit!r}.")
            table = self._schema.encode(read(frames))
            for s in range(self._lexicon.n_states):
                component = self._lexicon.number[unit] * self._lexicon.n_states + s
                leaf.count(np.full(table.n_rows, component), np.ones(table.n_rows), prepared, table.blocks, stats)
                seen[component] = True
        pseudo = leaf.prior(params)
        estimated = leaf.maximise(stats if pseudo is None else stats + pseudo, params)

        def choose(first: Floats, second: Floats) -> Floats:
            return frozen(np.where(seen.reshape(-1, *[1] * (first.ndim - 1)), first, second))

        return map_arrays(choose, estimated, params)

    def _equal(self, leaf: Leaf, about: Params, corpus: Corpus, chunks: Sequence[Any]) -> Params:
        """Return emissions of states that get equal pieces of every utterance, with a pause at both ends."""
        stats, prepared = np.zeros(leaf.stats_shape), leaf.prepare(about)
        for chunk in chunks:
            owner = [
                self._cut(corpus.transcripts[chunk.first + i], length)
                for i, length in enumerate(chunk.blocks.lengths.tolist())
            ]
            weight = np.repeat(chunk.weight, chunk.blocks.lengths)
            leaf.count(np.concatenate(owner), weight, prepared, chunk.blocks, stats)
        pseudo = leaf.prior(about)
        return leaf.maximise(stats if pseudo is None else stats + pseudo, about)

    def _cut(self, words: Sequence[str], length: int) -> Any:
        """Return the emission at each frame when all states of the first pronunciations last equally long."""
        lexicon = self._lexicon
        pause = [] if lexicon.silence is None else [lexicon.silence]
        units = [*pause, *(unit for word in words for unit in lexicon.ways(word)[0]), *pause]
        states = np.array([lexicon.number[u] * lexicon.n_states + s for u in units for s in range(lexicon.n_states)])
        return states[np.arange(length) * len(states) // length]

    # ---- results -------------------------------------------------------------------------------------------------

    def _publish(self, stages: Sequence[Stage], corpus: Corpus) -> None:
        last = stages[-1]
        self._model, self._params = last.model, last.search.best.accepted.params
        self.units_ = self._lexicon.units
        convergence.record(self, last.search)
        self.stages_ = [
            {"n_mix": stage.n_mix, "n_iter": stage.search.best.n_passes, "objective": stage.search.best.objective}
            for stage in stages
        ]
        usage = last.model.view(last.search.best.accepted.expected.stats)["moves"][0]
        n_emissions = self._lexicon.n_emissions
        self._frames = usage[: 2 * n_emissions].reshape(n_emissions, 2).sum(axis=1)
        empty = self._by_unit(self._frames).sum(axis=1) < NO_MASS
        if empty.any():
            named = ", ".join(unit for unit, none in zip(self.units_, empty, strict=True) if none)
            self.events_.append(f"no frames for: {named}. These units kept their start parameters")
        collapsed = sorted({k // (self.states_per_unit * self._n_mix) for k in last.model.collapsed(self._params)})
        if collapsed:
            named = ", ".join(self.units_[k] for k in collapsed[:10]) + (" ..." if len(collapsed) > 10 else "")
            fewer = (
                f", or fewer states (states_per_unit={self.states_per_unit - 1})" if self.states_per_unit > 1 else ""
            )
            self.events_.append(
                f"too little data for: {named}. A state of each has so few frames that a variance is at its floor, and "
                f"times there are less certain. What helps: more recordings in which they occur{fewer}, pseudo-counts "
                "(prior=1), or a model that is trained already."
            )
        log.info("fitted %d units to %d utterances: %s", len(self.units_), len(corpus.transcripts), self.stop_reason_)

    def _measured(self, spoken: float | None, layouts: Sequence[Layout], chunks: Sequence[Any]) -> Certainty:
        """Return how sharp the posterior may be; `spoken`: seconds from one frame of speech to the next."""
        heard = 0.0 if spoken is None else Certainty.heard(float(spoken))
        jitter = heard if self.boundary_sd == "auto" else float(self.boundary_sd) / float(self.step)
        if self.acoustic_scale != "auto":
            return Certainty(float(self.acoustic_scale), jitter)
        moments = self._moments()
        scale = 1.0 if moments is None else acoustic_scale(self._residuals(*moments, layouts, chunks))
        return Certainty(scale, jitter)

    def _moments(self) -> tuple[Floats, Floats] | None:
        """Return means and variances of the numeric features in each state, (E, D); None if there are none."""
        emit = self._params["emit"] if self._n_mix == 1 else self._params["emit"]["emit"]
        if "gaussian" not in emit:
            return None
        shape = (self._lexicon.n_emissions, self._n_mix, -1)
        means, variances = emit["gaussian"].mean.reshape(shape), emit["gaussian"].var.reshape(shape)
        mix = np.ones(shape[:2]) if self._n_mix == 1 else np.asarray(self._params["emit"]["mix"])
        mean = np.einsum("em,emd->ed", mix, means)
        return mean, np.einsum("em,emd->ed", mix, variances + (means - mean[:, None]) ** 2)

    def _residuals(
        self, mean: Floats, var: Floats, layouts: Sequence[Layout], chunks: Sequence[Any]
    ) -> Iterator[Residuals]:
        """Yield residuals along the best paths of the first utterances, up to `FRAMES` frames."""
        prepared, seen = self._model.prepare(self._params), 0
        unit = np.arange(self._lexicon.n_emissions) // self._lexicon.n_states
        pause = unit == self._lexicon.number.get(self.silence or "", -1)
        for chunk in chunks:
            scores, last = self._scores(prepared, chunk), np.cumsum(chunk.blocks.lengths)
            for i, end in enumerate(last.tolist()):
                first, graph = end - int(chunk.blocks.lengths[i]), layouts[chunk.first + i].graph
                way = best(graph, prepared["moves"][0], np.ascontiguousarray(scores[first:end]))
                if way.log_joint > -np.inf:
                    frames = np.asarray(chunk.blocks["gaussian"], dtype=np.float64)[first:end]
                    yield Residuals.along(frames, graph.owner[way.nodes], mean, var, pause)
                seen += end - first
                if seen >= FRAMES:
                    return

    def _measured_words(self, layouts: Sequence[Layout], chunks: Sequence[Any]) -> Typical:
        """Return the typical fit of the words of the training data."""
        prepared = self._model.prepare(self._params)
        pairs = ((layouts[b], scored) for chunk in chunks for b, scored in self._utterances(prepared, chunk))
        return typical_words(prepared["moves"][0], Background(self._frames), pairs)

    @property
    def acoustic_scale_(self) -> float:
        """Factor of the scores in the posterior of `align`."""
        check_is_fitted(self)
        return self._certainty.scale

    def _by_unit(self, by_state: Floats) -> Floats:
        return by_state.reshape(len(self._lexicon.units), self._lexicon.n_states)

    def _note_misfits(self, corpus: Corpus, layouts: Sequence[Layout], logliks: Floats, chunks: Sequence[Any]) -> None:
        """Note the utterances whose log-likelihood per frame is far below that of the others, and where."""
        if len(logliks) < MANY:
            return
        surprise = np.array([self._typical.surprise(value) for value in logliks / corpus.lengths])
        for b in np.argsort(-surprise)[: np.count_nonzero(surprise > MISFIT)].tolist():
            found = self._aligned(corpus.take(np.array([b])), [layouts[b]])[0]
            worst = min(found.words, key=lambda part: part.log_probability / (part.end - part.start), default=None)
            at = "" if worst is None else f", worst at {worst.name!r}, {worst.start:.6g} to {worst.end:.6g}"
            self.events_.append(
                f"{corpus.names[b]} fits badly: log-likelihood {logliks[b] / corpus.lengths[b]:.4g} per frame, "
                f"{self._typical.centre:.4g} in most{at}. Check its transcript."
            )

    # ---- use -----------------------------------------------------------------------------------------------------

    def align(
        self,
        features: Any,
        transcripts: Any,
        *,
        lengths: ArrayLike | None = None,
        groups: Any = None,
        time: Any = None,
        names: Sequence[str] | None = None,
        adapt: Any = "auto",
        speakers: Any = None,
        left_out: float | None = None,
        inserted: float | None = None,
    ) -> list[Any]:
        """Return the times of all words: an `Alignment` for each utterance, with `words`, `units` and `states`.

        Start and end are those of the best segmentation. Confidence is the mean probability, over the frames of a
        segment, that they belong to it; `start_sd` and `end_sd` are the posterior standard deviations of its ends.

        Parameters
        ----------
        features, transcripts, lengths, groups, time, names :
            As in `fit`. With too_short="skip" an utterance that is too short has None in the list.
        adapt : {"auto", "none", "mean", "diagonal", "full"} or mapping, default "auto"
            Transform of the features of each speaker, estimated from these utterances: see `adapt`, which also returns
            such a mapping. "auto" transforms those of speakers whose utterances fit badly without: their median
            `surprise` is above 2. It is "none" if no speakers are known, and for models that do not know what fit is
            usual, such as those of `from_params`. The `adapted` of an alignment says what was done.
        speakers : list of str or str, optional
            Speaker of each utterance, or the one of all. By default, as the recordings of an `AudioFolder` know them.
        left_out : float, optional
            Probability that a word of the transcript was not spoken, such as 0.01; at most 20 in a row (10 in a
            transcript of 10,000 words). Those that were not are in `Alignment.left_out`. By default all are spoken.
        inserted : float, optional
            Probability that between two words, or at an end, something is said that is not in the transcript. It is in
            `Alignment.inserted`. By default there is nothing but pauses.
        """
        allowed = Departures.read(left_out, inserted)
        corpus, layouts, kept = self._opened(features, transcripts, lengths, groups, time, names, allowed=allowed)
        found: list[Alignment | None] = [None] * len(kept)
        if not kept.any():
            return found
        full = layouts if allowed is None else [self._lexicon.layout(words) for words in corpus.transcripts]
        known = known_speakers(speakers, features, kept)
        plain = self._aligned(corpus, layouts) if isinstance(adapt, str) and adapt == "auto" else None
        by = self._adapted(corpus, full, known, adapt, plain)
        for b, aligned in zip(np.flatnonzero(kept).tolist(), self._realigned(corpus, layouts, by, plain), strict=True):
            found[b] = aligned
        with_text = getattr(features, "with_text", None)  # recordings know the text of their words
        return found if with_text is None else with_text(found)

    def adapt(
        self,
        features: Any,
        transcripts: Any,
        *,
        lengths: ArrayLike | None = None,
        groups: Any = None,
        time: Any = None,
        names: Sequence[str] | None = None,
        speakers: Any = None,
        kind: str = "auto",
        prior: float = PRIOR,
        max_iter: int = MAX_ITER,
    ) -> dict[str, Adaptation]:
        """Return the transform of the features of each speaker under which these utterances are most probable.

        x' = A x + b, by EM: the times are hidden, the model stays as it is. `align` takes the result in adapt=, also
        for other utterances of the same speakers.

        Parameters
        ----------
        features, transcripts, lengths, groups, time, names :
            As in `fit`. Of each speaker, the first five minutes are used (at steps of 10 ms).
        speakers : list of str or str, optional
            Speaker of each utterance, or the one of all. By default, as the recordings of an `AudioFolder` know them;
            other utterances have a speaker each.
        kind : {"auto", "mean", "diagonal", "full"}, default "auto"
            "mean": b alone. "diagonal": also a factor for each column. "full": all of A (constrained MLLR). "auto":
            "full" unless values are missing or there are more than 64 columns.
        prior : float, default 100
            Frames that weigh in favour of no change: a short recording changes less.
        max_iter : int, default 10
            Passes over the utterances, at most.

        Returns
        -------
        dict
            By speaker an `Adaptation`: `kind`, `n_frames`, `trace` (the objective of each pass; the first is the
            log-likelihood without a transform) and `gain` (per frame). Called with features, it transforms them.

        Examples
        --------
        >>> import numpy as np
        >>> import halfseen as hs
        >>> runs = [np.array([20.1, 19.9, 20.0, 5.1, 4.9]), np.array([4.8, 5.2, 20.0, 19.9])]
        >>> aligner = hs.TranscriptAligner(1).fit(runs, ["heat cool", "cool heat"])
        >>> found = aligner.adapt([runs[0] + 3.0], ["heat cool"], speakers="oven 2", kind="mean", prior=0.0)
        >>> found["oven 2"].transforms[0].offset.round(1)
        array([-3.])
        """
        corpus, layouts, kept = self._opened(features, transcripts, lengths, groups, time, names)
        own = known_speakers(speakers, features, kept) or each_alone(kept)
        return self._transforms(corpus, layouts, own, kind, prior, max_iter)

    def adapt_model(
        self,
        features: Any,
        transcripts: Any,
        *,
        lengths: ArrayLike | None = None,
        groups: Any = None,
        time: Any = None,
        names: Sequence[str] | None = None,
        speakers: Any = None,
        adapt: Any = "auto",
        weight: float = WEIGHT,
        max_iter: int = MAX_ITER,
    ) -> Self:
        """Return a copy whose densities are estimated again from these utterances, by a few passes of EM.

        The model is the prior (maximum a posteriori): a state that the utterances have less often than `weight` stays
        near what it was. Durations and pronunciations stay as they are, and so does what `surprise` compares with.

        Parameters
        ----------
        features, transcripts, lengths, groups, time, names, speakers :
            As in `adapt`.
        adapt : {"auto", "none", "mean", "diagonal", "full"} or mapping, default "auto"
            Transform the features of each speaker first, as `align` does; `align` does so too with the copy.
        weight : float, default 20
            Frames that the densities of a state count for.
        max_iter : int, default 10
            Passes over the utterances, at most.

        Examples
        --------
        >>> import numpy as np
        >>> import halfseen as hs
        >>> oven = hs.TranscriptAligner.from_params(["heat", "cool"], [[[[20.0]]], [[[5.0]]]], [[[[1.0]]], [[[1.0]]]])
        >>> own = oven.adapt_model([[[23.3], [22.6], [23.1], [5.2]]], ["heat cool"], weight=1.0)
        >>> own.means_.ravel().round(2)
        array([22.25,  5.1 ])
        """
        options.whole("max_iter", max_iter)
        if not options.number("weight", weight) > 0:
            raise ParameterError(f"weight={weight!r} is not a number of frames above 0.")
        corpus, layouts, kept = self._opened(features, transcripts, lengths, groups, time, names)
        if not kept.any():
            raise DataError("features: no utterance is long enough for its transcript.")
        by = self._adapted(corpus, layouts, known_speakers(speakers, features, kept), adapt)
        chunks = corpus.chunks(self._schema, layouts, self._lexicon.n_emissions * self._n_mix)
        if by is not None:
            chunks = Later(chunks, partial(moved_as, by=by))
        with runner(self.n_jobs, len(chunks)) as run:
            size = int(corpus.lengths.sum())
            done = reestimate(self._model, self._params, chunks, size, float(weight), max_iter, run)
        found = copy.copy(self)
        found._params = done.params
        found.events_ = [*self.events_, adapted_message(len(layouts), size, done.trace)]
        return found

    def _transforms(
        self,
        corpus: Corpus,
        layouts: Sequence[Layout],
        speakers: Sequence[str],
        kind: str,
        prior: float = PRIOR,
        max_iter: int = MAX_ITER,
    ) -> dict[str, Adaptation]:
        check_options(kind, prior, max_iter)
        adapter = Adapter(self._model, self._params, self._lexicon, self._frames, prior, max_iter)

        def cut(some: Corpus, graphs: Sequence[Layout]) -> Sequence[Any]:
            return some.chunks(self._schema, graphs, self._lexicon.n_emissions * self._n_mix)

        return by_speaker(adapter, corpus, layouts, speakers, kind, cut, self.n_jobs)

    def _adapted(
        self,
        corpus: Corpus,
        layouts: Sequence[Layout],
        speakers: list[str] | None,
        adapt: Any,
        plain: Sequence[Alignment] | None = None,
    ) -> list[Adaptation | None] | None:
        """Return the transform of each utterance, as `align` is asked for; `plain`: alignments without; None: none."""
        if adapt is None or (isinstance(adapt, str) and adapt == "none") or (speakers is None and adapt == "auto"):
            return None
        if isinstance(adapt, Mapping):
            if speakers is None:
                raise ParameterError(
                    "adapt= has transforms by speaker, but it is not known who speaks: give speakers=."
                )
            return [adapt.get(speaker) for speaker in speakers]
        options.one_of("adapt", adapt, ("auto", "none", *KINDS))
        own = speakers or each_alone(np.ones(len(layouts), dtype=bool))
        rows = np.arange(len(own))
        if adapt == "auto":
            rows = of_strangers(own, self._aligned(corpus, layouts) if plain is None else plain)
        if not len(rows):
            return None
        some = [layouts[b] for b in rows.tolist()]
        by = self._transforms(corpus.take(rows), some, [own[b] for b in rows.tolist()], adapt)
        return [by.get(speaker) for speaker in own]

    def _realigned(
        self,
        corpus: Corpus,
        layouts: Sequence[Layout],
        by: Sequence[Adaptation | None] | None,
        plain: list[Alignment] | None,
    ) -> list[Alignment]:
        """Return the alignments under transforms; those that have none are as in `plain`, if it is given."""
        if plain is None or by is None:
            return self._aligned(corpus, layouts, by) if plain is None else plain
        rows = [b for b, own in enumerate(by) if own is not None]
        again = self._aligned(corpus.take(np.array(rows)), [layouts[b] for b in rows], [by[b] for b in rows])
        found = dict(zip(rows, again, strict=True))
        return [found.get(b, one) for b, one in enumerate(plain)]

    def _aligned(
        self, corpus: Corpus, layouts: Sequence[Layout], by: Sequence[Adaptation | None] | None = None
    ) -> list[Alignment]:
        moves = self._model.prepare(self._params)["moves"][0]
        typical = Typicals(self._typical, self._typical_words)
        aligner = Aligner(self._lexicon, moves, float(self.step), typical, self._certainty, self._frames)

        def align(prepared: Any, chunk: SequenceChunk) -> list[Alignment]:
            found = []
            if by is not None:
                chunk = moved_as(chunk, by)
            for b, scored in self._utterances(prepared, chunk):
                one = aligner(corpus.names[b], layouts[b], scored)
                if one is None:
                    raise DataError(
                        f"{corpus.names[b]} has probability zero under the model in every segmentation. "
                        "Fit with prior= to avoid probabilities of zero."
                    )
                found.append(one if by is None else replace(one, adapted=by[b]))
            return found

        chunks = corpus.chunks(self._schema, layouts, self._lexicon.n_emissions * self._n_mix)
        with runner(self.n_jobs, len(chunks)) as run:
            return [one for part in self._over(run, chunks, align) for one in part]

    def _utterances(self, prepared: Any, chunk: SequenceChunk) -> Iterator[tuple[int, Scored]]:
        """Return the number and the scores of each utterance of a chunk."""
        emit = self._model.leaves["emit"]
        return enumerate(scored_by(lambda blocks: emit.score(prepared["emit"], blocks, SOFT), chunk), chunk.first)

    def _scores(self, prepared: Any, chunk: SequenceChunk) -> Floats:
        return self._model.leaves["emit"].score(prepared["emit"], chunk.blocks, SOFT)

    def score_samples(
        self,
        features: Any,
        transcripts: Any,
        *,
        lengths: ArrayLike | None = None,
        groups: Any = None,
        time: Any = None,
        names: Sequence[str] | None = None,
    ) -> Floats:
        """Return the log-likelihood of each utterance, over all segmentations of its transcript, (B,).

        To recognise what was said among a few candidates, score each of them as the transcript. An utterance with too
        few frames for its transcript has -inf.
        """
        corpus, layouts, kept = self._opened(features, transcripts, lengths, groups, time, names, short="skip")
        found = np.full(len(kept), -np.inf)
        if kept.any():
            chunks = corpus.chunks(self._schema, layouts, self._lexicon.n_emissions * self._n_mix)
            with runner(self.n_jobs, len(chunks)) as run:
                found[kept] = self._logliks(run, chunks)
        return found

    def score(self, features: Any, transcripts: Any, **how: Any) -> float:
        """Return the total log-likelihood."""
        return float(self.score_samples(features, transcripts, **how).sum())

    def _logliks(self, run: Any, chunks: Sequence[Any]) -> Floats:
        def evidence(prepared: Any, chunk: SequenceChunk) -> Floats:
            outer = np.ones((len(chunk.weight), 1))
            return self._model.infer(prepared, chunk.blocks, outer, SOFT).log_evidence[:, 0]

        return np.concatenate(self._over(run, chunks, evidence))

    def _over(self, run: Any, chunks: Sequence[Any], task: Callable[[Any, SequenceChunk], Any]) -> list[Any]:
        prepared = self._model.prepare(self._params)
        return list(run(lambda chunk: task(prepared, chunk), chunks))

    def _opened(
        self,
        features: Any,
        transcripts: Any,
        lengths: Any,
        groups: Any,
        time: Any,
        names: Any,
        short: str | None = None,
        allowed: Departures | None = None,
    ) -> tuple[Corpus, list[Layout], Any]:
        """Read utterances for a fitted model; return those that are long enough, and which they are."""
        check_is_fitted(self)
        if lengths is None and groups is None and time is None:
            columns = [str(name) for name in getattr(features, "columns", ())]
            groups, time = (mark if mark in columns else None for mark in self._marks)
        self._check_front_end(features)
        corpus = read_corpus(features, transcripts, lengths, groups, time, names)
        unknown_words = self._lexicon.unknown_words(
            dict.fromkeys(word for words in corpus.transcripts for word in words)
        )
        if unknown_words:
            raise DataError(_unknown_words_message(unknown_words, corpus, "not seen in training", CORRECT))
        _check_empty_transcripts(corpus, self._lexicon.silence, "fit with silence=")
        layouts = [self._lexicon.layout(words, allowed) for words in corpus.transcripts]
        low = too_short(corpus, layouts)
        if low and (short or self.too_short) == "raise":
            raise DataError(short_utterances_message(corpus, layouts, low, self.states_per_unit))
        kept = ~np.isin(np.arange(len(layouts)), low)
        if not low or not kept.any():
            return corpus, layouts, kept
        return corpus.take(np.flatnonzero(kept)), [layouts[b] for b in np.flatnonzero(kept)], kept

    def _check_front_end(self, features: Any) -> None:
        """Refuse recordings whose features are not those that the model was made for."""
        given = getattr(features, "front_end", None)
        if given is not None and self._front_end is not None and given != self._front_end:
            raise ParameterError(
                f"the recordings are read with features={given!r}, but this model is of features={self._front_end!r}. "
                f"Use AudioFolder(..., features={self._front_end!r})."
            )
        self._check_step(features)

    def _check_step(self, features: Any) -> None:
        """Refuse recordings with other frames than times are counted in; 1 is the number of the frame."""
        step = getattr(features, "step", None)
        if step is not None and float(self.step) not in (1.0, float(step)):
            raise ParameterError(
                f"the recordings are read with a frame every {step:g} s, but this model is of step={self.step:g}. "
                f"Use TranscriptAligner(step=corpus.step), or for a model that is fitted AudioFolder(..., "
                f"step={self.step:g})."
            )

    @property
    def front_end_(self) -> str | None:
        """Front end of the features, as `AudioFolder` takes it in features=; None if it is not known."""
        check_is_fitted(self)
        return self._front_end

    # ---- without a fit -------------------------------------------------------------------------------------------

    @classmethod
    def from_params(
        cls,
        units: Sequence[str],
        means: ArrayLike,
        covars: ArrayLike,
        weights: ArrayLike | None = None,
        leave: ArrayLike | None = None,
        *,
        codebooks: ArrayLike | None = None,
        streams: Sequence[int] | None = None,
        **how: Any,
    ) -> Self:
        """Build an aligner without data, for numeric features.

        Parameters
        ----------
        units : list of U names
        means, covars : (U, S, M, D) arrays       of the M components of each of the S states of a unit
        weights : (U, S, M) array, optional       shares of the components; alike by default
        leave : (U, S) array, optional            probability of leaving each state at a frame; 0.3 by default
        codebooks : (U, S) ints, optional
            Codebook of each state: states may share their densities. Then means and covars are those of M densities
            in C codebooks, (C, M, D), and weights are (U, S, F, M).
        streams : list of F ints, optional
            With codebooks: number of columns of each stream; streams are mixtures of their own. One by default.
        **how                                     options, such as dictionary=, silence= and step=

        Examples
        --------
        >>> import halfseen as hs
        >>> oven = hs.TranscriptAligner.from_params(["heat", "cool"], [[[[20.0]]], [[[5.0]]]], [[[[1.0]]], [[[1.0]]]])
        >>> [found] = oven.align([[[20.3], [19.6], [5.2]]], ["heat cool"])
        >>> [(part.name, part.start) for part in found.words]
        [('heat', 0.0), ('cool', 2.0)]
        """
        return built(cls, units, Given(means, covars, weights, codebooks, streams), leave, how)

    def with_dictionary(self, dictionary: Mapping[str, Any], *, unknown: str | None = None) -> Self:
        """Return a copy for the words of another dictionary, made of the units of this model.

        Pronunciations with other units are left out, and words that have no other. Words with several
        pronunciations keep their shares if these are the same as before; the others are equally probable.
        """
        check_is_fitted(self)
        return with_dictionary(self, dictionary, unknown)

    # ---- parameters ----------------------------------------------------------------------------------------------

    @property
    def dwell_(self) -> dict[str, float]:
        """Expected duration of each unit: the sum over its states of step / p(leave)."""
        check_is_fitted(self)
        leave = self._params["moves"][0, 1 : 2 * self._lexicon.n_emissions : 2]
        with np.errstate(divide="ignore"):
            frames = self._by_unit(1 / leave).sum(axis=1)
        return dict(zip(self._lexicon.units, (frames * self.step).tolist(), strict=True))

    @property
    def pronunciations_(self) -> dict[str, dict[str, float]]:
        """Share of each pronunciation, for words that have several."""
        check_is_fitted(self)
        moves, found = self._params["moves"][0], {}
        for word, first in self._lexicon.first_way.items():
            ways = self._lexicon.pronunciations[word]
            found[word] = {" ".join(way): float(moves[first + i]) for i, way in enumerate(ways)}
        return found

    @property
    def means_(self) -> Floats:
        """Means of numeric features by state and component, (U, S, M, D)."""
        return self._numbers().mean.reshape(len(self.units_), self._lexicon.n_states, self._n_mix, -1)

    @property
    def covars_(self) -> Floats:
        """Variances of numeric features by state and component, (U, S, M, D)."""
        return self._numbers().var.reshape(len(self.units_), self._lexicon.n_states, self._n_mix, -1)

    def _numbers(self) -> Any:
        check_is_fitted(self)
        if self._sharing is not None:
            raise AttributeError("states of this model share their densities: there are no means of each.")
        emit = self._params["emit"] if self._n_mix == 1 else self._params["emit"]["emit"]
        if "gaussian" not in emit:
            raise AttributeError("this model has no numeric features.")
        return emit["gaussian"]

    def to_frame(self, alignments: Sequence[Any] | None = None, level: str = "words") -> Any:
        """Return a table of the units, or of alignments.

        `level` is "words", "units", "states", "left_out" or "inserted".
        """
        check_is_fitted(self)
        if alignments is not None:
            options.one_of("level", level, TIERS)
            return table_of([found for found in alignments if found is not None], level, self._template)
        frames = self._by_unit(self._frames).sum(axis=1)
        table = {
            "unit": list(self.units_),
            "share": (frames / frames.sum()).tolist(),
            "duration": list(self.dwell_.values()),
        }
        return frame_from_dict(table, self._template)

    def describe(self) -> str:
        """Return the units in words: their share of the frames and how long they last.

        Examples
        --------
        >>> import numpy as np
        >>> import halfseen as hs
        >>> runs = [np.array([20.1, 19.9, 20.0, 5.1, 4.9]), np.array([4.8, 5.2, 20.0, 19.9])]
        >>> print(hs.TranscriptAligner(1).fit(runs, ["heat cool", "cool heat"]).describe())
        cool: 44% of frames, lasts 2
        heat: 56% of frames, lasts 2.5
        """
        check_is_fitted(self)
        frames = self._by_unit(self._frames).sum(axis=1)
        shares = frames / frames.sum() if hasattr(self, "loglik_") else [None] * len(frames)  # None: never fitted
        lines = [
            f"{unit}: {'' if share is None else f'{share:.0%} of frames, '}lasts {lasts:.3g}"
            for (unit, lasts), share in zip(self.dwell_.items(), shares, strict=True)
        ]
        for word, ways in self.pronunciations_.items():
            lines.append(f"{word}: " + ", ".join(f"{way} {share:.0%}" for way, share in ways.items()))
        return convergence.described(self, "\n".join(lines))


def _any_number(emission: str) -> bool:
    """Whether columns of a kind may hold any number, so that utterances can be summarised one by one."""
    return emission != "auto" and kinds[emission].any_number


def _sizes(n_mix: int) -> list[int]:
    """Return the numbers of components on the way to `n_mix`: each at most twice the one before."""
    sizes = [1]
    while sizes[-1] < n_mix:
        sizes.append(min(2 * sizes[-1], n_mix))
    return sizes


def _split(stage: Stage, model: Model, n_mix: int, rng: np.random.Generator) -> Params:
    """Return parameters with more components: the heaviest of every state are split in two."""
    params, before = stage.search.best.accepted.params, stage.n_mix
    inside = model.leaves["emit"]
    assert isinstance(inside, Mixture)
    n_states = inside.n_components
    mix = np.ones((n_states, 1)) if before == 1 else params["emit"]["mix"]
    flat = params["emit"] if before == 1 else params["emit"]["emit"]
    heavy = np.argsort(-mix, axis=1, kind="stable")[:, : n_mix - before]
    shares = np.array(mix)
    np.put_along_axis(shares, heavy, np.take_along_axis(mix, heavy, 1) / 2, axis=1)
    shares = np.concatenate([shares, np.take_along_axis(mix, heavy, 1) / 2], axis=1)
    order = np.concatenate([np.tile(np.arange(before), (n_states, 1)), heavy], axis=1)
    places = (np.arange(n_states)[:, None] * before + order).ravel()
    leaf = inside.leaves["emit"]
    emit = leaf.jitter(leaf.take(flat, places), SPLIT, rng)
    emit = {"mix": frozen(shares), "emit": leaf.conform(emit, emit)}
    return {"moves": params["moves"], "emit": emit}


def _check_empty_transcripts(corpus: Corpus, silence: str | None, remedy: str) -> None:
    """Refuse empty transcripts unless there is a unit for silence."""
    empty = [name for name, words in zip(corpus.names, corpus.transcripts, strict=True) if not words]
    if empty and silence is None:
        raise DataError(f"{empty[0]} has an empty transcript ({len(empty)} in all). Leave it out, or {remedy}.")


def _unknown_words_message(unknown_words: Sequence[str], corpus: Corpus, what: str, remedy: str) -> str:
    """Return the message about unknown words: which, and where."""
    where = [
        next(corpus.names[b] for b, words in enumerate(corpus.transcripts) if word in words)
        for word in unknown_words[:10]
    ]
    listed = [f"{word!r} ({place})" for word, place in zip(unknown_words, where, strict=False)]
    more = f" and {len(unknown_words) - 10} more" if len(unknown_words) > 10 else ""
    n_words = "1 word is" if len(unknown_words) == 1 else f"{len(unknown_words)} words are"
    return f"{n_words} {what}: {', '.join(listed)}{more}. {remedy}"
