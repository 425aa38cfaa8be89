"""What a section of the report is made of: plain values that the template turns into HTML, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    kind: ClassVar[str] = "text"
    text: str
    title: str = ""


@dataclass(frozen=True)
class Check:
    """One check: whether it is fine, its name, and what was found."""

    fine: bool
    name: str
    text: str


@dataclass(frozen=True)
class Checks:
    """A list of checks, those that are not fine first."""

    kind: ClassVar[str] = "checks"
    items: Sequence[Check]
    title: str = ""


@dataclass(frozen=True)
class Trait:
    """How a class differs from the whole: a column, its value in the class, and in the whole table."""

    column: str
    value: str
    overall: str


@dataclass(frozen=True)
class Card:
    """A class: its name, share (0 to 1, and in words) of what, traits, and a note."""

    name: str
    share: float
    shown: str
    traits: Sequence[Trait]
    of: str = "of the rows"
    note: str = ""


@dataclass(frozen=True)
class Cards:
    """A card per class."""

    kind: ClassVar[str] = "cards"
    items: Sequence[Card]


@dataclass(frozen=True)
class HeatCell:
    """A value as text; `tone` from -1 (far below the whole) to 1 (far above) colours it; `note` explains it."""

    text: str
    tone: float
    note: str


@dataclass(frozen=True)
class HeatRow:
    """A row of a heat map; `group` is the column that the row belongs to."""

    group: str
    label: str
    overall: str
    cells: Sequence[HeatCell]


@dataclass(frozen=True)
class Heat:
    """A table with coloured cells; arrows say which are far above and below."""

    kind: ClassVar[str] = "heat"
    caption: str
    head: Sequence[str]
    rows: Sequence[HeatRow]
    note: str = ""
    arrows: bool = True


@dataclass(frozen=True)
class Grid:
    """A table: the first column heads its rows, and `text` says which others are words, not numbers."""

    kind: ClassVar[str] = "grid"
    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    title: str = ""
    text: frozenset[int] = frozenset()
    note: str = ""


@dataclass(frozen=True)
class Figure:
    """A figure: inline SVG, and a caption."""

    kind: ClassVar[str] = "figure"
    svg: str
    caption: str
    title: str = ""


@dataclass(frozen=True)
class Beside:
    """Parts that stand side by side where there is room."""

    kind: ClassVar[str] = "beside"
    parts: Sequence[Part]


@dataclass(frozen=True)
class Code:
    """Something to type."""

    kind: ClassVar[str] = "code"
    title: str
    text: str


Part = Text | Checks | Cards | Heat | Grid | Figure | Beside | Code


@dataclass(frozen=True)
class Section:
    """A section of the page: `key` is its anchor."""

    key: str
    title: str
    lead: str = ""
    parts: Sequence[Part] = field(default_factory=list)
