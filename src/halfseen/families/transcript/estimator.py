"""Forced alignment: transcripts are aligned to signals, with models of their units learned by EM."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

from numpy.typing import ArrayLike

from halfseen.errors import ParameterError
from halfseen.estimators import convergence, options
from halfseen.estimators.rollback import rollback_on_error
from halfseen.estimators.state import Origin
from halfseen.estimators.table import emission_builder
from halfseen.estimators.table.column_events import check_seen
from halfseen.families.transcript.fit import AlignerFit, grown, sizes
from halfseen.families.transcript.surprise import Typical
from halfseen.families.transcript.utterances import is_lazy, read_corpus
from halfseen.registry import kinds
from halfseen.runners import runner
from halfseen.seeds import seed_of

SHORT = ("raise", "skip")


def _check_annealing(name: str, value: Any) -> None:
    """Refuse what is not "auto" or temperatures."""
    if not isinstance(value, str) or value != "auto":
        options.temperatures(name, value)


@options.with_hints
@dataclass(eq=False, repr=False)
class TranscriptAligner(AlignerFit):
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
        is in `confidence` and `start_sd` too. Where true boundaries are known, choose it so that nine in ten are within
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
        self.events_ = []
        self._sharing = None
        self._front_end = getattr(features, "front_end", None)
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
        with runner(self.n_jobs, len(chunks)) as run:
            plan = self._plan(seed, run)
            models = ((n_mix, self._build(summary, prior, n_mix)) for n_mix in sizes(self.n_mix))
            stages = grown(models, lambda model: self._start(model, corpus, layouts, chunks), chunks, plan, seed)
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


def _any_number(emission: str) -> bool:
    """Whether columns of a kind may hold any number, so that utterances can be summarised one by one."""
    return emission != "auto" and kinds[emission].any_number
