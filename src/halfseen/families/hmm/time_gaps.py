"""Steps that a sequence skips: a model of sequences takes rows as neighbours, however far apart their times are."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from halfseen.data.sequences import Cut, plainly

FEWEST = 4  # distances between times from which a regular one is recognised
REGULAR = 0.75  # share of the distances that are equal


def skipped_steps(cut: Cut) -> list[str]:
    """Return a note where times are regular but for some that are left out; it names the first.

    Examples
    --------
    >>> skipped_steps(Cut(np.array([6]), times=np.array([1, 2, 3, 4, 7, 8])))[0][:60]
    'times: 2 steps are left out, the first between 4 and 7, and '
    """
    times = cut.clock()
    if times is None:
        return []
    n_skipped, first = 0, None
    ends = np.cumsum(cut.lengths)
    for end, own in zip(ends.tolist(), np.split(times, ends[:-1]), strict=True):
        left_out = _left_out(own)
        n_skipped += int(left_out.sum())
        if first is None and left_out.any():
            first = end - len(own) + int(left_out.argmax())
    if first is None:
        return []
    before, after = (str(plainly(times[n])) for n in (first, first + 1))
    many = "step is" if n_skipped == 1 else "steps are"
    return [
        f"times: {n_skipped:,} {many} left out, the first between {before} and {after}, "
        "and the rows around are taken as neighbours; insert rows with empty cells for steps that were not observed"
    ]


def _left_out(own: NDArray[Any]) -> NDArray[np.int64]:
    """Return how many steps are left out before each next one, zeros where times are not regular otherwise."""
    for gaps, allowed in _distances(own):
        if len(gaps) < FEWEST:
            break
        values, counts = np.unique(gaps, return_counts=True)
        usual = values[counts.argmax()]
        if usual <= 0 or counts.max() < REGULAR * len(gaps):
            continue
        ratio = gaps / usual
        whole = np.rint(ratio)
        if (np.abs(ratio - whole) < 1e-6).all() and (whole >= 1).all():
            return np.where(whole <= allowed, 0, whole - 1).astype(np.int64)
    return np.zeros(max(len(own) - 1, 0), dtype=np.int64)


def _distances(own: NDArray[Any]) -> list[tuple[NDArray[np.float64], int]]:
    """Return the distances between times on the scales they may be regular on: working days, months, or as they are.

    With each the most usual distances that leave nothing out: two working days are a holiday.
    """
    if own.dtype.kind != "M":
        return [(np.round(np.diff(own.astype(np.float64)), 9), 1)]
    found = []
    days = own.astype("datetime64[D]")
    if (days == own).all():
        if np.is_busday(days).all():
            found.append((np.busday_count(days[:-1], days[1:]).astype(np.float64), 2))
        months = days.astype("datetime64[M]")
        within = days - months.astype("datetime64[D]")
        if (within == within[0]).all() or ((months + 1).astype("datetime64[D]") - days == np.timedelta64(1, "D")).all():
            found.append((np.diff(months).astype(np.float64), 1))
    return [*found, (np.diff(own).astype(np.float64), 1)]
