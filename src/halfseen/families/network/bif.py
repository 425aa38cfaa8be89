"""BIF, the interchange format for Bayesian networks of bnlearn, pgmpy, pyAgrum, GeNIe, JavaBayes and others.

    network NAME { property ... ; }
    variable NAME { type discrete [ 2 ] { yes, no }; }
    probability ( CHILD | PARENT, PARENT ) { (yes, no) 0.1, 0.9; default 0.5, 0.5; }

The reader accepts: names and states with any characters but ``{ } ( ) [ ] , ; |`` (these in double quotes), blanks
also without quotes where commas separate the names, parents in any order, rows in any order by the names of the
parents' states, `default` for missing rows, `table`, comments (``//`` and ``/* */``), properties
(ignored), UTF-8 or Latin-1.

A `table` of a variable with parents lists all its numbers with the variable's own state changing slowest, then the
parents' in their order; if only the other order (own state fastest) gives rows that sum to one, that order is used.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import chain, product
from math import prod
from typing import Any, NamedTuple

import numpy as np

from halfseen.errors import DataError
from halfseen.structures.graph import oversized

__all__ = ["BifNetwork", "bif_text", "check_family", "check_row", "parse_bif"]

_TOKEN = re.compile(
    r"""(?P<blank>\s+|//[^\n]*|/\*.*?\*/)|(?P<quoted>"(?:[^"\\]|\\.)*")|(?P<sign>[{}()\[\],;|])"""
    r"""|(?P<comment>/\*)|(?P<word>[^\s{}()\[\],;|"]+)|(?P<bad>.)""",
    re.DOTALL,
)
_PLAIN = re.compile(r"""(?!//|/\*)[^\s{}()\[\],;|"\\]+""")
ROUNDED = 5e-3  # a row of typed probabilities sums to one within this, and is divided by its sum
EXACT = 1e-9  # rows that sum to one within this are kept unchanged


class BifNetwork(NamedTuple):
    """A network as written in a file: states, parents and tables by variable, in the order of the file."""

    states: dict[str, tuple[str, ...]]
    parents: dict[str, tuple[str, ...]]
    tables: dict[str, Any]


class _Token(NamedTuple):
    text: str
    at: int
    sign: bool


class _Reader:
    """A stream of tokens; errors name file and line."""

    def __init__(self, text: str, where: str) -> None:
        self.text, self.where = text, where
        self.tokens: list[_Token] = []
        for match in _TOKEN.finditer(text):
            kind, found = match.lastgroup, match.group()
            if kind == "quoted":
                self.tokens.append(_Token(re.sub(r"\\(.)", r"\1", found[1:-1]), match.start(), False))
            elif kind == "comment":
                raise self.error("a comment begins here, /*, that does not end.", match.start())
            elif kind == "bad":
                raise self.error(f"{found!r} begins a quoted name that does not end.", match.start())
            elif kind != "blank":
                self.tokens.append(_Token(found, match.start(), kind == "sign"))
        self.place = 0

    def error(self, what: str, at: int | None = None) -> DataError:
        """Return the error, with the line of a position in the text: by default of the last token."""
        if at is None:
            last = self.tokens[max(self.place - 1, 0) : self.place] or self.tokens[:1]
            at = last[0].at if last else 0
        return DataError(f"{self.where}, line {self.text.count(chr(10), 0, at) + 1}: {what}")

    def next(self, expected: str = "more") -> _Token:
        if self.place == len(self.tokens):
            raise self.error(f"the file ends where {expected} is expected.", len(self.text))
        self.place += 1
        return self.tokens[self.place - 1]

    def sees(self, sign: str) -> bool:
        """Whether a sign comes next; consume it if it does."""
        found = self.place < len(self.tokens) and self.tokens[self.place][::2] == (sign, True)
        self.place += found
        return found

    def expect(self, sign: str) -> None:
        token = self.next(repr(sign))
        if token[::2] != (sign, True):
            raise self.error(f"found {token.text!r}, expected {sign!r}.")

    def word(self, what: str) -> str:
        token = self.next(what)
        if token.sign:
            raise self.error(f"found {token.text!r}, expected {what}. Put names with such characters in quotes.")
        return token.text

    def words(self, what: str) -> list[str]:
        """Read one word or more, up to a sign: some programs write names with blanks and without quotes."""
        found = [self.word(what)]
        while self.place < len(self.tokens) and not self.tokens[self.place].sign:
            found.append(self.word(what))
        return found

    def listed(self, what: str, end: str) -> list[list[str]]:
        """Read words between commas, up to a sign."""
        found: list[list[str]] = []
        while not self.sees(end):
            if not self.sees(","):
                found.append(self.words(what))
        return found

    def numbers(self) -> list[float]:
        found = []
        for text in chain(*self.listed("a number", ";")):
            try:
                found.append(float(text))
            except ValueError:
                raise self.error(f"{text!r} is not a number.") from None
        return found

    def skip(self) -> None:
        """Skip a property."""
        while self.next("';'")[::2] != (";", True):
            pass


