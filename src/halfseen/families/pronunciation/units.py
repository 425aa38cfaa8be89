"""The inventory of joint units, and pairs of words and pronunciations in its numbers.

A unit has a code: its letters are the digits of one number, its phones those of another. Units are numbered in the
order of their codes, from 1 on, so that those with the same letters stand together; 0 is the end of a word.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from halfseen.errors import ParameterError
from halfseen.families.pronunciation.lexicon import Entry
from halfseen.structures.joint_units import Codes, Ints, Pairs

TABLE = 1 << 27  # codes looked up in a table; more are sorted
MOST = 1 << 53  # codes, which are kept as floats in model files


class Pieces(NamedTuple):
    """What the search reads of units.

    Attributes
    ----------
    number : dict              piece of letters -> its number; that without letters is 0
    ranges : (Q, 2) ints       first unit of each piece, and the last + 1
    phone_firsts, phones :     the phones of unit u are phones[phone_firsts[u]] .. phones[phone_firsts[u + 1]]
    """

    number: dict[str, int]
    ranges: Ints
    phone_firsts: Ints
    phones: Codes


@dataclass(frozen=True, eq=False)
class Inventory:
    """Letters, phones and the units made of them.

    Attributes
    ----------
    letters, phones : tuples of str        sorted
    max_letters, max_phones : int          of a unit
    codes : (U - 1,) ints                  of units 1, 2, ..., rising
    """

    letters: tuple[str, ...]
    phones: tuple[str, ...]
    max_letters: int
    max_phones: int
    codes: Ints

    @property
    def n_units(self) -> int:
        """Number of units, the end among them."""
        return len(self.codes) + 1

    @property
    def steps(self) -> Ints:
        """Letters and phones of every step, (S, 2)."""
        return np.array(
            [(a, b) for a in range(self.max_letters + 1) for b in range(self.max_phones + 1) if a + b], dtype=np.int64
        )

    @property
    def bases(self) -> tuple[int, int]:
        """The bases of the numbers of letters and phones."""
        return len(self.letters) + 1, len(self.phones) + 1

    @property
    def span(self) -> int:
        """How many numbers of phones there are."""
        return self.bases[1] ** self.max_phones

    @property
    def n_codes(self) -> int:
        """How many codes there could be."""
        return self.bases[0] ** self.max_letters * self.span

    @classmethod
    def learned(cls, entries: Sequence[Entry], max_letters: int, max_phones: int) -> Inventory:
        """Return the inventory with all units that entries could be cut into."""
        letters = tuple(sorted({letter for entry in entries for letter in entry.letters}))
        phones = tuple(sorted({phone for entry in entries for phone in entry.phones}))
        empty = cls(letters, phones, max_letters, max_phones, np.zeros(0, dtype=np.int64))
        if empty.n_codes >= MOST:
            raise ParameterError(
                f"max_letters={max_letters} and max_phones={max_phones} are too many with {len(letters)} letters and "
                f"{len(phones)} phones. Use smaller units."
            )
        if empty.n_codes <= TABLE:
            seen = np.zeros(empty.n_codes, dtype=bool)
            for _, codes in empty.grids(entries):
                seen[codes[codes >= 0]] = True
            return empty.having(np.flatnonzero(seen))
        parts = [np.unique(codes[codes >= 0]) for _, codes in empty.grids(entries)]
        return empty.having(np.unique(np.concatenate(parts)))

    def having(self, codes: Ints) -> Inventory:
        """Return the inventory with other units, of rising codes."""
        return Inventory(self.letters, self.phones, self.max_letters, self.max_phones, codes.astype(np.int64))

    @cached_property
    def _digits(self) -> tuple[dict[str, int], dict[str, int]]:
        """The digits of letters and of phones, from 1 on."""
        first, second = (
            {text: digit for digit, text in enumerate(texts, start=1)} for texts in (self.letters, self.phones)
        )
        return first, second

    def grids(self, entries: Sequence[Entry]) -> Iterator[tuple[Ints, Ints]]:
        """Yield entries of each size: which they are, and the code of each step into each node, -1: none."""
        sizes = np.array([(len(entry.letters), len(entry.phones)) for entry in entries], dtype=np.int64).reshape(-1, 2)
        for n_letters, n_phones in np.unique(sizes, axis=0).tolist():
            own = np.flatnonzero((sizes == (n_letters, n_phones)).all(axis=1))
            digits = self._digits
            spelled = np.array([[digits[0][x] for x in entries[b].letters] for b in own.tolist()], dtype=np.int64)
            said = np.array([[digits[1][y] for y in entries[b].phones] for b in own.tolist()], dtype=np.int64)
            grid = np.full((len(own), n_letters + 1, n_phones + 1, len(self.steps)), -1, dtype=np.int64)
            for s, (a, b) in enumerate(self.steps.tolist()):
                if a <= n_letters and b <= n_phones:
                    one = _numbers(spelled, a, self.bases[0])[:, :, None] * self.span
                    grid[:, a:, b:, s] = one + _numbers(said, b, self.bases[1])[:, None, :]
            yield own, grid.reshape(len(own), -1, len(self.steps))

    def pairs(self, entries: Sequence[Entry]) -> Pairs:
        """Return entries as the kernels read them; all letters and phones must be known."""
        sizes = np.array([(len(entry.letters), len(entry.phones)) for entry in entries], dtype=np.int64).reshape(-1, 2)
        firsts = np.concatenate([[0], np.cumsum((sizes + 1).prod(axis=1))]).astype(np.int64)
        units = np.empty((int(firsts[-1]), len(self.steps)), dtype=np.int32)
        for own, codes in self.grids(entries):
            nodes = firsts[own][:, None] + np.arange(codes.shape[1])
            units[nodes.ravel()] = self.numbers_of(codes).reshape(-1, len(self.steps))
        return Pairs(sizes, firsts, units, self.steps)

    def numbers_of(self, codes: Ints) -> NDArray[np.int32]:
        """Return the numbers of units by their codes; -1 for those that there are not."""
        if not len(self.codes):
            return np.full(codes.shape, -1, dtype=np.int32)
        if self.n_codes <= TABLE:
            return self._table[codes]
        place = np.searchsorted(self.codes, codes)
        found = self.codes[np.minimum(place, len(self.codes) - 1)] == codes
        return np.where(found, place + 1, -1).astype(np.int32)

    @cached_property
    def _table(self) -> NDArray[np.int32]:
        table = np.full(self.n_codes + 1, -1, dtype=np.int32)  # the last is that of code -1
        table[self.codes] = np.arange(1, self.n_units)
        return table

    def single(self) -> Ints:
        """Return the codes of units of one letter or one phone alone: with them every word can be cut up."""
        letters = np.arange(1, self.bases[0], dtype=np.int64) * self.span
        return np.concatenate([np.arange(1, self.bases[1], dtype=np.int64), letters])

    @cached_property
    def units(self) -> list[tuple[str, tuple[str, ...]]]:
        """Letters and phones of each unit; the end has neither."""
        found: list[tuple[str, tuple[str, ...]]] = [("", ())]
        for code in self.codes.tolist():
            letters, phones = divmod(code, self.span)
            spelled = "".join(self.letters[digit - 1] for digit in _digits_of(letters, self.bases[0]))
            found.append((spelled, tuple(self.phones[digit - 1] for digit in _digits_of(phones, self.bases[1]))))
        return found

    @cached_property
    def pieces(self) -> Pieces:
        """What the search reads of units."""
        firsts: dict[str, int] = {"": 1}
        for u, (letters, _) in enumerate(self.units[1:], start=1):
            firsts.setdefault(letters, u)
        bounds = [*firsts.values(), self.n_units]
        number = {phone: n for n, phone in enumerate(self.phones)}
        said = [[number[phone] for phone in phones] for _, phones in self.units]
        return Pieces(
            {letters: n for n, letters in enumerate(firsts)},
            np.column_stack([bounds[:-1], bounds[1:]]).astype(np.int64),
            np.concatenate([[0], np.cumsum([len(own) for own in said])]).astype(np.int64),
            np.array([phone for own in said for phone in own], dtype=np.int32),
        )

    def flaw(self) -> str | None:
        """Return what is wrong with the codes of units; None if they are such."""
        codes = self.codes
        if np.any(np.diff(codes) <= 0) or (len(codes) and (codes[0] < 1 or codes[-1] >= self.n_codes)):
            return "units: their codes do not rise, or are of letters and phones that there are not."
        if any(0 in _digits_of(number, base) for code in codes.tolist() for number, base in self._parts(code)):
            return "units: one has a gap among its letters or phones."
        return None

    def _parts(self, code: int) -> Iterator[tuple[int, int]]:
        yield from zip(divmod(code, self.span), self.bases, strict=True)


def _numbers(digits: Ints, length: int, base: int) -> Ints:
    """Return the numbers of all pieces of some length, (rows, columns - length + 1)."""
    found = np.zeros((len(digits), digits.shape[1] - length + 1), dtype=np.int64)
    for k in range(length):
        found = found * base + digits[:, k : k + found.shape[1]]
    return found


def _digits_of(number: int, base: int) -> list[int]:
    """Return the digits of a number.

    Examples
    --------
    >>> _digits_of(13, 10), _digits_of(0, 10)
    ([1, 3], [])
    """
    found = []
    while number:
        number, digit = divmod(number, base)
        found.append(digit)
    return found[::-1]
