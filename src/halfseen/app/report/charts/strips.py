"""Hidden states along time: probabilities as stacked colours behind a line of values, and best paths as bars.

A long sequence is cut into strips, each as wide as a phone, so that its times can be read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby, pairwise

import numpy as np
from numpy.typing import NDArray

from halfseen.app.report.charts.svg import (
    BOTTOM,
    LEFT,
    RIGHT,
    TOP,
    WIDTH,
    Frame,
    Scale,
    Tick,
    class_colour,
    drawing,
    element,
    padded,
    text,
    title,
)
from halfseen.app.report.words import cut
from halfseen.leaves.leaf import Floats

HEIGHT = 190.0
STEPS = 75  # of a strip
ROW = 21.0  # from one bar to the next
NAME = 96.0  # room for the name of a sequence
SHARES: tuple[Tick, ...] = ((0.0, "0%"), (0.5, "50%"), (1.0, "100%"))

When = Callable[[int], str]


def strips(resp: Floats, values: Floats | None, column: str, names: Sequence[str], when: When, label: str) -> list[str]:
    """Draw a sequence in strips of equal length.

    Parameters
    ----------
    resp : (T, K) array         probability of each state at each step
    values : (T,) array or None     a column of numbers, NaN where missing
    column : str                its name
    names : sequence of str     of the states
    when : function             from a step to its time in words
    label : str                 for screen readers
    """
    n_strips = max(1, -(-len(resp) // STEPS))
    ends = np.linspace(0, len(resp), n_strips + 1).astype(int).tolist()
    known = None if values is None else values[np.isfinite(values)]
    reach = (0.0, 1.0) if known is None or not len(known) else padded(known.tolist(), 0.08)
    return [
        _strip(slice(a, b), resp, None if known is None else values, reach, column, names, when, label)
        for a, b in pairwise(ends)
    ]


def _strip(
    part: slice,
    resp: Floats,
    values: Floats | None,
    reach: tuple[float, float],
    column: str,
    names: Sequence[str],
    when: When,
    label: str,
) -> str:
    n = part.stop - part.start
    frame = Frame(Scale(-0.5, n - 0.5, LEFT, WIDTH - RIGHT), Scale(*reach, HEIGHT - BOTTOM + 14, TOP))
    levels = Scale(0.0, 1.0, HEIGHT - BOTTOM + 14, TOP)
    parts = _stacked(resp[part], names, frame.x, levels)
    y_label, y_ticks = ("probability of each state", SHARES) if values is None else (cut(column, 40), ())
    parts += frame.axes("", y_label, [(-1.0, "")], y_ticks)
    parts += _times(part, frame, when)
    if values is not None:
        parts += _line(values[part], frame, part.start, when)
    return drawing(parts, WIDTH, HEIGHT, f"{label} From {when(part.start)} to {when(part.stop - 1)}.")


def _stacked(resp: Floats, names: Sequence[str], x: Scale, y: Scale) -> list[str]:
    """Return an area for each state: its height is the probability of the state."""
    top = np.cumsum(resp, axis=1)
    parts = []
    for k, name in enumerate(names):
        low, high = top[:, k] - resp[:, k], top[:, k]
        if high.max() - low.min() <= 0 or resp[:, k].max() < 0.005:
            continue
        up = [f"{x(i + side):.1f} {y(float(high[i])):.1f}" for i in range(len(resp)) for side in (-0.5, 0.5)]
        down = [f"{x(i + side):.1f} {y(float(low[i])):.1f}" for i in reversed(range(len(resp))) for side in (0.5, -0.5)]
        path = "M" + "L".join([*up, *down]) + "Z"
        parts.append(element("path", title(name), d=path, fill=class_colour(k), fill_opacity=0.4))
    return parts


def _times(part: slice, frame: Frame, when: When) -> list[str]:
    """Return the times of the first and the last step, and of one between them where there is room."""
    last, bottom = part.stop - part.start - 1, frame.y.start + 15
    parts = [text(LEFT, bottom, when(part.start), fill="var(--soft)")]
    if last:
        parts.append(text(WIDTH - RIGHT, bottom, when(part.stop - 1), text_anchor="end", fill="var(--soft)"))
    middle = when(part.start + last // 2)
    if last > 2 and len(middle) < 18:
        parts.append(text(frame.x(last // 2), bottom, middle, text_anchor="middle", fill="var(--soft)"))
    return parts


def _line(values: Floats, frame: Frame, first: int, when: When) -> list[str]:
    """Return a line through the values, with gaps where they are missing, and a point for each."""
    runs = [
        [n for n, _ in run] for seen, run in groupby(enumerate(np.isfinite(values)), key=lambda one: one[1]) if seen
    ]
    places = [[(n, frame.x(n), frame.y(float(values[n]))) for n in run] for run in runs]
    paths = ["M" + "L".join(f"{x:.1f} {y:.1f}" for _, x, y in run) for run in places if len(run) > 1]
    parts = [element("path", d=" ".join(paths), fill="none", stroke="currentColor", stroke_width=1)] if paths else []
    for n, x, y in (place for run in places for place in run):
        words = title(f"{when(first + n)}: {values[n]:g}")
        parts.append(element("circle", words, cx=x, cy=y, r=1.8))
    return parts


def paths(found: Sequence[NDArray[np.int64]], labels: Sequence[str], names: Sequence[str], label: str) -> str:
    """Draw the best path of each sequence as a bar, coloured by state."""
    x = Scale(0, max(map(len, found)), NAME, WIDTH - RIGHT)
    parts = []
    for row, (path, name) in enumerate(zip(found, labels, strict=True)):
        top, at = 4 + row * ROW, 0
        parts.append(text(NAME - 6, top + 11, cut(name, 15), text_anchor="end"))
        for k, run in groupby(path.tolist()):
            n = len(list(run))
            box = {"x": x(at), "y": top, "width": x(at + n) - x(at), "height": ROW - 6, "fill": class_colour(k)}
            steps = f"step {at}" if n == 1 else f"steps {at} to {at + n - 1}"
            parts.append(element("rect", title(f"{cut(name)}, {steps}: {names[k]}"), **box))
            at += n
    bottom = 4 + len(found) * ROW + 10
    parts.append(text(NAME, bottom, "step 0", fill="var(--soft)"))
    parts.append(text(WIDTH - RIGHT, bottom, f"step {max(map(len, found)) - 1}", text_anchor="end", fill="var(--soft)"))
    return drawing(parts, WIDTH, bottom + 6, label)
