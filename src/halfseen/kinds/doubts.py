"""What cells make one doubt: codes and texts that may mean missing, counts and scales that are not taken as such."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halfseen.data.columns import MAX_DISTINCT, is_whole
from halfseen.leaves.leaf import Floats

MOST = 1 << 16  # rows that are looked at
DIGITS = np.array([digit * (10**length - 1) // 9 for digit in (6, 7, 8, 9) for length in range(2, 10)], dtype=float)
NEGATIVE = np.array([-1.0, -7.0, -8.0, -9.0])
CODES = np.concatenate([DIGITS, -DIGITS, NEGATIVE])  # 99, 999, 666, 999999, -99, -9, ...
MARKS = frozenset(("?", "-", "--", ".", "na", "n/a", "n.a.", "nan", "null", "missing"))  # whatever their case
AWAY = 0.5  # how far a code lies from the other numbers, in units of their range
FEWEST = 4  # other numbers that make a range
ROWS = 20  # from which counts are recognised
LARGE = 100.0  # a median from which whole numbers are as likely amounts as counts
LARGEST = 1e4  # the largest count
OVERDISPERSED = 1.5  # variance over mean from which counts are no Poisson counts
LEVELS = (3, 12)  # of a scale
SHOWN = 5  # columns named
SKEWED = 0.5  # skewness of counts; ages and scores have less


def suspected_codes(values: Floats, weight: Floats) -> list[tuple[float, float]]:
    """Return the numbers of a column that may be codes for missing values, and how often they occur.

    Repeated, of the form of such codes (99, 999, 666, -9, ...), and far outside the range of the other numbers; or
    negative where no other number is.

    Examples
    --------
    >>> ages = np.array([18.0, 25, 31, 44, 52, 67, 999, 999, -9, -9, np.nan])
    >>> suspected_codes(ages, np.ones(11))
    [(-9.0, 2.0), (999.0, 2.0)]
    """
    seen = ~np.isnan(values)
    distinct, place = np.unique(values[seen], return_inverse=True)
    counts = np.bincount(place, weights=weight[seen], minlength=len(distinct))
    coded = np.isin(distinct, CODES) & (counts >= 2)
    others = distinct[~coded]
    if not coded.any() or len(others) < FEWEST:
        return []
    low, high = others[0], others[-1]
    beyond = np.maximum(low - distinct, distinct - high)
    signed = (distinct < 0) & (low >= 0)
    if len(others) <= MAX_DISTINCT or not is_whole(others).all():
        signed &= distinct != -1  # which may be the opposite of 1
    found = coded & (signed | ((beyond > 0) & (beyond >= AWAY * (high - low))))
    return list(zip(distinct[found].tolist(), counts[found].tolist(), strict=True))


def codes_note(name: str, codes: list[tuple[float, float]]) -> str:
    """Return the note about suspected codes."""
    shown = " and ".join(f"{code:.0f} ({count:,.0f} cells)" for code, count in codes)
    listed = ", ".join(f"{code:.0f}" for code, _ in codes)
    return (
        f"column {name!r}: {shown} {'lies' if len(codes) == 1 else 'lie'} far from the other numbers and may mean "
        f"missing; if so, read the file with missing=[{listed}], or put NaN there"
    )


def count_kind(values: Floats, weight: Floats) -> str | None:
    """Return the kind that whole numbers from 0 may be of, if they look like counts; else None.

    Counts begin at 0 or 1, are not large, and have a long tail or the variance of Poisson counts.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> count_kind(rng.poisson(6.0, 500) * 1.0, np.ones(500)), count_kind(rng.integers(18, 90, 500) * 1.0, np.ones(500))
    ('poisson', None)
    """
    seen = ~np.isnan(values)
    cells, mass = values[seen], weight[seen]
    if len(cells) < ROWS or not 0 <= cells.min() <= 1 or cells.max() > LARGEST or not is_whole(cells).all():
        return None
    if np.median(cells) > LARGE or not (cells % 5 != 0).any():
        return None
    mean = np.average(cells, weights=mass)
    var = np.average((cells - mean) ** 2, weights=mass)
    if var <= OVERDISPERSED * mean:
        return "poisson"
    if mean - 2 * var**0.5 > 1:  # 0 and 1 are rare exceptions, as among ages
        return None
    skewness = np.average((cells - mean) ** 3, weights=mass) / var**1.5
    return "negbin" if skewness >= SKEWED else None


def looks_like_a_scale(values: Floats, counts: NDArray[Any]) -> bool:
    """Whether distinct whole numbers, which occur so often, may be the levels of a scale.

    From 3 to 12 of them, one after the other, from 0 or 1 or as far below 0 as above; and their frequencies rise to one
    level and fall from it, which those of codes rarely do: numbers for regions or brands have no order.

    Examples
    --------
    >>> looks_like_a_scale(np.arange(1.0, 6.0), np.array([11.0, 30.0, 42.0, 25.0, 8.0]))
    True
    >>> looks_like_a_scale(np.arange(1.0, 6.0), np.array([30.0, 11.0, 42.0, 8.0, 25.0]))
    False
    """
    if not LEVELS[0] <= len(values) <= LEVELS[1] or (np.diff(values) != 1).any() or counts.sum() < ROWS:
        return False
    if values[0] not in (0, 1) and values[0] != -values[-1]:
        return False
    top = int(counts.argmax())
    return bool((np.diff(counts[: top + 1]) >= 0).all() and (np.diff(counts[top:]) <= 0).all() and counts.min() > 0)


def scales_note(names: list[str]) -> str:
    """Return the note about columns of categories that look like scales."""
    listed = ", ".join(map(repr, names[:SHOWN])) + (", ..." if len(names) > SHOWN else "")
    what = f"column {listed} holds" if len(names) == 1 else f"columns {listed} hold"
    return (
        f"{what} whole numbers that may be a scale; columns={{{names[0]!r}: 'ordinal'}} uses their order and needs "
        "fewer parameters"
    )


def marks_notes(columns: Iterable[tuple[str, Iterable[Any]]]) -> list[str]:
    """Return a note about texts that may mean missing, given columns with their categories; none where there are none.

    Examples
    --------
    >>> marks_notes([("job", ["?", "clerk"]), ("sex", ["f", "m"])])
    ["'?' in column 'job' may mean missing; if so, read the file with missing=['?'], or put NaN there"]
    """
    marks: dict[str, list[str]] = {}
    for name, categories in columns:
        for category in categories:
            if isinstance(category, str) and category.strip().casefold() in MARKS:
                marks.setdefault(category, []).append(name)
    if not marks:
        return []
    shown = ", ".join(
        f"{mark!r} in {f'{len(names)} columns' if len(names) > 1 else f'column {names[0]!r}'}"
        for mark, names in marks.items()
    )
    return [f"{shown} may mean missing; if so, read the file with missing={list(marks)!r}, or put NaN there"]
