"""What charts share: scales, ticks, elements of SVG and the frame of axes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from math import ceil, floor, log10
from typing import NamedTuple

WIDTH = 380.0
LEFT, RIGHT, TOP, BOTTOM = 52.0, 12.0, 30.0, 40.0  # margins around the axes
LETTER = 5.8  # mean width of a letter of 11 units
N_COLOURS = 8  # of classes, as in `plots.style`; the page has them as --c0 to --c7

UNITS = ((1e12, "T"), (1e9, "G"), (1e6, "M"))  # of large numbers, whose digits would not fit beside an axis

Tick = tuple[float, str]


def class_colour(k: int) -> str:
    """Return the colour of a class, as the page names it."""
    return f"var(--c{k % N_COLOURS})"


class Scale(NamedTuple):
    """From values to places: `low` is at `start`, `high` at `stop`."""

    low: float
    high: float
    start: float
    stop: float

    def __call__(self, value: float) -> float:
        """Return the place of a value.

        Examples
        --------
        >>> Scale(0, 10, 100, 200)(2.5)
        125.0
        """
        return self.start + (value - self.low) / (self.high - self.low) * (self.stop - self.start)


def padded(values: Iterable[float], share: float = 0.06) -> tuple[float, float]:
    """Return the range of some values, a little wider; never empty."""
    found = list(values)
    low, high = min(found), max(found)
    reach = (high - low) * share or abs(low) * share or 1.0
    return low - reach, high + reach


def ticks(low: float, high: float, most: int = 5) -> list[Tick]:
    """Return round values inside a range, with their text.

    Examples
    --------
    >>> ticks(0.0, 1.0, 3)
    [(0.0, '0.0'), (0.5, '0.5'), (1.0, '1.0')]
    >>> ticks(1e6, 2e6, 1)
    [(1000000.0, '1M'), (2000000.0, '2M')]
    """
    rough = (high - low) / most
    size = 10.0 ** floor(log10(rough))
    step = next(factor * size for factor in (1, 2, 5, 10) if factor * size >= rough * (1 - 1e-9))
    first, last = ceil(low / step - 1e-9), floor(high / step + 1e-9)
    unit, letter = next((one for one in UNITS if max(abs(low), abs(high)) >= one[0]), (1.0, ""))
    decimals = max(0, -floor(log10(step / unit) + 1e-9))
    return [(i * step, f"{i * step / unit:,.{decimals}f}{letter}".replace("-", "−")) for i in range(first, last + 1)]


def element(name: str, inside: str = "", /, **attributes: object) -> str:
    """Return an element; an underscore in the name of an attribute is a hyphen, numbers are rounded.

    Examples
    --------
    >>> element("line", x1=1.25, stroke_width=2)
    '<line x1="1.2" stroke-width="2"/>'
    """
    shown = [f'{key.rstrip("_").replace("_", "-")}="{_value(value)}"' for key, value in attributes.items()]
    head = " ".join([name, *shown])
    return f"<{head}>{inside}</{name}>" if inside else f"<{head}/>"


def _value(value: object) -> str:
    return f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else escape(str(value))


def text(x: float, y: float, words: str, **attributes: object) -> str:
    """Return text at a place."""
    return element("text", escape(words), x=float(x), y=float(y), **attributes)


def title(words: str) -> str:
    """Return what is shown while the pointer is over an element."""
    return f"<title>{escape(words)}</title>"


def drawing(
    elements: Iterable[str],
    width: float,
    height: float,
    label: str,
    natural: bool = False,
    role: str = "img",
    **more: object,
) -> str:
    """Return a picture of these elements, enlarged where there is room, or `natural`; `label` is for screen readers.

    A drawing whose parts can be reached has another `role`, and no label where these have their own.
    """
    size = "natural" if natural else "chart"
    head = f'viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}"'
    named = f' aria-label="{escape(label)}"' if label else ""
    own = "".join(f' {key.replace("_", "-")}="{_value(value)}"' for key, value in more.items())
    body = "".join(elements)
    return (
        f'<svg role="{role}"{named} class="{size}" {head} xmlns="http://www.w3.org/2000/svg" '
        f'font-size="11" fill="currentColor"{own}>{body}</svg>'
    )


class Frame(NamedTuple):
    """Axes: their scales, with the places of the plotting area."""

    x: Scale
    y: Scale

    @classmethod
    def of(cls, x: tuple[float, float], y: tuple[float, float], width: float = WIDTH, height: float = 250.0) -> Frame:
        """Return axes for these ranges."""
        return cls(Scale(*x, LEFT, width - RIGHT), Scale(*y, height - BOTTOM, TOP))

    def axes(self, x_label: str, y_label: str, x_ticks: Sequence[Tick] = (), y_ticks: Sequence[Tick] = ()) -> list[str]:
        """Return the lines, ticks and labels of both axes."""
        (left, right), (bottom, top) = self.x[2:], self.y[2:]
        y_ticks = y_ticks or ticks(self.y.low, self.y.high, 4)
        x_ticks = x_ticks or ticks(self.x.low, self.x.high, 5)
        parts = []
        for value, words in y_ticks:
            at = self.y(value)
            parts.append(element("path", d=f"M{left:.1f} {at:.1f}H{right:.1f}", stroke="var(--line)"))
            parts.append(text(left - 6, at + 4, words, text_anchor="end", fill="var(--soft)"))
        for value, words in x_ticks:
            parts.append(text(self.x(value), bottom + 15, words, text_anchor="middle", fill="var(--soft)"))
        parts.append(element("path", d=f"M{left:.1f} {bottom:.1f}H{right:.1f}", stroke="var(--soft)"))
        parts.append(text((left + right) / 2, bottom + 32, x_label, text_anchor="middle"))
        parts.append(text(2, top - 16, y_label))
        return parts
