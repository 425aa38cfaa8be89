"""Pronunciation dictionaries: words and their units, read from files."""

from __future__ import annotations

import os
import re

from halfseen.data.encodings import read_text
from halfseen.errors import DataError

__all__ = ["read_dictionary"]


def read_dictionary(path: str | os.PathLike[str]) -> dict[str, list[list[str]]]:
    r"""Read a pronunciation dictionary: a word and its units on each line, a line for each pronunciation.

    A line is `word<TAB>units`, or with probabilities between them, each in a field of its own, as of the Montreal
    Forced Aligner: `word<TAB>0.99<TAB>0.2<TAB>units`. Units are separated by blanks; those that are numbers are units
    like others. A line without tabs is `word units`; there numbers with a decimal point directly after the word are
    probabilities, `word 0.5 units`. Probabilities, the marks "(2)" of further pronunciations, lines that begin with ;;;
    or #, and comments after " # " in lines without tabs, as of CMUdict, are left out.

    Examples
    --------
    >>> import tempfile, os
    >>> path = os.path.join(tempfile.mkdtemp(), "a.dict")
    >>> with open(path, "w") as file:
    ...     _ = file.write("the\tdh ah\nthe\t0.3\tdh iy\nof\t0 v\ncat 0.9 k ae t\n")
    >>> read_dictionary(path)
    {'the': [['dh', 'ah'], ['dh', 'iy']], 'of': [['0', 'v']], 'cat': [['k', 'ae', 't']]}
    """
    found: dict[str, dict[tuple[str, ...], None]] = {}
    for number, line in enumerate(read_text(path).splitlines(), start=1):
        if not line.strip() or line.startswith((";;;", "#")):
            continue
        word, units = _entry(line)
        if not units:
            raise DataError(f"{os.fspath(path)}, line {number}: {line!r:.80} has a word without units.")
        if not word:
            raise DataError(f"{os.fspath(path)}, line {number}: {line!r:.80} has units without a word.")
        found.setdefault(word, {})[tuple(units)] = None
    if not found:
        raise DataError(f"{os.fspath(path)}: the dictionary is empty.")
    return {word: [list(units) for units in ways] for word, ways in found.items()}


NUMBER = re.compile(r"(?:\d++(?:\.\d*+)?|\.\d++)(?:[eE][-+]?\d++)?")  # a probability, as a field between tabs
COMMENT = re.compile(r"\s#(?:\s|$)")
DECIMAL = re.compile(r"\d*+\.\d++")  # one among blanks, where a whole number may be a unit


def _entry(line: str) -> tuple[str, list[str]]:
    """Return word and units of a line, without probabilities: the last field or unit is never one."""
    tabs = "\t" in line
    word, *fields = line.split("\t") if tabs else COMMENT.split(line, 1)[0].split()
    name, *more = word.split() or [""]
    if more and all(map(DECIMAL.fullmatch, more)):  # Kaldi: a blank between word and probability, then a tab
        word = name
    fields = [field.strip() for field in fields if field.strip()]
    first = 0
    while first < len(fields) - 1 and (NUMBER if tabs else DECIMAL).fullmatch(fields[first]):
        first += 1
    units = [unit for field in fields[first:] for unit in field.split()]
    return re.sub(r"\(\d+\)$", "", word.strip()), units
