"""Profiles as a heat map: each class beside the whole table."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from halfseen.analysis.contrast import strongest
from halfseen.app.report.checks import FAR, MOST_HEAT_ROWS
from halfseen.app.report.parts import Heat, HeatCell, HeatRow
from halfseen.kinds.records import Contrast

TONES = (
    "Each value in its own unit: means of numbers, shares of categories and words. Red with an arrow up is above "
    "the whole table, blue with an arrow down below it; the stronger the colour, the further."
)


def profile_heat(contrasts: Sequence[Contrast], names: Sequence[str], what: str = "class") -> Heat:
    """Return the rows that differ most between the classes, which are called `names`."""
    told = strongest(contrasts, MOST_HEAT_ROWS)
    rows = [HeatRow(row.column, row.category, row.overall, [_cell(row, k) for k in range(len(names))]) for row in told]
    left_out = len(contrasts) - len(told)
    note = f"The {len(told)} rows that differ most; {left_out:,} others are left out." if left_out else ""
    return Heat(f"Profile of each {what} beside the whole table", ["column", "category", "all", *names], rows, note)


def _cell(row: Contrast, k: int) -> HeatCell:
    far = float(row.contrast[k])
    side = "above" if far > 0 else "below"
    return HeatCell(
        row.shown[k], float(np.clip(far / FAR, -1, 1)), f"{abs(far):.1f} standard deviations {side} the whole"
    )
