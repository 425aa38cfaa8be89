"""Sentences of a file that does not fit into memory, as `sentences.Training`: merged in temporary files.

The file is read once, some lines at a time. Words become their rank among the words of the grammar, so that sentences
of one length are rows of numbers, and the order of rows is the order of their words. Rows of each length go to a file;
there equal ones are merged and ordered, in pieces that fit into memory. Chunks are read from the result in every pass.
The fit has the same bits as in memory.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halfseen.data.encodings import encoding_of
from halfseen.data.growing import GrowingArray
from halfseen.engine.loop.model import Reduced
from halfseen.errors import DataError
from halfseen.families.grammar import reading
from halfseen.families.grammar.model import SentenceChunk, work_of
from halfseen.families.grammar.reading import Corpus
from halfseen.families.grammar.sentences import Mask, Parsable, WeightedSentences, merged_sentences, numbers_of
from halfseen.structures.grammar import Grammar
from halfseen.structures.tree import Sentences, pack, parsable, uncrossed
from halfseen.structures.trees import read_brackets

Rows = NDArray[np.int32]

SHARE = 128  # text read at a time takes 1 / SHARE of the memory: its words are objects of Python
NOTHING = "{}: the file has no sentences. A sentence is a line of words separated by blanks."
IN_MEMORY = 64  # times the size of its file that a fit takes in memory, measured with words of two to four letters
SORTED = 8  # rows that are ordered at once take 1 / SORTED of the memory
LEAST = 1 << 16  # letters read at a time, and numbers ordered at once, however little memory there is


@dataclass(frozen=True)
class SentenceFile:
    """A file with a sentence on each line, to fit a `PCFG` to within some memory.

    Parameters
    ----------
    path : str
    memory : int          bytes
    brackets : bool       whether round brackets enclose known phrases
    """

    path: str
    memory: int
    brackets: bool = False

    def batches(self) -> Iterator[tuple[list[list[str]], list[Any] | None]]:
        """Yield some sentences at a time, and the brackets in them."""
        words: list[list[str]] = []
        spans: list[Any] = []
        size = 0
        for number, line in enumerate(self._lines(), start=1):
            if not line.strip():
                continue
            found, own = read_line(line, self.brackets, f"{self.path}, line {number}")
            words.append(found)
            spans.append(own)
            size += len(line)
            if size > max(LEAST, self.memory // SHARE):
                yield words, spans if self.brackets else None
                words, spans, size = [], [], 0
        if words:
            yield words, spans if self.brackets else None

    def _lines(self) -> Iterator[str]:
        with open(self.path, encoding=encoding_of(self.path)) as file:
            for line in file:
                yield from line.splitlines()  # at other marks than the end of a line too, as in memory

    @property
    def fits(self) -> bool:
        """Whether the sentences fit into memory."""
        return IN_MEMORY * os.path.getsize(self.path) <= self.memory


def read_line(line: str, brackets: bool, where: str) -> tuple[list[str], Any]:
    """Return the words of a line, and the phrases that brackets enclose."""
    if not brackets:
        return line.split(), None
    try:
        words, spans = read_brackets(line)
        if not words:
            raise DataError("there are brackets and no words.")
    except DataError as error:
        raise DataError(f"{where}: {error}") from error
    return words, spans


class Streamed:
    """The sentences of a file, as `Training`. The file is read when it is asked which of them have a parse."""

    def __init__(self, grammar: Grammar, file: SentenceFile, unknown: str) -> None:
        self._grammar, self._file, self._unknown = grammar, file, unknown
        self._rank = {word: rank for rank, word in enumerate([None, *sorted(grammar.words)])}
        self._n_sentences = self._content = 0

    def __len__(self) -> int:
        return self._n_sentences

    @property
    def fingerprint(self) -> str:
        """A fingerprint of rules and sentences."""
        return reading.fingerprint(self._grammar, self._content)

    def parsable(self, possible: Mask) -> Parsable:
        """Return the sentences that have a tree of possible rules, in temporary files."""
        with closing(Spilled(self._file.brackets)) as spilled:
            lost, some = self._read(possible, spilled)
            if not self._n_sentences:
                raise DataError(NOTHING.format(self._file.path))
            chunks = spilled.chunks(self._grammar, self._file.memory)
        told = reading.lost_message(some, len(lost), self._n_sentences) if lost else ""
        return Parsable(Reduced(chunks), chunks.mass, lost, told)

    def _read(self, possible: Mask, spilled: Spilled) -> tuple[list[int], list[tuple[int, str]]]:
        """Read the file; return the numbers of sentences without a parse, and the first of them."""
        lost: list[int] = []
        some: list[tuple[int, str]] = []
        strange: dict[str, None] = {}
        for words, brackets in self._file.batches():
            before = self._n_sentences
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of unknown words, which are told of below
                corpus = reading.read_corpus(self._grammar, words, brackets, None, self._unknown, first=before)
            strange |= reading.unknown_words(self._grammar, corpus.words)
            merged = merged_sentences(self._grammar, corpus, np.ones(len(corpus)))
            assert merged is not None
            apart = ~parsable(possible, merged.data)
            numbers = numbers_of(merged, apart)
            shown = numbers[: reading.SHOWN - len(some)]
            some += [(before + s, reading.lost_sentence(self._grammar, corpus, s)) for s in shown]
            lost += [before + s for s in numbers]
            self._spill(spilled, corpus, merged, apart)
            self._n_sentences += len(corpus)
            self._content += reading.content_hash(corpus, np.ones(len(corpus)))
        reading.warn_unknown(list(strange), self._unknown)
        return lost, some

    def _spill(self, spilled: Spilled, corpus: Corpus, merged: WeightedSentences, apart: Mask) -> None:
        """Write the distinct sentences of a batch that have a parse."""
        rows: dict[int, list[list[int]]] = {}
        _, firsts = np.unique(merged.which, return_index=True)
        for place in np.flatnonzero(~apart).tolist():
            s = int(firsts[place])
            tokens = [self._rank[token] for token in corpus.tokens[s]]
            spans = [end for span in corpus.brackets[s] or () for end in span]
            rows.setdefault(len(tokens), []).append([*tokens, *spans, int(merged.weight[place])])
        for length, own in rows.items():
            spilled.append(length, own)


# ---- rows of numbers -------------------------------------------------------------------------------------------------


class Spilled:
    """Sentences as rows of numbers, those of one length together: words, spans of brackets, how often it occurs.

    Spans are filled up with -1: rows are then ordered as sentences with their brackets are.
    """

    def __init__(self, brackets: bool) -> None:
        self._brackets = brackets
        self._file = GrowingArray(np.zeros(0, dtype=np.int32))
        self._size = 0
        self._blocks: dict[int, list[tuple[int, int]]] = {}

    def width(self, length: int) -> int:
        """Return how many numbers a sentence has, without the last."""
        return length + 2 * max(length - 2, 0) if self._brackets else length  # at most so many spans are nested

    def append(self, length: int, rows: Sequence[Sequence[int]]) -> None:
        """Write sentences of one length."""
        block = np.full((len(rows), self.width(length) + 1), -1, dtype=np.int32)
        for row, own in zip(block, rows, strict=True):
            row[: len(own) - 1], row[-1] = own[:-1], own[-1]
        self._blocks.setdefault(length, []).append((self._size, len(rows)))
        self._file.append(block.ravel())
        self._size += block.size

    def chunks(self, grammar: Grammar, memory: int) -> FileChunks:
        """Return all sentences, merged and in the order of their content."""
        flat = self._file.mapped()
        with closing(FileChunks(grammar)) as found:
            for length in sorted(self._blocks):
                width = self.width(length) + 1
                blocks = [flat[first : first + n * width].reshape(n, width) for first, n in self._blocks[length]]
                for rows in ordered(blocks, max(memory // (SORTED * 4), LEAST) // width):
                    found.append(length, rows)
            return found.finished()

    def close(self) -> None:
        """Close the file; arrays that were mapped stay."""
        self._file.close()


def ordered(blocks: Sequence[Rows], most: int, column: int = 0) -> Iterator[Rows]:
    """Yield the distinct rows of blocks in their order, with the sum of the last column; some at a time.

    At most `most` rows are ordered at once. More are taken apart by the number in a column.

    Examples
    --------
    >>> rows = np.array([[3, 1, 1], [2, 5, 1], [3, 1, 1], [2, 4, 7]], dtype=np.int32)
    >>> [own.tolist() for own in ordered([rows[:3], rows[3:]], 2)]
    [[[2, 4, 7], [2, 5, 1]], [[3, 1, 2]]]
    """
    n_rows, width = sum(map(len, blocks)), blocks[0].shape[1] - 1
    if n_rows <= most:
        yield _distinct(np.concatenate(blocks))
    elif column == width:  # all are equal
        yield _distinct(np.concatenate([_distinct(block) for block in blocks]))
    else:
        counts = sum(np.bincount(block[:, column] + 1, minlength=_largest(blocks, column)) for block in blocks)
        for low, high in _ranges(np.asarray(counts), most):
            some = _between(blocks, column, low - 1, high - 1)
            yield from ordered(some, most, column + (high - low == 1))


def _largest(blocks: Sequence[Rows], column: int) -> int:
    return max(int(block[:, column].max(initial=0)) for block in blocks) + 2


def _ranges(counts: NDArray[Any], most: int) -> Iterator[tuple[int, int]]:
    """Yield ranges of values, each with at most so many rows, or of one value."""
    low, high, n_rows = 0, 0, 0
    for value in np.flatnonzero(counts).tolist():
        if n_rows and n_rows + counts[value] > most:
            yield low, high
            n_rows = 0
        low, high, n_rows = low if n_rows else value, value + 1, n_rows + int(counts[value])
    if n_rows:
        yield low, high


def _between(blocks: Sequence[Rows], column: int, low: int, high: int) -> list[Rows]:
    """Return the rows with values of a range, in a temporary file."""
    sizes = []
    with closing(GrowingArray(blocks[0])) as file:
        for block in blocks:
            own = block[(block[:, column] >= low) & (block[:, column] < high)]
            file.append(own)
            sizes.append(len(own))
        found = file.mapped()
    ends = np.cumsum(sizes)
    return [found[end - n : end] for n, end in zip(sizes, ends.tolist(), strict=True) if n]


def _distinct(rows: Rows) -> Rows:
    """Return distinct rows in their order, with the sum of the last column."""
    rows = rows[np.lexsort(rows[:, -2::-1].T)]
    new = np.append(True, (rows[1:, :-1] != rows[:-1, :-1]).any(axis=1))
    firsts = np.flatnonzero(new)
    found = rows[firsts]
    counts = np.add.reduceat(rows[:, -1].astype(np.int64), firsts)
    if counts.max() > np.iinfo(np.int32).max:
        raise DataError("a sentence occurs more than two billion times: leave most of these lines out.")
    found[:, -1] = counts
    return found


class FileChunks(Sequence[SentenceChunk]):
    """Chunks of sentences in temporary files, the same as those of sentences in memory.

    Attributes
    ----------
    mass : float        the number of sentences
    """

    def __init__(self, grammar: Grammar) -> None:
        words: list[str | None] = [None, *sorted(grammar.words)]
        self._grammar, self._slots = grammar, pack(grammar, [words]).slots
        self._growing = [
            GrowingArray(np.zeros(0, dtype)) for dtype in (np.int32, np.int64, np.float64, np.int32, np.int64)
        ]
        self._starts: list[int] = []  # the first sentence of each chunk
        self._n_sentences, self._work, self._number = 0, 0.0, -1.0
        self._ends = [0, 0]  # of words and of spans
        self.mass = 0.0

    def append(self, length: int, rows: Rows) -> None:
        """Write sentences of one length, with the spans of their brackets and how often they occur."""
        work, size = work_of(np.full(len(rows), float(length)), self._grammar)
        before = np.cumsum(np.append(self._work, work))  # one after the other, as for all sentences at once
        numbers = np.append(self._number, (before[1:] - work) // size)
        self._starts += (self._n_sentences + np.flatnonzero(np.diff(numbers))).tolist()
        self._work, self._number = float(before[-1]), float(numbers[-1])
        spans = rows[:, length:-1]
        n_spans = (spans >= 0).sum(axis=1)
        weight = rows[:, -1].astype(np.float64)
        ends = self._ends[0] + length * np.arange(1, len(rows) + 1)
        span_ends = self._ends[1] + np.cumsum(n_spans)
        parts: list[NDArray[Any]] = [rows[:, :length].ravel(), ends, weight, spans[spans >= 0], span_ends]
        for file, part in zip(self._growing, parts, strict=True):
            file.append(part)
        self._ends = [int(ends[-1]), int(span_ends[-1])]
        self._n_sentences += len(rows)
        self.mass += float(weight.sum())

    def finished(self) -> FileChunks:
        """Return itself, ready to be read."""
        self._tokens, self._token_ends, self._weight, self._spans, self._span_ends = (
            file.mapped() for file in self._growing
        )
        self._bounds = [*self._starts, self._n_sentences]
        return self

    def close(self) -> None:
        """Close the files; arrays that were mapped stay."""
        for file in self._growing:
            file.close()
        self._growing = []

    def __len__(self) -> int:
        return len(self._starts)

    def __getitem__(self, i: Any) -> Any:
        first, last = self._bounds[i], self._bounds[i + 1]
        begins, own = self._between(self._token_ends, first, last)
        tokens = np.array(self._tokens[begins : begins + own[-1]])
        allowed, allowed_first = self._allowed(first, last, np.diff(own))
        data = Sentences(self._grammar, self._slots, tokens, own, allowed, allowed_first)
        return SentenceChunk(i, data, np.array(self._weight[first:last]))

    def _between(self, ends: NDArray[np.int64], first: int, last: int) -> tuple[int, NDArray[np.int64]]:
        """Return where sentences begin, and their ends from there, 0 before them."""
        begins = int(ends[first - 1]) if first else 0
        return begins, np.append(0, ends[first:last] - begins)

    def _allowed(self, first: int, last: int, lengths: NDArray[np.int64]) -> tuple[NDArray[np.uint8], Any]:
        """Return which spans brackets allow; see `Sentences`."""
        begins, ends = self._between(self._span_ends, first, last)
        spans = self._spans[begins : begins + ends[-1]]
        parts, firsts, at = [np.zeros(0, np.uint8)], [], 0
        for b, length in enumerate(lengths.tolist()):
            own = [(a, z) for a, z in spans[ends[b] : ends[b + 1]].reshape(-1, 2).tolist()]
            firsts.append(at if own else -1)
            if own:
                parts.append(uncrossed(length, own).ravel())
                at += parts[-1].size
        return np.concatenate(parts), np.array(firsts, dtype=np.int64)
