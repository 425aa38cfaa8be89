"""Sentences and their translations: pairs of lists of words, from lists or files, and links between their words.

- *pair*: a source sentence and a target sentence, cut into words.
- *link*: (source index, target index), counted from 0; in files `i-j`, one line of links for each pair (Pharaoh).
- *bars*: ` ||| `, which separate the two sentences of a line if both are in one file.

Files may be compressed (.gz), and are read line by line. A corpus holds its words as numbers; above a limit
of memory they are in temporary files.
"""

from __future__ import annotations

import gzip
import os
import re
import zlib
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from halfseen.data.spill import scratch
from halfseen.errors import DataError, DataTypeError
from halfseen.stop_request import stoppable

__all__ = ["Bitext", "Gold", "encode_pairs", "read_gold", "read_links", "read_pairs", "where_links"]

Pair = tuple[Sequence[str], Sequence[str]]
Link = tuple[int, int]

BARS = "|||"
CONFIDENCE = re.compile(r"[-+]?[\d.]+([eE][-+]?\d+)?")
DIGITS = 9  # of an index in a file
LONGEST = 1 << 28  # bytes of a line: a compressed file may hold one that fills the memory
MOST_PER_LINE = 1000  # sentences for each line of a file of numbered links; more are a mistake
PIECE = 1 << 20  # words of a side buffered before they are stored


class Gold(NamedTuple):
    """Links made by hand: sure ones, and all that are possible, which include them."""

    sure: list[set[Link]]
    possible: list[set[Link]]


# ---- reading ---------------------------------------------------------------------------------------------------------


def _is_path(value: Any) -> bool:
    return isinstance(value, str | os.PathLike)


def open_lines(path: str | os.PathLike[str]) -> Iterator[str]:
    """Yield the lines of a text file in UTF-8, compressed or not, without line ends."""
    name = Path(path)
    with gzip.open(name, "rb") if name.suffix == ".gz" else open(name, "rb") as file:
        number = 0
        try:
            for number, raw in enumerate(stoppable(iter(partial(file.readline, LONGEST), b"")), 1):
                if len(raw) == LONGEST:
                    raise DataError(
                        f"{path}, line {number}: it has more than {LONGEST:,} bytes. Are there no line ends?"
                    )
                text = raw.decode("utf-8-sig" if number == 1 else "utf-8")
                yield text.rstrip("\r\n")
        except UnicodeDecodeError as error:
            raise DataError(
                f"{path}, line {number}: not UTF-8 ({error.reason} at byte {error.start}). Convert the file, for "
                "instance: iconv -f latin1 -t utf-8."
            ) from None
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise DataError(f"{path}: after line {number} it is not a gzip file: {error}.") from None


def _cut_bars(line: str, where: str) -> Pair:
    """Cut a line at its bars; they need a space, or the end of the line, on both sides."""
    words = line.split()
    if words.count(BARS) != 1:
        n_bars = words.count(BARS)
        said = f"there are {n_bars} of ' {BARS} '" if n_bars else f"there is no ' {BARS} '"
        hint = " It needs a space on both sides." if n_bars == 0 and BARS in line else ""
        raise DataError(f"{where}: {said} between source and target.{hint} The line is {line[:60]!r}.")
    at = words.index(BARS)
    return words[:at], words[at + 1 :]


def _words(sentence: Any, where: str) -> Sequence[str]:
    if isinstance(sentence, str):
        return sentence.split()
    if not isinstance(sentence, list | tuple | np.ndarray):
        raise DataTypeError(f"{where} is {type(sentence).__name__}; a sentence is a text or a list of words.")
    for word in sentence:
        if not isinstance(word, str):
            raise DataTypeError(f"{where}: the word {word!r} is {type(word).__name__}, not a text.")
    return list(sentence)


