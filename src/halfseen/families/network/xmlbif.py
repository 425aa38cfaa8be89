"""XMLBIF, the XML form of BIF: of JavaBayes, Weka, SamIam, pgmpy, and pyAgrum's ``.bifxml``.

    <BIF VERSION="0.3"> <NETWORK>
    <VARIABLE TYPE="nature"> <NAME>a</NAME> <OUTCOME>yes</OUTCOME> <OUTCOME>no</OUTCOME> </VARIABLE>
    <DEFINITION> <FOR>a</FOR> <GIVEN>b</GIVEN> <TABLE>0.1 0.9 0.5 0.5</TABLE> </DEFINITION>

A table lists its numbers with the variable's own state changing fastest, then the last parent's. Blanks around names
are dropped unless ``xml:space="preserve"`` is set. A file that declares entities is refused: networks
do not need them, and they can expand a small file until memory is full.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from math import prod
from typing import Any
from xml.parsers import expat

import numpy as np

from halfseen.errors import DataError, ParameterError
from halfseen.families.network.bif import BifNetwork, check_family, check_row

__all__ = ["parse_xmlbif", "xmlbif_text"]

_FAMILY = ("DEFINITION", "PROBABILITY")  # the second in files before version 0.3
_STATE = ("OUTCOME", "VALUE")
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_SIGNS = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;"}  # a bare return is read back as the end of a line


@dataclass
class _Element:
    """An element with its line, its children and the text in it."""

    name: str
    line: int
    keeps_blanks: bool = False
    children: list[_Element] = field(default_factory=list)
    pieces: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        found = "".join(self.pieces)
        return found if self.keeps_blanks else found.strip()

    def all(self, *names: str) -> list[_Element]:
        return [child for child in self.children if child.name in names]


class _Reader:
    """The elements of a file; errors name file and line."""

    def __init__(self, content: bytes, where: str) -> None:
        self.where = where
        self.root = _Element("", 1)
        self.open = [self.root]
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = lambda name: self.open.pop() and None
        self.parser.CharacterDataHandler = lambda text: self.open[-1].pieces.append(text)
        self.parser.EntityDeclHandler = self._entity
        self.parser.SkippedEntityHandler = self._entity
        try:
            self.parser.Parse(content, True)
        except expat.ExpatError as error:
            what = expat.ErrorString(error.code)
            raise DataError(f"{where}, line {error.lineno}: this is not well-formed XML: {what}.") from error
        except (LookupError, ValueError) as error:
            if isinstance(error, DataError):
                raise
            raise DataError(f"{where}, line 1: its encoding cannot be read: {error}. Save it in UTF-8.") from error

    def _start(self, name: str, attributes: Mapping[str, str]) -> None:
        found = _Element(name, self.parser.CurrentLineNumber, attributes.get("xml:space") == "preserve")
        kind = attributes.get("TYPE", "nature")
        if name == "VARIABLE" and kind != "nature":
            raise self.error(f"a variable is of type {kind!r}; only 'nature' is read.", found)
        self.open[-1].children.append(found)
        self.open.append(found)

    def _entity(self, name: str, *_: Any) -> None:
        line = self.parser.CurrentLineNumber
        raise DataError(
            f"{self.where}, line {line}: entity {name!r}: entities are not supported. Write the text itself."
        )

    def error(self, what: str, at: _Element) -> DataError:
        return DataError(f"{self.where}, line {at.line}: {what}")

    def one(self, parent: _Element, name: str) -> _Element:
        found = parent.all(name)
        if len(found) != 1:
            raise self.error(f"<{parent.name}> has {len(found)} <{name}>; it should have one.", parent)
        return found[0]


def parse_xmlbif(content: bytes, where: str = "text") -> BifNetwork:
    """Read a network from the content of an XMLBIF file.

    Examples
    --------
    >>> net = parse_xmlbif(
    ...     b"<BIF><NETWORK><VARIABLE><NAME>a</NAME><OUTCOME>&lt;5</OUTCOME><OUTCOME>more</OUTCOME></VARIABLE>"
    ...     b"<DEFINITION><FOR>a</FOR><TABLE>0.3 0.7</TABLE></DEFINITION></NETWORK></BIF>"
    ... )
    >>> net.states, net.tables["a"].tolist()
    ({'a': ('<5', 'more')}, [0.3, 0.7])
    """
    reader = _Reader(content, where)
    [top] = reader.root.children
    if not top.all("NETWORK"):
        raise reader.error("there is no <NETWORK>: this is not an XMLBIF file.", top)
    network = reader.one(top, "NETWORK")
    states: dict[str, tuple[str, ...]] = {}
    for variable in network.all("VARIABLE"):
        name = reader.one(variable, "NAME").text
        if name in states:
            raise reader.error(f"variable {name!r} is defined twice.", variable)
        states[name] = own = tuple(state.text for state in variable.all(*_STATE))
        if not own:
            raise reader.error(f"variable {name!r} has no states. Add them: <OUTCOME>yes</OUTCOME>.", variable)
        if len(set(own)) < len(own):
            raise reader.error(f"variable {name!r} has a state twice: {', '.join(own)}.", variable)
    if not states:
        raise reader.error("there is no <VARIABLE>.", network)
    parents: dict[str, tuple[str, ...]] = {}
    tables = {}
    for family in network.all(*_FAMILY):
        child = reader.one(family, "FOR").text
        if child in parents:
            raise reader.error(f"the probabilities of {child!r} are given twice.", family)
        parents[child] = tuple(given.text for given in family.all("GIVEN"))
        check_family(child, parents[child], states, partial(reader.error, at=family))
        shape = tuple(len(states[name]) for name in (*parents[child], child))
        tables[child] = _table(reader, child, reader.one(family, "TABLE"), shape)
    for name in states:
        if name not in tables:
            raise reader.error(f"variable {name!r} has no <DEFINITION> with <FOR>{name}</FOR>.", network)
    return BifNetwork(states, {name: parents[name] for name in states}, {name: tables[name] for name in states})


def _table(reader: _Reader, child: str, table: _Element, shape: tuple[int, ...]) -> Any:
    """Read the table of a family: an axis for each parent, then the variable's own."""
    numbers = []
    for text in table.text.replace(",", " ").split():
        try:
            numbers.append(float(text))
        except ValueError:
            raise reader.error(f"{text!r} in the table of {child!r} is not a number.", table) from None
    if len(numbers) != prod(shape):
        asked = f"its states and parents require {prod(shape)}"
        raise reader.error(f"the table of {child!r} has {len(numbers)} numbers; {asked}.", table)
    rows = np.reshape(numbers, (-1, shape[-1])).tolist()
    checked = [check_row(child, row, partial(reader.error, at=table)) for row in rows]
    return np.reshape(checked, shape)


