"""A corpus prepared for the kernels of links: words that occur together, and known links."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from halfseen.data.spill import scratch
from halfseen.errors import DataError
from halfseen.families.words.bitext import Bitext
from halfseen.kernels import active as kernels
from halfseen.kernels.links import SPAN_BITS
from halfseen.leaves.positions import Diagonal, Jumps
from halfseen.leaves.translations import look_up
from halfseen.structures.links import DIAGONAL, JUMPS, Sides

Ints = NDArray[np.int64]
Words = NDArray[np.int32]
Floats = NDArray[np.float64]

ANY = 1 << 62  # no limit: arrays stay in memory
LONGEST = (1 << SPAN_BITS) - 1  # words of a sentence
FLOOR = 1e-7  # probability of a translation that was never seen together with its source word


class Rows(NamedTuple):
    """The target words that occur together with each source word: row e is columns[firsts[e] .. firsts[e + 1]]."""

    firsts: Ints
    columns: Words

    @property
    def sizes(self) -> Ints:
        """Cells of each row."""
        return np.diff(self.firsts)

    @property
    def n_cells(self) -> int:
        """Cells of all rows."""
        return len(self.columns)


def reversed_text(text: Bitext) -> Bitext:
    """Return the corpus with source and target exchanged."""
    return Bitext(
        text.target + np.int32(1),
        text.source - np.int32(1),
        text.target_ends,
        text.source_ends,
        text.target_words,
        text.source_words,
    )


def find_rows(pairs: Ints, source: Words, target: Words, n_source: int, n_target: int, null: bool) -> Rows:
    """Return the rows of a lexicon; NULL, row 0, has all target words."""
    sizes = np.zeros(n_source + 2, dtype=np.int64)
    kernels.links_rows(pairs, source, target, n_target, sizes, np.zeros(0, dtype=np.int32))
    sizes[1] = n_target if null else 0
    firsts = np.cumsum(sizes)
    columns = np.empty(int(firsts[-1]), dtype=np.int32)
    if len(columns):
        inner = columns[firsts[1] :]
        kernels.links_rows(pairs, source, target, n_target, firsts - firsts[1], inner)
        columns[: firsts[1]] = np.arange(firsts[1])
    return Rows(firsts, columns)


def pairs_of(text: Bitext) -> Ints:
    """Return the pairs without an empty side as the kernels read them, (P, 5)."""
    kept = text.filled
    n, m = (np.diff(ends)[kept] for ends in (text.source_ends, text.target_ends))
    if m.max(initial=0) > LONGEST:
        raise DataError(f"a sentence of pair {kept[m.argmax()]} has {m.max():,} words, more than {LONGEST:,}. Cut it.")
    sizes = (n + 1) * m
    return np.ascontiguousarray(
        np.stack([text.source_ends[kept], n, text.target_ends[kept], m, np.cumsum(sizes) - sizes], axis=1)
    )


class Prepared(NamedTuple):
    """A corpus in one direction; its target words have other numbers than in the text, given by `number`."""

    sides: Sides
    number: Words


def prepared(text: Bitext, null: bool, memory_limit: int = ANY) -> Prepared:
    """Return a corpus for many passes: the most frequent target words first, so that they share cache lines."""
    n_words = len(text.target_words)
    number = np.argsort(-np.bincount(text.target, minlength=n_words), kind="stable").astype(np.int32)
    rank = np.empty(n_words, dtype=np.int32)
    rank[number] = np.arange(n_words)
    target = _array(len(text.target), np.int32, memory_limit)
    np.take(rank, text.target, out=target, mode="clip")  # other modes would need a copy in memory
    return Prepared(_sides(text, target, null), number)


def _array(size: int, dtype: Any, memory_limit: int) -> NDArray[Any]:
    """Return an empty array, in a temporary file if it takes more than `memory_limit` bytes."""
    return scratch((size,), dtype) if size * np.dtype(dtype).itemsize > memory_limit else np.empty(size, dtype)


def sides_of(text: Bitext, null: bool) -> Sides:
    """Return a corpus in one direction, with unchanged word numbers."""
    return _sides(text, text.target, null)


def _sides(text: Bitext, target: Words, null: bool) -> Sides:
    n_source, n_target = len(text.source_words), len(text.target_words)
    pairs = pairs_of(text)
    rows = find_rows(pairs, text.source, target, n_source, n_target, null)
    cells, nothing = np.zeros(len(pairs), dtype=np.int64), np.zeros(0, dtype=np.uint8)
    return Sides(null, n_target, *rows, pairs, cells, text.source, target, nothing)


def turned(ready: Prepared, table: Floats) -> tuple[Rows, Floats]:
    """Return the lexicon of a corpus with the target words of the text."""
    sides = ready.sides
    columns, out = np.empty_like(sides.columns), np.empty_like(table)
    kernels.links_turn(sides.firsts, 0, len(sides.firsts) - 1, ready.number, sides.columns, table, columns, out)
    return Rows(sides.firsts, columns), out


def with_cells(sides: Sides, kind: int) -> tuple[Sides, Any]:
    """Return the pairs with the first cell of each in the statistics of word order, and the meaning of the cells."""
    n, m = sides.pairs[:, 1], sides.pairs[:, 3]
    if kind == DIAGONAL:
        shapes, which = np.unique(np.stack([n, m], axis=1), axis=0, return_inverse=True)
        ends = np.cumsum(shapes[:, 1])
        index = np.repeat(np.arange(len(shapes)), shapes[:, 1])
        j = np.arange(len(index)) - (ends - shapes[:, 1])[index] + 1
        cells = (ends - shapes[:, 1])[which.ravel()]
        return sides._replace(cells=cells), np.stack([shapes[index, 0], shapes[index, 1], j], axis=1)
    if kind == JUMPS:
        lengths, which = np.unique(n, return_inverse=True)
        ends = np.cumsum(lengths + 1)
        return sides._replace(cells=(ends - lengths - 1)[which.ravel()]), lengths.tolist()
    return sides, None


def place_of(kind: int, cells: Any, width: int, p_null: float | None, null: bool) -> Diagonal | Jumps | None:
    """Return the leaf of word order for given cells."""
    if kind == DIAGONAL:
        return Diagonal(cells, p_null, null)
    return Jumps(cells, width, p_null, null) if kind == JUMPS else None


def check_known(text: Bitext, known: Sequence[Any], where: Callable[[int], str]) -> None:
    """Refuse known links of words that do not exist or have no link, also in pairs with an empty side."""
    sizes = np.stack([np.diff(text.source_ends), np.diff(text.target_ends)], axis=1).tolist()
    for number, links in enumerate(known):
        for link in links or ():
            for index, size, side in zip(link, sizes[number], ("source", "target"), strict=True):
                if index is not None and index >= size:
                    raise DataError(
                        f"{where(number)}: there is no {side} word {index}; the sentence has {size}, counted from 0."
                    )
        if links:
            _check_nulls(links, where(number))


def _check_nulls(links: Iterable[Any], where: str) -> None:
    """Refuse links of words that are declared unlinked."""
    without = {link for link in links if None in link}
    if not without:
        return
    for one, two in sorted(set(links) - without):
        for side, index, said in (("source", one, (one, None)), ("target", two, (None, two))):
            if said in without:
                raise DataError(
                    f"{where}: {side} word {index} is declared unlinked but has the link {one}-{two}. Remove one."
                )


def with_known(
    sides: Sides, kept: Ints, known: Sequence[Any], back: bool, where: Callable[[int], str], memory_limit: int = ANY
) -> Sides:
    """Return the pairs with known links: a word with known links has no others."""
    pairs = sides.pairs
    allowed = _array(int(((pairs[:, 1] + 1) * pairs[:, 3]).sum()), np.uint8, memory_limit)
    allowed[:] = 1
    for number, (_, n, _, m, begin) in zip(kept.tolist(), pairs.tolist(), strict=True):
        if not known[number]:
            continue
        own = allowed[begin : begin + (n + 1) * m].reshape(n + 1, m)
        _allow(own, [(two, one) if back else (one, two) for one, two in known[number]])
        left = own[0 if sides.null else 1 :].any(axis=0)
        if not left.all():
            raise DataError(
                f"{where(number)}: word {int(np.argmin(left))} is declared unlinked, which needs NULL, but null=False."
            )
    return sides._replace(allowed=allowed)


def _allow(own: NDArray[np.uint8], links: Sequence[Any]) -> None:
    """Remove the links of one pair, (n + 1, m), that known links exclude."""
    for j in {two for _, two in links if two is not None}:
        own[:, j] = 0
        own[[0 if one is None else one + 1 for one, two in links if two == j], j] = 1
    for i in {one for one, _ in links if one is not None}:
        others = np.ones(own.shape[1], dtype=bool)
        others[[two for one, two in links if one == i and two is not None]] = False
        own[i + 1, others] = 0


def looked_up(
    text: Bitext, rows: Rows, known: Rows, source: Mapping[str, int], target: Mapping[str, int], table: Floats
) -> Floats:
    """Return the table of `rows` of a new text from that of a lexicon; `FLOOR` for words never seen together."""
    e = np.array([0, *(source.get(word, -2) + 1 for word in text.source_words)], dtype=np.int64)
    f = np.array([target.get(word, -1) for word in text.target_words], dtype=np.int64)
    own = np.repeat(np.arange(len(e)), rows.sizes)
    cells = look_up(known.firsts, known.columns, e[own], f[rows.columns])
    return np.where(cells >= 0, table[cells], FLOOR) if len(table) else np.full(rows.n_cells, FLOOR)
