"""What plots share: colours and markers of classes, axes, and names cut to length."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from halfseen.kinds.wording import percent
from halfseen.optional import optional

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INK: str = "#24292f"
SOFT: str = "#6b7280"
PAPER: str = "#ffffff"
DARK = "#10151b"  # text on a light bar, whatever the page
BLUE: str = "#1b6ca8"
RED: str = "#b23a4b"
GOLD: str = "#a86f12"
FAINT = "#e5e9ef"
CLASSES: tuple[str, ...] = (  # of Okabe and Ito (2008), then of Tol (2021): told apart by the colour-blind
    "#0072b2",
    "#e69f00",
    "#009e73",
    "#cc79a7",
    "#d55e00",
    "#56b4e9",
    "#882255",
    "#999933",
)
MARKERS = "os^DvPX"  # 7, so that only class 56 looks like class 0
LINES = ("-", "--", "-.", ":", (0, (6, 1, 1, 1, 1, 1)))
GRADES: tuple[tuple[str, str, str], ...] = (  # how sure; colour of the bar, and of the text on it
    ("below 70%", "#f2c9a1", DARK),
    ("70 to 90%", "#cfe0ee", DARK),
    ("90 to 99%", "#7fb0d6", DARK),
    ("99% or more", "#1f5f93", PAPER),
)
LONGEST = 24  # letters of a name


def class_colours(n_classes: int) -> list[str]:
    """Return a colour for each class; after eight they repeat, and markers tell the classes apart.

    Examples
    --------
    >>> class_colours(3)
    ['#0072b2', '#e69f00', '#009e73']
    """
    return [CLASSES[k % len(CLASSES)] for k in range(n_classes)]


def class_markers(n_classes: int) -> list[str]:
    """Return a marker for each class."""
    return [MARKERS[k % len(MARKERS)] for k in range(n_classes)]


def axes(ax: Axes | None, purpose: str, size: tuple[float, float]) -> Axes:
    """Return the axes given, or those of a new figure, which pyplot knows, so that a notebook shows it."""
    if ax is not None:
        return ax
    found: Axes = optional("matplotlib.pyplot", purpose).subplots(figsize=size, layout="constrained")[1]
    return found


def plain(ax: Axes, *more: str) -> Axes:
    """Take away the lines of the frame that carry no information."""
    for side in ("top", "right", *more):
        ax.spines[side].set_visible(False)
    return ax


def short(name: str, longest: int = LONGEST) -> str:
    """Cut long lines of a name in the middle, as names that begin alike often differ at the end.

    Examples
    --------
    >>> short("handicapped_infants = n", 16), short("handicapped_infants = y", 16)
    ('handicapp…ts = n', 'handicapp…ts = y')
    """
    return "\n".join(_cut(line, longest) for line in name.split("\n"))


def _cut(line: str, longest: int) -> str:
    if len(line) <= longest:
        return line
    last = (longest - 1) * 2 // 5
    return f"{line[: longest - 1 - last].rstrip()}…{line[len(line) - last :].lstrip()}"


def short_names(names: Sequence[str], longest: int = LONGEST) -> list[str]:
    """Return names cut to length; those that would read alike are left as they are.

    Examples
    --------
    >>> short_names(["income of person 1, monthly", "income of person 2, monthly", "another long name"], 12)
    ['income of person 1, monthly', 'income of person 2, monthly', 'another…name']
    """
    cut = [short(name, longest) for name in names]
    return [name if cut.count(part) > 1 else part for name, part in zip(names, cut, strict=True)]


def share_of(name: str, share: float | None) -> str:
    """Return the name of a class with its share, where that is known."""
    return name if share is None else f"{name} ({percent(share)})"
