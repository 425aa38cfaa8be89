r"""Grammars as text, in the syntax of NLTK.

::

    %start S
    S  -> NP VP [1.0]
    NP -> Det N [0.6] | 'John' [0.4]     # words are quoted, probabilities may be left out

A line that ends with a backslash continues in the next one. The first left-hand side is the start unless %start is
given. In symbols a backslash precedes quotes, brackets, ``|``, ``#`` and ``%``: the tag '' of the Penn Treebank is
\'\'.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from halfseen.errors import DataError
from halfseen.structures.rules import MOST_PARTS, Right
from halfseen.structures.trees import Word

__all__ = ["GrammarText", "read_grammar", "read_rule"]

_PART = re.compile(
    r"""\s*(?:("[^"]*"|'[^']*')|(\[[^\]]*\])|(\|)|((?:->|→)(?=\s|$|['"\[|]))|((?:\\['"\[\]|#%]|[^\s'"\[\]|])+)|(.))"""
)
_PROBABILITY = re.compile(r"(?:\d++(?:\.\d*+)?|\.\d++)(?:[eE][+-]?\d++)?")

_ESCAPED = re.compile(r"""\\(['"\[\]|#%])""")


class GrammarText(NamedTuple):
    """A grammar as it was written.

    Attributes
    ----------
    start : str
    rules : dict          (left, right) -> probability, or None if it was not given; in the order of the text
    """

    start: str
    rules: dict[tuple[str, Right], float | None]


def _symbol(text: str) -> str:
    return _ESCAPED.sub(r"\1", text)


def read_rule(text: str) -> tuple[str, Right]:
    """Read one rule without a probability."""
    [*found] = _rules(text, f"rule {text!r}")
    if len(found) != 1 or found[0][2] is not None:
        raise DataError(f"{text!r} is not one rule without a probability, such as NP -> Det N.")
    return found[0][0], found[0][1]


def read_grammar(text: str) -> GrammarText:
    """Read a grammar. A rule that is given twice is one; its probabilities are added.

    Examples
    --------
    >>> from halfseen.structures.rules import rule_text
    >>> found = read_grammar("S -> 'a' S [0.25] | 'a' [0.75]")
    >>> found.start, [(rule_text(*rule), p) for rule, p in found.rules.items()]
    ('S', [("S -> 'a' S", 0.25), ("S -> 'a'", 0.75)])
    """
    start: str | None = None
    rules: dict[tuple[str, Right], float | None] = {}
    for number, line in _lines(text):
        if line.startswith("%"):
            word, _, rest = line[1:].partition(" ")
            if word != "start" or len(rest.split()) != 1:
                raise DataError(f"line {number}: {line!r:.60} is not a known directive. Known: %start S.")
            start = _symbol(rest.strip())
            continue
        for left, right, probability in _rules(line, f"line {number}"):
            before = rules.get((left, right))
            if probability is not None or (left, right) not in rules:
                rules[left, right] = probability if before is None or probability is None else probability + before
    if not rules:
        raise DataError("the grammar has no rules. A rule is a line such as S -> NP VP [1.0].")
    start = start or next(iter(rules))[0]
    if all(left != start for left, _ in rules):
        raise DataError(f"%start {start}: there is no rule for {start!r}.")
    return GrammarText(start, rules)


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines with their numbers, comments and blank lines left out, continued lines joined."""
    begun, first = "", 0
    for number, raw in enumerate(text.splitlines(), start=1):
        line = _without_comment(raw).strip()
        first = first if begun else number
        if line.endswith("\\"):
            begun += line[:-1] + " "
            continue
        line, begun = begun + line, ""
        if line.strip():
            yield first, line.strip()
    if begun.strip():
        yield first, begun.strip()


def _without_comment(line: str) -> str:
    quoted = ""
    for at, letter in enumerate(line):
        if quoted:
            quoted = "" if letter == quoted else quoted
        elif at and line[at - 1] == "\\" and letter in "'\"#":
            continue
        elif letter in "'\"":
            quoted = letter
        elif letter == "#":
            return line[:at]
    return line


def _rules(line: str, where: str) -> Iterator[tuple[str, Right, float | None]]:
    """Yield the alternatives of a line."""
    parts = []
    for found in _PART.finditer(line):
        parts.append(found)
        if found.lastindex == 6:  # an error, reported below; to go on would search the line for the end of each bracket
            break
    if len(parts) < 2 or parts[0].lastindex != 5 or parts[1].lastindex != 4:
        raise DataError(f"{where}: {line!r:.60} is not a rule. Write LEFT -> RIGHT, words in quotes: NP -> Det 'dog'.")
    left = _symbol(parts[0].group(5))
    right: list[str | Word] = []
    probability: float | None = None
    for match in [*parts[2:], None]:
        kind = 3 if match is None else match.lastindex or 6
        own = "" if match is None else match.group(kind)
        if kind == 3:
            if not right:
                raise DataError(
                    f"{where}: {left} has an empty right-hand side, and empty productions are not supported. Write the "
                    "rules that use it twice, with and without it."
                )
            if len(right) > MOST_PARTS:
                raise DataError(
                    f"{where}: a right-hand side of {left} has {len(right):,} symbols; at most {MOST_PARTS:,} are "
                    "possible."
                )
            yield left, tuple(right), probability
            right, probability = [], None
        elif probability is not None:
            raise DataError(f"{where}: {own!r} follows a probability; alternatives are separated by |.")
        elif kind == 1:
            if len(own) == 2:
                raise DataError(f"{where}: {left} has an empty word, {own}; empty productions are not supported.")
            right.append(Word(own[1:-1]))
        elif kind == 2:
            probability = _probability(own[1:-1].strip(), where)
        elif kind == 5:
            right.append(_symbol(own))
        else:
            raise DataError(f"{where}: unexpected {own!r} in {line!r:.60}.")


def _probability(text: str, where: str) -> float:
    if not _PROBABILITY.fullmatch(text) or not 0 <= float(text) <= 1:
        raise DataError(f"{where}: [{text:.60}] is not a probability between 0 and 1.")
    return float(text)
