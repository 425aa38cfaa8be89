"""Adaptation to speakers: an affine transform of the features of each, by EM under a fixed model.

The E-step is that of a fit: the posterior of states, and of their components, at the frames of the transcripts. The
M-step estimates the transform (`leaves.transforms`). The objective is the log-likelihood of the recorded features,

    sum over utterances of log p(y) + sum_t log |det A| + log prior(A, b),      y[t] = centre + A (x[t] - centre) + b

and never falls. The prior is what `PRIOR` frames drawn from the model would add: it is largest where nothing changes,
so that a short recording changes little. Each speaker is estimated alone, without the others. Long recordings are
not summed over, but taken along their best path in a band (`bands`).

- *speaker*: whose recordings have a transform in common.
- *stream*: some consecutive columns with a transform of their own.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from halfseen.assign import SOFT
from halfseen.data import SequenceChunk
from halfseen.engine.loop.model import Model
from halfseen.engine.tables.mixture import Mixture
from halfseen.errors import DataError, ObjectiveFell, ParameterError
from halfseen.estimators import options
from halfseen.families.transcript.aligner import scored_by
from halfseen.families.transcript.alignment import Alignment
from halfseen.families.transcript.bands import BLOCK, LONG, best_inside, coarse
from halfseen.families.transcript.chunks import TranscriptSteps
from halfseen.families.transcript.lexicon import Layout, Lexicon
from halfseen.families.transcript.utterances import Corpus, impossible_message, too_short
from halfseen.leaves import Gaussian, Leaf, Product
from halfseen.leaves.codebooks import Codebooks
from halfseen.leaves.leaf import Floats
from halfseen.leaves.limits import Params
from halfseen.leaves.transforms import DIAGONAL, FULL, KINDS, Moments, Transform, gather, maximise, pseudo
from halfseen.leaves.wrappers import unwrapped
from halfseen.runners import runner
from halfseen.structures.transcript import best
from halfseen.sums import Parts, Runner

NUMBERS = "gaussian"  # the block of columns that are transformed
PRIOR = 100.0  # frames, a second of speech: with it a full transform of a third of a second does no harm
WIDE = 64  # columns of a stream above which a full transform would be slow
MAX_ITER = 10
ENOUGH = 0.05  # gain of a pass per frame below which it is the last
MOST = 30_000  # frames of a speaker that are enough, five minutes of speech
STRANGE = 2.0  # median surprise of the utterances of a speaker above which they are transformed without being asked
ROUNDING = 1e-10  # of the terms of an objective


@dataclass(frozen=True, eq=False)
class Adaptation:
    """The transform of a speaker.

    Attributes
    ----------
    kind : str                "mean", "diagonal" or "full"
    n_frames : int            from which it was estimated
    trace : tuple of float    log-likelihood of the recorded features and log-prior, of each pass; the first is without
                              a transform
    transforms : tuple        one for each stream of columns
    """

    kind: str
    n_frames: int
    trace: tuple[float, ...]
    transforms: tuple[Transform, ...]

    def __call__(self, features: Any) -> Floats:
        """Return transformed features, (T, D)."""
        x = np.asarray(features, dtype=np.float64)
        return transformed(x.reshape(-1, 1) if x.ndim == 1 else x, self.transforms)

    @property
    def gain(self) -> float:
        """What the transform adds to the log-likelihood, per frame."""
        return (self.trace[-1] - self.trace[0]) / self.n_frames


class Stream(NamedTuple):
    """Consecutive columns, and the densities that a frame may have there.

    Attributes
    ----------
    columns : slice
    centre : (d,) array
    weight : (K,) array        frames of the prior that are from each density
    mean, var : (K, d) arrays  means are about the centre
    """

    columns: slice
    centre: Floats
    weight: Floats
    mean: Floats
    var: Floats

    def pseudo(self, kind: str) -> Moments:
        """Return the moments of the prior."""
        return pseudo(kind, self.weight, self.mean, self.var)


class Adapter:
    """Estimates transforms for a model of transcripts.

    Parameters
    ----------
    model, params, lexicon
    share : (E,) array     frames of each state in training
    prior : float          frames that a transform which changes nothing has for it
    max_iter : int         passes over the utterances, at most
    """

    def __init__(
        self,
        model: Model,
        params: Params,
        lexicon: Lexicon,
        share: Floats,
        prior: float = PRIOR,
        max_iter: int = MAX_ITER,
    ) -> None:
        self.model, self.lexicon, self.max_iter = model, lexicon, max_iter
        self.prepared, total = model.prepare(params), float(share.sum())
        weight = prior * (share / total if total > 0 else np.full(len(share), 1 / len(share)))
        self.streams = list(_streams(model.leaves["emit"], params["emit"], weight))

    def estimate(
        self, corpus: Corpus, layouts: Sequence[Layout], kind: str, chunks: Sequence[Any], run: Runner
    ) -> Adaptation:
        """Return the transform of the speaker of all these utterances."""
        now = accepted = tuple(Transform.identity(kind, stream.centre) for stream in self.streams)
        extra = [stream.pseudo(kind) for stream in self.streams]
        trace: list[float] = []
        while True:
            task = _Task(self, corpus.names, layouts, now)
            found: _Pass = run.total(task.expected, chunks)
            terms = [found.loglik]
            for own, more, transform in zip(found.moments, extra, now, strict=True):
                none = Transform.identity(kind, transform.centre)
                terms += [transform.log_det(own.mass), more.value(transform), -more.value(none)]
            objective = sum(terms)
            if trace and objective < trace[-1] - ROUNDING * sum(map(abs, terms)):
                if found.n_banded:  # the best path in a band of another pass may be a worse one
                    break
                raise ObjectiveFell(len(trace) + 1, trace[-1], objective)
            accepted, gain = now, objective - trace[-1] if trace else np.inf
            trace.append(objective)
            if len(trace) >= self.max_iter or gain < ENOUGH * found.n_frames:
                break
            now = _improved(found, extra, now)
        return Adaptation(kind, found.n_frames, tuple(trace), accepted)


class _Pass(NamedTuple):
    """What a pass over some utterances gathers; it adds."""

    loglik: float
    n_frames: int
    n_banded: int
    moments: Parts

    def __add__(self, other: tuple[Any, ...]) -> _Pass:
        return _Pass(*(own + its for own, its in zip(self, other, strict=True)))


class _Task(NamedTuple):
    """The E-step of a chunk under transforms."""

    adapter: Adapter
    names: Sequence[str]
    layouts: Sequence[Layout]
    transforms: tuple[Transform, ...]

    def expected(self, chunk: SequenceChunk) -> _Pass:
        """Return the log-likelihood of transformed frames, and the moments of the frames as they are."""
        model, prepared = self.adapter.model, self.adapter.prepared
        x = np.asarray(chunk.blocks[NUMBERS], dtype=np.float64)
        there = moved(chunk, [self.transforms] * len(chunk.weight))
        own = self.layouts[chunk.first : chunk.first + len(chunk.weight)]
        if any(_is_long(layout, n) for layout, n in zip(own, there.blocks.lengths.tolist(), strict=True)):
            return self._along(there, x, own)
        found = model.infer(prepared, there.blocks, np.ones((len(own), 1)), SOFT)
        _check_possible(found.log_evidence[:, 0], self.names[chunk.first :])
        return _Pass(float(found.log_evidence.sum()), len(x), 0, self._moments(x, there.blocks, found.usage["emit"]))

    def _along(self, chunk: SequenceChunk, x: Floats, layouts: Sequence[Layout]) -> _Pass:
        """Return the same along the best path, in a band: of long recordings."""
        leaf, moves = self.adapter.model.leaves["emit"], self.adapter.prepared["moves"][0]
        parts, first = [], 0
        for b, (layout, scored) in enumerate(zip(layouts, scored_by(self._score, chunk), strict=True), chunk.first):
            if layout.words:
                way = best_inside(layout, moves, scored, coarse(self.adapter.lexicon, layout.words, moves, scored))[0]
            else:
                way = best(layout.graph, moves, scored)
            _check_possible(np.array([way.log_joint]), self.names[b:])
            states, log_joint = layout.graph.owner[way.nodes], way.log_joint
            for begin in range(0, scored.n_frames, BLOCK):
                at = states[begin : begin + BLOCK]
                rows = slice(first + begin, first + begin + len(at))
                usage = np.zeros((len(at), leaf.n_components))
                usage[np.arange(len(at)), at] = 1.0
                blocks = {name: cells[rows] for name, cells in chunk.blocks.items()}
                parts.append(_Pass(log_joint, len(at), 1, self._moments(x[rows], blocks, usage)))
                log_joint = 0.0
            first += scored.n_frames
        return functools.reduce(operator.add, parts)

    def _score(self, blocks: Mapping[str, Any]) -> Floats:
        return self.adapter.model.leaves["emit"].score(self.adapter.prepared["emit"], blocks, SOFT)

    def _moments(self, x: Floats, blocks: Mapping[str, Any], usage: Floats) -> Parts:
        """Return the moments of frames x, given those that the model saw in their place."""
        precision, pull = _pulls(self.adapter.model.leaves["emit"], self.adapter.prepared["emit"], blocks, usage)
        return Parts(
            gather(transform.kind, x[:, at] - transform.centre, precision[:, at], pull[:, at])
            for transform, at in zip(self.transforms, (stream.columns for stream in self.adapter.streams), strict=True)
        )


def moved(chunk: SequenceChunk, transforms: Sequence[Sequence[Transform] | None]) -> SequenceChunk:
    """Return a chunk with the features of each of its utterances transformed, where there is a transform."""
    blocks = chunk.blocks
    assert isinstance(blocks, TranscriptSteps)
    ends = np.cumsum(blocks.lengths)
    parts = []
    for end, length, own in zip(ends.tolist(), blocks.lengths.tolist(), transforms, strict=True):
        x = np.asarray(blocks[NUMBERS][end - length : end], dtype=np.float64)
        parts.append(x if own is None else transformed(x, own))
    there = TranscriptSteps({**blocks, NUMBERS: np.concatenate(parts)}, blocks.lengths, blocks.graphs)
    return replace(chunk, blocks=there)


def moved_as(chunk: SequenceChunk, by: Sequence[Adaptation | None]) -> SequenceChunk:
    """Return a chunk with features transformed, given the transform of each utterance of all chunks."""
    own = by[chunk.first : chunk.first + len(chunk.weight)]
    return moved(chunk, [None if one is None else one.transforms for one in own])


def transformed(x: Floats, transforms: Sequence[Transform]) -> Floats:
    """Return features, (T, D), transformed stream by stream."""
    parts, first = [], 0
    for transform in transforms:
        last = first + len(transform.offset)
        parts.append(transform(x[:, first:last]))
        first = last
    return np.concatenate(parts, axis=1)


def by_speaker(
    adapter: Adapter,
    corpus: Corpus,
    layouts: Sequence[Layout],
    speakers: Sequence[str],
    kind: str,
    cut: Callable[[Corpus, Sequence[Layout]], Sequence[Any]],
    n_jobs: int | None,
) -> dict[str, Adaptation]:
    """Return the transform of each speaker; `cut` makes chunks of utterances.

    Utterances that are too short for their whole transcripts are left out; a speaker with no others has no transform.
    """
    found = {}
    long_enough = np.setdiff1d(np.arange(len(layouts)), too_short(corpus, layouts))
    for speaker in dict.fromkeys(speakers[b] for b in long_enough):
        own = np.array([b for b in long_enough if speakers[b] == speaker])
        ends = np.cumsum(corpus.lengths[own])
        own = own[: 1 + int(np.searchsorted(ends, MOST))]
        said, graphs = corpus.take(own), [layouts[b] for b in own.tolist()]
        chunks = cut(said, graphs)
        with runner(n_jobs, len(chunks)) as run:
            found[speaker] = adapter.estimate(said, graphs, _chosen(kind, adapter.streams, chunks), chunks, run)
    return found


def known_speakers(speakers: Any, features: Any, kept: NDArray[np.bool_]) -> list[str] | None:
    """Return the speaker of each utterance that is kept: as given, or as recordings know it; None: it is not known."""
    if speakers is None:
        recordings = getattr(features, "recordings", None)
        if recordings is None:
            return None
        speakers = [recording.speaker for recording in recordings]
    listed = [speakers] * len(kept) if isinstance(speakers, str) else [str(speaker) for speaker in speakers]
    if len(listed) != len(kept):
        raise ParameterError(
            f"speakers: {len(listed)} for {len(kept)} utterances. Give one for each, or one name for all."
        )
    return [listed[b] for b in np.flatnonzero(kept)]


def of_strangers(speakers: Sequence[str], alignments: Sequence[Alignment]) -> NDArray[np.intp]:
    """Return the numbers of the utterances of speakers that the model fits badly, given alignments as they are.

    Where a model fits, a transform costs time and does no good: it makes posteriors too sure, and right and wrong
    transcripts more alike.
    """
    surprises: dict[str, list[float]] = {}
    for speaker, one in zip(speakers, alignments, strict=True):
        surprises.setdefault(speaker, []).append(one.surprise)
    strange = {speaker for speaker, values in surprises.items() if np.median(values) > STRANGE}
    return np.flatnonzero([speaker in strange for speaker in speakers])


def each_alone(kept: NDArray[np.bool_]) -> list[str]:
    """Return a speaker for each utterance that is kept."""
    return [f"utterance {b}" for b in np.flatnonzero(kept)]


def check_options(kind: Any, prior: Any, max_iter: Any) -> None:
    """Refuse options that mean nothing."""
    options.one_of("kind", kind, ("auto", *KINDS))
    options.whole("max_iter", max_iter)
    if not options.number("prior", prior) >= 0:
        raise ParameterError(f"prior={prior!r} is not a number of frames, 0 or more.")


def _chosen(kind: str, streams: Sequence[Stream], chunks: Sequence[Any]) -> str:
    """Return the kind of transform: full if it can be. The prior sees to it that little speech moves little."""
    if kind not in ("auto", FULL):
        return kind
    missing = any(np.isnan(chunk.blocks[NUMBERS]).any() for chunk in chunks)
    if missing and kind == FULL:
        raise DataError("features have missing values, which a full transform cannot have. Use 'diagonal'.")
    wide = max(len(stream.centre) for stream in streams) > WIDE
    return DIAGONAL if missing or (wide and kind != FULL) else FULL


def _improved(found: _Pass, extra: Sequence[Moments], now: Sequence[Transform]) -> tuple[Transform, ...]:
    try:
        return tuple(maximise(own + more, each) for own, more, each in zip(found.moments, extra, now, strict=True))
    except np.linalg.LinAlgError as error:
        raise DataError(
            f"{found.n_frames} frames do not determine a {now[0].kind} transform. Use kind='mean', or a prior above 0."
        ) from error


def _is_long(layout: Layout, n_frames: int) -> bool:
    return n_frames * layout.graph.n_nodes > LONG and bool(layout.words)


def _check_possible(log_evidence: Floats, names: Sequence[str]) -> None:
    for name, value in zip(names, log_evidence.tolist(), strict=False):
        if not value > -np.inf:
            raise DataError(impossible_message(name))


def _pulls(leaf: Leaf, prepared: Any, data: Any, usage: Floats) -> tuple[Floats, Floats]:
    """Return the precision of the densities of each frame and their means times it, (T, D), given usage of states."""
    if isinstance(leaf, Mixture):
        inner = leaf.infer(prepared, data, usage, SOFT).usage["emit"]
        return _pulls(leaf.leaves["emit"], prepared["emit"], data, inner)
    if isinstance(leaf, Product):
        return _pulls(leaf.leaves[NUMBERS], prepared[NUMBERS], data[NUMBERS], usage)
    inside = unwrapped(leaf)
    if isinstance(inside, Codebooks):
        return inside.pulls(usage, prepared, data)
    assert isinstance(inside, Gaussian)
    return usage @ (1 / prepared.var), usage @ ((prepared.mean - inside.centre) / prepared.var)


def _streams(leaf: Leaf, params: Params, weight: Floats) -> Iterator[Stream]:
    """Yield the streams of an emission whose states have these weights, (E,)."""
    if isinstance(leaf, Mixture):
        yield from _streams(leaf.leaves["emit"], params["emit"], (weight[:, None] * params["mix"]).ravel())
    elif isinstance(leaf, Product):
        if NUMBERS not in leaf.leaves:
            raise ParameterError("the model has no numeric features (gaussian): there is nothing to transform.")
        yield from _streams(leaf.leaves[NUMBERS], params[NUMBERS], weight)
    elif isinstance(inside := unwrapped(leaf), Codebooks):
        yield from _shared_streams(inside, params, weight)
    else:
        assert isinstance(inside, Gaussian)
        columns = slice(0, len(inside.centre))
        yield Stream(columns, inside.centre, weight, params.mean - inside.centre, params.var)


def _shared_streams(leaf: Codebooks, params: Params, weight: Floats) -> Iterator[Stream]:
    """Yield the streams of densities that states share."""
    centre, emit = leaf.centre, params["emit"]
    mix = params["mix"].reshape(leaf.n_components, len(leaf.streams), leaf.width)
    for f, columns in enumerate(leaf.cuts):
        shares = np.zeros((int(leaf.books.max()) + 1, leaf.width))
        np.add.at(shares, leaf.books, weight[:, None] * mix[:, f])
        mean, var = emit.mean[:, columns] - centre[columns], emit.var[:, columns]
        yield Stream(columns, centre[columns], shares.ravel(), mean, var)
