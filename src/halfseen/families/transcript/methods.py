"""What every fitted aligner can do: times of words, adaptation to speakers, scores, tables.

All of it comes from the model and the structure that training uses.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from halfseen.assign import SOFT
from halfseen.data import Schema, SequenceChunk, Source, frame_from_dict
from halfseen.engine.loop.model import Model
from halfseen.engine.tables.preprocess import Later
from halfseen.errors import DataError, ParameterError
from halfseen.estimators import convergence, options
from halfseen.estimators.base import Estimator
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
from halfseen.families.transcript.certainty import Certainty
from halfseen.families.transcript.departures import Departures
from halfseen.families.transcript.from_params import Given, built, with_dictionary
from halfseen.families.transcript.lexicon import Layout, Lexicon
from halfseen.families.transcript.reestimation import WEIGHT, adapted_message, reestimate
from halfseen.families.transcript.sharing import Sharing
from halfseen.families.transcript.surprise import Typical
from halfseen.families.transcript.utterances import (
    Corpus,
    check_empty_transcripts,
    impossible_message,
    read_corpus,
    short_utterances_message,
    too_short,
    unknown_words_message,
)
from halfseen.leaves.leaf import Floats
from halfseen.leaves.transforms import KINDS
from halfseen.runners import runner
from halfseen.structures.transcript_passes import Scored

CORRECT = "Correct the transcript, or fit with utterances that contain them."


class AlignerMethods(Estimator):
    """An aligner, once it has a model, parameters and a lexicon."""

    states_per_unit: int
    dictionary: Mapping[str, Any] | None
    unknown: str | None
    step: float
    too_short: str
    units_: tuple[str, ...]
    events_: list[str]
    _model: Model
    _lexicon: Lexicon
    _sharing: Sharing | None
    _n_mix: int  # components of a state; the option n_mix may be larger, if the fit was interrupted
    _schema: Schema
    _template: Source
    _marks: tuple[str | None, str | None]
    _front_end: str | None
    _frames: Floats
    _certainty: Certainty
    _typical: Typical
    _typical_words: Typical

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
        chunks = self._chunks(corpus, layouts)
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
        return by_speaker(adapter, corpus, layouts, speakers, kind, self._chunks, self.n_jobs)

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
                    raise DataError(impossible_message(corpus.names[b]))
                found.append(one if by is None else replace(one, adapted=by[b]))
            return found

        chunks = self._chunks(corpus, layouts)
        with runner(self.n_jobs, len(chunks)) as run:
            return [one for part in self._over(run, chunks, align) for one in part]

    def _utterances(self, prepared: Any, chunk: SequenceChunk) -> Iterator[tuple[int, Scored]]:
        """Return the number and the scores of each utterance of a chunk."""
        emit = self._model.leaves["emit"]
        return enumerate(scored_by(lambda blocks: emit.score(prepared["emit"], blocks, SOFT), chunk), chunk.first)

    def _chunks(self, corpus: Corpus, layouts: Sequence[Layout]) -> Sequence[Any]:
        return corpus.chunks(self._schema, layouts, self._lexicon.n_emissions * self._n_mix)

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
            chunks = self._chunks(corpus, layouts)
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
            raise DataError(unknown_words_message(unknown_words, corpus, "not seen in training", CORRECT))
        check_empty_transcripts(corpus, self._lexicon.silence, "fit with silence=")
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

    @property
    def acoustic_scale_(self) -> float:
        """Factor of the scores in the posterior of `align`."""
        check_is_fitted(self)
        return self._certainty.scale

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

    def _by_unit(self, by_state: Floats) -> Floats:
        return by_state.reshape(len(self._lexicon.units), self._lexicon.n_states)