# ---- writing----------------------------------------------------------------------------------------------------------


def xmlbif_text(network: BifNetwork) -> str:
    """Return the text of an XMLBIF file; numbers are read back to the last bit."""
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', '<BIF VERSION="0.3">', "<NETWORK>", _element("NAME", "unknown")]
    for name, own in network.states.items():
        lines += ['<VARIABLE TYPE="nature">', "  " + _element("NAME", name)]
        lines += ["  " + _element("OUTCOME", state) for state in own]
        lines.append("</VARIABLE>")
    for name, parents in network.parents.items():
        lines += ["<DEFINITION>", "  " + _element("FOR", name)]
        lines += ["  " + _element("GIVEN", parent) for parent in parents]
        rows = np.reshape(network.tables[name], (-1, len(network.states[name]))).tolist()
        lines += ["  <TABLE>", *("    " + " ".join(map(repr, row)) for row in rows), "  </TABLE>", "</DEFINITION>"]
    return "\n".join([*lines, "</NETWORK>", "</BIF>", ""])


def _element(name: str, text: str) -> str:
    wrong = _NOT_XML.search(text)
    if wrong:
        raise ParameterError(f"{text!r} has a character that XML cannot represent, {wrong[0]!r}: use a .bif file.")
    blanks = ' xml:space="preserve"' if text != text.strip() else ""
    escaped = "".join(_SIGNS.get(sign, sign) for sign in text)
    return f"<{name}{blanks}>{escaped}</{name}>"