def read_pairs(pairs: Any, target: Any = None) -> Iterator[tuple[str, Pair]]:
    r"""Yield pairs of lists of words, each with its position, for messages.

    Parameters
    ----------
    pairs : list or path
        Pairs (source, target); or lines `source ||| target`; or the path of a file of such lines; or, with `target`,
        source sentences or the path of a file of them.
    target : list or path, optional

    Examples
    --------
    >>> [pair for _, pair in read_pairs(["das Haus ||| the house"])]
    [(['das', 'Haus'], ['the', 'house'])]
    >>> [pair for _, pair in read_pairs(["das Haus"], [["the", "house"]])]
    [(['das', 'Haus'], ['the', 'house'])]
    """
    if target is not None:
        yield from _two_sides(pairs, target)
    elif _is_path(pairs):
        for number, line in enumerate(open_lines(pairs), 1):
            where = f"{pairs}, line {number}"
            yield where, _cut_bars(line, where)
    else:
        for number, pair in enumerate(_listed(pairs, "pairs")):
            yield f"pair {number}", _pair(pair, f"pair {number}")


def _pair(pair: Any, where: str) -> Pair:
    if isinstance(pair, str):
        return _cut_bars(pair, where)
    if not isinstance(pair, list | tuple) or len(pair) != 2:
        raise DataTypeError(f"{where} is {pair!r:.80}; a pair is (source, target), or a line 'source ||| target'.")
    return _words(pair[0], f"{where}, source"), _words(pair[1], f"{where}, target")


def _listed(value: Any, name: str) -> Iterable[Any]:
    if hasattr(value, "columns"):
        raise DataTypeError(f"{name} is a table; give its columns, the source sentences and the target sentences.")
    if isinstance(value, Mapping) or not isinstance(value, Iterable):
        raise DataTypeError(f"{name} is {type(value).__name__}; give a list, or the path of a file.")
    return value


def _two_sides(source: Any, target: Any) -> Iterator[tuple[str, Pair]]:
    if _is_path(source) != _is_path(target):
        raise DataTypeError("source and target: give two paths, or two lists.")
    paths = _is_path(source)
    sides = [open_lines(one) if paths else iter(_listed(one, "sentences")) for one in (source, target)]
    missing = object()
    number = 0
    for number, (one, two) in enumerate(zip_longest(*sides, fillvalue=missing), 1):
        if one is missing or two is missing:
            short, long = ("source", "target") if one is missing else ("target", "source")
            if paths:
                short, long = (str(source), str(target)) if one is missing else (str(target), str(source))
            rest = sum(1 for _ in (sides[1] if one is missing else sides[0]))
            raise DataError(
                f"{short} has {number - 1:,} lines and {long} has {number + rest:,}. Line n of both must be "
                "translations of each other."
            )
        where = f"line {number}" if paths else f"pair {number - 1}"
        yield where, (_words(one, f"{where}, source"), _words(two, f"{where}, target"))


# ---- links -----------------------------------------------------------------------------------------------------------


def read_links(lines: Any, *, nulls: bool = False) -> list[Any]:
    """Read links of pairs: a path of a Pharaoh file, or lists of links or of lines.

    With `nulls`, a pair may be None (nothing known) and one side of a link may be None: that word has no link.

    Examples
    --------
    >>> [sorted(links) for links in read_links(["0-0 1-2", ""])]
    [[(0, 0), (1, 2)], []]
    >>> read_links([[(None, 1)], None], nulls=True)
    [{(None, 1)}, None]
    """
    source = open_lines(lines) if _is_path(lines) else _listed(lines, "links")
    found: list[Any] = []
    for number, line in enumerate(source):
        where = where_links(lines, number)
        if line is None and nulls:
            found.append(None)
        elif isinstance(line, str):
            found.append({_pharaoh(item, where) for item in line.split()})
        else:
            found.append({_link(item, where, nulls) for item in _listed(line, where)})
    return found


def where_links(lines: Any, number: int) -> str:
    """Return the position of the links of a pair, for messages: a line of a file, or an entry of a list.

    Examples
    --------
    >>> where_links("known.txt", 0), where_links([None, None], 1)
    ('known.txt, line 1', 'links of pair 1')
    """
    return f"{lines}, line {number + 1}" if _is_path(lines) else f"links of pair {number}"


