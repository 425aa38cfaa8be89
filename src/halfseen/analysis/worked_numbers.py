"""Numbers of a fit step by step, as text and as a page: small tables in sections."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from html import escape
from pathlib import Path
from textwrap import wrap
from typing import NamedTuple

from halfseen.optional import optional
from halfseen.whole_file import whole_file

WIDTH = 100  # of lines of words in the text


class Grid(NamedTuple):
    """A small table to show: a caption, a head and rows of text; the first `n_labels` columns are no numbers."""

    caption: str
    head: list[str]
    rows: list[list[str]]
    n_labels: int = 1


class Section(NamedTuple):
    """An iteration as shown: its title, grids, and what it gained."""

    title: str
    grids: list[Grid]
    result: str


class Worked(ABC):
    """Numbers of a fit: `print` them, show them in a notebook, or `save` them as a page."""

    @property
    @abstractmethod
    def heading(self) -> str:
        """What was fitted to how many rows."""

    @abstractmethod
    def sections(self) -> list[Section]:
        """What text and page show."""

    def __str__(self) -> str:
        lines = [f"EM by numbers: {self.heading}"]
        for section in self.sections():
            lines += ["", section.title, "-" * len(section.title)]
            for grid in section.grids:
                lines += [*wrap(grid.caption, WIDTH), *_grid_lines(grid), ""]
            lines[-1:] = ["", section.result] if section.result else []
        return "\n".join(lines)

    def html(self) -> str:
        """Return a page that needs nothing else: no network, no other file."""
        jinja2 = optional("jinja2", "Explanation.html")
        loader = jinja2.FileSystemLoader(Path(__file__).parent / "templates")
        environment = jinja2.Environment(loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True)
        page: str = environment.get_template("explain.html").render(explanation=self, sections=self.sections())
        return page

    def _repr_html_(self) -> str:
        """Show it in a notebook: in a frame of its own, so that its style stays inside."""
        return f'<iframe srcdoc="{escape(self.html())}" style="width:100%;height:32rem;border:0"></iframe>'

    def save(self, path: str | Path) -> None:
        """Write the page to a file."""
        with whole_file(path) as file:
            file.write(self.html().encode())


def _grid_lines(grid: Grid) -> Iterator[str]:
    """Yield aligned lines, numbers to the right; a grid without rows has none."""
    widths = [max(map(len, column)) for column in zip(grid.head, *grid.rows, strict=True)]
    for row in (grid.head, *grid.rows):
        cells = (
            f"{cell:<{width}}" if j < grid.n_labels else f"{cell:>{width}}"
            for j, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        yield ("  " + "  ".join(cells)).rstrip()
