"""`PaperTable`: a table for a paper, as cells of text. Its formats are in `formats`.

Vocabulary
----------
panel     a part of the table with its own column heads: of a network, variables with the same states
line      a row of cells with its label, or a heading above several lines
fact      a figure about the whole model, below the panels
note      a sentence below the table
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from halfseen.errors import ParameterError
from halfseen.estimators.publication import formats
from halfseen.whole_file import whole_file


class Line(NamedTuple):
    """A row of a table.

    Attributes
    ----------
    label : str
    cells : tuple of str       empty for a heading
    inside : bool              whether it stands below a heading
    """

    label: str
    cells: tuple[str, ...] = ()
    inside: bool = False


class Panel(NamedTuple):
    """A part of a table: column heads and the lines below."""

    heads: tuple[str, ...]
    lines: tuple[Line, ...]


@dataclass(frozen=True)
class PaperTable:
    """A table for a paper. Printed it is plain text, and in a notebook HTML.

    Attributes
    ----------
    caption : str
    panels : tuple of Panel
    facts : tuple of (str, str)     figures about the model: their names and values
    notes : tuple of str
    """

    caption: str
    panels: tuple[Panel, ...]
    facts: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def width(self) -> int:
        """The largest number of cells of a line."""
        return max((len(panel.heads) for panel in self.panels), default=1)

    def to_latex(self) -> str:
        """Return a LaTeX table; it needs the package booktabs."""
        return formats.latex(self)

    def to_html(self) -> str:
        """Return an HTML table."""
        return formats.html(self)

    def to_markdown(self) -> str:
        """Return a table of Markdown, as GitHub and pandoc read it."""
        return formats.markdown(self)

    def to_docx(self, path: Any) -> None:
        """Write a Word document with the table, with rules above, below and under its heads. Needs halfseen[stats]."""
        formats.docx(self, path)

    def save(self, path: Any) -> None:
        """Write the table in the format of the extension: .tex, .html, .md or .docx."""
        suffix = Path(path).suffix.lower()
        texts = {".tex": self.to_latex, ".html": self.to_html, ".htm": self.to_html, ".md": self.to_markdown}
        if suffix == ".docx":
            self.to_docx(path)
        elif suffix in texts:
            with whole_file(path) as file:
                file.write(texts[suffix]().encode())
        else:
            raise ParameterError(f"{path}: a table is written as .tex, .html, .md or .docx.")

    def __str__(self) -> str:
        return formats.plain(self)

    def _repr_html_(self) -> str:
        return self.to_html()
