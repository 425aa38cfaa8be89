"""matplotlib figures as inline SVG: the same bytes for the same figure, text as text, colours that follow the page."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from html import escape
from typing import TYPE_CHECKING, Any

from halfseen.app.report.charts.svg import class_colour
from halfseen.optional import optional
from halfseen.plots import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = {  # of the plots, and the page's own that take their place
    style.INK: "currentColor",
    style.PAPER: "var(--paper)",
    style.SOFT: "var(--soft)",
    style.BLUE: "var(--blue)",
    style.RED: "var(--red)",
    style.GOLD: "var(--gold)",
    style.FAINT: "var(--faint)",
}
COLOURS |= {colour: f"var(--grade{i})" for i, (_, colour, _) in enumerate(style.GRADES)}
COLOURS |= {colour: class_colour(k) for k, colour in enumerate(style.CLASSES)}
SETTINGS: dict[str, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "halfseen",
    "font.size": 10.5,
    "text.color": style.INK,
    "axes.edgecolor": style.INK,
    "axes.labelcolor": style.INK,
    "axes.titlesize": 11.5,
    "xtick.color": style.INK,
    "ytick.color": style.INK,
}
NO_METADATA: dict[str, Any] = dict.fromkeys(("Creator", "Date", "Format", "Type"))
STYLE = re.compile(r' style="([^"]*)"')
USED = re.compile(r'(?:url\(#|href="#)([^)"]+)')


def svg(draw: Callable[[Axes], Axes], key: str, size: tuple[float, float], label: str) -> str:
    """Return what `draw` draws as SVG to put into a page.

    Parameters
    ----------
    draw : function of matplotlib Axes
    key : str
        Goes before every id, so that the ids of several figures differ.
    size : (width, height) in inches
    label : str
        Text for screen readers.
    """
    matplotlib = optional("matplotlib", "report")
    figures = optional("matplotlib.figure", "report")
    with matplotlib.rc_context(SETTINGS):
        figure = figures.Figure(figsize=size, layout="constrained")
        draw(figure.subplots()).set_title("")  # the page has its own caption
        out = io.StringIO()
        figure.savefig(out, format="svg", transparent=True, metadata=NO_METADATA)
    return tidy(out.getvalue(), key, label)


def _attributes(found: re.Match[str]) -> str:
    """Return a style as attributes, which the page's policy allows."""
    pairs = [part.split(":", 1) for part in found[1].split(";") if ":" in part]
    return "".join(f' {name.strip()}="{value.strip()}"' for name, value in pairs)


def tidy(text: str, key: str, label: str) -> str:
    """Cut an SVG file down to its drawing, with ids of its own and the page's colours."""
    text = text[text.index("<svg") :].strip()
    text = re.sub(r"<!--.*?-->|<metadata>.*?</metadata>", "", text, flags=re.DOTALL).replace("xlink:href", "href")
    text = re.sub(r' xmlns:xlink="[^"]*"', "", text)
    used = set(USED.findall(text))
    text = re.sub(r' id="([^"]*)"', lambda found: f' id="{key}-{found[1]}"' if found[1] in used else "", text)
    text = USED.sub(lambda found: found[0].replace(f"#{found[1]}", f"#{key}-{found[1]}"), text)
    text = re.sub(r"#[0-9a-f]{6}\b", lambda found: COLOURS.get(found[0], found[0]), text)
    text = re.sub(r'font: ([0-9.]+)px [^;"]*', r"font-size: \1px", text)
    text = re.sub(r"<style.*?</style>", "", text, flags=re.DOTALL)
    text = STYLE.sub(_attributes, text)
    text = re.sub(r"\n\s*", "\n", text)
    return text.replace("<svg ", f'<svg role="img" aria-label="{escape(label)}" ', 1)
