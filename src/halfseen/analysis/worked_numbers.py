"""Numbers of a fit step by step, as text, as a page and as plain values: small tables in sections.

Every number comes with its arithmetic, a line that says what it was computed from.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from textwrap import wrap
from typing import Any, NamedTuple

from halfseen.optional import optional
from halfseen.whole_file import whole_file

WIDTH = 100  # of lines of words in the text


@dataclass(frozen=True)
class Grid:
    """A small table to show.

    Attributes
    ----------
    role : str               what it holds: "data", "parameters", "joint", "responsibilities", "completions", "counts",
                             "m-step"; of k-means "data", "distances", "sizes", "centres"
    caption : str
    head : list of str
    rows : list of list of str
    n_labels : int           how many of the first columns are no numbers
    arithmetic : like rows   how each cell was computed; empty where it is data or a label
    """

    role: str
    caption: str
    head: list[str]
    rows: list[list[str]]
    n_labels: int = 1
    arithmetic: Sequence[list[str]] = ()

    def __post_init__(self) -> None:
        if not self.arithmetic:
            object.__setattr__(self, "arithmetic", [[""] * len(row) for row in self.rows])
        assert [len(row) for row in self.arithmetic] == [len(row) for row in self.rows], self.caption

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        names = ("role", "caption", "head", "rows", "n_labels", "arithmetic")
        return {name: getattr(self, name) for name in names}

    def explained(self) -> Iterator[list[tuple[str, str]]]:
        """Yield the cells of each row, each with its arithmetic."""
        for row, arithmetic in zip(self.rows, self.arithmetic, strict=True):
            yield list(zip(row, arithmetic, strict=True))


class Section(NamedTuple):
    """An iteration as shown: its title, grids, what it gained, and the arithmetic of that."""

    title: str
    grids: list[Grid]
    result: str
    arithmetic: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {**self._asdict(), "grids": [grid.to_dict() for grid in self.grids]}


class Objective(NamedTuple):
    """What each iteration improves: its name, and its values before and after each."""

    name: str
    before: list[float]
    after: list[float]


class Worked(ABC):
    """Numbers of a fit: `print` them, show them in a notebook, `save` them as a page, or take `to_dict`."""

    @property
    @abstractmethod
    def heading(self) -> str:
        """What was fitted to how many rows."""

    @property
    @abstractmethod
    def objective(self) -> Objective:
        """What the iterations improve."""

    @abstractmethod
    def sections(self) -> list[Section]:
        """What text and page show."""

    def to_dict(self) -> dict[str, Any]:
        """Return everything that text and page show as plain values, for JSON.

        Returns
        -------
        dict
            heading : str
            sections : list of {"title", "result", "arithmetic", "grids"}, the first that of the data; each grid is
            {"role", "caption", "head", "rows", "n_labels", "arithmetic"}, with rows and arithmetic in one shape
            objective : {"name", "before", "after"}, a number for each iteration

        Examples
        --------
        >>> import halfseen as hs
        >>> model = hs.LatentClass.from_params([0.3, 0.7], {"x": {0: [0.7, 0.1], 1: [0.3, 0.9]}})
        >>> found = hs.explain(model, [[0], [1]], n_iter=1).to_dict()
        >>> [grid["role"] for grid in found["sections"][1]["grids"]]
        ['completions', 'joint', 'responsibilities', 'counts', 'm-step']
        >>> joint = found["sections"][1]["grids"][1]
        >>> joint["rows"][0], joint["arithmetic"][0][1]
        (['0', '0.21', '0.07', '0.28'], 'P(class 0) 0.3 × P(x = 0 | class 0) 0.7 = 0.21')
        """
        sections = [section.to_dict() for section in self.sections()]
        return {"heading": self.heading, "sections": sections, "objective": self.objective._asdict()}

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
