"""Sound with its words and units: waveform, spectrogram, boundaries with their uncertainty, and labels.

The picture is cut into tiles, each at most as wide as a phone, between words where possible. The page sets them one
after the other like the words of a line, so that they are one long picture on a wide screen and a few lines on a phone.

tile        a drawing of some seconds of the sound
mark        a word or a unit with its time, the uncertainty of its boundaries and its confidence
band        two standard deviations on both sides of a boundary
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from halfseen.app.report.charts import png
from halfseen.app.report.charts.svg import LETTER, drawing, element, text, title
from halfseen.app.report.words import cut
from halfseen.leaves.leaf import Floats

PIXELS = 260.0  # of a second
WIDEST = 350.0  # tile: the width of a phone without its margins, and half of a printed page
LEAST_FILLED = 0.4  # of a tile that is cut between words; a word that is longer than a tile is cut
WAVE, SPECTRUM, WORDS, UNITS = (2.0, 44.0), (48.0, 144.0), (148.0, 182.0), (185.0, 213.0)  # top and bottom of each
LINE = 13.0  # from the first row of labels to the second
LETTERS = 4.0  # from the middle of a row of labels down to its baseline
TIMES, HEIGHT = 228.0, 233.0  # baseline of the times; height of a tile
EVERY = 0.5  # seconds from one time to the next
WIDE, BOLD = 1.3, 1.08  # width of capitals, and of bold letters, beside that of others
MARGIN = 3.0  # between a label and the edge of its tile, or the next label
GREYS = 32  # levels of the spectrogram: fewer compress better
FAINT, FULL = 0.1, 0.5  # opacity of marks with confidence 0 and 1


class Mark(NamedTuple):
    """A word or a unit of a clip; times are seconds from the start of the clip, and may be outside of it.

    Attributes
    ----------
    name : str
    start, end : float
    start_sd, end_sd : float     standard deviations of its boundaries
    confidence : float           from 0 to 1
    sure : bool                  False: it has a dashed outline
    note : str                   shown while the pointer is over it, and read by screen readers
    """

    name: str
    start: float
    end: float
    start_sd: float
    end_sd: float
    confidence: float
    sure: bool
    note: str


class Clip(NamedTuple):
    """Some seconds of sound and what was said in them.

    Attributes
    ----------
    key : str                              begins the ids of its parts
    samples : (n,) array
    rate : int                             samples per second
    power : (F, T) array                   logs of the power, the lowest frequency first
    words, units : sequences of Mark       units are left out where they are the words
    """

    key: str
    samples: Floats
    rate: int
    power: Floats
    words: Sequence[Mark]
    units: Sequence[Mark]

    @property
    def seconds(self) -> float:
        """The length of the clip."""
        return len(self.samples) / self.rate


class Tile(NamedTuple):
    """The part of a clip from `low` to `high` seconds, which is drawn by itself."""

    clip: Clip
    low: float
    high: float

    @property
    def width(self) -> float:
        """The width of the drawing."""
        return (self.high - self.low) * PIXELS

    def x(self, time: float) -> float:
        """Return the place of a time, within the tile."""
        return min(max((time - self.low) * PIXELS, 0.0), self.width)

    def inside(self, marks: Sequence[Mark]) -> list[Mark]:
        """Return the marks that are at least partly in the tile, by more than a pixel: cuts are in whole pixels."""
        return [mark for mark in marks if mark.end > self.low + 1 / PIXELS and mark.start < self.high - 1 / PIXELS]


def tiles(clip: Clip, clock: Sequence[tuple[float, str]]) -> list[str]:
    """Draw a clip; `clock` has times, in seconds from its start, and how they are written."""
    levels, peak = greys(clip.power), float(np.abs(clip.samples).max(initial=0.0))
    cuts = cut_times(clip.seconds, [mark.start for mark in clip.words])
    parts = [Tile(clip, low, high) for low, high in pairwise(cuts)]
    rows = [(_rows(tile, tile.inside(clip.words)), _rows(tile, tile.inside(clip.units))) for tile in parts]
    n_rows = [1 + any(1 in own[tier] for own in rows) for tier in (0, 1)]
    drawn = []
    for i, (tile, (words, units)) in enumerate(zip(parts, rows, strict=True)):
        back = [_wave(tile, peak), *_spectrum(tile, levels, f"{clip.key}-{i}")]
        labels = [*_units(tile, units, n_rows[1]), *_words(tile, words, n_rows[0]), *_times(tile, clock)]
        cursor = element("path", d=f"M0 {WAVE[0]}V{UNITS[1]}", class_="cursor", visibility="hidden")
        reach = {"data_from": f"{tile.low:.4f}", "data_to": f"{tile.high:.4f}"}
        drawn.append(drawing([*back, *labels, cursor], tile.width, HEIGHT, "", natural=True, role="none", **reach))
    return drawn


def cut_times(seconds: float, starts: Sequence[float]) -> list[float]:
    """Return where a clip is cut: between words, else after the widest tile or in the middle; in whole pixels.

    Examples
    --------
    >>> cut_times(2.5, [0.1, 0.6, 1.25, 2.4])
    [0.0, 1.25, 2.5]
    >>> cut_times(2.0, [])
    [0.0, 1.0, 2.0]
    """
    longest, cuts = WIDEST / PIXELS, [0.0]
    places = [round(start * PIXELS) / PIXELS for start in starts]
    while seconds - cuts[-1] > longest + 1e-9:
        last = cuts[-1]
        near = [place for place in places if LEAST_FILLED * longest <= place - last <= longest]
        left = round((seconds - last) * PIXELS / 2) / PIXELS
        cuts.append(max(near, default=last + (left if left < 0.75 * longest else longest)))
    return [*cuts, seconds]


def greys(power: Floats) -> NDArray[np.uint8]:
    """Return the spectrogram as an image, the highest frequency first, white where it is loud."""
    low, high = np.quantile(power, [0.35, 0.998])
    share = np.clip((power[::-1] - low) / max(high - low, 1e-12), 0.0, 1.0)
    return (np.round(share * (GREYS - 1)) * (255 / (GREYS - 1))).astype(np.uint8)


def _wave(tile: Tile, peak: float) -> str:
    """Return the waveform: the range of the samples of each pixel."""
    top, bottom = WAVE
    n_columns = max(1, round(tile.width))
    edges = np.linspace(tile.low, tile.high, n_columns + 1) * tile.clip.rate
    first = np.clip(edges[:-1].astype(np.int64), 0, len(tile.clip.samples) - 1)
    stop = max(int(edges[-1]), int(first[-1]) + 1)
    part = tile.clip.samples[:stop]
    low, high = np.minimum.reduceat(part, first), np.maximum.reduceat(part, first)
    middle, reach = (top + bottom) / 2, (bottom - top) / 2 / (peak or 1.0)
    lines = [
        f"M{i}.5 {middle - b * reach - 0.3:.1f}V{middle - a * reach + 0.3:.1f}"
        for i, (a, b) in enumerate(zip(low.tolist(), high.tolist(), strict=True))
    ]
    return element("path", d="".join(lines), stroke="var(--blue)", stroke_width=1, fill="none")


def _spectrum(tile: Tile, levels: NDArray[np.uint8], key: str) -> Iterator[str]:
    """Yield the spectrogram: an image that says how dense the ink of the page is, in its own colours."""
    top, bottom = SPECTRUM
    per_second = levels.shape[1] / tile.clip.seconds
    first = int(tile.low * per_second)
    part = levels[:, first : max(first + 1, int(np.ceil(tile.high * per_second - 1e-6)))]
    place = {"x": (first / per_second - tile.low) * PIXELS, "width": part.shape[1] / per_second * PIXELS}
    box = {"y": top, "height": bottom - top, "preserveAspectRatio": "none"}
    image = element("image", href=png.data_uri(part), **place, **box)
    yield element("mask", image, id=key, maskUnits="userSpaceOnUse", x=0, y=top, width=tile.width, height=bottom - top)
    shape = {"x": 0, "y": top, "width": tile.width, "height": bottom - top}
    yield element("rect", **shape, mask=f"url(#{key})", fill="var(--ink)", fill_opacity="0.85")


def _bands(tile: Tile, marks: Sequence[Mark], reach: tuple[float, float], colour: str) -> Iterator[str]:
    """Yield a line for each boundary, and the band of two standard deviations on both sides."""
    ends = {round(mark.end, 6): mark.end_sd for mark in marks} | {round(mark.start, 6): mark.start_sd for mark in marks}
    top, bottom = reach
    for time, sd in sorted(ends.items()):
        if tile.low <= time + 2 * sd and time - 2 * sd <= tile.high:
            low, high = tile.x(time - 2 * sd), tile.x(time + 2 * sd)
            box = {"x": low, "y": top, "width": high - low, "height": bottom - top}
            yield element("rect", **box, fill=colour, fill_opacity="0.22", class_="band")
        if tile.low <= time <= tile.high:
            yield element("path", d=f"M{tile.x(time):.1f} {top}V{bottom}", stroke=colour, stroke_width=1)


def _words(tile: Tile, rows: Sequence[int | None], n_rows: int) -> Iterator[str]:
    """Yield the words of a tile, from the waveform down to their bars: the area to click."""
    words = tile.inside(tile.clip.words)
    for mark, row in zip(words, rows, strict=True):
        low, high = tile.x(mark.start), tile.x(mark.end)
        area = {"x": low, "y": WAVE[0], "width": high - low, "height": WORDS[1] - WAVE[0]}
        parts = [title(mark.note), element("rect", **area, class_="area", fill="var(--blue)", fill_opacity=0)]
        parts += _bar(tile, mark, WORDS)
        parts += _text(tile, mark, WORDS, row, n_rows, font_weight=600)
        begun = " rest" if mark.start < tile.low - 1 / PIXELS else ""
        reach = {"data_from": f"{max(mark.start, 0.0):.3f}", "data_to": f"{min(mark.end, tile.clip.seconds):.3f}"}
        yield element("g", "".join(parts), class_=f"said{begun}", **reach)
    yield from _bands(tile, words, (WAVE[0], WORDS[1]), "var(--red)")


def _units(tile: Tile, rows: Sequence[int | None], n_rows: int) -> Iterator[str]:
    """Yield the units of a tile."""
    units = tile.inside(tile.clip.units)
    for mark in units:
        yield element("g", title(mark.note) + "".join(_bar(tile, mark, UNITS)))
    yield from _bands(tile, units, UNITS, "var(--soft)")
    for mark, row in zip(units, rows, strict=True):
        yield from _text(tile, mark, UNITS, row, n_rows)


def _bar(tile: Tile, mark: Mark, reach: tuple[float, float]) -> Iterator[str]:
    """Yield a bar as long as a mark, the denser the more certain."""
    top, bottom = reach
    low, high = tile.x(mark.start), tile.x(mark.end)
    inner = 0.0 if mark.sure else 0.75
    box = {"x": low + inner, "y": top + inner, "height": bottom - top - 2 * inner}
    outline = {} if mark.sure else {"stroke": "var(--bad)", "stroke_dasharray": "3 2", "stroke_width": "1.5"}
    shade = f"{FAINT + (FULL - FAINT) * mark.confidence:.2f}"
    yield element(
        "rect", **box, width=max(high - low - 2 * inner, 0.5), fill="var(--blue)", fill_opacity=shade, **outline
    )


def _text(
    tile: Tile, mark: Mark, reach: tuple[float, float], row: int | None, n_rows: int, **how: object
) -> Iterator[str]:
    """Yield the label of a mark in its row of `n_rows`, where there is room for it."""
    if row is None:
        return
    shown, at = _label(tile, mark)
    down = sum(reach) / 2 + LETTERS + (row - (n_rows - 1) / 2) * LINE
    colour = {} if mark.sure else {"fill": "var(--bad)"}
    yield text(at, down, shown, text_anchor="middle", **colour, **how)


def _label(tile: Tile, mark: Mark) -> tuple[str, float]:
    """Return the label of a mark and its middle: that of the bar, moved so that it is not cut."""
    shown = cut(mark.name, max(3, int((tile.width - 2 * MARGIN) / LETTER)))
    half = _extent(shown) / 2 + MARGIN
    middle = (tile.x(mark.start) + tile.x(mark.end)) / 2
    return shown, max(min(middle, tile.width - half), half) if tile.width > 2 * half else tile.width / 2


def _extent(shown: str) -> float:
    """Return about how wide a bold label is."""
    wide = sum(sign.isupper() or sign in "mw" for sign in shown)
    return (len(shown) + (WIDE - 1) * wide) * LETTER * BOLD


def _rows(tile: Tile, marks: Sequence[Mark]) -> list[int | None]:
    """Return the row of each label, of two, so that none covers another; None where there is no room."""
    taken, found = [-np.inf, -np.inf], []
    for mark in marks:
        shown, middle = _label(tile, mark)
        half = _extent(shown) / 2
        fits = 2 * half <= tile.width
        row = next((row for row in (0, 1) if fits and middle - half >= taken[row]), None)
        if row is not None:
            taken[row] = middle + half + MARGIN
        found.append(row)
    return found


def _times(tile: Tile, clock: Sequence[tuple[float, str]]) -> Iterator[str]:
    """Yield the times below a tile, moved where they would be cut."""
    for time, words in clock:
        if not tile.low <= time < tile.high:
            continue
        at, half = tile.x(time), len(words) * LETTER / 2
        yield element("path", d=f"M{at:.1f} {UNITS[1]}V{UNITS[1] + 4}", stroke="var(--soft)")
        if 2 * half <= tile.width:
            yield text(min(max(at, half), tile.width - half), TIMES, words, text_anchor="middle", fill="var(--soft)")