def _names(listed: list[list[str]], commas: bool) -> list[str]:
    """Return the names in a list: separated by commas, or else every word."""
    return [" ".join(words) for words in listed] if commas else list(chain(*listed))


def parse_bif(text: str, where: str = "text") -> BifNetwork:
    """Read a network from the text of a BIF file.

    Examples
    --------
    >>> net = parse_bif('variable a { type discrete [2] { "<5", >=5 }; } probability ( a ) { table 0.3, 0.7; }')
    >>> net.states, net.tables["a"].tolist()
    ({'a': ('<5', '>=5')}, [0.3, 0.7])
    """
    reader = _Reader(text, where)
    states: dict[str, tuple[str, ...]] = {}
    blocks: dict[str, tuple[tuple[str, ...], int]] = {}
    while reader.place < len(reader.tokens):
        word = reader.word("'network', 'variable' or 'probability'")
        if word == "network":
            _network(reader)
        elif word == "variable":
            name = " ".join(reader.words("the name of a variable"))
            if name in states:
                raise reader.error(f"variable {name!r} is defined twice.")
            states[name] = _variable(reader, name)
        elif word == "probability":
            child, parents = _family(reader, states)
            if child in blocks:
                raise reader.error(f"the probabilities of {child!r} are given twice.")
            blocks[child] = (parents, reader.place)
            _pass_over(reader)
        elif word != "property":
            raise reader.error(f"found {word!r}, expected 'network', 'variable' or 'probability'.")
        else:
            reader.skip()
    return _network_of(reader, states, blocks)


def _network(reader: _Reader) -> None:
    while not reader.sees("{"):
        reader.word("the name of the network, or '{',")
    while not reader.sees("}"):
        if not reader.sees(";"):
            reader.skip()


def _variable(reader: _Reader, name: str) -> tuple[str, ...]:
    """Read the states of a variable."""
    reader.expect("{")
    found: tuple[str, ...] | None = None
    while not reader.sees("}"):
        word = reader.word("'type' or 'property'")
        if word != "type":
            reader.skip()
            continue
        kind = reader.word("'discrete'")
        if kind != "discrete":
            raise reader.error(f"variable {name!r} is of type {kind!r}; only 'discrete' is read.")
        reader.expect("[")
        size = reader.word("the number of states")
        reader.expect("]")
        reader.expect("{")
        listed = reader.listed("a state", "}")
        found = tuple(_names(listed, commas=str(len(listed)) == size))
        if size != str(len(found)):
            raise reader.error(
                f"variable {name!r} should have {size} states and lists {len(found)}: {', '.join(found)}."
            )
        if len(set(found)) < len(found):
            raise reader.error(f"variable {name!r} has a state twice: {', '.join(found)}.")
        reader.sees(";")
    if not found:
        raise reader.error(f"variable {name!r} has no states. Give them: 'type discrete [ 2 ] {{ yes, no }};'.")
    return found


def _family(reader: _Reader, states: Mapping[str, object]) -> tuple[str, tuple[str, ...]]:
    reader.expect("(")
    child = " ".join(reader.words("the name of a variable"))
    if reader.sees(")"):
        return child, ()
    if not reader.sees("|") and not reader.sees(","):  # old files have commas only
        reader.expect("|")
    listed = reader.listed("the name of a parent", ")")
    return child, tuple(_names(listed, commas=all(" ".join(words) in states for words in listed)))


def _pass_over(reader: _Reader) -> None:
    """Skip the rows of a table: they are read when all variables are known."""
    reader.expect("{")
    while not reader.sees("}"):
        reader.next("'}'")


def _network_of(
    reader: _Reader, states: Mapping[str, tuple[str, ...]], blocks: Mapping[str, tuple[tuple[str, ...], int]]
) -> BifNetwork:
    if not states:
        raise reader.error("there is no variable: this is not a BIF file.", 0)
    tables = {}
    for child, (parents, place) in blocks.items():
        reader.place = place
        check_family(child, parents, states, reader.error)
        tables[child] = _table(reader, child, [states[name] for name in (*parents, child)])
    for name in states:
        if name not in tables:
            raise reader.error(f"variable {name!r} has no 'probability ( {name} ... )'.", len(reader.text))
    return BifNetwork(dict(states), {name: blocks[name][0] for name in states}, {name: tables[name] for name in states})


def check_family(
    child: str, parents: Sequence[str], states: Mapping[str, tuple[str, ...]], error: Callable[[str], DataError]
) -> None:
    """Refuse a family with an undefined or repeated variable, or a table too large; `error` adds the position."""
    for name in (child, *parents):
        if name not in states:
            raise error(f"there are probabilities of {name!r}, but no variable of that name.")
    if len({child, *parents}) <= len(parents):
        raise error(f"a parent of {child!r} is repeated, or is {child!r} itself.")
    too_large = oversized([len(states[name]) for name in (*parents, child)])
    if too_large:
        raise error(f"the table of {child!r} {too_large}")


