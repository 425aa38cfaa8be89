"""What plots share: colours, axes, and names cut to length."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
GRADES: tuple[tuple[str, str, str], ...] = (  # how sure; colour of the bar, and of the text on it
    ("below 70%", "#f2c9a1", DARK),
    ("70 to 90%", "#cfe0ee", DARK),
    ("90 to 99%", "#7fb0d6", DARK),
    ("99% or more", "#1f5f93", PAPER),
)
LONGEST = 24  # letters of a name


def axes(ax: Axes | None, purpose: str, size: tuple[float, float]) -> Axes:
    """Return the axes given, or those of a new figure."""
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
    """Cut the lines of a long name."""
    lines = [line if len(line) <= longest else line[: longest - 1] + "…" for line in name.split("\n")]
    return "\n".join(lines)