def where_pairs(pairs: Any, numbers: Iterable[int]) -> str:
    """Return the positions of pairs, for messages: lines of a file, or entries of a list.

    Examples
    --------
    >>> where_pairs("de-en.txt", [0, 4]), where_pairs([("ja", "yes")], [0])
    ('line 1, 5', 'pair 0')
    """
    word, first = ("line", 1) if _is_path(pairs) else ("pair", 0)
    return f"{word} {', '.join(str(number + first) for number in numbers)}"


def _pharaoh(item: str, where: str) -> Link:
    """Read `i-j`, with or without a probability, `i-j:0.9`."""
    one, dash, two = item.partition(":")[0].partition("-")
    if not dash or not _is_index(one) or not _is_index(two):
        raise DataError(f"{where}: {item!r:.60} is not a link i-j of two word indices, counted from 0.")
    return int(one), int(two)


def _is_index(text: str) -> bool:
    return text.isdecimal() and len(text) <= DIGITS


def _link(item: Any, where: str, nulls: bool) -> Any:
    good = isinstance(item, list | tuple | np.ndarray) and len(item) == 2
    ends = [] if not good else [end for end in item if end is not None]
    if not good or not all(isinstance(end, int | np.integer) and end >= 0 for end in ends) or len(ends) < 2 - nulls:
        raise DataError(f"{where}: {item!r} is not a link (source index, target index), counted from 0.")
    return tuple(None if end is None else int(end) for end in item)


def read_gold(path: str | os.PathLike[str], n_pairs: int | None = None) -> Gold:
    r"""Read links made by hand: Pharaoh lines (`i-j` sure, `i?j` possible), or the numbered lines of the shared tasks.

    A numbered line is `sentence source target [S|P] [confidence]`, everything counted from 1; word 0 is NULL, no link.

    Examples
    --------
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "gold")
    >>> _ = Path(path).write_text("0-0 1?2")
    >>> found = read_gold(path)
    >>> found.sure, sorted(found.possible[0])
    ([{(0, 0)}], [(0, 0), (1, 2)])
    """
    lines = list(open_lines(path))
    first = next((line.split() for line in lines if line.strip()), [])
    if len(first) >= 3 and all(item.isdecimal() for item in first[:3]):
        return _numbered(path, lines, n_pairs)
    sure: list[set[Link]] = []
    possible: list[set[Link]] = []
    for number, line in enumerate(lines, 1):
        where = f"{path}, line {number}"
        sure.append({_pharaoh(item, where) for item in line.split() if "?" not in item})
        unsure = {_pharaoh(item.replace("?", "-"), where) for item in line.split() if "?" in item}
        possible.append(sure[-1] | unsure)
    return Gold(sure, possible)


def _numbered(path: Any, lines: Sequence[str], n_pairs: int | None) -> Gold:
    sure: dict[int, set[Link]] = {}
    possible: dict[int, set[Link]] = {}
    for number, line in enumerate(lines, 1):
        parts = line.split()
        if not parts:
            continue
        if not _is_numbered(parts):
            raise DataError(
                f"{path}, line {number}: {line[:60]!r} is not 'sentence source target [S|P] [confidence]', counted "
                "from 1."
            )
        pair, one, two = (int(item) - 1 for item in parts[:3])
        own = set() if min(one, two) < 0 else {(one, two)}
        possible.setdefault(pair, set()).update(own)
        if "P" not in parts[3:]:
            sure.setdefault(pair, set()).update(own)
    size = max(possible, default=-1) + 1 if n_pairs is None else n_pairs
    if size > MOST_PER_LINE * len(lines) and n_pairs is None:
        raise DataError(f"{path} has a link of sentence {size:,}, but {len(lines):,} lines. Number sentences from 1.")
    if possible and max(possible) >= size:
        raise DataError(f"{path} has links of sentence {max(possible) + 1:,}; there are {size:,} sentences.")
    return Gold([sure.get(p, set()) for p in range(size)], [possible.get(p, set()) for p in range(size)])


