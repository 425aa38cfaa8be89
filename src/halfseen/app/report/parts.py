"""What a section of the report is made of: plain values that the template turns into HTML, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Self

from halfseen.app.report import csv_link

MANY_ROWS = 12  # of a table from which rows can be filtered


class ClassName(str):
    """The name of a class, or text that begins with it: it is shown with the colour of class number `k`.

    Examples
    --------
    >>> name = ClassName.of("class 1", 1)
    >>> name, name.k
    ('class 1', 1)
    """

    k: int

    @classmethod
    def of(cls, words: str, k: int) -> Self:
        """Return text in the colour of class k."""
        found = cls(words)
        found.k = k
        return found


@dataclass(frozen=True)
class Text:
    """A paragraph; `copied` where people will want to paste it elsewhere."""

    kind: ClassVar[str] = "text"
    text: str
    title: str = ""
    copied: bool = False


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
    """How a class differs from the whole: a column, its value in the class and in the whole table, higher or lower."""

    column: str
    value: str
    overall: str
    way: str = ""


@dataclass(frozen=True)
class Card:
    """A class: its name, share (0 to 1, and in words) of what, traits, and a note; `k` is the number of its colour."""

    name: str
    share: float
    shown: str
    traits: Sequence[Trait]
    of: str = "of the rows"
    note: str = ""
    k: int = 0


@dataclass(frozen=True)
class Cards:
    """A card per class."""

    kind: ClassVar[str] = "cards"
    items: Sequence[Card]
    title: str = ""


@dataclass(frozen=True)
class Facts:
    """A few figures in large type: (value, what it is)."""

    kind: ClassVar[str] = "facts"
    items: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Step:
    """Something to do next, and the command that does it."""

    text: str
    command: str = ""


@dataclass(frozen=True)
class Steps:
    """What to do next."""

    kind: ClassVar[str] = "steps"
    items: Sequence[Step]
    title: str = "What to do next"


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

    @property
    def labels(self) -> str:
        """The head of the column of labels; empty where no row has one, and the column is left out."""
        return self.head[1] if any(row.label for row in self.rows) else ""

    @property
    def shown_head(self) -> Sequence[str]:
        """The heads of the columns that are shown."""
        return self.head if self.labels else [self.head[0], *self.head[2:]]

    @property
    def csv(self) -> str:
        """The table as a link."""
        rows = [[row.group, row.label, row.overall, *(cell.text for cell in row.cells)] for row in self.rows]
        return csv_link.link(self.head, rows)

    @property
    def file(self) -> str:
        """The name of its file."""
        return csv_link.file_name(self.caption)

    @property
    def is_long(self) -> bool:
        """Whether to offer a filter."""
        return len(self.rows) > MANY_ROWS

    is_narrow: ClassVar[bool] = False


@dataclass(frozen=True)
class Place:
    """Seconds `start` to `end` of the `Sound` with this key; `label` says what is heard there."""

    key: str
    start: float
    end: float
    label: str


@dataclass(frozen=True)
class Grid:
    """A table: the first column heads its rows, and `text` says which others are words, not numbers.

    `plays` has the sound of each row, None for those without.
    """

    kind: ClassVar[str] = "grid"
    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    title: str = ""
    text: frozenset[int] = frozenset()
    note: str = ""
    full: Sequence[Sequence[str]] = ()
    plays: Sequence[Place | None] = ()

    @property
    def csv(self) -> str:
        """The table as a link; `full` in its place, heads first, where the page shows a shorter one."""
        return csv_link.link(*(self.full[0], self.full[1:]) if self.full else (self.head, self.rows))

    @property
    def file(self) -> str:
        """The name of its file."""
        return csv_link.file_name(self.title or self.caption)

    @property
    def is_long(self) -> bool:
        """Whether to offer a filter."""
        return len(self.rows) > MANY_ROWS

    @property
    def is_narrow(self) -> bool:
        """Whether a long table is so narrow that it is printed in two columns."""
        return len(self.rows) > MANY_ROWS and len(self.head) <= 3


@dataclass(frozen=True)
class Figure:
    """A figure: inline SVG, and a caption; a wide one takes the whole width."""

    kind: ClassVar[str] = "figure"
    svg: str
    caption: str
    title: str = ""
    wide: bool = False


@dataclass(frozen=True)
class Sound:
    """A picture of sound, in tiles one after the other, and the sound itself as a data URI; empty: there is none."""

    kind: ClassVar[str] = "sound"
    key: str
    title: str
    label: str
    tiles: Sequence[str]
    caption: str
    audio: str = ""


@dataclass(frozen=True)
class Beside:
    """Parts that stand side by side where there is room, or below each other where they are wide."""

    kind: ClassVar[str] = "beside"
    parts: Sequence[Part]
    stacked: bool = False


@dataclass(frozen=True)
class Code:
    """Something to type."""

    kind: ClassVar[str] = "code"
    title: str
    text: str


Part = Text | Checks | Cards | Facts | Steps | Heat | Grid | Figure | Sound | Beside | Code


@dataclass(frozen=True)
class Section:
    """A section of the page: `key` is its anchor."""

    key: str
    title: str
    lead: str = ""
    parts: Sequence[Part] = field(default_factory=list)


def has_sound(part: Part) -> bool:
    """Whether a part is sound, or has sound among its parts."""
    return isinstance(part, Sound) or (isinstance(part, Beside) and any(map(has_sound, part.parts)))
