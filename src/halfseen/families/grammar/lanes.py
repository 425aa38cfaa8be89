"""Grammars over sentences that other processes hold: each lane has the distinct sentences of its partition.

Sentences are a column of a frame, by its name, or a series of Dask; weights, brackets and tags are other columns.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np

from halfseen.data.partition import Layout, check_span, read_weight
from halfseen.engine.loop.model import Reduced
from halfseen.engine.tables.lanes import Cluster, Lane, LaneChunks, Lanes, added, first_numbers
from halfseen.errors import DataError, ParameterError
from halfseen.families.grammar import reading
from halfseen.families.grammar.model import SentenceChunk, cut_sentences
from halfseen.families.grammar.reading import Corpus
from halfseen.families.grammar.sentences import Mask, Parsable, WeightedSentences, merged_sentences, numbers_of
from halfseen.leaves.leaf import Floats
from halfseen.runners.frames import Ask, cluster_of, is_dask, is_spark, refuse_ray, roles_of
from halfseen.structures.grammar import Grammar
from halfseen.structures.tree import Sentences, parsable
from halfseen.sums import Nothing, Parts

# ---- partitions ------------------------------------------------------------------------------------------------------


class SentencePart(NamedTuple):
    """The sentences of a partition, those of weight 0 included."""

    sentences: list[Any]
    weight: Floats
    brackets: list[Any] | None
    tags: list[Any] | None

    @property
    def given(self) -> tuple[Any, ...]:
        """What methods that sum over sentences take."""
        return tuple(self)


@dataclass(frozen=True)
class SentenceLayout:
    """The columns of a frame of sentences.

    Examples
    --------
    >>> SentenceLayout.of(["sentence", "times"], weight="times").sentence
    'sentence'
    """

    sentence: str
    weight: str | None = None
    brackets: str | None = None
    tags: str | None = None

    @classmethod
    def of(
        cls, names: Sequence[Any], weight: Any = None, brackets: Any = None, tags: Any = None, known: str | None = None
    ) -> SentenceLayout:
        """Return the layout of a frame with the named columns; `known` is that of sentences, if there is such one."""
        for what, column in (("brackets", brackets), ("tags", tags)):
            if column is not None and (not isinstance(column, str) or column not in names):
                raise ParameterError(
                    f"{what}: of sentences that other processes hold, give the name of a column, not {column!r:.40}. "
                    f"Columns: {', '.join(map(str, names))}."
                )
        features = [name for name in Layout.of(names, weight).features if name not in (brackets, tags)]
        if known in features:
            return cls(str(known), weight, brackets, tags)
        if len(features) != 1:
            raise DataError(
                f"sentences: one column must have them, and there are {len(features)}: "
                f"{', '.join(features) or 'none'}. Choose it, with those of weights, brackets and tags."
            )
        return cls(features[0], weight, brackets, tags)

    @property
    def columns(self) -> list[str]:
        """All columns."""
        return [name for name in (self.sentence, self.weight, self.brackets, self.tags) if name is not None]

    def read(self, frame: Any) -> SentencePart | None:
        """Return the sentences of a partition; None if there are none."""
        table = nw.from_native(frame, eager_only=True)
        if not len(table):
            return None
        weight = np.ones(len(table)) if self.weight is None else read_weight(table, self.weight)
        brackets, tags = (None if own is None else _cells(table, own) for own in (self.brackets, self.tags))
        return SentencePart(_cells(table, self.sentence), weight, brackets, tags)


def _cells(table: nw.DataFrame[Any], name: str) -> list[Any]:
    """Return a column as a list, None where a cell is missing."""
    column = table[name]
    missing = column.is_null().to_list()
    return [None if hidden else cell for cell, hidden in zip(column.to_list(), missing, strict=True)]


@dataclass(frozen=True)
class Read:
    """Read the sentences of a partition for a grammar: what the tasks below begin with.

    Parameters
    ----------
    layout : SentenceLayout
    grammar : Grammar
    unknown : str            what to do with words that the grammar does not have
    """

    layout: SentenceLayout
    grammar: Grammar
    unknown: str

    def corpus(self, frame: Any) -> tuple[Corpus, Floats] | None:
        """Return the sentences with their weights; None if there are none. Unknown words are told of elsewhere."""
        part = self.layout.read(frame)
        if part is None:
            return None
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = reading.read_corpus(self.grammar, part.sentences, part.brackets, part.tags, self.unknown)
        except DataError as error:
            raise DataError(f"sentences are counted from 0 in each partition: {error}") from None
        return found, part.weight

    def lost(self, corpus: Corpus, numbers: Sequence[int]) -> Lost:
        """Return sentences that have no parse."""
        some = [reading.lost_sentence(self.grammar, corpus, s) for s in numbers[: reading.SHOWN]]
        return Lost(len(corpus), numbers, some)


class Found(NamedTuple):
    """What is learned of the sentences of a partition.

    Attributes
    ----------
    n_sentences, n_used : int     all, and those of a weight above 0
    span : tuple                  the smallest and the largest weight above 0
    content : int                 a hash that adds
    unknown : list of str         words that the grammar does not have
    """

    n_sentences: int
    n_used: int
    span: tuple[float, float]
    content: int
    unknown: list[str]


@dataclass(frozen=True)
class LearnSentences(Read):
    """Learn what there is in a partition: a task for those who hold it."""

    def __call__(self, frame: Any) -> Found | None:
        """Return what is learned; None if there are no sentences."""
        found = self.corpus(frame)
        if found is None:
            return None
        corpus, weight = found
        used = weight[weight > 0]
        span = (float(used.min()), float(used.max())) if len(used) else (np.inf, 0.0)
        unknown = list(reading.unknown_words(self.grammar, corpus.words))
        return Found(len(corpus), len(used), span, reading.content_hash(corpus, weight), unknown)


@dataclass(frozen=True)
class LaneSentences:
    """Distinct sentences with their weights, in the order of their content: the units of a lane."""

    data: Sentences
    weight: Floats

    @property
    def n_rows(self) -> int:
        """The number of distinct sentences."""
        return len(self.data)

    n_chunks = n_rows  # as many as there may be

    @property
    def mass(self) -> float:
        """Their weight."""
        return float(self.weight.sum())

    @property
    def digest(self) -> int:
        """A digest of the content."""
        found = blake2b(digest_size=8)
        own = self.data
        for array in (own.tokens, own.ends, *own.slots, own.allowed, own.allowed_first, self.weight):
            found.update(np.ascontiguousarray(array).tobytes())
        return int.from_bytes(found.digest(), "big")


@dataclass(frozen=True)
class EncodeSentences(Read):
    """Merge and encode the sentences of a partition: a task for those who hold it."""

    def __call__(self, frame: Any) -> LaneSentences | None:
        """Return the sentences; None if none counts."""
        found = self.corpus(frame)
        merged = None if found is None else merged_sentences(self.grammar, *found)
        return None if merged is None else LaneSentences(merged.data, merged.weight)


class Lost(NamedTuple):
    """The sentences of a partition that have no parse: how many sentences there are, their numbers, the first ones."""

    n_sentences: int = 0
    numbers: Sequence[int] = ()
    some: Sequence[str] = ()


@dataclass(frozen=True)
class LostIn(Read):
    """The sentences of a partition that have no parse: a task for those who hold it.

    Parameters
    ----------
    possible : (C + 1,) array     rules that may be used
    """

    possible: Mask

    def __call__(self, frame: Any) -> Lost:
        """Return them."""
        found = self.corpus(frame)
        merged = None if found is None else merged_sentences(self.grammar, *found)
        if found is None or merged is None:
            return Lost(0 if found is None else len(found[0]))
        return self.lost(found[0], numbers_of(merged, ~parsable(self.possible, merged.data)))


@dataclass(frozen=True)
class ScoreIn(Read):
    """The log-probability of the sentences of a partition: a task for those who hold it.

    Parameters
    ----------
    model : PCFG
    """

    model: Any

    def __call__(self, frame: Any) -> tuple[float, Lost]:
        """Return it for those that have a parse, and the others."""
        found = self.corpus(frame)
        if found is None:
            return 0.0, Lost()
        loglik, numbers = self.model._added(*found)
        return loglik, self.lost(found[0], numbers)


def _told(lost: Sequence[Lost]) -> tuple[list[int], str]:
    """Return the numbers of sentences without a parse, counted over all partitions, and what is said of them."""
    before = first_numbers([own.n_sentences for own in lost])
    numbers = [first + s for first, own in zip(before, lost, strict=True) for s in own.numbers]
    some = [told for own in lost for told in own.some]
    known = [first + s for first, own in zip(before, lost, strict=True) for s in own.numbers[: reading.SHOWN]]
    n_sentences = sum(own.n_sentences for own in lost)
    return numbers, reading.lost_message(list(zip(known, some, strict=True)), len(numbers), n_sentences)


# ---- lanes -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PackSentences:
    """The chunks of a lane, of the sentences that have a tree of possible rules."""

    possible: Mask

    def __call__(self, lane: Lane) -> list[SentenceChunk]:
        """Return the chunks."""
        own: LaneSentences = lane.table
        merged = WeightedSentences(own.data, own.weight, np.zeros(0, dtype=np.int64))
        used = merged.without(~parsable(self.possible, own.data))
        chunks = cut_sentences(used.data, used.weight)
        return [replace(chunk, index=lane.first_chunk + chunk.index) for chunk in chunks]


def _size(chunk: SentenceChunk) -> Parts:
    return Parts((len(chunk.blocks), float(chunk.weight.sum())))


class Elsewhere:
    """Sentences that other processes hold, as `Training`."""

    def __init__(self, cluster: Cluster, layout: SentenceLayout, grammar: Grammar, unknown: str) -> None:
        self._cluster, self._read = cluster, (layout, grammar, unknown)
        self._found = dict(cluster.learned(LearnSentences(*self._read)))
        used = {number: own for number, own in self._found.items() if own is not None and own.n_used}
        if not used:
            raise DataError(f"{cluster.title} has no sentences that count: there is nothing to fit.")
        self._numbers = sorted(used)
        check_span(
            min(own.span[0] for own in used.values()), max(own.span[1] for own in used.values()), str(layout.weight)
        )
        unknown_words = dict.fromkeys(word for own in used.values() for word in own.unknown)
        reading.warn_unknown(sorted(unknown_words), unknown)

    def __len__(self) -> int:
        return sum(own.n_sentences for own in self._found.values() if own is not None)

    @property
    def fingerprint(self) -> str:
        """A fingerprint of rules and sentences."""
        return reading.fingerprint(self._read[1], sum(own.content for own in self._found.values() if own is not None))

    def parsable(self, possible: Mask) -> Parsable:
        """Return the sentences that have a tree of possible rules; they stay where they are."""
        self._cluster.encode(EncodeSentences(*self._read), self._numbers)
        lanes = Lanes(self._cluster, len(self._numbers))
        chunks = LaneChunks(lanes, PackSentences(possible), lanes.n_rows)
        sizes = chunks.total(_size)
        n_kept, mass = (0, 0.0) if isinstance(sizes, Nothing) else sizes
        if n_kept == lanes.n_rows:
            return Parsable(Reduced(chunks), mass, [])
        answers = sorted(self._cluster.learned(LostIn(*self._read, possible)))
        return Parsable(Reduced(chunks), mass, *_told([lost for _, lost in answers]))


# ---- frames ----------------------------------------------------------------------------------------------------------


def framed(X: Any) -> Any:
    """Return a series of Dask as a frame, anything else as it is."""
    return X.to_frame(name=X.name or "sentence") if is_dask(X) and X.ndim == 1 else X


def layout_of(X: Any, cluster: Cluster, weight: Any, brackets: Any, tags: Any, known: str | None) -> SentenceLayout:
    """Return the layout of a frame that other processes hold."""
    weight = roles_of(X, weight=weight)["weight"]
    return SentenceLayout.of(cluster.names, weight, brackets, tags, known)


def scored(X: Any, model: Any, brackets: Any, tags: Any, known: str | None) -> Any:
    """Return the log-probabilities of all sentences of a frame, computed where they are, lazily."""
    refuse_ray(X, "score_samples")
    frame = framed(X)
    layout = layout_of(frame, cluster_of(frame), None, brackets, tags, known)
    ask = Ask.of(model, "_scored", {"layout": layout}, "loglik", [])
    if is_spark(frame):
        from halfseen.runners import spark_mapped

        return spark_mapped.mapped(frame, model, ask, layout.columns, {layout.sentence})
    from halfseen.runners import dask

    return dask.mapped(frame[layout.columns], model, ask)


def summed(X: Any, model: Any, weight: Any, brackets: Any, tags: Any) -> tuple[float, int, str]:
    """Return the log-probability of all sentences of a frame, how many they are, and what is said of the lost ones."""
    frame = framed(X)
    cluster = cluster_of(frame)
    layout = layout_of(frame, cluster, weight, brackets, tags, getattr(model, "_column", None))
    answers = dict(cluster.learned(ScoreIn(layout, model._grammar, model.unknown, model)))
    found = [answers[number] for number in sorted(answers)]
    n_sentences = sum(lost.n_sentences for _, lost in found)
    if not n_sentences:
        raise DataError(f"{cluster.title} has no sentences.")
    numbers, told = _told([lost for _, lost in found])
    return added(enumerate(loglik for loglik, _ in found), len(found)), n_sentences, told if numbers else ""