def _is_numbered(parts: Sequence[str]) -> bool:
    numbers, more = parts[:3], [part for part in parts[3:] if part not in ("S", "P")]
    good = len(numbers) == 3 and all(map(_is_index, numbers)) and int(numbers[0]) > 0
    return good and len(more) <= 1 and all(CONFIDENCE.fullmatch(part) for part in more)


# ---- a corpus as numbers ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Bitext:
    """Pairs as numbers; source words are numbered from 1, as 0 is NULL, target words from 0.

    Attributes
    ----------
    source, target : int32 arrays          all words, one sentence after the other
    source_ends, target_ends : (B + 1,)    where sentences begin and end
    source_words, target_words : tuples    the words by number, sorted
    """

    source: NDArray[np.int32]
    target: NDArray[np.int32]
    source_ends: NDArray[np.int64]
    target_ends: NDArray[np.int64]
    source_words: tuple[str, ...]
    target_words: tuple[str, ...]

    @property
    def n_pairs(self) -> int:
        """Number of pairs, those with an empty side included."""
        return len(self.source_ends) - 1

    @property
    def filled(self) -> NDArray[np.int64]:
        """Numbers of the pairs in which no side is empty."""
        return np.flatnonzero((np.diff(self.source_ends) > 0) & (np.diff(self.target_ends) > 0))

    @property
    def n_links(self) -> int:
        """Number of possible links."""
        return int(np.diff(self.source_ends) @ np.diff(self.target_ends))


class _Side:
    """The words of one side while they are read: numbers in order of appearance."""

    def __init__(self, memory_limit: int) -> None:
        self.numbers: dict[str, int] = {}
        self.fresh = array("i")
        self.pieces: list[NDArray[np.int32]] = []
        self.ends = array("q", [0])
        self.memory_limit = memory_limit

    def add(self, words: Sequence[str], form: Callable[[str], str] | None) -> None:
        numbers = self.numbers
        listed = words if form is None else [form(word) for word in words]
        self.fresh.extend([numbers.setdefault(word, len(numbers)) for word in listed])
        self.ends.append(self.ends[-1] + len(listed))
        if len(self.fresh) >= PIECE:
            self._flush()

    def _flush(self) -> None:
        piece = np.array(self.fresh, dtype=np.int32)
        if self.ends[-1] * 4 > self.memory_limit:
            kept = scratch(piece.shape, np.int32)
            kept[:] = piece
            piece = kept
        self.pieces.append(piece)
        self.fresh = array("i")

    def finish(self, first: int) -> tuple[NDArray[np.int32], NDArray[np.int64], tuple[str, ...]]:
        """Return the words by their number in sorted order, counted from `first`."""
        self._flush()
        words = sorted(self.numbers)
        order = np.empty(len(words), dtype=np.int32)
        for number, word in enumerate(words):
            order[self.numbers[word]] = number + first
        size = self.ends[-1]
        out = scratch((size,), np.int32) if size * 4 > self.memory_limit else np.empty(size, dtype=np.int32)
        at = 0
        for piece in self.pieces:
            out[at : at + len(piece)] = order[piece]
            at += len(piece)
        return out, np.array(self.ends, dtype=np.int64), tuple(words)


def encode_pairs(pairs: Any, target: Any = None, *, lowercase: bool = False, memory_limit: int = 1 << 62) -> Bitext:
    """Read pairs and number their words; words of more than `memory_limit` bytes a side go to temporary files.

    Examples
    --------
    >>> text = encode_pairs(["das Haus ||| the house", "das Buch ||| the book"])
    >>> text.source_words, text.source, text.target
    (('Buch', 'Haus', 'das'), array([3, 2, 3, 1], dtype=int32), array([2, 1, 2, 0], dtype=int32))
    """
    sides = (_Side(memory_limit), _Side(memory_limit))
    form = str.lower if lowercase else None
    for _, pair in read_pairs(pairs, target):
        for side, words in zip(sides, pair, strict=True):
            side.add(words, form)
    source, source_ends, source_words = sides[0].finish(1)
    found, target_ends, target_words = sides[1].finish(0)
    return Bitext(source, found, source_ends, target_ends, source_words, target_words)
