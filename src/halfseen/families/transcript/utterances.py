"""Reading features and transcripts in any of their forms, as chunks for the engine.

Features in memory are encoded once. A lazy sequence, which computes its items when they are accessed (features
of a folder of audio files, arrays on disk), is read in every pass, one utterance at a time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halfseen.data import Schema, SequenceChunk, Sequences, Source, Table, check_sequence_weight, read, read_sequences
from halfseen.engine.tables.preprocess import Later
from halfseen.errors import DataError, ParameterError
from halfseen.estimators.table import emission_builder
from halfseen.families.transcript.chunks import TranscriptSteps, Utterances
from halfseen.families.transcript.lexicon import Layout, read_transcripts
from halfseen.leaves.leaf import Floats

CELLS = 1 << 22  # scores of a chunk, 32 MB: an utterance or a few


@dataclass(frozen=True, eq=False)
class Corpus:
    """Utterances with their transcripts, not yet encoded.

    Attributes
    ----------
    transcripts : list of tuples of words
    lengths : (B,) ints          frames of each
    names : tuple of str         name of each in messages
    weight : (B,) array
    source : Source or None      all frames, in memory
    lazy : sequence or None      or a sequence that computes them
    """

    transcripts: list[tuple[str, ...]]
    lengths: NDArray[np.int64]
    names: tuple[str, ...]
    weight: Floats
    source: Source | None
    lazy: Sequence[Any] | None

    @property
    def first(self) -> Source:
        """Frames from which the columns are inferred; for a lazy sequence the smallest and largest numbers suffice."""
        if self.source is not None:
            return self.source
        ends = self._item(0)
        for b in range(len(self.transcripts)):  # the first may be silence, or a single frame
            ends = np.concatenate([ends, self._item(b)])
            ends = np.stack([np.fmin.reduce(ends), np.fmax.reduce(ends)])
            if (ends[0] < ends[1]).all():
                break
        return read(ends)

    def _item(self, b: int) -> Any:
        assert self.lazy is not None
        frames = np.asarray(self.lazy[b], dtype=np.float64)
        return frames.reshape(-1, 1) if frames.ndim == 1 else frames

    def encoded(self, schema: Schema, b: int) -> Table:
        """Return one utterance of a lazy sequence."""
        frames = self._item(b)
        if len(frames) != self.lengths[b]:
            raise DataError(
                f"{self.names[b]} had {self.lengths[b]} frames in the first pass and now has {len(frames)}."
            )
        return schema.encode(read(frames))

    def summary(self, schema: Schema) -> emission_builder.Summary:
        """Return moments and frequencies over all frames; a column that does not vary gets the unit scale."""
        if self.source is not None:
            found = emission_builder.summarise(schema.encode(self.source, np.repeat(self.weight, self.lengths)))
        else:
            found = _lazy_summary(self, schema)
        return emission_builder.filled(schema, found)

    def chunks(self, schema: Schema, layouts: Sequence[Layout], n_scores: int) -> Sequence[Any]:
        """Return chunks of whole utterances, each with about as many frames as their `n_scores` allow."""
        graphs = tuple(layout.graph for layout in layouts)
        if self.source is not None:
            steps = schema.encode(self.source)
            utterances = Utterances(Sequences.of(steps, self.lengths, self.weight), graphs)
            return utterances.chunks(max(1, CELLS // n_scores))

        def make(b: int) -> SequenceChunk:
            frames = TranscriptSteps(self.encoded(schema, b).blocks, self.lengths[b : b + 1], graphs[b : b + 1])
            return SequenceChunk(b, frames, self.weight[b : b + 1], None, b)

        return Later(range(len(self.transcripts)), make)

    def take(self, kept: NDArray[np.int64]) -> Corpus:
        """Return some of the utterances."""
        ends = np.cumsum(self.lengths)
        rows = [np.arange(ends[b] - self.lengths[b], ends[b]) for b in kept]
        source = None if self.source is None else self.source.take(np.concatenate([np.zeros(0, np.int64), *rows]))
        lazy = None if self.lazy is None else Later(kept.tolist(), self.lazy.__getitem__)
        return Corpus(
            [self.transcripts[b] for b in kept],
            self.lengths[kept],
            tuple(self.names[b] for b in kept),
            self.weight[kept],
            source,
            lazy,
        )


def _lazy_summary(corpus: Corpus, schema: Schema) -> emission_builder.Summary:
    """Return moments, accumulated one utterance at a time relative to the mean of the first."""
    total: dict[str, Any] = {}
    pivots = {block: np.nan_to_num(corpus.encoded(schema, 0).moments(block)[0]) for block in schema.blocks}
    for b, weight in enumerate(corpus.weight.tolist()):
        for block, cells in corpus.encoded(schema, b).blocks.items():
            off = cells - pivots[block]
            sums = weight * np.array([(off == off).sum(axis=0), np.nansum(off, axis=0), np.nansum(off**2, axis=0)])
            total[block] = total.get(block, 0.0) + sums
    summary: emission_builder.Summary = {}
    for block, (mass, first, second) in total.items():
        mean = first / np.maximum(mass, 1e-300)
        var = np.maximum(second / np.maximum(mass, 1e-300) - mean**2, 0.0)
        pieces = (corpus.encoded(schema, b).blocks[block] for b in range(len(corpus.transcripts)))
        scanned = schema.block(block).kind.scan_pieces(pieces)
        summary[block] = {"mean": pivots[block] + mean, "var": var, **scanned}
    return summary


def is_lazy(features: Any) -> bool:
    """Whether features are a lazy sequence: neither a table nor a list."""
    if isinstance(features, list | tuple | str | np.ndarray | Mapping) or hasattr(features, "columns"):
        return False
    return hasattr(features, "__len__") and hasattr(features, "__getitem__") and not hasattr(features, "shape")


def read_corpus(
    features: Any,
    transcripts: Any,
    lengths: Any = None,
    groups: Any = None,
    time: Any = None,
    names: Any = None,
    sample_weight: Any = None,
) -> Corpus:
    """Read features and transcripts; every utterance has both."""
    if isinstance(features, Mapping):
        raise DataError("features are a mapping; give a list of its values, and its keys as names=.")
    if is_lazy(features):
        if lengths is not None or groups is not None or time is not None:
            raise ParameterError("lengths=, groups= and time= cut a table; a sequence has an utterance in each item.")
        sizes = np.array([len(np.asarray(features[b])) for b in range(len(features))], dtype=np.int64)
        source, lazy, known = None, features, getattr(features, "names", None)
        if not len(sizes) or sizes.min() < 1:
            raise DataError("features: no utterance, or one without frames. Leave empty ones out.")
    elif isinstance(features, list | tuple) and not features:
        raise DataError("features: no utterance.")
    else:
        source, cut = read_sequences(features, lengths, groups, time)
        sizes, lazy, known = cut.lengths, None, cut.names
    known = known if names is None else names
    if isinstance(transcripts, Mapping):
        transcripts = _by_name(transcripts, known)
    read = read_transcripts(transcripts)
    if len(read) != len(sizes):
        raise DataError(
            f"features have {len(sizes)} utterances, but there are {len(read)} transcripts. Give one for each."
        )
    if known is not None and len(known) != len(sizes):
        raise DataError(f"names: {len(known)} names for {len(sizes)} utterances.")
    called = [f"utterance {b}" if known is None else f"utterance {b} ({known[b]})" for b in range(len(sizes))]
    return Corpus(read, sizes, tuple(called), check_sequence_weight(sample_weight, len(sizes)), source, lazy)


def _by_name(transcripts: Mapping[Any, Any], names: Any) -> list[Any]:
    """Return transcripts in the order of the utterances."""
    if names is None:
        raise DataError("transcripts are by name, but the utterances have none. Give names= or groups=, or a list.")
    lacking = [name for name in names if name not in transcripts]
    if lacking:
        raise DataError(
            f"transcripts: {len(lacking)} of {len(names)} utterances have no transcript: "
            f"{', '.join(map(repr, lacking[:5]))}{' ...' if len(lacking) > 5 else ''}. Transcripts given for: "
            f"{', '.join(map(repr, list(transcripts)[:5])) or 'none'}{' ...' if len(transcripts) > 5 else ''}."
        )
    return [transcripts[name] for name in names]


def too_short(corpus: Corpus, layouts: Sequence[Layout]) -> list[int]:
    """Return the utterances that have fewer frames than their transcripts have states."""
    return [b for b, layout in enumerate(layouts) if layout.graph.n_least > corpus.lengths[b]]


def short_utterances_message(corpus: Corpus, layouts: Sequence[Layout], short: Sequence[int], n_states: int) -> str:
    """Return the message about utterances that are too short for their transcripts."""
    listed = [
        f"{corpus.names[b]} has {corpus.lengths[b]} frames for {layouts[b].graph.n_least} states" for b in short[:5]
    ]
    more = f", and {len(short) - 5} more" if len(short) > 5 else ""
    fewer = " Use fewer states_per_unit, shorter frames," if n_states > 1 else " Use shorter frames,"
    return f"{'; '.join(listed)}{more}: each state takes at least one frame.{fewer} or check the transcript."


def check_empty_transcripts(corpus: Corpus, silence: str | None, remedy: str) -> None:
    """Refuse empty transcripts unless there is a unit for silence."""
    empty = [name for name, words in zip(corpus.names, corpus.transcripts, strict=True) if not words]
    if empty and silence is None:
        raise DataError(f"{empty[0]} has an empty transcript ({len(empty)} in all). Leave it out, or {remedy}.")


def unknown_words_message(unknown_words: Sequence[str], corpus: Corpus, what: str, remedy: str) -> str:
    """Return the message about unknown words: which, and where."""
    where = [
        next(corpus.names[b] for b, words in enumerate(corpus.transcripts) if word in words)
        for word in unknown_words[:10]
    ]
    listed = [f"{word!r} ({place})" for word, place in zip(unknown_words, where, strict=False)]
    more = f" and {len(unknown_words) - 10} more" if len(unknown_words) > 10 else ""
    n_words = "1 word is" if len(unknown_words) == 1 else f"{len(unknown_words)} words are"
    return f"{n_words} {what}: {', '.join(listed)}{more}. {remedy}"


def impossible_message(name: str) -> str:
    """Return the message about an utterance without a segmentation that the model could make."""
    return (
        f"{name} has probability zero under the model in every segmentation. Leave it out, or fit with prior= to avoid "
        "probabilities of zero."
    )
