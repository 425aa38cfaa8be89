"""The words of a transcript, and the text as it is written around them.

- *token*: a word as it is aligned, with the text that it stands for, including the punctuation around it.
- *label*: the name of a speaker in front of a line, `ANNA:` or, if it comes back, `Anna:`. It is shown but was not
  spoken.
- *cue*: what is in square brackets, `[music]`. It is shown but was not spoken.

The texts of the tokens, with a blank before each that is not `joined`, are the transcript: nothing is lost.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator, Sequence
from itertools import groupby, pairwise
from typing import NamedTuple

__all__ = ["Token", "text_of", "tokens_of", "words_of"]

EDGES = '.,;:!?"“”„()[]{}«»‹›…—–-*_/\\‚‘¿¡♪♫|~<>•。！？，、；：「」『』（）《》〈〉・'
SPOKEN = frozenset("&%@+=#§°")  # signs that are read aloud, as are those of currencies
CUE = re.compile(r"\[[^\[\]\n]*+\]")
LABEL = re.compile(r"(?:>>+|[-–—])?[ \t]*+([^\W\d_][^\n:,;!?]{0,29}):(?=\s|$)")
LABEL_WORDS = 3  # of a name that is not in capitals, at most
DASHES = re.compile(r"(?<=[^\W_])((?:—|–|--|…|\.\.\.|/)[\"'”’]?)(?=[^\W_])")  # between words without a blank
HYPHEN = re.compile(r"(?<=[^\W_])(-)(?=[^\W_])")
NARROW, FEW = 50, 2  # characters, and line ends: below, lines are taken for those of a poem or a list
NUMBER = re.compile(r"[\d.,:/–-]+")
END = re.compile(r"[.?!…。？！][\"'”’»)\]]*$")
ABBREVIATED = re.compile(
    r"mrs?|ms|dr|prof|st|mt|vs|e\.g|i\.e|cf|approx|gen|col|capt|sgt|lt|rev|hon|gov|sen|rep|sra|mme|mlle|hr"
    r"|bzw|z\.b|d\.h|u\.a|ca"
)
BEFORE_NUMBERS = re.compile(  # abbreviations if a number is next
    r"nos?|nrs?|pp?|figs?|vol|ch|sec|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec|okt|dez"
)


class Token(NamedTuple):
    """A word of a transcript.

    Attributes
    ----------
    word : str        as it is aligned: spelled as in the dictionary
    text : str        as it is written, with punctuation, labels and cues that stand beside it
    line : int        number of its line, from 1
    sentence : int    number of its sentence
    joined : bool     whether no blank stands before it: the second word of "yes—no"
    """

    word: str
    text: str
    line: int = 1
    sentence: int = 0
    joined: bool = False


class _Part(NamedTuple):
    """A piece of text without blanks; `word` is empty if it was not spoken."""

    word: str
    text: str
    line: int
    joined: bool


def tokens_of(text: str, known: Collection[str] | None = None) -> tuple[Token, ...]:
    r"""Return the words of a text, spelled as in the dictionary; without one, in lower case without punctuation.

    What was not spoken belongs to a word beside it: cues in square brackets and labels of speakers to the next one, or
    to the one before at the end of a line; dashes alone to the one before. Words with dashes between are split; those
    with hyphens if only their parts are in the dictionary. Numbers and signs such as "$5" are words.

    Examples
    --------
    >>> for token in tokens_of("ANNA: Well — yes!\n[laughs] It's well-known.", {"It's", "well", "known", "yes"}):
    ...     print(token)
    Token(word='well', text='ANNA: Well —', line=1, sentence=0, joined=False)
    Token(word='yes', text='yes!', line=1, sentence=0, joined=False)
    Token(word="It's", text="[laughs] It's", line=2, sentence=1, joined=False)
    Token(word='well', text='well-', line=2, sentence=1, joined=False)
    Token(word='known', text='known.', line=2, sentence=1, joined=True)
    """
    joined = _attached(list(_parts(text, known)))
    sentence, found = 0, []
    for i, part in enumerate(joined):
        found.append(Token(part.word, part.text, part.line, sentence, part.joined))
        if i + 1 < len(joined) and ends_sentence(part.text, joined[i + 1].text):
            sentence += 1
    return tuple(found)


def text_of(tokens: Sequence[Token]) -> str:
    """Return the text of tokens: those that are not joined have a blank before them."""
    return "".join(("" if token.joined or i == 0 else " ") + token.text for i, token in enumerate(tokens))


def logical_lines(tokens: Sequence[Token]) -> dict[int, int]:
    """Return the first line of the paragraph for each line of prose that is wrapped at a width, and others as they are.

    A text is wrapped if no line is longer than the width, each would be with the first word of the next line, and the
    width is above `NARROW`: such line ends mean nothing.
    """
    texts = {number: text_of(list(group)) for number, group in groupby(tokens, key=lambda token: token.line)}
    width = max(map(len, texts.values()), default=0)
    within = [(one, two) for one, two in pairwise(texts) if two == one + 1]  # lines of one paragraph
    wrapped = all(len(texts[one]) + 1 + len(texts[two].split()[0]) > width for one, two in within)
    found = {number: number for number in texts}
    if wrapped and width > NARROW and len(within) >= FEW:
        for one, two in within:
            found[two] = found[one]
    return found


def words_of(text: str, known: Collection[str] | None = None) -> tuple[str, ...]:
    r"""Return the words of a text, spelled as in the dictionary; see `tokens_of`.

    Examples
    --------
    >>> words_of('"Don\'t," she said.', {"don't", "SHE"})
    ("don't", 'SHE', 'said')
    """
    return tuple(token.word for token in tokens_of(text, known))


def ends_sentence(text: str, following: str) -> bool:
    """Whether a sentence ends with a text, if `following` is next: not after "Dr.", "J." or before a small letter."""
    text = CUE.sub("", text).rstrip(" -–—♪♫")
    if not END.search(text):
        return False
    bare = text.rstrip("\"'”’»)]")
    first = next((sign for sign in CUE.sub("", following) if sign.isalnum()), "")
    if bare.endswith(("?", "!", "。", "？", "！")):
        return bare == text or not first.islower()  # '"Why?" he asked.' is one sentence
    word = bare.rstrip(".…").rpartition(" ")[2].strip(EDGES).lower()
    if not bare.endswith(("…", "...")) and (
        ABBREVIATED.fullmatch(word) or (len(word) == 1 and word.isalpha() and word != "i")
    ):
        return False
    return not first.islower() and not (first.isdigit() and BEFORE_NUMBERS.fullmatch(word))


def _parts(text: str, known: Collection[str] | None) -> Iterator[_Part]:
    """Yield the pieces between blanks, with the words in them."""
    labels = _labels(text)
    for number, line in enumerate(text.splitlines(), start=1):
        silent = [found.span() for found in CUE.finditer(line)]
        if (label := LABEL.match(line.lstrip())) and label[1] in labels:
            silent.append((0, len(line) - len(line.lstrip()) + label.end()))
        for piece in re.finditer(r"\S+", line):
            if any(start <= piece.start() and piece.end() <= end for start, end in silent):
                yield _Part("", piece[0], number, False)
                continue
            for i, (word, shown) in enumerate(_split(piece[0], known)):
                yield _Part(word, shown, number, i > 0)


def _labels(text: str) -> set[str]:
    """Return the names of speakers in front of lines.

    Names in capitals are, if the text has small letters too. Others are all, if one of them comes back.
    """
    found = [label[1] for line in text.splitlines() if (label := LABEL.match(line.lstrip()))]
    mixed = any(sign.islower() for sign in text)
    capitals = {name for name in found if name.isupper() and mixed}
    names = [name for name in found if not name.isupper() and _is_name(name)]
    return capitals | (set(names) if len(set(names)) < len(names) else set())


def _is_name(label: str) -> bool:
    """Whether each of a few words is a number or begins with a capital."""
    words = label.split()
    return len(words) <= LABEL_WORDS and all(word[0].isupper() or word.isdigit() for word in words)


def _split(piece: str, known: Collection[str] | None) -> list[tuple[str, str]]:
    """Return the words of a piece of text, each with its text."""
    word = _spelled(piece, known)
    if (known and word in known) or NUMBER.fullmatch(word):
        return [(word, piece)]
    for between in (DASHES, HYPHEN):
        shown = _cut(piece, between)
        words = [_spelled(one, known) for one in shown]
        split = len(shown) > 1 and all(words)
        if split and (between is DASHES or (known is not None and all(one in known for one in words))):
            return [pair for one in shown for pair in _split(one, known)]
    return [(word, piece)]


def _cut(piece: str, between: re.Pattern[str]) -> list[str]:
    """Cut a piece of text after each match."""
    cuts = [0, *(found.end() for found in between.finditer(piece)), len(piece)]
    return [piece[start:end] for start, end in pairwise(cuts) if end > start]


def _spelled(token: str, known: Collection[str] | None) -> str:
    """Return the word in a piece of text, "" if there is none."""
    plain = token.replace("’", "'")
    bare = plain.strip(EDGES)
    forms = (plain, bare, bare.lower(), bare.upper(), bare.strip("'").lower(), bare.strip("'").upper())
    word = next((form for form in forms if form and known and form in known), bare.lower())
    return word if any(_is_spoken(sign) for sign in word) else ""


def _is_spoken(sign: str) -> bool:
    return sign.isalnum() or sign in SPOKEN or unicodedata.category(sign) == "Sc"


def _attached(parts: Sequence[_Part]) -> list[_Part]:
    """Return the parts with words, each with the text of those without that belong to it."""
    found: list[_Part] = []
    waiting: list[_Part] = []  # for the next word
    for part in parts:
        if found and waiting and part.line != waiting[-1].line:
            _append(found, [one for one in waiting if one.line == found[-1].line])
            waiting = [one for one in waiting if one.line != found[-1].line]
        if part.word:
            found.append(part._replace(text=" ".join([*(one.text for one in waiting), part.text])))
            waiting = []
        elif not found or waiting or found[-1].line != part.line or _opens(part.text) or END.search(found[-1].text):
            waiting.append(part)
        else:
            _append(found, [part])
    if found:
        _append(found, waiting)
    return found


def _append(found: list[_Part], silent: Sequence[_Part]) -> None:
    """Add the text of parts without words to the last word."""
    found[-1] = found[-1]._replace(text=" ".join([found[-1].text, *(one.text for one in silent)]))


def _opens(text: str) -> bool:
    """Whether a piece without a word belongs to what follows: an opening bracket or quote, a note or a bullet."""
    return text[0] in "[([{«‹„“‚‘♪♫¿¡•"
