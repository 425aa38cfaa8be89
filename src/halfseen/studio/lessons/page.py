"""A page of a lesson: a title, a few words, and what it shows.

*shown*    rows, a model, a start, and which part of the numbers to look at; plain values, from which all is computed
*figure*   a number in the words: taken from what is computed, never typed
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

import pyarrow as pa

from halfseen.studio import em_numbers
from halfseen.studio.em_request import Asked

Of = Callable[[Mapping[str, Any]], float]  # from what a page shows to a number
LOOKS = ("kind", "section", "grid")  # what does not change the numbers


@dataclass(frozen=True)
class Shown:
    """What a page shows.

    Attributes
    ----------
    kind : str               "explain" or "kmeans" (iterations number by number), or "bound" (of one iteration)
    columns, rows :          the table
    kinds : dict             column -> kind
    levels : dict            column -> its categories, also those that no row has
    model, classes, n_iter, assign, start, shares, prior, seed :     as in `halfseen.studio.em_request.Asked`
    section : int            which section to look at; 0 has the data, 1 the first iteration
    grid : str               which of its grids, by its role; empty for a bound
    iteration : int          of a bound
    compare : bool           of k-means: beside it the Gaussian mixture that it is
    """

    kind: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    kinds: Mapping[str, str]
    levels: Mapping[str, Sequence[str]] = field(default_factory=dict)
    model: str = "classes"
    classes: int = 2
    n_iter: int = 1
    assign: str = "soft"
    start: Mapping[str, Mapping[str, Sequence[float]]] | None = None
    shares: str | tuple[float, ...] | None = None
    prior: str | None = None
    seed: int = 0
    section: int = 1
    grid: str = "joint"
    iteration: int = 1
    compare: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        plain: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return plain


class Figure(NamedTuple):
    """A number in the words of a page.

    Attributes
    ----------
    of : function        from what a page shows to the number
    digits : int         after the point
    shown : Shown        where it is from; by default what its page shows
    """

    of: Of
    digits: int
    shown: Shown | None = None


class Page(NamedTuple):
    """A page of a lesson.

    Attributes
    ----------
    title : str
    text : tuple of str            at most three short paragraphs, with {names} of figures
    shown : Shown
    figures : dict of Figure
    """

    title: str
    text: tuple[str, ...]
    shown: Shown
    figures: Mapping[str, Figure] = {}

    def words(self) -> list[str]:
        """Return the paragraphs with their figures."""
        values = {name: _said(figure, self.shown) for name, figure in self.figures.items()}
        return [paragraph.format_map(values) for paragraph in self.text]

    def to_dict(self) -> dict[str, Any]:
        """Return the page as plain values: {"title", "text", "show"}."""
        return {"title": self.title, "text": self.words(), "show": self.shown.to_dict()}


def _said(figure: Figure, shown: Shown) -> str:
    value = figure.of(_found((figure.shown or shown).to_dict()))
    return f"{value:.{figure.digits}f}"


# ---- what is computed ------------------------------------------------------------------------------------------------


def computed(show: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a page shows, given its "show": the iterations or the bound, as the screen EM has them.

    With "kind", "section" and "grid" as they were given.
    """
    return deepcopy(dict(_found(show))) | {name: show[name] for name in LOOKS}


def _found(show: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the numbers themselves, which are kept and must not be changed."""
    ask = {name: value for name, value in show.items() if name not in LOOKS}
    return _computed(json.dumps(ask, sort_keys=True), show["kind"] == "bound")


@lru_cache(maxsize=64)
def _computed(ask: str, is_bound: bool) -> dict[str, Any]:
    """Return the numbers that are asked for in JSON; the same ones are asked for again and again."""
    given = json.loads(ask)
    asked, cells = _asked(given), _table(given)
    if is_bound:
        return em_numbers.bound(asked, cells, given["iteration"])
    return em_numbers.worked(asked, cells, compare=given["compare"])


def _asked(given: Mapping[str, Any]) -> Asked:
    shares = given["shares"]
    names = ("kinds", "model", "classes", "n_iter", "assign", "start", "prior", "seed")
    return Asked(
        rows=tuple(range(len(given["rows"]))),
        columns=tuple(given["columns"]),
        shares=tuple(shares) if isinstance(shares, list) else shares,
        **{name: given[name] for name in names},
    )


def _table(given: Mapping[str, Any]) -> pa.Table:
    """Return the rows; a column with declared categories has all of them."""
    columns = {}
    for name, cells in zip(given["columns"], zip(*given["rows"], strict=True), strict=True):
        levels = given["levels"].get(name)
        if levels is None:
            columns[name] = pa.array(cells)
        else:
            codes = [None if cell is None else levels.index(cell) for cell in cells]
            columns[name] = pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), pa.array(levels))
    return pa.table(columns)


# ---- figures ---------------------------------------------------------------------------------------------------------


def cell(section: int, role: str, labels: Sequence[str], column: str) -> Of:
    """Return the number in a grid: in the row whose first label, and last if there are two, are these."""

    def of(found: Mapping[str, Any]) -> float:
        [grid] = [grid for grid in found["sections"][section]["grids"] if grid["role"] == role]
        ends = grid["n_labels"] - 1
        [row] = [row for row in grid["rows"] if row[0] == labels[0] and row[ends] == labels[-1]]
        return float(row[grid["head"].index(column)].split(" + ")[0])

    return of


def before(iteration: int) -> Of:
    """Return the objective before an iteration, counted from 1."""
    return lambda found: float(found["objective"]["before"][iteration - 1])


def after(iteration: int) -> Of:
    """Return the objective after an iteration, counted from 1."""
    return lambda found: float(found["objective"]["after"][iteration - 1])


def of_bound(end: str, curve: str) -> Of:
    """Return the height of a curve ("objective", "bound") where they touch ("touch") or after the M-step ("end")."""
    return lambda found: float(found[end][curve])


def in_class(section: int, name: str, rows: Sequence[int]) -> Of:
    """Return how many of some rows belong to a class rather than to another."""
    weights = [cell(section, "responsibilities", (str(n), name), "weight") for n in rows]
    return lambda found: float(sum(weight(found) > 0.5 for weight in weights))