def _table(reader: _Reader, child: str, states: Sequence[tuple[str, ...]]) -> Any:
    """Read the table of a family: an axis for each parent, then the variable's own."""
    shape = tuple(len(own) for own in states)
    codes = [{state: code for code, state in enumerate(own)} for own in states[:-1]]
    found = np.full(shape, np.nan)
    default: list[float] | None = None
    reader.expect("{")
    while not reader.sees("}"):
        if reader.sees("("):
            listed = reader.listed("a state of a parent", ")")
            key = _names(listed, commas=len(listed) == len(codes))
            at = _place(reader, child, key, codes)
            if not np.isnan(found[at]).all():
                raise reader.error(f"the row ({', '.join(key)}) of {child!r} is given twice.")
            found[at] = _row(reader, child, shape[-1])
            continue
        word = reader.word("'table', 'default' or a row such as '(yes, no) 0.1, 0.9;'")
        if word == "table":
            found = _whole(reader, child, reader.numbers(), shape)
        elif word == "default":
            default = _row(reader, child, shape[-1])
        elif word == "property":
            reader.skip()
        else:
            raise reader.error(f"found {word!r}, expected 'table', 'default' or a row.")
    empty = np.isnan(found).any(axis=-1)
    if empty.any():
        if default is None:
            first = np.argwhere(empty)[0]
            row = ", ".join(own[i] for own, i in zip(states, first, strict=False))
            raise reader.error(
                f"{child!r} lacks {int(empty.sum())} of {empty.size} rows, the first for ({row}), and has no 'default'."
            )
        found[empty] = default
    return found


def _place(reader: _Reader, child: str, key: Sequence[str], codes: Sequence[dict[str, int]]) -> tuple[int, ...]:
    if len(key) != len(codes):
        raise reader.error(f"the row ({', '.join(key)}) of {child!r} names {len(key)} states for {len(codes)} parents.")
    for state, own in zip(key, codes, strict=True):
        if state not in own:
            raise reader.error(f"the row ({', '.join(key)}) of {child!r}: no state {state!r} among {', '.join(own)}.")
    return tuple(own[state] for state, own in zip(key, codes, strict=True))


def check_row(child: str, numbers: list[float], error: Callable[[str], DataError]) -> list[float]:
    """Return a row of probabilities, divided by its sum if that is not exactly one."""
    total = sum(numbers)
    if min(numbers) < 0 or not abs(total - 1) <= ROUNDED:
        raise error(f"a row of {child!r} sums to {total:.6g}, or has a number below 0: {numbers!r:.120}.")
    return numbers if abs(total - 1) <= EXACT else [p / total for p in numbers]


def _row(reader: _Reader, child: str, size: int) -> list[float]:
    numbers = reader.numbers()
    if len(numbers) != size:
        raise reader.error(f"a row of {child!r} has {len(numbers)} numbers for {size} states.")
    return check_row(child, numbers, reader.error)


def _whole(reader: _Reader, child: str, numbers: list[float], shape: tuple[int, ...]) -> Any:
    if len(numbers) != prod(shape):
        raise reader.error(
            f"the table of {child!r} has {len(numbers)} numbers; its states and parents require {prod(shape)}."
        )
    values = np.array(numbers)
    slowest = np.moveaxis(values.reshape(shape[-1], *shape[:-1]), 0, -1)
    quickest = values.reshape(shape)
    chosen = slowest if np.abs(slowest.sum(axis=-1) - 1).max() <= ROUNDED else quickest
    rows = [check_row(child, row, reader.error) for row in chosen.reshape(-1, shape[-1]).tolist()]
    return np.array(rows).reshape(shape)


# ---- writing----------------------------------------------------------------------------------------------------------


def bif_text(network: BifNetwork) -> str:
    """Return the text of a BIF file; numbers are read back to the last bit."""
    lines = ["network unknown {", "}"]
    for name, own in network.states.items():
        listed = ", ".join(map(_quoted, own))
        lines += [f"variable {_quoted(name)} {{", f"  type discrete [ {len(own)} ] {{ {listed} }};", "}"]
    for name, parents in network.parents.items():
        given = f" | {', '.join(map(_quoted, parents))}" if parents else ""
        lines.append(f"probability ( {_quoted(name)}{given} ) {{")
        rows = np.reshape(network.tables[name], (-1, len(network.states[name]))).tolist()
        for key, row in zip(product(*[network.states[p] for p in parents]), rows, strict=True):
            start = f"({', '.join(map(_quoted, key))})" if parents else "table"
            lines.append(f"  {start} {', '.join(map(repr, row))};")
        lines.append("}")
    return "\n".join([*lines, ""])


def _quoted(name: str) -> str:
    if _PLAIN.fullmatch(name):
        return name
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
