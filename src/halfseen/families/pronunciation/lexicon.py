"""Dictionaries as they are given: words and pronunciations, checked, each word as its letters.

Letters are characters of Unicode in composed form (NFC), so that é is one letter; with `lowercase` without their case.
Apostrophes, hyphens and points are letters like others: a dictionary tells how they sound.
"""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from halfseen.data.pronunciations import read_dictionary
from halfseen.errors import DataError, UnknownLetterWarning, warn

STRESS = "012"  # after vowels, as in CMUdict
SHOWN = 10  # letters, phones and words that a message lists


class Entry(NamedTuple):
    """A word and one of its pronunciations.

    Attributes
    ----------
    word : str               as it was given
    letters : str            its letters
    phones : tuple of str
    """

    word: str
    letters: str
    phones: tuple[str, ...]


def letters_of(word: str, lowercase: bool) -> str:
    """Return the letters of a word.

    Examples
    --------
    >>> letters_of("E\u0301cole", lowercase=True), letters_of("O'Hara", lowercase=False)
    ('école', "O'Hara")
    """
    text = unicodedata.normalize("NFC", word)
    return unicodedata.normalize("NFC", text.lower()) if lowercase else text


def read_entries(dictionary: Any, lowercase: bool, stress: bool = True) -> list[Entry]:
    """Return the entries of a dictionary, or of a file of one, in its order; refuse what is none.

    Examples
    --------
    >>> read_entries({"Cat": [["K", "AE1", "T"]]}, lowercase=True, stress=False)
    [Entry(word='Cat', letters='cat', phones=('K', 'AE', 'T'))]
    """
    if isinstance(dictionary, str | os.PathLike):
        dictionary = read_dictionary(dictionary)
    if not isinstance(dictionary, Mapping):
        raise DataError(
            f"dictionary={dictionary!r:.60} is not a dictionary {{word: [[phones], ...]}}, nor the path of one."
        )
    found = [
        Entry(word, letters_of(word, lowercase), phones if stress else _unstressed(word, phones))
        for word, ways in dictionary.items()
        for phones in _ways(word, ways)
    ]
    if not found:
        raise DataError("the dictionary has no words.")
    return found


def _ways(word: Any, ways: Any) -> Iterator[tuple[str, ...]]:
    """Yield the pronunciations of a word."""
    if not isinstance(word, str) or word.strip() != word or len(word.splitlines()) != 1:
        raise DataError(f"the dictionary has {word!r:.60} where a word belongs, a text without blanks around it.")
    if isinstance(ways, str) or not isinstance(ways, Iterable):
        raise DataError(f"{word!r}: {ways!r:.60} is not a list of pronunciations, such as [['K', 'AE', 'T']].")
    several = list(ways)
    if not several:
        raise DataError(f"{word!r} has no pronunciation.")
    for phones in several:
        if isinstance(phones, str) or not isinstance(phones, Iterable):
            raise DataError(f"{word!r}: {phones!r:.60} is not a list of phones, such as ['K', 'AE', 'T'].")
        listed = tuple(phones)
        if not listed:
            raise DataError(f"{word!r} has a pronunciation without phones.")
        wrong = next((phone for phone in listed if not isinstance(phone, str) or phone.split() != [phone]), None)
        if wrong is not None:
            raise DataError(f"{word!r}: {wrong!r:.60} is not a phone: a text without blanks.")
        yield listed


def _unstressed(word: str, phones: tuple[str, ...]) -> tuple[str, ...]:
    """Return phones without the digits of stress."""
    found = tuple(phone.rstrip(STRESS) for phone in phones)
    if not all(found):
        raise DataError(f"{word!r}: {phones[found.index('')]!r} is a digit of stress alone. Use stress=True.")
    return found


def distinct(entries: Iterable[Entry]) -> list[Entry]:
    """Return entries with letters and phones of their own, sorted: results do not depend on the order of words."""
    return sorted({(entry.letters, entry.phones): entry for entry in entries}.values(), key=lambda one: one[1:])


def read_words(words: Any) -> list[str]:
    """Return words, each once; refuse what is none."""
    if isinstance(words, str):
        words = [words]
    if not isinstance(words, Iterable):
        raise DataError(f"words={words!r:.60} is not a list of words.")
    found = list(dict.fromkeys(words))
    for word in found:
        if not isinstance(word, str) or word.strip() != word or not word:
            raise DataError(f"{word!r:.60} is not a word: a text without blanks around it.")
    return found


def known_letters(words: Mapping[str, str], letters: Iterable[str], on_unknown: str) -> dict[str, str]:
    """Return words by their letters, once all letters are known.

    Letters that are not known are an error; or with "replace" they become the letter without its marks (é is e), or
    are left out where that is not known either; or with "skip" their words are left out. A warning names them.
    """
    known = set(letters)
    strange = {letter: word for word, own in words.items() for letter in own if letter not in known}
    if not strange:
        return dict(words)
    if on_unknown == "error":
        raise DataError(
            f"letters that the dictionary did not have: {_listed(strange)}. Add words with them to the dictionary, or "
            "use on_unknown='replace': é is then read as e, and a letter that has no such form is left out."
        )
    if on_unknown == "skip":
        found = {word: own for word, own in words.items() if known.issuperset(own)}
        warn(
            f"{len(words) - len(found)} words left out: they have letters that the dictionary did not have: "
            f"{_listed(strange)}.",
            UnknownLetterWarning,
        )
        return found
    return _replaced(words, known, sorted(strange))


def _listed(strange: Mapping[str, str]) -> str:
    """Return letters, each with a word that has it."""
    more = f" and {len(strange) - SHOWN} more" if len(strange) > SHOWN else ""
    return ", ".join(f"{letter!r} ({word})" for letter, word in list(strange.items())[:SHOWN]) + more


def _replaced(words: Mapping[str, str], known: set[str], strange: list[str]) -> dict[str, str]:
    """Return words with other letters in place of strange ones."""
    plain = {letter: "".join(c for c in unicodedata.normalize("NFKD", letter) if c in known) for letter in strange}
    found = {word: "".join(plain.get(letter, letter) for letter in own) for word, own in words.items()}
    empty = next((word for word, own in found.items() if not own), None)
    if empty is not None:
        raise DataError(f"{empty!r} has no letter that the dictionary had.")
    read = [f"{letter!r} as {plain[letter]!r}" for letter in strange if plain[letter]]
    lost = [repr(letter) for letter in strange if not plain[letter]]
    told = [f"read {', '.join(read[:SHOWN])}"] if read else []
    told += [f"left out {', '.join(lost[:SHOWN])}"] if lost else []
    warn(f"letters that the dictionary did not have: {'; '.join(told)}.", UnknownLetterWarning)
    return found
